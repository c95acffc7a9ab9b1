//! Lines of a list, a log or an index to URLs and what else they say.

use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use undust::Reject;
use undust::bytes::show;
use undust::limits::LINE_BYTES_MAX;
use undust::record::{
    BaseUrl, Entries, Entry, Layout, LineFormat, ReadOptions, Record, Workspace, detect, formats,
    without_no_host,
};

use crate::column::{Column, Made};
use crate::error::{UndustError, message, raised};
use crate::head::without_lines;

/// Bytes of a line that a message shows.
const HEADER_BYTES_SHOWN: usize = 80;

/// How the lines of some files hold URLs.
#[pyclass(frozen, module = "undust._native")]
pub(crate) struct Lines {
    layout: Layout,
    options: ReadOptions,
    /// Was the format named, not recognized?
    is_named: bool,
}

/// One column, as `ends` and `bytes`.
type Texts<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

#[pymethods]
impl Lines {
    /// The lines of a `format`, or of the one that the first lines, a `sample`, are of. A format
    /// whose columns are told by the file needs the sample as well. `verbatim`: every byte of a
    /// line of a list is a part of its URL.
    #[new]
    fn new(
        format: Option<&str>,
        sample: &[u8],
        base_url: Option<&str>,
        verbatim: bool,
    ) -> PyResult<Self> {
        let options = ReadOptions {
            separator: b'\n',
            line_bytes_max: LINE_BYTES_MAX,
            verbatim,
            fields: true,
        };
        if let Some(why) = without_lines(sample) {
            return Err(UndustError::new_err(why));
        }
        let mut layout = layout_of(format, sample, options)?;
        if let Some(base) = base_url {
            let base = base_of(base)?;
            if layout.format.is_none() {
                layout.format = Some(formats::relative_lines(&base));
            }
            layout.base = Some(Arc::new(base));
        }
        let why = match &layout.format {
            Some(format) if format.columns_may_change() => {
                "its columns may change from line to line; use the program"
            }
            Some(format) if format.quoted_rows().is_some() => {
                "its rows may go over several lines; read it as a table, and take its column of URLs"
            }
            _ => return Ok(Lines { layout, options, is_named: format.is_some() }),
        };
        Err(UndustError::new_err(format!("format {}: {why}", layout.name())))
    }

    /// The name of the format.
    #[getter]
    fn format(&self) -> &'static str {
        self.layout.name()
    }

    /// Why a file that begins with `sample` is not read as the lines of this format, if it is so,
    /// and what to do. Of a format that was named, lines of other formats are rejects, unless there
    /// are no others.
    fn refuses(&self, sample: &[u8]) -> Option<String> {
        if let Some(why) = without_lines(sample) {
            return Some(why);
        }
        if sample.trim_ascii().is_empty() {
            return None;
        }
        let name = self.layout.name();
        let other_columns = || format!("it has other columns of {name}; read it by itself");
        if self.is_named {
            let told = match detect::as_told(name, sample, self.options) {
                Ok(told) => told,
                Err(error) => return Some(message(&error)),
            };
            let is_same = self.layout.is_list() || told.format == self.layout.format;
            let has_header = |format: &Arc<dyn LineFormat>| !format.header_prefix().is_empty();
            if !is_same && self.layout.format.as_ref().is_some_and(has_header) {
                return Some(other_columns());
            }
            return self
                .reads_nothing(sample, is_same)
                .then(|| format!("none of its first lines is one of {name}; read it by itself"));
        }
        let other = detect::detect(sample, self.options).ok()?;
        let is_same =
            other.name() == name && (other.is_list() || other.format == self.layout.format);
        (!is_same).then(|| match other.name() == name {
            true => other_columns(),
            false => format!(
                "it looks like {}, not like {name}; read it by itself, or say the format of all \
                 files",
                other.name()
            ),
        })
    }

    /// What the lines of a column say: a column of URLs, one of reasons why there is none (empty
    /// where there is one; `empty` and `comment` are no rejects), and one for each field.
    ///
    /// Failure: if a line tells other columns than the first lines did.
    fn read<'py>(
        &self,
        py: Python<'py>,
        ends: PyBuffer<i64>,
        bytes: PyBuffer<u8>,
        fields: Vec<String>,
        threads: usize,
    ) -> PyResult<Vec<Texts<'py>>> {
        let is_list = self.layout.format.is_none();
        let fields: Vec<Field> =
            fields.iter().map(|name| field_of(name, is_list)).collect::<PyResult<_>>()?;
        let column = Column::read(py, &ends, &bytes)?;
        let pieces = py.detach(|| {
            column.by_pieces(threads, |rows| {
                let mut reader = Reader::new(self, &fields, rows.len());
                for row in rows {
                    reader.lines.check_header(column.row(row))?;
                    reader.read(column.row(row));
                }
                Ok(reader.made)
            })
        })?;
        let pieces: Vec<Vec<Made>> =
            pieces.into_iter().collect::<Result<_, String>>().map_err(UndustError::new_err)?;
        let mut columns: Vec<Vec<Made>> = (0..2 + fields.len()).map(|_| Vec::new()).collect();
        for piece in pieces {
            for (column, made) in columns.iter_mut().zip(piece) {
                column.push(made);
            }
        }
        columns.iter().map(|pieces| Made::joined(py, pieces)).collect()
    }
}

impl Lines {
    /// Is there no record in `sample`, because its lines are of another format, or, unless
    /// `is_same`, of other columns?
    fn reads_nothing(&self, sample: &[u8], is_same: bool) -> bool {
        let mut workspace = Workspace::default();
        let mut is_other = false;
        let mut entries = Entries::new(sample, false, self.options, &self.layout, &mut workspace);
        while let Some(entry) = entries.next() {
            match entry {
                Entry::Record(_) => return false,
                Entry::Reject(reject, _) => is_other |= !is_same || reject == Reject::Format,
                Entry::Comment(_) | Entry::Empty(_) | Entry::Filtered(_) => {}
            }
        }
        is_other
    }

    /// Checks that `line` does not tell other columns for what comes behind it. Lines are read one
    /// by one, and on Spark by several tasks: who reads them knows only the first header.
    ///
    /// Failure: if it does.
    fn check_header(&self, line: &[u8]) -> Result<(), String> {
        let Some(format) = &self.layout.format else { return Ok(()) };
        let prefix = format.header_prefix();
        if prefix.is_empty() || !line.starts_with(prefix) {
            return Ok(());
        }
        let other = format.with_header(line.strip_suffix(b"\r").unwrap_or(line));
        if other.is_none_or(|other| *other == **format) {
            return Ok(());
        }
        Err(format!(
            "expected the columns of the first lines ({}), found a line that tells others: \"{}\"; \
             cut the file there, and read both parts by themselves",
            self.layout.name(),
            show(&line[..line.len().min(HEADER_BYTES_SHOWN)])
        ))
    }
}

/// What an argument `base_url` says.
pub(crate) fn base_of(text: &str) -> PyResult<BaseUrl> {
    BaseUrl::parse(text).map_err(|error| raised(error.at(format_args!("base_url {text}"))))
}

fn layout_of(format: Option<&str>, sample: &[u8], options: ReadOptions) -> PyResult<Layout> {
    let name = match format {
        None => return detect::detect(sample, options).map_err(raised),
        Some(Layout::LINES) => return Ok(Layout::default()),
        Some(name) => name,
    };
    let Some(known) = formats::find(&name.to_ascii_lowercase()) else {
        let names: Vec<&str> = formats::names().map(|(name, _)| name).collect();
        return Err(UndustError::new_err(format!(
            "format {name:?}: no such format; expected one of {}",
            names.join(", ")
        )));
    };
    if !sample.trim_ascii().is_empty() {
        return detect::as_told(name, sample, options).map_err(raised);
    }
    match known.unseen() {
        Some(format) => Ok(Layout { format: Some(format), ..Layout::default() }),
        None => Err(UndustError::new_err(format!(
            "format {name}: its columns are told by the first lines of a file; give them as sample"
        ))),
    }
}

/// Something that a record says.
struct Field {
    of: for<'a> fn(&Record<'a>) -> &'a [u8],
    /// May it be escaped as texts are in this format?
    is_text: bool,
}

fn field_of(name: &str, is_list: bool) -> PyResult<Field> {
    let of: for<'a> fn(&Record<'a>) -> &'a [u8] = match name {
        // What is printed has the carriage returns at its end.
        "spelling" if is_list => |record| record.line,
        "spelling" => |record| record.spelling,
        "method" => |record| record.fields.method,
        "status" => |record| record.fields.status,
        "size" => |record| record.fields.size,
        "digest" => |record| record.fields.digest,
        "mime" => |record| record.fields.mime,
        "time" => |record| record.fields.time,
        "redirect" => |record| record.fields.redirect,
        "canonical_link" => |record| record.fields.canonical_link,
        "referrer" => |record| record.fields.referrer,
        "agent" => |record| record.fields.agent,
        other => {
            return Err(PyValueError::new_err(format!(
                "field {other:?}: expected spelling, method, status, size, digest, mime, time, \
                 redirect, canonical_link, referrer or agent"
            )));
        }
    };
    let texts = ["mime", "redirect", "canonical_link", "referrer", "agent"];
    Ok(Field { of, is_text: texts.contains(&name) })
}

/// What reads lines one by one, and what it has made so far: URLs, reasons, fields.
struct Reader<'a> {
    lines: &'a Lines,
    fields: &'a [Field],
    workspace: Workspace,
    text: Vec<u8>,
    made: Vec<Made>,
}

impl<'a> Reader<'a> {
    fn new(lines: &'a Lines, fields: &'a [Field], rows: usize) -> Self {
        let made = (0..2 + fields.len()).map(|_| Made::with_room(rows, 0)).collect();
        Reader { lines, fields, workspace: Workspace::default(), text: Vec::new(), made }
    }

    fn read(&mut self, line: &[u8]) {
        let Lines { layout, options, .. } = self.lines;
        let (urls, rest) = self.made.split_at_mut(1);
        let (reasons, values) = rest.split_at_mut(1);
        let mut without = |reason: &str, values: &mut [Made]| {
            urls[0].push(b"");
            reasons[0].push(reason.as_bytes());
            values.iter_mut().for_each(|value| value.push(b""));
        };
        if line.len() > options.line_bytes_max {
            return without(undust::Reject::LineTooLong.name(), values);
        }
        if line.is_empty() && options.verbatim && layout.is_list() {
            urls[0].push(b"");
            reasons[0].push(b"");
            return values.iter_mut().for_each(|value| value.push(b""));
        }
        let mut entries = Entries::new(line, false, *options, layout, &mut self.workspace);
        match entries.next() {
            // A path by itself is no URL, and what stands for its host is nobody's.
            Some(Entry::Record(record)) if without_no_host(record.url).len() < record.url.len() => {
                without("no-host", values);
            }
            Some(Entry::Record(record)) => {
                urls[0].push(record.url);
                reasons[0].push(b"");
                for (field, value) in self.fields.iter().zip(values) {
                    let text = (field.of)(&record);
                    value.push(match field.is_text {
                        true => record.fields.escapes.undo(text, &mut self.text),
                        false => text,
                    });
                }
            }
            Some(Entry::Reject(reject, _)) => without(reject.name(), values),
            Some(Entry::Comment(_)) => without("comment", values),
            Some(Entry::Empty(_) | Entry::Filtered(_)) | None => without("empty", values),
        }
    }
}
