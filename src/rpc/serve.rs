//! Serves one connection from its first byte to its last reply.
//!
//! The reader is an ordinary thread that reads, handles and writes: on a pipe that is the shortest
//! way.

use super::connection::{Connection, Next};
use hookwire_base::transport::framing::{Decoder, Incoming};
use hookwire_base::transport::outbox::Outbox;
use hookwire_base::transport::stdio::hung_up;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How long hooks in flight have at the end of a connection before they take their failure
/// direction.
pub const DRAIN: Duration = Duration::from_millis(800);
/// How long hooks then have to take their failure direction, and replies to be sent.
pub const AFTER_DRAIN: Duration = Duration::from_millis(80);
/// How long the client may then take nothing of what is left.
pub const FLUSH: Duration = Duration::from_millis(900);
const READ_SIZE: usize = 64 * 1024;
/// So many bytes of replies are sent before what else was read is judged. The client then works
/// while the host does, where they would wait for each other.
const REPLIES_AT_ONCE: usize = 8 * 1024;

/// Reads stdin until it ends or the client says `exit`. Everything read by then is answered and
/// written when this returns, as far as the client takes it. Gives [`Next::Exit`] if the client
/// said so.
///
/// Reads on when the client has stopped reading stdout, because its last event may be on its way.
///
/// # Errors
/// Reading failed.
pub fn serve_stdin(
    connection: &Connection,
    outbox: &Outbox,
    max_message: usize,
) -> std::io::Result<Next> {
    serve_stream(rustix::stdio::stdin(), connection, outbox, max_message)
}

/// The same for any stream.
///
/// # Errors
/// Reading failed.
pub fn serve_stream(
    input: BorrowedFd<'_>,
    connection: &Connection,
    outbox: &Outbox,
    max_message: usize,
) -> std::io::Result<Next> {
    let mut decoder = Decoder::new(max_message);
    let mut bytes = vec![0; READ_SIZE];
    let mut out = Vec::new();
    let mut next = Next::Read;
    let mut is_there = true;
    let result = loop {
        is_there = is_there && outbox.wait_for_room(|| hung_up(input), FLUSH);
        if !is_there {
            break Ok(());
        }
        let read = match rustix::io::read(input, &mut bytes) {
            Ok(0) => break Ok(()),
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            // A process that shares the descriptor has made it non-blocking.
            Err(Errno::AGAIN) => {
                let mut fds = [PollFd::new(&input, PollFlags::IN)];
                let _ = poll(&mut fds, None);
                continue;
            }
            Err(error) => break Err(error.into()),
        };
        let receiving = connection.receiving();
        decoder.push(&bytes[..read]);
        while next == Next::Read && is_there {
            let Some(incoming) = decoder.next_message() else {
                break;
            };
            if let Some(framing) = decoder.framing() {
                outbox.set_framing(framing);
            }
            next = handle_incoming(connection, &incoming, &mut out);
            if out.len() >= REPLIES_AT_ONCE {
                outbox.send_framed(&out);
                out.clear();
                // Short requests may have long replies.
                is_there = outbox.wait_for_room(|| hung_up(input), FLUSH);
            }
        }
        outbox.send_framed(&out);
        out.clear();
        drop(receiving);
        if next == Next::Exit {
            break Ok(());
        }
    };
    if next == Next::Read
        && is_there
        && let Some(incoming) = decoder.finish()
    {
        if let Some(framing) = decoder.framing() {
            outbox.set_framing(framing);
        }
        handle_incoming(connection, &incoming, &mut out);
        outbox.send_framed(&out);
    }
    connection.drain_hooks(DRAIN, AFTER_DRAIN);
    outbox.flush(FLUSH);
    result.map(|()| next)
}

fn handle_incoming(connection: &Connection, incoming: &Incoming, out: &mut Vec<u8>) -> Next {
    match incoming {
        Incoming::Message(message) => connection.receive_message(message, out),
        Incoming::Bad(bad) => {
            connection.receive_bad(bad, out);
            Next::Read
        }
    }
}
