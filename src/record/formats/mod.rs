//! One file for each format, and the list of them.

pub(crate) mod access;

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
pub const ALL: &[KnownFormat] = &[KnownFormat {
    names: &[
        ("clf", "access logs in the common log format"),
        ("combined", "the same with referrer and user agent: Apache, nginx"),
        ("vhost", "the same with the host in front: Apache's vhost_combined"),
        ("access", "access logs like these with other columns, which are told by their content"),
    ],
    recognize: access::recognize,
}];

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
#[derive(Clone, Debug, Default)]
pub struct FieldMap;
impl FieldMap {
    /// tmp
    pub fn parse(_: &str) -> crate::error::Result<FieldMap> {
        Ok(FieldMap)
    }
}
/// tmp
pub fn log_format(_: &str) -> crate::error::Result<std::sync::Arc<dyn super::LineFormat>> {
    Err(crate::error::Error::config("x"))
}
/// tmp
pub fn with_fields(
    _: Option<&str>,
    _: &[&[u8]],
    _: &FieldMap,
) -> crate::error::Result<std::sync::Arc<dyn super::LineFormat>> {
    Err(crate::error::Error::config("x"))
}
