//! `hookwire-host`: the large program, which does everything.

use libmimalloc_sys::mi_malloc;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// mimalloc: an event takes about a hundred small allocations, which took a fifth of its time with
/// the C library's.
struct Allocator;

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe; every call goes on to mimalloc as it came"
)]
// SAFETY: `MiMalloc` keeps the contract, and so does `mi_malloc` where a word's alignment is
// enough: it aligns every block to a word. Both give blocks of the same heap.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Most blocks need no more, and to look for an aligned block takes mimalloc twice as many
        // instructions.
        if layout.align() <= align_of::<usize>() {
            return unsafe { mi_malloc(layout.size()) }.cast();
        }
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { MiMalloc.realloc(block, layout, size) }
    }
}

fn main() -> std::process::ExitCode {
    hookwire::main()
}
