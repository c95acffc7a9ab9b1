//! HOT: once per line. Logs of a format that the user gives in the syntax of nginx or Apache.
//!
//! ```text
//! $remote_addr [$time_local] "$request" $status      what nginx calls log_format
//! %h %t \"%r\" %>s                                   what Apache calls LogFormat
//! ```
//!
//! The string is compiled once, to literals and the fields between them (`compile.rs`). A line is
//! read from left to right: each field ends where the next literal begins.
//!
//! Price: a search for each literal. No allocation.
//! Guard: `tests::agrees_with_access_logs`.

mod compile;
mod directive;
mod variables;

use std::ops::ControlFlow;
use std::sync::Arc;

use memchr::{memchr, memmem};

use crate::error::Result;
use crate::record::fields::cut::{host_value, is_escaped, is_number, is_status, value};
use crate::record::fields::escapes::Escapes;
use crate::record::fields::request;
use crate::record::found::{Found, Parsed, PathKind};
use crate::record::line_format::LineFormat;
use crate::reject::Reject;

/// Longest literal in bytes that is searched for by its first byte. Reason: a substring searcher
/// takes longer to set up than to search most fields.
const SHORT_LITERAL_BYTES: usize = 8;

/// The format given by `text`: a string of nginx or Apache, or one of the names `common`,
/// `combined`, `vhost_combined` and `combinedio`.
///
/// - Limits: [`LOG_FORMAT_BYTES_MAX`](crate::limits::LOG_FORMAT_BYTES_MAX).
/// - Failure: a configuration error that names the position, for a string that cannot be read, that
///   has two fields with nothing between them, or that has no request and no URL.
/// - Source: <https://nginx.org/en/docs/http/ngx_http_log_module.html>,
///   <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>.
pub(crate) fn compile(text: &str) -> Result<Arc<dyn LineFormat>> {
    compile::compile(text).map(|format| Arc::new(format) as Arc<dyn LineFormat>)
}

/// A compiled format.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogFormat {
    /// The format as it was given.
    text: String,
    /// The text that every line starts with.
    prefix: Vec<u8>,
    groups: Vec<Group>,
    escapes: Escapes,
}

/// Fields with nothing between them, mostly only one, and how they end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    parts: Vec<Part>,
    end: End,
    /// The literal after them.
    literal: Vec<u8>,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    role: Role,
    /// The first byte of every value that is not empty, if that is known.
    first: Option<u8>,
    /// Is it written as a dash if it is empty, although it follows another field directly? nginx
    /// writes `$is_args$args` like that.
    is_dash_if_empty: bool,
}

/// Where a group ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At the end of the line.
    Line,
    /// At the literal, whose first byte is an unescaped quote.
    Quote,
    /// At the literal, after this many occurrences that are parts of the fields.
    Literal(usize),
    /// At the literal, but not within the brackets of an address.
    Host,
    /// At the literal, which is a blank, after the protocol of a request without quotes.
    Protocol,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Skipped,
    /// Method, target and protocol.
    Request,
    /// Path and query, or a URL.
    Target,
    /// The path alone.
    Path,
    /// The query, with or without its `?`.
    Query,
    Method,
    Status,
    Size,
    Host,
    /// The host, if there is no better one.
    NextHost,
    Port,
    /// The port for [`Role::NextHost`]; the better host includes its port, if one is needed.
    NextPort,
    Scheme,
    Time,
    Redirect,
    Referrer,
    Agent,
    Mime,
}

impl LineFormat for LogFormat {
    fn name(&self) -> &'static str {
        "log-format"
    }

    fn describe(&self) -> String {
        self.text.clone()
    }

    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        self.find(line, found).unwrap_or(Parsed::Reject(Reject::Format))
    }
}

impl LogFormat {
    /// The parts of `line`; `None` if it does not have the shape.
    fn find<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Option<Parsed> {
        let mut rest = line.strip_prefix(self.prefix.as_slice())?;
        let (mut reject, mut has_best_host, mut has_next_port) = (None, false, false);
        for group in &self.groups {
            let end = group.end_in(rest)?;
            let mut text = &rest[..end];
            rest = &rest[end + group.literal.len()..];
            for (at, part) in group.parts.iter().enumerate() {
                let end = group.parts.get(at + 1).map_or(text.len(), |next| next.start_in(text));
                let value = value(&text[..end]);
                if let ControlFlow::Break(why) = part.role.put(value, found)? {
                    reject.get_or_insert(why);
                }
                has_best_host |= part.role == Role::Host && !host_value(value).is_empty();
                has_next_port |= part.role == Role::NextPort;
                text = &text[end..];
            }
        }
        if !rest.is_empty() {
            return None;
        }
        if has_best_host && has_next_port {
            found.port = b"";
        }
        found.escapes = self.escapes;
        found.fields.escapes = self.escapes;
        Some(match (reject, found.target) {
            (Some(why), _) => Parsed::Reject(why),
            (None, b"") => Parsed::Reject(Reject::NoUrl),
            (None, target) => Parsed::of_request(found.fields.method, target),
        })
    }
}

impl Group {
    /// The position in `rest` of the literal that ends this group.
    #[inline]
    fn end_in(&self, rest: &[u8]) -> Option<usize> {
        match self.end {
            End::Line => Some(rest.len()),
            End::Quote => {
                let mut at = 0;
                loop {
                    at += memchr(b'"', &rest[at..])?;
                    if self.is_literal(&rest[at..]) && !is_escaped(rest, at) {
                        return Some(at);
                    }
                    at += 1;
                }
            }
            End::Literal(passed) => self.literal_in(rest, 0, passed),
            End::Host if rest.starts_with(b"[") => self.literal_in(rest, memchr(b']', rest)?, 0),
            End::Host => self.literal_in(rest, 0, 0),
            End::Protocol => match memmem::find(rest, b" HTTP/") {
                Some(blank) => self.literal_in(rest, blank + 1, 0),
                // A request that was not made, or one of HTTP/0.9: method and target.
                None => self.literal_in(rest, 0, usize::from(!rest.starts_with(b"- "))),
            },
        }
    }

    /// The position of the literal in `rest`, searched from `from` on, after skipping `passed`
    /// occurrences.
    #[inline]
    fn literal_in(&self, rest: &[u8], from: usize, passed: usize) -> Option<usize> {
        let mut at = from;
        for more in (0..=passed).rev() {
            at += self.next_literal(&rest[at..])? + usize::from(more > 0);
        }
        Some(at)
    }

    /// Does `rest` start with the literal? Byte by byte: most are too short to be worth a call.
    #[inline]
    fn is_literal(&self, rest: &[u8]) -> bool {
        rest.len() >= self.literal.len()
            && self.literal.iter().zip(rest).all(|(mine, theirs)| mine == theirs)
    }

    #[inline]
    fn next_literal(&self, rest: &[u8]) -> Option<usize> {
        if self.literal.len() > SHORT_LITERAL_BYTES {
            return memmem::find(rest, &self.literal);
        }
        let first = *self.literal.first()?;
        let mut at = 0;
        loop {
            at += memchr(first, &rest[at..])?;
            if self.is_literal(&rest[at..]) {
                return Some(at);
            }
            at += 1;
        }
    }
}

impl Part {
    /// Where this field starts in `text`, which consists of another field and this one.
    fn start_in(&self, text: &[u8]) -> usize {
        let dash = usize::from(self.is_dash_if_empty && text.ends_with(b"-"));
        self.first.and_then(|byte| memchr(byte, text)).unwrap_or(text.len() - dash)
    }
}

impl Role {
    /// Sets the part of `found` for `text`, or returns why there is no record; `None` if `text`
    /// does not have the shape.
    #[inline]
    fn put<'a>(self, text: &'a [u8], found: &mut Found<'a>) -> Option<ControlFlow<Reject>> {
        let fields = &mut found.fields;
        match self {
            Role::Skipped => {}
            Role::Request => match request::split(text) {
                Ok(request) => {
                    fields.method = request.method;
                    found.target = request.target;
                }
                Err(reject) => return Some(ControlFlow::Break(reject)),
            },
            Role::Target => found.target = text,
            Role::Path => {
                found.target = text;
                found.path = PathKind::Decoded;
            }
            Role::Query => found.query = text.strip_prefix(b"?").unwrap_or(text),
            Role::Method if text.is_empty() => {
                return Some(ControlFlow::Break(Reject::NoRequest));
            }
            Role::Method => fields.method = text,
            Role::Status if text.is_empty() || is_status(text) => fields.status = text,
            Role::Size if text.is_empty() || is_number(text) => fields.size = text,
            Role::Status | Role::Size => return None,
            Role::Host | Role::NextHost if host_value(text).is_empty() => {}
            Role::Host => found.host = text,
            Role::NextHost if found.host.is_empty() => found.host = text,
            Role::NextHost => {}
            Role::Port | Role::NextPort if text.is_empty() || is_number(text) => found.port = text,
            Role::Port | Role::NextPort => return None,
            // The value of a header may be anything.
            Role::Scheme if matches!(text, b"http" | b"https") => found.scheme = text,
            Role::Scheme => {}
            Role::Time => fields.time = text,
            Role::Redirect => fields.redirect = text,
            Role::Referrer => fields.referrer = text,
            Role::Agent => fields.agent = text,
            Role::Mime => fields.mime = text,
        }
        Some(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests;
