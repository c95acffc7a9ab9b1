//! From arguments to plans: what the flags and files mean together.
//!
//! A file for each subject: `input.rs` (what is read), `profile.rs` (which rules are applied),
//! `files.rs` (the small files from which profiles are made). How a job is run is here. Nothing is
//! said here: what people should know of a plan comes with it (`noted.rs`).

mod files;
mod input;
mod noted;
mod profile;

pub(super) use files::rule_file;
pub(super) use input::base_url;
pub(super) use noted::Noted;

use super::args::{RunArgs, SyncArgs};
use super::memory::{self, Amount};
use crate::pipeline::Memory;
use crate::report::{OutputThreads, Syncing};

impl SyncArgs {
    /// The `threads` that make results durable as asked for.
    pub(super) fn threads(&self, threads: OutputThreads) -> OutputThreads {
        if self.no_sync {
            OutputThreads { syncing: Syncing::LeftToSystem, ..threads }
        } else {
            threads
        }
    }
}

impl RunArgs {
    /// The memory budget, and the folder for what exceeds it.
    pub(super) fn memory(&self) -> Memory {
        Memory {
            bytes: self.memory.map_or_else(memory::default_bytes, Amount::bytes),
            temp_dir: self.temp_dir.clone().unwrap_or_else(std::env::temp_dir),
        }
    }
}
