//! A plan, with what people should know of it.

use std::fmt;

use crate::bytes::decimal::count_of;

/// A plan, with what people should know of it: whoever takes the plan says the notes.
#[derive(Debug)]
#[must_use]
pub(crate) struct Noted<T> {
    pub(crate) plan: T,
    pub(crate) notes: Vec<Note>,
}

/// Something that people should know of a plan. Its `Display` is the line that they are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// So many learned rules of these files do not get along, and are left out.
    LeftOut { files: String, rules: usize },
    /// No rule of these files is in force.
    NoneInForce { files: String, are_several: bool },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::LeftOut { files, rules } => write!(
                f,
                "undust: {files}: {} {} left out; undust rules lint says why",
                count_of(*rules as u64, "learned rule"),
                if *rules == 1 { "is" } else { "are" }
            ),
            Note::NoneInForce { files, are_several } => write!(
                f,
                "undust: {files}: no rule in {} is in force, so {} nothing",
                if *are_several { "them" } else { "it" },
                if *are_several { "they change" } else { "it changes" }
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        let files = || "a.rules".to_string();
        for (note, expected) in [
            (Note::LeftOut { files: files(), rules: 1 }, "1 learned rule is left out; "),
            (Note::LeftOut { files: files(), rules: 2 }, "2 learned rules are left out; "),
            (
                Note::NoneInForce { files: files(), are_several: false },
                "no rule in it is in force, so it changes nothing",
            ),
            (
                Note::NoneInForce { files: files(), are_several: true },
                "no rule in them is in force, so they change nothing",
            ),
        ] {
            assert!(
                note.to_string().starts_with(&format!("undust: a.rules: {expected}")),
                "{note}"
            );
        }
    }
}
