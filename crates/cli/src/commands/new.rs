//! `rep new`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use repertoire::{Entry, State};
use repertoire_app::workspace::new_skill_place;
use repertoire_clients::{CANONICAL, Owner};
use repertoire_model::SkillName;
use repertoire_model::name::{Grammar, grammar_faults};
use serde_json::json;

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::place_args::PlaceArgs;
use crate::ui::Ui;
use crate::wire::{Workspace, load};

/// Makes a new skill
///
/// Writes a directory with a SKILL.md and one reference file, which pass `rep check --profile strict` as they
/// are. They go to the nearest .agents/skills of the project, or to a new one in the working directory; for
/// the user, to ~/.agents/skills.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The name: a-z, 0-9 and single hyphens, at most 64 characters
    name: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// Make the skill in this directory
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["user", "project"])]
    dir: Option<PathBuf>,
    /// The sections that SKILL.md starts with
    #[arg(long, value_enum, default_value_t = Template::Short)]
    template: Template,
}

/// A template of a new skill.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Template {
    /// When to use it, and instructions
    Short,
    /// Overview, When to Use, Available Operations, Instructions, Resources, Examples and Notes
    Sections,
}

pub(crate) fn run(ui: &mut Ui, env: Env, globals: &Globals, args: &NewArgs) -> Result<Exit, CliError> {
    let name = standard_name(&args.name)?;
    let places = env.places();
    let place = match (&args.dir, args.place.owner(&env)) {
        (Some(dir), _) => env.working_directory().join(dir),
        (None, Owner::Project) => new_skill_place(&env),
        (None, Owner::User) => places
            .base(Owner::User)
            .ok_or_else(|| {
                CliError::usage("there is no home directory to make a skill in")
                    .hint("set HOME, or use `--project`")
            })?
            .join(CANONICAL),
    };
    let directory = place.join(name.as_str());
    fs::create_dir_all(&place).map_err(|error| CliError::io("make", &place, error))?;
    fs::create_dir(&directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::no(format!("{} is already there", directory.display()))
            .hint("choose another name, or remove it first"),
        _ => CliError::io("make", &directory, error),
    })?;
    let written = write(&directory.join("SKILL.md"), &manifest(&name, args.template))
        .and_then(|()| write(&directory.join("references").join("details.md"), &reference(&name)));
    if written.is_err() {
        // Half a skill would be in the way of the next attempt.
        let _ = fs::remove_dir_all(&directory);
    }
    written?;
    if ui.is_json() {
        ui.write_json(&json!({ "name": name.as_str(), "path": directory.display().to_string() }))?;
    } else {
        let shown = directory.display().to_string();
        ui.write_planned(None, &format!("made {shown}"))?;
        ui.hint(&format!("write its description and instructions, then run `rep check {shown}`"))?;
    }
    // A skill can be made under a configuration that is broken.
    if let Ok(workspace) = load(ui, env, globals) {
        warn_about_hidden(ui, &workspace, &name, &directory)?;
    }
    Ok(Exit::Success)
}

/// Warns if agents see either the skill `name` in `directory` or another of its name.
fn warn_about_hidden(
    ui: &mut Ui,
    workspace: &Workspace,
    name: &SkillName,
    directory: &Path,
) -> Result<(), CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let is_own = |entry: &&Entry| Path::new(&*entry.path) == directory;
    let own = library.snapshot.entries().iter().find(is_own);
    if let (Some(own), Some(other)) = (own, library.namesakes(name, directory).next()) {
        let verb = if own.state == State::Active { "hides" } else { "is hidden by" };
        let path = workspace.shown(&other.path);
        ui.warn(&format!("it {verb} the other `{name}`, in {path}: agents see one skill of a name"))?;
        ui.hint(&format!("run `rep explain {name}` to see why"))?;
    }
    Ok(())
}

fn standard_name(given: &str) -> Result<SkillName, CliError> {
    let faults = grammar_faults(given, Grammar::AgentSkills);
    if let (Some(name), []) = (SkillName::new(given), faults.as_slice()) {
        return Ok(name);
    }
    let reason = faults.first().map_or_else(|| "is empty".to_owned(), ToString::to_string);
    let error = CliError::usage(format!("`{given}` is not a valid name of a skill: it {reason}"));
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

fn manifest(name: &SkillName, template: Template) -> String {
    let title = title(name);
    let body = match template {
        Template::Short => SHORT,
        Template::Sections => SECTIONS,
    };
    format!(
        "---\nname: {name}\n\
         description: \"Helps with {name}. Use when the user asks about {name}, or when a task needs it.\"\n\
         ---\n\n# {title}\n\n{body}"
    )
}

/// The body of a short skill, below its title.
const SHORT: &str = "\
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
";

/// The body of a skill with all sections, below its title.
const SECTIONS: &str = "\
Replace this with a brief overview of what the skill does, and the description above first: it is all an agent sees
before it decides to read on.

## When to Use

- Replace this with the situations in which these instructions help, and say when they do not.

## Available Operations

- Replace this with what the agent can do with the skill, one operation a line.

## Instructions

1. Write steps that an agent can follow without asking.
2. Show what a good result looks like.

## Resources

- [The details](references/details.md), read only when they are needed.

## Examples

Replace this with a request and the result that it should have.

## Notes

Replace this with limits, edge cases and common mistakes.
";

fn reference(name: &SkillName) -> String {
    let title = title(name);
    format!(
        "# Details of {title}\n\nReplace this with what is needed only now and then: tables, examples, edge cases. \
         Link every file\nfrom SKILL.md and say there when to read it.\n"
    )
}

#[cfg(test)]
mod tests {
    use repertoire_model::{Document, ManifestSource, Policy, Profile, RuleId, Severity};

    use super::*;

    #[test]
    fn a_new_skill_is_clean_under_the_strictest_rules() {
        let name = SkillName::new("release-notes").unwrap();
        for template in [Template::Short, Template::Sections] {
            let text = manifest(&name, template);
            let source = ManifestSource {
                bytes: text.as_bytes(),
                directory: Some("release-notes"),
                file_name: "SKILL.md",
            };
            let strict = Policy::of(Profile::Strict);
            assert_eq!(Document::parse(source, &strict).diagnostics, []);
            assert_eq!(Document::parse(source, &strict.for_publishing()).diagnostics, []);
        }
    }

    #[test]
    fn p7_the_template_has_every_section_that_the_rule_wants() {
        let text = manifest(&SkillName::new("release-notes").unwrap(), Template::Sections);
        let source = ManifestSource {
            bytes: text.as_bytes(),
            directory: Some("release-notes"),
            file_name: "SKILL.md",
        };
        let mut policy = Policy::default();
        policy.rule_severities.insert(RuleId::BodySections, Some(Severity::Error));
        assert_eq!(Document::parse(source, &policy).diagnostics, []);
    }

    #[test]
    fn names_outside_the_standard_get_a_suggestion() {
        assert_eq!(suggestion("My Skill_2!").unwrap().as_str(), "my-skill-2");
        assert!(
            standard_name("Bad").is_err() && standard_name("").is_err() && standard_name("good-1").is_ok()
        );
    }
}
