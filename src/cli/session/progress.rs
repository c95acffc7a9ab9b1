//! A progress bar with rate and time left, on a terminal only.

use std::sync::Mutex;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::words::is_watched;
use crate::pipeline::ProgressListener;

/// A bar for each pass over the input; nothing at all where nobody watches.
pub(crate) struct Progress {
    shown: bool,
    started: Instant,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = !quiet && is_watched();
        Progress { shown, started: Instant::now(), bar: Mutex::new(None) }
    }

    /// When it was made, which is when the run began.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    fn with(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        if self.shown
            && let Ok(mut bar) = self.bar.lock()
        {
            act(&mut bar);
        }
    }
}

impl ProgressListener for Progress {
    fn begin(&self, pass: &str, bytes: Option<u64>) {
        self.with(|slot| {
            let (bar, template) = match bytes {
                Some(bytes) => (
                    ProgressBar::new(bytes),
                    "{prefix} {bar:30} {percent:>3} %  {decimal_bytes_per_sec}  {msg}  {eta} left",
                ),
                None => (
                    ProgressBar::new_spinner(),
                    "{prefix} {spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {msg}",
                ),
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_prefix(pass.to_string());
            *slot = Some(bar);
        });
    }

    fn advance(&self, bytes: u64, lines: u64) {
        self.with(|slot| {
            if let Some(bar) = slot {
                bar.set_position(bytes);
                bar.set_message(format!("{} lines", crate::bytes::decimal::with_commas(lines)));
            }
        });
    }

    fn end(&self) {
        self.with(|slot| {
            if let Some(bar) = slot.take() {
                bar.finish_and_clear();
            }
        });
    }
}
