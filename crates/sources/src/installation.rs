//! The places of the skills of a project or a user.

use std::path::PathBuf;

use repertoire::change::ChangePlace;
use repertoire_model::{Digest, SkillName};

/// The places of the skills of a project or a user.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The root of the project, or the home directory. Relative sources count from here.
    pub base: PathBuf,
    /// The directory of the skills.
    pub skills: PathBuf,
    /// The lock.
    pub lock: PathBuf,
    /// The `skills-lock.json`, which is kept in step if it exists; a user has no such file.
    pub skills_lock: Option<PathBuf>,
    /// The directory for the journal of changes.
    pub state: PathBuf,
    /// The directory for copies of skills with conflicts.
    pub conflicts: PathBuf,
}

impl Installation {
    /// Returns where changes of the skills are made.
    pub fn change_place(&self) -> ChangePlace {
        let base = self.base.canonicalize().unwrap_or_else(|_| self.base.clone());
        // A home directory may be a project, too.
        let name = format!("{}\0{}", base.display(), self.lock.display());
        let journal = self.state.join(&Digest::of(name.as_bytes()).to_hex()[..32]);
        ChangePlace { base: self.base.clone(), skills: self.skills.clone(), journal }
    }

    /// Returns the directory of the skill `name`, which a lock or a source was checked to be able to have.
    pub fn directory(&self, name: &SkillName) -> PathBuf {
        self.skills.join(name.as_str())
    }
}
