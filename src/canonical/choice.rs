//! Settings that are one of a few words.

use serde::de::{Deserialize as _, Deserializer, Error as _};

use super::options::{Slash, TrailingDot, WebScheme, Www};
use crate::error::{Error, Result};

/// A setting that is one of a few words.
pub trait Choice: Copy + 'static {
    /// Its key in a file of settings, which is its name in messages, too.
    const KEY: &'static str;
    /// All its words, and what each means.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns what `word` means.
    ///
    /// Failure: a configuration error that lists all words.
    fn named(word: &str) -> Result<Self> {
        let known = Self::WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
            let (last, others) = words.split_last().expect("there is a choice");
            Error::config(format!(
                "{}: expected {} or {last}, found \"{word}\"",
                Self::KEY,
                others.join(", ")
            ))
        })
    }
}

impl Choice for Slash {
    const KEY: &'static str = "slash";
    const WORDS: &'static [(&'static str, Self)] =
        &[("keep", Self::Keep), ("add", Self::Add), ("remove", Self::Remove)];
}

impl Choice for Www {
    const KEY: &'static str = "www";
    const WORDS: &'static [(&'static str, Self)] = &[("remove", Self::Remove), ("add", Self::Add)];
}

impl Choice for WebScheme {
    const KEY: &'static str = "scheme";
    const WORDS: &'static [(&'static str, Self)] = &[("http", Self::Http), ("https", Self::Https)];
}

impl Choice for TrailingDot {
    const KEY: &'static str = "trailing-dot";
    const WORDS: &'static [(&'static str, Self)] = &[("drop", Self::Drop), ("keep", Self::Keep)];
}

/// Reads a choice where a file has it. Its mistakes name its key, since not all files have lines.
pub(super) fn choice<'de, D, C>(given: D) -> std::result::Result<Option<C>, D::Error>
where
    D: Deserializer<'de>,
    C: Choice,
{
    let word = Option::<String>::deserialize(given)?;
    word.map(|word| C::named(&word)).transpose().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(Slash::named("add").unwrap(), Slash::Add);
        assert_eq!(Www::named("remove").unwrap(), Www::Remove);
        assert_eq!(WebScheme::named("https").unwrap(), WebScheme::Https);
        assert_eq!(TrailingDot::named("keep").unwrap(), TrailingDot::Keep);
        let told = |error: Error| (error.is_config(), error.to_string());
        for (error, expected) in [
            (
                Slash::named("Keep").unwrap_err(),
                "slash: expected keep, add or remove, found \"Keep\"",
            ),
            (Www::named("").unwrap_err(), "www: expected remove or add, found \"\""),
        ] {
            assert_eq!(told(error), (true, expected.to_string()));
        }
    }
}
