//! The seccomp filter: `execve` and `execveat` ask the supervisor, and so does `prlimit64` if it
//! would change the limits of another process. The kernel compares no more than users there, and
//! without files the supervisor, or the host, judges nothing. Nobody types into the terminal: the
//! shell outside would run that. Everything else passes.

use super::arch::{ENTRIES, Entry, X32};
use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF, sock_filter,
};

/// Where `struct seccomp_data` has the number of the system call.
const NUMBER: u32 = 0;
/// Where it has the entry.
const ARCH: u32 = 4;
/// Where it has the arguments, of eight bytes each. Both processors have the lower half first.
const ARGUMENTS: u32 = 16;
/// Put a character, or what a mouse has marked, among those that were typed at a terminal.
const TYPE: [u32; 2] = [0x5412, 0x541C];
const NOT_PERMITTED: u32 = SECCOMP_RET_ERRNO | libc::EPERM as u32;
const NO_SUCH_CALL: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The filter's instructions.
pub fn filter_program() -> Vec<sock_filter> {
    let mut program = vec![load(ARCH)];
    for (n, entry) in ENTRIES.iter().enumerate() {
        let calls = filter_calls(entry, X32.filter(|_| n == 0));
        program.push(jump(BPF_JEQ, entry.audit, 0, calls.len() as u8));
        program.extend(calls);
    }
    // An entry whose numbers nobody has written down could start programs unseen.
    program.push(answer_with(NO_SUCH_CALL));
    program
}

/// The instructions for the calls of one entry, each way through which ends in an answer.
fn filter_calls(entry: &Entry, refused_from: Option<u32>) -> Vec<sock_filter> {
    let mut calls = vec![load(NUMBER)];
    if let Some(number) = refused_from {
        calls.extend([jump(BPF_JGE, number, 0, 1), answer_with(NO_SUCH_CALL)]);
    }
    let (process, request, new_limits) = (ARGUMENTS, ARGUMENTS + 8, ARGUMENTS + 2 * 8);
    calls.extend([
        jump(BPF_JEQ, entry.execve, 13, 0),
        jump(BPF_JEQ, entry.execveat, 12, 0),
        jump(BPF_JEQ, entry.ioctl, 7, 0),
        jump(BPF_JEQ, entry.prlimit, 0, 9),
        // Its own limits are its own matter, which most programs read as they start.
        load(process),
        jump(BPF_JEQ, 0, 7, 0),
        load(new_limits),
        jump(BPF_JEQ, 0, 0, 6),
        load(new_limits + 4),
        jump(BPF_JEQ, 0, 3, 4),
        load(request),
        jump(BPF_JEQ, TYPE[0], 3, 0),
        jump(BPF_JEQ, TYPE[1], 2, 0),
        answer_with(SECCOMP_RET_ALLOW),
        answer_with(SECCOMP_RET_USER_NOTIF),
        answer_with(NOT_PERMITTED),
    ]);
    calls
}

fn load(offset: u32) -> sock_filter {
    sock_filter {
        code: (BPF_LD | BPF_W | BPF_ABS) as u16,
        jt: 0,
        jf: 0,
        k: offset,
    }
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter {
        code: (BPF_JMP | test | BPF_K) as u16,
        jt,
        jf,
        k,
    }
}

fn answer_with(k: u32) -> sock_filter {
    sock_filter {
        code: (BPF_RET | BPF_K) as u16,
        jt: 0,
        jf: 0,
        k,
    }
}
