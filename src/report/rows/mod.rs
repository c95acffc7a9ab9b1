//! Rows with named columns, in the formats that other programs read.
//!
//! ```text
//! tsv    # undust 0.1.0 table=dropped profile=crawl@1 rules=0123456789abcdef
//!        line\tkept_line\trules\tdropped\tkept
//!        2\t1\tcase\tHTTP://A.test/\thttp://a.test/
//! csv    the same with commas and quotes, lines end in CR LF
//! jsonl  {"undust":"0.1.0","table":"dropped","profile":"crawl@1","rules":"01…ef","columns":[...]}
//!        {"line":2,"kept_line":1,"rules":"case","dropped":"HTTP://A.test/","kept":"…"}
//! ```
//!
//! Parquet is written by `parquet.rs`.
//!
//! The columns of each table are in `tables.rs`, and for people in `docs/outputs.md`.

pub(super) mod cells;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
pub mod tables;

pub use cells::Cell;

use std::fmt;

use super::Output;
use crate::canonical::Profile;
use crate::error::{Error, Result, Setting};
use cells::push_row;
use parquet::ColumnsFile;
use tables::Table;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowFormat {
    /// Values between tabs. A tab, line breaks and backslashes in them are `\t`, `\n`, `\r`, `\\`.
    Tsv,
    /// Values between commas (RFC 4180): in quotes where they need them, lines end in CR LF.
    Csv,
    /// A JSON object on each line (RFC 8259). Bytes that are not UTF-8 are percent-escaped; then
    /// the exact bytes are in a second field, in Base64 (RFC 4648), whose name ends in `_b64`.
    Jsonl,
    /// Apache Parquet, in builds with the feature `parquet`. Bytes that are not UTF-8 are
    /// percent-escaped; then the exact bytes are in a second column, whose name ends in `_raw`.
    Parquet,
}

impl RowFormat {
    /// How lines end.
    pub(super) fn line_end(self) -> &'static [u8] {
        match self {
            RowFormat::Csv => b"\r\n",
            RowFormat::Tsv | RowFormat::Jsonl | RowFormat::Parquet => b"\n",
        }
    }
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Their format.
    pub format: RowFormat,
    /// Writes an apostrophe before text that a spreadsheet would evaluate as a formula: text that
    /// starts with `=`, `+`, `-`, `@`, a tab or a carriage return. Not in JSON, which no
    /// spreadsheet opens.
    pub guards_formulas: bool,
}

impl Shape {
    /// Checks that such rows can be written, and to `output`, before anything is read for them.
    ///
    /// Failure: a configuration error for Parquet in a build without it, on a terminal, or into a
    /// name that asks for compression, which no reader of Parquet would undo.
    pub fn check(self, output: &Output) -> Result<()> {
        match self.format {
            RowFormat::Tsv | RowFormat::Csv | RowFormat::Jsonl => Ok(()),
            RowFormat::Parquet if !cfg!(feature = "parquet") => Err(not_built()),
            RowFormat::Parquet => output.check_binary(&format!("{} parquet", Setting::RowFormat)),
        }
    }
}

/// The error for Parquet in a build without it.
#[cold]
pub(super) fn not_built() -> Error {
    let to = Setting::RowFormat;
    Error::config(format!(
        "{to} parquet: this build cannot write Parquet; build it with `--features parquet`, or use {to} tsv, csv \
         or jsonl",
    ))
}

/// What made the rows; it is in the first line of each output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Name and version of the profile.
    pub profile: String,
    /// Digest of all that decides a canonical form: see [`Profile::digest`].
    pub rules: String,
}

impl Provenance {
    /// Of rows that are made under `profile`.
    pub fn of(profile: &Profile) -> Self {
        Provenance { profile: profile.title(), rules: profile.digest() }
    }
}

/// Writes the rows of one table. Without [`RowWriter::finish`] the end may be missing.
pub struct RowWriter<'a> {
    output: &'a mut Output,
    shape: Shape,
    table: &'static Table,
    row: Vec<u8>,
    /// The Parquet file, if it is one.
    columns: Option<Box<ColumnsFile>>,
}

impl fmt::Debug for RowWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowWriter { output, shape, .. } = self;
        f.debug_struct("RowWriter")
            .field("output", output)
            .field("shape", shape)
            .finish_non_exhaustive()
    }
}

impl<'a> RowWriter<'a> {
    /// Starts with what made the rows, and with the names of the columns.
    ///
    /// Failure: as [`Shape::check`].
    pub fn new(
        output: &'a mut Output,
        shape: Shape,
        table: &'static Table,
        made_by: &Provenance,
    ) -> Result<Self> {
        shape.check(output)?;
        let mut writer = RowWriter { output, shape, table, row: Vec::new(), columns: None };
        let Provenance { profile, rules } = made_by;
        let (version, name) = (env!("CARGO_PKG_VERSION"), table.name);
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let (comment, header) = match shape.format {
            RowFormat::Parquet => {
                writer.columns = Some(Box::new(ColumnsFile::new(table, made_by)?));
                return Ok(writer);
            }
            RowFormat::Jsonl => {
                let header = serde_json::json!({
                    "undust": version,
                    "table": name,
                    "profile": profile,
                    "rules": rules,
                    "columns": names,
                });
                (None, header.to_string())
            }
            format => {
                // Without commas, so that it is one field for readers that do not know comments.
                let comment =
                    format!("# undust {version} table={name} profile={profile} rules={rules}");
                (Some(comment), names.join(if format == RowFormat::Csv { "," } else { "\t" }))
            }
        };
        for line in comment.into_iter().chain([header]) {
            writer.output.write(line.as_bytes())?;
            writer.output.write(shape.format.line_end())?;
        }
        Ok(writer)
    }

    /// Writes one row. `cells` are as many as the table has columns, and of their kinds.
    pub fn row(&mut self, cells: &[Cell]) -> Result<()> {
        debug_assert_eq!(cells.len(), self.table.columns.len(), "{}", self.table.name);
        if let Some(columns) = &mut self.columns {
            return columns.row(cells, self.output);
        }
        self.row.clear();
        push_row(&mut self.row, self.shape, self.table, cells);
        self.output.write(&self.row)
    }

    /// Makes an empty part, for rows to be formatted.
    pub fn rows(&self) -> Rows {
        Rows { shape: self.shape, table: self.table, bytes: Vec::new(), cells: Vec::new() }
    }

    /// Writes `rows`, which are of this writer's table and shape.
    pub fn write(&mut self, rows: &Rows) -> Result<()> {
        let Some(columns) = &mut self.columns else { return self.output.write(&rows.bytes) };
        let mut start = 0;
        let mut cells = Vec::with_capacity(rows.table.columns.len());
        for row in rows.cells.chunks(rows.table.columns.len()) {
            cells.clear();
            cells.extend(row.iter().map(|cell| match *cell {
                Stored::Text(end) => {
                    Cell::Text(&rows.bytes[std::mem::replace(&mut start, end)..end])
                }
                Stored::Number(number) => Cell::Number(number),
                Stored::Null => Cell::Null,
            }));
            columns.row(&cells, self.output)?;
        }
        Ok(())
    }

    /// Flushes the rows that have been written so far, if a reader may be waiting for them.
    pub fn flush_if_streaming(&mut self) -> Result<()> {
        self.output.flush_if_streaming()
    }

    /// Writes what has to follow the last row. Does not publish the output.
    pub fn finish(self) -> Result<()> {
        self.columns.map_or(Ok(()), |columns| columns.finish(self.output))
    }
}

/// Rows that are formatted apart from the output, by any thread, and written by
/// [`RowWriter::write`].
#[derive(Clone, Debug)]
pub struct Rows {
    shape: Shape,
    table: &'static Table,
    /// The rows as they are written; for Parquet, which has them by column, the
    /// texts of their cells.
    bytes: Vec<u8>,
    /// For Parquet.
    cells: Vec<Stored>,
}

/// A cell whose text is elsewhere.
#[derive(Clone, Copy, Debug)]
enum Stored {
    /// From the end of the text before up to here.
    Text(usize),
    Number(u64),
    Null,
}

impl Rows {
    /// Adds one row. `cells` are as many as the table has columns, and of their kinds.
    pub fn row(&mut self, cells: &[Cell]) {
        debug_assert_eq!(cells.len(), self.table.columns.len(), "{}", self.table.name);
        if self.shape.format != RowFormat::Parquet {
            return push_row(&mut self.bytes, self.shape, self.table, cells);
        }
        for cell in cells {
            self.cells.push(match *cell {
                Cell::Text(text) => {
                    self.bytes.extend_from_slice(text);
                    Stored::Text(self.bytes.len())
                }
                Cell::Number(number) => Stored::Number(number),
                Cell::Null => Stored::Null,
            });
        }
    }

    /// Bytes of memory that the rows take.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.cells.len() * size_of::<Stored>()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.cells.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::tables::{Column, ColumnKind, DROPPED};
    use super::*;
    use crate::report::ClaimedPaths;

    static TABLE: Table = Table {
        name: "test",
        columns: &[
            Column { name: "url", kind: ColumnKind::Text, about: "" },
            Column { name: "count", kind: ColumnKind::Number, about: "" },
            Column { name: "note", kind: ColumnKind::Text, about: "" },
        ],
    };

    fn written(format: RowFormat, guards_formulas: bool, rows: &[[Cell; 3]]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut output = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
        let made_by = Provenance { profile: "crawl@1".into(), rules: "00ff".into() };
        let shape = Shape { format, guards_formulas };
        let mut writer = RowWriter::new(&mut output, shape, &TABLE, &made_by).unwrap();
        // One by one, and together.
        let (first, others) = rows.split_at(rows.len() / 2);
        first.iter().for_each(|row| writer.row(row).unwrap());
        let mut rows = writer.rows();
        others.iter().for_each(|row| rows.row(row));
        writer.write(&rows).unwrap();
        writer.finish().unwrap();
        output.publish().unwrap();
        String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
    }

    const ROWS: [[Cell; 3]; 3] = [
        [Cell::Text(b"http://a.test/"), Cell::Number(2), Cell::Null],
        [Cell::Text(b"a,b\t\"c\"\n\\"), Cell::Number(0), Cell::Text(b"=1+1")],
        [Cell::Text(b"#x"), Cell::Null, Cell::Text(b" y\r")],
    ];

    #[test]
    fn tsv() {
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            "# undust {version} table=test profile=crawl@1 rules=00ff\nurl\tcount\tnote\n\
             http://a.test/\t2\t\na,b\\t\"c\"\\n\\\\\t0\t=1+1\n#x\t\t y\\r\n"
        );
        assert_eq!(written(RowFormat::Tsv, false, &ROWS), expected);
        assert_eq!(written(RowFormat::Tsv, true, &ROWS), expected.replace("=1+1", "'=1+1"));
    }

    #[test]
    fn csv() {
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            "# undust {version} table=test profile=crawl@1 rules=00ff\r\nurl,count,note\r\n\
             http://a.test/,2,\r\n\"a,b\t\"\"c\"\"\n\\\",0,=1+1\r\n\"#x\",,\" y\r\"\r\n"
        );
        assert_eq!(written(RowFormat::Csv, false, &ROWS), expected);
        assert_eq!(written(RowFormat::Csv, true, &ROWS), expected.replace("=1+1", "'=1+1"));
        let guarded: String = ["=a", "+a", "-a", "@a", "\ta", "\ra", "a=", "'a", ""]
            .map(|text| {
                written(
                    RowFormat::Csv,
                    true,
                    &[[Cell::Text(text.as_bytes()), Cell::Null, Cell::Null]],
                )
            })
            .map(|text| text.split_once("note\r\n").unwrap().1.replace(",,\r\n", "|"))
            .concat();
        assert_eq!(guarded, "'=a|'+a|'-a|'@a|\"'\ta\"|\"'\ra\"|a=|'a||");
    }

    #[test]
    fn jsonl() {
        let rows =
            [ROWS[0], ROWS[1], [Cell::Text(b"http://a.test/\xff\xc3\xa9"), Cell::Null, Cell::Null]];
        let text = written(RowFormat::Jsonl, true, &rows);
        let values: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let expected = serde_json::json!([
            {
                "undust": env!("CARGO_PKG_VERSION"),
                "table": "test",
                "profile": "crawl@1",
                "rules": "00ff",
                "columns": ["url", "count", "note"],
            },
            { "url": "http://a.test/", "count": 2, "note": null },
            { "url": "a,b\t\"c\"\n\\", "count": 0, "note": "=1+1" },
            {
                "url": "http://a.test/%FF\u{e9}",
                "url_b64": "aHR0cDovL2EudGVzdC//w6k=",
                "count": null,
                "note": null,
            },
        ]);
        assert_eq!(serde_json::Value::from(values), expected);
    }

    #[test]
    fn made_by_tells_the_profile() {
        let profile = Profile::named("crawl").unwrap();
        let made_by = Provenance::of(&profile);
        assert_eq!(made_by.profile, "crawl@1");
        assert_eq!(made_by.rules, profile.digest());
        assert_eq!(DROPPED.columns.len(), 5);
    }
}
