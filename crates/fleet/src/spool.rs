//! Records that wait on the disk until the server has them: written first, numbered, bounded, in
//! order.
//!
//! A spool is a directory that one process holds at a time:
//!
//! | file | what |
//! |---|---|
//! | `lock` | locked by the process that holds the spool; the kernel lets go when that ends |
//! | `id` | names the spool on the bus |
//! | `sent` | the number of the last record that the server is known to have |
//! | `<number>.jsonl` | a segment: records, one a line, of which the first has this number |
//!
//! `sent` may be older than the truth, because the server is asked after each connect. It is on the
//! disk before a segment goes, so that no number is used twice.

use hookwire_ask::file;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Spools of one host beside each other, one for each process that runs at once.
const MAX_SPOOLS: usize = 64;

/// How much a spool holds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A segment of at least so many bytes is followed by the next.
    pub segment: u64,
    /// All segments together, in bytes. Records beyond that are refused.
    pub total: u64,
    /// The longest record, in bytes.
    pub record: usize,
    /// The records that go together: so many bytes and so many records at most.
    pub batch: (usize, usize),
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            segment: 4 << 20,
            total: 256 << 20,
            record: 512 << 10,
            batch: (256 << 10, 500),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    limits: Limits,
    id: String,
    /// The oldest first. The last one is written to.
    segments: Vec<Segment>,
    /// The number of the next record, from 1.
    next: u64,
    sent: u64,
    /// Where the record behind `sent` begins in its segment, if that is known.
    at: Option<(u64, u64)>,
    /// A write has failed, and what it left couldn't be taken back yet.
    is_torn: bool,
    _lock: File,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    bytes: u64,
}

/// Records that go to the server together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the first.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// The records, each with a line end.
    pub lines: Vec<u8>,
}

/// What became of records that were to be appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// So many are on the disk.
    pub kept: u64,
    /// There was no room for so many, or they were too long.
    pub refused: u64,
}

impl Spool {
    /// The first spool in a directory that no process holds, else a new one. Of several, one that
    /// has records waiting.
    ///
    /// # Errors
    /// A directory or file can't be made or read; too many are in use.
    pub fn claim(parent: &Path, limits: Limits) -> io::Result<Spool> {
        private_dir(parent)?;
        let mut free: Option<Spool> = None;
        let there = spools_in(parent)?;
        for dir in &there {
            match Spool::open(dir, limits)? {
                Some(spool) if spool.waiting() > 0 => return Ok(spool),
                Some(spool) => free = free.or(Some(spool)),
                None => {}
            }
        }
        if let Some(spool) = free {
            return Ok(spool);
        }
        if there.len() >= MAX_SPOOLS {
            let problem = format!(
                "{}: {MAX_SPOOLS} processes spool here already",
                parent.display()
            );
            return Err(io::Error::other(problem));
        }
        let spool = Spool::open(&parent.join(new_id()?), limits)?;
        spool.ok_or_else(|| {
            io::Error::other(format!(
                "{}: another process took the new spool",
                parent.display()
            ))
        })
    }

    /// The spools in a directory that have records waiting and that no process holds: those of
    /// processes that have ended.
    ///
    /// # Errors
    /// The directory can't be read. A spool that can't be is left out.
    pub fn abandoned(parent: &Path, limits: Limits) -> io::Result<Vec<Spool>> {
        let spools = spools_in(parent)?
            .into_iter()
            .filter_map(|dir| Spool::open(&dir, limits).ok().flatten());
        Ok(spools.filter(|spool| spool.waiting() > 0).collect())
    }

    /// Opens a spool, which is made for this user alone if it isn't there. `None`: another process
    /// holds it.
    ///
    /// # Errors
    /// It can't be made or read.
    pub fn open(dir: &Path, limits: Limits) -> io::Result<Option<Spool>> {
        private_dir(dir)?;
        let lock = file::open_as(
            private_options().create(true).append(true),
            &dir.join("lock"),
        )?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let id = match read_small(&dir.join("id"))? {
            Some(id) if is_id(&id) => id,
            // At first, the directory's own name.
            _ => match dir
                .file_name()
                .and_then(OsStr::to_str)
                .filter(|it| is_id(it))
            {
                Some(id) => write_small(dir, "id", id)?,
                None => write_small(dir, "id", &new_id()?)?,
            },
        };
        let sent: u64 = read_small(&dir.join("sent"))?
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut segments = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let first = name
                .to_str()
                .and_then(|name| name.strip_suffix(".jsonl"))
                .and_then(|it| it.parse().ok());
            if let Some(first) = first {
                segments.push(Segment {
                    first,
                    bytes: entry.metadata()?.len(),
                });
            }
        }
        segments.sort_by_key(|segment| segment.first);
        let mut next = sent + 1;
        if let Some(last) = segments.last_mut() {
            let file = file::open_as(
                private_options().append(true).read(true),
                &segment_path(dir, last.first),
            )?;
            let (n_lines, whole) = whole_lines(&file)?;
            // The process ended in the middle of a record, which nobody was told is kept.
            file.set_len(whole)?;
            last.bytes = whole;
            next = next.max(last.first + n_lines);
        }
        let dir = dir.to_path_buf();
        Ok(Some(Spool {
            dir,
            limits,
            id,
            segments,
            next,
            sent,
            at: None,
            is_torn: false,
            _lock: lock,
        }))
    }

    /// What names the spool on the bus.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The number of the next record.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The number of the last record that the server is known to have; 0: none.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// How many records wait.
    pub fn waiting(&self) -> u64 {
        self.next - 1 - self.sent
    }

    /// Writes records, of one line each. When this returns, the disk has those that are kept.
    ///
    /// # Errors
    /// They can't be written; then none is kept.
    pub fn append<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a [u8]>,
    ) -> io::Result<Appended> {
        if let Some(last) = self.segments.last().filter(|_| self.is_torn) {
            file::open_as(
                private_options().write(true),
                &segment_path(&self.dir, last.first),
            )?
            .set_len(last.bytes)?;
            self.is_torn = false;
        }
        let (mut lines, mut appended) = (Vec::new(), Appended::default());
        let held: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        for record in records {
            let is_fit = !record.is_empty()
                && record.len() <= self.limits.record
                && !record.contains(&b'\n');
            if !is_fit || held + (lines.len() + record.len()) as u64 >= self.limits.total {
                appended.refused += 1;
                continue;
            }
            lines.extend_from_slice(record);
            lines.push(b'\n');
            appended.kept += 1;
        }
        if appended.kept == 0 {
            return Ok(appended);
        }
        let (mut file, before) = self.open_for_append()?;
        if let Err(error) = file.write_all(&lines).and_then(|()| file.sync_data()) {
            self.is_torn = file.set_len(before).is_err();
            return Err(error);
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.bytes = before + lines.len() as u64;
        }
        self.next += appended.kept;
        Ok(appended)
    }

    /// The segment that is written to, and how long it is.
    fn open_for_append(&mut self) -> io::Result<(File, u64)> {
        if let Some(segment) = self
            .segments
            .last()
            .filter(|segment| segment.bytes < self.limits.segment)
        {
            let file = file::open_as(
                private_options().append(true),
                &segment_path(&self.dir, segment.first),
            )?;
            return Ok((file, segment.bytes));
        }
        let file = file::open_as(
            private_options().append(true).create(true),
            &segment_path(&self.dir, self.next),
        )?;
        file.set_len(0)?;
        file::sync_directory(&self.dir)?;
        self.segments.push(Segment {
            first: self.next,
            bytes: 0,
        });
        Ok((file, 0))
    }

    /// The first records that wait, as many as go together. `None`: none waits.
    ///
    /// # Errors
    /// They can't be read.
    pub fn next_batch(&mut self) -> io::Result<Option<Batch>> {
        if self.waiting() == 0 {
            return Ok(None);
        }
        let first = self.sent + 1;
        let (segment, offset) = self.find_record(first)?;
        let (max_bytes, max_records) = self.limits.batch;
        let (mut file, _) = file::open(&segment_path(&self.dir, segment.first))?;
        file.seek(SeekFrom::Start(offset))?;
        // One record may be longer than a batch. What lies behind the known end isn't on the disk
        // for sure.
        let most = max_bytes.max(self.limits.record + 1) as u64;
        let mut lines = Vec::new();
        file.take(most.min(segment.bytes.saturating_sub(offset)))
            .read_to_end(&mut lines)?;
        let (mut n, mut end) = (0, 0);
        for (at, _) in lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            if n == max_records as u64 || n > 0 && at >= max_bytes {
                break;
            }
            (n, end) = (n + 1, at + 1);
        }
        if n == 0 {
            return Err(io::Error::other(format!(
                "{}: record {first} is not whole",
                self.dir.display()
            )));
        }
        lines.truncate(end);
        self.at = Some((first, offset));
        Ok(Some(Batch {
            first,
            last: first + n - 1,
            lines,
        }))
    }

    /// The segment of a record, and where the record begins.
    fn find_record(&self, number: u64) -> io::Result<(Segment, u64)> {
        let lost = || io::Error::other(format!("{}: record {number} is gone", self.dir.display()));
        let segment = *self
            .segments
            .iter()
            .rev()
            .find(|segment| segment.first <= number)
            .ok_or_else(lost)?;
        if number == segment.first {
            return Ok((segment, 0));
        }
        let (known, offset) = self
            .at
            .filter(|(known, _)| (segment.first..=number).contains(known))
            .unwrap_or((segment.first, 0));
        let (mut file, _) = file::open(&segment_path(&self.dir, segment.first))?;
        file.seek(SeekFrom::Start(offset))?;
        let offset = offset
            + skip_lines(
                file.take(segment.bytes.saturating_sub(offset)),
                number - known,
            )?
            .ok_or_else(lost)?;
        Ok((segment, offset))
    }

    /// The server has the records up to this number. Segments that it has whole go.
    ///
    /// # Errors
    /// That can't be written down; the records stay.
    pub fn acknowledge(&mut self, last: u64) -> io::Result<()> {
        let last = last.min(self.next - 1);
        if last <= self.sent {
            return Ok(());
        }
        // Found while its segment is there, so that the next batch begins without a search.
        self.at = if last + 1 < self.next {
            self.find_record(last + 1)
                .ok()
                .map(|(_, offset)| (last + 1, offset))
        } else {
            None
        };
        self.sent = last;
        let n_gone = self
            .segments
            .windows(2)
            .take_while(|pair| matches!(pair, [_, next] if next.first <= last + 1))
            .count();
        // Without a sync unless segments go: the server knows better after a crash.
        write_small_as(&self.dir, "sent", &last.to_string(), n_gone > 0)?;
        for segment in self.segments.drain(..n_gone) {
            std::fs::remove_file(segment_path(&self.dir, segment.first))?;
        }
        Ok(())
    }

    /// Takes another name on the bus, because the server has records under this one that aren't of
    /// this spool.
    ///
    /// # Errors
    /// It can't be written down.
    pub fn rename(&mut self) -> io::Result<()> {
        self.id = write_small(&self.dir, "id", &new_id()?)?;
        Ok(())
    }
}

fn spools_in(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let mut dirs = Vec::new();
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_id) && entry.file_type()?.is_dir() {
            dirs.push(entry.path());
        }
    }
    dirs.sort();
    Ok(dirs)
}

fn segment_path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}.jsonl"))
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// 16 digits that nobody else has.
pub(crate) fn new_id() -> io::Result<String> {
    let mut bytes = [0; 8];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// Whether a name is one that [`new_id`] gives.
pub(crate) fn is_id(name: &str) -> bool {
    name.len() == 16
        && name
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A file of one short line, if it is there.
fn read_small(path: &Path) -> io::Result<Option<String>> {
    match file::read_text(path, 64) {
        Ok(text) => Ok(Some(text.trim_end().to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_small(dir: &Path, name: &str, text: &str) -> io::Result<String> {
    write_small_as(dir, name, text, true)?;
    Ok(text.to_string())
}

/// Replaces a small file as a whole.
fn write_small_as(dir: &Path, name: &str, text: &str, is_synced: bool) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    if is_synced {
        file.as_file().sync_all()?;
    }
    file.persist(dir.join(name)).map_err(|error| error.error)?;
    if is_synced {
        file::sync_directory(dir)
    } else {
        Ok(())
    }
}

/// How many whole lines there are, and where the last one ends.
fn whole_lines(file: &File) -> io::Result<(u64, u64)> {
    let (mut n, mut end, mut at) = (0, 0, 0);
    let mut reader = io::BufReader::with_capacity(1 << 16, file);
    loop {
        let buffer = io::BufRead::fill_buf(&mut reader)?;
        if buffer.is_empty() {
            return Ok((n, end));
        }
        for (offset, _) in buffer
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
        {
            (n, end) = (n + 1, at + offset as u64 + 1);
        }
        let length = buffer.len();
        at += length as u64;
        io::BufRead::consume(&mut reader, length);
    }
}

/// Where the line begins that is behind so many; `None` if there aren't as many.
fn skip_lines(from: impl Read, n: u64) -> io::Result<Option<u64>> {
    let (mut left, mut at) = (n, 0);
    let mut reader = io::BufReader::with_capacity(1 << 16, from);
    while left > 0 {
        let buffer = io::BufRead::fill_buf(&mut reader)?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let mut used = buffer.len();
        for (offset, _) in buffer
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
        {
            left -= 1;
            if left == 0 {
                used = offset + 1;
                break;
            }
        }
        at += used as u64;
        io::BufRead::consume(&mut reader, used);
    }
    Ok(Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        segment: 40,
        total: 400,
        record: 30,
        batch: (64, 4),
    };

    fn append(spool: &mut Spool, records: &[&str]) -> Appended {
        spool
            .append(records.iter().map(|record| record.as_bytes()))
            .unwrap()
    }

    /// All that waits, in batches that are acknowledged.
    fn drain(spool: &mut Spool) -> Vec<String> {
        let mut drained = Vec::new();
        while let Some(batch) = spool.next_batch().unwrap() {
            let lines = String::from_utf8(batch.lines).unwrap();
            assert_eq!(lines.lines().count() as u64, batch.last + 1 - batch.first);
            assert_eq!(batch.first, spool.sent() + 1);
            drained.extend(lines.lines().map(str::to_string));
            spool.acknowledge(batch.last).unwrap();
        }
        drained
    }

    fn files(dir: &Path) -> usize {
        std::fs::read_dir(dir)
            .unwrap()
            .filter(|it| it.as_ref().unwrap().path().extension().is_some())
            .count()
    }

    #[test]
    fn records_outlive_the_process_in_order_and_none_is_numbered_twice() {
        let parent = tempfile::tempdir().unwrap();
        let mut spool = Spool::claim(parent.path(), SMALL).unwrap();
        let dir = spool.dir.clone();
        let records: Vec<String> = (1..=20).map(|n| format!("record {n:02}")).collect();
        for records in records.chunks(3) {
            append(
                &mut spool,
                &records.iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
        // A part of a batch is acknowledged: the server had it.
        assert_eq!(spool.next_batch().unwrap().unwrap().last, 4);
        spool.acknowledge(2).unwrap();
        assert!(
            Spool::open(&dir, SMALL).unwrap().is_none(),
            "one process at a time"
        );
        let id = spool.id().to_string();
        drop(spool);
        // The process ended within a record.
        let last = std::fs::read_dir(&dir)
            .unwrap()
            .map(|it| it.unwrap().path())
            .filter(|it| it.extension().is_some())
            .max()
            .unwrap();
        private_options()
            .append(true)
            .open(&last)
            .unwrap()
            .write_all(b"half a rec")
            .unwrap();
        let mut spool = Spool::claim(parent.path(), SMALL).unwrap();
        assert_eq!(
            (spool.id(), spool.next(), spool.sent(), spool.waiting()),
            (&*id, 21, 2, 18)
        );
        assert_eq!(append(&mut spool, &["record 21"]).kept, 1);
        let drained = drain(&mut spool);
        assert_eq!(
            drained,
            (3..=21)
                .map(|n| format!("record {n:02}"))
                .collect::<Vec<_>>()
        );
        assert_eq!(files(&dir), 1, "what the server has goes");
        drop(spool);
        let mut spool = Spool::open(&dir, SMALL).unwrap().unwrap();
        assert_eq!(
            (spool.next(), spool.waiting(), spool.next_batch().unwrap()),
            (22, 0, None)
        );
        assert_eq!(Spool::abandoned(parent.path(), SMALL).unwrap().len(), 0);
        append(&mut spool, &["left"]);
        drop(spool);
        let abandoned = Spool::abandoned(parent.path(), SMALL).unwrap();
        assert_eq!(
            abandoned.iter().map(Spool::waiting).collect::<Vec<_>>(),
            [1]
        );
        // That one is held, so another process gets a new one.
        let other = Spool::claim(parent.path(), SMALL).unwrap();
        assert!(other.dir != dir && other.id() != id);
    }

    #[test]
    fn a_full_spool_refuses_what_comes_and_keeps_what_it_has() {
        let parent = tempfile::tempdir().unwrap();
        let mut spool = Spool::claim(parent.path(), SMALL).unwrap();
        let long = "x".repeat(SMALL.record + 1);
        for (record, refused) in [("", 1), ("a\nb", 1), (&*long, 1), ("ok", 0)] {
            assert_eq!(append(&mut spool, &[record]).refused, refused, "{record}");
        }
        let mut kept = 1;
        while append(&mut spool, &["0123456789"]).kept == 1 {
            kept += 1;
        }
        assert!((30..=37).contains(&kept), "{kept}");
        assert_eq!(drain(&mut spool).len(), kept);
        assert_eq!(
            append(&mut spool, &["again"]),
            Appended {
                kept: 1,
                refused: 0
            }
        );
        let before = spool.id().to_string();
        spool.rename().unwrap();
        assert!(spool.id() != before && is_id(spool.id()));
    }
}
