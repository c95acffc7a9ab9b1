//! Where a line is, for people: in which file, and the number that it has there.

use std::path::Path;

use crate::bytes::show_input;

/// A file that was read, as far as places of lines depend on it.
#[derive(Clone, Copy, Debug)]
pub struct FileLines<'a> {
    /// Its name; `-` is standard input.
    pub name: &'a Path,
    /// How many lines of it were read.
    pub lines: u64,
}

/// The place of `line`, counted from 1 over all of `files`: `line 7`, and the file in front if they
/// `are_several`, as in `b.log, line 7`, where the number counts from the start of that one.
///
/// A line after the last one keeps its number. A job that has stopped early knows the first files
/// only, and still has to show that there are others.
pub fn place_of_line<'a>(
    line: u64,
    are_several: bool,
    files: impl IntoIterator<Item = FileLines<'a>>,
) -> String {
    let mut lines_before = 0;
    for FileLines { name, lines } in files.into_iter().filter(|_| are_several) {
        if line - lines_before <= lines {
            return format!("{}, line {}", show_input(name), line - lines_before);
        }
        lines_before += lines;
    }
    format!("line {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_by_file_where_there_are_several() {
        let [a, none, b] = [("a.log", 3), ("empty", 0), ("-", 12_000)]
            .map(|(name, lines)| FileLines { name: Path::new(name), lines });
        let place = |line, files: &[FileLines<'_>]| {
            place_of_line(line, files.len() > 1, files.iter().copied())
        };
        assert_eq!(place(2, &[a]), "line 2");
        assert_eq!(place_of_line(2, true, [a]), "a.log, line 2");
        assert_eq!(place(3, &[a, none, b]), "a.log, line 3");
        assert_eq!(place(4, &[a, none, b]), "standard input, line 1");
        assert_eq!(place(12_003, &[a, none, b]), "standard input, line 12000");
        assert_eq!(place(12_004, &[a, none, b]), "line 12004");
        assert_eq!(place(4_000, &[]), "line 4000");
    }
}
