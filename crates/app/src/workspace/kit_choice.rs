//! The kits that are in use: chosen for this shell by a variable, or for the project by `rep kit use`.
//!
//! The choice for a project is kept in the state directory of the user, not in the project's
//! `repertoire.toml`: it changes with the work of one person, and would otherwise be committed for all.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use repertoire::config::KitChoice;
use repertoire::record::{Record, RecordKind, RecordPlace};

use super::environment::{self as env, Env};
use crate::error::{Error, is_denied};

/// The kits that are in use in each project.
type KitRecord = Record<BTreeMap<PathBuf, Vec<String>>>;

/// Returns the kits that are in use: those of the shell, or else those of the project.
pub fn chosen(env: &Env) -> Result<Option<KitChoice>, Error> {
    if let Some(value) = env.get(env::KITS) {
        return Ok(Some(KitChoice { names: names(&value.to_string_lossy()), origin: env::KITS.to_owned() }));
    }
    let names = of_project(env)?;
    Ok((!names.is_empty()).then(|| KitChoice { names, origin: "`rep kit use`".to_owned() }))
}

/// Returns the kits chosen for the project; none if the choice may not be read, of which `main` warns.
fn of_project(env: &Env) -> Result<Vec<String>, Error> {
    let Some(place) = place(env) else { return Ok(Vec::new()) };
    match KitRecord::read(&place) {
        Err(error) if is_denied(&error) => Ok(Vec::new()),
        record => Ok(record?.entries.remove(&project(env)).unwrap_or_default()),
    }
}

/// Makes `names` the kits that are in use in the project; none is in use without names.
pub fn choose(env: &Env, names: &[String]) -> Result<(), Error> {
    let place = place(env)
        .ok_or_else(|| Error::usage("no state directory").hint("set REPERTOIRE_STATE_DIR, or HOME"))?;
    Ok(KitRecord::change(&place, |projects| {
        projects.remove(&project(env));
        // Projects that were removed need no choice.
        projects.retain(|project, _| project.is_dir());
        if !names.is_empty() {
            projects.insert(project(env), names.to_vec());
        }
    })?)
}

/// Returns the directory that a choice is made for: the root of the repository, else the working directory.
pub fn project(env: &Env) -> PathBuf {
    let project = env.places().project().to_owned();
    fs::canonicalize(&project).unwrap_or(project)
}

/// Returns the names in the value of the variable, which have commas between them.
fn names(value: &str) -> Vec<String> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn place(env: &Env) -> Option<RecordPlace> {
    let state = env.working_directory().join(env.state_directory()?);
    Some(RecordPlace::of_user(RecordKind::Kits, &state))
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
