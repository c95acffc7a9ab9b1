//! The pages of a list, each spelled for the first time.

use super::random::Random;
use super::site::{Kind, Site};
use super::token::Token;
use super::vocabulary::{ENGLISH, PARAM_NAMES, SECTIONS};
use crate::bytes::decimal::push_number;
use crate::bytes::hex;

/// Most parameters in a first spelling: four of a shape and three more.
const PARAMS_MAX: usize = 8;

/// Which sequence of a seed pages draw from; see [`Random::derived`].
const SEQUENCE: u64 = 2;

/// Which value of the sequences keys the tokens.
const TOKENS: u64 = 3;

/// One page in the parts of its first spelling. Filled again and again, so that its buffers are
/// reused.
///
/// Promise: scheme and host are lower case, escapes upper case, no dot segment, no doubled slash,
/// no fragment, no tracking, no session, no port of the scheme's own. The [`Token`] is in `path` or
/// `query` and unlike anything beside it, so no rule can make two pages equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// Where the page is.
    pub(super) site: Site,
    /// The path. Starts with `/`.
    pub(super) path: Vec<u8>,
    /// The query without its `?`; empty if there is none. No two parameters have the same name.
    pub(super) query: Vec<u8>,
    /// Where each parameter starts in `query`.
    starts: [usize; PARAMS_MAX],
    params: usize,
}

impl Page {
    /// Becomes page `number`, which is below `2^PAGE_BITS`: always the same one for a seed.
    pub(super) fn fill(&mut self, seed: u64, number: u64) {
        let random = &mut Random::derived(seed, SEQUENCE, number);
        let rank = Site::popular_rank(random);
        self.site.fill(seed, rank);
        let key = Random::derived(seed, TOKENS, 0).bits();
        let token = Token::new(key, number, self.site.decimal);
        self.path.clear();
        self.path.push(b'/');
        self.query.clear();
        self.params = 0;
        match self.site.kind {
            Kind::News => self.fill_news(token, random),
            Kind::Shop => self.fill_shop(token, random),
            Kind::Forum => self.fill_forum(token, random),
            Kind::Wiki => self.fill_wiki(token, random),
            Kind::Portal => self.fill_portal(token, random),
            Kind::Script => self.fill_script(token, random),
            Kind::Files => self.fill_files(token, random),
        }
    }

    /// Writes the first spelling behind what `line` holds.
    pub(super) fn spell(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(if self.site.https { b"https://" } else { b"http://" });
        if self.site.www {
            line.extend_from_slice(b"www.");
        }
        line.extend_from_slice(&self.site.host);
        if let Some(port) = self.site.port {
            line.push(b':');
            push_number(line, u64::from(port));
        }
        line.extend_from_slice(&self.path);
        if !self.query.is_empty() {
            line.push(b'?');
            line.extend_from_slice(&self.query);
        }
    }

    /// How many parameters the query has.
    pub(super) fn params(&self) -> usize {
        self.params
    }

    /// Parameter `place` as `name=value`, without the `&` around it.
    pub(super) fn param(&self, place: usize) -> &[u8] {
        let end = match self.starts[..self.params].get(place + 1) {
            Some(next) => next - 1,
            None => self.query.len(),
        };
        &self.query[self.starts[place]..end]
    }

    fn fill_news(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.date(b'/', random);
                self.push("/").slug(3, b'-', random).push("-").token(token).push("/");
            }
            1 => {
                self.push(random.pick(&SECTIONS)).push("/");
                self.slug(4, b'-', random).push("-").token(token).push(".html");
            }
            2 => {
                self.push(random.pick(&SECTIONS)).push("/").date(b'/', random);
                self.push("/").token(token).push("/").slug(3, b'-', random);
            }
            _ => {
                self.date(b'-', random);
                self.push("/").slug(3, b'-', random).push("-").token(token);
            }
        }
        self.more_params(12, random);
    }

    fn fill_shop(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.push("products/").slug(3, b'-', random).push("-").token(token);
            }
            1 => {
                self.push("c/").slug(1, b'-', random).push("/").slug(2, b'-', random);
                self.push("/p/").token(token);
            }
            2 => {
                self.push("catalog/").slug(1, b'-', random).push("/").slug(2, b'-', random);
                self.push("/").begin_param("product_id").token_value(token);
            }
            _ => {
                self.push("shop/").slug(1, b'-', random).push("/").slug(2, b'-', random);
                self.push("-").token(token).push(".html");
            }
        }
        self.more_params(35, random);
    }

    fn fill_forum(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.push("threads/").slug(4, b'-', random).push(".").token(token).push("/");
            }
            1 => {
                self.push("forum/viewtopic.php")
                    .begin_param("f")
                    .number_value(random.below(99) + 1);
                self.begin_param("tid").token_value(token);
            }
            2 => {
                self.push("index.php").begin_param("topic").token_value(token);
            }
            _ => {
                self.push("forum/").slug(1, b'-', random).push("/").token(token);
                self.push("-").slug(3, b'-', random).push("/");
            }
        }
        self.more_params(25, random);
    }

    fn fill_wiki(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.push("wiki/").title(2, random).push("_").token(token);
            }
            1 => {
                self.push("w/index.php").begin_param("title");
                let value_at = self.query.len();
                self.words(2, b"_", false, random);
                self.query[value_at].make_ascii_uppercase();
                self.begin_param("oldid").token_value(token);
            }
            2 => {
                self.push("wiki/Category:").title(1, random).push("/").token(token);
            }
            _ => {
                self.push("docs/").slug(1, b'-', random).push("/").slug(2, b'-', random);
                self.push("/").token(token).push("/");
            }
        }
        self.more_params(8, random);
    }

    fn fill_portal(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.slug(1, b'-', random).push("/").slug(1, b'-', random);
                self.push("/").token(token).push("/");
            }
            1 => {
                self.slug(1, b'-', random).push("/").token(token);
                self.push("/").slug(2, b'-', random).push("/");
            }
            2 => {
                self.token(token).push("/");
            }
            _ => {
                self.push("~").push(random.pick(&ENGLISH)).push("/").token(token).push("/");
            }
        }
        self.more_params(10, random);
    }

    fn fill_script(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.begin_param("p").token_value(token);
            }
            1 => {
                self.push("index.php").begin_param("id").token_value(token);
            }
            2 => {
                self.push("search").begin_param("q");
                let space: &[u8] = if random.percent(50) { b"+" } else { b"%20" };
                let count = 2 + random.position(2);
                self.words(count, space, true, random);
                self.begin_param("item").token_value(token);
            }
            _ => {
                self.push("list.aspx").begin_param("dir");
                let slash: &[u8] = if random.percent(50) { b"/" } else { b"%2F" };
                self.words(2, slash, true, random);
                self.begin_param("doc").token_value(token);
            }
        }
        self.more_params(40, random);
    }

    fn fill_files(&mut self, token: Token, random: &mut Random) {
        match self.site.shape {
            0 => {
                self.push("files/").push(random.pick(&ENGLISH)).push("%20");
                self.push(random.pick(&ENGLISH)).push("-").token(token).push(".pdf");
            }
            1 => {
                self.push("wp-content/uploads/");
                self.year(random);
                self.push("/").two_digits(random.below(12) + 1);
                self.push("/").slug(2, b'-', random).push("-").token(token).push(".jpg");
            }
            2 => {
                self.push("download/").push(random.pick(&ENGLISH)).push("%2C");
                self.push(random.pick(&ENGLISH)).push("/").token(token).push(".zip");
            }
            _ => {
                self.push("images/").token(token).push("/").slug(1, b'-', random).push(".png");
            }
        }
        self.more_params(4, random);
    }

    fn push(&mut self, text: &str) -> &mut Self {
        self.path.extend_from_slice(text.as_bytes());
        self
    }

    fn token(&mut self, token: Token) -> &mut Self {
        self.path.extend_from_slice(token.as_bytes());
        self
    }

    fn year(&mut self, random: &mut Random) {
        push_number(&mut self.path, 2008 + random.below(18));
    }

    fn two_digits(&mut self, number: u64) -> &mut Self {
        self.path.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
        self
    }

    fn date(&mut self, separator: u8, random: &mut Random) {
        self.year(random);
        self.path.push(separator);
        self.two_digits(random.below(12) + 1);
        self.path.push(separator);
        self.two_digits(random.below(28) + 1);
    }

    /// Writes `count` words of the site's language to the path.
    fn slug(&mut self, count: usize, separator: u8, random: &mut Random) -> &mut Self {
        for place in 0..count {
            if place > 0 {
                self.path.push(separator);
            }
            push_word(&mut self.path, &self.site, random);
        }
        self
    }

    /// Writes words to the path as the title of an entry: first letter in upper case if it is
    /// ASCII.
    fn title(&mut self, count: usize, random: &mut Random) -> &mut Self {
        let start = self.path.len();
        self.slug(count, b'_', random);
        self.path[start].make_ascii_uppercase();
        self
    }

    /// Writes `count` words to the value of the last parameter.
    ///
    /// With `mixed` every other word is English, so that the separator stands between ASCII too.
    fn words(&mut self, count: usize, separator: &[u8], mixed: bool, random: &mut Random) {
        for place in 0..count {
            if place > 0 {
                self.query.extend_from_slice(separator);
            }
            if mixed && place % 2 == 1 {
                self.query.extend_from_slice(random.pick(&ENGLISH).as_bytes());
            } else {
                push_word(&mut self.query, &self.site, random);
            }
        }
    }

    /// Starts a parameter. `name` must not be in the query.
    fn begin_param(&mut self, name: &str) -> &mut Self {
        if self.params > 0 {
            self.query.push(b'&');
        }
        self.starts[self.params] = self.query.len();
        self.params += 1;
        self.query.extend_from_slice(name.as_bytes());
        self.query.push(b'=');
        self
    }

    fn token_value(&mut self, token: Token) -> &mut Self {
        self.query.extend_from_slice(token.as_bytes());
        self
    }

    fn number_value(&mut self, number: u64) -> &mut Self {
        push_number(&mut self.query, number);
        self
    }

    /// Adds one to three parameters, which no shape has, in `percent` of 100 cases.
    fn more_params(&mut self, percent: u64, random: &mut Random) {
        if !random.percent(percent) {
            return;
        }
        // An odd step walks through all sixteen names before it meets one twice.
        let (first, step) = (random.position(16), 1 + 2 * random.position(8));
        for place in 0..1 + random.position(3) {
            self.begin_param(PARAM_NAMES[(first + place * step) % PARAM_NAMES.len()]);
            if random.percent(50) {
                self.number_value(random.below(1_000));
            } else {
                self.words(1, b"", true, random);
            }
        }
    }
}

/// Writes one word of the site's language as the site spells it.
fn push_word(out: &mut Vec<u8>, site: &Site, random: &mut Random) {
    match site.words {
        Some(words) if site.escaped => push_escaped(out, random.pick(words).as_bytes()),
        Some(words) => out.extend_from_slice(random.pick(words).as_bytes()),
        None => out.extend_from_slice(random.pick(&ENGLISH).as_bytes()),
    }
}

/// Writes `text` with every byte outside ASCII escaped in upper-case hexadecimal digits.
pub(super) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        if byte.is_ascii() {
            out.push(byte);
        } else {
            let [high, low] = hex::digits(byte);
            out.extend_from_slice(&[b'%', high, low]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Pages of every kind and shape on the way.
    fn each_page(seed: u64, pages: u64, mut check: impl FnMut(&Page, &str)) {
        let (mut page, mut line) = (Page::default(), Vec::new());
        for number in 0..pages {
            page.fill(seed, number);
            line.clear();
            page.spell(&mut line);
            let line = std::str::from_utf8(&line).unwrap();
            check(&page, line);
        }
    }

    #[test]
    fn every_kind_and_shape_appears() {
        let mut seen = HashSet::new();
        each_page(1, 20_000, |page, line| {
            assert!(line.len() < 600, "{line}");
            seen.insert((page.site.kind as u8, page.site.shape));
        });
        assert_eq!(seen.len(), 7 * 4);
    }

    #[test]
    fn first_spellings_are_canonical() {
        each_page(2, 20_000, |page, line| {
            let path = std::str::from_utf8(&page.path).unwrap();
            assert!(path.starts_with('/') && !path.contains("//"), "{line}");
            assert!(!path.split('/').any(|segment| segment == "." || segment == ".."), "{line}");
            assert!(!path.contains([';', '?', '#', '+']), "{line}");
            assert!(!line.contains('#') && !line.contains("utm_"), "{line}");
            assert!(!line.bytes().any(|byte| byte <= b' ' || byte == 0x7F), "{line}");
            for (at, _) in line.match_indices('%') {
                let [high, low] = [line.as_bytes()[at + 1], line.as_bytes()[at + 2]];
                let byte = hex::pair(high, low).unwrap();
                assert!(hex::digits(byte) == [high, low], "{line}: lower case");
                assert!(!byte.is_ascii_alphanumeric() && !b"-._~".contains(&byte), "{line}");
            }
        });
    }

    #[test]
    fn every_page_has_one_token() {
        for seed in [1, 9] {
            let key = Random::derived(seed, TOKENS, 0).bits();
            let mut number = 0;
            each_page(seed, 10_000, |page, line| {
                let token = Token::new(key, number, page.site.decimal);
                let token = std::str::from_utf8(token.as_bytes()).unwrap();
                let rest = line.splitn(4, '/').nth(3).unwrap();
                assert_eq!(rest.matches(token).count(), 1, "{line}");
                let runs = rest.split(|letter: char| !letter.is_ascii_alphanumeric());
                let like = |run: &&str| match run.as_bytes() {
                    [first, .., last] if run.len() == 9 => {
                        first.is_ascii_lowercase() && last.is_ascii_digit()
                    }
                    digits => digits.len() == 10 && digits.iter().all(u8::is_ascii_digit),
                };
                assert_eq!(runs.filter(like).collect::<Vec<_>>(), [token], "{line}");
                number += 1;
            });
        }
    }

    #[test]
    fn params_are_the_query() {
        each_page(3, 20_000, |page, line| {
            let params: Vec<_> = (0..page.params()).map(|place| page.param(place)).collect();
            assert_eq!(params.join(&b'&'), page.query, "{line}");
            let name = |param: &[u8]| param.iter().position(|&byte| byte == b'=').unwrap();
            let names: HashSet<_> = params.iter().map(|param| &param[..name(param)]).collect();
            assert_eq!(names.len(), params.len(), "{line}");
        });
    }

    #[test]
    fn far_pages_are_spelled() {
        let (mut page, mut line) = (Page::default(), Vec::new());
        page.fill(1, (1 << super::super::token::PAGE_BITS) - 1);
        page.spell(&mut line);
        assert!(line.starts_with(b"http"));
    }
}
