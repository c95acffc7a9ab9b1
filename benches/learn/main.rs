//! How good learned rules are: coverage and lost pages, on generated sites and on labelled ones.
//!
//! Not a stopwatch: a table.
//! `cargo bench --bench learn -- --seeds 1,2 [--sets clean,large,noisy,cms,numbered]` mines every
//! site of the seeds and judges the rules in force, applied by the canonicalizer;
//! `cargo bench --bench learn -- FILE.tsv` does so for labelled sites (`labelled.rs`). More words:
//!
//! - `--baselines`: other methods on the same input, see `parameters.rs` and `dustbuster.rs`;
//! - `--site N`: only this site of each seed; `--verbose`: the rules; `--each`: a
//!   line for each site;
//! - `--missed`: what stays apart, by feature and by sets of features;
//! - `--without FEATURE,…`: sites without these features;
//! - `--no-splits`: all only; `--text`: digests of texts are the signal of a labelled file.
//!
//! What is mined from and what is scored:
//!
//! - all: the same URLs;
//! - hash: mined on 70 % of the URLs, by hash, scored on the others;
//! - time: mined on the first 70 % of the time, scored on URLs that were first seen later.
//!
//! Beside them stand the rules of all URLs, scored on those of the hash split, which tells what a
//! split costs by itself, and the ceiling of what rules could do (`ceiling.rs`).

mod apart;
mod ceiling;
mod dustbuster;
mod labelled;
mod numbered;
mod parameters;
mod scoring;
mod seen;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Instant;

use undust::Canonicalizer;
use undust::canonical::{DustRules, DustStatus, RuleFile, Scratch, Settings};
use undust::generate::sites::{Feature, GeneratedSite, Sites, SitesPlan, SitesPreset};
use undust::mine::{MinedSite, Miner, Observation};

use apart::Apart;
use dustbuster::{DustBuster, Validation};
use scoring::{Form, Table};

/// One capture with its truth.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) url: String,
    pub(crate) time: Option<i64>,
    pub(crate) status: Option<u16>,
    pub(crate) size: Option<u64>,
    pub(crate) digest: Option<String>,
    pub(crate) mime: Option<String>,
    pub(crate) method: &'static str,
    pub(crate) redirect: Option<String>,
    /// The true page, where it is known.
    pub(crate) page: Option<u64>,
    pub(crate) tags: Vec<&'static str>,
}

impl Row {
    fn observation(&self) -> Observation<'_> {
        Observation {
            url: self.url.as_bytes(),
            is_canonical: false,
            time: self.time,
            status: self.status,
            size: self.size,
            digest: self.digest.as_deref().map(str::as_bytes),
            mime: self.mime.as_deref().map(str::as_bytes),
            method: Some(self.method.as_bytes()),
            redirected_from: None,
            canonical_link: None,
            redirect: self.redirect.as_deref().map(str::as_bytes),
        }
    }
}

/// What the command line asks for.
struct Wanted {
    baselines: bool,
    each: bool,
    missed: bool,
    splits: bool,
    /// Do the rows say by what features their URLs differ?
    features: bool,
    text: bool,
    verbose: bool,
    site: Option<u32>,
    /// Features that no site has.
    without: Vec<Feature>,
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).expect("standard output takes text");
}

fn auto(rules: &MinedSite) -> usize {
    rules.rules.iter().filter(|rule| rule.status == DustStatus::Auto).count()
}

/// The canonicalizer with the rules in force, and how many of them it refuses.
fn compiled(rules: Option<&MinedSite>, dictionary: bool) -> (Canonicalizer, Vec<String>) {
    let mut file = RuleFile::default();
    if let Some(site) = rules {
        file.rules.extend(site.rules.iter().filter(|r| r.status == DustStatus::Auto).cloned());
        file.guards.extend(site.guards.iter().cloned());
    }
    let compilation = DustRules::compile(&file);
    let name = if dictionary { "profile = 'aggressive'" } else { "profile = 'rfc3986'" };
    let mut settings = Settings::parse(name).expect("parses");
    settings.dust = compilation.rules;
    let refused = compilation.refused.iter().map(|refusal| refusal.why.to_string()).collect();
    (Canonicalizer::new(settings.build().expect("a built-in profile with rules")), refused)
}

fn form_of(canonicalizer: &Canonicalizer) -> impl Fn(&str) -> Vec<u8> + '_ {
    |url| canonicalizer.canonical(url.as_bytes(), &mut Scratch::default()).form.to_vec()
}

fn hashed(url: &str) -> u64 {
    let folded = url.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    (folded ^ folded >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

fn tell(rules: &MinedSite) {
    say(&format!("    {:?}\n", rules.summary));
    for rule in &rules.rules {
        let evidence = rule.evidence.clone().unwrap_or_default();
        say(&format!(
            "    {} {} {}/{} {} gain {}\n",
            rule.status.name(),
            rule.title(),
            evidence.ok,
            evidence.groups,
            evidence.bound,
            evidence.gain_urls
        ));
    }
}

/// Mines and judges one site; gives back what stays apart, by features.
fn judge(site: &str, rows: &[Row], miner: &Miner, wanted: &Wanted, table: &mut Table) -> Apart {
    let mine = |chosen: &dyn Fn(&Row) -> bool| {
        let seen: Vec<Observation<'_>> =
            rows.iter().filter(|row| chosen(row)).map(Row::observation).collect();
        miner.mine(site, &seen)
    };
    let (none, _) = compiled(None, false);
    let (dictionary, _) = compiled(None, true);
    let start = Instant::now();
    let rules = mine(&|_| true);
    table.seconds += start.elapsed().as_secs_f64();
    let (learned, refused) = compiled(Some(&rules), false);
    let (both, _) = compiled(Some(&rules), true);
    table.add("1 stage 0", 0, rows.iter(), &form_of(&none));
    table.add("2 dictionary", 0, rows.iter(), &form_of(&dictionary));
    let mined = table.add("3 learned", auto(&rules), rows.iter(), &form_of(&learned));
    table.refused("3 learned", refused.len());
    table.add("4 learned + dictionary", auto(&rules), rows.iter(), &form_of(&both));
    if wanted.verbose || mined.lost > 0 {
        let (coverage, lost) = (100.0 * mined.coverage(), mined.lost);
        say(&format!("site {site}: coverage {coverage:.1} %, lost {lost}\n"));
        refused.iter().for_each(|why| say(&format!("    refused: {why}\n")));
        tell(&rules);
    }
    if wanted.baselines {
        baselines(rows, &none, table);
    }
    let ceiling = ceiling::forms(rows);
    let best = wanted
        .features
        .then(|| table.add("5 ceiling", 0, rows.iter(), &|url| ceiling::form(&ceiling, url)));
    if wanted.each {
        let reach = 100.0 * best.map_or(1.0, |best| best.coverage());
        let found = 100.0 * mined.coverage();
        say(&format!("{site}: {found:.1} % of {reach:.1} %, lost {}\n", mined.lost));
    }
    let apart = Apart::of(rows, &form_of(&none), &form_of(&learned));
    if wanted.each && wanted.missed {
        say(&apart.text());
    }
    if !wanted.splits {
        return apart;
    }
    let kept = |row: &Row| hashed(&row.url) % 10 < 7;
    let unseen = || rows.iter().filter(|row| !kept(row));
    let by_hash = mine(&kept);
    table.add("6 hash split, dictionary", 0, unseen(), &form_of(&dictionary));
    let from_all = table.add("7 hash split, rules of all", 0, unseen(), &form_of(&learned));
    table.add("9 hash split, ceiling", 0, unseen(), &|url| ceiling::form(&ceiling, url));
    let (learned, _) = compiled(Some(&by_hash), false);
    let score = table.add("8 hash split, learned", auto(&by_hash), unseen(), &form_of(&learned));
    if wanted.verbose {
        tell(&by_hash);
    }
    if wanted.each {
        let (found, all) = (100.0 * score.coverage(), 100.0 * from_all.coverage());
        say(&format!("{site}: hash split {found:.1} %, with the rules of all {all:.1} %\n"));
    }
    if score.lost > 0 {
        say(&format!("hash split loses {} on {site}\n", score.lost));
        tell(&by_hash);
    }
    let mut times: Vec<i64> = rows.iter().filter_map(|row| row.time).collect();
    times.sort_unstable();
    if let Some(limit) = times.get(times.len() * 7 / 10).copied() {
        let early = |row: &Row| row.time.is_some_and(|time| time < limit);
        let seen: BTreeSet<&str> =
            rows.iter().filter(|row| early(row)).map(|row| row.url.as_str()).collect();
        let by_time = mine(&early);
        let (learned, _) = compiled(Some(&by_time), false);
        let unseen = || rows.iter().filter(|row| !seen.contains(row.url.as_str()));
        table.add("A time split, dictionary", 0, unseen(), &form_of(&dictionary));
        let score =
            table.add("B time split, learned", auto(&by_time), unseen(), &form_of(&learned));
        if score.lost > 0 {
            say(&format!("time split loses {} on {site}\n", score.lost));
            tell(&by_time);
        }
    }
    apart
}

/// Other methods, in-sample like "3 learned".
fn baselines(rows: &[Row], none: &Canonicalizer, table: &mut Table) {
    let stage0 = form_of(none);
    let form = |url: &str| String::from_utf8(stage0(url)).unwrap_or_default();
    let all: Vec<&Row> = rows.iter().collect();
    let seen = seen::seen(&all, &stage0);
    let mut add = |name, rules, of: &Form<'_>| {
        table.add(name, rules, rows.iter(), of);
    };
    let dropped = parameters::naive(&seen);
    add("B1 naive pairs", dropped.len(), &|url| parameters::without(&dropped, &form(url)));
    let maybe = parameters::MaybeDont::learn(&seen);
    add("B2 MaybeDont", maybe.len(), &|url| maybe.form(&form(url)));
    let likely = dustbuster::likely_rules(&seen);
    for (name, validation) in [
        ("B3 DustBuster, 100 likely", Validation::None(100)),
        ("B4 DustBuster, 3 pairs, 5 %", Validation::Pairs(3, 0.05)),
        ("B5 DustBuster, 20 pairs, 5 %", Validation::Pairs(20, 0.05)),
        ("B6 DustBuster, 20 pairs, 0 %", Validation::Pairs(20, 0.0)),
    ] {
        let rules = DustBuster::accept(&seen, &likely, validation);
        add(name, rules.len(), &|url| rules.form(&form(url)));
    }
}

fn rows_of(site: &GeneratedSite) -> Vec<Row> {
    let row = |capture: &undust::generate::sites::Capture| Row {
        url: capture.url.clone(),
        time: i64::try_from(capture.time).ok(),
        status: Some(capture.status),
        size: Some(capture.size),
        digest: Some(capture.digest.to_string()),
        mime: Some(capture.mime.to_string()),
        method: capture.method.name(),
        redirect: capture.redirect.clone(),
        page: Some(capture.page),
        tags: capture.features.iter().map(|feature| feature.name()).collect(),
    };
    site.captures.iter().map(row).collect()
}

fn generated(set: &str, seeds: &str, miner: &Miner, wanted: &Wanted) {
    let preset = match set {
        "clean" => SitesPreset::Clean,
        "large" => SitesPreset::Large,
        "noisy" => SitesPreset::Noisy,
        "cms" => SitesPreset::Cms,
        other => panic!("{other}: expected clean, large, noisy, cms or numbered"),
    };
    let (mut table, mut all) = (Table::default(), Apart::default());
    for seed in seeds.split(',') {
        let seed = seed.parse().expect("seeds are numbers");
        let mut plan = SitesPlan { seed, ..SitesPlan::preset(preset) };
        wanted.without.iter().for_each(|feature| plan.chances.set(*feature, 0));
        for site in Sites::new(&plan).expect("presets can be carried out") {
            if wanted.site.is_some_and(|only| only != site.number) {
                continue;
            }
            if wanted.verbose || wanted.each {
                let names: Vec<&str> = site.features.iter().map(|one| one.name()).collect();
                let (number, noise) = (site.number, site.noise_permille);
                say(&format!("\n# seed {seed} {number} noise {noise} {}\n", names.join(" ")));
            }
            all.add(judge(&site.domain, &rows_of(&site), miner, wanted, &mut table));
        }
    }
    say(&table.text(&format!("{set}, seeds {seeds}")));
    if wanted.missed {
        say(&all.text());
    }
}

/// Sites with numbers in their paths: `numbered`, or `numbered-30`.
fn numbered(set: &str, seeds: &str, miner: &Miner, wanted: &Wanted) {
    let changing = set.trim_start_matches("numbered").trim_start_matches('-');
    let changing = if changing.is_empty() { 0 } else { changing.parse().expect("a percentage") };
    let wanted = Wanted { splits: false, features: false, without: Vec::new(), ..*wanted };
    let mut table = Table::default();
    for seed in seeds.split(',') {
        let seed = seed.parse().expect("seeds are numbers");
        for site in (0..numbered::SITES).filter(|site| wanted.site.is_none_or(|only| only == *site))
        {
            let rows = numbered::rows(seed, site, changing);
            judge(&numbered::host(site), &rows, miner, &wanted, &mut table);
        }
    }
    say(&table.text(&format!("{set}, seeds {seeds}")));
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|text| text != "--bench").collect();
    let has = |flag: &str| arguments.iter().any(|text| text == flag);
    let value = |flag: &str| {
        let next = arguments.iter().position(|text| text == flag).map(|at| at + 1);
        next.and_then(|at| arguments.get(at)).map(String::as_str)
    };
    let wanted = Wanted {
        baselines: has("--baselines"),
        each: has("--each"),
        missed: has("--missed"),
        splits: !has("--no-splits"),
        features: true,
        text: has("--text"),
        verbose: has("--verbose"),
        site: value("--site").map(|text| text.parse().expect("--site takes a number")),
        without: value("--without")
            .into_iter()
            .flat_map(|names| names.split(','))
            .map(|name| Feature::named(name).expect("a feature of the generator"))
            .collect(),
    };
    let miner = Miner::new();
    let files: Vec<&String> = arguments.iter().filter(|text| text.ends_with(".tsv")).collect();
    for file in &files {
        let mut table = Table::default();
        let wanted = Wanted { splits: false, features: false, without: Vec::new(), ..wanted };
        for (site, rows) in &labelled::read(file, wanted.text) {
            judge(site, rows, &miner, &wanted, &mut table);
        }
        say(&table.text(file));
    }
    if files.is_empty() {
        for set in value("--sets").unwrap_or("clean,large,noisy").split(',') {
            let seeds = value("--seeds").unwrap_or("1");
            match set.starts_with("numbered") {
                true => numbered(set, seeds, &miner, &wanted),
                false => generated(set, seeds, &miner, &wanted),
            }
        }
    }
}
