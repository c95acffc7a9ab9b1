//! Threads that help to write results.

use crate::crew::Crew;

/// Threads for what is done beside the writing of results. Without any of them it is done by who
/// writes, or left to the system: the same bytes.
#[derive(Clone, Debug, Default)]
pub struct OutputThreads {
    /// The threads that pack zstd and gzip output.
    pub packers: Option<Crew>,
    /// When files are made durable.
    pub syncing: Syncing,
}

/// When the files of results are made durable, so that they outlive a crash of the machine.
#[derive(Clone, Debug, Default)]
pub enum Syncing {
    /// Before they get their names, all at once: after a crash there is the old file or the new
    /// one.
    #[default]
    AtEnd,
    /// Before they get their names, but most of it while they are written, by a thread that waits
    /// for the disk and takes no processor: after a crash there is the old file or the new one.
    Meanwhile(Crew),
    /// Some time later, when the system writes them: after a crash a file may be empty, or lack a
    /// part. Reason: disks that take longer for that than the run takes for all else.
    LeftToSystem,
}
