//! `learn`: gathers what was seen of the URLs of each site, and mines rules from it.
//!
//! ```text
//! chunk --walk--> sightings of the chunk, by site --gathered in input order--> one site after the
//!                                                                   other --mine::Miner--> rules
//! ```
//!
//! If the sightings do not fit in memory, they go to files, by shares of the sites, and one share
//! after the other is mined (`sightings.rs`). The rules are the same, since those of a site do not
//! depend on other sites.

mod evaluate;
mod learned_rules;
mod sightings;
mod url_words;

pub use evaluate::{Truth, evaluate};
pub use learned_rules::{BASE_PROFILE, LearnedRules};

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use super::scan::layouts::Parcel;
use super::scan::walk::{Worker, walk_with_fields};
use super::scan::{BatchChunk, Pass, Scan};
use super::threads::pool::{Pool, Stage};
use super::{InputFile, Job, Outcome, line_place};
use crate::bytes::show;
use crate::error::{Error, Result, Setting};
use crate::limits::URL_BYTES_MAX;
use crate::mine::{MinedSite, Miner, Observation, site_of};
use crate::parts;
use crate::record::NO_HOST;
use sightings::{ChunkSightings, ChunkSite, Load, SHARES, Shares};
use url_words::{WordCounter, WordCounts};

/// Chunks, and numbers of sightings in them.
type Places = Vec<(u32, u32)>;

/// Bytes that the tables of a site take for each of its records while it is mined. One
/// site of 97,901 records took about 415: most resident memory, less what was gathered and
/// the program itself.
const MINED_BYTES: u64 = 450;

/// Bytes that the tables of a site with long URLs take: a part for each of its records, and three
/// copies of their texts.
const MINED_BYTES_BESIDE_TEXT: u64 = 200;
const MINED_TEXTS: u64 = 3;

/// Copies of paths beside these, of paths that differ: spellings, templates. 2026-11-29: 60,000
/// made-up records with a path of 1,000 bytes each took 430 MB, with one of 50 bytes 75 MB.
const MINED_PATHS: u64 = 4;

/// Bytes that the tables of a site take whose URLs have many words: a part for each of its records,
/// for each parameter, and for each distinct word. 2026-11-27: 20,000 made-up records with 30
/// parameters took 55 MB if all had the same names, 105 MB with names of their own.
const MINED_BYTES_BESIDE_WORDS: u64 = 150;
const MINED_BYTES_OF_PARAM: u64 = 70;
const MINED_BYTES_OF_WORD: u64 = 85;

/// Bytes that the tables of a site with this many records take while it is mined.
fn mined_bytes(records: u64, text_bytes: u64, words: WordCounts) -> u64 {
    let by_text = records * MINED_BYTES_BESIDE_TEXT
        + text_bytes * MINED_TEXTS
        + words.path_bytes * MINED_PATHS;
    let by_words = records * MINED_BYTES_BESIDE_WORDS
        + text_bytes * MINED_TEXTS / 2
        + words.params * MINED_BYTES_OF_PARAM
        + words.distinct * MINED_BYTES_OF_WORD;
    by_text.max(by_words).max(records * MINED_BYTES)
}

/// What was learned.
#[derive(Debug)]
pub struct Learned {
    /// The sites with findings, in the order of their names.
    pub sites: Vec<MinedSite>,
    /// How many sites there were.
    pub sites_seen: u64,
    /// What the job has done.
    pub outcome: Outcome,
}

/// Mines the rules of every site in the job's input, in the order of the sites' names.
///
/// - Failure: an error for records without a host, since rules belong to a site; a limit error for
///   a site that alone is too large for the job's memory.
/// - Determinism: neither threads nor the order of the input change a rule.
pub fn learn(job: &Job, miner: &Miner) -> Result<Learned> {
    let pool = job.pool()?;
    let mut outcome = Outcome { compared: false, ..Outcome::begin(job) };
    let (gathered, files) = gather_all(job, miner, &pool, &mut outcome)?;
    outcome.tally.set_unique(outcome.tally.records);
    let mining = job.begin_pass("mining", None);
    let (mut sites, sites_seen) = gathered.mine(job, miner, &pool, &mut outcome)?;
    drop(mining);
    sites.sort_by(|a, b| a.site.cmp(&b.site));
    Ok(Learned { sites, sites_seen, outcome: outcome.end(files, &pool)? })
}

/// The sightings of all URLs: all in memory, or some in files and the rest in memory.
struct Gathered {
    chunks: Vec<ChunkSightings>,
    shares: Option<Shares>,
}

/// Reads the input, and puts its counts and the memory that it took into `outcome`.
fn gather_all(
    job: &Job,
    miner: &Miner,
    pool: &Pool,
    outcome: &mut Outcome,
) -> Result<(Gathered, Vec<InputFile>)> {
    let room = job.budget().sites_bytes();
    let is_base_profile = miner.has_profile_of(job.canonicalizer);
    let Outcome { tally, memory, .. } = outcome;
    let mut chunks: Vec<ChunkSightings> = Vec::new();
    let mut bytes = 0;
    let mut shares: Option<Shares> = None;
    let mut hostless_line = None;
    let read = Scan::new(job, pool, Pass::first("gathering")).with_pages().run(
        Worker::default,
        |worker, chunk| {
            let (gathered, counts) = gather(job, chunk, worker, is_base_profile);
            (counts.lines, (gathered, counts))
        },
        |batch| {
            for BatchChunk { first_line, made: (gathered, counts), .. } in batch.chunks {
                let gathered = match gathered {
                    Ok(gathered) => gathered,
                    Err(number) => {
                        hostless_line = Some(first_line + u64::from(number) + 1);
                        return Ok(ControlFlow::Break(()));
                    }
                };
                job.add(tally, &counts)?;
                bytes += gathered.memory_bytes();
                memory.table_bytes = memory.table_bytes.max(bytes);
                chunks.push(gathered);
                if bytes > room {
                    memory.spilled_after_lines.get_or_insert(batch.first_line);
                    let shares = match &mut shares {
                        Some(shares) => shares,
                        none => none.insert(Shares::new(job.memory.temp_dir.clone())?),
                    };
                    shares.spill(&chunks)?;
                    chunks.clear();
                    bytes = 0;
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    if let Some(line) = hostless_line {
        return Err(no_host(&line_place(&read.files, read.files_in_all, line)));
    }
    Ok((Gathered { chunks, shares }, read.files))
}

impl Gathered {
    /// Mines all sites, in no order, and counts them: all together if they fit, else share by
    /// share, as many sites of a share at a time as fit.
    fn mine(
        self,
        job: &Job,
        miner: &Miner,
        pool: &Pool,
        outcome: &mut Outcome,
    ) -> Result<(Vec<MinedSite>, u64)> {
        let Gathered { chunks, shares } = self;
        let mut sites = Vec::new();
        let all = Sites::of(&chunks);
        if shares.is_none() && all.has_room(job) {
            let sites_seen = all.sites.len() as u64;
            all.mine(miner, pool, &mut sites);
            return Ok((sites, sites_seen));
        }
        drop(all);
        let mut shares = match shares {
            Some(shares) => shares,
            None => Shares::new(job.memory.temp_dir.clone())?,
        };
        outcome.memory.spilled_after_lines.get_or_insert(outcome.tally.lines);
        shares.spill(&chunks)?;
        drop(chunks);
        outcome.memory.spilled_bytes = shares.spilled_bytes();
        let mut sites_seen = 0;
        for share in 0..SHARES {
            let loads = shares.loads(share)?;
            let mut left = &loads[..];
            while !left.is_empty() {
                let (fit, others) = left.split_at(how_many_fit(left, job)?);
                sites_seen += fit.len() as u64;
                Sites::of(&shares.read(share, fit)?).mine(miner, pool, &mut sites);
                left = others;
            }
        }
        Ok((sites, sites_seen))
    }
}

/// The sites of some chunks, the one with most sightings first, so that no worker is busy with a
/// large site at the end.
struct Sites<'a> {
    chunks: &'a [ChunkSightings],
    sites: Vec<(&'a [u8], Places, WordCounts)>,
}

impl<'a> Sites<'a> {
    fn of(chunks: &'a [ChunkSightings]) -> Sites<'a> {
        let mut sites: BTreeMap<&[u8], (Places, WordCounts)> = BTreeMap::new();
        for (number, chunk) in (0u32..).zip(chunks) {
            for ChunkSite { site, sightings, words } in &chunk.sites {
                let (places, all_words) = sites.entry(site).or_default();
                places.extend(sightings.iter().map(|sighting| (number, *sighting)));
                *all_words += *words;
            }
        }
        let sites = sites.into_iter().map(|(site, (places, words))| (site, places, words));
        let mut sites: Vec<_> = sites.collect();
        sites.sort_by_key(|(_, sightings, _)| std::cmp::Reverse(sightings.len()));
        Sites { chunks, sites }
    }

    /// Is there memory to mine them all: for their sightings, and for the tables of as many sites
    /// as there are workers?
    fn has_room(&self, job: &Job) -> bool {
        let (mut records, mut words) = (0, WordCounts::default());
        for (_, sightings, its_words) in self.sites.iter().take(job.workers()) {
            records += sightings.len() as u64;
            words += *its_words;
        }
        let gathered: u64 = self.chunks.iter().map(ChunkSightings::memory_bytes).sum();
        let text_bytes: u64 = self.chunks.iter().map(ChunkSightings::text_bytes).sum();
        gathered + mined_bytes(records, text_bytes, words) <= room_to_mine(job)
    }

    /// Mines the sites, and adds those with findings to `found`.
    fn mine(&self, miner: &Miner, pool: &Pool, found: &mut Vec<MinedSite>) {
        let mined = pool.map(Stage::Mining, self.sites.len(), |number| {
            let (site, sightings, _) = &self.sites[number];
            let observations: Vec<Observation> = sightings
                .iter()
                .map(|(chunk, sighting)| self.chunks[*chunk as usize].observation(*sighting))
                .collect();
            let rules = miner.mine(&String::from_utf8_lossy(site), &observations);
            // In a box, so that a site without findings takes only a pointer: there may be millions
            // of them.
            (!rules.is_empty()).then(|| Box::new(rules))
        });
        found.extend(mined.into_iter().flatten().map(|rules| *rules));
    }
}

/// Memory for sightings and for the tables of the miner. A twentieth is left to the rules, and to
/// the program.
fn room_to_mine(job: &Job) -> u64 {
    job.memory.bytes / 20 * 19
}

/// How many of `sites`, from the first on, fit in memory together while they are mined.
///
/// Failure: a limit error if the first alone does not fit.
fn how_many_fit(sites: &[Load], job: &Job) -> Result<usize> {
    let mut bytes = 0;
    let fit = sites.iter().enumerate().take_while(|(number, site)| {
        // Those with most records come first, so that no later one takes larger tables.
        let is_at_once = *number < job.workers();
        let tables = if is_at_once { tables_bytes(site) } else { 0 };
        bytes += site.memory_bytes() + tables;
        bytes <= room_to_mine(job)
    });
    match (fit.count(), sites.first()) {
        (0, Some(largest)) => Err(too_large(largest, job)),
        (count, _) => Ok(count),
    }
}

/// Bytes that the tables of `site` take while it is mined.
fn tables_bytes(site: &Load) -> u64 {
    mined_bytes(site.records, site.text_bytes, site.words)
}

/// The error for a site that does not fit: all its records have to be in memory together.
#[cold]
fn too_large(site: &Load, job: &Job) -> Error {
    let bytes = site.memory_bytes() + tables_bytes(site);
    Error::limit(format!(
        "learn holds all records of a site in memory; {} has {}, which take about {} MiB: too much for a \
         memory of {} MiB; raise {}, or leave the site out ({})",
        show(&site.site),
        site.records,
        bytes >> 20,
        job.memory.bytes >> 20,
        Setting::Memory,
        Setting::Exclude,
    ))
}

#[cold]
fn no_host(place: &str) -> Error {
    Error::config(format!(
        "{place}: names no host, and rules belong to a site; say which it is, as in {} \
         https://example.com",
        Setting::BaseUrl
    ))
}

/// Returns the sightings in `chunk`; or, if a record has no host, the number of its line in the
/// chunk, from 0. Canonical forms are kept if they are those of the miner's profile.
fn gather(
    job: &Job,
    chunk: &Parcel,
    worker: &mut Worker,
    is_base_profile: bool,
) -> (Result<ChunkSightings, u32>, crate::report::Tally) {
    let mut gathered = ChunkSightings::with_room(chunk.bytes().len());
    let mut numbers: HashMap<Box<[u8]>, usize, ahash::RandomState> = HashMap::default();
    // The site is cached by the start of the URL, which is cheaper to compare than to find the
    // site.
    let mut by_start: HashMap<Box<[u8]>, Option<usize>, ahash::RandomState> = HashMap::default();
    let mut words = WordCounter::default();
    let mut hostless = None;
    let tally = walk_with_fields(chunk, job, worker, |line, record, canonical| {
        if record.url.starts_with(NO_HOST) {
            hostless.get_or_insert(line);
        }
        let start = start_of(canonical.form);
        let number = by_start.get(start).copied().unwrap_or_else(|| {
            // A URL without a host has no site: `mailto:`, or one that does not parse.
            let host = parts::host_of(canonical.form).filter(|host| !host.is_empty());
            let number = host.map(|host| {
                let site = site_of(host);
                *numbers.entry(site.into()).or_insert_with(|| gathered.site(site))
            });
            by_start.insert(start.into(), number);
            number
        });
        let Some(number) = number else { return };
        let is_known = is_base_profile && canonical.reject.is_none();
        let is_known = is_known && record.url.len() <= URL_BYTES_MAX;
        gathered.sites[number].words += words.count(number, canonical.form);
        gathered.add(number, &record, is_known.then_some(canonical.form));
    });
    gathered.trim();
    (hostless.map_or(Ok(gathered), Err), tally)
}

/// A URL up to the slash after its host, which identifies the host; all of it if there is none.
fn start_of(form: &[u8]) -> &[u8] {
    let authority_start = match form {
        [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
        _ => return form,
    };
    let end = memchr::memchr(b'/', &form[authority_start..]);
    end.map_or(form, |end| &form[..authority_start + end])
}
