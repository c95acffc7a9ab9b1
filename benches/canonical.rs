//! How fast URLs get their canonical form, by lane, profile and list.
//!
//! The group `fused` is the canonicalizer as everybody uses it: the lines that the fast lane
//! refuses go through the reference lane and are in its figures. The group `reference` is the
//! slow lane alone. Lines are found before, forms compared before. `UNDUST_LIST=FILE` adds a list
//! of your own. The group `rules` is the profile crawl without rules of sites (`none`), with such
//! of 10,000 other sites (`elsewhere`), and with five for every host of the list (`here`). The
//! group `hostile` is of lines that repeat a few bytes: a byte of a long one has to take no
//! longer than of a short one.

mod corpus;

use std::hint::black_box;
use std::time::Duration;

use corpus::Corpus;
use criterion::{Criterion, SamplingMode};
use undust::canonical::{
    Canonical, Canonicalizer, DustKind, DustRule, DustRules, Profile, RuleFile, Scratch, Settings,
};

/// Profiles that parse and that users choose between.
const PROFILES: [&str; 4] = ["whatwg", "rfc3986", "crawl", "aggressive"];

/// Lines of the generated list. Reason: 8 MB, so that it fits no second-level cache.
const LINES: u64 = 100_000;

/// Most lines of a list that is given.
const LINES_GIVEN: usize = 300_000;

/// What a list comes to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    /// Lines that are no URL.
    rejected: u64,
    /// Bytes of all forms.
    form_bytes: u64,
}

impl Answer {
    #[inline]
    fn add(&mut self, canonical: &Canonical) {
        self.rejected += u64::from(canonical.reject.is_some());
        self.form_bytes += canonical.form.len() as u64;
    }
}

/// What is timed: each of `lines`, which were found in `text` before. The program asks so, too.
fn answer(lane: &Canonicalizer, text: &[u8], lines: &[&[u8]], scratch: &mut Scratch) -> Answer {
    let mut answer = Answer::default();
    let mut forms = lane.lines_of(text, scratch);
    for line in lines {
        answer.add(&forms.canonical(line));
    }
    answer
}

/// What a list comes to, where both lanes agree on every line, and how many lines they change.
fn compared(
    fast: &Canonicalizer,
    slow: &Canonicalizer,
    text: &[u8],
    lines: &[&[u8]],
) -> (Answer, u64) {
    let (mut for_fast, mut for_slow) = (Scratch::default(), Scratch::default());
    let mut forms = fast.lines_of(text, &mut for_fast);
    let (mut answer, mut changed) = (Answer::default(), 0);
    for line in lines {
        let (one, other) = (forms.canonical(line), slow.canonical(line, &mut for_slow));
        assert_eq!(one, other, "{}", undust::bytes::show(line));
        answer.add(&other);
        changed += u64::from(other.form != *line);
    }
    (answer, changed)
}

/// What a list comes to, where both lanes agree on every line and change some.
fn agreed(fast: &Canonicalizer, slow: &Canonicalizer, text: &[u8], lines: &[&[u8]]) -> Answer {
    let (answer, changed) = compared(fast, slow, text, lines);
    assert!(changed > 0, "a list that tests nothing");
    answer
}

/// The lists: a generated one, links that people posted, and `UNDUST_LIST`.
fn corpora() -> impl Iterator<Item = Corpus> {
    [Corpus::generated(LINES), Corpus::reddit()].into_iter().chain(Corpus::given(LINES_GIVEN))
}

fn lanes(c: &mut Criterion) {
    for corpus in corpora() {
        let lines: Vec<&[u8]> = corpus.lines().collect();
        for name in PROFILES {
            let profile = Profile::named(name).expect("the profile is built in");
            let slow = Canonicalizer::reference_only(profile.clone());
            let fast = Canonicalizer::new(profile);
            let expected = agreed(&fast, &slow, &corpus.bytes, &lines);
            let mut scratch = Scratch::default();
            for (group, lane) in [("fused", &fast), ("reference", &slow)] {
                let mut group = c.benchmark_group(group);
                group.throughput(corpus.throughput());
                group.sampling_mode(SamplingMode::Flat).sample_size(20);
                group.bench_function(format!("{name}/{}", corpus.name), |b| {
                    b.iter(|| {
                        assert_eq!(
                            answer(lane, &corpus.bytes, black_box(&lines), &mut scratch),
                            expected
                        )
                    });
                });
                group.finish();
            }
        }
    }
}

/// Five rules for each of `sites`.
fn rules(sites: impl Iterator<Item = String>) -> DustRules {
    let text = String::from;
    let rules = sites.flat_map(|site| {
        [
            DustKind::DropParam { param: text("sid") },
            DustKind::DropParam { param: text("ref*") },
            DustKind::DefaultParam { param: text("page"), value: text("1") },
            DustKind::AliasSuffix { from: text("index.html"), to: text("") },
            DustKind::DropSegment { segment: text("(S({*}))") },
        ]
        .map(|kind| DustRule::new(&site, kind))
    });
    let file = RuleFile { rules: rules.collect(), ..RuleFile::default() };
    // Hosts of a list of one's own that are no names have no rules.
    let compilation = DustRules::compile(&file);
    assert!(2 * compilation.refused.len() <= file.rules.len(), "most rules hold together");
    compilation.rules
}

fn rules_of_sites(c: &mut Criterion) {
    for corpus in corpora() {
        let lines: Vec<&[u8]> = corpus.lines().collect();
        let lane = Canonicalizer::new(Profile::named("crawl").expect("the profile is built in"));
        let mut scratch = Scratch::default();
        let mut hosts = std::collections::BTreeSet::new();
        for line in &lines {
            let form = lane.canonical(line, &mut scratch).form;
            let host = undust::parts::host_of(form).and_then(|host| std::str::from_utf8(host).ok());
            hosts.extend(host.filter(|host| !host.is_empty()).map(String::from));
        }
        let elsewhere = (0..10_000).map(|number| format!("site-{number}.test"));
        for (name, dust) in [
            ("none", DustRules::default()),
            ("elsewhere", rules(elsewhere)),
            ("here", rules(hosts.into_iter())),
        ] {
            let settings = Settings { dust, ..Settings::default() };
            let profile = settings.build().expect("rules go with the profile");
            let slow = Canonicalizer::reference_only(profile.clone());
            let fast = Canonicalizer::new(profile);
            let expected = agreed(&fast, &slow, &corpus.bytes, &lines);
            let mut group = c.benchmark_group("rules");
            group.throughput(corpus.throughput());
            group.sampling_mode(SamplingMode::Flat).sample_size(20);
            group.bench_function(format!("{name}/{}", corpus.name), |b| {
                b.iter(|| {
                    assert_eq!(
                        answer(&fast, &corpus.bytes, black_box(&lines), &mut scratch),
                        expected
                    )
                });
            });
            group.finish();
        }
    }
}

/// What long lines are made of that somebody may send to take time: the beginning,
/// and what is repeated.
const HOSTILE: [(&str, &str); 10] = [
    ("?", "&a"),
    ("?", "&a=1"),
    ("?", "&;"),
    ("?a=", "="),
    ("?a=", "%2E"),
    ("", "../"),
    ("", "%2e%2E/a/"),
    ("", "//"),
    ("", ";a"),
    ("", "(a"),
];

/// Bytes of such lines. Reason: the shorter ones are long enough that their beginnings do not
/// matter, the longer ones as long as a URL may be that is looked at.
const HOSTILE_BYTES: [usize; 2] = [4 << 10, 60 << 10];

/// All in one list are as many.
const HOSTILE_LIST_BYTES: usize = 960 << 10;

fn hostile(c: &mut Criterion) {
    for name in ["crawl", "aggressive"] {
        let profile = Profile::named(name).expect("the profile is built in");
        let slow = Canonicalizer::reference_only(profile.clone());
        let fast = Canonicalizer::new(profile);
        for ((start, repeated), bytes) in
            HOSTILE.into_iter().flat_map(|shape| HOSTILE_BYTES.map(|bytes| (shape, bytes)))
        {
            let line =
                format!("http://a.test/{start}{}\n", repeated.repeat(bytes / repeated.len()));
            let corpus = Corpus {
                name: "hostile",
                bytes: line.repeat(HOSTILE_LIST_BYTES / line.len()).into_bytes(),
            };
            let lines: Vec<&[u8]> = corpus.lines().collect();
            let mut scratch = Scratch::default();
            // Not all of these lines are changed.
            let (expected, _) = compared(&fast, &slow, &corpus.bytes, &lines);
            assert_eq!(expected.rejected, 0, "a line that is not looked at");
            let mut group = c.benchmark_group("hostile");
            group.throughput(corpus.throughput());
            group.sampling_mode(SamplingMode::Flat).sample_size(10);
            group.warm_up_time(HOSTILE_TIME).measurement_time(HOSTILE_TIME);
            group.bench_function(format!("{name}/{start}{repeated}/{bytes}"), |b| {
                b.iter(|| {
                    assert_eq!(
                        answer(&fast, &corpus.bytes, black_box(&lines), &mut scratch),
                        expected
                    )
                });
            });
            group.finish();
        }
    }
}

/// Time for each of them: there are many, and all that is asked is whether one takes
/// many times as long.
const HOSTILE_TIME: Duration = Duration::from_millis(300);

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lanes(&mut criterion);
    rules_of_sites(&mut criterion);
    hostile(&mut criterion);
    criterion.final_summary();
}
