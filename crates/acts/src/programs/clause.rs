//! A column of a table that says what the words of a program are to it: the files that it is given,
//! or the hosts that it connects to.

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
        Key = "key",
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

/// What a word may be in such a column.
pub(in super::super) trait OfColumn: Copy {
    /// What an operand is of which the column says nothing.
    const NOTHING: Self;

    fn of_column(word: &str) -> Option<Self>;
}

impl OfColumn for Kind {
    const NOTHING: Kind = Kind::Text;

    fn of_column(word: &str) -> Option<Kind> {
        Kind::named(word)
    }
}

impl Kind {
    pub(super) fn is_source(self) -> bool {
        matches!(self, Kind::Read | Kind::ReadTree | Kind::Take | Kind::Aim)
    }
}

/// One clause of the column: what holds for a command under a condition.
#[derive(Clone, Debug)]
pub(in super::super) struct Clause<K = Kind> {
    /// All of these hold: an option is given, by one of its names, or the program is called so.
    pub(super) conditions: Vec<Vec<&'static str>>,
    pub(super) options: Vec<(&'static str, K)>,
    /// Operands that begin with a key: `if=f`; `*` is any key, `+` and `@` are signs without `=`.
    pub(super) keyed: Vec<(&'static str, K)>,
    pub(super) before: Vec<K>,
    pub(super) repeated: Option<K>,
    pub(super) after: Vec<K>,
    /// Without an operand it is the directory at hand.
    pub(super) is_here: bool,
    pub(super) fills: bool,
    pub(super) downloads: bool,
    pub(super) patches: bool,
    pub(super) lists: bool,
    pub(super) finds: bool,
    /// Files that it writes whatever it is given.
    pub(super) writes: Vec<&'static str>,
    /// Hosts that it connects to whatever it is given.
    pub(super) to: Vec<&'static str>,
    /// It connects to the remote that a repository has.
    pub(super) to_remote: bool,
    /// It may connect to all of them.
    pub(super) to_remotes: bool,
    /// It connects to what isn't told.
    pub(super) to_unclear: bool,
}

impl<K: OfColumn> Clause<K> {
    /// Reads the column.
    pub(super) fn all(column: &'static str) -> Arc<[Clause<K>]> {
        column.split("; ").map(Clause::new).collect()
    }

    fn new(text: &'static str) -> Clause<K> {
        let (condition, kinds) = text.split_once(": ").unwrap_or(("", text));
        let conditions = condition
            .split(" & ")
            .filter(|it| !it.is_empty())
            .map(|any| any.split('|').collect());
        let mut clause = Clause {
            conditions: conditions.collect(),
            options: Vec::new(),
            keyed: Vec::new(),
            before: Vec::new(),
            repeated: None,
            after: Vec::new(),
            is_here: false,
            fills: false,
            downloads: false,
            patches: false,
            lists: false,
            finds: false,
            writes: Vec::new(),
            to: Vec::new(),
            to_remote: false,
            to_remotes: false,
            to_unclear: false,
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
                "+remote" => clause.to_remote = true,
                "+remotes" => clause.to_remotes = true,
                "+unclear" => clause.to_unclear = true,
                _ if word.starts_with("+to:") => clause.to.extend(word["+to:".len()..].split(',')),
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
            list.extend(K::of_column(kind).map(|kind| (name, kind)));
            return;
        }
        match (word.strip_suffix("..."), self.repeated) {
            (Some(word), _) => self.repeated = K::of_column(word),
            (None, None) => self.before.extend(K::of_column(word)),
            (None, Some(_)) => self.after.extend(K::of_column(word)),
        }
    }

    /// Where the value begins in an operand with a key, and what it is.
    pub(super) fn key(&self, word: &Word, place: usize) -> Option<(usize, K)> {
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
    pub(super) fn kind_at(&self, at: usize, count: usize) -> K {
        let (before, after) = (self.before.len(), self.after.len());
        match self.repeated {
            _ if at < before => self.before[at],
            Some(kind) if count <= before + after || at < count - after => kind,
            Some(_) => self.after[after - (count - at)],
            None => K::NOTHING,
        }
    }
}
