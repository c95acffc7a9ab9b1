//! Where results go.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;
use crate::skipped::skip;

#[test]
fn output_is_whole_or_not_at_all() {
    let dir = Dir::with_list();
    dir.run("-o out.txt in.txt").gives("");
    assert_eq!(dir.text("out.txt"), KEPT);
    let cut = zstd(&generated(40_000, 5));
    dir.put("cut.zst", &cut[..cut.len() / 2]);
    for args in ["-o out.txt cut.zst", "-c -o new.txt cut.zst", "canon -o new.txt cut.zst"] {
        dir.run(args).fails("cut.zst: ");
    }
    dir.run("-o out.txt missing.txt").fails("missing.txt");
    dir.run("canon --on-bad fail -o out.txt -").gives("");
    assert_eq!(dir.text("out.txt"), "");
    dir.feed("canon --on-bad fail -o out.txt", b"http://a.test/\nhttp://[bad\n").fails("line 2");
    assert_eq!(dir.names(), ["cut.zst", "in.txt", "out.txt"]);
    assert_eq!(dir.text("out.txt"), "");
    let run = dir.run("-o missing/out.txt in.txt");
    run.fails("missing/out.txt: cannot write: there is no folder missing; make it first");
    fs::create_dir(dir.path("folder")).unwrap();
    for name in ["folder", "new/", "new/.", "out.txt/", "."] {
        dir.run(&format!("-o {name} in.txt")).fails("is a folder; name a file in it");
    }
    dir.run("-o - in.txt").gives(KEPT);
    assert_eq!(dir.names(), ["cut.zst", "folder", "in.txt", "out.txt"]);
}

#[test]
fn output_that_is_left_to_the_system_is_the_same() {
    let dir = Dir::new();
    let list = generated(30_000, 7);
    let kept = dir.feed("dedup", &list).quiet().out;
    dir.put("in.txt", &list);
    for name in ["out.txt", "out.zst"] {
        for replaced in [false, true] {
            dir.run(&format!("--no-sync -q --rejects rejects -o {name} in.txt")).gives("");
            dir.run(&format!("-f lines {name}")).gives(&kept);
            assert_eq!(dir.get("rejects"), b"", "{name}, replaced: {replaced}");
        }
    }
    for command in ["generate list -n 9K", "generate site --sites 1 --urls 300", "canon in.txt"] {
        let expected = dir.run(command).exits(0).out;
        dir.run(&format!("{command} --no-sync -o made")).gives("");
        assert!(dir.get("made") == expected, "{command}");
    }
    dir.run("--seen seen --no-sync in.txt").fails("cannot be used with '--no-sync'");
    assert_eq!(dir.names(), ["in.txt", "made", "out.txt", "out.zst", "rejects"]);
}

#[test]
fn output_is_compressed_by_its_name() {
    let dir = Dir::with_list();
    dir.run("-o out.zst in.txt").quiet();
    dir.run("-c -o out.gz in.txt").quiet();
    assert_eq!(zstd::decode_all(&dir.get("out.zst")[..]).unwrap(), KEPT.as_bytes());
    let mut text = String::new();
    flate2::read::GzDecoder::new(&dir.get("out.gz")[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text, "      2 http://a.test/\n      2 http://b.test/?x=1&utm_source=q\n");
    dir.run("out.zst").gives(KEPT);
    for suffix in ["bz2", "xz", "lz4"] {
        let name = format!("out.{suffix}");
        dir.run(&format!("-o {name} in.txt")).gives("");
        let packed = dir.get(&name);
        let mut text = String::new();
        match suffix {
            "bz2" => bzip2::read::BzDecoder::new(&packed[..]).read_to_string(&mut text),
            "xz" => liblzma::read::XzDecoder::new(&packed[..]).read_to_string(&mut text),
            _ => lz4_flex::frame::FrameDecoder::new(&packed[..]).read_to_string(&mut text),
        }
        .unwrap();
        assert_eq!(text, KEPT, "{suffix}");
        dir.run(&name).gives(KEPT);
    }
}

/// How many frames `packed` has. Each must tell how much it holds.
fn frames(mut packed: &[u8]) -> usize {
    let mut frames = 0;
    while !packed.is_empty() {
        assert!(zstd::zstd_safe::get_frame_content_size(packed).unwrap().is_some());
        let bytes = zstd::zstd_safe::find_frame_compressed_size(packed).unwrap();
        packed = &packed[bytes..];
        frames += 1;
    }
    frames
}

#[test]
fn packed_output_is_the_same_for_any_number_of_threads() {
    let dir = Dir::new();
    dir.put("in.txt", generated(120_000, 4));
    let kept = dir.run("in.txt").quiet().out;
    assert!(kept.len() > 5 << 20);
    for (args, plain) in
        [("dedup", "dedup in.txt"), ("dedup -c", "dedup -c in.txt"), ("canon", "canon in.txt")]
    {
        let expected = dir.run(plain).quiet().out;
        let mut first = None;
        for threads in [1, 2, 7] {
            dir.run(&format!("{args} -j {threads} -o out.zst in.txt")).quiet();
            let packed = dir.get("out.zst");
            assert_eq!(frames(&packed), expected.len().div_ceil(4 << 20), "{args}");
            assert!(zstd::decode_all(&packed[..]).unwrap() == expected, "{args}");
            assert!(*first.get_or_insert(packed.clone()) == packed, "{args}, {threads} threads");
        }
    }
    // What was written so is read so.
    dir.run("-o again.zst in.txt").quiet();
    dir.run("again.zst").gives(&kept);
    dir.run("--dropped dropped.zst -o out.txt in.txt").quiet();
    dir.run("--dropped dropped.txt -o out.txt in.txt").quiet();
    let dropped = zstd::decode_all(&dir.get("dropped.zst")[..]).unwrap();
    assert!(dropped == dir.get("dropped.txt"));
    dir.run("generate list -n 120000 --seed 4 -o list.zst").quiet();
    assert!(zstd::decode_all(&dir.get("list.zst")[..]).unwrap() == dir.get("in.txt"));
    dir.feed("-o nothing.zst", b"").quiet();
    assert_eq!(frames(&dir.get("nothing.zst")), 1);
    dir.run("nothing.zst").gives("");
}

#[test]
fn packed_output_that_fails_is_not_there() {
    let dir = Dir::new();
    dir.put("in.txt", generated(120_000, 4));
    for args in ["-o out.zst in.txt", "canon -o out.zst in.txt", "-q -c -o out.zst in.txt"] {
        // Too few blocks for the first frame, or for the last one.
        for blocks in [100, 1200] {
            dir.run_under(&format!("-f {blocks}"), args).fails("out.zst: cannot write");
            assert_eq!(dir.names(), ["in.txt"], "{args}");
        }
    }
}

#[test]
fn output_refuses_inputs() {
    let dir = Dir::with_list();
    fs::hard_link(dir.path("in.txt"), dir.path("same.txt")).unwrap();
    for args in ["-o in.txt in.txt", "-o ./same.txt in.txt", "--dropped in.txt in.txt"] {
        dir.run(args).fails("is an input as well");
    }
    for args in ["canon -o in.txt in.txt", "report -o in.txt in.txt"] {
        dir.run(args).fails("is an input as well");
    }
    assert_eq!(dir.text("in.txt"), LIST);
}

#[test]
fn standard_output_is_no_input_either() {
    let dir = Dir::with_list();
    for args in [&["in.txt"][..], &["canon", "in.txt"], &["-o", "-", "in.txt"]] {
        let end = fs::OpenOptions::new().append(true).open(dir.path("in.txt")).unwrap();
        let run = dir.command(args).stdout(end).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains("standard output: is an input as well"), "{said}");
    }
    assert_eq!(dir.text("in.txt"), LIST);
}

#[test]
fn standard_output_that_cannot_be_written_is_told() {
    let dir = Dir::with_list();
    dir.put("other.txt", "");
    for args in [&["in.txt", "--seen", "seen"][..], &["canon", "in.txt"], &["rules", "list"]] {
        let for_reading = fs::File::open(dir.path("other.txt")).unwrap();
        let run = dir.command(args).stdout(for_reading).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("standard output: cannot write"), "{args:?}: {said}");
    }
    assert_eq!(dir.names(), ["in.txt", "other.txt"]);
}

#[test]
fn results_are_not_written_where_standard_streams_go() {
    let dir = Dir::with_list();
    for args in ["in.txt --rejects r", "in.txt --dropped r", "--stats=r in.txt"] {
        let args: Vec<&str> = args.split(' ').collect();
        let stdout = fs::File::create(dir.path("r")).unwrap();
        let run = dir.command(&args).stdout(stdout).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("two results would go there"), "{args:?}: {said}");
    }
    let stderr = fs::File::create(dir.path("r")).unwrap();
    let run = dir.command(&["-o", "r", "--stats", "in.txt"]).stderr(stderr).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(dir.text("r").contains("standard error goes there as well"));
    // Both of them in one file is what many logs are.
    let log = fs::File::create(dir.path("r")).unwrap();
    let both = [log.try_clone().unwrap(), log];
    let [stdout, stderr] = both;
    let run = dir.command(&["-v", "in.txt"]).stdout(stdout).stderr(stderr).output().unwrap();
    assert!(run.status.success() && dir.text("r").contains(KEPT), "{}", dir.text("r"));
    // Where one of them is used alone, all is well; a link to one is what it leads to.
    let stdout = fs::File::create(dir.path("r")).unwrap();
    let run = dir.command(&["-o", "r", "in.txt"]).stdout(stdout).output().unwrap();
    assert!(run.status.success() && dir.text("r") == KEPT);
    std::os::unix::fs::symlink("/dev/stdout", dir.path("link")).unwrap();
    dir.put("r", "before\n");
    let stdout = fs::OpenOptions::new().append(true).open(dir.path("r")).unwrap();
    let run = dir.command(&["-o", "link", "in.txt"]).stdout(stdout).output().unwrap();
    assert!(run.status.success() && dir.text("r") == format!("before\n{KEPT}"));
}

#[test]
fn a_replaced_file_keeps_its_owner() {
    let dir = Dir::with_list();
    dir.put("out.txt", "old");
    let own = fs::metadata(dir.path("out.txt")).unwrap();
    // Only the superuser may give files away.
    let other = if rustix::process::geteuid().is_root() { 12_345 } else { own.uid() };
    std::os::unix::fs::chown(dir.path("out.txt"), Some(other), None).unwrap();
    fs::set_permissions(dir.path("out.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    dir.run("-q in.txt -o out.txt").quiet();
    let new = fs::metadata(dir.path("out.txt")).unwrap();
    assert_eq!((new.uid(), new.gid(), new.mode() & 0o777), (other, own.gid(), 0o640));
    assert_eq!(dir.text("out.txt"), KEPT);
}

/// Standard input is still open, and says nothing.
#[test]
fn a_run_with_an_answer_does_not_wait_for_more() {
    let dir = Dir::new();
    for (args, lines, status) in [
        ("-o /dev/full", LIST, 2),
        ("canon -o /dev/full", LIST, 2),
        ("--check", LIST, 1),
        ("canon --on-bad fail", "http://[bad\n", 2),
    ] {
        let mut child = dir.command(&args.split(' ').collect::<Vec<_>>()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(lines.as_bytes()).unwrap();
        Run::end(args.to_string(), child).exits(status);
        drop(stdin);
    }
}

#[test]
fn output_refuses_what_standard_input_is() {
    let dir = Dir::with_list();
    for args in [&["-o", "in.txt"][..], &["canon", "-", "-o", "in.txt"]] {
        let stdin = fs::File::open(dir.path("in.txt")).unwrap();
        let run = dir.command(args).stdin(stdin).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.code() == Some(2) && said.contains("is an input as well"), "{said}");
    }
    assert_eq!(dir.text("in.txt"), LIST);
}

#[test]
fn output_refuses_inputs_that_lists_and_folders_name() {
    let dir = Dir::new();
    fs::create_dir(dir.path("folder")).unwrap();
    dir.put("folder/in.txt", LIST);
    dir.put("names", "folder/in.txt\n");
    dir.run("-r folder -o folder/in.txt").fails("is an input as well");
    dir.run("--files-from names -o folder/in.txt").fails("is an input as well");
    dir.run("--files-from names -o names").fails("is an input as well");
    dir.put("rules.toml", "");
    for flag in ["--rules", "--config", "--hosts"] {
        dir.run(&format!("{flag} rules.toml folder/in.txt -o rules.toml")).fails("is an input");
    }
    assert_eq!(dir.text("folder/in.txt"), LIST);
}

#[test]
fn tables_beside_the_output_refuse_inputs() {
    let dir = Dir::with_list();
    dir.run("--stats=in.txt in.txt").fails("is an input as well");
    assert_eq!(dir.text("in.txt"), LIST);
}

#[test]
fn two_results_do_not_share_a_file() {
    let dir = Dir::with_list();
    for args in ["--dropped x", "--seen x", "--stats=x"] {
        let run = dir.run(&format!("-o x {args} in.txt"));
        assert_eq!(run.status, Some(2), "{}", run.told());
    }
    let run = dir.run("generate list -n 3 -o x --truth x");
    assert_eq!(run.status, Some(2), "{}", run.told());
    assert_eq!(dir.names(), ["in.txt"]);
}

#[test]
fn seen_grows_only_when_the_output_is_there() {
    let dir = Dir::new();
    let url = |n: u32| format!("http://h{n}.test/{}\n", "x".repeat(100));
    dir.put("in.txt", (0..200).map(url).collect::<String>());
    // Enough for 200 fingerprints, but not for 200 lines.
    dir.run_under("-f 8", "-o out.txt --seen seen in.txt").fails("out.txt: cannot write");
    assert_eq!(dir.names(), ["in.txt"], "lines that nobody got must not count as seen");
}

/// What a run publishes is there whole or not at all, all of it together.
#[test]
fn no_result_is_published_when_another_cannot_be_written() {
    let dir = Dir::new();
    dir.put("in.txt", (0..900).map(|n| format!("a.b/{n}\n")).collect::<String>());
    dir.put("bad.txt", format!("a.b/1\n{}", format!("http://{}\n", "x".repeat(99)).repeat(200)));
    dir.put("out.txt", "old");
    dir.feed("--seen seen", b"http://c.d/\n").quiet();
    let seen = dir.get("seen");
    let names = dir.names();
    for args in ["", "--seen seen", "--seen new", "-c", "-d", "--to csv", "--dropped new"] {
        dir.run(&format!("{args} -o out.txt --stats=/dev/full in.txt"))
            .fails("(os error 28); make room there, or write to another disk");
        let rejects = "--line-limit 50 bad.txt --rejects";
        dir.run(&format!("{args} -o out.txt {rejects} /dev/full")).fails("/dev/full: cannot write");
        dir.run_under("-f 16", &format!("{args} -o out.txt {rejects} rejects"))
            .fails("rejects: cannot write");
    }
    for command in ["canon --on-bad keep", "report", "learn"] {
        dir.run(&format!("{command} -o out.txt --stats=/dev/full in.txt"))
            .fails("/dev/full: cannot write");
    }
    // Enough for 900 lines that are packed, but not for 900 fingerprints.
    dir.run_under("-f 8", "--seen new -o out.gz in.txt").fails("new: cannot write");
    for args in ["list -n 50", "site --sites 1 --urls 50"] {
        dir.run(&format!("generate {args} -o out.txt --truth /dev/full"))
            .fails("/dev/full: cannot write");
    }
    assert_eq!(dir.names(), names);
    assert_eq!(dir.text("out.txt"), "old");
    assert!(dir.get("seen") == seen);
}

#[test]
fn a_link_named_as_output_stays_a_link() {
    let dir = Dir::with_list();
    dir.put("target.txt", "old");
    std::os::unix::fs::symlink("target.txt", dir.path("link.txt")).unwrap();
    dir.run("-o link.txt in.txt").quiet();
    assert_eq!(dir.text("target.txt"), KEPT);
    assert!(fs::symlink_metadata(dir.path("link.txt")).unwrap().is_symlink());
}

/// There is no `/proc` in a bare chroot. Files without a name get one by it.
#[test]
fn results_are_written_where_there_is_no_proc() {
    let dir = Dir::with_list();
    dir.put("out.txt", "old");
    let run = |args: &str| {
        let mut command = Command::new("unshare");
        let start = "mount -t tmpfs none /proc || exit 77; exec \"$0\" \"$@\"";
        command.args(["-rm", "sh", "-c", start, env!("CARGO_BIN_EXE_undust")]);
        command.args(args.split_whitespace()).current_dir(dir.0.path());
        command.env_remove("UNDUST_CONFIG").output()
    };
    if !run("--version").is_ok_and(|run| run.status.success()) {
        return skip("unshare cannot hide /proc here");
    }
    for args in ["-q -o out.txt in.txt", "-q --seen seen -o new.txt in.txt", "-o out.gz in.txt"] {
        let run = run(args).unwrap();
        assert!(run.status.success() && run.stderr.is_empty(), "{args}: {}", show(&run.stderr));
    }
    assert_eq!((dir.text("out.txt").as_str(), dir.text("new.txt").as_str()), (KEPT, KEPT));
    assert!(!run("-o out.txt in.txt missing").unwrap().status.success());
    assert_eq!(dir.names(), ["in.txt", "new.txt", "out.gz", "out.txt", "seen"], "nothing is left");
}

#[test]
fn a_dash_is_standard_output_for_every_command() {
    let dir = Dir::with_list();
    for args in ["-o - in.txt", "canon -o - in.txt", "report -o - in.txt", "generate list -n1 -o -"]
    {
        assert!(!dir.run(args).quiet().out.is_empty(), "{args}");
    }
    assert_eq!(dir.names(), ["in.txt"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let dir = Dir::new();
    dir.put("big.txt", generated(200_000, 1));
    for args in [
        &["big.txt"][..],
        &["-c", "big.txt"],
        &["--clusters", "big.txt"],
        &["canon", "big.txt"],
        &["generate", "list", "-n", "500000"],
        &["--help"],
    ] {
        let mut child = dir.command(args).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(64, child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(first.ends_with('\n'), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {}", show(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let dir = Dir::with_list();
    for args in [
        &["in.txt"][..],
        &["canon", "in.txt"],
        &["report", "in.txt"],
        &["rules", "list"],
        &["--help"],
        &["dedup", "-h"],
        &["help", "canon"],
        &["--version"],
    ] {
        let mut command = dir.command(args);
        command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains("standard output: cannot write"), "{args:?}: {words}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn counts_that_cannot_be_told_are_an_error() {
    let dir = Dir::with_list();
    let mut command = dir.command(&["-q", "--stats", "in.txt"]);
    command.stderr(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}

/// The next line of `child`, or `None` when patience is at its end.
fn next_line(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(line);
    });
    receiver.recv_timeout(Duration::from_secs(10)).ok()
}

/// What was to be written to a file is not there, which is told.
#[test]
fn a_closed_pipe_beside_files_is_told() {
    let dir = Dir::with_list();
    dir.put("big.txt", generated(200_000, 1));
    for args in [
        &["--dropped", "named", "big.txt"][..],
        &["--seen", "named", "big.txt"],
        &["--dropped", "-", "-o", "named", "big.txt"],
        &["--dropped", "named", "-o", "-", "in.txt"],
        &["--rejects", "named", "big.txt"],
        &["canon", "--stats=named", "big.txt"],
        &["learn", "--rejects", "named", "in.txt"],
        &["learn", "--stats=named", "in.txt"],
        &["generate", "list", "-n", "200K", "--truth", "named"],
        &["generate", "list", "-n", "3", "--truth", "named"],
        &["generate", "list", "-n", "3", "--truth", "-", "-o", "named"],
        &["generate", "site", "--sites", "1", "--urls", "20", "--truth", "named"],
        &["generate", "site", "--sites", "1", "--urls", "20", "--truth", "-", "-o", "named"],
    ] {
        // Closed before the run begins: so a short result finds nobody, too.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = dir.command(args);
        command.stdout(writer);
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains("standard output was closed"), "{args:?}: {words}");
        assert!(words.contains("to named\n"), "{args:?}: {words}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(dir.names(), ["big.txt", "in.txt"], "{args:?}");
    }
}

#[test]
fn a_list_that_cannot_be_written_has_no_truth() {
    let dir = Dir::new();
    for args in ["list -n 2K", "site --sites 1 --urls 400"] {
        // Enough for the truth, not for what it is about.
        dir.run_under("-f 64", &format!("generate {args} -o out.txt --truth truth.zst"))
            .fails("out.txt: cannot write");
        assert!(dir.names().is_empty(), "{args}: {:?}", dir.names());
    }
}

#[test]
fn a_slow_pipe_passes_on_its_lines() {
    let dir = Dir::new();
    for args in [&["dedup"][..], &["canon"]] {
        let mut child = dir.command(args).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"http://a.test/\n").unwrap();
        // Standard input is still open: nobody has said that this is all.
        let line = next_line(&mut child);
        drop(stdin);
        child.wait().unwrap();
        assert_eq!(line.as_deref(), Some("http://a.test/\n"), "{args:?}");
    }
}

/// Once its first result has its name, a run goes on to the end, whoever asks it to end.
#[test]
fn a_run_that_has_published_is_not_ended_by_requests() {
    use rustix::process::{Pid, Signal, kill_process};
    let dir = Dir::with_list();
    // Standard error is a pipe that is full, so the run waits with its last words.
    let (mut words, mut full) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&full, true).unwrap();
    while full.write(&[b'.'; 512]).is_ok() {}
    rustix::io::ioctl_fionbio(&full, false).unwrap();
    let mut command = dir.command(&["-v", "-o", "out.txt", "in.txt"]);
    let mut child = command.stderr(full).spawn().unwrap();
    // The other end of the pipe.
    drop(command);
    let started = std::time::Instant::now();
    while !dir.path("out.txt").exists() {
        assert!(started.elapsed() < PATIENCE && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = Pid::from_child(&child);
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1] {
        kill_process(pid, signal).unwrap();
    }
    let mut said = String::new();
    words.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    assert!(said.contains("4 lines: 2 unique"), "{said}");
    assert_eq!(dir.text("out.txt"), KEPT);
    assert_eq!(dir.names(), ["in.txt", "out.txt"]);
}

/// Of runs that end at one time with one seen file, what has been seen is what those had that went
/// through: nothing of them is lost, and nothing of the others is left out the next time.
#[test]
fn runs_with_one_seen_file_are_as_if_one_after_the_other() {
    let dir = Dir::new();
    let list = |name: &str| -> String {
        (0..300).map(|number| format!("http://{name}.test/{number}\n")).collect()
    };
    let names = ["a", "b", "c", "d"];
    names.iter().for_each(|name| dir.put(name, list(name)));
    for round in 0..8 {
        if round % 2 == 1 {
            dir.feed("-q --seen seen", b"http://before.test/\n").exits(0);
        }
        names.iter().for_each(|name| dir.put(&format!("{name}.out"), "old"));
        let runs: Vec<Child> = names
            .iter()
            .map(|name| {
                let out = format!("{name}.out");
                dir.command(&["-q", "--seen", "seen", "-o", &out, name]).spawn().unwrap()
            })
            .collect();
        let status = |mut run: Child| run.wait().unwrap().code();
        let through: Vec<bool> = runs.into_iter().map(|run| status(run) == Some(0)).collect();
        assert!(through.contains(&true));
        for (name, is_through) in names.iter().zip(&through) {
            let out = fs::read_to_string(dir.0.path().join(format!("{name}.out"))).unwrap();
            let expected = if *is_through { list(name) } else { "old".to_string() };
            assert!(out == expected, "{round} {name} {through:?}: {} bytes", out.len());
            fs::copy(dir.0.path().join("seen"), dir.0.path().join("copy")).unwrap();
            let rest = dir.run(&format!("-q --seen copy {name}")).exits(0).out();
            let expected = if *is_through { String::new() } else { list(name) };
            assert!(rest == expected, "{round} {name} {through:?}: {} bytes", rest.len());
        }
        fs::remove_file(dir.0.path().join("seen")).unwrap();
        fs::remove_file(dir.0.path().join("copy")).unwrap();
        assert_eq!(dir.names().len(), 8, "nothing is left: {:?}", dir.names());
    }
}
