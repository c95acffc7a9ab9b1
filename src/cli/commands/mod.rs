//! The commands: a file for each, from its arguments to its exit status.

pub(super) mod about;
pub(super) mod canon;
pub(super) mod dedup;
pub(super) mod explain;
pub(super) mod generate_list;
pub(super) mod generate_site;
mod known;
pub(super) mod learn;
pub(super) mod report;
mod rule_files;
pub(super) mod rules;
mod seen;
