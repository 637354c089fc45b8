//! Transcripts: what coding agents write down of the calls that they have made.
//!
//! They are only read. Whatever stands in them, reading is bounded in files, bytes and time. Where
//! they are is in the agents' facts; each form has a function in `forms`, which takes a transcript
//! apart and judges nothing.

mod forms;
mod places;

use forms::{FORMS, Form};
use hookwire_base::support::file;
use hookwire_engine::ledger::{Short, millis};
use hookwire_rules::agents::Agent;
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The bytes of one transcript, and of one line, that are read.
const MAX_FILE: u64 = 256 << 20;
const MAX_LINE: u64 = 8 << 20;
/// The bytes that are read of an agent's transcripts.
const MAX_BYTES: u64 = 1 << 30;
/// The bytes of calls that are kept, at about.
const MAX_OF_CALLS: usize = 128 << 20;

/// A call of a tool, as an agent has written it down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// When, in milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) session: String,
    /// The sessions that have a copy of it: one that is continued elsewhere begins with what was
    /// there.
    pub(crate) copied_to: Vec<String>,
    /// The call's id, if it has one.
    pub(crate) id: Option<String>,
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Where the agent worked, as far as it says.
    pub(crate) cwd: Option<String>,
    pub(crate) fate: Fate,
    /// A sub-agent has made it, of an agent that may ask nobody about such calls.
    pub(crate) is_of_subagent: bool,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Ran,
    /// The agent, a person or a hook refused it, or there is no such tool.
    NeverRan,
    /// It failed or has no end, and whether it had begun isn't written.
    Unclear,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) calls: Vec<Call>,
    /// How many transcripts were read.
    pub(crate) n_files: usize,
    /// How many calls have no time that can be read: nobody knows whether they are of that time.
    pub(crate) n_undated: usize,
    /// What couldn't be read, for people.
    pub(crate) problems: Vec<String>,
}

/// Whether something is known of an agent's transcripts.
pub(crate) fn is_known(agent: &Agent) -> bool {
    !agent.transcripts.is_empty() && form_of(agent).is_some()
}

fn form_of(agent: &Agent) -> Option<&'static Form> {
    FORMS
        .iter()
        .find(|(name, _)| *name == agent.name)
        .map(|(_, form)| form)
}

/// The calls since a time that an agent has made where it was started in a project, in the order in
/// which it made them. It takes about this long at most.
pub(crate) fn read(agent: &Agent, root: &Path, since: SystemTime, patience: Duration) -> Found {
    let mut found = Found::default();
    let Some(form) = form_of(agent) else {
        return found;
    };
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let deadline = Instant::now() + patience;
    let (files, problems) = places::find(agent, since, deadline);
    found.problems = problems;
    let mut room = MAX_BYTES;
    let (mut known, mut call_room) = (HashMap::new(), MAX_OF_CALLS);
    for path in files {
        if Instant::now() > deadline {
            let seconds = patience.as_secs();
            found.problems.push(format!(
                "not every transcript was read, because that took more than {seconds} s"
            ));
            break;
        }
        let mut transcript = Transcript::new(&path, call_room);
        if let Err(error) = read_file(form, &path, since, &mut transcript, &mut room) {
            found.problems.push(format!("{}: {error}", path.display()));
        }
        found.n_files += 1;
        found.n_undated += transcript.n_undated(&root);
        let calls = std::mem::take(&mut transcript.calls)
            .into_iter()
            .filter(|call| is_of(call.cwd.as_deref(), &root) && call.at >= millis(since));
        for call in calls {
            let what = Short::of_call(&call.tool, Some(&call.input));
            match known.entry((call.at, call.id.clone(), what)) {
                Entry::Occupied(first) if call.id.is_some() => {
                    let first: Option<&mut Call> = found.calls.get_mut(*first.get());
                    if let Some(first) = first {
                        first.copied_to.push(call.session);
                    }
                }
                entry => {
                    entry.or_insert(found.calls.len());
                    found.calls.push(call);
                }
            }
        }
        if transcript.room == 0 {
            found
                .problems
                .push("there are too many calls, and the rest is left out".into());
            break;
        }
        call_room = transcript.room;
    }
    found.calls.sort_by_key(|call| call.at);
    found
}

/// Whether a session that was started in a directory is of a project.
fn is_of(cwd: Option<&str>, root: &Path) -> bool {
    cwd.map(Path::new).is_some_and(|cwd| {
        cwd.starts_with(root) || cwd.canonicalize().is_ok_and(|cwd| cwd.starts_with(root))
    })
}

fn read_file(
    form: &Form,
    path: &Path,
    since: SystemTime,
    transcript: &mut Transcript,
    room: &mut u64,
) -> io::Result<()> {
    let take_room = |bytes: u64, room: &mut u64| {
        *room = room
            .checked_sub(bytes)
            .filter(|_| bytes <= MAX_FILE)
            .ok_or_else(|| io::Error::other("it is too large to be read"))?;
        io::Result::Ok(())
    };
    match form {
        Form::Lines { marks, read } => {
            let (file, about) = file::open(path)?;
            take_room(about.len(), room)?;
            each_line(file, |line| {
                if marks
                    .iter()
                    .any(|mark| memchr::memmem::find(line, mark.as_bytes()).is_some())
                    && let Ok(line) = serde_json::from_slice(line)
                {
                    read(&line, transcript);
                }
            })
        }
        Form::Whole(read) => {
            let bytes = file::read_small(path, MAX_FILE.min(*room))?;
            take_room(bytes.len() as u64, room)?;
            read(&serde_json::from_slice(&bytes)?, transcript);
            Ok(())
        }
        #[cfg(feature = "history")]
        Form::Database(read) => read(path, millis(since), transcript),
        #[cfg(not(feature = "history"))]
        Form::Database => {
            let _ = since;
            Err(io::Error::other("this hookwire is built without SQLite"))
        }
    }
}

/// Visits the lines of a file that aren't too long.
fn each_line(file: File, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(64 * 1024, file.take(MAX_FILE));
    let mut line = Vec::new();
    let mut is_rest = false;
    loop {
        line.clear();
        let n = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if n == 0 {
            return Ok(());
        }
        let is_whole = line.last() == Some(&b'\n');
        if !is_rest {
            visit(&line);
        }
        is_rest = !is_whole;
    }
}

/// A transcript while it is read.
pub(crate) struct Transcript {
    path: PathBuf,
    session: String,
    /// Where the agent was started: what it does elsewhere belongs to the same session.
    cwd: Option<String>,
    calls: Vec<Call>,
    /// The id of the last call, if the agent has shown it.
    shown: Option<String>,
    is_of_subagent: bool,
    /// The bytes that more calls may have.
    room: usize,
    /// How many calls have no time that can be read, by where the agent was started.
    undated: HashMap<Option<String>, usize>,
}

/// The bytes of a value, at about.
fn weight(value: &Value) -> usize {
    64 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + weight(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

impl Transcript {
    fn new(path: &Path, room: usize) -> Transcript {
        Transcript {
            path: path.to_path_buf(),
            session: String::new(),
            cwd: None,
            calls: Vec::new(),
            shown: None,
            is_of_subagent: false,
            room,
            undated: HashMap::new(),
        }
    }

    /// How many calls of a project have no time.
    fn n_undated(&self, root: &Path) -> usize {
        self.undated
            .iter()
            .filter(|(cwd, _)| is_of(cwd.as_deref().or(self.cwd.as_deref()), root))
            .map(|(_, n)| n)
            .sum()
    }

    fn begin_session(&mut self, session: Option<&str>) {
        if let Some(session) = session {
            self.session = session.to_string();
        }
    }

    fn start_in(&mut self, cwd: Option<&str>) {
        if self.cwd.is_none() {
            self.cwd = cwd.map(str::to_string);
        }
    }

    /// Writes a call down, whose end isn't read yet.
    fn call(&mut self, at: Option<u64>, id: Option<&str>, tool: Option<&str>, input: Value) {
        let Some(tool) = tool else { return };
        let Some(at) = at else {
            *self.undated.entry(self.cwd.clone()).or_default() += 1;
            return;
        };
        self.room = self.room.saturating_sub(256 + weight(&input));
        if self.room > 0 {
            self.calls.push(Call {
                at,
                session: self.session.clone(),
                copied_to: Vec::new(),
                id: id.map(str::to_string),
                tool: tool.to_string(),
                input,
                cwd: self.cwd.clone(),
                fate: Fate::Unclear,
                is_of_subagent: self.is_of_subagent,
            });
        }
    }

    /// What became of the last call of an id.
    fn end(&mut self, id: Option<&str>, fate: Fate) {
        let call = self
            .calls
            .iter_mut()
            .rev()
            .find(|call| call.id.as_deref() == id && call.session == self.session);
        if let Some(call) = call {
            call.fate = fate;
        }
    }

    /// Whether a call of an id is there.
    fn has(&self, id: Option<&str>) -> bool {
        self.calls.iter().rev().any(|call| call.id.as_deref() == id)
    }
}
