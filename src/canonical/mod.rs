//! URLs to canonical URLs: profiles, rules, and the two lanes that apply them.
//!
//! ```text
//! names, host ─> dust ─> options ─> draft ─> rules ─> profile ─┬─> reference ─> dust_spelling
//!                                                              └─> fused             └─> config
//! ```
//!
//! `reference.rs` applies the rules of `rules/` one by one to a `Draft`; `fused/` gives the same
//! answer in one pass over the bytes, or refuses. Nothing here sees a line number, a file or a
//! hash.

mod choice;
mod comparison;
mod config;
mod digest_text;
mod draft;
mod dust;
mod dust_checks;
mod dust_spelling;
mod fused;
mod host;
mod names;
mod notation;
mod options;
mod profile;
mod reference;
mod rules;
mod toml_error;
mod urlkey;

pub use choice::Choice;
pub use comparison::{Comparer, Comparison, Reason};
pub use config::{DefaultRow, KeepRow, Settings, read_hosts};
pub(crate) use dust::patterns::letters;
pub use dust::{
    Compilation, DustCondition, DustKind, DustRule, DustRules, DustStatus, Evidence, Guard,
    PathPattern, Refusal, RuleFile, RuleScope, Stratum, Trap,
};
pub use dust_checks::{
    ExampleFailure, ExampleFault, Finding, FindingKind, LintedRules, TestedRules,
};
pub(crate) use host::canonical_host;
pub use names::{DefaultParams, IndexNames, KeepParams, ParamNames, Scope, SessionNames};
pub use notation::Notation;
pub use options::{Options, Slash, TrailingDot, WebScheme, Www};
pub use profile::{PROFILE_VERSION, PROFILES, Profile};
pub use reference::{Reached, Step, Trace};
pub use rules::{Class, RuleId, RuleInfo, RuleSet, remove_dot_segments};

use crate::limits::URL_BYTES_MAX;
use crate::reject::Reject;
use fused::Fused;

/// Gives URLs their canonical form under one profile. Shared by all threads.
#[derive(Debug)]
pub struct Canonicalizer {
    profile: Profile,
    /// `None` if the fast lane cannot do what the profile asks for.
    fused: Option<Fused>,
}

/// Memory that one worker reuses for every URL.
#[derive(Debug, Default)]
pub struct Scratch {
    out: Vec<u8>,
    fused: fused::Scratch,
}

/// What became of one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canonical<'a> {
    /// The canonical form; the URL as it is where it was rejected.
    pub form: &'a [u8],
    /// Why the URL was not parsed, if it was not.
    pub reject: Option<Reject>,
    /// Was a scheme put in front?
    pub scheme_added: bool,
}

impl Canonicalizer {
    /// Makes a canonicalizer for `profile`.
    pub fn new(profile: Profile) -> Self {
        let fused = Fused::compile(&profile);
        Canonicalizer { profile, fused }
    }

    /// Makes a canonicalizer for `profile` without the fast lane, for tests and benches that
    /// compare the two lanes.
    pub fn reference_only(profile: Profile) -> Self {
        Canonicalizer { profile, fused: None }
    }

    /// Returns the profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the canonical form of `given`.
    ///
    /// - Shape: bytes, not text; no separator at the end.
    /// - Limits: a URL longer than [`URL_BYTES_MAX`] is rejected as [`Reject::UrlTooLong`].
    /// - Failure: none. A reject keeps the URL as its own form.
    #[inline]
    pub fn canonical<'a>(&self, given: &'a [u8], scratch: &'a mut Scratch) -> Canonical<'a> {
        if !self.profile.parses {
            return Canonical { form: given, reject: None, scheme_added: false };
        }
        let answer = match &self.fused {
            Some(fused) => fused.run(given, &mut scratch.fused, &mut scratch.out),
            None => fused::Answer::Refused,
        };
        self.canonical_of(answer, given, &mut scratch.out)
    }

    /// Returns the canonical form of `given`, as [`canonical`](Self::canonical) does, for callers
    /// with few URLs: it takes new memory for each.
    pub fn to_canonical(&self, given: &[u8]) -> Vec<u8> {
        self.canonical(given, &mut Scratch::default()).form.to_vec()
    }

    /// Gives the lines of `text` their canonical forms.
    pub fn lines_of<'a>(&'a self, text: &'a [u8], scratch: &'a mut Scratch) -> LinesOf<'a> {
        scratch.fused.clear_marks();
        LinesOf { canonicalizer: self, text, scratch }
    }

    /// What became of `given`, where the fast lane gave this answer.
    #[inline(always)]
    fn canonical_of<'a>(
        &self,
        answer: fused::Answer,
        given: &'a [u8],
        out: &'a mut Vec<u8>,
    ) -> Canonical<'a> {
        let form = match answer {
            fused::Answer::Same(end) => &given[..end],
            fused::Answer::Written => out,
            fused::Answer::Refused => return self.canonical_slowly(given, out),
        };
        Canonical { form, reject: None, scheme_added: false }
    }

    #[inline(never)]
    fn canonical_slowly<'a>(&self, given: &'a [u8], out: &'a mut Vec<u8>) -> Canonical<'a> {
        let answer = if given.len() > URL_BYTES_MAX {
            Err(Reject::UrlTooLong)
        } else {
            reference::canonical(given, &self.profile, out)
        };
        match answer {
            Ok(scheme_added) => Canonical { form: out, reject: None, scheme_added },
            Err(reject) => Canonical { form: given, reject: Some(reject), scheme_added: false },
        }
    }

    /// Traces how `given` gets its canonical form, rule by rule.
    pub fn trace(&self, given: &[u8]) -> Result<Trace, Reject> {
        if !self.profile.parses {
            let parsed = given.to_vec();
            return Ok(Trace { parsed, steps: vec![], levels: vec![], scheme_added: false });
        }
        if given.len() > URL_BYTES_MAX {
            return Err(Reject::UrlTooLong);
        }
        reference::trace(given, &self.profile)
    }

    /// Follows `given` to its `canonical` form, which is known, and keeps no trace: calls `on`
    /// with what it reaches on its way, in order, and how it is spelled then.
    ///
    /// - Shape: `canonical` is what [`Canonicalizer::canonical`] says of `given`.
    /// - Failure: its reject, before the first call of `on`.
    pub fn follow(
        &self,
        given: &[u8],
        canonical: &Canonical,
        mut on: impl FnMut(Reached, &[u8]),
    ) -> Result<(), Reject> {
        if let Some(reject) = canonical.reject {
            return Err(reject);
        }
        if !self.profile.parses {
            on(Reached::Level(0), given);
            return Ok(());
        }
        reference::follow(given, Some(canonical.form), &self.profile, on).map(drop)
    }

    /// Returns whether the fast lane answers for `given`. For tests and benches.
    pub fn is_fused(&self, given: &[u8], scratch: &mut Scratch) -> bool {
        self.fused.as_ref().is_some_and(|fused| {
            !matches!(
                fused.run(given, &mut scratch.fused, &mut scratch.out),
                fused::Answer::Refused
            )
        })
    }
}

/// The URLs of a text, which get their canonical forms one after the other: faster than each alone.
#[derive(Debug)]
pub struct LinesOf<'a> {
    canonicalizer: &'a Canonicalizer,
    text: &'a [u8],
    scratch: &'a mut Scratch,
}

impl LinesOf<'_> {
    /// Returns the canonical form of a URL `given` that is a part of the text, or any other one, as
    /// [`Canonicalizer::canonical`] does.
    #[inline(always)]
    pub fn canonical<'a>(&'a mut self, given: &'a [u8]) -> Canonical<'a> {
        let LinesOf { canonicalizer, text, scratch } = self;
        // Bytes at addresses of the text are the text's.
        let start = given.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        let is_part = start < text.len() && given.len() <= text.len() - start;
        match &canonicalizer.fused {
            Some(fused) if is_part => {
                let Scratch { out, fused: scratch } = &mut **scratch;
                let answer = fused.run_in(text, start, given, scratch, out);
                canonicalizer.canonical_of(answer, given, out)
            }
            _ => canonicalizer.canonical(given, scratch),
        }
    }
}
