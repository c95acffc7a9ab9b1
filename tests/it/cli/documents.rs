//! The documents: their examples run, and they are fresh.

use super::*;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_rule_pages_are_fresh() {
    let pages = Dir::new().run("rules pages").quiet().out();
    let file = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    assert!(pages == file, "docs/rules.md is stale: make docs");
}

/// The commands of the `console` blocks of `text` with what they should print. A block below the
/// comment `<!-- not run -->` is left out.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let (mut inside, mut above) = (false, "");
    for line in text.lines() {
        if inside {
            if line.starts_with("```") {
                inside = false;
            } else if let Some(command) = line.strip_prefix("$ ") {
                found.push((command.to_string(), String::new()));
            } else if let Some((command, output)) = found.last_mut() {
                match command.strip_suffix('\\') {
                    Some(start) if output.is_empty() => *command = format!("{start}{line}"),
                    _ => output.extend([line, "\n"]),
                }
            }
        } else if line.starts_with("```console") {
            inside = above != "<!-- not run -->";
        }
        if !line.trim().is_empty() {
            above = line.trim();
        }
    }
    found
}

#[test]
fn the_examples_of_the_readme_hold() {
    let commands = check_examples("README.md");
    assert!(commands >= 5, "only {commands} commands were run");
}

#[test]
fn the_examples_of_the_pages_hold() {
    for page in ["docs/outputs.md", "docs/formats.md", "docs/generator.md"] {
        assert!(check_examples(page) > 0, "{page}: no command was run");
    }
    for page in fs::read_dir(root().join("docs/formats")).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        // Their commands need a feature, or a tool that not every machine has.
        let is_not_run = ["parquet.md", "compression.md"].contains(&&*name);
        let commands = check_examples(&format!("docs/formats/{name}"));
        assert!(is_not_run || commands > 0, "{name}: no command was run");
    }
}

#[test]
fn the_table_of_formats_has_all_names() {
    let page = fs::read_to_string(root().join("docs/formats.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let formats = Dir::new().run("formats").quiet().out();
    for name in formats.lines().filter_map(|line| line.split(' ').next()) {
        let name = format!("`{name}`");
        let first = |row: &&str| row.split(" | ").next().unwrap().contains(&name);
        assert_eq!(rows.iter().filter(|row| first(row)).count(), 1, "docs/formats.md: {name}");
    }
}

/// Numbers and classes of rules are those that `rules list` tells, and each is marked in the first
/// profile that has it.
#[test]
fn the_table_of_rules_is_that_of_the_program() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<&str>>())
        .filter(|cells| cells.len() == 10 && cells[1].starts_with('`'))
        .collect();
    let told = Dir::new().run("rules list").quiet().out();
    let rules: Vec<Vec<&str>> = told
        .lines()
        .map(|line| line.trim_start_matches([' ', '*']).split_whitespace().collect::<Vec<&str>>())
        .filter(|words| words.get(2).is_some_and(|class| class.len() == 1))
        .collect();
    assert!(rules.len() > 15, "{told}");
    assert_eq!(rows.len(), rules.len());
    for (row, rule) in rows.iter().zip(&rules) {
        assert_eq!([row[1].trim_matches('`'), row[2], row[3]], [rule[0], rule[1], rule[2]]);
        let profiles = ["whatwg", "rfc3986", "crawl", "aggressive"];
        match profiles.iter().position(|profile| *profile == rule[3]) {
            Some(profile) => assert!(!row[4 + profile].is_empty(), "{rule:?}: {row:?}"),
            None => assert!(row[4..8].iter().all(|mark| mark.is_empty()), "{rule:?}: {row:?}"),
        }
    }
}

#[test]
fn the_page_of_settings_has_all_keys() {
    let page = fs::read_to_string(root().join("docs/config.md")).unwrap();
    let dir = Dir::with_list();
    dir.put("wrong.toml", "no-such-key = 1\n");
    let told = dir.run("--config wrong.toml in.txt").exits(2).words();
    let keys: Vec<&str> = told.split("expected one of").nth(1).unwrap().split('`').collect();
    let keys = keys.iter().skip(1).step_by(2);
    assert!(keys.clone().count() > 15, "{told}");
    for key in keys {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("[{key}]")), "{key}");
    }
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
    let page = fs::read_to_string(root().join("docs/outputs.md")).unwrap();
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
    let page = fs::read_to_string(root().join("data/README.md")).unwrap();
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

/// Runs the commands of a page and compares what they print. Returns how many there were.
fn check_examples(page: &str) -> usize {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_undust")).parent().unwrap();
    let path = std::env::join_paths(
        [binary.to_path_buf()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let path = path.unwrap();
    // What they write is no part of the project.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("data"), folder.path().join("data")).unwrap();
    let mut commands = 0;
    for (command, expected) in examples(&text) {
        if !command.starts_with("undust ") && !command.contains("| undust ") {
            continue;
        }
        commands += 1;
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(folder.path());
        shell.env("PATH", &path).env_remove("UNDUST_CONFIG").stdin(Stdio::null());
        let output = shell.output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(
            out == expected,
            "$ {command}\n--- it prints\n{out}{}\n--- {page} says\n{expected}",
            show(&output.stderr)
        );
    }
    commands
}

#[test]
fn examples_are_found() {
    let text = "```console\n$ undust a \\\n  b\nx\n\ny\n$ undust c\n```\n<!-- not run -->\n\n\
                ```console\n$ undust d\n```\n```sh\nundust e\n```\n";
    assert_eq!(
        examples(text),
        [
            ("undust a   b".to_string(), "x\n\ny\n".to_string()),
            ("undust c".to_string(), String::new())
        ]
    );
}
