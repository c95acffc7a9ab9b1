//! Acts: what rules do to URLs, what is known of each kind beforehand, and what URLs become when
//! several are applied.

pub(in crate::mine) mod candidates;
pub(in crate::mine) mod forms;
pub(in crate::mine) mod paths;
pub(in crate::mine) mod priors;
