//! What a program did to files, as strace saw it.

use hookwire_acts::Access;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// A file that was read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// From the root.
    pub path: String,
    pub access: Access,
}

const CALLS: &str = "open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,\
                     symlink,symlinkat,chmod,fchmod,fchmodat,chown,lchown,fchown,fchownat,truncate,mknod,mknodat,chdir,\
                     fchdir,utimensat,clone,clone3,fork,vfork";

/// Runs each text in the directory `work` of its own home.
const EACH: &str = r#"
while [ $# -gt 0 ]; do
  (cd "$1/work" && HOME=$1 TMPDIR=$1/tmp exec bash -c "$2") > /dev/null 2> "$1/said"
  shift 2
done"#;

/// Runs shell texts, each with its home, one after the other: to start strace for each takes longer
/// than most of them. `timeout` is that program, ready to be given words. Of a text that runs a
/// program which isn't there, that is told.
pub fn run(
    mut timeout: Command,
    texts: &[(&str, &Path)],
    trace: &Path,
) -> Vec<Result<Vec<Touch>, String>> {
    timeout.args([
        "-k1",
        "120",
        "strace",
        "-qq",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-s",
        "4096",
        "-e",
    ]);
    timeout
        .arg(format!("trace=?{}", CALLS.replace(',', ",?")))
        .arg("-o")
        .arg(trace)
        .args(["bash", "-c", EACH, "each"]);
    let words = texts
        .iter()
        .flat_map(|(text, home)| [home.as_os_str(), text.as_ref()]);
    let status = timeout.args(words).status().unwrap();
    assert!(status.code() != Some(124), "these take too long: {texts:?}");
    let trace = String::from_utf8_lossy(&fs::read(trace).unwrap()).into_owned();
    let all = touched(
        &trace,
        texts
            .iter()
            .map(|(_, home)| home.join("work").display().to_string())
            .collect(),
    );
    let told = texts.iter().zip(all).map(|((text, home), touched)| {
        let said = fs::read_to_string(home.join("said")).unwrap_or_default();
        let missing = said.lines().filter_map(|line| {
            line.strip_suffix(": command not found")?
                .rsplit(": ")
                .next()
        });
        let missing = missing
            .filter(|it| text.contains(it))
            .map(str::to_string)
            .next();
        missing.map_or(Ok(touched), Err)
    });
    told.collect()
}

/// Copies a directory with all below it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (kind, to) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        match () {
            () if kind.is_dir() => copy(&entry.path(), &to),
            () if kind.is_symlink() => symlink(fs::read_link(entry.path()).unwrap(), to).unwrap(),
            () => {
                fs::copy(entry.path(), &to).unwrap();
                // git looks at what is in a file if it has changed since.
                let modified = entry.metadata().and_then(|it| it.modified()).unwrap();
                let file = File::options().append(true).open(to);
                file.and_then(|it| it.set_modified(modified)).unwrap();
            }
        }
    }
}

/// All that lies below a directory.
pub fn listed(directory: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        all.insert(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            all.extend(listed(&entry.path()));
        }
    }
    all
}

/// Reads what strace wrote: what was done by the process that went to each of the directories
/// first, and by its children.
fn touched(trace: &str, works: Vec<String>) -> Vec<Vec<Touch>> {
    let calls = calls(trace);
    let mut parents = HashMap::new();
    for (process, name, _, result) in &calls {
        if matches!(name.as_str(), "clone" | "clone3" | "fork" | "vfork") {
            parents.insert(result.clone(), process.clone());
        }
    }
    // The directory that a process is in, and whose it is.
    let mut places: HashMap<String, (String, usize)> = HashMap::new();
    let mut all = vec![Vec::new(); works.len()];
    let mut known = HashSet::new();
    for (process, name, args, result) in &calls {
        let mut from = Some(process);
        let ways = std::iter::from_fn(|| {
            let this = from?;
            from = parents.get(this);
            Some(places.get(this).cloned())
        });
        let place = ways.take(64).flatten().next();
        let is_first = |work: &String| name == "chdir" && args.starts_with(&format!("\"{work}\""));
        let Some((directory, whose)) = place else {
            let whose = works.iter().position(is_first);
            places.extend(whose.map(|whose| (process.clone(), (works[whose].clone(), whose))));
            continue;
        };
        places
            .entry(process.clone())
            .or_insert_with(|| (directory.clone(), whose));
        if result.starts_with('-') || result.starts_with('?') {
            continue;
        }
        let args = split(args);
        let path = |at: usize| path_at(&args, at, &directory);
        let mut add = |path: Option<String>, access| {
            let is_new = |path: &String| known.insert((whose, path.clone(), format!("{access:?}")));
            all[whose].extend(path.filter(is_new).map(|path| Touch { path, access }));
        };
        match name.as_str() {
            "chdir" => places.extend(path(0).map(|path| (process.clone(), (path, whose)))),
            "fchdir" => {
                places.extend(described(args[0]).map(|path| (process.clone(), (path, whose))))
            }
            "open" | "openat" | "openat2" => {
                let at = usize::from(name != "open");
                let flags = args.get(at + 1).copied().unwrap_or_default();
                match access(flags) {
                    _ if result.contains(">(deleted)")
                        || flags.contains("O_DIRECTORY")
                        || flags.contains("O_PATH") => {}
                    // A directory may be opened like a file.
                    Some(Access::Read) if path(at).is_some_and(|it| Path::new(&it).is_dir()) => {}
                    Some(access) => add(path(at), access),
                    None => {}
                }
            }
            "creat" | "unlink" | "rmdir" | "mkdir" | "chmod" | "chown" | "lchown" | "truncate"
            | "mknod" => {
                add(path(0), Access::Write);
            }
            "unlinkat" | "mkdirat" | "fchmodat" | "fchownat" | "mknodat" => {
                add(path(1), Access::Write)
            }
            "fchmod" | "fchown" => add(described(args[0]), Access::Write),
            "utimensat" => add(
                if args[1] == "NULL" {
                    described(args[0])
                } else {
                    path(1)
                },
                Access::Write,
            ),
            "rename" => [path(0), path(1)]
                .into_iter()
                .for_each(|it| add(it, Access::Write)),
            "renameat" | "renameat2" => [path(1), path(3)]
                .into_iter()
                .for_each(|it| add(it, Access::Write)),
            "link" => (add(path(0), Access::Read), add(path(1), Access::Write)).1,
            "linkat" => (add(path(1), Access::Read), add(path(3), Access::Write)).1,
            "symlink" => add(path(1), Access::Write),
            "symlinkat" => add(path(2), Access::Write),
            _ => {}
        }
    }
    all
}

/// The calls with their processes, arguments and results, each put together again.
fn calls(trace: &str) -> Vec<(String, String, String, String)> {
    let mut begun: HashMap<&str, String> = HashMap::new();
    let mut calls = Vec::new();
    // What programs are made of is read by each of them.
    let is_own = |line: &&str| {
        ["\"/usr/", "\"/lib", "\"/etc/ld.so"]
            .iter()
            .any(|it| line.contains(it))
    };
    for line in trace
        .lines()
        .filter(|line| !is_own(line) || line.contains("unfinished") || line.contains("resumed"))
    {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if let Some(begin) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(process, begin.to_string());
            continue;
        }
        let resumed = call
            .strip_prefix("<... ")
            .and_then(|it| it.split_once(" resumed>"));
        let whole = match resumed {
            Some((_, rest)) => begun.remove(process).unwrap_or_default() + rest,
            None => call.to_string(),
        };
        let Some((name, rest)) = whole.split_once('(') else {
            continue;
        };
        let Some((args, result)) = rest
            .rsplit_once(") ")
            .filter(|(_, it)| it.trim_start().starts_with("= "))
            .or_else(|| {
                // `= -1 ENOENT (No such file or directory)`
                rest.rfind(" = ")
                    .map(|at| (rest[..at].trim_end().trim_end_matches(')'), &rest[at + 1..]))
            })
        else {
            continue;
        };
        let result = result.trim_start().trim_start_matches("= ").to_string();
        let (process, name) = (process.to_string(), name.to_string());
        calls.push((process, name, args.to_string(), result));
    }
    calls
}

/// The arguments of a call, which quotes, braces and brackets hold together.
fn split(args: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quoted, mut escaped) =
        (Vec::new(), 0, 0, false, false);
    for (at, c) in args.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '<' => depth += 1,
            '}' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(args[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(args[from..].trim());
    parts
}

/// The path of a descriptor: `3</tmp/x>`.
fn described(arg: &str) -> Option<String> {
    let path = arg.split_once('<')?.1.strip_suffix('>')?;
    path.starts_with('/').then(|| path.to_string())
}

/// The path that an argument is, from the descriptor before it or the directory at hand.
fn path_at(args: &[&str], at: usize, directory: &str) -> Option<String> {
    let text = args.get(at)?.strip_prefix('"')?.strip_suffix('"')?;
    let from = at.checked_sub(1).and_then(|before| described(args[before]));
    let from = from.unwrap_or_else(|| directory.to_string());
    let path = if text.starts_with('/') {
        text.to_string()
    } else {
        format!("{from}/{text}")
    };
    Some(normal(&path))
}

fn access(flags: &str) -> Option<Access> {
    if flags.contains("O_WRONLY") || flags.contains("O_TRUNC") || flags.contains("O_CREAT") {
        return Some(Access::Write);
    }
    match flags.contains("O_RDWR") {
        true => Some(Access::Either),
        false => flags.contains("O_RDONLY").then_some(Access::Read),
    }
}

/// The path without `.` and `..`.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path fits a pattern of file names; `**` crosses directories.
pub fn matches(pattern: &str, path: &str) -> bool {
    fn rest(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern, path) {
            ([], []) => true,
            ([b'*', b'*', b'/', more @ ..], _) if rest(more, path) => true,
            ([b'*', b'*', more @ ..], _) => {
                rest(more, path)
                    || path
                        .split_first()
                        .is_some_and(|(_, path)| rest(pattern, path))
            }
            ([b'*', more @ ..], _) => {
                rest(more, path)
                    || path
                        .split_first()
                        .is_some_and(|(c, path)| *c != b'/' && rest(pattern, path))
            }
            ([b'?', more @ ..], [c, path @ ..]) => *c != b'/' && rest(more, path),
            ([b'[', more @ ..], [c, path @ ..]) => match more.iter().position(|it| *it == b']') {
                Some(end) => more[..end].contains(c) && rest(&more[end + 1..], path),
                None => *c == b'[' && rest(more, path),
            },
            ([a, more @ ..], [b, path @ ..]) => a == b && rest(more, path),
            _ => false,
        }
    }
    rest(pattern.as_bytes(), path.as_bytes())
}
