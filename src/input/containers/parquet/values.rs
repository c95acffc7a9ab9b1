//! The values of a column of a Parquet file, as text.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

/// How the numbers of a column become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The numbers as they are.
    Plain,
    /// Days since 1970.
    Days,
    /// Fractions of a second since 1970: the power of ten that makes one second.
    Instant(u32),
}

/// A value of a batch.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Bytes of a page, which they keep in memory.
    Bytes(ByteArray),
    Text(String),
}

impl Value {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Value::Bytes(bytes) => bytes.data(),
            Value::Text(text) => text.as_bytes(),
        }
    }
}

impl Meaning {
    /// Returns the meaning of the numbers of `column`.
    pub(crate) fn of(column: &ColumnDescriptor) -> Meaning {
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 3,
            TimeUnit::MICROS => 6,
            TimeUnit::NANOS => 9,
        };
        match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Timestamp(kind)), _) => Meaning::Instant(unit(&kind.unit)),
            (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Meaning::Days,
            (_, ConvertedType::TIMESTAMP_MILLIS) => Meaning::Instant(3),
            (_, ConvertedType::TIMESTAMP_MICROS) => Meaning::Instant(6),
            _ => Meaning::Plain,
        }
    }
}

/// Appends `rows` values to `batch`.
pub(super) fn read_column(
    column: &mut ColumnReader,
    rows: usize,
    meaning: Meaning,
    batch: &mut Vec<Option<Value>>,
) -> Result<(), ParquetError> {
    let number = |number: i64| Value::Text(number_text(number, meaning));
    match column {
        ColumnReader::ByteArrayColumnReader(column) => {
            fill(column, rows, batch, |value| Value::Bytes(value.clone()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(column) => {
            fill(column, rows, batch, |value| Value::Bytes(value.clone().into()))
        }
        ColumnReader::Int32ColumnReader(column) => {
            fill(column, rows, batch, |value| number(i64::from(*value)))
        }
        ColumnReader::Int64ColumnReader(column) => {
            fill(column, rows, batch, |value| number(*value))
        }
        ColumnReader::Int96ColumnReader(column) => fill(column, rows, batch, |value| {
            Value::Text(number_text(value.to_nanos(), Meaning::Instant(9)))
        }),
        ColumnReader::BoolColumnReader(column) => {
            fill(column, rows, batch, |value| Value::Text(value.to_string()))
        }
        ColumnReader::FloatColumnReader(column) => {
            fill(column, rows, batch, |value| Value::Text(value.to_string()))
        }
        ColumnReader::DoubleColumnReader(column) => {
            fill(column, rows, batch, |value| Value::Text(value.to_string()))
        }
    }
}

fn fill<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
    batch: &mut Vec<Option<Value>>,
    text: impl Fn(&T::T) -> Value,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    // One call may end with a page.
    while read < rows {
        values.clear();
        levels.clear();
        let (records, found, told) =
            column.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            break;
        }
        let mut values = values.iter();
        if told == found {
            batch.extend(values.map(|value| Some(text(value))));
        } else {
            // A value is there where its level is the highest.
            let highest = levels.iter().copied().max().unwrap_or(0);
            let is_there = |level: i16| level == highest && found > 0;
            batch.extend(
                levels
                    .iter()
                    .map(|level| is_there(*level).then(|| values.next()).flatten().map(&text)),
            );
        }
        read += records;
    }
    Ok(())
}

/// Seconds with a fraction for moments, otherwise the number.
fn number_text(number: i64, meaning: Meaning) -> String {
    match meaning {
        Meaning::Plain => number.to_string(),
        Meaning::Days => number.saturating_mul(86_400).to_string(),
        Meaning::Instant(digits) => {
            let parts = 10i64.pow(digits);
            // Before 1970 the fraction is dropped, which rounds down: nothing was fetched then.
            let (seconds, rest) = (number.div_euclid(parts), number.rem_euclid(parts));
            if rest == 0 || number < 0 {
                return seconds.to_string();
            }
            format!("{seconds}.{rest:0width$}", width = digits as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        for (number, meaning, expected) in [
            (5, Meaning::Plain, "5"),
            (2, Meaning::Days, "172800"),
            (1_500, Meaning::Instant(3), "1.500"),
            (-1, Meaning::Instant(6), "-1"),
            (7_000_000_000, Meaning::Instant(9), "7"),
        ] {
            assert_eq!(number_text(number, meaning), expected);
        }
    }
}
