//! What is known where the walk is: the directory, which variables are set, what a function or a
//! text was given. Where a text may take one way or another, only what holds on each of them is
//! known.

use super::super::directories::Directories;
use super::super::expand::Word;
use super::super::{Shell, Span};
use super::{Function, Input, MAX_KEPT, Passed, TOO_LARGE, Walk};
use std::collections::HashSet;
use std::rc::Rc;

/// The names of variables that are set; nothing where none is. A copy is made for each command, so
/// that they are shared until they change.
#[derive(Clone, Debug, Default)]
pub(super) struct SetNames(Option<Rc<Names>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    here: HashSet<String>,
    /// Names that another shell is given, too.
    exported: HashSet<String>,
    /// `set -a`: all are that are set from then on.
    exports_all: bool,
}

impl PartialEq for SetNames {
    fn eq(&self, other: &SetNames) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => own == other,
            (Some(names), None) | (None, Some(names)) => **names == Names::default(),
            (None, None) => true,
        }
    }
}

impl Eq for SetNames {}

impl SetNames {
    fn names(&mut self) -> &mut Names {
        Rc::make_mut(self.0.get_or_insert_default())
    }

    fn is_some(&self, holds: impl FnOnce(&Names) -> bool) -> bool {
        self.0.as_deref().is_some_and(holds)
    }

    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |names| names.here.len())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.is_some(|it| it.here.contains(name))
    }

    pub(super) fn set(&mut self, name: &str) {
        if !self.has(name) {
            self.names().here.insert(name.to_string());
        }
        if self.exports_new() {
            self.export(name);
        }
    }

    pub(super) fn unset(&mut self, name: &str) {
        if self.has(name) {
            self.names().here.remove(name);
        }
        self.unexport(name);
    }

    /// No other shell is given it any more.
    pub(super) fn unexport(&mut self, name: &str) {
        if self.exports(name) {
            self.names().exported.remove(name);
        }
    }

    pub(super) fn exports(&self, name: &str) -> bool {
        self.is_some(|it| it.exported.contains(name))
    }

    fn exports_new(&self) -> bool {
        self.is_some(|it| it.exports_all)
    }

    pub(super) fn unset_all(&mut self) {
        self.names().here.clear();
    }

    pub(super) fn export(&mut self, name: &str) {
        self.names().exported.insert(name.to_string());
    }

    pub(super) fn export_none(&mut self) {
        let names = self.names();
        names.exported.clear();
        names.exports_all = false;
    }

    /// Whether all are that are set from now on.
    pub(super) fn export_all(&mut self, exports: bool) {
        self.names().exports_all = exports;
    }

    /// What another shell is given of them.
    fn keep_exported(&mut self) {
        if self.len() > 0 {
            let Names { here, exported, .. } = self.names();
            here.retain(|name| exported.contains(name));
        }
    }

    pub(super) fn join(&mut self, other: &SetNames) {
        if self != other {
            let own = self.names();
            own.here.retain(|name| other.has(name));
            own.exported.retain(|name| other.exports(name));
            own.exports_all &= other.exports_new();
        }
    }
}

/// What runs when something happens: a trap, or a function that the shell calls.
pub(super) enum Later {
    Text(Word, Shell, Span),
    Call(String, Function, Span),
}

impl Later {
    fn span(&self) -> &Span {
        match self {
            Later::Text(_, _, span) | Later::Call(_, _, span) => span,
        }
    }
}

/// What is known at one place of the walk.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) directories: Directories,
    pub(super) names: SetNames,
    pub(super) given: Option<Passed>,
    pub(super) input: Input,
}

impl State {
    /// What is known where the text may have come from either.
    pub(super) fn join(&mut self, other: &State) {
        self.directories.join(&other.directories);
        self.names.join(&other.names);
        match (&mut self.given, &other.given) {
            (Some(own), Some(other)) if own.words == other.words => own.shifted |= other.shifted,
            (None, None) => {}
            (own, _) => *own = Some(Passed::unknown()),
        }
        if self.input != other.input {
            let is_used = self.input == Input::Rest || other.input == Input::Rest;
            self.input = if is_used {
                Input::Rest
            } else {
                Input::Computed
            };
        }
    }

    /// Adds it to where the text may have come from.
    pub(super) fn join_into(self, others: &mut Option<State>) {
        match others {
            Some(others) => others.join(&self),
            None => *others = Some(self),
        }
    }
}

impl Walk {
    /// What is known here. The names are copied where they change next, which is work: a text may
    /// have many.
    pub(super) fn state(&mut self) -> State {
        self.spend(self.set_names.len());
        State {
            directories: self.directories.clone(),
            names: self.set_names.clone(),
            given: self.positional.clone(),
            input: self.input.clone(),
        }
    }

    pub(super) fn restore(&mut self, state: State) {
        let input;
        State {
            directories: self.directories,
            names: self.set_names,
            given: self.positional,
            input,
        } = state;
        self.input = self.left(input);
    }

    /// Goes on from where the text is or from `state`.
    pub(super) fn join(&mut self, state: &State) {
        let mut joined = self.state();
        joined.join(state);
        self.restore(joined);
    }

    /// Reads what runs in a shell of its own that begins as this one is: what it changes is changed
    /// nowhere else.
    pub(super) fn in_subshell<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.state();
        let done = read(self);
        self.restore(outer);
        done
    }

    /// Reads what another shell runs, which has only what is exported.
    pub(super) fn with_exported<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.in_subshell(|this| {
            this.set_names.keep_exported();
            read(this)
        })
    }

    /// Reads what runs some time later, now and when all else is read; it may run before any
    /// command.
    pub(super) fn at_any_time(&mut self, later: Later) {
        let had_moved = std::mem::take(&mut self.has_moved);
        let left = self.left.take();
        let gives = self.read_later(&later);
        // It leaves whatever runs by then.
        self.may_skip |= self.left.is_some();
        self.left = left;
        if self.has_moved {
            self.directories = Directories::Unknown;
            self.is_anywhere = true;
        }
        self.has_moved |= had_moved;
        if gives {
            self.is_given_anything = true;
            self.positional = Some(Passed::unknown());
        }
        match self.later.len() < MAX_KEPT {
            true => self.later.push(later),
            false => self.gap(TOO_LARGE, &later.span().clone()),
        }
    }

    /// Reads it wherever the shell is by then, and whatever it was given; whether it gives the
    /// shell something else.
    pub(super) fn read_later(&mut self, later: &Later) -> bool {
        self.in_subshell(|this| {
            this.forget_place();
            // By then, some of it may be read.
            if this.input != Input::Outer {
                this.input = Input::Rest;
            }
            let given = this.positional.clone();
            match later {
                Later::Text(word, shell, span) => {
                    this.text_of(
                        std::slice::from_ref(word),
                        *shell,
                        "`trap` is given computed text",
                        span,
                    );
                }
                Later::Call(name, function, span) => {
                    this.call(
                        name,
                        function,
                        &[Word::constant(name.as_str()), Word::computed()],
                        span,
                    );
                }
            }
            this.positional != given
        })
    }

    /// A variable is set, unless it can't be, or the shell comes to that not at all.
    pub(super) fn has_set(&mut self, name: &str) {
        const READ_ONLY: [&str; 4] = ["UID", "EUID", "PPID", "BASH_VERSINFO"];
        self.may_skip |= READ_ONLY.contains(&name) || self.read_only.contains(name);
        if !self.may_skip {
            self.set_names.set(name);
        }
    }

    /// Reads what is given these words; whether it sets others itself.
    pub(super) fn giving(&mut self, words: &[Word], read: impl FnOnce(&mut Self)) -> bool {
        let given = Some(self.passed(words));
        let outer = std::mem::replace(&mut self.positional, given.clone());
        read(self);
        let sets = self.positional != given;
        self.positional = if self.is_given_anything {
            Some(Passed::unknown())
        } else {
            outer
        };
        sets
    }

    /// What these words are to whoever is given them.
    pub(super) fn passed(&self, words: &[Word]) -> Passed {
        if self.is_given_anything || self.may_skip {
            Passed::unknown()
        } else {
            Passed::new(words)
        }
    }

    /// A file may have changed all of it.
    pub(super) fn forget_state(&mut self) {
        self.forget_place();
        self.set_names.unset_all();
    }

    /// Where the shell is, and what it was given, isn't told.
    fn forget_place(&mut self) {
        self.directories = Directories::Unknown;
        if let Some(given) = &mut self.positional {
            *given = Passed::unknown();
        }
    }

    /// A function, a loop or a file that is sourced may end here.
    pub(super) fn leaves(&mut self) {
        self.state().join_into(&mut self.left);
    }

    /// Reads what `return`, `break` and `continue` leave, and goes on from its end or from there.
    pub(super) fn until_left(&mut self, read: impl FnOnce(&mut Self)) {
        let outer = self.left.take();
        read(self);
        if let Some(left) = std::mem::replace(&mut self.left, outer) {
            self.join(&left);
            // `return` in a loop, `break 2`: that leaves what is around it, too.
            left.join_into(&mut self.left);
        }
    }

    /// Reads one of several, whichever it is: each begins where this one does.
    pub(super) fn either<T>(&mut self, ways: &[T], mut read: impl FnMut(&mut Self, &T)) {
        if let [only] = ways {
            return read(self, only);
        }
        let begins = self.state();
        let mut ends: Option<State> = None;
        for way in ways {
            self.restore(begins.clone());
            read(self, way);
            self.state().join_into(&mut ends);
        }
        if let Some(ends) = ends {
            self.restore(ends);
        }
    }

    /// How much the text has told of what later commands of it mean.
    fn told(&self) -> impl PartialEq + use<> {
        (
            [
                self.functions.len(),
                self.named.len(),
                self.configured_pushes.len(),
                self.plans_to_destroy.len(),
                self.read_only.len(),
            ],
            [
                self.may_skip,
                self.nulls_patterns,
                self.aliases,
                self.relinked,
                self.makes_option,
                self.paths,
                self.is_anywhere,
                self.is_given_anything,
            ],
        )
    }

    /// Reads what may run any number of times: each time begins where the last one ended.
    pub(super) fn repeatedly(&mut self, read: impl Fn(&mut Self)) {
        const ROUNDS: usize = 3;
        let mut begins = self.state();
        for round in 0..ROUNDS {
            let (told, values) = (self.told(), self.variables.n_values);
            let (n_files, n_numbers) = (self.files.len(), self.numbers.len());
            self.until_left(&read);
            let mut joined = begins.clone();
            joined.join(&self.state());
            // A text that is run as code in it may set more, of which what comes before it knows
            // nothing.
            let (before, written) = self.files.split_at(n_files);
            let (under, opened) = self.numbers.split_at(n_numbers);
            let is_all = joined == begins
                && told == self.told()
                && written.iter().all(|file| before.contains(file))
                && opened.iter().all(|it| under.contains(it))
                && (round > 0 || values == self.variables.n_values);
            // Where it goes on and on, it may be anywhere.
            if !is_all && joined.directories != begins.directories && round > 0 {
                joined.directories = Directories::Unknown;
            }
            begins = joined;
            self.restore(begins.clone());
            if is_all {
                return;
            }
        }
    }
}
