//! The system calls by which programs start, and those that the filter looks into, for each way
//! into the kernel that the processor has.

/// A way into the kernel.
pub struct Entry {
    /// What seccomp calls it (`AUDIT_ARCH_...`).
    pub audit: u32,
    /// The number of `execve`.
    pub execve: u32,
    /// The number of `execveat`.
    pub execveat: u32,
    /// The number of `prlimit64`.
    pub prlimit: u32,
    /// The number of `ioctl`.
    pub ioctl: u32,
    /// The size of a pointer in memory, in bytes.
    pub pointer: usize,
}

/// The native entry first; any other entry is refused.
#[cfg(target_arch = "x86_64")]
pub const ENTRIES: &[Entry] = &[
    Entry {
        audit: 0xC000_003E,
        execve: 59,
        execveat: 322,
        prlimit: 302,
        ioctl: 16,
        pointer: 8,
    },
    // i386, by `int 0x80`, which every 64-bit process can use too.
    Entry {
        audit: 0x4000_0003,
        execve: 11,
        execveat: 358,
        prlimit: 340,
        ioctl: 54,
        pointer: 4,
    },
];

/// The native entry first; any other entry is refused.
#[cfg(target_arch = "aarch64")]
pub const ENTRIES: &[Entry] = &[
    Entry {
        audit: 0xC000_00B7,
        execve: 221,
        execveat: 281,
        prlimit: 261,
        ioctl: 29,
        pointer: 8,
    },
    Entry {
        audit: 0x4000_0028,
        execve: 11,
        execveat: 387,
        prlimit: 369,
        ioctl: 54,
        pointer: 4,
    },
];

/// Numbers of the native entry from this one on are x32's, which has numbers and pointers of its
/// own; nobody uses it.
pub const X32: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0x4000_0000)
} else {
    None
};
