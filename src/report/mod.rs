//! What is written: lists, clusters, dropped lines, reports. Foreign bytes are escaped where they
//! are shown to people, and left alone in files.

mod clusters;
mod evaluation;
mod export;
mod frames;
mod output;
mod survey;
mod tally;

pub use clusters::{ClusterWriter, DroppedWriter};
pub use evaluation::{
    Evaluation, EvaluationResult, Interval, Judged, RESAMPLES, SiteScore, wrong_rules_max,
};
pub use export::{Exported, RuleFormat, export_rules, left_out_in_words};
pub use output::{Claims, Output};
pub use survey::{ClusterRow, Example, HostRow, InputRow, LevelRow, SiteRuleRow, Survey, number};
pub use tally::Tally;
