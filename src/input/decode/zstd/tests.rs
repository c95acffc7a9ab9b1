//! Compressed files are decompressed as plain decoders do it, or refused.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::frames::Walk;
use super::*;
use crate::bytes::show;
use crate::input::chunk::Chunk;
use crate::input::cut::Sizes;
use crate::input::decode::reader::Reader;
use crate::input::disk::mapped::Origin;
use crate::input::stop::Stop;
use crate::input::stream::Stream;

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 1).unwrap()
}

/// Compresses `bytes` as `zstd` compresses a stream: without the content size, with the window in
/// the header, and with a checksum.
fn zstd_of_stream(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    for piece in bytes.chunks(1000) {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
    }
    encoder.finish().unwrap()
}

fn skippable(bytes: &[u8]) -> Vec<u8> {
    [&b"\x53\x2a\x4d\x18"[..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

/// Threads of their own, so that tasks end in any order.
fn threads() -> Crew {
    Crew::new(3, |task| drop(std::thread::spawn(task)))
}

/// A file of these bytes, and its first ones, which were read.
fn disk(compressed: &[u8]) -> (Disk, Vec<u8>) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(compressed).unwrap();
    io::Seek::rewind(&mut file).unwrap();
    let size = Some(compressed.len() as u64);
    let origin = Arc::new(Origin { file, shown: "a".to_string(), size });
    let mut disk = Disk::new(&origin, size, &Arc::default(), &Stop::default());
    let mut head = Vec::new();
    disk.fill(&mut head, 10).unwrap();
    (disk, head)
}

/// What came out before the end or the error.
fn decode(
    compressed: &[u8],
    window_bytes_max: u64,
    how: DecompressOptions,
) -> (Vec<u8>, Option<Error>) {
    let (disk, head) = disk(compressed);
    let mut decompressor = Decompressor::new(head, disk, window_bytes_max, how).unwrap();
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        match decompressor.fill(&mut bytes, 50) {
            Ok(()) if bytes.len() < before + 50 => return (bytes, None),
            Ok(()) => {}
            Err(error) => {
                let decoded = bytes.len() as u64;
                return (bytes, Some(decompressor.explain(error, "a", decoded)));
            }
        }
    }
}

/// What came out, and what was said of the error, if there was one.
type Told = (Vec<u8>, Option<String>);

/// Decodes with portions of many sizes, because seams are where decoders break. First alone.
fn decode_all_ways(compressed: &[u8]) -> Vec<(String, Told)> {
    // Without the decoder's own words, which depend on the frames that it saw before.
    let told = |(bytes, error): (Vec<u8>, Option<Error>)| {
        let words = |error: Error| error.to_string().split(" (").next().unwrap().to_owned();
        (bytes, error.map(words))
    };
    let mut all = Vec::new();
    for read_bytes in [1 << 20, 1, 2, 3, 7, 64] {
        let how = DecompressOptions { read_bytes, ..DecompressOptions::default() };
        all.push((format!("{read_bytes} at once"), told(decode(compressed, 1 << 31, how))));
    }
    for (piece_bytes, frame_bytes_max, thread_bytes) in [
        (1, 10, 1),
        (1, 40, 1),
        (1, 1 << 20, 9),
        (30, 1 << 20, 1 << 20),
        (4 << 20, 32 << 20, 16 << 20),
    ] {
        let crew = Some(threads());
        let how = DecompressOptions {
            crew,
            read_bytes: 20,
            piece_bytes,
            frame_bytes_max,
            thread_bytes,
            part_bytes: 1,
            dictionary: None,
        };
        all.push((format!("pieces of {piece_bytes}"), told(decode(compressed, 1 << 31, how))));
    }
    all
}

/// Checks that all ways tell the same.
fn check(compressed: &[u8], why: &str) -> Told {
    let mut all = decode_all_ways(compressed);
    let (_, alone) = all.swap_remove(0);
    for (way, found) in all {
        assert_eq!(found, alone, "{why}, {way}");
    }
    alone
}

fn check_good(compressed: &[u8], expected: &[u8], why: &str) {
    let (bytes, error) = check(compressed, why);
    assert_eq!((show(&bytes).to_string(), error), (show(expected).to_string(), None), "{why}");
}

fn check_bad(compressed: &[u8], expected: &[u8], words: &str, why: &str) {
    let (bytes, error) = check(compressed, why);
    assert_eq!(show(&bytes).to_string(), show(expected).to_string(), "{why}");
    assert!(error.as_ref().is_some_and(|error| error.contains(words)), "{why}: {error:?}");
}

#[test]
fn frames() {
    let (one, two) = (zstd(b"one\n"), zstd_of_stream(b"two\n"));
    let (skippable, nothing) = (skippable(b"xyz"), zstd(b""));
    check_good(&one, b"one\n", "one frame");
    check_good(&[&one[..], &two].concat(), b"one\ntwo\n", "two frames");
    check_good(&[&skippable[..], &one].concat(), b"one\n", "skippable first");
    check_good(&[&one[..], &skippable, &two].concat(), b"one\ntwo\n", "skippable between");
    check_good(&[&one[..], &two, &skippable].concat(), b"one\ntwo\n", "skippable last");
    check_good(&skippable.repeat(30), b"", "skippable only");
    check_good(&nothing, b"", "a frame of nothing");
    check_good(&[&nothing.repeat(20)[..], &one].concat(), b"one\n", "nothing, often");
    check_good(&two.repeat(100), &b"two\n".repeat(100), "many");
    let large = zstd(&[b'x'; 5000]);
    let mixed = [&two[..], &large, &one, &large, &large, &two].concat();
    let expected = ["two\n", &"x".repeat(5000), "one\n", &"x".repeat(10_000), "two\n"].concat();
    check_good(&mixed, expected.as_bytes(), "frames beyond the bounds between others");
}

#[test]
fn damage() {
    let (one, two) = (zstd(b"one\n"), zstd_of_stream(b"two\n"));
    let junk = [&one[..], b"junk"].concat();
    check_bad(&junk, b"one\n", "after 4 decoded bytes", "junk");
    check_bad(&[&one[..], b"ju"].concat(), b"one\n", "after 4 decoded bytes", "two bytes");
    let cut = &skippable(b"xyz")[..10];
    check_bad(&[&one[..], cut].concat(), b"one\n", "cut short", "skippable cut");
    let mut wrong = two.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let compressed = [&one[..], &two, &wrong, &two, &one].concat();
    let (bytes, error) = check(&compressed, "a wrong checksum");
    assert!(bytes.starts_with(b"one\ntwo\n") && bytes.len() <= 12, "{}", show(&bytes));
    assert!(error.is_some());
    // Says that it holds more, or less, than it does.
    for size in [3, 5] {
        let mut wrong = one.clone();
        wrong[5] = size;
        let compressed = [&two[..], &wrong, &two].concat();
        for (way, (bytes, error)) in decode_all_ways(&compressed) {
            let is_start = bytes.starts_with(b"two\n") && bytes.len() < 8;
            assert!(is_start && error.is_some(), "{size}, {way}: {}", show(&bytes));
        }
    }
}

#[test]
fn cut_anywhere() {
    let text: Vec<u8> = (0..12u32).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
    for second in [zstd(&text), zstd_of_stream(&text)] {
        let whole = [&zstd(b"one\n")[..], &zstd_of_stream(b"two\n"), &second].concat();
        let first = whole.len() - second.len();
        for end in first + 1..whole.len() {
            let (bytes, error) = check(&whole[..end], "cut");
            assert!(bytes.starts_with(b"one\ntwo\n"), "{end}: {}", show(&bytes));
            let error = error.unwrap_or_else(|| panic!("{end} bytes: no error"));
            assert!(error.contains("cut short"), "{end}: {error}");
        }
    }
}

#[test]
fn whole_blocks_before_the_damage_are_kept() {
    let text: Vec<u8> = (0..500_000u32)
        .flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_string().into_bytes())
        .collect();
    let compressed = zstd(&text);
    let mut blocks = Vec::new();
    let mut walk = Walk::default();
    let bounds = FrameBounds { window_bytes_max: 1 << 31, frame_bytes_max: 1 << 31 };
    for end in 0..compressed.len() {
        walk.step(&compressed[..end], &bounds);
        if blocks.last() != Some(&walk.next_block()) {
            blocks.push(walk.next_block());
        }
    }
    // The tenth block becomes one of a kind that there is not.
    let mut damaged = compressed.clone();
    damaged[blocks[10]] |= 6;
    for how in [DecompressOptions::default(), in_parts(1), in_parts(8 << 20)] {
        let (bytes, error) = decode(&damaged, 1 << 31, how.clone());
        assert!(error.is_some() && text.starts_with(&bytes));
        let (cut, _) = decode(&compressed[..blocks[10]], 1 << 31, how);
        assert!(bytes.len() > 500_000 && bytes == cut, "{} and {} bytes", bytes.len(), cut.len());
    }
}

/// Frames of more than 40 bytes are decoded in pieces of at least `part_bytes`.
fn in_parts(part_bytes: usize) -> DecompressOptions {
    DecompressOptions {
        crew: Some(threads()),
        frame_bytes_max: 40,
        part_bytes,
        ..DecompressOptions::default()
    }
}

#[test]
fn a_frame_in_pieces() {
    // Lines like others that were long before, as far back as the window lets them be.
    let text: Vec<u8> = (0..200_000u32)
        .flat_map(|i| format!("{}\n", (i % 20_011).wrapping_mul(0x9e37_79b9)).into_bytes())
        .collect();
    for (window_log, checksum) in [(10, false), (17, true), (18, false), (21, true)] {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.include_checksum(checksum).unwrap();
        encoder.write_all(&text).unwrap();
        let compressed = encoder.finish().unwrap();
        let (disk, head) = disk(&compressed);
        let mut decompressor = Decompressor::new(head, disk, 1 << 31, in_parts(1)).unwrap();
        let (mut bytes, mut pieces) = (Vec::new(), 0);
        let most = (1 << window_log) + (128 << 10) + BEGUN_BYTES_MAX;
        loop {
            decompressor.fill(&mut bytes, 1).unwrap();
            let rest = decompressor.at_hand().len();
            if rest == 0 {
                break;
            }
            assert!(rest < most && decompressor.decoded_here);
            bytes.extend_from_slice(&decompressor.slice(rest).buffer[1..]);
            pieces += 1;
        }
        assert!(bytes == text, "a window of {} bytes", 1 << window_log);
        assert!(pieces > text.len() / most, "{pieces} pieces of {} bytes", text.len());
        // The checksum is looked at.
        let mut wrong = compressed.clone();
        *wrong.last_mut().unwrap() ^= 1;
        let (bytes, error) = decode(&wrong, 1 << 31, in_parts(1));
        assert!(error.is_some() && (bytes == text || !checksum));
    }
}

#[test]
fn lines_across_pieces() {
    // Some lines longer than what is put before a piece, or than a piece.
    let lines = (0..200_000usize).map(|i| match i {
        50_000 | 150_000 => "y".repeat(BEGUN_BYTES_MAX + 1),
        100_000 => "z".repeat(400_000),
        _ => (i % 7001).wrapping_mul(0x9e37_79b9).to_string(),
    });
    let text: Vec<u8> = lines.flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(17).unwrap();
    encoder.write_all(&text).unwrap();
    let compressed = encoder.finish().unwrap();
    for end in [compressed.len(), compressed.len() - 1, compressed.len() / 2] {
        let (decoded, error) = decode(&compressed[..end], 1 << 31, DecompressOptions::default());
        let told = |error: Error| error.to_string().split(" (").next().unwrap().to_owned();
        let error = error.map(told);
        for (chunk_bytes, part_bytes) in [(4000, 1), (50_000, 1), (350_000, 1), (50_000, 1 << 20)] {
            let (disk, head) = disk(&compressed[..end]);
            let decompressor =
                Decompressor::new(head, disk, 1 << 31, in_parts(part_bytes)).unwrap();
            let mut stream = Stream::new(Reader::Zstd(Box::new(decompressor)), Vec::new());
            let sizes = Sizes::new(b'\n', chunk_bytes, 1 << 20);
            let (mut at, mut shared) = (0, 0);
            let mut held: Vec<Chunk> = Vec::new();
            while let Some(chunk) = stream.next_chunk(0, &sizes) {
                assert_eq!(chunk.at(), at as u64);
                at += chunk.bytes().len();
                let is_last = at == decoded.len();
                assert!(chunk.overlong().is_none() && (is_last || chunk.bytes().ends_with(b"\n")));
                shared += if chunk.is_shared() { chunk.bytes().len() } else { 0 };
                // Some are let go of late, and in another order.
                held.push(chunk);
                if held.len() > 9 {
                    let chunk = held.swap_remove(at % held.len());
                    assert!(decoded[chunk.at() as usize..].starts_with(chunk.bytes()));
                }
            }
            let why =
                format!("chunks of {chunk_bytes} bytes, pieces of {part_bytes}, {end} compressed");
            let is_there =
                |chunk: &Chunk| decoded[chunk.at() as usize..].starts_with(chunk.bytes());
            assert!(at == decoded.len() && held.iter().all(is_there), "{why}");
            assert_eq!(stream.finish("a").err().map(told), error, "{why}");
            assert!(shared > decoded.len() / 3, "{shared} of {at} bytes not copied, {why}");
        }
    }
}

#[test]
fn damage_in_a_frame_in_pieces() {
    let text: Vec<u8> = (0..60_000u32)
        .flat_map(|i| {
            format!("http://{}.test/\n", (i % 7001).wrapping_mul(0x9e37_79b9)).into_bytes()
        })
        .collect();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(16).unwrap();
    encoder.write_all(&text).unwrap();
    let compressed = encoder.finish().unwrap();
    // Behind the header, where blocks refer to bytes that are not there.
    for number in 0..150 {
        let mut damaged = compressed.clone();
        let at = 20 + number * 0x9e37_79b9_7f4a % (compressed.len() - 20);
        damaged[at] ^= 1 << (number % 8);
        let (expected, error) = decode(&damaged, 1 << 31, DecompressOptions::default());
        let (bytes, error_in_pieces) = decode(&damaged, 1 << 31, in_parts(1));
        assert!(bytes == expected, "byte {at}: {} and {} bytes", bytes.len(), expected.len());
        assert_eq!(error_in_pieces.is_some(), error.is_some(), "byte {at}");
    }
}

#[test]
fn windows_are_bounded() {
    // Not a single segment and no content size, so that the window is in the header.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(20).unwrap();
    encoder.write_all(b"a line\n").unwrap();
    encoder.flush().unwrap();
    let compressed = encoder.finish().unwrap().repeat(2);
    for crew in [None, Some(threads())] {
        let how = DecompressOptions { crew, piece_bytes: 1, ..DecompressOptions::default() };
        let (bytes, error) = decode(&compressed, 1 << 19, how.clone());
        let error = error.unwrap();
        assert!(error.is_limit() && error.to_string().contains("at most 512 KiB"), "{error}");
        assert!(bytes.is_empty());
        assert!(
            error.to_string().contains("wants 1024 KiB; give it a memory of Memory::bytes 4M or"),
            "{error}"
        );
        assert_eq!(decode(&compressed, 1 << 20, how).0, b"a line\na line\n");
    }
}

#[test]
fn windows_between_powers_of_two() {
    // A window of 11 KiB, without a dictionary and with one that nobody has.
    let frame = |descriptor: u8, dictionary: &[u8]| {
        let start = [0x28, 0xb5, 0x2f, 0xfd, descriptor, 3 << 3 | 3];
        let block = (b"a line\n".len() as u32) << 3 | 1;
        [&start, dictionary, &block.to_le_bytes()[..3], b"a line\n"].concat()
    };
    let window_bytes = (8 << 10) + 3 * (1 << 10);
    let compressed = [skippable(b"anything"), frame(0, b"")].concat();
    for crew in [None, Some(threads())] {
        let how = DecompressOptions { crew, piece_bytes: 1, ..DecompressOptions::default() };
        let (bytes, error) = decode(&compressed, window_bytes - 1, how.clone());
        let error = error.unwrap().to_string();
        assert!(bytes.is_empty() && error.contains("at most 10 KiB"), "{error}");
        assert!(
            error.contains("wants 11 KiB; give it a memory of Memory::bytes 1M or more"),
            "{error}"
        );
        assert_eq!(decode(&compressed, window_bytes, how.clone()).0, b"a line\n");
        let error = decode(&frame(1, b"\x07"), window_bytes - 1, how).1.unwrap();
        assert!(error.is_limit(), "{error}");
    }
}

#[test]
fn a_crew_that_fails_is_done_without() {
    let compressed = zstd(b"a line\n").repeat(50);
    // Drops each third task, which is what a panic looks like.
    let tasks = AtomicUsize::new(0);
    let crew = Crew::new(2, move |task| {
        if tasks.fetch_add(1, Ordering::Relaxed) % 3 < 2 {
            task();
        }
    });
    let how =
        DecompressOptions { crew: Some(crew), piece_bytes: 1, ..DecompressOptions::default() };
    let (bytes, error) = decode(&compressed, 1 << 31, how);
    assert!(error.is_none());
    assert_eq!(bytes, b"a line\n".repeat(50));
}

#[test]
fn little_is_under_way() {
    let compressed = zstd(&[b'x'; 1000]).repeat(500);
    // By number, and by content; the one that is delivered is not among them.
    for (threads, thread_bytes, expected) in [(1, 2000, 3), (4, 2000, 6), (4, 500, 3)] {
        let crew = Some(Crew::new(threads, |task| task()));
        let how = DecompressOptions {
            crew,
            piece_bytes: 1,
            thread_bytes,
            ..DecompressOptions::default()
        };
        let (disk, head) = disk(&compressed);
        let mut decompressor = Decompressor::new(head, disk, 1 << 31, how).unwrap();
        decompressor.fill(&mut Vec::new(), 1).unwrap();
        assert_eq!(
            decompressor.ahead.pieces.len(),
            expected,
            "{threads} threads, {thread_bytes} bytes each"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn any_frames(
        frames in prop::collection::vec((0u8..4, prop::collection::vec(0u8..4, 0..60)), 0..12),
        cut in 0usize..40,
        flip in prop::option::of((0usize..1000, 1u8..=255)),
    ) {
        let mut compressed = zstd(b"");
        for (kind, bytes) in frames {
            compressed.extend(match kind {
                0 => skippable(&bytes),
                1 => zstd_of_stream(&bytes),
                2 => zstd(&bytes.repeat(40)),
                _ => zstd(&bytes),
            });
        }
        if let Some((at, bits)) = flip {
            // Not in the first bytes: by these it is known for zstd.
            let at = 4 + at % (compressed.len() - 4);
            compressed[at] ^= bits;
        }
        compressed.truncate(compressed.len().saturating_sub(cut).max(9));
        if flip.is_none() {
            check(&compressed, "any");
            return Ok(());
        }
        // Of a frame whose header lies, more or less may come out: all that it holds at most.
        let all = decode_all_ways(&compressed);
        let (_, (longest, _)) = all.iter().max_by_key(|(_, (bytes, _))| bytes.len()).unwrap();
        for (way, (bytes, error)) in &all {
            prop_assert!(longest.starts_with(bytes), "{way}");
            prop_assert!(longest.len() - bytes.len() <= 60 * 40, "{way}: {}", bytes.len());
            prop_assert_eq!(error.is_some(), all[0].1.1.is_some(), "{}", way);
        }
    }
}
