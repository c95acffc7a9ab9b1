//! How the paths of a handler are spelled where its rules meet them.
//!
//! Handlers are found on paths in one loose spelling (`loose_path.rs`): letters in lower case,
//! without the name of an index page and the slash at the end. Rules are matched against paths as
//! they are spelled, after the rules for paths have done their work. So what is said of a handler
//! is written for each spelling that was seen of its paths, as a pattern: `/Forum/{slug}.php`.

use std::cell::{LazyCell, OnceCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use super::moves::{Moved, Moves};
use super::patterns::{around, other_slashes, pattern, pruned, without_sessions};
use crate::canonical::PathPattern;
use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::loose_path::LoosePath;
use crate::mine::seen::stems::Place;
use crate::mine::seen::table::Table;

/// Most patterns of one handler that a rule is written for, those with the most URLs.
///
/// Reason: people spell a script in a handful of ways, and each is a rule that every URL tries.
pub(super) const SPELLINGS_MAX: usize = 16;

/// Most patterns of one handler that a rule is kept from.
///
/// Reason: a rule tries all of them for each URL, and people spell a script in a handful of ways;
/// what has more is not understood.
const POSSIBLE_MAX: usize = 64;

/// Most shapes of session numbers of one handler that its patterns distinguish.
///
/// Reason: a site has one or two; what has more are names of things, and makes a pattern each.
const SHAPES_MAX: usize = 8;

/// The patterns of the paths of each handler.
#[derive(Debug)]
pub(super) struct Spellings {
    /// By handler.
    of_handler: Vec<Spelled>,
    /// The handlers that have paths of a pattern with the rules in force, by its text.
    sharing: BTreeMap<Rc<str>, BTreeSet<u32>>,
    /// The handlers that have paths of a pattern under some profile, by its text. Made when it is
    /// first asked for: no rule may hold under some handlers only. Patterns are texts here, since
    /// each of their steps takes 32 times as much.
    under_profiles: OnceCell<BTreeMap<Rc<str>, Vec<u32>>>,
}

/// The patterns of a site, which are made when they are first asked for: most sites have no rule
/// and no guard.
pub(super) type LazySpellings<'a> = LazyCell<Spellings, Box<dyn FnOnce() -> Spellings + 'a>>;

/// The patterns of the paths of one handler.
#[derive(Clone, Debug, Default)]
struct Spelled {
    /// URLs of the handler.
    urls: u64,
    /// Those that rules are written for: of paths once the rules for paths in force have done their
    /// work, with session numbers and without. With their URLs, from most to fewest.
    targets: Vec<(Rc<str>, u64)>,
    /// These, and what there is where fewer rules are in force, or those to be reviewed, too.
    possible: BTreeSet<Rc<str>>,
    /// Patterns around paths that none can be written for.
    others: BTreeSet<Rc<str>>,
}

impl Spellings {
    /// Spells the paths of `table`, which have this many `urls` each, and are `loose_paths` in
    /// their loose spelling.
    ///
    /// Linear in the paths for each rule for paths.
    pub(super) fn find(
        table: &Table,
        loose_paths: &[LoosePath],
        urls: &[u64],
        handlers: &Handlers,
        moves: &Moves<'_>,
    ) -> Spellings {
        let mut of_handler = vec![Spelled::default(); handlers.templates.len()];
        let mut targets = vec![BTreeMap::new(); handlers.templates.len()];
        let mut sharing: BTreeMap<Rc<str>, BTreeSet<u32>> = BTreeMap::new();
        let mut shapes = vec![BTreeSet::new(); handlers.templates.len()];
        for (loose, handler) in loose_paths.iter().zip(&handlers.of_path) {
            shapes[*handler as usize].extend(loose.sessions.iter().map(|(shape, _)| shape));
        }
        let places = handlers.of_path.iter().zip(&table.stems);
        for ((path, (handler, stem)), urls) in table.paths.iter().zip(places).zip(urls) {
            let place = Place { handler: *handler, stem: *stem };
            let spelled = &mut of_handler[*handler as usize];
            let names_sessions = shapes[*handler as usize].len() <= SHAPES_MAX;
            spelled.urls += urls;
            for (moved, chance) in forms(moves, path, place) {
                let Some(pattern) = pattern(&moved.path, &moved.template, names_sessions) else {
                    spelled.others.insert(around(&moved.path).into());
                    continue;
                };
                let pattern: Rc<str> = pattern.into();
                if chance == Chance::Target {
                    *targets[*handler as usize].entry(pattern.clone()).or_insert(0) += urls;
                }
                if chance >= Chance::InForce {
                    sharing.entry(pattern.clone()).or_default().insert(*handler);
                }
                spelled.possible.insert(pattern);
            }
        }
        for (spelled, targets) in of_handler.iter_mut().zip(targets) {
            spelled.targets = targets.into_iter().collect();
            spelled.targets.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        }
        Spellings { of_handler, sharing, under_profiles: OnceCell::new() }
    }

    /// The patterns of all handlers, by their text.
    fn under_profiles(&self) -> &BTreeMap<Rc<str>, Vec<u32>> {
        self.under_profiles.get_or_init(|| {
            let mut out: BTreeMap<Rc<str>, Vec<u32>> = BTreeMap::new();
            for (handler, spelled) in (0..).zip(&self.of_handler) {
                for pattern in spelled.possible.iter().chain(&spelled.others) {
                    for pattern in BTreeSet::from([pattern.clone(), pruned(pattern).into()]) {
                        out.entry(pattern).or_default().push(handler);
                    }
                }
            }
            out
        })
    }

    /// The handlers with paths that `pattern` may match, too, under some profile. One may
    /// come several times.
    ///
    /// Linear in the patterns that begin with the text that it begins with, and in those that begin
    /// with a part of that text and go on with anything.
    pub(super) fn under(&self, pattern: &str) -> impl Iterator<Item = u32> {
        let readings = BTreeSet::from([pattern.to_string(), pruned(pattern)]);
        readings.into_iter().flat_map(|reading| self.meeting(reading))
    }

    fn meeting(&self, pattern: String) -> impl Iterator<Item = u32> {
        let text = &pattern[..pattern.find(['{', '*']).unwrap_or(pattern.len())];
        let parts = (0..text.len()).map(|end| &text[..end]);
        let starts = parts.flat_map(|part| ["*", "{"].map(|wild| [part, wild].concat()));
        let starts: Vec<String> = starts.chain([text.to_string()]).collect();
        let parsed = PathPattern::parse(&pattern);
        let near = starts.into_iter().flat_map(|start| {
            let from = (Bound::Included(start.as_str()), Bound::Unbounded);
            let from = self.under_profiles().range::<str, _>(from);
            from.take_while(move |(other, _)| other.starts_with(&start))
        });
        let meets = move |other: &str| {
            let other = PathPattern::parse(other);
            other.is_some_and(|other| parsed.as_ref().is_none_or(|one| one.meets(&other)))
        };
        near.filter(move |(other, _)| meets(other))
            .flat_map(|(_, handlers)| handlers.iter().copied())
    }

    /// The patterns that a rule for `handler` is written for, from most to fewest URLs, which come
    /// with them: those that no handlers but those in `only` have paths of.
    pub(super) fn targets<'a>(
        &'a self,
        handler: u32,
        only: &BTreeSet<u32>,
    ) -> impl Iterator<Item = (&'a str, u64)> {
        let targets = self.of_handler[handler as usize].targets.iter();
        let own = targets.filter(|(pattern, _)| self.sharing[pattern].is_subset(only));
        own.map(|(pattern, urls)| (&**pattern, *urls))
    }

    /// All patterns of the paths of `handler`; `None` if one cannot be written, or
    /// they are too many.
    pub(super) fn possible(&self, handler: u32) -> Option<&BTreeSet<Rc<str>>> {
        let Spelled { possible, others, .. } = &self.of_handler[handler as usize];
        (others.is_empty() && possible.len() <= POSSIBLE_MAX).then_some(possible)
    }

    /// How many URLs `handler` has.
    pub(super) fn urls(&self, handler: u32) -> u64 {
        self.of_handler[handler as usize].urls
    }
}

/// Where a path may come to be spelled in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Chance {
    /// Only where fewer rules for paths are in force, or those to be reviewed, too.
    Possible,
    /// With the rules in force, under some profile.
    InForce,
    /// And that is how URLs are spelled that were seen.
    Target,
}

/// What may become of `path`, one of this `place`, under any profile, with any of
/// the rules for paths.
fn forms<'a>(moves: &Moves<'a>, path: &[u8], place: Place) -> Vec<(Moved<'a>, Chance)> {
    let mut out: Vec<(Moved<'a>, Chance)> = Vec::with_capacity(2);
    let mut add = |moved: Moved<'a>, chance: Chance| match out
        .iter_mut()
        .find(|(before, _)| *before == moved)
    {
        Some((_, before)) => *before = chance.max(*before),
        None => out.push((moved, chance)),
    };
    let unless_review =
        |chance: Chance, with_review: bool| if with_review { Chance::Possible } else { chance };
    let reviews: &[bool] = if moves.have_review() { &[false, true] } else { &[false] };
    // Sessions are dropped by some profiles, and stay under others, so rules are written for both.
    for path in without_sessions(path) {
        add(moves.before(&path, place), Chance::Possible);
        for review in reviews {
            add(moves.after(&path, place, *review), unless_review(Chance::Target, *review));
        }
        if !moves.are_anchored() {
            continue;
        }
        // Without a rule that looks at it, a path with other slashes is only spelled in another
        // way, and what is said of it is spelled so, too (`canonical/dust_spelling/`).
        for path in other_slashes(&path) {
            for review in reviews {
                let moved = moves.after(&path, place, *review);
                if moved.is_anchored {
                    add(moved, unless_review(Chance::InForce, *review));
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{
        Canonicalizer, DustKind, DustRule, DustRules, DustStatus, RuleFile, Scratch, Settings,
    };
    use crate::mine::seen::maps::mix;
    use crate::mine::tests::mined;

    type Rows = Vec<(String, String)>;

    /// A URL of a page, with what it shows.
    fn row(path: &str, shown: &str) -> (String, String) {
        (format!("http://a.test{path}"), shown.to_string())
    }

    /// A value that comes once.
    fn token(of: &str) -> String {
        format!("k{:08x}", mix(crate::mine::seen::maps::hash(of.as_bytes())) >> 32)
    }

    /// A word for each number, without digits.
    fn word(number: usize) -> String {
        let letter = |letters: &str, at: usize| letters.as_bytes()[at % letters.len()] as char;
        let (a, b) = (letter("bdfgklmn", number), letter("aeiou", number / 8));
        format!("{a}{b}{}", ["rt", "st", "ll", "nd", "mp"][number / 40 % 5])
    }

    /// Adds `pages` pages at `start`, each with three values of `t`, which `chooses` what is
    /// shown or says nothing.
    fn visits(rows: &mut Rows, start: &str, pages: usize, chooses: bool) {
        let separator = if start.contains('?') { '&' } else { '?' };
        for page in 0..pages {
            for visit in 0..3 {
                let t = token(&format!("{start} {page} {visit}"));
                let shown = if chooses { &t } else { "" };
                let url = format!("{start}{separator}doc=d{page}x&t={t}");
                rows.push(row(&url, &format!("{start} {page} {shown}")));
            }
        }
    }

    /// Scripts under which `t` says nothing, so that it does everywhere but where it
    /// is seen to choose.
    fn many_scripts() -> Rows {
        let mut rows = Rows::new();
        for script in 'a'..='z' {
            visits(&mut rows, &format!("/show/{script}"), 12, false);
        }
        rows
    }

    /// The rules in force about `t`, as text.
    fn about_t(rules: &[DustRule]) -> Vec<String> {
        let is_it = |rule: &&DustRule| {
            rule.status == DustStatus::Auto
                && rule.kind == DustKind::DropParam { param: "t".to_string() }
        };
        let text = |rule: &DustRule| {
            format!("{} except {}", rule.scope.path, rule.scope.except.join(" ")).trim().to_string()
        };
        rules.iter().filter(is_it).map(text).collect()
    }

    /// The forms of the URLs that hold `part` under a profile and the rules that were learned, and
    /// the pages that are lost.
    fn applied(rows: &Rows, rules: &[DustRule], profile: &str, part: &str) -> (usize, usize) {
        let file = RuleFile { rules: rules.to_vec(), ..RuleFile::default() };
        let dust = DustRules::compile(&file).rules;
        let profile = Some(profile.to_string());
        let settings = Settings { profile, dust, ..Settings::default() };
        let canonicalizer = Canonicalizer::new(settings.build().unwrap());
        let mut scratch = Scratch::default();
        let mut shown: BTreeMap<Vec<u8>, BTreeSet<&str>> = BTreeMap::new();
        for (url, page) in rows.iter().filter(|(url, _)| url.contains(part)) {
            let form = canonicalizer.canonical(url.as_bytes(), &mut scratch).form.to_vec();
            shown.entry(form).or_default().insert(page);
        }
        (shown.len(), shown.values().map(|pages| pages.len() - 1).sum())
    }

    /// Nothing is lost under any profile, and the URLs that hold `part` have this many forms.
    fn check(rows: &Rows, rules: &[DustRule], part: &str, forms: usize) {
        for profile in ["rfc3986", "crawl", "aggressive"] {
            let (found, lost) = applied(rows, rules, profile, part);
            assert_eq!((found, lost), (forms, 0), "{profile}: {:?}", about_t(rules));
            assert_eq!(applied(rows, rules, profile, "").1, 0, "{profile}: {:?}", about_t(rules));
        }
    }

    #[test]
    fn handlers_are_found_by_the_text_of_patterns() {
        let all = [
            "/",
            "/a",
            "/a/",
            "/a*",
            "/a/{num}",
            "/a/{slug}.php",
            "/a/b/c",
            "/ab",
            "/{slug}",
            "/{*}/b/c",
            "/{hex:16}",
            "/item_{num}",
            "*",
        ];
        let parsed = all.map(|pattern| PathPattern::parse(pattern).unwrap());
        let under_profiles = all.iter().zip(0..);
        let under_profiles: BTreeMap<Rc<str>, Vec<u32>> =
            under_profiles.map(|(text, handler)| (Rc::from(*text), vec![handler])).collect();
        let spellings = Spellings {
            of_handler: Vec::new(),
            sharing: BTreeMap::new(),
            under_profiles: under_profiles.into(),
        };
        for (pattern, one) in all.iter().zip(&parsed) {
            let found: BTreeSet<u32> = spellings.meeting(pattern.to_string()).collect();
            let others = (0..).zip(&parsed).filter(|(_, other)| one.meets(other));
            let expected: BTreeSet<u32> = others.map(|(handler, _)| handler).collect();
            assert_eq!(found, expected, "{pattern}");
        }
        // As it is, and without the slash.
        assert!(spellings.under("/a/").any(|handler| all[handler as usize] == "/a"));
    }

    #[test]
    fn numbers_that_are_names_of_pages_stay() {
        let number =
            |of: usize| format!("{:016x}{:016x}", mix(of as u64) | 15 << 60, mix(!of as u64));
        let mut rows = Rows::new();
        for page in 0..120 {
            for visit in 0..3 {
                let session = number(page * 3 + visit);
                rows.push(row(&format!("/{session}/topic/{page}"), &format!("topic {page}")));
            }
        }
        for name in 1000..1030 {
            let (shown, session) = (number(name), number(name + 1000));
            for path in [format!("/share/{shown}"), format!("/{session}/share/{shown}/")] {
                rows.push(row(&path, &shown));
            }
            rows.push(row(&format!("/share/{shown};v={name}"), &format!("{shown} {name}")));
        }
        let rules = mined(&rows).rules;
        check(&rows, &rules, "/topic/", 120);
        let (forms, lost) = applied(&rows, &rules, "crawl", "/share/");
        assert_eq!((forms, lost), (90, 0), "{rules:?}");
    }

    #[test]
    fn wide_patterns_are_kept_from_index_pages() {
        for index in ["index.php", "main.php"] {
            let mut rows = Rows::new();
            (0..100).for_each(|n| visits(&mut rows, &format!("/shop/{}.php", word(n)), 1, false));
            visits(&mut rows, &format!("/shop/{index}"), 60, true);
            let rules = mined(&rows).rules;
            let rule = format!("/shop/{{slug}}.php except /shop/{index}");
            assert!(about_t(&rules).contains(&rule), "{:?}", about_t(&rules));
            check(&rows, &rules, &format!("/shop/{index}"), 180);
        }
    }

    #[test]
    fn what_profiles_make_of_paths_before_rules_is_kept_out() {
        for spelled in [
            "/(S(abc123def456ghi789jkl012))/people/list.php",
            "//people//list.php",
            "/people;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9/list.php",
        ] {
            let mut rows = many_scripts();
            for name in (0..100).map(word) {
                rows.push(row(&format!("/people/{name}"), &name));
                rows.push(row(&format!("/~{name}"), &name));
            }
            visits(&mut rows, spelled, 60, true);
            let rules = mined(&rows).rules;
            let alias = DustKind::AliasPrefix { from: "/people/".into(), to: "/~".into() };
            assert!(rules.iter().any(|rule| rule.kind == alias && rule.status == DustStatus::Auto));
            check(&rows, &rules, "list.php", 180);
        }
    }

    #[test]
    fn rules_hold_with_and_without_sessions() {
        let session = ";jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9";
        for path in
            [format!("/view.jsp{session}"), "/(S(abc123def456ghi789jkl012))/view.aspx".into()]
        {
            let mut rows = Rows::new();
            visits(&mut rows, &path, 60, false);
            visits(&mut rows, "/list", 60, true);
            let rules = mined(&rows).rules;
            check(&rows, &rules, "/view", 60);
        }
    }

    #[test]
    fn names_like_sessions_are_kept_out_without_sessions() {
        let mut rows = many_scripts();
        let session = ";jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9";
        visits(&mut rows, &format!("/item_0286dd552c9bea9a{session}"), 60, true);
        let rules = mined(&rows).rules;
        assert_eq!(about_t(&rules), ["except /item_{hex:16} /item_{hex:16};{*}"]);
        check(&rows, &rules, "/item_", 180);
    }

    #[test]
    fn session_numbers_are_no_other_names() {
        let mut rows = Rows::new();
        (0..60).for_each(|n| visits(&mut rows, &format!("/item_{n}"), 1, false));
        visits(&mut rows, "/list", 60, true);
        let links = (0..40).map(|n| format!("/{:016x}", mix(n) | 0xa0b0_0000_0000_0011));
        rows.extend(links.map(|link| row(&link, &link)));
        let rules = mined(&rows).rules;
        assert_eq!(about_t(&rules), ["/item_{num} except"]);
        check(&rows, &rules, "/item_", 60);
    }

    #[test]
    fn patterns_are_carried_over_a_prefix() {
        let mut rows = Rows::new();
        for name in (0..200).map(word) {
            visits(&mut rows, &format!("/people/{name}"), 1, false);
        }
        for name in (0..20).map(word) {
            rows.push(row(&format!("/p/{name}?doc=d0x"), &format!("/people/{name} 0 ")));
        }
        visits(&mut rows, "/list", 60, true);
        let rules = mined(&rows).rules;
        let about_t = about_t(&rules);
        assert!(about_t.iter().any(|rule| rule.starts_with("/p/{slug} except")), "{about_t:?}");
        let (forms, lost) = applied(&rows, &rules, "crawl", "/people/");
        assert!(forms <= 200 + 2 * 20 && lost == 0, "{forms} {lost}");
    }

    #[test]
    fn handlers_that_become_one_have_one_rule() {
        let mut rows = Rows::new();
        for name in (0..200).map(word) {
            for (start, visits) in [("/people/", 2), ("/p/", 1)] {
                let link = |visit| token(&format!("{start}{name}{visit}"));
                rows.push(row(&format!("{start}{name}"), &name));
                let links = (0..visits).map(|visit| format!("{start}{name}?t={}", link(visit)));
                rows.extend(links.map(|link| row(&link, &name)));
            }
        }
        visits(&mut rows, "/list", 60, true);
        let rules = mined(&rows).rules;
        assert_eq!(about_t(&rules), ["/p/{slug} except"]);
        check(&rows, &rules, "/people/", 200);
    }

    #[test]
    fn a_folder_is_kept_out_as_a_whole() {
        let mut rows = Rows::new();
        let folders = |start: &'static str, many: usize| {
            let inner = move |outer| (0..20).map(move |n| format!("{start}{outer}/{}", word(n)));
            (0..many).map(word).flat_map(inner)
        };
        for start in ["/good/", "/fine/"] {
            folders(start, 40).for_each(|path| visits(&mut rows, &path, 1, false));
        }
        folders("/bad/", 15).for_each(|path| visits(&mut rows, &path, 4, true));
        let rules = mined(&rows).rules;
        let about_t = about_t(&rules);
        assert_eq!(about_t, ["except /bad/*"]);
        check(&rows, &rules, "/good/", 800);
    }

    #[test]
    fn rules_of_one_candidate_share_what_speaks_for_it() {
        let mut rows = Rows::new();
        for script in ["/a", "/b", "/c"] {
            visits(&mut rows, script, 60, false);
        }
        visits(&mut rows, "/list", 160, true);
        let rules = mined(&rows).rules;
        let is_it = |rule: &&DustRule| rule.kind == DustKind::DropParam { param: "t".to_string() };
        let evidence = rules.iter().filter(is_it).filter_map(|rule| rule.evidence.as_ref());
        let gains: Vec<u64> = evidence.clone().map(|evidence| evidence.gain_urls).collect();
        assert_eq!(gains, [180; 3]);
        assert_eq!(evidence.map(|evidence| evidence.examples.len()).sum::<usize>(), 1);
    }

    #[test]
    fn what_most_urls_have_is_written_first() {
        let mut rows = Rows::new();
        visits(&mut rows, "/forum", 60, false);
        for cased in (0..20).map(|n| {
            let letters = "forum".bytes().enumerate();
            let letter = |(at, byte): (usize, u8)| match (n + 1) >> at & 1 {
                1 => byte.to_ascii_uppercase() as char,
                _ => byte as char,
            };
            letters.map(letter).collect::<String>()
        }) {
            rows.push(row(&format!("/{cased}?doc=d1x"), "/forum 1 "));
        }
        visits(&mut rows, "/list", 60, true);
        let rules = mined(&rows).rules;
        assert!(about_t(&rules).contains(&"/forum except".to_string()), "{:?}", about_t(&rules));
        check(&rows, &rules, "/forum", 60);
        let is_noted = |rule: &DustRule| rule.note.contains("not written for 5 more patterns");
        assert!(rules.iter().any(is_noted), "{rules:?}");
    }
}
