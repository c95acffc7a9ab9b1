//! `Clean-param` lines of robots.txt: parameters that a site says do not matter.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::is_plain;
use crate::canonical::{DustKind, DustRule};

/// Path and parameter of a `Clean-param` line. Its path is a prefix, in which `*` is any text;
/// other patterns would match more than they should.
pub(super) fn robots_line(rule: &DustRule) -> Option<(&str, &str)> {
    let DustKind::DropParam { param } = &rule.kind else { return None };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_path = |byte: u8| is_name(byte) || b"/*".contains(&byte);
    let path = match rule.scope.path.as_str() {
        "" | "*" => "",
        path => path.strip_suffix('*')?,
    };
    let is_fine = is_plain(rule) && param.bytes().all(is_name) && path.bytes().all(is_path);
    is_fine.then_some((path, param))
}

pub(super) fn robots(rules: &[&DustRule]) -> String {
    /// Longest line that its readers take, in characters. Source: Yandex, "Clean-param".
    const LINE: usize = 500;
    let mut sites: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for rule in rules {
        if let Some((path, param)) = robots_line(rule) {
            sites.entry(&rule.site).or_default().entry(path).or_default().push(param);
        }
    }
    let mut text = String::new();
    for (site, paths) in sites {
        let _ = writeln!(text, "# robots.txt of {site}\nUser-agent: *");
        for (path, mut params) in paths {
            params.sort_unstable();
            params.dedup();
            let mut line = String::new();
            for param in params {
                if !line.is_empty() && line.len() + param.len() + path.len() + 2 > LINE {
                    let _ = writeln!(text, "{}", clean_param(&line, path));
                    line.clear();
                }
                if line.is_empty() {
                    line.push_str("Clean-param: ");
                } else {
                    line.push('&');
                }
                line.push_str(param);
            }
            let _ = writeln!(text, "{}", clean_param(&line, path));
        }
        text.push('\n');
    }
    text
}

fn clean_param(line: &str, path: &str) -> String {
    format!("{line} {path}").trim_end().to_string()
}
