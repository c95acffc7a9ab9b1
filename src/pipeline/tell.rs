//! Writes what was gathered: whole clusters, and the lines that were dropped.
//!
//! ```text
//! clusters, or lines, in order --> batch of parts --> listings, on the workers --> ListingWriter
//! ```

use std::collections::HashMap;
use std::io;

use super::members::Told;
use super::overflow::each_partition;
use super::pool::{Pool, Stage};
use super::select::{SelectPlan, made_by};
use super::spellings::Spellings;
use super::{Job, temp};
use crate::canonical::Scratch;
use crate::cluster::{Census, Keep, Member, Runs, Uncounted, Whole};
use crate::error::{Error, Result};
use crate::input::Mapped;
use crate::record::{full_url, without_no_host};
use crate::report::{Listed, ListedCluster, Listing, ListingWriter, Output};

/// Bytes of listings that a worker puts together at once. Reason: some hundred lines, which take
/// longer than to ask for more.
const PART_BYTES: u64 = 64 << 10;

/// Most parts of a batch. Reason: it is written while nothing else is done, so it should stay in the cache.
const BATCH_PARTS: u64 = 64;

/// Bytes of a row beside the texts that it tells.
const ROW_BYTES: u64 = 32;

/// Spellings that are looked through one by one. Reason: most clusters have few.
const LISTED_SPELLINGS: usize = 8;

/// Bytes of memory that a spelling takes while all of a cluster are counted: in a list and in a map that
/// have room to grow.
const SPELLING_BYTES: u64 = 100;

/// A spelling, and how many lines have it.
type Spelling<'a> = (&'a [u8], u64);

/// What is put together by one worker at a time, in order, up to a size.
struct Batch<T> {
    parts: Vec<Vec<T>>,
    part_bytes: u64,
    /// Of the last part.
    bytes: u64,
    parts_max: u64,
}

impl<T> Batch<T> {
    /// An empty one for listings of up to `bytes`, about.
    fn new(bytes: u64) -> Batch<T> {
        let part_bytes = (bytes / BATCH_PARTS).clamp(1, PART_BYTES);
        let parts_max = (bytes / part_bytes).clamp(1, BATCH_PARTS);
        Batch { parts: Vec::new(), part_bytes, bytes: part_bytes, parts_max }
    }

    /// Is there no room for more?
    fn is_full(&self) -> bool {
        self.parts.len() as u64 == self.parts_max && self.bytes >= self.part_bytes
    }

    /// Adds one that takes so many bytes, about.
    fn push(&mut self, one: T, bytes: u64) {
        if self.bytes >= self.part_bytes {
            self.parts.push(Vec::new());
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.parts.last_mut().expect("a full one is followed by a new one").push(one);
    }

    /// Writes what `each` puts together of every part, and leaves none.
    fn write(
        &mut self,
        pool: &Pool,
        writer: &mut ListingWriter,
        each: impl Fn(&mut Scratch, &[T], &mut Listing) -> Result<()> + Sync,
    ) -> Result<()>
    where
        T: Sync,
    {
        let (parts, empty) = (&self.parts, writer.part());
        let listings = pool.map(Stage::Clustering, parts.len(), Scratch::default, |scratch, at| {
            let mut listing = empty.clone();
            each(scratch, &parts[at], &mut listing).map(|()| listing)
        });
        for listing in listings {
            let listing = listing?;
            pool.time(Stage::Writing, || writer.write(&listing))?;
        }
        self.parts.clear();
        self.bytes = self.part_bytes;
        Ok(())
    }
}

impl Told {
    /// Writes the clusters that were wanted to `output`, if `plan` is to tell any, and the lines that were
    /// dropped to `dropped`.
    pub(super) fn write(
        mut self,
        job: &Job,
        pool: &Pool,
        plan: &SelectPlan,
        output: &mut Output,
        dropped: Option<&mut Output>,
    ) -> Result<()> {
        if plan.clusters {
            self.write_clusters(job, pool, plan, output)?;
        }
        match dropped {
            Some(dropped) => self.write_dropped(job, pool, plan, dropped),
            None => Ok(()),
        }
    }

    /// Writes the clusters that were wanted, by the line that stands for each.
    fn write_clusters(
        &mut self,
        job: &Job,
        pool: &Pool,
        plan: &SelectPlan,
        output: &mut Output,
    ) -> Result<()> {
        let folder = &job.memory.temp_dir;
        let made_by = made_by(job);
        let separator = job.input.separator;
        let mut writer =
            ListingWriter::new(output, Listed::Clusters, separator, plan.shape, &made_by)?;
        // Listings, spellings while they are counted, and what is written.
        let bytes_max = job.budget().told_bytes() / 4;
        let teller = Teller {
            job,
            list: self.list.as_ref().map_or(&[], Mapped::bytes),
            spellings: &self.spellings,
            is_for_programs: plan.shape.is_some(),
        };
        let mut batch = Batch::new(bytes_max);
        let each = |scratch: &mut Scratch, part: &[(u64, Whole)], listing: &mut Listing| {
            part.iter()
                .try_for_each(|(number, cluster)| teller.tell(*number, *cluster, scratch, listing))
        };
        let mut number = 0;
        while let Some(cluster) =
            self.clusters.next_cluster().map_err(|error| temp::failed(folder, error))?
        {
            number += 1;
            let bytes = teller.bytes(cluster);
            if bytes > bytes_max {
                batch.write(pool, &mut writer, each)?;
                teller.tell_alone(pool, number, cluster, &mut writer)?;
                continue;
            }
            batch.push((number, cluster), bytes);
            if batch.is_full() {
                batch.write(pool, &mut writer, each)?;
            }
        }
        batch.write(pool, &mut writer, each)?;
        writer.finish()
    }

    /// Writes the lines that were dropped, in input order.
    fn write_dropped(
        &mut self,
        job: &Job,
        pool: &Pool,
        plan: &SelectPlan,
        output: &mut Output,
    ) -> Result<()> {
        let folder = &job.memory.temp_dir;
        let made_by = made_by(job);
        let separator = job.input.separator;
        let mut writer =
            ListingWriter::new(output, Listed::Dropped, separator, plan.shape, &made_by)?;
        let spellings = &self.spellings;
        let each = |_: &mut Scratch, part: &[[Member; 2]], listing: &mut Listing| {
            part.iter().try_for_each(|[line, standing]| {
                let (dropped, kept) = (spellings.get(*line)?, spellings.get(*standing)?);
                let compared = job.canonicalizer.compare(&full_url(dropped), &full_url(kept));
                let (line, kept_line) = (line.line + 1, standing.line + 1);
                listing.dropped(line, kept_line, &compared.reason(), dropped, kept);
                Ok(())
            })
        };
        let mut batch = Batch::new(job.budget().told_bytes() / 4);
        while let Some([line, standing]) =
            self.others.next_line().map_err(|error| temp::failed(folder, error))?
        {
            batch.push([line, standing], ROW_BYTES + line.bytes + standing.bytes);
            if batch.is_full() {
                batch.write(pool, &mut writer, each)?;
            }
        }
        batch.write(pool, &mut writer, each)?;
        writer.finish()
    }
}

/// What it takes to tell a cluster.
#[derive(Clone, Copy)]
struct Teller<'a> {
    job: &'a Job<'a>,
    /// Of members.
    list: &'a [u8],
    spellings: &'a Spellings,
    /// Do rows have the spelling that stands for the cluster, and its canonical form?
    is_for_programs: bool,
}

impl<'a> Teller<'a> {
    /// Bytes that the rows of `cluster` take, about, and its spellings while they are counted.
    fn bytes(&self, cluster: Whole) -> u64 {
        let repeated = if self.is_for_programs { 2 * cluster.standing.bytes } else { 0 };
        let rows = (cluster.others + 1) * (ROW_BYTES + repeated);
        rows + cluster.standing.bytes + cluster.others_bytes
    }

    /// Puts the rows of `cluster` together.
    fn tell(
        &self,
        number: u64,
        cluster: Whole,
        scratch: &mut Scratch,
        listing: &mut Listing,
    ) -> Result<()> {
        let standing = self.spellings.get(cluster.standing)?;
        let url = full_url(standing);
        let listed = self.listed(number, standing, &url, scratch);
        if cluster.others == 0 {
            listing.spelling(&listed, standing, 1);
            return Ok(());
        }
        let counted = self.counted(cluster, standing, usize::MAX)?.into_iter().flatten();
        counted.for_each(|(spelling, lines)| listing.spelling(&listed, spelling, lines));
        Ok(())
    }

    /// Writes the rows of a cluster that is too large to be put together with others.
    #[cold]
    fn tell_alone(
        &self,
        pool: &Pool,
        number: u64,
        cluster: Whole,
        writer: &mut ListingWriter,
    ) -> Result<()> {
        let standing = self.spellings.get(cluster.standing)?;
        let (url, mut scratch) = (full_url(standing), Scratch::default());
        let listed = self.listed(number, standing, &url, &mut scratch);
        let mut listing = writer.part();
        let mut write = |spelling: &[u8], lines: u64| {
            listing.spelling(&listed, spelling, lines);
            writer.write(&listing)?;
            listing.clear();
            Ok(())
        };
        let spellings_max = self.job.budget().told_bytes() / SPELLING_BYTES;
        match self.counted(
            cluster,
            standing,
            usize::try_from(spellings_max).unwrap_or(usize::MAX),
        )? {
            Some(counted) => counted.into_iter().try_for_each(|(text, lines)| write(text, lines)),
            None => self.count_in_files(pool, cluster, write),
        }
    }

    /// A cluster, as its rows tell it: `standing` is the spelling that stands for it, of the URL `url`.
    fn listed<'b>(
        &self,
        number: u64,
        standing: &'b [u8],
        url: &'b [u8],
        scratch: &'b mut Scratch,
    ) -> ListedCluster<'b> {
        let canonical = match self.is_for_programs {
            true => without_no_host(self.job.canonicalizer.canonical(url, scratch).form),
            false => b"",
        };
        ListedCluster { number, representative: standing, canonical }
    }

    /// The spellings of a cluster and how many lines each has, in the order of their first lines but
    /// for `standing`, that of the line that stands for it; `None` if there are more than
    /// `spellings_max`.
    fn counted(
        &self,
        cluster: Whole,
        standing: &'a [u8],
        spellings_max: usize,
    ) -> Result<Option<Vec<Spelling<'a>>>> {
        let mut counted: Vec<Spelling> = vec![(standing, 1)];
        // Empty while they are few.
        let mut known: HashMap<&[u8], usize, ahash::RandomState> = HashMap::default();
        for member in cluster.others(self.list).map_err(|error| self.failed(error))? {
            let spelling = self.spellings.get(member)?;
            let at = match known.is_empty() {
                true => counted.iter().position(|(known, _)| *known == spelling),
                false => known.get(spelling).copied(),
            };
            if let Some(at) = at {
                counted[at].1 += 1;
                continue;
            }
            if counted.len() >= spellings_max {
                return Ok(None);
            }
            counted.push((spelling, 1));
            match known.is_empty() {
                true if counted.len() <= LISTED_SPELLINGS => {}
                true => known.extend(counted.iter().map(|(known, _)| *known).zip(0..)),
                false => drop(known.insert(spelling, counted.len() - 1)),
            }
        }
        Ok(Some(counted))
    }

    /// Writes the spellings of a cluster that has more of them than memory, counted in files.
    #[cold]
    fn count_in_files(
        &self,
        pool: &Pool,
        cluster: Whole,
        mut write: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let (folder, budget) = (&self.job.memory.temp_dir, self.job.budget());
        let failed = |error| self.failed(error);
        let uncounted = Uncounted::new(temp::open_some(folder)?, budget.spill_buffer_bytes());
        let others = cluster.others(self.list).map_err(failed)?;
        for (member, number) in std::iter::once(cluster.standing).chain(others).zip(0..) {
            let fingerprint = self.job.key.fingerprint(self.spellings.get(member)?);
            uncounted.add(fingerprint, number).map_err(failed)?;
        }
        uncounted.finish().map_err(failed)?;
        let spellings = Runs::new(temp::open(folder)?);
        let (none, capacity) = (Census::new(Keep::First), budget.sort_capacity(5 * 8));
        each_partition(folder, pool, |partition| {
            uncounted.resolve(&none, partition, capacity, |_| true, &spellings).map(drop)
        })?;
        let mut spellings = spellings.merge(budget.merge_capacity(2 * 8));
        while let Some([number, lines]) = spellings.peek().map_err(failed)? {
            spellings.next_if(number).map_err(failed)?;
            let member = cluster.member(self.list, number).map_err(failed)?;
            write(self.spellings.get(member)?, lines)?;
        }
        Ok(())
    }

    #[cold]
    fn failed(&self, error: io::Error) -> Error {
        temp::failed(&self.job.memory.temp_dir, error)
    }
}
