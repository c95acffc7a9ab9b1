//! Selection: candidates that fail are taken out, round after round, until those
//! that are left hold.

pub(in crate::mine) mod keep;
pub(in crate::mine) mod letters;
mod names;
pub(super) mod sections;
pub(in crate::mine) mod select;
pub(in crate::mine) mod values;
