//! What equal and unequal contents are worth on a site, measured on the site itself.

use super::bounds::wilson;
use super::forms::Forms;
use super::table::{Capture, Link, Table};

/// Borders of the gaps between two captures, in seconds: the same instant, an hour, a day, three, a
/// week, two, a month, two, and more.
const GAPS: [u64; 8] = [0, 3600, 86_400, 259_200, 604_800, 1_209_600, 2_592_000, 5_184_000];

/// Least pairs of captures of one URL in a gap that say something about it.
const PAIRS_MIN: u64 = 12;

/// Least agreement of a page with itself over a gap at which pages are compared over it.
const SAME_MIN: f64 = 0.5;

/// Which gap two times are apart. Captures without a time count as of the same instant.
fn gap(a: i64, b: i64) -> usize {
    if a == i64::MIN || b == i64::MIN {
        return 0;
    }
    let apart = a.abs_diff(b);
    GAPS.iter().position(|border| apart <= *border).unwrap_or(GAPS.len())
}

/// Agreements among comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) agree: u64,
    pub(super) pairs: u64,
}

impl Count {
    fn add(&mut self, agree: bool) {
        self.agree += u64::from(agree);
        self.pairs += 1;
    }

    /// The share that agrees; 1 without pairs.
    pub(super) fn share(self) -> f64 {
        if self.pairs == 0 { 1.0 } else { self.agree as f64 / self.pairs as f64 }
    }

    /// Wilson bounds at 95 %.
    pub(super) fn bounds(self) -> (f64, f64) {
        wilson(self.agree as f64, self.pairs as f64, 1.96)
    }
}

/// How a site's contents behave.
#[derive(Debug)]
pub(super) struct Calibration {
    /// Contents that many pages share: error pages, empty lists. They say nothing.
    pub(super) hot: Vec<bool>,
    /// Captures with each content, and on how many links.
    uses: Vec<u32>,
    /// Agreement of a URL with itself, by gap, as pairs are compared.
    stability: [Count; GAPS.len() + 1],
    /// The same with every capture taken at its word.
    pub(super) raw: Count,
    /// Are contents only believed when another capture confirms them?
    pub(super) confirms: bool,
    /// The widest gap over which pages are compared.
    gap_max: usize,
}

/// What two links have to say about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// Have they one content?
    pub(super) agree: bool,
    /// The content of the first.
    pub(super) content: u32,
    /// How often a page agrees with itself under the same conditions.
    pub(super) same: f64,
    /// The gap between the captures.
    pub(super) gap: usize,
}

impl Calibration {
    /// Measures `table`. Contents on more than `max(100, 1 %)` of the links are hot.
    pub(super) fn measure(table: &Table) -> Calibration {
        let mut uses = vec![0u32; table.contents];
        let mut links = vec![0u32; table.contents];
        for link in table.links.iter().filter(|link| !link.moved) {
            let captures = table.captures_of(link);
            for (at, capture) in captures.iter().enumerate() {
                uses[capture.content as usize] += 1;
                let first = captures[..at].iter().all(|one| one.content != capture.content);
                links[capture.content as usize] += u32::from(first);
            }
        }
        let limit = (table.links.len() / 100).max(100);
        let hot = links.iter().map(|links| *links as usize > limit).collect();
        let mut raw = Count::default();
        for pair in recaptures(table) {
            raw.add(pair.0.content == pair.1.content);
        }
        // Bodies that differ at every fetch are believed only where they come back.
        let confirms = raw.pairs >= PAIRS_MIN && raw.share() < 0.995;
        let mut calibration = Calibration {
            hot,
            uses,
            stability: Default::default(),
            raw,
            confirms,
            gap_max: GAPS.len(),
        };
        for (a, b) in recaptures(table) {
            if calibration.believes(a, b) {
                calibration.stability[gap(a.time, b.time)].add(a.content == b.content);
            }
        }
        // Pages that change: pairs further apart say less and less.
        let far = |gap: &usize| {
            let count = calibration.stability[*gap];
            count.pairs >= PAIRS_MIN && count.share() < SAME_MIN
        };
        calibration.gap_max = (0..=GAPS.len()).find(far).map_or(GAPS.len(), |gap| gap.max(2) - 1);
        calibration
    }

    /// Is what these two captures show believed? Both contents must be confirmed by a third capture
    /// where the site's bodies are noisy; whether they are equal plays no part.
    fn believes(&self, a: &Capture, b: &Capture) -> bool {
        if !self.confirms {
            return true;
        }
        let own = |content: u32| {
            u32::from(a.content == content) + u32::from(b.content == content)
        };
        let confirmed = |content: u32| self.uses[content as usize] > own(content);
        confirmed(a.content) && confirmed(b.content)
    }

    /// Compares two links by their captures that are closest in time; `None` where nothing can be
    /// said.
    pub(super) fn compare(&self, table: &Table, a: &Link, b: &Link) -> Option<Comparison> {
        let mut best: Option<(usize, u64, &Capture, &Capture)> = None;
        for one in table.captures_of(a) {
            for other in table.captures_of(b) {
                if self.hot[one.content as usize] || self.hot[other.content as usize] {
                    continue;
                }
                let gap = gap(one.time, other.time);
                let apart = if gap == 0 { 0 } else { one.time.abs_diff(other.time) };
                let nearer = best.is_none_or(|(_, nearest, ..)| apart < nearest);
                if gap <= self.gap_max && nearer && self.believes(one, other) {
                    best = Some((gap, apart, one, other));
                }
            }
        }
        let (gap, _, one, other) = best?;
        let agree = one.content == other.content;
        Some(Comparison { agree, content: one.content, same: self.same(gap), gap })
    }

    /// Upper bound of the agreement of a page with itself over `gap`; 1 where it is not known, so
    /// that rules are lost and not invented.
    fn same(&self, gap: usize) -> f64 {
        let count = self.stability[gap];
        if count.pairs < PAIRS_MIN {
            return if count.pairs < 4 { 1.0 } else { count.bounds().1 };
        }
        // Half way between the rate seen and its bound: the bound alone would ask more of pages
        // that differ in spelling than of pages that do not.
        0.5 * (count.share() + count.bounds().1)
    }

    /// Agreement of URLs with themselves, as they are compared.
    pub(super) fn believed(&self) -> Count {
        self.stability.iter().fold(Count::default(), |sum, one| Count {
            agree: sum.agree + one.agree,
            pairs: sum.pairs + one.pairs,
        })
    }

    /// Marks as hot the contents that are spread over more than `keys` groups of `forms`.
    pub(super) fn mark_spread(&mut self, table: &Table, forms: &Forms, keys: usize) {
        let mut seen: Vec<(u32, u64)> = Vec::new();
        for (key, link) in &forms.keys {
            for capture in table.captures_of(&table.links[*link as usize]) {
                seen.push((capture.content, *key));
            }
        }
        seen.sort_unstable();
        seen.dedup();
        for group in seen.chunk_by(|a, b| a.0 == b.0) {
            if group.len() > keys {
                self.hot[group[0].0 as usize] = true;
            }
        }
    }
}

/// Pairs of captures of one link that follow each other.
fn recaptures(table: &Table) -> impl Iterator<Item = (&Capture, &Capture)> {
    table.links.iter().filter(|link| !link.moved).flat_map(|link| {
        let captures = table.captures_of(link);
        captures.iter().zip(captures.iter().skip(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::observation::Observation;
    use crate::mine::table::tests::stage0;

    fn table(rows: &[(String, i64, String)]) -> Table {
        let list: Vec<Observation<'_>> = rows
            .iter()
            .map(|(url, time, digest)| Observation {
                url: url.as_bytes(),
                time: Some(*time),
                digest: Some(digest.as_bytes()),
                ..Observation::default()
            })
            .collect();
        Table::build(&list, &stage0())
    }

    #[test]
    fn stable_sites_take_captures_at_their_word() {
        let rows: Vec<_> = (0..50)
            .flat_map(|n| {
                [0, 100].map(|time| (format!("http://a.test/{n}"), time, format!("page {n}")))
            })
            .collect();
        let table = table(&rows);
        let calibration = Calibration::measure(&table);
        assert!(!calibration.confirms);
        assert_eq!(calibration.raw, Count { agree: 50, pairs: 50 });
        let compared = calibration.compare(&table, &table.links[0], &table.links[1]).unwrap();
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
        let table = table(&rows);
        let calibration = Calibration::measure(&table);
        assert!(calibration.confirms && calibration.raw.share() < 0.7);
        assert!(calibration.believed().share() > 0.99);
        let mut agreed = 0;
        for pair in table.links.chunks(4) {
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
        let table = table(&rows);
        let calibration = Calibration::measure(&table);
        assert_eq!(calibration.hot.iter().filter(|hot| **hot).count(), 1);
        let empty = table.links.iter().find(|link| calibration.hot[table.captures_of(link)[0].content as usize]).unwrap();
        assert_eq!(calibration.compare(&table, empty, &table.links[0]), None);
    }
}
