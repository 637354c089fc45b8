//! Where a user's things are, as the XDG base directories say.

use std::path::PathBuf;

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user's home directory.
pub fn home() -> Option<PathBuf> {
    absolute("HOME")
}

/// The user's definitions.
pub fn config() -> Option<PathBuf> {
    Some(absolute("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?.join("hookwire"))
}

/// What is kept for the user: what was trusted.
pub fn data() -> Option<PathBuf> {
    Some(absolute("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))?.join("hookwire"))
}

/// The sockets of the user's hosts.
pub fn runtime() -> PathBuf {
    let given = absolute("XDG_RUNTIME_DIR").filter(|path| path.is_dir());
    let user = rustix::process::getuid().as_raw();
    given.map_or_else(|| std::env::temp_dir().join(format!("hookwire-{user}")), |given| given.join("hookwire"))
}
