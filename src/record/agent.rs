//! Families of user agents: which bot, or something that people use.

/// Families that are known by a word in their name, in lower case, and how they are shown. The
/// first that occurs counts.
///
/// Source: the operators' own pages on their crawlers, as of 2026-11; and the names that libraries
/// send by default.
const FAMILIES: [(&str, &str); 54] = [
    ("googlebot", "Googlebot"),
    ("googleother", "GoogleOther"),
    ("google-extended", "Google-Extended"),
    ("adsbot-google", "AdsBot-Google"),
    ("mediapartners-google", "Mediapartners-Google"),
    ("feedly", "Feedly"),
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
    ("playwright", "Playwright"),
    ("puppeteer", "Puppeteer"),
    ("selenium", "Selenium"),
    ("headlesschrome", "HeadlessChrome"),
    ("chrome-lighthouse", "Lighthouse"),
    ("ptst/", "WebPageTest"),
    ("pingdom", "Pingdom"),
    ("virustotal", "VirusTotal"),
    ("wordpress/", "WordPress"),
    ("mod_pagespeed", "mod_pagespeed"),
];

/// Parts of words by which others give themselves away.
const TRAITS: [&str; 12] = [
    "bot", "crawl", "spider", "slurp", "fetch", "preview", "headless", "scan", "monitor", "check",
    "scrap", "google-",
];

/// Words with such a part that are no names of bots, but say what one is: `Digg Feed Fetcher`.
const KINDS: [&str; 14] = [
    "bot",
    "robot",
    "crawl",
    "crawler",
    "spider",
    "fetch",
    "fetcher",
    "preview",
    "scan",
    "scanner",
    "monitor",
    "monitoring",
    "check",
    "checker",
];

/// Words with such a part that are no bots: CUBOT makes telephones.
const NOT_BOTS: [&str; 1] = ["cubot"];

/// What browsers have behind `(compatible; `, where bots have their name.
const COMPATIBLE_BROWSERS: [&str; 8] =
    ["msie", "konqueror", "opera", "windows", "linux", "macintosh", "x11", "u"];

/// Bytes of an agent that are looked at. Reason: names stand in front; the rest is versions.
const LOOKED_AT_BYTES: usize = 512;

/// Longest word that is taken for a name. Reason: rows of a report stay readable.
const MAX_NAME_BYTES: usize = 40;

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
    let page_start = ["http://", "https://"].iter().filter_map(|scheme| lower.find(scheme)).min();
    let (agent, page) = lower.split_at(page_start.unwrap_or(lower.len()));
    if ["mozilla/", "opera/"].iter().any(|one| agent.starts_with(one)) {
        let telling = || compatible_name(agent).or_else(|| telling_words(agent).next());
        telling().or_else(|| host_of_page(agent, page)).unwrap_or(BROWSERS).to_string()
    } else {
        let named = telling_words(agent).find(|word| !KINDS.contains(word));
        let is_bot = !page.is_empty() || telling_words(agent).next().is_some();
        let first = || words(agent).next().filter(|_| is_bot);
        named.or_else(first).unwrap_or("other").to_string()
    }
}

/// The words that have one of the [`TRAITS`]. They are names, mostly: `SomeBot/1.0`.
fn telling_words(agent: &str) -> impl Iterator<Item = &str> {
    let has_trait = |word: &&str| TRAITS.iter().any(|one| word.contains(one));
    words(agent).filter(has_trait).filter(|word| !NOT_BOTS.contains(word))
}

/// The name in `Mozilla/5.0 (compatible; Name/1.0; …)`, as bots write it.
fn compatible_name(agent: &str) -> Option<&str> {
    let (_, rest) = agent.split_once("compatible;")?;
    words(rest).next().filter(|name| !COMPATIBLE_BROWSERS.contains(name))
}

/// The host in `… Safari/537.36 (+https://a.test/about)`, where the `page` stands behind a plus sign
/// or has a trait: a page about the agent, which browsers do not have.
fn host_of_page<'a>(agent: &str, page: &'a str) -> Option<&'a str> {
    let (_, rest) = page.split_once("://")?;
    let is_about = agent.trim_end().ends_with('+') || telling_words(rest).next().is_some();
    words(rest).next().filter(|_| is_about)
}

/// The words of `text` that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .map(|word| word.trim_matches('.'))
        .filter(|word| (1..=MAX_NAME_BYTES).contains(&word.len()))
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
            ("\u{1b}[0m crawler", "0m"),
            ("crawler", "crawler"),
            ("Digg Feed Fetcher 1.0 (Mozilla/5.0 (Macintosh))", "digg"),
            ("BarkRowler/0.7 (+http://www.exensa.com/crawling)", "barkrowler"),
            (
                "Mozilla/5.0 (compatible; AhrefsSiteAudit/6.1; +http://a.test/robot/)",
                "ahrefssiteaudit",
            ),
            ("Mozilla/4.0 (compatible; MSIE 6.0; http://a.test/bot.html )", "a.test"),
            ("Mozilla/4.0 (compatible; MSIE 6.0; SV1; http://a.test)", "browsers"),
            ("Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)", "Feedly"),
            ("Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)", "embedly"),
            ("Mozilla/5.0 (compatible; theoldreader.com; 2 subscribers)", "theoldreader.com"),
            ("Mozilla/5.0 (X11) Chrome/126.0 Safari/537.36 +https://sitebulb.com", "sitebulb.com"),
            ("Mozilla/5.0 (Windows NT 6.2; AppEngine; +http://)", "browsers"),
            ("Mozilla/5.0 (compatible;", "browsers"),
            ("Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.1; Trident/6.0)", "browsers"),
            ("Mozilla/5.0 (compatible; Konqueror/4.5; Linux) KHTML/4.5.4", "browsers"),
            ("Mozilla/5.0 (Linux; Android 9; CUBOT X19) Chrome/83.0 Mobile Safari/5", "browsers"),
            ("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/74.0 Safari/537.36", "HeadlessChrome"),
            ("Mozilla/5.0 (compatible; Google-InspectionTool/1.0)", "google-inspectiontool"),
        ] {
            assert_eq!(family(agent.as_bytes()), expected, "{agent}");
        }
        assert_eq!(family(&[b'x'; 100_000]), "other");
    }
}
