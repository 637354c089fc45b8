//! `GET /rpc` as a WebSocket: a session as over the socket, in both directions, one message a
//! frame.
//!
//! The session's reader and writer are those of the socket. Between them and the WebSocket,
//! messages have `Content-Length` headers, so that whatever is in a frame stays one message.

use super::Service;
use super::reply::{self, Reply};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hookwire_base::transport::framing::{Decoder, Framing, Incoming};
use hookwire_base::transport::socket::seat;
use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use hyper::{Request, StatusCode, body};
use hyper_util::rt::TokioIo;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// The protocol that is spoken, for clients that name some: browsers want one of theirs.
const PROTOCOL: &str = "hookwire";
const READ_SIZE: usize = 64 * 1024;

type ToClient<S> = SplitSink<WebSocketStream<S>, Message>;

/// The protocols that a client offers for its WebSocket.
pub(super) fn offered_protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lists = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|it| it.to_str().ok());
    lists.flat_map(|list| list.split(',').map(str::trim))
}

/// Opens a WebSocket. The session keeps the connection's place.
pub(super) fn open_websocket(
    service: &Service,
    request: Request<body::Incoming>,
    place: impl Send + 'static,
) -> Reply {
    let mut reply = match create_response_with_body(&request, Full::<Bytes>::default) {
        Ok(reply) => reply,
        Err(error) => {
            return reply::refuse_request(
                StatusCode::BAD_REQUEST,
                &format!("a WebSocket is opened here: {error}"),
            );
        }
    };
    // Never the protocol that holds the token.
    if offered_protocols(request.headers()).any(|protocol| protocol == PROTOCOL) {
        reply
            .headers_mut()
            .insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    let ours = match begin_session(service, place) {
        Ok(ours) => ours,
        Err(error) => {
            return reply::refuse_request(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("no session: {error}"),
            );
        }
    };
    let max = service.max_message;
    service.runtime.spawn(async move {
        match hyper::upgrade::on(request).await {
            Ok(upgraded) => relay_messages(TokioIo::new(upgraded), ours, max).await,
            Err(error) => tracing::debug!(%error, "A WebSocket was not opened."),
        }
    });
    reply
}

/// Starts a session; gives the other end of its socket.
fn begin_session(service: &Service, place: impl Send + 'static) -> io::Result<UnixStream> {
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let ours = UnixStream::from_std(ours)?;
    let session = service.session.clone();
    seat(place, theirs, move |stream| session(stream))?;
    Ok(ours)
}

/// Passes messages on until one side has ended. What the session still has to say then is sent, if
/// the client takes it.
async fn relay_messages<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    ours: UnixStream,
    max: usize,
) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(max))
        .max_frame_size(Some(max));
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (to_client, from_client) = socket.split();
    let to_client = Mutex::new(to_client);
    let (from_session, to_session) = ours.into_split();
    let inward = async {
        pass_in(from_client, to_session, &to_client).await;
        // The other direction ends last.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = inward => {}
        () = pass_out(from_session, &to_client) => {}
    }
}

async fn pass_in<S: AsyncRead + AsyncWrite + Unpin>(
    mut from_client: SplitStream<WebSocketStream<S>>,
    mut to_session: OwnedWriteHalf,
    to_client: &Mutex<ToClient<S>>,
) {
    let mut framed = Vec::new();
    loop {
        let message = match from_client.next().await {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message.into_data(),
            // Its answer is sent before more is read, or a client that pings and never reads would
            // fill the memory.
            Some(Ok(Message::Ping(_))) => match to_client.lock().await.flush().await {
                Ok(()) => continue,
                Err(_) => return,
            },
            Some(Ok(Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Close(_))) | None => return,
            Some(Err(error)) => {
                tracing::debug!(%error, "A WebSocket ended.");
                return;
            }
        };
        framed.clear();
        Framing::Headers.write(&message, &mut framed);
        if to_session.write_all(&framed).await.is_err() {
            return;
        }
    }
}

async fn pass_out<S: AsyncRead + AsyncWrite + Unpin>(
    mut from_session: OwnedReadHalf,
    to_client: &Mutex<ToClient<S>>,
) {
    // What the session says is bounded by what it was asked.
    let mut decoder = Decoder::new(usize::MAX);
    let mut bytes = vec![0; READ_SIZE];
    while let Ok(read @ 1..) = from_session.read(&mut bytes).await {
        decoder.push(bytes.get(..read).unwrap_or_default());
        while let Some(incoming) = decoder.next_message() {
            // The session writes nothing else.
            let Incoming::Message(message) = incoming else {
                return;
            };
            let Ok(text) = String::from_utf8(message.into()) else {
                return;
            };
            if to_client
                .lock()
                .await
                .send(Message::text(text))
                .await
                .is_err()
            {
                return;
            }
        }
    }
    let _ = to_client.lock().await.close().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::pin::pin;
    use tokio::task::unconstrained;

    #[tokio::test]
    async fn a_client_that_pings_and_does_not_read_is_not_read() {
        const HELD: usize = 4096;
        let (mut client, stream) = tokio::io::duplex(HELD);
        let (ours, _session) = UnixStream::pair().unwrap();
        let mut relay = pin!(unconstrained(relay_messages(stream, ours, 1000)));
        // With 125 bytes, masked with zeros.
        let ping = [&[0x89, 0x80 | 125, 0, 0, 0, 0][..], &[b'p'; 125]].concat();
        let mut sent = 0;
        loop {
            let mut write = pin!(unconstrained(client.write_all(&ping)));
            // All of it is in memory, so whoever waits after a turn of the other one waits for good.
            let is_taken = (0..2).any(|_| {
                assert!(relay.as_mut().now_or_never().is_none());
                write.as_mut().now_or_never().is_some()
            });
            if !is_taken {
                break;
            }
            sent += ping.len();
            assert!(sent < 1 << 20, "{sent} bytes of pings were taken in");
        }
        assert!(sent > HELD, "only {sent} bytes of pings were taken in");
    }
}
