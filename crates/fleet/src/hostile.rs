//! Everything that is read from the bus, read as hostile input: valid messages, changed byte by
//! byte and member by member, and what is known to be nasty. No reader panics, none allocates
//! beyond a bound, and what is believed is what was signed.
//!
//! `HOOKWIRE_FLEET_HOSTILE` says how many messages each reader gets, `HOOKWIRE_FLEET_HOSTILE_SEED`
//! from which seed.

#[path = "../../../tests/support/random.rs"]
mod random;

use crate::asks::{ANSWER, parse_subject, read_answer, read_question};
use crate::bundle::{Entry, KIND, MAX_BYTES, Manifest, Stage};
use crate::digest::Sha256;
use crate::envelope::{Signers, sign_payload};
use crate::hosts::{InForce, Refused, Report, parse_report};
use crate::key::{PublicKey, SecretKey};
use crate::name::{Identity, Name};
use crate::pool::{self, Request, Said};
use crate::spend::read_counter;
use crate::state::read_kept;
use crate::store::{Believed, Pins};
use crate::verdicts::{NUMBERS, records_of};
use crate::{publish, streams};
use async_nats::jetstream::message::StreamMessage;
use async_nats::{HeaderMap, HeaderValue, Message};
use random::Random;
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// Set where the test runs with bounded memory.
const INSIDE: &str = "HOOKWIRE_FLEET_HOSTILE_INSIDE";
/// What somebody says who answers.
const REASON: &str = "Looked at it.";
/// The memory that the process may have, in KiB, of which its code and threads are most: no message
/// is larger than 1 MiB.
const MEMORY: usize = 400 << 10;

/// A reader of what comes from the bus.
struct Subject {
    name: &'static str,
    valid: Vec<u8>,
    /// Whether it takes a message; panics if what it takes breaks what holds.
    takes: Box<Takes>,
}

type Takes = dyn Fn(&[u8]) -> bool;

impl Subject {
    fn new(
        name: &'static str,
        valid: impl Into<Vec<u8>>,
        takes: impl Fn(&[u8]) -> bool + 'static,
    ) -> Subject {
        Subject {
            name,
            valid: valid.into(),
            takes: Box::new(takes),
        }
    }
}

fn read_setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(default)
}

#[test]
fn what_comes_from_the_bus_is_read_as_hostile_input() {
    if std::env::var_os(INSIDE).is_none() {
        return run_inside();
    }
    let (times, seed) = (
        read_setting("HOOKWIRE_FLEET_HOSTILE", 1000),
        read_setting("HOOKWIRE_FLEET_HOSTILE_SEED", 1),
    );
    let all = subjects();
    for (at, subject) in all.iter().enumerate() {
        let try_one = |what: &str, bytes: &[u8]| {
            let taken = catch_unwind(AssertUnwindSafe(|| (subject.takes)(bytes)));
            taken.unwrap_or_else(|_| {
                let shown: String = String::from_utf8_lossy(bytes).chars().take(2000).collect();
                panic!(
                    "{} doesn't hold: {what} of the seed {seed}\n{shown:?}",
                    subject.name
                )
            })
        };
        assert!(
            try_one("the valid one", &subject.valid),
            "{} takes nothing",
            subject.name
        );
        for (name, bytes) in nasty(&subject.valid) {
            assert!(!try_one(name, &bytes), "{} takes {name}", subject.name);
        }
        for end in 0..subject.valid.len().min(2000) {
            try_one("a part", &subject.valid[..end]);
        }
        let mut random = Random::new(seed ^ (at as u64) << 40);
        let mut n_taken = 0;
        for n in 0..times {
            let other = &all[random.below(all.len())].valid;
            let changed = match random.chance(50) {
                true => changed_bytes(&mut random, &subject.valid, other),
                false => changed_members(&mut random, &subject.valid),
            };
            n_taken += u64::from(try_one(&format!("message {n}"), &changed));
        }
        println!("{:<22} {n_taken:>6} of {times} taken", subject.name);
    }
}

/// Runs the test again in a process of its own, whose memory is bounded: what allocates more ends
/// it.
fn run_inside() {
    let test = "hostile::what_comes_from_the_bus_is_read_as_hostile_input";
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let output = command
        .env(INSIDE, "1")
        .env("MALLOC_ARENA_MAX", "2")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr]
        .map(|it| String::from_utf8_lossy(&it).into_owned())
        .concat();
    println!("{said}");
    assert!(
        output.status.success() && said.contains("1 passed"),
        "see above; with more than {MEMORY} KiB it is killed"
    );
}

/// One reader of each kind of message, with a message that it takes.
fn subjects() -> Vec<Subject> {
    let name = |text: &str| text.parse::<Name>().unwrap();
    let key = SecretKey::generate().unwrap();
    let signers = Signers::new([key.public()], 1).unwrap();
    let manifest = manifest();
    let envelope = sign_payload(KIND, &manifest.to_payload(), &[&key]);
    let pins = Pins {
        channel: manifest.channel.clone(),
        signers: signers.clone(),
    };
    let who = Identity {
        host: name("host-a"),
        instance: name("p1"),
    };
    let (ask, digest) = (name("0123456789abcdef"), Sha256::of_bytes(b"question"));
    let signed = json!({ "host": who.host, "instance": who.instance, "ask": ask, "digest": digest, "decision": "approve",
        "reason": REASON });
    let signed = signed.to_string().into_bytes();
    let answer = sign_payload(ANSWER, &signed, &[&key]);
    let mut all = vec![
        Subject::new("a manifest as it came", envelope.clone(), {
            let (pins, manifest) = (pins.clone(), manifest.clone());
            // Only what was signed, whatever is changed around it.
            move |bytes| {
                Believed::from_envelope(bytes, &pins)
                    .is_ok_and(|it| is_same(&it.manifest, &manifest))
            }
        }),
        Subject::new("a channel", envelope, {
            let (signers, manifest) = (signers.clone(), manifest.clone());
            move |bytes| {
                publish::read_published(bytes, &manifest.channel, &signers)
                    .is_ok_and(|it| is_same(&it.manifest, &manifest))
            }
        }),
        Subject::new("a manifest", manifest.to_payload(), |bytes| {
            Manifest::parse(bytes).is_ok_and(|it| is_sound(&it))
        }),
        Subject::new("a signed manifest", manifest.to_payload(), {
            let (key, pins) = (SecretKey::generate().unwrap(), pins.clone());
            let pins = Pins {
                signers: Signers::new([key.public()], 1).unwrap(),
                ..pins
            };
            // Whoever has the key may sign anything.
            move |bytes| {
                Believed::from_envelope(&sign_payload(KIND, bytes, &[&key]), &pins)
                    .is_ok_and(|it| is_sound(&it.manifest))
            }
        }),
        Subject::new("an answer as it came", answer, {
            let (signers, who, ask) = (signers.clone(), who.clone(), ask.clone());
            move |bytes| {
                let read = read_answer(bytes, &who, &ask, digest, &signers);
                read.is_ok_and(|it| is_same(&it.reason.as_deref(), &Some(REASON)))
            }
        }),
        Subject::new("a signed answer", signed, {
            let (key, who, ask) = (SecretKey::generate().unwrap(), who, ask);
            let signers = Signers::new([key.public()], 1).unwrap();
            move |bytes| {
                let read = read_answer(
                    &sign_payload(ANSWER, bytes, &[&key]),
                    &who,
                    &ask,
                    digest,
                    &signers,
                );
                read.is_ok_and(|it| {
                    is_same(&it.by, &key.public())
                        && within(it.reason.as_deref().unwrap_or_default(), 4000)
                })
            }
        }),
    ];
    all.extend(unsigned(&key.public()));
    all
}

/// Readers of what isn't signed, but for the subject that it came by.
fn unsigned(key: &PublicKey) -> Vec<Subject> {
    let digest = Sha256::of_bytes(b"");
    let in_force = InForce {
        revision: 7,
        digest,
        content: digest,
        canary: false,
        expires: 1,
    };
    let refused = Refused {
        revision: Some(8),
        digest,
        reason: "guard.yaml:1: no".into(),
    };
    let report = Report {
        version: "0.1.0".into(),
        in_force: Some(in_force),
        refused: Some(refused),
        ..Report::default()
    };
    let report = [
        b"$KV.hw_hosts.host-a.p1\n".to_vec(),
        serde_json::to_vec(&report).unwrap(),
    ]
    .concat();
    let asked = json!({ "nonce": "n", "waits": 60000, "approvers": [key], "question": { "message": "Push?" } });
    vec![
        Subject::new("a report", report, |bytes| {
            let (subject, payload) = parted(bytes);
            let Some((_, report)) = parse_report(&subject, payload) else {
                return false;
            };
            let texts = report.errors.iter().chain([&report.version, &report.hash]);
            texts
                .chain(report.refused.iter().map(|it| &it.reason))
                .all(|it| within(it, 500))
        }),
        Subject::new(
            "a question",
            format!("hw.ask.host-a.p1.q1\n{asked}"),
            |bytes| {
                let (subject, payload) = parted(bytes);
                let Some((who, ask)) = parse_subject(&subject) else {
                    return false;
                };
                let question = read_question(who, ask, &stored(&subject, None, payload));
                question.is_some_and(|it| is_same(&it.expires.max(it.at), &it.expires))
            },
        ),
        Subject::new(
            "verdicts",
            "hw.audit.host-a.s1\n7-8\n{\"n\":7}\n{\"n\":8}\n",
            |bytes| {
                let (subject, rest) = parted(bytes);
                let (numbers, payload) = parted(rest);
                let Some(records) = records_of(&stored(&subject, Some(&numbers), payload)) else {
                    return false;
                };
                let n_bytes: usize = records.iter().map(|it| it.record.len()).sum();
                assert!(
                    n_bytes <= payload.len()
                        && records
                            .windows(2)
                            .all(|it| it[0].number + 1 == it[1].number)
                );
                !records.is_empty()
            },
        ),
        Subject::new(
            "a shared value",
            r#"{"value":{"n":3},"expires":99999999999999,"by":"x"}"#,
            |bytes| read_kept(bytes).is_ok_and(|it| it.is_some()),
        ),
        Subject::new("a counter", "120000", |bytes| {
            let counted = std::str::from_utf8(bytes).ok().and_then(read_counter);
            counted.is_some_and(|it| is_same(&it.max(0), &it))
        }),
        Subject::new(
            "a request of a client",
            "_INBOX.thin-a.0123.1\n5000\n{}",
            |bytes| {
                let (reply, rest) = parted(bytes);
                let (wait, payload) = parted(rest);
                let Some(request) =
                    Request::from_message(make_message(&reply, &[(pool::WAIT, &wait)], payload))
                else {
                    return false;
                };
                assert!(
                    request.wait <= pool::MAX_WAIT && request.reply.starts_with("_INBOX."),
                    "{}",
                    request.reply
                );
                true
            },
        ),
        Subject::new(
            "a reply of a pool",
            "refused\nhost-a\nit is busy",
            |bytes| {
                let (state, rest) = parted(bytes);
                let (host, payload) = parted(rest);
                match pool::read_reply(make_message(
                    "",
                    &[(pool::STATE, &state), (pool::HOST, &host)],
                    payload,
                )) {
                    Said::Refused { reason, .. } => within(&reason, pool::MAX_REASON),
                    Said::Working | Said::Done(_) | Said::Nobody | Said::Other => false,
                }
            },
        ),
        Subject::new("a subject", "hw.audit.host-a.s1", |bytes| {
            let subject = String::from_utf8_lossy(bytes);
            let Some(names) = streams::names_below("hw.audit", &subject) else {
                return false;
            };
            let again: Vec<&str> = names.iter().map(Name::as_str).collect();
            assert!(!subject.contains(['*', '>', ' ', '\n']), "{subject:?}");
            is_same(
                &format!("hw.audit.{}", again.join(".")),
                &subject.into_owned(),
            )
        }),
        Subject::new("a public key", key.to_string(), |bytes| {
            let read = std::str::from_utf8(bytes)
                .ok()
                .and_then(|it| it.parse::<PublicKey>().ok());
            read.is_some_and(|it| is_same(&it.to_string().as_bytes(), &bytes))
        }),
        Subject::new("a digest", digest.to_string(), |bytes| {
            let read = std::str::from_utf8(bytes)
                .ok()
                .and_then(|it| it.parse::<Sha256>().ok());
            read.is_some_and(|it| is_same(&it.to_string().as_bytes(), &bytes))
        }),
    ]
}

fn manifest() -> Manifest {
    let entry = |path: &str, size| Entry {
        path: path.into(),
        sha256: Sha256::of_bytes(path.as_bytes()),
        size,
        executable: false,
    };
    Manifest {
        channel: "main".parse().unwrap(),
        revision: 7,
        stage: Stage::Canary { permille: 50 },
        created: 1,
        expires: 2,
        min_host: Some("0.1.0".into()),
        message: Some("A word.".into()),
        files: vec![entry("guard.yaml", 100), entry("lib/check.sh", 7)],
    }
}

/// What holds of each message that is taken, so that a reader that takes another is found.
fn is_same<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T) -> bool {
    assert_eq!(found, wanted);
    true
}

/// So long at most.
fn within(text: &str, most: usize) -> bool {
    assert!(
        text.chars().count() <= most,
        "{} characters",
        text.chars().count()
    );
    true
}

/// Whether the files of a manifest stay in their directory and within the limits.
fn is_sound(manifest: &Manifest) -> bool {
    let total: u64 = manifest.files.iter().map(|file| file.size).sum();
    let is_plain = |path: &str| {
        !path.starts_with('/')
            && path
                .split('/')
                .all(|it| !it.is_empty() && !it.starts_with('.'))
    };
    assert!(
        total <= MAX_BYTES && manifest.files.iter().all(|it| is_plain(&it.path)),
        "{manifest:?}"
    );
    true
}

/// The first line, and the rest.
fn parted(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    (
        String::from_utf8_lossy(&bytes[..end]).into_owned(),
        bytes.get(end + 1..).unwrap_or_default(),
    )
}

/// Headers, as far as they can be any: the client refuses line ends in them.
fn headers(of: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in of {
        if let Ok(value) = value.parse::<HeaderValue>() {
            headers.insert(*name, value);
        }
    }
    headers
}

fn make_message(reply: &str, of: &[(&str, &str)], payload: &[u8]) -> Message {
    let payload = payload.to_vec().into();
    let (subject, reply, headers) = (
        "hw.dispatch.main".into(),
        Some(reply.into()),
        Some(headers(of)),
    );
    Message {
        subject,
        reply,
        payload,
        headers,
        status: None,
        description: None,
        length: 0,
    }
}

fn stored(subject: &str, numbers: Option<&str>, payload: &[u8]) -> StreamMessage {
    let headers = headers(
        &numbers
            .map(|number| (NUMBERS, number))
            .into_iter()
            .collect::<Vec<_>>(),
    );
    let time = async_nats::datetime::from_nanos(1_800_000_000_000_000_000).unwrap();
    StreamMessage {
        subject: subject.into(),
        sequence: 1,
        headers,
        payload: payload.to_vec().into(),
        time,
    }
}

/// What no reader may take.
fn nasty(valid: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let deep = |n: usize| [b"[".repeat(n), b"]".repeat(n)].concat();
    // In the place of what the message begins with, and behind what stands for its subject.
    let head = valid
        .iter()
        .rposition(|it| *it == b'\n')
        .map_or(0, |it| it + 1);
    let text = String::from_utf8_lossy(valid);
    let twice = text.replacen(
        '{',
        "{\"revision\":1,\"revision\":1,\"by\":\"\",\"by\":\"\",\"nonce\":\"\",\"nonce\":\"\",",
        1,
    );
    let mut all = vec![
        ("nothing but zeros", vec![0; 100]),
        ("bytes that aren't UTF-8", [valid, &[0xff, 0xfe]].concat()),
        (
            "a text in another coding",
            text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        ("a deep nest alone", deep(100_000)),
        ("an open nest", b"{\"a\":".repeat(100_000)),
        ("a megabyte of one letter", vec![b'a'; 1 << 20]),
        ("a megabyte of numbers", b"1,".repeat(1 << 19)),
        ("a number of a megabyte", vec![b'9'; 1 << 20]),
        ("the valid one twice", [valid, valid].concat()),
        (
            "a deep nest behind the subject",
            [&valid[..head.min(40)], &deep(100_000)].concat(),
        ),
    ];
    if text.contains('{') && !text.contains("\"payload") {
        all.push(("a member twice", twice.into_bytes()));
    }
    // What each byte is, is the sender's matter in a counter, in records and in a pool; elsewhere
    // these are no message.
    all.retain(|(name, _)| {
        !(match *name {
            "a number of a megabyte" => text.bytes().all(|byte| byte.is_ascii_digit()),
            "bytes that aren't UTF-8" | "a deep nest behind the subject" => head > 0,
            "the valid one twice" => !text.starts_with('{'),
            "a member twice" => head > 0 && !text.contains("nonce"),
            _ => false,
        })
    });
    all
}

/// Texts that stand where others are expected.
const TOKENS: &[&str] = &[
    "-1",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775809",
    "1e999",
    "-1e-999",
    "0.1",
    "1.0",
    "NaN",
    "null",
    "true",
    "\"\"",
    "{}",
    "[]",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\u{202e}",
    "\u{feff}",
    "../",
    "/etc/passwd",
    "*",
    ">",
    "\r\nPUB x 0\r\n",
    "\n",
    ".",
    "-",
    "1-18446744073709551615",
    "0-0",
    "\"",
    "\\",
    "/",
    "#",
];

/// Some bytes of a message are others.
fn changed_bytes(random: &mut Random, valid: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = at
            + random
                .below(bytes.len() - at + 1)
                .min(random.below(40) + 1)
                .min(bytes.len() - at);
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                let times = 1 + random.below(3) * random.below(50);
                bytes.splice(at..at, part.repeat(times));
            }
            3 => drop(bytes.splice(at..end, random.pick(TOKENS).bytes())),
            4 => {
                let from = random.below(other.len());
                let to = from + random.below(other.len() - from + 1);
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => bytes.push(random.next() as u8),
        }
    }
    bytes
}

/// A member of a message is another, is gone or is there twice; what isn't JSON gets other bytes.
fn changed_members(random: &mut Random, valid: &[u8]) -> Vec<u8> {
    let head = valid
        .iter()
        .position(|it| *it == b'{')
        .unwrap_or(valid.len());
    let Ok(mut value) = serde_json::from_slice::<Value>(&valid[head..]) else {
        return changed_bytes(random, valid, b"{}[]\"");
    };
    for _ in 0..=random.below(2) {
        change_value(random, &mut value);
    }
    let mut text = value.to_string();
    if random.chance(10) {
        // A member twice, which a value can't have.
        text = text.replacen('{', "{\"revision\":9,", 1 + random.below(2));
    }
    [&valid[..head], text.as_bytes()].concat()
}

fn change_value(random: &mut Random, value: &mut Value) {
    let n_members = match &*value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    if n_members > 0 && random.chance(80) {
        let at = random.below(n_members);
        match value {
            Value::Array(items) if random.chance(10) => {
                items.extend(vec![items[at].clone(); random.below(2000)])
            }
            Value::Array(items) if random.chance(10) => drop(items.remove(at)),
            Value::Array(items) => change_value(random, &mut items[at]),
            Value::Object(members) => change_member(random, members, at),
            _ => {}
        }
        return;
    }
    *value = match random.below(7) {
        0 => json!("x".repeat(random.below(100_000))),
        1 => json!(random.next()),
        2 => json!(random.next().cast_signed()),
        3 => (0..random.below(200)).fold(Value::Null, |inner, _| json!([inner])),
        4 => json!({ "a": value.clone() }),
        5 => json!(random.pick(TOKENS)),
        _ => serde_json::from_str(random.pick(TOKENS)).unwrap_or_default(),
    };
}

fn change_member(random: &mut Random, members: &mut Map<String, Value>, at: usize) {
    let Some(name) = members.keys().nth(at).cloned() else {
        return;
    };
    if random.chance(10) {
        members.remove(&name);
    } else if random.chance(10) {
        members.insert(format!("{name}{}", random.below(10)), Value::Null);
    } else if let Some(value) = members.get_mut(&name) {
        change_value(random, value);
    }
}
