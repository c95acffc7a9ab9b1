//! Where the case of letters matters: the sections of a site that folding is kept from.
//!
//! A site may answer to paths in any letters and yet have a section whose names differ only by
//! them, as short links are: `/v/aBc` is not `/v/abc`. Rules are matched against paths as they are
//! spelled, so a section can be kept from folding only where its own name is always spelled in one
//! way. A section is what a handler's template begins with, up to the last slash before what
//! varies.

use std::collections::BTreeSet;

use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::loose_path::LoosePath;

/// The handlers of a site with the letters of its paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sections<'a> {
    pub(crate) handlers: &'a Handlers,
    pub(crate) loose_paths: &'a [LoosePath],
}

/// How the name of a section has to be spelled, wherever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelled {
    /// In one way.
    InOneWay,
    /// In lower case.
    InLowerCase,
}

/// What the paths of a template begin with; `None` if that is all of the site, or if nothing
/// varies.
pub(super) fn head(template: &[u8]) -> Option<&[u8]> {
    let varies = memchr::memchr(b'{', template)?;
    let end = memchr::memrchr(b'/', &template[..varies])? + 1;
    (end > 1).then(|| &template[..end])
}

/// What the sections of these handlers begin with, as [`Sections::around`] gives them: each once.
pub(crate) fn heads<'a>(handlers: &'a Handlers, all: &BTreeSet<u32>) -> BTreeSet<&'a [u8]> {
    all.iter().filter_map(|handler| head(&handlers.templates[*handler as usize])).collect()
}

impl Sections<'_> {
    /// The `bad` handlers with all others of their sections; `None` if one of them has no section
    /// of its own, or one whose name is not `spelled` as it has to be, or that no pattern can say.
    ///
    /// Linear in the paths for each handler.
    pub(crate) fn around(&self, bad: &BTreeSet<u32>, spelled: Spelled) -> Option<BTreeSet<u32>> {
        let templates = &self.handlers.templates;
        let mut all = BTreeSet::new();
        for handler in bad {
            if all.contains(handler) {
                continue;
            }
            let head = head(&templates[*handler as usize])?;
            let inside = self.loose_paths.iter().filter(|loose| loose.base.starts_with(head));
            let mut names = inside.map(|loose| loose.cased.get(..head.len()));
            let name = match spelled {
                Spelled::InOneWay => names.next().flatten().unwrap_or(head),
                Spelled::InLowerCase => head,
            };
            let is_literal = std::str::from_utf8(head).is_ok() && !head.contains(&b'*');
            if !is_literal || !names.all(|other| other == Some(name)) {
                return None;
            }
            let inside = (0..).zip(templates).filter(|(_, template)| template.starts_with(head));
            all.extend(inside.map(|(number, _)| number));
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use crate::canonical::{DustKind, DustRule, DustStatus};
    use crate::mine::tests::mined;

    /// Pages in any letters, and short links that differ only by them; `other` is one more URL.
    fn folded(other: &str) -> Vec<DustRule> {
        let mut rows = Vec::new();
        for page in 0..300 {
            for url in [format!("/news/page-{page}.html"), format!("/News/Page-{page}.HTML")] {
                rows.push((format!("http://a.test{url}"), format!("page {page}")));
            }
        }
        for link in 0..100 {
            let first = ["ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu"][link % 10];
            let second = ["x", "y", "z", "w", "q", "r", "s", "t", "v", "b"][link / 10];
            let name = format!("{first}{second}");
            rows.push((format!("http://a.test/v/{name}"), format!("link {link}")));
            let name = name.to_ascii_uppercase();
            rows.push((format!("http://a.test/v/{name}"), format!("other link {link}")));
        }
        rows.push((format!("http://a.test{other}"), "one more".to_string()));
        let fold = DustKind::FoldCase { param: None };
        let is_it = |rule: &DustRule| rule.kind == fold && rule.status == DustStatus::Auto;
        mined(&rows).rules.into_iter().filter(is_it).collect()
    }

    #[test]
    fn a_section_is_kept_from_folding() {
        let rules = folded("/");
        assert_eq!(rules.len(), 1, "{rules:?}");
        assert_eq!(rules[0].scope.except, ["/v/*"]);
    }

    #[test]
    fn a_section_in_other_letters_cannot_be_kept() {
        assert_eq!(folded("/V/abcdef"), []);
    }
}
