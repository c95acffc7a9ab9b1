//! Patterns in pieces: text and wildcards, which stand for other text.

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    /// `*`, or a class or a capture in braces; with the start of an escape before it, if
    /// that may go on in it.
    Wildcard(&'a str),
}

/// The parts of `pattern`, in order.
pub(crate) fn parts(pattern: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        let text_end = rest.find(['*', '{']).unwrap_or(rest.len());
        let length = match &rest[text_end..] {
            "" => text_end,
            _ => cut_at(&rest[..text_end]),
        };
        let is_text = length > 0;
        let length = match (is_text, rest[text_end..].chars().next()) {
            (true, _) => length,
            (false, None) => return None,
            (false, Some('*')) => text_end + 1,
            (false, Some(_)) => {
                rest[text_end..].find('}').map_or(rest.len(), |end| text_end + end + 1)
            }
        };
        let (part, after) = rest.split_at(length);
        rest = after;
        Some(if is_text { Part::Text(part) } else { Part::Wildcard(part) })
    })
}

/// Where the escape starts that is not complete at the end of `text`; its length if there is none.
pub(crate) fn cut_at(text: &str) -> usize {
    let Some(start) = text.rfind('%') else { return text.len() };
    let behind = &text[start + 1..];
    let (digits, most) = match behind.strip_prefix(['u', 'U']) {
        Some(digits) => (digits, 4),
        None => (behind, 2),
    };
    let is_cut = digits.len() < most && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_cut { start } else { text.len() }
}

/// Is it certain that what `wildcard` stands for holds no dot?
pub(crate) fn has_no_dot(wildcard: &str) -> bool {
    const CLASSES: [&str; 6] = ["num", "hex", "base64", "slug", "uuid", "date"];
    let inside = wildcard.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inside.is_some_and(|text| text.split(':').any(|name| CLASSES.contains(&name)))
}

/// How often text of any length may stand in `pattern`.
pub(crate) fn stars(pattern: &str) -> usize {
    pattern.bytes().filter(|byte| *byte == b'*').count()
}

/// Words that stand where a pattern has wildcards, while a profile works on it: no profile changes
/// or knows them, none is a part of another, and none is in the text around them.
pub(crate) struct Placeholders(String);

impl Placeholders {
    /// Words that are not in `text`.
    pub(crate) fn unlike(text: &str) -> Placeholders {
        // A `z` stands at the start of a word and nowhere else in it, so that two of
        // them do not overlap.
        let starts = (0..).map(|number| format!("z{number}q"));
        let free = starts.into_iter().find(|start| !text.contains(start.as_str()));
        Placeholders(free.expect("a text holds a finite number of words"))
    }

    /// The word with this number.
    pub(crate) fn word(&self, number: usize) -> String {
        format!("{}{number}x", self.0)
    }

    /// `text` with the `wildcards` in the place of their words; `None` where one is not there once.
    pub(crate) fn replaced(&self, text: String, wildcards: &[&str]) -> Option<String> {
        wildcards.iter().enumerate().try_fold(text, |text, (number, wildcard)| {
            let word = self.word(number);
            (text.matches(&word).count() == 1).then(|| text.replace(&word, wildcard))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_patterns() {
        use Part::{Text, Wildcard};
        for (pattern, expected) in [
            ("", &[][..]),
            ("/a", &[Text("/a")]),
            ("*.php", &[Wildcard("*"), Text(".php")]),
            ("/{num:3}*", &[Text("/"), Wildcard("{num:3}"), Wildcard("*")]),
            ("/{num", &[Text("/"), Wildcard("{num")]),
            ("/a%*", &[Text("/a"), Wildcard("%*")]),
            ("/%C3%{hex:2}x", &[Text("/%C3"), Wildcard("%{hex:2}"), Text("x")]),
            ("%u00{hex:2}", &[Wildcard("%u00{hex:2}")]),
            ("/%2", &[Text("/%2")]),
            ("/%2%x*", &[Text("/%2%x"), Wildcard("*")]),
        ] {
            assert_eq!(parts(pattern).collect::<Vec<_>>(), expected, "{pattern}");
        }
    }

    #[test]
    fn words_are_found_again() {
        for text in ["/", "/z", "/z0q", "/z0q0x", "/z0q1z1q"] {
            let words = Placeholders::unlike(text);
            let [a, b] = [0, 1].map(|number| words.word(number));
            for (given, expected) in [
                (format!("{text}{a}{text}{b}{text}"), Some(format!("{text}*{text}{{num}}{text}"))),
                (format!("{b}{a}"), Some("{num}*".to_string())),
                (format!("{text}{a}"), None),
                (format!("{a}{a}{b}"), None),
            ] {
                assert_eq!(words.replaced(given, &["*", "{num}"]), expected, "{text}");
            }
        }
    }

    #[test]
    fn dots() {
        for (wildcard, expected) in
            [("{num}", true), ("{slug:3}", true), ("{1:hex}", true), ("{1}", false), ("{*}", false)]
        {
            assert_eq!(has_no_dot(wildcard), expected, "{wildcard}");
        }
        assert!(!has_no_dot("*") && !has_no_dot("%{hex:2}"));
    }
}
