//! All origins that are recorded around a library.

use std::path::PathBuf;

use repertoire_model::{Manifest, SkillName};

use super::installer::Installer;
use super::lock_file::{self, LockedPlace, LockedSkill};
use super::lock_formats::LOCKS;
use super::record::Origin;
use super::skill_records;

/// A directory that installers put lock files in, with the directories of skills that these are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginBase {
    /// The directory: that of a project, or the home.
    pub directory: PathBuf,
    /// The directories of skills.
    pub skill_directories: Vec<PathBuf>,
    /// The further directories in which `npx skills` and others keep their records, as `.agents` of the home.
    pub record_directories: Vec<PathBuf>,
}

impl OriginBase {
    /// Returns the place of `locked` for each of the directories of skills.
    fn places<'a>(&'a self, locked: &'a LockedPlace) -> Vec<PathBuf> {
        match locked {
            LockedPlace::At(directory) | LockedPlace::Below(directory) => vec![directory.clone()],
            LockedPlace::Named(name) => {
                let directory = directory_name(name);
                self.skill_directories.iter().map(|skills| skills.join(&directory)).collect()
            }
        }
    }
}

/// Returns the directory that a skill called `name` is installed in.
fn directory_name(name: &str) -> String {
    match SkillName::new(name) {
        Some(name) => name.to_string(),
        // A name with other characters is made a directory by the installer; as it is, it could lead out.
        None => SkillName::slug(name).map_or_else(|| "-".to_owned(), |slug| slug.to_string()),
    }
}

/// The records of installers around a library.
#[derive(Debug, Default)]
pub struct Origins {
    locked: Vec<(LockedSkill, Vec<PathBuf>)>,
    /// The lock files that cannot be understood, with the reasons.
    pub faults: Vec<(PathBuf, String)>,
}

impl Origins {
    /// Reads the lock files of `bases`.
    pub fn read(bases: &[OriginBase]) -> Self {
        let mut origins = Self::default();
        for base in bases {
            for directory in std::iter::once(&base.directory).chain(&base.record_directories) {
                for (file, format, reader) in LOCKS {
                    let path = directory.join(file);
                    let Some(document) = lock_file::read(&path, format) else { continue };
                    match document.and_then(|document| reader(&path, &base.directory, &document)) {
                        Err(fault) => origins.faults.push((path, fault)),
                        Ok(skills) => origins.locked.extend(
                            skills.into_iter().map(|locked| (locked.clone(), base.places(&locked.place))),
                        ),
                    }
                }
            }
        }
        origins
    }

    /// Returns the origins of the skill `name` that is reached by `directories`, the real one first.
    pub fn of(&self, directories: &[PathBuf], name: &str, manifest: &Manifest) -> Vec<Origin> {
        let mut found: Vec<Origin> = Vec::new();
        for (locked, places) in &self.locked {
            let is_about = |directory: &PathBuf| match &locked.place {
                LockedPlace::Below(above) => directory.starts_with(above),
                LockedPlace::Named(_) | LockedPlace::At(_) => places.contains(directory),
            };
            if directories.iter().any(is_about) && !found.contains(&locked.origin) {
                found.push(locked.origin.clone());
            }
        }
        if let Some(directory) = directories.first() {
            found.extend(skill_records::origins(directory, name, manifest));
        }
        // The user's lock lies in another directory than the records of other installers.
        found.sort_by_key(|origin| origin.installer != Installer::Rep);
        found
    }

    /// Returns the records of skills that are not there any more.
    pub fn missing(&self) -> Vec<&Origin> {
        let is_gone = |places: &[PathBuf]| {
            !places.iter().any(|place| matches!(place.join("SKILL.md").try_exists(), Ok(true)))
        };
        let is_skill = |locked: &LockedSkill| !matches!(locked.place, LockedPlace::Below(_));
        let skills = self.locked.iter().filter(|(locked, _)| is_skill(locked));
        skills.filter(|(_, places)| is_gone(places)).map(|(locked, _)| &locked.origin).collect()
    }
}
