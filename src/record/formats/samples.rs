//! For tests of formats: reads the files of `data/samples`, and limits the time for hostile lines.

use std::time::Instant;

use crate::bytes::{Lines, show};
use crate::record::{Found, Parsed, Recognize};

/// A file of `data/samples`.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/samples");
    std::fs::read(folder.join(name)).unwrap()
}

/// The records of `sample`, in the format that it is recognized as: method, scheme and host,
/// target, query, status. Headers change the format.
pub(super) fn sample_urls(sample: &[u8], recognize: Recognize) -> Vec<String> {
    let lines: Vec<&[u8]> =
        Lines::new(sample, b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let mut format = recognize(&lines).expect("the sample is of this format");
    let mut urls = Vec::new();
    for line in lines {
        let mut found = Found::default();
        match format.parse(line, &mut found) {
            Parsed::Comment => format = format.with_header(line).unwrap_or(format),
            Parsed::Reject(kind) => urls.push(kind.to_string()),
            Parsed::Record => {
                let text = |bytes: &[u8]| {
                    let mut buffer = Vec::new();
                    show(found.escapes.undo(bytes, &mut buffer)).to_string()
                };
                let host = match (found.scheme, found.host) {
                    (_, b"") => String::new(),
                    (b"", host) => text(host),
                    (scheme, host) => format!("{}://{}", text(scheme), text(host)),
                };
                let query = format!("?{}", text(found.query));
                let parts = [
                    text(found.fields.method),
                    host,
                    text(found.target),
                    query,
                    text(found.fields.status),
                ];
                let parts: Vec<String> =
                    parts.into_iter().filter(|part| !part.is_empty()).collect();
                urls.push(parts.join(" "));
            }
        }
    }
    urls
}

/// Calls `parse` with lines of 1 MiB: each front, followed by repetitions of each unit.
///
/// Fails if one takes 5 seconds: linear parsers take milliseconds, others hours.
pub(super) fn check_hostile(fronts: &[&str], units: &[&str], mut parse: impl FnMut(&[u8])) {
    for front in fronts {
        for unit in units {
            let line = [*front, &unit.repeat((1 << 20) / unit.len())].concat();
            let start = Instant::now();
            parse(line.as_bytes());
            let seconds = start.elapsed().as_secs();
            assert!(seconds < 5, "{front:?} and {unit:?}: {seconds} s");
        }
    }
}
