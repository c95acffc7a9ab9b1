//! Bounds on what comes from outside, and tuned sizes that several floors share, each with its
//! reason.

use std::time::Duration;

// Bounds on what comes from outside, and on the memory and threads of a job.

/// Longest line in bytes that becomes a record, unless the user sets another limit. Longer lines
/// are counted rejects.
///
/// Reason: the longest URL that any browser or server in use accepts is far below; a longer line is
/// a broken file.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Largest value that a plan or a user may set for the line limit, in bytes.
///
/// Reason: positions in a line, and in what is written for a chunk that holds it, are `u32`.
pub const LINE_BYTES_CEILING: usize = 1 << 30;

/// Most columns of a table. A line with more cells is not taken for its header or its first row.
///
/// Reason: as many as a sheet of a spreadsheet has; what is known of a table stays small beside the
/// memory of a job.
pub const COLUMNS_MAX: usize = 16 << 10;

/// Longest URL in bytes that is made canonical. A longer one stays unchanged and is counted.
///
/// Reason: keeps the cost of a crafted line linear; servers refuse request lines beyond 8 to 64
/// KiB.
pub const URL_BYTES_MAX: usize = 64 << 10;

/// Longest host in bytes that is handed to IDNA processing (UTS 46), whose cost is not linear.
///
/// Reason: a host name holds at most 253 bytes (RFC 1035 2.3.4), each of which stands for at most
/// four bytes of UTF-8.
pub const IDNA_HOST_BYTES_MAX: usize = 4 * 253;

/// Least memory of a job in bytes, without that of its threads.
///
/// Reason: room for some chunks, for buffers of all partitions, and for a zstd window.
pub const MEMORY_BYTES_MIN: u64 = 7 << 20;

/// Least memory of a job in bytes for each of its threads.
///
/// Reason: a dozen chunks of 16 KiB are in flight for each, with what is known of their records.
pub const MEMORY_BYTES_PER_THREAD: u64 = 512 << 10;

/// Largest zstd window as a power of two, in bytes (2 GiB); the format's own ceiling on 64-bit
/// machines.
pub const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// A zstd window may take one of this many parts of a job's memory.
///
/// Reason: it comes on top of the budget, which is thus exceeded by no more than that.
pub const ZSTD_WINDOW_PARTS: u64 = 4;

/// Longest header of an HTTP response in a web archive that is read, in bytes.
///
/// Reason: servers refuse much longer ones, and browsers give up on them; at worst a media type is
/// missed.
pub const HTTP_HEAD_BYTES_MAX: usize = 16 << 10;

/// How many bytes of an HTML page in a web archive are searched for the end of its head, both as
/// sent and decompressed.
///
/// Reason: styles and scripts in a head take some hundred kilobytes at most, and at worst a
/// canonical link is missed. Containers are read in pieces of this size.
pub const HTML_HEAD_BYTES_MAX: usize = 256 << 10;

/// Longest dictionary of a zstd file in bytes, compressed or not.
///
/// Reason: those in use have a hundred kilobytes; beyond a megabyte a dictionary gains nothing.
pub const ZSTD_DICTIONARY_BYTES_MAX: u64 = 16 << 20;

/// Most changes that rules may make to one URL before it counts as unstable.
///
/// Reason: there are 18 rules, and hardly any makes another apply again; the bound ensures
/// termination and limits the cost of a crafted URL.
pub const RULE_STEPS_MAX: usize = 100;

/// Most rules in a rule file. Reason: each takes some kilobytes while the file is read.
pub const DUST_RULES_MAX: usize = 1 << 20;

/// Longest text of a rule in bytes. Reason: longer than any name or path that is worth a rule.
pub const DUST_TEXT_BYTES_MAX: usize = 4 << 10;

/// Most wildcards in a pattern of a rule.
///
/// Reason: each of them may match up to any byte of a path, and the cost of matching grows with the
/// number of such choices.
pub const DUST_WILDCARDS_MAX: usize = 32;

/// Most rules of one site, those of the domains above it included.
///
/// Reason: every pair of them is checked for whether one enables the other.
pub const DUST_SITE_RULES_MAX: usize = 4096;

/// Most rules of all sites, counted for each site they hold for.
///
/// Reason: the rules of a domain are copied for every site below it, so that a short file could ask
/// for any amount of memory.
pub const DUST_SITE_RULES_TOTAL_MAX: usize = 4 << 20;

/// Most parameters that a query may have for the rules of its site to apply to it.
///
/// Reason: each parameter is compared with each rule whose name has a wildcard, so a crafted query
/// would cost their product.
pub const DUST_PARAMS_MAX: usize = 256;

/// Most passes of a site's substitutions over one URL, and most prefixes or suffixes that are
/// removed from one path. A URL that still changes after that is left as it was.
///
/// Reason: every pass makes a URL shorter, so a crafted one could require as many as it has bytes.
pub const DUST_PASSES_MAX: usize = 16;

/// Longest host in bytes that rules for its labels apply to. Source: RFC 1035 2.3.4, 255 octets on
/// the wire.
pub const HOST_BYTES_MAX: usize = 253;

/// Largest configuration, host-map or parameter-list file in bytes.
///
/// Reason: such a file is read as a whole, in memory that comes on top of the job's.
pub const CONFIG_BYTES_MAX: u64 = 64 << 20;

/// Longest string in bytes that describes the format of a log.
///
/// Reason: servers read theirs from one line of their configuration.
pub const LOG_FORMAT_BYTES_MAX: usize = 16 << 10;

/// Largest frame of a zstd file that is decompressed as a whole, in bytes, compressed or not.
///
/// Reason: pzstd's own frames have 8 MiB at level 3 and 32 MiB at level 19.
pub const DECOMPRESSED_FRAME_BYTES_MAX: u64 = 32 << 20;

/// Most worker threads that are started, however many were asked for.
///
/// Reason: each takes memory, and is only useful if it has a processor.
pub const THREADS_MAX: usize = 1024;

/// Most distinct URLs of one site that rules are mined from. Of a larger site, whole paths are left
/// out by hash.
///
/// Reason: each takes about 250 bytes, so all take a gigabyte at most; no rule needs more evidence.
pub const MINE_URLS_MAX: usize = 4 << 20;

/// Most parameters of one URL that the miner looks at; a URL with more is left out.
///
/// Reason: the memory and the trials for a URL grow with them, and crafted URLs must not decide how
/// much that is.
pub const MINE_PARAMS_MAX: usize = 64;

/// Most path segments of one URL that the miner looks at; a URL with more is left out.
///
/// Reason: as for [`MINE_PARAMS_MAX`].
pub const MINE_SEGMENTS_MAX: usize = 64;

/// Most captures of one URL that the miner keeps.
///
/// Reason: two show whether a page is stable; more add little.
pub const MINE_CAPTURES_MAX: usize = 8;

/// Most rules that the miner considers for one site.
///
/// Reason: every candidate is tried on every URL that it applies to; real sites have some dozens.
pub const MINE_CANDIDATES_MAX: usize = 4096;

/// Deepest nesting of arrays and objects in a line of JSON. Deeper ones are rejected.
///
/// Reason: the kinds of open brackets are the bits of one number; logs have fewer than ten levels.
pub const JSON_DEPTH_MAX: usize = 128;

// Sizes and times that are tuned, and that more than one floor needs. Results do not depend on
// them.

/// Bytes in a chunk of whole lines: one unit of work for one thread.
///
/// Reason: small enough to stay in the second-level cache, large enough that taking it from the
/// queue costs nothing.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Most chunks in a batch, which is processed while the next is read.
///
/// Reason: the more records a partition gets at once, the fewer of them wait for memory, since
/// neighbours share pages and cache lines; with more chunks than this the writer waits too long
/// (`benches/cluster.rs`; docs/performance.md).
pub const BATCH_CHUNKS: usize = 128;

/// Smallest plain file that is mapped, in bytes; smaller ones are read.
///
/// Reason: mapping a file and unmapping it takes as long as reading some hundred kilobytes
/// (docs/performance.md, many files).
pub const MAP_BYTES_MIN: u64 = 256 << 10;

/// Longest silence of a stream while its first lines are awaited, from which the format is
/// detected.
///
/// Reason: longer than the pauses of programs that write line by line while they work, and hardly
/// noticed by somebody who watches the lines of a log.
pub const SAMPLE_SILENCE: Duration = Duration::from_millis(100);

/// How many such silences a line may end: in all, the first lines are awaited for this many times
/// [`SAMPLE_SILENCE`].
///
/// Reason: a stream that has a line every now and then is processed after two seconds.
pub const SAMPLE_SILENCES_MAX: u32 = 20;

/// Bytes of memory for each thread that decompresses frames of a zstd file: what is in flight for
/// it, compressed and decompressed, of which neither is much larger.
pub const DECOMPRESS_BYTES_PER_THREAD: u64 = 2 * DECOMPRESS_IN_FLIGHT_BYTES;

/// Bytes of memory that such threads share: two more pieces, and one large frame, each compressed
/// and decompressed.
pub const DECOMPRESS_BYTES_SHARED: u64 =
    2 * (2 * DECOMPRESS_IN_FLIGHT_BYTES + DECOMPRESSED_FRAME_BYTES_MAX);

/// Decompressed bytes of a zstd file in flight for each thread, about.
///
/// Reason: a piece usually has 4 to 8 MiB (`input/decode/zstd.rs`), so every thread has one; of the
/// largest frames fewer are in flight.
pub const DECOMPRESS_IN_FLIGHT_BYTES: u64 = 16 << 20;
