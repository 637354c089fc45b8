//! How a worker is started: which program, with what environment, where.

use super::super::approved::Approved;
use super::super::asked::{Stream, ask};
use super::super::digits::Language;
use super::super::environment::{Secrets, changed};
use super::super::named_files::run_by_words;
use super::super::pins::Pins;
use super::super::process::{ProcessError, Spec, resolve};
use hookwire_rules::matching::paths::normalise;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The variable with the project's directory, which every worker has.
pub(in crate::handlers) const PROJECT_DIR: &str = "HOOKWIRE_PROJECT_DIR";

/// What is equal for hooks that share a worker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::handlers) struct Launch {
    pub(in crate::handlers) runtime: Runtime,
    /// The complete environment.
    pub(in crate::handlers) env: Vec<(String, String)>,
    pub(in crate::handlers) secrets: Secrets,
    /// The definition's directory, where the worker runs.
    pub(in crate::handlers) dir: PathBuf,
    /// The definition sets `PATH` itself.
    pub(in crate::handlers) sets_path: bool,
    /// What a person has approved, if the definition is of that.
    pub(in crate::handlers) approved: Option<Arc<Approved>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::handlers) enum Runtime {
    Python {
        /// The one that the definition names.
        venv: Option<PathBuf>,
        /// Else the first of these that is there.
        venvs: Vec<PathBuf>,
        /// Where modules are looked for, before the interpreter's own.
        search: Vec<PathBuf>,
    },
    Node,
    Command(Vec<String>),
}

impl Runtime {
    /// Whose numbers have to get their digits back; a program says what it means.
    pub(in crate::handlers) fn language(&self) -> Option<Language> {
        match self {
            Runtime::Python { .. } => Some(Language::Python),
            Runtime::Node => Some(Language::JavaScript),
            Runtime::Command(_) => None,
        }
    }
}

/// What is to be run, and the files that decided about it.
pub(in crate::handlers) struct Plan {
    pub(super) spec: Spec,
    pub(super) sources: Vec<PathBuf>,
}

/// Moves the protocol to descriptors 3 and 4 before the interpreter starts, so that nothing that it
/// loads can write into it.
const MOVE_PROTOCOL: &str = r#"exec 3>&1 4<&0 1>&2 0</dev/null; exec "$@""#;
const PYTHON_WORKER: &str = include_str!("worker.py");
const NODE_WORKER: &str = include_str!("worker.mjs");

impl Launch {
    /// Looks the interpreter up.
    ///
    /// # Errors
    /// Says what is missing and what to do, finishing "failed to ...".
    pub(in crate::handlers) fn plan(&self) -> Result<Plan, String> {
        let mut sources = Vec::new();
        let argv = match &self.runtime {
            Runtime::Python {
                venv,
                venvs,
                search,
            } => {
                let python = match venv {
                    Some(venv) => python_of(venv).ok_or_else(|| {
                        let venv = venv.display();
                        format!("start Python: `{venv}` has no bin/python3; make it with `python3 -m venv {venv}`")
                    })?,
                    None => {
                        // An environment that is made or removed later counts from then on, unless
                        // a person has approved what was there.
                        sources.extend(venvs.iter().map(|venv| venv.join("pyvenv.cfg")));
                        match venvs.iter().find_map(|venv| python_of(venv)) {
                            Some(python) => python,
                            None if self.approved.is_some() && !venvs.is_empty() => {
                                let venv = venvs[0].display();
                                return Err(format!(
                                    "start Python: `{venv}`, which was trusted, has no bin/python3; see `hookwire trust`"
                                ));
                            }
                            None => self.on_path("python3", "install Python 3.8 or later, or name a `venv`")?,
                        }
                    }
                };
                let start = [
                    python.to_string_lossy().into_owned(),
                    "-u".into(),
                    "-c".into(),
                    PYTHON_WORKER.into(),
                ];
                let search = search.iter().map(|dir| dir.to_string_lossy().into_owned());
                moved(start.into_iter().chain(search))
            }
            Runtime::Node => {
                let node = self
                    .on_path("node", "install Node 18 or later")?
                    .to_string_lossy()
                    .into_owned();
                moved(
                    [
                        node,
                        "--input-type=module".into(),
                        "-e".into(),
                        NODE_WORKER.into(),
                    ]
                    .into_iter(),
                )
            }
            Runtime::Command(argv) => {
                // A script is an argument of its interpreter.
                let files = argv
                    .iter()
                    .map(|argument| self.dir.join(argument))
                    .filter(|path| path.is_file());
                sources.extend(files);
                let mut argv = argv.clone();
                if let Some(program) = argv
                    .first_mut()
                    .filter(|it| self.approved.is_some() && !it.contains('/'))
                {
                    *program = self
                        .on_path(program, "install it")?
                        .to_string_lossy()
                        .into_owned();
                }
                argv
            }
        };
        Ok(Plan {
            spec: self.spec(argv),
            sources,
        })
    }

    /// Where Python finds a module, by the package that it is in. Nothing of it is loaded. Only the
    /// machine's own interpreter is asked, in the host's own environment: a virtual environment and
    /// variables may have come with a cloned project, and to look at definitions must run nothing
    /// of theirs.
    pub(in crate::handlers) fn find_module(&self, module: &str) -> Module {
        self.ask_for_module(module).unwrap_or(Module::Unclear)
    }

    fn ask_for_module(&self, module: &str) -> Option<Module> {
        // Only a plain "no" counts.
        match self.ask(FIND_MODULE, module)? {
            (0, place) if !place.is_empty() => Some(Module::At(place.into())),
            (1, _) => Some(Module::Nowhere),
            _ => None,
        }
    }

    /// What keeps Python from reading a file, and its line. Nothing of it is run; who is asked is
    /// the same as for a module.
    pub(in crate::handlers) fn mistake_in(&self, file: &Path) -> Option<String> {
        let (code, said) = self.ask(PARSE_FILE, file.to_str()?)?;
        (code == 1 && !said.is_empty()).then_some(said)
    }

    /// The exit code and the text of a Python script of hookwire's own.
    fn ask(&self, script: &str, argument: &str) -> Option<(i32, String)> {
        let Runtime::Python {
            venv: None, venvs, ..
        } = &self.runtime
        else {
            return None;
        };
        let is_own = |name: &String| name == PROJECT_DIR;
        if venvs.iter().any(|venv| python_of(venv).is_some())
            || !changed(&self.env).iter().all(is_own)
        {
            return None;
        }
        let python = self.on_path("python3", "").ok()?;
        let mut command = std::process::Command::new(python);
        command
            .args(["-c", script, argument])
            .env_clear()
            .envs(self.env.iter().cloned())
            .current_dir("/");
        ask(command, Stream::Stdout, MAX_SAID, ASK_TIME)
    }

    fn spec(&self, argv: Vec<String>) -> Spec {
        Spec {
            argv,
            env: self.env.clone(),
            cwd: self.dir.clone(),
            stdin: Default::default(),
            limits: Default::default(),
            pins: self.pins(),
        }
    }

    /// What must be as it was approved: the copy, and the interpreter or the files that run where
    /// they are.
    fn pins(&self) -> Option<Pins> {
        let approved = self.approved.clone()?;
        let files = match &self.runtime {
            Runtime::Python { venv, venvs, .. } => venv
                .iter()
                .chain(venvs)
                .find_map(|venv| python_of(venv))
                .into_iter()
                .collect(),
            Runtime::Node => Vec::new(),
            Runtime::Command(argv) => run_by_words(
                argv.iter().map(String::as_str),
                Some(&self.dir),
                &approved.root,
            ),
        };
        let files = files.iter().map(|file| normalise(file)).collect();
        Some(Pins {
            approved,
            files,
            names: Vec::new(),
        })
    }

    fn on_path(&self, program: &str, help: &str) -> Result<PathBuf, String> {
        let programs = self
            .approved
            .as_ref()
            .and_then(|approved| approved.programs.as_ref());
        if let Some(programs) = programs.filter(|_| !self.sets_path) {
            return programs.place(program).map(Path::to_path_buf);
        }
        resolve(program, &self.env, &self.dir).map_err(|error| match error {
            ProcessError::NotFound { .. } => {
                let path = self
                    .env
                    .iter()
                    .find(|(name, _)| name == "PATH")
                    .map_or("", |(_, value)| value);
                format!("start `{program}`: not found on PATH ({path}); {help}")
            }
            other => other.to_string(),
        })
    }
}

fn moved(argv: impl Iterator<Item = String>) -> Vec<String> {
    ["/bin/sh", "-c", MOVE_PROTOCOL, "sh"]
        .map(String::from)
        .into_iter()
        .chain(argv)
        .collect()
}

/// What is known of a module that isn't in the definition's search path.
pub(in crate::handlers) enum Module {
    /// Its file.
    At(PathBuf),
    /// Python doesn't find its package.
    Nowhere,
    /// Neither is sure.
    Unclear,
}

/// Prints the file of a module, exits with 1 if there is no package of its name. Packages are not
/// loaded, so that a module of one is only looked for beside it.
const FIND_MODULE: &str = "
import importlib.util, os, sys
package, *parts = sys.argv[1].split('.')
spec = importlib.util.find_spec(package)
if spec is None:
    sys.exit(1)
file, dirs = spec.origin, spec.submodule_search_locations or []
for part in parts:
    places = [os.path.join(it, part) for it in dirs]
    files = [file for it in places for file in (it + '.py', os.path.join(it, '__init__.py'))]
    file, dirs = next((it for it in files if os.path.isfile(it)), ''), places
print(file or '', end='')
";

/// Prints what is wrong with a file's syntax and exits with 1. `ast.parse` runs nothing of it.
const PARSE_FILE: &str = "
import ast, sys
try:
    with open(sys.argv[1], 'rb') as file:
        text = file.read(1 << 20)
    if len(text) < 1 << 20:
        ast.parse(text)
except SyntaxError as error:
    print(ascii(error.msg)[1:-1], 'in line', error.lineno, end='')
    sys.exit(1)
";

/// How long an interpreter has to answer.
const ASK_TIME: Duration = Duration::from_secs(5);
/// The longest answer that is read, in bytes.
const MAX_SAID: u64 = 4096;

/// A virtual environment's interpreter. Not resolved further: its own path is how Python knows
/// where its packages are.
pub(in crate::handlers) fn python_of(venv: &Path) -> Option<PathBuf> {
    ["bin/python3", "bin/python"]
        .iter()
        .map(|name| venv.join(name))
        .find(|path| path.is_file())
}
