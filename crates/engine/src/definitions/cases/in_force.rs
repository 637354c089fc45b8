//! The files of cases that belong to definitions in force: those that are vouched for as the
//! definitions are. Of a project that somebody has trusted, these are the copies that were trusted.

use super::{directory, is_cases_file, subject, subject_among};
use crate::definitions::approved::{DEFINITIONS, State, tree};
use crate::definitions::layer_dir::{Kept, LayerDir, is_hidden};
use crate::definitions::signed::Standing;
use hookwire_base::support::file::{self, Signature, signature};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of cases that are looked for, and how deep.
const MAX_FILES: usize = 256;
const MAX_DEPTH: usize = 16;

/// A file of cases with its text.
#[derive(Debug)]
pub struct CaseFile {
    /// Where people find it.
    pub path: PathBuf,
    /// The file, or the directory, of definitions that it is about, where people find that.
    subject: PathBuf,
    /// `None`: it can't be read.
    pub text: Option<String>,
}

/// What tells a later look at the files of cases whether they are others.
pub type Looks = Vec<(PathBuf, Option<Signature>)>;

impl CaseFile {
    /// Whether its cases are about the hooks of a definition file.
    pub fn is_about(&self, file: &Path) -> bool {
        self.subject == file || directory(file).starts_with(&self.subject)
    }
}

/// The files of cases beside the definitions of these directories, in their order.
pub fn case_files(dirs: &[LayerDir]) -> Vec<CaseFile> {
    let mut files = Vec::new();
    for dir in dirs {
        match &dir.kept {
            Kept::AsItIs | Kept::Compared(_) => read_below(&dir.path, &dir.path, &mut files),
            Kept::Approved(links) => {
                // A broken state has none: hooks that deny stand in for it.
                let state = links.iter().find_map(|link| State::read(link).ok()?);
                if let Some(state) = state {
                    let copies = tree(&state.place).join(DEFINITIONS);
                    read_below(&copies, &dir.path, &mut files);
                }
            }
            Kept::Signed(signed) => {
                let Standing::Set(set) = signed.standing() else {
                    continue;
                };
                let cases = set.files.iter().filter(|(path, _)| is_cases_file(path));
                files.extend(cases.map(|(path, content)| {
                    CaseFile {
                        path: dir.path.join(path),
                        subject: dir
                            .path
                            .join(subject_among(path, |it| set.files.contains_key(it))),
                        text: String::from_utf8(content.to_vec()).ok(),
                    }
                }));
            }
        }
    }
    files.truncate(MAX_FILES);
    files
}

/// What the files of cases of these directories look like.
pub fn looks_of_cases(dirs: &[LayerDir]) -> Looks {
    let mut looks = Looks::new();
    for dir in dirs {
        match &dir.kept {
            Kept::AsItIs | Kept::Compared(_) => {
                let paths = paths_below(&dir.path);
                looks.extend(paths.into_iter().map(|path| {
                    let looks = signature(&path);
                    (path, looks)
                }));
            }
            Kept::Approved(links) => {
                let states = links.iter().filter_map(|link| fs::read_link(link).ok());
                looks.extend(states.map(|state| (state, None)));
            }
            Kept::Signed(signed) => {
                if let Standing::Set(set) = signed.standing() {
                    looks.push((set.dir.to_path_buf(), None));
                }
            }
        }
    }
    looks
}

/// Reads the files of cases below a directory, or beside a file. `told` is where people find it.
fn read_below(place: &Path, told: &Path, files: &mut Vec<CaseFile>) {
    let as_told = |path: &Path| match path.strip_prefix(place) {
        Ok(below) if below.as_os_str().is_empty() => told.to_path_buf(),
        Ok(below) => told.join(below),
        Err(_) => path.to_path_buf(),
    };
    for path in paths_below(place) {
        files.push(CaseFile {
            path: as_told(&path),
            subject: as_told(&subject(&path)),
            text: file::read(&path).ok().map(|(text, _)| text),
        });
    }
}

/// The paths of the files of cases below a directory, or of those about a file.
fn paths_below(place: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if place.is_dir() {
        collect_below(place, 0, &mut paths);
    } else if place.is_file() {
        collect_below(directory(place), MAX_DEPTH, &mut paths);
        paths.retain(|path| subject(path) == place);
    }
    paths.sort();
    paths
}

fn collect_below(dir: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    // What can't be listed is told with the definitions there.
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if is_hidden(&name) || paths.len() >= MAX_FILES {
            continue;
        }
        if is_cases_file(&path) {
            paths.push(path);
        } else if depth < MAX_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_below(&path, depth + 1, paths);
        }
    }
}
