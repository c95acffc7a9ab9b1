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

#[test]
fn queries_in_a_column_of_their_own() {
    let dir = Dir::new();
    let rows = "a.test,/s,q=1,200\na.test,/s,q=2,200\na.test,/s,?q=1,200\na.test,/c#,-,200\n";
    dir.put("log.csv", format!("host,uri,query_string,status\n{rows}"));
    let pages = "http://a.test/s?q=1\nhttp://a.test/s?q=2\nhttp://a.test/c%23\n";
    dir.run("log.csv").quiet().gives(pages);
    dir.put("log.tsv", format!("hostname\tpage_path\tquery\tn\n{}", rows.replace(',', "\t")));
    dir.run("log.tsv").quiet().gives(pages);
    // A name that nobody knows.
    dir.put("log.csv", format!("host;uri;Abfrage;status\n{}", rows.replace(',', ";")));
    dir.run("log.csv").gives("http://a.test/s\nhttp://a.test/c#\n");
    dir.run("--field query=Abfrage log.csv").quiet().gives(pages);
    dir.put("log.jsonl", "{\"uri\":\"/s\",\"Abfrage\":\"q=1\"}\n{\"uri\":\"/s\"}\n");
    dir.run("--field url=uri,query=Abfrage log.jsonl").exits(0);
    dir.run("-q --field query=Abfrage log.jsonl").gives("/s?q=1\n/s\n");
    // Athena's table of CloudFront's logs: the place is that of the server.
    dir.put(
        "athena.csv",
        "\"date\",\"time\",\"location\",\"method\",\"host\",\"uri\",\"status\",\"query_string\"\n\
         \"2026-11-20\",\"10:00:00\",\"FRA2\",\"GET\",\"a.test\",\"/s\",\"200\",\"q=1\"\n\
         \"2026-11-21\",\"10:00:00\",\"FRA2\",\"GET\",\"a.test\",\"/s\",\"200\",\"q=2\"\n",
    );
    let expected =
        "csv parted by commas; date 1, time 2, method 4, host 5, url 6, status 7, query 8";
    dir.run("-v athena.csv").exits(0).says(expected);
    dir.run("athena.csv").quiet().gives("http://a.test/s?q=1\nhttp://a.test/s?q=2\n");
    dir.run("--since 2026-11-21 athena.csv").quiet().gives("http://a.test/s?q=2\n");
    // What somebody has searched for is no part of a URL.
    dir.put(
        "console.csv",
        "page,query,clicks\nhttps://a.test/,red shoes,1\nhttps://a.test/,shoes,2\n",
    );
    dir.run("console.csv").quiet().gives("https://a.test/\n");
    dir.put("console.csv", "page,query,clicks\n/,red shoes,1\n/,shoes,2\n");
    dir.run("console.csv").gives("/\n");
}

#[test]
fn headers_of_another_width_than_rows() {
    let dir = Dir::new();
    let zeek = "#separator \\x09\n#set_separator\t,\n#path\thttp\n#open\t2026-11-20-10-00-00\n\
                #fields\tts\tmethod\thost\turi\treferrer\tstatus_code\n\
                #types\ttime\tstring\tstring\tstring\tstring\tcount\n\
                1700000000.1\tGET\ta.test\t/x\thttp://r.test/\t200\n\
                1700000001.2\tGET\ta.test\t/y\t-\t404\n\
                #close\t2026-11-20-11-00-00\n";
    dir.put("http.log", zeek);
    dir.run("http.log").quiet().gives("http://a.test/x\nhttp://a.test/y\n");
    dir.run("--field uri --status 404 http.log").quiet().gives("http://a.test/y\n");
    let comments = "7 headers and comments";
    dir.run("-v http.log")
        .exits(0)
        .says("time 1, method 2, host 3, url 4, referrer 5, status 6")
        .says(comments);
    // R's names of rows have no name.
    let r = "\"url\",\"status\"\n\"1\",\"http://a.test/x\",200\n\"2\",\"http://a.test/y\",404\n";
    for table in [r.to_string(), r.replace(',', "\t"), r.replace('"', "").replace(',', "\t")] {
        dir.put("r", table);
        dir.run("r").quiet().gives("http://a.test/x\nhttp://a.test/y\n");
        dir.run("--status 404 --field url r").quiet().gives("http://a.test/y\n");
    }
    let told = "uneven.csv: expected rows of 2 cells, as the header has, found 3 in the first row and 2 in none";
    dir.put("uneven.csv", "url,status\nhttp://a.test/x,b,200\nhttp://a.test/y,c,200\n");
    let run = dir.run("uneven.csv").exits(0).says(told);
    assert_eq!(run.out(), "http://a.test/x\nhttp://a.test/y\n");
    dir.run("--field url=1,status=3 --status 200 uneven.csv").quiet().exits(0);
    dir.put("even.csv", "url,status\nhttp://a.test/x,200,\nhttp://a.test/y,200,\n");
    dir.run("even.csv").quiet().exits(0);
}

#[test]
fn other_columns_named_alone() {
    let dir = Dir::new();
    dir.put("t.csv", "Adresse;Statuscode;Hash\nhttp://a.test/x;200;A\nhttp://a.test/y;404;B\n");
    dir.run("--field status=Statuscode --status 404 t.csv").quiet().gives("http://a.test/y\n");
    dir.run("--field digest=3,status=2 --status 404 t.csv").quiet().gives("http://a.test/y\n");
    dir.put("t.csv", "Pfad;Statuscode;Hash\n/x;200;A\n/y;404;B\n");
    dir.run("--field status=Statuscode t.csv").fails("as in --field url=1,status=Statuscode");
    dir.run("--field url=1,status=Statuscode --status 404 t.csv").gives("/y\n");
}
