//! Which files hold secrets, by their names: one list for all that keeps them from a model. A test holds the cookbook's
//! rules to it.

use std::path::Path;

/// Directories of which everything is off limits.
const DIRECTORIES: [&str; 8] =
    [".git", ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".config/gcloud", ".password-store"];

/// Files that are told by the directory that they are in.
const PATHS: [&str; 4] = [".docker/config.json", ".config/gh/hosts.yml", ".m2/settings.xml", ".cargo/credentials"];

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

/// Words for secrets, where a file of data begins or ends with one: `secrets.prod.yml`, `aws_credentials`.
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
const DATA: [&str; 13] =
    ["", "yml", "yaml", "json", "toml", "ini", "cfg", "conf", "properties", "xml", "txt", "tfvars", "csv"];

/// What says of a file that it shows a form, with nothing in it.
const EXAMPLES: [&str; 6] = ["example", "examples", "sample", "template", "dist", "tmpl"];

/// What editors and people put behind the name of a copy.
const COPIES: [&str; 10] = ["~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".copy", ".tmp"];

/// Why a file is off limits, by its path and name in any case of letters; `None` if it isn't.
pub(crate) fn off_limits(path: &Path) -> Option<&'static str> {
    let lower = path.to_string_lossy().to_lowercase();
    let slashed = format!("/{}/", lower.trim_matches('/'));
    let is_in = |place: &&str| slashed.contains(&format!("/{place}/"));
    if DIRECTORIES.iter().any(is_in) {
        return Some("it is off limits, as are the files of git and of keys");
    }
    let name = lower.rsplit('/').next().unwrap_or_default();
    let is_secret = PATHS.iter().any(|it| slashed.ends_with(&format!("/{it}/"))) || is_secret_name(of_original(name));
    is_secret.then_some("it is off limits: files of that name hold secrets")
}

/// The name of the file that one of this name is a copy of: `.env` of `.env.bak`, `.env~` and vim's `..env.swp`.
fn of_original(name: &str) -> &str {
    let mut name = name.trim_matches('#');
    while let Some(shorter) = COPIES.iter().find_map(|copy| name.strip_suffix(copy)).filter(|it| !it.is_empty()) {
        name = shorter;
    }
    name.strip_prefix('.').filter(|rest| rest.starts_with('.')).unwrap_or(name)
}

fn is_secret_name(name: &str) -> bool {
    let mut parts = name.split(['.', '-', '_']);
    if parts.clone().any(|part| EXAMPLES.contains(&part)) {
        return false;
    }
    let is_env = name.strip_prefix(".env").is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']));
    let is_key = NAMES.iter().any(|key| key.starts_with("id_") && name.starts_with(key))
        && !name.ends_with(".pub")
        && !name.ends_with(".rs");
    if is_env || is_key || NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    // A rule that is called `no-secrets` is about secrets, and holds none.
    let is_about = parts.next() == Some("no");
    let begins =
        |word: &&str| stem.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']));
    let ends =
        |word: &&str| stem.strip_suffix(*word).is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '-', '_']));
    DATA.contains(&extension) && !is_about && WORDS.iter().any(|word| begins(word) || ends(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::matching::paths::{Braces, alternatives};

    /// What a rule of the cookbook keeps from being read, this list does.
    #[test]
    fn the_cookbook_names_no_other_files() {
        let mut n_held = 0;
        for rule in [
            include_str!("../../examples/cookbook/no-env-read.yaml"),
            include_str!("../../examples/cookbook/no-credentials.yaml"),
        ] {
            for line in rule.lines().take_while(|line| !line.contains("unless:")) {
                let Some((tools, pattern)) = line.trim().trim_start_matches("- ").split_once('(') else { continue };
                if tools.split('|').any(|tool| tool == "Read") {
                    let pattern =
                        pattern.trim_end_matches(')').replace("**", "x").replace('*', "x").replace('~', "home");
                    for file in alternatives(&pattern, Braces::OfPath).unwrap() {
                        assert!(off_limits(Path::new(&file)).is_some(), "{file}");
                        n_held += 1;
                    }
                }
            }
        }
        assert!(n_held >= 10, "{n_held}");
    }

    #[test]
    fn files_of_secrets() {
        for name in "
            .env .ENV .envrc .env.local .env.production .env-prod .env~ .env.bak ..env.swp #.env# prod.env web/.env.old
            secrets.yml secrets.yaml secret.json secrets.prod.yml app-secrets.toml config/secrets.properties credentials
            credentials.json credentials.toml aws_credentials client_secret_12.json passwords.txt
            service-account.json service-account-prod.json gcp-service-account.json serviceAccount.json kubeconfig
            prod.kubeconfig kubeconfig.yaml terraform.tfstate terraform.tfstate.backup secrets.tfvars
            .docker/config.json home/.docker/config.json .my.cnf .netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials
            .vault-token auth.json id_rsa id_ed25519.old deep/server.pem tls.key a.p12 .kube/config .aws/config .ssh/config
            .config/gcloud/x.db .git/config .config/gh/hosts.yml"
            .split_whitespace()
        {
            assert!(off_limits(Path::new(name)).is_some(), "{name}");
        }
        for name in "
            .env.example .env.sample .env.template .env.dist .env.local.example example.env secrets.example.yml
            credentials.json.sample src/secrets.rs secret_rules.rs credentials.py environment.ts env.rs config.json
            .docker/Dockerfile no-secrets.yaml no-credentials.test.yaml id_rsa.pub id_rsa.rs docs/secrets.md main.tf
            .github/workflows/ci.yml .gitignore package.json auth.ts secretary.json keys.json .envoy.yaml"
            .split_whitespace()
        {
            assert_eq!(off_limits(Path::new(name)), None, "{name}");
        }
    }
}
