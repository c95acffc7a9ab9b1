//! The answer to a request at some time: size and digest of a body that is never made.

use super::super::random::Random;
use super::capture::Digest;
use super::feature::Feature;
use super::layout::Layout;
use super::target::{Handler, Target};

/// Kinds of [`Layout::derive`].
const CHANGE: u64 = 32;
const VARIED: u64 = 33;
const SIZE: u64 = 34;

/// How many times in a crawl pages may change.
pub(super) const EPOCHS: u64 = 4;

/// What decides about the bytes of one answer, beside the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'a> {
    /// The part of the crawl, below [`EPOCHS`].
    pub(super) epoch: u64,
    /// Which view of the page; see `Spelling::view`.
    pub(super) view: u64,
    /// The session, for A/B tests.
    pub(super) session: u64,
    /// The URL, for pages that print it.
    pub(super) url: &'a str,
}

/// A body: its size in bytes, and a number that stands for its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) size: u64,
    pub(super) digest: Digest,
}

/// The body of `target` under these circumstances. `random` gives what changes at each fetch.
pub(super) fn body(
    layout: &Layout,
    target: &Target,
    at: Circumstances<'_>,
    random: &mut Random,
) -> Body {
    // Always drawn, so that one switch does not change all later draws.
    let (place, noisy, nonce) = (random.below(3), random.below(1_000), random.bits());
    let is_static = target.handler == Handler::Asset;
    let has = |feature| layout.features.has(feature) && !is_static;
    let mut bytes = fold(target.shown, at.view);
    let mut size = usual_size(layout, target);
    if at.view != 0 {
        size = size.saturating_sub(400 + fold(bytes, SIZE) % 700).max(120);
    }
    if has(Feature::Drift) {
        let version = version(layout, target.shown, at.epoch);
        bytes = fold(bytes, version);
        size += fold(target.shown, version) % 90 * u64::from(version > 0);
    }
    let varied = layout.derive(VARIED, target.shown) % 100;
    if has(Feature::AbTest) && varied < 30 {
        let version = at.session % 2;
        bytes = fold(bytes, 1_000 + version);
        size += version * 37;
    }
    if has(Feature::Geo) && (30..60).contains(&varied) {
        bytes = fold(bytes, 2_000 + place);
        size += place * 2;
    }
    if has(Feature::Echo) {
        bytes = at.url.bytes().fold(bytes, |bytes, byte| fold(bytes, u64::from(byte)));
        size += 2 * at.url.len() as u64;
    }
    if !is_static && noisy < u64::from(layout.noise_permille) {
        bytes = fold(bytes, nonce);
        // The time of day is as long as before; an advertisement is not.
        size += if nonce % 8 < 3 { 0 } else { (nonce >> 8) % 300 };
    }
    Body { size, digest: digest(layout, bytes) }
}

/// A body that says what went wrong, or that nothing is shown (200): the same for all pages.
pub(super) fn error_body(layout: &Layout, status: u16) -> Body {
    let size = 200 + u64::from(status) % 50;
    Body { size, digest: digest(layout, fold(SIZE, u64::from(status))) }
}

/// The body of a redirect, which prints where it sends to.
pub(super) fn redirect_body(layout: &Layout, to: &str) -> Body {
    let bytes = to.bytes().fold(301, |bytes, byte| fold(bytes, u64::from(byte)));
    Body { size: 190 + to.len() as u64, digest: digest(layout, bytes) }
}

/// The first part of `body`, as a request for a range gets it.
pub(super) fn part(layout: &Layout, body: Body) -> Body {
    let seed = u64::from_le_bytes(body.digest.0[..8].try_into().expect("eight of twenty bytes"));
    Body { size: body.size / 2, digest: digest(layout, fold(seed, 206)) }
}

/// Pages of one script have nearly one size: so sizes meet by chance, as on real sites.
fn usual_size(layout: &Layout, target: &Target) -> u64 {
    let template = 2_500 + layout.derive(SIZE, target.handler as u64) % 20_000;
    let own = fold(target.shown, SIZE);
    match own % 4 {
        0 => template + (own >> 8) % 20_000,
        _ => template + (own >> 8) % 60,
    }
}

/// How often what is shown has changed until `epoch`. One of ten pages changes at each turn.
fn version(layout: &Layout, shown: u64, epoch: u64) -> u64 {
    let changed = |turn: &u64| layout.derive(CHANGE, fold(shown, *turn)).is_multiple_of(10);
    (1..=epoch).filter(changed).count() as u64
}

fn fold(bytes: u64, with: u64) -> u64 {
    Random::derived(bytes, VARIED, with).bits()
}

fn digest(layout: &Layout, bytes: u64) -> Digest {
    let mut random = Random::derived(layout.key, SIZE, bytes);
    let mut digest = [0; 20];
    for eight in digest.chunks_mut(8) {
        let bits = random.bits().to_le_bytes();
        eight.copy_from_slice(&bits[..eight.len()]);
    }
    Digest(digest)
}
