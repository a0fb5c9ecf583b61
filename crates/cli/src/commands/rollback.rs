//! `rep rollback`.

use std::time::SystemTime;

use clap::Args;
use pollster::block_on;
use repertoire::history::{capture, identity};
use repertoire::proposal::review::{ReviewFault, Reviewer};
use repertoire::store::skill_files;
use repertoire_model::patch;
use serde_json::json;

use super::proposals::{recovered_library, review_error};
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::json;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Context;

/// Restores an earlier version of a skill
///
/// The files are replaced all at once, and the restored state is a new version. Edits that no version holds are not replaced, unless
/// --force is given; then they are recorded as a version first.
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
    /// The version to restore; `rep history` lists them
    #[arg(value_name = "VERSION")]
    number: u64,
    /// Also replace edits that no version holds
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &RollbackArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let library = recovered_library(ui, context, &*store)?;
    let entry = library.find_any(&args.name)?;
    let (skill, name) = (identity(entry), entry.name().as_str());
    let versions = store.versions(&skill)?;
    let Some(wanted) = versions.iter().find(|version| version.number == args.number) else {
        return Err(review_error(ReviewFault::NoVersion(name.to_owned(), args.number)));
    };
    let (files, _) = block_on(capture(&library.registry, entry))?;
    let diff = patch::diff(&files, &skill_files(&*store, &wanted.digest)?);
    if !ui.is_json() {
        for line in diff.lines() {
            ui.write_planned(Style::of_diff_line(line), line)?;
        }
    }
    match ui.consent(&format!("Restore version {} of {name}?", args.number), args.yes)? {
        Consent::Given => {}
        Consent::Refused => return Err(CliError::no("nothing was restored")),
        Consent::Unasked => {
            return Err(CliError::no("nothing was restored: there is no terminal to ask on")
                .hint("pass --yes to restore it"));
        }
    }
    let author = context.person();
    let (registry, new_skills) = (&library.registry, None);
    let reviewer = Reviewer { store: &*store, registry, new_skills, name: &author, time: SystemTime::now() };
    let version = reviewer.rollback(entry, args.number, args.force).map_err(review_error)?;
    if ui.is_json() {
        ui.write_json(&json!({"name": name, "restored": args.number, "version": json::version(&version)}))?;
    } else {
        writeln!(
            ui.out(),
            "{name} is as in version {} again; this is version {}",
            args.number,
            version.number
        )?;
    }
    Ok(Exit::Success)
}
