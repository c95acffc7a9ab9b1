//! The pages of a list, each spelled for the first time.

use super::site::{Site, SiteKind, Sites};
use super::token::Token;
use crate::bytes::decimal::push_number;
use crate::generate::random::Random;
use crate::generate::short::Short;
use crate::generate::vocabulary::{ENGLISH, PARAM_NAMES, SECTIONS};

/// Most parameters in a first spelling: four of a shape and three more.
const PARAMS_MAX: usize = 8;

/// Which sequence of a seed pages draw from; see [`Random::derived`].
const SEQUENCE: u64 = 2;

/// Which value of the sequences keys the tokens.
const TOKENS: u64 = 3;

static ENGLISH_SHORT: [Short<16>; ENGLISH.len()] = Short::all(&ENGLISH);
static SECTIONS_SHORT: [Short<16>; SECTIONS.len()] = Short::all(&SECTIONS);
static PARAM_NAMES_SHORT: [Short<16>; PARAM_NAMES.len()] = Short::all(&PARAM_NAMES);

/// Pages of a list: what they all depend on.
#[derive(Debug)]
pub(super) struct Pages {
    seed: u64,
    sites: Sites,
    token_key: u64,
}

impl Pages {
    pub(super) fn new(seed: u64) -> Pages {
        let token_key = Random::derived(seed, TOKENS, 0).bits();
        Pages { seed, sites: Sites::new(seed), token_key }
    }
}

/// One page in its first spelling. Filled again and again, so that its buffer is reused.
///
/// Promise: scheme and host are lower case, escapes upper case, no dot segment, no doubled slash,
/// no fragment, no tracking, no session, no port of the scheme's own. The [`Token`] is in path or
/// query and unlike anything beside it, so no rule can make two pages equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// The first spelling, after what was there before.
    pub(super) text: Vec<u8>,
    parts: Parts,
    /// Where the page is.
    rank: u64,
    /// The site of this rank, if it is none of the popular ones.
    rare: Site,
}

/// Where the parts of a spelling are in its text.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    start: usize,
    path_start: usize,
    path_end: usize,
    /// Where each parameter starts. No two have the same name.
    param_starts: [usize; PARAMS_MAX],
    params: usize,
}

impl Page {
    /// Becomes page `number`, which is below `2^PAGE_BITS`: always the same one for a seed. Its
    /// first spelling is appended to `text`.
    pub(super) fn fill(&mut self, pages: &Pages, number: u64) {
        let mut random = Random::derived(pages.seed, SEQUENCE, number);
        self.rank = Site::popular_rank(&mut random);
        let site = pages.sites.site(self.rank, &mut self.rare);
        let token = Token::new(pages.token_key, number, site.decimal);
        let text = &mut self.text;
        let mut spelling = Spelling { site, token, random, text, parts: Parts::default() };
        spelling.write();
        self.parts = spelling.parts;
    }

    /// The site where it is.
    pub(super) fn site<'a>(&'a self, pages: &'a Pages) -> &'a Site {
        pages.sites.popular(self.rank).unwrap_or(&self.rare)
    }

    /// The first spelling.
    pub(super) fn spelling(&self) -> &[u8] {
        &self.text[self.parts.start..]
    }

    /// Its path. Starts with `/`.
    pub(super) fn path(&self) -> &[u8] {
        &self.text[self.parts.path_start..self.parts.path_end]
    }

    /// Its query without the `?`; empty if there is none.
    pub(super) fn query(&self) -> &[u8] {
        self.text.get(self.parts.path_end + 1..).unwrap_or_default()
    }

    /// How many parameters the query has.
    pub(super) fn params(&self) -> usize {
        self.parts.params
    }

    /// Parameter `place` as `name=value`, without the `&` around it.
    pub(super) fn param(&self, place: usize) -> &[u8] {
        let starts = &self.parts.param_starts[..self.parts.params];
        let end = starts.get(place + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[starts[place]..end]
    }
}

/// A first spelling that is being drawn and written.
struct Spelling<'a> {
    site: &'a Site,
    token: Token,
    random: Random,
    text: &'a mut Vec<u8>,
    parts: Parts,
}

impl Spelling<'_> {
    fn write(&mut self) {
        self.parts.start = self.text.len();
        self.short(&self.site.origin);
        self.parts.path_start = self.text.len();
        self.push("/");
        match self.site.kind {
            SiteKind::News => self.news(),
            SiteKind::Shop => self.shop(),
            SiteKind::Forum => self.forum(),
            SiteKind::Wiki => self.wiki(),
            SiteKind::Portal => self.portal(),
            SiteKind::Script => self.script(),
            SiteKind::Files => self.files(),
        }
        if self.parts.params == 0 {
            self.parts.path_end = self.text.len();
        }
    }

    fn news(&mut self) {
        match self.site.shape {
            0 => {
                self.date(b'/');
                self.push("/").slug(3, b'-').push("-").token().push("/");
            }
            1 => {
                self.section().push("/");
                self.slug(4, b'-').push("-").token().push(".html");
            }
            2 => {
                self.section().push("/").date(b'/');
                self.push("/").token().push("/").slug(3, b'-');
            }
            _ => {
                self.date(b'-');
                self.push("/").slug(3, b'-').push("-").token();
            }
        }
        self.more_params(12);
    }

    fn shop(&mut self) {
        match self.site.shape {
            0 => {
                self.push("products/").slug(3, b'-').push("-").token();
            }
            1 => {
                self.push("c/").slug(1, b'-').push("/").slug(2, b'-');
                self.push("/p/").token();
            }
            2 => {
                self.push("catalog/").slug(1, b'-').push("/").slug(2, b'-');
                self.push("/").begin_param("product_id").token();
            }
            _ => {
                self.push("shop/").slug(1, b'-').push("/").slug(2, b'-');
                self.push("-").token().push(".html");
            }
        }
        self.more_params(35);
    }

    fn forum(&mut self) {
        match self.site.shape {
            0 => {
                self.push("threads/").slug(4, b'-').push(".").token().push("/");
            }
            1 => {
                self.push("forum/viewtopic.php").begin_param("f").number(1, 99);
                self.begin_param("tid").token();
            }
            2 => {
                self.push("index.php").begin_param("topic").token();
            }
            _ => {
                self.push("forum/").slug(1, b'-').push("/").token();
                self.push("-").slug(3, b'-').push("/");
            }
        }
        self.more_params(25);
    }

    fn wiki(&mut self) {
        match self.site.shape {
            0 => {
                self.push("wiki/").title(2).push("_").token();
            }
            1 => {
                self.push("w/index.php").begin_param("title");
                self.title(2).begin_param("oldid").token();
            }
            2 => {
                self.push("wiki/Category:").title(1).push("/").token();
            }
            _ => {
                self.push("docs/").slug(1, b'-').push("/").slug(2, b'-');
                self.push("/").token().push("/");
            }
        }
        self.more_params(8);
    }

    fn portal(&mut self) {
        match self.site.shape {
            0 => {
                self.slug(1, b'-').push("/").slug(1, b'-');
                self.push("/").token().push("/");
            }
            1 => {
                self.slug(1, b'-').push("/").token();
                self.push("/").slug(2, b'-').push("/");
            }
            2 => {
                self.token().push("/");
            }
            _ => {
                self.push("~").english().push("/").token().push("/");
            }
        }
        self.more_params(10);
    }

    fn script(&mut self) {
        match self.site.shape {
            0 => {
                self.begin_param("p").token();
            }
            1 => {
                self.push("index.php").begin_param("id").token();
            }
            2 => {
                self.push("search").begin_param("q");
                let space = if self.random.percent(50) { "+" } else { "%20" };
                let count = 2 + self.random.position(2);
                self.mixed(count, space).begin_param("item").token();
            }
            _ => {
                self.push("list.aspx").begin_param("dir");
                let slash = if self.random.percent(50) { "/" } else { "%2F" };
                self.mixed(2, slash).begin_param("doc").token();
            }
        }
        self.more_params(40);
    }

    fn files(&mut self) {
        match self.site.shape {
            0 => {
                self.push("files/").english().push("%20");
                self.english().push("-").token().push(".pdf");
            }
            1 => {
                self.push("wp-content/uploads/").year().push("/").two_digits(1, 12);
                self.push("/").slug(2, b'-').push("-").token().push(".jpg");
            }
            2 => {
                self.push("download/").english().push("%2C");
                self.english().push("/").token().push(".zip");
            }
            _ => {
                self.push("images/").token().push("/").slug(1, b'-').push(".png");
            }
        }
        self.more_params(4);
    }

    #[inline(always)]
    fn push(&mut self, text: &str) -> &mut Self {
        self.text.extend_from_slice(text.as_bytes());
        self
    }

    fn short<const ROOM: usize>(&mut self, text: &Short<ROOM>) -> &mut Self {
        text.push_to(self.text);
        self
    }

    fn token(&mut self) -> &mut Self {
        let token = self.token;
        self.short(token.text())
    }

    /// Writes one of `numbers` numbers from `least` on.
    fn number(&mut self, least: u64, numbers: u64) -> &mut Self {
        let number = least + self.random.below(numbers);
        push_number(self.text, number);
        self
    }

    fn year(&mut self) -> &mut Self {
        self.push("20").two_digits(8, 18)
    }

    /// Writes one of `numbers` numbers from `least` on, below 100.
    fn two_digits(&mut self, least: u64, numbers: u64) -> &mut Self {
        let number = least + self.random.below(numbers);
        self.text.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
        self
    }

    fn date(&mut self, separator: u8) -> &mut Self {
        self.year().text.push(separator);
        self.two_digits(1, 12).text.push(separator);
        self.two_digits(1, 28)
    }

    fn one_of<const ROOM: usize>(&mut self, texts: &[Short<ROOM>]) -> &mut Self {
        texts[self.random.position(texts.len())].push_to(self.text);
        self
    }

    fn section(&mut self) -> &mut Self {
        self.one_of(&SECTIONS_SHORT)
    }

    fn english(&mut self) -> &mut Self {
        self.one_of(&ENGLISH_SHORT)
    }

    /// Writes one word of the site's language as the site spells it.
    fn word(&mut self) -> &mut Self {
        match self.site.words {
            Some(words) => self.one_of(words),
            None => self.english(),
        }
    }

    /// Writes `count` words of the site's language.
    fn slug(&mut self, count: usize, separator: u8) -> &mut Self {
        for place in 0..count {
            if place > 0 {
                self.text.push(separator);
            }
            self.word();
        }
        self
    }

    /// Writes words as the title of an entry: first letter in upper case if it is ASCII.
    fn title(&mut self, count: usize) -> &mut Self {
        let start = self.text.len();
        self.slug(count, b'_');
        self.text[start].make_ascii_uppercase();
        self
    }

    /// Writes `count` words, every other one English, so that the separator stands between ASCII
    /// too.
    fn mixed(&mut self, count: usize, separator: &str) -> &mut Self {
        for place in 0..count {
            if place > 0 {
                self.push(separator);
            }
            if place % 2 == 1 {
                self.english();
            } else {
                self.word();
            }
        }
        self
    }

    /// Starts a parameter, or the query with it. `name` must not be in there.
    #[inline(always)]
    fn begin_param(&mut self, name: &str) -> &mut Self {
        self.begin_any_param().push(name).push("=")
    }

    fn begin_any_param(&mut self) -> &mut Self {
        if self.parts.params == 0 {
            self.parts.path_end = self.text.len();
        }
        self.text.push(if self.parts.params == 0 { b'?' } else { b'&' });
        self.parts.param_starts[self.parts.params] = self.text.len();
        self.parts.params += 1;
        self
    }

    /// Adds one to three parameters, which no shape has, in `percent` of 100 cases.
    #[inline]
    fn more_params(&mut self, percent: u64) {
        if !self.random.percent(percent) {
            return;
        }
        // An odd step walks through all sixteen names before it meets one twice.
        let (first, step) = (self.random.position(16), 1 + 2 * self.random.position(8));
        for place in 0..1 + self.random.position(3) {
            let name = &PARAM_NAMES_SHORT[(first + place * step) % PARAM_NAMES.len()];
            self.begin_any_param().short(name).push("=");
            if self.random.percent(50) {
                self.number(0, 1_000);
            } else {
                self.word();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::bytes::hex;

    /// Pages of every kind and shape on the way.
    fn each_page(seed: u64, pages: u64, mut check: impl FnMut(&Page, &Site, &str)) {
        let (of_seed, mut page) = (Pages::new(seed), Page::default());
        for number in 0..pages {
            // Several pages in one text.
            if number % 7 == 0 {
                page.text.clear();
            }
            page.fill(&of_seed, number);
            check(&page, page.site(&of_seed), std::str::from_utf8(page.spelling()).unwrap());
        }
    }

    #[test]
    fn every_kind_and_shape_appears() {
        let mut seen = HashSet::new();
        each_page(1, 20_000, |_, site, line| {
            assert!(line.len() < 600, "{line}");
            seen.insert((site.kind as u8, site.shape));
        });
        assert_eq!(seen.len(), 7 * 4);
    }

    #[test]
    fn first_spellings_are_canonical() {
        each_page(2, 20_000, |page, _, line| {
            let path = std::str::from_utf8(page.path()).unwrap();
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
            each_page(seed, 10_000, |_, site, line| {
                let token = Token::new(key, number, site.decimal);
                let token = std::str::from_utf8(token.text().as_bytes()).unwrap();
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
        each_page(3, 20_000, |page, _, line| {
            let params: Vec<_> = (0..page.params()).map(|place| page.param(place)).collect();
            assert_eq!(params.join(&b'&'), page.query(), "{line}");
            let name = |param: &[u8]| param.iter().position(|&byte| byte == b'=').unwrap();
            let names: HashSet<_> = params.iter().map(|param| &param[..name(param)]).collect();
            assert_eq!(names.len(), params.len(), "{line}");
        });
    }

    #[test]
    fn far_pages_are_spelled() {
        let mut page = Page::default();
        page.fill(&Pages::new(1), (1 << super::super::token::PAGE_BITS) - 1);
        assert!(page.spelling().starts_with(b"http"));
    }
}
