//! `hookwire import AGENT`: the hooks and the permissions that a coding agent has already, as
//! definition files of hookwire's.
//!
//! The agent's settings are read by the same reader that loads them under `--hooks` as they stand.
//! Where the agent has no settings but a program an event, the programs are copied. Permissions
//! become rules of hookwire's own, which are proven before they are written.

mod permissions;
mod proof;

use super::install::InstallArgs;
use super::output::{Output, Tone, safe};
use super::own::{Whose, dialect_of, programs_of, whose_command};
use super::written::{Written, tell_written, write_new};
use super::{Failure, Finding, agent_parser, find_project};
use hookwire_base::support::below::ANYWHERE;
use hookwire_base::support::file::read_named;
use hookwire_base::support::{places, shell_word};
use hookwire_base::syntax::diagnostic::{LineIndex, Severity};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::{Entry, Node, NodeValue};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::quoting::{self, Within, inline, key};
use hookwire_base::syntax::source::Layer;
use hookwire_dialects::asked::TIME_LIMIT;
use hookwire_dialects::{Dialect, in_one_form};
use hookwire_engine::definitions::approved::DEFINITIONS;
use hookwire_engine::definitions::compile::{compile, native};
use hookwire_engine::definitions::origin::Origin;
use hookwire_handlers::handlers::Means;
use hookwire_rules::agents::{Agent, Form, Plugins};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct ImportArgs {
    /// The agent.
    #[arg(value_parser = agent_parser())]
    agent: &'static Agent,
    /// What this user has for all projects, the hooks of plugins included, into the user's
    /// definitions.
    #[arg(long)]
    user: bool,
    /// What the project has; so it is without --user.
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Settings or rules elsewhere, a plugin's hooks.json, a plugin's directory, or one of programs.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The project root; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// A file with hooks of an agent.
pub(super) struct Settings {
    pub(super) path: PathBuf,
    /// The directory of the plugin that it belongs to.
    pub(super) plugin: Option<PathBuf>,
}

/// A hook as it was found.
struct Imported {
    name: String,
    /// `file:line`.
    place: String,
    /// Its definition; `None` if it can't be carried over.
    definition: Option<Node>,
    /// Texts for people: how the hook differs from the agent's, or why it can't be carried over.
    notes: Vec<String>,
    /// A program to copy, and where to.
    copy: Option<(PathBuf, PathBuf)>,
}

pub(super) fn run(args: &ImportArgs, out: &mut Output) -> Result<Finding, Failure> {
    let name = args.agent.name;
    let dir = if args.user {
        places::config()
    } else {
        Some(args.root.join(DEFINITIONS))
    };
    let dir = dir.ok_or_else(|| Failure("--user: you have no home directory".into()))?;
    let root = if args.user {
        Path::new(ANYWHERE)
    } else {
        &args.root
    };
    let target = Target { dir: &dir, root };
    let carried = args.carry_permissions(&target, out)?;
    let (settings, mut found) = match args.read_programs(&dir)? {
        Some((settings, found)) => (vec![settings], found),
        None if matches!(args.agent.form, Form::Plugin) && carried.is_some() => {
            (Vec::new(), Vec::new())
        }
        None if matches!(args.agent.form, Form::Plugin) => {
            let problem = format!(
                "the hooks of {name} are code that runs within it, so no definition can do the same"
            );
            return Err(Failure(format!(
                "{problem}; what they check can be written as definitions"
            )));
        }
        None => {
            let settings = args.settings()?;
            let mut found = Vec::new();
            for settings in &settings {
                found.extend(args.read_hooks(settings)?);
            }
            (settings, found)
        }
    };
    number_equal_names(&mut found);
    found.iter().for_each(|it| it.print_hook(out));
    if found.iter().all(|it| it.definition.is_none()) {
        if let Some(finding) = carried {
            return Ok(if found.is_empty() {
                finding
            } else {
                Finding::Found
            });
        }
        if !out.json {
            let places: Vec<String> = settings
                .iter()
                .map(|setting| args.shown_path(&setting.path))
                .collect();
            let places = if places.is_empty() {
                "any file of its own".to_string()
            } else {
                places.join(", ")
            };
            out.line(&format!("{name} has no hooks to carry over in {places}."));
            if name == "copilot" {
                out.line("Its permissions are options of its command line (`--allow-tool`, `--deny-tool`), which no file holds.");
            }
        }
        return Ok(if found.is_empty() {
            Finding::Fine
        } else {
            Finding::Found
        });
    }
    let text = args.write_definitions(&settings, &found);
    let path = dir.join(args.file_name());
    if args.dry_run {
        show_unwritten(&path, &text, out);
        return Ok(carried.unwrap_or(Finding::Fine));
    }
    for (from, to) in found.iter().filter_map(|it| it.copy.as_ref()) {
        copy_new(from, to, root)?;
    }
    let written = write_new(&path, root, &text, 0o666)
        .map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    tell_written(&path, written, out);
    if !out.json && written == Written::Now {
        args.next_steps(&settings, out);
    }
    let is_whole = found.iter().all(|it| it.definition.is_some()) && written != Written::Differs;
    Ok(
        if is_whole && carried.is_none_or(|it| it == Finding::Fine) {
            Finding::Fine
        } else {
            Finding::Found
        },
    )
}

/// Where definitions are written: the directory, and what it mustn't lead out of.
struct Target<'a> {
    dir: &'a Path,
    root: &'a Path,
}

fn show_unwritten(path: &Path, text: &str, out: &mut Output) {
    out.line(&format!("{} would be:", path.display()));
    text.lines()
        .for_each(|line| out.line(&format!("  {}", safe(line))));
}

/// How many hooks and permission rules an agent has of its own, in each of its files that has any.
/// A file that can't be read is `doctor`'s to tell.
pub(super) fn count_own(
    agent: &'static Agent,
    user: bool,
    root: &Path,
) -> Vec<(PathBuf, usize, usize)> {
    let args = ImportArgs {
        agent,
        user,
        project: !user,
        from: None,
        root: root.to_path_buf(),
        dry_run: true,
    };
    let programs = InstallArgs::for_agent(agent, user, root)
        .path()
        .ok()
        .and_then(|dir| Some((programs_of(agent, &dir, &asked_events(agent))?.len(), dir)));
    if let Some((n_programs, dir)) = programs {
        return Vec::from_iter((n_programs > 0).then_some((dir, n_programs, 0)));
    }
    let settings = args.settings().unwrap_or_default();
    let counted = settings.into_iter().map(|settings| {
        let n_hooks = args.read_hooks(&settings).map_or(0, |hooks| hooks.len());
        let n_rules = count_permissions(&settings.path);
        (settings.path, n_hooks, n_rules)
    });
    counted
        .filter(|(_, n_hooks, n_rules)| n_hooks + n_rules > 0)
        .collect()
}

/// The rules at `permissions` of an agent's settings.
fn count_permissions(path: &Path) -> usize {
    let Ok(text) = read_named(path) else {
        return 0;
    };
    let format = Format::from_path(path).unwrap_or(Format::Json);
    let settings = formats::parse(&text, format).map(|root| root.to_json());
    let settings = settings.unwrap_or_default();
    ["allow", "ask", "deny"]
        .iter()
        .filter_map(|list| settings["permissions"][list].as_array())
        .map(Vec::len)
        .sum()
}

fn asked_events(agent: &Agent) -> Vec<&'static str> {
    dialect_of(agent)
        .map(Dialect::asked_events)
        .unwrap_or_default()
}

impl ImportArgs {
    /// The files to read.
    fn settings(&self) -> Result<Vec<Settings>, Failure> {
        if let Some(from) = &self.from {
            let hooks = self
                .agent
                .plugins
                .as_ref()
                .filter(|_| from.is_dir())
                .map(|plugin| &plugin.hooks);
            let path = hooks.map_or_else(|| from.clone(), |hooks| from.join(hooks));
            let path = path
                .canonicalize()
                .map_err(|error| Failure(format!("--from {}: {error}", path.display())))?;
            let plugin = self.plugin_of(&path).map(Path::to_path_buf);
            return Ok(vec![Settings { path, plugin }]);
        }
        let place = InstallArgs::for_agent(self.agent, self.user, &self.root);
        let mut found = Vec::new();
        for hooks in &place.place().hooks {
            let path = place.path_at(hooks)?;
            if !path.ends_with("*.json") {
                found.push(Settings { path, plugin: None });
                continue;
            }
            let folder = path.parent().unwrap_or(Path::new("."));
            let entries = std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            let mut paths: Vec<_> = entries
                .filter(|path| {
                    path.extension()
                        .is_some_and(|extension| extension == "json")
                })
                .collect();
            paths.sort();
            found.extend(
                paths
                    .into_iter()
                    .map(|path| Settings { path, plugin: None }),
            );
        }
        if let (Some(known), true) = (&self.agent.plugins, self.user) {
            let path = place.path()?;
            found.extend(plugin_settings(
                known,
                path.parent().unwrap_or(Path::new(".")),
            ));
        }
        found.retain(|settings| settings.path.is_file());
        Ok(found)
    }

    /// The directory of the plug-in whose hooks a file has.
    fn plugin_of<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let hooks = &self.agent.plugins.as_ref()?.hooks;
        path.ends_with(hooks)
            .then(|| path.ancestors().nth(Path::new(hooks).components().count()))?
    }

    /// The directory and the hooks of an agent that runs a program an event. They become copies in
    /// the directory of definitions, because an installed hookwire takes their places.
    fn read_programs(
        &self,
        definitions: &Path,
    ) -> Result<Option<(Settings, Vec<Imported>)>, Failure> {
        let dir = match &self.from {
            Some(from) => from.clone(),
            None => InstallArgs::for_agent(self.agent, self.user, &self.root).path()?,
        };
        let events = asked_events(self.agent);
        let Some(programs) = programs_of(self.agent, &dir, &events) else {
            return Ok(None);
        };
        if self.from.is_some() && !dir.is_dir() {
            return Err(Failure(format!(
                "--from {}: no such directory",
                dir.display()
            )));
        }
        let copies = Path::new(self.agent.name);
        let named = if self.user {
            definitions.join(copies)
        } else {
            Path::new(DEFINITIONS).join(copies)
        };
        let found = programs
            .into_iter()
            .map(|(event, path, asks)| {
                if asks {
                    return asking_hook(event, self.shown_path(&path));
                }
                let command = shell_word::program(&named.join(event).to_string_lossy());
                Imported {
                    name: event.to_string(),
                    place: self.shown_path(&path),
                    definition: Some(Node::from_json(
                        &json!({ "name": event, "on": event, "command": command }),
                    )),
                    notes: vec![
                        "it runs as a copy, and doesn't find what lies beside the original"
                            .to_string(),
                    ],
                    copy: Some((path, definitions.join(copies).join(event))),
                }
            })
            .collect();
        Ok(Some((
            Settings {
                path: dir,
                plugin: None,
            },
            found,
        )))
    }

    fn read_hooks(&self, settings: &Settings) -> Result<Vec<Imported>, Failure> {
        let path = &settings.path;
        let text = read_named(path)
            .map_err(|problem| Failure(format!("{}: {problem}", path.display())))?;
        let lines = LineIndex::new(&text);
        let file = path.display().to_string();
        let parsed = formats::parse(&text, Format::from_path(path).unwrap_or(Format::Json));
        let mut root = parsed.map_err(|problems| {
            let first = problems
                .first()
                .map(|problem| problem.to_diagnostic(&file, &lines).one_line());
            Failure(first.unwrap_or_else(|| format!("{file}: it can't be read")))
        })?;
        if let Some(file) = self.agent.file() {
            root = in_one_form(file, &root);
        }
        if root.get("hooks").is_none() {
            return Ok(Vec::new());
        }
        if let (Some(plugin), Some(known)) = (&settings.plugin, &self.agent.plugins) {
            in_plugin(&mut root, plugin, &known.root);
        }
        if let NodeValue::Map(entries) = &mut root.value {
            let dialect = Node {
                span: 0..0,
                value: NodeValue::String(self.agent.name.into()),
            };
            entries.retain(|entry| entry.key != "dialect");
            entries.push(Entry {
                key: "dialect".into(),
                key_span: 0..0,
                value: dialect,
            });
        }
        let means = Means {
            root: self.root.canonicalize()?,
            ..Means::default()
        };
        let layer = if self.user {
            Layer::User
        } else {
            Layer::Project
        };
        let dir = path.parent().unwrap_or(Path::new("."));
        let origin = Origin {
            means: Some(&means),
            ..Origin::new(&file, dir, layer, &read_named)
        };
        let compiled = compile(&root, &origin, &lines);
        let hooks = match native(&root, &mut Vec::new())
            .1
            .and_then(|it| it.get("hooks").cloned())
        {
            Some(Node {
                value: NodeValue::Seq(hooks),
                ..
            }) => hooks,
            _ => Vec::new(),
        };
        let shown = self.shown_path(path);
        let mut found = Vec::new();
        for (hook, compiled_hook) in hooks.into_iter().zip(&compiled.hooks) {
            let place = format!("{shown}:{}", lines.position(hook.span.start).line);
            let name = hook
                .get("name")
                .and_then(Node::text)
                .unwrap_or_default()
                .to_string();
            match self.whose_hook(&hook) {
                Whose::Own(_) => continue,
                Whose::Speaks(text) if text.contains(" hook ") => {
                    found.push(asking_hook(&name, place));
                    continue;
                }
                Whose::Speaks(_) | Whose::Others => {}
            }
            let problems = &compiled.problems[compiled_hook.problems.clone()];
            let mut notes: Vec<String> = problems
                .iter()
                .filter(|problem| {
                    problem.severity != Severity::Hint
                        || ["not-read", "unclear-unit"].contains(&problem.code)
                })
                .map(describe_problem)
                .collect();
            if let Some(it) = &compiled_hook.hook
                && hook.get("timeout").is_some()
                && humantime::parse_duration(TIME_LIMIT).is_ok_and(|limit| it.timeout > limit)
            {
                notes.push(format!(
                    "`hookwire hook` answers within {} unless it has `--timeout`",
                    TIME_LIMIT
                ));
            }
            found.push(Imported {
                name,
                place,
                definition: compiled_hook.hook.is_some().then_some(hook),
                notes,
                copy: None,
            });
        }
        let of_file = compiled
            .problems
            .iter()
            .filter(|problem| problem.hook.is_none())
            .map(describe_problem);
        if let Some(first) = found.first_mut() {
            first.notes.extend(of_file);
        }
        Ok(found)
    }

    /// What a hook is to hookwire.
    fn whose_hook(&self, hook: &Node) -> Whose {
        let command = hook
            .get("command")
            .map(|command| command.get("run").unwrap_or(command))
            .and_then(Node::text);
        command.map_or(Whose::Others, |command| whose_command(self.agent, command))
    }

    /// The file that is written.
    fn write_definitions(&self, settings: &[Settings], found: &[Imported]) -> String {
        let agent = self.agent.name;
        let places: Vec<String> = settings
            .iter()
            .map(|setting| safe(&self.shown_path(&setting.path)))
            .collect();
        let mut text = format!(
            "# Hooks of {agent}, taken from {} by `hookwire import {agent}`.\n# They read and answer what they did \
             there. Of the environment they have PATH, HOME and a few more, and what `inheritEnv` names.\n\
             dialect: {agent}\nhooks:\n",
            places.join(", ")
        );
        for it in found {
            let Some(NodeValue::Map(members)) =
                it.definition.as_ref().map(|definition| &definition.value)
            else {
                let why = it.notes.first().map(String::as_str).unwrap_or_default();
                text.push_str(&format!(
                    "  # Not carried over: {} ({}): {}\n",
                    safe(&it.name),
                    safe(&it.place),
                    safe(why)
                ));
                continue;
            };
            text.push_str(&format!("  # {}\n", safe(&it.place)));
            it.notes
                .iter()
                .for_each(|note| text.push_str(&format!("  # {}\n", safe(note))));
            for (n, member) in members.iter().enumerate() {
                let value = if member.key == "name" {
                    json!(it.name)
                } else {
                    member.value.to_json()
                };
                let value = inline(&value, Format::Yaml, Within::Line).unwrap_or_default();
                let member = quoting::member(&key(&member.key, Format::Yaml), &value, Format::Yaml);
                text.push_str(&format!("  {} {member}\n", if n == 0 { "-" } else { " " }));
            }
        }
        text
    }

    fn file_name(&self) -> String {
        format!("{}.yaml", self.base_name())
    }

    /// The name of the files that are written, without what comes after it.
    fn base_name(&self) -> String {
        let which = match &self.from {
            None => String::new(),
            // A plugin is known by its directory.
            Some(from) => self
                .plugin_of(from)
                .unwrap_or(from)
                .file_stem()
                .map(|stem| format!("-{}", stem.to_string_lossy()))
                .unwrap_or_default(),
        };
        format!("{}{which}", self.agent.name)
    }

    /// A path as people know it.
    fn shown_path(&self, path: &Path) -> String {
        let root = self
            .root
            .canonicalize()
            .unwrap_or_else(|_| self.root.clone());
        let full = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        full.strip_prefix(root)
            .unwrap_or(&full)
            .display()
            .to_string()
    }

    fn next_steps(&self, settings: &[Settings], out: &mut Output) {
        let agent = self.agent.name;
        // A project's settings may have come with a clone.
        if !self.user {
            out.line("They are not in force yet: `hookwire trust` shows what there is and puts it in force.");
        }
        if InstallArgs::for_agent(self.agent, self.user, &self.root)
            .entry()
            .is_none()
        {
            out.line(&format!(
                "`hookwire install {agent}` makes {agent} ask hookwire."
            ));
        }
        let places: Vec<String> = settings
            .iter()
            .map(|setting| self.shown_path(&setting.path))
            .collect();
        let places = safe(&places.join(", "));
        out.line(&format!(
            "{agent} runs its own copies as well until you take them out of {places}."
        ));
    }
}

/// A hook that speaks of hookwire itself.
fn asking_hook(name: &str, place: String) -> Imported {
    let why =
        "it speaks of hookwire: if it asks hookwire, it would ask for ever as a hook of hookwire's";
    Imported {
        name: name.into(),
        place,
        definition: None,
        notes: vec![why.into()],
        copy: None,
    }
}

impl Imported {
    fn print_hook(&self, out: &mut Output) {
        if out.json {
            let is_carried = self.definition.is_some();
            return out
                .json(&json!({ "hook": self.name, "place": self.place, "carried": is_carried, "notes": self.notes }));
        }
        let word = match self.definition {
            Some(_) => out.tone(Tone::Good, "carried over"),
            None => out.tone(Tone::Bad, "not carried "),
        };
        out.line(&format!(
            "{word}  {}  {}",
            safe(&self.name),
            out.tone(Tone::Dim, &safe(&self.place))
        ));
        self.notes
            .iter()
            .for_each(|note| out.line(&format!("    {}", safe(note))));
    }
}

fn describe_problem(problem: &Problem) -> String {
    let help = problem
        .help
        .as_deref()
        .map(|help| format!(" ({help})"))
        .unwrap_or_default();
    format!("{}{help}", problem.message)
}

/// A copy of a program, unless another file is there.
fn copy_new(from: &Path, to: &Path, root: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: String| Failure(format!("{}: {error}", path.display()));
    let text = read_named(from).map_err(|problem| failed(from, problem))?;
    match write_new(to, root, &text, 0o755).map_err(|error| failed(to, error.to_string()))? {
        Written::Differs => Err(failed(
            to,
            "another file is there already; it was left as it is".into(),
        )),
        Written::Now | Written::Again | Written::Before => Ok(()),
    }
}

/// Several files may have hooks of the same event and matcher.
fn number_equal_names(found: &mut [Imported]) {
    let mut taken: HashSet<String> = HashSet::new();
    for it in found {
        let numbered = (2..).map(|n| format!("{}-{n}", it.name));
        let free = [it.name.clone()]
            .into_iter()
            .chain(numbered)
            .find(|name| !taken.contains(name));
        it.name = free.unwrap_or_default();
        taken.insert(it.name.clone());
    }
}

/// The hooks of the plugins that are installed and enabled for a user.
pub(super) fn plugin_settings(known: &Plugins, folder: &Path) -> Vec<Settings> {
    let read = |name: &str| {
        let text = read_named(&folder.join(name)).ok()?;
        formats::parse(&text, Format::Json)
            .ok()
            .map(|it| it.to_json())
    };
    let (installed, settings) = (
        read(&known.installed).unwrap_or_default(),
        read("settings.json").unwrap_or_default(),
    );
    let installed = installed["plugins"].as_object().into_iter().flatten();
    let enabled = installed.filter(|(name, _)| settings["enabledPlugins"][name.as_str()] == true);
    let places = enabled.flat_map(|(_, places)| match places {
        Value::Array(places) => places.clone(),
        place => vec![place.clone()],
    });
    places
        .filter_map(|place| {
            let plugin = PathBuf::from(place["installPath"].as_str()?);
            Some(Settings {
                path: plugin.join(&known.hooks),
                plugin: Some(plugin),
            })
        })
        .collect()
}

/// Puts a plugin's directory in where its hooks name it, and into the environment of its commands.
fn in_plugin(node: &mut Node, plugin: &Path, root: &str) {
    let dir = plugin.to_string_lossy();
    match &mut node.value {
        NodeValue::Seq(items) => items
            .iter_mut()
            .for_each(|item| in_plugin(item, plugin, root)),
        NodeValue::Map(members) => {
            let is_command = members
                .iter()
                .any(|member| member.key == "type" && member.value.text() == Some("command"));
            members
                .iter_mut()
                .for_each(|member| in_plugin(&mut member.value, plugin, root));
            if is_command {
                let env = json!({ root: dir });
                members.push(Entry {
                    key: "env".into(),
                    key_span: 0..0,
                    value: Node::from_json(&env),
                });
            }
        }
        // Where the path needs quotes, the variable stays.
        NodeValue::String(text) if shell_word::argument(&dir) == dir => {
            for spelling in [format!("${{{root}}}"), format!("${root}")] {
                *text = text.replace(&spelling, &dir);
            }
        }
        _ => {}
    }
}
