//! The steps of patterns: one byte of a set, or any number of them.

use crate::error::{Error, Result};

/// Most steps after the literal start of a pattern. Reason: a set of them has 256 bits.
pub(crate) const STEPS_MAX: usize = 255;
/// Fewest digits of `{hex}` without a length: fewer may be a word.
const HEX_DIGITS_MIN: usize = 8;

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bytes([u64; 4]);

impl Bytes {
    pub(crate) const ANY: Bytes = Bytes([u64::MAX; 4]);

    pub(crate) fn of(holds: impl Fn(u8) -> bool) -> Bytes {
        let mut set = Bytes([0; 4]);
        for byte in (0..=255).filter(|byte| holds(*byte)) {
            set.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        set
    }

    /// `byte` alone.
    pub(crate) fn single(byte: u8) -> Bytes {
        let mut set = Bytes([0; 4]);
        set.0[usize::from(byte >> 6)] = 1 << (byte & 63);
        set
    }

    pub(crate) fn has(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// The only byte in it.
    pub(crate) fn only(self) -> Option<u8> {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        let word = self.0.iter().position(|word| *word != 0)?;
        (count == 1).then(|| (word * 64) as u8 + self.0[word].trailing_zeros() as u8)
    }

    /// Is there a byte in both?
    pub(crate) fn meets(self, other: Bytes) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// All but `/`.
    pub(crate) fn in_segment() -> Bytes {
        Bytes::of(|byte| byte != b'/')
    }
}

/// One step of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// One byte of the set.
    One(Bytes),
    /// Any number of them.
    Many(Bytes),
}

impl Step {
    pub(crate) fn byte(byte: u8) -> Step {
        Step::One(Bytes::single(byte))
    }

    /// The only byte that it can be.
    pub(crate) fn only(self) -> Option<u8> {
        match self {
            Step::One(set) => set.only(),
            Step::Many(_) => None,
        }
    }

    /// `text` as steps.
    pub(crate) fn text(text: &[u8]) -> impl Iterator<Item = Step> {
        text.iter().copied().map(Step::byte)
    }
}

/// The bytes of the class `name`.
pub(crate) fn class_bytes(name: &str) -> Option<Bytes> {
    Some(match name {
        "num" => Bytes::of(|byte| byte.is_ascii_digit()),
        "hex" => Bytes::of(|byte| byte.is_ascii_hexdigit()),
        "base64" => Bytes::of(|byte| byte.is_ascii_alphanumeric() || b"+-_=".contains(&byte)),
        "slug" => Bytes::of(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)),
        "*" => Bytes::in_segment(),
        _ => return None,
    })
}

/// Pushes the steps of the class that `text` names, with its length if one is given.
pub(crate) fn push_class(text: &str, steps: &mut Vec<Step>) -> Result<()> {
    let digits = |count, steps: &mut Vec<Step>| {
        let one = Step::One(Bytes::of(|byte| byte.is_ascii_digit()));
        steps.extend(std::iter::repeat_n(one, count));
    };
    let (name, length) = match text.split_once(':') {
        None => (text, None),
        Some((name, length)) => match length.parse::<usize>() {
            Ok(length @ 1..=STEPS_MAX) => (name, Some(length)),
            _ => {
                return Err(Error::config(format!(
                    "{{{text}}}: expected a length from 1 to {STEPS_MAX}"
                )));
            }
        },
    };
    match (name, length) {
        ("date", None) => {
            digits(4, steps);
            for _ in 0..2 {
                steps.push(Step::byte(b'-'));
                digits(2, steps);
            }
        }
        ("uuid", None) => {
            let hex = Step::One(Bytes::of(|byte| byte.is_ascii_hexdigit()));
            for (group, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
                if group > 0 {
                    steps.push(Step::byte(b'-'));
                }
                steps.extend(std::iter::repeat_n(hex, count));
            }
        }
        _ => {
            let set = class_bytes(name).ok_or_else(|| {
                Error::config(format!(
                    "{{{text}}}: no such class; expected num, hex, base64, slug, uuid, date or *"
                ))
            })?;
            let least = if name == "hex" { HEX_DIGITS_MIN } else { 1 };
            steps.extend(std::iter::repeat_n(Step::One(set), length.unwrap_or(least)));
            if length.is_none() {
                steps.push(Step::Many(set));
            }
        }
    }
    Ok(())
}
