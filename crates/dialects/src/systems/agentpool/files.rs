//! agentpool's YAML: the hooks of every agent as hookwire's own definitions.

use crate::OwnKeys;
use crate::files::{
    error_at, make_entry, rename_entry, text_value, unknown_word, warning_at, wrong_type,
};
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::node::{Entry, Node, NodeValue};
use hookwire_base::syntax::problem::Problem;

/// The member of a file that holds hooks.
pub(crate) const MEMBERS: [&str; 1] = ["agents"];
/// The members of an agent's `hooks`.
const EVENTS: [&str; 4] = ["pre_run", "post_run", "pre_tool_use", "post_tool_use"];
/// How far `inherits` is followed.
const MAX_INHERITED: usize = 64;

/// A map of agents, and nothing that makes it hookwire's own file.
pub(super) fn recognises_file(root: &Node) -> bool {
    let agents = root.get("agents").map(Node::entries).unwrap_or_default();
    agents
        .iter()
        .any(|entry| matches!(entry.value.value, NodeValue::Map(_)))
        && root.get("hooks").is_none()
        && root.get("dialect").is_none()
}

/// Every agent's hooks, in the order of the file, and hookwire's own members beside them. The rest
/// of the file is for agentpool only.
pub(super) fn read_agents(root: &Node, own: OwnKeys, problems: &mut Vec<Problem>) -> Node {
    let (Some(agents), NodeValue::Map(entries)) = (root.get("agents"), &root.value) else {
        return root.clone();
    };
    let mut hooks = Vec::new();
    match &agents.value {
        NodeValue::Map(list) => {
            for agent in list {
                read_agent(agent, agents, own, &mut hooks, problems);
            }
        }
        _ => problems.push(wrong_type(agents, "`agents`", "a map of agents")),
    }
    let mut native = Vec::new();
    for entry in entries {
        match (entry.key.as_str(), &entry.value.value) {
            ("hooks", NodeValue::Seq(own)) => hooks.extend(own.iter().cloned()),
            ("hooks" | "policy" | "defaults" | "dialect", _) => native.push(entry.clone()),
            ("INHERIT", value) if *value != NodeValue::Null => {
                let message =
                    "`INHERIT` isn't followed: the hooks of that file are not in force".to_string();
                let help = Some("put that file among the definitions too".to_string());
                problems.push(warning_at(&entry.key_span, "not-read", message, help));
            }
            ("teams", NodeValue::Map(teams)) => {
                let places = teams
                    .iter()
                    .filter_map(|team| Some((team, filled_member(&team.value, "hooks")?)));
                problems.extend(places.map(|(team, hooks)| {
                    let message = format!(
                        "the hooks of the team `{}` are not in force: teams have none",
                        team.key
                    );
                    let help = Some("write them at its members, under `agents`".to_string());
                    warning_at(&hooks.key_span, "not-read", message, help)
                }));
            }
            _ => {}
        }
    }
    native.push(make_entry("hooks", &agents.span, NodeValue::Seq(hooks)));
    Node {
        span: root.span.clone(),
        value: NodeValue::Map(native),
    }
}

fn read_agent(
    agent: &Entry,
    agents: &Node,
    own_keys: OwnKeys,
    hooks: &mut Vec<Node>,
    problems: &mut Vec<Problem>,
) {
    let Some(own) = hooks_of(agent, agents, problems) else {
        return;
    };
    let events = match &own.value {
        NodeValue::Map(events) => &events[..],
        NodeValue::Null => &[],
        _ => {
            problems.push(wrong_type(own, "`hooks`", "a map of events"));
            return;
        }
    };
    for event in events {
        if !EVENTS.contains(&event.key.as_str()) {
            let message = format!("unknown event `{}`", event.key);
            let problem = unknown_word(
                &event.key_span,
                "unknown-event",
                message,
                &event.key,
                EVENTS,
            );
            problems.push(problem.or_help(format!("there are {}", EVENTS.join(", "))));
            continue;
        }
        match &event.value.value {
            NodeValue::Seq(items) => {
                for (n, item) in items.iter().enumerate() {
                    let name = format!("{}/{}#{}", agent.key, event.key, n + 1);
                    let reading = Reading {
                        name,
                        own_keys,
                        problems,
                    };
                    hooks.push(reading.read_hook(item, agent, event));
                }
            }
            NodeValue::Null => {}
            _ => problems.push(wrong_type(
                &event.value,
                &format!("`{}`", event.key),
                "a list of hooks",
            )),
        }
    }
}

/// An agent's `hooks`, or those of the nearest agent that it inherits from.
fn hooks_of<'a>(
    agent: &'a Entry,
    agents: &'a Node,
    problems: &mut Vec<Problem>,
) -> Option<&'a Node> {
    // Several agents may inherit one mistake.
    let mut tell = |problem: Problem| {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    };
    let NodeValue::Map(members) = &agent.value.value else {
        tell(wrong_type(
            &agent.value,
            &format!("the agent `{}`", agent.key),
            "a map",
        ));
        return None;
    };
    let misspelt = members
        .iter()
        .find(|member| member.key != "hooks" && closest(&member.key, ["hooks"]).is_some());
    if let Some(Entry { key, key_span, .. }) = misspelt {
        tell(unknown_word(
            key_span,
            "unknown-field",
            format!("unknown field `{key}`"),
            key,
            ["hooks"],
        ));
    }
    if let Some(event) = members
        .iter()
        .find(|member| EVENTS.contains(&member.key.as_str()))
    {
        let message = format!(
            "`{}` is no field of an agent: nothing of it is in force",
            event.key
        );
        let help = Some("write it under `hooks`".to_string());
        tell(warning_at(&event.key_span, "unknown-field", message, help));
    }
    let mut at = &agent.value;
    for _ in 0..MAX_INHERITED {
        let parent = filled_member(at, "inherits").map(|it| &it.value);
        if let Some(hooks) = at.get("hooks") {
            if let (NodeValue::Null, Some(_)) = (&hooks.value, parent) {
                let message =
                    "empty `hooks` take the place of those that are inherited".to_string();
                let help =
                    Some("leave `hooks` out to inherit them, or write `hooks: {}`".to_string());
                tell(warning_at(&hooks.span, "no-hooks", message, help));
            }
            return Some(hooks);
        }
        let parent = parent?;
        let NodeValue::String(name) = &parent.value else {
            tell(wrong_type(parent, "`inherits`", "the name of one agent"));
            return None;
        };
        let Some(next) = agents.get(name) else {
            let names = agents.entries().iter().map(|entry| entry.key.as_str());
            let message = format!("`inherits` names no agent of this file: `{name}`");
            tell(unknown_word(
                &parent.span,
                "unknown-agent",
                message,
                name,
                names,
            ));
            return None;
        };
        at = next;
    }
    let message = format!(
        "the agent `{}` inherits from itself, or from too many",
        agent.key
    );
    tell(error_at(&agent.key_span, "unknown-agent", message, None));
    None
}

/// One entry of a list on its way to a native hook.
struct Reading<'a> {
    name: String,
    own_keys: OwnKeys,
    problems: &'a mut Vec<Problem>,
}

impl Reading<'_> {
    fn read_hook(mut self, item: &Node, agent: &Entry, event: &Entry) -> Node {
        let place = &item.span;
        let mut native = vec![
            make_entry("name", place, text_value(&*self.name)),
            make_entry("on", &event.key_span, text_value(&*event.key)),
            make_entry(
                "agents",
                &agent.key_span,
                text_value(globset::escape(&agent.key)),
            ),
        ];
        let NodeValue::Map(members) = &item.value else {
            self.report_problem(wrong_type(item, "a hook", "a map with `type`"));
            return Node {
                span: place.clone(),
                value: NodeValue::Map(native),
            };
        };
        let own: &[&str] = match item.get("type").map(|it| &it.value) {
            Some(NodeValue::String(kind)) => match kind.as_str() {
                "command" => &["command", "env"],
                "callable" => &["import_path", "arguments"],
                "prompt" => &["prompt", "model"],
                other => {
                    let at = item.get("type").unwrap_or(item);
                    let message = format!("unknown type `{other}`");
                    let problem = unknown_word(&at.span, "missing-handler", message, other, KINDS);
                    self.report_problem(problem.or_help(format!("there are {}", KINDS.join(", "))));
                    &[]
                }
            },
            _ => {
                let help = Some(format!("write `type:` and one of {}", KINDS.join(", ")));
                self.report_problem(error_at(
                    place,
                    "missing-handler",
                    "a hook needs a `type`",
                    help,
                ));
                &[]
            }
        };
        for member in members {
            match member.key.as_str() {
                "type" => {}
                "timeout" => native.push(Entry {
                    value: read_number(&member.value),
                    ..member.clone()
                }),
                "enabled" => native.push(Entry {
                    value: read_boolean(&member.value),
                    ..member.clone()
                }),
                key if own.contains(&key) || own.is_empty() => {}
                // hookwire's own, such as `fail: closed` or `when`, have their meaning here too.
                key if self.own_keys.contains(&key)
                    && !["name", "on", "agents", "dialect"].contains(&key) =>
                {
                    native.push(member.clone());
                }
                key => {
                    let known = own
                        .iter()
                        .copied()
                        .chain(["type", "matcher", "timeout", "enabled"]);
                    let message = format!("unknown field `{key}`");
                    self.report_problem(unknown_word(
                        &member.key_span,
                        "unknown-field",
                        message,
                        key,
                        known,
                    ));
                }
            }
        }
        match own {
            ["command", env] => native.extend(self.read_command(item, env)),
            ["import_path", arguments] => native.extend(self.read_callable(item, arguments)),
            ["prompt", model] => native.extend(self.read_prompt(item, model)),
            _ => {}
        }
        Node {
            span: place.clone(),
            value: NodeValue::Map(native),
        }
    }

    fn read_command(&mut self, item: &Node, env: &str) -> Option<Entry> {
        let run = self.read_text(item, "command")?;
        let value = match filled_member(item, env) {
            None => run.value.value.clone(),
            Some(env) => NodeValue::Map(vec![rename_entry(run, "run"), env.clone()]),
        };
        Some(make_entry("command", &run.value.span, value))
    }

    fn read_callable(&mut self, item: &Node, arguments: &str) -> Option<Entry> {
        let path = self.read_text(item, "import_path")?;
        let NodeValue::String(dotted) = &path.value.value else {
            return None;
        };
        let dotted = dotted.replace(':', ".");
        let Some((module, function)) = dotted.rsplit_once('.') else {
            let help = Some("write `module.function`".to_string());
            let message = format!("`{dotted}` names no function of a module");
            self.report_problem(error_at(&path.value.span, "bad-handler", message, help));
            return None;
        };
        let mut members = vec![make_entry(
            "python",
            &path.value.span,
            text_value(format!("{module}:{function}")),
        )];
        members.extend(filled_member(item, arguments).map(|it| rename_entry(it, "args")));
        Some(make_entry("callable", &item.span, NodeValue::Map(members)))
    }

    fn read_prompt(&mut self, item: &Node, model: &str) -> Option<Entry> {
        let prompt = self.read_text(item, "prompt")?;
        let mut members = vec![rename_entry(prompt, "text")];
        members.extend(filled_member(item, model).map(|model_entry| {
            let value = match &model_entry.value.value {
                NodeValue::String(name) => text_value(model_name(name)),
                other => other.clone(),
            };
            make_entry("model", &model_entry.value.span, value)
        }));
        Some(make_entry(
            "prompt",
            &prompt.value.span,
            NodeValue::Map(members),
        ))
    }

    /// A member that is a text, of which there has to be one.
    fn read_text<'n>(&mut self, item: &'n Node, key: &str) -> Option<&'n Entry> {
        let found = item.entry(key);
        match found.map(|it| &it.value.value) {
            Some(NodeValue::String(_)) => return found,
            Some(_) => {
                self.report_problem(wrong_type(item.get(key)?, &format!("`{key}`"), "a text"))
            }
            None => {
                let kind = KINDS
                    .iter()
                    .find(|kind| key.starts_with(**kind))
                    .unwrap_or(&"callable");
                let message = format!("a {kind} hook needs `{key}`");
                self.report_problem(error_at(&item.span, "missing-handler", message, None));
            }
        }
        None
    }

    fn report_problem(&mut self, problem: Problem) {
        self.problems.push(Problem {
            hook: Some(self.name.clone()),
            ..problem
        });
    }
}

const KINDS: [&str; 3] = ["command", "callable", "prompt"];

/// A member that is there and not null.
fn filled_member<'n>(item: &'n Node, key: &str) -> Option<&'n Entry> {
    item.entry(key)
        .filter(|entry| entry.value.value != NodeValue::Null)
}

/// A number, also where agentpool's own reader takes a text for one.
fn read_number(node: &Node) -> Node {
    match &node.value {
        NodeValue::String(text) => match text.trim().parse() {
            Ok(number) => Node {
                span: node.span.clone(),
                value: NodeValue::Float(number),
            },
            Err(_) => node.clone(),
        },
        _ => node.clone(),
    }
}

/// A boolean, also where agentpool's own reader takes a text or a number for one.
fn read_boolean(node: &Node) -> Node {
    let value = match &node.value {
        NodeValue::String(text) => match text.to_ascii_lowercase().as_str() {
            "yes" | "y" | "on" | "true" | "t" | "1" => NodeValue::Bool(true),
            "no" | "n" | "off" | "false" | "f" | "0" => NodeValue::Bool(false),
            _ => return node.clone(),
        },
        NodeValue::Int(number @ 0..=1) => NodeValue::Bool(*number == 1),
        _ => return node.clone(),
    };
    Node {
        span: node.span.clone(),
        value,
    }
}

/// pydantic-ai's name of a model as hookwire has it. What it can't ask stays, and is refused by
/// name.
fn model_name(name: &str) -> String {
    match name.split_once(':') {
        Some(("openai-chat" | "openai-responses", model)) => format!("openai:{model}"),
        Some(("google-gla" | "google", model)) => format!("gemini:{model}"),
        Some(_) => name.to_string(),
        None if name.starts_with("claude") => format!("anthropic:{name}"),
        None if name.starts_with("gemini") => format!("gemini:{name}"),
        None if name.starts_with("gpt") || name.starts_with("o1") || name.starts_with("o3") => {
            format!("openai:{name}")
        }
        None => name.to_string(),
    }
}
