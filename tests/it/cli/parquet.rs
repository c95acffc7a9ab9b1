//! Parquet, in and out: with the feature what is read and written, without it that this is said.

use super::*;

fn sample() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/samples/index.parquet");
    path.to_str().unwrap().to_string()
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_it_says_so() {
    let dir = Dir::with_list();
    dir.run(&sample()).fails("this build cannot read Parquet; build it with `--features parquet`");
    for command in ["dedup", "dedup --clusters", "report"] {
        dir.run(&format!("{command} --to parquet -o out.parquet in.txt"))
            .fails("this build cannot write Parquet; build it with `--features parquet`");
    }
    assert_eq!(dir.names(), ["in.txt"]);
}

#[cfg(feature = "parquet")]
#[test]
fn a_column_is_read_by_name() {
    let dir = Dir::new();
    let file = sample();
    let urls = "http://www.example.com/\nhttp://www.example.com/?ref=nav&id=1\n\
                http://www.example.com/?id=1\nhttp://www.example.com/old\n\
                https://shop.example.org/b%C3%BCcher\n";
    let run = dir.run(&format!("-p whatwg {file}")).exits(0).says("1 rejected (no-url)");
    assert_eq!(run.out(), urls);
    let hosts = "www.example.com\nshop.example.org\n";
    for flags in ["--field url_host_name", "--field url=url_host_name --format parquet"] {
        let run = dir.run(&format!("{flags} {file}")).exits(0);
        assert_eq!(run.out(), hosts, "{flags}");
    }
    let run = dir.run(&format!("--status 301 {file}")).exits(0);
    assert_eq!(run.out(), "http://www.example.com/old\n");
    // Other fields in columns of other names, and columns by number.
    let run = dir.run(&format!("--field 2,status=fetch_status --status 301 {file}")).exits(0);
    assert_eq!(run.out(), "http://www.example.com/old\n");
    let run = dir.run(&format!("--field status=url_host_name --status 301 {file}")).exits(0);
    assert_eq!(run.out(), "");
    for (column, found) in [
        ("uri", "found url_surtkey, url, url_host_name"),
        ("fetch_status", "found INT32"),
        ("status=uri", "found url_surtkey, url, url_host_name"),
        ("url=url,host=url_host_name", "found host"),
    ] {
        dir.run(&format!("--field {column} {file}")).fails(found);
    }
    // It is told at its end where everything is, so a stream will not do, and a copy of it will.
    let bytes = fs::read(&file).unwrap();
    dir.feed("-", &bytes).fails("found a stream");
    assert!(
        dir.feed("-p whatwg -c -", &bytes)
            .exits(0)
            .out()
            .ends_with(" https://shop.example.org/b%C3%BCcher\n")
    );
}

/// Checksums that do not fit, and files at which the reader panics.
#[cfg(feature = "parquet")]
#[test]
fn damage_is_told() {
    let dir = Dir::new();
    for name in ["checksum", "offset", "dictionary"] {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/hostile/{name}.parquet"));
        let run = dir.run(&format!("-o out.txt {}", file.display())).exits(2);
        run.says(&format!("{name}.parquet: expected Parquet, found damaged data"));
        assert!(!dir.path("out.txt").exists(), "{name}");
    }
    dir.put("encrypted", b"PARE\x25\0\0\0abc");
    dir.run("encrypted").fails("found an encrypted file");
    dir.put("empty", b"");
    dir.run("--format parquet empty").exits(0);
}

/// Columns that nobody has asked for cost no row.
#[cfg(feature = "parquet")]
#[test]
fn long_values_beside_the_url() {
    use ::parquet::data_type::{ByteArray, ByteArrayType};
    use ::parquet::file::writer::SerializedFileWriter;
    let dir = Dir::new();
    let schema = "message t { required binary url (STRING); required binary bytes; \
                  required binary referrer (STRING); required binary digest (DECIMAL(20,0)); }";
    let schema = ::parquet::schema::parser::parse_message_type(schema).unwrap();
    let file = fs::File::create(dir.path("in.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema.into(), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let long = "x".repeat(2 << 20);
    for texts in [["http://a.test/1", "http://a.test/2"], [&long, "5"], [&long, "r"], ["d", "e"]] {
        let mut column = group.next_column().unwrap().unwrap();
        let values = texts.map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    dir.run("in.parquet").gives("http://a.test/1\nhttp://a.test/2\n");
    let line = dir.run("-p lines --print line in.parquet").quiet().out();
    assert_eq!(line.lines().nth(2), Some("http://a.test/2\t\t\t\t\t\t\t\tr\t\t"), "{line}");
    dir.run("--field url=url,digest=digest in.parquet").fails("found decimals (BYTE_ARRAY)");
}

/// The rows of a Parquet file, as their `Display` shows them, and what is told of its origin.
#[cfg(feature = "parquet")]
fn shown(path: &Path) -> (Vec<String>, Vec<(String, String)>) {
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let told = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let told = told.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect();
    (reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect(), told)
}

#[cfg(feature = "parquet")]
#[test]
fn rows_are_written() {
    let dir = Dir::with_list();
    dir.run("--to parquet -o kept.parquet in.txt").quiet();
    let (rows, told) = shown(&dir.path("kept.parquet"));
    assert_eq!(
        rows,
        [
            "{line: 1, url: \"http://a.test/\", canonical: \"http://a.test/\", count: 2, url_raw: null, \
             canonical_raw: null}",
            "{line: 3, url: \"http://b.test/?x=1&utm_source=q\", canonical: \"http://b.test/?x=1\", count: 2, \
             url_raw: null, canonical_raw: null}",
        ]
    );
    let told: Vec<(&str, &str)> = told.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(
        told[..3],
        [("undust", env!("CARGO_PKG_VERSION")), ("table", "kept"), ("profile", "crawl@1"),]
    );
    assert!(told[3].0 == "rules" && told[3].1.len() == 16);
    // What was written can be read, over standard output too.
    dir.run("kept.parquet").gives(KEPT);
    dir.put("piped.parquet", dir.run("--to parquet in.txt").quiet().out);
    assert_eq!(dir.get("piped.parquet"), dir.get("kept.parquet"));
    dir.run("-p lines --field canonical kept.parquet")
        .gives("http://a.test/\nhttp://b.test/?x=1\n");
    dir.run("--clusters --dropped d.parquet --to parquet -o c.parquet in.txt").quiet();
    assert_eq!(shown(&dir.path("c.parquet")).0.len(), 4);
    let (dropped, _) = shown(&dir.path("d.parquet"));
    assert!(dropped[0].starts_with("{line: 2, kept_line: 1, rules: \"case"), "{dropped:?}");
    dir.run("report --to parquet -o r.parquet in.txt").quiet();
    assert_eq!(
        shown(&dir.path("r.parquet")).0[0],
        "{part: \"total\", name: \"lines\", count: 4, of: null, \
        changed: null, urls: null, unique: null, respelled: null, name_raw: null}"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn bytes_that_are_not_utf8_are_kept() {
    let dir = Dir::new();
    dir.put("in.txt", b"http://a.test/\xff\nhttp://a.test/\xc3\xa9\n");
    dir.run("--to parquet -p lines -o out.parquet in.txt").quiet();
    let (rows, _) = shown(&dir.path("out.parquet"));
    assert!(rows[0].contains("url: \"http://a.test/%FF\"") && !rows[0].contains("url_raw: null"));
    assert!(rows[1].contains("url: \"http://a.test/\u{e9}\"") && rows[1].contains("url_raw: null"));
    let run = dir.run("-p lines --field url_raw out.parquet").exits(0);
    assert_eq!(run.out, b"http://a.test/\xff\n");
}

#[cfg(feature = "parquet")]
#[test]
fn what_does_not_go_with_parquet_is_refused() {
    let dir = Dir::with_list();
    for name in ["out.parquet.zst", "out.parquet.gz"] {
        dir.run(&format!("--to parquet -o {name} in.txt"))
            .fails("--to parquet is compressed by itself");
    }
    dir.run("--to parquet --dropped d.gz -o out.parquet in.txt")
        .fails("--to parquet is compressed");
    dir.run("report --to parquet -o out.zst in.txt").fails("--to parquet is compressed by itself");
    dir.run("--to parquet --excel in.txt").fails("--excel: guards");
    assert_eq!(dir.names(), ["in.txt"]);
}
