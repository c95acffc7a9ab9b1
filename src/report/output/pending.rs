//! A file that is written without its final name, in the folder where it will be published.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::{Errno, retry_on_intr};
use tempfile::TempPath;

use super::predecessor::Predecessor;
use crate::bytes::show_path;

/// A file that has yet to get its name.
///
/// It is unnamed meanwhile: until it is published the old file is untouched, and nothing is left
/// however the process ends, except if the file system does not support unnamed files, or there is
/// no `/proc` to name them by.
#[derive(Debug)]
pub(crate) struct Pending {
    file: File,
    path: PathBuf,
    /// Its temporary name, `.undust-….tmp`: if unnamed files are not supported, and while it is
    /// published.
    temporary: Option<TempPath>,
    /// The final owner, user and group.
    owner: Option<(Uid, Gid)>,
    /// Must it survive a crash of the machine?
    is_durable: bool,
}

impl Pending {
    /// Opens a file in the folder of `path`, with the permissions `mode`, if given.
    pub(super) fn open(path: &Path, mode: Option<u32>) -> io::Result<Pending> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::open(folder_of(path), flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => {
                let file = File::from(file);
                // Checked now, before anything is written: a bare chroot has no /proc.
                if fs::metadata(link_to(&file)).is_err() {
                    return Pending::open_named(path, mode);
                }
                keep_mode(&file, mode)?;
                Ok(Pending::new(file, path, None))
            }
            // Some file systems have no unnamed files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Pending::open_named(path, mode),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file in the folder of `path` with a temporary name, which remains if the process is
    /// killed; with the permissions `mode`, if given.
    fn open_named(path: &Path, mode: Option<u32>) -> io::Result<Pending> {
        // Under the umask, and never open to more people than the old file was.
        let at_first = fs::Permissions::from_mode(mode.unwrap_or(0o666) & 0o777);
        let file = tempfile::Builder::new()
            .prefix(".undust-")
            .suffix(".tmp")
            .permissions(at_first)
            .tempfile_in(folder_of(path))?;
        let (file, temporary) = file.into_parts();
        keep_mode(&file, mode)?;
        Ok(Pending::new(file, path, Some(temporary)))
    }

    fn new(file: File, path: &Path, temporary: Option<TempPath>) -> Pending {
        Pending { file, path: path.to_path_buf(), temporary, owner: None, is_durable: false }
    }

    /// Returns the file, to be written.
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// When it is published, the file gets the owner of the `old` one, if this process may change
    /// that.
    pub(super) fn keep_owner(&mut self, old: &fs::Metadata) {
        self.owner = Some((Uid::from_raw(old.uid()), Gid::from_raw(old.gid())));
    }

    /// The name that it will get.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the content durable, as far as it is written. The name has to be made durable after
    /// publishing.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.is_durable = true;
        self.file.sync_all()
    }

    /// Gives the file a temporary name beside its final one. Linking cannot replace a file,
    /// renaming can.
    pub(super) fn name(&mut self) -> io::Result<()> {
        if self.temporary.is_some() {
            return Ok(());
        }
        let own = link_to(&self.file);
        for attempt in 0..10_000u32 {
            let name = format!(".undust-{}-{attempt}.tmp", std::process::id());
            let name = folder_of(&self.path).join(name);
            match rustix::fs::linkat(CWD, own.as_str(), CWD, &name, AtFlags::SYMLINK_FOLLOW) {
                Ok(()) => {
                    self.temporary = Some(TempPath::try_from_path(name)?);
                    return Ok(());
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Renames the file to its final name. It must be [named](Pending::name) and, to be durable,
    /// [finished](Pending::finish).
    pub(super) fn publish(self) -> io::Result<Published> {
        let Pending { path, temporary, file, owner, is_durable } = self;
        let meta = file.metadata()?;
        let own = (meta.dev(), meta.ino());
        let temporary = temporary.expect("it was named before");
        let own_name = temporary.to_path_buf();
        let published = publish(&path, temporary);
        let published = published.map(|old| Published { path, old, own, is_durable });
        if let (Ok(_), Some((user, group))) = (&published, owner) {
            // Only now, since a file may only be linked and renamed by its owner.
            let _ = rustix::fs::fchown(&file, Some(user), Some(group));
        }
        // If renaming is not permitted, removing may not be either.
        published.map_err(|error| match fs::symlink_metadata(&own_name) {
            Ok(_) => io::Error::new(
                error.kind(),
                format!("{error}; what was written stays there as {}", show_path(&own_name)),
            ),
            Err(_) => error,
        })
    }
}

/// Renames the file `temporary` to `path`. Returns the file that had this name before.
fn publish(path: &Path, temporary: TempPath) -> io::Result<Old> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let rename = |flags| rustix::fs::renameat_with(CWD, &*temporary, CWD, path, flags);
    // Another process may create the file between the two calls, and remove it again.
    for _ in 0..100 {
        match rename(RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(Old::Kept(temporary)),
            Err(Errno::NOENT) => {}
            // `PERM`: this call, or any change of the file, is not permitted; renaming below will
            // show which.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
        match rename(RenameFlags::NOREPLACE) {
            Ok(()) => {
                temporary.keep()?;
                return Ok(Old::None);
            }
            Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let old = if path.exists() { Old::Gone } else { Old::None };
    temporary.persist(path)?;
    Ok(old)
}

/// A file that is published, which can be undone.
pub(super) struct Published {
    path: PathBuf,
    old: Old,
    /// Device and inode, which identify the file.
    own: (u64, u64),
    is_durable: bool,
}

/// The file that had the name before.
enum Old {
    None,
    /// It has the temporary name now, and is removed when this is dropped.
    Kept(TempPath),
    /// It is gone, since the file system cannot exchange two files.
    Gone,
}

impl Published {
    /// Undoes publishing: restores the old file, or removes the new one. Does nothing if another
    /// process has replaced it since.
    ///
    /// Failure: what has become of the old file, as text.
    pub(super) fn take_back(self) -> Result<(), String> {
        let is_own = |path: &Path| {
            fs::symlink_metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == self.own)
        };
        if !is_own(&self.path) {
            return Ok(());
        }
        let failed = |error: io::Error| format!("is the new file ({error})");
        match self.old {
            Old::None => fs::remove_file(&self.path).map_err(failed),
            Old::Gone => Err("is the new file, the old one is gone".to_string()),
            Old::Kept(old) => {
                let exchange = || {
                    rustix::fs::renameat_with(CWD, &*old, CWD, &self.path, RenameFlags::EXCHANGE)
                };
                if let Err(error) = exchange() {
                    let kept = old.keep().map_err(|error| failed(error.error))?;
                    return Err(format!(
                        "is the new file ({error}), the old one {}",
                        show_path(&kept)
                    ));
                }
                // Another process was faster: give its file back.
                if !is_own(&old) {
                    exchange().map_err(|error| failed(error.into()))?;
                }
                Ok(())
            }
        }
    }

    /// Removes the file that had the name before.
    ///
    /// Failure: what has become of it, as text.
    pub(super) fn remove_old_file(&mut self) -> Result<(), String> {
        let Old::Kept(old) = std::mem::replace(&mut self.old, Old::None) else { return Ok(()) };
        let old = old.keep().map_err(|error| error.to_string())?;
        fs::remove_file(&old).map_err(|error| {
            format!("the old file could not be removed, and stays as {}: {error}", show_path(&old))
        })
    }

    /// The identity of the file that had the name before; `None` if it is not known.
    pub(super) fn predecessor(&self) -> io::Result<Option<Predecessor>> {
        match &self.old {
            Old::None => Ok(Some(Predecessor::none())),
            Old::Kept(old) => Ok(Some(Predecessor::at(old)?)),
            Old::Gone => Ok(None),
        }
    }

    /// The folder whose sync makes the name durable; `None` if that is left to the system.
    pub(super) fn folder_to_sync(&self) -> Option<&Path> {
        self.is_durable.then(|| folder_of(&self.path))
    }
}

/// Makes the names in `folder` durable, if the file system can.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = retry_on_intr(|| rustix::fs::open(folder, flags, Mode::empty()));
    match folder.and_then(|folder| retry_on_intr(|| rustix::fs::fsync(&folder))) {
        // A folder that may be written but not read, or a file system that cannot sync folders: the
        // errors are from manuals, and from reports of databases.
        Err(Errno::ACCESS | Errno::PERM | Errno::INVAL | Errno::NOTSUP | Errno::BADF) => Ok(()),
        other => Ok(other?),
    }
}

/// The path of the open `file` in `/proc`, if that is mounted.
fn link_to(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives `file` the permissions that the old file had, whatever new files get.
fn keep_mode(file: &File, mode: Option<u32>) -> io::Result<()> {
    match mode {
        Some(mode) => Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o777))?),
        None => Ok(()),
    }
}

/// The folder of a file with this name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens if the file system does not support unnamed files.
    #[test]
    fn a_file_that_has_a_name_meanwhile_has_the_mode_of_others() {
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["out.txt", "other.txt"].map(|name| folder.path().join(name));
        File::create(&other).unwrap();
        Pending::open_named(&path, None).unwrap().publish().unwrap();
        assert_eq!(mode(&path), mode(&other), "a new file, under the umask");
        for old in [0o640, 0o606] {
            Pending::open_named(&path, Some(old)).unwrap().publish().unwrap();
            assert_eq!(mode(&path), old, "as the old file had it");
        }
        drop(Pending::open_named(&path, None).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left");
    }

    #[test]
    fn a_name_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let path = folder.path().join("out.txt");
        let publish = |text: &str| {
            let mut pending = Pending::open(&path, None).unwrap();
            io::Write::write_all(&mut pending.file().unwrap(), text.as_bytes()).unwrap();
            pending.name().unwrap();
            pending.publish().unwrap()
        };
        let first = publish("first");
        assert_eq!(first.predecessor().unwrap(), Some(Predecessor::none()));
        first.take_back().unwrap();
        assert_eq!(names(), 0);
        drop(publish("first"));
        let there = Predecessor::at(&path).unwrap();
        let second = publish("second");
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(second.predecessor().unwrap(), Some(there));
        second.take_back().unwrap();
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"first".to_vec()));
        // What another run has published since stays.
        let (second, other) = (publish("second"), publish("other"));
        second.take_back().unwrap();
        drop(other);
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"other".to_vec()));
        fs::remove_file(&path).unwrap();
        let (second, other) = (publish("second"), publish("other"));
        second.take_back().unwrap();
        drop(other);
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"other".to_vec()));
        drop(publish("third"));
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"third".to_vec()));
    }

    #[test]
    fn a_name_of_its_own_is_gone_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let mut files = [&first, &second].map(|path| Pending::open(path, None).unwrap());
        files.iter_mut().for_each(|file| file.name().unwrap());
        assert_eq!(names(), 2);
        let [file, other] = files;
        file.publish().unwrap();
        drop(other);
        assert_eq!((names(), first.exists()), (1, true));
    }
}
