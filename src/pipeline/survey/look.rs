//! What a worker makes of a chunk: the forms of its records at every level, and their facets.

use super::levels_of;
use crate::canonical::{Canonical, Profile, Reached, RuleId};
use crate::cluster::{Ladders, LaddersBuilder};
use crate::fingerprint::Fingerprint;
use crate::pipeline::Job;
use crate::pipeline::facets::Facets;
use crate::pipeline::layouts::Parcel;
use crate::pipeline::walk::{Worker, walk_with_fields};
use crate::record::{NO_HOST, without_no_host};
use crate::report::Tally;

/// Levels before the first rule: the line as it is, and parsed.
pub(super) const LEVELS_BEFORE_RULES: usize = 2;

/// What is looked for in a reading of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// All that there is to be known of a record.
    All,
    /// Its forms at every level, which wait for the end of the input; no facets.
    Forms,
    /// Facets, and the rules of its site that changed it. Its forms are known from another reading,
    /// but for the last one.
    Facets,
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

/// Reads one chunk: how many lines it has, the fingerprints of its records at every level, and
/// their facets, or what `look` says of that.
pub(super) fn look_at(
    job: &Job,
    chunk: &Parcel,
    worker: &mut Worker,
    look: Look,
) -> (u64, Surveyed) {
    let (mut ladders, mut facets) = (LaddersBuilder::default(), Facets::new(chunk.layout.name()));
    let (mut changed, mut fired) = (vec![0; levels_of(job)], Vec::new());
    let has_site_rules = job.canonicalizer.profile().rules.contains(RuleId::Dust);
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
        let rules = ladders.push(line, last, |rungs| {
            let climber = Climber { spelling, url: record.url, canonical, last };
            climber.climb(job, rungs, &mut changed)
        });
        if !rules.is_empty() {
            fired.push((number, rules));
        }
    });
    let ladders = ladders.finish();
    (tally.lines, Surveyed { tally, ladders, facets, changed, fired })
}

/// A record whose canonical form is another than its spelling.
struct Climber<'a> {
    spelling: &'a [u8],
    url: &'a [u8],
    canonical: Canonical<'a>,
    /// The fingerprint of the canonical form.
    last: Fingerprint,
}

impl Climber<'_> {
    /// The forms at every level at which there is another one. Returns the rules of its site that
    /// changed it.
    fn climb(
        &self,
        job: &Job,
        rungs: &mut Vec<(u8, Fingerprint)>,
        changed: &mut [u64],
    ) -> Vec<usize> {
        let Climber { spelling, url, canonical, last } = *self;
        let first = rungs.len();
        rungs.push((0, job.key.fingerprint(spelling)));
        let Profile { rules: profile_rules, options, .. } = job.canonicalizer.profile();
        let has_site_rules = profile_rules.contains(RuleId::Dust);
        let (mut rules, mut before) = (Vec::new(), Vec::new());
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
            rungs.push((1, job.key.fingerprint(url)));
        }
        for (level, _) in &rungs[first + 1..] {
            changed[usize::from(*level)] += 1;
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}
