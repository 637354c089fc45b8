//! The small program alone, by the name that packages give it beside `hookwire`.

fn main() -> std::process::ExitCode {
    hookwire_run::main()
}
