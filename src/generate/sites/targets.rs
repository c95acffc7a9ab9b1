//! The pages of a site, one after the other.

use std::collections::HashSet;

use super::super::random::{Random, scramble};
use super::super::vocabulary::{ENGLISH, SECTIONS, syllables};
use super::feature::Feature;
use super::format::civil_from_days;
use super::layout::{Layout, NAME_BITS};
use super::target::{ENTRIES, Handler, Target};
use super::words::{LANGUAGES, LIMITS, ORDERS, PICTURES};

/// Kinds of [`Layout::derive`]: what a page shows, how long a list is, and so on.
const SHOWN: u64 = 1;
const LENGTH: u64 = 2;
const CHANCE: u64 = 3;

/// Lines of a history if no limit is given.
pub(super) const LINES: u32 = 50;

/// First number of items that do not exist.
const MISSING: u64 = 90_000_000;

/// The pages of one site, made one after the other.
pub(super) struct Targets<'a> {
    layout: &'a Layout,
    pub(super) all: Vec<Target>,
    known: HashSet<String>,
    /// Handlers by weight, those that the site's features allow.
    weights: Vec<(Handler, u64)>,
    /// Numbers are drawn below this, so that pages share them: an item in two languages.
    pool: u64,
    /// Items beyond the pool.
    fresh: u64,
}

impl<'a> Targets<'a> {
    /// The first pages of a site: the front page and the login form come first.
    pub(super) fn new(layout: &'a Layout, random: &mut Random) -> Targets<'a> {
        let has = |feature| layout.features.has(feature);
        let mut weights = vec![
            (Handler::Folder, 8),
            (Handler::Article, 20),
            (Handler::Item, 28),
            (Handler::List, 16),
            (Handler::Person, 8),
        ];
        for (handler, weight, feature) in [
            (Handler::History, 8, Feature::Limit),
            (Handler::Files, 8, Feature::UserFilter),
            (Handler::Calendar, 6, Feature::Calendar),
            (Handler::Go, 8, Feature::ClickId),
            (Handler::Asset, 6, Feature::SharedAssets),
            (Handler::Shared, 6, Feature::HexNames),
            (Handler::Short, 6, Feature::CaseMatters),
            (Handler::Members, 6, Feature::LoginWall),
            (Handler::Dead, 3, Feature::Errors),
            (Handler::Dispatched, 30, Feature::Dispatcher),
            (Handler::Chart, 16, Feature::Conditional),
            (Handler::Desk, 24, Feature::ManyParams),
        ] {
            if has(feature) {
                weights.push((handler, weight));
            }
        }
        if has(Feature::ValueAlias) || has(Feature::Untranslated) {
            weights.push((Handler::Guide, 16));
        }
        let mut this = Targets {
            layout,
            all: Vec::new(),
            known: HashSet::new(),
            weights,
            pool: (layout.pages as u64 / 6).max(8),
            fresh: 0,
        };
        this.add(Target::new(Handler::Front, "/".into()));
        if has(Feature::LoginReturn) || has(Feature::LoginWall) {
            // The login form itself has the bytes of the pages that require a login.
            let shown = this.shown("login");
            let form = Target::new(Handler::Login, format!("/{}", layout.names.login));
            this.add(Target { shown, ..form });
        }
        while this.all.len() < layout.pages {
            this.grow(random);
        }
        this
    }

    /// Makes one more page and returns its index.
    pub(super) fn grow(&mut self, random: &mut Random) -> usize {
        // Pages share numbers on purpose, so a draw may give a page that is there.
        for _ in 0..16 {
            let target = self.draft(random);
            if self.add(target) {
                return self.all.len() - 1;
            }
        }
        loop {
            let number = self.pool + self.fresh;
            self.fresh += 1;
            let target = self.item(number);
            if self.add(target) {
                return self.all.len() - 1;
            }
        }
    }

    fn add(&mut self, mut target: Target) -> bool {
        let identity = target.identity();
        if self.known.contains(&identity) {
            return false;
        }
        if target.shown == 0 {
            target.shown = self.shown(&identity);
        }
        self.known.insert(identity);
        self.all.push(target);
        true
    }

    /// What stands for the text that `words` describe.
    fn shown(&self, words: &str) -> u64 {
        let fnv = words.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        });
        self.layout.derive(SHOWN, fnv)
    }

    fn draft(&self, random: &mut Random) -> Target {
        let total = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut rest = random.below(total);
        let mut handler = Handler::Item;
        for &(row, weight) in &self.weights {
            if rest < weight {
                handler = row;
                break;
            }
            rest -= weight;
        }
        let number = random.below(self.pool);
        let (features, names) = (self.layout.features, &self.layout.names);
        let mut target = match handler {
            Handler::Front | Handler::Login | Handler::Item => self.any_item(number, random),
            Handler::Folder => Target::new(handler, format!("/{}/", folder(number))),
            Handler::Article => self.article(number, random),
            Handler::List => self.list(number, random),
            Handler::Person => Target::new(handler, format!("/people/{}/", self.name(number))),
            Handler::History => self.history(number, random),
            Handler::Files => self.files(number % 40, random),
            Handler::Calendar => self.day(number),
            Handler::Go => Target::new(handler, format!("/{}", names.go))
                .with(names.go_param, 100 + number * 3),
            Handler::Asset => self.asset(number, random),
            Handler::Shared => self.named_by_hex(number),
            Handler::Short => self.short(number),
            Handler::Members => {
                let mut target = Target::new(handler, format!("/{}", names.members))
                    .with(names.members_param, 10 + number)
                    .trapped(Feature::LoginWall);
                target.shown = self.shown("login");
                target
            }
            Handler::Dead => Target::new(handler, format!("/{}/gone-{number}.html", SECTIONS[0])),
            Handler::Dispatched => self.layout.front.dispatched(number, random),
            Handler::Chart => self.layout.front.chart(number, random),
            Handler::Guide => {
                let (mut target, text) = self.layout.catalog.guide(number, features, random);
                target.shown = text.map_or(0, |text| self.shown(&text));
                target
            }
            Handler::Desk => self.layout.catalog.desk(number, random),
        };
        let localized = matches!(target.handler, Handler::Item | Handler::List | Handler::Folder)
            && !target.traps.has(Feature::Revisions)
            && target.shown == 0;
        if localized && features.has(Feature::RelevantLang) && random.percent(25) {
            target = target.with(names.lang_param, random.pick(&LANGUAGES));
            target.traps.insert(Feature::RelevantLang);
        }
        let twofold = matches!(
            target.handler,
            Handler::Folder | Handler::Article | Handler::Item | Handler::List | Handler::Calendar
        );
        if twofold && features.has(Feature::SubSite) && random.percent(15) {
            target.sub = true;
            target.traps.insert(Feature::SubSite);
        }
        target
    }

    fn item(&self, number: u64) -> Target {
        let names = &self.layout.names;
        let shown_number = 1_000 + self.layout.key % 500 + number * 7;
        Target::new(Handler::Item, format!("/{}", names.item)).with(names.item_param, shown_number)
    }

    fn any_item(&self, number: u64, random: &mut Random) -> Target {
        let (features, names) = (self.layout.features, &self.layout.names);
        if features.has(Feature::SoftNotFound) && random.percent(12) {
            let mut target = Target::new(Handler::Item, format!("/{}", names.item))
                .with(names.item_param, MISSING + number)
                .trapped(Feature::SoftNotFound);
            target.shown = self.shown("not found");
            return target;
        }
        let mut target = self.item(number);
        if features.has(Feature::Revisions) && random.percent(25) {
            let mut revision = 1 + random.below(6);
            target = target.with(names.revision_param, revision).trapped(Feature::Revisions);
            let same_as_before =
                |revision| self.layout.derive(CHANCE, number << 8 | revision).is_multiple_of(5);
            while revision > 1 && same_as_before(revision) {
                revision -= 1;
            }
            target.shown = self.shown(&format!("item {number} revision {revision}"));
        }
        target
    }

    fn article(&self, number: u64, random: &mut Random) -> Target {
        let derived = self.layout.derive(CHANCE, number);
        let words = [derived % 128, derived >> 7 & 127].map(|word| ENGLISH[word as usize]);
        let section = SECTIONS[(derived >> 14) as usize % SECTIONS.len()];
        let missing = self.layout.features.has(Feature::SoftNotFound) && random.percent(12);
        let shown_number = if missing { MISSING + number } else { 100 + number };
        let path = format!("/{section}/{}-{}-{shown_number}.html", words[0], words[1]);
        let mut target = Target::new(Handler::Article, path);
        if missing {
            target.traps.insert(Feature::SoftNotFound);
            target.shown = self.shown("not found");
        }
        target
    }

    fn list(&self, number: u64, random: &mut Random) -> Target {
        let (features, names) = (self.layout.features, &self.layout.names);
        let value = format!("{}-{number}", ENGLISH[number as usize % ENGLISH.len()]);
        let mut target =
            Target::new(Handler::List, format!("/{}", names.list)).with(names.list_param, value);
        let derived = self.layout.derive(LENGTH, number);
        target.entries = match derived % 100 {
            0..25 if features.has(Feature::EqualPages) => 0,
            25..35 => 1,
            _ => 2 + (derived >> 32) as u32 % 80,
        };
        if target.entries == 0 {
            target.traps.insert(Feature::EqualPages);
            target.shown = self.shown("empty list");
            return target;
        }
        if target.entries > 1 && features.has(Feature::Sort) && random.percent(30) {
            target = target.with(names.sort_param, random.pick(&ORDERS)).trapped(Feature::Sort);
        }
        let page = random.below(u64::from(target.list_pages()));
        match (page, self.layout.by_start) {
            (0, _) => target,
            (page, true) => target.with(names.start_param, page * u64::from(ENTRIES)),
            (page, false) => target.with(names.page_param, page + 1),
        }
    }

    fn history(&self, number: u64, random: &mut Random) -> Target {
        let names = &self.layout.names;
        let value = format!("{}_{number}", ENGLISH[number as usize * 5 % ENGLISH.len()]);
        let mut target = Target::new(Handler::History, format!("/{}", names.history))
            .with(names.history_param, value);
        let derived = self.layout.derive(LENGTH, 1 << 40 | number);
        // Most histories are shorter than every limit but the smallest.
        target.entries = match derived % 100 {
            0..85 => 1 + (derived >> 32) as u32 % 19,
            85..95 => 20 + (derived >> 32) as u32 % 31,
            _ => 51 + (derived >> 32) as u32 % 600,
        };
        let lines = target.lines_shown(random.pick(&LIMITS));
        if lines != target.lines_shown(LINES) {
            let limit = LIMITS.into_iter().find(|&limit| target.lines_shown(limit) == lines);
            let limit = limit.expect("lines were computed from one of the limits");
            target = target.with(names.limit_param, limit).trapped(Feature::Limit);
        }
        target
    }

    fn files(&self, number: u64, random: &mut Random) -> Target {
        let names = &self.layout.names;
        let mut target = Target::new(Handler::Files, format!("/{}", names.files))
            .with(names.files_param, ENGLISH[number as usize]);
        if random.percent(85) {
            let user = random.below(self.pool.max(30));
            target = target.with(names.user_param, self.name(user)).trapped(Feature::UserFilter);
            if self.layout.derive(CHANCE, 1 << 50 | number << 32 | user) % 100 >= 8 {
                target.shown = self.shown("no files");
            }
        }
        target
    }

    fn day(&self, number: u64) -> Target {
        let names = &self.layout.names;
        // From 2020-01-01 on, and on, and on.
        let (year, month, day) = civil_from_days(18_262 + number);
        let mut target = Target::new(Handler::Calendar, format!("/{}", names.calendar))
            .with(names.date_param, format!("{year}-{month:02}-{day:02}"))
            .trapped(Feature::Calendar);
        if !self.layout.dated && self.layout.derive(CHANCE, 1 << 51 | number) % 100 >= 10 {
            target.shown = self.shown("no events");
        }
        target
    }

    fn asset(&self, number: u64, random: &mut Random) -> Target {
        let name = random.pick(&PICTURES);
        let mut target = Target::new(Handler::Asset, format!("/{}/{name}", folder(number)))
            .trapped(Feature::SharedAssets);
        if self.layout.derive(CHANCE, 1 << 52 | number) % 100 < 80 {
            target.shown = self.shown(name);
        }
        target
    }

    fn named_by_hex(&self, number: u64) -> Target {
        let high = self.layout.derive(CHANCE, 1 << 53 | number);
        let low = self.layout.derive(CHANCE, 1 << 54 | number);
        let mut target = Target::new(Handler::Shared, format!("/share/{high:016x}{low:016x}"))
            .trapped(Feature::HexNames);
        if low % 100 < 40 {
            target.shown = self.shown("expired");
        }
        target
    }

    /// `/v/aBcD` and its neighbors: the lowest bits of `number` choose the case of two letters.
    fn short(&self, number: u64) -> Target {
        let (name, case) = (self.name(number >> 2), number & 3);
        let letters = name.char_indices().map(|(place, letter)| match place {
            0 | 3 if case >> (place & 1) & 1 == 1 => letter.to_ascii_uppercase(),
            _ => letter,
        });
        let path = format!("/v/{}", letters.collect::<String>());
        Target::new(Handler::Short, path).trapped(Feature::CaseMatters)
    }

    fn name(&self, number: u64) -> String {
        let low = number & ((1 << NAME_BITS) - 1);
        let name = syllables(scramble(low, NAME_BITS, self.layout.key)).to_string();
        match number >> NAME_BITS {
            0 => name,
            more => format!("{name}{more}"),
        }
    }
}

/// The folder of this number: `news`, then `news/about`, then `news/about-24`. Never
/// `archive/archive`, which a path that goes in circles could be taken for.
fn folder(number: u64) -> String {
    let section = SECTIONS[number as usize % SECTIONS.len()];
    let number = number / SECTIONS.len() as u64;
    let word = ENGLISH[number as usize % ENGLISH.len()];
    match number {
        0 => section.into(),
        1..=127 if word != section => format!("{section}/{word}"),
        _ => format!("{section}/{word}-{number}"),
    }
}
