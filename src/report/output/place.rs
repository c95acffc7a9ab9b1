//! Names of results: where they lead to, and which of them stand for files that are open already.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::pending::folder_of;

/// Where a file of this name is, or would be. Links are followed, even if their target does not
/// exist yet.
pub(super) fn place_of(path: &Path) -> PathBuf {
    if let Ok(there) = fs::canonicalize(path) {
        return there;
    }
    // A link to an open pipe (`/proc/self/fd/1`) has a target without a name, which exists.
    let mut path = path.to_path_buf();
    for next in followed(&path.clone()) {
        path = next;
        if fs::metadata(&path).is_ok() {
            break;
        }
    }
    let folder = fs::canonicalize(folder_of(&path)).unwrap_or_else(|_| folder_of(&path).into());
    path.file_name().map_or(folder.clone(), |name| folder.join(name))
}

/// Does the form of `path` say that it is a folder, whether it exists or not?
pub(super) fn names_folder(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    matches!(text.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."))
}

/// `path`, and the targets that it leads to, link by link; at most as many as the system follows.
fn followed(path: &Path) -> impl Iterator<Item = PathBuf> {
    let next = |path: &PathBuf| Some(folder_of(path).join(fs::read_link(path).ok()?));
    std::iter::successors(Some(path.to_path_buf()), next).take(40)
}

/// Is `path` one of the system's names for open files, or a link to one?
pub(super) fn is_open_file(path: &Path) -> bool {
    followed(path).any(|path| {
        let parts: Vec<&str> = path.to_str().unwrap_or_default().split('/').collect();
        matches!(
            parts[..],
            ["", "dev", "stdout" | "stderr"] | ["", "dev", "fd", _] | ["", "proc", _, "fd", _]
        )
    })
}

/// The file descriptor, if `path` is a name for an open file of this process, or a link to one.
pub(super) fn open_number(path: &Path) -> Option<u32> {
    followed(path).find_map(|path| match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        name => {
            let number = name.strip_prefix("/dev/fd/").or(name.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    })
}

/// A duplicate of the file descriptor `number`, if it can be written to. Opened again by its name,
/// the file would have a position of its own, and overwrite what others write. `None` if the system
/// does not support it.
pub(super) fn duplicate(number: u32) -> Option<File> {
    let process = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok()?;
    let number = i32::try_from(number).ok()?;
    let file = pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()?;
    let flags = rustix::fs::fcntl_getfl(&file).ok()?;
    flags.intersects(OFlags::WRONLY | OFlags::RDWR).then(|| File::from(file))
}
