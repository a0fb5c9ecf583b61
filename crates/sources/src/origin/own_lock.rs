//! `repertoire.lock`, which `rep add` writes into a project and into the configuration of a user.

use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill};
use super::record::{Expectation, Origin, bounded};
use crate::lock::{self, LOCK_FILE, Lock};

/// The name of the file.
pub(super) const FILE: &str = LOCK_FILE;

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Toml;

/// The directory that skills are added to.
const SKILLS: &str = ".agents/skills";

/// Returns the skills that `document`, the file at `path`, names, which lie below `base`, or the reason that it is not a lock.
pub(super) fn skills(path: &Path, base: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    Ok(Lock::from_document(document)?.skills().map(|locked| skill(path, base, locked)).collect())
}

fn skill(path: &Path, base: &Path, locked: &lock::LockedSkill) -> LockedSkill {
    let mut origin = Origin::new(Installer::Rep, path.to_owned(), locked.name.as_str());
    origin.source = Some(bounded(&locked.source));
    origin.path = Some(bounded(&locked.path));
    origin.reference = locked.reference.as_deref().map(bounded);
    let resolved = locked.resolved.as_deref().map(bounded);
    let is_commit = |resolved: &String| {
        matches!(resolved.len(), 40 | 64) && resolved.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    origin.commit = resolved.clone().filter(is_commit);
    origin.version = resolved.filter(|resolved| !is_commit(resolved));
    let digests = locked.files.iter().map(|(path, digest)| (path.to_string(), digest.to_string()));
    origin.expectation = Expectation::VisibleFiles { files: digests.collect(), bundle: locked.digest };
    LockedSkill { place: LockedPlace::At(base.join(SKILLS).join(locked.name.as_str())), origin }
}
