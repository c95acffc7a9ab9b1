//! Pages in several versions: what classes of URLs show if single URLs disagree by chance.
//!
//! HOT: once per group, on sites where it is asked for.
//!
//! A test of two designs, or a choice by place, shows a page in some versions. A visitor who
//! returns with the session in the URL sees the same version, so recaptures make such pages look
//! steady, while two spellings of one page, seen by two visitors, differ. One look at each of two
//! URLs then says little about a rule. Many looks say more: a page shows all of its versions, under
//! every spelling.
//!
//! All candidates are applied at once, as in `support`. The members of a group fall into classes by
//! what one candidate takes away from them: URLs that are equal but for the other candidates. The
//! largest class is compared with others, each class by all contents that were seen in it. Two
//! classes agree if they have a content in common. A candidate that decides which page it is gives
//! each class contents of its own, however many versions these have; so a wrong rule gains nothing
//! by being compared in this way, and the bar stays where it is. Agreement is not corrected for
//! unseen versions, except as recaptures show: only groups with [`URLS_MIN`] members count, and
//! each further look halves the chance that two classes have not met.

use std::collections::BTreeMap;

use super::groups::{Measure, Sample, Weight};
use crate::mine::acts::forms::Forms;
use crate::mine::seen::maps::mix;
use crate::mine::stats::binomial_tail;
use crate::mine::worth::count::Count;
use crate::mine::worth::signal::ContentComparison;

/// Most members of a group that are looked at.
const MEMBERS_MAX: usize = 64;

/// Most members of a class that are compared. Reason: pairs are quadratic in it.
const CLASS_MAX: usize = 12;

/// Fewest URLs of two classes. Reason: with two versions, one look at one class and four at the
/// other miss each other once in sixteen times.
const URLS_MIN: usize = 5;

/// Most classes that are compared with the largest: all of them must agree.
const CLASSES_MAX: usize = 2;

/// Most looks that are taken to make it likelier that classes meet.
const LOOKS_MAX: usize = 16;

/// Fewest looks at two values that say whether they are of one block.
const LOOKS_MIN: u64 = 8;

/// Members of a group that a candidate leaves the same.
struct Class {
    mark: u64,
    urls: Vec<u32>,
}

/// Compares groups by classes; its buffers are used again from group to group.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    members: Vec<u32>,
    candidates: Vec<u16>,
}

impl Classes {
    /// Adds to `out` what the classes of a group say about each candidate that makes a difference
    /// among its URLs.
    pub(crate) fn sample(&mut self, by: Measure<'_>, urls: &[u32], out: &mut Vec<Sample>) {
        let Measure { table, forms, .. } = by;
        if urls.len() < URLS_MIN {
            return;
        }
        self.members.clear();
        let seen = |url: &u32| table.urls[*url as usize].captures.len() > 0;
        self.members.extend(urls.iter().copied().filter(seen));
        self.members.sort_by_key(|url| mix(u64::from(*url)));
        self.members.truncate(MEMBERS_MAX);
        let fired = self.members.iter().flat_map(|url| forms.fired_on(*url));
        self.candidates.clear();
        self.candidates.extend(fired.map(|fired| fired.candidate));
        self.candidates.sort_unstable();
        self.candidates.dedup();
        for candidate in &self.candidates {
            let classes = classes(forms, &self.members, *candidate);
            match largest(by, *candidate, &classes) {
                Some(sample) => out.push(sample),
                None => single(by, *candidate, &classes, out),
            }
        }
    }
}

/// What the largest class and up to two others say; `None` if they have too few URLs.
fn largest(by: Measure<'_>, candidate: u16, classes: &[Class]) -> Option<Sample> {
    let (largest, others) = classes.split_first()?;
    let met = others
        .iter()
        .filter(|other| largest.urls.len() + other.urls.len() >= URLS_MIN)
        .filter_map(|other| {
            let one = by.calibration.meet(by.table, &largest.urls, &other.urls)?;
            Some((other, one))
        })
        .take(CLASSES_MAX);
    let mut all: Option<Sample> = None;
    for (other, one) in met {
        let next = sample(by, candidate, &one, &largest.urls, &other.urls);
        all = Some(match all {
            None => next,
            Some(before) => Sample {
                agree: before.agree && next.agree,
                pair: before.pair,
                third: Some(other.urls[0]),
                same: before.same * next.same,
                high: before.high * next.high,
                ..next
            },
        });
    }
    all
}

/// What classes of hardly more than one URL each say: one of them, as drawn, beside all others
/// together. The looks at two of them are returned as well.
fn single(by: Measure<'_>, candidate: u16, classes: &[Class], out: &mut Vec<Sample>) {
    if classes.len() < URLS_MIN {
        return;
    }
    let Some((probe, others)) = classes.split_last() else { return };
    let url = |class: &Class| &by.table.urls[class.urls[0] as usize];
    for other in others {
        if let Some(one) = by.calibration.compare(by.table, url(probe), url(other)) {
            let look = sample(by, candidate, &one, &probe.urls, &other.urls);
            out.push(Sample { weight: Weight::Look, ..look });
        }
    }
    let rest: Vec<u32> = others.iter().flat_map(|class| class.urls.clone()).collect();
    if let Some(one) = by.calibration.meet(by.table, &probe.urls, &rest) {
        let sample = sample(by, candidate, &one, &probe.urls, &rest);
        out.push(Sample { weight: Weight::UnlessInBlocks, ..sample });
    }
}

/// What two classes say, which agree or not, by `one`.
fn sample(
    by: Measure<'_>,
    candidate: u16,
    one: &ContentComparison,
    ours: &[u32],
    theirs: &[u32],
) -> Sample {
    let looks = (ours.len() + theirs.len() - 2).min(LOOKS_MAX) as i32;
    let fewest = ours.len().min(theirs.len()) as i32;
    let (same, high) = by.calibration.of_classes(one, looks, fewest);
    Sample {
        candidate,
        weight: Weight::Full,
        differences: 1,
        agree: one.agree,
        content: one.content,
        pair: (ours[0], theirs[0]),
        third: None,
        same,
        high,
    }
}

/// May the values of a candidate stand in blocks? `looks` are at two values each, and say whether
/// they agreed. So it is if two values that were looked at together disagree more often than not,
/// or if hardly two values were looked at together often enough to say.
pub(crate) fn in_blocks(looks: impl Iterator<Item = ((u64, u64), bool)>) -> bool {
    let mut pairs: BTreeMap<(u64, u64), Count> = BTreeMap::new();
    for ((one, other), agree) in looks {
        pairs.entry((one.min(other), one.max(other))).or_default().add(agree);
    }
    let all: u64 = pairs.values().map(|count| count.pairs).sum();
    let often: u64 =
        pairs.values().map(|count| count.pairs).filter(|pairs| *pairs >= LOOKS_MIN).sum();
    let disagrees = |count: &Count| binomial_tail(count.agree, count.pairs, 0.5) < 0.05;
    often * 10 < all * 9 || pairs.values().any(disagrees)
}

/// The members by what `candidate` takes away from them: the largest class first, the others as if
/// drawn.
fn classes(forms: &Forms, members: &[u32], candidate: u16) -> Vec<Class> {
    let mark = |url: u32| {
        let fired = forms.fired_on(url).iter().find(|fired| fired.candidate == candidate);
        fired.map_or(0, |fired| fired.mark)
    };
    let mut rows: Vec<(u64, u32)> = members.iter().map(|url| (mark(*url), *url)).collect();
    rows.sort_by_key(|(mark, _)| *mark);
    let mut out: Vec<Class> = rows
        .chunk_by(|a, b| a.0 == b.0)
        .map(|rows| {
            let urls = rows.iter().take(CLASS_MAX).map(|(_, url)| *url).collect();
            Class { mark: rows[0].0, urls }
        })
        .collect();
    let seed = u64::from(members[0]);
    out.sort_by_key(|class| mix(class.mark ^ mix(seed)));
    let largest = (0..out.len()).max_by_key(|at| (out[*at].urls.len(), std::cmp::Reverse(*at)));
    if let Some(largest) = largest {
        out[..=largest].rotate_right(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::candidates::{Act, Candidate};
    use crate::mine::seen::table::tests::table_of;
    use crate::mine::trials::Trials;
    use crate::mine::validated::validation::{Compare, Validation};
    use crate::mine::worth::signal::Calibration;

    #[test]
    fn versions_are_no_reason_and_no_excuse() {
        let mut rows: Vec<(String, String)> = Vec::new();
        for page in 0..40u64 {
            for (number, lang) in ["", "&lang=de"].into_iter().enumerate() {
                for visit in 0..8u64 {
                    // Two versions of each page, in each language.
                    let version = mix(page * 100 + visit + 50 * number as u64) % 2;
                    let sid = if visit % 2 == 0 { "&sid=a" } else { "" };
                    let url = format!("http://a.test/x?id={page}&cb={visit}x{page}{sid}{lang}");
                    rows.push((url, format!("{page} {lang} {version}")));
                }
            }
        }
        let table = table_of(&rows);
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let candidates: Vec<Candidate> = [b"cb".as_slice(), b"lang", b"sid"]
            .map(|text| Candidate::new(Act::Drop(name(text))))
            .to_vec();
        let handlers = vec![0; table.paths.len()];
        let calibration = Calibration::measure(&table);
        let mut validation =
            Validation::new(&table, &handlers, &calibration).comparing(Compare::Classes);
        let support = validation.validate(&candidates);
        let (lang, sid) = (support[1].all, support[2].all);
        assert_eq!((lang.good, lang.samples), (0, 40), "languages are pages, whatever the version");
        assert_eq!((sid.good, sid.samples, support[2].contents), (40, 40, 40));
    }

    /// What classes say of `src`, where each of 60 pages has one URL with each value.
    fn of_values(content: impl Fn(u64, usize) -> u64) -> Trials {
        let values = ["en", "en-US", "de", "de-AT", "fr", "fr-CA"];
        let mut rows: Vec<(String, String)> = Vec::new();
        for page in 0..60u64 {
            for (number, value) in values.into_iter().enumerate() {
                let url = format!("http://a.test/x?id={page}&src={value}");
                rows.push((url, format!("{page} {}", content(page, number))));
            }
        }
        let table = table_of(&rows);
        let src = table.names.iter().position(|name| name == b"src").unwrap() as u32;
        let candidates = [Candidate::new(Act::Drop(src))];
        let handlers = vec![0; table.paths.len()];
        let calibration = Calibration::measure(&table);
        let mut validation =
            Validation::new(&table, &handlers, &calibration).comparing(Compare::Classes);
        validation.validate(&candidates)[0].all
    }

    #[test]
    fn blocks_of_values_are_no_versions() {
        // A page in four has two versions, for any visitor.
        let drawn = of_values(
            |page, number| {
                if page % 4 == 0 { mix(page * 8 + number as u64) % 2 } else { 0 }
            },
        );
        assert!(drawn.samples == 60 && drawn.good >= 58, "{drawn:?}");
        let languages = of_values(|_, number| number as u64 / 2);
        assert_eq!(languages.samples, 0, "each content is seen under two values");
        let own = of_values(|_, number| number as u64);
        assert_eq!(own.good, 0);
    }
}
