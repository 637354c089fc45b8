//! The host that a client starts: it passes everything on to whoever tries the client, and ends
//! when they hang up.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

const READ_SIZE: usize = 64 * 1024;

pub(crate) fn relay_socket(socket: &Path) -> std::io::Result<()> {
    let stream = UnixStream::connect(socket)?;
    let (from_client, to_player) = (std::io::stdin(), stream.try_clone()?);
    std::thread::spawn(move || {
        let _ = copy_bytes(from_client, &to_player);
        let _ = to_player.shutdown(Shutdown::Both);
        std::process::exit(0);
    });
    copy_bytes(stream, std::io::stdout())
}

/// Passes on what has come at once, even half a line.
fn copy_bytes(mut from: impl Read, mut to: impl Write) -> std::io::Result<()> {
    let mut bytes = vec![0; READ_SIZE];
    loop {
        match from.read(&mut bytes)? {
            0 => return Ok(()),
            length => {
                to.write_all(bytes.get(..length).unwrap_or_default())?;
                to.flush()?;
            }
        }
    }
}
