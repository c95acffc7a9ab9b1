//! HOT: once per parameter. Which parameters may go, judged by their outlines.
//!
//! ```text
//! ?tag=x         a name that goes on some hosts only, and this is none of them  no suspect
//! ?s=news        a name that goes with values of 32 bytes                       no suspect
//! ?utm_source=x  a name that goes                                               suspect: looked up
//! ```
//!
//! A suspect is looked up in a table, where its name, its value and the host are compared: that
//! costs as much as all else for its parameter, and a bet that is lost. So names like those above,
//! which many URLs have, are sorted out here.
//!
//! Price: two loads and a product for a name; for a host a load, a product and a comparison with
//! each host of six bytes or less that is looked up. Guard: `benches/canonical.rs`, group `fused`.
//! Twin: [`Table::matches`](super::table::Table::matches); the test below compares the two.

use super::outlines::{OUTLINES, STARTS, outline, start};
use super::table::{Name, Table};
use crate::bytes::bits::{BitSet, few_bits, folded};

/// Which parameters may go.
#[derive(Clone, Debug)]
pub(crate) struct Suspects {
    /// For each [`outline`] of a name, how many bytes stand after the name at least, its `=` among
    /// them, where such a parameter may go.
    least: Box<[u8; OUTLINES]>,
    /// For each [`start`] of a name: does a prefix start so?
    starts: Box<[bool; STARTS]>,
}

/// More than there are ever said to be: no such parameter goes.
const NEVER: u8 = u8::MAX;

/// The most bytes that are counted; more count as this.
const BEHIND_MAX: u8 = NEVER - 1;

impl Suspects {
    /// The entries of `table` that may hold on any host, and those that hold
    /// `on_some_hosts` if that is said.
    fn new(table: &Table, on_some_hosts: bool) -> Suspects {
        let mut suspects =
            Suspects { least: Box::new([NEVER; OUTLINES]), starts: Box::new([false; STARTS]) };
        let least_of = |name: &Name| {
            let conditions = name.conditions.iter();
            let hold = conditions.filter(|one| on_some_hosts || one.hosts.names().is_empty());
            hold.map(|one| one.length_min()).min()
        };
        for (number, name) in table.exact() {
            if let Some(length) = least_of(name) {
                let behind = if length == 0 { 0 } else { length + 1 };
                let least = &mut suspects.least[number];
                *least = (*least).min(Self::behind(behind));
            }
        }
        for (number, name) in table.prefixes() {
            suspects.starts[number] |= least_of(name).is_some();
        }
        suspects
    }

    /// How many bytes stand after a name, as [`Suspects::have`] takes it.
    #[inline(always)]
    pub(crate) fn behind(bytes: usize) -> u8 {
        bytes.min(usize::from(BEHIND_MAX)) as u8
    }

    /// May a parameter be dropped, after whose name there are this many bytes (see
    /// [`Suspects::behind`])? Never says no where it does. `word` is the
    /// [`first_word`](crate::bytes::first_word) of the name, `last` its last byte.
    #[inline(always)]
    pub(crate) fn have(&self, word: u64, last: u8, length: usize, behind: u8) -> bool {
        (behind >= self.least[outline(word, last, length)]) | self.starts[start(word)]
    }
}

/// The parameters of a table that may go, by host.
#[derive(Clone, Debug)]
pub(super) struct Lookout {
    /// The parameters that may go wherever they are.
    everywhere: Suspects,
    /// The parameters that may go wherever they are, and those that may go on some hosts.
    somewhere: Suspects,
    hosts: HostEnds,
}

impl Lookout {
    pub(super) fn new(table: &Table) -> Lookout {
        Lookout {
            everywhere: Suspects::new(table, false),
            somewhere: Suspects::new(table, true),
            hosts: HostEnds::new(table),
        }
    }

    /// Returns the parameters that may go on `host`, and perhaps some that may go on other hosts.
    #[inline(always)]
    pub(super) fn on(&self, host: &[u8]) -> &Suspects {
        // Bet: it is none of those that the table asks for.
        if self.hosts.may_have(host) { &self.somewhere } else { &self.everywhere }
    }
}

/// What the hosts end in that the conditions of a table ask for.
#[derive(Clone, Debug)]
struct HostEnds {
    /// The last eight bytes of each in twelve bits, or of those with a dot before.
    ends: Box<BitSet<64>>,
    /// The hosts that have fewer than eight bytes with the dot: how a host ends, and which bits of
    /// that they are.
    short: Vec<(u64, u64)>,
}

impl HostEnds {
    fn new(table: &Table) -> HostEnds {
        let mut ends = HostEnds { ends: Box::default(), short: Vec::new() };
        let names = table.exact().chain(table.prefixes());
        let conditions = names.flat_map(|(_, name)| &name.conditions);
        for host in conditions.flat_map(|condition| condition.hosts.names()) {
            let dotted = format!(".{host}");
            match dotted.as_bytes().last_chunk() {
                Some(end) => ends.ends.insert(few_bits::<12>(Self::word(end))),
                None => {
                    let mut end = [0; 8];
                    end[8 - dotted.len()..].copy_from_slice(dotted.as_bytes());
                    let there = u64::MAX >> (u64::BITS as usize - 8 * dotted.len());
                    let short = (Self::word(&end) & there, there);
                    if !ends.short.contains(&short) {
                        ends.short.push(short);
                    }
                }
            }
        }
        ends
    }

    /// The end of a host, without regard to ASCII case.
    #[inline(always)]
    fn word(end: &[u8; 8]) -> u64 {
        folded(u64::from_be_bytes(*end))
    }

    /// Could it be one of the hosts, or below one? Never says no where it is.
    #[inline(always)]
    fn may_have(&self, host: &[u8]) -> bool {
        // A host that is as short may be one of them, without a dot before.
        let Some(end) = host.last_chunk() else { return true };
        let word = Self::word(end);
        self.ends.has(few_bits::<12>(word))
            || self.short.iter().any(|(end, there)| word & there == *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::first_word;
    use crate::canonical::names::{
        PARAMS, ParamFile, ParamNames, Place, SESSIONS, SessionFile, SessionNames, Unwanted,
    };

    #[test]
    fn whatever_goes_is_a_suspect() {
        let (mut params, sessions) =
            (ParamNames::clone(&ParamNames::built_in()), SessionNames::built_in());
        ["MINE", "own*", "Z*"].iter().for_each(|name| params.add(name));
        let unwanted = Unwanted::new(Some(&params), Some(&sessions));
        let is_suspect = |host: &[u8], name: &[u8], value: &[u8]| {
            let (word, last) = (first_word(name, 0, name.len()), *name.last().unwrap());
            let suspects = unwanted.suspects(host);
            let have = |bytes| suspects.have(word, last, name.len(), Suspects::behind(bytes));
            // With its `=`; an empty value may have none.
            let is_one = have(value.len() + 1);
            assert!(!value.is_empty() || is_one == have(0), "{name:?}");
            is_one
        };
        let entries = toml::from_str::<ParamFile>(PARAMS).unwrap().param.into_iter();
        let entries = entries.chain(toml::from_str::<SessionFile>(SESSIONS).unwrap().session);
        let values = ["", "7", "a1", "NT", "en_US", "AC3", "v1.2"].map(String::from).into_iter();
        let values = values.chain((2..260).flat_map(|length| {
            ["12", "a1", "1A"].map(|pair| pair.repeat(length).split_at(length).0.to_string())
        }));
        let values: Vec<String> = values.collect();
        let mut gone = 0;
        for entry in entries.filter(|entry| entry.place != Some(Place::Path)) {
            let hosts = entry.hosts.iter().flat_map(|host| [host.clone(), format!("M.{host}")]);
            let hosts: Vec<String> = hosts.chain(["a.test".into(), "b".into()]).collect();
            for name in ["x", ""].map(|end| entry.name.replace('*', end)) {
                for name in [name.to_uppercase(), name] {
                    let word = first_word(name.as_bytes(), 0, name.len());
                    for (host, value) in
                        hosts.iter().flat_map(|h| values.iter().map(move |v| (h, v)))
                    {
                        let [host, name, value] = [host, &name, value].map(String::as_bytes);
                        if unwanted.matches(word, host, name, value) {
                            gone += 1;
                            assert!(is_suspect(host, name, value), "{entry:?} {}", value.len());
                        }
                    }
                }
            }
        }
        assert!(gone > 100_000, "{gone}");
        for (host, name, value, expected) in [
            ("www.a.test", "tag", "news", false),
            ("www.amazon.com", "tag", "news", true),
            ("WWW.AMAZON.COM", "Tag", "news", true),
            ("x.com", "s", "20", true),
            ("m.x.com", "s", "20", true),
            ("fax.com.test", "s", "20", false),
            ("www.a.test", "s", "0123456789abcdef0123456789abcde", false),
            ("www.a.test", "s", "0123456789abcdef0123456789abcdef", true),
            ("www.a.test", "utm_source", "", true),
            ("www.a.test", "q", "", false),
            ("www.a.test", "q", &"x".repeat(300), false),
            ("www.a.test", "mine", "", true),
            ("www.a.test", "Owner", "x", true),
            ("www.a.test", "zoom", "x", true),
        ] {
            let found = is_suspect(host.as_bytes(), name.as_bytes(), value.as_bytes());
            assert_eq!(found, expected, "{host} {name}={value}");
        }
    }
}
