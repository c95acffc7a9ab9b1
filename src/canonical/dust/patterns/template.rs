//! Templates: a path and parameters with captures, matched without going back.

use super::glob::Glob;
use super::letters::has_upper;
use super::steps::{Bytes, Step, class_bytes};
use crate::canonical::dust::texts::check_text;
use crate::error::{Error, Result};

/// Most captures of a template: one digit each.
const CAPTURES_MAX: usize = 9;

/// What the captures of one URL hold, by number, from 1.
pub(crate) type Captured<'a> = [&'a [u8]; CAPTURES_MAX + 1];

/// Text with captures, each of which ends where it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    /// What it can be.
    glob: Glob,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Capture(usize, Bytes),
}

/// A path and some parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) path: Pattern,
    pub(crate) params: Vec<(Vec<u8>, Pattern)>,
}

/// Two forms of one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) from: Form,
    pub(crate) to: Form,
}

impl Template {
    /// Reads and checks both forms.
    pub(crate) fn parse(from: &str, to: &str) -> Result<Template> {
        let mut template = Template { from: Form::parse(from)?, to: Form::parse(to)? };
        template.from.check_matching()?;
        let (mut given, mut wanted) = (template.from.captures(), template.to.captures());
        given.sort_unstable();
        wanted.sort_unstable();
        if given.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::config(format!("\"{from}\" has a capture twice; once is enough")));
        }
        wanted.dedup();
        if given != wanted {
            return Err(Error::config(format!(
                "\"{from}\" and \"{to}\" differ in their captures; what is captured must be written, or \
                 different pages become one"
            )));
        }
        // What is written is what was captured.
        let sets = template.from.sets();
        let to = &mut template.to;
        for pattern in [&mut to.path].into_iter().chain(to.params.iter_mut().map(|(_, v)| v)) {
            for part in &mut pattern.parts {
                if let Part::Capture(number, set) = part {
                    *set = sets[*number];
                }
            }
            *pattern = Pattern::new(std::mem::take(&mut pattern.parts));
        }
        Ok(template)
    }

    /// Are all of its parameters that `name` is one of gone afterwards?
    pub(crate) fn consumes(&self, name: &[u8]) -> bool {
        self.from.has_param(name) && !self.to.has_param(name)
    }
}

impl Form {
    fn parse(text: &str) -> Result<Form> {
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        if !path.starts_with('/') {
            return Err(Error::config(format!("\"{text}\": a template starts with a slash")));
        }
        let mut params: Vec<(Vec<u8>, Pattern)> = Vec::new();
        for piece in query.into_iter().flat_map(|query| query.split('&')) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            check_text("from and to", name, "?#&={}")?;
            if name.is_empty() || params.iter().any(|(known, _)| known == name.as_bytes()) {
                return Err(Error::config(format!(
                    "\"{text}\": each parameter needs a name, and once only"
                )));
            }
            params.push((name.into(), Pattern::parse(value, "#&")?));
        }
        Ok(Form { path: Pattern::parse(path, "?#")?, params })
    }

    pub(crate) fn has_param(&self, name: &[u8]) -> bool {
        self.params.iter().any(|(known, _)| known == name)
    }

    fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        [&self.path].into_iter().chain(self.params.iter().map(|(_, value)| value))
    }

    fn captures(&self) -> Vec<usize> {
        let number = |part: &Part| match part {
            Part::Capture(number, _) => Some(*number),
            Part::Text(_) => None,
        };
        self.patterns().flat_map(|pattern| pattern.parts.iter().filter_map(number)).collect()
    }

    /// The bytes of each capture.
    fn sets(&self) -> [Bytes; CAPTURES_MAX + 1] {
        let mut sets = [Bytes::ANY; CAPTURES_MAX + 1];
        for part in self.patterns().flat_map(|pattern| &pattern.parts) {
            if let Part::Capture(number, set) = part {
                sets[*number] = *set;
            }
        }
        sets
    }

    fn check_matching(&self) -> Result<()> {
        self.patterns().try_for_each(Pattern::check_matching)
    }
}

impl Pattern {
    fn new(parts: Vec<Part>) -> Pattern {
        let glob = Glob::of(parts.iter().flat_map(|part| match part {
            Part::Text(text) => Step::text(text).collect::<Vec<_>>(),
            Part::Capture(_, set) => vec![Step::One(*set), Step::Many(*set)],
        }));
        Pattern { parts, glob }
    }

    fn parse(text: &str, forbidden: &str) -> Result<Pattern> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find('{').unwrap_or(rest.len());
            if end > 0 {
                check_text("from and to", &rest[..end], forbidden)?;
                parts.push(Part::Text(rest[..end].into()));
                rest = &rest[end..];
                continue;
            }
            let unknown = || {
                Error::config(format!(
                    "\"{text}\": expected a capture such as {{1}} or {{1:num}}, numbered from 1 to \
                     {CAPTURES_MAX}; classes are num, hex, base64 and slug"
                ))
            };
            let close = rest.find('}').ok_or_else(unknown)?;
            let (number, class) = match rest[1..close].split_once(':') {
                Some((number, class)) => (number, Some(class)),
                None => (&rest[1..close], None),
            };
            let set = match class {
                None => Bytes::of(|byte| byte.is_ascii_graphic() && !b"/?#&=;+".contains(&byte)),
                Some("*") => return Err(unknown()),
                Some(class) => class_bytes(class).ok_or_else(unknown)?,
            };
            match number.parse() {
                Ok(number @ 1..=CAPTURES_MAX) => parts.push(Part::Capture(number, set)),
                _ => return Err(unknown()),
            }
            rest = &rest[close + 1..];
        }
        Ok(Pattern::new(parts))
    }

    /// Is it certain where every capture ends? At the end of the text, before the text that is the
    /// pattern's end, or before text that cannot be part of the capture.
    fn check_matching(&self) -> Result<()> {
        for (at, pair) in self.parts.windows(2).enumerate() {
            let Part::Capture(number, set) = &pair[0] else { continue };
            let is_certain = match &pair[1] {
                Part::Capture(..) => false,
                Part::Text(text) => at + 2 == self.parts.len() || !set.has(text[0]),
            };
            if !is_certain {
                return Err(Error::config(format!(
                    "where does capture {number} end? Give it a class without what follows, as in \
                     {{{number}:num}}"
                )));
            }
        }
        Ok(())
    }

    /// Matches all of `text`.
    pub(crate) fn captures<'a>(&self, text: &'a [u8], captured: &mut Captured<'a>) -> bool {
        let mut rest = text;
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(text) => match rest.strip_prefix(text.as_slice()) {
                    Some(behind) => rest = behind,
                    None => return false,
                },
                Part::Capture(number, set) => {
                    let length = match &self.parts[at + 1..] {
                        [] => rest.len(),
                        [Part::Text(end)] if rest.ends_with(end) => rest.len() - end.len(),
                        [Part::Text(_)] => return false,
                        _ => rest.iter().take_while(|byte| set.has(**byte)).count(),
                    };
                    let (value, behind) = rest.split_at(length);
                    // A segment of dots would be resolved.
                    let is_dots = value == b"." || value == b"..";
                    if value.is_empty() || is_dots || !value.iter().all(|byte| set.has(*byte)) {
                        return false;
                    }
                    captured[*number] = value;
                    rest = behind;
                }
            }
        }
        rest.is_empty()
    }

    /// Appends the text with the captures put in.
    pub(crate) fn write(&self, captured: &Captured, out: &mut Vec<u8>) {
        for part in &self.parts {
            out.extend_from_slice(match part {
                Part::Text(text) => text,
                Part::Capture(number, _) => captured[*number],
            });
        }
    }

    /// What it can be.
    pub(crate) fn glob(&self) -> &Glob {
        &self.glob
    }

    /// Could it hold this byte?
    pub(crate) fn may_hold(&self, byte: u8) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Text(text) => text.contains(&byte),
            Part::Capture(_, set) => set.has(byte),
        })
    }

    /// Could it hold letters in upper case?
    pub(crate) fn may_have_upper(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Text(text) => has_upper(text),
            Part::Capture(_, set) => (b'A'..=b'Z').any(|byte| set.has(byte)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(from: &str, to: &str, path: &str) -> Option<String> {
        let template = Template::parse(from, to).unwrap();
        let mut captured = Captured::default();
        template.from.path.captures(path.as_bytes(), &mut captured).then(|| {
            let mut out = Vec::new();
            template.to.path.write(&captured, &mut out);
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn paths() {
        for (from, to, path, expected) in [
            ("/item_{1:num}", "/item/{1}", "/item_12", Some("/item/12")),
            ("/item_{1:num}", "/item/{1}", "/item_1x", None),
            ("/item_{1:num}", "/item/{1}", "/item_", None),
            ("/{1}.html", "/x/{1}", "/a.b.html", Some("/x/a.b")),
            ("/{1}.html", "/x/{1}", "/..html", None),
            ("/{1}/{2}", "/{2}/{1}", "/a/b", Some("/b/a")),
            ("/{1:num}-{2}.html", "/{2}_{1}", "/12-a-b.html", Some("/a-b_12")),
        ] {
            assert_eq!(written(from, to, path).as_deref(), expected, "{from} {path}");
        }
    }

    #[test]
    fn refused() {
        for (from, to, why) in [
            ("/{1}{2}", "/{1}/{2}", "where does"),
            ("/{1}-{2}/x", "/{1}/{2}", "where does"),
            ("/{1}/{1}", "/{1}", "twice"),
            ("/{1}/{2}", "/{1}", "differ"),
            ("/{1}", "/x/{1}{2}", "differ"),
            ("/{0}", "/{0}", "numbered"),
            ("/{1:foo}", "/{1}", "classes"),
            ("/{1", "/{1}", "capture"),
            ("x/{1}", "/{1}", "slash"),
            ("/x?={1}", "/{1}", "name"),
            ("/x?a={1}&a={2}", "/{1}/{2}", "once"),
        ] {
            let message = Template::parse(from, to).unwrap_err().to_string();
            assert!(message.contains(why), "{from} {to}: {message}");
        }
    }
}
