//! Finds the rules that the guards of a file contradict, since no other format has guards.

use std::collections::BTreeSet;

use super::site_of;
use crate::canonical::{DustKind, DustRule, Guard};
use crate::parts::names_above;

/// The parameters that guards name, each with a site.
pub(super) struct Guarded<'a> {
    /// The parameters that guards name, each with the site of the guard.
    sites: BTreeSet<(Vec<u8>, &'a str)>,
    /// The parameters that guards name, each with the site of the guard and with all domains above
    /// it.
    above: BTreeSet<(Vec<u8>, &'a str)>,
}

impl<'a> Guarded<'a> {
    pub(super) fn new(guards: &'a [Guard]) -> Guarded<'a> {
        let (mut sites, mut above) = (BTreeSet::new(), BTreeSet::new());
        for guard in guards {
            let site = site_of(&guard.site).into_bytes();
            above.extend(names_above(&site).map(|name| (name.to_vec(), guard.param.as_str())));
            sites.insert((site, guard.param.as_str()));
        }
        Guarded { sites, above }
    }

    /// Is there a guard for a parameter that `rule` is about, on its site, above or below it?
    /// Anywhere on the site: whether their paths overlap is not examined.
    pub(super) fn has_params_of(&self, rule: &DustRule) -> bool {
        let (param, is_prefix) = match &rule.kind {
            DustKind::DropParam { param } => match param.strip_suffix('*') {
                Some(start) => (start, true),
                None => (param.as_str(), false),
            },
            DustKind::DefaultParam { param, .. } | DustKind::AliasValue { param, .. } => {
                (param.as_str(), false)
            }
            _ => return false,
        };
        let has = |guards: &BTreeSet<(Vec<u8>, &str)>, site: &[u8]| {
            let next = guards.range((site.to_vec(), param)..).next();
            next.is_some_and(|(name, guarded)| {
                name == site && (*guarded == param || is_prefix && guarded.starts_with(param))
            })
        };
        let site = site_of(&rule.site).into_bytes();
        has(&self.above, &site) || names_above(&site).any(|name| has(&self.sites, name))
    }
}
