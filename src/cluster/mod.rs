//! Groups of equal URLs: who was first, and how many there are. Knows fingerprints, never a URL.
//!
//! The way of a batch: `scatter` sorts the fingerprints of each chunk by partition; then every
//! partition is worked off by one thread, in the order of the chunks, in a table of its own. So no
//! lock is needed, and the answer is the same for any number of threads.
//!
//! Past its part of a job's memory the set takes no more: what it does not know is spilled by
//! partition (`candidates`, `on_disk/spill`), and sorted out when all is read (`firsts`). So do a
//! census (`census/uncounted`) and the levels of a report (`levels/unplaced`).

mod candidates;
mod census;
mod fingerprint_map;
mod firsts;
mod gathered;
mod levels;
mod on_disk;
mod partitions;
mod scatter;
mod seen;
mod set;

pub use candidates::{Candidates, Ledger, PartitionRecords};
pub use census::{Census, Cluster, Keep, Occurrence, Settled, Uncounted, line_length};
pub use firsts::Firsts;
pub use gathered::{
    ChunkLines, Clusters, Gathered, Member, OtherLine, OtherLines, Wanted, WholeCluster,
};
pub use levels::Unplaced;
pub use levels::{Ladders, LaddersBuilder, Largest, Levels, PageTotals, Placed, Places, UNMERGED};
pub(crate) use on_disk::damaged;
pub use on_disk::{Merged, NumberLookup, Numbers, Runs, Sorted, SpillFiles};
pub use scatter::{Flags, KeepBitmap, PARTITIONS, Scattered, partition_of};
pub use seen::Seen;
pub use set::{ClusterSet, Outlook};
