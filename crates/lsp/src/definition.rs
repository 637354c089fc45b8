//! Where the code is that a hook names, and where else its name is.

use super::document::Document;
use super::same_name::same_name;
use super::surroundings::Surroundings;
use super::texts::{self, RunsIn, TextKind};
use super::written::{Reading, each_text};
use hookwire_base::support::file::read_named;
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::node::{Node, Span};
use hookwire_base::syntax::source::Layer;
use hookwire_base::syntax::written::Written;
use hookwire_handlers::handlers::{node_file, python_files};
use hookwire_rules::contract::PROJECT_VARIABLES;
use ls_types::{GotoDefinitionResponse, Location, LocationLink, Position, Range as LspRange, Uri};
use regex::Regex;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub(super) fn find_definition(
    document: &Document,
    position: Position,
    around: &Surroundings<'_>,
) -> Option<GotoDefinitionResponse> {
    let lines = document.lines();
    let asked = Asked::at_offset(document, lines.offset(position))?;
    let targets: Vec<Location> = match asked.names {
        Names::Hook(name) => same_name(document, &asked.origin, &name, around),
        Names::Code(names) => {
            let root = around
                .project
                .as_ref()
                .map(|project| project.root().to_path_buf());
            let is_projects = around
                .layer_of(&document.path)
                .is_none_or(|layer| match layer {
                    Layer::Project | Layer::Session => true,
                    Layer::Managed | Layer::Fleet | Layer::User | Layer::Hooks => false,
                });
            let dir = document
                .path
                .parent()
                .unwrap_or(Path::new(""))
                .to_path_buf();
            names
                .find_location(&Around {
                    dir,
                    root,
                    is_projects,
                })
                .into_iter()
                .collect()
        }
    };
    if targets.is_empty() {
        return None;
    }
    if !around.abilities.location_links {
        return Some(GotoDefinitionResponse::Array(targets));
    }
    Some(GotoDefinitionResponse::Link(
        targets
            .into_iter()
            .map(|Location { uri, range }| LocationLink {
                origin_selection_range: Some(lines.range(&asked.origin)),
                target_uri: uri,
                target_range: range,
                target_selection_range: range,
            })
            .collect(),
    ))
}

/// A text that names something, and where it stands.
struct Asked {
    origin: Span,
    names: Names,
}

enum Names {
    /// A hook.
    Hook(String),
    /// Code.
    Code(Code),
}

/// Code as definitions name it.
#[derive(Debug, PartialEq)]
enum Code {
    /// A file, from the definition's directory.
    File(String),
    /// `module:function` or `file.py:function`.
    Python { text: String, venv: Option<String> },
    /// `file.mjs#export`.
    Node(String),
    /// A program: with a slash from the definition's directory, else it is on PATH.
    Program(String),
    /// An argument: a file where the command runs, or in the definition's directory.
    Argument { text: String, cwd: Cwd },
}

/// Where a command runs.
#[derive(Debug, PartialEq)]
enum Cwd {
    /// In the project root as a rule.
    Root,
    /// In the definition's directory.
    Definition,
    /// Where the definition says.
    Said(String),
}

/// Where relative paths may start.
struct Around {
    dir: PathBuf,
    root: Option<PathBuf>,
    /// Modules are looked for in the project root too.
    is_projects: bool,
}

impl Asked {
    fn at_offset(document: &Document, offset: usize) -> Option<Asked> {
        let reading = Reading::of_document(document)?;
        let raw = document.checked().root.as_ref()?;
        let code = |node: &Node, code: Code| {
            Some(Asked {
                origin: node.span.clone(),
                names: Names::Code(code),
            })
        };
        // Members of other systems are not in the tree that hookwire reads.
        let (path, node, text) = match value_at(raw, offset)? {
            (path, node, text) if texts::in_file(&path) == Some(TextKind::File) => {
                return code(node, Code::File(text.to_string()));
            }
            _ => value_at(&reading.root, offset)?,
        };
        let [Step::Key("hooks"), Step::Index(n), path @ ..] = &path[..] else {
            return None;
        };
        let (_, hook) = reading.hooks().nth(*n)?;
        let kind = texts::in_hook(path)?;
        if kind == TextKind::HookName {
            let hooks = document.hooks();
            let is_named = hooks
                .get(*n)
                .is_some_and(|it| it.span == node.span && it.name.as_deref() == Some(text));
            return is_named.then(|| Asked {
                origin: node.span.clone(),
                names: Names::Hook(text.to_string()),
            });
        }
        if kind == TextKind::Shell {
            let word = shell_word(
                text,
                Written::of_node(node, &document.text, document.format()).text_offset(offset)?,
            )?;
            let origin = Written::of_node(node, &document.text, document.format())
                .lines(&word, &document.text)
                .into_iter()
                .next()?;
            let text = text.get(word)?.to_string();
            return Some(Asked {
                origin,
                names: Names::Code(Code::Argument {
                    text,
                    cwd: working_dir(RunsIn::Member(&["command", "cwd"]), hook),
                }),
            });
        }
        code(node, named_code(kind, text, hook)?)
    }
}

/// The code that a text of a hook names.
fn named_code(kind: TextKind, text: &str, hook: &Node) -> Option<Code> {
    let text = text.to_string();
    match kind {
        TextKind::File => Some(Code::File(text)),
        TextKind::PythonFunction => {
            let venv = hook
                .get("callable")
                .and_then(|callable| callable.get("venv")?.text())
                .map(String::from);
            Some(Code::Python { text, venv })
        }
        TextKind::NodeFunction => Some(Code::Node(text)),
        TextKind::Word(0, _) => Some(Code::Program(text)),
        TextKind::Word(_, runs_in) => Some(Code::Argument {
            text,
            cwd: working_dir(runs_in, hook),
        }),
        _ => None,
    }
}

fn working_dir(runs_in: RunsIn, hook: &Node) -> Cwd {
    match runs_in {
        RunsIn::Root => Cwd::Root,
        RunsIn::Definition => Cwd::Definition,
        RunsIn::Member(keys) => {
            let said = keys
                .iter()
                .try_fold(hook, |node, key| node.get(key))
                .and_then(Node::text);
            said.map_or(Cwd::Root, |cwd| Cwd::Said(cwd.into()))
        }
    }
}

/// The innermost text at a place, and the way to it. In trees that are translated, values of
/// several fields may have one place, or that of what they were made of.
fn value_at(root: &Node, offset: usize) -> Option<(Vec<Step<'_>>, &Node, &str)> {
    let mut best: Option<(Vec<Step<'_>>, &Node, &str)> = None;
    each_text(root, &mut |path, node, text| {
        let holds = node.span.start <= offset && offset <= node.span.end;
        if holds
            && best
                .as_ref()
                .is_none_or(|(_, known, _)| node.span.len() < known.span.len())
        {
            best = Some((path.to_vec(), node, text));
        }
    });
    best
}

/// The word of a shell text at a byte of it, as far as it is plain.
fn shell_word(text: &str, at: usize) -> Option<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || "'\"`;&|<>()".contains(c);
    let start = text.get(..at)?.rfind(ends).map_or(0, |last| {
        last + text
            .get(last..)
            .and_then(|it| it.chars().next())
            .map_or(1, char::len_utf8)
    });
    let end = text
        .get(at..)?
        .find(ends)
        .map_or(text.len(), |len| at + len);
    // `"$DIR"/check.py`, with the quotes around the variable.
    let start = match text
        .get(..start)
        .and_then(|before| before.strip_suffix('"'))
    {
        Some(before) if text.get(start..end)?.starts_with('/') => {
            before.rfind('"').map_or(start, |open| open + 1)
        }
        _ => start,
    };
    (start < end).then_some(start..end)
}

impl Code {
    /// Where it is; `None` if it isn't there.
    fn find_location(&self, around: &Around) -> Option<Location> {
        let Around { dir, root, .. } = around;
        match self {
            Code::File(file) => place_in_file(&dir.join(file), &[]),
            Code::Python { text, venv } => {
                let mut search = vec![dir.clone()];
                search.extend(root.clone().filter(|_| around.is_projects));
                let venvs: Vec<PathBuf> = match venv {
                    Some(venv) => vec![dir.join(venv)],
                    None => search.iter().map(|dir| dir.join(".venv")).collect(),
                };
                search.extend(venvs.iter().flat_map(|venv| package_dirs(venv)));
                let (files, function) = python_files(text, dir, &search)?;
                let names: Vec<&str> = function.split('.').collect();
                place_in_file(
                    files.iter().find(|file| file.is_file())?,
                    &[Symbol::Python(&names)],
                )
            }
            Code::Node(text) => {
                let (file, export) = node_file(text, dir);
                place_in_file(&file, &[Symbol::Export(export.unwrap_or("default"))])
            }
            Code::Program(program) if program.contains('/') => {
                place_in_file(&dir.join(program), &[])
            }
            Code::Program(_) => None,
            Code::Argument { text, cwd } => {
                let dirs: Vec<&Path> = match cwd {
                    Cwd::Definition => vec![dir],
                    Cwd::Root => root.iter().chain([dir]).map(PathBuf::as_path).collect(),
                    Cwd::Said(_) => vec![dir],
                };
                let said = if let Cwd::Said(cwd) = cwd {
                    Some(dir.join(cwd))
                } else {
                    None
                };
                let dirs = said.iter().map(PathBuf::as_path).chain(dirs);
                let text = in_root(text, root.as_deref());
                // `--config=file` too.
                let texts = [
                    Some(text.as_str()),
                    text.split_once('=').map(|(_, value)| value),
                ];
                let mut paths = dirs
                    .flat_map(|dir| texts.into_iter().flatten().map(move |text| dir.join(text)));
                place_in_file(&paths.find(|path| path.is_file())?, &[])
            }
        }
    }
}

/// A word with the project root for the variable that stands for it.
fn in_root(word: &str, root: Option<&Path>) -> String {
    let Some(root) = root else {
        return word.to_string();
    };
    for name in PROJECT_VARIABLES.iter().chain([&"PROJECT_DIR"]) {
        for variable in [format!("${name}"), format!("${{{name}}}")] {
            let rest = word
                .strip_prefix(&variable)
                .map(|rest| rest.strip_prefix('"').unwrap_or(rest));
            if let Some(rest) = rest.filter(|rest| rest.starts_with('/')) {
                return format!("{}{rest}", root.display());
            }
        }
    }
    word.to_string()
}

/// Where a virtual environment has its packages.
fn package_dirs(venv: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(venv.join("lib")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .take(20)
        .map(|entry| entry.path().join("site-packages"))
        .filter(|path| path.is_dir())
        .collect()
}

/// A definition that is looked for in a file.
enum Symbol<'t> {
    Python(&'t [&'t str]),
    Export(&'t str),
}

/// A file, at the line of what it defines if that is found.
fn place_in_file(path: &Path, symbols: &[Symbol<'_>]) -> Option<Location> {
    if !path.is_file() {
        return None;
    }
    let path = without_dots(path);
    let uri = Uri::from_file_path(&path)?;
    let line = symbols
        .first()
        .and_then(|symbol| line_of(&read_named(&path).ok()?, symbol));
    let start = Position::new(line.and_then(|line| line.try_into().ok()).unwrap_or(0), 0);
    Some(Location {
        uri,
        range: LspRange::new(start, start),
    })
}

/// Without `.` and `..`, because editors compare names; symlinks stay.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if plain.file_name().is_some() => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    if std::fs::canonicalize(&plain).ok() == std::fs::canonicalize(path).ok() {
        plain
    } else {
        path.to_path_buf()
    }
}

/// The line, counted from 0, where a text defines something.
fn line_of(text: &str, symbol: &Symbol<'_>) -> Option<usize> {
    let first = |patterns: &[String], from: usize| {
        let rest = text.get(from..)?;
        patterns
            .iter()
            .find_map(|pattern| Some(from + Regex::new(pattern).ok()?.find(rest)?.end()))
    };
    let at = match symbol {
        Symbol::Python(names) => {
            let mut at = None;
            for name in *names {
                let name = regex::escape(name);
                let patterns = [
                    format!(r"(?m)^[ \t]*(?:async[ \t]+def|def|class)[ \t]+{name}\b"),
                    format!(r"(?m)^{name}[ \t]*[:=]"),
                    format!(r"(?m)^from\b.*\bimport\b.*\b{name}\b"),
                ];
                // The method of an object may stand before it, in its class.
                let found = first(&patterns, at.unwrap_or(0)).or_else(|| first(&patterns, 0));
                at = found.or(at);
            }
            at?
        }
        Symbol::Export(name) => {
            let plain = regex::escape(name);
            let defined = format!(
                r"(?m)^[ \t]*(?:export[ \t]+)?(?:(?:async[ \t]+)?function\b[ \t]*\*?|const|let|var|class)[ \t]*{plain}\b"
            );
            let patterns = [
                format!(r"(?m)^[ \t]*export[ \t]+{plain}\b"),
                defined,
                format!(r"(?m)^[ \t]*(?:module\.)?exports\.{plain}[ \t]*="),
                format!(r"(?m)^[ \t]*export[ \t]*\{{[^}}]*\b{plain}\b"),
                if *name == "default" {
                    r"(?m)^[ \t]*module\.exports[ \t]*=".into()
                } else {
                    "$^x".into()
                },
            ];
            first(&patterns, 0)?
        }
    };
    Some(text.get(..at)?.matches('\n').count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::examples;

    /// Wherever the cursor is, nothing panics, and what the examples name is found.
    #[test]
    fn every_place_of_the_examples() {
        let mut files = std::collections::BTreeSet::new();
        for document in examples() {
            let dir = document.path.parent().unwrap().to_path_buf();
            let around = Around {
                root: Some(dir.clone()),
                dir,
                is_projects: true,
            };
            // A prime, so that each column has its turn.
            let stride = if std::env::var_os("HOOKWIRE_FULL").is_some() {
                1
            } else {
                7
            };
            for at in (0..=document.text.len() + 1).step_by(stride) {
                if let Some(Asked {
                    names: Names::Code(code),
                    origin,
                }) = Asked::at_offset(&document, at)
                {
                    // An escape may be longer than what it stands for.
                    assert!(origin.start <= at && at <= origin.end + 1, "{code:?}");
                    files.extend(code.find_location(&around).map(|location| {
                        location
                            .uri
                            .path()
                            .as_str()
                            .rsplit('/')
                            .next()
                            .unwrap()
                            .to_string()
                    }));
                }
            }
        }
        for file in [
            "policy.py",
            "policy.mjs",
            "own-files.js",
            "worker.sh",
            "shorten.py",
            "server.py",
        ] {
            assert!(files.contains(file), "{file} of {files:?}");
        }
    }

    #[test]
    fn words_of_shell_texts() {
        for (text, expected) in [
            ("python3 ch|eck.py;x", "check.py"),
            ("a 'b c|.py'", "c.py"),
            ("\"$A\"/|b.py", "$A\"/b.py"),
            ("\u{e9}\u{1f600}|\u{e9}", "\u{e9}\u{1f600}\u{e9}"),
            ("a  |  b", ""),
            ("|", ""),
        ] {
            let at = text.find('|').unwrap();
            let text = text.replacen('|', "", 1);
            let word = shell_word(&text, at)
                .map(|it| text[it].to_string())
                .unwrap_or_default();
            assert_eq!(word, expected, "{text}");
        }
    }
}
