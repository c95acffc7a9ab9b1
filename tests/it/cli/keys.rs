//! Keys for sorting, and those of indexes of web archives.

use super::*;

#[test]
fn keys_for_sorting() {
    let dir = Dir::with_list();
    let keys = "test,a)/\ntest,b)/?x=1\n";
    dir.run("--print surt in.txt").gives(keys);
    dir.run("canon --print surt in.txt").gives("test,a)/\ntest,a)/\ntest,b)/?x=1\ntest,b)/?x=1\n");
    dir.run("-c --print surt in.txt").gives("      2 test,a)/\n      2 test,b)/?x=1\n");
    dir.feed("--print surt", b"http://[bad.x\n/a.b\n").gives("http://[bad.x\n/a.b\n");
}

#[test]
fn keys_of_indexes_of_web_archives() {
    let dir = Dir::new();
    for (index, format) in [("captures.cdx", "cdx"), ("captures.cdxj", "cdxj")] {
        let text =
            fs::read_to_string(format!("{}/data/samples/{index}", env!("CARGO_MANIFEST_DIR")))
                .unwrap();
        let lines = text.lines().filter(|line| !line.starts_with(" CDX") && !line.starts_with('!'));
        let expected: String =
            lines.map(|line| line.split(' ').next().unwrap().to_owned() + "\n").collect();
        dir.put(index, text);
        let keys = dir.run(&format!("canon -f {format} --print urlkey {index}")).quiet().out();
        let keys: String =
            keys.lines().filter(|key| !key.is_empty()).map(|key| key.to_owned() + "\n").collect();
        assert_eq!(keys, expected);
    }
    // Whatever the profile takes for one page.
    let list =
        b"https://www.A.test/X/?utm_source=1&b=2#c\nhttp://a.test/x?B=2\nmailto:A@b.test\n/x\n";
    let keys = "test,a)/x?b=2&utm_source=1\ntest,a)/x?b=2\nmailto:A@b.test\n/x\n";
    for profile in ["lines", "crawl", "aggressive"] {
        dir.feed(&format!("canon -p {profile} --print urlkey"), list).gives(keys);
    }
    dir.feed("-p aggressive --print urlkey", b"http://a.test/X?b\nhttps://www.a.test/X/?b\n")
        .gives("test,a)/x?b\n");
    dir.feed("canon --default-scheme http --print urlkey", b"www.a.test:8080/X\n")
        .gives("test,a:8080)/x\n");
}
