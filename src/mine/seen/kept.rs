//! Which URLs of a site are kept where there are too many, sorted by their bytes.
//!
//! HOT: once per distinct URL.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::identity::Numbering;
use super::maps::{hash, mix};
use super::table::Span;
use crate::parts::{UrlParts, scheme_length};

/// A URL that is kept, with what it is sorted by.
pub(super) struct KeptUrl {
    /// In the order in which they came.
    pub(super) url: u32,
    pub(super) span: Span,
    pub(super) parts: PartStarts,
    /// The rank of its origin among those of the site, in byte order.
    rank: u32,
    /// The first bytes after that.
    start: u128,
}

/// Where the path, the query and the fragment of a URL begin.
#[derive(Clone, Copy)]
pub(super) struct PartStarts {
    pub(super) path: u32,
    pub(super) query: u32,
    pub(super) fragment: u32,
}

impl PartStarts {
    pub(super) fn of(url: &[u8]) -> PartStarts {
        match UrlParts::split(url, scheme_length(url).unwrap_or(0)) {
            Ok(parts) => PartStarts {
                path: parts.path_start,
                query: parts.query_start,
                fragment: parts.fragment_start,
            },
            Err(_) => {
                let end = url.len() as u32;
                PartStarts { path: end, query: end, fragment: end }
            }
        }
    }

    pub(super) fn has_query(self) -> bool {
        self.query < self.fragment
    }

    pub(super) fn path(self, url: &[u8]) -> &[u8] {
        &url[self.path as usize..self.query as usize]
    }

    /// The origin with the byte that follows it. Of two such texts of different origins none is the
    /// beginning of the other, but for one that is the whole URL: so they are ordered as the URLs.
    fn origin_end(self, url: &[u8]) -> usize {
        (self.path as usize + 1).min(url.len())
    }
}

/// Those of the URLs in `spans` that are seen, in byte order, and how many were left out: those
/// beyond `urls_max`.
pub(super) fn kept(
    text: &[u8],
    spans: &[Span],
    is_seen: &[bool],
    urls_max: usize,
) -> (Vec<KeptUrl>, u64) {
    let mut origins = Numbering::new();
    let seen = (0..).zip(spans).zip(is_seen).filter(|(_, is_seen)| **is_seen);
    let mut rows: Vec<KeptUrl> =
        seen.map(|((url, span), _)| KeptUrl::of(text, url, *span, &mut origins)).collect();
    let before = rows.len();
    draw(text, &mut rows, urls_max);
    let left_out = (before - rows.len()) as u64;
    sort(text, &mut rows, &origins.texts);
    (rows, left_out)
}

impl KeptUrl {
    /// The row of a URL. Its origin has its number instead of its rank, which is not known yet.
    fn of(text: &[u8], url: u32, span: Span, origins: &mut Numbering) -> KeptUrl {
        let bytes = bytes_of(text, span);
        let parts = PartStarts::of(bytes);
        let (origin, rest) = bytes.split_at(parts.origin_end(bytes));
        let mut start = [0; 16];
        let known = rest.len().min(16);
        start[..known].copy_from_slice(&rest[..known]);
        KeptUrl { url, span, parts, rank: origins.of(origin), start: u128::from_be_bytes(start) }
    }
}

fn bytes_of(text: &[u8], span: Span) -> &[u8] {
    &text[span.start as usize..span.end as usize]
}

/// Draws `urls_max` of the URLs of a site that has more, by hash: by path, so that whole groups
/// stay. Of the one path that has room in part its URLs are drawn, whatever they show: so as many
/// groups are torn that agree as others.
fn draw(text: &[u8], rows: &mut Vec<KeptUrl>, urls_max: usize) {
    if rows.len() <= urls_max {
        return;
    }
    let bytes = |span: Span| bytes_of(text, span);
    let key = |row: &KeptUrl| mix(hash(row.parts.path(bytes(row.span))));
    let mut keys: Vec<u64> = rows.iter().map(key).collect();
    let (_, limit, _) = keys.select_nth_unstable(urls_max);
    let limit = *limit;
    let mut torn: Vec<(u64, Span)> = Vec::new();
    rows.retain(|row| match key(row).cmp(&limit) {
        Ordering::Equal => {
            torn.push((mix(hash(bytes(row.span))), row.span));
            true
        }
        order => order == Ordering::Less,
    });
    // Texts with the same hash, which were crafted, are in byte order.
    torn.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| bytes(a.1).cmp(bytes(b.1))));
    let room = urls_max + torn.len() - rows.len();
    let out: HashSet<u32> = torn.split_off(room).iter().map(|(_, span)| span.start).collect();
    rows.retain(|row| !out.contains(&row.span.start));
}

/// Sorts rows in the byte order of their URLs; `origins` are those of the site by number.
fn sort(text: &[u8], rows: &mut [KeptUrl], origins: &[Vec<u8>]) {
    let mut order: Vec<u32> = (0..origins.len() as u32).collect();
    order.sort_unstable_by(|a, b| origins[*a as usize].cmp(&origins[*b as usize]));
    let mut ranks = vec![0; order.len()];
    for (rank, number) in (0..).zip(&order) {
        ranks[*number as usize] = rank;
    }
    for row in &mut *rows {
        row.rank = ranks[row.rank as usize];
    }
    // Stable, since indexes are in the order of their URLs but for the hosts: so runs are merged.
    rows.sort_by_key(|row| row.rank);
    rows.sort_by(|a, b| {
        let whole = || bytes_of(text, a.span).cmp(bytes_of(text, b.span));
        (a.rank, a.start).cmp(&(b.rank, b.start)).then_with(whole)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::interner::Interner;
    use crate::mine::seen::table::tests::canonicalizer;

    /// The URLs that are kept of these, if there is room for this many.
    fn kept_of(urls: &[String], urls_max: usize) -> Vec<String> {
        let mut interner = Interner::with_room(&[]);
        for url in urls {
            interner.intern(url.as_bytes(), &canonicalizer());
        }
        let seen = vec![true; interner.spans.len()];
        let (rows, left_out) = kept(&interner.text, &interner.spans, &seen, urls_max);
        assert_eq!(rows.len() + left_out as usize, interner.spans.len());
        let text = |row: &KeptUrl| {
            let bytes = &interner.text[row.span.start as usize..row.span.end as usize];
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        rows.iter().map(text).collect()
    }

    #[test]
    fn a_site_of_one_script_is_sampled_by_url() {
        let mut urls: Vec<String> =
            (0..100).map(|page| format!("http://a.test/index.php?id={page}")).collect();
        let first = kept_of(&urls, 60);
        assert_eq!(first.len(), 60);
        urls.reverse();
        assert_eq!(kept_of(&urls, 60), first, "whatever the order of input");
        assert_eq!(kept_of(&urls, 100).len(), 100);
    }

    #[test]
    fn whole_paths_stay_but_for_one() {
        let urls: Vec<String> =
            (0..300).map(|number| format!("http://a.test/{}?id={number}", number % 20)).collect();
        let kept = kept_of(&urls, 100);
        assert_eq!(kept.len(), 100);
        let mut of_path = [0; 20];
        for url in &kept {
            let path = url["http://a.test/".len()..].split('?').next().unwrap();
            of_path[path.parse::<usize>().unwrap()] += 1;
        }
        let torn = of_path.iter().filter(|urls| ![0, 15].contains(*urls)).count();
        assert_eq!(torn, 1, "{of_path:?}");
    }
}
