//! The links between pages: the file is there, and so is the heading.

use super::*;

/// Folders without pages of the project.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// The paths of the pages below `folder`.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !SKIPPED.iter().any(|name| path.ends_with(name)) {
            pages(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "md") {
            found.push(path);
        }
    }
}

/// The lines of `page` that are not in fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

/// The anchor that a heading gets where the page is shown: lower case, hyphens for blanks, and no
/// other marks.
fn anchor(heading: &str) -> String {
    assert!(!heading.contains("]("), "a link in a heading: {heading}");
    let text = heading.trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Does `page` have a heading with this anchor?
fn has_anchor(page: &str, wanted: &str) -> bool {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|found| found == wanted)
}

/// The targets of the links of `page` that are in the project.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let links = prose(page).flat_map(|line| line.split("](").skip(1));
    let targets = links.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains(':'))
}

/// Why the link from the page at `from` to `target` leads nowhere.
fn broken(from: &Path, target: &str) -> Option<&'static str> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { from.to_path_buf() } else { from.parent()?.join(file) };
    if !path.exists() {
        return Some("no such file");
    }
    let lacks = |page: String| !has_anchor(&page, heading);
    (!heading.is_empty() && fs::read_to_string(path).is_ok_and(lacks)).then_some("no such heading")
}

#[test]
fn links_lead_somewhere() {
    let mut paths = Vec::new();
    pages(root(), &mut paths);
    let mut checked = 0;
    for from in &paths {
        for target in links(&fs::read_to_string(from).unwrap()) {
            checked += 1;
            let why = broken(from, target);
            assert!(why.is_none(), "{}: {target}: {}", from.display(), why.unwrap());
        }
    }
    assert!(checked > 100, "only {checked} links were found");
}

#[test]
fn links_that_lead_nowhere_are_noticed() {
    let readme = root().join("README.md");
    for (target, expected) in [
        ("docs/limits.md", None),
        ("#limits", None),
        ("docs/performance.md#how-cost-grows", None),
        ("docs/no-such-page.md", Some("no such file")),
        ("#no-such-heading", Some("no such heading")),
        ("docs/performance.md#no-such-heading", Some("no such heading")),
    ] {
        assert_eq!(broken(&readme, target), expected, "{target}");
    }
    let page =
        "[a](b.md) and [c](#d)\n```\n[e](f)\n# no heading\n```\n# A `b`, c\n[g](https://h.test/)";
    assert!(links(page).eq(["b.md", "#d"]));
    assert!(has_anchor(page, "a-b-c") && !has_anchor(page, "no-heading"));
}
