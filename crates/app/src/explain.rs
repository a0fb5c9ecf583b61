//! Explains every decision about a skill, or why it is missing.

mod absence;
mod decisions;
mod surroundings;

use repertoire::{Entry, Lookup, Registry};
use serde::Serialize;

use crate::error::Error;
use crate::view::DiagnosticView;
use crate::workspace::{ComparedOrigin, Library, OriginJson, Workspace};

pub use absence::{Absence, NearMiss, Reason, SearchedPlace, first_of};
pub use decisions::Decision;
pub use surroundings::SeeingClient;
use surroundings::Surroundings;

/// The explanation of all skills that a name may mean.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The name.
    pub name: String,
    /// `true` if there is such a skill.
    pub found: bool,
    /// The skills.
    pub skills: Vec<ExplainedSkill>,
    /// The reasons that there is none.
    #[serde(flatten)]
    pub absence: Option<Absence>,
}

/// A skill with every decision about it.
#[derive(Debug, Serialize)]
pub struct ExplainedSkill {
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: String,
    /// Its path.
    pub path: String,
    /// Its state.
    pub state: &'static str,
    /// The decisions, in the order they were made.
    pub decisions: Vec<Decision>,
    /// The records of installers about it.
    pub origins: Vec<OriginJson>,
    /// The clients on this machine.
    pub clients: Vec<SeeingClient>,
    /// The findings of the rules.
    pub diagnostics: Vec<DiagnosticView>,
}

/// Returns the explanation of the skills of `library` that `name` may mean: all of that name, or the one of that source.
pub fn explain(workspace: &Workspace, library: &Library, name: &str) -> Result<Explanation, Error> {
    let entries = meant(library, name);
    let (found, mut skills) = (!entries.is_empty(), Vec::new());
    let absence = (!found).then(|| Absence::of(workspace, library, name));
    if found {
        let refusal = pollster::block_on(library.registry.accepted()).err();
        let surroundings = Surroundings::of(workspace, library);
        for entry in entries {
            let found = pollster::block_on(library.registry.check(entry));
            let mut decisions = decisions::of(workspace, library, entry, &found, refusal.as_ref())?;
            decisions.extend(surroundings.decisions(workspace, library, entry));
            skills.push(ExplainedSkill {
                name: entry.name().to_string(),
                source: entry.source.to_string(),
                path: entry.path.to_string(),
                state: entry.state.as_str(),
                decisions,
                origins: surroundings.origins(entry).iter().map(ComparedOrigin::json).collect(),
                clients: surroundings.clients(entry),
                diagnostics: found.iter().map(|found| DiagnosticView::of_skill(entry, found)).collect(),
            });
        }
    }
    Ok(Explanation { name: name.to_owned(), found, skills, absence })
}

/// Returns the decisions about the skill of `registry`, which is open, called `name`.
pub fn decisions(workspace: &Workspace, registry: &Registry, name: &str) -> Result<Vec<Decision>, Error> {
    let library = workspace.library_of(registry);
    let Some(entry) = meant(&library, name).into_iter().next() else {
        return Err(Error::no(format!("there is no skill `{name}`")));
    };
    let refusal = pollster::block_on(library.registry.accepted()).err();
    let found = pollster::block_on(library.registry.check(entry));
    let mut decisions = decisions::of(workspace, &library, entry, &found, refusal.as_ref())?;
    // Installers and clients of this machine have to do with skills in directories alone.
    if entry.identity.is_some() {
        decisions.extend(Surroundings::of(workspace, &library).decisions(workspace, &library, entry));
    }
    Ok(decisions)
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
