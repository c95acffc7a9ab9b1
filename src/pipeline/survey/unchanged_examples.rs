//! Replaces examples that their step left unchanged by an earlier record that the step changed.

use std::sync::atomic::{AtomicBool, Ordering};

use super::look::LEVELS_BEFORE_RULES;
use crate::canonical::Canonicalizer;
use crate::fingerprint::Fingerprint;
use crate::record::{Record, without_no_host};
use crate::report::{Example, LevelRow};

/// Records that are looked at for each step before its examples are good enough.
pub(super) const LOOKS: u32 = 1000;

/// An example that does not show what its step does: a duplicate that already had the form, of an
/// earlier record that the step changed to that form. The first such record is shown instead.
#[derive(Debug)]
pub(super) struct UnchangedExample {
    level: usize,
    /// The number of its line, from 1.
    line: u64,
    /// Its form, the same before and after the step.
    form: Vec<u8>,
    /// The fingerprint of its canonical form.
    pub(super) canonical: Fingerprint,
    /// Is the search for a better example over?
    is_over: AtomicBool,
}

/// What was found in the records of its cluster, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    /// How many records there were.
    looks: u32,
    /// The last record, if the step changed it to the example; later ones are not looked at.
    found: Option<Example>,
}

impl UnchangedExample {
    /// Takes the `example` of the step at `level`, whose canonical form has this fingerprint;
    /// `None` if the step changed it.
    pub(super) fn of(
        level: usize,
        example: &Example,
        canonical: Fingerprint,
    ) -> Option<UnchangedExample> {
        let Example { line, before, after } = example;
        let is_over = AtomicBool::new(false);
        (before == after).then(|| UnchangedExample {
            level,
            line: *line,
            form: after.clone(),
            canonical,
            is_over,
        })
    }

    /// Is the example shown in `levels`?
    pub(super) fn is_among(&self, levels: &[LevelRow]) -> bool {
        levels[self.level].examples.iter().any(|one| one.line == self.line)
    }

    /// Looks at a `record` of its cluster. `line` is the number of its line in the chunk, from 1.
    pub(super) fn look(
        &self,
        canonicalizer: &Canonicalizer,
        line: u64,
        record: &Record,
        looked: &mut Looked,
    ) {
        let is_enough = looked.found.is_some() || looked.looks == LOOKS;
        if is_enough || self.is_over.load(Ordering::Relaxed) {
            return;
        }
        looked.looks += 1;
        let (before, after) = forms_around(canonicalizer, record.spelling, record.url, self.level);
        if after == self.form && before != after {
            looked.found = Some(Example { line, before, after });
        }
    }

    /// Adds what was found in a `chunk`, which begins after line `first_line`, to what was found in
    /// those before it. The result does not depend on how lines are cut into chunks.
    pub(super) fn add(&self, all: &mut Looked, first_line: u64, chunk: Looked) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        all.looks += chunk.looks;
        let found = chunk.found.filter(|_| all.looks <= LOOKS);
        let found = found.map(|one| Example { line: first_line + one.line, ..one });
        all.found = found.filter(|one| one.line < self.line);
        if all.found.is_some() || all.looks >= LOOKS || first_line >= self.line {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Replaces the example by the record that was found, after the duplicates that the step
    /// changed.
    pub(super) fn replace(&self, levels: &mut [LevelRow], looked: Looked) {
        let examples = &mut levels[self.level].examples;
        let own = examples.iter_mut().find(|one| one.line == self.line);
        if let (Some(own), Some(found)) = (own, looked.found) {
            *own = found;
        }
    }
}

/// The forms of a line before and after `level`.
pub(super) fn forms_around(
    canonicalizer: &Canonicalizer,
    line: &[u8],
    url: &[u8],
    level: usize,
) -> (Vec<u8>, Vec<u8>) {
    match (canonicalizer.trace(url), level) {
        (_, 0) => (line.to_vec(), line.to_vec()),
        (Ok(trace), 1) => (line.to_vec(), without_no_host(&trace.parsed).to_vec()),
        (Ok(trace), level) => {
            let rule = level + 1 - LEVELS_BEFORE_RULES;
            let shown = |at: usize| without_no_host(trace.at(at)).to_vec();
            (shown(rule - 1), shown(rule))
        }
        (Err(_), _) => (line.to_vec(), url.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Profile;
    use crate::record::Fields;

    /// The first record that was changed is found, however the lines are cut into chunks.
    #[test]
    fn chunks_make_no_difference() {
        let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
        let rules = canonicalizer.profile().rules.iter();
        let level = 2 + rules.map(|rule| rule.name()).position(|name| name == "fragment").unwrap();
        let (plain, changed, other) = ("http://a.test/b", "http://a.test/b#x", "http://a.test/b?");
        let many = |count: u32| [vec![other; count as usize], vec![changed, changed]].concat();
        for (lines, line, expected) in [
            (vec![plain, changed, changed], 9, Some(2)),
            (vec![plain, other, changed], 9, Some(3)),
            (vec![plain, changed], 2, None),
            (vec![], 2, None),
            (many(LOOKS - 1), 2000, Some(u64::from(LOOKS))),
            (many(LOOKS), 2000, None),
        ] {
            for chunk_lines in [1, 2, 7, 5000] {
                let form = plain.as_bytes().to_vec();
                let example = Example { line, before: form.clone(), after: form };
                let unchanged = UnchangedExample::of(level, &example, Fingerprint(1)).unwrap();
                let mut all = Looked::default();
                for (chunk, lines) in lines.chunks(chunk_lines).enumerate() {
                    let mut looked = Looked::default();
                    for (number, text) in (1..).zip(lines) {
                        let url = text.as_bytes();
                        let fields = &Fields::NONE;
                        let record = Record { line: url, spelling: url, url, fields };
                        unchanged.look(&canonicalizer, number, &record, &mut looked);
                    }
                    unchanged.add(&mut all, (chunk * chunk_lines) as u64, looked);
                }
                let found = all.found.map(|one| one.line);
                assert_eq!(found, expected, "{} by {chunk_lines}", lines.len());
            }
        }
    }
}
