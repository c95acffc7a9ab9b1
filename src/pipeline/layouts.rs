//! The layout of every chunk: which format its lines have, as far as the lines before it say.

use std::ops::Deref;
use std::sync::Arc;

use super::Job;
use crate::error::Result;
use crate::input::{Chunk, Container};
use crate::record::formats::{self, FieldMap};
use crate::record::{BaseUrl, Filter, Layout, LineFormat, Reading, detect, row_bytes};

/// How the records of a job's files are found.
#[derive(Clone, Debug, Default)]
pub struct FormatPlan {
    /// The format of all files; each is recognized by its content if it is not given.
    pub format: Option<FormatChoice>,
    /// The host of paths that have none in their line.
    pub base: Option<Arc<BaseUrl>>,
    /// Which records count; without one all do.
    pub filter: Option<Arc<Filter>>,
}

/// A format that somebody has asked for.
#[derive(Clone, Debug)]
pub enum FormatChoice {
    /// By name; its columns are told by the file.
    Named(String),
    /// By name, or as recognized, with columns as told.
    Fields(Option<String>, FieldMap),
    /// As it is.
    Given(Arc<dyn LineFormat>),
}

/// A chunk, and how its lines hold URLs.
#[derive(Debug)]
pub(super) struct Parcel {
    chunk: Chunk,
    pub(super) layout: Layout,
    /// How much of the whole input had been read with it, from 0 to 1, if its size is known.
    pub(super) share_read: Option<f64>,
}

impl Deref for Parcel {
    type Target = Chunk;

    fn deref(&self) -> &Chunk {
        &self.chunk
    }
}

impl Parcel {
    /// A chunk of lines that hold a URL each.
    #[cfg(test)]
    pub(super) fn of_lines(chunk: Chunk, share_read: Option<f64>) -> Parcel {
        Parcel { chunk, layout: Layout::default(), share_read }
    }

    /// Makes the chunk hold `ticket`; see [`Chunk::hold`].
    pub(super) fn hold(&mut self, ticket: impl Send + Sync + 'static) {
        self.chunk.hold(ticket);
    }

    /// Ends the use of the chunk; see [`Chunk::leave`].
    pub(super) fn leave(self) {
        self.chunk.leave();
    }
}

/// Gives the chunks of a job their layouts, in input order.
#[derive(Debug)]
pub(super) struct Layouts {
    plan: FormatPlan,
    reading: Reading,
    /// The file that is read, and the layout from here on.
    current: Option<(usize, Layout)>,
    /// A chunk whose last row is not over.
    held: Option<Chunk>,
}

impl Layouts {
    /// For all files of `job`.
    pub(super) fn new(job: &Job) -> Layouts {
        Layouts { plan: job.format.clone(), reading: job.reading(), current: None, held: None }
    }

    /// The parcel of `chunk`, or of the chunk before it, or of both; nothing if it has to wait for
    /// the next. `None` at the end of the input. Its file is a `container`, or lines.
    ///
    /// Failure: the format of a file cannot be told.
    pub(super) fn lay_out(
        &mut self,
        chunk: Option<Chunk>,
        container: Option<Container>,
    ) -> Result<Vec<Parcel>> {
        let mut ready = Vec::new();
        let Some(mut chunk) = chunk else {
            ready.extend(self.held.take().map(|chunk| self.parcel(chunk)));
            return Ok(ready);
        };
        if let Some(held) = self.held.take() {
            if held.file() == chunk.file() && chunk.overlong().is_none() {
                let joined = held.followed_by(&chunk);
                held.verify()?;
                chunk.verify()?;
                chunk = joined;
            } else {
                ready.push(self.parcel(held));
            }
        }
        if self.current.as_ref().is_none_or(|(file, _)| *file != chunk.file()) {
            let layout = self.layout_of_file(&chunk, container)?;
            self.current = Some((chunk.file(), layout));
        }
        if self.is_open(&chunk) {
            self.held = Some(chunk);
        } else {
            ready.push(self.parcel(chunk));
        }
        Ok(ready)
    }

    /// The number of the file that is read, and how its lines hold URLs.
    pub(super) fn current(&self) -> Option<(usize, &Layout)> {
        self.current.as_ref().map(|(file, layout)| (*file, layout))
    }

    fn layout_of_file(&self, chunk: &Chunk, container: Option<Container>) -> Result<Layout> {
        let bytes = if chunk.overlong().is_some() { &[] } else { chunk.bytes() };
        let mut layout = match &self.plan.format {
            _ if container.is_some() => {
                let rows = container.map(|container| formats::rows(container.name()));
                Layout { format: rows, ..Layout::default() }
            }
            None => detect::detect(bytes, self.reading)?,
            Some(FormatChoice::Named(name)) => detect::as_told(name, bytes, self.reading)?,
            Some(FormatChoice::Fields(name, fields)) => {
                detect::with_fields(name.as_deref(), fields, bytes, self.reading)?
            }
            Some(FormatChoice::Given(format)) => {
                Layout { format: Some(Arc::clone(format)), ..Layout::default() }
            }
        };
        layout.base.clone_from(&self.plan.base);
        layout.filter.clone_from(&self.plan.filter);
        Ok(layout)
    }

    /// Does the last row of `chunk` go on in the next?
    fn is_open(&self, chunk: &Chunk) -> bool {
        let Some((_, Layout { format: Some(format), .. })) = &self.current else { return false };
        let Some(delimiter) = format.quoted_rows() else { return false };
        let Reading { separator, line_bytes_max, .. } = self.reading;
        let mut rest = chunk.bytes();
        if chunk.overlong().is_some() || memchr::memchr(b'"', rest).is_none() {
            return false;
        }
        while !rest.is_empty() {
            // As `Entries` does: what does not end in time is cut at its line.
            let row = row_bytes(rest, delimiter, separator, line_bytes_max);
            if row.is_none() && rest.len() <= line_bytes_max {
                return true;
            }
            let end = row.or_else(|| memchr::memchr(separator, rest)).unwrap_or(rest.len());
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        false
    }

    /// The chunk with the layout at its start; the lines in it may change it for the next.
    fn parcel(&mut self, chunk: Chunk) -> Parcel {
        let Some((_, current)) = &mut self.current else {
            return Parcel { chunk, layout: Layout::default(), share_read: None };
        };
        let layout = current.clone();
        if let Some(format) = &layout.format
            && !format.header_prefix().is_empty()
            && chunk.overlong().is_none()
        {
            let header = last_header(chunk.bytes(), format.header_prefix(), self.reading.separator);
            if let Some(format) = header.and_then(|header| format.after(header)) {
                current.format = Some(format);
            }
        }
        Parcel { chunk, layout, share_read: None }
    }
}

/// The last line of `chunk` that starts with `prefix`.
fn last_header<'a>(chunk: &'a [u8], prefix: &[u8], separator: u8) -> Option<&'a [u8]> {
    let finder = memchr::memmem::FinderRev::new(prefix);
    let mut end = chunk.len();
    while let Some(at) = finder.rfind(&chunk[..end]) {
        if at == 0 || chunk[at - 1] == separator {
            let line = &chunk[at..];
            let line = &line[..memchr::memchr(separator, line).unwrap_or(line.len())];
            return Some(line.strip_suffix(b"\r").unwrap_or(line));
        }
        end = at;
    }
    None
}
