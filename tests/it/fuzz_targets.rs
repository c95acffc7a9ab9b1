//! The fuzz targets compile, and nothing is found from their seeds in a few steps.
//!
//! What each target says of its input is checked by the target itself. Coverage is for
//! `cargo fuzz`; here each seed is tried as it is and with bytes of it changed, doubled and left
//! out, by the same draws every time.

#![expect(unused_attributes, unreachable_pub, reason = "targets are programs of their own")]
#![expect(clippy::duplicate_mod, reason = "two targets have the same laws")]

use std::fs;
use std::path::{Path, PathBuf};

use undust::bytes::split_mix;

#[path = "../../fuzz/fuzz_targets/config.rs"]
mod config;
#[path = "../../fuzz/fuzz_targets/containers.rs"]
mod containers;
#[path = "../../fuzz/fuzz_targets/input.rs"]
mod input;
#[path = "../../fuzz/fuzz_targets/lanes.rs"]
mod lanes;
#[path = "../../fuzz/fuzz_targets/records.rs"]
mod records;
#[path = "../../fuzz/fuzz_targets/whatwg.rs"]
mod whatwg;

/// In place of the crate that makes programs of targets.
pub(crate) mod harness {
    /// Makes a function of a target.
    macro_rules! fuzz_target {
        (|$data:ident: &[u8]| $body:block) => {
            pub(crate) fn target($data: &[u8]) {
                $body
            }
        };
    }
    pub(crate) use fuzz_target;
}

/// Inputs that are made of one seed.
const CHANGES: usize = 40;

/// Lines of a list of URLs that are seeds of targets for single URLs.
const LINES: usize = 150;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The files of `fuzz/seeds/NAME`, in order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder().join("fuzz/seeds").join(name)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Lines of hostile URLs, each behind a byte if the target takes one.
fn lines(with_byte: bool) -> Vec<Vec<u8>> {
    let list = fs::read(folder().join("data/hostile/wpt_inputs.txt")).unwrap();
    let lines = list.split(|byte| *byte == b'\n').enumerate();
    let spread = lines.step_by(7).take(LINES);
    let line = |(number, line): (usize, &[u8])| {
        let byte = if with_byte { vec![(number % 256) as u8] } else { Vec::new() };
        [byte.as_slice(), line].concat()
    };
    spread.map(line).collect()
}

/// The next of a row of draws.
fn draw(state: &mut u64) -> usize {
    (split_mix::next(state) >> 33) as usize
}

/// Runs a target on seeds and what changes make of them; returns how many inputs there were.
fn run(target: fn(&[u8]), seeds: &[Vec<u8>]) -> usize {
    let mut state = 27;
    for seed in seeds {
        target(seed);
        for _ in 0..CHANGES {
            let mut bytes = seed.clone();
            for _ in 0..1 + draw(&mut state) % 4 {
                let at = draw(&mut state) % bytes.len().max(1);
                let end = bytes.len().min(at + 1 + draw(&mut state) % 16);
                match draw(&mut state) % 4 {
                    0 => drop(bytes.drain(at.min(end)..end)),
                    1 => bytes.extend_from_within(at.min(end)..end),
                    2 => bytes.insert(at, draw(&mut state) as u8),
                    _ if at < bytes.len() => bytes[at] ^= 1 << (draw(&mut state) % 8),
                    _ => {}
                }
            }
            target(&bytes);
        }
    }
    seeds.len() * (1 + CHANGES)
}

#[test]
fn nothing_is_found_in_a_few_steps() {
    for (target, name) in [
        (config::target as fn(&[u8]), "config"),
        (containers::target, "containers"),
        (input::target, "input"),
        (records::target, "records"),
    ] {
        assert!(run(target, &seeds(name)) > 50, "{name}: where are its seeds?");
    }
    assert!(run(lanes::target, &lines(true)) > 1000);
    assert!(run(whatwg::target, &lines(false)) > 1000);
}
