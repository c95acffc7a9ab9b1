//! How values are written in the text that the digest of a profile is taken of.
//!
//! Digests are stored in files of `--seen` and in files of rules, so this is a format: what is
//! written here never changes. It looks like Rust's `Debug`, from which it was taken in 2026, but
//! does not depend on it, as `Debug` may change with any version of Rust and with any type.

/// Writes a text in double quotes.
///
/// Under profiles with the rule `encoding` texts are ASCII. Beyond that, which characters are
/// escaped depends on the version of Unicode that the standard library knows.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            // It needs no escape between double quotes.
            '\'' => out.push(character),
            _ => out.extend(character.escape_debug()),
        }
    }
    out.push('"');
    out
}

/// Writes a value that may be missing.
pub(super) fn optional(value: Option<String>) -> String {
    value.map_or_else(|| "None".to_string(), |value| format!("Some({value})"))
}

/// Writes a list of values.
pub(super) fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", joined(values))
}

/// Writes a list of texts, each in quotes.
pub(super) fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    list(texts.into_iter().map(|text| quoted(text)))
}

/// Writes a map of texts to texts, in the order of `entries`.
pub(super) fn quoted_map<'a>(
    entries: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> String {
    let entry = |(key, value): (&String, &String)| format!("{}: {}", quoted(key), quoted(value));
    format!("{{{}}}", joined(entries.into_iter().map(entry)))
}

fn joined(values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn texts_are_quoted() {
        for (text, expected) in [
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("it's", r#""it's""#),
            ("\"\\", r#""\"\\""#),
            ("\t\r\n\0\u{1}\u{7f}", r#""\t\r\n\0\u{1}\u{7f}""#),
            ("é\u{301}\u{200b}😀", r#""é\u{301}\u{200b}😀""#),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
        let ascii: String = (0..0x80u8).map(char::from).collect();
        let quoted = quoted(&ascii);
        assert_eq!(quoted.len(), 269, "{quoted}");
    }

    #[test]
    fn values_are_written_together() {
        let texts = ["a", "b\""].map(String::from);
        assert_eq!(quoted_list(&texts), r#"["a", "b\""]"#);
        assert_eq!(quoted_list(&[]), "[]");
        let map = BTreeMap::from(texts.map(|text| (text.clone(), text)));
        assert_eq!(quoted_map(&map), r#"{"a": "a", "b\"": "b\""}"#);
        assert_eq!(quoted_map(&BTreeMap::new()), "{}");
        assert_eq!([optional(None), optional(Some("1".into()))], ["None", "Some(1)"]);
    }
}
