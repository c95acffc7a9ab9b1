//! Handlers split for one parameter, by what another parameter says: the cells that conditions
//! name.
//!
//! ```text
//! tab, /portal.php ──┬─ action=view    cell 7    `when = ["action=view"]`
//!                    ├─ action=faq     cell 8
//!                    ├─ !action        cell 9    `when = ["!action"]`
//!                    └─ all others     cell 10   no condition says this
//! ```
//!
//! A cell is a handler like all others to all steps: it has a number beyond those of the
//! paths. What is not split has the handler of its path.

use std::collections::BTreeSet;

use super::{Table, Url};

/// What a condition requires of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    /// The parameter is not there.
    Lacks(u32),
    /// The parameter has the value with this hash.
    Has(u32, u64),
}

/// The URLs under one handler of which the same conditions are true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The handler by path.
    pub(crate) handler: u32,
    /// What is true of all URLs of the cell.
    pub(crate) when: Vec<Condition>,
    /// Is that all that separates them from other cells? Not of those that fit no condition.
    pub(crate) is_reported: bool,
    /// Was it seen to be where the parameter matters, so that nothing is proposed there?
    pub(crate) is_out: bool,
    /// Was it chosen by half of what was seen? Then only the other half may prove something.
    pub(crate) is_chosen: bool,
}

/// A split: the parameter that it is by, and the cells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Split {
    /// The parameter that is said something about, and the handler or cell that is split.
    name: u32,
    handler: u32,
    by: u32,
    /// Values with the numbers of their cells.
    values: Vec<(u64, u32)>,
    lacking: u32,
    others: u32,
}

/// The splits of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Splits {
    /// The number of the first cell: there are this many handlers by path.
    first: u32,
    cells: Vec<Cell>,
    splits: Vec<Split>,
    /// By name of parameter: is a handler split for it?
    is_split: Vec<bool>,
}

impl Splits {
    /// No splits, where there are this many handlers and names.
    pub(crate) fn none(handlers: usize, names: usize) -> Splits {
        Splits { first: handlers as u32, is_split: vec![false; names], ..Splits::default() }
    }

    /// Splits `handler`, which may be a cell, for the parameter `name`: by the `values` of the
    /// parameter `by`, each a cell, and by whether it is there. Returns the cells.
    pub(crate) fn split(
        &mut self,
        (name, handler): (u32, u32),
        by: u32,
        values: &[u64],
        is_chosen: bool,
    ) -> std::ops::Range<u32> {
        let before = self.cell(handler).cloned();
        let path = before.as_ref().map_or(handler, |cell| cell.handler);
        let is_chosen = is_chosen || before.as_ref().is_some_and(|cell| cell.is_chosen);
        let is_reported = before.as_ref().is_none_or(|cell| cell.is_reported);
        let when = before.map_or(Vec::new(), |cell| cell.when);
        let start = self.first + self.cells.len() as u32;
        let mut add = |condition: Option<Condition>| {
            self.cells.push(Cell {
                handler: path,
                when: when.iter().copied().chain(condition).collect(),
                is_reported: is_reported && condition.is_some(),
                is_out: false,
                is_chosen,
            });
            self.first + self.cells.len() as u32 - 1
        };
        let values = values.iter().map(|value| (*value, add(Some(Condition::Has(by, *value)))));
        let values: Vec<(u64, u32)> = values.collect();
        let (lacking, others) = (add(Some(Condition::Lacks(by))), add(None));
        self.splits.push(Split { name, handler, by, values, lacking, others });
        self.is_split[name as usize] = true;
        start..others + 1
    }

    /// Nothing is proposed in the cell `handler` any more.
    pub(crate) fn leave_out(&mut self, handler: u32) {
        let number = handler.checked_sub(self.first).map(|at| at as usize);
        if let Some(cell) = number.and_then(|at| self.cells.get_mut(at)) {
            cell.is_out = true;
        }
    }

    /// The cells in which nothing is proposed for the parameter `name`.
    pub(crate) fn left_out(&self, name: u32) -> BTreeSet<u32> {
        let of_name = self.splits.iter().filter(|one| one.name == name);
        let cells = of_name.flat_map(|one| {
            one.values.iter().map(|(_, cell)| *cell).chain([one.lacking, one.others])
        });
        cells.filter(|cell| self.cell(*cell).is_some_and(|cell| cell.is_out)).collect()
    }

    /// How many handlers there are, cells included.
    pub(crate) fn handlers(&self) -> u32 {
        self.first + self.cells.len() as u32
    }

    /// The cell of this number; `None` of a handler by path.
    pub(crate) fn cell(&self, handler: u32) -> Option<&Cell> {
        self.cells.get(handler.checked_sub(self.first)? as usize)
    }

    /// The handler by path.
    pub(crate) fn path_of(&self, handler: u32) -> u32 {
        self.cell(handler).map_or(handler, |cell| cell.handler)
    }

    /// The last cells for the parameter `name` under a handler by path: those that are not split
    /// themselves. Empty if the handler is not split for it.
    pub(crate) fn cells_of(&self, name: u32, path: u32) -> Vec<u32> {
        let mut open = vec![path];
        let mut cells = Vec::new();
        while let Some(handler) = open.pop() {
            match self.splits.iter().find(|one| (one.name, one.handler) == (name, handler)) {
                Some(one) => {
                    open.extend(one.values.iter().map(|(_, cell)| *cell));
                    open.extend([one.lacking, one.others]);
                }
                None if handler != path => cells.push(handler),
                None => {}
            }
        }
        cells.sort_unstable();
        cells
    }

    /// The handler of a URL as far as the parameter `name` goes; `handler` is that of its path.
    #[inline]
    pub(crate) fn refine(&self, table: &Table, url: &Url, name: u32, handler: u32) -> u32 {
        if !self.is_split.get(name as usize).is_some_and(|split| *split) {
            return handler;
        }
        let mut handler = handler;
        while let Some(one) =
            self.splits.iter().find(|one| (one.name, one.handler) == (name, handler))
        {
            let mut params = table.params_of(url).iter().filter(|param| param.name == one.by);
            // A parameter that occurs twice has no single value.
            handler = match (params.next(), params.next()) {
                (None, _) => one.lacking,
                (Some(param), None) => {
                    let cell = one.values.iter().find(|(value, _)| *value == param.value);
                    cell.map_or(one.others, |(_, cell)| *cell)
                }
                _ => one.others,
            };
        }
        handler
    }

    /// Was `content` spent on choosing the cell `handler`, so that it proves nothing about it?
    pub(crate) fn is_spent(&self, handler: u32, content: u32) -> bool {
        is_for_choice(content) && self.cell(handler).is_some_and(|cell| cell.is_chosen)
    }
}

/// Is it of the half of the contents by which conditions are chosen? The other half proves.
pub(crate) fn is_for_choice(content: u32) -> bool {
    crate::mine::seen::maps::mix(u64::from(content)) & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::table::tests::table_of;

    #[test]
    fn cells() {
        let urls = [
            "http://a.test/x?a=1&s=1",
            "http://a.test/x?a=2&s=1",
            "http://a.test/x?a=3&s=1",
            "http://a.test/x?s=1",
            "http://a.test/x?a=1&a=1&s=1",
            "http://a.test/x?a=1&b=1&s=1",
        ];
        let rows: Vec<(&str, &str)> = urls.iter().map(|url| (*url, "x")).collect();
        let table = table_of(&rows);
        let of = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let (a, b, s) = (of(b"a"), of(b"b"), of(b"s"));
        let [one, two] = [b"1", b"2"].map(|text| crate::mine::seen::maps::hash(text));
        let mut splits = Splits::none(3, table.names.len());
        assert_eq!(splits.split((s, 0), a, &[one, two], false), 3..7);
        assert_eq!(splits.split((s, 3), b, &[], true), 7..9);
        let number = |text: &str| {
            let is_it = |url: &&Url| table.bytes(url.text) == text.as_bytes();
            splits.refine(&table, table.urls.iter().find(is_it).unwrap(), s, 0)
        };
        // 3: a=1, split again; 4: a=2; 5: !a; 6: others; 7: a=1 and !b; 8: a=1 and b.
        assert_eq!(urls.map(number), [7, 4, 6, 5, 6, 8]);
        assert_eq!(splits.refine(&table, &table.urls[0], a, 0), 0, "not split for `a`");
        assert_eq!(splits.cells_of(s, 0), [4, 5, 6, 7, 8]);
        assert!(splits.cells_of(a, 0).is_empty());
        assert_eq!((splits.handlers(), splits.path_of(8), splits.path_of(2)), (9, 0, 2));
        let when = |handler| splits.cell(handler).map(|cell| (cell.when.clone(), cell.is_reported));
        let first = Condition::Has(a, one);
        assert_eq!(when(7), Some((vec![first, Condition::Lacks(b)], true)));
        assert_eq!(when(8), Some((vec![first], false)));
        assert_eq!(when(2), None);
        splits.leave_out(8);
        assert_eq!((splits.left_out(s), splits.left_out(a)), ([8].into(), [].into()));
        let spent = (0..100).filter(|content| splits.is_spent(7, *content)).count();
        assert!((30..70).contains(&spent), "{spent}");
        assert!((0..100).all(|content| !splits.is_spent(4, content)));
    }
}
