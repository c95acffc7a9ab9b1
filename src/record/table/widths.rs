//! Aligns a header with rows that have more or fewer cells.

use super::cell::{is_short_url, is_url, may_be_url};
use super::columns::{Row, has_most};
use crate::record::Uneven;

/// The first cell of headers of Zeek, which is not the name of a column.
const FIELDS: &[u8] = b"#fields";

/// The cells of `header`, aligned with the columns of `rows`, which follow it; and the widths of
/// both, if no row is as wide as the header for no known reason.
///
/// - Logs of Zeek, and other headers that begin with a cell for their `#`: that cell is left out.
/// - R writes a column of row names without a name: an empty cell is inserted at the start, if only
///   that puts URLs below the first name of a column of URLs, by `is_url_name`.
/// - Empty cells at the end of the header or of rows make no difference.
pub(super) fn aligned(
    header: &[Vec<u8>],
    rows: &[Row],
    is_url_name: impl Fn(&[u8]) -> bool,
) -> (Vec<Vec<u8>>, Option<Uneven>) {
    let same = header.to_vec();
    if header.len() < 2 {
        return (same, None);
    }
    let is_comment = |row: &[Vec<u8>]| header[0].starts_with(b"#") && row[0].starts_with(b"#");
    let rows: Vec<Row> =
        rows.iter().copied().filter(|row| row.len() > 1 && !is_comment(row)).collect();
    if rows.iter().any(|row| fits(header, row)) {
        return (same, None);
    }
    let is_shorter_by_one = rows.iter().all(|row| row.len() + 1 == header.len());
    let is_zeek = header[0].trim_ascii() == FIELDS;
    if is_zeek || header[0].trim_ascii() == b"#" && is_shorter_by_one && !rows.is_empty() {
        let cells = header[1..].to_vec();
        let uneven = (!rows.iter().any(|row| fits(&cells, row))).then(|| uneven(&cells, &rows));
        return (cells, uneven.flatten());
    }
    let has_row_names = rows.iter().all(|row| row.len() == header.len() + 1) && {
        let url = header.iter().position(|cell| is_url_name(cell));
        let is_one = |cell: &[u8]| is_url(cell) || is_short_url(cell);
        url.is_some_and(|at| !has_most(at, &rows, is_one) && has_most(at + 1, &rows, may_be_url))
    };
    if has_row_names {
        return (std::iter::once(Vec::new()).chain(same).collect(), None);
    }
    let uneven = uneven(header, &rows);
    (same, uneven)
}

/// Is `row` as wide as `header`, not counting columns at the end that are empty or have no name?
fn fits(header: &[Vec<u8>], row: Row) -> bool {
    let is_blank = |cell: &Vec<u8>| cell.trim_ascii().is_empty();
    let named = header.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
    row.len() >= named && row.iter().skip(header.len()).all(is_blank)
}

/// The widths of `header` and of the first of `rows`.
fn uneven(header: &[Vec<u8>], rows: &[Row]) -> Option<Uneven> {
    let row = rows.first()?;
    Some(Uneven { header_cells: header.len(), row_cells: row.len() })
}

#[cfg(test)]
mod tests {
    use super::super::columns::is_url_name;
    use super::*;

    #[test]
    fn headers_and_rows() {
        for (header, rows, expected, widths, why) in [
            ("url,n", &["/a,1", "/b,2"][..], "url,n", None, "as many"),
            ("url,n", &[], "url,n", None, "no rows"),
            ("url,n", &["/a,1", "/b,2,3"], "url,n", None, "some have more"),
            ("url,n", &["/a,1,", "/b,2,"], "url,n", None, "a delimiter at the end of rows"),
            ("url,n,", &["/a,1", "/b,2"], "url,n,", None, "the same in the header"),
            ("url,n", &["/a,1,x", "/b,2,y"], "url,n", Some((2, 3)), "a column without a name"),
            ("url,n,m", &["/a,1", "/b,2"], "url,n,m", Some((3, 2)), "rows that end early"),
            ("url,n,m", &["/a", "/b,2"], "url,n,m", Some((3, 2)), "a line that is not parted"),
            ("url,n", &["1,/a,1", "2,/b,2"], ",url,n", None, "names of rows"),
            ("n,url", &["1,2,/a", "2,3,/b"], ",n,url", None, "the same"),
            ("url,n", &["1,2,/a", "2,3,/b"], "url,n", Some((2, 3)), "URLs elsewhere"),
            ("url,n", &["/x,/a,1", "/y,/b,2"], "url,n", Some((2, 3)), "several may be meant"),
            ("n,m", &["1,/a,1", "2,/b,2"], "n,m", Some((2, 3)), "nothing says where URLs are"),
            ("url,n", &["1,2,/a,3"], "url,n", Some((2, 4)), "two more"),
            ("#fields,ts,uri", &["1,/a", "2,/b"], "ts,uri", None, "Zeek"),
            ("#fields,ts,uri", &[], "ts,uri", None, "Zeek, no rows"),
            ("#fields,ts,uri", &["#types,time,string", "1,/a"], "ts,uri", None, "Zeek's comments"),
            ("#fields,ts,uri", &["1,/a,b,c"], "ts,uri", Some((2, 4)), "other rows"),
            ("#fields,ts,uri", &["1,2,/a"], "#fields,ts,uri", None, "a column of that name"),
            ("#,n,url", &["1,/a", "2,/b"], "n,url", None, "a sign of its own"),
            ("#,n,url", &["1,2,/a"], "#,n,url", None, "numbers of rows"),
            ("url", &["/a,1", "/b,2"], "url", None, "one column"),
        ] {
            let cells = |line: &str| -> Vec<Vec<u8>> {
                line.split(',').map(|cell| cell.as_bytes().to_vec()).collect()
            };
            let rows: Vec<Vec<Vec<u8>>> = rows.iter().map(|row| cells(row)).collect();
            let rows: Vec<Row> = rows.iter().map(|row| &row[..]).collect();
            let (found, uneven) = aligned(&cells(header), &rows, is_url_name);
            assert_eq!(found, cells(expected), "{why}");
            let found = uneven.map(|uneven| (uneven.header_cells, uneven.row_cells));
            assert_eq!(found, widths, "{why}");
        }
    }
}
