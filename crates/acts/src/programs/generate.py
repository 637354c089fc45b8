#!/usr/bin/env python3
"""Writes options.txt, the table of what programs' options are, beside this file.

    python3 generate.py --fig DIR     makes the table anew
    python3 generate.py --correct     applies corrections.txt to the table that is there
    python3 generate.py --check       holds options.txt and corrections.txt to their syntax

Needs Python 3 only; with --fig also node. A line of the table has three columns, with a tab between them:

    PATH     a program, or a program and its sub-command; aliases of the last word are joined by `|`
    HABITS   one style, then flags:
        getopt    clusters of short options, any prefix of a long one that is clear, options after operands too
        posix     clusters; options end at the first operand; long names, if any, as for getopt
        git       as getopt, and every long option has a `--no-` form, or for `--no-x` the form `--x`
        go        one dash and two are the same, no clusters, options end at the first operand
        cobra     clusters, exact long names, options anywhere
        clap      the same; other libraries that read options so are listed under it too
        argparse  clusters, prefixes, options anywhere
        npm       prefixes, options anywhere, `--no-` forms, no clusters
        word      a word with one dash is one option, which may have a value attached
        none      no options
        sub       has sub-commands: the words before the sub-command are options of this line
        stop      options end at the first operand whatever the style says
        deep      options of this line hold after its sub-commands too, unless their own line says otherwise
        short     a sub-command may be written by its beginning; one that several begin with may be any of them
    OPTIONS  blank-separated; spellings of one option joined by `,`; `=` at the end: needs a value, attached or
             as the next word; `[=]`: may have a value, which can only be attached. With styles go and cobra an
             option without a mark is a boolean and may have `=true` or `=false` attached.
             Where it isn't certain whether an option has a value, or it has several words of them, it is left out.

Where the facts come from, each over the ones before it:
  1. The npm package @withfig/autocomplete (MIT licence): `npm pack @withfig/autocomplete`, unpack it, and give
     its folder `package` to --fig. Only names are taken, no text.
  2. What the installed programs say of themselves: `git CMD -h` and `--git-completion-helper-all`, `--help` and usage
     texts, npm's definitions, gcloud's completion table, the argument tables of aws. Of a program that isn't
     installed the lines that options.txt has already are kept, so a run elsewhere loses nothing.
  3. corrections.txt: the same format. A line replaces the generated one. With a leading `+` it extends it: its
     options replace those that share a spelling, `!NAME` removes an option, and HABITS `.` leaves the habits. With a
     leading `-` the path and all below it are removed. `@PATH` in the third column takes that path's options and the
     lines below it too.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "options.txt")
CORRECTIONS = os.path.join(HERE, "corrections.txt")
STYLES = {"getopt", "posix", "git", "go", "cobra", "clap", "argparse", "npm", "word", "none"}
FLAGS = {"sub", "stop", "deep", "short"}

# What is asked how. `help`: `NAME --help`; `tree`: the same and for each sub-command; `usage`: the synopsis that a wrong
# option brings up; `fig`: the npm package only. A program may stand in a `fig` row and in another one.
PROGRAMS = """
getopt help arch b2sum base32 base64 cat chgrp chmod chown cksum cp cut date df dir dirname du
getopt help head id install link ln logname ls md5sum mkdir mkfifo mknod mktemp mv
getopt help nproc od paste pwd readlink realpath rm rmdir sha1sum sha224sum sha256sum
getopt help sha384sum sha512sum shred shuf sleep sort split stat sum sync tac tail tee touch truncate tty
getopt help uname uniq unlink uptime wc whoami
getopt,stop help basename chroot env nice nohup printenv seq stdbuf timeout tr
getopt help grep sed diff cmp diff3 sdiff patch gzip bzip2 xz xzcat zstd tar file
getopt help make wget bc strip
getopt,stop help xargs flock ionice nsenter unshare setsid setpriv taskset chrt prlimit choom watch
getopt help mount umount dmesg lsblk losetup mkswap more mountpoint rev swapon swapoff
getopt help wipefs blkid fsck fstrim blkdiscard hexdump column runuser su
getopt help fallocate ipcrm ipcs
getopt help fdisk
getopt help free pgrep pkill sysctl w killall fuser
getopt help useradd userdel usermod groupadd groupdel passwd chpasswd
getopt help systemctl journalctl loginctl hostnamectl networkctl
getopt help
getopt,stop help systemd-run systemd-cat
getopt help psql pg_dump pg_dumpall pg_restore createdb dropdb createuser dropuser
getopt help vacuumdb
getopt help column shasum gettext envsubst locale getent ldconfig
getopt help curl gawk parted
clap help rsync rg fdfind ag rustc rustfmt
posix usage e2fsck resize2fs tune2fs
posix usage chattr lsattr
getopt help parallel screen less mysql mysqldump mysqladmin
getopt,stop help sudo strace
clap help dpkg dpkg-query dpkg-deb dpkg-reconfigure update-alternatives
argparse tree pip
cobra tree docker kubectl gh podman
argparse help
posix tmux tmux
git git git
npm npm npm
clap cargo cargo
clap tree rustup
argparse gcloud gcloud
argparse aws aws
go terraform terraform
cobra fig gh helm pulumi fly supabase stripe doctl podman
cobra fig docker-compose
go fig vault go
clap fig firebase vercel netlify wrangler bun bunx deno uv poetry pipenv brew jest eslint prettier ruff black prisma
clap fig knex turbo playwright next vite ts-node tsx composer gradle
clap fig rails bundle just
clap fig
clap fig dotnet heroku mongosh
clap fig drush mix
clap fig
clap fig create-vite create-next-app
npm fig pnpm yarn
npm,stop fig npx
argparse fig pipx conda ansible-playbook ansible mypy pre-commit
argparse fig django-admin gem rake
clap fig pytest rustup ag rsync cargo
word fig sqlite3 ffmpeg launchctl
posix fig defaults
getopt fig nginx vim nvim lsof nmap tree top ping traceroute dig whois trash stow mosh
"""

# Programs whose sub-commands have options in common.
HOISTED = "vault pulumi helm gh fly supabase stripe doctl poetry heroku gradle yarn pnpm podman conda gem netlify uv firebase brew "\
    "django-admin cargo dotnet deno bun bundle rustup"

# Too much for what it would give: groups that repeat the commands above them, and what only shows something.
LEFT_OUT = re.compile(
    r"podman (container|image|generate|healthcheck|machine|manifest|play|kube|farm|artifact|quadlet) "
    r"|heroku (?!(addons|apps|config|domains|maintenance|pg|pipelines|ps|redis|releases|run|access|authorizations|keys|local|logs|git)\b)"
    r"|fly (?!(apps|auth|config|deploy|destroy|ips|launch|logs|machine|machines|postgres|proxy|regions|restart|resume|scale|secrets|ssh|"
    r"suspend|volumes|certs|tokens)\b)"
    r"|brew (style|audit|bump|create|livecheck|test|tests|extract|man|sponsors|typecheck|unbottled)\b"
    r"|docker (container (create|update|exec|attach|commit|diff|export|inspect|logs|ls|pause|port|rename|restart|start|stats|stop|top|unpause|wait)"
    r"|builder|checkpoint|config|node|secret|swarm|trust|plugin|manifest|image (?!prune|rm))\b"
    r"|git (reflog show|rev-list|diff-tree|diff-index|diff-files|annotate|range-diff|whatchanged|send-pack|pack-objects|help|column|fast-export|"
    r"cvs\w+|merge-\w+|http-\w+|mailinfo|mailsplit|interpret-trailers|fmt-merge-msg|for-each-repo|diagnose|bugreport)$")

OPTION = re.compile(r"--\[no-\][A-Za-z0-9][\w.+-]*|--?[A-Za-z0-9?#@][\w.+-]*|-[0-9?#]")
LONG_ENOUGH = re.compile(r"-{1,2}[A-Za-z0-9?#@][\w.+:#-]*$|-[?#@!:.,+%]$")


def run(*words, cwd=None):
    """What a command prints, or nothing if it can't be run. It sees no input and little environment."""
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8", "COLUMNS": "200", "PAGER": "cat",
           "GIT_PAGER": "cat", "NO_COLOR": "1", "TERM": "dumb", "CHECKPOINT_DISABLE": "1", "MANWIDTH": "200"}
    for name in ("LD_LIBRARY_PATH",):
        if name in os.environ:
            env[name] = os.environ[name]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                              cwd=cwd, env=env, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode("utf-8", "replace"))


def installed(name):
    return any(os.access(os.path.join(dir, name), os.X_OK) for dir in os.environ["PATH"].split(":"))


class Line:
    """The options of one path: spelling -> (all spellings, mark). Spellings with two meanings are forgotten."""

    def __init__(self, habits, words=()):
        self.habits, self.options, self.unsure, self.aliases = list(habits), [], set(), list(words)

    def add(self, names, mark):
        """`mark` is "", "=", "[=]", or None where it isn't known."""
        names = [name for name in dict.fromkeys(names) if LONG_ENOUGH.match(name) and name not in self.unsure]
        if self.habits[0] not in ("word", "go"):
            names = [name for name in names if name.startswith("--") or len(name) == 2]
        if not names:
            return
        same = [option for option in self.options if set(option[0]) & set(names)]
        if mark is None or any(option[1] != mark for option in same):
            self.unsure.update(names)
            for option in same:
                self.unsure.update(option[0])
                self.options.remove(option)
            return
        for option in same:
            names = list(dict.fromkeys(option[0] + names))
            self.options.remove(option)
        self.options.append((names, mark))

    def replace(self, names, mark):
        self.remove(names)
        self.unsure -= set(names)
        self.options.append((list(dict.fromkeys(names)), mark))

    def remove(self, names):
        for option in [option for option in self.options if set(option[0]) & set(names)]:
            self.options.remove(option)
            rest = [name for name in option[0] if name not in names]
            if rest:
                self.options.append((rest, option[1]))

    def known(self):
        return {name for option in self.options for name in option[0]} | self.unsure

    def text(self):
        def order(name):
            return (len(name) - len(name.lstrip("-")), name.lower(), name)
        return " ".join(sorted(",".join(sorted(names, key=order)) + mark for names, mark in self.options))


# Help texts

def spellings(spec):
    """The options that the left column of a help text names: (names, mark)."""
    names, marks, at = [], [], 0
    spec = spec.rstrip(" :")
    while at < len(spec):
        found = OPTION.match(spec, at)
        if not found:
            return [(names, None)] if names else []
        names.append(found.group().rstrip(".+-") if len(found.group()) > 2 else found.group())
        at = found.end()
        rest = spec[at:]
        rest_match = re.match(r"(?P<arg>.*?)(?P<next>\s*(?:,|/|\||\bor\b)\s*(?=--?[A-Za-z0-9?#@\[])|\s+(?=--?[A-Za-z])|$)", rest)
        argument = rest_match.group("arg").rstrip()
        at += rest_match.end()
        marks.append(argument_mark(argument))
    if None in marks:
        return [(names, None)]
    mark = "=" if "=" in marks else "[=]" if "[=]" in marks else ""
    if mark == "=" and "[=]" in marks:
        return [(names, None)]
    return [(names, mark)]


def argument_mark(argument):
    if argument in ("", "...", "[=true|false]"):
        return ""
    if re.fullmatch(r"\[\s*=?\s*[<{(\"']?[^\]]*\](?:\.\.\.)?", argument) and not argument.startswith(" "):
        return "[=]"
    if argument.startswith("[") or argument.startswith("(="):
        return "[=]"
    if argument.startswith("="):
        return None if argument.startswith("=[") and argument.endswith("]") and "+" not in argument and "-" not in argument else "="
    word = argument.strip()
    if word.startswith("["):
        return None
    if re.fullmatch(r"[A-Za-z_]*\[=.*\]", word):  # pflag: string[="x"]
        return "[=]"
    if re.fullmatch(r"(<[^>]*>|\{[^}]*\}|\([^)\"]*\)|'[^']*'|\"[^\"]*\"|[A-Za-z#][^ \[\]]*|\*)", word):
        return "=" if not word.endswith("...") or word.startswith("<") else None
    if re.fullmatch(r"<[^>]*>(?:[:=,|/]?<[^>]*>)+|<[^>]*>\[[^\]]*\]|<[^ ]*>\.\.\.", word):
        return "="
    return None


def read_help(line, text):
    """Adds the options of a help text: lines that begin with an option, its description two blanks or more away."""
    rows = text.expandtabs(8).split("\n")
    for row in rows:
        found = re.match(r"( {0,12})(-.*)$", row)
        if not found:
            continue
        spec = re.split(r" {2,}|(?<=[\w\]>])\s+:\s", found.group(2).replace(",  -", ", -"))
        left = spec[0]
        if not re.match(r"--?[A-Za-z0-9?#@\[]", left):
            continue
        negated = left.replace("--[no-]", "--")
        for names, mark in spellings(negated):
            line.add(names, mark)


def read_kubectl(line, text):
    for names, default in re.findall(r"^    (-[^=\n]*)=(.*):$", text, re.M):
        # The few that may stand without a value don't say so there.
        mark = "" if default in ("true", "false") else "[=]" if names in ("--cascade", "--dry-run", "--validate") else "="
        line.add(names.split(", "), mark)


def read_usage(line, text):
    """Adds the options of a synopsis: `[-abc] [-x value]`."""
    for group in re.findall(r"\[(-[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*)\]", re.sub(r"\s+", " ", text)):
        words = group.replace(" | ", "|").split("|")
        for word in words:
            parts = word.strip().split(" ")
            if not re.fullmatch(r"--?[A-Za-z0-9?][\w-]*", parts[0]):
                continue
            if parts[0].startswith("--"):
                line.add([parts[0]], "" if len(parts) == 1 else "=" if len(parts) == 2 else None)
            elif len(parts) == 1:
                for letter in parts[0][1:]:
                    line.add(["-" + letter], "")
            elif len(parts) == 2 and len(parts[0]) == 2:
                line.add([parts[0]], None if parts[1].startswith("[") else "=")
            elif len(parts[0]) == 2:
                line.add([parts[0]], None)


def sub_commands(text):
    """The sub-commands that a help text lists under headings with the word `command`."""
    names, inside = [], False
    for row in text.split("\n"):
        if re.match(r"\S.*", row):
            inside = bool(re.search(r"commands?( \(.*\))?:?$", row.strip(), re.I)) and not row.startswith(" ")
            continue
        found = re.match(r"  ?(?:  )?([a-z][\w-]*)(?:\*|:)?(?:, ([a-z][\w-]*))?(?:\s{2,}|$|:)", row)
        if inside and found:
            names.append([name for name in found.groups() if name])
    return names


# One function for each way to ask. Each fills `lines`: path (a tuple of words) -> Line.


def ask_help(lines, habits, name):
    text = run(name, "--help", "all") if name == "curl" else run(name, "--help")
    line = lines.setdefault((name,), Line(habits))
    if name == "iptables" and "Usage" not in text:
        text = run(name, "-h")
    read_help(line, text)


def ask_usage(lines, habits, name):
    text = run(name, "--a-wrong-option") if name != "ssh-agent" else run(name, "-?")
    if name == "nc":
        text = run(name, "-h")
    read_usage(lines.setdefault((name,), Line(habits)), text)


def ask_tree(lines, habits, name):
    globals_of_kubectl = run("kubectl", "options") if name == "kubectl" else ""

    def visit(path, aliases, depth):
        text = run(*path, "--help")
        line = lines.setdefault(path, Line(habits, aliases))
        if name == "kubectl":
            read_kubectl(line, text)
        else:
            read_help(line, text)
        found = re.search(r"^Aliases:?\n((?:  .*\n?)+)", text, re.M | re.I)
        if found:
            for other in re.split(r",\s*", found.group(1).strip().replace("\n", ",")):
                words = tuple(other.strip().rstrip(",").split())
                if words[:-1] == path[:-1] and words and words[-1] != path[-1]:
                    line.aliases.append(words[-1])
        if depth < 4:
            for names in sub_commands(text):
                if names[0] not in ("help", "completion", "options") and path + (names[0],) not in lines:
                    line.habits = with_flag(line.habits, "sub")
                    visit(path + (names[0],), names[1:], depth + 1)

    visit((name,), [], 0)
    if globals_of_kubectl:
        read_kubectl(lines[(name,)], globals_of_kubectl)
        lines[(name,)].habits = with_flag(lines[(name,)].habits, "deep")
    if name.startswith("pip"):
        lines[(name,)].habits = with_flag(lines[(name,)].habits, "deep")
        shared = {tuple(names) for names, _ in lines[(name,)].options}
        for path, line in lines.items():
            if path[0] == name and len(path) > 1:
                line.options = [option for option in line.options if tuple(option[0]) not in shared]


def ask_cargo(lines, habits, name):
    line = lines.setdefault((name,), Line(habits + ["sub"]))
    read_help(line, run("cargo", "--help"))
    for found in re.finditer(r"^    ([a-z][\w-]*)(?:, ([a-z]))?(?: .*)?$", run("cargo", "--list"), re.M):
        command = found.group(1)
        if "alias:" in found.group(0):
            continue
        path = (name, command)
        text = run("cargo", command, "--help") if command in ("clippy", "fmt", "miri", "nextest") else run("cargo", "help", command)
        inner = lines.setdefault(path, Line(habits, [found.group(2)] if found.group(2) else []))
        if text.startswith("CARGO-") or "\nNAME\n" in text:  # a manual page
            for row in re.findall(r"^ {7}(-[^\n]*)$", text, re.M):
                for names, mark in spellings(row.strip()):
                    inner.add(names, mark)
        else:
            read_help(inner, text)
    for short in re.finditer(r"^    ([a-z]+) +alias: ([a-z]+)$", run("cargo", "--list"), re.M):
        if (name, short.group(2)) in lines:
            lines[name, short.group(2)].aliases.append(short.group(1))


def ask_terraform(lines, habits, name):
    def visit(path):
        text = run(*path, "-help")
        line = lines.setdefault(path, Line(habits))
        for row in re.findall(r"^  (-[^\n]*)$", text, re.M):
            left = re.split(r" {2,}", row)[0]
            for option in re.split(r",\s*", left):
                found = re.fullmatch(r"(-[\w-]+)(=true|=false)?((?:=| )\S+)?", option)
                if found:
                    line.add([found.group(1)], "" if found.group(2) or not found.group(3) else "=")
        for found in re.finditer(r"^(?:  |    )([a-z][\w-]*) {2,}\S", text.split("ommands:", 1)[1] if "ommands:" in text else "", re.M):
            if len(path) < 3 and found.group(1) not in ("version", "help"):
                line.habits = with_flag(line.habits, "sub")
                visit(path + (found.group(1),))

    visit((name,))


def ask_tmux(lines, habits, name):
    read_usage(lines.setdefault((name,), Line(habits + ["sub"])), run("tmux", "-?"))
    for found in re.finditer(r"^([a-z-]+)(?: \(([a-z-]+)\))?(.*)$", run("tmux", "-L", "none", "-f", "/dev/null", "list-commands"), re.M):
        line = lines.setdefault((name, found.group(1)), Line(habits, [found.group(2)] if found.group(2) else []))
        read_usage(line, found.group(3))


def ask_npm(lines, habits, name):
    lib = os.path.join(os.path.dirname(os.path.realpath(next(os.path.join(d, "npm") for d in os.environ["PATH"].split(":")
                                                             if os.access(os.path.join(d, "npm"), os.X_OK)))), "..")
    script = """
const r = require('module').createRequire(process.argv[1] + '/');
const d = r('@npmcli/config/lib/definitions/index.js'), c = r('./lib/utils/cmd-list.js');
const of = t => t === null ? 'null' : t && t.name ? t.name : typeof t === 'string' ? 'text' : String(t);
const options = Object.entries(d.definitions).map(([k, v]) => [k, [].concat(v.type).map(of)]);
console.log(JSON.stringify({options, shorthands: d.shorthands, commands: c.commands, aliases: c.aliases}));
"""
    facts = json.loads(run("node", "-e", script, os.path.realpath(lib)).split("\n")[-2])
    line = lines.setdefault((name,), Line(habits + ["sub", "deep"]))
    marks = {}
    for option, types in facts["options"]:
        # A boolean that may also be a word takes the next word only if it is one of those.
        flags = {"Boolean"} & set(types)
        marks[option] = "" if flags and not set(types) - {"Boolean", "null"} else None if flags else "="
        line.add(["--" + option], marks[option])
    for short, long in facts["shorthands"].items():
        dashes = "-" if len(short) == 1 else "--"
        target = long[0][2:]
        if len(long) > 1 or target.startswith("no-"):
            line.add([dashes + short], "")
        else:
            line.add([dashes + short, long[0]], marks.get(target, None))
    for command in facts["commands"]:
        lines.setdefault((name, command), Line(habits, [a for a, to in facts["aliases"].items() if to == command]))


def ask_gcloud(lines, habits, name):
    root = os.path.dirname(os.path.dirname(os.path.realpath(next(os.path.join(d, "gcloud") for d in os.environ["PATH"].split(":")
                                                                 if os.access(os.path.join(d, "gcloud"), os.X_OK)))))
    found = [os.path.join(root, p) for p in ("data/cli/gcloud_completions.py", "../lib/google-cloud-sdk/data/cli/gcloud_completions.py")]
    found += ["/usr/lib/google-cloud-sdk/data/cli/gcloud_completions.py"]
    space = {}
    exec(open(next(p for p in found if os.path.exists(p)), encoding="utf-8").read(), space)  # one assignment of a literal
    tree = space["STATIC_COMPLETION_CLI_TREE"]
    ends = re.compile(r"(delete|destroy|rm|purge|set-iam-policy|deploy|ssh)$")
    groups = set("projects container sql storage iam run functions app secrets pubsub dns artifacts services firestore".split())

    def visit(node, path):
        last = not node["commands"]
        if len(path) == 1 or last and (path[1] in groups or path[1:3] in (("compute", "instances"), ("compute", "disks"), ("compute", "ssh"))) and len(path) <= 4 and ends.match(path[-1]):
            line = lines.setdefault(path, Line(habits + (["sub", "deep"] if len(path) == 1 else [])))
            for option, kind in node["flags"].items():
                line.add([option], "" if kind == "bool" else "=")
        for word, inner in node["commands"].items():
            if word not in ("alpha", "beta", "preview"):
                visit(inner, path + (word,))

    visit(tree, (name,))


def ask_aws(lines, habits, name):
    script = """
import json
from awscli.clidriver import create_clidriver
def facts(table):
    out = []
    for k, a in table.items():
        if getattr(a, 'positional_arg', False): continue
        n = getattr(a, '_nargs', None) or getattr(a, 'nargs', None)
        t = a.cli_type_name; action = getattr(a, '_action', None)
        out.append(['--' + k, '' if t == 'boolean' or action in ('store_true', 'store_false', 'version') else None if n in ('*', '+', '?') or t == 'list' else '='])
    return out
d = create_clidriver(); out = [[[], facts(d._get_argument_table())]]
s3 = d._get_command_table()['s3']
for k, c in s3.subcommand_table.items():
    if k != 'help': out.append([['s3', k], facts(c.arg_table)])
for service, ends in WANTED.items():
    table = d._get_command_table()[service]._get_command_table()
    for k, c in table.items():
        if any(k.startswith(e) for e in ends): out.append([[service, k], facts(c.arg_table)])
print(json.dumps(out))
"""
    wanted = {"s3api": ["delete-bucket", "delete-object"], "ec2": ["terminate-", "stop-inst", "delete-volume", "delete-vpc", "delete-snapshot"],
              "rds": ["delete-db-"], "dynamodb": ["delete-"], "lambda": ["delete-function", "invoke", "update-function-code"],
              "iam": ["delete-user", "delete-role", "create-access", "attach-"], "cloudformation": ["delete-", "deploy"],
              "ecs": ["delete-", "run-task"], "eks": ["delete-cluster"], "ecr": ["delete-"], "kms": ["schedule-"],
              "secretsmanager": ["delete-", "get-secret"], "route53": ["delete-hosted", "change-resource"], "sqs": ["delete-", "purge"]}
    python = open(os.path.realpath(next(os.path.join(d, "aws") for d in os.environ["PATH"].split(":")
                                        if os.access(os.path.join(d, "aws"), os.X_OK))), "rb").readline().decode("utf-8", "replace")
    python = python[2:].strip() if "python" in python else "python3"
    text = run(python, "-c", f"WANTED = {wanted!r}\n{script}")
    if not text.startswith("[["):
        print("aws: not asked: " + text[-200:], file=sys.stderr)
        return
    for path, options in json.loads(text):
        line = lines.setdefault((name, *path), Line(habits + (["sub", "deep"] if not path else [])))
        for option, mark in options:
            line.add([option], mark)


def ask_git(lines, habits, name):
    with tempfile.TemporaryDirectory() as dir:
        run("git", "init", "-q", dir)
        commands = run("git", "--list-cmds=main,others,nohelpers").split()
        porcelain = set(run("git", "--list-cmds=list-mainporcelain,list-ancillarymanipulators,list-ancillaryinterrogators,"
                                   "list-plumbingmanipulators,list-plumbinginterrogators,list-foreignscminterface,list-synchingrepositories,"
                                   "list-purehelpers").split())
        line = lines.setdefault((name,), Line(habits + ["sub"]))
        for command in commands:
            if command in porcelain and "--" not in command:
                git_command(lines, habits, (name, command), dir)
    line.habits = habits + ["sub"]


def git_command(lines, habits, path, dir):
    text = run(*path, "-h", cwd=dir)
    if "usage:" not in text:
        text = ""
    line = lines.setdefault(path, Line(habits))
    rows = [row for row in text.split("\n") if re.match(r"    -", row)]
    helper = run(*path, "--git-completion-helper-all", cwd=dir).split("\n")[0].split()
    helper = [] if not helper or any(not re.match(r"-|[a-z]", word) for word in helper) or "usage:" in helper else helper
    for row in rows:
        # The description begins in the column that all do, be there one blank before it only.
        left = row[:25] if row[24:25] != " " and row[25:26] == " " and row[26:27] not in ("", "<", "(", "[") else row
        found = spellings(re.split(r" {2,}", left.strip())[0].replace("--[no-]", "--"))
        for names, mark in found:
            line.add(names, mark)
    if not rows:
        read_usage(line, text)
    named = line.known()
    for word in helper:
        option = word.rstrip("=")
        if option == "--":
            continue
        if option.startswith("--") and option not in named and not (option.startswith("--no-") and "--" + option[5:] in helper_names(helper)):
            line.add([option], "=" if word.endswith("=") else "[=]")
    # `--verify`, where `--no-verify` is the option, is the form that the style gives.
    for names, mark in list(line.options):
        if len(names) == 1 and "--no-" + names[0][2:] in line.known() and mark != "=":
            line.options.remove((names, mark))
    if len(path) > 2:
        return
    subs = {word for word in helper if re.fullmatch(r"[a-z][a-z-]*", word)}
    subs |= set(re.findall(rf"(?:usage|or): git {path[1]}(?: \[[^\]]*\])* ([a-z][a-z-]+)(?= |$)", text, re.M))
    if path[1] in ("rev-parse", "shell", "http-backend", "archive", "for-each-repo", "fast-import", "merge-octopus"):
        subs = set()
    for sub in sorted(subs):
        before = len(line.options)
        git_command(lines, habits, (*path, sub), dir)
        if not lines[(*path, sub)].options or path[1] in ("submodule", "bisect", "rerere", "lfs"):
            for row in re.findall(rf"(?:usage|or): git {path[1]}(?: \[[^\]]*\])* {sub}\b(.*(?:\n {{8,}}.*)*)", text):
                fresh = Line(habits)
                read_usage(fresh, row)
                lines[(*path, sub)] = fresh
        assert before == len(line.options)
    if subs:
        line.habits = with_flag(line.habits, "sub")


def helper_names(helper):
    return {word.rstrip("=") for word in helper}


def with_flag(habits, flag):
    return habits if flag in habits else habits + [flag]


# The npm package

FIG = """
import fs from 'fs'; import path from 'path';
const base = process.argv[1], seen = {};
async function load(name) {
  let file = path.join(base, 'build', name + '.js');
  if (!fs.existsSync(file)) file = path.join(base, 'build', name, 'index.js');
  if (!fs.existsSync(file)) return null;
  try {
    const m = await import('file://' + file); let spec = m.default;
    if (typeof spec === 'function') {
      const versions = fs.readdirSync(path.dirname(file)).filter(f => /^[0-9.]+\\.js$/.test(f)).sort();
      if (!versions.length) return null;
      spec = (await import('file://' + path.join(path.dirname(file), versions.pop()))).default;
    }
    return spec && typeof spec === 'object' ? spec : null;
  } catch { return null; }
}
const list = x => x === undefined || x === null ? [] : Array.isArray(x) ? x : [x];
async function facts(spec, depth) {
  if (typeof spec.loadSpec === 'string' && depth < 3) spec = {...(await load(spec.loadSpec) || {}), name: spec.name};
  const subs = [];
  for (const s of list(spec.subcommands)) if (s && s.name && depth < 4) subs.push(await facts(s, depth + 1));
  return {names: list(spec.name).filter(n => typeof n === "string"), subs, options: list(spec.options).filter(o => o && o.name).map(o => ({
    names: list(o.name).filter(n => typeof n === "string"), deep: !!o.isPersistent, equals: o.requiresEquals || o.requiresSeparator || false,
    args: list(o.args).map(a => ({optional: !!a.isOptional, many: !!a.isVariadic}))}))};
}
const out = {};
for (const name of process.argv.slice(2)) { const s = await load(name); if (s) out[name] = await facts(s, 0); }
fs.writeSync(1, JSON.stringify(out));
process.exit(0);
"""


def read_fig(dir, programs):
    text = run("node", "--input-type=module", "-e", FIG, os.path.abspath(dir), *[name for _, name in programs])
    facts = json.loads(text[text.index("{"):])
    lines = {}
    for habits, name in programs:
        if name in facts:
            fig_lines(lines, habits, (name,), [], facts[name], {})
        else:
            print(f"{name}: not in the package", file=sys.stderr)
    return lines


NEGATIVES_WITH_VALUE = {f"--no-{name}" for name in (
    "attach binary binary-package build-isolation-package build-package cache-filter emit-package extra group install-package").split()}


def fig_lines(lines, habits, path, aliases, spec, inherited):
    line = lines.setdefault(path, Line(habits, aliases))
    below = {}
    for option in spec["options"]:
        names = [name.strip() for name in option["names"]]
        args = option["args"]
        # A name that carries its value's sign in it, or a word, isn't an option's name alone.
        if any(not LONG_ENOUGH.match(name.rstrip("=")) for name in names):
            continue
        equals = option["equals"] or any(name.endswith("=") for name in names)
        names = [name.rstrip("=") for name in names]
        if not args:
            mark = None if equals else ""
        elif len(args) > 1 or args[0]["many"]:
            mark = None
        elif args[0]["optional"]:
            mark = "[=]" if equals else None
        else:
            mark = "="
        # A negative form seldom has a value: there the package errs.
        if mark == "=" and any(name.startswith("--no-") and name not in NEGATIVES_WITH_VALUE for name in names):
            mark = None
        line.add(names, mark)
        if option["deep"]:
            below[tuple(names)] = mark
    if below and spec["subs"]:
        line.habits = with_flag(line.habits, "deep")
    for sub in spec["subs"]:
        words = [word for word in sub["names"] if re.fullmatch(r"[A-Za-z0-9@][\w:.@/-]*", word)]
        if words:
            line.habits = with_flag(line.habits, "sub")
            fig_lines(lines, habits, (*path, words[0]), words[1:], sub, below)


# The table


def hoist(lines, name):
    """Lets the line of a program have the options that most of its sub-commands share: that is shorter."""
    top, inner = lines[(name,)], [line for path, line in lines.items() if path[0] == name and len(path) > 1]
    busy = [line for line in inner if line.options]
    shared = {}
    for line in busy:
        for names, mark in line.options:
            shared.setdefault((tuple(sorted(names)), mark), []).append(line)
    for (names, mark), having in shared.items():
        others = [line for line in inner if line not in having]
        same_above = any(set(option[0]) == set(names) and option[1] == mark for option in top.options)
        if (same_above or len(having) * 3 >= len(busy) * 2) and (same_above or not set(names) & top.known()) \
                and not any(set(names) & line.known() for line in others):
            if not same_above:
                top.add(list(names), mark)
            for line in having:
                line.options = [option for option in line.options if set(option[0]) != set(names)]
            top.habits = with_flag(top.habits, "deep")


def parse(text, corrections=False):
    """(sign, words, aliases, habits, options) of each line; raises ValueError with the line's number."""
    for number, row in enumerate(text.split("\n"), 1):
        if not row or row.startswith("#") and corrections:
            continue
        columns = row.split("\t")
        if len(columns) != 3 and not (corrections and row.startswith("-") and len(columns) == 1):
            raise ValueError(f"line {number}: {len(columns)} columns")
        columns += ["", ""]
        sign = columns[0][0] if corrections and columns[0][0] in "+-" else ""
        words = columns[0][len(sign):].split(" ")
        last, *aliases = words[-1].split("|")
        yield number, sign, (*words[:-1], last), aliases, columns[1], columns[2].split()


def correct(lines, text):
    for number, sign, path, aliases, habits, options in parse(text, corrections=True):
        if sign == "-":
            for other in [other for other in lines if other[:len(path)] == path]:
                del lines[other]
            continue
        line = lines.get(path)
        if sign == "" or line is None:
            if habits == ".":
                raise ValueError(f"corrections, line {number}: no habits to keep for {' '.join(path)}")
            line = lines[path] = Line(habits.split(","), aliases)
        elif habits != ".":
            line.habits = habits.split(",")
        line.aliases += [alias for alias in aliases if alias not in line.aliases]
        for alias in aliases:  # no lines of its own then
            for other in [other for other in lines if other[:len(path)] == (*path[:-1], alias)]:
                del lines[other]
        for option in options:
            if option.startswith("@"):
                source = tuple(option[1:].replace("_", " ").split(" "))
                for other in [other for other in lines if other[:len(source)] == source]:
                    target = (*path, *other[len(source):])
                    copy = lines.setdefault(target, Line(lines[other].habits, lines[other].aliases if target != path else []))
                    for names, mark in lines[other].options:
                        copy.add(names, mark)
            elif option.startswith("!"):
                line.remove(option[1:].split(","))
            else:
                names, mark = split_option(option)
                line.replace(names, mark)


def split_option(option):
    for mark in ("[=]", "="):
        if option.endswith(mark):
            return option[:-len(mark)].split(","), mark
    return option.split(","), ""


def write(lines):
    rows = []
    for path, line in sorted(lines.items()):
        aliases = [alias for alias in sorted(set(line.aliases)) if alias != path[-1]]
        flags = [flag for flag in line.habits if flag in FLAGS]
        if any(len(other) > len(path) and other[:len(path)] == path for other in lines) and "sub" not in flags:
            flags.append("sub")
        style = [habit for habit in line.habits if habit in STYLES]
        rows.append("\t".join([" ".join(path) + "".join("|" + alias for alias in aliases),
                               ",".join(style + sorted(set(flags))), line.text()]))
    with open(TABLE, "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(row + "\n" for row in rows))


def check():
    wrong = []
    with open(TABLE, encoding="utf-8") as file:
        text = file.read()
    last, seen = (), set()
    for number, _, path, aliases, habits, options in parse(text):
        where = f"options.txt:{number}: {' '.join(path)}:"
        style, *flags = habits.split(",")
        if style not in STYLES or not set(flags) <= FLAGS or flags != sorted(set(flags)):
            wrong.append(f"{where} habits {habits}")
        if path <= last:
            wrong.append(f"{where} not sorted")
        last = path
        for word in [path[-1], *aliases]:
            if (*path[:-1], word) in seen:
                wrong.append(f"{where} {word} is there twice")
            seen.add((*path[:-1], word))
        if options != sorted(options):
            wrong.append(f"{where} options not sorted")
        names = [name for option in options for name in split_option(option)[0]]
        wrong += [f"{where} {name} is there twice" for name in set(names) if names.count(name) > 1]
        wrong += [f"{where} {name} is no option" for name in names if not LONG_ENOUGH.match(name)]
        if style == "none" and options:
            wrong.append(f"{where} options, but style none")
    paths = {path[:-1] for path in seen if len(path) > 1}
    wrong += [f"options.txt: {' '.join(path)} has sub-commands, but no line" for path in paths if path not in seen and len(path) == 1]
    with open(CORRECTIONS, encoding="utf-8") as file:
        for number, sign, path, _, habits, options in parse(file.read(), corrections=True):
            words = set(habits.split(",")) - {"", "."}
            if not words <= STYLES | FLAGS or sign == "" and len(words & STYLES) != 1:
                wrong.append(f"corrections.txt:{number}: habits {habits}")
            for option in options:
                if option[0] not in "@!":
                    wrong += [f"corrections.txt:{number}: {name} is no option" for name in split_option(option)[0] if not LONG_ENOUGH.match(name)]
    print("\n".join(wrong) or f"{len(seen)} paths, {len({path[0] for path in seen})} programs, {len(text.encode())} bytes")
    return 1 if wrong else 0


def table():
    lines = {}
    if os.path.exists(TABLE):
        with open(TABLE, encoding="utf-8") as file:
            for _, _, path, aliases, habits, options in parse(file.read()):
                line = lines[path] = Line(habits.split(","), aliases)
                for option in options:
                    line.add(*split_option(option))
    return lines


def finish(lines):
    with open(CORRECTIONS, encoding="utf-8") as file:
        correct(lines, file.read())
    write(lines)
    return check()


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    if sys.argv[1:] == ["--correct"]:
        return finish(table())
    if len(sys.argv) != 3 or sys.argv[1] != "--fig":
        print(__doc__, file=sys.stderr)
        return 2
    rows = [row.split() for row in PROGRAMS.strip().split("\n")]
    ways = {"help": ask_help, "usage": ask_usage, "tree": ask_tree, "tmux": ask_tmux, "git": ask_git, "npm": ask_npm,
            "cargo": ask_cargo, "gcloud": ask_gcloud, "aws": ask_aws, "terraform": ask_terraform}
    lines = read_fig(sys.argv[2], [(row[0].split(","), name) for row in rows if row[1] == "fig" for name in row[2:]])
    kept = table()
    for habits, way, *names in rows:
        for name in names if way != "fig" else ():
            asked = {}
            if installed(name):
                ways[way](asked, habits.split(","), name)
            if not any(line.options for line in asked.values()):
                asked = {path: line for path, line in kept.items() if path[0] == name}
                print(f"{name}: not installed or silent" + (", kept as it was" if asked else ""), file=sys.stderr)
            for path, line in asked.items():
                lines[path] = line
    for path in [path for path in lines if LEFT_OUT.match(" ".join(path))]:
        del lines[path]
    for name in HOISTED.split():
        if (name,) in lines:
            hoist(lines, name)
    return finish(lines)


if __name__ == "__main__":
    sys.exit(main())
