//! `hookwire fleet init`: the streams and buckets, made by an administrator.

use super::super::output::{Output, Tone, safe};
use super::super::{Failure, Finding};
use super::ServerArgs;
use hookwire_fleet::name::Name;
use hookwire_fleet::quota::full_name;
use hookwire_fleet::streams::{Made, Plan, Quota, init_streams};
use serde_json::json;
use std::str::FromStr;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct InitArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// On how many servers each message is kept: 1, or 3 in a cluster.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    replicas: u8,
    /// How long verdicts are kept.
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = humantime::parse_duration)]
    audit_age: Duration,
    /// How many bytes of verdicts are kept, the newest; the servers set that space aside.
    #[arg(long, value_name = "BYTES", default_value_t = Plan::default().audit_bytes)]
    audit_bytes: i64,
    /// A rate that holds for all hosts together, as NAME=LIMIT/WINDOW, such as pushes=50/1h; may be
    /// given several times.
    #[arg(long, value_name = "NAME=LIMIT/WINDOW")]
    quota: Vec<GivenQuota>,
    /// Change streams that are there and differ.
    #[arg(long)]
    update: bool,
}

#[derive(Clone)]
struct GivenQuota(Quota);

impl FromStr for GivenQuota {
    type Err = String;

    fn from_str(text: &str) -> Result<GivenQuota, String> {
        let wrong = || format!("`{text}`: write NAME=LIMIT/WINDOW, such as pushes=50/1h");
        let (name, rate) = text.split_once('=').ok_or_else(wrong)?;
        let (limit, window) = rate.split_once('/').ok_or_else(wrong)?;
        let name: Name = name.parse().map_err(|error| format!("{error}"))?;
        let limit = limit.parse().ok().filter(|it| *it > 0).ok_or_else(wrong)?;
        let window =
            humantime::parse_duration(window).map_err(|error| format!("`{window}`: {error}"))?;
        // Its limits stand in the name: a host that means others finds none.
        let full = full_name(&name, limit, window);
        let name = full.ok_or_else(|| {
            format!("`{text}`: a window is of whole seconds, and the name of 40 characters at most")
        })?;
        Ok(GivenQuota(Quota {
            name,
            limit,
            window,
        }))
    }
}

pub(super) async fn run(args: &InitArgs, out: &mut Output) -> Result<Finding, Failure> {
    let (server, _) = args.server.connect().await?;
    let plan = Plan {
        replicas: args.replicas.into(),
        audit_age: args.audit_age,
        audit_bytes: args.audit_bytes,
        quotas: args.quota.iter().map(|it| it.0.clone()).collect(),
        ..Plan::default()
    };
    let mut finding = Finding::Fine;
    for (name, made) in init_streams(&server, &plan, args.update).await? {
        let (word, tone, differences) = match &made {
            Made::New => ("made", Tone::Good, &[][..]),
            Made::Same => ("as it is to be", Tone::Dim, &[][..]),
            Made::Updated(differences) => ("changed", Tone::Good, &differences[..]),
            Made::Differs(differences) => {
                finding = Finding::Found;
                ("differs", Tone::Warn, &differences[..])
            }
        };
        if out.json {
            out.json(&json!({ "stream": name, "is": word, "differences": differences }));
            continue;
        }
        let word = out.tone(tone, word);
        out.line(&format!("{name:<14} {word}"));
        differences
            .iter()
            .for_each(|difference| out.line(&format!("  {}", safe(difference))));
    }
    if finding == Finding::Found && !out.json {
        out.line("`--update` changes what differs; what a smaller limit has no room for is lost.");
    }
    Ok(finding)
}
