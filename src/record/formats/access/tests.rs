//! What is found in lines of access logs.

use proptest::prelude::*;

use super::*;
use crate::bytes::show;
use crate::record::formats::samples::{check_hostile, sample, sample_urls};

/// What was found in `line`, in one string, without what is empty.
fn shown(access: &Access, line: &[u8]) -> String {
    let mut found = Found::default();
    match access.parse(line, &mut found) {
        Parsed::Record => {}
        Parsed::Comment => return "comment".to_string(),
        Parsed::Reject(reject) => return reject.to_string(),
    }
    assert_eq!(found.escapes, Escapes::Backslash);
    let fields = found.fields;
    [
        found.scheme,
        found.host,
        fields.method,
        found.target,
        fields.status,
        fields.size,
        fields.time,
        fields.referrer,
        fields.agent,
    ]
    .iter()
    .filter(|part| !part.is_empty())
    .map(|part| show(part).to_string())
    .collect::<Vec<_>>()
    .join("|")
}

const TIME: &str = "10/Oct/2000:13:55:36 -0700";

#[test]
fn lines() {
    let named =
        [("clf", Access::clf()), ("combined", Access::combined()), ("vhost", Access::vhost())];
    for (name, given, expected, why) in [
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" 200 12"#, "GET|/a|200|12|T", "as it is"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" 304 -"#, "GET|/a|304|T", "no size"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" - -"#, "GET|/a|T", "no status"),
        ("clf", r#"::1 - u [T] "GET /a HTTP/1.0" 200 1"#, "GET|/a|200|1|T", "IPv6"),
        ("clf", r#"[::1] - u [T] "GET / HTTP/1.0" 200 1"#, "GET|/|200|1|T", "IPv6 in brackets"),
        ("clf", r#"h i J. Doe [T] "GET / HTTP/1.0" 200 1"#, "GET|/|200|1|T", "a user with a blank"),
        ("clf", r#"h i [a] [b] [T] "GET / HTTP/1.0" 200 1"#, "GET|/|200|1|T", "with brackets"),
        ("clf", r#"h i a\"b [T] "GET / HTTP/1.0" 200 1"#, "GET|/|200|1|T", "with a quote"),
        ("clf", r#"h - - [T] "GET /\" HTTP/1.0" 200 1"#, r#"GET|/\\"|200|1|T"#, "an escaped quote"),
        (
            "clf",
            r#"h - - [T] "GET /" x" y HTTP/1.0" 200 1"#,
            r#"GET|/" x" y|200|1|T"#,
            "raw quotes",
        ),
        ("clf", r#"h - - [T] "GET /a" 200 1"#, "GET|/a|200|1|T", "HTTP/0.9"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" 200 1 "r" "a""#, "GET|/a|200|1|T", "more columns"),
        ("clf", r#"h - - [T] "-" 408 -"#, "no-request", "a client that hung up"),
        ("clf", r#"h - - [T] "" 400 0"#, "no-request", "by nginx"),
        ("clf", r#"h - - [T] "\x16\x03\x01" 400 0"#, "bad-request", "TLS"),
        ("clf", r#"h - - [T] "PRI * HTTP/2.0" 400 1"#, "bad-request", "the preface of HTTP/2"),
        ("clf", r#"h - - [T] "OPTIONS * HTTP/1.0" 200 1"#, "OPTIONS|*|200|1|T", "the server"),
        ("clf", r#"h - [T] "GET /a HTTP/1.0" 200 1"#, "not-format", "a word too few"),
        ("clf", r#"h - - "GET /a HTTP/1.0" 200 1"#, "not-format", "no time"),
        ("clf", r#"h - - [-] "GET /a HTTP/1.0" 200 1"#, "not-format", "a time without digits"),
        ("clf", r#"h - - [T] GET /a HTTP/1.0 200 1"#, "not-format", "no quotes"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" ok 1"#, "not-format", "no status"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" 200 1.5"#, "not-format", "no size"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0" 200"#, "not-format", "a column too few"),
        ("clf", r#"h - - [T] "GET /a HTTP/1.0"#, "not-format", "quotes without an end"),
        ("clf", "http://a.test/", "not-format", "a list"),
        ("clf", "", "not-format", "nothing"),
        (
            "combined",
            r#"h - - [T] "GET /a HTTP/1.1" 200 12 "http://r.test/\"" "A/1 (\"b\")""#,
            r#"GET|/a|200|12|T|http://r.test/\\"|A/1 (\\"b\\")"#,
            "as it is",
        ),
        ("combined", r#"h - - [T] "GET /a HTTP/1.1" 200 12 "-" "-""#, "GET|/a|200|12|T", "neither"),
        ("combined", r#"h - - [T] "GET /a HTTP/1.1" 200 1"#, "GET|/a|200|1|T", "a line of clf"),
        (
            "combined",
            r#"h - - [T] "GET /a HTTP/1.1" 200 12 "-" "A/1 (b"#,
            "GET|/a|200|12|T",
            "the end of the line is lost, its URL is not",
        ),
        (
            "vhost",
            r#"a.test:443 h - - [T] "GET /a HTTP/1.1" 200 12 "-" "A/1""#,
            "a.test:443|GET|/a|200|12|T|A/1",
            "a port",
        ),
        (
            "vhost",
            r#"a.test h - - [T] "GET /a HTTP/1.1" 200 1"#,
            "a.test|GET|/a|200|1|T",
            "no port",
        ),
        ("vhost", r#"- h - - [T] "GET /a HTTP/1.1" 200 1"#, "GET|/a|200|1|T", "no host"),
        ("vhost", r#"_ h - - [T] "GET /a HTTP/1.1" 200 1"#, "GET|/a|200|1|T", "a catch-all"),
        ("vhost", r#"_:80 h - - [T] "GET /a HTTP/1.1" 200 1"#, "GET|/a|200|1|T", "with a port"),
        ("vhost", r#"-:443 h - - [T] "GET /a HTTP/1.1" 200 1"#, "GET|/a|200|1|T", "the same"),
        ("vhost", r#"h - - [T] "GET /a HTTP/1.1" 200 1"#, "not-format", "the host is missing"),
    ] {
        let access = &named.iter().find(|(one, _)| *one == name).unwrap().1;
        let (given, expected) = (
            given.replace("[T]", &format!("[{TIME}]")),
            expected.replace("|T", &format!("|{TIME}")),
        );
        assert_eq!(shown(access, given.as_bytes()), expected, "{given}: {why}");
    }
}

#[test]
fn times() {
    for (time, why) in [
        (TIME, "CLF"),
        ("2000-10-10T13:55:36-07:00", "ISO 8601"),
        ("971211336.123", "seconds with a fraction"),
        ("10/Oct/2000:13:55:36.123 -0700", "CLF with a fraction"),
    ] {
        let line = format!(r#"h - - [{time}] "GET / HTTP/1.1" 200 1"#);
        let expected = format!("GET|/|200|1|{time}");
        assert_eq!(shown(&Access::clf(), line.as_bytes()), expected, "{why}");
    }
}

fn sample_of(lines: &[&str]) -> Option<Access> {
    let lines: Vec<String> =
        lines.iter().map(|line| line.replace("[T]", &format!("[{TIME}]"))).collect();
    let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
    infer::infer(&lines)
}

#[test]
fn bytes_received_and_sent() {
    let back = r#""GET /a HTTP/1.1" 200 - 5 1234 12 11 "192.0.2.1" "curl/8""#;
    let nginx = r#""GET /a HTTP/1.1" 200 1234 12 11 "-" "curl/8""#;
    for (time, back, expected, why) in [
        ("2026-03-02T08:00:01.123Z", back, "1234", "Envoy"),
        ("2026-03-02T08:00:01Z", nginx, "1234", "the size follows the status"),
        (TIME, back, "5", "another's"),
    ] {
        let line = format!("[{time}] {back}");
        let access = sample_of(&[&line]).expect("it is an access log");
        let mut found = Found::default();
        assert_eq!(access.parse(line.as_bytes(), &mut found), Parsed::Record);
        assert_eq!(show(found.fields.size).to_string(), expected, "{why}");
    }
}

#[test]
fn two_blanks_in_the_date_of_syslog() {
    let lines = ["Oct 31", "Nov  1"]
        .map(|day| format!(r#"{day} 08:00:01 lb envoy[1]: [T] "GET /a HTTP/1.1" 200 - 0 1"#));
    let access = sample_of(&[&lines[0]]).expect("it is an access log");
    for line in lines {
        let line = line.replace("[T]", &format!("[{TIME}]"));
        assert_eq!(access.parse(line.as_bytes(), &mut Found::default()), Parsed::Record, "{line}");
    }
}

#[test]
fn names() {
    for (lines, expected, why) in [
        (&[r#"h - - [T] "GET /a HTTP/1.0" 200 12"#][..], "clf", "one line"),
        (
            &[r#"h - - [T] "GET /a HTTP/1.0" 200 1 "-" "-""#],
            "combined",
            "two quotes that say nothing",
        ),
        (
            &[r#"h - - [T] "GET /a HTTP/1.0" 200 1 "http://b.test/" "A/1""#],
            "combined",
            "referrer and agent",
        ),
        (
            &[r#"h - - [T] "GET / HTTP/1.0" 200 1 "-" "app 5""#],
            "combined",
            "an agent without a version",
        ),
        (
            &[r#"a.test:80 10.0.0.1 - - [T] "GET / HTTP/1.0" 200 1 "-" "A/1""#],
            "vhost",
            "a host with its port",
        ),
        (&[r#"a.test 10.0.0.1 - - [T] "GET / HTTP/1.0" 200 1"#], "vhost", "a host"),
        (&[r#"c.test - J. Doe [T] "GET / HTTP/1.0" 200 1"#], "clf", "the client has a name"),
        (&[r#"h - - [T] "-" 408 0 "-" "-""#], "combined", "nobody has asked for anything yet"),
        (
            &[r#"h - - [T] "GET /a HTTP/1.0" 200 1 "-" "A/1" 0.027"#],
            "combined",
            "what follows is not wanted",
        ),
        (&[r#"h - - [T] "GET /a HTTP/1.0" 200 1"#, "x", "h - - [T]"], "", "too few of the lines"),
        (&[r#"h - - [T] "PRI * HTTP/2.0" 400 0"#], "clf", "nobody has spoken HTTP/1 yet"),
        (&["http://a.test/"], "", "a list"),
        (&[r#"{"time":"[T]","request":"GET / HTTP/1.1"}"#], "", "JSON"),
        (&[r#"h - - [T] "GET /a HTTP/1.0" 0.5"#], "", "no status"),
        (&[r#"h - - [T] 200 1"#], "", "no request"),
    ] {
        let access = sample_of(lines);
        assert_eq!(access.as_ref().map_or("", Access::name), expected, "{lines:?}: {why}");
    }
    for (known, line) in [
        (Access::clf(), r#"h - - [T] "GET /a HTTP/1.0" 200 12"#),
        (Access::combined(), r#"h - - [T] "GET /a HTTP/1.0" 200 12 "-" "A/1""#),
        (Access::vhost(), r#"a.test:80 h.test - - [T] "GET /a HTTP/1.0" 200 12 "-" "A/1""#),
    ] {
        assert_eq!(sample_of(&[line]), Some(known), "{line}");
    }
}

#[test]
fn columns_are_told_by_what_they_say() {
    for (line, shown_columns, expected, why) in [
        (
            r#"10.0.0.1 - - [T] "GET /a HTTP/1.1" 200 8 "www.a.test" "http://a.test/b" - "A/1 (b)" "-" 10.1.2.3:80 200 0.027 0.027"#,
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_host" "$http_referer" $skipped "$http_user_agent" "$skipped" $skipped $skipped $skipped $skipped"#,
            "www.a.test|GET|/a|200|8|T|http://a.test/b|A/1 (b)",
            "the host that was asked for, not that of the server behind",
        ),
        (
            r#"10.0.0.1 - - [T] "GET /a HTTP/1.1" 200 8 "-" "A/1" "10.2.2.2, 10.3.3.3" TLSv1.2 https a.test:8443"#,
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$skipped" $skipped $scheme $http_host"#,
            "https|a.test:8443|GET|/a|200|8|T|A/1",
            "a scheme, and a host with its port, behind",
        ),
        (
            r#"a.test 10.0.0.1 [T] "GET /a HTTP/1.1" 200 8"#,
            r#"$http_host $remote_addr [$time_local] "$request" $status $body_bytes_sent"#,
            "a.test|GET|/a|200|8|T",
            "two words in front",
        ),
        (
            r#"10.0.0.1 a.test bob [T] "GET /a HTTP/1.1" 200 8"#,
            r#"$remote_addr $http_host $remote_user [$time_local] "$request" $status $body_bytes_sent"#,
            "a.test|GET|/a|200|8|T",
            "the host is the second word",
        ),
        (
            r#"10.0.0.1 - - [T] 0.003 "a.test" "GET /a HTTP/1.1" 200 8 text/html"#,
            r#"$remote_addr - $remote_user [$time_local] $skipped "$http_host" "$request" $status $body_bytes_sent $skipped"#,
            "a.test|GET|/a|200|8|T",
            "columns before the request",
        ),
        (
            r#"10.0.0.1 - - [T] "GET /a HTTP/1.1" 200 8 "-" "A/1" 12 0.1 [b-80] [] 10.1.1.1:80 8 0.1 200 ab12"#,
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $skipped $skipped [$skipped] [$skipped] $skipped $skipped $skipped $skipped $skipped"#,
            "GET|/a|200|8|T|A/1",
            "an ingress; its upstream is no host",
        ),
        (
            r#"79a5 b [T] 10.0.0.1 79a5 3E5 REST.GET.OBJECT a/x.html "GET /b/a/x.html HTTP/1.1" 200 - 113 - 7 - "-" "A/1" - s9= SigV4 - AuthHeader b.s3.us-west-1.amazonaws.com TLSV1.2 - -"#,
            r#"$remote_addr $remote_user [$time_local] $skipped $skipped $skipped $skipped $skipped "$request" $status $skipped $body_bytes_sent $skipped $skipped $skipped "$http_referer" "$http_user_agent" $skipped $skipped $skipped $skipped $skipped $http_host $skipped $skipped $skipped"#,
            "b.s3.us-west-1.amazonaws.com|GET|/b/a/x.html|200|113|T|A/1",
            "a bucket of S3; the operation is no host",
        ),
        (
            r#"79a5 b [T] 10.0.0.1 79a5 3E5 REST.GET.OBJECT x.jpg "GET /b/x.jpg?v=1 HTTP/1.1" 200 - 113 - 7 - "-" "A/1" - s9= SigV4 - AuthHeader b.s3.us-west-1.amazonaws.com TLSV1.2 - -"#,
            r#"$remote_addr $remote_user [$time_local] $skipped $skipped $skipped $skipped $skipped "$request" $status $skipped $body_bytes_sent $skipped $skipped $skipped "$http_referer" "$http_user_agent" $skipped $skipped $skipped $skipped $skipped $http_host $skipped $skipped $skipped"#,
            "b.s3.us-west-1.amazonaws.com|GET|/b/x.jpg?v=1|200|113|T|A/1",
            "a key of S3 that looks like a host",
        ),
        (
            r#"[T] "GET /a HTTP/1.1" 200"#,
            r#"[$time_local] "$request" $status"#,
            "GET|/a|200|T",
            "no words in front",
        ),
    ] {
        let access = sample_of(&[line]).unwrap();
        let line = line.replace("[T]", &format!("[{TIME}]"));
        let expected = expected.replace("|T", &format!("|{TIME}"));
        assert_eq!(shown(&access, line.as_bytes()), expected, "{line}: {why}");
        // What follows the agent is not wanted.
        if access.name() == "access" {
            assert_eq!(access.describe(), shown_columns, "{line}: {why}");
        }
    }
}

#[test]
fn nine_tenths_decide() {
    let line = |host: &str| format!(r#"10.0.0.1 - - [T] "GET / HTTP/1.1" 200 8 {host}"#);
    for (hosts, expected, why) in
        [(9, "$http_host", "nine of ten are hosts"), (8, "$skipped", "eight of ten are not enough")]
    {
        let lines: Vec<String> =
            (0..10).map(|at| line(if at < hosts { "a.test" } else { "miss" })).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let access = sample_of(&lines).unwrap();
        let is_host = access.columns.contains(&Column::Host);
        assert_eq!(is_host, expected == "$http_host", "{why}");
    }
    // Of those that say something.
    for (hosts, is_host, why) in [
        (&["a.test", "-", "b.test", "-", "_"][..], false, "most say nothing"),
        (&["a.test", "-", "b.test", "_"], true, "half of them say nothing"),
        (&["a.test", "-", "miss", "c.test", "d.test"], false, "and one of the others is no host"),
        (&["a.test", "B.TEST", "intranet:8080"], true, "one label, and capitals, are not alone"),
        (&["app:8080", "app:8081"], false, "a server behind has a port, too"),
        (&["B.TEST", "C.TEST:80"], false, "capitals alone"),
    ] {
        let lines: Vec<String> = hosts.iter().map(|host| line(host)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(sample_of(&lines).unwrap().columns.contains(&Column::Host), is_host, "{why}");
    }
    let lines = ["a.test", "-", "b.test", "-"]
        .map(|host| format!(r#"{host} 10.0.0.1 - - [T] "GET / HTTP/1.1" 200 8"#));
    assert_eq!(sample_of(&lines.each_ref().map(String::as_str)).unwrap().name(), "vhost");
    let lines = [line("a.test"), line("10.0.0.2"), line("[::1]:80")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert!(sample_of(&lines).unwrap().columns.contains(&Column::Host), "addresses are hosts, too");
    assert!(!sample_of(&lines[1..]).unwrap().columns.contains(&Column::Host), "but not alone");
}

/// What stands in front of clients, one line for each.
#[test]
fn hosts_in_front() {
    for (hosts, expected, why) in [
        (&["_:80", "www.a.test:80", "www.b.test:80"][..], "vhost", "a catch-all with a port"),
        (&["-:80", "www.a.test:80", "www.b.test:80"], "vhost", "nothing with a port"),
        (&["_:80", "-:80", "www.b.test:80"], "clf", "most name no host"),
        (&["_", "www.a.test", "www.b.test"], "vhost", "a catch-all"),
        (&["intranet:8080", "www.a.test:80"], "vhost", "one label"),
        (&["intranet:8080", "wiki:8080"], "vhost", "one label on every line"),
        (&["intranet:8080", "www.a.test"], "vhost", "one label, and names without a port"),
        (&["intranet:8080", "192.0.2.7"], "vhost", "one label, and addresses"),
        (&["WWW.A.TEST:80", "www.b.test:80"], "vhost", "capitals with a port"),
        (&["WWW.A.TEST:80"], "vhost", "capitals with a port on every line"),
        (&["WWW.A.TEST", "www.b.test"], "vhost", "capitals among others"),
        (&["www.a.test.:443", "www.b.test:443"], "vhost", "a dot in front of the port"),
        (&["www.a.test.", "www.b.test"], "vhost", "a dot behind"),
        (&["www.a.test:", "www.b.test"], "vhost", "an empty port"),
        (&["REST.GET.OBJECT", "REST.PUT.OBJECT"], "clf", "capitals alone"),
        (&["nginx:"], "clf", "a program in front of its message"),
        (&["nginx.service:"], "clf", "the same"),
        (&["web-1", "web-2"], "clf", "names of machines"),
        (&["08:00:01", "08:00:02"], "clf", "a time of day"),
        (&["12:80", "4711:80"], "clf", "numbers"),
    ] {
        for client in ["192.0.2.1", "2001:db8::1"] {
            let lines: Vec<String> = hosts
                .iter()
                .map(|host| format!(r#"{host} {client} - - [T] "GET / HTTP/1.0" 200 8"#))
                .collect();
            let access = sample_of(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(access.unwrap().name(), expected, "{hosts:?}: {why}");
        }
    }
    for (line, expected, why) in [
        (r#"intranet:80 pc17 - - [T] "GET / HTTP/1.0" 200 8"#, "vhost", "a client with a name"),
        (r#"pc17:4000 - - [T] "GET / HTTP/1.0" 200 8"#, "clf", "the port of a client"),
        (r#"192.0.2.1:4000 bob - - [T] "GET / HTTP/1.0" 200 8"#, "clf", "the same"),
        (r#"h - - [T] "GET / HTTP/1.0" 200 8 app:8080"#, "clf", "a server behind"),
    ] {
        assert_eq!(sample_of(&[line]).unwrap().name(), expected, "{line}: {why}");
    }
    let access = sample_of(&[r#"2001:db8::1 a.test bob [T] "GET / HTTP/1.0" 200 8"#]).unwrap();
    assert_eq!(access.host_word, Some(1), "the end of an address is no port");
}

#[test]
fn hosts_behind_what_syslog_writes() {
    for (prefix, hosts, expected) in [
        ("Nov 26 10:00:01 web1 nginx: ", &["a.test ", "b.test "][..], Some(5)),
        ("Nov  1 10:00:01 web1 nginx[17]: ", &["a.test:80 ", "b.test:80 "], Some(5)),
        ("nginx: ", &["a.test ", "- "], Some(1)),
        ("Nov 26 10:00:01 web1 nginx: ", &[""], None),
        ("Nov 26 10:00:01 web1.a.test nginx: ", &[""], None),
        ("2026-11-26T10:00:01Z web1.a.test nginx ", &["a.test "], None),
    ] {
        let lines: Vec<String> = hosts
            .iter()
            .map(|host| format!(r#"{prefix}{host}192.0.2.1 - - [26/Nov/2026:10:00:01 +0000] "GET / HTTP/1.0" 200 8"#))
            .collect();
        let access = sample_of(&lines.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(access.host_word, expected, "{lines:?}");
        let mut found = Found::default();
        assert_eq!(access.parse(lines[0].as_bytes(), &mut found), Parsed::Record, "{lines:?}");
        let host = expected.map_or("", |_| hosts[0].trim_end());
        assert_eq!(found.host, host.as_bytes(), "{lines:?}");
    }
}

/// `text` as Apache writes it between quotes.
fn escaped(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| std::ascii::escape_default(*byte)).collect()
}

proptest! {
    #[test]
    fn reads_what_was_written(
        user in "[a-z\\[\" -]{0,6}x",
        target in prop::collection::vec(any::<u8>(), 0..12),
        size in prop::option::of(0u64..1 << 40),
        referrer in prop::collection::vec(any::<u8>(), 2..12),
        agent in "[ -~]{2,12}",
    ) {
        let (target, user) = (escaped(&target), escaped(user.as_bytes()));
        let (referrer, agent) = (escaped(&referrer), escaped(agent.as_bytes()));
        let size = size.map_or("-".to_string(), |size| size.to_string());
        let request = [b"GET /", target.as_slice(), b" HTTP/1.1"].concat();
        let line = [
            b"10.0.0.1 - ", user.as_slice(), b" [", TIME.as_bytes(), b"] \"", &request, b"\" 200 ",
            size.as_bytes(), b" \"", &referrer, b"\" \"", &agent, b"\"",
        ].concat();
        let mut found = Found::default();
        prop_assert_eq!(Access::combined().parse(&line, &mut found), Parsed::Record);
        prop_assert_eq!(found.target, [b"/", target.trim_ascii_end()].concat());
        prop_assert_eq!(found.fields.size, value(size.as_bytes()));
        prop_assert_eq!(found.fields.referrer, &referrer);
        prop_assert_eq!(found.fields.agent, &agent);
        prop_assert_eq!(found.fields.time, TIME.as_bytes());
    }

    #[test]
    fn any_bytes(line in r#"[h \-"\\\[\]0-9GET/HTP.x:]{0,80}"#) {
        let mut found = Found::default();
        Access::combined().parse(line.as_bytes(), &mut found);
        infer::infer(&[line.as_bytes()]);
    }
}

#[test]
fn samples() {
    assert_eq!(
        sample_urls(&sample("combined.log"), recognize_combined),
        [
            "GET /shop/?page=2&sort=price ? 200",
            "GET /shop/?sort=price&page=2 ? 200",
            "GET /shop/?page=2&sort=price&utm_source=mail ? 304",
            "GET /search?q=\"red shoes\" ? 200",
            "GET /tel:+1 (555) 0100 ? 404",
            "GET http://proxy.example.com/a ? 400",
            "GET /old ? 200",
            "no-request",
            "bad-request",
            "OPTIONS * ? 200",
            "no-page",
            "GET /shop/%7Ebob ? 200",
            "GET /shop/~bob ? 200",
        ]
    );
    assert_eq!(
        sample_urls(&sample("access.log"), recognize),
        [
            "GET www.example.com /a?b=1&a=2 ? 200",
            "GET www.example.com /a?a=2&b=1 ? 200",
            "GET shop.example.com /a?a=2&b=1 ? 200",
            "HEAD 198.51.100.7 / ? 301",
            "GET shop.example.com /b/./c ? 200",
            "GET shop.example.com /b/c ? 200",
        ]
    );
}

#[test]
fn hostile_lines_are_linear() {
    let fronts = ["", "h - - [T] ", "h - - [T] \"", "h - - [T] \"GET / HTTP/1.1\" 200 1 \""]
        .map(|front| front.replace("[T]", &format!("[{TIME}]")));
    let units = ["\"", "\\\"", "\\", "[", "[1", "[1/Oct/2000:00:00:00 +0000 ", " ", "\" ", "\0"];
    check_hostile(&fronts.each_ref().map(String::as_str), &units, |line| {
        Access::combined().parse(line, &mut Found::default());
        infer::infer(&[line]);
    });
}
