//! The hooks in a coding agent's own settings as hookwire's definitions: events with groups of
//! handlers, as Claude Code, Codex, Gemini CLI and Qwen Code have them, and events with handlers,
//! as Copilot has them.
//!
//! What the agent does without a word, such as passing over a handler that it doesn't know, is told
//! here.

use super::files::{
    error_at, make_entry, rename_entry, text_value, unknown_word, warning_at, wrong_type,
};
use super::{Dialect, Files, NO_FILES, OwnKeys};
use hookwire_base::support::nearest::closest;
use hookwire_base::support::shell_word::argument;
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use hookwire_rules::agents::{Agent, HookFile, Unit};
use std::collections::HashMap;

/// The member of settings that holds hooks, and of groups.
const HOOKS: &str = "hooks";
/// The member of a hook that says what it is.
const TYPE: &str = "type";
/// The key, among those of events, of hooks that name none.
const NO_EVENT: &str = "";
/// Where a number can be of either unit, so many are milliseconds.
const FEWEST_MILLIS: i64 = 1000;

/// The members of a handler that every agent has or that mean nothing here, as they only show how
/// it runs.
const SHOWN: [&str; 8] = [
    "type",
    "name",
    "statusMessage",
    "powershell",
    "shell",
    "commandWindows",
    "command_windows",
    "continueOnBlock",
];
/// Variables that a shell has by itself, or that every command of hookwire has.
const SHELLS: [&str; 16] = [
    "PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SHELL", "PWD", "OLDPWD", "IFS", "OPTARG",
    "OPTIND", "PPID", "RANDOM", "LINENO", "SECONDS",
];

/// Whether a file has groups of hooks for one of these events.
pub(super) fn has_groups(root: &Node, is_event: fn(&str) -> bool) -> bool {
    event_lists(root).any(|(event, items)| {
        is_event(event)
            && items.iter().any(|item| {
                matches!(
                    item.get("hooks").map(|it| &it.value),
                    Some(NodeValue::Seq(_))
                )
            })
    })
}

/// Whether a file has hooks without groups for one of these events.
pub(super) fn has_handlers(root: &Node, is_event: fn(&str) -> bool) -> bool {
    event_lists(root).any(|(event, items)| {
        is_event(event)
            && items
                .iter()
                .any(|item| item.get("type").is_some() && item.get("hooks").is_none())
    })
}

/// The events of a file, with what is listed for each.
fn event_lists(root: &Node) -> impl Iterator<Item = (&str, &[Node])> {
    let events = root.get("hooks").map(Node::entries).unwrap_or_default();
    events.iter().filter_map(|event| match &event.value.value {
        NodeValue::Seq(items) => Some((event.key.as_str(), &items[..])),
        _ => None,
    })
}

/// Files that look like another agent's, so that they have to say whose they are.
pub(super) const FILES: Files = Files {
    read: read_settings,
    ..NO_FILES
};

/// Settings with their hooks as most agents have them: `{hooks: {EVENT: [..]}}`, where each hook
/// has its type. Settings that have them so stay as they are.
pub fn in_one_form(file: &HookFile, root: &Node) -> Node {
    let (NodeValue::Map(entries), false) = (&root.value, file.is_plain()) else {
        return root.clone();
    };
    let mut events: Vec<Entry> = Vec::new();
    let mut add = |event: &Entry, item: Node| match events
        .iter_mut()
        .find(|it| it.key == event.key)
        .map(|event| &mut event.value.value)
    {
        Some(NodeValue::Seq(list)) => list.push(item),
        _ => events.push(make_entry(
            &event.key,
            &event.key_span,
            NodeValue::Seq(vec![item]),
        )),
    };
    let mut add_all = |named: &Node| {
        for event in named.entries() {
            if let NodeValue::Seq(items) = &event.value.value {
                items
                    .iter()
                    .for_each(|item| add(event, in_form(file, item)));
            }
        }
    };
    let hooks = root.entry(HOOKS);
    match (&file.event, hooks.map(|hook| &hook.value)) {
        (
            Some(member),
            Some(Node {
                value: NodeValue::Seq(items),
                ..
            }),
        ) => {
            // Such a list may be hookwire's own, too.
            if !items.is_empty() && items.iter().all(|item| is_native(item, member)) {
                return root.clone();
            }
            for item in items {
                let named = item
                    .entry(member)
                    .and_then(|entry| Some((entry, entry.value.text()?)));
                match named {
                    Some((it, event)) => add(
                        &make_entry(event, &it.value.span, NodeValue::Null),
                        in_form(file, item),
                    ),
                    None => add(
                        &make_entry(NO_EVENT, &item.span, NodeValue::Null),
                        item.clone(),
                    ),
                }
            }
        }
        (
            None,
            Some(
                hooks @ Node {
                    value: NodeValue::Map(_),
                    ..
                },
            ),
        ) => add_all(hooks),
        // Each member at the top is a name of hooks.
        (None, None) if file.at != HOOKS => {
            entries
                .iter()
                .filter(|named| {
                    named.value.get("enabled").map(|enabled| &enabled.value)
                        != Some(&NodeValue::Bool(false))
                })
                .for_each(|named| add_all(&named.value));
        }
        _ => return root.clone(),
    }
    let place = hooks.map_or(&root.span, |it| &it.key_span);
    let others = entries
        .iter()
        .filter(|entry| entry.key != HOOKS && file.at == HOOKS);
    let hooks = make_entry(HOOKS, place, NodeValue::Map(events));
    Node {
        span: root.span.clone(),
        value: NodeValue::Map(others.cloned().chain([hooks]).collect()),
    }
}

/// Whether a hook of a list in which `member` names the event is in hookwire's own form.
fn is_native(item: &Node, member: &str) -> bool {
    let has = |key: &str| item.get(key).is_some();
    !has(member) && (has("on") || has("name") && misspelt_member(item, member).is_none())
}

/// What was meant to be a member of a hook.
fn misspelt_member<'a>(item: &'a Node, member: &str) -> Option<&'a Entry> {
    let mut members = item.entries().iter();
    members.find(|entry| closest(&entry.key, [member]).is_some())
}

/// A hook, or a group of them, whose hooks have their type and all of their members beside it.
fn in_form(file: &HookFile, item: &Node) -> Node {
    let NodeValue::Map(members) = &item.value else {
        return item.clone();
    };
    let mut own: Vec<Entry> = Vec::new();
    for member in members
        .iter()
        .filter(|member| file.event.as_ref() != Some(&member.key))
    {
        match (member.key.as_str(), &member.value.value) {
            (HOOKS, NodeValue::Seq(handlers)) => {
                let handlers = handlers
                    .iter()
                    .map(|handler| in_form(file, handler))
                    .collect();
                own.push(make_entry(
                    HOOKS,
                    &member.key_span,
                    NodeValue::Seq(handlers),
                ));
            }
            // Kiro's commands are within one, and what it calls an agent is the one that asks.
            ("action", NodeValue::Map(action)) => {
                own.extend(action.iter().map(|named| match named.value.text() {
                    Some("agent") if named.key == TYPE => make_entry(
                        TYPE,
                        &named.value.span,
                        text_value("prompt for the agent itself"),
                    ),
                    _ => named.clone(),
                }))
            }
            ("working_directory", _) => own.push(rename_entry(member, "cwd")),
            // No limit.
            ("timeout", NodeValue::Int(0)) => {}
            _ => own.push(member.clone()),
        }
    }
    let has_type = own
        .iter()
        .any(|it| [TYPE, HOOKS].contains(&it.key.as_str()));
    own.extend((!has_type).then(|| make_entry(TYPE, &item.span, text_value("command"))));
    Node {
        span: item.span.clone(),
        value: NodeValue::Map(own),
    }
}

/// hookwire's definitions of these settings. A list of hooks is hookwire's own already.
fn read_settings(
    dialect: &Dialect,
    root: &Node,
    own_keys: OwnKeys,
    problems: &mut Vec<Problem>,
) -> Node {
    let Some((agent, file)) = dialect
        .facts()
        .and_then(|agent| Some((agent, agent.file()?)))
    else {
        return root.clone();
    };
    let root = &in_one_form(file, root);
    let (NodeValue::Map(entries), Some(hooks)) = (&root.value, root.get(HOOKS)) else {
        return root.clone();
    };
    let NodeValue::Map(events) = &hooks.value else {
        return root.clone();
    };
    let mut reading = Reading {
        dialect,
        agent,
        file,
        own_keys,
        problems,
        counts: HashMap::new(),
        name: String::new(),
    };
    let mut found = Vec::new();
    for event in events {
        match &event.value.value {
            NodeValue::Seq(items) if event.key == NO_EVENT => {
                found.extend(items.iter().map(|item| reading.without_event(item)));
            }
            NodeValue::Seq(items) if file.groups(&event.key) => {
                items
                    .iter()
                    .for_each(|group| reading.read_group(event, group, &mut found));
            }
            NodeValue::Seq(items) => found.extend(
                items
                    .iter()
                    .map(|item| reading.read_hook(event, None, item)),
            ),
            NodeValue::Null => {}
            _ => {
                let message = format!("`{}` holds no list of hooks", event.key);
                reading
                    .problems
                    .push(warning_at(&event.key_span, "not-read", message, None));
            }
        }
    }
    if agent
        .switched_off(root, false)
        .any(|(_, off)| off.is_boolean())
    {
        let message = format!(
            "these settings switch all hooks off, in {} and so here",
            agent.title
        );
        problems.push(warning_at(&hooks.span, "not-read", message, None));
        for hook in &mut found {
            let NodeValue::Map(members) = &mut hook.value else {
                continue;
            };
            members.push(make_entry("enabled", &hook.span, NodeValue::Bool(false)));
        }
    }
    // The rest of the file is for the agent only.
    let mut native: Vec<Entry> = entries
        .iter()
        .filter(|entry| matches!(entry.key.as_str(), "dialect" | "defaults"))
        .cloned()
        .collect();
    native.push(make_entry("hooks", &hooks.span, NodeValue::Seq(found)));
    Node {
        span: root.span.clone(),
        value: NodeValue::Map(native),
    }
}

struct Reading<'a> {
    dialect: &'a Dialect,
    agent: &'a Agent,
    file: &'a HookFile,
    own_keys: OwnKeys,
    problems: &'a mut Vec<Problem>,
    /// How many hooks there are of an event and matcher.
    counts: HashMap<String, usize>,
    /// The hook that is being read.
    name: String,
}

impl Reading<'_> {
    fn read_group(&mut self, event: &Entry, group: &Node, found: &mut Vec<Node>) {
        let handlers = match group.get("hooks").map(|it| &it.value) {
            Some(NodeValue::Seq(handlers)) => &handlers[..],
            _ => {
                self.name = self.free_name(event, None);
                self.report_problem(error_at(
                    &group.span,
                    "missing-handler",
                    "a group of hooks needs a list of `hooks`",
                    None,
                ));
                let members = vec![self.name_entry(&group.span), on_entry(event)];
                return found.push(Node {
                    span: group.span.clone(),
                    value: NodeValue::Map(members),
                });
            }
        };
        for member in group
            .entries()
            .iter()
            .filter(|entry| entry.key != "matcher" && closest(&entry.key, ["matcher"]).is_some())
        {
            let message = format!(
                "unknown field `{}`: these hooks are for every tool",
                member.key
            );
            let problem = warning_at(&member.key_span, "unknown-field", message, None);
            self.problems
                .push(problem.did_you_mean(&member.key, Some("matcher")));
        }
        let first = found.len();
        found.extend(
            handlers
                .iter()
                .map(|handler| self.read_hook(event, Some(group), handler)),
        );
        let sequential = group
            .entry("sequential")
            .filter(|entry| entry.value.value == NodeValue::Bool(true));
        if let (Some(it), true) = (sequential, found.len() > first + 1) {
            let message =
                "these hooks run one after another there; here none sees what another one changed";
            self.report_problem(warning_at(&it.key_span, "not-read", message, None));
        }
    }

    fn read_hook(&mut self, event: &Entry, group: Option<&Node>, item: &Node) -> Node {
        let matcher = group
            .unwrap_or(item)
            .entry("matcher")
            .filter(|entry| entry.value.value != NodeValue::Null);
        self.name = match item.get("name").and_then(Node::text) {
            Some(name) if !name.trim().is_empty() => name.to_string(),
            _ => self.free_name(event, matcher.and_then(|matcher| matcher.value.text())),
        };
        let mut native = vec![self.name_entry(&item.span), on_entry(event)];
        native.extend(matcher.cloned());
        if let Some(matcher) =
            matcher.filter(|matcher| self.is_by_command(event) && matcher.value.text() != Some(""))
        {
            let message = format!(
                "{} holds a matcher at {} against the command",
                self.agent.title, event.key
            );
            let help = "write it as `if: Bash(...)` in a hook of hookwire".to_string();
            self.report_problem(error_at(
                &matcher.key_span,
                "missing-handler",
                message,
                Some(help),
            ));
            return Node {
                span: item.span.clone(),
                value: NodeValue::Map(native),
            };
        }
        match (&item.value, item.get("type").and_then(Node::text)) {
            (NodeValue::Map(members), Some(kind)) => {
                for member in members {
                    native.extend(self.read_common(kind, member));
                }
                native.extend(self.read_handler(kind, item));
            }
            (NodeValue::Map(_), None) => {
                let help = Some("write `\"type\": \"command\"` or another type".to_string());
                self.report_problem(error_at(
                    &item.span,
                    "missing-handler",
                    "a hook needs a `type`",
                    help,
                ));
            }
            _ => self.report_problem(wrong_type(item, "a hook", "a map with `type`")),
        }
        Node {
            span: item.span.clone(),
            value: NodeValue::Map(native),
        }
    }

    /// A hook that doesn't say its event as the agent's hooks do: it is hookwire's own, or a
    /// mistake.
    fn without_event(&mut self, item: &Node) -> Node {
        let member = self.file.event.as_deref().unwrap_or("event");
        if is_native(item, member) {
            return item.clone();
        }
        if let Some((slip, event)) =
            misspelt_member(item, member).and_then(|it| Some((it, it.value.text()?)))
        {
            let members = item
                .entries()
                .iter()
                .map(|entry| {
                    if entry.key == slip.key {
                        rename_entry(entry, member)
                    } else {
                        entry.clone()
                    }
                })
                .collect();
            let item = in_form(
                self.file,
                &Node {
                    span: item.span.clone(),
                    value: NodeValue::Map(members),
                },
            );
            let hook = self.read_hook(
                &make_entry(event, &slip.value.span, NodeValue::Null),
                None,
                &item,
            );
            let message = format!("unknown field `{}`", slip.key);
            self.report_problem(
                error_at(&slip.key_span, "unknown-field", message, None)
                    .did_you_mean(&slip.key, Some(member)),
            );
            return hook;
        }
        self.name = self.free_name(&make_entry("hook", &item.span, NodeValue::Null), None);
        if let NodeValue::Map(_) = &item.value {
            let message = format!(
                "a hook of {} needs `{member}`: the event that it is for",
                self.agent.title
            );
            let help =
                format!("add `{member}`, or write it in hookwire's own form, with `name` and `on`");
            self.report_problem(error_at(&item.span, "missing-on", message, Some(help)));
        } else {
            self.report_problem(wrong_type(
                item,
                "a hook",
                &format!("a map with `{member}`"),
            ));
        }
        Node {
            span: item.span.clone(),
            value: NodeValue::Map(vec![self.name_entry(&item.span)]),
        }
    }

    /// Whether an event is that of one tool, so that a matcher isn't about tools.
    fn is_by_command(&self, event: &Entry) -> bool {
        let mut moments = self.agent.speaks.iter().flat_map(|speech| &speech.events);
        moments.any(|moment| moment.name == event.key && moment.tool.is_some())
    }

    /// What a member is among those that all of hookwire's hooks may have.
    fn read_common(&mut self, kind: &str, member: &Entry) -> Option<Entry> {
        let value = &member.value.value;
        match member.key.as_str() {
            "timeout" | "timeoutSec" => Some(self.read_timeout(kind, member)),
            key if self
                .file
                .fails_closed
                .as_ref()
                .is_some_and(|fails_closed| fails_closed.member == key) =>
            {
                let is_closed = self
                    .file
                    .fails_closed
                    .as_ref()
                    .is_some_and(|fails_closed| fails_closed.value == member.value.to_json());
                is_closed.then(|| make_entry("fail", &member.value.span, text_value("closed")))
            }
            "asyncRewake" if *value == NodeValue::Bool(true) => {
                let message = "it can't wake the model here: it runs beside the agent, and what it says is logged";
                self.report_problem(warning_at(&member.key_span, "not-read", message, None));
                Some(rename_entry(member, "async"))
            }
            // Only skills' and http hooks of some agents know it; elsewhere they pass over it.
            "once" if kind != "http" => None,
            "asyncRewake" => None,
            key if SHOWN.contains(&key) || own_members(kind).contains(&key) => None,
            "matcher" if !self.file.has_groups => None,
            // hookwire's own, such as `when`, have their meaning here too.
            key if self.own_keys.contains(&key)
                && !["name", "on", "matcher", "dialect"].contains(&key) =>
            {
                Some(member.clone())
            }
            key if self.file.handler.contains_key(key) => None,
            key => {
                let message = format!(
                    "`{key}` isn't known of {}, and is passed over",
                    self.agent.title
                );
                let known = own_members(kind)
                    .iter()
                    .copied()
                    .chain(["if", "timeout", "async"]);
                let problem = unknown_word(&member.key_span, "unknown-field", message, key, known);
                self.report_problem(Problem {
                    severity: Severity::Warning,
                    fixes: Vec::new(),
                    ..problem
                });
                None
            }
        }
    }

    fn read_timeout(&mut self, kind: &str, member: &Entry) -> Entry {
        let number = match member.value.value {
            NodeValue::Int(number) => Some(number as f64),
            NodeValue::Float(number) => Some(number),
            _ => None,
        };
        // http hooks give seconds everywhere.
        let says_seconds = kind == "http" || member.key == "timeoutSec";
        let is_seconds = match &self.file.unit {
            Unit::Seconds => true,
            Unit::Millis => says_seconds,
            Unit::ByAmount(since) => {
                let is_short = number.is_some_and(|number| number < FEWEST_MILLIS as f64);
                if is_short && !says_seconds {
                    let agent = &self.agent.title;
                    let written = number.unwrap_or_default();
                    let message = format!(
                        "{written} is read as seconds, as {agent} does since {since}; before, it was milliseconds"
                    );
                    self.report_problem(Problem::hint(&member.value.span, "unclear-unit", message));
                }
                is_short || says_seconds
            }
        };
        let value = match (&member.value.value, is_seconds) {
            (NodeValue::Int(number), false) => text_value(format!("{number}ms")),
            (NodeValue::Float(number), false) => text_value(format!("{}ms", number.round())),
            (other, _) => other.clone(),
        };
        make_entry("timeout", &member.value.span, value)
    }

    fn read_handler(&mut self, kind: &str, item: &Node) -> Option<Entry> {
        match kind {
            "command" => self.read_command(item),
            "http" => self.read_http(item),
            "prompt" if self.file.has_groups => self.read_prompt(item, "prompt", "text"),
            "agent" => self.read_prompt(item, "agent", "task"),
            "mcp_tool" => {
                let message = format!(
                    "the MCP server `{}` is the agent's own",
                    shown_text(item, "server")
                );
                let help = Some("write it as `mcp:` with the program of the server".to_string());
                self.report_problem(error_at(&item.span, "missing-handler", message, help));
                None
            }
            other => {
                let at = item.get("type").unwrap_or(item);
                let message = format!("a hook of type `{other}` has no counterpart here");
                self.report_problem(error_at(&at.span, "missing-handler", message, None));
                None
            }
        }
    }

    fn read_command(&mut self, item: &Node) -> Option<Entry> {
        let Some(written) = item.entry("command").or(item.entry("bash")) else {
            let message = match item.get("powershell") {
                Some(_) => "it has a text for PowerShell and none for a shell of this system",
                None => "a hook of type `command` needs a `command`",
            };
            self.report_problem(error_at(&item.span, "missing-handler", message, None));
            return None;
        };
        let place = &written.value.span;
        let Some(command) = written.value.text() else {
            self.report_problem(wrong_type(
                &written.value,
                &format!("`{}`", written.key),
                "a text",
            ));
            return None;
        };
        if item.get("shell").and_then(Node::text) == Some("powershell") {
            self.report_problem(error_at(
                place,
                "missing-handler",
                "it is for PowerShell",
                None,
            ));
            return None;
        }
        let mut run = command.to_string();
        if let Some(NodeValue::Seq(args)) = item.get("args").map(|args| &args.value) {
            let words = [command]
                .into_iter()
                .chain(args.iter().filter_map(Node::text))
                .map(word_for_shell);
            run = words.collect::<Vec<_>>().join(" ");
        }
        // It starts at the project's root there, and at the file's directory in hookwire's own
        // definitions.
        if let Some(cwd) = item
            .get("cwd")
            .and_then(Node::text)
            .filter(|cwd| *cwd != "." && !cwd.is_empty())
        {
            let cwd = if cwd.starts_with('/') {
                argument(cwd)
            } else {
                format!("\"$HOOKWIRE_PROJECT_DIR\"/{}", argument(cwd))
            };
            run = format!("cd {cwd} || exit 1\n{run}");
        }
        let env = item
            .entry("env")
            .filter(|entry| entry.value.value != NodeValue::Null);
        let inherited = self.inherited_variables(&run, item, place);
        let value = match (env, &inherited[..]) {
            (None, []) if run == command => return Some(rename_entry(written, "command")),
            (None, []) => text_value(run),
            _ => {
                let mut members = vec![make_entry("run", place, text_value(run))];
                members.extend(env.cloned());
                members
                    .extend((!inherited.is_empty()).then(|| {
                        make_entry("inheritEnv", place, list_of_texts(&inherited, place))
                    }));
                NodeValue::Map(members)
            }
        };
        Some(make_entry("command", place, value))
    }

    /// The variables of the agent's environment that a text uses, which a command of hookwire has
    /// only by name.
    fn inherited_variables(&mut self, run: &str, item: &Node, place: &Span) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let contract = &self.dialect.contract;
        for name in shell_variables(run) {
            let is_set = item.get("env").is_some_and(|env| env.get(name).is_some())
                || run.contains(&format!("{name}="))
                || contract.project_variables.contains(&name)
                || SHELLS.contains(&name)
                || name.starts_with("HOOKWIRE_")
                || names.iter().any(|it| it == name);
            if is_set {
                continue;
            }
            if !self.file.sets.is_empty() && name.starts_with(&self.file.sets) {
                let message = format!(
                    "`${name}` is set by {}, and not by hookwire",
                    self.agent.title
                );
                let help = match name {
                    "CLAUDE_PLUGIN_ROOT" => {
                        "`hookwire import claude-code --from FILE` puts the plugin's folder in"
                    }
                    _ => "set it with `env`",
                };
                self.report_problem(warning_at(
                    place,
                    "unset-variable",
                    message,
                    Some(help.into()),
                ));
            } else {
                names.push(name.to_string());
            }
        }
        names
    }

    fn read_http(&mut self, item: &Node) -> Option<Entry> {
        let Some(url) = item.entry("url") else {
            self.report_problem(error_at(
                &item.span,
                "missing-handler",
                "a hook of type `http` needs a `url`",
                None,
            ));
            return None;
        };
        let mut members = vec![url.clone()];
        let allowed: Vec<&str> = match item.get("allowedEnvVars").map(|it| &it.value) {
            Some(NodeValue::Seq(names)) => names.iter().filter_map(Node::text).collect(),
            _ => Vec::new(),
        };
        if let Some(headers) = item.entry("headers") {
            let NodeValue::Map(list) = &headers.value.value else {
                self.report_problem(wrong_type(&headers.value, "`headers`", "a map"));
                return None;
            };
            let mut used = Vec::new();
            let list: Vec<Entry> = list
                .iter()
                .map(|entry| match entry.value.text() {
                    Some(value) => make_entry(
                        &entry.key,
                        &entry.value.span,
                        text_value(expand_header(value, &allowed, &mut used)),
                    ),
                    None => entry.clone(),
                })
                .collect();
            members.push(make_entry(
                "headers",
                &headers.value.span,
                NodeValue::Map(list),
            ));
            used.sort();
            used.dedup();
            members.extend((!used.is_empty()).then(|| {
                make_entry(
                    "inheritEnv",
                    &headers.value.span,
                    list_of_texts(&used, &headers.value.span),
                )
            }));
        }
        Some(make_entry("http", &item.span, NodeValue::Map(members)))
    }

    /// A prompt for a model, or a task for a sub-agent.
    fn read_prompt(&mut self, item: &Node, kind: &str, member: &str) -> Option<Entry> {
        let Some(prompt) = item
            .entry("prompt")
            .filter(|entry| entry.value.text().is_some())
        else {
            let message = format!("a hook of type `{kind}` needs a `prompt`");
            self.report_problem(error_at(&item.span, "missing-handler", message, None));
            return None;
        };
        let place = &prompt.value.span;
        // The model reads the event apart from the author's words.
        let instructions = prompt
            .value
            .text()?
            .replace("${", "$${")
            .replace("\\$", "\u{0}");
        let instructions = instructions
            .replace("$ARGUMENTS", "the event below")
            .replace('\u{0}', "$");
        let mut members = vec![make_entry(member, place, text_value(instructions))];
        match item.get("model").and_then(Node::text) {
            Some(name) if name.starts_with("claude-") => {
                members.push(make_entry(
                    "model",
                    place,
                    text_value(format!("anthropic:{name}")),
                ));
            }
            Some(name) => {
                let message = format!("which model `{name}` is, is the agent's matter");
                let help = Some(
                    "name one as `anthropic:NAME`, or start hookwire with `--model`".to_string(),
                );
                self.report_problem(warning_at(place, "not-read", message, help));
            }
            None => {}
        }
        if kind == "prompt"
            && item.get("continueOnBlock").map(|it| &it.value) != Some(&NodeValue::Bool(true))
        {
            let message = "a no ends the turn there; here the agent is told why and goes on";
            self.report_problem(Problem {
                severity: Severity::Hint,
                ..warning_at(place, "not-read", message, None)
            });
        }
        Some(make_entry(kind, place, NodeValue::Map(members)))
    }

    fn name_entry(&self, place: &Span) -> Entry {
        make_entry("name", place, text_value(&*self.name))
    }

    fn free_name(&mut self, event: &Entry, matcher: Option<&str>) -> String {
        let base = match matcher.filter(|matcher| !matcher.is_empty()) {
            Some(matcher) => format!("{}/{matcher}", event.key),
            None => event.key.clone(),
        };
        let count = self.counts.entry(base.clone()).or_default();
        *count += 1;
        format!("{base}#{count}")
    }

    fn report_problem(&mut self, problem: Problem) {
        self.problems.push(problem.in_hook(&self.name));
    }
}

/// The members that only one type of hook has.
fn own_members(kind: &str) -> &'static [&'static str] {
    match kind {
        "command" => &["command", "bash", "args", "env", "cwd"],
        "http" => &["url", "headers", "allowedEnvVars"],
        "prompt" | "agent" => &["prompt", "model"],
        _ => &["server", "tool", "input"],
    }
}

fn on_entry(event: &Entry) -> Entry {
    make_entry("on", &event.key_span, text_value(&*event.key))
}

fn list_of_texts(names: &[String], place: &Span) -> NodeValue {
    NodeValue::Seq(
        names
            .iter()
            .map(|name| Node {
                span: place.clone(),
                value: text_value(&**name),
            })
            .collect(),
    )
}

fn shown_text<'n>(item: &'n Node, key: &str) -> &'n str {
    item.get(key).and_then(Node::text).unwrap_or_default()
}

/// A word of a program's arguments for a shell: what the agent puts in for `${CLAUDE_...}`, the
/// shell does.
fn word_for_shell(text: &str) -> String {
    if !text.contains("${CLAUDE_") {
        return argument(text);
    }
    let mut parts = text.split("${CLAUDE_");
    let escaped = |part: &str| {
        part.chars()
            .flat_map(|c| {
                matches!(c, '"' | '\\' | '$' | '`')
                    .then_some('\\')
                    .into_iter()
                    .chain([c])
            })
            .collect::<String>()
    };
    let first = escaped(parts.next().unwrap_or_default());
    let rest = parts.map(|part| match part.split_once('}') {
        Some((name, rest)) => format!("${{CLAUDE_{name}}}{}", escaped(rest)),
        None => escaped(&format!("${{CLAUDE_{part}")),
    });
    format!("\"{first}{}\"", rest.collect::<String>())
}

/// The variables that a shell text names, in capitals as those of an environment are.
fn shell_variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest
            .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
            .unwrap_or(rest.len());
        let is_word = !rest[end..].starts_with(|c: char| c.is_ascii_lowercase());
        (is_word && rest.starts_with(|c: char| c.is_ascii_uppercase())).then(|| &rest[..end])
    })
}

/// A header's value with the variables that it may hold in hookwire's words. The others are empty.
fn expand_header(value: &str, allowed: &[&str], used: &mut Vec<String>) -> String {
    let mut parts = value.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (inner, is_braced) = part
            .strip_prefix('{')
            .map_or((part, false), |rest| (rest, true));
        let end = inner
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        let rest = if is_braced {
            rest.strip_prefix('}').unwrap_or(rest)
        } else {
            rest
        };
        if name.is_empty() {
            expanded.push('$');
        } else if allowed.contains(&name) {
            expanded.push_str(&format!("${{env.{name}}}"));
            used.push(name.to_string());
        }
        expanded.push_str(rest);
    }
    expanded
}

#[cfg(test)]
mod tests {
    use crate::{by_name, recognise_file};
    use hookwire_base::syntax::node::Node;
    use hookwire_testing::rows;
    use serde::Deserialize;
    use serde_json::{Map, Value, json};

    /// What settings become, and what is told about it.
    fn read(agent: &str, settings: Value) -> (Value, Vec<String>) {
        let mut problems = Vec::new();
        let dialect = by_name(agent).unwrap();
        let native = (dialect.files.as_ref().unwrap().read)(
            dialect,
            &Node::from_json(&settings),
            &["async", "fail", "if", "once", "timeout", "when"],
            &mut problems,
        )
        .to_json();
        (
            native["hooks"].clone(),
            problems
                .into_iter()
                .map(|problem| problem.message)
                .collect(),
        )
    }

    #[test]
    fn handlers_become_hooks() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            agent: String,
            handler: Value,
            hook: Map<String, Value>,
            #[serde(default)]
            told: Vec<String>,
        }
        rows::compare("dialects/handlers.jsonl", |row: Row| {
            let mut hook = json!({"name": "PreToolUse/Bash|Write#1", "on": "PreToolUse", "matcher": "Bash|Write"});
            hook.as_object_mut().unwrap().extend(row.hook);
            (
                read(
                    &row.agent,
                    json!({"hooks": {"PreToolUse": [{"matcher": "Bash|Write", "hooks": [row.handler]}]}}),
                ),
                (json!([hook]), row.told),
            )
        });
        let copilot = json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "./a", "cwd": "my scripts", "timeoutSec": 5}]}});
        let expected = json!([{"name": "preToolUse#1", "on": "preToolUse", "timeout": 5, "command": "cd \"$HOOKWIRE_PROJECT_DIR\"/'my scripts' || exit 1\n./a"}]);
        assert_eq!(read("copilot", copilot), (expected, Vec::new()));
    }

    #[test]
    fn what_has_no_counterpart_is_told() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            agent: String,
            handler: Value,
            told: String,
        }
        rows::compare("dialects/no_counterpart.jsonl", |row: Row| {
            let good = json!({"type": "command", "command": "good"});
            let (hooks, told) = read(
                &row.agent,
                json!({"hooks": {"PreToolUse": [{"hooks": [row.handler, good]}]}}),
            );
            let beside = json!({"name": "PreToolUse#2", "on": "PreToolUse", "command": "good"});
            ((told, hooks[1].clone()), (vec![row.told], beside))
        });
        for (settings, n_hooks, expected) in [
            (
                json!({"hooks": {"Stop": [{"matcher": ""}]}}),
                1,
                "a group of hooks needs a list of `hooks`",
            ),
            (
                json!({"hooks": {"Stop": 5}}),
                0,
                "`Stop` holds no list of hooks",
            ),
            (
                json!({"disableAllHooks": true, "hooks": {}}),
                0,
                "these settings switch all hooks off, in Claude Code and so here",
            ),
            (
                json!({"hooks": {"Stop": [{"sequential": true, "hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "b"}]}]}}),
                2,
                "these hooks run one after another there; here none sees what another one changed",
            ),
        ] {
            let (hooks, told) = read("claude-code", settings);
            assert_eq!(
                (hooks.as_array().unwrap().len(), &told[..]),
                (n_hooks, &[expected.to_string()][..])
            );
        }
    }

    /// Where a member of each hook names its event, none is passed over that has no such member.
    #[test]
    fn hooks_in_a_list_are_never_passed_over() {
        let own = json!({"name": "guard", "on": "PreToolUse", "fail": "closed", "deny": "no"});
        let theirs = |member: &str| json!({member: "PreToolUse", "command": "exit 2"});
        let kimis = json!({"name": "PreToolUse#1", "on": "PreToolUse", "command": "exit 2"});
        let slip = "unknown field `evnt`";
        let none = |title: &str, member: &str| {
            format!("a hook of {title} needs `{member}`: the event that it is for")
        };
        for (agent, hooks, expected, told) in [
            ("kimi", json!([own]), json!([own]), String::new()),
            ("kiro", json!([own]), json!([own]), String::new()),
            (
                "kimi",
                json!([theirs("event")]),
                json!([kimis]),
                String::new(),
            ),
            (
                "kimi",
                json!([theirs("event"), own]),
                json!([kimis, own]),
                String::new(),
            ),
            (
                "kimi",
                json!([theirs("evnt")]),
                json!([kimis]),
                slip.to_string(),
            ),
            (
                "kimi",
                json!([{"command": "exit 2"}]),
                json!([{"name": "hook#1"}]),
                none("Kimi Code", "event"),
            ),
            (
                "kiro",
                json!([{"action": {"type": "command"}}]),
                json!([{"name": "hook#1"}]),
                none("Kiro", "trigger"),
            ),
            (
                "kimi",
                json!(["x"]),
                json!([{"name": "hook#1"}]),
                "a hook is a map with `event`, found a string".into(),
            ),
        ] {
            let told: Vec<String> = Some(told).into_iter().filter(|it| !it.is_empty()).collect();
            assert_eq!(
                read(agent, json!({"hooks": hooks})),
                (expected, told),
                "{agent} {hooks}"
            );
        }
        let slip = json!([{"name": "a", "triger": "PreToolUse", "action": {"type": "command", "command": "exit 2"}}]);
        let expected = json!([{"name": "a", "on": "PreToolUse", "command": "exit 2"}]);
        assert_eq!(
            read("kiro", json!({"hooks": slip})),
            (expected, vec!["unknown field `triger`".into()])
        );
    }

    #[test]
    fn settings_are_recognised_by_their_form_and_events() {
        let group = || json!([{"hooks": [{"type": "command", "command": "a"}]}]);
        for (settings, expected) in [
            (
                json!({"model": "opus", "hooks": {"SessionStart": group(), "FutureEvent": group()}}),
                Some("claude-code"),
            ),
            (
                json!({"hooks": {"SessionStart": group(), "BeforeTool": group()}, "tools": {}}),
                Some("gemini"),
            ),
            (
                json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "a"}]}}),
                Some("copilot"),
            ),
            (
                json!({"hooks": {"PreToolUse": [{"type": "command", "command": "a"}]}}),
                Some("copilot"),
            ),
            (
                json!({"hooks": {"PreToolUse": [{"mode": "command", "command": "a"}]}}),
                None,
            ),
            (json!({"hooks": {"FutureEvent": group()}}), None),
            (json!({"hooks": [{"name": "a"}]}), None),
        ] {
            let found = recognise_file(&Node::from_json(&settings)).map(|it| it.name());
            assert_eq!(found, expected, "{settings}");
        }
    }
}
