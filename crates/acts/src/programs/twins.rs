//! Commands that do the same under other words: `docker rm` and `docker container rm`, `kill -9` and `kill -s KILL`.

use super::super::commands::base_name;
use super::super::expand::Word;
use super::in_place_of;
use super::options::{Takes, row};

/// The words of a command in the words of its twin, by the program's name.
type Twin = fn(&str, &[Word]) -> Option<Vec<Word>>;

/// Programs of which some command has a twin.
static PROGRAMS: [(&str, Twin); 17] = [
    ("docker", docker),
    ("podman", docker),
    ("docker-compose", |_, words| Some(of(words, "docker", "compose"))),
    ("podman-compose", |_, words| Some(of(words, "podman", "compose"))),
    ("docker-buildx", |_, words| Some(of(words, "docker", "buildx"))),
    ("sudo", |_, _| None),
    ("sudoedit", |_, words| Some(of(words, "sudo", "-e"))),
    ("terraform", terraform),
    ("tofu", terraform),
    (TERRAGRUNT, terragrunt),
    ("npm", npm),
    ("kill", kill),
    ("killall", kill),
    ("pkill", kill),
    ("tar", tar),
    ("gtar", tar),
    ("bsdtar", tar),
];

/// It runs terraform, and more.
const TERRAGRUNT: &str = "terragrunt";

/// What `docker container` has in front, too.
const OF_CONTAINERS: [(&str, &str); 25] = [
    ("attach", "attach"),
    ("commit", "commit"),
    ("cp", "cp"),
    ("create", "create"),
    ("diff", "diff"),
    ("exec", "exec"),
    ("export", "export"),
    ("kill", "kill"),
    ("logs", "logs"),
    ("ls", "ps"),
    ("pause", "pause"),
    ("port", "port"),
    ("rename", "rename"),
    ("remove", "rm"),
    ("restart", "restart"),
    ("rm", "rm"),
    ("run", "run"),
    ("start", "start"),
    ("stats", "stats"),
    ("stop", "stop"),
    ("top", "top"),
    ("unpause", "unpause"),
    ("update", "update"),
    ("wait", "wait"),
    ("list", "ps"),
];

/// The same of `docker image`.
const OF_IMAGES: [(&str, &str); 10] = [
    ("history", "history"),
    ("import", "import"),
    ("load", "load"),
    ("ls", "images"),
    ("pull", "pull"),
    ("push", "push"),
    ("remove", "rmi"),
    ("rm", "rmi"),
    ("save", "save"),
    ("tag", "tag"),
];

const SIGNALS: [(&str, &str); 7] =
    [("HUP", "1"), ("INT", "2"), ("QUIT", "3"), ("KILL", "9"), ("TERM", "15"), ("CONT", "18"), ("STOP", "19")];

/// Whether a rule about the program must look at the twins of a command.
pub(in super::super) fn has_twins(program: &str) -> bool {
    PROGRAMS.iter().any(|(name, _)| *name == program)
}

/// Another program whose commands may be this one's.
pub(in super::super) fn other_program(name: &str) -> Option<&'static str> {
    Some(match name {
        "docker" => "docker-compose",
        "docker-compose" | "docker-buildx" => "docker",
        "sudoedit" => "sudo",
        "podman" => "podman-compose",
        "podman-compose" => "podman",
        TERRAGRUNT => "terraform",
        _ => return None,
    })
}

/// The same command in other words, if there are any; those may have a twin in turn.
pub(in super::super) fn twin(words: &[Word]) -> Option<Vec<Word>> {
    let name = base_name(words.first()?.as_constant()?);
    let (_, twin) = PROGRAMS.iter().find(|(known, _)| *known == name)?;
    twin(name, words)
}

/// The words with others in place of some.
fn replaced(words: &[Word], at: std::ops::Range<usize>, by: &[&str]) -> Vec<Word> {
    let (before, after) = (words.get(..at.start).unwrap_or_default(), words.get(at.end..).unwrap_or_default());
    let by = by.iter().map(|text| Word::constant(*text));
    before.iter().cloned().chain(by).chain(after.iter().cloned()).collect()
}

/// `docker-compose x` as `docker compose x`, in the same directory.
fn of(words: &[Word], program: &str, first: &str) -> Vec<Word> {
    let start = [in_place_of(&words[0], program), Word::constant(first)];
    start.into_iter().chain(words[1..].iter().cloned()).collect()
}

/// Where the sub-command is: behind the program's own options.
fn sub_command(name: &str, words: &[Word]) -> Option<usize> {
    let row = row(name)?;
    let mut at = 1;
    loop {
        let text = words.get(at)?.as_constant()?;
        if !text.starts_with('-') {
            return Some(at);
        }
        let takes_next = !text.contains('=') && row.option(text).is_some_and(|it| it.value == Takes::Value);
        at += if takes_next { 2 } else { 1 };
    }
}

fn docker(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let at = sub_command(name, words)?;
    let verb = words.get(at)?.as_constant()?;
    let next = words.get(at + 1).and_then(Word::as_constant).unwrap_or_default();
    let short = |table: &[(&str, &'static str)]| table.iter().find(|(long, _)| *long == next).map(|(_, short)| *short);
    let long = |table: &[(&'static str, &str)]| table.iter().find(|(_, short)| *short == verb).map(|(long, _)| *long);
    match verb {
        "compose" => {
            let program =
                in_place_of(words.first()?, if name == "docker" { "docker-compose" } else { "podman-compose" });
            Some([program].into_iter().chain(words[at + 1..].iter().cloned()).collect())
        }
        "container" => Some(replaced(words, at..at + 2, &[short(&OF_CONTAINERS)?])),
        // Four names for one act, each the twin of the next.
        "build" => Some(replaced(words, at..at + 1, &["image", "build"])),
        "image" if next == "build" => Some(replaced(words, at..at + 1, &["builder"])),
        "builder" if matches!(next, "build" | "b") => Some(replaced(words, at..at + 1, &["buildx"])),
        "buildx" if matches!(next, "build" | "b") => Some(replaced(words, at..at + 2, &["build"])),
        "image" => Some(replaced(words, at..at + 2, &[short(&OF_IMAGES)?])),
        _ => match (long(&OF_CONTAINERS), long(&OF_IMAGES)) {
            (Some(long), _) => Some(replaced(words, at..at + 1, &["container", long])),
            (None, Some(long)) => Some(replaced(words, at..at + 1, &["image", long])),
            (None, None) => None,
        },
    }
}

fn terraform(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let at = sub_command(name, words)?;
    let is_destroy =
        |word: &Word| matches!(word.as_constant(), Some("-destroy" | "--destroy" | "-destroy=true" | "--destroy=true"));
    match words.get(at)?.as_constant()? {
        "destroy" => Some(replaced(words, at..at + 1, &["apply", "-destroy"])),
        "apply" => {
            let flag = at + 1 + words.get(at + 1..)?.iter().position(is_destroy)?;
            Some(replaced(&replaced(words, flag..flag + 1, &[]), at..at + 1, &["destroy"]))
        }
        _ => None,
    }
}

/// `terragrunt run --all destroy` as `terraform destroy`.
fn terragrunt(_: &str, words: &[Word]) -> Option<Vec<Word>> {
    let is_own = |word: &&Word| matches!(word.text.as_str(), "run" | "run-all" | "--all" | "--" | "stack");
    let rest = words.iter().skip(1).skip_while(is_own);
    Some(std::iter::once(in_place_of(&words[0], "terraform")).chain(rest.cloned()).collect())
}

/// `npm set` is `npm config set`.
fn npm(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let at = sub_command(name, words)?;
    match words.get(at)?.as_constant()? {
        verb @ ("set" | "get") => Some(replaced(words, at..at + 1, &["config", verb])),
        "config" | "c" => {
            let verb = words.get(at + 1)?.as_constant().filter(|verb| matches!(*verb, "set" | "get"))?;
            Some(replaced(words, at..at + 2, &[verb]))
        }
        _ => None,
    }
}

/// A signal as `-9`.
fn kill(_: &str, words: &[Word]) -> Option<Vec<Word>> {
    let text = words.get(1)?.as_constant()?;
    let next = || words.get(2).and_then(Word::as_constant);
    let (signal, end) = match text {
        "-s" | "-n" | "--signal" => (next()?, 3),
        _ => match text.strip_prefix("--signal=").or_else(|| text.strip_prefix("-s")) {
            Some(signal) => (signal, 2),
            None => (text.strip_prefix('-')?, 2),
        },
    };
    let name = signal.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let number = SIGNALS.iter().find(|(known, number)| *known == name || *number == name).map(|(_, number)| *number)?;
    let short = format!("-{number}");
    (text != short).then(|| replaced(words, 1..end, &[&short]))
}

/// `tar xf a` as `tar -x -f a`: the values of the letters follow in their order.
fn tar(_: &str, words: &[Word]) -> Option<Vec<Word>> {
    let bundle = words.get(1)?.as_constant()?;
    if bundle.is_empty() || !bundle.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let row = row("tar")?;
    let mut twin = vec![words.first()?.clone()];
    let mut rest = words.get(2..)?.iter();
    for letter in bundle.chars() {
        let option = format!("-{letter}");
        let takes = row.option(&option).is_some_and(|it| it.value == Takes::Value);
        twin.push(Word::constant(option));
        twin.extend(takes.then(|| rest.next().cloned()).flatten());
    }
    twin.extend(rest.cloned());
    Some(twin)
}
