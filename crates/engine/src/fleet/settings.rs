//! `fleet.conf`: which servers, as whom, and whom this machine believes.
//!
//! The machine's, `/etc/hookwire/fleet.conf`, decides alone where it is there: what a machine's
//! owner has pinned is not for a command line to change. Else `--fleet` counts, else the user's
//! own. The file is TOML. It doesn't end so, because files of definitions do.

use hookwire_base::support::file;
use hookwire_base::support::places;
use hookwire_base::syntax::diagnostic::LineIndex;
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::decode;
use hookwire_fleet::envelope::Signers;
use hookwire_fleet::follow::Pins;
use hookwire_fleet::key::PublicKey;
use hookwire_fleet::name::Name;
use hookwire_fleet::server::{self, Tls};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file's name, beside definitions of the machine or the user.
const FILE: &str = "fleet.conf";
/// The channel of who names none.
pub const CHANNEL: &str = "main";

/// What counts for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file; `None` if the command line named servers.
    pub file: Option<PathBuf>,
    /// Which servers, as whom.
    pub server: server::Settings,
    /// What is followed.
    pub definitions: Option<Followed>,
    /// Who answers questions.
    pub approvals: Option<Approving>,
    /// The pool that judges for `hookwire hook`, which has no host of its own then.
    pub pool: Option<Name>,
}

/// Who answers questions of this machine's hosts, beside people at the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approving {
    /// Whose answers count, by the names that verdicts tell.
    pub approvers: BTreeMap<String, PublicKey>,
    /// A file with the address of a chat that is told of questions.
    pub(crate) webhook_file: Option<PathBuf>,
}

/// Which published definitions are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Of whom.
    pub pins: Pins,
    /// Whether they may start programs, run code and write files.
    pub code: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Raw {
    servers: Vec<String>,
    host: Option<Name>,
    user: Option<String>,
    password_file: Option<PathBuf>,
    credentials: Option<PathBuf>,
    nkey_file: Option<PathBuf>,
    #[serde(default)]
    tls: Tls,
    definitions: Option<RawFollowed>,
    approvals: Option<RawApproving>,
    pool: Option<Name>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawApproving {
    approvers: BTreeMap<String, PublicKey>,
    webhook_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawFollowed {
    channel: Option<Name>,
    keys: Vec<PublicKey>,
    threshold: Option<usize>,
    #[serde(default)]
    code: bool,
}

impl Settings {
    /// Those that count, if there are any. `system`: the machine's and the user's are looked for.
    ///
    /// # Errors
    /// They can't be used; for people.
    pub fn find(given: Option<&str>, system: bool) -> Result<Option<Settings>, String> {
        let machines = Path::new(places::MACHINE).join(FILE);
        if system && machines.exists() {
            if given.is_some_and(|given| Path::new(given) != machines) {
                tracing::warn!(
                    "--fleet is left out of account: {} decides on this machine.",
                    machines.display()
                );
            }
            return Settings::read(&machines).map(Some);
        }
        if let Some(given) = given {
            return Settings::given(given).map(Some);
        }
        let users = places::user_dirs()
            .iter()
            .map(|dir| dir.join(FILE))
            .find(|it| it.exists());
        users
            .filter(|_| system)
            .map(|it| Settings::read(&it))
            .transpose()
    }

    /// Those of `--fleet`: a file, or servers.
    ///
    /// # Errors
    /// They can't be used; for people.
    pub fn given(given: &str) -> Result<Settings, String> {
        if Path::new(given).is_file() {
            return Settings::read(Path::new(given));
        }
        if !given.contains("://") {
            return Err(format!(
                "--fleet {given}: there is no such file; a server is written nats://HOST:4222"
            ));
        }
        let server =
            server::Settings::from_urls(given).map_err(|error| format!("--fleet: {error}"))?;
        Ok(Settings {
            file: None,
            server,
            definitions: None,
            approvals: None,
            pool: None,
        })
    }

    fn read(path: &Path) -> Result<Settings, String> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let name = path.display().to_string();
        let about = std::fs::metadata(&path).map_err(|error| format!("{name}: {error}"))?;
        // Whoever can write there says whom this machine believes.
        if about.mode() & 0o022 != 0 {
            return Err(format!("{name}: others can write it; `chmod go-w {name}`"));
        }
        let (text, _) = file::read(&path).map_err(|error| format!("{name}: {error}"))?;
        let dir = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        Settings::parse(&text, &dir)
            .map(|settings| Settings {
                file: Some(path),
                ..settings
            })
            .map_err(|(line, problem)| {
                let line = line.map(|it| format!(":{it}")).unwrap_or_default();
                format!("{name}{line}: {problem}")
            })
    }

    /// Reads a file's text. What it names is in `dir` unless the whole path is there. An error has
    /// its line.
    fn parse(text: &str, dir: &Path) -> Result<Settings, (Option<usize>, String)> {
        let lines = LineIndex::new(text);
        let line = |start: usize| Some(lines.position(start).line);
        let node = formats::parse(text, Format::Toml).map_err(|problems| {
            let first = problems.into_iter().next();
            first.map_or((None, "it can't be read".into()), |it| {
                (line(it.span.start), it.message)
            })
        })?;
        let raw: Raw =
            decode(&node).map_err(|error| (line(error.span.start), error.to_string()))?;
        let within = |path: PathBuf| dir.join(path);
        let Tls {
            ca,
            certificate,
            key,
            first,
        } = raw.tls;
        let tls = Tls {
            ca: ca.map(within),
            certificate: certificate.map(within),
            key: key.map(within),
            first,
        };
        let (servers, host, user) = (raw.servers, raw.host, raw.user);
        let [password_file, credentials, nkey_file] =
            [raw.password_file, raw.credentials, raw.nkey_file].map(|file| file.map(within));
        let server = server::Settings {
            servers,
            host,
            user,
            password_file,
            credentials,
            nkey_file,
            tls,
        };
        let definitions = raw.definitions.map(
            |RawFollowed {
                 channel,
                 keys,
                 threshold,
                 code,
             }| {
                let place = node.get("definitions").map_or(0, |it| it.span.start);
                let signers = Signers::new(keys, threshold.unwrap_or(1));
                let signers =
                    signers.map_err(|error| (line(place), format!("definitions: {error}")))?;
                let channel = channel.unwrap_or_else(|| Name::nearest(CHANNEL));
                Ok(Followed {
                    pins: Pins { channel, signers },
                    code,
                })
            },
        );
        let approvals = raw.approvals.map(
            |RawApproving {
                 approvers,
                 webhook_file,
             }| {
                let place = node.get("approvals").map_or(0, |it| it.span.start);
                // With the threshold that counts: one of them answers.
                let signers = Signers::new(approvers.values().copied(), 1);
                signers.map_err(|error| (line(place), format!("approvals: {error}")))?;
                Ok(Approving {
                    approvers,
                    webhook_file: webhook_file.map(within),
                })
            },
        );
        let (definitions, approvals) = (definitions.transpose()?, approvals.transpose()?);
        Ok(Settings {
            file: None,
            server,
            definitions,
            approvals,
            pool: raw.pool,
        })
    }

    /// Where they come from, for people.
    pub fn place(&self) -> String {
        self.file
            .as_ref()
            .map_or_else(|| "--fleet".into(), |it| it.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use std::path::Path;

    const KEY: &str = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    #[test]
    fn a_mistake_has_its_line() {
        let servers = "servers = [\"nats://a:4222\"]\n";
        for (text, line, problem) in [
            (format!("{servers}serverz = 1\n"), Some(2), "serverz"),
            (
                format!("{servers}host = \"a.b\"\n"),
                Some(2),
                "no name here",
            ),
            (
                format!("{servers}pool = \"a.*\"\n"),
                Some(2),
                "no name here",
            ),
            (
                format!("{servers}[definitions]\nkeys = []\n"),
                Some(2),
                "no key is pinned",
            ),
            (
                format!("{servers}[definitions]\nkeys = [\"ed25519:x\"]\n"),
                Some(3),
                "ed25519:",
            ),
            (
                format!("{servers}[definitions]\nkeys = [\"{KEY}\"]\nthreshold = 2\n"),
                Some(2),
                "the threshold is 2",
            ),
            (
                format!("{servers}[approvals]\napprovers = {{}}\n"),
                Some(2),
                "no key is pinned",
            ),
            (
                format!("{servers}[approvals.approvers]\nalice = \"{KEY}x\"\n"),
                Some(3),
                "ed25519:",
            ),
            ("[definitions\n".into(), Some(1), ""),
        ] {
            let (found, said) = Settings::parse(&text, Path::new("/etc/hookwire")).unwrap_err();
            assert!(
                found == line && said.contains(problem),
                "{text}: {found:?} {said}"
            );
        }
        let text = format!(
            "{servers}user = \"host-a\"\npasswordFile = \"pw\"\n[definitions]\nkeys = [\"{KEY}\"]\n"
        );
        let read = Settings::parse(&text, Path::new("/etc/hookwire")).unwrap();
        assert_eq!(
            read.server.password_file.as_deref(),
            Some(Path::new("/etc/hookwire/pw"))
        );
        let followed = read.definitions.unwrap();
        assert_eq!(
            (
                followed.pins.channel.as_str(),
                followed.pins.signers.threshold(),
                followed.code
            ),
            ("main", 1, false)
        );
        let text = format!("{servers}credentials = \"host.creds\"\nnkeyFile = \"/keys/host.nk\"\n");
        let read = Settings::parse(&text, Path::new("/etc/hookwire"))
            .unwrap()
            .server;
        assert_eq!(
            read.credentials.as_deref(),
            Some(Path::new("/etc/hookwire/host.creds"))
        );
        assert_eq!(read.nkey_file.as_deref(), Some(Path::new("/keys/host.nk")));
        let text = format!(
            "{servers}[approvals]\nwebhookFile = \"chat\"\napprovers = {{ alice = \"{KEY}\" }}\n"
        );
        let approving = Settings::parse(&text, Path::new("/etc/hookwire"))
            .unwrap()
            .approvals
            .unwrap();
        assert_eq!(
            approving.webhook_file.as_deref(),
            Some(Path::new("/etc/hookwire/chat"))
        );
        assert_eq!(approving.approvers.keys().collect::<Vec<_>>(), ["alice"]);
    }
}
