//! The settings that messages name, each in the words of whoever shows the message.
//!
//! The program sets by flags what Python sets by arguments, and a caller of the library by fields.
//! So a message holds a mark where it names a setting, and who shows it puts a word there. The
//! marks are noncharacters of Unicode (U+FDD0 to U+FDEF, for use within a program only): in what
//! comes from outside they are escaped (`bytes/show.rs`).

use std::fmt;

/// A setting that a message can name. Displayed, it is the mark that [`Error`](super::Error) gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// How much memory a job may take.
    Memory,
    /// The folder for temporary files.
    TempDir,
    /// The number of threads.
    Threads,
    /// The longest line.
    LineLimit,
    /// Are all files below a folder read?
    Recursive,
    /// The format of the input.
    Format,
    /// The format of a log, as the server has it in its configuration.
    LogFormat,
    /// The columns or places of the fields.
    Fields,
    /// The host of paths that have none.
    BaseUrl,
    /// Which URLs count.
    Include,
    /// Which URLs do not count.
    Exclude,
    /// Which answers of the server count.
    Status,
    /// The pages of another run that are left out.
    NotIn,
    /// The host names of addresses.
    Hosts,
    /// The default values of parameters.
    DefaultParams,
    /// The rules of single sites.
    Rules,
    /// What becomes of lines that have no canonical form.
    OnBad,
    /// The format of the rows that are written.
    RowFormat,
    /// How many rows a table shows.
    Top,
}

impl Setting {
    /// All settings, in the order of their marks.
    pub const ALL: [Setting; 19] = [
        Setting::Memory,
        Setting::TempDir,
        Setting::Threads,
        Setting::LineLimit,
        Setting::Recursive,
        Setting::Format,
        Setting::LogFormat,
        Setting::Fields,
        Setting::BaseUrl,
        Setting::Include,
        Setting::Exclude,
        Setting::Status,
        Setting::NotIn,
        Setting::Hosts,
        Setting::DefaultParams,
        Setting::Rules,
        Setting::OnBad,
        Setting::RowFormat,
        Setting::Top,
    ];

    /// What a caller of this library sets.
    pub fn in_library(self) -> &'static str {
        match self {
            Setting::Memory => "Memory::bytes",
            Setting::TempDir => "Memory::temp_dir",
            Setting::Threads => "Job::threads",
            Setting::LineLimit => "InputPlan::line_bytes_max",
            Setting::Recursive => "InputPlan::recursive",
            Setting::Format | Setting::LogFormat => "FormatPlan::format",
            Setting::Fields => "FieldMap",
            Setting::BaseUrl => "FormatPlan::base",
            Setting::Include | Setting::Exclude | Setting::Status => "FormatPlan::filter",
            Setting::NotIn => "Seen",
            Setting::Hosts => "Settings::hosts",
            Setting::DefaultParams => "Settings::default_params",
            Setting::Rules => "DustRules",
            Setting::OnBad => "CanonPlan::on_bad",
            Setting::RowFormat => "RowFormat",
            Setting::Top => "top",
        }
    }

    /// The mark that stands for it in messages.
    fn mark(self) -> char {
        char::from_u32(u32::from(FIRST_MARK) + self as u32).expect("there are 32 such characters")
    }

    fn of_mark(mark: char) -> Option<Setting> {
        let number = u32::from(mark).checked_sub(u32::from(FIRST_MARK))?;
        Setting::ALL.get(number as usize).copied()
    }
}

const FIRST_MARK: char = '\u{fdd0}';

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mark().encode_utf8(&mut [0; 4]))
    }
}

/// `message` with the word that `word` has for each setting in place of its mark.
pub(super) fn in_words(message: &str, word: impl Fn(Setting) -> &'static str) -> String {
    let mut text = String::with_capacity(message.len());
    for character in message.chars() {
        match Setting::of_mark(character) {
            Some(setting) => text.push_str(word(setting)),
            None => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_a_mark_of_its_own() {
        for (number, setting) in Setting::ALL.into_iter().enumerate() {
            assert_eq!(setting as usize, number);
            let mark = setting.to_string();
            assert_eq!(in_words(&mark, Setting::in_library), setting.in_library());
        }
    }

    #[test]
    fn words_are_those_of_who_shows_the_message() {
        let message = format!("raise {}, or lower {}\u{fdef}", Setting::Memory, Setting::Top);
        let told = in_words(&message, |setting| match setting {
            Setting::Memory => "-S",
            _ => "--top",
        });
        assert_eq!(told, "raise -S, or lower --top\u{fdef}");
    }
}
