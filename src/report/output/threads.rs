//! Threads that help to write results.

use crate::crew::Crew;

/// Threads for work beside the writing of results. Without them it is done by the thread that
/// writes, or left to the system; the bytes are the same.
#[derive(Clone, Debug, Default)]
pub struct OutputThreads {
    /// The threads that compress zstd and gzip output.
    pub compressors: Option<Crew>,
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
    /// Some time later, when the system writes them: after a crash a file may be empty or
    /// incomplete. For disks that take longer to sync than the rest of the run.
    LeftToSystem,
}
