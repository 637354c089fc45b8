//! Notices that the server has stored something. Nothing that a notice says is believed: it says
//! only when to look.

use crate::server::{Link, Server};
use async_nats::Subscriber;
use futures_util::stream::{SelectAll, select_all};
use futures_util::{FutureExt, StreamExt};
use std::time::Duration;
use tokio::sync::watch;

/// Notices of some subjects. Each connection needs subscriptions of its own.
pub struct Notices {
    server: Server,
    subjects: Vec<String>,
    link: watch::Receiver<Link>,
    of: Option<(u64, SelectAll<Subscriber>)>,
}

impl Notices {
    /// Those of these subjects, which may have `*` and a last `>`. Where the account may not
    /// subscribe, none comes.
    pub fn new(server: &Server, subjects: impl IntoIterator<Item = String>) -> Notices {
        Notices {
            server: server.clone(),
            subjects: subjects.into_iter().collect(),
            link: server.link(),
            of: None,
        }
    }

    /// Subscribes, if the connection is another one than before, and says whether it is. Whoever
    /// does so before looking misses nothing.
    pub async fn subscribe_anew(&mut self) -> bool {
        let Link::Up(connection) = *self.link.borrow_and_update() else {
            return false;
        };
        if self.of.as_ref().is_some_and(|(of, _)| *of == connection) {
            return false;
        }
        let mut notices = Vec::new();
        for subject in &self.subjects {
            notices.extend(self.server.client().subscribe(subject.clone()).await.ok());
        }
        self.of = (notices.len() == self.subjects.len()).then(|| (connection, select_all(notices)));
        true
    }

    /// Waits for a notice, for another connection, or for so long: a notice may be lost. Many
    /// notices are one.
    pub async fn wait_at_most(&mut self, at_most: Duration) {
        let notice = async {
            match &mut self.of {
                Some((_, notices)) => {
                    if notices.next().await.is_none() {
                        std::future::pending::<()>().await;
                    }
                    while notices.next().now_or_never().flatten().is_some() {}
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = notice => {}
            _ = self.link.changed() => {}
            () = tokio::time::sleep(at_most) => {}
        }
    }
}
