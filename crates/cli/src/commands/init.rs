//! `rep init`.

use std::fs;
use std::io::Write as _;

use clap::Args;
use repertoire::config::{FILE_NAME, TEMPLATE};
use serde_json::json;

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;

/// Writes a commented repertoire.toml
///
/// The file has the keys that people change most, commented out. It is written to the working directory.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(ui: &mut Ui, env: &Env, args: &InitArgs) -> Result<Exit, CliError> {
    let path = env.working_directory().join(FILE_NAME);
    let mut options = fs::OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = options.open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::no(format!("{} is already there", path.display())).hint("`--force` overwrites it")
        }
        _ => CliError::io("write", &path, error),
    })?;
    file.write_all(TEMPLATE.as_bytes()).map_err(|error| CliError::io("write", &path, error))?;
    if ui.is_json() {
        ui.write_json(&json!({ "path": path.display().to_string() }))?;
    } else {
        ui.write_planned(None, &format!("wrote {}", path.display()))?;
    }
    Ok(Exit::Success)
}
