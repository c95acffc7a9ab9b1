//! Copies of what is kept of chunks, made by the workers if there are many of them, which would
//! otherwise have to wait for the one thread that writes.
//!
//! ```text
//! few workers    marked chunks ------------------------> writer copies what is kept | disk
//! many           marked chunks -> workers copy, each one chunk -> writer | disk
//! ```

use std::convert::Infallible;
use std::sync::Mutex;

use super::marking::MarkedChunk;
use crate::error::Result;
use crate::pipeline::Job;
use crate::pipeline::threads::pool::{Pool, Stage};

/// From this many workers on, they copy out what is kept. Fewer leave it to the writer, which
/// copies only once, and is done before they have processed the next batch (docs/performance.md).
pub(super) const COPYING_WORKERS: usize = 10;

/// Makes copies of what is kept, in memory that is used again: as much of it as is in flight at a
/// time.
#[derive(Debug, Default)]
pub(super) struct Copies {
    free: Mutex<Vec<Vec<u8>>>,
}

impl Copies {
    /// Returns what is written for each of the `chunks`, which are released.
    pub(super) fn make(
        &self,
        job: &Job,
        pool: &Pool,
        chunks: Vec<MarkedChunk>,
    ) -> Vec<Result<Vec<u8>>> {
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| Mutex::new(Some(chunk))).collect();
        let copy = |number: usize| {
            let mut chunk = chunks[number].lock().expect("each is taken once");
            let marked = chunk.take().expect("each is taken once");
            let mut kept = self.free().pop().unwrap_or_default();
            kept.reserve(marked.chunk.bytes().len());
            let Ok(()) = marked.each_kept(job.input.separator, |text| {
                kept.extend_from_slice(text);
                Ok::<_, Infallible>(())
            });
            marked.verify_and_release().map(|()| kept)
        };
        pool.map(Stage::Clustering, chunks.len(), copy)
    }

    /// Takes the memory of a copy that has been written.
    pub(super) fn give_back(&self, mut kept: Vec<u8>) {
        kept.clear();
        self.free().push(kept);
    }

    /// Frees the memory.
    pub(super) fn forget(&self) {
        self.free().clear();
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.free.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_until_it_is_forgotten() {
        let copies = Copies::default();
        let kept = b"kept\n".to_vec();
        let at = kept.as_ptr();
        copies.give_back(kept);
        let again = copies.free().pop().unwrap();
        assert!(again.is_empty() && again.as_ptr() == at);
        copies.give_back(again);
        copies.forget();
        assert!(copies.free().is_empty());
    }
}
