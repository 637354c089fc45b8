//! A program that is asked something while definitions are checked: it answers soon, or it is
//! ended.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Where a program answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// The exit code of a program and what it says on a stream, at most so many bytes; nothing if it
/// takes longer than `time`.
pub(super) fn ask(
    mut command: Command,
    stream: Stream,
    most: u64,
    time: Duration,
) -> Option<(i32, String)> {
    let pipe = |of| {
        if of == stream {
            Stdio::piped()
        } else {
            Stdio::null()
        }
    };
    command
        .stdin(Stdio::null())
        .stdout(pipe(Stream::Stdout))
        .stderr(pipe(Stream::Stderr));
    let mut asked = command.spawn().ok()?;
    let heard: Box<dyn Read + Send> = match stream {
        Stream::Stdout => Box::new(asked.stdout.take()?),
        Stream::Stderr => Box::new(asked.stderr.take()?),
    };
    let (said, hear) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = heard.take(most).read_to_string(&mut text);
        // An error means that nobody waits any more.
        let _ = said.send(read.ok().map(|_| text));
    });
    let text = hear.recv_timeout(time).ok().flatten();
    if text.is_none() {
        asked.kill().ok()?;
    }
    Some((asked.wait().ok()?.code()?, text?))
}
