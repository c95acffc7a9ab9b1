//! Groups of equal URLs: first occurrences and counts. Knows fingerprints, never a URL.
//!
//! A batch is processed in two steps: `scatter` sorts the fingerprints of each chunk by partition;
//! then one thread processes each partition, in the order of the chunks, in a table of its own. So
//! no lock is needed, and the result is the same for any number of threads.
//!
//! When the set has used its part of a job's memory, it accepts no more fingerprints: those that it
//! does not know are spilled by partition (`candidates`, `on_disk/spill`), and resolved at the end
//! of the input (`firsts`). A census (`census/uncounted`) and the levels of a report
//! (`levels/unplaced`) do the same.

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
