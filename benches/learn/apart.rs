//! What stays apart although it is one page, by the features of the sites.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Row;
use crate::scoring::Form;

/// Forms that stay apart, by the features that a form has and its page's most common form has not.
type Sets = BTreeMap<Vec<&'static str>, u64>;

/// What stays apart at stage 0, and under what was learned.
#[derive(Default)]
pub(crate) struct Apart {
    before: Sets,
    after: Sets,
}

/// The forms of a page beyond one, each by the row of it that has the fewest features.
fn sets(rows: &[Row], form: &Form<'_>) -> Sets {
    let mut pages: BTreeMap<u64, BTreeMap<Vec<u8>, Vec<&Row>>> = BTreeMap::new();
    for row in rows {
        if let Some(page) = row.page {
            pages.entry(page).or_default().entry(form(&row.url)).or_default().push(row);
        }
    }
    let mut sets = Sets::new();
    for forms in pages.values() {
        let plainest = |rows: &Vec<&Row>| {
            rows.iter().map(|row| &row.tags).min_by_key(|tags| tags.len()).cloned()
        };
        let Some(kept) = forms.keys().max_by_key(|key| forms[*key].len()) else { continue };
        let stays = plainest(&forms[kept]).unwrap_or_default();
        for (_, rows) in forms.iter().filter(|(key, _)| *key != kept) {
            let mut tags = plainest(rows).unwrap_or_default();
            tags.retain(|tag| !stays.contains(tag));
            *sets.entry(tags).or_default() += 1;
        }
    }
    sets
}

/// Forms with `feature`, and those with no other.
fn with(sets: &Sets, feature: &str) -> (u64, u64) {
    let has = sets.iter().filter(|(tags, _)| tags.contains(&feature));
    has.fold((0, 0), |(all, alone), (tags, count)| {
        (all + count, alone + if tags.len() == 1 { *count } else { 0 })
    })
}

impl Apart {
    /// What stays apart of `rows` under the form of stage 0 and under that of rules.
    pub(crate) fn of(rows: &[Row], stage0: &Form<'_>, learned: &Form<'_>) -> Apart {
        Apart { before: sets(rows, stage0), after: sets(rows, learned) }
    }

    /// Adds what stays apart of another site.
    pub(crate) fn add(&mut self, other: Apart) {
        for (sum, sets) in [(&mut self.before, other.before), (&mut self.after, other.after)] {
            for (tags, count) in sets {
                *sum.entry(tags).or_default() += count;
            }
        }
    }

    /// A table by feature, then the sets of features that most forms have.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "\n| feature | apart at stage 0 | with learned rules | by this alone |\n|---|---|---|---|\n",
        );
        let mut names: Vec<&str> =
            self.before.keys().chain(self.after.keys()).flatten().copied().collect();
        names.sort_unstable();
        names.dedup();
        names.sort_by_key(|name| std::cmp::Reverse(with(&self.after, name).0));
        let all = |sets: &Sets| sets.values().sum::<u64>();
        let _ = writeln!(text, "| all | {} | {} | |", all(&self.before), all(&self.after));
        for name in names {
            let ((before, _), (after, alone)) = (with(&self.before, name), with(&self.after, name));
            let _ = writeln!(text, "| {name} | {before} | {after} | {alone} |");
        }
        let mut most: Vec<_> = self.after.iter().collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (tags, count) in most.iter().take(40) {
            let _ = writeln!(text, "  apart {count} {}", tags.join(" "));
        }
        text
    }
}
