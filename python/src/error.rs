//! Errors of undust as exceptions.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use undust::error::Setting;

pyo3::create_exception!(
    undust,
    UndustError,
    PyValueError,
    "A setting, a rule or an input that undust cannot use; the message says where and why."
);

/// The exception for `error`.
pub(crate) fn raised(error: undust::Error) -> PyErr {
    UndustError::new_err(message(&error))
}

/// The message of `error`, which names arguments of Python.
pub(crate) fn message(error: &undust::Error) -> String {
    error.in_words(|setting| match setting {
        Setting::Memory => "memory",
        Setting::TempDir => "temp_dir",
        Setting::Threads => "threads",
        Setting::Format => "format",
        Setting::Fields => "fields",
        Setting::BaseUrl => "base_url",
        Setting::Hosts => "hosts",
        Setting::DefaultParams => "default_params",
        Setting::Rules => "rules",
        Setting::Include | Setting::Exclude | Setting::Status => "a filter of your own",
        Setting::NotIn => "--not-in of the program",
        Setting::Recursive => "-r of the program",
        Setting::LogFormat => "--log-format of the program",
        Setting::LineLimit => "--line-limit of the program",
        other => other.in_library(),
    })
}
