//! Any file comes out of `undust::input` line for line, mapped or read, packed or damaged.
//!
//! ```text
//! input = how chunk line file
//! how   = 0x03: 0 the file as it is, 1 gzip it, 2 zstd it, 3 both halves in a frame of their own
//!         0x04: lines end at NUL          0x08: cut the last bytes off
//! chunk, line: chunk_bytes and line_bytes_max, a byte each
//! ```
#![no_main]

use std::io::{self, Read, Write};

use libfuzzer_sys::fuzz_target;
use undust::bytes::Lines;
use undust::input::{Chunk, Compression, Containers, Input, InputPlan};

/// Most decoded bytes that are looked at. Reason: a kilobyte of zstd makes a hundred megabytes.
const DECODED_BYTES_MAX: usize = 1 << 20;

/// Largest zstd window, as a power of two. Reason: the fuzzer's bound on memory.
const WINDOW_LOG_MAX: u32 = 22;

/// How much further than `undust` a plain decoder may come in a damaged file, in bytes. Reason: a
/// decoder that finds damage drops what it decoded in the same call, and no call here asks for that
/// many bytes.
const DROPPED_BYTES_MAX: usize = 1024;

/// What came out of a file.
#[derive(PartialEq, Eq)]
struct Outcome {
    compression: Compression,
    /// Decoded bytes that the chunks account for.
    bytes: usize,
    /// Lines in them.
    lines: usize,
    /// Was that all, or did an error or [`DECODED_BYTES_MAX`] end it?
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Good,
    Damaged,
    Enough,
}

fuzz_target!(|data: &[u8]| {
    let [how, chunk, line, rest @ ..] = data else { return };
    let mut file = pack(how & 3, rest);
    if how & 8 != 0 {
        file.truncate(file.len().saturating_sub(1 + file.len() / 8));
    }
    let temp = tempfile::NamedTempFile::new().expect("there is room for temporary files");
    std::fs::write(temp.path(), &file).expect("there is room for temporary files");
    let plan = InputPlan {
        paths: vec![temp.path().to_owned()],
        separator: if how & 4 != 0 { 0 } else { b'\n' },
        line_bytes_max: usize::from(*line),
        chunk_bytes: usize::from(*chunk),
        zstd_window_bytes_max: 1 << WINDOW_LOG_MAX,
        containers: Containers::None,
        ..InputPlan::default()
    };
    let Some(mapped) = read(&plan, &file, true) else { return };
    let read = read(&plan, &file, false).expect("mapping does not decide what is a packed file");
    assert!(mapped == read, "mapped and read files differ");
    let (is_packed, is_cut) = (how & 3 != 0, how & 8 != 0);
    assert!(!is_packed || is_cut || mapped.end != End::Damaged, "a good file is refused");
});

/// `rest` as the file it is to be.
fn pack(how: u8, rest: &[u8]) -> Vec<u8> {
    let gzip = |part: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).and_then(|()| encoder.finish()).expect("memory takes all")
    };
    let zstd = |part: &[u8]| zstd::encode_all(part, 1).expect("memory takes all");
    let (front, back) = rest.split_at(rest.len() / 2);
    match how {
        0 => rest.to_vec(),
        1 => gzip(rest),
        2 => zstd(rest),
        // What gzip calls members and zstd frames.
        _ if rest.len().is_multiple_of(2) => [gzip(front), gzip(back)].concat(),
        _ => [zstd(front), zstd(back)].concat(),
    }
}

/// Reads the one file of `plan` and checks every chunk; `None` if the file is of a kind that cannot
/// be read. `file` is what is in it.
fn read(plan: &InputPlan, file: &[u8], map: bool) -> Option<Outcome> {
    let plan = InputPlan { map, map_bytes_min: 0, ..plan.clone() };
    let mut input = Input::open(&plan).expect("the file is there");
    let mut chunks = Vec::new();
    let mut bytes = 0;
    let end = loop {
        match input.next() {
            None => break End::Good,
            Some(Err(error)) => {
                assert!(error.is_input() || error.is_limit(), "{error:?}");
                assert!(!error.to_string().contains('\n'), "{error:?}");
                break End::Damaged;
            }
            Some(Ok(chunk)) => {
                chunk.verify().expect("nobody changes the file");
                bytes = chunk.at() as usize + length(&chunk);
                chunks.push(chunk);
                if bytes > DECODED_BYTES_MAX {
                    break End::Enough;
                }
            }
        }
    };
    assert!(end == End::Enough || input.next().is_none(), "something comes after the end");
    // A kind of file that is told by its first bytes and refused.
    let summary = input.summaries().first()?;
    let compression = summary.compression;
    assert!(!summary.grew && summary.mapped <= map);
    // One byte for the separator of an overlong line at the end, one that should not be there.
    let beyond = if end == End::Damaged { DROPPED_BYTES_MAX } else { 2 };
    let (decoded, result) = decode(compression, file, bytes + beyond)?;
    let lines = check(&plan, &chunks, &decoded);
    match (end, result) {
        (End::Enough, _) | (End::Damaged, Err(_)) => {}
        (End::Damaged, Ok(())) => {
            panic!("a good file is taken for a damaged one, or much before the damage is lost");
        }
        (End::Good, Err(error)) => panic!("a damaged file is taken for a good one: {error}"),
        (End::Good, Ok(())) => {
            let is_long = chunks.last().is_some_and(|chunk| chunk.overlong().is_some());
            let rest = &decoded[bytes..];
            assert!(rest.is_empty() || is_long && rest == [plan.separator], "bytes are missing");
        }
    }
    Some(Outcome { compression, bytes, lines, end })
}

/// Decoded bytes that `chunk` accounts for, without the separator of an overlong line.
fn length(chunk: &Chunk) -> usize {
    chunk.overlong().map_or(chunk.bytes().len(), |bytes| bytes as usize)
}

/// The first `bytes` bytes of `file` as plain decoders see them, and what they found wrong up to
/// there. `None` if no decoder is at hand.
fn decode(
    compression: Compression,
    file: &[u8],
    bytes: usize,
) -> Option<(Vec<u8>, io::Result<()>)> {
    let mut decoded = Vec::new();
    let result = match compression {
        Compression::None => fill(&mut decoded, bytes, file),
        Compression::Gzip => gunzip(&mut decoded, bytes, file),
        Compression::Zstd => zstd::Decoder::with_buffer(file).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            fill(&mut decoded, bytes, decoder)
        }),
        Compression::Bzip2 => fill(&mut decoded, bytes, bzip2::read::MultiBzDecoder::new(file)),
        Compression::Xz => {
            fill(&mut decoded, bytes, liblzma::read::XzDecoder::new_multi_decoder(file))
        }
        // No other decoder is at hand that takes several frames and tells their ends.
        Compression::Lz4 => return None,
        other => panic!("{other}: no plain decoder was chosen for it"),
    };
    Some((decoded, result))
}

/// Reads until `decoded` holds `bytes` bytes: one by one, so that none is dropped before an error.
fn fill(decoded: &mut Vec<u8>, bytes: usize, mut reader: impl Read) -> io::Result<()> {
    let mut byte = [0];
    while decoded.len() < bytes && reader.read(&mut byte)? > 0 {
        decoded.push(byte[0]);
    }
    Ok(())
}

/// Member after member, with zeros between and behind them skipped, as gzip does.
fn gunzip(decoded: &mut Vec<u8>, bytes: usize, mut file: &[u8]) -> io::Result<()> {
    loop {
        let mut member = flate2::bufread::GzDecoder::new(file);
        fill(decoded, bytes, &mut member)?;
        if decoded.len() == bytes {
            return Ok(());
        }
        file = member.into_inner();
        let zeros = file.iter().take_while(|byte| **byte == 0).count();
        file = &file[zeros..];
        if file.is_empty() {
            return Ok(());
        }
    }
}

/// Checks that `chunks` are `decoded`, cut between lines; returns the number of lines.
fn check(plan: &InputPlan, chunks: &[Chunk], decoded: &[u8]) -> usize {
    let (mut at, mut lines) = (0, 0);
    let chunk_bytes = plan.chunk_bytes.max(1);
    for (number, chunk) in chunks.iter().enumerate() {
        let shown = chunk.bytes();
        assert!(!shown.is_empty());
        assert_eq!((chunk.file(), chunk.at(), chunk.starts_file()), (0, at as u64, number == 0));
        assert!(decoded[at..].starts_with(shown), "other bytes from {at} on");
        let is_last = number + 1 == chunks.len();
        match chunk.overlong() {
            None => {
                at += shown.len();
                let found = Lines::new(shown, plan.separator).count();
                lines += found;
                assert!(is_last || shown.ends_with(&[plan.separator]), "a line in two chunks");
                assert!(found == 1 || shown.len() <= chunk_bytes, "a chunk of many lines too long");
                assert!(shown.len() <= chunk_bytes.max(plan.line_bytes_max) + 1);
            }
            Some(bytes) => {
                let bytes = bytes as usize;
                assert!(bytes > chunk_bytes.max(plan.line_bytes_max));
                assert_eq!(shown.len(), bytes.min(Chunk::OVERLONG_BYTES_SHOWN));
                let line = &decoded[at..at + bytes];
                assert!(!line.contains(&plan.separator), "an overlong line that ends earlier");
                let next = decoded.get(at + bytes);
                assert!(is_last || next == Some(&plan.separator), "an overlong line in two");
                at += bytes + 1;
                lines += 1;
            }
        }
    }
    let end = at.min(decoded.len());
    assert_eq!(lines, Lines::new(&decoded[..end], plan.separator).count(), "lines are lost");
    lines
}
