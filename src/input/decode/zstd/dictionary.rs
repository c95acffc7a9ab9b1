//! The dictionary at the beginning of a zstd file, as in web archives (`.warc.zst`).
//!
//! ```text
//! 5d 2a 4d 18 | length, u32 | the dictionary: 37 a4 30 ec ..., or compressed: 28 b5 2f fd ...
//! ```
//!
//! It is a skippable frame: decoders that do not know it skip it, and then lack the dictionary.
//!
//! Source: <https://iipc.github.io/warc-specifications/specifications/warc-zstd/> (draft 1.0).

use std::io::{self, Read as _};

use crate::error::{Error, Result};
use crate::input::disk::Disk;
use crate::limits::ZSTD_DICTIONARY_BYTES_MAX;

/// The dictionary of a zstd file that begins with `head` and goes on with `disk`, if it has one;
/// then `head` is made to hold all of it.
///
/// Failure: an input error, without the name of the file, if the dictionary cannot be read; a limit
/// error if it is longer than [`ZSTD_DICTIONARY_BYTES_MAX`], compressed or not.
pub(crate) fn read(head: &mut Vec<u8>, disk: &mut Disk) -> Result<Option<Vec<u8>>> {
    let [0x5d, 0x2a, 0x4d, 0x18, a, b, c, d, content @ ..] = head.as_slice() else {
        return Ok(None);
    };
    let length = u64::from(u32::from_le_bytes([*a, *b, *c, *d]));
    let is_compressed = content.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    if !is_compressed && !content.starts_with(&[0x37, 0xa4, 0x30, 0xec]) {
        // A skippable frame for something else.
        return Ok(None);
    }
    let too_long = || {
        Error::limit(format!(
            "expected a zstd dictionary of at most {ZSTD_DICTIONARY_BYTES_MAX} bytes, found a longer \
             one; unpack the file first"
        ))
    };
    let reading = |error: io::Error| {
        Error::input(format!(
            "expected a zstd dictionary, found damaged data ({error}); get the file again"
        ))
    };
    if length > ZSTD_DICTIONARY_BYTES_MAX {
        return Err(too_long());
    }
    let end = 8 + length as usize;
    let missing = end.saturating_sub(head.len());
    disk.fill(head, missing).map_err(reading)?;
    let compressed =
        head.get(8..end).ok_or_else(|| reading(io::ErrorKind::UnexpectedEof.into()))?;
    if !is_compressed {
        return Ok(Some(compressed.to_vec()));
    }
    let mut dictionary = Vec::new();
    zstd::stream::read::Decoder::new(compressed)
        .and_then(|decoder| {
            decoder.take(ZSTD_DICTIONARY_BYTES_MAX + 1).read_to_end(&mut dictionary)
        })
        .map_err(reading)?;
    if dictionary.len() as u64 > ZSTD_DICTIONARY_BYTES_MAX {
        return Err(too_long());
    }
    Ok(Some(dictionary))
}
