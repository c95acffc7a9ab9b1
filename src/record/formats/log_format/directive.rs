//! Extracts the format from a whole directive of a server's configuration.
//!
//! ```text
//! log_format main escape=json '$host ' '"$request"';      nginx: pieces are joined as they are
//! LogFormat "%h %l %u %t \"%r\" %>s %b" common             Apache
//! ```

use std::borrow::Cow;

use crate::error::{Error, Result};

/// The format in the directive `text`, or `text` itself if it is not a directive.
///
/// Escapes are kept, since formats have them as well. Failure: a configuration error if a
/// directive has no format, or a quote that stays open.
pub(super) fn format_in(text: &str) -> Result<Cow<'_, str>> {
    let trimmed = text.trim();
    if let Some(rest) = behind_word(trimmed, "log_format") {
        return format_of_nginx(rest).map(Cow::Owned);
    }
    if let Some(rest) = behind_word(trimmed, "LogFormat") {
        let (format, _) = string(rest)?;
        return Ok(Cow::Borrowed(format));
    }
    Ok(Cow::Borrowed(text))
}

/// What follows `word` and a blank in `text`. Compared without case, as Apache does.
fn behind_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once(|letter: char| letter.is_ascii_whitespace())?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim_start())
}

/// The pieces after the name, joined, with `escape=` before them if it is given.
fn format_of_nginx(text: &str) -> Result<String> {
    let (_name, mut rest) = string(text)?;
    let mut format = String::new();
    while !matches!(rest.as_bytes().first(), None | Some(b';')) {
        let (piece, behind) = string(rest)?;
        let is_parameter = format.is_empty() && piece.starts_with("escape=");
        format.push_str(piece);
        if is_parameter {
            format.push(' ');
        }
        rest = behind;
    }
    if format.is_empty() {
        return Err(Error::config(
            "log format: expected strings behind log_format and a name, found none; copy the whole \
             directive, up to its semicolon",
        ));
    }
    Ok(format)
}

/// The string that `text` starts with, in quotes of either kind or up to a blank or a semicolon,
/// and what follows it and blanks.
fn string(text: &str) -> Result<(&str, &str)> {
    let bytes = text.as_bytes();
    let (start, end) = match bytes.first() {
        Some(quote @ (b'"' | b'\'')) => {
            let mut end = 1;
            while end < bytes.len() && bytes[end] != *quote {
                end += 1 + usize::from(bytes[end] == b'\\');
            }
            if end >= bytes.len() {
                return Err(Error::config(format!(
                    "log format: expected a {} at the end of the directive's string, found none; \
                     quote all of it for the shell",
                    char::from(*quote)
                )));
            }
            (1, end)
        }
        _ => {
            let ends = |letter: char| letter.is_ascii_whitespace() || letter == ';';
            (0, text.find(ends).unwrap_or(text.len()))
        }
    };
    Ok((&text[start..end], text[end + start..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives() {
        for (given, expected) in [
            ("$request $status", "$request $status"),
            ("log_format", "log_format"),
            ("log_format a '$request';", "$request"),
            (
                "  log_format main  '$host - '\n\t'\"$request\" '  \"$status\" ;\n",
                "$host - \"$request\" $status",
            ),
            (
                "log_format j escape=json '{\"r\":\"$request\"}';",
                "escape=json {\"r\":\"$request\"}",
            ),
            ("log_format a $request;", "$request"),
            (r#"LogFormat "%h \"%r\" %>s" common"#, r#"%h \"%r\" %>s"#),
            ("logformat '%h %r' x", "%h %r"),
            ("LogFormat combined", "combined"),
        ] {
            assert_eq!(format_in(given).unwrap(), expected, "{given}");
        }
        for given in
            ["log_format main ;", "log_format main", "log_format a '$request;", "LogFormat \"%r"]
        {
            assert!(format_in(given).unwrap_err().is_config(), "{given}");
        }
    }
}
