//! What `learn` keeps of the records until their sites are mined: in memory, and in files when that is
//! used up.
//!
//! The sites are parted into [`SHARES`], each with a file without a name:
//!
//! ```text
//! file     group after group, in the order in which they were gathered
//! group    length of the site (u32) | site | number of sightings (u32) | sightings
//! sighting ends of its five texts (5 x u32) | canonical (u8) | status (u16) | time (i64)
//!          | size (u64) | texts
//! ```
//!
//! Numbers are little-endian. Nobody but the process that wrote a file reads it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, Write as _};
use std::path::PathBuf;

use super::temp;
use crate::error::{Error, Result};
use crate::mine::Observation;
use crate::record::{Fields, Record, time};

/// What was seen in a chunk.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The texts of the sightings, one after the other.
    text: Vec<u8>,
    sightings: Vec<Sighting>,
    /// The sites, and which sightings are of them.
    pub(super) sites: Vec<(Box<[u8]>, Vec<u32>)>,
}

/// One record, with its texts in [`Gathered::text`], one after the other.
#[derive(Debug)]
struct Sighting {
    /// Where the first text starts, and where each ends: digest, type, method, redirect, URL.
    ends: [u32; 6],
    /// Is the URL as stage 0 spells it?
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

impl Gathered {
    /// Without texts, but with room for `text_bytes` of them.
    pub(super) fn with_room(text_bytes: usize) -> Gathered {
        Gathered { text: Vec::with_capacity(text_bytes), ..Gathered::default() }
    }

    /// Gives back the room that was not needed.
    pub(super) fn trim(&mut self) {
        self.text.shrink_to_fit();
        self.sightings.shrink_to_fit();
    }

    /// Bytes of memory that it takes, and will take when it is mined.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.text.capacity() as u64 + self.sightings.len() as u64 * SIGHTING_BYTES
    }

    /// The number of `site`.
    pub(super) fn site(&mut self, site: &[u8]) -> usize {
        self.sites.push((site.into(), Vec::new()));
        self.sites.len() - 1
    }

    /// Adds what is seen in `record`, of the site with this number, with the `form` of its URL if
    /// that is what stage 0 makes of it.
    pub(super) fn add(&mut self, site: usize, record: &Record, form: Option<&[u8]>) {
        self.sites[site].1.push(self.sightings.len() as u32);
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

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Parts of the sites that are mined one after the other where not all have room.
pub(super) const SHARES: usize = 64;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 18;

/// Most bytes of texts in one [`Gathered`] that is read back: their places are 32 bits.
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
    pub(super) fn spill(&mut self, gathered: &[Gathered]) -> Result<()> {
        let mut buffer = Vec::with_capacity(WRITE_BYTES);
        for (share, file) in self.files.iter_mut().enumerate() {
            for chunk in gathered {
                for (site, numbers) in &chunk.sites {
                    if share_of(site) != share {
                        continue;
                    }
                    push_u32(&mut buffer, site.len());
                    buffer.extend_from_slice(site);
                    push_u32(&mut buffer, numbers.len());
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

    /// Reads `share` back, all that was ever spilled of it.
    pub(super) fn read(&mut self, share: usize) -> Result<Vec<Gathered>> {
        let file = &mut self.files[share];
        let all = file.rewind().and_then(|()| read_groups(BufReader::new(file)));
        let all = all.map_err(|error| temp::failed(&self.folder, error))?;
        let count: u64 = all.iter().map(|one| one.sightings.len() as u64).sum();
        if count != self.counts[share] {
            return Err(Error::internal(format!(
                "{} records were put aside and {count} came back",
                self.counts[share]
            )));
        }
        Ok(all)
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

fn read_groups(mut file: impl Read) -> io::Result<Vec<Gathered>> {
    let mut all = vec![Gathered::default()];
    while let Some(site_bytes) = read_length(&mut file)? {
        let mut site = vec![0; site_bytes];
        file.read_exact(&mut site)?;
        let Some(count) = read_length(&mut file)? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if all.last().is_none_or(|last| last.text.len() > TEXT_BYTES_MAX) {
            all.push(Gathered::default());
        }
        let Some(gathered) = all.last_mut() else { break };
        let number = gathered.site(&site);
        for _ in 0..count {
            gathered.read(number, &mut file)?;
        }
    }
    Ok(all)
}

/// The length that comes next; `None` at the end.
fn read_length(file: &mut impl Read) -> io::Result<Option<usize>> {
    let mut bytes = [0; 4];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(u32::from_le_bytes(bytes) as usize)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Bytes of a sighting in a file, beside its texts.
const HEAD_BYTES: usize = 39;

fn push_u32(buffer: &mut Vec<u8>, number: usize) {
    buffer.extend_from_slice(&(number as u32).to_le_bytes());
}

impl Gathered {
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
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        self.sites[site].1.push(self.sightings.len() as u32);
        self.sightings.push(Sighting {
            ends,
            is_canonical: is_canonical == [1],
            status: number(status) as u16,
            time: number(time) as i64,
            size: number(size),
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
            let mut one = Gathered::with_room(100);
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
        let shown = |all: &[Gathered]| {
            let mut lines: Vec<String> = all
                .iter()
                .flat_map(|one| one.sites.iter().map(move |(site, numbers)| (one, site, numbers)))
                .flat_map(|(one, site, numbers)| {
                    numbers.iter().map(move |number| (one.observation(*number), site))
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
            let all = shares.read(share).unwrap();
            assert!(all.iter().flat_map(|one| &one.sites).all(|(site, _)| share_of(site) == share));
            back.extend(all);
        }
        assert_eq!(shown(&gathered).len(), 400);
        assert_eq!(shown(&back), shown(&gathered));
    }
}
