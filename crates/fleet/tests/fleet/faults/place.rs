//! A network and disks of the test's own, which end with it: the test runs itself again in new
//! namespaces.

use crate::common::Place;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set where the test runs in namespaces of its own.
const INSIDE: &str = "HOOKWIRE_FAULTS_INSIDE";

/// Whether this process has namespaces of its own.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs a test of this program in new namespaces, and says whether it held. `None`: nobody may make
/// them here.
pub fn run_inside(test: &str) -> Option<bool> {
    let ways: [&[&str]; 2] = [
        &["--net", "--mount"],
        &["--user", "--map-root-user", "--net", "--mount"],
    ];
    let way = ways.iter().find(|way| {
        let probe = "mount -t tmpfs none /run && ip link set lo up && ip link add hw-probe type bridge && ip netns add p";
        Command::new("unshare")
            .args(**way)
            .args(["sh", "-c", probe])
            .output()
            .is_ok_and(|output| output.status.success())
    })?;
    let again = r#"mount -t tmpfs none /run && ip link set lo up && exec "$0" "$@""#;
    let status = Command::new("unshare")
        .args(*way)
        .args(["sh", "-c", again])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            test,
            "--include-ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(INSIDE, "1")
        .status();
    Some(status.unwrap().success())
}

fn run(line: &str) {
    let output = Command::new("sh").args(["-ec", line]).output().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Servers that are each in a network namespace, with two wires: one to clients, one to the other
/// servers.
pub struct Network {
    n: usize,
    id: &'static str,
    /// The second byte of its addresses.
    byte: u8,
}

impl Network {
    /// Networks of one test have different letters and bytes, and may be there at once.
    pub fn new(n: usize, id: &'static str, byte: u8) -> Network {
        for net in [1, 2] {
            let bridge = format!("{id}-{net}");
            run(&format!(
                "ip link add {bridge} type bridge; ip addr add 10.{byte}.{net}.254/24 dev {bridge}; \
                 ip link set {bridge} up"
            ));
        }
        for node in 1..=n {
            run(&format!(
                "ip netns add {id}-{node}; ip -n {id}-{node} link set lo up"
            ));
            for net in [1, 2] {
                run(&format!(
                    "ip link add {id}-{net}-{node} type veth peer name wire-{net} netns {id}-{node}; \
                     ip link set {id}-{net}-{node} master {id}-{net} up; \
                     ip -n {id}-{node} addr add 10.{byte}.{net}.{node}/24 dev wire-{net}; \
                     ip -n {id}-{node} link set wire-{net} up"
                ));
            }
        }
        Network { n, id, byte }
    }

    pub fn place(&self) -> Place {
        let Network { n, id, byte } = self;
        Place {
            namespaces: (1..=*n)
                .map(|n| {
                    (
                        format!("{id}-{n}"),
                        format!("10.{byte}.1.{n}"),
                        format!("10.{byte}.2.{n}"),
                    )
                })
                .collect(),
            ..Place::default()
        }
    }

    /// Cuts a server off from the others, and with `clients` from everybody. Nobody is told: what
    /// is sent is gone.
    pub fn cut(&self, index: usize, clients: bool) {
        self.wires(index, clients, "down");
    }

    /// Takes that back.
    pub fn heal(&self, index: usize) {
        self.wires(index, true, "up");
    }

    fn wires(&self, index: usize, clients: bool, state: &str) {
        let (id, node) = (self.id, index + 1);
        run(&format!("ip link set {id}-2-{node} {state}"));
        if clients {
            run(&format!("ip link set {id}-1-{node} {state}"));
        }
    }
}

/// A small disk.
pub struct Disk(PathBuf);

impl Disk {
    /// In that directory, with so many MiB.
    pub fn new(dir: &Path, size: usize) -> Disk {
        run(&format!(
            "mount -t tmpfs -o size={size}m none {}",
            dir.display()
        ));
        Disk(dir.into())
    }

    /// Leaves so many KiB of it.
    pub fn fill(&self, left: usize) {
        let dir = self.0.display();
        // The first ends where the disk does.
        run(&format!(
            "cat /dev/zero > {dir}/ballast 2> /dev/null || truncate -s -{left}K {dir}/ballast"
        ));
    }

    /// Makes room again.
    pub fn clear(&self) {
        run(&format!("rm {}/ballast", self.0.display()));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, because the servers may not have ended yet.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
