//! What clusters keep in files if it does not fit in memory: fingerprints by partition, sorted
//! runs, and how they are resolved.

pub(super) mod extents;
pub(super) mod numbers;
pub(super) mod records;
pub(super) mod resolve;
pub(super) mod runs;
pub(super) mod sorted;
pub(super) mod spill;

pub(crate) use extents::damaged;
pub use numbers::{NumberLookup, Numbers};
pub use runs::{Merged, Runs};
pub use sorted::Sorted;
pub use spill::SpillFiles;
