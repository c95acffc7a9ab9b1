//! What equal and unequal contents are worth on a site, measured on the site itself.

use super::count::{Count, PAIRS_MIN};
use super::decay::Decay;
use crate::mine::seen::maps::{Map, map};
use crate::mine::seen::table::{Capture, Table, Url};

/// Borders of the gaps between two captures, in seconds: the same instant, an hour, a day, three, a
/// week, two, a month, two, and more.
const GAPS: [u64; 8] = [0, 3600, 86_400, 259_200, 604_800, 1_209_600, 2_592_000, 5_184_000];

/// Least agreement of a page with itself over a gap at which pages are compared over it.
const SAME_MIN: f64 = 0.4;

/// Agreement of pages with themselves at once, below which a site may be noisy.
const STEADY_SHARE_MIN: f64 = 0.995;

/// Gaps over which few pages change: a week, as in [`GAPS`].
pub(crate) const NEAR: usize = 4;

/// Quarters of days for which agreement is kept: half a year.
const QUARTERS: usize = 4 * 183;

/// Recaptures of one page that count in each gap.
const RECAPTURES_MAX: u32 = 1;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Which gap two times are apart. Captures without a time count as of the same instant.
pub(crate) fn gap(a: i64, b: i64) -> usize {
    if a == i64::MIN || b == i64::MIN {
        return 0;
    }
    let apart = a.abs_diff(b);
    GAPS.iter().position(|border| apart <= *border).unwrap_or(GAPS.len())
}

/// The chance that two visitors of one page see one content, beside what recaptures say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Versions {
    /// The likeliest.
    pub(crate) likely: f64,
    /// Its upper bound, at one standard deviation.
    pub(crate) high: f64,
}

impl Versions {
    /// Recaptures say all.
    pub(crate) const ONE: Versions = Versions { likely: 1.0, high: 1.0 };
}

/// How a site's contents behave.
#[derive(Clone, Debug)]
pub(crate) struct Calibration {
    /// Contents that many pages share: error pages, empty lists. They say nothing.
    pub(crate) hot: Vec<bool>,
    /// How many captures show each content.
    pub(crate) captures_of_content: Vec<u32>,
    /// Agreement of a URL with itself, by gap, as pairs are compared.
    stability: [Count; GAPS.len() + 1],
    /// The same as a curve over time, read off at every quarter of a day, with its upper bound;
    /// the last is for more.
    same: Vec<(f64, f64)>,
    /// The same if every capture is believed.
    pub(crate) raw: Count,
    /// Are contents only believed when another capture confirms them?
    pub(crate) needs_confirmation: bool,
    /// By path: are they believed all the same? Empty if they are nowhere.
    believed_at: Vec<bool>,
    /// The widest gap over which pages are compared.
    gap_max: usize,
    /// Do pages agree with themselves over any time?
    steady: bool,
    /// What two visitors see of a page, beside what recaptures say.
    versions: Versions,
    /// The share of captures that show what is never seen again, and its lower bound at one
    /// standard deviation.
    pub(crate) noise: (f64, f64),
}

/// The result of comparing two URLs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContentComparison {
    /// Have they one content?
    pub(crate) agree: bool,
    /// The content of the first.
    pub(crate) content: u32,
    /// How often a page agrees with itself under the same conditions.
    pub(crate) same: f64,
    /// Upper bound of that, at one standard deviation.
    pub(crate) high: f64,
    /// The gap between the captures.
    pub(crate) gap: usize,
}

impl Calibration {
    /// Measures `table`. Contents on more than `max(100, 1 %)` of the URLs are hot.
    pub(crate) fn measure(table: &Table) -> Calibration {
        let mut captures_of_content = vec![0u32; table.contents];
        let mut urls = vec![0u32; table.contents];
        for url in table.urls.iter().filter(|url| !url.moved) {
            let captures = table.captures_of(url);
            for (at, capture) in captures.iter().enumerate() {
                captures_of_content[capture.content as usize] += 1;
                let first = captures[..at].iter().all(|one| one.content != capture.content);
                urls[capture.content as usize] += u32::from(first);
            }
        }
        let limit = (table.urls.len() / 100).max(100);
        let hot = urls.iter().map(|urls| *urls as usize > limit).collect();
        let mut raw = Count::default();
        for pair in recaptures(table) {
            raw.add(pair.0.content == pair.1.content);
        }
        let counted = fitted(table, None, |a, b| a.content == b.content, |_, _, _| true);
        let needs_confirmation = is_noisy(table, &captures_of_content, &counted);
        let mut calibration = Calibration {
            hot,
            captures_of_content,
            stability: Default::default(),
            same: Vec::new(),
            raw,
            needs_confirmation,
            believed_at: Vec::new(),
            gap_max: GAPS.len(),
            steady: true,
            versions: Versions::ONE,
            noise: (0.0, 0.0),
        };
        calibration.noise = calibration.measure_noise(table);
        if needs_confirmation { calibration.fit(table, None) } else { calibration.follow(counted) }
    }

    /// The same, where `handlers`, one for each path, separate noisy pages from others: those that
    /// agree with themselves are believed. Reason: a page of which each spelling is another page
    /// shows each content once, as noise does, and would never speak against a rule.
    pub(crate) fn by_handlers(self, table: &Table, handlers: &[u32]) -> Calibration {
        if !self.needs_confirmation {
            return self;
        }
        let mut counts: Map<u32, Count> = map();
        for url in table.urls.iter().filter(|url| !url.moved) {
            for pair in table.captures_of(url).windows(2) {
                if gap(pair[0].time, pair[1].time) <= NEAR {
                    let count = counts.entry(handlers[url.path as usize]).or_default();
                    count.add(pair[0].content == pair[1].content);
                }
            }
        }
        let is_steady =
            |count: &Count| count.pairs >= PAIRS_MIN && count.share() >= STEADY_SHARE_MIN;
        let believed_at = handlers.iter().map(|one| counts.get(one).is_some_and(is_steady));
        Calibration { believed_at: believed_at.collect(), ..self }.fit(table, None)
    }

    /// The same, with what recaptures show measured anew. `pages`, one number for each URL,
    /// says which URLs are likely to be one page: no page counts for more than
    /// [`RECAPTURES_MAX`] recaptures in each gap. Reason: samples count pages, and the few that
    /// everybody visits are not like the others.
    pub(crate) fn by_pages(self, table: &Table, pages: &[u64]) -> Calibration {
        self.fit(table, Some(pages))
    }

    /// Fits the curve to the recaptures that are believed.
    fn fit(self, table: &Table, pages: Option<&[u64]>) -> Calibration {
        let agrees = |a: &Capture, b: &Capture| a.content == b.content;
        let counted = fitted(table, pages, agrees, |url, a, b| self.believes((url, a), (url, b)));
        self.follow(counted)
    }

    /// Takes over counts of recaptures, and the curve through them.
    fn follow(self, (stability, decay): Recaptures) -> Calibration {
        let mut calibration = Calibration { stability, ..self };
        calibration.same = (0..QUARTERS)
            .map(|quarter| (quarter as f64 + 0.5) / 4.0)
            .map(|days| (decay.likely(days), decay.same(days)))
            .collect();
        let believed = calibration.believed();
        calibration.steady = believed.pairs < PAIRS_MIN || believed.share() >= 0.99;
        // Pages that change: pairs further apart say less and less.
        let days =
            calibration.same.iter().take_while(|(_, high)| *high >= SAME_MIN).count() as u64 / 4;
        let near = |gap: &usize| GAPS.get(*gap).is_some_and(|border| *border <= days * 86_400);
        let all = calibration.same.last().is_none_or(|(_, high)| *high >= SAME_MIN);
        calibration.gap_max =
            if all { GAPS.len() } else { (0..GAPS.len()).rev().find(near).unwrap_or(0) };
        calibration
    }

    /// The same with what two visitors see of a page.
    pub(crate) fn with(self, versions: Versions) -> Calibration {
        Calibration { versions, ..self }
    }

    /// Is what these two captures, of these URLs, show believed? Both contents must be confirmed by
    /// a third capture where bodies are noisy; whether they are equal plays no part.
    fn believes(&self, (url, a): (&Url, &Capture), (other, b): (&Url, &Capture)) -> bool {
        let is_steady = |url: &Url| self.believed_at.get(url.path as usize) == Some(&true);
        if !self.needs_confirmation || is_steady(url) && is_steady(other) {
            return true;
        }
        let own = |content: u32| u32::from(a.content == content) + u32::from(b.content == content);
        let confirmed = |content: u32| self.captures_of_content[content as usize] > own(content);
        confirmed(a.content) && confirmed(b.content)
    }

    /// The gap between the first captures of two URLs as far as it matters: 0 where pages agree
    /// with themselves anyway.
    pub(crate) fn distance(&self, table: &Table, a: &Url, b: &Url) -> u8 {
        match (table.captures_of(a).first(), table.captures_of(b).first()) {
            (Some(one), Some(other)) => {
                let gap = gap(one.time, other.time);
                if self.steady { 0 } else { gap as u8 }
            }
            _ => u8::MAX,
        }
    }

    /// Compares two URLs by their captures that are closest in time; `None` where nothing can be
    /// said.
    pub(crate) fn compare(&self, table: &Table, a: &Url, b: &Url) -> Option<ContentComparison> {
        let mut best: Option<(usize, u64, &Capture, &Capture)> = None;
        for one in table.captures_of(a) {
            for other in table.captures_of(b) {
                if self.hot[one.content as usize] || self.hot[other.content as usize] {
                    continue;
                }
                let gap = gap(one.time, other.time);
                let apart = if gap == 0 { 0 } else { one.time.abs_diff(other.time) };
                let nearer = best.is_none_or(|(_, nearest, ..)| apart < nearest);
                if gap <= self.gap_max && nearer && self.believes((a, one), (b, other)) {
                    best = Some((gap, apart, one, other));
                }
            }
        }
        let (gap, apart, one, other) = best?;
        let agree = one.content == other.content;
        let (mut same, mut high) = self.same(apart);
        // What a redirect leads to was seen once, by one visitor.
        if !a.moved && !b.moved {
            same *= self.versions.likely;
            high *= self.versions.high;
        }
        Some(ContentComparison { agree, content: one.content, same, high, gap })
    }

    /// Compares two classes of URLs by all that was seen of them: they agree if they share a
    /// content. Chance and gap are those of the captures that are closest in time.
    pub(crate) fn meet(&self, table: &Table, a: &[u32], b: &[u32]) -> Option<ContentComparison> {
        let mut nearest: Option<ContentComparison> = None;
        let mut shared: Option<u32> = None;
        let mut apart = u64::MAX;
        let captures = |list: &'_ [u32]| -> Vec<Capture> {
            let each = list.iter().flat_map(|url| table.captures_of(&table.urls[*url as usize]));
            each.filter(|one| !self.hot[one.content as usize]).copied().collect()
        };
        let (ours, theirs) = (captures(a), captures(b));
        for one in &ours {
            for other in &theirs {
                let gap = gap(one.time, other.time);
                if gap > self.gap_max {
                    continue;
                }
                if one.content == other.content {
                    shared = Some(shared.map_or(one.content, |least| least.min(one.content)));
                }
                let distance = if gap == 0 { 0 } else { one.time.abs_diff(other.time) };
                if nearest.is_none() || distance < apart {
                    let (mut same, mut high) = self.same(distance);
                    same *= self.versions.likely;
                    high *= self.versions.high;
                    apart = distance;
                    nearest = Some(ContentComparison {
                        agree: false,
                        content: one.content,
                        same,
                        high,
                        gap,
                    });
                }
            }
        }
        let content = shared.or(nearest.map(|one| one.content))?;
        nearest.map(|one| ContentComparison { agree: shared.is_some(), content, ..one })
    }

    /// Does a capture of this URL show a content by which pages can be distinguished?
    pub(crate) fn is_distinctive(&self, url: &Url, capture: &Capture) -> bool {
        let content = capture.content as usize;
        let is_believed = !self.needs_confirmation
            || self.believed_at.get(url.path as usize) == Some(&true)
            || self.captures_of_content[content] > 1;
        is_believed && !self.hot[content]
    }

    /// How often two URLs of one page agree after this many seconds, and the upper bound of that;
    /// `None` where that is too long to say.
    pub(crate) fn again(&self, apart: u64) -> Option<(f64, f64)> {
        let gap = GAPS.iter().position(|border| apart <= *border).unwrap_or(GAPS.len());
        let (same, high) = self.same(apart);
        let Versions { likely, high: highest } = self.versions;
        (gap <= self.gap_max).then_some((same * likely, high * highest))
    }

    /// Agreement of a page with itself after this many seconds, and its upper bound.
    fn same(&self, apart: u64) -> (f64, f64) {
        let quarter = (apart / 21_600).min(QUARTERS as u64 - 1) as usize;
        self.same.get(quarter).copied().unwrap_or((1.0, 1.0))
    }

    /// Agreement of URLs with themselves, as they are compared.
    pub(crate) fn believed(&self) -> Count {
        self.stability.iter().fold(Count::default(), |sum, one| Count {
            agree: sum.agree + one.agree,
            pairs: sum.pairs + one.pairs,
        })
    }

    /// Does a page agree with itself at any time?
    pub(crate) fn is_steady(&self) -> bool {
        self.steady
    }
}

/// Recaptures by gap, and the curve through them.
type Recaptures = ([Count; GAPS.len() + 1], Decay);

/// Counts recaptures by gap, and fits the curve through them.
fn fitted(
    table: &Table,
    pages: Option<&[u64]>,
    agrees: impl Fn(&Capture, &Capture) -> bool,
    counts: impl Fn(&Url, &Capture, &Capture) -> bool,
) -> Recaptures {
    let mut stability = [Count::default(); GAPS.len() + 1];
    let mut apart = [0.0; GAPS.len() + 1];
    let mut seen: Map<(u64, usize), u32> = map();
    for (number, url) in table.urls.iter().enumerate().filter(|(_, url)| !url.moved) {
        for pair in table.captures_of(url).windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let gap = gap(a.time, b.time);
            if !counts(url, a, b) {
                continue;
            }
            if let Some(pages) = pages {
                let of_page = seen.entry((pages[number], gap)).or_insert(0);
                *of_page += 1;
                if *of_page > RECAPTURES_MAX {
                    continue;
                }
            }
            stability[gap].add(agrees(a, b));
            apart[gap] += if gap == 0 { 0.0 } else { a.time.abs_diff(b.time) as f64 };
        }
    }
    let days = |gap: usize| apart[gap] / stability[gap].pairs.max(1) as f64 / DAY;
    let points: Vec<(f64, Count)> =
        (0..=GAPS.len()).map(|gap| (days(gap), stability[gap])).collect();
    (stability, Decay::fit(&points))
}

/// Do bodies differ at every fetch, by something unique to it? Then pages disagree with themselves
/// at once, and mostly by contents that never come back. Pages that change or have some versions
/// are no noise: their contents come back.
fn is_noisy(table: &Table, captures_of_content: &[u32], (counts, decay): &Recaptures) -> bool {
    let pairs: u64 = counts.iter().map(|count| count.pairs).sum();
    if pairs < PAIRS_MIN || decay.same(0.0) >= STEADY_SHARE_MIN {
        return false;
    }
    let mut alone = Count::default();
    for (a, b) in recaptures(table).filter(|(a, b)| a.content != b.content) {
        if gap(a.time, b.time) <= NEAR {
            alone.add(
                captures_of_content[a.content as usize] == 1
                    || captures_of_content[b.content as usize] == 1,
            );
        }
    }
    alone.pairs > 0 && alone.share() >= 0.8
}

/// Pairs of captures of one URL that follow each other.
pub(crate) fn recaptures(table: &Table) -> impl Iterator<Item = (&Capture, &Capture)> {
    table.urls.iter().filter(|url| !url.moved).flat_map(|url| {
        let captures = table.captures_of(url);
        captures.iter().zip(captures.iter().skip(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::table::tests::table_over_time;

    #[test]
    fn stable_sites_take_captures_at_their_word() {
        let rows: Vec<_> = (0..50)
            .flat_map(|n| {
                [0, 100].map(|time| (format!("http://a.test/{n}"), time, format!("page {n}")))
            })
            .collect();
        let table = table_over_time(&rows);
        let calibration = Calibration::measure(&table);
        assert!(!calibration.needs_confirmation);
        assert_eq!(calibration.raw, Count { agree: 50, pairs: 50 });
        let compared = calibration.compare(&table, &table.urls[0], &table.urls[1]).unwrap();
        assert!(!compared.agree);
    }

    #[test]
    fn noisy_sites_ask_for_a_third_capture() {
        let mut rows = Vec::new();
        for page in 0..40 {
            for spelling in 0..4 {
                for time in 0..2 {
                    let noise = (page * 7 + spelling * 3 + time * 5) % 3 == 0;
                    let body = if noise {
                        format!("noise {page} {spelling} {time}")
                    } else {
                        format!("page {page}")
                    };
                    rows.push((format!("http://a.test/{page}?s={spelling}"), time, body));
                }
            }
        }
        let table = table_over_time(&rows);
        let calibration = Calibration::measure(&table);
        assert!(calibration.needs_confirmation && calibration.raw.share() < 0.7);
        assert!(calibration.believed().share() > 0.99);
        let mut agreed = 0;
        for pair in table.urls.chunks(4) {
            if let Some(compared) = calibration.compare(&table, &pair[0], &pair[1]) {
                assert!(compared.agree);
                agreed += 1;
            }
        }
        assert!(agreed > 20, "{agreed}");
    }

    #[test]
    fn contents_that_everybody_has_are_hot() {
        let rows: Vec<_> = (0..200)
            .map(|n| (format!("http://a.test/{n}"), 0, if n < 150 { "empty" } else { "x" }.into()))
            .collect();
        let table = table_over_time(&rows);
        let calibration = Calibration::measure(&table);
        assert_eq!(calibration.hot.iter().filter(|hot| **hot).count(), 1);
        let empty = table
            .urls
            .iter()
            .find(|url| calibration.hot[table.captures_of(url)[0].content as usize])
            .unwrap();
        assert_eq!(calibration.compare(&table, empty, &table.urls[0]), None);
    }
}
