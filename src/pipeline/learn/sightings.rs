//! What `learn` keeps of the records until their sites are mined: in memory, and in files
//! when that is used up (`shares.rs`).

mod shares;

use super::url_words::WordCounts;
use crate::mine::Observation;
use crate::record::fields::time;
use crate::record::{Fields, Record};

pub(super) use shares::{Load, SHARES, Shares};

/// What was seen in a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkSightings {
    /// The texts of the sightings, one after the other.
    text: Vec<u8>,
    sightings: Vec<Sighting>,
    pub(super) sites: Vec<ChunkSite>,
}

/// A site in a chunk.
#[derive(Debug)]
pub(super) struct ChunkSite {
    pub(super) site: Box<[u8]>,
    /// Which sightings are of it.
    pub(super) sightings: Vec<u32>,
    pub(super) words: WordCounts,
}

/// One record, with its texts in [`ChunkSightings::text`], one after the other.
#[derive(Debug)]
struct Sighting {
    /// Where the first text starts, and where each ends: digest, type, method, link, URL.
    ends: [u32; 6],
    /// What the fourth text is.
    link: Link,
    /// Is the URL spelled as under the base profile?
    is_canonical: bool,
    /// The status, or [`NO_STATUS`].
    status: u16,
    /// The time, or [`NO_TIME`].
    time: i64,
    /// The size, or [`NO_SIZE`].
    size: u64,
}

/// How a record is related to another URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// It is a redirect to that URL.
    Redirect,
    /// It is the target of a redirect from that URL.
    RedirectedFrom,
    /// It is a page with that URL as its canonical link.
    Canonical,
}

impl Link {
    const ALL: [Link; 3] = [Link::Redirect, Link::RedirectedFrom, Link::Canonical];

    /// The most informative link of a record with this status, with its text.
    fn of<'a>(fields: &Fields<'a>, status: u16) -> (Link, &'a [u8]) {
        // Only pages have canonical links, and only other records redirect.
        let is_page = matches!(status, 200 | NO_STATUS);
        if is_page && !fields.canonical_link.is_empty() {
            (Link::Canonical, fields.canonical_link)
        } else if fields.redirect.is_empty() && !fields.redirected_from.is_empty() {
            (Link::RedirectedFrom, fields.redirected_from)
        } else {
            (Link::Redirect, fields.redirect)
        }
    }
}

/// Stand for a status, a time and a size that are not known.
const NO_STATUS: u16 = u16::MAX;
const NO_TIME: i64 = i64::MIN;
const NO_SIZE: u64 = u64::MAX;

/// Bytes of memory for each sighting beside its texts: the sighting, its number in its site, and
/// later what the miner gets.
const SIGHTING_BYTES: u64 = (size_of::<Sighting>() + 16 + size_of::<Observation<'static>>()) as u64;

/// Bytes of memory for each site beside its sightings: its name here and among all sites, and the
/// lists of its sightings in both places, each allocated separately.
const SITE_BYTES: u64 = 256;

impl ChunkSightings {
    /// Begins without texts, with room for `text_bytes` bytes of them.
    pub(super) fn with_room(text_bytes: usize) -> ChunkSightings {
        ChunkSightings { text: Vec::with_capacity(text_bytes), ..ChunkSightings::default() }
    }

    /// Frees the room that was not needed.
    pub(super) fn trim(&mut self) {
        self.text.shrink_to_fit();
        self.sightings.shrink_to_fit();
    }

    /// Bytes of memory that the sightings take, and will take when they are mined.
    pub(super) fn memory_bytes(&self) -> u64 {
        let sites = self.sites.len() as u64;
        memory_bytes(self.text.capacity() as u64, self.sightings.len() as u64, sites)
    }

    /// Bytes of its texts.
    pub(super) fn text_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Returns the number of `site`.
    pub(super) fn site(&mut self, site: &[u8]) -> usize {
        self.sites.push(ChunkSite {
            site: site.into(),
            sightings: Vec::new(),
            words: WordCounts::default(),
        });
        self.sites.len() - 1
    }

    /// Adds a sighting for `record`, of the site with this number, with the `form` of its URL if
    /// that is its canonical form under the base profile.
    pub(super) fn add(&mut self, site: usize, record: &Record, form: Option<&[u8]>) {
        self.sites[site].sightings.push(self.sightings.len() as u32);
        let Fields { escapes, .. } = *record.fields;
        let mut buffer = Vec::new();
        let fields = record.fields;
        let mut ends = [self.text.len() as u32; 6];
        let status = number(fields.status).unwrap_or(NO_STATUS);
        let (link, linked) = Link::of(fields, status);
        let texts = [fields.digest, fields.mime, fields.method, linked];
        for (text, end) in texts.iter().zip(&mut ends[1..]) {
            self.text.extend_from_slice(escapes.undo(text, &mut buffer));
            *end = self.text.len() as u32;
        }
        self.text.extend_from_slice(form.unwrap_or(record.url));
        ends[5] = self.text.len() as u32;
        self.sightings.push(Sighting {
            ends,
            link,
            is_canonical: form.is_some(),
            status,
            time: time::parse(fields.time, fields.clock).unwrap_or(NO_TIME),
            size: number(fields.size).unwrap_or(NO_SIZE),
        });
    }

    /// What the miner gets for a sighting.
    pub(super) fn observation(&self, sighting: u32) -> Observation<'_> {
        let Sighting { ends, link, is_canonical, status, time, size } =
            &self.sightings[sighting as usize];
        let text = |at: usize| &self.text[ends[at] as usize..ends[at + 1] as usize];
        let known = |at: usize| Some(text(at)).filter(|text| !text.is_empty());
        let linked = |how: Link| known(3).filter(|_| *link == how);
        Observation {
            url: text(4),
            is_canonical: *is_canonical,
            time: Some(*time).filter(|time| *time != NO_TIME),
            status: Some(*status).filter(|status| *status != NO_STATUS),
            size: Some(*size).filter(|size| *size != NO_SIZE),
            digest: known(0),
            mime: known(1),
            method: known(2),
            redirect: linked(Link::Redirect),
            redirected_from: linked(Link::RedirectedFrom),
            canonical_link: linked(Link::Canonical),
        }
    }
}

/// Bytes of memory for this many sightings of this many sites, with this many bytes of texts.
fn memory_bytes(text_bytes: u64, sightings: u64, sites: u64) -> u64 {
    text_bytes + sightings * SIGHTING_BYTES + sites * SITE_BYTES
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
