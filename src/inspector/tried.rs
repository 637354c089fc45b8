//! A definition that isn't saved, held against an event: what it would say, without starting
//! anything.

use super::problem::{Answer, Problem};
use crate::rpc::protocol::ExplainResult;
use hookwire_base::event::Event;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_dialects::{self as dialects, Dialect};
use hookwire_engine::definitions::cases::{Expected, is_definition_file};
use hookwire_engine::engine::NOT_RUN;
use hookwire_engine::host::{Host, HostOptions, LastGood, Projects, Purpose};
use hookwire_rules::matching::Facts;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The name of a text that says none.
const UNNAMED: &str = "definition.yaml";

/// A file without hooks; as JSON it is YAML, too.
#[cfg(feature = "history")]
const NONE: &str = r#"{"hooks":[]}"#;

/// The text of a definition file.
#[derive(Deserialize)]
pub(super) struct Definition {
    #[serde(rename = "definition")]
    text: String,
    #[serde(default)]
    path: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Try {
    #[serde(flatten)]
    definition: Definition,
    event: Value,
}

/// A host of one definition file and nothing else, which lies in a directory of its own.
pub(super) struct Alone {
    pub(super) host: Arc<Host>,
    /// The file as it was named, and where it lies.
    name: String,
    file: String,
    _dir: TempDir,
}

impl Definition {
    /// The file that it would replace in a project, or none.
    #[cfg(feature = "history")]
    pub(super) fn saved_in(&self, root: &Path) -> Definition {
        let name = self
            .path
            .as_ref()
            .and_then(|path| Path::new(path).file_name());
        let path = name.map(|name| {
            root.join(hookwire_engine::definitions::approved::DEFINITIONS)
                .join(name)
        });
        let text = path
            .and_then(|path| hookwire_base::support::file::read(&path).ok())
            .map(|(text, _)| text);
        Definition {
            text: text.unwrap_or_else(|| NONE.into()),
            path: self.path.clone().filter(|_| name.is_some()),
        }
    }

    /// Loads it by itself for a project.
    pub(super) fn load_alone(&self, root: &Path, purpose: Purpose) -> Answer<Alone> {
        let name = self.path.clone().unwrap_or_else(|| UNNAMED.into());
        let base = Path::new(&name)
            .file_name()
            .map(Path::new)
            .filter(|it| is_definition_file(it));
        let base = base.ok_or_else(|| {
            Problem::params(
                "`path` is no definition file: those end in .yaml, .yml, .toml or .json",
            )
        })?;
        let dir = tempfile::Builder::new().prefix("hookwire-try-").tempdir()?;
        let found = dir.path().canonicalize()?;
        let file = found.join(base);
        std::fs::write(&file, &self.text)?;
        let host = Host::new(HostOptions {
            root: root.into(),
            // A project's definitions are found in a directory, too, where a file of something else
            // counts for nothing.
            hooks: vec![found],
            projects: Projects::None,
            system: false,
            last_good: LastGood::Ignored,
            purpose,
            ..HostOptions::default()
        });
        Ok(Alone {
            host,
            name,
            file: file.to_string_lossy().into_owned(),
            _dir: dir,
        })
    }
}

impl Alone {
    /// What is wrong in the file.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let named = |text: &str| text.replace(&self.file, &self.name);
        let published = self.host.published();
        let found = published.diagnostics.iter();
        found
            .map(|diagnostic| Diagnostic {
                file: named(&diagnostic.file),
                message: named(&diagnostic.message),
                ..diagnostic.clone()
            })
            .collect()
    }
}

impl Try {
    pub(super) fn answer(self, root: &Path) -> Answer {
        let alone = self.definition.load_alone(root, Purpose::Try)?;
        let (dialect, event) = read_event(self.event)?;
        // The engine's own verdict, because every other way to one is wrong somewhere.
        let (verdict, _) =
            tokio::runtime::Handle::current().block_on(alone.host.judge_as(dialect, &event));
        let hooks = alone.host.hooks();
        let facts = Facts::new(Arc::new(event), root).with_names(&hooks.tool_names);
        let explanation =
            ExplainResult::new(hooks.hooks.iter(), &hooks.policies, &hooks.broken, &facts);
        let not_run: Vec<_> = verdict
            .outcomes
            .iter()
            .filter(|outcome| outcome.reason.as_deref() == Some(NOT_RUN))
            .collect();
        // With what didn't run, a case could expect something else.
        let is_whole = not_run.is_empty()
            && verdict
                .outcomes
                .iter()
                .all(|outcome| outcome.error.is_none() || outcome.opaque.is_some());
        let expect = Expected::of(&verdict)
            .filter(|_| is_whole)
            .map(|it| it.to_value());
        // A reason may name the file: people know it by its name.
        let [file, name] = [&alone.file, &alone.name].map(|it| json!(it).to_string());
        let (file, name) = (&file[1..file.len() - 1], &name[1..name.len() - 1]);
        let verdict: Value = serde_json::from_str(&json!(verdict).to_string().replace(file, name))?;
        let mut tried = json!({
            "diagnostics": alone.diagnostics(), "explanation": explanation, "verdict": verdict, "expect": expect,
            "notRun": not_run.iter().map(|it| &it.hook).collect::<Vec<_>>(),
        });
        for hook in tried["explanation"]["hooks"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            hook["source"]["file"] = alone.name.as_str().into();
        }
        Ok(tried)
    }
}

/// The event behind the params of `hooks/dispatch`, and the vocabulary of who sends it.
fn read_event(params: Value) -> Answer<(&'static Dialect, Event)> {
    let dialect = params["dialect"]
        .as_str()
        .unwrap_or(dialects::NATIVE)
        .to_string();
    let event = dialects::read_sent_event(params, &dialect)
        .ok_or_else(|| Problem::params("`event` is no event"))?;
    Ok((
        dialects::by_name(&dialect).map_err(|unknown| Problem::params(unknown.to_string()))?,
        event,
    ))
}
