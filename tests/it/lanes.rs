//! The laws of canonical forms, over tables, samples, hostile lines and made-up URLs: both lanes
//! agree, and a canonical form is its own.

#[expect(unreachable_pub, clippy::duplicate_mod, reason = "fuzz targets have the same laws")]
#[path = "../../fuzz/fuzz_targets/laws/mod.rs"]
mod laws;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use proptest::prelude::*;
use undust::bytes::{Lines, show};
use undust::canonical::{Canonicalizer, PROFILES, Profile, RuleId, RuleSet, Scratch, Settings};

use laws::Lanes;

/// The built-in profiles, each rule alone, and some mixtures.
fn all_lanes() -> Vec<Lanes> {
    let mut lanes: Vec<Lanes> =
        PROFILES.iter().map(|name| Lanes::new(*name, Profile::named(name).unwrap())).collect();
    for rule in RuleId::ALL {
        let only: RuleSet = [rule].into_iter().collect();
        lanes.push(Lanes::new(format!("only {}", rule.name()), Profile::only(only)));
    }
    for text in [
        "profile = 'crawl'\ndisable = ['query-order']",
        "profile = 'crawl'\ndisable = ['empty-query', 'fragment']",
        "profile = 'crawl'\ndisable = ['params', 'session-ids']\nenable = ['directory-index']",
        "profile = 'rfc3986'\nenable = ['query-order', 'params', 'empty-query', 'fragment']",
        "profile = 'rfc3986'\nslash = 'remove'\nenable = ['duplicate-slashes']",
        "profile = 'aggressive'\nslash = 'add'\nwww = 'add'\nscheme = 'https'",
        "profile = 'aggressive'\nslash = 'keep'\nempty-values = false\nkeep-routes = false",
        "profile = 'aggressive'\nlatin1-hosts = ['example.com']\nstrip-params = ['id']",
        "profile = 'aggressive'\n[hosts]\n'127.0.0.1' = 'www.example.com'\n\
         [[keep-params]]\nhost = 'example.com'\nnames = ['a', 'b', 'id']\n\
         [[default-params]]\nname = 'a'\nvalue = '1'",
    ] {
        let profile = Settings::parse(text).unwrap().build().unwrap();
        lanes.push(Lanes::new(text, profile));
    }
    lanes
}

fn lines_of(file: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file);
    let bytes = fs::read(&path).unwrap();
    let bytes = match &bytes[..4] {
        [0x28, 0xb5, 0x2f, 0xfd] => zstd::decode_all(&bytes[..]).unwrap(),
        [0x1f, 0x8b, ..] => {
            let mut out = Vec::new();
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut out).unwrap();
            out
        }
        _ => bytes,
    };
    Lines::new(&bytes, b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn laws_hold_on_hostile_lines() {
    let lanes = all_lanes();
    for file in ["hostile/nasty.bin.zst", "hostile/wpt_inputs.txt", "samples/messy.txt"] {
        let lines = lines_of(file);
        assert!(lines.len() > 50, "{file}");
        for lane in &lanes {
            for line in &lines {
                lane.check(line);
            }
        }
    }
}

#[test]
fn laws_hold_on_samples() {
    let lanes = all_lanes();
    for file in ["samples/reddit.txt", "samples/kasztp.txt.zst", "samples/tweetfeed.txt.gz"] {
        let lines = lines_of(file);
        assert!(lines.len() > 1000, "{file}");
        for (number, lane) in lanes.iter().enumerate() {
            // The built-in profiles see every line, the others a part.
            let step = if number < PROFILES.len() { 1 } else { 7 };
            for line in lines.iter().step_by(step) {
                lane.check(line);
            }
        }
    }
}

#[test]
fn equal_at_one_level_is_equal_at_the_next() {
    let lane = Canonicalizer::new(Profile::named("aggressive").unwrap());
    let levels = lane.profile().rules.len();
    let traces: Vec<_> =
        lines_of("samples/messy.txt").iter().filter_map(|line| lane.trace(line).ok()).collect();
    for a in &traces {
        for b in &traces {
            for level in 0..levels {
                if a.at(level) == b.at(level) {
                    assert_eq!(a.at(level + 1), b.at(level + 1), "level {level}");
                }
            }
        }
    }
}

/// URLs made of the pieces that rules care about, in any order.
fn made_up() -> impl Strategy<Value = MadeUp> {
    let host = prop::sample::select(vec![
        "example.com",
        "EXAMPLE.com",
        "www.example.com",
        "www.www.example.co.uk",
        "example.com.",
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "[::1]",
        "[2001:DB8::0:1]",
        "b\u{fc}cher.example",
        "xn--bcher-kva.example",
        "XN--BCHER-KVA.example",
        "A-b.man-N-a.test",
        "-a.test",
        "user:pw@example.com",
        "u@v@example.com",
        "a_b.test",
        "a..b",
        "exa%6Dple.com",
        "www.co.uk",
        "www.any.ck",
        "www.www.ck",
        "WWW.x.City.Kawasaki.jp",
        "www.h",
        "1.2.3.4.5",
        "h",
        // Some parameters go on these alone.
        "x.com",
        "M.YouTube.com",
        "ebay.at",
        "www.amazon.com",
        "",
    ]);
    let scheme = prop::sample::select(vec![
        "http://",
        "https://",
        "HTTP://",
        "hTtPS://",
        "http:",
        "http:\\\\",
        "ws://",
        "ftp://",
        "",
        "//",
        "mailto:",
        "file:///",
        "foo://",
        "data:",
    ]);
    let port = prop::sample::select(vec![
        "", "", "", ":", ":80", ":443", ":0080", ":8080", ":21", ":65536",
    ]);
    let piece = prop::sample::select(vec![
        "/",
        "/",
        "/a",
        "/b",
        "/.",
        "/..",
        "/%2e",
        "/%2E%2e",
        "//",
        "/index.html",
        "/Index.PHP",
        "/default.asp",
        "%41",
        "%7e",
        "%2F",
        "%2f",
        "%",
        "%%",
        "%3",
        "%31",
        "%4",
        "%u00e9",
        "%uD83D",
        "%uDE00",
        "%u0041",
        "%25",
        "%252e",
        ";jsessionid=ABC123",
        ";JSessionID=ABC%31",
        ";jsession%69d=A",
        "/(S(abcdefghij0123456789abcd))",
        ";",
        ";v=1",
        "http:",
        "c:",
        "\\",
        "[",
        "|",
        "]",
        "\"",
        "'",
        "%27",
        "(",
        "%28",
        " ",
        "\t",
        "\r",
        "\u{e9}",
        "+",
        "~",
        ".",
        "..",
        "index.html",
        "#",
        "#!",
        "#/",
        "?",
        "&",
        "&&",
        "=",
        "==",
        "a=1",
        "a=2",
        "b=",
        "B=1",
        "a",
        "utm_source=x",
        "utm%5fsource=x",
        "PHPSESSID=0123456789abcdef0123456789abcdef",
        "sid=fedcba98",
        "sid=1",
        "x=a/b",
        "x=a%2fb",
        "x=a+b",
        "x=a%20b",
        "x=a%2bb",
        "x%3d=1",
        "x=%26",
        "x=%3d",
        "fbclid=1",
        "tag=news",
        "si=0123456789abcdef",
        "s=20",
        "s=0123456789abcdef0123456789abcdef",
        "mkcid=1",
        "c-d=1",
        "%d9%84%d9%84%d9%84%d9%84%d9%84%d9%84%d9%84%d9%84%d9%84%d9%84%d9%84",
        "[]=1",
        "%5b%5D=1",
        "\u{7f}",
        "^",
        "`",
        "{",
        "}",
        "<",
        "%80",
        ",",
        ":",
        "@",
        "$",
        "!",
    ]);
    let tail = prop::collection::vec(piece, 0..12);
    let noise = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2);
    (scheme, host, port, tail, prop::bool::weighted(0.2), noise).prop_map(
        |(scheme, host, port, tail, noisy, noise)| {
            let mut url = format!("{scheme}{host}{port}{}", tail.concat()).into_bytes();
            if noisy && !url.is_empty() {
                for (at, byte) in noise {
                    let at = at.index(url.len());
                    url[at] = byte;
                }
            }
            MadeUp(url)
        },
    )
}

/// A made-up URL that failures print readably.
#[derive(Clone)]
struct MadeUp(Vec<u8>);

impl std::fmt::Debug for MadeUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", show(&self.0))
    }
}

/// 4,000 cases, or as many as `PROPTEST_CASES` asks for.
fn config() -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: default.cases.max(4000), ..default }
}

/// Is there a letter with a colon behind it, as in the name of a drive?
fn has_letter_and_colon(text: &str) -> bool {
    text.as_bytes()[text.find("//").unwrap_or(0)..]
        .windows(2)
        .any(|pair| pair[0].is_ascii_alphabetic() && matches!(pair[1], b':' | b'|'))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn laws_hold_on_made_up_urls(url in made_up()) {
        thread_local! {
            static LANES: Vec<Lanes> = all_lanes();
        }
        LANES.with(|lanes| {
            for lane in lanes {
                lane.check(&url.0);
            }
        });
    }

    #[test]
    fn the_whatwg_profile_is_the_url_crate(url in made_up()) {
        let text = String::from_utf8_lossy(&url.0).into_owned();
        let lane = Canonicalizer::new(Profile::named("whatwg").unwrap());
        let mut scratch = Scratch::default();
        let ours = lane.canonical(text.as_bytes(), &mut scratch);
        match url::Url::parse(&text) {
            // Known differences of the crate (2.5.8) from the standard: `^` in paths; the
            // drive-letter rule, which it applies to http as well.
            Ok(theirs) if matches!(theirs.scheme(), "http" | "https" | "ws" | "wss" | "ftp")
                && !text.contains('^') && !has_letter_and_colon(&text) => {
                prop_assert_eq!(std::str::from_utf8(ours.form).unwrap(), theirs.as_str());
            }
            Ok(_) => prop_assert!(ours.reject.is_none()),
            Err(_) => prop_assert!(ours.reject.is_some(), "{}", show(ours.form)),
        }
    }
}
