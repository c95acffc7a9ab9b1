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
        for path in &mut plan.paths {
            let reading = |error| Error::reading(show_path(path), error);
            let mut stream = if path.as_os_str() == "-" {
                // Not by `std`, which takes a closed standard input for an empty one.
                let stdin = io::stdin().as_fd().try_clone_to_owned();
                File::from(stdin.map_err(|error| Error::reading("standard input", error))?)
            } else {
                match std::fs::metadata(&*path) {
                    Ok(meta) if !meta.is_file() && !meta.is_dir() => {
                        File::open(&*path).map_err(reading)?
                    }
                    _ => continue,
                }
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
