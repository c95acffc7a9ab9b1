//! undust for Python: what a wheel needs of the library, and nothing that decides.
//!
//! Every class keeps something of `undust` and hands bytes through. What Python sees, with text,
//! pickling and Arrow, is in `undust/*.py`, on top of this.

mod canonicalizer;
mod column;
mod error;
mod head;
mod learned;
mod lines;
mod pages;
mod text;

/// The module `undust._native`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::canonicalizer::Canonicalizer;
    #[pymodule_export]
    use super::error::UndustError;
    #[pymodule_export]
    use super::learned::{join_rules, learn};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::lines::Lines;
    #[pymodule_export]
    use super::pages::{FingerprintKey, Pages};
    #[pymodule_export]
    use super::text::read_text;
}
