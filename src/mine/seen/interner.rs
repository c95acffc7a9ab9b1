//! The distinct URLs of a site after normalization, numbered in the order in which they came.

use super::identity::Lookup;
use super::observation::Observation;
use super::table::Span;
use crate::canonical::{Canonicalizer, Scratch};
use crate::limits::URL_BYTES_MAX;

/// The distinct URLs after normalization.
pub(super) struct Interner {
    pub(super) text: Vec<u8>,
    pub(super) spans: Vec<Span>,
    lookup: Lookup,
    scratch: Scratch,
}

impl Interner {
    pub(super) fn with_room(observations: &[Observation<'_>]) -> Interner {
        let bytes = observations.iter().map(|one| one.url.len()).sum();
        Interner {
            text: Vec::with_capacity(bytes),
            spans: Vec::with_capacity(observations.len()),
            lookup: Lookup::with_room(observations.len()),
            scratch: Scratch::default(),
        }
    }

    /// The number of a URL after normalization; `None` for what is no web URL.
    pub(super) fn intern(&mut self, url: &[u8], canonicalizer: &Canonicalizer) -> Option<u32> {
        if url.len() > URL_BYTES_MAX {
            return None;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let canonical = canonicalizer.canonical(url, &mut scratch);
        let is_fit = canonical.reject.is_none();
        let number = is_fit.then(|| self.number(canonical.form)).flatten();
        self.scratch = scratch;
        number
    }

    /// The same of where `from` leads to, which may be a path from the root.
    pub(super) fn intern_from(
        &mut self,
        from: &[u8],
        to: &[u8],
        canonicalizer: &Canonicalizer,
    ) -> Option<u32> {
        if !to.starts_with(b"/") {
            return self.intern(to, canonicalizer);
        }
        let from = url::Url::parse(str::from_utf8(from).ok()?).ok()?;
        let to = from.join(str::from_utf8(to).ok()?).ok()?;
        self.intern(to.as_str().as_bytes(), canonicalizer)
    }

    /// Frees the memory of the index.
    pub(super) fn forget(&mut self) {
        (self.lookup, self.scratch) = (Lookup::with_room(0), Scratch::default());
    }

    /// The number of URLs.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The URL with this number.
    pub(super) fn text(&self, number: u32) -> &[u8] {
        let Span { start, end } = self.spans[number as usize];
        &self.text[start as usize..end as usize]
    }

    /// The number of a URL that is normalized; `None` for what is no web URL.
    pub(super) fn number(&mut self, form: &[u8]) -> Option<u32> {
        if !(form.starts_with(b"http://") || form.starts_with(b"https://")) {
            return None;
        }
        let next = self.spans.len() as u32;
        let Interner { text, spans, lookup, .. } = self;
        let text_of = |number: u32| {
            let Span { start, end } = spans[number as usize];
            &text[start as usize..end as usize]
        };
        let (start, end) = (u32::try_from(text.len()), u32::try_from(text.len() + form.len()));
        let (Ok(start), Ok(end)) = (start, end) else {
            // No room is reserved for another URL.
            return lookup.find(form, text_of);
        };
        let number = lookup.number(form, next, text_of);
        if number == next {
            text.extend_from_slice(form);
            spans.push(Span { start, end });
        }
        Some(number)
    }
}
