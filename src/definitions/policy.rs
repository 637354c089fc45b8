//! A file's `policy` becomes one that tool calls are held against.

use super::origin::Origin;
use super::written::{Mistakes, RawLimits, RawPolicy};
use crate::matching::rule::ToolRule;
use crate::policy::Policy;
use crate::syntax::diagnostic::{LineIndex, Position};
use crate::syntax::node::{Entry, NodeValue};
use crate::syntax::problem::Problem;
use crate::syntax::source::Source;
use crate::syntax::values::{OneOrMany, RawDuration};
use std::num::NonZeroU64;

/// A policy with a mistake allows nothing until it is fixed.
pub(super) fn policy(entry: &Entry, origin: &Origin<'_>, lines: &LineIndex<'_>, mistakes: &mut Mistakes) -> Policy {
    let Position { line, column } = lines.position(entry.key_span.start);
    let source = Source { layer: origin.layer, file: origin.file.into(), line, column, position: 0 };
    let before = mistakes.found.len();
    let RawPolicy { deny, allow, limits, sandbox } = RawPolicy::read(entry, mistakes);
    let mut policy = Policy::at(source);
    if allow.is_some() {
        policy = policy.allow_nothing_else();
    }
    type Add = fn(Policy, &str) -> Result<Policy, String>;
    for (key, rules, add) in [("deny", deny, Policy::deny as Add), ("allow", allow, Policy::allow)] {
        let node = entry.value.get(key).unwrap_or(&entry.value);
        for (n, rule) in rules.iter().flat_map(OneOrMany::iter).enumerate() {
            policy = match (ToolRule::new(rule), &node.value) {
                (Ok(_), _) => add(policy, rule).unwrap_or_else(|problem| Policy::new().broken(problem)),
                (Err(message), value) => {
                    let item = if let NodeValue::Seq(items) = value { items.get(n) } else { None };
                    mistakes.push(Problem::error(&item.unwrap_or(node).span, "bad-rule", message));
                    policy
                }
            };
        }
    }
    let RawLimits { max_calls, timeout, max_output_bytes } = limits;
    policy = max_calls.map(NonZeroU64::get).into_iter().fold(policy, Policy::max_calls);
    policy = timeout.map(RawDuration::get).into_iter().fold(policy, Policy::timeout);
    policy = max_output_bytes.into_iter().fold(policy, Policy::max_output_bytes);
    policy = sandbox.into_iter().fold(policy, Policy::sandbox);
    match mistakes.found.get(before) {
        Some(problem) => policy.broken(problem.message.clone()),
        None => policy,
    }
}
