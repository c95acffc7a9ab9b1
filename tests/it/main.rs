//! The integration tests: the public face of the library, and the binary.

#![allow(clippy::unwrap_used)]
// Names of files in messages of tests.
#![allow(clippy::disallowed_methods)]

mod budget;
mod changed;
mod cli;
mod floors;
mod formats;
mod fuzz_targets;
mod lanes;
mod laws;
mod library;
mod rules;
mod skipped;
mod vectors;

/// The name that fuzz targets know their macro by.
extern crate self as libfuzzer_sys;
pub(crate) use fuzz_targets::harness::fuzz_target;
