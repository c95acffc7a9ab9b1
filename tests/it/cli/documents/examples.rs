//! The examples of all pages: commands print what is below them, TOML is accepted.

use std::ffi::OsString;

use super::*;

/// Programs that examples may start beside undust: they read files or standard input, and write to
/// standard output.
const PROGRAMS: [&str; 10] =
    ["undust", "awk", "cat", "grep", "head", "printf", "sed", "sort", "uniq", "wc"];

/// Languages of blocks. Those in Rust, and in Python on the page of the wheel, are run elsewhere
/// (`cargo test --doc`, `python/tests`); those in `sh` and `text` are not run.
const LANGUAGES: [&str; 6] = ["console", "python", "rust", "sh", "text", "toml"];

/// What is done with a block that has the comment `<!-- not run -->` above it.
enum Marked {
    /// It is not run, for this reason.
    Left(#[expect(dead_code, reason = "the reason is for readers of the list")] &'static str),
    /// It is run all the same.
    Run,
    /// It is run, but what it prints is too long to be shown.
    Unshown,
}

/// The blocks that are marked, by page and start of the first command.
const MARKED: [(&str, &str, Marked); 4] = [
    ("docs/formats/compression.md", "xz -c ", Marked::Left("not every machine has xz")),
    (
        "docs/formats/parquet.md",
        "undust --field url_host_name ",
        if cfg!(feature = "parquet") {
            Marked::Run
        } else {
            Marked::Left("needs the feature parquet")
        },
    ),
    ("docs/generator.md", "undust generate site --preset clean ", Marked::Unshown),
    ("docs/outputs.md", "undust dedup --to parquet ", Marked::Left("not every machine has DuckDB")),
];

/// A fenced block of a page.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    language: &'a str,
    text: String,
    /// Is `<!-- not run -->` above it?
    is_marked: bool,
}

impl Block<'_> {
    /// The commands of a block in `console`, with what they should print.
    fn commands(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for line in self.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                found.push((command.to_string(), String::new()));
                continue;
            }
            let (command, output) = found.last_mut().expect("a command comes first");
            match command.strip_suffix('\\') {
                Some(start) if output.is_empty() => *command = format!("{start}{line}"),
                _ => output.extend([line, "\n"]),
            }
        }
        found
    }
}

/// The fenced blocks of `page`.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let (mut open, mut above): (Option<Block<'_>>, &str) = (None, "");
    for line in page.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, Some(language)) => {
                let is_marked = above == "<!-- not run -->";
                open = Some(Block { language, text: String::new(), is_marked });
            }
            (None, None) => {}
        }
        if !line.trim().is_empty() {
            above = line.trim();
        }
    }
    assert!(open.is_none(), "a block has no end");
    found
}

/// The names of all pages, but for the records of measurements.
fn pages() -> Vec<String> {
    let folders = ["", "benches/peers", "data", "docs", "docs/formats", "fuzz", "python"];
    let mut pages: Vec<String> = folders
        .into_iter()
        .flat_map(|folder| {
            let entries = fs::read_dir(root().join(folder)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let pages = names.filter(|name| name.ends_with(".md"));
            pages.map(move |name| Path::new(folder).join(name).display().to_string())
        })
        .collect();
    pages.sort();
    pages
}

/// A folder in which the commands of one page run, with the samples in `data`.
struct Scratch {
    folder: Dir,
    path: OsString,
}

impl Scratch {
    fn new() -> Scratch {
        let folder = Dir::new();
        std::os::unix::fs::symlink(root().join("data"), folder.path("data")).unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_undust")).parent().unwrap().to_path_buf();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = [binary].into_iter().chain(std::env::split_paths(&others));
        Scratch { folder, path: std::env::join_paths(path).unwrap() }
    }

    fn run(&self, command: &str) -> std::process::Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.folder.path("")).stdin(Stdio::null());
        shell.env("PATH", &self.path).env_remove("UNDUST_CONFIG").output().unwrap()
    }

    /// Runs the commands of a block, and compares what they print.
    #[track_caller]
    fn check(&self, page: &str, block: &Block<'_>, is_shown: bool) -> usize {
        let commands = block.commands();
        for (command, expected) in &commands {
            for program in programs(command) {
                let is_known = PROGRAMS.contains(&program.as_str());
                assert!(is_known, "{page}: may {program} be run in this? $ {command}");
            }
            let output = self.run(command);
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(
                if is_shown { out == *expected } else { output.status.success() },
                "$ {command}\n--- it prints\n{out}{}\n--- {page} says\n{expected}",
                show(&output.stderr)
            );
        }
        commands.len()
    }
}

/// The programs that `command` starts: the first word, and each one behind `|`, `&&` or `;`.
fn programs(command: &str) -> Vec<String> {
    let (mut found, mut quote, mut word) = (Vec::new(), None, Some(String::new()));
    for letter in command.replace("2>&1", "").chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | ';' | '&') => {
                found.extend(word.replace(String::new()));
                continue;
            }
            (None, ' ') if word.as_ref().is_some_and(|word| !word.is_empty()) => {
                found.extend(word.take());
            }
            (None, ' ') => {}
            _ => word.iter_mut().for_each(|word| word.push(letter)),
        }
    }
    found.extend(word);
    found.retain(|word| !word.is_empty());
    found
}

#[test]
fn the_commands_of_all_pages_print_what_is_below_them() {
    let (mut commands, mut marked) = (0, Vec::new());
    for name in pages() {
        let (page, scratch) = (page(&name), Scratch::new());
        let blocks = blocks(&page);
        for block in &blocks {
            let language = block.language;
            assert!(LANGUAGES.contains(&language), "{name}: a block in {language:?}");
        }
        let consoles = || blocks.iter().filter(|block| block.language == "console");
        let is_format = name.starts_with("docs/formats/");
        assert!(!is_format || consoles().count() > 0, "{name}: no example");
        // The file of the example is made by a script farther down.
        if name == "docs/learning.md" {
            let script = blocks.iter().find(|block| block.language == "sh").unwrap();
            assert!(scratch.run(&script.text).status.success(), "{name}: {}", script.text);
        }
        for block in consoles() {
            let first = block.commands().swap_remove(0).0;
            let listed = MARKED.iter().position(|(page, start, _)| {
                *page == name && first.starts_with(start) && block.is_marked
            });
            assert_eq!(block.is_marked, listed.is_some(), "{name}: MARKED and $ {first}");
            marked.extend(listed);
            commands += match listed.map(|at| &MARKED[at].2) {
                Some(Marked::Left(_)) => 0,
                Some(Marked::Unshown) => scratch.check(&name, block, false),
                Some(Marked::Run) | None => scratch.check(&name, block, true),
            };
        }
        if name == "docs/learning.md" {
            let file = scratch.folder.text("rules.toml");
            let told: Vec<&str> = file.lines().filter(|line| !line.contains("examples")).collect();
            let shown = blocks.iter().find(|block| block.language == "toml").unwrap();
            assert!(told.join("\n").contains(shown.text.trim()), "{name}: {}\n{file}", shown.text);
        }
    }
    assert_eq!(marked, [0, 1, 2, 3], "a row of MARKED is stale");
    assert!(commands > 40, "only {commands} commands were run");
}

/// The tests of the wheel run the examples of its own page.
#[test]
fn the_python_of_all_pages_is_on_the_page_of_the_wheel() {
    const WHEEL: &str = "python/README.md";
    let wheel = page(WHEEL);
    let run = blocks(&wheel);
    for name in pages().iter().filter(|name| *name != WHEEL) {
        let page = page(name);
        for block in blocks(&page).iter().filter(|block| block.language == "python") {
            let is_run = |other: &Block<'_>| other.text.contains(&block.text);
            assert!(run.iter().any(is_run), "{name}: not in {WHEEL}:\n{}", block.text);
        }
    }
}

/// Rule files are free of mistakes and their examples hold; other files are settings.
#[test]
fn the_toml_of_all_pages_is_accepted() {
    let (mut rules, mut settings) = (0, 0);
    for name in pages() {
        let page = page(&name);
        for block in blocks(&page).iter().filter(|block| block.language == "toml") {
            let dir = Dir::with_list();
            if !block.text.contains("[[rule]]") && !block.text.contains("[rule.") {
                dir.put("given.toml", &block.text);
                dir.run("canon --config given.toml in.txt").quiet();
                settings += 1;
                continue;
            }
            // What belongs to a rule may be shown without it.
            let rule = "[[rule]]\nsite = \"foo.org\"\nkind = \"drop-param\"\nparam = \"sid\"\n";
            let is_part = block.text.starts_with("[rule.");
            dir.put("rules.toml", if is_part { rule } else { "" }.to_string() + &block.text);
            dir.run("rules lint rules.toml").quiet();
            dir.run("rules test rules.toml").quiet();
            dir.run("canon --rules rules.toml in.txt").quiet();
            rules += 1;
        }
    }
    assert!(rules >= 3 && settings >= 1, "{rules} rule files, {settings} settings");
}

#[test]
fn examples_are_found() {
    let page = "```console\n$ undust a \\\n  b\nx\n\ny\n$ undust c\n```\n<!-- not run -->\n\n\
                ```console\n$ undust d\n```\n```sh\nundust e\n```\n";
    let found = blocks(page);
    let kinds: Vec<_> = found.iter().map(|block| (block.language, block.is_marked)).collect();
    assert_eq!(kinds, [("console", false), ("console", true), ("sh", false)]);
    assert_eq!(
        found[0].commands(),
        [
            ("undust a   b".to_string(), "x\n\ny\n".to_string()),
            ("undust c".to_string(), String::new())
        ]
    );
    let command = "a 'b | c' \"d;e\" 2>&1 > /dev/null| f -g && h|i; 'j' k";
    assert_eq!(programs(command), ["a", "f", "h", "i", "j"]);
}
