//! How rows for programs are written, as flags ask for them.

use super::args::{ReportToArg, ToArg};
use crate::error::{Error, Result};
use crate::report::{RowFormat, Shape};

/// How rows are written, if they are asked for.
pub(super) fn shape(format: Option<RowFormat>, excel: bool) -> Result<Option<Shape>> {
    if excel && !matches!(format, Some(RowFormat::Tsv | RowFormat::Csv)) {
        return Err(Error::config(
            "--excel: guards what a spreadsheet opens; give --to csv or --to tsv with it",
        ));
    }
    Ok(format.map(|format| Shape { format, guards_formulas: excel }))
}

impl ToArg {
    pub(super) fn format(self) -> Option<RowFormat> {
        match self {
            ToArg::Text => None,
            ToArg::Tsv => Some(RowFormat::Tsv),
            ToArg::Csv => Some(RowFormat::Csv),
            ToArg::Jsonl => Some(RowFormat::Jsonl),
            ToArg::Parquet => Some(RowFormat::Parquet),
        }
    }
}

impl ReportToArg {
    pub(super) fn format(self) -> Option<RowFormat> {
        match self {
            ReportToArg::Text | ReportToArg::Json | ReportToArg::Html => None,
            ReportToArg::Tsv => Some(RowFormat::Tsv),
            ReportToArg::Csv => Some(RowFormat::Csv),
            ReportToArg::Jsonl => Some(RowFormat::Jsonl),
            ReportToArg::Parquet => Some(RowFormat::Parquet),
        }
    }
}
