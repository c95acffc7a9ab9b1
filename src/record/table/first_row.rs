//! Finds the row that names or shows the columns of a table of which a user has chosen some.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::cell::{is_short_url, is_url, plain_name};
use super::columns::{Row, has_url_name, is_url_name};
use super::widths::aligned;
use crate::bytes::show;
use crate::error::{Error, Result, Setting};
use crate::parts::without_userinfo;
use crate::record::Uneven;
use crate::record::field_map::{Field, FieldMap};

/// The row that names or shows the columns of a table.
#[derive(Debug)]
pub(crate) struct FirstRow<'a> {
    /// How many lines are above it.
    pub(crate) at: usize,
    pub(crate) line: &'a [u8],
    /// The lines above it that have no URL.
    pub(crate) above: Vec<Vec<u8>>,
    /// Its cells, aligned with the columns of the rows after it.
    pub(crate) cells: Vec<Vec<u8>>,
    /// The cells of these rows.
    pub(crate) rows: Vec<Vec<Vec<u8>>>,
    /// Their width and its own, if they differ for no known reason.
    pub(crate) uneven: Option<Uneven>,
    /// Does it have all columns that the user names?
    pub(crate) has_columns: bool,
    /// Do most of the lines after it contain blanks?
    pub(crate) has_blanks: bool,
    /// Are there lines above it, all without URLs?
    pub(crate) is_below_text: bool,
}

impl<'a> FirstRow<'a> {
    /// The first of `rows`, which `split` splits, with the names that the user gives; if these are
    /// only numbers, the first row that is as wide as most, or one above it with a usual name for
    /// URLs.
    pub(crate) fn find(
        rows: &[&'a [u8]],
        split: impl Fn(&[u8]) -> Option<Vec<Vec<u8>>>,
        map: &FieldMap,
    ) -> FirstRow<'a> {
        let all: Vec<Vec<Vec<u8>>> =
            rows.iter().map(|row| split(row).unwrap_or_else(|| vec![row.to_vec()])).collect();
        let width = width_of_most(&all);
        let has_columns = |cells: &[Vec<u8>]| {
            map.places().all(|(field, place)| column(field, place, cells).is_ok())
        };
        let is_told_by_name = map.places().any(|(_, place)| !is_number(place));
        let has_url = |cell: &Vec<u8>| is_url(cell) || is_short_url(cell);
        let wide = all.iter().position(|cells| cells.len() >= width).unwrap_or(0);
        let at = if is_told_by_name {
            all.iter().position(|cells| has_columns(cells))
        } else {
            // A title may be a usual name (`Pages`), but hardly above a row that has a URL.
            let is_above_rows = all.get(wide).is_some_and(|cells| has_url(&cells[0]));
            let is_header = |cells: &Vec<Vec<u8>>| {
                // It may have fewer cells than the rows.
                let has_columns_below =
                    |row: &Vec<Vec<u8>>| row.iter().any(has_url) && has_columns(row);
                (has_columns(cells) || all.get(wide).is_some_and(has_columns_below))
                    && (cells.len() > 1 || is_above_rows && !cells[0].starts_with(b"#"))
                    && has_url_name(cells)
            };
            all[..wide].iter().position(is_header)
        };
        let at = at.unwrap_or(wide);
        let behind = rows.get(at + 1..).unwrap_or_default();
        let with_blanks = behind.iter().filter(|row| row.trim_ascii().contains(&b' ')).count();
        let is_below_text = at > 0 && !all[..at].iter().flatten().any(has_url);
        let about = rows.iter().zip(&all).take(at).filter(|(_, cells)| !cells.iter().any(has_url));
        let above = about.map(|(row, _)| row.to_vec()).collect();
        let mut all = all;
        let below = all.split_off(all.len().min(at + 1));
        let cells = all.pop().unwrap_or_default();
        let url = map.place(Field::Url).filter(|place| !is_number(place));
        let url = url.map(|place| plain_name(place.as_bytes()));
        let is_url_name = |cell: &[u8]| match &url {
            Some(name) => plain_name(cell) == *name,
            None => is_url_name(cell),
        };
        let body: Vec<Row> = below.iter().map(|row| &row[..]).collect();
        let (mut cells, uneven) = aligned(&cells, &body, is_url_name);
        // Columns without a name have their numbers.
        cells.resize(uneven.map_or(0, |uneven| uneven.row_cells).max(cells.len()), Vec::new());
        FirstRow {
            at,
            above,
            line: rows.get(at).copied().unwrap_or_default(),
            has_columns: has_columns(&cells),
            cells,
            rows: below,
            uneven,
            is_below_text,
            has_blanks: 2 * with_blanks > behind.len(),
        }
    }
}

/// How many columns most of `rows` have, comments aside: one if more than half of them have no
/// delimiter, otherwise the most frequent number among the others, of several the lowest.
fn width_of_most(rows: &[Vec<Vec<u8>>]) -> usize {
    let mut counts = BTreeMap::new();
    for row in rows.iter().filter(|row| !row[0].starts_with(b"#")) {
        *counts.entry(row.len()).or_insert(0) += 1;
    }
    let single = counts.remove(&1).unwrap_or(0);
    if counts.values().sum::<usize>() < single {
        return 1;
    }
    let most = counts.into_iter().max_by_key(|(width, count)| (*count, Reverse(*width)));
    most.map_or(1, |(width, _)| width)
}

/// Is `place` the number of a column?
pub(super) fn is_number(place: &str) -> bool {
    place.bytes().all(|byte| byte.is_ascii_digit())
}

/// The column, from 0, that `place` names: by number from 1, by its name, or by a name that
/// differs only as [`plain_name`] allows.
pub(super) fn column(field: Field, place: &str, cells: &[Vec<u8>]) -> Result<usize> {
    let by_name = || {
        let exact = cells.iter().position(|cell| cell.trim_ascii() == place.as_bytes());
        let plain = plain_name(place.as_bytes());
        exact.or_else(|| cells.iter().position(|cell| plain_name(cell) == plain))
    };
    let number = place.parse::<usize>().ok();
    let by_number = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < cells.len());
    by_number.or_else(by_name).ok_or_else(|| {
        Error::config(format!(
            "{} {}={place}: there is no such column; the columns are {}",
            Setting::Fields,
            field.name(),
            list(cells)
        ))
    })
}

/// The columns for a message: the first ones, shortened.
pub(crate) fn list(cells: &[Vec<u8>]) -> String {
    let names = cells.iter().take(20).enumerate().map(|(at, cell)| {
        let cell = without_userinfo(cell);
        let cell = &cell[..cell.len().min(40)];
        format!("{} \"{}\"", at + 1, show(cell))
    });
    let more = if cells.len() > 20 { ", ..." } else { "" };
    names.collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(line.split(|byte| *byte == b',').map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn first_rows() {
        let row = "http://a.test/,1,2";
        for (lines, told, expected, why) in [
            (&["url,a,b", row, row][..], "1", 0, "the header"),
            (&[row, row, row], "1", 0, "no header"),
            (&["# a", "# b", "Seite,a,b", row], "1", 2, "lines of a report above the header"),
            (&["# a", "# b", "# c", "# d", "Seite,a,b", row], "1", 4, "more of them than rows"),
            (&["# a", "Seite,a,b", row], "Seite", 1, "the same, by name"),
            (&["May, 2026", "Seite,a,b", row, row], "Seite", 1, "a comma above the header"),
            (&["url,a,b", "/x,1,2,3", "/y,1,2,3"], "url", 0, "rows wider than the header"),
            (&["url,a,b", "/x,1,2,3", "/y,1,2,3"], "1", 0, "the same, with a usual name"),
            (&["url,a,b", "/x,1", "/y,1"], "3", 0, "rows that end early"),
            (&["Seite,n", "/x,1,2"], "1", 0, "as many lines of one width as of the other"),
            (&["a,b", "url,x"], "url", 1, "a header below another line as wide"),
            (&["a,b", "x,y"], "url", 0, "a name that is none, of which the header is told"),
            (
                &["Report", "Jan, 2020", "Seite,n", "/x,1"],
                "Seite",
                2,
                "a title as wide as the rows",
            ),
            (&["# Pages", "Seite,n", "/x,1", "/y,1"], "1", 1, "a title that is a usual name"),
            (&["Pages", "Seite,n", "/x,1", "/y,1"], "1", 1, "the same without a sign"),
            (&["Pages,May", "Seite,n,m", "/x,1,2", "/y,1,2"], "3", 1, "a title with a comma"),
            (&["url,n", "/x,1,2", "/y,1,2"], "3", 0, "a column without a name"),
            (&["url", "/x,1", "/y,1"], "url", 0, "one column, whose URLs have commas"),
            (&["url", "/x,1", "/y,1"], "1", 0, "the same, by number"),
            (&["Seite", "/x", "/y,1"], "1", 0, "some URLs have commas"),
            (&[], "1", 0, "nothing"),
        ] {
            let rows: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            let first = FirstRow::find(&rows, split, &FieldMap::parse(told).unwrap());
            assert_eq!(first.at, expected, "{why}: {lines:?} {told}");
        }
    }

    #[test]
    fn text_above_rows_and_blanks_in_them() {
        for (lines, is_below_text, has_blanks) in [
            (&["a title", "/x,1", "/y,1"][..], true, false),
            (&["/w", "/x,1", "/y,1"], false, false),
            (&["/x,1", "/y,1"], false, false),
            (&["/x 1", "/y 1", "/w 1", "/z"], false, true),
            (&["a title", "/y 1", "/z", "/z "], false, false),
        ] {
            let rows: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            let first = FirstRow::find(&rows, split, &FieldMap::parse("1").unwrap());
            let found = (first.is_below_text, first.has_blanks);
            assert_eq!(found, (is_below_text, has_blanks), "{lines:?}");
        }
    }
}
