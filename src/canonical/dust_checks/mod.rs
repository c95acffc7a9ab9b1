//! Checks of rule files: what is wrong or suspicious in them, and whether their examples hold.

mod doubts;
mod examples;
mod findings;
mod lint;

pub use examples::{ExampleFailure, ExampleFault, TestedRules};
pub use findings::{Finding, FindingKind, LintedRules};
