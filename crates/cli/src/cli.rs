//! What can be typed. Every doc comment here is help text.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use repertoire_model::Profile;

use crate::commands::table::{self, Command};
use crate::env::{self, Env};
use crate::{exit::Exit, wire};

/// Finds, reads and checks the skills that AI agents work with
///
/// A skill is a directory with a SKILL.md: a name, a description that tells an agent when to use it, instructions,
/// and files to read when they are needed. rep finds the skills of a project and of its user, tells why one is
/// missing, checks them against the open standard, and prints the catalog that an agent carries.
#[derive(Debug, Parser)]
#[command(name = "rep", version, propagate_version = true, disable_help_subcommand = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "Start with `rep list`, or with `rep doctor` when something is missing.")]
struct Cli {
    /// Options that every command takes.
    #[command(flatten)]
    globals: Globals,
}

/// What was typed.
pub(crate) struct Typed {
    /// Options that every command takes.
    pub(crate) globals: Globals,
    /// The command.
    pub(crate) command: Command,
    /// What was typed behind it.
    pub(crate) behind: ArgMatches,
}

/// Options that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Read skills from this directory only
    ///
    /// It replaces everything that discovery and configuration would find. Given several times, earlier directories
    /// win over later ones.
    // Not `global`: clap would then forget the directories before the command for those behind it; see `command`.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Vec<PathBuf>,
    /// Hold skills against this profile
    ///
    /// standard loads what can be understood and reports the rest; strict demands the open standard to the letter;
    /// lenient complains less; harness takes the directory for the name and the first heading for the description.
    #[arg(long, global = true, value_name = "PROFILE", value_parser = Profile::ALL.map(Profile::as_str))]
    pub profile: Option<String>,
    /// Use this configuration file instead of looking for one
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// Read every skill anew and leave the cache alone
    #[arg(long, global = true)]
    pub no_cache: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On terminals
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Returns the choice of the environment; a word it does not know is `rep doctor`'s to report.
    pub(crate) fn from_env(env: &Env) -> Option<Self> {
        env.get(env::COLOR).and_then(OsStr::to_str).and_then(|word| Self::from_str(word, true).ok())
    }
}

/// The option that counts both before and behind the command.
pub(crate) const ROOT: &str = "root";

/// Returns what can be typed.
pub(crate) fn command() -> clap::Command {
    with_commands(&table::ALL)
}

/// Returns what can be typed where there are only these commands.
fn with_commands(commands: &[Command]) -> clap::Command {
    let cli = Cli::command();
    let root = cli.get_arguments().find(|argument| argument.get_id() == ROOT).cloned();
    let described = commands.iter().map(|command| {
        let described = (command.describe)(clap::Command::new(command.name)).args(root.clone());
        // What a command measures stands behind it, and its options behind that.
        match command.name {
            "eval" => described.mut_subcommands(|below| below.args(root.clone())),
            _ => described,
        }
    });
    cli.subcommands(described)
}

/// Returns what was typed, or ends the process with help or a usage error.
pub(crate) fn parse(env: &Env) -> Typed {
    let arguments = env.arguments();
    // Most of the time the first word is a command, and then nothing is asked about any other.
    let first = arguments.get(1).and_then(|word| word.to_str()).and_then(table::find);
    let cli = first.map_or_else(command, |first| with_commands(&[first]));
    typed(cli.get_matches_from(arguments)).unwrap_or_else(|error| error.exit())
}

fn typed(mut matches: ArgMatches) -> Result<Typed, clap::Error> {
    let mut globals = Globals::from_arg_matches(&matches)?;
    let missing = || command().error(ErrorKind::MissingSubcommand, "a command is required");
    let (name, behind) = matches.remove_subcommand().ok_or_else(missing)?;
    let command = table::find(&name).ok_or_else(missing)?;
    let mut below = Some(&behind);
    while let Some(matches) = below {
        let roots = matches.try_get_many::<PathBuf>(ROOT).ok().flatten();
        globals.root.extend(roots.into_iter().flatten().cloned());
        below = matches.subcommand().map(|(_, matches)| matches);
    }
    Ok(Typed { globals, command, behind })
}

/// Answers a shell that asks for completions; `None` in all other runs.
pub(crate) fn complete(env: &Env) -> Option<ExitCode> {
    env.get(env::COMPLETE)?;
    let completer = CompleteEnv::with_factory(command).bin("rep");
    match completer.try_complete(env.arguments().iter().cloned(), Some(env.working_directory())) {
        Ok(true) => Some(Exit::Success.into()),
        Ok(false) => None,
        Err(_) => Some(Exit::Failure.into()),
    }
}

/// Returns the reference library's command line, where `rep check --compat skills-ref` asks for it.
pub(crate) fn reference_arguments(env: &Env) -> Option<&[OsString]> {
    let arguments = env.arguments();
    let asked = |pair: &[OsString]| pair[0] == "--compat" && pair[1] == "skills-ref";
    let index = arguments.windows(2).position(asked)?;
    let is_check = arguments.get(1..index)?.iter().any(|word| word == "check");
    is_check.then(|| &arguments[index + 2..])
}

/// Returns what completes the name of a skill.
pub(crate) fn skill_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let env = Env::capture();
        // The command line is not parsed while it is being typed; only the roots on it matter here.
        let words = env.arguments().iter().skip_while(|word| *word != "--");
        let root = words.clone().zip(words.skip(1)).filter(|(word, _)| *word == "--root");
        let root: Vec<PathBuf> = root.map(|(_, root)| PathBuf::from(root)).collect();
        let names = wire::names(&env, &Globals { root, ..Globals::default() });
        names
            .into_iter()
            .map(|(name, description)| CompletionCandidate::new(name).help(Some(description.into())))
            .collect()
    })
}

/// Completes the names of agents of the configuration.
pub(crate) fn agent_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = wire::agents(&Env::capture(), &Globals::default());
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}
