//! Decodes bzip2 and xz files, stream after stream.
//!
//! The readers of the two crates drop what they decoded in the call that finds damage. So their
//! decoders are driven here, step by step, and an error is returned after what came before it.

use std::io::{self, BufRead, Read};

use liblzma::stream::{Action, CONCATENATED};

use super::gzip::skip_zeros;

/// What a decoder did in one call.
pub(crate) struct Step {
    /// Bytes of the input that were used.
    used: usize,
    /// Bytes of the output that were filled.
    made: usize,
    /// Is the stream complete? The error is why it cannot go on.
    end: io::Result<bool>,
}

/// A decoder of one or more streams.
pub(crate) trait Decoder: Sized {
    /// Decodes some of `input` into `output`. An empty `input` means the end of the file.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step;

    /// The decoder of the next stream, or `None` if this was the last.
    fn next_stream(&self, reader: &mut impl BufRead) -> io::Result<Option<Self>>;
}

/// The decoded bytes of a file. An end of file inside a stream is an error, never a quiet end.
pub(crate) struct Steps<R, D> {
    reader: R,
    /// `None` after the last stream.
    decoder: Option<D>,
    /// To be returned after the bytes that were decoded before it.
    error: Option<io::Error>,
}

impl<R: BufRead, D: Decoder> Steps<R, D> {
    fn new(reader: R, decoder: D) -> Self {
        Steps { reader, decoder: Some(decoder), error: None }
    }
}

impl<R: BufRead, D: Decoder> Read for Steps<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let input = self.reader.fill_buf()?;
            let at_end = input.is_empty();
            let Step { used, made, end } = decoder.step(input, buffer);
            self.reader.consume(used);
            match end {
                Ok(true) => match decoder.next_stream(&mut self.reader) {
                    Ok(next) => self.decoder = next,
                    Err(error) => self.error = Some(error),
                },
                Ok(false) if at_end && made == 0 => {
                    self.error = Some(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(false) => {}
                Err(error) => self.error = Some(error),
            }
            if made > 0 {
                return Ok(made);
            }
        }
    }
}

/// The streams of a bzip2 file. Zeros after a stream are skipped, as after a member of gzip.
pub(crate) type Bzip2<R> = Steps<R, bzip2::Decompress>;

/// Begins to decode a bzip2 file.
pub(crate) fn bzip2<R: BufRead>(reader: R) -> Bzip2<R> {
    Steps::new(reader, bzip2::Decompress::new(false))
}

impl Decoder for bzip2::Decompress {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (used, made) = (self.total_in(), self.total_out());
        let end = match self.decompress(input, output) {
            Ok(bzip2::Status::StreamEnd) => Ok(true),
            Ok(bzip2::Status::MemNeeded) => Err(io::ErrorKind::OutOfMemory.into()),
            Ok(_) => Ok(false),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        let used = (self.total_in() - used) as usize;
        Step { used, made: (self.total_out() - made) as usize, end }
    }

    fn next_stream(&self, reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        Ok(skip_zeros(reader)?.then(|| bzip2::Decompress::new(false)))
    }
}

/// The streams of an xz file, with the padding between them.
pub(crate) type Xz<R> = Steps<R, XzStreams>;

/// A decoder of all the streams of an xz file.
pub(crate) struct XzStreams(liblzma::stream::Stream);

/// Begins to decode an xz file. The decoder takes at most `memory_bytes_max` bytes of memory.
pub(crate) fn xz<R: BufRead>(reader: R, memory_bytes_max: u64) -> io::Result<Xz<R>> {
    let stream = liblzma::stream::Stream::new_stream_decoder(memory_bytes_max, CONCATENATED)?;
    Ok(Steps::new(reader, XzStreams(stream)))
}

/// Does the error of [`xz`] mean that the memory limit is too low?
pub(crate) fn is_xz_memory_limit(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<liblzma::stream::Error>());
    error == Some(&liblzma::stream::Error::MemLimit)
}

impl Decoder for XzStreams {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (used, made) = (self.0.total_in(), self.0.total_out());
        let action = if input.is_empty() { Action::Finish } else { Action::Run };
        let end = match self.0.process(input, output, action) {
            Ok(liblzma::stream::Status::StreamEnd) => Ok(true),
            Ok(_) => Ok(false),
            Err(error) => Err(io::Error::from(error)),
        };
        let used = (self.0.total_in() - used) as usize;
        Step { used, made: (self.0.total_out() - made) as usize, end }
    }

    /// One decoder decodes all the streams: it ends with the file.
    fn next_stream(&self, _: &mut impl BufRead) -> io::Result<Option<Self>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;
    use crate::bytes::show;

    /// How a file is compressed.
    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Bzip2,
        Xz,
    }

    const KINDS: [Kind; 2] = [Kind::Bzip2, Kind::Xz];

    impl Kind {
        fn compress(self, bytes: &[u8]) -> Vec<u8> {
            match self {
                Kind::Bzip2 => {
                    let level = bzip2::Compression::fast();
                    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), level);
                    encoder.write_all(bytes).unwrap();
                    encoder.finish().unwrap()
                }
                Kind::Xz => {
                    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
                    encoder.write_all(bytes).unwrap();
                    encoder.finish().unwrap()
                }
            }
        }
    }

    type Told = (Vec<u8>, Option<io::ErrorKind>);

    fn decode(kind: Kind, compressed: &[u8], buffer_bytes: usize) -> Told {
        let reader = BufReader::with_capacity(buffer_bytes, compressed);
        let mut bytes = Vec::new();
        let result = match kind {
            Kind::Bzip2 => bzip2(reader).read_to_end(&mut bytes),
            Kind::Xz => xz(reader, 1 << 24).unwrap().read_to_end(&mut bytes),
        };
        (bytes, result.err().map(|error| error.kind()))
    }

    /// Decodes with buffers of many sizes, because seams are where decoders break.
    fn check(
        kind: Kind,
        compressed: &[u8],
        expected: &[u8],
        error: Option<io::ErrorKind>,
        why: &str,
    ) {
        for buffer_bytes in [1, 2, 3, 7, 64, 1 << 16] {
            let (bytes, found) = decode(kind, compressed, buffer_bytes);
            assert_eq!(show(&bytes).to_string(), show(expected).to_string(), "{why}, {kind:?}");
            assert_eq!(found, error, "{why}, {kind:?}");
        }
    }

    const DAMAGED: Option<io::ErrorKind> = Some(io::ErrorKind::InvalidData);

    #[test]
    fn streams() {
        for kind in KINDS {
            let compress = |bytes: &[u8]| kind.compress(bytes);
            let (one, two) = (compress(b"one\n"), compress(b"two\n"));
            check(kind, &one, b"one\n", None, "one stream");
            check(kind, &compress(b""), b"", None, "a stream of nothing");
            check(kind, &[&one[..], &two].concat(), b"one\ntwo\n", None, "two streams");
            let three = [&one[..], &compress(b""), &two].concat();
            check(kind, &three, b"one\ntwo\n", None, "an empty one between");
            check(kind, &[&one[..], &[0; 40]].concat(), b"one\n", None, "zeros at the end");
            check(kind, &[&one[..], &[0; 8], &two].concat(), b"one\ntwo\n", None, "zeros between");
            check(kind, &[&one[..], b"\0\0\0\0junk junk junk"].concat(), b"one\n", DAMAGED, "junk");
        }
    }

    #[test]
    fn damage_comes_after_what_could_be_read() {
        let text: Vec<u8> =
            (0..80_000).flat_map(|i| format!("http://{i}.test/\n").into_bytes()).collect();
        for kind in KINDS {
            let compress = |bytes: &[u8]| kind.compress(bytes);
            let mut compressed = compress(&text);
            let at = compressed.len() * 3 / 4;
            compressed[at] ^= 0x55;
            compressed[at + 1] ^= 0x55;
            let (bytes, error) = decode(kind, &compressed, 1 << 10);
            assert_eq!(error, DAMAGED, "{kind:?}");
            assert!(bytes.len() > text.len() / 2, "{} of {}", bytes.len(), text.len());
            assert!(bytes.len() <= text.len() && bytes[..text.len() / 2] == text[..text.len() / 2]);
        }
    }

    #[test]
    fn an_error_behind_a_stream_comes_after_it() {
        /// Fails when all is read.
        struct Failing<'a>(&'a [u8]);
        impl Read for Failing<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => Err(io::ErrorKind::ConnectionReset.into()),
                    read => Ok(read),
                }
            }
        }
        let compressed = Kind::Bzip2.compress(b"one\n");
        let mut bytes = Vec::new();
        let result = bzip2(BufReader::new(Failing(&compressed))).read_to_end(&mut bytes);
        assert_eq!(bytes, b"one\n");
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn cut_anywhere() {
        for kind in KINDS {
            let compress = |bytes: &[u8]| kind.compress(bytes);
            let (one, two) = (compress(b"one\n"), compress(b"two\n"));
            for end in 1..two.len() {
                let compressed = [&one[..], &two[..end]].concat();
                let (bytes, error) = decode(kind, &compressed, 16);
                assert!(bytes.starts_with(b"one\n"), "{end}: {bytes:?}");
                assert_eq!(error, Some(io::ErrorKind::UnexpectedEof), "{end} bytes, {kind:?}");
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
        options.dict_size(8 << 20);
        let mut filters = liblzma::stream::Filters::new();
        filters.lzma2(&options);
        let check = liblzma::stream::Check::Crc32;
        let stream = liblzma::stream::Stream::new_stream_encoder(&filters, check).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(b"a line\n").unwrap();
        let compressed = encoder.finish().unwrap();
        for (memory_bytes_max, is_enough) in [(8 << 20, false), (9 << 20, true)] {
            let mut bytes = Vec::new();
            let error =
                xz(&compressed[..], memory_bytes_max).unwrap().read_to_end(&mut bytes).err();
            assert_eq!(error.is_none(), is_enough);
            assert_eq!(error.as_ref().is_some_and(is_xz_memory_limit), !is_enough, "{error:?}");
        }
    }
}
