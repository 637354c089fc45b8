//! Which conditions and failures of the hooks the cases reach.

use hookwire_base::verdict::Verdict;
use hookwire_engine::hook::Condition;
use hookwire_engine::hook_set::HookSet;
use hookwire_rules::matching::Facts;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each hook's rules, sides of `when` and failures, and whether a case has reached them.
#[derive(Default)]
pub(super) struct Coverage(pub(super) BTreeMap<(Arc<str>, String), bool>);

impl Coverage {
    /// Notes what an event and its verdict reach of every hook.
    pub(super) fn note_reach(&mut self, hooks: &HookSet, facts: &Facts, verdict: &Verdict) {
        for hook in &hooks.hooks {
            let mut reach = |part: String, is_reached: bool| {
                *self.0.entry((hook.name.clone(), part)).or_default() |= is_reached;
            };
            let applies = hook.applies(facts);
            let is_asked = matches!(applies, Ok(_) | Err(Condition::Rule | Condition::When));
            let mut is_hit = None;
            for (field, rule, found) in hook.rules(facts) {
                let may_hold = found.holds != Some(false);
                // A doubt reaches no rule of `if`: `$CMD` would reach every one about commands.
                let is_reached = if field == "if" {
                    found.holds == Some(true)
                } else {
                    may_hold
                };
                reach(format!("{field}: {}", rule.text()), is_asked && is_reached);
                if field == "if" {
                    is_hit = Some(may_hold || is_hit == Some(true));
                }
            }
            // A rule that was never seen to miss may hold for everything.
            if let Some(is_hit) = is_hit {
                reach("if: none holds".into(), is_asked && !is_hit);
            }
            if hook.when.is_some() {
                reach("when: true".into(), applies.is_ok());
                reach(
                    "when: false".into(),
                    matches!(applies, Err(Condition::When)),
                );
            }
            if let (None, Some(fail)) = (hook.handler.fixed(), hook.fail) {
                reach(
                    format!("fail: {}", fail.as_str()),
                    verdict
                        .outcomes
                        .iter()
                        .any(|outcome| outcome.hook == hook.name && outcome.error.is_some()),
                );
            }
        }
    }

    pub(super) fn unreached(&self) -> impl Iterator<Item = &(Arc<str>, String)> {
        self.0
            .iter()
            .filter(|(_, is_reached)| !**is_reached)
            .map(|(part, _)| part)
    }
}
