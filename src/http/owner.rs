//! Whose a connection over TCP is: the user who has opened its other end, as the kernel says.
//! Asking costs some microseconds, where the table of all connections may be long.

use std::net::SocketAddr;

/// The user; `None` if nobody has that end any more, or the kernel doesn't say.
#[cfg(target_os = "linux")]
pub(super) fn user_of(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    user_in_answer(&linux::ask_kernel(&kernel_question(theirs, ours))?)
}

/// Elsewhere nobody says.
#[cfg(not(target_os = "linux"))]
pub(super) fn user_of(_theirs: SocketAddr, _ours: SocketAddr) -> Option<u32> {
    None
}

/// See sock_diag(7).
#[cfg(target_os = "linux")]
mod linux {
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };

    /// `SOCK_DIAG_BY_FAMILY`.
    pub(super) const BY_FAMILY: u16 = 20;

    /// The kernel's answer to a question.
    pub(super) fn ask_kernel(question: &[u8]) -> Option<Vec<u8>> {
        let protocol = Some(netlink::SOCK_DIAG);
        let kernel = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            protocol,
        )
        .ok()?;
        send(&kernel, question, SendFlags::empty()).ok()?;
        let mut answer = vec![0; 4096];
        // It has answered once the question is sent.
        let (_, length) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
        answer.truncate(length);
        Some(answer)
    }
}

/// `inet_diag_req_v2` with its head: which TCP socket is bound and connected like their end?
#[cfg(target_os = "linux")]
fn kernel_question(theirs: SocketAddr, ours: SocketAddr) -> Vec<u8> {
    const LENGTH: u32 = 72;
    const REQUEST: u16 = 1;
    const TCP: u8 = 6;
    let family = if theirs.is_ipv4() { 2 } else { 10 };
    let address = |end: SocketAddr| match end {
        SocketAddr::V4(end) => [&end.ip().octets()[..], &[0; 12]].concat(),
        SocketAddr::V6(end) => end.ip().octets().to_vec(),
    };
    let mut question = Vec::with_capacity(LENGTH as usize);
    question.extend(LENGTH.to_ne_bytes());
    question.extend([linux::BY_FAMILY, REQUEST].map(u16::to_ne_bytes).concat());
    // Its number, and the sender.
    question.extend([0; 8]);
    question.extend([family, TCP, 0, 0]);
    // Of any state.
    question.extend([0xff; 4]);
    question.extend([theirs.port(), ours.port()].map(u16::to_be_bytes).concat());
    question.extend([address(theirs), address(ours)].concat());
    // Of any interface; without a cookie.
    question.extend([0; 4]);
    question.extend([0xff; 8]);
    question
}

/// The user in `inet_diag_msg`, if the connection stands.
#[cfg(target_os = "linux")]
fn user_in_answer(answer: &[u8]) -> Option<u32> {
    const ESTABLISHED: u8 = 1;
    let (kind_at, state_at, user_at) = (4, 17, 80);
    let kind = u16::from_ne_bytes(answer.get(kind_at..)?.first_chunk().copied()?);
    let stands = kind == linux::BY_FAMILY && answer.get(state_at) == Some(&ESTABLISHED);
    let user = u32::from_ne_bytes(answer.get(user_at..)?.first_chunk().copied()?);
    stands.then_some(user)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_its_users_while_it_stands() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let ours = listener.local_addr().unwrap();
            let theirs = TcpStream::connect(ours).unwrap();
            let (_accepted, from) = listener.accept().unwrap();
            assert_eq!(
                user_of(from, ours),
                Some(rustix::process::geteuid().as_raw()),
                "{address}"
            );
            drop(theirs);
            assert_eq!(user_of(from, ours), None, "{address}: nobody has it");
        }
    }
}
