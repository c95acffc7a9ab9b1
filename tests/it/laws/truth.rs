//! What jobs make of lists whose truth is known.

use std::collections::{BTreeMap, HashMap};

use undust::bytes::show;
use undust::canonical::Scratch;
use undust::cluster::Seen;
use undust::generate::{Class, List, ListPlan};
use undust::pipeline::{self, DedupPlan, Job, Print};

use super::bench::{Bench, Compression, How, PLAIN, canonicalizer, generated};

/// What a profile makes of a generated list.
#[derive(Debug, Default)]
struct Verdict {
    /// Pairs of lines of different pages with one canonical form.
    wrong: Vec<String>,
    /// Lines that should have been merged with the first of their page, with their rules.
    missed: Vec<String>,
    /// How many lines of each class were merged with the first of their page.
    merged: BTreeMap<Class, u64>,
    lines: BTreeMap<Class, u64>,
    pages: u64,
}

fn judge(profile: &str, plan: &ListPlan, must_merge: &[Class]) -> Verdict {
    let canonicalizer = canonicalizer(profile);
    let mut scratch = Scratch::default();
    let mut verdict = Verdict::default();
    let mut page_of: HashMap<Vec<u8>, (u64, Vec<u8>)> = HashMap::new();
    let mut first: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let (mut list, mut line) = (List::new(plan).unwrap(), Vec::new());
    while let Some(truth) = list.next_line(&mut line) {
        let form = canonicalizer.canonical(&line, &mut scratch).form.to_vec();
        let (page, other) =
            page_of.entry(form.clone()).or_insert_with(|| (truth.page, line.clone()));
        if *page != truth.page {
            verdict.wrong.push(format!("{} and {} are {}", show(other), show(&line), show(&form)));
        }
        *verdict.lines.entry(truth.class).or_default() += 1;
        if truth.class == Class::First {
            first.push((line.clone(), form));
            continue;
        }
        let (first_line, first_form) = &first[truth.page as usize];
        if form == *first_form {
            *verdict.merged.entry(truth.class).or_default() += 1;
        } else if must_merge.contains(&truth.class) {
            verdict.missed.push(format!(
                "{:?}: {} is {}, {} is {}",
                truth.rules.iter().collect::<Vec<_>>(),
                show(first_line),
                show(first_form),
                show(&line),
                show(&form)
            ));
        }
    }
    verdict.pages = list.pages();
    verdict
}

fn report(profile: &str, verdict: &Verdict) -> String {
    let some =
        |all: &[String]| all.iter().take(5).map(|one| format!("\n  {one}")).collect::<String>();
    format!(
        "{profile}: lines {:?}, merged {:?}\n{} wrong merges{}\n{} missed{}",
        verdict.lines,
        verdict.merged,
        verdict.wrong.len(),
        some(&verdict.wrong),
        verdict.missed.len(),
        some(&verdict.missed)
    )
}

#[test]
fn the_truth_is_found() {
    let plan = ListPlan { lines: 200_000, seed: 7, ..ListPlan::default() };
    for (profile, must_merge) in [
        ("lines", &[Class::Exact][..]),
        ("crawl", &[Class::Exact, Class::Safe]),
        ("aggressive", &[Class::Exact, Class::Safe, Class::Heuristic]),
    ] {
        let verdict = judge(profile, &plan, must_merge);
        assert!(verdict.wrong.is_empty(), "{}", report(profile, &verdict));
        assert!(verdict.missed.is_empty(), "{}", report(profile, &verdict));
        for class in must_merge {
            assert!(verdict.lines[class] > 1_000, "{}", report(profile, &verdict));
        }
        // A profile that merges what it need not is another one than it says.
        let count = |class| verdict.merged.get(&class).copied().unwrap_or(0);
        if profile == "crawl" {
            assert_eq!(count(Class::Heuristic), 0, "{}", report(profile, &verdict));
        }
    }
}

#[test]
fn the_whole_pipeline_finds_every_page() {
    let bench = Bench::new(generated(200_000, 7));
    let canonicalizer = canonicalizer("aggressive");
    let mut list = List::new(&ListPlan { lines: 200_000, seed: 7, ..ListPlan::default() }).unwrap();
    let (mut expected, mut line) = (Vec::new(), Vec::new());
    while let Some(truth) = list.next_line(&mut line) {
        if truth.class == Class::First {
            expected.extend_from_slice(&line);
            expected.push(b'\n');
        }
    }
    let input = bench.input(How { compression: Compression::Zstd, files: 3, ..PLAIN });
    let job = Job::new(input, &canonicalizer);
    let plan = DedupPlan { print: Print::Original, seen: &Seen::default() };
    let (out, tally) = bench.written(|output| pipeline::dedup(&job, &plan, output).unwrap().tally);
    assert_eq!((tally.lines, tally.unique), (200_000, list.pages()));
    assert!(out == expected, "the first line of every page, and no other");
}
