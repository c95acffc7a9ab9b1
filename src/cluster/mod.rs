//! Groups of equal URLs: who was first, and how many there are. Knows fingerprints, never a URL.
//!
//! The way of a batch: `scatter` sorts the fingerprints of each chunk by partition; then every
//! partition is worked off by one thread, in the order of the chunks, in a table of its own. So no
//! lock is needed, and the answer is the same for any number of threads.

mod census;
mod scatter;
mod seen;
mod set;

pub use census::{Census, Cluster, Keep, Ladders, Levels, Occurrence, UNMERGED};
pub use scatter::{Marks, PARTITIONS, Scattered, partition_of};
pub use seen::{SeenHeader, read_seen, write_seen};
pub use set::ClusterSet;
