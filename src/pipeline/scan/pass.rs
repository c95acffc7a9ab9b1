//! A pass over the input: what it is for, what it has read, and who is told how far it is.

use crate::error::{Error, Result};
use crate::input::{Input, InputPlan};
use crate::pipeline::InputFile;

/// Is told how far a job is.
pub trait ProgressListener: Sync {
    /// A pass over the input begins: `bytes` to be read from disk, if that is known.
    fn begin(&self, pass: &str, bytes: Option<u64>);
    /// So many bytes were read from disk, and so many lines worked off, in this pass.
    fn advance(&self, bytes: u64, lines: u64);
    /// The pass is over.
    fn end(&self);
}

/// Nobody.
pub struct NoProgress;

impl ProgressListener for NoProgress {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {}
}

/// Tells a listener how far a pass is, and that it is over when this is dropped.
pub(crate) struct PassProgress<'a>(&'a dyn ProgressListener);

impl<'a> PassProgress<'a> {
    /// The pass `name` over `bytes` begins.
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
    /// What is done, for people.
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

    /// Opens what `plan` says for this pass.
    pub(super) fn open(&self, plan: &InputPlan) -> Result<Input> {
        match self.first {
            None => Input::open(plan),
            Some(first) => Input::open_again(plan, first.files.iter().map(|file| &file.summary)),
        }
    }
}

/// What a pass has read.
#[derive(Debug, Default)]
pub(crate) struct WasRead {
    /// The files, but for those that were not opened yet when it had seen enough.
    pub(crate) files: Vec<InputFile>,
    /// How many there are in all.
    pub(crate) files_in_all: usize,
    /// How many lines they have.
    pub(crate) lines: u64,
}

/// The input is not what it was.
#[cold]
pub(crate) fn input_changed() -> Error {
    Error::input(
        "the input has changed between the first and the second reading; run again when nothing writes \
         to it",
    )
}
