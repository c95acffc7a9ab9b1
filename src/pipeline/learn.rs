//! `learn`: what was seen of the URLs of each site, and the rules that are mined from it.
//!
//! ```text
//! chunk --walk--> Sightings of the chunk, by site --gathered in input order--> one site after the
//!                                                                   other --mine::Miner--> rules
//! ```

use std::collections::{BTreeMap, HashMap};

use super::budget::too_many;
use super::layouts::Parcel;
use super::pool::Stage;
use super::scan::scan;
use super::walk::{Hand, walk};
use super::{Job, MemoryUse, Outcome};
use crate::error::{Error, Result};
use crate::mine::{Miner, Observation, SiteRules, site_of};
use crate::parts;
use crate::record::{Fields, NO_HOST, Record, time};

/// What was seen in a chunk.
#[derive(Debug, Default)]
struct Gathered {
    /// The texts of the sightings, one after the other.
    text: Vec<u8>,
    sightings: Vec<Sighting>,
    /// The sites, and which sightings are of them.
    sites: Vec<(Box<[u8]>, Vec<u32>)>,
}

/// Chunks, and numbers of sightings in them.
type Places = Vec<(u32, u32)>;

/// One record, with its texts in [`Gathered::text`], one after the other.
#[derive(Debug)]
struct Sighting {
    /// Where the first text starts, and where each ends: digest, type, method, redirect, URL.
    ends: [u32; 6],
    /// The status, or [`NO_STATUS`].
    status: u16,
    /// The time, or [`NO_TIME`].
    time: i64,
    /// The size, or [`NO_SIZE`].
    size: u64,
}

/// What stands for a status, a time and a size that are not known.
const NO_STATUS: u16 = u16::MAX;
const NO_TIME: i64 = i64::MIN;
const NO_SIZE: u64 = u64::MAX;

/// Bytes of memory for each sighting beside its texts: itself, its number in its site, and in its
/// turn what the miner is given.
const SIGHTING_BYTES: u64 = (size_of::<Sighting>() + 16 + size_of::<Observation<'static>>()) as u64;

/// Mines the rules of every site in the job's input, in the order of the sites' names.
///
/// - Failure: records without a host, since rules belong to a site; too many records for the job's
///   memory.
/// - Determinism: neither threads nor the order of the input change a rule.
pub fn learn(job: &Job, miner: &Miner) -> Result<(Vec<SiteRules>, Outcome)> {
    let pool = job.pool()?;
    let budget = job.budget();
    let mut outcome = Outcome::default();
    let tally = &mut outcome.tally;
    let mut chunks: Vec<Gathered> = Vec::new();
    let mut sites: BTreeMap<Box<[u8]>, Places> = BTreeMap::new();
    let mut bytes = 0;
    outcome.files = scan(
        job,
        &pool,
        "gathering",
        Hand::default,
        |hand, chunk| gather(job, chunk, hand),
        |batch| {
            let before = tally.lines;
            for (_, (gathered, counts)) in batch {
                let mut gathered = gathered.ok_or_else(no_host)?;
                job.add(tally, &counts)?;
                let number = chunks.len() as u32;
                for (site, sightings) in std::mem::take(&mut gathered.sites) {
                    let of_site = sites.entry(site).or_default();
                    of_site.extend(sightings.into_iter().map(|sighting| (number, sighting)));
                }
                bytes += gathered.text.capacity() as u64
                    + gathered.sightings.len() as u64 * SIGHTING_BYTES;
                if bytes > budget.members_bytes(0) {
                    return Err(too_many(job, "learn has", bytes));
                }
                chunks.push(gathered);
            }
            Ok(Some(tally.lines - before))
        },
    )?;
    tally.unique = tally.records;
    tally.check()?;
    // Large sites first, so that none is left over at the end.
    let mut order: Vec<(&Box<[u8]>, &Places)> = sites.iter().collect();
    order.sort_by_key(|(_, sightings)| std::cmp::Reverse(sightings.len()));
    job.watch.begin("mining", None);
    let mut rules = pool.map(
        Stage::Mining,
        order.len(),
        || (),
        |(), number| {
            let (site, sightings) = order[number];
            let observations: Vec<Observation> = sightings
                .iter()
                .map(|(chunk, sighting)| chunks[*chunk as usize].observation(*sighting))
                .collect();
            miner.mine(&String::from_utf8_lossy(site), &observations)
        },
    );
    job.watch.end();
    rules.sort_by(|a, b| a.site.cmp(&b.site));
    outcome.memory =
        MemoryUse { budget_bytes: job.memory.bytes, table_bytes: bytes, ..MemoryUse::default() };
    outcome.stages = pool.seconds();
    Ok((rules, outcome))
}

#[cold]
fn no_host() -> Error {
    Error::config(
        "some lines name no host, and rules belong to a site; say which it is, as in --base-url \
         https://example.com",
    )
}

/// What is seen in `chunk`; nothing if a record has no host.
fn gather(job: &Job, chunk: &Parcel, hand: &mut Hand) -> (Option<Gathered>, crate::report::Tally) {
    let mut gathered = Gathered::default();
    let mut numbers: HashMap<Box<[u8]>, usize, ahash::RandomState> = HashMap::default();
    // The same by what a URL starts with: it is cheaper to know that than to find the site.
    let mut by_start: HashMap<Box<[u8]>, Option<usize>, ahash::RandomState> = HashMap::default();
    gathered.text.reserve(chunk.bytes().len());
    let mut has_hosts = true;
    let tally = walk(chunk, job, hand, |_, record, canonical| {
        if record.url.starts_with(NO_HOST) {
            has_hosts = false;
        }
        let start = start_of(canonical.form);
        let number = by_start.get(start).copied().unwrap_or_else(|| {
            // What has no host has no site: `mailto:`, or what does not parse.
            let host = parts::host_of(canonical.form).filter(|host| !host.is_empty());
            let number = host.map(|host| {
                let site = site_of(host);
                *numbers.entry(site.into()).or_insert_with(|| {
                    gathered.sites.push((site.into(), Vec::new()));
                    gathered.sites.len() - 1
                })
            });
            by_start.insert(start.into(), number);
            number
        });
        let Some(number) = number else { return };
        gathered.sites[number].1.push(gathered.sightings.len() as u32);
        gathered.add(&record);
    });
    gathered.text.shrink_to_fit();
    gathered.sightings.shrink_to_fit();
    (has_hosts.then_some(gathered), tally)
}

/// A URL up to the slash after its host, which tells the host; the whole of it if there is none.
fn start_of(form: &[u8]) -> &[u8] {
    let authority_start = match form {
        [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
        _ => return form,
    };
    let end = memchr::memchr(b'/', &form[authority_start..]);
    end.map_or(form, |end| &form[..authority_start + end])
}

impl Gathered {
    fn add(&mut self, record: &Record) {
        let Fields { escapes, .. } = *record.fields;
        let mut buffer = Vec::new();
        let fields = record.fields;
        let mut ends = [self.text.len() as u32; 6];
        let texts = [fields.digest, fields.mime, fields.method, fields.redirect];
        for (text, end) in texts.iter().zip(&mut ends[1..]) {
            self.text.extend_from_slice(escapes.undo(text, &mut buffer));
            *end = self.text.len() as u32;
        }
        self.text.extend_from_slice(record.url);
        ends[5] = self.text.len() as u32;
        self.sightings.push(Sighting {
            ends,
            status: number(fields.status).unwrap_or(NO_STATUS),
            time: time::parse(fields.time, fields.clock).unwrap_or(NO_TIME),
            size: number(fields.size).unwrap_or(NO_SIZE),
        });
    }

    fn observation(&self, sighting: u32) -> Observation<'_> {
        let Sighting { ends, status, time, size } = &self.sightings[sighting as usize];
        let text = |at: usize| &self.text[ends[at] as usize..ends[at + 1] as usize];
        let known = |at: usize| Some(text(at)).filter(|text| !text.is_empty());
        Observation {
            url: text(4),
            time: Some(*time).filter(|time| *time != NO_TIME),
            status: Some(*status).filter(|status| *status != NO_STATUS),
            size: Some(*size).filter(|size| *size != NO_SIZE),
            digest: known(0),
            mime: known(1),
            method: known(2),
            redirect: known(3),
        }
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
