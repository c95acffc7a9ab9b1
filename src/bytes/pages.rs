//! Advice to the system about pages of memory. Large pages: fewer TLB misses for random access, and
//! one segment in place of hundreds for a disk. Populating many pages: one call in place of a fault
//! for each. Giving pages back: all threads may do so at the same time, while freeing memory makes
//! them wait for each other.
//!
//! Unsafe: calls of `madvise`, which do not change the content of memory, or drop content that
//! nothing reads any more.

use std::mem::MaybeUninit;

/// Bytes of a large page. Reason: the size on x86-64, and on aarch64 with pages of 4 KiB; elsewhere
/// the advice may have no effect.
pub const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Asks for large pages for `memory`, which was not touched yet. Only parts that are aligned and
/// fill a large page get one, if the system has any.
pub fn prefer_large_pages<T>(memory: &mut [T]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE_BYTES);
    let length = size_of_val(memory).saturating_sub(skipped) / PAGE_BYTES * PAGE_BYTES;
    // SAFETY: pages of this memory, or of adjacent memory if pages are larger; how they are backed
    // does not change their content. If the advice has no effect, only speed is lost.
    #[cfg(target_os = "linux")]
    let _ =
        unsafe { libc::madvise(start.wrapping_add(skipped).cast(), length, libc::MADV_HUGEPAGE) };
    #[cfg(not(target_os = "linux"))]
    let _ = length;
}

/// Bytes of pages that one call populates. Reason: meanwhile no other thread can change the memory
/// map of the process, as it must for new memory; and a call takes as long as some page faults.
#[cfg(target_os = "linux")]
const PAGES_AT_ONCE_BYTES: usize = 64 << 10;

/// Populates all pages of `memory`, which is about to be overwritten, at once. `false` if the
/// system does not, or not all: the rest is populated by page faults. It does not if pages are
/// larger than on x86-64, unless `memory` is aligned to one.
///
/// Source: `MADV_POPULATE_WRITE` of madvise(2), from Linux 5.14 on.
pub fn make_pages<T>(memory: &mut [T]) -> bool {
    if size_of_val(memory) == 0 {
        return true;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    // Whole pages, with adjacent memory in the first and the last one.
    let before = start.addr() % PAGE_BYTES;
    let length = (before + size_of_val(memory)).next_multiple_of(PAGE_BYTES);
    #[cfg(target_os = "linux")]
    let is_done = (0..length).step_by(PAGES_AT_ONCE_BYTES).all(|at| {
        let (first, part) = (start.wrapping_sub(before), (length - at).min(PAGES_AT_ONCE_BYTES));
        // SAFETY: pages that contain some of this memory, so the process has them; whether they are
        // populated does not change their content.
        unsafe {
            libc::madvise(first.wrapping_add(at).cast(), part, libc::MADV_POPULATE_WRITE) == 0
        }
    });
    #[cfg(not(target_os = "linux"))]
    let is_done = length == 0;
    is_done
}

/// Returns the pages that contain nothing but `memory` to the system; they are populated anew when
/// they are touched again. `false` if the system refuses: then they are returned when `memory` is
/// freed.
///
/// Reason: several threads may do so at the same time. Freeing a large piece of memory changes the
/// memory map of the process, for which a thread waits until no other reads it.
pub fn give_back_pages<T>(memory: &mut [MaybeUninit<T>]) -> bool {
    // SAFETY: it takes a number.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Some(page_bytes) = usize::try_from(page_bytes).ok().filter(|bytes| bytes.is_power_of_two())
    else {
        return false;
    };
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(page_bytes);
    let length = size_of_val(memory).saturating_sub(skipped) / page_bytes * page_bytes;
    // SAFETY: whole pages of this memory, with nothing else in them; nothing relies on their
    // content.
    #[cfg(target_os = "linux")]
    let is_done = unsafe {
        libc::madvise(start.wrapping_add(skipped).cast(), length, libc::MADV_DONTNEED) == 0
    };
    #[cfg(not(target_os = "linux"))]
    let is_done = length == 0;
    is_done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_given_back_and_nothing_beside_them() {
        let mut memory = vec![7u16; 1_000_000];
        memory.clear();
        let (from, to) = (30_001, 970_003);
        let is_taken = give_back_pages(&mut memory.spare_capacity_mut()[from..to]);
        assert_eq!(is_taken, cfg!(target_os = "linux"));
        // SAFETY: all of it was written; it is as it was, or zeros.
        unsafe { memory.set_len(1_000_000) };
        assert!(memory[..from].iter().chain(&memory[to..]).all(|value| *value == 7));
        let zeros = memory.iter().filter(|value| **value == 0).count();
        // All but what is in the first page and the last one, of 64 KiB at most.
        assert_eq!(zeros + (64 << 10) > to - from, is_taken, "{zeros} zeros");
        assert!(memory[from..to].iter().all(|value| matches!(value, 0 | 7)));
        give_back_pages::<u64>(&mut []);
    }

    #[test]
    fn what_is_in_memory_stays() {
        let mut memory: Vec<u32> = (0..1 << 20).collect();
        prefer_large_pages(&mut memory[3..]);
        prefer_large_pages(&mut memory[..3]);
        prefer_large_pages::<u32>(&mut []);
        make_pages(&mut memory[5..]);
        make_pages(&mut memory[..5]);
        assert!(make_pages::<u32>(&mut []));
        assert!(memory.iter().copied().eq(0..1 << 20));
    }
}
