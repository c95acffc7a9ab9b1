//! Counts the words in the URLs of a site, to estimate the memory of its tables while it is mined.

use std::collections::HashSet;
use std::ops::AddAssign;

/// The words of some URLs of a site: segments of paths, and names of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordCounts {
    /// Parameters, all of them.
    pub(super) params: u64,
    /// Distinct words of each chunk; words of several chunks are counted several times.
    pub(super) distinct: u64,
    /// Bytes of paths whose folder or last segment is new.
    pub(super) path_bytes: u64,
}

impl AddAssign for WordCounts {
    fn add_assign(&mut self, more: WordCounts) {
        let WordCounts { params, distinct, path_bytes } = more;
        self.params += params;
        self.distinct += distinct;
        self.path_bytes += path_bytes;
    }
}

/// Most words of a chunk that are remembered; all further ones count as distinct. Reason: the set
/// takes some 600 kB then.
const KNOWN_MAX: usize = 7 << 13;

/// Finds the words of a chunk that are new for their site.
#[derive(Default)]
pub(super) struct WordCounter {
    known: HashSet<u64, ahash::RandomState>,
    hasher: ahash::RandomState,
}

impl WordCounter {
    /// The words of `url`, of the site with the number `site`. Price: a hash for its folder, its
    /// last segment, and each parameter.
    pub(super) fn count(&mut self, site: usize, url: &[u8]) -> WordCounts {
        let url = &url[..memchr::memchr(b'#', url).unwrap_or(url.len())];
        let (before_query, query) = match memchr::memchr(b'?', url) {
            Some(at) => (&url[..at], Some(&url[at + 1..])),
            None => (url, None),
        };
        let mut words = WordCounts::default();
        let end = memchr::memrchr(b'/', before_query).unwrap_or(before_query.len());
        let (folder, last) = before_query.split_at(end);
        let last = last.strip_prefix(b"/").unwrap_or(last);
        let (is_folder_new, is_last_new) =
            (self.is_new(&(site, b':', folder)), self.is_new(&(site, b'/', last)));
        words.distinct += u64::from(is_last_new);
        if is_folder_new || is_last_new {
            let path_start = memchr::memchr_iter(b'/', before_query).nth(2);
            let path_bytes = before_query.len() - path_start.unwrap_or(before_query.len());
            words.path_bytes += path_bytes as u64;
        }
        if is_folder_new {
            // The scheme, the empty text between the slashes after it, and the host are not words.
            for segment in folder.split(|byte| *byte == b'/').skip(3) {
                words.distinct += u64::from(self.is_new(&(site, b'/', segment)));
            }
        }
        for param in query.into_iter().flat_map(|query| query.split(|byte| *byte == b'&')) {
            let name = &param[..memchr::memchr(b'=', param).unwrap_or(param.len())];
            words.params += 1;
            words.distinct += u64::from(self.is_new(&(site, b'?', name)));
        }
        words
    }

    fn is_new(&mut self, word: &impl std::hash::Hash) -> bool {
        let hash = self.hasher.hash_one(word);
        if self.known.len() < KNOWN_MAX {
            self.known.insert(hash)
        } else {
            !self.known.contains(&hash)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_once_for_each_site() {
        let mut counter = WordCounter::default();
        let mut count = |site, url: &str| {
            let WordCounts { params, distinct, .. } = counter.count(site, url.as_bytes());
            (params, distinct)
        };
        assert_eq!(count(0, "http://a.test/shop/x?id=1&id=2&sort=up#/y?z=1"), (3, 4));
        assert_eq!(count(0, "http://a.test/shop/y?sort=down"), (1, 1));
        assert_eq!(count(0, "http://a.test/shop/y"), (0, 0));
        assert_eq!(count(0, "http://a.test/shop"), (0, 0));
        assert_eq!(count(1, "http://b.test/shop/y?sort=down"), (1, 3));
        let many = (0..2 * KNOWN_MAX).map(|number| count(2, &format!("http://c.test/{number}")).1);
        assert_eq!(many.sum::<u64>(), 2 * KNOWN_MAX as u64);
    }

    #[test]
    fn paths_are_counted_where_they_are_new() {
        let mut counter = WordCounter::default();
        let mut count = |url: &str| counter.count(0, url.as_bytes()).path_bytes;
        assert_eq!(count("http://a.test/shop/x?id=1"), 7);
        assert_eq!(count("http://a.test/shop/x?id=2"), 0);
        assert_eq!(count("http://a.test/shop/y"), 7);
        assert_eq!(count("http://a.test/shops/y"), 8);
    }
}
