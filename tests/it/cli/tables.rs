//! Tables on the command line: which columns are read, and what is said of them.

use super::Dir;

/// A table as Google Analytics writes it: something stands above the header.
const ANALYTICS: &str = "\
# ----------------------------------------
# Pages and screens
# Start date: 20261101
# ----------------------------------------

Page path and screen class,Views,Users
/,99,12
/shop,44,9
/shop/,40,8
";
/// A table as Screaming Frog writes it: something stands above the header.
const CRAWL: &str = "\
\"Internal - HTML\"
\"Address\",\"Content\",\"Status Code\"
\"https://a.test/\",\"text/html\",\"200\"
\"https://a.test/b?x=1,2\",\"text/html\",\"200\"
";

#[test]
fn columns_that_a_user_names_below_other_lines() {
    let dir = Dir::new();
    dir.put("ga4.csv", ANALYTICS);
    dir.put("crawl.csv", CRAWL);
    let pages = "https://www.a.test/\nhttps://www.a.test/shop\nhttps://www.a.test/shop/\n";
    dir.put("name", "Page path and screen class");
    for (flags, expected) in [
        ("-p lines --field 1 --base-url https://www.a.test ga4.csv", pages),
        ("--field Address crawl.csv", "https://a.test/\nhttps://a.test/b?x=1,2\n"),
        ("--field 1 crawl.csv", "https://a.test/\nhttps://a.test/b?x=1,2\n"),
        (
            "--field url=1,status=3 --status 200 crawl.csv",
            "https://a.test/\nhttps://a.test/b?x=1,2\n",
        ),
    ] {
        let run = dir.run(flags).exits(0);
        assert_eq!(run.out(), expected, "{flags}: {}", run.words());
    }
    let rows = "a 200 /x\nb 200 /y\n";
    dir.put("blanks", rows);
    for flags in ["--field 1 blanks", "-f tsv --field 1 blanks"] {
        dir.run(flags).fails("found one column, with blanks in most of its lines");
    }
    dir.run("-f csv blanks").fails("name the column of URLs, as in --field 1");
    dir.put("title", "All pages\nhttp://a.test/x,1\nhttp://a.test/y,1\n");
    dir.run("--field 1 title").fails("found other lines above the first row of 2 columns");
    // A column whose name says nothing, with commas in its URLs.
    dir.put("single", "All pages\nhttp://a.test/x,1\nhttp://a.test/y\n");
    dir.run("-q --field 1 single").gives("http://a.test/x,1\nhttp://a.test/y\n");
}

#[test]
fn what_was_written_as_a_table_is_read_back() {
    let dir = Dir::new();
    dir.put("q", "http://e.test/a\\b\nhttp://e.test/c\td\nhttp://e.test/?q=x\\y\n");
    dir.run("-f lines --to tsv -o k.tsv q").exits(0);
    assert_eq!(dir.run("-f lines --not-in k.tsv q").exits(0).out(), "");
}

#[test]
fn which_column_of_urls_is_read() {
    let dir = Dir::new();
    let table = |header: &str| format!("{header},n\nhttp://a.test/,http://b.test/,1\n");
    for (header, taken, told) in [
        (
            "Target URL,Source URL",
            "http://b.test/\n",
            "column \"Source URL\"; \"Target URL\" has some",
        ),
        (
            "Source url,Target url",
            "http://a.test/\n",
            "column \"Source url\"; \"Target url\" has some",
        ),
        (
            "Referring page URL,Target URL",
            "http://b.test/\n",
            "column \"Target URL\"; \"Referring page URL\" has some",
        ),
    ] {
        dir.put("links.csv", table(header));
        assert_eq!(dir.run("links.csv").exits(0).says(told).out(), taken, "{header}");
    }
    dir.run("--field 1 links.csv").quiet().gives("http://a.test/\n");
    dir.put("links.csv", table("url,redirect_url"));
    dir.run("links.csv").quiet();
    dir.put(
        "all_inlinks.csv",
        "Type,Source,Destination,Size,Alt Text,Anchor,Status Code,Status,Follow,Target\n\
         Hyperlink,http://a.test/,http://a.test/b,9,,x,200,OK,true,_blank\n",
    );
    for flags in ["all_inlinks.csv", "-f csv all_inlinks.csv"] {
        let run = dir.run(flags).exits(0).says("\"Destination\"; \"Source\" has some, too");
        assert_eq!(run.out(), "http://a.test/b\n");
    }
}

#[test]
fn statuses_and_times_that_are_not_understood() {
    let dir = Dir::new();
    dir.put("floats.csv", "url,status_code\nhttps://a.test/,200.0\nhttps://a.test/b,301 Moved\n");
    dir.run("--status 200 floats.csv").gives("https://a.test/\n");
    dir.run("--status 3xx floats.csv").gives("https://a.test/b\n");
    let rows = "https://a.test/,OK,20.11.2026 10:00\nhttps://a.test/b,OK,11/20/2026 10:00 AM\n";
    dir.put("texts.csv", format!("url,status,date\n{rows}"));
    let status = "column of status: expected three digits, such as 200, found something else in 2 of its \
                  first 2 values, as in \"OK\"";
    let time = "column of time: expected dates such as 2026-11-20T10:00:00Z, found something else in 2 of its \
                first 2 values, as in \"20.11.2026 10:00\"";
    dir.run("--status 200 texts.csv").exits(0).says(status);
    dir.run("--since 2026-11-01 texts.csv").exits(0).says(time);
    dir.run("report texts.csv").exits(0).says(status).says(time);
    // Nobody asks.
    dir.run("texts.csv").quiet();
}
