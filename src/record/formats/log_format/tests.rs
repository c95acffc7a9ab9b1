//! What is found in lines by formats of nginx and Apache.

use proptest::prelude::*;

use super::*;
use crate::bytes::show;
use crate::limits::LOG_FORMAT_BYTES_MAX;
use crate::record::formats::access::{self, Access};

/// What `format` finds in `line`, as `name=value`, without what is empty.
fn shown(format: &str, line: &str) -> String {
    let format = compile(format).unwrap_or_else(|error| panic!("{format}: {error}"));
    let mut found = Found::default();
    match format.parse(line.as_bytes(), &mut found) {
        Parsed::Record => {}
        Parsed::Comment => return "comment".to_string(),
        Parsed::Reject(reject) => return reject.to_string(),
    }
    let fields = found.fields;
    [
        ("scheme", found.scheme),
        ("host", found.host),
        ("port", found.port),
        ("method", fields.method),
        ("target", found.target),
        ("query", found.query),
        ("status", fields.status),
        ("size", fields.size),
        ("time", fields.time),
        ("to", fields.redirect),
        ("from", fields.referrer),
        ("agent", fields.agent),
        ("mime", fields.mime),
    ]
    .iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| format!("{name}={}", show(value)))
    .collect::<Vec<_>>()
    .join(" ")
}

#[test]
fn strings_of_nginx() {
    for (format, line, expected, why) in [
        (
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
            r#"h - - [1/Oct/2000:1:2:3 +0] "GET /a\"b HTTP/1.1" 200 5 "-" "A/1 (\"b\")""#,
            r#"method=GET target=/a\\"b status=200 size=5 time=1/Oct/2000:1:2:3 +0 agent=A/1 (\\"b\\")"#,
            "combined",
        ),
        (
            "$msec|$scheme|$host|$server_port|$request_method|$request_uri|$status|$bytes_sent|$sent_http_location",
            "1.5|https|a.test|8443|GET|/a?b|301|5|/c",
            "scheme=https host=a.test port=8443 method=GET target=/a?b status=301 size=5 time=1.5 to=/c",
            "parts of a URL",
        ),
        (
            "$scheme://$host$request_uri $status",
            "http://a.test/b?c 200",
            "scheme=http host=a.test target=/b?c status=200",
            "a host and a path with nothing between",
        ),
        (
            "$host$uri$is_args$args $status",
            "a.test/b?c=/d 200",
            "host=a.test target=/b query=c=/d status=200",
            "a query with nothing in front",
        ),
        (
            "$uri$is_args$args $status",
            "/b- 200",
            "target=/b status=200",
            "no arguments: nginx writes a dash",
        ),
        (
            "$uri$is_args$args $status",
            "/b-- 200",
            "target=/b- status=200",
            "a dash of the path before that",
        ),
        ("$uri?$args $status", "/b?- 200", "target=/b status=200", "a question mark all the same"),
        (
            "${host}:${server_port} \"$request\"",
            "a.test:80 \"GET / HTTP/1.1\"",
            "host=a.test port=80 method=GET target=/",
            "braces",
        ),
        (
            "$http_host:$server_port $request_uri",
            "a.test:81:80 /",
            "host=a.test target=/",
            "a host with a port ends at the first colon",
        ),
        (
            "$host:$server_port|$request_uri",
            "[::1]:80|/",
            "host=[::1] port=80 target=/",
            "an address has its colons in brackets",
        ),
        (
            "$http_host $server_port $request_uri",
            "a.test:81 80 /",
            "host=a.test:81 target=/",
            "a header has its port",
        ),
        (
            "$host $http_host $server_name $request_uri",
            "a.test b.test:8 c.test /",
            "host=b.test:8 target=/",
            "of several hosts the best",
        ),
        (
            "$server_name $host $http_host $request_uri",
            "c.test a.test - /",
            "host=a.test target=/",
            "the next one where the best is missing",
        ),
        (
            "$http_host $server_name $server_port $request_uri",
            "- a.test 8080 /",
            "host=a.test port=8080 target=/",
            "the next one with its port",
        ),
        (
            "$http_host $server_name $server_port $request_uri",
            "_ a.test 8080 /",
            "host=a.test port=8080 target=/",
            "the same where the best is a server of any name",
        ),
        (
            "$server_port $server_name $http_host $request_uri",
            "8080 a.test b.test /",
            "host=b.test target=/",
            "a header has its port, if it needs one",
        ),
        (
            "$http_host $server_name $request_uri",
            "- _ /",
            "target=/",
            "a server of any name is none",
        ),
        ("$server_name $request_uri", "_ /", "target=/", "a server of any name"),
        ("$http_host $request_uri", "_:80 /", "target=/", "the same with a port"),
        (
            "\"$request\" $request_uri $uri?$args",
            "\"GET /a?b HTTP/1.1\" /a?b /a?b",
            "method=GET target=/a?b",
            "of several targets the request",
        ),
        (
            "$request_uri $http_x_forwarded_proto",
            "/ https,http",
            "target=/",
            "a header, whatever it says",
        ),
        (
            "$time_local $request_uri",
            "1/Oct/2000:1:2:3 +0 /a",
            "target=/a time=1/Oct/2000:1:2:3 +0",
            "a blank within the time",
        ),
        (
            "$time_iso8601\\t$request\\t$status",
            "2000-10-01T01:02:03Z\tGET / HTTP/1.1\t200",
            "method=GET target=/ status=200 time=2000-10-01T01:02:03Z",
            "tabs",
        ),
        (
            "$remote_addr $request $status",
            "h GET /a b HTTP/1.1 200",
            "method=GET target=/a b status=200",
            "a request without quotes",
        ),
        (
            "$remote_addr $request $status",
            "h GET /a 200",
            "method=GET target=/a status=200",
            "the same of HTTP/0.9",
        ),
        ("$remote_addr $request $status", "h - 400", "no-request", "the same that was not made"),
        (
            "escape=json {\"uri\":\"$request_uri\",\"to\":\"$http_host\",\"x\":$status}",
            r#"{"uri":"/a\"b","to":"a.test","x":200}"#,
            r#"host=a.test target=/a\\"b status=200"#,
            "JSON",
        ),
        ("$request_time $foo $request_uri", "0.1 bar /", "target=/", "unknown variables"),
        ("$request_uri $status", "/a x", "not-format", "no status"),
        ("$request_uri $status", "/a", "not-format", "a literal is missing"),
        ("[$request_uri]", "[/a] b", "not-format", "more than there should be"),
        ("[$request_uri]", "/a]", "not-format", "the start is missing"),
        ("$request_uri|$status", "-|200", "no-url", "no target"),
        ("$request_uri|$status", "|200", "no-url", "an empty target"),
        ("$request_method|$request_uri", "-|-", "no-request", "no method"),
        ("$request_method|$request_uri", "OPTIONS|*", "method=OPTIONS target=*", "the server"),
        ("$request_method|$request_uri", "CONNECT|a.test:443", "no-page", "a tunnel"),
        ("$request_method|$request_uri", "PRI|*", "bad-request", "the preface of HTTP/2"),
        ("\"$request\"", "\"\\x16\\x03\"", "bad-request", "TLS"),
        ("\"$request\" $status", "\"GET / HTTP/1.1 200", "not-format", "quotes without an end"),
    ] {
        assert_eq!(shown(format, line), expected, "{format}: {line}: {why}");
    }
}

#[test]
fn strings_of_apache() {
    for (format, line, expected, why) in [
        (
            r#"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""#,
            r#"h - - [1/Oct/2000:1:2:3 +0] "GET /a HTTP/1.1" 200 - "http://r.test/" "A/1""#,
            "method=GET target=/a status=200 time=1/Oct/2000:1:2:3 +0 from=http://r.test/ agent=A/1",
            "as it stands in httpd.conf",
        ),
        (
            "%v:%p %m %U%q %H %s %O",
            "a.test:443 GET /a?b HTTP/1.1 200 5",
            "host=a.test port=443 method=GET target=/a query=b status=200 size=5",
            "parts of a URL",
        ),
        ("%U%q %s", "/a 200", "target=/a status=200", "no query"),
        (
            "%{Host}i %v %p %U",
            "a.test:8 b.test 80 /",
            "host=a.test:8 target=/",
            "the header is better",
        ),
        (
            "%s %>s %r",
            "301 200 GET / HTTP/1.1",
            "method=GET target=/ status=200",
            "the last status",
        ),
        ("%B %O %U", "5 6 /", "target=/ size=5", "the size without headers"),
        ("%!400,501{Referer}i %200s %U", "- 200 /", "target=/ status=200", "conditions"),
        (
            "%{%Y-%m-%d %H:%M:%S}t %U",
            "2000-10-01 01:02:03 /a",
            "target=/a time=2000-10-01 01:02:03",
            "a blank within the time",
        ),
        ("%{sec}t %{msec}t %U", "5 5000 /a", "target=/a time=5", "seconds, not milliseconds"),
        (
            "%{%c}t %U",
            "Tue Oct 10 13:55:36 2000 /a",
            "target=/a",
            "a time that is not read is passed over",
        ),
        (
            "%{Location}o|%{Content-Type}o|%U",
            "/b|text/html; x|/a",
            "target=/a to=/b mime=text/html; x",
            "headers of the answer",
        ),
        (
            "%{REQUEST_SCHEME}e %^FB %{c}a %{x}Z %% %U",
            "https 1 ::1 z % /a",
            "scheme=https target=/a",
            "what is unknown is skipped",
        ),
        (
            "%t %U",
            "[1/Oct/2000:1:2:3 +0] /a",
            "target=/a time=1/Oct/2000:1:2:3 +0",
            "a time brings its brackets",
        ),
        (
            "common",
            r#"h - - [1/Oct/2000:1:2:3 +0] "GET /a HTTP/1.1" 200 -"#,
            "method=GET target=/a status=200 time=1/Oct/2000:1:2:3 +0",
            "by name",
        ),
        (
            "vhost_combined",
            r#"a.test:80 h - - [1/Oct/2000:1:2:3 +0] "GET /a HTTP/1.1" 200 5 "-" "-""#,
            "host=a.test port=80 method=GET target=/a status=200 size=5 time=1/Oct/2000:1:2:3 +0",
            "by name",
        ),
        (
            "combinedio",
            r#"h - - [1/Oct/2000:1:2:3 +0] "GET /a HTTP/1.1" 200 5 "-" "A" 7 8"#,
            "method=GET target=/a status=200 size=5 time=1/Oct/2000:1:2:3 +0 agent=A",
            "by name",
        ),
    ] {
        assert_eq!(shown(format, line), expected, "{format}: {line}: {why}");
    }
}

#[test]
fn escapes() {
    for (format, expected) in [
        ("$request_uri", Escapes::Backslash),
        ("%U", Escapes::Backslash),
        ("escape=default $request_uri", Escapes::Backslash),
        ("escape=json $request_uri", Escapes::Json),
        ("escape=none $request_uri", Escapes::None),
    ] {
        let mut found = Found::default();
        assert_eq!(compile(format).unwrap().parse(b"/", &mut found), Parsed::Record, "{format}");
        assert_eq!((found.escapes, found.fields.escapes), (expected, expected), "{format}");
    }
}

#[test]
fn errors() {
    for (format, expected) in [
        ("", "one of the names common, combined, vhost_combined, combinedio; found \"\""),
        ("combind", "found \"combind\""),
        ("$host $status", "expected a field with the URL, found none in \"$host $status\""),
        ("%h %>s", "$request_uri and $uri are such fields of nginx, %r and %U of Apache"),
        ("$args", "expected a field with the URL"),
        ("$request $ x", "position 10: expected $name or ${name}, found \"$ x\""),
        ("$request ${host", "position 10: expected $name or ${name}, found \"${host\""),
        ("%r %", "position 4: expected a directive such as %r or %{Referer}i, found \"%\""),
        ("%r %{Referer", "position 4: expected a directive"),
        ("%r %{Referer}", "position 4: expected a directive"),
        ("%r %^F", "position 4: expected a directive"),
        ("%r %;", "position 4: expected a directive"),
        (
            "$host$request",
            "position 6: expected a character between two fields, found \"$request\"",
        ),
        ("%m%U%b", "position 5: expected a character between two fields, found \"%b\""),
        ("escape=xml $request", "position 8: expected default, json or none, found \"xml\""),
        ("escape=json x$request\\n", "position 22: expected a format of one line"),
    ] {
        let error = compile(format).unwrap_err();
        assert!(error.is_config(), "{format}");
        assert!(error.to_string().contains(expected), "{format}: {error}\nexpected: {expected}");
    }
    let error = compile(&"%r ".repeat(LOG_FORMAT_BYTES_MAX)).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

/// A line of a log with more columns, and its format.
const COLUMNS: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 8 "www.a.test" "http://a.test/b" - "A/1 (b)" "-" 10.1.2.3:80 200 0.027 0.027"#;

proptest! {
    #[test]
    fn agrees_with_access_logs(
        user in "([a-z]{1,5}|-|J\\. D)",
        request in r#"(GET /[a-z "\\]{0,9} HTTP/1\.1|-|GET /|OPTIONS \* HTTP/1\.0|;x16)"#,
        status in "[0-9-]{1,3}",
        size in "([0-9]{1,4}|-|x)",
        agent in "[a-zA-Z/0-9 ]{0,9}",
    ) {
        let request = request.replace('\\', "\\\\").replace('"', "\\\"");
        let line = format!(
            "10.0.0.1 - {user} [10/Oct/2000:13:55:36 -0700] \"{request}\" {status} {size} \"-\" \
             \"{agent}\""
        );
        let (mut expected, mut found) = (Found::default(), Found::default());
        let expected_answer = Access::combined().parse(line.as_bytes(), &mut expected);
        let answer = compile("combined").unwrap().parse(line.as_bytes(), &mut found);
        prop_assert_eq!(answer, expected_answer, "{}", line);
        if answer == Parsed::Record {
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn any_string(format in r#"[$%{}a-zA-Z"\\ >^]{0,40}"#, line in r#"[a-z"\\/ -]{0,40}"#) {
        if let Ok(format) = compile(&format) {
            format.parse(line.as_bytes(), &mut Found::default());
        }
    }
}

#[test]
fn agrees_with_what_an_access_log_says_of_itself() {
    let access = access::recognize(&[COLUMNS.as_bytes()]).unwrap();
    let told = compile(&access.describe()).unwrap();
    let (mut expected, mut found) = (Found::default(), Found::default());
    assert_eq!(access.parse(COLUMNS.as_bytes(), &mut expected), Parsed::Record);
    assert_eq!(told.parse(COLUMNS.as_bytes(), &mut found), Parsed::Record);
    assert_eq!(found, expected);
    assert_eq!(found.host, b"www.a.test");
}

#[test]
fn hostile_lines_are_read_as_short_ones_are() {
    // What is not linear would take days for these.
    let formats = [
        "combined",
        "$time_local $request $status",
        "$host$uri$is_args$args\" $status",
        "$a|$b|$c|$uri",
    ];
    for format in formats.map(|format| compile(format).unwrap()) {
        for text in ["\"", "\\\"", "\\", "\" ", " ", "/", " HTTP/", "|", "\0", "] \""] {
            for front in ["", "h - - [1] \"GET / HTTP/1.1\" 200 1 \""] {
                let [short, long] = [64, 1 << 20].map(|times| {
                    let line = [front, &text.repeat(times)].concat();
                    format.parse(line.as_bytes(), &mut Found::default())
                });
                assert_eq!(short, long, "{front}{text}");
            }
        }
    }
}
