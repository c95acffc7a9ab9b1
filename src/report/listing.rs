//! What `canon` and `dedup` list: canonical forms, kept lines, clusters, dropped lines; as lines
//! for people or as rows for programs.

use super::rows::cells::push_tsv;
use super::rows::tables::{CANONICAL, CLUSTERS, DROPPED, KEPT, Table};
use super::{Cell, Output, Provenance, RowWriter, Rows, Shape};
use crate::bytes::decimal::push_number;
use crate::error::Result;

/// Writes a listing.
///
/// - For people: lines that end with a separator, below a header for clusters and dropped lines.
/// - For programs: the rows of a table.
#[derive(Debug)]
pub struct ListingWriter<'a>(To<'a>);

/// Where a listing goes, and its form.
#[derive(Debug)]
enum To<'a> {
    /// With the separator.
    Lines(&'a mut Output, u8),
    Rows(RowWriter<'a>),
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The canonical form of each record; as lines, of each line.
    Canonical,
    /// The line that represents each cluster.
    Kept,
    /// Every spelling of each cluster.
    Clusters,
    /// The lines that are not kept.
    Dropped,
}

impl Listed {
    /// The table of its rows.
    fn table(self) -> &'static Table {
        match self {
            Listed::Canonical => &CANONICAL,
            Listed::Kept => &KEPT,
            Listed::Clusters => &CLUSTERS,
            Listed::Dropped => &DROPPED,
        }
    }

    /// What stands above the lines for people.
    fn header(self) -> Option<&'static [u8]> {
        match self {
            Listed::Canonical | Listed::Kept => None,
            Listed::Clusters => Some(b"cluster\tcount\turl"),
            Listed::Dropped => Some(b"line\tkept_line\trules\tdropped\tkept"),
        }
    }
}

impl<'a> ListingWriter<'a> {
    /// Starts with what stands above. For programs in this `shape`; for people without one, in
    /// lines that end with `separator`.
    ///
    /// Failure: as [`Shape::check`], or of writing.
    pub fn new(
        output: &'a mut Output,
        listed: Listed,
        separator: u8,
        shape: Option<Shape>,
        made_by: &Provenance,
    ) -> Result<Self> {
        if let Some(shape) = shape {
            let rows = RowWriter::new(output, shape, listed.table(), made_by)?;
            return Ok(ListingWriter(To::Rows(rows)));
        }
        listed.header().map_or(Ok(()), |header| output.write_line(header, separator))?;
        Ok(ListingWriter(To::Lines(output, separator)))
    }

    /// Makes an empty part, to be formatted by any thread.
    pub fn part(&self) -> Listing {
        match &self.0 {
            To::Lines(_, separator) => Listing::Lines(Vec::new(), *separator),
            To::Rows(writer) => Listing::Rows(writer.rows()),
        }
    }

    /// Writes `part`.
    pub fn write(&mut self, part: &Listing) -> Result<()> {
        match (&mut self.0, part) {
            (To::Lines(output, _), Listing::Lines(lines, _)) => output.write(lines),
            (To::Rows(writer), Listing::Rows(rows)) => writer.write(rows),
            _ => unreachable!("a part is written by the writer that has begun it"),
        }
    }

    /// Flushes what has been written so far, if a reader may be waiting for it.
    pub fn flush_if_streaming(&mut self) -> Result<()> {
        match &mut self.0 {
            To::Lines(output, _) => output.flush_if_streaming(),
            To::Rows(writer) => writer.flush_if_streaming(),
        }
    }

    /// Writes what has to follow the last part.
    pub fn finish(self) -> Result<()> {
        match self.0 {
            To::Lines(..) => Ok(()),
            To::Rows(writer) => writer.finish(),
        }
    }
}

/// A part of a listing, formatted apart from the output.
#[derive(Clone, Debug)]
pub enum Listing {
    /// For people: lines, each with its separator.
    Lines(Vec<u8>, u8),
    /// For programs.
    Rows(Rows),
}

/// What all rows of a cluster have in common.
#[derive(Clone, Copy, Debug)]
pub struct ListedCluster<'a> {
    /// From 1 on.
    pub number: u64,
    /// The spelling that represents it. For programs.
    pub representative: &'a [u8],
    /// Its canonical form. For programs.
    pub canonical: &'a [u8],
}

impl Listing {
    /// Adds a spelling of `cluster`, which `lines` lines have; the one that represents it comes
    /// first. For people `cluster`, `count`, `url`; the URL comes last and byte for byte, so a tab
    /// in it does no harm.
    pub fn spelling(&mut self, cluster: &ListedCluster, url: &[u8], lines: u64) {
        match self {
            Listing::Lines(out, separator) => {
                push_number(out, cluster.number);
                out.push(b'\t');
                push_number(out, lines);
                out.push(b'\t');
                out.extend_from_slice(url);
                out.push(*separator);
            }
            Listing::Rows(rows) => rows.row(&[
                Cell::Number(cluster.number),
                Cell::Number(lines),
                Cell::Text(url),
                Cell::Text(cluster.representative),
                Cell::Text(cluster.canonical),
            ]),
        }
    }

    /// Adds the dropped line `line`, for which `kept_line` stands; lines count from 1. For people
    /// tabs, line breaks and backslashes inside the two URLs are written `\t`, `\n`, `\r`, `\\`.
    pub fn dropped(&mut self, line: u64, kept_line: u64, rules: &str, dropped: &[u8], kept: &[u8]) {
        match self {
            Listing::Lines(out, separator) => {
                push_number(out, line);
                out.push(b'\t');
                push_number(out, kept_line);
                out.push(b'\t');
                out.extend_from_slice(rules.as_bytes());
                for url in [dropped, kept] {
                    out.push(b'\t');
                    push_tsv(out, url);
                }
                out.push(*separator);
            }
            Listing::Rows(rows) => rows.row(&[
                Cell::Number(line),
                Cell::Number(kept_line),
                Cell::Text(rules.as_bytes()),
                Cell::Text(dropped),
                Cell::Text(kept),
            ]),
        }
    }

    /// Bytes of memory that the part takes.
    pub fn bytes(&self) -> usize {
        match self {
            Listing::Lines(lines, _) => lines.len(),
            Listing::Rows(rows) => rows.memory_bytes(),
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        match self {
            Listing::Lines(lines, _) => lines.clear(),
            Listing::Rows(rows) => rows.clear(),
        }
    }
}
