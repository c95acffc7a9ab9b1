//! What `learn` keeps of the records until their sites are mined: in memory, and in files
//! when that is used up.
//!
//! The sites are parted into [`SHARES`], each with a file without a name:
//!
//! ```text
//! file     group after group, in the order in which they were gathered
//! group    length of the site (u32) | site | number of sightings (u32) | their bytes (u64)
//!          | their parameters (u64) | their different words (u64)
//!          | bytes of their different paths (u64) | sightings
//! sighting ends of its five texts (5 x u32) | canonical (u8) | status (u16) | time (i64)
//!          | size (u64) | texts
//! ```
//!
//! Numbers are little-endian. Nobody but the process that wrote a file reads it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write as _};
use std::path::PathBuf;

use super::temp;
use super::url_words::Words;
use crate::error::{Error, Result};
use crate::mine::Observation;
use crate::record::{Fields, Record, time};
use crate::retry::retry_interrupted;

/// What was seen in a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkSightings {
    /// The texts of the sightings, one after the other.
    text: Vec<u8>,
    sightings: Vec<Sighting>,
    pub(super) sites: Vec<ChunkSite>,
}

/// A site in a chunk.
#[derive(Debug)]
pub(super) struct ChunkSite {
    pub(super) site: Box<[u8]>,
    /// Which sightings are of it.
    pub(super) sightings: Vec<u32>,
    pub(super) words: Words,
}

/// One record, with its texts in [`ChunkSightings::text`], one after the other.
#[derive(Debug)]
struct Sighting {
    /// Where the first text starts, and where each ends: digest, type, method, redirect, URL.
    ends: [u32; 6],
    /// Is the URL spelled as under the base profile?
    is_canonical: bool,
    /// The status, or [`NO_STATUS`].
    status: u16,
    /// The time, or [`NO_TIME`].
    time: i64,
    /// The size, or [`NO_SIZE`].
    size: u64,
}

/// What stands for a status, a time and a size that are not known.
const NO_STATUS: u16 = u16::MAX;
const NO_TIME: i64 = i64::MIN;
const NO_SIZE: u64 = u64::MAX;

/// Bytes of memory for each sighting beside its texts: itself, its number in its site, and in its
/// turn what the miner is given.
const SIGHTING_BYTES: u64 = (size_of::<Sighting>() + 16 + size_of::<Observation<'static>>()) as u64;

/// Bytes of memory for each site beside its sightings: its name here and among all sites, and the
/// lists of its sightings in both places, each a block of its own.
const SITE_BYTES: u64 = 256;

impl ChunkSightings {
    /// Without texts, but with room for `text_bytes` of them.
    pub(super) fn with_room(text_bytes: usize) -> ChunkSightings {
        ChunkSightings { text: Vec::with_capacity(text_bytes), ..ChunkSightings::default() }
    }

    /// Gives back the room that was not needed.
    pub(super) fn trim(&mut self) {
        self.text.shrink_to_fit();
        self.sightings.shrink_to_fit();
    }

    /// Bytes of memory that it takes, and will take when it is mined.
    pub(super) fn memory_bytes(&self) -> u64 {
        let sites = self.sites.len() as u64;
        memory_bytes(self.text.capacity() as u64, self.sightings.len() as u64, sites)
    }

    /// Bytes of its texts.
    pub(super) fn text_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// The number of `site`.
    pub(super) fn site(&mut self, site: &[u8]) -> usize {
        self.sites.push(ChunkSite {
            site: site.into(),
            sightings: Vec::new(),
            words: Words::default(),
        });
        self.sites.len() - 1
    }

    /// Adds what is seen in `record`, of the site with this number, with the `form` of its URL if
    /// that is its canonical form under the base profile.
    pub(super) fn add(&mut self, site: usize, record: &Record, form: Option<&[u8]>) {
        self.sites[site].sightings.push(self.sightings.len() as u32);
        let Fields { escapes, .. } = *record.fields;
        let mut buffer = Vec::new();
        let fields = record.fields;
        let mut ends = [self.text.len() as u32; 6];
        let texts = [fields.digest, fields.mime, fields.method, fields.redirect];
        for (text, end) in texts.iter().zip(&mut ends[1..]) {
            self.text.extend_from_slice(escapes.undo(text, &mut buffer));
            *end = self.text.len() as u32;
        }
        self.text.extend_from_slice(form.unwrap_or(record.url));
        ends[5] = self.text.len() as u32;
        self.sightings.push(Sighting {
            ends,
            is_canonical: form.is_some(),
            status: number(fields.status).unwrap_or(NO_STATUS),
            time: time::parse(fields.time, fields.clock).unwrap_or(NO_TIME),
            size: number(fields.size).unwrap_or(NO_SIZE),
        });
    }

    /// What the miner is given for a sighting.
    pub(super) fn observation(&self, sighting: u32) -> Observation<'_> {
        let Sighting { ends, is_canonical, status, time, size } =
            &self.sightings[sighting as usize];
        let text = |at: usize| &self.text[ends[at] as usize..ends[at + 1] as usize];
        let known = |at: usize| Some(text(at)).filter(|text| !text.is_empty());
        Observation {
            url: text(4),
            is_canonical: *is_canonical,
            time: Some(*time).filter(|time| *time != NO_TIME),
            status: Some(*status).filter(|status| *status != NO_STATUS),
            size: Some(*size).filter(|size| *size != NO_SIZE),
            digest: known(0),
            mime: known(1),
            method: known(2),
            redirect: known(3),
        }
    }
}

/// Bytes of memory for so many sightings of so many sites, with so many bytes of texts.
fn memory_bytes(text_bytes: u64, sightings: u64, sites: u64) -> u64 {
    text_bytes + sightings * SIGHTING_BYTES + sites * SITE_BYTES
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Parts of the sites that are mined one after the other where not all have room.
pub(super) const SHARES: usize = 64;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 18;

/// Most bytes of texts in one [`ChunkSightings`] that is read back: their places are 32 bits.
const TEXT_BYTES_MAX: usize = 1 << 30;

/// The files of the shares.
#[derive(Debug)]
pub(super) struct Shares {
    folder: PathBuf,
    files: Vec<File>,
    /// Sightings in each file.
    counts: [u64; SHARES],
    spilled_bytes: u64,
}

impl Shares {
    /// Files in `folder`.
    pub(super) fn new(folder: PathBuf) -> Result<Shares> {
        let files = (0..SHARES).map(|_| temp::open(&folder)).collect::<Result<_>>()?;
        Ok(Shares { folder, files, counts: [0; SHARES], spilled_bytes: 0 })
    }

    pub(super) fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes
    }

    /// Appends all that was `gathered`.
    pub(super) fn spill(&mut self, gathered: &[ChunkSightings]) -> Result<()> {
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
                    let Words { params, distinct, path_bytes } = *words;
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

    /// The sites of `share`, the one with most sightings first.
    pub(super) fn loads(&mut self, share: usize) -> Result<Vec<Load>> {
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
    pub(super) fn read(&mut self, share: usize, sites: &[Load]) -> Result<Vec<ChunkSightings>> {
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

    /// Goes through the groups of `share`. `each` reads the sightings of a group, or skips them.
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

    /// Failure: an internal error if not as many sightings came back as were put aside.
    fn check(&self, share: usize, count: u64) -> Result<()> {
        let expected = self.counts[share];
        if count == expected {
            return Ok(());
        }
        Err(Error::internal(format!("{expected} records were put aside and {count} came back")))
    }
}

fn flush(file: &mut File, buffer: &mut Vec<u8>, folder: &std::path::Path) -> Result<u64> {
    file.write_all(buffer).map_err(|error| temp::failed(folder, error))?;
    let bytes = buffer.len() as u64;
    buffer.clear();
    Ok(bytes)
}

/// The share of `site`. Any will do that is the same for all its records.
pub(super) fn share_of(site: &[u8]) -> usize {
    let mixed = site.iter().fold(0u32, |sum, byte| sum.wrapping_mul(31) ^ u32::from(*byte));
    (mixed.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SHARES.ilog2())) as usize
}

/// What the sightings of one site take.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) site: Box<[u8]>,
    pub(super) records: u64,
    pub(super) text_bytes: u64,
    pub(super) words: Words,
}

impl Load {
    /// Of `site` nothing yet.
    fn none(site: &[u8]) -> Load {
        Load { site: site.into(), records: 0, text_bytes: 0, words: Words::default() }
    }

    /// Bytes of memory that its sightings take.
    pub(super) fn memory_bytes(&self) -> u64 {
        memory_bytes(self.text_bytes, self.records, 1)
    }
}

/// What stands in front of the sightings of a group.
struct Head {
    site: Box<[u8]>,
    count: u32,
    /// Of the sightings.
    bytes: u64,
    words: Words,
}

impl Head {
    /// The one that comes next; `None` at the end.
    fn read(file: &mut impl BufRead) -> io::Result<Option<Head>> {
        let Some(site_bytes) = read_length(file)? else { return Ok(None) };
        let mut site = vec![0; site_bytes];
        file.read_exact(&mut site)?;
        let mut numbers = [0; 36];
        file.read_exact(&mut numbers)?;
        let (count, numbers) = numbers.split_at(4);
        let [bytes, params, distinct, path_bytes] =
            [0, 8, 16, 24].map(|at| number_of(&numbers[at..at + 8]));
        Ok(Some(Head {
            site: site.into(),
            count: number_of(count) as u32,
            bytes,
            words: Words { params, distinct, path_bytes },
        }))
    }

    /// Passes over the sightings.
    fn skip(&self, file: &mut BufReader<&mut File>) -> io::Result<()> {
        file.seek_relative(self.bytes as i64)
    }
}

/// The number in `bytes`, little-endian.
fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The length that comes next; `None` at the end, which must not be inside of one.
fn read_length(file: &mut impl BufRead) -> io::Result<Option<usize>> {
    if retry_interrupted(|| file.fill_buf().map(<[u8]>::is_empty))? {
        return Ok(None);
    }
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(Some(u32::from_le_bytes(bytes) as usize))
}

/// Bytes of a sighting in a file, beside its texts.
const HEAD_BYTES: usize = 39;

fn push_u32(buffer: &mut Vec<u8>, number: usize) {
    buffer.extend_from_slice(&(number as u32).to_le_bytes());
}

impl ChunkSightings {
    /// Empty, with room for all that is of one site.
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
        let Sighting { ends, is_canonical, status, time, size } =
            &self.sightings[sighting as usize];
        for end in &ends[1..] {
            push_u32(buffer, (end - ends[0]) as usize);
        }
        buffer.push(u8::from(*is_canonical));
        buffer.extend_from_slice(&status.to_le_bytes());
        buffer.extend_from_slice(&time.to_le_bytes());
        buffer.extend_from_slice(&size.to_le_bytes());
        buffer.extend_from_slice(&self.text[ends[0] as usize..ends[5] as usize]);
    }

    /// Reads a sighting of the site with this number.
    fn read(&mut self, site: usize, file: &mut impl Read) -> io::Result<()> {
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head)?;
        let (texts, rest) = head.split_at(20);
        let start = self.text.len() as u32;
        let mut ends = [start; 6];
        for (end, bytes) in ends[1..].iter_mut().zip(texts.as_chunks::<4>().0) {
            *end = start + u32::from_le_bytes(*bytes);
        }
        self.text.resize(ends[5] as usize, 0);
        file.read_exact(&mut self.text[start as usize..])?;
        let (is_canonical, rest) = rest.split_at(1);
        let (status, rest) = rest.split_at(2);
        let (time, size) = rest.split_at(8);
        self.sites[site].sightings.push(self.sightings.len() as u32);
        self.sightings.push(Sighting {
            ends,
            is_canonical: is_canonical == [1],
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
    use crate::record::NO_HOST;

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
        let mut gathered = Vec::new();
        for chunk in 0..3 {
            let mut one = ChunkSightings::with_room(100);
            for site in 0..100 {
                let number = one.site(format!("site{site}.test").as_bytes());
                one.add(number, &record(b"http://a.test/x?y", &SOME), Some(b"http://a.test/x"));
                if site % 3 == chunk {
                    one.add(number, &record(NO_HOST, &NONE), None);
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
        let mut shares = Shares::new(std::env::temp_dir()).unwrap();
        shares.spill(&gathered[..2]).unwrap();
        shares.spill(&gathered[2..]).unwrap();
        assert!(shares.spilled_bytes() > 400 * HEAD_BYTES as u64);
        let mut back = Vec::new();
        for share in 0..SHARES {
            let loads = shares.loads(share).unwrap();
            assert!(loads.iter().all(|load| share_of(&load.site) == share));
            let texts: u64 = loads.iter().map(|load| load.text_bytes).sum();
            // In two parts, as where not all of them have room.
            let (some, others) = loads.split_at(loads.len() / 3);
            let before = back.len();
            back.extend(shares.read(share, some).unwrap());
            back.extend(shares.read(share, others).unwrap());
            assert_eq!(back.len() - before, loads.len());
            assert_eq!(back[before..].iter().map(|one| one.text.len() as u64).sum::<u64>(), texts);
        }
        assert_eq!(shown(&gathered).len(), 400);
        assert_eq!(shown(&back), shown(&gathered));
    }
}
