//! What the rules of sites are written in: globs, templates and their wildcards, matched in one
//! pass without going back.

pub(crate) mod glob;
pub(crate) mod letters;
pub(crate) mod steps;
pub(crate) mod template;
pub(crate) mod wildcards;
