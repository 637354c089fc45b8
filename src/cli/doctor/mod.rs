//! `hookwire doctor`: whether what is installed works, shown by a probe, what `hookwire run` can
//! hold, and which hosts run.

mod canaries;
mod driven;
mod managed;
mod probed;
mod renewed;
mod standing;
pub(super) mod unasked_calls;
mod versions;

use super::agent_version::{
    VERSION_LIMIT, ask_agent, is_in_project, on_path, run_within, version_numbers,
};
use super::copies::{cache_of, version_of_copy};
use super::granted::Granting;
use super::install::{Entry, InstallArgs};
use super::output::{Output, Tone, safe};
use super::own::{Own, Untried};
use super::run::{find_supervisor, other_version};
use super::unasked::{self, Asker};
use super::{DefinitionArgs, Failure, Finding, HostArgs, agent_parser};
use hookwire_base::support::amounts::number_of_guards;
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::source::Layer;
use hookwire_dialects as dialects;
use hookwire_engine::definitions::scan::NOT_TRUSTED;
use hookwire_engine::host::{Host, HostOptions};
use hookwire_engine::running::{self, About, TIME_LIMIT};
use hookwire_rules::agents::{AGENTS, Agent, FailsClosed};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output as Ended;

#[derive(clap::Args)]
pub(super) struct DoctorArgs {
    /// The agents to look at. Default: those that ask hookwire, and those that are on PATH.
    #[arg(value_name = "AGENT", value_parser = agent_parser())]
    agents: Vec<&'static Agent>,
    /// Also start each agent as you do, headless, against a model on this machine: in copies of
    /// your home and your project at their paths, which are thrown away, without a network. Whether
    /// it doesn't run what is denied, nor what a person is to be asked about, in each of its modes.
    #[arg(long, requires = "agents")]
    drive: bool,
    /// This process is apart already: drive, and say nothing else.
    #[arg(long, hide = true, requires = "drive")]
    apart: bool,
    /// First write those entries anew whose program is in a cache, has gone, or is of another
    /// version: from a cache, the programs are copied to where they stay.
    #[arg(long, conflicts_with_all = ["drive", "versions", "managed", "unasked"])]
    fix: bool,
    /// Look at the settings of this machine that `install --managed` has written: whether they are
    /// root's alone and as they were written, whether a deny arrives, and what of each agent's ways
    /// around them holds. Anybody may ask. Exits with 1 if something that is to hold doesn't.
    #[arg(long, conflicts_with_all = ["drive", "versions", "unasked"])]
    managed: bool,
    /// Only compare the versions of the program and its protocol with the client's (`python -m
    /// hookwire doctor --versions`, `npx hookwire doctor --versions`) and with those of the hosts
    /// that run. Exits with 1 if one speaks another protocol.
    #[arg(long, conflicts_with = "agents")]
    versions: bool,
    #[command(flatten)]
    unasked: unasked_calls::UnaskedArgs,
    #[command(flatten)]
    hooks: HostArgs,
}

/// Prints findings.
struct Report<'o> {
    out: &'o mut Output,
    /// The heading above the next findings.
    about: String,
    is_bad: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Fine,
    Doubtful,
    Bad,
}

impl Health {
    /// By its word.
    fn from_word(word: &str) -> Option<Health> {
        [Health::Fine, Health::Doubtful, Health::Bad]
            .into_iter()
            .find(|health| health.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Health::Fine => "ok",
            Health::Doubtful => "look",
            Health::Bad => "bad",
        }
    }
}

impl Report<'_> {
    fn begin_section(&mut self, about: &str) {
        self.about = about.to_string();
        if !self.out.json {
            let head = self.out.tone(Tone::Strong, &safe(about));
            self.out.line(&head);
        }
    }

    fn say_health(&mut self, health: Health, text: &str) {
        self.is_bad |= health == Health::Bad;
        let word = health.word();
        let tone = match health {
            Health::Fine => Tone::Good,
            Health::Doubtful => Tone::Warn,
            Health::Bad => Tone::Bad,
        };
        if self.out.json {
            return self
                .out
                .json(&json!({ "about": self.about, "health": word, "text": text }));
        }
        let word = self.out.tone(tone, &format!("{word:<4}"));
        self.out.line(&format!("  {word}  {}", safe(text)));
    }
}

pub(super) fn run(args: &DoctorArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.versions {
        return versions::compare_versions(out);
    }
    if args.managed {
        return managed::check_managed(&args.agents, out);
    }
    if args.apart {
        return driven::drive_apart(&args.agents, out);
    }
    if args.fix {
        let wanted = AGENTS.iter().filter(|agent| {
            args.agents.is_empty() || args.agents.iter().any(|it| it.name == agent.name)
        });
        renewed::renew_all(wanted, &args.hooks.definitions.root, out)?;
    }
    let granting = Granting::of_agents(
        AGENTS.iter().filter(|agent| {
            args.agents.is_empty() || args.agents.iter().any(|it| it.name == agent.name)
        }),
        &args.hooks.definitions.root,
    );
    let hooks = HostArgs {
        reach: args.hooks.reach.with_entries(&granting),
        ..args.hooks.clone()
    };
    if args.unasked.unasked {
        return unasked_calls::run(&args.unasked, &args.agents, &hooks, out);
    }
    let host = hooks.definitions.host_with(hooks.options()?)?;
    let mut report = Report {
        out,
        about: String::new(),
        is_bad: false,
    };
    check_definitions(&host, &mut report);
    canaries::check_canaries(&host, &mut report)?;
    let (mut askers, mut n_asking) = (Vec::new(), 0);
    let root = &args.hooks.definitions.root;
    for agent in AGENTS.iter() {
        let settings_root = standing::settings_root(agent, root);
        let places = InstallArgs::for_each_place(agent, &settings_root);
        let found: Vec<_> = places
            .iter()
            .filter_map(|place| Some((place.path().ok()?, place.entry()?)))
            .collect();
        let program = on_path(&agent.program);
        let is_wanted = args.agents.iter().any(|it| it.name == agent.name);
        let by_machine = managed::is_asking(agent);
        let is_there = !found.is_empty() || program.is_some() || by_machine;
        if !is_wanted && (!args.agents.is_empty() || !is_there) {
            continue;
        }
        report.begin_section(agent.name);
        // What a clone brings runs for nobody who only asks how things are.
        let is_theirs = |program: &PathBuf| is_in_project(program, &args.hooks.definitions.root);
        match &program {
            Some(program) if is_theirs(program) => report.say_health(
                Health::Doubtful,
                &format!(
                    "`{}` on PATH is {}, which is in the project: it was not run",
                    agent.program,
                    program.display()
                ),
            ),
            Some(program) => check_version(agent, program, root, &mut report)?,
            None => report.say_health(
                Health::Doubtful,
                &format!("there is no `{}` on PATH", agent.program),
            ),
        }
        if let Some(source) = &agent.by_description {
            report.say_health(
                Health::Doubtful,
                &format!("hookwire was not tried with it, and goes by {source}"),
            );
        }
        if by_machine {
            n_asking += 1;
            report.say_health(
                Health::Fine,
                &format!(
                    "{} asks hookwire for every user of this machine: `hookwire doctor --managed {}` says whether it holds",
                    agent.managed.file, agent.name
                ),
            );
        }
        if found.is_empty() && !by_machine {
            let health = if is_wanted {
                Health::Bad
            } else {
                Health::Doubtful
            };
            report.say_health(
                health,
                &format!("it doesn't ask hookwire: `hookwire install {}`", agent.name),
            );
        }
        if !found.is_empty() {
            n_asking += usize::from(!by_machine);
            standing::check_settings(agent, &places, &mut report);
        }
        if let Some(problem) = without_git(agent, &found, &settings_root) {
            report.say_health(Health::Bad, &problem);
        }
        for place in &places {
            for text in place.spoken() {
                let path = place.path()?;
                let alone = "left alone and not tried, because it isn't hookwire's own entry";
                report.say_health(
                    Health::Doubtful,
                    &format!("{}: {alone}: {text}", path.display()),
                );
            }
        }
        look_at(agent, &found, &host, root, &mut report)?;
        standing::tell_slash_commands(agent, root, &mut report);
        let entries: Vec<PathBuf> = found.iter().map(|(path, _)| path.clone()).collect();
        standing::check_standing(
            agent,
            program
                .as_deref()
                .filter(|program| !is_theirs(&program.to_path_buf())),
            &entries,
            &settings_root,
            &mut report,
        )?;
        for one in granting
            .iter()
            .filter(|it| found.iter().any(|(path, _)| *path == it.path))
        {
            for host in one.lacking_hosts(&granting) {
                let path = one.path.display();
                let fails = format!("hooks that need this host fail for {}", agent.name);
                let lacks = format!(
                    "{path} doesn't say `--allow-host {host}`, which another agent's entry allows"
                );
                report.say_health(Health::Doubtful, &format!("{lacks}: {fails}"));
            }
        }
        unasked_calls::say_last_day(agent, &hooks, &mut report)?;
        if args.drive {
            let root = &args.hooks.definitions.root;
            let own = program
                .as_deref()
                .filter(|program| !is_in_project(program, root));
            standing::tell_companions(agent, &places, &mut report);
            driven::check_driven(agent, own, root, &mut report)?;
        }
        // One that doesn't ask yet will ask at all that is registered.
        let asker = Asker::new(agent, found.iter().map(|(_, entry)| entry));
        askers.extend(asker.or_else(|| Asker::new(agent, [NEW].iter())));
    }
    let unasked: Vec<_> = host
        .hooks()
        .hooks
        .iter()
        .filter_map(|hook| unasked::unasked_note(&askers, hook))
        .collect();
    if !unasked.is_empty() {
        report.begin_section("hooks that aren't asked about");
        unasked
            .iter()
            .for_each(|note| report.say_health(Health::Doubtful, &note.text));
    }
    if n_asking == 0 && args.agents.is_empty() {
        report.begin_section("agents");
        report.say_health(
            Health::Bad,
            "no agent asks hookwire: `hookwire install AGENT`",
        );
    }
    check_starts(&mut report)?;
    check_hosts(&args.hooks.definitions, &host, &mut report)?;
    Ok(if report.is_bad {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// Tries the entries of agents, and says what came of each probe. An agent without an entry is
/// found out, too.
pub(super) fn prove(
    agents: &[&'static Agent],
    root: &Path,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let definitions = DefinitionArgs {
        root: root.to_path_buf(),
        ..DefinitionArgs::default()
    };
    let granting = Granting::of_agents(agents.iter().copied(), root);
    let hooks = HostArgs {
        definitions,
        ..HostArgs::default()
    };
    let hooks = HostArgs {
        reach: hooks.reach.with_entries(&granting),
        ..hooks
    };
    let host = hooks.definitions.host_with(hooks.options()?)?;
    let mut report = Report {
        out,
        about: String::new(),
        is_bad: false,
    };
    for agent in agents {
        report.begin_section(&agent.title);
        let settings_root = standing::settings_root(agent, root);
        let found: Vec<_> = InstallArgs::for_each_place(agent, &settings_root)
            .iter()
            .filter_map(|place| Some((place.path().ok()?, place.entry()?)))
            .collect();
        if found.is_empty() {
            report.say_health(
                Health::Bad,
                &format!("it doesn't ask hookwire: `hookwire install {}`", agent.name),
            );
        }
        if let Some(problem) = without_git(agent, &found, &settings_root) {
            report.say_health(Health::Bad, &problem);
        }
        look_at(agent, &found, &host, root, &mut report)?;
    }
    Ok(if report.is_bad {
        Finding::Found
    } else {
        Finding::Fine
    })
}

fn check_definitions(host: &Host, report: &mut Report<'_>) {
    let published = host.published();
    report.begin_section("definitions");
    let n = published
        .hooks
        .hooks
        .iter()
        .filter(|hook| !hook.is_broken())
        .count();
    // Nothing is guarded by none, or by what nobody has put in force.
    let policies = &published.hooks.policies;
    let health = match n + policies.len() {
        0 => Health::Bad,
        _ => Health::Fine,
    };
    report.say_health(
        health,
        &format!("{} in force", number_of_guards(n, policies.len())),
    );
    for policy in policies {
        let (health, place) = match policy.is_broken() {
            true => (Health::Bad, &policy.source),
            false => (Health::Fine, &policy.source),
        };
        let told = format!("policy {}:{}: {}", place.file, place.line, policy.told());
        report.say_health(health, &told);
    }
    report.say_health(Health::Fine, &format!("read from {}", read_from(host)));
    let has_projects = published
        .hooks
        .hooks
        .iter()
        .any(|hook| hook.source.layer == Layer::Project);
    for diagnostic in published.diagnostics.iter() {
        // Those of another worktree may be in force instead.
        let is_left_out = diagnostic.code == NOT_TRUSTED && !has_projects;
        let health = if is_left_out || diagnostic.severity == Severity::Error {
            Health::Bad
        } else {
            Health::Doubtful
        };
        report.say_health(health, &diagnostic.one_line());
    }
    for (book, is_kept) in host
        .loader()
        .kept_on_disk()
        .filter(|(book, is_kept)| *is_kept || book.directory().exists())
    {
        let (dir, record) = (book.directory().display(), book.place().display());
        match is_kept {
            true => report.say_health(Health::Fine, &format!("the last good state of {dir} is kept")),
            false => report.say_health(
                Health::Doubtful,
                &format!(
                    "the last good state of {dir} isn't kept: no host has run since it changed, or none could write {record}"
                ),
            ),
        }
    }
}

fn look_at(
    agent: &'static Agent,
    found: &[(PathBuf, Entry)],
    host: &Host,
    root: &Path,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let Ok(dialect) = dialects::by_name(agent.name) else {
        return Ok(());
    };
    let probes = match found {
        [] => Vec::new(),
        _ => probed::probes_for(dialect, host, root)?,
    };
    for (file, entry) in found {
        let path = file.strip_prefix(".").unwrap_or(file).display();
        let (commands, missing, edits, remarks) = match entry {
            Entry::Unreadable(problem) => {
                // Some agents drop such a file without a word.
                report.say_health(
                    Health::Bad,
                    &format!("{path} can't be read, so its hooks don't run: {problem}"),
                );
                continue;
            }
            Entry::Asks {
                commands,
                missing,
                edits,
                remarks,
                ..
            } => (commands, missing, edits, remarks),
        };
        for edit in edits {
            report.say_health(
                Health::Bad,
                &format!(
                    "{path}: {edit}; `hookwire install {}` writes it anew",
                    agent.name
                ),
            );
        }
        for remark in remarks {
            report.say_health(Health::Doubtful, &format!("{path}: {remark}"));
        }
        if !missing.is_empty() {
            let events = missing.join(", ");
            let again = format!("`hookwire install {}` adds them", agent.name);
            report.say_health(
                Health::Bad,
                &format!("{path} doesn't ask at {events}; {again}"),
            );
        }
        for command in commands {
            for hooks in command
                .flag_values("--hooks")
                .filter(|value| !root.join(value).exists())
            {
                report.say_health(
                    Health::Bad,
                    &format!("{path}: --hooks {hooks}: no such file or directory"),
                );
            }
            tell_program(agent, &path.to_string(), command, report);
            let line = command.line();
            let (program, arguments) = match command.to_try(file, root) {
                Ok(words) => words,
                Err(Untried::Gone(why)) => {
                    report.say_health(
                        Health::Bad,
                        &format!(
                            "{path}: a probe was not denied, because {why} (`hookwire doctor {} --fix` writes the entry anew): {line}",
                            agent.name
                        ),
                    );
                    continue;
                }
                Err(Untried::Unvouched(why)) => {
                    let again =
                        format!("`hookwire install {}` writes an entry that is", agent.name);
                    report.say_health(
                        Health::Bad,
                        &format!("{path}: it wasn't tried, because {why}; {again}: {line}"),
                    );
                    continue;
                }
            };
            for probe in &probes {
                let what = &probe.what;
                match probe.try_entry(dialect, &program, arguments, root) {
                    Ok(time) => report.say_health(
                        Health::Fine,
                        &format!("{path}: {what} was denied after {time} ms"),
                    ),
                    Err(problem) => {
                        let told = format!("{path}: {what} was not denied ({problem}): {line}");
                        report.say_health(Health::Bad, &told);
                    }
                }
            }
        }
    }
    if found.len() > 1 {
        let n = found.len();
        let told = "each event is asked about as often, and judged once if its payload has an id or a time";
        report.say_health(
            Health::Doubtful,
            &format!("it is installed at {n} places: {told}"),
        );
    }
    Ok(())
}

/// Says if the program of an entry won't stay, or isn't of this version.
fn tell_program(agent: &Agent, path: &str, command: &Own, report: &mut Report<'_>) {
    let program = Path::new(&command.words()[0]);
    let again = format!(
        "`hookwire doctor {} --fix` writes one that stays",
        agent.name
    );
    if let Some(cache) = cache_of(program) {
        let told = format!(
            "{path}: its program is in {cache}, which is emptied at some time: {again}: {}",
            program.display()
        );
        report.say_health(Health::Doubtful, &told);
    }
    let own = env!("CARGO_PKG_VERSION");
    if let Some(version) = version_of_copy(program).filter(|version| version != own) {
        let again = format!("`hookwire doctor {} --fix` takes this one", agent.name);
        let told =
            format!("{path}: its program is of version {version}, and this is {own}: {again}");
        report.say_health(Health::Doubtful, &told);
    }
}

/// An entry as `install` writes it.
const NEW: Entry = Entry::Asks {
    commands: Vec::new(),
    missing: Vec::new(),
    edits: Vec::new(),
    remarks: Vec::new(),
};

/// Why a project's entry isn't run, if the agent runs such entries only in a repository of git.
fn without_git(agent: &Agent, found: &[(PathBuf, Entry)], root: &Path) -> Option<String> {
    let is_in_project = found.iter().any(|(path, _)| path.starts_with(root));
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    (agent.only_in_git && is_in_project && !root.ancestors().any(|dir| dir.join(".git").exists())).then(|| {
        let (name, root) = (agent.name, root.display());
        format!(
            "it runs a project's hooks only in a repository of git, and {root} is in none: `git init`, or `hookwire \
             install {name} --user`"
        )
    })
}

/// Says what the version of an agent means for its hooks.
fn check_version(
    agent: &Agent,
    program: &Path,
    root: &Path,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let asked = format!("{} --version", agent.program);
    let Some(ended) = ask_agent(program, root)? else {
        let limit = VERSION_LIMIT.as_secs();
        let told = format!("`{asked}` didn't end within {limit} s, so its version isn't known");
        report.say_health(Health::Doubtful, &told);
        return Ok(());
    };
    let said = String::from_utf8_lossy(&ended.stdout);
    let Some(found) = version_numbers(&said) else {
        report.say_health(Health::Doubtful, &format!("`{asked}` names no version"));
        return Ok(());
    };
    let is_older = |than: &str| version_numbers(than).is_some_and(|than| found < than);
    let shown = found.map(|number| number.to_string()).join(".");
    let known = &agent.version;
    let by = if agent.package.is_some() {
        "with which hookwire was tried"
    } else {
        "whose description hookwire goes by"
    };
    match agent.file().and_then(|file| file.fails_closed.as_ref()) {
        Some(FailsClosed { member, since, .. }) if is_older(since) => {
            let lacks = format!("it passes over `{member}`, so a tool runs when hookwire is missing or killed");
            report.say_health(Health::Bad, &format!("version {shown} is older than {since}: {lacks}"));
        }
        _ if is_older(known) => {
            report.say_health(Health::Doubtful, &format!("version {shown} is older than {known}, {by}"));
        }
        _ if version_numbers(known).is_some_and(|known| found > known) => report.say_health(
            Health::Doubtful,
            &format!(
                "version {shown} is newer than {known}, {by}: it may ask at moments, and have words, that hookwire \
                 doesn't know"
            ),
        ),
        _ => report.say_health(Health::Fine, &format!("version {shown}")),
    }
    Ok(())
}

/// Runs a program with arguments; nothing if it doesn't start or doesn't end.
fn ask_program(program: &Path, words: &[&str]) -> Result<Option<Ended>, Failure> {
    let mut command = tokio::process::Command::new(program);
    command.args(words);
    run_within(command, TIME_LIMIT)
}

/// Says what `hookwire run` can hold on this machine.
fn check_starts(report: &mut Report<'_>) -> Result<(), Failure> {
    report.begin_section("hookwire run");
    let program = match find_supervisor() {
        Ok(program) => program,
        Err(Failure(problem)) => {
            report.say_health(Health::Doubtful, &problem);
            return Ok(());
        }
    };
    let said = ask_program(&program, &["--version"])?
        .map(|it| it.stdout)
        .unwrap_or_default();
    if let Some(problem) = other_version(&program, &said) {
        report.say_health(Health::Doubtful, &problem);
    }
    let probed: Option<Value> = ask_program(&program, &["run", "--probe"])?
        .and_then(|it| serde_json::from_slice(&it.stdout).ok());
    let Some(probed) = probed else {
        report.say_health(
            Health::Doubtful,
            &format!(
                "`{} run --probe` doesn't say what can be held",
                program.display()
            ),
        );
        return Ok(());
    };
    let fails = |what: &str| probed[what]["holds"] != true;
    let why = |what: &str| {
        probed[what]["problem"]
            .as_str()
            .unwrap_or("it doesn't say why")
            .to_string()
    };
    let needed = [
        ("listener", "seccomp listener"),
        ("trace", "ptrace"),
        ("memory", "process_vm_readv"),
    ];
    if let Some((what, name)) = needed.iter().find(|(what, _)| fails(what)) {
        report.say_health(
            Health::Doubtful,
            &format!(
                "nothing can be held here ({name}: {}), so it runs nothing",
                why(what)
            ),
        );
        return Ok(());
    }
    report.say_health(Health::Fine, "it can hold each program that starts here");
    if fails("namespace") && !rustix::process::geteuid().is_root() {
        let hidden =
            "what a program starts that makes itself unreadable is refused (user namespace";
        report.say_health(
            Health::Doubtful,
            &format!("{hidden}: {})", why("namespace")),
        );
    }
    if fails("landlock") {
        let version = &probed["landlock"]["version"];
        let kill =
            "what runs below can kill its supervisor, and then nothing starts there any more";
        report.say_health(
            Health::Doubtful,
            &format!("{kill} (Landlock {version}, it takes 6)"),
        );
    }
    Ok(())
}

fn check_hosts(
    definitions: &DefinitionArgs,
    own: &Host,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    report.begin_section("hosts");
    let mut arguments = Vec::new();
    let mut n_hosts = 0;
    // A host of an agent's has one guard more.
    let guarded = Host::new(HostOptions {
        self_defense: true,
        ..own.options.clone()
    });
    for mut host in running::find(Some(&definitions.root))? {
        n_hosts += 1;
        let about = host.about();
        let path = host.socket.display();
        match about {
            Ok(host) if host.version == env!("CARGO_PKG_VERSION") => {
                report.say_health(
                    Health::Fine,
                    &format!(
                        "{path}: {}, generation {}",
                        number_of_guards(host.n_hooks, host.n_policies),
                        host.generation
                    ),
                );
                if let Some((health, difference)) = describe_difference(&host, own, &guarded) {
                    report.say_health(health, &format!("{path}: {difference}"));
                }
                arguments.push(format!("{path}: {}", host.program.command_line()));
            }
            Ok(host) => {
                let (theirs, ours) = (host.version, env!("CARGO_PKG_VERSION"));
                report.say_health(
                    Health::Doubtful,
                    &format!(
                        "{path}: it is version {theirs}, this is {ours}; the next event of an agent starts another"
                    ),
                );
            }
            Err(error) => {
                report.say_health(Health::Bad, &format!("{path}: it doesn't answer: {error}"))
            }
        }
    }
    if n_hosts == 0 {
        report.say_health(Health::Fine, "none runs; the first event starts one");
    }
    if arguments.len() > 1 {
        let several = "several run, because they were started with different arguments; what hooks count and share is apart in each";
        report.say_health(
            Health::Doubtful,
            &format!("{several}: {}", arguments.join("; ")),
        );
    }
    Ok(())
}

/// Where definitions are read from, for people: what isn't there could be.
pub(super) fn read_from(host: &Host) -> String {
    let root = host
        .root()
        .canonicalize()
        .unwrap_or_else(|_| host.root().to_path_buf());
    let dirs = host.dirs().into_iter().filter_map(|dir| {
        let is_there = dir.path.exists();
        // A directory around the project is one of the project's only if it holds definitions.
        let is_meant = is_there || dir.layer != Layer::Project || dir.path.parent() == Some(&*root);
        let there = match dir.layer {
            _ if !is_there => " (not there)",
            Layer::Project if !dir.path.is_dir() => " (no directory)",
            _ => "",
        };
        is_meant.then(|| format!("{}{there}", dir.path.display()))
    });
    dirs.collect::<Vec<_>>().join(", ")
}

/// How what a running host has in force differs from what would be in force if it was started here
/// and now.
fn describe_difference(host: &About, own: &Host, guarded: &Host) -> Option<(Health, String)> {
    let here: Vec<(Layer, PathBuf)> = own
        .dirs()
        .into_iter()
        .map(|dir| (dir.layer, dir.path))
        .collect();
    let lacks = |of: &[(Layer, PathBuf)], other: &[(Layer, PathBuf)]| {
        let lacking = of.iter().filter(|it| !other.contains(it) && it.1.exists());
        lacking
            .map(|it| it.1.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (unread, more) = (
        lacks(&here, &host.directories),
        lacks(&host.directories, &here),
    );
    let again = "end it, and the next event starts another";
    if !unread.is_empty() {
        return Some((
            Health::Bad,
            format!("it doesn't read {unread}, which this command does; {again}"),
        ));
    }
    if !more.is_empty() {
        let why = "`--user-dir`, `--hooks` or the environment named it when that host was started";
        return Some((
            Health::Doubtful,
            format!("it reads {more} too, which this command doesn't: {why}"),
        ));
    }
    // Directories that aren't there count in the hash, too.
    let is_as_here = here != host.directories
        || [own, guarded]
            .iter()
            .any(|it| *it.hooks().hash == *host.hash);
    (!is_as_here).then(|| {
        let (generation, hash) = (host.generation, &host.hash);
        let other =
            format!("other definitions are in force there (generation {generation}, hash {hash})");
        (
            Health::Doubtful,
            format!("{other} than this command reads; {again}"),
        )
    })
}
