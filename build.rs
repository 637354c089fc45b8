//! How what is built for development is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|it| it == value);
    let is_usual = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // At a place of its own a program needs no relocations: 274,000 of them took most of the time
    // of a start, of which the tests make thousands. What is shipped goes anywhere.
    if is_usual && is("PROFILE", "debug") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
