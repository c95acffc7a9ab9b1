//! The words of which hosts, paths and parameters of generated URLs are made.
//!
//! Invented for this module or taken from dictionaries; no list of real sites is in it. Everything
//! is lower case where case exists, in normal form C, free of bytes a URL would escape except the
//! non-ASCII ones. No word of a first spelling ends in a digit: `list/token.rs` rests on it.
//!
//! The order of the rows is part of the truth: a new row anywhere changes every list of every seed.

use super::short::Short;

/// Words of English slugs.
pub(super) const ENGLISH: [&str; 128] = [
    "about", "account", "after", "album", "answer", "archive", "autumn", "award", "bank",
    "battery", "bicycle", "board", "book", "border", "bridge", "budget", "camera", "canal",
    "castle", "chair", "city", "climate", "coast", "coffee", "color", "concert", "copper",
    "cotton", "council", "crisis", "culture", "debate", "deal", "design", "dinner", "doctor",
    "early", "east", "economy", "election", "energy", "engine", "europe", "event", "farm",
    "festival", "film", "final", "forest", "free", "garden", "gallery", "glass", "global", "gold",
    "green", "guide", "harbor", "health", "history", "holiday", "hotel", "house", "how", "island",
    "jacket", "journal", "kitchen", "lamp", "law", "leather", "letter", "library", "light",
    "market", "match", "minister", "mobile", "morning", "motor", "mountain", "museum", "music",
    "new", "night", "north", "ocean", "office", "old", "opera", "paper", "park", "phone", "photo",
    "plan", "player", "police", "price", "project", "public", "rail", "rain", "recipe", "report",
    "review", "river", "road", "sale", "school", "season", "silver", "small", "snow", "south",
    "spring", "station", "store", "storm", "street", "summer", "table", "theater", "ticket",
    "train", "travel", "water", "winter", "work",
];

/// Names of sections: first segments of paths.
pub(super) const SECTIONS: [&str; 24] = [
    "news", "blog", "world", "sports", "business", "culture", "science", "opinion", "local",
    "tech", "article", "story", "en", "archive", "category", "tag", "topics", "people", "video",
    "events", "docs", "help", "life", "food",
];

/// A language other than English that a site may be written in: sixteen words of it.
pub(super) type Words = [&'static str; 16];

/// Arabic words.
pub(super) const ARABIC: Words = [
    "أخبار",
    "مدينة",
    "كتاب",
    "رياضة",
    "سفر",
    "صحة",
    "علوم",
    "تاريخ",
    "موسيقى",
    "طعام",
    "سوق",
    "بيت",
    "طقس",
    "صور",
    "جديد",
    "العالم",
];

/// Cyrillic words.
pub(super) const CYRILLIC: Words = [
    "новости",
    "город",
    "книга",
    "спорт",
    "погода",
    "здоровье",
    "наука",
    "история",
    "музыка",
    "рынок",
    "дом",
    "зима",
    "фото",
    "новый",
    "мир",
    "машина",
];

/// Japanese words.
pub(super) const JAPANESE: Words = [
    "東京",
    "写真",
    "天気",
    "新聞",
    "料理",
    "旅行",
    "音楽",
    "映画",
    "日本",
    "大学",
    "科学",
    "歴史",
    "ニュース",
    "スポーツ",
    "カメラ",
    "ゲーム",
];

/// German, French, Spanish words with letters outside ASCII.
pub(super) const LATIN: Words = [
    "größe",
    "straße",
    "übersicht",
    "für",
    "während",
    "glück",
    "économie",
    "société",
    "été",
    "forêt",
    "château",
    "español",
    "niño",
    "años",
    "café",
    "público",
];

/// Last parts of the first label of hosts, after the syllables.
pub(super) const HOST_WORDS: [&str; 16] = [
    "news", "shop", "forum", "wiki", "press", "media", "store", "daily", "hub", "online", "world",
    "tech", "life", "market", "club", "info",
];

/// Labels before the registrable domain; none of them is `www`.
pub(super) const SUBDOMAINS: [&str; 12] = [
    "blog",
    "en",
    "m",
    "forum",
    "shop",
    "docs",
    "archive",
    "static",
    "news",
    "old",
    "my",
    "community",
];

/// Public suffixes; a frequent one has several rows.
pub(super) const SUFFIXES: [&str; 32] = [
    "com", "com", "com", "com", "com", "com", "com", "com", "com", "org", "org", "net", "net",
    "de", "de", "ru", "ru", "co.uk", "co.uk", "com.br", "fr", "it", "pl", "nl", "co.jp", "ir",
    "info", "com.au", "es", "cz", "eu", "in",
];

/// Registrable domains outside ASCII: as people write them, as DNS has them (UTS 46).
pub(super) const IDN_DOMAINS: [(&str, &str); 24] = [
    ("bücher.de", "xn--bcher-kva.de"),
    ("münchen.info", "xn--mnchen-3ya.info"),
    ("café.fr", "xn--caf-dma.fr"),
    ("español.com", "xn--espaol-zwa.com"),
    ("zürich.net", "xn--zrich-kva.net"),
    ("köln.de", "xn--kln-sna.de"),
    ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
    ("новости.рф", "xn--b1amnebsh.xn--p1ai"),
    ("россия.рф", "xn--h1alffa9f.xn--p1ai"),
    ("погода.укр", "xn--80afd2bbd.xn--j1amh"),
    ("книги.com", "xn--c1ajbfp.com"),
    ("музыка.бел", "xn--80anjg9azc.xn--90ais"),
    ("日本語.jp", "xn--wgv71a119e.jp"),
    ("例え.jp", "xn--r8jz45g.jp"),
    ("東京.com", "xn--1lqs71d.com"),
    ("ニュース.net", "xn--zck9awe6d.net"),
    ("中国.com", "xn--fiqs8s.com"),
    ("新闻.net", "xn--efvy88h.net"),
    ("مثال.com", "xn--mgbh0fb.com"),
    ("أخبار.net", "xn--igbicxr.net"),
    ("παράδειγμα.eu", "xn--hxajbheg2az3al.eu"),
    ("παράδειγμα.com", "xn--hxajbheg2az3al.com"),
    ("bücher.com", "xn--bcher-kva.com"),
    ("café.com", "xn--caf-dma.com"),
];

/// Networks that are reserved for documentation (RFC 5737); the last octet is free.
pub(super) const NETWORKS: [[u8; 3]; 3] = [[192, 0, 2], [198, 51, 100], [203, 0, 113]];

/// Ports that are not the default of the scheme they are used with.
pub(super) const PORTS: [u16; 6] = [8080, 8000, 8888, 81, 3000, 8443];

/// Parameters that may be added to the one with the token. No list of tracking or session names
/// has them.
pub(super) const PARAM_NAMES: [&str; 16] = [
    "page", "sort", "lang", "view", "category", "color", "size", "year", "brand", "order", "city",
    "format", "start", "filter", "month", "type",
];

/// Fragments that name a place in a page. None starts with `!` or `/`: those are routes.
pub(super) const FRAGMENTS: [&str; 10] = [
    "top",
    "comments",
    "respond",
    "section-2",
    "main-content",
    "footer",
    "reviews",
    ":~:text=news",
    "comment-4812",
    "more",
];

/// Values of `utm_source`.
pub(super) const UTM_SOURCES: [&str; 8] =
    ["twitter", "facebook", "newsletter", "google", "rss", "linkedin", "reddit", "push"];

/// Values of `utm_medium`.
pub(super) const UTM_MEDIUMS: [&str; 5] = ["social", "email", "cpc", "referral", "feed"];

/// Values of `utm_campaign`.
pub(super) const UTM_CAMPAIGNS: [&str; 6] =
    ["spring_sale", "launch", "weekly-digest", "brand_2024", "retargeting", "black-friday"];

/// Three syllables of two letters that spell the 18 bits of `name`: `badofi`.
pub(super) fn syllables(name: u64) -> Short<6> {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aeio";
    let mut text = Short::default();
    for shift in [12, 6, 0] {
        let syllable = (name >> shift & 63) as usize;
        text.put(CONSONANTS[syllable >> 2]);
        text.put(VOWELS[syllable & 3]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_words_are_plain() {
        let lists: [&[&str]; 11] = [
            &ENGLISH,
            &SECTIONS,
            &HOST_WORDS,
            &SUBDOMAINS,
            &PARAM_NAMES,
            &FRAGMENTS,
            &UTM_SOURCES,
            &UTM_MEDIUMS,
            &UTM_CAMPAIGNS,
            &SUFFIXES,
            &["www"],
        ];
        for word in lists.into_iter().flatten() {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            assert!(word.bytes().all(|byte| plain(byte) || b"-_.:~=".contains(&byte)), "{word}");
            // Nine bytes between two marks must not read as a token, nor ten digits.
            let runs = word.split(|letter: char| !letter.is_ascii_alphanumeric());
            for run in runs.filter(|run| run.len() >= 9) {
                assert!(run.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
            }
        }
    }

    #[test]
    fn foreign_words_are_foreign() {
        for word in [ARABIC, CYRILLIC, JAPANESE, LATIN].iter().flatten() {
            assert!(
                !word.is_ascii() && word.chars().all(char::is_alphabetic) || word.contains('ー')
            );
        }
        for (unicode, punycode) in IDN_DOMAINS {
            assert!(!unicode.is_ascii() && punycode.is_ascii() && punycode.contains("xn--"));
        }
    }

    #[test]
    fn routes_are_no_fragments() {
        assert!(!FRAGMENTS.iter().any(|name| name.starts_with(['!', '/'])));
        assert!(!PARAM_NAMES.iter().any(|name| name.starts_with("utm_")));
    }
}
