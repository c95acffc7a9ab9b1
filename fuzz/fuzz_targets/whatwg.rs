//! The profile `whatwg` is the `url` crate, where the crate follows the standard.
#![no_main]

use std::cell::OnceCell;

use libfuzzer_sys::fuzz_target;
use undust::bytes::show;
use undust::canonical::{Canonicalizer, Profile, Scratch};
use undust::limits::IDNA_HOST_BYTES_MAX;
use url::Url;

thread_local! {
    static LANE: OnceCell<Canonicalizer> = const { OnceCell::new() };
}

fn lane() -> Canonicalizer {
    Canonicalizer::new(Profile::named("whatwg").expect("the profile is built in"))
}

/// Does the crate (2.5.8) differ from the standard here? It leaves `^` in paths, and keeps what
/// looks like a drive letter in the path of any scheme.
fn is_known_difference(text: &str) -> bool {
    let read: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'\t' | b'\n' | b'\r')).collect();
    let is_drive = |three: &[u8]| {
        matches!(three, [b'/' | b'\\', _, b':' | b'|']) && three[1].is_ascii_alphabetic()
    };
    text.contains('^') || read.windows(3).any(is_drive)
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    // A host that long is not handed to IDNA.
    if text.len() > IDNA_HOST_BYTES_MAX || is_known_difference(&text) {
        return;
    }
    LANE.with(|cell| {
        let mut scratch = Scratch::default();
        let ours = cell.get_or_init(lane).canonical(text.as_bytes(), &mut scratch);
        match Url::parse(&text) {
            Ok(theirs) if matches!(theirs.scheme(), "http" | "https") => assert!(
                ours.reject.is_none() && ours.form == theirs.as_str().as_bytes(),
                "line {}\n  ours   {} {:?}\n  theirs {}",
                show(text.as_bytes()),
                show(ours.form),
                ours.reject,
                show(theirs.as_str().as_bytes())
            ),
            Ok(theirs) => assert!(
                ours.reject.is_none(),
                "line {}\n  ours   {:?}\n  theirs {}",
                show(text.as_bytes()),
                ours.reject,
                show(theirs.as_str().as_bytes())
            ),
            Err(error) => assert!(
                ours.reject.is_some(),
                "line {}\n  ours   {}\n  theirs {error}",
                show(text.as_bytes()),
                show(ours.form)
            ),
        }
    });
});
