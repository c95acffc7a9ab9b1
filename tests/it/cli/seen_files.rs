//! Files of `--seen`: what they remember, and that damaged ones, or what is none, are refused.

use super::*;

#[test]
fn seen_files_grow() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").gives(KEPT);
    dir.run("--seen seen in.txt").gives("");
    dir.feed("--seen seen", b"http://c.test/\nhttp://A.test/\nhttp://c.test\n")
        .gives("http://c.test/\n");
    let stats = dir.feed("--seen seen --stats=stats.json", b"http://c.test/\nhttp://d.test/\n");
    stats.gives("http://d.test/\n");
    assert_eq!(json(&dir.get("stats.json"))["totals"]["duplicate"], 1);
    let before = dir.get("seen");
    dir.run("--seen seen -p aggressive in.txt").fails("another profile");
    assert!(dir.get("seen") == before);
    for args in ["-c", "-d", "-u", "--clusters", "--dropped x", "--check", "--keep last"] {
        dir.run(&format!("--seen seen {args} in.txt")).fails("--seen");
    }
    assert_eq!(dir.names(), ["in.txt", "seen", "stats.json"]);
}

/// What a run remembers is not lost when another has begun before and ends behind it.
#[test]
fn a_seen_file_that_another_run_has_changed_is_an_error() {
    let dir = Dir::with_list();
    let slow = |meanwhile: &dyn Fn()| {
        let mut child = dir.command(&["--seen", "seen", "--stats=stats"]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"http://slow.test/\n").unwrap();
        // Its first line is there: so it has read the seen file.
        let mut first = [0; 18];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        meanwhile();
        drop(stdin);
        Run::end("--seen seen".to_string(), child)
    };
    let fast = || drop(dir.run("--seen seen in.txt").gives(KEPT));
    let other = || drop(dir.feed("--seen seen", b"http://other.test/\n").quiet());
    let delete = || fs::remove_file(dir.path("seen")).unwrap();
    for (meanwhile, names) in [
        (&fast as &dyn Fn(), &["in.txt", "seen"][..]),
        (&other, &["in.txt", "seen"]),
        (&delete, &["in.txt"]),
    ] {
        slow(meanwhile).exits(2).says("another run has changed it");
        assert_eq!(dir.names(), names, "nothing else is published or left");
        if dir.path("seen").exists() {
            dir.run("--seen seen in.txt").gives("");
        }
    }
    // With nobody in between.
    slow(&|| ()).quiet();
    dir.feed("--seen seen", b"http://slow.test/\n").gives("");
}

#[test]
fn damaged_seen_files_are_refused() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").quiet();
    let good = dir.get("seen");
    let mut flipped = good.clone();
    flipped[20] ^= 1;
    for bad in [&good[..good.len() - 1], &good[..40], &flipped, b"", LIST.as_bytes()] {
        dir.put("bad", bad);
        dir.run("--seen bad in.txt").fails("bad: ");
        assert!(dir.get("bad") == bad, "a damaged file is left as it is");
    }
    dir.run("--seen in.txt in.txt").fails("in.txt: expected a seen file");
    // Not written once, to be refused ever after.
    dir.run("--seen seen.zst in.txt").fails("seen.zst: such a file is not compressed");
    assert!(!dir.path("seen.zst").exists());
}

/// What is known would be new.
#[test]
fn a_damaged_seen_file_is_no_list() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").gives(KEPT);
    dir.put("out", "before");
    let good = dir.get("seen");
    let mut flipped = good.clone();
    flipped[3] ^= 0x20;
    let mut zeros = good.clone();
    let block = zeros.len().min(4096);
    zeros[..block].fill(0);
    let mut start = good.clone();
    start[..12].fill(0);
    for (bad, found) in [
        (&flipped[..], "whose first bytes are damaged"),
        (&flipped[..20], "whose first bytes are damaged"),
        (&good[..11], "the first bytes of a seen file, and no more"),
        (&good[..1], "the first bytes of a seen file, and no more"),
        (&zeros, "NUL bytes at the start"),
        (&start, "NUL bytes at the start"),
        (&zeros[..5], "NUL bytes at the start"),
    ] {
        dir.put("bad", bad);
        for args in ["--not-in bad", "--not-in in.txt --not-in bad", "-p lines --not-in bad"] {
            dir.run(&format!("-o out in.txt {args}"))
                .fails("--not-in: bad: expected URLs")
                .says(found);
        }
        dir.feed("-o out in.txt --not-in -", bad).fails(found);
        dir.put("bad", zstd(bad));
        dir.run("in.txt --not-in bad").fails(found);
    }
    assert_eq!(dir.text("out"), "before");
    // Lists, one of which is empty.
    dir.put("list", "");
    dir.run("in.txt --not-in list").exits(0).says("no URL was found in list");
    dir.put("list", "http://a.test/\n\0\0\nhttp://c.test/?x=1\0\n");
    assert!(dir.run("in.txt --not-in list").exits(0).out().starts_with("http://b.test/"));
    dir.put("list", "\0\0http://a.test/\0http://b.test/?x=1\0");
    dir.feed("-0 --not-in list", b"http://a.test/\0http://c.test/\0").gives("http://c.test/\0");
}

/// They are replaced when the run is done.
#[test]
fn what_is_no_file_is_no_seen_file() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").gives(KEPT);
    let seen = dir.get("seen");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    std::os::unix::fs::symlink("pipe", dir.path("link")).unwrap();
    fs::create_dir(dir.path("folder")).unwrap();
    let names = dir.names();
    for (name, found) in [
        ("pipe", "a pipe"),
        ("link", "a pipe"),
        ("folder", "a folder"),
        ("/dev/null", "a device"),
        ("/dev/full", "a device"),
        ("/dev/stdin", "open already"),
        ("/dev/fd/0", "open already"),
        ("-", "a standard stream"),
    ] {
        // Standard input is the seen file, in a pipe and as it is.
        let args = format!("--seen {name} -o out in.txt");
        let expected = format!("--seen: {name}: expected a regular file");
        dir.feed(&args, &seen).fails(&expected).says(found);
        let mut command = dir.command(&args.split(' ').collect::<Vec<_>>());
        let file = fs::OpenOptions::new().read(true).write(true).open(dir.path("seen")).unwrap();
        let run = command.stdin(file).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{args}: {}", show(&run.stderr));
        assert!(show(&run.stderr).to_string().contains(&expected), "{args}: {}", show(&run.stderr));
    }
    assert_eq!(dir.names(), names, "nothing is written");
    assert!(dir.get("seen") == seen);
    // A link to a file is what it leads to, or will lead to.
    for target in ["seen", "later"] {
        let link = format!("link to {target}");
        std::os::unix::fs::symlink(target, dir.path(&link)).unwrap();
        dir.run_args(&["--seen", &link, "in.txt"]).quiet();
        assert!(dir.path(target).is_file());
    }
    dir.run("--seen later in.txt").gives("");
}
