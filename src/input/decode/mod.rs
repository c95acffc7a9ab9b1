//! How a file is compressed, detected from its first bytes.

pub(super) mod bzip2_xz;
pub(super) mod gzip;
pub(super) mod lz4;
pub(super) mod reader;
pub(super) mod zstd;

use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::bytes::show;
use crate::error::{Error, Result};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Zstandard frames (RFC 8878), any number of them, with skippable ones in between.
    Zstd,
    /// Gzip members (RFC 1952), any number of them.
    Gzip,
    /// Bzip2 streams, any number of them.
    Bzip2,
    /// Xz streams, any number of them, with padding in between (xz file format 1.2).
    Xz,
    /// LZ4 frames (LZ4 frame format 1.6), any number of them, with skippable ones in between.
    Lz4,
}

impl Compression {
    /// Every kind, `None` first.
    pub const ALL: [Compression; 6] = [
        Compression::None,
        Compression::Zstd,
        Compression::Gzip,
        Compression::Bzip2,
        Compression::Xz,
        Compression::Lz4,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Zstd => "zstd",
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Lz4 => "lz4",
        }
    }

    /// The compression of files with such a name, by its suffix.
    pub fn of_name(path: &Path) -> Compression {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("zst") => Compression::Zstd,
            Some("gz") => Compression::Gzip,
            Some("bz2") => Compression::Bzip2,
            Some("xz") => Compression::Xz,
            Some("lz4") => Compression::Lz4,
            _ => Compression::None,
        }
    }

    /// What the format calls the parts that may follow each other.
    fn unit(self) -> &'static str {
        match self {
            Compression::Gzip => "member",
            Compression::Bzip2 | Compression::Xz => "stream",
            _ => "frame",
        }
    }

    /// The command that decompresses it, to standard output.
    fn tool(self) -> &'static str {
        match self {
            Compression::None => "cat",
            Compression::Zstd => "zstd -dc",
            Compression::Gzip => "gzip -dc",
            Compression::Bzip2 => "bzip2 -dc",
            Compression::Xz => "xz -dc",
            Compression::Lz4 => "lz4 -dc",
        }
    }

    /// Detects the compression of a file from its first bytes. File names do not matter.
    ///
    /// - Shape: `head` is the first bytes of the file, 10 of them at least, or the whole file. With
    ///   fewer than 262 bytes a tar archive is not recognized.
    /// - Failure: an input error for archives and for other compressions.
    pub(super) fn sniff(head: &[u8]) -> Result<Self> {
        match Compression::of(head) {
            Compression::None => check_archive(head).map(|()| Compression::None),
            found => Ok(found),
        }
    }

    /// Checks that `head`, the first decompressed bytes, is not compressed once more.
    pub(super) fn check_content(self, head: &[u8]) -> Result<()> {
        let within = |error: Error| error.at(format_args!("inside {self}"));
        match Compression::of(head) {
            Compression::None => check_archive(head).map_err(within),
            found => Err(Error::input(format!(
                "expected one compression, found {found} inside {self}; unpack one of them first, \
                 as in `{} FILE | undust`",
                self.tool()
            ))),
        }
    }

    fn of(head: &[u8]) -> Self {
        match head {
            // A file that ends within its magic is a truncated one, not a list.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x28, 0xb5] | [0x28, 0xb5, 0x2f] => Compression::Zstd,
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // "BZh" could begin a line, so the marker of the first block, or of the end of an empty
            // file, must follow.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Compression::Bzip2
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..]
            | [0xfd, b'7']
            | [0xfd, b'7', b'z']
            | [0xfd, b'7', b'z', b'X']
            | [0xfd, b'7', b'z', b'X', b'Z'] => Compression::Xz,
            [0x04, 0x22, 0x4d, 0x18, ..] | [0x04, 0x22, 0x4d] => Compression::Lz4,
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::of_skippable(head),
            _ => Compression::None,
        }
    }

    /// Zstd and lz4 share their skippable frames (RFC 8878 3.1.2), and pzstd and the
    /// seekable format begin with one. What follows them decides, if it is in `head`; if
    /// not, it is taken for zstd.
    fn of_skippable(head: &[u8]) -> Self {
        let mut rest = head;
        while let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, content @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            rest = content.get(length..).unwrap_or_default();
        }
        if rest.starts_with(&[0x04, 0x22, 0x4d, 0x18]) {
            Compression::Lz4
        } else {
            Compression::Zstd
        }
    }
}

/// An input error if `head` begins an archive or a compression that is not supported.
fn check_archive(head: &[u8]) -> Result<()> {
    let (found, tool) = match head {
        // An archive without files is one, too.
        [b'P', b'K', 3, 4, ..] => match first_member(head) {
            name if DOCUMENT_NAMES.iter().any(|start| name.starts_with(start)) => {
                return Err(Error::input(
                    "expected text, plain or in zstd, gzip, bzip2, xz or lz4, found a spreadsheet or another \
                     document (a zip archive, 50 4b 03 04); save its table as CSV first",
                ));
            }
            name if WACZ_NAMES.iter().any(|start| name.starts_with(start)) => (
                "a zip archive (50 4b 03 04) of web archives (WACZ)",
                "unzip -p FILE 'archive/*.warc.gz'",
            ),
            _ => ("a zip archive (50 4b 03 04)", "unzip -p FILE MEMBER"),
        },
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => {
            ("a 7z archive (37 7a bc af 27 1c)", "7z x -so FILE")
        }
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => {
            ("a rar archive (52 61 72 21)", "unrar p -inul FILE")
        }
        [0x1f, 0x9d, ..] => ("what compress makes (1f 9d)", "uncompress -c FILE"),
        // The usual properties, and a dictionary of a multiple of 64 KiB; then the size of
        // the content, or that it is not known. Source: lzma-file-format.txt of XZ Utils.
        [0x5d, 0, 0, _, _, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ..]
        | [0x5d, 0, 0, _, _, _, _, _, _, 0, 0, 0, 0, ..] => {
            ("lzma in its older format (5d 00 00)", "xz --format=lzma -dc FILE")
        }
        [0x78, 0x01 | 0x9c | 0xda, ..] if inflates(head) => {
            ("a zlib stream (78, RFC 1950)", "pigz -dc < FILE")
        }
        [0x02, 0x21, 0x4c, 0x18, ..] => ("lz4 in its legacy format (02 21 4c 18)", "lz4 -dc FILE"),
        // Source: POSIX.1-2017, pax, "ustar Interchange Format".
        _ if head.get(257..262) == Some(b"ustar") => {
            ("a tar archive (\"ustar\" at byte 257)", "tar -xOf FILE")
        }
        _ => return Ok(()),
    };
    Err(Error::input(format!(
        "expected text, plain or in zstd, gzip, bzip2, xz or lz4, found {found}; unpack it first, as \
         in `{tool} | undust`"
    )))
}

/// How the name of the first file begins in documents of Office (ISO 29500-2) and of OpenDocument
/// (ISO 26300-3).
const DOCUMENT_NAMES: [&[u8]; 5] =
    [b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"mimetype"];

/// How the name of the first file begins in web archives. Source: WACZ 1.1.1, "Directory Layout".
const WACZ_NAMES: [&[u8]; 4] = [b"archive/", b"indexes/", b"pages/", b"datapackage"];

/// Returns the name of the first file in the zip archive that begins with `head`, as far as it is
/// there. Source: APPNOTE.TXT of PKWARE, 4.3.7.
fn first_member(head: &[u8]) -> &[u8] {
    let (Some(&[low, high]), Some(name)) = (head.get(26..28), head.get(30..)) else { return b"" };
    &name[..name.len().min(usize::from(u16::from_le_bytes([low, high])))]
}

/// Tells whether `head` begins a zlib stream, and not a line with an `x` in front.
fn inflates(head: &[u8]) -> bool {
    let mut first = [0];
    ZlibDecoder::new(head).read_exact(&mut first).is_ok()
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The message for `error`, which a decoder has returned after `decoded` bytes.
///
/// `shown` is the name of the file in messages.
pub(super) fn explain(
    compression: Compression,
    error: io::Error,
    shown: &str,
    decoded: u64,
) -> Error {
    let name = compression.name();
    let unit = compression.unit();
    let text = error.to_string();
    if error.raw_os_error().is_some() {
        // An error of the disk, not of the decoder.
        return Error::reading(format_args!("{shown}: after {decoded} decoded bytes"), error);
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::input(format!(
            "{shown}: expected the end of a {name} {unit}, found the end of the file after \
             {decoded} decoded bytes; the file is cut short, get it again, or something else follows \
             its last {unit}, leave that out"
        )),
        _ => Error::input(format!(
            "{shown}: expected {name}, found damaged data or something else after {decoded} \
             decoded bytes ({}); get the file again, or decompress it first",
            show(text.as_bytes())
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first header of a tar archive, as far as it matters.
    fn tar() -> Vec<u8> {
        let mut head = vec![0; 512];
        head[..8].copy_from_slice(b"list.txt");
        head[257..262].copy_from_slice(b"ustar");
        head
    }

    #[test]
    fn sniffs_magic_bytes_only() {
        for (given, expected, why) in [
            (&b""[..], Compression::None, "empty"),
            (b"\x1f\x8b\x08", Compression::Gzip, "the start of a member"),
            (b"\x1f", Compression::None, "one byte"),
            (b"\x28\xb5\x2f", Compression::Zstd, "the start of a frame"),
            (b"\x28\xb5\x2fx", Compression::None, "no frame"),
            (b"\xfd7zX", Compression::Xz, "the start of a stream"),
            (b"\x04\x22\x4d", Compression::Lz4, "the start of a frame"),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd, "a frame"),
            (b"\x50\x2a\x4d\x18", Compression::Zstd, "a skippable frame"),
            (b"\x5f\x2a\x4d\x18rest", Compression::Zstd, "the last kind of skippable frame"),
            (b"\x60\x2a\x4d\x18", Compression::None, "no kind of skippable frame"),
            (b"\x50\x2a\x4d\x18\x01\0\0\0x\x04\x22\x4d\x18", Compression::Lz4, "lz4 after one"),
            (b"\x50\x2a\x4d\x18\xff\xff\xff\xffx", Compression::Zstd, "skippable beyond the head"),
            (b"\x1f\x8b\x08\x00", Compression::Gzip, "a member"),
            (b"BZh91AY&SY", Compression::Bzip2, "a block"),
            (b"BZh1\x17\x72\x45\x38\x50\x90", Compression::Bzip2, "no block"),
            (b"BZh9.example.com/", Compression::None, "a line that begins like bzip2"),
            (b"BZh9", Compression::None, "nothing after the name"),
            (b"\xfd7zXZ\0\0\x04", Compression::Xz, "a stream"),
            (b"\x04\x22\x4d\x18\x64", Compression::Lz4, "a frame"),
            (b"http://a.test/", Compression::None, "text"),
            (b"PK\x05\x06", Compression::None, "an archive without files"),
            ("xڭ.example.com/".as_bytes(), Compression::None, "a line that begins like zlib"),
        ] {
            assert_eq!(Compression::sniff(given).unwrap(), expected, "{why}");
        }
    }

    #[test]
    fn archives_are_refused() {
        let tar = tar();
        for (given, expected) in [
            (&b"PK\x03\x04\x14"[..], "zip"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7z"),
            (b"Rar!\x1a\x07\x01\0", "rar"),
            (b"\x02\x21\x4c\x18", "lz4 -dc FILE | undust"),
            (b"\x1f\x9d\x90\x68", "uncompress -c FILE | undust"),
            (b"]\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", "xz --format=lzma -dc FILE"),
            (b"]\0\0\x80\0\x10\0\0\0\0\0\0\0\0", "xz --format=lzma -dc FILE"),
            // The beginnings of what zlib makes of "http://a.test/" at levels 0, 6 and 9.
            (b"\x78\x01\x01\x0e\0\xf1\xffhttp", "pigz -dc < FILE | undust"),
            (b"\x78\x9c\xcb\x28\x29\x29\xb0\xd2", "pigz -dc < FILE | undust"),
            (b"\x78\xda\xcb\x28\x29\x29\xb0\xd2", "pigz -dc < FILE | undust"),
            (&tar, "tar -xOf FILE | undust"),
        ] {
            let error = Compression::sniff(given).unwrap_err();
            assert!(error.is_input());
            let error = error.to_string();
            assert!(error.contains(expected) && error.contains("unpack it first"), "{error}");
            let inside = Compression::Gzip.check_content(given).unwrap_err().to_string();
            assert_eq!(inside, format!("inside gzip: {error}"));
        }
    }

    #[test]
    fn zip_archives_are_told_by_their_first_file() {
        for (name, expected) in [
            ("list.txt", "`unzip -p FILE MEMBER | undust`"),
            ("[Content_Types].xml", "save its table as CSV"),
            ("_rels/.rels", "save its table as CSV"),
            ("docProps/app.xml", "save its table as CSV"),
            ("xl/workbook.xml", "save its table as CSV"),
            ("mimetype", "save its table as CSV"),
            ("archive/data.warc.gz", "`unzip -p FILE 'archive/*.warc.gz' | undust`"),
            ("indexes/index.cdx.gz", "`unzip -p FILE 'archive/*.warc.gz' | undust`"),
            ("pages/pages.jsonl", "`unzip -p FILE 'archive/*.warc.gz' | undust`"),
            ("datapackage.json", "`unzip -p FILE 'archive/*.warc.gz' | undust`"),
        ] {
            let mut head = b"PK\x03\x04".to_vec();
            head.resize(30, 0);
            head[26] = name.len() as u8;
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b"xl/ is in the content");
            let error = Compression::sniff(&head).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
            // Cut anywhere, it is still one.
            for end in 4..head.len() {
                assert!(Compression::sniff(&head[..end]).is_err(), "{name}: {end}");
            }
        }
    }

    #[test]
    fn one_compression_is_enough() {
        let error = Compression::Gzip.check_content(b"\x28\xb5\x2f\xfd").unwrap_err();
        let expected = "expected one compression, found zstd inside gzip; unpack one of them first, \
                        as in `gzip -dc FILE | undust`";
        assert_eq!(error.to_string(), expected);
        assert!(Compression::Xz.check_content(b"http://a.test/").is_ok());
    }

    #[test]
    fn names() {
        let names = Compression::ALL.map(Compression::name);
        assert_eq!(names, ["none", "zstd", "gzip", "bzip2", "xz", "lz4"]);
        assert_eq!(Compression::default().to_string(), "none");
    }
}
