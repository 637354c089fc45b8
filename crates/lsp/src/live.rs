//! Running hosts of the workspace's folders: their real events, verdicts and counts. What they told
//! stays when they are gone.

use super::project::{Project, key_of_root};
use super::workspaces::Workspaces;
use hookwire_base::event::Event;
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::verdict::Verdict;
use hookwire_dialects as dialects;
use hookwire_engine::journal::{Counts, MAX_WHOLE, Recent, Record, Ring, Tally};
use hookwire_engine::running::follow::{self, Following, Heard, News, Run, Take};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How often at most the editor is told that something has changed.
const REFRESH: Duration = Duration::from_millis(500);
/// How often at most the connection's own host is looked at.
const OWN: Duration = Duration::from_millis(250);
/// Hosts whose counts are known apart.
const MAX_KNOWN: usize = 64;
/// Tools that are remembered.
const MAX_TOOLS: usize = 1000;
/// The longest name, in bytes.
const MAX_NAME: usize = 512;
/// The longest project root that is shown, in characters.
const MAX_ROOT: usize = 4096;

/// The events and counts of all hosts that are or were attached.
#[derive(Default)]
pub(super) struct Live {
    told: Mutex<Told>,
    changed: Notify,
}

/// An event that a running host has judged.
#[derive(Debug)]
pub(super) struct Judged {
    /// The key of the host's project.
    pub folder: Arc<str>,
    /// The process of the host.
    pub host: u32,
    /// Counts the events of that host.
    pub seq: u64,
    /// When: RFC 3339, in UTC, to the millisecond.
    pub at: String,
    /// The event, as hooks read it.
    pub event: Arc<Event>,
    /// The verdict.
    pub verdict: Verdict,
    /// It was too large to be told: `event` has no more than its name and its tool's.
    pub truncated: bool,
}

/// A running host.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LiveHost {
    /// Its process.
    pub pid: u32,
    /// Its project root.
    pub root: String,
    /// The generation of its hooks.
    pub generation: u64,
}

#[derive(Default)]
struct Told {
    /// Every host that was heard of, the oldest first.
    known: Vec<Known>,
    /// The counts of hosts that have been forgotten, by project.
    past: HashMap<Arc<str>, Tally>,
    past_events: u64,
    events: Ring<Judged>,
    tools: BTreeSet<String>,
}

struct Known {
    run: Run,
    host: LiveHost,
    folder: Arc<str>,
    is_here: bool,
    /// How many events it has judged.
    n_judged: u64,
    tally: Tally,
}

impl Live {
    /// No host is attached yet.
    pub(super) fn new() -> Arc<Live> {
        Arc::default()
    }

    /// The hosts that are attached now.
    pub(super) fn hosts(&self) -> Vec<LiveHost> {
        let told = self.told.lock();
        let mut hosts: Vec<_> = told
            .known
            .iter()
            .filter(|it| it.is_here)
            .map(|it| it.host.clone())
            .collect();
        hosts.sort_by_key(|host| host.pid);
        hosts
    }

    /// The last events of a folder that are known whole, newest first.
    pub(super) fn recent_events(&self, folder: &str) -> Vec<Arc<Judged>> {
        let mut events = self.timeline();
        events.retain(|event| !event.truncated && *event.folder == *folder);
        events
    }

    /// The last events of every folder, with those that were too large to be told.
    pub(super) fn timeline(&self) -> Vec<Arc<Judged>> {
        let mut events = self.told.lock().events.all();
        events.sort_by(|a, b| (&b.at, b.host, b.seq).cmp(&(&a.at, a.host, a.seq)));
        events
    }

    /// How many events were judged.
    pub(super) fn total(&self) -> u64 {
        let told = self.told.lock();
        told.known
            .iter()
            .fold(told.past_events, |sum, it| sum.saturating_add(it.n_judged))
    }

    /// The counts of a hook in a project.
    pub(super) fn hook_counts(&self, folder: &str, hook: &str) -> Counts {
        let told = self.told.lock();
        let mut counts = told
            .past
            .get(folder)
            .map(|tally| tally.counts_of(hook))
            .unwrap_or_default();
        told.known
            .iter()
            .filter(|it| *it.folder == *folder)
            .for_each(|it| counts += it.tally.counts_of(hook));
        counts
    }

    /// The names of tools that were called.
    pub(super) fn tools(&self) -> BTreeSet<String> {
        self.told.lock().tools.clone()
    }

    /// Takes in what is told of a host.
    fn take_news(&self, run: &Run, news: News<'_>) -> ControlFlow<()> {
        let mut told = self.told.lock();
        match news {
            News::Here(recent) => told.greet_host(run, recent)?,
            News::Judged(record) => told.take_judged(run, record),
            News::Standing(recent) => told.update_standing(run, recent),
            News::Ended(ended) if ended.outcome.error.is_some() => told.update_host(run, |known| {
                known.tally.add(
                    &ended.outcome.hook,
                    Counts {
                        failed: 1,
                        ..Counts::default()
                    },
                );
            }),
            News::Ended(_) | News::Lost(_) | News::Questions => {}
            News::Changed(changed) => {
                told.update_host(run, |known| known.host.generation = changed.generation)
            }
            News::Gone => told.update_host(run, |known| known.is_here = false),
        }
        drop(told);
        self.changed.notify_one();
        ControlFlow::Continue(())
    }
}

impl Told {
    /// A host is here; `Break` if there are too many.
    fn greet_host(&mut self, run: &Run, recent: &Recent<'_>) -> ControlFlow<()> {
        if let Some(known) = self.known.iter_mut().find(|it| it.run == *run) {
            known.is_here = true;
            return ControlFlow::Continue(());
        }
        if self.known.len() >= MAX_KNOWN {
            let Some(at) = self.known.iter().position(|it| !it.is_here) else {
                return ControlFlow::Break(());
            };
            let oldest = self.known.remove(at);
            if self.past.len() < MAX_KNOWN || self.past.contains_key(&oldest.folder) {
                let past = self.past.entry(oldest.folder).or_default();
                oldest
                    .tally
                    .iter()
                    .for_each(|(hook, counts)| past.add(hook, counts));
            }
            self.past_events = self.past_events.saturating_add(oldest.n_judged);
        }
        let root = recent.root.chars().take(MAX_ROOT).collect();
        let folder = key_of_root(Path::new(&root)).into();
        let host = LiveHost {
            pid: run.pid,
            root,
            generation: recent.generation,
        };
        let (run, tally) = (run.clone(), Tally::default());
        self.known.push(Known {
            run,
            host,
            folder,
            is_here: true,
            n_judged: 0,
            tally,
        });
        ControlFlow::Continue(())
    }

    /// Changes what is known of a host.
    fn update_host(&mut self, run: &Run, change: impl FnOnce(&mut Known)) {
        if let Some(known) = self.known.iter_mut().find(|it| it.run == *run) {
            change(known);
        }
    }

    fn take_judged(&mut self, run: &Run, record: &Record<'_>) {
        let Some(known) = self.known.iter_mut().find(|it| it.run == *run) else {
            return;
        };
        known.n_judged = known.n_judged.max(record.seq);
        if let Some((bytes, judged)) = read_record(record, &known.folder, run.pid) {
            known.tally.count(&judged.verdict.outcomes);
            self.events.push(judged.event.name.clone(), bytes, judged);
        }
        self.remember_tools(record.tool.as_deref().into_iter());
    }

    fn update_standing(&mut self, run: &Run, recent: &Recent<'_>) {
        self.update_host(run, |known| {
            known.host.generation = recent.generation;
            known.n_judged = known.n_judged.max(recent.total);
            // Of very many hooks it tells only some.
            recent
                .hooks
                .iter()
                .for_each(|hook| known.tally.raise(&hook.hook, hook.counts));
        });
        self.remember_tools(recent.tools.iter().map(|tool| &**tool));
    }

    fn remember_tools<'a>(&mut self, tools: impl Iterator<Item = &'a str>) {
        for tool in tools.filter(|tool| tool.len() <= MAX_NAME) {
            if self.tools.len() < MAX_TOOLS && !self.tools.contains(tool) {
                self.tools.insert(tool.to_string());
            }
        }
    }
}

/// An event as it was told, and its size. What can't be read is left out.
fn read_record(record: &Record<'_>, folder: &Arc<str>, host: u32) -> Option<(usize, Arc<Judged>)> {
    let bytes = record.params.map_or(0, |params| params.get().len()) + record.verdict.get().len();
    let judged = || {
        if bytes > MAX_WHOLE || record.event.len() > MAX_NAME && record.params.is_none() {
            return None;
        }
        let at = humantime::parse_rfc3339(&record.at).ok()?;
        let verdict: Verdict = serde_json::from_str(record.verdict.get()).ok()?;
        let mut event = match record.params {
            Some(params) => read_sent_event(params.get(), &record.dialect)?,
            None => {
                let tool = record.tool.as_ref().map(|name| json!({ "name": name }));
                Event::from_json(json!({ "event": record.event, "tool": tool })).ok()?
            }
        };
        event.id = verdict.event_id.clone();
        let at = rfc3339(at);
        let (folder, seq, truncated) = (folder.clone(), record.seq, record.params.is_none());
        Some(Judged {
            folder,
            host,
            seq,
            at,
            event: event.into(),
            verdict,
            truncated,
        })
    };
    let judged = judged();
    if judged.is_none() {
        // Not what it says: it may be a secret.
        tracing::debug!(
            host,
            seq = record.seq,
            "An event that a host has judged can't be read."
        );
    }
    Some((bytes, judged?.into()))
}

/// An event as `hooks/dispatch` reads it.
fn read_sent_event(params: &str, dialect: &str) -> Option<Event> {
    dialects::read_sent_event(hookwire_base::support::json::parse(params).ok()?, dialect)
}

/// Follows the running hosts of the workspaces, and those that start later, until this is dropped.
/// Calls `refresh` when something has changed, but not more often than an editor can follow.
pub(super) async fn follow_hosts(
    live: &Arc<Live>,
    own: &Project,
    workspaces: &Arc<Workspaces>,
    refresh: impl Fn(),
) {
    let over = CancellationToken::new();
    let _over = over.clone().drop_guard();
    let (theirs, workspaces) = (live.clone(), workspaces.clone());
    let take: Arc<Take<'static>> = Arc::new(move |run, news| theirs.take_news(run, news));
    if let Err(error) = std::thread::Builder::new()
        .name("look".into())
        .spawn(move || {
            Following::new().follow(|| workspaces.hosts(), &take, || over.is_cancelled())
        })
    {
        tracing::warn!(%error, "Running hosts are not followed for the editor.");
    }
    tokio::join!(announce_change(live, refresh), listen_to_own(live, own));
}

async fn announce_change(live: &Live, refresh: impl Fn()) {
    loop {
        live.changed.notified().await;
        refresh();
        sleep(REFRESH).await;
    }
}

/// Hears what the connection's own host judges, because the editor may be an agent as well.
async fn listen_to_own(live: &Live, own: &Project) {
    let journal = own.journal();
    let (mut written, mut heard, mut was_heard) = (journal.follow(), Heard::default(), false);
    loop {
        let excerpt = journal.excerpt(heard.judged(), usize::MAX, |_| true);
        if excerpt.total > 0 {
            let (root, hooks) = (own.root().to_string_lossy(), own.hooks());
            let recent = excerpt.reply(&root, hooks.generation, &hooks.hash);
            let run = Run::of(&recent);
            if !was_heard && live.take_news(&run, News::Here(&recent)).is_break() {
                return;
            }
            let _ = follow::tell(&recent, &mut heard, was_heard, &mut |news| {
                live.take_news(&run, news)
            });
            was_heard = true;
        }
        sleep(OWN).await;
        if written.next(journal).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn record(seq: u64, params: Value, more: Value) -> String {
        let verdict = json!({
            "decision": "deny",
            "outcomes": [{ "hook": "h", "status": "blocking", "decision": "deny", "durationMicros": 1 }],
            "generation": 1,
            "hash": "",
            "eventId": format!("e{seq}"),
        });
        let mut record = json!({
            "seq": seq,
            "at": format!("2026-01-01T00:00:{:02}Z", seq % 60),
            "event": "PreToolUse",
            "tool": "Bash",
            "dialect": "native",
            "params": params,
            "verdict": verdict,
        });
        record
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        record.to_string()
    }

    fn native() -> Value {
        json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "ls" } } })
    }

    /// What a host says of itself, its hook having matched so often.
    fn recent(pid: u32, started: &str, total: u64, records: &[String], matched: u64) -> String {
        let records = records.join(",");
        format!(
            r#"{{"root":"/r","pid":{pid},"started":"{started}","generation":1,"hash":"","total":{total},"records":[{records}],"hooks":[{{"hook":"h","matched":{matched}}}],"tools":["T"]}}"#
        )
    }

    /// A host that is told of as it is when it is followed.
    struct Attached<'l>(&'l Live, Run, Heard);

    impl Drop for Attached<'_> {
        fn drop(&mut self) {
            let _ = self.0.take_news(&self.1, News::Gone);
        }
    }

    impl Attached<'_> {
        fn tell(&mut self, text: &str) {
            let recent = serde_json::from_str(text).unwrap();
            let _ = follow::tell(&recent, &mut self.2, true, &mut |news| {
                self.0.take_news(&self.1, news)
            });
        }

        fn judged(&self, line: &str) {
            let _ = self
                .0
                .take_news(&self.1, News::Judged(&serde_json::from_str(line).unwrap()));
        }
    }

    /// It is heard from what it has judged after so many.
    fn greet<'l>(live: &'l Live, text: &str, heard: Heard) -> Attached<'l> {
        let recent: Recent<'_> = serde_json::from_str(text).unwrap();
        let run = Run::of(&recent);
        assert!(live.take_news(&run, News::Here(&recent)).is_continue());
        let mut attached = Attached(live, run, heard);
        attached.tell(text);
        attached
    }

    #[test]
    fn events_are_read_as_they_were_dispatched() {
        let payload =
            json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} });
        let claude = json!({ "dialect": "claude-code", "payload": payload, "deadlineMs": 5 });
        let speaks = |name: &str| json!({ "dialect": name });
        for (params, more, expected) in [
            (native(), json!({}), Some((None, false))),
            (json!([native()]), json!({}), Some((None, false))),
            (
                claude.clone(),
                speaks("claude-code"),
                Some((Some("claude-code"), false)),
            ),
            (
                json!({ "payload": payload }),
                speaks("claude-code"),
                Some((Some("claude-code"), false)),
            ),
            (
                json!({ "payload": native(), "dialect": "native" }),
                json!({}),
                Some((None, false)),
            ),
            (
                Value::Null,
                json!({ "params": null, "truncated": true }),
                Some((None, true)),
            ),
            (claude.clone(), speaks("no-such"), None),
            (claude, json!({}), None),
            (json!([]), json!({}), None),
            (json!([native(), native()]), json!({}), None),
            (json!({ "event": "NoSuch" }), json!({}), None),
            (native(), json!({ "verdict": {} }), None),
            (native(), json!({ "at": "9999999-01-01" }), None),
            (
                json!({ "event": "Stop", "metadata": { "large": "x".repeat(MAX_WHOLE) } }),
                json!({}),
                None,
            ),
            (
                Value::Null,
                json!({ "params": null, "event": format!("custom:{}", "x".repeat(MAX_NAME)) }),
                None,
            ),
        ] {
            let text = record(1, params, more);
            let judged =
                read_record(&serde_json::from_str(&text).unwrap(), &"".into(), 7).map(|(_, it)| it);
            let original =
                |it: &Arc<Judged>| it.event.original.as_ref().map(|original| original.dialect);
            assert_eq!(
                judged.as_ref().map(|it| (original(it), it.truncated)),
                expected,
                "{text}"
            );
            if let Some(judged) = judged {
                assert_eq!(
                    (&*judged.event.id, judged.event.text("/tool/name")),
                    ("e1", Some("Bash"))
                );
                assert_eq!(
                    (judged.at.as_str(), judged.host),
                    ("2026-01-01T00:00:01.000Z", 7)
                );
            }
        }
    }

    #[test]
    fn nothing_is_counted_twice() {
        let live = Live::new();
        let here = key_of_root(Path::new("/r"));
        let seqs = |live: &Live| {
            live.recent_events(&here)
                .iter()
                .map(|event| (event.host, event.seq))
                .collect::<Vec<_>>()
        };
        let lines: Vec<_> = (0..9).map(|seq| record(seq, native(), json!({}))).collect();
        let first = greet(
            &live,
            &recent(1, "a", 2, &lines[1..3], 10),
            Heard::default(),
        );
        first.judged(&lines[3]);
        assert_eq!(
            (
                seqs(&live),
                live.total(),
                live.hook_counts(&here, "h").matched
            ),
            (vec![(1, 3), (1, 2), (1, 1)], 3, 11)
        );
        let (whole, heard) = (recent(1, "a", 5, &lines[1..6], 13), first.2);
        drop(first);
        assert_eq!(live.hosts().len(), 0);
        // The connection broke, the host is the same. What was announced since `heard` was heard,
        // too.
        let heard = Heard::up_to(heard.judged() + 1);
        let mut first = greet(&live, &whole, heard);
        first.tell(&whole);
        assert_eq!(
            (
                seqs(&live).len(),
                live.total(),
                live.hook_counts(&here, "h").matched
            ),
            (5, 5, 13)
        );
        drop(first);
        // It is another one, though the process has the same number.
        let second = greet(&live, &recent(1, "b", 1, &lines[1..2], 1), Heard::default());
        assert_eq!(
            (
                seqs(&live).len(),
                live.total(),
                live.hook_counts(&here, "h").matched
            ),
            (6, 6, 14)
        );
        assert_eq!(
            (live.hook_counts(&here, "h").denied, live.tools().len()),
            (6, 2)
        );
        second.judged(&lines[2]);
        assert_eq!(live.hook_counts(&here, "h").denied, 7);
    }

    #[test]
    fn hosts_come_and_go_and_their_counts_stay() {
        let (live, here) = (Live::new(), key_of_root(Path::new("/r")));
        let stays = greet(&live, &recent(1, "here", 1, &[], 1), Heard::default());
        for n in 0..2 * MAX_KNOWN {
            greet(
                &live,
                &recent(2, &n.to_string(), 1, &[], 1),
                Heard::default(),
            );
        }
        let all = 2 * MAX_KNOWN as u64 + 1;
        assert_eq!(
            (live.total(), live.hook_counts(&here, "h").matched),
            (all, all)
        );
        assert_eq!(live.told.lock().known.len(), MAX_KNOWN);
        assert_eq!(
            live.hosts().iter().map(|it| it.pid).collect::<Vec<_>>(),
            [1]
        );
        drop(stays);
        let liar = recent(
            3,
            &"x".repeat(MAX_NAME * 2),
            u64::MAX,
            &[record(u64::MAX, native(), json!({}))],
            u64::MAX,
        );
        greet(&live, &liar, Heard::default()).tell(&liar);
        assert_eq!(
            (live.total(), live.hook_counts(&here, "h").matched),
            (u64::MAX, u64::MAX)
        );
    }
}
