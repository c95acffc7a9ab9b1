//! Decides which columns of a table are read: by the user's choice, a header, or their cells.

pub(super) mod cell;
mod columns;
pub(super) mod first_row;
mod widths;

use std::fmt::Write as _;

use memchr::memmem;

use self::cell::{is_datum, is_short_url, is_url, may_be_url};
use self::columns::{Row, SHARE_MIN_PERCENT, has_most, has_url_name};
use self::first_row::{FirstRow, column, is_number, list};
use self::widths::aligned;
use super::field_map::{Field, FieldMap};
use crate::bytes::show;
use crate::error::{Error, Result, Setting};
use crate::parts::without_userinfo;
use crate::record::{Found, Headerless, Parsed, Uneven};
use crate::reject::Reject;

/// Most lines above the header of a table if some of them are URLs.
const LINES_WITH_URLS_MAX: usize = 4;

/// Most lines of a sample that are tried as the header.
const HEADERS_TRIED_MAX: usize = 16;

/// May `line` be before the header: is it the origin of a table of undust's own (`report/rows/`),
/// or a declaration of the delimiter?
#[inline]
fn is_preamble(line: &[u8]) -> bool {
    match line.first() {
        Some(b's' | b'S') => told_delimiter(line).is_some(),
        Some(b'#') => is_origin(line),
        _ => false,
    }
}

/// The delimiter, if `line` is `sep=;`, by which spreadsheets declare it.
#[inline]
pub(super) fn told_delimiter(line: &[u8]) -> Option<u8> {
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] => Some(*delimiter),
        _ => None,
    }
}

/// Is `line` the first of a table that this program has written?
pub(super) fn is_origin(line: &[u8]) -> bool {
    let has = |part: &[u8]| memmem::find(line, part).is_some();
    line.starts_with(b"# undust ") && has(b" table=") && has(b" profile=")
}

/// The `lines` of a table after its preamble.
pub(super) fn without_preamble<'a, 'b>(lines: &'a [&'b [u8]]) -> &'a [&'b [u8]] {
    match lines {
        [first, lines @ ..] if is_preamble(first) => lines,
        lines => lines,
    }
}

/// The columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// The field of each column.
    pub(super) slots: Vec<Option<Field>>,
    /// The header, if there is one.
    header: Option<Vec<u8>>,
    /// The lines above it that describe the table, without repetitions, in byte order.
    above: Vec<Vec<u8>>,
    /// How many columns a row must have, where only that distinguishes rows from other lines.
    columns: Option<usize>,
    /// What is known of it where it has no header.
    headerless: Option<Headerless>,
    /// The names of all columns with URLs, the one that is read first, if more than one could be
    /// meant.
    url_names: Vec<Vec<u8>>,
    /// Its widths, if no row of the sample is as wide as the header.
    uneven: Option<Uneven>,
    /// Are the URLs paths without a query, even if they contain `?`?
    is_stem: bool,
    /// Is there a column of queries?
    has_query: bool,
    /// Is there a column of dates besides the time?
    has_date: bool,
}

impl Table {
    /// The table whose header is `line`, with `cells` in it, by usual names of columns: of those
    /// for URLs the first below which most cells of `rows` are URLs. `Err` if there is no such
    /// column: then it is the first with a usual name. Lines `above` the header are rows if they
    /// have a URL.
    fn of_header(
        line: &[u8],
        cells: &[Vec<u8>],
        above: &[(&[u8], Vec<Vec<u8>>)],
        rows: &[(&[u8], Vec<Vec<u8>>)],
    ) -> Option<std::result::Result<Table, Table>> {
        let body: Vec<Row> = rows.iter().map(|(_, row)| &row[..]).collect();
        let (cells, uneven) = aligned(cells, &body, columns::is_url_name);
        let url = columns::url_column(&cells, &body)?;
        let at = url.at;
        let mut table = Table { header: Some(line.to_vec()), uneven, ..Table::default() };
        table.slots = columns::by_names(&cells, &body);
        table.put_url(at, &cells);
        table.put_query(columns::query_column(&cells, &body, at, false));
        table.name_urls(&url, &cells);
        let is_row = |row: &[Vec<u8>]| {
            row.iter().any(|cell| is_url(cell))
                || row.len() > 1 && row.get(at).is_some_and(|cell| is_short_url(cell))
        };
        // Below rows of file names there is no header: `page,9` is one of those.
        let is_like_one = |row: &[Vec<u8>]| {
            row.len() > 1 && row.len() == cells.len() && may_be_url(&row[at]) && !is_row(row)
        };
        if above.iter().any(|(_, row)| is_like_one(row)) {
            return None;
        }
        let about = above.iter().filter(|(_, row)| !is_row(row));
        table.about(about.map(|(line, _)| line.to_vec()).collect());
        Some(if url.has_urls { Ok(table) } else { Err(table) })
    }

    /// Records the lines `above` the header.
    fn about(&mut self, mut above: Vec<Vec<u8>>) {
        above.sort();
        above.dedup();
        self.above = above;
    }

    /// Makes column `at` of the header `cells` the only one of URLs.
    fn put_url(&mut self, at: usize, cells: &[Vec<u8>]) {
        self.take_away(Field::Url);
        self.slots[at] = Some(Field::Url);
        self.is_stem = columns::is_stem(cells, at);
    }

    /// Makes column `at`, if given, the one of queries.
    fn put_query(&mut self, at: Option<usize>) {
        if let Some(at) = at {
            self.slots[at] = Some(Field::Query);
        }
    }

    /// Removes `field` from all columns.
    fn take_away(&mut self, field: Field) {
        for slot in self.slots.iter_mut().filter(|slot| **slot == Some(field)) {
            *slot = None;
        }
    }

    /// Records the names of all columns with URLs from the header `cells`, if there are several.
    fn name_urls(&mut self, url: &columns::UrlColumn, cells: &[Vec<u8>]) {
        if !url.others.is_empty() {
            let all = std::iter::once(&url.at).chain(&url.others);
            self.url_names = all.map(|at| cells[*at].clone()).collect();
        }
    }

    /// The table of `lines`, which `split` splits: with a header above its rows, or with one column
    /// of URLs.
    pub(super) fn recognize(
        lines: &[&[u8]],
        split: impl Fn(&[u8]) -> Option<Vec<Vec<u8>>>,
    ) -> Option<Table> {
        let lines = without_preamble(lines);
        let rows: Vec<(&[u8], Vec<Vec<u8>>)> =
            lines.iter().map(|line| (*line, split(line).unwrap_or_default())).collect();
        let (mut named, mut tried) = (None, 0);
        for (at, (line, cells)) in rows.iter().enumerate() {
            // After rows or URLs of a list there is no header.
            let has_url = cells.first().is_some_and(|cell| is_url(cell) || is_short_url(cell));
            if at > LINES_WITH_URLS_MAX && has_url {
                break;
            }
            // A line with a URL is not a header; neither is a title, if there are several lines.
            let is_title = cells.len() < 2 && lines.len() > 1;
            // Headers of W3C logs are not those of tables, though some names are the same.
            let is_w3c = line.starts_with(b"#Fields:");
            if is_title || is_w3c || cells.iter().any(|cell| is_url(cell)) || !has_url_name(cells) {
                continue;
            }
            match Table::of_header(line, cells, &rows[..at], &rows[at + 1..]) {
                Some(Ok(table)) => return Some(table),
                Some(Err(table)) => named = named.or(Some(table)),
                None => {}
            }
            // So that the time is not quadratic in the number of lines.
            tried += 1;
            if tried == HEADERS_TRIED_MAX {
                break;
            }
        }
        // Here the cells say more than the names.
        Table::by_cells(lines, split).or(named)
    }

    /// The table of `lines` by its only column of URLs, whatever its name.
    fn by_cells(lines: &[&[u8]], split: impl Fn(&[u8]) -> Option<Vec<Vec<u8>>>) -> Option<Table> {
        let rows: Vec<Vec<Vec<u8>>> = lines.iter().filter_map(|line| split(line)).collect();
        let width = rows.last()?.len();
        let rows: Vec<Row> =
            rows.iter().map(|row| &row[..]).filter(|row| row.len() == width).collect();
        if width < 2 || 100 * rows.len() < SHARE_MIN_PERCENT * lines.len() {
            return None;
        }
        let may_be_header = !rows[0].iter().any(|cell| is_url(cell)) && rows.len() > 1;
        let body = &rows[usize::from(may_be_header)..];
        let column = columns::only_column_of_urls(width, body).or_else(|| {
            let words = may_be_header.then_some(rows[0]);
            columns::hosts_beside_figures(width, body, words)
        })?;
        let mut named = Table { slots: columns::by_names(rows[0], body), ..Table::default() };
        named.take_away(Field::Url);
        named.slots[column] = None;
        named.put_query(columns::query_column(rows[0], body, column, false));
        // A URL without a scheme is not a name, unless other columns have usual names.
        let has_names = || named.slots.iter().any(Option::is_some);
        let is_header = may_be_header && (!is_short_url(&rows[0][column]) || has_names());
        // A comment may have as many commas as the URLs of a list have.
        let mut words = rows[0][column].split(|byte| *byte == b'/');
        let is_path =
            words.next().is_some_and(|host| host.contains(&b'.')) && words.next().is_some();
        let is_plain = !rows[0][0].starts_with(b"#") && !is_path;
        let is_known = is_header && (is_plain || has_names());
        let headerless = (!is_known).then(|| {
            let is_datum = |row: &&Row| row.get(column + 1).is_some_and(|one| is_datum(one));
            let data = body.iter().filter(is_datum).count();
            let is_even = |line: &&[u8]| {
                line.starts_with(b"#") || split(line).is_some_and(|row| row.len() == width)
            };
            let quoted = lines.iter().filter(|line| line.contains(&b'"')).count();
            let has_evidence = lines.iter().all(is_even)
                && 100 * data >= SHARE_MIN_PERCENT * body.len()
                || 100 * quoted >= SHARE_MIN_PERCENT * lines.len();
            Headerless { url_column: column + 1, has_evidence }
        });
        let mut table = if is_header {
            let header = lines.iter().find(|line| split(line).as_deref() == Some(rows[0]));
            Table { header: header.map(|line| line.to_vec()), ..named }
        } else {
            Table { slots: vec![None; width], ..Table::default() }
        };
        table.headerless = headerless;
        table.slots[column] = Some(Field::Url);
        table.columns = Some(width);
        Some(table)
    }

    /// The table that begins with the row `first`, with the columns of `map`; others are found by
    /// usual names, if `first` is a header.
    ///
    /// Failure: a configuration error if there is no such column, or none with URLs; if columns are
    /// only separated by blanks, or if the table cannot be distinguished from the lines above it.
    pub(super) fn with_fields(first: &FirstRow, map: &FieldMap) -> Result<Table> {
        let FirstRow { line, cells, .. } = first;
        if cells.is_empty() {
            // There are no rows either.
            return Ok(Table::default());
        }
        let mut told = Vec::new();
        let mut by_number = true;
        for (field, place) in map.places() {
            by_number &= is_number(place);
            told.push((field, column(field, place, cells)?));
        }
        let place_of = |field| told.iter().find(|(other, _)| *other == field).map(|(_, at)| *at);
        let rows: Vec<Row> = first.rows.iter().map(|row| &row[..]).collect();
        let (url_told, mut named) = (place_of(Field::Url), None);
        let url = url_told.or_else(|| {
            let is_free = |at: &usize| told.iter().all(|(_, other)| other != at);
            named = columns::url_column(cells, &rows).filter(|url| is_free(&url.at));
            let by_cells = || by_cells_below(cells, &rows).filter(is_free);
            let sure = named.as_ref().filter(|url| url.has_urls).map(|url| url.at);
            sure.or_else(by_cells).or(named.as_ref().map(|url| url.at))
        });
        let is_header = !by_number
            || url.is_none_or(|at| {
                let cell = &cells[at];
                !is_url(cell) && !cell.contains(&b'.') && !cell.contains(&b'/')
            });
        if first.has_blanks && cells.len() == 1 && !is_header {
            return Err(Error::config(format!(
                "{}: expected commas, semicolons or tabs between the columns, found one column, with \
                 blanks in most of its lines; if they are between columns, put tabs in their place, or name \
                 the columns by {}; if it is a list, {} lines",
                Setting::Fields,
                Setting::LogFormat,
                Setting::Format
            )));
        }
        if first.is_below_text && !is_header {
            return Err(Error::config(format!(
                "{}: expected a header or nothing above the rows, found other lines above the first row \
                 of {} columns, \"{}\"; take them away; if the table has one column with a header, name it",
                Setting::Fields,
                cells.len(),
                show(&without_userinfo(line)[..])
            )));
        }
        let Some(url) = url else { return Err(no_urls(cells, &rows, map, &told)) };
        let mut table = Table { slots: vec![None; cells.len()], ..Table::default() };
        if is_header {
            table.header = Some(line.to_vec());
            table.about(first.above.clone());
            table.slots = columns::by_names(cells, &rows);
            table.uneven = first.uneven.filter(|_| !by_number);
        }
        table.put_url(url, cells);
        if is_header && place_of(Field::Query).is_none() {
            let has_chosen = url_told.is_some();
            table.put_query(columns::query_column(cells, &rows, url, has_chosen));
        }
        told.iter().for_each(|(field, _)| table.take_away(*field));
        // If the user has given the time, there is no date unless that is given, too.
        if place_of(Field::Time).is_some() {
            table.take_away(Field::Date);
        }
        for (field, at) in told {
            table.slots[at] = Some(field);
        }
        if let Some(named) = named.filter(|named| named.at == url) {
            table.name_urls(&named, cells);
        }
        Ok(table)
    }

    /// Is `line` the header, or a comment in a table whose header starts like one?
    #[inline]
    pub(super) fn is_comment(&self, line: &[u8]) -> bool {
        if is_preamble(line) {
            return true;
        }
        let Some(header) = &self.header else { return false };
        line == &header[..]
            || self.above.binary_search_by(|above| above[..].cmp(line)).is_ok()
            || header[0] == b'#' && line.first() == Some(&b'#')
            || is_same_but_for_returns(line, header)
    }

    /// Is there a header?
    pub(super) fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// The field of column `at`.
    #[inline]
    pub(super) fn field(&self, at: usize) -> Option<Field> {
        self.slots.get(at).copied().flatten()
    }

    /// Is column `at`, counted from 0, the last that needs to be looked at?
    #[inline]
    pub(super) fn is_last(&self, at: usize) -> bool {
        self.columns.is_none() && at + 1 == self.slots.len()
    }

    /// May a row have `count` columns, as far as it was read?
    #[inline]
    pub(super) fn fits(&self, count: usize) -> bool {
        match self.columns {
            Some(columns) => count == columns,
            // Rows may end early, but a line without a delimiter is not a row.
            None => count >= self.slots.len().min(2),
        }
    }

    /// Completes a record from all cells of its row.
    #[inline]
    pub(super) fn finish<'a>(&self, found: &mut Found<'a>) -> Parsed {
        if self.has_query {
            let query = std::mem::take(&mut found.query);
            match self.is_stem && found.target.starts_with(b"/") {
                true => found.add_query_to_stem(query),
                false => found.add_query(query),
            }
        }
        if self.has_date {
            let date = std::mem::take(&mut found.fields.clock);
            found.fields.add_day(date);
        }
        if found.target.is_empty() { Parsed::Reject(Reject::NoUrl) } else { Parsed::Record }
    }

    /// Its widths, if no row of the sample is as wide as the header.
    pub(super) fn uneven(&self) -> Option<Uneven> {
        self.uneven
    }

    /// What is known of it where it has no header.
    pub(super) fn headerless(&self) -> Option<Headerless> {
        self.headerless
    }

    /// Does it have only one column?
    pub(super) fn is_single(&self) -> bool {
        self.slots.len() == 1
    }

    /// The table without columns at its end that are not read.
    pub(super) fn trimmed(mut self) -> Table {
        while self.slots.len() > 2 && self.slots.last() == Some(&None) {
            self.slots.pop();
        }
        self.has_query = self.slots.contains(&Some(Field::Query));
        self.has_date = self.slots.contains(&Some(Field::Date));
        self
    }

    /// The names of all columns with URLs, the one that is read first; empty if there is only one.
    pub(super) fn url_names(&self) -> &[Vec<u8>] {
        &self.url_names
    }

    /// The columns that are read, for people.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for (at, field) in self.slots.iter().enumerate() {
            if let Some(field) = field {
                let gap = if text.is_empty() { "" } else { ", " };
                let _ = write!(text, "{gap}{} {}", field.name(), at + 1);
            }
        }
        text
    }
}

/// The only column of URLs of `rows` and, if it is a row itself, of `first` above them.
fn by_cells_below(first: &[Vec<u8>], rows: &[Row]) -> Option<usize> {
    let is_row = first.iter().any(|cell| is_url(cell));
    let all = std::iter::once(first).filter(|_| is_row).chain(rows.iter().copied());
    let (wide, others): (Vec<Row>, Vec<Row>) = all.partition(|row| row.len() == first.len());
    let are_even = 100 * wide.len() >= SHARE_MIN_PERCENT * (wide.len() + others.len());
    are_even.then(|| columns::only_column_of_urls(first.len(), &wide)).flatten()
}

/// The error for a table with the columns `cells` of which none is known to have URLs. Its example
/// names only a column that may have URLs.
#[cold]
fn no_urls(cells: &[Vec<u8>], rows: &[Row], map: &FieldMap, told: &[(Field, usize)]) -> Error {
    let is_free = |at: &usize| told.iter().all(|(_, other)| other != at);
    let example = (0..cells.len()).filter(is_free).find(|at| has_most(*at, rows, may_be_url));
    let example = example.map_or("COLUMN".to_string(), |at| (at + 1).to_string());
    let told: Vec<String> =
        map.places().map(|(field, place)| format!("{}={place}", field.name())).collect();
    Error::config(format!(
        "{fields}: no column is known to have URLs; the columns are {}; say which it is, as in {fields} \
         url={example},{}",
        list(cells),
        told.join(","),
        fields = Setting::Fields
    ))
}

/// Sets `field` of `found` to `cell`, unless that is `-`, or a remark instead of a URL, such as
/// Google's `(not set)`.
#[inline]
pub(super) fn put<'a>(field: Field, cell: &'a [u8], found: &mut Found<'a>) {
    let cell = cell.trim_ascii();
    let is_remark = field == Field::Url && cell.starts_with(b"(") && cell.ends_with(b")");
    if cell != b"-" && !is_remark {
        field.put(cell, found);
    }
}

/// Does the row `line` have several lines, and is it equal to `header` except for carriage returns
/// before the line ends, which a sample does not have?
#[inline]
fn is_same_but_for_returns(line: &[u8], header: &[u8]) -> bool {
    let is_text = |byte: &&u8| **byte != b'\r';
    line.len() > header.len()
        && line.first() == header.first()
        && memchr::memchr(b'\n', line).is_some()
        && line.iter().filter(is_text).eq(header.iter().filter(is_text))
}
