//! One file for each format, the list of them all, and what their tests share (`samples.rs`).

pub(crate) mod access;
pub(crate) mod alb;
pub(crate) mod cdx;
pub(crate) mod cdx_json;
pub(crate) mod cdxj;
pub(super) mod cell;
pub(crate) mod cloudfront;
mod columns;
pub(crate) mod crawllog;
pub(crate) mod csv;
mod extended;
mod field_map;
pub(super) mod first_row;
pub(crate) mod haproxy;
pub(crate) mod json;
mod lines;
pub(crate) mod log_format;
pub(crate) mod rows;
#[cfg(test)]
mod samples;
pub(crate) mod squid;
mod table;
pub(crate) mod tsv;
pub(crate) mod w3c;
mod widths;

pub use field_map::FieldMap;

use std::sync::Arc;

use super::line_format::{LineFormat, Recognize};

/// A format by name.
#[derive(Debug)]
pub struct KnownFormat {
    /// The name on the command line.
    pub name: &'static str,
    /// A description of a few words.
    pub about: &'static str,
    /// Recognizes the format by a sample.
    pub recognize: Recognize,
    /// The format of a file that nothing is known of; `None` if its columns are told by the file.
    pub plain: Option<fn() -> Arc<dyn LineFormat>>,
}

/// All formats except lists, the most specific first: of equally good ones the first is taken.
pub const ALL: &[KnownFormat] = &[
    KnownFormat {
        name: "alb",
        about: "access log of an application load balancer of AWS",
        recognize: alb::recognize,
        plain: Some(|| Arc::new(alb::Balancer::Application)),
    },
    KnownFormat {
        name: "elb",
        about: "access log of a classic load balancer of AWS",
        recognize: alb::recognize_classic,
        plain: Some(|| Arc::new(alb::Balancer::Classic)),
    },
    KnownFormat {
        name: "squid",
        about: "native access log of Squid",
        recognize: squid::recognize,
        plain: Some(|| Arc::new(squid::Squid)),
    },
    KnownFormat {
        name: "haproxy",
        about: "HTTP log of HAProxy",
        recognize: haproxy::recognize,
        plain: Some(|| Arc::new(haproxy::Haproxy::default())),
    },
    KnownFormat {
        name: "access",
        about: "access log; its columns are detected from the first lines",
        recognize: access::recognize,
        plain: None,
    },
    KnownFormat {
        name: "vhost",
        about: "access log, common or combined, with a host in front",
        recognize: access::recognize_vhost,
        plain: Some(|| Arc::new(access::Access::vhost())),
    },
    KnownFormat {
        name: "combined",
        about: "access log of Apache or nginx, with referrer and agent",
        recognize: access::recognize_combined,
        plain: Some(|| Arc::new(access::Access::combined())),
    },
    KnownFormat {
        name: "clf",
        about: "access log in the common log format",
        recognize: access::recognize_clf,
        plain: Some(|| Arc::new(access::Access::clf())),
    },
    KnownFormat {
        name: "cloudfront",
        about: "standard log of Amazon CloudFront",
        recognize: cloudfront::recognize,
        plain: None,
    },
    KnownFormat {
        name: "w3c",
        about: "W3C extended log: IIS, proxies",
        recognize: w3c::recognize,
        plain: None,
    },
    KnownFormat {
        name: "cdx",
        about: "index of a web archive",
        recognize: cdx::recognize,
        plain: None,
    },
    KnownFormat {
        name: "cdxj",
        about: "index of a web archive, with JSON",
        recognize: cdxj::recognize,
        plain: Some(|| Arc::new(cdxj::Cdxj::new())),
    },
    KnownFormat {
        name: "cdx-json",
        about: "answer of a web archive's CDX server, in JSON",
        recognize: cdx_json::recognize,
        plain: None,
    },
    KnownFormat {
        name: crawllog::NAME,
        about: "crawl log of Heritrix",
        recognize: crawllog::recognize,
        plain: Some(|| Arc::new(crawllog::CrawlLog)),
    },
    KnownFormat {
        name: "caddy",
        about: "access log of Caddy, in JSON",
        recognize: json::recognize_caddy,
        plain: Some(|| Arc::new(json::Json::usual("caddy"))),
    },
    KnownFormat {
        name: "nginx-json",
        about: "access log of nginx, in JSON",
        recognize: json::recognize_nginx,
        plain: Some(|| Arc::new(json::Json::usual("nginx-json"))),
    },
    KnownFormat {
        name: "jsonl",
        about: "JSON lines with a URL in them",
        recognize: json::recognize,
        plain: Some(|| Arc::new(json::Json::usual("jsonl"))),
    },
    KnownFormat { name: "tsv", about: "table with tabs", recognize: tsv::recognize, plain: None },
    KnownFormat {
        name: "csv",
        about: "table with commas or semicolons",
        recognize: csv::recognize,
        plain: None,
    },
];

/// The format `name`.
pub fn find(name: &str) -> Option<&'static KnownFormat> {
    ALL.iter().find(|format| format.name == name)
}

/// The names of all formats, lists among them, with what they are.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let list = (super::Layout::LINES, "list: one URL on each line");
    ALL.iter().map(|format| (format.name, format.about)).chain([list])
}

/// The format of lists with paths on the host of `base`.
pub fn relative_lines(base: &super::BaseUrl) -> Arc<dyn LineFormat> {
    Arc::new(lines::RelativeLines { scheme: base.scheme() })
}

/// The format of the rows of a container of the kind `name`, which `input` makes.
pub fn rows(name: &'static str) -> Arc<dyn LineFormat> {
    Arc::new(rows::Rows::new(name))
}

/// The format of a log that a server writes with the configuration `text`: nginx's `log_format`,
/// Apache's `LogFormat`, or a name such as `combined`.
///
/// Failure: a configuration error with the place in `text`, what was found there, and what to do.
pub fn log_format(text: &str) -> crate::error::Result<Arc<dyn LineFormat>> {
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
) -> crate::error::Result<Arc<dyn LineFormat>> {
    let rows = table::without_preamble(lines);
    let first = rows.first().copied().unwrap_or_default();
    let name = name.unwrap_or_else(|| match first {
        [b'"', ..] => "csv",
        [b'{', ..] => "jsonl",
        first if first.contains(&b'\t') => "tsv",
        _ => "csv",
    });
    if !has_columns(name) {
        return Err(crate::error::Error::config(format!(
            "--field: {name} has no columns to choose from; leave it out, or use csv, tsv or jsonl"
        )));
    }
    Ok(match name {
        "csv" => Arc::new(csv::Csv::with_fields(rows, fields)?),
        "tsv" => Arc::new(tsv::Tsv::with_fields(lines, fields)?),
        _ => Arc::new(json::Json::with_fields(fields)?.described_by(lines)),
    })
}

/// Can the user choose columns of the format `name`?
pub(super) fn has_columns(name: &str) -> bool {
    matches!(name, "csv" | "tsv" | "jsonl" | "caddy" | "nginx-json")
}
