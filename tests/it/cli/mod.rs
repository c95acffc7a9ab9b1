//! The binary: what it writes, where, and with which exit status.

mod bare;
mod canon_explain_report;
mod check;
mod clusters;
mod commands;
mod dedup;
mod documents;
mod generate_site;
mod html;
mod input;
mod keys;
mod learn;
mod logs;
mod memory;
mod messages;
mod not_in;
mod output;
mod parquet;
mod rows;
mod rule_files;
mod seen_files;
mod tables;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use undust::bytes::show;
use undust::canonical::{PROFILES, RuleId};

/// Most time one run may take. Reason: a run that waits for ever must fail, not hang the tests.
const PATIENCE: Duration = Duration::from_secs(180);

/// Two pages in four spellings; the list of most tests.
const LIST: &str =
    "http://a.test/\nHTTP://A.test\nhttp://b.test/?x=1&utm_source=q\nhttp://b.test/?x=1\n";
/// What is kept of it.
const KEPT: &str = "http://a.test/\nhttp://b.test/?x=1&utm_source=q\n";

/// A folder for one test, in which the binary runs.
struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Dir {
        Dir(tempfile::tempdir().unwrap())
    }

    /// A folder with [`LIST`] as `in.txt`.
    fn with_list() -> Dir {
        let dir = Dir::new();
        dir.put("in.txt", LIST);
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.get(name)).unwrap()
    }

    /// The names of all files in it, hidden ones too, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undust"));
        command.args(args).current_dir(self.0.path()).env_remove("UNDUST_CONFIG");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs with empty standard input. `args` are separated by blanks.
    fn run(&self, args: &str) -> Run {
        self.feed(args, b"")
    }

    /// Runs with empty standard input, and with a `limit` of the shell on the process, as `-f 16`:
    /// no file may be longer than 16 blocks, of 512 bytes or 1 KiB each. `args` are separated by
    /// blanks.
    fn run_under(&self, limit: &str, args: &str) -> Run {
        Run::of(self.command_under(limit, args), b"")
    }

    fn command_under(&self, limit: &str, args: &str) -> Command {
        let mut shell = Command::new("sh");
        let start = format!("ulimit {limit}; exec \"$0\" \"$@\"");
        shell.args(["-c", &start, env!("CARGO_BIN_EXE_undust")]).args(args.split_whitespace());
        shell.current_dir(self.0.path()).env_remove("UNDUST_CONFIG");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    fn run_args(&self, args: &[&str]) -> Run {
        Run::of(self.command(args), b"")
    }

    fn feed(&self, args: &str, stdin: &[u8]) -> Run {
        let args: Vec<&str> = args.split_whitespace().collect();
        Run::of(self.command(&args), stdin)
    }
}

/// What a run did.
struct Run {
    what: String,
    status: Option<i32>,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Run {
    fn of(mut command: Command, stdin: &[u8]) -> Run {
        let what = format!("{:?}", command.get_args().collect::<Vec<_>>());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let stdin = stdin.to_vec();
        // A run that does not read all of it is none of the writer's business.
        std::thread::spawn(move || drop(pipe.write_all(&stdin)));
        Run::end(what, child)
    }

    /// Waits for `child`, and kills it when patience is at its end: then there is no status.
    fn end(what: String, mut child: Child) -> Run {
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut err = Vec::new();
            stderr.read_to_end(&mut err).unwrap();
            err
        });
        std::thread::spawn(move || {
            let mut out = Vec::new();
            stdout.read_to_end(&mut out).unwrap();
            let _ = sender.send(out);
        });
        let out = receiver.recv_timeout(PATIENCE);
        if out.is_err() {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap().code();
        Run { what, status, out: out.unwrap_or_default(), err: reader.join().unwrap() }
    }

    fn told(&self) -> String {
        format!(
            "undust {}\n  status {:?}\n  stdout {}\n  stderr {}",
            self.what,
            self.status,
            show(&self.out[..self.out.len().min(4000)]),
            show(&self.err)
        )
    }

    /// Checks the exit status.
    #[track_caller]
    fn exits(self, status: i32) -> Run {
        assert_eq!(self.status, Some(status), "{}", self.told());
        self
    }

    /// Checks that all went well, without a word.
    #[track_caller]
    fn quiet(self) -> Run {
        assert!(self.status == Some(0) && self.err.is_empty(), "{}", self.told());
        self
    }

    /// Checks that all went well, without a word, and what was written.
    #[track_caller]
    fn gives(self, out: impl AsRef<[u8]>) -> Run {
        let run = self.quiet();
        assert!(run.out == out.as_ref(), "{}\n  expected {}", run.told(), show(out.as_ref()));
        run
    }

    /// Checks that the run failed with `words` in one line of message, and wrote nothing.
    #[track_caller]
    fn fails(self, words: &str) -> Run {
        assert!(self.status == Some(2) && self.out.is_empty(), "{}", self.told());
        self.says(words)
    }

    #[track_caller]
    fn says(self, words: &str) -> Run {
        assert!(self.words().contains(words), "{}\n  expected {words}", self.told());
        self
    }

    fn words(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    fn out(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The first `lines` lines of the generated list of `seed`.
fn generated(lines: u64, seed: u64) -> Vec<u8> {
    let plan = undust::generate::ListPlan { lines, seed, ..Default::default() };
    let mut list = undust::generate::List::new(&plan).unwrap();
    let (mut all, mut line) = (Vec::new(), Vec::new());
    while list.next_line(&mut line).is_some() {
        all.extend_from_slice(&line);
        all.push(b'\n');
    }
    all
}
