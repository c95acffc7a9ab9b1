//! The integration tests: the public face of the library, and the binary.

#![allow(clippy::unwrap_used)]

mod floors;
mod lanes;
mod rules;
mod vectors;
