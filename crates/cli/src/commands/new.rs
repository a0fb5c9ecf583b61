//! `rep new`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use repertoire_model::SkillName;
use repertoire_model::name::{Grammar, grammar_faults};
use serde_json::json;

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape};
use repertoire::config::ConfigInput;

/// The place for skills that every client reads.
const DEFAULT_PLACE: &str = ".agents/skills";

/// Makes a new skill
///
/// Writes a directory with a SKILL.md and one reference file, which pass `rep check --profile strict` as they are.
/// They go to the nearest .agents/skills of the project, or to a new one in the working directory.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The name: a-z, 0-9 and single hyphens, at most 64 characters
    name: String,
    /// Make the skill in this directory
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: &Env, args: &NewArgs) -> Result<Exit, CliError> {
    let name = standard_name(&args.name)?;
    let place = args.dir.as_ref().map_or_else(|| default_place(env), |dir| env.working_directory().join(dir));
    let directory = place.join(name.as_str());
    fs::create_dir_all(&place).map_err(|error| CliError::io("make", &place, error))?;
    fs::create_dir(&directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::no(format!("{} is already there", directory.display()))
            .hint("choose another name, or remove it first"),
        _ => CliError::io("make", &directory, error),
    })?;
    write(&directory.join("SKILL.md"), &manifest(&name))?;
    write(&directory.join("references").join("details.md"), &reference(&name))?;
    if ui.is_json() {
        ui.write_json(&json!({ "name": name.as_str(), "path": directory.display().to_string() }))?;
        return Ok(Exit::Success);
    }
    let shown = directory.display().to_string();
    writeln!(ui.out(), "made {}", escape(&shown))?;
    ui.hint(&format!("write its description and instructions, then run `rep check {shown}`"))?;
    Ok(Exit::Success)
}

fn standard_name(given: &str) -> Result<SkillName, CliError> {
    let faults = grammar_faults(given, Grammar::AgentSkills);
    if let (Some(name), []) = (SkillName::new(given), faults.as_slice()) {
        return Ok(name);
    }
    let reason = faults.first().map_or_else(|| "is empty".to_owned(), ToString::to_string);
    let error = CliError::usage(format!("`{given}` is no name for a skill: it {reason}"));
    Err(match suggestion(given) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error,
    })
}

/// Returns the name of the open standard's grammar that is nearest to `given`.
fn suggestion(given: &str) -> Option<SkillName> {
    let plain: String = given.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
    SkillName::slug(&plain)
}

/// Returns the directory of new skills.
pub(crate) fn default_place(env: &Env) -> PathBuf {
    let mut input = ConfigInput::new(env.working_directory());
    input.home = env.home();
    let mut above = input.project_directories().into_iter().map(|directory| directory.join(DEFAULT_PLACE));
    above.find(|place| place.is_dir()).unwrap_or_else(|| env.working_directory().join(DEFAULT_PLACE))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let outcome = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    outcome.map_err(|error| CliError::io("write", path, error))
}

fn title(name: &SkillName) -> String {
    let words = name.as_str().split('-').map(|word| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + chars.as_str())
    });
    words.collect::<Vec<_>>().join(" ")
}

fn manifest(name: &SkillName) -> String {
    let title = title(name);
    format!(
        r#"---
name: {name}
description: "Helps with {name}. Use when the user asks about {name}, or when a task needs it."
---

# {title}

Replace the description above first: it is all an agent sees before it decides to read on. Say what the skill is
for and when to use it, in the words a user would use.

## When to use

- Replace this with the situations in which these instructions help.
- Say when not to use it, where that is easily confused.

## Instructions

1. Write steps that an agent can follow without asking.
2. Show what a good result looks like.
3. Keep this file short. Longer material goes to a file of its own, read only when it is needed: see
   [the details](references/details.md).
"#
    )
}

fn reference(name: &SkillName) -> String {
    let title = title(name);
    format!(
        "# Details of {title}\n\nReplace this with what is needed only now and then: tables, examples, edge cases. \
         Link every file\nfrom SKILL.md and say there when to read it.\n"
    )
}

#[cfg(test)]
mod tests {
    use repertoire_model::{Document, Policy, Profile, Source};

    use super::*;

    #[test]
    fn a_new_skill_is_clean_under_the_strictest_rules() {
        let name = SkillName::new("release-notes").unwrap();
        let text = manifest(&name);
        let source =
            Source { bytes: text.as_bytes(), directory: Some("release-notes"), file_name: "SKILL.md" };
        let strict = Policy::of(Profile::Strict);
        assert_eq!(Document::parse(source, &strict).diagnostics, []);
        assert_eq!(Document::parse(source, &strict.for_publishing()).diagnostics, []);
    }

    #[test]
    fn names_outside_the_standard_get_a_suggestion() {
        assert_eq!(suggestion("My Skill_2!").unwrap().as_str(), "my-skill-2");
        assert!(
            standard_name("Bad").is_err() && standard_name("").is_err() && standard_name("good-1").is_ok()
        );
    }
}
