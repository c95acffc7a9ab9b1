//! Synthetic URL lists, and captures of synthetic web sites, whose truth is known.

mod list;
mod random;
mod short;
pub mod sites;
mod vocabulary;

pub use list::{
    Block, Class, LINES_MAX, List, ListPlan, RuleNames, SpelledLines, TRUTH_HEADER, Truth,
    write_truth,
};
