//! `rep completions`.

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::env::{self, Env};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;

/// Prints the script that completes commands and skill names in a shell
///
/// In bash: `source <(rep completions bash)` in ~/.bashrc. In zsh: the same in ~/.zshrc. In fish:
/// `rep completions fish | source` in ~/.config/fish/config.fish. Print it again after an upgrade.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(ui: &mut Ui, env: &Env, args: &CompletionsArgs) -> Result<Exit, CliError> {
    let program = env::arguments().first().map(|program| program.to_string_lossy().into_owned());
    // A bare name is looked up again by the shell; a path is made to work from anywhere.
    let program = match program {
        Some(program) if program.contains(std::path::MAIN_SEPARATOR) => {
            env.working_directory().join(program).to_string_lossy().into_owned()
        }
        _ => "rep".to_owned(),
    };
    if let Some(completer) = Shells::builtins().completer(&args.shell.to_string()) {
        completer.write_registration(env::COMPLETE, "rep", "rep", &program, ui.out())?;
    }
    Ok(Exit::Success)
}
