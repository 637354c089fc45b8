//! How a worker is started: which program, with what environment, where.

use super::super::digits::Language;
use super::super::environment::Secrets;
use super::super::process::{ProcessError, Spec, resolve};
use std::path::{Path, PathBuf};

/// What is equal for hooks that share a worker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Launch {
    pub(super) runtime: Runtime,
    /// The complete environment.
    pub(super) env: Vec<(String, String)>,
    pub(super) secrets: Secrets,
    /// The definition's directory, where the worker runs.
    pub(super) dir: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Runtime {
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
    pub(super) fn language(&self) -> Option<Language> {
        match self {
            Runtime::Python { .. } => Some(Language::Python),
            Runtime::Node => Some(Language::JavaScript),
            Runtime::Command(_) => None,
        }
    }
}

/// What is to be run, and the files that decided about it.
pub(super) struct Plan {
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
    pub(super) fn plan(&self) -> Result<Plan, String> {
        let mut sources = Vec::new();
        let argv = match &self.runtime {
            Runtime::Python { venv, venvs, search } => {
                let python = match venv {
                    Some(venv) => python_of(venv).ok_or_else(|| {
                        let venv = venv.display();
                        format!("start Python: `{venv}` has no bin/python3; make it with `python3 -m venv {venv}`")
                    })?,
                    None => {
                        // One that is made or removed later counts from then on.
                        sources.extend(venvs.iter().map(|venv| venv.join("pyvenv.cfg")));
                        match venvs.iter().find_map(|venv| python_of(venv)) {
                            Some(python) => python,
                            None => self.on_path("python3", "install Python 3.8 or later, or name a `venv`")?,
                        }
                    }
                };
                let start = [python.to_string_lossy().into_owned(), "-u".into(), "-c".into(), PYTHON_WORKER.into()];
                let search = search.iter().map(|dir| dir.to_string_lossy().into_owned());
                moved(start.into_iter().chain(search))
            }
            Runtime::Node => {
                let node = self.on_path("node", "install Node 18 or later")?.to_string_lossy().into_owned();
                moved([node, "--input-type=module".into(), "-e".into(), NODE_WORKER.into()].into_iter())
            }
            Runtime::Command(argv) => {
                // A script is an argument of its interpreter.
                let files = argv.iter().map(|argument| self.dir.join(argument)).filter(|path| path.is_file());
                sources.extend(files);
                argv.clone()
            }
        };
        Ok(Plan { spec: self.spec(argv), sources })
    }

    /// Whether Python finds the package that a module is in. Nothing of it is loaded.
    pub(super) fn finds_module(&self, module: &str) -> bool {
        const FIND: &str = "import importlib.util, sys\nsys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
        let Ok(Plan { spec, .. }) = self.plan() else { return true };
        let Some(python) = spec.argv.iter().skip_while(|it| *it != "sh").nth(1) else { return true };
        let package = module.split('.').next().unwrap_or(module);
        let mut command = std::process::Command::new(python);
        command.args(["-c", FIND, package]).env_clear().envs(self.env.iter().cloned()).current_dir("/");
        let silent = || std::process::Stdio::null();
        let found = command.stdin(silent()).stdout(silent()).stderr(silent()).status();
        // Only a plain "no" counts.
        found.map_or(true, |status| status.code() != Some(1))
    }

    fn spec(&self, argv: Vec<String>) -> Spec {
        Spec {
            argv,
            env: self.env.clone(),
            cwd: self.dir.clone(),
            stdin: Default::default(),
            limits: Default::default(),
        }
    }

    fn on_path(&self, program: &str, help: &str) -> Result<PathBuf, String> {
        resolve(program, &self.env, &self.dir).map_err(|error| match error {
            ProcessError::NotFound { .. } => {
                let path = self.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
                format!("start `{program}`: not found on PATH ({path}); {help}")
            }
            other => other.to_string(),
        })
    }
}

fn moved(argv: impl Iterator<Item = String>) -> Vec<String> {
    ["/bin/sh", "-c", MOVE_PROTOCOL, "sh"].map(String::from).into_iter().chain(argv).collect()
}

/// A virtual environment's interpreter. Not resolved further: its own path is how Python knows where
/// its packages are.
pub(super) fn python_of(venv: &Path) -> Option<PathBuf> {
    ["bin/python3", "bin/python"].iter().map(|name| venv.join(name)).find(|path| path.is_file())
}
