//! Parquet files, row by row.
//!
//! Only those columns are read that the plan names, and those with known names: the names in Common
//! Crawl's columnar index and a few plain ones. Rows are read in batches, which are shorter where
//! values are long; in memory are a page of each column and the pages of the batch's values.
//!
//! Source: <https://parquet.apache.org/docs/file-format/>;
//! <https://commoncrawl.org/columnar-index>.

mod values;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use self::values::{Meaning, Value, read_column};
use super::decoded::Decoded;
use super::rows::{Flaw, Parser, Row};
use crate::bytes::show;
use crate::error::{Error, Result, Setting};

/// Most rows that are read at once.
const BATCH_ROWS: u64 = 1024;

/// Most bytes that are read at once, estimated by the mean of the row group.
const BATCH_BYTES: u64 = 1 << 20;

/// Longest value in bytes of columns other than the URL. Longer ones are left out, since they could
/// make the row too long.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// Names of columns, and the fields of a row that they are read to. The first that exists counts.
const NAMES: [(&str, Place); 22] = [
    ("fetch_time", Place::Time),
    ("timestamp", Place::Time),
    ("time", Place::Time),
    ("fetch_status", Place::Status),
    ("status", Place::Status),
    ("method", Place::Method),
    ("content_mime_type", Place::Mime),
    ("content_mime_detected", Place::Mime),
    ("mime_type", Place::Mime),
    ("mime", Place::Mime),
    ("size", Place::Size),
    ("bytes", Place::Size),
    ("content_digest", Place::Digest),
    ("digest", Place::Digest),
    ("fetch_redirect", Place::Redirect),
    ("redirect", Place::Redirect),
    ("referrer", Place::Referrer),
    ("referer", Place::Referrer),
    ("user_agent", Place::Agent),
    ("canonical_link", Place::CanonicalLink),
    ("canonical_url", Place::CanonicalLink),
    ("rel_canonical", Place::CanonicalLink),
];

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Url,
    /// The query of the URL, where it is separate.
    Query,
    Time,
    Status,
    Method,
    Mime,
    Size,
    Digest,
    Redirect,
    Referrer,
    Agent,
    CanonicalLink,
}

impl Place {
    /// The place of the field `name` of a plan.
    fn named(name: &str) -> Option<Place> {
        Some(match name {
            "url" => Place::Url,
            "query" => Place::Query,
            "time" => Place::Time,
            "status" => Place::Status,
            "method" => Place::Method,
            "mime" => Place::Mime,
            "size" => Place::Size,
            "digest" => Place::Digest,
            "redirect" => Place::Redirect,
            "referrer" => Place::Referrer,
            "agent" => Place::Agent,
            "canonical_link" => Place::CanonicalLink,
            _ => return None,
        })
    }

    /// The field of `row`; for a query `query`, until it is joined to the URL.
    fn of<'a>(self, row: &'a mut Row, query: &'a mut Vec<u8>) -> &'a mut Vec<u8> {
        match self {
            Place::Url => &mut row.url,
            Place::Query => query,
            Place::Time => &mut row.time,
            Place::Status => &mut row.status,
            Place::Method => &mut row.method,
            Place::Mime => &mut row.mime,
            Place::Size => &mut row.size,
            Place::Digest => &mut row.digest,
            Place::Redirect => &mut row.redirect,
            Place::Referrer => &mut row.referrer,
            Place::Agent => &mut row.agent,
            Place::CanonicalLink => &mut row.canonical_link,
        }
    }
}

/// The parser of Parquet files: a row for each row.
pub(super) struct Columns {
    reader: SerializedFileReader<File>,
    /// The columns that are read: their numbers, their fields, and the meaning of their values.
    wanted: Vec<(usize, Place, Meaning)>,
    /// The number of the next row group.
    group: usize,
    /// The readers of the columns, in the current row group.
    columns: Vec<ColumnReader>,
    /// Rows left in the row group.
    group_rows: u64,
    /// Most rows of it that are read at once.
    rows_max: u64,
    /// The values of a batch, by column; `None` where there is none.
    batch: Vec<Vec<Option<Value>>>,
    batch_rows: usize,
    at: usize,
    field_bytes_max: usize,
    /// The query of the current row, where it is separate from the URL.
    query: Vec<u8>,
}

impl Columns {
    /// Reads the footer of `file`. `named` are fields of a row and the columns that they are read
    /// from, by number from 1 or by name, in which dots lead to nested columns.
    ///
    /// Failure: an input error if there is no such column, or if its type does not fit the field.
    pub(super) fn new(
        file: File,
        named: &[(String, String)],
        field_bytes_max: usize,
    ) -> Result<Self> {
        let reader = tamed(|| SerializedFileReader::new(file)).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns = schema.columns();
        let find = |name: &str| columns.iter().position(|c| c.path().string() == name);
        let count = |name: &str| {
            let number: usize = name.parse().ok()?;
            number.checked_sub(1).filter(|number| *number < columns.len())
        };
        let url = ("url".to_string(), "url".to_string());
        let has_url = named.iter().any(|(field, _)| *field == url.0);
        let mut wanted: Vec<(usize, Place, Meaning)> = Vec::new();
        for (field, name) in named.iter().chain((!has_url).then_some(&url)) {
            let Some(place) = Place::named(field) else {
                return Err(Error::input(format!(
                    "expected url, query, time, status, method, mime, size, digest, redirect, referrer, agent or \
                     canonical_link for a column of a Parquet file, found {field}; leave it out of {}",
                    Setting::Fields
                )));
            };
            let Some(number) = find(name).or_else(|| count(name)) else {
                let names: Vec<String> = columns.iter().map(|c| c.path().string()).collect();
                let names = names.join(", ");
                return Err(Error::input(format!(
                    "expected a column \"{}\" in the Parquet file, found {}; name one of them with {}",
                    show(name.as_bytes()),
                    show(&names.as_bytes()[..names.len().min(1000)]),
                    Setting::Fields,
                )));
            };
            let column = &columns[number];
            if !can_be(column, place) {
                return Err(Error::input(format!(
                    "expected {} in the column \"{}\" of the Parquet file, one for each row, found {}{}",
                    if place == Place::Url { "text" } else { "text or whole numbers" },
                    show(name.as_bytes()),
                    kind_of(column),
                    if column.max_rep_level() > 0 { " in lists" } else { "" },
                )));
            }
            wanted.push((number, place, Meaning::of(column)));
        }
        // The URL is what a row begins with.
        wanted.sort_by_key(|(_, place, _)| *place != Place::Url);
        for (name, place) in NAMES {
            let is_new = wanted.iter().all(|(_, known, _)| *known != place);
            let number = find(name).filter(|at| can_be(&columns[*at], place));
            if let (true, Some(number)) = (is_new, number) {
                wanted.push((number, place, Meaning::of(&columns[number])));
            }
        }
        let batch = vec![Vec::new(); wanted.len()];
        Ok(Columns {
            reader,
            wanted,
            group: 0,
            columns: Vec::new(),
            group_rows: 0,
            rows_max: 0,
            batch,
            batch_rows: 0,
            at: 0,
            field_bytes_max,
            query: Vec::new(),
        })
    }

    /// Reads the next batch. `false` if there is none.
    fn next_batch(&mut self, from: &mut Decoded) -> Result<bool, ParquetError> {
        while self.group_rows == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group)?;
            self.group += 1;
            self.group_rows = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
            let bytes = |number: usize| {
                let bytes = group.metadata().column(number).uncompressed_size();
                u64::try_from(bytes).unwrap_or(0)
            };
            let bytes: u64 = self.wanted.iter().map(|(number, ..)| bytes(*number)).sum();
            let mean = (bytes / self.group_rows.max(1)).max(1);
            self.rows_max = (BATCH_BYTES / mean).clamp(1, BATCH_ROWS);
            self.columns = self
                .wanted
                .iter()
                .map(|(number, _, _)| group.get_column_reader(*number))
                .collect::<Result<_, _>>()?;
            from.count(u64::try_from(group.metadata().compressed_size()).unwrap_or(0));
        }
        let rows = self.group_rows.min(self.rows_max) as usize;
        for ((column, batch), (_, _, meaning)) in
            self.columns.iter_mut().zip(&mut self.batch).zip(&self.wanted)
        {
            batch.clear();
            read_column(column, rows, *meaning, batch)?;
            if batch.len() != rows {
                let found = batch.len();
                return Err(ParquetError::EOF(format!("expected {rows} values, found {found}")));
            }
        }
        self.group_rows -= rows as u64;
        (self.batch_rows, self.at) = (rows, 0);
        Ok(true)
    }
}

impl Parser for Columns {
    fn next(&mut self, from: &mut Decoded, row: &mut Row) -> Result<bool, Flaw> {
        if self.at == self.batch_rows {
            match tamed(|| self.next_batch(from)) {
                Ok(true) => {}
                Ok(false) => {
                    from.count(u64::MAX);
                    return Ok(false);
                }
                Err(error) => return Err(Flaw::Shape(damaged(error))),
            }
        }
        self.query.clear();
        for ((_, place, _), batch) in self.wanted.iter().zip(&mut self.batch) {
            let Some(value) = batch[self.at].take() else { continue };
            let bytes = value.bytes();
            if *place == Place::Url {
                let length = bytes.len().min(self.field_bytes_max.saturating_add(1));
                row.url.extend_from_slice(&bytes[..length]);
            } else if bytes.len() <= VALUE_BYTES_MAX {
                place.of(row, &mut self.query).extend_from_slice(bytes);
            }
        }
        if self.wanted.iter().any(|(_, place, _)| *place == Place::Query) {
            add_query(&mut row.url, &self.query);
        }
        self.at += 1;
        Ok(true)
    }

    fn unit(&self) -> &'static str {
        "Parquet row"
    }
}

/// The result of `read`. The library panics on some damaged files: that is returned as an error.
fn tamed<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the reader has given up".to_string())))
}

/// Adds `query`, with its `?` or without one, to `url`, which may be a path: then a `#` in it is
/// text. If the URL has a query or a fragment already, nothing is added.
fn add_query(url: &mut Vec<u8>, query: &[u8]) {
    let is_path = url.first() == Some(&b'/');
    if url.is_empty() || url.contains(&b'?') || !is_path && url.contains(&b'#') {
        return;
    }
    if url.contains(&b'#') {
        let marked: Vec<&[u8]> = url.split(|byte| *byte == b'#').collect();
        *url = marked.join(&b"%23"[..]);
    }
    let query = query.strip_prefix(b"?").unwrap_or(query);
    if !query.is_empty() && query != b"-" {
        url.push(b'?');
        url.extend_from_slice(query);
    }
}

/// Can the values of `column` be those of a field? Lists cannot, nor can decimal numbers and other
/// numbers that are stored as bytes.
fn can_be(column: &ColumnDescriptor, place: Place) -> bool {
    let is_scaled = matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || column.converted_type() == ConvertedType::DECIMAL;
    let is_text = matches!(column.logical_type_ref(), Some(LogicalType::String))
        || column.converted_type() == ConvertedType::UTF8;
    let is_other = matches!(
        column.logical_type_ref(),
        Some(LogicalType::Uuid | LogicalType::Float16 | LogicalType::Unknown)
    ) || column.converted_type() == ConvertedType::INTERVAL;
    if column.max_rep_level() > 0 || is_other {
        return false;
    }
    match column.physical_type() {
        _ if place == Place::Url => column.physical_type() == Type::BYTE_ARRAY && !is_scaled,
        Type::INT32 | Type::INT64 => !is_scaled || column.type_scale() == 0,
        // Such names are also used for bodies.
        Type::BYTE_ARRAY if place == Place::Size => is_text,
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => !is_scaled,
        _ => true,
    }
}

/// What `column` holds, for messages.
fn kind_of(column: &ColumnDescriptor) -> String {
    match column.logical_type_ref() {
        Some(LogicalType::Unknown) => "nothing but nulls".to_string(),
        Some(LogicalType::Decimal(_)) => format!("decimals ({})", column.physical_type()),
        _ => column.physical_type().to_string(),
    }
}

fn damaged(error: ParquetError) -> Error {
    let text = error.to_string();
    Error::input(format!(
        "expected Parquet, found damaged data or a feature that is not known here ({}); get the file \
         again, or write the column of URLs as CSV",
        show(&text.as_bytes()[..text.len().min(300)])
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type, Int96, Int96Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use crate::input::tests::{Dir, gzip, plan};
    use crate::input::{Container, Input, InputPlan};

    /// A file of groups of three rows: an address, one that is cut short by nothing, none at all.
    fn parquet(groups: usize, compression: parquet::basic::Compression) -> Vec<u8> {
        let schema = "message table {
            optional binary url (STRING);
            required int32 fetch_status;
            optional int64 fetch_time (TIMESTAMP(MILLIS,true));
            required binary content_digest (STRING);
            optional int96 time;
            repeated int32 size;
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut out = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut out, schema, properties).unwrap();
        let text = |text: &str| ByteArray::from(text);
        for number in 0..groups {
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let urls = [text(&format!("http://a.test/{number}")), text("b\tc")];
            let levels = Some(&[1, 1, 0][..]);
            column.typed::<ByteArrayType>().write_batch(&urls, levels, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int32Type>().write_batch(&[200, 404, -1], None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let times = [1_700_000_000_123, 5_000];
            column.typed::<Int64Type>().write_batch(&times, Some(&[1, 0, 1]), None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let digests = ["A", "B", ""].map(text);
            column.typed::<ByteArrayType>().write_batch(&digests, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let none: [Int96; 0] = [];
            column.typed::<Int96Type>().write_batch(&none, Some(&[0, 0, 0]), None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let levels = (Some(&[1, 1, 0, 0][..]), Some(&[0, 1, 0, 0][..]));
            column.typed::<Int32Type>().write_batch(&[1, 2], levels.0, levels.1).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
        out
    }

    #[test]
    fn queries() {
        for (url, query, expected) in [
            ("/a", "x=1", "/a?x=1"),
            ("/a", "?x=1", "/a?x=1"),
            ("/a", "", "/a"),
            ("/a", "-", "/a"),
            ("/a?y", "x=1", "/a?y"),
            ("/c#", "x=1", "/c%23?x=1"),
            ("http://a.test/c#d", "x=1", "http://a.test/c#d"),
            ("http://a.test/c", "x=1", "http://a.test/c?x=1"),
            ("", "x=1", ""),
        ] {
            let mut found = url.as_bytes().to_vec();
            super::add_query(&mut found, query.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), expected, "{url} {query}");
        }
    }

    fn read(plan: &InputPlan) -> (String, Option<String>, Input) {
        let mut input = Input::open(plan).unwrap();
        let (mut text, mut error) = (Vec::new(), None);
        for chunk in input.by_ref() {
            match chunk {
                Ok(chunk) => text.extend_from_slice(chunk.bytes()),
                Err(found) => error = Some(found.to_string()),
            }
        }
        (String::from_utf8(text).unwrap(), error, input)
    }

    #[test]
    fn rows_of_all_groups() {
        use parquet::basic::Compression;
        let dir = Dir::new();
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::ZSTD(Default::default()),
            Compression::LZ4_RAW,
        ] {
            let compressed = parquet(800, compression);
            let path = dir.file("a", &compressed);
            for chunk_bytes in [100, 1 << 20] {
                let (text, error, input) = read(&InputPlan { chunk_bytes, ..plan(&[&path]) });
                assert_eq!(error, None);
                assert_eq!(text.lines().count(), 2400);
                let rows: Vec<&str> = text.lines().take(4).collect();
                assert_eq!(rows[0], "http://a.test/0\t1700000000.123\t200\t\t\t\tA\t\t\t\t");
                assert_eq!(rows[1], "b\\tc\t\t404\t\t\t\tB\t\t\t\t");
                assert_eq!(rows[2], "\t5\t-1\t\t\t\t\t\t\t\t");
                assert!(rows[3].starts_with("http://a.test/1\t"));
                let summary = &input.summaries()[0];
                assert_eq!(summary.container, Some(Container::Parquet));
                assert_eq!(summary.disk_bytes, compressed.len() as u64);
            }
        }
    }

    #[test]
    fn columns_by_name() {
        let dir = Dir::new();
        let path = dir.file("a", parquet(1, parquet::basic::Compression::SNAPPY));
        let named = |field: &str, column: &str| vec![(field.to_string(), column.to_string())];
        let of = |column: &str| InputPlan { columns: named("url", column), ..plan(&[&path]) };
        let (text, error, _) = read(&of("content_digest"));
        assert_eq!(error, None);
        assert!(text.starts_with("A\t1700000000.123\t200\t"), "{text}");
        for (column, expected) in [
            ("uri", "expected a column \"uri\" in the Parquet file, found url, fetch_status,"),
            ("fetch_status", "found INT32"),
            ("size", "found INT32 in lists"),
        ] {
            let (text, error, _) = read(&of(column));
            assert!(text.is_empty() && error.as_ref().unwrap().contains(expected), "{error:?}");
        }
    }

    #[test]
    fn damage_and_streams() {
        let dir = Dir::new();
        let compressed = parquet(3, parquet::basic::Compression::SNAPPY);
        let (_, error, _) = read(&plan(&[&dir.file("cut", &compressed[..compressed.len() / 2])]));
        assert!(error.unwrap().contains("expected Parquet, found damaged data"));
        let (_, error, _) = read(&plan(&[&dir.file("compressed", gzip(&compressed))]));
        assert!(error.unwrap().contains("found a stream"));
    }
}
