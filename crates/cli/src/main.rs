//! `rep`, the command line of Repertoire.
//!
//! This is the only crate that reads the environment, prints and exits. `cli.rs` says what can be typed, `config.rs`
//! what can be configured, `wire.rs` builds the library from both, and `commands/` has one file per command.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cli;
mod clients;
mod commands;
mod config;
mod env;
mod error;
mod exit;
mod interrupt;
mod json;
mod regular_file;
mod replace_file;
mod standard_input;
mod ui;
mod wire;

#[cfg(test)]
mod reference;

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::commands::{
    approvals, approve, call, catalog, check, check_compat, completions, connect, doctor, eval, explain,
    files, init, link, list, migrate, new, prompt, revoke, run as run_command, search, serve, session, show,
    watch,
};
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

fn main() -> ExitCode {
    // Before all else: what confines the commands of skills is this program, started again.
    if let Some(code) = repertoire::exec::launcher::run_if_asked() {
        return code;
    }
    let env = Env::capture();
    if let Some(code) = cli::complete(&env) {
        return code;
    }
    // The reference library's command line is its own; clap must not see it.
    if let Some(arguments) = cli::reference_arguments(&env) {
        return check_compat::run(arguments).into();
    }
    let Cli { globals, command } = cli::parse(&env);
    let mut ui = Ui::new(&globals, &env);
    let outcome = run(&mut ui, env, globals, &command).and_then(|exit| Ok(ui.flush().map(|()| exit)?));
    outcome.unwrap_or_else(|error| error.report(&mut ui)).into()
}

fn run(ui: &mut Ui, env: Env, globals: cli::Globals, command: &Command) -> Result<Exit, CliError> {
    let load = |ui: &Ui, env, globals| Context::load(ui, env, globals);
    match command {
        Command::List(args) => list::run(ui, &load(ui, env, globals)?, args),
        Command::Search(args) => search::run(ui, &load(ui, env, globals)?, args),
        Command::Show(args) => show::run(ui, &load(ui, env, globals)?, args),
        Command::Files(args) => files::run(ui, &load(ui, env, globals)?, args),
        Command::Check(args) => check::run(ui, &load(ui, env, globals)?, args),
        Command::Catalog(args) => catalog::run(ui, &load(ui, env, globals)?, args),
        Command::Call(args) => call::run(ui, &load(ui, env, globals)?, args),
        Command::Run(args) => run_command::run(ui, &load(ui, env, globals)?, args),
        Command::Approve(args) => approve::run(ui, &load(ui, env, globals)?, args),
        Command::Revoke(args) => revoke::run(ui, &load(ui, env, globals)?, args),
        Command::Approvals(args) => approvals::run(ui, &load(ui, env, globals)?, args),
        Command::Session(args) => session::run(ui, &load(ui, env, globals)?, args),
        Command::Serve(args) => serve::run(ui, &load(ui, env, globals)?, args),
        Command::Watch(args) => watch::run(ui, &load(ui, env, globals)?, args),
        Command::Prompt(args) => prompt::run(ui, &load(ui, env, globals)?, args),
        Command::Explain(args) => explain::run(ui, &load(ui, env, globals)?, args),
        Command::Eval(args) => eval::run(ui, &load(ui, env, globals)?, args),
        Command::Link(args) => link::run(ui, &load(ui, env, globals)?, args),
        // These work where the configuration does not, or need none.
        Command::Doctor(args) => doctor::run(ui, env, globals, args),
        Command::Connect(args) => connect::run(ui, env, globals, args),
        Command::New(args) => new::run(ui, &env, args),
        Command::Migrate(args) => migrate::run(ui, &env, args),
        Command::Init(args) => init::run(ui, &env, args),
        Command::Completions(args) => completions::run(ui, &env, args),
    }
}
