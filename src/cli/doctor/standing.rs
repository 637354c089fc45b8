//! What stands between an agent and its entry here: where it looks for one, and whom it trusts.

use super::managed;
use super::{Health, Report, run_within};
use crate::cli::drive::apart;
use crate::cli::ending::make_runtime;
use crate::cli::import::plugin_settings;
use crate::cli::install::InstallArgs;
use crate::cli::{Failure, own};
use hookwire_base::support::file;
use hookwire_base::support::json::parse as parse_json;
use hookwire_base::syntax::formats::{Format, parse};
use hookwire_base::syntax::node::Node;
use hookwire_engine::definitions::approved::first_worktree;
use hookwire_rules::agents::{Agent, LOADING, LooksIn, Trust};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command as TokioCommand;
use walkdir::WalkDir;

/// Members of settings whose programs an agent starts with itself.
const COMPANIONS: [&str; 10] = [
    "mcpServers",
    "mcp_servers",
    "mcp",
    "enabledPlugins",
    "plugins",
    "plugin",
    "extensions",
    "notify",
    "statusLine",
    "apiKeyHelper",
];
/// How long an agent may take to list its hooks.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest list of hooks that is read, in bytes.
const MAX_LISTED: u64 = 4 * 1024 * 1024;
/// So deep and so many are looked for in a directory of slash commands.
const MAX_DEPTH: usize = 4;
const MAX_COMMANDS: usize = 256;
/// How the names of files of slash commands end.
const COMMAND_FILES: [&str; 2] = ["md", "toml"];
/// So many of an agent's words about settings are shown.
const MAX_INVALID: usize = 8;
/// So many files of a machine's settings are read.
const MAX_SETTINGS: usize = 64;

/// Whether an agent trusts a folder.
#[derive(Debug, PartialEq, Eq)]
enum Trusted {
    Yes,
    /// Nobody has said so.
    No,
    /// It can't be told; why.
    Unclear(String),
}

/// The directory whose settings are the project's to an agent that is started in it: of a linked
/// work tree some read the main one's.
pub(super) fn settings_root(agent: &Agent, root: &Path) -> PathBuf {
    let main = match agent.looks_in {
        LooksIn::MainWorkTree => first_worktree(root),
        LooksIn::Unknown | LooksIn::Here | LooksIn::WorkTree => None,
    };
    main.unwrap_or_else(|| root.to_path_buf())
}

/// Says where the agent, started in this directory, reads its project's settings, and whether it
/// trusts them. `entries` are the files with hookwire's entry.
pub(super) fn check_standing(
    agent: &Agent,
    program: Option<&Path>,
    entries: &[PathBuf],
    root: &Path,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let root = root.canonicalize()?;
    let here = std::env::current_dir()?;
    let is_in_project = |file: &&PathBuf| own::is_below(file, &root);
    let Some(entry) = entries.iter().find(is_in_project) else {
        return Ok(());
    };
    // One for all projects of the user holds wherever the agent is started.
    let is_also_users = entries.iter().any(|file| !own::is_below(file, &root));
    if !is_also_users {
        if let Some(read) = read_dir(agent, &here).filter(|read| *read != root) {
            let (read, root, name) = (read.display(), root.display(), agent.name);
            report.say_health(
                Health::Bad,
                &format!(
                    "started here it reads the settings of {read}, and none of {root}: start it there, or `hookwire \
                     install {name} --user`"
                ),
            );
        }
        if let Some(trust) = &agent.trust {
            let (entry, how) = (entry.display(), &trust.how);
            match find_trust(agent, trust, &here) {
                Trusted::Yes => {}
                Trusted::No => report.say_health(
                    Health::Bad,
                    &format!("it doesn't trust this folder, so {entry} doesn't count: {how}"),
                ),
                Trusted::Unclear(why) => report.say_health(
                    Health::Bad,
                    &format!("it can't be told whether it trusts this folder: {why}"),
                ),
            }
        }
    }
    if let Some(program) = program.filter(|_| !agent.lists_hooks.is_empty()) {
        // It writes into its home what nobody has asked for, so it is asked apart where that can be.
        let own = || TokioCommand::new(program);
        let listed = match apart(&root) {
            Ok(mut command) => {
                command.arg(program);
                match list_hooks(agent, command, &here)? {
                    Ok(listed) => Ok(listed),
                    Err(_) => list_hooks(agent, own(), &here)?,
                }
            }
            Err(_) => list_hooks(agent, own(), &here)?,
        };
        let (health, told) = match listed {
            Ok(listed) => describe_listed(agent, &listed),
            // It may run none.
            Err(why) => (
                Health::Bad,
                format!("it doesn't say which hooks it runs: {why}"),
            ),
        };
        report.say_health(health, &told);
    }
    if let Some(program) = program {
        check_invalid(agent, program, &root, entries, report)?;
    }
    Ok(())
}

/// Says which settings the agent passes over because something in them is wrong. Some agents drop a
/// whole file so, and with it their entry.
fn check_invalid(
    agent: &Agent,
    program: &Path,
    root: &Path,
    entries: &[PathBuf],
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    // Outside it would write into the home, and look at the network.
    let Some((says, Ok(mut command))) = agent.says_invalid.as_ref().map(|it| (it, apart(root)))
    else {
        return Ok(());
    };
    command.arg(program).args(&says.arguments);
    let Some(ended) = run_within(command, PATIENCE)? else {
        let asked = says.arguments.join(" ");
        let limit = PATIENCE.as_secs();
        let told = format!(
            "`{} {asked}` didn't end within {limit} s, so it isn't known whether its settings are read",
            agent.program
        );
        report.say_health(Health::Doubtful, &told);
        return Ok(());
    };
    let said = String::from_utf8_lossy(&ended.stdout);
    for told in problems_below(&said, &says.heading).take(MAX_INVALID) {
        let is_of_entry = entries.iter().any(|path| {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            told.contains(&*path.to_string_lossy())
        });
        let (health, comes) = match is_of_entry {
            true => (Health::Bad, "so the entry there may not count"),
            false => (Health::Doubtful, "so what stands there may not count"),
        };
        let title = &agent.title;
        report.say_health(health, &format!("{title} says: {told}; {comes}"));
    }
    Ok(())
}

/// The lines after a heading, up to the first that isn't one of a list.
fn problems_below<'s>(said: &'s str, heading: &'s str) -> impl Iterator<Item = &'s str> {
    let lines = said.lines().map(str::trim);
    let below = lines.skip_while(move |line| *line != heading).skip(1);
    below.map_while(|line| line.strip_prefix("- "))
}

/// The settings of the project and of the user, wherever an entry may stand.
fn own_settings(places: &[InstallArgs]) -> Vec<PathBuf> {
    // The team's place is one of the project's.
    let ends = places.first().into_iter().chain(places.last());
    ends.flat_map(|place| {
        let place_of = place.place();
        let others = place_of.switched_in.iter().map(String::as_str);
        let files = place_of.files().chain(others);
        files.filter_map(|file| place.path_at(file).ok())
    })
    .collect()
}

/// A file of settings that is there and can be read. Others are told where entries are looked for.
fn parsed_settings(path: &Path) -> Option<Node> {
    let text = file::read_text(path).ok()?;
    parse(&text, Format::from_path(path).unwrap_or_default()).ok()
}

/// What in the settings that count here switches hookwire's hooks off.
pub(super) fn switched_off(agent: &Agent, places: &[InstallArgs]) -> Vec<String> {
    let own = own_settings(places).into_iter().map(|path| (path, false));
    let of_system = system_settings(agent).into_iter().map(|path| (path, true));
    let mut told = Vec::new();
    for (path, is_system) in own.chain(of_system) {
        let Some(settings) = parsed_settings(&path) else {
            continue;
        };
        let variables = settings.get("env").map(Node::entries).unwrap_or_default();
        for entry in variables.iter().filter(|it| it.value.text() != Some("")) {
            let (path, name) = (path.display(), entry.key.as_str());
            let loads = LOADING.contains(&name);
            // A team's entry is found on it.
            if loads || name == "PATH" || agent.variables.iter().any(|it| it == name) {
                told.push(format!(
                    "{path}: `env.{name}` switches hooks off, or puts something before them"
                ));
            }
        }
        // Hookwire's own file of the machine's silences all others, and asks in their place.
        let is_managed = path == Path::new(&agent.managed.file) && managed::is_asking(agent);
        for (switch, _) in agent.switched_off(&settings, is_system && !is_managed) {
            let path = path.display();
            told.push(format!("{path}: `{switch}` switches hookwire's hooks off"));
        }
    }
    told
}

/// Says what in the settings that count here keeps the agent from asking: switches, and the code of
/// plug-ins that is asked before hooks are.
pub(super) fn check_settings(agent: &Agent, places: &[InstallArgs], report: &mut Report<'_>) {
    for problem in switched_off(agent, places) {
        report.say_health(Health::Bad, &problem);
    }
    for name in &agent.variables {
        if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
            let told = format!(
                "`{name}` is set: it switches hooks off, or says what else counts as settings"
            );
            report.say_health(Health::Bad, &told);
        }
    }
    let Some(known) = &agent.plugins else {
        return;
    };
    let folders = places.iter().filter_map(|place| {
        let path = place.path().ok()?;
        Some(path.parent()?.to_path_buf())
    });
    let mut folders: Vec<PathBuf> = folders.collect();
    folders.dedup();
    for settings in folders.iter().flat_map(|dir| plugin_settings(known, dir)) {
        let Ok(text) = file::read_text(&settings.path) else {
            continue;
        };
        let path = settings.path.display();
        match parse_json(&text) {
            Ok(hooks) if hooks[&known.modules].as_array().is_some_and(Vec::is_empty) => {}
            Ok(hooks) if hooks[&known.modules].is_null() => {}
            Ok(_) => report.say_health(
                Health::Bad,
                &format!(
                    "{path}: this plug-in has code that runs inside {} and is asked before hooks are, so it can keep \
                     hookwire from being asked; `hookwire doctor {} --drive` shows whether it does",
                    agent.title, agent.name
                ),
            ),
            Err(_) => report.say_health(Health::Doubtful, &format!("{path} can't be read")),
        }
    }
}

/// Names the slash commands that have a shell run before which the agent asks nobody: one that an
/// agent wrote, or a clone brought, waits there for a person to enter it.
pub(super) fn tell_slash_commands(agent: &Agent, root: &Path, report: &mut Report<'_>) {
    let Some(known) = &agent.slash_commands else {
        return;
    };
    let own = known.project.iter().map(|dir| root.join(dir));
    let users = known.user.iter().filter_map(|dir| agent.of_user(dir));
    let files = own.chain(users).flat_map(|dir| {
        let files = WalkDir::new(dir).max_depth(MAX_DEPTH).sort_by_file_name();
        files.into_iter().flatten().take(MAX_COMMANDS)
    });
    let running: Vec<String> = files
        // A link to a file is one, too. What else lies beside a skill is no text of a command.
        .filter(|found| found.path().is_file())
        .filter(|found| {
            let extension = found.path().extension().and_then(OsStr::to_str);
            extension.is_some_and(|it| COMMAND_FILES.contains(&it))
        })
        .filter(|found| {
            let text = file::read_text(found.path());
            // What can't be read may be anything.
            text.map_or(true, |text| text.contains(&known.mark))
        })
        .map(|found| found.path().display().to_string())
        .collect();
    if let Some((first, others)) = running.split_first() {
        let more = match others.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let told = format!(
            "{first}{more}: a slash command that runs a shell, before which {} asks nobody; `hookwire run` holds it",
            agent.title
        );
        report.say_health(Health::Doubtful, &told);
    }
}

/// Says what the settings have start with the agent, before it is started to be tried.
pub(super) fn tell_companions(agent: &Agent, places: &[InstallArgs], report: &mut Report<'_>) {
    let mut told = Vec::new();
    for path in own_settings(places) {
        let Some(settings) = parsed_settings(&path).map(|settings| settings.to_json()) else {
            continue;
        };
        for member in COMPANIONS {
            match &settings[member] {
                Value::Object(members) if !members.is_empty() => {
                    let names: Vec<&str> = members.keys().map(String::as_str).collect();
                    told.push(format!("{member}: {}", names.join(", ")));
                }
                Value::Null | Value::Object(_) => {}
                _ => told.push(member.to_string()),
            }
        }
    }
    told.dedup();
    if !told.is_empty() {
        let (title, told) = (&agent.title, told.join("; "));
        report.say_health(
            Health::Fine,
            &format!(
                "what {title}'s settings start with it, in the copy and without a network: {told}"
            ),
        );
    }
}

/// The machine's settings for an agent, as far as they are there.
fn system_settings(agent: &Agent) -> Vec<PathBuf> {
    let list = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .take(MAX_SETTINGS)
            .map(|entry| entry.path())
            .collect()
    };
    let dirs = agent
        .settings
        .iter()
        .filter_map(|pattern| pattern.strip_suffix("/**"))
        .map(Path::new)
        .filter(|dir| dir.is_absolute());
    let top: Vec<PathBuf> = dirs.flat_map(list).collect();
    let below: Vec<PathBuf> = top.iter().flat_map(|path| list(path)).collect();
    top.into_iter()
        .chain(below)
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "json" || end == "toml")
        })
        .take(MAX_SETTINGS)
        .collect()
}

/// The directory whose settings are the project's to an agent that is started in another; nothing
/// if nobody has looked.
fn read_dir(agent: &Agent, here: &Path) -> Option<PathBuf> {
    let tree = here
        .ancestors()
        .find(|dir| dir.join(".git").exists())
        .unwrap_or(here);
    match agent.looks_in {
        LooksIn::Unknown => None,
        LooksIn::Here => Some(here.to_path_buf()),
        LooksIn::WorkTree => Some(tree.to_path_buf()),
        LooksIn::MainWorkTree => Some(settings_root(agent, tree)),
    }
}

/// A member by its way from the top, with `.` between the names.
fn member<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |at, name| at.get(name))
}

/// What a file of settings says; nothing if it isn't there.
fn read_settings(agent: &Agent, path: &str) -> Result<Value, String> {
    let Some(path) = agent.of_user(path) else {
        return Ok(Value::Null);
    };
    let problem = |why: &str| format!("{}: {why}", path.display());
    let text = match file::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Value::Null),
        Err(error) => return Err(problem(&error.to_string())),
    };
    let format = Format::from_path(&path).unwrap_or_default();
    match parse(&text, format) {
        Ok(read) => Ok(read.to_json()),
        Err(_) => Err(problem("it can't be read")),
    }
}

fn find_trust(agent: &Agent, trust: &Trust, here: &Path) -> Trusted {
    let settings = match read_settings(agent, &trust.settings) {
        Ok(settings) => settings,
        Err(why) => return Trusted::Unclear(why),
    };
    let is_set =
        |(name, value): &(String, String)| std::env::var(name).is_ok_and(|it| it == *value);
    if trust.variables.iter().any(is_set) {
        return Trusted::Yes;
    }
    let is_off = |(path, value): &(String, Value)| member(&settings, path) == Some(value);
    let lacks = |path: &String| member(&settings, path).is_none();
    if trust.unless.iter().any(is_off) || trust.only_with.as_ref().is_some_and(lacks) {
        return Trusted::Yes;
    }
    let said = match read_settings(agent, &trust.file) {
        Ok(said) => said,
        Err(why) => return Trusted::Unclear(why),
    };
    let folders = match &*trust.at {
        "" => Some(&said),
        at => member(&said, at),
    };
    let Some(folders) = folders.and_then(Value::as_object) else {
        return Trusted::No;
    };
    let mut nearest: Option<(usize, bool)> = None;
    for (folder, value) in folders {
        let value = match &*trust.said_by {
            "" => value,
            name => &value[name],
        };
        let is_above = trust.above.as_ref() == Some(value);
        let meant = match is_above {
            true => Path::new(folder).parent().unwrap_or(Path::new(folder)),
            false => Path::new(folder),
        };
        let meant = meant.canonicalize().unwrap_or_else(|_| meant.to_path_buf());
        if here.starts_with(&meant) && nearest.is_none_or(|(length, _)| length < folder.len()) {
            nearest = Some((folder.len(), is_above || trust.yes.contains(value)));
        }
    }
    match nearest {
        Some((_, true)) => Trusted::Yes,
        Some((_, false)) | None => Trusted::No,
    }
}

/// The hooks that an agent runs here, as it says itself; or why it doesn't say so.
fn list_hooks(
    agent: &Agent,
    mut command: TokioCommand,
    here: &Path,
) -> Result<Result<Vec<Value>, String>, Failure> {
    command
        .kill_on_drop(true)
        .args(&agent.lists_hooks)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let client = json!({ "name": "hookwire", "version": env!("CARGO_PKG_VERSION") });
    let requests = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [here] } }),
    ];
    let asked: String = requests.iter().map(|it| format!("{it}\n")).collect();
    let runtime = make_runtime()?;
    let listed = runtime.block_on(async {
        let answered = async {
            let mut child = command.spawn()?;
            let mut stdin = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
            let stdout = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
            stdin.write_all(asked.as_bytes()).await?;
            stdin.flush().await?;
            let mut lines = BufReader::new(stdout.take(MAX_LISTED)).lines();
            while let Some(line) = lines.next_line().await? {
                if let Ok(answer) = parse_json(&line)
                    && answer["id"] == 2
                {
                    return Ok(Some(answer));
                }
            }
            std::io::Result::Ok(None)
        };
        tokio::time::timeout(PATIENCE, answered).await
    });
    runtime.shutdown_background();
    Ok(match listed {
        Err(_) => Err(format!("nothing within {} s", PATIENCE.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(None)) => Err("it ended without an answer".into()),
        Ok(Ok(Some(answer))) => match answer.pointer("/result/data/0/hooks") {
            Some(Value::Array(hooks)) => Ok(hooks.clone()),
            _ => Err(answer["error"]["message"]
                .as_str()
                .unwrap_or("its answer has no hooks")
                .to_string()),
        },
    })
}

/// What a list of hooks means: hookwire's own, before a tool call.
fn describe_listed(agent: &Agent, hooks: &[Value]) -> (Health, String) {
    let is_own = |hook: &&Value| {
        let command = hook["command"].as_str().unwrap_or_default();
        hook["eventName"] == "preToolUse" && own::own_entry(agent, command).is_some()
    };
    let title = &agent.title;
    let own: Vec<&Value> = hooks.iter().filter(is_own).collect();
    if own.is_empty() {
        let why = format!(
            "{title} says that it runs no hook of hookwire's here: it doesn't trust the folder, hooks are switched off, \
             or it looks elsewhere"
        );
        return (Health::Bad, why);
    }
    let own: Vec<&Value> = own
        .into_iter()
        .filter(|hook| matches!(&hook["enabled"], Value::Null | Value::Bool(true)))
        .collect();
    if own.is_empty() {
        return (
            Health::Bad,
            format!("{title} says that hookwire's hook is disabled"),
        );
    }
    let is_trusted = |hook: &&&Value| hook["isManaged"] == true || hook["trustStatus"] == "trusted";
    let trusted: Vec<&&Value> = own.iter().filter(|hook| is_trusted(hook)).collect();
    if trusted.is_empty() {
        let status = own[0]["trustStatus"].as_str().unwrap_or("unknown");
        let why = format!(
            "{title} skips hookwire's hook, because nobody has trusted it as it is now ({status}): start `{}`, enter \
             /hooks and trust it",
            agent.program
        );
        return (Health::Bad, why);
    }
    let is_for_all = trusted.iter().any(|hook| match &hook["matcher"] {
        Value::Null => true,
        Value::String(matcher) => matches!(&**matcher, "" | "*" | ".*"),
        _ => false,
    });
    if !is_for_all {
        let matcher = &trusted[0]["matcher"];
        return (
            Health::Bad,
            format!("{title} runs hookwire's hook only for tools that fit {matcher}"),
        );
    }
    (
        Health::Fine,
        format!("{title} says that it runs hookwire's hook here"),
    )
}
