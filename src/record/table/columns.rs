//! Finds the columns of a table that are read, by their names and by their cells.

use super::cell::{is_figure, is_short_url, is_url, may_be_url, plain_name};
use crate::record::field_map::Field;

/// Share of the rows whose cell must be a URL for a column to be one of URLs, in percent.
pub(super) const SHARE_MIN_PERCENT: usize = 90;

/// Fewest rows below a row of words for that to be a header.
const ROWS_BELOW_WORDS_MIN: usize = 3;

/// Names of columns of URLs that are often used for something else: their cells decide.
const VAGUE_URL_NAMES: [&str; 2] = ["destination", "source"];

/// Names of columns of queries that may also be search terms.
const VAGUE_QUERY_NAMES: [&str; 2] = ["query", "args"];

/// A name of columns of redirects that may also be a place on Earth, as in logs of CloudFront.
const VAGUE_REDIRECT_NAME: &str = "location";

/// A row of a table: its cells.
pub(super) type Row<'a> = &'a [Vec<u8>];

/// The column of URLs of a table with a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UrlColumn {
    pub(super) at: usize,
    /// Are most of its cells URLs or paths?
    pub(super) has_urls: bool,
    /// Other columns with names of columns of URLs that do have URLs.
    pub(super) others: Vec<usize>,
}

/// The column of URLs by its name in the header `cells`: the first of the usual names below which
/// most cells of `rows` are URLs, or else the first of the usual names.
pub(super) fn url_column(cells: &[Vec<u8>], rows: &[Row]) -> Option<UrlColumn> {
    let names = plain_names(cells);
    let usual = Field::Url.usual_names().iter();
    let usual = usual.filter_map(|usual| names.iter().position(|name| name == usual));
    let usual: Vec<usize> = usual.collect();
    let (full, other): (Vec<usize>, Vec<usize>) =
        usual.into_iter().partition(|at| has_most(*at, rows, may_be_url));
    let is_vague = |at: &usize| VAGUE_URL_NAMES.contains(&&*names[*at]);
    let at = *full.first().or_else(|| other.iter().find(|at| !is_vague(at)))?;
    let has_urls = |cell: &[u8]| is_url(cell) || is_short_url(cell);
    let others = full.iter().skip(1).filter(|at| has_most(**at, rows, has_urls));
    Some(UrlColumn { at, has_urls: !full.is_empty(), others: others.copied().collect() })
}

/// The only column of URLs of `rows`, which have `width` cells each, whatever its name.
pub(super) fn only_column_of_urls(width: usize, rows: &[Row]) -> Option<usize> {
    let mut columns = (0..width).filter(|column| {
        let urls = rows.iter().filter(|row| is_url(&row[*column])).count();
        100 * urls >= SHARE_MIN_PERCENT * rows.len()
    });
    let (Some(column), None) = (columns.next(), columns.next()) else { return None };
    (!rows.is_empty()).then_some(column)
}

/// The only column of `rows`, which have `width` cells each, that is not numeric, if it has hosts:
/// lists of the most visited sites have ranks in front. Below a row of words it may also have
/// paths; otherwise paths with commas are taken for a list, such as `/art,12`.
pub(super) fn hosts_beside_figures(
    width: usize,
    rows: &[Row],
    words: Option<Row>,
) -> Option<usize> {
    let is_most = |column: usize, is_one: &dyn Fn(&[u8]) -> bool| {
        let count = rows.iter().filter(|row| is_one(&row[column])).count();
        100 * count >= SHARE_MIN_PERCENT * rows.len()
    };
    let mut others = (0..width).filter(|column| !is_most(*column, &is_figure));
    let (Some(column), None) = (others.next(), others.next()) else { return None };
    let has_words = words.is_some_and(|words| {
        !words.iter().any(|cell| is_figure(cell)) && !is_short_url(&words[column])
    });
    let is_host = |cell: &[u8]| !cell.contains(&b'/') && is_short_url(cell);
    let are_hosts = match has_words {
        true => rows.len() >= ROWS_BELOW_WORDS_MIN && is_most(column, &is_short_url),
        false => is_most(column, &is_host),
    };
    (!rows.is_empty() && are_hosts).then_some(column)
}

/// The field of each column by its name in the header `cells`, except the query. The cells of
/// `rows` decide about names that may mean something else.
pub(super) fn by_names(cells: &[Vec<u8>], rows: &[Row]) -> Vec<Option<Field>> {
    let names = plain_names(cells);
    let mut slots = vec![None; cells.len()];
    let is_elsewhere = |at: usize| {
        let (urls, others) = count(at, rows, may_be_url);
        names[at] == VAGUE_REDIRECT_NAME && others > 0 && others >= urls
    };
    // In exports of log shippers such as Splunk, `host` is the machine that wrote the line.
    let is_shipped = names.iter().any(|name| name == "sourcetype");
    let is_by_name =
        |field: &Field| *field != Field::Query && !(*field == Field::Host && is_shipped);
    for field in Field::ALL.into_iter().filter(is_by_name) {
        let usual = field.usual_names().iter();
        let mut usual = usual
            .filter_map(|usual| names.iter().position(|name| name == usual))
            .filter(|at| field != Field::Redirect || !is_elsewhere(*at));
        if let Some(at) = usual.next().filter(|at| slots[*at].is_none()) {
            slots[at] = Some(field);
        }
    }
    slots
}

/// The column of the queries of the URLs in column `url`, by its name in the header `cells`.
///
/// - For paths it is a column with a usual name for queries; if the name may also mean search
///   terms, most of its cells must look like queries, if there are any.
/// - For URLs it is a column with a usual name whose cells look like queries, and none if the user
///   `has_chosen` the column of URLs: that may have hosts, which are not followed by a query.
pub(super) fn query_column(
    cells: &[Vec<u8>],
    rows: &[Row],
    url: usize,
    has_chosen: bool,
) -> Option<usize> {
    let names = plain_names(cells);
    let are_paths = has_most(url, rows, |cell| cell.trim_ascii().starts_with(b"/"));
    let usual = Field::Query.usual_names().iter();
    let mut usual = usual.filter_map(|usual| names.iter().position(|name| name == usual));
    usual.find(|at| {
        let (queries, others) = count(*at, rows, is_query);
        let is_vague = VAGUE_QUERY_NAMES.contains(&&*names[*at]);
        let are_queries = others == 0 || queries > others;
        *at != url
            && match are_paths {
                true => !is_vague || are_queries,
                false => !is_vague && !has_chosen && are_queries,
            }
    })
}

/// Does column `at` of the header `cells` have a name for paths without query, so that a question
/// mark in it is text?
pub(super) fn is_stem(cells: &[Vec<u8>], at: usize) -> bool {
    cells.get(at).is_some_and(|cell| plain_name(cell).ends_with("uri_stem"))
}

/// Is one of `cells` a usual name of a column of URLs?
pub(super) fn has_url_name(cells: &[Vec<u8>]) -> bool {
    cells.iter().any(|cell| is_url_name(cell))
}

/// Is `cell` a usual name of a column of URLs?
pub(super) fn is_url_name(cell: &[u8]) -> bool {
    Field::Url.usual_names().contains(&&*plain_name(cell))
}

/// Is `is_one` true for most cells of column `at` of `rows` that are not empty?
pub(super) fn has_most(at: usize, rows: &[Row], is_one: impl Fn(&[u8]) -> bool) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(at)).filter(|cell| !cell.is_empty());
    let (some, others): (Vec<_>, Vec<_>) = cells.partition(|cell| is_one(cell));
    some.len() > others.len()
}

/// For how many cells of column `at` of `rows` `is_one` is true, and for how many it is false;
/// empty ones and `-` do not count.
fn count(at: usize, rows: &[Row], is_one: impl Fn(&[u8]) -> bool) -> (usize, usize) {
    let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.trim_ascii());
    let said = cells.filter(|cell| !matches!(*cell, b"" | b"-"));
    let (some, others): (Vec<_>, Vec<_>) = said.partition(|cell| is_one(cell));
    (some.len(), others.len())
}

/// Does `cell` look like the query of a URL, not like search terms?
fn is_query(cell: &[u8]) -> bool {
    cell.starts_with(b"?") || cell.contains(&b'=')
}

fn plain_names(cells: &[Vec<u8>]) -> Vec<String> {
    cells.iter().map(|cell| plain_name(cell)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<Vec<u8>> {
        line.split(',').map(|cell| cell.as_bytes().to_vec()).collect()
    }

    #[test]
    fn queries() {
        for (lines, has_chosen, expected, why) in [
            (&["uri,query_string", "/a,x=1"][..], false, Some(1), "a path"),
            (&["uri,query_string", "/a,x"], false, Some(1), "the name says it"),
            (&["uri,cs-uri-query", "/a,-"], false, Some(1), "none yet"),
            (&["uri,query_string"], false, Some(1), "a header alone"),
            (&["uri,query", "/a,x=1", "/b,", "/c,?wsdl"], false, Some(1), "they look like some"),
            (&["uri,query", "/a,-", "/b,"], false, Some(1), "none yet"),
            (&["page,query,clicks", "/a,red shoes,1", "/b,shoes,2"], false, None, "a search"),
            (&["page,query", "http://a.test/,x=1"], false, None, "the same for a URL"),
            (&["page,query"], false, None, "nobody knows"),
            (
                &["url,query_string", "http://a.test/,x=1"],
                false,
                Some(1),
                "a URL without its query",
            ),
            (&["url,query_string", "http://a.test/,red shoes"], false, None, "a search"),
            (&["url,url_query", "a.test,x=1"], true, None, "a chosen column of hosts"),
            (&["url,url_query", "/a,x=1"], true, Some(1), "a chosen column of paths"),
            (&["uri,query,query_string", "/a,b,x=1"], false, Some(2), "the better name"),
            (&["uri,keyword", "/a,x=1"], false, None, "another name"),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| cells(line)).collect();
            let rows: Vec<Row> = lines[1..].iter().map(|row| &row[..]).collect();
            assert_eq!(query_column(&lines[0], &rows, 0, has_chosen), expected, "{why}");
        }
    }

    #[test]
    fn hosts_and_figures() {
        for (lines, has_words, expected, why) in [
            (&["1,a.com", "2,b.org"][..], false, Some(1), "ranks"),
            (&["a.com,1,2.5", "b.org,2,-"], false, Some(0), "ranks behind; fractions"),
            (&["/art,12", "/art,13", "/art,14"], false, None, "ends of paths"),
            (&["a.com/art,12", "a.com/art,13"], false, None, "the same on a host"),
            (&["Pfad,Zahl", "/a,12", "/b,1.5", "/c,7 %"], true, Some(0), "words above paths"),
            (&["Pfad,Zahl", "/a,12", "/b,1"], true, None, "too few of them"),
            (&["/x,Zahl", "/a,12", "/b,1", "/c,2"], true, None, "a path above paths"),
            (&["Pfad,3", "/a,12", "/b,1", "/c,2"], true, None, "a figure above figures"),
            (&["1,a.com,x", "2,b.org,y"], false, None, "words beside hosts"),
            (&["1,2", "3,4"], false, None, "no hosts"),
            (&["1,word", "2,other"], false, None, "words"),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| cells(line)).collect();
            let rows: Vec<Row> = lines.iter().map(|row| &row[..]).collect();
            let (words, rows) = match has_words {
                true => (Some(rows[0]), &rows[1..]),
                false => (None, &rows[..]),
            };
            assert_eq!(hosts_beside_figures(rows[0].len(), rows, words), expected, "{why}");
        }
    }

    #[test]
    fn hosts_of_what_ships_lines() {
        for (line, expected) in
            [("host,uri", Some(Field::Host)), ("host,source,sourcetype,uri", None)]
        {
            assert_eq!(by_names(&cells(line), &[])[0], expected, "{line}");
        }
    }

    #[test]
    fn redirects_and_places() {
        for (lines, expected) in [
            (&["url,location", "/a,/b"][..], Some(1)),
            (&["url,location", "/a,"], Some(1)),
            (&["url,location"], Some(1)),
            (&["url,location", "/a,FRA2", "/b,-"], None),
            (&["url,location,final_url", "/a,FRA56-C1,/b"], Some(2)),
            (&["url,redirect", "/a,b"], Some(1)),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| cells(line)).collect();
            let rows: Vec<Row> = lines[1..].iter().map(|row| &row[..]).collect();
            let slots = by_names(&lines[0], &rows);
            let at = slots.iter().position(|slot| *slot == Some(Field::Redirect));
            assert_eq!(at, expected, "{lines:?}");
        }
    }
}
