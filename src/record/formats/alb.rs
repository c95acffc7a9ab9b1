//! HOT: once per line. Access logs of load balancers of AWS.
//!
//! ```text
//! type time elb client:port target:port times (3) elb_status target_status received sent
//!     "request" "user_agent" cipher protocol group "trace" "domain" "certificate" priority
//!     created "actions" "redirect" ...                                       alb: Application
//! time elb client:port backend:port times (3) elb_status backend_status received sent
//!     "request" "user_agent" cipher protocol                                 elb: Classic
//! ```
//!
//! The request has an absolute URL with its port. More fields may follow.
//!
//! Price: a search for the end of each field. No allocation.
//! Source: the user guides of both kinds, "Access log entries":
//! <https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html>,
//! <https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html>.

use std::sync::Arc;

use crate::record::fields::cut::{Cut, is_number, is_status, value};
use crate::record::fields::escapes::Escapes;
use crate::record::fields::request;
use crate::record::found::{Found, Parsed};
use crate::record::line_format::LineFormat;
use crate::reject::Reject;

/// An access log of a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balancer {
    /// Of the kind "Application".
    Application,
    /// Of the kind "Classic".
    Classic,
}

/// Recognizes the log of an application load balancer, if at least half of `lines` could be lines
/// of it.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    Balancer::Application.if_half_of(lines)
}

/// Recognizes the log of a classic load balancer, if at least half of `lines` could be lines of it.
pub(crate) fn recognize_classic(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    Balancer::Classic.if_half_of(lines)
}

impl Balancer {
    fn if_half_of(self, lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
        let understood =
            lines.iter().filter(|line| self.find(line, &mut Found::default()).is_some());
        (understood.count() * 2 >= lines.len()).then(|| Arc::new(self) as Arc<dyn LineFormat>)
    }

    /// Finds the parts of `line`; `None` if it does not have the shape.
    fn find<'a>(self, line: &'a [u8], found: &mut Found<'a>) -> Option<Parsed> {
        let mut cut = Cut::new(line);
        if self == Balancer::Application {
            let kind = cut.word()?;
            if !matches!(kind, b"http" | b"https" | b"h2" | b"grpcs" | b"ws" | b"wss") {
                return None;
            }
        }
        let time = cut.word()?;
        if !is_time(time) {
            return None;
        }
        // The balancer, both ends, three times.
        for _ in 0..6 {
            cut.word()?;
        }
        let (status, _target_status) = (value(cut.word()?), cut.word()?);
        let (received, sent) = (cut.word()?, cut.word()?);
        if !(is_status(status) || status.is_empty()) || !is_number(received) || !is_number(sent) {
            return None;
        }
        let request = cut.quoted()?;
        found.fields.time = time;
        found.fields.status = if status == b"000" { b"" } else { status };
        found.fields.size = sent;
        found.fields.agent = cut.quoted().map(value).unwrap_or_default();
        if self == Balancer::Application {
            found.fields.redirect = redirect(cut).map(value).unwrap_or_default();
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
}

/// The tenth field after the agent.
fn redirect(mut cut: Cut<'_>) -> Option<&[u8]> {
    for _ in 0..9 {
        cut.field()?;
    }
    cut.quoted()
}

/// Is `text` like `2015-08-06T09:43:06.000000Z`?
fn is_time(text: &[u8]) -> bool {
    text.len() >= 19
        && text[0].is_ascii_digit()
        && (text[4], text[7], text[10], text[13]) == (b'-', b'-', b'T', b':')
}

impl LineFormat for Balancer {
    fn name(&self) -> &'static str {
        match self {
            Balancer::Application => "alb",
            Balancer::Classic => "elb",
        }
    }

    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        self.find(line, found).unwrap_or(Parsed::Reject(Reject::Format))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples::{check_hostile, sample, sample_urls};

    fn shown(balancer: Balancer, line: &[u8]) -> String {
        let mut found = Found::default();
        match balancer.parse(line, &mut found) {
            Parsed::Record => {
                let Found { target, fields, .. } = found;
                let parts = [fields.status, fields.size, fields.method, target];
                let more = [fields.agent, fields.redirect].into_iter();
                let parts = parts.into_iter().chain(more.filter(|part| !part.is_empty()));
                parts.map(|part| show(part).to_string()).collect::<Vec<_>>().join("|")
            }
            Parsed::Comment => "comment".to_string(),
            Parsed::Reject(reject) => reject.to_string(),
        }
    }

    const FRONT: &str =
        "2018-07-02T22:23:00.186641Z app/lb/50dc6c495c0c9188 192.0.2.7:2817 10.0.0.1:80";

    #[test]
    fn lines() {
        use Balancer::{Application, Classic};
        for (balancer, given, expected, why) in [
            (
                Application,
                r#"https F 0.086 0.048 0.037 200 200 0 57 "GET https://a.test:443/b HTTP/1.1" "curl/7.46.0" ECDHE-RSA TLSv1.2 arn:aws:x "Root=1-58" "a.test" "arn:aws:acm:y" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1"#,
                "200|57|GET|https://a.test:443/b|curl/7.46.0",
                "as it is",
            ),
            (
                Application,
                r#"http F -1 -1 -1 301 - 0 57 "GET http://a.test:80/b HTTP/1.1" "-" - - - "Root=1-58" "-" "-" 0 2018-07-02T22:22:48.364000Z "redirect" "https://a.test:443/b" "-" "-" "-""#,
                "301|57|GET|http://a.test:80/b|https://a.test:443/b",
                "a redirect by the balancer; no agent",
            ),
            (
                Application,
                r#"h2 F 0 0 0 400 400 66 49 "GET https://a.test:443/?b=\x22 c HTTP/2.0" "\x22" - -"#,
                r#"400|49|GET|https://a.test:443/?b=\\x22 c|\\x22"#,
                "an escape and a blank; early end",
            ),
            (
                Application,
                r#"http F -1 -1 -1 400 - 0 57 "- http://a.test:80- -" "-" - -"#,
                "no-request",
                "a request that the balancer could not read",
            ),
            (
                Application,
                r#"http F -1 -1 -1 460 - 0 0 "- - - " "-" - -"#,
                "no-request",
                "nothing sent",
            ),
            (
                Application,
                r#"tcp F 0 0 0 200 200 0 57 "GET http://a.test:80/ HTTP/1.1" "-""#,
                "not-format",
                "no such type",
            ),
            (
                Application,
                r#"F 0 0 0 200 200 0 57 "GET http://a.test:80/ HTTP/1.1" "-""#,
                "not-format",
                "classic",
            ),
            (
                Application,
                r#"http F 0 0 0 ok 200 0 57 "GET http://a.test:80/ HTTP/1.1" "-""#,
                "not-format",
                "no status",
            ),
            (
                Application,
                r#"http F 0 0 0 200 200 0 57 "GET http://a.test:80/ HTTP/1.1"#,
                "not-format",
                "no end",
            ),
            (
                Classic,
                r#"F 0.000073 0.001048 0.000057 200 200 0 29 "GET http://a.test:80/b HTTP/1.1" "\"a\" b" - -"#,
                r#"200|29|GET|http://a.test:80/b|\\"a\\" b"#,
                "as it is; quotes in the agent",
            ),
            (
                Classic,
                r#"F 0.001065 0.000015 0.000023 - - 57 502 "- - - " "-" ECDHE-ECDSA-AES128-GCM-SHA256 TLSv1.2"#,
                "no-request",
                "a TCP listener",
            ),
            (
                Classic,
                r#"F 0 0 0 200 200 0 29 "GET http://a.test:80/b HTTP/1.1""#,
                "200|29|GET|http://a.test:80/b",
                "without an agent, as in early logs",
            ),
            (Classic, "", "not-format", "nothing"),
            (Classic, "http://a.test/", "not-format", "a list"),
        ] {
            let given = given.replacen('F', FRONT, 1);
            assert_eq!(shown(balancer, given.as_bytes()), expected, "{given}: {why}");
        }
    }

    #[test]
    fn samples() {
        assert_eq!(
            sample_urls(&sample("alb.log"), recognize),
            [
                "GET https://www.example.com:443/a?b=1&a=2 ? 200",
                "GET https://www.example.com:443/a?a=2&b=1 ? 200",
                "GET http://www.example.com:80/q?x=\"a b\" ? 301",
                "no-request",
            ]
        );
    }

    #[test]
    fn half_of_the_lines_decide() {
        let line =
            format!(r#"http {FRONT} 0 0 0 200 200 0 57 "GET http://a.test:80/ HTTP/1.1" "-""#);
        let line = line.as_bytes();
        assert_eq!(recognize(&[line, b"x"]).unwrap().name(), "alb");
        assert!(recognize(&[line, b"x", b""]).is_none());
        assert_eq!(recognize_classic(&[&line[5..], b"x"]).unwrap().name(), "elb");
        assert!(recognize_classic(&[line]).is_none());
    }

    #[test]
    fn hostile_lines_are_linear() {
        let front = format!("http {FRONT} 0 0 0 200 200 0 57 ");
        let fronts = ["", &front, &format!("{front}\"GET / HTTP/1.1\" \"")];
        check_hostile(&fronts, &[" ", "\"", "\\\"", "\" ", "\0", "\" \""], |line| {
            shown(Balancer::Application, line);
        });
    }
}
