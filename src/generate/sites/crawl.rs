//! The crawl of a site: which URLs are met, in which order, when, and what is answered.

use std::collections::HashMap;

use super::super::random::Random;
use super::body::{self, Body, Circumstances, EPOCHS};
use super::capture::{Capture, Digest, Method};
use super::feature::{Feature, FeatureKind, Features};
use super::layout::Layout;
use super::spelling::SESSION_VISITS;
use super::spelling::spell;
use super::target::{Handler, Target};
use super::targets::Targets;

/// Which sequences of a site's key the crawl and the bodies draw from.
const VISITS: u64 = 64;
const BODIES: u64 = 65;

/// When the crawl begins: 2026-01-01T00:00:00Z.
const START: u64 = 1_767_225_600;

/// How long it takes: 60 days.
const SECONDS: u64 = 60 * 86_400;

/// Percent of the visits that go to a URL that was met before.
const AGAIN: u64 = 8;

/// Percent of the visits during which a site refuses everything.
const BLOCKED: u64 = 3;

/// Tries to spell a page in a new way before the visit goes to an old URL.
const TRIES: u32 = 8;

/// Visits in a row without a new URL after which the site gets another page. Reason: a site whose
/// features give few spellings would never reach its number of URLs. A site whose features give
/// none does not wait.
const STUCK: u32 = 32;

/// The first pages are not infinitely popular: this is added to their rank.
const RANK_OFFSET: u64 = 10;

/// One request.
struct Visit {
    url: String,
    target: u32,
    session: u64,
    view: u64,
    used: Features,
    redirect: Option<String>,
    via: Option<String>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usual,
    Head,
    NotModified,
    Part,
    Unavailable,
}

/// All captures of the site of `layout`, in the order of time.
pub(super) fn crawl(layout: &Layout) -> Vec<Capture> {
    let mut random = Random::derived(layout.key, VISITS, 0);
    let targets = Targets::new(layout, &mut random);
    let walk = Walk {
        layout,
        targets,
        visits: Vec::with_capacity(layout.urls * 9 / 8),
        met: HashMap::with_capacity(layout.urls),
        popular: Vec::with_capacity(layout.pages),
        reached: 0,
        random,
    };
    let (targets, visits) = walk.go();
    let count = visits.len() as u64;
    let mut random = Random::derived(layout.key, BODIES, 0);
    let start = START + random.below(86_400);
    // The refusals come in one stretch, not in the first epoch: most URLs are known by then.
    let blocked = count / 4 + random.below(count / 2 + 1);
    let blocked = blocked..blocked + count * BLOCKED / 100;
    let capture = |(place, visit): (usize, Visit)| {
        let place = place as u64;
        let is_blocked =
            |place| layout.features.has(Feature::BlockPage) && blocked.contains(&place);
        let epoch = place * EPOCHS / count;
        let time = start + SECONDS * place / count;
        let target = &targets.all[visit.target as usize];
        let mut capture = visit.captured(layout, target, time, epoch, &mut random);
        if place > 0 && is_blocked(place - 1) {
            // What was refused did not send anywhere.
            capture.via = None;
        }
        if is_blocked(place) { refused(layout, capture) } else { capture }
    };
    visits.into_iter().enumerate().map(capture).collect()
}

/// The state of a crawl.
struct Walk<'a> {
    layout: &'a Layout,
    targets: Targets<'a>,
    visits: Vec<Visit>,
    /// The page of every URL that was met.
    met: HashMap<String, u32>,
    /// Weights of the pages that were reached, summed up.
    popular: Vec<u64>,
    /// Pages below this were reached.
    reached: usize,
    random: Random,
}

impl<'a> Walk<'a> {
    /// Walks until the site has its URLs. What only the walk needs is freed.
    fn go(mut self) -> (Targets<'a>, Vec<Visit>) {
        // Another order of a list is a trap, and of a short list a spelling.
        let respells =
            |feature: Feature| feature.kind() == FeatureKind::Spelling || feature == Feature::Sort;
        let stuck_max = if self.layout.features.iter().any(respells) { STUCK } else { 0 };
        let mut stuck = 0;
        while self.met.len() < self.layout.urls {
            if self.reached > 0 && self.random.percent(AGAIN) {
                self.again();
                continue;
            }
            let room = (self.layout.urls - self.met.len()) as u64;
            let unreached = (self.targets.all.len() - self.reached) as u64;
            let target = if self.random.below(room) < unreached {
                self.reach()
            } else if self.reached == 0 || stuck >= stuck_max {
                stuck = 0;
                self.targets.grow(&mut self.random);
                self.reach()
            } else {
                self.popular_page()
            };
            stuck = if self.visit(target) { 0 } else { stuck + 1 };
        }
        (self.targets, self.visits)
    }

    /// The next page that was not reached before.
    fn reach(&mut self) -> usize {
        let target = self.reached;
        self.reached += 1;
        let weight = (1 << 40) / (target as u64 + RANK_OFFSET);
        self.popular.push(self.popular.last().unwrap_or(&0) + weight);
        target
    }

    /// A page that was reached, by Zipf's law.
    fn popular_page(&mut self) -> usize {
        let total = *self.popular.last().expect("a page was reached");
        let draw = self.random.below(total);
        self.popular.partition_point(|&sum| sum <= draw)
    }

    /// Goes to `target` by a URL that is new if one can be found. Was it?
    fn visit(&mut self, target: usize) -> bool {
        let step = self.visits.len() as u64;
        for _ in 0..TRIES {
            let session = (step / SESSION_VISITS).saturating_sub(self.random.below(3));
            let spelling = spell(self.layout, &self.targets, target, session, &mut self.random);
            if self.met.contains_key(&spelling.url) {
                continue;
            }
            // Every page that waits needs a URL, and so does the target of a redirect.
            let waiting = self.targets.all.len() - self.reached;
            if spelling.redirect.is_some() && self.met.len() + 2 + waiting > self.layout.urls {
                continue;
            }
            self.met.insert(spelling.url.clone(), target as u32);
            let followed = spelling.redirect.clone().filter(|_| self.random.percent(60));
            let visit = Visit {
                url: spelling.url,
                target: target as u32,
                session,
                view: spelling.view,
                used: spelling.used,
                redirect: spelling.redirect,
                via: None,
                kind: Kind::Usual,
            };
            let next = followed.map(|url| {
                self.met.insert(url.clone(), target as u32);
                Visit {
                    url,
                    target: target as u32,
                    session,
                    view: visit.view,
                    used: visit.used.without(self.layout.redirecting),
                    redirect: None,
                    via: Some(visit.url.clone()),
                    kind: Kind::Usual,
                }
            });
            self.visits.push(visit);
            self.visits.extend(next);
            return true;
        }
        false
    }

    /// Goes to a URL that was met before.
    fn again(&mut self) {
        let before = &self.visits[self.random.position(self.visits.len())];
        let (partial, errors) = (
            self.layout.features.has(Feature::Partial) && before.redirect.is_none(),
            self.layout.features.has(Feature::Errors),
        );
        let kind = match self.random.below(100) {
            0..20 if partial => Kind::Head,
            20..35 if partial => Kind::NotModified,
            35..45 if partial => Kind::Part,
            45..60 if errors => Kind::Unavailable,
            _ => Kind::Usual,
        };
        let visit = Visit {
            url: before.url.clone(),
            target: before.target,
            session: before.session,
            view: before.view,
            used: before.used,
            redirect: before.redirect.clone(),
            via: None,
            kind,
        };
        self.visits.push(visit);
    }
}

impl Visit {
    fn captured(
        self,
        layout: &Layout,
        target: &Target,
        time: u64,
        epoch: u64,
        random: &mut Random,
    ) -> Capture {
        // Without a session, each visit gets a random version of an A/B test.
        let in_url = [Feature::SessionQuery, Feature::SessionPath, Feature::SessionSegment];
        let draw = random.bits();
        let session =
            if self.used.common(Features::of(&in_url)).is_empty() { draw } else { self.session };
        let at = Circumstances { epoch, view: self.view, session, url: &self.url };
        let whole = body::body(layout, target, at, random);
        let none = Body { size: 0, digest: Digest::EMPTY };
        let mut features = self.used.union(target.traps);
        let (mut status, mut redirect) = (200, None);
        let mut body = match self.kind {
            Kind::Head | Kind::NotModified => none,
            Kind::Part => body::part(layout, whole),
            Kind::Usual | Kind::Unavailable => whole,
        };
        match (self.kind, self.redirect) {
            (Kind::Unavailable, _) => status = 503,
            (_, Some(to)) => {
                status = 301;
                body = body::redirect_body(layout, &to);
                redirect = Some(to);
                features.insert(Feature::Redirects);
            }
            (Kind::NotModified, _) => status = 304,
            (Kind::Part, _) => status = 206,
            _ if target.handler == Handler::Dead => status = 404,
            _ => {}
        }
        if self.kind == Kind::Unavailable || target.handler == Handler::Dead {
            features.insert(Feature::Errors);
            if self.kind != Kind::Head && self.kind != Kind::NotModified {
                body = body::error_body(layout, status);
            }
        } else if self.kind != Kind::Usual {
            features.insert(Feature::Partial);
        }
        Capture {
            mime: mime(target, status),
            url: self.url,
            time,
            status,
            size: body.size,
            digest: body.digest,
            redirect,
            via: self.via,
            method: if self.kind == Kind::Head { Method::Head } else { Method::Get },
            page: u64::from(layout.number) << 32 | u64::from(self.target),
            features,
        }
    }
}

/// What the crawler gets when the site has had enough of it: 200, and the same for every URL.
fn refused(layout: &Layout, mut capture: Capture) -> Capture {
    if capture.method == Method::Get && capture.status != 304 {
        let body = body::error_body(layout, 200);
        capture.status = 200;
        capture.mime = "text/html";
        (capture.size, capture.digest) = (body.size, body.digest);
        capture.redirect = None;
        let signals = [Feature::Redirects, Feature::Errors, Feature::Partial];
        capture.features = capture.features.without(Features::of(&signals));
        capture.features.insert(Feature::BlockPage);
    }
    capture
}

fn mime(target: &Target, status: u16) -> &'static str {
    match (target.handler, status) {
        (Handler::Asset, 200 | 206 | 304) if target.path.ends_with(".gif") => "image/gif",
        (Handler::Asset, 200 | 206 | 304) => "image/png",
        _ => "text/html",
    }
}
