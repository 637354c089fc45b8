//! Bytes to lines, as both ends write them: one message each, with nothing between them.

use super::message::Bad;

/// How much of the beginning of a line that is too long is kept, to find its id.
const START: usize = 64 * 1024;
/// How much of its end is.
const END: usize = 1024;

/// What comes out of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// One that is too long, and was skipped.
    TooLong(Bad),
}

/// Turns bytes into lines.
#[derive(Debug)]
pub struct Lines {
    max: usize,
    buffer: Vec<u8>,
    /// The last bytes of a line of which the buffer holds only the beginning.
    skipped: Option<Vec<u8>>,
}

impl Lines {
    /// `max` bounds a line, in bytes.
    pub fn new(max: usize) -> Lines {
        Lines {
            max,
            buffer: Vec::new(),
            skipped: None,
        }
    }

    /// Takes bytes in, and gives the lines that end in them.
    pub fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line)) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            bytes = rest.get(1..).unwrap_or_default();
            self.add(line);
            self.end_line(&mut take);
        }
        self.add(bytes);
    }

    /// Gives what is left at the end of input: a line without its end.
    pub fn finish(&mut self, mut take: impl FnMut(Line)) {
        self.end_line(&mut take);
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(end) = &mut self.skipped {
            end.extend_from_slice(
                bytes
                    .get(bytes.len().saturating_sub(END)..)
                    .unwrap_or_default(),
            );
            let n_old = end.len().saturating_sub(END);
            end.drain(..n_old);
        } else if self.buffer.len() + bytes.len() > self.max {
            let room = START.saturating_sub(self.buffer.len()).min(bytes.len());
            self.buffer
                .extend_from_slice(bytes.get(..room).unwrap_or_default());
            let end = bytes
                .get(bytes.len().saturating_sub(END)..)
                .unwrap_or_default();
            self.skipped = Some(end.to_vec());
            self.buffer.truncate(START);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, take: &mut impl FnMut(Line)) {
        let line = std::mem::take(&mut self.buffer);
        match self.skipped.take() {
            Some(end) => take(Line::TooLong(Bad::too_long(self.max, &line, &end))),
            None if line.trim_ascii().is_empty() => {}
            None => take(Line::Whole(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut, the lines are the same.
    #[test]
    fn lines_are_those_of_the_bytes() {
        let long = format!("{{\"id\":7,{}", "x".repeat(40));
        let late = format!("{}{},\"id\":\"b\"}}", "x".repeat(40), "y".repeat(2000));
        let text = format!("{{\"a\":1}}\r\n\n  \n{long}\nb\n{late}\nc");
        for step in [1, 2, 3, 7, text.len()] {
            let (mut lines, mut told) = (Lines::new(30), Vec::new());
            let mut take = |line| {
                told.push(match line {
                    Line::Whole(line) => String::from_utf8(line).unwrap(),
                    Line::TooLong(bad) => {
                        format!("{:?}", bad.id.map(|id| id.to_json().to_string()))
                    }
                });
            };
            text.as_bytes()
                .chunks(step)
                .for_each(|part| lines.push(part, &mut take));
            lines.finish(&mut take);
            let expected = [
                "{\"a\":1}\r",
                "Some(\"7\")",
                "b",
                "Some(\"\\\"b\\\"\")",
                "c",
            ];
            assert_eq!(told, expected, "{step}");
        }
    }
}
