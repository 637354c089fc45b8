//! `hookwire approvals`: a person sees what waits for an answer, all of it that decides, and
//! answers.

pub(super) mod approve;
pub(super) mod deny;
pub(super) mod list;

use super::output::{Output, Tone, say_on_stderr};
use super::{Failure, Finding};
use crate::rpc::protocol::ApprovalList;
use hookwire_base::support::amounts::number_of;
use hookwire_base::transport::client::Client;
use hookwire_base::transport::socket;
use hookwire_engine::running::ask;
use hookwire_handlers::services::approval::ApprovalRequest;
use serde_json::{Value, json};
use std::io::BufRead;
#[cfg(feature = "fleet")]
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(clap::Subcommand)]
pub(super) enum Action {
    /// List the questions that wait for a person, in all running hosts.
    List(list::ListArgs),
    /// Answer a question with yes. Without an id, the only one that waits.
    Approve(approve::ApproveArgs),
    /// Answer a question with no. Without an id, the only one that waits.
    Deny(deny::DenyArgs),
}

/// For an answer to a question of a fleet.
#[cfg(feature = "fleet")]
#[derive(clap::Args)]
pub(super) struct SignedArgs {
    /// Answer a question of this fleet: a settings file, or servers as nats://HOST[,HOST].
    #[arg(
        long,
        value_name = "FILE|nats://HOST",
        requires = "key",
        conflicts_with = "remember"
    )]
    pub(super) fleet: Option<String>,
    /// With --fleet: your private key, as `hookwire fleet key` has written it.
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(super) key: Option<PathBuf>,
    /// With --fleet: a file with the key's passphrase on its first line. Without it,
    /// HOOKWIRE_PASSPHRASE counts, else you are asked.
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(super) passphrase_file: Option<PathBuf>,
}

#[cfg(feature = "fleet")]
impl ApprovalsArgs {
    pub(super) fn is_of_fleet(&self) -> bool {
        let fleet = match &self.action {
            Action::List(args) => &args.fleet,
            Action::Approve(args) => &args.signed.fleet,
            Action::Deny(args) => &args.signed.fleet,
        };
        fleet.is_some()
    }
}

pub(super) fn run(args: &ApprovalsArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        Action::List(args) => list::run(args, out),
        Action::Approve(args) => approve::run(args, out),
        Action::Deny(args) => deny::run(args, out),
    }
}

/// Every running host with the questions that wait there. For one that doesn't answer, a line is
/// printed: others may have what is looked for.
fn hosts_with_questions() -> Result<Vec<(Client, ApprovalList)>, Failure> {
    let mut hosts = Vec::new();
    for (path, asked) in ask(socket::of_projects(&[])?, "approvals/list") {
        let read = asked.and_then(|(host, list)| Ok((host, serde_json::from_value(list)?)));
        match read {
            Ok(host) => hosts.push(host),
            Err(problem) => say_on_stderr(format_args!("{}: {problem}", path.display())),
        }
    }
    Ok(hosts)
}

/// Asks on the terminal; only yes is yes.
pub(super) fn says_yes(question: &str) -> Result<bool, Failure> {
    super::output::prompt_person(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

/// The host where a question waits, the root of that host, and the question: the one that is named,
/// or the only one.
fn find_question(id: Option<&str>) -> Result<(Client, String, ApprovalRequest), Failure> {
    let (mut found, mut ids) = (None, Vec::new());
    for (host, mut list) in hosts_with_questions()? {
        list.approvals
            .retain(|approval| id.is_none_or(|id| approval.id == id));
        ids.extend(list.approvals.iter().map(|approval| approval.id.clone()));
        found = list
            .approvals
            .pop()
            .map(|approval| (host, list.root, approval))
            .or(found);
    }
    match (found, id) {
        (Some(found), id) if id.is_some() || ids.len() == 1 => Ok(found),
        (Some(_), _) => Err(Failure(format!(
            "several questions wait, so name one: {}",
            ids.join(", ")
        ))),
        (None, Some(id)) => Err(none_waits(id)),
        (None, None) => Err(Failure(
            "nothing waits for a person; `hookwire approvals list --watch` waits for it".into(),
        )),
    }
}

fn none_waits(id: &str) -> Failure {
    Failure(format!(
        "no approval `{id}` waits in any running host; `hookwire approvals list` lists them"
    ))
}

fn answer_question(
    host: &mut Client,
    id: &str,
    reply: &Value,
    out: &mut Output,
) -> Result<Finding, Failure> {
    host.request("approvals/answer", &json!({ "id": id, "reply": reply }))?;
    if !out.json {
        out.line("Answered.");
    }
    Ok(Finding::Fine)
}

/// How much of a question is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The beginning of what is long, with how much more there is.
    Folded,
    /// All of it.
    Whole,
}

/// A text of more characters or lines than this is folded in a list.
const MAX_FOLDED: usize = 400;
const MAX_LINES: usize = 8;
/// The members that a list shows. What a call with more of them does, nobody sees at a glance.
const MAX_MEMBERS: usize = 40;

/// Who asks, why, where, and what would be done: each member of it on lines of its own. The long
/// ones come first, so that the short ones, of which a path, an amount or a payee is one, stand
/// last, where a terminal ends up.
pub(super) fn show_approval(
    approval: &ApprovalRequest,
    root: &str,
    extent: Extent,
    out: &mut Output,
) {
    let id = out.tone(Tone::Strong, &approval.id);
    let what = approval.tool.as_deref().unwrap_or(&approval.event);
    let who = approval
        .agent
        .as_deref()
        .map(|agent| format!(" of {agent}"))
        .unwrap_or_default();
    out.line(&format!("{id}  {what}{who}"));
    out.line(&format!(
        "          {} asks: {}",
        approval.hook, approval.message
    ));
    let mut members = Vec::new();
    flatten_values("", &approval.subject, &mut members);
    members.sort_by_key(|(_, text)| std::cmp::Reverse(is_long(text)));
    let n_hidden = members.len().saturating_sub(if extent == Extent::Whole {
        usize::MAX
    } else {
        MAX_MEMBERS
    });
    let hidden = |n: &str| {
        format!(
            "          … {n} more: `hookwire approvals list {}` shows all",
            approval.id
        )
    };
    for (name, text) in members.iter().skip(n_hidden) {
        show_member(name, text, extent, hidden, out);
    }
    if n_hidden > 0 {
        out.line(&hidden(&number_of(n_hidden, "member")));
    }
    let place = out.tone(Tone::Dim, approval.cwd.as_deref().unwrap_or(root));
    out.line(&format!("          in {place}"));
}

fn is_long(text: &str) -> bool {
    text.len() > MAX_FOLDED || text.contains('\n')
}

/// A text of one line stands behind its name; one of several lines below, each behind a bar, so
/// that none can pass for a member.
fn show_member(
    name: &str,
    text: &str,
    extent: Extent,
    hidden: impl Fn(&str) -> String,
    out: &mut Output,
) {
    let lines: Vec<&str> = text.split('\n').collect();
    let shown: String = match extent {
        Extent::Whole => text.to_string(),
        Extent::Folded => lines
            .iter()
            .take(MAX_LINES)
            .copied()
            .collect::<Vec<_>>()
            .join("\n")
            .chars()
            .take(MAX_FOLDED)
            .collect(),
    };
    let name = out.tone(Tone::Strong, name);
    if lines.len() > 1 {
        out.line(&format!("          {name}"));
        shown
            .split('\n')
            .for_each(|line| out.line(&format!("          | {line}")));
    } else {
        out.line(&format!("          {name}  {shown}"));
    }
    let n_left = text.chars().count() - shown.chars().count();
    if n_left > 0 {
        out.line(&hidden(&number_of(n_left, "character")));
    }
}

/// The values within a value by their places. As deep as JSON may be.
fn flatten_values(at: &str, value: &Value, members: &mut Vec<(String, String)>) {
    let below = |name: &str| {
        if at.is_empty() {
            name.to_string()
        } else {
            format!("{at}.{name}")
        }
    };
    match value {
        Value::Object(inner) if !inner.is_empty() => inner
            .iter()
            .for_each(|(key, value)| flatten_values(&below(key), value, members)),
        Value::Array(items) if !items.is_empty() => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| flatten_values(&format!("{at}[{n}]"), item, members));
        }
        Value::String(text) => members.push((at.to_string(), text.clone())),
        Value::Null if at.is_empty() => {}
        other => members.push((at.to_string(), other.to_string())),
    }
}
