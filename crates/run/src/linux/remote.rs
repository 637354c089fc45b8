//! What a process that waits in `execve` wants to start, read from its memory.
//!
//! The process may be hostile: every address may be wrong, every text as long as the kernel allows,
//! and another thread may change all of it at any time. What is read here serves a clean refusal;
//! certainty comes from the look after.

use super::arch::{ENTRIES, Entry};
use super::sys::Notification;
use libc::pid_t;
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;

/// The kernel takes at most 6 MiB of arguments, whatever the limits say.
const MAX_ARGUMENTS: usize = 8 << 20;
const PAGE: usize = 4096;
/// How much of a text is read at first: most are shorter.
const FIRST_PART: usize = 256;
/// How many texts are read by one call.
const BATCH: usize = 256;

/// Where a program's path starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The working directory.
    WorkingDirectory,
    /// A directory that the process has open.
    Directory(i32),
    /// The program is a file that the process has open; there is no path.
    OpenFile(i32),
}

/// The arguments of `execve` or `execveat`.
#[derive(Debug)]
pub struct Wanted {
    /// Where the path starts from.
    pub base: Base,
    /// The path as the process wrote it.
    pub path: Vec<u8>,
    /// The program's arguments, its own name first.
    pub argv: Vec<Vec<u8>>,
}

/// Reads what a waiting process wants to start.
///
/// # Errors
/// What the call would fail with.
pub fn read_wanted(notification: &Notification) -> Result<Wanted, Errno> {
    let entry = ENTRIES
        .iter()
        .find(|entry| entry.audit == notification.arch)
        .ok_or(Errno::ENOSYS)?;
    let args = notification.args;
    let is_at = notification.number == entry.execveat;
    let (path, argv) = if is_at {
        (args[1], args[2])
    } else {
        (args[0], args[1])
    };
    let memory = Memory {
        tid: notification.tid,
        entry,
    };
    let (path, argv) = memory.read_call(memory.to_address(path), memory.to_address(argv))?;
    let base = match (is_at, args[0] as i32) {
        (false, _) | (true, libc::AT_FDCWD) => Base::WorkingDirectory,
        (true, fd) if path.is_empty() && args[4] as i32 & libc::AT_EMPTY_PATH != 0 => {
            Base::OpenFile(fd)
        }
        (true, fd) => Base::Directory(fd),
    };
    Ok(Wanted { base, path, argv })
}

struct Memory {
    tid: pid_t,
    entry: &'static Entry,
}

impl Memory {
    /// A register as an address: a 32-bit entry uses its lower half.
    fn to_address(&self, register: u64) -> usize {
        if self.entry.pointer == 4 {
            register as u32 as usize
        } else {
            register as usize
        }
    }

    fn read_call(&self, path: usize, argv: usize) -> Result<(Vec<u8>, Vec<Vec<u8>>), Errno> {
        let mut texts = self.read_texts(&[path])?;
        // Without a list, the kernel starts a program with one empty argument; so it does with an
        // empty one.
        let mut arguments = if argv == 0 {
            Vec::new()
        } else {
            self.read_texts(&self.read_pointers(argv)?)?
        };
        if arguments.is_empty() {
            arguments.push(Vec::new());
        }
        Ok((texts.pop().unwrap_or_default(), arguments))
    }

    /// The pointers of a list that ends with a null pointer.
    fn read_pointers(&self, list: usize) -> Result<Vec<usize>, Errno> {
        let size = self.entry.pointer;
        let (mut bytes, mut pointers) = (Vec::new(), Vec::new());
        loop {
            if bytes.len() > MAX_ARGUMENTS {
                return Err(Errno::E2BIG);
            }
            let at = list.checked_add(bytes.len()).ok_or(Errno::EFAULT)?;
            self.read_part(
                at,
                if bytes.is_empty() { FIRST_PART } else { PAGE },
                &mut bytes,
            )?;
            for pointer in bytes[pointers.len() * size..].chunks_exact(size) {
                let mut word = [0; 8];
                word[..size].copy_from_slice(pointer);
                match u64::from_le_bytes(word) as usize {
                    0 => return Ok(pointers),
                    pointer => pointers.push(pointer),
                }
            }
        }
    }

    /// The texts at these addresses: their first parts by few calls, the rest of long ones one by
    /// one.
    fn read_texts(&self, addresses: &[usize]) -> Result<Vec<Vec<u8>>, Errno> {
        let mut texts = Vec::with_capacity(addresses.len());
        let mut total = 0;
        for batch in addresses.chunks(BATCH) {
            let parts: Vec<RemoteIoVec> = batch
                .iter()
                .map(|&base| RemoteIoVec {
                    base,
                    len: to_page_end(base).min(FIRST_PART),
                })
                .collect();
            let mut buffer = vec![0; parts.iter().map(|it| it.len).sum()];
            // What can't be read ends the call early; the texts behind it are read one by one.
            let n = process_vm_readv(
                Pid::from_raw(self.tid),
                &mut [IoSliceMut::new(&mut buffer)],
                &parts,
            )
            .unwrap_or(0);
            let mut from = 0;
            for part in &parts {
                let read = buffer[from..(from + part.len).min(n).max(from)].to_vec();
                from += part.len;
                let text = self.complete_text(part.base, read)?;
                total += text.len() + 1;
                if total > MAX_ARGUMENTS {
                    return Err(Errno::E2BIG);
                }
                texts.push(text);
            }
        }
        Ok(texts)
    }

    /// The whole text of which the first bytes are there.
    fn complete_text(&self, base: usize, mut text: Vec<u8>) -> Result<Vec<u8>, Errno> {
        let mut searched = 0;
        loop {
            if let Some(end) = text[searched..].iter().position(|byte| *byte == 0) {
                text.truncate(searched + end);
                return Ok(text);
            }
            searched = text.len();
            if searched > MAX_ARGUMENTS {
                return Err(Errno::E2BIG);
            }
            self.read_part(
                base.checked_add(searched).ok_or(Errno::EFAULT)?,
                PAGE,
                &mut text,
            )?;
        }
    }

    /// Appends at least one byte, at most to the end of the page, since the next one may not be
    /// there.
    fn read_part(&self, base: usize, most: usize, bytes: &mut Vec<u8>) -> Result<(), Errno> {
        let (start, len) = (bytes.len(), to_page_end(base).min(most));
        bytes.resize(start + len, 0);
        let part = &mut bytes[start..];
        let pid = Pid::from_raw(self.tid);
        let n = match process_vm_readv(
            pid,
            &mut [IoSliceMut::new(part)],
            &[RemoteIoVec { base, len }],
        ) {
            // Some sandboxes forbid the call and not the file.
            Err(Errno::EPERM | Errno::ENOSYS) => {
                let memory =
                    File::open(format!("/proc/{}/mem", self.tid)).map_err(|_| Errno::EPERM)?;
                memory
                    .read_at(part, base as u64)
                    .map_err(|_| Errno::EFAULT)?
            }
            other => other?,
        };
        bytes.truncate(start + n);
        if n == 0 { Err(Errno::EFAULT) } else { Ok(()) }
    }
}

fn to_page_end(address: usize) -> usize {
    PAGE - address % PAGE
}
