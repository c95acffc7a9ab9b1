//! What is written: lists, clusters, dropped lines, reports. Foreign bytes are escaped where they
//! are shown to people, and left alone in files.

mod breakdown;
mod cells;
mod claims;
mod disk;
mod early_sync;
mod encoder;
mod evaluation;
mod export;
mod frames;
mod gzip;
mod html;
mod listing;
mod output;
mod output_threads;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet_rows.rs")]
mod parquet_rows;
mod pending;
mod place;
mod place_of_line;
mod predecessor;
mod results;
mod rows;
mod survey;
pub mod tables;
mod tally;
mod totals;

pub use breakdown::{Breakdown, BreakdownRow, Counts, Facet};
pub use cells::Cell;
pub use claims::Claims;
pub use evaluation::{Evaluation, EvaluationResult, Interval, Judged, RESAMPLES, SiteScore};
pub use export::{Exported, RuleFormat, export_rules, left_out_in_words};
pub use listing::{Listed, ListedCluster, Listing, ListingWriter};
pub use output::Output;
pub use output_threads::{OutputThreads, Syncing};
pub use place_of_line::{FileLines, place_of_line};
pub use predecessor::Predecessor;
pub use results::Results;
pub use rows::{Provenance, RowFormat, RowWriter, Rows, Shape};
pub use survey::{ClusterRow, Example, InputRow, LevelRow, SiteRuleRow, Survey};
pub use tally::{SHOWN_BYTES, Tally};
