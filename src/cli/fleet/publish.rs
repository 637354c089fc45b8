//! `hookwire fleet publish`: a directory of definitions, signed, for all hosts of a channel or some
//! of them first.

use super::super::output::{Output, Tone, safe, say_on_stderr};
use super::super::{Failure, Finding};
use super::ServerArgs;
use super::canary::{Pair, as_json};
use super::cases::try_cases;
use super::key::PassphraseArgs;
use hookwire_base::support::amounts::number_of;
use hookwire_engine::fleet::definitions::{Soundness, has_cases, words_needed};
use hookwire_engine::fleet::settings::Followed;
use hookwire_fleet::bundle::{Files, Manifest, Stage};
use hookwire_fleet::envelope::Signers;
use hookwire_fleet::follow::Judge;
use hookwire_fleet::hosts::{Reported, all_hosts, unix_now};
use hookwire_fleet::key::SecretKey;
use hookwire_fleet::name::{Identity, Name};
use hookwire_fleet::publish::{
    Became, Channel, Published, Reports, Sent, channel_history, expires_in, files_of,
    publish_bundle, replace_canary,
};
use hookwire_fleet::server::Server;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["dir", "promote", "roll_back"]))]
pub(super) struct PublishArgs {
    /// The directory of definitions, with their cases and scripts.
    dir: Option<PathBuf>,
    /// Publish to all hosts what the canary has.
    #[arg(long, conflicts_with = "canary")]
    promote: bool,
    /// Publish again what was there before, or the revision that is named: to all hosts, under a
    /// new revision.
    #[arg(long, value_name = "REVISION", num_args = 0..=1, default_missing_value = "0", conflicts_with = "canary")]
    roll_back: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
    /// The file of a key that signs; several if hosts want several.
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// The channel. Without it, the one of the settings, else `main`.
    #[arg(long, value_name = "NAME")]
    channel: Option<Name>,
    /// To a part of the hosts first: so many of a hundred. It is always the same ones.
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "5", value_parser = parse_permille)]
    canary: Option<u16>,
    /// Watch the canary for so long, and take it back if it denies, doubts or fails clearly more
    /// often than what all others have. Exits with 1 then.
    #[arg(long, value_name = "DURATION", requires = "canary", conflicts_with = "revision", value_parser = humantime::parse_duration)]
    watch: Option<Duration>,
    /// Promote a canary that denies, doubts or fails clearly more often, too.
    #[arg(long, requires = "promote")]
    despite_rates: bool,
    /// Publish what some hosts can't read, too. One of these keeps what it has, or denies every call.
    #[arg(long)]
    despite_hosts: bool,
    /// The revision, where what is there was signed by a key that nobody has any more. It must be
    /// above all before.
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
    /// For how long hosts take it. Where it is in force by then, it stays.
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = humantime::parse_duration)]
    expires: Duration,
    /// The oldest hookwire that takes it.
    #[arg(long, value_name = "VERSION")]
    min_host: Option<String>,
    /// A word for people who look at it.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// How long to wait for the first host that says what became of it; the others have 5 seconds
    /// more at most.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = humantime::parse_duration)]
    wait: Duration,
    /// Only check the definitions and try their cases.
    #[arg(long, requires = "dir")]
    dry_run: bool,
    /// Judge the fleet's verdicts of so long again by these definitions, and show what would
    /// change. Exits with 1 if something would.
    #[arg(long, value_name = "DURATION", requires = "dry_run", value_parser = humantime::parse_duration)]
    replay: Option<Duration>,
}

/// How long all other hosts are waited for, once one has said what became of a bundle, and how many
/// refusals are shown.
const MOMENT: Duration = Duration::from_secs(5);
const MAX_SHOWN: usize = 5;

fn parse_permille(text: &str) -> Result<u16, String> {
    let wrong = || "write a part of a hundred, from 0.1 to 99.9".to_string();
    let percent: f64 = text.trim_end_matches('%').parse().map_err(|_| wrong())?;
    let permille = (percent * 10.0).round();
    if (1.0..=999.0).contains(&permille) {
        Ok(permille as u16)
    } else {
        Err(wrong())
    }
}

pub(super) fn run(args: &PublishArgs, out: &mut Output) -> Result<Finding, Failure> {
    let given = args
        .dir
        .as_deref()
        .map(|dir| check_files(dir, out))
        .transpose()?;
    if args.dry_run {
        return match (&args.dir, given, args.replay) {
            (Some(dir), Some(files), Some(since)) => super::super::ending::run_to_end(async |_| {
                replay_bundle(args, (&files, dir), since, out).await
            }),
            _ => Ok(Finding::Fine),
        };
    }
    if args.key.is_empty() {
        return Err(Failure(
            "name the key that signs: `--key FILE`; `hookwire fleet key FILE` makes one".into(),
        ));
    }
    // Before the server is asked, because a person may take a while to type it.
    let keys = args.passphrase.read_keys(&args.key)?;
    super::super::ending::run_to_end(async |_| send_bundle(args, given, &keys, out).await)
}

/// The files of a directory whose definitions are sound, by the same checks that hosts make.
fn check_files(dir: &Path, out: &mut Output) -> Result<Files, Failure> {
    let about = |problem: String| Failure(format!("{}: {problem}", dir.display()));
    if !dir.is_dir() {
        return Err(about("there is no such directory".into()));
    }
    let files = Files::read_dir(dir).map_err(|error| about(error.to_string()))?;
    if files.entries.is_empty() {
        return Err(about("there is nothing in it".into()));
    }
    (Soundness {
        code: true,
        cases: try_cases,
    })
    .check(&files, dir)
    .map_err(about)?;
    if !out.json {
        let cases = if has_cases(&files) {
            ", all cases as expected"
        } else {
            "; there are no cases"
        };
        out.line(&format!(
            "checked {}{cases}",
            number_of(files.entries.len(), "file")
        ));
    }
    if let Err(problem) = (Soundness {
        code: false,
        cases: |_| Ok(()),
    })
    .permits(&files, dir)
    {
        say_on_stderr(format_args!(
            "hosts that permit no code will refuse it: {problem}"
        ));
    }
    Ok(files)
}

async fn send_bundle(
    args: &PublishArgs,
    given: Option<Files>,
    keys: &[SecretKey],
    out: &mut Output,
) -> Result<Finding, Failure> {
    let (server, followed) = args.server.connect().await?;
    let (channel, signers) = channel_signers(args, followed, keys)?;
    let seen = Channel::read_from(&server, &channel, &signers).await?;
    let sender = Sender {
        args,
        server: &server,
        channel: &channel,
        signers: &signers,
        keys,
    };
    if args.promote && sender.is_held(&seen, out).await? {
        return Ok(Finding::Found);
    }
    let files = match given {
        Some(files) => files,
        None => sender.earlier_files(args.roll_back, &seen, out).await?,
    };
    let (sent, became) = sender
        .publish_files(&files, args.canary, args.message.clone(), &seen, out)
        .await?;
    let finding = tell_what_became(became, &sent, args.wait, out);
    match args.watch {
        Some(wait) if finding == Finding::Fine => {
            sender.watch_canary(&sent.manifest, wait, out).await
        }
        _ => Ok(finding),
    }
}

/// What some of these hosts can't read, for people. A host that has ended comes back.
fn unread<'r>(needed: &[&str], hosts: impl Iterator<Item = &'r Reported>) -> Option<String> {
    let lacks = |reported: &&Reported| {
        let reads = &reported.report.reads;
        needed.iter().any(|word| !reads.iter().any(|it| it == word))
    };
    let lacking: Vec<&Reported> = hosts.filter(lacks).collect();
    let names = lacking.iter().take(MAX_SHOWN).map(|reported| {
        format!(
            "{} (hookwire {})",
            reported.who.host,
            safe(&reported.report.version)
        )
    });
    let names: Vec<String> = names.collect();
    let more = match lacking.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let words: Vec<String> = needed.iter().map(|word| format!("`{word}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the definitions use {}, which these hosts may not read: {}{more}",
            words.join(" and "),
            names.join(", ")
        )
    })
}

/// Who publishes, and where.
struct Sender<'a> {
    args: &'a PublishArgs,
    server: &'a Server,
    channel: &'a Name,
    signers: &'a Signers,
    keys: &'a [SecretKey],
}

/// What was published.
struct Done {
    manifest: Manifest,
    took: Duration,
}

impl Sender<'_> {
    /// Whether the canary's rates forbid that it is promoted; they are shown.
    async fn is_held(&self, seen: &Channel, out: &mut Output) -> Result<bool, Failure> {
        // Then they needn't be readable either.
        if self.args.despite_rates {
            return Ok(false);
        }
        let Some(pair) = Pair::from_channel(self.channel, seen) else {
            return Ok(false);
        };
        let compared = pair.compare_rates(self.server).await?;
        let is_held = !compared.worse().is_empty();
        match (out.json, is_held) {
            (true, true) => out.json(&json!({ "held": true, "rates": as_json(&compared) })),
            (true, false) => {}
            (false, _) => pair.print_rates(&compared, out),
        }
        if is_held && !out.json {
            out.line("Nothing is published. `--despite-rates` promotes it, `--roll-back` takes the canary back.");
        }
        Ok(is_held)
    }

    /// The files that were published before, and are to be again.
    async fn earlier_files(
        &self,
        roll_back: Option<u64>,
        seen: &Channel,
        out: &mut Output,
    ) -> Result<Files, Failure> {
        let earlier =
            earlier_manifest(roll_back, self.server, self.channel, self.signers, seen).await?;
        if !out.json {
            out.line(&format!(
                "the files of revision {}, again",
                earlier.manifest.revision
            ));
        }
        Ok(files_of(self.server, &earlier.manifest).await?)
    }

    /// Whether each host that the manifest is for can read what is published.
    async fn is_readable(&self, manifest: &Manifest, files: &Files) -> Result<(), Failure> {
        let needed = words_needed(files, self.args.dir.as_deref().unwrap_or(Path::new(".")))?;
        if needed.is_empty() || self.args.despite_hosts {
            return Ok(());
        }
        let (known, _) = all_hosts(self.server).await?;
        let concerned = known.iter().filter(|reported| {
            reported.report.channel.as_ref() == Some(self.channel)
                && manifest.is_for(reported.who.host.as_str())
        });
        match unread(&needed, concerned) {
            None => Ok(()),
            Some(problem) => Err(Failure(format!(
                "{problem}. Nothing is published. Update them, or publish with `--despite-hosts`"
            ))),
        }
    }

    /// Publishes files as the next revision, and waits for hosts that say what became of them.
    async fn publish_files(
        &self,
        files: &Files,
        canary: Option<u16>,
        message: Option<String>,
        seen: &Channel,
        out: &mut Output,
    ) -> Result<(Done, Vec<Became>), Failure> {
        let (args, channel) = (self.args, self.channel);
        let next = || {
            seen.next_revision().map_err(|problem| {
                Failure(format!(
                    "{problem}; pin the key that has signed it, or name the next --revision"
                ))
            })
        };
        // It is in force on no host that has these keys pinned, and each tells of it.
        let stale = seen.canary.problem.as_ref().filter(|_| canary.is_none());
        let revision = match (args.revision, stale) {
            (Some(revision), _) => revision,
            (None, None) => next()?,
            // The one before is for what takes the canary's place.
            (None, Some(_)) => next()?.saturating_add(1),
        };
        let manifest = Manifest {
            channel: channel.clone(),
            revision,
            stage: canary.map_or(Stage::All, |permille| Stage::Canary { permille }),
            created: unix_now(),
            expires: expires_in(args.expires),
            min_host: args.min_host.clone(),
            message,
            files: files.entries.clone(),
        };
        self.is_readable(&manifest, files).await?;
        let mut reports = Reports::listen(self.server).await?;
        let began = Instant::now();
        let sent = publish_bundle(
            self.server,
            &manifest,
            files,
            &self.keys.iter().collect::<Vec<_>>(),
            seen,
        )
        .await?;
        if !out.json {
            let to = match canary {
                Some(permille) => {
                    format!("the canary of {channel}, {} %", f64::from(permille) / 10.0)
                }
                None => channel.to_string(),
            };
            let digest: String = sent.digest.to_string().chars().take(12).collect();
            out.line(&format!(
                "published revision {} to {to}: {digest}",
                manifest.revision
            ));
        }
        if let Some(problem) = stale {
            let replaced = replace_canary(
                self.server,
                &manifest,
                &self.keys.iter().collect::<Vec<_>>(),
                seen,
            )
            .await;
            match replaced {
                Ok(()) if out.json => {}
                Ok(()) => out.line(&format!(
                    "took away the canary of {channel}, which can't be believed: {}",
                    safe(problem)
                )),
                Err(error) => say_on_stderr(format_args!(
                    "the canary of {channel} can't be believed ({problem}) and stays: {error}"
                )),
            }
        }
        let became = self.hear_hosts(&mut reports, &manifest, &sent).await;
        Ok((
            Done {
                manifest,
                took: began.elapsed(),
            },
            became,
        ))
    }

    /// What hosts say of a bundle: the first one is waited for, and then, for a moment, all others
    /// that are there.
    async fn hear_hosts(
        &self,
        reports: &mut Reports,
        manifest: &Manifest,
        sent: &Sent,
    ) -> Vec<Became> {
        let (known, _) = all_hosts(self.server).await.unwrap_or_default();
        let mut missing: BTreeSet<Identity> = known
            .into_iter()
            .filter(|reported| {
                reported.is_there()
                    && reported.report.channel.as_ref() == Some(self.channel)
                    && manifest.is_for(reported.who.host.as_str())
            })
            .map(|it| it.who)
            .collect();
        let mut said: BTreeMap<Identity, Became> = BTreeMap::new();
        let mut end = Instant::now() + self.args.wait;
        while let Some(became) = reports
            .next(
                self.channel,
                sent,
                end.saturating_duration_since(Instant::now()),
            )
            .await
        {
            if said.is_empty() {
                end = end.min(Instant::now() + MOMENT);
            }
            let (Became::InForce(who, _) | Became::Refused(who, _)) = &became;
            missing.remove(who);
            said.insert(who.clone(), became);
            if missing.is_empty() {
                break;
            }
        }
        said.into_values().collect()
    }

    /// Watches a canary, and takes it back if it does clearly worse.
    async fn watch_canary(
        &self,
        canary: &Manifest,
        wait: Duration,
        out: &mut Output,
    ) -> Result<Finding, Failure> {
        let seen = Channel::read_from(self.server, self.channel, self.signers).await?;
        let Some(pair) =
            Pair::from_channel(self.channel, &seen).filter(|it| it.canary.manifest == *canary)
        else {
            let problem = "nothing was published for all hosts before, or the same files: there is nothing to compare with";
            say_on_stderr(problem);
            return Ok(Finding::Fine);
        };
        if !out.json {
            out.line(&format!(
                "watching the canary for {}",
                humantime::format_duration(wait)
            ));
        }
        let compared = pair.watch_canary(self.server, wait).await;
        let is_worse = !compared.worse().is_empty();
        if out.json {
            out.json(&json!({ "rates": as_json(&compared), "takenBack": is_worse }));
        } else {
            pair.print_rates(&compared, out);
        }
        if !is_worse {
            if !out.json {
                out.line(
                    "It stays a canary; `hookwire fleet publish --promote` publishes it to all.",
                );
            }
            return Ok(Finding::Fine);
        }
        // Somebody may have promoted it or published anew meanwhile, and that counts.
        let seen = Channel::read_from(self.server, self.channel, self.signers).await?;
        if !Pair::from_channel(self.channel, &seen).is_some_and(|it| it.canary.manifest == *canary)
        {
            return Err(Failure(format!(
                "somebody else has published to {} meanwhile; nothing is taken back",
                self.channel
            )));
        }
        let files = self.earlier_files(Some(0), &seen, out).await?;
        let message = format!(
            "instead of the canary of revision {}, which did worse",
            canary.revision
        );
        let (sent, became) = self
            .publish_files(&files, None, Some(message), &seen, out)
            .await?;
        tell_what_became(became, &sent, self.args.wait, out);
        Ok(Finding::Found)
    }
}

/// Shows what a bundle would change about what the fleet has judged.
async fn replay_bundle(
    args: &PublishArgs,
    bundle: (&Files, &Path),
    since: Duration,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let (server, followed) = args.server.connect().await?;
    let Some(Followed { pins, .. }) = followed else {
        let problem = "your settings pin no keys, so nobody knows what is published now; name a settings file with \
                       [definitions] by --fleet";
        return Err(Failure(problem.into()));
    };
    let channel = args.channel.clone().unwrap_or(pins.channel);
    let seen = Channel::read_from(&server, &channel, &pins.signers).await?;
    if let Some(problem) = &seen.all.problem {
        return Err(Failure(format!(
            "what {channel} has at the moment can't be believed: {problem}"
        )));
    }
    super::replay::compare_verdicts(&server, &seen, bundle, since, out).await
}

/// The channel, and whose signatures are believed there.
fn channel_signers(
    args: &PublishArgs,
    followed: Option<Followed>,
    keys: &[SecretKey],
) -> Result<(Name, Signers), Failure> {
    let Some(Followed { pins, .. }) = followed else {
        let channel = args
            .channel
            .clone()
            .unwrap_or_else(|| Name::nearest(hookwire_engine::fleet::settings::CHANNEL));
        return Ok((
            channel,
            Signers::new(keys.iter().map(SecretKey::public), 1)
                .map_err(|error| Failure(error.to_string()))?,
        ));
    };
    let n_pinned = keys
        .iter()
        .filter(|key| pins.signers.keys().any(|it| *it == key.public()))
        .count();
    if n_pinned < pins.signers.threshold() {
        return Err(Failure(format!(
            "{n_pinned} of these keys are pinned in your settings, and hosts want {}; name more with --key",
            pins.signers.threshold()
        )));
    }
    Ok((args.channel.clone().unwrap_or(pins.channel), pins.signers))
}

/// The manifest whose files are published again.
async fn earlier_manifest(
    roll_back: Option<u64>,
    server: &Server,
    channel: &Name,
    signers: &Signers,
    seen: &Channel,
) -> Result<Published, Failure> {
    let newest = seen
        .all
        .published
        .as_ref()
        .map_or(0, |published| published.manifest.revision);
    let canary = seen
        .canary
        .published
        .clone()
        .filter(|published| published.manifest.revision > newest);
    let Some(wanted) = roll_back else {
        if let Some(problem) = &seen.canary.problem {
            return Err(Failure(format!(
                "the canary of {channel} can't be believed: {problem}; `hookwire fleet publish DIR` replaces it"
            )));
        }
        return canary.ok_or_else(|| {
            Failure(format!(
                "{channel} has no canary that is newer than what all hosts have"
            ))
        });
    };
    let mut all = channel_history(server, channel, signers).await?;
    let none = |what: &str| {
        Failure(format!(
            "{channel} has {what}; the last ten that were for all hosts are kept"
        ))
    };
    if wanted > 0 {
        let found = all.into_iter().find(|it| it.manifest.revision == wanted);
        return found.ok_or_else(|| none(&format!("no revision {wanted}")));
    }
    // What the canary has is taken back by what the others have.
    if canary.is_some() {
        return all.pop().ok_or_else(|| none("nothing for all hosts"));
    }
    let last = all.pop().ok_or_else(|| none("nothing published"))?;
    let before = all
        .into_iter()
        .rev()
        .find(|it| it.manifest.content() != last.manifest.content());
    before.ok_or_else(|| none("no other files that were published before"))
}

/// Says what hosts made of it.
fn tell_what_became(became: Vec<Became>, sent: &Done, wait: Duration, out: &mut Output) -> Finding {
    let (revision, took) = (sent.manifest.revision, sent.took);
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for became in became {
        match became {
            Became::InForce(who, _) => taken.push(who),
            Became::Refused(who, reason) => refused.push((who, reason)),
        }
    }
    let finding = if refused.is_empty() {
        Finding::Fine
    } else {
        Finding::Found
    };
    if out.json {
        let first = refused.first().map(|(who, _)| who).or(taken.first());
        out.json(&json!({ "revision": revision, "host": first.map(ToString::to_string),
            "refused": refused.first().map(|(_, reason)| reason), "inForce": !taken.is_empty() && refused.is_empty(),
            "hosts": taken.len() + refused.len(),
            "refusedBy": refused.iter().map(|(who, _)| who.to_string()).collect::<Vec<_>>() }));
        return finding;
    }
    for (who, reason) in refused.iter().take(MAX_SHOWN) {
        let word = out.tone(Tone::Bad, "refused");
        out.line(&format!("{word} by {who}: {}", safe(reason)));
    }
    let word = out.tone(Tone::Good, "in force");
    let after = format!(
        "after {:.1} s; `hookwire fleet status` shows all",
        took.as_secs_f64()
    );
    match (&*taken, refused.len()) {
        ([], 0) => out.line(&format!(
            "no host has said within {} what became of it; `hookwire fleet status` shows those that are there",
            humantime::format_duration(wait)
        )),
        ([], _) => {
            out.line("It is in force on no host that has answered. Mend it and publish again, or `--roll-back`.")
        }
        ([first, others @ ..], n_refused) => {
            let others = match others.len() {
                0 => String::new(),
                n => format!(" and {}", number_of(n, "other")),
            };
            let refusing = if n_refused == 0 { String::new() } else { format!(", but {n_refused} refused it,") };
            out.line(&format!("{word} on {first}{others}{refusing} {after}"));
        }
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_fleet::hosts::Report;

    #[test]
    fn hosts_that_may_not_read_it_are_named() {
        let host = |name: &str, reads: &[&str]| Reported {
            who: Identity {
                host: name.parse().unwrap(),
                instance: "one".parse().unwrap(),
            },
            report: Report {
                version: "0.0.9".into(),
                reads: reads.iter().map(|it| it.to_string()).collect(),
                ..Report::default()
            },
            ago: Duration::ZERO,
        };
        let hosts = [host("old", &[]), host("new", &["where", "Connect"])];
        assert_eq!(unread(&[], hosts.iter()), None);
        assert_eq!(unread(&["where"], hosts[1..].iter()), None);
        let told = unread(&["where", "Connect"], hosts.iter()).unwrap();
        assert_eq!(
            told,
            "the definitions use `where` and `Connect`, which these hosts may not read: old (hookwire 0.0.9)"
        );
    }
}
