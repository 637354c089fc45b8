//! The column of the table that says what a program does with the files that it is given.

use super::super::word::Word;
use std::sync::Arc;

words_of_table! {
    /// What a word is to the program that it is given to.
    enum Kind {
        Text = "text",
        Look = "look",
        Read = "read",
        Write = "write",
        Edit = "edit",
        ReadTree = "read-tree",
        ChangeTree = "change-tree",
        Fill = "fill",
        Member = "member",
        Take = "take",
        Into = "into",
        IntoTree = "into-tree",
        Prefix = "prefix",
        Aim = "aim",
        PerhapsRead = "perhaps-read",
        PerhapsChange = "perhaps-change",
        Code = "code",
        Sed = "sed",
        Awk = "awk",
        At = "at",
        Names = "names",
        NamesRegex = "names-regex",
        Dir = "dir",
        From = "from",
        Url = "url",
        Any = "any",
    }
}

impl Kind {
    pub(super) fn is_source(self) -> bool {
        matches!(self, Kind::Read | Kind::ReadTree | Kind::Take | Kind::Aim)
    }
}

/// One clause of the column: what holds for a command under a condition.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Clause {
    /// All of these hold: an option is given, by one of its names, or the program is called so.
    pub(super) conditions: Vec<Vec<&'static str>>,
    pub(super) options: Vec<(&'static str, Kind)>,
    /// Operands that begin with a key: `if=f`; `*` is any key, `+` and `@` are signs without `=`.
    pub(super) keyed: Vec<(&'static str, Kind)>,
    pub(super) before: Vec<Kind>,
    pub(super) repeated: Option<Kind>,
    pub(super) after: Vec<Kind>,
    /// Without an operand it is the directory at hand.
    pub(super) is_here: bool,
    pub(super) fills: bool,
    pub(super) downloads: bool,
    pub(super) patches: bool,
    pub(super) lists: bool,
    pub(super) finds: bool,
    /// Files that it writes whatever it is given.
    pub(super) writes: Vec<&'static str>,
}

impl Clause {
    /// Reads the column.
    pub(super) fn all(column: &'static str) -> Arc<[Clause]> {
        column.split("; ").map(Clause::new).collect()
    }

    fn new(text: &'static str) -> Clause {
        let (condition, kinds) = text.split_once(": ").unwrap_or(("", text));
        let conditions = condition
            .split(" & ")
            .filter(|it| !it.is_empty())
            .map(|any| any.split('|').collect());
        let mut clause = Clause {
            conditions: conditions.collect(),
            ..Clause::default()
        };
        for word in kinds.split(' ') {
            match word {
                "+fill" => clause.fills = true,
                "+download" => clause.downloads = true,
                "+listed" => clause.lists = true,
                "+patch" => clause.patches = true,
                "find" => clause.finds = true,
                _ if word.starts_with("+writes:") => {
                    clause.writes.extend(word["+writes:".len()..].split(','))
                }
                _ => clause.add(word),
            }
        }
        clause
    }

    fn add(&mut self, word: &'static str) {
        let (word, is_here) = word
            .strip_suffix("=.")
            .map_or((word, false), |word| (word, true));
        self.is_here |= is_here;
        if let Some((name, kind)) = word.split_once('=') {
            let list = if name.starts_with('-') {
                &mut self.options
            } else {
                &mut self.keyed
            };
            list.extend(Kind::named(kind).map(|kind| (name, kind)));
            return;
        }
        match (word.strip_suffix("..."), self.repeated) {
            (Some(word), _) => self.repeated = Kind::named(word),
            (None, None) => self.before.extend(Kind::named(word)),
            (None, Some(_)) => self.after.extend(Kind::named(word)),
        }
    }

    /// Where the value begins in an operand with a key, and what it is.
    pub(super) fn key(&self, word: &Word, place: usize) -> Option<(usize, Kind)> {
        let text = word.beginning();
        let key = text.split_once('=').map_or("", |(key, _)| key);
        // What stands before is something else.
        let is_name = place >= self.before.len()
            && !key.is_empty()
            && key.chars().all(|c| c.is_alphanumeric() || c == '_');
        self.keyed.iter().find_map(|(name, kind)| match *name {
            sign @ ("+" | "@") => text.starts_with(sign).then_some((1, *kind)),
            "*" => is_name.then_some((key.len() + 1, *kind)),
            name => (name == key).then_some((key.len() + 1, *kind)),
        })
    }

    /// What the operand at a place of so many is.
    pub(super) fn kind_at(&self, at: usize, count: usize) -> Kind {
        let (before, after) = (self.before.len(), self.after.len());
        match self.repeated {
            _ if at < before => self.before[at],
            Some(kind) if count <= before + after || at < count - after => kind,
            Some(_) => self.after[after - (count - at)],
            None => Kind::Text,
        }
    }
}
