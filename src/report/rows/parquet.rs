//! Rows as a Parquet file.
//!
//! ```text
//! PAR1
//! group of rows: a chunk for each column, its pages in zstd; up to GROUP_BYTES of values
//! ...
//! footer: the schema, where the groups are, what made the rows (key and value)
//! ```
//!
//! A column of text is a string (`STRING`), which has to be UTF-8: bytes that are not are
//! percent-escaped. Then the exact bytes are in a column of bytes after all others, whose name
//! ends in `_raw`; it is null elsewhere. Numbers are 64 bits with sign. Every column may be null.
//!
//! Source: <https://parquet.apache.org/docs/file-format/>.

use std::borrow::Cow;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::Provenance;
use super::cells::readable;
use super::tables::{Column, ColumnKind, Table};
use crate::error::{Error, Result, Setting};
use crate::report::{Cell, Output};

/// Bytes of values that are held until they are written as a group. Reason: readers process groups
/// in parallel and prefer large ones, but what is held is in memory three times while it is
/// compressed.
const GROUP_BYTES: usize = 8 << 20;

/// Most rows of a group. Reason: rows without text would never fill the bytes.
const GROUP_ROWS: usize = 1 << 17;

/// Values that are written at once.
const BATCH_VALUES: usize = 1 << 13;

/// A Parquet file while it is written. Without [`ColumnsFile::finish`] it has no end.
pub(super) struct ColumnsFile {
    writer: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Values>,
    rows: usize,
    /// Bytes of the values that are held.
    bytes: usize,
}

/// The values of a column, until their group is written.
struct Values {
    /// For columns of exact bytes: of which column of the table.
    raw_of: Option<usize>,
    of_kind: OfKind,
    /// For each row: 1 if it has a value, 0 if that is not known.
    levels: Vec<i16>,
}

enum OfKind {
    Numbers(Vec<i64>),
    /// One text after the other, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
}

impl Values {
    fn new(kind: ColumnKind, raw_of: Option<usize>) -> Values {
        let of_kind = match kind {
            ColumnKind::Number => OfKind::Numbers(Vec::new()),
            ColumnKind::Text | ColumnKind::Word => OfKind::Texts(Vec::new(), Vec::new()),
        };
        Values { raw_of, of_kind, levels: Vec::new() }
    }

    /// Adds a value and returns how many bytes it takes.
    fn push(&mut self, cell: Cell) -> usize {
        self.levels.push(i16::from(cell != Cell::Null));
        match (&mut self.of_kind, cell) {
            (_, Cell::Null) => 0,
            (OfKind::Numbers(numbers), Cell::Number(number)) => {
                numbers.push(i64::try_from(number).unwrap_or(i64::MAX));
                size_of::<i64>()
            }
            (OfKind::Texts(bytes, ends), Cell::Text(text)) => {
                let text: Cow<[u8]> = match self.raw_of {
                    None => match readable(text) {
                        Cow::Borrowed(text) => text.as_bytes().into(),
                        Cow::Owned(text) => text.into_bytes().into(),
                    },
                    Some(_) => text.into(),
                };
                bytes.extend_from_slice(&text);
                ends.push(bytes.len());
                text.len() + size_of::<ByteArray>()
            }
            (_, cell) => unreachable!("{cell:?} is not of the kind of its column"),
        }
    }

    /// Writes what is held as the next column of `group`.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    ) -> Result<(), ParquetError> {
        let levels = std::mem::take(&mut self.levels);
        match &mut self.of_kind {
            OfKind::Numbers(numbers) => {
                write_column::<Int64Type>(group, &std::mem::take(numbers), &levels)
            }
            OfKind::Texts(bytes, ends) => {
                let all = ByteArray::from(std::mem::take(bytes));
                let ends = std::mem::take(ends);
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let texts: Vec<ByteArray> =
                    starts.zip(&ends).map(|(start, end)| all.slice(start, end - start)).collect();
                write_column::<ByteArrayType>(group, &texts, &levels)
            }
        }
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: &[i16],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than the table".into()));
    };
    let mut rest = values;
    for levels in levels.chunks(BATCH_VALUES) {
        let here = levels.iter().filter(|level| **level == 1).count();
        let (values, more) = rest.split_at(here);
        column.typed::<T>().write_batch(values, Some(levels), None)?;
        rest = more;
    }
    column.close()
}

impl ColumnsFile {
    /// A file of the rows of `table`.
    pub(super) fn new(table: &'static Table, made_by: &Provenance) -> Result<Self> {
        let mut columns: Vec<Values> =
            table.columns.iter().map(|column| Values::new(column.kind, None)).collect();
        let foreign =
            table.columns.iter().enumerate().filter(|(_, one)| one.kind == ColumnKind::Text);
        columns.extend(foreign.map(|(at, _)| Values::new(ColumnKind::Text, Some(at))));
        let told = [
            ("undust", env!("CARGO_PKG_VERSION")),
            ("table", table.name),
            ("profile", &made_by.profile),
            ("rules", &made_by.rules),
        ];
        let told = told.map(|(key, text)| KeyValue::new(key.to_string(), text.to_string()));
        let properties = WriterProperties::builder()
            .set_created_by(concat!("undust version ", env!("CARGO_PKG_VERSION")).to_string())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // Those of pages would be held until the end.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(told.to_vec()))
            .build();
        let schema = Arc::new(schema(table).map_err(failed)?);
        let writer =
            SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).map_err(failed)?;
        Ok(ColumnsFile { writer, columns, rows: 0, bytes: 0 })
    }

    /// Adds a row: a cell for each column of the table.
    pub(super) fn row(&mut self, cells: &[Cell], output: &mut Output) -> Result<()> {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let cell = match (column.raw_of, cells[column.raw_of.unwrap_or(at)]) {
                (Some(_), Cell::Text(text)) if std::str::from_utf8(text).is_ok() => Cell::Null,
                (_, cell) => cell,
            };
            self.bytes += column.push(cell) + size_of::<i16>();
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.end_group(output)?;
        }
        Ok(())
    }

    fn end_group(&mut self, output: &mut Output) -> Result<()> {
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            for column in &mut self.columns {
                column.write(&mut group)?;
            }
            group.close()?;
            self.writer.flush()?;
            Ok(())
        };
        write().map_err(failed)?;
        (self.rows, self.bytes) = (0, 0);
        output.write(&std::mem::take(self.writer.inner_mut()))
    }

    /// Writes the last group and the footer.
    pub(super) fn finish(mut self, output: &mut Output) -> Result<()> {
        if self.rows > 0 {
            self.end_group(output)?;
        }
        output.write(&self.writer.into_inner().map_err(failed)?)
    }
}

/// The schema of `table`.
fn schema(table: &Table) -> Result<Type, ParquetError> {
    let field = |column: &Column, is_raw: bool| {
        let name = if is_raw { format!("{}_raw", column.name) } else { column.name.to_string() };
        let builder = match column.kind {
            ColumnKind::Number => Type::primitive_type_builder(&name, Physical::INT64),
            ColumnKind::Text | ColumnKind::Word => {
                let string = (!is_raw).then_some(LogicalType::String);
                Type::primitive_type_builder(&name, Physical::BYTE_ARRAY).with_logical_type(string)
            }
        };
        builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let own = table.columns.iter().map(|column| field(column, false));
    let foreign = table.columns.iter().filter(|column| column.kind == ColumnKind::Text);
    let fields = own.chain(foreign.map(|column| field(column, true)));
    Type::group_type_builder(table.name).with_fields(fields.collect::<Result<_, _>>()?).build()
}

/// What is written is in memory, so this is a bound of the format: a value of more than 2 GiB, say.
#[cold]
fn failed(error: ParquetError) -> Error {
    Error::output(format!(
        "cannot write as Parquet: {error}; use {} tsv, csv or jsonl",
        Setting::RowFormat
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::*;
    use crate::report::ClaimedPaths;
    use crate::report::rows::{RowFormat, RowWriter, Shape};

    static TABLE: Table = Table {
        name: "test",
        columns: &[
            Column { name: "count", kind: ColumnKind::Number, about: "" },
            Column { name: "url", kind: ColumnKind::Text, about: "" },
            Column { name: "part", kind: ColumnKind::Word, about: "" },
        ],
    };

    /// The file of `rows`, read again: how many rows each group has, and all of them.
    fn written<'a>(rows: impl Iterator<Item = [Cell<'a>; 3]>) -> (Vec<i64>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut output = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
        let made_by = Provenance { profile: "crawl@1".into(), rules: "00ff".into() };
        let shape = Shape { format: RowFormat::Parquet, guards_formulas: false };
        let mut writer = RowWriter::new(&mut output, shape, &TABLE, &made_by).unwrap();
        // One by one, and together.
        let mut together = writer.rows();
        for (row, at) in rows.zip(0..) {
            if at < 2 {
                writer.row(&row).unwrap();
            } else {
                together.row(&row);
            }
        }
        writer.write(&together).unwrap();
        writer.finish().unwrap();
        output.publish().unwrap();
        let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
        let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string());
        (groups, rows.collect())
    }

    #[test]
    fn nothing_known_and_nothing_at_all() {
        assert_eq!(written(std::iter::empty()), (vec![], vec![]));
        let rows = [
            [Cell::Null; 3],
            [Cell::Number(u64::MAX), Cell::Text(b""), Cell::Text(b"a")],
            [Cell::Number(0), Cell::Text(b"\xff"), Cell::Null],
        ];
        let expected = [
            "{count: null, url: null, part: null, url_raw: null}",
            "{count: 9223372036854775807, url: \"\", part: \"a\", url_raw: null}",
            "{count: 0, url: \"%FF\", part: null, url_raw: [255]}",
        ];
        let (groups, found) = written(rows.into_iter());
        assert_eq!((groups, found), (vec![3], expected.map(String::from).to_vec()));
    }

    #[test]
    fn groups_are_bounded_by_rows_and_by_bytes() {
        let rows = GROUP_ROWS as u64 + 5;
        let (groups, found) =
            written((0..rows).map(|number| [Cell::Number(number), Cell::Null, Cell::Null]));
        assert_eq!(groups, [GROUP_ROWS as i64, 5]);
        assert!(found.last().unwrap().starts_with(&format!("{{count: {},", rows - 1)));
        let long = vec![b'x'; GROUP_BYTES / 4];
        let (groups, found) =
            written((0..9).map(|_| [Cell::Null, Cell::Text(&long), Cell::Text(b"y")]));
        assert_eq!(groups, [4, 4, 1]);
        assert!(found.iter().all(|row| row.contains(", part: \"y\"")));
    }
}
