//! Any bytes can be taken apart as any container: nothing panics, and what comes out is rows.
//!
//! ```text
//! input = how chunk file
//! how   = 0x03: WARC, ARC, sitemap, or what the first bytes say       0x04: lines end at NUL
//! chunk = chunk_bytes and line_bytes_max, in units of 16 bytes
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use undust::bytes::Lines;
use undust::input::{Container, Containers, Input, InputPlan};

/// Most bytes of rows that are looked at. Reason: a kilobyte of zstd makes a hundred megabytes.
const ROW_BYTES_MAX: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let [how, chunk, file @ ..] = data else { return };
    let containers = match how & 3 {
        0 => Containers::Only(Container::Warc),
        1 => Containers::Only(Container::Arc),
        2 => Containers::Only(Container::Sitemap),
        _ => Containers::Detect,
    };
    let temp = tempfile::NamedTempFile::new().expect("there is room for temporary files");
    std::fs::write(temp.path(), file).expect("there is room for temporary files");
    let plan = InputPlan {
        paths: vec![temp.path().to_owned()],
        separator: if how & 4 != 0 { 0 } else { b'\n' },
        line_bytes_max: 16 * usize::from(*chunk),
        chunk_bytes: 16 * usize::from(*chunk),
        zstd_window_bytes_max: 1 << 22,
        containers,
        ..InputPlan::default()
    };
    let mut input = Input::open(&plan).expect("the file is there");
    let mut bytes = 0;
    while let Some(next) = input.next() {
        let chunk = match next {
            Ok(chunk) => chunk,
            Err(error) => {
                assert!(error.is_input() || error.is_limit(), "{error:?}");
                assert!(!error.to_string().contains('\n'), "{error:?}");
                assert!(input.next().is_none(), "something comes after an error");
                return;
            }
        };
        bytes += chunk.bytes().len();
        let is_rows = input.summaries().last().is_some_and(|file| file.container.is_some());
        if is_rows && chunk.overlong().is_none() {
            for row in Lines::new(chunk.bytes(), plan.separator) {
                let tabs = row.iter().filter(|byte| **byte == b'\t').count();
                assert_eq!(tabs, 10, "a row of {} fields", tabs + 1);
            }
        }
        if bytes > ROW_BYTES_MAX {
            return;
        }
    }
});
