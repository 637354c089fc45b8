//! One child process for one call: start it, feed it, read it, and leave
//! nothing of it behind.
//!
//! [`run`] knows no hooks and no JSON. Deadlines and cancellation belong to the
//! caller, who drops the future; killing and reaping are [`super::process_tree`]'s.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use rustix::fs::Access;
use rustix::process::Resource;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::pins::{Pins, Seal};
use super::process_tree::{self, Tree};
use super::starts;

/// What to run.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Program and arguments, no shell. A name without a slash is looked up on
    /// the `PATH` of [`env`](Self::env); only absolute `PATH` entries count,
    /// so that a project directory can't plant a program.
    pub argv: Vec<String>,
    /// The complete environment. `HOOKWIRE_CALL_ID` is added (or replaced).
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// What the child reads on stdin, followed by end of file.
    pub stdin: Bytes,
    /// How much output is accepted.
    pub limits: OutputLimits,
    /// What must be as it was approved, before the start and when a [`run`] has ended.
    pub pins: Option<Pins>,
}

/// How much output of a child is accepted, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// More than this fails the run: half an answer is no answer.
    pub stdout: usize,
    /// The rest is read and thrown away.
    pub stderr: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            stdout: 1024 * 1024,
            stderr: 64 * 1024,
        }
    }
}

/// What a child that ran to its end left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub status: Exit,
    /// All of its stdout.
    pub stdout: Vec<u8>,
    /// The first part of its stderr.
    pub stderr: Vec<u8>,
    /// Whether there was more on stderr than was kept.
    pub stderr_truncated: bool,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Why there is no [`Output`]. The text finishes "failed to ...".
#[derive(Debug)]
pub enum ProcessError {
    /// `argv` is empty.
    NoProgram,
    /// No such file, or nothing of that name on `PATH`.
    NotFound {
        /// The program as it was asked for.
        program: String,
    },
    /// There is a file, but it may not be executed.
    NotExecutable {
        /// The file that was found.
        path: PathBuf,
    },
    /// The working directory is missing.
    NoDirectory {
        /// The directory asked for.
        cwd: PathBuf,
    },
    /// The system refused to start it.
    Spawn {
        /// The resolved program.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// More on stdout than [`OutputLimits::stdout`]; the child was killed.
    OutputTooLarge {
        /// The limit that was passed.
        limit: usize,
    },
    /// The pipes or the exit status could not be read.
    Io {
        /// The system's reason.
        source: io::Error,
    },
    /// Something isn't as it was approved. The reason finishes "failed to ...".
    Changed(String),
}

impl ProcessError {
    /// Whether the program never ran.
    pub(crate) fn is_unstarted(&self) -> bool {
        match self {
            Self::NoProgram
            | Self::NotFound { .. }
            | Self::NotExecutable { .. }
            | Self::NoDirectory { .. }
            | Self::Spawn { .. } => true,
            Self::OutputTooLarge { .. } | Self::Io { .. } | Self::Changed(_) => false,
        }
    }
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => write!(f, "start a program: none was named"),
            Self::NotFound { program } if program.contains('/') => {
                write!(f, "start program `{program}`: no such file")
            }
            Self::NotFound { program } => write!(f, "start program `{program}`: not found on PATH"),
            Self::NotExecutable { path } => {
                write!(f, "start program `{}`: is not executable", path.display())
            }
            Self::NoDirectory { cwd } => {
                write!(
                    f,
                    "start a program in `{}`: no such directory",
                    cwd.display()
                )
            }
            Self::Spawn { path, source } => {
                write!(f, "start program `{}`: {source}", path.display())
            }
            Self::OutputTooLarge { limit } => {
                write!(f, "read the program's stdout: more than {limit} bytes")
            }
            Self::Io { source } => write!(f, "talk to the program: {source}"),
            Self::Changed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ProcessError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Spawn { source, .. } | Self::Io { source } => Some(source),
            Self::NoProgram
            | Self::NotFound { .. }
            | Self::NotExecutable { .. }
            | Self::NoDirectory { .. }
            | Self::OutputTooLarge { .. }
            | Self::Changed(_) => None,
        }
    }
}

/// Runs one child to its end.
///
/// Whatever happens, nothing that the child started outlives the call: when the future ends or is
/// dropped, the tree gets SIGKILL before control returns (in a crowd, see [`starts`], at once after
/// that), and what had already lost its parent within milliseconds. A crowd and a full house (see
/// [`max_children`]) make it wait, at the caller's expense.
pub async fn run(spec: Spec) -> Result<Output, ProcessError> {
    let Some(turn) = starts::turn().await else {
        return Err(io::Error::other("no child may start").into());
    };
    let permit = CHILDREN.acquire().await.map_err(io::Error::other)?;
    let n_live = max_children() - CHILDREN.available_permits();
    let is_crowd = starts::is_crowd(n_live);
    if is_crowd {
        turn.calm(n_live).await;
    }
    turn.begin();
    // Apart, because the directory or the program may be on a file system that hangs.
    let mut starting = tokio::task::spawn_blocking(move || {
        let started = spawn(&spec, permit)?;
        if is_crowd {
            started.0.yield_to_host();
        }
        Ok::<_, ProcessError>((started, spec))
    });
    let in_time = tokio::time::timeout(starts::LONGEST, &mut starting).await;
    drop(turn);
    let started = match in_time {
        Ok(started) => started,
        Err(_) => starting.await,
    };
    let ((tree, pipes, seal), spec) = started.map_err(io::Error::other)??;
    let output = converse(tree, pipes, &spec).await?;
    if let Some(seal) = seal {
        let whole = tokio::task::spawn_blocking(move || seal.is_whole());
        whole
            .await
            .map_err(io::Error::other)?
            .map_err(ProcessError::Changed)?;
    }
    Ok(output)
}

/// Runs a child that no gate waits for: however many such children there are, they leave places to
/// gates.
pub(crate) async fn run_modestly(spec: Spec) -> Result<Output, ProcessError> {
    static MODEST: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(max_children() * 3 / 4));
    let _permit = MODEST.acquire().await.map_err(io::Error::other)?;
    run(spec).await
}

/// A child that outlives the call that started it, with the host's ends of its pipes.
pub(super) struct Child {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    /// Dropping it kills the child and all that came of it.
    pub(super) tree: Tree,
}

/// Starts a child that ends with its [`Child::tree`] or with the host. The spec's `stdin` and
/// `limits` are the caller's to heed.
pub(super) fn start(spec: &Spec, permit: SemaphorePermit<'static>) -> Result<Child, ProcessError> {
    let (tree, pipes, seal) = spawn(spec, permit)?;
    seal.map_or(Ok(()), |seal| seal.is_whole())
        .map_err(ProcessError::Changed)?;
    Ok(Child {
        stdin: ChildStdin::from_std(pipes.stdin)?,
        stdout: ChildStdout::from_std(pipes.stdout)?,
        stderr: ChildStderr::from_std(pipes.stderr)?,
        tree,
    })
}

type Started = (Tree, process_tree::Pipes, Option<Seal>);

fn spawn(spec: &Spec, permit: SemaphorePermit<'static>) -> Result<Started, ProcessError> {
    let seal = spec
        .pins
        .as_ref()
        .map(Pins::check)
        .transpose()
        .map_err(ProcessError::Changed)?;
    let program = spec
        .argv
        .first()
        .filter(|it| !it.is_empty())
        .ok_or(ProcessError::NoProgram)?;
    let path = resolve(program, &spec.env, &spec.cwd)?;
    // Three details keep std on posix_spawn; fork would copy the page tables
    // of the whole host: an absolute path, `process_group`, and no `pre_exec`.
    let mut command = Command::new(&path);
    command
        .arg0(&spec.argv[0])
        .args(&spec.argv[1..])
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (tree, pipes) = Tree::spawn(&mut command, permit).map_err(|source| {
        // ENOENT doesn't say whether the program or the directory is missing.
        if spec.cwd.is_dir() {
            ProcessError::Spawn { path, source }
        } else {
            ProcessError::NoDirectory {
                cwd: spec.cwd.clone(),
            }
        }
    })?;
    Ok((tree, pipes, seal))
}

async fn converse(
    tree: Tree,
    pipes: process_tree::Pipes,
    spec: &Spec,
) -> Result<Output, ProcessError> {
    let mut stdin = if spec.stdin.len() <= FRESH_PIPE {
        // Whether the child reads it is its own matter, see below. Dropped here: that is its end of
        // file.
        let mut fresh = pipes.stdin;
        let _ = fresh.write_all(&spec.stdin);
        None
    } else {
        Some(ChildStdin::from_std(pipes.stdin)?)
    };
    let mut stdout = Stream::new(ChildStdout::from_std(pipes.stdout)?, spec.limits.stdout);
    let mut stderr = Stream::new(ChildStderr::from_std(pipes.stderr)?, spec.limits.stderr);

    {
        let feed = async {
            // The child may have exited without reading its stdin; a broken
            // pipe is not a failure, its exit status decides.
            if let Some(mut stdin) = stdin.take() {
                let _ = stdin.write_all(&spec.stdin).await;
            }
            Ok(())
        };
        let answer = async {
            while stdout.read().await? {
                if stdout.overflowed {
                    return Err(ProcessError::OutputTooLarge {
                        limit: spec.limits.stdout,
                    });
                }
            }
            Ok(())
        };
        let complaints = async {
            while stderr.read().await? {}
            Ok(())
        };
        let mut talk = std::pin::pin!(async { tokio::try_join!(feed, answer, complaints) });
        let mut exited = std::pin::pin!(tree.exited());
        tokio::select! {
            result = &mut talk => {
                result?;
                exited.await?;
            }
            result = &mut exited => {
                result?;
                // What the child wrote is in the pipes already. A pipe that
                // stays open is held by a process it left behind.
                if let Ok(result) = tokio::time::timeout(GRACE, talk).await {
                    result?;
                }
            }
        }
    }
    Ok(Output {
        status: Exit::from(tree.finish()?),
        stdout: stdout.kept,
        stderr: stderr.kept,
        stderr_truncated: stderr.overflowed,
    })
}

/// What an empty pipe takes without waiting, wherever it is: a small event needs no readiness, no
/// waking and no second thread.
const FRESH_PIPE: usize = 4096;

/// How long the pipes are read after the child itself has exited.
const GRACE: Duration = Duration::from_millis(50);

static CHILDREN: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(max_children()));

/// How many children may live at once: 256, or fewer where the limit on open
/// files is low. The host holds four descriptors for each and needs more while
/// starting one; a quarter of the limit stays for everybody else.
pub(crate) fn max_children() -> usize {
    let files = rustix::process::getrlimit(Resource::Nofile).current;
    let files = files
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(usize::MAX);
    (files / 4 * 3 / 5).clamp(4, process_tree::MAX_LIVE)
}

/// One output pipe and what is kept of it.
struct Stream<R> {
    pipe: R,
    kept: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl<R: AsyncRead + Unpin> Stream<R> {
    fn new(pipe: R, limit: usize) -> Self {
        Self {
            pipe,
            kept: Vec::new(),
            limit,
            overflowed: false,
        }
    }

    /// Reads once; `false` at the end. Nothing is lost if it is dropped.
    async fn read(&mut self) -> io::Result<bool> {
        if self.kept.capacity() - self.kept.len() < 4 * 1024 {
            self.kept.reserve(16 * 1024);
        }
        let n = self.pipe.read_buf(&mut self.kept).await?;
        if self.kept.len() > self.limit {
            self.kept.truncate(self.limit);
            self.overflowed = true;
        }
        Ok(n > 0)
    }
}

impl From<io::Error> for ProcessError {
    fn from(source: io::Error) -> Self {
        Self::Io { source }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }
}

/// The absolute path of a program, as [`Spec`] says.
pub fn resolve(
    program: &str,
    env: &[(String, String)],
    cwd: &Path,
) -> Result<PathBuf, ProcessError> {
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![std::path::absolute(cwd.join(program))?]
    } else {
        let path = env
            .iter()
            .rfind(|(name, _)| name == "PATH")
            .map_or("", |(_, value)| value);
        std::env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(program))
            .collect()
    };
    let is_executable = |path: &Path| rustix::fs::access(path, Access::EXEC_OK).is_ok();
    let mut files = candidates.into_iter().filter(|path| path.is_file());
    let Some(first) = files.next() else {
        return Err(ProcessError::NotFound {
            program: program.to_string(),
        });
    };
    if is_executable(&first) {
        return Ok(first);
    }
    files
        .find(|path| is_executable(path))
        .ok_or(ProcessError::NotExecutable { path: first })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use super::*;

    fn spec(argv: &[&str]) -> Spec {
        Spec {
            argv: argv.iter().map(|it| it.to_string()).collect(),
            env: vec![("PATH".into(), std::env::var("PATH").expect("PATH"))],
            cwd: "/".into(),
            stdin: Bytes::new(),
            limits: OutputLimits::default(),
            pins: None,
        }
    }

    fn sh(script: &str) -> Spec {
        spec(&["sh", "-c", script])
    }

    async fn check(spec: Spec, status: Exit, stdout: &str) {
        let what = spec.argv.join(" ");
        let output = run(spec).await.expect(&what);
        assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{what}");
        assert_eq!(output.status, status, "{what}");
    }

    /// Waits for a condition that nothing announces.
    async fn eventually(what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "still waiting: {what}"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn ends() {
        for (script, status, stdout) in [
            ("true", Exit::Code(0), ""),
            ("echo hello; exit 2", Exit::Code(2), "hello\n"),
            ("exit 137", Exit::Code(137), ""),
            ("kill -9 $$", Exit::Signal(9), ""),
            ("kill -TERM $$", Exit::Signal(15), ""),
            ("pwd", Exit::Code(0), "/\n"),
            // Closed pipes are not the end.
            ("exec >&- 2>&-; sleep 0.1; exit 3", Exit::Code(3), ""),
        ] {
            check(sh(script), status, stdout).await;
        }
    }

    #[tokio::test]
    async fn programs_that_cannot_start() {
        let dir = tempfile::tempdir().expect("tempdir");
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "#!/bin/sh\n").expect("write");
        let bad = dir.path().join("bad");
        std::fs::write(&bad, "#!/no/such/interpreter\n").expect("write");
        std::fs::set_permissions(&bad, PermissionsExt::from_mode(0o755)).expect("chmod");
        let here = |argv: &str| Spec {
            cwd: dir.path().into(),
            ..spec(&[argv])
        };
        let on_path = |path: &str| Spec {
            env: vec![("PATH".into(), path.into())],
            ..here("plain")
        };
        let dir_name = dir.path().to_str().expect("utf-8");
        for (spec, message) in [
            (spec(&[]), "start a program: none was named"),
            (
                here("no-such-program"),
                "start program `no-such-program`: not found on PATH",
            ),
            (here("./missing"), "start program `./missing`: no such file"),
            (
                here("./plain"),
                "start program `DIR/plain`: is not executable",
            ),
            (
                here("./bad"),
                "start program `DIR/bad`: No such file or directory (os error 2)",
            ),
            (
                on_path(dir_name),
                "start program `DIR/plain`: is not executable",
            ),
            // The working directory is never searched.
            (on_path(".::"), "start program `plain`: not found on PATH"),
            (
                Spec {
                    cwd: "/no/such".into(),
                    ..sh("true")
                },
                "start a program in `/no/such`: no such directory",
            ),
        ] {
            let error = run(spec).await.expect_err(message);
            assert_eq!(error.to_string().replace(dir_name, "DIR"), message);
        }
        std::fs::set_permissions(&plain, PermissionsExt::from_mode(0o755)).expect("chmod");
        check(here("./plain"), Exit::Code(0), "").await;
    }

    #[tokio::test]
    async fn stdin_in_any_order() {
        const LENGTH: usize = 4 * 1024 * 1024;
        let wide = OutputLimits {
            stdout: 2 * LENGTH,
            stderr: 0,
        };
        let stdin = Bytes::from(vec![b'x'; LENGTH]);
        for (script, length) in [
            ("cat", LENGTH),
            ("true", 0),
            ("exec <&-; sleep 0.1", 0),
            ("sleep 0.1", 0),
            ("head -c 4194304 /dev/zero; cat", 2 * LENGTH),
        ] {
            let output = run(Spec {
                stdin: stdin.clone(),
                limits: wide,
                ..sh(script)
            })
            .await
            .expect(script);
            assert_eq!(
                (output.status, output.stdout.len()),
                (Exit::Code(0), length),
                "{script}"
            );
        }
    }

    #[tokio::test]
    async fn floods() {
        let error = run(spec(&["yes"])).await.expect_err("too large");
        assert!(
            matches!(error, ProcessError::OutputTooLarge { limit: 1_048_576 }),
            "{error}"
        );

        let output = run(sh("head -c 8000000 /dev/zero >&2; echo done"))
            .await
            .expect("run");
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.len()),
            (&b"done\n"[..], 64 * 1024)
        );
        assert!(output.stderr_truncated);
    }

    #[cfg(target_os = "linux")]
    mod linux {
        use std::collections::BTreeSet;
        use std::path::Path;

        use super::*;

        #[tokio::test]
        async fn a_clean_start() {
            let allowed = Spec {
                env: vec![("A".into(), "b".into())],
                ..spec(&["/usr/bin/env"])
            };
            let output = String::from_utf8(run(allowed).await.expect("env").stdout).expect("utf-8");
            let (variables, marker) = output.trim_end().split_once('\n').expect("two lines");
            assert_eq!(variables, "A=b");
            assert!(marker.starts_with("HOOKWIRE_CALL_ID="), "{marker}");

            let status = run(spec(&["cat", "/proc/self/status"]))
                .await
                .expect("cat")
                .stdout;
            let status = String::from_utf8(status).expect("utf-8");
            let ignored = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))
                .expect("SigIgn");
            let ignored = u64::from_str_radix(ignored.trim(), 16).expect("mask");
            let pipe = 1 << (rustix::process::Signal::PIPE.as_raw() - 1);
            assert_eq!(ignored & pipe, 0, "SIGPIPE is ignored: {ignored:x}");
            // 3 is the directory that is being listed.
            check(
                spec(&["ls", "/proc/self/fd"]),
                Exit::Code(0),
                "0\n1\n2\n3\n",
            )
            .await;
        }

        #[tokio::test]
        async fn nobody_survives_a_dropped_future() {
            for script in [
                "touch $M; sleep $T",
                "trap '' TERM INT HUP; touch $M; sleep $T; sleep $T",
                "sleep $T & touch $M; sleep $T",
                "setsid sleep $T & touch $M; wait",
                "(setsid sleep $T &); touch $M; sleep $T",
                "(setsid sh -c 'sleep $T & sleep $T' &); touch $M; sleep $T",
                "setsid env -i sleep $T & touch $M; wait",
            ] {
                let started = Marks::new(script);
                let mut run = Box::pin(run(started.spec.clone()));
                tokio::select! {
                    output = &mut run => panic!("{script}: {output:?}"),
                    () = eventually("start", || started.marker.exists() && started.sleepers() > 0) => {}
                }
                drop(run);
                eventually(script, || started.sleepers() == 0).await;
            }
        }

        #[tokio::test]
        async fn nobody_survives_a_finished_call() {
            for script in [
                "sleep $T &",
                "sleep $T >/dev/null 2>&1 </dev/null &",
                "setsid sleep $T &",
                "(setsid sleep $T >/dev/null 2>&1 &)",
            ] {
                let started = Marks::new(&format!("{script}\necho out; touch $M"));
                // Waiting for them would take years.
                check(started.spec.clone(), Exit::Code(0), "out\n").await;
                eventually(script, || started.sleepers() == 0).await;
            }
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn deadlines_of_many() {
            let started = Marks::new("(setsid sleep $T &) ; sleep $T & wait");
            let calls: Vec<_> = (0..64)
                .map(|_| {
                    tokio::spawn(tokio::time::timeout(
                        Duration::from_millis(500),
                        run(started.spec.clone()),
                    ))
                })
                .collect();
            for call in calls {
                assert!(call.await.expect("join").is_err(), "should time out");
            }
            eventually("all dead", || started.sleepers() == 0).await;
            eventually("all reaped", || zombies().is_empty()).await;
        }

        #[tokio::test]
        async fn nothing_accumulates() {
            run(sh("true")).await.expect("first");
            let before = fds();
            for n in 0..200 {
                let script = if n % 8 == 0 {
                    "sleep 9 & exit 0"
                } else {
                    "exit 0"
                };
                check(sh(script), Exit::Code(0), "").await;
            }
            eventually("zombies", || zombies().is_empty()).await;
            // Other tests of this process open and close some meanwhile.
            eventually("descriptors", || fds() <= before).await;
        }

        /// A script with a marker file `$M` and a time to sleep `$T` that no
        /// other process has.
        struct Marks {
            spec: Spec,
            time: String,
            marker: PathBuf,
            _dir: tempfile::TempDir,
        }

        impl Marks {
            fn new(script: &str) -> Self {
                static NEXT: std::sync::atomic::AtomicUsize =
                    std::sync::atomic::AtomicUsize::new(1000);
                let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let time = format!("{n}{}", std::process::id());
                let dir = tempfile::tempdir().expect("tempdir");
                let marker = dir.path().join("started");
                let mut spec = sh(script);
                spec.env.push(("T".into(), time.clone()));
                spec.env
                    .push(("M".into(), marker.to_str().expect("utf-8").into()));
                Self {
                    spec,
                    time,
                    marker,
                    _dir: dir,
                }
            }

            fn sleepers(&self) -> usize {
                let wanted = format!("sleep\0{}\0", self.time);
                let runs = |pid: &String| {
                    std::fs::read(format!("/proc/{pid}/cmdline"))
                        .is_ok_and(|line| line == wanted.as_bytes())
                };
                names("/proc").iter().filter(|pid| runs(pid)).count()
            }
        }

        fn names(dir: impl AsRef<Path>) -> BTreeSet<String> {
            let entries = std::fs::read_dir(dir).expect("read_dir").flatten();
            entries
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect()
        }

        /// Descriptors of children: their pipes, and themselves.
        fn fds() -> usize {
            let kind =
                |fd: &String| std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
            let is_of_children = |fd: &String| {
                let kind = kind(fd).to_string_lossy().into_owned();
                kind.starts_with("pipe:") || kind.contains("pidfd")
            };
            names("/proc/self/fd")
                .iter()
                .filter(|fd| is_of_children(fd))
                .count()
        }

        /// Our own children that nobody has reaped.
        fn zombies() -> Vec<String> {
            let parent = format!(") Z {} ", std::process::id());
            let is_ours = |pid: &String| {
                std::fs::read_to_string(format!("/proc/{pid}/stat"))
                    .is_ok_and(|stat| stat.contains(&parent))
            };
            names("/proc").into_iter().filter(is_ours).collect()
        }
    }
}
