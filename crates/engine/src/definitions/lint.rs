//! Warnings of definitions that are well-formed, but probably not what their author means.

use super::rules::Vocabulary;
use super::written::Mistakes;
use super::{excepted, replies, rule_places, rules, slips};
use crate::hook::Hook;
use hookwire_base::event::{CUSTOM_PREFIX, Event, EventSpec, On, Phase, may_be_about_a_tool, spec};
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::fix::{Edit, Fix, Place};
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::template::{self, PATHS, Style, Template};
use hookwire_base::verdict::Decision;
use hookwire_dialects::{self as dialects, EventRow};
use hookwire_handlers::handlers::{self, Handler, Means, Obstacle, rewrite};
use hookwire_rules::contract::{Composition, Fail, NATIVE};
use hookwire_rules::matching::cel::Held;
use hookwire_rules::matching::rule::{Reading, ToolRule};
use hookwire_rules::matching::tools::{self, ArgumentKind, DeclaredTool, TOOLS, Tool};
use hookwire_rules::matching::when::{ACT, When};
use hookwire_rules::matching::{Matcher, MatcherRule, ToolNaming};
use std::cell::LazyCell;
use std::sync::Arc;
use std::time::Duration;

/// A hook that is looked at.
struct Lint<'a> {
    hook: &'a Hook,
    /// Its definition.
    node: &'a Node,
    /// Its matcher as written.
    matcher: Option<&'a str>,
    /// The file.
    text: &'a str,
    /// The events that it names; none if it is for all.
    events: &'a [Arc<str>],
    /// The names that the file adds to families of tools.
    declared: &'a [DeclaredTool],
    mistakes: &'a mut Mistakes,
}

/// Warns of what can hardly be meant in a hook that was made of `node`, with this matcher, in a
/// file of this text and with these names of tools, and of what can't work with these means.
pub(super) fn lint(
    hook: &Hook,
    node: &Node,
    matcher: Option<&str>,
    text: &str,
    declared: &[DeclaredTool],
    means: Option<&Means>,
    mistakes: &mut Mistakes,
) {
    let events = match &hook.on {
        On::Names(names) => &names[..],
        On::Every => &[],
    };
    let mut lint = Lint {
        hook,
        node,
        matcher,
        text,
        events,
        declared,
        mistakes,
    };
    lint.guard_without_effect();
    lint.timeout_before_wait();
    lint.priority_without_effect();
    lint.agents_that_are_dialects();
    lint.placeholders_that_nothing_fills();
    lint.placeholders_of_other_tools();
    lint.rewrite_without_effect();
    lint.tool_conditions_without_tool();
    lint.tool_names();
    lint.event_names_in_matcher();
    lint.matcher_in_the_form_of_if();
    lint.matcher_in_the_form_of_a_glob();
    lint.matcher_that_no_name_fits();
    lint.matcher_of_events_that_ends_early();
    lint.rules();
    lint.exceptions();
    lint.delegates_without_commands();
    lint.home_that_nothing_expands();
    let slips = lint.misspelt_members();
    lint.misspelt_placeholders();
    lint.unguarded_when(&slips);
    lint.undecidable_when();
    lint.when_of_other_events();
    lint.texts_in_when();
    lint.verdict_without_effect();
    lint.reach_without_effect();
    lint.observe_without_effect();
    lint.paths_that_may_be_options();
    lint.variables_without_quotes();
    lint.replies_without_effect();
    lint.no_fail_direction();
    means.into_iter().for_each(|means| lint.obstacle(means));
    if let Some(means) = means.filter(|means| means.may_start) {
        rule_places::lint(hook, node, &means.root, mistakes);
    }
}

impl<'a> Lint<'a> {
    fn at(&self, key: &str) -> &Span {
        self.node.get(key).map_or(&self.node.span, |it| &it.span)
    }

    /// A field's name as the file has it: other systems have names of their own for some.
    fn written<'k>(&self, key: &'k str) -> &'k str
    where
        Self: 'k,
    {
        let written = self
            .node
            .entry(key)
            .and_then(|entry| self.text.get(entry.key_span.clone()));
        let written = written.map(|it| it.trim_matches(['"', '\'']));
        written
            .filter(|it| {
                !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
            .unwrap_or(key)
    }

    fn warn(&mut self, problem: Problem) {
        self.mistakes.push(problem);
    }

    fn never_matches(&self, key: &str, message: String) -> Problem {
        Problem::warning(self.at(key), "never-matches", message)
    }

    /// A shell text that gives the event's path to a program where it may be read as an option.
    fn paths_that_may_be_options(&mut self) {
        let Some(command) = self
            .node
            .get("command")
            .filter(|_| self.hook.contract.dialect == NATIVE)
        else {
            return;
        };
        let run = command.get("run").unwrap_or(command);
        let Some(operand) = run.text().and_then(slips::unguarded_path) else {
            return;
        };
        let message = format!("`{operand}` may begin with `-`, and would be read as an option");
        let help = "write `-- \"$tool_input_path\"`, or put `./` before what begins with `-`";
        self.warn(Problem::warning(&run.span, "path-as-option", message).help(help));
    }

    /// A shell text in which a value of the event becomes several words.
    fn variables_without_quotes(&mut self) {
        let Some(command) = self.node.get("command") else {
            return;
        };
        let run = command.get("run").unwrap_or(command);
        let Some(name) = run.text().and_then(slips::unquoted_variable) else {
            return;
        };
        let is_told = self.hook.contract.dialect == NATIVE
            && run
                .text()
                .and_then(slips::unguarded_path)
                .is_some_and(|operand| !operand.starts_with('"'));
        if !is_told {
            let message =
                format!("`${name}` has no quotes: a value with blanks becomes several words");
            let problem = Problem::warning(&run.span, "unquoted-variable", message);
            self.warn(problem.help(format!("write `\"${name}\"`")));
        }
    }

    /// A reply that is written down and isn't understood: its "no" would never stop anything. The
    /// five systems whose documents say what such a reply counts as keep to them.
    fn replies_without_effect(&mut self) {
        let contract = self.hook.contract;
        let is_agents = dialects::by_name(contract.dialect).is_ok_and(|it| it.agent.is_some());
        if contract.dialect != NATIVE && !is_agents {
            return;
        }
        let (place, found) = if let Some(command) = self.node.get("command") {
            let run = command.get("run").unwrap_or(command);
            if command
                .get("stdout")
                .and_then(Node::text)
                .is_some_and(|it| it != "reply")
            {
                return;
            }
            let arguments = run.items().iter().filter_map(Node::text);
            (
                run,
                run.text().map_or_else(
                    || replies::printed_by(arguments).into_iter().collect(),
                    replies::printed,
                ),
            )
        } else if let Some(script) = self.node.get("script") {
            let code = script.get("code").unwrap_or(script);
            (code, code.text().map(replies::returned).unwrap_or_default())
        } else {
            return;
        };
        let names = if self.events.is_empty() {
            &[Arc::from("PreToolUse")][..]
        } else {
            self.events
        };
        let wrong = found.into_iter().find_map(|reply| {
            names.iter().find_map(|name| {
                let event =
                    serde_json::json!({"event": &**name, "tool": {"name": "unknown", "input": {}}});
                (contract.reply)(&Event::from_json(event).ok()?, reply.clone()).err()
            })
        });
        if let Some(wrong) = wrong {
            let wrong = wrong.strip_prefix("read the reply: ").unwrap_or(&wrong);
            let message = format!("a reply of it counts as a failure: {wrong}");
            self.warn(Problem::warning(&place.span, "never-decides", message));
        }
    }

    fn guard_without_effect(&mut self) {
        let Handler::Guard(guard) = &self.hook.handler else {
            return;
        };
        let Some(row) = guard.row() else { return };
        let acts = |name: &str| spec(name).is_none_or(|spec| guard.acts_as_set(spec));
        let idle: Vec<_> = self
            .events
            .iter()
            .filter(|name| !acts(name))
            .map(|name| format!("`{name}`"))
            .collect();
        // Other systems count by themselves.
        let specs = self
            .events
            .iter()
            .filter(|_| self.hook.contract.dialect == NATIVE)
            .map(|name| spec(name));
        let specs: Option<Vec<_>> = specs.collect();
        let learns = |specs: &[&EventSpec]| {
            row.learns_at
                .is_none_or(|learns_at| specs.iter().any(|it| learns_at(it)))
        };
        let message = if !idle.is_empty() {
            Some(format!(
                "`{}` can do nothing at {}",
                row.name,
                idle.join(" and ")
            ))
        } else if specs.is_some_and(|specs| !specs.is_empty() && !learns(&specs)) {
            Some(format!(
                "`{}` counts at PostModelCall, which `on` leaves out",
                row.name
            ))
        } else {
            None
        };
        if let Some(message) = message {
            let problem = Problem::warning(self.at("on"), "idle-guard", message);
            let natural: Vec<_> = row
                .events
                .iter()
                .copied()
                .filter(|name| acts(name))
                .collect();
            let problem = problem.help(format!("leave out `on` for {}", natural.join(", ")));
            self.warn(problem.fix(Fix::new("Leave out `on`", Edit::Remove("on".into()))));
        }
    }

    /// A limit that ends a run before what its definition waits for.
    fn timeout_before_wait(&mut self) {
        let Handler::Guard(guard) = &self.hook.handler else {
            return;
        };
        let wait = self
            .node
            .get("guard")
            .and_then(|it| it.get(guard.name()))
            .and_then(|it| it.get("wait"));
        let (Some(wait), Some(needed)) = (wait, self.hook.handler.default_timeout()) else {
            return;
        };
        if self.hook.timeout + Duration::from_secs(1) < needed {
            let limit = humantime::format_duration(self.hook.timeout);
            let written = self.text.get(wait.span.clone()).unwrap_or_default();
            let message =
                format!("the hook's `timeout` ({limit}) ends it before its `wait` ({written})");
            let place = self.node.get("timeout").unwrap_or(wait);
            self.warn(
                Problem::warning(&place.span, "short-timeout", message)
                    .help("give it a longer `timeout`, or none"),
            );
        }
    }

    /// A priority in a vocabulary whose hooks run in an order that no priority changes.
    fn priority_without_effect(&mut self) {
        let Some(written) = self.node.get("priority") else {
            return;
        };
        let contract = self.hook.contract;
        let order = match contract.composition {
            Composition::Onion | Composition::Pipeline | Composition::Middleware => return,
            Composition::Veto => "in the order of the file",
            Composition::Parallel => "all at once",
        };
        let message = format!(
            "`priority` changes nothing: hooks of `{}` run {order}",
            contract.dialect
        );
        let problem = Problem::warning(&written.span, "idle-priority", message);
        self.warn(problem.fix(Fix::new(
            "Leave out `priority`",
            Edit::Remove("priority".into()),
        )));
    }

    /// A rewrite at events that have nothing to rewrite, or of something else than what they have.
    fn rewrite_without_effect(&mut self) {
        let Handler::Rewrite(rewrite) = &self.hook.handler else {
            return;
        };
        let specs = || {
            self.events
                .iter()
                .filter_map(|name| Some((name, spec(name)?.subject)))
        };
        let idle: Vec<_> = specs()
            .filter(|(_, subject)| subject.is_none())
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let elsewhere = rewrite.member().and_then(|(member, keys)| {
            let leads_elsewhere =
                |(_, subject): &(_, &str)| rewrite::within_subject(member, subject).is_none();
            let (name, subject) = specs()
                .filter_map(|(name, subject)| Some((name, subject?)))
                .find(leads_elsewhere)?;
            let node = keys
                .iter()
                .try_fold(self.node.get("rewrite")?, |node, key| node.get(key))?;
            Some((member, name, rewrite::written(subject), node))
        });
        let elsewhere = elsewhere.map(|(member, name, subject, node)| {
            let message = format!("`{member}` is not what hooks can rewrite at {name}");
            let of_text = format!("`replace: {{ member: {subject}, pattern: ..., with: ... }}`");
            Problem::warning(&node.span, "idle-rewrite", message).help(match rewrite {
                rewrite::Rewrite::Commands { .. } => {
                    format!("a command is changed at PreToolUse; here, write {of_text}")
                }
                _ => format!("write `{subject}`, or a member of it"),
            })
        });
        if !idle.is_empty() {
            let message = format!("there is nothing to rewrite at {}", idle.join(" and "));
            self.warn(Problem::warning(self.at("on"), "idle-rewrite", message));
        }
        elsewhere.into_iter().for_each(|problem| self.warn(problem));
        let program = self.node.get("rewrite").and_then(|it| it.get("program"));
        if let Some((node, slip)) =
            program.and_then(|it| Some((it, rules::of_program(it.text()?)?)))
        {
            self.warn(slip.problem(&node.span, true));
        }
        self.patch_of_something_else();
    }

    /// A patch that says nothing, that repeats the way to what it is over, or that misspells an
    /// argument.
    fn patch_of_something_else(&mut self) {
        let Some(patch) = self.node.get("rewrite").and_then(|it| it.get("patch")) else {
            return;
        };
        let NodeValue::Map(entries) = &patch.value else {
            return;
        };
        if entries.is_empty() {
            return self.warn(Problem::warning(
                &patch.span,
                "idle-rewrite",
                "an empty `patch` changes nothing",
            ));
        }
        let subjects = self.events.iter().filter_map(|name| spec(name)?.subject);
        let subject = subjects.map(rewrite::written).find(|subject| {
            subject
                .split('.')
                .try_fold(patch, |at, key| at.get(key))
                .is_some()
        });
        if let Some(subject) = subject {
            let first = subject.split('.').next().and_then(|key| patch.entry(key));
            let message = format!(
                "`patch` is over `{subject}` already, and would make another `{subject}` in it"
            );
            let problem = Problem::warning(
                first.map_or(&patch.span, |it| &it.key_span),
                "idle-rewrite",
                message,
            );
            return self.warn(problem.help(match subject.contains('.') {
                true => format!("write what stands within `{subject}`"),
                false => format!("a text has no members: `replace: {{ member: {subject}, pattern: ..., with: ... }}`"),
            }));
        }
        let tools = self.known_tools();
        for entry in entries {
            if let Some(subject) = self.subject_repeated_by(entry, &tools) {
                let message = format!(
                    "`patch` is over `{subject}` already, and has no member `{}`",
                    entry.key
                );
                let rest = entry.key.strip_prefix(&format!("{subject}."));
                let problem = Problem::warning(&entry.key_span, "idle-rewrite", message)
                    .did_you_mean(&entry.key, rest);
                self.warn(problem.or_help(format!("write what stands within `{subject}`")));
                continue;
            }
            let Some(meant) = slips::misspelt_argument_of(&entry.key, &tools) else {
                continue;
            };
            let message = format!("no agent is known to have an argument `{}`", entry.key);
            let problem = Problem::warning(&entry.key_span, "unknown-name", message);
            self.warn(problem.did_you_mean(&entry.key, Some(meant)));
        }
    }

    /// The subject that a member of a patch repeats: `tool.input.command`, or a part of the way to
    /// it. An unknown tool may have an argument `input`.
    fn subject_repeated_by(&self, entry: &Entry, tools: &[&'static Tool]) -> Option<String> {
        let subjects = self
            .events
            .iter()
            .filter_map(|name| spec(name)?.subject)
            .map(rewrite::written);
        let mut subjects = subjects.filter(|subject| subject.contains('.'));
        let is_map = matches!(entry.value.value, NodeValue::Map(_));
        subjects.find(|subject| {
            let is_part =
                is_map && !tools.is_empty() && subject.split('.').any(|part| part == entry.key);
            entry.key == *subject || entry.key.starts_with(&format!("{subject}.")) || is_part
        })
    }

    /// The tools that the hook is for, as far as they are known and said by name.
    fn known_tools(&self) -> Vec<&'static Tool> {
        let named = match &self.hook.matcher {
            Some(Matcher::Names(tools)) => tools.iter().map(|it| &**it).collect(),
            _ => self
                .hook
                .tools
                .rules
                .iter()
                .flat_map(|rule| rule.tools().map(|(tool, _)| tool))
                .collect::<Vec<_>>(),
        };
        named.into_iter().filter_map(tools::known).collect()
    }

    /// The name of a coding agent, whose events name its sub-agents.
    fn agents_that_are_dialects(&mut self) {
        let Some(node) = self.node.get("agents") else {
            return;
        };
        let texts = match &node.value {
            NodeValue::Seq(items) => items.iter().filter_map(Node::text).collect(),
            _ => node.text().into_iter().collect::<Vec<_>>(),
        };
        let dialect = dialects::DIALECTS
            .iter()
            .find(|it| it.agent.is_some() && texts.contains(&it.name()));
        if let Some(dialect) = dialect {
            let message = format!(
                "`agents` are the names of sub-agents, and `{}` is a dialect",
                dialect.name()
            );
            let problem = self.never_matches("agents", message);
            self.warn(
                problem
                    .help("leave it out: a hook judges the calls of every coding agent that asks"),
            );
        }
    }

    /// A matcher or an `if` on tools at events that name none.
    fn tool_conditions_without_tool(&mut self) {
        if self.events.is_empty() || self.events.iter().any(|name| may_be_about_a_tool(name)) {
            return;
        }
        let is_on_tools = self
            .events
            .iter()
            .all(|name| (self.hook.contract.matched)(name).is_tool());
        let matcher = ("matcher", self.hook.matcher.is_some() && is_on_tools);
        let of_tool = |when: &When| {
            !when.names("tool")
                && when
                    .references()
                    .iter()
                    .any(|(it, _)| it.starts_with("tool."))
        };
        let when = ("when", self.hook.when.as_deref().is_some_and(of_tool));
        let rules = ("if", !self.hook.tools.rules.is_empty());
        for (key, _) in [matcher, rules, when]
            .into_iter()
            .filter(|(_, is_there)| *is_there)
        {
            let name = if self.events.len() == 1 {
                "names"
            } else {
                "name"
            };
            let written = self.written(key);
            let message = format!(
                "`{written}` can never match: {} {name} no tool",
                self.events.join(" and ")
            );
            let problem = self.never_matches(key, message);
            let otherwise = if key == "when" {
                ""
            } else {
                ", or write the condition as `when`"
            };
            let problem = problem.help(format!("remove `{written}`{otherwise}"));
            self.warn(problem.fix(Fix::remove(key)));
        }
    }

    /// Names of tools that no tool has.
    fn tool_names(&mut self) {
        if let Some(Matcher::Names(tools)) = &self.hook.matcher {
            for tool in tools {
                if let (Some(slip), Some(node)) = (
                    rules::of_tool(tool, self.vocabulary()),
                    self.node.get("matcher"),
                ) {
                    self.warn(slip.problem(&node.span, true));
                }
                if rules::is_server(tool) {
                    let message = format!(
                        "`{tool}` never matches: an MCP tool's name has a server and a tool"
                    );
                    let problem = self.never_matches("matcher", message);
                    self.warn(problem.did_you_mean(tool, Some(&format!("{tool}__.*"))));
                }
            }
            // The matcher may name a tool, and the rule its family.
            let family = |tool: &'_ str| tools::known(tool).map(|it| it.name);
            let is_same = |tool: &str, it: &str| {
                it == tool || family(it).is_some_and(|it| family(tool) == Some(it))
            };
            let of_rules = self
                .hook
                .tools
                .rules
                .iter()
                .map(|rule| rule.literal_tools());
            let of_rules: Option<Vec<_>> = of_rules.collect();
            let of_rules = of_rules.unwrap_or_default().concat();
            if let Some(tool) = of_rules.first()
                && !of_rules
                    .iter()
                    .any(|tool| tools.iter().any(|it| is_same(tool, it)))
            {
                let message = format!(
                    "`{}` is about `{tool}`, which `matcher` leaves out",
                    self.written("if")
                );
                self.warn(self.never_matches("if", message));
            }
        }
    }

    /// Rules that hold for nothing.
    fn rules(&mut self) {
        let (own, other) = match self.hook.reading() {
            Reading::Hits => (Reading::Hits, Reading::Covers),
            Reading::Covers => (Reading::Covers, Reading::Hits),
        };
        for (key, written, reading) in [
            ("if", &self.hook.tools.rules, own),
            ("unless", &self.hook.tools.unless, other),
        ] {
            if let Some(node) = self.node.get(key) {
                if written.is_empty() && key == "if" {
                    let problem = Problem::warning(
                        &node.span,
                        "empty-if",
                        "`if` names no rule: the hook is for every call",
                    );
                    self.mistakes.push(
                        problem
                            .help("write a rule, or leave `if` out")
                            .fix(Fix::remove(key)),
                    );
                }
                rules::lint(written, node, self.vocabulary(), reading, self.mistakes);
            }
        }
    }

    /// Exceptions that take away all that the hook is for, or nothing.
    fn exceptions(&mut self) {
        let (rules, unless) = (&self.hook.tools.rules, &self.hook.tools.unless);
        let Some(node) = self.node.get("unless").filter(|_| !unless.is_empty()) else {
            return;
        };
        let matched = match &self.hook.matcher {
            Some(Matcher::Names(tools)) => tools.iter().map(|it| &**it).collect(),
            _ => Vec::new(),
        };
        let of_rules: Option<Vec<_>> = rules.iter().map(ToolRule::literal_tools).collect();
        let named = [of_rules.unwrap_or_default().concat(), matched.clone()];
        if excepted::is_all_excepted(rules, &matched, unless) {
            let what = if rules.is_empty() { "matcher" } else { "if" };
            let message =
                format!("the hook is for nothing: `unless` takes away all that `{what}` names");
            let problem = self.never_matches("unless", message);
            return self.warn(problem.help(format!(
                "name in `unless` only a part of what `{what}` names"
            )));
        }
        let items = if node.items().is_empty() {
            std::slice::from_ref(node)
        } else {
            node.items()
        };
        for (rule, item) in unless.iter().zip(items) {
            // A patch in a shell text writes files, and whatever allows the text is asked about
            // them.
            let may_be_patch =
                self.hook.reading() == Reading::Covers && rule.is_about(tools::PATCH);
            if !may_be_patch
                && named
                    .iter()
                    .any(|tools| excepted::is_about_others(rule, tools))
            {
                let message = format!(
                    "`{}` takes nothing away: the hook is for other tools",
                    rule.text()
                );
                self.warn(Problem::warning(&item.span, "never-matches", message));
            }
        }
    }

    /// A word on what commands run, beside rules that look at none.
    fn delegates_without_commands(&mut self) {
        let tools = &self.hook.tools;
        let mut rules = tools.rules.iter().chain(&tools.unless);
        if self.node.get("delegates").is_some() && rules.all(|rule| rule.commands().is_empty()) {
            let message = "`delegates` is about what the commands of a rule run, and no rule of this hook names a command";
            let problem = Problem::warning(self.at("delegates"), "never-decides", message);
            self.warn(
                problem
                    .help("add a rule such as `if: Bash(rm *)`, or leave it out")
                    .fix(Fix::remove("delegates")),
            );
        }
    }

    fn vocabulary(&self) -> Vocabulary<'a> {
        let contract = self.hook.contract;
        let is_shared = contract.tool_naming == ToolNaming::Canonical
            || dialects::has_canonical_tools(contract.dialect);
        Vocabulary {
            is_shared,
            declared: self.declared,
        }
    }

    /// `mcp__*`, which as a regex is `mcp_` and underscores.
    fn matcher_in_the_form_of_a_glob(&mut self) {
        let (Some(Matcher::Pattern { .. }), Some(text)) = (&self.hook.matcher, self.matcher) else {
            return;
        };
        if self.hook.contract.matcher_names_events && text.contains(":*") {
            let message = format!("`{text}` is a regex, where `*` repeats what stands before it");
            let meant = text.replace(".*", "*").replace('*', ".*");
            return self.warn(
                self.never_matches("matcher", message)
                    .did_you_mean(text, Some(&meant)),
            );
        }
        if self.hook.contract.matcher != MatcherRule::WholeName {
            return;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let glob = text.split('|').find_map(|part| {
            let name = part.strip_suffix('*')?;
            (name.len() > 1 && name.chars().all(is_name)).then_some((part, name))
        });
        if let Some((part, name)) = glob {
            let (start, last) = name.split_at(name.len() - 1);
            let message =
                format!("`{part}` is a regex: it means `{start}` and any number of `{last}`");
            self.warn(
                self.never_matches("matcher", message)
                    .did_you_mean(part, Some(&format!("{name}.*"))),
            );
        }
    }

    /// A matcher with what no tool's name has: `Bash, Write`, `/bash/i`, `!Bash`.
    fn matcher_that_no_name_fits(&mut self) {
        let (Some(Matcher::Pattern { .. }), Some(text)) = (&self.hook.matcher, self.matcher) else {
            return;
        };
        let contract = self.hook.contract;
        if contract.matcher_names_events
            || !self
                .events
                .iter()
                .all(|name| (contract.matched)(name).is_tool())
        {
            return;
        }
        let between_slashes = text
            .strip_prefix('/')
            .and_then(|text| text.strip_suffix('i').unwrap_or(text).strip_suffix('/'));
        let names: Vec<_> = text
            .split([',', '|'])
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        let (why, meant) = if let Some(regex) = between_slashes {
            let start = if text.ends_with('i') { "(?i)" } else { "" };
            (
                "a regex stands without slashes",
                Ok(format!("{start}{regex}")),
            )
        } else if text.starts_with('!') {
            (
                "a regex excludes nothing",
                Err("name the tool in `when: tool.name != \"...\"`"),
            )
        } else if !text.contains([',', ' ']) || text.contains(['(', '[', '{', '\\']) {
            return;
        } else if names.iter().any(|name| name.contains(' ')) {
            (
                "a tool's name has no blank",
                Err("a command stands in a rule: `if: Bash(git push)`"),
            )
        } else {
            (
                "names have `|` between them, without blanks",
                Ok(names.join("|")),
            )
        };
        let problem = self.never_matches("matcher", format!("`{text}` never matches: {why}"));
        self.warn(match meant {
            Ok(meant) => problem.did_you_mean(text, Some(&meant)),
            Err(help) => problem.help(help),
        });
    }

    /// `^PreToolCall$`, where the step's and the tool's name follow.
    fn matcher_of_events_that_ends_early(&mut self) {
        let Some(start) = self.matcher.and_then(|text| text.strip_suffix('$')) else {
            return;
        };
        let row = || {
            dialects::by_name(self.hook.contract.dialect)
                .ok()?
                .events
                .iter()
                .find(|it| start.ends_with(it.name))
        };
        let Some(row) = row().filter(|row| {
            self.hook.contract.matcher_names_events && may_be_about_a_tool(row.canonical)
        }) else {
            return;
        };
        let message = format!(
            "`{start}$` never matches where there is a step or a tool: their names follow the event's"
        );
        let problem = self
            .never_matches("matcher", message)
            .help(format!("it is `{}:StepName:ToolName`", row.name));
        self.warn(problem.fix(Fix::replace(&format!("{start}$"), &format!("{start}:"))));
    }

    /// `~` where it is a character like any other.
    fn home_that_nothing_expands(&mut self) {
        let is_home = |text: &str| {
            ["~/", "$HOME/", "${HOME}/"]
                .iter()
                .any(|start| text.starts_with(start))
        };
        let mut found = Vec::new();
        if let Some(command) = self.node.get("command") {
            let words = command.get("run").unwrap_or(command).items();
            let word = words.iter().filter_map(Node::text).find(|it| is_home(it));
            found.extend(word.map(|word| ("command", format!("no shell reads `{word}`"))));
        }
        let kind = self.hook.handler.key();
        if let Some(definition) = self.node.get(kind) {
            let cwd = definition
                .get("cwd")
                .or_else(|| definition.get("server")?.get("cwd"));
            let path = handlers::files(kind, definition)
                .chain(cwd)
                .filter_map(Node::text)
                .find(|it| is_home(it));
            found.extend(path.map(|path| (kind, format!("no shell reads `{path}`"))));
        }
        for (key, why) in found {
            let sign = if why.contains("`$") { "$HOME" } else { "~" };
            let message = format!("`{sign}` isn't expanded here: {why}");
            let problem = Problem::warning(self.at(key), "unexpanded-home", message);
            self.warn(problem.help("write the whole path"));
        }
    }

    /// Matchers of a vocabulary where they name events, with another vocabulary's name.
    fn event_names_in_matcher(&mut self) {
        let contract = self.hook.contract;
        if !contract.matcher_names_events {
            // Elsewhere the matcher is held against a tool's name alone.
            if let Some((like, help)) = self.matcher.and_then(dialects::with_matcher) {
                let message =
                    format!("`matcher` names an event and no tool: this looks like {like}");
                self.warn(self.never_matches("matcher", message).help(help));
            }
            return;
        }
        let row = |word: &str| dialects::by_name(contract.dialect).ok()?.row(word);
        let words = self
            .matcher
            .unwrap_or_default()
            .split(|c: char| !c.is_ascii_alphanumeric());
        let mut rows = words.filter_map(|word| Some((word, row(word)?)));
        if let Some((word, row)) = rows.find(|(word, row)| row.name != *word) {
            let message = format!(
                "`matcher` names `{word}`, which is `{}` in {}",
                row.name, contract.dialect
            );
            self.warn(
                self.never_matches("matcher", message)
                    .did_you_mean(word, Some(row.name)),
            );
            return;
        }
        let Ok(dialect) = dialects::by_name(contract.dialect) else {
            return;
        };
        let names = || dialect.events.iter().map(|row| row.name);
        let near = self
            .words_for_events()
            .into_iter()
            .find_map(|(word, found)| {
                let same = names().find(|name| name.eq_ignore_ascii_case(word));
                Some((word, same.or_else(|| closest(word, names()))?)).filter(|_| found.is_empty())
            });
        if let Some((word, name)) = near {
            let message = format!(
                "`matcher` names `{word}`, which is no event of {}",
                contract.dialect
            );
            self.warn(
                self.never_matches("matcher", message)
                    .did_you_mean(word, Some(name)),
            );
        }
    }

    /// The words of a matcher that may name events, each with the events in whose names it is
    /// found.
    fn words_for_events(&self) -> Vec<(&str, Vec<&'static EventRow>)> {
        let Ok(dialect) = dialects::by_name(self.hook.contract.dialect) else {
            return Vec::new();
        };
        let text = self.matcher.unwrap_or_default();
        let first = text.split(':').next().unwrap_or_default();
        // A part of a name is found in it; with a `:` behind it, only its end is.
        let is_found = |word: &str, name: &str| match first.len() < text.len() {
            true => name.ends_with(word),
            false => name.contains(word),
        };
        let rows = |word: &str| {
            dialect
                .events
                .iter()
                .filter(|row| is_found(word, row.name))
                .collect()
        };
        let words = first
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.len() > 3);
        words.map(|word| (word, rows(word))).collect()
    }

    fn matcher_in_the_form_of_if(&mut self) {
        if let (Some(Matcher::Pattern { .. }), Some(text)) = (&self.hook.matcher, self.matcher)
            && let Some((names, _)) = text.strip_suffix(')').and_then(|text| text.split_once('('))
            && names
                .split('|')
                .all(|name| TOOLS.iter().any(|tool| tool.name == name))
        {
            let message = "a matcher is a regex on the tool's name; this is the form of `if`";
            let problem = self
                .never_matches("matcher", message.into())
                .help(format!("write `if: {text}`"));
            self.warn(problem.fix(Fix::new("Write it as `if`", Edit::Key("if"))));
        }
    }

    /// Members of the event that conditions and placeholders misspell; gives their paths.
    fn misspelt_members(&mut self) -> Vec<String> {
        // Only the agent knows what a custom event says.
        if self
            .events
            .iter()
            .any(|name| name.starts_with(CUSTOM_PREFIX))
        {
            return Vec::new();
        }
        let is_about_tool =
            !self.events.is_empty() && self.events.iter().all(|name| may_be_about_a_tool(name));
        let references = |node: &Node| match &node.value {
            NodeValue::String(source) => When::new(source)
                .map(|when| when.references())
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        // The condition is compiled already, which is what takes time.
        let when = self
            .node
            .get("when")
            .zip(self.hook.when.as_ref())
            .map(|(node, when)| (node, when.references()));
        let mut named: Vec<_> = when.into_iter().collect();
        let kind = self.hook.handler.key();
        if let Some(definition) = self.node.get(kind) {
            named.extend(handlers::expressions(kind, definition).map(|it| (it, references(it))));
            let paths =
                handlers::paths(kind, definition, &self.hook.contract.placeholders).into_iter();
            // Placeholders may name these beside the event's members.
            let is_beside = |path: &str| {
                matches!(path, "hook" | "timestamp")
                    || template::OF_CALLS.iter().any(|(name, _)| *name == path)
            };
            let is_event = |(path, _): &(String, _)| !is_beside(path) && !path.starts_with("env.");
            named.extend(
                paths.map(|(node, paths)| (node, paths.into_iter().filter(is_event).collect())),
            );
        }
        let mut slips = Vec::new();
        for (node, paths) in named {
            for (path, at) in paths {
                let span = node.part(&at, self.text);
                if path.split('.').next() == Some(ACT) {
                    if self
                        .node
                        .get("when")
                        .is_none_or(|when| !std::ptr::eq(when, node))
                    {
                        let message = "only `when` has `act`: it is empty here";
                        self.warn(Problem::warning(&span, "unknown-name", message));
                    }
                    continue;
                }
                let Some((wrong, meant)) = slips::slip(&path, is_about_tool) else {
                    continue;
                };
                let problem =
                    Problem::warning(&span, "unknown-name", format!("no event has `{wrong}`"));
                self.warn(problem.did_you_mean(&wrong, Some(&meant)));
                slips.push(wrong);
            }
        }
        slips
    }

    /// Placeholders of another vocabulary's texts, and variables of shell texts, that are nearly
    /// one, or that these events never fill.
    fn misspelt_placeholders(&mut self) {
        let (kind, own) = (self.hook.handler.key(), &self.hook.contract.placeholders);
        let Some(definition) = self.node.get(kind) else {
            return;
        };
        let mut found = Vec::new();
        for (node, _) in
            handlers::templates(kind, definition, own).filter(|(_, it)| it.style != Style::Paths)
        {
            let Some(text) = node.text() else { continue };
            // Braces in an argument may be the program's own.
            let is_told = |it: &slips::Stranger| it.meant.is_some() || kind != "command";
            let strangers = slips::strange_placeholders(text, own)
                .into_iter()
                .filter(is_told);
            found.extend(strangers.map(|it| (node, it)));
            self.unfilled_placeholders(node, text);
        }
        let run = definition.get("run").unwrap_or(definition);
        if let Some(text) = run.text().filter(|_| kind == "command") {
            let sets = |name: &str| {
                let names = definition.get("inheritEnv").map(|it| &it.value);
                let inherits = matches!(names, Some(NodeValue::Seq(names)) if names.iter().any(|it| it.text() == Some(name)));
                inherits
                    || definition
                        .get("env")
                        .is_some_and(|env| env.get(name).is_some())
            };
            let strangers = slips::strange_variables(text, own)
                .into_iter()
                .filter(|it| !sets(&it.name));
            found.extend(strangers.map(|it| (run, it)));
            if let Some(at) = slips::positional(text).filter(|_| own.style == Style::Paths) {
                let message = format!(
                    "`{}` is empty: a shell text gets no arguments",
                    &text[at.clone()]
                );
                let help = "the path is `\"$tool_input_path\"`, the command `\"$tool_input_command\"`, the event is on stdin";
                self.warn(
                    Problem::warning(&run.part(&at, self.text), "unknown-name", message).help(help),
                );
            }
        }
        for (node, slips::Stranger { name, at, meant }) in found {
            let what = if kind == "command" && node.span == run.span {
                "variable"
            } else {
                "placeholder"
            };
            let message = format!("no {what} is called `{name}`");
            let problem = Problem::warning(&node.part(&at, self.text), "unknown-name", message);
            let problem = problem.did_you_mean(&name, meant);
            self.warn(problem.or_help(format!("there are `{}`", own.names.join("`, `"))));
        }
    }

    /// Warns of words that look like a placeholder in a text that nothing is put into, or in the
    /// words of a shell where it is another's.
    fn placeholders_that_nothing_fills(&mut self) {
        let kind = self.hook.handler.key();
        let Some(definition) = self
            .node
            .get(kind)
            .filter(|_| self.hook.contract.dialect == NATIVE)
        else {
            return;
        };
        let mut found = Vec::new();
        for node in handlers::plain_texts(kind, definition) {
            let Some(text) = node.text() else { continue };
            let Ok(template) = Template::new(text, &PATHS) else {
                continue;
            };
            let filled = template.places().find(|(path, _)| slips::is_member(path));
            found.extend(filled.map(|(path, at)| {
                (
                    node,
                    at.clone(),
                    format!("`${{{path}}}` stays as it is: nothing is put in here"),
                    None,
                )
            }));
        }
        for (node, _) in handlers::templates(kind, definition, &PATHS) {
            let Some(text) = node.text() else { continue };
            let inherits = definition.get("inheritEnv").map(|it| &it.value);
            let inherits = |name: &str| matches!(inherits, Some(NodeValue::Seq(names)) if names.iter().any(|it| it.text() == Some(name)));
            let template = Template::with_any_name(text, Style::Dollars);
            for (name, at) in template.places().filter(|(_, at)| {
                text[at.start..].starts_with('$') && !text[at.start + 1..].starts_with('{')
            }) {
                let meant = match slips::path_of_variable(name) {
                    Some(path) => path,
                    None if inherits(name) => format!("env.{name}"),
                    None => match slips::placeholder_of_guess(name).filter(|_| kind == "command") {
                        Some(path) => path.to_string(),
                        None => continue,
                    },
                };
                let message =
                    format!("no shell reads `${name}` here: placeholders are written `${{path}}`");
                found.push((
                    node,
                    at.clone(),
                    message,
                    Some((format!("${name}"), format!("${{{meant}}}"))),
                ));
            }
        }
        for (node, at, message, meant) in found {
            let problem =
                Problem::warning(&node.part(&at, self.text), "literal-placeholder", message);
            self.warn(match meant {
                Some((wrong, meant)) => problem.did_you_mean(&wrong, Some(&meant)),
                None => problem
                    .help("say it in other words, or take a handler that can: `script`, `command`"),
            });
        }
    }

    /// Placeholders for what no call of the hook is about: they are null there.
    fn placeholders_of_other_tools(&mut self) {
        let kind = self.hook.handler.key();
        let Some(definition) = self.node.get(kind) else {
            return;
        };
        let no_tool = !self.events.is_empty() && !self.is_about_tools();
        // Few definitions have a placeholder, and the names of tools are read from what is known of
        // every agent.
        let tools = LazyCell::new(|| self.all_tools());
        let mut found = Vec::new();
        for (node, paths) in handlers::paths(kind, definition, &self.hook.contract.placeholders) {
            for (path, at) in paths {
                let lacks = |tool: &&Tool| match (&*path, tool.kind) {
                    // A search has a path beside its text.
                    ("path", kind) => matches!(kind, ArgumentKind::Shell | ArgumentKind::Url),
                    ("command", kind) => kind != ArgumentKind::Shell,
                    ("url", kind) => kind != ArgumentKind::Url,
                    (path, kind) => path.strip_prefix("tool.input.").is_some_and(|member| {
                        // A path may stand beside anything.
                        let is_one = |it| matches!(it, ArgumentKind::Shell | ArgumentKind::Url);
                        let meant = ArgumentKind::of_member(member).filter(|meant| is_one(*meant));
                        meant.is_some_and(|meant| meant != kind)
                            && !tool.arguments.contains(&member)
                    }),
                };
                let is_of_calls = template::OF_CALLS.iter().any(|(name, _)| *name == path);
                if let Some(meant) = slips::misspelt_of_calls(&path) {
                    let problem = Problem::warning(
                        &node.part(&at, self.text),
                        "unknown-name",
                        format!("no event has `{path}`"),
                    );
                    found.push(problem.did_you_mean(&path, Some(meant)));
                    continue;
                }
                let message = match &tools[..] {
                    _ if is_of_calls && no_tool => {
                        format!("`{path}` is always empty at {}", self.events.join(" and "))
                    }
                    [first, ..] if tools.iter().all(lacks) => {
                        format!(
                            "`{path}` is always empty: a call of `{}` has none",
                            first.name
                        )
                    }
                    _ => continue,
                };
                found.push(Problem::warning(
                    &node.part(&at, self.text),
                    "unknown-name",
                    message,
                ));
            }
        }
        found.into_iter().for_each(|problem| self.warn(problem));
    }

    /// Whether some event of the hook may be about a tool.
    fn is_about_tools(&self) -> bool {
        // Only the agent knows what a custom event says.
        let may_be = |name: &Arc<str>| may_be_about_a_tool(name) || name.starts_with(CUSTOM_PREFIX);
        self.events.is_empty() || self.events.iter().any(may_be)
    }

    /// Every tool that the hook is for; none if others may be among them.
    fn all_tools(&self) -> Vec<&'static Tool> {
        let named = match &self.hook.matcher {
            Some(Matcher::Names(tools)) => Some(tools.iter().map(|it| &**it).collect()),
            _ if self.hook.tools.rules.is_empty() => None,
            _ => self
                .hook
                .tools
                .rules
                .iter()
                .map(ToolRule::literal_tools)
                .collect::<Option<Vec<_>>>()
                .map(|it| it.concat()),
        };
        named
            .and_then(|names| names.into_iter().map(tools::known).collect())
            .unwrap_or_default()
    }

    /// Placeholders for what no event of the hook has: the text stays empty there.
    fn unfilled_placeholders(&mut self, node: &Node, text: &str) {
        let own = &self.hook.contract.placeholders;
        let rows = self.own_events();
        let Ok(template) = Template::new(text, own) else {
            return;
        };
        for (name, at) in template.places() {
            let plain = name.replace('_', "").to_ascii_lowercase();
            let lacks = |row: &&EventRow| {
                spec(row.canonical).is_some_and(|spec| match &*plain {
                    "prompt" => spec.tool,
                    name if name.starts_with("tooloutput") => {
                        !spec.tool || spec.phase == Phase::Gate
                    }
                    name => name.starts_with("tool") && !spec.tool,
                })
            };
            if !rows.is_empty() && rows.iter().all(lacks) {
                let events: Vec<_> = rows.iter().map(|row| format!("`{}`", row.name)).collect();
                let message = format!("`{name}` is always empty at {}", events.join(" and "));
                self.warn(Problem::warning(
                    &node.part(at, self.text),
                    "unknown-name",
                    message,
                ));
            }
        }
    }

    /// A condition that reads what an event may lack.
    fn unguarded_when(&mut self, slips: &[String]) {
        let Some(when) = &self.hook.when else { return };
        let is_slip = |path: &String| {
            slips
                .iter()
                .any(|slip| path == slip || path.starts_with(&format!("{slip}.")))
        };
        let unguarded = when.unguarded().into_iter().filter(|path| !is_slip(path));
        let unguarded: Vec<_> = unguarded
            .chain(self.prompt_that_no_call_has(when))
            .collect();
        let Some(first) = unguarded.first() else {
            return;
        };
        let names: Vec<_> = unguarded.iter().map(|it| format!("`{it}`")).collect();
        let message = format!(
            "{} may be absent, which makes `when` undecidable",
            names.join(", ")
        );
        let problem = Problem::warning(self.at("when"), "unguarded-when", message);
        // In scripts `event` is the whole event.
        let problem = problem.help(match first.strip_prefix("event.") {
            Some(member) => format!("`event` is the event's name; write `{member}`"),
            None => format!("ask first: `has({first}) && ...`"),
        });
        self.warn(problem.fix(slips::guarding(when.source(), &unguarded)));
    }

    /// A prompt that is searched at events of tools, where it is null.
    fn prompt_that_no_call_has(&self, when: &When) -> Option<String> {
        let of_tools = self
            .events
            .iter()
            .all(|name| spec(name).is_some_and(|spec| spec.tool));
        let is_searched = || {
            when.comparisons()
                .iter()
                .any(|it| it.member == "prompt" && it.how == Held::Part)
        };
        let is_it =
            !self.events.is_empty() && of_tools && is_searched() && !when.asks_for("prompt");
        is_it.then(|| "prompt".to_string())
    }

    /// A condition that is in doubt for every event.
    fn undecidable_when(&mut self) {
        let (Some(when), Some(node)) = (&self.hook.when, self.node.get("when")) else {
            return;
        };
        for (at, message) in when.undecidable() {
            let problem = Problem::warning(&node.part(&at, self.text), "undecidable-when", message);
            self.mistakes.push(problem);
        }
        if self
            .events
            .iter()
            .any(|name| name.starts_with(CUSTOM_PREFIX))
        {
            return;
        }
        for (path, at) in when.references() {
            let first = path.split('.').next().unwrap_or_default();
            // An agent may send members that nobody knows, but hardly of these names.
            let is_tool = path == first && TOOLS.iter().any(|tool| tool.name == first);
            if !is_tool && !["env", "dialect"].contains(&first) || when.asks_for(first) {
                continue;
            }
            let message = format!("no event has `{first}`");
            let problem = Problem::warning(&node.part(&at, self.text), "unknown-name", message);
            let problem = if is_tool {
                problem.did_you_mean(first, Some(&format!("'{first}'")))
            } else {
                problem
            };
            self.mistakes.push(problem);
        }
    }

    /// A condition on the event's name that no event of `on` fulfils.
    fn when_of_other_events(&mut self) {
        let Some(when) = &self.hook.when else { return };
        if self.events.is_empty() || !self.events.iter().all(|name| when.excludes_event(name)) {
            return;
        }
        let names: Vec<_> = self.events.iter().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "`when` is never true: `event` is always {} here",
            names.join(" or ")
        );
        let problem = self.never_matches("when", message);
        self.warn(problem.help("name the event in `on`, by the name that hookwire has for it"));
    }

    /// Constants of a condition that no member is: a home that nothing expands, a tool that nobody
    /// has, two at once.
    fn texts_in_when(&mut self) {
        let (Some(when), Some(node)) = (&self.hook.when, self.node.get("when")) else {
            return;
        };
        if let Some((member, at)) = when.contradiction() {
            let message =
                format!("`when` is never true: `{member}` would have to be two things at once");
            let problem = Problem::warning(&node.part(&at, self.text), "never-matches", message);
            self.warn(problem.help(format!("join them by `||`, or write `{member} in [...]`")));
        }
        for (at, wrong, meant) in when.parts_of_texts() {
            let message = format!("`in` looks into lists, and not for a part of a text: `{wrong}`");
            let problem = Problem::warning(&node.part(&at, self.text), "undecidable-when", message);
            self.warn(problem.did_you_mean(&wrong, Some(&meant)));
        }
        let comparisons = when.comparisons();
        for it in &comparisons {
            let is_only = comparisons
                .iter()
                .filter(|other| other.member == it.member)
                .count()
                == 1;
            let span = node.part(&it.at, self.text);
            if slips::is_home_of_path(&it.member, &it.text) && is_only {
                let message = format!(
                    "`~` isn't expanded here: `{}` is held against a text as it is sent",
                    it.text
                );
                let problem = Problem::warning(&span, "unexpanded-home", message);
                self.warn(problem.help(
                    "write the whole path, or compare its end with `endsWith` or `contains`",
                ));
            }
            if it.member == "tool.name"
                && it.how != Held::Part
                && let Some(slip) = rules::of_tool_in_text(&it.text, self.vocabulary())
            {
                self.warn(slip.problem(&span, true));
            }
        }
    }

    /// A verdict that nothing waits for, or that comes too late.
    fn verdict_without_effect(&mut self) {
        let awaited = self
            .hook
            .handler
            .awaited(&self.hook.on)
            .map(|what| format!("its {what}"));
        let fail = self
            .hook
            .fail
            .filter(|fail| *fail != Fail::Open)
            .map(|_| "its `fail`".to_string());
        if let Some(what) = awaited.or(fail).filter(|_| self.hook.detached) {
            let message = format!("an async hook isn't waited for: {what} can't count");
            let problem = Problem::warning(self.at("async"), "never-decides", message);
            self.warn(problem.fix(Fix::remove("async")));
        }
        let is_note = |name: &Arc<str>| {
            let is_obeyed = dialects::DIALECTS
                .iter()
                .any(|it| it.row(name).is_some_and(|row| row.blocks));
            spec(name).is_some_and(|spec| spec.phase == Phase::Note) && !is_obeyed
        };
        let denies = matches!(self.hook.handler, Handler::Deny(_) | Handler::Ask(_));
        let mut own = if denies {
            self.own_events()
        } else {
            Vec::new()
        };
        // Agents that count their runs themselves take a "no" as a signal to stop, while a run goes
        // on.
        let has_signals = self.hook.contract.tally.is_some();
        let contract = self.hook.contract;
        let signals = |row: &EventRow| has_signals && (contract.takes_no)(row.canonical);
        let takes_no = |row: &&EventRow| {
            row.blocks || signals(row) || (contract.takes_no_elsewhere)(row.canonical)
        };
        if !own.is_empty() && !own.iter().any(takes_no) {
            own.dedup_by_key(|row| row.name);
            let names: Vec<_> = own.iter().map(|row| format!("`{}`", row.name)).collect();
            let (key, dialect) = (self.hook.handler.key(), self.hook.contract.dialect);
            let message = format!(
                "nothing to {key}: {dialect} takes no \"no\" at {}",
                names.join(" and ")
            );
            let place = if self.events.is_empty() {
                "matcher"
            } else {
                "on"
            };
            let problem = Problem::warning(self.at(place), "never-decides", message);
            return self
                .warn(problem.help("choose an event that happens before what is to be blocked"));
        }
        if denies && !self.events.is_empty() && self.events.iter().all(is_note) {
            let are = if self.events.len() == 1 {
                "is only told"
            } else {
                "are only told"
            };
            let message = format!(
                "nothing to {}: {} {are}",
                self.hook.handler.key(),
                self.events.join(" and ")
            );
            let problem = Problem::warning(self.at("on"), "never-decides", message);
            self.warn(problem.help("choose an event that happens before what is to be blocked"));
        }
    }

    /// `reach` on a hook whose rules it says nothing of.
    fn reach_without_effect(&mut self) {
        let hook = self.hook;
        let Some(at) = self.node.get("reach") else {
            return;
        };
        let why = match hook.handler.fixed() {
            _ if hook.contract.dialect != NATIVE => {
                "other vocabularies' rules are for the tools that they name"
            }
            Some((Decision::Allow, _)) => "no rule over files allows what a command does",
            _ if hook.handler.judges_acts() && at.text() == Some("acts") => {
                "such a hook always judges acts"
            }
            _ if hook.handler.judges_acts() => "such a hook judges acts, whatever it says",
            _ if !hook.tools.rules.iter().any(ToolRule::is_about_files) => {
                "no rule of the hook is about certain files"
            }
            _ => return,
        };
        let problem = Problem::warning(
            self.at("reach"),
            "idle-reach",
            format!("`reach` changes nothing here: {why}"),
        );
        self.warn(problem.fix(Fix::remove("reach")));
    }

    /// `observe` on a hook that could stop, ask about or change nothing.
    fn observe_without_effect(&mut self) {
        let hook = self.hook;
        if !hook.observe || self.node.get("observe").is_none() {
            return;
        }
        let is_strict = hook
            .said_fail(Phase::Gate)
            .is_some_and(|fail| fail != Fail::Open);
        let why = match hook.handler.writes() {
            _ if hook.detached => "an async hook isn't waited for",
            Some(_) if !is_strict => "it writes, and answers nothing",
            Some(_) | None => return,
        };
        let message = format!("`observe` changes nothing here: {why}");
        let problem = Problem::warning(self.at("observe"), "idle-observe", message);
        self.warn(problem.fix(Fix::remove("observe")));
    }

    /// Names means that the hook needs and the host hasn't got.
    fn obstacle(&mut self, means: &Means) {
        if !self.hook.enabled {
            return;
        }
        let Some(Obstacle {
            code,
            field,
            message,
            part,
            help,
            fix,
        }) = self.hook.handler.obstacle(&self.hook.view(), means)
        else {
            return;
        };
        let handler = self.node.get(self.hook.handler.key()).unwrap_or(self.node);
        let place = field
            .and_then(|field| handler.get(field))
            .unwrap_or(handler);
        let span = part.map_or_else(|| place.span.clone(), |part| place.part(&part, self.text));
        let problem = Problem {
            help,
            ..Problem::warning(&span, code, message)
        };
        let problem = fix
            .into_iter()
            .fold(problem, |problem, fix| problem.fix(*fix));
        // It works, and people may want to know how.
        let severity = if code == "small-model" {
            Severity::Hint
        } else {
            Severity::Warning
        };
        self.warn(Problem {
            severity,
            ..problem
        });
    }

    /// The events of the hook in its own vocabulary, as far as they are known; none if there may be
    /// others.
    fn own_events(&self) -> Vec<&'static EventRow> {
        let Ok(dialect) = dialects::by_name(self.hook.contract.dialect) else {
            return Vec::new();
        };
        if dialect.name() == NATIVE {
            return Vec::new();
        }
        if self.hook.contract.matcher_names_events && self.events.is_empty() {
            let words = self.words_for_events();
            let are_all_known = words.iter().all(|(_, rows)| !rows.is_empty());
            return if are_all_known {
                words.into_iter().flat_map(|(_, rows)| rows).collect()
            } else {
                Vec::new()
            };
        }
        let rows: Option<Vec<_>> = self.events.iter().map(|name| dialect.row(name)).collect();
        rows.unwrap_or_default()
    }

    fn no_fail_direction(&mut self) {
        let hook = self.hook;
        // A rewrite that fails changes nothing, as one in doubt.
        let can_fail =
            hook.handler.fixed().is_none() && !hook.handler.needs_certainty() && !hook.detached;
        // Other systems say themselves what a failure means.
        let is_native = hook.contract.dialect == dialects::NATIVE;
        if is_native
            && can_fail
            && hook.said_fail(Phase::Gate).is_none()
            && hook.on.includes_a_gate()
        {
            let message = "a hook that can fail at a gate doesn't say what its failure means";
            let problem = Problem::warning(self.at("name"), "no-fail-direction", message);
            let problem = problem.help(
                "add `fail: closed` for a guard, `fail: open` for an observer, or set it in the file's `defaults`",
            );
            let (key, word) = ("fail", "closed");
            let closed = Fix {
                is_preferred: true,
                ..Fix::add(key, word, Place::BehindName)
            };
            let for_all = Fix::option(
                "Set `fail: closed` for the whole file",
                Edit::Default { key, word },
            );
            self.warn(
                problem
                    .fix(closed)
                    .fix(Fix::add(key, "open", Place::BehindName))
                    .fix(for_all),
            );
        }
    }
}
