//! The files that commands name, and commands as they run from the copy of what was approved.

use super::approved::Approved;
use super::pins::Pins;
use super::programs;
use hookwire_base::support::places;
use hookwire_base::support::shell_word;
use hookwire_rules::contract::PROJECT_VARIABLES;
use hookwire_rules::matching::paths::normalise;
use hookwire_rules::matching::shell::{self, Shell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that a shell text runs, as far as it names them: programs by their paths, and scripts.
/// A relative one starts where the text runs, unless that's known. `root` is what
/// [`PROJECT_VARIABLES`] stand for.
pub(super) fn run_by_text(text: &str, cwd: Option<&Path>, root: &Path) -> Vec<PathBuf> {
    let at = |(path, _): (PathBuf, _)| cwd.map_or_else(|| path.clone(), |cwd| cwd.join(&path));
    written_in_text(text, root).into_iter().map(at).collect()
}

/// The files that a text names, each with how it is written once variables and `~` stand for what
/// they are.
fn written_in_text(text: &str, root: &Path) -> Vec<(PathBuf, String)> {
    let root = root.to_string_lossy();
    let word = shell_word::argument(&root);
    let spellings = PROJECT_VARIABLES
        .iter()
        .flat_map(|name| [format!("${{{name}}}"), format!("${name}")]);
    let text = spellings.fold(text.to_string(), |text, variable| match word == root {
        // Within quotes or without.
        true => text.replace(&variable, &word),
        false => text
            .replace(&format!("\"{variable}\""), &variable)
            .replace(&variable, &word),
    });
    let script = shell::read(&text, Shell::Posix);
    let mut files = Vec::new();
    // `cd scripts && ./check.sh`
    let is_cd = |word: &shell::Word| word.as_constant() == Some("cd");
    let moves = script
        .commands()
        .iter()
        .filter(|command| command.words.first().is_some_and(is_cd));
    for dir in moves.filter_map(|command| command.words.get(1)?.as_constant()) {
        let below = script.files().filter(|name| !name.starts_with('/'));
        files.extend(below.map(|name| (Path::new(dir).join(name), name.to_string())));
    }
    files.extend(
        script
            .files()
            .map(|name| (PathBuf::from(name), name.to_string())),
    );
    files
}

/// The files that a program with its arguments runs.
pub(super) fn run_by_words<'w>(
    words: impl Iterator<Item = &'w str>,
    cwd: Option<&Path>,
    root: &Path,
) -> Vec<PathBuf> {
    run_by_text(&shell_word::command(words), cwd, root)
}

/// What a command says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Words<'a> {
    /// A shell text.
    Text(&'a str),
    /// A program with its arguments.
    List(&'a [&'a str]),
}

impl Words<'_> {
    /// The files that it runs, and how it writes them.
    fn files(self, root: &Path) -> Vec<(PathBuf, String)> {
        match self {
            Words::Text(text) => written_in_text(text, root),
            Words::List(words) => {
                written_in_text(&shell_word::command(words.iter().copied()), root)
            }
        }
    }

    /// The programs that it looks for by name.
    pub(super) fn programs(self) -> Vec<String> {
        match self {
            Words::Text(text) => programs::named_in_text(text),
            Words::List(words) => {
                programs::named_in_text(&shell_word::command(words.iter().copied()))
            }
        }
    }
}

/// A command of an approved project: it runs the copies of the files that it names, and the
/// programs that were found when it was approved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ApprovedCommand {
    approved: Arc<Approved>,
    /// The files that it names.
    named: Vec<NamedFile>,
    /// The programs that it and its scripts look for by name; none if the definition sets `PATH`
    /// itself.
    names: Vec<String>,
    sets_path: bool,
}

/// A file that a command names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NamedFile {
    /// A relative one starts where the command runs.
    path: PathBuf,
    /// How the command writes it.
    spellings: Vec<String>,
    /// The command writes it in another way as well: it runs where it is.
    stays: bool,
}

impl ApprovedCommand {
    /// For a shell text, or the words of a program with its arguments. `cwd` is where it runs, if
    /// the definition says.
    pub(super) fn new(
        approved: &Arc<Approved>,
        words: Words<'_>,
        cwd: Option<&Path>,
        sets_path: bool,
    ) -> ApprovedCommand {
        let root = approved.root.clone();
        let named = words
            .files(&root)
            .into_iter()
            .map(|(path, written)| NamedFile::new(path, written, &root))
            .collect();
        let mut command = ApprovedCommand {
            approved: approved.clone(),
            named,
            names: Vec::new(),
            sets_path,
        };
        let at = cwd.unwrap_or(&root);
        // What is left once every file is replaced, whether or not it is there, is written in
        // another way.
        let replaced = |text: &str| {
            let spellings = command.named.iter().flat_map(|file| &file.spellings);
            spellings.fold(text.to_string(), |text, spelling| {
                replace_path(&text, spelling, "/copy")
            })
        };
        let state = approved.state.to_string_lossy();
        let (left, is_replaced) = match words {
            Words::Text(text) => (
                Words::Text(&replaced(text)).files(&root),
                shell_word::argument(&state) == state,
            ),
            Words::List(words) => {
                let words: Vec<String> = words.iter().map(|word| replaced(word)).collect();
                (
                    Words::List(&words.iter().map(String::as_str).collect::<Vec<_>>()).files(&root),
                    true,
                )
            }
        };
        for file in &mut command.named {
            let is_left = !is_replaced || left.iter().any(|(path, _)| *path == file.path);
            file.stays = is_left && !file.path.starts_with(&approved.state);
        }
        if let Some(programs) = approved.programs.as_ref().filter(|_| !sets_path) {
            let scripts = command
                .named
                .iter()
                .filter_map(|file| approved.key(&file.path, at));
            let by_scripts = scripts
                .filter_map(|key| programs.named_by.get(&key))
                .flatten()
                .cloned();
            let mut names: Vec<String> = words.programs().into_iter().chain(by_scripts).collect();
            names.retain(|name| programs.found.contains_key(name));
            names.sort();
            names.dedup();
            command.names = names;
        }
        command
    }

    /// A shell text with the copies' paths in the place of the files that it names.
    pub(super) fn text(&self, text: &str, cwd: &Path) -> String {
        self.named.iter().fold(text.to_string(), |text, file| {
            let copy = self
                .approved
                .copy(&file.path, cwd)
                .map(|copy| copy.to_string_lossy().into_owned());
            match copy.filter(|copy| shell_word::argument(copy) == *copy) {
                Some(copy) => file
                    .spellings
                    .iter()
                    .fold(text, |text, it| replace_path(&text, it, &copy)),
                // It would have to be quoted, and where it stands may be within quotes.
                None => text,
            }
        })
    }

    /// A word that no shell reads, or that is a text for one, with the copies of the files that it
    /// names.
    pub(super) fn word(&self, word: &str, cwd: &Path) -> String {
        let whole = self.named.iter().find(|file| file.path.as_os_str() == word);
        match whole.and_then(|file| self.approved.copy(&file.path, cwd)) {
            Some(copy) => copy.to_string_lossy().into_owned(),
            None => self.text(word, cwd),
        }
    }

    /// The program of a list of words: where it was when it was approved.
    ///
    /// # Errors
    /// It wasn't there, or is gone; finishes "failed to ...".
    pub(super) fn program(&self, program: &str) -> Result<String, String> {
        match &self.approved.programs {
            Some(programs) if !self.sets_path && !program.contains('/') => programs
                .place(program)
                .map(|place| place.to_string_lossy().into_owned()),
            _ => Ok(program.to_string()),
        }
    }

    /// A program with its arguments, as it runs.
    ///
    /// # Errors
    /// The program isn't where it was approved; finishes "failed to ...".
    pub(super) fn list(&self, argv: &[String], cwd: &Path) -> Result<Vec<String>, String> {
        let (program, arguments) = argv
            .split_first()
            .ok_or("start a program: none was named")?;
        let arguments = arguments.iter().map(|argument| self.word(argument, cwd));
        Ok(std::iter::once(self.program(program)?)
            .chain(arguments)
            .collect())
    }

    /// What must be as it was approved when it runs in `cwd`.
    pub(super) fn pins(&self, cwd: &Path) -> Pins {
        let mut files = Vec::new();
        for file in &self.named {
            let copy = self.approved.copy(&file.path, cwd);
            if copy.is_none() || file.stays {
                files.push(normalise(&cwd.join(&file.path)));
            }
            files.extend(copy);
        }
        files.sort();
        files.dedup();
        Pins {
            approved: self.approved.clone(),
            files,
            names: self.names.clone(),
        }
    }
}

impl NamedFile {
    fn new(path: PathBuf, written: String, root: &Path) -> NamedFile {
        let mut spellings = vec![written];
        let mut add = |variable: &str, rest: &Path| {
            let rest = rest.display();
            spellings.extend(
                ["\"${V}\"/", "\"$V\"/", "${V}/", "$V/"]
                    .map(|it| it.replace('V', variable) + &rest.to_string()),
            );
        };
        if let Ok(rest) = path.strip_prefix(root) {
            PROJECT_VARIABLES.iter().for_each(|name| add(name, rest));
        }
        if let Some(rest) =
            places::home().and_then(|home| Some(path.strip_prefix(home).ok()?.to_path_buf()))
        {
            add("HOME", &rest);
            spellings.push(format!("~/{}", rest.display()));
        }
        NamedFile {
            path,
            spellings,
            stays: false,
        }
    }
}

/// A text with another path in the place of one, wherever that stands alone.
fn replace_path(text: &str, path: &str, with: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "_./-~$*?[".contains(c);
    let (mut out, mut last) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(path) {
        let end = at + path.len();
        if at < last
            || text[..at].ends_with(|c| is_part(c) || c == '}')
            || text[end..].starts_with(is_part)
        {
            continue;
        }
        out.push_str(&text[last..at]);
        out.push_str(with);
        last = end;
    }
    out + &text[last..]
}

impl Approved {
    /// The file of the record that a command means by a path, when it runs in `cwd`. One that isn't
    /// there is the project's: an agent that goes elsewhere takes the guard's script with it.
    pub(super) fn key(&self, path: &Path, cwd: &Path) -> Option<PathBuf> {
        [cwd, &self.root].into_iter().find_map(|dir| {
            let full = normalise(&dir.join(path));
            if self.named.get(&full).is_some_and(Option::is_some) {
                return None;
            }
            let key = full
                .strip_prefix(&self.root)
                .map_or_else(|_| full.clone(), Path::to_path_buf);
            let is_kept = self
                .files
                .range(key.clone()..)
                .next()
                .is_some_and(|(first, _)| first.starts_with(&key));
            is_kept.then_some(key)
        })
    }

    /// Where the copy of a file is that a command means; a file of the copy is itself.
    pub(super) fn copy(&self, path: &Path, cwd: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.state) {
            return Some(normalise(path));
        }
        self.key(path, cwd).map(|key| self.copy_of(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approved() -> Arc<Approved> {
        let files = [
            "check.sh",
            "scripts/x.py",
            ".hookwire/deny.sh",
            "/home/u/bin/guard.py",
        ];
        let files = files.map(|it| (PathBuf::from(it), String::new())).into();
        Arc::new(Approved {
            root: "/p".into(),
            state: "/s".into(),
            files,
            ..Approved::default()
        })
    }

    #[test]
    fn texts_run_from_the_copy() {
        for (text, cwd, expected) in [
            (
                "./check.sh && python3 scripts/x.py",
                "/p",
                "/s/tree/check.sh && python3 /s/tree/scripts/x.py",
            ),
            ("./check.sh", "/p/part", "/s/tree/check.sh"),
            ("python3 x.py", "/p/scripts", "python3 /s/tree/scripts/x.py"),
            (
                "cd scripts && python3 x.py",
                "/p",
                "cd scripts && python3 /s/tree/scripts/x.py",
            ),
            (
                "sh \"$CLAUDE_PROJECT_DIR\"/check.sh --x",
                "/",
                "sh /s/tree/check.sh --x",
            ),
            (
                "sh \"$HOOKWIRE_PROJECT_DIR/check.sh\"",
                "/",
                "sh \"/s/tree/check.sh\"",
            ),
            ("/p/check.sh", "/", "/s/tree/check.sh"),
            (
                "./check.sh \"$tool_input_command\" > ./check.sh.log",
                "/p",
                "/s/tree/check.sh \"$tool_input_command\" > ./check.sh.log",
            ),
            ("bash -c './check.sh'", "/p", "bash -c '/s/tree/check.sh'"),
            (
                "/home/u/bin/guard.py",
                "/p",
                "/s/outside/home/u/bin/guard.py",
            ),
            ("./other.sh", "/p", "./other.sh"),
        ] {
            let command = ApprovedCommand::new(&approved(), Words::Text(text), None, false);
            assert_eq!(command.text(text, Path::new(cwd)), expected, "{text}");
            assert!(command.named.iter().all(|file| !file.stays), "{command:?}");
        }
    }

    #[test]
    fn a_file_that_is_written_in_an_odd_way_is_looked_at_where_it_is() {
        let text = "./ch\"eck\".sh";
        let command = ApprovedCommand::new(&approved(), Words::Text(text), None, false);
        assert_eq!(command.text(text, Path::new("/p")), text);
        assert!(
            command
                .pins(Path::new("/p"))
                .files
                .contains(&PathBuf::from("/p/check.sh"))
        );
    }
}
