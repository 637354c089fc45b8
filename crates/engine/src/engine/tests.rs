//! Who runs when, on which value, and what comes of it: the sentences of "Running" one by one, on
//! the real engine with a clock that jumps. Handlers are fixed verdicts and callbacks whose name is
//! their script, so that nothing here waits for anything but time that is made to pass.

use super::clock::jumping::{self, block_on};
use super::clock::now;
use crate::definitions::compile::compile;
use crate::definitions::origin::Origin;
use crate::engine::question::{RunLimits, Within};
use crate::engine::{Engine, HooksInForce, MAX_SEND_BACKS, Question, deadline, decide};
use crate::hook::{Doubt, Hook};
use crate::hook_set::{HookSet, Selected};
use hookwire_base::event::{Event, Phase};
use hookwire_base::support::file::read_named;
use hookwire_base::syntax::diagnostic::{LineIndex, Severity};
use hookwire_base::syntax::formats::{Format, parse};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Answer, Decision, Status, Verdict};
use hookwire_dialects as dialects;
use hookwire_handlers::handlers::{Moment, Services};
use hookwire_handlers::services::client::{Answers, Client as HostClient, Reply};
use hookwire_rules::contract::Honours;
use hookwire_rules::contract::{Composition, Contract, Fail};
use hookwire_rules::matching::Untold;
use hookwire_testing::rows;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

// ---------------------------------------------------------------------------------- the notation

/// Hooks, one a line: `name, field: value, ...`. `on: '*'` unless it says otherwise. A line `--
/// project` begins another layer, `defaults: ...` says something for the hooks below. A name
/// `veto/a` puts the hook into that test vocabulary.
///
/// A callback's name is what it does: a JSON reply, or one of the words of [`Client::invoke`].
fn hooks(text: &str, client: &Arc<dyn HostClient>) -> Vec<Arc<Hook>> {
    let mut hooks = Vec::new();
    let mut layer = Layer::Hooks;
    let mut defaults = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix("-- ") {
            layer = serde_json::from_value(json!(name)).unwrap();
            continue;
        }
        if let Some(said) = line.strip_prefix("defaults: ") {
            defaults = said;
            continue;
        }
        let (name, rest) = line.split_once(", ").unwrap();
        let (contract, name) = match name.split_once('/') {
            Some((word, name)) => (Some(contract(word)), name),
            None => (None, name),
        };
        let on = if rest.contains("on: ") {
            ""
        } else {
            "on: '*', "
        };
        let yaml = format!("defaults: {{ {defaults} }}\nhooks: [{{ name: {name}, {on}{rest} }}]");
        let root = parse(&yaml, Format::Yaml).unwrap();
        let origin = Origin {
            client: Some(client),
            ..Origin::new("hooks.yaml", Path::new("/"), layer, &read_named)
        };
        let compiled = compile(&root, &origin, &LineIndex::new(&yaml));
        let errors: Vec<_> = compiled
            .problems
            .iter()
            .filter(|it| it.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
        for mut hook in compiled.hooks.into_iter().filter_map(|it| it.hook) {
            if let Some(contract) = contract {
                Arc::get_mut(&mut hook).unwrap().contract = contract;
            }
            hooks.push(hook);
        }
    }
    hooks
}

/// A test vocabulary for each composition, and the real ones by their names.
fn contract(word: &str) -> &'static Contract {
    const fn contract(dialect: &'static str, composition: Composition) -> Contract {
        Contract {
            dialect,
            composition,
            context: &["metadata"],
            reply: |_, value| {
                serde_json::from_value::<Answer>(value).map_err(|error| format!("read: {error}"))
            },
            exit: |_, _| Err("run: no commands here".into()),
            ..dialects::CONTRACT
        }
    }
    const fn list(dialect: &'static str, composition: Composition) -> Contract {
        Contract {
            has_one_list: true,
            ..contract(dialect, composition)
        }
    }
    static CONTRACTS: [Contract; 8] = [
        contract("onion", Composition::Onion),
        contract("pipeline", Composition::Pipeline),
        contract("veto", Composition::Veto),
        contract("middleware", Composition::Middleware),
        contract("parallel", Composition::Parallel),
        list("onion-list", Composition::Onion),
        list("pipeline-list", Composition::Pipeline),
        list("middleware-list", Composition::Middleware),
    ];
    CONTRACTS
        .iter()
        .find(|it| it.dialect == word)
        .unwrap_or_else(|| &dialects::by_name(word).unwrap().contract)
}

const COMPOSITIONS: [&str; 5] = ["onion", "pipeline", "veto", "middleware", "parallel"];
/// Of systems that know one list.
const LISTS: [&str; 3] = ["onion-list", "pipeline-list", "middleware-list"];

/// The other end of the callbacks: does what they are called, and keeps who was called on what.
#[derive(Default)]
struct Client {
    calls: Mutex<Vec<String>>,
    dropped: Arc<Mutex<u32>>,
}

struct Dropped(Arc<Mutex<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

impl HostClient for Client {
    fn notify(&self, _: &'static str, _: &Value) {}

    fn answers(&self) -> Answers {
        Answers::default()
    }

    fn request(&self, _: &'static str, mut call: Value) -> Reply {
        let event = call["event"].take();
        // A rewrite of any shape is seen as its text.
        let command = ["/tool/input/command", "/tool/output", "/lastMessage"]
            .iter()
            .find_map(|pointer| {
                Some(
                    event
                        .pointer(pointer)?
                        .as_str()
                        .unwrap_or("null")
                        .to_string(),
                )
            })
            .unwrap_or_default();
        self.calls
            .lock()
            .unwrap()
            .push(format!("{}({command})", call["hook"].as_str().unwrap()));
        let dropped = Dropped(self.dropped.clone());
        let script = call["callback"].as_str().unwrap().to_string();
        Box::pin(async move {
            let (words, reply) = match script.split_once(" then ") {
                Some((words, reply)) => (words, reply),
                None if script.starts_with('{') => ("", script.as_str()),
                None => (script.as_str(), "{}"),
            };
            let mut reply: Value = serde_json::from_str(reply).unwrap();
            match words.split_once(' ').unwrap_or((words, "")) {
                ("", _) => {}
                ("hang", _) => std::future::pending().await,
                ("sleep", millis) => {
                    jumping::sleep(Duration::from_millis(millis.parse().unwrap())).await
                }
                ("compute", millis) => {
                    jumping::advance(Duration::from_millis(millis.parse().unwrap()))
                }
                ("fail", _) => return Err("boom".into()),
                ("panic", _) => panic!("a test's panic"),
                ("add", text) => {
                    let mut input = event["tool"]["input"].clone();
                    input["command"] = format!("{command}{text}").into();
                    reply["subject"] = input;
                }
                // A guard; and a guard that can't cope with it.
                ("refuse", text) if command.contains(text) => {
                    return Ok(json!({"decision": "deny", "reason": "no"}));
                }
                ("choke", text) if command.contains(text) => return Err("boom".into()),
                ("see", pointer) => {
                    reply["userMessages"] = json!([event.pointer(pointer).map(Value::to_string)])
                }
                ("refuse" | "choke", _) => {}
                (other, _) => panic!("unknown word {other}"),
            }
            drop(dropped);
            Ok(reply)
        })
    }
}

/// A world: an engine that remembers, a client that is called, hooks in force.
struct World {
    engine: Engine,
    client: Arc<Client>,
    set: Arc<HookSet>,
    contract: &'static Contract,
    honours: Honours,
    early_deadline: CancellationToken,
}

const ALL: Honours = Honours {
    ask: true,
    defer: true,
    rewrite: true,
    withhold: true,
};

impl World {
    fn new(contract_name: &str, definitions: &str) -> World {
        let client = Arc::new(Client::default());
        let as_client: Arc<dyn HostClient> = client.clone();
        let set = HookSet::new(hooks(definitions, &as_client), 1, "hash".into(), Vec::new());
        World {
            engine: Engine::new(Services::new("/".into(), Vec::new())),
            client,
            set: Arc::new(set),
            contract: contract(contract_name),
            honours: ALL,
            early_deadline: CancellationToken::new(),
        }
    }

    async fn decide(&self, event: &Value) -> Verdict {
        self.judge(Event::from_json(event.clone()).unwrap()).await
    }

    async fn judge(&self, event: Event) -> Verdict {
        self.client.calls.lock().unwrap().clear();
        decide(&self.engine, self.question(event)).await
    }

    fn question(&self, event: Event) -> Question {
        Question {
            deadline: deadline(&event),
            event: event.into(),
            hooks: HooksInForce {
                files: self.set.clone(),
                session: None,
            },
            contract: self.contract,
            honours: self.honours,
            client: None,
            early_deadline: self.early_deadline.clone(),
        }
    }

    fn calls(&self) -> String {
        self.client.calls.lock().unwrap().join(" ")
    }
}

/// `deny by a: no => {"command":"y"} | a blocking, b skipped`, and what else the verdict has.
fn tell(verdict: &Verdict) -> String {
    let mut text = verdict.decision.as_str().to_string();
    let mut add = |label: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(label);
            text.push_str(&value);
        }
    };
    let json = |value: &Value| match value.get("command") {
        Some(Value::String(command)) if value.as_object().is_some_and(|it| it.len() == 1) => {
            command.clone()
        }
        _ => value.to_string(),
    };
    let list = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
    add(" by ", verdict.decided_by.as_deref().map(str::to_string));
    add(": ", verdict.reason.clone());
    add(" => ", verdict.subject.as_ref().map(json));
    add(" replaced", verdict.replaced.then(String::new));
    add(" stop ", verdict.stop.clone());
    add(" say ", list(&verdict.user_messages));
    add(" tell ", list(&verdict.additional_context));
    add(" context ", verdict.context.as_ref().map(Value::to_string));
    add(
        " retry ",
        verdict
            .retry
            .as_ref()
            .map(|it| serde_json::to_value(it).unwrap()["action"].to_string()),
    );
    add(" error ", list(&verdict.errors));
    text
}

fn outcomes(verdict: &Verdict) -> String {
    let one = |it: &hookwire_base::verdict::Outcome| {
        let status = serde_json::to_value(it.status).unwrap();
        let again = if it.rejudged { " again" } else { "" };
        let would = it
            .observed
            .as_ref()
            .map(|it| format!(" would {}", it.would().as_str()))
            .unwrap_or_default();
        format!("{} {}{again}{would}", it.hook, status.as_str().unwrap())
    };
    verdict
        .outcomes
        .iter()
        .map(one)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A Bash call of command `x`.
fn call() -> Value {
    at("PreToolUse")
}

fn at(event: &str) -> Value {
    match event {
        "PostToolUse" => {
            json!({"event": event, "session": "s", "tool": {"name": "Bash", "input": {"command": "x"}, "output": "out"}})
        }
        "Stop" | "SubagentStop" => json!({"event": event, "session": "s", "lastMessage": "bye"}),
        "PreToolUse" => {
            json!({"event": event, "session": "s", "tool": {"name": "Bash", "input": {"command": "x"}}})
        }
        _ => json!({"event": event, "session": "s"}),
    }
}

/// Judges one event.
#[track_caller]
fn check(definitions: &str, event: &Value, expected: &str) {
    let world = World::new("native", definitions);
    compare(
        &block_on(world.decide(event)),
        &world,
        definitions,
        expected,
    );
}

#[track_caller]
fn compare(verdict: &Verdict, world: &World, definitions: &str, expected: &str) {
    assert_eq!(
        told(verdict, world, expected),
        expected,
        "{definitions}\n{verdict:#?}"
    );
}

/// The verdict, and after ` | ` the outcomes or, where the expectation begins with `ran `, who was
/// called back on what.
fn told(verdict: &Verdict, world: &World, expected: &str) -> String {
    match expected.split_once(" | ") {
        None => tell(verdict),
        Some((_, rest)) if rest.starts_with("ran ") => {
            format!("{} | ran {}", tell(verdict), world.calls())
        }
        Some(_) => format!("{} | {}", tell(verdict), outcomes(verdict)),
    }
}

/// The sentences that need no more than hooks, an event and its verdict; the file says how it is
/// written.
#[test]
fn verdicts() {
    let (path, text) = rows::file_text("engine/verdicts.txt");
    let (mut client, mut event, mut definitions) = ("native", call(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() {
            (client, event, definitions) = ("native", call(), Vec::new());
        } else if let Some(name) = line.strip_prefix("as ") {
            client = name;
        } else if let Some(name) = line.strip_prefix("at ") {
            event = at(name);
        } else if let Some(expected) = line.strip_prefix("=> ") {
            let world = World::new(client, &definitions.join("\n"));
            let verdict = block_on(world.decide(&event));
            assert_eq!(
                told(&verdict, &world, expected).trim_end(),
                expected,
                "{path}:{}: {verdict:#?}",
                number + 1
            );
        } else if !line.starts_with('#') {
            definitions.push(line);
        }
    }
}

// --------------------------------------------------------------------------------- observing

/// A hook that observes changes nothing, whatever it says, whoever stands around it, in every
/// composition: the verdict is the one without it, the other hooks run on the same values, and its
/// outcome says what it would have done.
#[test]
fn what_observes_changes_nothing() {
    let observing = [
        ("deny: no", "deny"),
        ("ask: sure?", "ask"),
        ("allow: fine", "allow"),
        ("callback: '{\"decision\":\"defer\"}'", "defer"),
        (
            "callback: '{\"stop\":\"enough\",\"decision\":\"deny\"}'",
            "deny",
        ),
        ("callback: '{\"subject\":{\"command\":\"w\"}}'", "rewrite"),
        (
            "callback: '{\"subject\":{\"command\":\"w\"},\"replace\":true}'",
            "rewrite",
        ),
        (
            "callback: '{\"subject\":null,\"replace\":true,\"decision\":\"deny\"}'",
            "deny",
        ),
        (
            "callback: '{\"context\":{\"metadata\":{\"a\":1}}}'",
            "rewrite",
        ),
        ("callback: '{\"retry\":{\"action\":\"fail\"}}'", "retry"),
        (
            "callback: '{\"userMessages\":[\"m\"],\"additionalContext\":[\"c\"]}'",
            "allow",
        ),
        ("fail: closed, callback: fail", "deny"),
        ("fail: ask, callback: fail", "ask"),
        ("fail: open, callback: panic", "allow"),
        ("timeout: 1, fail: closed, callback: hang", "deny"),
        ("once: true, deny: no", "deny"),
        ("parallel: true, deny: no", "deny"),
        ("guard: { redact-secrets: {} }", "allow"),
    ];
    let others = [
        "",
        "a, deny: no",
        "a, ask: sure?",
        "a, allow: fine",
        "a, parallel: true, callback: 'add z'",
        "a, callback: '{\"subject\":{\"command\":\"y\"}}'\nb, callback: 'refuse y'",
        "a, callback: '{\"userMessages\":[\"key AKIAIOSFODNN7EXAMPLE\"]}'",
    ];
    for client in COMPOSITIONS.into_iter().chain(LISTS).chain(["native"]) {
        for (n, other) in others.iter().enumerate() {
            // The observing hook is of the client's vocabulary, hookwire's or another one.
            let vocabulary = [client, "native", "veto"][n % 3];
            let other: Vec<_> = other
                .lines()
                .map(|line| format!("{client}/{line}"))
                .collect();
            let other = other.join("\n");
            for event in ["PreToolUse", ["PostToolUse", "Stop", "SessionStart"][n % 3]] {
                let without = World::new(client, &other);
                let expected = block_on(without.decide(&at(event)));
                for (said, would) in observing {
                    let line = format!("{vocabulary}/o, observe: true, {said}");
                    let with = if n % 2 == 0 {
                        format!("{line}\n{other}")
                    } else {
                        format!("{other}\n{line}")
                    };
                    let world = World::new(client, &with);
                    let verdict = block_on(world.decide(&at(event)));
                    let case = format!("{client} {event}\n{with}");
                    is_as_without(&verdict, &expected, &case);
                    assert_eq!(calls_of_others(&world), without.calls(), "{case}");
                    let observer = verdict
                        .outcomes
                        .iter()
                        .filter(|it| &*it.hook == "o" && it.status != Status::Skipped);
                    for outcome in observer {
                        let observed = outcome
                            .observed
                            .as_ref()
                            .unwrap_or_else(|| panic!("{case}"));
                        // At other events some of these answers mean nothing.
                        let is_right = event != "PreToolUse" || observed.would().as_str() == would;
                        assert!(is_right, "{case}: would {}", observed.would().as_str());
                    }
                }
            }
        }
    }
}

/// The verdict and the outcomes of the other hooks.
fn is_as_without(verdict: &Verdict, expected: &Verdict, case: &str) {
    assert_eq!(tell(verdict), tell(expected), "{case}\n{verdict:#?}");
    let told = |it: &hookwire_base::verdict::Outcome| {
        (
            it.hook.clone(),
            it.status,
            it.decision,
            it.reason.clone(),
            it.rewrote,
        )
    };
    let others: Vec<_> = verdict
        .outcomes
        .iter()
        .filter(|it| &*it.hook != "o")
        .map(told)
        .collect();
    assert_eq!(
        others,
        expected.outcomes.iter().map(told).collect::<Vec<_>>(),
        "{case}"
    );
}

fn calls_of_others(world: &World) -> String {
    let calls = world.client.calls.lock().unwrap();
    calls
        .iter()
        .filter(|it| !it.starts_with("o("))
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Differences that show only at some events, for some clients, or beside some hooks.
#[test]
fn an_observing_hook_takes_no_part_in_what_others_do() {
    // An event that doesn't name its tool is denied for a hook that asks for it.
    for (observe, expected) in [(false, Decision::Deny), (true, Decision::Allow)] {
        let definitions =
            format!("a, on: PreToolUse, matcher: Bash, observe: {observe}, allow: fine");
        let world = World::new("workflow-framework", &definitions);
        let unnamed = json!({"Event": "PreToolCall", "ToolArgs": "{}"});
        let event = dialects::by_name("workflow-framework")
            .unwrap()
            .read_event(unnamed)
            .unwrap();
        assert_eq!(
            block_on(world.judge(event)).decision,
            expected,
            "{definitions}"
        );
    }
    // Of equal hooks one runs: not the one that observes.
    let equal = "claude-code/a, on: PreToolUse, observe: true, deny: no\nclaude-code/a, on: PreToolUse, deny: no";
    for equal in [
        equal.to_string(),
        equal.lines().rev().collect::<Vec<_>>().join("\n"),
    ] {
        let world = World::new("claude-code", &equal);
        let verdict = block_on(world.decide(&call()));
        assert_eq!(
            (verdict.decision, verdict.outcomes.len()),
            (Decision::Deny, 2),
            "{verdict:#?}"
        );
    }
    // A hook that runs once in a session is not used up by one that observes.
    let world = World::new(
        "native",
        "a, observe: true, once: true, deny: no\na, once: true, deny: no",
    );
    compare(
        &block_on(world.decide(&call())),
        &world,
        "once",
        "deny by a: no | a success would deny, a blocking",
    );
    // The file's hooks observe, but for those that say otherwise, and for what guards the guards.
    let definitions =
        "defaults: observe: true\na, deny: no\ng, guard: self-defense, on: PreToolUse";
    let world = World::new("native", definitions);
    let observing: Vec<_> = world
        .set
        .hooks
        .iter()
        .map(|it| (&*it.name, it.observe))
        .collect();
    assert_eq!(observing, [("a", true), ("g", false)]);
    check(
        "defaults: observe: true\na, deny: no\nb, observe: false, deny: really",
        &call(),
        "deny by b: really | a success would deny, b blocking",
    );
}

/// A person who can be asked, and how often that happened.
#[derive(Default)]
struct Person(Mutex<u32>);

impl HostClient for Person {
    fn notify(&self, _: &'static str, _: &Value) {}

    fn answers(&self) -> Answers {
        Answers {
            approvals: true,
            models: false,
        }
    }

    fn request(&self, _: &'static str, _: Value) -> Reply {
        *self.0.lock().unwrap() += 1;
        Box::pin(async { Ok(json!({"decision": "approve"})) })
    }
}

/// Nobody is asked about what an observing hook does, nor about what it says.
#[test]
fn what_observes_asks_nobody() {
    for (observe, asks_nobody, asked) in [(false, false, 1), (true, false, 0), (false, true, 0)] {
        for handler in ["ask: sure?", "guard: approval"] {
            let definitions = format!("a, on: PreToolUse, observe: {observe}, {handler}");
            let world = World {
                honours: Honours::default(),
                ..World::new("native", &definitions)
            };
            let person = Arc::new(Person::default());
            let client: Arc<dyn HostClient> = person.clone();
            let question = Question {
                client: Some(client),
                ..world.question(Event::from_json(call()).unwrap())
            };
            let within = Within {
                depth: 1,
                asks_nobody,
            };
            let verdict = block_on(super::judge_event(&world.engine, question, within));
            assert_eq!(
                *person.0.lock().unwrap(),
                asked,
                "{definitions}: {verdict:#?}"
            );
            let expected = if asks_nobody {
                Decision::Deny
            } else {
                Decision::Allow
            };
            assert_eq!(verdict.decision, expected, "{definitions}: {verdict:#?}");
        }
    }
}

// --------------------------------------------------------------------------------- compositions

/// No answer of an inner layer keeps an outer one from judging, and from judging what goes out.
#[test]
fn no_inner_layer_switches_off_an_outer_one() {
    let inner = [
        "deny: no",
        "ask: sure?",
        "fail: closed, callback: fail",
        "fail: open, callback: fail",
        "callback: '{\"stop\":\"s\"}'",
        "callback: '{\"subject\":NEW}'",
        "callback: '{\"subject\":NEW,\"replace\":true}'",
        "callback: '{\"subject\":NEW,\"decision\":\"deny\"}'",
        "callback: '{\"subject\":NEW,\"stop\":\"s\"}'",
        "parallel: true, callback: '{\"subject\":NEW}'",
    ];
    let events = [
        (
            json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "x"}}}),
            r#"{"command":"new"}"#,
        ),
        (
            json!({"event": "PostToolUse", "tool": {"name": "Bash", "output": "x"}}),
            "\"new\"",
        ),
        (json!({"event": "Stop", "lastMessage": "x"}), "\"new\""),
        (json!({"event": "Notification"}), ""),
        (json!({"event": "PostCompact"}), ""),
    ];
    for composition in COMPOSITIONS.into_iter().chain(["native"]) {
        for (word, parallel) in [
            (composition, ""),
            ("native", ""),
            ("native", "parallel: true, "),
        ] {
            for ((event, new), says) in events
                .iter()
                .flat_map(|event| inner.iter().map(move |says| (event, says)))
            {
                if new.is_empty() && says.contains("NEW") {
                    continue;
                }
                let definitions = format!(
                    "-- managed\n {word}/outer, {parallel}callback: '{{}}'\n-- user\n {composition}/inner, {}",
                    says.replace("NEW", new)
                );
                let world = World::new(composition, &definitions);
                let verdict = block_on(world.decide(event));
                let ran = world.calls();
                let label = format!("{composition}: {definitions}\n{event}\n{ran}\n{verdict:?}");
                assert!(ran.contains("outer("), "{label}");
                // Before something happens, such a system's hooks all see what the agent sent.
                let is_gate = event["event"] == "PreToolUse" || event["event"] == "Stop";
                let same_snapshot = word == "parallel" && is_gate;
                if verdict.subject.is_some() && says.contains("NEW") && !same_snapshot {
                    assert!(ran.ends_with("outer(new)"), "{label}");
                }
            }
        }
    }
}

/// A list of one system switches off nothing of an outer layer, in chains of other vocabularies,
/// too.
#[test]
fn a_list_switches_off_nothing_of_an_outer_layer_for_clients_of_others() {
    let inner = [
        ("deny: no", ""),
        ("callback: '{\"stop\":\"s\"}'", ""),
        ("callback: '{\"subject\":NEW}'", "new"),
        ("callback: '{\"subject\":NEW,\"replace\":true}'", "new"),
        ("callback: '{\"subject\":NEW,\"stop\":\"s\"}'", "new"),
    ];
    let events = [
        (
            json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "x"}}}),
            r#"{"command":"new"}"#,
        ),
        (
            json!({"event": "PostToolUse", "tool": {"name": "Bash", "output": "x"}}),
            "\"new\"",
        ),
        (json!({"event": "Stop", "lastMessage": "x"}), "\"new\""),
    ];
    let layers = [
        ("hooks", "project"),
        ("hooks", "session"),
        ("project", "session"),
    ];
    for (client, list) in ["native", "onion", "pipeline"]
        .into_iter()
        .flat_map(|it| LISTS.map(|list| (it, list)))
    {
        for ((outer, inner_layer), (event, new)) in layers
            .iter()
            .flat_map(|it| events.iter().map(move |at| (it, at)))
        {
            for (says, makes) in &inner {
                // First, before and behind the outer guards wherever the list itself would have it.
                for (word, priority) in ["native", list, client]
                    .into_iter()
                    .flat_map(|it| [(it, 1), (it, 200)])
                {
                    let definitions = format!(
                        "-- {outer}\n {word}/outer, callback: '{{}}'\n {list}/near, priority: 50, callback: '{{}}'\n\
                         -- {inner_layer}\n {list}/inner, priority: {priority}, {}\n native/far, callback: '{{}}'",
                        says.replace("NEW", new)
                    );
                    let world = World::new(client, &definitions);
                    let verdict = block_on(world.decide(event));
                    let ran = world.calls();
                    let label = format!("{client}: {definitions}\n{event}\n{ran}\n{verdict:?}");
                    assert!(ran.contains("outer(") && ran.contains("near("), "{label}");
                    // In a chain of layers the outer ones judge what inner ones made; within a list
                    // its order counts.
                    let is_judged = client == "native" && word != list && !makes.is_empty();
                    if is_judged && verdict.subject.is_some() {
                        assert!(ran.contains(&format!("outer({makes})")), "{label}");
                    }
                }
            }
        }
    }
}

/// A system's one list is ordered by that system for clients of others, too.
#[test]
fn a_list_is_one_in_the_chains_of_others() {
    let definitions = "early, priority: 50, callback: '{}'
                       pipeline-list/file, callback: '{}'
                       late, priority: 150, callback: '{}'
                       -- project
                       native/project, callback: '{}'
                       pipeline-list/last, priority: 200, callback: '{}'
                       -- session
                       pipeline-list/first, priority: 1, callback: '{}'";
    for client in ["onion", "pipeline", "veto", "parallel"] {
        let others = definitions.replace("native/", &format!("{client}/"));
        let others = others
            .replace("early,", &format!("{client}/early,"))
            .replace("late,", &format!("{client}/late,"));
        let world = World::new(client, &others);
        block_on(world.decide(&call()));
        let ran = world.calls();
        assert!(ran.contains("first(x) file(x) last(x)"), "{client}: {ran}");
    }
}

/// Deny > defer > ask > allow whatever the order, in every composition.
#[test]
fn the_strongest_decision_wins() {
    let lines = [
        ("allow", "allow: r"),
        ("ask", "ask: r"),
        (
            "defer",
            "callback: '{\"decision\":\"defer\",\"reason\":\"r\"}'",
        ),
        ("deny", "deny: r"),
    ];
    for composition in COMPOSITIONS {
        for first in 0..4 {
            for second in 0..4 {
                for third in 0..4 {
                    let picks = [first, second, third];
                    let definitions: Vec<_> = picks
                        .iter()
                        .map(|pick| format!("{composition}/h{pick}, {}", lines[*pick].1))
                        .collect();
                    let strongest = lines[*picks.iter().max().unwrap()].0;
                    let world = World::new(composition, &definitions.join("\n"));
                    let verdict = block_on(world.decide(&call()));
                    assert_eq!(
                        verdict.decision.as_str(),
                        strongest,
                        "{composition} {picks:?}"
                    );
                    assert_eq!(
                        verdict.decided_by.unwrap().as_ref(),
                        format!("h{}", picks.iter().max().unwrap())
                    );
                }
            }
        }
    }
}

#[test]
fn neighbours_that_may_run_side_by_side_cost_the_slowest() {
    for (parallel, millis) in [(true, 300), (false, 700)] {
        let definitions = format!(
            "a, parallel: {parallel}, callback: sleep 300\n b, parallel: {parallel}, callback: sleep 100\n c, parallel: {parallel}, callback: sleep 300"
        );
        block_on(async {
            let started = now();
            let world = World::new("native", &definitions);
            world.decide(&call()).await;
            assert_eq!((now() - started).as_millis(), millis);
        });
    }
}

// ---------------------------------------------------------------------- failures and opaqueness

#[test]
fn a_failure_takes_its_direction_wherever_it_happens() {
    let replies = [
        "'{\"decison\":\"deny\"}'",
        "'{\"decision\":\"maybe\"}'",
        "'{\"context\":[]}'",
    ];
    for script in ["fail", "hang", "panic", "sleep 60000"]
        .into_iter()
        .chain(replies)
    {
        let status = if script == "hang" || script.starts_with("sleep") {
            "cancelled"
        } else {
            ""
        };
        for (fail, phase, decision, failed) in [
            ("open", "PreToolUse", "allow", "non_blocking_error"),
            ("closed", "PreToolUse", "deny", "blocking"),
            ("ask", "PreToolUse", "ask", "blocking"),
            ("open", "PostToolUse", "allow", "non_blocking_error"),
            ("closed", "PostToolUse", "deny", "blocking"),
            ("ask", "PostToolUse", "deny", "blocking"),
            ("closed", "Stop", "allow", "non_blocking_error"),
            ("ask", "SubagentStop", "allow", "non_blocking_error"),
            ("closed", "Notification", "allow", "non_blocking_error"),
            ("ask", "SessionEnd", "allow", "non_blocking_error"),
        ] {
            let world = World::new("native", &format!("h, fail: {fail}, callback: {script}"));
            let verdict = block_on(world.decide(&at(phase)));
            let status = if status.is_empty() { failed } else { status };
            let label = format!("{script} {fail} {phase}: {verdict:?}");
            assert_eq!(verdict.decision.as_str(), decision, "{label}");
            assert_eq!(outcomes(&verdict), format!("h {status}"), "{label}");
            assert!(verdict.outcomes[0].error.is_some(), "{label}");
            let withheld = phase == "PostToolUse" && fail != "open";
            assert_eq!(verdict.subject, withheld.then_some(Value::Null), "{label}");
        }
    }
}

/// A frame of the wire can't be as large, an event of a program that embeds the host can.
#[test]
fn what_is_too_large_to_be_looked_through_for_secrets_is_not_passed_on() {
    let text = "x".repeat(16 * 1024 * 1024);
    for (event, tool, withheld) in [
        (
            "PreToolUse",
            json!({"name": "Write", "input": {"content": text}}),
            false,
        ),
        (
            "PostToolUse",
            json!({"name": "Read", "output": [text, "y"]}),
            true,
        ),
    ] {
        let world = World::new(
            "native",
            "h, on: [PreToolUse, PostToolUse], fail: open, guard: redact-secrets",
        );
        let verdict = block_on(world.decide(&json!({"event": event, "tool": tool})));
        let reason = verdict.reason.unwrap_or_default();
        assert!(
            reason.ends_with("bytes of text can't be looked through for secrets, only 16777216"),
            "{reason}"
        );
        assert_eq!(
            (verdict.decision.as_str(), verdict.replaced),
            ("deny", withheld)
        );
    }
}

#[test]
fn what_is_withheld_stays_withheld() {
    for composition in COMPOSITIONS {
        let definitions = format!(
            "{composition}/b, fail: open, callback: '{{\"subject\":\"new\"}}'\n {composition}/a, fail: closed, callback: fail\n {composition}/c, callback: '{{\"subject\":\"other\"}}'"
        );
        let world = World::new(composition, &definitions);
        let verdict = block_on(world.decide(&at("PostToolUse")));
        assert_eq!(
            (verdict.subject, verdict.replaced),
            (Some(Value::Null), true),
            "{composition}"
        );
        // Nobody later has seen it.
        assert!(
            composition == "parallel" || !world.calls().contains("c(out)"),
            "{composition} {}",
            world.calls()
        );
    }
}

#[test]
fn an_opaque_condition_never_means_no() {
    let when = "when: tool.input.nothing == 1";
    // A reason that was written for what the rule names isn't given for what may be something else.
    let missing = "hook `h` can't tell whether `when` holds: `tool.input.nothing` is missing";
    for (hook, expected) in [
        ("deny: no", "ask by h: ~ | h blocking"),
        ("fail: ask, deny: no", "ask by h: ~ | h blocking"),
        ("fail: closed, deny: no", "deny by h: ~ | h blocking"),
        ("fail: open, deny: no", "allow | h non_blocking_error"),
        ("ask: sure?", "ask by h: sure? (~) | h blocking"),
        ("fail: open, ask: sure?", "ask by h: sure? (~) | h blocking"),
        ("allow: fine", "allow | h success"),
        ("fail: closed, allow: fine", "allow | h success"),
        (
            "callback: '{\"decision\":\"deny\",\"reason\":\"no\"}'",
            "deny by h: no | h blocking",
        ),
        ("callback: '{}'", "allow | h success"),
        // A rewrite in doubt changes nothing.
        ("rewrite: { patch: { command: y } }", "allow | h success"),
        (
            "fail: open, rewrite: { patch: { command: y } }",
            "allow | h non_blocking_error",
        ),
        (
            "fail: closed, rewrite: { patch: { command: y } }",
            "deny by h: hook `h` failed to tell whether `when` holds: `tool.input.nothing` is missing | h blocking",
        ),
    ] {
        let definitions = format!("h, {when}, {hook}");
        check(&definitions, &call(), &expected.replace('~', missing));
        let verdict = block_on(World::new("native", &definitions).decide(&call()));
        assert!(verdict.outcomes[0].opaque.is_some(), "{definitions}");
    }
    let bash = |command: &str| json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
    let why = "the program's name is computed, at `$X push`";
    for (hook, expected) in [
        ("deny: no", "ask by h: hook `h` "),
        ("fail: closed, deny: no", "deny by h: hook `h` "),
        (
            "callback: '{\"decision\":\"deny\",\"reason\":\"no\"}'",
            "deny by h: no",
        ),
    ] {
        let told = format!("can't tell whether `Bash(git push*)` holds: {why}");
        let told = if expected.ends_with(' ') {
            told.as_str()
        } else {
            ""
        };
        check(
            &format!("h, if: [Bash(git push*)], {hook}"),
            &bash("$X push"),
            &format!("{expected}{told}"),
        );
    }
}

#[test]
fn an_allow_takes_that_the_whole_call_is_what_the_hook_is_for() {
    let bash = |command: &str| json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
    let says = "callback: '{\"decision\":\"allow\",\"reason\":\"fine\"}'";
    let partial = "h success";
    for (conditions, command, expected) in [
        (
            "if: Bash(git *), ",
            "git log && git status",
            "allow by h: fine | h success",
        ),
        (
            "if: [Bash(git *), Bash(ls*)], ",
            "git log && ls",
            "allow by h: fine | h success",
        ),
        (
            "if: Bash(git *), ",
            "git log && rm x",
            &format!("allow | {partial}"),
        ),
        (
            "if: Bash(git *), unless: Bash(git push*), ",
            "git log; git push",
            &format!("allow | {partial}"),
        ),
        (
            "if: Bash(git *), ",
            "git log; $X",
            &format!("allow | {partial}"),
        ),
        ("", "git log; $X", "allow by h: fine | h success"),
    ] {
        check(&format!("h, {conditions}{says}"), &bash(command), expected);
        let fixed = expected
            .replace(&format!(" | {partial}"), "")
            .replace(" | h success", "");
        check(
            &format!("h, {conditions}allow: fine"),
            &bash(command),
            &fixed,
        );
    }
}

/// No handler is asked about code that the text doesn't show.
#[test]
fn code_that_is_not_shown_is_decided_by_the_hook() {
    let why = "can't tell whether `Bash(git *)` holds: it runs a script, at `npm test`";
    for (definitions, expected) in [
        ("h, deny: no", None),
        (
            "defaults: delegates: deny\nh, delegates: ignore, deny: no",
            None,
        ),
        (
            "defaults: delegates: deny\nh, callback: fail",
            Some(Decision::Deny),
        ),
        (
            "h, delegates: ask, fail: closed, deny: no",
            Some(Decision::Ask),
        ),
        ("h, delegates: deny, allow: fine", Some(Decision::Deny)),
    ] {
        let world = World::new("native", definitions);
        let hook = world.set.hooks[0].clone();
        assert_eq!(hook.delegates, expected, "{definitions}");
        let Some(expected) = expected else { continue };
        let untold = Untold {
            condition: "Bash(git *)".into(),
            why: "it runs a script, at `npm test`".into(),
        };
        let doubt = Some(Doubt {
            why: untold,
            delegates: hook.delegates,
        });
        let selected = Selected {
            doubt,
            hook,
            about: None,
        };
        let question = world.question(Event::from_json(call()).unwrap());
        let within = Within {
            depth: 0,
            asks_nobody: false,
        };
        let limits = RunLimits {
            question: &question,
            within,
            redacting: &[],
        };
        let moment = Arc::new(Moment::new(question.event.clone(), Path::new("/")));
        let run = block_on(super::run::run_in_time(
            &world.engine,
            &limits,
            &selected,
            &moment,
        ));
        let told = (run.answer.decision, run.answer.reason);
        assert_eq!(
            told,
            (Some(expected), Some(format!("hook `h` {why}"))),
            "{definitions}"
        );
    }
}

/// A larger future takes the allocator's slow way, for each event.
#[test]
fn the_future_of_an_event_fits_into_a_kilobyte() {
    let world = World::new("native", "a, deny: no");
    let question = world.question(Event::from_json(call()).unwrap());
    let size = size_of_val(&decide(&world.engine, question));
    assert!(size <= 1024, "{size}");
}

#[test]
fn defaults_say_what_a_failure_at_a_gate_means() {
    let kinds = [
        ("redact-secrets", true),
        ("pattern-guard: { redact: [x] }", true),
        ("pattern-guard: { deny: [x] }", false),
    ];
    for (guard, is_closed) in kinds {
        let guard = if guard.contains(':') {
            format!("{{ {guard} }}")
        } else {
            guard.to_string()
        };
        for (fail, expected) in [
            ("", is_closed),
            ("fail: open, ", false),
            ("fail: closed, ", true),
        ] {
            let world = World::new(
                "native",
                &format!("defaults: fail: closed\nh, on: PostToolUse, {fail}guard: {guard}"),
            );
            let hook = &world.set.hooks[0];
            assert_eq!(
                hook.fail_at(Phase::After) == Fail::Closed,
                expected,
                "{fail}{guard}"
            );
        }
    }
}

#[test]
fn a_reply_that_cannot_be_meant_is_a_failure() {
    for (event, reply, error) in [
        (
            "SessionStart",
            "{\"subject\":1}",
            "failed to rewrite: SessionStart has no subject",
        ),
        (
            "PreToolUse",
            "{\"context\":{\"cwd\":\"/\"}}",
            "failed to give a context: `cwd` can't be changed, only metadata, messages, systemPrompt, responseFormat, tool, errors, eventMetadata, state",
        ),
        // Two values for one subject: hooks would judge one and the client might take the other.
        (
            "PreToolUse",
            "{\"context\":{\"tool\":{\"input\":{\"command\":\"y\"}}}}",
            "failed to give a context: it changes the subject, whose new value belongs in `subject`",
        ),
        (
            "PreToolUse",
            "{\"context\":{\"tool\":null}}",
            "failed to give a context: it changes the subject, whose new value belongs in `subject`",
        ),
        (
            "PreToolUse",
            "{\"context\":{\"tool\":{\"name\":null}}}",
            "failed to give a context: `tool.name` is not a string",
        ),
        (
            "PreToolUse",
            "{\"subject\":{},\"patch\":{}}",
            "failed to rewrite: the reply has `subject` and `patch`; give the whole value or what changes",
        ),
        (
            "PreToolUse",
            "{\"patch\":[]}",
            "failed to rewrite: `patch` is not an object",
        ),
        (
            "SessionStart",
            "{\"patch\":{}}",
            "failed to rewrite: SessionStart has no subject",
        ),
        (
            "Stop",
            "{\"patch\":{\"a\":1}}",
            "failed to rewrite: `patch` needs an object, and the subject of Stop is a text; give `subject`",
        ),
    ] {
        let world = World::new("native", &format!("h, fail: closed, callback: '{reply}'"));
        let verdict = block_on(world.decide(&at(event)));
        assert_eq!(verdict.outcomes[0].error.as_deref(), Some(error));
        // At a Stop the agent may rest.
        let decision = if event == "Stop" { "allow" } else { "deny" };
        assert_eq!(verdict.decision.as_str(), decision);
    }
}

#[test]
fn a_patch_changes_what_it_names() {
    let call = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "x", "n": 1, "m": {"a": 1, "b": 2}}}});
    for (hooks, subject, patch) in [
        (
            "a, callback: '{\"patch\":{\"command\":\"y\",\"m\":{\"a\":3},\"none\":null}}'",
            json!({"command": "y", "n": 1, "m": {"a": 3, "b": 2}}),
            Some(json!({"command": "y", "m": {"a": 3}})),
        ),
        // Each patches the value so far.
        (
            "a, callback: '{\"patch\":{\"n\":2}}'\n b, callback: '{\"patch\":{\"m\":3}}'",
            json!({"command": "x", "n": 2, "m": 3}),
            Some(json!({"n": 2, "m": 3})),
        ),
        // Of one snapshot they combine.
        (
            "a, parallel: true, callback: '{\"patch\":{\"n\":2}}'\n b, parallel: true, callback: '{\"patch\":{\"command\":\"y\"}}'",
            json!({"command": "y", "n": 2, "m": {"a": 1, "b": 2}}),
            Some(json!({"command": "y", "n": 2})),
        ),
        // A verdict doesn't name what is gone, and no merge patch makes a member null.
        (
            "a, callback: '{\"patch\":{\"m\":{\"a\":null}}}'",
            json!({"command": "x", "n": 1, "m": {"b": 2}}),
            None,
        ),
        (
            "a, callback: '{\"subject\":{\"command\":\"y\"}}'",
            json!({"command": "y"}),
            None,
        ),
        (
            "a, callback: '{\"subject\":{\"command\":\"x\",\"n\":null,\"m\":1}}'",
            json!({"command": "x", "n": null, "m": 1}),
            None,
        ),
    ] {
        let verdict = block_on(World::new("native", hooks).decide(&call));
        assert_eq!(
            (verdict.subject, verdict.patch),
            (Some(subject), patch),
            "{hooks}"
        );
    }
    check("a, callback: '{\"patch\":{\"n\":1}}'", &call, "allow");
}

// ------------------------------------------------------------------- beside the decision

#[test]
fn notes_are_only_told() {
    for event in [
        "Notification",
        "SessionEnd",
        "PostCompact",
        "PermissionDenied",
    ] {
        // At an event that closes something, inner hooks run first.
        let order = if ["SessionEnd", "PostCompact"].contains(&event) {
            "b success, a success"
        } else {
            "a success, b success"
        };
        check(
            "a, deny: no\n b, callback: '{\"decision\":\"ask\"}'",
            &at(event),
            &format!("allow | {order}"),
        );
        let mut world = World::new(
            "native",
            "a, callback: '{\"context\":{\"metadata\":{\"n\":1}}}'",
        );
        world.honours = Honours::default();
        world.honours.rewrite = false;
        assert_eq!(
            block_on(world.decide(&at(event))).decision.as_str(),
            "allow"
        );
    }
}

#[test]
fn what_a_client_cannot_honour_denies() {
    let nothing = Honours {
        ask: false,
        defer: false,
        rewrite: false,
        withhold: true,
    };
    for (definitions, honours, expected) in [
        ("a, ask: sure?", ALL, "ask by a: sure?"),
        (
            "a, ask: sure?",
            nothing,
            "deny by a: sure? (this needs a person's approval, and the client can't ask)",
        ),
        ("a, callback: '{\"decision\":\"defer\"}'", ALL, "defer by a"),
        (
            "a, callback: '{\"decision\":\"defer\"}'",
            nothing,
            "deny by a: this would be put off, and the client can't defer",
        ),
        ("a, callback: add y", Honours::default(), "allow => xy"),
        (
            "a, callback: add y",
            nothing,
            "deny by a: hook `a` rewrote this, and the client can't take a rewrite",
        ),
        (
            "a, callback: '{\"context\":{\"systemPrompt\":\"p\"}}'",
            nothing,
            "deny by a: hook `a` rewrote this, and the client can't take a rewrite context {\"systemPrompt\":\"p\"}",
        ),
        ("a, callback: 'add '", nothing, "allow"),
        ("a, deny: no", nothing, "deny by a: no"),
        (
            "a, fail: ask, callback: fail",
            nothing,
            "deny by a: hook `a` failed to call back: boom (this needs a person's approval, and the client can't ask)",
        ),
        ("a, on: Stop, deny: no", nothing, "allow"),
    ] {
        let mut world = World::new("native", definitions);
        world.honours = honours;
        compare(
            &block_on(world.decide(&call())),
            &world,
            definitions,
            expected,
        );
    }
    // Without `initialize`: allow, deny, rewrite.
    assert_eq!(
        Honours::default(),
        Honours {
            ask: false,
            defer: false,
            rewrite: true,
            withhold: true
        }
    );
}

#[test]
fn broken_definitions_are_in_every_verdict() {
    let mut world = World::new("native", "a, callback: '{}'");
    world.set = Arc::new(HookSet::new(
        world.set.hooks.clone(),
        7,
        "h".into(),
        vec!["guard.yaml:3:5: bad regex".into()],
    ));
    let verdict = block_on(world.decide(&call()));
    assert_eq!(tell(&verdict), "allow error guard.yaml:3:5: bad regex");
    assert_eq!((verdict.generation, &*verdict.hash), (7, "h"));
}

// ---------------------------------------------------------------------------- what is remembered

#[test]
fn send_backs_are_capped() {
    for event in ["Stop", "SubagentStop"] {
        let world = World::new("native", "a, deny: not done");
        block_on(async {
            for n in 0..=MAX_SEND_BACKS * 2 + 1 {
                let verdict = world.decide(&at(event)).await;
                let rests = n % (MAX_SEND_BACKS + 1) == MAX_SEND_BACKS;
                assert_eq!(
                    verdict.decision.as_str(),
                    if rests { "allow" } else { "deny" },
                    "{event} {n}"
                );
                assert_eq!(verdict.errors.len(), usize::from(rests));
            }
        });
    }
    assert_eq!(MAX_SEND_BACKS, 8);
}

#[test]
fn only_send_backs_in_a_row_count_and_only_of_one_agent() {
    let world = World::new(
        "native",
        "a, when: 'lastMessage == \"bye\"', deny: not done",
    );
    let stop = |session: &str, message: &str, agent: &str| json!({"event": "SubagentStop", "session": session, "lastMessage": message, "agent": {"name": "x", "id": agent}});
    block_on(async {
        for between in [
            stop("s", "done", "1"),
            json!({"event": "UserPromptSubmit", "session": "s", "prompt": "go on"}),
        ] {
            for _ in 0..MAX_SEND_BACKS {
                assert_eq!(
                    world.decide(&stop("s", "bye", "1")).await.decision.as_str(),
                    "deny"
                );
                // Another session's, another agent's.
                for other in [stop("t", "bye", "1"), stop("s", "bye", "2")] {
                    assert_eq!(world.decide(&other).await.decision.as_str(), "deny");
                }
                for other in [stop("t", "done", "1"), stop("s", "done", "2")] {
                    world.decide(&other).await;
                }
            }
            world.decide(&between).await;
        }
        assert_eq!(
            world.decide(&stop("s", "bye", "1")).await.decision.as_str(),
            "deny"
        );
    });
}

#[test]
fn once_is_once_a_session() {
    let world = World::new(
        "native",
        "a, once: true, callback: '{}'\n a, once: true, callback: '{\"reason\":\"other\"}'\n b, callback: '{}'",
    );
    block_on(async {
        let of = |session: &str| json!({"event": "PreToolUse", "session": session, "tool": {"name": "Bash", "input": {"command": "x"}}});
        for (event, expected) in [
            (of("s"), "a success, a success, b success"),
            (of("s"), "a skipped, a skipped, b success"),
            (of("t"), "a success, a success, b success"),
            (
                json!({"event": "SessionEnd", "session": "s"}),
                "b success, a skipped, a skipped",
            ),
            (of("s"), "a success, a success, b success"),
        ] {
            assert_eq!(outcomes(&world.decide(&event).await), expected, "{event}");
        }
    });
}

/// A hook has judged nothing if its run or its event was cut off.
#[test]
fn a_once_hook_is_spent_when_its_event_is_decided() {
    let short = || {
        let mut event = call();
        event["deadlineMs"] = json!(100);
        event
    };
    for (definitions, first, cut_off, then) in [
        // Cancelled while it runs, by its own end, while another hook runs, by the event's
        // deadline.
        (
            "a, once: true, fail: closed, timeout: 2s, callback: hang",
            call(),
            "cancelled",
            "deny by a: hook `a` failed to finish within its timeout (2s) | a cancelled",
        ),
        (
            "a, once: true, ask: sure?\n b, timeout: 2s, callback: hang",
            call(),
            "cancelled",
            "ask by a: sure? | a blocking, b cancelled",
        ),
        (
            "a, once: true, fail: closed, timeout: 2s, callback: hang",
            short(),
            "deny",
            "deny by a: hook `a` failed to finish within its timeout (2s) | a cancelled",
        ),
    ] {
        block_on(async {
            let world = World::new("native", definitions);
            let of_first = jumping::within(Duration::from_secs(1), world.decide(&first)).await;
            assert_eq!(
                of_first.map_or("cancelled", |verdict| verdict.decision.as_str()),
                cut_off,
                "{definitions}"
            );
            compare(&world.decide(&call()).await, &world, definitions, then);
            assert!(
                outcomes(&world.decide(&call()).await).starts_with("a skipped"),
                "{definitions}"
            );
        });
    }
    // A detached hook runs on.
    block_on(async {
        let world = World::new(
            "native",
            "a, once: true, async: true, callback: '{}'\n b, timeout: 2s, callback: hang",
        );
        assert!(
            jumping::within(Duration::from_secs(1), world.decide(&call()))
                .await
                .is_none()
        );
        assert_eq!(
            outcomes(&world.decide(&call()).await),
            "a skipped, b cancelled"
        );
    });
}

// ------------------------------------------------------------------------------------------ time

#[test]
fn the_default_timeout_is_thirty_seconds() {
    for (field, seconds) in [("", 30), ("timeout: 2s, ", 2), ("timeout: 0.5, ", 0)] {
        block_on(async {
            let started = now();
            let verdict = World::new("native", &format!("h, {field}fail: closed, callback: hang"))
                .decide(&call())
                .await;
            assert_eq!((now() - started).as_secs(), seconds);
            assert_eq!(
                (verdict.decision.as_str(), verdict.outcomes[0].status),
                ("deny", Status::Cancelled)
            );
        });
    }
}

#[test]
fn without_hurry_a_deadline_is_not_for_conditions() {
    // It can't be told in no time where a path leads, because the disk is asked: with a hurry, both
    // are mostly in doubt.
    let definitions = "a, if: Write(/tmp/**), fail: open, callback: hang\nb, if: Write(/usr/**), fail: open, callback: hang";
    let event = json!({"event": "PreToolUse", "deadlineMs": 1, "tool": {"name": "Write", "input": {"file_path": "/usr/x"}}});
    let mut world = World::new("native", definitions);
    world.engine.unhurried = true;
    let verdict = block_on(world.decide(&event));
    let outcomes: Vec<_> = verdict
        .outcomes
        .iter()
        .map(|outcome| (&*outcome.hook, outcome.status))
        .collect();
    assert_eq!(outcomes, [("b", Status::Cancelled)]);
}

#[test]
fn the_deadline_bounds_the_whole_event() {
    for (deadline, at_most) in [(1000, 950), (200, 180), (10_000, 9500)] {
        for (lines, expected) in [
            // Nobody after a hung hook is even started; all take their direction.
            (
                vec![
                    "a, callback: hang",
                    "b, fail: ask, callback: hang",
                    "c, callback: '{}'",
                ],
                "ask by b: hook `b` failed to start before the event's deadline | ran a(x)",
            ),
            (
                vec![
                    "a, fail: open, callback: hang",
                    "c, fail: closed, callback: '{}'",
                ],
                "deny by c: hook `c` failed to start before the event's deadline | ran a(x)",
            ),
            (
                vec!["a, callback: sleep 100", "b, callback: hang"],
                "allow | a success, b cancelled",
            ),
            // A fixed verdict takes no time.
            (
                vec!["a, callback: hang", "c, deny: no"],
                "deny by c: no | a cancelled, c blocking",
            ),
            (
                vec![
                    "a, parallel: true, callback: hang",
                    "b, parallel: true, callback: hang",
                    "c, parallel: true, callback: hang",
                ],
                "allow | a cancelled, b cancelled, c cancelled",
            ),
            (
                vec!["g, fail: open, callback: hang", "r, callback: add y"],
                "allow | g cancelled, r cancelled",
            ),
        ] {
            let definitions = lines.join("\n");
            let mut event = call();
            event["deadlineMs"] = deadline.into();
            block_on(async {
                let world = World::new("native", &definitions);
                let started = now();
                let verdict = world.decide(&event).await;
                compare(&verdict, &world, &definitions, expected);
                assert_eq!((now() - started).as_millis(), at_most, "{definitions}");
            });
        }
    }
    // A shorter timeout of the hook's own stays.
    block_on(async {
        let started = now();
        let mut event = call();
        event["deadlineMs"] = 1000.into();
        World::new("native", "a, timeout: 300ms, callback: hang")
            .decide(&event)
            .await;
        assert_eq!((now() - started).as_millis(), 300);
    });
    // A hook whose time was over hasn't judged the event, even if it lets it pass.
    for (definition, expected) in [
        (
            "h, timeout: 1s, fail: closed, callback: compute 1200",
            "deny by h: hook `h` failed to finish within its timeout (1s 200ms) | h cancelled",
        ),
        (
            "h, timeout: 1s, fail: closed, callback: 'compute 1200 then {\"decision\":\"deny\",\"reason\":\"no\"}'",
            "deny by h: no | h blocking",
        ),
        (
            "h, timeout: 1s, fail: open, callback: compute 1200",
            "allow | h success",
        ),
        (
            "h, timeout: 1s, fail: closed, callback: compute 1000",
            "allow | h success",
        ),
    ] {
        check(definition, &call(), expected);
    }
    // Judging again is within the deadline too, and a failure there denies.
    let mut event = call();
    event["deadlineMs"] = 1000.into();
    check(
        "g, callback: '{}'\n r, callback: 'sleep 951 then {\"subject\":{\"command\":\"y\"}}'",
        &event,
        "allow | g success, r cancelled",
    );
    check(
        "g, if: Bash(y), fail: open, callback: hang\n r, callback: '{\"subject\":{\"command\":\"y\"}}'",
        &event,
        "deny by g: hook `g` failed to finish within the event's deadline (950ms), judging a rewritten value",
    );
}

/// C1 and C5: a thousand hung hooks, side by side and one after the other. `HOOKWIRE_FULL=1`: ten
/// thousand.
#[test]
fn thousands_of_hung_hooks() {
    let n = if std::env::var_os("HOOKWIRE_FULL").is_some() {
        10_000
    } else {
        1000
    };
    for parallel in [true, false] {
        let definitions: String = (0..n)
            .map(|n| format!("h{n}, parallel: {parallel}, fail: ask, callback: hang\n"))
            .collect();
        let mut event = call();
        event["deadlineMs"] = 1000.into();
        block_on(async {
            let world = World::new("native", &definitions);
            let started = now();
            let verdict = world.decide(&event).await;
            assert_eq!((now() - started).as_millis(), 950);
            assert_eq!(
                (verdict.decision.as_str(), verdict.outcomes.len()),
                ("ask", n)
            );
        });
    }
}

#[test]
fn an_early_deadline_takes_the_failure_direction_and_a_dropped_question_its_hooks() {
    block_on(async {
        let world = World::new(
            "native",
            "a, fail: closed, callback: hang\n b, callback: hang",
        );
        world.early_deadline.cancel();
        assert_eq!(world.decide(&call()).await.decision.as_str(), "deny");
        let world = World::new("native", "a, fail: closed, callback: hang");
        let early_deadline = world.early_deadline.clone();
        let event = call();
        let (verdict, ()) = tokio::join!(world.decide(&event), async {
            jumping::sleep(Duration::from_secs(1)).await;
            early_deadline.cancel();
        });
        assert_eq!(
            tell(&verdict),
            "deny by a: hook `a` failed to finish before the input ended"
        );
        let world = World::new("native", "a, callback: hang");
        let cancelled = jumping::within(Duration::from_secs(1), world.decide(&call())).await;
        assert!(cancelled.is_none());
        assert_eq!(*world.client.dropped.lock().unwrap(), 1);
    });
}

#[test]
fn detached_hooks_are_started_forgotten_and_told_about() {
    block_on(async {
        let definitions = "a, async: true, callback: sleep 5000
                           b, async: true, fail: closed, callback: fail
                           c, async: true, timeout: 1s, callback: hang
                           d, async: true, callback: '{\"decision\":\"deny\",\"reason\":\"no\",\"subject\":{\"command\":\"y\"}}'
                           e, async: true, callback: panic";
        let world = World::new("native", definitions);
        let mut reports = world.engine.reports();
        let started = now();
        let verdict = world.decide(&call()).await;
        assert_eq!(
            (tell(&verdict), now() - started),
            ("allow".into(), Duration::ZERO)
        );
        assert_eq!(
            outcomes(&verdict),
            "a started, b started, c started, d started, e started"
        );
        world.engine.settle().await;
        assert_eq!((now() - started).as_secs(), 5);
        let mut told = Vec::new();
        while let Ok(report) = reports.try_recv() {
            assert!(
                report.detached && report.outcome.decision.is_none(),
                "{report:?}"
            );
            told.push(format!(
                "{} {:?} {}",
                report.outcome.hook,
                report.outcome.status,
                report.outcome.error.unwrap_or_default()
            ));
        }
        told.sort();
        assert_eq!(
            told,
            [
                "a Success ",
                "b NonBlockingError failed to call back: boom",
                "c Cancelled failed to finish within its timeout (1s)",
                "d Success ",
                "e NonBlockingError failed to run: the handler panicked; this is a bug in hookwire",
            ]
        );
    });
}

// ---------------------------------------------------------------------------------------- trials

#[test]
fn a_trial_does_nothing_but_answer() {
    for (definitions, decision, left_out) in [
        ("a, deny: no", "deny", ""),
        ("a, ask: sure?", "ask", ""),
        ("a, on: Stop, deny: no", "allow", ""),
        ("a, once: true, deny: no", "deny", ""),
        ("a, callback: refuse x", "allow", "a"),
        ("a, callback: refuse x\nb, deny: no", "deny", "a"),
        ("a, async: true, command: [touch, /x]", "allow", "a"),
        ("a, guard: { step-limit: { max: 1 } }", "allow", "a"),
        ("a, guard: { approval: { message: sure? } }", "ask", ""),
        ("a, observe: true, deny: no", "allow", ""),
    ] {
        let world = World::new("native", definitions);
        let mut reports = world.engine.reports();
        let hooks = HooksInForce {
            files: world.set.clone(),
            session: None,
        };
        let event = Event::from_json(call()).unwrap();
        // The second one comes out as the first.
        for _ in 0..2 {
            let trying = world
                .engine
                .try_event(hooks.clone(), dialects::native(), &event);
            let trial = block_on(trying);
            let left: Vec<&str> = trial.left_out().map(|hook| &**hook).collect();
            let found = (trial.verdict.decision.as_str(), &*left.join(" "));
            assert_eq!(found, (decision, left_out), "{definitions}");
            assert_eq!(trial.cut_off().count(), 0, "{definitions}");
        }
        assert_eq!(world.calls(), "", "{definitions}");
        assert!(reports.try_recv().is_err(), "{definitions}");
        // What runs once has its run left.
        if definitions.contains("once") {
            assert_eq!(block_on(world.decide(&call())).decision, Decision::Deny);
        }
    }
}

// ------------------------------------------------------------------------------------- selection

#[test]
fn on_then_matcher_then_if_then_when() {
    let event = json!({"event": "PreToolUse", "session": "s", "cwd": "/p", "agent": {"name": "coder"},
        "tool": {"name": "Write", "input": {"file_path": "/p/src/a.ts", "n": 3}}});
    for (fields, runs) in [
        ("on: PreToolUse", true),
        ("on: [PostToolUse, PreToolUse]", true),
        ("on: '*'", true),
        ("on: PostToolUse", false),
        ("on: PreToolUse, matcher: Write", true),
        ("on: PreToolUse, matcher: Writ", false),
        ("on: PreToolUse, matcher: W.*", true),
        ("on: PreToolUse, matcher: rite", false),
        ("on: PreToolUse, matcher: ''", true),
        ("on: PreToolUse, matcher: '*'", true),
        ("on: PreToolUse, matcher: null", true),
        ("on: PreToolUse, if: 'Write(src/**/*.ts)'", true),
        ("on: PreToolUse, if: 'Write(src/*.js)'", false),
        ("on: PreToolUse, if: 'Edit(src/**)'", false),
        ("on: PreToolUse, when: tool.input.n > 2", true),
        ("on: PreToolUse, when: tool.input.n > 3", false),
        ("on: PreToolUse, when: tool.input.missing > 3", true),
        ("on: PreToolUse, agents: [cod*]", true),
        ("on: PreToolUse, agents: other", false),
        ("on: PreToolUse, enabled: false", false),
    ] {
        let verdict = block_on(
            World::new("native", &format!("h, {fields}, callback: '{{}}'")).decide(&event),
        );
        assert_eq!(verdict.outcomes.len(), usize::from(runs), "{fields}");
    }
}
