//! Fingerprints the lines of a batch, and marks the first occurrence of each.

use super::Print;
use super::overflow::Overflow;
use super::texts::{Texts, TextsBuilder};
use crate::cluster::{ClusterSet, Flags, KeepBitmap, Outlook, Scattered};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::pipeline::scan::layouts::Parcel;
use crate::pipeline::scan::walk::{Worker, walk};
use crate::pipeline::scan::{Batch, BatchChunk};
use crate::pipeline::threads::pool::Stage;
use crate::pipeline::{Job, RunContext};
use crate::report::Tally;

/// What a worker makes of a chunk.
pub(super) struct Sifted {
    scattered: Scattered,
    /// Which of them are first occurrences; none is marked yet.
    flags: Flags,
    texts: Texts,
    tally: Tally,
}

impl Sifted {
    pub(super) fn new(fingerprints: &[Fingerprint], texts: Texts, tally: Tally) -> Sifted {
        let scattered = Scattered::new(fingerprints);
        Sifted { flags: Flags::new(&scattered), scattered, texts, tally }
    }
}

/// A chunk whose records are marked.
pub(super) struct MarkedChunk {
    pub(super) chunk: Parcel,
    pub(super) texts: Texts,
    pub(super) marks: KeepBitmap,
}

/// How many lines `chunk` has, and what a worker makes of them.
pub(super) fn sift(job: &Job, print: Print, chunk: &Parcel, worker: &mut Worker) -> (u64, Sifted) {
    let (bytes, print) = (chunk.bytes(), print.of(chunk));
    let mut fingerprints = Vec::with_capacity(bytes.len() / 64);
    if print == Print::Line {
        let mut texts_builder = TextsBuilder::new(bytes.len() / 64);
        let tally = walk(chunk, job, worker, |_, record, canonical| {
            fingerprints.push(job.key.fingerprint(canonical.form));
            texts_builder.push(bytes, record.line, job.input.separator);
        });
        if let Some(texts) = texts_builder.texts(chunk, tally.records == tally.lines) {
            return (tally.lines, Sifted::new(&fingerprints, texts, tally));
        }
        fingerprints.clear();
    }
    let mut starts = Vec::with_capacity(bytes.len() / 64);
    let mut own = Vec::with_capacity(bytes.len());
    let tally = walk(chunk, job, worker, |_, record, canonical| {
        fingerprints.push(job.key.fingerprint(canonical.form));
        starts.push(own.len() as u32);
        print.push(&record, || canonical, &mut own);
        own.push(job.input.separator);
    });
    let texts = Texts::own(own, starts);
    (tally.lines, Sifted::new(&fingerprints, texts, tally))
}

/// Up to this many records of a batch, one thread brings the marks into line order and copies what
/// is kept. Reason: waking other threads takes as long.
pub(super) const RECORDS_ALONE: u64 = 1 << 16;

/// Marks the records of a batch that are the first of their cluster, or with `overflow` those that
/// may be, and counts them.
pub(super) fn mark(
    run: RunContext,
    set: &ClusterSet,
    mut overflow: Option<&mut Overflow>,
    Batch { chunks: sifted, .. }: Batch<Sifted>,
    tally: &mut Tally,
) -> Result<Vec<MarkedChunk>> {
    let RunContext { job, pool } = run;
    let fraction_read = sifted.last().and_then(|chunk| chunk.parcel.fraction_read);
    let mut chunks = Vec::with_capacity(sifted.len());
    let mut pairs = Vec::with_capacity(sifted.len());
    for BatchChunk { parcel, made: sifted, .. } in sifted {
        job.add(tally, &sifted.tally)?;
        chunks.push((parcel, sifted.texts));
        pairs.push((sifted.scattered, sifted.flags));
    }
    let records = pairs.iter().map(|(scattered, _)| scattered.len() as u64).sum::<u64>();
    match &mut overflow {
        Some(overflow) => overflow.mark(run, set, &pairs)?,
        None => {
            let outlook = fraction_read.map(|fraction| {
                let rest = tally.records as f64 * (1.0 / fraction - 1.0);
                Outlook { records: rest as u64, bytes_max: job.table_bytes() }
            });
            pool.each_partition(|partition| set.mark_first(partition, &pairs, outlook));
        }
    }
    let in_line_order = |chunk: usize| KeepBitmap::new(&pairs[chunk].0, &pairs[chunk].1);
    let marks: Vec<KeepBitmap> = if records < RECORDS_ALONE {
        (0..pairs.len()).map(in_line_order).collect()
    } else {
        pool.map(Stage::Clustering, pairs.len(), in_line_order)
    };
    let marked = marks.iter().map(KeepBitmap::count).sum::<u64>();
    tally.duplicate += records - marked;
    match overflow {
        Some(overflow) => overflow.count += marked,
        None => tally.unique += marked,
    }
    let marked = chunks.into_iter().zip(marks).map(|((chunk, texts), marks)| MarkedChunk {
        chunk,
        texts,
        marks,
    });
    Ok(marked.collect())
}

impl MarkedChunk {
    /// Calls `write` with what is written for the marked records, whole runs of them at once.
    pub(super) fn each_kept<E>(
        &self,
        separator: u8,
        mut write: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let lines = self.texts.lines(&self.chunk);
        for part in self.marks.runs().flat_map(|run| lines.parts(run)) {
            let text = lines.of(&part);
            write(text)?;
            // The last line of a file may lack its separator.
            if text.last() != Some(&separator) {
                write(&[separator])?;
            }
        }
        Ok(())
    }

    /// Checks that the chunk did not change while it was read, and gives its memory back.
    ///
    /// Failure: an input error, if its mapped file was cut short.
    pub(super) fn verify_and_release(self) -> Result<()> {
        self.chunk.verify()?;
        self.chunk.release();
        Ok(())
    }
}
