//! Builds the lists that the benches run on.
//!
//! Every list has a recipe: a sample of `data/README.md`, or `undust::generate` with the seed named
//! here.

// Each bench is a crate of its own and uses a part of this.
#![allow(dead_code)]

use std::path::Path;

use criterion::Throughput;
use undust::bytes::{Lines, split_mix};
use undust::generate::{List, ListPlan};
use undust::limits::{BATCH_CHUNKS, CHUNK_BYTES};
use undust::{Fingerprint, FingerprintKey};

/// The seed of every generated list and of every drawn fingerprint.
pub(crate) const SEED: u64 = 1;

/// The key of the fingerprints. Fixed, so that every run has the same table in the same order.
pub(crate) const KEY: [u8; 16] = *b"undust-bench-key";

/// Records in a chunk of drawn fingerprints: about as many URLs as a chunk of a real list holds.
const CHUNK_RECORDS: usize = CHUNK_BYTES / 64;

/// A list of lines, each ended by a newline.
pub(crate) struct Corpus {
    /// The name of the list, for the bench's name.
    pub(crate) name: &'static str,
    /// The list.
    pub(crate) bytes: Vec<u8>,
}

impl Corpus {
    /// Generates a list of `lines` lines: seed [`SEED`], 17.5 % exact repetitions, 17.5 % variants.
    pub(crate) fn generated(lines: u64) -> Corpus {
        let bytes = generated(lines, usize::MAX);
        Corpus { name: "generated", bytes }
    }

    /// Generates the list of [`Corpus::generated`], as many whole lines of it as fit in `bytes`
    /// bytes.
    pub(crate) fn generated_bytes(bytes: usize) -> Corpus {
        Corpus { name: "generated", bytes: generated(bytes as u64, bytes) }
    }

    /// Reads `data/samples/reddit.txt`: links that people posted.
    pub(crate) fn reddit() -> Corpus {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/samples/reddit.txt");
        let bytes = std::fs::read(path).expect("the sample is part of the repository");
        Corpus { name: "reddit", bytes }
    }

    /// Reads the first `lines` lines of the list that the environment variable `UNDUST_LIST` names,
    /// if it does.
    pub(crate) fn given(lines: usize) -> Option<Corpus> {
        let path = std::env::var_os("UNDUST_LIST")?;
        let mut bytes = std::fs::read(&path)
            .unwrap_or_else(|error| panic!("UNDUST_LIST={}: {error}", path.to_string_lossy()));
        let mut ends = (1..=bytes.len()).filter(|end| bytes[end - 1] == b'\n');
        if let Some(end) = ends.nth(lines - 1) {
            bytes.truncate(end);
        }
        Some(Corpus { name: "given", bytes })
    }

    /// Returns the lines of the list.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines::new(&self.bytes, b'\n')
    }

    /// Returns how much the list is: all bytes, separators included, and all lines.
    pub(crate) fn throughput(&self) -> Throughput {
        let elements = self.lines().count() as u64;
        Throughput::ElementsAndBytes { elements, bytes: self.bytes.len() as u64 }
    }
}

fn generated(lines: u64, bytes_max: usize) -> Vec<u8> {
    let plan = ListPlan { lines, seed: SEED, ..ListPlan::default() };
    let mut list = List::new(&plan).expect("the plan is within the limits");
    let (mut bytes, mut line) = (Vec::new(), Vec::new());
    while list.next_line(&mut line).is_some() {
        if bytes.len() + line.len() + 1 > bytes_max {
            break;
        }
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    bytes
}

/// The fingerprints of a list, by batch and chunk, with the number of pages they stand for.
#[derive(Clone)]
pub(crate) struct Batches {
    /// Batches of chunks of fingerprints.
    pub(crate) batches: Vec<Vec<Vec<Fingerprint>>>,
    /// How many fingerprints.
    pub(crate) records: usize,
    /// How many different ones: counted while they were drawn, not by any set.
    pub(crate) pages: u64,
}

impl Batches {
    /// `records` fingerprints, of which 35 % repeat an earlier one, as in a generated list.
    ///
    /// Every page of the list so far is as likely to be repeated as any other, which is the worst
    /// case for the caches.
    pub(crate) fn drawn(records: usize) -> Batches {
        let key = FingerprintKey::from_bytes(KEY);
        let mut random = SEED;
        let mut pages = 0u64;
        let mut draw = || {
            let repeats = pages > 0 && split_mix::next(&mut random) % 100 < 35;
            let page = if repeats { split_mix::next(&mut random) % pages } else { pages };
            pages += u64::from(!repeats);
            key.fingerprint(&page.to_le_bytes())
        };
        let all: Vec<Fingerprint> = (0..records).map(|_| draw()).collect();
        let chunks: Vec<Vec<_>> = all.chunks(CHUNK_RECORDS).map(<[_]>::to_vec).collect();
        let batches = chunks.chunks(BATCH_CHUNKS).map(<[_]>::to_vec).collect();
        Batches { batches, records, pages }
    }
}
