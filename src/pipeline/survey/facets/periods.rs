//! Rows over time: hours, or longer periods if there would be too many rows.

use std::collections::BTreeMap;

use crate::record::fields::time;
use crate::report::{Breakdown, BreakdownRow, Counts, Facet};

/// Most hours between the first and the last for rows of single hours.
const HOURS_MAX: i64 = 72;

/// Most rows of one kind of period. Reason: more than this are not readable.
const PERIODS_MAX: usize = 120;

/// What the names of the periods of each kind look like; an `x` stands for any digit.
const HOUR: &str = "2026-11-21T09";
const DAY: &str = "2026-11-21";
const MONTH: &str = "2026-11";
const YEAR: &str = "2026";
const CENTURY: &str = "20xx";

/// Returns the name of the hour with this number, counted from 1970.
pub(super) fn name_of(hour: i64) -> [u8; 8] {
    hour.to_be_bytes()
}

/// Returns the number of the hour that has this name.
fn hour_of(name: &[u8]) -> i64 {
    name.try_into().map_or(0, i64::from_be_bytes)
}

/// The counts of hours, summed up by the kinds of periods that may become rows.
#[derive(Debug)]
pub(super) struct Periods {
    /// The first hour and the last one.
    span: Option<(i64, i64)>,
    hours: Rows,
    days: Rows,
    months: Rows,
    years: Rows,
    centuries: Rows,
}

/// The counts of the periods of one kind; `None` once there are too many for rows.
type Rows = Option<BTreeMap<Vec<u8>, Counts>>;

impl Default for Periods {
    fn default() -> Self {
        let none = || Some(BTreeMap::new());
        Periods {
            span: None,
            hours: none(),
            days: none(),
            months: none(),
            years: none(),
            centuries: none(),
        }
    }
}

impl Periods {
    /// Adds the counts of the hour that has this `name`.
    pub(crate) fn add(&mut self, name: &[u8], counts: &Counts) {
        let hour = hour_of(name);
        let (first, last) = self.span.unwrap_or((hour, hour));
        let (first, last) = (first.min(hour), last.max(hour));
        self.span = Some((first, last));
        if last.saturating_sub(first) >= HOURS_MAX {
            self.hours = None;
        }
        let shown = time::show(hour.saturating_mul(3600));
        let add = |rows: &mut Rows, like: &str, rows_max: usize| {
            let Some(sums) = rows else { return };
            let name = like.bytes().zip(shown.bytes()).map(|(like, shown)| match like {
                b'x' => b'x',
                _ => shown,
            });
            sums.entry(name.collect()).or_default().add(counts);
            if sums.len() > rows_max {
                *rows = None;
            }
        };
        add(&mut self.hours, HOUR, usize::MAX);
        add(&mut self.days, DAY, PERIODS_MAX);
        add(&mut self.months, MONTH, PERIODS_MAX);
        add(&mut self.years, YEAR, PERIODS_MAX);
        // No bound: there are a hundred centuries at most.
        add(&mut self.centuries, CENTURY, usize::MAX);
    }

    /// Returns rows of hours, in order, if these are close together; else of days, months or years,
    /// if there are few; else of centuries.
    pub(super) fn breakdown(self) -> Breakdown {
        let Periods { hours, days, months, years, centuries, .. } = self;
        let sums = hours.or(days).or(months).or(years).or(centuries).unwrap_or_default();
        let names = sums.len() as u64;
        let rows = sums.into_iter().map(|(name, counts)| BreakdownRow { name, counts });
        Breakdown { facet: Facet::Time, names, rows: rows.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of records at these hours, one each.
    fn rows(hours: &[i64]) -> Vec<(String, u64)> {
        let mut periods = Periods::default();
        let counts = Counts { records: 1, ..Counts::default() };
        hours.iter().for_each(|hour| periods.add(&name_of(*hour), &counts));
        let breakdown = periods.breakdown();
        assert_eq!(breakdown.names, breakdown.rows.len() as u64);
        let shown = |row: &BreakdownRow| String::from_utf8_lossy(&row.name).into_owned();
        breakdown.rows.iter().map(|row| (shown(row), row.counts.records)).collect()
    }

    #[test]
    fn rows_are_as_fine_as_can_be_read() {
        let row = |name: &str, records| (name.to_string(), records);
        assert_eq!(rows(&[]), []);
        assert_eq!(rows(&[1, 0]), [row("1970-01-01T00", 1), row("1970-01-01T01", 1)]);
        assert_eq!(rows(&[9, 9 + 71]), [row("1970-01-01T09", 1), row("1970-01-04T08", 1)]);
        assert_eq!(rows(&[1, 0, 72]), [row("1970-01-01", 2), row("1970-01-04", 1)]);
        assert_eq!(
            rows(&[-1, 9, 71]),
            [row("1969-12-31", 1), row("1970-01-01", 1), row("1970-01-03", 1)]
        );
        // A wrong time, and a few distant ones, do not make periods coarser.
        assert_eq!(rows(&[0, 500_000]), [row("1970-01-01", 1), row("2027-01-15", 1)]);
        let days = |count: i64| (0..count).map(|day| 24 * day).collect::<Vec<_>>();
        assert_eq!(rows(&days(120)).len(), 120);
        let months = rows(&days(121));
        assert_eq!((months.len(), &months[4]), (5, &row("1970-05", 1)));
        assert_eq!(rows(&days(3652)).len(), 120);
        let years = rows(&days(3653));
        assert_eq!((years.len(), &years[10]), (11, &row("1980", 1)));
        assert_eq!(rows(&[i64::MIN, i64::MAX]).len(), 2);
    }

    #[test]
    fn rows_are_few_whatever_the_times() {
        let years = |count: i64| (0..count).map(|year| 8766 * year + 24).collect::<Vec<_>>();
        assert_eq!(rows(&years(120)).len(), 120);
        let centuries = rows(&years(121));
        assert_eq!(centuries, [("19xx".to_string(), 30), ("20xx".to_string(), 91)]);
        assert_eq!(rows(&years(8030)).len(), 81);
    }

    #[test]
    fn many_hours_are_a_year_together() {
        let hours: Vec<i64> = (0..200_000).collect();
        let years = rows(&hours);
        assert_eq!(years[0], ("1970".to_string(), 365 * 24));
        assert_eq!((years.len(), years.iter().map(|year| year.1).sum::<u64>()), (23, 200_000));
    }
}
