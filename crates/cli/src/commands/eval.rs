//! `rep eval`.

mod report;
pub(super) mod triggers;

use clap::{Args, Subcommand};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Measures how well skills work
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct EvalArgs {
    /// The measurement.
    #[command(subcommand)]
    measure: Measure,
}

/// A measurement.
#[derive(Debug, Subcommand)]
enum Measure {
    /// Measures whether queries find the skill that is meant for them
    ///
    /// Reads the trigger evals beside skills: eval_queries.json, a list of {"query", "should_trigger"}, and
    /// the JSON files in evals/, whose prompts should all find the skill unless they say otherwise. Each
    /// query is asked of the library as search_skills would ask it. One that should trigger is a hit when its
    /// skill comes first, and shown when it is among the first K; one that should not is a false trigger when
    /// the skill comes first.
    ///
    /// Exits with 1 when a rate over all queries is worse than asked for, when there is no query to measure
    /// it with, or when a rate was asked for and not all evals were understood.
    Triggers(triggers::TriggersArgs),
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &EvalArgs) -> Result<Exit, CliError> {
    match &args.measure {
        Measure::Triggers(args) => triggers::run(ui, workspace, args),
    }
}
