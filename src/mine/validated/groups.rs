//! One group of URLs under one key: what its members say about each candidate.
//!
//! HOT: once per group that changes, for each pair of its members and each candidate.
//!
//! ```text
//! marks    for each candidate of the group a row: what it took away from each member, or 0
//! pairs    distance in time, candidates that differ, ranks of both members     32 bits, in order
//! ```

use crate::mine::acts::forms::{Fired, Forms};
use crate::mine::seen::maps::mix;
use crate::mine::seen::table::Table;
use crate::mine::worth::signal::Calibration;

/// Most members of a group that are compared. Reason: pairs are quadratic in it; a page in more
/// spellings says nothing more.
const MEMBERS_MAX: usize = 24;

/// Most comparisons of a group that count for one candidate: all of them must agree.
const PAIRS_MAX: usize = 3;

/// Pairs without an answer after which all that are left are sorted at once.
const MISSES_MAX: usize = 4;

/// How what a group says about a candidate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// As a sample.
    Full,
    /// As a sample, unless values of the candidate stand in blocks (see `classes.rs`).
    UnlessInBlocks,
    /// Not as a sample: it is one look at two values, which shows whether they stand in blocks.
    Look,
}

/// What a group says about one candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) candidate: u16,
    pub(crate) weight: Weight,
    /// In how many candidates the pair that was compared first differs.
    pub(crate) differences: u16,
    pub(crate) agree: bool,
    /// The content of the pair that was compared first.
    pub(crate) content: u32,
    /// The pair that was compared first.
    pub(crate) pair: (u32, u32),
    /// A URL of another class that was compared with that of the first.
    pub(crate) third: Option<u32>,
    /// The chance that pages agree with themselves, and its upper bound.
    pub(crate) same: f64,
    pub(crate) high: f64,
}

/// Where the parts of an encoded pair are: `distance | differences | rank of a | rank of b`.
const RANK_BITS: u32 = 5;
const DIFFERENCES_AT: u32 = 2 * RANK_BITS;
const DISTANCE_AT: u32 = 28;

/// The distance of pairs that have none.
const NO_DISTANCE: u32 = 15;

/// A pair that is not compared.
const NEVER: u32 = u32::MAX;

/// Compares the members of groups; its buffers are used again from group to group.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    members: Vec<u32>,
    /// Members by rank, which is drawn, and the rank of each member. Reason: in the order of their
    /// numbers the same two values would be compared in each group, and those of a third never.
    by_rank: Vec<u32>,
    ranks: Vec<u32>,
    /// The candidates of the group, and for each of them the marks of all members.
    columns: Vec<u16>,
    marks: Vec<u64>,
    /// For each candidate of the site, the group that it was last met in, and its column there.
    column_of: Vec<(u32, u32)>,
    group: u32,
    pairs: Vec<u32>,
    rest: Vec<u32>,
}

/// What groups are compared by.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    pub(crate) table: &'a Table,
    pub(crate) calibration: &'a Calibration,
    pub(crate) forms: &'a Forms,
}

impl Sampler {
    /// A sampler for candidates with numbers below `candidates`.
    pub(crate) fn new(candidates: usize) -> Sampler {
        Sampler { column_of: vec![(0, 0); candidates], ..Sampler::default() }
    }

    /// Adds to `out` what the URLs of a group, in ascending order, say about each candidate that
    /// makes a difference among them.
    pub(crate) fn sample(&mut self, by: Measure<'_>, urls: &[u32], out: &mut Vec<Sample>) {
        self.lay_out(by.forms, urls);
        if self.columns.is_empty() {
            return;
        }
        self.pair_up(by);
        for column in 0..self.columns.len() {
            out.extend(self.compare_pairs(by, column));
        }
    }

    /// What they say about one candidate, if it makes a difference among them.
    pub(crate) fn sample_one(
        &mut self,
        by: Measure<'_>,
        urls: &[u32],
        candidate: u16,
    ) -> Option<Sample> {
        let fires =
            |url: &u32| by.forms.fired_on(*url).iter().any(|one| one.candidate == candidate);
        if !urls.iter().any(fires) {
            return None;
        }
        self.lay_out(by.forms, urls);
        let column = self.columns.iter().position(|column| *column == candidate)?;
        self.pair_up(by);
        self.compare_pairs(by, column)
    }

    /// Members, ranks and marks.
    fn lay_out(&mut self, forms: &Forms, urls: &[u32]) {
        self.members.clear();
        self.members.extend_from_slice(urls);
        if urls.len() > MEMBERS_MAX {
            self.members.sort_by_key(|url| mix(u64::from(*url)));
            self.members.truncate(MEMBERS_MAX);
        }
        let draw = |url: &u32| mix(u64::from(*url));
        self.by_rank.clone_from(&self.members);
        self.by_rank.sort_by_key(draw);
        self.ranks.clear();
        for member in &self.members {
            let rank = self.by_rank.partition_point(|one| draw(one) < draw(member));
            self.ranks.push(rank as u32);
        }
        self.group += 1;
        self.columns.clear();
        self.marks.clear();
        let width = self.members.len();
        for (at, member) in self.members.iter().enumerate() {
            for Fired { candidate, mark } in forms.fired_on(*member) {
                let met = &mut self.column_of[*candidate as usize];
                if met.0 != self.group {
                    *met = (self.group, self.columns.len() as u32);
                    self.columns.push(*candidate);
                    self.marks.resize(self.marks.len() + width, 0);
                }
                self.marks[met.1 as usize * width + at] = *mark;
            }
        }
    }

    /// Packs all pairs. Those that can have no answer are left out: a member without contents that
    /// say something.
    fn pair_up(&mut self, by: Measure<'_>) {
        let width = self.members.len();
        self.pairs.clear();
        let urls = &by.table.urls;
        let is_distinctive = |member: &u32| {
            let captures = by.table.captures_of(&urls[*member as usize]);
            captures.iter().any(|capture| !by.calibration.hot[capture.content as usize])
        };
        // One bit for each member; there are no more than 24.
        let distinctive = self
            .members
            .iter()
            .enumerate()
            .fold(0u32, |all, (at, one)| all | u32::from(is_distinctive(one)) << at);
        let steady = by.calibration.is_steady();
        for (at, a) in self.members.iter().enumerate() {
            for (to, b) in self.members.iter().enumerate().skip(at + 1) {
                if distinctive >> at & distinctive >> to & 1 == 0 {
                    self.pairs.push(NEVER);
                    continue;
                }
                let distance = if steady {
                    0
                } else {
                    let (one, other) = (&urls[*a as usize], &urls[*b as usize]);
                    u32::from(by.calibration.distance(by.table, one, other)).min(NO_DISTANCE)
                };
                self.pairs
                    .push(distance << DISTANCE_AT | self.ranks[at] << RANK_BITS | self.ranks[to]);
            }
        }
        for marks in self.marks.chunks_exact(width) {
            let mut row = &mut self.pairs[..];
            for (at, mark) in marks.iter().enumerate() {
                let (these, rest) = row.split_at_mut(width - at - 1);
                for (pair, other) in these.iter_mut().zip(&marks[at + 1..]) {
                    // `NEVER` is left as it is, so it stays above all others.
                    let differs = u32::from(mark != other && *pair != NEVER);
                    *pair += differs << DIFFERENCES_AT;
                }
                row = rest;
            }
        }
    }

    /// The least pair above `last` that differs in a column.
    fn next(&self, column: usize, last: Option<u32>) -> Option<u32> {
        let width = self.members.len();
        let marks = &self.marks[column * width..][..width];
        let above = last.map_or(0, |last| last + 1);
        let mut least = NEVER;
        let mut row = &self.pairs[..];
        for (at, mark) in marks.iter().enumerate() {
            let (these, rest) = row.split_at(width - at - 1);
            for (pair, other) in these.iter().zip(&marks[at + 1..]) {
                let value = if mark != other && *pair >= above { *pair } else { NEVER };
                least = least.min(value);
            }
            row = rest;
        }
        (least != NEVER).then_some(least)
    }

    /// All pairs above `last` that differ in a column, sorted, into `rest`.
    fn sort_rest(&mut self, column: usize, last: u32) {
        let width = self.members.len();
        let marks = &self.marks[column * width..][..width];
        self.rest.clear();
        let mut row = &self.pairs[..];
        for (at, mark) in marks.iter().enumerate() {
            let (these, rest) = row.split_at(width - at - 1);
            let pairs = these.iter().zip(&marks[at + 1..]);
            let left = pairs.filter(|(pair, other)| mark != *other && **pair > last);
            self.rest.extend(left.map(|(pair, _)| *pair).filter(|pair| *pair != NEVER));
            row = rest;
        }
        self.rest.sort_unstable();
    }

    /// The two URLs of an encoded pair, in the order of the members.
    fn urls_of(&self, pair: u32) -> (u32, u32) {
        let mask = (1 << RANK_BITS) - 1;
        let (a, b) = (pair >> RANK_BITS & mask, pair & mask);
        (self.by_rank[a as usize], self.by_rank[b as usize])
    }

    /// Compares the pairs of one candidate: the closest in time first where pages change, then
    /// those with the fewest differences.
    fn compare_pairs(&mut self, by: Measure<'_>, column: usize) -> Option<Sample> {
        let mut found: Option<(Sample, u32)> = None;
        let (mut compared, mut missed, mut last) = (0, 0, None);
        let mut rest_at = 0;
        loop {
            let pair = if missed < MISSES_MAX {
                self.next(column, last)
            } else {
                if missed == MISSES_MAX {
                    self.sort_rest(column, last.unwrap_or(0));
                    missed += 1;
                }
                rest_at += 1;
                self.rest.get(rest_at - 1).copied()
            };
            let Some(pair) = pair else { break };
            last = Some(pair);
            let class = pair >> DIFFERENCES_AT;
            if found.as_ref().is_some_and(|(_, of)| is_worse(class, *of)) {
                break;
            }
            let (a, b) = self.urls_of(pair);
            let urls = &by.table.urls;
            let one = by.calibration.compare(by.table, &urls[a as usize], &urls[b as usize]);
            let Some(one) = one else {
                missed += usize::from(missed < MISSES_MAX);
                continue;
            };
            match &mut found {
                None => {
                    let sample = Sample {
                        weight: Weight::Full,
                        candidate: self.columns[column],
                        differences: (class & DIFFERENCES_MASK) as u16,
                        agree: one.agree,
                        content: one.content,
                        pair: (a, b),
                        third: None,
                        same: one.same,
                        high: one.high,
                    };
                    found = Some((sample, class));
                }
                // Where a page does not agree with itself, one comparison is all a group can give.
                Some(_) if one.same < 0.98 => break,
                Some((sample, _)) => {
                    sample.agree &= one.agree;
                    sample.same *= one.same;
                    sample.high *= one.high;
                }
            }
            compared += 1;
            if compared == PAIRS_MAX {
                break;
            }
        }
        found.map(|(sample, _)| sample)
    }
}

/// The differences of a class: of a pair without its ranks.
const DIFFERENCES_MASK: u32 = (1 << (DISTANCE_AT - DIFFERENCES_AT)) - 1;

/// Is a pair of one class farther apart, or different in more candidates, than one of another?
fn is_worse(class: u32, of: u32) -> bool {
    // In order, so the class is never the lesser one.
    class > of
}
