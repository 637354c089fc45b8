//! Publishing: files first, by digest; then the signed manifest, which makes them count; then the
//! wait for a host that says what became of it.

use crate::bundle::{Files, KIND, Manifest, Stage};
use crate::digest::Sha256;
use crate::envelope::{Signers, open_envelope, sign_payload};
use crate::hosts::{self, Report, unix_now};
use crate::key::{PublicKey, SecretKey};
use crate::name::{Identity, Name};
use crate::server::{PATIENCE, Server, ServerError};
use crate::streams::{self, BLOBS, DEFS, MAX_MANIFEST};
use async_nats::{HeaderMap, Subscriber};
use futures_util::StreamExt;
use std::time::Duration;

/// A manifest that is published, with the bytes that came.
#[derive(Clone, Debug)]
pub struct Published {
    /// What was signed.
    pub manifest: Manifest,
    /// Of the payload.
    pub digest: Sha256,
    /// Who has signed.
    pub by: Vec<PublicKey>,
}

/// What a channel has at the moment.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// For all hosts.
    pub all: Slot,
    /// For a part of them.
    pub canary: Slot,
}

/// What stands under one key of the bucket.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// The sequence of the last message, 0 without one.
    pub sequence: u64,
    /// What can be believed of it.
    pub published: Option<Published>,
    /// Why it can't be believed.
    pub problem: Option<String>,
}

impl Channel {
    /// Reads what a channel has.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn read_from(
        server: &Server,
        channel: &Name,
        signers: &Signers,
    ) -> Result<Channel, ServerError> {
        let slot = async |subject: String| {
            let Some(message) = server.last_message(DEFS, &subject, PATIENCE).await? else {
                return Ok(Slot::default());
            };
            let read = read_published(&message.payload, channel, signers);
            let (published, problem) = match read {
                Ok(published) => (Some(published), None),
                Err(problem) => (None, Some(problem)),
            };
            Ok::<_, ServerError>(Slot {
                sequence: message.sequence,
                published,
                problem,
            })
        };
        Ok(Channel {
            all: slot(streams::channel_key(channel)).await?,
            canary: slot(streams::canary_key(channel)).await?,
        })
    }

    /// The revision of the next manifest.
    ///
    /// # Errors
    /// What all hosts have can't be believed, so nobody knows its revision. A canary that can't be
    /// believed is in force nowhere where these keys are pinned.
    pub fn next_revision(&self) -> Result<u64, String> {
        if let Some(problem) = &self.all.problem {
            return Err(format!(
                "what the channel has for all hosts can't be believed: {problem}"
            ));
        }
        let of = |slot: &Slot| {
            slot.published
                .as_ref()
                .map_or(0, |published| published.manifest.revision)
        };
        let last = of(&self.all).max(of(&self.canary));
        last.checked_add(1)
            .ok_or_else(|| "the channel has used up all revisions".into())
    }
}

/// The manifests of a channel that are kept, oldest first, with those that can't be believed left
/// out.
///
/// # Errors
/// See [`ServerError`].
pub async fn channel_history(
    server: &Server,
    channel: &Name,
    signers: &Signers,
) -> Result<Vec<Published>, ServerError> {
    let (mut all, mut from) = (Vec::new(), 1);
    let subject = streams::channel_key(channel);
    // The bucket keeps fewer than that.
    for _ in 0..MAX_PAGES {
        let page = server.read_page(DEFS, &subject, from, PATIENCE).await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        from = last.sequence.saturating_add(1);
        all.extend(
            page.iter()
                .filter_map(|it| read_published(&it.payload, channel, signers).ok()),
        );
    }
    Err(ServerError::Other(format!(
        "more manifests of {channel} come than a server keeps"
    )))
}

/// The most pages of manifests that are read.
const MAX_PAGES: usize = 10;

pub(crate) fn read_published(
    bytes: &[u8],
    channel: &Name,
    signers: &Signers,
) -> Result<Published, String> {
    let (payload, by) =
        open_envelope(bytes, MAX_MANIFEST, KIND, signers).map_err(|error| error.to_string())?;
    let manifest = Manifest::parse(&payload).map_err(|error| error.to_string())?;
    if manifest.channel != *channel {
        return Err(format!("it is for the channel {}", manifest.channel));
    }
    Ok(Published {
        manifest,
        digest: Sha256::of_bytes(&payload),
        by,
    })
}

/// Why a bundle wasn't published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Of the server.
    #[error("{0}")]
    Server(#[from] ServerError),
    /// Somebody else has published meanwhile.
    #[error("somebody else has published to {0} meanwhile; look at it and publish again")]
    Meanwhile(Name),
    /// Under the digest of a file there are other bytes.
    #[error(
        "under {0} the server has other bytes than those with this digest; an administrator must remove them"
    )]
    OtherBytes(String),
    /// The manifest with its signatures is too long.
    #[error("the manifest has {0} bytes, more than {MAX_MANIFEST}; publish fewer files")]
    TooLong(usize),
}

/// What was published, as hosts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Of the manifest.
    pub digest: Sha256,
    /// Of the manifest with its signatures.
    pub envelope: Sha256,
}

/// Puts the files of a bundle there, and the manifest, signed by these keys, in the place that
/// `seen` has for its stage.
///
/// # Errors
/// See [`PublishError`]. Nothing is in force then.
pub async fn publish_bundle(
    server: &Server,
    manifest: &Manifest,
    files: &Files,
    keys: &[&SecretKey],
    seen: &Channel,
) -> Result<Sent, PublishError> {
    let payload = manifest.to_payload();
    let envelope = sign_payload(KIND, &payload, keys);
    if envelope.len() > MAX_MANIFEST {
        return Err(PublishError::TooLong(envelope.len()));
    }
    for (sha256, content) in &files.contents {
        put_blob(server, sha256, content).await?;
    }
    let (subject, slot) = match manifest.stage {
        Stage::All => (streams::channel_key(&manifest.channel), &seen.all),
        Stage::Canary { .. } => (streams::canary_key(&manifest.channel), &seen.canary),
    };
    let mut headers = HeaderMap::new();
    headers.insert(
        "Nats-Expected-Last-Subject-Sequence",
        slot.sequence.to_string(),
    );
    let sent = Sent {
        digest: Sha256::of_bytes(&payload),
        envelope: Sha256::of_bytes(&envelope),
    };
    put_manifest(server, &manifest.channel, &subject, headers, envelope).await?;
    Ok(sent)
}

/// Puts a canary in the place of one that can't be believed: the same files under the revision
/// before, so that no host takes it, and none is told of the other any more.
///
/// # Errors
/// See [`PublishError`].
pub async fn replace_canary(
    server: &Server,
    published: &Manifest,
    keys: &[&SecretKey],
    seen: &Channel,
) -> Result<(), PublishError> {
    let revision = published.revision.saturating_sub(1);
    let manifest = Manifest {
        revision,
        stage: Stage::Canary { permille: 1 },
        ..published.clone()
    };
    let envelope = sign_payload(KIND, &manifest.to_payload(), keys);
    let mut headers = HeaderMap::new();
    headers.insert(
        "Nats-Expected-Last-Subject-Sequence",
        seen.canary.sequence.to_string(),
    );
    put_manifest(
        server,
        &manifest.channel,
        &streams::canary_key(&manifest.channel),
        headers,
        envelope,
    )
    .await
}

async fn put_manifest(
    server: &Server,
    channel: &Name,
    subject: &str,
    headers: HeaderMap,
    envelope: Vec<u8>,
) -> Result<(), PublishError> {
    match server
        .publish(subject, headers, envelope.clone().into(), PATIENCE)
        .await
    {
        Ok(_) => Ok(()),
        // It may be ours that was stored, although no answer came: what stands there now tells.
        Err(error @ (ServerError::TimedOut(_) | ServerError::Conflict(_))) => {
            let now = server.last_message(DEFS, subject, PATIENCE).await?;
            match (now.is_some_and(|it| it.payload == envelope), error) {
                (true, _) => Ok(()),
                (false, ServerError::Conflict(_)) => Err(PublishError::Meanwhile(channel.clone())),
                (false, error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Puts a file there once. What is there already is compared, because whoever may write files could
/// have taken its place.
async fn put_blob(server: &Server, sha256: &Sha256, content: &[u8]) -> Result<(), PublishError> {
    let subject = streams::blob_key(sha256);
    let is_there = async || -> Result<bool, PublishError> {
        match server.last_message(BLOBS, &subject, PATIENCE).await? {
            None => Ok(false),
            Some(found) if found.payload == content => Ok(true),
            Some(_) => Err(PublishError::OtherBytes(subject.clone())),
        }
    };
    if is_there().await? {
        return Ok(());
    }
    match server
        .publish(
            &subject,
            HeaderMap::new(),
            content.to_vec().into(),
            PATIENCE,
        )
        .await
    {
        Ok(_) => Ok(()),
        // Somebody else may have put it there, or an answer was lost.
        Err(error @ (ServerError::Full { .. } | ServerError::TimedOut(_))) => {
            match is_there().await? {
                true => Ok(()),
                false => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The files of a manifest that is published already.
///
/// # Errors
/// See [`PublishError`].
pub async fn files_of(server: &Server, manifest: &Manifest) -> Result<Files, PublishError> {
    let mut files = Files {
        entries: manifest.files.clone(),
        ..Files::default()
    };
    for entry in &manifest.files {
        if let std::collections::btree_map::Entry::Vacant(vacant) =
            files.contents.entry(entry.sha256)
        {
            let subject = streams::blob_key(&entry.sha256);
            let found = server.last_message(BLOBS, &subject, PATIENCE).await?;
            let content = found.map(|it| it.payload.to_vec()).unwrap_or_default();
            if Sha256::of_bytes(&content) != entry.sha256 {
                return Err(PublishError::OtherBytes(subject));
            }
            vacant.insert(content);
        }
    }
    Ok(files)
}

/// Reports as they come, for whoever waits for what becomes of a bundle. Subscribe before
/// publishing.
pub struct Reports(Subscriber);

/// What a host says of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It is in force there.
    InForce(Identity, Box<Report>),
    /// It was refused there.
    Refused(Identity, String),
}

impl Reports {
    /// Listens from now on: when this returns, the server knows of it.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn listen(server: &Server) -> Result<Reports, ServerError> {
        let subscription = server
            .client()
            .subscribe(streams::ALL_HOSTS_EACH)
            .await
            .map_err(|error| {
                let error = &error;
                ServerError::Other(format!("reports: {error}"))
            })?;
        // A subscription is sent before the request, and the server takes them in order.
        let _ = server
            .last_message(
                DEFS,
                &streams::channel_key(&Name::nearest("none")),
                PATIENCE,
            )
            .await?;
        Ok(Reports(subscription))
    }

    /// The next report that can be read. `None`: no more come.
    pub async fn next_report(&mut self) -> Option<(Identity, Report)> {
        loop {
            let message = self.0.next().await?;
            if let Some(heard) = hosts::parse_report(&message.subject, &message.payload) {
                return Some(heard);
            }
        }
    }

    /// The next host that says what became of a bundle, within `wait`.
    pub async fn next(&mut self, channel: &Name, sent: &Sent, wait: Duration) -> Option<Became> {
        let found = async {
            while let Some((who, report)) = self.next_report().await {
                if report.channel.as_ref() != Some(channel) {
                    continue;
                }
                if report
                    .in_force
                    .as_ref()
                    .is_some_and(|in_force| in_force.digest == sent.digest)
                {
                    return Some(Became::InForce(who, Box::new(report)));
                }
                let refused = report
                    .refused
                    .filter(|refused| refused.digest == sent.envelope);
                if let Some(refused) = refused {
                    return Some(Became::Refused(who, refused.reason));
                }
            }
            None
        };
        tokio::time::timeout(wait, found).await.ok().flatten()
    }
}

/// When a bundle that is signed now expires.
pub fn expires_in(lifetime: Duration) -> u64 {
    unix_now().saturating_add(lifetime.as_secs())
}
