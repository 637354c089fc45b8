//! Who runs when, on which value, and what comes of it: the sentences of "Running" one by one, on
//! the real engine with a paused clock. Handlers are fixed verdicts and callbacks whose name is
//! their script, so that nothing here waits for anything but time that is made to pass.

use crate::client::{Answers, Client as HostClient, Reply};
use crate::contract::{Composition, Contract, Fail};
use crate::definitions::compile::compile;
use crate::definitions::origin::Origin;
use crate::dialects;
use crate::engine::run::RunLimits;
use crate::engine::{Engine, Honours, HooksInForce, MAX_SEND_BACKS, Question, decide};
use crate::event::{Event, Phase};
use crate::handlers::{Moment, Services};
use crate::hook::{Doubt, Hook};
use crate::hook_set::{HookSet, Selected};
use crate::support::file::read_named;
use crate::syntax::diagnostic::{LineIndex, Severity};
use crate::syntax::formats::{Format, parse};
use crate::syntax::source::Layer;
use crate::verdict::{Answer, Decision, Status, Verdict};
use serde_json::{Value, json};
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

// ---------------------------------------------------------------------------------- the notation

/// Hooks, one a line: `name, field: value, ...`. `on: '*'` unless it says otherwise. A line
/// `-- project` begins another layer, `defaults: ...` says something for the hooks below. A name `veto/a` puts the hook into that test vocabulary.
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
        let on = if rest.contains("on: ") { "" } else { "on: '*', " };
        let yaml = format!("defaults: {{ {defaults} }}\nhooks: [{{ name: {name}, {on}{rest} }}]");
        let root = parse(&yaml, Format::Yaml).unwrap();
        let origin = Origin { client: Some(client), ..Origin::new("hooks.yaml", Path::new("/"), layer, &read_named) };
        let compiled = compile(&root, &origin, &LineIndex::new(&yaml));
        let errors: Vec<_> = compiled.problems.iter().filter(|it| it.severity == Severity::Error).collect();
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
            reply: |_, value| serde_json::from_value::<Answer>(value).map_err(|error| format!("read: {error}")),
            exit: |_, _| Err("run: no commands here".into()),
            ..dialects::CONTRACT
        }
    }
    const fn list(dialect: &'static str, composition: Composition) -> Contract {
        Contract { has_one_list: true, ..contract(dialect, composition) }
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
    CONTRACTS.iter().find(|it| it.dialect == word).unwrap_or_else(|| &dialects::by_name(word).unwrap().contract)
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
            .find_map(|pointer| Some(event.pointer(pointer)?.as_str().unwrap_or("null").to_string()))
            .unwrap_or_default();
        self.calls.lock().unwrap().push(format!("{}({command})", call["hook"].as_str().unwrap()));
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
                ("sleep", millis) => tokio::time::sleep(Duration::from_millis(millis.parse().unwrap())).await,
                // Time passes while nobody else can do anything.
                ("compute", millis) => {
                    let advance = tokio::time::advance(Duration::from_millis(millis.parse().unwrap()));
                    let _ = futures_util::FutureExt::now_or_never(advance);
                }
                ("fail", _) => return Err("boom".into()),
                ("panic", _) => panic!("a test's panic"),
                ("add", text) => {
                    let mut input = event["tool"]["input"].clone();
                    input["command"] = format!("{command}{text}").into();
                    reply["subject"] = input;
                }
                // A guard; and a guard that can't cope with it.
                ("refuse", text) if command.contains(text) => return Ok(json!({"decision": "deny", "reason": "no"})),
                ("choke", text) if command.contains(text) => return Err("boom".into()),
                ("see", pointer) => reply["userMessages"] = json!([event.pointer(pointer).map(Value::to_string)]),
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

const ALL: Honours = Honours { ask: true, defer: true, rewrite: true };

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
        self.client.calls.lock().unwrap().clear();
        let question = Question {
            event: Event::from_json(event.clone()).unwrap().into(),
            read_at: Instant::now(),
            hooks: HooksInForce { files: self.set.clone(), session: None },
            contract: self.contract,
            honours: self.honours,
            client: None,
            early_deadline: self.early_deadline.clone(),
        };
        decide(&self.engine, question).await
    }

    fn calls(&self) -> String {
        self.client.calls.lock().unwrap().join(" ")
    }
}

/// Runs with a clock that jumps as soon as everybody waits.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(future)
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
        Some(Value::String(command)) if value.as_object().is_some_and(|it| it.len() == 1) => command.clone(),
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
    add(" retry ", verdict.retry.as_ref().map(|it| serde_json::to_value(it).unwrap()["action"].to_string()));
    add(" error ", list(&verdict.errors));
    text
}

fn outcomes(verdict: &Verdict) -> String {
    let one = |it: &crate::verdict::Outcome| {
        let status = serde_json::to_value(it.status).unwrap();
        let again = if it.rejudged { " again" } else { "" };
        format!("{} {}{again}", it.hook, status.as_str().unwrap())
    };
    verdict.outcomes.iter().map(one).collect::<Vec<_>>().join(", ")
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
        "PreToolUse" => json!({"event": event, "session": "s", "tool": {"name": "Bash", "input": {"command": "x"}}}),
        _ => json!({"event": event, "session": "s"}),
    }
}

/// Judges one event under a client's composition: the verdict, and after ` | ` the outcomes or,
/// where the expectation begins with `ran `, who was called back on what.
#[track_caller]
fn check_as(client: &str, definitions: &str, event: &Value, expected: &str) {
    let world = World::new(client, definitions);
    compare(&block_on(world.decide(event)), &world, definitions, expected);
}

#[track_caller]
fn check(definitions: &str, event: &Value, expected: &str) {
    check_as("native", definitions, event, expected);
}

#[track_caller]
fn compare(verdict: &Verdict, world: &World, definitions: &str, expected: &str) {
    let (_, rest) = expected.split_once(" | ").unwrap_or((expected, ""));
    let found = match rest {
        "" => tell(verdict),
        rest if rest.starts_with("ran ") => format!("{} | ran {}", tell(verdict), world.calls()),
        _ => format!("{} | {}", tell(verdict), outcomes(verdict)),
    };
    assert_eq!(found, expected, "{definitions}\n{verdict:#?}");
}

// ------------------------------------------------------------------------------------ the onion

#[test]
fn priority_ascending_ties_by_position_reversed_after() {
    let definitions = "a, priority: 200, callback: '{}'
                       b, callback: '{}'
                       c, priority: -5, callback: '{}'
                       d, callback: '{}'
                       e, priority: 100, callback: '{}'";
    check(definitions, &call(), "allow | ran c(x) b(x) d(x) e(x) a(x)");
    check(definitions, &at("PostToolUse"), "allow | ran a(x) e(x) d(x) b(x) c(x)");
}

#[test]
fn layers_run_outermost_first_whatever_the_priority() {
    let definitions = "-- session
                       s, priority: -9, callback: '{}'
                       -- project
                       p, priority: 1, callback: '{}'
                       -- hooks
                       h, callback: '{}'
                       -- user
                       u, priority: 300, callback: '{}'
                       -- managed
                       m, priority: 999, callback: '{}'";
    check(definitions, &call(), "allow | ran m(x) u(x) h(x) p(x) s(x)");
    check(definitions, &at("PostToolUse"), "allow | ran s(x) p(x) h(x) u(x) m(x)");
    // Equal names in two layers both run.
    check("-- managed\n g, callback: '{}'\n-- project\n g, callback: '{}'", &call(), "allow | ran g(x) g(x)");
}

#[test]
fn only_a_deny_a_replacement_and_a_stop_end_the_chain() {
    for (definitions, expected) in [
        ("a, deny: no\n b, callback: '{}'", "deny by a: no | a blocking, b skipped"),
        ("a, ask: sure?\n b, allow: fine\n c, callback: '{}'", "ask by a: sure? | a blocking, b success, c success"),
        ("a, callback: '{\"decision\":\"defer\"}'\n b, deny: no", "deny by b: no | a blocking, b blocking"),
        (
            "a, callback: '{\"stop\":\"enough\"}'\n b, callback: '{}'",
            "deny by a: enough stop enough | a blocking, b skipped",
        ),
        ("a, callback: fail\n b, callback: '{}'", "allow | a non_blocking_error, b success"),
    ] {
        check(definitions, &call(), expected);
    }
}

#[test]
fn a_stop_at_a_gate_is_a_deny_and_lets_an_agent_rest() {
    let stop = "callback: '{\"stop\":\"s\"}'";
    for (client, hook, event, expected) in [
        ("native", "a", "PreToolUse", "deny by a: s stop s | a blocking, b skipped"),
        ("native", "a", "SessionStart", "deny by a: s stop s | a blocking, b skipped"),
        ("native", "parallel/a", "PreToolUse", "deny by a: s stop s | a blocking, b skipped"),
        ("parallel", "a", "PreToolUse", "deny by a: s stop s | a blocking, b skipped"),
        // What a system's own hook says to its own client means what its documents say.
        ("parallel", "parallel/a", "PreToolUse", "allow stop s | a success, b success"),
        ("native", "a", "PostToolUse", "allow stop s | b success, a success"),
        ("native", "a", "Stop", "allow stop s | a success, b skipped"),
        ("native", "a", "SubagentStop", "allow stop s | a success, b skipped"),
        ("native", "a", "Notification", "allow stop s | a success, b skipped"),
    ] {
        check_as(client, &format!("{hook}, {stop}\n b, callback: '{{}}'"), &at(event), expected);
    }
    let both = "callback: '{\"stop\":\"\",\"decision\":\"DECISION\",\"reason\":\"r\"}'";
    for (decision, event, expected) in [
        ("allow", "PreToolUse", "deny by a: a hook ends the run stop "),
        ("ask", "PreToolUse", "deny by a: a hook ends the run stop "),
        ("deny", "PreToolUse", "deny by a: r stop "),
        ("deny", "Stop", "allow stop "),
        ("ask", "Stop", "allow stop "),
    ] {
        check(&format!("a, {}", both.replace("DECISION", decision)), &at(event), expected);
    }
    // Of several the one that ends the run is heard.
    check(
        &format!("a, parallel: true, callback: refuse bye\n b, parallel: true, {stop}"),
        &at("Stop"),
        "allow stop s | a blocking, b success",
    );
}

/// What an inner layer says never keeps an outer one from judging, and from judging what goes out.
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
        (json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "x"}}}), r#"{"command":"new"}"#),
        (json!({"event": "PostToolUse", "tool": {"name": "Bash", "output": "x"}}), "\"new\""),
        (json!({"event": "Stop", "lastMessage": "x"}), "\"new\""),
        (json!({"event": "Notification"}), ""),
        (json!({"event": "PostCompact"}), ""),
    ];
    for composition in COMPOSITIONS.into_iter().chain(["native"]) {
        for (word, parallel) in [(composition, ""), ("native", ""), ("native", "parallel: true, ")] {
            for ((event, new), says) in events.iter().flat_map(|event| inner.iter().map(move |says| (event, says))) {
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

/// The same between the layers of a list, in chains of other vocabularies.
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
        (json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "x"}}}), r#"{"command":"new"}"#),
        (json!({"event": "PostToolUse", "tool": {"name": "Bash", "output": "x"}}), "\"new\""),
        (json!({"event": "Stop", "lastMessage": "x"}), "\"new\""),
    ];
    let layers = [("hooks", "project"), ("hooks", "session"), ("project", "session")];
    for (client, list) in ["native", "onion", "pipeline"].into_iter().flat_map(|it| LISTS.map(|list| (it, list))) {
        for ((outer, inner_layer), (event, new)) in layers.iter().flat_map(|it| events.iter().map(move |at| (it, at))) {
            for (says, makes) in &inner {
                // First, before and behind the outer guards wherever the list itself would have it.
                for (word, priority) in ["native", list, client].into_iter().flat_map(|it| [(it, 1), (it, 200)]) {
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
                    // In a chain of layers the outer ones judge what inner ones made; within a list its order counts.
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
    let ran = "allow | ran early(x) first(x) file(x) last(x) late(x) project(x)";
    check(definitions, &call(), ran);
    for client in ["onion", "pipeline", "veto", "parallel"] {
        let others = definitions.replace("native/", &format!("{client}/"));
        let others = others.replace("early,", &format!("{client}/early,")).replace("late,", &format!("{client}/late,"));
        let world = World::new(client, &others);
        block_on(world.decide(&call()));
        let ran = world.calls();
        assert!(ran.contains("first(x) file(x) last(x)"), "{client}: {ran}");
    }
    // The machine's and the user's hooks are no part of it.
    check(
        "-- user\n pipeline-list/user, priority: 9, callback: '{}'\n-- hooks\n pipeline-list/a, priority: 2, callback: '{}'\n-- session\n pipeline-list/b, priority: 1, callback: '{}'",
        &call(),
        "allow | ran user(x) b(x) a(x)",
    );
    // Who decides ends the chain for its own layer and for inner ones.
    check(
        "-- hooks\n pipeline-list/a, priority: 2, callback: '{}'\n n, priority: 200, callback: '{}'\n-- project\n native/p, callback: '{}'\n-- session\n pipeline-list/b, priority: 1, deny: no\n native/s, callback: '{}'",
        &call(),
        "deny by b: no | b blocking, a success, n success, p success, s skipped",
    );
    // After the act, between the hooks of its innermost and those of its outermost layer.
    let after = |between: &str| {
        format!(
            "-- hooks\n onion-list/a, priority: 1, callback: '{{}}'\n n, priority: 200, callback: '{{}}'\n{between}\
             -- session\n onion-list/b, priority: 2, callback: '{{}}'\n onion-list/c, priority: 0, callback: '{{}}'\n native/s, callback: '{{}}'"
        )
    };
    check(&after(""), &at("PostToolUse"), "allow | ran s(x) b(x) a(x) c(x) n(x)");
    // Something stands between its layers, and judges what the inner one made: the layers come one by one.
    let parted = "allow | ran s(x) b(x) c(x) p(x) n(x) a(x)";
    check(&after("-- project\n native/p, callback: '{}'\n"), &at("PostToolUse"), parted);
}

#[test]
fn each_hook_sees_the_value_so_far() {
    check(
        "a, callback: add y\n b, callback: add z\n c, callback: '{}'",
        &call(),
        "allow => xyz | ran a(x) b(xy) c(xyz) a(xyz)",
    );
    // Handing back what one got is no rewrite.
    check("a, callback: 'add '\n b, callback: '{}'", &call(), "allow | ran a(x) b(x)");
    check(
        "a, callback: add y\n b, callback: '{\"subject\":{\"command\":\"x\"}}'",
        &call(),
        "allow | a success, b success, a success again",
    );
}

#[test]
fn a_replacement_is_the_value_and_still_judged() {
    check(
        "a, callback: '{\"subject\":{\"command\":\"y\"},\"replace\":true}'\n b, callback: '{}'",
        &call(),
        "allow => y replaced | a success, b skipped, b success again",
    );
    check(
        "a, callback: '{\"subject\":{\"command\":\"y\"},\"replace\":true}'\n b, callback: refuse y",
        &call(),
        "deny by b: no | a success, b skipped, b blocking again",
    );
    // Nor may it get past a guard by replacing the value with itself, or with nothing.
    for reply in ["{\"subject\":{\"command\":\"x\"},\"replace\":true}", "{\"replace\":true}"] {
        check(&format!("a, callback: '{reply}'\n b, callback: refuse x"), &call(), "deny by b: no | ran a(x) b(x)");
        check(&format!("a, callback: '{reply}'\n b, callback: refuse y"), &call(), "allow => x replaced");
    }
}

#[test]
fn no_opinion_is_not_an_approval() {
    check("a, callback: '{}'", &call(), "allow | a success");
    check("a, allow: fine", &call(), "allow by a: fine | a success");
    check("a, on: PostToolUse, deny: no", &call(), "allow");
}

/// Deny > defer > ask > allow whatever the order, in every composition.
#[test]
fn the_strongest_decision_wins() {
    let lines = [
        ("allow", "allow: r"),
        ("ask", "ask: r"),
        ("defer", "callback: '{\"decision\":\"defer\",\"reason\":\"r\"}'"),
        ("deny", "deny: r"),
    ];
    for composition in COMPOSITIONS {
        for first in 0..4 {
            for second in 0..4 {
                for third in 0..4 {
                    let picks = [first, second, third];
                    let definitions: Vec<_> =
                        picks.iter().map(|pick| format!("{composition}/h{pick}, {}", lines[*pick].1)).collect();
                    let strongest = lines[*picks.iter().max().unwrap()].0;
                    let world = World::new(composition, &definitions.join("\n"));
                    let verdict = block_on(world.decide(&call()));
                    assert_eq!(verdict.decision.as_str(), strongest, "{composition} {picks:?}");
                    assert_eq!(verdict.decided_by.unwrap().as_ref(), format!("h{}", picks.iter().max().unwrap()));
                }
            }
        }
    }
}

// --------------------------------------------------------------------- the four other compositions

#[test]
fn pipeline() {
    let check = |definitions: &str, expected: &str| check_as("pipeline", definitions, &call(), expected);
    // Order of registration, unless people say another; a deny stops.
    check("pipeline/a, callback: '{}'\n pipeline/b, callback: '{}'", "allow | ran a(x) b(x)");
    check("pipeline/a, priority: 9, callback: '{}'\n pipeline/b, priority: 1, callback: '{}'", "allow | ran b(x) a(x)");
    check("pipeline/a, deny: no\n pipeline/b, callback: '{}'", "deny by a: no | a blocking, b skipped");
    // Each sees the arguments so far, the last rewrite wins and a later allow doesn't erase it.
    check(
        "pipeline/a, callback: add y\n pipeline/b, callback: add z\n pipeline/c, allow: fine",
        "allow by c: fine => xyz | a success, b success, c success",
    );
    check(
        "pipeline/a, callback: '{\"stop\":\"s\"}'\n pipeline/b, callback: '{}'",
        "allow stop s | a success, b success",
    );
}

#[test]
fn veto() {
    let check = |definitions: &str, expected: &str| check_as("veto", definitions, &call(), expected);
    check(
        "veto/a, priority: 9, deny: one\n veto/b, priority: 1, callback: '{}'\n veto/c, deny: two",
        "deny by a: one; two | a blocking, b success, c blocking",
    );
    check("veto/a, callback: add y\n veto/b, callback: add z", "allow => xyz | ran a(x) b(xy)");
}

#[test]
fn middleware() {
    let check = |definitions: &str, expected: &str| check_as("middleware", definitions, &call(), expected);
    check(
        "middleware/a, callback: '{}'\n middleware/b, priority: 5, callback: '{}'\n middleware/c, callback: '{}'\n middleware/d, priority: -1, callback: '{}'",
        "allow | ran b(x) a(x) c(x) d(x)",
    );
    check(
        "middleware/a, deny: no\n middleware/b, allow: fine\n middleware/c, callback: '{}'",
        "deny by a: no | a blocking, b success, c success",
    );
    // The last word stands.
    check(
        "middleware/a, deny: one\n middleware/b, allow: fine\n middleware/c, deny: two",
        "deny by c: two | a blocking, b success, c blocking",
    );
    check(
        "middleware/a, callback: '{\"context\":{\"metadata\":{\"n\":1}}}'\n middleware/b, callback: see /metadata/n",
        "allow say 1 context {\"metadata\":{\"n\":1}}",
    );
}

#[test]
fn parallel() {
    let check = |definitions: &str, expected: &str| check_as("parallel", definitions, &call(), expected);
    // All see the same snapshot, and all run.
    check(
        "parallel/a, deny: no\n parallel/b, callback: add y\n parallel/c, callback: '{}'",
        "deny by a: no | a blocking, b success, c success",
    );
    // Who allowed saw another value than the one that goes out.
    check("parallel/a, allow: fine\n parallel/b, callback: add y", "allow => xy");
    // What only one changed is taken from each; the order of the list decides a conflict, not the clock.
    let set = |member: &str, value: &str| format!("{{\"subject\":{{\"command\":\"x\",\"{member}\":\"{value}\"}}}}");
    check(
        &format!("parallel/a, callback: '{}'\n parallel/b, callback: '{}'", set("m", "1"), set("n", "2")),
        "allow => {\"command\":\"x\",\"m\":\"1\",\"n\":\"2\"}",
    );
    for (first, second) in [(1, 9), (9, 1)] {
        check(
            &format!(
                "parallel/a, callback: 'sleep {first} then {}'\n parallel/b, callback: 'sleep {second} then {}'",
                set("m", "1"),
                set("m", "2")
            ),
            "allow => {\"command\":\"x\",\"m\":\"2\"} error hooks `a` and `b` both rewrote `m`; the value of `b` stands, by their order",
        );
    }
    // A subject that is no object: who hands back what it got doesn't undo another's rewrite.
    check_as(
        "parallel",
        "parallel/a, callback: '{\"subject\":\"new\"}'\n parallel/b, callback: '{\"subject\":\"out\"}'",
        &at("PostToolUse"),
        "allow => \"new\"",
    );
}

#[test]
fn equal_hooks_run_once_where_the_dialect_says_so() {
    let twice = |dialect: &str| format!("{dialect}/a, callback: '{{}}'\n {dialect}/b, callback: '{{}}'");
    check_as("claude-code", &twice("claude-code"), &call(), "allow | a success");
    check_as("parallel", &twice("parallel"), &call(), "allow | a success, b success");
    // As a block of another client too.
    check(&twice("claude-code"), &call(), "allow | a success");
    // A copy that differs in what its failure means, or in being waited for, is not equal.
    for differs in ["fail: open", "async: true", "timeout: 3s"] {
        let definitions =
            format!("claude-code/a, {differs}, callback: fail\n claude-code/b, fail: closed, callback: fail");
        let world = World::new("claude-code", &definitions);
        let verdict = block_on(world.decide(&call()));
        assert_eq!(verdict.decided_by.as_deref(), Some("b"), "{differs}: {verdict:?}");
    }
    // Nor is one that couldn't tell whether it applies.
    check_as(
        "claude-code",
        "claude-code/a, when: tool.input.nothing == 1, deny: no\n claude-code/b, deny: no",
        &call(),
        "deny by b: no | a blocking, b blocking",
    );
}

#[test]
fn hooks_of_a_foreign_dialect_enter_as_one_of_default_priority() {
    let definitions = "early, priority: 50, callback: '{}'
                       late, priority: 150, callback: '{}'
                       parallel/p, priority: 900, callback: '{}'
                       parallel/q, priority: 1, callback: '{}'";
    check(definitions, &call(), "allow | ran early(x) p(x) q(x) late(x)");
    check(definitions, &at("PostToolUse"), "allow | ran late(x) p(x) q(x) early(x)");
    // Within the block its own rule holds, around it the client's.
    check(
        "parallel/p, deny: no\n parallel/q, callback: '{}'\n late, priority: 150, callback: '{}'",
        &call(),
        "deny by p: no | p blocking, q success, late skipped",
    );
    // Among equals its place is that of its first hook; inside, its own order counts.
    check(
        "n, callback: '{}'\n middleware/p, callback: '{}'\n middleware/q, priority: 9, callback: '{}'\n m, callback: '{}'",
        &call(),
        "allow | ran n(x) q(x) p(x) m(x)",
    );
    // A block for each layer.
    check(
        "parallel/p, callback: '{}'\n n, callback: '{}'\n-- project\n parallel/q, priority: 1, callback: '{}'",
        &call(),
        "allow | ran p(x) n(x) q(x)",
    );
    // Native hooks are a block to others: a chain beside the client's own.
    check_as(
        "parallel",
        "parallel/p, callback: '{}'\n a, callback: add y\n b, callback: '{}'\n c, deny: no\n d, callback: '{}'",
        &call(),
        "deny by c: no | p success, a success, b success, c blocking, d skipped",
    );
}

#[test]
fn neighbours_that_may_run_side_by_side_cost_the_slowest() {
    for (parallel, millis) in [(true, 300), (false, 700)] {
        let definitions = format!(
            "a, parallel: {parallel}, callback: sleep 300\n b, parallel: {parallel}, callback: sleep 100\n c, parallel: {parallel}, callback: sleep 300"
        );
        block_on(async {
            let started = Instant::now();
            let world = World::new("native", &definitions);
            world.decide(&call()).await;
            assert_eq!(started.elapsed().as_millis(), millis);
        });
    }
    // Only neighbours: who is between them waits and is waited for.
    check(
        "a, parallel: true, callback: 'sleep 9 then {\"subject\":{\"command\":\"y\"}}'\n b, callback: '{}'\n c, parallel: true, callback: '{}'",
        &call(),
        "allow => y | ran a(x) b(y) c(y)",
    );
}

// -------------------------------------------------------------------------------- judged again

#[test]
fn a_rewrite_is_judged_again() {
    for (definitions, expected) in [
        // A guard before the rewriter sees the final value.
        ("g, callback: refuse y\n r, callback: add y", "deny by g: no | g success, r success, g blocking again"),
        ("g, callback: refuse z\n r, callback: add y", "allow => xy | g success, r success, g success again"),
        // A guard that the rewritten value calls for.
        (
            "g, if: Bash(rm*), deny: no\n r, callback: '{\"subject\":{\"command\":\"rm x\"}}'",
            "deny by g: no | r success, g blocking again",
        ),
        (
            "r, callback: '{\"subject\":{\"command\":\"rm x\"}}'\n g, if: Bash(rm*), ask: sure?",
            "ask by g: sure? => rm x | r success, g blocking again",
        ),
        // A guard behind the rewriter has judged it; the rewriter isn't asked about its own value.
        ("r, callback: add y\n g, callback: '{}'", "allow => xy | r success, g success"),
        // A failure denies there, whatever the direction.
        (
            "g, fail: open, callback: choke y\n r, callback: add y",
            "deny by g: hook `g` failed to call back: boom, judging a rewritten value | g success, r success, g blocking again",
        ),
        // A further rewrite denies, unless the hook had rewritten before.
        ("a, callback: add y\n b, callback: add z", "allow => xyz | a success, b success, a success again"),
        (
            "g, if: Bash(xy*), callback: add z\n r, callback: add y",
            "deny by g: hook `g` would rewrite again what another hook rewrote | r success, g blocking again",
        ),
        // A patch of what no hook can veto is no further rewrite.
        (
            "g, callback: '{\"context\":{\"metadata\":{\"n\":1}}}'\n r, callback: add y",
            "allow => xy context {\"metadata\":{\"n\":1}} | g success, r success, g success again",
        ),
        // Not again: once, async.
        (
            "g, once: true, callback: refuse y\n d, async: true, callback: '{}'\n r, callback: add y",
            "allow => xy | g success, d success, r success",
        ),
        // An ask and a stop count there as well.
        (
            "g, if: Bash(xy*), callback: '{\"stop\":\"s\"}'\n r, callback: add y",
            "deny by g: s stop s | r success, g blocking again",
        ),
        ("g, if: Bash(xy*), allow: fine\n r, callback: add y", "allow => xy | r success, g success again"),
        // An allow is for the value that it saw or made, or for the one that its hook covers or judges again.
        ("g, if: Bash(x), allow: fine\n r, callback: add y", "allow => xy | g success, r success"),
        ("g, if: Bash(x), callback: '{\"decision\":\"allow\"}'\n r, callback: add y", "allow => xy"),
        ("-- user\n g, if: Bash(x), allow: fine\n -- project\n r, callback: add y", "allow => xy"),
        ("-- user\n g, if: Bash(x), allow: fine\n -- project\n parallel/r, callback: add y", "allow => xy"),
        ("g, parallel: true, if: Bash(x), allow: fine\n r, parallel: true, callback: add y", "allow => xy"),
        ("g, if: Bash(x*), allow: fine\n r, callback: add y", "allow by g: fine => xy"),
        ("g, if: Bash(x), allow: g\n r, callback: 'add y then {\"decision\":\"allow\"}'", "allow by r => xy"),
        ("r, callback: 'add y then {\"decision\":\"allow\"}'\n s, callback: add z", "allow => xyz"),
        ("g, once: true, callback: '{\"decision\":\"allow\"}'\n r, callback: add y", "allow => xy"),
        // Side by side nobody has judged the other's part, nor the whole.
        (
            "g, parallel: true, callback: '{\"context\":{\"metadata\":{\"n\":1}}}'\n r, parallel: true, callback: add y",
            "allow => xy context {\"metadata\":{\"n\":1}} | g success, r success, g success again",
        ),
        // A foreign block that rewrote is judged, its members among them.
        (
            "g, callback: refuse y\n parallel/p, priority: 1, callback: add y\n parallel/q, callback: refuse y",
            "deny by g: no | g success, p success, q success, g blocking again",
        ),
        (
            "parallel/p, callback: add y\n parallel/q, callback: refuse y",
            "deny by q: no | p success, q success, q blocking again",
        ),
        (
            "pipeline/p, callback: add y\n pipeline/q, callback: add z",
            "allow => xyz | p success, q success, p success again",
        ),
        // A declared change that could be made over and over is ignored there; one that was undone denies.
        (
            "a, on: PreToolUse, rewrite: { patch: { command: '${tool.input.command}y' } }\n b, callback: add z",
            "allow => xyz | a success, b success, a success again",
        ),
        (
            "a, on: PreToolUse, rewrite: { patch: { command: y } }\n b, callback: add z",
            "deny by a: hook `a` would rewrite again what another hook rewrote | a success, b success, a blocking again",
        ),
        (
            "a, on: PreToolUse, rewrite: { replace: { member: tool.input.command, pattern: x, with: yx } }\n b, callback: add x",
            "allow => yxx | a success, b success, a success again",
        ),
        (
            "a, on: PreToolUse, rewrite: { replace: { member: tool.input.command, pattern: x, with: y } }\n b, callback: add x",
            "deny by a: hook `a` would rewrite again what another hook rewrote | a success, b success, a blocking again",
        ),
    ] {
        check(definitions, &call(), expected);
    }
}

#[test]
fn another_tool_is_another_value() {
    check(
        "g, matcher: Danger, deny: no\n r, callback: '{\"context\":{\"tool\":{\"name\":\"Danger\"}}}'",
        &call(),
        "deny by g: no context {\"tool\":{\"name\":\"Danger\"}} | r success, g blocking again",
    );
}

#[test]
fn after_events_and_other_vocabularies_keep_their_rule() {
    let rewritten = "{\"subject\":\"new\"}";
    check(
        &format!("a, callback: '{rewritten}'\n b, callback: '{{}}'"),
        &at("PostToolUse"),
        "allow => \"new\" | b success, a success",
    );
    // Among their own; not where hooks of another one have a part in it.
    for (definitions, expected) in [
        ("pipeline/g, callback: refuse y\n pipeline/r, callback: add y", "allow => xy | g success, r success"),
        (
            "pipeline/g, callback: refuse y\n veto/r, callback: add y",
            "deny by g: no | g success, r success, g blocking again",
        ),
        (
            "g, callback: refuse y\n pipeline/r, callback: add y",
            "deny by g: no | g success, r success, g blocking again",
        ),
        (
            "veto/g, callback: refuse y\n pipeline/r, callback: add y",
            "deny by g: no | g success, r success, g blocking again",
        ),
        (
            "pipeline/g, callback: refuse z\n g2, callback: refuse y\n pipeline/r, callback: add y",
            "deny by g2: no | g success, g2 success, r success, g2 blocking again",
        ),
    ] {
        check_as("pipeline", definitions, &call(), expected);
    }
}

// ---------------------------------------------------------------------- failures and opaqueness

#[test]
fn a_failure_takes_its_direction_wherever_it_happens() {
    let replies = ["'{\"decison\":\"deny\"}'", "'{\"decision\":\"maybe\"}'", "'{\"context\":[]}'"];
    for script in ["fail", "hang", "panic", "sleep 60000"].into_iter().chain(replies) {
        let status = if script == "hang" || script.starts_with("sleep") { "cancelled" } else { "" };
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
        ("PreToolUse", json!({"name": "Write", "input": {"content": text}}), false),
        ("PostToolUse", json!({"name": "Read", "output": [text, "y"]}), true),
    ] {
        let world = World::new("native", "h, on: [PreToolUse, PostToolUse], fail: open, guard: redact-secrets");
        let verdict = block_on(world.decide(&json!({"event": event, "tool": tool})));
        let reason = verdict.reason.unwrap_or_default();
        assert!(reason.ends_with("bytes of text can't be looked through for secrets, only 16777216"), "{reason}");
        assert_eq!((verdict.decision.as_str(), verdict.replaced), ("deny", withheld));
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
        assert_eq!((verdict.subject, verdict.replaced), (Some(Value::Null), true), "{composition}");
        // Nobody later has seen it.
        assert!(composition == "parallel" || !world.calls().contains("c(out)"), "{composition} {}", world.calls());
    }
    // Where there is nothing to withhold, a deny is all.
    check("a, fail: closed, callback: fail", &at("ModelCallError"), "deny by a: hook `a` failed to call back: boom");
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
        ("callback: '{\"decision\":\"deny\",\"reason\":\"no\"}'", "deny by h: no | h blocking"),
        ("callback: '{}'", "allow | h success"),
        // What may not be meant is not changed.
        ("rewrite: { patch: { command: y } }", "allow | h success"),
        ("fail: open, rewrite: { patch: { command: y } }", "allow | h non_blocking_error"),
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
        ("callback: '{\"decision\":\"deny\",\"reason\":\"no\"}'", "deny by h: no"),
    ] {
        let told = format!("can't tell whether `Bash(git push*)` holds: {why}");
        let told = if expected.ends_with(' ') { told.as_str() } else { "" };
        check(&format!("h, if: [Bash(git push*)], {hook}"), &bash("$X push"), &format!("{expected}{told}"));
    }
}

#[test]
fn an_allow_takes_that_the_whole_call_is_what_the_hook_is_for() {
    let bash = |command: &str| json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
    let says = "callback: '{\"decision\":\"allow\",\"reason\":\"fine\"}'";
    let partial = "h success";
    for (conditions, command, expected) in [
        ("if: Bash(git *), ", "git log && git status", "allow by h: fine | h success"),
        ("if: [Bash(git *), Bash(ls*)], ", "git log && ls", "allow by h: fine | h success"),
        ("if: Bash(git *), ", "git log && rm x", &format!("allow | {partial}")),
        ("if: Bash(git *), unless: Bash(git push*), ", "git log; git push", &format!("allow | {partial}")),
        ("if: Bash(git *), ", "git log; $X", &format!("allow | {partial}")),
        ("", "git log; $X", "allow by h: fine | h success"),
    ] {
        check(&format!("h, {conditions}{says}"), &bash(command), expected);
        let fixed = expected.replace(&format!(" | {partial}"), "").replace(" | h success", "");
        check(&format!("h, {conditions}allow: fine"), &bash(command), &fixed);
    }
}

/// Whatever the handler is: it isn't asked about code that nobody shows it.
#[test]
fn code_that_is_not_shown_is_decided_by_the_hook() {
    let why = "can't tell whether `Bash(git *)` holds: it runs a script, at `npm test`";
    for (definitions, expected) in [
        ("h, deny: no", None),
        ("defaults: delegates: deny\nh, delegates: ignore, deny: no", None),
        ("defaults: delegates: deny\nh, callback: fail", Some(Decision::Deny)),
        ("h, delegates: ask, fail: closed, deny: no", Some(Decision::Ask)),
        ("h, delegates: deny, allow: fine", Some(Decision::Deny)),
    ] {
        let world = World::new("native", definitions);
        let hook = world.set.hooks[0].clone();
        assert_eq!(hook.delegates, expected, "{definitions}");
        let Some(expected) = expected else { continue };
        let selected = Selected { doubt: Some(Doubt { why: why.into(), delegates: hook.delegates }), hook };
        let hooks = HooksInForce { files: world.set.clone(), session: None };
        let early_deadline = &world.early_deadline;
        let (client, contract) = (None, world.contract);
        let limits = RunLimits {
            deadline: None,
            early_deadline,
            client,
            hooks: &hooks,
            contract,
            depth: 0,
            redacting: Vec::new(),
        };
        let moment = Arc::new(Moment::new(Arc::new(Event::from_json(call()).unwrap()), Path::new("/")));
        let run = block_on(super::run::run(&world.engine, &limits, &selected, &moment));
        let told = (run.answer.decision, run.answer.reason);
        assert_eq!(told, (Some(expected), Some(format!("hook `h` {why}"))), "{definitions}");
    }
}

#[test]
fn defaults_say_what_a_failure_at_a_gate_means() {
    for (hook, phase, expected) in [
        ("callback: fail", "PreToolUse", "deny by h: hook `h` failed to call back: boom | h blocking"),
        ("callback: fail", "PostToolUse", "allow | h non_blocking_error"),
        (
            "fail: closed, callback: fail",
            "PostToolUse",
            "deny by h: hook `h` failed to call back: boom => null replaced | h blocking",
        ),
        ("fail: open, callback: fail", "PreToolUse", "allow | h non_blocking_error"),
    ] {
        check(&format!("defaults: fail: closed\nh, {hook}"), &at(phase), expected);
    }
    let kinds =
        [("redact-secrets", true), ("pattern-guard: { redact: [x] }", true), ("pattern-guard: { deny: [x] }", false)];
    for (guard, is_closed) in kinds {
        let guard = if guard.contains(':') { format!("{{ {guard} }}") } else { guard.to_string() };
        for (fail, expected) in [("", is_closed), ("fail: open, ", false), ("fail: closed, ", true)] {
            let world =
                World::new("native", &format!("defaults: fail: closed\nh, on: PostToolUse, {fail}guard: {guard}"));
            let hook = &world.set.hooks[0];
            assert_eq!(hook.fail_at(Phase::After) == Fail::Closed, expected, "{fail}{guard}");
        }
    }
}

#[test]
fn a_reply_that_cannot_be_meant_is_a_failure() {
    for (event, reply, error) in [
        ("SessionStart", "{\"subject\":1}", "failed to rewrite: SessionStart has no subject"),
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
        ("PreToolUse", "{\"patch\":[]}", "failed to rewrite: `patch` is not an object"),
        ("SessionStart", "{\"patch\":{}}", "failed to rewrite: SessionStart has no subject"),
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
        ("a, callback: '{\"patch\":{\"m\":{\"a\":null}}}'", json!({"command": "x", "n": 1, "m": {"b": 2}}), None),
        ("a, callback: '{\"subject\":{\"command\":\"y\"}}'", json!({"command": "y"}), None),
        (
            "a, callback: '{\"subject\":{\"command\":\"x\",\"n\":null,\"m\":1}}'",
            json!({"command": "x", "n": null, "m": 1}),
            None,
        ),
    ] {
        let verdict = block_on(World::new("native", hooks).decide(&call));
        assert_eq!((verdict.subject, verdict.patch), (Some(subject), patch), "{hooks}");
    }
    check("a, callback: '{\"patch\":{\"n\":1}}'", &call, "allow");
}

// ------------------------------------------------------------------- beside the decision

#[test]
fn messages_and_context_travel_beside_the_decision() {
    check(
        "a, callback: '{\"userMessages\":[\"u1\"],\"additionalContext\":[\"c1\"]}'\n b, callback: '{\"userMessages\":[\"u2\"],\"decision\":\"deny\",\"reason\":\"no\"}'",
        &call(),
        "deny by b: no say u1, u2 tell c1",
    );
    // Later hooks see a patch; the verdict carries the whole of it.
    check(
        "a, callback: '{\"context\":{\"metadata\":{\"n\":1,\"m\":1}}}'\n b, callback: '{\"context\":{\"metadata\":{\"m\":null},\"systemPrompt\":\"p\"}}'\n c, callback: see /metadata",
        &call(),
        "allow say {\"n\":1} context {\"metadata\":{\"m\":null,\"n\":1},\"systemPrompt\":\"p\"}",
    );
    // They go through the guards that redact the value: those of the same layer and of outer ones.
    let said = "a, callback: '{\"userMessages\":[\"password=hunter22\"],\"additionalContext\":[\"password=hunter22\"],\"context\":{\"metadata\":{\"t\":\"password=hunter22\"}},\"stop\":\"password=hunter22\"}'";
    let guard = "r, guard: redact-secrets";
    let told =
        |word: &str| format!("allow stop {word} say {word} tell {word} context {{\"metadata\":{{\"t\":\"{word}\"}}}}");
    for (outer, inner, word) in [(guard, said, "password=[redacted]"), (said, guard, "password=hunter22")] {
        check(&format!("-- user\n{outer}\n-- project\n{inner}"), &at("PostToolUse"), &told(word));
    }
    // In an onion the outermost hook has the last word on a retry; elsewhere the first word counts.
    check(
        "a, callback: '{\"retry\":{\"action\":\"retry\"}}'\n b, callback: '{\"retry\":{\"action\":\"fail\"}}'\n c, callback: '{}'",
        &at("ModelCallError"),
        "allow retry \"retry\"",
    );
}

#[test]
fn notes_are_only_told() {
    for event in ["Notification", "SessionEnd", "PostCompact", "PermissionDenied"] {
        // What closes something runs from within.
        let order = if ["SessionEnd", "PostCompact"].contains(&event) {
            "b success, a success"
        } else {
            "a success, b success"
        };
        check("a, deny: no\n b, callback: '{\"decision\":\"ask\"}'", &at(event), &format!("allow | {order}"));
        let mut world = World::new("native", "a, callback: '{\"context\":{\"metadata\":{\"n\":1}}}'");
        world.honours = Honours::default();
        world.honours.rewrite = false;
        assert_eq!(block_on(world.decide(&at(event))).decision.as_str(), "allow");
    }
}

#[test]
fn what_a_client_cannot_honour_denies() {
    let nothing = Honours { ask: false, defer: false, rewrite: false };
    for (definitions, honours, expected) in [
        ("a, ask: sure?", ALL, "ask by a: sure?"),
        ("a, ask: sure?", nothing, "deny by a: sure? (this needs a person's approval, and the client can't ask)"),
        ("a, callback: '{\"decision\":\"defer\"}'", ALL, "defer by a"),
        (
            "a, callback: '{\"decision\":\"defer\"}'",
            nothing,
            "deny by a: this would be put off, and the client can't defer",
        ),
        ("a, callback: add y", Honours::default(), "allow => xy"),
        ("a, callback: add y", nothing, "deny: a hook rewrote this, and the client can't take a rewrite"),
        (
            "a, callback: '{\"context\":{\"systemPrompt\":\"p\"}}'",
            nothing,
            "deny: a hook rewrote this, and the client can't take a rewrite context {\"systemPrompt\":\"p\"}",
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
        compare(&block_on(world.decide(&call())), &world, definitions, expected);
    }
    // Without `initialize`: allow, deny, rewrite.
    assert_eq!(Honours::default(), Honours { ask: false, defer: false, rewrite: true });
    // Other vocabularies have no word for a context patch, but hooks may keep their notes.
    check_as(
        "claude-code",
        "a, callback: '{\"context\":{\"systemPrompt\":\"p\"}}'",
        &call(),
        "deny: a hook rewrote this, and the client can't take a rewrite context {\"systemPrompt\":\"p\"}",
    );
    check_as(
        "claude-code",
        "a, callback: '{\"context\":{\"metadata\":{\"n\":1}}}'",
        &call(),
        "allow context {\"metadata\":{\"n\":1}}",
    );
}

#[test]
fn a_denied_gate_has_no_new_value() {
    check("a, callback: add y\n b, deny: no", &call(), "deny by b: no | a success, b blocking");
    check(
        "a, callback: '{\"subject\":{\"command\":\"y\"},\"decision\":\"deny\",\"reason\":\"no\",\"replace\":true}'",
        &call(),
        "deny by a: no",
    );
}

#[test]
fn broken_definitions_are_in_every_verdict() {
    let mut world = World::new("native", "a, callback: '{}'");
    world.set =
        Arc::new(HookSet::new(world.set.hooks.clone(), 7, "h".into(), vec!["guard.yaml:3:5: bad regex".into()]));
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
                assert_eq!(verdict.decision.as_str(), if rests { "allow" } else { "deny" }, "{event} {n}");
                assert_eq!(verdict.errors.len(), usize::from(rests));
            }
        });
    }
    assert_eq!(MAX_SEND_BACKS, 8);
}

#[test]
fn only_send_backs_in_a_row_count_and_only_of_one_agent() {
    let world = World::new("native", "a, when: 'lastMessage == \"bye\"', deny: not done");
    let stop = |session: &str, message: &str, agent: &str| json!({"event": "SubagentStop", "session": session, "lastMessage": message, "agent": {"name": "x", "id": agent}});
    block_on(async {
        for between in [stop("s", "done", "1"), json!({"event": "UserPromptSubmit", "session": "s", "prompt": "go on"})]
        {
            for _ in 0..MAX_SEND_BACKS {
                assert_eq!(world.decide(&stop("s", "bye", "1")).await.decision.as_str(), "deny");
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
        assert_eq!(world.decide(&stop("s", "bye", "1")).await.decision.as_str(), "deny");
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
            (json!({"event": "SessionEnd", "session": "s"}), "b success, a skipped, a skipped"),
            (of("s"), "a success, a success, b success"),
        ] {
            assert_eq!(outcomes(&world.decide(&event).await), expected, "{event}");
        }
    });
}

// ------------------------------------------------------------------------------------------ time

#[test]
fn the_default_timeout_is_thirty_seconds() {
    for (field, seconds) in [("", 30), ("timeout: 2s, ", 2), ("timeout: 0.5, ", 0)] {
        block_on(async {
            let started = Instant::now();
            let verdict =
                World::new("native", &format!("h, {field}fail: closed, callback: hang")).decide(&call()).await;
            assert_eq!(started.elapsed().as_secs(), seconds);
            assert_eq!((verdict.decision.as_str(), verdict.outcomes[0].status), ("deny", Status::Cancelled));
        });
    }
}

#[test]
fn the_deadline_bounds_the_whole_event() {
    for (deadline, at_most) in [(1000, 950), (200, 180), (10_000, 9500)] {
        for (lines, expected) in [
            // Nobody after a hung hook is even started; all take their direction.
            (
                vec!["a, callback: hang", "b, fail: ask, callback: hang", "c, callback: '{}'"],
                "ask by b: hook `b` failed to start before the event's deadline | ran a(x)",
            ),
            (
                vec!["a, fail: open, callback: hang", "c, fail: closed, callback: '{}'"],
                "deny by c: hook `c` failed to start before the event's deadline | ran a(x)",
            ),
            (vec!["a, callback: sleep 100", "b, callback: hang"], "allow | a success, b cancelled"),
            // A fixed verdict takes no time.
            (vec!["a, callback: hang", "c, deny: no"], "deny by c: no | a cancelled, c blocking"),
            (
                vec![
                    "a, parallel: true, callback: hang",
                    "b, parallel: true, callback: hang",
                    "c, parallel: true, callback: hang",
                ],
                "allow | a cancelled, b cancelled, c cancelled",
            ),
            (vec!["g, fail: open, callback: hang", "r, callback: add y"], "allow | g cancelled, r cancelled"),
        ] {
            let definitions = lines.join("\n");
            let mut event = call();
            event["deadlineMs"] = deadline.into();
            block_on(async {
                let world = World::new("native", &definitions);
                let started = Instant::now();
                let verdict = world.decide(&event).await;
                compare(&verdict, &world, &definitions, expected);
                assert_eq!(started.elapsed().as_millis(), at_most, "{definitions}");
            });
        }
    }
    // A shorter timeout of the hook's own stays.
    block_on(async {
        let started = Instant::now();
        let mut event = call();
        event["deadlineMs"] = 1000.into();
        World::new("native", "a, timeout: 300ms, callback: hang").decide(&event).await;
        assert_eq!(started.elapsed().as_millis(), 300);
    });
    // What lets the event pass after its time hasn't judged it.
    for (definition, expected) in [
        (
            "h, timeout: 1s, fail: closed, callback: compute 1200",
            "deny by h: hook `h` failed to finish within its timeout (1s 200ms) | h cancelled",
        ),
        (
            "h, timeout: 1s, fail: closed, callback: 'compute 1200 then {\"decision\":\"deny\",\"reason\":\"no\"}'",
            "deny by h: no | h blocking",
        ),
        ("h, timeout: 1s, fail: open, callback: compute 1200", "allow | h success"),
        ("h, timeout: 1s, fail: closed, callback: compute 1000", "allow | h success"),
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

/// C1 and C5: ten thousand hung hooks, side by side and one after the other.
#[test]
fn ten_thousand_hung_hooks() {
    for parallel in [true, false] {
        let definitions: String =
            (0..10_000).map(|n| format!("h{n}, parallel: {parallel}, fail: ask, callback: hang\n")).collect();
        let mut event = call();
        event["deadlineMs"] = 1000.into();
        block_on(async {
            let world = World::new("native", &definitions);
            let started = Instant::now();
            let verdict = world.decide(&event).await;
            assert_eq!(started.elapsed().as_millis(), 950);
            assert_eq!((verdict.decision.as_str(), verdict.outcomes.len()), ("ask", 10_000));
        });
    }
}

#[test]
fn an_early_deadline_takes_the_failure_direction_and_a_dropped_question_its_hooks() {
    block_on(async {
        let world = World::new("native", "a, fail: closed, callback: hang\n b, callback: hang");
        world.early_deadline.cancel();
        assert_eq!(world.decide(&call()).await.decision.as_str(), "deny");
        let world = World::new("native", "a, fail: closed, callback: hang");
        let early_deadline = world.early_deadline.clone();
        let event = call();
        let (verdict, ()) = tokio::join!(world.decide(&event), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            early_deadline.cancel();
        });
        assert_eq!(tell(&verdict), "deny by a: hook `a` failed to finish before the input ended");
        let world = World::new("native", "a, callback: hang");
        let cancelled = tokio::time::timeout(Duration::from_secs(1), world.decide(&call())).await;
        assert!(cancelled.is_err());
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
        let started = Instant::now();
        let verdict = world.decide(&call()).await;
        assert_eq!((tell(&verdict), started.elapsed()), ("allow".into(), Duration::ZERO));
        assert_eq!(outcomes(&verdict), "a success, b success, c success, d success, e success");
        world.engine.settle().await;
        assert_eq!(started.elapsed().as_secs(), 5);
        let mut told = Vec::new();
        while let Ok(report) = reports.try_recv() {
            assert!(report.detached && report.outcome.decision.is_none(), "{report:?}");
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
                "c Cancelled failed to finish within its timeout",
                "d Success ",
                "e NonBlockingError failed to run: the handler panicked; this is a bug in hookwire",
            ]
        );
    });
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
        let verdict = block_on(World::new("native", &format!("h, {fields}, callback: '{{}}'")).decide(&event));
        assert_eq!(verdict.outcomes.len(), usize::from(runs), "{fields}");
    }
}
