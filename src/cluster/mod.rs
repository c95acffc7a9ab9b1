//! Groups of equal URLs: who was first, and how many there are. Knows fingerprints, never a URL.
//!
//! The way of a batch: `scatter` sorts the fingerprints of each chunk by partition; then every
//! partition is worked off by one thread, in the order of the chunks, in a table of its own. So no
//! lock is needed, and the answer is the same for any number of threads.
//!
//! Past its part of a job's memory the set takes no more: what it does not know is spilled by
//! partition (`candidates`, `spill`), and sorted out when all is read (`firsts`, `numbers`;
//! `resolve`, `runs`). So do a census (`uncounted`) and the levels of a report (`unplaced`).

mod candidates;
mod census;
mod extents;
mod fingerprint_map;
mod firsts;
mod gathered;
mod ladder_records;
mod ladders;
mod levels;
mod numbers;
mod partitions;
mod places;
#[allow(unsafe_code)]
mod probe;
mod records;
mod resolve;
mod runs;
mod scatter;
mod seen;
mod seen_file;
mod set;
mod sorted;
mod spill;
mod table;
mod uncounted;
mod unplaced;

pub use candidates::{Candidates, Ledger, PartitionRecords};
pub use census::{Census, Cluster, Keep, Occurrence, Settled, line_length};
pub(crate) use extents::damaged;
pub use firsts::Firsts;
pub use gathered::{ChunkLines, Clusters, Gathered, Member, OtherLine, Others, Wanted, Whole};
pub use ladders::{Ladders, LaddersBuilder, Placed, UNMERGED};
pub use levels::{Largest, Levels};
pub use numbers::{Asked, Numbers};
pub use places::Places;
pub use runs::{Merged, Runs};
pub use scatter::{Flags, KeepBitmap, PARTITIONS, Scattered, partition_of};
pub use seen::Seen;
pub use set::ClusterSet;
pub use sorted::Sorted;
pub use spill::SpillFiles;
pub use table::Outlook;
pub use uncounted::Uncounted;
pub use unplaced::{Found, Unplaced};
