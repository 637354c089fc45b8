use super::*;
use crate::services::egress::url::literal;
use ::http::header::HeaderValue;
use hookwire_testing::rows;
use serde_json::Value;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers from a row's `dns`: successive look-ups, the last one for good.
#[derive(Clone, Default)]
struct Stub(Arc<Mutex<HashMap<String, Vec<Vec<IpAddr>>>>>);

impl Stub {
    fn new(dns: &Value) -> Self {
        let dns = if dns.is_null() {
            "{}".into()
        } else {
            dns.to_string()
        };
        Self(Arc::new(Mutex::new(serde_json::from_str(&dns).unwrap())))
    }
}

impl Resolve for Stub {
    fn resolve(&self, name: Name) -> Resolving {
        let mut names = self.0.lock().unwrap();
        let answer = match names.get_mut(without_dot(name.as_str())) {
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) => Ok(answers[0].clone()),
            None => Err("no such name".into()),
        };
        let answer = answer.map(|it| Box::new(it.into_iter().map(at_any_port)) as Addrs);
        Box::pin(std::future::ready(answer))
    }
}

fn grants(hosts: &Value) -> Grants {
    let hosts = hosts.as_array().into_iter().flatten();
    let hosts = hosts
        .map(|it| it.as_str().unwrap().parse().unwrap())
        .collect();
    Grants {
        loopback: false,
        hosts,
    }
}

/// The decision on a row without a connection: the URL's text, then the addresses that a client
/// would be given.
async fn decide(egress: &Egress, row: &Value) -> Result<(), EgressError> {
    let url = check_url(row["url"].as_str().unwrap(), &egress.0.grants)?;
    if literal(host(&url)).is_none() {
        let name = url.host_str().unwrap().parse().unwrap();
        let found = egress
            .guard(egress.0.grants.names(&url))
            .resolve(name)
            .await;
        let _ = found.map_err(|error| refused(&url, error.to_string()))?;
    }
    Ok(())
}

#[tokio::test]
async fn corpus() {
    let (server, seen) = serve(vec!["HTTP/1.1 200 OK\r\n\r\n".into()]).await;
    let (mut n_rows, mut wrong) = (0, Vec::new());
    let rows = rows::rows("corpora/ssrf_urls.jsonl").map(|(_, row): (_, Value)| row);
    // No redirect is followed, whichever it is.
    for row in rows.filter(|row| row["redirects"].is_null()) {
        let egress = Egress::made(
            grants(&row["allow"]),
            Arc::new(Stub::new(&row["dns"])),
            None,
        );
        let decided = decide(&egress, &row).await;
        n_rows += 1;
        if decided.is_ok() != (row["expect"] == "allowed") {
            wrong.push(format!("{}: {decided:?}", row["id"]));
        }
        if row["expect"] == "allowed" {
            continue;
        }
        // As written, then aimed at a port where a server listens.
        let mut urls = vec![row["url"].as_str().unwrap().to_owned()];
        let blocked_for_host = !matches!(row["class"].as_str(), Some("scheme" | "port" | "length"));
        if let (Ok(mut url), true) = (Url::parse(&urls[0]), blocked_for_host)
            && url.set_port(Some(server.port())).is_ok()
        {
            urls.push(url.into());
        }
        for url in urls {
            let sent = post(&egress, &url);
            if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(1), sent).await {
                wrong.push(format!("{}: {url} was reached", row["id"]));
            }
        }
    }
    assert!(
        n_rows >= 76 && wrong.is_empty(),
        "{n_rows} rows, {wrong:#?}"
    );
    assert_eq!(seen.lock().unwrap().len(), 0, "connections of blocked rows");
}

#[tokio::test]
async fn one_look_up_decides() {
    let stub = Stub::new(&serde_json::json!({
        "good.example": [["93.184.216.34"], ["127.0.0.1"]],
        "bad.example": [["127.0.0.1"], ["93.184.216.34"]],
    }));
    let resolve = async |loopback: bool, name: &str| {
        let egress = Egress::made(
            Grants {
                loopback,
                ..Grants::default()
            },
            Arc::new(stub.clone()),
            None,
        );
        match egress.guard(false).resolve(name.parse().unwrap()).await {
            Ok(found) => found
                .map(|it| it.ip().to_string())
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(resolve(false, "good.example").await, "93.184.216.34");
    let refused = "it resolves to 127.0.0.1, a loopback address";
    assert_eq!(resolve(false, "bad.example").await, refused);
    assert_eq!(resolve(false, "a.localhost.").await, refused);
    assert_eq!(resolve(true, "a.localhost.").await, "127.0.0.1 ::1");
    assert_eq!(resolve(true, "good.example").await, "127.0.0.1");
}

type Seen = Arc<Mutex<Vec<String>>>;

/// Gives each connection the next of `replies` (the last one for good) and
/// keeps what was received.
async fn serve(replies: Vec<String>) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let kept = seen.clone();
    tokio::spawn(async move {
        let mut replies = replies.into_iter().peekable();
        while let Ok((mut stream, _)) = listener.accept().await {
            kept.lock().unwrap().push(String::new());
            let mut request = vec![0; 4096];
            let mut n_read = 0;
            while !request[..n_read].ends_with(b"{}") {
                match stream.read(&mut request[n_read..]).await {
                    Ok(0) | Err(_) => break,
                    Ok(n) => n_read += n,
                }
            }
            let text = String::from_utf8_lossy(&request[..n_read]);
            *kept.lock().unwrap().last_mut().unwrap() = text.into_owned();
            let reply = replies.next_if(|_| true).unwrap_or_default();
            let _ = stream.write_all(reply.as_bytes()).await;
            if reply.contains("DRIP") {
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    });
    (address, seen)
}

async fn post(egress: &Egress, url: &str) -> Result<Response, EgressError> {
    let headers = [
        (header::AUTHORIZATION, HeaderValue::from_static("Bearer t")),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/x")),
    ];
    let headers = headers.into_iter().collect();
    egress.post(url, headers, "{}".into(), 16).await
}

fn loopback() -> Egress {
    Egress::new(Grants {
        loopback: true,
        hosts: Vec::new(),
    })
}

const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nfine";

#[tokio::test]
async fn a_granted_post_arrives() {
    let (server, seen) = serve(vec![OK.into(), OK.into()]).await;
    let granted = Egress::new(grants(&serde_json::json!([server.to_string()])));
    for egress in [loopback(), granted] {
        let url = format!("http://{server}/hook?key=secret");
        let response = post(&egress, &url).await.unwrap();
        assert_eq!((response.status, &response.body[..]), (200, &b"fine"[..]));
        let request = seen.lock().unwrap().pop().unwrap();
        assert!(
            request.starts_with("POST /hook?key=secret HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("\r\nauthorization: Bearer t\r\n"),
            "{request}"
        );
        assert!(
            request.ends_with("\r\ncontent-length: 2\r\n\r\n{}"),
            "{request}"
        );
    }
}

#[tokio::test]
async fn responses_that_are_errors() {
    let check = async |reply: &str, expected: &str| {
        let (server, _) = serve(vec![reply.to_owned()]).await;
        let url = format!("http://{server}/?key=secret");
        let egress = loopback();
        let sent = post(&egress, &url);
        // What never ends is waited for as long; anything else takes as long as a busy machine
        // needs.
        let time = if expected == "deadline" {
            Duration::from_millis(300)
        } else {
            Duration::from_secs(120)
        };
        let said = match tokio::time::timeout(time, sent).await {
            Ok(Ok(response)) => format!("{response:?}"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "deadline".to_owned(),
        };
        assert_eq!(said, expected, "{reply}");
    };
    let over = "reach 127.0.0.1: its response exceeds 16 bytes";
    check("HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n", over).await;
    check("HTTP/1.1 200 OK\r\n\r\nseventeen letters", over).await;
    check("HTTP/1.1 200 OK\r\n\r\n DRIP", over).await;
    check(
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "reach 127.0.0.1: end of file before message length reached",
    )
    .await;
    check("HTTP/1.1 200 OK\r\nDRIP", "deadline").await;
    check(
        "",
        "reach 127.0.0.1: connection closed before message completed",
    )
    .await;
    check("HTTP/1.1 304 N\r\n\r\n", "reach 127.0.0.1: it answered 304").await;
    check(
        "HTTP/1.1 302 F\r\nlocation: https://h.example/?key=secret\r\n\r\n",
        "reach 127.0.0.1: it redirects to h.example (302), which is not followed",
    )
    .await;
    // To a server that would answer.
    for status in [301, 302, 303, 307, 308] {
        let redirect =
            format!("HTTP/1.1 {status} R\r\nconnection: close\r\nlocation: /next\r\n\r\n");
        let (server, seen) = serve(vec![redirect, OK.into()]).await;
        let said = post(&loopback(), &format!("http://{server}/"))
            .await
            .unwrap_err()
            .to_string();
        assert_eq!(
            said,
            format!("reach 127.0.0.1: it redirects to 127.0.0.1 ({status}), which is not followed")
        );
        assert_eq!(seen.lock().unwrap().len(), 1, "{status}");
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static("secret"));
    let egress = loopback();
    let sent = egress.post("http://127.0.0.1/", headers, Bytes::new(), 0);
    let said = sent.await.unwrap_err().to_string();
    assert_eq!(said, "send the header host: the client sets it itself");
}
