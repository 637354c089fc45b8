//! The `hookwire` command.

use mimalloc::MiMalloc;

/// An event takes about a hundred small allocations, which took a fifth of its time with the C library's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> std::process::ExitCode {
    hookwire::main()
}
