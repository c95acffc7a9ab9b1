//! Tests of objects on lines: where their parts are found, and which format they are.

use super::*;
use crate::bytes::show;
use crate::record::Fields;
use crate::record::formats::samples;

fn url(format: &dyn LineFormat, line: &str) -> String {
    let mut found = Found::default();
    match format.parse(line.as_bytes(), &mut found) {
        Parsed::Record => {
            let parts = [found.scheme, found.host, found.port, found.target, found.query];
            let text = |part: &[u8]| show(found.escapes.undo(part, &mut Vec::new())).to_string();
            parts.map(text).join("|").trim_start_matches('|').trim_end_matches('|').to_string()
        }
        Parsed::Comment => "comment".to_string(),
        Parsed::Reject(kind) => kind.to_string(),
    }
}

#[test]
fn usual_places() {
    let format = Json::usual("jsonl");
    for (line, expected) in [
        (r#"{"url":"http://a.test/"}"#, "http://a.test/"),
        (r#"{"url":"http:\/\/a.test\/\u00e9"}"#, "http://a.test/\u{e9}"),
        (r#"{"link":"http://b.test/","uri":"/c","url":"/d"}"#, "/d"),
        (r#"{"uri":"/c","args":"x=1","host":"a.test"}"#, "a.test||/c|x=1"),
        (r#"{"uri":"/c?x=1","args":"x=1","host":"a.test"}"#, "a.test||/c?x=1"),
        (r#"{"uri":"/c","query":"?x=1","host":"a.test"}"#, "a.test||/c|x=1"),
        (
            r#"{"request":"GET /a?b HTTP/1.1","uri":"/i.php","scheme":"https","host":"h"}"#,
            "https|h||/a?b",
        ),
        (r#"{"request":"GET /a HTTP/1.1","uri":"http://a.test/"}"#, "http://a.test/"),
        (
            r#"{"request_uri":"/a","server_name":"s","http_host":"h:81","server_port":"80"}"#,
            "h:81||/a",
        ),
        (r#"{"request_uri":"/a","server_name":"s","server_port":8080}"#, "s|8080|/a"),
        // nginx's name for a server that answers to any.
        (r#"{"request_uri":"/a","server_name":"_"}"#, "/a"),
        (r#"{"request":{"host":"h","uri":"/a","tls":{"version":771}}}"#, "https|h||/a"),
        (r#"{"request":{"host":"h","uri":"/a","tls":null}}"#, "h||/a"),
        (r#"{"href":"http://a.test/"}"#, "http://a.test/"),
        // ECS, nested and not.
        (
            r#"{"url":{"original":"/a","domain":"h","scheme":"https","port":444},"host":"pod"}"#,
            "https|h|444|/a",
        ),
        (r#"{"url":{"original":"/a","full":"https://h/a"}}"#, "https://h/a"),
        (r#"{"url.original":"/a","url.domain":"h","url.scheme":"https"}"#, "https|h||/a"),
        // Pino, Vercel, and Azure Front Door.
        (r#"{"hostname":"pod","req":{"method":"GET","url":"/a","headers":{"host":"h"}}}"#, "h||/a"),
        (
            r#"{"host":"h.vercel.app","path":"/i","proxy":{"scheme":"https","host":"h","path":"/a"}}"#,
            "https|h||/a",
        ),
        (
            r#"{"properties":{"requestUri":"https://h:443/a","httpStatusCode":"200"}}"#,
            "https://h:443/a",
        ),
        // Envoy, and Amazon's API Gateway.
        (r#"{"authority":"h","path":"/a?b","response_code":200}"#, "h||/a?b"),
        (r#"{"domainName":"h","path":"/a"}"#, "h||/a"),
        // Apache's `%U` and `%q`.
        (r#"{"request":"/a","query":"?q=a","host":"h"}"#, "h||/a|q=a"),
        (r#"{"request":"/a","query":"","host":"h","uri":"/i.php"}"#, "h||/a"),
        (r#"{"request":"/a","uri":"http://h/b","query":"q=a"}"#, "http://h/b|q=a"),
        (r#"{"request":"http://h/a","uri":"/b","query":"q=a"}"#, "http://h/a|q=a"),
        (r#"{"request":"/a","url":"/b","query":"q=a"}"#, "/b|q=a"),
        // Queries that stand apart.
        (r#"{"vhost":"h","path":"/a","request_query":"q=a"}"#, "h||/a|q=a"),
        (r#"{"host":"h","url":"/a","query":"?q=a"}"#, "h||/a|q=a"),
        (r#"{"host":"h","request_uri":"/a","args":"q=a"}"#, "h||/a|q=a"),
        (r#"{"host":"h","request_uri":"/a?q=a","args":"q=a"}"#, "h||/a?q=a"),
        (r#"{"host":"h","request_uri":"/a#b","args":"q=a"}"#, "h||/a#b"),
        (r#"{"request_uri":"/a","args":""}"#, "/a"),
        (r#"{"request":"GET /a HTTP/1.1","args":"q=a"}"#, "/a"),
        (r#"{"url":"https://h/a","query_string":"7"}"#, "https://h/a|7"),
        (r#"{"url":"https://h/a","query":"q=a"}"#, "https://h/a|q=a"),
        // What ships lines of a log, and what does not.
        (r#"{"host":"h","path":"/a.log","message":"\"GET /b HTTP/1.1\" 200"}"#, "no-url"),
        (r#"{"host":"h","path":"/a","message":"\"GET /b HTTP/1.1\" 200"}"#, "h||/a"),
        (r#"{"host":"h","path":"/a.log","message":"ok"}"#, "h||/a.log"),
        // Words that somebody has searched for.
        (r#"{"url":"https://h/a","query":"red shoes"}"#, "https://h/a"),
        (r#"{"url":"https://h/a","query":"shoes"}"#, "https://h/a"),
        (r#"{"page":"https://h/a","query":"a=b"}"#, "https://h/a"),
        // AWS, Akamai, Vercel, Katana.
        (r#"{"httpRequest":{"uri":"/a","args":"q=a","httpMethod":"GET"}}"#, "/a|q=a"),
        (r#"{"reqHost":"h","reqPath":"/a","queryStr":"q=a"}"#, "h||/a|q=a"),
        (r#"{"host":"h","path":"/[id]","proxy":{"path":"/a?q=a"}}"#, "h||/a?q=a"),
        (r#"{"request":{"method":"GET","endpoint":"http://h/a"}}"#, "http://h/a"),
        (r#"{"request":"/a b","host":"h"}"#, "bad-request"),
        (r#"{"uri":"/go/http://b.test/","args":"q=a"}"#, "/go/http://b.test/|q=a"),
        (r#"{"uri":"http://h/a#b","args":"q=a"}"#, "http://h/a#b"),
        (r#"{"url":"-","loc":"http://a.test/"}"#, "http://a.test/"),
        (
            r#"{"cs-protocol":"https","x-host-header":"h","cs-uri-stem":"/a","cs-uri-query":"b=1"}"#,
            "https|h||/a|b=1",
        ),
        (r#"{"url":null}"#, "no-url"),
        (r#"{"url":5}"#, "no-url"),
        (r#"{"x":{"url":"http://a.test/"}}"#, "no-url"),
        ("{}", "no-url"),
        ("[]", "no-url"),
        (r#"{"request":"","host":"a.test"}"#, "no-request"),
        (r#"{"request":"-"}"#, "no-request"),
        (r#"{"request":"-","uri":"/a"}"#, "/a"),
        (r#"{"request":"\u0016\u0003\u0001"}"#, "bad-request"),
        (r#"{"request":"OPTIONS * HTTP/1.0"}"#, "*"),
        (r#"{"request":{"method":"CONNECT","uri":"a.test:443"}}"#, "no-page"),
        (r#"{"request":{"method":"PRI","uri":"*"}}"#, "bad-request"),
        ("http://a.test/", "not-format"),
        (r#"{"url":"http://a.test/""#, "not-format"),
        ("", "not-format"),
    ] {
        assert_eq!(url(&format, line), expected, "{line}");
    }
}

#[test]
fn a_date_and_a_time_of_day_are_one_moment() {
    let format = Json::usual("jsonl");
    for (line, expected) in [
        (r#"{"url":"/","date":"2024-11-14","time":"22:43:21"}"#, ("2024-11-14", "22:43:21")),
        (r#"{"url":"/","date":"2024-11-14"}"#, ("2024-11-14", "")),
        (r#"{"url":"/","date":"x","ts":1438854186.5}"#, ("1438854186.5", "")),
        (r#"{"url":"/","time":"22:43:21"}"#, ("22:43:21", "")),
        // How long something took is no moment.
        (r#"{"url":"/","time":"120ms","timestamp":"2024-11-14"}"#, ("2024-11-14", "")),
        (r#"{"url":"/","time":0.123,"timestamp":"2024-11-14"}"#, ("2024-11-14", "")),
        (r#"{"url":"/","time":1438854186,"timestamp":"x"}"#, ("1438854186", "")),
    ] {
        let mut found = Found::default();
        assert_eq!(format.parse(line.as_bytes(), &mut found), Parsed::Record);
        let Fields { time, clock, .. } = found.fields;
        assert_eq!((time, clock), (expected.0.as_bytes(), expected.1.as_bytes()), "{line}");
    }
}

#[test]
fn fields() {
    let line = br#"{"ts":1438854186.5,"request":{"method":"GET","host":"h","uri":"/",
        "headers":{"User-Agent":["A\"1"],"Referer":["http://r.test/"]}},"size":124,
        "status":301,"resp_headers":{"Content-Type":["text/html"],"Location":["/b"]}}"#;
    let mut found = Found::default();
    let format = recognize_caddy(&[line]).unwrap();
    assert_eq!((format.name(), format.parse(line, &mut found)), ("caddy", Parsed::Record));
    let fields = found.fields;
    assert_eq!((fields.status, fields.size), (&b"301"[..], &b"124"[..]));
    assert_eq!((fields.method, fields.mime), (&b"GET"[..], &b"text/html"[..]));
    assert_eq!((fields.referrer, fields.redirect), (&b"http://r.test/"[..], &b"/b"[..]));
    assert_eq!(fields.escapes.undo(fields.agent, &mut Vec::new()), b"A\"1");
    assert_eq!(crate::record::fields::time::parse(fields.time, b""), Some(1_438_854_186));
    let format = Json::usual("jsonl");
    for (line, status, time) in [
        // Envoy.
        (r#"{"start_time":"2001-09-09T01:46:40.5Z","response_code":404}"#, "404", true),
        // API Gateway.
        (r#"{"requestTime":"09/Sep/2001:01:46:40 +0000","status":"404"}"#, "404", true),
        // Fastly.
        (r#"{"response_status":404,"status":"ok"}"#, "404", false),
        (r#"{"http_status":404}"#, "404", false),
        (r#"{"http_status_code":404}"#, "404", false),
        (r#"{"http_code":404}"#, "404", false),
    ] {
        let mut found = Found::default();
        let line = line.replacen('{', r#"{"path":"/a","#, 1);
        assert_eq!(format.parse(line.as_bytes(), &mut found), Parsed::Record);
        assert_eq!(found.fields.status, status.as_bytes(), "{line}");
        let seen = crate::record::fields::time::parse(found.fields.time, b"");
        assert_eq!(seen, time.then_some(1_000_000_000), "{line}");
    }
    // Traefik.
    let line = br#"{"RequestPath":"/","request_User-Agent":"A","request_Referer":"http://r/"}"#;
    let mut found = Found::default();
    format.parse(line, &mut found);
    assert_eq!((found.fields.agent, found.fields.referrer), (&b"A"[..], &b"http://r/"[..]));
}

#[test]
fn told_places() {
    let told = |text: &str| Json::with_fields(&FieldMap::parse(text).unwrap());
    for (text, line, expected) in [
        ("/a/b", r#"{"a":{"b":"http://x.test/"},"url":"http://y.test/"}"#, "http://x.test/"),
        ("/a/1", r#"{"a":["p","q"]}"#, "q"),
        ("b", r#"{"b":"http://x.test/"}"#, "http://x.test/"),
        ("a/b", r#"{"a/b":"http://x.test/"}"#, "http://x.test/"),
        ("/a~1b/~0", r#"{"a/b":{"~":"http://x.test/"}}"#, "http://x.test/"),
        ("url=p,host=q", r#"{"p":"/x","q":"h","host":"i"}"#, "h||/x"),
        ("url=p,query=q", r#"{"p":"/x","q":"?a=1","query":"b"}"#, "/x|a=1"),
        ("url=p,query=q", r#"{"p":"/x?b","q":"a=1"}"#, "/x?b"),
        ("url=p", r#"{"p":"/x","query":"a=1"}"#, "/x|a=1"),
        ("url=p", r#"{"p":"http://a.test/x","args":"a=1"}"#, "http://a.test/x"),
        ("query=q", r#"{"uri":"/x","q":"a=1","query":"b"}"#, "/x|a=1"),
        ("query=q", r#"{"url":"http://a.test/x","q":"a=1"}"#, "http://a.test/x|a=1"),
        ("query=q", r#"{"loc":"http://a.test/x#y","q":"a=1"}"#, "http://a.test/x#y"),
        ("p", r#"{"url":"http://y.test/","request":"GET / HTTP/1.1"}"#, "no-url"),
    ] {
        assert_eq!(url(&told(text).unwrap(), line), expected, "{text}: {line}");
    }
    assert!(told(&"/a".repeat(17)).unwrap_err().is_config());
    assert_eq!(told("url=/a/b,size=n").unwrap().described_by(&[]).describe(), "url /a/b, size /n");
}

#[test]
fn strings_alone() {
    let recognized = |lines: &[&str]| {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        recognize(&lines).is_some()
    };
    let line = r#""http://a.test/\u0026""#;
    assert!(recognized(&[line]) && recognized(&[line, line, "\"b\""]));
    assert!(!recognized(&[line, "http://b.test/", "http://c.test/"]));
    assert!(!recognized(&["\"url\"", "\"/a\""]), "a table");
    assert!(!recognized(&["\"http://a.test/\",\"b\""]), "a table");
    let json = Json::strings_of(&[line.as_bytes()]).unwrap();
    assert_eq!(url(&json, line), "http://a.test/&");
    assert_eq!(url(&json, "\"\""), "no-url");
    assert_eq!(url(&json, r#"["http://a.test/"]"#), "no-url");
}

#[test]
fn places_that_a_file_has() {
    let json = Json::usual("jsonl");
    for (lines, expected) in [
        (&[r#"{"url":"http://a.test/","status":200}"#][..], "url /url, status /status"),
        // Where the URL comes from, not all places that might have had it.
        (
            &[r#"{"request":"GET /a HTTP/1.1","uri":"/i.php","http_host":"h","host":"i"}"#],
            "url /request, host /host",
        ),
        (&[r#"{"uri":"/a","args":"b=1","host":"-","query":"c=2"}"#], "url /uri, query /args"),
        // What most lines have.
        (
            &[r#"{"link":"/a"}"#, r#"{"href":"/b"}"#, r#"{"href":"/c"}"#, r#"{"loc":"-"}"#, "x"],
            "url /href",
        ),
        (&[r#"{"a":1}"#], ""),
        (&[], ""),
    ] {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(json.clone().described_by(&lines).describe(), expected, "{lines:?}");
    }
    let told = Json::with_fields(&FieldMap::parse("url=/p,digest=d").unwrap()).unwrap();
    let lines: [&[u8]; 1] = [br#"{"p":"/a","url":"/b","status":200}"#];
    assert_eq!(told.described_by(&lines).describe(), "url /p, digest /d, status /status");
}

#[test]
fn names() {
    for (line, expected) in [
        (r#"{"request":{"uri":"/"}}"#, Some("caddy")),
        (r#"{"request":"GET / HTTP/1.1"}"#, Some("nginx-json")),
        (r#"{"request_uri":"/","body_bytes_sent":1}"#, Some("nginx-json")),
        (r#"{"url":"http://a.test/"}"#, Some("jsonl")),
        (r#"{"x":1}"#, None),
        ("http://a.test/", None),
    ] {
        let all = [recognize_caddy, recognize_nginx, recognize];
        let format = all.iter().find_map(|recognize| recognize(&[line.as_bytes()]));
        assert_eq!(format.as_ref().map(|format| format.name()), expected, "{line}");
    }
}

#[test]
fn the_samples() {
    let urls = samples::sample_urls(&samples::sample("caddy.jsonl"), recognize_caddy);
    assert_eq!(
        urls,
        [
            "GET https://www.a.test /index.html ? 200",
            "GET https://www.a.test /search?q=red+shoes&page=2 ? 200",
            "GET https://www.a.test /search?page=2&q=red+shoes ? 200",
            "POST https://www.a.test /login ? 302",
        ]
    );
    let urls = samples::sample_urls(&samples::sample("pages.jsonl"), recognize);
    assert_eq!(
        urls,
        [
            "http://example.org/ ? 200",
            "http://example.org/\u{e4}rger ? 200",
            "http://example.org/%C3%A4rger ? 200",
        ]
    );
}
