//! The bare form of the command, and its guards.

use super::*;

#[test]
fn the_bare_form_is_dedup() {
    let dir = Dir::with_list();
    for flags in ["", "-c", "-p aggressive --print canonical", "--keep last -j2"] {
        let dedup = dir.run(&format!("dedup {flags} in.txt")).quiet();
        dir.run(&format!("{flags} in.txt")).gives(&dedup.out);
    }
    dir.feed("", LIST.as_bytes()).gives(KEPT);
}

#[test]
fn slips_are_told() {
    let dir = Dir::with_list();
    dir.run("reprot in.txt")
        .fails("\"reprot\" is neither a command nor a file here")
        .says("did you mean undust report?");
    dir.run("genrate list").fails("did you mean undust generate?");
    let far = dir.run("zzzzzzzz in.txt").fails("neither a command nor a file here");
    assert!(!far.words().contains("did you mean"), "{}", far.told());
    for args in ["-j2 report in.txt", "-q explain http://a.test/", "--profile crawl rules list"] {
        dir.run(args).fails("is a command and comes first");
    }
}

#[test]
fn a_file_named_like_a_command_needs_a_dot() {
    let dir = Dir::new();
    dir.put("report", LIST);
    dir.run("-j2 report").fails("for a file of this name, write ./report");
    dir.run("./report").gives(KEPT);
    dir.run("dedup report").gives(KEPT);
    // Without a flag it is the command, whatever lies here.
    assert!(dir.feed("report", b"http://c.test/\n").quiet().out().starts_with("Duplicates in"));
}

#[test]
fn a_file_named_like_a_slip_is_a_file() {
    let dir = Dir::new();
    dir.put("reprot", LIST);
    dir.run("reprot").gives(KEPT);
}

#[test]
fn usage_errors_exit_with_2() {
    let dir = Dir::with_list();
    for args in ["--nonsense in.txt", "-d -u in.txt", "--keep middle in.txt", "rules", "explain"] {
        dir.run(args).fails("");
    }
    dir.run("--line-limit 0 in.txt").fails("--line-limit: expected 1 to").says(" bytes, found 0");
    for args in ["--help", "dedup --help", "--version", "help canon"] {
        assert!(!dir.run(args).quiet().out.is_empty());
    }
}
