//! Families of user agents: bots by name, libraries, browsers.

/// Families: a word of their name, in lower case, and how they are shown. The first that occurs
/// counts.
///
/// Source: the operators' own pages on their crawlers, as of 2026-11; and the names that libraries
/// send by default.
const FAMILIES: &[(&str, &str)] = &[
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
    ("screaming frog", "Screaming Frog"),
    ("zgrab", "zgrab"),
    ("pingdom", "Pingdom"),
    ("virustotal", "VirusTotal"),
    ("appengine-google", "AppEngine-Google"),
    ("let's encrypt", "Let's Encrypt"),
    ("wordpress/", "WordPress"),
    ("mod_pagespeed", "mod_pagespeed"),
];

/// Parts of words that show other bots.
const TRAITS: [&str; 12] = [
    "bot", "crawl", "spider", "slurp", "fetch", "preview", "headless", "scan", "monitor", "check",
    "scrap", "google-",
];

/// Words with such a part that are not the name of a bot, but its kind: `Digg Feed Fetcher`.
const KINDS: &[&str] = &[
    "bot",
    "robot",
    "crawl",
    "crawler",
    "crawling",
    "spider",
    "fetch",
    "fetcher",
    "preview",
    "scan",
    "scanner",
    "scanning",
    "monitor",
    "monitoring",
    "check",
    "checker",
];

/// How words with such a part begin that are not bots: CUBOT makes phones.
const NOT_BOTS: &str = "cubot";

/// Words of browsers in the places where bots have their name: after `(compatible; `, or before the
/// address of a page.
const OF_BROWSERS: &[&str] = &[
    "abrowse",
    "android",
    "applewebkit",
    "chrome",
    "compatible",
    "firefox",
    "galaxy",
    "gecko",
    "icab",
    "ipad",
    "iphone",
    "khtml",
    "konqueror",
    "linux",
    "mac",
    "macintosh",
    "mobile",
    "mozilla",
    "msie",
    "netpositive",
    "netscape",
    "omniweb",
    "opera",
    "safari",
    "u",
    "version",
    "win64",
    "windows",
    "wow64",
    "x11",
];

/// Bytes of an agent that are read. Reason: names come first; the rest is versions.
const LOOKED_AT_BYTES: usize = 512;

/// Longest word in bytes that is taken for a name. Reason: rows of a report stay readable.
const NAME_BYTES_MAX: usize = 40;

/// The name of the family of browsers.
pub const BROWSERS: &str = "browsers";

/// The family of `agent`, whose escapes are undone: a bot, a library, [`BROWSERS`], or `other`;
/// `none` for an empty one.
///
/// What begins with `Mozilla/` or `Opera/` is a browser unless a word of it is a bot's, it has a
/// name of its own after `(compatible; `, or it gives the address of a page about itself. Other
/// programs that are bots or give the address of a page are shown by their name.
pub fn family(agent: &[u8]) -> String {
    let agent = &agent[..agent.len().min(LOOKED_AT_BYTES)];
    if agent.is_empty() || agent == b"-" {
        return "none".to_string();
    }
    let lower = with_blanks(String::from_utf8_lossy(&agent.to_ascii_lowercase()).into_owned());
    if let Some((_, shown)) = FAMILIES.iter().find(|(word, _)| lower.contains(word)) {
        return (*shown).to_string();
    }
    let (text, page) = without_page(&lower);
    let has_kind = || words(&text).any(is_kind);
    let name = telling_words(&text).find(|word| !is_kind(word)).map(str::to_string);
    if ["mozilla/", "opera/"].iter().any(|one| text.starts_with(one)) {
        let compatible = || text.split_once("compatible;").and_then(|(_, rest)| own_name(rest));
        name.or_else(|| compatible().map(str::to_string))
            .or_else(|| kind_and_name(&text))
            .or_else(|| page.filter(|page| page.is_about_the_agent()).map(|page| page.name()))
            .unwrap_or_else(|| BROWSERS.to_string())
    } else {
        let is_named = page.is_some() || has_kind();
        let first = || words(&text).find(|word| starts_with_letter(word)).filter(|_| is_named);
        name.or_else(|| first().map(str::to_string)).unwrap_or_else(|| "other".to_string())
    }
}

/// `agent` with blanks, if it has `+` instead, as in W3C logs.
fn with_blanks(agent: String) -> String {
    if agent.contains(' ') {
        agent
    } else {
        agent.replace("++", " \u{1}").replace('+', " ").replace('\u{1}', "+")
    }
}

/// The address of a page in an agent, `+https://a.test/about`.
struct Page<'a> {
    /// The text before it.
    before: &'a str,
    /// The address without its scheme.
    address: &'a str,
}

/// `agent` without the address of a page, and that page.
fn without_page(agent: &str) -> (String, Option<Page<'_>>) {
    let start = ["http://", "https://"].iter().filter_map(|scheme| agent.find(scheme)).min();
    let Some(start) = start else { return (agent.to_string(), None) };
    let (before, page) = agent.split_at(start);
    let end = page.find([' ', ';', ',', ')']).unwrap_or(page.len());
    let (page, behind) = page.split_at(end);
    let address = page.split_once("://").map_or("", |(_, address)| address);
    (format!("{before} {behind}"), Some(Page { before, address }))
}

impl Page<'_> {
    /// Is it marked by a plus sign, or does it contain a word of bots? Browsers have no such pages.
    fn is_about_the_agent(&self) -> bool {
        self.before.trim_end().ends_with('+') || telling_words(self.address).next().is_some()
    }

    /// The name next to it in brackets, or before the brackets; or its host.
    fn name(&self) -> String {
        let (outside, inside) = self.before.rsplit_once('(').unwrap_or((self.before, ""));
        let product = outside.trim_end().rsplit([' ', ';']).next().unwrap_or_default();
        let name = own_name(inside).or_else(|| own_name(product));
        name.or_else(|| words(self.address).next()).unwrap_or(BROWSERS).to_string()
    }
}

/// The first word, unless it is one of browsers.
fn own_name(text: &str) -> Option<&str> {
    words(text).next().filter(|word| starts_with_letter(word) && !OF_BROWSERS.contains(word))
}

/// The words with one of the [`TRAITS`]. Mostly they are names: `SomeBot/1.0`.
fn telling_words(agent: &str) -> impl Iterator<Item = &str> {
    let has_trait = |word: &&str| TRAITS.iter().any(|one| word.contains(one));
    words(agent).filter(has_trait).filter(|word| !word.starts_with(NOT_BOTS))
}

/// The first of the [`KINDS`] with the word before it, as in `Speedy Spider`.
fn kind_and_name(agent: &str) -> Option<String> {
    let kind = words(agent).find(|word| is_kind(word))?;
    let before = agent.get(..kind.as_ptr().addr() - agent.as_ptr().addr())?;
    let name = before.strip_suffix(' ').and_then(|before| {
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        own_name(&before[before.trim_end_matches(is_of_word).len()..])
    });
    Some(name.map_or(kind.to_string(), |name| format!("{name} {kind}")))
}

/// Is `word` one of the [`KINDS`], or several of them joined?
fn is_kind(word: &str) -> bool {
    KINDS.contains(&word) || word.strip_suffix('s').is_some_and(|one| KINDS.contains(&one))
}

fn starts_with_letter(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The words of `text` that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .map(|word| word.trim_matches('.'))
        .filter(|word| (1..=NAME_BYTES_MAX).contains(&word.len()))
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
            ("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/74.0 Safari/537.36", "HeadlessChrome"),
            ("Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)", "Feedly"),
            ("curl/8.5.0", "curl"),
            ("Mozilla/5.0 zgrab/0.x", "zgrab"),
            ("Screaming Frog SEO Spider/19.8", "Screaming Frog"),
            ("Screaming+Frog+SEO+Spider/19.8", "Screaming Frog"),
            ("Serf/1.1.0", "other"),
            // Names with a trait.
            ("Mozilla/5.0 (compatible; SomeBot/1.0; +http://x.test)", "somebot"),
            ("Mozilla/5.0 (X11; http://x.test/about) AcmeBot/2.0", "acmebot"),
            ("Mozilla/5.0 (compatible; Google-InspectionTool/1.0)", "google-inspectiontool"),
            // The text after `compatible`.
            ("Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)", "embedly"),
            ("Mozilla/5.0 (compatible; theoldreader.com; 2 subscribers)", "theoldreader.com"),
            ("Mozilla/5.0 (compatible; SiteAudit/6.1; +http://a.test/robot/)", "siteaudit"),
            ("Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.1; Trident/6.0)", BROWSERS),
            ("Mozilla/5.0 (compatible; Konqueror/4.5; Linux) KHTML/4.5.4", BROWSERS),
            ("Mozilla/5.0 (compatible; 5.0)", BROWSERS),
            ("Mozilla/5.0 (compatible;", BROWSERS),
            // Kinds.
            ("Mozilla/5.0 (Windows NT 6.1) Speedy Spider (http://a.test/x)", "speedy spider"),
            ("Mozilla/5.0 (Windows NT 6.1; DigExt; Spider)", "spider"),
            ("Digg Feed Fetcher 1.0 (Mozilla/5.0 (Macintosh))", "digg"),
            ("Expanse, a company. If you want to be left out of our scans, write", "expanse"),
            ("\u{1b}[0m crawler", "crawler"),
            // Pages.
            ("BarkRowler/0.7 (+http://www.exensa.com/crawling)", "barkrowler"),
            ("Mozilla/5.0 (X11) Firefox/28.0 (FlipProxy/1.1; +http://a.test/proxy)", "flipproxy"),
            ("Mozilla/5.0 (X11) Chrome/1.0 Prerender (+https://github.com/x/y)", "prerender"),
            ("Mozilla/5.0 (X11) Chrome/126.0 Safari/537.36 +https://sitebulb.com", "sitebulb.com"),
            ("Mozilla/4.0 (compatible; MSIE 6.0; http://a.test/bot.html )", "a.test"),
            ("Mozilla/4.0 (compatible; MSIE 6.0; SV1; http://a.test)", BROWSERS),
            ("Mozilla/5.0 (Windows NT 6.2; AppEngine; +http://)", BROWSERS),
            // As in W3C logs.
            ("Mozilla/4.0+(compatible;+MSIE+6.0;+SV1;+http://a.test)", BROWSERS),
            ("Mozilla/5.0+(compatible;+Embedly/0.2;++http://support.embed.ly/)", "embedly"),
            ("Mozilla/5.0+(X11)+Chrome/126.0+Safari/537.36+(++https://a.test/)", "a.test"),
            // People.
            ("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", BROWSERS),
            ("Mozilla/5.0 (Linux; Android 9; CUBOT X19) Chrome/83.0 Mobile Safari/5", BROWSERS),
            ("Mozilla/5.0 (Linux; Android 9; CUBOT_NOTE_S) Chrome/83.0 Mobile Safari/5", BROWSERS),
        ] {
            assert_eq!(family(agent.as_bytes()), expected, "{agent}");
        }
        assert_eq!(family(&[b'x'; 100_000]), "other");
    }
}
