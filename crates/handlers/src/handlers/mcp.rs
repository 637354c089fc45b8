//! `mcp`: a tool of an MCP server. How servers are started, shared and ended is the matter
//! of [`servers`](super::servers).

use super::call::{Call, HookView};
use super::compile::{Compile, Mistake};
use super::effect::Effect;
use super::environment::{Secrets, environment};
use super::error::HandlerError;
use super::headers;
use super::kind::{Kind, TextKind};
use super::means::{Means, Obstacle, missing_script, program_obstacle};
use super::named_files::{ApprovedCommand, Words};
use super::servers::{self, Reach, ServerDefinition, excerpt};
use super::services::Services;
use hookwire_base::event::Phase;
use hookwire_base::syntax::values::{RawDuration, forms};
use hookwire_base::template::Body;
use hookwire_base::verdict::Answer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A call of one tool of an MCP server; its result is the hook's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Mcp")]
pub struct RawMcp {
    /// The server. Hooks with equal servers share one.
    server: RawServer,
    /// The tool's name.
    tool: String,
    /// What the tool is called with: a map of any JSON, `${tool.name}` placeholders in its strings.
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
    /// How long the server stays up without a call; 10 minutes if it isn't said.
    #[schemars(default)]
    idle: Option<RawDuration>,
}

/// A program that speaks MCP over stdio, or a streamable HTTP endpoint.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "McpServer")]
pub(crate) struct RawServer {
    /// The program and its arguments. A program with a slash starts at the definition's file.
    #[schemars(with = "Option<Vec<String>>")]
    command: Option<Argv>,
    /// The endpoint. Public addresses; loopback only from trusted layers; others need
    /// `--allow-host`.
    url: Option<String>,
    /// Variables to set for the program.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Variables to take over from the host's environment, by name: for the program, or for
    /// headers.
    #[serde(default)]
    inherit_env: Vec<String>,
    /// The program's working directory; a relative one starts at the definition's file. Default:
    /// the project root.
    cwd: Option<String>,
    /// Headers for the endpoint; a value may hold `${env.NAME}` for a variable that `inheritEnv`
    /// names.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// A program and its arguments. Other hosts want them apart, so the form is told.
struct Argv(Vec<String>);

forms! { Argv, "a list of the program and its arguments, such as `[npx, -y, some-server]`",
    list(argv: Vec<String>) => Ok(Argv(argv)),
}

#[derive(Debug)]
pub struct Mcp {
    server: Arc<ServerDefinition>,
    tool: String,
    arguments: Body,
    idle: Duration,
}

/// How long a server stays up without a call.
pub const IDLE: Duration = Duration::from_secs(600);

/// The largest result of a tool, in bytes.
const MAX_RESULT: usize = 1024 * 1024;

impl Kind for Mcp {
    type Raw = RawMcp;

    const TEXTS: &'static [(&'static str, TextKind)] = &[
        ("arguments.**", TextKind::Template),
        ("server.headers.*", TextKind::NativeTemplate),
    ];

    fn compile(raw: RawMcp, cx: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.tool.is_empty() {
            return Err(Mistake::new("tool", "the tool has no name"));
        }
        let arguments = Body::new(Value::Object(raw.arguments), cx.placeholders);
        Ok(Mcp {
            server: Arc::new(raw.server.compile(cx)?),
            tool: raw.tool,
            arguments: arguments.map_err(|message| Mistake::new("arguments", message))?,
            idle: raw.idle.map_or(IDLE, RawDuration::get),
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let arguments = match call.filled(|value| self.arguments.fill(value))? {
            Value::Object(arguments) => arguments,
            _ => JsonObject::new(),
        };
        let Services {
            servers,
            root,
            egress,
            ..
        } = call.services;
        let server = servers::get(servers, &self.server, self.idle, root, egress)
            .await
            .map_err(HandlerError)?;
        let result = server
            .call(&self.tool, arguments)
            .await
            .map_err(HandlerError)?;
        self.answer(call, result).map_err(HandlerError)
    }

    fn obstacle(&self, hook: &HookView<'_>, means: &Means) -> Option<Obstacle> {
        Some(server_obstacle(&self.server, hook, means)?.at("server"))
    }

    fn secrets(&self) -> Vec<&Secrets> {
        vec![self.server.secrets()]
    }

    fn files(&self, root: &Path) -> Vec<PathBuf> {
        self.server.files(root)
    }

    fn programs(&self) -> Vec<String> {
        self.server.programs()
    }

    fn effect(&self) -> Option<Effect> {
        let (tool, server) = (self.tool.clone(), self.server.label().to_string());
        Some(Effect::McpTool {
            tool,
            server,
            starts: self.server.program(),
        })
    }
}

impl Mcp {
    fn answer(&self, call: &Call<'_>, result: CallToolResult) -> Result<Answer, String> {
        let Mcp { tool, .. } = self;
        let text = text(&result)?;
        if result.is_error == Some(true) {
            let why = self.server.secrets().mask(text.trim());
            return Err(format!(
                "call tool `{tool}`: {}",
                excerpt(&why, "it failed and doesn't say why")
            ));
        }
        let (event, reply) = (call.moment.event(), call.hook.contract.reply);
        let answer =
            |value| reply(event, value).map_err(|error| format!("{error} (from tool `{tool}`)"));
        match result.structured_content.map(unwrapped) {
            Some(Value::Null) | None => {}
            Some(structured @ Value::Object(_)) => return answer(structured),
            // Not an object: the text says the same.
            Some(_) if !text.trim().is_empty() => {}
            Some(other) => return answer(other),
        }
        match text.trim() {
            // An image says nothing that a gate could heed.
            "" if !result.content.is_empty() && event.spec.phase == Phase::Gate => Err(format!(
                "read the result of tool `{tool}`: it has no text and no structured content"
            )),
            "" => Ok(Answer::default()),
            text if text.starts_with('{') => {
                let value = hookwire_base::support::json::parse(text)
                    .map_err(|error| format!("read the result of tool `{tool}`: {error}"))?;
                answer(value)
            }
            // As with a command's stdout: a gate's reply is a decision, elsewhere tools may chat.
            text if event.spec.phase == Phase::Gate => {
                let text = self.server.secrets().mask(text);
                Err(format!(
                    "read the result of tool `{tool}`: it is not a JSON object: {}",
                    excerpt(&text, "nothing")
                ))
            }
            _ => Ok(Answer::default()),
        }
    }
}

/// The texts of a result, one after the other.
pub fn text(result: &CallToolResult) -> Result<String, String> {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    let text = texts.join("\n");
    let structured = result
        .structured_content
        .as_ref()
        .map_or(0, |it| it.to_string().len());
    if text.len() > MAX_RESULT || structured > MAX_RESULT {
        return Err(format!(
            "read a tool's result: it has more than {MAX_RESULT} bytes"
        ));
    }
    Ok(text)
}

/// Python's SDK wraps like this whatever it doesn't know to be an object.
fn unwrapped(structured: Value) -> Value {
    match structured {
        Value::Object(mut members) if members.len() == 1 && members.contains_key("result") => {
            members.remove("result").unwrap_or_default()
        }
        other => other,
    }
}

impl RawServer {
    /// Checks what was written.
    pub fn compile(self, cx: &Compile<'_>) -> Result<ServerDefinition, Mistake> {
        let bad = |message: &str| Mistake::new("server", message);
        let secrets;
        let reach = match (self.command, self.url) {
            (None, None) => return Err(bad("the server has neither `command` nor `url`")),
            (Some(_), Some(_)) => {
                return Err(bad("the server has both `command` and `url`").help("keep one"));
            }
            (Some(Argv(mut argv)), None) => {
                if !self.headers.is_empty() {
                    return Err(bad("`headers` are for a server with a `url`"));
                }
                let program = argv
                    .first_mut()
                    .filter(|it| !it.is_empty())
                    .ok_or_else(|| bad("the command is empty"))?;
                if program.contains('/') {
                    let copy = || cx.dir.join(&program).to_string_lossy().into_owned();
                    *program = cx.program_in_place(program).unwrap_or_else(copy);
                }
                let env =
                    environment(self.env.clone(), &self.inherit_env, cx).map_err(in_server)?;
                secrets = Secrets::from_definition(&env, &self.env, &self.inherit_env);
                let (cwd, sets_path) = (
                    self.cwd.map(|cwd| cx.place().join(cwd)),
                    self.env.contains_key("PATH"),
                );
                let approved = cx.approved.map(|approved| {
                    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
                    Arc::new(ApprovedCommand::new(
                        approved,
                        Words::List(&words),
                        cwd.as_deref(),
                        sets_path,
                    ))
                });
                Reach::Command {
                    argv,
                    env,
                    cwd,
                    sets_path,
                    approved,
                }
            }
            (None, Some(url)) => {
                if !self.env.is_empty() || self.cwd.is_some() {
                    return Err(bad("`env` and `cwd` are for a server with a `command`"));
                }
                headers::check(&url).map_err(|error| bad(&format!("`url`: {error}")))?;
                let headers =
                    headers::Headers::new(&self.headers, &self.inherit_env).map_err(in_server)?;
                secrets = headers.secrets.clone();
                Reach::Url {
                    url,
                    headers,
                    layer: cx.layer,
                }
            }
        };
        Ok(ServerDefinition::new(reach, secrets))
    }
}

/// The place of a mistake that is deeper inside.
fn in_server(mistake: Mistake) -> Mistake {
    Mistake {
        field: Some("server"),
        ..mistake
    }
}

/// What keeps a server from being reached or started.
pub(super) fn server_obstacle(
    server: &ServerDefinition,
    hook: &HookView<'_>,
    means: &Means,
) -> Option<Obstacle> {
    match server.reach() {
        Reach::Url { url, .. } => Obstacle::from_url(url, &means.grants(hook.source.layer)),
        Reach::Command { argv, env, .. } => {
            let (program, files) = (argv.first()?, server.files(&means.root));
            let missing = || missing_script(&argv.join(" "), program, &files, &[&means.root]);
            program_obstacle(program, env, &means.root).or_else(missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_ends_in_dots() {
        for (text, expected) in [
            ("a\u{85}b\n", "a b "),
            (&*"ä".repeat(300), &*"ä".repeat(300)),
            ("", "nothing"),
        ] {
            assert_eq!(excerpt(text, "nothing"), expected);
        }
        assert_eq!(excerpt(&"ä".repeat(301), ""), "ä".repeat(300) + "…");
    }
}
