//! `hookwire approvals` with `--fleet`: questions of any host, answered with an approver's key.

use super::super::approvals::approve::ApproveArgs;
use super::super::approvals::deny::DenyArgs;
use super::super::approvals::list::ListArgs;
use super::super::approvals::{Action, ApprovalsArgs, Extent, SignedArgs, says_yes, show_approval};
use super::super::ending::make_runtime;
use super::super::output::{Output, Tone};
use super::super::{Failure, Finding};
use super::ServerArgs;
use super::key::PassphraseArgs;
use hookwire_engine::fleet::asked::Shown;
use hookwire_fleet::asks::{self, Answered, Decision, Question};
use hookwire_fleet::server::Server;
use hookwire_handlers::services::approval::ApprovalRequest;
use serde_json::{Value, json};
use std::io::IsTerminal;

pub(in crate::cli) fn run(args: &ApprovalsArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        Action::List(args) => list_questions(args, out),
        Action::Approve(args) => approve_question(args, out),
        Action::Deny(args) => deny_question(args, out),
    }
}

/// Lists the questions of a fleet that wait, or shows the one that is named.
fn list_questions(args: &ListArgs, out: &mut Output) -> Result<Finding, Failure> {
    let (server, id) = (
        ServerArgs {
            fleet: args.fleet.clone(),
        },
        args.id.as_deref(),
    );
    let waiting = make_runtime()?.block_on(async {
        let (server, _) = server.connect().await?;
        Ok::<_, Failure>(asks::waiting_questions(&server).await?)
    })?;
    let wanted: Vec<&Question> = waiting
        .iter()
        .filter(|it| id.is_none_or(|id| is_named(it, id)))
        .collect();
    if let (Some(id), true) = (id, wanted.is_empty()) {
        return Err(none_waits(id));
    }
    let extent = if id.is_some() {
        Extent::Whole
    } else {
        Extent::Folded
    };
    wanted.iter().for_each(|it| show_question(it, extent, out));
    if wanted.is_empty() && !out.json {
        out.line(&out.tone(Tone::Dim, "Nothing waits for a person in this fleet."));
    }
    Ok(Finding::Fine)
}

/// Answers a question of a fleet with yes: the one that is named, or the only one.
fn approve_question(args: &ApproveArgs, out: &mut Output) -> Result<Finding, Failure> {
    let ApproveArgs {
        id,
        reason,
        yes,
        signed,
        ..
    } = args;
    let reply = Reply {
        decision: Decision::Approve,
        reason: reason.as_deref(),
        is_meant: *yes,
    };
    answer_question(signed, id.as_deref(), &reply, out)
}

/// Answers a question of a fleet with no.
fn deny_question(args: &DenyArgs, out: &mut Output) -> Result<Finding, Failure> {
    let DenyArgs {
        id, reason, signed, ..
    } = args;
    let reply = Reply {
        decision: Decision::Deny,
        reason: reason.as_deref(),
        is_meant: true,
    };
    answer_question(signed, id.as_deref(), &reply, out)
}

/// What is answered.
struct Reply<'a> {
    decision: Decision,
    reason: Option<&'a str>,
    /// Nobody need be asked on a terminal whether it is meant.
    is_meant: bool,
}

fn answer_question(
    args: &SignedArgs,
    id: Option<&str>,
    reply: &Reply<'_>,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let runtime = make_runtime()?;
    let no_key = || Failure("an answer is signed: name your private key by --key FILE".into());
    let file = args.key.clone().ok_or_else(no_key)?;
    let passphrase = PassphraseArgs {
        passphrase_file: args.passphrase_file.clone(),
    };
    let key = passphrase.read_keys(&[file])?.pop().ok_or_else(no_key)?;
    let server = ServerArgs {
        fleet: args.fleet.clone(),
    };
    let (server, question): (Server, Question) = runtime.block_on(async {
        let (server, _) = server.connect().await?;
        let mut waiting = asks::waiting_questions(&server).await?;
        waiting.retain(|waiting| id.is_none_or(|id| is_named(waiting, id)));
        match (waiting.len(), waiting.pop(), id) {
            (1, Some(question), _) => Ok((server, question)),
            (_, Some(last), _) => {
                let names: Vec<&str> = waiting
                    .iter()
                    .chain([&last])
                    .map(|it| it.ask.as_str())
                    .collect();
                Err(Failure(format!(
                    "several questions wait, so name one: {}",
                    names.join(", ")
                )))
            }
            (_, None, Some(id)) => Err(none_waits(id)),
            (_, None, None) => Err(Failure("nothing waits for a person in this fleet".into())),
        }
    })?;
    // Nobody can mean what they haven't seen, so it is shown before the answer counts.
    show_question(&question, Extent::Whole, out);
    if !reply.is_meant && std::io::stdin().is_terminal() && !says_yes("Approve this?")? {
        out.line("It still waits.");
        return Ok(Finding::Found);
    }
    let answered = runtime.block_on(asks::answer_question(
        &server,
        &question,
        reply.decision,
        reply.reason,
        &key,
    ))?;
    match answered {
        Answered::First if out.json => out.json(&json!({ "ask": question.ask, "answered": true })),
        Answered::First => out.line("Answered."),
        Answered::TooLate => {
            return Err(Failure(format!(
                "somebody else has answered `{}` before",
                question.ask
            )));
        }
    }
    Ok(Finding::Fine)
}

/// Whether a question has a name that begins so; the whole is 16 digits.
fn is_named(question: &Question, id: &str) -> bool {
    id.len() >= MIN_ID && question.ask.as_str().starts_with(id)
}

/// The fewest digits that name a question.
const MIN_ID: usize = 4;

fn none_waits(id: &str) -> Failure {
    Failure(format!(
        "no question `{id}` waits in this fleet; `hookwire approvals list --fleet …` lists them"
    ))
}

/// A question as a host has asked it. What it says comes from there, so it is shown like any text
/// that isn't ours.
fn show_question(question: &Question, extent: Extent, out: &mut Output) {
    let Question {
        who, ask, expires, ..
    } = question;
    let Shown {
        asked,
        project,
        request,
    } = Shown::of(question);
    if out.json {
        return out
            .json(&json!({ "ask": ask, "host": who.host, "expires": expires, "question": asked }));
    }
    match request {
        Some(request) => {
            let place = format!(
                "{}:{}",
                who.host,
                request.cwd.as_deref().unwrap_or(&project)
            );
            show_approval(
                &ApprovalRequest {
                    cwd: Some(place),
                    ..request
                },
                &project,
                extent,
                out,
            );
        }
        None => show_unknown(ask.as_str(), &asked, out),
    }
}

/// A question of another version of hookwire.
fn show_unknown(ask: &str, asked: &Value, out: &mut Output) {
    out.line(&format!(
        "{}  asked by another version of hookwire:",
        out.tone(Tone::Strong, ask)
    ));
    out.line(&format!("          {asked}"));
}
