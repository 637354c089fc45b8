//! A clock that stands still as long as anybody has something to do, and jumps to the next time
//! that somebody waits for as soon as nobody has. Outside of [`block_on`] it is the real one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::time::Instant;

thread_local! {
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

struct Clock {
    now: Instant,
    n_sleeps: u64,
    /// Who waits until when.
    sleepers: BTreeMap<(Instant, u64), Waker>,
}

fn with<T>(look: impl FnOnce(&mut Clock) -> T) -> Option<T> {
    CLOCK.with_borrow_mut(|clock| clock.as_mut().map(look))
}

pub(in crate::engine) fn now() -> Instant {
    with(|clock| clock.now).unwrap_or_else(Instant::now)
}

/// Time passes while nobody else can do anything.
pub(in crate::engine) fn advance(time: Duration) {
    with(|clock| clock.now += time);
}

pub(in crate::engine) async fn sleep_until(at: Instant) {
    let sleeper = with(|clock| {
        clock.n_sleeps += 1;
        Sleep(at, clock.n_sleeps)
    });
    match sleeper {
        Some(sleeper) => sleeper.await,
        None => tokio::time::sleep_until(at).await,
    }
}

pub(in crate::engine) async fn sleep(time: Duration) {
    sleep_until(now() + time).await;
}

/// What a future gives, or nothing if it takes longer.
pub(in crate::engine) async fn within<T>(
    time: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        found = future => Some(found),
        () = sleep(time) => None,
    }
}

struct Sleep(Instant, u64);

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Sleep(at, id) = *self;
        let is_over = with(|clock| {
            let is_over = clock.now >= at;
            if !is_over {
                clock.sleepers.insert((at, id), cx.waker().clone());
            }
            is_over
        });
        match is_over {
            Some(false) => Poll::Pending,
            Some(true) | None => Poll::Ready(()),
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        with(|clock| clock.sleepers.remove(&(self.0, self.1)));
    }
}

/// Runs a future, and what it spawns, by a clock that jumps.
pub(in crate::engine) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let main = Arc::new(Main::default());
    let parked = main.clone();
    let runtime = Builder::new_current_thread()
        .enable_all()
        // In a row, so that what comes last has seen the end of all others.
        .max_blocking_threads(1)
        .on_thread_park(move || parked.jump())
        .build()
        .unwrap();
    let clock = Clock {
        now: Instant::now(),
        n_sleeps: 0,
        sleepers: BTreeMap::new(),
    };
    CLOCK.set(Some(clock));
    let mut future = pin!(future);
    let output = runtime.block_on(poll_fn(|cx| {
        *main.waker.lock().unwrap() = Some(cx.waker().clone());
        main.is_woken.store(false, Ordering::Release);
        let waker = Waker::from(main.clone());
        future.as_mut().poll(&mut Context::from_waker(&waker))
    }));
    drop(runtime);
    CLOCK.set(None);
    output
}

/// The future that the runtime runs beside its tasks.
#[derive(Default)]
struct Main {
    waker: std::sync::Mutex<Option<Waker>>,
    is_woken: AtomicBool,
}

impl Wake for Main {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        if let Some(waker) = &*self.waker.lock().unwrap() {
            waker.wake_by_ref();
        }
    }
}

impl Main {
    /// The runtime has nothing to do: it is the next sleeper's time, unless another thread works
    /// for somebody.
    fn jump(&self) {
        let Some(Some((at, _))) = with(|clock| clock.sleepers.keys().next().copied()) else {
            return;
        };
        let (done, is_done) = mpsc::channel();
        tokio::task::spawn_blocking(move || done.send(()));
        let _ = is_done.recv();
        let n_woken = Handle::current().metrics().global_queue_depth();
        if n_woken > 0 || self.is_woken.load(Ordering::Acquire) {
            return;
        }
        let woken = with(|clock| {
            clock.now = clock.now.max(at);
            let later = clock.sleepers.split_off(&(clock.now, u64::MAX));
            std::mem::replace(&mut clock.sleepers, later)
        });
        woken
            .into_iter()
            .flatten()
            .for_each(|(_, waker)| waker.wake());
    }
}
