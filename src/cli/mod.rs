//! The command line: parses, calls the library, maps results to exit codes.
//!
//! Exit codes: 0 fine, 1 findings (a deny, an error in a definition), 2 usage or internal error,
//! 128 and its number if a signal has ended a command that runs hooks. That there is nothing to
//! list is no finding.

mod agent_version;
mod approvals;
mod check;
mod copies;
mod deferred;
pub(crate) mod demo;
mod docs;
mod doctor;
mod drive;
pub(crate) mod ending;
mod entry_hosts;
mod explain;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(not(feature = "fleet"))]
#[path = "no_fleet.rs"]
mod fleet;
mod generate;
mod granted;
mod help;
mod history;
mod hook;
mod host;
mod import;
mod init;
mod inspect;
mod install;
mod install_mcp;
mod kept;
mod managed;
mod mcp;
mod mend;
pub(crate) mod output;
mod own;
mod record;
mod rendered;
mod reports;
mod rows;
pub(crate) mod run;
mod sample_host;
pub(crate) mod scratch;
mod serve;
mod state;
pub(crate) mod tail;
mod test;
mod trust;
mod unasked;
mod uninstall;
mod warm_host;
mod written;

use crate::rpc::VERDICTS;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use deferred::Deferred;
use help::GLOBAL;
use hook::HookArgs;
use hookwire_ask::project::{find_project, is_left_out};
use hookwire_ask::warm::Wanted;
use hookwire_base::support::below::ANYWHERE;
use hookwire_base::support::places::{self, Places};
use hookwire_dialects::asked;
use hookwire_dialects::{self as dialects, Dialect};
use hookwire_engine::definitions::approved::DEFINITIONS;
use hookwire_engine::definitions::cases::is_definition_file;
use hookwire_engine::engine::JUDGED;
use hookwire_engine::host::{Host, HostOptions, LastGood, Projects};
use hookwire_handlers::handlers::HostPort;
use hookwire_handlers::services::models::ModelRef;
use hookwire_handlers::services::state::Store;
use hookwire_rules::agents::{self, Agent};
use output::{JsonLog, Output, redact_text, safe, say_on_stderr};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::prelude::*;

const ABOUT: &str = "Rules for coding agents, checked before each command, edit and request.

You write a rule in a file. Your agent asks hookwire before it acts, and gets one verdict: go on, don't, ask a person, or \
run this instead. `hookwire demo` shows it happen; `hookwire init` begins with your agent, and `hookwire docs tutorial` \
goes through it.";

const EXIT_CODES: &str = "Exit codes: 0 fine; 1 findings, such as a deny or an error in a definition; 2 wrong usage or an \
                          internal error. `hookwire docs exit codes` has what 1 means for each command.";

#[derive(Parser)]
#[command(
    name = "hookwire", bin_name = "hookwire", version, about = ABOUT.lines().next(), long_about = ABOUT, max_term_width = 100,
    after_help = "`hookwire COMMAND --help` has the options of a command.", after_long_help = EXIT_CODES,
    disable_help_flag = true,
)]
struct Cli {
    /// What is printed: a text for people or JSON for programs; `check` and `test` have more.
    #[arg(long, global = true, value_parser = Format::parser(Format::PLAIN), default_value = "text", help_heading = GLOBAL)]
    format: Format,
    /// When to color: NO_COLOR and pipes switch it off.
    #[arg(long, global = true, value_enum, default_value_t = clap::ColorChoice::Auto, help_heading = GLOBAL)]
    color: clap::ColorChoice,
    /// What is logged to stderr, as for RUST_LOG: error, warn, info, debug, or per module.
    #[arg(long, global = true, env = "HOOKWIRE_LOG", default_value = "warn", help_heading = GLOBAL)]
    log: String,
    /// Log JSON lines.
    #[arg(long, global = true, help_heading = GLOBAL)]
    log_json: bool,
    /// Print help: -h a short one, --help all of it.
    #[arg(short, long, global = true, action = clap::ArgAction::Help, help_heading = GLOBAL)]
    help: Option<bool>,
    #[command(flatten)]
    places: PlaceArgs,
    #[command(subcommand)]
    command: Command,
}

/// The one option for what is printed. What isn't for every command is named by those that it is
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: one JSON value a line.
    #[value(alias = "jsonl")]
    Json,
    /// Annotations of a workflow on GitHub.
    Github,
    /// SARIF 2.1.0, which code scanning reads.
    Sarif,
    /// The XML that continuous integration reads.
    Junit,
    /// The Test Anything Protocol.
    Tap,
}

impl Format {
    const PLAIN: &[Format] = &[Format::Text, Format::Json];
    const OF_CHECK: &[Format] = &[Format::Text, Format::Json, Format::Github, Format::Sarif];
    const OF_TEST: &[Format] = &[
        Format::Text,
        Format::Json,
        Format::Github,
        Format::Sarif,
        Format::Junit,
        Format::Tap,
    ];

    /// Reads any of them, because the option may stand before the command, and shows these.
    fn parser(shown: &'static [Format]) -> impl TypedValueParser<Value = Format> {
        let values: Vec<PossibleValue> = Format::value_variants()
            .iter()
            .filter_map(|format| Some(format.to_possible_value()?.hide(!shown.contains(format))))
            .collect();
        PossibleValuesParser::new(values).try_map(|name| Format::from_str(&name, true))
    }

    /// Those that a command prints.
    fn printed_by(command: &Command) -> &'static [Format] {
        match command {
            Command::Check(args) if args.list.is_none() => Format::OF_CHECK,
            Command::Test(_) => Format::OF_TEST,
            _ => Format::PLAIN,
        }
    }
}

#[derive(Subcommand)]
enum Command {
    /// Serve JSON-RPC over stdin and stdout: what agents and editors spawn.
    Serve(Deferred<serve::ServeArgs>),
    /// Judge one event of a coding agent: the command that `install` writes.
    Hook(Deferred<HookArgs>),
    /// Make a coding agent ask hookwire: write an entry into its configuration.
    Install(Deferred<install::InstallArgs>),
    /// Take what `install` wrote out again.
    Uninstall(Deferred<uninstall::UninstallArgs>),
    /// Carry the hooks and permissions of a coding agent over into definitions. Exits with 1 if one
    /// can't be.
    Import(Deferred<import::ImportArgs>),
    /// Find out whether installed agents are guarded, with a probe for each. Exits with 1 if one
    /// isn't.
    Doctor(Deferred<doctor::DoctorArgs>),
    /// List the hosts that run, and end them.
    Host(Deferred<host::HostArgs>),
    /// Put a project's own definitions in force, after showing them.
    Trust(Deferred<trust::TrustArgs>),
    /// Check definitions: every mistake with its place. Exits with 1 if there is an error.
    Check(Deferred<check::CheckArgs>),
    /// Try the cases beside definitions, `guard.test.yaml` for `guard.yaml`. Exits with 1 if one
    /// isn't as expected.
    Test(Deferred<test::TestArgs>),
    /// Say for each hook whether it would run on an event, and if not, why. With --run, run them
    /// and print the verdict.
    Explain(Deferred<explain::ExplainArgs>),
    /// Watch what the running hosts judge, as it happens, or record it.
    Tail(Deferred<tail::TailArgs>),
    /// Watch your agents in the browser, and answer what waits for you.
    Inspect(Deferred<inspect::InspectArgs>),
    /// Search what was judged, judge it again, and suggest rules from it.
    History(Deferred<history::HistoryArgs>),
    /// Read or change the values that hooks share, in a running host.
    State(Deferred<state::StateArgs>),
    /// List the questions that wait for a person, and answer them.
    Approvals(Deferred<approvals::ApprovalsArgs>),
    /// Find your agents, write a set of rules, connect them, and show that a deny arrives. With
    /// names, write single rules of the cookbook with their cases.
    Init(Deferred<init::InitArgs>),
    /// Print a page of the documentation, or what it says about a word. Without a word, the pages
    /// are listed.
    Docs(Deferred<docs::DocsArgs>),
    /// Manage a fleet: hosts on many machines that share definitions.
    Fleet(Deferred<fleet::FleetArgs>),
    /// Stand between an MCP client and an MCP server, and judge the calls of its tools.
    Mcp(Deferred<mcp::McpArgs>),
    /// Run a command with every program that it starts judged by your rules.
    Run(Deferred<run::RunArgs>),
    /// Print a JSON Schema or a completion script, or write man pages.
    Generate(Deferred<generate::GenerateArgs>),
    /// Watch it happen: an agent's session against a real host, with hooks edited in between.
    Demo(Deferred<demo::DemoArgs>),
    /// Ends the processes of a host that was killed; started by the host itself.
    #[command(hide = true)]
    Reaper,
}

/// Where the user's things are. `hookwire install` names them in the command that it writes.
#[derive(Args)]
struct PlaceArgs {
    /// The directory of the user's definitions, whatever the environment says; may be given several
    /// times.
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL, hide_short_help = true)]
    user_dir: Vec<PathBuf>,
    /// The directory of what is kept for the user, such as what was trusted, whatever the
    /// environment says; may be given several times.
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL, hide_short_help = true)]
    data_dir: Vec<PathBuf>,
}

impl PlaceArgs {
    fn named_places(&self) -> Places {
        Places::from_paths(&self.user_dir, &self.data_dir)
    }
}

/// Which definitions are loaded.
#[derive(Args, Clone, Default)]
struct DefinitionArgs {
    /// A directory of definitions, or one file of them; may be given several times. To name it is
    /// to trust it.
    #[arg(long, value_name = "PATH")]
    hooks: Vec<PathBuf>,
    /// Load the project's own definitions, in .hookwire of the root, as they are. Without it they
    /// count as far as `hookwire trust` has put them in force.
    #[arg(long)]
    live: bool,
    /// Ask a person before a tool changes hookwire's own files or answers for one, as `hookwire
    /// hook` does.
    #[arg(long)]
    self_defense: bool,
    /// The project root; else the nearest directory upwards that has a .hookwire, or a .git, or
    /// this one.
    #[arg(long, value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// Leave out the machine's and the user's definitions (/etc/hookwire, ~/.config/hookwire).
    #[arg(long)]
    isolated: bool,
}

/// Which addresses and which model hooks may reach.
#[derive(Args, Clone, Default)]
struct ReachArgs {
    /// A host:port that http hooks and models may reach although it is not on the public internet.
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<HostPort>,
    /// The model for hooks that ask one without naming it, such as anthropic:claude-haiku-4-5.
    #[arg(long, value_name = "PROVIDER:NAME", env = "HOOKWIRE_MODEL")]
    model: Option<ModelRef>,
}

/// A host that judges events.
#[derive(Args, Clone, Default)]
struct HostArgs {
    #[command(flatten)]
    definitions: DefinitionArgs,
    #[command(flatten)]
    reach: ReachArgs,
    /// Keep shared state in this file, across restarts; without it, it is gone with the host.
    #[arg(long, value_name = "FILE")]
    state_file: Option<PathBuf>,
    /// How long an `ask` waits for `hookwire approvals approve` if the client can't ask a person.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    ask_elsewhere: Option<Duration>,
}

/// The machine's definitions are left out.
const WITHOUT_MACHINE: &str = hookwire_ask::WITHOUT_MACHINE;

/// One that stays.
#[derive(Args, Clone, Default)]
struct StandingArgs {
    #[command(flatten)]
    host: HostArgs,
    /// Look at the definitions twice a second instead of asking the kernel what changed.
    #[arg(long)]
    poll: bool,
    /// Let the host log every verdict: event, tool, session, decision, hook, reason and time, but
    /// no inputs.
    #[arg(long)]
    log_verdicts: bool,
    /// Leave out what is the machine's (/etc/hookwire), because its own host judges by that.
    #[arg(long, hide = true)]
    without_machine: bool,
    /// Join a fleet: its settings file, or its servers as nats://HOST[,HOST]. Without it, the
    /// machine's or your own fleet.conf counts, if there is one; the machine's always does.
    #[arg(long, value_name = "FILE|nats://HOST")]
    fleet: Option<String>,
}

impl StandingArgs {
    /// Its host judges for agents, so the next one goes on from what it finds good.
    fn options(&self) -> Result<HostOptions, Failure> {
        let options = self.host.options()?;
        Ok(HostOptions {
            poll: self.poll,
            without_machine: self.without_machine,
            last_good: options.last_good.and_kept(),
            ..options
        })
    }

    /// These definitions as the command line of another process has them, with whole paths.
    fn wanted(&self) -> std::io::Result<Wanted> {
        let HostArgs {
            definitions,
            reach,
            state_file,
            ask_elsewhere,
        } = &self.host;
        let mut more: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: OsString| more.extend([name.into(), value]);
        for host in &reach.allow_host {
            add("--allow-host", host.to_string().into());
        }
        if let Some(file) = state_file {
            add("--state-file", std::path::absolute(file)?.into());
        }
        if let Some(time) = ask_elsewhere {
            add(
                "--ask-elsewhere",
                humantime::format_duration(*time).to_string().into(),
            );
        }
        if let Some(model) = &reach.model {
            add("--model", model.to_string().into());
        }
        if let Some(fleet) = &self.fleet {
            let file = Path::new(fleet);
            add(
                "--fleet",
                if file.is_file() {
                    std::path::absolute(file)?.into()
                } else {
                    fleet.into()
                },
            );
        }
        for (flag, is_set) in [
            ("--poll", self.poll),
            ("--log-verdicts", self.log_verdicts),
            (WITHOUT_MACHINE, self.without_machine),
        ] {
            more.extend(is_set.then(|| flag.into()));
        }
        let DefinitionArgs {
            hooks,
            live,
            self_defense,
            root,
            isolated,
        } = definitions.clone();
        Ok(Wanted {
            root,
            hooks,
            project: live,
            isolated,
            self_defense,
            more,
        })
    }
}

impl HostArgs {
    fn options(&self) -> Result<HostOptions, Failure> {
        let state = self.state_file.as_deref().map(Store::open).transpose();
        Ok(HostOptions {
            state: state
                .map_err(|error| Failure(format!("--state-file: failed to {error}")))?
                .unwrap_or_default(),
            ask_elsewhere: self.ask_elsewhere,
            ..self.reach.host_options(&self.definitions)
        })
    }

    fn build_host(&self) -> Result<Arc<Host>, Failure> {
        self.definitions.build_host(self.options()?)
    }

    /// With what the entries of installed agents let hooks reach: an event is judged as theirs are.
    fn with_installed(&self) -> HostArgs {
        let HostArgs {
            definitions, reach, ..
        } = self;
        let reach = if definitions.isolated {
            reach.clone()
        } else {
            reach.with_installed(&definitions.root)
        };
        HostArgs {
            reach,
            ..self.clone()
        }
    }
}

impl ReachArgs {
    fn host_options(&self, definitions: &DefinitionArgs) -> HostOptions {
        let (allow_hosts, model) = (self.allow_host.clone(), self.model.clone());
        HostOptions {
            allow_hosts,
            model,
            ..definitions.options()
        }
    }
}

impl DefinitionArgs {
    fn options(&self) -> HostOptions {
        HostOptions {
            root: self.root.clone(),
            hooks: self.hooks.clone(),
            projects: match (self.live, self.isolated) {
                (false, false) => Projects::Trusted,
                (true, false) => Projects::RootAndTrusted,
                (true, true) => Projects::Root,
                (false, true) => Projects::None,
            },
            self_defense: self.self_defense,
            system: !self.isolated,
            last_good: if self.isolated {
                LastGood::Ignored
            } else {
                LastGood::Used
            },
            ..HostOptions::default()
        }
    }

    /// The directory of the project's own definitions, as people write it.
    fn own_dir(&self) -> PathBuf {
        match self.root.to_str() {
            Some(".") => DEFINITIONS.into(),
            _ => self.root.join(DEFINITIONS),
        }
    }

    /// Paths in a text as they were given on the command line: the host knows them in full.
    fn as_given(&self, text: &str) -> String {
        self.hooks
            .iter()
            .chain([&self.own_dir()])
            .fold(text.to_string(), |text, given| {
                match std::path::absolute(given) {
                    Ok(full) if full != *given => {
                        text.replace(&*full.to_string_lossy(), &given.to_string_lossy())
                    }
                    _ => text,
                }
            })
    }

    /// A host of these definitions. A directory that was named but isn't there is an error, because
    /// the guards in it would be missing without a word. It is told if those in force aren't the
    /// files as they are.
    fn build_host(&self, options: HostOptions) -> Result<Arc<Host>, Failure> {
        let host = self.host_with(options)?;
        let notices = host.hooks().notices.clone();
        for notice in notices.iter() {
            let notice = safe(&self.as_given(notice));
            say_on_stderr(format_args!(
                "{notice}; with --live, the files judge as they are now"
            ));
        }
        if notices.is_empty() {
            self.tell_left_out();
        }
        Ok(host)
    }

    /// Says that the project's own guards do nothing, to whoever would wonder.
    fn tell_left_out(&self) {
        if is_left_out(
            &self.root,
            self.live,
            self.isolated,
            &self.hooks,
            places::data_dirs(),
        ) {
            let project = self.as_given(&self.root.join(DEFINITIONS).to_string_lossy());
            let why = match self.isolated {
                true => "`--isolated` leaves it out",
                false => {
                    "nobody has trusted it, so it isn't loaded: `hookwire trust` shows it and puts it in force"
                }
            };
            say_on_stderr(format_args!(
                "{project} is there but {why}; `--live` loads it as it is this once"
            ));
        }
    }

    fn host_with(&self, options: HostOptions) -> Result<Arc<Host>, Failure> {
        self.are_there()?;
        // What a fleet has published is in force for whoever joins nothing, too.
        let fleet = match options.fleet {
            None if options.system => fleet::find_published(None, true)?,
            given => given,
        };
        Ok(Host::new(HostOptions { fleet, ..options }))
    }

    /// Whether all that was named is there: what isn't would be missing without a word.
    fn are_there(&self) -> Result<(), Failure> {
        for dir in &self.hooks {
            if dir.is_file() && !is_definition_file(dir) {
                let problem = "not a definition file: those end in .yaml, .yml, .toml or .json";
                return Err(Failure(format!("--hooks {}: {problem}", dir.display())));
            }
            if !dir.exists() {
                return Err(Failure(format!(
                    "--hooks {}: no such file or directory",
                    dir.display()
                )));
            }
        }
        if !self.root.is_dir() {
            return Err(Failure(format!(
                "--root {}: no such directory",
                self.root.display()
            )));
        }
        Ok(())
    }
}

/// Where the definitions of that project are.
fn definitions_dir() -> PathBuf {
    let root = find_project();
    if root == Path::new(".") {
        DEFINITIONS.into()
    } else {
        root.join(DEFINITIONS)
    }
}

/// The root of the project that a file is named in: what is written there stays below it. It is
/// [`ANYWHERE`] for a file that a person names elsewhere.
fn root_of(path: &Path) -> PathBuf {
    let mut full = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_default().components() {
        match part {
            Component::ParentDir => drop(full.pop()),
            part => full.push(part),
        }
    }
    let project = find_project().canonicalize().ok();
    let mut above: Vec<&Path> = full
        .ancestors()
        .filter(|dir| {
            let has_definitions = full
                .strip_prefix(dir)
                .is_ok_and(|rest| rest.starts_with(DEFINITIONS));
            dir.is_dir()
                && (has_definitions || project.is_some() && dir.canonicalize().ok() == project)
        })
        .collect();
    above
        .pop()
        .map_or_else(|| ANYWHERE.into(), Path::to_path_buf)
}

/// Why a command failed. It is printed, and the exit code is 2.
pub(crate) struct Failure(pub(crate) String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.to_string())
    }
}

/// The result of a command, which decides the exit code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// 0.
    Fine,
    /// 1.
    Found,
    /// This one, because a signal has ended the command.
    Ended(u8),
}

/// The command line of this process. Where it asks for help, that is printed, and the process ends.
fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        if !matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        ) {
            let words: Vec<String> = std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            if let Some(cli) = of_docs(&error, &words) {
                return cli;
            }
            run::with_dashes(without_file_tip(error), &words).exit();
        }
        let matches = help::group_commands(Cli::command()).get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    })
}

/// The command line with an option as what `docs` is to look up: people write it as they know it.
fn of_docs(error: &clap::Error, words: &[String]) -> Option<Cli> {
    let is_docs = words.get(1).is_some_and(|words| words == "docs")
        && error.kind() == ErrorKind::UnknownArgument;
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).filter(|_| is_docs)
    else {
        return None;
    };
    let (options, others): (Vec<_>, Vec<_>) =
        words.iter().cloned().partition(|word| word == option);
    Cli::try_parse_from(others.into_iter().chain(["--".into()]).chain(options)).ok()
}

/// Without the tip how to give an unknown option as the name of a file: nobody has such files.
fn without_file_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains(" as a value, use "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    error
}

/// The command line, with its log.
fn parse_and_log() -> Result<Cli, ExitCode> {
    let cli = parse();
    start_log(&cli).map_err(|problem| {
        say_on_stderr(format_args!("--log {}: {problem}", cli.log));
        ExitCode::from(2)
    })?;
    Ok(cli)
}

/// Runs the command line of this process; `show` is what `hookwire demo` shows.
pub(crate) fn main(show: demo::Show) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(clock) = hook::Clock::from_words(&words) {
        return clock.answer_in_time(|| {
            let cli = parse_and_log()?;
            match cli.command {
                Command::Hook(args) => Ok((HookArgs::clone(&args), cli.places.named_places())),
                _ => Err(ExitCode::from(2)),
            }
        });
    }
    let cli = match parse_and_log() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    if matches!(cli.command, Command::Reaper) {
        hookwire_handlers::handlers::process_tree::reaper_main();
    }
    if let Command::Hook(args) = cli.command {
        return hook::run(HookArgs::clone(&args), cli.places.named_places());
    }
    if !Format::printed_by(&cli.command).contains(&cli.format) {
        let name = |format: &Format| {
            format
                .to_possible_value()
                .map(|value| value.get_name().to_string())
                .unwrap_or_default()
        };
        let known = Format::printed_by(&cli.command)
            .iter()
            .map(name)
            .collect::<Vec<_>>()
            .join(", ");
        say_on_stderr(format_args!(
            "--format {}: this command prints {known}",
            name(&cli.format)
        ));
        return ExitCode::from(2);
    }
    if let Command::Mcp(args) = cli.command {
        return exit_code(mcp::run(&args, cli.places.named_places()));
    }
    places::settle(cli.places.named_places());
    let mut out = Output::new(cli.color, cli.format);
    let result = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Check(args) => check::check(&args, &mut out),
        Command::Test(args) => test::run(&args, &mut out),
        Command::Explain(args) => explain::explain(&args, &mut out),
        Command::Tail(args) if args.record.is_some() => record::run(&args),
        Command::Tail(args) => tail::run(&args, &mut out),
        Command::History(args) => history::run(&args, &mut out),
        Command::Inspect(args) => inspect::run(&args, &mut out),
        #[cfg(feature = "fleet")]
        Command::State(args) if args.fleet.is_some() => fleet::state::run(&args, &mut out),
        Command::State(args) => state::run(&args, &mut out),
        #[cfg(feature = "fleet")]
        Command::Approvals(args) if args.is_of_fleet() => fleet::approvals::run(&args, &mut out),
        Command::Approvals(args) => approvals::run(&args, &mut out),
        Command::Init(args) => init::run(&args, &mut out),
        Command::Generate(args) => generate::run(&args, &mut out),
        Command::Run(args) => run::run(&args),
        Command::Demo(args) => show(&args, &mut out),
        Command::Docs(args) => docs::run(&args, &mut out),
        Command::Install(args) if args.place_of_entry().servers().is_some() => {
            install_mcp::install(&args, &mut out)
        }
        Command::Install(args) if args.is_managed() => args
            .managed_wish()
            .and_then(|wish| managed::install(&wish, &mut out)),
        Command::Install(args) => {
            entry_hosts::renew_hosts(args.root(), &mut out, |out| install::install(&args, out))
        }
        Command::Uninstall(args) if args.is_managed() => args
            .managed_wish()
            .and_then(|wish| managed::uninstall(&wish, &mut out)),
        Command::Uninstall(args) => match args.of_servers() {
            Some(place) => install_mcp::uninstall(place, &mut out),
            None => uninstall::run(&args, &mut out),
        },
        Command::Import(args) => import::run(&args, &mut out),
        Command::Doctor(args) => doctor::run(&args, &mut out),
        Command::Host(args) => host::run(&args, &mut out),
        Command::Trust(args) => trust::run(&args, &mut out),
        Command::Fleet(args) => fleet::run(&args, &mut out),
        Command::Hook(_) | Command::Mcp(_) | Command::Reaper => Ok(Finding::Fine),
    };
    let code = exit_code(result);
    match out.problem() {
        Some(error) if code == ExitCode::SUCCESS => {
            say_on_stderr(format_args!("failed to write the result: {error}"));
            ExitCode::from(2)
        }
        _ => code,
    }
}

/// The exit code of a command, whose failure is printed.
fn exit_code(result: Result<Finding, Failure>) -> ExitCode {
    ExitCode::from(match result {
        Ok(Finding::Fine) => 0,
        Ok(Finding::Found) => 1,
        Ok(Finding::Ended(code)) => code,
        Err(Failure(problem)) => {
            say_on_stderr(problem);
            2
        }
    })
}

/// Logs go to stderr: stdout belongs to the protocol, or to what was asked for.
fn start_log(cli: &Cli) -> Result<(), tracing_subscriber::filter::ParseError> {
    // `notify` warns of watches that ended with their directories, and `rmcp` logs what messages
    // contain.
    let is_told = matches!(&cli.command, Command::Serve(args) if args.hooks.log_verdicts);
    let verdicts = if is_told { "info" } else { "off" };
    // A test tells in its result what goes wrong, so warnings would say it twice. The cases that
    // `init` shows are judged in the same way.
    let shows_cases = matches!(&cli.command, Command::Test(_) | Command::Init(_));
    let wanted = if shows_cases && cli.log == "warn" {
        "error"
    } else {
        &cli.log
    };
    // So does a verdict that is printed.
    let is_printed =
        matches!(&cli.command, Command::Explain(args) if args.run) && cli.log == "warn";
    let judged = if is_printed {
        format!("{JUDGED}=error,")
    } else {
        String::new()
    };
    let filter: Targets =
        format!("notify=error,rmcp=off,async_nats=off,{VERDICTS}={verdicts},{judged}{wanted}")
            .parse()?;
    let colour = Output::wants_colour(cli.color, &std::io::stderr());
    let log = tracing_subscriber::fmt::layer().with_target(false);
    let log = match cli.log_json {
        true => log
            .with_writer(|| JsonLog(std::io::stderr()))
            .json()
            .boxed(),
        // A field's text may come from an event: no secret may stay in the log, and the terminal
        // must not obey it.
        false => {
            let fields =
                debug_fn(
                    |writer, field, value| match safe(&redact_text(format!("{value:?}"))) {
                        message if field.name() == "message" => write!(writer, "{message}"),
                        text => write!(writer, "{}={text}", field.name()),
                    },
                );
            log.with_writer(std::io::stderr)
                .fmt_fields(fields.delimited(" "))
                .with_ansi(colour)
                .boxed()
        }
    };
    tracing_subscriber::registry()
        .with(log.with_filter(filter))
        .init();
    Ok(())
}

/// Reads the name of a dialect; shells complete it.
fn dialect_parser() -> impl TypedValueParser<Value = &'static Dialect> {
    PossibleValuesParser::new(dialects::dialect_names())
        .try_map(|name| dialects::by_name(&name).map_err(|error| error.to_string()))
}

/// Reads the name of a coding agent that asks; of all agents' facts, an event needs the name alone.
fn asking_agent() -> impl TypedValueParser<Value = &'static Dialect> {
    PossibleValuesParser::new(agents::names()).try_map(|name| asked::agent_dialect(&name))
}

/// Reads the name of a coding agent; shells complete it.
fn agent_parser() -> impl TypedValueParser<Value = &'static Agent> {
    PossibleValuesParser::new(agents::names()).try_map(|name| agents::by_name(&name))
}
