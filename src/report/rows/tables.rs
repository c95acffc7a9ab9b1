//! The tables that can be written, and what their columns mean.

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Bytes, mostly UTF-8.
    Text,
    /// Text that undust has the words for: always UTF-8.
    Word,
    /// A number from 0 on, without fraction.
    Number,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in headers.
    pub name: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
    /// What they mean, for people: `docs/outputs.md` has the same words.
    pub about: &'static str,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name in the first line of an output.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: ColumnKind::Text, about }
}

const fn word(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: ColumnKind::Word, about }
}

const fn number(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: ColumnKind::Number, about }
}

/// What `dedup` keeps: a row for each cluster, in input order.
pub static KEPT: Table = Table {
    name: "kept",
    columns: &[
        number(
            "line",
            "the number of the line that is kept, from 1 over all inputs; of tables, the number of the row",
        ),
        text("url", "the URL as it was read"),
        text("canonical", "the canonical form, or the URL itself where it does not parse"),
        number("count", "how many lines the cluster has"),
    ],
};

/// What `canon` writes: a row for each record, in input order.
pub static CANONICAL: Table = Table {
    name: "canonical",
    columns: &[
        number(
            "line",
            "the number of the line, from 1 over all inputs; of tables, the number of the row",
        ),
        text("url", "the URL as it was read"),
        text(
            "canonical",
            "the canonical form; where the URL does not parse, the URL itself, or nothing if such lines are emptied",
        ),
        text(
            "surt",
            "the canonical form as a key for sorting, `com,example)/path`; unknown where the URL does not parse",
        ),
        word("unparsed", "why the URL does not parse, if it does not: a kind of reject"),
    ],
};

/// What `dedup --clusters` writes: a row for each spelling, cluster after cluster.
pub static CLUSTERS: Table = Table {
    name: "clusters",
    columns: &[
        number("cluster", "the number of the cluster, from 1"),
        number("count", "how many lines have this spelling"),
        text("url", "the spelling"),
        text("representative", "the spelling that stands for the cluster; its row comes first"),
        text("canonical", "the canonical form of the cluster"),
    ],
};

/// What `dedup --dropped` writes: a row for each line that is not kept, in input order.
pub static DROPPED: Table = Table {
    name: "dropped",
    columns: &[
        number("line", "the number of the dropped line, as above"),
        number("kept_line", "the number of the line that is kept instead"),
        word(
            "rules",
            "why the two are equal: names of rules, with `parse` before them for what is read away before the first one (blanks \
             around it, a scheme that was missing, backslashes), and `dust:3` for the third rule of the rule files; or \
             `identical`",
        ),
        text("dropped", "the dropped line"),
        text("kept", "the kept line"),
    ],
};

/// What `report` writes: a row for each total, kind, rule, cluster, host and so on.
pub static REPORT: Table = Table {
    name: "report",
    columns: &[
        word(
            "part",
            "`total`, `rejected`, `unparsed`, `rule`, `site-rule`, `cluster`, `host`, `section`, `parameter`, \
             `status`, `time` or `agent`",
        ),
        text("name", "of the total, the kind, the rule; the canonical form; the host and so on"),
        number(
            "count",
            "records; from `rule` on those that are duplicates, for `cluster` its lines",
        ),
        number("of", "the records of which `count` is a part"),
        number(
            "changed",
            "for `rule` and `site-rule`: the records that it changed, duplicates or not",
        ),
        number("urls", "from `host` on: records whose URL was not seen before, byte for byte"),
        number("unique", "from `host` on: records whose page was not seen before"),
        number("respelled", "from `host` on: records that spell their page another way"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_documented() {
        let page = include_str!("../../../docs/outputs.md");
        for table in [&CANONICAL, &KEPT, &CLUSTERS, &DROPPED, &REPORT] {
            assert!(page.contains(&format!("## Table `{}`", table.name)), "{}", table.name);
            for column in table.columns {
                let kind = if column.kind == ColumnKind::Number { "number" } else { "text" };
                let row = format!("| `{}` | {kind} | {} |", column.name, column.about);
                assert!(page.contains(&row), "docs/outputs.md lacks: {row}");
            }
        }
    }
}
