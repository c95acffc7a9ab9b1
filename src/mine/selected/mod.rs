//! Selection: candidates that fail are taken out, round after round, until those
//! that are left hold.

pub(crate) mod keep;
pub(crate) mod letters;
mod names;
pub(super) mod sections;
pub(crate) mod select;
pub(crate) mod values;
