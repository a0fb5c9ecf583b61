//! Explains every decision about a skill, or why it is missing.

mod absence;
mod decisions;
mod surroundings;

use repertoire::{Entry, Lookup, Registry};

use self::surroundings::Surroundings;
use crate::error::Error;
use crate::view::{AbsenceView, DiagnosticView, ExplainedSkillView, ExplanationView, OriginView};
use crate::workspace::{Library, Workspace};

pub use absence::first_of;

/// Returns the explanation of the skills that `name` may mean: all of that name, or the one of that source.
pub fn explain(workspace: &Workspace, library: &Library, name: &str) -> Result<ExplanationView, Error> {
    let entries = meant(library, name);
    let (found, mut skills) = (!entries.is_empty(), Vec::new());
    let absence = (!found).then(|| AbsenceView::of(workspace, library, name));
    if found {
        let refusal = pollster::block_on(library.registry.accepted()).err();
        let surroundings = Surroundings::of(workspace, library);
        for entry in entries {
            let mut skill = explained(workspace, library, entry, refusal.as_ref())?;
            add_surroundings(&mut skill, &surroundings, workspace, library, entry);
            skills.push(skill);
        }
    }
    Ok(ExplanationView { name: name.to_owned(), found, skills, absence })
}

/// Returns the explanation of the skill of `registry`, which is open, called `name`.
pub fn explain_one(
    workspace: &Workspace,
    registry: &Registry,
    name: &str,
) -> Result<ExplainedSkillView, Error> {
    let library = workspace.library_of(registry);
    let Some(entry) = meant(&library, name).into_iter().next() else {
        return Err(Error::no(format!("there is no skill `{name}`")));
    };
    let refusal = pollster::block_on(library.registry.accepted()).err();
    let mut skill = explained(workspace, &library, entry, refusal.as_ref())?;
    // Installers and clients of this machine have to do with skills in directories alone.
    if entry.identity.is_some() {
        let surroundings = Surroundings::of(workspace, &library);
        add_surroundings(&mut skill, &surroundings, workspace, &library, entry);
    }
    Ok(skill)
}

/// Returns the decisions about `entry` and its findings; `refusal` is why the policy refuses the library.
fn explained(
    workspace: &Workspace,
    library: &Library,
    entry: &Entry,
    refusal: Option<&repertoire::Error>,
) -> Result<ExplainedSkillView, Error> {
    let found = pollster::block_on(library.registry.check(entry));
    let mut skill = ExplainedSkillView::new(entry);
    skill.decisions = decisions::of(workspace, library, entry, &found, refusal)?;
    skill.diagnostics = found.iter().map(|found| DiagnosticView::of_skill(entry, found)).collect();
    Ok(skill)
}

/// Adds the installers and the clients around `entry` to `skill`.
fn add_surroundings(
    skill: &mut ExplainedSkillView,
    surroundings: &Surroundings,
    workspace: &Workspace,
    library: &Library,
    entry: &Entry,
) {
    skill.decisions.extend(surroundings.decisions(workspace, library, entry));
    skill.origins = surroundings.origins(entry).iter().map(OriginView::new).collect();
    skill.clients = surroundings.clients(entry);
}

/// Returns the skills that `name` may mean: all of that name, or the one of that source.
fn meant<'a>(library: &'a Library, name: &str) -> Vec<&'a Entry> {
    let entries = library.snapshot.entries();
    let alike: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.name().as_str() == name || entry.qualified_name() == name)
        .collect();
    if !alike.is_empty() {
        return alike;
    }
    match library.snapshot.find(name) {
        Lookup::Found(entry) | Lookup::Disabled(entry) | Lookup::Quarantined(entry) => vec![entry],
        Lookup::Unknown(_) => Vec::new(),
    }
}
