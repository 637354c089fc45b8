//! Which programs the hooks in force ask about when they start, so that whoever watches all starts
//! asks about no others.

use crate::hook::Hook;
use crate::hook_set::HookSet;
use hookwire_base::event::{On, PRE_EXEC};
use hookwire_rules::matching::rule::ToolRule;
use hookwire_rules::matching::shell::{
    program_names, programs_of_files, programs_of_hosts, starts_of,
};
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
    /// Their names without a directory, sorted. A file of one of these names, by whatever name it
    /// is started, is asked about too.
    #[schemars(with = "Vec<String>")]
    pub names: BTreeSet<String>,
}

/// What the rules of a set are about, before the table of programs is asked once for all of them.
#[derive(Default)]
struct Asked<'s> {
    every: bool,
    known: bool,
    with_files: bool,
    with_hosts: bool,
    programs: BTreeSet<&'s str>,
}

impl NamedPrograms {
    /// Of a set of hooks.
    pub fn of(set: &HookSet) -> NamedPrograms {
        let mut asked = Asked::default();
        set.hooks
            .iter()
            .filter(|hook| hook.enabled)
            .for_each(|hook| asked.add_hook(hook));
        for policy in &set.policies {
            asked.every |= policy.is_broken();
            policy
                .denied()
                .filter(|rule| !rule.is_for_all_calls())
                .for_each(|rule| asked.add_rule(rule, true));
        }
        let mut names: BTreeSet<String> = asked.programs.iter().map(|it| it.to_string()).collect();
        if !asked.programs.is_empty() {
            names.extend(starts_of(|program| asked.programs.contains(program)).map(str::to_string));
        }
        if asked.with_files {
            names.extend(programs_of_files().map(str::to_string));
        }
        if asked.with_hosts {
            names.extend(programs_of_hosts().map(str::to_string));
        }
        if asked.known {
            names.extend(program_names().map(str::to_string));
        }
        NamedPrograms {
            generation: set.generation,
            every: asked.every,
            names,
        }
    }
}

impl<'s> Asked<'s> {
    fn add_hook(&mut self, hook: &'s Hook) {
        let is_own = matches!(&hook.on, On::Names(_)) && hook.on.is_for(PRE_EXEC);
        if !is_own && !hook.judges_starts() {
            return;
        }
        if hook.handler.judges_starts() {
            self.known = true;
            return;
        }
        self.every |= hook.tools.rules.is_empty();
        hook.tools
            .rules
            .iter()
            .for_each(|rule| self.add_rule(rule, hook.judges_acts()));
    }

    fn add_rule(&mut self, rule: &'s ToolRule, judges_acts: bool) {
        self.with_files |= judges_acts && rule.is_about_files();
        self.with_hosts |= rule.is_about_hosts();
        let commands = rule.commands();
        // A rule over a whole text may be about any.
        self.every |= commands.is_empty() && rule.is_about("Bash");
        for program in commands.iter().map(|it| it.program()) {
            self.every |= program.is_none();
            self.programs.extend(program);
        }
    }
}
