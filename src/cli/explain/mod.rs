//! `explain`: for each hook, whether it would run on an event, and why or why not.

mod event;
pub(super) mod run;

use super::output::{Output, Tone, safe, say_on_stderr, shorten_text};
use super::tail::{Clean, print_record};
use super::{Failure, Finding, HostArgs};
use crate::rpc::protocol::{ExplainResult, Explanation};
use event::EventArgs;
use hookwire_base::event::PRE_EXEC;
use hookwire_base::support::amounts::number_of;
use hookwire_base::verdict::{Decision, Status};
use hookwire_engine::definitions::embedded::BUILT_IN;
use hookwire_engine::running;
use hookwire_rules::matching::Facts;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

#[derive(clap::Args)]
#[command(mut_arg("allow_host", |it| it.requires("run")), mut_arg("state_file", |it| it.requires("run")))]
#[command(mut_arg("ask_elsewhere", |it| it.requires("run")))]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    event: EventArgs,
    /// Run the hooks, and print the verdict. Exits with 1 unless it is an allow.
    #[arg(long)]
    pub(super) run: bool,
    /// Instead of an event, the last call of a tool that this project's running hosts judged, or
    /// the Nth last; any event, where there was no call. By the definitions that are in force in
    /// that host now.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", conflicts_with_all = ["event", "call", "run"])]
    last: Option<usize>,
    #[command(flatten)]
    hooks: HostArgs,
}

/// Prints the Nth last event that the running host judged; gives its explanation by that host, and
/// the hook that decided.
fn explain_last(
    root: &Path,
    n: usize,
    out: &mut Output,
) -> Result<(ExplainResult, Option<String>), Failure> {
    if n == 0 {
        return Err(Failure(
            "--last 0: the last is 1, the one before it 2".into(),
        ));
    }
    let mut judged: Vec<(Value, usize)> = Vec::new();
    let mut ends: Vec<Value> = Vec::new();
    let mut hosts = running::find(Some(root))?;
    for (n, host) in hosts.iter_mut().enumerate() {
        let mut recent = host.client.request("hooks/recent", &json!({}))?;
        let mut taken = |list: &str| {
            if let Value::Array(list) = recent[list].take() {
                list
            } else {
                Vec::new()
            }
        };
        judged.extend(taken("records").into_iter().map(|record| (record, n)));
        ends.extend(taken("ended"));
    }
    // A session ends with events about itself, and a call with one about its result: who asks means
    // what the agent wanted to do. A program that wasn't let start is what a call wanted, too.
    let is_before = |(record, _): &(Value, usize)| {
        record["event"] == "PreToolUse"
            || record["event"] == PRE_EXEC && record["verdict"]["decision"] != "allow"
    };
    let is_call = |(record, _): &(Value, usize)| record["tool"].is_string();
    if judged.iter().any(is_before) {
        judged.retain(is_before);
    } else if judged.iter().any(is_call) {
        judged.retain(is_call);
    }
    judged.sort_by(|(a, _), (b, _)| a["at"].as_str().cmp(&b["at"].as_str()));
    let n_judged = judged.len();
    let Some((record, host)) = n_judged.checked_sub(n).map(|at| judged.swap_remove(at)) else {
        let problem = match n_judged {
            0 => "no host that runs here has judged an event yet: name one, such as --bash 'git push'".to_string(),
            _ => format!("the running hosts of this project have {n_judged} events; `hookwire tail` shows them"),
        };
        return Err(Failure(format!("--last: {problem}")));
    };
    let mut params = record["params"].clone();
    if params.get("payload").is_some() && params.get("dialect").is_none() {
        // The client had said so when it connected.
        params["dialect"] = record["dialect"].clone();
    }
    if params.is_null() {
        return Err(Failure(
            "--last: that event was too large to be kept".into(),
        ));
    }
    if !out.json {
        print_record(&Clean::new(record.clone()), out);
        print_ends(&record["verdict"], ends, out);
    }
    let explained: ExplainResult =
        serde_json::from_value(hosts[host].client.request("hooks/explain", &params)?)?;
    for notice in &explained.notices {
        say_on_stderr(safe(notice));
    }
    let verdict = &record["verdict"];
    if let (Some(hash), Some(generation)) = (&explained.hash, explained.generation)
        && verdict["hash"] != **hash
    {
        say_on_stderr(format_args!(
            "the definitions have changed since: generation {} judged that event, and what follows is by generation {generation}, which is in force now",
            verdict["generation"]
        ));
    }
    Ok((explained, verdict["decidedBy"].as_str().map(str::to_string)))
}

/// How the `async` hooks of a verdict ended, which it didn't wait for.
fn print_ends(verdict: &Value, mut ends: Vec<Value>, out: &mut Output) {
    ends.retain(|end| end["eventId"] == verdict["eventId"]);
    for outcome in verdict["outcomes"].as_array().into_iter().flatten() {
        let hook = &outcome["hook"];
        let is_started = outcome["status"] == Status::Started.as_str();
        if is_started && !ends.iter().any(|end| end["outcome"]["hook"] == *hook) {
            let hook = safe(hook.as_str().unwrap_or_default());
            out.line(&out.tone(
                Tone::Dim,
                &format!("  {hook} has not ended yet, or it is too long ago to tell"),
            ));
        }
    }
    ends.into_iter()
        .for_each(|end| print_record(&Clean::new(json!({ "ended": end })), out));
}

pub(super) fn explain(args: &ExplainArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.run {
        return run::run(&args.event, &args.hooks, out);
    }
    let definitions = &args.hooks.definitions;
    let (result, decided_by) = match args.last {
        Some(n) => explain_last(&definitions.root, n, out)?,
        None => {
            let event = Arc::new(args.event.read_event()?);
            let host = definitions.build_host(definitions.options())?;
            let hooks = host.joined(host.hooks(), &event);
            let facts = Facts::new(event, &host.engine.services.root).with_names(&hooks.tool_names);
            (
                ExplainResult::new(hooks.hooks.iter(), &hooks.policies, &hooks.broken, &facts),
                None,
            )
        }
    };
    if out.json {
        out.json(&result);
        return Ok(Finding::Fine);
    }
    for it in &result.broken {
        let mark = out.tone(Tone::Bad, "broken");
        out.line(&format!("{mark}  {}", safe(it)));
    }
    for it in &result.policy {
        let Some(why) = &it.denies else { continue };
        let mark = out.tone(Tone::Bad, "denies");
        let place = out.tone(
            Tone::Dim,
            &safe(&format!("{}:{}", it.source.file, it.source.line)),
        );
        out.line(&format!("{mark}  {:<24} {}  {place}", "policy", safe(why)));
    }
    // The hook that decides comes first, then the others that run, then those that nearly would
    // have.
    let mut hooks: Vec<&Explanation> = result.hooks.iter().collect();
    hooks.sort_by_key(|hook| rank_explanation(hook, decided_by.as_deref()));
    let (near, mut far): (Vec<_>, Vec<_>) =
        hooks.into_iter().partition(|hook| !is_for_others(hook));
    near.into_iter().for_each(|it| print_hook(it, out));
    far.retain(|it| &*it.source.file != BUILT_IN);
    if !far.is_empty() {
        let names: Vec<&str> = far.iter().map(|it| &*it.hook).collect();
        let mark = out.tone(Tone::Dim, "no    ");
        let what = "for other events, or switched off";
        out.line(&format!(
            "{mark}  {} {what}: {}",
            names.len(),
            shorten_text(&names.join(", "), MAX_NAMES)
        ));
    }
    for it in &result.acts {
        out.line(&out.tone(Tone::Dim, &safe(&format!("act     {it}"))));
    }
    for it in &result.commands {
        out.line(&out.tone(
            Tone::Dim,
            &safe(&format!(
                "reads   {} ({}..{})",
                it.command, it.start, it.end
            )),
        ));
    }
    for it in &result.unseen {
        out.line(&out.tone(Tone::Dim, &safe(&format!("unseen  {it}"))));
    }
    Ok(Finding::Fine)
}

/// The longest list of hooks that are for something else, in characters.
const MAX_NAMES: usize = 300;

fn rank_explanation(it: &Explanation, decided_by: Option<&str>) -> usize {
    match (it.applies, it.decision) {
        _ if decided_by == Some(&*it.hook) => 0,
        (false, _) => 7,
        (true, _) if it.observe => 6,
        (true, _) if it.opaque.is_some() => 5,
        (true, Some(Decision::Deny)) => 1,
        (true, Some(Decision::Ask | Decision::Defer)) => 2,
        (true, None) => 3,
        (true, Some(Decision::Allow)) => 4,
    }
}

/// Whether no edit of the call would make the hook run: nobody asks why. A matcher or a list of
/// agents may be meant otherwise than it is written.
fn is_for_others(it: &Explanation) -> bool {
    it.kept_out_by
        .as_ref()
        .is_some_and(|miss| ["enabled", "on"].contains(&&*miss.test))
}

/// How many of a hook's rules that miss are shown.
const MAX_MISSES: usize = 3;

/// Prints a hook. What the call doesn't show is the same for all rules, so it stands at the end and
/// not in each line.
fn print_hook(it: &Explanation, out: &mut Output) {
    let decision = it.decision.map(|decision| decision.as_str().to_string());
    let (mark, why) = match (&it.kept_out_by, &it.opaque) {
        (None, doubt) if it.observe => {
            let would = decision.map(|decision| format!("would {decision} (observe)"));
            let doubt = doubt
                .as_ref()
                .map(|doubt| format!(", {doubt}"))
                .unwrap_or_default();
            (
                out.tone(Tone::Dim, "watch "),
                would.unwrap_or_else(|| "runs, and decides nothing (observe)".into()) + &doubt,
            )
        }
        (Some(miss), _) => (
            out.tone(Tone::Dim, "no    "),
            format!("{}: {}", miss.test, miss.why),
        ),
        (None, Some(opaque)) => (out.tone(Tone::Warn, "opaque"), opaque.clone()),
        (None, None) => (out.tone(Tone::Good, "runs  "), decision.unwrap_or_default()),
    };
    let place = out.tone(
        Tone::Dim,
        &safe(&format!("{}:{}", it.source.file, it.source.line)),
    );
    out.line(&format!(
        "{mark}  {:<24} {}  {place}",
        shorten_text(&it.hook, 24),
        safe(&why)
    ));
    // With one rule, the line above says it all, unless that is why it runs.
    let says_more = it.rules.len() > 1 || it.kept_out_by.is_none() && it.opaque.is_none();
    let (mut n_missed, mut n_in_doubt, mut doubts) = (0, 0, HashSet::new());
    for rule in it.rules.iter().filter(|_| says_more) {
        n_missed += usize::from(rule.holds == Some(false));
        n_in_doubt += usize::from(rule.holds.is_none());
        // A long list of rules that miss hides the one that holds, and mostly one part of a call
        // puts all of them in doubt.
        let (word, is_shown) = match rule.holds {
            Some(true) => ("holds", true),
            Some(false) => ("misses", n_missed <= MAX_MISSES),
            None => ("doubt", doubts.insert(&rule.why)),
        };
        if is_shown {
            let told = format!(
                "        {:<6} {word:<6} {}: {}",
                rule.field, rule.rule, rule.why
            );
            out.line(&out.tone(Tone::Dim, &safe(&told)));
        }
    }
    let n_more = n_missed.saturating_sub(MAX_MISSES);
    let verb = if n_more == 1 { "misses" } else { "miss" };
    for (n, what) in [
        (n_more, verb),
        (n_in_doubt - doubts.len(), "in doubt for the same reason"),
    ] {
        if n > 0 {
            let more = format!(
                "        {} {what} (--format json shows them)",
                number_of(n, "more rule")
            );
            out.line(&out.tone(Tone::Dim, &more));
        }
    }
    let is_verdict =
        matches!(it.decision, Some(Decision::Deny | Decision::Ask)) && it.kept_out_by.is_none();
    let way = match &it.exception {
        Some(exception) => Some(format!("it passes with `unless: {exception}`")),
        None if it.opaque.is_some() => Some(
            "it can be told of a call that shows all it does: no computed words, no code in another language".into(),
        ),
        None => None,
    };
    for way in way.into_iter().filter(|_| is_verdict) {
        out.line(&out.tone(Tone::Dim, &safe(&format!("        {way}"))));
    }
}
