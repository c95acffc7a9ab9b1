//! A format and its columns, as users name them by `--format` and `--field`.

use super::scan::layouts::FormatChoice;
use crate::error::{Error, Result};
use crate::input::{Container, Containers};
use crate::record::{FieldMap, Layout, formats};

/// What users have named, as input and record need it: see [`NamedFormat::new`].
#[derive(Clone, Debug, Default)]
pub struct NamedFormat {
    /// The format of lines; `None` if it is detected, or if files are containers.
    pub choice: Option<FormatChoice>,
    /// Which files are containers.
    pub containers: Containers,
    /// Which column of a container has which field: the field, then the column.
    pub columns: Vec<(String, String)>,
}

impl NamedFormat {
    /// Resolves the name of a `format` of lines or of a container, in upper or lower case, with its
    /// `fields`. Without a name, formats are detected from the contents of files.
    ///
    /// Failure: a configuration error for an unknown name, which lists the known ones.
    pub fn new(format: Option<&str>, fields: Option<FieldMap>) -> Result<NamedFormat> {
        let name = format.map(str::to_ascii_lowercase);
        let container = name.as_ref().and_then(|name| {
            Container::ALL.into_iter().find(|container| container.name() == *name)
        });
        let columns = { fields.iter().flat_map(FieldMap::names) }
            .map(|(field, column)| (field.to_string(), column.to_string()))
            .collect();
        let containers = match (container, &name) {
            (Some(container), _) => Containers::Only(container),
            (None, None) => Containers::Detect,
            (None, Some(_)) => Containers::None,
        };
        let choice = match (name, fields) {
            _ if container.is_some() => None,
            (Some(name), _) if !is_known(&name) => return Err(unknown(&name)),
            (Some(name), None) => Some(FormatChoice::Named(name)),
            (name, Some(fields)) => Some(FormatChoice::Fields(name, fields)),
            (None, None) => None,
        };
        Ok(NamedFormat { choice, containers, columns })
    }
}

fn is_known(name: &str) -> bool {
    name == Layout::LINES || formats::find(name).is_some()
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = { formats::names().map(|(name, _)| name) }
        .chain(Container::ALL.map(Container::name))
        .collect();
    Error::config(format!("format {name:?}: no such format; expected one of {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_fields() {
        let parsed = |format, fields: Option<&str>| {
            let fields = fields.map(|text| FieldMap::parse(text).unwrap());
            let named = NamedFormat::new(format, fields).unwrap();
            (format!("{:?}", named.choice), named.containers, named.columns)
        };
        let url = vec![("url".to_string(), "x".to_string())];
        for (format, fields, choice, containers) in [
            (None, None, "None", Containers::Detect),
            (Some("CSV"), None, "Some(Named(\"csv\"))", Containers::None),
            (Some("lines"), None, "Some(Named(\"lines\"))", Containers::None),
            (Some("csv"), Some("url=x"), "Some(Fields(Some(\"csv\")", Containers::None),
            (None, Some("url=x"), "Some(Fields(None", Containers::Detect),
            (Some("Parquet"), Some("url=x"), "None", Containers::Only(Container::Parquet)),
        ] {
            let (found, which, columns) = parsed(format, fields);
            assert!(found.starts_with(choice), "{found}");
            assert_eq!((which, columns.is_empty()), (containers, fields.is_none()), "{choice}");
        }
        assert_eq!(parsed(None, Some("url=x")).2, url);
        let error = NamedFormat::new(Some("nothing"), None).unwrap_err().to_string();
        assert!(
            error.contains("format \"nothing\": no such format") && error.contains("warc"),
            "{error}"
        );
    }
}
