//! The forms of transcripts: what a line says of a session, a call or its end.

use super::{Fate, Transcript};
use serde_json::{Value, json};
use std::path::Path;

/// How a transcript is read.
pub(super) enum Form {
    /// A line at a time; only lines with one of the marks can say something.
    Lines {
        marks: &'static [&'static str],
        read: fn(&Value, &mut Transcript),
    },
    /// A JSON text.
    Whole(fn(&Value, &mut Transcript)),
    /// A database, since a time.
    #[cfg(feature = "history")]
    Database(fn(&Path, u64, &mut Transcript) -> std::io::Result<()>),
    #[cfg(not(feature = "history"))]
    Database,
}

const fn lines(marks: &'static [&'static str], read: fn(&Value, &mut Transcript)) -> Form {
    Form::Lines { marks, read }
}

/// The form of each agent's transcripts.
pub(super) static FORMS: &[(&str, Form)] = &[
    ("claude-code", lines(&["tool_", "cwd"], claude_code)),
    (
        "codex",
        lines(&["_call", "session_meta", "CommandExec"], codex),
    ),
    ("gemini", lines(&["toolCalls", "sessionId"], gemini)),
    ("qwen", lines(&["functionCall", "toolCallResult"], qwen)),
    ("opencode", OPENCODE),
    ("pi", lines(&["toolCall", "toolResult", "\"session\""], pi)),
    ("copilot", lines(&["tool.execution_", "session."], copilot)),
    ("kimi", lines(&["tool.", "profile.bind"], kimi)),
    ("grok", lines(&["tool_call"], grok)),
    ("cline", Form::Whole(cline)),
];

#[cfg(feature = "history")]
const OPENCODE: Form = Form::Database(opencode);
#[cfg(not(feature = "history"))]
const OPENCODE: Form = Form::Database;

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn items<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn is_true(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer) == Some(&Value::Bool(true))
}

/// A time that is written in RFC 3339.
fn time(value: &Value, pointer: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339_weak(text(value, pointer)?).ok()?;
    Some(hookwire_engine::ledger::millis(time))
}

/// What a tool is given, where that is a text of JSON.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn ran_if(has_run: bool) -> Fate {
    if has_run { Fate::Ran } else { Fate::NeverRan }
}

fn claude_code(line: &Value, transcript: &mut Transcript) {
    transcript.begin_session(text(line, "/sessionId"));
    transcript.start_in(text(line, "/cwd"));
    let is_refused = text(line, "/toolDenialKind").is_some()
        || text(line, "/permissionDecision/decision") == Some("reject");
    for block in items(line, "/message/content") {
        match text(block, "/type") {
            Some("tool_use") if text(line, "/type") == Some("assistant") => transcript.call(
                time(line, "/timestamp"),
                text(block, "/id"),
                text(block, "/name"),
                block["input"].clone(),
            ),
            Some("tool_result") if text(line, "/type") == Some("user") => {
                // What a tool itself says of a failure begins otherwise.
                let is_wrong = is_true(block, "/is_error")
                    && text(block, "/content")
                        .is_some_and(|said| said.starts_with("<tool_use_error>"));
                let id = text(block, "/tool_use_id");
                transcript.end(id, ran_if(!is_refused && !is_wrong));
            }
            _ => {}
        }
    }
}

/// What Codex calls shells. Its hooks are told of each as `Bash`.
const CODEX_SHELLS: [&str; 4] = ["exec_command", "shell_command", "shell", "container.exec"];
/// What Codex answers a call that it doesn't begin.
const CODEX_REFUSES: [&str; 3] = [
    "unsupported call: ",
    "failed to parse function arguments: ",
    "Command blocked by PreToolUse hook: ",
];

fn codex(line: &Value, transcript: &mut Transcript) {
    let item = &line["payload"];
    let id = text(item, "/call_id");
    match (text(line, "/type"), text(item, "/type")) {
        (Some("session_meta"), _) => {
            transcript.begin_session(text(item, "/session_id").or(text(item, "/id")));
            transcript.start_in(text(item, "/cwd"));
        }
        (Some("response_item"), Some("function_call")) => {
            let (tool, input) = codex_call(item);
            transcript.call(time(line, "/timestamp"), id, tool, input);
        }
        (Some("response_item"), Some("custom_tool_call")) => transcript.call(
            time(line, "/timestamp"),
            id,
            text(item, "/name"),
            json!({ "command": item["input"] }),
        ),
        (Some("response_item"), Some("local_shell_call")) => transcript.call(
            time(line, "/timestamp"),
            id,
            Some("Bash"),
            json!({ "command": joined(&item["action"]["command"]) }),
        ),
        (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
            let said = text(item, "/output").unwrap_or_default();
            let is_refused = CODEX_REFUSES.iter().any(|it| said.starts_with(it));
            transcript.end(id, ran_if(!is_refused));
        }
        _ => {}
    }
}

fn codex_call(item: &Value) -> (Option<&str>, Value) {
    let input = parsed(text(item, "/arguments").unwrap_or_default());
    let tool = text(item, "/name");
    if tool.is_none_or(|tool| !CODEX_SHELLS.contains(&tool)) {
        return (tool, input);
    }
    let command = match (input.get("cmd"), input.get("command")) {
        (Some(command), _) | (None, Some(command)) => joined(command),
        (None, None) => return (Some("Bash"), input),
    };
    (Some("Bash"), json!({ "command": command }))
}

/// A command that is a text or the words of one: behind `bash -lc` stands a text.
fn joined(command: &Value) -> Value {
    let words: Vec<&str> = command
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match words.as_slice() {
        [] => command.clone(),
        [_, "-lc" | "-c", text] => json!(text),
        words => json!(words.join(" ")),
    }
}

fn gemini(line: &Value, transcript: &mut Transcript) {
    match text(line, "/kind") {
        // It asks in its parent's session, whose name the directory has.
        Some("subagent") => {
            let parent = transcript.path.parent();
            let parent = parent.and_then(|dir| Some(dir.file_name()?.to_str()?.to_string()));
            transcript.begin_session(parent.as_deref());
        }
        _ => transcript.begin_session(text(line, "/sessionId")),
    }
    if transcript.cwd.is_none() {
        // A sub-agent's transcript is one directory below.
        let root = transcript.path.ancestors().skip(2).take(2).find_map(|dir| {
            hookwire_base::support::file::read_text(dir.join(".project_root")).ok()
        });
        transcript.start_in(root.as_deref().map(str::trim));
    }
    // A message is written anew when its calls have come to something.
    let messages = std::iter::once(line).chain(items(line, "/$set/messages"));
    for call in messages.flat_map(|message| items(message, "/toolCalls")) {
        let id = text(call, "/id");
        if !transcript.has(id) {
            transcript.call(
                time(call, "/timestamp"),
                id,
                text(call, "/name"),
                call["args"].clone(),
            );
        }
        // Of an error nobody can tell whether the tool had begun.
        if text(call, "/status") == Some("success") {
            transcript.end(id, Fate::Ran);
        }
    }
}

fn qwen(line: &Value, transcript: &mut Transcript) {
    transcript.begin_session(text(line, "/sessionId"));
    transcript.start_in(text(line, "/cwd"));
    for call in items(line, "/message/parts").filter_map(|part| part.get("functionCall")) {
        transcript.call(
            time(line, "/timestamp"),
            text(call, "/id"),
            text(call, "/name"),
            call["args"].clone(),
        );
    }
    if let Some(result) = line.get("toolCallResult") {
        let has_run = text(result, "/executionStatus") != Some("not_started");
        transcript.end(text(result, "/callId"), ran_if(has_run));
    }
}

fn pi(line: &Value, transcript: &mut Transcript) {
    if text(line, "/type") == Some("session") {
        transcript.begin_session(text(line, "/id"));
        transcript.start_in(text(line, "/cwd"));
    }
    match text(line, "/message/role") {
        Some("assistant") => {
            for call in items(line, "/message/content")
                .filter(|block| text(block, "/type") == Some("toolCall"))
            {
                transcript.call(
                    time(line, "/timestamp"),
                    text(call, "/id"),
                    text(call, "/name"),
                    call["arguments"].clone(),
                );
            }
        }
        // Only what has begun has taken time.
        Some("toolResult") => transcript.end(
            text(line, "/message/toolCallId"),
            ran_if(line.pointer("/message/durationMs").is_some()),
        ),
        _ => {}
    }
}

fn copilot(line: &Value, transcript: &mut Transcript) {
    // A sub-agent asks in a session of its own, and its calls stand here.
    let own = transcript.session.clone();
    let agent = text(line, "/agentId");
    transcript.begin_session(agent);
    copilot_event(line, transcript);
    if agent.is_some() {
        transcript.session = own;
    }
}

fn copilot_event(line: &Value, transcript: &mut Transcript) {
    let data = &line["data"];
    let id = text(data, "/toolCallId");
    match text(line, "/type") {
        Some("session.start" | "session.resume") => {
            transcript.begin_session(text(data, "/sessionId"));
            transcript.start_in(text(data, "/context/cwd"));
        }
        Some("tool.execution_start") => transcript.call(
            time(line, "/timestamp"),
            id,
            text(data, "/toolName"),
            data["arguments"].clone(),
        ),
        Some("tool.execution_complete") => {
            let fate = match text(data, "/error/code") {
                None => Fate::Ran,
                Some("denied" | "rejected") => Fate::NeverRan,
                Some(_) => Fate::Unclear,
            };
            transcript.end(id, fate);
        }
        _ => {}
    }
}

fn kimi(line: &Value, transcript: &mut Transcript) {
    if transcript.session.is_empty() {
        let session = transcript.path.ancestors().nth(3);
        let session = session.and_then(|dir| Some(dir.file_name()?.to_str()?.to_string()));
        transcript.begin_session(session.as_deref());
    }
    let agent = transcript.path.parent().and_then(Path::file_name);
    transcript.is_of_subagent = agent.is_some_and(|name| name != "main");
    transcript.start_in(text(line, "/environmentDisclosure/cwd"));
    let event = &line["event"];
    let id = text(event, "/toolCallId");
    match text(event, "/type") {
        Some("tool.call") => {
            // A call that can't be understood isn't shown to anybody.
            transcript.shown = id
                .filter(|_| event.get("display").is_some())
                .map(str::to_string);
            transcript.call(
                line["time"].as_u64(),
                id,
                text(event, "/name"),
                event["args"].clone(),
            );
        }
        Some("tool.result") => {
            // What was refused has taken no time.
            let took = event
                .pointer("/result/durationMs")
                .is_none_or(|it| it.as_u64() != Some(0));
            let is_shown = transcript.shown.as_deref() == id && id.is_some();
            let has_run = !is_true(event, "/result/isError") || is_shown && took;
            transcript.end(id, ran_if(has_run));
        }
        _ => {}
    }
}

fn grok(line: &Value, transcript: &mut Transcript) {
    transcript.begin_session(text(line, "/params/sessionId"));
    if transcript.cwd.is_none() {
        let dir = transcript.path.ancestors().nth(2);
        let name = dir.and_then(|dir| Some(dir.file_name()?.to_str()?.to_string()));
        transcript.start_in(name.and_then(|name| percent_decoded(&name)).as_deref());
    }
    let update = &line["params"]["update"];
    let id = text(update, "/toolCallId");
    match text(update, "/sessionUpdate") {
        Some("tool_call") => transcript.call(
            line.pointer("/params/_meta/agentTimestampMs")
                .and_then(Value::as_u64),
            id,
            text(update, "/_meta/x.ai~1tool/name").or(text(update, "/title")),
            update["rawInput"].clone(),
        ),
        Some("tool_call_update") if update.get("rawOutput").is_some() => {
            transcript.end(id, Fate::Ran)
        }
        Some("tool_call_update") if text(update, "/status") == Some("failed") => {
            transcript.end(id, Fate::NeverRan)
        }
        _ => {}
    }
}

/// A text with `%2F` for `/` and the like.
fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

fn cline(whole: &Value, transcript: &mut Transcript) {
    transcript.begin_session(text(whole, "/sessionId"));
    let about = transcript.path.to_str().and_then(|path| {
        let about = path.strip_suffix(".messages.json")?;
        hookwire_base::support::file::read_text(format!("{about}.json")).ok()
    });
    let about = about.map_or(Value::Null, |about| parsed(&about));
    transcript.start_in(text(&about, "/cwd"));
    for message in items(whole, "/messages") {
        for block in items(message, "/content") {
            match text(block, "/type") {
                Some("tool_use") => transcript.call(
                    message["ts"].as_u64(),
                    text(block, "/id"),
                    text(block, "/name"),
                    block["input"].clone(),
                ),
                Some("tool_result") => {
                    // A failure of a tool is told with what it was asked.
                    let has_run = items(block, "/content").any(|it| it.get("query").is_some());
                    let fate = if has_run { Fate::Ran } else { Fate::Unclear };
                    transcript.end(text(block, "/tool_use_id"), fate);
                }
                _ => {}
            }
        }
    }
}

#[cfg(feature = "history")]
fn opencode(path: &Path, since: u64, transcript: &mut Transcript) -> std::io::Result<()> {
    use rusqlite::{Connection, OpenFlags};
    let failed = |error: rusqlite::Error| std::io::Error::other(error.to_string());
    // It is read as it stands, so the parts that OpenCode writes at the moment come too.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(failed)?;
    db.busy_timeout(std::time::Duration::from_secs(2))
        .map_err(failed)?;
    let sql = "SELECT session.id, session.directory, part.data FROM part JOIN session ON session.id = part.session_id
        WHERE part.time_created >= ?1 AND length(part.data) < 8388608 AND part.data LIKE '%\"type\":\"tool\"%'
        ORDER BY part.time_created LIMIT 200000";
    let mut select = db.prepare(sql).map_err(failed)?;
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let mut rows = select.query([since]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let read = |at: usize| row.get::<_, String>(at).map_err(failed);
        let part = parsed(&read(2)?);
        if text(&part, "/type") != Some("tool") {
            continue;
        }
        transcript.begin_session(Some(&read(0)?));
        transcript.cwd = Some(read(1)?);
        let (id, tool) = (text(&part, "/callID"), text(&part, "/tool"));
        let at = part.pointer("/state/time/start").and_then(Value::as_u64);
        transcript.call(at, id, tool, part["state"]["input"].clone());
        let fate = match text(&part, "/state/status") {
            // A call that can't be understood becomes one of this tool.
            _ if tool == Some("invalid") => Fate::NeverRan,
            Some("completed") => Fate::Ran,
            _ => Fate::Unclear,
        };
        transcript.end(id, fate);
    }
    Ok(())
}
