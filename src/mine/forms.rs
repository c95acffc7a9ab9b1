//! What the URLs of a site become when a set of candidates is applied to them.
//!
//! HOT: once per URL and set of candidates. No allocation per URL once the buffers have grown.

use super::candidates::{Act, Candidate};
use super::paths::{self, Taken};
use super::table::{Link, Map, Rows, Table, hash, map, mix};

/// One candidate that changed a URL, with a hash of what it took away or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fired {
    /// Index of the candidate.
    pub(super) candidate: u16,
    /// Never 0: 0 stands for URLs that it did not change.
    pub(super) mark: u64,
}

/// The URLs under a set of candidates: equal keys, one page if all candidates hold.
#[derive(Debug, Default)]
pub(super) struct Forms {
    /// The links that were looked at with their keys; sorted by key, then by link.
    pub(super) keys: Vec<(u64, u32)>,
    /// For each link of the table, its rows of `fired`.
    pub(super) rows: Vec<Rows>,
    /// Sorted by candidate within each link.
    pub(super) fired: Vec<Fired>,
}

/// A path after the path candidates.
#[derive(Debug, Default)]
struct PathForm {
    key: u64,
    fired: Rows,
    taken: Option<(u32, u64)>,
}

/// The candidates by what they work on.
struct Plan<'a> {
    paths: Vec<(usize, &'a paths::PathAct)>,
    hosts: Map<u32, (u16, u32)>,
    scheme: Option<(u16, bool)>,
    ports: Map<Vec<u8>, u16>,
    drops: Map<u32, Vec<u16>>,
    defaults: Map<(u32, u64), Vec<u16>>,
    order: Option<u16>,
}

impl<'a> Plan<'a> {
    fn of(candidates: &'a [Candidate]) -> Plan<'a> {
        let mut plan = Plan {
            paths: Vec::new(),
            hosts: map(),
            scheme: None,
            ports: map(),
            drops: map(),
            defaults: map(),
            order: None,
        };
        for (at, candidate) in candidates.iter().enumerate() {
            let number = at as u16;
            match &candidate.act {
                Act::Host(from, to) => {
                    plan.hosts.insert(*from, (number, *to));
                }
                Act::Scheme(https) => plan.scheme = Some((number, *https)),
                Act::Port(port) => {
                    plan.ports.insert(port.clone(), number);
                }
                Act::Path(act) => plan.paths.push((at, act)),
                Act::Drop(name) => plan.drops.entry(*name).or_default().push(number),
                Act::Default(name, value) => {
                    plan.defaults.entry((*name, *value)).or_default().push(number);
                }
                Act::Order => plan.order = Some(number),
            }
        }
        plan.paths.sort_by_key(|(_, act)| *act);
        plan
    }
}

/// Applies `candidates` to all links.
pub(super) fn forms(table: &Table, handlers: &[u32], candidates: &[Candidate]) -> Forms {
    let plan = Plan::of(candidates);
    let mut path_fired: Vec<Fired> = Vec::new();
    let mut by_path: Vec<Option<PathForm>> = Vec::new();
    by_path.resize_with(table.paths.len(), || None);
    let names: Map<&[u8], u32> =
        (0..).zip(&table.names).map(|(number, name)| (name.as_slice(), number)).collect_map();
    let mut scratch = Vec::new();
    let mut out = Forms {
        keys: Vec::with_capacity(table.links.len()),
        rows: vec![Rows::default(); table.links.len()],
        fired: Vec::new(),
    };
    let mut kept: Vec<(u32, u64)> = Vec::new();
    for (number, link) in table.links.iter().enumerate() {
        if link.opaque {
            continue;
        }
        let slot = &mut by_path[link.path as usize];
        let path = slot.get_or_insert_with(|| {
            let start = path_fired.len() as u32;
            scratch.clear();
            scratch.extend_from_slice(&table.paths[link.path as usize]);
            let taken = paths::apply(plan.paths.iter().copied(), &mut scratch, |at, mark| {
                path_fired.push(Fired { candidate: at as u16, mark });
            });
            let taken = taken.map(|Taken { name, value }| {
                (names.get(name.as_slice()).copied().unwrap_or(u32::MAX), hash(&value))
            });
            PathForm {
                key: hash(&scratch),
                fired: Rows { start, end: path_fired.len() as u32 },
                taken,
            }
        });
        let start = out.fired.len();
        out.fired.extend_from_slice(&path_fired[path.fired.range()]);
        let origin = origin_key(table, link, &plan, &mut out.fired);
        kept.clear();
        let handler = handlers[link.path as usize];
        query(table, link, handler, candidates, &plan, &mut kept, &mut out.fired);
        kept.extend(path.taken);
        let mut key = mix(path.key ^ mix(origin));
        if let Some(order) = plan.order
            && kept.len() > 1
        {
            let fold = |kept: &[(u32, u64)]| {
                kept.iter().fold(1, |mark, (name, _)| mix(mark ^ u64::from(*name)))
            };
            let mark = fold(&kept);
            kept.sort_unstable();
            if mark != fold(&kept) {
                out.fired.push(Fired { candidate: order, mark: mark | 1 });
            }
        }
        for (name, value) in &kept {
            key = mix(key ^ mix(*value ^ u64::from(*name)));
        }
        out.fired[start..].sort_unstable();
        out.rows[number] = Rows { start: start as u32, end: out.fired.len() as u32 };
        out.keys.push((key, number as u32));
    }
    out.keys.sort_unstable();
    out
}

fn origin_key(table: &Table, link: &Link, plan: &Plan<'_>, fired: &mut Vec<Fired>) -> u64 {
    let origin = &table.origins[link.origin as usize];
    let mut host = origin.host;
    if let Some((candidate, to)) = plan.hosts.get(&host) {
        fired.push(Fired { candidate: *candidate, mark: u64::from(host) << 1 | 1 });
        host = *to;
    }
    let mut https = origin.https;
    if let Some((candidate, to)) = plan.scheme
        && https != to
    {
        fired.push(Fired { candidate, mark: 1 });
        https = to;
    }
    let mut port = hash(&origin.port);
    if let Some(candidate) = plan.ports.get(&origin.port) {
        fired.push(Fired { candidate: *candidate, mark: 1 });
        port = hash(b"");
    }
    u64::from(host) ^ mix(port) ^ if https { 1 << 40 } else { 0 }
}

/// The parameters that stay, in their order; several candidates never take one parameter at once.
fn query(
    table: &Table,
    link: &Link,
    handler: u32,
    candidates: &[Candidate],
    plan: &Plan<'_>,
    kept: &mut Vec<(u32, u64)>,
    fired: &mut Vec<Fired>,
) {
    let start = fired.len();
    for param in table.params_of(link) {
        let reaches = |number: &&u16| candidates[**number as usize].reach.has(handler);
        let dropped = plan.drops.get(&param.name).and_then(|list| list.iter().find(reaches));
        let taken = dropped.or_else(|| {
            plan.defaults.get(&(param.name, param.value)).and_then(|list| list.iter().find(reaches))
        });
        match taken {
            Some(candidate) => {
                let mark = mix(param.value) | 1;
                match fired[start..].iter_mut().find(|one| one.candidate == *candidate) {
                    Some(one) => one.mark = mix(one.mark ^ mark) | 1,
                    None => fired.push(Fired { candidate: *candidate, mark }),
                }
            }
            None => kept.push((param.name, param.value)),
        }
    }
}

/// Collects into a map with fixed keys.
trait CollectMap<K, V> {
    fn collect_map(self) -> Map<K, V>;
}

impl<K: std::hash::Hash + Eq, V, I: Iterator<Item = (K, V)>> CollectMap<K, V> for I {
    fn collect_map(self) -> Map<K, V> {
        let mut out = map();
        out.extend(self);
        out
    }
}

impl Forms {
    /// What fired on a link.
    #[inline]
    pub(super) fn fired_on(&self, link: u32) -> &[Fired] {
        &self.fired[self.rows[link as usize].range()]
    }

    /// The groups: links with one key, at least two of them.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[(u64, u32)]> {
        self.keys.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::observation::Observation;
    use crate::mine::paths::PathAct;

    fn table(urls: &[&'static str]) -> Table {
        let list: Vec<Observation<'static>> = urls
            .iter()
            .map(|url| Observation { url: url.as_bytes(), ..Observation::default() })
            .collect();
        Table::build(&list, &crate::mine::table::tests::stage0())
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
        let groups: Vec<usize> = found.groups().map(<[_]>::len).collect();
        assert_eq!(groups, [3]);
        let drops = found.fired.iter().filter(|fired| fired.candidate == 2).count();
        assert_eq!(drops, 2);
        candidates[2].reach = super::super::candidates::Reach::Except([0].into());
        assert_eq!(forms(&table, &handlers, &candidates).groups().count(), 0);
    }
}
