//! `rep publish --to dir`.

use std::path::Path;

use repertoire_model::text::count;
use serde_json::{Value, json};

use super::args::PublishArgs;
use super::skill_copies::{PublishedFiles, SkillCopy, copies, show};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui, escape};

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
    let shown = directory.display().to_string();
    let consent = match new.len() {
        0 => Consent::Given,
        _ if args.dry_run => Consent::Refused,
        number => {
            ui.consent(&format!("write {} to {}?", count(number, "skill"), escape(&shown)), args.yes)?
        }
    };
    if consent == Consent::Given {
        new.iter().try_for_each(|copy| copy.write())?;
    }
    let number = count(new.len(), "skill");
    if ui.is_json() {
        let skills: Vec<Value> = copies.iter().map(SkillCopy::described).collect();
        let is_written = consent == Consent::Given;
        ui.write_json(&json!({"directory": shown, "written": is_written, "skills": skills}))?;
    } else if new.is_empty() {
        writeln!(ui.out(), "{} has these skills already", escape(&shown))?;
    } else if consent == Consent::Given {
        ui.line(Style::Good, &format!("wrote {number} to {}", escape(&shown)))?;
    }
    if consent != Consent::Given && !args.dry_run {
        let what = format!("{number} would be written");
        return Err(not_written(consent, &what, "`--yes` writes them without asking"));
    }
    Ok(Exit::Success)
}
