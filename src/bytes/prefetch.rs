//! HOT: once per look-up. Prefetches memory before it is read.
//!
//! A load would also work, but would block later instructions from retiring.
//!
//! Unsafe: the instruction. It has no effect that a program could observe, and gets the address of
//! a reference.

/// Bytes of a cache line, on x86-64 and most aarch64 processors.
const LINE_BYTES: usize = 64;

/// Prefetches the beginning of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<i8>();
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: any address is allowed; this one is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: any address is allowed, and there is no effect that a program could observe.
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

/// Prefetches all of `values`.
#[inline]
pub fn prefetch_all<T>(values: &[T]) {
    let step = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    values.iter().step_by(step).for_each(prefetch);
    values.last().into_iter().for_each(prefetch);
}
