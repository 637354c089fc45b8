//! `hookwire tail`: what the hosts of a project judge, as it happens.

use super::output::{Output, Tone, safe, say_on_stderr, shorten_text};
use super::{Failure, Finding, find_project};
use hookwire_base::event::Event;
use hookwire_base::support::amounts::{duration, number_of};
use hookwire_base::support::json::parse;
use hookwire_base::support::nearest::{closest, did_you_mean};
use hookwire_base::transport::socket;
use hookwire_base::verdict::{Decision, Observed, Status, Would};
use hookwire_engine::canaries::FailedCase;
use hookwire_engine::journal::{Ended, Record};
use hookwire_engine::running::follow::{Following, News, Run, Take};
use hookwire_engine::running::told;
use hookwire_handlers::handlers::guards::without_secrets;
use hookwire_rules::matching::tools::main_argument;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

#[derive(clap::Args)]
pub(super) struct TailArgs {
    #[command(flatten)]
    pub(super) events: EventsArgs,
    /// Begin with so many of the events that were judged already.
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,
    /// Print nothing, and write them into `events.jsonl` in this directory, secrets replaced, for
    /// `history replay` and `test`. It begins with all that were judged already. The directory is
    /// made, for you alone, if it isn't there.
    #[arg(long, value_name = "DIR", conflicts_with = "last")]
    pub(super) record: Option<PathBuf>,
}

/// Events of running hosts.
#[derive(clap::Args)]
pub(super) struct EventsArgs {
    /// The project root of the hosts; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// Watch the hosts of all projects.
    #[arg(long, conflicts_with = "root")]
    all: bool,
    /// End with what was judged already, instead of waiting for more.
    #[arg(long)]
    pub(super) no_follow: bool,
    /// Only what wasn't simply allowed.
    #[arg(long)]
    denied: bool,
    /// Only where a hook that observes would have stopped, asked about or changed something.
    #[arg(long)]
    observed: bool,
    /// Only events that this hook was selected for.
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Only events about this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only events of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// News that wait to be printed. Until there is room for more, a host keeps what it judges.
const MAX_WAITING: usize = 256;

pub(super) fn run(args: &TailArgs, out: &mut Output) -> Result<Finding, Failure> {
    args.events.each_event(args.last, |record| {
        print_record(&record, out);
        Ok(if out.is_gone() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(Finding::Fine)
}

impl EventsArgs {
    /// Hands on each event, beginning with so many of those that were judged already, until it is
    /// told to end.
    pub(super) fn each_event(
        &self,
        last: usize,
        mut take: impl FnMut(Clean) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        if !self.root.is_dir() {
            return Err(Failure(format!(
                "--root {}: no such directory",
                self.root.display()
            )));
        }
        let keys: Vec<String> = if self.all {
            Vec::new()
        } else {
            vec![socket::key(&self.root)]
        };
        let following = Following::new();
        let past = Mutex::new(Vec::new());
        let canaries = Arc::<CanaryNews>::default();
        let notes = Mutex::new(Vec::new());
        if following.catch_up(&socket::of_projects(&keys)?, &|run, news| {
            past.lock().extend(news_line(&news));
            notes.lock().extend(canaries.line(run, &news));
            ControlFlow::Continue(())
        }) == 0
        {
            let then = if self.no_follow {
                ""
            } else {
                "; waiting for one"
            };
            say_on_stderr(format_args!("no host runs here yet{then}"));
        }
        let rows: Vec<Value> = past
            .into_inner()
            .iter()
            .filter_map(|line| parse(line).ok())
            .collect();
        let n_known = rows
            .iter()
            .filter(|row| row.get("verdict").is_some())
            .count();
        let known = self.names_in(&rows);
        let (mut rows, mut ends): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .filter(|row| self.wants_record(row))
            .partition(|row| row.get("ended").is_none());
        if n_known > 0 && rows.is_empty() {
            say_on_stderr(format_args!("{}", self.none_of(n_known, &known)));
        }
        rows.sort_by(|a, b| time_of(a).cmp(time_of(b)));
        rows.drain(..rows.len().saturating_sub(last));
        // The end of a hook is shown where its event is.
        ends.retain(|end| {
            rows.iter()
                .any(|row| row["verdict"]["eventId"] == end["ended"]["eventId"])
        });
        // A hook that has ended before its event was judged is shown behind it.
        let judged = |row: &Value| {
            Some((
                row["verdict"]["eventId"].as_str()?.to_string(),
                time_of(row).to_string(),
            ))
        };
        let judged: HashMap<String, String> = rows.iter().filter_map(judged).collect();
        rows.append(&mut ends);
        rows.sort_by_cached_key(|row| {
            let of_event = row["ended"]["eventId"]
                .as_str()
                .and_then(|id| judged.get(id));
            time_of(row)
                .max(of_event.map_or("", String::as_str))
                .to_string()
        });
        let notes = notes.into_inner();
        let notes = notes.iter().filter_map(|line| parse(line).ok());
        for row in rows.into_iter().chain(notes) {
            if take(Clean::new(row))?.is_break() {
                return Ok(());
            }
        }
        if self.no_follow {
            return Ok(());
        }
        let (sender, told) = mpsc::sync_channel(MAX_WAITING);
        let hand_on: Arc<Take<'static>> = Arc::new(move |run, news| {
            let line = news_line(&news).or_else(|| canaries.line(run, &news));
            match line.map(|line| sender.send(line)) {
                Some(Err(_)) => ControlFlow::Break(()),
                Some(Ok(())) | None => ControlFlow::Continue(()),
            }
        });
        std::thread::Builder::new()
            .name("look".into())
            .spawn(move || following.follow(|| socket::of_projects(&keys), &hand_on, || false))?;
        for row in told
            .iter()
            .filter_map(|line| parse(&line).ok())
            .filter(|row| self.wants_record(row))
        {
            if take(Clean::new(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The names that the events have of what a filter names, for a filter that fits none: hooks,
    /// tools, sessions.
    fn names_in(&self, rows: &[Value]) -> [BTreeSet<String>; 3] {
        let (mut hooks, mut tools, mut sessions) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for row in rows {
            let outcomes = row["verdict"]["outcomes"].as_array().into_iter().flatten();
            hooks.extend(
                outcomes
                    .filter_map(|outcome| outcome["hook"].as_str())
                    .map(str::to_string),
            );
            tools.extend(row["tool"].as_str().map(str::to_string));
            if self.session.is_some() {
                sessions.extend(told::event_in_part(row).map(|event| event.session().to_string()));
            }
        }
        [hooks, tools, sessions]
    }

    /// Says that none of the events fits, and which name was probably meant.
    fn none_of(&self, n_known: usize, known: &[BTreeSet<String>; 3]) -> String {
        let named = [
            ("hook", &self.hook),
            ("tool", &self.tool),
            ("session", &self.session),
        ];
        let strange = named.iter().zip(known).find_map(|((what, name), known)| {
            let name = name.as_deref().filter(|name| !known.contains(*name))?;
            let near = did_you_mean(closest(name, known.iter().map(String::as_str)));
            Some(format!(
                ": no event is of the {what} `{}`{}",
                safe(name),
                safe(&near)
            ))
        });
        format!(
            "none of the {} that were judged fits{}",
            number_of(n_known, "event"),
            strange.unwrap_or_default()
        )
    }

    fn wants_record(&self, record: &Value) -> bool {
        if record.get("lost").is_some() || record.get(NOT_DENIED).is_some() {
            return true;
        }
        if let Some(ended) = record.get("ended") {
            let is = |wanted: &Option<String>, found: &Value| {
                wanted.as_deref().is_none_or(|wanted| *found == wanted)
            };
            return (!self.denied || ended["outcome"].get("error").is_some())
                && is(&self.hook, &ended["outcome"]["hook"])
                && is(&self.tool, &ended["tool"])
                && is(&self.session, &ended["session"]);
        }
        let verdict = &record["verdict"];
        let hooks = || verdict["outcomes"].as_array().into_iter().flatten();
        let is_plain = verdict["decision"] == "allow" && verdict.get("subject").is_none();
        let fits = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        (!self.denied || !is_plain)
            && (!self.observed || hooks().any(|outcome| observed_answer(outcome).is_some()))
            && self
                .hook
                .as_ref()
                .is_none_or(|name| hooks().any(|outcome| outcome["hook"] == name.as_str()))
            && fits(&self.tool, record["tool"].as_str())
            && (self.session.is_none()
                || fits(
                    &self.session,
                    told::event_in_part(record).as_ref().map(Event::session),
                ))
    }
}

/// Cases that are to be denied and aren't, as each host has told them last.
#[derive(Default)]
struct CanaryNews(Mutex<HashMap<String, Vec<FailedCase>>>);

/// The member that has them in a line.
pub(super) const NOT_DENIED: &str = "notDenied";

impl CanaryNews {
    /// A line of JSON, if a host tells others than before.
    fn line(&self, run: &Run, news: &News<'_>) -> Option<String> {
        let failed: &[FailedCase] = match news {
            News::Here(recent) => &recent.canaries.as_ref()?.failed,
            News::Changed(changed) => &changed.not_denied,
            News::Judged(_)
            | News::Ended(_)
            | News::Lost(_)
            | News::Standing(_)
            | News::Questions
            | News::Gone => return None,
        };
        let mut told = self.0.lock();
        let before = told
            .entry(format!("{}@{}", run.pid, run.started))
            .or_default();
        if before == failed {
            return None;
        }
        *before = failed.to_vec();
        Some(json!({ NOT_DENIED: failed }).to_string())
    }
}

/// The cases of a line of [`CanaryNews`].
fn print_not_denied(failed: &Value, out: &mut Output) {
    let failed = Vec::<FailedCase>::deserialize(failed).unwrap_or_default();
    if failed.is_empty() {
        out.line(&out.tone(
            Tone::Good,
            "every case that is to be denied is denied again",
        ));
    }
    for case in failed {
        out.line(&out.tone(Tone::Bad, &safe(&case.describe())));
    }
}

/// The answer that a hook which only observes would have given, unless that is an allow.
fn observed_answer(outcome: &Value) -> Option<Observed> {
    let observed = Observed::deserialize(outcome.get("observed")?).ok()?;
    Some(observed).filter(|it| it.would() != Would::Allow)
}

/// A record of an event without secrets: what is printed or written of one, and nothing else is.
pub(super) struct Clean(Value);

impl Clean {
    pub(super) fn new(record: Value) -> Clean {
        Clean(without_secrets(record))
    }

    pub(super) fn value(&self) -> &Value {
        &self.0
    }
}

/// News as a line of JSON: a record as it is, the rest behind a name that no record has.
fn news_line(news: &News<'_>) -> Option<String> {
    match news {
        News::Judged(record) => record_line(record),
        News::Ended(ended) => ended_line(ended),
        News::Lost(lost) => Some(json!({ "lost": lost }).to_string()),
        News::Here(_) | News::Standing(_) | News::Changed(_) | News::Questions | News::Gone => None,
    }
}

pub(super) fn record_line(record: &Record<'_>) -> Option<String> {
    serde_json::to_string(record).ok()
}

pub(super) fn ended_line(ended: &Ended) -> Option<String> {
    Some(json!({ "ended": ended }).to_string())
}

/// When something happened, as a text that sorts.
fn time_of(row: &Value) -> &str {
    row["at"]
        .as_str()
        .or(row["ended"]["at"].as_str())
        .unwrap_or_default()
}

/// The time of day; the whole is in the JSON.
fn time_of_day(at: &Value) -> String {
    at.as_str()
        .map(safe)
        .unwrap_or_default()
        .get(11..23)
        .unwrap_or_default()
        .to_string()
}

/// Time, event and tool; the `async` hook, what it ended in, why, how long it took.
fn print_end(ended: &Value, out: &mut Output) {
    let text = |value: &Value| value.as_str().map(safe).unwrap_or_default();
    let head = [
        time_of_day(&ended["at"]),
        text(&ended["event"]),
        text(&ended["tool"]),
    ];
    out.line(
        &head
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("  "),
    );
    let outcome = &ended["outcome"];
    let (tone, word) = if outcome.get("error").is_some() {
        (Tone::Bad, "failed")
    } else {
        (Tone::Good, "ended well")
    };
    let why = [&outcome["error"], &outcome["reason"]]
        .into_iter()
        .find_map(Value::as_str);
    let why = why
        .map(|why| format!(": {}", shorten_text(why, 200)))
        .unwrap_or_default();
    let took = out.tone(
        Tone::Dim,
        &format!(
            "  {}",
            duration(outcome["durationMicros"].as_u64().unwrap_or_default())
        ),
    );
    out.line(&format!(
        "  {} {}{why}{took}",
        text(&outcome["hook"]),
        out.tone(tone, word)
    ));
}

/// The longest line of a tree of programs.
const TREE_WIDTH: usize = 60;

/// Where in the tree of programs one starts: `below make, sh`, the nearest first.
fn describe_ancestors(event: &Event) -> String {
    let names = told::parents(event);
    if names.is_empty() {
        String::new()
    } else {
        format!("below {}", names.join(", "))
    }
}

/// A program that starts in its place in the tree, in lines for a terminal.
pub(crate) fn program_tree(event: &Event) -> Vec<String> {
    told::tree(event)
        .iter()
        .map(|(depth, line)| {
            format!(
                "{}{}",
                "  ".repeat(*depth),
                shorten_text(line, TREE_WIDTH - 2 * depth)
            )
        })
        .collect()
}

/// Time, agent, event, what it is about; verdict, who decided, why, how long.
pub(super) fn print_record(record: &Clean, out: &mut Output) {
    let record = record.value();
    if out.json {
        return out.json(record);
    }
    if let Some(lost) = record["lost"].as_u64() {
        let lost = number_of(usize::try_from(lost).unwrap_or(usize::MAX), "event");
        let whose = record["of"]["host"]
            .as_str()
            .map(|host| format!(" by {}", safe(host)))
            .unwrap_or_default();
        let why = match whose.is_empty() {
            true => "they came faster than they were read",
            false => "they came faster than they were read, or its disk was full",
        };
        return out.line(&out.tone(Tone::Warn, &format!("{lost} lost{whose}: {why}")));
    }
    if let Some(ended) = record.get("ended") {
        return print_end(ended, out);
    }
    if let Some(failed) = record.get(NOT_DENIED) {
        return print_not_denied(failed, out);
    }
    let text = |value: &Value| value.as_str().map(safe).unwrap_or_default();
    let verdict = &record["verdict"];
    let event = told::event_in_part(record);
    let tool = record["tool"].as_str().unwrap_or_default();
    let about = told::about(record, event.as_ref()).unwrap_or_default();
    let head = [
        time_of_day(&record["at"]),
        // Of a fleet, whose hosts have names.
        text(&record["of"]["host"]),
        safe(&told::sender(record, event.as_ref())),
        text(&record["event"]),
        safe(tool),
        shorten_text(&about, 100),
        event.as_ref().map(describe_ancestors).unwrap_or_default(),
    ];
    let head: Vec<String> = head.into_iter().filter(|part| !part.is_empty()).collect();
    out.line(&head.join("  "));
    let decision = verdict["decision"].as_str().unwrap_or_default();
    // A start that goes on needs no more than the line above.
    for line in event
        .iter()
        .filter(|it| it.spec.start && decision != "allow")
        .flat_map(program_tree)
    {
        out.line(&out.tone(Tone::Dim, &format!("    {line}")));
    }
    let tone = Decision::from_word(decision).map_or(Tone::Warn, Tone::of_decision);
    let micros: u64 = verdict["outcomes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["durationMicros"].as_u64())
        .sum();
    let mut line = format!("  {}", out.tone(tone, decision));
    if let Some(by) = verdict["decidedBy"].as_str() {
        line.push_str(&format!(" by {}", safe(by)));
    }
    if let Some(subject) = verdict.get("subject") {
        let outcomes = verdict["outcomes"].as_array().into_iter().flatten();
        let by: Vec<_> = outcomes
            .filter(|outcome| outcome["rewrote"] == true)
            .map(|outcome| text(&outcome["hook"]))
            .collect();
        let what = main_argument(tool, subject)
            .map(|(_, text)| text.into_owned())
            .unwrap_or_else(|| subject.to_string());
        line.push_str(&format!(
            ", rewritten by {}: {}",
            by.join(", "),
            shorten_text(&what, 100)
        ));
    }
    if let Some(reason) = verdict["reason"].as_str() {
        line.push_str(&format!(": {}", shorten_text(reason, 200)));
    }
    let time = out.tone(Tone::Dim, &format!("  {}", duration(micros)));
    out.line(&(line + &time));
    for outcome in verdict["outcomes"].as_array().into_iter().flatten() {
        if outcome["status"] == Status::Started.as_str() {
            out.line(&out.tone(
                Tone::Dim,
                &format!("  {} started, nobody waits for it", text(&outcome["hook"])),
            ));
        }
        if let Some(observed) = observed_answer(outcome) {
            let would = out.tone(
                Tone::Warn,
                &format!("would {} (observe)", observed.would().as_str()),
            );
            let why = observed
                .reason
                .map(|why| format!(": {}", shorten_text(&why, 200)))
                .unwrap_or_default();
            out.line(&format!("  {} {would}{why}", text(&outcome["hook"])));
        }
        for (key, word) in [("error", "failed"), ("opaque", "in doubt")] {
            let reason = verdict["reason"].as_str().unwrap_or_default();
            if let Some(why) = outcome[key].as_str().filter(|why| !reason.contains(why)) {
                let hook = text(&outcome["hook"]);
                out.line(&format!(
                    "  {} {}: {}",
                    hook,
                    out.tone(Tone::Warn, word),
                    shorten_text(why, 200)
                ));
            }
        }
    }
    for error in verdict["errors"].as_array().into_iter().flatten() {
        out.line(&format!("  {}", out.tone(Tone::Bad, &text(error))));
    }
}
