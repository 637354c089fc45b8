//! `hookwire test`: the cases beside definitions, judged by those definitions.

use super::output::{Output, Tone, safe};
use super::serve::runtime;
use super::{Failure, Finding};
use crate::definitions::cases::{self, Case, Cases};
use crate::event::Event;
use crate::hook::Condition;
use crate::hook_set::HookSet;
use crate::host::Host;
use crate::matching::Facts;
use crate::syntax::formats::Format;
use crate::verdict::{Decision, Outcome, Verdict};
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Runtime;

#[derive(clap::Args)]
pub(super) struct TestArgs {
    /// Files of cases, and directories that hold some. Without any, .hookwire.
    paths: Vec<PathBuf>,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Tell which rules of `if` and `unless`, which sides of `when` and which failures no case reaches.
    #[arg(long)]
    coverage: bool,
    /// Try the cases again whenever a file beside them changes.
    #[arg(long)]
    watch: bool,
    /// How the results are told.
    #[arg(long, value_enum, default_value_t = Report::Text)]
    report: Report,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Report {
    /// For people: what isn't as expected.
    Text,
    /// The Test Anything Protocol.
    Tap,
    /// The XML that continuous integration reads.
    Junit,
}

/// What came of the cases of one file.
struct Tested {
    file: String,
    results: Vec<Tried>,
    /// Hooks that no case has reached.
    untouched: Vec<Arc<str>>,
    /// With `--coverage`: what of their conditions no case has reached.
    coverage: Option<Coverage>,
}

/// Each hook's rules, sides of `when` and failures, and whether a case has reached them.
#[derive(Default)]
struct Coverage(BTreeMap<(Arc<str>, String), bool>);

impl Coverage {
    /// Notes what an event and its verdict reach of every hook.
    fn note(&mut self, hooks: &HookSet, facts: &Facts, verdict: &Verdict) {
        for hook in &hooks.hooks {
            let mut reach = |part: String, is_reached: bool| {
                *self.0.entry((hook.name.clone(), part)).or_default() |= is_reached;
            };
            let applies = hook.applies(facts);
            let is_asked = matches!(applies, Ok(_) | Err(Condition::Rule | Condition::When));
            for (field, rule, found) in hook.rules(facts) {
                reach(format!("{field}: {}", rule.text()), is_asked && found.holds != Some(false));
            }
            if hook.when.is_some() {
                reach("when: true".into(), applies.is_ok());
                reach("when: false".into(), matches!(applies, Err(Condition::When)));
            }
            if let (None, Some(fail)) = (hook.handler.fixed(), hook.fail) {
                let has_failed = |it: &Outcome| it.hook == hook.name && it.error.is_some();
                reach(format!("fail: {}", fail.as_str()), verdict.outcomes.iter().any(has_failed));
            }
        }
    }

    fn unreached(&self) -> impl Iterator<Item = &(Arc<str>, String)> {
        self.0.iter().filter(|(_, is_reached)| !**is_reached).map(|(part, _)| part)
    }
}

struct Tried {
    name: String,
    line: usize,
    took: Duration,
    mismatch: Option<String>,
}

pub(super) fn run(args: &TestArgs, out: &mut Output) -> Result<Finding, Failure> {
    let runtime = runtime()?;
    let given = if args.paths.is_empty() { &[PathBuf::from(".hookwire")][..] } else { &args.paths };
    if !args.watch {
        return once(given, args, &runtime, out);
    }
    loop {
        let before = stamps(given);
        if let Err(Failure(problem)) = once(given, args, &runtime, out) {
            eprintln!("hookwire: {problem}");
        }
        eprintln!("hookwire: waiting for a change; Ctrl-C ends it");
        while stamps(given) == before {
            std::thread::sleep(PAUSE);
        }
    }
}

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// What is beside the given files and in the given directories: each file with its time and length.
fn stamps(given: &[PathBuf]) -> BTreeSet<(PathBuf, Option<SystemTime>, u64)> {
    fn look(dir: &Path, depth: usize, found: &mut BTreeSet<(PathBuf, Option<SystemTime>, u64)>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, about) = (entry.path(), entry.metadata());
            match about {
                Ok(about) if about.is_dir() && depth < MAX_DEPTH => look(&path, depth + 1, found),
                Ok(about) => drop(found.insert((path, about.modified().ok(), about.len()))),
                Err(_) => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    for path in given {
        let dir = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(Path::new(".")) };
        look(if dir.as_os_str().is_empty() { Path::new(".") } else { dir }, 0, &mut found);
    }
    found
}

fn once(given: &[PathBuf], args: &TestArgs, runtime: &Runtime, out: &mut Output) -> Result<Finding, Failure> {
    let mut files = BTreeSet::new();
    for path in given {
        collect(path, &mut files, 0).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    }
    if files.is_empty() {
        let given: Vec<_> = given.iter().map(|path| path.display().to_string()).collect();
        let given = given.join(", ");
        return Err(Failure(format!("{given}: no cases; write them beside `guard.yaml` into `guard.test.yaml`")));
    }
    let mut tested = Vec::new();
    for file in files {
        tested.push(test(&file, args, runtime)?);
    }
    match args.report {
        _ if out.json => tested.iter().for_each(|it| it.json(out)),
        Report::Text => text(&tested, out),
        Report::Tap => out.bytes(tap(&tested).as_bytes()),
        Report::Junit => out.bytes(junit(&tested).as_bytes()),
    }
    let failed = tested.iter().any(|it| it.results.iter().any(|it| it.mismatch.is_some()));
    Ok(if failed { Finding::Found } else { Finding::Fine })
}

/// How deep directories may be in one another.
const MAX_DEPTH: usize = 16;

fn collect(path: &Path, files: &mut BTreeSet<PathBuf>, depth: usize) -> std::io::Result<()> {
    if !path.metadata()?.is_dir() {
        files.insert(path.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !path.is_symlink() && !is_hidden && depth < MAX_DEPTH {
            collect(&path, files, depth + 1)?;
        } else if cases::is_cases_file(&path) {
            files.insert(path);
        }
    }
    Ok(())
}

/// The definitions that a file of cases is about: the file of that name, else all in the directory.
fn subject(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    let bare = Path::new(stem).with_extension("");
    let extensions = Format::ALL.iter().flat_map(|format| format.extensions());
    let mut twins = extensions.map(|extension| file.with_file_name(&bare).with_extension(extension));
    let dir = || file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf();
    twins.find(|path| path.is_file()).unwrap_or_else(dir)
}

fn test(file: &Path, args: &TestArgs, runtime: &Runtime) -> Result<Tested, Failure> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| Failure(format!("{name}: {error}")))?;
    let read = cases::read(&name, &text);
    let Cases { setup, cases, .. } = read.map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| problem.one_line()).collect();
        Failure(lines.join("\n"))
    })?;
    let place = Place::new().map_err(|error| Failure(format!("no directory to test in: {error}")))?;
    if let Some(setup) = &setup {
        let mut shell = Command::new("sh");
        shell.args(["-euc", setup]).current_dir(place.work()).stdin(Stdio::null()).stdout(std::io::stderr());
        let status = shell.status()?;
        if !status.success() {
            return Err(Failure(format!("{name}: `setup` failed: {status}")));
        }
    }
    let subject = std::path::absolute(subject(file))?;
    let hooks = place.copy(&subject).map_err(|error| Failure(format!("{}: {error}", subject.display())))?;
    let (copied, known) = (hooks.display().to_string(), subject.display().to_string());
    let host = Host::builder().root(place.work()).hooks(hooks).system(false).obeys([Decision::Ask]);
    let host = host.build().map_err(|error| Failure(error.to_string()))?;
    let _socket = super::serve::share(&host, runtime, super::serve::MAX_MESSAGE);
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let mut reached = BTreeSet::new();
    let mut coverage = args.coverage.then(Coverage::default);
    let mut results = Vec::new();
    for case in cases.iter().filter(|case| case.name.contains(&args.filter)) {
        let started = Instant::now();
        let session = format!("{}-{}", std::process::id(), case.line);
        let mismatch =
            runtime.block_on(mismatch(&host, case, &place.work(), &home, &session, &mut reached, &mut coverage));
        let mismatch = mismatch.map(|text| text.replace(&copied, &known));
        let Case { name, line, .. } = case;
        results.push(Tried { name: name.clone(), line: *line, took: started.elapsed(), mismatch });
    }
    let mut untouched: Vec<_> = host.published().hooks.hooks.iter().map(|hook| hook.name.clone()).collect();
    untouched.retain(|name| !reached.contains(name));
    Ok(Tested { file: name, results, untouched, coverage })
}

async fn mismatch(
    host: &Host,
    case: &Case,
    dir: &Path,
    home: &Path,
    session: &str,
    reached: &mut BTreeSet<Arc<str>>,
    coverage: &mut Option<Coverage>,
) -> Option<String> {
    let mut found = None;
    for event in case.events(dir, home, session) {
        match Event::from_json(event) {
            Ok(event) => {
                let verdict = host.dispatch(event.clone()).await;
                if let Some(coverage) = coverage {
                    let hooks = host.hooks();
                    let facts = Facts::new(Arc::new(event), &host.engine.services.root).with_names(&hooks.tool_names);
                    coverage.note(&hooks, &facts, &verdict);
                }
                reached.extend(verdict.outcomes.iter().map(|outcome| outcome.hook.clone()));
                found = case.mismatch(&verdict);
            }
            Err(error) => return Some(error.to_string()),
        }
    }
    found
}

/// Where one file's cases take place, removed in the end: an empty directory to work in, and a copy of the
/// definitions, because hooks write beside them.
struct Place(PathBuf);

impl Place {
    fn new() -> std::io::Result<Place> {
        let path = std::env::temp_dir().canonicalize()?.join(format!("hookwire-test-{}", std::process::id()));
        // Nobody else has it: a process that had this number was killed.
        let _ = std::fs::remove_dir_all(&path);
        let place = Place(path);
        for dir in [place.0.clone(), place.work(), place.project()] {
            std::fs::create_dir(dir)?;
        }
        Ok(place)
    }

    fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    fn project(&self) -> PathBuf {
        self.0.join("project")
    }

    /// Copies the directory of the definitions; the directories beside it, which may hold scripts, are linked. Gives
    /// the definitions' new place.
    fn copy(&self, subject: &Path) -> std::io::Result<PathBuf> {
        let none = || std::io::Error::other("it has no directory");
        let dir = if subject.is_dir() { subject } else { subject.parent().ok_or_else(none)? };
        let name = dir.file_name().ok_or_else(none)?;
        for entry in dir.parent().ok_or_else(none)?.read_dir()? {
            let entry = entry?;
            if entry.file_name() != name && entry.path().is_dir() {
                std::os::unix::fs::symlink(entry.path(), self.project().join(entry.file_name()))?;
            }
        }
        let copied = self.project().join(name);
        let mut left = MAX_COPIED;
        copy(dir, &copied, &mut left, 0)?;
        Ok(match subject.strip_prefix(dir) {
            Ok(file) if subject != dir => copied.join(file),
            _ => copied,
        })
    }
}

/// How much a directory of definitions may hold, in bytes.
const MAX_COPIED: u64 = 64 * 1024 * 1024;

fn copy(from: &Path, to: &Path, left: &mut u64, depth: usize) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        // A link that leads nowhere.
        let Ok(about) = from.metadata() else { continue };
        if about.is_dir() && depth < MAX_DEPTH && !from.is_symlink() {
            copy(&from, &to, left, depth + 1)?;
        } else if about.is_dir() {
            std::os::unix::fs::symlink(&from, &to)?;
        } else if about.is_file() {
            let too_large = || std::io::Error::other("it holds more than 64 MiB, too much to test a copy of it");
            *left = left.checked_sub(about.len()).ok_or_else(too_large)?;
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Tested {
    fn json(&self, out: &mut Output) {
        for Tried { name, line, took, mismatch } in &self.results {
            out.json(&serde_json::json!({
                "file": self.file, "line": line, "name": name, "micros": took.as_micros() as u64,
                "passed": mismatch.is_none(), "mismatch": mismatch,
            }));
        }
        if !self.untouched.is_empty() {
            out.json(&serde_json::json!({ "file": self.file, "untouched": self.untouched }));
        }
        for (hook, part) in self.coverage.iter().flat_map(Coverage::unreached) {
            out.json(&serde_json::json!({ "file": self.file, "hook": hook, "unreached": part }));
        }
    }
}

fn text(tested: &[Tested], out: &mut Output) {
    let (mut n_cases, mut n_failed) = (0, 0);
    for Tested { file, results, untouched, coverage } in tested {
        let failed: Vec<_> = results.iter().filter_map(|it| Some((it, it.mismatch.as_ref()?))).collect();
        n_cases += results.len();
        n_failed += failed.len();
        let tone = if failed.is_empty() { Tone::Good } else { Tone::Bad };
        let count = out.tone(tone, &format!("{} of {}", results.len() - failed.len(), results.len()));
        out.line(&format!("{}: {count} as expected", safe(file)));
        for (Tried { name, line, .. }, mismatch) in failed {
            out.line(&format!("  {}:{line}: {}: {}", safe(file), safe(name), safe(mismatch)));
        }
        if !untouched.is_empty() {
            let names: Vec<_> = untouched.iter().map(|name| safe(name).to_string()).collect();
            let names = out.tone(Tone::Warn, &names.join(", "));
            out.line(&format!("  no case reaches {names}"));
        }
        if let Some(coverage) = coverage {
            let n_unreached = coverage.unreached().count();
            let n_parts = coverage.0.len();
            out.line(&format!("  {} of {n_parts} rules, sides and failures reached", n_parts - n_unreached));
            // A hook that no case reaches is named above.
            for (hook, part) in coverage.unreached().filter(|(hook, _)| !untouched.contains(hook)) {
                let part = out.tone(Tone::Warn, &safe(part));
                out.line(&format!("  no case reaches {} {part}", safe(hook)));
            }
        }
    }
    if tested.len() > 1 {
        out.line(&format!("{n_cases} cases in {} files, {n_failed} not as expected", tested.len()));
    }
}

fn tap(tested: &[Tested]) -> String {
    let mut text = format!("TAP version 14\n1..{}\n", tested.iter().map(|it| it.results.len()).sum::<usize>());
    let results = tested.iter().flat_map(|it| it.results.iter().map(|result| (&it.file, result)));
    for (n, (file, Tried { name, line, mismatch, .. })) in results.enumerate() {
        let not = if mismatch.is_some() { "not " } else { "" };
        let name = safe(name).replace('#', "\\#");
        let _ = writeln!(text, "{not}ok {} - {}:{line}: {name}", n + 1, safe(file));
        if let Some(mismatch) = mismatch {
            let _ = writeln!(text, "  ---\n  message: {}\n  ...", serde_json::Value::from(mismatch.as_str()));
        }
    }
    text
}

fn junit(tested: &[Tested]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hookwire\">\n");
    for Tested { file, results, .. } in tested {
        let n_failed = results.iter().filter(|it| it.mismatch.is_some()).count();
        let file = escaped(file);
        let _ = writeln!(text, "  <testsuite name=\"{file}\" tests=\"{}\" failures=\"{n_failed}\">", results.len());
        for Tried { name, line, took, mismatch } in results {
            let (name, time) = (escaped(name), took.as_secs_f64());
            let _ = write!(
                text,
                "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\" time=\"{time:.6}\""
            );
            let _ = match mismatch {
                Some(it) => writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(it)),
                None => writeln!(text, "/>"),
            };
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// A text for an attribute of XML. What no XML may hold becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
