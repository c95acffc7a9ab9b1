//! The command line as types. `undust --help`, the man pages and the completions are printed from
//! here.

pub(super) mod bare;
mod generate;
pub(super) mod tips;

pub(super) use generate::{
    GenerateArgs, GenerateCommand, GenerateListArgs, GenerateSiteArgs, SitePresetArg, SiteToArg,
};

use std::path::PathBuf;

use super::quantity;
use crate::canonical::{Choice, Slash, WebScheme, Www};
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// Names a file of settings where `--config` does not.
pub(super) const CONFIG_VARIABLE: &str = "UNDUST_CONFIG";

/// Finds the URLs that are the same page spelled differently.
#[derive(Debug, Parser)]
#[command(
    name = "undust",
    version,
    about = "Finds the URLs that are the same page spelled differently",
    long_about = "Finds the URLs that are the same page spelled differently, in lists too large for \
                  other tools, and says how it knows.\n\n`undust [OPTIONS] [FILE]...` without a command \
                  is the same as `undust dedup`.",
    after_help = "Exit status: 0 success; 1 the answer is no; 2 error.",
    override_usage = "undust [OPTIONS] [FILE]...\n       undust <COMMAND>",
    max_term_width = 100,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write one line for each page: the first spelling, in input order
    Dedup(DedupArgs),
    /// Write the canonical form of every line, line for line
    Canon(CanonArgs),
    /// Explain how a URL is canonicalized, or why two URLs are equal
    Explain(ExplainArgs),
    /// Report how many lines are duplicates, by rule and by host
    Report(ReportArgs),
    /// Learn the rules of sites from crawl logs and indexes, with their evidence
    Learn(LearnArgs),
    /// List and explain the rules; check, test or export a rule file
    Rules(RulesArgs),
    /// List the formats that are read
    Formats,
    /// Generate test data with known truth
    Generate(GenerateArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a folder
    Man {
        /// Folder for undust.1, undust-dedup.1, …
        folder: Option<PathBuf>,
    },
}

/// What is read.
#[derive(ClapArgs, Debug)]
pub(super) struct InputArgs {
    /// Lists of URLs, logs, indexes; plain or compressed, both detected from content; `-` is
    /// standard input
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Read all files below a folder
    #[arg(short, long, help_heading = "Input")]
    pub(super) recursive: bool,
    /// Also read the files named in this file, one per line or NUL-terminated
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(super) files_from: Option<PathBuf>,
    /// Lines end with NUL instead of a newline, in and out
    #[arg(short = '0', long, help_heading = "Input")]
    pub(super) null: bool,
    /// Maximum line length in bytes (suffixes K, M, G); longer lines are rejected
    #[arg(long, value_name = "BYTES", default_value = "1M", value_parser = quantity::bytes,
          help_heading = "Input")]
    pub(super) line_limit: u64,
    /// Read plain files instead of mapping them
    #[arg(long, help_heading = "Input")]
    pub(super) no_map: bool,
    #[command(flatten)]
    pub(super) format: FormatArgs,
}

/// How records are found, and which of them count.
#[derive(ClapArgs, Clone, Debug)]
pub(super) struct FormatArgs {
    /// Format of all files, instead of what their content says; `undust formats` lists them
    #[arg(short, long, value_name = "NAME", help_heading = "Format")]
    pub(super) format: Option<String>,
    /// Column or member with the URL: a name, a number from 1, a JSON pointer; others as in
    /// url=page,query=args,status=code,digest=…
    #[arg(long, value_name = "FIELD", help_heading = "Format")]
    pub(super) field: Option<String>,
    /// Format of a log, as in nginx's log_format or Apache's LogFormat
    #[arg(long, value_name = "STRING", help_heading = "Format",
          conflicts_with_all = ["format", "field"])]
    pub(super) log_format: Option<String>,
    /// Scheme and host of paths that have none in their line, such as https://example.com
    #[arg(long, value_name = "URL", help_heading = "Format")]
    pub(super) base_url: Option<String>,
    /// Only records with such a status: 200, 3xx, 200-299
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = trimmed,
          help_heading = "Filter")]
    pub(super) status: Vec<String>,
    /// Only records with such a method
    #[arg(long, value_name = "METHOD", value_delimiter = ',', help_heading = "Filter")]
    pub(super) method: Vec<String>,
    /// Only records from this time on: 2026-11-21, or 2026-11-21T09:30:00+01:00
    #[arg(long, value_name = "TIME", help_heading = "Filter")]
    pub(super) since: Option<String>,
    /// Only records before this time; a date is its first second, in UTC
    #[arg(long, value_name = "TIME", help_heading = "Filter")]
    pub(super) until: Option<String>,
    /// Only URLs that match: HOST, /PATH or HOST/PATH, where * is any run of characters,
    /// compared without the query unless there is a ? in it
    #[arg(long, value_name = "GLOB", help_heading = "Filter")]
    pub(super) include: Vec<String>,
    /// No URLs that match
    #[arg(long, value_name = "GLOB", help_heading = "Filter")]
    pub(super) exclude: Vec<String>,
    /// Write rejected lines to this file, each preceded by the reason
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(super) rejects: Option<PathBuf>,
}

/// Which canonical form.
#[derive(ClapArgs, Debug)]
pub(super) struct ProfileArgs {
    /// Set of rules: lines, whatwg, rfc3986, crawl, aggressive; a version may follow, as in crawl@1
    #[arg(short, long, value_name = "NAME", help_heading = "Rules")]
    pub(super) profile: Option<String>,
    /// Turn rules on, by name, separated by commas
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = trimmed,
          help_heading = "Rules")]
    pub(super) enable: Vec<String>,
    /// Turn rules off
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = trimmed,
          help_heading = "Rules")]
    pub(super) disable: Vec<String>,
    /// Apply only these rules, plus any that other flags configure; lines are still parsed
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = trimmed,
          help_heading = "Rules")]
    pub(super) only: Option<Vec<String>>,
    /// Drop this query parameter everywhere; a `*` at the end matches any rest
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Rules")]
    pub(super) strip_param: Vec<String>,
    /// Keep just these query parameters, on a host and under a path if given
    #[arg(long, value_name = "[HOST[/PATH]:]NAME,…", help_heading = "Rules")]
    pub(super) keep_param: Vec<String>,
    /// Drop a query parameter where it has this value
    #[arg(long, value_name = "[HOST[/PATH]:]NAME=VALUE", help_heading = "Rules")]
    pub(super) default_param: Vec<String>,
    /// Replace addresses by host names: a file of address and name, as /etc/hosts
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(super) hosts: Option<PathBuf>,
    /// Apply the rules of single sites in this file; several files are combined
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(super) rules: Vec<PathBuf>,
    /// Remove the host label www, or add it
    #[arg(long, value_name = "ACTION", value_parser = choice::<Www>(), help_heading = "Rules")]
    pub(super) www: Option<Www>,
    /// Trailing slashes of paths
    #[arg(long, value_name = "ACTION", value_parser = choice::<Slash>(), help_heading = "Rules")]
    pub(super) slash: Option<Slash>,
    /// The scheme that stands for both http and https
    #[arg(long, value_name = "NAME", value_parser = choice::<WebScheme>(), help_heading = "Rules")]
    pub(super) scheme: Option<WebScheme>,
    /// Names of directory index files, separated by commas, instead of the built-in list
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Rules")]
    pub(super) index_names: Option<Vec<String>>,
    /// Scheme for lines that have none, or `none`
    #[arg(long, value_name = "SCHEME", help_heading = "Rules")]
    pub(super) default_scheme: Option<String>,
    /// Read settings from this TOML file; flags come on top
    #[arg(long, value_name = "FILE", env = CONFIG_VARIABLE, value_parser = maybe_empty_path(),
        help_heading = "Rules")]
    pub(super) config: Option<PathBuf>,
}

/// How the job runs.
#[derive(ClapArgs, Debug)]
pub(super) struct RunArgs {
    /// Worker threads; 0: as many as there are processors
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0, value_parser = quantity::whole,
          help_heading = "Running")]
    pub(super) threads: usize,
    /// Write to this file, which appears complete or not at all; .zst, .gz, .bz2, .xz and .lz4 are
    /// compressed
    #[arg(short, long, value_name = "FILE", help_heading = "Running")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sync: SyncArgs,
    /// Memory limit: bytes (suffixes K, M, G, T), or a share of the machine's memory, as in 25%;
    /// by default half of what is free
    #[arg(short = 'S', long, value_name = "BYTES|N%", value_parser = super::memory::amount,
          help_heading = "Running")]
    pub(super) memory: Option<super::memory::Amount>,
    /// Folder for temporary files, which hold what does not fit in memory
    #[arg(short = 'T', long, value_name = "FOLDER", help_heading = "Running")]
    pub(super) temp_dir: Option<PathBuf>,
    /// Write the counts as JSON to a file, or to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-",
          require_equals = true, help_heading = "Running")]
    pub(super) stats: Option<PathBuf>,
    /// Say more: the files, their formats and compression, the profile
    #[arg(short, long, help_heading = "Running")]
    pub(super) verbose: bool,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Running")]
    pub(super) quiet: bool,
}

/// When results are made durable.
#[derive(ClapArgs, Debug)]
pub(super) struct SyncArgs {
    /// Do not wait until the results are on the disk: faster on a slow disk, but after a crash of
    /// the machine a file may be empty
    #[arg(long, help_heading = "Running")]
    pub(super) no_sync: bool,
}

#[derive(ClapArgs, Debug)]
pub(super) struct DedupArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Prefix each line with the size of its cluster
    #[arg(short, long, conflicts_with = "clusters")]
    pub(super) count: bool,
    /// Only clusters of more than one line
    #[arg(short = 'd', long, conflicts_with = "unique")]
    pub(super) repeated: bool,
    /// Only clusters of one line
    #[arg(short, long)]
    pub(super) unique: bool,
    /// Write every cluster with all its spellings and their counts
    #[arg(long)]
    pub(super) clusters: bool,
    /// Write every dropped line here, with the line that was kept and the rules that made them
    /// equal
    #[arg(long, value_name = "FILE")]
    pub(super) dropped: Option<PathBuf>,
    /// Which spelling stands for its cluster
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = KeepArg::First)]
    pub(super) keep: KeepArg,
    /// Write the URL as it was read, its canonical form, that as a key for sorting (SURT:
    /// com,example)/path), the key of CDX files, or the whole line of a log or a table
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = PrintArg::Original, conflicts_with = "clusters")]
    pub(super) print: PrintArg,
    /// Lines for people, or rows for programs, with canonical forms and counts, in all that is
    /// written; see docs/outputs.md
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ToArg::Text, conflicts_with = "check")]
    pub(super) to: ToArg,
    /// Put an apostrophe before text that a spreadsheet would take for a formula;
    /// with --to tsv or csv
    #[arg(long)]
    pub(super) excel: bool,
    /// Drop pages that earlier runs with this file had; it is created or updated at the end
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["count", "repeated", "unique", "clusters", "dropped", "check",
                               "no_sync"])]
    pub(super) seen: Option<PathBuf>,
    /// Drop what is in this list, log or index, or in a file of --seen, which stays as it is; may
    /// be given several times. Filters do not apply to it
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["count", "repeated", "unique", "clusters", "dropped", "check",
                               "seen"])]
    pub(super) not_in: Vec<PathBuf>,
    /// Write nothing; exit with 1 if there is a duplicate
    #[arg(long, conflicts_with_all = ["count", "repeated", "unique", "clusters", "dropped", "output",
                               "keep", "print", "excel", "rejects", "stats"])]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// One of several values, without the blanks around it.
fn trimmed(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.trim().to_string())
}

/// A choice by one of its words, which help and completions list.
fn choice<C: Choice + Send + Sync>() -> impl TypedValueParser<Value = C> {
    let words = C::WORDS.iter().map(|(word, _)| *word);
    PossibleValuesParser::new(words).try_map(|word| C::named(&word))
}

/// A path that may be empty, as a variable of the environment is that somebody has cleared.
fn maybe_empty_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum KeepArg {
    First,
    Last,
    Shortest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PrintArg {
    Original,
    Canonical,
    Surt,
    Urlkey,
    Line,
}

#[derive(ClapArgs, Debug)]
pub(super) struct LearnArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Judge the rules by a truth table, as of `generate site --truth`: how much they find, how
    /// many pages they lose
    #[arg(long, value_name = "TRUTH")]
    pub(super) evaluate: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(ClapArgs, Debug)]
pub(super) struct CanonArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// What to write for a URL that does not parse: the line, an empty line, or an error; lines
    /// without a URL become empty ones (no rows), or an error
    #[arg(long, value_name = "ACTION", value_enum, default_value_t = OnBadArg::Keep)]
    pub(super) on_bad: OnBadArg,
    /// Write the canonical form as a URL, or as a key for sorting (SURT: com,example)/path); or the
    /// key that the URL has in CDX files, whatever the profile
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = NotationArg::Canonical)]
    pub(super) print: NotationArg,
    /// Lines, or rows for programs: the URL, its canonical form and its SURT of each record; see
    /// docs/outputs.md
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ToArg::Text)]
    pub(super) to: ToArg,
    /// Put an apostrophe before text that a spreadsheet would take for a formula;
    /// with --to tsv or csv
    #[arg(long)]
    pub(super) excel: bool,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NotationArg {
    Canonical,
    Surt,
    Urlkey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnBadArg {
    Keep,
    Empty,
    Fail,
}

#[derive(ClapArgs, Debug)]
pub(super) struct ExplainArgs {
    /// One URL; exit with 1 if it does not parse. Or two to be compared; exit with 1 if they are
    /// not equal
    #[arg(value_name = "URL", required = true, num_args = 1..=2)]
    pub(super) urls: Vec<std::ffi::OsString>,
    /// Scheme and host of paths, such as https://example.com
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
}

#[derive(ClapArgs, Debug)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Tables for people as text or HTML, one JSON document, or rows for programs, one figure each
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ReportToArg::Text)]
    pub(super) to: ReportToArg,
    /// Put an apostrophe before text that a spreadsheet would take for a formula;
    /// with --to tsv or csv
    #[arg(long)]
    pub(super) excel: bool,
    /// How many rows a table has: hosts, sections, parameters and so on, and clusters
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = quantity::whole)]
    pub(super) top: usize,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ToArg {
    Text,
    Tsv,
    Csv,
    Jsonl,
    Parquet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportToArg {
    Text,
    Html,
    Json,
    Tsv,
    Csv,
    Jsonl,
    Parquet,
}

#[derive(ClapArgs, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(super) struct RulesArgs {
    #[command(subcommand)]
    pub(super) command: RulesCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// List all rules: number, class, which profiles have them, what they do; or
    /// those of a rule file
    List(Box<RulesListArgs>),
    /// Show the page of a rule
    Show {
        /// Its name
        rule: String,
    },
    /// Check a rule file: mistakes, loops, rules that do nothing; exit with 1 if there are any
    Lint {
        /// The rule file; - is standard input; several are combined
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Check that the examples of a rule file become equal; exit with 1 if any does not
    Test(Box<RulesTestArgs>),
    /// Write the rules of a rule file in the format of another program
    Export {
        /// The rule file; - is standard input; several are combined
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// robots: Clean-param lines; nutch: urlnormalizer-regex; clearurls: its
        /// data; json: all of it
        #[arg(long, value_name = "FORMAT", value_enum)]
        to: RuleFormatArg,
    },
    /// Print the pages of all rules as one Markdown document: docs/rules.md
    #[command(hide = true)]
    Pages,
}

#[derive(ClapArgs, Debug)]
pub(super) struct RulesListArgs {
    /// A rule file (- is standard input); several are combined; without any, the built-in rules
    /// are listed
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
}

#[derive(ClapArgs, Debug)]
pub(super) struct RulesTestArgs {
    /// The rule file; - is standard input; several are combined
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RuleFormatArg {
    Robots,
    Nutch,
    Clearurls,
    Json,
}
