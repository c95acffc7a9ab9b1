//! HOT: once per line. The HTTP log of HAProxy: `option httplog` and `option httpslog`.
//!
//! ```text
//! client:port [time] frontend backend/server timers (5) status bytes cookie cookie state
//!     connections (5) queues (2) {captured|of the request} {captured|of the response} "request"
//!     errors name/version/cipher                                                    httpslog
//! ```
//!
//! A prefix by syslog is skipped, and so are messages of the program itself. Connections without a
//! request (`option tcplog`, failed handshakes) are rejected as that. There is no field for the
//! host: it may be among the captured headers, and a sample shows which one it is; otherwise it is
//! the name that a TLS client has asked for (SNI). Requests of HTTP/2 have an absolute URL.
//!
//! Price: a search for the end of each field. No allocation.
//! Source: HAProxy configuration manual, sections 8.2.3 and 8.2.4, "HTTP log format" and "HTTPS log
//! format", and section 8.6 on escapes: <https://docs.haproxy.org/3.0/configuration.html#8.2.3>.

use std::sync::Arc;

use memchr::{memchr, memmem};

use crate::record::fields::bracketed_time::BracketedTime;
use crate::record::fields::cut::{Cut, host_value, is_number, is_status, value};
use crate::record::fields::escapes::Escapes;
use crate::record::fields::hosts::HostShare;
use crate::record::fields::request;
use crate::record::found::{Found, Parsed};
use crate::record::line_format::LineFormat;
use crate::reject::Reject;

/// Most captured headers that are checked. Reason: up to a dozen are usual.
const CAPTURES_MAX: usize = 32;

/// An HTTP log of HAProxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Haproxy {
    host: HostPlace,
}

/// Where the host of a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HostPlace {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In a captured header of the request, counted from 0.
    Capture(usize),
    /// In the server name that the TLS client has sent.
    ServerName,
}

/// The parts of a line of the right shape.
struct Line<'a> {
    time: &'a [u8],
    is_encrypted: bool,
    status: &'a [u8],
    size: &'a [u8],
    /// The captured headers in the first braces, or nothing.
    captures: &'a [u8],
    request: &'a [u8],
    /// What follows the request.
    rest: &'a [u8],
}

/// HAProxy's format, if at least half of `lines`, not counting messages of the program, could be
/// lines of it.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let requests: Vec<Line<'_>> = lines.iter().filter_map(|line| Line::read(line)).collect();
    let messages = lines.iter().filter(|line| is_message(line)).count();
    let host = HostPlace::of(&requests);
    (!requests.is_empty() && requests.len() * 2 >= lines.len() - messages)
        .then(|| Arc::new(Haproxy { host }) as Arc<_>)
}

impl HostPlace {
    /// Where most of `lines` have a host: the first header with one, or else the TLS server name.
    fn of(lines: &[Line<'_>]) -> HostPlace {
        let names_hosts = |share: HostShare| share.is_host && share.has_names;
        let count = lines.iter().map(|line| captures(line.captures).count()).max().unwrap_or(0);
        let capture = (0..count.min(CAPTURES_MAX)).find(|at| {
            let texts = lines.iter().filter_map(|line| captures(line.captures).nth(*at));
            names_hosts(HostShare::of(texts))
        });
        match capture {
            Some(at) => HostPlace::Capture(at),
            None if names_hosts(HostShare::of(
                lines.iter().filter_map(|line| server_name(line.rest)),
            )) =>
            {
                HostPlace::ServerName
            }
            None => HostPlace::Nowhere,
        }
    }
}

impl LineFormat for Haproxy {
    fn name(&self) -> &'static str {
        "haproxy"
    }

    fn describe(&self) -> String {
        match self.host {
            HostPlace::Nowhere => String::new(),
            HostPlace::Capture(at) => format!("host: captured header {}", at + 1),
            HostPlace::ServerName => "host: name asked for by TLS".into(),
        }
    }

    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        let Some(line) = Line::read(line) else { return without_request(line) };
        found.fields.time = line.time;
        found.fields.status = line.status;
        found.fields.size = line.size;
        found.escapes = Escapes::Hash;
        found.fields.escapes = Escapes::Hash;
        let host = match self.host {
            HostPlace::Nowhere => None,
            HostPlace::Capture(at) => captures(line.captures).nth(at),
            HostPlace::ServerName => server_name(line.rest),
        };
        found.host = host.map(host_value).unwrap_or_default();
        found.scheme = if line.is_encrypted { b"https" } else { b"" };
        // HAProxy writes this for bytes that are not a request.
        if line.request == b"<BADREQ>" {
            return Parsed::Reject(Reject::BadRequest);
        }
        match request::split(line.request) {
            Ok(request) => {
                found.target = request.target;
                found.fields.method = request.method;
                Parsed::Record
            }
            Err(reject) => Parsed::Reject(reject),
        }
    }
}

impl Line<'_> {
    /// The parts of `line`; `None` if it does not have the shape.
    fn read(line: &[u8]) -> Option<Line<'_>> {
        let time = time_behind_client(line)?;
        let mut cut = Cut::new(time.behind);
        let (frontend, server, timers) = (cut.word()?, cut.word()?, cut.word()?);
        if memchr(b'/', server).is_none() || !are_numbers(timers, 5) {
            return None;
        }
        let (status, size) = (cut.word()?, cut.word()?);
        if !is_status(status) && status != b"-1" {
            return None;
        }
        let size = size.strip_prefix(b"+").unwrap_or(size);
        let (_request_cookie, _answer_cookie, _state) = (cut.word()?, cut.word()?, cut.word()?);
        let (connections, queues) = (cut.word()?, cut.word()?);
        if !is_number(size) || !are_numbers(connections, 5) || !are_numbers(queues, 2) {
            return None;
        }
        let (mut rest, mut captures) = (cut.rest(), None);
        while let Some(inner) = rest.strip_prefix(b"{") {
            let end = memchr(b'}', inner)?;
            captures = captures.or(Some(&inner[..end]));
            rest = inner[end + 1..].strip_prefix(b" ")?;
        }
        // A quote within is written `#22`.
        let request = rest.strip_prefix(b"\"")?;
        let end = memchr(b'"', request)?;
        Some(Line {
            time: time.text,
            is_encrypted: frontend.ends_with(b"~"),
            status: if status == b"-1" { b"" } else { status },
            size,
            captures: captures.unwrap_or_default(),
            request: &request[..end],
            rest: request[end + 1..].trim_ascii(),
        })
    }
}

/// The time of `line`, if a client with its port precedes it.
fn time_behind_client(line: &[u8]) -> Option<BracketedTime<'_>> {
    let time = BracketedTime::find(line)?;
    let client = time.before.strip_suffix(b" ")?.rsplit(|byte| *byte == b' ').next()?;
    let port = client.rsplit(|byte| *byte == b':').next()?;
    (port.len() < client.len() && is_number(port)).then_some(time)
}

/// The result for a line that does not have the shape of a request.
#[cold]
fn without_request(line: &[u8]) -> Parsed {
    if is_message(line) {
        return Parsed::Comment;
    }
    let is_connection = time_behind_client(line).is_some_and(|time| {
        let mut cut = Cut::new(time.behind);
        // `http-in/1: SSL handshake failure`; with three timers, `tcp-in tcp/srv1 0/0/5007 212`.
        let is_error = cut.word().is_some_and(|frontend| frontend.ends_with(b":"));
        is_error || cut.word().and(cut.word()).is_some_and(|timers| are_numbers(timers, 3))
    });
    Parsed::Reject(if is_connection { Reject::NoRequest } else { Reject::Format })
}

/// Is `line` a message of HAProxy itself: `haproxy[14389]: Server static/srv1 is DOWN`?
fn is_message(line: &[u8]) -> bool {
    let is_started_with = |sign: &&str| line.starts_with(sign.as_bytes());
    time_behind_client(line).is_none()
        && (["[NOTICE]", "[WARNING]", "[ALERT]"].iter().any(is_started_with)
            || memmem::find(line, b"haproxy[").is_some())
}

/// The captured headers of `{a|b}`.
fn captures(inner: &[u8]) -> impl Iterator<Item = &[u8]> {
    inner.split(|byte| *byte == b'|').filter(move |_| !inner.is_empty())
}

/// The server name that a TLS client has sent, from what follows its request:
/// `0/0000000000000000/0/0/0 a.test/TLSv1.3/TLS_AES_256_GCM_SHA384`.
fn server_name(rest: &[u8]) -> Option<&[u8]> {
    let mut cut = Cut::new(rest);
    let (_errors, connection) = (cut.word()?, cut.word()?);
    let mut parts = connection.split(|byte| *byte == b'/');
    let (name, version) = (parts.next()?, parts.next()?);
    (version.starts_with(b"TLS") || version == b"-").then(|| value(name))
}

/// Is `text` made of `count` numbers separated by slashes, such as `10/0/-1/69/+109`?
fn are_numbers(text: &[u8], count: usize) -> bool {
    let mut numbers = text.split(|byte| *byte == b'/');
    let is_signed = |number: &[u8]| is_number(number.strip_prefix(b"-").unwrap_or(number));
    let is_one = |number: &[u8]| is_signed(number.strip_prefix(b"+").unwrap_or(number));
    numbers.by_ref().take(count).filter(|number| is_one(number)).count() == count
        && numbers.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples::{check_hostile, sample, sample_urls};

    /// What follows the time up to the captured headers, in the manual's example.
    const BACK: &str = "[06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0";

    fn shown(format: Haproxy, line: &str) -> String {
        let mut found = Found::default();
        match format.parse(line.as_bytes(), &mut found) {
            Parsed::Record => {
                let Found { target, host, scheme, fields, .. } = found;
                let parts = [fields.status, fields.size, fields.method, scheme, host, target];
                parts.map(|part| show(part).to_string()).join("|")
            }
            Parsed::Comment => "comment".to_string(),
            Parsed::Reject(reject) => reject.to_string(),
        }
    }

    #[test]
    fn lines() {
        let by_capture = Haproxy { host: HostPlace::Capture(0) };
        for (given, expected) in [
            (
                "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 B {1wt.eu} {} \"GET /index.html HTTP/1.1\"",
                "200|2750|GET||1wt.eu|/index.html",
            ),
            (
                "<134>1 2009-02-06T12:14:14Z lb haproxy 14389 - - ::1:80 B \"GET / HTTP/1.1\"",
                "200|2750|GET|||/",
            ),
            (
                "10.0.1.2:33317 B {a.test|curl/8 (x)} \"GET /a?q=#22b HTTP/1.1\"",
                "200|2750|GET||a.test|/a?q=#22b",
            ),
            ("10.0.1.2:33317 B {|curl} \"GET / HTTP/1.1\"", "200|2750|GET|||/"),
            (
                "10.0.1.2:33317 B {} {} \"GET https://a.test/ HTTP/2.0\"",
                "200|2750|GET|||https://a.test/",
            ),
            ("10.0.1.2:33317 B {a.test} \"GET /ends/in\\\"", "200|2750|GET||a.test|/ends/in\\\\"),
            ("10.0.1.2:33317 B {a.test} \"<BADREQ>\"", "bad-request"),
            ("10.0.1.2:33317 B {a.test} \"CONNECT a.test:443 HTTP/1.1\"", "no-page"),
            ("10.0.1.2:33317 B {a.test} \"GET /cut-off", "not-format"),
            ("10.0.1.2:33317 B {a.test", "not-format"),
            ("10.0.1.2:33317 B", "not-format"),
            ("10.0.1.2 B \"GET / HTTP/1.1\"", "not-format"),
            ("Feb  6 12:14:14 localhost haproxy[14389]: Proxy http-in started.", "comment"),
            ("[WARNING]  (8) : Server static/srv1 is DOWN", "comment"),
            (
                "lb haproxy[1]: ::1:80 [06/Feb/2009:12:14:14.655] http-in/1: SSL handshake failure",
                "no-request",
            ),
            (
                "lb haproxy[1]: ::1:80 [06/Feb/2009:12:14:14.655] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0",
                "no-request",
            ),
            ("http://a.test/", "not-format"),
            ("", "not-format"),
        ] {
            assert_eq!(shown(by_capture, &given.replacen('B', BACK, 1)), expected, "{given}");
        }
    }

    #[test]
    fn shapes_that_are_others() {
        let line = |from: &str, to: &str| {
            format!("10.0.1.2:33317 {} \"GET /a HTTP/1.1\"", BACK.replace(from, to))
        };
        for (from, to, expected) in [
            ("http-in ", "http-in~ ", "200|2750|GET|https||/a"),
            (" 2750 ", " +2750 ", "200|2750|GET|||/a"),
            ("static/srv1", "http-in/<NOSRV>", "200|2750|GET|||/a"),
            ("10/0/30/69/109 200", "-1/-1/-1/-1/+5 -1", "|2750|GET|||/a"),
            ("1/1/1/1/0", "1/1/1/1/+3", "200|2750|GET|||/a"),
            ("10/0/30/69/109", "10/0/30/69", "not-format"),
            ("10/0/30/69/109", "10/0/30/69/109/1", "not-format"),
            ("10/0/30/69/109", "10/0/x/69/109", "not-format"),
            (" 200 ", " 2000 ", "not-format"),
            (" 2750 ", " - ", "not-format"),
            ("static/srv1", "static", "not-format"),
        ] {
            assert_eq!(shown(Haproxy::default(), &line(from, to)), expected, "{to}");
        }
    }

    #[test]
    fn hosts() {
        let told = |lines: &[String]| {
            let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
            recognize(&lines).map(|format| format.describe())
        };
        let line = |captures: &str, rest: &str| {
            format!("10.0.1.2:33317 {BACK} {captures}\"GET /a HTTP/1.1\"{rest}")
        };
        let tls = " 0/0000000000000000/0/0/0 a.test/TLSv1.3/TLS_AES_256_GCM_SHA384";
        for (captures, rest, expected) in [
            ("{www.a.test} ", "", "host: captured header 1"),
            ("{203.0.113.7|a.test:8080} {text/html} ", "", "host: captured header 2"),
            ("{curl/8.0|} ", "", ""),
            ("{203.0.113.7} ", "", ""),
            ("{} {a.test} ", "", ""),
            ("", "", ""),
            ("", tls, "host: name asked for by TLS"),
            ("{curl/8.0} ", tls, "host: name asked for by TLS"),
            ("{b.test} ", tls, "host: captured header 1"),
            ("", " 0/0/0/0/0 -/-/-", ""),
            ("", " 0/0/0/0/0 some/other/words", ""),
        ] {
            let found = told(&[line(captures, rest), line(captures, rest)]);
            assert_eq!(found.as_deref(), Some(expected), "{captures} {rest}");
        }
        let named = Haproxy { host: HostPlace::ServerName };
        assert_eq!(shown(named, &line("", tls)), "200|2750|GET||a.test|/a");
        assert_eq!(shown(named, &line("", " 0/0/0/0/0 -/TLSv1.2/x")), "200|2750|GET|||/a");
        let (good, bad) = (line("", ""), "http://a.test/".to_string());
        let message = "haproxy[1]: Proxy a started.".to_string();
        assert!(told(&[message.clone(), message.clone(), good.clone(), bad.clone()]).is_some());
        assert!(told(&[good, bad.clone(), bad]).is_none(), "half of the lines decide");
        assert!(told(&[message]).is_none(), "messages alone are no log of requests");
    }

    #[test]
    fn samples() {
        assert_eq!(
            sample_urls(&sample("haproxy.log"), recognize),
            [
                "GET https://www.example.com /a?b=1&a=2 ? 200",
                "GET https://www.example.com /a?a=2&b=1 ? 200",
                "GET https://www.example.com https://www.example.com/caf\u{e9}?q=\"x\" ? 200",
                "GET shop.example.com /b ? 301",
                "bad-request",
                "no-request",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let front = format!("10.0.1.2:33317 {BACK} ");
        let fronts = ["", &front, &format!("{front}{{"), &format!("{front}\"GET / HTTP/1.1\" ")];
        check_hostile(&fronts, &[" ", "\"", "{", "} {", "|", "[1", "/", "\0"], |line| {
            recognize(&[line]);
            shown(Haproxy { host: HostPlace::Capture(9) }, &String::from_utf8_lossy(line));
        });
    }
}
