//! What the rules of sites are written in: globs, templates and their wildcards, matched in one
//! pass without going back.

pub(super) mod glob;
pub(crate) mod letters;
pub(super) mod steps;
pub(super) mod template;
pub(super) mod wildcards;
