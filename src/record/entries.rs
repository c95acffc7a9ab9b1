//! Reads the entries of a chunk, line by line, according to its layout.

use super::assemble::{Joined, NO_HOST, assemble};
use super::found::{Fields, Found, Parsed};
use super::layout::{Layout, ReadOptions};
use super::marked::{CommonLine, MarkedLines};
use super::quoted::{QuotedRows, Row};
use crate::bytes::lines::{STRETCH_BYTES, without_carriage_returns};
use crate::bytes::prefetch::prefetch;
use crate::bytes::{BOM, LineEnds, Lines};
use crate::reject::Reject;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A line with a URL.
    Record(Record<'a>),
    /// A line of blanks only.
    Empty(&'a [u8]),
    /// A header or a comment of the format.
    Comment(&'a [u8]),
    /// A line whose record the filter leaves out.
    Filtered(&'a [u8]),
    /// A line without a record: the reason, and the line or its start.
    Reject(Reject, &'a [u8]),
}

/// A URL and the line it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The line as it was read, without its separator.
    pub line: &'a [u8],
    /// The URL as it is shown: in a list the line, without the carriage returns at its end; a path
    /// where no host is known.
    pub spelling: &'a [u8],
    /// The URL in full.
    pub url: &'a [u8],
    /// What else the line says; perhaps nothing if [`ReadOptions::fields`] does not ask for it.
    pub fields: &'a Fields<'a>,
}

impl Record<'_> {
    /// Is it a path whose host is not known?
    pub fn is_path_alone(&self) -> bool {
        self.url.starts_with(NO_HOST) && self.spelling.starts_with(b"/")
    }
}

/// Reusable memory for URLs that are not slices of their lines.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The text that is parsed instead of a chunk; see [`LineFormat::unescaped_lines`].
    unescaped: Vec<u8>,
    tools: Tools,
}

#[derive(Debug, Default)]
struct Tools {
    url: Vec<u8>,
    text: Vec<u8>,
    /// For lines of lists.
    ends: LineEnds,
    /// For the common lines of a format.
    marked: MarkedLines,
    joined: Joined,
}

/// The entries of a chunk. Each borrows from this, so it is used in `while let`, not as an
/// iterator.
#[derive(Debug)]
pub struct Entries<'a> {
    mode: ReadMode,
    /// Is it a list, all of whose lines count?
    is_plain: bool,
    options: ReadOptions,
    layout: Layout,
    /// The lines that were not read yet; for lists, from the start of the stretch on.
    lines: Lines<'a>,
    /// The same lines with fewer escapes, if they are parsed in that spelling.
    unescaped: Option<Lines<'a>>,
    /// The start of the line that did not fit.
    overlong: Option<&'a [u8]>,
    /// Finds the ends of rows, if they may span several lines.
    quoted: Option<QuotedRows>,
    /// The marked part of `lines`, and where the next line starts in it; for lists, and for formats
    /// whose lines can be read by marks.
    stretch: &'a [u8],
    start: usize,
    tools: &'a mut Tools,
    /// The fields of the latest record.
    fields: Fields<'a>,
}

/// How entries are found.
#[derive(Clone, Copy, Debug)]
enum ReadMode {
    /// A URL on each line.
    List,
    /// By marks, in the common lines of a format.
    Marks(CommonLine),
    /// Row by row, as a format says.
    Format,
    /// There is only one: a line that did not fit.
    Overlong,
}

/// Bytes of the byte order mark that `text`, the start of a file, begins with. It counts towards
/// the line limit, as where chunks are cut; if the line is too long with it, it is part of the
/// line.
pub fn bom_bytes(text: &[u8], options: ReadOptions) -> usize {
    let line = Lines::new(text, options.separator).next().unwrap_or_default();
    let has_bom = text.starts_with(BOM) && line.len() <= options.line_bytes_max;
    if has_bom { BOM.len() } else { 0 }
}

/// The fields of a line of a list.
static NO_FIELDS: Fields<'static> = Fields::NONE;

impl<'a> Entries<'a> {
    /// The entries of `chunk`, which holds whole lines; `starts_file` if it is the first of its
    /// file.
    pub fn new(
        chunk: &'a [u8],
        starts_file: bool,
        options: ReadOptions,
        layout: &Layout,
        workspace: &'a mut Workspace,
    ) -> Self {
        let verbatim = options.verbatim && layout.format.is_none();
        let delimiter = layout.format.as_ref().and_then(|format| format.quoted_rows());
        let quoted =
            delimiter.map(|byte| QuotedRows::new(byte, options.separator, options.line_bytes_max));
        let mark = if starts_file && !verbatim { bom_bytes(chunk, options) } else { 0 };
        let chunk = &chunk[mark..];
        let Workspace { unescaped, tools } = workspace;
        let has_unescaped = layout.format.as_ref().is_some_and(|format| {
            unescaped.clear();
            format.unescaped_lines(chunk, options.separator, unescaped)
        });
        let lines = Lines::new(chunk, options.separator);
        let unescaped = has_unescaped.then(|| Lines::new(unescaped, options.separator));
        let layout = layout.clone();
        let common_line = layout.format.as_ref().and_then(|format| format.common_line());
        let common_line = common_line.filter(|_| options.separator == b'\n');
        let mode = match common_line {
            Some(common_line) => {
                tools.marked.clear();
                tools.joined.begin(layout.base.as_deref());
                ReadMode::Marks(common_line)
            }
            None if layout.format.is_some() => ReadMode::Format,
            None => {
                tools.ends.clear();
                ReadMode::List
            }
        };
        let (stretch, start, fields) = (&chunk[..0], 0, Fields::NONE);
        let is_plain = matches!(mode, ReadMode::List) && layout.filter.is_none();
        Entries {
            mode,
            is_plain,
            options,
            layout,
            lines,
            unescaped,
            overlong: None,
            quoted,
            stretch,
            start,
            tools,
            fields,
        }
    }

    /// One reject: a line that is too long for a chunk, and starts with `start`.
    pub fn overlong(start: &'a [u8], options: ReadOptions, workspace: &'a mut Workspace) -> Self {
        let entries = Self::new(&start[..0], false, options, &Layout::default(), workspace);
        Entries { mode: ReadMode::Overlong, is_plain: false, overlong: Some(start), ..entries }
    }

    /// The next entry, if it is a line of a list that needs no checks: not too long, and not empty.
    #[inline(always)]
    pub fn next_plain(&mut self) -> Option<Record<'a>> {
        if !self.is_plain {
            return None;
        }
        let end = self.tools.ends.peek()?;
        let line = &self.stretch[self.start..end];
        if line.len() > self.options.line_bytes_max || *line.last()? <= b' ' {
            return None;
        }
        prefetch_next_stretch(self.lines.rest(), self.start);
        self.tools.ends.pass();
        self.start = end + 1;
        Some(whole(line, line))
    }

    /// The next entry.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)] // entries borrow from it
    pub fn next(&mut self) -> Option<Entry<'_>> {
        match self.mode {
            ReadMode::List => self.next_of_list(),
            ReadMode::Marks(common_line) => self.next_by_marks(common_line),
            ReadMode::Format => self.next_of_format(),
            ReadMode::Overlong => {
                self.overlong.take().map(|start| Entry::Reject(Reject::LineTooLong, start))
            }
        }
    }

    /// The next line of a list.
    #[inline(never)]
    fn next_of_list(&mut self) -> Option<Entry<'_>> {
        let line = match self.tools.ends.next() {
            Some(end) => {
                let line = &self.stretch[self.start..end];
                prefetch_next_stretch(self.lines.rest(), self.start);
                self.start = end + 1;
                line
            }
            None => self.first_of_stretch()?,
        };
        if line.len() > self.options.line_bytes_max {
            return Some(Entry::Reject(Reject::LineTooLong, line));
        }
        let record = match line.last() {
            Some(byte) if *byte > b' ' => whole(line, line),
            _ if self.options.verbatim => whole(line, line),
            _ if line.iter().all(|byte| *byte <= b' ') => return Some(Entry::Empty(line)),
            // Such as carriage returns before a newline.
            _ => whole(line, without_carriage_returns(line)),
        };
        Some(filtered(&self.layout, record))
    }

    /// The next line of a list, after the last line of a stretch.
    #[inline(never)]
    fn first_of_stretch(&mut self) -> Option<&'a [u8]> {
        if let Some(behind) = self.start.checked_sub(1) {
            self.lines.take_bytes(behind);
        }
        self.start = 0;
        let ends = &mut self.tools.ends;
        if let Some(stretch) = ends.find(self.options.separator, self.lines.rest()) {
            let end = ends.next()?;
            (self.stretch, self.start) = (stretch, end + 1);
            return Some(&stretch[..end]);
        }
        // The last line, without a separator, or a very long one.
        self.lines.next()
    }

    /// The next line of a format whose lines can be read by marks.
    #[inline]
    fn next_by_marks(&mut self, common_line: CommonLine) -> Option<Entry<'_>> {
        let Some(end) = self.next_end() else {
            // The last line, without a separator, or a very long one.
            let row = self.lines.next()?;
            return Some(self.parsed(row));
        };
        let (stretch, start) = (self.stretch, self.start);
        self.start = end + 1;
        let row = self.lines.take_bytes(end - start);
        prefetch_next_stretch(self.lines.rest(), 0);
        let line = common_line
            .find(stretch, &self.tools.marked.marks(), start, end)
            .filter(|_| row.len() <= self.options.line_bytes_max);
        let Some(line) = line else { return Some(self.parsed(row)) };
        let (spelling, url) = self.tools.joined.join(stretch, line.target_start, line.target);
        if !self.options.fields && self.layout.filter.is_none() {
            return Some(Entry::Record(Record { line: row, spelling, url, fields: &NO_FIELDS }));
        }
        self.fields = common_line.fields(&line);
        let fields = &self.fields;
        Some(filtered(&self.layout, Record { line: row, spelling, url, fields }))
    }

    /// Where the next line ends in the stretch; marks the next stretch at the end of this one.
    #[inline(always)]
    fn next_end(&mut self) -> Option<usize> {
        let marked = &mut self.tools.marked;
        marked.next_end().or_else(|| {
            self.stretch = marked.mark(self.lines.rest())?;
            self.start = 0;
            marked.next_end()
        })
    }

    /// The next row of a format: a line, or several if separators are within quotes.
    fn next_of_format(&mut self) -> Option<Entry<'_>> {
        let row = match &mut self.quoted {
            Some(quoted) if !self.lines.rest().is_empty() => match quoted.row(self.lines.rest()) {
                Row::Whole(bytes) => self.lines.take_bytes(bytes),
                Row::Open | Row::TooLong => self.lines.next()?,
            },
            _ => self.lines.next()?,
        };
        let text = match &mut self.unescaped {
            Some(lines) => lines.next().unwrap_or_default(),
            None => row,
        };
        Some(self.parsed_as(row, text))
    }

    fn parsed(&mut self, row: &'a [u8]) -> Entry<'_> {
        self.parsed_as(row, row)
    }

    /// The entry of `row`, whose text to be parsed is `text`.
    fn parsed_as(&mut self, row: &'a [u8], text: &'a [u8]) -> Entry<'_> {
        let Some(format) = &self.layout.format else { return Entry::Empty(row) };
        if row.len() > self.options.line_bytes_max {
            return Entry::Reject(Reject::LineTooLong, row);
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.iter().all(|byte| *byte <= b' ') && format.has_empty_lines() {
            return Entry::Empty(row);
        }
        let mut found = Found::default();
        match format.parse(text, &mut found) {
            Parsed::Comment => {
                if let Some(format) = format.with_header(text) {
                    self.layout.format = Some(format);
                }
                Entry::Comment(row)
            }
            Parsed::Reject(reject) => Entry::Reject(reject, row),
            Parsed::Record => {
                let Tools { url, text, .. } = &mut *self.tools;
                let (base, separator) = (self.layout.base.as_deref(), self.options.separator);
                match assemble(&found, base, separator, url, text) {
                    Ok((spelling, url)) => {
                        self.fields = found.fields;
                        let fields = &self.fields;
                        filtered(&self.layout, Record { line: row, spelling, url, fields })
                    }
                    Err(reject) => Entry::Reject(reject, row),
                }
            }
        }
    }
}

/// Prefetches what comes a stretch after `chunk[at]`, so that marking the next stretch, which reads
/// all of it at once, need not wait for memory.
#[inline(always)]
fn prefetch_next_stretch(chunk: &[u8], at: usize) {
    chunk.get(at + STRETCH_BYTES).into_iter().for_each(prefetch);
}

#[inline]
fn whole<'a>(line: &'a [u8], url: &'a [u8]) -> Record<'a> {
    Record { line, spelling: url, url, fields: &NO_FIELDS }
}

/// The entry of `record`, depending on the filter.
#[inline]
fn filtered<'a>(layout: &Layout, record: Record<'a>) -> Entry<'a> {
    match &layout.filter {
        Some(filter) if !filter.admits(record.url, record.fields) => Entry::Filtered(record.line),
        _ => Entry::Record(record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunk: &[u8], verbatim: bool) -> Vec<String> {
        let options = ReadOptions { separator: b'\n', line_bytes_max: 8, verbatim, fields: true };
        let show = |bytes: &[u8]| crate::bytes::show(bytes).to_string();
        let (layout, mut workspace) = (Layout::default(), Workspace::default());
        let mut entries = Entries::new(chunk, true, options, &layout, &mut workspace);
        let mut all = Vec::new();
        while let Some(entry) = entries.next() {
            all.push(match entry {
                Entry::Record(record) => {
                    assert_eq!(record.spelling, record.url);
                    show(record.url)
                }
                Entry::Empty(_) => "empty".to_string(),
                Entry::Comment(_) => "comment".to_string(),
                Entry::Filtered(_) => "filtered".to_string(),
                Entry::Reject(kind, _) => kind.to_string(),
            });
        }
        all
    }

    #[test]
    fn entries() {
        for (given, verbatim, expected) in [
            (&b"a\nb"[..], false, &["a", "b"][..]),
            (b"a\r\n\r\n \t\n", false, &["a", "empty", "empty"]),
            (b"\xef\xbb\xbfa\n", false, &["a"]),
            (b"\xef\xbb\xbfa\n", true, &["\\u{feff}a"]),
            (b"a\r\n\n", true, &["a\\r", ""]),
            (b"a\r\r\n\ra\r\n", false, &["a", "\\ra"]),
            (b"123456789\n12345678", false, &["line-too-long", "12345678"]),
        ] {
            assert_eq!(read(given, verbatim), expected);
        }
    }
}
