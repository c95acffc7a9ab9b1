//! Whatever a configuration says, it is refused with one line or makes a profile that keeps the
//! laws.
//!
//! ```text
//! input = kind text       kind: one byte; a settings file, a host map or a rule file
//! ```
#![no_main]

mod laws;

use laws::Lanes;
use libfuzzer_sys::fuzz_target;
use undust::canonical::{DustRules, Settings, read_hosts};
use undust::{Error, Result};

/// Lines that give every rule something to do.
const LINES: [&str; 10] = [
    "http://www.example.com/",
    "https://example.com:443/a//b/../index.html?b=2&a=1&utm_source=x#top",
    "HTTP://127.0.0.1/A/%7Eb;jsessionid=0123456789abcdef0123456789abcdef?id=&a=1",
    "example.com/story?id=1&sid=fedcba9876543210fedcba9876543210",
    "http://b\u{fc}cher.example./(S(abcdefghij0123456789abcd))/default.asp?",
    "http://[::1]:8080/a/?a=%E9&b=+&c=%u00e9#!/route",
    "http://user:pw@a.test//x",
    "ftp://a.test:21/%2e%2e/a",
    "mailto:a@example.com",
    "/a",
];

fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let settings = match kind % 3 {
        0 => Settings::parse(text),
        1 => read_hosts(text).map(|hosts| Settings { hosts, ..Settings::default() }),
        _ => DustRules::parse(text).map(|dust| Settings { dust, ..Settings::default() }),
    };
    if let Err(error) = settings.and_then(check) {
        assert!(error.is_config() || error.is_limit(), "{error:?}");
        assert!(!error.to_string().is_empty());
    }
});

fn check(settings: Settings) -> Result<(), Error> {
    let profile = settings.build()?;
    // Settings on top of nothing are the same settings.
    let again = Settings::default().overlay(settings).build()?;
    assert_eq!(profile.digest(), again.digest());
    let lanes = Lanes::new(profile.title(), profile);
    LINES.iter().for_each(|line| lanes.check(line.as_bytes()));
    Ok(())
}
