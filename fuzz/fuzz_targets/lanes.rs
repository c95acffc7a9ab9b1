//! Both lanes agree and are idempotent, for the built-in profiles and for single rules.
//!
//! ```text
//! input = rule line       rule: one byte, which of the rules alone; line: everything else
//! ```
#![no_main]

mod laws;

use std::cell::OnceCell;

use laws::Lanes;
use libfuzzer_sys::fuzz_target;
use undust::canonical::{Profile, RuleId, RuleSet};

/// The lanes of the profiles that parse, then those of each rule alone.
fn all_lanes() -> (Vec<Lanes>, Vec<Lanes>) {
    let profiles = ["whatwg", "rfc3986", "crawl", "aggressive"];
    let named = |name| Lanes::new(name, Profile::named(name).expect("the profile is built in"));
    let only = |rule: RuleId| {
        let rules: RuleSet = [rule].into_iter().collect();
        Lanes::new(format!("only {}", rule.name()), Profile::only(rules))
    };
    (profiles.map(named).into(), RuleId::ALL.map(only).into())
}

thread_local! {
    static LANES: OnceCell<(Vec<Lanes>, Vec<Lanes>)> = const { OnceCell::new() };
}

fuzz_target!(|data: &[u8]| {
    let Some((rule, line)) = data.split_first() else { return };
    LANES.with(|lanes| {
        let (profiles, rules) = lanes.get_or_init(all_lanes);
        profiles.iter().for_each(|lanes| lanes.check(line));
        rules[usize::from(*rule) % rules.len()].check(line);
    });
});
