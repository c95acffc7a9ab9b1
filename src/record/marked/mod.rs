//! Reading lines by marks: where each ends, and where its quotes and brackets are.

mod common_line;
mod lines;

pub(crate) use common_line::CommonLine;
pub(super) use lines::MarkedLines;
