//! What of an observation is used.

/// The number of no URL that a page says is its own.
pub(super) const NO_LINK: u32 = u32::MAX;

/// One usable observation.
#[derive(Clone, Copy)]
pub(super) struct UsableObservation {
    /// The URL, in the order in which they came.
    pub(super) url: u32,
    pub(super) time: i64,
    /// The number of the content, in the order in which they came, or [`NO_CONTENT`].
    pub(super) content: u32,
    /// The number of the URL that the page says is its own, or [`NO_LINK`].
    pub(super) link: u32,
    /// Is it the answer to a plain request, rather than a redirect?
    pub(super) shows_a_page: bool,
    pub(super) is_static: bool,
}
