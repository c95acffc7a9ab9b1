//! Foreign bytes as HTML: text that cannot become markup, URLs, and bars.

use std::fmt::{self, Write as _};

use crate::report::survey::{cut, ratio};

/// Characters of a URL that are shown; of longer ones the middle is left out. Reason: a page of
/// the longest URLs that anybody reads to the end.
const SHOWN_CHARACTERS: usize = 500;

/// Displays text with everything escaped that means something in HTML, in text as well as in an
/// attribute between double quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                character => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// Writes foreign bytes as text: what a terminal would not show either is visible, and what is long
/// is cut in the middle ([`cut`]).
pub(super) fn foreign(bytes: &[u8]) -> String {
    Escaped(&cut(bytes, SHOWN_CHARACTERS)).to_string()
}

/// Writes a URL as text, and as a link where it leads to a web page and the text says all of it.
pub(super) fn url(bytes: &[u8]) -> String {
    element(bytes, &foreign(bytes))
}

/// Writes a URL as [`url()`] does, with a mark around that part in which it differs from `other`.
pub(super) fn url_beside(bytes: &[u8], other: &[u8]) -> String {
    let (text, other) = (cut(bytes, SHOWN_CHARACTERS), cut(other, SHOWN_CHARACTERS));
    // Two that are cut may differ in what is not there.
    if text == other || [&text, &other].iter().any(|text| text.contains('…')) {
        return element(bytes, &Escaped(&text).to_string());
    }
    let lengths = text.chars().zip(other.chars()).take_while(|(one, two)| one == two);
    let start: usize = lengths.map(|(one, _)| one.len_utf8()).sum();
    let ends = text[start..].chars().rev().zip(other[start..].chars().rev());
    let end: usize = ends.take_while(|(one, two)| one == two).map(|(one, _)| one.len_utf8()).sum();
    let (head, rest) = text.split_at(start);
    let (amid, tail) = rest.split_at(rest.len() - end);
    let mark = match amid {
        "" => String::new(),
        amid => format!("<mark>{}</mark>", Escaped(amid)),
    };
    element(bytes, &format!("{}{mark}{}", Escaped(head), Escaped(tail)))
}

fn element(bytes: &[u8], inner: &str) -> String {
    match link(bytes) {
        Some(to) => format!(
            "<a class=\"u\" href=\"{}\" rel=\"noreferrer nofollow noopener\">{inner}</a>",
            Escaped(to)
        ),
        None => format!("<span class=\"u\">{inner}</span>"),
    }
}

/// `bytes` as the target of a link. Nothing but `http` and `https` is one, nothing of which a
/// character is left out or does not show as itself, and nothing with a name or a password before
/// its host: they may look like a host.
fn link(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (scheme, rest) = text.split_once("://")?;
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    // Browsers take any number of slashes for two.
    let authority = rest.trim_start_matches('/').split(['/', '?', '#']).next()?;
    let is_plain = is_web && !authority.contains('@');
    (is_plain && cut(bytes, SHOWN_CHARACTERS) == text).then_some(text)
}

/// A bar as long as `part` is of `whole`, five letters wide at most. Its length is an attribute of
/// a drawing, since the policy of the page allows no styles of single elements; the drawing itself
/// is the bar, since a page may have many.
pub(super) fn bar(part: u64, whole: u64) -> String {
    format!("<svg width=\"{:.2}em\" aria-hidden=\"true\"/>", 5.0 * ratio(part, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        for (given, expected) in [
            (&b"a<b>&\"'"[..], "a&lt;b&gt;&amp;&quot;&#39;"),
            (b"</script><script>alert(1)", "&lt;/script&gt;&lt;script&gt;alert(1)"),
            (b"&lt;", "&amp;lt;"),
            (b"\0\x1b[0m\x7f\r\n\t", "\\x00\\x1b[0m\\x7f\\r\\n\\t"),
            ("\u{202e}\u{2066}\u{200b}".as_bytes(), "\\u{202e}\\u{2066}\\u{200b}"),
            (b"\xff<\xc3", "\\xff&lt;\\xc3"),
            ("\u{e9}\u{5d0}".as_bytes(), "\u{e9}\u{5d0}"),
            (b"\\", "\\\\"),
        ] {
            assert_eq!(foreign(given), expected);
        }
        let long = foreign(&[b"<".repeat(300), b"&".repeat(300)].concat());
        assert!(long.contains('…') && long.len() < 6 * SHOWN_CHARACTERS, "{long}");
    }

    #[test]
    fn links_go_to_web_pages_only() {
        let longest = format!("http://a.test/{}", "x".repeat(SHOWN_CHARACTERS - 14));
        for text in [
            "http://a.test/?a=<b>&c='\"",
            "HTTPS://a.test/\u{e9}",
            "http://a.test/a b",
            "http://a.test/@b",
            "http://a.test?@b",
            "http://a.test#@b",
            &longest,
        ] {
            assert_eq!(link(text.as_bytes()), Some(text));
        }
        let long = format!("{longest}x");
        // The host would be in what is left out.
        let disguised =
            format!("http://www.paypal.com:{}@evil.test/{}", "a".repeat(400), "b".repeat(400));
        for text in [
            "javascript:alert(1)",
            "JavaScript://a.test/%0aalert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "vbscript:x",
            "file:///etc/passwd",
            "blob:http://a.test/x",
            "view-source:http://a.test/",
            "//a.test/",
            "a.test/",
            "http:a.test",
            "http://a.test/\u{202e}gpj.exe",
            "http://a.test/\n",
            "http://a.test\\@b.test/",
            "http://www.paypal.com@evil.test/",
            "http://www.paypal.com:x@evil.test?y",
            "https:////a.test@evil.test/",
            "http://@a.test/",
            "http://a.test/\u{3164}",
            &long,
            &disguised,
            "",
        ] {
            assert_eq!(link(text.as_bytes()), None, "{text:?}");
            assert!(!url(text.as_bytes()).contains("href"), "{text:?}");
        }
        assert_eq!(link(b"http://a.test/\xff"), None);
        assert_eq!(
            url(b"http://a.test/?'\"<&>"),
            "<a class=\"u\" href=\"http://a.test/?&#39;&quot;&lt;&amp;&gt;\" \
             rel=\"noreferrer nofollow noopener\">http://a.test/?&#39;&quot;&lt;&amp;&gt;</a>"
        );
        assert_eq!(url(b"<\xff"), "<span class=\"u\">&lt;\\xff</span>");
    }

    #[test]
    fn the_difference_is_marked() {
        for (one, other, expected) in [
            ("mailto:a", "mailto:a", "mailto:a"),
            ("x?a=1&b=2", "x?b=2", "x?<mark>a=1&amp;</mark>b=2"),
            ("x?b=2", "x?a=1&b=2", "x?b=2"),
            ("aa", "a", "a<mark>a</mark>"),
            ("a", "aa", "a"),
            ("\u{e9}<", "\u{e8}<", "<mark>\u{e9}</mark>&lt;"),
            ("", "a", ""),
            ("a", "", "<mark>a</mark>"),
        ] {
            let expected = format!("<span class=\"u\">{expected}</span>");
            assert_eq!(url_beside(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
        }
        let long = "x".repeat(1000);
        assert!(!url_beside(long.as_bytes(), b"x").contains("<mark>"));
    }

    #[test]
    fn bars() {
        assert!(bar(1, 3).contains("width=\"1.67em\""));
        assert!(bar(0, 0).contains("width=\"0.00em\""));
    }
}
