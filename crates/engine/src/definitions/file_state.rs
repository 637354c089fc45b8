//! One file of definitions as the host knows it. When the file breaks, its last good hooks go on
//! judging, whether this host has seen it or an earlier one has kept it on disk.

use super::compile::{Compiled, CompiledFile, compile, deny_tools};
use super::last_good::GoodText;
use super::origin::Origin;
use super::written::FILE_FIELDS;
use crate::hook::Hook;
use crate::hook_set::UntrustedRule;
use hookwire_base::support::file::{Signature, Unread};
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex, Position, Range, Severity};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::{Layer, Source};
use hookwire_dialects as dialects;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_handlers::handlers::{KINDS, Means};
use hookwire_rules::matching::tools::DeclaredTool;
use hookwire_rules::policy::Policy;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Default)]
pub(super) struct FileState {
    /// Where it was read.
    pub(super) real: PathBuf,
    /// As it was when it was read.
    pub(super) signature: Option<Signature>,
    /// It may have changed since without looking different.
    pub(super) racy: bool,
    pub(super) content: Option<[u8; 32]>,
    pub(super) text: Arc<str>,
    pub(super) hooks: Vec<Defined>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) tools: Vec<DeclaredTool>,
    /// What it says of projects that nobody has trusted.
    pub(super) untrusted: Option<UntrustedRule>,
    /// Name and place of every hook that can be read, for duplicates.
    pub(super) names: Vec<(Arc<str>, Span, Range)>,
    pub(super) diagnostics: Vec<Arc<Diagnostic>>,
    /// Other files that the definitions name, as they were when they were read.
    pub(super) named: Vec<Named>,
    /// The texts that its hooks and its policy come from, oldest first.
    pub(super) good: Vec<Arc<GoodText>>,
    /// A message for every event: the file is broken, and this host has not seen it whole.
    pub(super) told: Option<String>,
}

/// A file that a definition names. When it changes, the definition is compiled again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    /// `None` if it leads nowhere.
    pub(super) signature: Option<Signature>,
    /// It may have changed since without looking different.
    pub(super) racy: bool,
}

/// The text of a file that a definition names, or why there is none, and what the file looked like.
pub(super) type NamedText = (Result<String, String>, Option<Signature>);

/// A hook with what names its definition.
#[derive(Clone)]
pub(super) struct Defined {
    pub(super) hook: Arc<Hook>,
    pub(super) digest: [u8; 16],
    /// The text that it comes from; `None` for one of the program, and for one that stands in for a
    /// broken one.
    pub(super) from: Option<Arc<GoodText>>,
}

impl FileState {
    /// Whether something of it is in force as somebody has written it.
    pub(super) fn has_good(&self) -> bool {
        self.hooks.iter().any(|it| !it.hook.is_broken())
            || self.policy.as_ref().is_some_and(|it| !it.is_broken())
            || self.untrusted.is_some()
    }

    /// Whether something that was in force before is not any more.
    pub(super) fn takes_from(&self, before: &FileState) -> bool {
        let mut good = before.hooks.iter().filter(|it| !it.hook.is_broken());
        good.any(|old| !self.hooks.iter().any(|new| new.hook.name == old.hook.name))
            || before.policy.is_some() && self.policy.is_none()
            || before.untrusted > self.untrusted
    }

    /// Whether what was there before matters, if this is the first that a host sees of the file:
    /// something is wrong, or nothing is there.
    pub(super) fn needs_last_good(&self) -> bool {
        !self.has_good()
            || self
                .diagnostics
                .iter()
                .any(|it| it.severity == Severity::Error)
    }

    /// The nth hook of a name, as it was before it was broken.
    fn last_good(&self, name: &str, nth: usize) -> Option<Defined> {
        self.hooks
            .iter()
            .filter(|it| &*it.hook.name == name && !it.hook.is_broken())
            .nth(nth)
            .cloned()
    }

    /// When it was last good, if that was before this host started.
    pub(super) fn time(&self) -> Option<&str> {
        self.good
            .last()
            .filter(|it| it.is_of_disk)
            .map(|it| &*it.at)
    }
}

/// A file, or a directory that can't be read, with what is known of it besides its content.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// As people know it.
    pub(super) path: &'a Path,
    /// Without symlinks, as far as it leads anywhere.
    pub(super) real: &'a Path,
    pub(super) signature: Option<Signature>,
    /// It was found in a directory; otherwise somebody has named it.
    pub(super) is_found: bool,
    pub(super) layer: Layer,
    pub(super) approved: Option<&'a Arc<Approved>>,
    pub(super) means: &'a Means,
}

const NO_HOOK: &str = "; no hook of this file is in force";
const ALL_DENIED: &str = "; until it is fixed, every tool call is denied";

/// The problem of a file that can't be read, and the text that stands before the place.
pub fn unreadable(error: &Unread) -> (Problem, &str) {
    let before = match error {
        Unread::NotText(before) => before.as_str(),
        Unread::Error(_) => "",
    };
    let place = before.len()..before.len();
    (
        Problem::error(
            &place,
            "unreadable",
            format!("failed to read the file: {error}"),
        ),
        before,
    )
}

impl Place<'_> {
    /// Compiles a text of the file. `kept`: it isn't in the file now, but was good once. `read`
    /// reads the files that it names.
    pub(super) fn compile(
        &self,
        text: Arc<str>,
        kept: Option<&Arc<GoodText>>,
        before: Option<&FileState>,
        read: &dyn Fn(&Path) -> NamedText,
    ) -> FileState {
        let had_good = before.is_some_and(FileState::has_good);
        if had_good && text.trim().is_empty() {
            // Editors truncate before they write.
            let mut empty = file_problem("empty-file", "the file is empty".into());
            empty.help = Some("delete the file to remove its hooks".into());
            return self.broken(text, true, before, vec![empty]);
        }
        let root = match formats::parse(&text, Format::from_path(self.path).unwrap_or_default()) {
            Ok(root) => root,
            Err(problems) => return self.broken(text, true, before, problems),
        };
        if self.is_found && !had_good && !holds_definitions(&root) {
            return self.without_definitions(text, &root);
        }
        let file = self.path.display().to_string();
        let known_as = if self.approved.is_some() {
            self.real
        } else {
            self.path
        };
        let named = RefCell::new((Vec::new(), BTreeMap::new()));
        let read = |path: &Path| {
            let (result, signature) = read(path);
            let racy = signature.is_some_and(|signature| signature.is_racy());
            let (named, texts) = &mut *named.borrow_mut();
            named.push(Named {
                path: path.to_path_buf(),
                signature,
                racy,
            });
            if let Ok(text) = &result {
                texts.insert(path.to_path_buf(), Arc::from(text.as_str()));
            }
            result
        };
        let origin = Origin {
            real_dir: self.real.parent().filter(|_| self.approved.is_none()),
            approved: self.approved,
            means: Some(self.means),
            ..Origin::new(
                &file,
                known_as.parent().unwrap_or(Path::new("/")),
                self.layer,
                &read,
            )
        };
        let lines = LineIndex::new(&text);
        let mut compiled = compile(&root, &origin, &lines);
        let (named, texts) = named.into_inner();
        if had_good && compiled.is_broken {
            return FileState {
                named,
                ..self.broken(text, true, before, compiled.problems)
            };
        }
        let good = kept
            .cloned()
            .unwrap_or_else(|| Arc::new(GoodText::new(text.clone(), texts)));
        let mut state = self.as_it_was_read(text.clone());
        if compiled.is_broken {
            self.tell_broken_start(&mut compiled, &lines, &mut state);
        }
        self.put_in_force(&mut compiled, &lines, &good, before, &mut state);
        state.diagnostics = compiled
            .problems
            .iter()
            .map(|problem| problem.to_diagnostic(&file, &lines).into())
            .collect();
        state.named = named;
        (state.policy, state.tools) = (compiled.policy.map(Arc::new), compiled.tools);
        state.untrusted = compiled.untrusted.map(|how| UntrustedRule {
            how,
            file: file.as_str().into(),
        });
        let says_more = state.policy.is_some() || state.untrusted.is_some();
        if says_more || !state.hooks.is_empty() || !state.tools.is_empty() {
            state.good.push(good);
        }
        state
    }

    /// The hooks of a text in force, those that are broken in their last good form.
    fn put_in_force(
        &self,
        compiled: &mut CompiledFile,
        lines: &LineIndex<'_>,
        good: &Arc<GoodText>,
        before: Option<&FileState>,
        state: &mut FileState,
    ) {
        for Compiled {
            name,
            span,
            hook,
            stand_in,
            digest,
            problems,
            ..
        } in std::mem::take(&mut compiled.hooks)
        {
            let nth = state
                .names
                .iter()
                .filter(|(it, _, _)| Some(it) == name.as_ref())
                .count();
            if let Some(name) = &name {
                state
                    .names
                    .push((name.clone(), span.clone(), lines.range(&span)));
            }
            if let Some(hook) = hook {
                state.hooks.push(Defined {
                    hook,
                    digest,
                    from: Some(good.clone()),
                });
                continue;
            }
            let kept = before
                .zip(name)
                .and_then(|(before, name)| before.last_good(&name, nth));
            let of_disk = kept
                .as_ref()
                .and_then(|it| it.from.as_ref())
                .filter(|it| it.is_of_disk);
            let fate = match (&kept, of_disk, &stand_in) {
                (_, Some(text), _) => {
                    state.told.get_or_insert_with(|| self.told(Some(&text.at)));
                    format!("; its form of {} is in force", text.at)
                }
                (Some(_), None, _) => "; its last good form stays in force".into(),
                (None, None, Some(hook)) if hook.denies_every_call() => {
                    state.told = Some(self.told(None));
                    ALL_DENIED.into()
                }
                (None, None, Some(_)) => {
                    "; it fails closed: its events are denied until it is fixed".into()
                }
                (None, None, None) => "; the hook is not in force".into(),
            };
            let mut own = compiled.problems[problems].iter_mut();
            if let Some(first) = own.find(|it| it.severity == Severity::Error) {
                first.message.push_str(self.fate(&fate));
            }
            state.hooks.extend(kept.or(stand_in.map(|hook| Defined {
                hook,
                digest,
                from: None,
            })));
        }
        let from: Vec<_> = state
            .hooks
            .iter()
            .filter_map(|it| it.from.as_ref())
            .collect();
        let texts = before.into_iter().flat_map(|before| &before.good);
        state.good = texts
            .filter(|text| from.iter().any(|it| Arc::ptr_eq(it, text)))
            .cloned()
            .collect();
    }

    /// A file that can't be used: what was last good stays in force, and without that no tool is
    /// called.
    pub(super) fn broken(
        &self,
        text: Arc<str>,
        is_read: bool,
        before: Option<&FileState>,
        mut problems: Vec<Problem>,
    ) -> FileState {
        let mut state = FileState {
            told: None,
            ..before.cloned().unwrap_or_default()
        };
        let lines = LineIndex::new(&text);
        let fate = match state.time().map(str::to_string) {
            Some(time) if state.has_good() => {
                state.told = Some(self.told(Some(&time)));
                format!("; its state of {time} is in force")
            }
            _ if !state.has_good() && self.layer.is_trusted() => {
                state.hooks = vec![self.stand_in(&lines, problems.first())];
                state.told = Some(self.told(None));
                ALL_DENIED.into()
            }
            _ if state.hooks.is_empty() && state.policy.is_none() => NO_HOOK.into(),
            _ => "; its last good hooks stay in force".into(),
        };
        if let Some(first) = problems.first_mut() {
            first.message.push_str(self.fate(&fate));
        }
        let file = self.path.display().to_string();
        let diagnostics = problems
            .iter()
            .map(|problem| problem.to_diagnostic(&file, &lines).into())
            .collect();
        // The places of the names are of another text: duplicates are not reported until the file
        // is fixed.
        let (names, named) = (Vec::new(), Vec::new());
        let FileState {
            real,
            signature,
            racy,
            content,
            text,
            ..
        } = self.as_it_was_read(text);
        let content = content.filter(|_| is_read);
        FileState {
            real,
            signature,
            racy,
            content,
            text,
            names,
            diagnostics,
            named,
            ..state
        }
    }

    /// The state in which these texts of the file leave it, read one after the other.
    pub(super) fn restore(&self, texts: &[Arc<GoodText>]) -> Option<FileState> {
        let restored = texts.iter().fold(None, |before: Option<FileState>, good| {
            let read = |path: &Path| {
                let text = good.named.get(path).map(|text| text.to_string());
                (
                    text.ok_or_else(|| "it was not kept with the definition".to_string()),
                    None,
                )
            };
            Some(self.compile(good.text.clone(), Some(good), before.as_ref(), &read))
        });
        restored.filter(FileState::has_good)
    }

    fn as_it_was_read(&self, text: Arc<str>) -> FileState {
        let content = Some(Sha256::digest(text.as_bytes()).into());
        let racy = self.signature.is_some_and(|signature| signature.is_racy());
        FileState {
            real: self.real.into(),
            signature: self.signature,
            racy,
            content,
            text,
            ..FileState::default()
        }
    }

    fn without_definitions(&self, text: Arc<str>, root: &Node) -> FileState {
        let mut hint = file_problem(
            "not-definitions",
            "it has no `hooks`: nothing of it is in force".into(),
        );
        hint.severity = Severity::Hint;
        let problem = misnamed_policy(root)
            .or_else(|| misnamed_cases(self.path, root))
            .unwrap_or(hint);
        let diagnostic =
            problem.to_diagnostic(&self.path.display().to_string(), &LineIndex::new(&text));
        FileState {
            diagnostics: vec![diagnostic.into()],
            ..self.as_it_was_read(text)
        }
    }

    /// A mistake outside of the hooks, and there is no last good state.
    fn tell_broken_start(
        &self,
        compiled: &mut CompiledFile,
        lines: &LineIndex<'_>,
        state: &mut FileState,
    ) {
        let has_broken_policy = compiled.policy.as_ref().is_some_and(Policy::is_broken);
        let has_none = compiled.hooks.is_empty() && compiled.policy.is_none();
        let fate = if has_broken_policy {
            "; until it is fixed, the policy allows nothing"
        } else if self.layer.is_trusted() {
            state
                .hooks
                .push(self.stand_in(lines, compiled.problems.first()));
            ALL_DENIED
        } else if has_none {
            NO_HOOK
        } else {
            ""
        };
        if has_broken_policy || self.layer.is_trusted() {
            state.told = Some(self.told(None));
        }
        if let Some(first) = compiled.problems.first_mut() {
            first.message.push_str(self.fate(fate));
        }
    }

    /// What a mistake does to agents, unless the file is only tried: then it does nothing.
    fn fate<'t>(&self, text: &'t str) -> &'t str {
        if self.means.is_trial { "" } else { text }
    }

    /// Denies every tool call, because nobody can tell what the file would have said.
    fn stand_in(&self, lines: &LineIndex<'_>, problem: Option<&Problem>) -> Defined {
        let file = self.path.display().to_string();
        let diagnostic = problem.map(|problem| problem.to_diagnostic(&file, lines));
        let Position { line, column } = diagnostic
            .as_ref()
            .map_or(Range::default(), |it| it.range)
            .start;
        let why = diagnostic.map(|it| it.one_line()).unwrap_or_default();
        let name = self
            .path
            .file_name()
            .unwrap_or(self.path.as_os_str())
            .to_string_lossy();
        let digest = Sha256::digest(&why)
            .first_chunk()
            .copied()
            .unwrap_or_default();
        let source = Source {
            layer: self.layer,
            file: file.into(),
            line,
            column,
            position: 0,
        };
        let hook = deny_tools(
            (*name).into(),
            Vec::new(),
            source,
            &format!("run, because it is broken: {why}"),
        );
        Defined {
            hook,
            digest,
            from: None,
        }
    }

    /// The message for every event.
    pub(super) fn told(&self, time: Option<&str>) -> String {
        let file = self.path.display();
        match time {
            Some(time) => format!("{file} is broken; its state of {time} is in force"),
            None if self.means.is_trial => {
                format!("{file} is broken; `hookwire check {file}` shows where")
            }
            None => format!(
                "{file} is broken, so every tool call is denied; `hookwire check {file}` shows where"
            ),
        }
    }
}

pub(super) fn file_problem(code: &'static str, message: String) -> Problem {
    Problem::error(&(0..0), code, message)
}

/// Whether a file is meant to hold definitions: it has a member of theirs, or one that is nearly
/// that.
fn holds_definitions(root: &Node) -> bool {
    let is_hook = |node: &Node| {
        let has_handler = || KINDS.iter().any(|kind| node.get(kind.key).is_some());
        has_handler()
            && ["name", "on", "event", "mode", "type"]
                .iter()
                .any(|key| node.get(key).is_some())
    };
    match &root.value {
        NodeValue::Map(entries) => {
            let is_own = |key: &str| closest(key, ["hooks", "policy", "untrusted"]).is_some();
            entries.iter().any(|entry| is_own(&entry.key))
                || entries
                    .iter()
                    .all(|entry| FILE_FIELDS.contains(&entry.key.as_str()))
                || dialects::recognise_file(root).is_some()
                || dialects::is_meant(root)
                || is_hook(root)
        }
        NodeValue::Seq(items) => items.iter().any(is_hook),
        // Too little to be a file of another tool.
        _ => true,
    }
}

/// Cases in a file that isn't called as those are, so that nobody tries them.
fn misnamed_cases(path: &Path, root: &Node) -> Option<Problem> {
    let NodeValue::Map(entries) = &root.value else {
        return None;
    };
    let entry = entries
        .iter()
        .find(|it| it.key == "cases" && matches!(it.value.value, NodeValue::Seq(_)))?;
    let name = path.file_stem()?.to_str()?;
    let words = ["tests", "test", "cases", "spec"];
    let subject = words
        .iter()
        .find_map(|word| name.strip_suffix(word)?.strip_suffix(['.', '_', '-']))
        .unwrap_or("guard");
    let extension = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or("yaml");
    let message = "nobody tries these cases: a file of cases ends in `.test.yaml`, or `.test` and another format";
    let help = format!(
        "call it `{subject}.test.{extension}`, beside the definitions in `{subject}.{extension}`"
    );
    Some(Problem::warning(&entry.key_span, "not-definitions", message).help(help))
}

/// A policy by the name that other systems have for it: a file that looks like rules, and holds
/// none.
fn misnamed_policy(root: &Node) -> Option<Problem> {
    let NodeValue::Map(entries) = &root.value else {
        return None;
    };
    let entry = entries.iter().find(|it| {
        let has_rules = || it.value.get("deny").or(it.value.get("allow")).is_some();
        ["policies", "permissions"].contains(&&*it.key) && has_rules()
    })?;
    let message = format!(
        "nothing of this is in force: hookwire has no `{}`",
        entry.key
    );
    Some(
        Problem::warning(&entry.key_span, "unknown-field", message)
            .did_you_mean(&entry.key, Some("policy")),
    )
}
