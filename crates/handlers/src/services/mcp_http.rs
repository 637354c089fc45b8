//! The client's end of MCP's streamable HTTP, as bytes: messages go out and come in as they are
//! written.
//!
//! The address is one that a person has put into a client's configuration, so it may be anywhere;
//! a redirect is an error all the same, because headers with secrets would follow it.

use super::egress::{Egress, EgressError, Grants, HostPort, is_reserved};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use std::time::Duration;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// How much of an error's body is told.
const TOLD: usize = 300;
/// How long whoever says goodbye waits.
const GOODBYE: Duration = Duration::from_secs(1);

/// A server at an address.
pub struct McpHttp {
    client: Client,
    url: String,
    headers: HeaderMap,
    /// The session and the protocol's version, once the server has said them.
    said: Mutex<HeaderMap>,
}

/// What came for a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Came {
    /// The last event's id, from which a stream can go on.
    pub last_event: Option<String>,
    /// How long the server wants a client to wait before that.
    pub retry: Option<Duration>,
}

impl McpHttp {
    /// A server at an address, with the headers of each request.
    ///
    /// # Errors
    /// The address or a header is none; finishes "failed to ...".
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<McpHttp, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let parsed = name
                .parse::<HeaderName>()
                .ok()
                .zip(value.parse::<HeaderValue>().ok());
            let (key, mut value) =
                parsed.ok_or_else(|| format!("use the header `{name}`: it is none"))?;
            if is_reserved(&key) {
                return Err(format!(
                    "use the header `{name}`: only the client may set it"
                ));
            }
            value.set_sensitive(true);
            map.append(key, value);
        }
        let hosts = host_of(url).into_iter().collect();
        let egress = Egress::reaching(Grants {
            loopback: true,
            hosts,
        });
        let client = egress
            .client_for(url)
            .map_err(|error: EgressError| error.to_string())?;
        Ok(McpHttp {
            client,
            url: url.into(),
            headers: map,
            said: Mutex::default(),
        })
    }

    /// Says which version of the protocol was agreed on.
    pub fn set_version(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.said.lock().insert(VERSION, version);
        }
    }

    fn request(&self, request: RequestBuilder) -> RequestBuilder {
        let said = self.said.lock().clone();
        request.headers(self.headers.clone()).headers(said)
    }

    /// Sends a message, and gives each message that comes for it.
    ///
    /// # Errors
    /// The server didn't take it, or the connection failed; finishes "failed to ...".
    pub async fn post(
        &self,
        message: String,
        max: usize,
        take: impl FnMut(Vec<u8>),
    ) -> Result<Came, String> {
        let accepted = format!("{JSON}, {EVENTS}");
        let request = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, accepted);
        let response = self.send(request.body(message)).await?;
        if let Some(session) = response.headers().get(SESSION) {
            self.said.lock().insert(SESSION, session.clone());
        }
        self.read(response, max, take).await
    }

    /// Listens for what the server says unasked, or for the rest of a stream. Nothing if the server
    /// has no such stream.
    ///
    /// # Errors
    /// The connection failed; finishes "failed to ...".
    pub async fn listen(
        &self,
        last_event: Option<&str>,
        max: usize,
        take: impl FnMut(Vec<u8>),
    ) -> Result<Option<Came>, String> {
        let mut request = self.client.get(&self.url).header(ACCEPT, EVENTS);
        if let Some(event) = last_event {
            request = request.header(LAST_EVENT, event);
        }
        let response = self
            .request(request)
            .send()
            .await
            .map_err(|error| explain(&error))?;
        if matches!(
            response.status(),
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND
        ) {
            return Ok(None);
        }
        let response = check(response).await?;
        self.read(response, max, take).await.map(Some)
    }

    /// Ends the session, if there is one.
    pub async fn end(&self) {
        if self.said.lock().contains_key(SESSION) {
            let request = self.request(self.client.delete(&self.url));
            let _ = tokio::time::timeout(GOODBYE, request.send()).await;
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, String> {
        let response = self.request(request).send().await;
        check(response.map_err(|error| explain(&error))?).await
    }

    async fn read(
        &self,
        mut response: Response,
        max: usize,
        mut take: impl FnMut(Vec<u8>),
    ) -> Result<Came, String> {
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|it| it.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.trim_start().starts_with(EVENTS));
        let (mut events, mut body) = (EventStream::new(max), Vec::new());
        while let Some(bytes) = response.chunk().await.map_err(|error| explain(&error))? {
            if is_stream {
                events.push(&bytes, &mut take)?;
            } else if body.len() + bytes.len() > max {
                return Err(too_long(max));
            } else {
                body.extend_from_slice(&bytes);
            }
        }
        if !body.trim_ascii().is_empty() {
            take(on_one_line(body));
        }
        Ok(events.came)
    }
}

/// The host and port of an address.
fn host_of(url: &str) -> Option<HostPort> {
    let url = url::Url::parse(url).ok()?;
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    format!("{host}:{port}").parse().ok()
}

async fn check(mut response: Response) -> Result<Response, String> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() >= TOLD {
            break;
        }
    }
    let text = String::from_utf8_lossy(&body);
    let text: String = text.trim().chars().take(TOLD).collect();
    let told = if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    };
    Err(format!(
        "reach the MCP server: it answers with HTTP {}{told}",
        status.as_u16()
    ))
}

/// An error without the address, which may hold a secret.
fn explain(error: &reqwest::Error) -> String {
    let mut told = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        told.push(error.to_string());
        cause = error.source();
    }
    match told.pop() {
        Some(last) => format!("reach the MCP server: {last}"),
        None if error.is_timeout() => "reach the MCP server: it takes too long".into(),
        None => "reach the MCP server".into(),
    }
}

fn too_long(max: usize) -> String {
    format!("read the MCP server's answer: it is over the limit of {max} bytes")
}

/// A JSON text without line ends: they are only between its parts.
fn on_one_line(mut text: Vec<u8>) -> Vec<u8> {
    let ends = text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r'));
    ends.for_each(|byte| *byte = b' ');
    text
}

/// Server-sent events, read by line.
struct EventStream {
    max: usize,
    line: Vec<u8>,
    /// The line before ended in a carriage return, behind which a line feed is no other end.
    after_return: bool,
    data: Vec<u8>,
    has_data: bool,
    is_message: bool,
    came: Came,
}

impl EventStream {
    fn new(max: usize) -> EventStream {
        EventStream {
            max,
            line: Vec::new(),
            after_return: false,
            data: Vec::new(),
            has_data: false,
            is_message: true,
            came: Came::default(),
        }
    }

    fn push(&mut self, bytes: &[u8], take: &mut impl FnMut(Vec<u8>)) -> Result<(), String> {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, behind) = rest.split_at(at);
            let end = behind.first().copied();
            rest = behind.get(1..).unwrap_or_default();
            if std::mem::take(&mut self.after_return) && end == Some(b'\n') && line.is_empty() {
                continue;
            }
            self.line.extend_from_slice(line);
            self.end_line(take);
            self.after_return = end == Some(b'\r');
        }
        self.after_return &= rest.is_empty();
        self.line.extend_from_slice(rest);
        match self.line.len() + self.data.len() > self.max {
            true => Err(too_long(self.max)),
            false => Ok(()),
        }
    }

    fn end_line(&mut self, take: &mut impl FnMut(Vec<u8>)) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.has_data)
                && std::mem::replace(&mut self.is_message, true)
                && !data.trim_ascii().is_empty()
            {
                take(on_one_line(data));
            }
            return;
        }
        let (name, value) = match memchr::memchr(b':', &line) {
            Some(at) => (line.get(..at), line.get(at + 1..).unwrap_or_default()),
            None => (line.get(..), &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name.unwrap_or_default() {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.is_message = value == b"message",
            b"id" => self.came.last_event = String::from_utf8(value.to_vec()).ok(),
            b"retry" => {
                let millis = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
                self.came.retry = millis.map(Duration::from_millis);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut, the events are the same.
    #[test]
    fn events_are_read_by_line() {
        let text = "\u{feff}: hello\r\nid: 7\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: other\ndata: no\n\n\
                    retry: 250\nevent: message\rdata:{\"b\":2}\r\rdata\n\nid: 8\ndata: {\"c\":3}";
        for step in [1, 2, 3, 5, text.len()] {
            let (mut events, mut told) = (EventStream::new(100), Vec::new());
            for part in text.as_bytes().chunks(step) {
                let mut take = |data| told.push(String::from_utf8(data).unwrap());
                events.push(part, &mut take).unwrap();
            }
            assert_eq!(told, ["{\"a\": 1}", "{\"b\":2}"], "{step}");
            let came = Came {
                last_event: Some("8".into()),
                retry: Some(Duration::from_millis(250)),
            };
            assert_eq!(events.came, came);
        }
        let mut events = EventStream::new(10);
        assert!(events.push(b"data: 12345678901", &mut |_| {}).is_err());
    }

    #[test]
    fn what_is_no_address_or_header_is_refused() {
        let header = |name: &str, value: &str| [(name.to_string(), value.to_string())];
        for (url, headers, expected) in [
            ("ftp://a/", header("x", "y"), "use URL"),
            (
                "http://127.0.0.1:1/",
                header("a b", "y"),
                "use the header `a b`: it is none",
            ),
            (
                "http://127.0.0.1:1/",
                header("x", "a\nb"),
                "use the header `x`: it is none",
            ),
            (
                "http://127.0.0.1:1/",
                header("Host", "y"),
                "only the client may set it",
            ),
        ] {
            let told = McpHttp::new(url, &headers).err().unwrap_or_default();
            assert!(
                told.contains(expected) || expected == "use URL" && !told.is_empty(),
                "{url}: {told}"
            );
        }
        assert!(McpHttp::new("http://10.0.0.1/mcp", &header("Authorization", "Bearer x")).is_ok());
    }
}
