//! HOT: once per look-up. Asks for memory before it is read, so that the reader need not wait.
//!
//! A load would do, too, but keeps the processor from finishing what comes after it.
//!
//! Unsafe: the instruction. It reads nothing that a program could see, at the
//! address of a reference.

/// Bytes that come from memory together. Reason: so it is on x86-64, and on most of aarch64.
const LINE_BYTES: usize = 64;

/// Asks for the beginning of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<i8>();
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it may be given any address; this one is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: it may be given any address, and changes nothing that a program could see.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Asks for all of `values`.
#[inline]
pub fn prefetch_all<T>(values: &[T]) {
    let step = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    values.iter().step_by(step).for_each(prefetch);
    values.last().into_iter().for_each(prefetch);
}
