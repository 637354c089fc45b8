//! `hookwire test`: the cases beside definitions, judged by those definitions.

mod coverage;
mod place;
mod report;
mod update;

use super::ending;
use super::output::{Output, say_on_stderr};
use super::scratch::forget_git;
use super::{Failure, Finding, Format, definitions_dir, reports, root_of};
use crate::rpc::serve::DRAIN;
use coverage::Coverage;
use hookwire_base::support::below::replace;
use hookwire_base::support::file;
use hookwire_base::support::nearest::{closest, did_you_mean};
use hookwire_base::support::places;
use hookwire_base::support::shell_word;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::verdict::Verdict;
use hookwire_engine::definitions::approved::DEFINITIONS;
use hookwire_engine::definitions::cases::{self, CameOut, Case, Cases, Happening, Scene};
use hookwire_engine::host::{Host, HostOptions, Purpose};
use hookwire_handlers::services::fakes::Fakes;
use hookwire_handlers::services::state::Store;
use hookwire_rules::contract::Honours;
use hookwire_rules::matching::Facts;
use place::{Copied, Place, locate_definitions};
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::process::Command;
use tokio::runtime::Runtime;

#[derive(clap::Args)]
#[command(mut_arg("format", |it| it.value_parser(Format::parser(Format::OF_TEST))))]
pub(super) struct TestArgs {
    /// Files of cases, and directories that hold some. Without any, .hookwire.
    paths: Vec<PathBuf>,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Tell which rules of `if` and `unless`, which sides of `when` and which failures no case
    /// reaches.
    #[arg(long)]
    coverage: bool,
    /// Write what comes out into the cases that expect something else or nothing, for you to
    /// review. The rest of the file stays as it is.
    #[arg(long)]
    update: bool,
    /// Try the cases again whenever a file beside them changes.
    #[arg(long)]
    watch: bool,
}

/// The results of the cases of one file.
struct Tested {
    file: String,
    results: Vec<Tried>,
    /// Definitions that aren't in force: each case fails because of them.
    broken: Vec<String>,
    /// Hooks that no case has reached.
    untouched: Vec<Arc<str>>,
    /// With `--coverage`: what of their conditions no case has reached.
    coverage: Option<Coverage>,
}

struct Tried {
    name: String,
    line: usize,
    took: Duration,
    mismatch: Option<String>,
    /// It fails because a definition is broken.
    is_broken: bool,
    /// It isn't a case, but a mistake that keeps the file's cases from being tried.
    mistake: Option<Diagnostic>,
    /// From now on what came out is expected.
    is_updated: bool,
}

impl Tested {
    /// For a report: a file whose cases can't be tried.
    fn from_unread(file: &Path, Unread { problem, mistakes }: &Unread) -> Tested {
        let tried = |mistake: Option<&Diagnostic>| Tried {
            name: "its cases are read".into(),
            line: mistake.map_or(1, |mistake| mistake.range.start.line),
            took: Duration::ZERO,
            mismatch: Some(mistake.map_or_else(|| problem.clone(), Diagnostic::one_line)),
            is_broken: false,
            is_updated: false,
            mistake: mistake.cloned(),
        };
        let results = match mistakes.is_empty() {
            true => vec![tried(None)],
            false => mistakes
                .iter()
                .map(|mistake| tried(Some(mistake)))
                .collect(),
        };
        let (broken, untouched) = (Vec::new(), Vec::new());
        Tested {
            file: file.display().to_string(),
            results,
            broken,
            untouched,
            coverage: None,
        }
    }
}

/// Why the cases of a file can't be tried.
struct Unread {
    problem: String,
    /// The mistakes in the file, if it is these.
    mistakes: Vec<Diagnostic>,
}

impl<E: Into<Failure>> From<E> for Unread {
    fn from(error: E) -> Unread {
        Unread {
            problem: error.into().0,
            mistakes: Vec::new(),
        }
    }
}

impl Tried {
    fn has_failed(&self) -> bool {
        self.mismatch.is_some() && !self.is_updated
    }
}

pub(super) fn run(args: &TestArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut given = args.paths.clone();
    if given.is_empty() {
        given.push(definitions_dir());
    }
    let given = &given[..];
    ending::run_to_end(async |runtime| {
        if !args.watch {
            return test_once(given, args, runtime, out).await;
        }
        loop {
            let before = file_stamps(given);
            if let Err(Failure(problem)) = test_once(given, args, runtime, out).await {
                say_on_stderr(format_args!("{problem}"));
            }
            say_on_stderr(format_args!("waiting for a change; Ctrl-C ends it"));
            while file_stamps(given) == before {
                tokio::time::sleep(PAUSE).await;
            }
            if out.is_gone() {
                return Ok(Finding::Fine);
            }
        }
    })
}

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(250);

type Stamps = BTreeSet<(PathBuf, Option<SystemTime>, u64)>;

/// The files beside the given ones and in the given directories, each with its time and length. A
/// report about the cases isn't among them, because to write it is no change of the cases.
fn file_stamps(given: &[PathBuf]) -> Stamps {
    fn look(
        dir: &Path,
        depth: usize,
        is_report: &dyn Fn(&Path, &Metadata) -> bool,
        found: &mut Stamps,
    ) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, about) = (entry.path(), entry.metadata());
            match about {
                Ok(about) if about.is_dir() && depth < MAX_DEPTH => {
                    look(&path, depth + 1, is_report, found)
                }
                Ok(about) if is_report(&path, &about) => {}
                Ok(about) => drop(found.insert((path, about.modified().ok(), about.len()))),
                Err(_) => {}
            }
        }
    }
    // Where the results go.
    let outputs = [
        std::io::stdout().as_fd().try_clone_to_owned(),
        std::io::stderr().as_fd().try_clone_to_owned(),
    ];
    let outputs = outputs
        .into_iter()
        .flatten()
        .filter_map(|fd| File::from(fd).metadata().ok());
    let outputs: Vec<_> = outputs.map(|about| (about.dev(), about.ino())).collect();
    let mut found = BTreeSet::new();
    for path in given {
        look(
            if path.is_dir() {
                path
            } else {
                cases::directory(path)
            },
            0,
            &|path, about| {
                path.extension().is_some_and(|extension| {
                    ["xml", "tap", "log"]
                        .iter()
                        .any(|report| extension.eq_ignore_ascii_case(report))
                }) || outputs.contains(&(about.dev(), about.ino()))
            },
            &mut found,
        );
    }
    found
}

async fn test_once(
    given: &[PathBuf],
    args: &TestArgs,
    runtime: &Runtime,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let mut files = BTreeSet::new();
    for path in given {
        collect_files(path, &mut files, 0).map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing_path(path),
            _ => Failure(format!("{}: {error}", path.display())),
        })?;
    }
    if files.is_empty() {
        let given: Vec<_> = given
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let given = given.join(", ");
        return Err(Failure(format!(
            "{given}: no cases; write them beside `guard.yaml` into `guard.test.yaml`"
        )));
    }
    let mut tested = Vec::new();
    let mut copied = None;
    // One file that can't be read keeps no other from being tried.
    let mut problems = Vec::new();
    for file in files {
        match test_file(&file, args, runtime, &mut copied).await {
            Ok(it) => tested.push(it),
            Err(unread) => {
                if out.format != Format::Text {
                    tested.push(Tested::from_unread(&file, &unread));
                }
                problems.push(unread.problem);
            }
        }
    }
    if tested.is_empty() {
        return Err(Failure(problems.join("\n")));
    }
    match out.format {
        Format::Json => tested.iter().for_each(|it| it.print_json(out)),
        Format::Text => report::print_text(&tested, out),
        Format::Tap => out.bytes(report::write_tap(&tested).as_bytes()),
        Format::Junit => out.bytes(report::write_junit(&tested).as_bytes()),
        Format::Github => {
            reports::write_github(&report::case_findings(&tested))
                .lines()
                .for_each(|line| out.line(line));
        }
        Format::Sarif => out.json(&reports::write_sarif(&report::case_findings(&tested))),
    }
    if tested.iter().all(|it| it.results.is_empty()) && !args.filter.is_empty() {
        return Err(Failure(format!(
            "--filter {}: no case is called so",
            shell_word::argument(&args.filter)
        )));
    }
    if !problems.is_empty() {
        return Err(Failure(problems.join("\n")));
    }
    let failed = tested
        .iter()
        .any(|it| it.results.iter().any(Tried::has_failed));
    if let Some((_, left_out)) = copied.filter(|(_, left_out)| failed && !left_out.is_empty()) {
        say_on_stderr(format_args!(
            "not in the copy of the project that hooks run in, because too large: {}",
            left_out.join(", ")
        ));
    }
    Ok(if failed {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// The message for a path that isn't there: people may mean a file by its beginning, or a case by
/// its name.
fn missing_path(path: &Path) -> Failure {
    if path == definitions_dir() {
        let path = path.display();
        return Failure(format!(
            "{path}: no such directory; `hookwire init no-force-push` makes it, with a rule and its cases"
        ));
    }
    let mut files = BTreeSet::new();
    // Without a directory, there is nothing to name.
    let _ = collect_files(&definitions_dir(), &mut files, 0);
    let name = path.display().to_string();
    let stem = |file: &Path| {
        file.file_name()?
            .to_str()?
            .split('.')
            .next()
            .map(str::to_string)
    };
    let known: Vec<(String, String)> = files
        .iter()
        .filter_map(|file| Some((stem(file)?, file.display().to_string())))
        .collect();
    let near = closest(&name, known.iter().map(|(stem, _)| &**stem));
    let near = near.and_then(|near| known.iter().find(|(stem, _)| stem == near));
    let there: Vec<&str> = known
        .iter()
        .take(MAX_NAMED)
        .map(|(_, file)| &**file)
        .collect();
    let what = match (near, there.len()) {
        (Some((_, file)), _) => format!("did you mean {file}?"),
        (None, 0) => {
            format!(
                "{DEFINITIONS} has no cases either; write some beside `guard.yaml` into `guard.test.yaml`"
            )
        }
        (None, n) if n < known.len() => format!(
            "there are {} and {} more",
            there.join(", "),
            known.len() - n
        ),
        (None, _) => format!("there is {}", there.join(", ")),
    };
    let pick = shell_word::argument(&name);
    Failure(format!(
        "{name}: no such file or directory; {what} (cases by name: `--filter {pick}`)"
    ))
}

/// The most files that a message names.
const MAX_NAMED: usize = 8;

/// How deep directories may be in one another.
const MAX_DEPTH: usize = 16;

/// The files of cases in a directory and in those below it; another path as it is.
pub(super) fn collect_files(
    path: &Path,
    files: &mut BTreeSet<PathBuf>,
    depth: usize,
) -> std::io::Result<()> {
    if !path.metadata()?.is_dir() {
        files.insert(path.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !path.is_symlink() && !is_hidden && depth < MAX_DEPTH {
            collect_files(&path, files, depth + 1)?;
        } else if cases::is_cases_file(&path) {
            files.insert(path);
        }
    }
    Ok(())
}

/// The copy of a project that was tested last, and what of the project isn't in it.
type LastCopied = Option<(Copied, Vec<String>)>;

/// The project of some definitions as it is, copied anew unless the last copy is one of it.
fn copy_of<'c>(subject: &Path, last: &'c mut LastCopied) -> std::io::Result<&'c Copied> {
    match last.take().filter(|(copied, _)| copied.is_of(subject)) {
        Some((copied, left_out)) => {
            copied.restore()?;
            Ok(&last.insert((copied, left_out)).0)
        }
        None => Ok(&last.insert(Copied::new(subject)?).0),
    }
}

async fn test_file(
    file: &Path,
    args: &TestArgs,
    runtime: &Runtime,
    copied: &mut LastCopied,
) -> Result<Tested, Unread> {
    let name = file.display().to_string();
    let text = file::read_given(file).map_err(|error| Failure(format!("{name}: {error}")))?;
    let read = if args.update {
        cases::read_unfinished(&name, &text).map(|(cases, _)| cases)
    } else {
        cases::read(&name, &text)
    };
    let Cases { setup, cases, .. } = read.map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(Diagnostic::one_line).collect();
        if lines
            .iter()
            .any(|line| line.contains("unknown field `hooks`"))
        {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            return Failure(format!(
                "{name}: these are definitions; their cases are in `{stem}.test.yaml`"
            ))
            .into();
        }
        Unread {
            problem: lines.join("\n"),
            mistakes,
        }
    })?;
    let subject = std::path::absolute(cases::subject(file))?;
    let unplaced = |error: std::io::Error| Failure(format!("{}: {error}", subject.display()));
    let real = locate_definitions(&subject).map_err(unplaced)?;
    let place = Place::new(copy_of(&real, copied).map_err(unplaced)?);
    let place = place.map_err(|error| Failure(format!("no directory to test in: {error}")))?;
    if let Some(setup) = &setup {
        let mut shell = Command::new("sh");
        shell
            .args(["-euc", setup])
            .current_dir(place.work())
            .env("TMPDIR", place.temporary());
        shell.stdin(Stdio::null()).stdout(std::io::stderr());
        forget_git(shell.as_std_mut());
        let status = shell.kill_on_drop(true).status().await?;
        if !status.success() {
            return Err(Failure(format!("{name}: `setup` failed: {status}")).into());
        }
    }
    let hooks = place.copy_of(&real);
    let (copied, known) = (hooks.display().to_string(), subject.display().to_string());
    let mut bench = Bench::new(
        &place,
        hooks,
        cases::directory(file).to_path_buf(),
        args.coverage,
    );
    let hooks = bench.host.hooks();
    // A policy judges without hooks.
    if hooks.hooks.is_empty()
        && hooks.broken.is_empty()
        && hooks.policies.is_empty()
        && !cases.is_empty()
    {
        let problem =
            "no definitions judge its cases: `guard.test.yaml` stands beside `guard.yaml`";
        return Err(Failure(format!("{name}: {problem}")).into());
    }
    let _socket = super::serve::share_socket(&bench.host, runtime, super::serve::MAX_MESSAGE);
    let mut results = Vec::new();
    let mut came_out = Vec::new();
    for (position, case) in cases
        .iter()
        .enumerate()
        .filter(|(_, case)| case.name.contains(&args.filter))
    {
        let started = Instant::now();
        let judged = bench.judge_case(case).await;
        let took = started.elapsed();
        let mismatch = judged.as_ref().map_or_else(
            |problem| Some(problem.clone()),
            |verdict| case.mismatch(verdict),
        );
        let mismatch = mismatch.map(|text| text.replace(&copied, &known));
        let is_broken = mismatch.is_some()
            && judged
                .as_ref()
                .is_ok_and(|verdict| !verdict.errors.is_empty());
        let news = judged
            .ok()
            .filter(|_| args.update && mismatch.is_some())
            .and_then(|judged| CameOut::new(case, &judged));
        let Case { name, line, .. } = case;
        let is_updated = news.is_some();
        came_out.extend(news.map(|news| (position, news)));
        let (name, mistake) = (name.clone(), None);
        results.push(Tried {
            name,
            line: *line,
            took,
            mismatch,
            is_broken,
            is_updated,
            mistake,
        });
    }
    if !came_out.is_empty() {
        let updated = update::update_cases(&name, &text, &came_out)
            .map_err(|problem| Failure(format!("{name}: {problem}")))?;
        replace(file, &root_of(file), &updated, 0o644)
            .map_err(|error| Failure(format!("{name}: {error}")))?;
    }
    let broken = bench
        .host
        .hooks()
        .broken
        .iter()
        .map(|it| it.replace(&copied, &known))
        .collect();
    let mut untouched: Vec<_> = bench
        .host
        .hooks()
        .hooks
        .iter()
        .map(|hook| hook.name.clone())
        .collect();
    untouched.retain(|name| !bench.reached.contains(name));
    Ok(Tested {
        file: name,
        results,
        broken,
        untouched,
        coverage: bench.coverage,
    })
}

/// How long a person would have for an answer; in a test nobody waits.
const ASKED_FOR: Duration = Duration::from_secs(300);

/// The host that judges the cases of one file, and the hooks that they reach.
struct Bench {
    host: Arc<Host>,
    store: Store,
    fakes: Arc<Fakes>,
    home: PathBuf,
    /// Where recorded sessions are looked for.
    files: PathBuf,
    reached: BTreeSet<Arc<str>>,
    coverage: Option<Coverage>,
}

impl Bench {
    fn new(place: &Place<'_>, hooks: PathBuf, files: PathBuf, has_coverage: bool) -> Bench {
        let (fakes, store) = (Arc::<Fakes>::default(), Store::default());
        let host = Host::new(HostOptions {
            root: place.work(),
            hooks: vec![hooks],
            state: store.clone(),
            ask_elsewhere: Some(ASKED_FOR),
            purpose: Purpose::Test {
                fakes: fakes.clone(),
                temporary: place.temporary(),
            },
            ..HostOptions::default()
        });
        let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
        let coverage = has_coverage.then(Coverage::default);
        Bench {
            host,
            store,
            fakes,
            home,
            files,
            reached: BTreeSet::new(),
            coverage,
        }
    }

    /// The verdict on the last event of a case, or why there is none that counts.
    async fn judge_case(&mut self, case: &Case) -> Result<Verdict, String> {
        let hooks = self.host.hooks();
        if let Some((place, stranger)) = case
            .names()
            .find(|(_, name)| !hooks.hooks.iter().any(|hook| *hook.name == **name))
        {
            let near = closest(stranger, hooks.hooks.iter().map(|hook| &*hook.name));
            return Err(format!(
                "`{place}` names `{stranger}`, but no hook is called so{}",
                did_you_mean(near)
            ));
        }
        let root = self.host.root().to_path_buf();
        let session = format!("{}-{}", std::process::id(), case.line);
        let scene = Scene {
            dir: &root,
            home: &self.home,
            files: &self.files,
            session: &session,
        };
        let happenings = case.happenings(&scene)?;
        self.fakes.answer(case.fakes.clone());
        let mut last = None;
        let began = self.fakes.ahead();
        for Happening {
            mut event,
            dialect,
            wait,
        } in happenings
        {
            self.fakes.pass(wait);
            self.store.pass(wait);
            event.time = Some(self.fakes.time(began));
            let event = Arc::new(event);
            // Without anybody who answers, an `ask` is what comes out.
            let honours = Honours {
                ask: !case.fakes.has_person(),
                ..Honours::default()
            };
            let verdict = self
                .host
                .judge(event.clone(), &dialect.contract, honours, None)
                .await;
            if let Some(coverage) = &mut self.coverage {
                let facts = Facts::new(event, &root).with_names(&hooks.tool_names);
                coverage.note_reach(&hooks, &facts, &verdict);
            }
            self.reached
                .extend(verdict.outcomes.iter().map(|outcome| outcome.hook.clone()));
            last = Some(verdict);
        }
        // Hooks that nobody waits for may ask, too.
        let _ = tokio::time::timeout(DRAIN, self.host.engine.settle()).await;
        match (self.fakes.unanswered().first(), last) {
            (Some(unanswered), _) => Err(unanswered.clone()),
            (None, Some(verdict)) => Ok(verdict),
            (None, None) => Err("nothing happens in it".into()),
        }
    }
}
