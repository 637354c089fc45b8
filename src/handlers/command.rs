//! `command`: a shell text or a program, with the event on its stdin and in its environment.
//!
//! Event text never becomes shell text: a shell reads it from variables, a program gets it as
//! whole arguments. How the process is run and ended is [`super::process`]'s matter; what its exit
//! means is the dialect's.

use super::call::{Call, Moment, tool_path};
use super::compile::{Compile, Mistake};
use super::effect::{Effect, Program};
use super::environment::{Secrets, changed, environment};
use super::error::HandlerError;
use super::kind::{Kind, TextKind};
use super::output_log::OutputLog;
use super::process;
use crate::contract::Exit;
use crate::template::Template;
use crate::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use tokio::sync::Semaphore;

/// A text for `sh -c`, a program with its arguments, or either with an environment.
pub(crate) struct RawCommand(RawLong);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawLong {
    /// A text for `sh -c`, or a program with its arguments.
    run: RawRun,
    /// Variables to set.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Variables to take over from the host's environment, by name.
    #[serde(default)]
    inherit_env: Vec<String>,
    /// The working directory; a relative one starts at the definition's file. Default: the
    /// event's `cwd`, else the project root.
    cwd: Option<String>,
    /// Where stdout goes. Default: a JSON object is a reply; other text is an error at a gate, and elsewhere
    /// it is dropped.
    stdout: Option<Stdout>,
}

/// Where a command's stdout goes. What a tool prints can depend on what it reads, so only `reply` has it
/// read as a reply; what the exit code means stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CommandStdout")]
enum Stdout {
    /// To the model, as `additionalContext`.
    Context,
    /// To the person, as one of the `userMessages`.
    Message,
    /// It is a JSON reply; anything else is an error, and so is nothing at all.
    Reply,
    /// To the host's log.
    Log,
}

enum RawRun {
    Shell(String),
    Program(Vec<String>),
}

struct CommandVisitor;

impl<'de> Visitor<'de> for CommandVisitor {
    type Value = RawCommand;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a shell text, a list (program and arguments) or a map with `run`")
    }

    fn visit_str<E>(self, text: &str) -> Result<RawCommand, E> {
        Ok(RawCommand::bare(RawRun::Shell(text.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<RawCommand, A::Error> {
        RunVisitor.visit_seq(seq).map(RawCommand::bare)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawCommand, A::Error> {
        RawLong::deserialize(MapAccessDeserializer::new(map)).map(RawCommand)
    }
}

struct RunVisitor;

impl<'de> Visitor<'de> for RunVisitor {
    type Value = RawRun;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a shell text or a list (program and arguments)")
    }

    fn visit_str<E>(self, text: &str) -> Result<RawRun, E> {
        Ok(RawRun::Shell(text.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawRun, A::Error> {
        let mut argv = Vec::new();
        while let Some(argument) = seq.next_element()? {
            argv.push(argument);
        }
        Ok(RawRun::Program(argv))
    }
}

impl RawCommand {
    fn bare(run: RawRun) -> RawCommand {
        RawCommand(RawLong { run, env: BTreeMap::new(), inherit_env: Vec::new(), cwd: None, stdout: None })
    }
}

impl<'de> Deserialize<'de> for RawCommand {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CommandVisitor)
    }
}

impl<'de> Deserialize<'de> for RawRun {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RunVisitor)
    }
}

impl JsonSchema for RawRun {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommandRun".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A text for `sh -c`, or a program with its arguments; `${path}` placeholders in arguments.",
            "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
        })
    }
}

impl JsonSchema for RawCommand {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Command".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (run, long) = (generator.subschema_for::<RawRun>(), generator.subschema_for::<RawLong>());
        schemars::json_schema!({ "anyOf": [run, long] })
    }
}

#[derive(Debug)]
pub(crate) struct Command {
    run: Run,
    /// How errors and dialects name it.
    label: String,
    env: Vec<(String, String)>,
    secrets: Secrets,
    cwd: Option<PathBuf>,
    dir: PathBuf,
    stdout: Option<Stdout>,
}

#[derive(Debug)]
enum Run {
    Shell(String),
    Program { program: String, arguments: Vec<Template> },
}

impl Kind for Command {
    type Raw = RawCommand;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("#", TextKind::Template), ("run.#", TextKind::Template)];

    fn compile(RawCommand(raw): RawCommand, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let (run, label) = match raw.run {
            RawRun::Shell(text) if text.trim().is_empty() => return Err(empty()),
            RawRun::Shell(text) => (Run::Shell(text.clone()), text),
            RawRun::Program(argv) => {
                let label = argv.join(" ");
                let mut argv = argv.into_iter();
                let program = argv.next().filter(|program| !program.is_empty()).ok_or_else(empty)?;
                if Template::new(&program, cx.placeholders).is_ok_and(|program| program.paths().next().is_some()) {
                    return Err(Mistake::whole("the program can't be taken from the event")
                        .help("placeholders are for arguments"));
                }
                let arguments =
                    argv.map(|argument| Template::new(&argument, cx.placeholders)).collect::<Result<_, _>>();
                let arguments = arguments.map_err(Mistake::whole)?;
                (Run::Program { program, arguments }, label)
            }
        };
        let env = environment(raw.env.clone(), &raw.inherit_env)?;
        let secrets = Secrets::from_definition(&env, &raw.env, &raw.inherit_env);
        let (cwd, dir) = (raw.cwd.map(|cwd| cx.dir.join(cwd)), cx.dir.to_path_buf());
        Ok(Command { run, label, env, secrets, cwd, dir, stdout: raw.stdout })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        // The first poll is the connection's reader: other requests must not wait for a process to start.
        tokio::task::yield_now().await;
        let argv = match &self.run {
            Run::Shell(text) => vec!["/bin/sh".to_string(), "-c".to_string(), text.clone()],
            Run::Program { program, arguments } => {
                let expand = |argument: &Template| argument.text(&|name| call.placeholder(name));
                std::iter::once(self.program(program)).chain(arguments.iter().map(expand)).collect()
            }
        };
        let cwd = self.cwd(call).await;
        let spec = process::Spec {
            argv,
            env: self.environment(call, &cwd),
            cwd,
            stdin: call.moment.stdin(call.hook.contract),
            limits: process::OutputLimits::default(),
        };
        let output = if call.is_at_gate() { process::run(spec).await } else { process::run_modestly(spec).await };
        let output = match output {
            Ok(output) => output,
            Err(error) if error.is_unstarted() => {
                let program = match &self.run {
                    Run::Shell(text) => text,
                    Run::Program { program, .. } => program,
                };
                return (call.hook.contract.unstarted)(program, error.to_string()).map_err(HandlerError);
            }
            Err(error) => return Err(HandlerError(error.to_string())),
        };
        if self.stdout == Some(Stdout::Log) {
            OutputLog::new(call.hook.name, self.secrets.clone()).read(&output.stdout[..]).await;
        }
        self.answer(call, &output).map_err(|error| HandlerError(self.secrets.mask(&error)))
    }

    fn effect(&self) -> Option<Effect> {
        let (text, sets) = (self.label.clone(), changed(&self.env));
        Some(Effect::Command(Program { text, sets, cwd: self.cwd.clone() }))
    }
}

fn empty() -> Mistake {
    Mistake::whole("the command is empty")
}

impl Command {
    /// What the command's end and output mean.
    fn answer(&self, call: &Call<'_>, output: &process::Output) -> Result<Answer, String> {
        let (event, contract) = (call.moment.event(), call.hook.contract);
        let stdout = String::from_utf8_lossy(&output.stdout);
        let code = match output.status {
            process::Exit::Code(code) => Some(code),
            process::Exit::Signal(_) => None,
        };
        if self.stdout == Some(Stdout::Reply) && code == Some(0) {
            let reply = crate::support::json::parse(stdout.trim());
            return (contract.reply)(event, reply.map_err(|error| format!("read the reply on stdout: {error}"))?);
        }
        let exit = Exit {
            code,
            command: &self.label,
            stdout: if self.stdout.is_none() { &stdout } else { "" },
            stderr: &self.secrets.mask(&String::from_utf8_lossy(&output.stderr)),
        };
        let mut answer = (contract.exit)(event, &exit)?;
        let to = match self.stdout {
            Some(Stdout::Context) => &mut answer.additional_context,
            Some(Stdout::Message) => &mut answer.user_messages,
            Some(Stdout::Reply | Stdout::Log) | None => return Ok(answer),
        };
        to.extend(Some(self.secrets.mask(stdout.trim())).filter(|text| !text.is_empty()));
        Ok(answer)
    }

    /// A program with a slash starts at the definition's file, a bare name is looked up on PATH.
    fn program(&self, program: &str) -> String {
        if program.contains('/') { self.dir.join(program).to_string_lossy().into_owned() } else { program.to_string() }
    }

    async fn cwd(&self, call: &Call<'_>) -> PathBuf {
        let (base, root) = (call.moment.facts.base(), &*call.services.root);
        match &self.cwd {
            Some(cwd) => cwd.clone(),
            None if base != root && is_directory(base.to_path_buf()).await => base.to_path_buf(),
            None => root.to_path_buf(),
        }
    }

    /// The definition's variables and the event's, of which the definition's win.
    fn environment(&self, call: &Call<'_>, cwd: &Path) -> Vec<(String, String)> {
        let event = call.moment.environment.get_or_init(|| event_variables(call.moment));
        let spoken = (call.hook.contract.environment)(call.moment.event(), cwd);
        let mut env = self.env.clone();
        let own: HashSet<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        let fits = |(_, value): &&(String, String)| value.len() <= MAX_VARIABLE && !value.contains('\0');
        let both = event.iter().chain(spoken.iter().filter(fits));
        env.extend(both.filter(|(name, _)| !own.contains(name.as_str())).cloned());
        env.push(("HOOKWIRE_HOOK".into(), call.hook.name.to_string()));
        if let Some(socket) = call.services.socket.get() {
            env.push(("HOOKWIRE_SOCKET".into(), socket.to_string_lossy().into_owned()));
        }
        let session = call.moment.event().session();
        if !session.is_empty() && !session.contains('\0') {
            env.push(("HOOKWIRE_SESSION".into(), session.to_string()));
        }
        env.push(("HOOKWIRE_PROJECT_DIR".into(), call.services.root.to_string_lossy().into_owned()));
        env
    }
}

/// Apart, because a file system may hang; then few threads hang with it.
async fn is_directory(path: PathBuf) -> bool {
    static LOOKS: Semaphore = Semaphore::const_new(16);
    let Ok(permit) = LOOKS.acquire().await else { return false };
    let look = move || {
        let _permit = permit;
        path.is_dir()
    };
    tokio::task::spawn_blocking(look).await.unwrap_or(false)
}

/// The largest value that becomes a variable, in bytes.
const MAX_VARIABLE: usize = 32 * 1024;
/// All of an event's variables together; the kernel's own limit is some 2 MiB with the arguments.
const MAX_VARIABLES: usize = 256 * 1024;
/// The list of names that were left out.
const MAX_OMITTED: usize = 4 * 1024;

/// Members of an event that become variables. Others would let an event's author choose names
/// that mean something to a program.
const MEMBERS: [&str; 19] = [
    "event",
    "session",
    "run",
    "parentRun",
    "step",
    "agent",
    "tool",
    "model",
    "prompt",
    "result",
    "error",
    "lastMessage",
    "stopActive",
    "compaction",
    "summary",
    "usage",
    "data",
    "cwd",
    "metadata",
];

/// The event's scalars as variables: names joined by `_`.
fn event_variables(moment: &Moment) -> Vec<(String, String)> {
    let event = moment.event();
    let mut out = Variables::default();
    if let Some(path) = tool_path(event) {
        out.put("tool_input_path".into(), path.to_string());
    }
    for member in MEMBERS {
        if let Some(value) = event.data.get(member) {
            out.add(member.to_string(), value);
        }
    }
    out.put("HOOKWIRE_EVENT_ID".into(), event.id.to_string());
    let mut variables: Vec<_> = out.values.into_iter().collect();
    if !out.omitted.is_empty() {
        let mut names = out.omitted.into_iter().collect::<Vec<_>>().join(" ");
        if names.len() > MAX_OMITTED {
            names.truncate(
                names.char_indices().map(|(at, _)| at).take_while(|at| *at <= MAX_OMITTED).last().unwrap_or(0),
            );
            names.push_str(" ...");
        }
        variables.push(("HOOKWIRE_OMITTED".into(), names));
    }
    variables
}

#[derive(Default)]
struct Variables {
    values: BTreeMap<String, String>,
    omitted: BTreeSet<String>,
    size: usize,
}

impl Variables {
    /// Recursion is bounded by the depth limit of the parser that read the event.
    fn add(&mut self, name: String, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(value) => self.put(name, value.to_string()),
            Value::Number(value) => self.put(name, value.to_string()),
            Value::String(value) => self.put(name, value.clone()),
            Value::Array(_) => {
                self.omitted.insert(name);
            }
            Value::Object(members) => {
                let named = |key: &str| key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                // The first to have a name keeps it: a key as it stands, not one that only reads like it.
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(key, value)| (!named(key), value.is_object()));
                for (key, value) in members {
                    let key: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
                    // Set already, whatever the argument is called.
                    if name == "tool_input"
                        && key == "path"
                        && self.values.get("tool_input_path").map(String::as_str) == value.as_str()
                    {
                        continue;
                    }
                    self.add(format!("{name}_{key}"), value);
                }
            }
        }
    }

    fn put(&mut self, name: String, value: String) {
        let fits = value.len() <= MAX_VARIABLE && self.size + name.len() + value.len() <= MAX_VARIABLES;
        let is_taken = self.values.contains_key(&name) || self.omitted.contains(&name);
        if !fits || value.contains('\0') || is_taken {
            self.omitted.insert(name);
            return;
        }
        self.size += name.len() + value.len();
        self.values.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn event_members_become_variables() {
        let event = Event::from_json(json!({
            "event": "PreToolUse", "session": "s", "LD_PRELOAD": "x",
            "tool": {"name": "Write", "input": {"file_path": "/a", "n": 3, "-i": true, "_i": 1, "list": [1], "a-b": "decoy", "a": {"b": "decoy"}, "a_b": "real", "l_t": [1], "l-t": "decoy", "nul": "a\u{0}b", "big": "x".repeat(40_000)}},
        })).unwrap();
        let variables = event_variables(&Moment::new(Arc::new(event), Path::new("/")));
        let get = |name: &str| variables.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
        for (name, expected) in [
            ("event", Some("PreToolUse")),
            ("tool_input_path", Some("/a")),
            ("tool_input_file_path", Some("/a")),
            ("tool_input_n", Some("3")),
            ("tool_input__i", Some("1")),
            ("tool_input_a_b", Some("real")),
            // What doesn't fit leaves its place empty.
            ("tool_input_l_t", None),
            ("tool_input_big", None),
            ("LD_PRELOAD", None),
            (
                "HOOKWIRE_OMITTED",
                Some("tool_input__i tool_input_a_b tool_input_big tool_input_l_t tool_input_list tool_input_nul"),
            ),
        ] {
            assert_eq!(get(name), expected, "{name}");
        }
    }
}
