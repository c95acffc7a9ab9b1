//! What rules do, and both sides of those that have two, in the spelling of a profile.

use super::rule::Kind;
use super::spelling::Spelling;
use super::wildcards::{Words, cut_at, stars};

impl Spelling {
    /// What a rule does, in as many forms as it takes; in none if it does nothing.
    pub(super) fn kinds(&self, host: &str, kind: &Kind) -> Vec<Kind> {
        let name = |param: &str| self.name(host, param);
        let kind = match kind {
            Kind::HostAlias { .. }
            | Kind::FoldCase { param: None }
            | Kind::ConstantPage
            | Kind::OrderFree
            | Kind::Substitute { .. } => kind.clone(),
            Kind::AliasPrefix { from, to } => return self.prefixes(host, from, to),
            Kind::AliasSuffix { from, to } => {
                return self.suffix(host, from, to).into_iter().collect();
            }
            Kind::RewriteTemplate { from, to } => return self.templates(host, from, to),
            Kind::AliasSegment { from, to } => {
                Kind::AliasSegment { from: self.segment(host, from), to: self.segment(host, to) }
            }
            Kind::DropPathParam { param } => {
                Kind::DropPathParam { param: self.segment(host, param) }
            }
            // Where an escaped `*` would become one that stands for other text, the
            // rule stays as it is.
            Kind::DropSegment { segment } => {
                let spelled = self.segment(host, segment);
                let is_wider = stars(&spelled) != stars(segment);
                Kind::DropSegment { segment: if is_wider { segment.clone() } else { spelled } }
            }
            Kind::DropParam { param } => match param.strip_suffix('*') {
                Some(start) => {
                    let (start, cut) = start.split_at(cut_at(start));
                    Kind::DropParam { param: format!("{}{cut}*", name(start)) }
                }
                None if name(param).ends_with('*') => kind.clone(),
                None => Kind::DropParam { param: name(param) },
            },
            Kind::FoldCase { param: Some(param) } => Kind::FoldCase { param: Some(name(param)) },
            Kind::KeepOnly { params } => {
                Kind::KeepOnly { params: params.iter().map(|param| name(param)).collect() }
            }
            Kind::DefaultParam { param, value } => {
                Kind::DefaultParam { param: name(param), value: self.value(host, value) }
            }
            Kind::AliasValue { param, from, to } => Kind::AliasValue {
                param: name(param),
                from: self.value(host, from),
                to: self.value(host, to),
            },
        };
        let does_something = match &kind {
            Kind::AliasSegment { from, to } | Kind::AliasValue { from, to, .. } => from != to,
            _ => true,
        };
        does_something.then_some(kind).into_iter().collect()
    }

    /// An alias of what paths start with. The path that is all of it may have another end than
    /// those that go on, and is an alias by itself then.
    fn prefixes(&self, host: &str, from: &str, to: &str) -> Vec<Kind> {
        let start = |text: &str| {
            let (text, cut) = text.split_at(cut_at(text));
            let word = Words::unlike(text).word(0);
            let spelled = self.canonical(&self.whole, host, &format!("{text}{word}"))?;
            spelled.split_once(&word).map(|(start, _)| format!("{start}{cut}"))
        };
        let (Some(start_from), Some(start_to)) = (start(from), start(to)) else {
            return Vec::new();
        };
        let mut kinds = Vec::new();
        // Behind `/.` a name goes on, or it is none.
        let whole = |text: &str| {
            let is_whole = !text.ends_with("/.") && !text.ends_with("/..");
            self.canonical(&self.whole, host, text).filter(|_| is_whole)
        };
        if let (Some(from), Some(to)) = (whole(from), whole(to))
            && !from.starts_with(&start_from)
            && from != to
        {
            kinds.push(Kind::RewriteTemplate { from, to });
        }
        if start_from != start_to {
            kinds.push(Kind::AliasPrefix { from: start_from, to: start_to });
        }
        kinds
    }

    /// An alias of what paths end with; `None` if it does nothing, or is all of what tells
    /// a path from others.
    fn suffix(&self, host: &str, from: &str, to: &str) -> Option<Kind> {
        let is_bare = !from.starts_with(['/', '.']);
        let as_end = |text: &str| if is_bare { format!("/{text}") } else { text.to_string() };
        let word = Words::unlike(&format!("{from}{to}")).word(0);
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
            return Some(Kind::AliasSuffix { from: from.to_string(), to: to.to_string() });
        }
        Some(Kind::AliasSuffix { from: start, to: end })
    }

    /// Another form of paths and parameters.
    pub(super) fn templates(&self, host: &str, from: &str, to: &str) -> Vec<Kind> {
        let around = |form: &str| self.around(&self.at_end_of(form), host, form);
        let (Some(spelled), Some(to)) = (around(from), around(to)) else { return Vec::new() };
        let (path, query) = match spelled.split_once('?') {
            Some((path, query)) => (path.to_string(), format!("?{query}")),
            None => (spelled, String::new()),
        };
        let forms = self.with_both_ends(path).into_iter().map(|path| path + &query);
        forms
            .filter(|from| *from != to)
            .map(|from| Kind::RewriteTemplate { from, to: to.clone() })
            .collect()
    }
}
