//! A bound on memory, and what does not fit in it.

use super::*;

/// Options for as little memory as one thread can do with.
const LITTLE: &str = "-S 8M -j1";

/// Makes a list with more different URLs than fit in 8 MiB.
fn large() -> Vec<u8> {
    generated(400_000, 11)
}

#[test]
fn little_memory_shows_in_nothing() {
    let dir = Dir::new();
    let list = large();
    dir.put("in.txt", &list);
    dir.put("in.zst", zstd(&list));
    fs::create_dir(dir.path("temp")).unwrap();
    for options in ["", "--print canonical", "-p lines"] {
        let expected = dir.run(&format!("{options} in.txt")).quiet().out;
        let told = "--stats=stats.json -T temp";
        for input in ["in.txt", "--no-map in.txt", "in.zst"] {
            let args = format!("{LITTLE} {told} {options} {input}");
            assert!(dir.run(&args).quiet().out == expected, "{args}");
            let memory = &json(&dir.get("stats.json"))["memory"];
            assert_eq!(memory["budget_bytes"], 8 << 20, "{args}");
            assert!(memory["spilled_bytes"].as_u64().unwrap() > 1 << 20, "{args}: {memory}");
            assert!(memory["table_bytes"].as_u64().unwrap() < 4 << 20, "{args}: {memory}");
            assert!(memory["spilled_after_lines"].as_u64().unwrap() > 50_000, "{args}: {memory}");
        }
        let args = format!("{LITTLE} {told} {options}");
        assert!(dir.feed(&args, &list).quiet().out == expected, "{args}");
    }
    assert_eq!(fs::read_dir(dir.path("temp")).unwrap().count(), 0);
}

#[test]
fn a_byte_order_mark_is_no_part_of_what_waits() {
    let dir = Dir::new();
    dir.put("in.txt", large());
    // Long enough to be mapped; the first line is kept.
    let marked = ["\u{feff}http://mark.test/\n".as_bytes(), &generated(20_000, 12)].concat();
    dir.put("marked.txt", marked);
    for options in ["", "--print line"] {
        let args = format!("{options} in.txt marked.txt");
        let expected = dir.run(&args).quiet().out;
        assert!(dir.run(&format!("{LITTLE} {args}")).quiet().out == expected, "{options}");
    }
}

#[test]
fn what_waits_is_written_before_damage_is_told() {
    let dir = Dir::new();
    let packed = gzip(&large());
    dir.put("cut.gz", &packed[..packed.len() / 10 * 9]);
    let expected = dir.run("cut.gz").exits(2).says("cut short");
    let run = dir.run(&format!("{LITTLE} cut.gz")).exits(2).says("cut short");
    assert!(expected.out.len() > 8 << 20 && run.out == expected.out, "{}", run.out.len());
    assert_eq!(run.words(), expected.words());
    // Nothing is published, as ever.
    dir.run(&format!("{LITTLE} -o out cut.gz")).exits(2).says("cut short");
    assert_eq!(dir.names(), ["cut.gz"]);
}

/// The most anonymous memory that a run was seen with, in bytes; `stdin` is fed to it.
#[cfg(target_os = "linux")]
fn anonymous_peak(dir: &Dir, args: &str, stdin: &[u8]) -> u64 {
    let mut child = dir.command(&args.split(' ').collect::<Vec<_>>()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut pipe, stdin) = (child.stdin.take().unwrap(), stdin.to_vec());
    let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let begin = std::time::Instant::now();
    let mut peak = 0;
    let end = loop {
        if let Some(end) = child.try_wait().unwrap() {
            break end;
        }
        assert!(begin.elapsed() < PATIENCE, "{args}");
        // The process may end meanwhile.
        let told = fs::read_to_string(&status).unwrap_or_default();
        let anonymous = told.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = anonymous.and_then(|text| text.trim().strip_suffix(" kB"));
        peak = peak.max(kilobytes.map_or(0, |text| text.parse::<u64>().unwrap() << 10));
        std::thread::sleep(Duration::from_millis(1));
    };
    writer.join().unwrap();
    assert!(end.success(), "{args}");
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_stays_within_its_memory() {
    const BUDGET: u64 = 14 << 20;
    /// What the program itself may take on top: a part of what `docs/limits.md` says.
    const ITSELF: u64 = 1 << 20;
    let dir = Dir::new();
    let list = generated(800_000, 13);
    dir.put("in.txt", &list);
    dir.put("known.txt", generated(400_000, 14));
    let print = "-p crawl --print canonical";
    for options in ["-p lines", "-p crawl", "-p aggressive", print, "--not-in known.txt"] {
        for (input, stdin) in [(" in.txt", &[][..]), ("", &list)] {
            let args = format!("-S 14M -j2 {options} -o out.txt --stats=stats.json{input}");
            let peak = anonymous_peak(&dir, &args, stdin);
            let stats = json(&dir.get("stats.json"));
            let memory = &stats["memory"];
            assert!(memory["spilled_bytes"].as_u64().unwrap() > 1 << 20, "{args}: {memory}");
            // Seen at all; and no more than there may be.
            assert!(peak > 4 << 20 && peak < BUDGET + ITSELF, "{args}: {peak} bytes");
            let told = stats["peak_anonymous_bytes"].as_u64().unwrap();
            assert!(told >= peak / 2 && told < BUDGET + ITSELF, "{args}: told {told} bytes");
        }
    }
}

/// Rows are longer than their lines, most of all where these are short and no UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn rows_that_wait_stay_within_the_memory() {
    const BUDGET: u64 = 16 << 20;
    let dir = Dir::new();
    dir.put("in.txt", b"\xff\n".repeat(1 << 21));
    for to in ["jsonl", "csv"] {
        let args = format!("canon -q -j8 -S 16M --to {to} --stats=stats.json in.txt");
        let mut child = dir.command(&args.split(' ').collect::<Vec<_>>()).spawn().unwrap();
        // As much is put together as may be, until somebody reads.
        std::thread::sleep(Duration::from_millis(1_500));
        let mut out = child.stdout.take().unwrap();
        let length = std::io::copy(&mut out, &mut std::io::sink()).unwrap();
        assert!(child.wait().unwrap().success() && length > 10 << 20, "{to}: {length}");
        let peak = json(&dir.get("stats.json"))["peak_anonymous_bytes"].as_u64().unwrap();
        assert!(peak > 1 << 20 && peak < BUDGET + (1 << 20), "{to}: {peak} bytes");
    }
}

#[test]
fn what_is_known_of_wide_tables_stays_within_the_memory() {
    let dir = Dir::new();
    let cells = 500_000;
    let text = [
        ("table", format!("url{}\nhttp://a.test/{}\n", ",x".repeat(cells), ",".repeat(cells))),
        ("tabs", format!("url{}\nhttp://a.test/{}\n", "\tx".repeat(cells), "\t".repeat(cells))),
        ("list", format!("http://a.test/{}\n", " ,".repeat(cells / 2))),
    ];
    for (name, text) in text {
        dir.put(name, &text);
        dir.run(&format!("{LITTLE} -q -o /dev/null --stats=stats.json {name}")).exits(0);
        let peak = json(&dir.get("stats.json"))["peak_anonymous_bytes"].as_u64().unwrap();
        assert!(peak < 14 << 20, "{name}: {peak} bytes");
    }
    // As many columns as are looked at, and one more.
    let table = |columns: usize| {
        format!(
            "url{0}\n{1}\n{1}\n",
            ",x".repeat(columns - 1),
            "a.test/b".to_owned() + &",".repeat(columns - 1)
        )
    };
    for (columns, expected) in [(16_384, "table: csv"), (16_385, "table: lines")] {
        dir.put("table", table(columns));
        dir.run("-v -o /dev/null table").exits(0).says(expected);
    }
    dir.run("-f csv table").fails("no line looks like csv, which has to tell its columns");
}

#[test]
fn lines_of_mapped_files_wait_where_they_are() {
    let dir = Dir::new();
    // More files than are held, of lines in order and of lines that came before, and no
    // separator at the end.
    dir.put("in0", large());
    // Shorter files are not mapped.
    let padding = "x".repeat((256 << 10) / 50);
    let page = |n: usize| format!("http://a.test/{n}#{padding}\n");
    for file in 1..=70 {
        let lines: String = (0..50).map(|n| page(n * (file % 7) + file)).collect();
        dir.put(&format!("in{file}"), lines.trim_end());
    }
    let inputs: String = (0..=70).map(|file| format!(" in{file}")).collect();
    let expected = dir.run(&inputs).quiet().out;
    let mut spilled = Vec::new();
    for options in ["", "--no-map"] {
        let args = format!("{LITTLE} --stats=stats.json {options}{inputs}");
        assert!(dir.run(&args).quiet().out == expected, "{options}");
        spilled.push(json(&dir.get("stats.json"))["memory"]["spilled_bytes"].as_u64().unwrap());
    }
    assert!(spilled[0] > 1 << 20 && spilled[0] * 2 < spilled[1], "{spilled:?}");
}

#[test]
fn little_memory_does_for_a_second_look() {
    let dir = Dir::new();
    let list = large();
    dir.put("in.txt", &list);
    for options in ["-c", "-d", "-u", "--keep last", "-c -d --keep shortest --print canonical"] {
        let expected = dir.run(&format!("{options} in.txt")).quiet().out;
        let args = format!("{LITTLE} --stats=stats.json {options} in.txt");
        assert!(dir.run(&args).quiet().out == expected, "{args}");
        let memory = &json(&dir.get("stats.json"))["memory"];
        assert!(memory["spilled_bytes"].as_u64().unwrap() > 1 << 20, "{args}: {memory}");
    }
    let expected = dir.run("-c in.txt").quiet().out;
    assert!(dir.feed(&format!("{LITTLE} -c"), &list).quiet().out == expected);
}

#[test]
fn little_memory_does_for_whole_clusters() {
    let dir = Dir::new();
    // Many clusters; then one of many spellings.
    let spellings: String = (0..80_000).map(|n| format!("http://a.test/#{}\n", n / 2)).collect();
    for (list, clusters_spill) in [(large(), true), (spellings.into_bytes(), false)] {
        dir.put("in.txt", &list);
        for options in ["--clusters", "--clusters -d --keep last", "-d"] {
            let args = |more: &str| format!("{more} {options} --dropped dropped in.txt");
            let expected = (dir.run(&args("")).quiet().out, dir.get("dropped"));
            let run = dir.run(&args(&format!("{LITTLE} --stats=stats.json"))).quiet();
            assert!((run.out, dir.get("dropped")) == expected, "{options}");
            let memory = &json(&dir.get("stats.json"))["memory"];
            // Where all clusters are told, all lines go to files, however much memory there is.
            if options != "--clusters" {
                let spilled = memory["spilled_bytes"].as_u64().unwrap();
                assert_eq!(spilled > 1 << 20, clusters_spill, "{options}: {memory}");
            }
        }
    }
}

#[test]
fn little_memory_does_for_a_check() {
    let dir = Dir::new();
    let line = |n: u32| format!("http://a.test/{n}\n");
    let mut list: String = (0..300_000).map(line).collect();
    dir.put("in.txt", &list);
    dir.run(&format!("--check {LITTLE} in.txt")).quiet();
    // The later one repeats a line from before the memory was full.
    list += &(line(290_000) + &line(300_000) + &line(5));
    dir.put("in.txt", &list);
    for options in ["", LITTLE] {
        let run = dir.run(&format!("--check {options} in.txt"));
        run.says("line 300001 is a duplicate: http://a.test/290000");
    }
}

#[test]
fn names_of_a_report_may_go_to_the_disk() {
    let dir = Dir::new();
    let host = |n: u64| n * 7919 % 180_000 / (1 + n % 3);
    let list: String = (0..400_000u64)
        .map(|n| format!("http://h{}.test/{}\n", host(n), ["", "#a", "?"][n as usize % 3]))
        .collect();
    dir.put("in.txt", list);
    fs::create_dir(dir.path("temp")).unwrap();
    // Few pages at first, so that it is late when there are too many.
    let late: String = (0..700_000u64)
        .map(|n| match n {
            0..300_000 => format!("http://a.test/{}\n", n % 100),
            _ => {
                let fragment = ["", "#a"][n as usize % 2];
                format!("http://h{}.test/{}{fragment}\n", n * 7919 % 100_000, n / 2)
            }
        })
        .collect();
    dir.put("late.txt", late);
    let expected = dir.run("report --to json late.txt").out;
    let run = dir.run("report -j2 -S 40M --to json -T temp late.txt").exits(0);
    assert!(run.out == expected);
    for top in ["", "--top 0", "--top 2500"] {
        let expected = dir.run(&format!("report --to json {top} in.txt")).out;
        // With room for all pages, and without.
        for memory in ["96M", "24M"] {
            let args = format!("report -vj2 --to json {top} -S {memory} -T temp in.txt");
            let run = dir.run(&format!("{args} --stats=stats.json")).exits(0);
            let run = run.says("MiB went to temporary files");
            assert!(run.out == expected, "{args}");
            let stats = json(&dir.get("stats.json"));
            assert!(stats["memory"]["spilled_bytes"].as_u64().unwrap() > 1 << 20, "{stats}");
            assert_eq!(stats["memory"]["spilled_after_lines"].is_u64(), memory == "24M", "{stats}");
        }
    }
    // Half a megabyte or a whole one: shells count blocks of 512 or 1024 bytes.
    dir.run_under("-f 1000", "report -j2 -S 40M -T temp -o out in.txt")
        .fails("temp: cannot write or read a temporary file")
        .says("; allow the process larger files (ulimit -f), or raise -S");
    assert_eq!(fs::read_dir(dir.path("temp")).unwrap().count(), 0);
    assert_eq!(dir.names(), ["in.txt", "late.txt", "stats.json", "temp"]);
}

#[test]
fn jobs_that_hold_much_in_memory_say_when_they_cannot() {
    let dir = Dir::new();
    let sections: String = (0..30_000).map(|n| format!("http://a.test/section-{n}/\n")).collect();
    dir.put("in.txt", sections);
    dir.run(&format!("report {LITTLE} in.txt")).exits(0);
    dir.run(&format!("report {LITTLE} --top 20000 -o out in.txt"))
        .fails("the names that are shown of one table")
        .says("raise -S, or lower --top");
    let long = "x".repeat(120);
    let spellings: String = (0..12_000).map(|n| format!("http://a.test/#{long}{n}\n")).collect();
    dir.put("in.txt", spellings);
    dir.run(&format!("report {LITTLE} -o out in.txt"))
        .fails("the spellings of the largest clusters")
        .says("lower --top");
    dir.run(&format!("report {LITTLE} --top 0 in.txt")).exits(0);
    assert_eq!(dir.names(), ["in.txt"]);
}

#[test]
fn little_memory_does_for_a_report() {
    let dir = Dir::new();
    let list: String = (0..150_000u32)
        .map(|n| match n % 3 {
            0 => format!("http://a.test/{n}?utm_source=x\n"),
            1 => format!("http://a.test/{}\n", n - 1),
            _ => format!("http://b.test/s{}/{}?{}#top\n", n % 50, n / 100, n % 60),
        })
        .collect();
    // One page, whose forms alone have no room; and lines that do not parse.
    let spellings: String = (0..200_000)
        .map(|n| match n % 50 {
            7 => format!("http://a b.test/{} \n", n % 9),
            _ => format!("http://a.test/#{n}\n"),
        })
        .collect();
    let rules = "[[rule]]\nsite = \"b.test\"\nkind = \"alias-segment\"\nfrom = \"s1\"\nto = \"s2\"\n\
                 [[rule]]\nsite = \"b.test\"\nkind = \"keep-only\"\nparams = [\"id\"]\n";
    dir.put("rules.toml", rules);
    for list in [list, spellings] {
        dir.put("in.txt", &list);
        for options in ["", "--to json", "--rules rules.toml", "-p aggressive"] {
            let options = format!("report --top 0 {options}");
            // The name of the input is the same.
            let expected = dir.feed(&options, list.as_bytes()).quiet().out;
            let run = dir.feed(&format!("{options} {LITTLE} -v"), list.as_bytes());
            assert!(run.out == expected, "{options}");
            run.says("the memory of 8 MiB was used up after").says("MiB went to temporary files");
            let expected = dir.run(&format!("{options} in.txt")).quiet().out;
            let run = dir.run(&format!("{options} -S 9M -j3 in.txt")).quiet();
            assert!(run.out == expected, "{options}");
        }
    }
}

#[test]
fn what_has_room_is_not_spilled() {
    let dir = Dir::with_list();
    dir.run("-S 25% --stats=stats.json in.txt").gives(KEPT);
    let memory = &json(&dir.get("stats.json"))["memory"];
    assert_eq!(memory["spilled_bytes"], 0);
    assert!(memory["spilled_after_lines"].is_null());
}

#[test]
fn spilling_is_told_when_asked() {
    let dir = Dir::new();
    dir.put("in.txt", large());
    dir.run(&format!("{LITTLE} -v -o out in.txt")).says("the memory of 8 MiB was used up after ");
}

#[test]
fn too_little_memory_is_refused() {
    let dir = Dir::with_list();
    dir.run("-S 7M -j1 in.txt")
        .fails("a memory of 7 MiB is too little: one thread needs 8 MiB; raise -S\n");
    dir.run("-S 32M -j100 in.txt").fails("100 threads need 57 MiB; raise -S or lower -j");
    dir.run("-S 64M --line-limit 9M in.txt").fails("raise -S or lower --line-limit");
    dir.run("-S 0% in.txt").fails("no share");
    dir.run("-S lots in.txt").fails("is not a number of bytes");
    dir.run("-S 1X in.txt").fails("unknown suffix");
    // As many threads as there is memory for.
    dir.run("-S 8M in.txt").gives(KEPT);
}

#[test]
fn windows_of_zstd_are_bounded_by_memory() {
    let dir = Dir::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(23).unwrap();
    encoder.write_all(LIST.as_bytes()).unwrap();
    dir.put("in.zst", encoder.finish().unwrap());
    dir.run("-S 16M in.zst")
        .fails("at most 4096 KiB")
        .says("wants 8192 KiB; give it a memory of -S 32M or more");
    dir.run("-S 32M in.zst").gives(KEPT);
}

#[test]
fn frames_are_decompressed_beside_the_workers_where_there_is_room() {
    let dir = Dir::new();
    let list = generated(200_000, 3);
    let frames: Vec<u8> = list.chunks(1 << 20).flat_map(zstd).collect();
    assert!(list.len() > 12 << 20);
    dir.put("in.zst", frames);
    dir.put("in.txt", &list);
    let expected = dir.run("-q in.txt").quiet().out;
    for (memory, threads) in [("8G -j2", 2), ("1700M -j2", 1), ("1G -j2", 0)] {
        let run = dir.run(&format!("-q -S {memory} --stats=stats.json in.zst")).quiet();
        assert!(run.out == expected, "{memory}");
        let stats = json(&dir.get("stats.json"));
        let stage = &stats["stages"]["decompressing"];
        assert_eq!(stage["by_thread"].as_array().unwrap().len(), threads, "{memory}");
        assert_eq!(stage["seconds"].as_f64().unwrap() > 0.0, threads > 0, "{memory}");
    }
    // The same of output.
    dir.run("-q -S 8G -j2 --stats=stats.json in.txt -o out.zst").quiet();
    let stats = json(&dir.get("stats.json"));
    let stage = &stats["stages"]["compressing"];
    assert_eq!(stage["by_thread"].as_array().unwrap().len(), 2);
    assert!(stage["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(stats["stages"]["decompressing"]["seconds"], 0.0);
    assert!(!dir.text("stats.json").contains("-0.0"));
}

#[test]
fn what_is_known_and_does_not_fit() {
    let dir = Dir::new();
    let list = large();
    let half =
        list.len() / 2 + list[list.len() / 2..].iter().position(|b| *b == b'\n').unwrap() + 1;
    dir.put("a", &list[..half]);
    dir.put("b", &list[half / 2..]);
    dir.put("c", generated(100_000, 12));
    dir.run("--seen seen a c").quiet();
    let expected = dir.run("b --not-in a --not-in c").quiet().out;
    assert!(!expected.is_empty());
    assert!(dir.run("b --seen seen").quiet().out == expected);
    for known in ["--not-in a --not-in c", "--not-in c --not-in a"] {
        let run = dir.run(&format!("{LITTLE} b {known} --stats=stats.json")).quiet();
        assert!(run.out == expected, "{known}");
        let stats = json(&dir.get("stats.json"));
        assert!(stats["memory"]["spilled_bytes"].as_u64().unwrap() > 0);
        assert_eq!(
            stats["totals"]["unique"],
            expected.iter().filter(|byte| **byte == b'\n').count()
        );
    }
    // Little that is known, and much that is new.
    dir.put("few", &list[..1 << 10]);
    let expected = dir.run("b --not-in few").quiet().out;
    assert!(dir.run(&format!("{LITTLE} b --not-in few")).quiet().out == expected);
    assert_eq!(dir.names(), ["a", "b", "c", "few", "seen", "stats.json"]);
}

#[test]
fn seen_files_that_do_not_fit() {
    let dir = Dir::new();
    let list = large();
    let half =
        list.len() / 2 + list[list.len() / 2..].iter().position(|b| *b == b'\n').unwrap() + 1;
    let third = generated(100_000, 12);
    dir.put("a", &list[..half]);
    dir.put("b", &list[half / 2..]);
    dir.put("c", &third);
    let runs: Vec<Vec<u8>> = ["a", "b", "c", "a"]
        .map(|input| dir.run(&format!("--seen seen {input}")).quiet().out)
        .to_vec();
    assert!(runs[3].is_empty() && !runs[1].is_empty());
    let mut sizes = Vec::new();
    for (input, expected) in ["a", "b", "c", "a"].into_iter().zip(&runs) {
        let run = dir.run(&format!("{LITTLE} --seen small {input}")).quiet();
        assert!(run.out == *expected, "{input}");
        sizes.push(dir.get("small").len());
    }
    assert_eq!(sizes[3], dir.get("seen").len());
    // With other memory the file goes on to be of use.
    dir.run("--seen small b").gives("");
    dir.run(&format!("{LITTLE} --seen seen c")).gives("");
    // One bit of a record, which are in order still.
    let good = dir.get("small");
    let mut bad = good.clone();
    bad[64 + 16 * 1000] ^= 1;
    dir.put("small", &bad);
    for args in [LITTLE, "-q"] {
        let run = dir.run(&format!("{args} --seen small -o out c"));
        run.fails("small: the seen file is damaged: its records are not those that were written");
        assert!(dir.get("small") == bad && !dir.path("out").exists());
    }
    dir.put("small", good);
    // Of its header, of which the checksum is the end.
    let mut bad = dir.get("small");
    bad[50] ^= 1;
    dir.put("small", &bad);
    let run =
        dir.run("--seen small c").fails("the seen file is damaged: its header is not as it was");
    run.says("put a copy of it in its place, or remove it to begin a new one");
    bad[50] ^= 1;
    dir.put("small", &bad);
    // Damage behind the part that was looked at first.
    let mut bad = dir.get("small");
    let at = bad.len() - 48;
    bad[at..at + 32].rotate_left(16);
    dir.put("small", &bad);
    dir.run(&format!("{LITTLE} --seen small c")).fails("small: the seen file is damaged");
    bad.pop();
    dir.put("small", &bad);
    dir.run(&format!("{LITTLE} --seen small c")).fails("small: the seen file ends too early");
    dir.run("--seen c c").fails("c: expected a seen file of undust, found something else");
    assert_eq!(dir.names(), ["a", "b", "c", "seen", "small"]);
}

/// Beside records that wait, new fingerprints go to a file.
#[test]
fn all_that_is_spilled_for_a_seen_file_is_counted() {
    let dir = Dir::new();
    let list: String = (0..300_000).map(|n| format!("http://a.test/{n}\n")).collect();
    dir.put("in.txt", list);
    let spilled = ["", "--seen seen"].map(|options| {
        dir.run(&format!("{LITTLE} {options} --stats=stats.json -o out in.txt")).quiet();
        json(&dir.get("stats.json"))["memory"]["spilled_bytes"].as_u64().unwrap()
    });
    assert!(spilled[0] > 1 << 20 && spilled[1] * 5 > spilled[0] * 6, "{spilled:?}");
}

#[test]
fn folders_for_temporary_files_have_to_be_of_use() {
    let dir = Dir::new();
    dir.put("in.txt", large());
    // Known before anything is done, but for a folder that takes no files.
    for (folder, why) in [
        ("missing", "--temp-dir missing: expected a folder, found nothing of this name"),
        ("in.txt", "--temp-dir in.txt: expected a folder, found a file"),
        ("/proc", "/proc: cannot make a temporary file"),
    ] {
        dir.run(&format!("{LITTLE} -T {folder} -o out in.txt")).fails(why).says("-T");
    }
    assert_eq!(dir.names(), ["in.txt"]);
}

#[test]
fn a_full_disk_under_temporary_files_is_told() {
    let dir = Dir::new();
    dir.put("in.txt", generated(700_000, 11));
    dir.put("out", "old");
    fs::create_dir(dir.path("temp")).unwrap();
    // 20 or 40 MB: enough for what is written before, not for what is spilled. Lines of a mapped
    // file would stay where they are.
    dir.run_under("-f 40000", &format!("{LITTLE} -T temp --no-map -o out in.txt"))
        .fails("temp: cannot write or read a temporary file")
        .says("; allow the process larger files (ulimit -f), or raise -S");
    assert_eq!(dir.text("out"), "old");
    assert_eq!(dir.names(), ["in.txt", "out", "temp"]);
    assert_eq!(fs::read_dir(dir.path("temp")).unwrap().count(), 0);
}

#[test]
fn nothing_is_left_by_a_run_that_is_killed() {
    let dir = Dir::new();
    fs::create_dir(dir.path("temp")).unwrap();
    let mut args: Vec<&str> = LITTLE.split(' ').collect();
    args.extend(["-T", "temp", "-o", "out"]);
    let mut child = dir.command(&args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // All of it, so it has spilled by the time that the pipe takes the end of it.
    stdin.write_all(&large()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    assert_eq!(dir.names(), ["temp"]);
    assert_eq!(fs::read_dir(dir.path("temp")).unwrap().count(), 0);
}
