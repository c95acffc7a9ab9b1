//! What a set of sites holds, in numbers: redundancy, what of it can be seen, features.

use std::collections::{BTreeMap, BTreeSet};

use super::GeneratedSite;
use super::feature::{FEATURES, Feature, Features};

/// Counts over sites. They can be added up in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitesSummary {
    /// Sites.
    pub sites: u64,
    /// Captures.
    pub captures: u64,
    /// Distinct URLs.
    pub urls: u64,
    /// Distinct pages.
    pub pages: u64,
    /// URLs that a perfect miner takes away by digests alone: the URLs of a page, less the groups
    /// that they fall into when two URLs with one digest in common belong together. Only whole
    /// answers with 200 count, and no refusals.
    pub visible: u64,
    /// URLs that a perfect miner takes away by digests and redirects: as [`Self::visible`], but a
    /// redirect, too, joins the two URLs it leads from and to.
    pub visible_with_redirects: u64,
    /// Pairs of a digest and a page beyond the first page of each digest: coincidences, which a
    /// miner must not take for redundancy.
    pub coincidences: u64,
    given: [u64; FEATURES],
    used: [u64; FEATURES],
}

impl Default for SitesSummary {
    fn default() -> Self {
        SitesSummary {
            sites: 0,
            captures: 0,
            urls: 0,
            pages: 0,
            visible: 0,
            visible_with_redirects: 0,
            coincidences: 0,
            given: [0; FEATURES],
            used: [0; FEATURES],
        }
    }
}

impl SitesSummary {
    /// Adds `site`.
    pub fn add(&mut self, site: &GeneratedSite) {
        let mut urls = BTreeMap::<&str, (u64, Features)>::new();
        for capture in &site.captures {
            let entry = urls.entry(&capture.url).or_insert((capture.page, Features::default()));
            entry.1 = entry.1.union(capture.features);
        }
        let pages: BTreeSet<u64> = urls.values().map(|(page, _)| *page).collect();
        self.sites += 1;
        self.captures += site.captures.len() as u64;
        self.urls += urls.len() as u64;
        self.pages += pages.len() as u64;
        self.visible += joined(site, false);
        self.visible_with_redirects += joined(site, true);
        let whole = site.captures.iter().filter(|capture| capture.is_whole());
        let meetings: BTreeSet<_> = whole.map(|capture| (capture.digest, capture.page)).collect();
        let digests: BTreeSet<_> = meetings.iter().map(|(digest, _)| digest).collect();
        self.coincidences += (meetings.len() - digests.len()) as u64;
        for feature in Feature::all() {
            self.given[feature as usize] += u64::from(site.features.has(feature));
            let using = urls.values().filter(|(_, features)| features.has(feature));
            self.used[feature as usize] += using.count() as u64;
        }
    }

    /// Returns the number of URLs beyond the first of each page.
    pub fn redundant(&self) -> u64 {
        self.urls - self.pages
    }

    /// Returns the share of the URLs that are redundant, 0 to 1; 0 if there are none.
    pub fn redundancy_share(&self) -> f64 {
        share(self.redundant(), self.urls)
    }

    /// Returns the share of the redundancy that digests can show at all, 0 to 1; 0 if there is
    /// none.
    pub fn digest_ceiling(&self) -> f64 {
        share(self.visible, self.redundant())
    }

    /// Returns the share of the redundancy that digests and redirects can show at all, 0 to 1; 0 if
    /// there is none.
    pub fn redirect_ceiling(&self) -> f64 {
        share(self.visible_with_redirects, self.redundant())
    }

    /// Returns how many sites have `feature`.
    pub fn sites_with(&self, feature: Feature) -> u64 {
        self.given[feature as usize]
    }

    /// Returns how many URLs show `feature`. That is zero for signals that change nothing but
    /// bytes.
    pub fn urls_with(&self, feature: Feature) -> u64 {
        self.used[feature as usize]
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// URLs less groups: how many joins of two groups of URLs of one page the captures show.
fn joined(site: &GeneratedSite, with_redirects: bool) -> u64 {
    let mut numbers = BTreeMap::<&str, usize>::new();
    let mut groups = Groups::default();
    let mut first = BTreeMap::new();
    for capture in &site.captures {
        let mut number = |url| *numbers.entry(url).or_insert_with(|| groups.grow());
        let url = number(&capture.url);
        // A refusal says nothing about the page, however often it comes.
        if capture.is_whole() && !capture.features.has(Feature::BlockPage) {
            let other = *first.entry((capture.page, capture.digest)).or_insert(url);
            groups.join(url, other);
        }
    }
    if with_redirects {
        for capture in &site.captures {
            let to = capture.redirect.as_deref().and_then(|to| numbers.get(to));
            if let (Some(&from), Some(&to)) = (numbers.get(&*capture.url), to) {
                groups.join(from, to);
            }
        }
    }
    groups.joins
}

/// Disjoint sets.
#[derive(Default)]
struct Groups {
    parents: Vec<usize>,
    joins: u64,
}

impl Groups {
    fn grow(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn root(&mut self, mut member: usize) -> usize {
        while self.parents[member] != member {
            // Halving the way keeps it short.
            self.parents[member] = self.parents[self.parents[member]];
            member = self.parents[member];
        }
        member
    }

    fn join(&mut self, left: usize, right: usize) {
        let (left, right) = (self.root(left), self.root(right));
        if left != right {
            self.parents[left.max(right)] = left.min(right);
            self.joins += 1;
        }
    }
}
