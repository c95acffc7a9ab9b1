//! What the first bytes of a file show that has no lines of text.

/// How files begin that are packed, or whose text is not bytes of UTF-8, with what they are.
///
/// Source: the formats' own documents; the program knows the same (`Compression`, `Container`).
const PACKED: [(&[u8], &str); 12] = [
    (&[0x1f, 0x8b], "gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    // A frame to be skipped, which pzstd begins with.
    (&[0x50, 0x2a, 0x4d, 0x18], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
    // "BZh" could begin an innocent line, so the marker of the first block is asked for as well.
    (&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], "bzip2"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (&[0xff, 0xfe, 0, 0], "UTF-32"),
    (&[0, 0, 0xfe, 0xff], "UTF-32"),
    (&[0xff, 0xfe], "UTF-16"),
    (&[0xfe, 0xff], "UTF-16"),
];

/// How files begin whose records are no lines, with what they are.
const CONTAINERS: [(&[u8], &str); 6] = [
    (b"WARC/", "a web archive (WARC)"),
    (b"filedesc:", "a web archive (ARC)"),
    (b"PAR1", "a table (Parquet)"),
    (b"<?xml", "XML, as a sitemap is"),
    (b"<urlset", "a sitemap"),
    (b"<sitemapindex", "an index of sitemaps"),
];

/// What a file is that begins with `head` and has no lines, and what to do; `None` if it may have
/// some.
pub(crate) fn without_lines(head: &[u8]) -> Option<String> {
    let bzip2_block = match head {
        [b'B', b'Z', b'h', b'1'..=b'9', block @ ..] => Some(block),
        _ => None,
    };
    let is_packed = |(start, name): &&(&[u8], &str)| match *name {
        "bzip2" => bzip2_block.is_some_and(|block| block.starts_with(start)),
        _ => head.starts_with(start),
    };
    if let Some((start, name)) = PACKED.iter().find(is_packed) {
        let shown: Vec<String> =
            head.iter().take(start.len().min(4)).map(|byte| format!("{byte:02x}")).collect();
        let way_out = match name.starts_with("UTF") {
            true => "convert it to UTF-8 first",
            false => "unpack it first",
        };
        return Some(format!("expected lines, found {name} ({}); {way_out}", shown.join(" ")));
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let (start, name) = CONTAINERS.iter().find(|(start, _)| text.starts_with(start))?;
    let way_out = match *start == b"PAR1" {
        true => "read it as a table, and take its column of URLs",
        false => "make lines of it first, as in `undust canon -p lines FILE`",
    };
    Some(format!("its records are no lines: it is {name}; {way_out}"))
}
