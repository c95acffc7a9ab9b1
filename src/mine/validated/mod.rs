//! Validation: all candidates applied at once, and what URLs that become one say
//! about each of them.

pub(crate) mod classes;
pub(crate) mod groups;
pub(crate) mod support;
pub(crate) mod validation;
