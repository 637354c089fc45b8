//! The texts that were read last. A call's command is judged when it is about to run, when a
//! permission is asked for it, and after it ran; and agents repeat what they do.

use super::noted::Notes;
use super::patience;
use super::shell::{Script, Shell, read, read_within};
use lru::LruCache;
use parking_lot::Mutex;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// How many texts are kept, for each shell.
const KEPT: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// A longer text is read anew each time, in bytes.
const MAX_LENGTH: usize = 4096;
/// What runs more commands is read anew each time.
const MAX_COMMANDS: usize = 64;
/// Steps that a reader in a hurry takes: some milliseconds.
const QUICK_WORK: usize = 20_000;

type Recent = Mutex<LruCache<Arc<str>, Arc<ReadText>>>;

/// What a text would do, with what was found out about it.
#[derive(Default)]
pub struct ReadText {
    script: Script,
    pub(super) notes: Notes,
}

impl From<Script> for ReadText {
    fn from(script: Script) -> ReadText {
        ReadText {
            script,
            notes: Notes::default(),
        }
    }
}

impl Deref for ReadText {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.script
    }
}

impl fmt::Debug for ReadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.script.fmt(f)
    }
}

/// [`read`], which depends on nothing but its arguments and this process's environment, kept for
/// whoever asks for the same text next. Where there's no [patience] for it, the script isn't all of
/// the text, and must not be kept.
pub fn read_shared(text: &Arc<str>, shell: Shell) -> Arc<ReadText> {
    static RECENT: LazyLock<[Recent; Shell::COUNT]> =
        LazyLock::new(|| std::array::from_fn(|_| Mutex::new(LruCache::new(KEPT))));
    if text.len() > MAX_LENGTH {
        return read_patiently(text, shell).0;
    }
    let recent = &RECENT[shell as usize];
    if let Some(script) = recent.lock().get(&**text) {
        return script.clone();
    }
    let (script, is_all) = read_patiently(text, shell);
    if is_all && script.commands().len() <= MAX_COMMANDS {
        recent.lock().put(text.clone(), script.clone());
    }
    script
}

/// Reads a text as far as there is patience for it, and says whether that is all of it.
fn read_patiently(text: &str, shell: Shell) -> (Arc<ReadText>, bool) {
    if !patience::is_quick() {
        return (Arc::new(read(text, shell).into()), true);
    }
    let (script, was_enough) = read_within(text, shell, QUICK_WORK);
    // Where a user lives is looked up, which takes time.
    let is_all = was_enough && patience::was_enough() || patience::allows_slow();
    (Arc::new(script.into()), is_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once_for_each_shell() {
        let text = &Arc::from("echo >& x; ls");
        let [bash, again, dash] =
            [Shell::Bash, Shell::Bash, Shell::Posix].map(|shell| read_shared(text, shell));
        assert!(Arc::ptr_eq(&bash, &again) && !Arc::ptr_eq(&bash, &dash));
        assert_eq!(
            format!("{bash:?}"),
            format!("{:?}", read(text, Shell::Bash))
        );
        assert_eq!(
            format!("{dash:?}"),
            format!("{:?}", read(text, Shell::Posix))
        );
    }

    #[test]
    fn what_takes_long_is_not_read_in_a_hurry() {
        // Each function calls the next one twice.
        let calls = |n: usize| format!("f{n}() {{ f{next} $x $@; f{next} $@; }}; ", next = n + 1);
        let text = (0..8).map(calls).collect::<String>() + "f8() { git push $@; }; f0 a --force";
        let text = Arc::from(text);
        assert!(patience::quickly(|| read_shared(&text, Shell::Bash)).is_none());
        let patiently = format!("{:?}", read_shared(&text, Shell::Bash));
        assert_eq!(patiently, format!("{:?}", read(&text, Shell::Bash)));
        assert!(patience::quickly(|| read_shared(&"git push".into(), Shell::Bash)).is_some());
    }

    #[test]
    fn what_is_large_is_not_kept() {
        for text in [
            format!("echo {}", "x".repeat(MAX_LENGTH)),
            "a;".repeat(MAX_COMMANDS + 1),
        ] {
            let text = text.into();
            let [first, second] = [(); 2].map(|()| read_shared(&text, Shell::Bash));
            assert!(!Arc::ptr_eq(&first, &second), "{} bytes", text.len());
        }
    }
}
