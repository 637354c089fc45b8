//! `command`: a shell text or a program, with the event on its stdin and in its environment.
//!
//! Event text never becomes shell text: a shell reads it from variables, a program gets it as
//! whole arguments. How the process is run and ended is [`super::process`]'s matter; what its exit
//! means is the dialect's.

use super::call::{Call, HookView};
use super::compile::{Compile, Mistake};
use super::effect::{Effect, Program};
use super::environment::{MAX_VARIABLE, Secrets, Variables, changed, environment};
use super::error::HandlerError;
use super::kind::{Kind, TextKind};
use super::means::{
    Means, Obstacle, from_definition, missing_program, missing_script, program_obstacle,
    shell_obstacle,
};
use super::named_files::{ApprovedCommand, Words, run_by_text, run_by_words};
use super::output_log::OutputLog;
use super::process;
use super::shell_text;
use hookwire_base::event::On;
use hookwire_base::support::looks::look;
use hookwire_base::syntax::source::Layer;
use hookwire_base::syntax::values::{forms, schema_of};
use hookwire_base::template::Template;
use hookwire_base::verdict::{Answer, Decision};
use hookwire_rules::contract::{Exit, Fail, NATIVE};
use hookwire_rules::matching::paths;
use hookwire_rules::matching::tools::MainArgument;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// A text for `sh -c`, a program with its arguments, or either with an environment.
pub struct RawCommand(RawLong);

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
    /// Where stdout goes. Default: a JSON object is a reply; other text is an error at a gate, and
    /// elsewhere it is dropped.
    stdout: Option<Stdout>,
}

/// Where a command's stdout goes. What a tool prints can depend on what it reads, so only `reply`
/// has it read as a reply; what the exit code means stays.
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

forms! { RawCommand, "a shell text, a list (program and arguments) or a map with `run`",
    text(text) => Ok(RawCommand::bare(RawRun::Shell(text))),
    list(argv: Vec<String>) => Ok(RawCommand::bare(RawRun::Program(argv))),
    map(long: RawLong) => Ok(RawCommand(long)),
}

forms! { RawRun, "a shell text or a list (program and arguments)",
    text(text) => Ok(RawRun::Shell(text)),
    list(argv: Vec<String>) => Ok(RawRun::Program(argv)),
}

impl RawCommand {
    fn bare(run: RawRun) -> RawCommand {
        RawCommand(RawLong {
            run,
            env: BTreeMap::new(),
            inherit_env: Vec::new(),
            cwd: None,
            stdout: None,
        })
    }
}

schema_of! { RawRun, "CommandRun", _ => {
    "description": "A text for `sh -c`, or a program with its arguments; `${tool.name}` placeholders in arguments.",
    "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
} }

schema_of! { RawCommand, "Command", generator => {
    "anyOf": [generator.subschema_for::<RawRun>(), generator.subschema_for::<RawLong>()],
} }

#[derive(Debug)]
pub struct Command {
    run: Run,
    /// How errors and dialects name it.
    label: String,
    env: Vec<(String, String)>,
    secrets: Secrets,
    cwd: Option<PathBuf>,
    dir: PathBuf,
    stdout: Option<Stdout>,
    sets_path: bool,
    /// How it runs if a person has approved it.
    approved: Option<ApprovedCommand>,
}

#[derive(Debug)]
enum Run {
    Shell(String),
    Program {
        program: String,
        arguments: Vec<Template>,
    },
}

impl Kind for Command {
    type Raw = RawCommand;

    const TEXTS: &'static [(&'static str, TextKind)] =
        &[("#", TextKind::Template), ("run.#", TextKind::Template)];

    fn compile(RawCommand(raw): RawCommand, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let (run, label) = match raw.run {
            RawRun::Shell(text) if text.trim().is_empty() => return Err(empty()),
            RawRun::Shell(text) => (Run::Shell(text.clone()), text),
            RawRun::Program(argv) => {
                let label = argv.join(" ");
                let mut argv = argv.into_iter();
                let program = argv
                    .next()
                    .filter(|program| !program.is_empty())
                    .ok_or_else(empty)?;
                if Template::new(&program, cx.placeholders)
                    .is_ok_and(|program| program.paths().next().is_some())
                {
                    return Err(Mistake::whole("the program can't be taken from the event")
                        .help("placeholders are for arguments"));
                }
                let program = cx.program_in_place(&program).unwrap_or(program);
                let arguments = argv
                    .map(|argument| Template::new(&argument, cx.placeholders))
                    .collect::<Result<_, _>>();
                let arguments = arguments.map_err(Mistake::whole)?;
                (Run::Program { program, arguments }, label)
            }
        };
        let env = environment(raw.env.clone(), &raw.inherit_env, cx)?;
        let secrets = Secrets::from_definition(&env, &raw.env, &raw.inherit_env);
        let (cwd, dir) = (
            raw.cwd.map(|cwd| cx.place().join(cwd)),
            cx.dir.to_path_buf(),
        );
        let sets_path = raw.env.contains_key("PATH");
        let mut command = Command {
            run,
            label,
            env,
            secrets,
            cwd,
            dir,
            stdout: raw.stdout,
            sets_path,
            approved: None,
        };
        command.approved = cx.approved.map(|approved| {
            command.with_words(|words| {
                ApprovedCommand::new(approved, words, command.cwd.as_deref(), sets_path)
            })
        });
        Ok(command)
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        // The first poll is the connection's reader: other requests must not wait for a process to
        // start.
        tokio::task::yield_now().await;
        let cwd = self.cwd(call).await;
        let approved = self.approved.as_ref();
        let argv = match &self.run {
            Run::Shell(text) => {
                let text =
                    approved.map_or_else(|| text.clone(), |approved| approved.text(text, &cwd));
                vec!["/bin/sh".to_string(), "-c".to_string(), text]
            }
            Run::Program { program, arguments } => {
                let program = self.program(program);
                let program =
                    approved.map_or(Ok(program.clone()), |approved| approved.program(&program));
                let arguments =
                    call.filled(|value| self.arguments(call, arguments, value, &cwd))??;
                std::iter::once(program.map_err(HandlerError)?)
                    .chain(arguments)
                    .collect()
            }
        };
        let env = self.environment(call, &cwd).await?;
        let spec = process::Spec {
            argv,
            env,
            pins: approved.map(|approved| approved.pins(&cwd)),
            cwd: cwd.clone(),
            stdin: call.moment.stdin(call.hook.contract),
            limits: process::OutputLimits::default(),
        };
        let output = if call.is_at_gate() {
            process::run(spec).await
        } else {
            process::run_modestly(spec).await
        };
        let output = match output {
            Ok(output) => output,
            Err(error) if error.is_unstarted() => {
                let program = match &self.run {
                    Run::Shell(text) => text,
                    Run::Program { program, .. } => program,
                };
                return (call.hook.contract.unstarted)(program, error.to_string())
                    .map_err(HandlerError);
            }
            Err(error) => return Err(HandlerError(error.to_string())),
        };
        if self.stdout == Some(Stdout::Log) {
            // The command has ended: what is too much of its output is left out.
            let _ = OutputLog::of_hook(call.hook.name, self.secrets.clone())
                .read(&output.stdout[..])
                .await;
        }
        let mut answer = self.answer(call, &output);
        if let (Ok(answer), process::Exit::Code(code @ 1..)) = (&mut answer, &output.status)
            && answer.decision == Some(Decision::Deny)
            && let Some(why) = self.unstarted(call, *code, cwd).await
        {
            let why = format!("the command didn't start: {why}");
            let reason = answer
                .reason
                .take()
                .filter(|it| !it.is_empty())
                .map(|it| format!("; {it}"));
            answer.reason = Some(format!("{why}{}", reason.unwrap_or_default()));
            answer.remarks.push(why);
        }
        self.note_stderr(call, &output, &answer);
        answer.map_err(HandlerError)
    }

    fn obstacle(&self, _: &HookView<'_>, means: &Means) -> Option<Obstacle> {
        let obstacle = match &self.run {
            Run::Shell(text) => {
                let mistake = shell_text::mistake(text, means.may_start).map(|it| it.at("run"));
                mistake.or_else(|| shell_obstacle(text, &self.env))
            }
            Run::Program { program, .. } => program_obstacle(program, &self.env, &self.dir).map(|obstacle| {
                match from_definition(program, &self.dir, &means.root) {
                    Some(meant) => obstacle.help(format!(
                        "the project has it: write `{meant}`, because the path starts at the definition's directory"
                    )),
                    None => obstacle,
                }
            }),
        };
        let first = match &self.run {
            Run::Shell(text) => text.split_whitespace().next().unwrap_or_default(),
            Run::Program { program, .. } => program,
        };
        let missing = || {
            missing_script(
                &self.label,
                first,
                &self.files(&means.root),
                &[&means.root, &self.dir],
            )
        };
        let cwd = self
            .cwd
            .as_ref()
            .filter(|cwd| !cwd.is_dir() && !cwd.to_string_lossy().contains(['~', '$']));
        let no_cwd = cwd.map(|cwd| {
            Obstacle::new(
                "no-directory",
                format!("there is no directory `{}`", cwd.display()),
            )
        });
        let no_program = || match &self.run {
            Run::Shell(text) => missing_program(text, first, &[&means.root, &self.dir]),
            Run::Program { .. } => None,
        };
        no_cwd
            .map(|it| it.at("cwd"))
            .or(obstacle)
            .or_else(missing)
            .or_else(no_program)
    }

    fn awaited(&self, _: &On) -> Option<&'static str> {
        match self.stdout? {
            Stdout::Context | Stdout::Message => Some("stdout"),
            Stdout::Reply => Some("reply"),
            Stdout::Log => None,
        }
    }

    fn files(&self, root: &Path) -> Vec<PathBuf> {
        let cwd = self.cwd.as_deref();
        self.with_words(|words| match words {
            Words::Text(text) => run_by_text(text, cwd, root),
            Words::List(words) => run_by_words(words.iter().copied(), cwd, root),
        })
    }

    fn programs(&self) -> Vec<String> {
        if self.sets_path {
            Vec::new()
        } else {
            self.with_words(|words| words.programs())
        }
    }

    fn secrets(&self) -> Vec<&Secrets> {
        vec![&self.secrets]
    }

    fn effect(&self) -> Option<Effect> {
        let (text, sets) = (self.label.clone(), changed(&self.env));
        Some(Effect::Command(Program {
            text,
            sets,
            cwd: self.cwd.clone(),
        }))
    }
}

/// What is kept of a command's stderr, in characters.
const MAX_STDERR: usize = 2000;

fn empty() -> Mistake {
    Mistake::whole("the command is empty")
}

impl Command {
    /// Looks at what it says, as far as that is known before an event.
    fn with_words<T>(&self, look: impl FnOnce(Words<'_>) -> T) -> T {
        match &self.run {
            Run::Shell(text) => look(Words::Text(text)),
            Run::Program { program, arguments } => {
                let arguments = arguments.iter().map(|it| it.text(&|_| None));
                let words: Vec<String> = std::iter::once(self.program(program))
                    .chain(arguments)
                    .collect();
                look(Words::List(
                    &words.iter().map(String::as_str).collect::<Vec<_>>(),
                ))
            }
        }
    }

    /// The arguments of a program for one event; `value` is what a placeholder stands for.
    fn arguments(
        &self,
        call: &Call<'_>,
        arguments: &[Template],
        value: &dyn Fn(&str) -> Option<Value>,
        cwd: &Path,
    ) -> Result<Vec<String>, HandlerError> {
        for name in arguments.iter().flat_map(Template::paths) {
            let Some(MainArgument::Unclear) = main_of(call, name) else {
                continue;
            };
            // A list of words says all that there is.
            if !matches!(value(name), Some(Value::Array(_))) {
                return Err(HandlerError(format!("fill in `{name}`: {UNCLEAR}")));
            }
        }
        let value = |name: &str| match main_of(call, name) {
            Some(MainArgument::Is(text)) => Some(text.into()),
            _ => value(name),
        };
        // What the event says is no file of the project's.
        let approved = |argument: &Template| {
            self.approved
                .as_ref()
                .filter(|_| argument.paths().next().is_none())
        };
        let expand = |argument: &Template| match approved(argument) {
            Some(approved) => approved.word(&argument.text(&value), cwd),
            None => argument.text(&value),
        };
        Ok(arguments.iter().map(expand).collect())
    }

    /// What a command says on stderr is in its outcome and in the log, unless it is its reason or
    /// its error already.
    fn note_stderr(
        &self,
        call: &Call<'_>,
        output: &process::Output,
        answer: &Result<Answer, String>,
    ) {
        let stderr = self.secrets.mask(&String::from_utf8_lossy(&output.stderr));
        let stderr = stderr.trim();
        let is_told = match answer {
            Ok(Answer {
                reason,
                additional_context,
                user_messages,
                ..
            }) => reason
                .iter()
                .chain(additional_context)
                .chain(user_messages)
                .any(|said| said.contains(stderr)),
            Err(error) => error.contains(stderr),
        };
        if stderr.is_empty() || is_told {
            return;
        }
        // The cause usually is at the end.
        let start = stderr
            .char_indices()
            .rev()
            .nth(MAX_STDERR)
            .map_or(0, |(at, _)| at);
        let end = &stderr[start..];
        call.transcript.note(json!({ "stderr": end }));
        match output.status {
            process::Exit::Code(0) => {
                tracing::debug!(hook = %call.hook.name, stderr = %end, "The command wrote to stderr.")
            }
            _ => {
                tracing::warn!(hook = %call.hook.name, stderr = %end, "The command failed, and wrote to stderr.")
            }
        }
    }

    /// What the command's end and output mean.
    fn answer(&self, call: &Call<'_>, output: &process::Output) -> Result<Answer, String> {
        let (event, contract) = (call.moment.event(), call.hook.contract);
        let stdout = String::from_utf8_lossy(&output.stdout);
        let code = match output.status {
            process::Exit::Code(code) => Some(code),
            process::Exit::Signal(_) => None,
        };
        if self.stdout == Some(Stdout::Reply) && code == Some(0) {
            let reply = hookwire_base::support::json::parse(stdout.trim());
            return (contract.reply)(
                event,
                reply.map_err(|error| format!("read the reply on stdout: {error}"))?,
            );
        }
        // Where plain text is no reply, an error may quote its beginning, and a secret in part.
        let is_quoted = contract.dialect == NATIVE && !stdout.trim_start().starts_with('{');
        let masked = is_quoted.then(|| self.secrets.mask(&stdout));
        let exit = Exit {
            code,
            command: &self.label,
            stdout: if self.stdout.is_none() {
                masked.as_deref().unwrap_or(&stdout)
            } else {
                ""
            },
            stderr: &self.secrets.mask(&String::from_utf8_lossy(&output.stderr)),
        };
        // Who only reports has nothing to fail, unless it says so: what it found is what the output
        // is for. A shell's own codes begin at 126.
        let may_fail =
            call.is_at_gate() || matches!(call.hook.fail, Some(Fail::Closed | Fail::Ask));
        let reports = contract.dialect == NATIVE && !may_fail && self.tells_somebody();
        if let (true, Some(code @ (1 | 3..=125))) = (reports, code) {
            let said = [stdout.trim(), exit.stderr.trim()]
                .into_iter()
                .filter(|text| !text.is_empty());
            let mut answer = Answer::default();
            call.transcript.note(json!({ "exit": code }));
            self.tell(&said.collect::<Vec<_>>().join("\n"), &mut answer);
            return Ok(answer);
        }
        let mut answer = (contract.exit)(event, &exit)?;
        self.tell(stdout.trim(), &mut answer);
        Ok(answer)
    }

    /// Whether what it writes is for the model or for the person.
    fn tells_somebody(&self) -> bool {
        matches!(self.stdout, Some(Stdout::Context | Stdout::Message))
    }

    /// Hands on what it wrote, if that is for somebody.
    fn tell(&self, said: &str, answer: &mut Answer) {
        let to = match self.stdout {
            Some(Stdout::Context) => &mut answer.additional_context,
            Some(Stdout::Message) => &mut answer.user_messages,
            Some(Stdout::Reply | Stdout::Log) | None => return,
        };
        to.extend(Some(self.secrets.mask(said)).filter(|text| !text.is_empty()));
    }

    /// What wasn't there for a command that ended as if it had said no: interpreters end with the
    /// code of a "no" too when they can't find their script.
    async fn unstarted(&self, call: &Call<'_>, code: i32, cwd: PathBuf) -> Option<String> {
        let is_shell = matches!(self.run, Run::Shell(_));
        // What was trusted was there and is in the copy. Of a text with several commands, nobody
        // knows which one has ended it.
        let is_one = !is_shell || !self.label.contains([';', '&', '|', '$', '`', '(', '\n']);
        if self.approved.is_some() || !is_one {
            return None;
        }
        let (label, files, env) = (
            self.label.clone(),
            self.files(&call.services.root),
            self.env.clone(),
        );
        let missing = move || {
            let first = label.split_whitespace().next().unwrap_or_default();
            let script = missing_script(&label, first, &files, &[&cwd]).map(|it| it.message);
            // A shell's own codes for a program that it can't start.
            if script.is_some() || !is_shell || !(126..=127).contains(&code) {
                return script;
            }
            let is_gone =
                first.contains('/') && !first.contains(['$', '~']) && !cwd.join(first).exists();
            let program = || shell_obstacle(&label, &env).map(|it| it.message);
            if is_gone {
                Some(format!("there is no file `{first}`"))
            } else {
                program()
            }
        };
        look(missing).await.flatten()
    }

    /// A program with a slash starts at the definition's file, a bare name is looked up on PATH.
    fn program(&self, program: &str) -> String {
        if program.contains('/') {
            self.dir.join(program).to_string_lossy().into_owned()
        } else {
            program.to_string()
        }
    }

    async fn cwd(&self, call: &Call<'_>) -> PathBuf {
        let (base, root) = (&**call.moment.facts.base(), &*call.services.root);
        match &self.cwd {
            Some(cwd) => cwd.clone(),
            None if base != root && is_directory(base.to_path_buf()).await => base.to_path_buf(),
            None => root.to_path_buf(),
        }
    }

    /// The definition's variables and the event's, of which the definition's win.
    ///
    /// # Errors
    /// The command's text, or a script that it runs, uses one that the event has and that couldn't
    /// be set: it would judge an empty text.
    async fn environment(
        &self,
        call: &Call<'_>,
        cwd: &Path,
    ) -> Result<Vec<(String, String)>, HandlerError> {
        let event = call
            .moment
            .environment
            .get_or_init(|| Variables::of_event(&call.moment.facts));
        let spoken = (call.hook.contract.environment)(call.moment.event(), cwd);
        let mut env = self.env.clone();
        let own: HashSet<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        let fits = |value: &str| value.len() <= MAX_VARIABLE && !value.contains('\0');
        let (spoken, unspoken): (Vec<_>, Vec<_>) =
            spoken.into_iter().partition(|(_, value)| fits(value));
        let missing = event
            .missing()
            .chain(unspoken.iter().map(|(name, _)| name.as_str()));
        let missing: Vec<&str> = missing.filter(|name| !own.contains(name)).collect();
        let mut texts = vec![self.label.clone()];
        if !missing.is_empty() {
            texts.extend(scripts(self.files(&call.services.root), cwd.to_path_buf()).await);
        }
        if let Some(name) = missing
            .into_iter()
            .find(|name| texts.iter().any(|text| names(text, name)))
        {
            return Err(HandlerError(format!("set `{name}`: {UNCLEAR}")));
        }
        for name in words(&self.label).filter(|name| !own.contains(name)) {
            match main_of(call, name) {
                Some(MainArgument::Is(text)) if fits(&text) => {
                    env.push((name.to_string(), text.into_owned()))
                }
                Some(_) => return Err(HandlerError(format!("set `{name}`: {UNCLEAR}"))),
                None => {}
            }
        }
        let own: HashSet<&str> = own
            .into_iter()
            .chain(words(&self.label).filter(|name| main_of(call, name).is_some()))
            .collect();
        let both = event.values().chain(
            spoken
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        let both = both.filter(|(name, _)| !own.contains(name));
        env.extend(both.map(|(name, value)| (name.to_string(), value.to_string())));
        env.push(("HOOKWIRE_HOOK".into(), call.hook.name.to_string()));
        if let Some(socket) = call.services.socket.get() {
            env.push((
                "HOOKWIRE_SOCKET".into(),
                socket.to_string_lossy().into_owned(),
            ));
        }
        let session = call.moment.event().session();
        if !session.is_empty() && !session.contains('\0') {
            env.push(("HOOKWIRE_SESSION".into(), session.to_string()));
        }
        let others = call
            .hook
            .contract
            .project_variables
            .iter()
            .filter(|name| !own.contains(**name));
        for name in others.chain([&"HOOKWIRE_PROJECT_DIR"]) {
            env.push((
                name.to_string(),
                call.services.root.to_string_lossy().into_owned(),
            ));
        }
        Ok(env)
    }
}

/// Whether a text has this name of a variable in it, as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

/// The words of a text that may be names of variables.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

const UNCLEAR: &str = "no variable can be made of what the event has there";

/// What a variable or a placeholder of a tool's input stands for, if that may be the call's main
/// argument.
fn main_of<'c>(call: &'c Call<'_>, name: &str) -> Option<MainArgument<'c>> {
    let member = name
        .strip_prefix("tool_input_")
        .or(name.strip_prefix("tool.input."))?;
    let facts = &call.moment.facts;
    facts
        .row(Layer::Session)
        .main_by_name(member, facts.event.at("/tool/input")?)
}

/// The texts of scripts that a command runs, as far as they are at hand.
async fn scripts(files: Vec<PathBuf>, cwd: PathBuf) -> Vec<String> {
    const MOST: usize = 16;
    let read = move || {
        let text = |file: &PathBuf| paths::script(&file.to_string_lossy(), &cwd);
        files
            .iter()
            .take(MOST)
            .filter_map(|file| text(file).known().ok().flatten())
            .collect()
    };
    look(read).await.unwrap_or_default()
}

async fn is_directory(path: PathBuf) -> bool {
    look(move || path.is_dir()).await.unwrap_or(false)
}
