//! `rep proposal new`.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use pollster::block_on;
use repertoire::proposal::{MAX_DIFF_BYTES, ProposalRefusal, ProposalText};
use repertoire_app::view::ProposalView;
use repertoire_model::SkillName;
use repertoire_model::patch::{FileData, SkillFiles};

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Proposes a change of a skill, or a new skill, for review
///
/// The change is a unified diff over text files of the skill, from a file or from standard input. It is
/// applied in memory and must leave the skill valid; nothing is written before `rep proposal approve`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The skill, as NAME or as SOURCE:NAME; with --new, the name of the new skill
    #[arg(add = skill_names())]
    name: String,
    /// The file with the diff; standard input without it, or with -
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

pub(super) fn run(ui: &mut Ui, workspace: &Workspace, args: &NewArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let proposer = workspace.proposer()?;
    let mut text = ProposalText::new(workspace.person(), &args.why, SystemTime::now());
    text.evidence.clone_from(&args.evidence);
    let outcome = match &args.new {
        Some(directory) => {
            let name = SkillName::new(&args.name)
                .ok_or_else(|| CliError::usage(format!("`{}` is not a name of a skill", args.name)))?;
            let files = files_of(workspace, directory)?;
            block_on(proposer.propose_skill(&library.registry, &name, files, text))
        }
        None => {
            let entry = library.find(&args.name)?;
            let diff = match args.diff.as_deref().filter(|path| *path != Path::new("-")) {
                Some(path) => fs::File::open(workspace.env.working_directory().join(path))
                    .and_then(read_diff)
                    .map_err(|error| CliError::no(format!("{}: {error}", path.display())))?,
                None => read_diff(std::io::stdin().lock()).map_err(|error| {
                    CliError::usage("cannot read the diff from standard input").because(error)
                })?,
            };
            block_on(proposer.propose_update(&library.registry, entry, &diff, text))
        }
    };
    let proposal = outcome.map_err(refusal_error)?;
    if ui.is_json() {
        ui.write_json(&ProposalView::new(&proposal))?;
    } else {
        writeln!(ui.out(), "proposal {}", proposal.id)?;
        ui.hint(&format!(
            "`rep proposal show {}` shows it, `rep proposal approve {0}` applies it",
            proposal.id
        ))?;
    }
    // Notifications are waited for after this.
    ui.flush()?;
    Ok(Exit::Success)
}

/// Returns the diff that `source` holds, which is refused later if it is too long.
fn read_diff(source: impl io::Read) -> io::Result<String> {
    let mut diff = String::new();
    source.take(MAX_DIFF_BYTES as u64 * 2).read_to_string(&mut diff)?;
    Ok(diff)
}

fn refusal_error(refusal: ProposalRefusal) -> CliError {
    let hint = match &refusal {
        ProposalRefusal::Off => Some("`proposals.mode` of your user configuration turns them on"),
        ProposalRefusal::Locked(_) => Some("`proposals.locked` of your user configuration names it"),
        ProposalRefusal::TooMany(_) => {
            Some("`rep proposal list --all` lists the proposals that wait for a decision")
        }
        _ => None,
    };
    let error = match refusal {
        ProposalRefusal::Failed(error) => error.into(),
        refusal => CliError::no(refusal.to_string()),
    };
    hint.into_iter().fold(error, CliError::hint)
}

/// Returns the files of the skill in `directory`, as a provider lists them.
fn files_of(workspace: &Workspace, directory: &Path) -> Result<SkillFiles, CliError> {
    let directory = workspace.env.working_directory().join(directory);
    let registry = workspace.inspect_deeply(&directory, workspace.settings.policy.clone());
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
