//! Which files hold secrets, by their names: one list for all that keeps them from a model. A test
//! holds the cookbook's rules to it.

use std::path::Path;

/// Directories of which everything is off limits.
const DIRECTORIES: [&str; 8] = [
    ".git",
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".config/gcloud",
    ".password-store",
];

/// Files that are told by the directory that they are in.
const PATHS: [&str; 4] = [
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".m2/settings.xml",
    ".cargo/credentials",
];

/// Names of files.
const NAMES: [&str; 31] = [
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    ".dockercfg",
    ".dockerconfigjson",
    ".credentials.json",
    ".vault-token",
    ".vault_pass",
    "vault_pass.txt",
    ".boto",
    ".s3cfg",
    ".smbcredentials",
    ".terraformrc",
    "rclone.conf",
    "wp-config.php",
    "auth.json",
    "local.settings.json",
    "application_default_credentials.json",
    "kubeconfig",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
];

/// How names end, that of the file `x` in `x.pem` being anything.
const ENDINGS: [&str; 16] = [
    ".env",
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".asc",
    ".ppk",
    ".ovpn",
    ".tfstate",
    ".kubeconfig",
    ".gpg",
    ".agekey",
];

/// Words for secrets, where a file of data begins or ends with one: `secrets.prod.yml`,
/// `aws_credentials`.
const WORDS: [&str; 11] = [
    "secret",
    "secrets",
    "credential",
    "credentials",
    "passwords",
    "service-account",
    "service_account",
    "serviceaccount",
    "client_secret",
    "client-secret",
    "kubeconfig",
];

/// How the names of data end; code about secrets holds none.
const DATA: [&str; 13] = [
    "",
    "yml",
    "yaml",
    "json",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "xml",
    "txt",
    "tfvars",
    "csv",
];

/// What says of a file that it shows a form, with nothing in it.
const EXAMPLES: [&str; 6] = ["example", "examples", "sample", "template", "dist", "tmpl"];

/// What editors and people put behind the name of a copy.
const COPIES: [&str; 10] = [
    "~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".copy", ".tmp",
];

/// Why a file is off limits, by its path and name in any case of letters; `None` if it isn't.
pub fn off_limits(path: &Path) -> Option<&'static str> {
    let lower = path.to_string_lossy().to_lowercase();
    let slashed = format!("/{}/", lower.trim_matches('/'));
    let is_in = |place: &&str| slashed.contains(&format!("/{place}/"));
    if DIRECTORIES.iter().any(is_in) {
        return Some("it is off limits, as are the files of git and of keys");
    }
    let name = lower.rsplit('/').next().unwrap_or_default();
    let is_secret = PATHS.iter().any(|it| slashed.ends_with(&format!("/{it}/")))
        || is_secret_name(of_original(name));
    is_secret.then_some("it is off limits: files of that name hold secrets")
}

/// The name of the file that one of this name is a copy of: `.env` of `.env.bak`, `.env~` and vim's
/// `..env.swp`.
fn of_original(name: &str) -> &str {
    let mut name = name.trim_matches('#');
    while let Some(shorter) = COPIES
        .iter()
        .find_map(|copy| name.strip_suffix(copy))
        .filter(|it| !it.is_empty())
    {
        name = shorter;
    }
    name.strip_prefix('.')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(name)
}

fn is_secret_name(name: &str) -> bool {
    let mut parts = name.split(['.', '-', '_']);
    if parts.clone().any(|part| EXAMPLES.contains(&part)) {
        return false;
    }
    let is_env = name
        .strip_prefix(".env")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']));
    let is_key = NAMES
        .iter()
        .any(|key| key.starts_with("id_") && name.starts_with(key))
        && !name.ends_with(".pub")
        && !name.ends_with(".rs");
    if is_env
        || is_key
        || NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
    {
        return true;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    // A rule that is called `no-secrets` is about secrets, and holds none.
    let is_about = parts.next() == Some("no");
    let begins = |word: &&str| {
        stem.strip_prefix(*word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
    };
    let ends = |word: &&str| {
        stem.strip_suffix(*word)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '-', '_']))
    };
    DATA.contains(&extension) && !is_about && WORDS.iter().any(|word| begins(word) || ends(word))
}
