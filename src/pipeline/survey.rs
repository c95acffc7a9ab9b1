//! `report`: how much is duplicate, on which hosts, by which rules.

use std::collections::{BTreeMap, HashMap};

use super::budget::too_many;
use super::pool::Pool;
use super::scan::{scan, scan_heavy};
use super::walk::{entries, walk};
use super::{Job, MemoryUse, Outcome};
use crate::canonical::{Canonicalizer, RuleId, Scratch};
use crate::cluster::{Census, Cluster, Keep, Ladders, Levels, Occurrence, Scattered, UNMERGED};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, FingerprintKey};
use crate::input::{Chunk, FileSummary};
use crate::parts;
use crate::record::{Entry, Format};
use crate::report::{ClusterRow, Example, HostRow, InputRow, LevelRow, SiteRuleRow, Survey, Tally};

type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// Levels before the first rule: the line as it is, and parsed.
const LEVELS_BEFORE_RULES: usize = 2;
/// Records shown for each step.
const EXAMPLES: usize = 3;
/// Records that are looked at for each step before its examples are good enough.
const LOOKS: u32 = 1000;
/// Spellings shown for each cluster.
const SPELLINGS: usize = 5;

/// What is known of each record while its batch is worked off: beside fingerprints and places its
/// host, and its forms at some levels.
const RECORD_BYTES: u64 = 300;

/// What a worker makes of a chunk.
struct Surveyed {
    tally: Tally,
    occurrence: Occurrence,
    ladders: Ladders,
    /// The hosts of the chunk, and which of them each record is on.
    hosts: Vec<Box<[u8]>>,
    host_of: Vec<u32>,
    /// How many records each level changed.
    changed: Vec<u64>,
    /// Records that rules of sites changed, and by which of them.
    fired: Vec<(u32, Vec<usize>)>,
}

/// Surveys the job's input. `top` rows of hosts and clusters are told. With clusters to be told,
/// the input is read twice, so its streams have to be spooled (see `spool.rs`).
pub fn survey(job: &Job, top: usize) -> Result<(Survey, Outcome)> {
    let pool = job.pool()?;
    let profile = job.canonicalizer.profile();
    let mut levels: Vec<LevelRow> = ["identical", "parse"]
        .into_iter()
        .chain(profile.rules.iter().map(|rule| rule.name()))
        .map(|name| LevelRow { name: name.to_string(), ..LevelRow::default() })
        .collect();
    let places = Levels::new(levels.len());
    let census = Census::new(Keep::First);
    let mut tally = Tally::default();
    let mut hosts: Map<Box<[u8]>, (u64, u64)> = Map::default();
    // By rule: how many records it changed, and how many of them merge by rules of sites.
    let mut site_rules: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    let mut host_bytes = 0;
    let table_bytes = job.budget().table_bytes();
    let work = |scratch: &mut Scratch, chunk: &Chunk| look_at(job, chunk, scratch, levels_of(job));
    let files =
        scan_heavy(job, &pool, "surveying", RECORD_BYTES, Scratch::default, work, |batch| {
            let clusters = census.memory_bytes_ahead() + places.memory_bytes_ahead();
            // The map of hosts may double.
            let bytes = clusters + 2 * host_bytes;
            if bytes > table_bytes {
                return Err(too_many(job, "report has", bytes));
            }
            let before = tally.lines;
            let mut batch = batch;
            for (_, chunk) in &mut batch {
                chunk.occurrence.first_line = tally.lines;
                tally.merge(&chunk.tally);
            }
            pool.share_partitions(
                || (),
                |(), partition| {
                    let chunks = || batch.iter().map(|(_, surveyed)| surveyed);
                    census.count(partition, chunks().map(|one| &one.occurrence));
                    places.place(
                        partition,
                        chunks().map(|one| (&one.occurrence.scattered, &one.ladders)),
                    );
                },
            );
            for (chunk, surveyed) in &batch {
                host_bytes += add_up(surveyed, &mut levels, &mut hosts);
                add_site_rules(surveyed, levels.len() - 1, &mut site_rules);
                find_examples(job, chunk, surveyed, &mut levels);
            }
            Ok(Some(tally.lines - before))
        })?;
    tally.unique = census.len();
    tally.duplicate = tally.records - census.len();
    tally.check()?;
    let hosts_total = hosts.len() as u64;
    let largest = census.largest(top);
    let clusters =
        if largest.is_empty() { Vec::new() } else { describe_clusters(job, &pool, &largest)? };
    let survey = Survey {
        profile: profile.clone(),
        tally: tally.clone(),
        input: files.iter().map(input_row).collect(),
        levels,
        site_rules: top_site_rules(job, site_rules, top),
        hosts: top_hosts(hosts, top),
        hosts_total,
        clusters,
    };
    let memory = MemoryUse { budget_bytes: job.memory.bytes, ..MemoryUse::default() };
    let stages = pool.seconds();
    Ok((survey, Outcome { tally, files, memory, stages }))
}

fn levels_of(job: &Job) -> usize {
    LEVELS_BEFORE_RULES + job.canonicalizer.profile().rules.len()
}

/// Reads one chunk: the fingerprints of its records at every level, and their hosts.
fn look_at(job: &Job, chunk: &Chunk, scratch: &mut Scratch, levels: usize) -> Surveyed {
    let (mut fingerprints, mut line_bytes, mut lines) = (vec![], vec![], vec![]);
    let (mut rungs, mut starts) = (vec![], vec![0u32]);
    let (mut hosts, mut host_of) = (vec![], vec![]);
    let mut numbers: Map<Box<[u8]>, u32> = Map::default();
    let mut changed = vec![0; levels];
    let mut fired = Vec::new();
    let tally = walk(chunk, job, scratch, |line, record, canonical| {
        let last = job.key.fingerprint(canonical.form);
        if canonical.form == record.line {
            rungs.push((0, last));
        } else {
            let rules = climb(
                job.canonicalizer,
                &job.key,
                record.line,
                record.url,
                &mut rungs,
                &mut changed,
            );
            if !rules.is_empty() {
                fired.push((fingerprints.len() as u32, rules));
            }
        }
        starts.push(u32::try_from(rungs.len()).unwrap_or(u32::MAX));
        fingerprints.push(last);
        line_bytes.push(u32::try_from(record.line.len()).unwrap_or(u32::MAX));
        lines.push(line);
        let host = parts::host_of(canonical.form).unwrap_or(b"");
        let number = numbers.get(host).copied().unwrap_or_else(|| {
            let number = hosts.len() as u32;
            hosts.push(Box::from(host));
            numbers.insert(host.into(), number);
            number
        });
        host_of.push(number);
    });
    let scattered = Scattered::new(&fingerprints);
    let occurrence = Occurrence { scattered, line_bytes, lines, first_line: 0 };
    let ladders = Ladders::new(rungs, starts);
    Surveyed { tally, occurrence, ladders, hosts, host_of, changed, fired }
}

/// The forms of one line at every level at which it changes. Returns the rules of its site that
/// changed it.
fn climb(
    canonicalizer: &Canonicalizer,
    key: &FingerprintKey,
    line: &[u8],
    url: &[u8],
    rungs: &mut Vec<(u8, Fingerprint)>,
    changed: &mut [u64],
) -> Vec<usize> {
    let mut rules = Vec::new();
    let mut step = |level: usize, form: &[u8]| {
        rungs.push((level as u8, key.fingerprint(form)));
        changed[level] += u64::from(level > 0);
    };
    step(0, line);
    match canonicalizer.trace(url) {
        Ok(trace) => {
            if trace.parsed != line {
                step(1, &trace.parsed);
            }
            for (level, form) in &trace.levels {
                step(LEVELS_BEFORE_RULES - 1 + level, form);
            }
            let mut before = &trace.parsed;
            for step in &trace.steps {
                if step.rule == RuleId::Dust {
                    rules.extend(canonicalizer.profile().options.dust.fired(before));
                }
                before = &step.after;
            }
            rules.sort_unstable();
            rules.dedup();
        }
        // Not parsed: the blanks at its end are all that can be taken away.
        Err(_) if url != line => step(1, url),
        Err(_) => {}
    }
    rules
}

/// Adds what the rules of sites did to a chunk's records. `last` is the level of rule `dust`, the
/// last of all.
fn add_site_rules(surveyed: &Surveyed, last: usize, sums: &mut BTreeMap<usize, (u64, u64)>) {
    for (record, rules) in &surveyed.fired {
        let is_merged = usize::from(surveyed.ladders.merged(*record)) == last;
        for rule in rules {
            let sum = sums.entry(*rule).or_default();
            sum.0 += 1;
            sum.1 += u64::from(is_merged);
        }
    }
}

fn top_site_rules(job: &Job, sums: BTreeMap<usize, (u64, u64)>, top: usize) -> Vec<SiteRuleRow> {
    let dust = &job.canonicalizer.profile().options.dust;
    let mut rows: Vec<SiteRuleRow> = sums
        .into_iter()
        .map(|(rule, (changed, merged))| SiteRuleRow {
            rule: rule + 1,
            title: dust.title(rule).unwrap_or_default().to_string(),
            changed,
            merged,
        })
        .collect();
    // Stable: of equal ones, the first in the file first.
    rows.sort_by_key(|row| std::cmp::Reverse((row.merged, row.changed)));
    rows.truncate(top);
    rows
}

/// Adds a chunk's records to the sums. Returns how many bytes of memory the hosts take that are new.
fn add_up(
    surveyed: &Surveyed,
    levels: &mut [LevelRow],
    hosts: &mut Map<Box<[u8]>, (u64, u64)>,
) -> u64 {
    let mut new_bytes = 0;
    let mut local = vec![(0u64, 0u64); surveyed.hosts.len()];
    for (record, host) in (0u32..).zip(&surveyed.host_of) {
        let merged = surveyed.ladders.merged(record);
        let counts = &mut local[*host as usize];
        counts.0 += 1;
        if merged != UNMERGED {
            counts.1 += 1;
            levels[usize::from(merged)].merged += 1;
        }
    }
    for (host, (records, duplicate)) in surveyed.hosts.iter().zip(local) {
        let counts = match hosts.get_mut(host) {
            Some(counts) => counts,
            None => {
                // A slot of the map, and the name as it lies in memory.
                new_bytes += 40 + host.len() as u64 + 16;
                hosts.entry(host.clone()).or_default()
            }
        };
        counts.0 += records;
        counts.1 += duplicate;
    }
    for (level, changed) in levels.iter_mut().zip(&surveyed.changed) {
        level.changed += changed;
    }
    new_bytes
}

/// Keeps the first records that merge at a step. Those that the step changed show more than those
/// that an earlier record was changed to, so they go first; after `LOOKS` records nothing better is
/// looked for.
fn find_examples(job: &Job, chunk: &Chunk, surveyed: &Surveyed, levels: &mut [LevelRow]) {
    let wanted = |levels: &[LevelRow], record: u32| {
        let level = usize::from(surveyed.ladders.merged(record));
        let row = levels.get(level)?;
        let changed = row.examples.iter().filter(|one| one.before != one.after).count();
        let enough = if level == 0 { row.examples.len() } else { changed };
        (enough < EXAMPLES && row.looks < LOOKS).then_some(level)
    };
    let records = surveyed.host_of.len() as u32;
    if !(0..records).any(|record| wanted(levels, record).is_some()) {
        return;
    }
    let mut record = 0;
    for (line, entry) in (surveyed.occurrence.first_line + 1..).zip(entries(chunk, job.reading())) {
        let Entry::Record(found) = entry else { continue };
        if let Some(level) = wanted(levels, record) {
            let (before, after) = forms_around(job.canonicalizer, found.line, found.url, level);
            let row = &mut levels[level];
            row.looks += 1;
            row.examples.push(Example { line, before, after });
            row.examples.sort_by_key(|one| one.before == one.after);
            row.examples.truncate(EXAMPLES);
        }
        record += 1;
    }
}

/// The forms of a line before and after `level`.
fn forms_around(
    canonicalizer: &Canonicalizer,
    line: &[u8],
    url: &[u8],
    level: usize,
) -> (Vec<u8>, Vec<u8>) {
    match (canonicalizer.trace(url), level) {
        (_, 0) => (line.to_vec(), line.to_vec()),
        (Ok(trace), 1) => (line.to_vec(), trace.parsed),
        (Ok(trace), level) => {
            let rule = level + 1 - LEVELS_BEFORE_RULES;
            (trace.at(rule - 1).to_vec(), trace.at(rule).to_vec())
        }
        (Err(_), _) => (line.to_vec(), url.to_vec()),
    }
}

fn top_hosts(hosts: Map<Box<[u8]>, (u64, u64)>, top: usize) -> Vec<HostRow> {
    let mut rows: Vec<HostRow> = hosts
        .into_iter()
        .map(|(host, (records, duplicate))| HostRow { host: host.into(), records, duplicate })
        .collect();
    rows.sort_unstable_by(|a, b| {
        (b.duplicate, b.records).cmp(&(a.duplicate, a.records)).then_with(|| a.host.cmp(&b.host))
    });
    rows.truncate(top);
    rows
}

fn input_row(file: &FileSummary) -> InputRow {
    InputRow {
        path: file.path.display().to_string(),
        format: Format::Lines.name().to_string(),
        compression: file.compression.name().to_string(),
        disk_bytes: file.disk_bytes,
        bytes: file.bytes,
    }
}

/// A line of a cluster that is told: its number in the chunk, the cluster's row, its text, and the
/// first time in a chunk the canonical form.
type Spelling = (u32, usize, Vec<u8>, Option<Vec<u8>>);

/// The second pass: the spellings of the largest clusters.
fn describe_clusters(
    job: &Job,
    pool: &Pool,
    largest: &[(Fingerprint, Cluster)],
) -> Result<Vec<ClusterRow>> {
    let wanted: Map<u128, usize> =
        largest.iter().enumerate().map(|(row, (fingerprint, _))| (fingerprint.0, row)).collect();
    let mut rows: Vec<ClusterRow> = largest
        .iter()
        .map(|(_, cluster)| ClusterRow {
            canonical: Vec::new(),
            lines: cluster.lines,
            spellings: Vec::new(),
            spellings_total: 0,
        })
        .collect();
    let mut counts: Vec<Map<Vec<u8>, (u64, u64)>> = vec![Map::default(); rows.len()];
    let mut line = 0;
    let mut bytes = 0;
    let work = |scratch: &mut Scratch, chunk: &Chunk| {
        let mut found: Vec<Spelling> = Vec::new();
        let mut has_form = vec![false; largest.len()];
        let tally = walk(chunk, job, scratch, |line, record, canonical| {
            let fingerprint = job.key.fingerprint(canonical.form);
            if let Some(row) = wanted.get(&fingerprint.0) {
                let form = (!has_form[*row]).then(|| canonical.form.to_vec());
                has_form[*row] = true;
                found.push((line, *row, record.line.to_vec(), form));
            }
        });
        (found, tally.lines)
    };
    scan(job, pool, "describing clusters", Scratch::default, work, |batch| {
        let before = line;
        for (_, (found, lines)) in batch {
            for (number, row, spelling, form) in found {
                if let (true, Some(form)) = (rows[row].canonical.is_empty(), form) {
                    rows[row].canonical = form;
                }
                let first = line + u64::from(number);
                let length = spelling.len() as u64;
                let count = counts[row].entry(spelling).or_insert((0, first));
                count.0 += 1;
                if count.0 == 1 {
                    // In a map that may double, and then in a list.
                    bytes += length + 16 + 150;
                }
            }
            line += lines;
        }
        if bytes > job.budget().told_bytes() {
            return Err(too_many(job, "report has", bytes));
        }
        Ok(Some(line - before))
    })?;
    for (row, counts) in rows.iter_mut().zip(counts) {
        let mut spellings: Vec<(Vec<u8>, (u64, u64))> = counts.into_iter().collect();
        row.spellings_total = spellings.len() as u64;
        spellings.sort_unstable_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
        spellings.truncate(SPELLINGS);
        row.spellings = spellings.into_iter().map(|(url, (count, _))| (url, count)).collect();
    }
    Ok(rows)
}
