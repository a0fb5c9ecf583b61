//! Every command of `rep`, a row each.

use clap::{ArgMatches, Args as _, FromArgMatches};

use super::{
    approvals, approve, call, catalog, check, completions, connect, doctor, eval, explain, files, init, link,
    list, migrate, new, prompt, revoke, run, search, serve, session, show, watch,
};
use crate::cli::Globals;
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

/// A command: what it is called, what can be typed behind it, and what it does.
///
/// A row holds functions, so that of all the commands only the one that was typed is described to clap, and ends up in memory.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) describe: fn(clap::Command) -> clap::Command,
    pub(crate) run: fn(&mut Ui, Env, Globals, &ArgMatches) -> Result<Exit, CliError>,
}

/// A row: a command is called like its module.
macro_rules! command {
    (@ $module:ident, $args:ident, $run:expr) => {
        Command { name: stringify!($module), describe: $module::$args::augment_args, run: $run }
    };
    // What it does it does to the library that is configured.
    ($module:ident, $args:ident) => {
        command!(@ $module, $args, |ui, env, globals, typed| {
            $module::run(ui, &Context::load(ui, env, globals)?, &parsed::<$module::$args>(typed))
        })
    };
    // It works where the configuration does not.
    ($module:ident, $args:ident, unconfigured) => {
        command!(@ $module, $args, |ui, env, globals, typed| {
            $module::run(ui, env, globals, &parsed::<$module::$args>(typed))
        })
    };
    // It needs no library.
    ($module:ident, $args:ident, alone) => {
        command!(@ $module, $args, |ui, env, _, typed| {
            $module::run(ui, &env, &parsed::<$module::$args>(typed))
        })
    };
}

/// All of them, in the order in which help tells of them.
pub(crate) const ALL: [Command; 24] = [
    command!(list, ListArgs),
    command!(search, SearchArgs),
    command!(show, ShowArgs),
    command!(files, FilesArgs),
    command!(check, CheckArgs),
    command!(catalog, CatalogArgs),
    command!(call, CallArgs),
    command!(run, RunArgs),
    command!(approve, ApproveArgs),
    command!(revoke, RevokeArgs),
    command!(approvals, ApprovalsArgs),
    command!(session, SessionArgs),
    command!(serve, ServeArgs),
    command!(watch, WatchArgs),
    command!(prompt, PromptArgs),
    command!(explain, ExplainArgs),
    command!(eval, EvalArgs),
    command!(doctor, DoctorArgs, unconfigured),
    command!(connect, ConnectArgs, unconfigured),
    command!(link, LinkArgs),
    command!(new, NewArgs, alone),
    command!(migrate, MigrateArgs, alone),
    command!(init, InitArgs, alone),
    command!(completions, CompletionsArgs, alone),
];

/// Returns the command called `name`.
pub(crate) fn find(name: &str) -> Option<Command> {
    ALL.into_iter().find(|command| command.name == name)
}

/// Returns what was typed behind a command, or ends the process with a usage error.
fn parsed<A: FromArgMatches>(typed: &ArgMatches) -> A {
    A::from_arg_matches(typed).unwrap_or_else(|error| error.exit())
}
