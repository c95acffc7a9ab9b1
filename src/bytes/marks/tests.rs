//! Tests of the marks: every kind of vector against the tables, at every length.

use super::*;
use crate::bytes::hex;

fn sets() -> [&'static dyn Fn(u8) -> bool; 8] {
    [
        &|byte| byte == b'/',
        &|byte| !byte.is_ascii_alphanumeric(),
        &|byte| byte < 0x80,
        &|byte| byte == b'a',
        &|byte| byte == b'b',
        &|byte| byte >= 0x80,
        &|byte| byte == 0,
        &|byte| byte >= 0x80 || byte.is_ascii_punctuation(),
    ]
}

fn markers() -> impl Iterator<Item = Marker<8>> {
    Vectors::all().map(|vectors| Marker { vectors, ..Marker::portable(sets()) })
}

#[test]
fn agrees_with_a_loop_at_every_length() {
    let mut rows = MarkRows::default();
    for marker in markers() {
        for length in 0..300usize {
            let text: Vec<u8> = (0..length).map(|at| (at * 37 + length * 11) as u8).collect();
            let marks = marker.mark(&text, &mut rows);
            for (set, holds) in sets().iter().enumerate() {
                for from in [0, 1, length / 2, length.saturating_sub(1), length, length + 1] {
                    let expected = (from..length).find(|at| holds(text[*at])).unwrap_or(length);
                    let found = marks.next(set, from);
                    assert_eq!(found, expected, "{:?} {length} {from}", marker.vectors);
                    for end in [from, from + 1, length / 3, length].map(|end| end.min(length)) {
                        let found = marks.next_before(set, from, end);
                        let expected = expected.min(end);
                        assert_eq!(found, expected, "{:?} {length} {from}", marker.vectors);
                    }
                    let found = marks.next_soon(set, from);
                    assert_eq!(found, expected, "{:?} {length} {from}", marker.vectors);
                    let bit = |at: &usize| text.get(from + at).is_some_and(|byte| holds(*byte));
                    let window = (0..64).filter(bit).fold(0, |bits, at| bits | 1u64 << at);
                    assert_eq!(marks.window(set, from), window, "{length} {from}");
                }
            }
        }
    }
}

#[test]
fn every_byte_is_in_its_sets() {
    let mut rows = MarkRows::default();
    for marker in markers() {
        for byte in 0..=255u8 {
            for length in [1, 40, 64, 65, 130] {
                let text = vec![byte; length];
                let marks = marker.mark(&text, &mut rows);
                for (set, holds) in sets().iter().enumerate() {
                    let expected = if holds(byte) { 0 } else { length };
                    assert_eq!(marks.next(set, 0), expected, "{:?}", marker.vectors);
                    let last = if holds(byte) { length - 1 } else { length };
                    assert_eq!(marks.next(set, length - 1), last, "{:?}", marker.vectors);
                }
            }
        }
    }
}

#[test]
fn escapes_that_are_left_out() {
    let percent = |byte| byte == b'%';
    let sets: [&dyn Fn(u8) -> bool; 4] = [&|byte| byte == b'/', &percent, &percent, &percent];
    let is_left = |byte: u8| byte >= 0x80 || matches!(byte, b' ' | b'O' | b'/' | 0);
    let pieces: [&[u8]; 12] = [
        b"%20", b"%4F", b"%4f", b"%2F", b"%00", b"%41", b"%D9", b"%dA", b"%F", b"%", b"\x82%8",
        b"a",
    ];
    let mut rows = MarkRows::default();
    for vectors in Vectors::all() {
        let marker = Marker { vectors, ..Marker::<4, true>::portable(sets) };
        let marker = marker.without_escapes(is_left);
        for number in 0..pieces.len().pow(3) {
            let pick = |power: u32| pieces[number / pieces.len().pow(power) % pieces.len()];
            for filler in [0, 26, 30, 57, 62] {
                let text = [&b"-".repeat(filler)[..], pick(0), pick(1), pick(2)].concat();
                let starts = |at: &usize| {
                    let [high, low] = *text.get(at + 1..at + 3)? else { return None };
                    let is_upper = !high.is_ascii_lowercase() && !low.is_ascii_lowercase();
                    hex::pair(high, low).filter(|byte| is_upper && is_left(*byte))
                };
                let percents = (0..text.len()).filter(|at| text[*at] == b'%');
                let all: Vec<usize> = percents.collect();
                let some: Vec<usize> =
                    all.iter().copied().filter(|at| starts(at).is_none()).collect();
                let marks = marker.mark(&text, &mut rows);
                for (set, expected) in [(1, &all), (2, &some), (3, &some)] {
                    let found = (0..text.len()).filter(|at| marks.next(set, *at) == *at);
                    let found: Vec<usize> = found.collect();
                    assert_eq!(found, *expected, "{vectors:?} {}", text.escape_ascii());
                }
                let with_more = [&text[..], b"20"].concat();
                let (more, mut others) = (marker.mark(&with_more, &mut rows), MarkRows::default());
                let marks = marker.mark(&text, &mut others);
                let same = |at| (more.next(2, at) == at) == (marks.next(2, at) == at);
                assert!(ends_amid_escape(&text) || (0..text.len()).all(same));
            }
        }
    }
}

#[test]
fn pairs() {
    let mut rows = MarkRows::default();
    let sets: [&dyn Fn(u8) -> bool; 3] =
        [&|byte| byte == b'/', &|byte| byte == b'a', &|byte| byte == b'c'];
    // Where a half, a block, four blocks or a batch ends between the first two slashes.
    let starts = [31, 63, 255, 511];
    let all = Vectors::all().flat_map(|vectors| starts.map(|start| (vectors, start)));
    for (vectors, start) in all {
        let text = [&b"x".repeat(start)[..], b"//a/b/c"].concat();
        let behind = |places: &[usize]| places.iter().map(|at| start + at).collect::<Vec<_>>();
        let marker = Marker { vectors, ..Marker::<3, true>::portable(sets) };
        let mut found = |marker: &Marker<3, true>| {
            let marks = marker.mark(&text, &mut rows);
            (0..text.len()).filter(|at| marks.next(2, *at) == *at).collect::<Vec<_>>()
        };
        // The a after a slash, and the c that is in the set anyway.
        assert_eq!(found(&marker), behind(&[2, 6]), "{vectors:?}");
        // The second slash, too.
        assert_eq!(found(&marker.with_doubles()), behind(&[1, 2, 6]), "{vectors:?}");
        let is = |expected: u8| move |byte: u8| byte == expected;
        let sets: [&dyn Fn(u8) -> bool; 6] = [&is(1), &is(1), &is(1), &is(1), &is(b'a'), &is(b'/')];
        let marker = Marker { vectors, ..Marker::<6, true>::portable(sets) };
        let mut rows = MarkRows::default();
        let marks = marker.mark(&text, &mut rows);
        let found: Vec<_> = (0..text.len()).filter(|at| marks.next(4, *at) == *at).collect();
        assert_eq!(found, behind(&[1, 2]), "{vectors:?}");
    }
}
