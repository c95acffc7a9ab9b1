//! The threads of a job: its workers, those beside them, and which of them all run at a time.

pub(super) mod aside;
pub(super) mod crew;
pub(super) mod pool;
pub(super) mod relay;
pub(super) mod seats;

pub use crew::output_threads;
pub use pool::{Stage, StageSeconds};
