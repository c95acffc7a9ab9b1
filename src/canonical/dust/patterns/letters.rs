//! The letters of paths that folding writes in lower case: all but those of escapes.

/// The bytes of `text` that folding looks at: all but escapes, whose digits are in upper case.
fn outside_escapes(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let [b'%', high, low, behind @ ..] = rest
            && high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit()
        {
            rest = behind;
        }
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        Some(*byte)
    })
}

/// Would folding change `text`?
pub(crate) fn has_upper(text: &[u8]) -> bool {
    outside_escapes(text).any(|byte| byte.is_ascii_uppercase())
}

/// May `text` be there once letters were folded, and not before?
pub(crate) fn has_lower_only(text: &[u8]) -> bool {
    outside_escapes(text).any(|byte| byte.is_ascii_lowercase()) && !has_upper(text)
}

/// Writes ASCII letters in lower case, but not those of escapes; returns whether any was in upper
/// case.
pub(crate) fn fold(text: &mut [u8]) -> bool {
    let mut any = false;
    let mut at = 0;
    while at < text.len() {
        let is_escape = text[at] == b'%'
            && text.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        if is_escape {
            at += 3;
            continue;
        }
        any |= text[at].is_ascii_uppercase();
        text[at] = text[at].to_ascii_lowercase();
        at += 1;
    }
    any
}
