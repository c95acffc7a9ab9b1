//! Mistakes in files of settings and rules.

use crate::error::Error;

/// A mistake in a TOML file, on one line: where it is and what is wrong.
pub(super) fn toml_error(text: &str, error: &toml::de::Error) -> Error {
    let message = error.message().replace('\n', ", ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => {
            Error::config(format!("line {}: {message}", before.matches('\n').count() + 1))
        }
        None => Error::config(message),
    }
}
