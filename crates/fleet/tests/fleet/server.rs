//! The connection and the streams, on real servers.

use crate::common::{LONG, Servers, old_program, until};
use async_nats::HeaderMap;
use hookwire_fleet::name::Identity;
use hookwire_fleet::server::{Link, PATIENCE, Server, ServerError};
use hookwire_fleet::streams::{self, Made, Plan};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

fn who(host: &str) -> Identity {
    Identity {
        host: host.parse().unwrap(),
        instance: "p1".parse().unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_made_once_and_differences_are_told() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let admin = servers.admin().await;
    let again = streams::init_streams(&admin, &Plan::default(), false)
        .await
        .unwrap();
    assert!(
        again.iter().all(|(_, made)| *made == Made::Same),
        "{again:?}"
    );
    let other = Plan {
        audit_age: Duration::from_secs(3600),
        ..Plan::default()
    };
    let differs = |made: &Made| matches!(made, Made::Differs(it) if it.len() == 1 && it[0].contains("max_age"));
    let told = streams::init_streams(&admin, &other, false).await.unwrap();
    assert!(told.iter().all(|(name, made)| if name == streams::AUDIT {
        differs(made)
    } else {
        *made == Made::Same
    }));
    let updated = streams::init_streams(&admin, &other, true).await.unwrap();
    assert!(
        updated
            .iter()
            .any(|(name, made)| name == streams::AUDIT && matches!(made, Made::Updated(_)))
    );
}

/// What an account may not do, and that the error says so instead of a time-out.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_does_its_own_part_only() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let channel = "main".parse().unwrap();
    let ask = "q1".parse().unwrap();
    let (a, b) = (who("host-a"), who("host-b"));
    let blob = streams::blob_key(&hookwire_fleet::digest::Sha256::of_bytes(b"x"));
    let cases = [
        ("host-a", streams::host_key(&a), true),
        ("host-a", streams::host_key(&b), false),
        ("host-a", streams::audit_subject(&a), true),
        ("host-a", streams::audit_subject(&b), false),
        ("host-a", streams::channel_key(&channel), false),
        ("host-a", blob.clone(), false),
        ("host-a", streams::ask_subject(&a, &ask), true),
        ("host-a", streams::answer_subject(&a, &ask), false),
        ("publisher", streams::channel_key(&channel), true),
        ("publisher", blob, true),
        ("publisher", streams::audit_subject(&a), false),
        ("publisher", streams::answer_subject(&a, &ask), false),
        ("approver", streams::answer_subject(&a, &ask), true),
        ("approver", streams::channel_key(&channel), false),
        ("auditor", streams::audit_subject(&a), false),
        ("admin", streams::channel_key(&channel), false),
    ];
    for (user, subject, may) in cases {
        let server = servers.connect(user).await;
        let wait = if may {
            PATIENCE
        } else {
            Duration::from_secs(1)
        };
        let done = server
            .publish(&subject, HeaderMap::new(), "x".into(), wait)
            .await;
        match done {
            Ok(_) => assert!(may, "{user} could publish {subject}"),
            Err(error) => assert!(
                !may && matches!(error, ServerError::NotPermitted(_)),
                "{user} {subject}: {error}"
            ),
        }
    }
    for (user, stream, subject, may) in [
        ("host-a", streams::AUDIT, streams::audit_subject(&a), true),
        ("host-a", streams::AUDIT, streams::audit_subject(&b), false),
        ("host-a", streams::HOSTS, streams::host_key(&b), false),
        (
            "publisher",
            streams::AUDIT,
            streams::audit_subject(&a),
            false,
        ),
        ("auditor", streams::AUDIT, streams::audit_subject(&a), true),
    ] {
        let server = servers.connect(user).await;
        let wait = if may {
            PATIENCE
        } else {
            Duration::from_secs(1)
        };
        let got = server.last_message(stream, &subject, wait).await;
        assert_eq!(got.is_ok(), may, "{user} {subject}: {got:?}");
    }
    let auditor = servers.connect("auditor").await;
    let page = auditor
        .read_page(streams::AUDIT, streams::ALL_AUDIT, 1, PATIENCE)
        .await
        .unwrap();
    assert_eq!(
        page.iter()
            .map(|it| it.subject.to_string())
            .collect::<Vec<_>>(),
        [streams::audit_subject(&a)]
    );
    assert!(
        auditor
            .read_page(streams::AUDIT, streams::ALL_AUDIT, 2, PATIENCE)
            .await
            .unwrap()
            .is_empty()
    );
}

/// Messages may be lost on their way from a server, so each says behind which one it comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_which_a_part_is_lost_is_no_page() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let server = servers.connect("everything").await;
    let url = servers.url();
    // A client says no status, so this one speaks for itself.
    let mut answering =
        BufReader::new(TcpStream::connect(url.strip_prefix("nats://").unwrap()).unwrap());
    let connect = r#"CONNECT {"user":"everything","pass":"password-of-everything","headers":true,"verbose":false}"#;
    let subscribe = format!("{connect}\r\nSUB $JS.API.DIRECT.GET.part 1\r\nPING\r\n");
    answering.get_mut().write_all(subscribe.as_bytes()).unwrap();
    line(&mut answering, "PONG");
    // The sequence of each message, and of the one before it; the end has none of its own.
    for (parts, is_whole) in [
        (&[(Some(2), 0), (Some(5), 2), (None, 5)][..], true),
        (&[(Some(2), 0), (Some(7), 5), (None, 7)], false),
        (&[(Some(5), 2), (None, 5)], false),
        (&[(Some(2), 0), (None, 5)], false),
    ] {
        let answer = || {
            let asked = line(&mut answering, "MSG ");
            let reply = asked.split(' ').nth(3).unwrap();
            for (sequence, before) in parts {
                let head = match sequence {
                    Some(sequence) => format!(
                        "NATS/1.0\r\nNats-Stream: part\r\nNats-Subject: x\r\nNats-Sequence: {sequence}\r\n\
                         Nats-Time-Stamp: 2026-01-01T00:00:00Z\r\nNats-Last-Sequence: {before}\r\n\r\n"
                    ),
                    None => format!("NATS/1.0 204 EOB\r\nNats-Last-Sequence: {before}\r\n\r\n"),
                };
                let n = head.len();
                write!(answering.get_mut(), "HPUB {reply} {n} {n}\r\n{head}\r\n").unwrap();
            }
        };
        let (page, ()) = tokio::join!(server.read_page("part", "x", 1, PATIENCE), async {
            tokio::task::block_in_place(answer)
        });
        assert_eq!(page.is_ok(), is_whole, "{parts:?}: {page:?}");
    }
}

/// The next line that begins so.
fn line(from: &mut BufReader<TcpStream>, begin: &str) -> String {
    let mut lines = from.lines().map(Result::unwrap);
    lines
        .find(|line| line.starts_with(begin))
        .expect("the server has ended")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_server_is_refused_with_the_reason() {
    let Some(program) = old_program() else { return };
    let servers = Servers::without_streams(&program, 1);
    let error = Server::connect(&servers.settings("host-a"), LONG)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ServerError::TooOld { version, .. } if version == "2.10.26"),
        "{error}"
    );
    assert!(error.to_string().contains("2.12.7"), "{error}");
}

/// A host starts without a server, uses it when it comes, and again after it was killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_come_later_and_again() {
    let Some(mut servers) = Servers::start(1).await else {
        return;
    };
    servers.kill(0);
    let error = Server::connect(&servers.settings("host-a"), Duration::from_secs(5))
        .await
        .unwrap_err();
    assert!(matches!(error, ServerError::Away { .. }), "{error}");
    let host = Server::connect_in_background(&servers.settings("host-a")).unwrap();
    assert!(matches!(host.usable(), Err(ServerError::Away { .. })));
    servers.restart(0);
    host.wait_until_ready(LONG).await.unwrap();
    let put = async || {
        let subject = streams::host_key(&who("host-a"));
        until(async || {
            host.publish(&subject, HeaderMap::new(), "x".into(), PATIENCE)
                .await
                .ok()
        })
        .await
    };
    let before = put().await;
    let Link::Up(first) = *host.link().borrow() else {
        panic!("it isn't connected")
    };
    servers.kill(0);
    host.link()
        .wait_for(|it| matches!(it, Link::Away(_)))
        .await
        .unwrap();
    servers.restart(0);
    host.wait_until_ready(LONG).await.unwrap();
    assert!(matches!(*host.link().borrow(), Link::Up(again) if again != first));
    assert!(put().await.sequence > before.sequence);
}
