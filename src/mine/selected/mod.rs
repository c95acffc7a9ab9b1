//! Selection: candidates that fail are taken out, round after round, until those
//! that are left hold.

mod assess;
mod folding;
pub(crate) mod keep;
mod kept_from;
pub(crate) mod letters;
mod names;
pub(super) mod sections;
mod select;
pub(crate) mod selector;
pub(crate) mod values;
