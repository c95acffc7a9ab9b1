//! Files to the rules of their sites.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use undust::canonical::{Profile, RuleFile};
use undust::input::InputPlan;
use undust::mine::Miner;
use undust::pipeline::{self, BASE_PROFILE, Job, Memory, NamedFormat};
use undust::record::FieldMap;

use crate::error::{UndustError, raised};
use crate::lines::base_of;

/// The rules of the sites in crawl logs, indexes or tables, as the text of a rule file.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // By name, in `undust/_learn.py`.
pub(crate) fn learn(
    py: Python,
    paths: Vec<PathBuf>,
    format: Option<&str>,
    fields: Option<&str>,
    memory: u64,
    temp_dir: Option<PathBuf>,
    threads: usize,
    base_url: Option<&str>,
) -> PyResult<String> {
    let base = base_url.map(base_of).transpose()?.map(Arc::new);
    let fields = fields.map(|text| {
        FieldMap::parse(text).map_err(|error| {
            UndustError::new_err(format!(
                "fields {text}: {error}; expected a column, as in address, or several, as in \
                 url=address,status=4"
            ))
        })
    });
    let NamedFormat { choice, containers, columns } =
        NamedFormat::new(format, fields.transpose()?).map_err(raised)?;
    let mut input = InputPlan { paths, containers, columns, ..InputPlan::default() };
    py.detach(|| {
        input.resolve()?;
        let canonicalizer = undust::Canonicalizer::new(Profile::named(BASE_PROFILE)?);
        let mut job = Job::new(input, &canonicalizer);
        job.format.format = choice;
        job.format.base = base;
        job.threads = threads;
        job.memory =
            Memory { bytes: memory, temp_dir: temp_dir.unwrap_or_else(std::env::temp_dir) };
        job.check_memory()?;
        let mut learned = pipeline::learn(&job, &Miner::new())?;
        Ok(learned.take_rules()?.file.to_toml())
    })
    .map_err(raised)
}

/// The text of one rule file with what `texts` say, which were learned of different sites: that of
/// all of them together.
#[pyfunction]
pub(crate) fn join_rules(texts: Vec<String>) -> PyResult<String> {
    let mut all = RuleFile::default();
    let mut counts = BTreeMap::new();
    for (number, text) in (1..).zip(&texts) {
        let at = |error: undust::Error| raised(error.at(format_args!("text {number}")));
        let file = RuleFile::parse(text).map_err(at)?;
        for counted in ["records", "sites"] {
            let count = file.about.get(counted).and_then(|count| count.parse().ok());
            *counts.entry(counted).or_insert(0_u64) += count.unwrap_or(0);
        }
        all.append(file).map_err(at)?;
    }
    for (counted, count) in counts {
        all.about.insert(counted.to_string(), count.to_string());
    }
    all.rules.sort_by(|a, b| a.site.cmp(&b.site));
    all.guards.sort_by(|a, b| a.site.cmp(&b.site));
    all.traps.sort_by(|a, b| a.site.cmp(&b.site));
    Ok(all.to_toml())
}
