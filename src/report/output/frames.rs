//! Compressed output: frames of one size, which a crew compresses in parallel, written in order.
//!
//! ```text
//! written bytes  | 4 MiB | 4 MiB | 4 MiB | the rest |     cut by size alone, not by line or time
//! crew              |       |       |        |
//! file           | frame | frame | frame |  frame   |     each compressed on its own
//! ```
//!
//! So the file is the same for any number of threads, and readers that can, ours among them, may
//! decompress the frames of zstd in parallel. Those of gzip are shorter, and parts of one member
//! (`gzip.rs`).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;

use crate::crew::{Crew, Promise};

/// A compression format with independent frames.
pub(super) trait Format {
    /// Bytes of a frame before compression.
    const FRAME_BYTES: usize;

    /// A compressed frame.
    type Compressed: Send + 'static;

    /// Compresses a frame, on any thread.
    fn compress(frame: &[u8]) -> io::Result<Self::Compressed>;

    /// Writes the frame that comes next.
    fn write(&mut self, frame: Self::Compressed, writer: &mut impl Write) -> io::Result<()>;

    /// Writes what follows the last frame.
    fn end(&mut self, writer: &mut impl Write) -> io::Result<()>;
}

/// Frames of zstd, each with the size of its content and a checksum.
#[derive(Debug, Default)]
pub(super) struct Zstd;

impl Format for Zstd {
    /// Reason: twice the window of the default level, so that little is lost at the start of each
    /// frame; small enough that every thread may have several in memory.
    const FRAME_BYTES: usize = 4 << 20;

    type Compressed = Vec<u8>;

    fn compress(frame: &[u8]) -> io::Result<Vec<u8>> {
        let mut compressor = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
        compressor.include_checksum(true)?;
        compressor.compress(frame)
    }

    fn write(&mut self, frame: Vec<u8>, writer: &mut impl Write) -> io::Result<()> {
        writer.write_all(&frame)
    }

    fn end(&mut self, _: &mut impl Write) -> io::Result<()> {
        Ok(())
    }
}

/// Frames in flight beyond one for each thread: one that is being written, one that waits.
const SPARE_FRAMES: usize = 2;

/// Compresses what is written to it. Without [`FrameWriter::finish`] the last frames are lost.
pub(super) struct FrameWriter<W, F: Format> {
    writer: W,
    format: F,
    crew: Option<Crew>,
    frame_bytes: usize,
    /// The frame that is being filled.
    frame: Vec<u8>,
    /// Frames in flight, in order.
    ahead: VecDeque<Promise<io::Result<F::Compressed>>>,
    /// Has any frame been completed?
    has_frames: bool,
}

impl<W: Write, F: Format + Default> FrameWriter<W, F> {
    /// Writes frames to `writer`. Without a `crew`, each is compressed by the call that fills it.
    pub(super) fn new(writer: W, crew: Option<Crew>) -> Self {
        FrameWriter {
            writer,
            format: F::default(),
            crew,
            frame_bytes: F::FRAME_BYTES,
            frame: Vec::new(),
            ahead: VecDeque::new(),
            has_frames: false,
        }
    }

    /// Writes `bytes`. An error may come with a later call than the one it belongs to.
    pub(super) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.frame.capacity() == 0 {
                self.frame.reserve_exact(self.frame_bytes);
            }
            let room = self.frame_bytes - self.frame.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.frame.extend_from_slice(now);
            bytes = later;
            if self.frame.len() == self.frame_bytes {
                self.end_frame()?;
            }
        }
        Ok(())
    }

    /// Writes the last frame and waits for all. An empty file is one empty frame.
    pub(super) fn finish(mut self) -> io::Result<W> {
        if !self.frame.is_empty() || !self.has_frames {
            self.end_frame()?;
        }
        while self.write_first()? {}
        self.format.end(&mut self.writer)?;
        Ok(self.writer)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.has_frames = true;
        let frame = mem::take(&mut self.frame);
        let Some(crew) = &self.crew else {
            return self.format.write(F::compress(&frame)?, &mut self.writer);
        };
        self.ahead.push_back(crew.spawn(move || F::compress(&frame)));
        if self.ahead.len() > crew.threads() + SPARE_FRAMES {
            self.write_first()?;
        }
        Ok(())
    }

    /// Writes the first frame in flight, if there is any.
    fn write_first(&mut self) -> io::Result<bool> {
        let Some(promise) = self.ahead.pop_front() else { return Ok(false) };
        let compressed =
            promise.wait().ok_or_else(|| io::Error::other("compressing has panicked"))?;
        self.format.write(compressed?, &mut self.writer)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    type Frames = FrameWriter<Vec<u8>, Zstd>;

    /// Threads of their own, so that tasks end in any order.
    fn crew_of(threads: usize) -> Crew {
        Crew::new(threads, |task| drop(std::thread::spawn(task)))
    }

    fn text() -> Vec<u8> {
        (0..9000u32).flat_map(|i| format!("http://a.test/{i}\n").into_bytes()).collect()
    }

    /// What is written when `bytes` come in pieces of `piece_bytes`.
    fn write(bytes: &[u8], frame_bytes: usize, piece_bytes: usize, crew: Option<Crew>) -> Vec<u8> {
        let mut writer = Frames { frame_bytes, ..Frames::new(Vec::new(), crew) };
        for piece in bytes.chunks(piece_bytes) {
            writer.write_all(piece).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn the_same_bytes_for_any_crew_and_any_pieces() {
        let text = text();
        for length in [0, 1, 999, 1000, 1001, 2000, 50_000, text.len()] {
            let text = &text[..length];
            let expected = write(text, 1000, 1000, None);
            assert_eq!(zstd::decode_all(&expected[..]).unwrap(), text);
            let frames: Vec<u8> = match length {
                0 => Zstd::compress(b"").unwrap(),
                _ => text.chunks(1000).flat_map(|frame| Zstd::compress(frame).unwrap()).collect(),
            };
            assert_eq!(expected, frames, "{length} bytes");
            for (threads, piece_bytes) in [(1, 7), (2, 999), (3, 1001), (8, 100_000)] {
                let found = write(text, 1000, piece_bytes, Some(crew_of(threads)));
                assert!(
                    found == expected,
                    "{length} bytes, {threads} threads, {piece_bytes} at once"
                );
            }
        }
    }

    #[test]
    fn frames_state_their_content_size() {
        let compressed = write(&text(), 1 << 20, 1 << 20, None);
        let size = zstd::zstd_safe::get_frame_content_size(&compressed).ok().flatten();
        assert_eq!(size, Some(text().len() as u64));
        let mut flipped = compressed.clone();
        *flipped.last_mut().unwrap() ^= 1;
        assert!(zstd::decode_all(&flipped[..]).is_err(), "there is a checksum");
    }

    #[test]
    fn few_frames_are_in_flight() {
        // Keeps all tasks until the writer has to wait.
        let (sender, receiver) = std::sync::mpsc::channel();
        let crew = Crew::new(3, move |task| sender.send(task).unwrap());
        let mut writer = Frames { frame_bytes: 10, ..Frames::new(Vec::new(), Some(crew)) };
        writer.write_all(&[b'x'; 50]).unwrap();
        assert_eq!(writer.ahead.len(), 5);
        receiver.try_iter().for_each(|task| task());
        drop(std::thread::spawn(move || receiver.iter().for_each(|task| task())));
        writer.write_all(&[b'y'; 50]).unwrap();
        assert_eq!(writer.ahead.len(), 5);
        let compressed = writer.finish().unwrap();
        assert_eq!(
            zstd::decode_all(&compressed[..]).unwrap(),
            b"x".repeat(50).into_iter().chain(b"y".repeat(50)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn failures_are_returned() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for crew in [None, Some(crew_of(2))] {
            let mut writer = FrameWriter::<_, Zstd>::new(Full, crew);
            writer.write_all(b"a line\n").unwrap();
            let error = writer.finish().err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        let tasks = AtomicUsize::new(0);
        let drops_the_second = Crew::new(1, move |task| {
            if tasks.fetch_add(1, Ordering::Relaxed) != 1 {
                task();
            }
        });
        let crew = Some(drops_the_second);
        let mut writer = Frames { frame_bytes: 10, ..Frames::new(Vec::new(), crew) };
        writer.write_all(&[b'x'; 30]).unwrap();
        assert!(writer.finish().err().unwrap().to_string().contains("panicked"));
    }
}
