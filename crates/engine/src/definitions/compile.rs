//! A spanned tree becomes hooks. Pure: no clock, and no file but those that a hook names, which its
//! [`Origin`] reads.
//!
//! Each hook stands by itself: a mistake in one leaves the others of its file in force, and every
//! mistake is found in one pass.

use super::lint::lint;
use super::names;
use super::origin::Origin;
use super::policy::{policy, rules};
use super::written::{
    Delegates, Mistakes, RawDefaults, RawHook, RawWhere, Reach, WrittenHook, declared_tools,
    untrusted,
};
use crate::hook::{BEFORE_ALL, Hook};
use crate::hook_set::Untrusted;
use globset::GlobMatcher;
use hookwire_base::event::On;
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::diagnostic::{LineIndex, Position, Severity};
use hookwire_base::syntax::fix::{Edit, Fix, Place};
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::Source;
use hookwire_base::syntax::values::{OneOrMany, RawDuration};
use hookwire_dialects as dialects;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_handlers::handlers::guards::GuardRow;
use hookwire_handlers::handlers::{self, Compile, CompileError, Handler, KINDS};
use hookwire_rules::contract::{Contract, Fail};
use hookwire_rules::matching::Matcher;
use hookwire_rules::matching::located::{Key, Where};
use hookwire_rules::matching::rule::{Condition, ToolRule};
use hookwire_rules::matching::tools::{self, DeclaredTool};
use hookwire_rules::matching::when::{ACT_MEMBERS, When};
use hookwire_rules::policy::Policy;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// A hook as the file names it.
pub struct Compiled {
    /// The name, when it can be read.
    pub name: Option<Arc<str>>,
    /// Where its name, or the hook, is written.
    pub span: Span,
    /// Where the hook is written; of a TOML table, its header.
    pub whole: Span,
    /// The hook; `None` when its definition is broken.
    pub hook: Option<Arc<Hook>>,
    /// Stands in for a broken definition: it denies tool calls, or what a gate that fails closed is
    /// for.
    pub stand_in: Option<Arc<Hook>>,
    /// Names the definition as written, what the file says for all its hooks and the content of the
    /// files that it names included.
    pub digest: [u8; 16],
    /// Its mistakes, as a range of the file's.
    pub problems: std::ops::Range<usize>,
}

/// A definition file's hooks, policy and settings, compiled.
pub struct CompiledFile {
    /// In order.
    pub hooks: Vec<Compiled>,
    /// Every mistake; those outside of the hooks come first.
    pub problems: Vec<Problem>,
    /// There is a mistake outside of the hooks: they are not what the author means.
    pub is_broken: bool,
    /// The rules of tool calls, which are decided before any hook is asked.
    pub policy: Option<Policy>,
    /// Names that it adds to tools.
    pub tools: Vec<DeclaredTool>,
    /// What it says of projects that nobody has trusted.
    pub untrusted: Option<Untrusted>,
}

/// The dialect that a file is written for and, where that has files of its own kind, the tree that
/// hookwire reads it as, each value where its original is written.
pub fn native(root: &Node, problems: &mut Vec<Problem>) -> (&'static str, Option<Node>) {
    let written_for = match root.get("dialect").map(|node| &node.value) {
        Some(NodeValue::String(name)) => dialects::by_name(name).ok(),
        Some(_) => None,
        None => dialects::recognise_file(root),
    };
    let read = written_for
        .and_then(|it| Some((it.files.as_ref()?.read)(it, root, RawHook::KEYS, problems)));
    (
        written_for.map_or(dialects::NATIVE, dialects::Dialect::name),
        read,
    )
}

/// Compiles a file's tree; `lines` are those of its text.
pub fn compile(root: &Node, origin: &Origin<'_>, lines: &LineIndex<'_>) -> CompiledFile {
    let NodeValue::Map(entries) = &root.value else {
        let problems = vec![not_a_map_with_hooks(root)];
        return CompiledFile {
            hooks: Vec::new(),
            problems,
            is_broken: true,
            policy: None,
            tools: Vec::new(),
            untrusted: None,
        };
    };
    let mut mistakes = Mistakes::default();
    let mut foreign = Vec::new();
    let (mut dialect, read) = native(root, &mut foreign);
    let entries = match read.as_ref().map(|root| &root.value) {
        Some(NodeValue::Map(entries)) => entries,
        Some(_) | None => entries,
    };
    let mut defaults = RawDefaults::default();
    let mut written_policy = None;
    let mut tools = Vec::new();
    let mut said_of_untrusted = None;
    let mut hooks: &[Node] = &[];
    let mut strays: Vec<&Entry> = Vec::new();
    for entry in entries {
        match (entry.key.as_str(), &entry.value.value) {
            ("defaults", _) => defaults = RawDefaults::read(entry, &mut mistakes),
            ("policy", _) => written_policy = Some(entry),
            ("tools", _) => tools = declared_tools(entry, origin.layer, &mut mistakes),
            ("untrusted", _) => {
                said_of_untrusted = untrusted(entry, origin.layer, &mut mistakes);
            }
            ("dialect", _) => dialect = mistakes.dialect(entry).unwrap_or(dialects::NATIVE),
            ("hooks", NodeValue::Seq(items)) => hooks = items,
            ("hooks", NodeValue::Null) | ("$schema", _) => {}
            ("hooks", _) => {
                let looks = dialects::looks_like(&entry.value);
                let like = looks
                    .as_ref()
                    .map(|(like, _)| format!(": this looks like {like}"))
                    .unwrap_or_default();
                let message = format!("`hooks` is a list, found {}{like}", entry.value.kind());
                let problem = Problem::error(&entry.value.span, "wrong-type", message);
                let has_named_hooks = entry
                    .value
                    .entries()
                    .iter()
                    .any(|it| it.value.get("on").is_some());
                let help = looks.map(|(_, help)| help);
                let is_one_hook = entry.value.get("on").is_some();
                let as_list = || {
                    match (has_named_hooks, is_one_hook) {
                    (true, _) => Some("write each as an item of a list: `- name: ...`".to_string()),
                    (_, true) => Some(
                        "write `- ` before its first field, and indent the others as far: `- name: ...`".to_string(),
                    ),
                    (false, false) => None,
                }
                };
                mistakes.push(Problem {
                    help: help.or_else(as_list),
                    ..problem
                });
            }
            (key, _) if dialect == dialects::NATIVE && belongs_to_a_hook(key) => strays.push(entry),
            _ => mistakes.unknown_member(entry, dialect, root),
        }
    }
    mistakes.strays(&strays, root);
    // Its rules may name tools that the file names below.
    let own_policy =
        written_policy.map(|entry| policy(entry, origin, lines, &tools, &mut mistakes));
    // A mistake in one hook is reported with that hook and leaves the others in force.
    let of_hook = |problem: &Problem| hooks.iter().any(|hook| is_about(problem, hook));
    let (of_hooks, of_file): (Vec<_>, Vec<_>) = foreign.into_iter().partition(of_hook);
    mistakes.found.extend(of_file);
    let is_broken = mistakes.n_errors() > 0;
    let context = format!(
        "{dialect}\0{}\0",
        read.as_ref()
            .unwrap_or(root)
            .get("defaults")
            .map(Node::to_json)
            .unwrap_or_default()
    );
    let mut compiler = Compiler {
        origin,
        lines,
        dialect,
        tools: &tools,
        defaults,
        mistakes,
        foreign: of_hooks,
        named_files: Vec::new(),
    };
    let mut compiled_hooks = Vec::new();
    for (position, item) in hooks.iter().enumerate() {
        let start = compiler.mistakes.found.len();
        compiler.named_files.clear();
        compiler.mistakes.hook = None;
        let mut compiled = compiler.hook(item, position);
        compiler.mistakes.found[start..].sort_by_key(|problem| problem.span.start);
        let digest = Sha256::new_with_prefix(&context).chain_update(item.to_json().to_string());
        let digest = digest.chain_update(&compiler.named_files).finalize();
        let digest = digest.first_chunk().copied().unwrap_or_default();
        // Nobody else has it yet.
        let hook = compiled.hook.as_mut().and_then(Arc::get_mut);
        hook.into_iter()
            .for_each(|hook| hook.definition = Some(digest));
        compiled_hooks.push(Compiled {
            digest,
            problems: start..compiler.mistakes.found.len(),
            ..compiled
        });
    }
    CompiledFile {
        hooks: compiled_hooks,
        problems: compiler.mistakes.found,
        is_broken,
        policy: own_policy,
        tools,
        untrusted: said_of_untrusted,
    }
}

fn not_a_map_with_hooks(root: &Node) -> Problem {
    let message = format!(
        "a definition file is a map with `hooks`, found {}",
        root.kind()
    );
    let problem = Problem::error(&root.span, "wrong-type", message);
    match root.value {
        NodeValue::Seq(_) => {
            let help = "write `hooks:` above the list";
            problem.help(help).fix(Fix::new(
                "Write `hooks:` above the list",
                Edit::Under("hooks"),
            ))
        }
        _ => problem.help("write `hooks:` and a list below it"),
    }
}

/// The inputs that all hooks of a file share, and the mistakes that are found on the way.
struct Compiler<'a> {
    origin: &'a Origin<'a>,
    lines: &'a LineIndex<'a>,
    /// The file's.
    dialect: &'static str,
    /// The names that the file adds to families of tools.
    tools: &'a [DeclaredTool],
    defaults: RawDefaults,
    mistakes: Mistakes,
    /// Problems that the reader of another system's file found in hooks that are not compiled yet.
    foreign: Vec<Problem>,
    /// Names the content of the files that the hook names which is being compiled.
    named_files: Vec<u8>,
}

impl Compiler<'_> {
    fn hook(&mut self, node: &Node, position: usize) -> Compiled {
        let name_node = node.get("name");
        let span = name_node.map_or(node.span.clone(), |it| it.span.clone());
        let whole = node.span.clone();
        let compiled = |name, hook, stand_in| Compiled {
            name,
            span,
            whole,
            hook,
            stand_in,
            digest: [0; 16],
            problems: 0..0,
        };
        let NodeValue::Map(entries) = &node.value else {
            let message = format!("a hook is a map, found {}", node.kind());
            let Origin { layer, file, .. } = *self.origin;
            let Position { line, column } = self.lines.position(node.span.start);
            let stand_in = (layer.is_trusted() && self.dialect == dialects::NATIVE).then(|| {
                let source = Source {
                    layer,
                    file: file.into(),
                    line,
                    column,
                    position,
                };
                let problem =
                    format!("run: its definition is broken, at {file}:{line}:{column}: {message}");
                deny_tools(
                    format!("{file}#{position}").into(),
                    Vec::new(),
                    source,
                    &problem,
                )
            });
            self.mistakes
                .push(Problem::error(&node.span, "wrong-type", message));
            return compiled(None, None, stand_in);
        };
        let errors_before = self.mistakes.n_errors();
        self.mistakes.found.extend(
            self.foreign
                .extract_if(.., |problem| is_about(problem, node)),
        );
        // A mistake that is reported in another system's words isn't reported again in hookwire's.
        let is_reported = self.mistakes.n_errors() > errors_before;
        let name = self.name(name_node, node);
        self.mistakes.hook = name.clone();

        let written = WrittenHook::read(entries, &mut self.mistakes);
        let mut raw = written.raw;
        let dialect = raw.dialect.as_deref().unwrap_or(self.dialect);
        let contract = dialects::by_name(dialect)
            .map_or_else(|_| &dialects::native().contract, |it| &it.contract);
        let is_on_reported = is_reported && node.get("on").is_none();
        let on = if is_on_reported {
            None
        } else {
            self.on(raw.on.as_ref(), node, contract)
        };
        let conditions = self.conditions(&raw, node, contract);
        // That the handler's key is misspelt is reported already.
        let handler = if written.handlers.is_empty()
            && (written.has_misspelt_handler || is_reported)
        {
            None
        } else {
            let n_rules = raw.r#if.iter().flat_map(OneOrMany::iter).count();
            let rules = Some(&conditions.tools.rules[..]).filter(|rules| rules.len() == n_rules);
            self.handler(&written.handlers, node, contract, rules)
        };

        raw.observe = Some(self.observe(&raw, node));
        // A file's guards may all fail closed without its rewrites denying what they don't change.
        let needs_certainty = |entry: &&Entry| {
            KINDS
                .iter()
                .any(|it| it.key == entry.key && it.needs_certainty)
        };
        let mut defaults = self.defaults.clone();
        if written.handlers.iter().any(needs_certainty) {
            defaults.fail = None;
        }
        let fail = raw.fail.or(defaults.fail);
        let Position { line, column } = self.lines.position(node.span.start);
        let origin = self.origin;
        let source = Source {
            layer: origin.layer,
            file: origin.file.into(),
            line,
            column,
            position,
        };
        let text = self.lines.text().get(node.span.clone()).unwrap_or_default();
        let make = |name: Arc<str>, on: On, handler: Handler| {
            let compiled = CompiledParts {
                name,
                on,
                conditions,
                handler,
                contract,
                source: source.clone(),
                fingerprint: fingerprint(written.handlers.first()),
                names_path: ["tool_input_path", "${path}"]
                    .iter()
                    .any(|name| text.contains(name)),
                copy: origin.approved.cloned(),
            };
            Arc::new(hook_of(&raw, &defaults, compiled))
        };
        if self.mistakes.n_errors() > errors_before {
            let errors = || {
                self.mistakes
                    .found
                    .iter()
                    .filter(|it| it.severity == Severity::Error)
                    .skip(errors_before)
            };
            // A misspelt handler is none; how it is spelt says more.
            let first = errors()
                .find(|it| it.code != "missing-handler")
                .or_else(|| errors().next());
            let first = first
                .map(|it| it.to_diagnostic(origin.file, self.lines).one_line())
                .unwrap_or_default();
            let is_off = raw.enabled == Some(false)
                || raw.r#async == Some(true)
                || raw.observe == Some(true);
            let closed = fail.unwrap_or(contract.gates_fail) == Fail::Closed && !is_off;
            // Other systems say themselves what a failure means.
            let may_stop_a_tool = |on: &On| on.may_be_about_a_tool() && on.includes_a_gate();
            let judges_tools =
                contract.dialect == dialects::NATIVE && on.as_ref().is_none_or(may_stop_a_tool);
            let problem = || format!("run: its definition is broken, at {first}");
            let label = || {
                name.clone()
                    .unwrap_or_else(|| format!("{}#{position}", origin.file).into())
            };
            let stand_in =
                if origin.layer.is_trusted() && judges_tools && !is_off && fail != Some(Fail::Open)
                {
                    let gates = on
                        .filter(|_| closed)
                        .map(|on| on.gates())
                        .unwrap_or_default();
                    Some(deny_tools(label(), gates, source.clone(), &problem()))
                } else {
                    let gate = on.filter(|on| closed && on.includes_a_gate());
                    gate.map(|on| make(label(), on, Handler::Broken(problem())))
                };
            return compiled(name, None, stand_in);
        }
        let (Some(hook_name), Some(on), Some(handler)) = (name.clone(), on, handler) else {
            return compiled(name, None, None);
        };
        let hook = make(hook_name, on, handler);
        lint(
            &hook,
            node,
            raw.matcher.as_deref(),
            self.lines.text(),
            self.tools,
            origin.means,
            &mut self.mistakes,
        );
        compiled(name, Some(hook), None)
    }

    fn name(&mut self, written: Option<&Node>, hook: &Node) -> Option<Arc<str>> {
        let missing = |span: &Span, message: &str| {
            let fix = Fix::new("Give it a name", Edit::Name(names::suggested(hook)));
            Problem::error(span, "missing-name", message).fix(fix)
        };
        let problem = match written.map(|it| (it, &it.value)) {
            Some((_, NodeValue::String(name))) if !name.trim().is_empty() => {
                return Some(name.as_str().into());
            }
            Some((at, NodeValue::String(_) | NodeValue::Null)) => {
                missing(&at.span, "`name` is empty")
            }
            Some((at, _)) => {
                let message = format!("`name`: expected a string, found {}", at.kind());
                Problem::error(&at.span, "wrong-type", message)
            }
            None => missing(head(hook), "a hook needs a `name`"),
        };
        self.mistakes
            .push(problem.help("verdicts, logs and diagnostics call the hook by its `name`"));
        None
    }

    fn on(
        &mut self,
        raw: Option<&OneOrMany>,
        node: &Node,
        contract: &'static Contract,
    ) -> Option<On> {
        let example = dialects::own_name(contract.dialect, "PreToolUse");
        let Some(value) = node.get("on") else {
            if let Some(guard) = node.get("guard") {
                // That the guard is misspelt is reported with the guard.
                return handlers::guards::meant(guard).map(GuardRow::natural_events);
            }
            if contract.matcher_names_events {
                return Some(On::Every);
            }
            let matcher = node.get("matcher").and_then(Node::text);
            if let Some((like, help)) = matcher.and_then(dialects::with_matcher) {
                let message = format!(
                    "a hook needs `on`: this looks like {like}, whose matchers name events"
                );
                self.mistakes
                    .push(Problem::error(head(node), "missing-on", message).help(help));
                return None;
            }
            let problem = Problem::error(
                head(node),
                "missing-on",
                "a hook needs `on`: the events it is for",
            );
            let problem = problem.help(format!(
                "add `on: {example}`, a list, or `on: '*'` for every event"
            ));
            self.mistakes
                .push(problem.fix(Fix::add("on", example, Place::BehindName)));
            return None;
        };
        let OneOrMany(words) = raw?;
        if words.is_empty() {
            let problem = Problem::error(&value.span, "missing-on", "`on` is empty");
            self.mistakes.push(problem.fix(Fix::option(
                format!("Add `on: {example}`"),
                Edit::Value(example),
            )));
            return None;
        }
        if words.iter().any(|word| word == "*") {
            return Some(On::Every);
        }
        let spans: Vec<&Span> = match &value.value {
            NodeValue::Seq(items) => items.iter().map(|item| &item.span).collect(),
            _ => vec![&value.span],
        };
        let mut names = Vec::new();
        for (word, span) in words.iter().zip(spans) {
            match dialects::canonical_names(word, contract.dialect) {
                Ok(found) => names.extend(found),
                Err(unknown) => {
                    let problem = Problem::error(span, "unknown-event", unknown.message);
                    let parts = word
                        .split(['|', ',', ' '])
                        .map(str::trim)
                        .filter(|it| !it.is_empty());
                    let parts: Vec<_> = parts.map(str::to_string).collect();
                    if parts.len() > 1
                        && parts
                            .iter()
                            .all(|it| dialects::canonical_names(it, contract.dialect).is_ok())
                    {
                        let problem =
                            problem.help(format!("write a list: `[{}]`", parts.join(", ")));
                        self.mistakes.push(match value.value {
                            NodeValue::Seq(_) => problem,
                            _ => problem.fix(Fix::new("Write a list", Edit::Items(parts))),
                        });
                        continue;
                    }
                    let event = word.strip_suffix(')').and_then(|it| it.split_once('('));
                    if let Some((event, tool)) = event
                        && dialects::canonical_names(event, contract.dialect).is_ok()
                    {
                        self.mistakes
                            .push(problem.help(format!("write `on: {event}` and `if: {tool}`")));
                        continue;
                    }
                    self.mistakes.push(
                        problem
                            .did_you_mean(word, unknown.nearest)
                            .or_help(unknown.otherwise),
                    );
                }
            }
        }
        // The names that can be read stay, for a stand-in.
        (!names.is_empty()).then_some(On::Names(names))
    }

    /// Whether a hook only observes. Self-defense never does: an agent could switch off the guards
    /// one by one.
    fn observe(&mut self, raw: &RawHook, node: &Node) -> bool {
        let guard = node
            .get("guard")
            .and_then(handlers::guards::meant)
            .filter(|guard| !guard.may_observe);
        if let (Some(guard), Some(value), Some(true)) = (guard, node.get("observe"), raw.observe) {
            let message = format!("`{}` can't only observe: it guards the guards", guard.name);
            self.mistakes.push(
                Problem::error(&value.span, "never-observes", message).fix(Fix::remove("observe")),
            );
        }
        guard.is_none() && raw.observe.or(self.defaults.observe).unwrap_or(false)
    }

    fn conditions(&mut self, raw: &RawHook, node: &Node, contract: &Contract) -> Conditions {
        let mistakes = &mut self.mistakes;
        let at = |key: &str| node.get(key).map_or(&node.span, |it| &it.span);
        let matcher =
            raw.matcher
                .as_deref()
                .and_then(|text| match Matcher::new(text, contract.matcher) {
                    Ok(matcher) => matcher,
                    Err(message) => {
                        let mut problem = Problem::error(
                            at("matcher"),
                            "bad-regex",
                            format!("bad regex: {message}"),
                        );
                        if text.starts_with('*') {
                            let edit = Edit::Replace {
                                wrong: "*".into(),
                                right: ".*".into(),
                            };
                            problem = problem.help("a matcher is a regex: for any text write `.*`");
                            problem = problem.fix(Fix::new("Write `.*`", edit));
                        }
                        mistakes.push(problem);
                        None
                    }
                });
        let mut tools = Condition {
            rules: rules(raw.r#if.as_ref(), node.get("if").unwrap_or(node), mistakes),
            unless: rules(
                raw.unless.as_ref(),
                node.get("unless").unwrap_or(node),
                mistakes,
            ),
            located: raw
                .r#where
                .as_ref()
                .map(|raw_where| located(raw_where, raw.r#if.is_some(), node, mistakes)),
        };
        let when = raw.when.as_deref().and_then(|text| match When::new(text) {
            Ok(when) => Some(Arc::new(when)),
            Err(error) => {
                let value = node.get("when").unwrap_or(node);
                let span = value.part(&(error.at.start..text.len()), self.lines.text());
                let message = format!("`when` is not valid CEL: {}", error.message);
                let problem = Problem::error(&span, "bad-when", message);
                let is_rule = text.contains('(')
                    && ToolRule::new(text)
                        .is_ok_and(|rule| rule.tools().any(|(it, _)| tools::family(it).is_some()));
                mistakes.push(match is_rule {
                    true => problem.help(format!("this is the form of `if`: write `if: {text}`")),
                    false => problem,
                });
                None
            }
        });
        if let Some(when) = when.as_ref().filter(|when| when.is_about_acts()) {
            if raw.r#if.is_none() {
                let value = node.get("when").unwrap_or(node);
                let message = "`act` is what `if` has named, and there is no `if`";
                let problem = Problem::error(&value.span, "bad-when", message);
                let help = "add what it is about, such as `if: Bash(git commit *)`";
                mistakes.push(problem.help(help));
            }
            for (member, at) in when.unknown_of_act() {
                let value = node.get("when").unwrap_or(node);
                let span = value.part(&at, self.lines.text());
                let message = format!("`act` has no `{member}`");
                let problem = Problem::error(&span, "bad-when", message);
                let meant = closest(&member, ACT_MEMBERS);
                let known = format!("it has {}", ACT_MEMBERS.join(", "));
                mistakes.push(match meant {
                    Some(_) => problem.did_you_mean(&member, meant),
                    None => problem.help(known),
                });
            }
            let located = tools.located.get_or_insert_default();
            located.add_when(when.clone());
        }
        let agents = raw.agents.clone().or_else(|| self.defaults.agents.clone());
        Conditions {
            matcher,
            tools,
            when,
            agents: mistakes.globs(agents, at("agents")),
        }
    }

    fn handler(
        &mut self,
        keys: &[&Entry],
        node: &Node,
        contract: &'static Contract,
        rules: Option<&[ToolRule]>,
    ) -> Option<Handler> {
        let origin = self.origin;
        let entry = match keys {
            [] => {
                let possible = KINDS
                    .iter()
                    .filter(|kind| kind.in_files || origin.client.is_some());
                let kinds: Vec<_> = possible.map(|kind| kind.key).collect();
                let problem =
                    Problem::error(head(node), "missing-handler", "a hook needs a handler");
                let problem = problem.help(format!(
                    "add what it does, such as `deny: REASON`: one of {}",
                    kinds.join(", ")
                ));
                let problem = problem.fix(Fix::add("deny", "not allowed here", Place::Last));
                self.mistakes
                    .push(problem.fix(Fix::add("ask", "is this fine?", Place::Last)));
                return None;
            }
            [entry] => entry,
            [first, second, ..] => {
                let message = format!(
                    "a hook has one handler, this has `{}` and `{}`",
                    first.key, second.key
                );
                let problem = Problem::error(&second.key_span, "several-handlers", message).help(
                    format!("leave one out, or write another hook for `{}`", second.key),
                );
                let remove = |key: &&Entry| Fix {
                    is_preferred: false,
                    ..Fix::remove(&key.key)
                };
                self.mistakes.push(Problem {
                    fixes: keys.iter().map(remove).collect(),
                    ..problem
                });
                return None;
            }
        };
        let kind = KINDS.iter().find(|kind| kind.key == entry.key)?;
        let named = RefCell::new(Sha256::new());
        let read = |path: &Path| {
            let text = (origin.read)(path);
            named
                .borrow_mut()
                .update(Sha256::digest(text.as_deref().unwrap_or_default()));
            text
        };
        let lines = self.lines;
        let member_lines = |field: &str| {
            let places = entry
                .value
                .get(field)
                .unwrap_or(&entry.value)
                .line_places(lines.text());
            places
                .into_iter()
                .map(|place| lines.position(place).line)
                .collect()
        };
        let cx = Compile {
            dir: origin.dir,
            root: origin.means.map(|means| &*means.root),
            temporary: origin.means.and_then(|means| means.temporary.as_deref()),
            approved: origin.approved,
            real_dir: origin.real_dir,
            layer: origin.layer,
            client: origin.client,
            rules,
            read: &read,
            lines: &member_lines,
            model: self.defaults.model.as_ref(),
            signals_stops: contract.tally.is_some(),
            placeholders: &contract.placeholders,
        };
        let compiled = (kind.compile)(&entry.value, &cx);
        self.named_files = named.into_inner().finalize().to_vec();
        match compiled {
            Ok(handler) => Some(handler),
            Err(CompileError::Form(error)) => {
                self.mistakes.misfit_of_handler(entry, error);
                None
            }
            Err(CompileError::Meaning(handlers::Mistake {
                within,
                field,
                at,
                message,
                help,
                fix,
            })) => {
                let outer = within.map_or(Some(&entry.value), |within| entry.value.get(within));
                let node =
                    outer.and_then(|outer| field.map_or(Some(outer), |field| outer.get(field)));
                let node = node.unwrap_or(&entry.value);
                let span = at.map_or(node.span.clone(), |at| node.part(&at, lines.text()));
                let problem = Problem::error(&span, "bad-handler", message);
                self.mistakes.push(Problem {
                    help,
                    fixes: fix.map(|fix| *fix).into_iter().collect(),
                    ..problem
                });
                None
            }
        }
    }
}

/// A hook in the place of a definition of a person's own layers that can't be read: nobody can tell
/// what it would have said, so no tool is called until it is fixed. It denies at these gates
/// besides.
pub(super) fn deny_tools(
    name: Arc<str>,
    mut gates: Vec<Arc<str>>,
    source: Source,
    problem: &str,
) -> Arc<Hook> {
    gates.extend(On::tool_gates());
    gates.sort();
    gates.dedup();
    let file = &source.file;
    let problem = format!(
        "{problem}; no tool is called until somebody fixes it (`hookwire check {file}` shows it)"
    );
    let said = RawHook {
        priority: Some(BEFORE_ALL),
        fail: Some(Fail::Closed),
        ..RawHook::default()
    };
    let mut fingerprint = DefaultHasher::new();
    (&**file, source.position, &problem).hash(&mut fingerprint);
    let compiled = CompiledParts {
        name,
        on: On::Names(gates),
        conditions: Conditions::default(),
        handler: Handler::Broken(problem),
        contract: &dialects::native().contract,
        source,
        fingerprint: fingerprint.finish(),
        names_path: false,
        copy: None,
    };
    Arc::new(hook_of(&said, &RawDefaults::default(), compiled))
}

/// What must hold for a hook to run, beside its event.
#[derive(Default)]
struct Conditions {
    matcher: Option<Matcher>,
    tools: Condition,
    when: Option<Arc<When>>,
    agents: Vec<GlobMatcher>,
}

/// The parts of a hook that take more to make than to read their keys.
struct CompiledParts {
    name: Arc<str>,
    on: On,
    conditions: Conditions,
    handler: Handler,
    contract: &'static Contract,
    source: Source,
    fingerprint: u64,
    names_path: bool,
    copy: Option<Arc<Approved>>,
}

/// Each key of a hook as the hook in force has it; a key that isn't said gets its value here.
fn hook_of(said: &RawHook, defaults: &RawDefaults, compiled: CompiledParts) -> Hook {
    // A handler that is slow by nature isn't cut short by the default of the file.
    let timeout = said
        .timeout
        .map(RawDuration::get)
        .or(compiled.handler.default_timeout())
        .or(defaults.timeout.map(RawDuration::get))
        .unwrap_or(compiled.contract.timeout);
    let delegates = said.delegates.or(defaults.delegates);
    Hook {
        name: compiled.name,
        description: said.description.clone(),
        on: compiled.on,
        matcher: compiled.conditions.matcher,
        tools: compiled.conditions.tools,
        when: compiled.conditions.when,
        agents: compiled.conditions.agents,
        handler: compiled.handler,
        priority: said.priority.or(defaults.priority),
        timeout,
        fail: said.fail,
        default_fail: defaults.fail,
        delegates: delegates.and_then(Delegates::decision),
        ignores_delegates: matches!(delegates, Some(Delegates::Ignore)),
        observe: said.observe.unwrap_or(false),
        detached: said.r#async.unwrap_or(false),
        parallel: said.parallel.unwrap_or(false),
        once: said.once.unwrap_or(false),
        enabled: said.enabled.unwrap_or(true),
        tags: said.tags.clone().map(|tags| tags.0).unwrap_or_default(),
        contract: compiled.contract,
        source: compiled.source,
        fingerprint: compiled.fingerprint,
        definition: None,
        reaches_acts: said.reach == Some(Reach::Acts),
        names_path: compiled.names_path,
        copy: compiled.copy,
    }
}

/// Whether a field is a hook's alone: a file's `defaults` has some of the others.
fn belongs_to_a_hook(key: &str) -> bool {
    let is_handler = KINDS.iter().any(|kind| kind.key == key && kind.in_files);
    let is_anothers = key == "agent" || dialects::with_member(key).is_some();
    !is_anothers
        && (is_handler || RawHook::KEYS.contains(&key) && !RawDefaults::KEYS.contains(&key))
}

/// Where it is reported that a hook lacks something: its name, else its first key.
fn head(hook: &Node) -> &Span {
    let first = match &hook.value {
        NodeValue::Map(entries) => entries.first().map(|entry| &entry.key_span),
        _ => None,
    };
    let name = hook
        .get("name")
        .filter(|name| matches!(name.value, NodeValue::String(_)))
        .map(|name| &name.span);
    name.or(first).unwrap_or(&hook.span)
}

/// Whether the reader of another system's file found a problem in this hook.
fn is_about(problem: &Problem, hook: &Node) -> bool {
    matches!((hook.get("name").map(|it| &it.value), &problem.hook), (Some(NodeValue::String(name)), Some(hook)) if name == hook)
}

/// A hash of the handler: what makes two definitions equal where equal ones run once.
fn fingerprint(handler: Option<&&Entry>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(entry) = handler {
        entry.key.hash(&mut hasher);
        entry.value.to_json().to_string().hash(&mut hasher);
    }
    hasher.finish()
}

/// `where` of a hook.
fn located(raw: &RawWhere, has_rules: bool, node: &Node, mistakes: &mut Mistakes) -> Where {
    let written = node.get("where").unwrap_or(node);
    if !has_rules {
        let message = "`where` says where what `if` names has to be, and there is no `if`";
        let problem = Problem::error(&written.span, "bad-where", message);
        mistakes.push(problem.help("add what it is about, such as `if: Bash(git commit *)`"));
    }
    let said = [&raw.branch, &raw.directory, &raw.repository, &raw.remote];
    if !said
        .iter()
        .any(|key| key.iter().any(|it| it.iter().next().is_some()))
    {
        let problem = Problem::error(&written.span, "bad-where", "`where` says nothing");
        mistakes.push(problem.help("name a place, such as `branch: default`"));
    }
    let mut found = Where::default();
    for (name, key, patterns) in [
        ("branch", Key::Branch, &raw.branch),
        ("directory", Key::Directory, &raw.directory),
        ("repository", Key::Repository, &raw.repository),
        ("remote", Key::Remote, &raw.remote),
    ] {
        let span = written.get(name).map_or(&written.span, |it| &it.span);
        for pattern in patterns.iter().flat_map(OneOrMany::iter) {
            if let Err(problem) = found.add(key, pattern) {
                let message = format!("`where.{name}`: {problem}");
                mistakes.push(Problem::error(span, "bad-where", message));
            }
        }
    }
    found
}
