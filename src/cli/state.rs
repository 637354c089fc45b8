//! `hookwire state`: the values that hooks share in a running host, over its socket.

use super::output::{Output, safe};
use super::{Failure, Finding, find_project};
use hookwire_base::support::amounts::millis;
use hookwire_base::transport::client::Client;
use hookwire_engine::running::{self, TIME_LIMIT};
use serde_json::{Value, json};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct StateArgs {
    #[command(subcommand)]
    pub(super) action: StateAction,
    /// The session that the values belong to; in a hook's command, the event's session.
    #[arg(long, global = true, env = "HOOKWIRE_SESSION")]
    session: Option<String>,
    /// Use the values that all sessions share, even if a session is given.
    #[arg(long, global = true)]
    shared: bool,
    /// The project root of the host; else the nearest directory upwards that is a project's.
    #[arg(long, global = true, value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// Use the values that all hosts of this fleet share: a settings file, or servers as
    /// nats://HOST[,HOST].
    #[cfg(feature = "fleet")]
    #[arg(long, global = true, value_name = "FILE|nats://HOST")]
    pub(super) fleet: Option<String>,
}

#[derive(clap::Subcommand)]
pub(super) enum StateAction {
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
        /// How long a new number is kept, from now: `10m`, `2h`. One that is there keeps its own
        /// time.
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

/// Connects to the host that runs the hook, else to the one of a project.
fn connect_to_host(root: &Path) -> Result<Client, Failure> {
    if let Some(path) = std::env::var_os("HOOKWIRE_SOCKET") {
        let stream = UnixStream::connect(&path);
        let stream =
            stream.map_err(|error| Failure(format!("{}: {error}", Path::new(&path).display())))?;
        return Ok(Client::new(stream, TIME_LIMIT)?);
    }
    Ok(running::only(root)?)
}

/// The run of a hook that this command is a part of, if it is part of one.
fn hook_occasion() -> Option<Value> {
    let of = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    Some(
        json!({ "event": of("HOOKWIRE_EVENT_ID")?, "hook": of("HOOKWIRE_HOOK")?, "run": of("HOOKWIRE_CALL_ID")? }),
    )
}

pub(super) fn run(args: &StateArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut host = connect_to_host(&args.root)?;
    let session = args
        .session
        .as_ref()
        .filter(|session| !args.shared && !session.is_empty());
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
        StateAction::Set {
            key,
            value,
            ttl: time,
        } => {
            ask(
                "state/set",
                json!({ "key": key, "value": json_or_text(value), "ttlMs": ttl(time) }),
            )?;
            Finding::Fine
        }
        StateAction::Increment { key, by, ttl: time } => {
            let mut params = json!({ "key": key, "by": by, "ttlMs": ttl(time) });
            if let Some(occasion) = hook_occasion() {
                params["occasion"] = occasion;
            }
            print_value(out, &ask("state/increment", params)?["value"]);
            Finding::Fine
        }
        StateAction::CompareAndSet {
            key,
            value,
            expected,
            ttl: time,
        } => {
            let mut params =
                json!({ "key": key, "value": json_or_text(value), "ttlMs": ttl(time) });
            if let Some(expected) = expected {
                params["expected"] = json_or_text(expected);
            }
            found(ask("state/compareAndSet", params)?["set"] == true)
        }
        StateAction::Delete { key } => {
            found(ask("state/delete", json!({ "key": key }))?["deleted"] == true)
        }
        StateAction::List { prefix } => {
            let reply = ask(
                "state/list",
                json!({ "prefix": prefix, "limit": usize::MAX }),
            )?;
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

pub(super) fn json_or_text(text: &str) -> Value {
    hookwire_base::support::json::parse(text).unwrap_or_else(|_| Value::String(text.to_string()))
}

/// Prints a value for a shell: texts as they are, others as JSON.
pub(super) fn print_value(out: &mut Output, value: &Value) {
    match value {
        Value::String(text) if !out.json => out.value(text),
        value => out.json(value),
    }
}
