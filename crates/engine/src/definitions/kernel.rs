//! Where the kernel tells of changes. On Linux it's asked for changes only, and no more of a
//! directory than matters: a host that heard of every open of `/etc` or of every file in `/tmp`
//! would wake whenever a program starts.

use super::scan::Interest;
use notify::Event;
use std::path::Path;

pub(super) use platform::Kernel;

/// Hears of every change.
type Handler = Box<dyn Fn(notify::Result<Event>) + Send + Sync>;

#[cfg(target_os = "linux")]
mod platform {
    use super::*;
    use notify::EventKind;
    use notify::event::{
        AccessKind, AccessMode, CreateKind, DataChange, Flag, MetadataKind, ModifyKind,
    };
    use notify::event::{RemoveKind, RenameMode};
    use parking_lot::Mutex;
    use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use std::collections::HashMap;
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// A thread that passes on the changes of which the kernel tells. Dropping it ends the thread.
    pub(in super::super) struct Kernel {
        shared: Arc<Shared>,
        /// Written to at the end.
        end: OwnedFd,
    }

    struct Shared {
        inotify: OwnedFd,
        watched: Mutex<Watched>,
        /// Held while events are read, so that they are passed on in their order.
        handler: Mutex<Handler>,
    }

    #[derive(Default)]
    struct Watched {
        paths: HashMap<i32, PathBuf>,
        numbers: HashMap<PathBuf, i32>,
    }

    impl Kernel {
        pub(in super::super) fn new(handler: Handler) -> notify::Result<Kernel> {
            let inotify =
                inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(error)?;
            let end = eventfd(0, EventfdFlags::CLOEXEC).map_err(error)?;
            let ended = end.try_clone().map_err(notify::Error::io)?;
            let shared = Arc::new(Shared {
                inotify,
                watched: Mutex::default(),
                handler: Mutex::new(handler),
            });
            let kernel = Kernel {
                shared: shared.clone(),
                end,
            };
            let run = move || {
                loop {
                    let mut fds = [
                        PollFd::new(&shared.inotify, PollFlags::IN),
                        PollFd::new(&ended, PollFlags::IN),
                    ];
                    match poll(&mut fds, None) {
                        Ok(_) if fds[1].revents().is_empty() => shared.pass_on(),
                        Err(Errno::INTR) => {}
                        Ok(_) | Err(_) => return,
                    }
                }
            };
            std::thread::Builder::new()
                .name("changes".into())
                .spawn(run)
                .map_err(notify::Error::io)?;
            Ok(kernel)
        }

        /// Tells of what matters in a directory from now on, instead of what mattered before.
        pub(in super::super) fn watch(
            &mut self,
            path: &Path,
            interest: &Interest,
        ) -> notify::Result<()> {
            let mut watched = self.shared.watched.lock();
            let number =
                inotify::add_watch(&self.shared.inotify, path, flags(interest)).map_err(error)?;
            watched.paths.insert(number, path.to_path_buf());
            let before = watched.numbers.insert(path.to_path_buf(), number);
            // Another directory was there.
            if let Some(before) = before.filter(|before| *before != number) {
                watched.paths.remove(&before);
                let _ = inotify::remove_watch(&self.shared.inotify, before);
            }
            Ok(())
        }

        pub(in super::super) fn unwatch(&mut self, path: &Path) {
            let mut watched = self.shared.watched.lock();
            if let Some(number) = watched.numbers.remove(path)
                && watched.paths.get(&number).is_some_and(|it| it == path)
            {
                watched.paths.remove(&number);
                // The directory may be gone itself.
                let _ = inotify::remove_watch(&self.shared.inotify, number);
            }
        }

        /// Returns when all is passed on that the kernel has told. On a busy machine the thread
        /// that does so is late, and what it hasn't passed on would look like quiet.
        pub(in super::super) fn catch_up(&mut self) {
            self.shared.pass_on();
        }
    }

    impl Drop for Kernel {
        fn drop(&mut self) {
            // A write of eight bytes to a counter that is 0 can't fail.
            let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        }
    }

    fn error(error: Errno) -> notify::Error {
        match error {
            Errno::NOSPC | Errno::MFILE => notify::Error::new(notify::ErrorKind::MaxFilesWatch),
            error => notify::Error::io(error.into()),
        }
    }

    fn flags(interest: &Interest) -> WatchFlags {
        let mut flags = WatchFlags::ONLYDIR | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        if interest.all || !interest.names.is_empty() {
            flags |= WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        }
        if interest.all || interest.contents {
            flags |= WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
        }
        flags
    }

    impl Shared {
        fn pass_on(&self) {
            let handler = self.handler.lock();
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = Reader::new(&self.inotify, &mut buffer);
            loop {
                let event = match events.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => return,
                    Err(failed) => return handler(Err(error(failed))),
                };
                if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                    handler(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
                    continue;
                }
                let directory = self.watched.lock().paths.get(&event.wd()).cloned();
                let Some(directory) = directory else { continue };
                let name = event
                    .file_name()
                    .map(|name| OsStr::from_bytes(name.to_bytes()));
                let path = name.map_or_else(|| directory.clone(), |name| directory.join(name));
                kinds(event.events())
                    .for_each(|kind| handler(Ok(Event::new(kind).add_path(path.clone()))));
            }
        }
    }

    fn kinds(flags: ReadFlags) -> impl Iterator<Item = EventKind> {
        let is_dir = flags.contains(ReadFlags::ISDIR);
        let created = EventKind::Create(if is_dir {
            CreateKind::Folder
        } else {
            CreateKind::File
        });
        let removed = EventKind::Remove(if is_dir {
            RemoveKind::Folder
        } else {
            RemoveKind::File
        });
        let renamed = |mode| EventKind::Modify(ModifyKind::Name(mode));
        [
            (ReadFlags::CREATE, created),
            (ReadFlags::DELETE, removed),
            (
                ReadFlags::DELETE_SELF,
                EventKind::Remove(RemoveKind::Folder),
            ),
            (ReadFlags::UNMOUNT, EventKind::Remove(RemoveKind::Folder)),
            (ReadFlags::MOVED_FROM, renamed(RenameMode::From)),
            (ReadFlags::MOVE_SELF, renamed(RenameMode::From)),
            (ReadFlags::MOVED_TO, renamed(RenameMode::To)),
            (
                ReadFlags::MODIFY,
                EventKind::Modify(ModifyKind::Data(DataChange::Any)),
            ),
            (
                ReadFlags::CLOSE_WRITE,
                EventKind::Access(AccessKind::Close(AccessMode::Write)),
            ),
            (
                ReadFlags::ATTRIB,
                EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
            ),
        ]
        .into_iter()
        .filter_map(move |(flag, kind)| flags.contains(flag).then_some(kind))
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::*;
    use notify::{RecommendedWatcher, RecursiveMode, Watcher};

    pub(in super::super) struct Kernel(RecommendedWatcher);

    impl Kernel {
        pub(in super::super) fn new(handler: Handler) -> notify::Result<Kernel> {
            notify::recommended_watcher(move |event| handler(event)).map(Kernel)
        }

        pub(in super::super) fn watch(&mut self, path: &Path, _: &Interest) -> notify::Result<()> {
            self.0.watch(path, RecursiveMode::NonRecursive)
        }

        pub(in super::super) fn unwatch(&mut self, path: &Path) {
            // The directory may be gone itself.
            let _ = self.0.unwatch(path);
        }

        /// Returns once the watcher's thread has passed on all that was told before: it answers a
        /// request in the round in which it learns of it, and that it takes a second one ends that
        /// round.
        pub(in super::super) fn catch_up(&mut self) {
            for _ in 0..2 {
                // Nothing is to be configured; a watcher that has failed tells so in its messages.
                let _ = self.0.configure(notify::Config::default());
            }
        }
    }
}
