//! `hookwire check --list`: the hooks in force, or the built-in guards.

use super::super::doctor::read_from;
use super::super::output::{Output, Tone, safe, say_on_stderr, shorten_text};
use super::super::{DefinitionArgs, Failure, Finding};
use crate::rpc::protocol::HookInfo;
use hookwire_dialects as dialects;
use hookwire_engine::engine;
use hookwire_handlers::handlers::guards::{GUARDS, GuardRow};
use hookwire_rules::policy;

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Listed {
    /// The hooks in force, in order of running.
    Hooks,
    /// The built-in guards, with the events of a hook that doesn't say `on`.
    Guards,
}

pub(super) fn list_definitions(
    what: Listed,
    args: &DefinitionArgs,
    out: &mut Output,
) -> Result<Finding, Failure> {
    if what == Listed::Guards {
        list_guards(out);
        return Ok(Finding::Fine);
    }
    let host = args.build_host(args.options())?;
    let published = host.published();
    let hooks = engine::in_running_order(
        published.hooks.hooks.iter(),
        None,
        &dialects::native().contract,
    );
    for info in hooks.iter().map(|hook| HookInfo::from_hook(hook)) {
        if out.json {
            out.json(&info);
            continue;
        }
        let switch = match (info.enabled, info.observe) {
            (false, _) => " (off)",
            (true, true) => " (observes)",
            (true, false) => "",
        };
        let place = args.as_given(&format!("{}:{}", info.source.file, info.source.line));
        let name = out.tone(
            Tone::Strong,
            &format!("{:<24}", shorten_text(&info.name, 24)),
        );
        let place = out.tone(Tone::Dim, &safe(&place));
        let on = shorten_text(&info.on.join(","), 32);
        out.line(&format!(
            "{name} {:<9} {on:<32} {}{switch}  {place}",
            info.handler,
            fail_word(info.fail)
        ));
    }
    let policies = if out.json {
        &[][..]
    } else {
        &published.hooks.policies
    };
    for policy in policies {
        let place = args.as_given(&format!("{}:{}", policy.source.file, policy.source.line));
        let name = out.tone(Tone::Strong, &format!("{:<24}", policy::NAME));
        let place = out.tone(Tone::Dim, &safe(&place));
        out.line(&format!("{name} {}  {place}", safe(&policy.told())));
    }
    let is_empty = published.hooks.hooks.is_empty() && published.hooks.policies.is_empty();
    if !out.json && is_empty && published.hooks.notices.is_empty() {
        out.line("No hooks: name a directory with --hooks, or start with `hookwire init`.");
    }
    let directories = read_from(&host);
    if !out.json && !directories.is_empty() {
        let directories = out.tone(Tone::Dim, &safe(&format!("Read from {directories}.")));
        out.line(&directories);
    }
    for broken in published.hooks.broken.iter() {
        say_on_stderr(format_args!("{}", safe(&args.as_given(broken))));
    }
    Ok(Finding::Fine)
}

fn list_guards(out: &mut Output) {
    for GuardRow {
        name,
        about,
        events,
        ..
    } in GUARDS
    {
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

fn fail_word(fail: hookwire_rules::contract::Fail) -> &'static str {
    match fail {
        hookwire_rules::contract::Fail::Open => "fails open",
        hookwire_rules::contract::Fail::Closed => "fails closed",
        hookwire_rules::contract::Fail::Ask => "asks on failure",
    }
}
