//! The results of a run: all of them are written whole before the first is published.

use super::output::Output;
use super::pending::Pending;
use crate::error::{Error, Result};

/// The results of a run, which are published together or not at all.
///
/// What fails for want of room, or since nobody reads any more, fails when it is finished; publishing
/// gives names to files. So a run that fails has left all files as they were. What goes to a stream
/// cannot be taken back.
#[derive(Default)]
pub struct Results {
    /// Those that go to files, with the names that the user knows them by.
    files: Vec<(String, Pending)>,
    /// The one that is published behind all others.
    last: Option<(String, Pending)>,
}

impl Results {
    /// Writes the rest of `output`: to where it goes or, for a file, to the disk, without its name.
    pub fn finish(&mut self, output: Output) -> Result<()> {
        self.files.extend(output.finish()?);
        Ok(())
    }

    /// The same for a result that stands for the others: it is published behind them. A run has one at
    /// most.
    pub fn finish_last(&mut self, output: Output) -> Result<()> {
        assert!(self.last.is_none(), "a run has one last result");
        self.last = output.finish()?;
        Ok(())
    }

    /// Publishes the results in the order in which they were finished. After one that fails none is
    /// published.
    pub fn publish(self) -> Result<()> {
        let mut files: Vec<(String, Pending)> = self.files.into_iter().chain(self.last).collect();
        for (name, file) in &mut files {
            file.name().map_err(|error| Error::writing(name, error))?;
        }
        let publish = |(name, file): (String, Pending)| {
            file.publish().map_err(|error| Error::writing(name, error))
        };
        files.into_iter().try_for_each(publish)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::Claims;
    use super::*;

    #[test]
    fn none_is_published_when_one_cannot_be_written() {
        // Not every system has such a device.
        let Ok(true) = fs::exists("/dev/full") else { return };
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        fs::write(&first, "old").unwrap();
        let finish = |paths: &[&Path]| {
            let (mut claims, mut results) = (Claims::new(&[]), Results::default());
            for path in paths {
                let mut output = claims.open(Some(path))?;
                output.write(b"new")?;
                results.finish(output)?;
            }
            results.publish()
        };
        let error = finish(&[&first, &second, Path::new("/dev/full")]).unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: cannot write"), "{error}");
        assert_eq!(fs::read(&first).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        finish(&[&first, &second]).unwrap();
        assert_eq!(fs::read(&first).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
