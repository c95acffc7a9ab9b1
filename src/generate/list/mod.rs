//! Synthetic URL lists whose truth is known line by line.
//!
//! A list is a function of its [`ListPlan`]: the same lines on every machine and in every version.
//! Each page is a function of the seed and its number, so nothing is kept per page, and a list of
//! any length takes the same few kilobytes. Two pages are never equal under any rule, since each
//! holds a token of its own; two spellings of a page differ by the rules that [`Truth`] names, and
//! by nothing else.
//!
//! A line costs no allocation once the buffers have grown.

mod edit;
mod page;
mod site;
mod token;
mod truth;
mod variant;

pub use truth::{Class, RuleNames, TRUTH_HEADER, Truth, write_truth};

use std::sync::Arc;

use super::random::Random;
use crate::error::{Error, Result};
use page::{Page, Pages};
use variant::Speller;

/// Most lines of a list: `2^44`. Reason: that many tokens of nine characters exist; see `token.rs`.
pub const LINES_MAX: u64 = 1 << token::PAGE_BITS;

/// Which sequence of a seed the list itself draws from; see [`Random::derived`].
const SEQUENCE: u64 = 0;

/// Mean distance of a recent repetition, in pages. Reason: far enough to leave a first-level cache,
/// near enough to fall into the same chunk or the next ones.
const RECENT_PAGES: u32 = 20_000;

/// What a list is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListPlan {
    /// How many lines; at most [`LINES_MAX`].
    pub lines: u64,
    /// Which of the lists of this plan. Lists of different seeds are unrelated.
    pub seed: u64,
    /// Share of the lines that repeat an earlier page byte for byte, 0 to 1.
    pub exact_share: f64,
    /// Share of the lines that repeat an earlier page in another spelling, 0 to 1.
    pub variant_share: f64,
}

impl Default for ListPlan {
    /// A million lines of seed 1; 17.5 % are exact repetitions, 17.5 % variants.
    fn default() -> Self {
        ListPlan { lines: 1_000_000, seed: 1, exact_share: 0.175, variant_share: 0.175 }
    }
}

/// A list that is being written, line after line.
///
/// ```
/// use undust::generate::{List, ListPlan};
///
/// let mut list = List::new(&ListPlan { lines: 100, ..ListPlan::default() })?;
/// let mut line = Vec::new();
/// let mut pages = 0;
/// while let Some(truth) = list.next_line(&mut line) {
///     assert!(truth.page <= pages);
///     pages = pages.max(truth.page + 1);
/// }
/// assert_eq!(list.pages(), pages);
/// # Ok::<(), undust::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct List {
    of_seed: Arc<Pages>,
    lines_left: u64,
    pages: u64,
    /// A draw of 53 bits below this is an exact repetition.
    exact_below: u64,
    /// Any other draw below this is a variant.
    variant_below: u64,
    random: Random,
    page: Page,
    speller: Speller,
}

/// Bits of the draw that decides what a line is: as many as an `f64` holds exactly.
const SHARE_BITS: u32 = 53;

impl List {
    /// Starts the list of `plan`.
    ///
    /// Failure: `is_limit` for more lines than [`LINES_MAX`]; `is_config` for shares that are not
    /// between 0 and 1, alone or together.
    pub fn new(plan: &ListPlan) -> Result<List> {
        if plan.lines > LINES_MAX {
            return Err(Error::limit(format!(
                "{} lines: a generated list has at most {LINES_MAX}; ask for fewer",
                plan.lines
            )));
        }
        for (name, share) in [("exact", plan.exact_share), ("variant", plan.variant_share)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::config(format!(
                    "share of {name} repetitions: expected a number from 0 to 1, found {share}"
                )));
            }
        }
        // Products with a power of two are exact, so that rounding is the same on every machine.
        let scale = (1u64 << SHARE_BITS) as f64;
        let exact_below = (plan.exact_share * scale) as u64;
        let variant_below = exact_below + (plan.variant_share * scale) as u64;
        if variant_below > 1 << SHARE_BITS {
            return Err(Error::config(format!(
                "shares of exact repetitions ({}) and variants ({}): expected a sum of at most 1; \
                 lower one of them",
                plan.exact_share, plan.variant_share
            )));
        }
        Ok(List {
            of_seed: Arc::new(Pages::new(plan.seed)),
            lines_left: plan.lines,
            pages: 0,
            exact_below,
            variant_below,
            random: Random::derived(plan.seed, SEQUENCE, 0),
            page: Page::default(),
            speller: Speller::default(),
        })
    }

    /// Writes the next line, without a newline, into `line` and returns its truth; `None` at the
    /// end.
    ///
    /// - Shape: `line` is cleared first. A line is valid UTF-8 without control characters and
    ///   spaces, and an absolute URL of `http` or `https`.
    /// - Limits: a line has less than 2 KiB.
    pub fn next_line(&mut self, line: &mut Vec<u8>) -> Option<Truth> {
        line.clear();
        let truth = self.draw(line)?;
        if truth.is_first_spelling() {
            self.page.text.clear();
            self.page.fill(&self.of_seed, truth.page);
            line.extend_from_slice(self.page.spelling());
        }
        Some(truth)
    }

    /// Draws the next lines, at most `lines_max`, to be spelled later; `None` at the end.
    pub fn next_block(&mut self, lines_max: usize) -> Option<Block> {
        let of_seed = Arc::clone(&self.of_seed);
        let mut block = Block { of_seed, lines: Vec::new(), variants: Vec::new() };
        while block.lines.len() < lines_max {
            let Some(truth) = self.draw(&mut block.variants) else { break };
            block.lines.push((truth, block.variants.len()));
        }
        (!block.lines.is_empty()).then_some(block)
    }

    /// Draws what the next line is. If it is not the first spelling of its page, it is appended to
    /// `variants` now, since it takes draws of its own.
    fn draw(&mut self, variants: &mut Vec<u8>) -> Option<Truth> {
        self.lines_left = self.lines_left.checked_sub(1)?;
        let draw = self.random.bits() >> (64 - SHARE_BITS);
        if draw >= self.variant_below || self.pages == 0 {
            let page = self.pages;
            self.pages += 1;
            return Some(Truth { page, class: Class::First, rules: RuleNames::default() });
        }
        let page = self.earlier_page();
        if draw >= self.exact_below {
            self.page.text.clear();
            self.page.fill(&self.of_seed, page);
            let start = variants.len();
            let (class, rules) = {
                let of_page = (&*self.of_seed, &self.page);
                self.speller.spell(of_page, &mut self.random, variants)
            };
            // Every mutation changes the spelling, so this holds; if it ever did not, the truth
            // would.
            if variants[start..] != *self.page.spelling() {
                return Some(Truth { page, class, rules });
            }
            variants.truncate(start);
        }
        Some(Truth { page, class: Class::Exact, rules: RuleNames::default() })
    }

    /// How many pages the lines have so far.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// A page that had its first line: half of them any, half of them a recent one.
    fn earlier_page(&mut self) -> u64 {
        if self.random.percent(50) {
            let back = self.random.exponential(RECENT_PAGES);
            if back < self.pages {
                return self.pages - 1 - back;
            }
            // The list is too short to go back so far. The first page must not get all of these.
        }
        self.random.below(self.pages)
    }
}

/// Lines of a list that were drawn, but not spelled: any thread may spell them.
#[derive(Clone, Debug)]
pub struct Block {
    of_seed: Arc<Pages>,
    /// The truth of each, and where in `variants` its text ends, if it has one there.
    lines: Vec<(Truth, usize)>,
    /// The lines that are not the first spelling of their page, concatenated.
    variants: Vec<u8>,
}

/// Lines as they are written, each with a newline, and the rows of their truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpelledLines {
    /// The lines.
    pub lines: Vec<u8>,
    /// A row for each, if they were asked for.
    pub truth: Vec<u8>,
}

impl Block {
    /// Spells the lines, and the rows of their truth if they are asked for.
    pub fn spell(&self, with_truth: bool) -> SpelledLines {
        let (mut page, mut truth, mut start) = (Page::default(), Vec::new(), 0);
        page.text.reserve(128 * self.lines.len());
        for (one, end) in &self.lines {
            if one.is_first_spelling() {
                page.fill(&self.of_seed, one.page);
            } else {
                page.text.extend_from_slice(&self.variants[start..*end]);
            }
            start = *end;
            page.text.push(b'\n');
            if with_truth {
                write_truth(&mut truth, one).expect("memory takes what is written");
            }
        }
        SpelledLines { lines: page.text, truth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashMap};

    fn plan(lines: u64, seed: u64) -> ListPlan {
        ListPlan { lines, seed, ..ListPlan::default() }
    }

    fn each_line(plan: &ListPlan, mut check: impl FnMut(&str, Truth)) -> List {
        let (mut list, mut line) = (List::new(plan).unwrap(), b"left over".to_vec());
        while let Some(truth) = list.next_line(&mut line) {
            check(std::str::from_utf8(&line).unwrap(), truth);
        }
        assert!(line.is_empty() && list.next_line(&mut line).is_none());
        list
    }

    /// FNV-1a over lines and truth: the digest that must never change for a seed.
    fn digest(plan: &ListPlan) -> u64 {
        let mut digest = 0xCBF2_9CE4_8422_2325u64;
        each_line(plan, |line, truth| {
            let mut row = line.as_bytes().to_vec();
            row.push(b'\n');
            write_truth(&mut row, &truth).unwrap();
            for byte in row {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
            }
        });
        digest
    }

    #[test]
    fn lists_never_change() {
        // Truth files out in the world depend on these. A new number here is a breaking change.
        assert_eq!(format!("{:016x}", digest(&plan(1_000, 1))), "58c8bcdc9ac58742");
        assert_eq!(format!("{:016x}", digest(&plan(20_000, 7))), "bca08f9be9cb8a43");
    }

    #[test]
    fn blocks_are_the_same_lines() {
        let plan = plan(3_000, 9);
        let (mut lines, mut truth) = (Vec::new(), Vec::new());
        each_line(&plan, |line, one| {
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
            write_truth(&mut truth, &one).unwrap();
        });
        for lines_max in [1, 700, 5_000] {
            let mut list = List::new(&plan).unwrap();
            let blocks: Vec<Block> = std::iter::from_fn(|| list.next_block(lines_max)).collect();
            assert_eq!(blocks.len(), 3_000usize.div_ceil(lines_max));
            let spelled: Vec<SpelledLines> = blocks.iter().map(|one| one.spell(true)).collect();
            let of = |part: fn(&SpelledLines) -> &[u8]| -> Vec<u8> {
                spelled.iter().flat_map(part).copied().collect()
            };
            assert!(of(|one| &one.lines) == lines && of(|one| &one.truth) == truth, "{lines_max}");
            assert!(blocks[0].spell(false).truth.is_empty());
        }
    }

    #[test]
    fn a_longer_list_starts_like_a_shorter_one() {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        each_line(&plan(500, 3), |line, truth| short.push((line.to_owned(), truth)));
        each_line(&plan(900, 3), |line, truth| long.push((line.to_owned(), truth)));
        assert_eq!(short, long[..500]);
    }

    #[test]
    fn shares_are_kept() {
        for (exact_share, variant_share) in [(0.175, 0.175), (0.0, 0.5), (0.3, 0.0), (0.5, 0.5)] {
            let plan = ListPlan { exact_share, variant_share, ..plan(60_000, 4) };
            let mut counts = BTreeMap::new();
            let list = each_line(&plan, |_, truth| *counts.entry(truth.class).or_insert(0) += 1);
            let count = |class| counts.get(&class).copied().unwrap_or(0) as f64 / 60_000.0;
            assert!((count(Class::Exact) - exact_share).abs() < 0.01, "{counts:?}");
            let (safe, heuristic) = (count(Class::Safe), count(Class::Heuristic));
            assert!((safe + heuristic - variant_share).abs() < 0.01, "{counts:?}");
            assert!(safe >= heuristic, "{counts:?}");
            assert_eq!(list.pages(), counts[&Class::First]);
        }
    }

    #[test]
    fn half_of_the_repetitions_are_recent() {
        let (mut repetitions, mut near, mut of_first, mut pages) = (0u32, 0u32, 0u32, 0u64);
        each_line(&plan(200_000, 5), |_, truth| {
            if truth.class == Class::First {
                pages += 1;
            } else if pages > 100_000 {
                repetitions += 1;
                near += u32::from(pages - truth.page <= u64::from(RECENT_PAGES));
            } else {
                of_first += u32::from(truth.page == 0);
            }
        });
        // Half of 1 - 1/e for the recent ones; the others have some luck too.
        let share = f64::from(near) / f64::from(repetitions);
        assert!((0.38..0.43).contains(&share), "{share}");
        assert!(of_first < 50, "{of_first} repetitions of the first page");
    }

    #[test]
    fn truth_holds() {
        let heuristic = ["www", "scheme", "directory-index", "duplicate-slashes"];
        let (mut firsts, mut rules) = (Vec::<String>::new(), HashMap::new());
        each_line(&plan(60_000, 6), |line, truth| {
            assert!(!line.bytes().any(|byte| byte <= b' ' || byte == 0x7F), "{line}");
            if truth.page as usize == firsts.len() {
                assert_eq!((truth.class, truth.rules.len()), (Class::First, 0));
                firsts.push(line.to_owned());
                return;
            }
            let first = &firsts[truth.page as usize];
            assert_eq!(truth.class == Class::Exact, first == line, "{line}");
            assert_eq!(truth.class == Class::Exact, truth.rules.is_empty(), "{line}");
            let is_heuristic = truth.rules.iter().any(|name| heuristic.contains(&name));
            assert!(!is_heuristic || truth.class == Class::Heuristic, "{line}");
            assert!(truth.rules.len() <= 3 && truth.class != Class::First, "{line}");
            for name in truth.rules.iter() {
                *rules.entry((name, truth.class)).or_insert(0) += 1;
            }
        });
        for name in RuleNames::ALL.iter() {
            assert!(rules[&(name, Class::Heuristic)] > 5, "{name}");
            assert_eq!(rules.contains_key(&(name, Class::Safe)), !heuristic.contains(&name));
        }
    }

    /// Folds far more than any profile does: what is left of the URL when every rule has had its
    /// way.
    fn fold(line: &str) -> String {
        let line = line.split('#').next().unwrap();
        let line = line.split_once("://").unwrap().1;
        let at = line.find(['/', '?']).unwrap_or(line.len());
        let (path, query) = line[at..].split_once('?').unwrap_or((&line[at..], ""));
        let plain = |text: &str| {
            let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
            while at < bytes.len() {
                if bytes[at] == b'%' {
                    out.push(crate::bytes::hex::pair(bytes[at + 1], bytes[at + 2]).unwrap());
                    at += 3;
                } else {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
            String::from_utf8(out).unwrap().to_lowercase().replace('+', " ")
        };
        let mut segments = Vec::new();
        let path = path.split(';').next().unwrap();
        for segment in path.split('/').map(plain).filter(|segment| !segment.is_empty()) {
            match segment.as_str() {
                "." => {}
                ".." => drop(segments.pop()),
                _ => segments.push(segment),
            }
        }
        segments.pop_if(|last| last.starts_with("index."));
        let dropped = ["utm_", "gclid=", "fbclid=", "phpsessid="];
        let mut params: Vec<_> = query.split('&').map(plain).collect();
        params.retain(|param| {
            !param.is_empty() && !dropped.iter().any(|name| param.starts_with(name))
        });
        params.sort();
        format!("{}?{}", segments.join("/"), params.join("&"))
    }

    #[test]
    fn pages_and_only_pages_fold_together() {
        let (mut pages, mut folded) = (HashMap::new(), Vec::new());
        let list = each_line(&plan(120_000, 8), |line, truth| {
            let fold = fold(line);
            if truth.class == Class::First {
                assert_eq!(pages.insert(fold.clone(), truth.page), None, "{line}: two pages");
                folded.push(fold);
            } else {
                assert_eq!(fold, folded[truth.page as usize], "{line}: {truth:?}");
            }
        });
        assert_eq!(pages.len() as u64, list.pages());
    }

    #[test]
    fn memory_does_not_grow() {
        let mut list = List::new(&plan(LINES_MAX, 2)).unwrap();
        let (mut line, mut longest) = (Vec::new(), 0);
        list.pages = LINES_MAX - 100_000;
        for _ in 0..60_000 {
            assert!(list.next_line(&mut line).is_some());
            longest = longest.max(line.len());
        }
        assert!(longest < 2 << 10 && line.capacity() < 4 << 10);
        assert!(list.page.text.capacity() < 4 << 10);
    }

    #[test]
    fn plans_that_make_no_list() {
        let good = plan(0, 1);
        assert!(List::new(&good).unwrap().next_line(&mut vec![]).is_none());
        let error = List::new(&plan(LINES_MAX + 1, 1)).unwrap_err();
        assert!(error.is_limit(), "{error}");
        for (exact_share, variant_share) in [(-0.1, 0.0), (f64::NAN, 0.0), (0.0, 1.1), (0.6, 0.6)] {
            let error = List::new(&ListPlan { exact_share, variant_share, ..good }).unwrap_err();
            assert!(error.is_config(), "{error}");
        }
        let all = ListPlan { exact_share: 1.0, variant_share: 0.0, ..plan(50, 1) };
        assert_eq!(each_line(&all, |_, _| {}).pages(), 1);
    }
}
