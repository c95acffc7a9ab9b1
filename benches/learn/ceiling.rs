//! What rules could do on a generated site if all were known that can be: every spelling of a page
//! one form, but for what no content shows to be one page, or what holds for some values only.

use std::collections::{BTreeMap, BTreeSet};

use crate::Row;

/// Views in bytes of their own, and what holds for some values on some lists only. The parameters
/// of those that have many values, by the names that the generator gives them.
const APART: [(&str, &[&str]); 5] = [
    ("print-view", &[]),
    ("highlight", &["highlight", "mark", "words"]),
    ("page-overrun", &["page", "p", "pg"]),
    ("limit", &["limit", "max", "count", "show"]),
    ("sort", &["sort", "order", "orderby", "by"]),
];

/// Contents that the mobile host shares with the others where it shows the same bytes.
const SHARED_MIN: usize = 20;

/// The form of each URL.
pub(crate) type Forms = BTreeMap<String, String>;

/// The forms of `rows`.
pub(crate) fn forms(rows: &[Row]) -> Forms {
    let is_mobile = |row: &Row| row.tags.contains(&"mobile-host");
    let mut hosts: BTreeMap<(u64, &str), BTreeSet<bool>> = BTreeMap::new();
    // A refusal is one content whatever is asked for, and so is no body at all.
    let answers = rows.iter().filter(|row| row.status == Some(200) && row.method == "GET");
    for row in answers.filter(|row| !row.tags.contains(&"block-page")) {
        if let (Some(page), Some(digest)) = (row.page, &row.digest) {
            hosts.entry((page, digest)).or_default().insert(is_mobile(row));
        }
    }
    let shared = hosts.values().filter(|hosts| hosts.len() == 2).count();
    let mut forms = Forms::new();
    for row in rows {
        let mut form = row.page.unwrap_or_default().to_string();
        if is_mobile(row) && shared < SHARED_MIN {
            form += " mobile";
        }
        for (tag, names) in APART.iter().filter(|(tag, _)| row.tags.contains(tag)) {
            form.push_str(tag);
            let query = row.url.split_once('?').map_or("", |(_, query)| query);
            let is_named = |pair: &&str| names.contains(&pair.split('=').next().unwrap_or(""));
            query.split('&').filter(is_named).for_each(|pair| form += pair);
        }
        forms.entry(row.url.clone()).or_insert(form);
    }
    forms
}

/// The form of `url`; the URL itself if it is not known.
pub(crate) fn form(forms: &Forms, url: &str) -> Vec<u8> {
    forms.get(url).map_or(url, String::as_str).as_bytes().to_vec()
}
