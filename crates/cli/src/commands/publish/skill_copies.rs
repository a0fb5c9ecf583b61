//! Copies of the published skills in a directory: compared with what is there, shown, and written.

use std::path::PathBuf;

use repertoire::change::read_installed;
use repertoire::history::write_skill;
use repertoire_model::SkillPath;
use repertoire_model::patch::SkillFiles;
use repertoire_model::text::count;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::ui::{Style, Ui};

/// The files of a skill that is published.
pub(super) struct PublishedFiles<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    /// The version in its frontmatter.
    pub(super) version: Option<&'a str>,
    pub(super) files: &'a SkillFiles,
}

pub(super) struct SkillCopy<'a> {
    pub(super) name: &'a str,
    directory: PathBuf,
    before: Option<SkillFiles>,
    after: &'a SkillFiles,
}

impl SkillCopy<'_> {
    /// Returns `true` if the copy is not there, or other than the skill.
    pub(super) fn is_new(&self) -> bool {
        self.before.as_ref() != Some(self.after)
    }

    /// Writes the copy, all of it or nothing. Hidden files that are there stay.
    pub(super) fn write(&self) -> Result<(), CliError> {
        let none = SkillFiles::new();
        write_skill(&self.directory, self.before.as_ref().unwrap_or(&none), self.after)?;
        Ok(())
    }

    /// Returns the copy for programs.
    pub(super) fn described(&self) -> Value {
        let change = match &self.before {
            None => "added",
            Some(_) if self.is_new() => "changed",
            Some(_) => "unchanged",
        };
        json!({"name": self.name, "change": change})
    }
}

/// Returns the copies of `skills` in `directory`, compared with what is there.
pub(super) fn copies<'a>(
    directory: &std::path::Path,
    skills: &[PublishedFiles<'a>],
) -> Result<Vec<SkillCopy<'a>>, CliError> {
    let copy = |skill: &PublishedFiles<'a>| {
        let name = skill.name;
        if SkillPath::new(name).is_err() || name.contains('/') {
            return Err(CliError::no(format!("`{name}` cannot be the name of a directory everywhere")));
        }
        let directory = directory.join(name);
        let found = read_installed(&directory)?;
        if found.as_ref().is_some_and(|found| found.others.iter().any(String::is_empty)) {
            return Err(CliError::no(format!("{} is not a directory", directory.display()))
                .hint("nothing was written; move it away"));
        }
        let before = found.map(|found| found.files);
        Ok(SkillCopy { name, directory, before, after: skill.files })
    };
    skills.iter().map(copy).collect()
}

/// Shows how `copies` differ from what is there.
pub(super) fn show(ui: &mut Ui, copies: &[SkillCopy<'_>]) -> Result<(), CliError> {
    for copy in copies.iter().filter(|copy| copy.is_new()) {
        match &copy.before {
            None => {
                let files = count(copy.after.len(), "file");
                ui.write_planned(Some(Style::Added), &format!("+ {}, {files}", copy.name))?;
            }
            Some(before) => {
                ui.write_planned(Some(Style::Heading), &format!("~ {}", copy.name))?;
                ui.write_skill_diff(before, copy.after)?;
            }
        }
    }
    Ok(ui.flush()?)
}
