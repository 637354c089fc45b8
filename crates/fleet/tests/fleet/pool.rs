//! A pool and its clients, on real servers with the accounts of `examples/fleet`.

use crate::common::{LONG, Servers, until};
use async_nats::HeaderMap;
use bytes::Bytes;
use futures_util::StreamExt;
use hookwire_fleet::name::Name;
use hookwire_fleet::pool::{self, AskError, GROUP, Limits};
use hookwire_fleet::server::{Server, ServerError};
use hookwire_fleet::streams;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const SECOND: Duration = Duration::from_secs(1);

fn main_pool() -> Name {
    "main".parse().unwrap()
}

/// A member that answers with its name and the request, after as many milliseconds as the request
/// says.
struct Member {
    answered: Arc<AtomicUsize>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Member {
    async fn start(servers: &Servers, user: &str, limits: Limits) -> Member {
        let server = servers.connect(user).await;
        let answered = Arc::new(AtomicUsize::new(0));
        let (stop, stops) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        let (counted, user) = (answered.clone(), user.to_string());
        let task = tokio::spawn(async move {
            let stop = async move { drop(stops.await) };
            pool::serve_pool(
                &server,
                &main_pool(),
                limits,
                || ready.send(()).unwrap(),
                move |request, _| {
                    let (counted, user) = (counted.clone(), user.clone());
                    async move {
                        counted.fetch_add(1, Ordering::SeqCst);
                        let text = String::from_utf8(request.to_vec()).unwrap();
                        let millis: u64 =
                            text.parse().map_err(|_| format!("{text} is no number"))?;
                        tokio::time::sleep(Duration::from_millis(millis)).await;
                        Ok(format!("{user} {text}").into_bytes())
                    }
                },
                stop,
            )
            .await
            .unwrap();
        });
        is_ready.await.unwrap();
        Member {
            answered,
            stop: Some(stop),
            task,
        }
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }

    async fn leave(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.await.unwrap();
    }
}

async fn ask(client: &Server, request: &str, deadline: Duration) -> Result<String, AskError> {
    let answer = pool::ask_pool(
        client,
        &main_pool(),
        Bytes::copy_from_slice(request.as_bytes()),
        deadline,
    )
    .await;
    answer.map(|answer| String::from_utf8(answer.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn members_share_what_clients_ask_and_leave_in_good_order() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let client = servers.connect("thin-a").await;
    // At once: who waited in vain would be told that it's late.
    assert_eq!(
        ask(&client, "0", LONG).await,
        Err(AskError::Nobody(main_pool()))
    );

    let a = Member::start(&servers, "pool-a", Limits::default()).await;
    let b = Member::start(&servers, "pool-b", Limits::default()).await;
    until(async || ask(&client, "0", LONG).await.ok()).await;
    let asked = (0..200).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { ask(&client, &(n % 5).to_string(), LONG).await.unwrap() })
    });
    for answer in asked.collect::<Vec<_>>() {
        answer.await.unwrap();
    }
    assert!(
        a.answered() > 20 && b.answered() > 20,
        "{} {}",
        a.answered(),
        b.answered()
    );
    let refused = ask(&client, "x", LONG).await.unwrap_err();
    assert!(
        refused.to_string().contains("refuses: x is no number"),
        "{refused}"
    );

    // Whatever is begun is finished, and nothing is lost while one leaves.
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { ask(&client, "300", LONG).await })
        })
        .collect();
    until(async || (a.answered() + b.answered() >= 221).then_some(())).await;
    a.leave().await;
    for answer in asked {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(ask(&client, "1", LONG).await.unwrap(), "pool-b 1");
    b.leave().await;
    assert_eq!(
        ask(&client, "0", SECOND).await,
        Err(AskError::Nobody(main_pool()))
    );
}

/// A busy member says so at once, and doesn't let clients wait in a queue.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_is_bounded_and_deadlines_hold() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let client = servers.connect("thin-a").await;
    let one = Limits {
        in_flight: 1,
        waiting: 1,
        drain: Duration::from_millis(50),
    };
    let member = Member::start(&servers, "pool-a", one).await;
    until(async || ask(&client, "0", LONG).await.ok()).await;
    let n_before = member.answered();
    let long = tokio::spawn({
        let client = client.clone();
        async move { ask(&client, "60000", LONG).await }
    });
    until(async || (member.answered() > n_before).then_some(())).await;
    // One waits for a while, and then another member could have it; there is no place for a third.
    let waits = tokio::spawn({
        let client = client.clone();
        async move { ask(&client, "0", SECOND * 4).await }
    });
    let busy = until(async || ask(&client, "0", SECOND * 2).await.err()).await;
    assert!(
        busy.to_string().contains("busy") && member.answered() == n_before + 1,
        "{busy}"
    );
    let busy = waits.await.unwrap().unwrap_err();
    assert!(
        busy.to_string().contains("busy") && member.answered() == n_before + 1,
        "{busy}"
    );

    // It is told to leave and can't finish in time: its client hears that, and finds nobody else.
    member.leave().await;
    assert_eq!(long.await.unwrap(), Err(AskError::Nobody(main_pool())));

    let member = Member::start(&servers, "pool-b", Limits::default()).await;
    until(async || ask(&client, "0", LONG).await.ok()).await;
    for wait in [
        Duration::from_millis(20),
        Duration::from_millis(400),
        SECOND * 2,
    ] {
        let begun = Instant::now();
        let error = ask(&client, "60000", wait).await.unwrap_err();
        assert!(
            matches!(error, AskError::Late { .. } | AskError::Refused { .. }),
            "{error}"
        );
        // What was asked takes a minute.
        assert!(begun.elapsed() < LONG, "{wait:?}: {:?}", begun.elapsed());
    }
    let large = ask(&client, &"1".repeat(2 << 20), SECOND)
        .await
        .unwrap_err();
    assert!(matches!(large, AskError::TooLarge { .. }), "{large}");
    member.leave().await;
}

/// A member that says nothing, or no more, costs one silence and then another member answers; two
/// of them are an error.
#[tokio::test(flavor = "multi_thread")]
async fn silence_is_never_an_answer() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let client = servers.connect("thin-a").await;
    for says in [None, Some("working"), Some("else")] {
        let hung = servers.connect("pool-a").await;
        let mut requests = hung
            .client()
            .queue_subscribe(streams::dispatch_subject(&main_pool()), GROUP.into())
            .await
            .unwrap();
        let (first, replied) = (hung.client().clone(), says);
        let n_asked = Arc::new(AtomicUsize::new(0));
        let counted = n_asked.clone();
        let hangs = tokio::spawn(async move {
            while let Some(message) = requests.next().await {
                counted.fetch_add(1, Ordering::SeqCst);
                if let Some(state) = replied {
                    let mut headers = HeaderMap::new();
                    headers.insert("Hookwire-State", state);
                    first
                        .publish_with_headers(message.reply.unwrap(), headers, "allow".into())
                        .await
                        .unwrap();
                }
            }
        });
        until(async || {
            matches!(
                ask(&client, "0", SECOND).await,
                Err(AskError::Silent { .. })
            )
            .then_some(())
        })
        .await;
        let silent = ask(&client, "0", SECOND * 3).await;
        // Not late: the deadline isn't over yet.
        assert_eq!(
            silent,
            Err(AskError::Silent {
                pool: main_pool(),
                asked: 2
            }),
            "{says:?}"
        );

        // Each is asked once, whichever the server takes first; sometimes it takes the hung one
        // twice.
        let member = Member::start(&servers, "pool-b", Limits::default()).await;
        let (mut answered, mut failed) = (0, 0);
        while answered < 3 || n_asked.load(Ordering::SeqCst) < 5 {
            match ask(&client, "0", SECOND * 3).await {
                Ok(answer) => {
                    assert_eq!(answer, "pool-b 0");
                    answered += 1;
                }
                Err(error) => {
                    assert!(matches!(error, AskError::Silent { .. }), "{error}");
                    failed += 1;
                }
            }
            assert!(answered + failed < 40);
        }
        member.leave().await;
        hangs.abort();
    }
}

/// What the accounts of `examples/fleet` keep others from.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_answers_or_listens() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let member = Member::start(&servers, "pool-a", Limits::default()).await;
    let client = servers.connect("thin-a").await;
    until(async || ask(&client, "0", LONG).await.ok()).await;
    let told = |server: &Server, subject: &str, begun| match server.explain_silence(subject, begun)
    {
        ServerError::NotPermitted(reason) => Some(reason),
        _ => None,
    };
    // Even whoever knows a client's inbox: another client, an agent's host, a member that wasn't
    // asked.
    for user in ["thin-b", "host-a", "pool-b", "publisher"] {
        let other = servers.connect(user).await;
        let inbox = "_INBOX.thin-a.known.1";
        let mut replies = client
            .client()
            .subscribe("_INBOX.thin-a.known.*")
            .await
            .unwrap();
        let begun = Instant::now();
        let mut headers = HeaderMap::new();
        headers.insert("Hookwire-State", "done");
        other
            .client()
            .publish_with_headers(inbox, headers, "allow".into())
            .await
            .unwrap();
        until(async || told(&other, inbox, begun)).await;
        // The server takes what a client sends in order: by now a forged reply would be there.
        assert!(ask(&client, "0", LONG).await.is_ok());
        assert!(
            futures_util::FutureExt::now_or_never(replies.next()).is_none(),
            "{user} could reply to thin-a"
        );
    }
    // Whoever may not ask is told that, and not that nobody answers.
    let host = servers.connect("host-a").await;
    let refused = ask(&host, "0", SECOND * 3).await;
    assert!(
        matches!(
            &refused,
            Err(AskError::Server(ServerError::NotPermitted(_)))
        ),
        "{refused:?}"
    );

    // Nobody reads what clients ask, or hears others' replies; a member has its share only.
    for (user, subject, group) in [
        ("thin-b", "hw.dispatch.main", Some("hosts")),
        ("host-a", "hw.dispatch.main", Some("hosts")),
        ("pool-b", "hw.dispatch.main", None),
        ("pool-b", "hw.dispatch.main", Some("others")),
        ("thin-b", "_INBOX.thin-a.>", None),
        ("pool-b", "_INBOX.>", None),
    ] {
        let other = servers.connect(user).await;
        let begun = Instant::now();
        let listens = match group {
            Some(group) => other.client().queue_subscribe(subject, group.into()).await,
            None => other.client().subscribe(subject).await,
        };
        let _listens = listens.unwrap();
        until(async || told(&other, subject, begun)).await;
    }
    // A member isn't made to write elsewhere by a client that names that as its inbox.
    let admin = servers.admin().await;
    let mut audit = admin
        .jetstream(SECOND * 5)
        .get_stream(streams::AUDIT)
        .await
        .unwrap();
    let before = audit.info().await.unwrap().state.messages;
    let place = "hw.audit.pool-a.p1";
    client
        .client()
        .publish_with_reply(streams::dispatch_subject(&main_pool()), place, "0".into())
        .await
        .unwrap();
    let n_asked = member.answered();
    until(async || ask(&client, "0", LONG).await.ok()).await;
    assert_eq!(member.answered(), n_asked + 1);
    assert_eq!(audit.info().await.unwrap().state.messages, before);
    member.leave().await;
}
