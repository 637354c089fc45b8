//! One moment that several entries of an agent ask about: it is judged once, and each of them is
//! told the verdict.
//!
//! An agent with an entry in the project and one for all projects runs both, mostly at the same
//! time. If both were judged, each call would count twice, and a `once` hook would speak to one
//! entry only.

use hookwire_base::support::digest::of_texts;
use lru::LruCache;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// So many moments are remembered; the oldest one is forgotten first.
const MOST: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// How long a verdict is told again. An agent starts its entries at once or one after another; a
/// model that makes the same call once more, under the same id, takes longer.
const TOLD_AGAIN: Duration = Duration::from_secs(2);

/// What stands for a moment.
type Name = [u8; 32];

/// What was judged of a moment, as soon as it is there, and when that was.
type Judged<T> = Arc<OnceCell<(Instant, T)>>;

/// The moments that were judged just now.
pub struct Repeated<T>(Mutex<LruCache<Name, Judged<T>>>);

impl<T> Default for Repeated<T> {
    fn default() -> Repeated<T> {
        Repeated(Mutex::new(LruCache::new(MOST)))
    }
}

impl<T: Clone> Repeated<T> {
    /// Judges a moment, which these texts tell from others, unless it was judged just now or is
    /// being judged: then it waits for that. Whoever judges may give up; then the next one who
    /// waits judges.
    pub async fn judge<E>(
        &self,
        moment: &[&str],
        judge: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.judge_at(Instant::now(), moment, judge).await
    }

    async fn judge_at<E>(
        &self,
        now: Instant,
        moment: &[&str],
        judge: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let judged = self.remembered(now, of_texts(moment));
        let judge = async { judge.await.map(|verdict| (Instant::now(), verdict)) };
        judged
            .get_or_try_init(|| judge)
            .await
            .map(|(_, verdict)| verdict.clone())
    }

    /// What a moment is told that is this one in other words: another entry is asked about it with
    /// what this one has made of the call.
    pub fn tell(&self, moment: &[&str], verdict: T) {
        let judged = Judged::from(OnceCell::new_with(Some((Instant::now(), verdict))));
        self.0.lock().put(of_texts(moment), judged);
    }

    fn remembered(&self, now: Instant, name: Name) -> Judged<T> {
        let mut remembered = self.0.lock();
        let is_old =
            |judged: &Judged<T>| judged.get().is_some_and(|(at, _)| now - *at > TOLD_AGAIN);
        match remembered.get(&name).filter(|judged| !is_old(judged)) {
            Some(judged) => judged.clone(),
            None => {
                let judged = Judged::default();
                remembered.put(name, judged.clone());
                judged
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::cell::Cell;
    use std::future::pending;

    /// Two entries are told what one was judged; another moment, a later one and one whose judge
    /// failed or gave up are judged anew.
    #[tokio::test]
    async fn a_moment_is_judged_once() {
        let (repeated, n_judged) = (Repeated::default(), Cell::new(0));
        let judge_at = async |now: Instant, moment: &str| {
            let judge = async {
                tokio::task::yield_now().await;
                n_judged.set(n_judged.get() + 1);
                Ok::<_, ()>(n_judged.get())
            };
            repeated.judge_at(now, &["agent", moment], judge).await
        };
        let judge = async |moment: &str| judge_at(Instant::now(), moment).await;
        // Which of them begins isn't said.
        let (a, again, b) = tokio::join!(judge("a"), judge("a"), judge("b"));
        assert!(
            a == again && a != b && n_judged.get() == 2,
            "{a:?} {again:?} {b:?}"
        );
        assert_eq!(judge("a").await, a);
        let later = Instant::now() + TOLD_AGAIN + Duration::from_millis(1);
        assert_eq!(judge_at(later, "a").await, Ok(3));

        assert_eq!(
            repeated
                .judge(&["agent", "c"], async { Err("broken") })
                .await,
            Err("broken")
        );
        let given_up = repeated.judge(&["agent", "c"], pending::<Result<i32, ()>>());
        assert!(given_up.now_or_never().is_none());
        assert_eq!(judge("c").await, Ok(4));
        repeated.tell(&["agent", "d"], 9);
        assert_eq!(judge("d").await, Ok(9));
    }
}
