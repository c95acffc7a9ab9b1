//! The threads of a job: its workers, those beside them, and which of them all run at a time.

pub(super) mod background_writer;
pub(super) mod consumer;
pub(super) mod crew;
pub(super) mod permits;
pub(super) mod pool;

pub use crew::output_threads;
pub use pool::{Stage, StageSeconds};
