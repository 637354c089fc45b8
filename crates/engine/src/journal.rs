//! The record of a host's last events with their verdicts, and the counts of each hook, for people
//! and editors that watch.
//!
//! It holds what agents do, secrets included: it is in memory only, and nothing of it is logged.
//! Writing is on the way of every event. So an event is kept as the texts of its request and reply,
//! and everything else is derived from them on request.

use crate::canaries::Canaries;
use foldhash::{HashMap, HashSet};
use hookwire_base::event::Event;
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::support::program::Program;
use hookwire_base::verdict::{Decision, Outcome, Status, Verdict};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::watch;

/// Events that are kept, and while somebody follows; and their bytes together.
const MAX_KEPT: usize = 256;
const MAX_KEPT_FOR_FOLLOWERS: usize = 4096;
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// The largest event, with its verdict, that is kept whole.
pub const MAX_WHOLE: usize = 256 * 1024;
/// Names of events whose last one is kept beyond that.
const MAX_RARE: usize = 64;
/// Hooks that are counted.
const MAX_HOOKS: usize = 10_000;
/// Tools that are remembered.
const MAX_TOOLS: usize = 256;
/// The longest name, in bytes.
const MAX_NAME: usize = 512;
/// The largest reply to `hooks/recent`, in bytes, and how much of it may be hooks.
const MAX_REPLY: usize = 4 * 1024 * 1024;
const MAX_HOOKS_IN_REPLY: usize = MAX_REPLY / 2;
/// Ends of `async` hooks that are kept, and the longest text of one, in characters.
const MAX_ENDED: usize = 256;
const MAX_SAID: usize = 1000;

/// An event that was judged, as replies and notifications have it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Record<'a> {
    /// Counts the events of the host, from 1.
    pub seq: u64,
    /// When it was judged: RFC 3339, in UTC, to the millisecond.
    #[serde(borrow)]
    pub at: Cow<'a, str>,
    /// The canonical name.
    #[serde(borrow)]
    pub event: Cow<'a, str>,
    /// The tool that it is about.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Cow<'a, str>>,
    /// The vocabulary in which it was read.
    #[serde(borrow)]
    pub dialect: Cow<'a, str>,
    /// The client that sent it, if it said at `initialize` who it is.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Cow<'a, str>>,
    /// How an agent's hook asked; absent where a client sent `hooks/dispatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// The params of `hooks/dispatch` as they came; absent if it is truncated.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub params: Option<&'a RawValue>,
    /// Where the params are absent, what the event began with, in hookwire's own vocabulary: long
    /// texts are cut, and each says how much is missing.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub beginning: Option<&'a RawValue>,
    /// Its verdict. Without outcomes and values if it alone is too large.
    #[serde(borrow)]
    #[schemars(with = "Verdict")]
    pub verdict: &'a RawValue,
    /// It was too large to be kept whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// How an agent's hook asks. In its words, a reply isn't the same to a command as over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// By the command `hookwire hook`.
    Command,
    /// By `POST /hook/AGENT`.
    Http,
}

/// An `async` hook of an event has ended, which the event's verdict didn't wait for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// Counts the ends of the host, from 1.
    pub seq: u64,
    /// When it ended: RFC 3339, in UTC, to the millisecond.
    pub at: String,
    /// The canonical name of the event.
    pub event: Arc<str>,
    /// The event's identifier, as in its verdict.
    pub event_id: Arc<str>,
    /// The session of the event.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The tool that the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// What the hook's run ended in. It decides nothing.
    pub outcome: Outcome,
}

/// The reply to `hooks/recent`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recent<'a> {
    /// The project root of the host.
    #[serde(borrow)]
    pub root: Cow<'a, str>,
    /// Its process.
    pub pid: u32,
    /// When it started: RFC 3339, in UTC, to the millisecond.
    #[serde(borrow)]
    pub started: Cow<'a, str>,
    /// The generation of the hooks in force.
    pub generation: u64,
    /// Their content hash.
    #[serde(borrow)]
    pub hash: Cow<'a, str>,
    /// How many events it has judged.
    pub total: u64,
    /// The last of them, oldest first.
    #[serde(borrow)]
    pub records: Vec<Record<'a>>,
    /// The last ends of `async` hooks, oldest first, whichever events they belong to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<Cow<'a, Ended>>,
    /// The counts of each hook since the host started.
    #[serde(borrow)]
    pub hooks: Vec<HookCounts<'a>>,
    /// The tools that events were about.
    pub tools: Vec<Cow<'a, str>>,
    /// Who is connected beside who asks, each by the name that it has said; empty for one that has
    /// said none.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<Cow<'a, str>>,
    /// What became of the cases beside its definitions that are to be denied, once they were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<Cow<'a, Canaries>>,
    /// The host's program, and what it was started with.
    #[serde(default)]
    pub program: Option<Cow<'a, Program>>,
}

/// The counts of one hook.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HookCounts<'a> {
    /// Its name.
    #[serde(borrow)]
    pub hook: Cow<'a, str>,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What a hook has done so far, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// How often its conditions held.
    pub matched: u64,
    /// How often it said no.
    pub denied: u64,
    /// How often it wanted a person asked.
    pub asked: u64,
    /// How often it changed something.
    pub rewrote: u64,
    /// How often it failed.
    pub failed: u64,
    /// How often it would have stopped, asked about or changed something, but only observes.
    pub observed: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.matched, other.matched);
        add(&mut self.denied, other.denied);
        add(&mut self.asked, other.asked);
        add(&mut self.rewrote, other.rewrote);
        add(&mut self.failed, other.failed);
        add(&mut self.observed, other.observed);
    }
}

/// The counts of every hook, by name.
#[derive(Clone, Debug, Default)]
pub struct Tally(HashMap<Arc<str>, Counts>);

impl Tally {
    /// Counts a verdict. A decision that a failure direction made is not counted as the hook's.
    pub fn count(&mut self, outcomes: &[Outcome]) {
        for outcome in outcomes.iter().filter(|it| it.status != Status::Skipped) {
            let said = outcome.decision.filter(|_| outcome.error.is_none());
            let counts = Counts {
                matched: 1,
                denied: u64::from(said == Some(Decision::Deny)),
                asked: u64::from(said == Some(Decision::Ask)),
                rewrote: u64::from(outcome.rewrote),
                failed: u64::from(outcome.error.is_some()),
                observed: u64::from(outcome.would().is_some()),
            };
            self.add(&outcome.hook, counts);
        }
    }

    /// Adds to what is there. A hook beyond the bounds is not counted.
    pub fn add(&mut self, hook: &Arc<str>, more: Counts) {
        if let Some(counts) = self.0.get_mut(hook) {
            *counts += more;
        } else if self.0.len() < MAX_HOOKS && hook.len() <= MAX_NAME {
            self.0.insert(hook.clone(), more);
        }
    }

    /// Raises the counts of a hook to those of another tally of the same events.
    pub fn raise(&mut self, hook: &str, to: Counts) {
        let Counts {
            matched,
            denied,
            asked,
            rewrote,
            failed,
            observed,
        } = self.counts_of(hook);
        let missing = Counts {
            matched: to.matched.saturating_sub(matched),
            denied: to.denied.saturating_sub(denied),
            asked: to.asked.saturating_sub(asked),
            rewrote: to.rewrote.saturating_sub(rewrote),
            failed: to.failed.saturating_sub(failed),
            observed: to.observed.saturating_sub(observed),
        };
        self.add(&Arc::from(hook), missing);
    }

    /// The counts of a hook.
    pub fn counts_of(&self, hook: &str) -> Counts {
        self.0.get(hook).copied().unwrap_or_default()
    }

    /// Every hook.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, Counts)> {
        self.0.iter().map(|(hook, counts)| (hook, *counts))
    }
}

/// The last items, and the last one of each name, so that common ones don't push out the rare.
#[derive(Debug)]
pub struct Ring<T> {
    last: VecDeque<Kept<T>>,
    bytes: usize,
    /// The last item of each name that was pushed out.
    rare: HashMap<Arc<str>, Kept<T>>,
    pushed: u64,
}

#[derive(Debug)]
struct Kept<T> {
    name: Arc<str>,
    bytes: usize,
    nth: u64,
    item: Arc<T>,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring {
            last: VecDeque::new(),
            bytes: 0,
            rare: HashMap::default(),
            pushed: 0,
        }
    }
}

impl<T> Ring<T> {
    /// Keeps one more.
    pub fn push(&mut self, name: Arc<str>, bytes: usize, item: Arc<T>) {
        self.push_within(MAX_KEPT, name, bytes, item);
    }

    /// The same, with so many beside the last one of each name.
    fn push_within(&mut self, max: usize, name: Arc<str>, bytes: usize, item: Arc<T>) {
        self.pushed += 1;
        self.bytes += bytes;
        self.last.push_back(Kept {
            name,
            bytes,
            nth: self.pushed,
            item,
        });
        while self.last.len() > max || self.bytes > MAX_BYTES {
            let Some(oldest) = self.last.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes;
            if let Some(before) = self.rare.get_mut(&oldest.name) {
                *before = oldest;
                continue;
            }
            if self.rare.len() >= MAX_RARE {
                let rarest = self
                    .rare
                    .values()
                    .min_by_key(|it| it.nth)
                    .map(|it| it.name.clone());
                rarest.and_then(|name| self.rare.remove(&name));
            }
            self.rare.insert(oldest.name.clone(), oldest);
        }
    }

    /// The last ones, so many at most.
    fn newest(&self, n: u64) -> Vec<Arc<T>> {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        self.last
            .range(self.last.len().saturating_sub(n)..)
            .map(|it| it.item.clone())
            .collect()
    }

    /// All that are kept, in the order in which they came.
    pub fn all(&self) -> Vec<Arc<T>> {
        let mut rare: Vec<_> = self.rare.values().collect();
        rare.sort_unstable_by_key(|it| it.nth);
        rare.into_iter()
            .chain(&self.last)
            .map(|it| it.item.clone())
            .collect()
    }
}

/// Where an event came from.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The vocabulary in which it was read.
    pub dialect: &'static str,
    /// The client, if it said who it is.
    pub client: Option<Arc<str>>,
    /// How an agent's hook asked.
    pub via: Option<Via>,
}

/// An event that was judged, as it is kept.
#[derive(Debug)]
pub struct Entry {
    seq: u64,
    at: SystemTime,
    event: Arc<str>,
    tool: Option<Arc<str>>,
    from: Sender,
    /// The params, and from `verdict` on the verdict. Without line ends: some clients have one
    /// message a line.
    text: Vec<u8>,
    verdict: usize,
    truncated: bool,
}

impl Entry {
    /// Counts the events of the host, from 1.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The entry as replies and notifications have it.
    pub fn record(&self) -> Option<Record<'_>> {
        let (params, verdict) = self.text.split_at_checked(self.verdict)?;
        let raw = |text| serde_json::from_slice::<&RawValue>(text).ok();
        Some(Record {
            seq: self.seq,
            at: rfc3339(self.at).into(),
            event: Cow::Borrowed(&self.event),
            tool: self.tool.as_deref().map(Cow::Borrowed),
            dialect: Cow::Borrowed(self.from.dialect),
            client: self.from.client.as_deref().map(Cow::Borrowed),
            via: self.from.via,
            params: if self.truncated {
                None
            } else {
                Some(raw(params)?)
            },
            beginning: raw(params).filter(|_| self.truncated),
            verdict: raw(verdict)?,
            truncated: self.truncated,
        })
    }

    /// The bytes that it adds to a reply, at most.
    fn bytes_in_reply(&self) -> usize {
        let names = [self.tool.as_deref(), self.from.client.as_deref()];
        let names = names.iter().flatten().map(|it| as_json(it)).sum::<usize>();
        self.text.len() + as_json(&self.event) + names + 256
    }
}

/// See the module.
#[derive(Debug)]
pub struct Journal {
    started: SystemTime,
    state: Mutex<State>,
    /// Wakes those who follow.
    written: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    total: u64,
    ring: Ring<Entry>,
    tally: Tally,
    tools: HashSet<Arc<str>>,
    ended: VecDeque<Arc<Ended>>,
    n_ended: u64,
}

/// Reads a journal as it is written, from what it has read on.
pub struct Follower {
    written: watch::Receiver<()>,
    judged: u64,
    ended: u64,
}

/// The part of a journal that a follower hasn't read.
pub struct News {
    /// How many events and ends were pushed out before the follower came to read them.
    pub lost: u64,
    /// The events, oldest first.
    pub judged: Vec<Arc<Entry>>,
    /// The ends, oldest first.
    pub ended: Vec<Arc<Ended>>,
}

/// The part of a journal that was asked for.
pub struct Excerpt {
    started: SystemTime,
    /// How many events were judged.
    pub total: u64,
    entries: Vec<Arc<Entry>>,
    ended: Vec<Arc<Ended>>,
    tally: Tally,
    tools: Vec<Arc<str>>,
}

impl Default for Journal {
    /// Nothing has been judged yet.
    fn default() -> Journal {
        // An upgrade may replace the file of the program before somebody asks.
        Program::own();
        Journal {
            started: SystemTime::now(),
            state: Mutex::default(),
            written: watch::Sender::new(()),
        }
    }
}

impl Journal {
    /// Writes an event down: what was sent, what came of it, and the same as it is replied.
    pub fn write(
        &self,
        event: &Event,
        from: Sender,
        params: &str,
        verdict: &Verdict,
        replied: &[u8],
    ) {
        let truncated = params.len() + replied.len() > MAX_WHOLE;
        let (text, at) = match truncated {
            false => whole(params, replied),
            true => {
                let beginning = beginning::of(event.data());
                match replied.len() <= MAX_WHOLE {
                    true => whole(&beginning, replied),
                    false => whole(&beginning, &bare(verdict)),
                }
            }
        };
        let name = clipped(&event.name);
        let tool = event.tool_name().filter(|it| it.len() <= MAX_NAME);
        let now = SystemTime::now();
        let mut state = self.state.lock();
        state.total += 1;
        let seq = state.total;
        let tool = tool.map(|tool| state.tool(tool));
        let entry = Entry {
            seq,
            at: now,
            event: name.clone(),
            tool,
            from,
            text,
            verdict: at,
            truncated,
        };
        let entry = Arc::new(entry);
        state.tally.count(&verdict.outcomes);
        let max = if self.written.receiver_count() > 0 {
            MAX_KEPT_FOR_FOLLOWERS
        } else {
            MAX_KEPT
        };
        state.ring.push_within(max, name, entry.text.len(), entry);
        drop(state);
        self.wake();
    }

    /// Writes down how an `async` hook of an event ended.
    pub(crate) fn write_end(&self, event: &Event, outcome: &Outcome) {
        let short =
            |text: &Option<String>| text.as_ref().map(|it| it.chars().take(MAX_SAID).collect());
        let outcome = Outcome {
            hook: clipped(&outcome.hook),
            reason: short(&outcome.reason),
            error: short(&outcome.error),
            opaque: short(&outcome.opaque),
            scripts: Vec::new(),
            transcript: Vec::new(),
            stop_signals: Vec::new(),
            said: None,
            ..outcome.clone()
        };
        let tool = event
            .tool_name()
            .filter(|it| it.len() <= MAX_NAME)
            .map(Arc::from);
        let session = event.session().chars().take(MAX_NAME).collect();
        let (name, event_id, at) = (
            clipped(&event.name),
            clipped(&event.id),
            rfc3339(SystemTime::now()),
        );
        let mut state = self.state.lock();
        state.n_ended += 1;
        if outcome.error.is_some() {
            state.tally.add(
                &outcome.hook,
                Counts {
                    failed: 1,
                    ..Counts::default()
                },
            );
        }
        if state.ended.len() >= MAX_ENDED {
            state.ended.pop_front();
        }
        let seq = state.n_ended;
        state.ended.push_back(Arc::new(Ended {
            seq,
            at,
            event: name,
            event_id,
            session,
            tool,
            outcome,
        }));
        drop(state);
        self.wake();
    }

    fn wake(&self) {
        if self.written.receiver_count() > 0 {
            self.written.send_replace(());
        }
    }

    /// Reads what is written from now on.
    pub fn follow(&self) -> Follower {
        let written = self.written.subscribe();
        let state = self.state.lock();
        Follower {
            written,
            judged: state.total,
            ended: state.n_ended,
        }
    }

    /// How many events were judged.
    pub fn total(&self) -> u64 {
        self.state.lock().total
    }

    /// The last events after one, of these names, at most so many.
    pub fn excerpt(&self, after: u64, limit: usize, wanted: impl Fn(&str) -> bool) -> Excerpt {
        let state = self.state.lock();
        let mut excerpt = Excerpt {
            started: self.started,
            total: state.total,
            entries: Vec::new(),
            ended: Vec::new(),
            tally: Tally::default(),
            tools: Vec::new(),
        };
        if limit == 0 {
            return excerpt;
        }
        excerpt.ended = state.ended.iter().cloned().collect();
        (excerpt.entries, excerpt.tally) = (state.ring.all(), state.tally.clone());
        excerpt.tools = state.tools.iter().cloned().collect();
        drop(state);
        excerpt
            .entries
            .retain(|it| it.seq > after && wanted(&it.event));
        excerpt
            .entries
            .drain(..excerpt.entries.len().saturating_sub(limit));
        excerpt
    }
}

impl Follower {
    /// What was written since the last time, as soon as something is. `None`: nothing can be any
    /// more.
    pub async fn next(&mut self, journal: &Journal) -> Option<News> {
        loop {
            let news = self.read(journal);
            if news.lost > 0 || !news.judged.is_empty() || !news.ended.is_empty() {
                return Some(news);
            }
            self.written.changed().await.ok()?;
        }
    }

    fn read(&mut self, journal: &Journal) -> News {
        let state = journal.state.lock();
        let (n_judged, n_ended) = (state.total - self.judged, state.n_ended - self.ended);
        (self.judged, self.ended) = (state.total, state.n_ended);
        let judged = state.ring.newest(n_judged);
        let ended = state
            .ended
            .iter()
            .filter(|it| it.seq > state.n_ended - n_ended)
            .cloned()
            .collect::<Vec<_>>();
        let lost = n_judged + n_ended - (judged.len() + ended.len()) as u64;
        News {
            lost,
            judged,
            ended,
        }
    }
}

impl State {
    /// A tool's name, shared with the events before.
    fn tool(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.tools.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        if self.tools.len() < MAX_TOOLS {
            self.tools.insert(name.clone());
        }
        name
    }
}

impl Excerpt {
    /// The reply to `hooks/recent`. Entries that don't fit are left out, the oldest first.
    pub fn reply<'a>(&'a self, root: &'a str, generation: u64, hash: &'a str) -> Recent<'a> {
        let mut tools: Vec<_> = self.tools.iter().map(|it| Cow::Borrowed(&**it)).collect();
        tools.sort_unstable();
        let mut hooks: Vec<_> = self.tally.iter().collect();
        hooks.sort_unstable_by_key(|(hook, _)| *hook);
        let mut room = MAX_HOOKS_IN_REPLY;
        let hooks = hooks
            .into_iter()
            .take_while(|(hook, _)| fits(&mut room, as_json(hook) + 256));
        let hooks: Vec<_> = hooks
            .map(|(hook, counts)| HookCounts {
                hook: Cow::Borrowed(hook),
                counts,
            })
            .collect();
        let around = as_json(root)
            + as_json(hash)
            + tools.iter().map(|it| as_json(it) + 3).sum::<usize>()
            + 1024;
        let mut room = (MAX_REPLY - (MAX_HOOKS_IN_REPLY - room)).saturating_sub(around);
        // Their texts are bounded, but a control character becomes six.
        let mut room_for_ends = MAX_REPLY / 4;
        let as_written = |it: &Ended| {
            [&it.outcome.reason, &it.outcome.error, &it.outcome.opaque]
                .into_iter()
                .flatten()
                .map(|it| as_json(it))
                .sum::<usize>()
        };
        let n_ended = self
            .ended
            .iter()
            .rev()
            .take_while(|it| fits(&mut room_for_ends, as_written(it) + 6 * 4 * MAX_NAME))
            .count();
        let ended: Vec<_> = self
            .ended
            .iter()
            .skip(self.ended.len() - n_ended)
            .map(|it| Cow::Borrowed(&**it))
            .collect();
        room = room.saturating_sub(MAX_REPLY / 4 - room_for_ends);
        let newest = self
            .entries
            .iter()
            .rev()
            .take_while(|it| fits(&mut room, it.bytes_in_reply()));
        let mut records: Vec<_> = newest.filter_map(|it| it.record()).collect();
        records.reverse();
        Recent {
            root: root.into(),
            pid: std::process::id(),
            started: rfc3339(self.started).into(),
            generation,
            hash: hash.into(),
            total: self.total,
            records,
            ended,
            hooks,
            tools,
            clients: Vec::new(),
            canaries: None,
            program: Some(Cow::Borrowed(Program::own())),
        }
    }
}

/// Takes from the room that is left, if it is enough.
fn fits(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(0);
    left.is_some()
}

/// The bytes of a text as JSON, at most.
fn as_json(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + 2
}

/// Params and verdict in one text, and where the second begins.
fn whole(params: &str, replied: &[u8]) -> (Vec<u8>, usize) {
    let mut text = Vec::with_capacity(params.len() + replied.len());
    text.extend_from_slice(params.as_bytes());
    // Strings in JSON have no line end: it's only between.
    for at in memchr::memchr_iter(b'\n', params.as_bytes()) {
        text[at] = b' ';
    }
    text.extend_from_slice(replied);
    (text, params.len())
}

/// What a large event begins with.
mod beginning {
    use serde_json::Value;

    /// The longest text that stays whole, in bytes.
    const MOST_OF_TEXT: usize = 2000;
    /// How much there is of all texts.
    const MOST: usize = 32 * 1024;
    const MOST_ITEMS: usize = 64;
    const MOST_LEVELS: u8 = 12;

    /// The event as JSON, cut to a length that can be kept.
    pub(super) fn of(event: &Value) -> String {
        let mut left = MOST;
        cut(event, &mut left, MOST_LEVELS).to_string()
    }

    fn cut(value: &Value, left: &mut usize, levels: u8) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => cut_text(text, left).into(),
            _ if levels == 0 => "…".into(),
            Value::Array(items) => {
                let first = items.iter().take(MOST_ITEMS);
                let mut first: Vec<Value> = first.map(|item| cut(item, left, levels - 1)).collect();
                let more = items.len() - first.len();
                first.extend((more > 0).then(|| format!("… ({more} more)").into()));
                first.into()
            }
            Value::Object(members) => {
                let first = members.iter().take(MOST_ITEMS);
                let first =
                    first.map(|(name, it)| (cut_text(name, left), cut(it, left, levels - 1)));
                Value::Object(first.collect())
            }
        }
    }

    fn cut_text(text: &str, left: &mut usize) -> String {
        let most = MOST_OF_TEXT.min(*left).min(text.len());
        let mut ends = (0..=most).rev();
        let kept = ends.find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        *left -= kept;
        match text.len() - kept {
            0 => text.to_string(),
            more => format!("{}… ({more} bytes more)", &text[..kept]),
        }
    }
}

/// A verdict without its outcomes and values.
fn bare(verdict: &Verdict) -> Vec<u8> {
    let short = |text: &String| text.chars().take(200).collect();
    let Verdict {
        decision,
        generation,
        hash,
        event_id,
        ..
    } = verdict;
    let bare = Verdict {
        reason: verdict.reason.as_ref().map(short),
        decided_by: verdict.decided_by.clone().filter(|it| it.len() <= MAX_NAME),
        replaced: verdict.replaced,
        stop: verdict.stop.as_ref().map(short),
        session_generation: verdict.session_generation,
        ..Verdict::silent(*decision, *generation, hash.clone(), event_id.clone())
    };
    serde_json::to_vec(&bare).unwrap_or_default()
}

/// A name, cut where it is too long to be kept.
pub fn clipped(name: &Arc<str>) -> Arc<str> {
    if name.len() <= MAX_NAME {
        name.clone()
    } else {
        name.chars().take(MAX_NAME / 4).collect::<String>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use serde_json::json;

    fn event(data: Value) -> Event {
        Event::from_json(data).unwrap()
    }

    fn outcome(hook: &str, more: Value) -> Value {
        let mut outcome = json!({ "hook": hook, "status": "success", "durationMicros": 1 });
        outcome
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        outcome
    }

    fn verdict(more: Value) -> Verdict {
        let mut verdict = json!({ "decision": "allow", "outcomes": [], "generation": 1, "hash": "h", "eventId": "e" });
        verdict
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value(verdict).unwrap()
    }

    fn write(journal: &Journal, event: &Event, params: &str, verdict: &Verdict) {
        let from = Sender {
            dialect: "native",
            client: None,
            via: None,
        };
        journal.write(
            event,
            from,
            params,
            verdict,
            &serde_json::to_vec(verdict).unwrap(),
        );
    }

    fn check_excerpt(
        journal: &Journal,
        after: u64,
        limit: usize,
        check: impl FnOnce(Recent<'_>, usize),
    ) {
        let excerpt = journal.excerpt(after, limit, |_| true);
        let text = serde_json::to_string(&excerpt.reply("/root", 1, "h")).unwrap();
        assert!(!text.contains('\n'), "one line");
        check(serde_json::from_str(&text).unwrap(), text.len());
    }

    #[test]
    fn what_is_rare_outlives_what_is_common() {
        let journal = Journal::default();
        let (rare, common) = (
            event(json!({"event": "SessionStart"})),
            event(json!({"event": "Stop"})),
        );
        for n in 1..=MAX_RARE + 10 {
            let custom = event(json!({ "event": format!("custom:{n}") }));
            write(&journal, &custom, "{}", &verdict(json!({})));
        }
        write(&journal, &rare, "{}", &verdict(json!({})));
        for _ in 0..3 * MAX_KEPT {
            write(&journal, &common, "{}", &verdict(json!({})));
        }
        check_excerpt(&journal, 0, usize::MAX, |recent, _| {
            assert_eq!(recent.total, (MAX_RARE + 11 + 3 * MAX_KEPT) as u64);
            assert_eq!(recent.records.len(), MAX_RARE + MAX_KEPT);
            assert!(recent.records.is_sorted_by(|a, b| a.seq < b.seq));
            assert_eq!(
                recent
                    .records
                    .iter()
                    .filter(|it| it.event == "SessionStart")
                    .count(),
                1
            );
            assert!(
                recent.records.iter().all(|it| it.event != "custom:1"),
                "the rarest of too many"
            );
        });
        check_excerpt(&journal, 0, 2, |recent, _| {
            assert_eq!(recent.records.last().unwrap().seq, recent.total)
        });
        check_excerpt(&journal, u64::MAX, 2, |recent, _| {
            assert!(recent.records.is_empty())
        });
    }

    #[test]
    fn what_is_large_is_bounded() {
        let journal = Journal::default();
        let prompt = |length: usize| {
            json!({"event": "UserPromptSubmit", "prompt": "x".repeat(length)}).to_string()
        };
        let stop = event(json!({"event": "UserPromptSubmit"}));
        for _ in 0..100 {
            write(&journal, &stop, &prompt(MAX_WHOLE / 2), &verdict(json!({})));
        }
        let kept = |journal: &Journal| {
            journal
                .state
                .lock()
                .ring
                .all()
                .iter()
                .map(|it| it.text.len())
                .sum::<usize>()
        };
        assert!(
            kept(&journal) <= MAX_BYTES + MAX_WHOLE,
            "{}",
            kept(&journal)
        );
        check_excerpt(&journal, 0, usize::MAX, |recent, bytes| {
            assert!(bytes <= MAX_REPLY && bytes > MAX_REPLY / 2, "{bytes}");
            assert_eq!(recent.records.last().unwrap().seq, 100);
        });
        // Too large to be kept whole: the event, or its verdict as well.
        let name = format!("custom:{}", "n".repeat(MAX_WHOLE));
        let subject = json!({ "subject": "s".repeat(MAX_WHOLE), "reason": "r".repeat(MAX_WHOLE), "decision": "deny" });
        for (name, verdict, has_subject) in [
            (
                "Stop",
                verdict(json!({ "subject": "s".repeat(1000) })),
                true,
            ),
            (name.as_str(), verdict(subject), false),
        ] {
            let large = event(json!({ "event": name }));
            write(&journal, &large, &prompt(MAX_WHOLE), &verdict);
            check_excerpt(&journal, 0, 1, |recent, bytes| {
                let record = &recent.records[0];
                assert!(
                    record.truncated && record.params.is_none() && record.event.len() <= MAX_NAME
                );
                let beginning = record.beginning.unwrap().get();
                assert!(
                    beginning.contains(name.get(..20).unwrap_or(name)),
                    "{beginning}"
                );
                let read: Verdict = serde_json::from_str(record.verdict.get()).unwrap();
                assert_eq!(
                    (read.decision, read.subject.is_some()),
                    (verdict.decision, has_subject)
                );
                assert!(bytes < 10_000, "{bytes}");
            });
        }
    }

    #[test]
    fn names_are_bounded() {
        let journal = Journal::default();
        let name = |n: usize| format!("{n}{}", "\u{1}".repeat(300));
        for n in 0..MAX_HOOKS / 100 + 2 {
            let outcomes: Vec<_> = (0..100)
                .map(|m| outcome(&name(n * 100 + m), json!({})))
                .collect();
            let tool = event(json!({ "event": "PreToolUse", "tool": { "name": name(n) } }));
            write(
                &journal,
                &tool,
                "{}",
                &verdict(json!({ "outcomes": outcomes })),
            );
        }
        for n in 0..MAX_TOOLS {
            let tool = event(json!({ "event": "PreToolUse", "tool": { "name": format!("t{n}") } }));
            write(
                &journal,
                &tool,
                "{}",
                &verdict(json!({ "outcomes": [outcome(&"x".repeat(MAX_NAME + 1), json!({}))] })),
            );
        }
        assert_eq!(journal.state.lock().tally.0.len(), MAX_HOOKS);
        check_excerpt(&journal, 0, usize::MAX, |recent, bytes| {
            assert!(bytes <= MAX_REPLY, "{bytes}");
            assert_eq!(recent.tools.len(), MAX_TOOLS);
            assert!(recent.hooks.len() > 100 && !recent.records.is_empty());
        });
    }

    #[test]
    fn outcomes_are_counted() {
        let mut tally = Tally::default();
        let deny = json!({"status": "blocking", "decision": "deny"});
        let failed_closed =
            json!({"status": "non_blocking_error", "decision": "deny", "error": "x"});
        for (more, expected) in [
            (json!({}), [1, 0, 0, 0, 0, 0]),
            (json!({"status": "skipped"}), [1, 0, 0, 0, 0, 0]),
            (deny, [2, 1, 0, 0, 0, 0]),
            (
                json!({"status": "blocking", "decision": "ask"}),
                [3, 1, 1, 0, 0, 0],
            ),
            (json!({"rewrote": true}), [4, 1, 1, 1, 0, 0]),
            (failed_closed, [5, 1, 1, 1, 1, 0]),
            (
                json!({"observed": {"decision": "deny"}}),
                [6, 1, 1, 1, 1, 1],
            ),
            (
                json!({"observed": {"decision": "allow"}}),
                [7, 1, 1, 1, 1, 1],
            ),
        ] {
            tally.count(&verdict(json!({ "outcomes": [outcome("h", more.clone())] })).outcomes);
            let Counts {
                matched,
                denied,
                asked,
                rewrote,
                failed,
                observed,
            } = tally.counts_of("h");
            assert_eq!(
                [matched, denied, asked, rewrote, failed, observed],
                expected,
                "{more}"
            );
        }
    }

    #[test]
    fn a_follower_reads_what_comes_and_is_told_what_it_missed() {
        let journal = Journal::default();
        let stop = event(json!({"event": "Stop"}));
        write(&journal, &stop, "{}", &verdict(json!({})));
        let mut follower = journal.follow();
        let mut next = || follower.next(&journal).now_or_never().flatten();
        assert!(next().is_none(), "it begins with what comes");
        write(
            &journal,
            &stop,
            "{\n\"event\": \"Stop\"}",
            &verdict(json!({})),
        );
        let failed: Outcome =
            serde_json::from_value(outcome("audit", json!({ "error": "x".repeat(5000) }))).unwrap();
        journal.write_end(&stop, &failed);
        let news = next().unwrap();
        assert_eq!(
            news.judged[0].record().unwrap().params.unwrap().get(),
            "{ \"event\": \"Stop\"}"
        );
        assert_eq!((news.lost, news.judged.len(), news.ended[0].seq), (0, 1, 1));
        assert_eq!(
            news.ended[0].outcome.error.as_ref().unwrap().len(),
            MAX_SAID
        );
        assert!(next().is_none(), "nothing comes twice");
        for _ in 0..MAX_KEPT_FOR_FOLLOWERS + 7 {
            write(&journal, &stop, "{}", &verdict(json!({})));
        }
        (0..MAX_ENDED + 3).for_each(|_| journal.write_end(&stop, &failed));
        let news = next().unwrap();
        assert_eq!(
            (news.lost, news.judged.len(), news.ended.len()),
            (10, MAX_KEPT_FOR_FOLLOWERS, MAX_ENDED)
        );
        check_excerpt(&journal, 0, usize::MAX, |recent, bytes| {
            assert!(bytes <= MAX_REPLY);
            assert_eq!(recent.ended.last().unwrap().seq, MAX_ENDED as u64 + 4);
            assert_eq!(
                recent.hooks[0].counts,
                Counts {
                    failed: MAX_ENDED as u64 + 4,
                    ..Counts::default()
                }
            );
        });
        check_excerpt(&journal, 0, 0, |recent, bytes| {
            assert!(
                recent.records.is_empty() && recent.hooks.is_empty() && recent.ended.is_empty()
            );
            assert!(recent.total > 0 && bytes < 4096, "{bytes}");
        });
        // As much as before is kept when nobody follows.
        drop(follower);
        write(&journal, &stop, "{}", &verdict(json!({})));
        assert_eq!(journal.state.lock().ring.last.len(), MAX_KEPT);
    }
}
