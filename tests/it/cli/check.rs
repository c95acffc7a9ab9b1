//! `--check`: is there a duplicate?

use super::*;

#[test]
fn check_answers_by_exit_status() {
    let dir = Dir::with_list();
    let run = dir.run("--check in.txt").exits(1).says("line 2 is a duplicate");
    assert!(run.out.is_empty());
    let run = dir.run("--check -q in.txt").exits(1);
    assert!(run.out.is_empty() && run.err.is_empty(), "{}", run.told());
    dir.feed("--check", b"http://a.test/\n\n\nhttp://b.test/\n").gives("");
    // Nothing was compared, which nobody should take for "no duplicate".
    let twice = b"http://a.test/\nhttp://a.test/\n";
    dir.feed("--check -f combined", twice)
        .fails("--format combined: expected records of that kind");
    dir.feed("--check --include b.test", twice).exits(0).says("nothing is left");
    dir.feed("--check -v --disable fragment", b"http://a.test/\n").exits(0).says("1 unique, 0 dup");
    dir.feed("--check", b"http://a.test/\n\n\nhttp://a.test/\n").exits(1).says("line 4");
    // Of a row, the URL alone.
    dir.put("rows.csv", "url,name\r\nhttp://a.test/,x\r\nhttp://a.test/,y\r\n");
    for memory in ["", "-S 8M --threads 1"] {
        let run = dir.run(&format!("--check {memory} rows.csv")).exits(1);
        assert!(run.words().ends_with("line 3 is a duplicate: http://a.test/\n"), "{}", run.told());
    }
    // It stands before the damage; with little memory it waits for the end of what can be read.
    let unique: String = (0..250_000).map(|n| format!("http://a.test/{n}\n")).collect();
    let rest: String = (0..60_000).map(|n| format!("http://b.test/{n}\n")).collect();
    let packed = zstd(format!("{unique}http://a.test/7\n{rest}").as_bytes());
    dir.put("cut.zst", &packed[..packed.len() - packed.len() / 10]);
    for options in ["", "-S 8M -j1"] {
        dir.run(&format!("--check {options} cut.zst")).exits(1).says("line 250001 is a duplicate");
    }
    let packed = zstd(unique.as_bytes());
    dir.put("cut.zst", &packed[..packed.len() / 2]);
    dir.run("--check cut.zst").exits(2).says("cut.zst");
    dir.run("--check -p lines in.txt").gives("");
    for flags in ["--rejects x", "--to tsv", "--excel", "--to csv --excel"] {
        dir.run(&format!("--check {flags} in.txt")).fails("cannot be used with");
        assert!(!dir.path("x").exists(), "{flags}");
    }
    dir.run("--check missing.txt").fails("missing.txt");
    dir.put("more.txt", "http://c.test/\nhttp://A.test/\n");
    dir.run("dedup -p lines --check in.txt more.txt").gives("");
    dir.feed("--check - more.txt", b"http://a.test/\n").exits(1).says("more.txt, line 2 is");
}
