//! What to read: the files, the format of their records, which of these count.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::args::{FormatArgs, InputArgs};
use crate::error::{Error, Result};
use crate::input::{Containers, InputPlan};
use crate::limits::LINE_BYTES_CEILING;
use crate::pipeline::{FormatChoice, FormatPlan, NamedFormat};
use crate::record::fields::time;
use crate::record::{BaseUrl, FieldMap, RecordFilter, StatusRange, UrlGlob, UrlGlobs, formats};

impl InputArgs {
    /// What to read: all the files, by name.
    pub(crate) fn plan(&self) -> Result<InputPlan> {
        let mut paths = self.files.clone();
        if paths.is_empty() && self.files_from.is_none() {
            if std::io::stdin().is_terminal() {
                return Err(Error::config(
                    "nothing to read; name a FILE, or `-` for standard input (see --help)",
                ));
            }
            paths.push(PathBuf::from("-"));
        }
        let ceiling = LINE_BYTES_CEILING as u64;
        if self.line_limit == 0 || self.line_limit > ceiling {
            return Err(Error::config(format!(
                "--line-limit: expected 1 to {ceiling} bytes, found {}",
                self.line_limit
            )));
        }
        let separator = if self.null { 0 } else { b'\n' };
        let NamedFormat { containers, columns, .. } = self.format.named()?;
        let mut plan = InputPlan {
            paths,
            recursive: self.recursive,
            files_from: self.files_from.clone(),
            files_from_separator: separator,
            separator,
            line_bytes_max: self.line_limit as usize,
            map: !self.no_map,
            containers,
            columns,
            ..InputPlan::default()
        };
        plan.resolve()?;
        Ok(plan)
    }
}

impl FormatArgs {
    /// How records are found, and which of them count.
    pub(crate) fn plan(&self) -> Result<FormatPlan> {
        let base = self.base_url.as_deref().map(base_url).transpose()?;
        let filter = self.filter()?;
        Ok(FormatPlan {
            format: self.named()?.choice,
            base: base.map(Arc::new),
            filter: (!filter.is_empty()).then(|| Arc::new(filter)),
            content_first: false,
        })
    }

    /// The format and its columns; that of `--log-format` goes before a name.
    fn named(&self) -> Result<NamedFormat> {
        let fields = self.field.as_deref().map(fields).transpose()?;
        let named = NamedFormat::new(self.format.as_deref(), fields)?;
        Ok(match &self.log_format {
            None => named,
            Some(text) => NamedFormat {
                choice: Some(FormatChoice::Given(formats::log_format(text)?)),
                containers: Containers::None,
                ..named
            },
        })
    }

    fn filter(&self) -> Result<RecordFilter> {
        let time = |flag: &str, text: &Option<String>| match text {
            None => Ok(None),
            // A year alone would be a second of 1970.
            Some(text) => time::parse(text.as_bytes(), b"")
                .filter(|_| text.trim().len() > "2026".len())
                .map(Some)
                .ok_or_else(|| {
                    Error::config(format!(
                        "{flag} {text}: expected a date or a time, such as 2026-11-21 or \
                     2026-11-21T09:30:00+01:00"
                    ))
                }),
        };
        let globs = |flag: &str, texts: &[String]| -> Result<UrlGlobs> {
            texts.iter().map(|text| UrlGlob::parse(text).map_err(|error| error.at(flag))).collect()
        };
        let method = |text: &str| match text.trim().as_bytes() {
            method if !method.is_empty() && method.iter().all(u8::is_ascii_alphabetic) => {
                Ok(method.to_vec())
            }
            _ => Err(Error::config(format!("--method {text}: expected a method, such as GET"))),
        };
        let status = |text: &str| {
            StatusRange::parse(text).map_err(|error| error.at(format_args!("--status {text}")))
        };
        let (since, until) = (time("--since", &self.since)?, time("--until", &self.until)?);
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err(Error::config(
                "--until is not after --since: no record can be in between; expected a later time",
            ));
        }
        Ok(RecordFilter {
            statuses: self.status.iter().map(|one| status(one)).collect::<Result<_>>()?,
            methods: self.method.iter().map(|one| method(one)).collect::<Result<_>>()?,
            since,
            until,
            include: globs("--include", &self.include)?,
            exclude: globs("--exclude", &self.exclude)?,
        })
    }
}

/// What `--base-url` says.
pub(crate) fn base_url(text: &str) -> Result<BaseUrl> {
    BaseUrl::parse(text).map_err(|error| error.at(format_args!("--base-url {text}")))
}

/// What `--field` says.
fn fields(text: &str) -> Result<FieldMap> {
    FieldMap::parse(text).map_err(|error| {
        Error::config(format!(
            "--field {text}: {error}; expected a column, as in --field address, or several, as in \
             --field url=address,status=4"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_flag() {
        let base = base_url("a.test").unwrap_err();
        let fields = fields("a,b").unwrap_err();
        for (error, expected) in [
            (
                base,
                "--base-url a.test: there is no scheme; expected scheme and host, such as \
                 https://example.com",
            ),
            (
                fields,
                "--field a,b: url is given twice; expected a column, as in --field address, or several, \
                 as in --field url=address,status=4",
            ),
        ] {
            assert_eq!((error.is_config(), error.to_string()), (true, expected.to_string()));
        }
    }
}
