//! The URLs of a page: which features one uses, and how they are written.

use super::super::random::Random;
use super::super::vocabulary::{ENGLISH, UTM_CAMPAIGNS, UTM_MEDIUMS, UTM_SOURCES};
use super::feature::{Feature, Features};
use super::layout::Layout;
use super::target::{ENTRIES, Handler, Target};
use super::targets::{LINES, Targets};
use super::words::{LIMITS, ORDERS, REF_VALUES};

/// Visits that share a session.
pub(super) const SESSION_VISITS: u64 = 30;

/// Kind of [`Layout::derive`]: the numbers of sessions.
const SESSION: u64 = 8;

/// Percent of the visits that use a parameter which pages of one kind are always linked with.
const USUAL: u64 = 85;

/// A URL of a page.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    pub(super) url: String,
    /// The spellings it uses.
    pub(super) used: Features,
    /// Which view of the page it asks for; equal views of a page have equal bytes. 0 is the usual.
    pub(super) view: u64,
    /// The URL that the server sends to instead of answering.
    pub(super) redirect: Option<String>,
}

/// What a visit has chosen: everything but the URL.
struct Choice<'a> {
    layout: &'a Layout,
    target: &'a Target,
    query: Vec<(&'static str, String)>,
    /// The first session number goes into paths, the second into the query.
    session: u64,
    /// How many percent of the crawl are over, or nearly.
    progress: u64,
    upper: bool,
    /// How often the last segment is repeated in a path that goes in circles.
    turns: usize,
}

/// A URL of page `index`, as the visit of this `session` comes by it.
pub(super) fn spell(
    layout: &Layout,
    targets: &Targets<'_>,
    index: usize,
    session: u64,
    random: &mut Random,
) -> Spelling {
    let target = &targets.all[index];
    let mut used = Features::default();
    let mut choice = Choice {
        layout,
        target,
        query: target.query.clone(),
        session: layout.derive(SESSION, session),
        progress: 100 * session * SESSION_VISITS / layout.urls as u64,
        upper: random.percent(30),
        turns: 2 + random.position(3),
    };
    choice.hosts(random, &mut used);
    let mut view = 0;
    if target.handler != Handler::Dead {
        choice.paths(random, &mut used);
        if target.handler != Handler::Asset {
            choice.own_params(targets, random, &mut used);
            view = choice.views(random, &mut used);
            choice.general_params(random, &mut used);
            choice.order(random, &mut used);
        }
    }
    if used.has(Feature::MobileHost) && layout.mobile_differs {
        view = view.wrapping_add(1 << 62);
    }
    let url = choice.url(used);
    let undone = used.common(layout.redirecting);
    let redirect = (!undone.is_empty() && target.handler != Handler::Dead)
        .then(|| choice.url(used.without(undone)));
    Spelling { url, used, view, redirect }
}

impl Choice<'_> {
    fn hosts(&mut self, random: &mut Random, used: &mut Features) {
        let layout = self.layout;
        if !self.target.sub {
            // One host: the first that is drawn.
            for feature in [Feature::MirrorHost, Feature::MobileHost, Feature::Www] {
                let drawn = layout.uses(feature, random);
                let taken = used.has(Feature::MirrorHost) || used.has(Feature::MobileHost);
                if drawn && !taken {
                    used.insert(feature);
                }
            }
        }
        if layout.uses(Feature::Scheme, random) {
            used.insert(Feature::Scheme);
        }
    }

    fn paths(&mut self, random: &mut Random, used: &mut Features) {
        let handler = self.target.handler;
        let is_folder = matches!(handler, Handler::Folder | Handler::Person);
        let is_page = handler != Handler::Asset;
        let is_exact = matches!(handler, Handler::Front | Handler::Shared | Handler::Short);
        let is_script = !is_folder && !is_exact && is_page;
        for (feature, possible) in [
            (Feature::IndexPage, is_folder || handler == Handler::Front),
            (Feature::TrailingSlash, is_folder),
            (Feature::Suffix, handler == Handler::Article),
            (Feature::PrefixAlias, handler == Handler::Person),
            (Feature::TemplateAlias, handler == Handler::Item),
            (Feature::CaseInsensitive, is_page && !is_exact),
            (Feature::PathLoop, handler == Handler::Folder),
            (Feature::SessionPath, is_script),
            (Feature::SessionSegment, is_page),
        ] {
            let drawn = possible && self.layout.uses(feature, random);
            // `/news/index.html` has no slash to leave out.
            let excluded = feature == Feature::TrailingSlash && used.has(Feature::IndexPage);
            if drawn && !excluded {
                used.insert(feature);
            }
        }
    }

    /// Parameters that only some pages have.
    fn own_params(&mut self, targets: &Targets<'_>, random: &mut Random, used: &mut Features) {
        let (layout, target, names) = (self.layout, self.target, &self.layout.names);
        match target.handler {
            Handler::List => self.list_params(random, used),
            Handler::History => {
                let lines = self.value(names.limit_param).and_then(|limit| limit.parse().ok());
                let lines = target.lines_shown(lines.unwrap_or(LINES));
                let same: Vec<u32> = LIMITS
                    .into_iter()
                    .filter(|&limit| target.lines_shown(limit) == lines)
                    .collect();
                let needed = self.value(names.limit_param).is_some();
                if !same.is_empty() && (needed || layout.uses(Feature::Limit, random)) {
                    let limit = random.pick(&same);
                    self.put(names.limit_param, limit.to_string());
                    used.insert(Feature::Limit);
                }
            }
            Handler::Item if layout.uses(Feature::Context, random) => {
                // Any list will do: the first page at or after a random one that is a list.
                let start = random.position(targets.all.len());
                let list = targets.all[start..].iter().find(|page| page.handler == Handler::List);
                if let Some(list) = list {
                    self.put(names.list_param, list.query[0].1.clone());
                    used.insert(Feature::Context);
                }
            }
            Handler::Go if layout.features.has(Feature::ClickId) && random.percent(USUAL) => {
                self.put(names.item_param, (100_000 + random.below(900_000)).to_string());
                used.insert(Feature::ClickId);
            }
            Handler::Login
                if layout.features.has(Feature::LoginReturn) && random.percent(USUAL) =>
            {
                let page = &targets.all[random.position(targets.all.len())];
                self.put(names.return_param, escaped(&plain(page)));
                used.insert(Feature::LoginReturn);
            }
            Handler::Dispatched | Handler::Chart => {
                if let Some((feature, name)) = layout.front.silent(&self.query)
                    && layout.uses(feature, random)
                {
                    self.put(name, layout.front.any_value(feature, random).into());
                    used.insert(feature);
                }
            }
            Handler::Guide => {
                let other = layout.catalog.respelled(&self.query);
                if let Some((name, value)) = other
                    && layout.uses(Feature::ValueAlias, random)
                {
                    self.put(name, value.into());
                    used.insert(Feature::ValueAlias);
                }
            }
            Handler::Desk if layout.features.has(Feature::ManyParams) && random.percent(USUAL) => {
                for (name, value) in layout.catalog.silent(self.progress, random) {
                    self.put(name, value.into());
                }
                used.insert(Feature::ManyParams);
            }
            _ => {}
        }
        let localized = matches!(target.handler, Handler::Item | Handler::List | Handler::Folder);
        if localized
            && self.value(names.lang_param).is_none()
            && layout.uses(Feature::DefaultLang, random)
        {
            self.put(names.lang_param, "en".into());
            used.insert(Feature::DefaultLang);
        }
    }

    fn list_params(&mut self, random: &mut Random, used: &mut Features) {
        let (layout, target, names) = (self.layout, self.target, &self.layout.names);
        if target.entries <= 1 && layout.uses(Feature::Sort, random) {
            self.put(names.sort_param, random.pick(&ORDERS).into());
            used.insert(Feature::Sort);
        }
        if layout.by_start {
            let first = self.value(names.start_param).is_none();
            if first && layout.uses(Feature::StartZero, random) {
                self.put(names.start_param, "0".into());
                used.insert(Feature::StartZero);
            }
            return;
        }
        let page = self.value(names.page_param).map_or(1, |page| page.parse().unwrap_or(1));
        if page == 1 && layout.uses(Feature::DefaultPage, random) {
            self.put(names.page_param, "1".into());
            used.insert(Feature::DefaultPage);
        } else if page == target.list_pages() && layout.uses(Feature::PageOverrun, random) {
            let beyond = u64::from(page) + 1 + random.below(u64::from(ENTRIES));
            self.put(names.page_param, beyond.to_string());
            used.insert(Feature::PageOverrun);
        }
    }

    /// Other views of the same text. Returns the number of the view.
    fn views(&mut self, random: &mut Random, used: &mut Features) -> u64 {
        let (layout, names) = (self.layout, &self.layout.names);
        if !matches!(self.target.handler, Handler::Article | Handler::Item) {
            return 0;
        }
        if layout.uses(Feature::PrintView, random) {
            let (name, value) = names.print_param;
            self.put(name, value.into());
            used.insert(Feature::PrintView);
            return 1;
        }
        if layout.uses(Feature::Highlight, random) {
            let word = random.position(ENGLISH.len());
            self.put(names.highlight_param, ENGLISH[word].into());
            used.insert(Feature::Highlight);
            return 2 + word as u64;
        }
        0
    }

    /// Parameters that any page can have.
    fn general_params(&mut self, random: &mut Random, used: &mut Features) {
        let (layout, names) = (self.layout, &self.layout.names);
        if layout.uses(Feature::SessionQuery, random) {
            self.put(names.session_param, format!("{:032x}", wide(self.session)));
            used.insert(Feature::SessionQuery);
        }
        if layout.uses(Feature::Ref, random) {
            self.put(names.ref_param, random.pick(&REF_VALUES).into());
            used.insert(Feature::Ref);
        }
        if layout.uses(Feature::Utm, random) {
            self.put("utm_source", random.pick(&UTM_SOURCES).into());
            self.put("utm_medium", random.pick(&UTM_MEDIUMS).into());
            self.put("utm_campaign", random.pick(&UTM_CAMPAIGNS).into());
            used.insert(Feature::Utm);
        }
        if layout.uses(Feature::CacheBuster, random) {
            self.put(names.buster_param, (1_767_225_600_000 + (random.bits() >> 31)).to_string());
            used.insert(Feature::CacheBuster);
        }
    }

    fn order(&mut self, random: &mut Random, used: &mut Features) {
        if self.query.len() < 2 || !self.layout.uses(Feature::ParamOrder, random) {
            return;
        }
        let before = self.query.clone();
        for place in (1..self.query.len()).rev() {
            self.query.swap(place, random.position(place + 1));
        }
        if self.query != before {
            used.insert(Feature::ParamOrder);
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(other, _)| *other == name).map(|(_, value)| &**value)
    }

    fn put(&mut self, name: &'static str, value: String) {
        match self.query.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = value,
            None => self.query.push((name, value)),
        }
    }

    /// How the page reads with these spellings.
    fn url(&self, used: Features) -> String {
        let (layout, target, names) = (self.layout, self.target, &self.layout.names);
        let https = layout.https != used.has(Feature::Scheme);
        let mut url = String::from(if https { "https://" } else { "http://" });
        if target.sub {
            url.push_str(names.sub_site);
            url.push('.');
        } else if used.has(Feature::MirrorHost) {
            url.push_str(names.mirror);
            url.push('.');
        } else if used.has(Feature::MobileHost) {
            url.push_str("m.");
        } else if layout.www != used.has(Feature::Www) {
            url.push_str("www.");
        }
        url.push_str(&layout.domain);
        if used.has(Feature::SessionSegment) {
            url.push_str(&format!("/(S({}))", letters(self.session)));
        }
        let path = self.path(used);
        match used.has(Feature::CaseInsensitive) {
            true if self.upper => url.push_str(&path.to_ascii_uppercase()),
            true => push_title(&mut url, &path),
            false => url.push_str(&path),
        }
        if used.has(Feature::SessionPath) {
            url.push_str(&format!(";jsessionid={:032X}", wide(self.session)));
        }
        let skipped = used.has(Feature::TemplateAlias).then_some(names.item_param);
        let mut mark = '?';
        for (name, value) in &self.query {
            if Some(*name) == skipped {
                continue;
            }
            url.push(mark);
            url.push_str(name);
            url.push('=');
            url.push_str(value);
            mark = '&';
        }
        url
    }

    fn path(&self, used: Features) -> String {
        let names = &self.layout.names;
        let mut path = self.target.path.clone();
        if used.has(Feature::TemplateAlias) {
            let stem = names.item.split_once('.').map_or(names.item, |(stem, _)| stem);
            let number = self.value(names.item_param).expect("an item has a number");
            return format!("/{stem}_{number}");
        }
        if used.has(Feature::PrefixAlias) {
            path = path.replacen("/people/", "/~", 1);
        }
        if used.has(Feature::Suffix) {
            path.truncate(path.len() - 1);
        }
        if used.has(Feature::PathLoop) {
            let last = path.rsplit('/').nth(1).expect("a folder has a name").to_owned();
            path.push_str(&format!("{last}/").repeat(self.turns));
        }
        if used.has(Feature::IndexPage) {
            path.push_str(names.index);
        }
        if used.has(Feature::TrailingSlash) {
            path.truncate(path.len() - 1);
        }
        path
    }
}

/// Path and query of a page in its plainest spelling.
fn plain(target: &Target) -> String {
    let mut text = target.path.clone();
    for (place, (name, value)) in target.query.iter().enumerate() {
        text.push(if place == 0 { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        text.push_str(value);
    }
    text
}

/// `text` as the value of a parameter.
fn escaped(text: &str) -> String {
    let mut value = String::new();
    for letter in text.chars() {
        match letter {
            '/' | '?' | '&' | '=' => value.push_str(&format!("%{:02X}", letter as u32)),
            _ => value.push(letter),
        }
    }
    value
}

/// Upper case after every mark that is no letter: `/News/Old-Bridge-5.html`.
fn push_title(out: &mut String, path: &str) {
    let mut first = false;
    for letter in path.chars() {
        out.push(if first { letter.to_ascii_uppercase() } else { letter });
        first = matches!(letter, '/' | '-' | '~');
    }
}

/// 128 bits from 64, for numbers that are as long as those of real servers.
fn wide(session: u64) -> u128 {
    u128::from(session) << 64 | u128::from(session.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// 24 letters and digits, as in the sessions of ASP.NET.
fn letters(session: u64) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
    let bits = wide(session);
    (0..24).map(|place| LETTERS[(bits >> (place * 5) & 31) as usize] as char).collect()
}
