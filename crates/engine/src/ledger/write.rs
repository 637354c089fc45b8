//! Writing: on a thread of its own, behind a queue that is never waited for.

use super::{
    Begin, Gap, KEPT, Line, MAX_BYTES, MAX_PROJECTS, MAX_SEGMENT, Record, SHARED, Short, TORN,
    WHOLE, boot_id, millis, written_dir,
};
use hookwire_base::event::{Event, PRE_TOOL_USE};
use hookwire_base::support::file;
use hookwire_base::verdict::{Decision, Verdict};
use parking_lot::Mutex;
use serde_json::Value;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

/// How many calls wait to be written, and their bytes together.
const MAX_WAITING: usize = 1024;
const MAX_WAITING_BYTES: usize = 16 << 20;
/// So many are written at once.
const AT_ONCE: usize = 256;
/// How long the last ones may take to be written when the host ends.
const LAST: Duration = Duration::from_secs(2);
/// How long a process that answers one call waits for another one's.
const PATIENCE: Duration = Duration::from_millis(100);
/// What is read of the end of a shared file to find its last line.
const TAIL: u64 = 4096;

/// An answer to an agent, before a call of a tool.
pub struct Answered {
    agent: &'static str,
    event: Arc<Event>,
    /// `None`: a host elsewhere has judged.
    said: Option<Said>,
}

struct Said {
    decision: Decision,
    generation: u64,
    rewritten: Option<Value>,
}

impl Answered {
    /// The answer to an event, if that is one before a call; without a verdict, a host elsewhere
    /// has judged.
    pub fn new(
        agent: &'static str,
        event: &Arc<Event>,
        verdict: Option<&Verdict>,
    ) -> Option<Answered> {
        let is_gate = *event.name == *PRE_TOOL_USE || event.unknown_gate().is_some();
        is_gate.then(|| Answered {
            agent,
            event: event.clone(),
            said: verdict.map(|verdict| Said {
                decision: verdict.decision,
                generation: verdict.generation,
                rewritten: verdict.subject.clone(),
            }),
        })
    }

    pub(super) fn to_record(&self, at: u64) -> Record {
        let tool = self.event.tool_name().unwrap_or_default();
        let said = self.said.as_ref();
        Record {
            at,
            agent: self.agent.to_string(),
            session: Short::of_text(self.event.session()),
            id: self.event.text("/tool/callId").map(Short::of_text),
            call: Short::of_call(tool, self.event.tool_input()),
            rewritten: said
                .and_then(|said| said.rewritten.as_ref())
                .map(|input| Short::of_call(tool, Some(input))),
            decision: said.map(|said| said.decision),
            generation: said.map_or(0, |said| said.generation),
        }
    }
}

/// The ledger of a host. Without a call it is nothing but this value.
pub struct Ledger {
    place: Place,
    way: Mutex<Way>,
    waiting: Arc<Waiting>,
}

enum Way {
    Idle,
    Open {
        sender: SyncSender<Order>,
        done: Receiver<()>,
    },
    Closed,
}

struct Order {
    answered: Answered,
    at: u64,
    bytes: usize,
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    lost: Mutex<Option<Gap>>,
}

impl Waiting {
    fn lose(&self, at: u64, calls: u64) {
        let mut lost = self.lost.lock();
        let before = lost.unwrap_or(Gap {
            from: at,
            until: at,
            calls: Some(0),
        });
        *lost = Some(Gap {
            from: before.from.min(at),
            until: before.until.max(at),
            calls: before.calls.map(|before| before.saturating_add(calls)),
        });
    }
}

/// Where the ledger of a project is written.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// Nothing without a place for what is kept.
    pub(super) dir: Option<PathBuf>,
}

impl Place {
    fn new(root: &Path) -> Place {
        Place {
            root: root.to_path_buf(),
            dir: written_dir(root),
        }
    }

    /// The directory, for this user alone.
    fn make_dir(&self) -> io::Result<&Path> {
        let dir = self.dir.as_deref();
        let dir = dir.ok_or_else(|| io::Error::other("the user has no home"))?;
        if !dir.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            if let Some(all) = dir.parent() {
                forget_oldest(all);
            }
        }
        Ok(dir)
    }
}

impl Ledger {
    /// The ledger of a project's host.
    pub fn new(root: &Path) -> Ledger {
        Ledger::at(Place::new(root))
    }

    pub(super) fn at(place: Place) -> Ledger {
        Ledger {
            place,
            way: Mutex::new(Way::Idle),
            waiting: Arc::default(),
        }
    }

    /// Notes an answer to an event that was so many bytes long, without waiting for anything.
    pub fn note(&self, answered: Answered, bytes: usize) {
        let at = millis(SystemTime::now());
        let mut way = self.way.lock();
        if matches!(*way, Way::Idle) {
            *way = self.open();
        }
        let Way::Open { sender, .. } = &*way else {
            return self.waiting.lose(at, 1);
        };
        let before = self.waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        let order = Order {
            answered,
            at,
            bytes,
        };
        if before.saturating_add(bytes) > MAX_WAITING_BYTES || sender.try_send(order).is_err() {
            self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.waiting.lose(at, 1);
        }
    }

    /// Notes that an agent was answered without a verdict.
    pub fn note_failure(&self) {
        self.waiting.lose(millis(SystemTime::now()), 1);
        let mut way = self.way.lock();
        if matches!(*way, Way::Idle) {
            *way = self.open();
        }
    }

    fn open(&self) -> Way {
        let (sender, orders) = sync_channel(MAX_WAITING);
        let (end, done) = sync_channel(1);
        let (place, waiting) = (self.place.clone(), self.waiting.clone());
        let started = std::thread::Builder::new()
            .name("ledger".into())
            .spawn(move || {
                write_orders(&orders, &place, &waiting);
                let _ = end.send(());
            });
        match started {
            Ok(_) => Way::Open { sender, done },
            Err(error) => {
                tracing::warn!(%error, "No ledger: what agents ask is judged, and not noted.");
                Way::Closed
            }
        }
    }

    /// Writes what waits, and that the host ends in good order. What comes later is lost.
    pub fn finish(&self) {
        if let Way::Open { sender, done } = std::mem::replace(&mut *self.way.lock(), Way::Closed) {
            drop(sender);
            // Otherwise the file lacks its end, which says so.
            let _ = done.recv_timeout(LAST);
        }
    }
}

fn write_orders(orders: &Receiver<Order>, place: &Place, waiting: &Waiting) {
    let mut segment: Option<Segment> = None;
    while let Ok(first) = orders.recv() {
        let mut lines = Vec::new();
        for order in std::iter::once(first).chain(orders.try_iter().take(AT_ONCE)) {
            waiting.bytes.fetch_sub(order.bytes, Ordering::Relaxed);
            lines.push(Line {
                call: Some(order.answered.to_record(order.at)),
                ..Line::default()
            });
        }
        write_lines(&mut segment, place, waiting, lines);
    }
    if waiting.lost.lock().is_some() {
        write_lines(&mut segment, place, waiting, Vec::new());
    }
    if let Some(mut segment) = segment {
        segment.end();
    }
}

/// Writes lines, with the gap before them if there is one. What fails is a part of the next gap.
fn write_lines(segment: &mut Option<Segment>, place: &Place, waiting: &Waiting, calls: Vec<Line>) {
    let gap = waiting.lost.lock().take().map(gap_line);
    let mut lines: Vec<Line> = gap.into_iter().chain(calls).collect();
    let written = open_segment(segment, place).and_then(|segment| segment.append(&mut lines));
    let Err(error) = written else { return };
    tracing::warn!(%error, "The ledger lacks calls that were judged: it can't be written.");
    if let Some(segment) = segment.take() {
        segment.tear();
    }
    for line in &lines {
        match (&line.gap, &line.call) {
            (Some(gap), _) => {
                waiting.lose(gap.from, 0);
                waiting.lose(gap.until, gap.calls.unwrap_or_default());
            }
            (None, Some(record)) => waiting.lose(record.at, 1),
            (None, None) => {}
        }
    }
}

/// A file that is written.
struct Segment {
    file: File,
    path: PathBuf,
    bytes: u64,
    before: Option<Short>,
}

/// The file that is written; another one where it is full.
fn open_segment<'s>(
    segment: &'s mut Option<Segment>,
    place: &Place,
) -> io::Result<&'s mut Segment> {
    if segment.as_ref().is_some_and(|it| it.bytes > MAX_SEGMENT)
        && let Some(mut full) = segment.take()
    {
        full.end();
    }
    match segment {
        Some(segment) => Ok(segment),
        None => Ok(segment.insert(Segment::begin(place)?)),
    }
}

impl Segment {
    fn begin(place: &Place) -> io::Result<Segment> {
        let dir = place.make_dir()?;
        let (at, pid) = (millis(SystemTime::now()), std::process::id());
        // A host that ends one file may begin the next in the same millisecond.
        let (file, path) = (0..100)
            .map(|n| dir.join(format!("{}-{pid}.{WHOLE}", at + n)))
            .find_map(|path| Some((open_file(&path, true).ok()?, path)))
            .ok_or_else(|| io::Error::other("no new file can be made"))?;
        // A file whose process is there is known by the lock.
        let _ = file.try_lock();
        let mut segment = Segment {
            file,
            path,
            bytes: 0,
            before: None,
        };
        segment.append(&mut [begin_line(&place.root, at)])?;
        prune(dir, &segment.path);
        Ok(segment)
    }

    fn append(&mut self, lines: &mut [Line]) -> io::Result<()> {
        let mut before = self.before;
        let text = chain(lines, &mut before)?;
        self.file.write_all(text.as_bytes())?;
        (self.bytes, self.before) = (self.bytes + text.len() as u64, before);
        Ok(())
    }

    fn end(&mut self) {
        let end = Line {
            end: Some(millis(SystemTime::now())),
            ..Line::default()
        };
        // A file without its end is one of a process that was killed.
        let _ = self.append(&mut [end]);
    }

    /// Says by its name that what came behind the last line is missing: a full disk still renames.
    fn tear(self) {
        let _ = fs::rename(&self.path, self.path.with_extension(TORN));
    }
}

fn gap_line(gap: Gap) -> Line {
    Line {
        gap: Some(gap),
        ..Line::default()
    }
}

fn begin_line(root: &Path, at: u64) -> Line {
    let begin = Begin {
        at,
        root: root.to_string_lossy().into_owned(),
        pid: std::process::id(),
        boot: boot_id(),
    };
    Line {
        begin: Some(begin),
        ..Line::default()
    }
}

/// Lines as they are written, each with the digest of the one before.
fn chain(lines: &mut [Line], before: &mut Option<Short>) -> io::Result<String> {
    let mut text = String::new();
    for line in lines {
        line.before = *before;
        let written = serde_json::to_string(line)?;
        *before = Some(Short::of_text(&written));
        text.push_str(&written);
        text.push('\n');
    }
    Ok(text)
}

/// Notes what one call was answered, in a process that answers no other. It is a gap where that is
/// all that is known.
///
/// # Errors
/// It can't be written.
pub fn append(root: &Path, answered: Option<&Answered>) -> io::Result<()> {
    append_at(&Place::new(root), answered)
}

pub(super) fn append_at(place: &Place, answered: Option<&Answered>) -> io::Result<()> {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    let dir = place.make_dir()?;
    let at = millis(SystemTime::now());
    let path = dir.join(format!("{}{SHARED}", at / DAY * DAY));
    let file = open_file(&path, false)?;
    // Without the lock the line is there, and its place in the chain isn't.
    let is_locked = file::lock(&file, PATIENCE).is_ok();
    let mut before = if is_locked {
        last_line(&file)?.map(|line| Short::of_text(&line))
    } else {
        None
    };
    let is_new = file.metadata()?.len() == 0;
    let mut lines: Vec<Line> = is_new
        .then(|| begin_line(&place.root, at))
        .into_iter()
        .collect();
    lines.push(match answered {
        Some(answered) => Line {
            call: Some(answered.to_record(at)),
            ..Line::default()
        },
        None => gap_line(Gap {
            from: at,
            until: at,
            calls: Some(1),
        }),
    });
    let text = chain(&mut lines, &mut before)?;
    (&file).write_all(text.as_bytes())?;
    if is_new {
        prune(dir, &path);
    }
    Ok(())
}

fn last_line(file: &File) -> io::Result<Option<String>> {
    let size = file.metadata()?.len();
    let mut tail = vec![0; usize::try_from(size.min(TAIL)).unwrap_or_default()];
    file.read_exact_at(&mut tail, size.saturating_sub(TAIL))?;
    let tail = String::from_utf8_lossy(&tail);
    Ok(tail.lines().next_back().map(str::to_string))
}

fn open_file(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600);
    file::open_as(options.create(true).create_new(is_new), path)
}

/// Forgets the projects of which nothing was noted for longest.
fn forget_oldest(all: &Path) {
    let mut dirs = by_age(all);
    let n_over = dirs.len().saturating_sub(MAX_PROJECTS);
    for (_, _, dir) in dirs.drain(..n_over) {
        // Another host may have removed it.
        let _ = fs::remove_dir_all(dir);
    }
}

/// Removes files that are too old, and the oldest of too many bytes.
fn prune(dir: &Path, own: &Path) {
    let mut files = by_age(dir);
    files.retain(|(_, _, path)| path != own);
    let oldest = SystemTime::now().checked_sub(KEPT);
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (written, size, path) in files {
        let is_old = oldest.is_some_and(|oldest| written < oldest);
        if !is_old && bytes <= MAX_BYTES {
            break;
        }
        bytes -= size;
        let _ = fs::remove_file(path);
    }
}

/// What is in a directory, that which was written first at the front: when, its bytes, its path.
fn by_age(dir: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        })
        .collect();
    found.sort();
    found
}
