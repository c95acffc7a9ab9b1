//! The chart of a report over time: a bar for each hour, day, month, year or century.

use std::fmt::Write as _;

use super::markup::foreign;
use crate::bytes::decimal::count_of;
use crate::record::fields::time;
use crate::report::BreakdownRow;

/// Periods from the first to the last that may have room for a bar each. Beyond, bars stand side by
/// side, whatever time there is between them. Reason: a time that is wrong may be years away.
const SLOTS_MAX: i64 = 400;

/// Writes the chart of `rows`, each of which counts records, one of them being a `record` (line or
/// request).
pub(super) fn write_chart(out: &mut String, rows: &[BreakdownRow], record: &str) {
    let [first, .., last] = rows else { return };
    let Some(highest) = rows.iter().max_by_key(|row| row.counts.records) else { return };
    let (slots, count) = slots_of(rows);
    let most = highest.counts.records.max(1);
    let _ = writeln!(
        out,
        "<figure class=\"chart\">\n<svg viewBox=\"0 0 {count} 100\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{record}s over time; the table below has the numbers\">"
    );
    for (row, slot) in rows.iter().zip(slots) {
        let counts = &row.counts;
        let [all, new] =
            [counts.records, counts.pages].map(|count| 100.0 * count as f64 / most as f64);
        let _ = writeln!(
            out,
            "<g><title>{}: {}, {}</title>\
             <rect class=\"slot\" x=\"{slot}\" width=\"1\" height=\"100\"/>\
             <rect class=\"all\" x=\"{slot}.1\" y=\"{:.2}\" width=\".8\" height=\"{all:.2}\"/>\
             <rect class=\"new\" x=\"{slot}.1\" y=\"{:.2}\" width=\".8\" height=\"{new:.2}\"/></g>",
            foreign(&row.name),
            count_of(counts.records, record),
            count_of(counts.pages, "new page"),
            100.0 - all,
            100.0 - new,
        );
    }
    let _ = writeln!(
        out,
        "</svg>\n<div class=\"axis\"><span>{}</span><span>{}</span></div>\n\
         <figcaption><span class=\"key new\">new pages</span> \
         <span class=\"key all\">other {record}s</span> \
         <span>most: {}, {}</span></figcaption>\n</figure>",
        foreign(&first.name),
        foreign(&last.name),
        count_of(highest.counts.records, record),
        foreign(&highest.name),
    );
}

/// Where the bar of each row is, and for how many there is room: as far from each other as the
/// periods are, if these are not too many.
fn slots_of(rows: &[BreakdownRow]) -> (Vec<i64>, i64) {
    let numbers: Option<Vec<i64>> = rows.iter().map(|row| period_number(&row.name)).collect();
    if let Some(numbers) = numbers
        && let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max())
        && last - first < SLOTS_MAX
    {
        return (numbers.iter().map(|number| number - first).collect(), last - first + 1);
    }
    ((0..).take(rows.len()).collect(), rows.len() as i64)
}

/// The number of the hour, day, month, year or century with this name, one more than of the one
/// before.
fn period_number(name: &[u8]) -> Option<i64> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<i64>().ok();
    match name.len() {
        13 => Some(time::parse(&[name, b":00"].concat(), b"")? / 3600),
        10 => Some(time::parse(name, b"")? / 86_400),
        7 => Some(12 * number(&name[..4])? + number(&name[5..])?),
        4 => number(name.strip_suffix(b"xx").unwrap_or(name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Counts;

    fn slots(names: &[&str]) -> (Vec<i64>, i64) {
        let row =
            |name: &&str| BreakdownRow { name: name.as_bytes().into(), counts: Counts::default() };
        let rows: Vec<BreakdownRow> = names.iter().map(row).collect();
        slots_of(&rows)
    }

    #[test]
    fn bars_are_as_far_from_each_other_as_their_times() {
        assert_eq!(
            slots(&["2026-11-21T09", "2026-11-21T23", "2026-11-22T00"]),
            (vec![0, 14, 15], 16)
        );
        assert_eq!(slots(&["2024-02-28", "2024-02-29", "2024-03-02"]), (vec![0, 1, 3], 4));
        assert_eq!(slots(&["2025-12", "2026-01", "2026-03"]), (vec![0, 1, 3], 4));
        assert_eq!(slots(&["1999", "2003"]), (vec![0, 4], 5));
        assert_eq!(slots(&["19xx", "20xx", "99xx"]), (vec![0, 1, 80], 81));
    }

    #[test]
    fn times_that_are_far_away_are_side_by_side() {
        assert_eq!(slots(&["1970-01-01", "2027-01-15"]), (vec![0, 1], 2));
        assert_eq!(slots(&["1969-12-31", "1970-01-01"]), (vec![0, 1], 2));
        assert_eq!(slots(&[]), (vec![], 0));
    }
}
