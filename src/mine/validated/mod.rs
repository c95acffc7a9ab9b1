//! Validation: all candidates applied at once, and what URLs that become one say
//! about each of them.

pub(in crate::mine) mod classes;
pub(in crate::mine) mod groups;
pub(in crate::mine) mod support;
pub(in crate::mine) mod validation;
