//! Acts: what rules do to URLs, what is known of each kind beforehand, and what URLs become when
//! several are applied.

pub(crate) mod candidates;
pub(crate) mod forms;
pub(crate) mod paths;
pub(crate) mod priors;
