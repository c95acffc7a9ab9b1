//! What a worker makes of a chunk: the forms of its records at every level, and their facets.

use super::facets::Facets;
use super::levels_of;
use crate::canonical::{Canonical, Profile, Reached, RuleId};
use crate::cluster::{Ladders, LaddersBuilder};
use crate::fingerprint::{Fingerprint, FingerprintKey};
use crate::pipeline::Job;
use crate::pipeline::scan::layouts::Parcel;
use crate::pipeline::scan::walk::{Worker, walk_with_fields};
use crate::record::{NO_HOST, without_no_host};
use crate::report::Tally;

/// Levels before the first rule: the line as it was read, and parsed.
pub(super) const LEVELS_BEFORE_RULES: usize = 2;

/// What a reading of the input has to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Everything about a record.
    All,
    /// Its forms at every level, which wait for the end of the input; no facets.
    Forms,
    /// Facets, and the rules of its site that changed it. Its forms are known from another reading,
    /// except the last one.
    Facets,
}

/// What a worker keeps from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Surveyor {
    worker: Worker,
    ways: Ways,
}

/// What a worker makes of a chunk.
pub(super) struct Surveyed {
    pub(super) tally: Tally,
    pub(super) ladders: Ladders,
    pub(super) facets: Facets,
    /// How many records each level changed.
    pub(super) changed: Vec<u64>,
    /// Records that rules of sites changed, and by which of them.
    pub(super) fired: Vec<(u32, Vec<usize>)>,
}

/// Reads one chunk: returns how many lines it has, and of its records what `look` asks for:
/// fingerprints at every level, facets.
pub(super) fn look_at(
    job: &Job,
    chunk: &Parcel,
    surveyor: &mut Surveyor,
    look: Look,
) -> (u64, Surveyed) {
    let (mut ladders, mut facets) = (LaddersBuilder::default(), Facets::new(chunk.layout.name()));
    let (mut changed, mut fired) = (vec![0; levels_of(job)], Vec::new());
    let has_site_rules = job.canonicalizer.profile().rules.contains(RuleId::Dust);
    let Surveyor { worker, ways } = surveyor;
    let tally = walk_with_fields(chunk, job, worker, |line, record, canonical| {
        let last = job.key.fingerprint(canonical.form);
        let has_no_host = record.url.starts_with(NO_HOST);
        let number = ladders.len();
        if look != Look::Forms {
            facets.add(number, &record, without_no_host(canonical.form));
        }
        let spelling = if has_no_host { record.url } else { record.spelling };
        let is_known = look == Look::Facets && !has_site_rules;
        if canonical.form == spelling || is_known {
            return ladders.push(line, last, |_| ());
        }
        let way = ways.of(&job.key, spelling, record.url, |way| {
            let climber = Climber { spelling, url: record.url, canonical, last };
            climber.climb(job, way);
        });
        ladders.push(line, last, |rungs| rungs.extend_from_slice(&way.rungs));
        for (level, _) in &way.rungs[1..] {
            changed[usize::from(*level)] += 1;
        }
        if !way.rules.is_empty() {
            fired.push((number, way.rules.clone()));
        }
    });
    let ladders = ladders.finish();
    (tally.lines, Surveyed { tally, ladders, facets, changed, fired })
}

/// Slots for ways. Reason: they take some hundred KB for each worker, at most some MB, and most
/// lines of a log, and of a sorted list, have a spelling that a line shortly before had.
const WAYS: usize = 1 << 12;

/// A cache of the ways of recent spellings: applying the rules one by one takes many times as long
/// as anything else that is done with a record.
#[derive(Debug, Default)]
struct Ways {
    /// Indexed by the fingerprint of the spelling; a new way replaces the old one.
    places: Vec<Option<Box<Way>>>,
}

/// The way of a record whose canonical form differs from its spelling.
#[derive(Debug)]
struct Way {
    /// The fingerprints of its spelling and its URL.
    spelling: Fingerprint,
    url: Fingerprint,
    /// The forms at every level that changes the form, the spelling first.
    rungs: Vec<(u8, Fingerprint)>,
    /// The rules of its site that changed it.
    rules: Vec<usize>,
}

impl Ways {
    /// Returns the way of `spelling`, which is that of `url`; `climb` completes it if it is not in
    /// the cache.
    fn of(
        &mut self,
        key: &FingerprintKey,
        spelling: &[u8],
        url: &[u8],
        climb: impl FnOnce(&mut Way),
    ) -> &Way {
        let text = spelling;
        let spelling = key.fingerprint(text);
        let url = if url == text { spelling } else { key.fingerprint(url) };
        if self.places.is_empty() {
            self.places.resize_with(WAYS, || None);
        }
        let place = &mut self.places[spelling.0 as usize % WAYS];
        match place {
            Some(way) if way.spelling == spelling && way.url == url => {}
            _ => {
                let way = Way { spelling, url, rungs: vec![(0, spelling)], rules: vec![] };
                climb(place.insert(Box::new(way)));
            }
        }
        place.as_deref().expect("it was put there")
    }
}

/// A record whose canonical form differs from its spelling.
struct Climber<'a> {
    spelling: &'a [u8],
    url: &'a [u8],
    canonical: Canonical<'a>,
    /// The fingerprint of the canonical form.
    last: Fingerprint,
}

impl Climber<'_> {
    /// Completes its `way`.
    fn climb(&self, job: &Job, way: &mut Way) {
        let Climber { spelling, url, canonical, last } = *self;
        let Way { url: url_form, rungs, rules, .. } = way;
        let Profile { rules: profile_rules, options, .. } = job.canonicalizer.profile();
        let has_site_rules = profile_rules.contains(RuleId::Dust);
        let mut before = Vec::new();
        let followed = job.canonicalizer.follow(url, &canonical, |reached, form| {
            match reached {
                Reached::Level(0) if form == spelling => {}
                Reached::Level(level) => {
                    let is_last = form == canonical.form;
                    let form = if is_last { last } else { job.key.fingerprint(form) };
                    rungs.push(((LEVELS_BEFORE_RULES - 1 + level) as u8, form));
                }
                Reached::Step(RuleId::Dust) => rules.extend(options.dust.fired(&before)),
                Reached::Step(_) => {}
            }
            if has_site_rules {
                before.clear();
                before.extend_from_slice(form);
            }
        });
        if followed.is_err() && url != spelling {
            // Not parsed: only the base URL before it can be new.
            rungs.push((1, *url_form));
        }
        rules.sort_unstable();
        rules.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_is_followed_once() {
        let key = FingerprintKey::from_bytes([1; 16]);
        let mut ways = Ways::default();
        for (number, (spelling, url, is_new)) in [
            ("/a?", "http://a.test/a?", true),
            ("/b?", "http://a.test/b?", true),
            ("/a?", "http://a.test/a?", false),
            ("/a?", "http://b.test/a?", true),
            ("http://a.test/a?", "http://a.test/a?", true),
            ("/b?", "http://a.test/b?", false),
        ]
        .into_iter()
        .enumerate()
        {
            let mut climbed = false;
            let way = ways.of(&key, spelling.as_bytes(), url.as_bytes(), |way| {
                climbed = true;
                way.rungs.push((1, key.fingerprint(url.as_bytes())));
            });
            assert_eq!(climbed, is_new, "{number}");
            let forms = [(0, spelling), (1, url)];
            assert_eq!(
                way.rungs,
                forms.map(|(level, form)| (level, key.fingerprint(form.as_bytes())))
            );
        }
    }
}
