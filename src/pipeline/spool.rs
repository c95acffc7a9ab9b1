//! Copies streams to files, for jobs that read their input twice.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use super::temp;
use crate::bytes::{show_input, show_path};
use crate::error::{Error, Result};
use crate::input::InputPlan;
use crate::retry::retry_interrupted;

/// Copies of the streams among a job's inputs. They have no name and vanish with this value.
/// For [`select`](super::select), unless it reads once, [`survey`](super::survey), and
/// [`learn`](super::learn) with an [evaluation](super::evaluate).
#[derive(Debug, Default)]
pub struct Spooled {
    files: Vec<File>,
}

impl Spooled {
    /// Replaces every input of `plan` that can be read only once, standard input and pipes, by a
    /// copy in `folder`.
    ///
    /// Limits: the copies take as many bytes in `folder` as the streams have.
    pub fn replace(plan: &mut InputPlan, folder: &Path) -> Result<Spooled> {
        plan.resolve()?;
        let mut spooled = Spooled::default();
        for path in plan.paths.iter_mut().filter(|path| is_stream(path)) {
            let reading = |error| Error::reading(show_path(path), error);
            let mut stream = if is_standard_input(path) {
                // Not by `std`, which treats a closed standard input as an empty one.
                let stdin = io::stdin().as_fd().try_clone_to_owned();
                File::from(stdin.map_err(|error| Error::reading("standard input", error))?)
            } else {
                File::open(&*path).map_err(reading)?
            };
            let mut file = temp::open(folder)?;
            copy(&mut stream, &mut file, path, folder)?;
            let copy = descriptor_path(&file);
            let name = std::mem::replace(path, copy.clone());
            plan.names.push((copy, name));
            spooled.files.push(file);
        }
        Ok(spooled)
    }
}

/// Checks that all inputs of `plan` can be read a second time.
///
/// Failure: a configuration error with the first stream.
pub(super) fn refuse_streams(plan: &InputPlan) -> Result<()> {
    plan.paths.iter().find(|path| is_stream(path)).map_or(Ok(()), |path| {
        Err(Error::config(format!(
            "{}: expected a file, found a stream, which cannot be read a second time; read a copy \
             (`pipeline::Spooled` makes one)",
            show_input(path)
        )))
    })
}

/// Can `path` be read only once? What cannot be looked at is told where it is opened.
fn is_stream(path: &Path) -> bool {
    is_standard_input(path)
        || std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn copy(stream: &mut File, file: &mut File, path: &Path, folder: &Path) -> Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        let length = retry_interrupted(|| stream.read(&mut buffer))
            .map_err(|error| Error::reading(show_input(path), error))?;
        if length == 0 {
            return Ok(());
        }
        file.write_all(&buffer[..length]).map_err(|error| temp::failed(folder, error))?;
    }
}

/// A path by which the open `file` can be opened again, although it has no name.
fn descriptor_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()))
}
