//! Settings to canonical forms.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use undust::canonical::{Canonical, DustRules, Notation, RuleFile, Scratch, Settings};
use undust::mine::site_of;
use undust::parts::host_of;

use crate::column::{Column, Made};
use crate::error::{UndustError, raised};
use crate::pages::FingerprintKey;

/// What gives URLs their canonical form.
#[pyclass(frozen, module = "undust._native")]
pub(crate) struct Canonicalizer(undust::Canonicalizer);

#[pymethods]
impl Canonicalizer {
    /// The canonicalizer of `settings`, in JSON, on top of those of a TOML file, with the rules of
    /// some rule files. Each file comes as its name, which errors tell, and its text.
    #[new]
    fn new(
        settings: &str,
        config: Option<(String, String)>,
        rules: Vec<(String, String)>,
    ) -> PyResult<Self> {
        // Not of the text at once: its places are nothing to a user, who has not seen it.
        let mut settings: Settings = serde_json::from_str::<serde_json::Value>(settings)
            .and_then(serde_json::from_value)
            .map_err(|error| UndustError::new_err(format!("settings: {error}")))?;
        if let Some((name, text)) = config {
            let below = Settings::parse(&text).map_err(|error| raised(error.at(name)))?;
            settings = below.overlay(settings);
        }
        let mut all = RuleFile::default();
        for (name, text) in &rules {
            let file = RuleFile::parse(text).map_err(|error| raised(error.at(name)))?;
            all.append(file).map_err(|error| raised(error.at(name)))?;
        }
        let names: Vec<&str> = rules.iter().map(|(name, _)| name.as_str()).collect();
        settings.dust = DustRules::compile(&all)
            .strict()
            .map_err(|error| raised(error.at(names.join(", "))))?;
        let profile = settings.build().map_err(raised)?;
        Ok(Canonicalizer(undust::Canonicalizer::new(profile)))
    }

    /// Name and version of the profile.
    #[getter]
    fn profile(&self) -> String {
        self.0.profile().title()
    }

    /// A digest of all that the profile does.
    #[getter]
    fn digest(&self) -> String {
        self.0.profile().digest()
    }

    /// What is `wanted` of `url`, and why it does not parse.
    fn form<'py>(
        &self,
        py: Python<'py>,
        url: &[u8],
        wanted: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<&'static str>)> {
        let wanted = Wanted::named(wanted)?;
        let mut scratch = Scratch::default();
        let canonical = self.0.canonical(url, &mut scratch);
        let mut form = Vec::with_capacity(canonical.form.len());
        wanted.push(url, canonical, &mut form);
        Ok((PyBytes::new(py, &form), canonical.reject.map(|reject| reject.name())))
    }

    /// What is `wanted` of each row of a column, as `ends` and `bytes`.
    fn forms<'py>(
        &self,
        py: Python<'py>,
        ends: PyBuffer<i64>,
        bytes: PyBuffer<u8>,
        wanted: &str,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let wanted = Wanted::named(wanted)?;
        let column = Column::read(py, &ends, &bytes)?;
        let pieces = py.detach(|| {
            column.by_pieces(threads, |rows| {
                let mut scratch = Scratch::default();
                let mut lines = self.0.lines_of(column.bytes(), &mut scratch);
                let mut made = Made::with_room(rows.len(), column.bytes_of(rows.clone()));
                for row in rows {
                    let url = column.row(row);
                    let canonical = lines.canonical(url);
                    made.push_written(|out| wanted.push(url, canonical, out));
                }
                made
            })
        })?;
        Made::joined(py, &pieces)
    }

    /// The fingerprints of a column's canonical forms, 16 bytes each.
    fn fingerprints<'py>(
        &self,
        py: Python<'py>,
        ends: PyBuffer<i64>,
        bytes: PyBuffer<u8>,
        key: &FingerprintKey,
        threads: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let column = Column::read(py, &ends, &bytes)?;
        let pieces = py.detach(|| self.fingerprints_of(&column, key, threads))?;
        let all: Vec<[u8; 16]> =
            pieces.into_iter().flatten().map(|fingerprint| fingerprint.0.to_be_bytes()).collect();
        Ok(PyBytes::new(py, all.as_flattened()))
    }

    /// How `url` gets its canonical form: what was done, and the URL after it.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        url: &[u8],
    ) -> PyResult<Vec<(&'static str, Bound<'py, PyBytes>)>> {
        let step = |name, form: &[u8]| (name, PyBytes::new(py, form));
        let mut steps = vec![step("given", url)];
        let trace = match self.0.trace(url) {
            Ok(trace) => trace,
            Err(reject) => return Err(UndustError::new_err(reject.explain())),
        };
        if trace.parsed != url {
            let what = if trace.scheme_added { "scheme added" } else { "parsed" };
            steps.push(step(what, &trace.parsed));
        }
        steps.extend(trace.steps.iter().map(|taken| step(taken.rule.name(), &taken.after)));
        Ok(steps)
    }

    /// Are two URLs one page, and by which rules?
    fn compare(&self, a: &[u8], b: &[u8]) -> (bool, Option<String>) {
        let reason = self.0.comparer().compare(a, b).reason();
        (reason.is_some(), reason)
    }
}

impl Canonicalizer {
    /// The canonical form of `url`.
    pub(crate) fn canonical<'a>(&self, url: &'a [u8], scratch: &'a mut Scratch) -> &'a [u8] {
        self.0.canonical(url, scratch).form
    }

    /// The fingerprints of a column's canonical forms, by pieces.
    pub(crate) fn fingerprints_of(
        &self,
        column: &Column,
        key: &FingerprintKey,
        threads: usize,
    ) -> PyResult<Vec<Vec<undust::Fingerprint>>> {
        column.by_pieces(threads, |rows| {
            let mut scratch = Scratch::default();
            let mut lines = self.0.lines_of(column.bytes(), &mut scratch);
            rows.map(|row| key.0.fingerprint(lines.canonical(column.row(row)).form)).collect()
        })
    }
}

/// What somebody wants to know of a URL.
#[derive(Clone, Copy)]
enum Wanted {
    Form(Notation),
    /// The host of its canonical form; nothing if it has none.
    Host,
    /// The domain of that host that somebody has registered, or the host itself.
    Site,
}

impl Wanted {
    fn named(name: &str) -> PyResult<Wanted> {
        Ok(match name {
            "url" => Wanted::Form(Notation::Url),
            "surt" => Wanted::Form(Notation::Surt),
            "urlkey" => Wanted::Form(Notation::Urlkey),
            "host" => Wanted::Host,
            "site" => Wanted::Site,
            other => {
                return Err(PyValueError::new_err(format!(
                    "expected url, surt, urlkey, host or site, found {other:?}"
                )));
            }
        })
    }

    /// Appends it to `out`, for `url` and its canonical form. A URL that does not parse has no key
    /// and no host, and is written unchanged.
    fn push(self, url: &[u8], canonical: Canonical, out: &mut Vec<u8>) {
        let host = || match canonical.reject {
            None => host_of(canonical.form).unwrap_or_default(),
            Some(_) => b"",
        };
        match self {
            Wanted::Form(_) if canonical.reject.is_some() => out.extend_from_slice(url),
            Wanted::Form(notation) => notation.push(url, canonical.form, out),
            Wanted::Host => out.extend_from_slice(host()),
            Wanted::Site => out.extend_from_slice(site_of(host())),
        }
    }
}
