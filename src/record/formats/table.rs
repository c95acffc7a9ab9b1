//! Which columns of a table are read: told by a user, by a header, or by what is in them.

use std::fmt::Write as _;

use memchr::memmem;

use super::cell::{is_datum, is_short_url, is_url, may_be_url, plain_name};
use super::field_map::{Field, FieldMap};
use super::first_row::{FirstRow, column, is_number, list};
use crate::bytes::show;
use crate::error::{Error, Result};
use crate::parts::without_userinfo;
use crate::record::{Found, Headerless};

/// How many lines may stand above the header of a table of which some are URLs.
const LINES_WITH_URLS_MAX: usize = 4;

/// Most lines of a sample that are tried as the header.
const HEADERS_TRIED_MAX: usize = 16;

/// Share of the lines that have to have one width, in percent, and of the rows whose cell has to be
/// a URL for a column to be one of URLs.
const SHARE_MIN_PERCENT: usize = 90;

/// Is `line` one that may stand before the header: the origin of a table of undust's own
/// (`report/rows/`), or `sep=;`, by which spreadsheets tell what is between cells?
#[inline]
fn is_preamble(line: &[u8]) -> bool {
    match line {
        [b's' | b'S', rest @ ..] => matches!(rest, [b'e' | b'E', b'p' | b'P', b'=', _]),
        [b'#', ..] => is_origin(line),
        _ => false,
    }
}

/// Is `line` the first of a table that this program has written?
pub(super) fn is_origin(line: &[u8]) -> bool {
    let has = |part: &[u8]| memmem::find(line, part).is_some();
    line.starts_with(b"# undust ") && has(b" table=") && has(b" profile=")
}

/// The `lines` of a table behind that one.
pub(super) fn without_preamble<'a, 'b>(lines: &'a [&'b [u8]]) -> &'a [&'b [u8]] {
    match lines {
        [first, lines @ ..] if is_preamble(first) => lines,
        lines => lines,
    }
}

/// The columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// What each column is about.
    pub(super) slots: Vec<Option<Field>>,
    /// The header, if there is one.
    header: Option<Vec<u8>>,
    /// The lines above it that say what the table is about, each once, in byte order.
    above: Vec<Vec<u8>>,
    /// How many columns a row has to have, where nothing but their number tells rows apart.
    columns: Option<usize>,
    /// What is known of it where it has no header.
    headerless: Option<Headerless>,
    /// The names of all columns with URLs, that of the one that is read first, where more than one
    /// could be meant.
    url_names: Vec<Vec<u8>>,
}

/// Names of columns of URLs that often are those of something else: only their cells say it.
const VAGUE_NAMES: [&str; 2] = ["destination", "source"];

impl Table {
    /// The table whose header is `line`, with `cells` in it, by usual names of columns: the first
    /// of those for URLs under which most cells of `rows` are some. `Err` if that is none: then it
    /// is the first whose name says so. Lines `above` it are rows if they have a URL.
    fn of_header(
        line: &[u8],
        cells: &[Vec<u8>],
        above: &[(&[u8], Vec<Vec<u8>>)],
        rows: &[(&[u8], Vec<Vec<u8>>)],
    ) -> Option<std::result::Result<Table, Table>> {
        let names: Vec<String> = cells.iter().map(|cell| plain_name(cell)).collect();
        let usual = Field::Url.usual_names().iter();
        let usual = usual.filter_map(|usual| names.iter().position(|name| name == usual));
        let usual: Vec<usize> = usual.collect();
        let (full, other): (Vec<usize>, Vec<usize>) =
            usual.into_iter().partition(|at| has_most(*at, rows, may_be_url));
        let is_vague = |at: &usize| VAGUE_NAMES.contains(&&*names[*at]);
        let at = *full.first().or_else(|| other.iter().find(|at| !is_vague(at)))?;
        let mut table = Table { header: Some(line.to_vec()), ..Table::by_names(cells) };
        for slot in table.slots.iter_mut().filter(|slot| **slot == Some(Field::Url)) {
            *slot = None;
        }
        table.slots[at] = Some(Field::Url);
        let has_urls = |cell: &[u8]| is_url(cell) || is_short_url(cell);
        let others = full.iter().skip(1).filter(|at| has_most(**at, rows, has_urls));
        table.url_names = others.map(|at| cells[*at].clone()).collect();
        if !table.url_names.is_empty() {
            table.url_names.insert(0, cells[at].clone());
        }
        let is_row = |row: &[Vec<u8>]| {
            row.iter().any(|cell| is_url(cell))
                || row.len() > 1 && row.get(at).is_some_and(|cell| is_short_url(cell))
        };
        // Below rows with names of files there is none: `page,9` is one of them.
        let is_like_one = |row: &[Vec<u8>]| {
            row.len() > 1 && row.len() == cells.len() && may_be_url(&row[at]) && !is_row(row)
        };
        if above.iter().any(|(_, row)| is_like_one(row)) {
            return None;
        }
        let about = above.iter().filter(|(_, row)| !is_row(row));
        table.about(about.map(|(line, _)| line.to_vec()).collect());
        Some(if full.is_empty() { Err(table) } else { Ok(table) })
    }

    /// Takes these lines `above` the header for what the table is about.
    fn about(&mut self, mut above: Vec<Vec<u8>>) {
        above.sort();
        above.dedup();
        self.above = above;
    }

    /// Columns by usual names.
    pub(super) fn by_names(cells: &[Vec<u8>]) -> Table {
        let names: Vec<String> = cells.iter().map(|cell| plain_name(cell)).collect();
        let mut slots = vec![None; cells.len()];
        for field in Field::ALL {
            let usual = field.usual_names().iter();
            let at = usual.filter_map(|usual| names.iter().position(|name| name == usual)).next();
            if let Some(at) = at.filter(|at| slots[*at].is_none()) {
                slots[at] = Some(field);
            }
        }
        Table { slots, ..Table::default() }
    }

    /// The table of `lines`, which `split` takes apart: with a header above its rows, or with one
    /// column of URLs.
    pub(super) fn recognize(
        lines: &[&[u8]],
        split: impl Fn(&[u8]) -> Option<Vec<Vec<u8>>>,
    ) -> Option<Table> {
        let lines = without_preamble(lines);
        let rows: Vec<(&[u8], Vec<Vec<u8>>)> =
            lines.iter().map(|line| (*line, split(line).unwrap_or_default())).collect();
        let (mut named, mut tried) = (None, 0);
        for (at, (line, cells)) in rows.iter().enumerate() {
            // Behind rows or URLs of a list there is no header.
            let has_url = cells.first().is_some_and(|cell| is_url(cell) || is_short_url(cell));
            if at > LINES_WITH_URLS_MAX && has_url {
                break;
            }
            // What holds a URL is no header; a title alone is none of several lines.
            let is_title = cells.len() < 2 && lines.len() > 1;
            if is_title || cells.iter().any(|cell| is_url(cell)) || !has_url_name(cells) {
                continue;
            }
            match Table::of_header(line, cells, &rows[..at], &rows[at + 1..]) {
                Some(Ok(table)) => return Some(table),
                Some(Err(table)) => named = named.or(Some(table)),
                None => {}
            }
            // So that no sample takes time by the square of its lines.
            tried += 1;
            if tried == HEADERS_TRIED_MAX {
                break;
            }
        }
        // Names that say less than what is in the columns.
        Table::by_cells(lines, split).or(named)
    }

    /// The table of `lines` by its one column of URLs, whatever that is called.
    fn by_cells(lines: &[&[u8]], split: impl Fn(&[u8]) -> Option<Vec<Vec<u8>>>) -> Option<Table> {
        let rows: Vec<Vec<Vec<u8>>> = lines.iter().filter_map(|line| split(line)).collect();
        let width = rows.last()?.len();
        let rows: Vec<&Vec<Vec<u8>>> = rows.iter().filter(|row| row.len() == width).collect();
        if width < 2 || 100 * rows.len() < SHARE_MIN_PERCENT * lines.len() {
            return None;
        }
        let may_be_header = !rows[0].iter().any(|cell| is_url(cell)) && rows.len() > 1;
        let body = &rows[usize::from(may_be_header)..];
        let mut columns = (0..width).filter(|column| {
            let urls = body.iter().filter(|row| is_url(&row[*column])).count();
            100 * urls >= SHARE_MIN_PERCENT * body.len()
        });
        let (column, None) = (columns.next()?, columns.next()) else { return None };
        let mut named = Table::by_names(rows[0]);
        for (at, slot) in named.slots.iter_mut().enumerate() {
            *slot = slot.filter(|field| *field != Field::Url && at != column);
        }
        // A URL without a scheme is no name of a column, unless the others have usual names.
        let has_names = || named.slots.iter().any(Option::is_some);
        let is_header = may_be_header && (!is_short_url(&rows[0][column]) || has_names());
        // A comment may have as many commas as the URLs of a list, as a path on some host has.
        let mut words = rows[0][column].split(|byte| *byte == b'/');
        let is_path =
            words.next().is_some_and(|host| host.contains(&b'.')) && words.next().is_some();
        let is_plain = !rows[0][0].starts_with(b"#") && !is_path;
        let is_known = is_header && (is_plain || has_names());
        let headerless = (!is_known).then(|| {
            let is_datum =
                |row: &&&Vec<Vec<u8>>| row.get(column + 1).is_some_and(|one| is_datum(one));
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
            let header = lines.iter().find(|line| split(line).as_ref() == Some(rows[0]));
            Table { header: header.map(|line| line.to_vec()), ..named }
        } else {
            Table { slots: vec![None; width], ..Table::default() }
        };
        table.headerless = headerless;
        table.slots[column] = Some(Field::Url);
        table.columns = Some(width);
        Some(table)
    }

    /// The table that begins with the row `first`, as the user tells; what the user does not tell
    /// is found by usual names, if that is a header.
    ///
    /// Failure: a configuration error if there is no such column, or none with URLs; if nothing but
    /// blanks is between columns, or nothing tells a table from the lines above it.
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
        let url = told.iter().find(|(field, _)| *field == Field::Url);
        let is_header = !by_number
            || url.is_none()
            || url.is_some_and(|(_, at)| {
                let cell = &cells[*at];
                !is_url(cell) && !cell.contains(&b'.') && !cell.contains(&b'/')
            });
        if first.has_blanks && cells.len() == 1 && !is_header {
            return Err(Error::config(
                "--field: expected commas, semicolons or tabs between the columns, found one column, with \
                 blanks in most of its lines; if they are between columns, put tabs in their place, or name \
                 the columns by --log-format; if it is a list, --format lines",
            ));
        }
        if first.is_below_text && !is_header {
            return Err(Error::config(format!(
                "--field: expected a header or nothing above the rows, found other lines above the first row \
                 of {} columns, \"{}\"; take them away; if the table has one column with a header, name it",
                cells.len(),
                show(&without_userinfo(line)[..])
            )));
        }
        let mut table = Table { header: None, ..Table::by_names(cells) };
        if is_header {
            table.header = Some(line.to_vec());
            table.about(first.above.clone());
        } else {
            table.slots.fill(None);
        }
        for (field, _) in &told {
            for slot in &mut table.slots {
                if *slot == Some(*field) {
                    *slot = None;
                }
            }
        }
        for (field, at) in told {
            table.slots[at] = Some(field);
        }
        if !table.slots.contains(&Some(Field::Url)) {
            return Err(Error::config(format!(
                "--field: no column is known to have URLs; the columns are {}; say which it is, \
                 as in --field 2",
                list(cells)
            )));
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

    /// What column `at` is about.
    #[inline]
    pub(super) fn field(&self, at: usize) -> Option<Field> {
        self.slots.get(at).copied().flatten()
    }

    /// Is column `at`, counted from 0, the last that needs to be looked at?
    #[inline]
    pub(super) fn is_last(&self, at: usize) -> bool {
        self.columns.is_none() && at + 1 == self.slots.len()
    }

    /// May a row have `count` columns, as far as they were looked at?
    #[inline]
    pub(super) fn fits(&self, count: usize) -> bool {
        match self.columns {
            Some(columns) => count == columns,
            // Rows may end early, but a line that is not parted at all is none.
            None => count >= self.slots.len().min(2),
        }
    }

    /// What is known of it where it has no header.
    pub(super) fn headerless(&self) -> Option<Headerless> {
        self.headerless
    }

    /// Has it one column alone?
    pub(super) fn is_single(&self) -> bool {
        self.slots.len() == 1
    }

    /// Leaves off columns at the end that nobody reads, once the header has been compared.
    pub(super) fn trimmed(mut self) -> Table {
        while self.slots.len() > 2 && self.slots.last() == Some(&None) {
            self.slots.pop();
        }
        self
    }

    /// The names of all columns with URLs, that of the one that is read first; none if no other has
    /// some.
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

/// Has one of the `cells` a usual name of a column of URLs?
fn has_url_name(cells: &[Vec<u8>]) -> bool {
    cells.iter().any(|cell| Field::Url.usual_names().contains(&&*plain_name(cell)))
}

/// Is most of what is in column `at` of `rows` such as `is_one` says?
fn has_most(at: usize, rows: &[(&[u8], Vec<Vec<u8>>)], is_one: impl Fn(&[u8]) -> bool) -> bool {
    let cells = rows.iter().filter_map(|(_, row)| row.get(at)).filter(|cell| !cell.is_empty());
    let (some, others): (Vec<_>, Vec<_>) = cells.partition(|cell| is_one(cell));
    some.len() > others.len()
}

/// Puts a cell where it belongs; what says nothing stays empty.
#[inline]
pub(super) fn put<'a>(field: Field, cell: &'a [u8], found: &mut Found<'a>) {
    let cell = cell.trim_ascii();
    if cell != b"-" {
        field.put(cell, found);
    }
}

/// Is the row `line` of several lines, and the `header` but for carriage returns in front of their
/// ends, which a sample does not have?
#[inline]
fn is_same_but_for_returns(line: &[u8], header: &[u8]) -> bool {
    let is_text = |byte: &&u8| **byte != b'\r';
    line.len() > header.len()
        && line.first() == header.first()
        && memchr::memchr(b'\n', line).is_some()
        && line.iter().filter(is_text).eq(header.iter().filter(is_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<Vec<u8>> {
        line.split(',').map(|cell| cell.as_bytes().to_vec()).collect()
    }

    fn recognized(lines: &[&str]) -> Option<String> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
        Table::recognize(&lines, split).map(|table| table.describe())
    }

    #[test]
    fn headers() {
        for (header, expected) in [
            ("url,status,x", Some("url 1, status 2")),
            ("#url,timestamp,bytes,payload_sha1_b32", Some("url 1, time 2, size 3, digest 4")),
            ("Top pages,Clicks", Some("url 1")),
            ("link,url", Some("url 2")),
            (
                "Address,Content Type,Status Code,Size (bytes),Redirect URL",
                Some("url 1, mime 2, status 3, size 4, redirect 5"),
            ),
            // The text beside the code is no status.
            (
                "Address,Content Type,Status Code,Status,Crawl Timestamp",
                Some("url 1, mime 2, status 3, time 5"),
            ),
            ("URL,Status,HTTP Status Code", Some("url 1, status 3")),
            ("#old_url,new_url,status,file", Some("url 1, redirect 2, status 3")),
            ("site,host", None),
        ] {
            assert_eq!(recognized(&[header, "x,y,z"]).as_deref(), expected, "{header}");
        }
        assert_eq!(recognized(&["report", "", "x,url", "1,2"]).as_deref(), Some("url 2"));
    }

    #[test]
    fn lines_above_the_header() {
        let about = ["# ----", "# Pages", "Site,www.a.test", "https://a.test/ of June", "# ----"];
        for (above, header, is_found, comments) in [
            (vec!["# ----"; 30], "Full page URL,Views", true, 30),
            (vec!["From", "To"], "Page path and screen class,Views", true, 2),
            (about.to_vec(), "Landing page + query string,Views", true, 4),
            // They are rows.
            (vec!["https://a.test/1,2", "a.com/1,2"], "url,x", true, 0),
            (vec!["https://a.test/1,2"; 5], "url,x", true, 0),
            (vec!["https://a.test/1,2"; 6], "url,x", false, 0),
            (vec!["a.com/1,2"; 6], "url,x", false, 0),
            (vec!["a"; 6], "no,name", false, 0),
            (vec!["Pfad,n", "a.html,1", "b/c.html,2"], "page,9", false, 0),
            (vec!["Pfad,n", "a.html,1", "links,3"], "links,9", false, 0),
        ] {
            let lines: Vec<&[u8]> =
                above.iter().copied().chain([header]).map(str::as_bytes).collect();
            let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
            let table = Table::recognize(&lines, split).filter(|table| table.header.is_some());
            assert_eq!(table.is_some(), is_found, "{above:?}");
            let is_comment = |line: &&&[u8]| table.as_ref().is_some_and(|one| one.is_comment(line));
            let found = lines[..above.len()].iter().filter(is_comment).count();
            assert_eq!(found, comments, "{above:?}");
        }
    }

    #[test]
    fn names_whose_cells_are_no_urls() {
        let inlinks = "Type,Source,Destination,Size,Status Code,Follow,Target";
        for (lines, expected) in [
            (&["Page,Title,Link", "1.5,a,http://a.test/", "2,b,/b"][..], Some("url 3")),
            (&["Page,Title,Adresse", "1,a,http://a.test/", "2,b,http://a.test/b"], Some("url 3")),
            (&["Page,Link", "/a,http://a.test/"], Some("url 1")),
            (&["page,n", "index.html,1", "a.html,2"], Some("url 1")),
            (&["page,image", "index.html,http://a.test/i"], Some("url 1")),
            (&["url,link", ",http://a.test/", "-,http://a.test/b", ",/c"], Some("url 2")),
            (
                &[inlinks, "Hyperlink,http://a.test/,http://a.test/b,9,200,true,_blank"],
                Some("url 3, size 4, status 5"),
            ),
            (&["source,medium", "google.com,organic"], Some("url 1")),
            (&["source,medium", "google,organic"], None),
            (
                &["source,seite,x", "google,http://a.test/,1", "bing,http://a.test/b,1"],
                Some("url 2"),
            ),
        ] {
            assert_eq!(recognized(lines).as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn several_columns_of_urls() {
        let row = "http://a.test/,http://b.test/,200";
        for (header, expected) in [
            ("Target URL,Source URL,n", &["Source URL", "Target URL"][..]),
            ("Referring page URL,Target URL,n", &["Target URL", "Referring page URL"]),
            // These mean something of their own.
            ("url,redirect_url,status", &[]),
            ("url,referrer,status", &[]),
            ("url,canonical_url,status", &[]),
            ("url,other,status", &[]),
            ("url,x,page", &[]),
        ] {
            let lines = [header.as_bytes(), row.as_bytes()];
            let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
            let table = Table::recognize(&lines, split).unwrap();
            let expected: Vec<Vec<u8>> =
                expected.iter().map(|name| name.as_bytes().to_vec()).collect();
            assert_eq!(table.url_names(), expected, "{header}");
        }
    }

    #[test]
    fn columns_of_urls() {
        let row = "1,http://a.test/,x";
        for (lines, expected) in [
            (&[row, row][..], Some("url 2")),
            (&["id,where,status", row, row], Some("url 2, status 3")),
            (&["id,request.url,status", row, row], Some("url 2, status 3")),
            (&["1,example.com,x", row, row], Some("url 2")),
            (&["1,http://a.test/,http://b.test/"], None),
            (&["http://a.test/", "http://b.test/"], None),
            (&["a,b,c", "a,b,c"], None),
        ] {
            assert_eq!(recognized(lines).as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_first_row_is_no_header_if_it_has_a_short_url() {
        let row = "1,http://a.test/,x";
        for (first, is_header) in [
            ("id,where,status", true),
            ("id,Landing page,status", true),
            ("id,Landing/page,x", true),
            ("id,og:url,x", true),
            ("id,item.link,x", true),
            ("id,example.com,status", true),
            ("0,EXAMPLE.com?x=1,x", false),
            ("0,192.168.0.1,x", false),
            ("0,[::1],x", false),
            ("0,www.example.com/start,x", false),
            ("0,example.com,x", false),
            ("0,dns:www.example.com,x", false),
            ("0,//a.test/,x", false),
            ("0,/a,x", false),
        ] {
            let lines = [first.as_bytes(), row.as_bytes(), row.as_bytes()];
            let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
            let table = Table::recognize(&lines, split).unwrap();
            assert_eq!(table.is_comment(first.as_bytes()), is_header, "{first}");
        }
    }

    #[test]
    fn told_columns() {
        let table = |header: &str, text: &str| {
            let map = FieldMap::parse(text).unwrap();
            let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
            let first = FirstRow::find(&[header.as_bytes()], split, &map);
            Table::with_fields(&first, &map)
        };
        for (header, text, expected, is_header) in [
            ("id,Seite,Status", "Seite", "url 2, status 3", true),
            ("id,Seite,Status", "seite", "url 2, status 3", true),
            ("id,Seite,Status", "2", "url 2, status 3", true),
            ("id,Seite,url", "url=2,status=1", "status 1, url 2", true),
            ("1,http://a.test/,200", "2", "url 2", false),
            ("1,/a,200", "url=2,status=3", "url 2, status 3", false),
            ("url,x", "digest=x", "url 1, digest 2", true),
        ] {
            let table = table(header, text).unwrap();
            assert_eq!(table.describe(), expected, "{header} {text}");
            assert_eq!(table.is_comment(header.as_bytes()), is_header, "{header} {text}");
        }
        for (text, expected) in [
            ("4", "--field url=4: there is no such column; the columns are 1 \"id\", 2 \"x\""),
            ("page", "--field url=page: there is no such column"),
            ("digest=x", "no column is known to have URLs; the columns are 1 \"id\", 2 \"x\""),
        ] {
            let error = table("id,x", text).unwrap_err();
            assert!(error.is_config() && error.to_string().contains(expected), "{error}");
        }
    }
}
