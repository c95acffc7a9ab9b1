//! Pages in several versions: what classes of URLs say where single URLs disagree by chance.
//!
//! HOT: once per group, on sites where it is asked for.
//!
//! A test of two designs, or a choice by place, shows a page in some versions. Who comes back with
//! the session that stands in the URL sees the version of before, so recaptures make such pages
//! look steady, while two spellings of one page, seen by two visitors, differ. One look at each of two
//! URLs then says little about a rule. Many looks say more: a page shows all of its versions, under
//! every spelling.
//!
//! All candidates are applied at once, as in `trials`. The members of a group fall into classes by
//! what one candidate takes away from them: URLs that are equal but for the other candidates. The
//! largest class is compared with others, each class by all contents that were seen in it. Two
//! classes agree if they have a content in common. A candidate that decides which page it is gives
//! each class contents of its own, however many versions these have; so a wrong rule gains nothing
//! by being compared in this way, and the bar stays where it is. Nothing is given back for versions
//! that nobody saw but what recaptures show: only groups with [`LINKS_MIN`] members count, and each
//! further look halves the chance that two classes have not met.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::binomial_tail;
use super::forms::Forms;
use super::signal::{Calibration, Comparison, Count};
use super::table::{Map, Table, map, mix};
use super::trials::{Tally, Trials};

/// Most members of a group that are looked at.
const MEMBERS_MAX: usize = 64;

/// Most members of a class that are compared. Reason: pairs are quadratic in it.
const CLASS_MAX: usize = 12;

/// Fewest links of two classes. Reason: with two versions, one look at one class and four at the
/// other miss each other once in sixteen times.
const LINKS_MIN: usize = 5;

/// Most classes that are compared with the largest: all of them must agree.
const CLASSES_MAX: usize = 2;

/// Most looks that are taken to make it likelier that classes meet.
const LOOKS_MAX: usize = 16;

/// Fewest looks at two values that say whether they are of one block.
const LOOKS_MIN: u64 = 8;

/// As in `trials`: what a large value is, and how many agreements one content may stand for.
const VALUE_LINKS_MIN: u64 = 10;
const VALUE_SHARE: u64 = 25;
const VALUE_AGREEMENTS_MIN: u64 = 2;
const AGREEMENTS_PER_CONTENT: u8 = 2;

/// Members of a group that a candidate leaves the same.
struct Class {
    mark: u64,
    links: Vec<u32>,
}

/// Puts what classes say in the place of what single URLs said; gain and what fired stay.
pub(super) fn weigh(
    table: &Table,
    handlers: &[u32],
    calibration: &Calibration,
    forms: &Forms,
    trials: &mut [Trials],
) {
    for tried in trials.iter_mut() {
        (tried.all, tried.alone, tried.blame) = (Tally::default(), Tally::default(), 0.0);
        (tried.contents, tried.unproven) = (0, 0);
        tried.by_handler.clear();
    }
    let mut used: Map<(u16, u32), u8> = map();
    let mut values: Map<(u16, u64), (u64, u64)> = map();
    for fired in &forms.fired {
        values.entry((fired.candidate, fired.mark)).or_insert((0, 0)).0 += 1;
    }
    let mut members: Vec<u32> = Vec::new();
    let mut looks = Looks::new();
    let mut alone: Vec<(u16, Verdict)> = Vec::new();
    let by = By { table, handlers, calibration };
    for group in forms.groups().filter(|group| group.len() >= LINKS_MIN) {
        members.clear();
        let seen = |link: &u32| table.links[*link as usize].captures.len() > 0;
        members.extend(group.iter().map(|(_, link)| *link).filter(seen));
        members.sort_by_key(|link| mix(u64::from(*link)));
        members.truncate(MEMBERS_MAX);
        let fired = members.iter().flat_map(|link| forms.fired_on(*link));
        let candidates: BTreeSet<u16> = fired.map(|fired| fired.candidate).collect();
        for candidate in candidates {
            let classes = classes(forms, &members, candidate);
            if let Some(verdict) = by.largest(&classes) {
                count(&mut trials[candidate as usize], candidate, &verdict, &mut used, &mut values);
            } else if let Some(verdict) = by.single(&classes, candidate, &mut looks) {
                alone.push((candidate, verdict));
            }
        }
    }
    let blocks = blocks(&looks);
    for (candidate, verdict) in alone.iter().filter(|(candidate, _)| !blocks.contains(candidate)) {
        count(&mut trials[*candidate as usize], *candidate, verdict, &mut used, &mut values);
    }
    #[expect(clippy::iter_over_hash_type, reason = "numbers are added up; their order is nothing")]
    for ((candidate, _), (links, agreements)) in &values {
        let tried = &mut trials[*candidate as usize];
        let is_large = *links >= VALUE_LINKS_MIN && links * VALUE_SHARE >= tried.fired;
        tried.unproven += u64::from(is_large && *agreements < VALUE_AGREEMENTS_MIN);
    }
}

/// What classes of one group say.
struct Verdict {
    agree: bool,
    content: u32,
    same: f64,
    high: f64,
    handler: u32,
    /// The marks of the classes that were compared.
    marks: Vec<u64>,
}

/// Looks at two URLs, by candidate and their marks, the lesser one first.
type Looks = BTreeMap<(u16, u64, u64), Count>;

/// What classes are compared by.
struct By<'a> {
    table: &'a Table,
    handlers: &'a [u32],
    calibration: &'a Calibration,
}

impl By<'_> {
    /// The largest class and up to two others; `None` if they have too few links.
    fn largest(&self, classes: &[Class]) -> Option<Verdict> {
        let (largest, others) = classes.split_first()?;
        let met = others
            .iter()
            .filter(|other| largest.links.len() + other.links.len() >= LINKS_MIN)
            .filter_map(|other| {
                let one = self.calibration.meet(self.table, &largest.links, &other.links)?;
                Some((other, one))
            })
            .take(CLASSES_MAX);
        let mut all: Option<Verdict> = None;
        for (other, one) in met {
            let (ours, theirs) = (largest.links.len(), other.links.len());
            let next = self.verdict(&one, ours, theirs, largest);
            let verdict = all.get_or_insert_with(|| Verdict {
                agree: true,
                same: 1.0,
                high: 1.0,
                ..self.verdict(&one, ours, theirs, largest)
            });
            verdict.marks.push(other.mark);
            verdict.agree &= next.agree;
            (verdict.content, verdict.same) = (next.content, verdict.same * next.same);
            verdict.high *= next.high;
        }
        all
    }

    /// Classes of one link each: one of them, as drawn, and all others together. The looks at two
    /// of them are noted.
    fn single(&self, classes: &[Class], candidate: u16, looks: &mut Looks) -> Option<Verdict> {
        if classes.len() < LINKS_MIN {
            return None;
        }
        let link = |class: &Class| &self.table.links[class.links[0] as usize];
        let (probe, others) = classes.split_last()?;
        for other in others {
            if let Some(one) = self.calibration.compare(self.table, link(probe), link(other)) {
                let (a, b) = (probe.mark.min(other.mark), probe.mark.max(other.mark));
                looks.entry((candidate, a, b)).or_default().add(one.agree);
            }
        }
        let rest: Vec<u32> = others.iter().flat_map(|class| class.links.clone()).collect();
        let one = self.calibration.meet(self.table, &probe.links, &rest)?;
        Some(self.verdict(&one, probe.links.len(), rest.len(), probe))
    }

    fn verdict(&self, one: &Comparison, ours: usize, theirs: usize, of: &Class) -> Verdict {
        let looks = (ours + theirs - 2).min(LOOKS_MAX) as i32;
        let chance = self.calibration.of_classes(one, looks, ours.min(theirs) as i32);
        let handler = self.handlers[self.table.links[of.links[0] as usize].path as usize];
        let (same, high) = chance;
        Verdict {
            agree: one.agree,
            content: one.content,
            same,
            high,
            handler,
            marks: vec![of.mark],
        }
    }
}

/// Counts a verdict, unless its content has counted often enough.
fn count(
    tried: &mut Trials,
    candidate: u16,
    verdict: &Verdict,
    used: &mut Map<(u16, u32), u8>,
    values: &mut Map<(u16, u64), (u64, u64)>,
) {
    let Verdict { agree, same, high, .. } = *verdict;
    if agree {
        let count = used.entry((candidate, verdict.content)).or_insert(0);
        if *count == AGREEMENTS_PER_CONTENT {
            return;
        }
        tried.contents += u64::from(*count == 0);
        *count += 1;
        for mark in &verdict.marks {
            if let Some(value) = values.get_mut(&(candidate, *mark)) {
                value.1 += 1;
            }
        }
    } else {
        tried.blame += 1.0;
    }
    tried.all.add(agree, same, high);
    tried.alone.add(agree, same, high);
    tried.by_handler.entry(verdict.handler).or_default().add(agree, same, high);
}

/// The candidates whose values may stand in blocks: two values that were looked at together
/// disagree more often than not, or hardly two values were looked at together often enough to say.
fn blocks(looks: &Looks) -> BTreeSet<u16> {
    let mut known: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    let mut out = BTreeSet::new();
    for ((candidate, _, _), count) in looks {
        let (often, all) = known.entry(*candidate).or_default();
        *all += count.pairs;
        if count.pairs >= LOOKS_MIN {
            *often += count.pairs;
        }
        if binomial_tail(count.agree, count.pairs, 0.5) < 0.05 {
            out.insert(*candidate);
        }
    }
    let rare = known.into_iter().filter(|(_, (often, all))| often * 10 < all * 9);
    out.extend(rare.map(|(candidate, _)| candidate));
    out
}

/// The members by what `candidate` takes away from them: the largest class first, the others as if
/// drawn.
fn classes(forms: &Forms, members: &[u32], candidate: u16) -> Vec<Class> {
    let mark = |link: u32| {
        let fired = forms.fired_on(link).iter().find(|fired| fired.candidate == candidate);
        fired.map_or(0, |fired| fired.mark)
    };
    let mut rows: Vec<(u64, u32)> = members.iter().map(|link| (mark(*link), *link)).collect();
    rows.sort_by_key(|(mark, _)| *mark);
    let mut out: Vec<Class> = rows
        .chunk_by(|a, b| a.0 == b.0)
        .map(|rows| {
            let links = rows.iter().take(CLASS_MAX).map(|(_, link)| *link).collect();
            Class { mark: rows[0].0, links }
        })
        .collect();
    let seed = u64::from(members[0]);
    out.sort_by_key(|class| mix(class.mark ^ mix(seed)));
    let largest = (0..out.len()).max_by_key(|at| (out[*at].links.len(), std::cmp::Reverse(*at)));
    if let Some(largest) = largest {
        out[..=largest].rotate_right(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::candidates::{Act, Candidate};
    use crate::mine::forms::forms;
    use crate::mine::observation::Observation;
    use crate::mine::table::tests::stage0;

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
        let list: Vec<Observation<'_>> = rows
            .iter()
            .map(|(url, digest)| Observation {
                url: url.as_bytes(),
                digest: Some(digest.as_bytes()),
                ..Observation::default()
            })
            .collect();
        let table = Table::build(&list, &stage0());
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let candidates: Vec<Candidate> = [b"cb".as_slice(), b"lang", b"sid"]
            .map(|text| Candidate::new(Act::Drop(name(text))))
            .to_vec();
        let handlers = vec![0; table.paths.len()];
        let calibration = Calibration::measure(&table, None);
        let forms = forms(&table, &handlers, &candidates);
        let mut trials = vec![Trials::default(); 3];
        weigh(&table, &handlers, &calibration, &forms, &mut trials);
        let (lang, sid) = (trials[1].all, trials[2].all);
        assert_eq!((lang.good, lang.trials), (0, 40), "languages are pages, whatever the version");
        assert_eq!((sid.good, sid.trials, trials[2].contents), (40, 40, 40));
    }

    /// What classes say of `src`, where each of 60 pages has one URL with each value.
    fn of_values(content: impl Fn(u64, usize) -> u64) -> Tally {
        let values = ["en", "en-US", "de", "de-AT", "fr", "fr-CA"];
        let mut rows: Vec<(String, String)> = Vec::new();
        for page in 0..60u64 {
            for (number, value) in values.into_iter().enumerate() {
                let url = format!("http://a.test/x?id={page}&src={value}");
                rows.push((url, format!("{page} {}", content(page, number))));
            }
        }
        let list: Vec<Observation<'_>> = rows
            .iter()
            .map(|(url, digest)| Observation {
                url: url.as_bytes(),
                digest: Some(digest.as_bytes()),
                ..Observation::default()
            })
            .collect();
        let table = Table::build(&list, &stage0());
        let src = table.names.iter().position(|name| name == b"src").unwrap() as u32;
        let candidates = [Candidate::new(Act::Drop(src))];
        let handlers = vec![0; table.paths.len()];
        let forms = forms(&table, &handlers, &candidates);
        let mut trials = vec![Trials::default()];
        weigh(&table, &handlers, &Calibration::measure(&table, None), &forms, &mut trials);
        trials[0].all
    }

    #[test]
    fn blocks_of_values_are_no_versions() {
        // A page in four has two versions, for whoever comes.
        let drawn = of_values(
            |page, number| {
                if page % 4 == 0 { mix(page * 8 + number as u64) % 2 } else { 0 }
            },
        );
        assert!(drawn.trials == 60 && drawn.good >= 58, "{drawn:?}");
        let languages = of_values(|_, number| number as u64 / 2);
        assert_eq!(languages.trials, 0, "each content is seen under two values");
        let own = of_values(|_, number| number as u64);
        assert_eq!(own.good, 0);
    }
}
