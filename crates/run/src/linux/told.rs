//! What the supervisor tells the front.

use libc::pid_t;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// A line of what the supervisor tells: a kind and a number.
const LINE: usize = 5;

/// What the supervisor tells the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The command is this process.
    Command(pid_t),
    /// The command has stopped by this signal.
    Stopped(i32),
    /// The command has ended with this status, as `wait` has it.
    Ended(i32),
    /// What the command has started can't be ended.
    Survived,
    /// The command can't be held; why has been said.
    Unable,
}

impl Told {
    /// Tells it. That the front is gone is no failure here.
    pub fn send_to(self, mut to: &UnixStream) {
        let (kind, number) = match self {
            Told::Command(pid) => (b'c', pid),
            Told::Stopped(signal) => (b's', signal),
            Told::Ended(status) => (b'e', status),
            Told::Survived => (b'l', 0),
            Told::Unable => (b'u', 0),
        };
        let mut line = [kind; LINE];
        line[1..].copy_from_slice(&number.to_le_bytes());
        let _ = to.write_all(&line);
    }

    /// Waits for what is told next; none when the supervisor is gone.
    pub fn receive_from(mut from: &UnixStream) -> Option<Told> {
        let mut line = [0; LINE];
        from.read_exact(&mut line).ok()?;
        let number = i32::from_le_bytes([line[1], line[2], line[3], line[4]]);
        match line[0] {
            b'c' => Some(Told::Command(number)),
            b's' => Some(Told::Stopped(number)),
            b'e' => Some(Told::Ended(number)),
            b'l' => Some(Told::Survived),
            _ => Some(Told::Unable),
        }
    }
}
