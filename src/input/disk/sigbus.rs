//! Handles the signal for mapped files that were truncated or cannot be read any more.
//!
//! The kernel raises SIGBUS on a thread that touches a page that no longer exists. The handler
//! looks up which file the page belongs to, writes a message, and ends the process with status 2:
//! the thread cannot go on, and unwinding out of a handler is not possible.
//!
//! ```text
//! SLOTS  | start | end | name_bytes | name ...... |   one per mapping, all atomics, fixed size,
//!        | start | end | name_bytes | name ...... |   so that the handler neither locks nor frees
//! ```
//!
//! Why not through signal-hook: it calls the handler that was there before, which in a Rust program
//! is the one of the standard library, and that one begins by restoring the default action. Until
//! ours is done a second thread that hits the same file kills the process: in 1 to 11 of 600 runs
//! with 2 threads on 2 cores (2026-11-20); this way in none of 3,200.
//!
//! Unsafe: installing the handler, and what it asks of the system.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};

use libc::{SIGBUS, c_int, c_void, siginfo_t};

/// Most mappings at one time; further files are read instead. Reason: chunks of more files are
/// hardly ever in flight at once, and the table is small (a quarter MiB).
const SLOTS: usize = 256;

/// Longest name in bytes that is kept for the message. Reason: what fits on a screen.
const NAME_BYTES: usize = 960;

/// Values of [`Slot::start`] that are not addresses of mappings.
const FREE: usize = 0;
const TAKEN: usize = 1;

static TABLE: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// The action that was installed before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Has a thread begun to end the process?
static ENDING: AtomicBool = AtomicBool::new(false);

/// A mapping that is alive.
struct Slot {
    /// The address of its first byte, or `FREE`, or `TAKEN` while the other fields are written.
    start: AtomicUsize,
    /// The address after its last page.
    end: AtomicUsize,
    /// Is it a temporary file?
    is_ours: AtomicBool,
    name_bytes: AtomicUsize,
    name: [AtomicU8; NAME_BYTES],
}

impl Slot {
    const fn new() -> Self {
        Slot {
            start: AtomicUsize::new(FREE),
            end: AtomicUsize::new(0),
            is_ours: AtomicBool::new(false),
            name_bytes: AtomicUsize::new(0),
            name: [const { AtomicU8::new(0) }; NAME_BYTES],
        }
    }
}

/// Installs the handler, once per process. Returns whether it is in place.
///
/// It stays until the process ends, or until a SIGBUS that does not concern a mapping of ours: then
/// the earlier action is restored and handles it.
pub(crate) fn guard() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let mut before = MaybeUninit::uninit();
        // SAFETY: no new action is given, and there is room for the old one.
        let found = unsafe { libc::sigaction(SIGBUS, ptr::null(), before.as_mut_ptr()) };
        if found != 0 {
            return false;
        }
        // SAFETY: `sigaction` returned 0, so it has written the old action.
        let mut action = *BEFORE.get_or_init(|| unsafe { before.assume_init() });
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_sigbus;
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the set is a valid place to write to.
        unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
        // SAFETY: the action is complete: a handler of the type that SA_SIGINFO asks for, which is
        // async-signal-safe (it says why), an empty mask, flags. The old action is not asked for.
        unsafe { libc::sigaction(SIGBUS, &raw const action, ptr::null_mut()) == 0 }
    })
}

/// Who may change the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// An input, which another process may have truncated.
    Others,
    /// A temporary file, which no other process can access.
    Ours,
}

/// Keeps a mapping in the table of the handler as long as it lives.
#[derive(Debug)]
pub(super) struct GuardedMapping {
    slot: usize,
}

impl GuardedMapping {
    /// Guards `map`. `None` if the table is full.
    ///
    /// Must be dropped before the mapping. `name` is safe to print.
    pub(super) fn new(map: &[u8], name: &str, whose: Whose) -> Option<Self> {
        let take = |slot: &Slot| slot.start.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok();
        let slots = if whose == Whose::Others { open_max() } else { SLOTS };
        let slot = TABLE[..slots].iter().position(take)?;
        let Slot { start, end, is_ours, name_bytes, name: kept } = &TABLE[slot];
        let name_end = (0..=NAME_BYTES.min(name.len())).rev().find(|&at| name.is_char_boundary(at));
        let name = &name.as_bytes()[..name_end.unwrap_or(0)];
        let range = map.as_ptr_range();
        end.store(range.end.addr(), Relaxed);
        is_ours.store(whose == Whose::Ours, Relaxed);
        name_bytes.store(name.len(), Relaxed);
        for (kept, byte) in kept.iter().zip(name) {
            kept.store(*byte, Relaxed);
        }
        // Publishes the fields above to a handler that sees the address.
        start.store(range.start.addr(), Release);
        Some(GuardedMapping { slot })
    }
}

/// Most mappings of inputs: each keeps a file open, and some file descriptors are needed for
/// others.
fn open_max() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        limit.map_or(SLOTS, |limit| usize::try_from(limit / 2).unwrap_or(SLOTS).min(SLOTS))
    })
}

impl Drop for GuardedMapping {
    fn drop(&mut self) {
        TABLE[self.slot].start.store(FREE, Release);
    }
}

/// The handler. Ends the process if the address is in a mapping of ours.
///
/// Safe in a signal handler: it reads atomics and its own stack, and calls `write`, `_exit`,
/// `sigaction` and `raise`, all of which POSIX lists as async-signal-safe. It allocates nothing,
/// takes no lock, formats nothing, and indexes only within bounds taken from the arrays. The slot
/// it finds cannot be given up meanwhile: this thread is reading the mapping, so it holds a share.
extern "C" fn on_sigbus(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a pointer that is valid while the handler runs.
    let info = unsafe { info.as_ref() };
    // A code above 0 comes from the kernel, which then gives an address. Others come from `kill`.
    let is_fault = info.is_some_and(|info| info.si_code > 0);
    if let Some(info) = info.filter(|_| is_fault) {
        // SAFETY: for SIGBUS from the kernel this is the field that is filled in.
        let address = unsafe { info.si_addr() }.addr();
        if let Some(slot) = TABLE.iter().find(|slot| slot.holds(address)) {
            if ENDING.swap(true, SeqCst) {
                // Another thread hit a file as well and is about to end this one, too.
                loop {
                    std::hint::spin_loop();
                }
            }
            write_message(slot);
            // SAFETY: has no precondition. Destructors do not run, as is right for a handler.
            unsafe { libc::_exit(2) };
        }
    }
    // Not ours. When this handler returns, a fault is raised again, for the old action; a signal
    // from outside is raised again for the default action, because the standard library's handler
    // would ignore it.
    if let Some(before) = BEFORE.get() {
        let mut action = *before;
        if !is_fault {
            action.sa_sigaction = libc::SIG_DFL;
        }
        // SAFETY: an action that the system gave out itself, or the default one.
        unsafe { libc::sigaction(SIGBUS, &raw const action, ptr::null_mut()) };
    }
    // SAFETY: has no precondition.
    unsafe { libc::raise(SIGBUS) };
}

impl Slot {
    fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Acquire);
        start > TAKEN && (start..self.end.load(Relaxed)).contains(&address)
    }
}

fn write_message(slot: &Slot) {
    const HEAD: &[u8] = b"undust: ";
    const CUT: &[u8] =
        b": the file was cut short while it was read; run again when nothing writes to it\n";
    const LOST: &[u8] =
        b": the disk does not give it back; name another folder for temporary files\n";
    const LONGEST: usize = if CUT.len() > LOST.len() { CUT.len() } else { LOST.len() };
    let after = if slot.is_ours.load(Relaxed) { LOST } else { CUT };
    let mut text = [0; HEAD.len() + NAME_BYTES + LONGEST];
    let mut bytes = 0;
    let name_bytes = slot.name_bytes.load(Relaxed).min(NAME_BYTES);
    let name = slot.name.iter().take(name_bytes).map(|byte| byte.load(Relaxed));
    let pieces = HEAD.iter().copied().chain(name).chain(after.iter().copied());
    for (place, byte) in text.iter_mut().zip(pieces) {
        *place = byte;
        bytes += 1;
    }
    // One call, so that the line is written as a whole. A failure cannot be reported.
    let _ = rustix::io::write(rustix::stdio::stderr(), text.get(..bytes).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};
    use std::{env, fs};

    use super::{Acquire, FREE};
    use crate::input::{Input, InputPlan, Mapped};

    /// Tells the child what to do. Set by `run_child` only.
    const CHILD: &str = "UNDUST_TEST_SIGBUS_CHILD";

    /// Not a test of its own: what `run_child` runs in a process that may die.
    #[test]
    fn child() {
        let Ok(what) = env::var(CHILD) else { return };
        match &*what {
            "many" => return more_files_than_slots(),
            "ours" => return a_temporary_file(),
            _ => {}
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a file\x1b");
        fs::write(&path, b"http://a.test/\n".repeat(1 << 16)).unwrap();
        let paths = vec![path.clone()];
        let plan = InputPlan { paths, chunk_bytes: 1 << 19, map: true, ..<_>::default() };
        let mut input = Input::open(&plan).unwrap();
        let chunk = input.next().unwrap().unwrap();
        assert!(input.summaries()[0].mapped);
        // The directory is removed before the process ends, because a handler cannot do it.
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        drop(dir);
        match &*what {
            "cut" => file.set_len(100).unwrap(),
            "signal" => {}
            _ => panic!("{what}"),
        }
        if what == "signal" {
            let _ = Command::new("kill").args(["-BUS", &std::process::id().to_string()]).status();
            std::thread::sleep(std::time::Duration::from_secs(5));
        }
        let sum: u64 = chunk.bytes().iter().map(|&byte| u64::from(byte)).sum();
        panic!("still alive: {sum}");
    }

    fn more_files_than_slots() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "a\n").unwrap();
        let paths = vec![path; super::SLOTS + 10];
        let plan = InputPlan { paths, map: true, map_bytes_min: 0, ..<_>::default() };
        let mut input = Input::open(&plan).unwrap();
        let chunks: Vec<_> = input.by_ref().map(|chunk| chunk.unwrap()).collect();
        assert!(chunks.iter().all(|chunk| chunk.bytes() == b"a\n"));
        assert_eq!(chunks.len(), super::SLOTS + 10);
        let mapped = input.summaries().iter().map(|summary| summary.mapped);
        assert!(mapped.eq((0..super::SLOTS + 10).map(|at| at < super::SLOTS)));
        // Slots are free again as soon as the chunks are gone.
        drop(chunks);
        assert!(super::TABLE.iter().all(|slot| slot.start.load(Acquire) == FREE));
    }

    fn a_temporary_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 16).unwrap();
        let other = file.try_clone().unwrap();
        let mapped = Mapped::temporary(file, "a temporary file in T".to_string()).unwrap().unwrap();
        assert_eq!(mapped.bytes().len(), 1 << 16);
        // As if the disk had failed.
        other.set_len(0).unwrap();
        panic!("still alive: {}", mapped.bytes()[0]);
    }

    fn run_child(what: &str) -> Output {
        let (_, module) = module_path!().split_once("::").unwrap();
        Command::new(env::current_exe().unwrap())
            .args([&format!("{module}::child"), "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, what)
            .output()
            .unwrap()
    }

    #[test]
    fn a_mapped_file_is_cut_short() {
        let output = run_child("cut");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(words.contains("undust: "), "{words}");
        assert!(words.contains("a file\\x1b: the file was cut short while it was read"), "{words}");
    }

    #[test]
    fn a_temporary_file_cannot_be_read() {
        let output = run_child("ours");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let expected =
            "undust: a temporary file in T: the disk does not give it back; name another";
        assert!(words.contains(expected), "{words}");
    }

    #[test]
    fn more_files_than_can_be_watched_are_read() {
        let output = run_child("many");
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    }

    #[test]
    fn another_bus_error_kills_as_usual() {
        use std::os::unix::process::ExitStatusExt;
        let output = run_child("signal");
        assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("undust: "), "{output:?}");
    }
}
