//! What the process holds of the machine's memory.

/// Gives the memory that was freed back to the system. The allocator keeps it otherwise, in each
/// thread's own part: hundreds of small pieces that a script took on several threads are never one
/// large one at the end of a part, which is all that is given back by itself.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(
        unsafe_code,
        reason = "a function of the C library that has no safe form"
    )]
    // SAFETY: it has no preconditions, takes the allocator's own locks, and touches free memory
    // only.
    unsafe {
        libc::malloc_trim(0);
    }
}
