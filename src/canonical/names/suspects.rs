//! HOT: once per parameter. Which parameters may go, told from afar.
//!
//! ```text
//! ?tag=x         a name that goes on some hosts only, and this is none of them    no suspect
//! ?s=news        a name that goes with values of 32 bytes or more                 no suspect
//! ?utm_source=x  a name that goes                                                 a suspect: looked up
//! ```
//!
//! A suspect is looked up in a table, where its name, its value and the host are compared: that costs as
//! much as all else for its parameter, and a bet that is lost. So names like those above, which many URLs
//! have, are told apart here.
//!
//! Price: two loads and a product for a name; a load and a product for a host. Guard:
//! `benches/canonical.rs`, group `fused`. Twin: [`Table::matches`](super::table::Table::matches); a test in
//! `names.rs` compares the two.

use super::table::{Name, OUTLINES, STARTS, Table, outline, start};

/// Which parameters may go.
#[derive(Clone, Debug)]
pub(in crate::canonical) struct Suspects {
    /// For each [`outline`] of a name, how many bytes stand behind the name at least, its `=` among them, where
    /// such a parameter may go.
    least: Box<[u8; OUTLINES]>,
    /// For each [`start`] of a name: does a prefix start so?
    starts: Box<[bool; STARTS]>,
}

/// What stands for so many that there are hardly as many: no such parameter goes.
const NEVER: u8 = u8::MAX;

impl Suspects {
    /// The entries of `table` that may hold on any host, and those that hold `on_some_hosts` if that is said.
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
                *least = (*least).min(behind.min(usize::from(NEVER) - 1) as u8);
            }
        }
        for (number, name) in table.prefixes() {
            suspects.starts[number] |= least_of(name).is_some();
        }
        suspects
    }

    /// May a parameter go, behind whose name stand so many bytes? Never says no where it does. `word` is the
    /// [`first_word`](crate::bytes::first_word) of the name, `last` its last byte.
    #[inline(always)]
    pub(in crate::canonical) fn have(
        &self,
        word: u64,
        last: u8,
        length: usize,
        behind: usize,
    ) -> bool {
        let least = self.least[outline(word, last, length)];
        (behind >= usize::from(least)) | self.starts[start(word)]
    }
}

/// The parameters of a table that may go, by host.
#[derive(Clone, Debug)]
pub(super) struct Lookout {
    /// Those that may go wherever they are.
    everywhere: Suspects,
    /// Those and others, which may go on some hosts.
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

    /// Those on `host`.
    #[inline(always)]
    pub(super) fn on(&self, host: &[u8]) -> &Suspects {
        // Bet: it is none of those that the table asks for.
        if self.hosts.may_have(host) { &self.somewhere } else { &self.everywhere }
    }
}

/// What the hosts end in that the conditions of a table ask for.
#[derive(Clone, Debug)]
struct HostEnds {
    /// A bit for the last eight bytes of each (see [`HostEnds::bit`]), or of those with a dot before.
    ends: Box<[u64; 64]>,
    /// Those that have less with it: how a host ends, and which bits of that they are.
    short: Vec<(u64, u64)>,
}

impl HostEnds {
    fn new(table: &Table) -> HostEnds {
        let mut ends = HostEnds { ends: Box::new([0; 64]), short: Vec::new() };
        let names = table.exact().chain(table.prefixes());
        let conditions = names.flat_map(|(_, name)| &name.conditions);
        for host in conditions.flat_map(|condition| condition.hosts.names()) {
            let dotted = format!(".{host}");
            match dotted.as_bytes().last_chunk() {
                Some(end) => {
                    let bit = Self::bit(Self::word(end));
                    ends.ends[bit / 64] |= 1 << (bit % 64);
                }
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
        u64::from_be_bytes(*end) | 0x2020_2020_2020_2020
    }

    /// The same in twelve bits.
    #[inline(always)]
    fn bit(word: u64) -> usize {
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
    }

    /// Could it be one of the hosts, or below one? Never says no where it is.
    #[inline(always)]
    fn may_have(&self, host: &[u8]) -> bool {
        // A host that is as short may be one of them, without a dot before.
        let Some(end) = host.last_chunk() else { return true };
        let word = Self::word(end);
        let bit = Self::bit(word);
        self.ends[bit / 64] >> (bit % 64) & 1 == 1
            || self.short.iter().any(|(end, there)| word & there == *end)
    }
}
