//! Finds the URLs that are the same page spelled differently, in lists too large for other tools.
//!
//! # One URL
//!
//! A [`Canonicalizer`] gives URLs the one spelling that stands for all equal ones under its
//! [`Profile`]. All threads may share it. URLs are bytes, and no URL is an error: what does not
//! parse stays as it is, and says why.
//!
//! ```
//! use undust::{Canonicalizer, Profile, Scratch};
//!
//! let pages = Canonicalizer::new(Profile::named("crawl")?);
//! let url = b"HTTP://Example.COM:80/a/../b?utm_source=x&id=7";
//! assert_eq!(pages.to_canonical(url), b"http://example.com/b?id=7");
//!
//! // Many URLs: memory is used again, and a canonical URL is not copied.
//! let mut scratch = Scratch::default();
//! for url in ["http://example.com/?b&a#top", "http://[::1"] {
//!     let canonical = pages.canonical(url.as_bytes(), &mut scratch);
//!     println!("{} {:?}", String::from_utf8_lossy(canonical.form), canonical.reject);
//! }
//! # Ok::<(), undust::Error>(())
//! ```
//!
//! [`Canonicalizer::trace`] says which rule did what, and [`canonical::Comparer`] by which rules
//! two URLs are equal.
//!
//! # Other rules
//!
//! [`Settings`] are what a configuration file and the flags of the program say.
//!
//! ```
//! use undust::{Canonicalizer, Settings};
//!
//! let settings = Settings::parse("enable = ['www']\nstrip-params = ['ref', 'promo_*']")?;
//! let pages = Canonicalizer::new(settings.build()?);
//! assert_eq!(pages.to_canonical(b"http://www.a.example/?ref=b&id=7"), b"http://a.example/?id=7");
//! # Ok::<(), undust::Error>(())
//! ```
//!
//! # Whole lists, logs and indexes
//!
//! A job of [`pipeline`] reads any number of files in any format that [`record`] knows, on all
//! processors and within the memory it is given: [`pipeline::dedup`], [`pipeline::survey`]
//! (reports) and [`pipeline::learn`] (rules of single sites) are what the program runs.
//!
//! ```
//! use undust::cluster::Seen;
//! use undust::input::InputPlan;
//! use undust::pipeline::{DedupPlan, Job, Print, dedup};
//! use undust::report::ClaimedPaths;
//! use undust::{Canonicalizer, Profile};
//!
//! # let folder = tempfile::tempdir()?;
//! # let [list, unique] = ["list.txt", "unique.txt"].map(|name| folder.path().join(name));
//! std::fs::write(&list, "http://a.example/b\nHTTP://a.example:80/b#top\n")?;
//!
//! let pages = Canonicalizer::new(Profile::named("crawl")?);
//! let mut job = Job::new(InputPlan { paths: vec![list.clone()], ..InputPlan::default() }, &pages);
//! job.memory.bytes = 256 << 20;
//!
//! // The file appears when it is published, whole. An input cannot be one.
//! let mut output = ClaimedPaths::new(&[list]).open(Some(&unique))?;
//! let plan = DedupPlan { print: Print::Original, seen: &Seen::default() };
//! let outcome = dedup(&job, &plan, &mut output)?;
//! output.publish()?;
//!
//! assert_eq!((outcome.tally.lines, outcome.tally.unique), (2, 1));
//! assert_eq!(std::fs::read_to_string(&unique)?, "http://a.example/b\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`pipeline::visit`] shows the records one by one, with what their lines say beside the URL:
//!
//! ```
//! use std::ops::ControlFlow;
//! use undust::input::InputPlan;
//! use undust::pipeline::{Job, visit};
//! use undust::{Canonicalizer, Profile};
//!
//! # let folder = tempfile::tempdir()?;
//! # let log = folder.path().join("access.log");
//! # let line = r#"::1 - - [01/Dec/2026:00:00:00 +0000] "GET /a?utm_source=b HTTP/1.1" 404 0"#;
//! # std::fs::write(&log, line)?;
//! let pages = Canonicalizer::new(Profile::named("crawl")?);
//! let job = Job::new(InputPlan { paths: vec![log], ..InputPlan::default() }, &pages);
//! let mut missing = 0;
//! visit(&job, |record, _canonical| {
//!     missing += u64::from(record.fields.status == b"404");
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(missing, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Another thread stops a job by [`InputPlan::stop`](input::InputPlan::stop).
//!
//! # What is not in files
//!
//! Jobs read streams, too: a pipe of this process has a name, and [`report::Output::to_writer`]
//! writes to anything.
//!
//! ```
//! use std::io::Write as _;
//! use std::os::fd::AsRawFd as _;
//! use std::thread;
//! use undust::cluster::Seen;
//! use undust::input::InputPlan;
//! use undust::pipeline::{DedupPlan, Job, Print, dedup};
//! use undust::report::Output;
//! use undust::{Canonicalizer, Profile};
//!
//! let pages = Canonicalizer::new(Profile::named("crawl")?);
//! let (urls, mut sender) = std::io::pipe()?;
//! let path = format!("/dev/fd/{}", urls.as_raw_fd()).into();
//! let job = Job::new(InputPlan { paths: vec![path], ..InputPlan::default() }, &pages);
//!
//! let (mut receiver, unique) = std::io::pipe()?;
//! let mut output = Output::to_writer("the unique URLs", unique);
//! let (sending, running, text) = thread::scope(|scope| {
//!     let sending = scope.spawn(move || sender.write_all(b"http://a.test\nHTTP://a.test/\n"));
//!     let running = scope.spawn(move || {
//!         let plan = DedupPlan { print: Print::Original, seen: &Seen::default() };
//!         dedup(&job, &plan, &mut output)?;
//!         output.publish()
//!     });
//!     let text = std::io::read_to_string(&mut receiver);
//!     (sending.join().unwrap(), running.join().unwrap(), text)
//! });
//! sending?;
//! running?;
//! assert_eq!(text?, "http://a.test\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `cli`, which is on by default, is the program. The library needs none of what it brings in:
//! `undust = { version = "0.1", default-features = false }`. `parquet` reads and writes Parquet.
//!
//! # What is stable
//!
//! [`canonical`], [`record`], [`input`], [`pipeline`], [`report`], the names at the top, and what
//! these examples use of other modules, which are public for the benchmarks and tests of this
//! crate. Enums that will grow are `non_exhaustive`. The modules are listed in reading order, from
//! the bottom up; `ARCHITECTURE.md` has the map.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("undust is for 64-bit machines: sizes and positions of what is read are `usize`");

pub mod error;
pub mod limits;

pub mod bytes;
pub mod crew;
mod retry;

pub mod fingerprint;
pub mod parts;
pub mod reject;

pub mod canonical;
pub mod input;
pub mod record;

pub mod cluster;
pub mod mine;

pub mod generate;
pub mod report;

pub mod pipeline;

#[cfg(feature = "cli")]
pub mod cli;

pub use canonical::{Canonical, Canonicalizer, Profile, RuleId, RuleSet, Scratch, Settings};
pub use error::{Error, Result};
pub use fingerprint::{Fingerprint, FingerprintKey};
pub use reject::Reject;

/// The examples in Rust of the first page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
