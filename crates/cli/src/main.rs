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

use crate::cli::Typed;
use crate::commands::check_compat;
use crate::env::Env;
use crate::ui::Ui;

fn main() -> ExitCode {
    // Before all else: what confines the commands of skills is this program, started again.
    if let Some(code) = repertoire_exec::launcher::run_if_asked() {
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
    let Typed { globals, command, behind } = cli::parse(&env);
    let mut ui = Ui::new(&globals, &env);
    let outcome =
        (command.run)(&mut ui, env, globals, &behind).and_then(|exit| Ok(ui.flush().map(|()| exit)?));
    outcome.unwrap_or_else(|error| error.report(&mut ui)).into()
}
