//! Where a message begins and ends: one a line, or behind `Content-Length` headers. The first byte
//! decides.
//!
//! What can't be a message is skipped and reported, so that the next good one is read: a message
//! over the limit, a header that makes no sense, bytes between messages.

use bytes::{Buf, Bytes, BytesMut};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One a line.
    Lines,
    /// `Content-Length: N`, an empty line, N bytes.
    Headers,
}

impl Framing {
    /// Appends a message as it goes over the wire.
    pub fn write(self, message: &[u8], out: &mut Vec<u8>) {
        match self {
            Framing::Lines => {
                out.extend_from_slice(message);
                out.push(b'\n');
            }
            Framing::Headers => {
                out.extend_from_slice(
                    format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes(),
                );
                out.extend_from_slice(message);
            }
        }
    }
}

/// What comes out of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A message.
    Message(Bytes),
    /// Something that can't be one.
    Bad(Bad),
}

/// Why bytes are no message.
#[derive(Debug, PartialEq, Eq)]
pub struct Bad {
    /// Lowercase, no full stop.
    pub problem: String,
    /// The id of the request that it would have been, as JSON, if it could be read.
    pub id: Option<String>,
}

/// Turns bytes into messages.
#[derive(Debug)]
pub struct Decoder {
    buffer: BytesMut,
    framing: Option<Framing>,
    max: usize,
    state: State,
    /// How much of the buffer holds no line end.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Before a message.
    Start,
    /// The rest of a line that is too long.
    SkipLine,
    /// In front of a body of this length that is too long, until its id is there or won't come.
    TooLong(usize),
    /// Behind something bad: this many bytes are skipped in silence, fewer if a header comes
    /// before. No JSON text looks like a header: outside strings there are no such letters, inside
    /// no line ends.
    Skip(usize),
    /// In front of a body.
    Body(usize),
}

/// The largest header block, in bytes.
const MAX_HEADERS: usize = 8 * 1024;
/// How much of a message that is too long is searched for its id.
const MAX_SALVAGE: usize = 64 * 1024;
/// A length that is a lie: no body is waited for.
const IMPLAUSIBLE: usize = 1 << 28;
const HEADER: &[u8] = b"content-length";

impl Decoder {
    /// `max` bounds a message, in bytes.
    pub fn new(max: usize) -> Decoder {
        Decoder {
            buffer: BytesMut::new(),
            framing: None,
            max,
            state: State::Start,
            searched: 0,
        }
    }

    /// The framing, once the first byte has told.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Takes bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message among the bytes so far.
    pub fn next_message(&mut self) -> Option<Incoming> {
        match self.sniff()? {
            Framing::Lines => self.next_line(),
            Framing::Headers => self.next_framed(),
        }
    }

    /// What is left at the end of input: a last line without its end, or half a message.
    pub fn finish(&mut self) -> Option<Incoming> {
        let rest = self.buffer.split().freeze();
        let rest = rest.trim_ascii();
        match (&self.state, self.framing) {
            (State::SkipLine | State::Skip(_), _) => None,
            (State::TooLong(length), _) => Some(bad(&over(*length, self.max), salvage_id(rest))),
            (State::Body(_), _) => Some(bad("the input ended within a message", salvage_id(rest))),
            (State::Start, _) if rest.is_empty() => None,
            (State::Start, Some(Framing::Headers)) => {
                Some(bad("the input ended within a header", None))
            }
            (State::Start, Some(Framing::Lines) | None) => {
                Some(Incoming::Message(Bytes::copy_from_slice(rest)))
            }
        }
    }

    fn sniff(&mut self) -> Option<Framing> {
        if self.framing.is_none() {
            if self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.advance(3);
            } else if b"\xef\xbb\xbf".starts_with(&self.buffer) && !self.buffer.is_empty() {
                return None;
            }
            let blank = self
                .buffer
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            self.buffer.advance(blank);
            self.framing = Some(match self.buffer.first()? {
                b'{' | b'[' => Framing::Lines,
                _ => Framing::Headers,
            });
        }
        self.framing
    }

    fn next_line(&mut self) -> Option<Incoming> {
        loop {
            let Some(at) =
                memchr::memchr(b'\n', &self.buffer[self.searched..]).map(|at| at + self.searched)
            else {
                self.searched = self.buffer.len();
                if self.state == State::SkipLine {
                    self.drop_all();
                } else if self.buffer.len() > self.max {
                    let bad = self.too_long("a line");
                    self.state = State::SkipLine;
                    self.drop_all();
                    return Some(bad);
                }
                return None;
            };
            let line = self.buffer.split_to(at + 1).freeze();
            self.searched = 0;
            if std::mem::replace(&mut self.state, State::Start) == State::SkipLine {
                continue;
            }
            let line = line.slice_ref(line.trim_ascii());
            if line.len() > self.max {
                return Some(bad(&over(line.len(), self.max), salvage_id(&line)));
            }
            if !line.is_empty() {
                return Some(Incoming::Message(line));
            }
        }
    }

    fn drop_all(&mut self) {
        self.buffer.clear();
        self.searched = 0;
    }

    fn too_long(&self, what: &str) -> Incoming {
        bad(
            &format!("{what} is over the limit of {} bytes", self.max),
            salvage_id(&self.buffer),
        )
    }

    fn next_framed(&mut self) -> Option<Incoming> {
        loop {
            match self.state {
                State::SkipLine | State::Start => match self.read_headers()? {
                    Ok(length) if length > self.max => self.state = State::TooLong(length),
                    Ok(length) => self.state = State::Body(length),
                    Err(problem) => {
                        self.state = State::Skip(usize::MAX);
                        return Some(bad(problem, None));
                    }
                },
                State::TooLong(length) => {
                    let id = salvage_id(&self.buffer);
                    let may_come =
                        length < IMPLAUSIBLE && self.buffer.len() < length.min(MAX_SALVAGE);
                    if id.is_none()
                        && may_come
                        && !matches!(find_header(&self.buffer), Found::At(_))
                    {
                        return None;
                    }
                    self.state = State::Skip(length);
                    return Some(bad(&over(length, self.max), id));
                }
                State::Skip(left) => {
                    let here = left.min(self.buffer.len());
                    let skipped = match find_header(&self.buffer[..here]) {
                        Found::At(at) => {
                            self.state = State::Start;
                            at
                        }
                        Found::Nowhere | Found::Perhaps(_) if here == left => {
                            self.state = State::Start;
                            here
                        }
                        Found::Perhaps(at) => {
                            self.state = State::Skip(left - at);
                            at
                        }
                        Found::Nowhere => {
                            self.state = State::Skip(left - here);
                            here
                        }
                    };
                    self.buffer.advance(skipped);
                    if self.state != State::Start {
                        return None;
                    }
                }
                State::Body(length) => {
                    if self.buffer.len() < length {
                        return None;
                    }
                    self.state = State::Start;
                    let body = self.buffer.split_to(length).freeze();
                    return Some(self.cut(body));
                }
            }
        }
    }

    /// A body that holds one JSON text and then the header of the next message was announced too
    /// long: both are good.
    fn cut(&mut self, body: Bytes) -> Incoming {
        let mut texts = serde_json::Deserializer::from_slice(&body).into_iter::<IgnoredAny>();
        if memchr::memmem::find(&body, b"\n").is_none() && memchr::memchr(b'C', &body).is_none() {
            return Incoming::Message(body);
        }
        let Some(Ok(_)) = texts.next() else {
            return Incoming::Message(body);
        };
        let end = texts.byte_offset();
        let rest = body[end..].trim_ascii_start();
        if rest.len() >= HEADER.len() && rest[..HEADER.len()].eq_ignore_ascii_case(HEADER) {
            let mut buffer = BytesMut::from(rest);
            buffer.extend_from_slice(&self.buffer);
            self.buffer = buffer;
            return Incoming::Message(body.slice(..end));
        }
        Incoming::Message(body)
    }

    /// The body's length, once the headers are complete.
    fn read_headers(&mut self) -> Option<Result<usize, &'static str>> {
        let blank = self
            .buffer
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        self.buffer.advance(blank);
        let name = &self.buffer[..self.buffer.len().min(8)];
        if !name.eq_ignore_ascii_case(&b"content-"[..name.len()]) {
            return Some(Err(
                "found something else where a Content-Length header belongs",
            ));
        }
        let (end, length) = match find_end(&self.buffer) {
            Some(found) => found,
            None if self.buffer.len() > MAX_HEADERS => {
                // Past its first letter, or it would be found again.
                self.buffer.advance(1);
                return Some(Err("a header block is over the limit of 8 KiB"));
            }
            None => return None,
        };
        let headers = self.buffer.split_to(end + length).freeze();
        Some(content_length(&headers[..end]))
    }
}

enum Found {
    At(usize),
    /// The bytes end within what may become one.
    Perhaps(usize),
    Nowhere,
}

/// Where a line `Content-Length: N` begins.
fn find_header(bytes: &[u8]) -> Found {
    for at in memchr::memchr2_iter(b'C', b'c', bytes) {
        let rest = &bytes[at..];
        let name = &rest[..rest.len().min(HEADER.len())];
        if !name.eq_ignore_ascii_case(&HEADER[..name.len()]) {
            continue;
        }
        let rest = skip(&rest[name.len()..], is_space);
        let value = skip(rest.strip_prefix(b":").unwrap_or(rest), is_space);
        let after = skip(value, |byte| byte.is_ascii_digit());
        let end = skip(after, |byte| matches!(byte, b' ' | b'\t' | b'\r'));
        match (rest.first(), end.first()) {
            (None, _) | (Some(b':'), None) if bytes.len() - at <= MAX_HEADERS => {
                return Found::Perhaps(at);
            }
            (Some(b':'), Some(b'\n')) if after.len() < value.len() => return Found::At(at),
            _ => {}
        }
    }
    Found::Nowhere
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn skip(bytes: &[u8], what: impl Fn(u8) -> bool) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| what(**byte)).count()..]
}

fn bad(problem: &str, id: Option<String>) -> Incoming {
    Incoming::Bad(Bad {
        problem: problem.to_string(),
        id,
    })
}

fn over(length: usize, max: usize) -> String {
    format!("a message of {length} bytes is over the limit of {max} bytes")
}

/// The end of a header block and the length of the empty line that ends it.
fn find_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let window = &bytes[..bytes.len().min(MAX_HEADERS)];
    let crlf = memchr::memmem::find(window, b"\r\n\r\n").map(|at| (at, 4));
    let lf = memchr::memmem::find(window, b"\n\n").map(|at| (at, 2));
    match (crlf, lf) {
        (Some(crlf), Some(lf)) => Some(if crlf.0 < lf.0 { crlf } else { lf }),
        (found, other) => found.or(other),
    }
}

fn content_length(headers: &[u8]) -> Result<usize, &'static str> {
    let mut length = None;
    for line in headers.split(|byte| *byte == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else {
            return Err("a header has no colon");
        };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if !name.eq_ignore_ascii_case(HEADER) {
            continue;
        }
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value)
            .ok()
            .filter(|_| digits)
            .and_then(|text| text.parse().ok());
        match (number, length) {
            (Some(number), Some(before)) if number != before => {
                return Err("two Content-Length headers disagree");
            }
            (Some(number), _) => length = Some(number),
            (None, _) => return Err("a Content-Length is not a number of bytes"),
        }
    }
    match length {
        Some(0) => Err("a message of 0 bytes is not JSON"),
        Some(length) => Ok(length),
        None => Err("a header block has no Content-Length"),
    }
}

/// The `id` of a request that is broken or of which only the beginning is there, as JSON. None if
/// there are two.
pub fn salvage_id(bytes: &[u8]) -> Option<String> {
    struct TopLevel<'a>(&'a mut Option<String>);

    impl<'de> DeserializeSeed<'de> for TopLevel<'_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_map(self)
        }
    }

    impl<'de> Visitor<'de> for TopLevel<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a request")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                match (key.as_str(), &self.0) {
                    ("id", None) => {
                        *self.0 = Some(map.next_value::<&RawValue>()?.get().to_string())
                    }
                    ("id", Some(_)) => {
                        *self.0 = None;
                        return Ok(());
                    }
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(())
        }
    }

    let prefix = &bytes[..bytes.len().min(MAX_SALVAGE)];
    let mut id = None;
    // The text breaks off; what matters is what was seen before.
    let _ = TopLevel(&mut id).deserialize(&mut serde_json::Deserializer::from_slice(prefix));
    // A number right at the end may have more digits.
    id.filter(|id| id.len() < 256 && !prefix.ends_with(id.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the text in pieces and writes down what comes out.
    fn decode(text: &[u8], piece: usize, max: usize) -> Vec<String> {
        let mut decoder = Decoder::new(max);
        let mut out = Vec::new();
        let mut take = |incoming: Incoming| match incoming {
            Incoming::Message(bytes) => out.push(String::from_utf8_lossy(&bytes).into_owned()),
            Incoming::Bad(bad) => out.push(format!(
                "! {}{}",
                bad.problem,
                bad.id.map(|id| format!(" #{id}")).unwrap_or_default()
            )),
        };
        for bytes in text.chunks(piece) {
            decoder.push(bytes);
            while let Some(incoming) = decoder.next_message() {
                take(incoming);
            }
        }
        decoder.finish().into_iter().for_each(take);
        out
    }

    #[test]
    fn messages_in_pieces_of_any_size() {
        let a = r#"{"id":1}"#;
        let cases: &[(&str, Vec<&str>)] = &[
            (
                "{\"id\":1}\n{\"id\":2}\r\n\n  \n[3]\n",
                vec![a, "{\"id\":2}", "[3]"],
            ),
            ("\u{feff} \r\n{\"id\":1}\n{\"id\":2}", vec![a, "{\"id\":2}"]),
            (
                "Content-Length: 8\r\n\r\n{\"id\":1}content-length:8\n\n{\"id\":1}",
                vec![a, a],
            ),
            (
                "Content-Type: x\r\nContent-Length: 8\r\n\r\n{\"id\":1}\r\n",
                vec![a],
            ),
            (
                "Content-Length: 8\r\nContent-Length: 8\r\n\r\n{\"id\":1}",
                vec![a],
            ),
            (
                "Content-Length: -1\r\n\r\n{\"id\":1}Content-Length: 8\r\n\r\n{\"id\":1}",
                vec!["! a Content-Length is not a number of bytes", a],
            ),
            (
                "Content-Length: 9223372036854775808\r\n\r\nxContent-Length: 8\r\n\r\n{\"id\":1}",
                vec![
                    "! a message of 9223372036854775808 bytes is over the limit of 64 bytes",
                    a,
                ],
            ),
            (
                "Content-Length: 0\r\n\r\nContent-Length: 8\r\n\r\n{\"id\":1}",
                vec!["! a message of 0 bytes is not JSON", a],
            ),
            (
                "Content-Length: 4\r\n\r\n{\"id\":1}Content-Length: 8\r\n\r\n{\"id\":1}",
                vec![
                    "{\"id",
                    "! found something else where a Content-Length header belongs",
                    a,
                ],
            ),
            (
                "Content-Length: 30\r\n\r\n{\"id\":1}Content-Length: 8\r\n\r\n{\"id\":1}",
                vec![a, a],
            ),
            (
                "Content-Length: 60\r\n\r\n{\"id\":1}",
                vec!["! the input ended within a message #1"],
            ),
            (
                "Content-Length: 60\r\n\r\n{\"id\":1",
                vec!["! the input ended within a message"],
            ),
            (
                "Content-Length: 60\r\n",
                vec!["! the input ended within a header"],
            ),
            (
                "Content-Length: 900\r\n\r\n{\"id\":1,\"c\":[]}Content-Length: 8\r\n\r\n{\"id\":1}",
                vec![
                    "! a message of 900 bytes is over the limit of 64 bytes #1",
                    a,
                ],
            ),
            (
                "hello\r\n\r\nContent-Length: 8\r\n\r\n{\"id\":1}",
                vec![
                    "! found something else where a Content-Length header belongs",
                    a,
                ],
            ),
        ];
        for (text, expected) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(
                    &decode(text.as_bytes(), piece, 64),
                    expected,
                    "{text:?} in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn what_is_too_long_is_skipped_and_its_id_answered() {
        let long = format!("{{\"id\":\"x\",\"pad\":\"{}\"}}", "p".repeat(200));
        for (text, expected) in [
            (
                format!("{long}\n{{\"id\":1}}\n"),
                vec![
                    "! a message of 219 bytes is over the limit of 64 bytes #\"x\"",
                    "{\"id\":1}",
                ],
            ),
            (
                format!("Content-Length: 219\r\n\r\n{long}Content-Length: 8\r\n\r\n{{\"id\":1}}"),
                vec![
                    "! a message of 219 bytes is over the limit of 64 bytes #\"x\"",
                    "{\"id\":1}",
                ],
            ),
        ] {
            assert_eq!(decode(text.as_bytes(), 1000, 64), expected);
            // In small pieces the beginning may not be there yet, but nothing is lost behind it.
            assert_eq!(
                decode(text.as_bytes(), 70, 64).last().map(String::as_str),
                Some("{\"id\":1}")
            );
        }
    }

    #[test]
    fn random_bytes_never_stop_the_next_good_message() {
        use proptest::prelude::*;
        proptest!(|(noise in prop::collection::vec(any::<u8>(), 0..200), piece in 1..50_usize)| {
            // A body that was announced is taken as it is; everything else is resynchronised.
            prop_assume!(memchr::memmem::find(&noise.to_ascii_lowercase(), b"content-length").is_none());
            let mut text = b"Content-Length: 8\r\n\r\n{\"id\":1}".to_vec();
            text.extend_from_slice(&noise);
            text.extend_from_slice(b"\r\nContent-Length: 8\r\n\r\n{\"id\":2}");
            let out = decode(&text, piece, 64);
            prop_assert_eq!(out.first().map(String::as_str), Some("{\"id\":1}"));
            prop_assert_eq!(out.last().map(String::as_str), Some("{\"id\":2}"));
        });
    }
}
