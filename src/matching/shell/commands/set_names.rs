//! Which variables are set where the walk is: the values that a text gives a variable are collected beforehand, wherever
//! they stand, and before its assignment, beside it or in another shell it may be empty.

use super::Walk;
use std::collections::HashSet;

/// The names that are set.
#[derive(Clone, Debug, Default)]
pub(super) struct SetNames {
    here: HashSet<String>,
    /// Those that another shell is given, too.
    exported: HashSet<String>,
    /// `set -a`: all are.
    exports_all: bool,
    /// What is read now runs later: all are taken for set.
    is_later: bool,
}

impl SetNames {
    pub(super) fn has(&self, name: &str) -> bool {
        self.is_later || self.here.contains(name)
    }

    pub(super) fn set(&mut self, name: &str) {
        self.here.insert(name.to_string());
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.here.remove(name);
    }

    pub(super) fn export(&mut self, name: &str) {
        self.exported.insert(name.to_string());
    }

    pub(super) fn export_all(&mut self) {
        self.exports_all = true;
    }

    fn of_another_shell(&self) -> SetNames {
        let is_given = |name: &&String| self.exports_all || self.exported.contains(*name);
        SetNames { here: self.here.iter().filter(is_given).cloned().collect(), ..self.clone() }
    }
}

impl Walk {
    /// A copy of the names that are set. It is work, too: a text may have many names and need many copies.
    pub(super) fn copy_set_names(&mut self) -> SetNames {
        self.spend(self.set_names.here.len());
        self.set_names.clone()
    }

    /// Reads what runs in a shell of its own that begins as this one is: what it sets is set nowhere else.
    pub(super) fn in_subshell<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.copy_set_names();
        let done = read(self);
        self.set_names = outer;
        done
    }

    /// Reads what another shell runs, which has only what is exported.
    pub(super) fn with_exported<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.in_subshell(|this| {
            this.set_names = this.set_names.of_another_shell();
            read(this)
        })
    }

    /// Reads what runs later, when more may be set.
    pub(super) fn later(&mut self, read: impl FnOnce(&mut Self)) {
        self.in_subshell(|this| {
            this.set_names.is_later = true;
            read(this);
        });
    }
}
