//! Files of `--seen` that are no files at all.

use super::*;

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
