//! `hookwire explain --run`: one event, judged as `serve` would judge it.

use super::super::ending;
use super::super::output::{Output, Tone, safe, say_on_stderr};
use super::super::serve::{MAX_MESSAGE, share_socket};
use super::super::{Failure, Finding, HostArgs};
use super::event::EventArgs;
use hookwire_base::event::Event;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_dialects::{Dialect, NATIVE};
use hookwire_engine::host::Host;
use serde_json::Value;
use std::time::Duration;

pub(super) fn run(
    args: &EventArgs,
    hooks: &HostArgs,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let event = args.read_event()?;
    let host = hooks.with_installed().build_host()?;
    ending::run_to_end(async |runtime| {
        // The commands of hooks reach the shared state through it.
        let _socket = share_socket(&host, runtime, MAX_MESSAGE);
        let (verdict, elapsed) = host.judge_as(args.dialect, &event).await;
        if out.json {
            match dialect_reply(args.dialect, &event, &verdict) {
                Some(reply) => out.json(&serde_json::json!({ "reply": reply, "verdict": verdict })),
                None => out.json(&verdict),
            }
        } else {
            print_verdict(out, &verdict, elapsed);
        }
        if hooks.state_file.is_none() {
            describe_forgotten(&host, &verdict)
                .iter()
                .for_each(|it| say_on_stderr(format_args!("{}", safe(it))));
        }
        ending::settle_hooks(&host).await;
        Ok(if verdict.decision == Decision::Allow {
            Finding::Fine
        } else {
            Finding::Found
        })
    })
}

/// What hooks of a verdict would remember, if the host didn't end with the command.
fn describe_forgotten(host: &Host, verdict: &Verdict) -> Vec<String> {
    let set = host.hooks();
    let told = set.hooks.iter().filter(|hook| {
        verdict
            .outcomes
            .iter()
            .any(|outcome| outcome.hook == hook.name)
    }).filter_map(|hook| {
        let name = &hook.name;
        if hook.once {
            Some(format!("`{name}` runs once in a session, which ends with this command; ask a running host (`hookwire serve`)"))
        } else if hook.handler.counts() {
            Some(format!("`{name}` counts, and nothing is kept after this command; keep it with --state-file FILE, or ask a running host (`hookwire serve`)"))
        } else {
            None
        }
    });
    told.collect()
}

pub(in crate::cli) fn dialect_reply(
    dialect: &Dialect,
    event: &Event,
    verdict: &Verdict,
) -> Option<Value> {
    (dialect.name() != NATIVE).then(|| dialect.reply_to(event, verdict))
}

/// Prints a verdict for people.
fn print_verdict(out: &mut Output, verdict: &Verdict, elapsed: Duration) {
    let by = verdict
        .decided_by
        .as_deref()
        .map(|hook| format!(" by {hook}"))
        .unwrap_or_default();
    let head = out.tone(
        Tone::of_decision(verdict.decision),
        verdict.decision.as_str(),
    );
    out.line(&format!("{head}{by}  ({} µs)", elapsed.as_micros()));
    if let Some(reason) = &verdict.reason {
        out.line(&format!("  reason   {}", safe(reason)));
    }
    if let Some(subject) = &verdict.subject {
        out.line(&format!("  subject  {}", safe(&subject.to_string())));
    }
    if let Some(stop) = &verdict.stop {
        out.line(&format!("  stop     {}", safe(stop)));
    }
    for text in &verdict.user_messages {
        out.line(&format!("  message  {}", safe(text)));
    }
    for text in &verdict.additional_context {
        out.line(&format!("  context  {}", safe(text)));
    }
    for outcome in &verdict.outcomes {
        let decision = outcome
            .decision
            .map(|decision| format!(" {}", decision.as_str()))
            .unwrap_or_default();
        let would = outcome
            .observed
            .as_ref()
            .map(|observed| format!(", would {} (observe)", observed.would().as_str()));
        let decision = would.unwrap_or(decision);
        // The reason above says it already.
        let why = outcome
            .why()
            .filter(|why| {
                !verdict
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason.contains(why))
            })
            .map(|why| format!(": {}", safe(why)))
            .unwrap_or_default();
        let status = outcome.status.as_str();
        let rejudged = if outcome.rejudged { ", again" } else { "" };
        out.line(&format!(
            "  hook     {} ({status}{decision}, {} µs{rejudged}){why}",
            outcome.hook, outcome.duration_micros
        ));
        // A reason that gives it has been printed.
        if let Some(doubt) = outcome.opaque.as_ref().filter(|doubt| {
            ![&outcome.reason, &verdict.reason]
                .into_iter()
                .flatten()
                .any(|it| it.contains(*doubt))
        }) {
            out.line(&format!(
                "  doubt    {}",
                out.tone(Tone::Warn, &safe(doubt))
            ));
        }
    }
    for error in &verdict.errors {
        let error = out.tone(Tone::Warn, &safe(error));
        out.line(&format!("  error    {error}"));
    }
}
