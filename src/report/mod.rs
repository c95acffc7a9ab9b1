//! What is written: lists, clusters, dropped lines, reports. Foreign bytes are escaped where they
//! are shown to people, and left alone in files.

mod evaluation;
mod export;
mod html;
mod listing;
mod output;
mod place_of_line;
mod rows;
mod survey;
mod tally;

pub use evaluation::{Evaluation, EvaluationResult, Interval, Judged, RESAMPLES, SiteScore};
pub use export::{Exported, RuleFormat, export_rules, left_out_in_words};
pub use listing::{Listed, ListedCluster, Listing, ListingWriter};
pub use output::{ClaimedPaths, Output, OutputThreads, Predecessor, Results, Syncing};
pub use place_of_line::{FileLines, place_of_line};
pub use rows::tables;
pub use rows::{Cell, Provenance, RowFormat, RowWriter, Rows, Shape};
pub use survey::{Breakdown, BreakdownRow, Counts, Facet};
pub use survey::{ClusterRow, Example, InputRow, LevelRow, SiteRuleRow, Survey};
pub use tally::{SHOWN_BYTES, Tally};
