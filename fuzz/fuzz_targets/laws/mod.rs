//! The laws of canonical forms: both lanes agree, also in the middle of a text; a canonical form is
//! its own; and the ways of a URL to its form are one.
//!
//! Used by the fuzz targets and by `tests/it/lanes.rs`.

use undust::bytes::show;
use undust::canonical::{Canonicalizer, Profile, Reached, Scratch, Step, Trace};

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
        let (text, places) = between_others(line);
        let mut lines = self.fast.lines_of(&text, &mut other);
        for place in places {
            let part = lines.canonical(&text[place]);
            assert!(
                part == fast,
                "{}: otherwise in a text\n  line {}\n  alone {} {:?}\n  in it {} {:?}",
                self.name,
                show(line),
                show(fast.form),
                fast,
                show(part.form),
                part
            );
        }
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
                let is_untouched = trace.steps.is_empty() && trace.parsed == form;
                assert!(form != line || is_untouched, "{}: {}", self.name, show(line));
                self.check_way(line, &trace);
            }
        }
    }

    /// Who knows the canonical form, and stops there, is told of the same way as who does not.
    fn check_way(&self, line: &[u8], trace: &Trace) {
        let (mut parsed, mut steps, mut levels) = (Vec::new(), Vec::new(), Vec::new());
        let mut scratch = Scratch::default();
        let canonical = self.fast.canonical(line, &mut scratch);
        let followed = self.fast.follow(line, &canonical, |reached, form| match reached {
            Reached::Level(0) => parsed = form.to_vec(),
            Reached::Level(level) => levels.push((level, form.to_vec())),
            Reached::Step(rule) => steps.push(Step { rule, after: form.to_vec() }),
        });
        assert_eq!(followed, Ok(()));
        let way = Trace { parsed, steps, levels, scheme_added: trace.scheme_added };
        assert_eq!(way, *trace, "{}: {}", self.name, show(line));
    }
}

/// A text with `line` in it, twice, among bytes that would mean something to it; and where.
fn between_others(line: &[u8]) -> (Vec<u8>, [std::ops::Range<usize>; 2]) {
    const BEFORE: &[u8] =
        b"http://a.test/?b=%41#\nhttp://xn--a.B-c.test/.././x;a=1//?c=2&a=1&utm_source=x%/";
    const AFTER: &[u8] = b"20/../%41.A-b--c;sid=1?z=%2f&a==b&&#!x\xff:80//@\n";
    let first = line.len() % BEFORE.len();
    let second = first + line.len() + AFTER.len();
    let text = [&BEFORE[BEFORE.len() - first..], line, AFTER, line, AFTER].concat();
    (text, [first, second].map(|start| start..start + line.len()))
}
