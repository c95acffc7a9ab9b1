//! Parses points in time as logs and indexes spell them, to seconds since 1970.

/// The point in time that `time` names, in seconds since 1970-01-01 UTC; `clock` is the time of day
/// where `time` is only a date, and empty otherwise.
///
/// - Shape: Apache's `10/Nov/2016:00:01:02 +0800`, in brackets or not; ISO 8601 and RFC 3339
///   (`2016-11-10T00:01:02.5Z`, with a blank for the `T`, with an offset or without); a date, with
///   or without a `clock`; 14 digits `20140126200624`, also 17 (milliseconds), 12 (no seconds) and
///   8 (no clock); seconds since 1970 with or without a fraction, and 13, 16 or 19 digits of
///   milli-, micro- or nanoseconds.
/// - Limits: years 1970 to 9999. Without an offset it is UTC. Fractions are cut off. Second 60 is
///   the one after second 59. No allocation; linear in the text, which may not be longer than 64
///   bytes.
/// - Failure: `None` for everything else, and for days and clocks that do not exist.
/// - Source: RFC 3339 5.6; Apache `mod_log_config`, `%t`; W3C Extended Log File Format.
///
/// ```
/// use undust::record::time::parse;
/// assert_eq!(parse(b"10/Nov/2016:00:01:02 +0800", b""), Some(1_478_707_262));
/// assert_eq!(parse(b"2016-11-09", b"16:01:02"), Some(1_478_707_262));
/// assert_eq!(parse(b"2015-02-29", b""), None);
/// ```
pub fn parse(time: &[u8], clock: &[u8]) -> Option<i64> {
    let time = time.trim_ascii();
    let time = time.strip_prefix(b"[").unwrap_or(time);
    let time = time.strip_suffix(b"]").unwrap_or(time);
    let clock = clock.trim_ascii();
    if time.len() > TEXT_BYTES_MAX || clock.len() > TEXT_BYTES_MAX {
        return None;
    }
    let leading_digits = time.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (date, rest) = match time.get(leading_digits) {
        None | Some(b'.' | b',') if clock.is_empty() => return digits_alone(time, leading_digits),
        None if leading_digits == 8 => compact_date(time)?,
        Some(b'/') if leading_digits <= 2 => clf_date(time)?,
        Some(b'-' | b'/') if leading_digits == 4 => iso_date(time)?,
        // 20140126T200624Z
        Some(b'T') if leading_digits == 8 => compact_date(time)?,
        _ => return None,
    };
    let days = days_since_1970(date)?;
    let rest = match (rest, clock) {
        ([], []) => return Some(days * SECONDS_PER_DAY),
        ([], clock) => clock,
        // A colon in Apache's dates, a T or a blank elsewhere.
        ([b':' | b'T' | b't' | b' ' | b'_', rest @ ..], []) => rest,
        _ => return None,
    };
    let (second, rest) = second_of_day(rest)?;
    let seconds = days * SECONDS_PER_DAY + second - offset(rest)?;
    (0..=SECONDS_MAX).contains(&seconds).then_some(seconds)
}

/// Longest text in bytes that is parsed. Reason: the longest spelling has less than 40.
const TEXT_BYTES_MAX: usize = 64;

const SECONDS_PER_DAY: i64 = 86_400;

/// The last second of the year 9999.
const SECONDS_MAX: i64 = 253_402_300_799;

const MONTHS: [[u8; 3]; 12] = [
    *b"jan", *b"feb", *b"mar", *b"apr", *b"may", *b"jun", *b"jul", *b"aug", *b"sep", *b"oct",
    *b"nov", *b"dec",
];

/// Year, month from 1, day from 1.
type Date = (i64, i64, i64);

/// `seconds` as RFC 3339 in UTC, such as `2026-11-21T09:30:00Z`; years from 0 to 9999, others as
/// the nearest of these.
pub fn show(seconds: i64) -> String {
    let seconds = seconds.clamp(-62_167_219_200, 253_402_300_799);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that start in March, so that the leap day is the last of a year; 400 of them repeat.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) =
        if month < 10 { (400 * era + year, month + 3) } else { (400 * era + year + 1, month - 9) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The point in time of `time`: `count` digits, maybe followed by a fraction.
fn digits_alone(time: &[u8], count: usize) -> Option<i64> {
    let (digits, fraction) = time.split_at(count);
    let is_whole = fraction.is_empty();
    let is_fraction = fraction.len() > 1 && fraction[1..].iter().all(u8::is_ascii_digit);
    if !is_whole && !is_fraction {
        return None;
    }
    match count {
        8 | 12 | 14 | 17 if is_whole || count == 14 => {
            let (date, clock) = compact_date(digits)?;
            let days = days_since_1970(date)?;
            let number = |start: usize, end: usize| clock.get(start..end).map_or(Some(0), number);
            let second = clock_seconds(number(0, 2)?, number(2, 4)?, number(4, 6)?)?;
            let seconds = days * SECONDS_PER_DAY + second;
            (seconds <= SECONDS_MAX).then_some(seconds)
        }
        1..=11 => number(digits),
        13 | 16 | 19 => number(&digits[..10]),
        _ => None,
    }
}

/// `20140126` and the rest.
fn compact_date(time: &[u8]) -> Option<(Date, &[u8])> {
    let (date, rest) = time.split_at_checked(8)?;
    Some(((number(&date[..4])?, number(&date[4..6])?, number(&date[6..])?), rest))
}

/// `10/Nov/2016` and the rest. In `10/11/2016` nobody knows which is the month.
fn clf_date(time: &[u8]) -> Option<(Date, &[u8])> {
    let slash = time.iter().position(|byte| *byte == b'/')?;
    let day = number(&time[..slash])?;
    let (month, rest) = time[slash + 1..].split_at_checked(3)?;
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as i64 + 1;
    let (year, rest) = rest.strip_prefix(b"/")?.split_at_checked(4)?;
    Some(((number(year)?, month, day), rest))
}

/// `2016-11-10` or `2016/11/10` and the rest.
fn iso_date(time: &[u8]) -> Option<(Date, &[u8])> {
    let (date, rest) = time.split_at_checked(10)?;
    if date[4] != date[7] {
        return None;
    }
    Some(((number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?), rest))
}

/// `00:01:02.5`, `00:01` or `000102`, as seconds, and the rest.
fn second_of_day(clock: &[u8]) -> Option<(i64, &[u8])> {
    let (hour, rest) = clock.split_at_checked(2)?;
    let is_extended = rest.first() == Some(&b':');
    let skip = usize::from(is_extended);
    let (minute, mut rest) = rest[skip..].split_at_checked(2)?;
    let mut second: &[u8] = b"0";
    let has_second = match rest.first() {
        Some(b':') => is_extended,
        Some(byte) => !is_extended && byte.is_ascii_digit(),
        None => false,
    };
    if has_second {
        (second, rest) = rest[skip..].split_at_checked(2)?;
        if let [b'.' | b',', fraction @ ..] = rest {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            rest = &fraction[digits..];
        }
    }
    Some((clock_seconds(number(hour)?, number(minute)?, number(second)?)?, rest))
}

fn clock_seconds(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// `Z`, `UTC`, `GMT`, `+08:00`, `+0800`, `+08` or nothing, blanks before it or not, in seconds.
fn offset(zone: &[u8]) -> Option<i64> {
    let zone = zone.trim_ascii_start();
    let (sign, digits) = match zone {
        [] | b"Z" | b"z" | b"UTC" | b"GMT" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [_, _] => (digits, &b"0"[..]),
        [_, _, b':', _, _] => (&digits[..2], &digits[3..]),
        [_, _, _, _] => (&digits[..2], &digits[2..]),
        _ => return None,
    };
    Some(sign * clock_seconds(number(hours)?, number(minutes)?, 0)?)
}

/// The number that at least one and at most 18 decimal digits spell.
fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// Days from 1970-01-01 to `date`, if that exists and is not before.
///
/// Years are taken to start in March, so that the day that comes and goes is their last; 400 of
/// them have the same number of days, always.
fn days_since_1970((year, month, day): Date) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..=9999).contains(&year) || !(1..=month_days).contains(&day) {
        return None;
    }
    let march_year = year - i64::from(month < 3);
    let march_month = (month + 9) % 12;
    // 153 days are five months from March on: 31, 30, 31, 30, 31.
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let days = 365 * march_year + march_year / 4 - march_year / 100 + march_year / 400;
    // From 0000-03-01 to 1970-01-01.
    Some(days + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_second() {
        for time in [
            "10/Nov/2016:00:01:02 +0800",
            "[10/Nov/2016:00:01:02 +0800]",
            "09/nov/2016:16:01:02 +0000",
            "9/Nov/2016:16:01:02",
            "2016-11-09T16:01:02Z",
            "2016-11-09t16:01:02z",
            "2016-11-09 16:01:02",
            "2016/11/09 16:01:02",
            "2016-11-09T16:01:02.999999999Z",
            "2016-11-09 16:01:02,5",
            "2016-11-09 16:01:02 UTC",
            "2016-11-09T08:01:02-08:00",
            "2016-11-09T08:01:02 -0800",
            "2016-11-09T08:01:02-08",
            "20161109T160102Z",
            "20161109160102",
            "20161109160102987",
            "20161109160102.5",
            "1478707262",
            "1478707262.75",
            "1478707262000",
            "1478707262999.5",
            "1478707262000000",
            "1478707262000000000",
            " 1478707262 ",
        ] {
            assert_eq!(parse(time.as_bytes(), b""), Some(1_478_707_262), "{time}");
        }
        for (date, clock) in [
            ("2016-11-09", "16:01:02"),
            ("2016-11-09", "16:01:02.123"),
            ("2016-11-09", "16:01:02Z"),
            ("20161109", "160102"),
            ("09/Nov/2016", "16:01:02"),
        ] {
            let found = parse(date.as_bytes(), clock.as_bytes());
            assert_eq!(found, Some(1_478_707_262), "{date} {clock}");
        }
    }

    #[test]
    fn known_seconds() {
        // From `date -u -d TIME +%s`.
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01", 0),
            ("0", 0),
            ("20000229", 951_782_400),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("201401262006", 1_390_766_760),
            ("2014-01-26T20:06Z", 1_390_766_760),
            ("20140126200624", 1_390_766_784),
            ("2016-12-31T23:59:60Z", 1_483_228_800),
            ("2100-02-28", 4_107_456_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] {
            assert_eq!(parse(time.as_bytes(), b""), Some(expected), "{time}");
        }
    }

    #[test]
    fn what_is_shown_is_read() {
        assert_eq!(show(0), "1970-01-01T00:00:00Z");
        assert_eq!(show(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(show(i64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(show(i64::MIN), "0000-01-01T00:00:00Z");
        for days in 0..2_900_000i64 / 7 {
            let seconds = days * 7 * 86_400 + 4_321;
            assert_eq!(parse(show(seconds).as_bytes(), b""), Some(seconds));
        }
    }

    #[test]
    fn no_times() {
        for time in [
            "",
            "-",
            "[]",
            "x",
            "2015-02-29",
            "2100-02-29",
            "2016-13-01",
            "2016-00-01",
            "2016-01-00",
            "2016-04-31",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "99991231235960",
            "2016-11-09T24:00:00Z",
            "2016-11-09T16:60:00Z",
            "2016-11-09T16:01:61Z",
            "2016-11-09T16:01:02.Z",
            "2016-11-09T16:01:02X",
            "2016-11-09T16:01:02+8",
            "2016-11-09T16:01:02+24:00",
            "2016-11-09x16:01:02",
            "2016-11/09",
            "2016-1-9",
            "10/11/2016:00:01:02",
            "10/Nox/2016",
            "10/Nov/16:00:01:02",
            "20161309160102",
            "201611",
            "-1",
            "1478707262.",
            "1478707262.x",
            "147870726200000",
            "1e9",
            "12345678901234567890",
            "\u{661}\u{662}",
        ] {
            // Few digits are seconds.
            let expected = if time == "201611" { Some(201_611) } else { None };
            assert_eq!(parse(time.as_bytes(), b""), expected, "{time}");
        }
        for (date, clock) in [
            ("2016-11-09", "25:00:00"),
            ("2016-11-09T16:01:02", "16:01:02"),
            ("1478707262", "16:01:02"),
            ("", "16:01:02"),
        ] {
            assert_eq!(parse(date.as_bytes(), clock.as_bytes()), None, "{date} {clock}");
        }
    }

    #[test]
    fn days_follow_each_other() {
        let mut expected = 0;
        for year in 1970..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(days) = days_since_1970((year, month, day)) {
                        assert_eq!(days, expected, "{year}-{month}-{day}");
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, 2_932_897);
    }

    #[test]
    fn any_bytes_are_answered() {
        let seed = b"2016-11-09T16:01:02.5+08:00";
        for at in 0..seed.len() {
            for byte in 0..=255 {
                let mut time = *seed;
                time[at] = byte;
                parse(&time, b"");
                parse(&time[..at], &time[at..]);
            }
        }
        assert_eq!(parse(&b"1".repeat(1 << 20), b""), None);
    }
}
