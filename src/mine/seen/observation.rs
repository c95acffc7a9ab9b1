//! One fetch of one URL, as a log or an index records it.

/// What was seen when a URL was requested. Borrowed from the record it was read from.
///
/// Everything but the URL may be missing; what is missing is no evidence, for or against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation<'a> {
    /// The URL as it was recorded, or normalized.
    pub url: &'a [u8],
    /// Is it known to be normalized? Then that is not found out again.
    pub is_canonical: bool,
    /// When, in seconds since 1970.
    pub time: Option<i64>,
    /// Status of the answer.
    pub status: Option<u16>,
    /// Bytes of the body.
    pub size: Option<u64>,
    /// A digest of the body or of its text, in any spelling; equal bytes mean equal contents.
    pub digest: Option<&'a [u8]>,
    /// Type of the body.
    pub mime: Option<&'a [u8]>,
    /// Method of the request.
    pub method: Option<&'a [u8]>,
    /// Where a redirect led: an absolute URL.
    pub redirect: Option<&'a [u8]>,
    /// Where a redirect came from that has led here: an absolute URL.
    pub redirected_from: Option<&'a [u8]>,
    /// What the page says is its URL: its link of the relation `canonical` (RFC 6596).
    pub canonical_link: Option<&'a [u8]>,
}

/// Digests of the empty body: they say that nothing was sent, not that two pages are one. SHA-1 in
/// base 32 and in hexadecimal digits, MD5, SHA-256.
const EMPTY_BODIES: [&[u8]; 4] = [
    b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
    b"da39a3ee5e6b4b0d3255bfef95601890afd80709",
    b"d41d8cd98f00b204e9800998ecf8427e",
    b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
];

impl Observation<'_> {
    /// May the body stand for the page: an answer to a plain request, successful and not empty?
    pub(crate) fn shows_a_page(&self) -> bool {
        self.status.is_none_or(|status| status == 200)
            && self.method.is_none_or(|method| method.eq_ignore_ascii_case(b"GET"))
            && self.size != Some(0)
    }

    /// The digest, if it says anything: not a placeholder, not that of an empty body.
    pub(crate) fn telling_digest(&self) -> Option<&[u8]> {
        let digest = self.digest?;
        let digest = digest.strip_prefix(b"sha1:").unwrap_or(digest);
        let empty = EMPTY_BODIES.iter().any(|empty| digest.eq_ignore_ascii_case(empty));
        (!digest.is_empty() && digest != b"-" && !empty).then_some(digest)
    }

    /// Is this an answer that says, for good, that the page is somewhere else?
    pub(crate) fn has_moved(&self) -> bool {
        matches!(self.status, Some(301 | 308))
    }

    /// Where the page is, if the answer says for good that it is somewhere else.
    pub(crate) fn moved_to(&self) -> Option<&[u8]> {
        self.redirect.filter(|target| self.has_moved() && !target.is_empty())
    }

    /// Is the body an image, a style sheet, a script, a font: a part that pages share, and that
    /// says little about the paths they are under?
    pub(crate) fn is_static(&self) -> bool {
        let Some(mime) = self.mime else { return false };
        let starts = |prefix: &[u8]| {
            mime.len() >= prefix.len() && mime[..prefix.len()].eq_ignore_ascii_case(prefix)
        };
        [&b"image/"[..], b"font/", b"audio/", b"video/", b"text/css", b"text/javascript"]
            .iter()
            .any(|prefix| starts(prefix))
            || starts(b"application/javascript")
            || starts(b"application/x-javascript")
            || starts(b"application/font")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_a_page() {
        let page = Observation { url: b"http://a.test/", ..Observation::default() };
        assert!(page.shows_a_page());
        assert!(Observation { status: Some(200), method: Some(b"get"), ..page }.shows_a_page());
        assert!(!Observation { status: Some(404), ..page }.shows_a_page());
        assert!(!Observation { status: Some(206), ..page }.shows_a_page());
        assert!(!Observation { method: Some(b"HEAD"), ..page }.shows_a_page());
        assert!(!Observation { size: Some(0), ..page }.shows_a_page());
    }

    #[test]
    fn digests_that_say_nothing() {
        let with = |digest| Observation { digest: Some(digest), ..Observation::default() };
        assert_eq!(with(b"sha1:ABC").telling_digest(), Some(&b"ABC"[..]));
        for digest in [&b"-"[..], b"", b"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"] {
            assert_eq!(with(digest).telling_digest(), None);
        }
    }

    #[test]
    fn redirects_for_good() {
        let moved = Observation { redirect: Some(b"http://b.test/"), ..Observation::default() };
        assert_eq!(moved.moved_to(), None);
        assert!(Observation { status: Some(301), ..moved }.moved_to().is_some());
        assert!(Observation { status: Some(302), ..moved }.moved_to().is_none());
    }

    #[test]
    fn parts_of_pages() {
        let with = |mime| Observation { mime: Some(mime), ..Observation::default() };
        assert!(with(b"IMAGE/gif").is_static() && with(b"text/css").is_static());
        assert!(!with(b"text/html").is_static() && !with(b"").is_static());
    }
}
