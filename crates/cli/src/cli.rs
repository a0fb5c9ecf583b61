//! The command line. Every doc comment here is help text.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::CompleteEnv;

use crate::commands::{
    add, adopt, agent, approve, call, catalog, check, completions, connect, cost, dashboard, disable, doctor,
    enable, eval, events, explain, history, hook, init, kit, link, list, migrate, new, pack, prompt,
    proposal, publish, remove, revoke, run, search, self_command, serve, session, show, stats, sync, team,
    undo, update, watch,
};
use crate::env::{self, Env};
use crate::error::{CliError, json};
use crate::exit::Exit;
use crate::globals::Globals;
use crate::old_words;
use crate::ui::wrap_indented;

/// Finds, reads and checks the skills that AI agents work with
///
/// A skill is a directory with a SKILL.md: a name, a description that tells an agent when to use it,
/// instructions, and files to read when they are needed. rep finds the skills of a project and of its user,
/// tells why one is missing, checks them against the open standard, and prints the catalog that an agent
/// carries.
#[derive(Debug, Parser)]
#[command(name = "rep", version, propagate_version = true)]
#[command(subcommand_required = false)]
#[command(
    after_help = "Start with `rep`, or with `rep doctor` when something is missing. `rep --version --verbose` tells how \
                        this program was built."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// A command and its arguments. The order is that of `rep help --all`, where [`GROUPS`] has the headings.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::ListArgs),
    Search(search::SearchArgs),
    Show(show::ShowArgs),
    Explain(explain::ExplainArgs),
    New(new::NewArgs),
    Check(check::CheckArgs),
    Add(add::AddArgs),
    Update(update::UpdateArgs),
    Remove(remove::RemoveArgs),
    Undo(undo::UndoArgs),
    Sync(sync::SyncArgs),
    Connect(connect::ConnectArgs),
    Link(link::LinkArgs),
    Adopt(adopt::AdoptArgs),
    Disable(disable::DisableArgs),
    Enable(enable::EnableArgs),
    #[command(subcommand)]
    Kit(kit::KitAction),
    Approve(approve::ApproveArgs),
    Revoke(revoke::RevokeArgs),
    Run(run::RunArgs),
    Agent(agent::AgentArgs),
    Doctor(doctor::DoctorArgs),
    Stats(stats::StatsArgs),
    Dashboard(dashboard::DashboardArgs),
    History(history::HistoryArgs),
    Events(events::EventsArgs),
    #[command(subcommand)]
    Proposal(proposal::ProposalAction),
    Publish(publish::PublishArgs),
    Pack(pack::PackArgs),
    Serve(serve::ServeArgs),
    Team(team::TeamArgs),
    Catalog(catalog::CatalogArgs),
    Prompt(prompt::PromptArgs),
    Call(call::CallArgs),
    Session(session::SessionArgs),
    Hook(hook::HookArgs),
    Watch(watch::WatchArgs),
    Cost(cost::CostArgs),
    Eval(eval::EvalArgs),
    Migrate(migrate::MigrateArgs),
    Init(init::InitArgs),
    Completions(completions::CompletionsArgs),
    #[command(subcommand, name = "self")]
    Itself(self_command::SelfAction),
}

/// The headings of `rep help --all`, each with the first command below it, in the order of [`Command`].
const GROUPS: [(&str, &str); 6] = [
    ("Skills", "list"),
    ("From elsewhere", "add"),
    ("Clients and agents", "connect"),
    ("Looking back", "doctor"),
    ("For teams", "proposal"),
    ("For people who build agents, and for scripts", "catalog"),
];

/// The option that may stand before the command, behind it, and below it.
pub(crate) const ROOT: &str = "root";

/// Returns the command line as clap describes it.
pub(crate) fn command() -> clap::Command {
    let cli = Cli::command();
    let root = cli.get_arguments().find(|argument| argument.get_id() == ROOT).cloned();
    let cli = cli.mut_subcommands(|command| with_root(command, root.as_ref()));
    let help = grouped_help(&cli);
    cli.help_template(help)
}

/// Returns `command`, and every command below it, with the option `root`.
fn with_root(command: clap::Command, root: Option<&clap::Arg>) -> clap::Command {
    command.args(root.cloned()).mut_subcommands(|below| with_root(below, root))
}

/// The columns of the list of commands; clap does not wrap a template.
const HELP_COLUMNS: usize = 80;

/// Returns the template of `rep --help`, which lists the commands by job; clap has one heading for all.
fn grouped_help(cli: &clap::Command) -> String {
    let width = cli.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut help = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for command in cli.get_subcommands() {
        let name = command.get_name();
        if let Some((heading, _)) = GROUPS.iter().find(|(_, first)| *first == name) {
            help.push_str(&format!("\n{heading}:\n"));
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let about = wrap_indented(&about, HELP_COLUMNS, width + 4);
        help.push_str(&format!("  {name:width$}  {about}\n"));
    }
    help + "\nOptions:\n{options}{after-help}"
}

/// Returns the parsed command line, or ends the process with help or a usage error.
pub(crate) fn parse() -> Cli {
    let mut words = env::arguments();
    if words.len() == 3 && words[1] == "help" && words[2] == "--all" {
        words.truncate(2);
    }
    let matches = command().try_get_matches_from(words);
    let parsed = matches.and_then(|matches| {
        let mut cli = Cli::from_arg_matches(&matches)?;
        cli.globals.root = roots(&matches);
        Ok(cli)
    });
    parsed.unwrap_or_else(|error| {
        // Some clients discard a prompt whose hook fails; for a client without a name it is silent.
        if runs_hook(&env::arguments()) && error.use_stderr() {
            return Cli::parse_from(["rep", "hook", ""]);
        }
        let error = old_words::with_command(error, &env::arguments(), &command());
        let mut words = env::arguments().into_iter().take_while(|word| *word != "--");
        if error.use_stderr() && words.any(|word| word == "--json") {
            let document = serde_json::Value::from(json(&usage_error(&error)));
            // Nothing can be reported when standard output is closed; the exit code says enough.
            let _ = writeln!(std::io::stdout(), "{document:#}");
        }
        error.exit()
    })
}

/// Returns `true` if the first command among `words` is `hook`, whatever is wrong with them.
fn runs_hook(words: &[OsString]) -> bool {
    let rep = command();
    words.iter().skip(1).find(|word| rep.find_subcommand(word).is_some()).is_some_and(|word| word == "hook")
}

/// Returns `error` as an error of this program.
fn usage_error(error: &clap::Error) -> CliError {
    let kinds = [ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ErrorKind::MissingSubcommand];
    if kinds.contains(&error.kind()) {
        return CliError::usage("no command is given").hint("run `rep help`");
    }
    let text = error.render().to_string();
    // The message comes first, then tips and the usage, with empty lines between them.
    let message = text.split("\n\n").next().unwrap_or_default();
    let message: Vec<&str> = message.lines().map(str::trim).collect();
    let message = message.join(" ");
    let tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: "));
    let converted = CliError::usage(message.strip_prefix("error: ").unwrap_or(&message));
    tips.fold(converted, CliError::hint)
}

/// Returns the roots of every level of the command line, outermost first.
fn roots(matches: &ArgMatches) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    let mut level = Some(matches);
    while let Some(matches) = level {
        roots.extend(matches.get_many::<PathBuf>(ROOT).into_iter().flatten().cloned());
        level = matches.subcommand().map(|(_, below)| below);
    }
    roots
}

/// Answers `rep --version --verbose`; `None` in all other runs. To clap, `--version` ends the command line.
pub(crate) fn verbose_version() -> Option<ExitCode> {
    let mut words = env::arguments().split_off(1);
    words.sort();
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    if !matches!(words[..], ["--verbose", "--version"] | ["--verbose", "-V"]) {
        return None;
    }
    let text = concat!(
        "rep ",
        env!("CARGO_PKG_VERSION"),
        "\ncommit: ",
        env!("REPERTOIRE_BUILD_COMMIT"),
        "\nprofile: ",
        env!("REPERTOIRE_BUILD_PROFILE"),
        "\ntarget: ",
        env!("REPERTOIRE_BUILD_TARGET"),
        "\nfeatures: ",
        env!("REPERTOIRE_BUILD_FEATURES")
    );
    // Nothing can be reported when standard output is closed.
    let _ = writeln!(std::io::stdout(), "{text}");
    Some(Exit::Success.into())
}

/// Answers a shell that asks for completions; `None` in all other runs.
pub(crate) fn complete(env: &Env) -> Option<ExitCode> {
    env.get(env::COMPLETE)?;
    let completer = CompleteEnv::with_factory(command).bin("rep");
    match completer.try_complete(env::arguments(), Some(env.working_directory())) {
        Ok(true) => Some(Exit::Success.into()),
        Ok(false) => None,
        Err(_) => Some(Exit::Failure.into()),
    }
}
