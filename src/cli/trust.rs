//! `hookwire trust`: which projects' own definitions are in force, and in which state.

use super::approvals::says_yes;
use super::mcp::pins_file;
use super::output::{Output, Tone, safe, say_on_stderr};
use super::{Failure, Finding, find_project, unasked};
use clap::{Args, Command};
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::nearest::closest;
use hookwire_engine::definitions::approved::{self, DEFINITIONS, State};
use hookwire_engine::running::reload_all;
use hookwire_engine::trust::shown::{Look, shown, summary};
use hookwire_engine::trust::{self, Review, Trusted};
use hookwire_gateway::pins::Pins;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct TrustArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// The project root; else the nearest directory upwards that is a project's.
    #[arg(value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// Approve without being asked.
    #[arg(long)]
    yes: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the projects whose definitions are trusted, and the MCP servers whose tools are pinned.
    /// Exits with 1 if a project has changed since.
    List,
    /// Show what would be asked, and ask nothing. Exits with 1 if there is something to approve.
    Show {
        /// The project root; else the nearest directory upwards that is a project's.
        #[arg(value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
        root: PathBuf,
    },
    /// Take a project's definitions out of force, or forget an MCP server's tools. Exits with 1 if
    /// they weren't in force.
    Revoke {
        /// Forget what is pinned of this MCP server's tools: they are pinned anew at their next use.
        #[arg(long, value_name = "SERVER", conflicts_with = "root")]
        mcp: Option<String>,
        /// The project root; else the nearest directory upwards that is a project's.
        #[arg(value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
        root: PathBuf,
    },
}

pub(super) fn run(args: &TrustArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        None => {
            refuse_misspelt(&args.root)?;
            review_project(args, out)
        }
        Some(Action::List) => list_trusted(out),
        Some(Action::Show { root }) => {
            let review = trust::review(&store_dir(root)?, root)?;
            show_review(&review, out);
            Ok(if review.is_as_before() {
                Finding::Fine
            } else {
                Finding::Found
            })
        }
        Some(Action::Revoke {
            mcp: Some(server), ..
        }) => forget_server(server, out),
        Some(Action::Revoke { root, mcp: None }) => {
            let mut was_trusted = false;
            for store in approved::stores() {
                was_trusted |= trust::revoke(&store, root)?;
            }
            reload_hosts();
            let root = root.canonicalize().unwrap_or_else(|_| root.clone());
            let root = root.display();
            if out.json {
                out.json(&json!({ "revoked": was_trusted }));
            } else if was_trusted {
                out.line(&format!("The definitions of {root} are in force no more."));
            } else {
                out.line(&format!("The definitions of {root} were not trusted."));
            }
            Ok(if was_trusted {
                Finding::Fine
            } else {
                Finding::Found
            })
        }
    }
}

/// Refuses a word that is no directory and nearly a subcommand's name.
fn refuse_misspelt(word: &Path) -> Result<(), Failure> {
    let command = TrustArgs::augment_args(Command::new("trust"));
    let near = closest(
        &word.to_string_lossy(),
        command.get_subcommands().map(Command::get_name),
    );
    match near.filter(|_| !word.exists()) {
        Some(near) => Err(Failure(format!(
            "{}: no such directory; did you mean `hookwire trust {near}`?",
            word.display()
        ))),
        None => Ok(()),
    }
}

/// The place of what is approved of a project.
fn store_dir(root: &Path) -> Result<PathBuf, Failure> {
    approved::store(root).ok_or_else(|| Failure("you have no home directory to keep it in".into()))
}

fn review_project(args: &TrustArgs, out: &mut Output) -> Result<Finding, Failure> {
    let store = store_dir(&args.root)?;
    let review = trust::review(&store, &args.root)?;
    show_review(&review, out);
    if review.is_as_before() {
        return Ok(Finding::Fine);
    }
    review.sound()?;
    if review.is_empty && review.before.is_none() {
        return Err(Failure(format!(
            "{}: nothing of it would be in force",
            review.root.join(DEFINITIONS).display()
        )));
    }
    if !args.yes {
        if !std::io::stdin().is_terminal() {
            return Err(Failure(
                "nobody is there to answer; `--yes` approves it, once you have read it".into(),
            ));
        }
        if !says_yes(
            "Trust these definitions? They decide what your agents may do, and run as you.",
        )? {
            out.line("Nothing was changed.");
            return Ok(Finding::Found);
        }
    }
    review
        .approve(&store)
        .map_err(|error| Failure(format!("keep what was approved: {error}")))?;
    // A host would find out by itself, but not before the next call of its agent.
    reload_hosts();
    if !out.json {
        let said = out.tone(Tone::Good, "These definitions are in force from now on.");
        out.line(&format!(
            "{said} Edits of them are not, until you trust those too."
        ));
    }
    Ok(Finding::Fine)
}

/// Has every running host read its definitions before this returns.
pub(super) fn reload_hosts() {
    for (path, problem) in reload_all() {
        say_on_stderr(format_args!(
            "{}: it may not have read them yet: {problem}",
            path.display()
        ));
    }
}

fn list_trusted(out: &mut Output) -> Result<Finding, Failure> {
    let mut finding = Finding::Fine;
    let all = trust::all(&approved::stores())?;
    for Trusted { root, state } in &all {
        let State { record, .. } = match state {
            Ok(state) => state,
            Err(problem) => {
                finding = Finding::Found;
                if out.json {
                    out.json(&json!({ "root": root, "broken": problem }));
                } else {
                    let problem =
                        format!("broken: {problem}; `hookwire trust` there makes it anew");
                    let problem = out.tone(Tone::Bad, &safe(&problem));
                    out.line(&format!("{}  {problem}", safe(&root.to_string_lossy())));
                }
                continue;
            }
        };
        let changed = record.changed();
        let is_gone = !record.root.is_dir();
        if !changed.is_empty() || is_gone {
            finding = Finding::Found;
        }
        if out.json {
            out.json(&json!({ "root": record.root, "at": record.at, "files": record.files.len(), "changed": changed }));
            continue;
        }
        let state = match changed.len() {
            _ if is_gone => out.tone(Tone::Warn, "the project is gone: `hookwire trust revoke`"),
            0 => out.tone(Tone::Good, "as trusted"),
            1 => out.tone(
                Tone::Warn,
                &format!("`{}` changed since", changed[0].display()),
            ),
            n => out.tone(Tone::Warn, &format!("{n} files changed since")),
        };
        out.line(&format!(
            "{}  {}  {state}",
            safe(&record.root.to_string_lossy()),
            record.at
        ));
    }
    if all.is_empty() && !out.json {
        out.line("No project is trusted.");
    }
    for (path, kept) in pins_file::all() {
        finding = list_pinned(&path, kept, out).unwrap_or(finding);
    }
    Ok(finding)
}

/// Lists the tools that are pinned of a server; a finding if they can't be read.
fn list_pinned(path: &Path, kept: Result<Pins, String>, out: &mut Output) -> Option<Finding> {
    let Pins {
        server,
        from,
        tools,
    } = match kept {
        Ok(pins) => pins,
        Err(problem) => {
            if out.json {
                out.json(&json!({ "file": path, "broken": problem }));
            } else {
                let problem = format!("broken: {problem}");
                let problem = out.tone(Tone::Bad, &safe(&problem));
                out.line(&format!("{}  {problem}", safe(&path.to_string_lossy())));
            }
            return Some(Finding::Found);
        }
    };
    if out.json {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, pin)| json!({ "name": name, "at": pin.at }))
            .collect();
        out.json(&json!({ "server": server, "from": from, "tools": tools }));
    } else {
        let n_tools = number_of(tools.len(), "tool");
        let line = format!("MCP server `{server}` ({from})  {n_tools} pinned");
        out.line(&safe(&line));
    }
    None
}

/// Forgets what is pinned of a server.
fn forget_server(server: &str, out: &mut Output) -> Result<Finding, Failure> {
    let n_forgotten = pins_file::forget(server)?;
    if out.json {
        out.json(&json!({ "revoked": n_forgotten > 0 }));
    } else if n_forgotten > 0 {
        out.line(&format!(
            "The tools of `{server}` are pinned anew at their next use."
        ));
    } else {
        out.line(&format!("No tools of `{server}` were pinned."));
    }
    Ok(if n_forgotten > 0 {
        Finding::Fine
    } else {
        Finding::Found
    })
}

/// Prints what there is to approve.
pub(super) fn show_review(review: &Review, out: &mut Output) {
    if out.json {
        out.json(&summary(review));
        return;
    }
    for (look, text) in shown(review) {
        let tone = match look {
            Look::Head => Tone::Strong,
            Look::Added => Tone::Good,
            Look::Removed | Look::Mistake => Tone::Bad,
            Look::Loosened => Tone::Warn,
            Look::Beside => Tone::Dim,
            Look::Plain => Tone::Plain,
        };
        let text = out.tone(tone, &text);
        out.line(&text);
    }
    unasked::print_notes(&review.hooks, &review.root, out);
}
