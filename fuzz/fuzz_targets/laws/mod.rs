//! The laws of canonical forms: both lanes agree, also in the middle of a text; a canonical form is
//! its own; and the ways of a URL to its form are one.
//!
//! Used by the fuzz targets and by `tests/it/lanes.rs`.

use undust::bytes::show;
use undust::canonical::{Canonicalizer, Profile, Scratch};

/// Longest line in bytes whose trace is compared, too. Reason: a trace keeps every step.
const TRACE_BYTES_MAX: usize = 2000;

/// Both lanes of one profile.
pub struct Lanes {
    name: String,
    fast: Canonicalizer,
    slow: Canonicalizer,
}

impl Lanes {
    /// The lanes of `profile`; `name` is for messages.
    pub fn new(name: impl Into<String>, profile: Profile) -> Lanes {
        Lanes {
            name: name.into(),
            fast: Canonicalizer::new(profile.clone()),
            slow: Canonicalizer::reference_only(profile),
        }
    }

    /// Panics if a law does not hold for `line`.
    pub fn check(&self, line: &[u8]) {
        let (mut scratch, mut other) = (Scratch::default(), Scratch::default());
        let fast = self.fast.canonical(line, &mut scratch);
        let slow = self.slow.canonical(line, &mut other);
        assert!(
            fast == slow,
            "{}: lanes differ\n  line {}\n  fast {} {:?}\n  slow {} {:?}",
            self.name,
            show(line),
            show(fast.form),
            fast,
            show(slow.form),
            slow
        );
        let (form, reject) = (fast.form.to_vec(), fast.reject);
        for lane in [&self.fast, &self.slow] {
            let mut scratch = Scratch::default();
            let again = lane.canonical(&form, &mut scratch);
            assert!(
                again.form == form && (reject.is_some() || again.reject.is_none()),
                "{}: not idempotent\n  line  {}\n  once  {} {reject:?}\n  twice {} {:?}",
                self.name,
                show(line),
                show(&form),
                show(again.form),
                again.reject
            );
        }
        if line.len() < TRACE_BYTES_MAX {
            let trace = self.slow.trace(line);
            assert_eq!(trace.as_ref().err(), reject.as_ref(), "{}: {}", self.name, show(line));
            if let Ok(trace) = trace {
                assert_eq!(trace.canonical(), form, "{}: {}", self.name, show(line));
            }
        }
    }
}
