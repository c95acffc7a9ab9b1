//! Finds the files of a plan.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::bytes::{Lines, show_input, show_path, without_bom};
use crate::error::{Error, Result, Setting};
use crate::input::InputPlan;
use crate::limits;

/// The path of standard input. A file of that name is `./-`.
const STDIN: &str = "-";

/// All files of a plan.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) paths: Vec<PathBuf>,
    /// Bytes on disk, or `None` if one is not a regular file.
    pub(crate) bytes_total: Option<u64>,
    /// Is there a regular file, other than standard input, that is not empty?
    pub(crate) any_regular: bool,
}

/// Finds the files of `plan` and checks each of them.
///
/// - Shape: `paths` in order, then the entries of `files_from`, which end with NUL if it has any. A
///   directory is replaced by the files below it, each level sorted by name.
/// - Failure: an error for a path that is missing or may not be read, a directory without
///   `recursive`, standard input named twice, a list of files beyond [`limits::CONFIG_BYTES_MAX`].
pub(crate) fn list(plan: &InputPlan) -> Result<List> {
    let mut given = plan.paths.clone();
    let mut stdins = given.iter().filter(|path| is_stdin(path)).count();
    if let Some(from) = &plan.files_from {
        stdins += usize::from(is_stdin(from));
        check_stdins(stdins)?;
        let entries = read_list(from, plan.files_from_separator)?;
        stdins += entries.iter().filter(|path| is_stdin(path)).count();
        given.extend(entries);
    }
    check_stdins(stdins)?;
    let mut list = List { paths: Vec::new(), bytes_total: Some(0), any_regular: false };
    for path in given {
        if is_stdin(&path) {
            list.add_stdin(path)?;
            continue;
        }
        let metadata = fs::metadata(&path).map_err(|error| {
            let name = plan.name_of(&path);
            if error.kind() == io::ErrorKind::NotFound && is_url(name.as_os_str().as_bytes()) {
                return Error::input(format!(
                    "{}: expected a file, found a URL, and nothing is fetched; `undust explain` \
                     takes a URL, and lists of them come from files or standard input",
                    show_path(name)
                ));
            }
            Error::reading(show_path(name), error)
        })?;
        if !metadata.is_dir() {
            list.add(path, &metadata)?;
        } else if plan.recursive {
            list.walk(path)?;
        } else {
            return Err(Error::input(format!(
                "{}: expected a file, found a folder; name the files in it, or give {} for all of them",
                show_input(&path),
                Setting::Recursive
            )));
        }
    }
    Ok(list)
}

impl List {
    fn add(&mut self, path: PathBuf, metadata: &Metadata) -> Result<()> {
        // Opening would fail, too, but perhaps after hours of work.
        rustix::fs::access(&path, Access::READ_OK)
            .map_err(|error| Error::reading(show_input(&path), error.into()))?;
        if metadata.is_file() {
            self.any_regular |= metadata.len() > 0;
            self.bytes_total = self.bytes_total.and_then(|sum| sum.checked_add(metadata.len()));
        } else {
            self.bytes_total = None;
        }
        self.paths.push(path);
        Ok(())
    }

    fn add_stdin(&mut self, path: PathBuf) -> Result<()> {
        let reading = |error| Error::reading(show_input(&path), error);
        let (file, metadata) = open(&path).map_err(reading)?;
        let rest = match metadata.is_file() {
            true => Some(rest_bytes(&file, metadata.len()).map_err(reading)?),
            false => None,
        };
        self.bytes_total = self.bytes_total.zip(rest).and_then(|(sum, rest)| sum.checked_add(rest));
        self.paths.push(path);
        Ok(())
    }

    /// Adds the regular files below the directory `top`.
    ///
    /// Links to directories are not followed, so there are no cycles; other links count as their
    /// target, because content-addressed stores consist of links. Files that vanish meanwhile are
    /// skipped, as is what is neither file nor directory.
    fn walk(&mut self, top: PathBuf) -> Result<()> {
        // A stack instead of recursion: the depth is not bounded.
        let mut ahead = vec![top];
        while let Some(path) = ahead.pop() {
            let reading = |error| Error::reading(show_input(&path), error);
            // Only `top` may be a link to a directory: the others are checked before they get here.
            let metadata = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(reading)?,
            };
            if metadata.is_file() {
                self.add(path, &metadata)?;
            } else if metadata.is_dir() {
                let mut below = Vec::new();
                for entry in fs::read_dir(&path).map_err(reading)? {
                    let entry = entry.map_err(reading)?;
                    let is_link = entry.file_type().map_err(reading)?.is_symlink();
                    if !is_link || is_link_to_file(&entry.path()) {
                        below.push(entry.path());
                    }
                }
                leave_out_strays(&mut below);
                // By the bytes of their names; in reverse, because the last is taken first.
                below.sort_unstable_by(|a, b| b.cmp(a));
                ahead.append(&mut below);
            }
        }
        Ok(())
    }
}

/// Leaves out the checksums that Hadoop and Spark write for each file, `.NAME.crc` for `NAME`; the
/// schema and statistics that writers of Parquet put into a folder; and unfinished results of this
/// program: `.undust-….tmp`.
fn leave_out_strays(paths: &mut Vec<PathBuf>) {
    let all: HashSet<OsString> =
        paths.iter().filter_map(|path| path.file_name().map(OsString::from)).collect();
    paths.retain(|path| {
        let name = path.file_name().map_or(&[][..], OsStr::as_encoded_bytes);
        let of = name.strip_prefix(b".").and_then(|name| name.strip_suffix(b".crc"));
        let is_metadata = matches!(name, b"_metadata" | b"_common_metadata");
        let is_pending = name.starts_with(b".undust-") && name.ends_with(b".tmp");
        !is_metadata && !is_pending && of.is_none_or(|of| !all.contains(OsStr::from_bytes(of)))
    });
}

fn is_link_to_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Does `name` begin as a URL does, with a scheme of the web?
fn is_url(name: &[u8]) -> bool {
    let is_scheme = |scheme: &[u8]| {
        scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https")
    };
    memchr::memmem::find(name, b"://").is_some_and(|at| is_scheme(&name[..at]))
}

/// Is `path` that of standard input?
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// Opens `path`, or a second handle to standard input that does not go through `std`'s buffer.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = if is_stdin(path) {
        File::from(io::stdin().as_fd().try_clone_to_owned()?)
    } else {
        File::open(path)?
    };
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Bytes from the current position of the regular `file`, of `size` bytes, to its end.
///
/// Another process may have read a part of standard input before.
pub(crate) fn rest_bytes(mut file: &File, size: u64) -> io::Result<u64> {
    Ok(size.saturating_sub(io::Seek::stream_position(&mut file)?))
}

fn check_stdins(stdins: usize) -> Result<()> {
    if stdins < 2 {
        return Ok(());
    }
    Err(Error::config(format!(
        "-: expected standard input once, found it {stdins} times; it can be read only once"
    )))
}

fn read_list(from: &Path, separator: u8) -> Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    let (file, _) = open(from).map_err(|error| Error::reading(show_input(from), error))?;
    file.take(limits::CONFIG_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::reading(show_input(from), error))?;
    if bytes.len() as u64 > limits::CONFIG_BYTES_MAX {
        return Err(Error::limit(format!(
            "{}: expected a list of files of at most {} bytes, found more; name directories and \
             give {}, or run in parts",
            show_input(from),
            limits::CONFIG_BYTES_MAX,
            Setting::Recursive
        )));
    }
    let bytes = without_bom(&bytes);
    // No name contains NUL, so if there is one it is the separator.
    let separator = if bytes.contains(&0) { 0 } else { separator };
    // Lines may end in CR LF, as in lists of URLs.
    let carriage_return = if separator == b'\n' { &b"\r"[..] } else { b"" };
    let entries = Lines::new(bytes, separator)
        .map(|entry| entry.strip_suffix(carriage_return).unwrap_or(entry))
        .filter(|entry| !entry.is_empty());
    Ok(entries.map(|entry| PathBuf::from(OsStr::from_bytes(entry))).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::input::Input;
    use crate::limits::LINE_BYTES_CEILING;

    fn plan(paths: &[&Path]) -> InputPlan {
        InputPlan { paths: paths.iter().map(|&path| path.to_owned()).collect(), ..<_>::default() }
    }

    fn error(plan: &InputPlan) -> String {
        list(plan).unwrap_err().to_string()
    }

    #[test]
    fn missing_paths_and_directories_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "123").unwrap();
        let missing = dir.path().join("mis\x1bsing");
        let found = error(&plan(&[&file, &missing]));
        assert!(found.contains("mis\\x1bsing: cannot read: No such file"), "{found}");
        let found = error(&plan(&[dir.path()]));
        assert!(found.contains("found a folder; name the files in it"), "{found}");
        let found = error(&plan(&[&file.join("b")]));
        assert!(found.contains("Not a directory"), "{found}");
        let all = list(&plan(&[&file, &file])).unwrap();
        assert_eq!((all.paths.len(), all.bytes_total, all.any_regular), (2, Some(6), true));
        let none = list(&plan(&[])).unwrap();
        assert_eq!((none.paths.len(), none.bytes_total, none.any_regular), (0, Some(0), false));
        let device = list(&plan(&[Path::new("/dev/null"), &file])).unwrap();
        assert_eq!((device.paths.len(), device.bytes_total), (2, None));
    }

    #[test]
    fn lines_have_a_ceiling() {
        for (line_bytes_max, is_fine) in
            [(LINE_BYTES_CEILING, true), (LINE_BYTES_CEILING + 1, false)]
        {
            let opened = Input::open(&InputPlan { line_bytes_max, ..plan(&[]) });
            assert_eq!(opened.is_ok(), is_fine);
            assert!(opened.err().is_none_or(|error| error.is_config()));
        }
    }

    #[test]
    fn standard_input_once() {
        let dir = tempfile::tempdir().unwrap();
        let names = dir.path().join("names");
        fs::write(&names, "-\n").unwrap();
        let stdin = Path::new("-");
        assert_eq!(list(&plan(&[stdin])).unwrap().paths, [stdin]);
        for (paths, from, why) in [
            (&[stdin, stdin][..], None, "twice as a path"),
            (&[stdin], Some(stdin), "as a path and as the list"),
            (&[stdin], Some(&*names), "as a path and in the list"),
        ] {
            let plan = InputPlan { files_from: from.map(Path::to_owned), ..plan(paths) };
            let found = list(&plan).unwrap_err();
            assert!(found.is_config() && found.to_string().contains("once"), "{why}: {found}");
        }
    }

    #[test]
    fn lists_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b, new_line, names] = ["a", "b", "new\nline", "names"].map(|n| dir.path().join(n));
        for path in [&a, &b, &new_line] {
            fs::write(path, "x").unwrap();
        }
        let shown = |path: &Path| path.to_str().unwrap().to_owned();
        fs::write(&names, format!("{}\r\n\r\n{}", shown(&b), shown(&a))).unwrap();
        let from = InputPlan { files_from: Some(names.clone()), ..plan(&[&new_line]) };
        assert_eq!(list(&from).unwrap().paths, [&new_line, &b, &a].map(|path| path.to_owned()));
        fs::write(&names, format!("{}\0{}\0", shown(&new_line), shown(&a))).unwrap();
        let from = InputPlan { files_from: Some(names), files_from_separator: 0, ..plan(&[]) };
        assert_eq!(list(&from).unwrap().paths, [new_line, a]);
    }

    #[test]
    fn checksums_and_pending_results_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            [".part-0.crc", "_SUCCESS", ".other.crc", "part-0", ".undust-7-0.tmp", "_metadata"]
        {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let plan = InputPlan { recursive: true, ..plan(&[folder.path()]) };
        let found = list(&plan).unwrap().paths;
        let names: Vec<&OsStr> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, [".other.crc", "_SUCCESS", "part-0"]);
    }

    #[test]
    fn walks_in_the_order_of_names() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("b/deep/deeper")).unwrap();
        fs::create_dir_all(top.join("empty")).unwrap();
        fs::create_dir_all(dir.path().join("outside")).unwrap();
        for name in ["outside/file", "top/c", "top/B", "top/b/z", "top/b/deep/deeper/y", "top/.a"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        symlink(dir.path().join("outside"), top.join("a-link-to-a-directory")).unwrap();
        symlink("..", top.join("b/cycle")).unwrap();
        symlink(dir.path().join("outside/file"), top.join("link")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            top.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        symlink(&top, dir.path().join("named")).unwrap();
        for named in [top, dir.path().join("named")] {
            let all = list(&InputPlan { recursive: true, ..plan(&[&named]) }).unwrap();
            let names: Vec<_> = all.paths.iter().map(|p| p.strip_prefix(&named).unwrap()).collect();
            let expected = [".a", "B", "b/deep/deeper/y", "b/z", "c", "link"].map(Path::new);
            assert_eq!(names, expected, "{}", show_input(&named));
            assert!(all.bytes_total.is_some());
        }
    }
}
