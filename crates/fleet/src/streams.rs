//! Every stream and bucket in one table, and the subjects of what is in them.
//!
//! An administrator makes them; hosts never do, and their accounts can't. Subjects are made by
//! functions here alone, from [`Name`]s and digests, so that no text from elsewhere adds a token to
//! one.

use crate::name::{Identity, Name};
use crate::server::{Server, ServerError};
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, Republish, StorageType};
use std::time::Duration;

/// The bucket of signed manifests, a key for each channel.
pub const DEFS: &str = "KV_hw_defs";
/// Files by their digests, each written once.
pub const BLOBS: &str = "HW_BLOBS";
/// The bucket of what hosts report of themselves.
pub const HOSTS: &str = "KV_hw_hosts";
/// Verdicts.
pub const AUDIT: &str = "HW_AUDIT";
/// Counters of what was spent.
pub const SPEND: &str = "HW_SPEND";
/// The bucket of values that hooks share.
pub const STATE: &str = "KV_hw_state";
/// Questions that wait for a person.
pub const ASK: &str = "HW_ASK";
/// Answers, one for each question.
pub const ANSWER: &str = "HW_ANSWER";

/// The most bytes of a manifest with its signatures.
pub const MAX_MANIFEST: usize = 512 << 10;
/// The most bytes of one file of a bundle: the server takes messages of 1 MiB, with their headers.
pub const MAX_BLOB: usize = (1 << 20) - (8 << 10);
/// The most bytes of what a host reports of itself.
pub const MAX_REPORT: usize = 64 << 10;
/// The most bytes of one verdict.
pub const MAX_VERDICT: usize = 256 << 10;
/// The most bytes of a question.
pub const MAX_ASK: usize = 64 << 10;
/// The most bytes of an answer.
pub const MAX_ANSWER: usize = 16 << 10;
/// How many manifests of a channel are kept.
pub const HISTORY: i64 = 10;
/// How long a host counts as there after its last report.
pub const HOST_AGE: Duration = Duration::from_secs(90);
/// For how long the server knows a message by its id.
pub const WINDOW: Duration = Duration::from_secs(600);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The key of a channel's manifest.
pub fn channel_key(channel: &Name) -> String {
    format!("$KV.hw_defs.channel.{channel}")
}

/// The key of the manifest that a part of a channel's hosts has first.
pub fn canary_key(channel: &Name) -> String {
    format!("$KV.hw_defs.canary.{channel}")
}

/// Where the server says that a channel's manifest is another one, or that of its canary.
pub fn changed_subject(channel: &Name) -> String {
    format!("hw.changed.*.{channel}")
}

/// The place of a file with this SHA-256.
pub fn blob_key(sha256: &crate::digest::Sha256) -> String {
    format!("hw.blob.{sha256}")
}

/// The key of what a host reports.
pub fn host_key(who: &Identity) -> String {
    format!("$KV.hw_hosts.{who}")
}

/// All reports.
pub const ALL_HOSTS: &str = "$KV.hw_hosts.>";

/// All reports, as a permission names them.
pub const ALL_HOSTS_EACH: &str = "$KV.hw_hosts.*.*";

/// Where a host's verdicts go.
pub fn audit_subject(who: &Identity) -> String {
    format!("hw.audit.{who}")
}

/// All verdicts.
pub const ALL_AUDIT: &str = "hw.audit.>";

/// The stream of a quota.
pub fn quota_stream(quota: &Name) -> String {
    format!("HW_QUOTA_{quota}")
}

/// Where takes of a quota go, for one key of it.
pub fn quota_subject(quota: &Name, key: &Name) -> String {
    format!("hw.quota.{quota}.{key}")
}

/// The counter of a budget in a period.
pub fn spend_subject(budget: &Name, period: &Name) -> String {
    format!("hw.spend.{budget}.{period}")
}

/// The key of a value that hooks share.
pub fn state_subject(key: &Name) -> String {
    format!("$KV.hw_state.{key}")
}

/// Where a host's question goes.
pub fn ask_subject(who: &Identity, ask: &Name) -> String {
    format!("hw.ask.{who}.{ask}")
}

/// All questions.
pub const ALL_ASKS: &str = "hw.ask.>";

/// Where the server repeats questions that were stored.
pub const ASKED: &str = "hw.asked.>";

/// The same, as a permission names it.
pub const ASKED_EACH: &str = "hw.asked.*.*.*";

/// Where hosts are told that their questions have answers, as a permission names it.
pub const TOLD_EACH: &str = "hw.told.*.*.*";

/// Where the answer to a host's question goes.
pub fn answer_subject(who: &Identity, ask: &Name) -> String {
    format!("hw.answer.{who}.{ask}")
}

/// All answers.
pub const ALL_ANSWERS: &str = "hw.answer.>";

/// Where the server repeats an answer that was stored.
pub fn told_subject(who: &Identity, ask: &Name) -> String {
    format!("hw.told.{who}.{ask}")
}

/// Where a pool of hosts is asked.
pub fn dispatch_subject(pool: &Name) -> String {
    format!("hw.dispatch.{pool}")
}

/// The rest of a subject below a prefix, token by token: `below("hw.audit", "hw.audit.a.b")` is
/// `["a", "b"]`.
pub fn names_below(prefix: &str, subject: &str) -> Option<Vec<Name>> {
    let rest = subject.strip_prefix(prefix)?.strip_prefix('.')?;
    rest.split('.').map(|token| token.parse().ok()).collect()
}

/// A rate that holds everywhere together: at most `limit` in each `window`, for each key of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its name.
    pub name: Name,
    /// How many.
    pub limit: u32,
    /// In how long.
    pub window: Duration,
}

/// What an administrator chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// On how many servers each message is: 1, or 3 in a cluster.
    pub replicas: usize,
    /// How long verdicts are kept.
    pub audit_age: Duration,
    /// How many bytes of them are kept, the newest. The server sets the disk space aside.
    pub audit_bytes: i64,
    /// How many bytes of bundles' files are kept. When they are there, `publish` says so.
    pub blob_bytes: i64,
    /// Rates that hold everywhere together.
    pub quotas: Vec<Quota>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            replicas: 1,
            audit_age: 90 * DAY,
            audit_bytes: 2 << 30,
            blob_bytes: 512 << 20,
            quotas: Vec::new(),
        }
    }
}

/// All streams of a plan, as the server is to have them.
pub fn stream_table(plan: &Plan) -> Vec<Config> {
    let base = |name: &str, subject: &str, description: &str| Config {
        name: name.into(),
        subjects: vec![subject.into()],
        description: Some(description.into()),
        storage: StorageType::File,
        num_replicas: plan.replicas,
        allow_direct: true,
        // With a header, whoever may write to one subject could empty the whole stream.
        allow_rollup: false,
        deny_delete: true,
        max_messages: -1,
        max_message_size: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        discard: DiscardPolicy::Old,
        ..Config::default()
    };
    let republish = |source: &str, destination: &str| {
        Some(Republish {
            source: source.into(),
            destination: destination.into(),
            headers_only: false,
        })
    };
    let write_once = |config: Config| Config {
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        ..config
    };
    let size = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
    let mut all = vec![
        Config {
            max_messages_per_subject: HISTORY,
            max_message_size: size(MAX_MANIFEST),
            max_bytes: 256 << 20,
            republish: republish("$KV.hw_defs.>", "hw.changed.>"),
            ..base(
                DEFS,
                "$KV.hw_defs.>",
                "hookwire: signed manifests of bundles, by channel",
            )
        },
        write_once(Config {
            max_message_size: size(MAX_BLOB + 1024),
            max_bytes: plan.blob_bytes,
            ..base(BLOBS, "hw.blob.*", "hookwire: files of bundles, by SHA-256")
        }),
        Config {
            max_messages_per_subject: 1,
            max_message_size: size(MAX_REPORT),
            max_bytes: 256 << 20,
            // A host that isn't heard of any more stays until somebody takes it out; one that has
            // ended says how long.
            allow_message_ttl: true,
            ..base(
                HOSTS,
                ALL_HOSTS,
                "hookwire: what hosts report of themselves",
            )
        },
        Config {
            max_message_size: size(MAX_VERDICT),
            max_bytes: plan.audit_bytes,
            max_age: plan.audit_age,
            duplicate_window: WINDOW,
            ..base(AUDIT, ALL_AUDIT, "hookwire: verdicts, by host")
        },
        Config {
            max_bytes: 256 << 20,
            max_age: 40 * DAY,
            duplicate_window: WINDOW,
            allow_message_counter: true,
            ..base(
                SPEND,
                "hw.spend.*.*",
                "hookwire: what was spent of budgets, in millionths, by period",
            )
        },
        Config {
            max_messages_per_subject: 1,
            max_message_size: size(MAX_ASK),
            max_bytes: 64 << 20,
            // Without markers of what has ended: with them, the server allows the header that
            // empties a stream.
            allow_message_ttl: true,
            ..base(STATE, "$KV.hw_state.>", "hookwire: values that hooks share")
        },
        write_once(Config {
            max_message_size: size(MAX_ASK),
            max_bytes: 64 << 20,
            max_age: 7 * DAY,
            republish: republish(ALL_ASKS, ASKED),
            ..base(
                ASK,
                ALL_ASKS,
                "hookwire: questions that wait for a person, by host",
            )
        }),
        write_once(Config {
            max_message_size: size(MAX_ANSWER),
            max_bytes: 64 << 20,
            max_age: 30 * DAY,
            republish: republish(ALL_ANSWERS, "hw.told.>"),
            ..base(
                ANSWER,
                ALL_ANSWERS,
                "hookwire: signed answers, one for each question",
            )
        }),
    ];
    all.extend(plan.quotas.iter().map(|quota| Config {
        max_messages_per_subject: quota.limit.into(),
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        max_bytes: 64 << 20,
        max_message_size: 1024,
        max_age: quota.window,
        duplicate_window: quota.window.min(WINDOW),
        ..base(
            &quota_stream(&quota.name),
            &format!("hw.quota.{}.*", quota.name),
            "hookwire: a rate that holds everywhere",
        )
    }));
    all
}

/// What became of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// It is new.
    New,
    /// It was there as it is to be.
    Same,
    /// It was there and differs; each difference is a text for people.
    Differs(Vec<String>),
    /// It differed, and is now as it is to be.
    Updated(Vec<String>),
}

/// Makes the streams of a plan that aren't there, and says what differs of the others. With
/// `update`, those are changed. What they hold stays, as far as the limits have room for it.
///
/// # Errors
/// The first stream that couldn't be looked at, made or changed.
pub async fn init_streams(
    server: &Server,
    plan: &Plan,
    update: bool,
) -> Result<Vec<(String, Made)>, ServerError> {
    let mut all = Vec::new();
    for wanted in stream_table(plan) {
        let name = wanted.name.clone();
        all.push((name, make_stream(server, wanted, update).await?));
    }
    Ok(all)
}

async fn make_stream(server: &Server, wanted: Config, update: bool) -> Result<Made, ServerError> {
    server.usable()?;
    let begun = std::time::Instant::now();
    let jetstream = server.jetstream(crate::server::PATIENCE);
    let name = wanted.name.clone();
    let late =
        |subject: &str| server.explain_silence(&format!("$JS.API.STREAM.{subject}.{name}"), begun);
    let found = match jetstream.get_stream(&name).await {
        Ok(stream) => Some(stream.cached_info().config.clone()),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(told)
                if told.error_code() == async_nats::jetstream::ErrorCode::STREAM_NOT_FOUND =>
            {
                None
            }
            GetStreamErrorKind::Request => return Err(late("INFO")),
            kind => return Err(ServerError::Other(format!("{name}: {kind}"))),
        },
    };
    let Some(found) = found else {
        return match jetstream.create_stream(wanted).await {
            Ok(_) => Ok(Made::New),
            Err(error) => Err(match error.kind() {
                CreateStreamErrorKind::TimedOut => late("CREATE"),
                CreateStreamErrorKind::JetStream(told) => {
                    ServerError::Other(format!("{name}: {told}"))
                }
                kind => ServerError::Other(format!("{name}: {kind}")),
            }),
        };
    };
    let differences = list_differences(&wanted, &found);
    if differences.is_empty() {
        return Ok(Made::Same);
    }
    if !update {
        return Ok(Made::Differs(differences));
    }
    match jetstream.update_stream(&wanted).await {
        Ok(_) => Ok(Made::Updated(differences)),
        Err(error) => Err(ServerError::Other(format!("{name}: {error}"))),
    }
}

/// How a stream differs from what it is to be, member by member.
fn list_differences(wanted: &Config, found: &Config) -> Vec<String> {
    let mut all = Vec::new();
    let mut compare = |what: &str, wanted: String, found: String| {
        if wanted != found {
            all.push(format!("{what} is {found}, not {wanted}"));
        }
    };
    macro_rules! members {
        ($($member:ident),*) => {
            $(compare(stringify!($member), format!("{:?}", wanted.$member), format!("{:?}", found.$member));)*
        };
    }
    members!(
        subjects,
        num_replicas,
        max_age,
        max_bytes,
        max_messages,
        max_messages_per_subject,
        max_message_size,
        discard,
        discard_new_per_subject,
        allow_direct,
        allow_rollup,
        deny_delete,
        republish,
        allow_message_counter,
        allow_message_ttl,
        storage
    );
    if wanted.duplicate_window > Duration::ZERO {
        compare(
            "duplicate_window",
            format!("{:?}", wanted.duplicate_window),
            format!("{:?}", found.duplicate_window),
        );
    }
    all
}
