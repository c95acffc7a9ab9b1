//! Tables of bounds: their numbers are those of the code.

use undust::canonical::PathPattern;
use undust::limits::*;

use super::*;

/// Every row of the table in `name` that begins with `head`: what it is about, and the numbers that
/// it promises.
fn check(name: &str, head: &str, expected: &[(&str, &[String])]) {
    let page = page(name);
    let rows = table(&page, head);
    let about: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    let known: Vec<&str> = expected.iter().map(|(what, _)| *what).collect();
    assert_eq!(about, known, "{name}: the rows");
    for (row, (what, numbers)) in rows.iter().zip(expected) {
        let mut rest = row[1];
        for number in *numbers {
            let Some((before, behind)) = rest.split_once(number.as_str()) else {
                panic!("{name}: {what}: expected {number} in {:?}", row[1]);
            };
            let is_number = |text: &str| text.contains(|letter: char| letter.is_ascii_digit());
            let is_whole = !behind.starts_with(|letter: char| letter.is_alphanumeric());
            assert!(is_whole && !is_number(before), "{name}: {what}: {number} in {:?}", row[1]);
            rest = behind;
        }
        let is_all = !rest.contains(|letter: char| letter.is_ascii_digit());
        assert!(is_all, "{name}: {what}: only {numbers:?} are known of {:?}", row[1]);
    }
}

/// With a comma before each three digits.
fn number(value: u64) -> String {
    let digits = value.to_string();
    let first = (digits.len() - 1) % 3 + 1;
    let rest = digits.as_bytes()[first..].chunks(3).map(|three| str::from_utf8(three).unwrap());
    [&digits[..first]].into_iter().chain(rest).collect::<Vec<&str>>().join(",")
}

/// In the largest unit of which it is a multiple.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "bytes")];
    let (shift, unit) =
        units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift)).unwrap();
    format!("{} {unit}", number(bytes >> shift))
}

/// The value of a constant that only the module in `file` sees, such as `16 << 20`.
fn private(file: &str, constant: &str) -> u64 {
    let source = fs::read_to_string(root().join("src").join(file)).unwrap();
    let start = format!("const {constant}: ");
    let found = source.lines().find_map(|line| line.trim_start().strip_prefix(&start));
    let value = found.and_then(|rest| rest.split_once(" = ")?.1.strip_suffix(';'));
    let value = value.unwrap_or_else(|| panic!("{file} has no {constant}")).replace('_', "");
    let (base, shift) = value.split_once(" << ").unwrap_or((&value, "0"));
    base.parse::<u64>().unwrap() << shift.parse::<u32>().unwrap()
}

#[test]
fn the_bounds_of_the_page_of_limits_are_those_of_the_code() {
    let line = size(LINE_BYTES_MAX as u64);
    let window = size(1 << ZSTD_WINDOW_LOG_MAX);
    // Of the memory, a tenth is for threads that decompress; this much is room for one.
    let least = 10.0 * (DECOMPRESS_BYTES_SHARED + DECOMPRESS_BYTES_PER_THREAD) as f64;
    let least = format!("{:.1} GiB", least / f64::from(1 << 30));
    assert_eq!(ZSTD_WINDOW_PARTS, 4, "docs/limits.md: a quarter of the memory");
    check(
        "docs/limits.md",
        "| what | bound |",
        &[
            ("line", &[line]),
            ("columns of a table", &[number(COLUMNS_MAX as u64)]),
            ("URL that is fully processed", &[size(URL_BYTES_MAX as u64)]),
            ("host for IDNA processing", &[size(IDNA_HOST_BYTES_MAX as u64)]),
            ("host for the `www` rule", &[size(HOST_BYTES_MAX as u64)]),
            (
                "parameters of one URL in a `report`",
                &[number(private("pipeline/survey/facets.rs", "PARAMETERS_MAX"))],
            ),
            ("changes by rules to one URL", &[number(RULE_STEPS_MAX as u64)]),
            ("zstd window", &[window, format!("window log {ZSTD_WINDOW_LOG_MAX}")]),
            (
                "memory of the xz decoder",
                &[size(private("input/decode/reader.rs", "XZ_BYTES_BESIDE"))],
            ),
            ("zstd dictionary", &[size(ZSTD_DICTIONARY_BYTES_MAX)]),
            ("head of an HTTP answer in a web archive", &[size(HTTP_HEAD_BYTES_MAX as u64)]),
            (
                "start of its HTML page, both as it was sent and decompressed, for `learn`",
                &[size(HTML_HEAD_BYTES_MAX as u64)],
            ),
            (
                "field of a container (a URL in WARC, `<loc>`), and the row that is made of a record",
                &[],
            ),
            ("zstd frame decompressed in the background", &[size(DECOMPRESSED_FRAME_BYTES_MAX)]),
            (
                "largest window for decompression without a copy",
                &[size(private("input/decode/zstd.rs", "WINDOW_BYTES_MAX")), least],
            ),
            ("memory", &[]),
            ("configuration and rule files", &[size(CONFIG_BYTES_MAX)]),
        ],
    );
}

#[test]
fn the_limits_of_the_page_of_rule_files_are_those_of_the_code() {
    // Steps are counted behind the literal start, and `*` is one.
    let is_pattern = |steps: usize| PathPattern::parse(&format!("/*{}", "x".repeat(steps - 1)));
    let steps = (1..).find(|steps| is_pattern(steps + 1).is_none()).unwrap();
    check(
        "docs/rules-format.md",
        "| what | limit |",
        &[
            ("rules in a file", &[number(DUST_RULES_MAX as u64)]),
            (
                "rules of one site, including those of the domains above it",
                &[number(DUST_SITE_RULES_MAX as u64)],
            ),
            (
                "the same, summed over all sites that have rules or guards of their own",
                &[number(DUST_SITE_RULES_TOTAL_MAX as u64)],
            ),
            ("text of a rule", &[size(DUST_TEXT_BYTES_MAX as u64)]),
            (
                "wildcards in a pattern",
                &[number(DUST_WILDCARDS_MAX as u64), format!("{steps} steps")],
            ),
            (
                "forms of a pattern that keeps rules away, under one profile",
                &[number(private("canonical/dust_spelling/forms.rs", "FORMS_MAX"))],
            ),
            ("parameters of a URL", &[number(DUST_PARAMS_MAX as u64)]),
            (
                "prefixes and suffixes of one path, rounds of substitution",
                &[number(DUST_PASSES_MAX as u64)],
            ),
        ],
    );
}

#[test]
fn numbers_are_written_as_on_the_pages() {
    let written = [1, 999, 1000, 4_194_304].map(number);
    assert_eq!(written, ["1", "999", "1,000", "4,194,304"]);
    let written = [1012, 64 << 10, 1 << 20, 3 << 19, 1 << 31].map(size);
    assert_eq!(written, ["1,012 bytes", "64 KiB", "1 MiB", "1,536 KiB", "2 GiB"]);
}
