//! Any bytes can be read as any format: nothing panics, and every byte is in some entry.
//!
//! ```text
//! input = kind how text
//! kind  = a format of the registry by its number; behind those: as recognized; columns as told by
//!         the first line (--field); a log format as told by the first line (--log-format)
//! how   = 0x01: lines end at NUL          0x02: a base URL           0x04: a filter
//!         0x08: lines of 64 bytes at most 0x10: nothing but the URL is asked for
//! ```
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use undust::record::{
    BaseUrl, Entries, Entry, FieldMap, Layout, ReadOptions, Record, RecordFilter, StatusRange,
    UrlGlob, Workspace, detect, formats, time, url_of, without_no_host,
};

fuzz_target!(|data: &[u8]| {
    let [kind, how, text @ ..] = data else { return };
    let options = ReadOptions {
        separator: if how & 1 != 0 { 0 } else { b'\n' },
        line_bytes_max: if how & 8 != 0 { 64 } else { 1 << 20 },
        verbatim: false,
        fields: how & 16 == 0,
    };
    let Some((mut layout, text)) = layout_of(usize::from(*kind), text, options) else { return };
    if how & 2 != 0 {
        let base = BaseUrl::parse("https://a.test:8443").expect("it is one");
        layout.base = Some(Arc::new(base));
    }
    if how & 4 != 0 {
        let filter = RecordFilter {
            statuses: vec![StatusRange::parse("2xx").expect("it is one")],
            methods: vec![b"GET".to_vec()],
            since: Some(0),
            include: UrlGlob::parse("*.test/*").into_iter().collect(),
            ..RecordFilter::default()
        };
        layout.filter = Some(Arc::new(filter));
    }
    walk(text, options, &layout);
});

/// The layout that `kind` asks for, and what is left of the text.
fn layout_of(kind: usize, text: &[u8], options: ReadOptions) -> Option<(Layout, &[u8])> {
    let first_line = || {
        let end = text.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(&text[..end]).ok()?, &text[end + 1..]))
    };
    let of_format = |format| Layout { format: Some(format), ..Layout::default() };
    let layout = match kind % (formats::ALL.len() + 3) {
        known if known < formats::ALL.len() => {
            detect::as_told(formats::ALL[known].name, text, options)
        }
        known if known == formats::ALL.len() => detect::detect(text, options),
        known if known == formats::ALL.len() + 1 => {
            let (told, rest) = first_line()?;
            let fields = FieldMap::parse(told).ok()?;
            let layout = detect::with_fields(None, &fields, rest, options).ok()?;
            return Some((layout, rest));
        }
        _ => {
            let (told, rest) = first_line()?;
            return Some((of_format(formats::log_format(told).ok()?), rest));
        }
    };
    match layout {
        Ok(layout) => Some((layout, text)),
        Err(error) => {
            assert!(error.is_input() && !error.to_string().contains('\n'), "{error:?}");
            None
        }
    }
}

/// Reads `text`, and checks each entry.
fn walk(text: &[u8], options: ReadOptions, layout: &Layout) {
    let mut workspace = Workspace::default();
    let mut entries = Entries::new(text, false, options, layout, &mut workspace);
    let (mut bytes, mut buffer) = (0, Vec::new());
    while let Some(entry) = entries.next() {
        let line = match entry {
            Entry::Record(record) => {
                check(&record, layout, &mut buffer);
                record.line
            }
            Entry::Empty(line)
            | Entry::Comment(line)
            | Entry::Filtered(line)
            | Entry::Reject(_, line) => line,
        };
        assert!(text[bytes..].starts_with(line), "{}: another line", layout.name());
        bytes += line.len() + 1;
    }
    let is_whole = text.last().is_none_or(|byte| *byte == options.separator);
    assert_eq!(bytes, text.len() + usize::from(!is_whole), "{}", layout.name());
}

/// What is shown of a record says what its URL is, and its fields can be read.
fn check(record: &Record, layout: &Layout, buffer: &mut Vec<u8>) {
    assert!(!record.url.is_empty() && !record.spelling.is_empty(), "{}", layout.name());
    if record.spelling != record.url {
        assert_eq!(without_no_host(record.url), record.spelling);
    }
    assert_eq!(*url_of(record.spelling, record.is_path_alone()), *record.url);
    let fields = record.fields;
    for field in [
        fields.method,
        fields.status,
        fields.size,
        fields.digest,
        fields.mime,
        fields.redirect,
        fields.referrer,
        fields.agent,
    ] {
        assert!(fields.escapes.undo(field, buffer).len() <= field.len());
    }
    time::parse(fields.time, fields.clock);
}
