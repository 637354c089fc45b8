//! What pages are told as it happens: the last messages, in memory, and each page's place in them.
//! A page that reads slowly is told how many it has missed; nothing waits for it.

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use futures_util::stream::unfold;
use hyper::body::Frame;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Messages that are kept, and their bytes together.
const MAX_KEPT: usize = 4096;
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// So many bytes are sent at once, and one message more.
const AT_ONCE: usize = 256 * 1024;
/// What is told whole each time: only the last message of such a kind says something.
const STATES: &[&str] = &["hosts", "approvals"];
/// How often a page hears something, be it that there is nothing.
const PULSE: Duration = Duration::from_secs(15);

/// See the module.
#[derive(Default)]
pub(super) struct Feed {
    kept: Mutex<Kept>,
    written: watch::Sender<()>,
}

#[derive(Default)]
struct Kept {
    /// Lines of JSON. The last one has the number `last`, the one before it the number before.
    lines: VecDeque<Bytes>,
    bytes: usize,
    last: u64,
    /// The numbers of the last messages of [`STATES`].
    states: [u64; STATES.len()],
}

/// A page's place.
struct Reader {
    feed: Arc<Feed>,
    written: watch::Receiver<()>,
    /// The number of the last message that was sent.
    heard: u64,
    end: CancellationToken,
}

impl Feed {
    /// Tells all pages something of this kind.
    pub(super) fn tell_pages(&self, kind: &str, more: Map<String, Value>) {
        let mut message = Map::from_iter([("kind".into(), kind.into())]);
        message.extend(more);
        let mut kept = self.kept.lock();
        kept.last += 1;
        message.insert("seq".into(), kept.last.into());
        let line = Bytes::from(format!("{}\n", Value::Object(message)));
        kept.bytes += line.len();
        kept.lines.push_back(line);
        kept.forget_state_before(kind);
        while kept.lines.len() > MAX_KEPT || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.lines.pop_front() else {
                break;
            };
            kept.bytes -= oldest.len();
        }
        drop(kept);
        self.written.send_replace(());
    }

    /// The messages behind this number, or all that are kept, and then each one as it comes, until
    /// the end.
    pub(super) fn read_from(
        self: &Arc<Feed>,
        after: Option<u64>,
        end: CancellationToken,
    ) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + use<> {
        let written = self.written.subscribe();
        let kept = self.kept.lock();
        let oldest = kept.oldest();
        // A number that was never told is of an earlier process.
        let heard = after
            .filter(|after| *after <= kept.last)
            .unwrap_or(oldest - 1);
        drop(kept);
        let reader = Reader {
            feed: self.clone(),
            written,
            heard,
            end,
        };
        unfold(reader, async |mut reader| {
            Some((Ok(Frame::data(reader.next().await?)), reader))
        })
    }
}

impl Kept {
    /// The number of the oldest message, or of the next one.
    fn oldest(&self) -> u64 {
        self.last + 1 - self.lines.len() as u64
    }

    /// The list of a thousand hosts, told often, would leave no room for what they judge. Numbers
    /// stay as they are.
    fn forget_state_before(&mut self, kind: &str) {
        let Some(nth) = STATES.iter().position(|state| *state == kind) else {
            return;
        };
        let (oldest, before) = (
            self.oldest(),
            std::mem::replace(&mut self.states[nth], self.last),
        );
        let line = before
            .checked_sub(oldest)
            .and_then(|at| self.lines.get_mut(usize::try_from(at).ok()?));
        if let Some(line) = line {
            self.bytes -= line.len();
            *line = Bytes::from_static(b"\n");
            self.bytes += line.len();
        }
    }
}

impl Reader {
    /// What is to be sent next. `None`: the session has ended.
    async fn next(&mut self) -> Option<Bytes> {
        let end = self.end.clone();
        loop {
            if end.is_cancelled() {
                return None;
            }
            if let Some(lines) = self.take_next() {
                return Some(lines);
            }
            tokio::select! {
                () = end.cancelled() => return None,
                changed = self.written.changed() => changed.ok()?,
                () = tokio::time::sleep(PULSE) => return Some(Bytes::from_static(b"\n")),
            }
        }
    }

    fn take_next(&mut self) -> Option<Bytes> {
        let kept = self.feed.kept.lock();
        let oldest = kept.oldest();
        let mut lines = BytesMut::new();
        if self.heard + 1 < oldest {
            let (first, last) = (self.heard + 1, oldest - 1);
            let missed = json!({ "kind": "missed", "count": oldest - 1 - self.heard, "first": first, "last": last });
            lines.extend_from_slice(format!("{missed}\n").as_bytes());
            self.heard = oldest - 1;
        }
        let from = usize::try_from(self.heard + 1 - oldest).unwrap_or(usize::MAX);
        for line in kept.lines.iter().skip(from) {
            if lines.len() >= AT_ONCE {
                break;
            }
            lines.extend_from_slice(line);
            self.heard += 1;
        }
        (!lines.is_empty()).then(|| lines.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};

    fn tell(feed: &Feed, text: &str) {
        feed.tell_pages("lost", Map::from_iter([("text".into(), text.into())]));
    }

    /// The messages that are there.
    fn read(
        stream: &mut (impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Unpin),
    ) -> Vec<Value> {
        let mut found = Vec::new();
        while let Some(Some(Ok(frame))) = stream.next().now_or_never() {
            let lines = frame.into_data().unwrap();
            found.extend(
                lines
                    .split(|byte| *byte == b'\n')
                    .filter_map(|line| serde_json::from_slice(line).ok()),
            );
        }
        found
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_what_it_has_missed() {
        let feed = Arc::new(Feed::default());
        tell(&feed, "a\nb");
        let mut all = Box::pin(feed.read_from(None, CancellationToken::new()));
        let mut rest = Box::pin(feed.read_from(Some(1), CancellationToken::new()));
        tell(&feed, "c");
        assert_eq!(
            read(&mut rest),
            [json!({"seq": 2, "kind": "lost", "text": "c"})]
        );
        for _ in 0..MAX_KEPT {
            tell(&feed, "d");
        }
        assert_eq!(read(&mut rest).len(), MAX_KEPT, "it lost nothing");
        let read_all = read(&mut all);
        assert_eq!(
            (&read_all[0], read_all.len()),
            (
                &json!({"kind": "missed", "count": 2, "first": 1, "last": 2}),
                MAX_KEPT + 1
            )
        );
        let large = "x".repeat(MAX_BYTES / 3);
        (0..4).for_each(|_| tell(&feed, &large));
        assert!(feed.kept.lock().bytes <= MAX_BYTES);
        let first = &read(&mut rest)[0];
        assert_eq!(
            (&first["kind"], &first["count"]),
            (&json!("missed"), &json!(2))
        );
        assert_eq!(
            first["last"].as_u64().unwrap() + 1 - first["first"].as_u64().unwrap(),
            2,
            "{first}"
        );
        drop((all, rest));
    }

    #[tokio::test]
    async fn of_what_is_told_whole_the_last_stays() {
        let feed = Arc::new(Feed::default());
        let list = |text: &str| Map::from_iter([("hosts".to_string(), Value::from(text))]);
        feed.tell_pages("hosts", list("first"));
        tell(&feed, "a");
        let large = "x".repeat(MAX_BYTES / 3);
        (0..9).for_each(|_| feed.tell_pages("hosts", list(&large)));
        feed.tell_pages("hosts", list("last"));
        let mut all = Box::pin(feed.read_from(None, CancellationToken::new()));
        let found = read(&mut all);
        assert_eq!(
            (&found[0]["text"], &found[1]["hosts"], found.len()),
            (&json!("a"), &json!("last"), 2)
        );
        assert_eq!(
            (&found[0]["seq"], &found[1]["seq"]),
            (&json!(2), &json!(12))
        );
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_session() {
        let (feed, end) = (Arc::new(Feed::default()), CancellationToken::new());
        let mut stream = Box::pin(feed.read_from(Some(99), end.clone()));
        assert!(stream.next().now_or_never().is_none());
        end.cancel();
        assert!(stream.next().await.is_none());
    }
}
