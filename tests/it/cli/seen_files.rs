//! Files of `--seen`: what they remember, and that damaged ones, or what is none, are refused.

use super::*;

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
        (&good[..11], "the first bytes of a file of --seen, and no more"),
        (&good[..1], "the first bytes of a file of --seen, and no more"),
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
