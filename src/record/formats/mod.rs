//! One file for each format.

pub(crate) mod access;
