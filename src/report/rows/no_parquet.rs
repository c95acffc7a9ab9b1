//! In the place of `parquet.rs` in builds without the feature `parquet`: refuses.

use super::tables::Table;
use super::{Provenance, not_built};
use crate::error::Result;
use crate::report::{Cell, Output};

/// Uninhabited: this build cannot write Parquet.
pub(super) enum ColumnsFile {}

impl ColumnsFile {
    /// Failure: always.
    pub(super) fn new(_: &'static Table, _: &Provenance) -> Result<Self> {
        Err(not_built())
    }

    pub(super) fn row(&mut self, _: &[Cell], _: &mut Output) -> Result<()> {
        match *self {}
    }

    pub(super) fn finish(self, _: &mut Output) -> Result<()> {
        match self {}
    }
}
