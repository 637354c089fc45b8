//! `callable`: a function in a worker process that stays up between events.
//!
//! This file knows what a definition may say and what a function gets and gives back; the processes
//! are [`workers`](super::workers)' matter.

use super::call::{Call, HookView};
use super::compile::{Compile, Mistake};
use super::digits::{self, Handed};
use super::effect::{Effect, Program};
use super::environment::{Secrets, changed, environment};
use super::error::HandlerError;
use super::kept::Slot;
use super::kind::Kind;
use super::means::{Means, Obstacle, program_obstacle};
use super::named_files::{Words, run_by_words};
use super::workers::launch::{self, Launch, Module, PROJECT_DIR, Runtime};
use super::workers::wire::Request;
use super::workers::worker::{self, Worker};
use hookwire_base::support::amounts::millis;
use hookwire_base::support::file::read_text;
use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::syntax::source::Layer;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::verdict::Answer;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A function in a warm worker process; exactly one of `python`, `node` and `command`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Callable")]
pub struct RawCallable {
    /// `module:function`, or `path/to/file.py:function` from the definition's directory. The
    /// function may be async, or a method: `module:object.method`.
    python: Option<String>,
    /// `./file.mjs#export` from the definition's directory; without `#`, the default export.
    node: Option<String>,
    /// A program with its arguments that speaks one JSON object a line on stdin and stdout. A
    /// program with a slash is found from the definition's directory, others on PATH.
    #[schemars(length(min = 1))]
    command: Option<Vec<String>>,
    /// Given to the function beside the event: parameters by name in Python, `args` in Node.
    #[serde(default)]
    args: Map<String, Value>,
    /// Variables to set.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Variables to take over from the host's environment, by name.
    #[serde(default)]
    inherit_env: Vec<String>,
    /// The virtual environment whose Python runs the function. Default: `.venv` in the definition's
    /// directory or, for a project's definitions, in the project root; else `python3` on PATH.
    venv: Option<String>,
    /// How long a worker that nobody calls stays up; 10 minutes if nobody says.
    idle: Option<RawDuration>,
}

#[derive(Debug)]
pub struct Callable {
    /// What the worker is to call; absent for programs, which know.
    target: Option<String>,
    /// How errors name it.
    label: String,
    /// As JSON.
    args: String,
    idle: Duration,
    /// All but what only the project root can tell.
    launch: Launch,
    layer: Layer,
    /// Where its worker is; found once, since there is one project root as long as the host lives.
    slot: OnceLock<Arc<Slot<Worker>>>,
}

const IDLE: Duration = Duration::from_secs(600);

impl Kind for Callable {
    type Raw = RawCallable;

    fn compile(raw: RawCallable, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let given = [
            ("python", raw.python.is_some()),
            ("node", raw.node.is_some()),
            ("command", raw.command.is_some()),
        ];
        let named: Vec<_> = given
            .iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(name, _)| *name)
            .collect();
        match named[..] {
            [_] => {}
            [] => {
                return Err(
                    Mistake::whole("a callable needs `python`, `node` or `command`")
                        .help("for example `callable: { python: \"acme.policy:review\" }`"),
                );
            }
            [first, second, ..] => {
                return Err(Mistake::new(
                    second,
                    format!("a callable is one function, this has `{first}` and `{second}`"),
                ));
            }
        }
        let (runtime, target, label) = match (raw.python, raw.node, raw.command) {
            (Some(text), _, _) => {
                let python = python(&text, cx)?;
                let venv = raw
                    .venv
                    .as_deref()
                    .map(|venv| find_venv(venv, cx))
                    .transpose()?;
                let runtime = Runtime::Python {
                    venv,
                    venvs: vec![cx.place().join(".venv")],
                    search: python.search,
                };
                (runtime, Some(python.target), text)
            }
            (_, Some(text), _) => (Runtime::Node, Some(node(&text, cx)?), text),
            (_, _, argv) => {
                let argv = argv.unwrap_or_default();
                let label = argv.join(" ");
                (Runtime::Command(program(argv, cx)?), None, label)
            }
        };
        if raw.venv.is_some() && !matches!(runtime, Runtime::Python { .. }) {
            return Err(Mistake::new(
                "venv",
                "a virtual environment is for `python`",
            ));
        }
        let env = environment(raw.env.clone(), &raw.inherit_env, cx)?;
        let secrets = Secrets::from_definition(&env, &raw.env, &raw.inherit_env);
        Ok(Callable {
            target,
            label,
            args: Value::Object(raw.args).to_string(),
            idle: raw.idle.map_or(IDLE, RawDuration::get),
            launch: Launch {
                runtime,
                env,
                secrets,
                dir: cx.dir.to_path_buf(),
                sets_path: raw.env.contains_key("PATH"),
                approved: cx.approved.cloned(),
            },
            layer: cx.layer,
            slot: OnceLock::new(),
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        // The first poll is the connection's reader: other requests must not wait for a process to
        // start.
        tokio::task::yield_now().await;
        let event = call.moment.event();
        let language = self.launch.runtime.language();
        if let Some(language) = language {
            language
                .reaches(event.data())
                .map_err(|error| HandlerError(format!("read the event: {error}")))?;
        }
        let budget = event.deadline_ms().unwrap_or(u64::MAX);
        let handed = Arc::new(Mutex::new(Handed::default()));
        let request = Request {
            hook: call.hook.name,
            target: self.target.as_deref(),
            dialect: call.hook.contract.dialect,
            args: &self.args,
            deadline_ms: millis(call.hook.timeout).min(budget),
            event: &call.moment.payload(call.hook.contract),
            session: event.session(),
            occasion: call.occasion(),
            handed: &handed,
            idle: self.idle,
        };
        let slot = self
            .slot
            .get_or_init(|| call.services.workers.slot(self.launch(&call.services.root)));
        let (workers, store) = (&call.services.workers, &call.services.state);
        let reply = worker::call(workers, slot, store, &request).await;
        let reply =
            reply.map_err(|error| HandlerError(format!("call `{}`: {error}", self.label)))?;
        let value = match language {
            Some(language) => digits::read(reply.get(), language, event, &handed.lock()),
            None => {
                hookwire_base::support::json::parse(reply.get()).map_err(|error| error.to_string())
            }
        };
        let value = value.map_err(|error| {
            HandlerError(format!("read what `{}` returned: {error}", self.label))
        })?;
        match value {
            Value::Null => Ok(Answer::default()),
            value if call.hook.contract.returned.is_some() => {
                let returned = call
                    .hook
                    .contract
                    .returned
                    .unwrap_or(call.hook.contract.reply);
                returned(event, value).map_err(HandlerError)
            }
            Value::Object(_) => (call.hook.contract.reply)(event, value).map_err(HandlerError),
            other => Err(HandlerError(format!(
                "read what `{}` returned: {}, not an object (return nothing to have no opinion)",
                self.label,
                kind(&other)
            ))),
        }
    }

    fn files(&self, root: &Path) -> Vec<PathBuf> {
        let launch = self.launch(root);
        match &launch.runtime {
            Runtime::Python {
                venv,
                venvs,
                search,
            } => {
                let modules =
                    python_files(&self.label, &launch.dir, search).map(|(files, _)| files);
                let module = modules.into_iter().flatten().find(|file| file.is_file());
                // A package is a directory of modules that name one another.
                let package = module.map(|file| match file.parent() {
                    Some(dir) if !search.iter().any(|it| it == dir) && dir != launch.dir => {
                        package(dir, search)
                    }
                    _ => file,
                });
                let python = venv
                    .iter()
                    .chain(venvs)
                    .find_map(|venv| launch::python_of(venv));
                package.into_iter().chain(python).collect()
            }
            Runtime::Node => self
                .target
                .iter()
                .map(|target| node_file(target, &launch.dir).0)
                .collect(),
            Runtime::Command(argv) => {
                run_by_words(argv.iter().map(String::as_str), Some(&launch.dir), root)
            }
        }
    }

    fn programs(&self) -> Vec<String> {
        match &self.launch.runtime {
            _ if self.launch.sets_path => Vec::new(),
            Runtime::Python { .. } => vec!["python3".into()],
            Runtime::Node => vec!["node".into()],
            Runtime::Command(argv) => {
                Words::List(&argv.iter().map(String::as_str).collect::<Vec<_>>()).programs()
            }
        }
    }

    fn obstacle(&self, _: &HookView<'_>, means: &Means) -> Option<Obstacle> {
        let launch = self.launch(&means.root);
        if let Err(error) = launch.plan() {
            return Some(Obstacle::new("no-program", format!("can't {error}")));
        }
        match &launch.runtime {
            Runtime::Python { search, .. } => Some(
                self.python_obstacle(&launch, search, means.may_start)?
                    .at("python"),
            ),
            Runtime::Node => {
                let (file, export) = node_file(&self.label, &launch.dir);
                Some(unnamed(&file, export?, &self.label)?.at("node"))
            }
            Runtime::Command(argv) => program_obstacle(argv.first()?, &launch.env, &launch.dir),
        }
    }

    fn secrets(&self) -> Vec<&Secrets> {
        vec![&self.launch.secrets]
    }

    fn effect(&self) -> Option<Effect> {
        let runtime = match self.launch.runtime {
            Runtime::Python { .. } => "Python",
            Runtime::Node => "Node",
            Runtime::Command(_) => "",
        };
        let (text, sets) = (self.label.clone(), changed(&self.launch.env));
        Some(Effect::Worker(
            runtime,
            Program {
                text,
                sets,
                cwd: None,
            },
        ))
    }
}

impl Callable {
    fn launch(&self, root: &Path) -> Launch {
        let mut launch = self.launch.clone();
        launch
            .env
            .push((PROJECT_DIR.into(), root.to_string_lossy().into_owned()));
        let is_projects = match self.layer {
            Layer::Project | Layer::Session => true,
            Layer::Managed | Layer::Fleet | Layer::User | Layer::Hooks => false,
        };
        if let Runtime::Python { venvs, search, .. } = &mut launch.runtime
            && is_projects
        {
            let modules = launch
                .approved
                .as_ref()
                .map_or_else(|| root.to_path_buf(), |it| it.tree());
            for (list, path) in [(&mut *venvs, root.join(".venv")), (search, modules)] {
                if !list.contains(&path) {
                    list.push(path);
                }
            }
            if let Some(approved) = &launch.approved {
                // Nobody has approved an environment that was made since then.
                venvs.retain(|venv| approved.was_there(venv));
            }
        }
        launch
    }
}

/// The outermost package that a directory of modules is in.
fn package(dir: &Path, search: &[PathBuf]) -> PathBuf {
    let is_top = |dir: &&Path| {
        dir.parent()
            .is_some_and(|parent| search.iter().any(|it| it == parent))
    };
    dir.ancestors().find(is_top).unwrap_or(dir).to_path_buf()
}

impl Callable {
    /// What keeps a Python function from being found. A module that isn't in the search path may be
    /// installed: only the interpreter knows, which is asked if it may be started.
    fn python_obstacle(
        &self,
        launch: &Launch,
        search: &[PathBuf],
        may_start: bool,
    ) -> Option<Obstacle> {
        let (files, function) = python_files(&self.label, &launch.dir, search)?;
        let name = function.split('.').next()?;
        let is_lone = name == function;
        let misnamed = |file: &Path| {
            unnamed(file, name, &self.label)
                .or_else(|| class(file, name, &self.label).filter(|_| is_lone))
        };
        if let Some(file) = files.iter().find(|file| file.is_file()) {
            let unread = || {
                if may_start {
                    launch.mistake_in(file)
                } else {
                    None
                }
            };
            return misnamed(file).or_else(|| Some(unimportable(file, &self.label, &unread()?)));
        }
        let (module, _) = self.label.rsplit_once(':')?;
        match if may_start {
            launch.find_module(module)
        } else {
            Module::Unclear
        } {
            Module::At(file) => return misnamed(&file),
            Module::Unclear => return None,
            Module::Nowhere => {}
        }
        let places: Vec<_> = search.iter().map(|dir| dir.display().to_string()).collect();
        let obstacle = Obstacle::new("no-module", format!("there is no Python module `{module}`"));
        Some(obstacle.help(format!(
            "it is looked for in {}, then where Python has its packages",
            places.join(", ")
        )))
    }
}

/// A file that a target names and that hasn't the target's name anywhere in it.
fn unnamed(file: &Path, name: &str, target: &str) -> Option<Obstacle> {
    let text = read_text(file).ok()?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    // What is taken over from elsewhere isn't named.
    let is_open =
        text.contains("import *") || text.contains("export *") || text.contains("__getattr__");
    if is_open || text.split(|c| !is_part(c)).any(|word| word == name) {
        return None;
    }
    Some(Obstacle::new(
        "no-module",
        format!("`{target}`: there is no `{name}` in {}", file.display()),
    ))
}

/// A target that its file makes as a class: a worker calls functions only.
fn class(file: &Path, name: &str, target: &str) -> Option<Obstacle> {
    let text = read_text(file).ok()?;
    let is_made = |line: &str| {
        let rest = line
            .strip_prefix("class ")
            .and_then(|rest| rest.trim_start().strip_prefix(name));
        rest.is_some_and(|rest| rest.trim_start().starts_with(['(', ':']))
    };
    // What is made of the class later may have its name.
    let is_other = text
        .lines()
        .any(|line| line.starts_with(name) || line.starts_with(&format!("def {name}")));
    if is_other || !text.lines().any(is_made) {
        return None;
    }
    let help = format!(
        "name a function, or a method of an object that {} makes",
        file.display()
    );
    Some(
        Obstacle::new(
            "no-module",
            format!("`{target}` is a class, which isn't called"),
        )
        .help(help),
    )
}

/// A file that Python can't read.
fn unimportable(file: &Path, target: &str, said: &str) -> Obstacle {
    Obstacle::new(
        "no-module",
        format!("`{target}` can't be imported: {said} of {}", file.display()),
    )
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

struct Python {
    /// As the worker wants it.
    target: String,
    /// Where modules are looked for, before the interpreter's own.
    search: Vec<PathBuf>,
}

fn python(text: &str, cx: &Compile<'_>) -> Result<Python, Mistake> {
    let bad = |message: String, help: &str| Err(Mistake::new("python", message).help(help));
    let Some((place, function)) = text.rsplit_once(':') else {
        let mistake = Mistake::new("python", format!("`{text}` doesn't say which function"));
        return Err(match text.rsplit_once('.') {
            Some((module, function)) if !text.ends_with(".py") => {
                let right = format!("{module}:{function}");
                let help = format!("write `{right}`");
                let edit = Edit::Replace {
                    wrong: text.to_string(),
                    right,
                };
                mistake
                    .help(help)
                    .fix(Fix::new("Write it as `module:function`", edit))
            }
            _ => mistake.help("write `module:function` or `path/to/file.py:function`"),
        });
    };
    if !is_dotted(function) {
        return bad(
            format!("`{function}` can't be the name of a function"),
            "write `module:function`, or `module:object.method`",
        );
    }
    if is_file(place) {
        let file = existing_file("python", place, cx)?;
        // As `python3 file.py` has it: modules beside the file are found.
        let beside = file.parent().unwrap_or(cx.dir).to_path_buf();
        let target = format!("{}:{function}", file.display());
        let mut search = vec![beside];
        search.extend(
            module_dirs(cx)
                .filter(|dir| *dir != search[0])
                .collect::<Vec<_>>(),
        );
        return Ok(Python { target, search });
    }
    if !is_dotted(place) {
        return bad(
            format!("`{place}` can't be the name of a module"),
            "write `module:function` or `path/to/file.py:function`",
        );
    }
    Ok(Python {
        target: text.to_string(),
        search: module_dirs(cx).collect(),
    })
}

/// Where the modules of a definition are: beside its file, and beside what a link to it leads to.
fn module_dirs<'a>(cx: &'a Compile<'_>) -> impl Iterator<Item = PathBuf> + 'a {
    let real = cx.real_dir.filter(|real| *real != cx.dir);
    [cx.dir].into_iter().chain(real).map(Path::to_path_buf)
}

/// Whether a text names a file and not a module.
fn is_file(place: &str) -> bool {
    place.ends_with(".py") || place.contains('/')
}

/// The files that `python` may mean, the first that is there counts, and the function's name in it.
/// Modules are looked for in `search`.
pub fn python_files<'t>(
    text: &'t str,
    dir: &Path,
    search: &[PathBuf],
) -> Option<(Vec<PathBuf>, &'t str)> {
    let (place, function) = text.rsplit_once(':')?;
    if is_file(place) {
        return Some((vec![dir.join(place)], function));
    }
    let module = place.replace('.', "/");
    let files = |dir: &PathBuf| {
        [
            dir.join(format!("{module}.py")),
            dir.join(&module).join("__init__.py"),
        ]
    };
    is_dotted(place).then(|| (search.iter().flat_map(files).collect(), function))
}

/// The file that `node` means, and the export's name unless it is the default one.
pub fn node_file<'t>(text: &'t str, dir: &Path) -> (PathBuf, Option<&'t str>) {
    let (place, export) = text
        .split_once('#')
        .map_or((text, None), |(place, export)| (place, Some(export)));
    (dir.join(place), export)
}

/// Names joined by dots.
fn is_dotted(text: &str) -> bool {
    text.split('.').all(|name| {
        let mut letters = name.chars();
        letters
            .next()
            .is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

fn node(text: &str, cx: &Compile<'_>) -> Result<String, Mistake> {
    let (place, export) = text
        .split_once('#')
        .map_or((text, None), |(place, export)| (place, Some(export)));
    if export.is_some_and(|name| name.is_empty() || name.contains('#')) {
        return Err(
            Mistake::new("node", format!("`{text}` names no export after `#`"))
                .help("write `./file.mjs#name`, or `./file.mjs` for the default export"),
        );
    }
    let file = existing_file("node", place, cx)?;
    let name = export.map(|name| format!("#{name}")).unwrap_or_default();
    Ok(format!("{}{name}", file.display()))
}

/// The file that a definition names.
fn existing_file(field: &'static str, text: &str, cx: &Compile<'_>) -> Result<PathBuf, Mistake> {
    let path = cx.dir.join(text);
    // Symlinks stay: they may be pointed elsewhere while the definition is in force.
    match std::path::absolute(&path) {
        Ok(path) if path.is_file() && path.to_string_lossy().contains('#') => Err(Mistake::new(
            field,
            format!("the path of `{text}` has a `#`"),
        )),
        Ok(path) if path.is_file() => Ok(path),
        _ if path.exists() => Err(Mistake::new(field, format!("`{text}` is not a file"))),
        _ => Err(no_file(field, text, &path, cx)),
    }
}

fn no_file(field: &'static str, text: &str, path: &Path, cx: &Compile<'_>) -> Mistake {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    wait_for(&path, cx);
    Mistake::new(field, format!("there is no file `{text}`")).help(format!(
        "it is looked for from the definition's directory: {}",
        path.display()
    ))
}

/// Has the definition compiled again when the file comes.
fn wait_for(missing: &Path, cx: &Compile<'_>) {
    let _ = (cx.read)(missing);
}

fn find_venv(text: &str, cx: &Compile<'_>) -> Result<PathBuf, Mistake> {
    let path = cx.place().join(text);
    if launch::python_of(&path).is_some() {
        return Ok(path);
    }
    let message = match path.is_dir() {
        true => format!("`{text}` is no virtual environment: it has no bin/python3"),
        false => format!("there is no directory `{text}`"),
    };
    let help = format!("make it with `python3 -m venv {}`", path.display());
    wait_for(&path.join("bin/python3"), cx);
    Err(Mistake::new("venv", message).help(help))
}

fn program(mut argv: Vec<String>, cx: &Compile<'_>) -> Result<Vec<String>, Mistake> {
    match argv.first_mut() {
        Some(program) if !program.is_empty() => {
            if program.contains('/') {
                let path = cx
                    .program_in_place(program)
                    .map_or_else(|| cx.dir.join(&*program), PathBuf::from);
                if !path.is_file() {
                    return Err(no_file("command", program, &path, cx));
                }
                *program = path.to_string_lossy().into_owned();
            }
            Ok(argv)
        }
        _ => Err(Mistake::new("command", "the command is empty")),
    }
}
