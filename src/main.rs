//! The `hookwire` command.

fn main() -> std::process::ExitCode {
    hookwire::cli::main()
}
