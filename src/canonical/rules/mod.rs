//! The registry of rules: each one is a file, a page of documentation, a table of cases and a place
//! in the profiles.
//!
//! The order of [`RuleId::ALL`] is the order of application. It is fixed: what a rule reads is
//! settled by the rules before it, and where a rule re-opens an earlier one's work, the reference
//! lane goes back (see `reference.rs`).

mod case;
mod default_params;
mod default_port;
pub(super) mod directory_index;
mod dot_segments;
mod duplicate_slashes;
mod dust;
mod empty_query;
pub(super) mod encoding;
pub(super) mod escapes;
mod fragment;
mod ip_host;
mod params;
mod query_order;
mod scheme;
mod session_ids;
pub(super) mod trailing_slash;
pub(super) mod www;

pub use dot_segments::remove_dot_segments;

use super::draft::Draft;
use super::options::Options;

/// A rule of the field's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // Each rule's page is its file's documentation; see [`RuleId::info`].
#[non_exhaustive]
pub enum RuleId {
    Case,
    DefaultPort,
    Escapes,
    DotSegments,
    Encoding,
    Fragment,
    IpHost,
    Www,
    Scheme,
    DuplicateSlashes,
    SessionIds,
    Params,
    DefaultParams,
    QueryOrder,
    EmptyQuery,
    DirectoryIndex,
    TrailingSlash,
    Dust,
}

/// What a rule does to the meaning of a URL. Source: RFC 3986 section 6.2 for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Preserves it.
    Preserves,
    /// Usually preserves it.
    Usually,
    /// Changes it; right for many sites, wrong for some.
    Changes,
    /// Measured on the site it was learned from or written for.
    Measured,
}

impl Class {
    /// One letter for tables: P, U, C, M.
    pub fn letter(self) -> char {
        match self {
            Class::Preserves => 'P',
            Class::Usually => 'U',
            Class::Changes => 'C',
            Class::Measured => 'M',
        }
    }

    /// A few words for people.
    pub fn explain(self) -> &'static str {
        match self {
            Class::Preserves => "preserves semantics",
            Class::Usually => "usually preserves semantics",
            Class::Changes => "changes semantics",
            Class::Measured => "measured per site",
        }
    }
}

/// Everything the rest of the program needs to know of a rule.
#[derive(Debug)]
pub struct RuleInfo {
    /// Name on the command line and in reports.
    pub name: &'static str,
    /// Number in the field's list, as documentation numbers it.
    pub number: &'static str,
    /// What it does to meaning.
    pub class: Class,
    /// The built-in profiles it is part of.
    pub profiles: &'static [&'static str],
    /// One line for tables, without a final period.
    pub summary: &'static str,
    /// The rule's source file, whose first comment is its page.
    source: &'static str,
    /// The rule itself, in the reference lane. Returns whether anything changed.
    pub(super) apply: fn(&mut Draft, &Options) -> bool,
}

impl RuleInfo {
    /// The page of documentation, as Markdown: the comment at the top of the rule's file.
    pub fn page(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        lines.join("\n") + "\n"
    }
}

/// In every profile that parses.
const ALL_PROFILES: &[&str] = &["whatwg", "rfc3986", "crawl", "aggressive"];
/// `rfc3986` and up.
const FROM_RFC3986: &[&str] = &["rfc3986", "crawl", "aggressive"];
/// `crawl` and up.
const FROM_CRAWL: &[&str] = &["crawl", "aggressive"];
/// Only `aggressive`.
const AGGRESSIVE: &[&str] = &["aggressive"];

macro_rules! info {
    ($module:ident, $number:literal, $class:ident, $profiles:expr, $summary:literal) => {{
        static INFO: RuleInfo = RuleInfo {
            name: $module::NAME,
            number: $number,
            class: Class::$class,
            profiles: $profiles,
            summary: $summary,
            source: include_str!(concat!(stringify!($module), ".rs")),
            apply: $module::apply,
        };
        &INFO
    }};
}

impl RuleId {
    /// Every rule, in the order of application.
    pub const ALL: [RuleId; 18] = [
        RuleId::Case,
        RuleId::DefaultPort,
        RuleId::Escapes,
        RuleId::DotSegments,
        RuleId::Encoding,
        RuleId::Fragment,
        RuleId::IpHost,
        RuleId::Www,
        RuleId::Scheme,
        RuleId::DuplicateSlashes,
        RuleId::SessionIds,
        RuleId::Params,
        RuleId::DefaultParams,
        RuleId::QueryOrder,
        RuleId::EmptyQuery,
        RuleId::DirectoryIndex,
        RuleId::TrailingSlash,
        RuleId::Dust,
    ];

    /// What there is to know of this rule.
    #[rustfmt::skip]
    pub fn info(self) -> &'static RuleInfo {
        match self {
            RuleId::Case => info!(case, "1", Preserves, ALL_PROFILES,
                "scheme and host in lower case, IDN as punycode, addresses in one form"),
            RuleId::DefaultPort => info!(default_port, "8", Preserves, ALL_PROFILES,
                "drops the scheme's own port and the empty port"),
            RuleId::Escapes => info!(escapes, "4", Preserves, FROM_RFC3986,
                "escapes in upper case; unreserved characters decoded, once"),
            RuleId::DotSegments => info!(dot_segments, "10", Preserves, ALL_PROFILES,
                "resolves . and .. segments"),
            RuleId::Encoding => info!(encoding, "16", Usually, ALL_PROFILES,
                "one spelling per character: raw or escaped, + or %20"),
            RuleId::Fragment => info!(fragment, "5", Usually, FROM_CRAWL,
                "drops the fragment, but keeps #! and #/ routes"),
            RuleId::IpHost => info!(ip_host, "6", Changes, &[],
                "replaces an address by the host name of the same site"),
            RuleId::Www => info!(www, "11", Changes, AGGRESSIVE,
                "drops a first label www"),
            RuleId::Scheme => info!(scheme, "7", Changes, AGGRESSIVE,
                "treats https and http as one"),
            RuleId::DuplicateSlashes => info!(duplicate_slashes, "9", Changes, AGGRESSIVE,
                "replaces several slashes in the path by one"),
            RuleId::SessionIds => info!(session_ids, "13b", Usually, FROM_CRAWL,
                "drops session ids, by name and shape of the value"),
            RuleId::Params => info!(params, "13", Usually, FROM_CRAWL,
                "drops tracking parameters; or all except the expected ones"),
            RuleId::DefaultParams => info!(default_params, "14", Changes, &[],
                "drops parameters that have their default value"),
            RuleId::QueryOrder => info!(query_order, "12", Usually, FROM_CRAWL,
                "sorts parameters by name, drops empty pairs"),
            RuleId::EmptyQuery => info!(empty_query, "15", Usually, FROM_CRAWL,
                "drops a ? with nothing after it"),
            RuleId::DirectoryIndex => info!(directory_index, "3", Changes, AGGRESSIVE,
                "drops index.html and similar names"),
            RuleId::TrailingSlash => info!(trailing_slash, "2", Preserves, ALL_PROFILES,
                "writes the empty path as /; aggressive removes a slash at the end, others if asked"),
            RuleId::Dust => info!(dust, "17", Measured, &[],
                "applies the rules of single sites, from a file"),
        }
    }

    /// Name on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The rule called `name`.
    pub fn named(name: &str) -> Option<RuleId> {
        RuleId::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// A set of rules, as bits in the order of application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleSet(u32);

impl RuleSet {
    /// No rule.
    pub const EMPTY: RuleSet = RuleSet(0);

    /// Is `rule` in the set?
    pub fn contains(self, rule: RuleId) -> bool {
        self.0 >> rule as u32 & 1 == 1
    }

    /// Inserts `rule`.
    pub fn insert(&mut self, rule: RuleId) {
        self.0 |= 1 << rule as u32;
    }

    /// Removes `rule`.
    pub fn remove(&mut self, rule: RuleId) {
        self.0 &= !(1 << rule as u32);
    }

    /// The rules in the set, in the order of application.
    pub fn iter(self) -> impl Iterator<Item = RuleId> {
        RuleId::ALL.into_iter().filter(move |rule| self.contains(*rule))
    }

    /// How many rules.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// No rule at all?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rules of both.
    #[must_use]
    pub fn union(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 | other.0)
    }

    /// The names, joined by commas.
    pub fn names(self) -> String {
        self.iter().map(RuleId::name).collect::<Vec<_>>().join(",")
    }
}

impl FromIterator<RuleId> for RuleSet {
    fn from_iter<T: IntoIterator<Item = RuleId>>(rules: T) -> Self {
        let mut set = RuleSet::EMPTY;
        for rule in rules {
            set.insert(rule);
        }
        set
    }
}

/// Replaces `old` by `new`, and returns whether that changed anything.
fn replace<T: PartialEq>(old: &mut T, new: T) -> bool {
    let changed = *old != new;
    *old = new;
    changed
}

/// The pieces of a query between the `&`, with their names and values.
fn pieces(query: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    query.split(|byte| *byte == b'&').map(|piece| {
        let (name, value) = split_piece(piece);
        (piece, name, value)
    })
}

/// Name and value of one `piece` of a query: before and after the first `=`.
pub(super) fn split_piece(piece: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'=', piece) {
        Some(at) => (&piece[..at], &piece[at + 1..]),
        None => (piece, b""),
    }
}

/// Keeps the pieces of `query` for which `keep` returns true. A query that loses everything is
/// dropped with its `?`. Returns whether anything was dropped.
fn retain_pieces(query: &mut Option<Vec<u8>>, keep: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let Some(old) = query else { return false };
    let stays =
        |&(piece, name, value): &(&[u8], &[u8], &[u8])| piece.is_empty() || keep(name, value);
    if pieces(old).all(|piece| stays(&piece)) {
        return false;
    }
    let kept: Vec<&[u8]> = pieces(old).filter(stays).map(|(piece, _, _)| piece).collect();
    let new = kept.join(&b'&');
    *query = (!kept.is_empty()).then_some(new);
    true
}

// `ALL` has every variant: the last one, and each before it.
const _: () = assert!(RuleId::ALL.len() == RuleId::Dust as usize + 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_in_the_registry_once() {
        for (at, rule) in RuleId::ALL.into_iter().enumerate() {
            assert_eq!(rule as usize, at);
            assert_eq!(RuleId::named(rule.name()), Some(rule));
        }
    }

    #[test]
    fn every_rule_is_named_after_its_variant() {
        for rule in RuleId::ALL {
            let spelled: String = format!("{rule:?}")
                .char_indices()
                .flat_map(|(at, letter)| {
                    let hyphen = (at > 0 && letter.is_ascii_uppercase()).then_some('-');
                    hyphen.into_iter().chain([letter.to_ascii_lowercase()])
                })
                .collect();
            assert_eq!(rule.name(), spelled);
        }
    }

    #[test]
    fn every_rule_has_its_page() {
        for rule in RuleId::ALL {
            let page = rule.info().page();
            let mut rest = page.as_str();
            for heading in ["What it does", "When it is safe", "Example", "Options", "Source"] {
                let at = rest.find(&format!("# {heading}"));
                rest = &rest[at.unwrap_or_else(|| panic!("{}: no {heading}", rule.name()))..];
            }
        }
    }

    #[test]
    fn every_rule_has_a_place_in_a_profile_or_needs_a_map() {
        let mapped = [RuleId::IpHost, RuleId::DefaultParams, RuleId::Dust];
        for rule in RuleId::ALL {
            assert_eq!(rule.info().profiles.is_empty(), mapped.contains(&rule), "{}", rule.name());
        }
    }

    #[test]
    fn sets() {
        let mut set: RuleSet = [RuleId::Www, RuleId::Case].into_iter().collect();
        assert_eq!(set.names(), "case,www");
        set.remove(RuleId::Case);
        assert_eq!((set.len(), set.is_empty()), (1, false));
        assert_eq!(set.union(RuleSet::EMPTY), set);
    }
}
