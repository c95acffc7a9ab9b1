//! One file for each format.

pub mod rows;
