//! The records of containers written as lines, so that later steps see lines alone.
//!
//! The layout of a row is documented in `record/container_rows.rs`, which reads it.

use std::io;

use super::decoded::Decoded;
use crate::error::Error;

/// A record of a container; fields that are not known are empty.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(super) url: Vec<u8>,
    pub(super) time: Vec<u8>,
    pub(super) status: Vec<u8>,
    pub(super) method: Vec<u8>,
    pub(super) mime: Vec<u8>,
    pub(super) size: Vec<u8>,
    pub(super) digest: Vec<u8>,
    pub(super) redirect: Vec<u8>,
    pub(super) referrer: Vec<u8>,
    pub(super) agent: Vec<u8>,
    pub(super) canonical_link: Vec<u8>,
}

impl Row {
    /// All fields, in the order of the layout.
    fn fields_mut(&mut self) -> [&mut Vec<u8>; 11] {
        [
            &mut self.url,
            &mut self.time,
            &mut self.status,
            &mut self.method,
            &mut self.mime,
            &mut self.size,
            &mut self.digest,
            &mut self.redirect,
            &mut self.referrer,
            &mut self.agent,
            &mut self.canonical_link,
        ]
    }

    /// Empties all fields.
    pub(super) fn clear(&mut self) {
        self.fields_mut().into_iter().for_each(Vec::clear);
    }

    /// Appends the row to `out`, followed by `separator`.
    fn write(&mut self, out: &mut Vec<u8>, separator: u8) {
        let mut is_first = true;
        for field in self.fields_mut() {
            if !is_first {
                out.push(b'\t');
            }
            is_first = false;
            push_escaped(out, field);
        }
        out.push(separator);
    }
}

/// Appends `field` with tabs and all bytes that may end a line escaped.
fn push_escaped(out: &mut Vec<u8>, field: &[u8]) {
    for byte in field {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\x00"),
            byte => out.push(*byte),
        }
    }
}

/// Why there are no more rows.
pub(crate) enum Flaw {
    /// The bytes end inside a record that began at this byte.
    Cut(u64),
    /// The bytes are invalid: a message without the name of the file.
    Shape(Error),
}

/// Reads a container record by record.
pub(crate) trait Parser: Send {
    /// Reads the next record that becomes a row into `row`, which must be empty. `false` at the
    /// end.
    ///
    /// Memory: bounded by the limit given to the parser, however long the record is.
    fn next(&mut self, from: &mut Decoded, row: &mut Row) -> Result<bool, Flaw>;

    /// What the format calls its records, in messages.
    fn unit(&self) -> &'static str;
}

/// The records of a container as rows.
pub(crate) struct Rows {
    from: Decoded,
    parser: Box<dyn Parser>,
    separator: u8,
    row: Row,
    flaw: Option<Flaw>,
}

impl Rows {
    /// The rows that `parser` finds in `from`, each followed by `separator`.
    pub(crate) fn new(from: Decoded, parser: Box<dyn Parser>, separator: u8) -> Self {
        Rows { from, parser, separator, row: Row::default(), flaw: None }
    }

    /// Appends rows of `bytes` bytes in all, rounded up to a whole row, to `buffer`, or fewer at
    /// the end. Rows before an error are kept.
    pub(crate) fn fill(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        let goal = buffer.len() + bytes;
        while buffer.len() < goal {
            self.row.clear();
            match self.parser.next(&mut self.from, &mut self.row) {
                Ok(true) => self.row.write(buffer, self.separator),
                Ok(false) if !self.from.is_damaged() => break,
                Ok(false) => return Err(io::ErrorKind::InvalidData.into()),
                Err(flaw) => {
                    self.flaw = Some(flaw);
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(())
    }

    /// The message for the error that [`Rows::fill`] has returned.
    pub(crate) fn explain(&mut self, shown: &str) -> Error {
        // An error of the parser may come from damage below it.
        if let Some(error) = self.from.take_error(shown) {
            return error;
        }
        match self.flaw.take() {
            Some(Flaw::Shape(error)) => error.at(shown),
            Some(Flaw::Cut(at)) => Error::input(format!(
                "{shown}: expected the end of the {} that begins at byte {at}, found the end of the \
                 file at byte {}; the file is cut short, get it again",
                self.parser.unit(),
                self.from.at(),
            )),
            None => Error::internal("an error in a container without a reason"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::input::decode::reader::Reader;

    /// The rows in `bytes`, shown, and the error after them.
    pub(crate) fn rows(parser: Box<dyn Parser>, bytes: &[u8]) -> (Vec<String>, Option<String>) {
        let reader = Reader::Test(Box::new(io::Cursor::new(bytes.to_vec())));
        let mut rows = Rows::new(Decoded::new(reader, Vec::new(), false, None), parser, b'\n');
        let mut buffer = Vec::new();
        let error = rows.fill(&mut buffer, usize::MAX >> 1).err().map(|_| rows.explain("a"));
        let lines = buffer.strip_suffix(b"\n").unwrap_or(&buffer).split(|byte| *byte == b'\n');
        let lines = lines.filter(|_| !buffer.is_empty());
        // Tabs are what matters here, so they are not shown as escapes are.
        let shown = |line: &[u8]| {
            let fields: Vec<_> =
                line.split(|byte| *byte == b'\t').map(|f| show(f).to_string()).collect();
            fields.join("|").trim_end_matches('|').to_string()
        };
        (lines.map(shown).collect(), error.map(|error| error.to_string()))
    }

    #[test]
    fn rows_hold_no_separators() {
        let mut row = Row::default();
        row.url.extend_from_slice(b"a\tb\nc\rd\\e\0f");
        row.agent.push(b'x');
        let mut out = Vec::new();
        row.write(&mut out, 0);
        assert_eq!(out, b"a\\tb\\nc\\rd\\\\e\\x00f\t\t\t\t\t\t\t\t\tx\t\0");
        row.clear();
        out.clear();
        row.write(&mut out, b'\n');
        assert_eq!(out, b"\t\t\t\t\t\t\t\t\t\t\n");
    }
}
