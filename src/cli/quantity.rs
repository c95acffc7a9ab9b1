//! Numbers as people write them, with a suffix: `64K`, `3M`.

/// A number of bytes with an optional suffix K, M, G or T (powers of 1,024).
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (digits, suffix) = split_suffix(text);
    let factor: u64 = match &suffix.to_ascii_lowercase()[..] {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(format!("unknown suffix \"{suffix}\"; use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("\"{text}\" is no number of bytes"))?;
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// A number of things with an optional suffix K, M or G (powers of 1,000).
pub(super) fn count(text: &str) -> Result<u64, String> {
    let (digits, suffix) = split_suffix(text);
    let factor: u64 = match &suffix.to_ascii_lowercase()[..] {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return Err(format!("unknown suffix \"{suffix}\"; use K, M or G")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// A number, and the letters behind it.
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
