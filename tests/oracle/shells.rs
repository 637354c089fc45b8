//! Runs a text in a real shell, among stand-ins that write down how they were called.
//!
//! The texts are hostile, so nothing of the machine is within their reach: a worker is the first
//! process of its own user, mount, process, network and IPC namespaces, where every file system is
//! read-only but a small one in memory, no capability is left, and `/dev` holds a few harmless
//! devices. Whatever a text leaves running is killed before the next one starts.

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Set in a worker; the program is otherwise the same as the test.
pub const INSIDE: &str = "HOOKWIRE_ORACLE_INSIDE";

/// Within a worker: where stand-ins write, where texts run, and where the stand-ins are.
const LOG: &str = "/dev/acts";
const GIT_LOG: &str = "/dev/git";
const REAL: &str = "/dev/real";
const WORK: &str = "/dev/shm";
const BIN: &str = "/dev/bin";
/// Where stand-ins are that only write down how they were called, and run what they would find.
const SEEN: &str = "/dev/seen";

/// Programs that are replaced by this one, under their names, and on the machine's own paths too.
const STAND_INS: &str =
    "git rm curl sudo doas su runuser ssh scp docker podman npm npx kubectl pkexec";
/// Programs that do what they are for where all that runs is written down, so that what they run in
/// turn is, too.
const PASSED_ON: [&str; 22] = [
    "bash", "cat", "cp", "dash", "env", "find", "grep", "head", "ln", "mkdir", "mv", "nice",
    "nohup", "sed", "sh", "sort", "tee", "timeout", "touch", "wc", "xargs", "zsh",
];

/// How long a text may take, and how long what it leaves in the background.
const PATIENCE: Duration = Duration::from_millis(1500);
const AFTERMATH: Duration = Duration::from_millis(300);

/// More processes than any text needs, and fewer than a machine minds.
const MANY: usize = 200;

/// Makes the namespaces' inside, then becomes the worker. `$1` is this program and `$2` an empty
/// directory.
const SETUP: &str = r#"
set -eu
mount --make-rprivate /
while read -r _ _ _ _ point _; do
  mount -o remount,bind,ro "$(printf '%b' "$point")" 2>/dev/null || true
done < /proc/self/mountinfo
if touch "$2/x" 2>/dev/null; then exit 1; fi
mount -t tmpfs -o size=128m,mode=755 oracle "$2"
cd "$2"
mkdir shm bin pts real seen
for device in null zero full random urandom tty; do : > $device; mount --bind /dev/$device $device; done
ln -s /proc/self/fd fd; ln -s fd/0 stdin; ln -s fd/1 stdout; ln -s fd/2 stderr
mount -t devpts -o newinstance,ptmxmode=0666 devpts pts 2>/dev/null && ln -s pts/ptmx ptmx
for name in git ssh scp; do
  if [ -x /usr/bin/$name ]; then : > real/$name; mount --bind /usr/bin/$name real/$name; fi
done
for name in $ALL_SEEN; do : > seen/$name; mount --bind "$1" seen/$name; done
for name in $STAND_INS; do
  : > bin/$name; mount --bind "$1" bin/$name
  for real in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin /usr/lib/git-core; do
    real=$real/$name
    if [ -f $real ]; then mount --bind "$1" "$(readlink -f $real)"; fi
  done
done
mount -n --move "$2" /dev
cd /
mount -o remount,bind,ro /proc
if (: > /proc/sys/kernel/core_pattern) 2>/dev/null; then exit 1; fi
ulimit -c 0 -v 4000000 -n 256 2>/dev/null || true
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$1"
"#;

/// What a text is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The acts of rules.
    Acts,
    /// Every program that runs, and every file that is written.
    All,
}

/// What a text did.
#[derive(Debug)]
pub struct Done {
    /// The argument lists of the stand-ins that ran.
    pub ran: Vec<Vec<String>>,
    /// The files that are others than before, as paths from where the text ran; none unless all is
    /// watched.
    pub wrote: Vec<String>,
}

/// A place to run texts in, one at a time.
pub struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    _mount_point: tempfile::TempDir,
}

impl Worker {
    /// Starts a worker, or says why this machine has none.
    pub fn start(watch: Watch) -> Result<Worker, String> {
        let seen: Vec<&str> = match watch {
            Watch::Acts => Vec::new(),
            Watch::All => STAND_INS
                .split(' ')
                .chain(PASSED_ON)
                .chain(["ls"])
                .collect(),
        };
        let mount_point = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut child = Command::new("unshare")
            .args([
                "-r",
                "-m",
                "-p",
                "-n",
                "-i",
                "-u",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                SETUP,
                "sh",
            ])
            .arg(&program)
            .arg(mount_point.path())
            .env(INSIDE, "1")
            .env("STAND_INS", STAND_INS)
            .env("ALL_SEEN", seen.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("unshare: {error}"))?;
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut worker = Worker {
            child,
            stdin,
            stdout,
            _mount_point: mount_point,
        };
        let done = worker
            .run("sh", "git push", &[])
            .map_err(|error| format!("no namespaces here: {error}"))?;
        if done.ran != [["git", "push"]] {
            return Err(format!("`git push` did {done:?}"));
        }
        Ok(worker)
    }

    /// What happened when `shell` read `text` in a directory with `files`.
    pub fn run(&mut self, shell: &str, text: &str, files: &[(String, String)]) -> io::Result<Done> {
        let request = json!({"shell": shell, "text": text, "files": files});
        // In one write: what is formatted into a pipe is written piece by piece.
        self.stdin.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let (ran, wrote) = serde_json::from_str(&line).map_err(io::Error::other)?;
        Ok(Done { ran, wrote })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The life of a worker: a request a line on standard input, an answer a line on standard output.
pub fn work() -> io::Result<()> {
    assert_eq!(
        std::process::id(),
        1,
        "a worker kills every process in sight, so it must be in a namespace of its own"
    );
    for (number, line) in io::stdin().lock().lines().enumerate() {
        let request: Value = serde_json::from_str(&line?)?;
        let directory = Path::new(WORK).join(format!("w{number}"));
        // An empty repository.
        fs::create_dir_all(directory.join(".git/objects"))?;
        fs::create_dir_all(directory.join(".git/refs"))?;
        fs::write(directory.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(directory.join("a"), "x\n")?;
        for file in request["files"].as_array().into_iter().flatten() {
            put(
                &directory,
                file[0].as_str().unwrap_or_default(),
                file[1].as_str().unwrap_or_default(),
            )?;
        }
        let look = || {
            if watches_all() {
                snapshot(&directory)
            } else {
                BTreeMap::new()
            }
        };
        let before = look();
        fs::write(LOG, "")?;
        fs::write(GIT_LOG, "")?;
        run_text(
            request["shell"].as_str().unwrap_or_default(),
            request["text"].as_str().unwrap_or_default(),
            &directory,
        )?;
        let after = look();
        let names = before.keys().chain(after.keys()).collect::<BTreeSet<_>>();
        let wrote: Vec<_> = names
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name))
            .collect();
        writeln!(io::stdout(), "{}", json!((read_logs(), wrote)))?;
        for entry in fs::read_dir(WORK)?.flatten() {
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

/// Makes a file in a directory: one that can be run if it says what by, and a link if it is `-> `
/// and where to.
pub fn put(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap_or(directory))?;
    if let Some(to) = text.strip_prefix("-> ") {
        return std::os::unix::fs::symlink(to, path);
    }
    fs::write(&path, text)?;
    let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// What each file is, in a directory and beside it, by its path from there.
fn snapshot(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![PathBuf::from(WORK)];
    while let Some(place) = left.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type().ok();
            let what = match kind {
                Some(kind) if kind.is_dir() => b"directory".to_vec(),
                Some(kind) if kind.is_symlink() => {
                    format!("-> {:?}", fs::read_link(&path)).into_bytes()
                }
                Some(kind) if kind.is_file() => {
                    [b"file ", &*fs::read(&path).unwrap_or_default()].concat()
                }
                _ => b"other".to_vec(),
            };
            let name = match path.strip_prefix(directory) {
                Ok(inside) => inside.to_path_buf(),
                Err(_) => Path::new("..").join(path.strip_prefix(WORK).unwrap_or(&path)),
            };
            if kind.is_some_and(|kind| kind.is_dir()) {
                left.push(path);
            }
            // A shell keeps here-documents in files of its own.
            let name = name.to_string_lossy().into_owned();
            if !["../zsh", "../sh-thd", "../bash"]
                .iter()
                .any(|own| name.starts_with(own))
            {
                found.insert(name, what);
            }
        }
    }
    found
}

/// Whether every program that runs is seen, and every file that is written.
fn watches_all() -> bool {
    Path::new(SEEN).join("ls").exists()
}

/// Where a program itself is, and no stand-in for it.
fn itself(name: &str) -> PathBuf {
    let places = ["/usr/bin", "/bin", "/usr/local/bin"].map(|place| Path::new(place).join(name));
    places
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| name.into())
}

fn run_text(shell: &str, text: &str, directory: &Path) -> io::Result<()> {
    let mut command = Command::new(itself(shell));
    if shell == "zsh" {
        command.arg("-f");
    }
    let started = command
        .args(["-c", text])
        .current_dir(directory)
        .env_clear()
        .env(
            "PATH",
            if watches_all() {
                SEEN.into()
            } else {
                format!("{BIN}:/usr/local/bin:/usr/bin:/bin")
            },
        )
        .env("HOME", directory)
        .env("TMPDIR", WORK)
        .env("TMPPREFIX", "/dev/shm/zsh")
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "dumb")
        .envs(
            [
                "AUTHOR_NAME",
                "AUTHOR_EMAIL",
                "COMMITTER_NAME",
                "COMMITTER_EMAIL",
            ]
            .map(|name| (format!("GIT_{name}"), "x")),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let Ok(shell) = started else { return Ok(()) };
    let mut deadline = Instant::now() + PATIENCE;
    let mut turns = 0_u32;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, _))) => {
                if pid.as_raw_nonzero().get().unsigned_abs() == shell.id() {
                    deadline = Instant::now() + AFTERMATH;
                }
                continue;
            }
            Ok(None) => {}
            // No process is left, because all that live here descend from this one.
            Err(_) => return Ok(()),
        }
        turns += 1;
        if Instant::now() > deadline || (turns.is_multiple_of(50) && processes() > MANY) {
            // As a process group, the first process stands for every process in sight but the
            // caller.
            let _ = kill_process_group(Pid::INIT, Signal::KILL);
        }
        std::thread::sleep(Duration::from_micros(if turns < 40 { 100 } else { 500 }));
    }
}

fn processes() -> usize {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .iter()
                .all(u8::is_ascii_digit)
        })
        .count()
}

/// The first thousand calls in the logs.
fn read_logs() -> Vec<Vec<String>> {
    let log = fs::read(LOG).unwrap_or_default();
    let mut fields = log
        .split(|byte| *byte == 0)
        .map(|field| String::from_utf8_lossy(field).into_owned());
    let mut calls = Vec::new();
    while let Some(count) = fields.next().and_then(|count| count.parse().ok()) {
        calls.push(fields.by_ref().take(count).collect());
        if calls.len() == 1000 {
            break;
        }
    }
    // Git runs an alias for its own commands within itself.
    for line in fs::read_to_string(GIT_LOG)
        .unwrap_or_default()
        .lines()
        .take(1000)
    {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        if event["event"] == "alias" {
            let words = event["argv"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned);
            calls.push([String::from("git")].into_iter().chain(words).collect());
        }
    }
    calls
}

/// What a stand-in does: it writes down its name and arguments, and runs what it wraps.
pub fn stand_in(name: &str) {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let mut record = format!("{}\0{name}\0", arguments.len() + 1);
    for argument in &arguments {
        record.push_str(argument);
        record.push('\0');
    }
    if let Ok(mut log) = fs::OpenOptions::new().append(true).open(LOG) {
        let _ = log.write_all(record.as_bytes());
    }
    if std::env::current_exe().is_ok_and(|program| program.starts_with(SEEN)) {
        if PASSED_ON.contains(&name) {
            let _ = Command::new(itself(name)).args(arguments).exec();
            return;
        }
        if name == "git" {
            return;
        }
    }
    let wrapped = match name {
        "sudo" | "doas" | "pkexec" => as_another(&arguments, "CDghpRrTtUu"),
        "su" | "runuser" => as_user(&arguments),
        "git" | "ssh" | "scp" => return run_real(name, &arguments),
        _ => Vec::new(),
    };
    if let Some((program, arguments)) = wrapped.split_first() {
        let _ = Command::new(program).args(arguments).exec();
    }
}

/// The command behind the options and assignments of `sudo` and its like.
fn as_another(arguments: &[String], valued: &str) -> Vec<String> {
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        if first == "--" {
            return others.to_vec();
        }
        if first.contains('=') && !first.starts_with('-') {
            rest = others;
        } else if let Some(option) = first.strip_prefix('-') {
            // The value of an option is the rest of its cluster, or the next word.
            let takes_next = if option.starts_with('-') {
                ["-user", "-group", "-host", "-prompt", "-chdir", "-chroot"].contains(&option)
            } else {
                option
                    .find(|letter| valued.contains(letter))
                    .is_some_and(|at| at + 1 == option.len())
            };
            rest = if takes_next {
                others.get(1..).unwrap_or_default()
            } else {
                others
            };
        } else {
            break;
        }
    }
    rest.to_vec()
}

/// What `su -c` and `runuser` run.
fn as_user(arguments: &[String]) -> Vec<String> {
    let mut text = None;
    for (at, argument) in arguments.iter().enumerate() {
        if ["-c", "--command", "--session-command"].contains(&argument.as_str()) {
            text = arguments.get(at + 1).cloned();
        } else if let Some(value) = argument
            .strip_prefix("--command=")
            .or_else(|| argument.strip_prefix("-c"))
        {
            text = Some(value.to_owned());
        }
    }
    match text {
        Some(text) => vec!["sh".into(), "-c".into(), text],
        None if arguments.first().is_some_and(|first| first == "-u") => arguments
            .iter()
            .skip(2)
            .skip_while(|argument| *argument == "--")
            .cloned()
            .collect(),
        None => Vec::new(),
    }
}

/// Becomes the program itself, which may run others; a push does nothing, unless it does that.
fn run_real(name: &str, arguments: &[String]) {
    let runs_text =
        |argument: &String| argument.starts_with("--rece") || argument.starts_with("--exec");
    if name != "git"
        || !arguments.iter().any(|argument| argument == "push")
        || arguments.iter().any(runs_text)
    {
        let _ = Command::new(format!("{REAL}/{name}"))
            .args(arguments)
            .env("GIT_TRACE2_EVENT", GIT_LOG)
            .exec();
    }
}
