//! Clusters and dropped lines, as tab-separated rows for people or as rows for programs.

use super::rows::push_tsv;
use super::tables::{CLUSTERS, DROPPED};
use super::{Cell, Output, Provenance, RowWriter, Shape};
use crate::error::Result;

/// Writes clusters.
///
/// - For people: a header, then `cluster`, `count`, `url` for every spelling. A cluster's first row
///   is its representative. The URL comes last and byte for byte, so a tab in it does no harm.
/// - For programs: the table [`CLUSTERS`].
pub struct ClusterWriter<'a> {
    rows: Rows<'a>,
    clusters: u64,
    /// Of the cluster that is being written.
    representative: Vec<u8>,
    canonical: Vec<u8>,
}

/// Where rows go, and in which way.
enum Rows<'a> {
    /// Each ends with the separator.
    Plain(&'a mut Output, u8),
    Shaped(RowWriter<'a>),
}

impl<'a> ClusterWriter<'a> {
    /// Starts with the header. Rows end with `separator`.
    pub fn new(output: &'a mut Output, separator: u8) -> Result<Self> {
        output.line(b"cluster\tcount\turl", separator)?;
        Ok(Self::to(Rows::Plain(output, separator)))
    }

    /// Writes rows of `shape`.
    pub fn shaped(output: &'a mut Output, shape: Shape, made_by: &Provenance) -> Result<Self> {
        let rows = Rows::Shaped(RowWriter::new(output, shape, &CLUSTERS, made_by)?);
        Ok(Self::to(rows))
    }

    fn to(rows: Rows<'a>) -> Self {
        ClusterWriter { rows, clusters: 0, representative: Vec::new(), canonical: Vec::new() }
    }

    /// Begins a cluster: the spelling that stands for it, and its `canonical` form. Its spellings
    /// follow, this one first.
    pub fn begin(&mut self, representative: &[u8], canonical: &[u8]) {
        self.clusters += 1;
        self.representative.clear();
        self.representative.extend_from_slice(representative);
        self.canonical.clear();
        self.canonical.extend_from_slice(canonical);
    }

    /// Writes a spelling of the cluster, which so many lines have.
    pub fn spelling(&mut self, url: &[u8], lines: u64) -> Result<()> {
        match &mut self.rows {
            Rows::Plain(output, separator) => {
                output.write(format!("{}\t{lines}\t", self.clusters).as_bytes())?;
                output.line(url, *separator)
            }
            Rows::Shaped(writer) => writer.row(&[
                Cell::Number(self.clusters),
                Cell::Number(lines),
                Cell::Text(url),
                Cell::Text(&self.representative),
                Cell::Text(&self.canonical),
            ]),
        }
    }

    /// Writes what has to come behind the last row.
    pub fn finish(self) -> Result<()> {
        self.rows.finish()
    }
}

impl Rows<'_> {
    fn finish(self) -> Result<()> {
        match self {
            Rows::Plain(..) => Ok(()),
            Rows::Shaped(writer) => writer.finish(),
        }
    }
}

/// Writes dropped lines: a header, then `line`, `kept_line`, `rules`, `dropped`, `kept`. Tabs, line
/// breaks and backslashes inside the two URLs are written `\t`, `\n`, `\r`, `\\`. For programs: the
/// table [`DROPPED`].
pub struct DroppedWriter<'a> {
    rows: Rows<'a>,
}

impl<'a> DroppedWriter<'a> {
    /// Starts with the header. Rows end with `separator`.
    pub fn new(output: &'a mut Output, separator: u8) -> Result<Self> {
        output.line(b"line\tkept_line\trules\tdropped\tkept", separator)?;
        Ok(DroppedWriter { rows: Rows::Plain(output, separator) })
    }

    /// Writes rows of `shape`.
    pub fn shaped(output: &'a mut Output, shape: Shape, made_by: &Provenance) -> Result<Self> {
        Ok(DroppedWriter { rows: Rows::Shaped(RowWriter::new(output, shape, &DROPPED, made_by)?) })
    }

    /// Writes one row; lines count from 1.
    pub fn row(
        &mut self,
        line: u64,
        kept_line: u64,
        rules: &str,
        dropped: &[u8],
        kept: &[u8],
    ) -> Result<()> {
        match &mut self.rows {
            Rows::Plain(output, separator) => {
                let mut row = format!("{line}\t{kept_line}\t{rules}\t").into_bytes();
                push_tsv(&mut row, dropped);
                row.push(b'\t');
                push_tsv(&mut row, kept);
                output.line(&row, *separator)
            }
            Rows::Shaped(writer) => writer.row(&[
                Cell::Number(line),
                Cell::Number(kept_line),
                Cell::Text(rules.as_bytes()),
                Cell::Text(dropped),
                Cell::Text(kept),
            ]),
        }
    }

    /// Writes what has to come behind the last row.
    pub fn finish(self) -> Result<()> {
        self.rows.finish()
    }
}
