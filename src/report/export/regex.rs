//! Regular expressions for what rules compare, with the same meaning in Java and JavaScript.

/// A regular expression that matches exactly `text`. Only ASCII has special characters.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"-_~/=&%".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// `text` as a replacement in Java.
pub(super) fn replacement(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$")
}

/// The pattern of a path as a regular expression; `None` if it is no pattern, or holds what no
/// canonical URL does.
pub(super) fn path_regex(path: &str) -> Option<String> {
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut out = String::new();
    let mut rest = path;
    while let Some(at) = rest.find(['*', '{']) {
        out.push_str(&quoted(&rest[..at]));
        if rest[at..].starts_with('*') {
            out.push_str("[^?#]*");
            rest = &rest[at + 1..];
            continue;
        }
        let end = at + rest[at..].find('}')?;
        let (name, length) = match rest[at + 1..end].split_once(':') {
            Some((name, length)) => (name, format!("{{{length}}}")),
            None => (&rest[at + 1..end], "+".to_string()),
        };
        out.push_str(&match name {
            "num" => format!("[0-9]{length}"),
            "hex" if length == "+" => "[0-9A-Fa-f]{8,}".to_string(),
            "hex" => format!("[0-9A-Fa-f]{length}"),
            "slug" => format!("[0-9A-Za-z_-]{length}"),
            "base64" => format!("[0-9A-Za-z+_=-]{length}"),
            "date" => "[0-9]{4}-[0-9]{2}-[0-9]{2}".to_string(),
            "uuid" => "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}".to_string(),
            "*" => format!("[^/?#]{length}"),
            _ => return None,
        });
        rest = &rest[end + 1..];
    }
    out.push_str(&quoted(rest));
    Some(out)
}

/// The start of a URL of the rule's site, up to its path, as a regular expression.
pub(super) fn site_regex(site: &str) -> String {
    format!("https?://(?:[^/?#]*[.@])?{}(?::[0-9]*)?(?=[/?#]|$)", quoted(site))
}
