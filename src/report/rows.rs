//! Rows with named columns, in the formats that other programs read.
//!
//! ```text
//! tsv    # undust 0.1.0 table=dropped profile=crawl@1 rules=0123456789abcdef
//!        line\tkept_line\trules\tdropped\tkept
//!        2\t1\tcase\tHTTP://A.test/\thttp://a.test/
//! csv    the same with commas and quotes, lines end in CR LF
//! jsonl  {"undust":"0.1.0","table":"dropped","profile":"crawl@1","rules":"0123456789abcdef","columns":[...]}
//!        {"line":2,"kept_line":1,"rules":"case","dropped":"HTTP://A.test/","kept":"http://a.test/"}
//! ```
//!
//! Parquet is written by `columns.rs`.
//!
//! What each table holds is told in `tables.rs`, and for people in `docs/outputs.md`.

use super::Output;
use super::columns::ColumnsFile;
use super::tables::{Kind, Table};
use crate::bytes::hex;
use crate::canonical::Profile;
use crate::error::{Error, Result};

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            RowFormat::Tsv => "tsv",
            RowFormat::Csv => "csv",
            RowFormat::Jsonl => "jsonl",
            RowFormat::Parquet => "parquet",
        }
    }
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Their format.
    pub format: RowFormat,
    /// Puts an apostrophe before text that a spreadsheet would take for a formula: text that starts
    /// with `=`, `+`, `-`, `@`, a tab or a carriage return. Not in JSON, which no spreadsheet opens.
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
            RowFormat::Parquet => output.check_binary("--to parquet"),
        }
    }
}

/// The error for Parquet in a build without it.
#[cold]
pub(super) fn not_built() -> Error {
    Error::config(
        "--to parquet: this build cannot write Parquet; build it with `--features parquet`, or use \
         --to tsv, csv or jsonl",
    )
}

/// What made the rows; the first line of each output tells.
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

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Text: bytes, UTF-8 or not.
    Text(&'a [u8]),
    /// A count, or the number of a line.
    Number(u64),
    /// Not known. An empty field in TSV and CSV.
    Null,
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
                // No commas, so that it is one field to those who do not know comments.
                let comment =
                    format!("# undust {version} table={name} profile={profile} rules={rules}");
                (Some(comment), names.join(if format == RowFormat::Csv { "," } else { "\t" }))
            }
        };
        for line in comment.into_iter().chain([header]) {
            writer.row.extend_from_slice(line.as_bytes());
            writer.end_row()?;
        }
        Ok(writer)
    }

    /// Writes one row. `cells` are as many as the table has columns, and of their kinds.
    pub fn row(&mut self, cells: &[Cell]) -> Result<()> {
        debug_assert_eq!(cells.len(), self.table.columns.len(), "{}", self.table.name);
        if let Some(columns) = &mut self.columns {
            return columns.row(cells, self.output);
        }
        for (at, (cell, column)) in cells.iter().zip(self.table.columns).enumerate() {
            debug_assert!(fits(*cell, column.kind), "{}: {cell:?}", column.name);
            let out = &mut self.row;
            match self.shape.format {
                RowFormat::Tsv | RowFormat::Csv => {
                    let is_csv = self.shape.format == RowFormat::Csv;
                    if at > 0 {
                        out.push(if is_csv { b',' } else { b'\t' });
                    }
                    match *cell {
                        Cell::Text(text) => {
                            let guard = self.shape.guards_formulas && looks_like_formula(text);
                            if is_csv {
                                push_csv(out, text, guard, at == 0);
                            } else {
                                out.extend_from_slice(if guard { b"'" } else { b"" });
                                push_tsv(out, text);
                            }
                        }
                        Cell::Number(number) => {
                            out.extend_from_slice(number.to_string().as_bytes())
                        }
                        Cell::Null => {}
                    }
                }
                RowFormat::Jsonl | RowFormat::Parquet => {
                    out.push(if at == 0 { b'{' } else { b',' });
                    push_json_field(out, column.name, *cell);
                }
            }
        }
        if self.shape.format == RowFormat::Jsonl {
            self.row.push(b'}');
        }
        self.end_row()
    }

    fn end_row(&mut self) -> Result<()> {
        self.row.extend_from_slice(match self.shape.format {
            RowFormat::Csv => b"\r\n",
            RowFormat::Tsv | RowFormat::Jsonl | RowFormat::Parquet => b"\n",
        });
        self.output.write(&self.row)?;
        self.row.clear();
        Ok(())
    }

    /// Writes what has to come behind the last row. Does not publish the output.
    pub fn finish(self) -> Result<()> {
        self.columns.map_or(Ok(()), |columns| columns.finish(self.output))
    }
}

/// Is `cell` of this kind, or nothing?
fn fits(cell: Cell, kind: Kind) -> bool {
    match cell {
        Cell::Text(_) => kind != Kind::Number,
        Cell::Number(_) => kind == Kind::Number,
        Cell::Null => true,
    }
}

/// Would a spreadsheet calculate it? Source: OWASP, "CSV Injection".
fn looks_like_formula(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'))
}

/// Appends `field` with tabs, line breaks and backslashes escaped.
pub(super) fn push_tsv(out: &mut Vec<u8>, field: &[u8]) {
    for byte in field {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte => out.push(*byte),
        }
    }
}

/// Appends `field`, in quotes if it holds what means something, or may be taken for a comment.
fn push_csv(out: &mut Vec<u8>, field: &[u8], guard: bool, is_first: bool) {
    let guard: &[u8] = if guard { b"'" } else { b"" };
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    let is_comment = is_first && field.starts_with(b"#");
    if !field.iter().any(is_special)
        && !is_edge(field.first())
        && !is_edge(field.last())
        && !is_comment
    {
        out.extend_from_slice(guard);
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(guard);
    for byte in field {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

fn push_json_field(out: &mut Vec<u8>, name: &str, cell: Cell) {
    // Names of columns need no escapes.
    let mut value = format!("\"{name}\":");
    match cell {
        Cell::Null => value.push_str("null"),
        Cell::Number(number) => value.push_str(&number.to_string()),
        Cell::Text(text) => {
            value.push_str(&serde_json::Value::from(readable(text)).to_string());
            if std::str::from_utf8(text).is_err() {
                value.push_str(&format!(",\"{name}_b64\":\"{}\"", base64(text)));
            }
        }
    }
    out.extend_from_slice(value.as_bytes());
}

/// `text` as UTF-8: bytes that are not are percent-escaped, which in a URL means the same.
pub(super) fn readable(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.utf8_chunks() {
        out.push_str(part.valid());
        for byte in part.invalid() {
            let escape = &hex::ESCAPES[usize::from(*byte)][..3];
            out.extend(escape.iter().map(|byte| char::from(*byte)));
        }
    }
    out
}

/// `bytes` in Base64, with padding (RFC 4648 section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit <= three.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Claims;
    use super::super::tables::{Column, DROPPED};
    use super::*;

    static TABLE: Table = Table {
        name: "test",
        columns: &[
            Column { name: "url", kind: Kind::Text, about: "" },
            Column { name: "count", kind: Kind::Number, about: "" },
            Column { name: "note", kind: Kind::Text, about: "" },
        ],
    };

    fn written(format: RowFormat, guards_formulas: bool, rows: &[[Cell; 3]]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut output = Claims::new(&[]).open(Some(&path)).unwrap();
        let made_by = Provenance { profile: "crawl@1".into(), rules: "00ff".into() };
        let shape = Shape { format, guards_formulas };
        let mut writer = RowWriter::new(&mut output, shape, &TABLE, &made_by).unwrap();
        for row in rows {
            writer.row(row).unwrap();
        }
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
    fn base64_vectors() {
        // RFC 4648 section 10.
        for (given, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(given.as_bytes()), expected);
        }
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
