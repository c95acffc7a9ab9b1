//! Sightings in files, divided by site, so that some sites at a time can be mined.
//!
//! The sites are divided into [`SHARES`], each with an unnamed file:
//!
//! ```text
//! file     group after group, in the order in which they were gathered
//! group    length of the site (u32) | site | number of sightings (u32) | their bytes (u64)
//!          | their parameters (u64) | their different words (u64)
//!          | bytes of their different paths (u64) | sightings
//! sighting ends of its five texts (5 x u32) | canonical, and twice the link (u8) | status (u16)
//!          | time (i64) | size (u64) | texts
//! ```
//!
//! Numbers are little-endian. Only the process that wrote a file reads it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write as _};
use std::path::{Path, PathBuf};

use super::{ChunkSightings, ChunkSite, Link, Sighting, memory_bytes};
use crate::error::{Error, Result};
use crate::pipeline::learn::url_words::WordCounts;
use crate::pipeline::temp;
use crate::retry::retry_interrupted;

/// The number of shares, which are mined one after the other if not all sites fit in memory.
pub(crate) const SHARES: usize = 64;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 18;

/// Most bytes of texts in one [`ChunkSightings`] that is read back. Reason: positions have 32 bits.
const TEXT_BYTES_MAX: usize = 1 << 30;

/// The files of the shares.
#[derive(Debug)]
pub(crate) struct Shares {
    folder: PathBuf,
    files: Vec<File>,
    /// Sightings in each file.
    counts: [u64; SHARES],
    spilled_bytes: u64,
}

impl Shares {
    /// Files in `folder`.
    pub(crate) fn new(folder: PathBuf) -> Result<Shares> {
        let files = (0..SHARES).map(|_| temp::open(&folder)).collect::<Result<_>>()?;
        Ok(Shares { folder, files, counts: [0; SHARES], spilled_bytes: 0 })
    }

    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes
    }

    /// Appends everything that was `gathered`.
    pub(crate) fn spill(&mut self, gathered: &[ChunkSightings]) -> Result<()> {
        let mut buffer = Vec::with_capacity(WRITE_BYTES);
        for (share, file) in self.files.iter_mut().enumerate() {
            for chunk in gathered {
                for ChunkSite { site, sightings: numbers, words } in &chunk.sites {
                    if share_of(site) != share {
                        continue;
                    }
                    push_u32(&mut buffer, site.len());
                    buffer.extend_from_slice(site);
                    push_u32(&mut buffer, numbers.len());
                    let bytes: usize = numbers.iter().map(|number| chunk.written(*number)).sum();
                    let WordCounts { params, distinct, path_bytes } = *words;
                    for number in [bytes as u64, params, distinct, path_bytes] {
                        buffer.extend_from_slice(&number.to_le_bytes());
                    }
                    self.counts[share] += numbers.len() as u64;
                    for number in numbers {
                        chunk.write(*number, &mut buffer);
                        if buffer.len() >= WRITE_BYTES {
                            self.spilled_bytes += flush(file, &mut buffer, &self.folder)?;
                        }
                    }
                }
            }
            self.spilled_bytes += flush(file, &mut buffer, &self.folder)?;
        }
        Ok(())
    }

    /// Returns the sites of `share`, the one with most sightings first.
    pub(crate) fn loads(&mut self, share: usize) -> Result<Vec<Load>> {
        let mut loads: BTreeMap<Box<[u8]>, Load> = BTreeMap::new();
        self.each_group(share, |head, file| {
            let load = loads.entry(head.site.clone()).or_insert_with(|| Load::none(&head.site));
            let records = u64::from(head.count);
            load.records += records;
            load.text_bytes += head.bytes.saturating_sub(records * HEAD_BYTES as u64);
            load.words += head.words;
            head.skip(file)
        })?;
        let counted: u64 = loads.values().map(|load| load.records).sum();
        self.check(share, counted)?;
        let mut loads: Vec<Load> = loads.into_values().collect();
        loads.sort_by_key(|load| std::cmp::Reverse(load.records));
        Ok(loads)
    }

    /// Reads back what was spilled of `sites`, which are of `share`.
    pub(crate) fn read(&mut self, share: usize, sites: &[Load]) -> Result<Vec<ChunkSightings>> {
        let mut all: Vec<ChunkSightings> =
            sites.iter().map(ChunkSightings::with_room_for).collect();
        let mut numbers: BTreeMap<&[u8], usize> =
            sites.iter().map(|load| &*load.site).zip(0..).collect();
        self.each_group(share, |head, file| {
            let Some(number) = numbers.get_mut(&*head.site) else { return head.skip(file) };
            if all[*number].text.len() > TEXT_BYTES_MAX {
                *number = all.len();
                let mut more = ChunkSightings::default();
                more.site(&head.site);
                all.push(more);
            }
            (0..head.count).try_for_each(|_| all[*number].read(0, file))
        })?;
        Ok(all)
    }

    /// Reads the groups of `share`. `each` reads the sightings of a group, or skips them.
    fn each_group(
        &mut self,
        share: usize,
        mut each: impl FnMut(&Head, &mut BufReader<&mut File>) -> io::Result<()>,
    ) -> Result<()> {
        let mut file = BufReader::new(&mut self.files[share]);
        let mut all = || -> io::Result<()> {
            file.rewind()?;
            while let Some(head) = Head::read(&mut file)? {
                each(&head, &mut file)?;
            }
            Ok(())
        };
        all().map_err(|error| temp::failed(&self.folder, error))
    }

    /// Failure: an internal error if not as many sightings are read as were written.
    fn check(&self, share: usize, count: u64) -> Result<()> {
        let expected = self.counts[share];
        if count == expected {
            return Ok(());
        }
        Err(Error::internal(format!("{expected} records were put aside and {count} came back")))
    }
}

fn flush(file: &mut File, buffer: &mut Vec<u8>, folder: &Path) -> Result<u64> {
    file.write_all(buffer).map_err(|error| temp::failed(folder, error))?;
    let bytes = buffer.len() as u64;
    buffer.clear();
    Ok(bytes)
}

/// The share of `site`: any function of the site will do.
fn share_of(site: &[u8]) -> usize {
    let mixed = site.iter().fold(0u32, |sum, byte| sum.wrapping_mul(31) ^ u32::from(*byte));
    (mixed.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SHARES.ilog2())) as usize
}

/// The sizes of the sightings of one site.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) site: Box<[u8]>,
    pub(crate) records: u64,
    pub(crate) text_bytes: u64,
    pub(crate) words: WordCounts,
}

impl Load {
    /// Begins for `site`, without sightings.
    fn none(site: &[u8]) -> Load {
        Load { site: site.into(), records: 0, text_bytes: 0, words: WordCounts::default() }
    }

    /// Bytes of memory that its sightings take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        memory_bytes(self.text_bytes, self.records, 1)
    }
}

/// The header of a group.
struct Head {
    site: Box<[u8]>,
    count: u32,
    /// Bytes of the sightings.
    bytes: u64,
    words: WordCounts,
}

impl Head {
    /// Reads the next header; `None` at the end.
    fn read(file: &mut impl BufRead) -> io::Result<Option<Head>> {
        let Some(site_bytes) = read_length(file)? else { return Ok(None) };
        let mut site = vec![0; site_bytes];
        file.read_exact(&mut site)?;
        let mut numbers = [0; size_of::<u32>() + 4 * size_of::<u64>()];
        file.read_exact(&mut numbers)?;
        let (count, numbers) = numbers.split_at(size_of::<u32>());
        let (numbers, _) = numbers.as_chunks();
        let [bytes, params, distinct, path_bytes] =
            [0, 1, 2, 3].map(|at: usize| u64::from_le_bytes(numbers[at]));
        Ok(Some(Head {
            site: site.into(),
            count: number_of(count) as u32,
            bytes,
            words: WordCounts { params, distinct, path_bytes },
        }))
    }

    /// Skips the sightings.
    fn skip(&self, file: &mut BufReader<&mut File>) -> io::Result<()> {
        file.seek_relative(self.bytes as i64)
    }
}

/// The number in `bytes`, little-endian.
fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Reads the next length; `None` at the end, which must not be inside a length.
fn read_length(file: &mut impl BufRead) -> io::Result<Option<usize>> {
    if retry_interrupted(|| file.fill_buf().map(<[u8]>::is_empty))? {
        return Ok(None);
    }
    let mut bytes = [0; size_of::<u32>()];
    file.read_exact(&mut bytes)?;
    Ok(Some(u32::from_le_bytes(bytes) as usize))
}

/// Texts of a sighting.
const TEXTS: usize = 5;

/// Bytes of a sighting in a file, beside its texts: their ends, whether it is canonical, status,
/// time and size.
const HEAD_BYTES: usize = ENDS_BYTES + 1 + size_of::<u16>() + size_of::<i64>() + size_of::<u64>();
const ENDS_BYTES: usize = TEXTS * size_of::<u32>();

fn push_u32(buffer: &mut Vec<u8>, number: usize) {
    buffer.extend_from_slice(&(number as u32).to_le_bytes());
}

impl ChunkSightings {
    /// Begins empty, with room for all sightings of one site.
    fn with_room_for(load: &Load) -> ChunkSightings {
        let records = load.records as usize;
        ChunkSightings {
            text: Vec::with_capacity((load.text_bytes as usize).min(TEXT_BYTES_MAX)),
            sightings: Vec::with_capacity(records),
            sites: vec![ChunkSite {
                site: load.site.clone(),
                sightings: Vec::with_capacity(records),
                words: load.words,
            }],
        }
    }

    /// Bytes that a sighting takes in a file.
    fn written(&self, sighting: u32) -> usize {
        let ends = &self.sightings[sighting as usize].ends;
        HEAD_BYTES + (ends[5] - ends[0]) as usize
    }

    fn write(&self, sighting: u32, buffer: &mut Vec<u8>) {
        let Sighting { ends, link, is_canonical, status, time, size } =
            &self.sightings[sighting as usize];
        for end in &ends[1..] {
            push_u32(buffer, (end - ends[0]) as usize);
        }
        buffer.push(u8::from(*is_canonical) | (*link as u8) << 1);
        buffer.extend_from_slice(&status.to_le_bytes());
        buffer.extend_from_slice(&time.to_le_bytes());
        buffer.extend_from_slice(&size.to_le_bytes());
        buffer.extend_from_slice(&self.text[ends[0] as usize..ends[5] as usize]);
    }

    /// Reads a sighting of the site with this number.
    fn read(&mut self, site: usize, file: &mut impl Read) -> io::Result<()> {
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head)?;
        let (texts, rest) = head.split_at(ENDS_BYTES);
        let start = self.text.len() as u32;
        let mut ends = [start; 6];
        for (end, bytes) in ends[1..].iter_mut().zip(texts.as_chunks::<4>().0) {
            *end = start + u32::from_le_bytes(*bytes);
        }
        self.text.resize(ends[5] as usize, 0);
        file.read_exact(&mut self.text[start as usize..])?;
        let (flags, rest) = rest.split_at(1);
        let (status, rest) = rest.split_at(size_of::<u16>());
        let (time, size) = rest.split_at(size_of::<i64>());
        self.sites[site].sightings.push(self.sightings.len() as u32);
        self.sightings.push(Sighting {
            ends,
            link: Link::ALL[usize::from(flags[0] >> 1).min(Link::ALL.len() - 1)],
            is_canonical: flags[0] & 1 != 0,
            status: number_of(status) as u16,
            time: number_of(time) as i64,
            size: number_of(size),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Fields, NO_HOST, Record};

    #[test]
    fn what_was_spilled_comes_back() {
        let record = |url: &'static [u8], fields: &'static Fields<'static>| Record {
            line: url,
            spelling: url,
            url,
            fields,
        };
        static SOME: std::sync::LazyLock<Fields<'static>> = std::sync::LazyLock::new(|| Fields {
            status: b"200",
            size: b"18446744073709551614",
            digest: b"ABC",
            method: b"GET",
            ..Fields::NONE
        });
        static NONE: Fields<'static> = Fields::NONE;
        static ONWARD: Fields<'static> = Fields { redirect: b"http://b.test/", ..Fields::NONE };
        static HERE: Fields<'static> =
            Fields { redirected_from: b"http://c.test/", ..Fields::NONE };
        static OWN: Fields<'static> = Fields { canonical_link: b"http://d.test/", ..Fields::NONE };
        let mut gathered = Vec::new();
        for chunk in 0..3 {
            let mut one = ChunkSightings::with_room(100);
            for site in 0..100 {
                let number = one.site(format!("site{site}.test").as_bytes());
                one.add(number, &record(b"http://a.test/x?y", &SOME), Some(b"http://a.test/x"));
                if site % 3 == chunk {
                    one.add(number, &record(NO_HOST, &NONE), None);
                    one.add(number, &record(b"http://a.test/", &ONWARD), None);
                    one.add(number, &record(b"http://a.test/", &HERE), Some(b"http://a.test/"));
                    one.add(number, &record(b"http://a.test/", &OWN), None);
                }
            }
            one.trim();
            gathered.push(one);
        }
        let shown = |all: &[ChunkSightings]| {
            let mut lines: Vec<String> = all
                .iter()
                .flat_map(|one| one.sites.iter().map(move |of| (one, of)))
                .flat_map(|(one, ChunkSite { site, sightings, .. })| {
                    sightings.iter().map(move |number| (one.observation(*number), site))
                })
                .map(|(seen, site)| format!("{} {seen:?}", String::from_utf8_lossy(site)))
                .collect();
            lines.sort();
            lines
        };
        let lines = shown(&gathered);
        let are = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        assert_eq!(are("redirect: Some"), 100);
        assert_eq!(are("redirected_from: Some"), 100);
        assert_eq!(are("canonical_link: Some"), 100);
        let mut shares = Shares::new(std::env::temp_dir()).unwrap();
        shares.spill(&gathered[..2]).unwrap();
        shares.spill(&gathered[2..]).unwrap();
        assert!(shares.spilled_bytes() > 600 * HEAD_BYTES as u64);
        let mut back = Vec::new();
        for share in 0..SHARES {
            let loads = shares.loads(share).unwrap();
            assert!(loads.iter().all(|load| share_of(&load.site) == share));
            let texts: u64 = loads.iter().map(|load| load.text_bytes).sum();
            // In two parts, as if not all of them fit in memory.
            let (some, others) = loads.split_at(loads.len() / 3);
            let before = back.len();
            back.extend(shares.read(share, some).unwrap());
            back.extend(shares.read(share, others).unwrap());
            assert_eq!(back.len() - before, loads.len());
            assert_eq!(back[before..].iter().map(|one| one.text.len() as u64).sum::<u64>(), texts);
        }
        assert_eq!(shown(&gathered).len(), 700);
        assert_eq!(shown(&back), shown(&gathered));
    }
}
