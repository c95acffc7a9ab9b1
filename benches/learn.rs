//! How good learned rules are: coverage and lost pages, on generated sites and on labelled ones.
//!
//! Not a stopwatch: a table. `cargo bench --bench learn -- --seeds 1,2 [--sets clean,large,noisy]`
//! mines every site of the seeds and judges the rules in force, applied by the canonicalizer;
//! `cargo bench --bench learn -- FILE.tsv` does so for a labelled site, whose columns are named in
//! its first line. What is mined from and what is scored:
//!
//! - all: the same URLs;
//! - hash: mined on 70 % of the URLs, by hash, scored on the others;
//! - time: mined on the first 70 % of the time, scored on URLs that were first seen later.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

use undust::Canonicalizer;
use undust::canonical::{DustRules, RuleFile, Scratch, Status};
use undust::generate::sites::{Sites, SitesPlan, SitesPreset};
use undust::mine::{Miner, Observation, SiteRules, site_of};

/// One capture with its truth.
struct Row {
    url: String,
    time: Option<i64>,
    status: Option<u16>,
    size: Option<u64>,
    digest: Option<String>,
    mime: Option<String>,
    method: &'static str,
    redirect: Option<String>,
    /// The true page, where it is known.
    page: Option<u64>,
    tags: Vec<&'static str>,
}

impl Row {
    fn observation(&self) -> Observation<'_> {
        Observation {
            url: self.url.as_bytes(),
            time: self.time,
            status: self.status,
            size: self.size,
            digest: self.digest.as_deref().map(str::as_bytes),
            mime: self.mime.as_deref().map(str::as_bytes),
            method: Some(self.method.as_bytes()),
            redirect: self.redirect.as_deref().map(str::as_bytes),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Score {
    urls: u64,
    canonicals: u64,
    redundant: u64,
    removed: u64,
    lost: u64,
    unstable: u64,
}

impl Score {
    fn add(&mut self, other: Score) {
        self.urls += other.urls;
        self.canonicals += other.canonicals;
        self.redundant += other.redundant;
        self.removed += other.removed;
        self.lost += other.lost;
        self.unstable += other.unstable;
    }
}

/// Judges `canonicalizer` on the distinct URLs of `rows`.
fn score<'a>(rows: impl Iterator<Item = &'a Row>, canonicalizer: &Canonicalizer) -> Score {
    let (mut scratch, mut again) = (Scratch::default(), Scratch::default());
    let mut urls: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        if let Some(page) = row.page {
            urls.entry(&row.url).or_insert(page);
        }
    }
    let mut pages: BTreeMap<u64, (u64, BTreeSet<Vec<u8>>)> = BTreeMap::new();
    let mut forms: BTreeMap<Vec<u8>, BTreeSet<u64>> = BTreeMap::new();
    let mut score = Score { urls: urls.len() as u64, ..Score::default() };
    for (url, page) in urls {
        let form = canonicalizer.canonical(url.as_bytes(), &mut scratch).form.to_vec();
        score.unstable += u64::from(canonicalizer.canonical(&form, &mut again).form != form);
        let entry = pages.entry(page).or_default();
        entry.0 += 1;
        entry.1.insert(form.clone());
        forms.entry(form).or_default().insert(page);
    }
    score.canonicals = forms.len() as u64;
    score.redundant = pages.values().map(|(urls, _)| urls - 1).sum();
    score.removed = pages.values().map(|(urls, forms)| urls - forms.len() as u64).sum();
    score.lost = forms.values().map(|pages| pages.len() as u64 - 1).sum();
    score
}

fn compiled(rules: &[&SiteRules], dictionary: bool) -> Canonicalizer {
    let mut file = RuleFile::default();
    for site in rules {
        file.rules.extend(site.rules.iter().filter(|r| r.status == Status::Auto).cloned());
        file.guards.extend(site.guards.iter().cloned());
    }
    let compilation = DustRules::compile(&file);
    if std::env::var_os("LEARN_VERBOSE").is_some() {
        for refusal in &compilation.refused {
            say(&format!("  refused: {}\n", refusal.why));
        }
    }
    let name = if dictionary { "profile = 'aggressive'" } else { "profile = 'rfc3986'" };
    let mut settings = undust::canonical::Settings::parse(name).expect("parses");
    settings.dust = compilation.rules;
    Canonicalizer::new(settings.build().expect("a built-in profile with rules"))
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).expect("standard output takes text");
}

/// The tables of one set of sites.
#[derive(Default)]
struct Table {
    rows: BTreeMap<&'static str, Score>,
    losing: BTreeMap<&'static str, u64>,
    auto: u64,
    sites: u64,
    seconds: f64,
    missed: BTreeMap<Vec<&'static str>, u64>,
}

impl Table {
    fn add(&mut self, name: &'static str, score: Score) {
        self.rows.entry(name).or_default().add(score);
        *self.losing.entry(name).or_default() += u64::from(score.lost > 0);
    }

    fn print(&self, title: &str) {
        let mut text = format!(
            "\n{title}: {} sites, {:.1} auto rules/site, mined in {:.2} s\n\n\
             | | coverage | lost/M | compression | sites with loss | URLs | unstable |\n\
             |---|---|---|---|---|---|---|\n",
            self.sites,
            self.auto as f64 / self.sites.max(1) as f64,
            self.seconds
        );
        for (name, s) in &self.rows {
            let share = |a: u64, b: u64| a as f64 / b.max(1) as f64;
            let _ = writeln!(
                text,
                "| {name} | {:.1} % | {:.1} | {:.1} % | {} | {} | {} |",
                100.0 * share(s.removed, s.redundant),
                1e6 * share(s.lost, s.urls),
                100.0 * (1.0 - share(s.canonicals, s.urls)),
                self.losing[name],
                s.urls,
                s.unstable
            );
        }
        say(&text);
        if std::env::var_os("LEARN_MISSED").is_some() {
            let mut missed: Vec<_> = self.missed.iter().collect();
            missed.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (tags, count) in missed.iter().take(40) {
                say(&format!("  missed {count} {}\n", tags.join(" ")));
            }
        }
    }
}

fn hashed(url: &str) -> u64 {
    let folded = url.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    (folded ^ folded >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

/// Mines and judges one site.
fn judge(site: &str, rows: &[Row], miner: &Miner, splits: bool, table: &mut Table) {
    let mine = |chosen: &dyn Fn(&Row) -> bool| {
        let seen: Vec<Observation<'_>> =
            rows.iter().filter(|row| chosen(row)).map(Row::observation).collect();
        miner.mine(site, &seen)
    };
    let none = compiled(&[], false);
    let dictionary = compiled(&[], true);
    let start = Instant::now();
    let rules = mine(&|_| true);
    table.seconds += start.elapsed().as_secs_f64();
    let learned = compiled(&[&rules], false);
    table.sites += 1;
    table.auto += rules.rules.iter().filter(|rule| rule.status == Status::Auto).count() as u64;
    table.add("1 stage 0", score(rows.iter(), &none));
    table.add("2 dictionary", score(rows.iter(), &dictionary));
    let mined = score(rows.iter(), &learned);
    table.add("3 learned", mined);
    table.add("4 learned + dictionary", score(rows.iter(), &compiled(&[&rules], true)));
    missed(rows, &learned, table);
    if std::env::var_os("LEARN_VERBOSE").is_some() || mined.lost > 0 {
        say(&format!(
            "site {site}: coverage {:.1} %, lost {}, {:?}\n",
            100.0 * mined.removed as f64 / mined.redundant.max(1) as f64,
            mined.lost,
            rules.summary
        ));
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
    if !splits {
        return;
    }
    let kept = |row: &Row| hashed(&row.url) % 10 < 7;
    let by_hash_rules = mine(&kept);
    let by_hash = compiled(&[&by_hash_rules], false);
    if score(rows.iter().filter(|row| !kept(row)), &by_hash).lost > 0 {
        say(&format!("hash split loses on {site}: {:?}\n", by_hash_rules.summary));
        for rule in &by_hash_rules.rules {
            let evidence = rule.evidence.clone().unwrap_or_default();
            say(&format!(
                "    {} {} {}/{} {}\n",
                rule.status.name(),
                rule.title(),
                evidence.ok,
                evidence.groups,
                evidence.bound
            ));
        }
    }
    table.add("5 hash split, dictionary", score(rows.iter().filter(|row| !kept(row)), &dictionary));
    table.add("6 hash split, learned", score(rows.iter().filter(|row| !kept(row)), &by_hash));
    let mut times: Vec<i64> = rows.iter().filter_map(|row| row.time).collect();
    times.sort_unstable();
    if let Some(limit) = times.get(times.len() * 7 / 10).copied() {
        let early = |row: &Row| row.time.is_some_and(|time| time < limit);
        let seen: BTreeSet<&str> =
            rows.iter().filter(|row| early(row)).map(|row| row.url.as_str()).collect();
        let by_time = compiled(&[&mine(&early)], false);
        let unseen = || rows.iter().filter(|row| !seen.contains(row.url.as_str()));
        table.add("7 time split, dictionary", score(unseen(), &dictionary));
        table.add("8 time split, learned", score(unseen(), &by_time));
    }
}

/// What is left: the features of URLs that stayed apart from their page's most common form.
fn missed(rows: &[Row], learned: &Canonicalizer, table: &mut Table) {
    let mut scratch = Scratch::default();
    let mut pages: BTreeMap<u64, BTreeMap<Vec<u8>, Vec<&Row>>> = BTreeMap::new();
    for row in rows {
        let form = learned.canonical(row.url.as_bytes(), &mut scratch).form.to_vec();
        if let Some(page) = row.page {
            pages.entry(page).or_default().entry(form).or_default().push(row);
        }
    }
    for forms in pages.values() {
        let most = forms.values().map(Vec::len).max().unwrap_or(0);
        let mut first = true;
        for rows in forms.values() {
            if rows.len() == most && first {
                first = false;
                continue;
            }
            let shortest = rows.iter().min_by_key(|row| row.tags.len()).expect("not empty");
            *table.missed.entry(shortest.tags.clone()).or_default() += 1;
        }
    }
}

fn generated(preset: SitesPreset, seed: u64, miner: &Miner, table: &mut Table) {
    let plan = SitesPlan { seed, ..SitesPlan::preset(preset) };
    let only: Option<u32> = std::env::var("LEARN_SITE").ok().and_then(|text| text.parse().ok());
    for site in Sites::new(&plan).expect("presets can be carried out") {
        if only.is_some_and(|only| only != site.number) {
            continue;
        }
        let rows: Vec<Row> = site
            .captures
            .iter()
            .map(|capture| Row {
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
            })
            .collect();
        if std::env::var_os("LEARN_VERBOSE").is_some() {
            let names: Vec<&str> = site.features.iter().map(|feature| feature.name()).collect();
            say(&format!(
                "\n# {} noise {} {}\n",
                site.number,
                site.noise_permille,
                names.join(" ")
            ));
        }
        judge(&site.domain, &rows, miner, true, table);
    }
}

/// A labelled file: columns by name in its first line, which starts with `#url`.
fn labelled(path: &str, miner: &Miner) {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let mut lines = text.lines();
    let header: Vec<&str> =
        lines.next().unwrap_or("").trim_start_matches('#').split('\t').collect();
    let at = |name: &str| header.iter().position(|column| *column == name);
    let columns = ["url", "timestamp", "status", "mime", "bytes", "payload_sha1_b32"].map(at);
    let truth = at("text_sha1_b32");
    // Where a file has digests of texts, pages without one are not scored: a digest of the payload
    // is another measure, and two measures in one table merge and part what they like.
    let has_texts = truth.is_some_and(|at| {
        text.lines().skip(1).any(|line| line.split('\t').nth(at).is_some_and(|cell| cell.len() > 1))
    });
    let mut sites: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut pages: HashMap<String, u64> = HashMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |column: Option<usize>| {
            column
                .and_then(|at| cells.get(at))
                .copied()
                .filter(|cell| !cell.is_empty() && *cell != "-")
        };
        let Some(url) = cell(columns[0]) else { continue };
        let label = if has_texts { cell(truth) } else { cell(columns[5]) };
        let page = label.map(|label| {
            let next = pages.len() as u64;
            *pages.entry(label.to_string()).or_insert(next)
        });
        let host = url.split('/').nth(2).unwrap_or("").split(':').next().unwrap_or("");
        let site = String::from_utf8_lossy(site_of(host.as_bytes())).into_owned();
        let signal = if std::env::var_os("LEARN_TEXT").is_some() { truth } else { columns[5] };
        sites.entry(site).or_default().push(Row {
            url: url.to_string(),
            time: cell(columns[1]).and_then(seconds),
            status: cell(columns[2]).and_then(|text| text.parse().ok()),
            size: cell(columns[4]).and_then(|text| text.parse().ok()),
            digest: cell(signal).map(str::to_string),
            mime: cell(columns[3]).map(str::to_string),
            method: "GET",
            redirect: None,
            page,
            tags: Vec::new(),
        });
    }
    let mut table = Table::default();
    for (site, rows) in &sites {
        judge(site, rows, miner, false, &mut table);
    }
    table.print(path);
}

/// Seconds since 1970 of `YYYYMMDDhhmmss`.
fn seconds(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let years = if month <= 2 { year - 1 } else { year };
    let days = 365 * years + years / 4 - years / 100
        + years / 400
        + (153 * ((month + 9) % 12) + 2) / 5
        + day
        - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|text| text != "--bench").collect();
    let value = |flag: &str| {
        arguments.iter().position(|text| text == flag).and_then(|at| arguments.get(at + 1))
    };
    let miner = Miner::new();
    let files: Vec<&String> = arguments.iter().filter(|text| text.ends_with(".tsv")).collect();
    for file in &files {
        labelled(file, &miner);
    }
    if !files.is_empty() {
        return;
    }
    let seeds = value("--seeds").map_or("1", String::as_str);
    let sets = value("--sets").map_or("clean,large,noisy", String::as_str);
    for set in sets.split(',') {
        let preset = match set {
            "clean" => SitesPreset::Clean,
            "large" => SitesPreset::Large,
            "noisy" => SitesPreset::Noisy,
            other => panic!("{other}: expected clean, large or noisy"),
        };
        let mut table = Table::default();
        for seed in seeds.split(',') {
            generated(preset, seed.parse().expect("seeds are numbers"), &miner, &mut table);
        }
        table.print(&format!("{set}, seeds {seeds}"));
    }
}
