//! The shell reader by itself: its directory is copied into a crate of its own, perhaps with a bug
//! put in, and compiled in seconds.

use crate::judge::Answer;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Answers a letter for each shell, rule, working directory and text, which end with NUL.
const PROGRAM: &str = r##"
#![allow(dead_code, unused)]
#[path = "acts/lib.rs"]
mod acts;
use acts::{CommandRule, Judgement, Place, Shell, covers, hits, read};
use std::io::{BufRead, Write};
fn main() {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut field = || {
        let mut bytes = Vec::new();
        input.read_until(0, &mut bytes).unwrap();
        (bytes.pop() == Some(0)).then(|| String::from_utf8(bytes).unwrap())
    };
    while let (Some(shell), Some(rule), Some(cwd), Some(text)) = (field(), field(), field(), field()) {
        let inside = |rule: &str, tool: &str| {
            rule.strip_prefix(tool).and_then(|rule| rule.strip_prefix('(')?.strip_suffix(')')).map(str::to_string)
        };
        let named = |rule: &str| CommandRule::new(&inside(rule, "Bash").unwrap()).map_err(|_| "a bad rule").unwrap();
        let script = read(&text, Shell::named(&shell));
        let cwd = std::path::Path::new(&cwd);
        if let Some(list) = rule.strip_prefix("allow\n") {
            let (files, rules): (Vec<&str>, Vec<&str>) = list.lines().partition(|rule| rule.starts_with("Write("));
            let rules: Vec<CommandRule> = rules.into_iter().map(named).collect();
            let files: Vec<String> = files.into_iter().filter_map(|rule| inside(rule, "Write")).collect();
            // By names, and by where links lead.
            let may_write = |path: &str| {
                let mut parts = Vec::new();
                for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
                    if part == ".." { parts.pop(); } else { parts.push(part); }
                }
                let plain = std::path::PathBuf::from(format!("/{}", parts.join("/")));
                let above = plain.parent().and_then(|above| above.canonicalize().ok());
                let led = plain.canonicalize().ok().or(above.map(|above| above.join(plain.file_name().unwrap())));
                [Some(plain), led].iter().all(|path| path.as_ref().is_some_and(|path| files.iter().any(|file| {
                    match file.strip_suffix("/**") {
                        Some(directory) => path.starts_with(cwd.join(directory)),
                        None => *path == cwd.join(file),
                    }
                })))
            };
            let place = Place { may_write: Some(&may_write), ..Place::at(cwd) };
            let judgement = covers(&rules.iter().collect::<Vec<_>>(), &[], &script, &place);
            output.write_all(if matches!(judgement, Judgement::Yes(..)) { b"M" } else { b"N" }).unwrap();
            output.flush().unwrap();
            continue;
        }
        let rule = named(&rule);
        // `/dev/stdin` is where the questions come from.
        let file = |name: &str| {
            let path = cwd.join(name);
            let text = path.is_file().then(|| std::fs::read_to_string(path).ok()).flatten();
            text.filter(|text| text.len() <= 64 * 1024)
        };
        let place = Place { files: Some(&file), ..Place::at(cwd) };
        let letter = match hits(&[&rule], &[], &script, &place) {
            // What isn't shown doesn't match, unless a hook says otherwise.
            Judgement::No | Judgement::Delegates(..) => b"N",
            Judgement::Yes(..) => b"M",
            _ => b"D",
        };
        output.write_all(letter).unwrap();
        output.flush().unwrap();
    }
}
"##;

/// The parts of other crates that the reader uses, in short: compiled in no time.
const CRATES: [(&str, &str); 4] = [
    (
        "memchr",
        r#"
pub fn memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|it| *it == byte)
}
pub fn memrchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|it| *it == byte)
}
pub fn memchr_iter(byte: u8, bytes: &[u8]) -> impl Iterator<Item = usize> {
    (0..bytes.len()).filter(move |at| bytes[*at] == byte)
}
pub mod memmem {
    pub fn find(bytes: &[u8], part: &(impl AsRef<[u8]> + ?Sized)) -> Option<usize> {
        find_iter(bytes, part).next()
    }
    pub fn find_iter(bytes: &[u8], part: &(impl AsRef<[u8]> + ?Sized)) -> impl Iterator<Item = usize> {
        let part = part.as_ref();
        (0..bytes.len()).filter(move |at| bytes[*at..].starts_with(part))
    }
}
"#,
    ),
    (
        "foldhash",
        r#"
pub mod fast {
    pub type FixedState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;
}
"#,
    ),
    (
        "compact_str",
        r#"
pub type CompactString = String;
#[macro_export]
macro_rules! format_compact { ($($it:tt)*) => { format!($($it)*) } }
"#,
    ),
    (
        "smallvec",
        r#"
pub trait Array {
    type Item;
}
impl<T, const N: usize> Array for [T; N] {
    type Item = T;
}
pub type SmallVec<A> = Vec<<A as Array>::Item>;
"#,
    ),
];

/// A change of one place in the reader's source.
pub struct Patch {
    pub name: String,
    pub file: String,
    pub find: String,
    pub replace: String,
}

impl Patch {
    /// The file with the change in it.
    pub fn apply(&self, source: &Path) -> Result<String, String> {
        let text = fs::read_to_string(source.join(&self.file))
            .map_err(|error| format!("{}: {error}", self.file))?;
        match text.matches(&self.find).count() {
            1 => Ok(text.replace(&self.find, &self.replace)),
            count => Err(format!("{} has {count} of the places", self.file)),
        }
    }
}

/// A compiled reader.
pub struct Program(tempfile::TempDir);

/// A reader that runs.
pub struct Reader {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
}

impl Program {
    /// Compiles the reader in `source`, or says why it can't.
    pub fn build(source: &Path, patch: Option<&Patch>) -> Result<Program, String> {
        let place = tempfile::tempdir().map_err(|error| error.to_string())?;
        let write = |path: &str, text: &str| {
            fs::write(place.path().join(path), text).map_err(|error| error.to_string())
        };
        copy(source, &place.path().join("acts"))
            .map_err(|error| format!("{}: {error}", source.display()))?;
        write("main.rs", PROGRAM)?;
        if let Some(patch) = patch {
            write(&format!("acts/{}", patch.file), &patch.apply(source)?)?;
        }
        let mut externs = Vec::new();
        for (name, source) in CRATES {
            let file = format!("{name}.rs");
            write(&file, source)?;
            compile(place.path(), &["--crate-type=rlib", &file])?;
            externs.push(format!("--extern={name}=lib{name}.rlib"));
        }
        let mut arguments: Vec<&str> = externs.iter().map(String::as_str).collect();
        arguments.extend(["-o", "reader", "main.rs"]);
        compile(place.path(), &arguments)?;
        Ok(Program(place))
    }

    /// Starts it.
    pub fn start(&self) -> Reader {
        // A bug may be a loop without an end: the kernel ends it then.
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -t 60; exec \"$0\""])
            .arg(self.0.path().join("reader"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Reader {
            child,
            stdin,
            stdout,
        }
    }
}

impl Reader {
    /// What the reader says, or nothing when it is no longer there.
    pub fn ask(&mut self, rule: &str, shell: &str, text: &str, cwd: &Path) -> Option<Answer> {
        let mut letter = [0];
        let question = format!("{shell}\0{rule}\0{}\0{text}\0", cwd.display());
        self.stdin.as_mut()?.write_all(question.as_bytes()).ok()?;
        self.stdout.read_exact(&mut letter).ok()?;
        match &letter {
            b"N" => Some(Answer::No),
            b"D" => Some(Answer::Doubt),
            _ => Some(Answer::Match),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stdin.take();
        // A planted bug may make it run for ever.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compile(place: &Path, arguments: &[&str]) -> Result<(), String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(rustc)
        .args(["--edition=2024", "-Cdebuginfo=0", "--cap-lints=allow"])
        .args(arguments)
        .current_dir(place)
        .output()
        .map_err(|error| error.to_string())?;
    if built.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&built.stderr).into_owned())
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
