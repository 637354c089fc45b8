//! Gemini CLI's hooks: its own names of events, a decision with a reason, and changes that are
//! merged over what stands.
//!
//! Merged, a change can't take a member away, so a rewrite that does is a deny. A deny at
//! AfterAgent sends the agent back to work; SessionStart, SessionEnd, PreCompress and Notification
//! obey nothing.
//!
//! AfterModel comes with every piece of an answer; the tokens are
//! taken from the last one, which says why the model stopped.

use super::claude_code;
use super::decisive::check_understood;
use super::native::AGENT;
use super::replies::{
    BLOCKED, bad_exit, denied_verdict, describe_unread, is_decided, parse_stdout, removes_members,
    reply_members, text_member, text_or, unreadable_reply, whole_reply,
};
use super::{CodingAgent, Dialect, EventRow, Files, McpNames, Refusal, settings};
use hookwire_base::event::{Event, set_pointer, spec};
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::{Contract, Exit, TOOL_NAME, Target};
use hookwire_rules::matching::MatcherRule;
use serde_json::{Map, Value, json};
use std::time::Duration;

pub(super) static DIALECT: Dialect = Dialect {
    about: "",
    contract: Contract {
        dialect: "gemini",
        runs_equal_hooks_once: true,
        matcher: MatcherRule::Search,
        matched: matcher_target,
        timeout: Duration::from_secs(60),
        project_variables: &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        decisions: &[Decision::Ask],
        payload: |event| DIALECT.write_event(event),
        reply: read_reply,
        exit: read_exit,
        ..AGENT
    },
    events: &[
        EventRow::new("SessionStart", "SessionStart"),
        EventRow::new("SessionEnd", "SessionEnd"),
        EventRow::new("BeforeAgent", "RunStart")
            .near("UserPromptSubmit")
            .blocks(),
        EventRow::new("AfterAgent", "RunEnd").near("Stop").blocks(),
        EventRow::new("BeforeModel", "PreModelCall")
            .blocks()
            .rewrites(),
        EventRow::new("AfterModel", "PostModelCall")
            .blocks()
            .rewrites(),
        EventRow::new("BeforeTool", "PreToolUse")
            .blocks()
            .rewrites(),
        EventRow::new("AfterTool", "PostToolUseFailure")
            .blocks()
            .picks(has_failed),
        EventRow::new("AfterTool", "PostToolUse").blocks(),
        EventRow::new("PreCompress", "PreCompact"),
        EventRow::new("Notification", "Notification"),
    ],
    event_name: "/hook_event_name",
    members: &[
        ("/session_id", "/session"),
        ("/cwd", "/cwd"),
        ("/tool_name", "/tool/name"),
        ("/tool_input", "/tool/input"),
        ("/tool_response", "/tool/output"),
        ("/prompt", "/prompt"),
        ("/prompt_response", "/result"),
        ("/stop_hook_active", "/stopActive"),
        ("/llm_request", "/model/request"),
        ("/llm_response", "/model/response"),
    ],
    complete: complete_event,
    reply: write_reply,
    files: Some(Files {
        // By an event that Claude Code hasn't.
        recognises: |root| {
            settings::has_groups(root, |event| {
                DIALECT.has_event(event) && !claude_code::DIALECT.has_event(event)
            })
        },
        ..settings::FILES
    }),
    // The reason of a deny takes the place of a result.
    agent: Some(CodingAgent {
        refusal: Refusal::ExitCode(&[]),
        withholds: true,
        mcp: Some(McpNames {
            caller: None,
            server: "/mcp_context/server_name",
            tool: "/mcp_context/tool_name",
            within: None,
        }),
    }),
};

fn matcher_target(event: &str) -> Target {
    Target::Member(match event {
        _ if spec(event).is_some_and(|spec| spec.tool) => TOOL_NAME,
        "SessionStart" => "/source",
        "SessionEnd" => "/reason",
        "PreCompact" => "/trigger",
        "Notification" => "/notification_type",
        _ => return Target::Nothing,
    })
}

fn has_failed(payload: &Value) -> bool {
    payload
        .pointer("/tool_response/error")
        .is_some_and(|error| !error.is_null())
}

fn complete_event(payload: &Value, event: &mut Value) -> Result<(), String> {
    let finished = payload
        .pointer("/llm_response/candidates/0/finishReason")
        .filter(|it| it.is_string());
    let usage = |key: &str| {
        payload
            .pointer("/llm_response/usageMetadata")?
            .get(key)
            .cloned()
    };
    let tokens = [
        ("inputTokens", "promptTokenCount"),
        ("outputTokens", "candidatesTokenCount"),
    ];
    let usage = tokens
        .iter()
        .filter_map(|(ours, theirs)| Some((ours.to_string(), usage(theirs)?)));
    let usage = finished
        .map(|_| usage.collect::<Map<_, _>>())
        .filter(|it| !it.is_empty())
        .map(Value::Object);
    for (pointer, value) in [
        (
            "/model/name",
            payload.pointer("/llm_request/model").cloned(),
        ),
        ("/model/finishReason", finished.cloned()),
        ("/model/usage", usage),
        (
            "/tool/error",
            payload
                .pointer("/tool_response/error")
                .filter(|it| !it.is_null())
                .cloned(),
        ),
        // The run's result is what the agent said last.
        ("/lastMessage", payload.get("prompt_response").cloned()),
    ] {
        if let Some(value) = value {
            set_pointer(event, pointer, value);
        }
    }
    Ok(())
}

/// What takes a new value of the subject.
fn rewrite_target(event: &Event) -> Option<&'static str> {
    match &*event.name {
        "PreToolUse" => Some("tool_input"),
        "PreModelCall" => Some("llm_request"),
        "PostModelCall" => Some("llm_response"),
        _ => None,
    }
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let row = DIALECT.row_of(event);
    let mut reply = Map::new();
    let mut specific = Map::new();
    // Of a call that is denied, and of why it is asked about, its people see nothing else.
    let mut messages = verdict.user_messages.clone();
    let why = match (&verdict.subject, event.subject()) {
        (None, _) => None,
        _ if verdict.decision == Decision::Deny => None,
        _ if rewrite_target(event).is_none() => {
            Some("a hook rewrote this, and Gemini CLI takes no rewrite here")
        }
        (Some(after), before)
            if !after.is_object()
                || before.is_some_and(|before| removes_members(before, after)) =>
        {
            Some("a hook took away a member, and Gemini CLI only adds and replaces members")
        }
        _ => None,
    };
    let why = why.filter(|_| row.is_some_and(|row| row.blocks));
    let stricter = why.map(|why| denied_verdict(verdict, why));
    let verdict = stricter.as_ref().unwrap_or(verdict);
    let reason = verdict.reason.clone().unwrap_or_default();
    match (row, verdict.decision) {
        (_, Decision::Allow) if !is_decided(verdict) => {}
        (Some(row), Decision::Ask) if row.canonical == "PreToolUse" => {
            let reason = text_or(&reason, "A hook asks");
            messages.insert(0, reason.clone());
            reply.insert("decision".into(), json!("ask"));
            reply.insert("reason".into(), json!(reason));
        }
        (Some(row), Decision::Ask | Decision::Defer | Decision::Deny) if row.blocks => {
            let reason = text_or(&reason, BLOCKED);
            if row.canonical == "PreToolUse" {
                messages.insert(0, reason.clone());
            }
            reply.insert("decision".into(), json!("deny"));
            reply.insert("reason".into(), json!(reason));
        }
        (Some(row), Decision::Allow) if row.canonical == "PreToolUse" => {
            reply.insert("decision".into(), json!("allow"));
            reply
                .extend(Some(("reason".to_string(), json!(reason))).filter(|_| !reason.is_empty()));
        }
        (_, Decision::Allow) => {}
        // No tools are what comes nearest to a no.
        (None, _) if DIALECT.name_of(event) == "BeforeToolSelection" => {
            specific.insert("toolConfig".into(), json!({"mode": "NONE"}));
            messages.push(text_or(&reason, BLOCKED));
        }
        (..) => messages.push(text_or(&reason, BLOCKED)),
    }
    if let (Some(key), Some(subject), true) = (
        rewrite_target(event),
        &verdict.subject,
        verdict.decision != Decision::Deny,
    ) {
        specific.insert(key.into(), subject.clone());
    }
    let takes_context = [
        "SessionStart",
        "RunStart",
        "PostToolUse",
        "PostToolUseFailure",
    ]
    .contains(&&*event.name);
    if takes_context && !verdict.additional_context.is_empty() {
        specific.insert(
            "additionalContext".into(),
            json!(verdict.additional_context.join("\n")),
        );
    }
    if let Some(stop) = &verdict.stop {
        reply.insert("continue".into(), json!(false));
        reply.insert("stopReason".into(), json!(text_or(stop, "Stopped by hook")));
    }
    whole_reply(reply, specific, &messages, DIALECT.name_of(event))
}

fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let answer = read_members(event, reply_members(&value)?)?;
    check_understood(event, &value, &["/decision"], answer)
}

fn read_members(event: &Event, object: &Map<String, Value>) -> Result<Answer, String> {
    let mut answer = Answer::default();
    if object.get("continue") == Some(&json!(false)) {
        answer.stop = Some(text_member(object, "stopReason")?.unwrap_or_default());
    }
    answer
        .user_messages
        .extend(text_member(object, "systemMessage")?);
    answer.reason = text_member(object, "reason")?;
    answer.decision = match text_member(object, "decision")?.as_deref() {
        None => None,
        Some("allow" | "approve") => Some(Decision::Allow),
        Some("ask") => Some(Decision::Ask),
        Some("deny" | "block") => Some(Decision::Deny),
        Some(other) => return Err(unreadable_reply(format_args!("`decision` is `{other}`"))),
    };
    let specific = match object.get("hookSpecificOutput") {
        None | Some(Value::Null) => return Ok(answer),
        Some(Value::Object(specific)) => specific,
        Some(_) => return Err(unreadable_reply("`hookSpecificOutput` is not an object")),
    };
    answer
        .additional_context
        .extend(text_member(specific, "additionalContext")?);
    if let Some((key, change)) =
        rewrite_target(event).and_then(|key| Some((key, specific.get(key)?)))
        && !change.is_null()
    {
        let change = change
            .as_object()
            .ok_or_else(|| unreadable_reply(format_args!("`{key}` is not an object")))?;
        let mut merged = event
            .subject()
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        merged.extend(change.clone());
        answer.subject = Some(Value::Object(merged));
    }
    Ok(answer)
}

fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let (stdout, stderr) = (exit.stdout.trim(), exit.stderr.trim());
    match exit.code {
        Some(0) if stdout.starts_with('{') => read_reply(event, parse_stdout(stdout)?),
        Some(0) => Ok(Answer {
            user_messages: Some(stdout.to_string())
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect(),
            remarks: describe_unread(event, stdout),
            ..Answer::default()
        }),
        // The documentation has 2 only; the client takes every other code but 1 for a deny too.
        Some(code) if code != 1 => Ok(Answer::decide(Decision::Deny, text_or(stderr, BLOCKED))),
        Some(_) | None => Err(bad_exit(exit)),
    }
}
