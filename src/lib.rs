//! Finds the URLs that are the same page spelled differently, in lists too large for other tools.
//!
//! The modules in reading order, from the bottom up; `ARCHITECTURE.md` has the map.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("undust is for 64-bit machines: sizes and positions of what is read are `usize`");

pub mod error;
pub mod limits;

pub mod bytes;
pub mod crew;
mod retry;

pub mod fingerprint;
pub mod parts;
pub mod reject;

pub mod canonical;
pub mod input;
pub mod record;

pub mod cluster;
pub mod mine;

pub mod generate;
pub mod report;

pub mod pipeline;

#[cfg(feature = "cli")]
pub mod cli;

pub use canonical::{Canonicalizer, Profile, RuleId, RuleSet};
pub use error::{Error, Result};
pub use fingerprint::{Fingerprint, FingerprintKey};
pub use reject::Reject;
