//! What is known of programs: which run other programs, which only read and print, which variables and
//! options decide what code runs, and how each takes its options ([`options`]).

pub(super) mod files;
mod given;
pub(super) mod inline;
pub(super) mod options;
pub(super) mod running;
mod twins;

pub(super) use given::Given;
pub(super) use twins::{has_twins, other_program, twin};

use super::Shell;
use super::expand::{Openness, Word};
use compact_str::format_compact;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::{LazyLock, OnceLock};

/// For tables of our own names: nobody can add names that collide, and the hash of the standard library took a tenth of
/// reading a command. (FNV-1a.)
#[derive(Clone)]
pub(super) struct NameHasher(u64);

pub(super) type ByName<V> = HashMap<&'static str, V, BuildHasherDefault<NameHasher>>;

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A set of names, written as one text with blanks in between: one line then holds a dozen.
pub(super) struct Names {
    text: &'static str,
    set: OnceLock<HashSet<&'static str, BuildHasherDefault<NameHasher>>>,
}

impl Names {
    const fn new(text: &'static str) -> Names {
        Names { text, set: OnceLock::new() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.set.get_or_init(|| self.text.split_whitespace().collect()).contains(name)
    }
}

/// A program that runs the rest of its arguments. One row each.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    pub(super) flags: &'static str,
    /// Letters that take a value, attached or as the next word.
    pub(super) valued: &'static str,
    pub(super) long: &'static str,
    pub(super) valued_long: &'static str,
    /// Arguments of its own before the command.
    pub(super) positionals: usize,
    /// `A=b` words may come before the command.
    pub(super) assigns: bool,
    /// Without a command it opens a shell.
    pub(super) bare_shell: bool,
    /// The rest is joined and given to a shell.
    pub(super) joins: bool,
    /// A letter and a long option with which it is.
    pub(super) joining: Option<(char, &'static str)>,
    /// A letter and long options whose value is shell text.
    pub(super) text_letter: Option<char>,
    pub(super) text_long: &'static str,
    /// Letters with which nothing is run.
    pub(super) shows: &'static str,
    /// The command runs on another machine or file system.
    pub(super) remote: bool,
}

const PLAIN_WRAPPER: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long: "",
    valued_long: "",
    positionals: 0,
    assigns: false,
    bare_shell: false,
    joins: false,
    joining: None,
    text_letter: None,
    text_long: "",
    shows: "",
    remote: false,
};

const fn wrapper(name: &'static str, flags: &'static str, valued: &'static str, positionals: usize) -> Wrapper {
    Wrapper { name, flags, valued, positionals, ..PLAIN_WRAPPER }
}

/// One that changes who or where the command is.
const fn elsewhere(name: &'static str, flags: &'static str, valued: &'static str, positionals: usize) -> Wrapper {
    Wrapper { bare_shell: true, ..wrapper(name, flags, valued, positionals) }
}

/// One that runs a program of the project by its name.
const fn script_runner(name: &'static str, flags: &'static str, valued: &'static str) -> Wrapper {
    Wrapper { remote: true, ..wrapper(name, flags, valued, 0) }
}

const SETARCH_FLAGS: &str = "vRFZLXBIS3T";
const UNSHARE_LONG: &str = "\
    map-root-user map-current-user fork mount uts ipc net pid user cgroup time mount-proc \
    kill-child keep-caps";
const CONTAINER_EXEC: Wrapper = Wrapper {
    // Compose has `-T`.
    long: "detach interactive tty privileged no-TTY no-tty",
    valued_long: "env user workdir env-file detach-keys",
    remote: true,
    ..elsewhere("docker exec", "ditT", "euw", 1)
};
const CONTAINER_RUN: Wrapper = Wrapper {
    long: "rm interactive tty detach privileged init read-only no-TTY no-tty no-deps service-ports quiet-pull",
    valued_long: "name network volume mount env user workdir platform env-file memory publish entrypoint",
    text_long: "health-cmd",
    remote: true,
    ..wrapper("docker run", "ditT", "evupwhlm", 1)
};

/// Options with which pnpm gives a command to a shell.
const SHELL_MODE: Option<(char, &str)> = Some(('c', "shell-mode"));
const MISE_EXEC: Wrapper = Wrapper {
    text_letter: Some('c'),
    text_long: "command",
    valued_long: "cd jobs",
    ..wrapper("mise exec", "", "Cj", 0)
};

static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        assigns: true,
        long: "login shell preserve-env set-home non-interactive stdin background reset-timestamp askpass bell preserve-groups",
        valued_long: "user group host prompt chdir close-from chroot command-timeout",
        ..elsewhere("sudo", "AbBEHknNPSis", "CDghpRrTtUu", 0)
    },
    elsewhere("doas", "nLs", "uCa", 0),
    Wrapper { valued_long: "user", long: "disable-internal-agent keep-cwd", ..elsewhere("pkexec", "", "", 0) },
    Wrapper {
        assigns: true,
        text_letter: Some('S'),
        long: "ignore-environment null debug",
        valued_long: "unset chdir",
        ..wrapper("env", "i0v", "uC", 0)
    },
    wrapper("nohup", "", "", 0),
    wrapper("ssh-agent", "Ddcks", "EOPat", 0),
    Wrapper { long: "ctty fork wait", ..wrapper("setsid", "cfw", "", 0) },
    Wrapper { valued_long: "adjustment", ..wrapper("nice", "", "n", 0) },
    Wrapper { long: "ignore", valued_long: "class classdata", ..wrapper("ionice", "t", "cn", 0) },
    Wrapper {
        long: "batch deadline fifo idle other rr reset-on-fork verbose all-tasks",
        valued_long: "sched-runtime sched-period sched-deadline",
        ..wrapper("chrt", "bdfiorRva", "TPD", 1)
    },
    Wrapper { long: "cpu-list all-tasks", ..wrapper("taskset", "ca", "", 1) },
    Wrapper {
        long: "foreground preserve-status verbose",
        valued_long: "kill-after signal",
        ..wrapper("timeout", "fpv", "ks", 1)
    },
    Wrapper {
        long: "foreground preserve-status verbose",
        valued_long: "kill-after signal",
        ..wrapper("gtimeout", "fpv", "ks", 1)
    },
    Wrapper {
        long: "portability append verbose quiet",
        valued_long: "format output",
        ..wrapper("time", "apvlhq", "fo", 0)
    },
    Wrapper { valued_long: "input output error", ..wrapper("stdbuf", "", "ioe", 0) },
    Wrapper { shows: "vV", ..wrapper("command", "p", "", 0) },
    wrapper("builtin", "", "", 0),
    wrapper("exec", "cl", "a", 0),
    wrapper("noglob", "", "", 0),
    wrapper("nocorrect", "", "", 0),
    Wrapper { long: "skip-chdir", valued_long: "userspec groups", ..elsewhere("chroot", "", "", 1) },
    Wrapper {
        long: UNSHARE_LONG,
        valued_long: "setuid setgid root wd propagation",
        ..elsewhere("unshare", "rcfmuinpUCT", "RwSG", 0)
    },
    Wrapper {
        long: "all mount uts ipc net pid user cgroup preserve-credentials no-fork",
        valued_long: "target setuid setgid",
        ..elsewhere("nsenter", "amuinpUCTF", "tSG", 0)
    },
    Wrapper { long: "uname-2.6 addr-no-randomize 32bit 3gb 4gb verbose", ..elsewhere("setarch", SETARCH_FLAGS, "", 1) },
    elsewhere("linux32", SETARCH_FLAGS, "", 0),
    elsewhere("linux64", SETARCH_FLAGS, "", 0),
    elsewhere("i386", SETARCH_FLAGS, "", 0),
    elsewhere("x86_64", SETARCH_FLAGS, "", 0),
    Wrapper {
        long: "no-new-privs clear-groups keep-groups init-groups reset-env",
        valued_long: "reuid regid ruid euid rgid egid groups inh-caps bounding-set",
        ..wrapper("setpriv", "d", "", 0)
    },
    Wrapper { valued_long: "output trace", ..wrapper("strace", "cCdDfFhiknqrtTvwxyYzZ", "aAbeEIoOpPsSuUX", 0) },
    Wrapper { valued_long: "output", ..wrapper("ltrace", "bcCfihLrStTV", "aAeFlnopsuwx", 0) },
    wrapper("catchsegv", "", "", 0),
    elsewhere("fakeroot", "uv", "", 0),
    wrapper("eatmydata", "", "", 0),
    wrapper("proxychains", "q", "f", 0),
    wrapper("proxychains4", "q", "f", 0),
    wrapper("torsocks", "di", "aPup", 0),
    wrapper("torify", "", "", 0),
    wrapper("caffeinate", "dimsu", "tw", 0),
    wrapper("dbus-run-session", "", "", 0),
    wrapper("dbus-launch", "", "", 0),
    wrapper("unbuffer", "p", "", 0),
    wrapper("chronic", "ve", "", 0),
    Wrapper { long: "auto-servernum", valued_long: "server-num server-args", ..wrapper("xvfb-run", "al", "enfpsw", 0) },
    Wrapper {
        valued_long: "cpunodebind membind physcpubind interleave",
        long: "localalloc all",
        ..wrapper("numactl", "la", "NmCip", 0)
    },
    Wrapper { valued_long: "what who why mode", ..wrapper("systemd-inhibit", "", "", 0) },
    Wrapper {
        long: "user system scope pty pipe wait quiet collect same-dir no-block shell",
        valued_long: "unit property uid gid slice description setenv nice working-directory",
        ..elsewhere("systemd-run", "tPqGdrS", "upEM", 0)
    },
    Wrapper {
        long: "shared exclusive unlock nonblock nb no-fork close verbose",
        valued_long: "timeout wait conflict-exit-code",
        ..wrapper("flock", "sxeunoFv", "wE", 1)
    },
    Wrapper {
        joins: true,
        long: "beep color differences errexit chgexit precise no-title",
        valued_long: "interval",
        ..elsewhere("watch", "bcdegprtw", "nq", 0)
    },
    Wrapper { joins: true, remote: true, ..elsewhere("ssh", "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOoPpQRSWw", 1) },
    elsewhere("busybox", "", "", 0),
    elsewhere("shx", "", "", 0),
    elsewhere("toybox", "", "", 0),
    CONTAINER_EXEC,
    Wrapper { name: "podman exec", ..CONTAINER_EXEC },
    CONTAINER_RUN,
    Wrapper { name: "podman run", ..CONTAINER_RUN },
    Wrapper { name: "docker create", ..CONTAINER_RUN },
    Wrapper { name: "podman create", ..CONTAINER_RUN },
    Wrapper { name: "docker-compose exec", ..CONTAINER_EXEC },
    Wrapper { name: "podman-compose exec", ..CONTAINER_EXEC },
    Wrapper { name: "docker-compose run", ..CONTAINER_RUN },
    Wrapper { name: "podman-compose run", ..CONTAINER_RUN },
    Wrapper {
        long: "stdin tty",
        valued_long: "container namespace",
        remote: true,
        ..elsewhere("kubectl exec", "it", "cn", 1)
    },
    Wrapper {
        long: "stdin tty attach quiet share-processes same-node replace",
        valued_long: "container image target profile copy-to env namespace set-image image-pull-policy custom",
        remote: true,
        ..elsewhere("kubectl debug", "itq", "cn", 1)
    },
    Wrapper {
        long: "yes no-install quiet no",
        valued_long: "package",
        text_letter: Some('c'),
        text_long: "call",
        ..script_runner("npx", "yq", "p")
    },
    script_runner("bunx", "", ""),
    script_runner("bun x", "", ""),
    script_runner("corepack", "", ""),
    wrapper("podman unshare", "", "", 0),
    wrapper("bundle e", "", "", 0),
    wrapper("meson devenv", "", "Cw", 0),
    wrapper("composer exec", "v", "", 0),
    wrapper("netlify dev:exec", "", "", 0),
    wrapper("coreutils", "", "", 0),
    Wrapper {
        text_letter: Some('c'),
        text_long: "call",
        valued_long: "package workspace",
        ..script_runner("npm exec", "y", "pw")
    },
    Wrapper {
        text_letter: Some('c'),
        text_long: "call",
        valued_long: "package workspace",
        ..script_runner("npm x", "y", "pw")
    },
    Wrapper { joining: SHELL_MODE, ..script_runner("pnpm exec", "rc", "C") },
    Wrapper { joining: SHELL_MODE, ..script_runner("pnpm dlx", "c", "") },
    Wrapper { joins: true, ..script_runner("yarn exec", "", "") },
    script_runner("yarn dlx", "", ""),
    script_runner("yarn run", "", ""),
    Wrapper { positionals: 1, ..script_runner("rustup run", "", "") },
    script_runner("nix run", "", ""),
    Wrapper {
        joins: true,
        long: "stream parallel no-bail no-prefix profile no-sort no-private include-dependents include-dependencies",
        valued_long: "scope ignore since concurrency",
        ..script_runner("lerna exec", "", "")
    },
    script_runner("conda run", "", "np"),
    script_runner("uvx", "q", ""),
    script_runner("pipx run", "", ""),
    Wrapper {
        long: "quiet verbose offline no-sync locked frozen isolated no-project active all-extras dev no-dev exact",
        valued_long: "with with-editable python package group extra directory project env-file index-url color",
        ..script_runner("uv run", "qvn", "pi")
    },
    wrapper("poetry run", "", "", 0),
    wrapper("pipenv run", "", "", 0),
    wrapper("pdm run", "", "", 0),
    wrapper("hatch run", "", "", 0),
    wrapper("bundle exec", "", "", 0),
    MISE_EXEC,
    Wrapper { name: "mise x", ..MISE_EXEC },
    wrapper("direnv exec", "", "", 1),
    elsewhere("ip netns", "", "", 2),
];

/// Whether a wrapper runs its command in another directory than its own, or on another machine.
pub(super) fn runs_elsewhere(wrapper: &str) -> bool {
    let program = wrapper.split(' ').next().unwrap_or(wrapper);
    matches!(program, "ssh" | "chroot" | "nsenter" | "systemd-run" | "docker" | "podman" | "kubectl")
}

/// Whether a letter or a long option of a wrapper says in which directory its command runs.
pub(super) fn moves(wrapper: &str, option: &str) -> bool {
    let letters = match wrapper {
        "env" | "pnpm exec" | "pnpm dlx" => "C",
        "sudo" => "DRi",
        "unshare" => "wR",
        "su" | "runuser" => "l",
        _ => "",
    };
    const LONG: &[&str] =
        &["chdir", "chroot", "wd", "root", "directory", "dir", "working-directory", "cwd", "prefix", "login"];
    match option.chars().count() {
        0 => false,
        1 => letters.contains(option),
        _ => LONG.iter().any(|it| it.starts_with(option)),
    }
}

/// The module that python is told to run, with its arguments: its options are letters, of which `W` and `X` take a value and
/// `m` and `c` end them.
pub(super) fn python_module(words: &[Word]) -> Option<Vec<Word>> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let letters = word.as_constant()?.strip_prefix('-')?;
        if letters.starts_with('-') {
            continue;
        }
        let Some((place, letter)) = letters.char_indices().find(|(_, letter)| "mcWX".contains(*letter)) else {
            continue;
        };
        let attached = &letters[place + 1..];
        match (letter, attached) {
            ('c', _) => return None,
            ('m', "") => return words.get(at..).filter(|rest| !rest.is_empty()).map(<[Word]>::to_vec),
            ('m', module) => {
                let module = std::iter::once(Word::constant(module));
                return Some(module.chain(words[at..].iter().cloned()).collect());
            }
            _ => at += usize::from(attached.is_empty()),
        }
    }
    None
}

/// The words of a command as they are mostly written, if its program has longer ones for the same.
pub(super) fn in_short(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let is = |at: usize, text: &str| words.get(at).and_then(Word::as_constant) == Some(text);
    let head = words.first()?;
    let (program, verb, skipped) = match name {
        "uv" if is(1, "tool") && is(2, "run") => ("uvx", None, 3),
        "gcloud" if is(1, "alpha") || is(1, "beta") => ("gcloud", None, 2),
        "coreutils" => (words.get(1)?.as_constant()?.strip_prefix("--coreutils-prog=")?, None, 2),
        _ => match name.strip_prefix("git-").filter(|verb| !verb.is_empty()) {
            // `git-push` in git's own directory is `git push`.
            Some(verb) => ("git", Some(Word::constant(verb)), 1),
            None => (program_of_file(name)?, None, 1),
        },
    };
    let rest = words.get(skipped..)?.iter().cloned();
    Some([in_place_of(head, program)].into_iter().chain(verb).chain(rest).collect())
}

/// A program in the directory of another one.
pub(super) fn in_place_of(head: &Word, program: &str) -> Word {
    let directory = head.text.rfind('/').map_or("", |slash| &head.text[..=slash]);
    Word { text: format_compact!("{directory}{program}"), span: None, ..head.clone() }
}

/// The program that a file of it is: the scripts of node's package managers, and what starts them on Windows.
pub(super) fn program_of_file(name: &str) -> Option<&'static str> {
    if !name.ends_with("js") && !name.ends_with(".cmd") {
        return None;
    }
    Some(match name {
        "npm-cli.js" | "npm.cmd" => "npm",
        "npx-cli.js" | "npx.cmd" => "npx",
        "yarn.js" | "yarn.cjs" | "yarn.cmd" => "yarn",
        "pnpm.cjs" | "pnpm.cmd" => "pnpm",
        _ => return None,
    })
}

/// The program that an image of containers starts, where its name says so.
pub(super) fn entry_point(image: &Word) -> Option<&'static str> {
    const PROGRAMS: [(&str, &str); 8] = [
        ("aws-cli", "aws"),
        ("terraform", "terraform"),
        ("opentofu", "tofu"),
        ("git", "git"),
        ("kubectl", "kubectl"),
        ("helm", "helm"),
        ("flyctl", "fly"),
        ("pulumi", "pulumi"),
    ];
    let name = image.as_constant()?.rsplit('/').next()?;
    let name = name.split([':', '@']).next()?;
    PROGRAMS.iter().find(|(it, _)| *it == name).map(|(_, program)| *program)
}

/// What a runner of packages runs, if that is written with a version or is another name's package: `npm@9`, `twine==5.0`.
pub(super) fn without_version(wrapper: &str, words: &[Word]) -> Option<Vec<Word>> {
    if wrapper == "nix run" {
        // `nix run nixpkgs#git -- push`
        let (first, rest) = words.split_first()?;
        let (_, package) = first.as_constant()?.rsplit_once('#')?;
        let rest = if rest.first().is_some_and(|word| word.text == "--") { &rest[1..] } else { rest };
        return Some([Word::constant(package)].into_iter().chain(rest.iter().cloned()).collect());
    }
    if wrapper == "hatch run" {
        // `hatch run test:git push`: in that environment.
        let (first, rest) = words.split_first()?;
        let (_, program) = first.as_constant()?.split_once(':')?;
        return Some([Word::constant(program)].into_iter().chain(rest.iter().cloned()).collect());
    }
    if !matches!(
        wrapper,
        "npx" | "bunx" | "bun x" | "corepack" | "npm exec" | "npm x" | "pnpm dlx" | "yarn dlx" | "uvx" | "pipx run"
    ) {
        return None;
    }
    let (first, rest) = words.split_first()?;
    let name = first.as_constant()?;
    let end = name.char_indices().skip(1).find(|(at, c)| *c == '@' || name[*at..].starts_with("=="));
    let bare = &name[..end.map_or(name.len(), |(at, _)| at)];
    let bare = bare.strip_prefix("npm:").unwrap_or(bare);
    let program = match bare {
        "netlify-cli" => "netlify",
        "firebase-tools" => "firebase",
        "aws-cdk" => "cdk",
        bare => bare,
    };
    (program != name).then(|| [Word::constant(program)].into_iter().chain(rest.iter().cloned()).collect())
}

/// Whether a program may run what stands behind so many operands of its own.
pub(super) fn wraps_behind(name: &str, n_operands: usize) -> bool {
    WRAPPERS.iter().any(|row| row.name == name && (n_operands == 0 || row.positionals >= n_operands))
}

/// The wrapper that a command is, and where among its words the wrapper's own name ends.
pub(super) fn wrapper_of(name: &str, words: &[Word]) -> Option<(&'static Wrapper, usize)> {
    type Rows = ByName<Vec<(&'static str, &'static Wrapper)>>;
    static BY_NAME: LazyLock<Rows> = LazyLock::new(|| {
        let mut rows = Rows::default();
        for row in WRAPPERS {
            let (name, verb) = row.name.split_once(' ').unwrap_or((row.name, ""));
            rows.entry(name).or_default().push((verb, row));
        }
        rows
    });
    let rows = BY_NAME.get(name)?;
    if let [("", row)] = rows.as_slice() {
        return Some((row, 0));
    }
    // `uv -q run`: whether an option before the verb takes a value needn't be known.
    let mut after_option = false;
    for (at, word) in words.iter().enumerate().skip(1).take(8) {
        if word.text.starts_with('-') {
            after_option = true;
            continue;
        }
        // npm takes the beginning of a verb.
        let is_short = |verb: &str| name == "npm" && word.text.len() > 2 && verb.starts_with(word.text.as_str());
        if let Some((_, row)) = rows.iter().find(|(verb, _)| !verb.is_empty() && (*verb == word.text || is_short(verb)))
        {
            return Some((row, at));
        }
        let is_group = at == 1 && matches!(word.text.as_str(), "compose" | "container");
        if !std::mem::take(&mut after_option) && !is_group {
            break;
        }
    }
    rows.iter().find(|(verb, _)| verb.is_empty()).map(|(_, row)| (*row, 0))
}

static SHELLS: Names = Names::new(
    "\
    sh bash dash zsh ksh ksh93 mksh ash rbash yash posh fish csh tcsh pwsh powershell nu elvish xonsh \
    osh ysh oksh loksh hush brush",
);

/// Whether what stands behind it is still run by the shell itself: `command cd x`.
pub(super) fn is_part_of_shell(wrapper: &str) -> bool {
    matches!(wrapper, "command" | "builtin" | "noglob" | "nocorrect" | "-")
}

/// Whether a program is a shell, of some version: `bash-5.2`.
pub(super) fn is_shell(name: &str) -> bool {
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    SHELLS.has(name) || unversioned.len() < name.len() && SHELLS.has(unversioned)
}

static INTERPRETERS: Names = Names::new(
    "\
    python pypy perl ruby node nodejs php lua luajit tclsh wish Rscript julia osascript guile \
    expect racket irb groovy scala ghci runghc ipython ts-node tsx elixir erl swipl ocaml sbcl clisp deno bun",
);

/// They print, compare or change the shell's own state: no argument of theirs becomes code.
pub(super) static DATA: Names = Names::new(
    "\
    echo printf true false : cd pwd dirs ls cat tac head tail wc uniq cut tr grep egrep fgrep rg ag ack test [ \
    mkdir rmdir basename dirname realpath readlink stat file du df date sleep seq diff cmp comm paste fold nl rev \
    expand column yes which type whoami id hostname uname clear md5sum sha1sum sha256sum cksum od hexdump \
    strings tree let umask ulimit read getopts shift return exit break continue times expr nproc free uptime \
    groups tty locale ps pgrep lsof rm chmod chown chgrp touch unlink mktemp kill killall pkill gh glab jira \
    export declare typeset local readonly unset unalias wait jobs less more man whereis apropos printenv tput",
);

/// They make or change files, and run nothing.
pub(super) static INERT: Names = Names::new(
    "\
    cp mv ln tee truncate shred dd install mkfifo base64 base32 xxd jq yq join sort split csplit patch iconv \
    gzip gunzip zcat bzip2 bunzip2 xz unxz unzip curl wget fg bg disown suspend logger cal factor shuf tsort ptx \
    pr fmt expand unexpand sum b2sum sha512sum sha224sum sha384sum ping dig host nslookup ifconfig netstat ss lscpu lsblk lsusb \
    lspci dmesg last history w who users finger mesg wall write cksum cmp numfmt pbcopy xclip xsel wl-copy dos2unix unix2dos sync mount umount \
    getent adduser deluser addgroup delgroup gpasswd chage info whatis tldr notify-send terminal-notifier figlet cowsay",
);

/// They run, or may run, what they read from their input.
pub(super) static RUNS_INPUT: Names = Names::new(
    "\
    make gmake at batch crontab psql mysql sqlite3 gdb lldb ed ex vi vim nvim ftp sftp telnet nc ncat socat bc dc \
    m4 expect tclsh gnuplot octave R docker podman kubectl ssh patch git apply entr",
);

/// They give another text than they read.
pub(super) static DECODERS: Names = Names::new(
    "\
    base64 base32 basenc xxd openssl rev tr uudecode gunzip zcat gzip bzcat xzcat gpg iconv",
);

/// Whether a program's arguments are known not to be another program's command line.
pub(super) fn is_known(name: &str) -> bool {
    static OTHERS: Names = Names::new(
        "\
        make gmake ninja meson gcc g++ cc clang ld ar cargo rustc rustup go gofmt javac java mvn gradle npm \
        pip pip3 pipx poetry uv conda brew apt apt-get apt-cache dpkg rpm zypper yum dnf pacman apk snap service journalctl \
        systemctl eslint prettier jest vitest pytest mypy ruff black flake8 tsc top htop bat ssh-keygen \
        ssh-add openssl gpg aws gcloud az reboot shutdown halt poweroff useradd userdel passwd mkfs fdisk iptables \
        helm terraform tofu pulumi ansible ansible-playbook ansible-lint ansible-doc open xdg-open kubectl docker podman psql mysql mysqldump pg_dump pg_restore createdb dropdb \
        redis-cli mongosh rsync scp sftp tar zip vercel netlify fly flyctl wrangler firebase supabase stripe gsutil twilio composer \
        gem bundle rake rails dotnet swift xcodebuild bazel just task code claude cursor vi vim nvim nano emacs ed ex sha1 pg_ctl initdb openssl \
        crontab at parted sgdisk lvm mdadm ufw nft usermod groupadd visudo chpasswd hugo jekyll webpack vite esbuild rollup turbo nx lerna",
    );
    OTHERS.has(name)
}

/// The name by which a program is mostly known, if this is another one of it.
pub(super) fn same_program(name: &str) -> Option<&'static str> {
    if name == "." {
        return Some("source");
    }
    Some(match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "pip" => "pip",
        "python" => "python",
        "nodejs" => "node",
        "gmake" => "make",
        "gtar" | "bsdtar" => "tar",
        "yarnpkg" => "yarn",
        "vc" => "vercel",
        "ntl" => "netlify",
        "flyctl" => "fly",
        "hub" | "yadm" => "git",
        "kubectl" | "kubecolor" | "microk8s.kubectl" => "kubectl",
        "terraform" => "terraform",
        "sudo-rs" => "sudo",
        "grm" => "rm",
        "gmv" => "mv",
        "gcp" => "cp",
        "gchmod" => "chmod",
        "gchown" => "chown",
        "gdd" => "dd",
        "gfind" => "find",
        "gsed" => "sed",
        "iptables-legacy" | "iptables-nft" => "iptables",
        "ip6tables-legacy" | "ip6tables-nft" => "ip6tables",
        _ => return None,
    })
}

pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.has(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

pub(super) fn is_system_path(path: &str) -> bool {
    let directory = path.rfind('/').map_or("", |at| &path[..at]);
    matches!(
        directory,
        "/bin" | "/usr/bin" | "/usr/local/bin" | "/sbin" | "/usr/sbin" | "/usr/local/sbin" | "/opt/homebrew/bin"
    )
}

/// Whether shells set a variable as they go on, whatever a text sets it to.
pub(super) fn is_set_by_shells(name: &str) -> bool {
    static SET: Names = Names::new(
        "\
        PWD OLDPWD DIRSTACK RANDOM SRANDOM SECONDS LINENO HISTCMD GROUPS FUNCNAME OPTIND SHLVL UID EUID PPID COPROC _ \
        BASHPID BASH_SUBSHELL BASH_COMMAND BASH_REMATCH EPOCHSECONDS EPOCHREALTIME PIPESTATUS",
    );
    SET.has(name)
}

/// Whether a shell itself sets a variable: to its own name, to what it has run, to blanks. Zsh sets many, and some of them
/// to nothing.
pub(super) fn is_shells_own(name: &str, shell: Shell) -> bool {
    static OWN: Names = Names::new("SHELL IFS ZSH_NAME ZSH_ARGZERO DIRSTACK FUNCNAME COPROC REPLY PS1 PS2 PS3 PS4 _");
    shell == Shell::Zsh || name.starts_with("BASH") || OWN.has(name)
}

/// Variables that say how a program prints or what it runs for, whichever program it is.
static PLAIN_VARIABLES: Names = Names::new(
    "\
    CI FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE NODE_DISABLE_COLORS CARGO_TERM_COLOR TERM COLUMNS LINES TZ LANG LANGUAGE \
    LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED \
    PYTHONDONTWRITEBYTECODE PYTHONHASHSEED LOG_LEVEL PORT GIT_TRACE GIT_CURL_VERBOSE",
);

/// The same, where one value means the machines that others use.
static MODE_VARIABLES: Names = Names::new("NODE_ENV RAILS_ENV RACK_ENV MIX_ENV APP_ENV FLASK_ENV");

/// Whether to set a variable so runs nothing and leads nowhere: make reads `$(shell x)` in a value, and a locale may be a path.
pub(super) fn is_plain_setting(name: &str, value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,:=+*".contains(&byte);
    let is_mode = || MODE_VARIABLES.has(name) && matches!(value, "test" | "testing" | "development" | "dev" | "ci");
    PLAIN_VARIABLES.has(name) && value.bytes().all(is_plain) || is_mode()
}

/// What setting a variable may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    None,
    /// A later program runs code of the caller's choice.
    Unseen,
    /// A later program runs its value.
    Text,
    /// Later words mean something else.
    Shell,
}

static CODE_VARIABLES: Names = Names::new(
    "\
    PATH PERL5OPT PERL5LIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT RUBYOPT RUBYLIB NODE_OPTIONS \
    NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS RUSTC RUSTC_WRAPPER MAKEFLAGS GNUMAKEFLAGS MAKEFILES MAKE \
    TAR_OPTIONS AWKPATH AWKLIBPATH HOME XDG_CONFIG_HOME ZDOTDIR GCONV_PATH LUA_INIT PHPRC OPENSSL_CONF \
    FPATH CDPATH TERMINFO EXINIT VIMINIT INPUTRC MANOPT GOFLAGS CC CXX LD AR CFLAGS LDFLAGS",
);

static TEXT_VARIABLES: Names = Names::new(
    "\
    PROMPT_COMMAND PS0 PS4 BROWSER LESSOPEN LESSCLOSE FCEDIT RSYNC_RSH CVS_RSH SSH_ASKPASS VISUAL EDITOR PAGER \
    MANPAGER SUDO_EDITOR",
);

/// Whether a shell takes what is assigned to a variable of its own for arithmetic.
pub(super) fn is_integer(name: &str, shell: Shell) -> bool {
    static INTEGERS: Names = Names::new("OPTIND RANDOM SRANDOM SECONDS HISTCMD LINENO");
    static OF_ZSH: Names = Names::new(
        "\
        HISTSIZE SAVEHIST LISTMAX FUNCNEST COLUMNS LINES KEYTIMEOUT LOGCHECK TMOUT BAUD DIRSTACKSIZE SHLVL MAILCHECK \
        UID EUID GID EGID ERRNO MBEGIN MEND TTYIDLE",
    );
    INTEGERS.has(name) || shell == Shell::Zsh && OF_ZSH.has(name)
}

pub(super) fn hazard(name: &str, value: Option<&str>) -> Hazard {
    if matches!(
        name,
        "BASH_ENV"
            | "commands"
            | "galiases"
            | "saliases"
            | "SHELLOPTS"
            | "BASHOPTS"
            | "POSIXLY_CORRECT"
            | "BASH_COMPAT"
            | "BASH_ALIASES"
            | "BASH_CMDS"
            | "aliases"
            | "functions"
            | "NULLCMD"
            | "chpwd_functions"
            | "precmd_functions"
            | "preexec_functions"
            | "periodic_functions"
            | "zshaddhistory_functions"
            | "zshexit_functions"
            | "READNULLCMD"
            | "EXECIGNORE"
            | "SHELL"
            | "PYTHONUSERBASE"
    ) || name.starts_with("BASH_FUNC_")
        || name.starts_with("GIT_CONFIG")
        || name.starts_with("CARGO_ALIAS_")
        // A file that `sh -i` reads; as a rule it is the name of an environment.
        || name == "ENV" && value.is_some_and(|value| value.contains(['/', '.', '$', '`']))
    {
        return Hazard::Shell;
    }
    if matches!(name, "LESS" | "LESSEDIT") && value.is_none_or(|value| value.contains(['!', '|', '%'])) {
        return Hazard::Text;
    }
    if matches!(name, "PS1" | "PS2" | "PROMPT" | "RPROMPT")
        && value.is_some_and(|value| value.contains("$(") || value.contains('`'))
    {
        return Hazard::Text;
    }
    let harmless = matches!(value, Some("" | "cat" | "true" | ":" | "less" | "vim" | "vi" | "nano"));
    if harmless && (name.ends_with("PAGER") || name.ends_with("EDITOR") || name == "VISUAL") {
        return Hazard::None;
    }
    if TEXT_VARIABLES.has(name)
        || matches!(
            name,
            "GIT_SSH_COMMAND"
                | "GIT_SSH"
                | "GIT_EDITOR"
                | "GIT_SEQUENCE_EDITOR"
                | "GIT_PAGER"
                | "GIT_ASKPASS"
                | "GIT_EXTERNAL_DIFF"
                | "GIT_PROXY_COMMAND"
        )
    {
        return Hazard::Text;
    }
    let git = name.starts_with("GIT_")
        && ![
            "GIT_AUTHOR_",
            "GIT_COMMITTER_",
            "GIT_TERMINAL_PROMPT",
            "GIT_TRACE",
            "GIT_CURL_VERBOSE",
            "GIT_MERGE_AUTOEDIT",
            "GIT_LFS_SKIP",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let lower = name.to_ascii_lowercase();
    if git
        || CODE_VARIABLES.has(name)
        || ["LD_", "DYLD_", "BASH_", "npm_config_", "NPM_CONFIG_"].iter().any(|prefix| name.starts_with(prefix))
        || ["editor", "pager", "_browser", "_command", "_askpass", "_wrapper", "_rsh", "_shell", "_runner"]
            .iter()
            .any(|suffix| lower.ends_with(suffix))
    {
        return Hazard::Unseen;
    }
    Hazard::None
}

/// Which word is git's command, and whether a setting before it may run a program.
pub(super) fn git_verb(words: &[Word]) -> (Option<usize>, bool) {
    let (mut at, mut settings) = (1, false);
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        match text {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--exec-path" | "--attr-source"
            | "--list-cmds" => at += 2,
            "-c" | "--config-env" => {
                settings |=
                    words.get(at + 1).is_some_and(|word| match (word.as_constant(), word.text.split_once('=')) {
                        (_, Some((key, value))) if word.openness.from().is_none_or(|from| from > key.len()) => {
                            !is_harmless_setting(key, value)
                        }
                        (Some(key), None) => !is_harmless_setting(key, "true"),
                        _ => true,
                    });
                at += 2;
            }
            _ if text.starts_with("-c") && text.len() > 2 && !text.starts_with("--") => {
                let (key, value) = text[2..].split_once('=').unwrap_or((&text[2..], "true"));
                settings |= !is_harmless_setting(key, value);
                at += 1;
            }
            _ if text.starts_with("--config-env=") || text.starts_with("--exec-path=") => {
                settings = true;
                at += 1;
            }
            _ if text.starts_with('-') => at += 1,
            _ => return (Some(at), settings),
        }
    }
    (None, settings)
}

const HARMLESS_SETTINGS: &str = "\
    user. push.default push.followtags push.autosetupremote pull. fetch. color. advice. log. safe. commit.gpgsign tag.gpgsign \
    init.defaultbranch core.quotepath core.autocrlf core.filemode core.longpaths core.eol \
    core.ignorecase core.abbrev core.symlinks core.safecrlf merge.conflictstyle merge.ff \
    diff.algorithm diff.renames diff.colormoved diff.noprefix diff.mnemonicprefix \
    rebase.autostash rebase.autosquash protocol.version http.sslverify http.postbuffer \
    http.lowspeedlimit http.lowspeedtime http.extraheader http.version \
    submodule.recurse rerere.enabled branch.autosetuprebase column.ui \
    help.autocorrect status. remote.origin.url gc.auto index.version feature.manyfiles";

/// Settings that can't make git start a program. Everything else may.
pub(super) fn is_harmless_setting(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if matches!(key.as_str(), "core.pager" | "core.editor" | "sequence.editor") {
        return matches!(value, "" | "cat" | "true" | ":" | "less" | "vim" | "nano");
    }
    // So scripts keep git from asking. Without a value, a list of helpers begins anew.
    if matches!((key.as_str(), value), ("credential.helper", "") | ("core.askpass", "" | "true" | "echo" | "false")) {
        return true;
    }
    HARMLESS_SETTINGS
        .split_ascii_whitespace()
        .any(|name| if name.ends_with('.') { key.starts_with(name) } else { key == name })
}

pub(super) fn is_harmless_ssh_option(letter: char, value: &Word) -> bool {
    let text = value.text.to_ascii_lowercase();
    match letter {
        'o' => {
            !text.contains("command")
                && !text.contains("exec")
                && !text.contains("include")
                && !text.contains("provider")
                && !text.contains("xauthlocation")
                && !text.contains("smartcard")
                && !matches!(value.openness, Openness::Computed(0, _))
        }
        'F' | 'E' => false,
        _ => true,
    }
}

/// Commands of git itself, which no alias can replace. Others may be an alias for anything.
pub(super) static GIT_COMMANDS: Names = Names::new(
    "\
    add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone commit \
    commit-graph commit-tree config count-objects describe \
    diff diff-files diff-index diff-tree difftool fetch for-each-ref format-patch fsck gc grep \
    hash-object help index-pack init log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree \
    mktree multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune prune-packed pull push \
    range-diff read-tree rebase reflog remote repack \
    reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref \
    sparse-checkout stash status stripspace submodule switch symbolic-ref tag unpack-file update-index update-ref \
    var verify-commit verify-pack verify-tag version whatchanged worktree write-tree",
);

/// Whether a sed script holds only commands that edit and print. Anything not understood isn't plain.
pub(super) fn is_plain_sed(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        // The address.
        loop {
            match rest.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '+' | '~' | '!' | ' ') => {
                    rest.next();
                }
                Some('/') => {
                    rest.next();
                    if !skip_regex(&mut rest, '/', true) {
                        return false;
                    }
                    while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
                }
                _ => break,
            }
        }
        match rest.next() {
            None => return true,
            Some('{' | '}') => continue,
            Some('p' | 'P' | 'd' | 'D' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'F' | 'z') => {}
            // Labels, and jumps to them.
            Some(':' | 'b' | 't' | 'T') => {
                while rest.next_if(|c| c.is_alphanumeric() || matches!(c, ' ' | '_')).is_some() {}
            }
            Some('q' | 'Q') => while rest.next_if(char::is_ascii_digit).is_some() {},
            Some('a' | 'i' | 'c') => {
                // The text ends with the line; a backslash carries it on.
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '\n' => break,
                        _ => {}
                    }
                }
                continue;
            }
            Some(command @ ('s' | 'y')) => {
                let Some(delimiter) = rest.next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n')) else {
                    return false;
                };
                let is_first_known = match command {
                    's' => skip_regex(&mut rest, delimiter, true),
                    _ => skip_delimited(&mut rest, delimiter),
                };
                if !is_first_known || !skip_delimited(&mut rest, delimiter) {
                    return false;
                }
                let flags = |c: &char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'M' | 'm');
                while command == 's' && rest.next_if(flags).is_some() {}
            }
            Some(_) => return false,
        }
        while rest.next_if(|c| *c == ' ').is_some() {}
        match rest.peek() {
            None | Some(';' | '\n' | '}') => {}
            Some(_) => return false,
        }
    }
}

/// Skips a regex with its end. In brackets the delimiter is a character as others are to every sed, but not to every awk;
/// false where it isn't certain which it is.
pub(super) fn skip_regex(rest: &mut Peekable<Chars>, delimiter: char, is_sed: bool) -> bool {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' if !skip_bracket(rest, delimiter, is_sed) => return false,
            _ if c == delimiter => return true,
            _ => {}
        }
    }
    false
}

fn skip_bracket(rest: &mut Peekable<Chars>, delimiter: char, is_sed: bool) -> bool {
    let mut has_class = false;
    rest.next_if_eq(&'^');
    // A first `]` is one of the characters.
    rest.next_if_eq(&']');
    while let Some(c) = rest.next() {
        match c {
            ']' => return true,
            '\\' if rest.next() == Some(']') => return false,
            // `[:alpha:]` has an end of its own, but not to busybox.
            '[' if rest.peek().is_some_and(|c| matches!(c, ':' | '.' | '=')) => {
                has_class = true;
                if !rest.by_ref().skip(1).any(|c| c == ']') {
                    return false;
                }
            }
            c if c == delimiter && (has_class || !is_sed) => return false,
            _ => {}
        }
    }
    false
}

pub(super) fn skip_delimited(rest: &mut Peekable<Chars>, delimiter: char) -> bool {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            _ if c == delimiter => return true,
            _ => {}
        }
    }
    false
}

/// Where a setting of wget names the program that asks for a password: `wget -e use_askpass=curl`. Letter case and joints
/// don't count in a setting's name.
fn askpass_of_wget(word: &str) -> Option<usize> {
    let mut names = word.match_indices('=').scan(0, |start, (at, _)| {
        let name = &word[std::mem::replace(start, at + 1)..at];
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
        Some((letters.collect::<Vec<_>>().ends_with(b"useaskpass"), at + 1))
    });
    names.find(|(is_askpass, _)| *is_askpass).map(|(_, value)| value)
}

/// Options whose value is a command line: the program (and git's command), letters, long names.
static TEXT_OPTIONS: &[(&str, &str, &[&str])] = &[
    ("rsync", "e", &["rsh", "rsync-path"]),
    // It runs each, in order.
    ("fish", "cC", &["command", "init-command"]),
    ("scp", "S", &[]),
    ("sftp", "SD", &[]),
    (
        "tar",
        "IF",
        &[
            "to-command",
            "use-compress-program",
            "rsh-command",
            "info-script",
            "new-volume-script",
            "rmt-command",
            "checkpoint-action",
        ],
    ),
    (
        "gtar",
        "IF",
        &[
            "to-command",
            "use-compress-program",
            "rsh-command",
            "info-script",
            "new-volume-script",
            "rmt-command",
            "checkpoint-action",
        ],
    ),
    ("bsdtar", "", &["use-compress-program"]),
    ("sort", "", &["compress-program"]),
    ("split", "", &["filter"]),
    ("man", "PH", &["pager", "html"]),
    ("zip", "", &["unzip-command"]),
    ("wget", "", &["use-askpass"]),
    ("svn", "", &["diff-cmd", "diff3-cmd", "editor-cmd"]),
    (
        "aria2c",
        "",
        &[
            "on-download-complete",
            "on-download-error",
            "on-download-pause",
            "on-download-start",
            "on-download-stop",
            "on-bt-download-complete",
        ],
    ),
    ("yt-dlp", "", &["exec", "exec-before-download", "downloader", "external-downloader"]),
    ("youtube-dl", "", &["exec", "external-downloader"]),
    ("cpio", "", &["rsh-command"]),
    ("mysql", "", &["pager"]),
    ("mariadb", "", &["pager"]),
    ("iptables", "", &["modprobe"]),
    ("ip6tables", "", &["modprobe"]),
    ("gpg", "", &["photo-viewer", "agent-program", "dirmngr-program"]),
    ("rg", "", &["pre", "hostname-bin"]),
    ("fd", "xX", &["exec", "exec-batch"]),
    ("fdfind", "xX", &["exec", "exec-batch"]),
    ("bat", "", &["pager"]),
    ("batcat", "", &["pager"]),
    ("delta", "", &["pager"]),
    ("ag", "", &["pager"]),
    ("ack", "", &["pager"]),
    ("git grep", "O", &["open-files-in-pager"]),
    ("git rebase", "x", &["exec"]),
    ("git clone", "u", &["upload-pack"]),
    ("git fetch", "", &["upload-pack"]),
    ("git pull", "", &["upload-pack"]),
    ("git ls-remote", "", &["upload-pack", "exec"]),
    ("git push", "", &["receive-pack", "exec"]),
    ("git archive", "", &["exec"]),
    ("git difftool", "x", &["extcmd"]),
    (
        "git filter-branch",
        "",
        &[
            "tree-filter",
            "index-filter",
            "msg-filter",
            "env-filter",
            "commit-filter",
            "parent-filter",
            "tag-name-filter",
            "setup",
        ],
    ),
    ("git send-email", "", &["sendmail-cmd", "to-cmd", "cc-cmd", "header-cmd"]),
    ("git instaweb", "d", &["httpd"]),
    ("git daemon", "", &["access-hook"]),
    ("start-stop-daemon", "ax", &["exec", "startas"]),
    ("entr", "", &[]),
    ("gcc", "", &["wrapper"]),
];

/// Commands of git that do another one's work or run programs.
pub(super) static GIT_PLUMBING: Names = Names::new(
    "\
    send-pack http-push receive-pack upload-pack remote-http remote-https remote-ext remote-fd \
    subtree svn p4 lfs shell daemon instaweb gui citool filter-branch filter-repo \
    for-each-repo credential send-email imap-send web--browse submodule--helper \
    rebase--helper rebase--interactive merge-index fast-import cvsserver upload-archive scalar \
    annex merge-one-file mergetool--lib remote-ssh",
);

/// What isn't git's own, and hands the words behind it to git again, in many repositories or with more arguments.
pub(super) static GIT_REPEATERS: Names =
    Names::new("all xargs each every foreach for-each for-each-repo multi bulk repeat repos workspace meta recurse");

/// Programs of which every operand is a file.
pub(super) static TAKES_FILES: Names = Names::new("rm rmdir mkdir touch cat head tail less more");

/// Programs to which an option before the sub-command is the same as behind it.
pub(super) static TAKES_OPTIONS_ANYWHERE: Names =
    Names::new("kubectl kubecolor oc helm aws gcloud az gh doctl fly wrangler vercel netlify npm pnpm cargo uv poetry");

/// Those of them that do another command's work only where they name it.
pub(super) static GIT_OWN_WORK: Names = Names::new(
    "\
    lfs subtree credential fast-import send-email imap-send instaweb gui citool daemon svn p4 web--browse \
    filter-branch filter-repo shell scalar annex",
);

/// Commands of git after which the same branch is checked out, whatever they are given.
pub(super) static GIT_STAYS: Names = Names::new(
    "\
    add am cherry-pick clean commit describe diff fetch grep log ls-files merge merge-base mv push remote reset restore \
    rev-list rev-parse revert rm show status tag",
);

/// Operands that hold a command line: which words, and where in them it begins.
pub(super) fn text_operands(program: &str, words: &[Word]) -> Vec<(usize, usize)> {
    let all = words.iter().enumerate().skip(1);
    match program {
        // `less '+!make'` begins with a command of less, here one that runs the rest.
        "less" | "more" | "most" => all
            .filter(|(_, word)| word.text.starts_with('+'))
            .filter_map(|(at, word)| Some((at, word.text.find(['!', '|', '#'])? + 1)))
            .collect(),
        // `gh alias set p '!make'`, or the last word with `--shell`.
        "gh" | "glab" if words.get(1).is_some_and(|word| word.text == "alias") => {
            let is_shell = words.iter().any(|word| matches!(word.text.as_str(), "-s" | "--shell"));
            let last = words.len() - 1;
            all.filter(|(at, word)| word.text.starts_with('!') || is_shell && *at == last)
                .map(|(at, word)| (at, usize::from(word.text.starts_with('!'))))
                .collect()
        }
        "wget" => all.filter_map(|(at, word)| Some((at, askpass_of_wget(&word.text)?))).collect(),
        _ => Vec::new(),
    }
}

/// The files that `curl` and `wget` write, by their names; `*` is one whose name only the run tells.
pub(super) fn downloads(program: &str, args: &[Word]) -> Vec<String> {
    let Some(row) = options::row(program) else { return Vec::new() };
    let given = Given::new(&row, args);
    let mut names: Vec<String> = Vec::new();
    let is_wget = program == "wget";
    let output = if is_wget { "-O" } else { "-o" };
    names.extend(given.values(output).map(|word| word.text.to_string()));
    let remote = is_wget && names.is_empty() || given.has("-O") && !is_wget || given.has("--remote-name-all");
    if !remote {
        return names;
    }
    let chosen_by_server = match is_wget {
        true => ["--content-disposition", "--trust-server-names", "-i", "-r", "-m"].iter().any(|it| given.has(it)),
        false => given.has("-J"),
    };
    if chosen_by_server {
        names.push("*".to_string());
    }
    let urls = given.operands.iter().copied().chain(given.values("--url"));
    for url in urls {
        let text = url.text.split('#').next().unwrap_or_default();
        // wget keeps the query.
        let path = if is_wget { text } else { text.split('?').next().unwrap_or_default() };
        let path = path.split_once("://").map_or(path, |(_, rest)| rest);
        let (place, name) = path.rsplit_once('/').unwrap_or((path, ""));
        let is_open = url.openness.from().is_some() && place.is_empty() || name.contains(['{', '[', '…']);
        names.push(match name {
            _ if is_open => "*".to_string(),
            "" => "index.html".to_string(),
            name => name.to_string(),
        });
    }
    names
}

/// The letters and the long names of a program's options whose value is a command line.
pub(super) fn text_options(program: &str) -> Option<(&'static str, &'static [&'static str])> {
    static BY_PROGRAM: LazyLock<ByName<(&str, &[&str])>> =
        LazyLock::new(|| TEXT_OPTIONS.iter().map(|(program, letters, names)| (*program, (*letters, *names))).collect());
    BY_PROGRAM.get(program).copied()
}

/// Where the value of an option of [`TEXT_OPTIONS`] begins in its word, or would; none if it is another option.
pub(super) fn text_option(option: &str, letters: &str, names: &[&str]) -> Option<usize> {
    if let Some(long) = option.strip_prefix("--") {
        let (name, attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let is_one = !name.is_empty() && names.iter().any(|it| it.starts_with(name));
        return is_one.then_some(name.len() + 2 + usize::from(attached));
    }
    let cluster = option.strip_prefix('-')?;
    cluster.find(|c| letters.contains(c)).map(|at| at + 2)
}
