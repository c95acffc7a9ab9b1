//! What rules do, and both sides of those that have two, in the spelling of a profile.

use super::Spelling;
use crate::canonical::dust::patterns::wildcards::{Placeholders, cut_at, stars};
use crate::canonical::dust::rule::DustKind;

impl Spelling {
    /// What a rule does, in as many forms as it takes; in none if it does nothing.
    pub(super) fn kinds(&self, host: &str, kind: &DustKind) -> Vec<DustKind> {
        let name = |param: &str| self.name(host, param);
        let kind = match kind {
            DustKind::HostAlias { .. }
            | DustKind::FoldCase { param: None }
            | DustKind::ConstantPage
            | DustKind::OrderFree
            | DustKind::Substitute { .. } => kind.clone(),
            DustKind::AliasPrefix { from, to } => return self.prefixes(host, from, to),
            DustKind::AliasSuffix { from, to } => {
                return self.suffix(host, from, to).into_iter().collect();
            }
            DustKind::RewriteTemplate { from, to } => return self.templates(host, from, to),
            DustKind::AliasSegment { from, to } => DustKind::AliasSegment {
                from: self.segment(host, from),
                to: self.segment(host, to),
            },
            DustKind::DropPathParam { param } => {
                DustKind::DropPathParam { param: self.segment(host, param) }
            }
            // Where an escaped `*` would become one that stands for other text, the
            // rule stays as it is.
            DustKind::DropSegment { segment } => {
                let spelled = self.segment(host, segment);
                let is_wider = stars(&spelled) != stars(segment);
                DustKind::DropSegment { segment: if is_wider { segment.clone() } else { spelled } }
            }
            DustKind::DropParam { param } => match param.strip_suffix('*') {
                Some(start) => {
                    let (start, cut) = start.split_at(cut_at(start));
                    DustKind::DropParam { param: format!("{}{cut}*", name(start)) }
                }
                None if name(param).ends_with('*') => kind.clone(),
                None => DustKind::DropParam { param: name(param) },
            },
            DustKind::FoldCase { param: Some(param) } => {
                DustKind::FoldCase { param: Some(name(param)) }
            }
            DustKind::KeepOnly { params } => {
                DustKind::KeepOnly { params: params.iter().map(|param| name(param)).collect() }
            }
            DustKind::DefaultParam { param, value } => {
                DustKind::DefaultParam { param: name(param), value: self.value(host, value) }
            }
            DustKind::AliasValue { param, from, to } => DustKind::AliasValue {
                param: name(param),
                from: self.value(host, from),
                to: self.value(host, to),
            },
        };
        let does_something = match &kind {
            DustKind::AliasSegment { from, to } | DustKind::AliasValue { from, to, .. } => {
                from != to
            }
            _ => true,
        };
        does_something.then_some(kind).into_iter().collect()
    }

    /// An alias of what paths start with. The path that is all of it may have another end than
    /// those that go on, and is an alias by itself then.
    fn prefixes(&self, host: &str, from: &str, to: &str) -> Vec<DustKind> {
        let start = |text: &str| {
            let (text, cut) = text.split_at(cut_at(text));
            let word = Placeholders::unlike(text).word(0);
            let spelled = self.canonical(&self.whole, host, &format!("{text}{word}"))?;
            spelled.split_once(&word).map(|(start, _)| format!("{start}{cut}"))
        };
        let (Some(start_from), Some(start_to)) = (start(from), start(to)) else {
            return Vec::new();
        };
        let mut kinds = Vec::new();
        // After `/.` a name goes on, or it is none.
        let whole = |text: &str| {
            let is_whole = !text.ends_with("/.") && !text.ends_with("/..");
            self.canonical(&self.whole, host, text).filter(|_| is_whole)
        };
        if let (Some(from), Some(to)) = (whole(from), whole(to))
            && !from.starts_with(&start_from)
            && from != to
        {
            kinds.push(DustKind::RewriteTemplate { from, to });
        }
        if start_from != start_to {
            kinds.push(DustKind::AliasPrefix { from: start_from, to: start_to });
        }
        kinds
    }

    /// An alias of what paths end with; `None` if it does nothing, or is all that distinguishes a
    /// path from others.
    fn suffix(&self, host: &str, from: &str, to: &str) -> Option<DustKind> {
        let is_bare = !from.starts_with(['/', '.']);
        let as_end = |text: &str| if is_bare { format!("/{text}") } else { text.to_string() };
        let word = Placeholders::unlike(&format!("{from}{to}")).word(0);
        let spelled = |end: &str| {
            let spelled = self.canonical(&self.whole, host, &format!("/{word}{end}"))?;
            spelled.strip_prefix(&format!("/{word}")).map(str::to_string)
        };
        let ends = [as_end(from), as_end(to)];
        let [Some(start), Some(end)] = [spelled(&ends[0]), spelled(&ends[1])] else { return None };
        let is_lost = start != ends[0] && start.trim_matches('/').is_empty();
        if start == end || is_lost || !start.starts_with(['/', '.']) {
            return None;
        }
        if [&start, &end] == [&ends[0], &ends[1]] {
            return Some(DustKind::AliasSuffix { from: from.to_string(), to: to.to_string() });
        }
        Some(DustKind::AliasSuffix { from: start, to: end })
    }

    /// Another form of paths and parameters.
    pub(super) fn templates(&self, host: &str, from: &str, to: &str) -> Vec<DustKind> {
        let around = |form: &str| self.around(&self.at_end_of(form), host, form);
        let (Some(spelled), Some(to)) = (around(from), around(to)) else { return Vec::new() };
        let (path, query) = match spelled.split_once('?') {
            Some((path, query)) => (path.to_string(), format!("?{query}")),
            None => (spelled, String::new()),
        };
        let forms = self.with_both_ends(path).into_iter().map(|path| path + &query);
        forms
            .filter(|from| *from != to)
            .map(|from| DustKind::RewriteTemplate { from, to: to.clone() })
            .collect()
    }
}
