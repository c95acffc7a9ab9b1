//! Compiles the string of a format to literals and fields.

use memchr::memmem;

use super::directive::format_in;
use super::variables::{RANK_OF_HOST_WITH_PORT, Variable};
use super::{End, Escapes, Group, LogFormat, Part, Role};
use crate::bytes::show;
use crate::error::{Error, Result};
use crate::limits::LOG_FORMAT_BYTES_MAX;

/// Formats by name: those of Apache's own configuration, and nginx's `combined`.
const NAMED: [(&str, &str); 4] = [
    ("common", r#"%h %l %u %t "%r" %>s %b"#),
    ("combined", r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
    ("vhost_combined", r#"%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#),
    ("combinedio", r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %I %O"#),
];

/// A piece of the string.
enum Piece {
    Literal(u8),
    Field(Variable),
}

impl Part {
    fn of(variable: &Variable) -> Part {
        Part { role: variable.role, first: variable.first, is_dash_if_empty: false }
    }
}

/// See `log_format::compile`.
pub(super) fn compile(text: &str) -> Result<LogFormat> {
    if text.len() > LOG_FORMAT_BYTES_MAX {
        return Err(Error::limit(format!(
            "log format: {} bytes long; at most {LOG_FORMAT_BYTES_MAX} are read",
            text.len()
        )));
    }
    let text = &*format_in(text)?;
    let named = NAMED.iter().find(|(name, _)| *name == text).map_or(text, |(_, format)| format);
    let (escapes, format) = escapes_of(named)?;
    let start = named.len() - format.len();
    let pieces = if has_variables(format) {
        pieces_of_nginx(format, start)?
    } else if format.contains('%') {
        pieces_of_apache(format, start)?
    } else {
        let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
        return Err(Error::config(format!(
            "log format: expected a string with $request (nginx) or %r (Apache), or one of the \
             names {}; found \"{}\"",
            names.join(", "),
            shortened(text)
        )));
    };
    let mut format =
        LogFormat { text: text.to_string(), prefix: Vec::new(), groups: Vec::new(), escapes };
    let mut variables = Vec::new();
    let mut is_behind_field = false;
    for (position, piece) in pieces {
        match (piece, format.groups.last_mut()) {
            (Piece::Literal(byte), None) => {
                format.prefix.push(byte);
                is_behind_field = false;
            }
            (Piece::Literal(byte), Some(group)) => {
                group.literal.push(byte);
                is_behind_field = false;
            }
            (Piece::Field(variable), Some(group)) if is_behind_field => {
                add_to(group, variable, &mut variables, (position, text))?;
            }
            (Piece::Field(variable), _) => {
                let part = Part::of(&variable);
                let (end, literal) = (End::Line, Vec::new());
                format.groups.push(Group { parts: vec![part], end, literal });
                variables.push(variable);
                is_behind_field = true;
            }
        }
    }
    keep_best(&mut format, &variables)?;
    set_ends(&mut format, &variables);
    Ok(format)
}

/// nginx's parameter `escape=` at the start of `text`, and what follows it.
fn escapes_of(text: &str) -> Result<(Escapes, &str)> {
    let Some(rest) = text.strip_prefix("escape=") else { return Ok((Escapes::Backslash, text)) };
    let (how, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let escapes = match how {
        "default" => Escapes::Backslash,
        "json" => Escapes::Json,
        "none" => Escapes::None,
        _ => {
            return Err(wrong(
                8,
                &format!("expected default, json or none, found \"{}\"", shortened(how)),
                "leave escape= out if it is not in nginx's own",
            ));
        }
    };
    Ok((escapes, rest.trim_start()))
}

/// Adds a field that follows another one with nothing between them.
fn add_to(
    group: &mut Group,
    variable: Variable,
    variables: &mut Vec<Variable>,
    (position, text): (usize, &str),
) -> Result<()> {
    let last = group.parts.last_mut().expect("a group has at least one field");
    let last_variable = variables.last_mut().expect("a field has a variable");
    // The question mark that nginx writes if there are arguments belongs to them.
    if variable.role == Role::Query && last.role == Role::Skipped && last.first == Some(b'?') {
        *last = Part { role: Role::Query, is_dash_if_empty: true, ..*last };
        *last_variable = variable;
        return Ok(());
    }
    if variable.first.is_none() {
        return Err(wrong(
            position,
            &format!(
                "expected a character between two fields, found \"{}\" right behind another",
                shortened(&text[(position - 1).min(text.len())..])
            ),
            "nobody could tell where one ends",
        ));
    }
    group.parts.push(Part::of(&variable));
    variables.push(variable);
    Ok(())
}

/// Keeps the best of several fields for the same part. An error if there is none for the URL.
fn keep_best(format: &mut LogFormat, variables: &[Variable]) -> Result<()> {
    let best =
        |role: Role| variables.iter().filter(|one| one.role == role).map(|one| one.rank).min();
    let has = |role: Role| best(role).is_some();
    if !has(Role::Request) && !has(Role::Target) && !has(Role::Path) {
        return Err(Error::config(format!(
            "log format: expected a field with the URL, found none in \"{}\"; $request, \
             $request_uri and $uri are such fields of nginx, %r and %U of Apache",
            shortened(&format.text)
        )));
    }
    let has_port = best(Role::Host) == Some(RANK_OF_HOST_WITH_PORT);
    let is_known_better = |role: Role| match role {
        Role::Target | Role::Method => has(Role::Request),
        Role::Path | Role::Query => has(Role::Request) || has(Role::Target),
        // The header includes the port, if one is needed.
        Role::Port => has_port,
        _ => false,
    };
    // HTTP/1.0 has no header `Host`, so a line may lack the best one.
    let next_host = variables
        .iter()
        .filter(|one| one.role == Role::Host && Some(one.rank) != best(Role::Host))
        .map(|one| one.rank)
        .min();
    let mut taken = Vec::new();
    let parts = format.groups.iter_mut().flat_map(|group| &mut group.parts);
    for (part, variable) in parts.zip(variables) {
        let is_best = best(part.role) == Some(variable.rank) && !taken.contains(&part.role);
        if part.role != Role::Skipped && is_best && !is_known_better(part.role) {
            taken.push(part.role);
        } else if part.role == Role::Port && is_best && next_host.is_some() {
            part.role = Role::NextPort;
            taken.push(part.role);
        } else if part.role == Role::Host
            && Some(variable.rank) == next_host
            && !taken.contains(&Role::NextHost)
        {
            part.role = Role::NextHost;
            taken.push(part.role);
        } else {
            part.role = Role::Skipped;
        }
    }
    Ok(())
}

/// Sets where each group ends.
fn set_ends(format: &mut LogFormat, variables: &[Variable]) {
    let mut before = format.prefix.last().copied();
    let mut number = 0;
    for group in &mut format.groups {
        let literal = group.literal.as_slice();
        let these = &variables[number..number + group.parts.len()];
        let passed = these
            .iter()
            .filter(|_| !literal.is_empty())
            .map(|one| memmem::find_iter(one.sample.as_bytes(), literal).count())
            .sum();
        number += group.parts.len();
        group.end = match literal.first() {
            None => End::Line,
            Some(b'"') if before == Some(b'"') => End::Quote,
            Some(b' ') if group.parts[0].role == Role::Request => End::Protocol,
            Some(_) if these[0].role == Role::Host => End::Host,
            Some(_) => End::Literal(passed),
        };
        before = literal.last().copied();
    }
}

/// Is there a variable of nginx in `text`?
fn has_variables(text: &str) -> bool {
    let starts = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'{');
    text.as_bytes().windows(2).any(|pair| pair[0] == b'$' && starts(&pair[1]))
}

/// The literal byte at the start of `text`, and the length of its spelling, which is more than one
/// for an escape.
fn literal(text: &[u8], position: usize) -> Result<(u8, usize)> {
    match text {
        [b'\\', byte @ (b'"' | b'\'' | b'\\'), ..] => Ok((*byte, 2)),
        [b'\\', b't', ..] => Ok((b'\t', 2)),
        [b'\\', b'n', ..] | [b'\n', ..] => Err(wrong(
            position,
            "expected a format of one line, found a line break",
            "leave it out",
        )),
        _ => Ok((text[0], 1)),
    }
}

fn pieces_of_nginx(text: &str, start: usize) -> Result<Vec<(usize, Piece)>> {
    let bytes = text.as_bytes();
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let position = start + at + 1;
        if bytes[at] != b'$' {
            let (byte, length) = literal(&bytes[at..], position)?;
            pieces.push((position, Piece::Literal(byte)));
            at += length;
            continue;
        }
        let has_braces = bytes.get(at + 1) == Some(&b'{');
        let from = at + 1 + usize::from(has_braces);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = bytes[from..].iter().take_while(|byte| is_name(byte)).count();
        let end = from + length;
        if length == 0 || has_braces && bytes.get(end) != Some(&b'}') {
            return Err(wrong(
                position,
                &format!("expected $name or ${{name}}, found \"{}\"", shortened(&text[at..])),
                "write it as in nginx.conf",
            ));
        }
        pieces.push((position, Piece::Field(Variable::of_nginx(&text[from..end]))));
        at = end + usize::from(has_braces);
    }
    Ok(pieces)
}

fn pieces_of_apache(text: &str, start: usize) -> Result<Vec<(usize, Piece)>> {
    let bytes = text.as_bytes();
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let position = start + at + 1;
        if bytes[at] != b'%' {
            let (byte, length) = literal(&bytes[at..], position)?;
            pieces.push((position, Piece::Literal(byte)));
            at += length;
            continue;
        }
        let (directive, length) = directive(&text[at..], position)?;
        match directive {
            Directive::Percent => pieces.push((position, Piece::Literal(b'%'))),
            Directive::Time(variable) => {
                pieces.push((position, Piece::Literal(b'[')));
                pieces.push((position, Piece::Field(variable)));
                pieces.push((position, Piece::Literal(b']')));
            }
            Directive::Field(variable) => pieces.push((position, Piece::Field(variable))),
        }
        at += length;
    }
    Ok(pieces)
}

/// A directive of Apache.
enum Directive {
    /// `%%`.
    Percent,
    /// `%t`, which Apache writes in brackets.
    Time(Variable),
    Field(Variable),
}

/// The directive that `text` starts with, and its length: `%`, modifiers, `{argument}`, letters.
fn directive(text: &str, position: usize) -> Result<(Directive, usize)> {
    let bytes = text.as_bytes();
    let unfinished = || {
        wrong(
            position,
            &format!(
                "expected a directive such as %r or %{{Referer}}i, found \"{}\"",
                shortened(text)
            ),
            "write it as in httpd.conf, and %% for a percent sign",
        )
    };
    let (mut at, mut argument, mut is_final) = (1, None, false);
    loop {
        match bytes.get(at).ok_or_else(unfinished)? {
            b'%' if at == 1 => return Ok((Directive::Percent, 2)),
            b'>' => is_final = true,
            b'<' | b'!' | b',' | b'0'..=b'9' => {}
            b'{' => {
                let length = text[at..].find('}').ok_or_else(unfinished)?;
                argument = Some(&text[at + 1..at + length]);
                at += length;
            }
            b'^' => {
                let letters = bytes.get(at + 1..at + 3).ok_or_else(unfinished)?;
                if !letters.iter().all(u8::is_ascii_alphabetic) {
                    return Err(unfinished());
                }
                return Ok((Directive::Field(Variable::SKIPPED), at + 3));
            }
            letter if letter.is_ascii_alphabetic() => {
                let letter = char::from(*letter);
                let variable = Variable::of_apache(letter, argument, is_final);
                let directive = match (letter, argument) {
                    ('t', None) => Directive::Time(variable),
                    _ => Directive::Field(variable),
                };
                return Ok((directive, at + 1));
            }
            _ => return Err(unfinished()),
        }
        at += 1;
    }
}

#[cold]
fn wrong(position: usize, what: &str, to_do: &str) -> Error {
    Error::config(format!("log format, position {position}: {what}; {to_do}"))
}

/// The start of `text`, for a message.
fn shortened(text: &str) -> String {
    show(text.as_bytes().get(..60).unwrap_or(text.as_bytes())).to_string()
}
