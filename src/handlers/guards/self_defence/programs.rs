//! What programs do with the files that they are given: tables of those that only read, and of those that take away or
//! fill directories. Any other program may change what it names.

use crate::matching::shell::Word;

/// What a program does with a word, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    /// The word is no file.
    Nothing,
    /// Shows it, or copies it elsewhere.
    Reads,
    /// May change the file.
    Uses,
    /// Puts what it has into it, where it is a directory.
    Fills,
    /// Takes it away, with all that it holds.
    Destroys,
}

/// Programs that only read what they are given.
struct Reader {
    names: &'static str,
    /// Options with which they write, or run others.
    unless: &'static str,
    /// So many operands are read; the next one is written.
    operands: usize,
}

const fn reader(names: &'static str, unless: &'static str) -> Reader {
    Reader { names, unless, operands: usize::MAX }
}

static READERS: &[Reader] = &[
    reader("[|[[|:|cat|cd|cmp|comm|cut|diff|dir|echo|egrep|exit|false|fgrep|grep|head|join|jq|ls|nl|od|paste|popd", ""),
    reader("printf|pushd|pwd|read|readlink|realpath|return|stat|tac|tail|test|tr|true|type|wc|which|whereis|hash", ""),
    reader("basename|dirname|column|hexdump|strings|md5sum|sha1sum|sha256sum|sha512sum|cksum|b2sum|fold|rev|sleep", ""),
    reader("zcat|zgrep|vdir|locate|plocate|mlocate|pgrep|pidof|ps|id|export|unset|set|shift|local|declare|xargs", ""),
    reader("cargo-fmt|whoami|groups|getfacl|namei|lsof|ss|netstat|wait|break|continue|alias|umask|dos2unix-info", ""),
    reader("bat|less|more", "-o -O -k --log-file --pager"),
    reader("date", "-s --set"),
    reader("du|tree", "-o"),
    reader("file", "-C --compile"),
    reader("rg|ag|ack", "--pre --pager"),
    reader("sort", "-o --output --compress-program"),
    reader("command", "-p"),
    reader("base64|base32", ""),
    Reader { names: "uniq|xxd", unless: "-r --revert", operands: 1 },
];

/// Programs that take away what they are given, or put something into the last of it.
struct Changer {
    names: &'static str,
    /// What is done with each operand but the last.
    each: Act,
    /// What is done with the last one.
    last: Act,
    /// How many operands stand before, which are no files: a mode, an owner.
    before: usize,
    /// Options whose value is a directory that is filled.
    into: &'static str,
    /// Options with a value that is no file.
    values: &'static str,
}

const fn destroyer(names: &'static str, before: usize, values: &'static str) -> Changer {
    Changer { names, each: Act::Destroys, last: Act::Destroys, before, into: "", values }
}

const fn filler(names: &'static str, each: Act, into: &'static str, values: &'static str) -> Changer {
    Changer { names, each, last: Act::Fills, before: 0, into, values }
}

static CHANGERS: &[Changer] = &[
    destroyer("rm|rmdir|unlink|shred|srm|trash|trash-put|rimraf|del-cli|umount|mmv|wipe", 0, "-n -s"),
    destroyer("chmod", 1, "--reference"),
    // The owner of a whole project is changed to be able to work in it.
    Changer { each: Act::Fills, last: Act::Fills, ..destroyer("chown|chgrp|chattr|chcon", 1, "--reference --from") },
    Changer { each: Act::Fills, last: Act::Fills, ..destroyer("setfacl", 0, "-m -x -M -X --set") },
    // What it is mounted over is hidden.
    Changer { each: Act::Reads, last: Act::Destroys, ..destroyer("mount", 0, "-t -o -L -U") },
    destroyer("rename|prename", 1, ""),
    filler("mv", Act::Destroys, "-t --target-directory", "-S --suffix"),
    filler("cp|gcp", Act::Reads, "-t --target-directory", "-S --suffix"),
    filler("install|ginstall", Act::Reads, "-t --target-directory", "-m -o -g -S --mode --owner --group"),
    // A link to a place is another name of it.
    filler("ln", Act::Destroys, "-t --target-directory", "-S --suffix"),
    filler("rsync", Act::Reads, "", "-e --rsh --exclude --include --filter -f --chmod"),
    filler("scp", Act::Reads, "", "-i -P -o -F -l -c -S"),
];

/// Programs that unpack, with the options that say where to; without them, it is the directory at hand.
static UNPACKERS: &[(&str, &str)] = &[
    ("tar|bsdtar|gtar", "-C --directory --one-top-level"),
    ("unzip", "-d"),
    ("cpio", "-D --directory"),
    ("7z|7za|7zr|7zz", "-o"),
    ("unrar|jar|pax|ar|gunzip|unsquashfs|dpkg-deb", "-d"),
    ("wget", "-P --directory-prefix"),
    ("curl", "--output-dir"),
    ("patch", "-d --directory"),
    ("git-apply", "--directory"),
];

/// The first words of git and hookwire with which they only read.
pub(super) const READING: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "add",
            "blame",
            "branch",
            "cat-file",
            "check-ignore",
            "commit",
            "describe",
            "diff",
            "fetch",
            "grep",
            "log",
            "ls-files",
            "ls-tree",
            "merge-base",
            "push",
            "reflog",
            "remote",
            "rev-list",
            "rev-parse",
            "shortlog",
            "show",
            "status",
            "tag",
        ],
    ),
    (
        "hookwire",
        &["approvals", "check", "dispatch", "docs", "explain", "list", "replay", "schema", "tail", "test", "trust"],
    ),
];

fn is_one(names: &str, name: &str) -> bool {
    names.split('|').any(|it| it == name)
}

/// The name of a program without its directory.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a word is one of these options, in short, abbreviated or with a value attached.
fn is_option(word: &str, options: &str) -> bool {
    let is = |option: &str| match (word.strip_prefix("--"), option.strip_prefix("--")) {
        (Some(given), Some(long)) => {
            let given = given.split('=').next().unwrap_or(given);
            given == long || given.len() > 2 && long.starts_with(given)
        }
        (None, None) => word.starts_with('-') && word[1..].contains(&option[1..]),
        _ => false,
    };
    options.split(' ').filter(|it| !it.is_empty()).any(is)
}

/// The verb of git behind its own options, and where it stands. With settings of the call's own, any program may run.
pub(super) fn verb_of_git(words: &[Word]) -> Option<(usize, &str)> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => at += 2,
            "-c" => return None,
            text if text.starts_with('-') => at += 1,
            text => return Some((at, text)),
        }
    }
    None
}

/// Whether a command changes files as a patch says.
pub(super) fn applies_patch(words: &[Word]) -> bool {
    match words.first().map_or("", |word| base_name(&word.text)) {
        "patch" => true,
        "git" => verb_of_git(words).is_some_and(|(_, verb)| matches!(verb, "apply" | "am")),
        _ => false,
    }
}

/// Whether a command changes no file, as far as its words go.
pub(super) fn only_reads(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else { return false };
    if let Some(row) = READERS.iter().find(|row| is_one(row.names, name)) {
        let (options, operands): (Vec<&Word>, Vec<&Word>) =
            words[1..].iter().partition(|word| word.text.len() > 1 && word.text.starts_with('-'));
        let names_files = operands.iter().filter(|it| !it.text.chars().all(|c| c.is_ascii_digit())).count();
        return names_files <= row.operands && !options.iter().any(|word| is_option(&word.text, row.unless));
    }
    match name {
        "sed" | "gsed" => only_prints(&words[1..]),
        "awk" | "gawk" | "mawk" | "nawk" => only_prints_fields(&words[1..]),
        "git" => match verb_of_git(words) {
            Some((_, verb)) => {
                let reads = READING[0].1.contains(&verb);
                let lists = verb == "stash" && words.iter().any(|word| matches!(word.text.as_str(), "list" | "show"));
                let options = words.iter().map(|word| word.text.as_str());
                (reads || lists)
                    && !options.into_iter().any(|it| is_option(it, "--output -O --open-files-in-pager --ext-diff"))
            }
            None => false,
        },
        "hookwire" => words.get(1).and_then(Word::as_constant).is_some_and(|verb| READING[1].1.contains(&verb)),
        _ => false,
    }
}

/// Whether sed does nothing but print or leave out lines: no file is edited, and no script of it writes one.
fn only_prints(args: &[Word]) -> bool {
    let is_plain = |script: &str| {
        let is_address = |c: char| c.is_ascii_digit() || "$,;pdqn= !".contains(c);
        script.chars().all(is_address) || script.starts_with('/') && (script.ends_with("/p") || script.ends_with("/d"))
    };
    let mut scripts = 0;
    for word in args {
        match word.as_constant() {
            Some("-n" | "-E" | "-r" | "-e" | "-s" | "-u" | "--quiet" | "--silent") => {}
            Some(option) if option.starts_with('-') => return false,
            Some(script) if scripts == 0 || args.iter().any(|it| it.text == "-e") && is_plain(script) => {
                if !is_plain(script) {
                    return false;
                }
                scripts += 1;
            }
            _ => {}
        }
    }
    scripts > 0
}

/// Whether awk's program neither writes files nor runs programs.
fn only_prints_fields(args: &[Word]) -> bool {
    let mut programs = args.iter().filter(|word| !word.text.starts_with('-'));
    let options = ["-F", "-v"];
    let is_known = |word: &&Word| options.iter().any(|it| word.text.starts_with(it));
    args.iter().filter(|word| word.text.starts_with('-')).all(|word| is_known(&word))
        && programs
            .next()
            .and_then(Word::as_constant)
            .is_some_and(|it| !it.contains(['>', '|', '@']) && !it.contains("system") && !it.contains("close"))
}

/// What a program does with each of its words.
pub(super) fn acts(words: &[Word]) -> Vec<Act> {
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else {
        return vec![Act::Uses; words.len()];
    };
    if only_reads(words) {
        return vec![Act::Reads; words.len()];
    }
    if let Some(row) = CHANGERS.iter().find(|row| is_one(row.names, name)) {
        return row.acts(words);
    }
    if name == "git" {
        return acts_of_git(words);
    }
    let mut acts = vec![Act::Uses; words.len()];
    acts[0] = Act::Nothing;
    match name {
        "dd" => {
            for (act, word) in acts.iter_mut().zip(words).skip(1) {
                let is_read = ["if=", "bs=", "count="].iter().any(|it| word.text.starts_with(it));
                *act = if is_read { Act::Reads } else { Act::Uses };
            }
        }
        // What is packed is read.
        "zip" => acts.iter_mut().skip(1).for_each(|act| *act = Act::Reads),
        "mkdir" => acts.iter_mut().skip(1).for_each(|act| *act = Act::Reads),
        _ => {}
    }
    if let Some((_, into)) = UNPACKERS.iter().find(|(names, _)| is_one(names, name)) {
        for at in 1..words.len() {
            let text = words[at].text.as_str();
            let is_whole = into.split(' ').any(|option| option == text);
            if is_whole && at + 1 < words.len() {
                acts[at + 1] = Act::Fills;
            } else if into.split(' ').any(|option| text.starts_with(option)) {
                acts[at] = Act::Fills;
            }
        }
    }
    acts
}

/// Whether a command unpacks what it isn't told of, and the directory at hand is where to.
pub(super) fn unpacks_here(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else { return false };
    let has = |letter: char| {
        words.get(1).is_some_and(|word| word.text.contains(letter))
            || words
                .iter()
                .any(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter))
    };
    match name {
        "tar" | "bsdtar" | "gtar" => {
            has('x') || words.iter().any(|word| word.text.starts_with("--ext") || word.text == "--get")
        }
        "unzip" => !has('l') && !has('p'),
        "cpio" | "pax" => has('i') || has('r'),
        "7z" | "7za" | "7zr" | "7zz" | "unrar" | "jar" | "ar" => has('x') || has('e'),
        "patch" => true,
        _ => false,
    }
}

impl Changer {
    fn acts(&self, words: &[Word]) -> Vec<Act> {
        let mut acts = vec![Act::Nothing; words.len()];
        let (mut operands, mut has_into, mut only_operands) = (Vec::new(), false, false);
        let mut at = 1;
        while at < words.len() {
            let text = words[at].text.as_str();
            let is_exactly = |options: &str| options.split(' ').any(|option| option == text);
            let is_short = text.len() == 2;
            match text {
                "--" if !only_operands => only_operands = true,
                _ if only_operands || !text.starts_with('-') || text.len() < 2 => operands.push(at),
                _ if !self.into.is_empty() && is_option(text, self.into) => {
                    has_into = true;
                    let is_attached = text.contains('=') || !text.starts_with("--") && !text.ends_with('t');
                    let at_value = if is_attached { at } else { at + 1 };
                    acts.get_mut(at_value).into_iter().for_each(|act| *act = Act::Fills);
                    at = at_value;
                }
                // `chmod -x FILE`: a mode may look like an option.
                _ if self.before > 0
                    && is_short
                    && !text.contains(['R', 'v', 'f', 'c', 'h'])
                    && self.names.starts_with("chmod") =>
                {
                    operands.push(at);
                }
                _ if is_exactly(self.values) => at += 1,
                _ if text.starts_with("--") => acts[at] = Act::Uses,
                _ => {}
            }
            at += 1;
        }
        // The same file system with other options.
        if self.names == "mount" && words.iter().any(|word| word.text.contains("remount")) {
            return acts;
        }
        let is_harmless =
            self.names.starts_with("chmod") && operands.first().is_some_and(|at| keeps_owner(&words[*at].text));
        // A directory goes away only with what it holds, and its owner may be whoever works there.
        let is_recursive = || words.iter().any(|word| is_option(&word.text, "-r -R -d --recursive --dir"));
        let is_own = self.names.starts_with("chown") && operands.first().is_some_and(|at| words[*at].may_be_pattern());
        let is_harmless = is_harmless || is_own || base_name(&words[0].text) == "rm" && !is_recursive();
        let before = if operands.len() > self.before { self.before } else { 0 };
        let files = operands.get(before..).unwrap_or_default();
        for (n, at) in files.iter().enumerate() {
            let is_last = n + 1 == files.len() && !has_into;
            acts[*at] = match if is_last { self.last } else { self.each } {
                // A directory whose owner may still read and write keeps what it holds as it is.
                Act::Destroys | Act::Fills if is_harmless => Act::Uses,
                act => act,
            };
        }
        acts
    }
}

/// Whether a mode leaves the owner's rights as they are or gives all, and others none to write.
pub(super) fn keeps_owner(mode: &str) -> bool {
    let digits = mode.trim_start_matches('0');
    if !digits.is_empty() && digits.chars().all(|c| c.is_digit(8)) {
        let mut last = digits.chars().rev();
        let (other, group, owner) = (last.next(), last.next(), last.next());
        let is_safe = |c: Option<char>| c.is_none_or(|c| !"2367".contains(c));
        return owner.is_some_and(|c| "67".contains(c)) && is_safe(group) && is_safe(other);
    }
    mode.split(',').all(|clause| match clause.split_once('+') {
        Some((who, rights)) => !rights.contains('w') || who.contains(['u', 'g']) && !who.contains('o'),
        None => {
            clause.strip_prefix("u=").is_some_and(|rights| rights.contains("rw"))
                || clause.split_once('-').is_some_and(|(who, _)| !who.is_empty() && !who.contains(['u', 'a']))
        }
    })
}

/// What git does with what stands behind its verb.
fn acts_of_git(words: &[Word]) -> Vec<Act> {
    let mut acts = vec![Act::Uses; words.len()];
    acts[0] = Act::Nothing;
    let Some((verb_at, verb)) = verb_of_git(words) else { return acts };
    let act = match verb {
        "rm" | "mv" | "clean" | "checkout" | "restore" | "checkout-index" => Act::Destroys,
        "reset" | "stash" if words[verb_at..].iter().any(|word| word.text == "--") => Act::Destroys,
        _ => return acts,
    };
    for at in verb_at + 1..words.len() {
        // Within these, it is known which files are git's: whether it takes any away is looked at apart.
        let is_holder =
            verb != "rm" && verb != "mv" && matches!(words[at].text.trim_end_matches('/'), "." | ":" | ":/");
        acts[at] = match words[at].text.starts_with('-')
            || is_holder
            || verb == "rm" && words.iter().any(|it| it.text == "--cached")
        {
            true => Act::Uses,
            false => act,
        };
    }
    if verb == "mv" && words.len() > verb_at + 2 {
        let last = words.len() - 1;
        acts[last] = Act::Fills;
    }
    acts
}
