//! `hookwire host stop`: the end of hosts.

use super::super::output::{Output, say_on_stderr};
use super::super::{Failure, Finding, find_project};
use hookwire_engine::running::{self, Running, Stopped};
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct StopArgs {
    /// The project root of the hosts; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// End the hosts of all projects.
    #[arg(long, conflicts_with = "root")]
    all: bool,
}

pub(super) fn run(args: &StopArgs, out: &mut Output) -> Result<Finding, Failure> {
    let root = (!args.all).then_some(&*args.root);
    let hosts = running::find(root)?;
    if hosts.is_empty() && !out.json {
        out.line(if args.all {
            "No host runs."
        } else {
            "No host of this project runs; `--all` ends those of others."
        });
    }
    let mut has_failed = false;
    for host in hosts {
        has_failed |= !end_host(host, out);
    }
    Ok(if has_failed {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// Ends one host, and says what became of it; whether it ended.
fn end_host(mut host: Running, out: &mut Output) -> bool {
    let socket = host.socket.clone();
    let (pid, root, ended) = match host.process() {
        Ok((pid, root, _)) => (pid, root, host.stop()),
        Err(error) => (0, socket.display().to_string(), Err(error)),
    };
    if out.json {
        let error = ended.as_ref().err().map(ToString::to_string);
        out.json(&json!({ "socket": socket, "pid": pid, "root": root,
            "stopped": matches!(ended, Ok(Stopped::Gone)), "error": error }));
        return ended.is_ok();
    }
    match &ended {
        Ok(Stopped::Gone) => out.line(&format!("{root}: process {pid} has ended.")),
        Ok(Stopped::WhenLeft) => {
            out.line(&format!(
                "{root}: process {pid} takes nobody any more and ends when its clients have gone."
            ));
        }
        Err(error) => say_on_stderr(format_args!("{root}: process {pid} runs on: {error}")),
    }
    ended.is_ok()
}
