//! Which programs the hooks in force ask about when they start, so that whoever watches all starts asks about no others.

use crate::event::{On, PRE_EXEC};
use crate::hook::Hook;
use crate::hook_set::HookSet;
use crate::matching::rule::ToolRule;
use crate::matching::shell::{program_names, programs_of_files, starts_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The programs that hooks and policies in force name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedPrograms {
    /// The generation in force.
    pub generation: u64,
    /// Each program may be named: a rule begins with a wildcard, or a hook is for all starts.
    pub every: bool,
    /// Their names without a directory, sorted. A file of one of these names, by whatever name it is started, is asked
    /// about too.
    #[schemars(with = "Vec<String>")]
    pub names: BTreeSet<String>,
}

impl NamedPrograms {
    /// Of a set of hooks.
    pub fn of(set: &HookSet) -> NamedPrograms {
        let mut named = NamedPrograms { generation: set.generation, ..NamedPrograms::default() };
        for hook in set.hooks.iter().filter(|hook| hook.enabled) {
            named.add_hook(hook);
        }
        for policy in &set.policies {
            named.every |= policy.is_broken();
            policy.denied().filter(|rule| !rule.is_for_all_calls()).for_each(|rule| named.add_rule(rule, true));
        }
        named
    }

    fn add_hook(&mut self, hook: &Hook) {
        let is_own = matches!(&hook.on, On::Names(_)) && hook.on.is_for(PRE_EXEC);
        if !is_own && !hook.judges_starts() {
            return;
        }
        if hook.handler.judges_starts() {
            self.names.extend(program_names().map(str::to_string));
            return;
        }
        self.every |= hook.tools.rules.is_empty();
        hook.tools.rules.iter().for_each(|rule| self.add_rule(rule, hook.judges_acts()));
    }

    fn add_rule(&mut self, rule: &ToolRule, judges_acts: bool) {
        if judges_acts && rule.is_about_files() {
            self.names.extend(programs_of_files().map(str::to_string));
        }
        let commands = rule.commands();
        // A rule over a whole text may be about any.
        self.every |= commands.is_empty() && rule.is_about("Bash");
        for program in commands.iter().map(|it| it.program()) {
            match program {
                Some(program) => {
                    self.names.insert(program.into());
                    self.names.extend(starts_of(program).map(str::to_string));
                }
                None => self.every = true,
            }
        }
    }
}
