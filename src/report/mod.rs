//! What is written: lists, clusters, dropped lines, reports. Foreign bytes are escaped where they
//! are shown to people, and left alone in files.

mod breakdown;
mod clusters;
mod frames;
mod output;
mod survey;
mod tally;

pub use breakdown::{Breakdown, BreakdownRow, Counts, Facet};
pub use clusters::{ClusterWriter, DroppedWriter};
pub use output::{Claims, Output};
pub use survey::{ClusterRow, Example, InputRow, LevelRow, Survey, number};
pub use tally::Tally;
