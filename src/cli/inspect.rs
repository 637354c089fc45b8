//! `check`, `list` and `schema`: what is defined, and what is wrong with it.

use super::output::{Output, Tone, safe, short};
use super::{Failure, Finding, HooksArgs};
use crate::definitions;
use crate::handlers::guards::{GUARDS, GuardRow};
use crate::rpc::protocol::{CheckResult, HookInfo};
use crate::syntax::diagnostic::{Diagnostic, Severity, render};
use crate::syntax::source::Layer;
use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct CheckArgs {
    /// Files to check by themselves; `-` is stdin. Without any, the definitions that would be loaded.
    files: Vec<PathBuf>,
    #[command(flatten)]
    hooks: HooksArgs,
    /// Exit with 1 for warnings too.
    #[arg(long)]
    strict: bool,
}

pub(super) fn check(args: &CheckArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut sources: HashMap<String, Arc<str>> = HashMap::new();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut n_hooks = None;
    if args.files.is_empty() {
        let published = args.hooks.host()?.published();
        n_hooks = Some(published.hooks.hooks.len());
        let given = |text: &str| args.hooks.as_given(text);
        diagnostics.extend(published.diagnostics.iter().map(|it| Diagnostic {
            file: given(&it.file),
            message: given(&it.message),
            ..it.clone()
        }));
        sources.extend(published.sources.iter().map(|(file, text)| (given(file), text.clone())));
    }
    for file in &args.files {
        let name = file.display().to_string();
        let mut text = String::new();
        if name == "-" {
            std::io::stdin().read_to_string(&mut text)?;
        } else if file.is_dir() {
            return Err(Failure(format!("{name}: it is a directory; write --hooks {name}")));
        } else {
            text = std::fs::read_to_string(file).map_err(|error| Failure(format!("{name}: {error}")))?;
        }
        diagnostics.extend(definitions::check::check(&name, &text, Layer::Hooks).diagnostics);
        sources.insert(name, text.into());
    }
    let count = |severity| diagnostics.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if out.json {
        out.json(&CheckResult { diagnostics });
    } else {
        let text = render(&diagnostics, |file| sources.get(file).cloned(), out.colour());
        out.bytes(text.as_bytes());
        let hooks = n_hooks.map(|n| format!("{} in force, ", counted(n, "hook"))).unwrap_or_default();
        let summary = format!("{hooks}{}, {}", counted(errors, "error"), counted(warnings, "warning"));
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

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[derive(clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    hooks: HooksArgs,
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
    let published = args.host()?.published();
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
