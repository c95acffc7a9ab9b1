//! The meanings of nginx's variables and Apache's directives.

use super::Role;

/// The meaning of a variable, with its rank: of several with one meaning the lowest is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) role: Role,
    pub(super) rank: u8,
    /// An example value, if values may contain literals; otherwise empty.
    pub(super) sample: String,
    /// The first byte of every value that is not empty, if that is known.
    pub(super) first: Option<u8>,
}

/// A host with its port, as the client has sent it.
pub(super) const RANK_OF_HOST_WITH_PORT: u8 = 0;

/// A time of the common log format.
const CLF_TIME: &str = "10/Oct/2000:13:55:36 -0700";

impl Variable {
    pub(super) const SKIPPED: Variable = Variable::ranked(Role::Skipped, 0);

    const fn ranked(role: Role, rank: u8) -> Variable {
        let first = match role {
            Role::Target | Role::Path => Some(b'/'),
            _ => None,
        };
        Variable { role, rank, sample: String::new(), first }
    }

    fn of(role: Role) -> Variable {
        Variable::ranked(role, 0)
    }

    fn starting_with(self, first: u8) -> Variable {
        Variable { first: Some(first), ..self }
    }

    fn like(self, sample: impl Into<String>) -> Variable {
        Variable { sample: sample.into(), ..self }
    }

    /// The variable `name` of nginx, without its `$`.
    pub(super) fn of_nginx(name: &str) -> Variable {
        match name {
            "request" => Variable::of(Role::Request),
            "request_uri" => Variable::of(Role::Target),
            "uri" | "document_uri" => Variable::of(Role::Path),
            "args" | "query_string" => Variable::of(Role::Query),
            "is_args" => Variable::SKIPPED.starting_with(b'?'),
            "request_method" => Variable::of(Role::Method),
            "status" => Variable::of(Role::Status),
            "body_bytes_sent" => Variable::of(Role::Size),
            "bytes_sent" => Variable::ranked(Role::Size, 1),
            "http_host" => Variable::ranked(Role::Host, RANK_OF_HOST_WITH_PORT),
            "host" => Variable::ranked(Role::Host, 1),
            "ssl_server_name" => Variable::ranked(Role::Host, 2),
            "server_name" => Variable::ranked(Role::Host, 3),
            "server_port" => Variable::of(Role::Port),
            "scheme" => Variable::of(Role::Scheme),
            "http_x_forwarded_proto" => Variable::ranked(Role::Scheme, 1),
            "time_local" => Variable::of(Role::Time).like(CLF_TIME),
            "time_iso8601" | "msec" => Variable::of(Role::Time),
            "sent_http_location" => Variable::of(Role::Redirect),
            "upstream_http_location" => Variable::ranked(Role::Redirect, 1),
            "sent_http_content_type" => Variable::of(Role::Mime),
            "upstream_http_content_type" => Variable::ranked(Role::Mime, 1),
            "http_referer" => Variable::of(Role::Referrer),
            "http_user_agent" => Variable::of(Role::Agent),
            _ => Variable::SKIPPED,
        }
    }

    /// The directive `letter` of Apache with the `argument` in its braces; `is_final` for `%>`.
    pub(super) fn of_apache(letter: char, argument: Option<&str>, is_final: bool) -> Variable {
        let name = argument.map(str::to_ascii_lowercase);
        match (letter, name.as_deref()) {
            ('r', None) => Variable::of(Role::Request),
            ('U', None) => Variable::of(Role::Path),
            ('q', None) => Variable::of(Role::Query).starting_with(b'?'),
            ('m', None) => Variable::of(Role::Method),
            ('s', None) => Variable::ranked(Role::Status, u8::from(!is_final)),
            ('b' | 'B', None) => Variable::of(Role::Size),
            ('O', None) => Variable::ranked(Role::Size, 1),
            ('i', Some("host")) => Variable::ranked(Role::Host, RANK_OF_HOST_WITH_PORT),
            ('V', None) => Variable::ranked(Role::Host, 1),
            ('v', None) => Variable::ranked(Role::Host, 2),
            ('p', None | Some("canonical" | "local")) => Variable::of(Role::Port),
            ('i', Some("x-forwarded-proto")) => Variable::ranked(Role::Scheme, 1),
            ('e', Some("request_scheme")) => Variable::of(Role::Scheme),
            ('i', Some("referer" | "referrer")) => Variable::of(Role::Referrer),
            ('i', Some("user-agent")) => Variable::of(Role::Agent),
            ('o', Some("location")) => Variable::of(Role::Redirect),
            ('o', Some("content-type")) => Variable::of(Role::Mime),
            ('t', None) => Variable::of(Role::Time).like(CLF_TIME),
            ('t', Some(_)) => of_strftime(argument.unwrap_or_default()),
            _ => Variable::SKIPPED,
        }
    }
}

/// `%{format}t`: a time if the format is supported, otherwise skipped.
fn of_strftime(format: &str) -> Variable {
    let format = format.strip_prefix("begin:").unwrap_or(format);
    let format = format.strip_prefix("end:").unwrap_or(format);
    let is_read = ["%Y-%m-%d", "%F", "%d/%b/%Y:"].iter().any(|start| format.starts_with(start))
        || matches!(format, "sec" | "%s");
    let variable = if is_read { Variable::of(Role::Time) } else { Variable::SKIPPED };
    variable.like(format.replace("%c", "Tue Oct 10 13:55:36 2000").replace("%r", "01:55:36 PM"))
}
