//! HOT: once per line. Access logs of Apache, nginx and others that write like them.
//!
//! ```text
//! client ident user [time] "request" status size                            clf
//! client ident user [time] "request" status size "referrer" "agent"         combined
//! host:port client ident user [time] "request" status size "referrer" ...   vhost
//! words ...         [time] columns, among them a request and a status       access
//! ```
//!
//! The columns of a file are inferred from a sample, in `infer.rs`.
//!
//! Price: a search for the end of each column up to the last that is wanted. No allocation.
//! Guard: `tests::reads_what_was_written`, and the twin of `cut.rs`.

mod infer;

use std::sync::Arc;

pub(crate) use infer::{recognize, recognize_clf, recognize_combined, recognize_vhost};

use crate::record::fields::bracketed_time::BracketedTime;
use crate::record::fields::cut::{Cut, host_value, value};
use crate::record::fields::escapes::Escapes;
use crate::record::fields::request;
use crate::record::found::{Found, Parsed};
use crate::record::line_format::LineFormat;
use crate::record::marked::CommonLine;
use crate::reject::Reject;

/// An access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    name: &'static str,
    /// Least number of words before the time; the last may contain blanks.
    words: usize,
    /// Which of them is the host, from 0, if one is.
    host_word: Option<usize>,
    /// What follows the time, up to the last column that is wanted.
    columns: Vec<Column>,
    /// Does the status follow the request directly?
    is_status_next: bool,
    /// The columns to read in common lines, if the columns begin as theirs do.
    common_line: Option<CommonLine>,
    /// All columns, in the syntax of nginx's `log_format`; empty if the name says it all.
    columns_shown: String,
}

/// The field of a column after the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Skipped,
    Request,
    Status,
    Size,
    Host,
    Scheme,
    Referrer,
    Agent,
}

const CLF: [Column; 3] = [Column::Request, Column::Status, Column::Size];

const COMBINED: [Column; 5] =
    [Column::Request, Column::Status, Column::Size, Column::Referrer, Column::Agent];

impl Access {
    fn new(
        name: &'static str,
        words: usize,
        host_word: Option<usize>,
        columns: &[Column],
        columns_shown: String,
    ) -> Access {
        let is_status_next =
            columns.windows(2).any(|pair| pair == [Column::Request, Column::Status]);
        let common_line =
            (words == 3 && host_word.is_none()).then(|| common_line(columns)).flatten();
        let columns = columns.to_vec();
        Access { name, words, host_word, columns, is_status_next, common_line, columns_shown }
    }

    /// Makes the common log format: `%h %l %u %t "%r" %>s %b`.
    pub(crate) fn clf() -> Access {
        Access::new("clf", 3, None, &CLF, String::new())
    }

    /// Makes the combined format: the common log format with referrer and agent.
    pub(crate) fn combined() -> Access {
        Access::new("combined", 3, None, &COMBINED, String::new())
    }

    /// Makes the combined format with `%v:%p`, or a host alone, in front.
    pub(crate) fn vhost() -> Access {
        Access::new("vhost", 4, Some(0), &COMBINED, String::new())
    }

    /// Finds the parts of `line`; `None` if it does not have the shape.
    #[inline]
    fn find<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Option<Parsed> {
        let time = BracketedTime::find(line)?;
        let head = time.before.strip_suffix(b" ").unwrap_or_default();
        let mut request = &b""[..];
        let mut cut = Cut::new(time.behind);
        found.fields.time = time.text;
        found.host = self.host_of(head)?;
        for column in &self.columns {
            match column {
                Column::Request if self.is_status_next => {
                    request = cut.quoted_before(starts_with_status)?;
                }
                Column::Request => request = cut.quoted()?,
                Column::Status => {
                    found.fields.status = cut.number()?;
                    if !matches!(found.fields.status.len(), 0 | 3) {
                        return None;
                    }
                }
                Column::Size => found.fields.size = cut.number()?,
                Column::Host => found.host = host_value(cut.field()?),
                // A line may end early, but not before the parts of its URL.
                other => {
                    let Some(text) = cut.field().map(value) else { continue };
                    match other {
                        Column::Scheme => found.scheme = text,
                        Column::Referrer => found.fields.referrer = text,
                        Column::Agent => found.fields.agent = text,
                        _ => {}
                    }
                }
            }
        }
        found.escapes = Escapes::Backslash;
        found.fields.escapes = Escapes::Backslash;
        Some(match request::split(request) {
            Ok(request) => {
                found.target = request.target;
                found.fields.method = request.method;
                Parsed::Record
            }
            Err(reject) => Parsed::Reject(reject),
        })
    }

    /// The host among the words before the time, or nothing; `None` if there are too few words.
    #[inline]
    fn host_of<'a>(&self, head: &'a [u8]) -> Option<&'a [u8]> {
        // Bet: there is no user name. Then the words need not be counted.
        if self.words == 3 && self.host_word.is_none() && head.ends_with(b" - -") {
            return (head[0] != b' ').then_some(b"");
        }
        let (mut cut, mut host) = (Cut::new(head), &b""[..]);
        for number in 0..self.words {
            let is_last = number + 1 == self.words;
            let word = match number {
                _ if is_last => cut.rest(),
                0 => cut.word()?,
                // Syslog writes `Nov  1`.
                _ => cut.padded_word()?,
            };
            if word.is_empty() {
                return None;
            }
            if self.host_word == Some(number) {
                host = host_value(word);
            }
        }
        Some(host)
    }
}

/// How to read common lines with these columns; `None` if a URL needs more than the request, or if
/// that is not followed by status and size.
fn common_line(columns: &[Column]) -> Option<CommonLine> {
    let (first, rest) = columns.split_at_checked(CLF.len())?;
    let is_common =
        first == CLF && !rest.iter().any(|column| matches!(column, Column::Host | Column::Scheme));
    let place = |wanted| rest.iter().rposition(|column| *column == wanted);
    is_common.then(|| CommonLine { referrer: place(Column::Referrer), agent: place(Column::Agent) })
}

impl LineFormat for Access {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        self.columns_shown.clone()
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        self.find(line, found).unwrap_or(Parsed::Reject(Reject::Format))
    }

    fn common_line(&self) -> Option<CommonLine> {
        self.common_line
    }
}

/// Does `rest` start with what may follow a request: a status, or the sign for none?
#[inline]
fn starts_with_status(rest: &[u8]) -> bool {
    let end = rest.get(3).copied().unwrap_or(b' ');
    match rest {
        [first, second, third, ..] if first.is_ascii_digit() => {
            second.is_ascii_digit() && third.is_ascii_digit() && end == b' '
        }
        [b'-', b' ', ..] | [b'-'] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
