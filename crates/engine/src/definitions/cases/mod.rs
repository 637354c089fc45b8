//! Cases of a definition file: events, and what its hooks are to say about them.
//!
//! `guard.test.yaml` beside `guard.yaml` is read by this file and never taken for definitions. It
//! holds a list of cases, each on a line:
//!
//! ```yaml
//! fakes: { models: { judge: { decision: deny, reason: It drops a table. } } }
//! cases:
//!   - { bash: git push -f, expect: deny, reason: Force pushes are off }
//!   - { write: src/a.ts, content: x, expect: allow }
//!   - { event: { event: Stop }, cwd: failing, expect: deny }
//!   - { bash: npm i, expect: { command: pnpm i } }
//!   - { bash: ls, before: [{ bash: ls, times: 2 }], expect: deny }
//!   - { bash: ls, before: [{ bash: ls, times: 2 }], wait: 61s, expect: allow }
//!   - { recorded: "week.jsonl:12", expect: deny }
//!   - { bash: git push, fakes: { person: approve }, expect: allow }
//!   - { bash: git push -f, expect: deny, outcomes: { no-force-push: deny, audit: ran } }
//! ```
//!
//! Beside `cases` it may say how to set the scene (`setup`, a text for `sh -c`), what answers
//! instead of models, web services and people (`fakes`), and what the definitions are there to stop
//! (`act`, a regular expression), for those who hold them against other commands. Running the cases
//! is up to the caller.

mod beside;
mod expected;
mod in_force;
mod untried;

pub use beside::{Beside, Reach, beside, reach};
pub use expected::{CameOut, Expected, Part};
pub use in_force::{CaseFile, Looks, case_files, looks_of_cases};
pub use untried::untried;

use expected::RawExpected;
use hookwire_base::event::Event;
use hookwire_base::support::file;
use hookwire_base::support::os_error::in_words;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::{DecodeError, Node, NodeValue, Span, decode};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::verdict::Would;
use hookwire_dialects::recorded::Recorded;
use hookwire_dialects::{self as dialects, Dialect, NATIVE};
use hookwire_handlers::services::fakes::Answers;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The cases of one definition file.
#[derive(Debug)]
pub struct Cases {
    /// Matches the commands that the definitions are there to stop.
    pub act: Option<Regex>,
    /// Run once by `sh -c`, in the empty directory in which the cases take place.
    pub setup: Option<String>,
    /// In the order of the file.
    pub cases: Vec<Case>,
}

/// One event, the events before it, and what is expected.
#[derive(Debug)]
pub struct Case {
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// Its name, else its command, path or event.
    pub name: String,
    /// Answers that stand for models, services and people.
    pub fakes: Answers,
    before: Vec<Step>,
    step: Step,
    expected: Option<Expected>,
    /// A part of the verdict's reason.
    reason: Option<String>,
    /// A part of what a hook says about its failure, which decides in its direction.
    failure: Option<String>,
    /// The word that must be true of each hook, by the hook's name.
    outcomes: BTreeMap<String, Part>,
    /// The strongest decision of the hooks that only observe.
    observed: Option<Would>,
}

#[derive(Debug)]
struct Step {
    source: EventSource,
    cwd: Option<String>,
    /// The time that passes before it.
    wait: Duration,
    times: usize,
}

#[derive(Debug)]
enum EventSource {
    Written(Value, &'static Dialect),
    /// A line of a file, counted from 1.
    Recorded {
        file: PathBuf,
        line: usize,
        dialect: &'static Dialect,
    },
}

/// Where and for whom cases take place.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The working directory.
    pub dir: &'a Path,
    /// The directory that `~` stands for.
    pub home: &'a Path,
    /// The directory of the file of cases, where recorded sessions are looked for.
    pub files: &'a Path,
    /// A session of its own.
    pub session: &'a str,
}

/// An event of a case, as it is to be judged.
#[derive(Debug)]
pub struct Happening {
    pub event: Event,
    /// The vocabulary in which it was sent.
    pub dialect: &'static Dialect,
    /// The time that passes before it.
    pub wait: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    act: Option<String>,
    setup: Option<String>,
    #[serde(default)]
    fakes: Answers,
    // Decoded one by one, so that each mistake is found.
    #[serde(rename = "cases")]
    _cases: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawCase {
    name: Option<String>,
    bash: Option<String>,
    write: Option<String>,
    edit: Option<String>,
    read: Option<String>,
    fetch: Option<String>,
    event: Option<Value>,
    recorded: Option<String>,
    dialect: Option<String>,
    content: Option<String>,
    cwd: Option<String>,
    times: Option<usize>,
    wait: Option<RawDuration>,
    before: Vec<RawCase>,
    fakes: Answers,
    expect: Option<RawExpected>,
    reason: Option<String>,
    failure: Option<String>,
    outcomes: BTreeMap<String, Part>,
    observed: Option<Would>,
}

/// Whether a file holds cases by its name: `*.test.yaml`, or the same in another format.
pub fn is_cases_file(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    Format::from_path(path).is_some()
        && stem.is_some_and(|stem| stem.to_ascii_lowercase().ends_with(".test"))
}

/// Whether a file holds definitions by its name.
pub fn is_definition_file(path: &Path) -> bool {
    Format::from_path(path).is_some() && !is_cases_file(path)
}

/// The definitions that a file of cases is about: the file of that name, else all in the directory.
pub fn subject(file: &Path) -> PathBuf {
    subject_among(file, Path::is_file)
}

/// The same where `is_file` says which files there are.
fn subject_among(file: &Path, is_file: impl Fn(&Path) -> bool) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    let bare = Path::new(stem).with_extension("");
    let extensions = Format::ALL.iter().flat_map(|format| format.extensions());
    let mut twins =
        extensions.map(|extension| file.with_file_name(&bare).with_extension(extension));
    twins
        .find(|path| is_file(path))
        .unwrap_or_else(|| directory(file).to_path_buf())
}

/// The directory that a file is in.
pub fn directory(file: &Path) -> &Path {
    file.parent()
        .filter(|it| !it.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Reads a file of cases. The name's extension tells the format, YAML if it tells none.
///
/// # Errors
/// Every mistake with its place.
pub fn read(file: &str, text: &str) -> Result<Cases, Vec<Diagnostic>> {
    let cases = read_unfinished(file, text)?;
    let lacking = cases.1.iter().map(|span| {
        let expected = "`expect` is missing: deny, ask, allow, doubt, or a map with `command`, `subject` or `context`";
        wrong(span, expected).help("`hookwire test --update` writes what comes out")
    });
    let lacking: Vec<Diagnostic> = lacking
        .map(|it| it.to_diagnostic(file, &LineIndex::new(text)))
        .collect();
    if lacking.is_empty() {
        Ok(cases.0)
    } else {
        Err(lacking)
    }
}

/// Reads a file whose cases may not say yet what is expected; gives the places of such cases, too.
pub fn read_unfinished(file: &str, text: &str) -> Result<(Cases, Vec<Span>), Vec<Diagnostic>> {
    let lines = LineIndex::new(text);
    let format = Format::from_path(Path::new(file)).unwrap_or_default();
    let cases = formats::parse(text, format).and_then(|root| from_root(&root, &lines));
    cases.map_err(|problems| {
        problems
            .iter()
            .map(|problem| problem.to_diagnostic(file, &lines))
            .collect()
    })
}

/// The nodes of the cases.
pub fn items(root: &Node) -> Option<&[Node]> {
    match &root.get("cases")?.value {
        NodeValue::Seq(items) => Some(items),
        _ => None,
    }
}

fn from_root(root: &Node, lines: &LineIndex<'_>) -> Result<(Cases, Vec<Span>), Vec<Problem>> {
    if let NodeValue::Seq(_) = &root.value {
        return Err(vec![
            wrong(&root.span, "expected a map, found a list").help("write `cases:` above the list"),
        ]);
    }
    let raw: RawFile = decode(root).map_err(|error| vec![mistake(error)])?;
    let Some(items) = items(root) else {
        return Err(vec![wrong(&root.span, "a list of `cases` is expected")]);
    };
    let mut problems = Vec::new();
    let mut cases = Vec::new();
    let mut lacking = Vec::new();
    for item in items {
        match case(item, lines, &raw.fakes) {
            Ok(case) => {
                lacking.extend(case.expected.is_none().then(|| item.span.clone()));
                cases.push(case);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let place = |key: &str| {
        root.get(key)
            .map_or(root.span.clone(), |node| node.span.clone())
    };
    let act = raw
        .act
        .map(|act| Regex::new(&act).map_err(|error| wrong(&place("act"), &error.to_string())));
    let act = act
        .transpose()
        .map_err(|problem| problems.push(problem))
        .ok()
        .flatten();
    if problems.is_empty() {
        Ok((
            Cases {
                act,
                setup: raw.setup,
                cases,
            },
            lacking,
        ))
    } else {
        Err(problems)
    }
}

fn case(node: &Node, lines: &LineIndex<'_>, fakes: &Answers) -> Result<Case, Problem> {
    let raw: RawCase = decode(node).map_err(mistake)?;
    let at = |problem: String| wrong(&node.span, &problem);
    let place = |key: &str| {
        node.get(key)
            .map_or(node.span.clone(), |node| node.span.clone())
    };
    let expected = raw.expect.as_ref().map(Expected::new).transpose();
    let expected = expected.map_err(|problem| wrong(&place("expect"), &problem))?;
    if raw.times.is_some() {
        return Err(wrong(
            &place("times"),
            "`times` is for the events in `before`",
        ));
    }
    let has_reason = expected.as_ref().is_none_or(Expected::has_reason);
    if raw.reason.is_some() && !has_reason {
        return Err(wrong(
            &place("reason"),
            "only what isn't allowed has a reason",
        ));
    }
    let mut before = Vec::new();
    for step in &raw.before {
        let expects = step.expect.is_some() || step.reason.is_some() || step.failure.is_some();
        let expects = expects || !step.outcomes.is_empty() || step.observed.is_some();
        if expects || !step.before.is_empty() {
            return Err(wrong(
                &place("before"),
                "of an event in `before`, nothing is expected",
            ));
        }
        before.push(
            step.step()
                .map_err(|problem| wrong(&place("before"), &problem))?,
        );
    }
    let mut n_events: usize = 0;
    for (n, step) in before.iter().enumerate() {
        n_events = n_events.saturating_add(step.times);
        if n_events > MAX_BEFORE {
            let times = node
                .get("before")
                .and_then(|it| it.items().get(n)?.get("times"));
            let span = times.map_or(place("before"), |it| it.span.clone());
            return Err(wrong(
                &span,
                &format!("at most {MAX_BEFORE} events come before, here are {n_events}"),
            ));
        }
    }
    let step = raw.step().map_err(at)?;
    let name = raw.name.clone().unwrap_or_else(|| raw.about());
    let line = lines.position(node.span.start).line;
    let fakes = raw.fakes.or(fakes);
    let RawCase {
        reason,
        failure,
        outcomes,
        observed,
        ..
    } = raw;
    Ok(Case {
        line,
        name,
        fakes,
        before,
        step,
        expected,
        reason,
        failure,
        outcomes,
        observed,
    })
}

fn wrong(span: &Span, message: &str) -> Problem {
    Problem::error(span, "case", message)
}

fn mistake(error: DecodeError) -> Problem {
    let suggestion = error
        .suggestion()
        .map(|right| format!("did you mean `{right}`?"));
    let problem = wrong(&error.span, &error.to_string());
    let help = suggestion.or(error.help);
    help.map_or(problem.clone(), |help| problem.help(help))
}

impl RawCase {
    /// The event in a few words.
    fn about(&self) -> String {
        let words = [
            ("", &self.bash),
            ("write ", &self.write),
            ("edit ", &self.edit),
            ("read ", &self.read),
            ("fetch ", &self.fetch),
            ("", &self.recorded),
        ];
        let word = words
            .iter()
            .find_map(|(verb, what)| Some(format!("{verb}{}", what.as_ref()?)));
        word.unwrap_or_else(|| {
            self.event
                .as_ref()
                .map(Value::to_string)
                .unwrap_or_default()
        })
    }

    fn step(&self) -> Result<Step, String> {
        let native = dialects::native();
        let tool = |name: &str, input: Value| {
            let event = json!({"event": "PreToolUse", "tool": {"name": name, "input": input}});
            Ok(EventSource::Written(event, native))
        };
        let content = self.content.as_deref().unwrap_or_default();
        let dialect = dialects::by_name(self.dialect.as_deref().unwrap_or(NATIVE))
            .map_err(|it| it.to_string())?;
        let forms = [
            self.bash
                .as_ref()
                .map(|it| tool("Bash", json!({"command": it}))),
            self.write
                .as_ref()
                .map(|it| tool("Write", json!({"file_path": it, "content": content}))),
            self.edit.as_ref().map(|it| {
                tool(
                    "Edit",
                    json!({"file_path": it, "old_string": "", "new_string": content}),
                )
            }),
            self.read
                .as_ref()
                .map(|it| tool("Read", json!({"file_path": it}))),
            self.fetch
                .as_ref()
                .map(|it| tool("WebFetch", json!({"url": it}))),
            self.event
                .as_ref()
                .map(|it| Ok(EventSource::Written(it.clone(), dialect))),
            self.recorded.as_ref().map(|it| recorded(it, dialect)),
        ];
        let mut forms = forms.into_iter().flatten();
        let (Some(source), None) = (forms.next(), forms.next()) else {
            return Err("a case has one of `bash`, `write`, `edit`, `read`, `fetch`, `event` and `recorded`".into());
        };
        if self.content.is_some() && self.write.is_none() && self.edit.is_none() {
            return Err("`content` is for `write` and `edit`".into());
        }
        if self.dialect.is_some() && self.event.is_none() && self.recorded.is_none() {
            return Err("`dialect` is for `event` and `recorded`".into());
        }
        let source = source?;
        if let EventSource::Written(event, dialect) = &source {
            dialect
                .read_event(event.clone())
                .map_err(|problem| problem.to_string())?;
        }
        let wait = self.wait.map(RawDuration::get).unwrap_or_default();
        Ok(Step {
            source,
            cwd: self.cwd.clone(),
            wait,
            times: self.times.unwrap_or(1),
        })
    }
}

/// Where a recorded event stands, as `FILE:LINE`.
fn recorded(place: &str, dialect: &'static Dialect) -> Result<EventSource, String> {
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    match line.parse() {
        Ok(line) if line > 0 && !file.is_empty() => Ok(EventSource::Recorded {
            file: file.into(),
            line,
            dialect,
        }),
        _ => Err(format!(
            "`recorded` is a file and a line, such as `session.jsonl:3`, found `{place}`"
        )),
    }
}

/// Events that may come before the one that a case is about: all are held at once.
const MAX_BEFORE: usize = 10_000;

/// How much of a recorded session is read for one event, in bytes.
const MAX_SESSION: u64 = 256 * 1024 * 1024;

impl Step {
    fn event(&self, scene: &Scene<'_>) -> Result<(Event, &'static Dialect), String> {
        let (mut event, dialect) = match &self.source {
            EventSource::Written(event, dialect) => (
                dialect
                    .read_event(event.clone())
                    .map_err(|error| error.to_string())?,
                *dialect,
            ),
            EventSource::Recorded {
                file,
                line,
                dialect,
            } => {
                let place = format!("{}:{line}", file.display());
                let failed = |error: String| format!("{place}: {error}");
                let path = scene.files.join(file);
                let unopened = |error| match std::path::absolute(&path) {
                    Ok(path) => failed(format!("{error}, at {}", path.display())),
                    Err(_) => failed(error),
                };
                let (opened, _) = file::open(&path).map_err(|error| unopened(in_words(&error)))?;
                let mut lines = BufReader::new(opened.take(MAX_SESSION)).lines();
                let text = lines
                    .nth(line - 1)
                    .ok_or_else(|| failed("the file has fewer lines".into()))?;
                let text = text.map_err(|error| failed(error.to_string()))?;
                let Recorded { event, dialect, .. } =
                    Recorded::read_line(&text, dialect).map_err(failed)?;
                (event, dialect)
            }
        };
        let is_recorded = matches!(self.source, EventSource::Recorded { .. });
        let given = self.cwd.as_deref().or(event.text("/cwd"));
        let cwd = given.map_or(scene.dir.to_path_buf(), |cwd| scene.dir.join(cwd));
        event.change(|data| {
            data["cwd"] = cwd.to_string_lossy().into();
            // Each case has a session of its own, so that counts of one don't go on in the next.
            if is_recorded || data.get("session").is_none() {
                data["session"] = scene.session.into();
            }
            if let Some(Value::String(path)) = data.pointer_mut("/tool/input/file_path")
                && let Some(inner) = path.strip_prefix("~/")
            {
                *path = scene.home.join(inner).to_string_lossy().into_owned();
            }
        });
        Ok((event, dialect))
    }
}

impl Case {
    /// The hooks of which it says something by their names, and where.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let models = self.fakes.hooks_with_models().map(|hook| ("fakes", hook));
        models.chain(self.outcomes.keys().map(|hook| ("outcomes", &**hook)))
    }

    /// The verdict that it expects, unless that isn't written yet.
    pub fn expected(&self) -> Option<&Expected> {
        self.expected.as_ref()
    }

    /// Whether it is to be denied.
    pub fn is_deny(&self) -> bool {
        matches!(self.expected, Some(Expected::Deny))
    }

    /// Whether it is about one event alone, which can take place at once.
    pub fn is_single(&self) -> bool {
        self.before.is_empty() && self.step.wait.is_zero()
    }

    /// The events of the case, each once, however often it takes place. A recorded one that isn't
    /// there is left out.
    pub fn events(&self, scene: &Scene<'_>) -> impl Iterator<Item = Event> {
        self.before
            .iter()
            .chain([&self.step])
            .filter_map(|step| step.event(scene).ok())
            .map(|(event, _)| event)
    }

    /// The events of the case in order; the last one is the one that is judged. They take place in
    /// a session of their own. A path that begins with `~/` is one of the home directory.
    ///
    /// # Errors
    /// A recorded event isn't there, or is none.
    pub fn happenings(&self, scene: &Scene<'_>) -> Result<Vec<Happening>, String> {
        let mut happenings = Vec::new();
        for step in self.before.iter().chain([&self.step]) {
            for _ in 0..step.times {
                // Read anew each time, because each event has an identity of its own.
                let (event, dialect) = step.event(scene)?;
                happenings.push(Happening {
                    event,
                    dialect,
                    wait: step.wait,
                });
            }
        }
        Ok(happenings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_placed() {
        for (text, line, says) in [
            ("cases: [", 1, ""),
            ("{}", 1, "a list of `cases`"),
            ("case: []", 1, "unknown field `case`"),
            ("act: '['\ncases: []", 1, "regex"),
            ("cases:\n  - { bash: ls }", 2, "`expect` is missing"),
            (
                "cases:\n  - { bash: ls, expect: denied }",
                2,
                "found `denied`",
            ),
            (
                "cases:\n  - { bsah: ls, expect: deny }",
                2,
                "unknown field `bsah`",
            ),
            (
                "cases:\n  - { bash: ls, read: a, expect: deny }",
                2,
                "one of `bash`",
            ),
            ("cases:\n  - { expect: deny }", 2, "one of `bash`"),
            (
                "cases:\n  - { bash: ls, content: a, expect: deny }",
                2,
                "`content` is for",
            ),
            (
                "cases:\n  - { bash: ls, times: 2, expect: deny }",
                2,
                "`times` is for",
            ),
            (
                "cases:\n  - bash: ls\n    before:\n      - { bash: a }\n      - { bash: b, times: 200000000 }",
                5,
                "at most 10000 events come before, here are 200000001",
            ),
            (
                "cases:\n  - { bash: ls, expect: deny, outcomes: { a: denied } }",
                2,
                "unknown value `denied`",
            ),
            (
                "cases:\n  - { bash: ls, expect: allow, reason: x }",
                2,
                "has a reason",
            ),
            (
                "cases:\n  - { bash: ls, expect: { command: a, context: b } }",
                2,
                "one of `command`",
            ),
            (
                "cases:\n  - { recorded: week.jsonl, expect: deny }",
                2,
                "such as `session.jsonl:3`",
            ),
            (
                "cases:\n  - { bash: ls, dialect: codex, expect: deny }",
                2,
                "`dialect` is for",
            ),
            (
                "cases:\n  - { event: { event: Stop }, dialect: x, expect: deny }",
                2,
                "unknown dialect `x`",
            ),
            (
                "cases:\n  - { bash: ls, wait: soon, expect: deny }",
                2,
                "a duration such as",
            ),
            (
                "fakes:\n  person: yes\ncases: []",
                2,
                "approve, deny, silent",
            ),
            (
                "fakes:\n  http:\n    http://a:\n      stauts: 3\ncases: []",
                4,
                "unknown field `stauts`",
            ),
            (
                "cases:\n  - bash: ls\n    fakes: { models: { a: { reason: x } } }\n    expect: deny",
                3,
                "a model says",
            ),
            (
                "cases:\n  - { bash: ls, before: [{ bash: ls, expect: deny }], expect: deny }",
                2,
                "nothing is expected",
            ),
            (
                "cases:\n  - { event: { event: PreTolUse }, expect: deny }",
                2,
                "unknown event `PreTolUse`",
            ),
            (
                "cases:\n  - { bash: ls, expect: deny }\n  - { bash: 3, expect: deny }",
                3,
                "expected a string",
            ),
        ] {
            let problems = read("a.test.yaml", text).unwrap_err();
            let first = &problems[0];
            assert_eq!(
                (problems.len(), first.range.start.line),
                (1, line),
                "{text}: {first:?}"
            );
            assert!(first.message.contains(says), "{text}: {}", first.message);
        }
    }

    #[test]
    fn a_case_becomes_events() {
        let dir = tempfile::tempdir().unwrap();
        let line = r#"{"hook_event_name": "Stop", "session_id": "s9", "cwd": "/there"}"#;
        std::fs::write(dir.path().join("s.jsonl"), format!("\n{line}\n")).unwrap();
        let text = "cases:
  - { read: ~/a, cwd: sub, before: [{ bash: ls, times: 2, wait: 3s }, { recorded: 's.jsonl:2', dialect: claude-code }], expect: deny }
  - { recorded: 's.jsonl:7', expect: deny }";
        let cases = read("a.test.yaml", text).unwrap().cases;
        let scene = Scene {
            dir: Path::new("/d"),
            home: Path::new("/home/u"),
            files: dir.path(),
            session: "s1",
        };
        let events = cases[0].happenings(&scene).unwrap();
        let told: Vec<_> = events
            .iter()
            .map(|it| (&*it.event.name, it.dialect.name(), it.wait.as_secs()))
            .collect();
        let ls = ("PreToolUse", "native", 3);
        assert_eq!(
            told,
            [
                ls,
                ls,
                ("Stop", "claude-code", 0),
                ("PreToolUse", "native", 0)
            ]
        );
        assert_ne!(events[0].event.id, events[1].event.id);
        let recorded = events[2].event.data();
        assert_eq!(
            (&recorded["session"], &recorded["cwd"]),
            (&json!("s1"), &json!("/there"))
        );
        let last = json!({"event": "PreToolUse", "session": "s1", "cwd": "/d/sub", "tool": {"name": "Read", "input": {"file_path": "/home/u/a"}}});
        assert_eq!(
            (events[3].event.data(), &*cases[0].name, cases[0].line),
            (&last, "read ~/a", 2)
        );
        assert_eq!(
            cases[1].happenings(&scene).unwrap_err(),
            "s.jsonl:7: the file has fewer lines"
        );
    }

    #[test]
    fn cases_are_no_definitions() {
        for (name, is_cases, is_definition) in [
            ("a.yaml", false, true),
            ("a.test.yaml", true, false),
            ("d/a.TEST.YML", true, false),
            ("a.test.json", true, false),
            ("test.yaml", false, true),
            ("a.test", false, false),
        ] {
            let path = Path::new(name);
            assert_eq!(
                (is_cases_file(path), is_definition_file(path)),
                (is_cases, is_definition),
                "{name}"
            );
        }
    }
}
