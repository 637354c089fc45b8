//! What shell texts do, and rules over it: the crate `hookwire-acts`, by the name that it has here.
//! A text is read as it runs for whoever asks: with the home, the user and the directories of this
//! process's environment, which an agent's host shares with it.

pub use hookwire_acts::*;

use super::patience;
use hookwire_base::support::places;
use std::sync::{Arc, LazyLock};

/// What the environment says, and what the password database says where that isn't the same.
static ENVIRONMENTS: LazyLock<Vec<Arc<Environment>>> = LazyLock::new(|| {
    let of_environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_database = |name: &str| places::of_password_database(name);
    let home_of = |user: &str| places::home_of(user, patience::allows_slow);
    let says = |name: &str| match name {
        // Shells set it by themselves.
        "UID" => of_database(name),
        _ => of_environment(name).or_else(|| of_database(name)),
    };
    let differs = |name: &str| {
        of_database(name).is_some_and(|value| says(name).is_some_and(|it| it != value))
    };
    let environment = Environment::new(says, Box::new(home_of));
    let database = || {
        Environment::new(
            |name| of_database(name).or_else(|| says(name)),
            Box::new(home_of),
        )
    };
    let second = GIVEN.iter().any(|name| differs(name)).then(database);
    [environment]
        .into_iter()
        .chain(second)
        .map(Arc::new)
        .collect()
});

/// Lists what a text would run.
pub fn read(text: &str, shell: Shell) -> Script {
    read_within(text, shell, MAX_WORK).0
}

/// Reads a text in so many steps, and says whether these were enough.
pub fn read_within(text: &str, shell: Shell, max_work: usize) -> (Script, bool) {
    // Most texts ask for none of it.
    let asks = memchr::memchr3(b'$', b'~', b'`', text.as_bytes()).is_some() || text.contains("cd");
    read_given(
        text,
        shell,
        max_work,
        if asks { &ENVIRONMENTS } else { &[] },
    )
}
