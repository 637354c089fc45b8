//! How messages are told apart on the wire.

use std::io::{BufRead, Read};

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One a line.
    Lines,
    /// Behind `Content-Length` headers.
    Headers,
}

/// The longest message that is read, in bytes.
const MAX_MESSAGE: u64 = 64 * 1024 * 1024;

impl Framing {
    /// Appends a message as it goes over the wire.
    pub fn write_frame(self, message: &[u8], out: &mut Vec<u8>) {
        if self == Framing::Headers {
            out.extend(format!("Content-Length: {}\r\n\r\n", message.len()).bytes());
        }
        out.extend(message);
        if self == Framing::Lines {
            out.push(b'\n');
        }
    }

    /// The next message; `None` at the end. Bytes that are no message are given as they are, for
    /// whoever parses them to complain about.
    pub fn read_frame(self, from: &mut impl BufRead) -> Option<Vec<u8>> {
        let mut line = read_line(from)?;
        if self == Framing::Lines {
            return Some(line);
        }
        let mut length = None;
        while line != b"\r\n" {
            match parse_header(&line) {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().ok()
                }
                Some(_) => {}
                None => return Some(line),
            }
            line = read_line(from)?;
        }
        let length = length
            .filter(|length| *length <= MAX_MESSAGE)
            .unwrap_or_default();
        let mut body = Vec::new();
        from.take(length).read_to_end(&mut body).ok()?;
        Some(body)
    }
}

fn read_line(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let length = from.take(MAX_MESSAGE).read_until(b'\n', &mut line).ok()?;
    (length > 0).then_some(line)
}

fn parse_header(line: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(line)
        .ok()?
        .strip_suffix("\r\n")?
        .split_once(':')?;
    Some((name, value.trim()))
}
