//! HOT: once per URL that has one. The fragment of a URL: whether it goes or stays.

use super::classes::Escaping;
use super::path::canonical_escape;
use crate::canonical::profile::Profile;
use crate::canonical::rules::RuleId;
use crate::parts::is_unreserved;

/// What a profile asks for in fragments.
#[derive(Debug)]
pub(super) struct FragmentRules {
    pub(super) drop: bool,
    keep_routes: bool,
    escaping: Escaping,
}

impl FragmentRules {
    /// What `profile`, which spells characters in this way, asks for.
    pub(super) fn of(profile: &Profile, escaping: Escaping) -> FragmentRules {
        FragmentRules {
            drop: profile.rules.contains(RuleId::Fragment),
            keep_routes: profile.options.keep_routes,
            escaping,
        }
    }

    /// Does `fragment` stay, as it is? `None` to refuse: it would have to be rewritten.
    pub(super) fn keeps(&self, fragment: &[u8]) -> Option<bool> {
        let is_route = self.keep_routes && matches!(fragment.first(), Some(b'!' | b'/'));
        if self.drop && !is_route {
            // A tab or line break before the first character would hide a route.
            return fragment.first().is_none_or(|byte| *byte > b' ').then_some(false);
        }
        let keeps_escapes = self.escaping == Escaping::Kept;
        let is_plain = |(at, byte): (usize, &u8)| match byte {
            b'%' if !keeps_escapes => {
                canonical_escape(&fragment[at..]).is_some_and(|byte| !is_unreserved(byte))
            }
            b'"' | b'<' | b'>' | b'`' => false,
            byte => (0x21..0x7f).contains(byte),
        };
        fragment.iter().enumerate().all(is_plain).then_some(true)
    }
}
