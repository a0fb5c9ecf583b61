//! `rep publish --to dir`.

use std::path::Path;

use repertoire_model::text::count;
use serde_json::{Value, json};

use super::args::PublishArgs;
use super::skill_copies::{PublishedFiles, SkillCopy, copies, show};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};

/// Copies `skills` into `directory`, each into a directory of its name.
pub(super) fn write(
    ui: &mut Ui,
    args: &PublishArgs,
    directory: &Path,
    skills: &[PublishedFiles<'_>],
) -> Result<Exit, CliError> {
    let copies = copies(directory, skills)?;
    show(ui, &copies)?;
    let new: Vec<&SkillCopy<'_>> = copies.iter().filter(|copy| copy.is_new()).collect();
    let path = directory.display().to_string();
    let shown = ui.shown(&path);
    let consent = match new.len() {
        0 => Consent::Given,
        _ if args.dry_run => Consent::Refused,
        number => ui.consent(&format!("write {} to {shown}?", count(number, "skill")), args.yes)?,
    };
    if consent == Consent::Given {
        new.iter().try_for_each(|copy| copy.write())?;
    }
    let number = count(new.len(), "skill");
    if ui.is_json() {
        let skills: Vec<Value> = copies.iter().map(SkillCopy::described).collect();
        let is_written = consent == Consent::Given;
        ui.write_json(&json!({"directory": path, "written": is_written, "skills": skills}))?;
    } else if new.is_empty() {
        writeln!(ui.out(), "{shown} has these skills already")?;
    } else if consent == Consent::Given {
        ui.line(Style::Good, &format!("wrote {number} to {shown}"))?;
    }
    if consent != Consent::Given && !args.dry_run {
        return Err(not_written(consent, format!("{number} would be written")));
    }
    Ok(Exit::Success)
}
