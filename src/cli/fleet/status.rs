//! `hookwire fleet status`: the hosts, and what is in force there.

use super::super::output::{Output, Tone, safe, say_on_stderr};
use super::super::{Failure, Finding};
use super::ServerArgs;
use super::canary::Pair;
use hookwire_base::support::amounts::number_of;
use hookwire_engine::fleet::settings::{CHANNEL, Followed};
use hookwire_engine::fleet::standing::{State, state};
use hookwire_fleet::bundle::Stage;
use hookwire_fleet::hosts::{Presence, Reported, all_hosts, forget_host, unix_now};
use hookwire_fleet::name::Name;
use hookwire_fleet::publish::{Channel, Published, Slot};
use hookwire_fleet::server::Server;
use serde_json::json;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Only the hosts of this channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<Name>,
    /// Take a machine's hosts that aren't heard of any more, or one of them, out of what the fleet
    /// knows, as an administrator.
    #[arg(long, value_name = "HOST|HOST.INSTANCE", conflicts_with = "channel")]
    forget: Option<String>,
}

pub(super) async fn run(args: &StatusArgs, out: &mut Output) -> Result<Finding, Failure> {
    let (server, followed) = args.server.connect().await?;
    let (hosts, unread) = all_hosts(&server).await?;
    if let Some(named) = &args.forget {
        return take_out(&server, named, &hosts, out).await;
    }
    let named = args.channel.clone().or_else(|| {
        followed
            .as_ref()
            .map(|followed| followed.pins.channel.clone())
    });
    let name = named.unwrap_or_else(|| Name::nearest(CHANNEL));
    let hosts: Vec<Reported> = match &args.channel {
        Some(channel) => hosts
            .into_iter()
            .filter(|host| host.report.channel.as_ref() == Some(channel))
            .collect(),
        None => hosts,
    };
    // Without pinned keys nobody knows what the channel really has.
    let channel = match &followed {
        Some(Followed { pins, .. }) => {
            Some(Channel::read_from(&server, &name, &pins.signers).await?)
        }
        None => None,
    };
    if !out.json {
        out.line(&format!(
            "{} (nats-server {})",
            safe(server.servers()),
            safe(&server.version())
        ));
        match &channel {
            Some(channel) => {
                tell_channel(&name, channel, &hosts, out);
                if let Some(pair) = Pair::from_channel(&name, channel) {
                    pair.print_rates(&pair.compare_hosts(&hosts), out);
                }
            }
            None => out.line(&format!(
                "channel {name}: your settings pin no keys, so only hosts say what is in force"
            )),
        }
        if unread > 0 {
            out.line(&format!("{} can't be read", number_of(unread, "report")));
        }
    }
    let newest = channel
        .as_ref()
        .and_then(|channel| channel.all.published.as_ref())
        .map(|it| it.manifest.revision);
    let mut finding = Finding::Fine;
    for host in &hosts {
        // Other channels have other revisions.
        let newest = newest.filter(|_| host.report.channel.as_ref() == Some(&name));
        let state = state(host, newest);
        if state.is_wrong {
            finding = Finding::Found;
        }
        if out.json {
            out.json(&json!({ "host": host.who.host, "instance": host.who.instance, "seconds": host.ago.as_secs(),
                "is": describe_presence(host), "report": host.report, "lag": state.lag, "ok": !state.is_wrong }));
        } else {
            tell_host(host, &state, out);
        }
    }
    if hosts.is_empty() && !out.json {
        out.line("No host has ever reported.");
    }
    Ok(finding)
}

fn describe_presence(host: &Reported) -> &'static str {
    match host.presence() {
        Presence::There => "there",
        Presence::Ended => "ended",
        Presence::Silent => "silent",
    }
}

/// Takes hosts out that aren't there.
async fn take_out(
    server: &Server,
    named: &str,
    hosts: &[Reported],
    out: &mut Output,
) -> Result<Finding, Failure> {
    let found: Vec<&Reported> = hosts
        .iter()
        .filter(|reported| reported.who.host.as_str() == named || reported.who.to_string() == named)
        .collect();
    if found.is_empty() {
        return Err(Failure(format!(
            "the fleet knows no host {named}; `hookwire fleet status` lists them"
        )));
    }
    let (there, gone): (Vec<&Reported>, Vec<&Reported>) =
        found.into_iter().partition(|it| it.is_there());
    for host in &gone {
        forget_host(server, &host.who).await?;
        if out.json {
            out.json(&json!({ "forgotten": host.who.to_string() }));
        } else {
            out.line(&format!("{} is taken out", host.who));
        }
    }
    for host in &there {
        say_on_stderr(format_args!(
            "{} stays: it has reported {} s ago",
            host.who,
            host.ago.as_secs()
        ));
    }
    Ok(if there.is_empty() {
        Finding::Fine
    } else {
        Finding::Found
    })
}

fn tell_channel(name: &Name, channel: &Channel, hosts: &[Reported], out: &mut Output) {
    let mut slot = |slot: &Slot, words: &str| match (&slot.published, &slot.problem) {
        (
            Some(Published {
                manifest, digest, ..
            }),
            _,
        ) => {
            // One that isn't heard of is one of them; it has ended only if it has said so.
            let of_channel = hosts.iter().filter(|reported| {
                reported.presence() != Presence::Ended
                    && reported.report.channel.as_ref() == Some(name)
            });
            let (n, there) = (
                of_channel
                    .clone()
                    .filter(|reported| {
                        reported.is_there()
                            && reported
                                .report
                                .in_force
                                .as_ref()
                                .is_some_and(|in_force| in_force.digest == *digest)
                    })
                    .count(),
                of_channel.count(),
            );
            let expires = match manifest.expires.checked_sub(unix_now()) {
                // What was published for 90 days has 90 days left, not 89 and some seconds fewer
                // than a day.
                Some(left) if left >= 2 * DAY => {
                    format!("expires in {} days", (left + DAY / 2) / DAY)
                }
                Some(left) => format!(
                    "expires in {}",
                    humantime::format_duration(Duration::from_secs(left / 60 * 60))
                ),
                None => "expired".into(),
            };
            let message = manifest
                .message
                .as_ref()
                .map(|message| format!("; {}", safe(message)))
                .unwrap_or_default();
            let share = match manifest.stage {
                Stage::All => String::new(),
                Stage::Canary { permille } => format!(" for {} %", f64::from(permille) / 10.0),
            };
            out.line(&format!(
                "channel {name}: {words}revision {}{share}, in force on {n} of {}; {expires}{message}",
                manifest.revision,
                number_of(there, "host")
            ));
        }
        (None, Some(problem)) => {
            let problem = out.tone(Tone::Bad, &safe(problem));
            out.line(&format!("channel {name}: {words}{problem}"));
        }
        (None, None) if words.is_empty() => {
            out.line(&format!("channel {name}: nothing is published"))
        }
        (None, None) => {}
    };
    slot(&channel.all, "");
    if !channel.canary.published.as_ref().is_some_and(|canary| {
        channel
            .all
            .published
            .as_ref()
            .is_some_and(|all| all.manifest.revision > canary.manifest.revision)
    }) {
        slot(&channel.canary, "canary: ");
    }
}

/// In seconds.
const DAY: u64 = 24 * 60 * 60;

fn tell_host(host: &Reported, state: &State, out: &mut Output) {
    let tone = match (state.is_wrong, host.is_there()) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Good,
        (false, false) => Tone::Dim,
    };
    let (who, words) = (host.who.to_string(), out.tone(tone, &state.words));
    out.line(&format!(
        "{who:<28} {words}; {} s ago, hookwire {}",
        host.ago.as_secs(),
        safe(&host.report.version)
    ));
}
