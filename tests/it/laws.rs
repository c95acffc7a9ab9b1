//! The laws of jobs: what their result may depend on, and that it is true.

mod bench;
mod oracle;
mod truth;

use std::collections::{BTreeMap, HashMap};

use undust::bytes::{Lines, split_mix};
use undust::canonical::{PROFILES, Scratch};

use bench::{Bench, Compression, How, PLAIN, canonicalizer, data, generated, messy};

#[test]
fn results_do_not_depend_on_threads_chunks_mapping_compression_or_files() {
    let mut bench = Bench::new(messy());
    bench.line_bytes_max = 50_000;
    let canonicalizer = canonicalizer("crawl");
    let expected = bench.run(&canonicalizer, PLAIN);
    assert_eq!(expected.bytes["dedup"], expected.bytes["select"], "two ways to the same lines");
    let mut runs = 0;
    for threads in [1, 2, 5] {
        for chunk_bytes in [1 << 10, 5_000, 1 << 16, 1 << 20] {
            for (map, compression) in [
                (false, Compression::None),
                (true, Compression::None),
                (true, Compression::Zstd),
                (true, Compression::Gzip),
            ] {
                let files = 1 + runs % 4;
                let how = How { threads, chunk_bytes, map, compression, files };
                expected.check(&bench.run(&canonicalizer, how), &how);
                runs += 1;
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_how_hostile_lines_are_read() {
    let bench = Bench::new(data("hostile/nasty.bin.zst"));
    for profile in ["lines", "crawl"] {
        let canonicalizer = canonicalizer(profile);
        let expected = bench.run(&canonicalizer, PLAIN);
        assert_eq!(expected.bytes["dedup"], expected.bytes["select"], "{profile}");
        for how in [
            How { threads: 5, chunk_bytes: 1 << 10, map: true, ..PLAIN },
            How { threads: 2, chunk_bytes: 1 << 16, compression: Compression::Zstd, ..PLAIN },
            How { threads: 2, compression: Compression::Gzip, files: 3, ..PLAIN },
        ] {
            expected.check(&bench.run(&canonicalizer, how), &(profile, how));
        }
    }
}

#[test]
fn results_are_the_same_for_every_profile_and_more_than_one_batch() {
    // 2 MiB in chunks of 1 KiB: 60 batches and more.
    let bench = Bench::new(generated(30_000, 22));
    for profile in PROFILES {
        let canonicalizer = canonicalizer(profile);
        let expected = bench.run(&canonicalizer, PLAIN);
        assert_eq!(expected.bytes["dedup"], expected.bytes["select"], "{profile}");
        let how = How { threads: 3, chunk_bytes: 1 << 10, map: true, files: 2, ..PLAIN };
        expected.check(&bench.run(&canonicalizer, how), &(profile, how));
    }
}

#[test]
fn the_representative_of_each_cluster_is_the_one_asked_for() {
    let bench = Bench::new(generated(5_000, 23));
    let canonicalizer = canonicalizer("aggressive");
    let results = bench.run(&canonicalizer, PLAIN);
    let mut scratch = Scratch::default();
    let mut shortest: HashMap<Vec<u8>, &[u8]> = HashMap::new();
    let mut last: HashMap<Vec<u8>, usize> = HashMap::new();
    let lines: Vec<&[u8]> = Lines::new(&bench.list, b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let form = canonicalizer.canonical(line, &mut scratch).form.to_vec();
        let best = shortest.entry(form.clone()).or_insert(line);
        if line.len() < best.len() {
            *best = line;
        }
        last.insert(form, number);
    }
    let mut numbers: Vec<usize> = last.values().copied().collect();
    numbers.sort_unstable();
    let expected: Vec<&[u8]> = numbers.iter().map(|number| lines[*number]).collect();
    let found: Vec<&[u8]> = Lines::new(&results.bytes["select last"], b'\n').collect();
    assert!(found == expected);
    let mut first_of = BTreeMap::new();
    for row in Lines::new(&results.bytes["clusters by shortest"], b'\n').skip(1) {
        let fields: Vec<&[u8]> = row.splitn(3, |byte| *byte == b'\t').collect();
        first_of.entry(fields[0]).or_insert(fields[2]);
    }
    let mut found: Vec<&[u8]> = first_of.into_values().collect();
    let mut expected: Vec<&[u8]> = shortest.into_values().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert!(found == expected);
}

/// The lines of `list` in an order that `seed` decides.
fn shuffled(list: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut lines: Vec<&[u8]> = Lines::new(list, b'\n').collect();
    for last in (1..lines.len()).rev() {
        lines.swap(last, (split_mix::next(&mut state) % (last as u64 + 1)) as usize);
    }
    lines.iter().flat_map(|line| [line, &b"\n"[..]]).flatten().copied().collect()
}

#[test]
fn clusters_do_not_depend_on_the_order_of_lines() {
    // Without byte order marks: they are told apart at the beginning of a file only.
    let list: Vec<u8> = messy().into_iter().filter(|byte| *byte != 0xef).collect();
    for profile in PROFILES {
        let canonicalizer = canonicalizer(profile);
        let expected = Bench::new(list.clone()).clusters(&canonicalizer);
        assert!(expected.len() > 500, "{profile}");
        for seed in 1..4 {
            let found = Bench::new(shuffled(&list, seed)).clusters(&canonicalizer);
            let mut wrong = expected.symmetric_difference(&found);
            assert!(wrong.next().is_none(), "{profile}, seed {seed}");
        }
    }
}
