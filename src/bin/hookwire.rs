//! `hookwire`, as people and agents start it: small, because loading the large program takes longer
//! than what is most often asked. What it doesn't do itself, it has `hookwire-host` do, which
//! stands beside it.

fn main() -> std::process::ExitCode {
    hookwire_run::main()
}
