//! Imports go down the floors of ARCHITECTURE.md only; modules of one floor do not see each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The floors, from the bottom up.
const FLOORS: [&[&str]; 7] = [
    &["bytes", "crew", "retry", "limits", "error"],
    &["parts", "reject", "fingerprint"],
    &["input", "record", "canonical"],
    &["cluster", "mine"],
    &["report", "generate"],
    &["pipeline"],
    &["cli"],
];

/// Floors whose modules may see those that stand behind them in the list.
const OPEN_FLOORS: [usize; 2] = [0, 1];

fn floor_of(module: &str) -> Option<(usize, usize)> {
    FLOORS.iter().enumerate().find_map(|(floor, modules)| {
        modules.iter().position(|name| *name == module).map(|place| (floor, place))
    })
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            found.push(path);
        }
    }
}

/// All files of sources: where they are, their places below `src`, and the modules of the
/// crate that they are in.
fn all_sources() -> Vec<(PathBuf, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let named = files.into_iter().map(|file| {
        let place = file.strip_prefix(&root).unwrap().to_path_buf();
        let first = place.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.strip_suffix(".rs").unwrap_or(first).to_string();
        (file, place, module)
    });
    named.collect()
}

/// The modules of this crate that a line of code names: what follows `crate::`, braces included.
fn imports(line: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let rest = &line[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split(['}', ',']).collect(),
            None => vec![rest],
        };
        for name in names {
            let name: String =
                name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            modules.push(name);
        }
    }
    modules
}

#[test]
fn imports_go_down() {
    let mut checked = 0;
    for (file, place, module) in all_sources() {
        if matches!(&*module, "lib" | "main") {
            continue;
        }
        let (floor, at) = floor_of(&module).unwrap_or_else(|| {
            panic!("{module} is on no floor; add it here and to ARCHITECTURE.md")
        });
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let code = line.split("//").next().unwrap();
            assert!(!code.ends_with("crate::{"), "{}: one `use` for each module", place.display());
            for import in imports(code) {
                let Some((other, other_at)) = floor_of(&import) else { continue };
                let within = other == floor && OPEN_FLOORS.contains(&floor) && other_at > at;
                assert!(
                    import == module || other < floor || within,
                    "{}:{}: {module} (floor {floor}) imports {import} (floor {other})",
                    place.display(),
                    number + 1
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 500, "only {checked} imports were seen");
}

/// The road of a rule through `src/mine/`: no module sees one behind it in this list. `rounds.rs`
/// and `mod.rs` lead through them.
const MINE_ROAD: [&str; 10] = [
    "stats",
    "trials",
    "seen",
    "acts",
    "folders",
    "worth",
    "proposed",
    "validated",
    "selected",
    "written",
];

#[test]
fn no_folder_of_mine_knows_of_one_behind_it() {
    let place_of = |name: &str| MINE_ROAD.iter().position(|module| *module == name);
    let mut checked = 0;
    for (file, place, _) in all_sources() {
        let modules = modules_of(&place);
        if modules[0] != "mine" {
            continue;
        }
        let Some(here) = modules.get(1).and_then(|name| place_of(name)) else { continue };
        for line in code_of(&fs::read_to_string(&file).unwrap()).lines() {
            let Some((_, name)) = line.split_once("crate::mine::") else { continue };
            let name = name.split([':', ';', '{']).next().unwrap();
            let there = place_of(name);
            assert!(there.is_some_and(|there| there <= here), "{}: {line}", place.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} imports were seen");
}

#[test]
fn no_module_knows_one_that_knows_it() {
    let sources = all_sources();
    let code: Vec<(Vec<String>, String)> = sources
        .iter()
        .filter(|(_, place, _)| !place.to_str().unwrap().contains("tests"))
        .map(|(file, place, _)| {
            (modules_of(place), code_of(&fs::read_to_string(file).unwrap()).to_string())
        })
        .collect();
    let folders: BTreeSet<&[String]> =
        code.iter().filter_map(|(modules, _)| modules.split_last().map(|(_, up)| up)).collect();
    let (mut edges, mut ordered) = (0, 0);
    for folder in folders.into_iter().filter(|folder| !folder.is_empty()) {
        let known = known_in(folder, &code);
        edges += known.values().map(BTreeMap::len).sum::<usize>();
        let mut left: BTreeSet<&String> = known.keys().collect();
        while let Some(next) = left
            .iter()
            .find(|module| known[**module].keys().all(|other| !left.contains(&other)))
            .copied()
        {
            left.remove(next);
        }
        let circle: Vec<_> = known.iter().filter(|(module, _)| left.contains(module)).collect();
        let folder = folder.join("/");
        assert!(left.is_empty(), "{folder}: these know each other in a circle: {circle:#?}");
        ordered += 1;
    }
    assert!(edges > 550 && ordered > 40, "only {edges} imports in {ordered} folders were seen");
}

/// Which other modules of `folder` each of its modules knows, with a place where that is seen.
fn known_in(
    folder: &[String],
    code: &[(Vec<String>, String)],
) -> BTreeMap<String, BTreeMap<String, String>> {
    let level = folder.len();
    let below: Vec<&(Vec<String>, String)> =
        code.iter().filter(|(modules, _)| modules.starts_with(folder)).collect();
    let root = below.iter().find(|(modules, _)| modules.len() == level);
    let given = root.map(|(_, code)| re_exports(code)).unwrap_or_default();
    let mut known: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (modules, _) in &below {
        known.extend(modules.get(level).map(|module| (module.clone(), BTreeMap::new())));
    }
    for (modules, code) in below {
        let Some(here) = modules.get(level) else { continue };
        for name in names_of(folder, code, modules.len()) {
            let module = given.get(&name).unwrap_or(&name);
            if module != here && known.contains_key(module) {
                let seen = format!("{}: {name}", modules.join("/"));
                known.get_mut(here).unwrap().insert(module.clone(), seen);
            }
        }
    }
    known
}

/// The modules that the names come from which the root of a folder gives to others.
fn re_exports(code: &str) -> BTreeMap<String, String> {
    let mut given = BTreeMap::new();
    for statement in code.split("\npub").skip(1) {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let Some((path, _)) = path.split_once(';') else { continue };
        let Some((module, names)) = path.split_once("::") else { continue };
        for name in first_names(names) {
            given.insert(name, module.to_string());
        }
    }
    given
}

/// What code in a file `depth` modules deep names of the modules of `folder`, in which it is.
fn names_of(folder: &[String], code: &str, depth: usize) -> Vec<String> {
    let lines = code.lines().map(|line| line.split("//").next().unwrap().trim());
    let code: String = lines.collect::<Vec<_>>().join(" ");
    let absolute = format!("crate::{}::", folder.join("::"));
    let relative = "super::".repeat(depth - folder.len());
    let mut names = Vec::new();
    for prefix in [&absolute, &relative] {
        for (at, _) in code.match_indices(prefix.as_str()) {
            // Of three `super::` only two are no path of their own.
            if !code[..at].ends_with("::") {
                names.extend(first_names(&code[at + prefix.len()..]));
            }
        }
    }
    names
}

/// The first names of the paths in `text`: of one, or of each in braces.
fn first_names(text: &str) -> Vec<String> {
    let name_of = |text: &str| {
        let text = text.trim_start();
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let Some(list) = text.strip_prefix('{') else { return vec![name_of(text)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b',' | b'}' if depth == 0 => {
                names.push(name_of(&list[start..at]));
                start = at + 1;
            }
            _ => continue,
        }
        if byte == b'}' && depth == 0 && start == at + 1 {
            break;
        }
    }
    names
}

/// What of `text`, a file of sources, is not the tests at its end. A `mod tests;` amid the code
/// does not end it.
fn code_of(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

/// The modules that `place` below `src` is in, itself included.
fn modules_of(place: &Path) -> Vec<String> {
    let names = place.with_extension("");
    let names = names.iter().map(|name| name.to_str().unwrap().to_string());
    names.filter(|name| name != "mod").collect()
}

#[test]
fn nothing_climbs_out_of_its_module() {
    for (file, place, _) in all_sources() {
        let text = fs::read_to_string(&file).unwrap();
        let code = code_of(&text);
        let depth = modules_of(&place).len();
        let to_the_root = "super::".repeat(depth);
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap();
            let at = format!("{}:{}", place.display(), number + 1);
            assert!(!line.contains(&to_the_root), "{at}: name other modules by `crate::`");
        }
        // The modules for tests in its list stand before its code.
        let lines = code.lines().count();
        assert!(!place.ends_with("input/mod.rs") || lines > 200, "only {lines} lines were seen");
    }
}

/// What only floors from 5 up do.
const EFFECTS: [&str; 12] = [
    "rayon::",
    "Command::new",
    "available_parallelism",
    "thread::Builder",
    "thread::spawn",
    "thread::scope",
    "thread::sleep",
    "Instant::now",
    "SystemTime::now",
    "println!",
    "eprintln!",
    "process::exit",
];

#[test]
fn low_floors_start_no_thread_read_no_clock_and_print_nothing() {
    let mut checked = 0;
    for (file, place, module) in all_sources() {
        let is_low = floor_of(&module).is_some_and(|at| at.0 < 5);
        // What only tests see.
        let is_for_tests =
            place.to_str().unwrap().contains("tests") || place.ends_with("formats/samples.rs");
        if !is_low || is_for_tests {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = code_of(&text);
        for line in code.lines().map(|line| line.split("//").next().unwrap()) {
            let effect = EFFECTS.iter().find(|effect| line.contains(**effect));
            assert_eq!(effect, None, "{}: {line}", place.display());
        }
        checked += 1;
    }
    assert!(checked > 100, "only {checked} files were seen");
}

/// `ARCHITECTURE.md` names the file, or its folder.
#[test]
fn every_file_with_unsafe_code_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, named) = page.split_once("`unsafe` is denied").unwrap();
    let (named, _) = named.split_once("\n## ").unwrap();
    let mut files: Vec<String> = Vec::new();
    for (file, place, _) in all_sources() {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().map(|line| line.split("//").next().unwrap());
        if code.into_iter().any(|line| line.contains("unsafe {") || line.contains("unsafe fn")) {
            let place = place.to_str().unwrap().to_string();
            let (folder, _) = place.rsplit_once('/').unwrap_or_default();
            let is_named = [place.clone(), format!("{folder}/"), format!("{folder}.rs")];
            let is_named = is_named.iter().any(|name| named.contains(&format!("`{name}`")));
            assert!(is_named, "{place}: not in the list of ARCHITECTURE.md");
            files.push(place);
        }
    }
    for name in named.split('`').skip(1).step_by(2).filter(|name| name.contains('/')) {
        let stem = name.trim_end_matches('/').trim_end_matches(".rs");
        let is_true = files.iter().any(|place| place.starts_with(stem));
        assert!(is_true, "{name}: has no unsafe code, says ARCHITECTURE.md otherwise");
    }
    assert!(files.len() > 8, "only {files:?}");
}

/// Flags of other programs, which messages may advise.
const FLAGS_OF_OTHERS: [&str; 3] = ["--features parquet", "xz --format=lzma", "jq -r"];

/// The first flag of the program in `line`, outside of comments.
fn flag_in(line: &str) -> Option<&str> {
    if line.trim_start().starts_with("//") || FLAGS_OF_OTHERS.iter().any(|one| line.contains(one)) {
        return None;
    }
    let is_flag = |word: &str| {
        let name = word.strip_prefix("--").unwrap_or("");
        name.starts_with(|c: char| c.is_ascii_lowercase())
            || ["-S", "-T", "-j", "-r"].contains(&word)
    };
    line.split(|c: char| c.is_whitespace() || "\"`'(),;:=".contains(c)).find(|word| is_flag(word))
}

/// A message of the library names settings by `Setting`, for which each front end has its own word.
#[test]
fn the_library_names_no_flags() {
    let mut checked = 0;
    for (file, place, module) in all_sources() {
        let is_test = place.components().any(|part| part.as_os_str() == "tests.rs");
        if module == "cli" || is_test || place.components().any(|part| part.as_os_str() == "tests")
        {
            continue;
        }
        checked += 1;
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let flag = flag_in(line);
            assert!(flag.is_none(), "{}:{}: {}", file.display(), number + 1, flag.unwrap());
        }
    }
    assert!(checked > 200, "only {checked} files were checked");
    assert_eq!(flag_in(r#"    "raise -S, or lower --top""#), Some("-S"));
    assert_eq!(flag_in(r#"    "say which it is (--field)","#), Some("--field"));
    for fine in [r#""xn--a.test""#, "a - b", "/// -S", r#""jq -r '.[]'""#, "-1", "a--"] {
        assert_eq!(flag_in(fine), None, "{fine}");
    }
}

#[test]
fn comments_are_no_wider_than_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "tests", "benches"] {
        sources(&root.join(folder), &mut files);
    }
    let mut checked = 0;
    for file in files {
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            // A URL is not cut, and neither is a line of a log that stands for its format.
            let is_comment = line.trim_start().starts_with("//") && !line.contains("://");
            checked += usize::from(is_comment);
            let at = format!("{}:{}", file.display(), number + 1);
            assert!(!is_comment || line.chars().count() <= 100, "{at}: over 100 columns");
        }
    }
    assert!(checked > 5_000, "only {checked} comments were seen");
}

#[test]
fn every_module_is_on_a_floor_and_in_the_map() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lib = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    for line in lib.lines() {
        let module = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ");
        let Some(module) = module.and_then(|rest| rest.strip_suffix(';')) else {
            continue;
        };
        assert!(floor_of(module).is_some(), "{module} is on no floor");
        assert!(map.contains(&format!("`{module}`")), "{module} is not in ARCHITECTURE.md");
    }
}

/// The page with every source file, by folder, and the first sentence of its documentation.
fn map() -> String {
    let mut sources: Vec<(PathBuf, PathBuf, String)> = all_sources();
    sources.retain(|(_, place, _)| !place.to_str().unwrap().contains("tests"));
    sources.sort_by_key(|(_, place, _)| {
        let folder = place.parent().unwrap().to_path_buf();
        (folder, !place.ends_with("mod.rs"), place.clone())
    });
    let mut page = "# The map\n\nEvery source file, with the first sentence of its documentation. Made from the files by \
         `make docs`; a test fails\nwhen this page is stale. What the folders are for, and which may see \
         which: [ARCHITECTURE.md](../ARCHITECTURE.md).\n"
        .to_string();
    let mut folder = None;
    for (file, place, _) in &sources {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        // What stands under a heading follows an empty line.
        let words: Vec<&str> = lines
            .skip_while(|line| line.is_empty() || line.starts_with('#'))
            .take_while(|line| !line.is_empty())
            .collect();
        let words = words.join(" ").replace("HOT: ", "");
        // How often it runs is not what it is.
        let words = match words.split_once(". ") {
            Some((often, rest)) if often.starts_with("once per") => rest,
            _ => &words,
        };
        let sentence = words.split_once(". ").map_or(words, |(sentence, _)| sentence);
        assert!(!sentence.is_empty(), "{}: no documentation", place.display());
        let is_whole = sentence.matches('`').count() % 2 == 0;
        assert!(is_whole, "{}: \"{sentence}\" ends amid code", place.display());
        let parent = place.parent().unwrap();
        if folder != Some(parent) {
            folder = Some(parent);
            let shown = Path::new("src").join(parent);
            page += &format!("\n## `{}/`\n\n", shown.display().to_string().trim_end_matches('/'));
        }
        let name = place.file_name().unwrap().to_str().unwrap();
        page += &format!("- `{name}`: {}\n", sentence.trim_end_matches(['.', ':']));
    }
    page
}

#[test]
fn the_map_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/map.md");
    if std::env::var_os("UNDUST_WRITE_MAP").is_some() {
        fs::write(&path, map()).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(page == map(), "docs/map.md is stale: make docs");
}

/// The words of `text` in lower case, each between blanks, with those of names apart; comment marks
/// are no words.
fn words_of(text: &str) -> String {
    let mut words = " ".to_string();
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        // `CommonLine` is two words, `DUST` is one.
        let mut was_small = false;
        for letter in word.chars() {
            if was_small && letter.is_uppercase() {
                words.push(' ');
            }
            was_small = !letter.is_uppercase();
            words.extend(letter.to_lowercase());
        }
        words.push(' ');
    }
    words
}

/// A word that the source has no more is stale, and one with two meanings explains nothing.
#[test]
fn every_word_of_the_glossary_stands_once_and_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, glossary) = page.split_once("| word | meaning |").unwrap();
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let mut words: Vec<&str> = rows.flat_map(|row| row.split(", ")).collect();
    assert!(words.len() > 40, "only {} words were seen", words.len());
    words.sort_unstable();
    let twice: Vec<_> = words.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let source: String = all_sources()
        .iter()
        .map(|(file, ..)| words_of(&fs::read_to_string(file).unwrap()))
        .collect();
    words.retain(|word| {
        let word = words_of(word);
        let plural = format!("{}s ", word.trim_end());
        !source.contains(&word) && !source.contains(&plural)
    });
    assert!(words.is_empty(), "no source file has the words {words:?} of the glossary");
}
