//! The texts of rules: how long they may be, and what may be in them.

use crate::error::{Error, Result};
use crate::limits::DUST_TEXT_BYTES_MAX;

#[cold]
pub(super) fn too_long(field: &str, length: usize) -> Error {
    Error::limit(format!(
        "{field}: expected at most {DUST_TEXT_BYTES_MAX} bytes, found {length}; make it shorter"
    ))
}

/// Can `text` stand in a canonical URL, without the characters in `forbidden`?
pub(super) fn check_text(field: &str, text: &str, forbidden: &str) -> Result<()> {
    if text.len() > DUST_TEXT_BYTES_MAX {
        return Err(too_long(field, text.len()));
    }
    match text.chars().find(|letter| !letter.is_ascii_graphic() || forbidden.contains(*letter)) {
        None => Ok(()),
        Some(letter) => Err(Error::config(format!(
            "{field}: \"{}\" cannot hold {letter:?} there; write it as canonical URLs have it, as in \
             %C3%A9",
            crate::bytes::show(text.as_bytes())
        ))),
    }
}
