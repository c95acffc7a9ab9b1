//! Names of results: where they lead to, and which of them the system has for files
//! that are open already.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::pending::folder_of;

/// Where a file of this name is, or would be: links are followed, also those that
/// lead to nothing yet.
pub(super) fn place_of(path: &Path) -> PathBuf {
    if let Ok(there) = fs::canonicalize(path) {
        return there;
    }
    // A link to an open pipe (`/proc/self/fd/1`) leads to what has no name, and yet is there.
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

/// Does `path` say of itself that it is a folder, there or not?
pub(super) fn names_folder(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    matches!(text.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."))
}

/// `path`, and what it leads to link by link: as many as the system follows.
fn followed(path: &Path) -> impl Iterator<Item = PathBuf> {
    let next = |path: &PathBuf| Some(folder_of(path).join(fs::read_link(path).ok()?));
    std::iter::successors(Some(path.to_path_buf()), next).take(40)
}

/// Is `path` a name that the system has for a file that is open already, or a link to one?
pub(super) fn is_open_file(path: &Path) -> bool {
    followed(path).any(|path| {
        let parts: Vec<&str> = path.to_str().unwrap_or_default().split('/').collect();
        matches!(
            parts[..],
            ["", "dev", "stdout" | "stderr"] | ["", "dev", "fd", _] | ["", "proc", _, "fd", _]
        )
    })
}

/// The number by which this process has the file open, if `path` is a name for that, or a link to
/// one.
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

/// Another handle to the open file of this `number`, if it can be written to: opened again by
/// its name, it would have a position of its own, and write over what others write. `None` where
/// the system cannot.
pub(super) fn duplicate(number: u32) -> Option<File> {
    let process = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok()?;
    let number = i32::try_from(number).ok()?;
    let file = pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()?;
    let flags = rustix::fs::fcntl_getfl(&file).ok()?;
    flags.intersects(OFlags::WRONLY | OFlags::RDWR).then(|| File::from(file))
}
