//! `rep explain`.

mod absence;
mod decisions;
mod surroundings;

pub(crate) use absence::first_of;
use clap::Args;
use repertoire::{Entry, Lookup, Registry};
use repertoire_app::view::DiagnosticView;
use serde::Serialize;
use surroundings::{ClientJson, Surroundings};

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui, escape, wrap_indented};
use crate::wire::{ComparedOrigin, Context, Library, OriginJson};

/// The columns of the topics of decisions.
const TOPIC_WIDTH: usize = 12;

/// Explains every decision about a skill, or why it is missing
///
/// Shows where it was found and where else it is reachable, what had to be repaired, how its name and description
/// were chosen, what the rules found, which skill won a collision of names, how the catalog shows it, who installed it
/// from where and whether it was changed since, and which clients on this machine get it.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
}

#[derive(Serialize)]
struct ExplainJson<'a> {
    name: &'a str,
    found: bool,
    skills: Vec<ExplainedJson>,
    #[serde(flatten)]
    absence: Option<absence::Absence>,
}

#[derive(Serialize)]
struct ExplainedJson {
    name: String,
    source: String,
    path: String,
    state: &'static str,
    decisions: Vec<decisions::Decision>,
    origins: Vec<OriginJson>,
    clients: Vec<ClientJson>,
    diagnostics: Vec<DiagnosticView>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ExplainArgs) -> Result<Exit, CliError> {
    let library = context.inspect_served(context.settings.policy.clone());
    let entries = meant(&library, &args.name);
    if entries.is_empty() {
        return explain_absence(ui, context, &library, &args.name);
    }
    let refusal = pollster::block_on(library.registry.accepted()).err();
    let surroundings = Surroundings::of(context, &library);
    let mut skills = Vec::new();
    for entry in entries {
        let found = pollster::block_on(library.registry.check(entry));
        let mut decisions = decisions::of(context, &library, entry, &found, refusal.as_ref())?;
        decisions.extend(surroundings.decisions(context, &library, entry));
        skills.push(ExplainedJson {
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
    if ui.is_json() {
        ui.write_json(&ExplainJson { name: &args.name, found: true, skills, absence: None })?;
        return Ok(Exit::Success);
    }
    for (index, skill) in skills.iter().enumerate() {
        if index > 0 {
            writeln!(ui.out())?;
        }
        let name = ui.paint(Style::Name, &skill.name);
        writeln!(ui.out(), "{name} from {} is {}", escape(&skill.source), skill.state)?;
        for decision in &skill.decisions {
            let topic = ui.paint(Style::Faint, &format!("{:>TOPIC_WIDTH$}", decision.topic));
            let text = wrap_indented(&escape(&decision.text), ui.width(), TOPIC_WIDTH + 2);
            writeln!(ui.out(), "{topic}  {text}")?;
        }
    }
    Ok(Exit::Success)
}

/// Returns the decisions about the skill of `registry` called `name`, each with its topic.
pub(crate) fn decisions(
    context: &Context,
    registry: &Registry,
    name: &str,
) -> Result<Vec<(&'static str, String)>, CliError> {
    let library = context.library_of(registry);
    let Some(entry) = meant(&library, name).into_iter().next() else {
        return Err(CliError::no(format!("there is no skill `{name}`")));
    };
    let refusal = pollster::block_on(library.registry.accepted()).err();
    let found = pollster::block_on(library.registry.check(entry));
    let mut decisions = decisions::of(context, &library, entry, &found, refusal.as_ref())?;
    // Installers and clients of this machine have to do with skills in directories alone.
    if entry.identity.is_some() {
        decisions.extend(Surroundings::of(context, &library).decisions(context, &library, entry));
    }
    Ok(decisions.into_iter().map(|decision| (decision.topic, decision.text)).collect())
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

fn explain_absence(ui: &mut Ui, context: &Context, library: &Library, name: &str) -> Result<Exit, CliError> {
    let absence = absence::Absence::of(context, library, name);
    if ui.is_json() {
        ui.write_json(&ExplainJson { name, found: false, skills: Vec::new(), absence: Some(absence) })?;
        return library.find(name).map(|_| Exit::Success);
    }
    absence.write(ui, context, name)?;
    Ok(Exit::No)
}
