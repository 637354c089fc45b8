//! `hookwire check`: what is defined, and what is wrong with it.

mod list;

use super::ending::make_runtime;
use super::mend::{fix_files, is_certain, is_changed, migrate_files};
use super::output::{Output, Tone};
use super::rendered::render_diagnostics;
use super::test::collect_files;
use super::{DefinitionArgs, Failure, Finding, Format, ReachArgs, reports, unasked};
use crate::rpc::protocol::CheckResult;
use hookwire_base::support::amounts::{number_of, number_of_guards};
use hookwire_base::support::file::{self, Unread};
use hookwire_base::support::os_error::in_words;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex, Severity};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::Layer;
use hookwire_engine::canaries::Tried;
use hookwire_engine::definitions;
use hookwire_engine::definitions::approved::DEFINITIONS;
use hookwire_engine::definitions::cases;
use hookwire_engine::definitions::layer_dir::Kept;
use hookwire_engine::definitions::load::unreadable;
use hookwire_engine::definitions::scan::is_about_trust;
use hookwire_engine::host::{Host, HostOptions, Purpose};
use list::Listed;
use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Clone)]
#[command(mut_arg("format", |it| it.value_parser(Format::parser(Format::OF_CHECK))))]
pub(super) struct CheckArgs {
    /// Files to check by themselves, and directories of definitions; `-` is stdin. Without any, the
    /// definitions that would be loaded, and the project's own as they are now, even if another
    /// state of them is trusted.
    files: Vec<PathBuf>,
    #[command(flatten)]
    hooks: DefinitionArgs,
    #[command(flatten)]
    reach: ReachArgs,
    /// Exit with 1 for warnings too.
    #[arg(long)]
    strict: bool,
    /// Write patterns that match nothing, or one agent's tool only, as what they most likely mean,
    /// and show what changed.
    #[arg(long)]
    migrate: bool,
    /// Make the fixes that are certain in the files, show what changed, and check what is left.
    /// Where several fixes are offered, or none, the choice stays with you.
    #[arg(long, conflicts_with = "migrate")]
    fix: bool,
    /// List the hooks in force instead, in order of running, or the built-in guards.
    #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, default_missing_value = "hooks")]
    #[arg(conflicts_with_all = ["files", "strict", "migrate", "fix"])]
    pub(super) list: Option<Listed>,
    /// Some of the files were directories.
    #[arg(skip)]
    has_directories: bool,
}

/// What a check found.
#[derive(Default)]
struct Found {
    diagnostics: Vec<Diagnostic>,
    /// The texts of the files, by their names.
    sources: HashMap<String, Arc<str>>,
    /// How many hooks would be loaded; `None` where only files were checked.
    n_hooks: Option<usize>,
    /// How many policies would be.
    n_policies: usize,
    /// Another state of the files is in force.
    is_otherwise_in_force: bool,
}

pub(super) fn check(args: &CheckArgs, out: &mut Output) -> Result<Finding, Failure> {
    if let Some(what) = args.list {
        return list::list_definitions(what, &args.hooks, out);
    }
    let args = &args.with_directories();
    if args.migrate {
        return migrate_files(&args.files_with(is_changed)?, out);
    }
    if args.fix {
        fix_files(&args.files_with(is_certain)?, out)?;
    }
    let mut found = args.loaded()?;
    args.read_files(&mut found)?;
    let Found {
        diagnostics,
        sources,
        n_hooks,
        n_policies,
        is_otherwise_in_force,
    } = found;
    let count = |severity| {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let (errors, warnings, hints) = (
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Hint),
    );
    let told = || {
        diagnostics
            .iter()
            .map(reports::Finding::from_diagnostic)
            .collect::<Vec<_>>()
    };
    if out.json {
        out.json(&CheckResult { diagnostics });
    } else if out.format == Format::Github {
        reports::write_github(&told())
            .lines()
            .for_each(|line| out.line(line));
    } else if out.format == Format::Sarif {
        out.json(&reports::write_sarif(&told()));
    } else {
        let text = render_diagnostics(
            &diagnostics,
            |file| sources.get(file).cloned(),
            out.colour(),
        );
        out.bytes(text.as_bytes());
        let state = if is_otherwise_in_force {
            "as the files are now"
        } else {
            "in force"
        };
        let hooks = n_hooks
            .map(|n| format!("{} {state}, ", number_of_guards(n, n_policies)))
            .unwrap_or_default();
        let hints = if hints > 0 {
            format!(", {}", number_of(hints, "hint"))
        } else {
            String::new()
        };
        let summary = format!(
            "{hooks}{}, {}{hints}",
            number_of(errors, "error"),
            number_of(warnings, "warning")
        );
        if !diagnostics.is_empty() {
            out.line("");
        }
        let tone = if errors > 0 {
            Tone::Bad
        } else if warnings > 0 {
            Tone::Warn
        } else {
            Tone::Good
        };
        let summary = out.tone(tone, &summary);
        out.line(&summary);
    }
    let found = errors > 0 || (args.strict && warnings > 0);
    Ok(if found { Finding::Found } else { Finding::Fine })
}

impl CheckArgs {
    /// The directories among the files are checked as the definitions that they hold, and nothing
    /// beside them.
    fn with_directories(&self) -> CheckArgs {
        let (dirs, files): (Vec<_>, Vec<_>) =
            self.files.iter().cloned().partition(|file| file.is_dir());
        let mut args = CheckArgs {
            files,
            ..self.clone()
        };
        // The project's own are checked as always.
        args.has_directories = !dirs.is_empty();
        args.hooks.hooks.extend(dirs.into_iter().filter(|dir| {
            dir.canonicalize().ok() != self.hooks.root.join(DEFINITIONS).canonicalize().ok()
        }));
        args
    }

    /// Whoever checks a project is about to change it or to trust it.
    fn options(&self) -> HostOptions {
        let reach = if self.hooks.isolated {
            self.reach.clone()
        } else {
            self.reach.with_installed(&self.hooks.root)
        };
        let options = HostOptions {
            purpose: Purpose::Check,
            ..reach.host_options(&self.hooks)
        };
        let projects = if self.hooks.isolated {
            options.projects
        } else {
            options.projects.reviewed()
        };
        HostOptions {
            projects,
            ..options
        }
    }

    /// The files that were named, else those that would be loaded and have such a mistake.
    fn files_with(&self, is_wanted: fn(&Diagnostic) -> bool) -> Result<BTreeSet<PathBuf>, Failure> {
        let loaded = self.loaded()?.diagnostics;
        let found = loaded
            .iter()
            .filter(|it| is_wanted(it))
            .map(|it| PathBuf::from(&it.file));
        Ok(found.chain(self.files.iter().cloned()).collect())
    }

    /// What is wrong with the definitions that would be loaded, unless files were named.
    fn loaded(&self) -> Result<Found, Failure> {
        let mut found = Found::default();
        if !self.files.is_empty() && !self.has_directories {
            return Ok(found);
        }
        let host = self.hooks.host_with(self.options())?;
        let published = host.published();
        self.read_cases(&host, &mut found);
        let sources = &mut found.sources;
        found.is_otherwise_in_force = published.diagnostics.iter().any(is_about_trust);
        let hooks = &published.hooks;
        let given = |text: &str| self.hooks.as_given(text);
        // The host keeps the texts of files with mistakes alone.
        let untried = cases::untried(&hooks.hooks, &hooks.tool_names, &self.hooks.root, |file| {
            let text = published.sources.get(file).cloned();
            let text = text.unwrap_or_else(|| file::read_given(file).unwrap_or_default().into());
            sources.entry(given(file)).or_insert(text).clone()
        });
        let unasked = match self.hooks.isolated {
            true => Vec::new(),
            false => unasked::unasked_warnings(&hooks.hooks, &self.hooks.root, |file| {
                file::read_given(file).unwrap_or_default().into()
            }),
        };
        for file in unasked.iter().map(|it| &it.file) {
            sources
                .entry(given(file))
                .or_insert_with(|| file::read_given(file).unwrap_or_default().into());
        }
        let tried = self.hooks.live.then(|| try_cases(&host)).transpose()?;
        let tried = tried.unwrap_or_default();
        for (file, text) in &tried.sources {
            sources.entry(given(file)).or_insert_with(|| text.clone());
        }
        let not_denied = tried.diagnostics.iter().map(|it| &**it);
        found.n_hooks = Some(hooks.hooks.iter().filter(|hook| !hook.is_broken()).count());
        found.n_policies = hooks.policies.len();
        found.diagnostics.extend(
            untried
                .iter()
                .chain(&unasked)
                .chain(not_denied)
                .chain(published.diagnostics.iter())
                .map(|diagnostic| Diagnostic {
                    file: given(&diagnostic.file),
                    message: given(&diagnostic.message),
                    ..diagnostic.clone()
                }),
        );
        sources.extend(
            published
                .sources
                .iter()
                .map(|(file, text)| (given(file), text.clone())),
        );
        let has_none = hooks.hooks.is_empty() && hooks.policies.is_empty();
        let has_none = has_none
            && found
                .diagnostics
                .iter()
                .all(|diagnostic| diagnostic.severity != Severity::Error);
        // Where definitions are named, or left out, nobody wonders why the project has none.
        let is_wondered =
            !found.is_otherwise_in_force && !self.hooks.isolated && self.hooks.hooks.is_empty();
        if has_none && (self.hooks.live || is_wondered) {
            let severity = if self.hooks.live {
                Severity::Error
            } else {
                Severity::Hint
            };
            found.diagnostics.push(Diagnostic {
                severity,
                ..no_definitions(&self.hooks)
            });
        }
        Ok(found)
    }

    /// What is wrong with the cases beside the definitions. A directory around the project is left
    /// out, because its own check looks at it. A case may lack what it expects, because `test
    /// --update` writes that.
    fn read_cases(&self, host: &Host, found: &mut Found) {
        let dirs = host
            .dirs()
            .into_iter()
            .filter(|dir| !matches!(dir.kept, Kept::Approved(_)));
        let mut files = BTreeSet::new();
        for dir in dirs.map(|dir| dir.path) {
            if dir.is_dir() {
                // What can't be listed is told with the definitions that can't be read there.
                let _ = collect_files(&dir, &mut files, 0);
            } else {
                let beside = cases::beside(cases::directory(&dir))
                    .into_iter()
                    .filter(|it| it.is_about(&dir));
                files.extend(beside.map(|it| it.path));
            }
        }
        for file in files {
            let Ok((text, _)) = file::read(&file) else {
                continue;
            };
            let name = self.hooks.as_given(&file.to_string_lossy());
            if let Err(mistakes) = cases::read_unfinished(&name, &text) {
                found.diagnostics.extend(mistakes);
                found.sources.insert(name, text.into());
            }
        }
    }

    /// What is wrong with the files that were named.
    fn read_files(&self, found: &mut Found) -> Result<(), Failure> {
        let means = self.options().means();
        for file in &self.files {
            let name = file.display().to_string();
            let mut bytes = Vec::new();
            if name == "-" {
                std::io::stdin().read_to_end(&mut bytes)?;
            } else {
                bytes = read_bytes(file)
                    .map_err(|error| Failure(format!("{name}: {}", in_words(&error))))?;
            }
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => {
                    let unread = Unread::not_text(&error);
                    let (problem, before) = unreadable(&unread);
                    found
                        .diagnostics
                        .push(problem.to_diagnostic(&name, &LineIndex::new(before)));
                    continue;
                }
            };
            let checked = definitions::check::check(&name, &text, Layer::Hooks, Some(&means));
            found.diagnostics.extend(checked.diagnostics);
            found.sources.insert(name, text.into());
        }
        Ok(())
    }
}

/// Tries the cases that are to be denied with what would be in force.
fn try_cases(host: &Host) -> Result<Tried, Failure> {
    let runtime = make_runtime()?;
    let tried = runtime.block_on(host.try_cases());
    runtime.shutdown_background();
    Ok(tried)
}

/// Whoever checks a project's own definitions believes that there are some.
fn no_definitions(hooks: &DefinitionArgs) -> Diagnostic {
    let (root, dir) = (&hooks.root, hooks.own_dir());
    let names = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    };
    let mut empty = names(&dir)
        .into_iter()
        .filter(|name| cases::is_definition_file(Path::new(name)));
    if let Some(first) = empty.next() {
        let others = match empty.count() {
            0 => String::new(),
            more => format!(", nor in {}", number_of(more, "other file")),
        };
        let message = format!("no hook is in it{others}");
        let problem =
            Problem::error(&(0..0), "not-definitions", message).help("write one below `hooks:`");
        return problem.to_diagnostic(&dir.join(first).display().to_string(), &LineIndex::new(""));
    }
    let near: Vec<_> = names(root)
        .into_iter()
        .filter(|name| name.to_lowercase().contains("hookwire") && name != DEFINITIONS)
        .collect();
    let message = match dir.is_dir() {
        true => format!("no hook of {DEFINITIONS} is in force"),
        false if dir.exists() => format!("{DEFINITIONS} is no directory"),
        false => format!("there is no {DEFINITIONS} here"),
    };
    let there = near
        .iter()
        .take(4)
        .map(|it| format!("`{it}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let help = match near.is_empty() || dir.is_dir() {
        true => format!("definitions are files in {DEFINITIONS}: `hookwire init` writes some"),
        false => format!("there is {there}; definitions are files in {DEFINITIONS}"),
    };
    let problem = Problem::error(&(0..0), "missing-directory", message).help(help);
    problem.to_diagnostic(&dir.display().to_string(), &LineIndex::new(""))
}

/// A file's bytes. A named pipe would be waited for, perhaps for ever; that of a shell's `<(...)`
/// has its writer.
fn read_bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    let is_pipe = std::fs::metadata(file)?.file_type().is_fifo();
    let is_of_shell = file.starts_with("/dev/fd") || file.starts_with("/proc");
    if is_pipe && !is_of_shell {
        return Err(std::io::Error::other(
            "it is a named pipe; write - and give the text on stdin",
        ));
    }
    let mut text = Vec::new();
    file::open_given(file)?.read_to_end(&mut text).map(|_| text)
}
