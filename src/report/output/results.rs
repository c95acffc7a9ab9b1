//! The results of a run: all of them are written whole before the first is published.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::Output;
use super::pending::{Pending, Published, folder_of, sync_folder};
use super::predecessor::Predecessor;
use crate::bytes::show_path;
use crate::error::{Error, Result};

/// The results of a run, which are published together or not at all.
///
/// A full disk or a closed pipe makes finishing fail. Publishing renames files, and undoes that if
/// one of them cannot be renamed. So a run that fails leaves all files unchanged, unless the file
/// system cannot exchange two files, or the disk fails after all were renamed. What was written to
/// a stream cannot be undone.
#[derive(Debug, Default)]
pub struct Results {
    /// The results that go to files, with their names in messages.
    files: Vec<(String, Pending)>,
    /// The result that is published after all others, and its predecessor.
    last: Option<(String, Pending, Predecessor)>,
}

impl Results {
    /// Writes the rest of `output`: to where it goes or, for a file, to the disk, without its name.
    pub fn finish(&mut self, output: Output) -> Result<()> {
        self.files.extend(output.finish()?);
        Ok(())
    }

    /// Writes the rest of `output`, as [`Results::finish`] does, for a result that updates the file
    /// that was read from its place, and depends on the other results: it is published after them,
    /// and only if its `predecessor` is still there. A run has at most one.
    pub fn finish_last(&mut self, output: Output, predecessor: Predecessor) -> Result<()> {
        assert!(self.last.is_none(), "a run has one last result");
        self.last = output.finish()?.map(|(name, file)| (name, file, predecessor));
        Ok(())
    }

    /// Returns the folder of the result that other runs may update as well, if there is one.
    ///
    /// Of runs that publish there at the same time, all but one notice it and fail. But they cannot
    /// determine which of two others was first, so they should take turns.
    pub fn shared_folder(&self) -> Option<&Path> {
        self.last.as_ref().map(|(_, file, _)| folder_of(file.path()))
    }

    /// Publishes the results in the order in which they were finished; after one that fails, none.
    /// Then makes their names durable, unless that is left to the system. Returns warnings: which
    /// old files could not be removed, and which names could not be made durable.
    ///
    /// Failure: an error of the system, or one if the predecessor of the last result is not there
    /// any more.
    pub fn publish(self) -> Result<Vec<String>> {
        self.publish_by(sync_folder)
    }

    /// Publishes the results, as [`Results::publish`] does, where `sync` makes the names in a
    /// folder durable.
    fn publish_by(self, sync: impl Fn(&Path) -> io::Result<()>) -> Result<Vec<String>> {
        let mut files = self.files;
        let mut predecessor = None;
        if let Some((name, file, its)) = self.last {
            files.push((name, file));
            predecessor = Some(its);
        }
        for (name, file) in &mut files {
            file.name().map_err(|error| Error::writing(name, error))?;
        }
        // Checked before anything is changed. Without a lock, since the process that has started
        // this run, such as `flock`, may hold one.
        if let (Some((name, last)), Some(predecessor)) = (files.last(), &predecessor) {
            let now = Predecessor::at(last.path()).map_err(|error| Error::writing(name, error))?;
            predecessor.check(&now).map_err(|error| error.at(name))?;
        }
        let mut published = Vec::with_capacity(files.len());
        if let Err(error) = publish_all(files, predecessor, &mut published, &sync) {
            return Err(take_back(published, error));
        }
        let mut left = Vec::new();
        for (name, file) in &mut published {
            left.extend(file.remove_old_file().err().map(|why| format!("{name}: {why}")));
        }
        // After that, so that no old file reappears after a power failure. Not an error, after
        // which users would run again: then everything would count as seen.
        left.extend(sync_names(&published, &sync).err().map(NotDurable::of_complete_results));
        Ok(left)
    }
}

/// Why a name is not durable.
struct NotDurable<'a> {
    /// The name of the result in messages.
    name: &'a str,
    folder: &'a Path,
    error: io::Error,
}

impl NotDurable<'_> {
    /// The warning for results that are complete: the run need not be repeated.
    #[cold]
    fn of_complete_results(self) -> String {
        format!(
            "{}: the results are complete, but may not survive a crash of the machine: cannot make their \
             names durable, by a sync of {}: {}; check the disk, and copy them elsewhere",
            self.name,
            show_path(self.folder),
            self.error
        )
    }
}

/// Makes the names of what is `published` durable by `sync`, each folder once. Failure: the first.
fn sync_names<'a>(
    published: &'a [(String, Published)],
    sync: &impl Fn(&Path) -> io::Result<()>,
) -> Result<(), NotDurable<'a>> {
    let mut synced = HashSet::new();
    let mut first = Ok(());
    for (name, file) in published {
        let Some(folder) = file.folder_to_sync().filter(|folder| synced.insert(*folder)) else {
            continue;
        };
        let done = sync(folder).map_err(|error| NotDurable { name, folder, error });
        first = first.and(done);
    }
    first
}

/// Publishes `files` in order, and adds each to `published`.
fn publish_all(
    files: Vec<(String, Pending)>,
    predecessor: Option<Predecessor>,
    published: &mut Vec<(String, Published)>,
    sync: &impl Fn(&Path) -> io::Result<()>,
) -> Result<()> {
    let last = files.len() - usize::from(predecessor.is_some());
    for (at, (name, file)) in files.into_iter().enumerate() {
        if at == last {
            // The last result must not survive a power failure without the others.
            sync_names(published, sync).map_err(|why| Error::writing(why.name, why.error))?;
        }
        let file = file.publish().map_err(|error| Error::writing(&name, error))?;
        published.push((name, file));
    }
    if let (Some((name, last)), Some(predecessor)) = (published.last(), predecessor) {
        // Another run may have published since the check.
        let was = last.predecessor().map_err(|error| Error::writing(name, error))?;
        was.map_or(Ok(()), |was| predecessor.check(&was)).map_err(|error| error.at(name))?;
    }
    Ok(())
}

/// Undoes what is `published`, after `error`. Returns the error, with the files that could not be
/// restored.
fn take_back(published: Vec<(String, Published)>, error: Error) -> Error {
    let mut stay = Vec::new();
    for (name, file) in published.into_iter().rev() {
        if let Err(why) = file.take_back() {
            stay.push(format!("{name} {why}"));
        }
    }
    match stay[..] {
        [] => error,
        _ => error.and(stay.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs::{self, File};

    use rustix::io::Errno;

    use super::super::skipped::skip;
    use super::*;
    use crate::report::{ClaimedPaths, OutputThreads, Syncing};

    #[test]
    fn none_is_published_when_one_cannot_be_written() {
        let Ok(true) = fs::exists("/dev/full") else {
            return skip("there is no /dev/full");
        };
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        fs::write(&first, "old").unwrap();
        let finish = |paths: &[&Path]| {
            let (mut claims, mut results) = (ClaimedPaths::new(&[]), Results::default());
            for path in paths {
                let mut output = claims.open(Some(path))?;
                output.write(b"new")?;
                results.finish(output)?;
            }
            results.publish().map(|left| assert!(left.is_empty()))
        };
        let error = finish(&[&first, &second, Path::new("/dev/full")]).unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: cannot write"), "{error}");
        assert_eq!(fs::read(&first).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        finish(&[&first, &second]).unwrap();
        assert_eq!(fs::read(&first).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn none_is_published_when_one_cannot_get_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let [first, new, second] = ["first", "new", "second"].map(|name| folder.path().join(name));
        fs::write(&first, "old").unwrap();
        let (mut claims, mut results) = (ClaimedPaths::new(&[]), Results::default());
        for path in [&first, &new, &second] {
            results.finish(claims.open(Some(path)).unwrap()).unwrap();
        }
        fs::create_dir(&second).unwrap();
        let error = results.publish().unwrap_err().to_string();
        assert!(
            error.contains("second: cannot write") && !error.contains("is the new file"),
            "{error}"
        );
        assert_eq!(fs::read(&first).unwrap(), b"old");
        assert!(second.is_dir() && fs::read_dir(folder.path()).unwrap().count() == 2);
    }

    /// Results of the files in `folder`, the last of which is what others go on with.
    fn finished(folder: &Path, names: &[&str], last: &str, threads: OutputThreads) -> Results {
        let mut claims = ClaimedPaths::default();
        claims.set_threads(threads);
        let mut open = |name: &str| claims.open(Some(&folder.join(name))).unwrap();
        let mut results = Results::default();
        names.iter().for_each(|name| results.finish(open(name)).unwrap());
        results.finish_last(open(last), Predecessor::none()).unwrap();
        results
    }

    #[test]
    fn names_are_made_durable_when_all_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        ["x", "y"].iter().for_each(|name| fs::create_dir(root.join(name)).unwrap());
        let names = ["x/a", "y/b", "x/c"];
        let files = |folder: &Path| fs::read_dir(folder).unwrap().count();
        fs::write(root.join("x/a"), "old").unwrap();
        let synced = RefCell::new(Vec::new());
        let sync = |folder: &Path| {
            let name = folder.strip_prefix(&root).unwrap().to_str().unwrap().to_string();
            synced.borrow_mut().push((name, root.join("seen").exists(), files(folder)));
            Ok(())
        };
        let left = finished(&root, &names, "seen", OutputThreads::default()).publish_by(sync);
        assert!(left.unwrap().is_empty());
        // The results before what remembers them, with the old file beside; then all.
        let expected =
            [("x", false, 3), ("y", false, 1), ("x", true, 2), ("y", true, 1), ("", true, 3)];
        let expected = expected.map(|(name, seen, files)| (name.to_string(), seen, files));
        assert_eq!(synced.take(), expected);
        fs::remove_file(root.join("seen")).unwrap();
        let left_to_system =
            OutputThreads { syncing: Syncing::LeftToSystem, ..OutputThreads::default() };
        finished(&root, &names, "seen", left_to_system).publish_by(sync).unwrap();
        assert_eq!(synced.take(), []);
    }

    #[test]
    fn names_that_are_not_durable_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let there = || fs::read_dir(folder.path()).unwrap().count();
        let finished = || finished(folder.path(), &["a"], "seen", OutputThreads::default());
        let fails = |_: &Path| Err(io::Error::from_raw_os_error(Errno::IO.raw_os_error()));
        let error = finished().publish_by(fails).unwrap_err().to_string();
        assert!(error.contains("a: cannot write: ") && there() == 0, "{error}");
        let fails_when_all_is_there = |place: &Path| match place.join("seen").exists() {
            true => fails(place),
            false => Ok(()),
        };
        let told = finished().publish_by(fails_when_all_is_there).unwrap();
        assert_eq!((told.len(), there()), (1, 2));
        assert!(told[0].contains("/a: the results are complete, but may not survive a crash"));
    }

    #[test]
    fn none_is_published_when_the_last_has_another_predecessor() {
        let folder = tempfile::tempdir().unwrap();
        let [first, last] = ["first", "last"].map(|name| folder.path().join(name));
        let finish = |predecessor: Predecessor| {
            let (mut claims, mut results) = (ClaimedPaths::new(&[]), Results::default());
            results.finish_last(claims.open(Some(&last)).unwrap(), predecessor).unwrap();
            results.finish(claims.open(Some(&first)).unwrap()).unwrap();
            results
        };
        let was_read = || Predecessor::of(&File::open(&last).unwrap()).unwrap();
        // None of them knows of the other.
        let [earlier, later] = [0, 1].map(|_| finish(Predecessor::none()));
        earlier.publish().unwrap();
        fs::remove_file(&first).unwrap();
        let error = later.publish().unwrap_err().to_string();
        assert!(error.contains("another run"), "{error}");
        let [earlier, later] = [0, 1].map(|_| finish(was_read()));
        earlier.publish().unwrap();
        fs::remove_file(&first).unwrap();
        assert!(later.publish().is_err());
        let late = finish(was_read());
        fs::remove_file(&last).unwrap();
        assert!(late.publish().is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is published or left");
    }
}
