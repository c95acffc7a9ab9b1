//! Says that a test was skipped, because the system lacks what it needs.
//!
//! The unit tests in `src/report/output/` have it, too.

use std::io::Write as _;
use std::panic::Location;

/// Says which test is skipped, and that `why`: on standard error, of passing tests as well.
///
/// Failure: where the environment variable `UNDUST_TESTS_COMPLETE` is `1`, no test may be skipped:
/// then it panics.
#[track_caller]
pub(crate) fn skip(why: &str) {
    let place = Location::caller();
    let is_complete = std::env::var_os("UNDUST_TESTS_COMPLETE").is_some_and(|value| value == "1");
    assert!(!is_complete, "UNDUST_TESTS_COMPLETE=1, but this test would be skipped: {why}");
    // Not by a macro: what macros print is shown of failing tests alone.
    let _ = writeln!(std::io::stderr(), "skipped: the test at {place}: {why}");
}
