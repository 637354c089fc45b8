//! The history behind the page: what is judged is written into it while a person wants that.

use super::problem::{Answer, Problem};
use super::shown;
use super::tried::Definition;
use crate::history::{History, Order, Wishes, Written, history_dir};
use crate::suggest::Suggestions;
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::support::json::parse;
use hookwire_base::transport::socket;
use hookwire_dialects::recorded::Recorded;
use hookwire_engine::host::Purpose;
use hookwire_engine::running::follow::{Following, News};
use hookwire_handlers::handlers::Effect;
use hookwire_handlers::handlers::guards::without_secrets;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Events that wait to be written.
const MAX_WAITING: usize = 4096;
/// Events that are written at once: the more, the faster.
const AT_ONCE: usize = 2000;
/// Runs of hosts whose lost events are counted apart, until the history has them.
const MAX_RUNS: usize = 64;
/// Runs of hosts that are remembered as heard.
const MAX_HEARD: usize = 1000;
/// How often what is too old is let go.
const TRIM: Duration = Duration::from_secs(60);
/// Events on a page, and their bytes together.
const ON_PAGE: usize = 100;
const MAX_ON_PAGE: usize = 500;
const MAX_BYTES: usize = 8 << 20;
/// Events that are judged again or looked through, and how long that may take.
const MAX_LOOKED: usize = 100_000;
const LOOK_TIME: Duration = Duration::from_secs(20);
/// Differences that are told.
const MAX_DIFFERENCES: usize = 200;

/// See the module.
#[derive(Default)]
pub(super) struct Kept {
    writer: OnceLock<Writer>,
    is_on: AtomicBool,
    /// The events that aren't written and of which the history doesn't know yet.
    lost: Arc<Lost>,
    /// The runs of hosts that were heard.
    heard: Mutex<HashSet<String>>,
    /// One person changes it at a time.
    changing: Mutex<()>,
}

/// How many events of each run of a host aren't written.
#[derive(Default)]
struct Lost(Mutex<BTreeMap<String, u64>>);

impl Lost {
    fn add_lost(&self, run: &str, events: u64) {
        let mut lost = self.0.lock();
        let is_known = lost.contains_key(run) || lost.len() < MAX_RUNS;
        *lost
            .entry(if is_known { run.into() } else { String::new() })
            .or_default() += events;
    }

    fn sum(&self) -> u64 {
        self.0.lock().values().sum()
    }

    /// Notes them in the history. Until that has worked they stay here.
    fn note_lost(&self, history: &History) {
        let lost = std::mem::take(&mut *self.0.lock());
        if lost.is_empty() {
            return;
        }
        if let Err(problem) = history.note_gaps(&lost) {
            tracing::warn!(
                problem,
                "What is missing in the history isn't noted there yet."
            );
            lost.iter()
                .for_each(|(run, events)| self.add_lost(run, *events));
        }
    }
}

struct Writer {
    history: Arc<History>,
    waiting: SyncSender<Row>,
}

struct Row {
    run: String,
    root: String,
    record: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    #[serde(default)]
    pub(super) query: String,
    #[serde(default)]
    pub(super) before: Option<String>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    on: Option<bool>,
    days: Option<u32>,
    mebibytes: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Against {
    #[serde(flatten)]
    definition: Definition,
    since: String,
}

impl Kept {
    /// The history of this user; whether it is written is as the person said last.
    pub(super) fn start() -> Kept {
        let kept = Kept::default();
        let is_there = history_dir().is_some_and(|it| it.is_dir());
        let wishes = if is_there {
            kept.history().and_then(|history| history.wishes())
        } else {
            Ok(Wishes::default())
        };
        kept.is_on
            .store(wishes.is_ok_and(|it| it.is_on), Ordering::Relaxed);
        kept
    }

    fn writer(&self) -> Result<&Writer, String> {
        if let Some(writer) = self.writer.get() {
            return Ok(writer);
        }
        let _one = self.changing.lock();
        if self.writer.get().is_none() {
            let dir =
                history_dir().ok_or("there is no home directory in which a history is kept")?;
            let history = Arc::new(History::open(&dir)?);
            let (waiting, rows) = sync_channel(MAX_WAITING);
            let (into, lost) = (history.clone(), self.lost.clone());
            std::thread::Builder::new()
                .name("history".into())
                .spawn(move || write_rows(&into, &rows, &lost))
                .map_err(|error| error.to_string())?;
            let _ = self.writer.set(Writer { history, waiting });
        }
        self.writer
            .get()
            .ok_or_else(|| "the history isn't open".into())
    }

    fn history(&self) -> Result<&Arc<History>, String> {
        self.writer().map(|writer| &writer.history)
    }

    /// Takes an event that was judged, if that is wanted. The record has no secrets.
    pub(super) fn take_record(&self, run: &str, root: &str, record: &Value) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let row = Row {
            run: run.into(),
            root: root.into(),
            record: record.clone(),
        };
        if !self
            .writer()
            .is_ok_and(|writer| writer.waiting.try_send(row).is_ok())
        {
            self.lost.add_lost(run, 1);
        }
    }

    /// So many events of a host were never heard here.
    pub(super) fn lose_events(&self, run: &str, events: u64) {
        if self.is_on.load(Ordering::Relaxed) {
            self.lost.add_lost(run, events);
        }
    }

    /// A host is followed that has judged so many events, and still has these. Of what it judged
    /// since the last one that is written, the others are lost.
    pub(super) fn begin_run(&self, run: &str, total: u64, there: impl Iterator<Item = u64>) {
        let is_new = {
            let mut heard = self.heard.lock();
            if heard.len() >= MAX_HEARD {
                heard.clear();
            }
            heard.insert(run.to_string())
        };
        if !is_new || !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(Some(last)) = self.history().and_then(|history| history.last_of(run)) {
            let n_there = there.filter(|seq| *seq > last && *seq <= total).count() as u64;
            self.lose_events(run, total.saturating_sub(last).saturating_sub(n_there));
        }
    }

    /// `inspect/record`.
    pub(super) fn find_record(&self, wanted: &Record) -> Answer {
        let history = self.history()?;
        let before = history.wishes()?;
        let wishes = Wishes {
            is_on: wanted.on.unwrap_or(before.is_on),
            days: wanted.days.unwrap_or(before.days),
            mebibytes: wanted.mebibytes.unwrap_or(before.mebibytes),
        };
        if wishes.days == 0 || wishes.mebibytes == 0 {
            return Err(Problem::params("`days` and `mebibytes` are at least 1"));
        }
        if wishes != before {
            history.set_wishes(wishes)?;
            history.trim_events(wishes, SystemTime::now())?;
        }
        if wishes.is_on && !self.is_on.swap(wishes.is_on, Ordering::Relaxed) {
            catch_up(history)?;
        }
        self.is_on.store(wishes.is_on, Ordering::Relaxed);
        let (events, bytes) = history.size()?;
        let keeps = format!("{} days, {} MiB", wishes.days, wishes.mebibytes);
        Ok(json!({
            "on": wishes.is_on, "keeps": keeps, "days": wishes.days, "mebibytes": wishes.mebibytes, "events": events,
            "bytes": bytes, "lost": history.count_lost(None)?.saturating_add(self.lost.sum()),
        }))
    }

    /// `inspect/history`.
    pub(super) fn search_history(
        &self,
        Search {
            query,
            before,
            limit,
        }: &Search,
    ) -> Answer {
        let before = before.as_ref().map(|it| it.parse()).transpose();
        let before = before.map_err(|_| Problem::params("`before` is no cursor"))?;
        let limit = limit.unwrap_or(ON_PAGE).clamp(1, MAX_ON_PAGE);
        let gaps = if before.is_none() {
            self.history()?.find_gaps(query).map_err(Problem::params)?
        } else {
            Vec::new()
        };
        let gaps = gaps
            .iter()
            .map(|gap| json!({ "at": rfc3339(gap.at), "host": gap.run, "events": gap.events }));
        let gaps: Vec<Value> = gaps.collect();
        let found = self.history()?.search(query, before, Order::Newest, limit);
        let found = found.map_err(Problem::params)?;
        let n_found = found.len();
        let (mut events, mut last, mut n_bytes) = (Vec::new(), None, 0);
        for it in found {
            if n_bytes > MAX_BYTES {
                break;
            }
            n_bytes += it.line.len();
            let mut event = shown::kept_record(parse(&it.line)?);
            event.insert("host".into(), it.run.into());
            event.insert("cursor".into(), it.cursor.to_string().into());
            events.push(Value::Object(event));
            last = Some(it.cursor);
        }
        let is_more = events.len() < n_found || n_found == limit;
        let mut answer = json!({ "events": events, "gaps": gaps });
        if let Some(last) = last.filter(|_| is_more) {
            answer["next"] = last.to_string().into();
        }
        Ok(answer)
    }

    /// `inspect/suggest`.
    pub(super) fn suggest(&self) -> Answer {
        let mut suggestions = Suggestions::default();
        each_of_last(self.history()?, "", |line| {
            suggestions.take_record(&parse(line).unwrap_or_default());
            ControlFlow::Continue(())
        })?;
        Ok(json!({ "proposals": suggestions.proposals() }))
    }

    /// `inspect/against`: which events a definition file would decide otherwise than the file that
    /// it replaces. Hooks that start something aren't asked.
    pub(super) fn judge_against(&self, wanted: &Against, root: &Path) -> Answer {
        // What a call ran then is not what it would run now.
        let after = wanted.definition.load_alone(root, Purpose::Replay)?;
        let before = wanted
            .definition
            .saved_in(root)
            .load_alone(root, Purpose::Replay)?;
        for hook in after
            .host
            .hooks()
            .hooks
            .iter()
            .chain(before.host.hooks().hooks.iter())
        {
            if hook
                .handler
                .effect()
                .is_some_and(|effect| effect != Effect::Person)
            {
                let problem = format!(
                    "`{}` starts something; `hookwire history replay --against` judges by it",
                    hook.name
                );
                return Err(Problem::params(problem));
            }
        }
        let runtime = tokio::runtime::Handle::current();
        let (mut n_judged, mut from, mut differences) = (0, None, Vec::new());
        each_of_last(
            self.history()?,
            &format!("since:{}", wanted.since),
            |line| {
                let Ok(Recorded { event, dialect, .. }) =
                    Recorded::read_line(line, hookwire_dialects::native())
                else {
                    return ControlFlow::Continue(());
                };
                let judged = runtime.block_on(async {
                    let (before, _) = before.host.judge_as(dialect, &event).await;
                    (before, after.host.judge_as(dialect, &event).await.0)
                });
                n_judged += 1;
                let record = parse(line).unwrap_or_default();
                from.get_or_insert_with(|| record["at"].clone());
                if judged.0.differs(&judged.1) {
                    let mut event = shown::kept_record(record);
                    event.insert("before".into(), json!(judged.0));
                    event.insert("after".into(), json!(judged.1));
                    differences.push(Value::Object(event));
                }
                if differences.len() < MAX_DIFFERENCES {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            },
        )?;
        Ok(json!({
            "judged": n_judged, "from": from, "differences": differences, "diagnostics": after.diagnostics(),
        }))
    }
}

/// Hands on the last events in the order of time, within bounds of number and time.
fn each_of_last(
    history: &History,
    query: &str,
    mut take: impl FnMut(&str) -> ControlFlow<()>,
) -> Result<(), Problem> {
    let behind = history.before_newest(MAX_LOOKED)?;
    let started = Instant::now();
    let looked = history.each_found(query, behind, |found| match take(&found.line) {
        ControlFlow::Continue(()) if started.elapsed() < LOOK_TIME => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    looked.map_err(Problem::params)
}

/// Writes what the running hosts have kept in memory.
fn catch_up(history: &History) -> Result<(), String> {
    let rows = Mutex::new(Vec::new());
    Following::new().catch_up(
        &socket::of_projects(&[]).unwrap_or_default(),
        &|run, news| {
            match news {
                News::Here(recent) => {
                    rows.lock()
                        .push((shown::run_id(run), recent.root.to_string(), Value::Null))
                }
                News::Judged(record) => {
                    let record = without_secrets(serde_json::to_value(record).unwrap_or_default());
                    let mut rows = rows.lock();
                    let id = shown::run_id(run);
                    let root = rows
                        .iter()
                        .rev()
                        .find(|(row, ..)| *row == id)
                        .map(|(_, root, _)| root.clone());
                    rows.push((id, root.unwrap_or_default(), record));
                }
                _ => {}
            }
            ControlFlow::Continue(())
        },
    );
    let rows = rows.into_inner();
    let events = rows.iter().filter(|(.., record)| !record.is_null());
    history
        .write_events(events.map(|(run, root, record)| Written { run, root, record }))
        .map(drop)
}

/// Writes what comes, and lets go what is too old.
fn write_rows(history: &History, rows: &Receiver<Row>, lost: &Lost) {
    let mut trimmed: Option<Instant> = None;
    loop {
        let mut batch = Vec::new();
        match rows.recv_timeout(TRIM) {
            Ok(row) => batch.push(row),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        batch.extend(rows.try_iter().take(AT_ONCE));
        let events = batch
            .iter()
            .map(|Row { run, root, record }| Written { run, root, record });
        if let Err(problem) = history.write_events(events) {
            tracing::warn!(problem, "Events are not recorded.");
            batch.iter().for_each(|row| lost.add_lost(&row.run, 1));
        }
        lost.note_lost(history);
        if trimmed.is_none_or(|trimmed| trimmed.elapsed() >= TRIM) {
            let gone = history
                .wishes()
                .and_then(|wishes| history.trim_events(wishes, SystemTime::now()));
            if let Err(problem) = gone {
                tracing::warn!(problem, "What is too old stays in the history.");
            }
            trimmed = Some(Instant::now());
        }
    }
}
