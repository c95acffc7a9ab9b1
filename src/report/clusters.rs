//! Clusters and dropped lines, as tab-separated rows.

use super::Output;
use crate::error::Result;

/// Writes clusters: a header, then `cluster`, `count`, `url` for every spelling. A cluster's first
/// row is its representative. The URL comes last and byte for byte, so a tab in it does no harm.
pub struct ClusterWriter<'a> {
    output: &'a mut Output,
    clusters: u64,
}

impl<'a> ClusterWriter<'a> {
    /// Starts with the header.
    pub fn new(output: &'a mut Output) -> Result<Self> {
        output.write(b"cluster\tcount\turl\n")?;
        Ok(ClusterWriter { output, clusters: 0 })
    }

    /// Writes one cluster: its spellings with their numbers of lines.
    pub fn cluster(&mut self, spellings: &[(Vec<u8>, u64)]) -> Result<()> {
        self.clusters += 1;
        for (url, count) in spellings {
            self.output.write(format!("{}\t{count}\t", self.clusters).as_bytes())?;
            self.output.line(url, b'\n')?;
        }
        Ok(())
    }
}

/// Writes dropped lines: a header, then `line`, `kept_line`, `rules`, `dropped`, `kept`. Tabs, line
/// breaks and backslashes inside the two URLs are written `\t`, `\n`, `\r`, `\\`.
pub struct DroppedWriter<'a>(&'a mut Output);

impl<'a> DroppedWriter<'a> {
    /// Starts with the header.
    pub fn new(output: &'a mut Output) -> Result<Self> {
        output.write(b"line\tkept_line\trules\tdropped\tkept\n")?;
        Ok(DroppedWriter(output))
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
        self.0.line(&row, b'\n')
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
