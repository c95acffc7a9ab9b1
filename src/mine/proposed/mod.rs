//! Candidates: rules that contents ask for, and where they are proposed to hold.

pub(in crate::mine) mod conditions;
pub(in crate::mine) mod propose;
pub(in crate::mine) mod screen;
pub(in crate::mine) mod votes;
