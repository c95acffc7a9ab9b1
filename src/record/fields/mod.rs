//! The fields of a line of a log: cut off, their escapes undone, and what they mean.

pub mod agent;
pub(super) mod bracketed_time;
pub(super) mod cut;
pub(super) mod escapes;
pub(super) mod hosts;
pub(super) mod request;
pub mod time;

pub(crate) use cut::is_status;
