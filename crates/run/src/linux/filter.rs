//! The seccomp filter: `execve` and `execveat` ask the supervisor, everything else passes.

use super::arch::{ENTRIES, Entry, X32};
use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_RET_USER_NOTIF, sock_filter,
};

/// Where `struct seccomp_data` has the number of the system call.
const NUMBER: u32 = 0;
/// Where it has the entry.
const ARCH: u32 = 4;
const NO_SUCH_CALL: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The filter's instructions.
pub fn program() -> Vec<sock_filter> {
    let mut program = vec![load(ARCH)];
    for (n, entry) in ENTRIES.iter().enumerate() {
        let calls = calls(entry, X32.filter(|_| n == 0));
        program.push(jump(BPF_JEQ, entry.audit, 0, calls.len() as u8));
        program.extend(calls);
    }
    // An entry whose numbers nobody has written down could start programs unseen.
    program.push(answer(NO_SUCH_CALL));
    program
}

/// The instructions for the calls of one entry, each way through which ends in an answer.
fn calls(entry: &Entry, refused_from: Option<u32>) -> Vec<sock_filter> {
    let mut calls = vec![load(NUMBER)];
    if let Some(number) = refused_from {
        calls.extend([jump(BPF_JGE, number, 0, 1), answer(NO_SUCH_CALL)]);
    }
    calls.extend([
        jump(BPF_JEQ, entry.execve, 1, 0),
        jump(BPF_JEQ, entry.execveat, 0, 1),
        answer(SECCOMP_RET_USER_NOTIF),
        answer(SECCOMP_RET_ALLOW),
    ]);
    calls
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | test | BPF_K) as u16, jt, jf, k }
}

fn answer(k: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k }
}
