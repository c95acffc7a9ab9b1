//! `learn`: what was seen of the URLs of each site, and the rules that are mined from it.
//!
//! ```text
//! chunk --walk--> Sightings of the chunk, by site --gathered in input order--> one site after the
//!                                                                   other --mine::Miner--> rules
//! ```

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

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

/// One record, with its texts in [`Gathered::text`].
#[derive(Debug)]
struct Sighting {
    url: Range<u32>,
    digest: Range<u32>,
    mime: Range<u32>,
    method: Range<u32>,
    redirect: Range<u32>,
    time: Option<i64>,
    size: Option<u64>,
    status: Option<u16>,
}

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
    // The same by host: it is cheaper to know a host than to find its site.
    let mut by_host: HashMap<Box<[u8]>, usize, ahash::RandomState> = HashMap::default();
    let mut has_hosts = true;
    let tally = walk(chunk, job, hand, |_, record, canonical| {
        if record.url.starts_with(NO_HOST) {
            has_hosts = false;
        }
        // What has no host has no site: `mailto:`, or what does not parse.
        let Some(host) = parts::host_of(canonical.form).filter(|host| !host.is_empty()) else {
            return;
        };
        let sighting = gathered.sightings.len() as u32;
        let number = by_host.get(host).copied().unwrap_or_else(|| {
            let site = site_of(host);
            let number = *numbers.entry(site.into()).or_insert_with(|| {
                gathered.sites.push((site.into(), Vec::new()));
                gathered.sites.len() - 1
            });
            by_host.insert(host.into(), number);
            number
        });
        gathered.sites[number].1.push(sighting);
        gathered.add(&record);
    });
    gathered.text.shrink_to_fit();
    (has_hosts.then_some(gathered), tally)
}

impl Gathered {
    fn add(&mut self, record: &Record) {
        let Fields { escapes, .. } = *record.fields;
        let mut buffer = Vec::new();
        let mut put = |text: &[u8]| {
            let start = self.text.len() as u32;
            self.text.extend_from_slice(escapes.undo(text, &mut buffer));
            start..self.text.len() as u32
        };
        let fields = record.fields;
        let (digest, mime) = (put(fields.digest), put(fields.mime));
        let (method, redirect) = (put(fields.method), put(fields.redirect));
        let start = self.text.len() as u32;
        self.text.extend_from_slice(record.url);
        self.sightings.push(Sighting {
            url: start..self.text.len() as u32,
            digest,
            mime,
            method,
            redirect,
            time: time::parse(fields.time, fields.clock),
            size: number(fields.size),
            status: number(fields.status),
        });
    }

    fn observation(&self, sighting: u32) -> Observation<'_> {
        let sighting = &self.sightings[sighting as usize];
        let text = |range: &Range<u32>| &self.text[range.start as usize..range.end as usize];
        let known = |range: &Range<u32>| Some(text(range)).filter(|text| !text.is_empty());
        Observation {
            url: text(&sighting.url),
            time: sighting.time,
            status: sighting.status,
            size: sighting.size,
            digest: known(&sighting.digest),
            mime: known(&sighting.mime),
            method: known(&sighting.method),
            redirect: known(&sighting.redirect),
        }
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
