//! `--seen`: the file with the clusters of earlier runs.

use std::fs::File;
use std::path::Path;

use crate::bytes::show_path;
use crate::cluster::Seen;
use crate::error::{Error, Result};
use crate::fingerprint::FingerprintKey;
use crate::pipeline::Job;
use crate::report::Predecessor;

/// The clusters in a seen file, or none if it is not there yet; and what was there.
pub(super) fn open_seen(path: &Path, job: &Job) -> Result<(Seen, Predecessor)> {
    let digest = job.canonicalizer.profile().digest();
    let reading = |error| Error::reading(show_path(path), error);
    match File::open(path) {
        Ok(file) => {
            let predecessor = Predecessor::of(&file).map_err(reading)?;
            let name = show_path(path).to_string();
            Ok((Seen::open(file, &name, &digest, job.table_bytes())?, predecessor))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok((Seen::new(FingerprintKey::random(), &digest), Predecessor::none()))
        }
        Err(error) => Err(reading(error)),
    }
}
