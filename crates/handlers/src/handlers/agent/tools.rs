//! The tools of a sub-agent: what each is to the model, what it is to the hooks, and how it is
//! carried out.

use super::files::{Gone, MAX_OUTPUT, Project};
use super::shell::AllowList;
use crate::handlers::call::{Call, HookView};
use crate::handlers::compile::{Compile, Mistake};
use crate::handlers::environment::{Secrets, environment};
use crate::handlers::means::{Means, Obstacle};
use crate::handlers::process;
use crate::services::models::{self, ToolCall};
use hookwire_base::event::Event;
use hookwire_base::verdict::Decision;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(feature = "mcp")]
use crate::handlers::kept::Lease;
#[cfg(feature = "mcp")]
use crate::handlers::mcp::{self, server_obstacle};
#[cfg(feature = "mcp")]
use crate::handlers::servers::{self, Server, ServerDefinition};

/// How long one command may run.
const COMMAND_TIME: Duration = Duration::from_secs(120);

/// A tool that a definition allows.
#[derive(Debug)]
pub(super) enum Tool {
    ReadFile,
    ListDir,
    Grep,
    Glob,
    RunCommand {
        allowed: AllowList,
        env: Vec<(String, String)>,
    },
    #[cfg(feature = "mcp")]
    Mcp {
        server: Arc<ServerDefinition>,
        name: String,
    },
}

impl Tool {
    /// The files that it is started from.
    pub(super) fn files(&self, root: &Path) -> Vec<PathBuf> {
        match self {
            #[cfg(feature = "mcp")]
            Tool::Mcp { server, .. } => server.files(root),
            Tool::ReadFile | Tool::ListDir | Tool::Grep | Tool::Glob | Tool::RunCommand { .. } => {
                Vec::new()
            }
        }
    }

    /// The programs that it is started from, by name.
    pub(super) fn programs(&self) -> Vec<String> {
        match self {
            #[cfg(feature = "mcp")]
            Tool::Mcp { server, .. } => server.programs(),
            Tool::ReadFile | Tool::ListDir | Tool::Grep | Tool::Glob | Tool::RunCommand { .. } => {
                Vec::new()
            }
        }
    }

    /// What keeps it from being had.
    pub(super) fn obstacle(&self, hook: &HookView<'_>, means: &Means) -> Option<Obstacle> {
        match self {
            #[cfg(feature = "mcp")]
            Tool::Mcp { server, .. } => server_obstacle(server, hook, means),
            Tool::ReadFile | Tool::ListDir | Tool::Grep | Tool::Glob | Tool::RunCommand { .. } => {
                None
            }
        }
    }

    /// The names of the tools that only read.
    pub(super) const READING: [&str; 4] = ["read_file", "list_dir", "grep", "glob"];

    /// The one of them of this name.
    pub(super) fn reading(name: &str) -> Option<Tool> {
        [Tool::ReadFile, Tool::ListDir, Tool::Grep, Tool::Glob]
            .into_iter()
            .find(|tool| tool.name() == name)
    }

    pub(super) fn run_command(patterns: Vec<String>, cx: &Compile<'_>) -> Result<Tool, Mistake> {
        let allowed = AllowList::new(patterns).map_err(|message| Mistake::new("tools", message))?;
        Ok(Tool::RunCommand {
            allowed,
            env: environment(BTreeMap::new(), &[], cx)?,
        })
    }

    #[cfg(feature = "mcp")]
    pub(super) fn mcp(server: &Arc<ServerDefinition>, name: String) -> Result<Tool, Mistake> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
            return Err(Mistake::new(
                "tools",
                format!("models can't call a tool of the name `{name}`"),
            ));
        }
        Ok(Tool::Mcp {
            server: server.clone(),
            name,
        })
    }

    /// What must not be in what it says.
    pub(super) fn secrets(&self) -> Option<&Secrets> {
        match self {
            Tool::ReadFile | Tool::ListDir | Tool::Grep | Tool::Glob | Tool::RunCommand { .. } => {
                None
            }
            #[cfg(feature = "mcp")]
            Tool::Mcp { server, .. } => Some(server.secrets()),
        }
    }

    /// The name for the model.
    pub(super) fn name(&self) -> &str {
        match self {
            Tool::ReadFile => "read_file",
            Tool::ListDir => "list_dir",
            Tool::Grep => "grep",
            Tool::Glob => "glob",
            Tool::RunCommand { .. } => "run_command",
            #[cfg(feature = "mcp")]
            Tool::Mcp { name, .. } => name,
        }
    }

    /// The tool for the model.
    fn offer(&self) -> models::Tool {
        let text = |about: &str| json!({"type": "string", "description": about});
        let number = |about: &str| json!({"type": "integer", "minimum": 1, "description": about});
        let (about, properties, required): (String, Value, &[&str]) = match self {
            Tool::ReadFile => (
                "Reads lines of a text file of the project.".into(),
                json!({"path": text("the file"), "from": number("the first line, counted from 1"), "lines": number("how many lines")}),
                &["path"],
            ),
            Tool::ListDir => (
                "Lists a directory of the project.".into(),
                json!({"path": text("the directory; `.` is the project's root")}),
                &["path"],
            ),
            Tool::Grep => (
                "Finds the lines of the project's files that match a regular expression.".into(),
                json!({"pattern": text("the regular expression"), "path": text("a file or directory to look in; default: everywhere"), "glob": text("only files that fit, such as `*.rs`")}),
                &["pattern"],
            ),
            Tool::Glob => (
                "Finds files of the project by a glob, such as `src/**/*.rs`.".into(),
                json!({"pattern": text("the glob"), "path": text("a directory to look in; default: everywhere")}),
                &["pattern"],
            ),
            Tool::RunCommand { allowed, .. } => (
                format!(
                    "Runs one program with plain arguments in the project's root, without a shell: no pipes, no \
                     redirections, no variables. Allowed: {}",
                    allowed.texts().join(", ")
                ),
                json!({"command": text("the program and its arguments")}),
                &["command"],
            ),
            // Offered as its server describes it.
            #[cfg(feature = "mcp")]
            Tool::Mcp { .. } => (String::new(), json!({}), &[]),
        };
        let schema = json!({"type": "object", "properties": properties, "required": required});
        models::Tool {
            name: self.name().into(),
            description: about,
            schema,
        }
    }

    /// The call as hooks know it: the tool's usual name and the members of its input.
    fn to_event(&self, input: &Value, call: &Call<'_>) -> (String, Value) {
        let name = match self {
            Tool::ReadFile => "Read",
            Tool::ListDir => "LS",
            Tool::Grep => "Grep",
            Tool::Glob => "Glob",
            Tool::RunCommand { .. } => "Bash",
            #[cfg(feature = "mcp")]
            Tool::Mcp { server, name } => {
                return (
                    format!("mcp__{}__{name}", server.plain_label()),
                    input.clone(),
                );
            }
        };
        let mut members = renamed(self, input, |(ours, theirs)| (ours, theirs));
        // Rules about paths hold for paths as they are.
        let key = if let Tool::ReadFile = self {
            "file_path"
        } else {
            "path"
        };
        if let Some(Value::String(path)) = members.get_mut(key) {
            *path = call
                .services
                .root
                .join(&*path)
                .to_string_lossy()
                .into_owned();
        }
        (name.into(), Value::Object(members))
    }

    /// The way back, for an input that a hook rewrote.
    fn to_input(&self, input: &Value) -> Value {
        Value::Object(renamed(self, input, |(ours, theirs)| (theirs, ours)))
    }
}

/// An input under other names.
fn renamed(
    tool: &Tool,
    input: &Value,
    which: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Map<String, Value> {
    let names: &[(&str, &str)] = match tool {
        Tool::ReadFile => &[
            ("path", "file_path"),
            ("from", "offset"),
            ("lines", "limit"),
        ],
        _ => &[],
    };
    let rename = |key: &String| {
        let other = names
            .iter()
            .map(|pair| which(*pair))
            .find(|(from, _)| from == key);
        other.map_or(key.clone(), |(_, to)| to.to_string())
    };
    input
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (rename(key), value.clone()))
        .collect()
}

/// The tools of one run, ready for use.
pub(super) struct Toolbox<'a> {
    tools: Vec<(&'a Tool, models::Tool)>,
    #[cfg(feature = "mcp")]
    leases: Vec<(&'a str, Lease<Server>)>,
    project: Arc<Project>,
    gone: Arc<Gone>,
    call: &'a Call<'a>,
    triggers_hooks: bool,
}

impl Drop for Toolbox<'_> {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

impl<'a> Toolbox<'a> {
    /// Opens the project and the servers that the tools need.
    pub(super) async fn open(
        tools: &'a [Tool],
        call: &'a Call<'a>,
        triggers_hooks: bool,
    ) -> Result<Toolbox<'a>, String> {
        let mut toolbox = Toolbox {
            tools: Vec::new(),
            #[cfg(feature = "mcp")]
            leases: Vec::new(),
            project: Arc::new(Project::open(&call.services.root)?),
            gone: Arc::default(),
            call,
            triggers_hooks,
        };
        for tool in tools {
            let offer = match tool {
                #[cfg(feature = "mcp")]
                Tool::Mcp { server, name } => {
                    let lease = servers::get(
                        &call.services.servers,
                        server,
                        mcp::IDLE,
                        &call.services.root,
                        &call.services.egress,
                    )
                    .await?;
                    let found = lease.find(name).await?;
                    toolbox.leases.push((name, lease));
                    models::Tool {
                        name: name.clone(),
                        description: models::clean(
                            found.description.as_deref().unwrap_or_default(),
                            1000,
                        ),
                        schema: Value::Object((*found.input_schema).clone()),
                    }
                }
                _ => tool.offer(),
            };
            toolbox.tools.push((tool, offer));
        }
        Ok(toolbox)
    }

    /// The tools for the model.
    pub(super) fn offers(&self) -> Vec<models::Tool> {
        self.tools.iter().map(|(_, offer)| offer.clone()).collect()
    }

    /// Makes a call: what came out or why not, for the model. The outer error ends the run.
    pub(super) async fn run(&self, wanted: &ToolCall) -> Result<Result<String, String>, String> {
        let Some((tool, _)) = self
            .tools
            .iter()
            .find(|(tool, _)| tool.name() == wanted.name)
        else {
            let names: Vec<&str> = self.tools.iter().map(|(tool, _)| tool.name()).collect();
            return Ok(Err(format!(
                "there is no tool `{}`, only {}",
                models::clean(&wanted.name, 60),
                names.join(", ")
            )));
        };
        if !self.triggers_hooks {
            return Ok(self.carry_out(tool, &wanted.input).await);
        }
        let (name, seen) = tool.to_event(&wanted.input, self.call);
        let asked = json!({"name": name, "callId": wanted.id, "input": seen});
        let verdict = self.judge("PreToolUse", asked.clone()).await?;
        if let Some(no) = verdict.no {
            return Ok(Err(no));
        }
        let input = match &verdict.subject {
            Some(rewritten) => tool.to_input(rewritten),
            None => wanted.input.clone(),
        };
        let result = self.carry_out(tool, &input).await;
        let mut done = asked;
        if let Some(rewritten) = verdict.subject {
            done["input"] = rewritten;
        }
        let event = match &result {
            Ok(output) => {
                done["output"] = json!(output);
                "PostToolUse"
            }
            Err(error) => {
                done["error"] = json!(error);
                "PostToolUseFailure"
            }
        };
        let after = self.judge(event, done).await?;
        if let Some(no) = after.no {
            return Ok(Err(no));
        }
        let with = |text: String| {
            verdict
                .context
                .iter()
                .chain(&after.context)
                .fold(text, |text, it| text + "\n" + it)
        };
        Ok(match (after.subject, result) {
            (Some(Value::String(text)), Ok(_)) => Ok(with(text)),
            (Some(value), Ok(_)) => Ok(with(value.to_string())),
            (_, Ok(text)) => Ok(with(text)),
            (_, Err(error)) => Err(with(error)),
        })
    }

    /// Asks the hooks in force about a tool call, as about any agent's.
    async fn judge(&self, event: &str, tool: Value) -> Result<Judged, String> {
        let outer = self.call.moment.event();
        let hook = format!("hook:{}", self.call.hook.name);
        let mut data = json!({
            "event": event,
            "agent": {"name": hook, "parent": outer.text("/agent/name").unwrap_or_default()},
            "tool": tool,
            "cwd": self.call.services.root.to_string_lossy(),
        });
        for member in ["session", "metadata"] {
            if let Some(value) = outer.data().get(member) {
                data[member] = value.clone();
            }
        }
        // It counts towards the run that it judges.
        if let Some(run) = outer.run() {
            data["run"] = json!(format!("{run}/{hook}/{}", outer.id));
            data["parentRun"] = json!(run);
        }
        let event = Event::from_json(data).map_err(|error| format!("ask the hooks: {error}"))?;
        let verdict = self.call.judge.judge(event).await;
        let who = verdict.decided_by.as_deref().unwrap_or("a hook");
        let reason = verdict.reason.as_deref().unwrap_or("no reason given");
        if let Some(stop) = &verdict.stop {
            return Err(format!(
                "go on: a hook ended it: {}",
                models::clean(stop, 300)
            ));
        }
        let no = match verdict.decision {
            Decision::Allow => None,
            Decision::Ask | Decision::Defer | Decision::Deny => Some(format!(
                "hook `{who}` denied it: {}",
                models::clean(reason, 500)
            )),
        };
        Ok(Judged {
            no,
            subject: verdict.subject,
            context: verdict.additional_context,
        })
    }

    async fn carry_out(&self, tool: &Tool, input: &Value) -> Result<String, String> {
        match tool {
            Tool::ReadFile => {
                let path = text(input, "path")?.to_string();
                let (from, lines) = (number(input, "from")?, number(input, "lines")?);
                self.blocking(move |project, _| project.read_file(&path, from, lines))
                    .await
            }
            Tool::ListDir => {
                let path = optional(input, "path")?.unwrap_or(".").to_string();
                self.blocking(move |project, _| project.list_dir(&path))
                    .await
            }
            Tool::Grep => {
                let pattern = text(input, "pattern")?.to_string();
                let path = optional(input, "path")?.map(String::from);
                let only = optional(input, "glob")?.map(String::from);
                self.blocking(move |project, gone| {
                    project.grep(&pattern, path.as_deref(), only.as_deref(), gone)
                })
                .await
            }
            Tool::Glob => {
                let pattern = text(input, "pattern")?.to_string();
                let path = optional(input, "path")?.map(String::from);
                self.blocking(move |project, gone| project.glob(&pattern, path.as_deref(), gone))
                    .await
            }
            Tool::RunCommand { allowed, env } => {
                let argv = allowed.admit(text(input, "command")?)?;
                self.run_command(argv, env.clone()).await
            }
            #[cfg(feature = "mcp")]
            Tool::Mcp { name, .. } => {
                let lease = self
                    .leases
                    .iter()
                    .find(|(it, _)| it == name)
                    .map(|(_, lease)| lease);
                let lease = lease.ok_or("the tool's server is not there")?;
                let arguments = input.as_object().cloned().unwrap_or_default();
                let result = lease.call(name, arguments).await?;
                let mut text = mcp::text(&result)?;
                if text.is_empty()
                    && let Some(structured) = &result.structured_content
                {
                    text = structured.to_string();
                }
                let text = ends(&text, MAX_OUTPUT);
                if result.is_error == Some(true) {
                    Err(text)
                } else {
                    Ok(text)
                }
            }
        }
    }

    /// Files are read where it may take its time; whoever gives up stops a search.
    async fn blocking(
        &self,
        work: impl FnOnce(&Project, &Gone) -> Result<String, String> + Send + 'static,
    ) -> Result<String, String> {
        let (project, gone) = (self.project.clone(), self.gone.clone());
        let result = tokio::task::spawn_blocking(move || work(&project, &gone)).await;
        result.unwrap_or_else(|error| Err(format!("the tool failed: {error}")))
    }

    async fn run_command(
        &self,
        argv: Vec<String>,
        mut env: Vec<(String, String)>,
    ) -> Result<String, String> {
        let root = &self.call.services.root;
        env.push((
            "HOOKWIRE_PROJECT_DIR".into(),
            root.to_string_lossy().into_owned(),
        ));
        let spec = process::Spec {
            argv,
            env,
            cwd: root.to_path_buf(),
            stdin: Default::default(),
            limits: process::OutputLimits::default(),
            pins: None,
        };
        let is_at_gate = self.call.is_at_gate();
        let run = async {
            if is_at_gate {
                process::run(spec).await
            } else {
                process::run_modestly(spec).await
            }
        };
        let output = match tokio::time::timeout(COMMAND_TIME, run).await {
            Ok(output) => output.map_err(|error| format!("failed to {error}"))?,
            Err(_) => return Err(format!("it was ended after {} s", COMMAND_TIME.as_secs())),
        };
        let status = match output.status {
            process::Exit::Code(code) => format!("exit status {code}"),
            process::Exit::Signal(signal) => format!("ended by signal {signal}"),
        };
        let part = |name: &str, bytes: &[u8]| match String::from_utf8_lossy(bytes).trim_end() {
            "" => String::new(),
            text => format!("\n--- {name}\n{}", ends(text, MAX_OUTPUT / 2)),
        };
        Ok(format!(
            "{status}{}{}",
            part("stdout", &output.stdout),
            part("stderr", &output.stderr)
        ))
    }
}

/// What the hooks say.
struct Judged {
    no: Option<String>,
    subject: Option<Value>,
    context: Vec<String>,
}

/// A text's beginning and end, when all of it is too long: causes are there, and summaries here.
fn ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_string();
    }
    let at = |wanted: usize| {
        (0..=wanted)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0)
    };
    let (head, tail) = (at(max / 3), at(text.len() - max / 3 * 2));
    format!(
        "{}\n(... {} bytes left out ...)\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

fn text<'v>(input: &'v Value, key: &str) -> Result<&'v str, String> {
    optional(input, key)?.ok_or_else(|| format!("`{key}` is missing"))
}

fn optional<'v>(input: &'v Value, key: &str) -> Result<Option<&'v str>, String> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is a string")),
    }
}

fn number(input: &Value, key: &str) -> Result<Option<usize>, String> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().and_then(|it| usize::try_from(it).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("`{key}` is a whole number")),
        },
    }
}
