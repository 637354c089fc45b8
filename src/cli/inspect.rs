//! `check`, `list` and `schema`: what is defined, and what is wrong with it.

use super::migrate::{is_changed, migrate};
use super::output::{Output, Tone, safe, short};
use super::{DefinitionArgs, Failure, Finding, ReachArgs};
use crate::definitions;
use crate::definitions::cases;
use crate::handlers::guards::{GUARDS, GuardRow};
use crate::host::HostOptions;
use crate::rpc::protocol::{CheckResult, HookInfo};
use crate::syntax::diagnostic::{Diagnostic, LineIndex, Severity, render};
use crate::syntax::problem::Problem;
use crate::syntax::source::Layer;
use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct CheckArgs {
    /// Files to check by themselves; `-` is stdin. Without any, the definitions that would be loaded.
    files: Vec<PathBuf>,
    #[command(flatten)]
    hooks: DefinitionArgs,
    #[command(flatten)]
    reach: ReachArgs,
    /// Exit with 1 for warnings too.
    #[arg(long)]
    strict: bool,
    /// Write patterns that meant something else in an older hookwire as what they were to mean, and show what changed.
    #[arg(long)]
    migrate: bool,
}

pub(super) fn check(args: &CheckArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut sources: HashMap<String, Arc<str>> = HashMap::new();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut n_hooks = None;
    let options = HostOptions { may_start: true, ..args.reach.options(&args.hooks) };
    let means = options.means(true);
    if args.files.is_empty() {
        let published = args.hooks.host(options)?.published();
        let written = published.hooks.hooks.iter().map(|hook| PathBuf::from(&*hook.source.file)).collect();
        let untried = cases::untried(written).into_iter().map(|file| {
            let file = file.to_string_lossy();
            let remark =
                Problem::hint(&(0..0), "no-cases", "no case tries its hooks, though other files here have cases");
            remark
                .help("`hookwire docs testing` shows how to write some")
                .to_diagnostic(&args.hooks.as_given(&file), &LineIndex::new(""))
        });
        diagnostics.extend(untried);
        n_hooks = Some(published.hooks.hooks.len());
        let given = |text: &str| args.hooks.as_given(text);
        diagnostics.extend(published.diagnostics.iter().map(|it| Diagnostic {
            file: given(&it.file),
            message: given(&it.message),
            ..it.clone()
        }));
        sources.extend(published.sources.iter().map(|(file, text)| (given(file), text.clone())));
    }
    if args.migrate {
        let found = diagnostics.iter().filter(|it| is_changed(it)).map(|it| PathBuf::from(&it.file));
        return migrate(&found.chain(args.files.iter().cloned()).collect(), out);
    }
    for file in &args.files {
        let name = file.display().to_string();
        let mut bytes = Vec::new();
        if name == "-" {
            std::io::stdin().read_to_end(&mut bytes)?;
        } else if file.is_dir() {
            return Err(Failure(format!("{name}: it is a directory; write --hooks {name}")));
        } else {
            bytes = read(file).map_err(|error| Failure(format!("{name}: {error}")))?;
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                diagnostics.push(not_text(&name, &error));
                continue;
            }
        };
        diagnostics.extend(definitions::check::check(&name, &text, Layer::Hooks, Some(&means)).diagnostics);
        sources.insert(name, text.into());
    }
    let count = |severity| diagnostics.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings, hints) = (count(Severity::Error), count(Severity::Warning), count(Severity::Hint));
    if out.json {
        out.json(&CheckResult { diagnostics });
    } else {
        let text = render(&diagnostics, |file| sources.get(file).cloned(), out.colour());
        out.bytes(text.as_bytes());
        let hooks = n_hooks.map(|n| format!("{} in force, ", counted(n, "hook"))).unwrap_or_default();
        let hints = if hints > 0 { format!(", {}", counted(hints, "hint")) } else { String::new() };
        let summary = format!("{hooks}{}, {}{hints}", counted(errors, "error"), counted(warnings, "warning"));
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

/// A file's bytes. A named pipe would be waited for, perhaps for ever; that of a shell's `<(...)` has its writer.
fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let is_pipe = std::fs::metadata(file)?.file_type().is_fifo();
    let is_of_shell = file.starts_with("/dev/fd") || file.starts_with("/proc");
    if is_pipe && !is_of_shell {
        return Err(std::io::Error::other("it is a named pipe; write - and give the text on stdin"));
    }
    std::fs::read(file)
}

/// What is said of a file that isn't text, at the byte that no text has.
fn not_text(name: &str, error: &FromUtf8Error) -> Diagnostic {
    let at = error.utf8_error().valid_up_to();
    let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
    let problem =
        Problem::error(&(at..at), "unreadable", "the text is not UTF-8 from here on; no hook of this file is in force");
    problem.to_diagnostic(name, &LineIndex::new(&before))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[derive(clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    hooks: DefinitionArgs,
    /// List the built-in guards instead, with the events of a hook that doesn't say `on`.
    #[arg(long)]
    guards: bool,
}

pub(super) fn list(args: &ListArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.guards {
        list_guards(out);
        return Ok(Finding::Fine);
    }
    let args = &args.hooks;
    let published = args.host(args.options())?.published();
    for hook in &published.hooks.hooks {
        let info = HookInfo::from_hook(hook);
        if out.json {
            out.json(&info);
            continue;
        }
        let switch = if info.enabled { "" } else { " (off)" };
        let place = args.as_given(&format!("{}:{}", info.source.file, info.source.line));
        let name = out.tone(Tone::Strong, &format!("{:<24}", short(&info.name, 24)));
        let place = out.tone(Tone::Dim, &safe(&place));
        let on = short(&info.on.join(","), 32);
        out.line(&format!("{name} {:<9} {on:<32} {}{switch}  {place}", info.handler, fail_word(info.fail)));
    }
    if !out.json && published.hooks.hooks.is_empty() {
        out.line("No hooks: name a directory with --hooks, or start with `hookwire init`.");
    }
    for broken in published.hooks.broken.iter() {
        eprintln!("hookwire: {}", safe(&args.as_given(broken)));
    }
    Ok(Finding::Fine)
}

fn list_guards(out: &mut Output) {
    for GuardRow { name, about, events, .. } in GUARDS {
        if out.json {
            out.json(&serde_json::json!({ "name": name, "about": about, "on": events }));
            continue;
        }
        let name = out.tone(Tone::Strong, &format!("{name:<16}"));
        let on = out.tone(Tone::Dim, &format!("on {}", events.join(", ")));
        out.line(&format!("{name} {about}"));
        out.line(&format!("{:16} {on}", ""));
    }
}

fn fail_word(fail: crate::contract::Fail) -> &'static str {
    match fail {
        crate::contract::Fail::Open => "fails open",
        crate::contract::Fail::Closed => "fails closed",
        crate::contract::Fail::Ask => "asks on failure",
    }
}

#[derive(clap::Args)]
pub(super) struct SchemaArgs {
    /// The schema.
    #[arg(value_enum, default_value_t = SchemaKind::Definitions)]
    kind: SchemaKind,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SchemaKind {
    /// Definition files.
    Definitions,
    /// The messages of the protocol.
    Protocol,
}

pub(super) fn schema(args: &SchemaArgs, out: &mut Output) -> Result<Finding, Failure> {
    let schema = match args.kind {
        SchemaKind::Definitions => crate::definitions::schema::definitions(),
        SchemaKind::Protocol => crate::rpc::schema::protocol(),
    };
    out.line(&serde_json::to_string_pretty(&schema)?);
    Ok(Finding::Fine)
}
