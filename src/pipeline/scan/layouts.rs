//! Finds the layout of every chunk: the format of its lines, as far as it is known from earlier
//! lines.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::Result;
use crate::input::{Chunk, Container};
use crate::pipeline::Job;
use crate::record::{
    BaseUrl, FieldMap, Layout, LineFormat, QuotedRows, ReadOptions, RecordFilter, bom_bytes,
    detect, formats,
};

/// How the records of a job's files are found.
#[derive(Clone, Debug, Default)]
pub struct FormatPlan {
    /// The format of all files; if it is not given, each is detected from its content.
    pub format: Option<FormatChoice>,
    /// Is the content of a file examined first? Then `format` counts if the content is
    /// inconclusive, and its columns if the file has them.
    pub content_first: bool,
    /// The host of paths without one in their line.
    pub base: Option<Arc<BaseUrl>>,
    /// Which records count; without one all do.
    pub filter: Option<Arc<RecordFilter>>,
}

impl FormatPlan {
    /// How many bytes at the start of a file are needed to detect its format or its columns; 0 if
    /// the user has named them.
    pub(super) fn sample_bytes(&self) -> usize {
        match &self.format {
            _ if self.content_first => detect::SAMPLE_BYTES,
            Some(FormatChoice::Given(_)) => 0,
            Some(FormatChoice::Named(name)) if name == Layout::LINES => 0,
            _ => detect::SAMPLE_BYTES,
        }
    }
}

/// A format that was asked for.
#[derive(Clone, Debug)]
pub enum FormatChoice {
    /// A format by name, whose columns the file names.
    Named(String),
    /// A format by name, or as detected, with given columns.
    Fields(Option<String>, FieldMap),
    /// A format that is complete.
    Given(Arc<dyn LineFormat>),
}

/// A chunk and its layout: how its lines hold URLs.
#[derive(Debug)]
pub(crate) struct Parcel {
    chunk: Chunk,
    pub(crate) layout: Layout,
    /// How much of the whole input had been read at the end of this chunk, from 0 to 1, if its size
    /// is known.
    pub(crate) fraction_read: Option<f64>,
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
    pub(super) fn of_lines(chunk: Chunk, fraction_read: Option<f64>) -> Parcel {
        Parcel { chunk, layout: Layout::default(), fraction_read }
    }

    /// Makes the chunk hold `ticket`; see [`Chunk::hold`].
    pub(super) fn hold(&mut self, ticket: impl Send + Sync + 'static) {
        self.chunk.hold(ticket);
    }

    /// Ends the use of the chunk; see [`Chunk::release`].
    pub(crate) fn release(self) {
        self.chunk.release();
    }
}

/// Gives the chunks of a job their layouts, in input order.
#[derive(Debug)]
pub(super) struct Layouts {
    plan: FormatPlan,
    options: ReadOptions,
    /// The current file, and the layout from here on.
    current: Option<(usize, Layout)>,
    /// The latest header of its lines.
    header: Vec<u8>,
    /// Was there a different header before?
    columns_change: bool,
    held: Held,
}

/// Pieces of a file that wait for the end of a row, from the start of the row to the end of the
/// last chunk. A quote of the row is open at the end of each line.
///
/// Invariant: `bytes`, the sum over all pieces, is no more than a line may have. It is not part of
/// the memory of chunks in flight; mapped pieces take none.
#[derive(Debug, Default)]
struct Held {
    pieces: VecDeque<Chunk>,
    bytes: usize,
}

impl Layouts {
    /// Begins, for all files of `job`.
    pub(super) fn new(job: &Job) -> Layouts {
        Layouts {
            plan: job.format.clone(),
            options: job.read_options(),
            current: None,
            header: Vec::new(),
            columns_change: false,
            held: Held::default(),
        }
    }

    /// Returns the parcels of `chunk` and of the pieces held from earlier chunks: all rows that end
    /// in it. `chunk` is `None` at the end of the input. `container` is that of its file, if it is
    /// one.
    ///
    /// - Shape: no parcel is longer than a chunk, or than a row that may be as long as a line.
    /// - Cost: linear in the chunks. Only rows that begin in one chunk and end in another are
    ///   copied.
    /// - Failure: the format of a file cannot be detected, or a mapped file was cut short.
    pub(super) fn lay_out(
        &mut self,
        chunk: Option<Chunk>,
        container: Option<Container>,
    ) -> Result<Vec<Parcel>> {
        let mut ready = Vec::new();
        let held_file = self.held.pieces.front().map(Chunk::file);
        let goes_on = |chunk: &Chunk| {
            chunk.overlong().is_none() && held_file.is_none_or(|file| file == chunk.file())
        };
        if !chunk.as_ref().is_some_and(goes_on) {
            // That row never ends: each of its lines is a row then.
            let pieces = std::mem::take(&mut self.held).pieces;
            ready.extend(pieces.into_iter().map(|piece| self.parcel(piece)));
        }
        let Some(chunk) = chunk else { return Ok(ready) };
        if self.current.as_ref().is_none_or(|(file, _)| *file != chunk.file()) {
            // The start of an overlong line does not show the format of a file; the lines after it
            // do.
            let shows = chunk.overlong().is_none() || container.is_some();
            let layout = shows.then(|| self.layout_of_file(&chunk, container)).transpose()?;
            self.current = layout.map(|layout| (chunk.file(), layout));
            self.header.clear();
            self.columns_change = false;
        }
        match self.quoted_rows().filter(|_| chunk.overlong().is_none()) {
            None => ready.push(self.parcel(chunk)),
            Some(rows) => {
                let mut closed = Vec::new();
                self.held.pass(chunk, &rows, self.options, &mut closed)?;
                ready.extend(closed.into_iter().map(|chunk| self.parcel(chunk)));
            }
        }
        Ok(ready)
    }

    /// How rows end, if they may span several lines.
    fn quoted_rows(&self) -> Option<QuotedRows> {
        let (_, layout) = self.current.as_ref()?;
        let delimiter = layout.format.as_ref()?.quoted_rows()?;
        let ReadOptions { separator, line_bytes_max, .. } = self.options;
        Some(QuotedRows::new(delimiter, separator, line_bytes_max))
    }

    /// The number of the current file, the layout of its lines, and whether their columns have
    /// changed.
    pub(super) fn current(&self) -> Option<(usize, &Layout, bool)> {
        self.current.as_ref().map(|(file, layout)| (*file, layout, self.columns_change))
    }

    fn layout_of_file(&self, chunk: &Chunk, container: Option<Container>) -> Result<Layout> {
        let bytes = chunk.bytes();
        let mut layout = match &self.plan.format {
            _ if container.is_some() => {
                let rows = container.map(|container| formats::container_rows(container.name()));
                Layout { format: rows, ..Layout::default() }
            }
            None => detect::detect(bytes, self.options)?,
            Some(choice) if self.plan.content_first => self.by_content(choice, bytes)?,
            Some(choice) => self.as_told(choice, bytes)?,
        };
        if let (None, Some(base)) = (&layout.format, &self.plan.base) {
            layout.format = Some(formats::relative_lines(base));
        }
        let is_told = self.plan.format.is_some();
        layout.first_lines = detect::first_lines(bytes, &layout, is_told, self.options).into();
        layout.base.clone_from(&self.plan.base);
        layout.filter.clone_from(&self.plan.filter);
        self.share_format(&mut layout);
        Ok(layout)
    }

    /// Lets a file have the format of the file before it if the two are equal. Reason: the layouts
    /// of all files are kept, and the header of a table may be long.
    fn share_format(&self, layout: &mut Layout) {
        let before = self.current.as_ref().and_then(|(_, before)| before.format.as_ref());
        if let (Some(format), Some(before)) = (&mut layout.format, before)
            && **format == **before
        {
            *format = Arc::clone(before);
        }
    }

    /// Returns the layout of a file that starts with `bytes`, as it was asked for.
    fn as_told(&self, choice: &FormatChoice, bytes: &[u8]) -> Result<Layout> {
        match choice {
            FormatChoice::Named(name) => detect::as_told(name, bytes, self.options),
            FormatChoice::Fields(name, fields) => {
                detect::with_fields(name.as_deref(), fields, bytes, self.options)
            }
            FormatChoice::Given(format) => {
                Ok(Layout { format: Some(Arc::clone(format)), ..Layout::default() })
            }
        }
    }

    /// Detects the layout of a file that starts with `bytes`. It is the one that was asked for if
    /// the file has the columns asked for, or if the content is inconclusive.
    fn by_content(&self, choice: &FormatChoice, bytes: &[u8]) -> Result<Layout> {
        if matches!(choice, FormatChoice::Fields(..))
            && let Ok(layout) = self.as_told(choice, bytes)
            && detect::understands(&layout, bytes, self.options)
        {
            return Ok(layout);
        }
        match detect::detect(bytes, self.options) {
            // Its lines may be of the format that was asked for.
            Ok(layout) if layout.headerless().is_some_and(|table| table.url_column == 1) => {
                let told = self.as_told(choice, bytes);
                let fits = |told: &Layout| detect::understands(told, bytes, self.options);
                Ok(told.ok().filter(fits).unwrap_or(layout))
            }
            Ok(layout) if !layout.is_last_resort() => Ok(layout),
            unsure => self.as_told(choice, bytes).or(unsure),
        }
    }

    /// Joins the chunk with the layout at its start. Its lines may change the layout of the next
    /// chunk.
    fn parcel(&mut self, chunk: Chunk) -> Parcel {
        let Some((_, current)) = &mut self.current else {
            return Parcel { chunk, layout: Layout::default(), fraction_read: None };
        };
        let layout = current.clone();
        if let Some(format) = &layout.format
            && !format.header_prefix().is_empty()
            && chunk.overlong().is_none()
        {
            for header in headers(chunk.bytes(), format.header_prefix(), self.options.separator) {
                // Servers repeat their header.
                if header == self.header {
                    continue;
                }
                let Some(format) = format.with_header(header) else { continue };
                current.format = Some(format);
                self.columns_change |= !self.header.is_empty();
                self.header.clear();
                self.header.extend_from_slice(header);
            }
        }
        Parcel { chunk, layout, fraction_read: None }
    }
}

impl Held {
    /// Moves the pieces that are held, and `chunk`, which follows them, to `ready`, up to the last
    /// row that has ended; holds the rest.
    fn pass(
        &mut self,
        chunk: Chunk,
        rows: &QuotedRows,
        options: ReadOptions,
        ready: &mut Vec<Chunk>,
    ) -> Result<()> {
        let mut rest = Some(chunk);
        if !self.pieces.is_empty()
            && let Some(chunk) = rest.take()
        {
            let end = rows.end_of_open(chunk.bytes());
            let inside = end.unwrap_or(chunk.bytes().len());
            // As `Entries` does: a row that gets too long is cut at the end of its line.
            self.cut_rows(inside, rows, options.line_bytes_max, ready);
            rest = match end {
                // A row that begins in the held pieces ends in the chunk.
                Some(end) if !self.pieces.is_empty() => {
                    let [first, behind] = chunk.split(end + 1);
                    let pieces: Vec<Chunk> = self.pieces.drain(..).chain(first).collect();
                    self.bytes = 0;
                    ready.push(Chunk::joined(&pieces)?);
                    behind
                }
                None if !self.pieces.is_empty() => {
                    self.hold(chunk);
                    None
                }
                _ => Some(chunk),
            };
        }
        let Some(chunk) = rest else { return Ok(()) };
        let mark = if chunk.starts_file() { bom_bytes(chunk.bytes(), options) } else { 0 };
        let [closed, open] = split_open_row(chunk, mark, rows);
        ready.extend(closed);
        open.into_iter().for_each(|open| self.hold(open));
        Ok(())
    }

    /// Moves the rows at the front to `ready` that are longer than `bytes_max` together with the
    /// `inside` bytes that follow the held pieces, cut at their lines, and the rows after them that
    /// have ended. The row that is then at the front, if any, is still open.
    fn cut_rows(
        &mut self,
        inside: usize,
        rows: &QuotedRows,
        bytes_max: usize,
        ready: &mut Vec<Chunk>,
    ) {
        if self.bytes + inside <= bytes_max {
            return;
        }
        while let Some(piece) = self.pieces.pop_front() {
            let (text, mut end) = (piece.bytes(), 0);
            while end < text.len() {
                let (line_bytes, is_open) = rows.line(&text[end..]);
                if is_open && self.bytes - end + inside <= bytes_max {
                    break;
                }
                end += line_bytes;
            }
            self.bytes -= end;
            let [cut, rest] = piece.split(end);
            ready.extend(cut);
            if let Some(rest) = rest {
                self.pieces.push_front(rest);
                break;
            }
        }
    }

    fn hold(&mut self, chunk: Chunk) {
        self.bytes += chunk.bytes().len();
        let kept = match self.pieces.back_mut() {
            Some(last) => last.take_in(chunk),
            None => Some(chunk),
        };
        self.pieces.extend(kept);
    }
}

/// Splits `chunk` into the rows that end in it, and the one that does not. A byte order mark, of
/// `mark` bytes, is not part of the first row; it stays before the rows that end, which include the
/// header.
fn split_open_row(chunk: Chunk, mark: usize, rows: &QuotedRows) -> [Option<Chunk>; 2] {
    let text = chunk.bytes();
    if memchr::memchr(b'"', text).is_none() {
        return [Some(chunk), None];
    }
    let closed = mark + rows.closed_bytes(&text[mark..]);
    chunk.split(closed)
}

/// The lines of `chunk` that start with `prefix`.
fn headers<'a>(chunk: &'a [u8], prefix: &'a [u8], separator: u8) -> impl Iterator<Item = &'a [u8]> {
    let starts = memchr::memmem::find_iter(chunk, prefix);
    starts.filter(move |at| *at == 0 || chunk[at - 1] == separator).map(move |at| {
        let line = &chunk[at..];
        let line = &line[..memchr::memchr(separator, line).unwrap_or(line.len())];
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::input::{Input, InputPlan};
    use crate::record::{Entries, Entry, Workspace};

    /// The parcels of a file with `text`, whose rows are separated by commas; `map`ped or read.
    fn parcels(text: &[u8], map: bool, chunk_bytes: usize, line_bytes_max: usize) -> Vec<Parcel> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let plan = InputPlan {
            paths: vec![file.path().to_path_buf()],
            chunk_bytes,
            line_bytes_max,
            map,
            map_bytes_min: 0,
            ..InputPlan::default()
        };
        let format = formats::with_fields(None, &[b"url,title"], &FieldMap::parse("url").unwrap());
        let mut layouts = Layouts {
            plan: FormatPlan {
                format: Some(FormatChoice::Given(format.unwrap())),
                ..FormatPlan::default()
            },
            options: options(line_bytes_max),
            current: None,
            header: Vec::new(),
            columns_change: false,
            held: Held::default(),
        };
        let mut all = Vec::new();
        let chunks = Input::open(&plan).unwrap().map(|chunk| Some(chunk.unwrap()));
        for chunk in chunks.chain([None]) {
            all.extend(layouts.lay_out(chunk, None).unwrap());
            let held: usize = layouts.held.pieces.iter().map(|piece| piece.bytes().len()).sum();
            assert!(layouts.held.bytes == held && held <= line_bytes_max, "{held}");
        }
        assert_eq!(layouts.held.bytes, 0);
        all
    }

    fn options(line_bytes_max: usize) -> ReadOptions {
        ReadOptions { separator: b'\n', line_bytes_max, verbatim: false, fields: true }
    }

    /// The kind of every entry of `parcels`, and its row, or how it starts.
    fn entries(parcels: &[Parcel], line_bytes_max: usize) -> Vec<(String, Vec<u8>)> {
        let options = options(line_bytes_max);
        let mut workspace = Workspace::default();
        let mut all = Vec::new();
        for parcel in parcels {
            let (bytes, starts_file) = (parcel.bytes(), parcel.starts_file());
            let mut entries = match parcel.overlong() {
                Some(_) => Entries::overlong(bytes, options, &mut workspace),
                None => Entries::new(bytes, starts_file, options, &parcel.layout, &mut workspace),
            };
            while let Some(entry) = entries.next() {
                let (kind, row) = match entry {
                    Entry::Record(record) => ("record".to_string(), record.line),
                    Entry::Empty(row) => ("empty".to_string(), row),
                    Entry::Comment(row) => ("comment".to_string(), row),
                    Entry::Filtered(row) => ("filtered".to_string(), row),
                    Entry::Reject(kind, row) => (kind.to_string(), &row[..row.len().min(1000)]),
                };
                all.push((kind, row.to_vec()));
            }
        }
        all
    }

    #[test]
    fn no_parcel_is_longer_than_a_chunk_or_a_row() {
        let row = format!("http://a.test/,\"{}\"\n", "a line of a text\n".repeat(18 << 10));
        assert!(row.len() > 300 << 10);
        let text = row.repeat(8);
        let whole = parcels(text.as_bytes(), false, 16 << 20, 1 << 20);
        let whole = entries(&whole, 1 << 20);
        assert_eq!(whole.len(), 8);
        for map in [false, true] {
            let parcels = parcels(text.as_bytes(), map, 64 << 10, 1 << 20);
            let sizes: Vec<usize> = parcels.iter().map(|parcel| parcel.bytes().len()).collect();
            assert_eq!((sizes.iter().sum(), sizes.iter().max()), (text.len(), Some(&row.len())));
            assert!(entries(&parcels, 1 << 20) == whole, "{map}");
        }
    }

    #[test]
    fn rows_that_end_in_their_chunk_are_not_copied() {
        let row = "http://a.test/,\"two\nlines\"\n";
        let text = row.repeat(1000);
        // Some chunks end inside a row.
        let parcels = parcels(text.as_bytes(), true, 1020, 1 << 20);
        let copied = parcels.iter().map(|parcel| parcel.memory_bytes()).sum::<usize>();
        assert!(copied > 0 && copied <= row.len() * text.len() / 960, "{copied}");
    }

    /// Takes seconds; it would take hours if each line were searched up to the longest one, or
    /// copied that often.
    #[test]
    fn quotes_that_stay_open_take_linear_time() {
        let text = "\"ab\",\"c\n".repeat(1 << 20);
        for chunk_bytes in [16 << 10, 4 << 20] {
            let parcels = parcels(text.as_bytes(), true, chunk_bytes, 1 << 20);
            let longest = parcels.iter().map(|parcel| parcel.bytes().len()).max();
            assert!(longest <= Some(chunk_bytes), "{longest:?}");
            assert_eq!(parcels.iter().map(|parcel| parcel.memory_bytes()).sum::<usize>(), 0);
            assert_eq!(entries(&parcels, 1 << 20).len(), 1 << 20);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..<_>::default() })]

        /// Neither rows nor their kinds depend on how the file is cut, wherever there are quotes.
        #[test]
        fn how_rows_are_cut_does_not_show(
            text in "(\u{feff})?([a,\"\n]|,\"|\"\"|\"\n){0,40}",
            line_bytes_max in 1usize..40,
            map: bool,
        ) {
            let whole = parcels(text.as_bytes(), map, 1 << 10, line_bytes_max);
            let whole = entries(&whole, line_bytes_max);
            for chunk_bytes in 1..20 {
                let parcels = parcels(text.as_bytes(), map, chunk_bytes, line_bytes_max);
                let all: usize = parcels.iter().map(|parcel| parcel.bytes().len()).sum();
                prop_assert!(parcels.iter().any(|one| one.overlong().is_some()) || all == text.len());
                prop_assert_eq!(&entries(&parcels, line_bytes_max), &whole, "{}", chunk_bytes);
            }
        }
    }
}
