//! The URLs of a site as the baselines see them: stage 0, contents, sizes.

use std::collections::{BTreeMap, BTreeSet};

use crate::Row;
use crate::scoring::Form;

/// One distinct URL after stage 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) url: String,
    /// Digests of whole, successful answers.
    pub(crate) contents: BTreeSet<String>,
    /// The smallest and the largest size of these answers.
    pub(crate) sizes: Option<(u64, u64)>,
}

impl Seen {
    /// Have the two a content in common? `None` if one of them has none.
    pub(crate) fn agrees(&self, other: &Seen) -> Option<bool> {
        if self.contents.is_empty() || other.contents.is_empty() {
            return None;
        }
        Some(!self.contents.is_disjoint(&other.contents))
    }

    /// Do the ranges of sizes overlap?
    pub(crate) fn has_like_size(&self, other: &Seen) -> bool {
        match (self.sizes, other.sizes) {
            (Some((least, most)), Some((from, to))) => least <= to && from <= most,
            _ => false,
        }
    }
}

/// The distinct URLs of `rows` after `stage0`, in byte order.
pub(crate) fn seen(rows: &[&Row], stage0: &Form<'_>) -> Vec<Seen> {
    let mut urls: BTreeMap<String, Seen> = BTreeMap::new();
    for row in rows {
        let Ok(url) = String::from_utf8(stage0(&row.url)) else { continue };
        let one = urls.entry(url.clone()).or_insert_with(|| Seen { url, ..Seen::default() });
        let whole = row.status.is_none_or(|status| status == 200) && row.method == "GET";
        if !whole || row.size == Some(0) {
            continue;
        }
        one.contents.extend(row.digest.clone());
        if let Some(size) = row.size {
            let (least, most) = one.sizes.unwrap_or((size, size));
            one.sizes = Some((least.min(size), most.max(size)));
        }
    }
    urls.into_values().collect()
}

/// Names and values of parameters.
pub(crate) type Query = Vec<(String, String)>;

/// A URL as what is before the query, and the parameters, sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Parted {
    pub(crate) place: String,
    pub(crate) params: Query,
}

impl Parted {
    pub(crate) fn of(url: &str) -> Parted {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut params: Query = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        params.sort();
        Parted { place: place.to_string(), params }
    }

    /// Returns the URL without the parameter at `at`.
    pub(crate) fn without(&self, at: usize) -> Parted {
        let mut rest = self.clone();
        rest.params.remove(at);
        rest
    }

    pub(crate) fn text(&self) -> String {
        let pairs: Vec<String> = self.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.place, pairs.join("&"))
    }
}
