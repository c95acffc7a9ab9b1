//! Which columns or members hold the URL and other fields: named by the user, or by usual names.

use crate::error::{Error, Result};
use crate::record::{Found, is_status};

/// What a column, or a member of a JSON object, is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Url,
    Host,
    Query,
    Digest,
    Size,
    Status,
    Time,
    /// The date, where the time is only a time of day.
    Date,
    Redirect,
    CanonicalLink,
    Mime,
    Method,
    Referrer,
    Agent,
}

impl Field {
    pub(super) const ALL: [Field; 14] = [
        Field::Url,
        Field::Host,
        Field::Query,
        Field::Digest,
        Field::Size,
        Field::Status,
        Field::Time,
        Field::Date,
        Field::Redirect,
        Field::CanonicalLink,
        Field::Mime,
        Field::Method,
        Field::Referrer,
        Field::Agent,
    ];

    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Field::Url => "url",
            Field::Host => "host",
            Field::Query => "query",
            Field::Digest => "digest",
            Field::Size => "size",
            Field::Status => "status",
            Field::Time => "time",
            Field::Date => "date",
            Field::Redirect => "redirect",
            Field::CanonicalLink => "canonical_link",
            Field::Mime => "mime",
            Field::Method => "method",
            Field::Referrer => "referrer",
            Field::Agent => "agent",
        }
    }

    /// Usual names of columns, the best first: lower case, words joined by `_`.
    pub(super) fn usual_names(self) -> &'static [&'static str] {
        match self {
            Field::Url => &[
                "url",
                "uri",
                "page_url",
                "request_url",
                "full_url",
                "full_page_url",
                "original_url",
                "old_url",
                "source_url",
                "redirect_from",
                "target_url",
                "page",
                "top_pages",
                "address",
                "link",
                "loc",
                "href",
                "target",
                "original",
                "permalink",
                "landing_page",
                "page_location",
                "page_path_+_query_string",
                "page_path_and_query_string",
                "page_path_and_screen_class",
                "page_path",
                "cs_uri_stem",
                "landing_page_+_query_string",
                "urls",
                "pages",
                "links",
                "referring_page_url",
                "destination",
                "source",
            ],
            Field::Host => &["host", "hostname", "x_host_header", "cs_host"],
            Field::Query => &[
                "query_string",
                "querystring",
                "querystr",
                "cs_uri_query",
                "uri_query",
                "url_query",
                "url.query",
                "request_query",
                "request_query_string",
                "uri_query_string",
                "url_query_string",
                "page_query_string",
                "query",
                "args",
            ],
            Field::Digest => &[
                "digest",
                "payload_digest",
                "content_digest",
                "sha1",
                "payload_sha1",
                "payload_sha1_b32",
                "content_sha1",
                "sha256",
                "md5",
                "checksum",
                "hash",
                "content_hash",
            ],
            Field::Size => {
                &["size", "bytes", "length", "content_length", "size_(bytes)", "sc_bytes"]
            }
            // Codes first: next to one, `status` is its text (`OK`).
            Field::Status => &[
                "status_code",
                "statuscode",
                "http_status_code",
                "http_status",
                "http_code",
                "response_code",
                "status",
                "code",
                "sc_status",
            ],
            Field::Time => &[
                "time",
                "timestamp",
                "datetime",
                "date",
                "fetched_at",
                "crawled_at",
                "crawl_timestamp",
                "crawl_date",
                "lastmod",
                "ts",
            ],
            Field::Date => &["date"],
            Field::Redirect => {
                &["redirect", "redirect_url", "redirect_to", "new_url", "location", "final_url"]
            }
            // Not `canonical`: in tables that this program writes, that is the canonical form.
            Field::CanonicalLink => &[
                "canonical_link",
                "canonical_link_element_1",
                "canonical_link_element",
                "canonical_url",
                "canonical_tag",
                "rel_canonical",
            ],
            Field::Mime => &["mime", "mime_type", "mimetype", "content_type", "media_type"],
            Field::Method => &["method", "http_method", "request_method", "cs_method"],
            Field::Referrer => {
                &["referrer", "referer", "http_referer", "cs_referer", "cs_referrer"]
            }
            Field::Agent => {
                &["user_agent", "useragent", "agent", "http_user_agent", "cs_user_agent"]
            }
        }
    }

    /// Sets this field of `found` to `value`.
    ///
    /// A query and a date are only stored; [`Found::add_query`] and `Fields::add_day` combine them
    /// with the target and the time later.
    #[inline]
    pub(super) fn put<'a>(self, value: &'a [u8], found: &mut Found<'a>) {
        let fields = &mut found.fields;
        let value = if self == Field::Status { status_of(value) } else { value };
        let place = match self {
            Field::Url => &mut found.target,
            Field::Host => &mut found.host,
            Field::Query => &mut found.query,
            Field::Digest => &mut fields.digest,
            Field::Size => &mut fields.size,
            Field::Status => &mut fields.status,
            Field::Time => &mut fields.time,
            Field::Date => &mut fields.clock,
            Field::Redirect => &mut fields.redirect,
            Field::CanonicalLink => &mut fields.canonical_link,
            Field::Mime => &mut fields.mime,
            Field::Method => &mut fields.method,
            Field::Referrer => &mut fields.referrer,
            Field::Agent => &mut fields.agent,
        };
        *place = value;
    }
}

/// The digits of the status `text`: of `200`, of `200.0` (as pandas writes columns with gaps), or
/// of `200 OK` with its reason. Other texts are returned as they are.
#[inline]
fn status_of(text: &[u8]) -> &[u8] {
    let Some((digits, [b'.' | b' ', rest @ ..])) = text.split_at_checked(3) else { return text };
    let is_same = match text[3] {
        b'.' => !rest.is_empty() && rest.iter().all(|byte| *byte == b'0'),
        _ => true,
    };
    if is_status(digits) && is_same { digits } else { text }
}

/// The columns of a table, or the members of JSON objects, that a user has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldMap {
    /// Each field once; none of the texts is empty.
    places: Vec<(Field, String)>,
}

impl FieldMap {
    /// Reads `text`: a name, a number or a JSON pointer for the URL alone (`address`, `3`,
    /// `/request/uri`), or several separated by commas (`url=address,digest=sha1,status=4`).
    ///
    /// - Shape: fields are `url`, `host`, `query`, `digest`, `size`, `status`, `time`, `date`,
    ///   `redirect`, `canonical_link`, `mime`, `method`, `referrer`, `agent`. Numbers count columns
    ///   from 1. A column whose name has a comma can only be given by number.
    /// - Failure: a configuration error for a field that is not known, is repeated or has no place.
    ///   It says what is wrong; the caller adds where the text was given.
    pub fn parse(text: &str) -> Result<FieldMap> {
        let wrong = |why: String| Err(Error::config(why));
        let mut places = Vec::new();
        for piece in text.split(',') {
            let (field, place) = match piece.split_once('=') {
                Some((name, place)) => {
                    let name = name.trim();
                    match Field::ALL.into_iter().find(|field| field.name() == name) {
                        Some(field) => (field, place.trim()),
                        None => {
                            let known = Field::ALL.map(Field::name).join(", ");
                            return wrong(format!("\"{name}\" is none of {known}"));
                        }
                    }
                }
                None => (Field::Url, piece.trim()),
            };
            if place.is_empty() {
                return wrong(format!("there is no column for {}", field.name()));
            }
            if place.bytes().all(|byte| byte == b'0') {
                return wrong("columns are counted from 1".to_string());
            }
            if places.iter().any(|(known, _)| *known == field) {
                return wrong(format!("{} is given twice", field.name()));
            }
            places.push((field, place.to_string()));
        }
        Ok(FieldMap { places })
    }

    /// The names of the fields that the user has given, and their places.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.places().map(|(field, place)| (field.name(), place))
    }

    /// The place of `field`, if the user has given it.
    pub(super) fn place(&self, field: Field) -> Option<&str> {
        self.places.iter().find(|(known, _)| *known == field).map(|(_, place)| &place[..])
    }

    /// All fields that the user has given, with their places.
    pub(super) fn places(&self) -> impl Iterator<Item = (Field, &str)> {
        self.places.iter().map(|(field, place)| (*field, &place[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        for (given, expected, why) in [
            ("200", "200", "digits"),
            ("301.0", "301", "a float"),
            ("301.00", "301", "more zeros"),
            ("404 Not Found", "404", "with its reason"),
            ("200.5", "200.5", "a fraction"),
            ("200.", "200.", "no fraction"),
            ("2000", "2000", "four digits"),
            ("2.0", "2.0", "one digit"),
            ("OK 200", "OK 200", "a text"),
            ("", "", "nothing"),
        ] {
            let mut found = Found::default();
            Field::Status.put(given.as_bytes(), &mut found);
            assert_eq!(found.fields.status, expected.as_bytes(), "{why}: {given}");
        }
    }

    #[test]
    fn what_users_say() {
        for (text, expected) in [
            ("address", vec![(Field::Url, "address")]),
            ("3", vec![(Field::Url, "3")]),
            ("/request/uri", vec![(Field::Url, "/request/uri")]),
            ("Top pages", vec![(Field::Url, "Top pages")]),
            ("url=a b, status=4", vec![(Field::Url, "a b"), (Field::Status, "4")]),
            ("u,digest=x=y", vec![(Field::Url, "u"), (Field::Digest, "x=y")]),
        ] {
            let map = FieldMap::parse(text).unwrap();
            assert_eq!(map.places().collect::<Vec<_>>(), expected, "{text}");
        }
        let map = FieldMap::parse("url=a,time=b").unwrap();
        assert_eq!((map.place(Field::Time), map.place(Field::Mime)), (Some("b"), None));
    }

    #[test]
    fn what_they_better_do_not() {
        for (text, expected) in [
            ("", "there is no column for url"),
            ("url=", "there is no column for url"),
            ("a,", "there is no column for url"),
            ("0", "counted from 1"),
            ("a,b", "url is given twice"),
            ("link=a", "\"link\" is none of url, host, query, digest"),
        ] {
            let error = FieldMap::parse(text).unwrap_err();
            assert!(error.is_config() && error.to_string().contains(expected), "{error}");
        }
    }
}
