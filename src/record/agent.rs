//! Families of user agents: which bot, or something that people use.

/// Families that are known by a word in their name, in lower case, and how they are shown. The
/// first that occurs counts.
///
/// Source: the operators' own pages on their crawlers, as of 2026-11; and the names that libraries
/// send by default.
const FAMILIES: [(&str, &str); 44] = [
    ("googlebot", "Googlebot"),
    ("google-extended", "Google-Extended"),
    ("adsbot-google", "AdsBot-Google"),
    ("mediapartners-google", "Mediapartners-Google"),
    ("feedfetcher-google", "FeedFetcher-Google"),
    ("bingbot", "bingbot"),
    ("adidxbot", "adidxbot"),
    ("msnbot", "msnbot"),
    ("slurp", "Yahoo! Slurp"),
    ("duckduckbot", "DuckDuckBot"),
    ("yandex", "Yandex"),
    ("baiduspider", "Baiduspider"),
    ("applebot", "Applebot"),
    ("gptbot", "GPTBot"),
    ("chatgpt-user", "ChatGPT-User"),
    ("oai-searchbot", "OAI-SearchBot"),
    ("claudebot", "ClaudeBot"),
    ("perplexitybot", "PerplexityBot"),
    ("ccbot", "CCBot"),
    ("bytespider", "Bytespider"),
    ("amazonbot", "Amazonbot"),
    ("meta-externalagent", "meta-externalagent"),
    ("facebookexternalhit", "facebookexternalhit"),
    ("twitterbot", "Twitterbot"),
    ("linkedinbot", "LinkedInBot"),
    ("pinterest", "Pinterest"),
    ("ahrefsbot", "AhrefsBot"),
    ("semrushbot", "SemrushBot"),
    ("mj12bot", "MJ12bot"),
    ("dotbot", "DotBot"),
    ("petalbot", "PetalBot"),
    ("archive.org_bot", "archive.org_bot"),
    ("ia_archiver", "ia_archiver"),
    ("heritrix", "Heritrix"),
    ("scrapy", "Scrapy"),
    ("python", "Python"),
    ("curl/", "curl"),
    ("wget/", "Wget"),
    ("go-http-client", "Go"),
    ("java/", "Java"),
    ("okhttp", "OkHttp"),
    ("libwww-perl", "Perl"),
    ("wordpress/", "WordPress"),
    ("mod_pagespeed", "mod_pagespeed"),
];

/// Words by which others give themselves away.
const TRAITS: [&str; 4] = ["bot", "crawl", "spider", "slurp"];

/// Bytes of an agent that are looked at. Reason: names stand in front; the rest is versions.
const LOOKED_AT_BYTES: usize = 512;

/// The name of those that people use.
pub const BROWSERS: &str = "browsers";

/// The family of `agent`: a bot, a library, [`BROWSERS`], or `other`; `none` for an empty one.
pub fn family(agent: &[u8]) -> String {
    let agent = &agent[..agent.len().min(LOOKED_AT_BYTES)];
    if agent.is_empty() || agent == b"-" {
        return "none".to_string();
    }
    let lower = String::from_utf8_lossy(agent).to_ascii_lowercase();
    if let Some((_, shown)) = FAMILIES.iter().find(|(word, _)| lower.contains(word)) {
        return (*shown).to_string();
    }
    // The word that holds the trait is a name, mostly: `SomeBot/1.0`.
    let words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
    for word in words.filter(|word| word.len() <= 40) {
        if TRAITS.iter().any(|one| word.contains(one)) {
            return word.trim_matches('.').to_string();
        }
    }
    let is_browser = ["mozilla/", "opera/"].iter().any(|one| lower.starts_with(one));
    if is_browser { BROWSERS } else { "other" }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        for (agent, expected) in [
            ("", "none"),
            ("-", "none"),
            (
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                "Googlebot",
            ),
            ("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)", "GPTBot"),
            ("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "browsers"),
            ("Mozilla/5.0 (compatible; SomeBot/1.0; +http://x.test)", "somebot"),
            ("curl/8.5.0", "curl"),
            ("Serf/1.1.0", "other"),
            ("\u{1b}[0m crawler", "crawler"),
        ] {
            assert_eq!(family(agent.as_bytes()), expected, "{agent}");
        }
        assert_eq!(family(&[b'x'; 100_000]), "other");
    }
}
