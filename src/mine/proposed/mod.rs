//! Candidates: rules that contents ask for, what is known of each beforehand, and where they
//! are proposed to hold.

pub(in crate::mine) mod candidates;
pub(in crate::mine) mod conditions;
pub(in crate::mine) mod paths;
pub(in crate::mine) mod priors;
pub(in crate::mine) mod propose;
pub(in crate::mine) mod screen;
pub(in crate::mine) mod values;
pub(in crate::mine) mod votes;
