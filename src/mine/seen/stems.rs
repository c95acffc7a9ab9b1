//! Stems: paths without the numbers in them, which are session numbers or names of pages.
//!
//! Finer than handlers: words of paths stay as they are, and numbers have a place. `/share/` with
//! any number of 32 digits is one stem, the same with a slash at the end another.

use super::handlers::outline;
use super::maps::{Map, map};
use super::segments::Shape;

/// Where a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) handler: u32,
    pub(crate) stem: u32,
}

/// The stem of each path, by number. Numbers are those of the first paths that have them.
///
/// Linear in the bytes of the paths.
pub(crate) fn find(paths: &[Vec<u8>]) -> Vec<u32> {
    let mut known: Map<Vec<u8>, u32> = map();
    let mut text = Vec::new();
    let stem = |path: &Vec<u8>| {
        text.clear();
        write(path, &mut text);
        if let Some(number) = known.get(&text) {
            return *number;
        }
        let number = known.len() as u32;
        known.insert(text.clone(), number);
        number
    };
    paths.iter().map(stem).collect()
}

/// Writes what paths of one stem have in common.
fn write(path: &[u8], out: &mut Vec<u8>) {
    for segment in path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/') {
        out.push(b'/');
        let (name, parameters) =
            segment.split_at(memchr::memchr(b';', segment).unwrap_or(segment.len()));
        match Shape::of(name) {
            // Bytes that no path contains.
            Some(Shape { head, tail, length, hex }) => {
                out.extend_from_slice(&head);
                out.extend_from_slice(&[0, u8::from(hex), length.min(255) as u8, 0]);
                out.extend_from_slice(&tail);
            }
            None => outline(name, out),
        }
        match parameters {
            [] => {}
            [_] => out.push(b';'),
            _ => out.extend_from_slice(b";{*}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_and_numbers_go() {
        let [a, b] = ["0123456789abcdef", "fedcba9876543210"];
        let paths = [
            format!("/share/{a}"),
            format!("/share/{b}"),
            format!("/share/{a}/"),
            format!("/share/{a}7"),
            format!("/other/{a}"),
            format!("/{a}/x12;id=1"),
            format!("/{b}/x7;v=2"),
            format!("/{b}/x7"),
        ];
        let stems = find(&paths.map(String::into_bytes));
        assert_eq!(stems, [0, 0, 1, 2, 3, 4, 4, 5]);
    }
}
