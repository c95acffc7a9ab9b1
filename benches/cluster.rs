//! How fast first occurrences are found, by our set and by those that it was chosen over.
//!
//! Every set does the same job: fingerprints come in batches of chunks, and the records whose
//! fingerprint is new are marked. What differs:
//!
//! - `radix`, `radix-rayon`: ours. The marks are those of the first lines, for any number of
//!   threads.
//! - `hashbrown`: one table, one thread; the same marks.
//! - `dashmap-rayon`: all threads at once in a sharded table. As many marks, but which of two equal
//!   lines gets one depends on which thread came first.
//!
//! The rivals take the fingerprint as its own hash, which is the best that can be done for them. No
//! set is told how many records will come. Dropping the sets is not timed, nor is copying the
//! input.

mod corpus;

use std::hash::{BuildHasherDefault, Hasher};

use corpus::Batches;
use criterion::{BatchSize, Criterion, SamplingMode, Throughput};
use rayon::prelude::*;
use undust::Fingerprint;
use undust::cluster::{ClusterSet, Flags, KeepBitmap, PARTITIONS, Scattered};

/// Numbers of records: 65 % of them different, so tables of about 7 MB and 105 MB.
const SIZES: [(usize, &str); 2] = [(500_000, "500k"), (8_000_000, "8M")];

/// A set of fingerprints that grows batch by batch.
trait FirstSeen: Default {
    /// Marks the records of the batch whose fingerprint is new; returns how many.
    fn mark_batch(&mut self, chunks: Vec<Vec<Fingerprint>>) -> u64;
}

/// Ours, on one thread or on all.
#[derive(Default)]
struct Radix<const RAYON: bool>(ClusterSet);

impl<const RAYON: bool> FirstSeen for Radix<RAYON> {
    fn mark_batch(&mut self, chunks: Vec<Vec<Fingerprint>>) -> u64 {
        let scatter = |chunk: Vec<Fingerprint>| {
            let scattered = Scattered::new(&chunk);
            let flags = Flags::new(&scattered);
            (scattered, flags)
        };
        let count =
            |(scattered, flags): &(Scattered, Flags)| KeepBitmap::new(scattered, flags).count();
        if RAYON {
            let chunks: Vec<_> = chunks.into_par_iter().map(scatter).collect();
            (0..PARTITIONS)
                .into_par_iter()
                .for_each(|partition| self.0.mark_first(partition, &chunks, None));
            chunks.par_iter().map(count).sum()
        } else {
            let chunks: Vec<_> = chunks.into_iter().map(scatter).collect();
            (0..PARTITIONS).for_each(|partition| self.0.mark_first(partition, &chunks, None));
            chunks.iter().map(count).sum()
        }
    }
}

/// A fingerprint is its own hash.
#[derive(Default)]
struct OwnHash(u64);

impl Hasher for OwnHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only u128 keys are hashed")
    }
    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}

type Own = BuildHasherDefault<OwnHash>;

#[derive(Default)]
struct Hashbrown(hashbrown::HashSet<u128, Own>);

impl FirstSeen for Hashbrown {
    fn mark_batch(&mut self, chunks: Vec<Vec<Fingerprint>>) -> u64 {
        let mark = |chunk: &Vec<Fingerprint>| {
            let mut marks = vec![false; chunk.len()];
            for (mark, fingerprint) in marks.iter_mut().zip(chunk) {
                *mark = self.0.insert(fingerprint.0);
            }
            marks.iter().map(|mark| u64::from(*mark)).sum::<u64>()
        };
        chunks.iter().map(mark).sum()
    }
}

#[derive(Default)]
struct Dash(dashmap::DashSet<u128, Own>);

impl FirstSeen for Dash {
    fn mark_batch(&mut self, chunks: Vec<Vec<Fingerprint>>) -> u64 {
        let mark = |chunk: &Vec<Fingerprint>| {
            let mut marks = vec![false; chunk.len()];
            for (mark, fingerprint) in marks.iter_mut().zip(chunk) {
                *mark = self.0.insert(fingerprint.0);
            }
            marks.iter().map(|mark| u64::from(*mark)).sum::<u64>()
        };
        chunks.par_iter().map(mark).sum()
    }
}

fn bench<S: FirstSeen>(c: &mut Criterion, name: &str, size: &str, list: &Batches) {
    let mut group = c.benchmark_group("cluster");
    group.throughput(Throughput::ElementsAndBytes {
        elements: list.records as u64,
        bytes: (list.records * size_of::<Fingerprint>()) as u64,
    });
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.bench_function(format!("{name}/{size}"), |b| {
        b.iter_batched(
            || list.batches.clone(),
            |batches| {
                let mut set = S::default();
                let firsts: u64 = batches.into_iter().map(|batch| set.mark_batch(batch)).sum();
                assert_eq!(firsts, list.pages);
                set
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for (records, size) in SIZES {
        let list = Batches::drawn(records);
        bench::<Radix<false>>(&mut criterion, "radix", size, &list);
        bench::<Radix<true>>(&mut criterion, "radix-rayon", size, &list);
        bench::<Hashbrown>(&mut criterion, "hashbrown", size, &list);
        bench::<Dash>(&mut criterion, "dashmap-rayon", size, &list);
    }
    criterion.final_summary();
}
