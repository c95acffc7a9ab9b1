//! The integration tests: the public face of the library, and the binary.

mod floors;
mod lanes;
mod vectors;
