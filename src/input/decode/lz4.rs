//! Decodes LZ4 files, frame after frame.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

/// The frames of an lz4 file, except skippable ones. An end of file inside a frame is an error,
/// never a quiet end.
///
/// 2026-11-21: the decoder of lz4_flex 0.14.0 reads several frames, but accepts the end of the file
/// within a frame, and stops at skippable ones. So each frame gets a decoder of its own.
pub(crate) struct Lz4<R: BufRead>(State<R>);

enum State<R: BufRead> {
    Between(Watched<R>),
    Within(Box<FrameDecoder<Frame<R>>>),
    /// Only while the state changes.
    Moving,
}

impl<R: BufRead> Lz4<R> {
    pub(crate) fn new(reader: R) -> Self {
        Lz4(State::Between(Watched { reader, ended: false }))
    }

    /// Begins the next frame. Returns whether there is one.
    fn next_frame(&mut self, mut reader: Watched<R>) -> io::Result<bool> {
        loop {
            // Byte by byte: it is only four.
            let mut magic = [0; 4];
            let mut read = 0;
            while read < 4 {
                match reader.read(&mut magic[read..])? {
                    0 => break,
                    bytes => read += bytes,
                }
            }
            match magic {
                _ if read == 0 => {
                    self.0 = State::Between(reader);
                    return Ok(false);
                }
                _ if read < 4 => return Err(io::ErrorKind::UnexpectedEof.into()),
                [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                    let mut length = [0; 4];
                    reader.read_exact(&mut length)?;
                    let length = u64::from(u32::from_le_bytes(length));
                    if io::copy(&mut (&mut reader).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                [0x04, 0x22, 0x4d, 0x18] => {
                    let frame = io::Cursor::new(magic).chain(reader);
                    self.0 = State::Within(Box::new(FrameDecoder::new(frame)));
                    return Ok(true);
                }
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "no lz4 frame")),
            }
        }
    }
}

impl<R: BufRead> Read for Lz4<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.0, State::Moving) {
                State::Between(reader) => {
                    if !self.next_frame(reader)? {
                        return Ok(0);
                    }
                }
                State::Within(mut decoder) => match decoder.read(buffer) {
                    Ok(0) if decoder.get_ref().get_ref().1.ended => {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    Ok(0) => self.0 = State::Between(decoder.into_inner().into_inner().1),
                    read => {
                        self.0 = State::Within(decoder);
                        return read;
                    }
                },
                // After an error nothing can follow.
                State::Moving => return Ok(0),
            }
        }
    }
}

/// A frame: its first bytes, which were read before, then the rest.
type Frame<R> = io::Chain<io::Cursor<[u8; 4]>, Watched<R>>;

/// A reader that records whether its end was reached.
struct Watched<R> {
    reader: R,
    ended: bool,
}

impl<R: BufRead> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.ended |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

    use super::*;
    use crate::bytes::show;

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Compresses `bytes` as `lz4` compresses a stream: with linked blocks and checksums.
    fn lz4_of_stream(bytes: &[u8]) -> Vec<u8> {
        let info = FrameInfo::new()
            .block_mode(BlockMode::Linked)
            .block_size(BlockSize::Max64KB)
            .block_checksums(true)
            .content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn skippable(bytes: &[u8]) -> Vec<u8> {
        [&b"\x53\x2a\x4d\x18"[..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
    }

    fn decode(compressed: &[u8], buffer_bytes: usize) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut bytes = Vec::new();
        let mut decoder = Lz4::new(BufReader::with_capacity(buffer_bytes, compressed));
        let error = decoder.read_to_end(&mut bytes).err();
        (bytes, error.map(|error| error.kind()))
    }

    fn check(compressed: &[u8], expected: &[u8], error: Option<io::ErrorKind>, why: &str) {
        for buffer_bytes in [1, 2, 3, 7, 64, 1 << 16] {
            let (bytes, found) = decode(compressed, buffer_bytes);
            assert_eq!(show(&bytes).to_string(), show(expected).to_string(), "{why}");
            assert_eq!(found, error, "{why}");
        }
    }

    #[test]
    fn frames() {
        let (one, two) = (lz4(b"one\n"), lz4_of_stream(b"two\n"));
        let skippable = skippable(b"xyz");
        check(&one, b"one\n", None, "one frame");
        check(&[&one[..], &two].concat(), b"one\ntwo\n", None, "two frames");
        check(&[&skippable[..], &one].concat(), b"one\n", None, "skippable first");
        check(&[&one[..], &skippable, &skippable, &two].concat(), b"one\ntwo\n", None, "between");
        check(&[&one[..], &skippable].concat(), b"one\n", None, "skippable last");
        check(&[&lz4(b"")[..], &two].concat(), b"two\n", None, "a frame of nothing");
        check(&two.repeat(50), &b"two\n".repeat(50), None, "many");
        let text: Vec<u8> =
            (0..40_000).flat_map(|i| format!("http://{i}.test/\n").into_bytes()).collect();
        assert_eq!(decode(&lz4_of_stream(&text).repeat(2), 1 << 14), (text.repeat(2), None));
    }

    #[test]
    fn damage() {
        let (one, two) = (lz4(b"one\n"), lz4_of_stream(b"two\n"));
        let damaged = Some(io::ErrorKind::InvalidData);
        let short = Some(io::ErrorKind::UnexpectedEof);
        check(&[&one[..], b"junk"].concat(), b"one\n", damaged, "junk");
        check(&[&one[..], b"ju"].concat(), b"one\n", short, "two bytes");
        let cut = &skippable(b"xyz")[..10];
        check(&[&one[..], cut].concat(), b"one\n", short, "skippable cut");
        let mut wrong = two.clone();
        *wrong.last_mut().unwrap() ^= 1;
        check(&[&one[..], &wrong].concat(), b"one\ntwo\n", damaged, "a wrong checksum");
    }

    #[test]
    fn cut_anywhere() {
        for second in [lz4(b"two\n"), lz4_of_stream(b"two\n")] {
            for end in 1..second.len() {
                let compressed = [&lz4(b"one\n")[..], &second[..end]].concat();
                let (bytes, error) = decode(&compressed, 16);
                assert!(bytes.starts_with(b"one\n"), "{end}: {bytes:?}");
                assert_eq!(error, Some(io::ErrorKind::UnexpectedEof), "{end} bytes");
            }
        }
    }
}
