//! `hookwire install --mcp FILE`: `hookwire mcp` before each server that a client's file names.
//!
//! Any client's file will do: the servers are looked for where clients have them, and an entry that
//! says what to start is one that can be wrapped. All else of the file stays as it is written.

use super::install::{
    Change, Entry, InstallArgs, Kind, PlaceOfEntry, own_program, path_text, read_file, value_of,
};
use super::kept::{self, Before, Kept};
use super::output::{Output, Tone, safe};
use super::{Failure, Finding};
use hookwire_ask::project::DEFINITIONS;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::{places, shell_word};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_rules::agents::{AGENTS, Agent};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where clients have their servers: Claude Desktop, Cursor and most others; VS Code; Codex; Zed;
/// Amp; VS Code's settings; OpenCode.
const PLACES: [&[&str]; 7] = [
    &["mcpServers"],
    &["servers"],
    &["mcp_servers"],
    &["context_servers"],
    &["amp.mcpServers"],
    &["mcp", "servers"],
    &["mcp"],
];
/// The program as it is found on `PATH`.
const SHARED: &str = "hookwire";

/// A server of a file.
struct Server<'v> {
    name: &'v str,
    /// What it is started by, without the gateway.
    words: Vec<String>,
    /// The same as it stands there.
    written: Vec<String>,
    /// The command and its arguments are one list.
    is_list: bool,
}

/// What is left alone, and why.
type Left = (String, String);

pub(super) fn install(args: &InstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    let place = args.place_of_entry();
    let path = file_of(place)?;
    refuse_twice(&path)?;
    let file = ServersFile::read(&path)?;
    let (servers, left) = file.servers();
    let options = args.option_words()?;
    let wrapper = Wrapper::new(args.is_shared(), &path, options)?;
    let wrapped = |server: &Server<'_>| wrapper.words(server);
    let change = file.change(&servers, wrapped, false)?;
    let n_changed = place.carry_out(&[change], true, out)?;
    let names: Vec<&str> = servers.iter().map(|server| server.name).collect();
    tell(place, &path, n_changed, &names, &left, out);
    if n_changed == 0 && !out.json {
        out.line(&match names.is_empty() {
            true => format!("{}: no server there can be guarded.", path.display()),
            false => format!("The servers of {} are guarded already.", path.display()),
        });
    } else if !place.is_dry_run() && !out.json {
        out.line(&format!(
            "{}: {} behind `hookwire mcp`: {}. Restart the client. `hookwire uninstall --mcp {}` takes it back.",
            path.display(),
            number_of(names.len(), "server"),
            safe(&names.join(", ")),
            shell_word::argument(&path.to_string_lossy())
        ));
    }
    Ok(Finding::Fine)
}

pub(super) fn uninstall(place: &PlaceOfEntry, out: &mut Output) -> Result<Finding, Failure> {
    let path = file_of(place)?;
    let file = ServersFile::read(&path)?;
    let (servers, _) = file.servers();
    let own: Vec<Server<'_>> = servers
        .into_iter()
        .filter(|server| server.words != server.written)
        .collect();
    let change = file.change(&own, |server| server.words.clone(), true)?;
    let n_changed = place.carry_out(&[change], false, out)?;
    let names: Vec<&str> = own.iter().map(|server| server.name).collect();
    tell(place, &path, n_changed, &names, &[], out);
    if !out.json && n_changed == 0 {
        out.line(&format!(
            "{}: no server is behind `hookwire mcp`.",
            path.display()
        ));
    } else if !out.json && !place.is_dry_run() {
        out.line(&format!(
            "{}: its servers are started as before.",
            path.display()
        ));
    }
    Ok(Finding::Fine)
}

fn tell(
    place: &PlaceOfEntry,
    path: &Path,
    n_changed: usize,
    names: &[&str],
    left: &[Left],
    out: &mut Output,
) {
    if out.json {
        let left: Vec<Value> = left
            .iter()
            .map(|(name, why)| json!({ "server": name, "why": why }))
            .collect();
        let changed = n_changed > 0 && !place.is_dry_run();
        out.json(&json!({ "file": path, "servers": names, "changed": changed, "leftAlone": left }));
        return;
    }
    for (name, why) in left {
        let line = safe(&format!(
            "{}: `{name}` is left alone: {why}",
            path.display()
        ));
        let line = out.tone(Tone::Warn, &line);
        out.line(&line);
    }
}

fn file_of(place: &PlaceOfEntry) -> Result<PathBuf, Failure> {
    let path = place.servers().unwrap_or(Path::new(""));
    Ok(std::path::absolute(path)?)
}

/// Refuses the file of an agent that asks hookwire itself: each call would be judged twice.
fn refuse_twice(path: &Path) -> Result<(), Failure> {
    let real = kept::real_path(path);
    let is_this = |file: PathBuf| file == path || kept::real_path(&file) == real;
    for agent in AGENTS.iter() {
        let of_user = agent.servers.iter().filter_map(|file| agent.of_user(file));
        let is_users = of_user.into_iter().any(is_this);
        let root = agent.servers.iter().find_map(|file| root_above(path, file));
        if let Some(entry) = asking_entry(agent, root.as_deref(), is_users) {
            return Err(Failure(format!(
                "{}: {} reads it and asks hookwire itself (in {}), so each call would be judged twice; nothing was written. \
                 Its MCP tools are guarded there: `mcp__SERVER__TOOL`",
                path.display(),
                agent.title,
                entry.display()
            )));
        }
    }
    Ok(())
}

/// The root below which a file stands by this path.
fn root_above(path: &Path, file: &str) -> Option<PathBuf> {
    let root = path.ancestors().nth(Path::new(file).components().count())?;
    path.ends_with(file).then(|| root.to_path_buf())
}

/// The file in which an agent is told of hookwire, for a project or for all of them.
fn asking_entry(agent: &'static Agent, root: Option<&Path>, is_users: bool) -> Option<PathBuf> {
    let root = match root {
        Some(root) => root,
        None if is_users => Path::new("/"),
        None => return None,
    };
    let places = InstallArgs::for_each_place(agent, root);
    let asks = |args: &&InstallArgs| match args.entry() {
        Some(Entry::Asks { commands, .. }) => !commands.is_empty(),
        Some(Entry::Unreadable(_)) | None => false,
    };
    let found = places.iter().find(asks)?;
    found.path().ok()
}

/// What stands before a server's own command.
struct Wrapper {
    program: String,
    options: Vec<String>,
}

impl Wrapper {
    fn new(is_shared: bool, path: &Path, more: Vec<String>) -> Result<Wrapper, Failure> {
        if is_shared {
            return Ok(Wrapper {
                program: SHARED.into(),
                options: more,
            });
        }
        let mut options = Vec::new();
        // Clients start servers anywhere; a project's file is about that project.
        let home = places::home();
        let project = path.ancestors().skip(1).find(|dir| {
            let is_project = [DEFINITIONS, ".git"]
                .iter()
                .any(|name| dir.join(name).exists());
            is_project && Some(*dir) != home.as_deref()
        });
        if let Some(project) = project {
            options.extend(["--root".into(), path_text(&project.canonicalize()?)?]);
        }
        for (flag, place) in places::all().to_args() {
            options.extend([flag.to_string(), path_text(place)?]);
        }
        options.extend(more);
        Ok(Wrapper {
            program: own_program()?,
            options,
        })
    }

    fn words(&self, server: &Server<'_>) -> Vec<String> {
        let named = match server.name.starts_with('-') {
            true => vec![format!("--server={}", server.name)],
            false => vec!["--server".into(), server.name.into()],
        };
        let own = [self.program.clone(), "mcp".into()]
            .into_iter()
            .chain(named);
        let options = self.options.iter().cloned().chain(["--".to_string()]);
        own.chain(options)
            .chain(server.words.iter().cloned())
            .collect()
    }
}

/// A server's own command in one that the gateway stands before.
fn without_gateway(words: &[String]) -> Option<&[String]> {
    let program = Path::new(words.first()?).file_name()?.to_str()?;
    let is_own = program.starts_with(SHARED) && words.get(1)? == "mcp";
    let at = words.iter().position(|word| word == "--")?;
    words
        .get(at + 1..)
        .filter(|rest| is_own && !rest.is_empty())
}

/// A client's file.
struct ServersFile {
    path: PathBuf,
    text: String,
    format: Format,
    value: Value,
    /// Where the servers are.
    at: &'static [&'static str],
}

impl ServersFile {
    fn read(path: &Path) -> Result<ServersFile, Failure> {
        let about = |problem: String| {
            Failure(format!(
                "{}: {problem}; nothing was written",
                path.display()
            ))
        };
        let text = read_file(path)?.ok_or_else(|| about("there is no such file".into()))?;
        let format = Format::from_path(path).unwrap_or_default();
        let value = value_of(&text, format).map_err(|Failure(problem)| about(problem))?;
        let at = PLACES.into_iter().find(|at| {
            let servers = at.iter().try_fold(&value, |value, name| value.get(name));
            servers.is_some_and(Value::is_object)
        });
        let names = PLACES.map(|at| format!("`{}`", at.join("."))).join(", ");
        let at = at.ok_or_else(|| about(format!("it has no MCP servers, at none of {names}")))?;
        Ok(ServersFile {
            path: path.to_path_buf(),
            text,
            format,
            value,
            at,
        })
    }

    /// The servers that can be wrapped, and the others.
    fn servers(&self) -> (Vec<Server<'_>>, Vec<Left>) {
        let all = self
            .at
            .iter()
            .try_fold(&self.value, |value, name| value.get(name));
        let (mut servers, mut left) = (Vec::new(), Vec::new());
        for (name, entry) in all.and_then(Value::as_object).into_iter().flatten() {
            let is_list = entry["command"].is_array();
            let listed = match is_list {
                true => texts(&entry["command"]),
                false => entry["command"].as_str().and_then(|command| {
                    let rest = match &entry["args"] {
                        Value::Null => Some(Vec::new()),
                        args => texts(args),
                    };
                    Some([vec![command.to_string()], rest?].concat())
                }),
            };
            match listed.filter(|words| words.first().is_some_and(|word| !word.is_empty())) {
                Some(written) => {
                    let words = without_gateway(&written).unwrap_or(&written).to_vec();
                    servers.push(Server {
                        name,
                        words,
                        written,
                        is_list,
                    });
                }
                None => left.push((name.clone(), why_left(name, entry))),
            }
        }
        (servers, left)
    }

    /// The file with other words for these servers. What was there before the gateway comes back
    /// byte for byte, if nobody has changed the file since.
    fn change(
        &self,
        servers: &[Server<'_>],
        words: impl Fn(&Server<'_>) -> Vec<String>,
        takes_back: bool,
    ) -> Result<Change, Failure> {
        let had_own = servers.iter().any(|server| server.words != server.written);
        let kept = kept::real_path(&self.path).and_then(|path| Kept::of_file(&path));
        let before = kept.and_then(|kept| kept.text_before(&self.text));
        let after = match before.filter(|_| takes_back && had_own) {
            Some(Before::Text(text)) => text,
            Some(Before::Nothing) | None => self.rewritten(servers, &words)?,
        };
        let commands = servers.iter().map(|server| {
            let words = words(server);
            shell_word::command(words.iter().map(String::as_str))
        });
        let commands = if takes_back {
            Vec::new()
        } else {
            commands.collect()
        };
        Ok(Change {
            path: self.path.clone(),
            before: Some(self.text.clone()),
            after: Some(after),
            commands,
            had_own,
            kind: Kind::Settings,
        })
    }

    fn rewritten(
        &self,
        servers: &[Server<'_>],
        words: &impl Fn(&Server<'_>) -> Vec<String>,
    ) -> Result<String, Failure> {
        let mut ops = Vec::new();
        for server in servers {
            let words = words(server);
            if words == server.written {
                continue;
            }
            let names = self.at.iter().copied().chain([server.name]);
            let path: Vec<Step<'_>> = names.map(Step::Key).collect();
            let at = |name| [&path[..], &[Step::Key(name)]].concat();
            let (program, arguments) = match words.split_first() {
                Some(parts) if !server.is_list => parts,
                _ => {
                    ops.push((at("command"), Op::Set(json!(words), At::End)));
                    continue;
                }
            };
            ops.push((at("command"), Op::Set(json!(program), At::End)));
            ops.push(match arguments {
                [] => (at("args"), Op::Remove),
                _ => (at("args"), Op::Set(json!(arguments), At::Behind("command"))),
            });
        }
        rewritten(&self.text, self.format, &ops).ok_or_else(|| {
            Failure(format!(
                "{}: it can't be changed without changing more than its servers' commands; nothing was written",
                self.path.display()
            ))
        })
    }
}

/// Why a server can't be wrapped.
fn why_left(name: &str, entry: &Value) -> String {
    let mut urls = ["url", "serverUrl", "httpUrl"].into_iter();
    match urls.find_map(|member| entry[member].as_str()) {
        Some(url) => {
            let words = [SHARED, "mcp", "--server", name, "--url", url];
            format!(
                "it is reached by its address; the command `{}` in its place guards it",
                shell_word::command(words)
            )
        }
        None => "it has no command".into(),
    }
}

fn texts(list: &Value) -> Option<Vec<String>> {
    let items = list.as_array()?.iter();
    items
        .map(|item| item.as_str().map(str::to_string))
        .collect()
}
