//! Tables: what is found in their headers and cells, and what users tell of them.

use super::*;

fn cells(line: &str) -> Vec<Vec<u8>> {
    line.split(',').map(|cell| cell.as_bytes().to_vec()).collect()
}

fn recognized(lines: &[&str]) -> Option<String> {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
    Table::recognize(&lines, split).map(|table| table.describe())
}

#[test]
fn headers() {
    for (header, expected) in [
        ("url,status,x", Some("url 1, status 2")),
        ("#url,timestamp,bytes,payload_sha1_b32", Some("url 1, time 2, size 3, digest 4")),
        ("Top pages,Clicks", Some("url 1")),
        ("link,url", Some("url 2")),
        (
            "Address,Content Type,Status Code,Size (bytes),Redirect URL",
            Some("url 1, mime 2, status 3, size 4, redirect 5"),
        ),
        // The text beside the code is no status.
        (
            "Address,Content Type,Status Code,Status,Crawl Timestamp",
            Some("url 1, mime 2, status 3, time 5"),
        ),
        ("URL,Status,HTTP Status Code", Some("url 1, status 3")),
        ("#old_url,new_url,status,file", Some("url 1, redirect 2, status 3")),
        ("site,host", None),
    ] {
        assert_eq!(recognized(&[header, "x,y,z"]).as_deref(), expected, "{header}");
    }
    assert_eq!(recognized(&["report", "", "x,url", "1,2"]).as_deref(), Some("url 2"));
}

#[test]
fn lines_above_the_header() {
    let about = ["# ----", "# Pages", "Site,www.a.test", "https://a.test/ of June", "# ----"];
    for (above, header, is_found, comments) in [
        (vec!["# ----"; 30], "Full page URL,Views", true, 30),
        (vec!["From", "To"], "Page path and screen class,Views", true, 2),
        (about.to_vec(), "Landing page + query string,Views", true, 4),
        // They are rows.
        (vec!["https://a.test/1,2", "a.com/1,2"], "url,x", true, 0),
        (vec!["https://a.test/1,2"; 5], "url,x", true, 0),
        (vec!["https://a.test/1,2"; 6], "url,x", false, 0),
        (vec!["a.com/1,2"; 6], "url,x", false, 0),
        (vec!["a"; 6], "no,name", false, 0),
        (vec!["Pfad,n", "a.html,1", "b/c.html,2"], "page,9", false, 0),
        (vec!["Pfad,n", "a.html,1", "links,3"], "links,9", false, 0),
    ] {
        let lines: Vec<&[u8]> = above.iter().copied().chain([header]).map(str::as_bytes).collect();
        let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
        let table = Table::recognize(&lines, split).filter(|table| table.header.is_some());
        assert_eq!(table.is_some(), is_found, "{above:?}");
        let is_comment = |line: &&&[u8]| table.as_ref().is_some_and(|one| one.is_comment(line));
        let found = lines[..above.len()].iter().filter(is_comment).count();
        assert_eq!(found, comments, "{above:?}");
    }
}

#[test]
fn names_whose_cells_are_no_urls() {
    let inlinks = "Type,Source,Destination,Size,Status Code,Follow,Target";
    for (lines, expected) in [
        (&["Page,Title,Link", "1.5,a,http://a.test/", "2,b,/b"][..], Some("url 3")),
        (&["Page,Title,Adresse", "1,a,http://a.test/", "2,b,http://a.test/b"], Some("url 3")),
        (&["Page,Link", "/a,http://a.test/"], Some("url 1")),
        (&["page,n", "index.html,1", "a.html,2"], Some("url 1")),
        (&["page,image", "index.html,http://a.test/i"], Some("url 1")),
        (&["url,link", ",http://a.test/", "-,http://a.test/b", ",/c"], Some("url 2")),
        (
            &[inlinks, "Hyperlink,http://a.test/,http://a.test/b,9,200,true,_blank"],
            Some("url 3, size 4, status 5"),
        ),
        (&["source,medium", "google.com,organic"], Some("url 1")),
        (&["source,medium", "google,organic"], None),
        (&["source,seite,x", "google,http://a.test/,1", "bing,http://a.test/b,1"], Some("url 2")),
    ] {
        assert_eq!(recognized(lines).as_deref(), expected, "{lines:?}");
    }
}

#[test]
fn several_columns_of_urls() {
    let row = "http://a.test/,http://b.test/,200";
    for (header, expected) in [
        ("Target URL,Source URL,n", &["Source URL", "Target URL"][..]),
        ("Referring page URL,Target URL,n", &["Target URL", "Referring page URL"]),
        // These mean something of their own.
        ("url,redirect_url,status", &[]),
        ("url,referrer,status", &[]),
        ("url,canonical_url,status", &[]),
        ("url,other,status", &[]),
        ("url,x,page", &[]),
    ] {
        let lines = [header.as_bytes(), row.as_bytes()];
        let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
        let table = Table::recognize(&lines, split).unwrap();
        let expected: Vec<Vec<u8>> = expected.iter().map(|name| name.as_bytes().to_vec()).collect();
        assert_eq!(table.url_names(), expected, "{header}");
    }
}

#[test]
fn columns_of_urls() {
    let row = "1,http://a.test/,x";
    for (lines, expected) in [
        (&[row, row][..], Some("url 2")),
        (&["id,where,status", row, row], Some("url 2, status 3")),
        (&["id,request.url,status", row, row], Some("url 2, status 3")),
        (&["1,example.com,x", row, row], Some("url 2")),
        (&["1,http://a.test/,http://b.test/"], None),
        (&["http://a.test/", "http://b.test/"], None),
        (&["a,b,c", "a,b,c"], None),
    ] {
        assert_eq!(recognized(lines).as_deref(), expected, "{lines:?}");
    }
}

#[test]
fn a_first_row_is_no_header_if_it_has_a_short_url() {
    let row = "1,http://a.test/,x";
    for (first, is_header) in [
        ("id,where,status", true),
        ("id,Landing page,status", true),
        ("id,Landing/page,x", true),
        ("id,og:url,x", true),
        ("id,item.link,x", true),
        ("id,example.com,status", true),
        ("0,EXAMPLE.com?x=1,x", false),
        ("0,192.168.0.1,x", false),
        ("0,[::1],x", false),
        ("0,www.example.com/start,x", false),
        ("0,example.com,x", false),
        ("0,dns:www.example.com,x", false),
        ("0,//a.test/,x", false),
        ("0,/a,x", false),
    ] {
        let lines = [first.as_bytes(), row.as_bytes(), row.as_bytes()];
        let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
        let table = Table::recognize(&lines, split).unwrap();
        assert_eq!(table.is_comment(first.as_bytes()), is_header, "{first}");
    }
}

/// The table of `lines` with the columns of `text`.
fn told(lines: &[&str], text: &str) -> Result<Table> {
    let map = FieldMap::parse(text).unwrap();
    let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    Table::with_fields(&FirstRow::find(&lines, split, &map), &map)
}

#[test]
fn told_columns() {
    for (header, text, expected, is_header) in [
        ("id,Seite,Status", "Seite", "url 2, status 3", true),
        ("id,Seite,Status", "seite", "url 2, status 3", true),
        ("id,Seite,Status", "2", "url 2, status 3", true),
        ("id,Seite,url", "url=2,status=1", "status 1, url 2", true),
        ("1,http://a.test/,200", "2", "url 2", false),
        ("1,/a,200", "url=2,status=3", "url 2, status 3", false),
        ("url,x", "digest=x", "url 1, digest 2", true),
        ("url,x,y", "url=1,query=y", "url 1, query 3", true),
        ("url,query_string", "query=1,url=2", "query 1, url 2", true),
        ("url,date,time", "url", "url 1, date 2, time 3", true),
        ("url,date,time", "time=time", "url 1, time 3", true),
        ("url,day,time", "time=time,date=day", "url 1, date 2, time 3", true),
    ] {
        let table = told(&[header], text).unwrap();
        assert_eq!(table.describe(), expected, "{header} {text}");
        assert_eq!(table.is_comment(header.as_bytes()), is_header, "{header} {text}");
    }
    for (text, expected) in [
        ("4", "--field url=4: there is no such column; the columns are 1 \"id\", 2 \"x\""),
        ("page", "--field url=page: there is no such column"),
        ("digest=x", "no column is known to have URLs; the columns are 1 \"id\", 2 \"x\""),
        ("digest=x", "as in --field url=COLUMN,digest=x"),
    ] {
        let error = told(&["id,x"], text).unwrap_err();
        assert!(error.is_config() && error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_column_of_urls_that_nobody_names() {
    let inlinks = "Type,Source,Destination,Target";
    for (lines, text, expected, has_header) in [
        (
            &["Adresse,Statuscode,Hash", "http://a.test/,200,A"][..],
            "status=Statuscode",
            "url 1, status 2, digest 3",
            true,
        ),
        (&["Nr,Statuscode,Adresse", "1,200,http://a.test/"], "status=2", "status 2, url 3", true),
        (&["200,http://a.test/", "301,http://a.test/b"], "status=1", "status 1, url 2", false),
        (
            &[inlinks, "Link,http://a.test/,http://b.test/,_blank"],
            "mime=Type",
            "mime 1, url 3",
            true,
        ),
        (&["page,n", "index,1"], "size=n", "url 1, size 2", true),
    ] {
        let table = told(lines, text).unwrap();
        assert_eq!(table.describe(), expected, "{lines:?} {text}");
        assert_eq!(table.is_comment(lines[0].as_bytes()), has_header, "{lines:?} {text}");
    }
    for (lines, text, expected) in [
        (&["Code,Hash,Pfad", "200,A,/a"][..], "status=Code", "as in --field url=3,status=Code"),
        (&["Code,Hash", "200,A"], "status=Code", "as in --field url=COLUMN,status=Code"),
        (
            &["a,b,c", "200,http://a.test/,http://b.test/"],
            "status=1",
            "as in --field url=2,status=1",
        ),
        // The chosen column is not one of URLs.
        (&["Ziel,n", "http://a.test/,1"], "redirect=Ziel", "url=COLUMN,redirect=Ziel"),
    ] {
        let error = told(lines, text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn widths() {
    for (lines, text, expected, is_uneven) in [
        (&["url,status", "1,http://a.test/,200"][..], "url", "url 2, status 3", false),
        (&["Seite,status", "1,http://a.test/,200"], "Seite", "url 2, status 3", false),
        (&["url,status", "1,http://a.test/,200"], "2", "url 2, status 3", false),
        (&["url,status", "http://a.test/,200,x"], "url", "url 1, status 2", true),
        (&["url,status", "http://a.test/,200,x"], "1", "url 1, status 2", false),
        (&["url,status", "http://a.test/,x,200"], "url=1,status=3", "url 1, status 3", false),
        (&["#fields,ts,uri,status_code", "1,/a,200"], "uri", "time 1, url 2, status 3", false),
        (&["#fields,ts,uri,status_code", "1,/a,200"], "2", "time 1, url 2, status 3", false),
    ] {
        let table = told(lines, text).unwrap();
        assert_eq!(table.describe(), expected, "{lines:?} {text}");
        assert_eq!(table.uneven().is_some(), is_uneven, "{lines:?} {text}");
    }
    for (lines, expected, is_uneven) in [
        (&["url,status", "1,http://a.test/,200"][..], "url 2, status 3", false),
        (&["#fields,ts,uri", "#types,time,string", "1,/a"], "time 1, url 2", false),
        (&["url,status", "http://a.test/,200,"], "url 1, status 2", false),
        (&["url,status", "http://a.test/,200,x"], "url 1, status 2", true),
        (&["url,status,x", "http://a.test/,200"], "url 1, status 2", true),
        (&["url,status", "http://a.test/,200,x", "http://a.test/b,200"], "url 1, status 2", false),
    ] {
        let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        let split = |line: &[u8]| Some(cells(std::str::from_utf8(line).unwrap()));
        let table = Table::recognize(&bytes, split).unwrap();
        assert_eq!(table.describe(), expected, "{lines:?}");
        assert_eq!(table.uneven().is_some(), is_uneven, "{lines:?}");
    }
    // W3C's own header is none of a table.
    assert_eq!(recognized(&["#Fields:,cs-uri-stem", "x,/a"]), None);
}
