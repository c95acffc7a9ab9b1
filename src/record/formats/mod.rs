//! One file for each format, and the list of them.

pub(crate) mod access;
pub(crate) mod cdx;
pub(crate) mod cdxj;
pub(crate) mod cloudfront;
pub(crate) mod crawllog;
pub(crate) mod csv;
mod field_map;
pub(crate) mod json;
#[cfg(test)]
mod samples;
mod table;
pub(crate) mod tsv;
pub(crate) mod w3c;

pub use field_map::FieldMap;

use super::line_format::Recognize;

/// A format, or a family of them that are told apart by the file itself.
#[derive(Debug)]
pub struct KnownFormat {
    /// Names on the command line, and what they are in a few words.
    pub names: &'static [(&'static str, &'static str)],
    /// Whether a sample may be of it.
    pub recognize: Recognize,
}

/// All formats but lists, the most specific first: of equally good ones the first is taken.
pub const ALL: &[KnownFormat] = &[
    KnownFormat {
        names: &[
            ("clf", "access logs in the common log format"),
            ("combined", "the same with referrer and user agent: Apache, nginx"),
            ("vhost", "the same with the host in front: Apache's vhost_combined"),
            (
                "access",
                "access logs like these with other columns, which are told by their content",
            ),
        ],
        recognize: access::recognize,
    },
    KnownFormat {
        names: &[("cloudfront", "standard logs of Amazon CloudFront")],
        recognize: cloudfront::recognize,
    },
    KnownFormat { names: &[("cdx", "indexes of web archives")], recognize: cdx::recognize },
    KnownFormat {
        names: &[("crawllog", "crawl logs of Heritrix")],
        recognize: crawllog::recognize,
    },
    KnownFormat { names: &[("w3c", "W3C extended logs: IIS, proxies")], recognize: w3c::recognize },
    KnownFormat {
        names: &[("crawllog", "crawl logs of Heritrix")],
        recognize: crawllog::recognize,
    },
    KnownFormat {
        names: &[("cdxj", "indexes of web archives with JSON")],
        recognize: cdxj::recognize,
    },
    KnownFormat {
        names: &[
            ("caddy", "logs of Caddy"),
            ("nginx-json", "logs of nginx with escape=json"),
            ("jsonl", "JSON lines with a URL in them"),
        ],
        recognize: json::recognize,
    },
    KnownFormat { names: &[("tsv", "tables with tabs")], recognize: tsv::recognize },
    KnownFormat {
        names: &[("csv", "tables with commas or semicolons")],
        recognize: csv::recognize,
    },
];

/// The format `name`.
pub fn find(name: &str) -> Option<&'static KnownFormat> {
    ALL.iter().find(|format| format.names.iter().any(|(known, _)| *known == name))
}

/// The names of all formats, lists among them, with what they are.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let list = (super::Layout::LINES, "lists: one URL on each line");
    ALL.iter().flat_map(|format| format.names.iter().copied()).chain([list])
}
/// tmp
pub fn log_format(_: &str) -> crate::error::Result<std::sync::Arc<dyn super::LineFormat>> {
    Err(crate::error::Error::config("x"))
}
/// The table or the JSON lines whose first lines are `lines`, with the places that the user tells;
/// of the format `name`, or of the one that the first line looks like.
///
/// Failure: a configuration error if the file has no such columns, or if `name` has no columns.
pub fn with_fields(
    name: Option<&str>,
    lines: &[&[u8]],
    fields: &FieldMap,
) -> crate::error::Result<std::sync::Arc<dyn super::LineFormat>> {
    let first = lines.first().copied().unwrap_or_default();
    let name = name.unwrap_or_else(|| match first {
        [b'"', ..] => "csv",
        [b'{', ..] => "jsonl",
        first if first.contains(&b'\t') => "tsv",
        _ => "csv",
    });
    Ok(match name {
        "csv" => std::sync::Arc::new(csv::Csv::with_fields(first, fields)?),
        "tsv" => std::sync::Arc::new(tsv::Tsv::with_fields(first, fields)?),
        "jsonl" | "caddy" | "nginx-json" => std::sync::Arc::new(json::Json::with_fields(fields)?),
        name => {
            return Err(crate::error::Error::config(format!(
                "--field: {name} has no columns to choose from; leave it out, or use csv, tsv or \
                 jsonl"
            )));
        }
    })
}
