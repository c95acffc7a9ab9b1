//! One file for each format, and the list of them.

pub(crate) mod access;
pub(crate) mod alb;
pub(crate) mod log_format;
pub(crate) mod rows;
pub(crate) mod squid;

use super::line_format::Recognize;

/// A format by name.
#[derive(Debug)]
pub struct KnownFormat {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Whether a sample may be of it.
    pub recognize: Recognize,
}

/// All formats but lists, the most specific first: of equally good ones the first is taken.
pub const ALL: &[KnownFormat] = &[
    KnownFormat {
        name: "alb",
        about: "access log of an application load balancer of AWS",
        recognize: alb::recognize,
    },
    KnownFormat {
        name: "elb",
        about: "access log of a classic load balancer of AWS",
        recognize: alb::recognize_classic,
    },
    KnownFormat { name: "squid", about: "native access log of Squid", recognize: squid::recognize },
    KnownFormat {
        name: "access",
        about: "access log; its columns are told by the first lines",
        recognize: access::recognize,
    },
    KnownFormat {
        name: "vhost",
        about: "access log, common or combined, with a host in front",
        recognize: access::recognize_vhost,
    },
    KnownFormat {
        name: "combined",
        about: "access log of Apache or nginx, with referrer and agent",
        recognize: access::recognize_combined,
    },
    KnownFormat {
        name: "clf",
        about: "access log in the common log format",
        recognize: access::recognize_clf,
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

/// The format of the rows of a container of the kind `name`, which `input` makes.
pub fn rows(name: &'static str) -> std::sync::Arc<dyn super::LineFormat> {
    std::sync::Arc::new(rows::Rows::new(name))
}

/// tmp
#[derive(Clone, Debug, Default)]
pub struct FieldMap;
impl FieldMap {
    /// tmp
    pub fn parse(_: &str) -> crate::error::Result<FieldMap> {
        Ok(FieldMap)
    }
}
/// The format that `text` tells: see [`log_format::compile`].
pub fn log_format(text: &str) -> crate::error::Result<std::sync::Arc<dyn super::LineFormat>> {
    log_format::compile(text)
}
/// tmp
pub fn with_fields(
    _: Option<&str>,
    _: &[&[u8]],
    _: &FieldMap,
) -> crate::error::Result<std::sync::Arc<dyn super::LineFormat>> {
    Err(crate::error::Error::config("x"))
}
