//! What the URLs of a site become when a set of candidates is applied to them.
//!
//! HOT: once per URL and set of candidates. No allocation per URL once the buffers have grown.

use crate::mine::acts::candidates::{Act, Candidate};
use crate::mine::acts::paths::{self, Taken};
use crate::mine::seen::identity::{Keyed, groups_of, sort_keys};
use crate::mine::seen::maps::{Map, hash, map, mix};
use crate::mine::seen::stems::Place;
use crate::mine::seen::table::{Rows, Table, Url};

/// One candidate that changed a URL, with a hash of what it took away or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fired {
    /// Index of the candidate.
    pub(crate) candidate: u16,
    /// Never 0: 0 stands for URLs that it did not change.
    pub(crate) mark: u64,
}

/// The URLs under a set of candidates: equal keys, one page if all candidates hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forms {
    /// The URLs that were looked at with their keys; sorted by key, then by URL.
    pub(crate) keys: Vec<Keyed>,
    /// For each URL of the table, its rows of `fired`.
    pub(crate) rows: Vec<Rows>,
    /// Sorted by candidate within each URL. Some may belong to no URL.
    pub(crate) fired: Vec<Fired>,
}

/// A path after the path candidates.
#[derive(Debug)]
struct PathForm {
    /// What the key is made of: the draw, and what is distinguished under the secret.
    key: (u64, u64),
    fired: Rows,
    taken: Option<(u32, u64)>,
}

/// An origin after the candidates for hosts, schemes and ports.
#[derive(Debug)]
struct OriginForm {
    /// As that of a path.
    key: (u64, u64),
    fired: Vec<Fired>,
}

/// The candidates by what they work on.
#[derive(Debug, Default)]
struct Plan {
    paths: Vec<(usize, paths::PathAct)>,
    origins: Vec<OriginForm>,
    /// By name of parameter.
    drops: Vec<Vec<u16>>,
    /// By name of parameter: is there a candidate for one of its values?
    has_defaults: Vec<bool>,
    defaults: Map<(u32, u64), Vec<u16>>,
    /// By name of parameter: is there a candidate that replaces one of its values?
    has_values: Vec<bool>,
    values: Map<(u32, u64), (u16, u64)>,
    /// The candidates that keep some parameters only.
    keeps: Vec<u16>,
    order: Option<u16>,
}

impl Plan {
    /// The plan of those of `candidates` that are still `active`.
    fn of(table: &Table, candidates: &[Candidate], active: &[bool]) -> Plan {
        let mut plan = Plan {
            drops: vec![Vec::new(); table.names.len()],
            has_defaults: vec![false; table.names.len()],
            defaults: map(),
            has_values: vec![false; table.names.len()],
            values: map(),
            ..Plan::default()
        };
        let mut of_origins = OriginPlan { hosts: map(), scheme: None, ports: map() };
        for (at, candidate) in candidates.iter().enumerate().filter(|(at, _)| active[*at]) {
            let number = at as u16;
            match &candidate.act {
                Act::Host(from, to) => {
                    of_origins.hosts.insert(*from, (number, *to));
                }
                Act::Scheme(https) => of_origins.scheme = Some((number, *https)),
                Act::Port(port) => {
                    of_origins.ports.insert(port, number);
                }
                Act::Path(act) => plan.paths.push((at, act.clone())),
                Act::Drop(name) => plan.drops[*name as usize].push(number),
                Act::Default(name, value) => {
                    plan.has_defaults[*name as usize] = true;
                    plan.defaults.entry((*name, *value)).or_default().push(number);
                }
                Act::Order => plan.order = Some(number),
                Act::Value(name, from, to) => {
                    plan.has_values[*name as usize] = true;
                    plan.values.insert((*name, *from), (number, *to));
                }
                Act::Keep(..) => plan.keeps.push(number),
            }
        }
        plan.paths.sort_by(|(_, a), (_, b)| a.cmp(b));
        plan.origins = (0..table.origins.len()).map(|at| of_origins.apply(table, at)).collect();
        plan
    }
}

/// The candidates for origins.
struct OriginPlan<'a> {
    hosts: Map<u32, (u16, u32)>,
    scheme: Option<(u16, bool)>,
    ports: Map<&'a [u8], u16>,
}

impl OriginPlan<'_> {
    fn apply(&self, table: &Table, origin: usize) -> OriginForm {
        let origin = &table.origins[origin];
        let mut fired = Vec::new();
        let mut host = origin.host;
        if let Some((candidate, to)) = self.hosts.get(&host) {
            fired.push(Fired { candidate: *candidate, mark: u64::from(host) << 1 | 1 });
            host = *to;
        }
        let mut https = origin.https;
        if let Some((candidate, to)) = self.scheme
            && https != to
        {
            fired.push(Fired { candidate, mark: 1 });
            https = to;
        }
        let mut port: &[u8] = &origin.port;
        if let Some(candidate) = self.ports.get(origin.port.as_slice()) {
            fired.push(Fired { candidate: *candidate, mark: 1 });
            port = b"";
        }
        let bits = u64::from(host) ^ if https { 1 << 40 } else { 0 };
        let check = table.secret.join(bits, table.secret.of(port));
        OriginForm { key: (bits ^ mix(hash(port)), check), fired }
    }
}

/// Applies candidates to URLs, one URL at a time. The results for paths are kept.
#[derive(Debug)]
pub(crate) struct Shaper<'a> {
    table: &'a Table,
    handlers: &'a [u32],
    names: Map<&'a [u8], u32>,
    plan: Plan,
    by_path: Vec<Option<PathForm>>,
    path_fired: Vec<Fired>,
    path: Vec<u8>,
    kept: Vec<(u32, u64)>,
    fired: Vec<Fired>,
}

impl<'a> Shaper<'a> {
    /// Makes a shaper that applies nothing yet.
    pub(crate) fn new(table: &'a Table, handlers: &'a [u32]) -> Shaper<'a> {
        let mut names = map();
        names.extend((0..).zip(&table.names).map(|(number, name)| (name.as_slice(), number)));
        let mut by_path = Vec::new();
        by_path.resize_with(table.paths.len(), || None);
        Shaper {
            table,
            handlers,
            names,
            plan: Plan::default(),
            by_path,
            path_fired: Vec::new(),
            path: Vec::new(),
            kept: Vec::new(),
            fired: Vec::new(),
        }
    }

    /// From now on applies those of `candidates` that are `active`. Paths that one of the `changed`
    /// candidates had changed are computed again; the others are kept.
    pub(crate) fn apply(&mut self, candidates: &[Candidate], active: &[bool], changed: &[bool]) {
        self.plan = Plan::of(self.table, candidates, active);
        for slot in &mut self.by_path {
            let fired = slot.as_ref().map_or(&[][..], |form| &self.path_fired[form.fired.range()]);
            if fired.iter().any(|one| changed[one.candidate as usize]) {
                *slot = None;
            }
        }
    }

    /// A URL, which has this `number`, with its key, and what fired on it, sorted by candidate.
    /// Reaches are those of `candidates`, which have the numbers of the plan.
    pub(crate) fn shape(
        &mut self,
        url: &Url,
        number: u32,
        candidates: &[Candidate],
    ) -> (Keyed, &[Fired]) {
        let ((path_draw, path_check), path_rows, taken) = self.path_form(url.path, candidates);
        self.fired.clear();
        self.fired.extend_from_slice(&self.path_fired[path_rows.range()]);
        let origin = &self.plan.origins[url.origin as usize];
        self.fired.extend_from_slice(&origin.fired);
        let secret = &self.table.secret;
        let mut draw = mix(path_draw ^ mix(origin.key.0));
        let mut check = secret.join(path_check, origin.key.1);
        self.query(url, candidates);
        self.kept.extend(taken);
        if let Some(order) = self.plan.order
            && candidates[order as usize].reach.has(self.handlers[url.path as usize])
            && !self.kept.is_sorted_by_key(|(name, _)| *name)
        {
            let fold = |kept: &[(u32, u64)]| {
                kept.iter().fold(1, |mark, (name, _)| mix(mark ^ u64::from(*name)))
            };
            self.fired.push(Fired { candidate: order, mark: fold(&self.kept) | 1 });
            // Parameters of one name stay in their order, as under the rule.
            self.kept.sort_by_key(|(name, _)| *name);
        }
        for (name, value) in &self.kept {
            draw = mix(draw ^ mix(*value ^ u64::from(*name)));
            check = secret.join(secret.join(check, *value), u64::from(*name));
        }
        self.fired.sort_unstable();
        (Keyed { draw, check: (check >> 32) as u32, url: number }, &self.fired)
    }

    /// The key of a path, what fired on it, and the parameter that a template took out of it.
    fn path_form(
        &mut self,
        path: u32,
        candidates: &[Candidate],
    ) -> ((u64, u64), Rows, Option<(u32, u64)>) {
        let number = path as usize;
        if self.by_path[number].is_none() {
            let start = self.path_fired.len() as u32;
            self.path.clear();
            self.path.extend_from_slice(&self.table.paths[number]);
            let handler = self.handlers[number];
            let place = Place { handler, stem: self.table.stems[number] };
            let acts = self.plan.paths.iter().map(|(at, act)| (*at, act));
            let acts = acts.filter(|(at, act)| candidates[*at].reach.has(act.reached_at(place)));
            let path_fired = &mut self.path_fired;
            let taken = paths::apply(acts, &mut self.path, |at, mark| {
                path_fired.push(Fired { candidate: at as u16, mark });
            });
            let taken = taken.map(|Taken { name, value }| {
                (self.names.get(name.as_slice()).copied().unwrap_or(u32::MAX), hash(&value))
            });
            self.by_path[number] = Some(PathForm {
                key: (hash(&self.path), self.table.secret.of(&self.path)),
                fired: Rows { start, end: self.path_fired.len() as u32 },
                taken,
            });
        }
        let form = self.by_path[number].as_ref().expect("it was just made");
        (form.key, form.fired, form.taken)
    }

    /// The parameters that stay, in their order; one candidate at most takes a parameter away.
    fn query(&mut self, url: &Url, candidates: &[Candidate]) {
        self.kept.clear();
        let start = self.fired.len();
        let handler = self.handlers[url.path as usize];
        let plan = &self.plan;
        for param in self.table.params_of(url) {
            let (name, mut value) = (param.name, param.value);
            let refined = self.table.splits.refine(self.table, url, name, handler);
            let reaches = |number: &&u16| candidates[**number as usize].reach.has(refined);
            let default = |value: u64| {
                let defaults = plan.has_defaults[name as usize].then_some(&plan.defaults)?;
                let default = defaults.get(&(name, value))?.iter().find(reaches)?;
                // A parameter that also occurs with another value is kept.
                let mut params = self.table.params_of(url).iter();
                let has_other =
                    params.any(|other| other.name == name && other.value != param.value);
                (!has_other).then_some(default)
            };
            let mut taken = plan.drops[name as usize].iter().find(reaches);
            taken = taken.or_else(|| default(value));
            let mut mark = mix(value) | 1;
            if taken.is_none() && plan.has_values[name as usize] {
                let alias = plan.values.get(&(name, value));
                if let Some((candidate, to)) = alias.filter(|(number, _)| reaches(&number)) {
                    fire(&mut self.fired, start, *candidate, mark);
                    (value, mark) = (*to, mix(*to) | 1);
                    taken = default(value);
                }
            }
            if taken.is_none() && !plan.keeps.is_empty() {
                let drops = |number: &&u16| match &candidates[**number as usize].act {
                    Act::Keep(script, kept) => *script == handler && !kept.contains(&name),
                    _ => false,
                };
                taken = plan.keeps.iter().find(drops);
                mark = mix(mark ^ u64::from(name)) | 1;
            }
            match taken {
                Some(candidate) => fire(&mut self.fired, start, *candidate, mark),
                None => self.kept.push((name, value)),
            }
        }
    }
}

/// Notes that a candidate took away what `mark` stands for; from `start` on are the parameters.
fn fire(fired: &mut Vec<Fired>, start: usize, candidate: u16, mark: u64) {
    match fired[start..].iter_mut().find(|one| one.candidate == candidate) {
        Some(one) => one.mark = mix(one.mark ^ mark) | 1,
        None => fired.push(Fired { candidate, mark }),
    }
}

/// Applies `candidates` to all URLs.
pub(crate) fn forms(table: &Table, handlers: &[u32], candidates: &[Candidate]) -> Forms {
    let mut shaper = Shaper::new(table, handlers);
    let (active, changed) = (vec![true; candidates.len()], vec![false; candidates.len()]);
    shaper.apply(candidates, &active, &changed);
    let mut out = Forms {
        keys: Vec::with_capacity(table.urls.len()),
        rows: vec![Rows::default(); table.urls.len()],
        fired: Vec::with_capacity(2 * table.urls.len()),
    };
    for (number, url) in table.urls.iter().enumerate().filter(|(_, url)| !url.opaque) {
        let (key, fired) = shaper.shape(url, number as u32, candidates);
        out.keys.push(key);
        out.put(number as u32, fired);
    }
    sort_keys(&mut out.keys);
    out
}

impl Forms {
    /// Writes down what fired on a URL, instead of what fired on it before if it fits there.
    pub(crate) fn put(&mut self, url: u32, fired: &[Fired]) {
        let rows = &mut self.rows[url as usize];
        if fired.len() <= rows.len() {
            rows.end = rows.start + fired.len() as u32;
            self.fired[rows.range()].copy_from_slice(fired);
        } else {
            rows.start = self.fired.len() as u32;
            self.fired.extend_from_slice(fired);
            rows.end = self.fired.len() as u32;
        }
    }

    /// What fired on a URL.
    #[inline]
    pub(crate) fn fired_on(&self, url: u32) -> &[Fired] {
        &self.fired[self.rows[url as usize].range()]
    }

    /// The groups: URLs with one key, at least two of them.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[Keyed]> {
        groups_of(&self.keys).filter(|group| group.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::paths::PathAct;
    use crate::mine::seen::observation::Observation;

    fn table(urls: &[&'static str]) -> Table {
        let list: Vec<Observation<'static>> = urls
            .iter()
            .map(|url| Observation { url: url.as_bytes(), ..Observation::default() })
            .collect();
        Table::build(&list, &crate::mine::seen::table::tests::canonicalizer())
    }

    /// The sizes of groups of two URLs or more.
    fn groups(forms: &Forms) -> Vec<usize> {
        let groups = groups_of(&forms.keys);
        groups.map(<[_]>::len).filter(|urls| *urls > 1).collect()
    }

    #[test]
    fn parameters_of_one_name_stay_in_their_order() {
        let table = table(&[
            "http://a.test/x?b=1&a=2&a=1",
            "http://a.test/x?b=1&a=1&a=2",
            "http://a.test/x?a=1&a=2&b=1",
            "http://a.test/x?a=1&b=1&a=2",
        ]);
        let handlers = vec![0; table.paths.len()];
        let found = forms(&table, &handlers, &[Candidate::new(Act::Order)]);
        assert_eq!(groups(&found), [3]);
    }

    #[test]
    fn keys_join_what_candidates_take_away() {
        let table = table(&[
            "http://a.test/x.htm?b=1&s=9",
            "http://a.test/x.htm?s=7&b=1",
            "https://a.test/x.html?b=1",
            "http://a.test/x.html?b=2",
        ]);
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let handlers = vec![0; table.paths.len()];
        let extension = PathAct::Extension(b".htm".to_vec(), b".html".to_vec());
        let mut candidates: Vec<Candidate> =
            [Act::Scheme(false), Act::Path(extension), Act::Drop(name(b"s")), Act::Order]
                .map(Candidate::new)
                .to_vec();
        let found = forms(&table, &handlers, &candidates);
        assert_eq!(groups(&found), [3]);
        let drops = found.fired.iter().filter(|fired| fired.candidate == 2).count();
        assert_eq!(drops, 2);
        candidates[2].reach = crate::mine::acts::candidates::Reach::Except([0].into());
        assert!(groups(&forms(&table, &handlers, &candidates)).is_empty());
    }
}
