use super::*;

#[derive(Debug, PartialEq)]
enum Truth {
    Match,
    Opaque,
    NoMatch,
}

fn judge(pattern: &str, command: &str) -> Truth {
    let pattern = CommandPattern::new(pattern).unwrap();
    let text = parse(command);
    for command in text.commands.iter().filter(|command| pattern.matches(command)) {
        assert!(command.starts_with(pattern.literal_prefix()), "{command} {:?}", pattern.literal_prefix());
    }
    if text.commands.iter().any(|command| pattern.matches(command)) {
        Truth::Match
    } else if text.opaque.is_some() {
        Truth::Opaque
    } else {
        Truth::NoMatch
    }
}

#[test]
fn corpus() {
    let rows = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/corpora/bash_conditions.jsonl"));
    let (mut silent, mut wrong, mut false_opaque, mut unsure) = (vec![], vec![], vec![], vec![]);
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let field = |name: &str| row[name].as_str().unwrap().to_string();
        let (rule, command) = (field("rule"), field("cmd"));
        let pattern = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')')).unwrap();
        let line = format!("{} {}", field("id"), command.chars().take(80).collect::<String>());
        match (field("expect").as_str(), judge(pattern, &command)) {
            ("match", Truth::NoMatch) => silent.push(line),
            ("no_match", Truth::Match) => wrong.push(line),
            ("no_match", Truth::Opaque) => false_opaque.push(line),
            ("match", Truth::Opaque) => unsure.push((row["tier"].as_u64().unwrap(), line)),
            _ => {}
        }
    }
    println!("unsure {}: {unsure:#?}", unsure.len());
    println!("false opaque {}: {false_opaque:#?}", false_opaque.len());
    assert!(silent.is_empty(), "silent misses: {silent:#?}");
    assert!(wrong.is_empty(), "false matches: {wrong:#?}");
    assert!(false_opaque.len() <= 4, "false opaque: {false_opaque:#?}");
    // Text that arithmetic expands again; everything else of tier 1 is syntax and must be exact.
    assert!(unsure.iter().filter(|(tier, _)| *tier == 1).count() <= 4, "{unsure:#?}");
}

#[test]
fn everyday_commands_are_decided() {
    for command in [
        "npm test 2>&1 | tail -5",
        "cargo build --release > out.txt",
        "cd x && ls -la \"$HOME\"",
        "git commit -m \"fix: a (b)\"",
        "git commit -m \"$(cat <<'EOF'\nfix: a\n\nGit push [x](y) `z`\nEOF\n)\"",
        "for f in *.ts; do echo $f; done",
        "ls *.rs",
        "python3 script.py --x",
        "grep -rn 'a|b' src",
        "git add -A && git status --short",
        "git log --oneline -20 | head -5",
        "git diff HEAD~1 -- src/a.rs",
        "git checkout -b feature/x",
        "git stash list; git show stash@{0}",
        "find . -name '*.ts' -not -path './node_modules/*' | head -20",
        "find . -name '*.ts' -exec grep -l foo {} +",
        "cat package.json | jq '.scripts'",
        "sed -n '1,20p' src/a.rs",
        "sed -i 's/foo/bar/g' src/a.rs",
        "awk '{print $1}' f.txt",
        "mkdir -p a/b && touch a/b/c && cp a/b/c d",
        "rm -f out.txt",
        "rm -r build",
        "echo \"$((1 + 2))\" >> out.txt",
        "if [ -f x ]; then echo yes; else echo no; fi",
        "[[ $x == y* ]] && echo ok",
        "while read -r line; do echo \"$line\"; done < f.txt",
        "node --test tests/a.mjs",
        "npx prettier --check src",
        "docker ps -a",
        "docker build -t x .",
        "docker compose up -d",
        "curl -sS https://example.com/x | jq .",
        "make -j4 test",
        "cat > f.txt <<'EOF'\nhello $x\nEOF",
        "tar xzf a.tgz && ls a",
        "timeout 60 cargo test -- --nocapture",
        "RUST_LOG=debug cargo run -- --x 1",
        "GIT_PAGER=cat git log -1",
        "# a comment\nls",
        "printf '%s\\n' \"$USER\" | sort -u",
        "go test ./...",
        "./gradlew test",
        "test -d x || mkdir x",
        "echo 'it'\\''s'",
        "x=$(date +%s); echo \"took $x\"",
        "gh pr create --title \"a\" --body \"$(cat <<'EOF'\nbody\nEOF\n)\"",
        "export FOO=bar && env | grep FOO",
    ] {
        assert_eq!(parse(command).opaque, None, "{command}");
    }
}

#[test]
fn doubtful_commands_are_never_missed() {
    for command in [
        "git push\\\n-x",
        "gi\\\nt push",
        "$\\\n(git push)",
        "echo a|xargs -n1 git push",
        "echo push | xargs git",
        "echo push | xargs -I{} git {}",
        "xargs -I% sh -c 'git %' <<< push",
        "find . -exec git push \\;",
        "find . -maxdepth 0 -exec sh -c 'git push' \\;",
        "find push -exec git {} \\;",
        "coproc git push",
        "coproc N { git push; }",
        "((git push) ; (git push))",
        "echo $((git push) )",
        "( (git push) )",
        "function f { git push; }; f",
        "f() { git push; }",
        "case $x in a|b) :;; *) git push;; esac",
        "cat <<EOF\na\\\nEOF\n$(git push)\nEOF",
        "cat <<-EOF\n\tx\n\tEOF\ngit push",
        "cat <<E\\\nOF\nx\nEOF\ngit push",
        "cat <<EOF\nEO\\\nF\ngit push",
        "cat <<'A'; a=(\nA\n1) bash <<'B'\ngit push\nB",
        "a=(\n1) bash <<'B'\ngit push\nB",
        "bash -s <<EOF\ngit push\nEOF",
        "sudo bash <<'EOF'\ngit push\nEOF",
        "bash<<<'git push'",
        "bash -c 'eval \"git push\"'",
        "eval eval eval git push",
        "trap -- 'git push' EXIT",
        "alias p='git push'\np",
        "shopt -s expand_aliases; alias g=git",
        "PATH=.:$PATH git status",
        "export PATH=x",
        "env PATH=x git status",
        "declare -x GIT_EDITOR='git push'",
        "read PATH <<< x",
        "printf -v PATH x",
        "for PATH in x; do git log; done",
        "BASH_ENV=x bash -c :",
        "git -c core.pager='git push' log",
        "git -c core.sshCommand='git push' fetch",
        "git config alias.p push; git p",
        "git config --global core.editor 'git push'",
        "git p",
        "git subtree push",
        "GIT_CONFIG_COUNT=1 git x",
        "git fetch --upload-pack='git push' x",
        "git clone ext::sh x",
        "git clone -u 'git push' x y",
        "git --config-env=alias.p=X p",
        "git difftool -x 'git push'",
        "perl -e 'system(\"git push\")'",
        "ruby -e 'x'",
        "node -e 'x'",
        "node -p x",
        "php -r 'x'",
        "python3 - <<'E'\nx\nE",
        "echo x | python3",
        "awk 'BEGIN{system(\"git push\")}'",
        "awk 'BEGIN{print | \"git push\"}'",
        "sed 's/x/git push/e' f",
        "sed --expression='1e git push' f",
        "ssh host git push",
        "ssh -o ProxyCommand='git push' h ls",
        "at now <<< 'git push'",
        "parallel git push ::: a",
        "watch git push",
        "script -c 'git push' /dev/null",
        "flock /tmp/l git push",
        "flock /tmp/l -c 'git push'",
        "setsid git push",
        "stdbuf -oL git push",
        "nsenter -t 1 -m git push",
        "chroot / git push",
        "systemd-run --user git push",
        "doas git push",
        "npx git push",
        "npm exec -- git push",
        "kubectl exec pod -- git push",
        "docker run --rm img git push",
        "docker compose exec x git push",
        "docker -H x exec c git push",
        "foo --run git push",
        "foo -c 'git push'",
        "xvfb-run git push",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
        "rsync -e 'git push' a b",
        "man -P 'git push' x",
        "tar -I 'git push' -cf x y",
        "zip -TT 'git push' a b",
        "sort --compress-program='git push' x",
        "git grep -O'git push' x",
        "ln -s /usr/bin/git p; ./p push",
        "wget http://x/a.sh && ./a.sh",
        "cat > a.sh <<'E'\ngit push\nE\nsh a.sh",
        "hash -p /usr/bin/git x; x push",
        "command -p git push",
        "exec git push",
        "time -p git push",
        "! ! git push",
        "if :; then :; elif git push; then :; fi",
        "select x in a; do git push; done",
        "until git push; do :; done",
        "for i in a; { git push; }",
        "[[ -n x && $(git push) ]]",
        "echo ${x:-`git push`}",
        "echo \"${x:-$(git push)}\"",
        "echo ${x:-<(git push)}",
        "x=${y:-$(git push)}",
        "a[$(git push)]=1",
        "echo ${a[$(git push)]}",
        "echo > $(git push)",
        "echo <<< $(git push)",
        "echo \"`echo \\`git push\\``\"",
        "x='$(git push)'; echo ${x@P}",
        "PS4='$(git push)'; set -x; :",
        "mapfile -C 'git push' -c 1 a <<< x",
        "complete -C 'git push' x",
        "enable -f x y",
        "git\\ push; git push",
        "\\git push",
        "\"git\" push",
        "git $'\\160ush'",
        "git $'pu\\163h'",
        "$'\\u0067it' push",
        "git push >&2",
        "git>x push",
        ">x git push",
        "2>&1 git push",
        "{fd}>x git push",
        "<x git push",
        "a=b c=d git push",
        "a+=1 git push",
        "git --git-dir x push",
        "git -C push push",
        "true&git push",
        "true\ngit push",
        "true;git push",
        "#x\ngit push",
        "echo a#b; git push",
        "echo 'a' #'\ngit push",
        "echo \"#\"; git push",
        "echo $#; git push",
        "echo ${#x}; git push",
        "env - git push",
        "env -i git push",
        "env -u X git push",
        "env --unset=X git push",
        "env -S'git push'",
        "env -vS 'git push'",
        "nice git push",
        "nice -5 git push",
        "nice -n5 git push",
        "timeout -k 1 5 git push",
        "sudo -u root -g x git push",
        "sudo A=b git push",
        "sudo -s git push",
        "sudo sh -c 'git push'",
        "busybox sh -c 'git push'",
        "su root -c 'git push'",
        "runuser -l x -c 'git push'",
        "sg x 'git push'",
        "exec -c git push",
        "builtin command git push",
        "command -- git push",
        "eval \"$x\"",
        "$x",
        "\"$@\"",
        "bash -c \"$x\"",
        "source x",
        "bash x",
        "make -f- <<< x",
        "echo 'git push' | bash",
        "base64 -d <<< x | sh",
        "git rebase --exec='git push' x",
        "git rebase -x'git push'",
        "git submodule foreach --recursive git push",
        "git-push",
        "git push|cat",
        "(git push)",
        "{ git push;}",
    ] {
        assert_ne!(judge("git push*", command), Truth::NoMatch, "{command}");
    }
}

#[test]
fn normal_form() {
    for (text, expected) in [
        ("A=b git -C x 'push'  origin", "git push origin"),
        ("timeout 5 nice -n 3 env X=1 npm test", "npm test"),
        ("./build.sh x", "./build.sh x|build.sh x"),
        ("sudo ls", "sudo ls|ls"),
        ("sh -c 'ls; pwd'", "sh -c ls; pwd|ls|pwd"),
        ("cat <(date) $HOME", "date|cat <(date) $HOME"),
        ("'git push'", "git\\ push"),
        ("git 'push x'", "git push\\ x"),
    ] {
        assert_eq!(parse(text).commands.join("|"), expected, "{text}");
    }
}

#[test]
fn patterns() {
    for (pattern, command, expected, prefix) in [
        ("git push:*", "git push", true, "git push"),
        ("git push:*", "git push x", true, "git push"),
        ("git push:*", "git pushx", false, "git push"),
        ("git * main", "git push origin main", true, "git "),
        ("git * main", "git push origin", false, "git "),
        ("*", "anything", true, ""),
        ("./build.sh*", "./build.sh x", true, ""),
        ("./build.sh*", "build.sh x", true, ""),
        ("./scripts/*", "rm x", false, "./scripts/"),
        ("rm -rf *", "rm -fR x", true, "rm"),
        ("rm -rf*", "rm -- -rf", false, "rm"),
        ("rm -rf*", "rm --rec --fo x", true, "rm"),
        ("tar -xf*", "tar -zxvf x", true, "tar"),
        ("rm -rf*", "rmdir -rf", false, "rm"),
    ] {
        let compiled = CommandPattern::new(pattern).unwrap();
        assert_eq!(compiled.matches(command), expected, "{pattern} {command}");
        assert_eq!(compiled.literal_prefix(), prefix, "{pattern}");
    }
    assert!(CommandPattern::new(" ").is_err());
}

/// Whatever it is given, it ends soon and without a panic.
#[test]
fn hostile_texts_end() {
    let started = std::time::Instant::now();
    for piece in [
        "(",
        "((",
        "$(",
        "$((",
        "${",
        "\"${",
        "`",
        "\\",
        "\\`",
        "<(",
        "case x in x) ",
        "<<A ",
        "\\\n",
        "{1",
        "a[",
        "$[",
        "eval ",
        "bash -c ",
        "sudo ",
        "a;",
        "$'",
        "[[ ",
        "x=(",
        "echo $((1+",
        "é$(",
        "<<<",
        "if ",
        "f() ",
        "\"$(",
    ] {
        for n in [1, 7, 30, 1000, 15_000 / piece.len()] {
            parse(&piece.repeat(n));
        }
    }
    assert_eq!(parse(&"a;".repeat(MAX_TEXT)).opaque, Some("the text is too long"));
    let pieces: Vec<char> = "$(){}[]<>|&;'\"`\\ \n#=*ag1é!-".chars().collect();
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..24 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        parse(&text);
    }
    assert!(started.elapsed().as_secs() < 60);
}
