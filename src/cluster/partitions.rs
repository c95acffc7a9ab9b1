//! A value for each partition, which one thread at a time may use.

use std::sync::{Mutex, MutexGuard};

use super::scatter::PARTITIONS;

const NO_PANIC: &str = "no thread panics while it holds a partition";

/// One `T` for each of the [`PARTITIONS`].
#[derive(Debug)]
pub(super) struct Partitions<T>(Box<[Mutex<T>]>);

impl<T: Default> Default for Partitions<T> {
    fn default() -> Self {
        Partitions::new(T::default)
    }
}

impl<T> Partitions<T> {
    /// Makes what `make` makes for each of the partitions.
    pub(super) fn new(mut make: impl FnMut() -> T) -> Self {
        Partitions((0..PARTITIONS).map(|_| Mutex::new(make())).collect())
    }

    /// Locks the value of `partition`.
    pub(super) fn lock(&self, partition: usize) -> MutexGuard<'_, T> {
        self.0[partition].lock().expect(NO_PANIC)
    }

    /// Returns the values of all partitions, in order.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|one| one.get_mut().expect(NO_PANIC))
    }
}
