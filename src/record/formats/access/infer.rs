//! Infers the columns of an access log from a sample.
//!
//! The field of a column is the one that fits nine tenths of the lines; if none does, it is
//! skipped.

use super::{Access, Arc, CLF, COMBINED, Column, value};
use crate::record::fields::bracketed_time::BracketedTime;
use crate::record::fields::cut::{Cut, is_status};
use crate::record::fields::hosts::HostShare;
use crate::record::fields::request;
use crate::record::line_format::LineFormat;
use crate::reject::Reject;

/// Most columns after the time that are checked. Reason: formats in use have up to 40.
const COLUMNS_MAX: usize = 64;

/// A sample, line by line.
struct Sample<'a> {
    /// The words before the time.
    heads: Vec<Vec<&'a [u8]>>,
    times: Vec<&'a [u8]>,
    /// The columns after the time.
    tails: Vec<Vec<Field<'a>>>,
}

/// A column of one line.
#[derive(Clone, Copy)]
struct Field<'a> {
    /// The byte before it, which shows quotes and brackets.
    first: u8,
    text: &'a [u8],
}

/// Recognizes the access log that `lines` are a sample of, if at least half of them could be lines
/// of one.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    infer(lines).map(|access| Arc::new(access) as Arc<dyn LineFormat>)
}

/// Recognizes an access log by `lines`, a sample, if it is in the common log format.
pub(crate) fn recognize_clf(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize(lines).filter(|access| access.name() == "clf")
}

/// Recognizes an access log by `lines`, a sample, if it is a combined log.
pub(crate) fn recognize_combined(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize(lines).filter(|access| access.name() == "combined")
}

/// Recognizes an access log by `lines`, a sample, if it has a host in front.
pub(crate) fn recognize_vhost(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize(lines).filter(|access| access.name() == "vhost")
}

/// Infers the access log that `lines` are a sample of, if at least half of them could be lines of
/// one.
pub(super) fn infer(lines: &[&[u8]]) -> Option<Access> {
    let sample = Sample::read(lines);
    if sample.heads.len() * 2 < lines.len() {
        return None;
    }
    let words = most_frequent(sample.heads.iter().map(Vec::len))?;
    let count = most_frequent(sample.tails.iter().map(Vec::len))?;
    let host_word = sample.host_word(words);
    // A fourth word that is not a host is part of a user name.
    let words = if host_word.is_none() { words.min(3) } else { words };
    let mut columns = sample.columns(count)?;
    if host_word.is_some() {
        for column in &mut columns {
            if *column == Column::Host {
                *column = Column::Skipped;
            }
        }
    }
    let head = sample.head_shown(words, host_word);
    let shown = format!("{head} [$time_local] {}", sample.shown(&columns));
    while columns.last() == Some(&Column::Skipped) {
        columns.pop();
    }
    match (words, host_word) {
        // The other columns are not read.
        (3, None) if columns == CLF => Some(Access::clf()),
        (3, None) if columns == COMBINED => Some(Access::combined()),
        (4, Some(0)) if columns == CLF || columns == COMBINED => Some(Access::vhost()),
        _ => Some(Access::new("access", words, host_word, &columns, shown.trim_start().into())),
    }
}

impl<'a> Sample<'a> {
    fn read(lines: &[&'a [u8]]) -> Sample<'a> {
        let mut sample = Sample { heads: Vec::new(), times: Vec::new(), tails: Vec::new() };
        for line in lines {
            let Some(time) = BracketedTime::find(line) else { continue };
            let head = time.before.trim_ascii();
            let words = head.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
            let mut cut = Cut::new(time.behind);
            let fields = std::iter::from_fn(|| {
                let first = *cut.rest().first()?;
                cut.field().map(|text| Field { first, text })
            });
            sample.heads.push(words.take(COLUMNS_MAX).collect());
            sample.times.push(time.text);
            sample.tails.push(fields.take(COLUMNS_MAX).collect());
        }
        sample
    }

    /// The values of column `at` that are not empty, with the byte before each.
    fn column(&self, at: usize) -> impl Iterator<Item = Field<'a>> + Clone {
        self.tails.iter().filter_map(move |fields| fields.get(at).copied())
    }

    /// Word `at` before the time, of lines with at least `words`.
    fn word(&self, at: usize, words: usize) -> impl Iterator<Item = &'a [u8]> + Clone {
        let heads = self.heads.iter().filter(move |head| head.len() >= words);
        heads.filter_map(move |head| head.get(at).copied())
    }

    /// Which of the words before the time is the requested host, not the client.
    fn host_word(&self, words: usize) -> Option<usize> {
        if words < 2 {
            return None;
        }
        if let Some(behind) = self.host_behind_program(words) {
            return Some(behind);
        }
        let [first, second] = [0, 1].map(|at| HostShare::of(self.word(at, words)));
        // Only a host precedes the client and the two words of the user, with a port.
        if first.is_host && first.has_port && (second.is_host || words >= 4 && first.has_labels) {
            return Some(0);
        }
        if !first.is_host || !second.is_host {
            return None;
        }
        if first.has_names && !second.has_names {
            return Some(0);
        }
        if second.has_names && !first.has_names {
            return Some(1);
        }
        (words >= 4).then_some(0)
    }

    /// Which of the words is the host after a prefix of syslog, as in `nginx: a.test 1.2.3.4 - -`:
    /// the name of a program, the host, the client and the two words of the user.
    fn host_behind_program(&self, words: usize) -> Option<usize> {
        let host = words.checked_sub(4).filter(|host| *host > 0)?;
        let [first, second] = [host, host + 1].map(|at| HostShare::of(self.word(at, words)));
        let is_behind_program = most(self.word(host - 1, words), |word| word.ends_with(b":"));
        (is_behind_program && first.is_host && first.has_names && second.is_host).then_some(host)
    }

    /// The roles of `count` columns; `None` without a request or a status.
    fn columns(&self, count: usize) -> Option<Vec<Column>> {
        let mut columns = vec![Column::Skipped; count];
        let all = 0..count;
        let is_quoted = |at: usize| most(self.column(at), |field| field.first == b'"');
        let request = all
            .clone()
            .find(|at| is_quoted(*at) && most_of(self.said(*at), 50, is_request))
            .or_else(|| {
                (count > 0 && is_quoted(0) && self.said(0).next().is_none()).then_some(0)
            })?;
        columns[request] = Column::Request;
        let take = |columns: &mut Vec<Column>, role, is: &dyn Fn(usize) -> bool| {
            let at = all.clone().find(|at| columns[*at] == Column::Skipped && is(*at))?;
            columns[at] = role;
            Some(at)
        };
        let status = take(&mut columns, Column::Status, &|at| {
            most(self.said(at), is_status) && !is_quoted(at)
        })?;
        let is_size = |at: usize| {
            at > status
                && !is_quoted(at)
                && most(self.column(at), |field| value(field.text).iter().all(u8::is_ascii_digit))
        };
        // A column with numbers, if there is one: an error may come before it, mostly a dash.
        let has_size = |at: usize| is_size(at) && self.said(at).next().is_some();
        let first = all.clone().find(|at| has_size(*at));
        take(&mut columns, Column::Size, &|at| match first {
            Some(first) => at == first + usize::from(self.is_received(first, status, &has_size)),
            None => is_size(at),
        });
        take(&mut columns, Column::Host, &|at| {
            let host = HostShare::of(self.column(at).map(|field| field.text));
            host.is_host && host.has_names && !self.is_name_of_file(at, request)
        });
        take(&mut columns, Column::Scheme, &|at| {
            most(self.said(at), |text| matches!(text, b"http" | b"https"))
        });
        let agent = take(&mut columns, Column::Agent, &|at| {
            is_quoted(at) && most_of(self.said(at), 60, is_agent)
        });
        let referrer = take(&mut columns, Column::Referrer, &|at| {
            is_quoted(at) && most(self.said(at), is_url)
        });
        // No line of the sample has a referrer: it is the last quoted column before the agent.
        if let (None, Some(agent)) = (referrer, agent) {
            let says_nothing = |at: &usize| is_quoted(*at) && self.said(*at).next().is_none();
            if let Some(at) = (status..agent).rev().find(says_nothing) {
                columns[at] = Column::Referrer;
            }
        }
        // No line has a known agent: two quoted columns after the size are those of combined.
        if columns.starts_with(&CLF) && columns.len() == COMBINED.len() && agent.is_none() {
            let is_free =
                |at: usize, role| matches!(columns[at], Column::Skipped) || columns[at] == role;
            if is_free(3, Column::Referrer)
                && columns[4] == Column::Skipped
                && (3..5).all(is_quoted)
            {
                columns.copy_from_slice(&COMBINED);
            }
        }
        Some(columns)
    }

    /// Is column `at` the size of the request, before that of the response? Envoy writes both, and
    /// the duration, after flags that follow the `status`; its times are those of ISO 8601.
    fn is_received(&self, at: usize, status: usize, is_size: &dyn Fn(usize) -> bool) -> bool {
        at > status + 1
            && (at + 1..at + 3).all(is_size)
            && most(self.times.iter().copied(), |time| time.get(10) == Some(&b'T'))
    }

    /// Does the target of the `request` end with column `at`, in half of the lines? File names look
    /// like hosts: S3 writes `photo.jpg` before `GET /b/photo.jpg`.
    fn is_name_of_file(&self, at: usize, request: usize) -> bool {
        let both =
            self.tails.iter().filter_map(|fields| Some((fields.get(at)?, fields.get(request)?)));
        most_of(both, 50, |(name, request)| {
            let target = request::split(request.text).map_or(&b""[..], |request| request.target);
            let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
            let folder = path.strip_suffix(name.text);
            folder.is_some_and(|folder| folder.starts_with(b"/") && folder.ends_with(b"/"))
        })
    }

    /// The values of column `at` that are not empty.
    fn said(&self, at: usize) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.column(at).map(|field| value(field.text)).filter(|text| !text.is_empty())
    }

    /// The words before the time, in the syntax of nginx's `log_format`.
    fn head_shown(&self, words: usize, host_word: Option<usize>) -> String {
        let client = match host_word {
            Some(1) | None => 0,
            Some(host) => host + 1,
        };
        let shown = (0..words).map(|at| {
            if host_word == Some(at) {
                "$http_host"
            } else if at == client {
                "$remote_addr"
            } else if at + 1 == words {
                "$remote_user"
            } else if self.word(at, words).all(|word| word == b"-") {
                "-"
            } else {
                "$skipped"
            }
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// The columns after the time, in the same syntax.
    fn shown(&self, columns: &[Column]) -> String {
        let shown = columns.iter().enumerate().map(|(at, column)| {
            let variable = match column {
                Column::Request => "$request",
                Column::Status => "$status",
                Column::Size => "$body_bytes_sent",
                Column::Host => "$http_host",
                Column::Scheme => "$scheme",
                Column::Referrer => "$http_referer",
                Column::Agent => "$http_user_agent",
                Column::Skipped => "$skipped",
            };
            if most(self.column(at), |field| field.first == b'"') {
                format!("\"{variable}\"")
            } else if most(self.column(at), |field| field.first == b'[') {
                format!("[{variable}]")
            } else {
                variable.to_string()
            }
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// The most frequent value; of several the smallest.
fn most_frequent(values: impl Iterator<Item = usize>) -> Option<usize> {
    let mut counts = [0; COLUMNS_MAX + 1];
    for value in values {
        counts[value] += 1;
    }
    let most = *counts.iter().max()?;
    if most == 0 { None } else { counts.iter().position(|count| *count == most) }
}

/// Is `is` true for nine tenths of `items`, and for at least one?
pub(super) fn most<T>(items: impl Iterator<Item = T>, is: impl Fn(T) -> bool) -> bool {
    most_of(items, 90, is)
}

fn most_of<T>(items: impl Iterator<Item = T>, percent: usize, is: impl Fn(T) -> bool) -> bool {
    let (mut all, mut those) = (0, 0);
    for item in items {
        all += 1;
        those += usize::from(is(item));
    }
    those > 0 && those * 100 >= all * percent
}

fn is_request(text: &[u8]) -> bool {
    match request::split(text) {
        Ok(request) => !request.protocol.is_empty() || request.target.starts_with(b"/"),
        Err(reject) => {
            let is_other_protocol =
                text.starts_with(b"\\x") || text.starts_with(b"PRI * ") || text[0] < b' ';
            reject == Reject::NoPage || is_other_protocol
        }
    }
}

fn is_url(text: &[u8]) -> bool {
    let scheme = text.iter().position(|byte| *byte == b':').unwrap_or_default();
    scheme > 0 && text[scheme..].starts_with(b"://") && !text[..scheme].contains(&b' ')
}

/// Does `text` look like `name/version ...`, and not like a protocol?
fn is_agent(text: &[u8]) -> bool {
    let Some(slash) = text.iter().position(|byte| *byte == b'/') else { return false };
    slash > 0 && text[slash..].get(1).is_some_and(u8::is_ascii_digit) && !text.starts_with(b"HTTP/")
}
