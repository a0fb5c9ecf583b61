//! Puts the layers on top of each other: the project's file, the user's file, the environment, flags.
//!
//! A project's file comes with a clone, so the user's own has the last word over it.

use std::path::{Path, PathBuf};

use repertoire::discovery::repository_root;
use repertoire_model::Profile;
use repertoire_model::ledger::Reload;
use repertoire_model::text::nearest;

use super::clash::clash;
use super::file::{Standing, faulty, find_files};
use super::keys::{KEYS, Kind, Value};
use super::parse::{Assignment, parse, parse_word};
use super::path::ConfiguredPath;
use super::settings::Settings;
use super::trust::Trust;
use crate::env::{self, Env};
use crate::error::CliError;
use crate::globals::Globals;
use crate::regular_file;

/// The largest configuration file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Returns the settings that all layers come to.
pub(crate) fn load(env: &Env, globals: &Globals, is_coloured: bool) -> Result<Settings, CliError> {
    let (files, _) = find_files(env, globals);
    let (mut project, mut user) = (Vec::new(), Vec::new());
    for (standing, path) in &files {
        let said = read(env, *standing, path, is_coloured)?;
        match standing {
            Standing::Project => project.extend(said),
            Standing::User | Standing::Named => user.extend(said),
        }
    }
    // A project comes with a clone, so the user's word is later; but among directories the project's own come first.
    let is_list = |assignment: &Assignment| matches!(assignment.key.kind, Kind::Paths);
    let (lists, mut assignments): (Vec<_>, Vec<_>) = project.into_iter().partition(is_list);
    // Behind these stands what the user says.
    let of_project = assignments.len();
    assignments.extend(user);
    assignments.extend(lists);
    assignments.extend(environment(env)?);
    if let Some(word) = &globals.profile {
        assignments
            .extend(given("profile", word).map_err(|expected| bad_word("--profile", word, &expected))?);
    }
    let settings = settle(&assignments, of_project);
    match clash(&settings.session) {
        None => Ok(settings),
        Some(clash) => Err(clash),
    }
}

/// Returns what the file at `path` says.
fn read(env: &Env, standing: Standing, path: &Path, is_coloured: bool) -> Result<Vec<Assignment>, CliError> {
    let bytes = regular_file::read(path, MAX_FILE_BYTES).map_err(|error| {
        CliError::usage(format!("cannot read the configuration file {}", path.display())).because(error)
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|error| CliError::usage(format!("{} is not UTF-8", path.display())).because(error))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let trust = match standing {
        Standing::Named | Standing::User => Trust::Whole,
        Standing::Project => {
            let repository = repository_root(env.working_directory(), env.home().as_deref());
            Trust::Within(repository.unwrap_or_else(|| directory.to_owned()))
        }
    };
    let (mut assignments, faults) = parse(&text, directory, &trust);
    if matches!(trust, Trust::Whole) {
        assignments.iter_mut().for_each(|assignment| expand_home(env, assignment));
    }
    if faults.is_empty() { Ok(assignments) } else { Err(faulty(path, &text, &faults, is_coloured)) }
}

/// Takes a `~` at the start of a directory for the user's home, as a shell would.
fn expand_home(env: &Env, assignment: &mut Assignment) {
    let Some(home) = env.home() else { return };
    let roots: Vec<&mut ConfiguredPath> = match &mut assignment.value {
        Value::Paths(roots) => roots.iter_mut().collect(),
        Value::Agent(agent) => agent.prompt.iter_mut().collect(),
        _ => return,
    };
    for root in roots {
        if let Ok(rest) = root.given.strip_prefix("~") {
            root.path = home.join(rest);
        }
    }
}

/// Returns what the environment says.
fn environment(env: &Env) -> Result<Vec<Assignment>, CliError> {
    let mut assignments = Vec::new();
    for key in KEYS {
        let variable = env::variable_of(key.name);
        let Some(value) = env.get(&variable) else { continue };
        if matches!(key.kind, Kind::Paths) {
            let root = |given: PathBuf| ConfiguredPath { path: env.working_directory().join(&given), given };
            let roots = env.paths(&variable).into_iter().map(root).collect();
            assignments.push(Assignment { key, value: Value::Paths(roots) });
            continue;
        }
        let word = value.to_str().unwrap_or_default();
        let value = parse_word(key, word)
            .map_err(|expected| bad_word(&variable, &value.to_string_lossy(), &expected))?;
        assignments.push(Assignment { key, value });
    }
    Ok(assignments)
}

/// Returns the variables with Repertoire's prefix that mean nothing, with the one that was probably meant.
pub(crate) fn unknown_variables(env: &Env) -> Vec<(String, Option<String>)> {
    let mut known: Vec<String> = KEYS.iter().map(|key| env::variable_of(key.name)).collect();
    known.extend(env::VARIABLES.iter().map(|(name, _)| (*name).to_owned()));
    env.own()
        .filter(|name| !known.iter().any(|known| known == name))
        .map(|name| (name.to_owned(), nearest(name, known.iter().map(String::as_str)).map(str::to_owned)))
        .collect()
}

fn given(name: &str, word: &str) -> Result<Option<Assignment>, String> {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else { return Ok(None) };
    Ok(Some(Assignment { key, value: parse_word(key, word)? }))
}

fn bad_word(origin: &str, word: &str, expected: &str) -> CliError {
    CliError::usage(format!("bad value `{word}` for {origin}"))
        .hint(format!("it takes {}", expected.replace('`', "")))
}

/// Returns the settings that `assignments` come to, later ones winning, on top of the profile they choose; the first
/// `of_project` of them are a project's word.
fn settle(assignments: &[Assignment], of_project: usize) -> Settings {
    let is_profile = |assignment: &Assignment| assignment.key.name == "profile";
    let position = assignments.iter().rposition(is_profile);
    let chosen = position.and_then(|position| match &assignments[position].value {
        Value::Word(word) => Profile::ALL.into_iter().find(|profile| profile.as_str() == word),
        _ => None,
    });
    let mut settings = Settings::of(chosen.unwrap_or(Profile::Standard));
    if position.is_some_and(|position| position < of_project) {
        // What a project may not say by a key it may not say by a profile either.
        settings.session.reload = Reload::default();
    }
    for Assignment { key, value } in assignments {
        (key.set)(&mut settings, value);
    }
    settings.policy.profile = chosen.unwrap_or(Profile::Standard);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_only_the_project_chose_does_not_weaken_a_session() {
        let check = |text: &str, of_project: usize, expect: Reload| {
            let (assignments, faults) = parse(text, Path::new(""), &Trust::Whole);
            assert_eq!(faults, []);
            let settings = settle(&assignments, of_project);
            assert_eq!((settings.policy.profile, settings.session.reload), (Profile::Harness, expect));
        };
        check("profile = \"harness\"", 0, Reload::ShortAck);
        check("profile = \"harness\"", 1, Reload::Auto);
        check("profile = \"harness\"\nload.reload = \"short_ack\"", 1, Reload::ShortAck);
    }
}
