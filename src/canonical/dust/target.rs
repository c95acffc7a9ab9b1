//! What rules of sites work on: the parts of a URL that is canonical but for them.

/// The parts of a URL, and room for working on them; reused from URL to URL.
#[derive(Debug, Default)]
pub(crate) struct Target {
    /// In lower case.
    pub(crate) scheme: Vec<u8>,
    pub(crate) host: Vec<u8>,
    /// Digits; empty: the scheme's own.
    pub(crate) port: Vec<u8>,
    /// Starts with a slash.
    pub(crate) path: Vec<u8>,
    pub(crate) query: Option<Vec<u8>>,
    /// The rules that changed something, by number from 0.
    pub(crate) fired: Vec<u32>,
    pub(super) pieces: Pieces,
    pub(super) spare: Vec<u8>,
}

/// The pieces of a query between the `&`.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    /// Text of pieces that were written anew.
    written: Vec<u8>,
    has_changed: bool,
}

/// A piece, as positions in the query, or among what was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    is_written: bool,
    start: usize,
    name_end: usize,
    end: usize,
}

impl Piece {
    fn source<'a>(&self, query: &'a [u8], written: &'a [u8]) -> &'a [u8] {
        if self.is_written { written } else { query }
    }
}

impl Target {
    /// A target of these parts.
    pub(crate) fn new([scheme, host, port, path]: [Vec<u8>; 4], query: Option<Vec<u8>>) -> Target {
        Target { scheme, host, port, path, query, ..Target::default() }
    }

    /// Reads a canonical URL, but for its user. Returns where the fragment starts; `None` for a URL
    /// without a host and a path.
    pub(crate) fn read(&mut self, url: &[u8]) -> Option<usize> {
        let fill = |part: &mut Vec<u8>, text: &[u8]| {
            part.clear();
            part.extend_from_slice(text);
        };
        let scheme_end = memchr::memchr(b':', url)?;
        fill(&mut self.scheme, &url[..scheme_end]);
        let host_start = scheme_end + 3;
        let path_start = host_start + memchr::memchr(b'/', url.get(host_start..)?)?;
        let authority = &url[host_start..path_start];
        let authority = match memchr::memrchr(b'@', authority) {
            Some(at) => &authority[at + 1..],
            None => authority,
        };
        // A colon inside brackets is no port.
        let name_end = memchr::memrchr(b']', authority).unwrap_or(0);
        let colon = memchr::memchr(b':', &authority[name_end..])
            .map_or(authority.len(), |at| name_end + at);
        fill(&mut self.host, &authority[..colon]);
        fill(&mut self.port, authority.get(colon + 1..).unwrap_or(b""));
        let fragment = memchr::memchr(b'#', url).unwrap_or(url.len());
        let query = memchr::memchr(b'?', &url[..fragment]);
        fill(&mut self.path, &url[path_start..query.unwrap_or(fragment)]);
        match query {
            Some(at) => fill(self.query.get_or_insert_default(), &url[at + 1..fragment]),
            None => self.query = None,
        }
        Some(fragment)
    }

    /// Writes the URL, without a fragment, into `out`, which is cleared first.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.scheme);
        out.extend_from_slice(b"://");
        out.extend_from_slice(&self.host);
        if !self.port.is_empty() {
            out.push(b':');
            out.extend_from_slice(&self.port);
        }
        out.extend_from_slice(&self.path);
        if let Some(query) = &self.query {
            out.push(b'?');
            out.extend_from_slice(query);
        }
    }

    /// Cuts the query into its pieces.
    pub(super) fn cut(&mut self) {
        let Pieces { list, written, has_changed } = &mut self.pieces;
        list.clear();
        written.clear();
        *has_changed = false;
        let Some(query) = &self.query else { return };
        let mut start = 0;
        for end in memchr::memchr_iter(b'&', query).chain([query.len()]) {
            let name_end = memchr::memchr(b'=', &query[start..end]).map_or(end, |at| start + at);
            list.push(Piece { is_written: false, start, name_end, end });
            start = end + 1;
        }
    }

    /// Puts the pieces together again, if there are others than before. A query that lost all of
    /// them goes.
    pub(super) fn join(&mut self) {
        let Pieces { list, written, has_changed } = &self.pieces;
        if !*has_changed {
            return;
        }
        let query = self.query.get_or_insert_default();
        self.spare.clear();
        for (number, piece) in list.iter().enumerate() {
            if number > 0 {
                self.spare.push(b'&');
            }
            self.spare.extend_from_slice(&piece.source(query, written)[piece.start..piece.end]);
        }
        std::mem::swap(query, &mut self.spare);
        if list.is_empty() {
            self.query = None;
        }
    }

    pub(super) fn params(&self) -> usize {
        self.pieces.list.len()
    }

    fn query_text(&self) -> &[u8] {
        self.query.as_deref().unwrap_or(b"")
    }

    /// The names and values of all pieces that are not empty.
    pub(super) fn named(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let written = &self.pieces.written;
        let query = self.query_text();
        self.pieces.list.iter().filter(|piece| piece.start < piece.end).map(move |piece| {
            let text = piece.source(query, written);
            let value = text[..piece.end].get(piece.name_end + 1..).unwrap_or(b"");
            (&text[piece.start..piece.name_end], value)
        })
    }

    /// Drops the pieces that are not empty and for which `drops` returns true; returns whether any
    /// was dropped.
    pub(super) fn drop_pieces(&mut self, mut drops: impl FnMut(&[u8], &[u8]) -> bool) -> bool {
        let Pieces { list, written, has_changed } = &mut self.pieces;
        let query = self.query.as_deref().unwrap_or(b"");
        let before = list.len();
        list.retain(|piece| {
            if piece.start == piece.end {
                return true;
            }
            let text = piece.source(query, written);
            let value = text[..piece.end].get(piece.name_end + 1..).unwrap_or(b"");
            !drops(&text[piece.start..piece.name_end], value)
        });
        *has_changed |= list.len() < before;
        list.len() < before
    }

    /// Gives the values of the pieces called `name` another spelling, where `write` appends one and
    /// says so; returns whether any has changed.
    pub(super) fn rewrite_values(
        &mut self,
        name: &[u8],
        mut write: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
    ) -> bool {
        let Pieces { list, written, has_changed } = &mut self.pieces;
        let query = self.query.as_deref().unwrap_or(b"");
        let mut any = false;
        for piece in list {
            let text = piece.source(query, written);
            if piece.start == piece.end || &text[piece.start..piece.name_end] != name {
                continue;
            }
            let value = text[..piece.end].get(piece.name_end + 1..).unwrap_or(b"").to_vec();
            let start = written.len();
            written.extend_from_slice(name);
            written.push(b'=');
            if write(&value, written) {
                let name_end = start + name.len();
                *piece = Piece { is_written: true, start, name_end, end: written.len() };
                any = true;
            } else {
                written.truncate(start);
            }
        }
        *has_changed |= any;
        any
    }

    /// Appends the piece `name=value`, whose value `write` appends.
    pub(super) fn push_piece(&mut self, name: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        let Pieces { list, written, has_changed } = &mut self.pieces;
        let start = written.len();
        written.extend_from_slice(name);
        let name_end = written.len();
        written.push(b'=');
        write(written);
        list.push(Piece { is_written: true, start, name_end, end: written.len() });
        *has_changed = true;
    }

    /// Sorts the pieces by name, stably; returns whether that changed their order.
    pub(super) fn sort_pieces(&mut self) -> bool {
        let Pieces { list, written, has_changed } = &mut self.pieces;
        let query = self.query.as_deref().unwrap_or(b"");
        let name = |piece: &Piece| &piece.source(query, written)[piece.start..piece.name_end];
        if list.is_sorted_by(|a, b| name(a) <= name(b)) {
            return false;
        }
        list.sort_by(|a, b| name(a).cmp(name(b)));
        *has_changed = true;
        true
    }
}
