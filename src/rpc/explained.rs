//! How `hooks/explain` comes to its result.

use super::protocol::{
    ExplainResult, Explanation, PolicyExplanation, ReadCommand, RuleExplanation,
};
use crate::always;
use hookwire_base::verdict::Decision;
use hookwire_dialects as dialects;
use hookwire_engine::engine;
use hookwire_engine::hook::Hook;
use hookwire_rules::contract::Contract;
use hookwire_rules::matching::Facts;
use hookwire_rules::matching::call::Subject;
use hookwire_rules::matching::recent::ReadText;
use hookwire_rules::policy::{self, Policy};
use std::sync::Arc;

impl ExplainResult {
    /// Asks hooks and policies as selection does, and says of each what came out. The hooks that
    /// are for the event come first, in the order in which the event's sender has them run.
    pub fn new<'a>(
        hooks: impl Iterator<Item = &'a Arc<Hook>>,
        policies: &[Arc<Policy>],
        broken: &[String],
        facts: &Facts,
    ) -> ExplainResult {
        let hooks =
            engine::in_running_order(hooks, Some(&facts.event.name), sender_contract(facts));
        let policies = policies
            .iter()
            .filter(|_| policy::is_tool_request(&facts.event));
        let policy = policies
            .map(|policy| PolicyExplanation {
                source: policy.source.clone(),
                denies: policy.refusal(facts).map(|refusal| refusal.reason),
            })
            .collect();
        let commands = read_commands(facts);
        let mut unseen: Vec<String> = Vec::new();
        let hooks = hooks
            .iter()
            .map(|hook| explain_hook(hook, facts, &commands, &mut unseen))
            .collect();
        ExplainResult {
            acts: if facts.tool().is_some() {
                facts.acts_told()
            } else {
                Vec::new()
            },
            broken: broken.to_vec(),
            policy,
            hooks,
            commands,
            unseen,
            notices: Vec::new(),
            generation: None,
            hash: None,
        }
    }
}

/// The vocabulary of whoever has sent the event.
fn sender_contract(facts: &Facts) -> &'static Contract {
    let original = facts
        .event
        .original
        .as_ref()
        .and_then(|original| dialects::by_name(original.dialect).ok());
    &original.unwrap_or(dialects::native()).contract
}

fn explain_hook(
    hook: &Arc<Hook>,
    facts: &Facts,
    commands: &[ReadCommand],
    unseen: &mut Vec<String>,
) -> Explanation {
    let (applies, kept_out_by, opaque) = match hook.applies(facts) {
        Ok(doubt) => (true, None, doubt.map(|doubt| doubt.why.to_string())),
        Err(failed) => (false, Some(hook.miss(failed, facts)), None),
    };
    // What an event or a matcher keeps out isn't asked for more.
    let is_rule = kept_out_by
        .as_ref()
        .is_none_or(|kept_out_by| matches!(&*kept_out_by.test, "if" | "unless" | "where" | "when"));
    let rules = if is_rule {
        hook.rules(facts)
    } else {
        Vec::new()
    };
    for text in rules
        .iter()
        .filter_map(|(_, _, found)| found.unseen.as_ref())
    {
        if !unseen.contains(text) {
            unseen.push(text.clone());
        }
    }
    let rules = rules
        .into_iter()
        .map(|(field, rule, found)| RuleExplanation {
            field: field.into(),
            rule: rule.text().to_string(),
            holds: found.holds,
            why: found.why,
            unseen: found.unseen,
        });
    let rules = rules.collect();
    let decision = hook.handler.fixed().map(|(decision, _)| decision);
    // What stands in for a broken definition always fails, and says what that means.
    let decision = decision.or_else(|| hook.is_broken().then_some(Decision::Deny));
    let exception = if applies {
        narrowest_exception(hook, facts, commands)
    } else {
        None
    };
    let (observe, hook, source) = (hook.observe, hook.name.clone(), hook.source.clone());
    Explanation {
        hook,
        source,
        applies,
        kept_out_by,
        opaque,
        decision,
        exception,
        observe,
        rules,
    }
}

/// The narrowest exception that lets the call pass a fixed deny or ask.
fn narrowest_exception(hook: &Hook, facts: &Facts, commands: &[ReadCommand]) -> Option<String> {
    if !hook.is_verdict() || hook.tools.rules.is_empty() {
        return None;
    }
    let commands: Vec<String> = commands.iter().map(|it| it.command.clone()).collect();
    let [exception] = <[String; 1]>::try_from(always::narrowest(hook, facts, &commands)?).ok()?;
    Some(exception)
}

/// The commands that were read out of a tool's call.
pub(super) fn read_commands(facts: &Facts) -> Vec<ReadCommand> {
    if facts.event.tool_name().is_none() {
        return Vec::new();
    }
    // Several definitions may read one text.
    let mut scripts: Vec<&Arc<ReadText>> = Vec::new();
    for subject in facts.all_calls().flat_map(|call| &call.alternatives) {
        match subject {
            Subject::Shell { script, .. } if !scripts.iter().any(|it| Arc::ptr_eq(it, script)) => {
                scripts.push(script)
            }
            Subject::Shell { .. } | Subject::Items(_) | Subject::Unclear(_) => {}
        }
    }
    scripts
        .into_iter()
        .flat_map(|script| script.commands())
        .map(|command| ReadCommand {
            command: command.normal(),
            start: command.span.start,
            end: command.span.end,
        })
        .collect()
}
