//! Writes what was gathered: whole clusters, and the lines that were dropped.
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
use super::members::GatheredClusters;
use super::spellings::Spellings;
use crate::canonical::{Comparer, Comparison, Reason, Scratch};
use crate::cluster::{Cluster, OtherLine, Runs, Uncounted, WholeCluster};
use crate::error::{Error, Result};
use crate::input::Mapped;
use crate::pipeline::threads::crew::spawn;
use crate::pipeline::threads::pool::{Pool, Stage, try_each_partition};
use crate::pipeline::{Job, temp};
use crate::record::without_no_host;
use crate::report::{Listed, ListedCluster, Listing, ListingWriter, Output};

/// Bytes of listings that a worker puts together at once. Reason: some hundred lines, which take
/// longer than to ask for more.
const PART_BYTES: u64 = 64 << 10;

/// Most parts of a batch. Reason: some for each of many workers.
const BATCH_PARTS: usize = 64;

/// Bytes of a row beside the texts that it tells, with the names of JSON.
const ROW_BYTES: u64 = 80;

/// A text of more bytes is long.
const LONG_BYTES: u64 = 4 << 10;

/// Spellings that are looked through one by one. Reason: most clusters have few.
const LISTED_SPELLINGS: usize = 8;

/// Bytes of memory that a spelling takes while all of a cluster are counted: in a list and in a map
/// that have room to grow, and move when they do.
const SPELLING_BYTES: u64 = 160;

/// How many rows ahead spellings are prefetched, and the members of clusters before that. Reason:
/// both are scattered in mapped files, and so some cache misses overlap.
const SPELLINGS_AHEAD: usize = 4;
const LIST_AHEAD: usize = 8;

/// A spelling, and how many lines have it.
type Spelling<'a> = (&'a [u8], u64);

/// What is to be told next.
enum Work<T> {
    /// Parts, each by one worker.
    Together(Vec<Vec<T>>),
    /// One that is too large to be put together with others.
    Alone(T),
}

/// Gathers what is to be told, in order, for the workers.
struct Batches<T> {
    sender: SyncSender<Work<T>>,
    /// Most bytes of the listings of a batch, about, and of a part.
    bytes_max: u64,
    part_bytes: u64,
    parts: Vec<Vec<T>>,
    /// Of the parts, and of the last one.
    bytes: u64,
    last_bytes: u64,
}

impl<T> Batches<T> {
    fn new(sender: SyncSender<Work<T>>, bytes_max: u64) -> Batches<T> {
        let part_bytes = (bytes_max / BATCH_PARTS as u64).clamp(1, PART_BYTES);
        Batches { sender, bytes_max, part_bytes, parts: Vec::new(), bytes: 0, last_bytes: 0 }
    }

    /// Adds one whose listing takes so many bytes, about. `false` if nobody takes it any more.
    fn push(&mut self, one: T, bytes: u64) -> bool {
        if bytes > self.bytes_max {
            return self.pass_on() && self.sender.send(Work::Alone(one)).is_ok();
        }
        let is_full = self.last_bytes >= self.part_bytes;
        let fits = self.bytes + bytes <= self.bytes_max;
        if (!fits || is_full && self.parts.len() == BATCH_PARTS) && !self.pass_on() {
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

    /// Hands on what was gathered. `false` if nobody takes it any more.
    fn pass_on(&mut self) -> bool {
        (self.bytes, self.last_bytes) = (0, 0);
        let parts = std::mem::take(&mut self.parts);
        parts.is_empty() || self.sender.send(Work::Together(parts)).is_ok()
    }
}

/// Writes to `writer` what `each` puts together of all that `gather` gives, in order. While the
/// workers do so, more is gathered on one thread, and what they have done is written on another.
/// What is too large goes to `alone`.
fn tell_all<T: Send + Sync, W>(
    pool: &Pool,
    bytes_max: u64,
    writer: &mut ListingWriter,
    gather: impl FnOnce(&mut Batches<T>) -> Result<()> + Send,
    new_worker: impl Fn() -> W + Sync,
    each: impl Fn(&[T], &mut W, &mut Listing) -> Result<()> + Sync,
    alone: impl Fn(&T, &Lister) -> Result<()>,
) -> Result<()> {
    // As much may wait to be written as a batch has.
    let ahead = Ahead { parts: BATCH_PARTS, bytes: bytes_max, part_bytes: 2 * PART_BYTES as usize };
    list(pool, writer, ahead, |lister| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let gathering = spawn(scope, move || {
                let mut batches = Batches::new(sender, bytes_max);
                gather(&mut batches)?;
                batches.pass_on();
                Ok(())
            })?;
            for work in &receiver {
                let parts = match work {
                    Work::Together(parts) => parts,
                    Work::Alone(one) => {
                        alone(&one, lister)?;
                        continue;
                    }
                };
                let listings =
                    pool.map_with(Stage::Clustering, parts.len(), &new_worker, |worker, at| {
                        let mut listing = lister.part();
                        each(&parts[at], worker, &mut listing).map(|()| listing)
                    });
                listings.into_iter().try_for_each(|listing| lister.write(listing?))?;
            }
            drop(receiver);
            gathering.join().map_err(|_| Error::internal("the thread that gathers has panicked"))?
        })
    })
}

impl GatheredClusters {
    /// Writes the clusters that were wanted to `output`, if `plan` is to tell any, and the lines
    /// that were dropped to `dropped`.
    pub(super) fn write(
        mut self,
        job: &Job,
        pool: &Pool,
        plan: &SelectPlan,
        output: &mut Output,
        dropped: Option<&mut Output>,
    ) -> Result<()> {
        if plan.tells_spellings() {
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
        let mut writer = plan.writer(job, Listed::Clusters, output)?;
        let teller = Teller {
            job,
            list: self.list.as_ref().map_or(&[], Mapped::bytes),
            spellings: &self.spellings,
            is_for_programs: plan.shape().is_some(),
        };
        let clusters = &mut self.clusters;
        tell_all(
            pool,
            batch_bytes(job),
            &mut writer,
            |batches| {
                let mut number = 0;
                while let Some(cluster) =
                    clusters.next_cluster().map_err(|error| teller.failed(error))?
                {
                    number += 1;
                    if !batches.push((number, cluster), teller.bytes(cluster)) {
                        break;
                    }
                }
                Ok(())
            },
            Scratch::default,
            |part, scratch, listing| {
                for (at, (number, cluster)) in part.iter().enumerate() {
                    teller.prefetch(part.get(at + LIST_AHEAD), part.get(at + SPELLINGS_AHEAD));
                    teller.tell(*number, *cluster, scratch, listing)?;
                }
                Ok(())
            },
            |(number, cluster), lister| teller.tell_alone(pool, *number, *cluster, lister),
        )?;
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
        let mut writer = plan.writer(job, Listed::Dropped, output)?;
        let (others, spellings) = (&mut self.others, &self.spellings);
        let canonicalizer = job.canonicalizer;
        let tell = |&OtherLine { member, standing }: &OtherLine,
                    comparer: &mut Comparer,
                    listing: &mut Listing| {
            let (dropped, kept) = (spellings.get(member)?, spellings.get(standing)?);
            let dropped_url = spellings.url(member, dropped);
            let kept_url = spellings.url(standing, kept);
            let comparison = match comparer.compare(&dropped_url, &kept_url) {
                // What differs stands beside the URLs: reading the lines took it away.
                Comparison::Identical if dropped != kept => Comparison::Equal(Reason::default()),
                comparison => comparison,
            };
            let reason = comparison.reason().unwrap_or_default();
            let (line, kept_line) = (member.line + 1, standing.line + 1);
            listing.dropped(line, kept_line, &reason, dropped, kept);
            Ok(())
        };
        tell_all(
            pool,
            batch_bytes(job),
            &mut writer,
            |batches| {
                while let Some(other) =
                    others.next_line().map_err(|error| temp::failed(folder, error))?
                {
                    let texts = text_bytes(other.member.bytes) + text_bytes(other.standing.bytes);
                    if !batches.push(other, ROW_BYTES + texts) {
                        break;
                    }
                }
                Ok(())
            },
            || canonicalizer.comparer(),
            |part, comparer, listing| {
                for (at, other) in part.iter().enumerate() {
                    if let Some(ahead) = part.get(at + SPELLINGS_AHEAD) {
                        spellings.prefetch(ahead.member);
                        spellings.prefetch(ahead.standing);
                    }
                    tell(other, comparer, listing)?;
                }
                Ok(())
            },
            |other, lister| {
                let mut listing = lister.part();
                tell(other, &mut canonicalizer.comparer(), &mut listing)?;
                lister.write(listing)
            },
        )?;
        writer.finish()
    }
}

/// Most bytes of the listings of a batch, about. Reason: one is put together, as much waits to be
/// written, or has been and its memory is used again; and what up to three more are made of takes
/// up to two thirds of that each. Half of the memory that there is for all of it is left for the
/// spellings of a large cluster while they are counted.
fn batch_bytes(job: &Job) -> u64 {
    job.budget().told_bytes() / 8
}

/// Bytes that a text of so many may take in a row: as many, but in JSON up to six for one. Only
/// long ones could make a difference.
pub(super) fn text_bytes(bytes: u64) -> u64 {
    if bytes > LONG_BYTES { 6 * bytes } else { bytes }
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
    fn bytes(&self, cluster: WholeCluster) -> u64 {
        let standing = text_bytes(cluster.standing.bytes);
        let repeated = if self.is_for_programs { 2 * standing } else { 0 };
        let rows = (cluster.others + 1) * (ROW_BYTES + repeated);
        rows + standing + cluster.others_room
    }

    /// Asks for what will be told soon: the other members of one cluster, and the
    /// spellings of another.
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

    /// Puts the rows of `cluster` together.
    fn tell(
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

    /// Writes the rows of a cluster that is too large to be put together with others.
    #[cold]
    fn tell_alone(
        &self,
        pool: &Pool,
        number: u64,
        cluster: WholeCluster,
        lister: &Lister,
    ) -> Result<()> {
        let standing = self.spellings.get(cluster.standing)?;
        let url = self.spellings.url(cluster.standing, standing);
        let mut scratch = Scratch::default();
        let listed = self.listed(number, standing, &url, &mut scratch);
        let mut listing = lister.part();
        let mut write = |spelling: &[u8], lines: u64| {
            listing.spelling(&listed, spelling, lines);
            if (listing.bytes() as u64) < PART_BYTES {
                return Ok(());
            }
            lister.write(std::mem::replace(&mut listing, lister.part()))
        };
        let spellings_max = self.job.budget().told_bytes() / 2 / SPELLING_BYTES;
        let spellings_max = usize::try_from(spellings_max).unwrap_or(usize::MAX);
        match self.counted(cluster, standing, spellings_max)? {
            Some(counted) => {
                counted.into_iter().try_for_each(|(text, lines)| write(text, lines))?
            }
            None => self.count_in_files(pool, cluster, write)?,
        }
        lister.write(listing)
    }

    /// A cluster, as its rows tell it: `standing` is the spelling that stands for
    /// it, of the URL `url`.
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

    /// The spellings of a cluster and how many lines each has, in the order of their first
    /// lines but for `standing`, that of the line that stands for it; `None` if there are more
    /// than `spellings_max`.
    fn counted(
        &self,
        cluster: WholeCluster,
        standing: &'a [u8],
        spellings_max: usize,
    ) -> Result<Option<Vec<Spelling<'a>>>> {
        let mut counted: Vec<Spelling> = vec![(standing, 1)];
        // Empty while they are so few that `counted` itself is searched.
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
        cluster: WholeCluster,
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
        let capacity = budget.sort_capacity(Uncounted::CLUSTER_BYTES);
        try_each_partition(folder, pool, |partition| {
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
        temp::failed(&self.job.memory.temp_dir, error)
    }
}
