//! A file of results on its way to its name: written where it will be, and not there yet.

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
/// It has none meanwhile: until it is published the old file is untouched, and nothing is left
/// behind however the process ends, but where the file system has no unnamed files, or the system
/// no `/proc` by which they get a name.
pub(crate) struct Pending {
    file: File,
    path: PathBuf,
    /// The name it has meanwhile, `.undust-….tmp`: where an unnamed file cannot be made or named,
    /// and while it is published.
    temporary: Option<TempPath>,
    /// Who is to have it in the end, user and group.
    owner: Option<(Uid, Gid)>,
    /// Is it to outlive a crash of the machine?
    is_durable: bool,
}

impl Pending {
    /// A file in the folder of `path`, with the permissions `mode` if there are any.
    pub(super) fn open(path: &Path, mode: Option<u32>) -> io::Result<Pending> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::open(folder_of(path), flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => {
                let file = File::from(file);
                // Now, not when all is written: a bare chroot has no /proc.
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

    /// Opens a file in the folder of `path` that has a name meanwhile, which stays if the process
    /// is killed; with the permissions `mode` if there are any.
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

    /// When it has its name, the file is to be that of who has the `old` one, if this process may
    /// give it away.
    pub(super) fn keep_owner(&mut self, old: &fs::Metadata) {
        self.owner = Some((Uid::from_raw(old.uid()), Gid::from_raw(old.gid())));
    }

    /// The name it is to get.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the content durable: what is written later may be lost. The name has to be made so
    /// when it is there.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.is_durable = true;
        self.file.sync_all()
    }

    /// Gives the file a name of its own beside the one it is to get. Linking cannot replace a file,
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

    /// Puts its name on a file that is [named](Pending::name) and, if it is to be durable,
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
            // Not before: it may be linked and renamed by its owner only.
            let _ = rustix::fs::fchown(&file, Some(user), Some(group));
        }
        // Where nothing can be renamed nothing can be removed either, perhaps.
        published.map_err(|error| match fs::symlink_metadata(&own_name) {
            Ok(_) => io::Error::new(
                error.kind(),
                format!("{error}; what was written stays there as {}", show_path(&own_name)),
            ),
            Err(_) => error,
        })
    }
}

/// Puts the name `path` on the file that has the name `temporary` yet. Returns what had it before.
fn publish(path: &Path, temporary: TempPath) -> io::Result<Old> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let rename = |flags| rustix::fs::renameat_with(CWD, &*temporary, CWD, path, flags);
    // Somebody else may make the file between the two, and remove it again.
    for _ in 0..100 {
        match rename(RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(Old::Kept(temporary)),
            Err(Errno::NOENT) => {}
            // Or not permitted, be it that call or any change of the file: renaming will tell.
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

/// A file that has got its name, which can be taken from it again.
pub(super) struct Published {
    path: PathBuf,
    old: Old,
    /// Device and number of the file, to know it by.
    own: (u64, u64),
    is_durable: bool,
}

/// The file that had the name before.
enum Old {
    None,
    /// It has the temporary name now, and goes with it.
    Kept(TempPath),
    /// The file system cannot exchange two files.
    Gone,
}

impl Published {
    /// Gives the name back to the file that had it, or to none. Where somebody else has taken it
    /// since, nothing is done.
    ///
    /// Failure: what has become of the old file, in words.
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
                // Somebody has been quicker: what was theirs is theirs again.
                if !is_own(&old) {
                    exchange().map_err(|error| failed(error.into()))?;
                }
                Ok(())
            }
        }
    }

    /// Removes the file that had the name before.
    ///
    /// Failure: what has become of it, in words.
    pub(super) fn remove_old_file(&mut self) -> Result<(), String> {
        let Old::Kept(old) = std::mem::replace(&mut self.old, Old::None) else { return Ok(()) };
        let old = old.keep().map_err(|error| error.to_string())?;
        fs::remove_file(&old).map_err(|error| {
            format!("the old file could not be removed, and stays as {}: {error}", show_path(&old))
        })
    }

    /// What is known of the file that had the name before; `None` if nothing is.
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
        // One that may be written but not read, and file systems that have no such sync: by their
        // manuals, and what databases have met.
        Err(Errno::ACCESS | Errno::PERM | Errno::INVAL | Errno::NOTSUP | Errno::BADF) => Ok(()),
        other => Ok(other?),
    }
}

/// The link by which the system knows the open `file`; not there without `/proc`.
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

    /// What happens where the file system has no unnamed files.
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
