//! How commands that run hooks end: with all that they have started, be it that their work is done
//! or that a signal ends them.

use super::{Failure, Finding};
use crate::rpc::serve::DRAIN;
use hookwire_base::support::file;
use hookwire_engine::host::Host;
use hookwire_handlers::handlers::process_tree;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// How long tasks may take to end once nobody waits for them.
pub(crate) const SHUTDOWN: Duration = Duration::from_millis(50);
/// How long killed processes may take to be gone.
pub(crate) const LEAVE: Duration = Duration::from_millis(200);

/// Hooks that were started and not waited for end with the process; give them the time that `serve`
/// gives.
pub(crate) async fn settle_hooks(host: &Host) {
    let _ = tokio::time::timeout(DRAIN, host.engine.settle()).await;
}

/// The signals that end a command.
pub(crate) fn ending_signals() -> [SignalKind; 3] {
    [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ]
}

/// The exit code of a command that a signal has ended, as a shell gives it.
pub(crate) fn exit_code(kind: SignalKind) -> u8 {
    128 + kind.as_raw_value() as u8
}

/// Files that must be free to be opened: for the runtime, and for what an event is judged by.
const MIN_FREE_FILES: usize = 8;

/// Looks whether files can be opened.
///
/// # Errors
/// There are too few that may be. tokio panics where it can't open what its signals need, which
/// nobody can handle.
pub(crate) fn room_for_files() -> std::io::Result<()> {
    let opened: std::io::Result<Vec<File>> = (0..MIN_FREE_FILES)
        .map(|_| file::open_given(Path::new("/dev/null")))
        .collect();
    opened.map(drop).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::MFILE) => {
            let most = getrlimit(Resource::Nofile).current.map(|current| current.to_string()).unwrap_or_default();
            let problem =
                format!("too few files may be open: the limit (`ulimit -n`) is {most}, and all but a few are");
            std::io::Error::new(error.kind(), problem)
        }
        _ => error,
    })
}

/// Where hooks run. Two threads are enough: hooks wait, they don't compute.
pub(crate) fn make_runtime() -> std::io::Result<Runtime> {
    room_for_files()?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("hooks")
        .enable_all()
        .build()?;
    // A file may be as long as the limit allows: a write beyond is then that write's error, not the
    // end.
    let entered = runtime.enter();
    drop(signal(SignalKind::from_raw(
        rustix::process::Signal::XFSZ.as_raw(),
    ))?);
    drop(entered);
    Ok(runtime)
}

/// Runs a command's work until it is done, or until a signal comes. Then the work is dropped, and
/// with it go the processes of its hooks, its socket and its temporary directories. So the work
/// must not wait but by `await`.
pub(crate) fn run_to_end(
    work: impl AsyncFnOnce(&Runtime) -> Result<Finding, Failure>,
) -> Result<Finding, Failure> {
    let runtime = make_runtime()?;
    let result = runtime.block_on(async {
        let [mut terminate, mut interrupt, mut hangup] = {
            let [a, b, c] = ending_signals();
            [signal(a)?, signal(b)?, signal(c)?]
        };
        let [a, b, c] = ending_signals();
        tokio::select! {
            _ = terminate.recv() => Ok(Finding::Ended(exit_code(a))),
            _ = interrupt.recv() => Ok(Finding::Ended(exit_code(b))),
            _ = hangup.recv() => Ok(Finding::Ended(exit_code(c))),
            result = work(&runtime) => result,
        }
    });
    drop_runtime(runtime);
    result
}

/// Drops the tasks that still run, which ends their processes.
pub(crate) fn drop_runtime(runtime: Runtime) {
    runtime.shutdown_timeout(SHUTDOWN);
    process_tree::leave(LEAVE);
}
