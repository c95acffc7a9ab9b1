//! JSON lines: an object on each line, with a URL in it.

mod scan;
mod unescaped;
mod usual;

use std::sync::Arc;

use self::scan::{PATH_TOKENS_MAX, Places, Value, scan};
pub(super) use self::unescaped::unescaped_lines;
use self::usual::USUAL;
use super::field_map::{Field, FieldMap};
use crate::error::{Error, Result};
use crate::parts;
use crate::record::fields::cut::host_value;
use crate::record::fields::request;
use crate::record::{Escapes, Found, LineFormat, Parsed, PathKind};
use crate::reject::Reject;

/// Objects on lines, such as logs of Caddy and of nginx, or the answers of an index.
///
/// - Shape: any JSON value on each line. The URL is at the first of the [`USUAL`] places that has
///   one, or where the user tells. Of equal names in an object the last counts. `-`, `""` and
///   `null` are nothing, nor is a host `_`.
/// - Failure: a line that is no JSON is [`Reject::Format`], one without a URL [`Reject::NoUrl`], or
///   [`Reject::NoRequest`] if it has an empty request.
/// - Source: RFC 8259; JSON Lines; RFC 6901 for pointers.
#[derive(Clone, Debug)]
pub(crate) struct Json {
    name: &'static str,
    places: Places,
    /// What each place is about, and how good it is: the less the better.
    parts: Vec<Part>,
    description: String,
}

/// What a value is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A URL, or a path with its query.
    Target,
    /// `GET /a HTTP/1.1`.
    RequestLine,
    /// A path without its query, mostly.
    Path,
    Query,
    /// What may be a URL where nothing else is.
    Link,
    Scheme,
    Port,
    /// An object that is there for encrypted connections alone.
    Tls,
    /// A date, where the time is one of day alone, or missing.
    Day,
    Field(Field),
}

impl Part {
    /// A number for each part.
    fn slot(self) -> usize {
        match self {
            Part::Target => 0,
            Part::RequestLine => 1,
            Part::Path => 2,
            Part::Query => 3,
            Part::Link => 4,
            Part::Scheme => 5,
            Part::Port => 6,
            Part::Tls => 7,
            Part::Day => 8,
            Part::Field(field) => 9 + field as usize,
        }
    }
}

const SLOTS: usize = 9 + Field::ALL.len();

impl Json {
    /// Lines with the usual places.
    pub(crate) fn usual(name: &'static str) -> Json {
        let mut json = Json::with_fields(&FieldMap::default()).expect("usual places are short");
        json.name = name;
        json
    }

    /// Lines with the places that the user tells: JSON pointers, or names of members of the
    /// outermost object. What is not told has its usual places.
    ///
    /// Failure: a configuration error for a pointer with too many parts.
    pub(crate) fn with_fields(fields: &FieldMap) -> Result<Json> {
        let mut places: Vec<(String, Part)> = Vec::new();
        let mut description = String::new();
        for (field, place) in fields.places() {
            let part = if field == Field::Url { Part::Target } else { Part::Field(field) };
            let pointer = match place.starts_with('/') {
                true => place.to_string(),
                false => format!("/{}", place.replace('~', "~0").replace('/', "~1")),
            };
            if pointer.matches('/').count() > PATH_TOKENS_MAX {
                return Err(Error::config(format!(
                    "--field {}={place}: expected a pointer of at most {PATH_TOKENS_MAX} parts",
                    field.name()
                )));
            }
            let gap = if description.is_empty() { "" } else { ", " };
            description = format!("{description}{gap}{} {pointer}", field.name());
            places.push((pointer, part));
        }
        let is_told = |part: Part| match part {
            Part::Field(field) => fields.place(field).is_some(),
            Part::Scheme | Part::Port | Part::Tls => false,
            Part::Day => fields.place(Field::Time).is_some(),
            // All that a URL is made from.
            _ => fields.place(Field::Url).is_some(),
        };
        for (part, pointers) in USUAL.iter().filter(|(part, _)| !is_told(*part)) {
            places.extend(pointers.iter().map(|pointer| (pointer.to_string(), *part)));
        }
        Ok(Json::of_places("jsonl", &places, description))
    }

    /// Lines with these pointers, of one part the best first.
    pub(super) fn of_places(
        name: &'static str,
        places: &[(String, Part)],
        description: String,
    ) -> Json {
        let tokens: Vec<Vec<Vec<u8>>> = places
            .iter()
            .map(|(pointer, _)| {
                let names = pointer.split('/').skip(1);
                names.map(|name| name.replace("~1", "/").replace("~0", "~").into()).collect()
            })
            .collect();
        let paths = tokens.iter().map(|path| path.iter().map(|name| &name[..]).collect());
        let parts = places.iter().map(|(_, part)| *part).collect();
        Json { name, places: Places::new(paths), parts, description }
    }

    /// Finds the parts of the record in the object `text`.
    #[inline]
    pub(super) fn parse_object<'a>(&self, text: &'a [u8], found: &mut Found<'a>) -> Parsed {
        let mut values: [&[u8]; SLOTS] = [b""; SLOTS];
        let mut best = [u16::MAX; SLOTS];
        let (mut has_escapes, mut is_empty_request, mut has_query) = (false, false, false);
        let is_json = scan(text, &self.places, |number, value| {
            let part = self.parts[usize::from(number)];
            has_query |= part == Part::Query;
            let (value, is_escaped) = match value {
                Value::Text(b"-" | b"", _) => {
                    is_empty_request |= part == Part::RequestLine;
                    return;
                }
                Value::Text(text, is_escaped) => (text, is_escaped),
                Value::Number(text) => match part {
                    Part::Port | Part::Field(_) => (text, false),
                    _ => return,
                },
                Value::Object if part == Part::Tls => (&b"https"[..], false),
                Value::Object => return,
            };
            let slot = part.slot();
            if number <= best[slot] {
                best[slot] = number;
                values[slot] = value;
                has_escapes |= is_escaped;
            }
        });
        if !is_json {
            return Parsed::Reject(Reject::Format);
        }
        if has_escapes {
            found.escapes = Escapes::Json;
            found.fields.escapes = Escapes::Json;
        }
        for field in Field::ALL {
            field.put(values[Part::Field(field).slot()], found);
        }
        match finish(&values, has_query, found) {
            Parsed::Reject(Reject::NoUrl) if is_empty_request => Parsed::Reject(Reject::NoRequest),
            parsed => parsed,
        }
    }
}

/// What follows from all values together, of which a query may be an empty one.
#[inline]
fn finish<'a>(values: &[&'a [u8]; SLOTS], has_query: bool, found: &mut Found<'a>) -> Parsed {
    let value = |part: Part| values[part.slot()];
    let (mut line, mut path) = (value(Part::RequestLine), value(Part::Path));
    found.target = value(Part::Target);
    let mut is_path_url = is_url(path);
    // Some call the target alone a request.
    if is_target(line) {
        if !is_path_url {
            (path, is_path_url) = (line, is_url(line));
        }
        line = b"";
    }
    let is_asked = found.target.is_empty() && !is_path_url;
    if !line.is_empty() && (is_asked || found.fields.method.is_empty()) {
        match request::split(line) {
            Ok(request) => {
                if is_asked {
                    found.target = request.target;
                }
                found.fields.method = request.method;
            }
            Err(kind) if is_asked => return Parsed::Reject(kind),
            Err(_) => {}
        }
    }
    if found.target.is_empty() && !path.is_empty() {
        found.target = path;
        // Behind a fragment, or another query, stands none.
        let is_whole = path.contains(&b'?') || is_path_url && path.contains(&b'#');
        if !is_whole {
            let query = value(Part::Query);
            found.query = query.strip_prefix(b"?").unwrap_or(query);
            // Where none is named it may be a path as a browser has it, with its fragment.
            if has_query {
                found.path = PathKind::Alone;
            }
        }
    }
    if found.target.is_empty() {
        found.target = value(Part::Link);
    }
    found.scheme = match (value(Part::Scheme), value(Part::Tls)) {
        (b"", tls) => tls,
        (scheme, _) => scheme,
    };
    let day = value(Part::Day);
    if found.fields.time.is_empty() {
        found.fields.time = day;
    } else if !day.is_empty() && found.fields.time.get(2) == Some(&b':') {
        found.fields.clock = found.fields.time;
        found.fields.time = day;
    }
    found.host = host_value(found.host);
    // A host that has its port needs no other.
    if !found.host.contains(&b':') {
        found.port = value(Part::Port);
    }
    match (found.target, found.fields.method) {
        (b"", _) => Parsed::Reject(Reject::NoUrl),
        (target, method) => Parsed::of_request(method, target),
    }
}

/// Does `text` begin with a scheme and two slashes?
#[inline]
fn is_url(text: &[u8]) -> bool {
    parts::scheme_length(text).is_some_and(|end| text[end..].starts_with(b"://"))
}

/// Is `text`, which may be a request line, a path or a URL alone?
#[inline]
fn is_target(text: &[u8]) -> bool {
    (text.starts_with(b"/") || is_url(text)) && memchr::memchr(b' ', text).is_none()
}

/// Recognizes objects, if there is a URL in one of the first lines.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let json = Json::usual("jsonl");
    let is_own = lines.first().is_some_and(|line| is_origin(line));
    (is_own || first_object(&json, lines).is_some()).then(|| Arc::new(json) as _)
}

/// Recognizes objects, if the first of them with a URL has an object `request` with a `uri` in it,
/// as those of Caddy.
pub(crate) fn recognize_caddy(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize_kind(lines, "caddy", &[&[b"request", b"uri"]])
}

/// Recognizes objects, if the first of them with a URL has the request line, or the URI and the
/// bytes of the answer, by the names that nginx has for them.
pub(crate) fn recognize_nginx(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize_kind(lines, "nginx-json", &[&[b"request"]]).or_else(|| {
        recognize_kind(lines, "nginx-json", &[&[b"request_uri"], &[b"body_bytes_sent"]])
    })
}

/// Recognizes objects, if the first of them with a URL has a string or a number at all of `paths`.
fn recognize_kind(
    lines: &[&[u8]],
    name: &'static str,
    paths: &[&[&[u8]]],
) -> Option<Arc<dyn LineFormat>> {
    let json = Json::usual(name);
    let object = first_object(&json, lines)?;
    let places = Places::new(paths.iter().map(|path| path.to_vec()));
    let mut seen = 0u8;
    scan(object, &places, |number, value| {
        seen |= u8::from(value != Value::Object) << number;
    });
    (seen.count_ones() as usize == paths.len()).then(|| Arc::new(json) as _)
}

/// Returns the first of `lines` that is an object with a URL, or with a request without one.
fn first_object<'a>(json: &Json, lines: &[&'a [u8]]) -> Option<&'a [u8]> {
    let mut objects = lines.iter().filter(|line| line.first() == Some(&b'{'));
    let is_known = |line: &&&[u8]| {
        let parsed = json.parse_object(line, &mut Found::default());
        !matches!(parsed, Parsed::Reject(Reject::Format | Reject::NoUrl))
    };
    objects.find(is_known).copied()
}

/// Is `line` the first of undust's own output (`report/rows/`), which tells its origin?
#[inline]
fn is_origin(line: &[u8]) -> bool {
    line.starts_with(b"{\"undust\":\"") && memchr::memmem::find(line, b"\",\"table\":\"").is_some()
}

impl LineFormat for Json {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        if is_origin(line) {
            return Parsed::Comment;
        }
        self.parse_object(line, found)
    }

    fn unescaped_lines(&self, chunk: &[u8], separator: u8, out: &mut Vec<u8>) -> bool {
        unescaped_lines(chunk, separator, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::Fields;
    use crate::record::formats::samples;

    fn url(format: &dyn LineFormat, line: &str) -> String {
        let mut found = Found::default();
        match format.parse(line.as_bytes(), &mut found) {
            Parsed::Record => {
                let parts = [found.scheme, found.host, found.port, found.target, found.query];
                let text =
                    |part: &[u8]| show(found.escapes.undo(part, &mut Vec::new())).to_string();
                parts.map(text).join("|").trim_start_matches('|').trim_end_matches('|').to_string()
            }
            Parsed::Comment => "comment".to_string(),
            Parsed::Reject(kind) => kind.to_string(),
        }
    }

    #[test]
    fn usual_places() {
        let format = Json::usual("jsonl");
        for (line, expected) in [
            (r#"{"url":"http://a.test/"}"#, "http://a.test/"),
            (r#"{"url":"http:\/\/a.test\/\u00e9"}"#, "http://a.test/\u{e9}"),
            (r#"{"link":"http://b.test/","uri":"/c","url":"/d"}"#, "/d"),
            (r#"{"uri":"/c","args":"x=1","host":"a.test"}"#, "a.test||/c|x=1"),
            (r#"{"uri":"/c?x=1","args":"x=1","host":"a.test"}"#, "a.test||/c?x=1"),
            (r#"{"uri":"/c","query":"?x=1","host":"a.test"}"#, "a.test||/c|x=1"),
            (
                r#"{"request":"GET /a?b HTTP/1.1","uri":"/i.php","scheme":"https","host":"h"}"#,
                "https|h||/a?b",
            ),
            (r#"{"request":"GET /a HTTP/1.1","uri":"http://a.test/"}"#, "http://a.test/"),
            (
                r#"{"request_uri":"/a","server_name":"s","http_host":"h:81","server_port":"80"}"#,
                "h:81||/a",
            ),
            (r#"{"request_uri":"/a","server_name":"s","server_port":8080}"#, "s|8080|/a"),
            // nginx's name for a server that answers to any.
            (r#"{"request_uri":"/a","server_name":"_"}"#, "/a"),
            (r#"{"request":{"host":"h","uri":"/a","tls":{"version":771}}}"#, "https|h||/a"),
            (r#"{"request":{"host":"h","uri":"/a","tls":null}}"#, "h||/a"),
            (r#"{"href":"http://a.test/"}"#, "http://a.test/"),
            // ECS, nested and not.
            (
                r#"{"url":{"original":"/a","domain":"h","scheme":"https","port":444},"host":"pod"}"#,
                "https|h|444|/a",
            ),
            (r#"{"url":{"original":"/a","full":"https://h/a"}}"#, "https://h/a"),
            (r#"{"url.original":"/a","url.domain":"h","url.scheme":"https"}"#, "https|h||/a"),
            // Envoy, and Amazon's API Gateway.
            (r#"{"authority":"h","path":"/a?b","response_code":200}"#, "h||/a?b"),
            (r#"{"domainName":"h","path":"/a"}"#, "h||/a"),
            // Apache's `%U` and `%q`.
            (r#"{"request":"/a","query":"?q=a","host":"h"}"#, "h||/a|q=a"),
            (r#"{"request":"/a","query":"","host":"h","uri":"/i.php"}"#, "h||/a"),
            (r#"{"request":"/a","uri":"http://h/b","query":"q=a"}"#, "http://h/b|q=a"),
            (r#"{"request":"http://h/a","uri":"/b","query":"q=a"}"#, "http://h/a|q=a"),
            (r#"{"request":"/a","url":"/b","query":"q=a"}"#, "/b"),
            (r#"{"request":"/a b","host":"h"}"#, "bad-request"),
            (r#"{"uri":"/go/http://b.test/","args":"q=a"}"#, "/go/http://b.test/|q=a"),
            (r#"{"uri":"http://h/a#b","args":"q=a"}"#, "http://h/a#b"),
            (r#"{"url":"-","loc":"http://a.test/"}"#, "http://a.test/"),
            (
                r#"{"cs-protocol":"https","x-host-header":"h","cs-uri-stem":"/a","cs-uri-query":"b=1"}"#,
                "https|h||/a|b=1",
            ),
            (r#"{"url":null}"#, "no-url"),
            (r#"{"url":5}"#, "no-url"),
            (r#"{"x":{"url":"http://a.test/"}}"#, "no-url"),
            ("{}", "no-url"),
            ("[]", "no-url"),
            (r#"{"request":"","host":"a.test"}"#, "no-request"),
            (r#"{"request":"-"}"#, "no-request"),
            (r#"{"request":"-","uri":"/a"}"#, "/a"),
            (r#"{"request":"\u0016\u0003\u0001"}"#, "bad-request"),
            (r#"{"request":"OPTIONS * HTTP/1.0"}"#, "*"),
            (r#"{"request":{"method":"CONNECT","uri":"a.test:443"}}"#, "no-page"),
            (r#"{"request":{"method":"PRI","uri":"*"}}"#, "bad-request"),
            ("http://a.test/", "not-format"),
            (r#"{"url":"http://a.test/""#, "not-format"),
            ("", "not-format"),
        ] {
            assert_eq!(url(&format, line), expected, "{line}");
        }
    }

    #[test]
    fn a_date_and_a_time_of_day_are_one_moment() {
        let format = Json::usual("jsonl");
        for (line, expected) in [
            (r#"{"url":"/","date":"2024-11-14","time":"22:43:21"}"#, ("2024-11-14", "22:43:21")),
            (r#"{"url":"/","date":"2024-11-14"}"#, ("2024-11-14", "")),
            (r#"{"url":"/","date":"x","ts":1438854186.5}"#, ("1438854186.5", "")),
            (r#"{"url":"/","time":"22:43:21"}"#, ("22:43:21", "")),
        ] {
            let mut found = Found::default();
            assert_eq!(format.parse(line.as_bytes(), &mut found), Parsed::Record);
            let Fields { time, clock, .. } = found.fields;
            assert_eq!((time, clock), (expected.0.as_bytes(), expected.1.as_bytes()), "{line}");
        }
    }

    #[test]
    fn fields() {
        let line = br#"{"ts":1438854186.5,"request":{"method":"GET","host":"h","uri":"/",
            "headers":{"User-Agent":["A\"1"],"Referer":["http://r.test/"]}},"size":124,
            "status":301,"resp_headers":{"Content-Type":["text/html"],"Location":["/b"]}}"#;
        let mut found = Found::default();
        let format = recognize_caddy(&[line]).unwrap();
        assert_eq!((format.name(), format.parse(line, &mut found)), ("caddy", Parsed::Record));
        let fields = found.fields;
        assert_eq!((fields.status, fields.size), (&b"301"[..], &b"124"[..]));
        assert_eq!((fields.method, fields.mime), (&b"GET"[..], &b"text/html"[..]));
        assert_eq!((fields.referrer, fields.redirect), (&b"http://r.test/"[..], &b"/b"[..]));
        assert_eq!(fields.escapes.undo(fields.agent, &mut Vec::new()), b"A\"1");
        assert_eq!(crate::record::fields::time::parse(fields.time, b""), Some(1_438_854_186));
        let format = Json::usual("jsonl");
        for (line, status, time) in [
            // Envoy.
            (r#"{"start_time":"2001-09-09T01:46:40.5Z","response_code":404}"#, "404", true),
            // API Gateway.
            (r#"{"requestTime":"09/Sep/2001:01:46:40 +0000","status":"404"}"#, "404", true),
            // Fastly.
            (r#"{"response_status":404,"status":"ok"}"#, "404", false),
            (r#"{"http_status":404}"#, "404", false),
            (r#"{"http_status_code":404}"#, "404", false),
            (r#"{"http_code":404}"#, "404", false),
        ] {
            let mut found = Found::default();
            let line = line.replacen('{', r#"{"path":"/a","#, 1);
            assert_eq!(format.parse(line.as_bytes(), &mut found), Parsed::Record);
            assert_eq!(found.fields.status, status.as_bytes(), "{line}");
            let seen = crate::record::fields::time::parse(found.fields.time, b"");
            assert_eq!(seen, time.then_some(1_000_000_000), "{line}");
        }
        // Traefik.
        let line = br#"{"RequestPath":"/","request_User-Agent":"A","request_Referer":"http://r/"}"#;
        let mut found = Found::default();
        format.parse(line, &mut found);
        assert_eq!((found.fields.agent, found.fields.referrer), (&b"A"[..], &b"http://r/"[..]));
    }

    #[test]
    fn told_places() {
        let told = |text: &str| Json::with_fields(&FieldMap::parse(text).unwrap());
        for (text, line, expected) in [
            ("/a/b", r#"{"a":{"b":"http://x.test/"},"url":"http://y.test/"}"#, "http://x.test/"),
            ("/a/1", r#"{"a":["p","q"]}"#, "q"),
            ("b", r#"{"b":"http://x.test/"}"#, "http://x.test/"),
            ("a/b", r#"{"a/b":"http://x.test/"}"#, "http://x.test/"),
            ("/a~1b/~0", r#"{"a/b":{"~":"http://x.test/"}}"#, "http://x.test/"),
            ("url=p,host=q", r#"{"p":"/x","q":"h","host":"i"}"#, "h||/x"),
            ("p", r#"{"url":"http://y.test/","request":"GET / HTTP/1.1"}"#, "no-url"),
        ] {
            assert_eq!(url(&told(text).unwrap(), line), expected, "{text}: {line}");
        }
        assert!(told(&"/a".repeat(17)).unwrap_err().is_config());
        assert_eq!(told("url=/a/b,size=n").unwrap().describe(), "url /a/b, size /n");
    }

    #[test]
    fn names() {
        for (line, expected) in [
            (r#"{"request":{"uri":"/"}}"#, Some("caddy")),
            (r#"{"request":"GET / HTTP/1.1"}"#, Some("nginx-json")),
            (r#"{"request_uri":"/","body_bytes_sent":1}"#, Some("nginx-json")),
            (r#"{"url":"http://a.test/"}"#, Some("jsonl")),
            (r#"{"x":1}"#, None),
            ("http://a.test/", None),
        ] {
            let all = [recognize_caddy, recognize_nginx, recognize];
            let format = all.iter().find_map(|recognize| recognize(&[line.as_bytes()]));
            assert_eq!(format.as_ref().map(|format| format.name()), expected, "{line}");
        }
    }

    #[test]
    fn the_samples() {
        let urls = samples::sample_urls(&samples::sample("caddy.jsonl"), recognize_caddy);
        assert_eq!(
            urls,
            [
                "GET https://www.a.test /index.html ? 200",
                "GET https://www.a.test /search?q=red+shoes&page=2 ? 200",
                "GET https://www.a.test /search?page=2&q=red+shoes ? 200",
                "POST https://www.a.test /login ? 302",
            ]
        );
        let urls = samples::sample_urls(&samples::sample("pages.jsonl"), recognize);
        assert_eq!(
            urls,
            [
                "http://example.org/ ? 200",
                "http://example.org/\u{e4}rger ? 200",
                "http://example.org/%C3%A4rger ? 200",
            ]
        );
    }
}
