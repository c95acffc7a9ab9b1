//! Foreign bytes made safe to print on a terminal or in a message.

use std::fmt;
use std::path::Path;

/// Displays `bytes` with everything escaped that could move the cursor, hide, or reverse text.
///
/// - Shape: valid UTF-8 stays readable; control characters, bidirectional controls, other invisible
///   format characters and bytes that are not UTF-8 become `\n`, `\x1b`, `\u{202e}` and the like. A
///   backslash becomes `\\`.
/// - Limits: none; the caller cuts what is too long.
/// - Source: Unicode Technical Report 36, 2.10 (bidirectional text spoofing).
pub fn show(bytes: &[u8]) -> Show<'_> {
    Show { bytes, doubles_backslash: true }
}

/// Displays the name of a file or a folder, as [`show`] does.
pub fn show_path(path: &Path) -> Show<'_> {
    show(path.as_os_str().as_encoded_bytes())
}

/// The name of an input in messages, safe to print: `-` is standard input.
pub fn show_input(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_string() } else { show_path(path).to_string() }
}

/// `text` with the same characters escaped, but not the backslash: for text that may have been
/// through [`show`] in part, such as a message. Line breaks stay.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            character if character.is_ascii_control() || is_hidden(character) => {
                out.push_str(&show(character.encode_utf8(&mut [0; 4]).as_bytes()).to_string());
            }
            character => out.push(character),
        }
    }
    out
}

/// Bytes that are displayed with what could deceive escaped; made by [`show`].
#[derive(Clone, Copy, Debug)]
pub struct Show<'a> {
    bytes: &'a [u8],
    doubles_backslash: bool,
}

impl Show<'_> {
    /// Does not escape backslashes, so that readable text can be copied. Then the text `\n` and a
    /// newline look alike.
    #[must_use]
    pub fn for_copying(self) -> Self {
        Show { doubles_backslash: false, ..self }
    }
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for part in self.bytes.utf8_chunks() {
            for character in part.valid().chars() {
                match character {
                    '\\' if self.doubles_backslash => f.write_str("\\\\")?,
                    '\n' | '\r' | '\t' => write!(f, "{}", character.escape_default())?,
                    character if character.is_ascii_control() => {
                        write!(f, "\\x{:02x}", u32::from(character))?;
                    }
                    character if is_hidden(character) => {
                        write!(f, "{}", character.escape_unicode())?
                    }
                    character => f.write_char(character)?,
                }
            }
            for byte in part.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Characters that are invisible, or not drawn as themselves: C1 controls, bidirectional controls,
/// line separators, all blanks but the common one, fillers, zero-width and other format characters,
/// variation selectors, tags, private use, noncharacters.
fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{10ffff}')
        // The last two of each plane.
        || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_settings_are_escaped() {
        for setting in crate::error::Setting::ALL {
            let mark = setting.to_string();
            assert!(show(mark.as_bytes()).to_string().is_ascii(), "{setting:?}");
            assert!(printable(&mark).is_ascii(), "{setting:?}");
        }
    }

    #[test]
    fn names() {
        for (given, path, input) in
            [("a\n\u{202e}", "a\\n\\u{202e}", "a\\n\\u{202e}"), ("-", "-", "standard input")]
        {
            assert_eq!(show_path(Path::new(given)).to_string(), path);
            assert_eq!(show_input(Path::new(given)), input);
        }
    }

    #[test]
    fn messages() {
        assert_eq!(printable("a\\x1b\u{1b}[0m\n\u{202e}"), "a\\x1b\\x1b[0m\n\\u{202e}");
    }

    #[test]
    fn nothing_is_hidden() {
        let hidden = "\u{85}\u{a0}\u{34f}\u{115f}\u{1160}\u{1680}\u{180e}\u{2000}\u{200a}\u{202f}\u{205f}\
            \u{2800}\u{3000}\u{3164}\u{fdd0}\u{fdef}\u{fe00}\u{fe0f}\u{ffa0}\u{fffe}\u{ffff}\u{1fffe}\u{e0100}";
        for character in hidden.chars() {
            let escaped = character.escape_unicode().to_string();
            assert_eq!(show(character.to_string().as_bytes()).to_string(), escaped);
            assert_eq!(printable(&character.to_string()), escaped);
        }
        // Drawn by most fonts, a replacement character by all.
        let drawn = " a\u{a1}\u{301}\u{2010}\u{2027}\u{2030}\u{3001}\u{3131}\u{ac00}\u{fdf0}\u{ff21}\u{fffd}\u{1f600}";
        assert_eq!(show(drawn.as_bytes()).to_string(), drawn);
    }

    #[test]
    fn tables() {
        for (given, expected) in [
            (&b"http://a.test/"[..], "http://a.test/"),
            ("http://\u{e9}.test/".as_bytes(), "http://\u{e9}.test/"),
            (b"\x1b[31mred", "\\x1b[31mred"),
            (b"a\nb\tc", "a\\nb\\tc"),
            (b"\xff\xfe", "\\xff\\xfe"),
            ("\u{202e}gpj".as_bytes(), "\\u{202e}gpj"),
            (b"\\", "\\\\"),
            (b"\x7f", "\\x7f"),
        ] {
            assert_eq!(show(given).to_string(), expected);
            let copied = expected.replace("\\\\", "\\");
            assert_eq!(show(given).for_copying().to_string(), copied);
        }
    }
}
