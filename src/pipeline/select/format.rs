//! Formats and writes what was gathered: whole clusters, and the dropped lines.
//!
//! ```text
//! a thread of its own                           workers                   a thread of its own
//! clusters, or lines, in order --> batches of parts --> listings --> lister.rs --> ListingWriter
//! ```

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{self, SyncSender};

use super::SelectPlan;
use super::lister::{Ahead, Lister, list};
use super::members::{GatheredClusters, text_bytes};
use super::spellings::Spellings;
use crate::canonical::{Canonicalizer, Comparer, Comparison, Reason, Scratch};
use crate::cluster::{Cluster, OtherLine, Runs, Uncounted, WholeCluster};
use crate::error::{Error, Result};
use crate::input::Mapped;
use crate::pipeline::threads::crew::spawn;
use crate::pipeline::threads::pool::{Stage, try_each_partition};
use crate::pipeline::{Job, RunContext, temp};
use crate::record::without_no_host;
use crate::report::{Listed, ListedCluster, Listing, ListingWriter, Output};

/// Bytes of listings that a worker formats at once. Reason: some hundred lines, which take longer
/// than fetching the next part.
const PART_BYTES: u64 = 64 << 10;

/// Most parts of a batch. Reason: some for each of many workers.
const BATCH_PARTS: usize = 64;

/// Bytes of a row beside its texts, with the names of JSON members.
const ROW_BYTES: u64 = 80;

/// Up to this many spellings are searched one by one. Reason: most clusters have few.
const LISTED_SPELLINGS: usize = 8;

/// Bytes of memory that a spelling takes while those of a cluster are counted: in a list and in a
/// map that have room to grow, and are copied when they do.
const SPELLING_BYTES: u64 = 160;

/// How many rows ahead spellings are prefetched, and the members of clusters before that. Reason:
/// both are scattered in mapped files, and so some cache misses overlap.
const SPELLINGS_AHEAD: usize = 4;
const LIST_AHEAD: usize = 8;

/// A spelling, and how many lines have it.
type Spelling<'a> = (&'a [u8], u64);

/// What is formatted next.
enum Work<T> {
    /// Parts, each of which one worker formats.
    Together(Vec<Vec<T>>),
    /// An item that is too large to be formatted together with others.
    Alone(T),
}

/// Groups the items to be formatted, in order, into batches of parts for the workers.
struct Batches<T> {
    sender: SyncSender<Work<T>>,
    /// Most bytes of the listing of a batch, about, and of a part.
    bytes_max: u64,
    part_bytes: u64,
    parts: Vec<Vec<T>>,
    /// Bytes of the listings of all parts, and of the last one.
    bytes: u64,
    last_bytes: u64,
}

impl<T> Batches<T> {
    fn new(sender: SyncSender<Work<T>>, bytes_max: u64) -> Batches<T> {
        let part_bytes = (bytes_max / BATCH_PARTS as u64).clamp(1, PART_BYTES);
        Batches { sender, bytes_max, part_bytes, parts: Vec::new(), bytes: 0, last_bytes: 0 }
    }

    /// Adds an item whose listing takes about this many bytes. `false` if nobody takes it any more.
    fn push(&mut self, one: T, bytes: u64) -> bool {
        if bytes > self.bytes_max {
            return self.send_batch() && self.sender.send(Work::Alone(one)).is_ok();
        }
        let is_full = self.last_bytes >= self.part_bytes;
        let fits = self.bytes + bytes <= self.bytes_max;
        if (!fits || is_full && self.parts.len() == BATCH_PARTS) && !self.send_batch() {
            return false;
        }
        if self.parts.is_empty() || self.last_bytes >= self.part_bytes {
            self.parts.push(Vec::new());
            self.last_bytes = 0;
        }
        self.parts.last_mut().expect("there is one").push(one);
        self.bytes += bytes;
        self.last_bytes += bytes;
        true
    }

    /// Sends the parts to the workers. `false` if nobody takes them any more.
    fn send_batch(&mut self) -> bool {
        (self.bytes, self.last_bytes) = (0, 0);
        let parts = std::mem::take(&mut self.parts);
        parts.is_empty() || self.sender.send(Work::Together(parts)).is_ok()
    }
}

/// Formats items for a listing, on the workers.
trait ItemFormatter: Sync {
    type Item: Send + Sync;
    /// What each worker has for itself.
    type Scratch;

    fn new_scratch(&self) -> Self::Scratch;

    /// Appends the rows of `items` to `listing`.
    fn format_part(
        &self,
        items: &[Self::Item],
        scratch: &mut Self::Scratch,
        listing: &mut Listing,
    ) -> Result<()>;

    /// Writes the rows of an item that is too large to be formatted together with others.
    fn write_alone(&self, item: &Self::Item, lister: &Lister) -> Result<()>;
}

/// Writes to `writer` the rows of all items that `gather` gives, in order. While the workers format
/// a batch, the next one is gathered on one thread, and the one before is written on another.
fn format_all<F: ItemFormatter>(
    RunContext { job, pool }: RunContext,
    writer: &mut ListingWriter,
    formatter: &F,
    gather: impl FnOnce(&mut Batches<F::Item>) -> Result<()> + Send,
) -> Result<()> {
    let bytes_max = batch_bytes(job);
    // As much may wait to be written as a batch has.
    let ahead = Ahead { parts: BATCH_PARTS, bytes: bytes_max, part_bytes: 2 * PART_BYTES as usize };
    list(pool, writer, ahead, |lister| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let gathering = spawn(scope, move || {
                let mut batches = Batches::new(sender, bytes_max);
                gather(&mut batches)?;
                batches.send_batch();
                Ok(())
            })?;
            for work in &receiver {
                let parts = match work {
                    Work::Together(parts) => parts,
                    Work::Alone(item) => {
                        formatter.write_alone(&item, lister)?;
                        continue;
                    }
                };
                let new_scratch = || formatter.new_scratch();
                let listings =
                    pool.map_with(Stage::Clustering, parts.len(), new_scratch, |scratch, at| {
                        let mut listing = lister.part();
                        formatter.format_part(&parts[at], scratch, &mut listing)?;
                        Ok(listing)
                    });
                listings.into_iter().try_for_each(|listing: Result<_>| lister.write(listing?))?;
            }
            drop(receiver);
            gathering.join().map_err(|_| Error::internal("the thread that gathers has panicked"))?
        })
    })
}

impl GatheredClusters {
    /// Writes the clusters that were wanted to `output`, if `plan` writes whole clusters, and the
    /// dropped lines to `dropped`.
    pub(super) fn write(
        mut self,
        run: RunContext,
        plan: &SelectPlan,
        output: &mut Output,
        dropped: Option<&mut Output>,
    ) -> Result<()> {
        if plan.writes_spellings() {
            self.write_clusters(run, plan, output)?;
        }
        match dropped {
            Some(dropped) => self.write_dropped(run, plan, dropped),
            None => Ok(()),
        }
    }

    /// Writes the clusters that were wanted, in the order of the lines that represent them.
    fn write_clusters(
        &mut self,
        run: RunContext,
        plan: &SelectPlan,
        output: &mut Output,
    ) -> Result<()> {
        let mut writer = plan.writer(run.job, Listed::Clusters, output)?;
        let formatter = ClusterFormatter {
            run,
            list: self.list.as_ref().map_or(&[], Mapped::bytes),
            spellings: &self.spellings,
            is_for_programs: plan.shape().is_some(),
        };
        let clusters = &mut self.clusters;
        format_all(run, &mut writer, &formatter, |batches| {
            let mut number = 0;
            while let Some(cluster) =
                clusters.next_cluster().map_err(|error| formatter.failed(error))?
            {
                number += 1;
                if !batches.push((number, cluster), formatter.bytes(cluster)) {
                    break;
                }
            }
            Ok(())
        })?;
        writer.finish()
    }

    /// Writes the dropped lines, in input order.
    fn write_dropped(
        &mut self,
        run: RunContext,
        plan: &SelectPlan,
        output: &mut Output,
    ) -> Result<()> {
        let folder = &run.job.memory.temp_dir;
        let mut writer = plan.writer(run.job, Listed::Dropped, output)?;
        let formatter =
            DroppedFormatter { canonicalizer: run.job.canonicalizer, spellings: &self.spellings };
        let others = &mut self.others;
        format_all(run, &mut writer, &formatter, |batches| {
            while let Some(other) =
                others.next_line().map_err(|error| temp::failed(folder, error))?
            {
                let texts = text_bytes(other.member.bytes) + text_bytes(other.standing.bytes);
                if !batches.push(other, ROW_BYTES + texts) {
                    break;
                }
            }
            Ok(())
        })?;
        writer.finish()
    }
}

/// Most bytes of the listing of a batch, about. Reason: one batch is formatted, as much waits to be
/// written or has been written and its memory is used again, and the items of up to three more
/// batches take up to two thirds of that each. Half of the memory for all of this is left for the
/// spellings of a large cluster while they are counted.
fn batch_bytes(job: &Job) -> u64 {
    job.budget().listing_bytes() / 8
}

/// Formats dropped lines, each with the line that represents its cluster.
struct DroppedFormatter<'a> {
    canonicalizer: &'a Canonicalizer,
    spellings: &'a Spellings,
}

impl<'a> ItemFormatter for DroppedFormatter<'a> {
    type Item = OtherLine;
    type Scratch = Comparer<'a>;

    fn new_scratch(&self) -> Comparer<'a> {
        self.canonicalizer.comparer()
    }

    fn format_part(
        &self,
        items: &[OtherLine],
        comparer: &mut Comparer<'a>,
        listing: &mut Listing,
    ) -> Result<()> {
        for (at, other) in items.iter().enumerate() {
            if let Some(ahead) = items.get(at + SPELLINGS_AHEAD) {
                self.spellings.prefetch(ahead.member);
                self.spellings.prefetch(ahead.standing);
            }
            self.format(*other, comparer, listing)?;
        }
        Ok(())
    }

    fn write_alone(&self, other: &OtherLine, lister: &Lister) -> Result<()> {
        let mut listing = lister.part();
        self.format(*other, &mut self.new_scratch(), &mut listing)?;
        lister.write(listing)
    }
}

impl DroppedFormatter<'_> {
    /// Appends the row of one dropped line.
    fn format(
        &self,
        OtherLine { member, standing }: OtherLine,
        comparer: &mut Comparer,
        listing: &mut Listing,
    ) -> Result<()> {
        let spellings = self.spellings;
        let (dropped, kept) = (spellings.get(member)?, spellings.get(standing)?);
        let dropped_url = spellings.url(member, dropped);
        let kept_url = spellings.url(standing, kept);
        let comparison = match comparer.compare(&dropped_url, &kept_url) {
            // The spellings differ only around their URLs, in what reading the line takes away.
            Comparison::Identical if dropped != kept => Comparison::Equal(Reason::default()),
            comparison => comparison,
        };
        let reason = comparison.reason().unwrap_or_default();
        let (line, kept_line) = (member.line + 1, standing.line + 1);
        listing.dropped(line, kept_line, &reason, dropped, kept);
        Ok(())
    }
}

/// Formats whole clusters, each with its number.
#[derive(Clone, Copy)]
struct ClusterFormatter<'a> {
    run: RunContext<'a>,
    /// The list of members that do not represent their cluster.
    list: &'a [u8],
    spellings: &'a Spellings,
    /// Do rows have the spelling that represents the cluster, and its canonical form?
    is_for_programs: bool,
}

impl ItemFormatter for ClusterFormatter<'_> {
    type Item = (u64, WholeCluster);
    type Scratch = Scratch;

    fn new_scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn format_part(
        &self,
        items: &[Self::Item],
        scratch: &mut Scratch,
        listing: &mut Listing,
    ) -> Result<()> {
        for (at, (number, cluster)) in items.iter().enumerate() {
            self.prefetch(items.get(at + LIST_AHEAD), items.get(at + SPELLINGS_AHEAD));
            self.format(*number, *cluster, scratch, listing)?;
        }
        Ok(())
    }

    #[cold]
    fn write_alone(&self, (number, cluster): &Self::Item, lister: &Lister) -> Result<()> {
        let standing = self.spellings.get(cluster.standing)?;
        let url = self.spellings.url(cluster.standing, standing);
        let mut scratch = Scratch::default();
        let listed = self.listed(*number, standing, &url, &mut scratch);
        let mut listing = lister.part();
        let mut write = |spelling: &[u8], lines: u64| {
            listing.spelling(&listed, spelling, lines);
            if (listing.bytes() as u64) < PART_BYTES {
                return Ok(());
            }
            lister.write(std::mem::replace(&mut listing, lister.part()))
        };
        let spellings_max = self.run.job.budget().listing_bytes() / 2 / SPELLING_BYTES;
        let spellings_max = usize::try_from(spellings_max).unwrap_or(usize::MAX);
        match self.counted(*cluster, standing, spellings_max)? {
            Some(counted) => {
                counted.into_iter().try_for_each(|(text, lines)| write(text, lines))?
            }
            None => self.count_in_files(*cluster, write)?,
        }
        lister.write(listing)
    }
}

impl<'a> ClusterFormatter<'a> {
    /// Bytes that the rows of `cluster` take, about, and its spellings while they are counted.
    fn bytes(&self, cluster: WholeCluster) -> u64 {
        let standing = text_bytes(cluster.standing.bytes);
        let repeated = if self.is_for_programs { 2 * standing } else { 0 };
        let rows = (cluster.others + 1) * (ROW_BYTES + repeated);
        rows + standing + cluster.others_room
    }

    /// Prefetches what is formatted soon: the list of members of one cluster, and the spellings of
    /// another.
    fn prefetch(
        &self,
        list_of: Option<&(u64, WholeCluster)>,
        spellings_of: Option<&(u64, WholeCluster)>,
    ) {
        if let Some((_, cluster)) = list_of {
            cluster.prefetch_others(self.list);
        }
        if let Some((_, cluster)) = spellings_of {
            self.spellings.prefetch(cluster.standing);
            let others = cluster.others(self.list).into_iter().flatten();
            others.take(LISTED_SPELLINGS).for_each(|member| self.spellings.prefetch(member));
        }
    }

    /// Appends the rows of `cluster`.
    fn format(
        &self,
        number: u64,
        cluster: WholeCluster,
        scratch: &mut Scratch,
        listing: &mut Listing,
    ) -> Result<()> {
        let standing = self.spellings.get(cluster.standing)?;
        let url = self.spellings.url(cluster.standing, standing);
        let listed = self.listed(number, standing, &url, scratch);
        if cluster.others == 0 {
            listing.spelling(&listed, standing, 1);
            return Ok(());
        }
        let counted = self.counted(cluster, standing, usize::MAX)?.into_iter().flatten();
        counted.for_each(|(spelling, lines)| listing.spelling(&listed, spelling, lines));
        Ok(())
    }

    /// What the rows of a cluster have in common. `standing` is the spelling that represents it, of
    /// the URL `url`.
    fn listed<'b>(
        &self,
        number: u64,
        standing: &'b [u8],
        url: &'b [u8],
        scratch: &'b mut Scratch,
    ) -> ListedCluster<'b> {
        let canonical = match self.is_for_programs {
            true => without_no_host(self.run.job.canonicalizer.canonical(url, scratch).form),
            false => b"",
        };
        ListedCluster { number, representative: standing, canonical }
    }

    /// The spellings of a cluster and how many lines each has: first `standing`, that of the line
    /// that represents the cluster, then the others in the order of their first lines. `None` if
    /// there are more than `spellings_max`.
    fn counted(
        &self,
        cluster: WholeCluster,
        standing: &'a [u8],
        spellings_max: usize,
    ) -> Result<Option<Vec<Spelling<'a>>>> {
        let mut counted: Vec<Spelling> = vec![(standing, 1)];
        // Empty while there are so few that `counted` itself is searched.
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

    /// Writes the spellings of a cluster that has more of them than fit in memory: they are counted
    /// in files.
    #[cold]
    fn count_in_files(
        &self,
        cluster: WholeCluster,
        mut write: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let RunContext { job, .. } = self.run;
        let (folder, budget) = (&job.memory.temp_dir, job.budget());
        let failed = |error| self.failed(error);
        let uncounted = Uncounted::new(temp::open_some(folder)?, budget.spill_buffer_bytes());
        let others = cluster.others(self.list).map_err(failed)?;
        for (member, number) in std::iter::once(cluster.standing).chain(others).zip(0..) {
            let fingerprint = job.key.fingerprint(self.spellings.get(member)?);
            uncounted.add(fingerprint, number).map_err(failed)?;
        }
        uncounted.finish().map_err(failed)?;
        let spellings = Runs::new(temp::open(folder)?);
        let capacity = budget.sort_capacity(Uncounted::CLUSTER_BYTES);
        try_each_partition(self.run, |partition| {
            uncounted.resolve(partition, capacity, |_| true, &spellings).map(drop)
        })?;
        let mut spellings = spellings.merge(budget.merge_capacity(size_of::<Cluster>()));
        while let Some(spelling) = spellings.next_record().map_err(failed)? {
            let member = cluster.member(self.list, spelling.representative).map_err(failed)?;
            write(self.spellings.get(member)?, spelling.lines)?;
        }
        Ok(())
    }

    #[cold]
    fn failed(&self, error: io::Error) -> Error {
        temp::failed(&self.run.job.memory.temp_dir, error)
    }
}
