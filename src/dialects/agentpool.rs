//! agentpool's hooks (`agentpool/hooks` of phil65/agentpool 2.2.4), and its YAML as it stands.
//!
//! All hooks of an event run at once on the same input, and what they say is combined in the order of
//! the list. A reply is made of what each hook said in its own words ([`Outcome::said`]): agentpool
//! gives the reasons of hooks that allow too, and only the arguments that change.
//!
//! What differs from the source on purpose: `$PROJECT_DIR` is a variable and not a replacement in the
//! shell's text, a command that is out of time is ended, a prompt's values are data and never part of
//! its instructions, and its time limit counts.

use super::files::{did_you_mean, entry, error, one_of, renamed, text, warning, wrong_type};
use super::native::CONTRACT;
use super::replies::{bad_exit, or, unreadable};
use super::{Dialect, EventRow, Files};
use crate::contract::{Composition, Contract, Exit, Judgement, TOOL_NAME, Target};
use crate::event::Event;
use crate::matching::MatcherRule;
use crate::support::nearest::closest;
use crate::syntax::node::{Entry, Node, NodeValue};
use crate::syntax::problem::Problem;
use crate::syntax::values::COMMON_FIELDS;
use crate::template::{Placeholders, Style};
use crate::verdict::{Answer, Decision, Outcome, Status, Verdict};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

pub(super) static DIALECT: Dialect = Dialect {
    about: "agentpool 2.2.4",
    contract: Contract {
        dialect: "agentpool",
        composition: Composition::Parallel,
        matcher: MatcherRule::Search,
        matched: |event| if is_about_tool(event) { Target::Member(TOOL_NAME) } else { Target::Nothing },
        timeout: Duration::from_secs(60),
        decisions: &[Decision::Ask],
        context: &["metadata"],
        payload,
        environment,
        placeholders: Placeholders { style: Style::Dollars, knows: |name| VALUES.contains(&name), value },
        judgement: Judgement::AllowOrDeny,
        reply: read_reply,
        returned: Some(read_returned),
        failed,
        exit,
        belongs_to_agents: true,
        ..CONTRACT
    },
    events: &[
        EventRow::new("pre_run", "RunStart").blocks(),
        EventRow::new("post_run", "RunEnd"),
        EventRow::new("pre_tool_use", "PreToolUse").blocks().rewrites(),
        EventRow::new("post_tool_use", "PostToolUse"),
    ],
    event_name: "/event",
    members: &[
        ("/agent_name", "/agent/name"),
        ("/conversation_id", "/session"),
        ("/prompt", "/prompt"),
        ("/result", "/result"),
        ("/tool_name", "/tool/name"),
        ("/tool_input", "/tool/input"),
        ("/tool_output", "/tool/output"),
        ("/duration_ms", "/tool/durationMs"),
    ],
    complete: |_, event| {
        // Tool events have none.
        if let Some(members) = event.as_object_mut()
            && members.get("session").is_some_and(Value::is_null)
        {
            members.remove("session");
        }
        Ok(())
    },
    reply: write_reply,
    files: Some(Files { recognises, read }),
};

fn is_about_tool(event: &str) -> bool {
    event == "PreToolUse" || event == "PostToolUse"
}

/// What a hook reads. Functions take these members as keywords, so every one of them is there,
/// whoever sent the event.
fn payload(event: &Event) -> Value {
    let mut payload = DIALECT.write(event);
    let members: &[(&str, Value)] = match &*event.name {
        "RunStart" => &[("prompt", json!(""))],
        "RunEnd" => &[("prompt", json!("")), ("result", Value::Null)],
        "PreToolUse" => &[("tool_input", json!({}))],
        "PostToolUse" => &[("tool_input", json!({})), ("tool_output", Value::Null), ("duration_ms", json!(0.0))],
        _ => &[],
    };
    let common = [("agent_name", json!("")), ("conversation_id", Value::Null)];
    if let Value::Object(payload) = &mut payload {
        for (name, value) in common.iter().chain(members) {
            payload.entry(*name).or_insert_with(|| value.clone());
        }
    }
    payload
}

fn environment(_: &Event, cwd: &Path) -> Vec<(String, String)> {
    let dir = std::env::var("PROJECT_DIR").unwrap_or_else(|_| cwd.to_string_lossy().into_owned());
    vec![("PROJECT_DIR".into(), dir)]
}

/// What a prompt's placeholders may be.
const VALUES: [&str; 7] = ["INPUT", "TOOL_NAME", "TOOL_INPUT", "TOOL_OUTPUT", "AGENT_NAME", "PROMPT", "EVENT"];

fn value(event: &Event, name: &str) -> Option<Value> {
    let payload = payload(event);
    let member = |name: &str, none: Value| payload.get(name).cloned().unwrap_or(none);
    Some(match name {
        "INPUT" => payload,
        "TOOL_INPUT" => member("tool_input", json!({})),
        name => member(&name.to_ascii_lowercase(), json!("")),
    })
}

/// What a hook says: agentpool's `HookResult`.
const RESULT: [&str; 5] = ["decision", "reason", "modified_input", "additional_context", "continue_"];

/// The JSON of a command: every member has a second name, and decisions have synonyms. Nothing nested
/// is read.
fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let Value::Object(reply) = value else {
        return Err(unreadable("it is not a JSON object"));
    };
    let either = |first: &str, second: &str| reply.get(first).filter(|it| is_true(it)).or(reply.get(second)).cloned();
    let given = |first: &str, second: &str| reply.get(first).or(reply.get(second)).cloned();
    let decision = either("decision", "permissionDecision").map(|decision| match decision.as_str() {
        Some("approve") => json!(Decision::Allow),
        Some("block") => json!(Decision::Deny),
        _ => decision,
    });
    let members = [
        decision,
        either("reason", "permissionDecisionReason"),
        given("modified_input", "updatedInput"),
        given("additional_context", "additionalContext"),
        given("continue", "continue_"),
    ];
    let said = RESULT.into_iter().zip(members).filter_map(|(name, value)| Some((name.to_string(), value?)));
    let mut answer = answer(event, said.collect())?;
    if reply.contains_key("hookSpecificOutput") {
        answer.remarks.push("`hookSpecificOutput` means nothing to agentpool; give its members themselves".into());
    }
    Ok(answer)
}

/// A function's result.
fn read_returned(event: &Event, value: Value) -> Result<Answer, String> {
    let decide = |decision: Decision| Map::from_iter([("decision".to_string(), json!(decision))]);
    let mut remark = None;
    let said = match value {
        Value::Null => Map::new(),
        Value::Bool(true) => decide(Decision::Allow),
        Value::Bool(false) => decide(Decision::Deny),
        Value::String(text) => Map::from_iter([("additional_context".to_string(), json!(text))]),
        Value::Object(mut members) => {
            members.retain(|name, _| RESULT.contains(&name.as_str()));
            members
        }
        Value::Number(_) | Value::Array(_) => {
            remark = Some("it returned neither a dict, a text, a bool nor None, which counts as allow".to_string());
            Map::new()
        }
    };
    let mut answer = answer(event, said)?;
    answer.remarks.extend(remark);
    Ok(answer)
}

fn answer(event: &Event, said: Map<String, Value>) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let mut unfit = |name: &str, what: &str| answer.remarks.push(format!("`{name}` of its reply is not {what}"));
    let mut text = |name: &str| match said.get(name).filter(|it| is_true(it)) {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            unfit(name, "a text");
            None
        }
    };
    answer.reason = text("reason");
    answer.additional_context = text("additional_context").into_iter().collect();
    let mut rewrite = None;
    match said.get("modified_input").filter(|it| is_true(it)) {
        Some(Value::Object(changes)) => rewrite = Some(changes),
        Some(_) => unfit("modified_input", "an object"),
        None => {}
    }
    if let Some(decision) = said.get("decision").filter(|it| is_true(it)) {
        // It has no word for `defer`.
        answer.decision = decision.as_str().and_then(Decision::from_word).filter(|it| *it != Decision::Defer);
        if answer.decision.is_none() {
            unfit("decision", "`allow`, `deny` or `ask`, and counts as allow");
        }
    }
    if said.get("continue_") == Some(&Value::Bool(false)) {
        answer.stop = Some(answer.reason.clone().unwrap_or_default());
    }
    // agentpool reads it at every event, and obeys it here.
    if let Some(changes) = rewrite.filter(|_| &*event.name == "PreToolUse") {
        let mut input = event.subject().and_then(Value::as_object).cloned().unwrap_or_default();
        input.extend(changes.clone());
        answer.subject = Some(Value::Object(input));
    }
    answer.said = Some(Value::Object(said));
    Ok(answer)
}

/// Python's truth.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// 0 is fine, 2 is a deny, anything else failed and decides nothing.
fn exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    match exit.code {
        Some(0) => read_stdout(event, exit.stdout.trim()),
        Some(2) => {
            let reason = or(exit.stderr.trim(), "Hook denied the operation");
            let said = [("decision".into(), json!(Decision::Deny)), ("reason".into(), json!(reason))];
            answer(event, Map::from_iter(said))
        }
        Some(_) | None => Err(bad_exit(exit)),
    }
}

fn read_stdout(event: &Event, stdout: &str) -> Result<Answer, String> {
    match crate::support::json::parse(stdout) {
        _ if stdout.is_empty() => answer(event, Map::new()),
        Ok(value @ Value::Object(_)) => read_reply(event, value),
        Ok(_) => Err("read the reply on stdout: it is JSON, but not an object".into()),
        // JSON that can be read in two ways.
        Err(error) if serde_json::from_str::<IgnoredAny>(stdout).is_ok() => {
            Err(format!("read the reply on stdout: {error}"))
        }
        Err(error) => {
            let mut answer = answer(event, Map::from_iter([("additional_context".into(), json!(stdout))]))?;
            if stdout.starts_with('{') {
                answer.remarks.push(format!("its stdout begins like JSON, but is only a text: {error}"));
            } else if ["decision", "permissionDecision"].iter().any(|it| stdout.contains(&format!("\"{it}\""))) {
                let remark = "its stdout tells of a decision, but is only a text; print the JSON alone";
                answer.remarks.push(remark.into());
            }
            Ok(answer)
        }
    }
}

/// agentpool gives the error of a function or a prompt as a reason, that of a command to the log only.
fn failed(kind: &str, error: &str) -> Option<Value> {
    let reason = match kind {
        "callable" => error.split_once("`: ").map_or(error, |(_, error)| error),
        "callback" => error.strip_prefix("call back: ").unwrap_or(error),
        "prompt" => error,
        _ => return None,
    };
    Some(json!({ "reason": reason }))
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let mut decision = verdict.decision;
    let mut reasons: Vec<&str> = verdict.outcomes.iter().filter_map(reason).collect();
    // Where no hook decided this, the host did, for its client, or a person.
    if verdict.outcomes.iter().filter_map(|it| it.decision).max().unwrap_or(Decision::Allow) != decision {
        reasons = verdict.reason.as_deref().into_iter().collect();
    }
    let said = || verdict.outcomes.iter().filter_map(|it| it.said.as_ref());
    let mut changes = Map::new();
    let mut refusals = Vec::new();
    let row = DIALECT.row(&event.name);
    if verdict.outcomes.iter().any(|it| it.rewrote && it.said.is_none())
        && let (Some(after), Some("pre_tool_use")) = (&verdict.subject, row.map(|row| row.name))
    {
        // Hooks of another vocabulary rewrote too: what came of it all.
        match (event.subject().unwrap_or(&Value::Null), after) {
            (before @ (Value::Object(_) | Value::Null), Value::Object(after)) => {
                let members = before.as_object().into_iter().flatten();
                let lost = members.map(|(key, _)| key).find(|key| !after.contains_key(*key));
                refusals.extend(
                    lost.map(|key| {
                        format!("a hook took `{key}` out of the input, and the client can only set members")
                    }),
                );
                let changed = after.iter().filter(|(key, value)| before.get(key) != Some(value));
                changes.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
            }
            _ => refusals.push("a hook rewrote the input as a whole, and the client can only set members".into()),
        }
    } else {
        for modified in said().filter_map(|said| said.get("modified_input")?.as_object()) {
            changes.extend(modified.clone());
        }
    }
    // agentpool ignores `continue_`, which its own hooks know; hooks of other vocabularies mean their stop.
    if row.is_some_and(|row| row.blocks)
        && let Some(why) = foreign_stop(verdict)
        && decision != Decision::Deny
    {
        refusals.push(or(why, "a hook ended the run"));
    }
    if !refusals.is_empty() {
        decision = Decision::Deny;
        reasons.extend(refusals.iter().map(String::as_str));
    }
    let mut reply = Map::from_iter([("decision".to_string(), json!(decision))]);
    let mut put = |name: &str, value: Value| drop(reply.insert(name.to_string(), value));
    if !reasons.is_empty() {
        put("reason", json!(reasons.join("; ")));
    }
    if !changes.is_empty() {
        put("modified_input", Value::Object(changes));
    }
    if !verdict.additional_context.is_empty() {
        put("additional_context", json!(verdict.additional_context.join("\n")));
    }
    if verdict.stop.is_some() {
        put("continue_", json!(false));
    }
    Value::Object(reply)
}

/// Why a hook of another vocabulary, or the host, ends the run.
fn foreign_stop(verdict: &Verdict) -> Option<&str> {
    let is_own = |it: &Outcome| it.said.as_ref().is_some_and(|said| said.get("continue_") == Some(&Value::Bool(false)));
    let mut foreign = verdict.outcomes.iter().filter(|it| !is_own(it)).filter_map(|it| it.stop.as_deref());
    let other = verdict.stop.as_deref().filter(|_| !verdict.outcomes.iter().any(is_own));
    foreign.next().or(other)
}

/// The reason that a hook itself gave; that of a failed hook counts only if the failure decided something.
fn reason(outcome: &Outcome) -> Option<&str> {
    let text = match &outcome.said {
        _ if outcome.status == Status::Skipped => None,
        Some(said) if outcome.error.is_none() || outcome.decision.is_none() => said.get("reason")?.as_str(),
        _ => outcome.decision.and(outcome.reason.as_deref().or(outcome.error.as_deref())),
    };
    text.filter(|text| !text.is_empty())
}

/// The members of an agent's `hooks`.
const EVENTS: [&str; 4] = ["pre_run", "post_run", "pre_tool_use", "post_tool_use"];
/// How far `inherits` is followed.
const MAX_INHERITED: usize = 64;

/// A map of agents, and nothing that makes it hookwire's own file.
fn recognises(root: &Node) -> bool {
    let agents = match root.get("agents").map(|it| &it.value) {
        Some(NodeValue::Map(agents)) => &agents[..],
        _ => &[],
    };
    let is_map = |entry: &Entry| matches!(entry.value.value, NodeValue::Map(_));
    agents.iter().any(is_map) && root.get("hooks").is_none() && root.get("dialect").is_none()
}

/// Every agent's hooks, in the order of the file; what else it says of agents and all the rest is
/// agentpool's matter. hookwire's own may stand beside.
fn read(root: &Node, problems: &mut Vec<Problem>) -> Node {
    let (Some(agents), NodeValue::Map(entries)) = (root.get("agents"), &root.value) else { return root.clone() };
    let mut hooks = Vec::new();
    match &agents.value {
        NodeValue::Map(list) => {
            for agent in list {
                read_agent(agent, agents, &mut hooks, problems);
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
                let message = "`INHERIT` isn't followed: the hooks of that file are not in force".to_string();
                let help = Some("put that file among the definitions too".to_string());
                problems.push(warning(&entry.key_span, "not-read", message, help));
            }
            ("teams", NodeValue::Map(teams)) => {
                let places = teams.iter().filter_map(|team| Some((team, filled(&team.value, "hooks")?)));
                problems.extend(places.map(|(team, hooks)| {
                    let message = format!("the hooks of the team `{}` are not in force: teams have none", team.key);
                    let help = Some("write them at its members, under `agents`".to_string());
                    warning(&hooks.key_span, "not-read", message, help)
                }));
            }
            _ => {}
        }
    }
    native.push(entry("hooks", &agents.span, NodeValue::Seq(hooks)));
    Node { span: root.span.clone(), value: NodeValue::Map(native) }
}

fn read_agent(agent: &Entry, agents: &Node, hooks: &mut Vec<Node>, problems: &mut Vec<Problem>) {
    let Some(own) = hooks_of(agent, agents, problems) else { return };
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
            problems.push(error(&event.key_span, "unknown-event", message, one_of(&event.key, &EVENTS)));
            continue;
        }
        match &event.value.value {
            NodeValue::Seq(items) => {
                for (n, item) in items.iter().enumerate() {
                    let name = format!("{}/{}#{}", agent.key, event.key, n + 1);
                    hooks.push(Reading { name, problems }.hook(item, agent, event));
                }
            }
            NodeValue::Null => {}
            _ => problems.push(wrong_type(&event.value, &format!("`{}`", event.key), "a list of hooks")),
        }
    }
}

/// An agent's `hooks`, or those of the nearest agent that it inherits from.
fn hooks_of<'a>(agent: &'a Entry, agents: &'a Node, problems: &mut Vec<Problem>) -> Option<&'a Node> {
    // Several agents may inherit one mistake.
    let mut tell = |problem: Problem| {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    };
    let NodeValue::Map(members) = &agent.value.value else {
        tell(wrong_type(&agent.value, &format!("the agent `{}`", agent.key), "a map"));
        return None;
    };
    let misspelt = members.iter().find(|it| it.key != "hooks" && closest(&it.key, ["hooks"]).is_some());
    if let Some(Entry { key, key_span, .. }) = misspelt {
        let help = Some("did you mean `hooks`?".to_string());
        tell(error(key_span, "unknown-field", format!("unknown field `{key}`"), help));
    }
    let mut at = &agent.value;
    for _ in 0..MAX_INHERITED {
        let parent = filled(at, "inherits").map(|it| &it.value);
        if let Some(hooks) = at.get("hooks") {
            if let (NodeValue::Null, Some(_)) = (&hooks.value, parent) {
                let message = "empty `hooks` take the place of those that are inherited".to_string();
                let help = Some("leave `hooks` out to inherit them, or write `hooks: {}`".to_string());
                tell(warning(&hooks.span, "no-hooks", message, help));
            }
            return Some(hooks);
        }
        let parent = parent?;
        let NodeValue::String(name) = &parent.value else {
            tell(wrong_type(parent, "`inherits`", "the name of one agent"));
            return None;
        };
        let Some(next) = agents.get(name) else {
            let NodeValue::Map(all) = &agents.value else { return None };
            let help = did_you_mean(name, all.iter().map(|it| it.key.as_str()));
            let message = format!("`inherits` names no agent of this file: `{name}`");
            tell(error(&parent.span, "unknown-agent", message, help));
            return None;
        };
        at = next;
    }
    let message = format!("the agent `{}` inherits from itself, or from too many", agent.key);
    tell(error(&agent.key_span, "unknown-agent", message, None));
    None
}

/// One entry of a list on its way to a native hook.
struct Reading<'a> {
    name: String,
    problems: &'a mut Vec<Problem>,
}

impl Reading<'_> {
    fn hook(mut self, item: &Node, agent: &Entry, event: &Entry) -> Node {
        let place = &item.span;
        let mut native = vec![
            entry("name", place, text(&*self.name)),
            entry("on", &event.key_span, text(&*event.key)),
            entry("agents", &agent.key_span, text(globset::escape(&agent.key))),
        ];
        let NodeValue::Map(members) = &item.value else {
            self.wrong(wrong_type(item, "a hook", "a map with `type`"));
            return Node { span: place.clone(), value: NodeValue::Map(native) };
        };
        let own: &[&str] = match item.get("type").map(|it| &it.value) {
            Some(NodeValue::String(kind)) => match kind.as_str() {
                "command" => &["command", "env"],
                "callable" => &["import_path", "arguments"],
                "prompt" => &["prompt", "model"],
                other => {
                    let at = item.get("type").unwrap_or(item);
                    let message = format!("unknown type `{other}`");
                    self.wrong(error(&at.span, "missing-handler", message, one_of(other, &KINDS)));
                    &[]
                }
            },
            _ => {
                let help = Some(format!("write `type:` and one of {}", KINDS.join(", ")));
                self.wrong(error(place, "missing-handler", "a hook needs a `type`", help));
                &[]
            }
        };
        for member in members {
            match member.key.as_str() {
                "type" => {}
                "timeout" => native.push(Entry { value: number(&member.value), ..member.clone() }),
                "enabled" => native.push(Entry { value: truth(&member.value), ..member.clone() }),
                key if own.contains(&key) || own.is_empty() => {}
                // hookwire's own, such as `fail: closed` or `when`, have their meaning here too.
                key if COMMON_FIELDS.contains(&key) && !["name", "on", "agents", "dialect"].contains(&key) => {
                    native.push(member.clone());
                }
                key => {
                    let known = own.iter().copied().chain(["type", "matcher", "timeout", "enabled"]);
                    let help = did_you_mean(key, known);
                    self.wrong(error(&member.key_span, "unknown-field", format!("unknown field `{key}`"), help));
                }
            }
        }
        match own {
            ["command", env] => native.extend(self.command(item, env)),
            ["import_path", arguments] => native.extend(self.callable(item, arguments)),
            ["prompt", model] => native.extend(self.prompt(item, model)),
            _ => {}
        }
        Node { span: place.clone(), value: NodeValue::Map(native) }
    }

    fn command(&mut self, item: &Node, env: &str) -> Option<Entry> {
        let run = self.text(item, "command")?;
        let value = match filled(item, env) {
            None => run.value.value.clone(),
            Some(env) => NodeValue::Map(vec![renamed(run, "run"), env.clone()]),
        };
        Some(entry("command", &run.value.span, value))
    }

    fn callable(&mut self, item: &Node, arguments: &str) -> Option<Entry> {
        let path = self.text(item, "import_path")?;
        let NodeValue::String(dotted) = &path.value.value else { return None };
        let dotted = dotted.replace(':', ".");
        let Some((module, function)) = dotted.rsplit_once('.') else {
            let help = Some("write `module.function`".to_string());
            let message = format!("`{dotted}` names no function of a module");
            self.wrong(error(&path.value.span, "bad-handler", message, help));
            return None;
        };
        let mut members = vec![entry("python", &path.value.span, text(format!("{module}:{function}")))];
        members.extend(filled(item, arguments).map(|it| renamed(it, "args")));
        Some(entry("callable", &item.span, NodeValue::Map(members)))
    }

    fn prompt(&mut self, item: &Node, model: &str) -> Option<Entry> {
        let prompt = self.text(item, "prompt")?;
        let mut members = vec![renamed(prompt, "text")];
        members.extend(filled(item, model).map(|it| {
            let value = match &it.value.value {
                NodeValue::String(name) => text(model_name(name)),
                other => other.clone(),
            };
            entry("model", &it.value.span, value)
        }));
        Some(entry("prompt", &prompt.value.span, NodeValue::Map(members)))
    }

    /// A member that is a text, of which there has to be one.
    fn text<'n>(&mut self, item: &'n Node, key: &str) -> Option<&'n Entry> {
        let found = item.entry(key);
        match found.map(|it| &it.value.value) {
            Some(NodeValue::String(_)) => return found,
            Some(_) => self.wrong(wrong_type(item.get(key)?, &format!("`{key}`"), "a text")),
            None => {
                let kind = KINDS.iter().find(|kind| key.starts_with(**kind)).unwrap_or(&"callable");
                let message = format!("a {kind} hook needs `{key}`");
                self.wrong(error(&item.span, "missing-handler", message, None));
            }
        }
        None
    }

    fn wrong(&mut self, problem: Problem) {
        self.problems.push(Problem { hook: Some(self.name.clone()), ..problem });
    }
}

const KINDS: [&str; 3] = ["command", "callable", "prompt"];

/// A member that is there and not null.
fn filled<'n>(item: &'n Node, key: &str) -> Option<&'n Entry> {
    item.entry(key).filter(|it| it.value.value != NodeValue::Null)
}

/// What agentpool's own reader takes for a number.
fn number(node: &Node) -> Node {
    match &node.value {
        NodeValue::String(text) => match text.trim().parse() {
            Ok(number) => Node { span: node.span.clone(), value: NodeValue::Float(number) },
            Err(_) => node.clone(),
        },
        _ => node.clone(),
    }
}

/// What agentpool's own reader takes for true or false.
fn truth(node: &Node) -> Node {
    let value = match &node.value {
        NodeValue::String(text) => match text.to_ascii_lowercase().as_str() {
            "yes" | "y" | "on" | "true" | "t" | "1" => NodeValue::Bool(true),
            "no" | "n" | "off" | "false" | "f" | "0" => NodeValue::Bool(false),
            _ => return node.clone(),
        },
        NodeValue::Int(number @ 0..=1) => NodeValue::Bool(*number == 1),
        _ => return node.clone(),
    };
    Node { span: node.span.clone(), value }
}

/// pydantic-ai's name of a model as hookwire has it. What it can't ask stays, and is refused by name.
fn model_name(name: &str) -> String {
    match name.split_once(':') {
        Some(("openai-chat" | "openai-responses", model)) => format!("openai:{model}"),
        Some(("google-gla" | "google", model)) => format!("gemini:{model}"),
        Some(_) => name.to_string(),
        None if name.starts_with("claude") => format!("anthropic:{name}"),
        None if name.starts_with("gemini") => format!("gemini:{name}"),
        None if name.starts_with("gpt") || name.starts_with("o1") || name.starts_with("o3") => format!("openai:{name}"),
        None => name.to_string(),
    }
}
