//! The `hookwire` command.

fn main() -> std::process::ExitCode {
    hookwire::main()
}
