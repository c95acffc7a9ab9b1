//! Dedups a list of URLs the way a competent Rust developer does in an evening:
//! `url`, rayon, `DashSet`.
//!
//! ```text
//! evening lines LIST > OUT          lines that differ in a byte
//! evening href LIST > OUT           the href of the WHATWG URL Standard
//! evening page LIST > OUT           the same without its fragment
//! evening --keys MODE LIST > OUT    the key of every line, line for line
//! ```
//!
//! The list is mapped, the work is spread over all cores (`RAYON_NUM_THREADS`), and the lines that
//! stay are written in input order. Which of two equal lines stays is a race between threads:
//! making it the first would cost this program more, so the comparison lets it be.

use std::borrow::Cow;
use std::env;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use ahash::RandomState;
use dashmap::DashSet;
use memmap2::Mmap;
use rayon::prelude::*;
use url::Url;

const USAGE: &str = "usage: evening [--keys] lines|href|page LIST";

/// Bytes gathered before a write.
const WRITE_BYTES: usize = 1 << 20;

/// Makes the key of a line: lines with one key are one page.
type Key = for<'a> fn(&'a str) -> Cow<'a, str>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--keys", mode, list] => key_of(mode).and_then(|key| write_keys(key, list)),
        [mode, list] => key_of(mode).and_then(|key| dedup(key, list)),
        _ => Err(io::Error::other(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evening: {error}");
            ExitCode::from(2)
        }
    }
}

fn key_of(mode: &str) -> io::Result<Key> {
    match mode {
        "lines" => Ok(|line| Cow::Borrowed(line)),
        "href" => Ok(|line| match Url::parse(line) {
            Ok(url) => Cow::Owned(url.into()),
            Err(_) => Cow::Borrowed(line),
        }),
        "page" => Ok(|line| match Url::parse(line) {
            Ok(mut url) => {
                url.set_fragment(None);
                Cow::Owned(url.into())
            }
            Err(_) => Cow::Borrowed(line),
        }),
        _ => Err(io::Error::other(USAGE)),
    }
}

/// Writes one line for each key, in input order.
fn dedup(key: Key, list: &str) -> io::Result<()> {
    let map = map(list)?;
    let text = text(&map)?;
    let seen: DashSet<Cow<str>, RandomState> = DashSet::with_hasher(RandomState::new());
    let kept: Vec<&str> = text.par_lines().filter(|line| seen.insert(key(line))).collect();
    write_lines(&kept)?;
    // The system takes the memory back faster than a million drops give it.
    std::mem::forget(seen);
    Ok(())
}

/// Writes the key of every line, line for line.
fn write_keys(key: Key, list: &str) -> io::Result<()> {
    let map = map(list)?;
    let keys: Vec<Cow<str>> = text(&map)?.par_lines().map(key).collect();
    write_lines(&keys)
}

fn map(list: &str) -> io::Result<Mmap> {
    let file = File::open(list)?;
    // SAFETY: nobody changes the list while a comparison runs; this program is
    // used for nothing else.
    unsafe { Mmap::map(&file) }
}

fn text(map: &Mmap) -> io::Result<&str> {
    std::str::from_utf8(map).map_err(io::Error::other)
}

fn write_lines(lines: &[impl AsRef<str>]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(WRITE_BYTES, io::stdout().lock());
    for line in lines {
        out.write_all(line.as_ref().as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let given = "HTTP://a.test:80/b/../c#d";
        for (mode, expected) in
            [("lines", given), ("href", "http://a.test/c#d"), ("page", "http://a.test/c")]
        {
            assert_eq!(key_of(mode).unwrap()(given), expected, "{mode}");
        }
        assert_eq!(
            key_of("page").unwrap()("no url"),
            "no url",
            "what does not parse is its own key"
        );
        assert!(key_of("other").is_err());
    }
}
