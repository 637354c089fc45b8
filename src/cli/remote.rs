//! `state`, `approvals`, `approve` and `deny`: what talks to a running host over its socket.

use super::output::{Output, Tone, safe, short};
use super::{Failure, Finding, project};
use crate::rpc::protocol::ApprovalList;
use crate::support::amounts::millis;
use crate::transport::client::Client;
use crate::transport::hosts::{TIME_LIMIT, ask_all};
use crate::transport::socket;
use serde_json::{Value, json};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct StateArgs {
    #[command(subcommand)]
    action: StateAction,
    /// The session that the values belong to; in a hook's command, the event's session.
    #[arg(long, global = true, env = "HOOKWIRE_SESSION")]
    session: Option<String>,
    /// Use the values that all sessions share, even if a session is given.
    #[arg(long, global = true)]
    shared: bool,
    /// The project root of the host; else the nearest directory upwards that is a project's.
    #[arg(long, global = true, value_name = "DIR", default_value_os_t = project(), hide_default_value = true)]
    root: PathBuf,
}

#[derive(clap::Subcommand)]
enum StateAction {
    /// Print a value. Exits with 1 if there is none.
    Get {
        /// The key.
        key: String,
    },
    /// Set a value.
    Set {
        /// The key.
        key: String,
        /// JSON; what isn't JSON is taken as a text.
        value: String,
        /// How long it is kept: `10m`, `2h`.
        #[arg(long, value_parser = humantime::parse_duration)]
        ttl: Option<Duration>,
    },
    /// Add to a number and print the sum.
    Increment {
        /// The key.
        key: String,
        /// What to add.
        #[arg(default_value = "1", allow_negative_numbers = true)]
        by: serde_json::Number,
        /// How long a new number is kept, from now: `10m`, `2h`. One that is there keeps its own time.
        #[arg(long, value_parser = humantime::parse_duration)]
        ttl: Option<Duration>,
    },
    /// Set a value if the present one is the expected one. Exits with 1 if it isn't.
    CompareAndSet {
        /// The key.
        key: String,
        /// The new value, as for `set`.
        value: String,
        /// The value that must be there; without it, none may be.
        #[arg(long)]
        expected: Option<String>,
        /// How long it is kept: `10m`, `2h`.
        #[arg(long, value_parser = humantime::parse_duration)]
        ttl: Option<Duration>,
    },
    /// Remove a value. Exits with 1 if there was none.
    Delete {
        /// The key.
        key: String,
    },
    /// Print keys and values.
    List {
        /// What the keys start with.
        #[arg(default_value = "")]
        prefix: String,
    },
}

#[derive(clap::Args)]
pub(super) struct ApproveArgs {
    /// The question, as `hookwire approvals` names it.
    id: String,
    /// Do this instead: the new value of what was asked about, as JSON.
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// A message for the agent.
    #[arg(long)]
    reason: Option<String>,
    /// Give the same answer to the same question for the rest of the session.
    #[arg(long)]
    remember: bool,
}

#[derive(clap::Args)]
pub(super) struct DenyArgs {
    /// The question, as `hookwire approvals` names it.
    id: String,
    /// Why; the agent reads it.
    #[arg(long)]
    reason: Option<String>,
    /// Give the same answer to the same question for the rest of the session.
    #[arg(long)]
    remember: bool,
}

/// Connects to the host that runs the hook, else to the one of a project.
fn connect(root: &Path) -> Result<Client, Failure> {
    if let Some(path) = std::env::var_os("HOOKWIRE_SOCKET") {
        let stream = UnixStream::connect(&path);
        let stream = stream.map_err(|error| Failure(format!("{}: {error}", Path::new(&path).display())))?;
        return Ok(Client::new(stream, TIME_LIMIT)?);
    }
    let mut running = socket::connect_to_hosts(Some(root))?;
    match running.len() {
        0 => Err(Failure(format!("no host runs for {} (`hookwire serve --root {0}` does)", root.display()))),
        1 => Ok(Client::new(running.remove(0).1, TIME_LIMIT)?),
        _ => {
            let paths: Vec<_> = running.iter().map(|(path, _)| path.display().to_string()).collect();
            let root = root.display();
            Err(Failure(format!("several hosts run for {root}; set HOOKWIRE_SOCKET to one of {}", paths.join(", "))))
        }
    }
}

pub(super) fn state(args: &StateArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut host = connect(&args.root)?;
    let session = args.session.as_ref().filter(|session| !args.shared && !session.is_empty());
    let mut ask = |method: &str, mut params: Value| {
        params["session"] = json!(session);
        host.request(method, &params)
    };
    let ttl = |ttl: &Option<Duration>| ttl.map(millis);
    let found = |found| if found { Finding::Fine } else { Finding::Found };
    Ok(match &args.action {
        StateAction::Get { key } => {
            let mut reply = ask("state/get", json!({ "key": key }))?;
            match reply.get_mut("value") {
                Some(value) => {
                    print_value(out, value);
                    Finding::Fine
                }
                None => Finding::Found,
            }
        }
        StateAction::Set { key, value, ttl: time } => {
            ask("state/set", json!({ "key": key, "value": json_or_text(value), "ttlMs": ttl(time) }))?;
            Finding::Fine
        }
        StateAction::Increment { key, by, ttl: time } => {
            print_value(out, &ask("state/increment", json!({ "key": key, "by": by, "ttlMs": ttl(time) }))?["value"]);
            Finding::Fine
        }
        StateAction::CompareAndSet { key, value, expected, ttl: time } => {
            let mut params = json!({ "key": key, "value": json_or_text(value), "ttlMs": ttl(time) });
            if let Some(expected) = expected {
                params["expected"] = json_or_text(expected);
            }
            found(ask("state/compareAndSet", params)?["set"] == true)
        }
        StateAction::Delete { key } => found(ask("state/delete", json!({ "key": key }))?["deleted"] == true),
        StateAction::List { prefix } => {
            let reply = ask("state/list", json!({ "prefix": prefix, "limit": usize::MAX }))?;
            for item in reply["items"].as_array().into_iter().flatten() {
                if out.json {
                    out.json(item);
                } else {
                    let key = safe(item["key"].as_str().unwrap_or_default());
                    out.line(&format!("{key:<24} {}", safe(&item["value"].to_string())));
                }
            }
            Finding::Fine
        }
    })
}

fn json_or_text(text: &str) -> Value {
    crate::support::json::parse(text).unwrap_or_else(|_| Value::String(text.to_string()))
}

/// Prints a value for a shell: texts as they are, others as JSON.
fn print_value(out: &mut Output, value: &Value) {
    match value {
        Value::String(text) if !out.json => out.line(text),
        value => out.json(value),
    }
}

/// Every running host with the questions that wait there. For one that doesn't answer, a line is printed: others may
/// have what is looked for.
fn hosts() -> Result<Vec<(Client, ApprovalList)>, Failure> {
    let mut hosts = Vec::new();
    for (path, asked) in ask_all("approvals/list")? {
        let read = asked.and_then(|(host, list)| Ok((host, serde_json::from_value(list)?)));
        match read {
            Ok(host) => hosts.push(host),
            Err(problem) => eprintln!("hookwire: {}: {problem}", path.display()),
        }
    }
    Ok(hosts)
}

pub(super) fn approvals(out: &mut Output) -> Result<Finding, Failure> {
    let mut n_waiting = 0;
    for (_, list) in hosts()? {
        n_waiting += list.approvals.len();
        if out.json {
            out.json(&list);
            continue;
        }
        for approval in &list.approvals {
            let id = out.tone(Tone::Strong, &approval.id);
            let what = approval.tool.as_deref().unwrap_or(&approval.event);
            let who = approval.agent.as_deref().map(|agent| format!(" of {agent}")).unwrap_or_default();
            out.line(&format!("{id}  {}{}: {}", safe(what), safe(&who), short(&approval.subject.to_string(), 200)));
            out.line(&format!("          {} asks: {}", safe(&approval.hook), safe(&approval.message)));
            let place = out.tone(Tone::Dim, &safe(approval.cwd.as_ref().unwrap_or(&list.root)));
            out.line(&format!("          {place}"));
        }
    }
    if n_waiting == 0 && !out.json {
        let none = out.tone(Tone::Dim, "Nothing waits for a person.");
        out.line(&none);
    }
    Ok(Finding::Fine)
}

pub(super) fn approve(args: &ApproveArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut reply = json!({ "decision": "approve", "reason": args.reason, "remember": args.remember });
    if let Some(input) = &args.input {
        let input =
            crate::support::json::parse(input).map_err(|error| Failure(format!("--input is not JSON: {error}")))?;
        reply["subject"] = input;
    }
    answer(&args.id, &reply, out)
}

pub(super) fn deny(args: &DenyArgs, out: &mut Output) -> Result<Finding, Failure> {
    answer(&args.id, &json!({ "decision": "deny", "reason": args.reason, "remember": args.remember }), out)
}

fn answer(id: &str, reply: &Value, out: &mut Output) -> Result<Finding, Failure> {
    for (mut host, list) in hosts()? {
        if list.approvals.iter().any(|approval| approval.id == id) {
            host.request("approvals/answer", &json!({ "id": id, "reply": reply }))?;
            out.line("Answered.");
            return Ok(Finding::Fine);
        }
    }
    Err(Failure(format!("no approval `{id}` waits in any running host; `hookwire approvals` lists them")))
}
