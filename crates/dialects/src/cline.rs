//! Cline's hooks, of the CLI and the VS Code extension: one executable an event, by the name of its
//! file.
//!
//! A payload names its event in words of its own (`tool_call`); the command that reads it adds
//! `hook_event_name`, from where it is registered. `cancel` is the only no, and it ends the whole
//! run. The CLI passes over a cancelled prompt and a text for the model; the extension takes both.
//!
//! The extension's hooks have 30 seconds. How exit codes count was never measured: here, as a
//! failure.

use super::decisive::check_understood;
use super::native::AGENT;
use super::replies::{
    BLOCKED, denied_verdict, exit_of_reply, reply_members, text_member, text_or, unreadable_reply,
};
use super::{CodingAgent, Dialect, McpNames, Refusal, named_row};
use hookwire_base::event::{Event, set_pointer};
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::Contract;
use serde_json::{Map, Value, json};

fn is_subagent(payload: &Value) -> bool {
    payload
        .get("parent_agent_id")
        .is_some_and(|parent_agent_id| {
            parent_agent_id
                .as_str()
                .is_some_and(|parent_agent_id| !parent_agent_id.is_empty())
        })
}

fn has_succeeded(payload: &Value) -> bool {
    payload.pointer("/postToolUse/success") != Some(&json!(false))
}

/// Arguments stand twice, of which the second has every value as a text.
const CALL: &[(&str, &str)] = &[
    ("/tool_call/name", "/tool/name"),
    ("/tool_call/id", "/tool/callId"),
    ("/tool_call/input", "/tool/input"),
    ("/preToolUse/toolName", "/tool/name"),
    ("/preToolUse/parameters", "/tool/input"),
];
const RESULT: &[(&str, &str)] = &[
    ("/tool_result/name", "/tool/name"),
    ("/tool_result/id", "/tool/callId"),
    ("/tool_result/input", "/tool/input"),
    ("/tool_result/output", "/tool/output"),
    ("/postToolUse/toolName", "/tool/name"),
    ("/postToolUse/parameters", "/tool/input"),
    ("/postToolUse/result", "/tool/output"),
    ("/postToolUse/executionTimeMs", "/tool/durationMs"),
];

pub(super) static DIALECT: Dialect = Dialect {
    about: ", the CLI and the extension",
    contract: Contract {
        dialect: "cline",
        payload: |event| DIALECT.write_event(event),
        reply: read_reply,
        exit: |event, exit| exit_of_reply(event, exit, read_reply),
        ..AGENT
    },
    events: &[
        named_row("TaskStart", &["agent_start"], "SubagentStart")
            .blocks()
            .picks(is_subagent),
        named_row("TaskStart", &["agent_start"], "RunStart").blocks(),
        named_row("TaskResume", &[], "SessionStart").blocks(),
        named_row("TaskComplete", &["agent_end"], "SubagentStop").picks(is_subagent),
        named_row("TaskComplete", &["agent_end"], "RunEnd").near("Stop"),
        named_row("TaskError", &[], "RunError"),
        named_row("TaskCancel", &[], "RunError"),
        named_row("UserPromptSubmit", &["prompt_submit"], "UserPromptSubmit").members(&[
            ("/userPromptSubmit/prompt", "/prompt"),
            ("/prompt_submit/prompt", "/prompt"),
        ]),
        named_row("PreToolUse", &["tool_call"], "PreToolUse")
            .blocks()
            .rewrites()
            .members(CALL),
        named_row("PostToolUse", &["tool_result"], "PostToolUse")
            .blocks()
            .members(RESULT)
            .picks(has_succeeded),
        named_row("PostToolUse", &["tool_result"], "PostToolUseFailure")
            .blocks()
            .members(RESULT),
        named_row("PreCompact", &[], "PreCompact"),
        named_row("Notification", &[], "Notification"),
        named_row("SessionShutdown", &[], "SessionEnd"),
    ],
    event_name: "/hookName",
    members: &[
        ("/hook_event_name", "/event"),
        ("/sessionContext/rootSessionId", "/session"),
        ("/taskId", "/run"),
        ("/agent_id", "/agent/id"),
        ("/parent_agent_id", "/agent/parent"),
        ("/iteration", "/step"),
    ],
    complete: complete_event,
    reply: write_reply,
    files: None,
    agent: Some(CodingAgent {
        refusal: Refusal::Reply,
        withholds: false,
        mcp: Some(McpNames {
            caller: Some("use_mcp_tool"),
            server: "/tool/input/server_name",
            tool: "/tool/input/tool_name",
            within: None,
        }),
    }),
};

fn complete_event(payload: &Value, event: &mut Value) -> Result<(), String> {
    if let Some(root) = payload
        .pointer("/workspaceRoots/0")
        .filter(|it| it.is_string())
    {
        set_pointer(event, "/cwd", root.clone());
    }
    // The extension has no session above a task.
    if let (None, Some(task)) = (event.get("session"), payload.get("taskId")) {
        set_pointer(event, "/session", task.clone());
    }
    if event["event"] == "PostToolUseFailure"
        && let Some(output) = event
            .pointer("/tool/output")
            .filter(|it| !it.is_null())
            .cloned()
    {
        set_pointer(event, "/tool/error", output);
    }
    Ok(())
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let stricter = match &verdict.subject {
        Some(_)
            if verdict.decision == Decision::Deny
                || !DIALECT.row_of(event).is_some_and(|row| row.blocks) =>
        {
            None
        }
        Some(subject) if DIALECT.takes_rewrites(event) && subject.is_object() => None,
        Some(_) => Some(denied_verdict(
            verdict,
            "a hook rewrote this, and Cline takes no such rewrite",
        )),
        None => None,
    };
    let verdict = stricter.as_ref().unwrap_or(verdict);
    let mut reply = Map::new();
    // The extension takes a cancelled prompt, and where nothing can be cancelled it is passed over.
    let reason = match (&verdict.stop, verdict.decision) {
        (_, Decision::Ask | Decision::Defer | Decision::Deny) => {
            Some(verdict.reason.as_deref().unwrap_or_default())
        }
        (stop, Decision::Allow) => stop.as_deref(),
    };
    if let Some(reason) = reason {
        let messages = verdict.user_messages.iter().cloned();
        let said: Vec<String> = std::iter::once(text_or(reason, BLOCKED))
            .chain(messages)
            .collect();
        reply.insert("cancel".into(), json!(true));
        reply.insert("errorMessage".into(), json!(said.join("\n")));
    } else if let Some(subject) = verdict
        .subject
        .as_ref()
        .filter(|_| DIALECT.takes_rewrites(event))
    {
        reply.insert("overrideInput".into(), subject.clone());
    }
    if !verdict.additional_context.is_empty() {
        let context = json!(verdict.additional_context.join("\n"));
        // The CLI's name and the extension's.
        reply.insert("context".into(), context.clone());
        reply.insert("contextModification".into(), context);
    }
    Value::Object(reply)
}

fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let object = reply_members(&value)?;
    let mut answer = Answer::default();
    let is = |key: &str| match object.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(_) => Err(unreadable_reply(format_args!("`{key}` is not a boolean"))),
    };
    let message = text_member(object, "errorMessage")?;
    if is("cancel")? {
        answer = Answer::decide(Decision::Deny, message.unwrap_or_else(|| BLOCKED.into()));
    } else if is("review")? {
        answer = Answer::decide(
            Decision::Ask,
            message.unwrap_or_else(|| "A hook asks".into()),
        );
    }
    answer.subject = match object.get("overrideInput") {
        None | Some(Value::Null) => None,
        Some(input @ Value::Object(_)) => Some(input.clone()),
        Some(_) => return Err(unreadable_reply("`overrideInput` is not an object")),
    };
    let context = text_member(object, "context")?.or(text_member(object, "contextModification")?);
    answer
        .additional_context
        .extend(context.filter(|context| !context.is_empty()));
    check_understood(event, &value, &["/cancel", "/review"], answer)
}
