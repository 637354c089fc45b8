//! How `hooks/explain` comes to its result.

use super::protocol::{ExplainResult, Explanation, PolicyExplanation, ReadCommand, RuleExplanation};
use crate::contract::Contract;
use crate::dialects;
use crate::engine;
use crate::hook::Hook;
use crate::matching::Facts;
use crate::matching::call::Subject;
use crate::matching::shell::{Command, Script};
use crate::policy::{self, Policy};
use std::sync::Arc;

impl ExplainResult {
    /// Asks hooks and policies as selection does, and says of each what came out. The hooks that are for the event come
    /// first, in the order in which the event's sender has them run.
    pub fn new<'a>(
        hooks: impl Iterator<Item = &'a Arc<Hook>>,
        policies: &[Arc<Policy>],
        broken: &[String],
        facts: &Facts,
    ) -> ExplainResult {
        let hooks = engine::in_running_order(hooks, Some(&facts.event.name), sender(facts));
        let policies = policies.iter().filter(|_| policy::is_tool_request(&facts.event));
        let policy = policies
            .map(|policy| PolicyExplanation {
                source: policy.source.clone(),
                denies: policy.refusal(facts).map(|it| it.reason),
            })
            .collect();
        ExplainResult {
            commands: commands(facts),
            acts: if facts.tool().is_some() { facts.acts_told() } else { Vec::new() },
            broken: broken.to_vec(),
            policy,
            hooks: hooks.iter().map(|hook| explain(hook, facts)).collect(),
            notices: Vec::new(),
            generation: None,
            hash: None,
        }
    }
}

/// The vocabulary of whoever has sent the event.
fn sender(facts: &Facts) -> &'static Contract {
    let original = facts.event.original.as_ref().and_then(|it| dialects::by_name(it.dialect).ok());
    &original.unwrap_or(dialects::native()).contract
}

fn explain(hook: &Arc<Hook>, facts: &Facts) -> Explanation {
    let (applies, kept_out_by, opaque) = match hook.applies(facts) {
        Ok(doubt) => (true, None, doubt.map(|doubt| doubt.why.into_owned())),
        Err(failed) => (false, Some(hook.miss(failed, facts)), None),
    };
    // What an event or a matcher keeps out isn't asked for more.
    let is_rule = kept_out_by.as_ref().is_none_or(|it| matches!(&*it.test, "if" | "unless" | "when"));
    let rules = if is_rule { hook.rules(facts) } else { Vec::new() };
    let rules = rules.into_iter().map(|(field, rule, found)| RuleExplanation {
        field: field.into(),
        rule: rule.text().to_string(),
        holds: found.holds,
        why: found.why,
    });
    let rules = rules.collect();
    let decision = hook.handler.fixed().map(|(decision, _)| decision);
    let (observe, hook, source) = (hook.observe, hook.name.clone(), hook.source.clone());
    Explanation { hook, source, applies, kept_out_by, opaque, decision, observe, rules }
}

/// The commands that were read out of a tool's call.
fn commands(facts: &Facts) -> Vec<ReadCommand> {
    if facts.event.tool_name().is_none() {
        return Vec::new();
    }
    // Several definitions may read one text.
    let mut scripts: Vec<&Arc<Script>> = Vec::new();
    for subject in facts.all_calls().flat_map(|call| &call.alternatives) {
        match subject {
            Subject::Shell { script, .. } if !scripts.iter().any(|it| Arc::ptr_eq(it, script)) => scripts.push(script),
            Subject::Shell { .. } | Subject::Items(_) | Subject::Unclear(_) => {}
        }
    }
    let read =
        |command: &Command| ReadCommand { command: command.normal(), start: command.span.start, end: command.span.end };
    scripts.into_iter().flat_map(|script| script.commands()).map(read).collect()
}
