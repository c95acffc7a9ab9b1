//! Zstd files decoded, frames of one file at the same time where there is a crew for it.
//!
//! ```text
//! disk --> packed bytes | frame | frame | frame || frame | frame || the next frame, not all of it
//!                       \---- one piece -------/\---- piece ----/
//!                        a task for the crew      another task     more has to be read, or
//!                              |                        |          one block after the other
//!                              v                        v          is decoded here
//!                        decoded, whole          decoded, whole
//! ```
//!
//! Pieces are delivered in order. A piece that cannot be decoded goes back to the packed bytes, and
//! from there on all is decoded here: so what is readable, and the error, are the same either way.
//! But for one thing: a frame whose header tells of less than it holds gives another block where
//! the decoder still has the room of a larger frame before it.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use super::compression::{Compression, explain};
use super::frames::{Found, FrameBounds, Walk};
use super::stream::Disk;
use crate::crew::{Crew, Promise};
use crate::error::Error;

/// By whom frames are decoded, and how much is done at once.
#[derive(Clone, Debug)]
pub(super) struct Unpacking {
    /// Who decodes whole frames. Without a crew, nothing is read ahead.
    pub(super) crew: Option<Crew>,
    /// Bytes read from a file at once.
    pub(super) read_bytes: usize,
    /// Decoded bytes that make a piece, about. Small frames share one.
    pub(super) piece_bytes: u64,
    /// Largest frame that is decoded as a whole, packed or not; also the largest piece.
    pub(super) frame_bytes_max: u64,
    /// Decoded bytes under way per thread, about.
    pub(super) hand_bytes: u64,
    /// What frames may refer to. With it, all frames are decoded here, one after the other.
    pub(super) dictionary: Option<Vec<u8>>,
}

impl Default for Unpacking {
    fn default() -> Self {
        Unpacking {
            crew: None,
            read_bytes: 1 << 20,
            // Few enough that all threads have some, enough that a task costs nothing beside them.
            piece_bytes: 4 << 20,
            // pzstd's own frames have 8 MiB at level 3 and 32 MiB at level 19.
            frame_bytes_max: 32 << 20,
            hand_bytes: 16 << 20,
            dictionary: None,
        }
    }
}

/// Bytes asked of a pipe at once. Reason: as much as a pipe holds by default.
const PIPE_READ_BYTES: usize = 64 << 10;

/// Bytes to begin a frame with. Reason: magic and descriptor, which tell how long the header is.
const FRAME_START_BYTES: usize = 5;

/// Source: RFC 8878 3.1.1.2.
const BLOCK_HEADER_BYTES: usize = 3;

/// Most bytes given to the decoder at once. Reason: a block and its header; of a skippable frame it
/// would ask for the whole.
const WANTED_BYTES_MAX: usize = 256 << 10;

/// Pieces under way beyond one for each thread: one that is waited for, one that waits.
const SPARE_PIECES: usize = 2;

/// The decoded bytes of a zstd file. An end of file inside a frame is an error, never a quiet end.
pub(super) struct Unpacker {
    disk: Disk,
    /// Read and not yet decoded, from `used` on.
    packed: Vec<u8>,
    used: usize,
    /// Nothing more will come from the disk.
    disk_ended: bool,
    /// Why, unless it was the end of the file.
    disk_error: Option<io::Error>,
    /// For frames that are decoded here, block by block.
    decoder: Decoder<'static>,
    /// Has the decoder seen a part of a frame?
    in_frame: bool,
    /// How many packed bytes the decoder asks for: what is left of a block.
    wanted: usize,
    /// Has the decoder something left to give?
    is_full: bool,
    bounds: FrameBounds,
    how: Unpacking,
    /// Pieces under way, in order.
    ahead: VecDeque<Piece>,
    /// The piece that is being delivered, and how much of it was.
    piece: Arc<Vec<u8>>,
    delivered: usize,
}

/// Some whole frames.
struct Piece {
    packed: Arc<Vec<u8>>,
    decoded: Promise<io::Result<Vec<u8>>>,
    content_bytes_max: u64,
}

impl Unpacker {
    /// Goes on after `head`, the first bytes of the file. Frames may have windows of at most
    /// `2^window_log_max` bytes; the log is clamped to 10..=31.
    pub(super) fn new(
        head: Vec<u8>,
        disk: Disk,
        window_log_max: u32,
        mut how: Unpacking,
    ) -> io::Result<Self> {
        // The bounds that zstd itself accepts on 64-bit machines: ZSTD_WINDOWLOG_MIN and _MAX.
        let window_log_max = window_log_max.clamp(10, 31);
        let dictionary = how.dictionary.take();
        if dictionary.is_some() {
            how.crew = None;
        }
        let mut decoder = Decoder::with_dictionary(&dictionary.unwrap_or_default())?;
        decoder.set_parameter(DParameter::WindowLogMax(window_log_max))?;
        let bounds = FrameBounds {
            window_bytes_max: 1 << window_log_max,
            frame_bytes_max: how.frame_bytes_max,
        };
        Ok(Unpacker {
            disk,
            packed: head,
            used: 0,
            disk_ended: false,
            disk_error: None,
            decoder,
            in_frame: false,
            wanted: FRAME_START_BYTES,
            is_full: false,
            bounds,
            how,
            ahead: VecDeque::new(),
            piece: Arc::default(),
            delivered: 0,
        })
    }

    /// Appends `bytes` decoded bytes to `buffer`, or more if that has room for them, or fewer at
    /// the end. What comes before an error is kept.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        let goal = buffer.len() + bytes;
        buffer.reserve(bytes);
        while buffer.len() < goal {
            let rest = &self.piece[self.delivered..];
            if !rest.is_empty() {
                let taken = rest.len().min(goal - buffer.len());
                buffer.extend_from_slice(&rest[..taken]);
                self.delivered += taken;
            } else if !self.next_piece() && !self.decode_here(buffer)? {
                break;
            }
        }
        Ok(())
    }

    /// Decoded bytes that can be had without copying them, if there are any: see
    /// [`Unpacker::share`].
    pub(super) fn at_hand(&self) -> &[u8] {
        &self.piece[self.delivered..]
    }

    /// Takes the first `bytes` bytes of those at hand, as a share of a larger buffer.
    pub(super) fn share(&mut self, bytes: usize) -> (Arc<Vec<u8>>, Range<usize>) {
        let range = self.delivered..self.delivered + bytes;
        self.delivered = range.end;
        (Arc::clone(&self.piece), range)
    }

    /// Takes back the last `bytes` bytes that [`Unpacker::fill`] gave: they are at hand again.
    /// `false` if that is not possible any more.
    pub(super) fn take_back(&mut self, bytes: usize) -> bool {
        let start = self.delivered.checked_sub(bytes);
        self.delivered = start.unwrap_or(self.delivered);
        start.is_some()
    }

    /// What `error`, returned by [`Unpacker::fill`] after `decoded` bytes, means to a person.
    pub(super) fn explain(&self, error: io::Error, shown: &str, decoded: u64) -> Error {
        // 2026-11-20: zstd 1.5.7 has a code for this, but the crate hands on its text alone.
        if error.raw_os_error().is_none() && error.to_string().contains("too much memory") {
            return Error::limit(format!(
                "{shown}: expected a zstd window of at most {} KiB, found a frame after {decoded} \
                 decoded bytes that wants a larger one; give it more memory with -S, or decompress \
                 the file first",
                self.bounds.window_bytes_max >> 10,
            ));
        }
        explain(Compression::Zstd, error, shown, decoded)
    }

    /// Makes the next piece the one that is delivered. `false` if there is none: then the frame
    /// that comes next is to be decoded here.
    ///
    /// The last piece was delivered by now.
    fn next_piece(&mut self) -> bool {
        if self.in_frame || self.how.crew.is_none() {
            return false;
        }
        self.drop_used();
        self.plan_ahead(true);
        let Some(Piece { packed, decoded, .. }) = self.ahead.pop_front() else { return false };
        // While this one is waited for.
        self.plan_ahead(false);
        match decoded.wait() {
            Some(Ok(decoded)) => {
                self.piece = Arc::new(decoded);
                self.delivered = 0;
                true
            }
            // Once more, here, to see how far it goes. No thread and no memory are errors, too.
            Some(Err(_)) | None => {
                let mut again = packed.to_vec();
                for piece in self.ahead.drain(..) {
                    again.extend_from_slice(&piece.packed);
                }
                again.append(&mut self.packed);
                self.packed = again;
                self.how.crew = None;
                false
            }
        }
    }

    /// Gives the crew as much to do as it may have under way. Cuts `packed` where it begins: at a
    /// frame, with nothing used.
    fn plan_ahead(&mut self, is_idle: bool) {
        let Some(crew) = self.how.crew.clone() else { return };
        let pieces_max = crew.hands() + SPARE_PIECES;
        let bytes_max = pieces_max as u64 * self.how.hand_bytes;
        let mut bytes: u64 = self.ahead.iter().map(|piece| piece.content_bytes_max).sum();
        while self.ahead.len() < pieces_max && bytes < bytes_max {
            let (end, content_bytes_max) = self.find_piece();
            let is_last = self.disk_ended && end == self.packed.len();
            // Handing over the only piece there is would help nobody.
            if end == 0 || is_idle && is_last && self.ahead.is_empty() {
                break;
            }
            let rest = self.packed.split_off(end);
            let packed = Arc::new(mem::replace(&mut self.packed, rest));
            let decoded = crew.give({
                let packed = Arc::clone(&packed);
                move || decode_frames(&packed, content_bytes_max)
            });
            self.ahead.push_back(Piece { packed, decoded, content_bytes_max });
            bytes += content_bytes_max;
        }
    }

    /// Where the piece ends that begins `packed`, and the most that can come out of it. Reads what
    /// it needs to know that. Zero if it does not begin with a frame for the crew.
    fn find_piece(&mut self) -> (usize, u64) {
        let (mut end, mut content_bytes_max, mut content_bytes) = (0, 0, 0);
        let mut walk = Walk::default();
        while content_bytes < self.how.piece_bytes {
            match walk.step(&self.packed[end..], &self.bounds) {
                Found::Frame { packed_bytes, content_bytes_max: more } => {
                    if content_bytes_max + more > self.how.frame_bytes_max {
                        break;
                    }
                    end += packed_bytes;
                    content_bytes_max += more;
                    // Small frames without a content size look far too large. Reason for the
                    // factor: more than any list packs by.
                    content_bytes += more.min(packed_bytes as u64 * 32);
                    walk = Walk::default();
                }
                Found::More if self.read_more() => {}
                Found::More | Found::Other => break,
            }
            if end as u64 >= self.how.frame_bytes_max {
                break;
            }
        }
        (end, content_bytes_max)
    }

    /// Decodes a block or so into the room that `buffer` has. `false` at the end of the file.
    ///
    /// Room must be left. Frame by frame, so that there may be a piece next.
    fn decode_here(&mut self, buffer: &mut Vec<u8>) -> io::Result<bool> {
        self.piece = Arc::default();
        self.delivered = 0;
        if !self.is_full {
            // Of a stream, one byte is enough: more may come late. A file gives what is asked for,
            // so that the outcome does not depend on how it is read.
            let wanted = if self.disk.is_stream() { 1 } else { self.wanted };
            while self.packed.len() - self.used < wanted && self.read_more() {}
            if self.used == self.packed.len() {
                return match self.disk_error.take() {
                    Some(error) => Err(error),
                    None if self.in_frame => Err(io::ErrorKind::UnexpectedEof.into()),
                    None => Ok(false),
                };
            }
        }
        // No more than a block: a call that fails takes back whatever it has decoded. The decoder
        // asks for the header of the next block as well, where that may be what is damaged.
        let rest = &self.packed[self.used..];
        let block = self.wanted.checked_sub(BLOCK_HEADER_BYTES).filter(|block| *block > 0);
        let given = rest.len().min(block.unwrap_or(self.wanted));
        let mut input = InBuffer::around(&rest[..given]);
        let start = buffer.len();
        let mut output = OutBuffer::around_pos(buffer, start);
        let wanted = self.decoder.run(&mut input, &mut output)?;
        self.used += input.pos();
        self.is_full = output.pos() == output.capacity();
        self.in_frame = wanted > 0;
        // Zero: the frame is complete.
        self.wanted = if wanted > 0 { wanted.min(WANTED_BYTES_MAX) } else { FRAME_START_BYTES };
        if !self.in_frame {
            self.is_full = false;
            self.decoder.reinit()?;
        }
        Ok(true)
    }

    /// Reads more packed bytes. `false` if there are none.
    fn read_more(&mut self) -> bool {
        if self.disk_ended {
            return false;
        }
        self.drop_used();
        let before = self.packed.len();
        let result = if self.disk.is_stream() {
            // What there is may be all for a while.
            self.packed.resize(before + PIPE_READ_BYTES.min(self.how.read_bytes), 0);
            let read = loop {
                match self.disk.read(&mut self.packed[before..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.packed.truncate(before + *read.as_ref().unwrap_or(&0));
            read.map(drop)
        } else {
            self.packed.reserve(self.how.read_bytes);
            self.disk.fill(&mut self.packed, self.how.read_bytes)
        };
        self.disk_error = result.err();
        self.disk_ended = self.disk_error.is_some() || self.packed.len() == before;
        self.packed.len() > before
    }

    fn drop_used(&mut self) {
        self.packed.drain(..self.used);
        self.used = 0;
    }
}

/// What the `packed` frames hold: at most `content_bytes_max` bytes, or they are no good.
fn decode_frames(packed: &[u8], content_bytes_max: u64) -> io::Result<Vec<u8>> {
    let room = usize::try_from(content_bytes_max).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut decoded = Vec::with_capacity(room);
    zstd::bulk::Decompressor::new()?.decompress_to_buffer(packed, &mut decoded)?;
    if decoded.len() < room / 2 {
        decoded.shrink_to_fit();
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::super::mapped::Origin;
    use super::*;
    use crate::bytes::show;

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 1).unwrap()
    }

    /// As `zstd` makes it of a stream: no content size, the window in the header, a checksum.
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
    fn disk(packed: &[u8]) -> (Disk, Vec<u8>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(packed).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let size = Some(packed.len() as u64);
        let origin = Arc::new(Origin { file, shown: "a".to_string(), size });
        let mut disk = Disk::new(&origin, size, &Arc::default());
        let mut head = Vec::new();
        disk.fill(&mut head, 10).unwrap();
        (disk, head)
    }

    /// What came out before the end or the error.
    fn decode(packed: &[u8], window_log_max: u32, how: Unpacking) -> (Vec<u8>, Option<Error>) {
        let (disk, head) = disk(packed);
        let mut unpacker = Unpacker::new(head, disk, window_log_max, how).unwrap();
        let mut bytes = Vec::new();
        loop {
            let before = bytes.len();
            match unpacker.fill(&mut bytes, 50) {
                Ok(()) if bytes.len() < before + 50 => return (bytes, None),
                Ok(()) => {}
                Err(error) => {
                    let decoded = bytes.len() as u64;
                    return (bytes, Some(unpacker.explain(error, "a", decoded)));
                }
            }
        }
    }

    /// What came out, and what was said of the error, if there was one.
    type Told = (Vec<u8>, Option<String>);

    /// Decodes with portions of many sizes, because seams are where decoders break. First alone.
    fn decode_all_ways(packed: &[u8]) -> Vec<(String, Told)> {
        // Without the decoder's own words, which depend on the frames that it saw before.
        let told = |(bytes, error): (Vec<u8>, Option<Error>)| {
            let words = |error: Error| error.to_string().split(" (").next().unwrap().to_owned();
            (bytes, error.map(words))
        };
        let mut all = Vec::new();
        for read_bytes in [1 << 20, 1, 2, 3, 7, 64] {
            let how = Unpacking { read_bytes, ..Unpacking::default() };
            all.push((format!("{read_bytes} at once"), told(decode(packed, 31, how))));
        }
        for (piece_bytes, frame_bytes_max, hand_bytes) in
            [(1, 40, 1), (1, 1 << 20, 9), (30, 1 << 20, 1 << 20), (4 << 20, 32 << 20, 16 << 20)]
        {
            let crew = Some(threads());
            let how = Unpacking {
                crew,
                read_bytes: 20,
                piece_bytes,
                frame_bytes_max,
                hand_bytes,
                dictionary: None,
            };
            all.push((format!("pieces of {piece_bytes}"), told(decode(packed, 31, how))));
        }
        all
    }

    /// Checks that all ways tell the same.
    fn check(packed: &[u8], why: &str) -> Told {
        let mut all = decode_all_ways(packed);
        let (_, alone) = all.swap_remove(0);
        for (way, found) in all {
            assert_eq!(found, alone, "{why}, {way}");
        }
        alone
    }

    fn check_good(packed: &[u8], expected: &[u8], why: &str) {
        let (bytes, error) = check(packed, why);
        assert_eq!((show(&bytes).to_string(), error), (show(expected).to_string(), None), "{why}");
    }

    fn check_bad(packed: &[u8], expected: &[u8], words: &str, why: &str) {
        let (bytes, error) = check(packed, why);
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
        let packed = [&one[..], &two, &wrong, &two, &one].concat();
        let (bytes, error) = check(&packed, "a wrong checksum");
        assert!(bytes.starts_with(b"one\ntwo\n") && bytes.len() <= 12, "{}", show(&bytes));
        assert!(error.is_some());
        // Says that it holds more, or less, than it does.
        for size in [3, 5] {
            let mut wrong = one.clone();
            wrong[5] = size;
            let packed = [&two[..], &wrong, &two].concat();
            let (bytes, error) = check(&packed, "a wrong content size");
            assert!(bytes.starts_with(b"two\n") && error.is_some(), "{size}: {}", show(&bytes));
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
        let packed = zstd(&text);
        let mut blocks = Vec::new();
        let mut walk = Walk::default();
        let bounds = FrameBounds { window_bytes_max: 1 << 31, frame_bytes_max: 1 << 31 };
        for end in 0..packed.len() {
            walk.step(&packed[..end], &bounds);
            if blocks.last() != Some(&walk.next_block()) {
                blocks.push(walk.next_block());
            }
        }
        // The tenth block becomes one of a kind that there is not.
        let mut damaged = packed.clone();
        damaged[blocks[10]] |= 6;
        let (bytes, error) = decode(&damaged, 31, Unpacking::default());
        assert!(error.is_some() && text.starts_with(&bytes));
        let (cut, _) = decode(&packed[..blocks[10]], 31, Unpacking::default());
        assert!(bytes.len() > 500_000 && bytes == cut, "{} and {} bytes", bytes.len(), cut.len());
    }

    #[test]
    fn windows_are_bounded() {
        // Not a single segment and no content size, so that the window is in the header.
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(20).unwrap();
        encoder.write_all(b"a line\n").unwrap();
        encoder.flush().unwrap();
        let packed = encoder.finish().unwrap().repeat(2);
        for crew in [None, Some(threads())] {
            let how = Unpacking { crew, piece_bytes: 1, ..Unpacking::default() };
            let (bytes, error) = decode(&packed, 19, how.clone());
            let error = error.unwrap();
            assert!(error.is_limit() && error.to_string().contains("at most 512 KiB"), "{error}");
            assert!(bytes.is_empty());
            assert_eq!(decode(&packed, 20, how).0, b"a line\na line\n");
        }
    }

    #[test]
    fn a_crew_that_fails_is_done_without() {
        let packed = zstd(b"a line\n").repeat(50);
        // Drops each third task, which is what a panic looks like.
        let tasks = AtomicUsize::new(0);
        let crew = Crew::new(2, move |task| {
            if tasks.fetch_add(1, Ordering::Relaxed) % 3 < 2 {
                task();
            }
        });
        let how = Unpacking { crew: Some(crew), piece_bytes: 1, ..Unpacking::default() };
        let (bytes, error) = decode(&packed, 31, how);
        assert!(error.is_none());
        assert_eq!(bytes, b"a line\n".repeat(50));
    }

    #[test]
    fn little_is_under_way() {
        let packed = zstd(&[b'x'; 1000]).repeat(500);
        // By number, and by content; the one that is delivered is not among them.
        for (hands, hand_bytes, expected) in [(1, 2000, 3), (4, 2000, 6), (4, 500, 3)] {
            let crew = Some(Crew::new(hands, |task| task()));
            let how = Unpacking { crew, piece_bytes: 1, hand_bytes, ..Unpacking::default() };
            let (disk, head) = disk(&packed);
            let mut unpacker = Unpacker::new(head, disk, 31, how).unwrap();
            unpacker.fill(&mut Vec::new(), 1).unwrap();
            assert_eq!(unpacker.ahead.len(), expected, "{hands} hands, {hand_bytes} bytes each");
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
            let mut packed = zstd(b"");
            for (kind, bytes) in frames {
                packed.extend(match kind {
                    0 => skippable(&bytes),
                    1 => zstd_of_stream(&bytes),
                    2 => zstd(&bytes.repeat(40)),
                    _ => zstd(&bytes),
                });
            }
            if let Some((at, bits)) = flip {
                // Not in the first bytes: by these it is known for zstd.
                let at = 4 + at % (packed.len() - 4);
                packed[at] ^= bits;
            }
            packed.truncate(packed.len().saturating_sub(cut).max(9));
            if flip.is_none() {
                check(&packed, "any");
                return Ok(());
            }
            // Of a frame whose header lies, more or less may come out: see above.
            let all = decode_all_ways(&packed);
            let (_, (longest, _)) = all.iter().max_by_key(|(_, (bytes, _))| bytes.len()).unwrap();
            for (way, (bytes, error)) in &all {
                prop_assert!(longest.starts_with(bytes), "{way}");
                prop_assert!(longest.len() - bytes.len() <= 60, "{way}: {}", bytes.len());
                prop_assert_eq!(error.is_some(), all[0].1.1.is_some(), "{}", way);
            }
        }
    }
}
