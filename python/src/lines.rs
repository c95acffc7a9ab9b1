//! Lines of a list, a log or an index to URLs and what else they say.

use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use undust::limits::LINE_BYTES_MAX;
use undust::record::{
    BaseUrl, Entries, Entry, Layout, ReadOptions, Record, Workspace, detect, formats,
    without_no_host,
};

use crate::column::{Column, Made};
use crate::error::{UndustError, raised};

/// How the lines of some files hold URLs.
#[pyclass(frozen, module = "undust._native")]
pub(crate) struct Lines {
    layout: Layout,
    options: ReadOptions,
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
        let mut layout = layout_of(format, sample, options)?;
        if let Some(base) = base_url {
            let base = base_of(base)?;
            if layout.format.is_none() {
                layout.format = Some(formats::relative_lines(&base));
            }
            layout.base = Some(Arc::new(base));
        }
        let why = match layout.name() {
            "w3c" | "cloudfront" => "its columns may change from line to line; use the program",
            _ if layout.format.as_ref().is_some_and(|format| format.quoted_rows().is_some()) => {
                "its rows may go over several lines; read it as a table, and take its column of URLs"
            }
            _ => return Ok(Lines { layout, options }),
        };
        Err(UndustError::new_err(format!("format {}: {why}", layout.name())))
    }

    /// The name of the format.
    #[getter]
    fn format(&self) -> &'static str {
        self.layout.name()
    }

    /// Why a file that begins with `sample` is not read as the lines of this format, if it is so.
    fn refuses(&self, sample: &[u8]) -> Option<String> {
        let starts = [&b"WARC/"[..], b"filedesc:", b"PAR1", b"<?xml", b"<urlset", b"<sitemapindex"];
        if starts.iter().any(|start| sample.trim_ascii_start().starts_with(start)) {
            return Some("its records are no lines".to_string());
        }
        let other = detect::detect(sample, self.options).ok()?;
        let is_blank = sample.trim_ascii().is_empty();
        let is_same = other.name() == self.layout.name()
            && (other.is_list() || format!("{:?}", other.format) == self.shown());
        (!is_same && !is_blank).then(|| match other.name() == self.layout.name() {
            true => format!("it has other columns of {}", other.name()),
            false => format!("it looks like {}, not like {}", other.name(), self.layout.name()),
        })
    }

    /// What the lines of a column say: a column of URLs, one of reasons why there is none (empty
    /// where there is one; `empty` and `comment` are no rejects), and one for each field.
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
                    reader.read(column.row(row));
                }
                reader.made
            })
        })?;
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
    /// The format with its columns; the host of paths is not the file's.
    fn shown(&self) -> String {
        format!("{:?}", self.layout.format)
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
    match known.plain {
        Some(plain) if sample.trim_ascii().is_empty() => {
            Ok(Layout { format: Some(plain()), ..Layout::default() })
        }
        None if sample.trim_ascii().is_empty() => Err(UndustError::new_err(format!(
            "format {name}: its columns are told by the first lines of a file; give them as sample"
        ))),
        _ => detect::as_told(name, sample, options).map_err(raised),
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
        let Lines { layout, options } = self.lines;
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
