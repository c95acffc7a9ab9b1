//! Errors of undust as exceptions.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    undust,
    UndustError,
    PyValueError,
    "A setting, a rule or an input that undust cannot use; the message says where and why."
);

/// What messages of the library name, the flags of the program, by the arguments of Python that
/// are the same.
const ARGUMENTS: [(&str, &str); 9] = [
    ("--base-url", "base_url"),
    ("--default-scheme", "default_scheme"),
    ("--field", "fields"),
    ("--format", "format"),
    ("--memory", "memory"),
    ("--temp-dir", "temp_dir"),
    ("-S", "memory"),
    ("-T", "temp_dir"),
    ("-j", "threads"),
];

/// What messages tell to do by flags that have no argument, and how it is done in Python.
const WAYS_OUT: [(&str, &str); 2] = [
    ("give -r to read all files in it", "name the files in it"),
    ("give -r, or run in parts", "run in parts"),
];

/// The exception for `error`.
pub(crate) fn raised(error: undust::Error) -> PyErr {
    UndustError::new_err(by_arguments(&error.to_string()))
}

/// `message` with the names of arguments where it has those of flags. What is quoted stays: it
/// comes from outside.
pub(crate) fn by_arguments(message: &str) -> String {
    let parts = message.split('"').enumerate().map(|(number, part)| {
        if number % 2 == 1 {
            return part.to_string();
        }
        let part = WAYS_OUT.iter().fold(part.to_string(), |part, (of_flags, of_python)| {
            part.replace(of_flags, of_python)
        });
        part.split(' ').map(argument_of).collect::<Vec<_>>().join(" ")
    });
    parts.collect::<Vec<_>>().join("\"")
}

/// A word of a message, or the argument of the same meaning if it is a flag; with what stands
/// around it.
fn argument_of(word: &str) -> String {
    let is_mark = |c: char| matches!(c, ',' | ';' | ':' | '(' | ')');
    let flag = word.trim_matches(is_mark);
    match ARGUMENTS.iter().find(|(name, _)| *name == flag) {
        Some((flag, argument)) => word.replace(flag, argument),
        None => word.to_string(),
    }
}
