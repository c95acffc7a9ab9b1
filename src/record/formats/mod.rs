//! One file for each format, the list of them all, and what their tests share (`samples.rs`).

pub(crate) mod access;
pub(crate) mod alb;
pub(crate) mod cdx;
pub(crate) mod cdx_json;
pub(crate) mod cdxj;
pub(crate) mod cloudfront;
pub(crate) mod crawllog;
pub(crate) mod csv;
mod extended;
pub(crate) mod haproxy;
pub(crate) mod json;
mod lines;
pub(crate) mod log_format;
#[cfg(test)]
pub(super) mod samples;
pub(crate) mod squid;
pub(crate) mod tsv;
pub(crate) mod w3c;

use std::fmt;
use std::sync::Arc;

use super::container_rows::ContainerRows;
use super::field_map::FieldMap;
use super::line_format::{LineFormat, Recognize};
use super::table;
use crate::error::{Error, Result, Setting};

/// A format by name.
#[derive(Debug)]
pub struct KnownFormat {
    /// The name on the command line.
    pub name: &'static str,
    /// A description of a few words.
    pub about: &'static str,
    /// Recognizes the format by a sample.
    pub recognize: Recognize,
    /// How to read a file whose first lines do not show its columns.
    pub unseen: Unseen,
    /// Makes the format with columns of the user's choice; `None` if it has no choice.
    pub with_fields: Option<WithFields>,
}

/// How to read a file of a format whose first lines do not show its columns.
#[derive(Debug)]
pub enum Unseen {
    /// It has the columns of this format.
    Has(fn() -> Arc<dyn LineFormat>),
    /// It cannot be read.
    Unreadable(Remedy),
}

/// Makes a format with the columns that the user has chosen, for a file that begins with `lines`.
///
/// Failure: a configuration error if the file has no such columns.
pub type WithFields = fn(lines: &[&[u8]], fields: &FieldMap) -> Result<Arc<dyn LineFormat>>;

/// What the user can do about a file that cannot be read.
#[derive(Debug)]
pub enum Remedy {
    /// Every file shows its columns by itself.
    LeaveOutFormat,
    /// A line is missing that the server writes first.
    AddDirective,
    /// No column looks like URLs.
    NameColumn,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (format, fields) = (Setting::Format, Setting::Fields);
        match self {
            Remedy::LeaveOutFormat => write!(f, "leave out {format} to have it recognized"),
            Remedy::AddDirective => write!(
                f,
                "put the #Fields: line of the log in front of it, or name its columns by {}",
                Setting::LogFormat
            ),
            Remedy::NameColumn => write!(
                f,
                "name the column of URLs, as in {fields} 1, or leave out {format} to have it recognized"
            ),
        }
    }
}

const SHOWS_ITSELF: Unseen = Unseen::Unreadable(Remedy::LeaveOutFormat);
const NEEDS_DIRECTIVE: Unseen = Unseen::Unreadable(Remedy::AddDirective);
const NEEDS_CHOICE: Unseen = Unseen::Unreadable(Remedy::NameColumn);

impl KnownFormat {
    /// The format with default columns; `None` if it has none.
    pub fn unseen(&self) -> Option<Arc<dyn LineFormat>> {
        match self.unseen {
            Unseen::Has(format) => Some(format()),
            Unseen::Unreadable(_) => None,
        }
    }
}

/// All formats except lists, the most specific first: of equally good ones the first is taken.
pub const ALL: &[KnownFormat] = &[
    KnownFormat {
        name: "alb",
        about: "access log of an application load balancer of AWS",
        recognize: alb::recognize,
        unseen: Unseen::Has(|| Arc::new(alb::Balancer::Application)),
        with_fields: None,
    },
    KnownFormat {
        name: "elb",
        about: "access log of a classic load balancer of AWS",
        recognize: alb::recognize_classic,
        unseen: Unseen::Has(|| Arc::new(alb::Balancer::Classic)),
        with_fields: None,
    },
    KnownFormat {
        name: "squid",
        about: "native access log of Squid",
        recognize: squid::recognize,
        unseen: Unseen::Has(|| Arc::new(squid::Squid)),
        with_fields: None,
    },
    KnownFormat {
        name: "haproxy",
        about: "HTTP log of HAProxy",
        recognize: haproxy::recognize,
        unseen: Unseen::Has(|| Arc::new(haproxy::Haproxy::default())),
        with_fields: None,
    },
    KnownFormat {
        name: "access",
        about: "access log; its columns are detected from the first lines",
        recognize: access::recognize,
        unseen: SHOWS_ITSELF,
        with_fields: None,
    },
    KnownFormat {
        name: "vhost",
        about: "access log, common or combined, with a host in front",
        recognize: access::recognize_vhost,
        unseen: Unseen::Has(|| Arc::new(access::Access::vhost())),
        with_fields: None,
    },
    KnownFormat {
        name: "combined",
        about: "access log of Apache or nginx, with referrer and agent",
        recognize: access::recognize_combined,
        unseen: Unseen::Has(|| Arc::new(access::Access::combined())),
        with_fields: None,
    },
    KnownFormat {
        name: "clf",
        about: "access log in the common log format",
        recognize: access::recognize_clf,
        unseen: Unseen::Has(|| Arc::new(access::Access::clf())),
        with_fields: None,
    },
    KnownFormat {
        name: "cloudfront",
        about: "standard log of Amazon CloudFront",
        recognize: cloudfront::recognize,
        unseen: NEEDS_DIRECTIVE,
        with_fields: None,
    },
    KnownFormat {
        name: "w3c",
        about: "W3C extended log: IIS, proxies",
        recognize: w3c::recognize,
        unseen: NEEDS_DIRECTIVE,
        with_fields: None,
    },
    KnownFormat {
        name: "cdx",
        about: "index of a web archive",
        recognize: cdx::recognize,
        unseen: SHOWS_ITSELF,
        with_fields: None,
    },
    KnownFormat {
        name: "cdxj",
        about: "index of a web archive, with JSON",
        recognize: cdxj::recognize,
        unseen: Unseen::Has(|| Arc::new(cdxj::Cdxj::new())),
        with_fields: None,
    },
    KnownFormat {
        name: "cdx-json",
        about: "answer of a web archive's CDX server, in JSON",
        recognize: cdx_json::recognize,
        unseen: SHOWS_ITSELF,
        with_fields: None,
    },
    KnownFormat {
        name: crawllog::NAME,
        about: "crawl log of Heritrix",
        recognize: crawllog::recognize,
        unseen: Unseen::Has(|| Arc::new(crawllog::CrawlLog)),
        with_fields: None,
    },
    KnownFormat {
        name: json::CADDY,
        about: "access log of Caddy, in JSON",
        recognize: json::recognize_caddy,
        unseen: Unseen::Has(|| Arc::new(json::Json::usual(json::CADDY))),
        with_fields: Some(json::with_fields),
    },
    KnownFormat {
        name: json::NGINX,
        about: "access log of nginx, in JSON",
        recognize: json::recognize_nginx,
        unseen: Unseen::Has(|| Arc::new(json::Json::usual(json::NGINX))),
        with_fields: Some(json::with_fields),
    },
    KnownFormat {
        name: json::JSON_LINES,
        about: "JSON lines with a URL in them",
        recognize: json::recognize,
        unseen: Unseen::Has(|| Arc::new(json::Json::usual(json::JSON_LINES))),
        with_fields: Some(json::with_fields),
    },
    KnownFormat {
        name: json::LOGFMT,
        about: "logfmt: pairs such as path=/a status=200",
        recognize: json::recognize_logfmt,
        unseen: Unseen::Has(|| Arc::new(json::Json::usual_logfmt())),
        with_fields: Some(json::logfmt_with_fields),
    },
    KnownFormat {
        name: "tsv",
        about: "table with tabs",
        recognize: tsv::recognize,
        unseen: NEEDS_CHOICE,
        with_fields: Some(tsv::with_fields),
    },
    KnownFormat {
        name: "csv",
        about: "table with commas or semicolons",
        recognize: csv::recognize,
        unseen: NEEDS_CHOICE,
        with_fields: Some(csv::with_fields),
    },
];

/// The format `name`.
pub fn find(name: &str) -> Option<&'static KnownFormat> {
    ALL.iter().find(|format| format.name == name)
}

/// The format `name`.
///
/// Failure: a configuration error that lists the formats of lines, if it is none of them.
pub fn named(name: &str) -> Result<&'static KnownFormat> {
    find(name).ok_or_else(|| {
        let known: Vec<&str> = names().map(|(name, _)| name).collect();
        Error::config(format!(
            "format {name:?}: no such format of lines; expected one of {}",
            known.join(", ")
        ))
    })
}

/// The names of all formats, including lists, with their descriptions.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let list = (super::Layout::LINES, "list: one URL on each line");
    ALL.iter().map(|format| (format.name, format.about)).chain([list])
}

/// The format of lists with paths on the host of `base`.
pub fn relative_lines(base: &super::BaseUrl) -> Arc<dyn LineFormat> {
    Arc::new(lines::RelativeLines { scheme: base.scheme() })
}

/// The format of the rows that `input` makes of a container of the kind `name`.
pub fn container_rows(name: &'static str) -> Arc<dyn LineFormat> {
    Arc::new(ContainerRows::new(name))
}

/// The format of a log that a server writes with the configuration `text`: nginx's `log_format`,
/// Apache's `LogFormat`, or a name such as `combined`.
///
/// Failure: a configuration error with the place in `text`, what was found there, and what to do.
pub fn log_format(text: &str) -> Result<Arc<dyn LineFormat>> {
    log_format::compile(text)
}

/// The table or the JSON lines that begin with `lines`, with the columns or members `fields`, in
/// the format `name`, or else in the one that the first line looks like.
///
/// Failure: a configuration error if the file has no such columns, or if `name` has no columns.
pub fn with_fields(
    name: Option<&str>,
    lines: &[&[u8]],
    fields: &FieldMap,
) -> Result<Arc<dyn LineFormat>> {
    let first = table::without_preamble(lines).first().copied().unwrap_or_default();
    let name = name.unwrap_or_else(|| match first {
        [b'"', ..] => "csv",
        [b'{', ..] => json::JSON_LINES,
        first if json::has_pairs(first) => json::LOGFMT,
        first if first.contains(&b'\t') => "tsv",
        _ => "csv",
    });
    let Some(with_fields) = find(name).and_then(|format| format.with_fields) else {
        return Err(Error::config(format!(
            "{}: {name} has no columns to choose from; leave it out, or use csv, tsv, jsonl or logfmt",
            Setting::Fields
        )));
    };
    with_fields(lines, fields)
}

/// Can the user choose columns of the format `name`?
pub(super) fn has_columns(name: &str) -> bool {
    find(name).is_some_and(|format| format.with_fields.is_some())
}

/// Is `name` the name of a format of JSON lines?
pub fn is_json(name: &str) -> bool {
    [json::JSON_LINES, json::CADDY, json::NGINX].contains(&name)
}
