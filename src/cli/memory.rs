//! How much memory a job gets: what was asked for, or a share of what the machine has.

use std::fs;
use std::path::{Path, PathBuf};

/// Memory as it is asked for on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A number of hundredths of the machine's memory.
    Percent(u64),
}

/// A number of bytes with an optional suffix K, M, G or T, or a number from 1 to 100 and `%`.
pub(super) fn amount(text: &str) -> Result<Amount, String> {
    let Some(number) = text.strip_suffix('%') else {
        return super::quantity::bytes(text).map(Amount::Bytes);
    };
    match number.parse() {
        Ok(percent @ 1..=100) => Ok(Amount::Percent(percent)),
        _ => Err(format!("\"{text}\" is no share; expected 1% to 100%")),
    }
}

impl Amount {
    /// The bytes that are meant.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => {
                let all = least([meminfo("MemTotal:"), container_limit()]);
                all.unwrap_or(UNKNOWN_BYTES) / 100 * percent
            }
        }
    }
}

/// What is assumed of a machine that does not tell: 2 GiB.
const UNKNOWN_BYTES: u64 = 2 << 30;

/// Half of what is free: the rest is for the system's cache of files, and for others.
pub(super) fn default_bytes() -> u64 {
    least([meminfo("MemAvailable:"), container_limit()]).unwrap_or(UNKNOWN_BYTES) / 2
}

/// Has blocks from a mebibyte on given back to the system as soon as they are free.
///
/// Reason: the allocator of glibc raises its bound for such blocks to the largest that was
/// ever freed; what a site needed while it was mined would be kept then, in pieces, beside
/// what the next one needs.
pub(super) fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set(libc::M_MMAP_THRESHOLD, 1 << 20);
}

/// What the allocator may hold on to for each thread: this, and so many of the longest lines.
/// Reason: each thread has an arena, in which blocks stay that were freed, up to the largest; 16
/// threads were seen to take 11 MiB beyond a budget of 64 MiB, and 215 with lines of 8 MiB.
const ARENA_BYTES: u64 = 32 << 20;
const ARENA_LINES: u64 = 16;

/// Less than this is tight for any number of threads.
const TIGHT_BYTES: u64 = 64 << 20;

/// Is a budget of so many bytes so small beside what the arenas of `threads` may keep, that the
/// allocator has to keep little? It takes 4 to 13 % more time then.
fn is_tight(bytes: u64, threads: usize, line_bytes_max: usize) -> bool {
    let arena_bytes = ARENA_BYTES + ARENA_LINES * line_bytes_max as u64;
    bytes < arena_bytes.saturating_mul(threads as u64).max(TIGHT_BYTES)
}

/// Has the allocator keep little beside a budget of so many bytes, if that is tight: one arena for
/// all threads, blocks from 64 KiB on given back as soon as they are free, and no large pages.
///
/// Reason: chunks that are read on one thread and freed on another leave holes in the arenas of
/// glibc, some two mebibytes in all, and four where they are files of some 90 kB each that stay
/// below the bound; of a large page all is taken, however little is used.
pub(super) fn limit_allocator(bytes: u64, threads: usize, line_bytes_max: usize) {
    if is_tight(bytes, threads, line_bytes_max) {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            set(libc::M_ARENA_MAX, 1);
            set(libc::M_MMAP_THRESHOLD, 64 << 10);
        }
        // Best effort: some systems have none anyway.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}

/// Sets a parameter of the allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn set(parameter: libc::c_int, value: libc::c_int) {
    // SAFETY: `mallopt` takes two numbers and sets a parameter of the allocator; it is called
    // before any thread is started. That it may refuse costs memory, and nothing else.
    unsafe { libc::mallopt(parameter, value) };
}

fn least(known: [Option<u64>; 2]) -> Option<u64> {
    known.into_iter().flatten().min()
}

/// A line of `/proc/meminfo`, which is in KiB.
fn meminfo(name: &str) -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, name)
}

/// The bytes in the line `name` of what the system says of this process.
pub(super) fn process_bytes(name: &str) -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, name)
}

/// The bytes in the line `name` of `text`, which has them in KiB.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number = line.trim().strip_suffix("kB")?.trim();
    number.parse::<u64>().ok()?.checked_mul(1 << 10)
}

/// The least limit of the control groups that the process is in, version 1 or 2.
fn container_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().filter_map(limit_files).flatten();
    limits.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// The files in which the limits of a control group and of those above it are, from a line of
/// `/proc/self/cgroup`. In a container the group's own path may not be there; the root is then.
fn limit_files(line: &str) -> Option<Vec<PathBuf>> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    let (root, file) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|one| one == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return None;
    };
    let group = Path::new(group.trim_start_matches('/'));
    Some(group.ancestors().map(|group| Path::new(root).join(group).join(file)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (given, expected) in [
            ("14M", Some(Amount::Bytes(14 << 20))),
            ("25%", Some(Amount::Percent(25))),
            ("100%", Some(Amount::Percent(100))),
            ("0%", None),
            ("101%", None),
            ("%", None),
            ("-1%", None),
            ("14X", None),
        ] {
            assert_eq!(amount(given).ok(), expected, "{given}");
        }
        assert!(default_bytes() > 0 && Amount::Percent(50).bytes() > 0);
    }

    #[test]
    fn budgets_that_are_tight() {
        let (mebibyte, line) = (1u64 << 20, 1usize << 20);
        for (mebibytes, threads, expected) in [
            (63, 1, true),
            (64, 1, false),
            (95, 2, true),
            (96, 2, false),
            (767, 16, true),
            (768, 16, false),
        ] {
            assert_eq!(is_tight(mebibytes * mebibyte, threads, line), expected, "{mebibytes} MiB");
        }
        assert!(is_tight(1 << 30, 8, 8 * line) && !is_tight(2 << 30, 8, 8 * line));
    }

    #[test]
    fn what_the_system_says() {
        let text = "MemTotal:       24576 kB\nMemAvailable:   1 kB\nHugePages_Total:       0\n";
        assert_eq!(field(text, "MemTotal:"), Some(24 << 20));
        assert_eq!(field(text, "MemAvailable:"), Some(1 << 10));
        assert_eq!(field(text, "HugePages_Total:"), None);
        let files = |line| {
            limit_files(line).map(|files| {
                files.iter().map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>()
            })
        };
        let expected = ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max"];
        assert_eq!(files("0::/a/b").unwrap()[..2], expected);
        assert_eq!(files("0::/").unwrap(), ["/sys/fs/cgroup/memory.max"]);
        let expected = ["/sys/fs/cgroup/memory/x/memory.limit_in_bytes"];
        assert_eq!(files("4:cpu,memory:/x").unwrap()[..1], expected);
        assert_eq!(files("4:cpuset:/x"), None);
    }
}
