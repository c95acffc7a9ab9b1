//! Tests of the whole road from paths to chunks.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;

use super::{Chunk, DecompressOptions, Input, InputPlan};
use crate::bytes::{show, show_path};
use crate::crew::Crew;
use crate::error::Error;

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

/// A frame without content size.
fn zstd_of_stream(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn lz4(bytes: &[u8]) -> Vec<u8> {
    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
    let info = FrameInfo::new().block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A directory with files in it, which vanishes at the end of the test.
pub(super) struct Dir(tempfile::TempDir);

impl Dir {
    pub(super) fn new() -> Self {
        Dir(tempfile::tempdir().unwrap())
    }

    pub(super) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(super) fn pipe(&self, name: &str) -> PathBuf {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = self.0.path().join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }
}

/// Reads `paths`, and maps what can be mapped, however short it is.
pub(super) fn plan(paths: &[&Path]) -> InputPlan {
    let paths = paths.iter().map(|&path| path.to_owned()).collect();
    InputPlan { paths, map: true, map_bytes_min: 0, ..<_>::default() }
}

#[test]
fn short_files_are_read() {
    let dir = Dir::new();
    for (bytes, is_mapped) in [(255 << 10, false), (256 << 10, true)] {
        let path = dir.file("text", "a\n".repeat(bytes / 2));
        let plan =
            InputPlan { map_bytes_min: InputPlan::default().map_bytes_min, ..plan(&[&path]) };
        let mut input = Input::open(&plan).unwrap();
        assert_eq!(input.by_ref().map(|chunk| chunk.unwrap().bytes().len()).sum::<usize>(), bytes);
        assert_eq!(input.summaries()[0].mapped, is_mapped, "{bytes}");
    }
}

/// What of a chunk must not depend on how the file is stored and read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    bytes: Vec<u8>,
    file: usize,
    at: u64,
    overlong: Option<u64>,
}

/// Reads all chunks of `plan`, and the error after them. Checks the promises that hold for every
/// chunk.
fn read(plan: &InputPlan) -> (Vec<Seen>, Option<Error>, Input) {
    read_with(plan, DecompressOptions::default())
}

/// Reads all chunks of `plan`, and the error after them, with zstd files decompressed as `how`
/// says. Checks the promises that hold for every chunk.
fn read_with(plan: &InputPlan, how: DecompressOptions) -> (Vec<Seen>, Option<Error>, Input) {
    let mut input = Input::open(plan).unwrap();
    input.decompress_options = how;
    let (mut chunks, mut error) = (Vec::new(), None);
    let chunk_bytes = plan.chunk_bytes.max(1);
    for item in input.by_ref() {
        assert!(error.is_none(), "something follows {error:?}");
        match item {
            Ok(chunk) => {
                check_chunk(&chunk, plan, chunk_bytes);
                chunk.verify().unwrap();
                chunks.push(Seen {
                    bytes: chunk.bytes().to_vec(),
                    file: chunk.file(),
                    at: chunk.at(),
                    overlong: chunk.overlong(),
                });
            }
            Err(found) => error = Some(found),
        }
    }
    assert!(input.next().is_none());
    (chunks, error, input)
}

fn check_chunk(chunk: &Chunk, plan: &InputPlan, chunk_bytes: usize) {
    assert!(!chunk.bytes().is_empty());
    assert_eq!(chunk.starts_file(), chunk.at() == 0);
    match chunk.overlong() {
        None => assert!(chunk.bytes().len() <= chunk_bytes + plan.line_bytes_max.max(1)),
        Some(length) => {
            assert!(length > chunk_bytes.max(plan.line_bytes_max) as u64);
            assert_eq!(chunk.bytes().len() as u64, length.min(1024));
            assert!(!chunk.bytes().contains(&plan.separator));
        }
    }
}

/// What chunks of one file should be, by a definition that looks at one line after the other.
fn expected_events(text: &[u8], plan: &InputPlan) -> (Vec<u8>, Vec<(u64, u64)>) {
    let limit = plan.chunk_bytes.max(1).max(plan.line_bytes_max);
    let (mut inline, mut overlong, mut at) = (Vec::new(), Vec::new(), 0);
    for line in text.split_inclusive(|&byte| byte == plan.separator) {
        let bytes = line.strip_suffix(&[plan.separator]).unwrap_or(line).len();
        if bytes > limit {
            overlong.push((at, bytes as u64));
        } else {
            inline.extend_from_slice(line);
        }
        at += line.len() as u64;
    }
    (inline, overlong)
}

/// Makes threads for frames of any size, which are decoded in pieces of about `piece_bytes`.
fn crew(piece_bytes: u64) -> DecompressOptions {
    let crew = Crew::new(2, |task| drop(std::thread::spawn(task)));
    DecompressOptions { crew: Some(crew), piece_bytes, ..DecompressOptions::default() }
}

/// Makes threads for frames that are all too large to be decoded whole: they are decoded in pieces
/// of `part_bytes`.
fn alone(part_bytes: usize) -> DecompressOptions {
    DecompressOptions { frame_bytes_max: 1, part_bytes, ..crew(1) }
}

/// Reads `text` in every way there is and compares the answers.
fn check_all_ways(text: &[u8], chunk_bytes: usize, line_bytes_max: usize) {
    let dir = Dir::new();
    let (front, back) = text.split_at(text.len() / 3);
    let skippable = [&b"\x5a\x2a\x4d\x18"[..], &2u32.to_le_bytes(), b"\n\n"].concat();
    let plain = dir.file("plain", text);
    let zstd_two = dir.file("two", [&skippable[..], &zstd(front), &zstd(back)].concat());
    let frame_bytes = 1 + text.len() / 9;
    let frames: Vec<u8> = text.chunks(frame_bytes).flat_map(zstd_of_stream).collect();
    let many = dir.file("many", [&skippable[..], &frames, &skippable].concat());
    let gzip_two = dir.file("2", [&gzip(front)[..], &gzip(back), &[0; 20]].concat());
    let ways = [
        (&plain, false, None),
        (&plain, true, None),
        (&dir.file("one frame", zstd(text)), true, Some(crew(1))),
        (&dir.file("one frame", zstd(text)), true, Some(alone(1))),
        (&many, true, Some(alone(8 << 20))),
        (&zstd_two, true, None),
        (&zstd_two, true, Some(crew(1))),
        (&many, false, None),
        (&many, true, Some(crew(1))),
        (&many, true, Some(crew(2 * frame_bytes as u64))),
        (&dir.file("one member", gzip(text)), false, None),
        (&gzip_two, true, None),
        (&dir.file("bzip2", [bzip2(front), bzip2(back)].concat()), true, None),
        (&dir.file("xz", [xz(front), vec![0; 4], xz(back)].concat()), true, None),
        (&dir.file("lz4", [&skippable[..], &lz4(front), &lz4(back)].concat()), true, None),
    ];
    let mut first = None;
    for (path, map, how) in ways {
        let plan = InputPlan { chunk_bytes, line_bytes_max, map, ..plan(&[path]) };
        // Chunks are shorter where a piece of a frame ends.
        let is_in_pieces = how.as_ref().is_some_and(|how| how.frame_bytes_max == 1);
        let (chunks, error, input) = read_with(&plan, how.unwrap_or_default());
        assert!(error.is_none(), "{error:?}");
        let why = format!("{path:?}, map {map}, {chunk_bytes}, {line_bytes_max}, {}", show(text));
        match &first {
            Some(_) if is_in_pieces => {}
            Some(first) => assert_eq!(&chunks, first, "{why}"),
            None => first = Some(chunks.clone()),
        }
        let whole = |chunk: &&Seen| chunk.overlong.is_none();
        let inline: Vec<u8> = chunks.iter().filter(whole).flat_map(|c| c.bytes.clone()).collect();
        let overlong = chunks.iter().filter_map(|c| c.overlong.map(|length| (c.at, length)));
        let (expected_inline, expected_overlong) = expected_events(text, &plan);
        assert_eq!(inline, expected_inline, "{why}");
        assert_eq!(overlong.collect::<Vec<_>>(), expected_overlong, "{why}");
        for chunk in &chunks {
            let start = chunk.at as usize;
            assert!(start == 0 || text[start - 1] == b'\n', "{why}");
            assert_eq!(chunk.bytes, text[start..start + chunk.bytes.len()], "{why}");
        }
        let [summary] = input.summaries() else { panic!("{:?}", input.summaries()) };
        assert_eq!(summary.bytes, text.len() as u64, "{why}");
        assert_eq!(summary.disk_bytes, path.metadata().unwrap().len(), "{why}");
        assert_eq!(summary.mapped, map && path == &plain && !text.is_empty(), "{why}");
        assert!(!summary.grew);
        assert_eq!(input.bytes_total(), Some(summary.disk_bytes));
        assert_eq!(input.progress().load(Ordering::Relaxed), summary.disk_bytes, "{why}");
    }
}

#[test]
fn every_way_of_reading_gives_the_same() {
    let long = "x".repeat(3000);
    for text in [
        "",
        "\n",
        "a",
        "a\nb",
        "a\nb\n",
        "\n\n\n\n\n",
        "http://a.test/\nhttp://b.test/1\n\nhttp://c.test/22\n",
        "0123456789abcdef",
        "0123456789\nabcdef\n",
        "ab\n0123456789abcdef0123456789abcdef\ncd",
        &format!("a\n{long}\nb\n{long}"),
        &format!("{long}\n{long}\n"),
    ] {
        for chunk_bytes in [0, 1, 2, 3, 5, 8, 9, 10, 11, 16, 31, 32, 33, 2999, 3000, 3001, 1 << 20]
        {
            for line_bytes_max in [0, 9, 16, 2999, 3000, 1 << 20] {
                check_all_ways(text.as_bytes(), chunk_bytes, line_bytes_max);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn chunks_are_the_file(
        // Lines of very different lengths; "!" for bytes that are not text.
        text in "(([a-z!]{0,5}\n){0,9}[a-z!]{0,70}\n){0,6}[a-z]{0,40}",
        chunk_bytes in 0usize..80,
        line_bytes_max in 0usize..80,
    ) {
        let text: Vec<u8> = text.bytes().map(|b| if b == b'!' { 0xff } else { b }).collect();
        check_all_ways(&text, chunk_bytes, line_bytes_max);
    }
}

#[test]
fn large_files_cross_the_buffers_of_decoders() {
    let text: Vec<u8> =
        (0..60_000).flat_map(|i| format!("http://a.test/{i}\n").into_bytes()).collect();
    check_all_ways(&text, 64 << 10, 1 << 10);
    check_all_ways(&text, 1 << 20, 1 << 10);
}

#[test]
fn most_chunks_of_a_large_piece_are_not_copied() {
    let text = b"http://a.test/\n".repeat(100_000);
    let dir = Dir::new();
    let path = dir.file("a", zstd(&text).repeat(4));
    let plan = InputPlan { chunk_bytes: 10_000, ..plan(&[&path]) };
    let mut input = Input::open(&plan).unwrap();
    input.decompress_options = crew(1);
    let (mut chunks, mut shared) = (0, 0);
    for chunk in input {
        let text = format!("{:?}", chunk.unwrap());
        chunks += 1;
        shared += u32::from(text.contains("shared: true"));
    }
    assert!(chunks == 601 && shared > 580, "{shared} of {chunks}");
}

#[test]
fn files_follow_each_other() {
    let dir = Dir::new();
    let paths = [
        dir.file("1", "a\nb"),
        dir.file("2", ""),
        dir.file("3", zstd(b"c\nd")),
        dir.file("4.zst", "e"),
        dir.file("5", gzip(b"")),
    ];
    let plan = plan(&paths.each_ref().map(|path| path.as_path()));
    let (chunks, error, input) = read(&plan);
    assert!(error.is_none());
    let seen: Vec<_> = chunks.iter().map(|c| (&c.bytes[..], c.file, c.at)).collect();
    assert_eq!(seen, [(&b"a\nb"[..], 0, 0), (b"c\nd", 2, 0), (b"e", 3, 0)]);
    assert_eq!(input.files(), paths);
    let known: Vec<_> =
        input.summaries().iter().map(|s| (s.compression.name(), s.mapped, s.bytes)).collect();
    let expected = [
        ("none", true, 3),
        ("none", false, 0),
        ("zstd", false, 3),
        ("none", true, 1),
        ("gzip", false, 0),
    ];
    assert_eq!(known, expected);
    assert_eq!(input.bytes_total(), Some(input.progress().load(Ordering::Relaxed)));
}

#[test]
fn lines_may_end_in_nul() {
    let dir = Dir::new();
    let path = dir.file("nul", "a\nb\0c\0\0d");
    for map in [true, false] {
        let plan = InputPlan { separator: 0, chunk_bytes: 4, map, ..plan(&[&path]) };
        let chunks: Vec<_> = read(&plan).0.into_iter().map(|chunk| chunk.bytes).collect();
        assert_eq!(chunks, [&b"a\nb\0"[..], b"c\0\0d"]);
    }
}

#[test]
fn pages_that_were_left_are_there_when_they_are_needed() {
    let text: Vec<u8> =
        (0..9000).flat_map(|i| format!("http://{i}.test/\n").into_bytes()).collect();
    leave_pages_of(&text, 10_000);
    // So long that some are let go of while more are left.
    leave_pages_of(&text.repeat(220), 1 << 20);
}

fn leave_pages_of(text: &[u8], chunk_bytes: usize) {
    let dir = Dir::new();
    let path = dir.file("text", text);
    let plan = InputPlan { chunk_bytes, ..plan(&[&path]) };
    let mut input = Input::open(&plan).unwrap();
    let mut chunks: Vec<_> = input.by_ref().map(Result::unwrap).collect();
    let pinned = chunks[0].pin().expect("the file is mapped");
    let (first, last) = (chunks.remove(0), chunks.pop().unwrap());
    chunks.into_iter().for_each(Chunk::release);
    assert!(text.starts_with(first.bytes()) && text.ends_with(last.bytes()));
    first.release();
    last.release();
    assert!(pinned.bytes() == text);
}

#[test]
fn damaged_files_give_what_they_can() {
    let text: Vec<u8> =
        (0..50_000).flat_map(|i| format!("http://{i}.test/\n").into_bytes()).collect();
    let dir = Dir::new();
    let next = dir.file("next", "never read\n");
    let all = [
        ("zstd", "frame", zstd(&text)),
        ("gzip", "member", gzip(&text)),
        ("xz", "stream", xz(&text)),
        ("lz4", "frame", lz4(&text)),
        ("bzip2", "stream", bzip2(&text)),
    ];
    for (name, unit, compressed) in all {
        let path = dir.file(name, &compressed[..compressed.len() / 2]);
        let plan = InputPlan { chunk_bytes: 1000, ..plan(&[&path, &next]) };
        let (chunks, error, input) = read(&plan);
        let found: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
        assert!(found.len() > 100_000, "{name}: {} of {}", found.len(), text.len());
        assert!(text.starts_with(&found), "{name}");
        let error = error.unwrap();
        assert!(error.is_input());
        let expected = format!(
            "{}: expected the end of a {name} {unit}, found the end of the file after {} decoded bytes",
            show_path(&path),
            found.len()
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert_eq!(input.summaries().len(), 1);
        assert_eq!(input.summaries()[0].bytes, found.len() as u64);
    }
    let path = dir.file("junk", [&zstd(b"a\nhalf a li")[..], b"no frame"].concat());
    let (chunks, error, _) = read(&plan(&[&path]));
    assert_eq!(chunks[0].bytes, b"a\nhalf a li");
    assert!(error.unwrap().to_string().contains("after 11 decoded bytes"));
}

#[test]
fn lines_behind_a_long_one_come_before_the_damage() {
    let dir = Dir::new();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    for piece in [&b"a line of some length, beyond that of chunks\n"[..], b"b\nc\n", b"d\n"] {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
    }
    let compressed = encoder.finish().unwrap();
    for cut in 1..12 {
        let path = dir.file("cut", &compressed[..compressed.len() - cut]);
        for chunk_bytes in [1, 4, 60] {
            let plan = InputPlan { chunk_bytes, line_bytes_max: 100, ..plan(&[&path]) };
            let (expected, expected_error, _) = read(&plan);
            let (chunks, error, _) = read_with(&plan, alone(1));
            assert_eq!(chunks, expected, "{cut} bytes cut, chunks of {chunk_bytes}");
            let words = |error: Option<Error>| error.map(|error| error.to_string());
            assert_eq!(words(error), words(expected_error), "{cut} bytes cut");
        }
    }
}

#[test]
fn archives_and_what_is_packed_twice_are_refused() {
    let dir = Dir::new();
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    for (bytes, expected) in [
        (tar.clone(), "found a tar archive"),
        (gzip(&tar), "inside gzip: expected text"),
        (xz(&zstd(b"a\n")), "found zstd inside xz; unpack one of them first"),
        (b"PK\x03\x04....".to_vec(), "a zip archive (50 4b 03 04); unpack it first"),
        (lz4(b"PK\x03\x04...."), "inside lz4: expected text"),
    ] {
        let path = dir.file("a.txt", bytes);
        let (chunks, error, _) = read(&plan(&[&path]));
        assert!(chunks.is_empty());
        let error = error.unwrap();
        let text = error.to_string();
        assert!(error.is_input() && text.contains("a.txt: ") && text.contains(expected), "{text}");
    }
}

#[test]
fn pipes_are_read() {
    for compressed in [false, true] {
        let dir = Dir::new();
        let path = dir.pipe("pipe");
        let text = b"a line\n".repeat(100_000);
        let sent = if compressed { gzip(&text) } else { text.clone() };
        let writer = std::thread::spawn({
            let path = path.clone();
            move || OpenOptions::new().write(true).open(path).unwrap().write_all(&sent).unwrap()
        });
        let (chunks, error, input) = read(&plan(&[&path]));
        writer.join().unwrap();
        assert!(error.is_none(), "{error:?}");
        assert_eq!(chunks.into_iter().flat_map(|chunk| chunk.bytes).collect::<Vec<_>>(), text);
        assert_eq!(input.bytes_total(), None);
        assert!(!input.summaries()[0].mapped);
    }
}

#[test]
fn lines_of_a_slow_pipe_do_not_wait_for_more() {
    // Shorter and longer than what tells a compression.
    for first in [&b"a\nb\nc\nd\ne\n"[..], b"http://a.test/\n", &b"http://a.test/\n".repeat(99)] {
        let dir = Dir::new();
        let path = dir.pipe("pipe");
        let mut pipe = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        pipe.write_all(first).unwrap();
        let mut input = Input::open(&plan(&[&path])).unwrap();
        // The pipe stays open: without the promise this would wait for ever.
        assert_eq!(input.next().unwrap().unwrap().bytes(), first);
        drop(pipe);
        assert!(input.next().is_none());
    }
}

#[test]
fn the_first_lines_of_a_slow_pipe_are_awaited() {
    let dir = Dir::new();
    let path = dir.pipe("pipe");
    let line = format!("http://a.test/{}\n", "a".repeat(200));
    let writer = std::thread::spawn({
        let (path, line) = (path.clone(), line.clone());
        move || {
            let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
            for _ in 0..60 {
                pipe.write_all(line.as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let plan = InputPlan {
        sample_bytes: 8 << 10,
        // Nobody pauses for so long.
        sample_silence: Duration::from_secs(60),
        ..plan(&[&path])
    };
    let mut input = Input::open(&plan).unwrap();
    let first = input.next().unwrap().unwrap().bytes().len();
    assert!(first > (8 << 10) - line.len(), "{first}");
    // Later ones are not.
    let rest: usize = input.map(|chunk| chunk.unwrap().bytes().len()).sum();
    writer.join().unwrap();
    assert_eq!(first + rest, 60 * line.len());
}

#[test]
fn the_first_lines_of_a_silent_pipe_are_not_awaited_for_ever() {
    let dir = Dir::new();
    let path = dir.pipe("pipe");
    let mut pipe = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    pipe.write_all(b"http://a.test/\n").unwrap();
    let plan = InputPlan {
        sample_bytes: 8 << 10,
        sample_silence: Duration::from_millis(20),
        ..plan(&[&path])
    };
    let mut input = Input::open(&plan).unwrap();
    assert_eq!(input.next().unwrap().unwrap().bytes(), b"http://a.test/\n");
    drop(pipe);
    assert!(input.next().is_none());
}

#[test]
#[cfg(target_os = "linux")]
fn made_up_files_are_read() {
    for path in ["/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"] {
        let Ok(expected) = fs::read(path) else { continue };
        let (chunks, error, input) = read(&plan(&[Path::new(path)]));
        assert!(error.is_none(), "{error:?}");
        assert_eq!(chunks[0].bytes.first(), expected.first());
        assert!(!input.summaries()[0].mapped);
    }
}

/// A file of many chunks, and its first chunk.
fn begin(dir: &Dir, map: bool) -> (PathBuf, Input, Chunk) {
    let path = dir.file("log", b"a line\n".repeat(1000));
    let plan = InputPlan { chunk_bytes: 700, map, ..plan(&[&path]) };
    let mut input = Input::open(&plan).unwrap();
    let chunk = input.next().unwrap().unwrap();
    assert_eq!(input.summaries()[0].mapped, map);
    (path, input, chunk)
}

#[test]
fn a_log_that_grows_is_read_up_to_its_size() {
    for map in [false, true] {
        let dir = Dir::new();
        let (path, mut input, chunk) = begin(&dir, map);
        OpenOptions::new().append(true).open(path).unwrap().write_all(b"more\n").unwrap();
        let rest: usize = input.by_ref().map(|chunk| chunk.unwrap().bytes().len()).sum();
        assert_eq!(chunk.bytes().len() + rest, 7000);
        chunk.verify().unwrap();
        assert!(input.summaries()[0].grew);
    }
}

#[test]
fn a_file_that_is_cut_short_is_an_error() {
    for map in [false, true] {
        let dir = Dir::new();
        let (path, mut input, chunk) = begin(&dir, map);
        // Not below the first page, so that nothing that is mapped raises a signal.
        File::options().write(true).open(&path).unwrap().set_len(6000).unwrap();
        let mut rest: Vec<_> = input.by_ref().collect();
        let error = rest.pop().unwrap().unwrap_err();
        assert!(error.is_input());
        let error = error.to_string();
        assert!(error.contains("expected 7000 bytes as when it was opened, found 6000"), "{error}");
        let delivered: usize = rest.iter().map(|chunk| chunk.as_ref().unwrap().bytes().len()).sum();
        assert_eq!(delivered, if map { 0 } else { 5300 });
        assert_eq!(chunk.verify().is_err(), map);
        assert!(input.next().is_none());
    }
}

#[test]
fn a_packed_file_that_grows_is_read_up_to_its_size() {
    let dir = Dir::new();
    let text: Vec<u8> = (0..400_000u32)
        .flat_map(|i| format!("{}\n", i.wrapping_mul(0x9e37_79b9)).into_bytes())
        .collect();
    for how in [DecompressOptions::default(), alone(1), crew(2)] {
        let path = dir.file("a", zstd(&text));
        let mut input = Input::open(&InputPlan { chunk_bytes: 1000, ..plan(&[&path]) }).unwrap();
        input.decompress_options = how;
        let chunk = input.next().unwrap().unwrap();
        OpenOptions::new().append(true).open(path).unwrap().write_all(b"junk").unwrap();
        let rest: usize = input.by_ref().map(|chunk| chunk.unwrap().bytes().len()).sum();
        assert_eq!(chunk.bytes().len() + rest, text.len());
        assert!(input.summaries()[0].grew);
    }
}

#[test]
fn a_packed_file_that_is_cut_short_is_named_as_such() {
    let dir = Dir::new();
    let text: Vec<u8> = (0..400_000u32)
        .flat_map(|i| format!("{}\n", i.wrapping_mul(0x9e37_79b9)).into_bytes())
        .collect();
    let path = dir.file("a", zstd(&text));
    let size = path.metadata().unwrap().len();
    let plan = InputPlan { chunk_bytes: 1000, ..plan(&[&path]) };
    let mut input = Input::open(&plan).unwrap();
    input.next().unwrap().unwrap();
    File::options().write(true).open(&path).unwrap().set_len(size / 2).unwrap();
    let error = input.find_map(Result::err).unwrap().to_string();
    assert!(error.contains(&format!("found {}: the file was cut short", size / 2)), "{error}");
}
