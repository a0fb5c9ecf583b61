//! `rep self`.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use repertoire_app::installation::Installation;
use serde_json::json;

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};

/// Shows how to update this program, and writes its manual
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum SelfAction {
    /// Prints the command that updates this program, as it was installed
    ///
    /// Nothing is fetched and nothing changes. `rep doctor` tells how it was installed too.
    Update,
    Man(ManArgs),
}

/// Writes the manual pages, one for each command
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory to write them to; it is made if it is not there
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
}

/// Runs the command; `program` describes the whole command line.
pub(crate) fn run(
    ui: &mut Ui,
    env: &Env,
    action: &SelfAction,
    program: clap::Command,
) -> Result<Exit, CliError> {
    match action {
        SelfAction::Update => update(ui, env),
        SelfAction::Man(args) => man(ui, env, args, program),
    }
}

fn update(ui: &mut Ui, env: &Env) -> Result<Exit, CliError> {
    let Some(installation) = Installation::find(env) else {
        return Err(CliError::no("the system does not tell where this program lies")
            .hint("update it with the tool that installed it"));
    };
    let command = installation.update_command(env!("REPERTOIRE_BUILD_TARGET"));
    let (program, description) = (installation.program.display().to_string(), installation.description());
    if ui.is_json() {
        return Ok(ui.answer(&json!({ "program": program, "installed": description, "command": command }))?);
    }
    // The command alone is the answer, for a script that runs it.
    ui.message(Style::Faint, "note", &format!("{program} was {description}; this updates it:"))?;
    writeln!(ui.out(), "{command}")?;
    Ok(Exit::Success)
}

fn man(ui: &mut Ui, env: &Env, args: &ManArgs, program: clap::Command) -> Result<Exit, CliError> {
    let directory = env.working_directory().join(&args.directory);
    let failed = |error| CliError::io("write", &directory, error);
    fs::create_dir_all(&directory).map_err(failed)?;
    clap_mangen::generate_to(program, &directory).map_err(failed)?;
    if ui.is_json() {
        return Ok(ui.answer(&json!({ "path": directory.display().to_string() }))?);
    }
    ui.write_planned(None, &format!("wrote the manual to {}", directory.display()))?;
    Ok(Exit::Success)
}
