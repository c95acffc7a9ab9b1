//! What is written: lists, clusters, dropped lines, reports. Foreign bytes are escaped where they
//! are shown to people, and left alone in files.

mod clusters;
mod frames;
mod output;
mod rows;
mod survey;
pub mod tables;
mod tally;

pub use clusters::{ClusterWriter, DroppedWriter};
pub use output::{Claims, Output};
pub use rows::{Cell, Provenance, RowFormat, RowWriter, Shape};
pub use survey::{ClusterRow, Example, HostRow, InputRow, LevelRow, Survey, number};
pub use tally::Tally;
