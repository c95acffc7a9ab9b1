//! What pages say themselves is their URL: links of the relation `canonical` (RFC 6596).
//!
//! Where a site's links can be trusted, pages with one link are one page, whatever bytes they
//! have, and pages with different links are different ones. Not all sites can: some give every
//! spelling as its own canonical one, others all of a script's pages one. So links are compared
//! with digests, in both directions. Where too few URLs share a digest for that, links count only
//! if enough of them lead to another URL, and rules that follow from them are for review.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::contents::{Contents, NO_CONTENT};
use super::interner::Interner;
use super::kept::PartStarts;
use super::maps::{Map, map};
use super::table::{MOVES_IN_A_ROW, Signal};
use super::usable::{NO_LINK, UsableObservation};

/// Least pairs of URLs with one digest that show whether links can be trusted.
const PAIRS_MIN: u64 = 20;

/// URLs with one digest beyond which that is an error page or an empty list, and says nothing.
const URLS_OF_DIGEST_MAX: usize = 100;

/// One of this many URLs that show a page must have a link, and as many as `PAIRS_MIN` at least.
const URLS_FOR_ONE_LINK: u64 = 4;

/// For this many pages without a link beside one that has one, links are an exception there.
const PAGES_BESIDE_ONE_WITH_A_LINK: i64 = 9;

/// Where digests say nothing: one of this many URLs must have a link to another one.
const URLS_FOR_ONE_LINK_ELSEWHERE: u64 = 20;

/// Replaces the contents of pages by where their links lead to, if the site's can be trusted; else
/// the contents are as before. Returns what the contents are then distinguished by.
///
/// - `moves`: permanent redirects, which are followed from where a link leads to. Links to another
///   URL are added to them.
/// - A page without a link is where another page says that it is, or where all pages with its
///   digest are. Else it keeps its digest, unless a tenth of the pages beside it have a link, since
///   links come from the templates of a site: then nothing is known of it.
/// - Determinism: the result does not depend on the order of `seen`.
pub(super) fn follow(
    seen: &mut [UsableObservation],
    contents: &mut Contents<'_>,
    urls: &Interner,
    moves: &mut Vec<(u32, u32)>,
    signal: Signal,
) -> Signal {
    if seen.iter().all(|one| one.link == NO_LINK) {
        return signal;
    }
    let onward = Onward::of(seen, urls, moves);
    for one in seen.iter_mut().filter(|one| one.link != NO_LINK) {
        one.link = onward.end(one.link);
    }
    let digests = match signal {
        Signal::Digest => LinksOfDigests::of(seen),
        _ => LinksOfDigests::default(),
    };
    let Some(trusted) = trust(seen, &digests) else { return signal };
    let mut is_linked = vec![false; urls.len()];
    // Per neighborhood: pages without a link, minus this many for each page with one.
    let mut beside: HashMap<&[u8], i64, ahash::RandomState> = HashMap::default();
    for one in seen.iter().filter(|one| one.shows_a_page) {
        let weight = if one.link == NO_LINK { 1 } else { -PAGES_BESIDE_ONE_WITH_A_LINK };
        *beside.entry(surroundings(urls.text(one.url))).or_default() += weight;
        if one.link != NO_LINK {
            is_linked[one.link as usize] = true;
        }
    }
    for one in seen {
        let end = onward.end(one.url);
        let link = if one.link != NO_LINK {
            moves.push((one.url, one.link));
            Some(one.link)
        } else if is_linked[end as usize] && one.shows_a_page {
            Some(end)
        } else {
            digests.only.get(&one.content).copied()
        };
        let is_beside_links =
            || beside.get(surroundings(urls.text(one.url))).is_some_and(|rest| *rest <= 0);
        match link {
            Some(link) => one.content = contents.of_url(link, urls),
            None if signal == Signal::Digest && !is_beside_links() => {}
            None => one.content = NO_CONTENT,
        }
    }
    trusted
}

/// What neighboring URLs have in common: the path before a query, else the folder.
fn surroundings(url: &[u8]) -> &[u8] {
    let parts = PartStarts::of(url);
    let path = parts.path(url);
    if parts.has_query() {
        return path;
    }
    &path[..memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)]
}

/// Where URLs lead to: by a redirect or by their own canonical link.
struct Onward {
    next: Map<u32, u32>,
}

impl Onward {
    /// Of several links of one URL the first in byte order counts.
    fn of(seen: &[UsableObservation], urls: &Interner, moves: &[(u32, u32)]) -> Onward {
        let links = seen.iter().filter(|one| one.link != NO_LINK).map(|one| (one.url, one.link));
        let mut next: Map<u32, u32> = map();
        for (from, to) in links.chain(moves.iter().copied()) {
            match next.entry(from) {
                Entry::Vacant(free) => {
                    free.insert(to);
                }
                Entry::Occupied(mut known) => {
                    if urls.text(to) < urls.text(*known.get()) {
                        known.insert(to);
                    }
                }
            }
        }
        Onward { next }
    }

    /// The URL that `url` finally leads to.
    fn end(&self, url: u32) -> u32 {
        let mut at = url;
        for _ in 0..MOVES_IN_A_ROW {
            match self.next.get(&at) {
                Some(next) if *next != at => at = *next,
                _ => break,
            }
        }
        at
    }
}

/// What digests say of links, and links of digests.
#[derive(Default)]
struct LinksOfDigests {
    /// The link that all URLs with a digest have, by the number of the digest.
    only: Map<u32, u32>,
    /// Pairs of URLs with one digest, and how many of them have one link.
    pairs: u64,
    agree: u64,
    /// Links of which several URLs show digests that others show as well: all of them one, or
    /// several. Of digests that are seen at one URL only nothing is known, they may be noise.
    links_with_one: u64,
    links_with_several: u64,
}

impl LinksOfDigests {
    fn of(seen: &[UsableObservation]) -> LinksOfDigests {
        let known = seen.iter().filter(|one| one.link != NO_LINK && one.content != NO_CONTENT);
        let mut rows: Vec<_> = known.map(|one| (one.content, one.link, one.url)).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut found = LinksOfDigests::default();
        // Links, and the digests of several URLs with it.
        let mut repeated = Vec::new();
        for urls in rows.chunk_by(|(digest, ..), (other, ..)| digest == other) {
            let links = urls.chunk_by(|(_, link, _), (_, other, _)| link == other).count();
            if let (1, [(digest, link, _), ..]) = (links, urls) {
                found.only.insert(*digest, *link);
            }
            if urls.len() <= URLS_OF_DIGEST_MAX {
                found.pairs += urls.len() as u64 - 1;
                found.agree += (urls.len() - links) as u64;
                if urls.len() > 1 {
                    repeated.extend(urls.iter().map(|(digest, link, _)| (*link, *digest)));
                }
            }
        }
        repeated.sort_unstable();
        for urls in repeated.chunk_by(|(link, _), (other, _)| link == other) {
            match urls.chunk_by(|(_, digest), (_, other)| digest == other).count() {
                1 => found.links_with_one += u64::from(urls.len() > 1),
                _ => found.links_with_several += 1,
            }
        }
        found
    }
}

/// What the contents of a site are distinguished by if its links can be trusted.
fn trust(seen: &[UsableObservation], digests: &LinksOfDigests) -> Option<Signal> {
    let mut pages: Vec<u32> =
        seen.iter().filter(|one| one.shows_a_page).map(|one| one.url).collect();
    pages.sort_unstable();
    pages.dedup();
    let mut links: Vec<(u32, u32)> =
        seen.iter().filter(|one| one.link != NO_LINK).map(|one| (one.url, one.link)).collect();
    links.sort_unstable();
    links.dedup();
    let with_link = links.chunk_by(|(url, _), (other, _)| url == other).count() as u64;
    if with_link < PAIRS_MIN || with_link * URLS_FOR_ONE_LINK < pages.len() as u64 {
        return None;
    }
    if digests.links_with_several > digests.links_with_one {
        return None;
    }
    if digests.pairs >= PAIRS_MIN {
        return (2 * digests.agree >= digests.pairs).then_some(Signal::CanonicalLink);
    }
    let elsewhere = links.iter().filter(|(url, link)| url != link).count() as u64;
    let is_enough = elsewhere * URLS_FOR_ONE_LINK_ELSEWHERE >= links.len() as u64;
    is_enough.then_some(Signal::CanonicalLinkAlone)
}

#[cfg(test)]
mod tests {
    use crate::mine::seen::observation::Observation;
    use crate::mine::seen::table::tests::canonicalizer;
    use crate::mine::seen::table::{Signal, Table};

    /// A page of `http://a.test`: path, digest, canonical link; a text that is empty is not known.
    type Page = (String, String, String);

    fn page(path: &str, digest: &str, link: &str) -> Page {
        (format!("http://a.test{path}"), digest.to_string(), link.to_string())
    }

    /// What contents are distinguished by, and the paths that show one, by content.
    fn followed(pages: &[Page]) -> (Signal, Vec<Vec<String>>) {
        fn known(text: &str) -> Option<&[u8]> {
            Some(text.as_bytes()).filter(|text| !text.is_empty())
        }
        let seen = pages.iter().map(|(url, digest, link)| Observation {
            url: url.as_bytes(),
            digest: known(digest),
            canonical_link: known(link),
            ..Observation::default()
        });
        let table = Table::build(&seen.collect::<Vec<_>>(), &canonicalizer());
        let mut by_content = vec![Vec::new(); table.contents];
        for url in &table.urls {
            let text = String::from_utf8(table.bytes(url.text).to_vec()).unwrap();
            for capture in table.captures_of(url) {
                by_content[capture.content as usize]
                    .push(text["http://a.test".len()..].to_string());
            }
        }
        by_content.sort();
        (table.signal, by_content)
    }

    /// `count` pages in two spellings, of which the second has a link to the first, or to itself.
    fn spelled_twice(count: usize, has_digests: bool, is_honest: bool) -> Vec<Page> {
        let spellings = (0..count).flat_map(|number| {
            let digest = if has_digests { format!("digest {number}") } else { String::new() };
            let (plain, other) = (format!("/p{number}"), format!("/p{number}?s=1"));
            let link = if is_honest { &plain } else { &other };
            [page(&plain, &digest, &plain), page(&other, &digest, link)]
        });
        spellings.collect()
    }

    /// The same of `pages` beside others, in folders of their own, by which the site's links can be
    /// trusted.
    fn told_where_links_are_trusted(pages: &[Page]) -> (Signal, Vec<Vec<String>>) {
        let mut all = pages.to_vec();
        for (url, digest, link) in spelled_twice(40, true, true) {
            let elsewhere = |text: &str| text.replace("a.test/", "a.test/else/where/");
            all.push((elsewhere(&url), digest, elsewhere(&link)));
        }
        let (signal, mut by_content) = followed(&all);
        by_content.retain(|paths| !paths[0].starts_with("/else/"));
        (signal, by_content)
    }

    #[test]
    fn pages_with_one_link_are_one() {
        for digests in [["1", "2", "3", "4", "5"], [""; 5]] {
            let mut pages = vec![
                page("/a?s=1", digests[0], "http://a.test/a"),
                page("/a?s=2", digests[1], "HTTP://a.test:80/x/../a"),
                page("/b?s=1", digests[2], "/b"),
                // The page need not have the link itself.
                page("/b", digests[3], ""),
                page("/c", digests[4], "http://a.test/c"),
            ];
            let expected: [&[&str]; 3] = [&["/a?s=1", "/a?s=2"], &["/b", "/b?s=1"], &["/c"]];
            let (signal, found) = told_where_links_are_trusted(&pages);
            assert_eq!(signal, Signal::CanonicalLink);
            assert_eq!(found, expected, "{digests:?}");
            pages.reverse();
            assert_eq!(told_where_links_are_trusted(&pages).1, expected, "in any order");
        }
    }

    #[test]
    fn links_are_followed() {
        let chain = [page("/a", "", "/b"), page("/b", "", "/c"), page("/c", "", "/c")];
        assert_eq!(told_where_links_are_trusted(&chain).1, [["/a", "/b", "/c"]]);
        let mutual = [page("/a", "", "/b"), page("/b", "", "/a")];
        let found = told_where_links_are_trusted(&mutual).1;
        assert_eq!(found, [["/a"], ["/b"]], "who is right is not known");
    }

    #[test]
    fn pages_without_a_link_keep_their_digest() {
        let mut pages = vec![
            page("/a?s=1", "1", "/a"),
            page("/a?s=2", "1", "/a"),
            // Its digest is that of pages with one link.
            page("/a?s=3", "1", ""),
            page("/x", "2", ""),
            page("/y", "2", ""),
            // Similar pages have a link, and about its own nothing is known.
            page("/a?s=4", "5", ""),
        ];
        // One of eleven pages has a link.
        let z: Vec<String> = (0..10).map(|number| format!("/z?t={number}")).collect();
        pages.extend(z.iter().map(|path| page(path, "3", "")));
        pages.push(page("/z?u", "4", "/z?u"));
        let z: Vec<&str> = z.iter().map(String::as_str).collect();
        let expected: [&[&str]; 4] =
            [&["/a?s=1", "/a?s=2", "/a?s=3"], &["/x", "/y"], &z, &["/z?u"]];
        assert_eq!(told_where_links_are_trusted(&pages).1, expected);
    }

    #[test]
    fn digests_judge_links() {
        let twos = |spellings: &[Page]| {
            followed(spellings).1.iter().filter(|urls| urls.len() == 2).count()
        };
        let honest = spelled_twice(20, true, true);
        assert_eq!((followed(&honest).0, twos(&honest)), (Signal::CanonicalLink, 20));
        // Each spelling as its own canonical one.
        let echo = spelled_twice(20, true, false);
        assert_eq!((followed(&echo).0, twos(&echo)), (Signal::Digest, 20));
        let mixed = [spelled_twice(20, true, false), spelled_twice(1, false, true)].concat();
        assert_eq!((followed(&mixed).0, twos(&mixed)), (Signal::Digest, 20));
        // All pages of a script as one, be it the start page.
        for pages_of_script in [3, 60] {
            let faceted: Vec<Page> = (0..60)
                .flat_map(|number| {
                    let link = format!("/s{}", number / pages_of_script);
                    ["", "&s=1"].map(|session| {
                        let path = format!("{link}?recipe={number}{session}");
                        page(&path, &format!("digest {number}"), &link)
                    })
                })
                .collect();
            assert_eq!((followed(&faceted).0, twos(&faceted)), (Signal::Digest, 60));
        }
    }

    #[test]
    fn few_links_say_nothing() {
        let mut pages = spelled_twice(100, true, true);
        for (number, (.., link)) in pages.iter_mut().enumerate().skip(1) {
            if number >= 20 {
                link.clear();
            }
        }
        assert_eq!(followed(&pages).0, Signal::Digest, "a tenth of the URLs");
        assert_eq!(followed(&spelled_twice(9, true, true)).0, Signal::Digest, "a small site");
    }

    #[test]
    fn without_digests_some_links_must_lead_elsewhere() {
        assert_eq!(followed(&spelled_twice(20, false, false)).0, Signal::None);
        assert_eq!(followed(&spelled_twice(20, false, true)).0, Signal::CanonicalLinkAlone);
    }

    #[test]
    fn redirects_have_no_links() {
        let moved = Observation {
            url: b"http://a.test/a",
            status: Some(301),
            canonical_link: Some(b"http://a.test/b"),
            ..Observation::default()
        };
        assert_eq!(Table::build(&[moved], &canonicalizer()).signal, Signal::None);
    }
}
