//! The documents: they are fresh, and what they say of the program is so.

mod bounds;
mod examples;
mod links;
mod tables;

use super::*;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a page, which is named from the root.
fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The cells of each row of the table in `page` whose first line is `| head… |`.
fn table<'a>(page: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with(head));
    let cells = |line: &'a str| -> Vec<&'a str> {
        let line = line.trim_start_matches('|').trim_end_matches('|');
        line.split('|').map(str::trim).collect()
    };
    let columns = cells(lines.next().unwrap_or_else(|| panic!("no table {head}"))).len();
    let rows: Vec<_> = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(rows.iter().all(|row| row.len() == columns), "{head}: {rows:#?}");
    rows
}

#[test]
fn the_rule_pages_are_fresh() {
    let pages = Dir::new().run("rules pages").quiet().out();
    let file = page("docs/rules.md");
    assert!(pages == file, "docs/rules.md is stale: make docs");
}

#[test]
fn every_member_of_the_statistics_is_documented() {
    fn members(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(object) => {
                found.extend(object.keys().cloned());
                object.values().for_each(|value| members(value, found));
            }
            serde_json::Value::Array(rows) => rows.iter().for_each(|row| members(row, found)),
            _ => {}
        }
    }
    let page = page("docs/outputs.md");
    let (_, page) = page.split_once("## Statistics").unwrap();
    let dir = Dir::with_list();
    dir.run("--stats=stats.json -o out in.txt").quiet();
    let (mut found, stats) = (Vec::new(), json(&dir.get("stats.json")));
    members(&stats, &mut found);
    assert!(found.len() > 40, "{found:?}");
    for member in found {
        assert!(page.contains(&format!("`{member}`")), "{member}");
    }
}

/// The numbers at the end of the rows of `data/README.md` are those of the files. A number with a
/// word behind it counts something else than lines.
#[test]
fn the_page_of_the_data_counts_its_files() {
    let page = page("data/README.md");
    let (mut folder, mut counted) = ("", 0);
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            folder = heading.split('`').nth(1).unwrap_or("");
        }
        let Some(row) = line.strip_prefix("| `") else { continue };
        let (name, _) = row.split_once('`').unwrap();
        let told = row.trim_end_matches(" |").rsplit("| ").next().unwrap().replace(',', "");
        let Ok(told) = told.parse::<usize>() else { continue };
        let path = root().join("data").join(folder).join(name);
        let Some(found) = count(&path) else { continue };
        assert_eq!(told, found, "data/README.md: {name}");
        counted += 1;
    }
    assert!(counted >= 30, "only {counted} files were counted");
}

/// Entries of a list that is compiled in, rows of a table of cases, lines of another file; `None`
/// if it has none of these.
fn count(path: &Path) -> Option<usize> {
    let mut bytes = fs::read(path).unwrap();
    let kind = path.extension().unwrap().to_str().unwrap();
    match kind {
        "gz" => {
            let packed = std::mem::take(&mut bytes);
            let mut file = flate2::read::MultiGzDecoder::new(&packed[..]);
            file.read_to_end(&mut bytes).unwrap();
        }
        "zst" => bytes = zstd::decode_all(&*bytes).unwrap(),
        "bits" | "parquet" => return None,
        _ => {}
    }
    let is_case = path.parent().unwrap().ends_with("cases");
    let lines = || undust::bytes::Lines::new(&bytes, b'\n');
    let beginning = |start: &[u8]| lines().filter(|line| line.starts_with(start)).count();
    Some(match kind {
        "toml" if beginning(b"[[") > 0 => beginning(b"[["),
        "toml" => beginning(b"    \""),
        "tsv" if is_case => lines().count() - beginning(b"#"),
        _ => lines().count(),
    })
}
