//! A pass over the input: its purpose, its progress, and what it has read.

use crate::error::{Error, Result};
use crate::input::{Input, InputPlan};
use crate::pipeline::InputFile;
use crate::pipeline::spool::refuse_streams;

/// Receives the progress of a job: on the thread that has called it, after every batch, some 100 MB
/// at most. Most jobs make one or two passes, and one more over temporary files where memory was
/// too small.
pub trait ProgressListener: Sync {
    /// A pass begins: what it is for, for people, in words that may change; and how many bytes it
    /// reads from disk, if that is known.
    fn begin(&self, pass: &str, bytes: Option<u64>);
    /// How many bytes were read from disk so far in this pass, and how many lines were processed.
    fn advance(&self, bytes: u64, lines: u64);
    /// The pass is over.
    fn end(&self);
}

/// Ignores all progress.
#[derive(Clone, Copy, Debug)]
pub struct NoProgress;

impl ProgressListener for NoProgress {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {}
}

/// Reports the progress of a pass to a listener, and its end when this is dropped.
pub(crate) struct PassProgress<'a>(&'a dyn ProgressListener);

impl<'a> PassProgress<'a> {
    /// Reports that the pass `name` over `bytes` begins.
    pub(crate) fn begin(
        listener: &'a dyn ProgressListener,
        name: &str,
        bytes: Option<u64>,
    ) -> Self {
        listener.begin(name, bytes);
        PassProgress(listener)
    }

    pub(crate) fn advance(&self, bytes: u64, lines: u64) {
        self.0.advance(bytes, lines);
    }
}

impl Drop for PassProgress<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A pass over the input.
pub(crate) struct Pass<'a> {
    /// What the pass does, for messages.
    pub(super) name: &'a str,
    /// What an earlier pass has read.
    pub(super) first: Option<&'a WasRead>,
}

impl<'a> Pass<'a> {
    /// Makes the first pass over the input.
    pub(crate) fn first(name: &'a str) -> Self {
        Pass { name, first: None }
    }

    /// Makes another pass over what the `first` has read: files that have grown are read up to the
    /// size they had, and anything else that has changed is an error.
    pub(crate) fn again(name: &'a str, first: &'a WasRead) -> Self {
        Pass { name, first: Some(first) }
    }

    /// Opens the inputs of `plan` for this pass.
    pub(super) fn open(&self, plan: &InputPlan) -> Result<Input> {
        match self.first {
            None => Input::open(plan),
            Some(first) => {
                refuse_streams(plan)?;
                Input::open_again(plan, first.files.iter().map(|file| &file.summary))
            }
        }
    }
}

/// What a pass has read.
#[derive(Debug, Default)]
pub(crate) struct WasRead {
    /// The files; without those that were not opened, if the pass ended early.
    pub(crate) files: Vec<InputFile>,
    /// How many files there are in all.
    pub(crate) files_in_all: usize,
    /// How many lines were read.
    pub(crate) lines: u64,
}

/// The error for an input that has changed since the first pass.
#[cold]
pub(crate) fn input_changed() -> Error {
    Error::input(
        "the input has changed between the first and the second reading; run again when nothing writes \
         to it",
    )
}
