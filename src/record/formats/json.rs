//! JSON lines, and logfmt: an object, or pairs, on each line, with a URL in them.

mod pairs;
mod scan;
#[cfg(test)]
mod tests;
mod unescaped;
mod usual;

use std::sync::Arc;

use memchr::memmem;

use self::scan::{PATH_TOKENS_MAX, Places, Value, scan};
pub(super) use self::unescaped::unescaped_lines;
use self::usual::USUAL;
use crate::error::{Error, Result, Setting};
use crate::parts::{self, is_web_scheme};
use crate::record::field_map::{Field, FieldMap};
use crate::record::fields::cut::host_value;
use crate::record::fields::request;
use crate::record::{Escapes, Found, LineFormat, Parsed};
use crate::reject::Reject;

/// The names of the formats of JSON lines: any, and logs of two servers.
pub(super) const JSON_LINES: &str = "jsonl";
pub(super) const CADDY: &str = "caddy";
pub(super) const NGINX: &str = "nginx-json";
/// The name of the format of pairs.
pub(super) const LOGFMT: &str = "logfmt";

/// Fewest pairs of a line that is logfmt although it has no request. Reason: the header of a table
/// has none.
const PAIRS_MIN: usize = 3;

/// JSON lines, such as logs of Caddy and of nginx, or responses of an index; and logfmt, whose
/// pairs are read like the members of an object.
///
/// - Shape: any JSON value on each line, or pairs. The URL is at the first of the [`USUAL`] places
///   that has one, or where the user says. Of equal names in an object the last counts. `-`, `""`
///   and `null` mean empty, as does a host `_`.
/// - Failure: a line that is not JSON is [`Reject::Format`], one without a URL [`Reject::NoUrl`],
///   or [`Reject::NoRequest`] if it has an empty request.
/// - Source: RFC 8259; JSON Lines; RFC 6901 for pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Json {
    name: &'static str,
    syntax: Syntax,
    places: Places,
    /// The places as JSON pointers; of places for the same part the best first.
    pointers: Vec<String>,
    /// The part that each place is for.
    parts: Vec<Part>,
    /// How many places the user has given; they come first.
    told_places: usize,
    /// The places that the first lines have, for people.
    description: String,
    /// Has the user said where the URL is?
    is_url_told: bool,
    /// Has the user said where the query is? Then it belongs to any target without one.
    is_query_told: bool,
}

/// How the lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    /// A JSON value on each line.
    Json,
    /// Pairs, after anything else: `10:05 web: method=GET path="/a b"`.
    Logfmt,
}

/// The part of a record that a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A URL, or a path with its query.
    Target,
    /// `GET /a HTTP/1.1`.
    RequestLine,
    /// A path without its query, mostly.
    Path,
    /// The query of a URL.
    Query,
    /// The query of a URL, or search terms.
    Words,
    /// A URL, if no other part is one.
    Link,
    Scheme,
    Port,
    /// An object that only encrypted connections have, or a text that says whether one is.
    Tls,
    /// A date, where the time is only a time of day, or missing.
    Day,
    /// A line of a log, in an object of a log shipper.
    Message,
    Field(Field),
}

impl Part {
    /// Is it the time of a record?
    #[inline]
    fn is_time(self) -> bool {
        self == Part::Field(Field::Time)
    }

    /// The name for people; all parts that a URL may come from have the same.
    fn name(self) -> &'static str {
        match self {
            Part::Target | Part::RequestLine | Part::Path | Part::Link => Field::Url.name(),
            Part::Query | Part::Words => Field::Query.name(),
            Part::Scheme | Part::Tls => "scheme",
            Part::Port => "port",
            Part::Day => Field::Date.name(),
            Part::Message => "message",
            Part::Field(field) => field.name(),
        }
    }

    /// The number of the part in [`Gathered`].
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
            Part::Words => 9,
            Part::Message => 10,
            Part::Field(field) => 11 + field as usize,
        }
    }
}

const SLOTS: usize = 11 + Field::ALL.len();

/// The values at the places of one object.
#[derive(Debug)]
struct Gathered<'a> {
    /// The value of each part, from the best place that has one.
    values: [&'a [u8]; SLOTS],
    /// The number of that place.
    places: [u16; SLOTS],
    has_escapes: bool,
    is_empty_request: bool,
    /// Is there a query, even an empty one?
    has_query: bool,
}

impl<'a> Gathered<'a> {
    const NOTHING: Gathered<'static> = Gathered {
        values: [b""; SLOTS],
        places: [u16::MAX; SLOTS],
        has_escapes: false,
        is_empty_request: false,
        has_query: false,
    };

    fn value(&self, part: Part) -> &'a [u8] {
        self.values[part.slot()]
    }
}

impl Json {
    /// Lines with the usual places.
    pub(crate) fn usual(name: &'static str) -> Json {
        let mut json = Json::with_fields(&FieldMap::default()).expect("usual places are short");
        json.name = name;
        json
    }

    /// Lines with the places that the user has given: JSON pointers, or names of members of the
    /// outermost object. Other fields have their usual places.
    ///
    /// Failure: a configuration error for a pointer with too many parts.
    fn with_fields(fields: &FieldMap) -> Result<Json> {
        let mut places: Vec<(String, Part)> = Vec::new();
        for (field, place) in fields.places() {
            let part = match field {
                Field::Url => Part::Target,
                Field::Query => Part::Query,
                Field::Date => Part::Day,
                field => Part::Field(field),
            };
            let pointer = match place.starts_with('/') {
                true => place.to_string(),
                false => format!("/{}", place.replace('~', "~0").replace('/', "~1")),
            };
            if pointer.matches('/').count() > PATH_TOKENS_MAX {
                return Err(Error::config(format!(
                    "{} {}={place}: expected a pointer of at most {PATH_TOKENS_MAX} parts",
                    Setting::Fields,
                    field.name()
                )));
            }
            places.push((pointer, part));
        }
        let told_places = places.len();
        let is_told = |part: Part| match part {
            Part::Field(field) => fields.place(field).is_some(),
            Part::Scheme | Part::Port | Part::Tls => false,
            Part::Day => [Field::Time, Field::Date].iter().any(|one| fields.place(*one).is_some()),
            // A path that the user has given may have a separate query.
            Part::Query | Part::Words => fields.place(Field::Query).is_some(),
            Part::Message => false,
            // All other parts of a URL.
            _ => fields.place(Field::Url).is_some(),
        };
        for (part, pointers) in USUAL.iter().filter(|(part, _)| !is_told(*part)) {
            places.extend(pointers.iter().map(|pointer| (pointer.to_string(), *part)));
        }
        let [is_url_told, is_query_told] =
            [Field::Url, Field::Query].map(|field| fields.place(field).is_some());
        let json = Json::of_places(JSON_LINES, places);
        Ok(Json { told_places, is_url_told, is_query_told, ..json })
    }

    /// Pairs, with the places that the user has given, or else the usual ones.
    ///
    /// Failure: as of [`Json::with_fields`].
    fn logfmt(fields: &FieldMap) -> Result<Json> {
        Ok(Json { name: LOGFMT, syntax: Syntax::Logfmt, ..Json::with_fields(fields)? })
    }

    /// Pairs with the usual places.
    pub(crate) fn usual_logfmt() -> Json {
        Json::logfmt(&FieldMap::default()).expect("usual places are short")
    }

    /// Lines of strings, as `jq` writes them, if half of `lines` are URLs in quotes.
    fn strings_of(lines: &[&[u8]]) -> Option<Json> {
        let json = Json::of_places(JSON_LINES, vec![(String::new(), Part::Target)]);
        let is_url = |line: &&&[u8]| {
            line.strip_prefix(b"\"").is_some_and(is_url)
                && json.parse_object(line, &mut Found::default()) == Parsed::Record
        };
        (2 * lines.iter().filter(is_url).count() >= lines.len()).then_some(json)
    }

    /// Lines with these pointers; of pointers for the same part the best first.
    pub(super) fn of_places(name: &'static str, places: Vec<(String, Part)>) -> Json {
        let (pointers, parts): (Vec<String>, Vec<Part>) = places.into_iter().unzip();
        let tokens: Vec<Vec<Vec<u8>>> = pointers
            .iter()
            .map(|pointer| {
                let names = pointer.split('/').skip(1);
                names.map(|name| name.replace("~1", "/").replace("~0", "~").into()).collect()
            })
            .collect();
        let paths = tokens.iter().map(|path| path.iter().map(|name| &name[..]).collect());
        Json {
            name,
            syntax: Syntax::Json,
            places: Places::new(paths),
            pointers,
            parts,
            told_places: 0,
            description: String::new(),
            is_url_told: false,
            is_query_told: false,
        }
    }

    /// This format, described by the places that the user has given and those that `lines`, the
    /// first of a file, have.
    pub(super) fn described_by(mut self, lines: &[&[u8]]) -> Json {
        let mut uses = vec![0; self.pointers.len()];
        uses[..self.told_places].fill(1);
        for line in lines.iter().filter(|line| !is_origin(line)) {
            let (mut gathered, mut found) = (Gathered::NOTHING, Found::default());
            let is_json = self.gather(line, &mut gathered);
            if !is_json || self.finish(&gathered, &mut found) != Parsed::Record {
                continue;
            }
            let target = found.target.as_ptr();
            for (value, place) in gathered.values.iter().zip(gathered.places) {
                let Some(part) = self.parts.get(usize::from(place)) else { continue };
                if part.name() != Field::Url.name() || value.as_ptr_range().contains(&target) {
                    uses[usize::from(place)] += 1;
                }
            }
        }
        // Of several places with the same name, the one that most lines have, or else the best.
        let mut shown: Vec<(&str, usize)> = Vec::new();
        for (place, part) in self.parts.iter().enumerate().filter(|(place, _)| uses[*place] > 0) {
            match shown.iter_mut().find(|(name, _)| *name == part.name()) {
                Some((_, best)) if uses[*best] < uses[place] => *best = place,
                Some(_) => {}
                None => shown.push((part.name(), place)),
            }
        }
        let shown = shown.into_iter().map(|(name, at)| match &self.pointers[at][..] {
            "" => format!("{name} whole line"),
            pointer if self.syntax == Syntax::Logfmt => format!("{name} {}", &pointer[1..]),
            pointer => format!("{name} {pointer}"),
        });
        self.description = shown.collect::<Vec<_>>().join(", ");
        self
    }

    /// Finds the parts of the record in the object `text`.
    #[inline]
    pub(super) fn parse_object<'a>(&self, text: &'a [u8], found: &mut Found<'a>) -> Parsed {
        let mut gathered = Gathered::NOTHING;
        if !self.gather(text, &mut gathered) {
            return Parsed::Reject(Reject::Format);
        }
        if gathered.has_escapes {
            found.escapes = Escapes::Json;
            found.fields.escapes = Escapes::Json;
        }
        for field in Field::ALL {
            field.put(gathered.value(Part::Field(field)), found);
        }
        match self.finish(&gathered, found) {
            Parsed::Reject(Reject::NoUrl) if gathered.is_empty_request => {
                Parsed::Reject(Reject::NoRequest)
            }
            parsed => parsed,
        }
    }

    /// Gathers the values at the places of the object `text` in `gathered`, which must be empty;
    /// `false` if `text` is not JSON, or has a quote that is never closed.
    #[inline]
    fn gather<'a>(&self, text: &'a [u8], gathered: &mut Gathered<'a>) -> bool {
        if self.syntax == Syntax::Json {
            return scan(text, &self.places, |number, value| self.take(number, value, gathered));
        }
        let is_whole =
            pairs::scan(text, &self.places, |number, value| self.take(number, value, gathered));
        let time = &mut gathered.values[Part::Field(Field::Time).slot()];
        if time.is_empty() {
            *time = pairs::time_in_front(text);
        }
        is_whole
    }

    /// Takes the `value` at the place `number` into `gathered`, if it is one.
    #[inline(always)]
    fn take<'a>(&self, number: u16, value: Value<'a>, gathered: &mut Gathered<'a>) {
        let part = self.parts[usize::from(number)];
        gathered.has_query |= matches!(part, Part::Query | Part::Words);
        let (value, is_escaped) = match value {
            Value::Text(b"-" | b"", _) => {
                gathered.is_empty_request |= part == Part::RequestLine;
                return;
            }
            Value::Text(text, _) if part.is_time() && is_duration(text) => return,
            Value::Text(text, _) if part == Part::Scheme && !is_web_scheme(text) => return,
            Value::Text(text, _) if part == Part::Tls => match text {
                b"true" | [b'T', b'L', b'S', ..] => (&b"https"[..], false),
                _ => return,
            },
            Value::Text(text, is_escaped) => (text, is_escaped),
            Value::Number(text) if part.is_time() && is_short(text) => return,
            Value::Number(text) => match part {
                Part::Port | Part::Field(_) => (text, false),
                _ => return,
            },
            Value::Object if part == Part::Tls => (&b"https"[..], false),
            Value::Object => return,
        };
        let slot = part.slot();
        if number <= gathered.places[slot] {
            gathered.places[slot] = number;
            gathered.values[slot] = value;
            gathered.has_escapes |= is_escaped;
        }
    }

    /// Fills `found` from the gathered values.
    #[inline]
    fn finish<'a>(&self, gathered: &Gathered<'a>, found: &mut Found<'a>) -> Parsed {
        let value = |part: Part| gathered.value(part);
        let (mut line, mut path) = (value(Part::RequestLine), value(Part::Path));
        found.target = value(Part::Target);
        let mut is_path_url = is_url(path);
        // Some writers call only the target `request`.
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
        // Log shippers write the file of the log to `path`.
        if path.ends_with(b".log") && memmem::find(value(Part::Message), b" HTTP/").is_some() {
            path = b"";
        }
        let is_named = !value(Part::Target).is_empty();
        let is_apart = found.target.is_empty() && !path.is_empty();
        if is_apart {
            found.target = path;
        } else if found.target.is_empty() {
            found.target = value(Part::Link);
        }
        // A URL that the user has given is complete; a path may not be.
        let may_be_apart = is_named
            && (!self.is_url_told || found.target.starts_with(b"/"))
            && memchr::memchr2(b'?', b'#', found.target).is_none();
        // Without a separate query it may be a path of a browser, with a fragment.
        if gathered.has_query && (is_apart || self.is_query_told || may_be_apart) {
            found.add_query(query_of(value(Part::Query), value(Part::Words), found.target));
        }
        found.scheme = match (value(Part::Scheme), value(Part::Tls)) {
            (b"", tls) => tls,
            (scheme, _) => scheme,
        };
        found.fields.add_day(value(Part::Day));
        found.host = host_value(found.host);
        // A host that includes its port needs no other.
        if !found.host.contains(&b':') {
            found.port = value(Part::Port);
        }
        match (found.target, found.fields.method) {
            (b"", _) => Parsed::Reject(Reject::NoUrl),
            (target, method) => Parsed::of_request(method, target),
        }
    }
}

/// Returns the query for a `target` without one: `query`, or `words` if they are one. Next to a
/// complete URL, `words` are mostly search terms.
#[inline]
fn query_of<'a>(query: &'a [u8], words: &'a [u8], target: &[u8]) -> &'a [u8] {
    let is_query = !is_url(target) || words.contains(&b'=') && !words.contains(&b' ');
    if query.is_empty() && is_query { words } else { query }
}

/// Is `text` a duration, such as `120ms` or `1.5s`?
#[inline]
fn is_duration(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit) && text.ends_with(b"s")
}

/// Is `number` too small for a date or seconds since 1970, as durations are?
#[inline]
fn is_short(number: &[u8]) -> bool {
    number.iter().take_while(|byte| byte.is_ascii_digit()).count() < 8
}

/// Does `text` begin with a scheme and two slashes?
#[inline]
fn is_url(text: &[u8]) -> bool {
    parts::scheme_length(text).is_some_and(|end| text[end..].starts_with(b"://"))
}

/// Is `text`, which may be a request line, only a path or a URL?
#[inline]
fn is_target(text: &[u8]) -> bool {
    (text.starts_with(b"/") || is_url(text)) && memchr::memchr(b' ', text).is_none()
}

/// The format of the file that begins with `lines`, with the places that the user has given.
///
/// Failure: that of [`Json::with_fields`].
pub(crate) fn with_fields(lines: &[&[u8]], fields: &FieldMap) -> Result<Arc<dyn LineFormat>> {
    Ok(Arc::new(Json::with_fields(fields)?.described_by(lines)))
}

/// The format of the log that begins with `lines`, with the pairs that the user has named.
///
/// Failure: that of [`Json::with_fields`].
pub(crate) fn logfmt_with_fields(
    lines: &[&[u8]],
    fields: &FieldMap,
) -> Result<Arc<dyn LineFormat>> {
    Ok(Arc::new(Json::logfmt(fields)?.described_by(lines)))
}

/// Does `line` have several pairs, so that the user may have named one of them?
pub(crate) fn has_pairs(line: &[u8]) -> bool {
    pairs::Pairs::of(line).take(PAIRS_MIN).count() == PAIRS_MIN
}

/// Recognizes pairs, if half of `lines` are requests: with a URL or a path, and a method or a
/// status.
pub(crate) fn recognize_logfmt(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let logfmt = Json::usual_logfmt();
    let is_request = |line: &&&[u8]| {
        let mut found = Found::default();
        logfmt.parse_object(line, &mut found) == Parsed::Record
            && !(found.fields.method.is_empty() && found.fields.status.is_empty())
    };
    let requests = lines.iter().filter(is_request).count();
    (requests > 0 && 2 * requests >= lines.len()).then(|| Arc::new(logfmt.described_by(lines)) as _)
}

/// Recognizes objects, if there is a URL in one of the first lines; and strings, if half of them
/// are URLs.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let json = Json::usual(JSON_LINES);
    let is_own = lines.first().is_some_and(|line| is_origin(line));
    let json = match is_own || first_object(&json, lines).is_some() {
        true => json,
        false => Json::strings_of(lines)?,
    };
    Some(Arc::new(json.described_by(lines)) as _)
}

/// Recognizes objects, if the first one with a URL has an object `request` with a `uri` in it, as
/// in logs of Caddy.
pub(crate) fn recognize_caddy(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize_kind(lines, CADDY, &[&[b"request", b"uri"]])
}

/// Recognizes objects, if the first one with a URL has the request line, or the URI and the bytes
/// of the response, by the names of nginx's variables.
pub(crate) fn recognize_nginx(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    recognize_kind(lines, NGINX, &[&[b"request"]])
        .or_else(|| recognize_kind(lines, NGINX, &[&[b"request_uri"], &[b"body_bytes_sent"]]))
}

/// Recognizes objects, if the first one with a URL has a string or a number at each of `paths`.
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
    let has_all = seen.count_ones() as usize == paths.len();
    has_all.then(|| Arc::new(json.described_by(lines)) as _)
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

/// Is `line` the first of undust's own output (`report/rows/`), which names its origin?
#[inline]
fn is_origin(line: &[u8]) -> bool {
    line.starts_with(b"{\"undust\":\"") && memmem::find(line, b"\",\"table\":\"").is_some()
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
        self.syntax == Syntax::Json && unescaped_lines(chunk, separator, out)
    }
}
