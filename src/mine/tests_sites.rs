//! Sites made by hand, for the tests of single steps: tables as the miner builds them.

use std::collections::BTreeSet;

use super::acts::candidates::{Act, Candidate, Reach};
use super::acts::priors::{self, Natures};
use super::rounds;
use super::seen::Observation;
use super::seen::handlers::Handlers;
use super::seen::loose_path::{LoosePath, loosen};
use super::seen::table::Table;
use super::seen::table::tests::canonicalizer;
use super::selected::letters::Sections;
use super::selected::selector::{Selector, Validated};
use super::validated::validation::Compare;
use super::worth::signal::Calibration;

/// A site with what is known of it before anything is proposed.
pub(super) struct Site {
    pub(super) table: Table,
    pub(super) loose_paths: Vec<LoosePath>,
    pub(super) handlers: Handlers,
    pub(super) calibration: Calibration,
    pub(super) natures: Natures,
}

/// URLs of a script that drop the parameter `v`: this many pages, each in two spellings, of which
/// some show something else under each.
pub(super) fn spelled(script: &str, pages: usize, different: usize) -> Vec<(String, String)> {
    let row = |page: usize, value: &str| {
        let shown = if page < different { value } else { "one" };
        let url = format!("http://a.test{script}?doc=d{page}&v={value}");
        (url, format!("{script} {page} {shown}"))
    };
    (0..pages).flat_map(|page| ["one", "other"].map(|value| row(page, value))).collect()
}

/// URLs of a script that have the parameter `v`, each of them the only one of its page.
pub(super) fn alone(script: &str, pages: usize, value: impl Fn(usize) -> String) -> Rows {
    let row = |page: usize| {
        let url = format!("http://a.test{script}?doc=s{page}&v={}", value(page));
        (url, format!("{script} alone {page}"))
    };
    (0..pages).map(row).collect()
}

/// URLs with what they show.
pub(super) type Rows = Vec<(String, String)>;

impl Site {
    /// The site whose URLs show these contents.
    pub(super) fn of(rows: &[(String, String)]) -> Site {
        let seen = rows.iter().map(|(url, digest)| Observation {
            url: url.as_bytes(),
            digest: Some(digest.as_bytes()),
            ..Observation::default()
        });
        Site::seen(&seen.collect::<Vec<_>>())
    }

    /// The site of these observations.
    pub(super) fn seen(observations: &[Observation<'_>]) -> Site {
        let table = Table::build(observations, &canonicalizer());
        let loose_paths: Vec<LoosePath> = table.paths.iter().map(|path| loosen(path)).collect();
        let plain: Vec<Vec<u8>> = loose_paths.iter().map(LoosePath::plain).collect();
        let mut urls = vec![0; plain.len()];
        table.urls.iter().for_each(|url| urls[url.path as usize] += 1);
        let handlers = Handlers::find(&plain, &urls);
        let calibration = Calibration::measure(&table).by_handlers(&table, &handlers.of_path);
        let natures = priors::natures(&table, &handlers.of_path);
        Site { table, loose_paths, handlers, calibration, natures }
    }

    /// The number of a parameter.
    pub(super) fn name(&self, name: &str) -> u32 {
        let names = &self.table.names;
        names.iter().position(|one| one == name.as_bytes()).expect("the site has it") as u32
    }

    /// The name of a parameter.
    pub(super) fn text_of(&self, name: u32) -> String {
        String::from_utf8_lossy(&self.table.names[name as usize]).into_owned()
    }

    /// The candidate that drops the parameter of this name.
    pub(super) fn drop(&self, name: &str) -> Candidate {
        Candidate::new(Act::Drop(self.name(name)))
    }

    /// The handlers with these templates.
    pub(super) fn handlers(&self, templates: &[&str]) -> BTreeSet<u32> {
        let all = &self.handlers.templates;
        let number = |one: &&str| all.iter().position(|other| other == one.as_bytes());
        templates.iter().map(|one| number(one).expect("the site has it") as u32).collect()
    }

    /// A reach in words: `all`, `all but` or `only` these templates.
    pub(super) fn reach_as_text(&self, reach: &Reach) -> String {
        let joined = |word: &str, handlers: &BTreeSet<u32>| {
            let template = |one: &u32| {
                let path = self.table.splits.path_of(*one);
                let cell = if path == *one { "" } else { "a cell of " };
                let template = String::from_utf8_lossy(&self.handlers.templates[path as usize]);
                format!("{cell}{template}")
            };
            let templates: Vec<String> = handlers.iter().map(template).collect();
            format!("{word} {}", templates.join(" "))
        };
        match reach {
            Reach::All => "all".to_string(),
            Reach::Except(handlers) => joined("all but", handlers),
            Reach::Only(handlers) => joined("only", handlers),
        }
    }

    /// What candidates are selected by here, pairs of URLs compared.
    pub(super) fn selector(&self) -> Selector<'_> {
        Selector {
            table: &self.table,
            sections: Sections { handlers: &self.handlers, loose_paths: &self.loose_paths },
            handlers: &self.handlers.of_path,
            calibration: &self.calibration,
            natures: &self.natures,
            compare: Compare::Pairs,
        }
    }

    /// What the rounds of the site find, and what becomes of its table by them.
    pub(super) fn run(&mut self) -> Vec<Validated> {
        let Site { table, loose_paths, handlers, calibration, .. } = self;
        rounds::run(table, loose_paths, handlers, calibration).0
    }

    /// What is selected of these candidates, which are sorted by their acts.
    pub(super) fn select(&self, candidates: Vec<Candidate>) -> Vec<Validated> {
        let selector = self.selector();
        selector.select(&mut selector.validation(), candidates)
    }
}
