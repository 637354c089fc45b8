//! What is known of programs: wrappers and their options, shells, interpreters, hazards.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, OnceLock};

/// A set of names, written as one text with blanks in between: one line then holds a dozen.
pub(super) struct Names {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Names {
    const fn new(text: &'static str) -> Names {
        Names { text, set: OnceLock::new() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.set.get_or_init(|| self.text.split_whitespace().collect()).contains(name)
    }
}

/// A program that runs the rest of its arguments. One row each; options that aren't listed are opaque.
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
    /// Its own command line is listed too.
    pub(super) listed: bool,
    /// Without a command it opens a shell.
    pub(super) bare_shell: bool,
    /// The rest is joined and given to a shell.
    pub(super) joins: bool,
    /// A letter whose value is text to be split.
    pub(super) text_letter: Option<char>,
    /// Letters with which nothing is run.
    pub(super) shows: &'static str,
}

pub(super) const PLAIN_WRAPPER: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long: "",
    valued_long: "",
    positionals: 0,
    assigns: false,
    listed: false,
    bare_shell: false,
    joins: false,
    text_letter: None,
    shows: "",
};

pub(super) const fn wrapper(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    positionals: usize,
) -> Wrapper {
    Wrapper { name, flags, valued, positionals, ..PLAIN_WRAPPER }
}

pub(super) const fn elsewhere(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    positionals: usize,
) -> Wrapper {
    Wrapper { listed: true, bare_shell: true, ..wrapper(name, flags, valued, positionals) }
}

pub(super) const SETARCH_FLAGS: &str = "vRFZLXBIS3T";
pub(super) const UNSHARE_LONG: &str = "\
    map-root-user map-current-user fork mount uts ipc net pid user cgroup time mount-proc \
    kill-child keep-caps";

/// The wrapper that a program is, or together with its first word, such as `docker exec`.
pub(super) fn wrapper_of(name: &str, verb: &str) -> Option<&'static Wrapper> {
    static BY_WORDS: LazyLock<HashMap<(&'static str, &'static str), &'static Wrapper>> = LazyLock::new(|| {
        let words = |it: &'static Wrapper| (it.name.split_once(' ').unwrap_or((it.name, "")), it);
        WRAPPERS.iter().map(words).collect()
    });
    // Shortens the keys' lifetime to that of the words.
    let by_words: &HashMap<(&str, &str), &'static Wrapper> = &BY_WORDS;
    by_words.get(&(name, verb)).copied()
}

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
    Wrapper {
        long: "null no-run-if-empty verbose interactive exit open-tty max-lines eof",
        valued_long: "max-args max-procs delimiter arg-file max-chars process-slot-var",
        ..wrapper("xargs", "0prtxol", "ILnPsdEaJRS", 0)
    },
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
    wrapper("strace", "cCdDfFhiknqrtTvwxyYzZ", "aAbeEIoOpPsSuUX", 0),
    wrapper("ltrace", "bcCfihLrStTV", "aAeFlnopsuwx", 0),
    wrapper("catchsegv", "", "", 0),
    wrapper("fakeroot", "uv", "", 0),
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
        assigns: false,
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
    Wrapper { joins: true, ..elsewhere("ssh", "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOoPpQRSWw", 1) },
    elsewhere("busybox", "", "", 0),
    elsewhere("toybox", "", "", 0),
    Wrapper {
        long: "detach interactive tty privileged",
        valued_long: "env user workdir env-file detach-keys",
        ..elsewhere("docker exec", "dit", "euw", 1)
    },
    Wrapper {
        long: "detach interactive tty privileged",
        valued_long: "env user workdir env-file detach-keys",
        ..elsewhere("podman exec", "dit", "euw", 1)
    },
    Wrapper {
        listed: true,
        long: "rm interactive tty detach privileged init read-only",
        valued_long: "name network volume mount env user workdir platform env-file memory publish",
        ..wrapper("docker run", "dit", "evupwhlm", 1)
    },
    Wrapper {
        listed: true,
        long: "rm interactive tty detach privileged init read-only",
        valued_long: "name network volume mount env user workdir platform env-file memory publish",
        ..wrapper("podman run", "dit", "evupwhlm", 1)
    },
    Wrapper { long: "stdin tty", valued_long: "container namespace", ..elsewhere("kubectl exec", "it", "cn", 1) },
    Wrapper { listed: true, long: "yes no-install quiet", valued_long: "package", ..wrapper("npx", "yq", "p", 0) },
    Wrapper { listed: true, ..wrapper("bunx", "", "", 0) },
    wrapper("npm exec", "", "", 0),
    wrapper("pnpm exec", "", "", 0),
    wrapper("pnpm dlx", "", "", 0),
    wrapper("yarn exec", "", "", 0),
    wrapper("yarn dlx", "", "", 0),
    wrapper("uv run", "", "", 0),
    wrapper("poetry run", "", "", 0),
    wrapper("pipenv run", "", "", 0),
    wrapper("pdm run", "", "", 0),
    wrapper("hatch run", "", "", 0),
    wrapper("bundle exec", "", "", 0),
    wrapper("mise exec", "", "", 0),
    wrapper("direnv exec", "", "", 1),
];

pub(super) static SHELLS: Names = Names::new(
    "\
    sh bash dash zsh ksh ksh93 mksh ash rbash yash posh fish csh tcsh pwsh nu elvish xonsh",
);
pub(super) static POSIX_SHELLS: Names = Names::new("sh bash dash zsh ksh ksh93 mksh ash rbash yash posh");
pub(super) static INTERPRETERS: Names = Names::new(
    "\
    python pypy perl ruby node nodejs php lua luajit tclsh wish Rscript julia osascript guile \
    racket irb groovy scala ghci runghc ipython ts-node tsx elixir erl swipl ocaml sbcl clisp",
);

/// Editors, debuggers, schedulers and the like: they run commands by design.
pub(super) static RUNS_TEXT: Names = Names::new(
    "\
    vi vim nvim view vimdiff ex ed emacs emacsclient nano gdb lldb expect m4 screen tmux at \
    batch crontab nc ncat netcat socat sqlite3 psql mysql ftp lftp parallel entr dc bc jshell \
    perf valgrind rlwrap ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 \
    ld-musl-x86_64.so.1 bwrap firejail run-parts start-stop-daemon supervise inotifywait \
    watchexec nodemon dpkg-reconfigure telnet rsh mosh sshpass hyperfine cgexec \
    prlimit daemonize faketime git-shell logsave dtach abduco zellij byobu xterm \
    gnome-terminal konsole",
);

/// They print, read or change the shell's own state: an argument can't make them anything else.
pub(super) static INERT: Names = Names::new(
    "\
    echo printf true false : cd pwd pushd popd dirs ls cat tac head tail wc sort uniq cut tr \
    grep egrep fgrep rg test [ mkdir rmdir basename dirname realpath readlink stat file du df \
    date sleep seq diff cmp comm paste fold nl rev expand column yes which type hash whoami id \
    hostname uname printenv tput clear md5sum sha1sum sha256sum cksum base64 xxd od hexdump \
    strings jq yq tree let umask ulimit export declare typeset local readonly unset read mapfile \
    readarray getopts set shift return exit break continue wait jobs shopt times expr nproc free \
    uptime groups tty locale ps pgrep lsof",
);

pub(super) static FILE_TOOLS: Names = Names::new(
    "\
    rm cp mv ln chmod chown chgrp touch tee truncate shred unlink dd install mkfifo mktemp kill \
    killall pkill",
);

/// Everyday programs for which the name of another program is an ordinary argument.
pub(super) static PLAIN: Names = Names::new(
    "\
    npm pnpm yarn bun pip pip3 pipx poetry uv cargo rustup rustc go gofmt make gmake cmake ninja \
    meson gcc g++ cc clang ld ar tar zip unzip gzip gunzip xz curl wget rsync scp sftp docker \
    podman kubectl helm terraform gh glab hg svn brew apt apt-get apt-cache dpkg yum dnf pacman \
    apk snap systemctl service journalctl man info whereis apropos tsc eslint prettier jest \
    vitest pytest mypy ruff black flake8 javac java mvn gradle less more top htop fd fdfind bat \
    ssh-keygen ssh-add openssl gpg aws gcloud az ping dig host nslookup ip ifconfig netstat ss \
    mount umount shutdown reboot halt poweroff useradd userdel passwd mkfs fdisk iptables just \
    patch split hugo deno trash",
);

/// Verbs of many programs that are programs too.
pub(super) static COMMON_VERBS: Names = Names::new(
    "\
    test true false date file time find sort head tail cut join watch command exec install kill \
    read set unset type wait export stat sleep diff shift exit id info host service view batch \
    cat expand hash tree local break return continue at split patch make less more top go just \
    ip [ : mount echo jobs free times screen groups locale env black jest node python service",
);

pub(super) static MESSAGE_OPTIONS: Names = Names::new(
    "\
    -m -am -sm --message --title --body --notes --description -F --file",
);

/// Options, by their start, that make an ordinary program run another one.
pub(super) static RUNNING_OPTIONS: &[(&str, &str)] = &[
    ("tar", "--checkpoint-a --to-c --use --rs --rm --info --new-v -I -F"),
    ("gtar", "--checkpoint-a --to-c --use --rs --rm --info --new-v -I -F"),
    ("bsdtar", "--use"),
    ("sort", "--comp"),
    ("rg", "--pre --hostname-bin"),
    ("rsync", "-e --rsh --rsync-p -ae -ave -avze -az -ra -rv -vz"),
    ("scp", "-S -o -D"),
    ("sftp", "-S -o -b -D"),
    ("zip", "-T --unzip"),
    ("man", "-P -H --pager --html"),
    ("go", "-exec --exec -toolexec --toolexec generate -vettool"),
    ("gcc", "-wrapper -fplugin -B"),
    ("g++", "-wrapper -fplugin -B"),
    ("cc", "-wrapper -fplugin -B"),
    ("wget", "--use-askpass -e --exe --config"),
    ("curl", "-K --config"),
    ("cargo", "--config"),
    ("cmake", "-E -P"),
    ("split", "--filter"),
    ("fd", "-x -X --exec"),
    ("fdfind", "-x -X --exec"),
    ("bat", "--pager"),
    ("less", "+ -k --lesskey"),
    ("more", "+"),
    ("gh", "alias extension codespace config"),
    ("deno", "eval repl -"),
    ("bun", "-e --eval -p --print -"),
    ("ip", "exec"),
    ("openssl", "-engine"),
    ("kubectl", "exec debug plugin run"),
    ("docker", "exec run buildx"),
    ("podman", "exec run unshare"),
];

pub(super) static HAZARDOUS_VARIABLES: Names = Names::new(
    "\
    PATH ENV SHELL SHELLOPTS BASHOPTS PROMPT_COMMAND PS0 PS1 PS2 PS4 BROWSER LESSOPEN LESSCLOSE \
    FCEDIT PERL5OPT PERL5LIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT RUBYOPT \
    RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS \
    RUSTC MAKEFLAGS MAKEFILES MAKE TAR_OPTIONS RSYNC_RSH CVS_RSH AWKPATH AWKLIBPATH HOME \
    XDG_CONFIG_HOME ZDOTDIR GCONV_PATH LUA_INIT PHPRC OPENSSL_CONF CDPATH TERMINFO EXINIT \
    VIMINIT INPUTRC SSH_ASKPASS VISUAL MANOPT GOFLAGS",
);

pub(super) const HARMLESS_SETTINGS: &str = "\
    user. push. pull. fetch. color. advice. log. safe. commit.gpgsign tag.gpgsign \
    init.defaultbranch core.quotepath core.autocrlf core.filemode core.longpaths core.eol \
    core.ignorecase core.abbrev core.symlinks core.safecrlf merge.conflictstyle merge.ff \
    diff.algorithm diff.renames diff.colormoved diff.noprefix diff.mnemonicprefix \
    rebase.autostash rebase.autosquash protocol.version http.sslverify http.postbuffer \
    http.lowspeedlimit http.lowspeedtime rerere.enabled branch.autosetuprebase column.ui \
    help.autocorrect status. remote.origin.url gc.auto index.version feature.manyfiles";

/// Commands of git itself, which no alias can replace. Others may be an alias for anything.
pub(super) static GIT_COMMANDS: Names = Names::new(
    "\
    add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore \
    checkout cherry cherry-pick clean clone commit commit-tree config count-objects describe \
    diff diff-files diff-index diff-tree difftool fetch for-each-ref format-patch fsck gc grep \
    hash-object help index-pack init log ls-files ls-remote ls-tree merge merge-base merge-tree \
    mktree mv name-rev notes prune pull push range-diff read-tree rebase reflog remote repack \
    reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref \
    sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var \
    verify-commit verify-tag version whatchanged worktree write-tree",
);

/// Commands of git that do another one's work or run programs.
pub(super) static GIT_PLUMBING: Names = Names::new(
    "\
    send-pack http-push receive-pack upload-pack remote-http remote-https remote-ext remote-fd \
    subtree svn p4 lfs shell hook daemon instaweb gui citool mergetool filter-branch filter-repo \
    for-each-repo credential send-email imap-send maintenance web--browse submodule--helper \
    rebase--helper rebase--interactive merge-index fast-import cvsserver upload-archive scalar \
    annex merge-one-file mergetool--lib remote-ssh",
);
