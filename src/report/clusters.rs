//! Clusters and dropped lines, as tab-separated rows.

use super::Output;
use crate::error::Result;

/// Writes clusters: a header, then `cluster`, `count`, `url` for every spelling. A cluster's first
/// row is its representative. The URL comes last and byte for byte, so a tab in it does no harm.
pub struct ClusterWriter<'a> {
    output: &'a mut Output,
    separator: u8,
    clusters: u64,
}

impl<'a> ClusterWriter<'a> {
    /// Starts with the header. Rows end with `separator`.
    pub fn new(output: &'a mut Output, separator: u8) -> Result<Self> {
        output.line(b"cluster\tcount\turl", separator)?;
        Ok(ClusterWriter { output, separator, clusters: 0 })
    }

    /// Writes one cluster: its spellings with their numbers of lines.
    pub fn cluster(&mut self, spellings: &[(Vec<u8>, u64)]) -> Result<()> {
        self.clusters += 1;
        for (url, count) in spellings {
            self.output.write(format!("{}\t{count}\t", self.clusters).as_bytes())?;
            self.output.line(url, self.separator)?;
        }
        Ok(())
    }
}

/// Writes dropped lines: a header, then `line`, `kept_line`, `rules`, `dropped`, `kept`. Tabs, line
/// breaks and backslashes inside the two URLs are written `\t`, `\n`, `\r`, `\\`.
pub struct DroppedWriter<'a> {
    output: &'a mut Output,
    separator: u8,
}

impl<'a> DroppedWriter<'a> {
    /// Starts with the header. Rows end with `separator`.
    pub fn new(output: &'a mut Output, separator: u8) -> Result<Self> {
        output.line(b"line\tkept_line\trules\tdropped\tkept", separator)?;
        Ok(DroppedWriter { output, separator })
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
        let mut row = format!("{line}\t{kept_line}\t{rules}\t").into_bytes();
        push_field(&mut row, dropped);
        row.push(b'\t');
        push_field(&mut row, kept);
        self.output.line(&row, self.separator)
    }
}

fn push_field(row: &mut Vec<u8>, field: &[u8]) {
    for byte in field {
        match byte {
            b'\t' => row.extend_from_slice(b"\\t"),
            b'\n' => row.extend_from_slice(b"\\n"),
            b'\r' => row.extend_from_slice(b"\\r"),
            b'\\' => row.extend_from_slice(b"\\\\"),
            byte => row.push(*byte),
        }
    }
}
