//! The command line of `generate` as types.

use std::path::PathBuf;

use super::{SyncArgs, trimmed};
use crate::cli::quantity;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

#[derive(ClapArgs, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) command: GenerateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// A list of URLs in which the truth about every line is known
    List(GenerateListArgs),
    /// Crawls of web sites in which the true page of every URL is known, to judge mined rules by
    Site(GenerateSiteArgs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GenerateListArgs {
    /// How many lines: a number, with K, M or G for thousands, millions or thousands of millions
    #[arg(short = 'n', long, value_name = "N", default_value = "1M", value_parser = quantity::count)]
    pub(crate) lines: u64,
    /// The same seed gives the same list, on every machine
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = quantity::seed)]
    pub(crate) seed: u64,
    /// Share of lines that repeat the first spelling of an earlier page, byte for byte
    #[arg(long, value_name = "SHARE", default_value_t = 0.175, value_parser = quantity::share)]
    pub(crate) exact: f64,
    /// Share of lines that spell an earlier page another way
    #[arg(long, value_name = "SHARE", default_value_t = 0.175, value_parser = quantity::share)]
    pub(crate) variants: f64,
    /// Write the list to this file; .zst, .gz, .bz2, .xz and .lz4 are compressed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the truth to this file: for every line its page, class and rules
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sync: SyncArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GenerateSiteArgs {
    /// A plan to start from: 40 sites of about 3,500 URLs, the same with noisy bodies, 8 sites of
    /// 15,000 to 19,000, or 16 of 8,000 to 10,000 with scripts that are told what to do
    #[arg(long, value_enum, default_value_t = SitePresetArg::Clean)]
    pub(crate) preset: SitePresetArg,
    /// How many sites
    #[arg(long, value_name = "N", value_parser = quantity::small_count)]
    pub(crate) sites: Option<u32>,
    /// Distinct URLs of each site: a number, or fewest and most
    #[arg(long, value_name = "N|N-M", value_parser = quantity::range)]
    pub(crate) urls: Option<(u32, u32)>,
    /// The same seed gives the same sites, on every machine
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = quantity::seed)]
    pub(crate) seed: u64,
    /// Share of the fetches that give other bytes although nothing has changed, on every site; in
    /// thousandths, as in 0.003
    #[arg(long, value_name = "SHARE", value_parser = quantity::thousandths)]
    pub(crate) noise: Option<u16>,
    /// Switch features off, by name, separated by commas; docs/generator.md lists them
    #[arg(long, value_name = "FEATURES", value_delimiter = ',', value_parser = trimmed,
          conflicts_with = "only")]
    pub(crate) without: Vec<String>,
    /// Give every site these features, and no others; '' is none
    #[arg(long, value_name = "FEATURES", value_delimiter = ',', value_parser = trimmed)]
    pub(crate) only: Option<Vec<String>>,
    /// What to write. A server's log has the host first (vhost_combined) unless the plan can give
    /// one host only
    #[arg(long, value_enum, default_value_t = SiteToArg::Cdxj)]
    pub(crate) to: SiteToArg,
    /// Write the captures to this file; .zst, .gz, .bz2, .xz and .lz4 are compressed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the truth to this file: for every capture its site, its page, the features it shows
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sync: SyncArgs,
    /// Say what was made: redundancy, what digests can show of it, features
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SitePresetArg {
    Clean,
    Noisy,
    Large,
    Cms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SiteToArg {
    Cdxj,
    Crawllog,
    Combined,
    Tsv,
}
