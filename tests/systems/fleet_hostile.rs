//! What others send to a host that judges, and to whoever watches it: first with the rights of
//! another host, then with all. The host goes on, its memory is bounded, and nothing is in force
//! that isn't signed.

use super::fleet::servers::{LONG, Servers, program, until};
use super::fleet::{GUARD, Scene, said};
use super::fleet_pool;
use super::support::{TestHost, brief, eventually};
use hookwire_fleet::envelope::sign_payload;
use hookwire_fleet::key::SecretKey;
use hookwire_fleet::streams;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// What becomes of a message.
#[derive(Clone, Copy)]
enum Became {
    /// The server doesn't let this account send it.
    Denied,
    /// It comes to somebody who makes nothing of it.
    Nothing,
    /// The host refuses it, and says so to the publisher.
    Refused(&'static str),
    /// This command tells of it.
    Told(&'static str, &'static str),
}
use Became::{Denied, Nothing, Refused, Told};

/// A message that somebody sends, so many times.
struct Sent {
    what: &'static str,
    subject: String,
    /// Where an answer is to go.
    reply: &'static str,
    headers: &'static str,
    payload: Vec<u8>,
    times: usize,
    became: Became,
}

fn sent(
    what: &'static str,
    subject: impl Into<String>,
    payload: impl Into<Vec<u8>>,
    became: Became,
) -> Sent {
    Sent {
        what,
        subject: subject.into(),
        reply: "",
        headers: "",
        payload: payload.into(),
        times: 1,
        became,
    }
}

const STATUS: &str = "fleet status --fleet publisher.conf";
const QUERY: &str = "fleet query --fleet auditor.conf since:1h";
/// How often what has no answer is sent.
const MANY: usize = 2000;
/// The memory that a host may take for all of it, in KiB.
const ROOM: u64 = 150 << 10;

/// What the account of another host may try.
fn of_another_host() -> Vec<Sent> {
    let lie = json!({ "version": "9\u{1b}[2J", "channel": "main", "generation": u64::MAX, "hash": "x".repeat(5000),
        "inForce": { "revision": 999_999, "digest": "0".repeat(64), "content": "0".repeat(64), "canary": false, "expires": 1 } });
    let asked =
        json!({ "nonce": "n", "waits": 3_600_000, "approvers": [], "question": 0 }).to_string();
    let nested = asked.replace(
        "n\":0",
        &format!("n\":{}{}", "[".repeat(20_000), "]".repeat(20_000)),
    );
    assert_ne!(nested, asked);
    let blob = format!("hw.blob.{}", "0".repeat(64));
    vec![
        sent(
            "a report in another's name",
            "$KV.hw_hosts.host-a.p1",
            lie.to_string(),
            Denied,
        ),
        sent("a manifest", "$KV.hw_defs.channel.main", "{}", Denied),
        sent("a file of a bundle", blob, "{}", Denied),
        sent(
            "a notice of a change",
            "hw.changed.channel.main",
            "",
            Denied,
        ),
        sent(
            "verdicts in another's name",
            "hw.audit.host-a.s1",
            "{}",
            Denied,
        ),
        sent("an answer", "hw.answer.host-a.p1.q1", "{}", Denied),
        sent("a notice of an answer", "hw.told.host-a.p1.q1", "", Denied),
        sent(
            "something into another's inbox",
            "_INBOX.host-a.x",
            "{}",
            Denied,
        ),
        sent("an event for a pool", "hw.dispatch.main", "{}", Denied),
        sent(
            "an order to the servers",
            "$JS.API.STREAM.DELETE.HW_AUDIT",
            "",
            Denied,
        ),
        sent(
            "a report that lies",
            "$KV.hw_hosts.host-b.p1",
            lie.to_string(),
            Told(STATUS, "host-b.p1"),
        ),
        sent(
            "a report that nests",
            "$KV.hw_hosts.host-b.p2",
            "[".repeat(60_000),
            Told(STATUS, "1 report can't be read"),
        ),
        sent(
            "verdicts without numbers",
            "hw.audit.host-b.s1",
            vec![0xff; 10_000],
            Told(QUERY, "at hw.audit.host-b.s1 has no"),
        ),
        Sent {
            headers: "Hw-Numbers: 1-18446744073709551615\r\n",
            ..sent(
                "more verdicts than there are",
                "hw.audit.host-b.s2",
                "{}\n",
                Told(QUERY, "at hw.audit.host-b.s2 has no"),
            )
        },
        Sent {
            headers: "Hw-Numbers: 1-1\r\n",
            ..sent(
                "a verdict that nests",
                "hw.audit.host-b.s3",
                "[".repeat(200_000),
                Told(QUERY, "is no record of an event"),
            )
        },
        Sent {
            headers: "Hw-Numbers: 1-1\r\n",
            ..sent(
                "a word of lost verdicts",
                "hw.audit.host-b.s4",
                "{\"lost\":3}\n",
                Told(
                    "fleet query --format json --fleet auditor.conf since:1h",
                    "\"lost\":3",
                ),
            )
        },
        sent(
            "a question that nests",
            "hw.ask.host-b.p1.q1",
            nested,
            Told("approvals list --fleet approver.conf", "another version"),
        ),
        sent(
            "a value that is none",
            "$KV.hw_state.pushes",
            "[".repeat(1000),
            Told("state --fleet host.conf get pushes", "isn't hookwire's"),
        ),
        Sent {
            times: MANY,
            ..sent(
                "takes of a quota that isn't there",
                "hw.quota.none-1-1s.x",
                "",
                Nothing,
            )
        },
        Sent {
            times: MANY / 10,
            ..sent(
                "what is too large for a report",
                "$KV.hw_hosts.host-b.p3",
                vec![b'a'; 70_000],
                Nothing,
            )
        },
    ]
}

/// What somebody may try who has all rights, and no key. `signed` are the manifests that were in
/// force.
fn of_everybody(signed: &[Vec<u8>; 2]) -> Vec<Sent> {
    let defs = "$KV.hw_defs.channel.main";
    let payload = json!({ "channel": "main", "revision": 9, "stage": "all", "created": 1, "expires": u64::MAX, "files": [] });
    let other = sign_payload(
        "application/vnd.hookwire.bundle+json",
        payload.to_string().as_bytes(),
        &[&SecretKey::generate().unwrap()],
    );
    let cut = signed[1][..signed[1].len() - 2].to_vec();
    let changed = String::from_utf8(signed[1].clone())
        .unwrap()
        .replace("\"sig\":\"", "\"sig\":\"A");
    vec![
        sent(
            "bytes in the place of a manifest",
            defs,
            vec![0xff; 100_000],
            Refused("is no signed envelope"),
        ),
        sent(
            "a manifest that nests",
            defs,
            "[".repeat(400_000),
            Refused("is no signed envelope"),
        ),
        sent(
            "a manifest without signatures",
            defs,
            json!({ "payload": "", "payloadType": "x", "signatures": [] }).to_string(),
            Refused("it is of the type"),
        ),
        sent(
            "a manifest that another has signed",
            defs,
            other,
            Refused("0 of the pinned keys have signed it"),
        ),
        sent(
            "a manifest that is cut off",
            defs,
            cut,
            Refused("is no signed envelope"),
        ),
        sent(
            "a manifest with another signature",
            defs,
            changed,
            Refused("0 of the pinned keys have signed it"),
        ),
        sent(
            "nothing in the place of a manifest",
            defs,
            "",
            Refused("is no signed envelope"),
        ),
        sent(
            "the manifest before this one",
            defs,
            signed[0].clone(),
            Refused("is older than revision 2"),
        ),
        sent(
            "the manifest in force, again",
            defs,
            signed[1].clone(),
            Nothing,
        ),
        sent(
            "the manifest of all as a canary",
            "$KV.hw_defs.canary.main",
            signed[1].clone(),
            Refused("for another stage"),
        ),
        Sent {
            times: MANY,
            ..sent(
                "notices of changes",
                "hw.changed.channel.main",
                vec![0xff; 1000],
                Nothing,
            )
        },
        Sent {
            times: MANY,
            ..sent(
                "notices of answers",
                "hw.told.host-a.p1.q1",
                vec![0xff; 1000],
                Nothing,
            )
        },
        Sent {
            times: MANY,
            ..sent(
                "replies to nothing",
                "_INBOX.host-a.x",
                vec![0xff; 1000],
                Nothing,
            )
        },
        Sent {
            times: MANY,
            ..sent(
                "reports of everybody",
                "$KV.hw_hosts.x.y",
                "{\"version\":1}",
                Told(STATUS, "can't be read"),
            )
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_goes_on_whatever_others_send() {
    let Some(program) = program() else { return };
    let scene = Scene::new(&program);
    for user in ["auditor", "approver"] {
        scene.write(&format!("{user}.conf"), &scene.servers.settings_text(user));
    }
    let mut host = scene.host();
    let mut signed = [Vec::new(), Vec::new()];
    for (n, envelope) in signed.iter_mut().enumerate() {
        scene.write("team/guard.yaml", &format!("{GUARD}# {n}\n"));
        let (code, text) = scene.publish(&["team"]);
        assert!(code == Some(0) && text.contains("in force"), "{text}");
        *envelope = in_channel(&scene.servers).await;
    }
    check(&mut host, "nothing");
    let before = memory(&host);
    for (user, messages) in [
        ("host-b", of_another_host()),
        ("everything", of_everybody(&signed)),
    ] {
        let sender = Sender::connect(&scene.servers, user);
        for message in &messages {
            let complaints = sender.send(message);
            check(&mut host, message.what);
            let Sent { what, became, .. } = message;
            let is_denied = complaints
                .iter()
                .any(|it| it.contains("Permissions Violation"));
            assert_eq!(
                is_denied,
                matches!(became, Denied),
                "{what} by {user}: {complaints:?}"
            );
            let (command, told) = match became {
                Denied | Nothing => continue,
                Refused(reason) => (STATUS, reason),
                Told(command, told) => (*command, told),
            };
            let args: Vec<&str> = command.split(' ').collect();
            let found = eventually(what, || {
                Some(said(&scene.run(&args))).filter(|it| it.contains(told))
            });
            assert!(
                !found.contains(['\u{1b}', '\0']) && !found.contains("panicked"),
                "{what}: {found}"
            );
        }
    }
    lie_to(&mut host, &scene.servers);
    let grown = memory(&host).saturating_sub(before);
    assert!(grown < ROOM, "the host's memory grew by {grown} KiB");
    // What is signed comes into force all the same.
    scene.write(
        "team/guard.yaml",
        &GUARD.replace("no-force-push", "no-force"),
    );
    let (code, text) = scene.publish(&["team", "--revision", "3"]);
    assert!(
        code == Some(0) && text.contains("in force on host-a."),
        "{text}"
    );
    assert!(brief(&host.bash("git push --force")).contains("deny by no-force"));
    host.close();
}

/// What clients of a pool and its members get: events that are none, with answers that are to go
/// elsewhere, and replies of somebody who is no member.
#[test]
fn a_pool_goes_on_whatever_others_send() {
    let Some(program) = program() else { return };
    let scene = fleet_pool::Scene::new(&program);
    let _member = scene.member("pool-a");
    let sender = Sender::connect(&scene.servers, "everything");
    sender.write(b"SUB hw.answer.> 1\r\n");
    let event = |what, payload: Vec<u8>| Sent {
        times: 500,
        ..sent(what, "hw.dispatch.main", payload, Nothing)
    };
    for message in [
        event("bytes", vec![0xff; 1000]),
        event("a nest", b"[".repeat(20_000)),
        Sent {
            reply: "_INBOX.nobody.x",
            ..event(
                "an event that is none",
                b"{\"jsonrpc\":\"2.0\",\"id\":1e999}".to_vec(),
            )
        },
        Sent {
            reply: "_INBOX.nobody.x",
            ..event(
                "another method",
                br#"{"jsonrpc":"2.0","id":1,"method":"state/get"}"#.to_vec(),
            )
        },
        Sent {
            reply: "hw.answer.host-a.p1.q1",
            ..event("an answer to a question", b"{}".to_vec())
        },
        Sent {
            headers: "Hookwire-Wait: 18446744073709551616\r\n",
            reply: "_INBOX.nobody.x",
            ..event("no end", b"{}".to_vec())
        },
    ] {
        assert_eq!(
            sender.send(&message),
            Vec::<String>::new(),
            "{}",
            message.what
        );
        let (may_run, _) = fleet_pool::by_hook(&scene, "git push --force", 60.0);
        assert_eq!(
            may_run, "denied: Force pushes are off.",
            "after {}",
            message.what
        );
    }
    assert_eq!(sender.answers.load(Ordering::Relaxed), 0);
    // Who has all rights could lie in earnest. What is no answer is none.
    sender.write(b"SUB hw.dispatch.> 2\r\n");
    sender.settle();
    for n in 1..=8 {
        let (may_run, _) = fleet_pool::by_hook(&scene, "git push --force", 60.0);
        assert!(
            may_run.starts_with("denied: ") && !may_run.contains('\u{1b}'),
            "{may_run}"
        );
        assert!(sender.lies.load(Ordering::Relaxed) >= n);
    }
}

/// The host judges by what was signed.
fn check(host: &mut TestHost, after: &str) {
    for (command, verdict) in [
        (
            "git push --force",
            "deny by no-force-push: Force pushes are off.",
        ),
        ("ls", "allow"),
    ] {
        assert_eq!(brief(&host.bash(command)), verdict, "after {after}");
    }
}

/// Answers what the host asks the servers, faster than they do if that succeeds, and never truly.
fn lie_to(host: &mut TestHost, servers: &Servers) {
    let sender = Sender::connect(servers, "everything");
    sender.write(b"SUB $JS.API.DIRECT.GET.> 1\r\n");
    for n in 1..=24 {
        sender.send(&sent("a notice", "hw.changed.channel.main", "", Nothing));
        eventually("the host asks", || {
            (sender.lies.load(Ordering::Relaxed) >= n).then_some(())
        });
        check(host, "lies");
    }
}

/// The bytes of the manifest that stands in the channel.
async fn in_channel(servers: &Servers) -> Vec<u8> {
    let admin = servers.admin().await;
    let subject = streams::channel_key(&"main".parse().unwrap());
    until(async || {
        Some(
            admin
                .last_message(streams::DEFS, &subject, LONG)
                .await
                .ok()??
                .payload
                .to_vec(),
        )
    })
    .await
}

/// The resident memory of a host, in KiB.
fn memory(host: &TestHost) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// A client that writes the protocol itself, so that no library keeps it from anything.
struct Sender {
    writer: Arc<Mutex<TcpStream>>,
    complaints: mpsc::Receiver<Option<String>>,
    /// How many requests of others it has answered.
    lies: Arc<AtomicU64>,
    /// How many answers to questions it has seen.
    answers: Arc<AtomicU64>,
}

impl Sender {
    fn connect(servers: &Servers, user: &str) -> Sender {
        let address = servers.settings(user).servers.remove(0);
        let stream = TcpStream::connect(address.strip_prefix("nats://").unwrap()).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        let (tell, complaints) = mpsc::channel();
        let [lies, answers] = [(), ()].map(|()| Arc::new(AtomicU64::new(0)));
        // Whole messages, because two threads write.
        let writer = Arc::new(Mutex::new(stream.try_clone().unwrap()));
        let hearing = Hearing {
            writer: writer.clone(),
            tell,
            lies: lies.clone(),
            answers: answers.clone(),
        };
        std::thread::spawn(move || hearing.run(BufReader::new(stream)));
        let sender = Sender {
            writer,
            complaints,
            lies,
            answers,
        };
        let who = json!({ "verbose": false, "pedantic": false, "headers": true, "user": user,
            "pass": format!("password-of-{user}"), "lang": "none", "version": "0", "protocol": 1 });
        sender.write(format!("CONNECT {who}\r\n").as_bytes());
        assert_eq!(sender.settle(), Vec::<String>::new());
        sender
    }

    fn write(&self, bytes: &[u8]) {
        if let Err(error) = self.writer.lock().unwrap().write_all(bytes) {
            let shown: String = String::from_utf8_lossy(bytes).chars().take(100).collect();
            panic!(
                "{error} at {shown:?}: {:?}",
                self.complaints.try_iter().collect::<Vec<_>>()
            );
        }
    }

    /// Sends a message; gives what the server says against it.
    fn send(&self, sent: &Sent) -> Vec<String> {
        let bytes = published(
            &format!("{} {}", sent.subject, sent.reply),
            sent.headers,
            &sent.payload,
        );
        (0..sent.times).for_each(|_| self.write(&bytes));
        self.settle()
    }

    /// Waits until the server has read all; gives its complaints.
    fn settle(&self) -> Vec<String> {
        self.write(b"PING\r\n");
        let next = || {
            self.complaints
                .recv_timeout(LONG)
                .expect("the server doesn't answer")
        };
        std::iter::from_fn(next).collect()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self
            .writer
            .lock()
            .unwrap()
            .shutdown(std::net::Shutdown::Both);
    }
}

/// A message as the protocol has it, with where an answer is to go behind the subject. Headers end
/// with their lines.
fn published(subject: &str, headers: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "NATS/1.0{}{headers}\r\n",
        if headers.starts_with(' ') { "" } else { "\r\n" }
    );
    let sizes = format!("{} {}", head.len(), head.len() + payload.len());
    [
        format!("HPUB {subject} {sizes}\r\n{head}").as_bytes(),
        payload,
        b"\r\n",
    ]
    .concat()
}

/// What comes to a client.
struct Hearing {
    writer: Arc<Mutex<TcpStream>>,
    /// A complaint, or `None`: all that was sent before has been read.
    tell: mpsc::Sender<Option<String>>,
    lies: Arc<AtomicU64>,
    answers: Arc<AtomicU64>,
}

impl Hearing {
    fn run(self, mut reader: BufReader<TcpStream>) {
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|n| n > 0) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PING"] => drop(self.writer.lock().unwrap().write_all(b"PONG\r\n")),
                ["PONG"] => drop(self.tell.send(None)),
                ["-ERR", ..] => drop(self.tell.send(Some(line.trim().to_string()))),
                ["MSG" | "HMSG", subject, rest @ ..] => {
                    let size: usize = rest.last().and_then(|it| it.parse().ok()).unwrap();
                    let mut payload = vec![0; size + 2];
                    reader.read_exact(&mut payload).unwrap();
                    self.answers.fetch_add(
                        u64::from(subject.starts_with("hw.answer.")),
                        Ordering::Relaxed,
                    );
                    if let Some(inbox) = rest.iter().find(|it| it.starts_with("_INBOX.")) {
                        let n = self.lies.fetch_add(1, Ordering::Relaxed);
                        let _ = self
                            .writer
                            .lock()
                            .unwrap()
                            .write_all(&lie(n, subject, inbox));
                    }
                }
                _ => {}
            }
            line.clear();
        }
    }
}

/// A reply that isn't true, to whoever asks the servers.
fn lie(n: u64, subject: &str, inbox: &str) -> Vec<u8> {
    if subject.starts_with("hw.dispatch.") {
        let (state, payload) = match n % 4 {
            0 => ("done", vec![0xff; 1000]),
            1 => ("done", b"[".repeat(300_000)),
            2 => ("done", b"{\"result\":{\"decision\":\"alow\"}}".to_vec()),
            _ => ("refused", vec![0x1b; 500_000]),
        };
        return published(inbox, &format!("Hookwire-State: {state}\r\n"), &payload);
    }
    let about = subject
        .split_once("KV_hw_defs.")
        .map_or("hw.audit.host-a.x", |(_, subject)| subject);
    let stored = |sequence: &str, time: &str| {
        format!(
            "Nats-Stream: KV_hw_defs\r\nNats-Subject: {about}\r\nNats-Sequence: {sequence}\r\nNats-Time-Stamp: {time}\r\n"
        )
    };
    let (headers, payload) = match n % 6 {
        0 => (String::new(), vec![0xff; 1000]),
        1 => (" 404 Message Not Found\r\n".into(), Vec::new()),
        2 => (
            stored("18446744073709551615", "9999-12-31T23:59:59.999999999Z"),
            b"[".repeat(300_000),
        ),
        3 => (stored("-1", "yesterday"), b"{}".to_vec()),
        4 => (stored("1", "0001-01-01T00:00:00Z"), vec![b'a'; 900_000]),
        _ => (" 99999999999999999999 \r\n".into(), Vec::new()),
    };
    published(inbox, &headers, &payload)
}
