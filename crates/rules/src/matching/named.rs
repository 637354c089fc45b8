//! The paths that a call may name, gathered without a look at the disk: rather too many than too
//! few. Whoever keeps an answer about a call asks with them whether links still lead where they
//! led.

use super::paths;
use super::shell::Script;
use super::tools;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is longer is no path.
const MAX_PATH: usize = 4096;
/// More paths than this aren't told.
const MAX_NAMED: usize = 512;

pub(super) struct Named {
    directories: Vec<PathBuf>,
    texts: Vec<String>,
}

impl Named {
    pub(super) fn new(directories: [&Path; 2]) -> Named {
        let mut named = Named {
            directories: Vec::new(),
            texts: Vec::new(),
        };
        directories
            .into_iter()
            .for_each(|it| named.keep_directory(it.to_path_buf()));
        named
    }

    /// A directory that paths may count from as well.
    pub(super) fn add_directory(&mut self, directory: &str) {
        let from: Vec<PathBuf> = self
            .directories
            .iter()
            .map(|it| at(it, directory))
            .collect();
        from.into_iter().for_each(|it| self.keep_directory(it));
    }

    fn keep_directory(&mut self, directory: PathBuf) {
        if !self.directories.contains(&directory) && self.directories.len() <= MAX_NAMED {
            self.directories.push(directory);
        }
    }

    /// Every text of a value; of those of several lines, the files of a patch. As deep as JSON may
    /// be.
    pub(super) fn add_texts(&mut self, value: &Value) {
        match value {
            Value::String(text) if text.contains('\n') => {
                tools::files_of_patch(text)
                    .into_iter()
                    .for_each(|(_, path)| self.add(path));
            }
            Value::String(text) => self.add(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_texts(item)),
            Value::Object(members) => members.values().for_each(|value| self.add_texts(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Every word of a shell text, and what stands behind a `=` in it or behind the letter of an
    /// option.
    pub(super) fn add_script(&mut self, script: &Script) {
        for command in script.commands() {
            let words: Vec<String> = command.paths().collect();
            let program = words.first().map(String::as_str).unwrap_or_default();
            let moves = matches!(program, "cd" | "pushd");
            for (n, word) in words.iter().enumerate() {
                if n > 0 && (moves || words[n - 1] == "-C") {
                    self.add_directory(word);
                }
                match word.strip_prefix('-') {
                    None => {
                        self.add(word);
                        word.split_once('=')
                            .into_iter()
                            .for_each(|(_, value)| self.add(value));
                    }
                    Some(option) => {
                        option
                            .split_once('=')
                            .into_iter()
                            .for_each(|(_, value)| self.add(value));
                        option
                            .char_indices()
                            .nth(1)
                            .into_iter()
                            .for_each(|(at, _)| self.add(&option[at..]));
                    }
                }
            }
        }
    }

    fn add(&mut self, text: &str) {
        let is_path = !text.is_empty() && text.len() <= MAX_PATH && !text.contains('\0');
        if is_path && self.texts.len() <= MAX_NAMED && !self.texts.iter().any(|it| it == text) {
            self.texts.push(text.to_string());
        }
    }

    /// Each text from each directory; `None` if there are too many.
    pub(super) fn paths(self) -> Option<Vec<PathBuf>> {
        if self.texts.len() * self.directories.len() > MAX_NAMED {
            return None;
        }
        let of = |text: &String| {
            self.directories
                .iter()
                .map(|it| at(it, text))
                .collect::<Vec<_>>()
        };
        let mut paths: Vec<PathBuf> = self.texts.iter().flat_map(of).collect();
        // Many tools take `..` away by the names before they open a path.
        let tidied: Vec<PathBuf> = paths
            .iter()
            .filter(|it| it.to_string_lossy().contains(".."))
            .map(|it| paths::normalise(it))
            .collect();
        paths.extend(tidied);
        paths.sort();
        paths.dedup();
        Some(paths)
    }
}

fn at(directory: &Path, text: &str) -> PathBuf {
    paths::of_home(text).map_or_else(|| directory.join(text), PathBuf::from)
}
