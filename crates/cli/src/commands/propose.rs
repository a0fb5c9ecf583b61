//! `rep propose`.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use pollster::block_on;
use repertoire::proposal::{ProposalText, Refusal};
use repertoire_model::SkillName;
use repertoire_model::patch::{FileData, SkillFiles};

use super::proposals;
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::standard_input;
use crate::ui::Ui;
use crate::wire::Context;

/// Proposes a change of a skill, or a new skill, for review
///
/// The change is a unified diff over text files of the skill, from a file or from standard input. It is applied in memory and must leave
/// the skill valid; nothing is written before `rep proposals approve`.
#[derive(Debug, Args)]
pub(crate) struct ProposeArgs {
    /// The skill, as NAME or as SOURCE:NAME; with --new, the name of the new skill
    #[arg(add = skill_names())]
    name: String,
    /// The file with the diff; standard input without it
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    diff: Option<PathBuf>,
    /// Propose a new skill: the directory that holds it
    #[arg(long, value_name = "DIR")]
    new: Option<PathBuf>,
    /// Why the change is needed
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Errors, test failures or feedback that show it
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ProposeArgs) -> Result<Exit, CliError> {
    let library = context.inspect(context.settings.policy.clone());
    let proposer = context.proposer()?;
    let text = ProposalText {
        justification: args.why.clone(),
        evidence: args.evidence.clone(),
        author: context.person(),
        session: None,
        time: SystemTime::now(),
        replaces: None,
    };
    let outcome = match &args.new {
        Some(directory) => {
            let name = SkillName::new(&args.name)
                .ok_or_else(|| CliError::usage(format!("`{}` is no name of a skill", args.name)))?;
            let files = files_of(context, directory)?;
            block_on(proposer.propose_skill(&library.registry, &name, files, text))
        }
        None => {
            let entry = library.find(&args.name)?;
            let diff = match &args.diff {
                Some(path) => fs::read_to_string(path)
                    .map_err(|error| CliError::no(format!("{}: {error}", path.display())))?,
                None => standard_input::read_text("diff")?,
            };
            block_on(proposer.propose_update(&library.registry, entry, &diff, text))
        }
    };
    let proposal = outcome.map_err(refusal_error)?;
    if ui.is_json() {
        ui.write_json(&proposals::json(&proposal))?;
    } else {
        writeln!(ui.out(), "proposal {}", proposal.id)?;
        ui.hint(&format!(
            "`rep proposals show {}` shows it, `rep proposals approve {0}` applies it",
            proposal.id
        ))?;
    }
    Ok(Exit::Success)
}

fn refusal_error(refusal: Refusal) -> CliError {
    match refusal {
        Refusal::Failed(error) => error.into(),
        refusal => CliError::no(refusal.to_string()),
    }
}

/// Returns the files of the skill in `directory`, as a provider lists them.
fn files_of(context: &Context, directory: &std::path::Path) -> Result<SkillFiles, CliError> {
    let directory = context.env.working_directory().join(directory);
    let registry = context.inspect_deeply(&directory, context.settings.policy.clone());
    let snapshot = registry.snapshot();
    let resolved = fs::canonicalize(&directory)
        .map_err(|error| CliError::no(format!("{}: {error}", directory.display())))?;
    let resolved = resolved.display().to_string();
    let entry = snapshot.entries().iter().find(|entry| entry.directory() == resolved);
    let entry = entry.ok_or_else(|| CliError::no(format!("{resolved} holds no skill")))?;
    let mut files = SkillFiles::new();
    for file in block_on(registry.files(entry))?.files {
        let content = block_on(registry.read(entry, &file.path, Default::default()))?;
        files.insert(file.path, FileData { executable: file.executable, bytes: content.bytes });
    }
    Ok(files)
}
