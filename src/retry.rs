//! Retries system calls that a signal has interrupted (`EINTR`).
//!
//! Local files are never interrupted, but files of networks and of user-space file systems are, and
//! some of the libraries that read and write for us take that for a failure.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// A reader or a writer whose calls are retried for as long as a signal interrupts them.
#[derive(Debug)]
pub(crate) struct RetryInterrupted<T>(pub(crate) T);

/// What `call` returns when nothing interrupts it.
pub(crate) fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl<R: Read> Read for RetryInterrupted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        retry_interrupted(|| self.0.read(buffer))
    }
}

impl<W: Write> Write for RetryInterrupted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        retry_interrupted(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        retry_interrupted(|| self.0.flush())
    }
}

impl<S: Seek> Seek for RetryInterrupted<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interrupted before each call that does something.
    #[derive(Default)]
    struct Restless {
        calls: usize,
        written: Vec<u8>,
    }

    impl Restless {
        fn next(&mut self) -> io::Result<()> {
            self.calls += 1;
            if self.calls.is_multiple_of(3) {
                Ok(())
            } else {
                Err(io::ErrorKind::Interrupted.into())
            }
        }
    }

    impl Read for Restless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.next()?;
            buffer[0] = b'x';
            Ok(usize::from(self.calls < 9))
        }
    }

    impl Write for Restless {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.next()?;
            self.written.extend_from_slice(&bytes[..1]);
            Ok(1)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.next()
        }
    }

    #[test]
    fn interrupted_calls_are_retried() {
        let mut reader = RetryInterrupted(Restless::default());
        let mut buffer = [0; 4];
        assert_eq!([1, 1, 0].map(|_| reader.read(&mut buffer).unwrap()), [1, 1, 0]);
        let mut writer = RetryInterrupted(Restless::default());
        assert_eq!([(); 2].map(|()| writer.write(b"ab").unwrap()), [1, 1]);
        writer.flush().unwrap();
        assert_eq!((writer.0.written, writer.0.calls), (b"aa".to_vec(), 9));
        let refused: io::Result<()> = retry_interrupted(|| Err(io::ErrorKind::NotFound.into()));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
