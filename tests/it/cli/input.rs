//! What is read.

use super::*;

#[test]
fn several_inputs_are_one() {
    let dir = Dir::with_list();
    fs::create_dir_all(dir.path("folder/b")).unwrap();
    dir.put("folder/b/c.txt", "http://c.test/\nhttp://a.test/");
    dir.put("folder/a.zst", zstd(b"http://d.test/\n"));
    dir.put("names", "folder/b/c.txt\n\nin.txt\n");
    dir.put("names0", "folder/b/c.txt\0in.txt\0");
    let (c, d) = ("http://c.test/\n", "http://d.test/\n");
    dir.run("in.txt folder/b/c.txt").gives(format!("{KEPT}{c}"));
    dir.run("folder/b/c.txt in.txt")
        .gives(format!("{c}http://a.test/\nhttp://b.test/?x=1&utm_source=q\n"));
    dir.run("in.txt in.txt").gives(KEPT);
    dir.run("-r folder").gives(format!("{d}{c}http://a.test/\n"));
    dir.run("folder")
        .fails("folder: expected a file, found a folder; name the files in it, or give -r");
    dir.run("--files-from names").gives(format!("{c}{KEPT}"));
    dir.run("folder/a.zst --files-from names").gives(format!("{d}{c}{KEPT}"));
    dir.feed("--files-from -", b"in.txt\n").gives(KEPT);
    // As `find -print0` writes them.
    dir.feed("--files-from -", b"in.txt\0").gives(KEPT);
    dir.feed("folder/b/c.txt -", LIST.as_bytes()).gives(format!("{c}{KEPT}"));
    dir.feed("- folder/b/c.txt", LIST.as_bytes()).gives(format!("{KEPT}{c}"));
    dir.feed("- -", LIST.as_bytes()).fails("standard input once");
    // Counts, too, whatever must be read twice.
    let counted = dir.feed("-c - folder/b/c.txt", LIST.as_bytes()).quiet().out();
    assert!(counted.starts_with("      3 http://a.test/\n"), "{counted}");
}

#[test]
fn streams_that_are_read_twice() {
    let dir = Dir::with_list();
    let counted = "      2 http://a.test/\n      2 http://b.test/?x=1&utm_source=q\n";
    dir.feed("-c", LIST.as_bytes()).gives(counted);
    dir.feed("-c -", &zstd(LIST.as_bytes())).gives(counted);
    dir.feed("-c --files-from -", b"in.txt\n").gives(counted);
    dir.feed("-c - -", LIST.as_bytes()).fails("standard input once");
    dir.put("names", "-\n");
    dir.feed("-c --files-from names", LIST.as_bytes()).gives(counted);
    dir.feed("report --files-from names", LIST.as_bytes()).quiet();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let (here, fifo) = (rustix::fs::CWD, dir.path("fifo"));
    rustix::fs::mknodat(here, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    dir.put("names", "fifo\n");
    for args in ["-c fifo", "-c --files-from names"] {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::write(fifo, LIST));
        dir.run(args).gives(counted);
    }
}

#[test]
fn streams_have_the_name_that_the_user_knows() {
    let dir = Dir::new();
    let cut = &zstd(&generated(10_000, 5))[..10_000];
    for args in ["dedup", "dedup -c", "report"] {
        let run = dir.feed(args, cut).exits(2).says("standard input: expected the end of a zstd");
        assert!(!run.words().contains("/dev/fd"), "{}", run.told());
    }
    dir.feed("-c --stats=stats.json", LIST.as_bytes()).quiet();
    assert_eq!(json(&dir.get("stats.json"))["input"][0]["path"], "-");
}

#[test]
fn missing_inputs_are_told_before_any_output() {
    let dir = Dir::with_list();
    for args in ["in.txt missing.txt", "-c in.txt missing.txt", "canon in.txt missing.txt"] {
        dir.run(args).fails("missing.txt: cannot read: No such file");
    }
    dir.run("report in.txt missing.txt").fails("missing.txt");
    dir.put("names", "in.txt\nmissing.txt\n");
    dir.run("--files-from names").fails("missing.txt");
    dir.run("--files-from missing.txt").fails("missing.txt");
    for url in ["http://a.test/x", "HTTPS://a.test"] {
        dir.run(url).fails(&format!("{url}: expected a file, found a URL"));
    }
}

#[test]
fn rules_without_anything_to_work_with_are_told() {
    let dir = Dir::with_list();
    for args in
        ["--enable ip-host in.txt", "--only case,ip-host in.txt", "explain --enable ip-host a"]
    {
        dir.run(args).fails("ip-host: expected addresses and names for this rule");
    }
    dir.put("hosts", "");
    dir.run("--enable ip-host --hosts hosts in.txt").gives(KEPT);
    dir.put("undust.toml", "enable = ['dust']");
    dir.run("--config undust.toml in.txt").gives(KEPT);
}

#[test]
fn no_files_at_all_are_told() {
    let dir = Dir::new();
    fs::create_dir(dir.path("empty")).unwrap();
    dir.put("names", "");
    for args in ["-r empty", "--files-from names", "-p lines -r empty", "report -r empty"] {
        dir.run(args).exits(0).says("nothing was read: no file was found");
        dir.run(&format!("{args} -q")).quiet();
    }
}

#[test]
fn compressed_inputs_of_many_parts() {
    let dir = Dir::new();
    let all = generated(30_000, 2);
    let expected = dir.feed("dedup", &all).quiet().out;
    // Cut anywhere: a line may span two frames.
    let (head, tail) = all.split_at(all.len() / 3);
    let skippable = [&0x184d_2a50_u32.to_le_bytes()[..], &5u32.to_le_bytes(), b"junk!"].concat();
    let frames = [&skippable[..], &zstd(head), &skippable, &zstd(b""), &zstd(tail), &skippable];
    dir.put("list.txt", frames.concat());
    dir.put("list", [gzip(head), gzip(b""), gzip(tail)].concat());
    dir.put("plain.zst", &all);
    for name in ["list.txt", "list", "plain.zst"] {
        dir.run(name).gives(&expected);
        dir.feed("-", &dir.get(name)).gives(&expected);
    }
    let found = dir.run("report --to json list.txt list plain.zst").quiet();
    let found = json(&found.out);
    let compression = |at: usize| found["input"][at]["compression"].as_str().unwrap().to_string();
    assert_eq!([0, 1, 2].map(compression), ["zstd", "gzip", "none"]);
    assert_eq!(found["input"][0]["bytes"], all.len());
}

/// A list in zstd frames of `frame_bytes` each, none of which ends at a line but by chance.
fn in_frames(all: &[u8], frame_bytes: usize) -> Vec<u8> {
    all.chunks(frame_bytes).flat_map(zstd).collect()
}

#[test]
fn frames_side_by_side_are_one_list() {
    let dir = Dir::new();
    let all = generated(150_000, 3);
    dir.put("plain", &all);
    let expected = &dir.run("-p lines plain").quiet().out;
    let counted = dir.run("-c plain").quiet().out;
    // Smaller than a line, some lines, a chunk, more than a piece. Of the small ones a thousand;
    // the rest makes them share a piece with larger ones, and others come behind.
    for frame_bytes in [40, 700, 1 << 20, 5 << 20] {
        let (small, rest) = all.split_at(if frame_bytes < 1000 { 1000 * frame_bytes } else { 0 });
        let small = in_frames(small, frame_bytes);
        dir.put("frames", [small, in_frames(rest, frame_bytes.max(1 << 20))].concat());
        for args in ["", "-j 1", "-j 7 --no-map"] {
            dir.run(&format!("-p lines {args} frames")).gives(expected);
        }
        dir.feed("-p lines", &dir.get("frames")).gives(expected);
    }
    dir.run("-c -j 3 frames").gives(counted);
}

#[test]
fn damage_between_frames_side_by_side_is_told_as_ever() {
    let dir = Dir::new();
    let all = generated(150_000, 3);
    let frames = in_frames(&all, 1 << 20);
    let mut flipped = frames.clone();
    flipped[frames.len() / 2..][..8].fill(0xff);
    let cut = &frames[..frames.len() * 2 / 3];
    let junk = [&frames[..], b"junk"].concat();
    for (name, packed) in [("flipped", &flipped[..]), ("cut", cut), ("junk", &junk)] {
        dir.put(name, packed);
        let found = dir.run(&format!("-p lines -j 3 {name}")).exits(2).says(name);
        // Of a stream, nothing is unpacked aside.
        let expected = dir.feed("-p lines", packed).exits(2);
        assert!(found.out == expected.out && found.out.len() > 4 << 20, "{}", found.told());
        let words = |run: &Run| run.words().split_once(": expected").unwrap().1.to_string();
        assert_eq!(words(&found), words(&expected));
    }
}

#[test]
fn what_is_readable_of_a_damaged_file_is_written() {
    let dir = Dir::new();
    let all = generated(60_000, 2);
    let expected = dir.feed("dedup", &all).quiet().out;
    for (name, packed) in [("cut.zst", zstd(&all)), ("cut.gz", gzip(&all))] {
        dir.put(name, &packed[..packed.len() / 2]);
        let run = dir.run(name).exits(2).says(name).says("cut short");
        let whole = run.out.len() - run.out.rsplit(|byte| *byte == b'\n').nth(1).unwrap().len() - 1;
        assert!(run.out.len() > all.len() / 10, "{name}: {} bytes", run.out.len());
        assert!(expected.starts_with(&run.out[..whole]), "{name}");
        assert_eq!(run.words().lines().count(), 1, "{}", run.told());
    }
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(&all).unwrap();
    let mut flipped = encoder.finish().unwrap();
    let at = flipped.len() * 2 / 3;
    flipped[at..at + 8].fill(0xff);
    dir.put("flipped.zst", flipped);
    dir.run("flipped.zst").exits(2).says("flipped.zst: ");
}

#[test]
fn what_is_not_packed_as_its_name_says_is_told() {
    let dir = Dir::new();
    let packed = zstd(b"http://a.test/\n");
    let many = zstd(&generated(3_000, 4));
    dir.put("damaged.zst", [&b"\0"[..], &many[1..]].concat());
    dir.put("packed.txt", &packed);
    dir.put("list.gz", "http://a.test/\n");
    dir.put("odd.gz", "\u{1}x\ny\n");
    dir.run("damaged.zst").exits(0).says("damaged.zst: named as zstd files are");
    dir.run("odd.gz").exits(0).says("odd.gz: named as gzip files are");
    dir.run("list.gz").gives("http://a.test/\n").quiet();
    dir.run("packed.txt").gives("http://a.test/\n").quiet();
    dir.run("-q odd.gz").quiet();
}

#[test]
fn long_lines_are_counted_rejects() {
    let dir = Dir::new();
    let long = format!("http://a.test/{}", "x".repeat(86));
    dir.put("in.txt", format!("http://a.test/\n{long}\n{long}x\n{long}\n"));
    dir.run("-q --line-limit 100 --stats=stats.json in.txt")
        .gives(format!("http://a.test/\n{long}\n"));
    let stats = json(&dir.get("stats.json"));
    assert_eq!(stats["rejected_by_kind"]["line-too-long"], 1);
    assert_eq!(stats["totals"]["lines"], 4);
    // Beyond any chunk, at the end and in the middle, plain and packed.
    let huge = [&b"http://b.test/\n"[..], &vec![b'y'; 5 << 20], b"\nhttp://b.test\n"].concat();
    let huge = [&huge[..], &vec![b'z'; 3 << 20]].concat();
    dir.put("huge.zst", zstd(&huge));
    dir.put("huge.txt", huge);
    for args in ["huge.txt", "--no-map huge.txt", "huge.zst", "-p lines huge.txt"] {
        let kept = dir.run(&format!("-q --stats=stats.json {args}")).quiet().out();
        assert!(kept.starts_with("http://b.test/\n") && kept.len() < 40, "{args}");
        let stats = json(&dir.get("stats.json"));
        assert_eq!(stats["rejected_by_kind"]["line-too-long"], 2, "{args}");
        assert_eq!(stats["totals"]["lines"], 4, "{args}");
    }
    dir.run("--line-limit 8M --stats=stats.json huge.txt").quiet();
    let stats = json(&dir.get("stats.json"));
    assert_eq!(stats["totals"]["rejected"], 0);
    assert_eq!(stats["totals"]["unparsed"], 2);
}

#[test]
fn as_much_of_each_long_line_is_kept_whatever_the_memory() {
    let dir = Dir::new();
    let lines = [500, 1_030, 200_000, 1 << 20].map(|length| "y".repeat(length));
    dir.put("in.txt", lines.join("\n"));
    let kept = lines.iter().map(|line| format!("line-too-long\t{:.1024}\n", line));
    let kept: String = kept.collect();
    for how in ["", "--no-map", "-S 8M", "-S 16M --threads 1", "-S 16M --threads 2"] {
        dir.run(&format!("{how} -q --line-limit 400 --rejects rejects in.txt")).gives("");
        assert!(dir.text("rejects") == kept, "{how}");
    }
}

#[test]
fn a_long_line_is_told_by_its_own_beginning() {
    let dir = Dir::new();
    dir.put("in.txt", "http://first.test/\nhttp://second.test/and-so-on\n");
    let run = dir.run("canon --line-limit 20 in.txt").exits(2).says("line 2: ");
    assert!(run.words().contains("http://second"), "{}", run.told());
    assert!(!run.words().contains("first.test"), "{}", run.told());
}

/// Files that have no room to stay open are read, not mapped.
#[test]
fn more_files_than_may_be_open() {
    let dir = Dir::new();
    fs::create_dir(dir.path("many")).unwrap();
    let text = "http://a.test/\n".repeat(20_000);
    for number in 0..80 {
        dir.put(&format!("many/{number:02}"), format!("http://a.test/{number}\n{text}"));
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_undust")]);
    shell.args(["-q", "-r", "many"]).current_dir(dir.path(""));
    let output = shell.output().unwrap();
    assert_eq!(show(&output.stderr).to_string(), "");
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 81);
}
