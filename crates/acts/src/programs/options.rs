//! How programs take their options: a table, one line for each program and sub-command.

use super::ByName;
use super::files::{Clause, Kind};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// `PATH<TAB>HABITS<TAB>OPTIONS<TAB>FILES`; it says itself what the columns are.
static TABLE: &str = include_str!("programs.txt");

/// How a program's parser reads its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Style {
    /// Clusters of letters, any unambiguous beginning of a long name, options after operands too.
    #[default]
    Getopt,
    /// As `Getopt`, and options end at the first operand.
    Posix,
    /// One dash or two mean the same, no clusters.
    Go,
    /// Clusters, exact long names.
    Exact,
    /// Every word with a dash is an option by that name.
    Word,
    /// There are no options.
    None,
}

/// One option of a program.
#[derive(Clone, Debug)]
pub(in super::super) struct Opt {
    pub(in super::super) names: Vec<&'static str>,
    pub(in super::super) value: Takes,
    /// What its value is.
    pub(in super::super) kind: Kind,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Takes {
    Nothing,
    /// Attached or the next word.
    Value,
    /// Only attached.
    Attached,
}

/// A program or sub-command: how it takes its words.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Row {
    /// The sub-command's names.
    pub(in super::super) names: Vec<&'static str>,
    pub(in super::super) style: Style,
    /// Options end at the first operand.
    pub(in super::super) stops: bool,
    pub(in super::super) options: Vec<Opt>,
    pub(in super::super) children: Vec<Row>,
    /// The names of the sub-commands, each with its place among them: git has 150.
    places: ByName<usize>,
    /// The names of the options, each with its place among them, once one is asked for: some have 200.
    option_places: OnceLock<ByName<usize>>,
    /// The first operand is a sub-command.
    pub(in super::super) has_commands: bool,
    /// The options hold after sub-commands too.
    deep: bool,
    /// A sub-command may be written by its beginning.
    shortens: bool,
    /// The first word is letters of options even without a dash.
    pub(in super::super) bundles: bool,
    /// Which options it takes isn't known.
    is_open: bool,
    /// What it does with files; nothing if that isn't known.
    pub(in super::super) files: Option<Arc<[Clause]>>,
}

impl Act {
    /// The options that are part of it.
    pub(in super::super) fn options(&self) -> &[&'static str] {
        match self {
            Act::Option(one) => std::slice::from_ref(one),
            Act::Options(all) => all,
            Act::Operand(_) => &[],
        }
    }
}

impl Row {
    /// Whether a word before the sub-command may name a toolchain, as rustup's stand-ins take it.
    pub(in super::super) fn takes_toolchain(&self) -> bool {
        self.names.iter().any(|name| ["cargo", "rustc", "rustdoc"].contains(name))
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    pub(in super::super) fn child(&self, name: &str) -> Option<&Row> {
        self.place(name).and_then(|place| self.children.get(place))
    }

    /// The names that a word may be short for, where the program takes beginnings of them.
    pub(in super::super) fn abbreviated(&self, word: &str) -> Vec<(&'static str, &Row)> {
        if word.is_empty() || !self.shortens || self.child(word).is_some() {
            return Vec::new();
        }
        let word = in_kebab_case(word);
        let names = |child: &Row| child.names.clone();
        let all = self.children.iter().flat_map(|child| names(child).into_iter().map(move |name| (name, child)));
        all.filter(|(name, _)| begins(name, &word)).collect()
    }

    fn add(&mut self, mut child: Row) {
        self.has_commands = true;
        if self.deep {
            child.deep = true;
            let is_known = |option: &&Opt| option.names.iter().any(|name| child.option(name).is_some());
            let more: Vec<Opt> = self.options.iter().filter(|option| !is_known(option)).cloned().collect();
            child.options.extend(more);
            child.option_places.take();
        }
        for name in &child.names {
            // The first one of a name counts.
            self.places.entry(name).or_insert(self.children.len());
        }
        self.children.push(child);
    }

    /// Whether an option of that name is its own, or one of its sub-commands'.
    pub(in super::super) fn knows(&self, name: &str) -> bool {
        self.option(name).is_some() || self.children.iter().any(|child| child.knows(name))
    }

    pub(in super::super) fn option(&self, name: &str) -> Option<&Opt> {
        let places = self.option_places.get_or_init(|| {
            // The first one of a name counts.
            let options = self.options.iter().enumerate().rev();
            options.flat_map(|(at, it)| it.names.iter().map(move |name| (*name, at))).collect()
        });
        self.options.get(*places.get(name)?)
    }

    /// Whether it does nothing with options alone.
    pub(in super::super) fn needs_operand(&self) -> bool {
        self.names.iter().any(|name| ["rm", "shred", "chmod"].contains(name))
    }

    /// Whether letters may be written together after one dash.
    pub(in super::super) fn clusters(&self) -> bool {
        matches!(self.style, Style::Getopt | Style::Posix | Style::Exact)
    }

    /// Whether no letter may have a value written behind it: then no word with a sign such as `/` is a cluster.
    pub(in super::super) fn has_only_switches(&self) -> bool {
        let is_switch =
            |option: &Opt| option.value == Takes::Nothing || option.names.iter().all(|name| name.starts_with("--"));
        self.clusters() && !self.has_commands && self.options.iter().all(is_switch)
    }

    /// Whether the beginning of a long name stands for it.
    pub(in super::super) fn abbreviates(&self) -> bool {
        matches!(self.style, Style::Getopt | Style::Posix)
    }
}

/// `distTag` as npm reads it.
fn in_kebab_case(word: &str) -> String {
    let mut kebab = String::with_capacity(word.len() + 2);
    for c in word.chars() {
        kebab.extend(c.is_ascii_uppercase().then_some('-'));
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

/// Whether a word is the beginning of a name; of each of its parts, where it has several: `mig:fr` of `migrate:fresh`.
fn begins(name: &str, word: &str) -> bool {
    let mut names = name.split(':');
    word.split(':').all(|part| names.next().is_some_and(|name| name.starts_with(part)))
}

/// The lines of the table by each name of their program. Searching the table for a name took as long as all else that a
/// rule's program needs.
static BY_NAME: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in TABLE.lines() {
        let program = line.split(['\t', ' ']).next().unwrap_or_default();
        for name in program.split('|').filter(|_| !program.starts_with('#')) {
            by_name.entry(name).or_default().push(line);
        }
    }
    by_name
});

/// The lines of a program, by any of its names, shorter paths first.
fn lines_of(name: &str) -> Vec<&'static str> {
    let mut lines = BY_NAME.get(name).cloned().unwrap_or_default();
    lines.sort_by_key(|line| line.split('\t').next().map_or(0, |path| path.split(' ').count()));
    lines
}

/// The names of all programs in the table.
pub(in super::super) fn program_names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// The row of a program with its sub-commands, if its options are known.
pub(in super::super) fn row(name: &str) -> Option<Arc<Row>> {
    any_row(name).filter(|row| !row.is_open)
}

/// The row of a program with its sub-commands.
pub(in super::super) fn any_row(name: &str) -> Option<Arc<Row>> {
    // One for all rules of a program.
    static ROWS: Mutex<BTreeMap<String, Arc<Row>>> = Mutex::new(BTreeMap::new());
    let known = ROWS.lock().ok().and_then(|rows| rows.get(name).cloned());
    if known.is_some() || name.is_empty() {
        return known;
    }
    let row = Arc::new(read(name).or_else(|| read(super::same_program(name)?))?);
    if let Ok(mut rows) = ROWS.lock() {
        rows.insert(name.to_string(), row.clone());
    }
    Some(row)
}

fn read(name: &str) -> Option<Row> {
    let mut root: Option<Row> = None;
    for line in lines_of(name) {
        let mut columns = line.split('\t');
        let path = columns.next().unwrap_or_default();
        let mut column = || columns.next().unwrap_or_default();
        let row = parse(path, column(), column(), column());
        let words: Vec<&str> = path.split(' ').collect();
        match words.as_slice() {
            [_] => root = Some(row),
            [_, between @ .., _] => {
                let Some(mut parent) = root.as_mut() else { continue };
                for word in between {
                    let name = word.split('|').next().unwrap_or_default();
                    let known = parent.place(name);
                    // A group that takes no options of its own has no line.
                    let at = known.unwrap_or_else(|| {
                        parent.add(Row { names: vec![name], style: parent.style, ..Row::default() });
                        parent.children.len() - 1
                    });
                    parent = &mut parent.children[at];
                }
                parent.add(row);
            }
            [] => {}
        }
    }
    root
}

fn parse(path: &'static str, habits: &str, options: &'static str, files: &'static str) -> Row {
    let mut row = Row { names: path.rsplit(' ').next().unwrap_or_default().split('|').collect(), ..Row::default() };
    row.files = (!files.is_empty()).then(|| Clause::all(files));
    for habit in habits.split(',') {
        match habit {
            "getopt" | "git" | "argparse" | "npm" => row.style = Style::Getopt,
            "posix" => (row.style, row.stops) = (Style::Posix, true),
            "go" => (row.style, row.stops) = (Style::Go, true),
            "cobra" | "clap" | "exact" => row.style = Style::Exact,
            "word" => row.style = Style::Word,
            "none" => row.style = Style::None,
            "sub" => row.has_commands = true,
            "stop" => row.stops = true,
            "deep" => row.deep = true,
            "short" => row.shortens = true,
            "bundle" => row.bundles = true,
            "-" => (row.style, row.is_open) = (Style::Exact, true),
            _ => {}
        }
    }
    // A program's global options don't end at its sub-command's name by `stop`.
    for text in options.split(' ').filter(|text| !text.is_empty()) {
        let (names, kind, value) = match (text.split_once("[=]"), text.rsplit_once('=')) {
            (Some((names, kind)), _) => (names, kind, Takes::Attached),
            (None, Some((names, kind))) => (names, kind, Takes::Value),
            (None, None) => (text, "", Takes::Nothing),
        };
        let kind = Kind::named(kind).unwrap_or(Kind::Text);
        row.options.push(Opt { names: names.split(',').collect(), value, kind });
    }
    row
}

/// Another way to say what an option says.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Act {
    /// This option.
    Option(&'static str),
    /// All of these options.
    Options(&'static [&'static str]),
    /// An operand that matches this glob.
    Operand(&'static str),
}

/// Options that undo another one that stands before or behind them: a rule that names only the other doesn't cover both.
pub(in super::super) static UNDONE: &[(&str, &[&str], &[&str])] = &[
    ("git reset", &["--soft"], &["--hard", "--mixed", "--merge", "--keep"]),
    ("git apply", &["--check", "--stat", "--numstat", "--summary"], &["--apply"]),
    ("git branch", &["-d", "--delete"], &["-D", "-f", "--force"]),
    ("rm", &["-i", "-I"], &["-f", "--i*=n*"]),
    ("cp", &["-n", "-i"], &["-f", "--remove-destination"]),
    ("mv", &["-n", "-i"], &["-f"]),
    ("bash", &["-n"], &["+n"]),
    ("apt-get", &["-s"], &["-o"]),
    ("prettier", &["--check", "-c", "-l"], &["--write", "-w"]),
    ("gofmt", &["-l", "-d"], &["-w"]),
    ("curl", &["-I", "--head"], &["-X", "--request", "-d", "--data", "-T", "--upload-file"]),
];

/// Second spellings of an act: program and sub-command, an option, what means the same.
pub(in super::super) static ACTS: &[(&str, &str, Act)] = &[
    ("git push", "--force", Act::Operand("+*")),
    ("git push", "--force", Act::Option("--mirror")),
    ("git push", "--delete", Act::Operand(":*")),
    ("git push", "--delete", Act::Operand("+:*")),
    ("git push", "--delete", Act::Option("--mirror")),
    ("git push", "--delete", Act::Option("--prune")),
    ("git branch", "-D", Act::Options(&["--delete", "--force"])),
    ("git branch", "-M", Act::Options(&["--move", "--force"])),
    ("git branch", "-C", Act::Options(&["--copy", "--force"])),
    ("git checkout", "--force", Act::Option("-f")),
    ("rm", "-f", Act::Option("--i*=n*")),
    ("rm", "-r", Act::Option("-R")),
    ("rm", "-r", Act::Option("--recursive")),
    ("npm install", "-g", Act::Option("--global")),
    ("node", "-e", Act::Option("-p")),
    ("node", "-e", Act::Option("-pe")),
    ("node", "--eval", Act::Option("--print")),
    ("rsync", "--delete", Act::Option("--delete-before")),
    ("rsync", "--delete", Act::Option("--delete-during")),
    ("rsync", "--delete", Act::Option("--delete-delay")),
    ("rsync", "--delete", Act::Option("--delete-after")),
    ("rsync", "--delete", Act::Option("--delete-excluded")),
];
