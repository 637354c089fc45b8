//! Qwen Code's hooks: Claude Code's form with Gemini CLI's names of tools.
//!
//! Qwen Code ignores a new input and runs the original, 0.24.4 too, so a rewrite is a deny.
//! `stop_hook_active` is true at the first stop already and says nothing; hookwire counts for
//! itself how often an agent was sent back.
//!
//! After the result of a tool it sends a second UserPromptSubmit with an empty prompt.

use super::claude_code::{self, plain_stdout, reason_of_deny, reply_on_stdout};
use super::native::AGENT;
use super::replies::{BLOCKED, bad_exit, denied_verdict, text_or};
use super::{CodingAgent, Dialect, Refusal, canonical_row, settings};
use hookwire_base::event::{Event, Phase};
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::{Contract, Exit};
use hookwire_rules::matching::MatcherRule;
use serde_json::Value;
use std::time::Duration;

pub(super) static DIALECT: Dialect = Dialect {
    about: "",
    contract: Contract {
        dialect: "qwen",
        runs_equal_hooks_once: true,
        matcher: MatcherRule::Search,
        matched: claude_code::matcher_target,
        timeout: Duration::from_secs(60),
        project_variables: &[
            "QWEN_PROJECT_DIR",
            "GEMINI_PROJECT_DIR",
            "CLAUDE_PROJECT_DIR",
        ],
        decisions: &[Decision::Ask],
        context_resumes: true,
        payload: |event| DIALECT.write_event(event),
        reply: |event, reply| claude_code::read_reply(&DIALECT, event, reply),
        exit: read_exit,
        ..AGENT
    },
    events: &[
        canonical_row("SessionStart"),
        canonical_row("SessionEnd"),
        canonical_row("UserPromptSubmit").blocks(),
        canonical_row("UserPromptExpansion").blocks(),
        canonical_row("InstructionsLoaded"),
        canonical_row("PreToolUse").blocks(),
        canonical_row("PermissionRequest").blocks(),
        canonical_row("PermissionDenied"),
        canonical_row("PostToolUse").blocks(),
        canonical_row("PostToolUseFailure").blocks().members(&[
            ("/error", "/tool/error"),
            ("/is_interrupt", "/tool/isInterrupt"),
        ]),
        canonical_row("PostToolBatch").blocks(),
        canonical_row("Notification"),
        canonical_row("MessageDisplay"),
        canonical_row("Stop").blocks(),
        canonical_row("StopFailure").members(&[("/error", "/error")]),
        canonical_row("SubagentStart"),
        canonical_row("SubagentStop").blocks(),
        canonical_row("PreCompact").blocks(),
        canonical_row("PostCompact"),
    ],
    event_name: "/hook_event_name",
    members: &[
        ("/session_id", "/session"),
        ("/cwd", "/cwd"),
        ("/model", "/model/name"),
        ("/tool_name", "/tool/name"),
        ("/tool_use_id", "/tool/callId"),
        ("/tool_input", "/tool/input"),
        ("/tool_response", "/tool/output"),
        ("/prompt", "/prompt"),
        ("/agent_type", "/agent/name"),
        ("/agent_id", "/agent/id"),
        ("/last_assistant_message", "/lastMessage"),
        ("/compact_summary", "/summary"),
    ],
    complete: |_, event| {
        if let Some(event) = event.as_object_mut() {
            event.remove("stop_hook_active");
        }
        Ok(())
    },
    reply: write_reply,
    files: Some(settings::FILES),
    agent: Some(CodingAgent {
        refusal: Refusal::ExitCode(&["PermissionRequest"]),
        withholds: false,
        mcp: None,
    }),
};

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let takes_rewrite = DIALECT.takes_rewrites(event);
    match verdict.subject {
        Some(_)
            if !takes_rewrite
                && event.spec.phase != Phase::Note
                && verdict.decision != Decision::Deny =>
        {
            let denied = denied_verdict(
                verdict,
                "a hook rewrote this, and Qwen Code ignores rewrites",
            );
            claude_code::write_reply(&DIALECT, event, &denied)
        }
        _ => claude_code::write_reply(
            &DIALECT,
            event,
            &Verdict {
                subject: None,
                ..verdict.clone()
            },
        ),
    }
}

fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    let reply = reply_on_stdout(event, stdout, DIALECT.contract.reply);
    match exit.code {
        Some(0) => reply.unwrap_or_else(|| Ok(plain_stdout(event, stdout))),
        Some(2) => {
            let reason =
                reason_of_deny(reply).unwrap_or_else(|| text_or(exit.stderr.trim(), BLOCKED));
            Ok(claude_code::block_event(&DIALECT, event, reason))
        }
        Some(_) | None => Err(bad_exit(exit)),
    }
}
