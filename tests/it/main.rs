//! The integration tests: the public face of the library, and the binary.

#![allow(clippy::unwrap_used)]

mod budget;
mod changed;
mod cli;
mod floors;
mod formats;
mod lanes;
mod laws;
mod rules;
mod vectors;
