//! Candidates: rules that contents ask for, and where they are proposed to hold.

pub(crate) mod conditions;
pub(crate) mod propose;
pub(crate) mod screen;
pub(crate) mod votes;
