//! What the clusters keep in files where memory has no room: fingerprints by partition, sorted
//! runs, and what they come down to.

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
