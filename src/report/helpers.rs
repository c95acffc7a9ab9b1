//! Who helps to write results.

use crate::crew::Crew;

/// Threads for what is done beside the writing of results. Without any of them it is done by who
/// writes: the same bytes, later.
#[derive(Clone, Debug, Default)]
pub struct Helpers {
    /// They pack zstd output.
    pub packers: Option<Crew>,
    /// They wait for the disk, and take no processor.
    pub syncer: Option<Crew>,
}
