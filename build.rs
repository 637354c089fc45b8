//! How the programs are linked.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|set| set == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    if is("PROFILE", "debug") {
        // At a place of its own a program needs no relocations: 274,000 of them took most of the
        // time of a start, of which the tests make thousands. What is shipped goes anywhere.
        println!("cargo::rustc-link-arg=-no-pie");
    } else if env::var("HOST") == env::var("TARGET") && is_linked_as_usual() {
        // A dynamic program is right, too; only its start takes longer.
        let _ = link_statically("hookwire");
    }
}

/// Whether nobody has chosen how to link: the trial below knows only the usual way.
fn is_linked_as_usual() -> bool {
    let is_unset = |variable| env::var_os(variable).is_none_or(|set| set.is_empty());
    is_unset("RUSTC_LINKER") && is_unset("CARGO_ENCODED_RUSTFLAGS")
}

/// Links a program without shared libraries, because loading them takes a third of a short
/// program's time. Where glibc has no archives, it stays as it is.
///
/// `crt-static` would do the same, but for all programs of a build at once, and the large one finds
/// hosts by name, for which glibc loads libraries. rustc asks for shared libraries by name; a
/// directory that is searched first has the archives under these names.
fn link_statically(program: &str) -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::var("OUT_DIR")?).join("archives");
    fs::create_dir_all(&directory)?;
    let unwinder = archive("libgcc_eh.a")?;
    for (name, archives) in [
        ("libc.so", vec![archive("libc.a")?, unwinder.clone()]),
        ("libm.so", vec![archive("libm.a")?]),
        ("libgcc_s.so", vec![unwinder]),
    ] {
        let group: Vec<_> = archives.iter().map(|path| format!("\"{path}\"")).collect();
        fs::write(
            directory.join(name),
            format!("GROUP({})\n", group.join(" ")),
        )?;
    }
    try_to_link(&directory)?;
    println!("cargo::rustc-link-arg-bin={program}=-static-pie");
    println!(
        "cargo::rustc-link-arg-bin={program}=-L{}",
        directory.display()
    );
    Ok(())
}

/// Where the C compiler, which rustc links with, has an archive.
fn archive(name: &str) -> Result<String, Box<dyn Error>> {
    let told = Command::new("cc")
        .arg(format!("-print-file-name={name}"))
        .output()?;
    let path = String::from_utf8(told.stdout)?.trim_end().to_string();
    // The name alone is the answer where there is none.
    if path.contains('"') || !Path::new(&path).is_absolute() || !Path::new(&path).exists() {
        return Err(format!("{name} isn't there").into());
    }
    Ok(path)
}

/// Links a program so, and starts it.
fn try_to_link(directory: &Path) -> Result<(), Box<dyn Error>> {
    let (source, program) = (directory.join("try.c"), directory.join("try"));
    fs::write(
        &source,
        "#include <math.h>\nint main(int n, char **a) { return sqrt(n) != 1; }\n",
    )?;
    let linked = Command::new("cc")
        .args(["-static-pie", "-fPIE", "-Wl,-Bdynamic", "-o"])
        .args([&program, &source])
        .arg(format!("-L{}", directory.display()))
        .args(["-lgcc_s", "-lm", "-lc"])
        .output()?;
    let works = linked.status.success() && Command::new(&program).status()?.success();
    works
        .then_some(())
        .ok_or_else(|| "a static program doesn't start".into())
}
