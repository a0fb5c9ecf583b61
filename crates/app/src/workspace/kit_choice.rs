//! The kits that are in use: chosen for this shell by a variable, or for the project by `rep kit use`.
//!
//! The choice for a project is kept in the state directory of the user, not in the project's `repertoire.toml`: it changes with
//! the work of one person, and would otherwise be committed for all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire::change::{FileKind, replace_file};
use repertoire::config::KitChoice;
use repertoire::regular_file;
use serde::{Deserialize, Serialize};

use super::environment::{self as env, Env};
use crate::error::Error;

/// The name of the file in the state directory.
pub const FILE_NAME: &str = "kits.json";

/// The version of the format.
const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The kits that are in use in each project.
#[derive(Serialize, Deserialize)]
struct ChoicesJson {
    version: u32,
    projects: BTreeMap<PathBuf, Vec<String>>,
}

/// Returns the kits that are in use: those of the shell, or else those of the project.
pub fn chosen(env: &Env) -> Result<Option<KitChoice>, Error> {
    if let Some(value) = env.get(env::KITS) {
        return Ok(Some(KitChoice { names: names(&value.to_string_lossy()), origin: env::KITS.to_owned() }));
    }
    let names = of_project(env)?;
    Ok((!names.is_empty()).then(|| KitChoice { names, origin: "`rep kit use`".to_owned() }))
}

/// Returns the kits that are chosen for the project; none if the choice may not be read, of which `main` warns.
fn of_project(env: &Env) -> Result<Vec<String>, Error> {
    let Some(file) = file(env) else { return Ok(Vec::new()) };
    match regular_file::read(&file, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Vec::new()),
        bytes => Ok(choices(&file, bytes)?.0.projects.remove(&project(env)).unwrap_or_default()),
    }
}

/// Makes `names` the kits that are in use in the project; none is in use without names.
pub fn choose(env: &Env, names: &[String]) -> Result<(), Error> {
    let file = file(env)
        .ok_or_else(|| Error::usage("no state directory").hint("set REPERTOIRE_STATE_DIR, or HOME"))?;
    let (mut choices, before) = choices(&file, regular_file::read(&file, MAX_BYTES))?;
    choices.projects.remove(&project(env));
    // Projects that were removed need no choice.
    choices.projects.retain(|project, _| project.is_dir());
    if !names.is_empty() {
        choices.projects.insert(project(env), names.to_vec());
    } else if before.is_none() {
        return Ok(());
    }
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).map_err(|error| Error::io("make", directory, error))?;
    }
    let mut after = serde_json::to_vec_pretty(&choices)?;
    after.push(b'\n');
    let kind = FileKind::User { before: before.as_deref() };
    Ok(replace_file(&file, kind, Some(&after))?)
}

/// Returns the directory that a choice is made for: the root of the repository, or else the working directory.
pub fn project(env: &Env) -> PathBuf {
    let project = env.places().project().to_owned();
    fs::canonicalize(&project).unwrap_or(project)
}

/// Returns the names in the value of the variable, which have commas between them.
fn names(value: &str) -> Vec<String> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn file(env: &Env) -> Option<PathBuf> {
    Some(env.working_directory().join(env.state_directory()?).join(FILE_NAME))
}

/// Returns the choices in `file`, from which `bytes` were read, and its bytes if it is there.
fn choices(file: &Path, bytes: io::Result<Vec<u8>>) -> Result<(ChoicesJson, Option<Vec<u8>>), Error> {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok((ChoicesJson { version: VERSION, projects: BTreeMap::new() }, None));
        }
        Err(error) => return Err(Error::io("read", file, error)),
    };
    let broken = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::no(format!("{} does not say which kits are in use", file.display()))
            .because(error)
            .hint("remove it; then no kit is in use in any project")
    };
    let choices: ChoicesJson = serde_json::from_slice(&bytes).map_err(|error| broken(error.into()))?;
    if choices.version != VERSION {
        return Err(broken(format!("version {} is not known", choices.version).into()));
    }
    Ok((choices, Some(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_commas_between_them() {
        assert_eq!(names("web, docs,,"), ["web", "docs"]);
        assert_eq!(names(" "), [""; 0]);
    }
}
