//! What a set of rules would do, shown by examples: cases of the rules, judged by a real host that
//! has the whole set.

use super::super::Failure;
use super::super::output::{Output, Tone, shorten_text};
use super::super::sample_host::SampleHost;
use hookwire_base::support::places;
use hookwire_base::verdict::Decision;
use hookwire_engine::definitions::cases::{self, Case, Scene};
use hookwire_engine::definitions::cookbook::{Rule, Set};
use serde_json::json;

/// A longer command tells people less.
const MOST_CHARS: usize = 44;
/// Of each rule, so many cases are tried until there are examples enough.
const MOST_TRIED: usize = 48;
/// More lines of a kind nobody reads.
const MOST_OF_KIND: usize = 8;
/// The session of the examples.
const SESSION: &str = "preview";

/// A command, and what the set says about it.
pub(super) struct Example {
    pub(super) decision: Decision,
    pub(super) command: String,
    pub(super) rule: &'static str,
}

/// Examples of what a set does.
///
/// # Errors
/// No host can be built in a directory of its own.
pub(super) fn examples(set: &Set) -> Result<Vec<Example>, Failure> {
    let host = SampleHost::new(set.rules().flat_map(|rule| set.files_of(rule)))?;
    Ok(set.rules().flat_map(|rule| of_rule(rule, &host)).collect())
}

/// The first case of a rule that is stopped, the first that is asked about, and the first that
/// passes.
fn of_rule(rule: &'static Rule, host: &SampleHost) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    // A scene that has to be set first is elsewhere.
    let cases = cases::read(rule.name, rule.cases())
        .ok()
        .filter(|cases| cases.setup.is_none());
    for case in cases.iter().flat_map(|cases| &cases.cases).take(MOST_TRIED) {
        let Some((command, decision)) = judged(case, host) else {
            continue;
        };
        if !found.iter().any(|it| it.decision == decision) {
            found.push(Example {
                decision,
                command,
                rule: rule.name,
            });
        }
    }
    found
}

/// A case that is one short command, and what is decided about it.
fn judged(case: &Case, host: &SampleHost) -> Option<(String, Decision)> {
    let home = places::home().unwrap_or_else(|| "/".into());
    let scene = Scene {
        dir: host.work(),
        home: &home,
        files: host.beside(),
        session: SESSION,
    };
    let [happening] = <[_; 1]>::try_from(case.happenings(&scene).ok()?).ok()?;
    let command = happening.event.text("/tool/input/command")?.to_string();
    if &*happening.event.name != "PreToolUse"
        || command.contains('\n')
        || command.chars().count() > MOST_CHARS
    {
        return None;
    }
    let decision = host.judge(happening.dialect, &happening.event);
    Some((command, decision))
}

/// Prints what is stopped, asked about, and let pass.
pub(super) fn show(set: &Set, examples: &[Example], out: &mut Output) {
    if out.json {
        for it in examples {
            out.json(
                &json!({ "example": it.command, "decision": it.decision, "rule": it.rule, "observes": set.observes() }),
            );
        }
        return;
    }
    let heads = if set.observes() {
        ["Would be stopped", "Would be asked about", "Would pass"]
    } else {
        ["Is stopped", "Is asked about", "Passes"]
    };
    let kinds = [Decision::Deny, Decision::Ask, Decision::Allow];
    for (head, decision) in heads.into_iter().zip(kinds) {
        let mut of_kind: Vec<&Example> = examples
            .iter()
            .filter(|it| it.decision == decision)
            .collect();
        if decision == Decision::Ask {
            // A rule that is there to ask comes before one that is in doubt.
            let denies = |it: &&Example| {
                let mut denied = examples.iter().filter(|it| it.decision == Decision::Deny);
                denied.any(|other| other.rule == it.rule)
            };
            of_kind.sort_by_key(denies);
        }
        of_kind.truncate(MOST_OF_KIND);
        if of_kind.is_empty() {
            continue;
        }
        let head = out.tone(Tone::of_decision(decision), head);
        out.line(&head);
        for it in of_kind {
            let rule = match decision {
                Decision::Allow => String::new(),
                Decision::Deny | Decision::Ask | Decision::Defer => {
                    out.tone(Tone::Dim, &format!("  {}", it.rule))
                }
            };
            let command = shorten_text(&it.command, MOST_CHARS);
            let width = if rule.is_empty() { 0 } else { MOST_CHARS };
            out.line(&format!("  {command:<width$}{rule}"));
        }
    }
}
