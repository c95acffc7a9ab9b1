//! Errors of undust as exceptions.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    undust,
    UndustError,
    PyValueError,
    "A setting, a rule or an input that undust cannot use; the message says where and why."
);

/// The exception for `error`.
pub(crate) fn raised(error: undust::Error) -> PyErr {
    UndustError::new_err(error.to_string())
}
