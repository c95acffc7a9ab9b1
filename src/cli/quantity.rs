//! Numbers as people write them: with a suffix (`64K`, `3M`), and shares.

/// Reads a number of bytes with an optional suffix K, M, G or T (powers of 1,024).
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (digits, suffix) = split_suffix(text);
    let is_none = || format!("\"{text}\" is not a number of bytes");
    let factor: u64 = match &suffix.to_ascii_lowercase()[..] {
        _ if digits.is_empty() => return Err(is_none()),
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(format!("unknown suffix \"{suffix}\"; use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| is_none())?;
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// Reads a number of things with an optional suffix K, M or G (powers of 1,000).
pub(super) fn count(text: &str) -> Result<u64, String> {
    let (digits, suffix) = split_suffix(text);
    let is_none = || format!("\"{text}\" is not a number");
    let factor: u64 = match &suffix.to_ascii_lowercase()[..] {
        _ if digits.is_empty() => return Err(is_none()),
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return Err(format!("unknown suffix \"{suffix}\"; use K, M or G")),
    };
    let number: u64 = digits.parse().map_err(|_| is_none())?;
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// Reads a number of things of which there are few, with an optional suffix K, M or G (powers of
/// 1,000).
pub(super) fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("\"{text}\" is too large"))
}

/// Reads a number of things or a range of such numbers: `3500`, or `3000-4000`.
pub(super) fn range(text: &str) -> Result<(u32, u32), String> {
    let (fewest, most) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        text.parse()
            .map_err(|_| format!("expected a number or a range as 3000-4000, found {text:?}"))
    };
    let (fewest, most) = (number(fewest)?, number(most)?);
    if fewest > most {
        return Err(format!("{fewest} is more than {most}; fewest come first, as in 3000-4000"));
    }
    Ok((fewest, most))
}

/// Reads a number of a few things, without a suffix.
pub(super) fn whole(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, such as 8".to_string())
}

/// Reads a number that chooses what is made.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Reads a share from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a share from 0 to 1, as in 0.3".to_string())
}

/// Reads a share from 0 to 1, in thousandths.
pub(super) fn thousandths(text: &str) -> Result<u16, String> {
    let thousandths = 1_000.0 * share(text)?;
    match (thousandths - thousandths.round()).abs() < 1e-6 {
        true => Ok(thousandths.round() as u16),
        false => Err("expected whole thousandths, as in 0.003".to_string()),
    }
}

/// Splits a number from the letters after it.
fn split_suffix(text: &str) -> (&str, &str) {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    text.split_at(digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes() {
        for (given, expected) in [
            ("1", Some(1)),
            ("64K", Some(65536)),
            ("1MiB", Some(1 << 20)),
            ("1T", Some(1 << 40)),
            ("x", None),
            ("1X", None),
            ("1ib", None),
            ("1MiBiB", None),
        ] {
            assert_eq!(bytes(given).ok(), expected, "{given}");
        }
        assert!(bytes("99999999999999999999").is_err() && bytes("18446744073709551615G").is_err());
    }

    #[test]
    fn what_has_no_digits_is_no_number() {
        assert_eq!(bytes("abc").unwrap_err(), "\"abc\" is not a number of bytes");
        assert_eq!(count("abc").unwrap_err(), "\"abc\" is not a number");
        assert_eq!(small_count("1K"), Ok(1_000));
        assert!(small_count("5G").is_err());
        assert_eq!(whole("12"), Ok(12));
        assert_eq!(whole("1K").unwrap_err(), "expected a whole number, such as 8");
    }

    #[test]
    fn shares() {
        for (given, expected) in
            [("0", Some(0)), ("0.003", Some(3)), ("0.057", Some(57)), ("1", Some(1_000))]
                .into_iter()
                .chain(["0.0004", "0.0015", "1.1", "-0.1", "NaN", "x", ""].map(|text| (text, None)))
        {
            assert_eq!(thousandths(given).ok(), expected, "{given}");
        }
        assert_eq!(share("0.0004"), Ok(0.0004));
    }

    #[test]
    fn numbers_of_things() {
        for (given, expected) in [
            ("1", Some(1)),
            ("64K", Some(64_000)),
            ("3m", Some(3_000_000)),
            ("2G", Some(2_000_000_000)),
            ("x", None),
            ("-1", None),
            ("1MiB", None),
            ("99999999999999999999", None),
            ("18446744073709551615K", None),
        ] {
            assert_eq!(count(given).ok(), expected, "{given}");
        }
    }
}
