//! `rep explain`.

use clap::Args;
use repertoire_app::explain::{explain, first_of};
use repertoire_app::view::{AbsenceView, ExplainedSkillView, NearMissReason as Reason};
use repertoire_model::text::count;

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui, escape, wrap_indented};
use crate::wire::Workspace;

/// The columns of the topics of decisions.
const TOPIC_WIDTH: usize = 12;

/// The words before the places that are not there.
const NOT_THERE: &str = "  not there: ";

/// Explains every decision about a skill, or why it is missing
///
/// Shows where it was found and where else it is reachable, what had to be repaired, how its name and
/// description were chosen, what the rules found, which skill won a collision of names, how the catalog shows
/// it, who installed it from where and whether it was changed since, and which clients on this machine get
/// it.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &ExplainArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect_served(workspace.settings.policy.clone());
    let explanation = explain(workspace, &library, &args.name)?;
    if ui.is_json() {
        ui.write_json(&explanation)?;
        return if explanation.found {
            Ok(Exit::Success)
        } else {
            library.find(&args.name).map(|_| Exit::Success)
        };
    }
    if let Some(absence) = &explanation.absence {
        write_absence(ui, workspace, absence, &args.name)?;
        return Ok(Exit::No);
    }
    for (index, skill) in explanation.skills.iter().enumerate() {
        if index > 0 {
            writeln!(ui.out())?;
        }
        write_skill(ui, skill)?;
    }
    Ok(Exit::Success)
}

fn write_skill(ui: &mut Ui, skill: &ExplainedSkillView) -> Result<(), CliError> {
    let name = ui.paint(Style::Name, &skill.name);
    writeln!(ui.out(), "{name} from {} is {}", escape(&skill.source), skill.state)?;
    for decision in &skill.decisions {
        let topic = ui.paint(Style::Faint, &format!("{:>TOPIC_WIDTH$}", decision.topic));
        let text = wrap_indented(&ui.shown(&decision.text), ui.width(), TOPIC_WIDTH + 2);
        writeln!(ui.out(), "{topic}  {text}")?;
    }
    Ok(())
}

/// Writes why there is no skill called `name`.
fn write_absence(
    ui: &mut Ui,
    workspace: &Workspace,
    absence: &AbsenceView,
    name: &str,
) -> Result<(), CliError> {
    ui.line(Style::Heading, &format!("there is no skill `{}`", escape(name)))?;
    if !absence.nearest.is_empty() {
        writeln!(ui.out(), "\nnear it: {}", absence.nearest.join(", "))?;
    }
    for miss in &absence.near_misses {
        let path = ui.shown(&workspace.shown(&miss.path));
        let files = escape(&miss.files.join(", ")).into_owned();
        let words = match miss.reason {
            Reason::NoManifest if files.is_empty() => "there but has no SKILL.md",
            Reason::NoManifest => &format!("there but has no SKILL.md, only {files}"),
            Reason::Group => &format!("a group of skills: {files}"),
            Reason::Skipped => {
                "there, but skills are not looked for in hidden directories, node_modules and target"
            }
            Reason::Inside => {
                "there, but inside another skill\n  set `scan.nested`, or add its parent to `roots`"
            }
            Reason::DisabledPlugin => &format!("there, but its plugin {files} is not enabled in its client"),
            Reason::RejectedPlugin => &format!("there, but its plugin is rejected: {files}"),
            Reason::TooDeep => {
                "there, but deeper than skills are looked for\n  raise `scan.max_depth`, or add its parent to `roots`"
            }
        };
        writeln!(ui.out(), "\n{path} is {words}")?;
    }
    writeln!(ui.out(), "\nlooked at:")?;
    for place in absence.places.iter().filter(|place| place.exists) {
        let path = ui.shown(&workspace.shown(&place.path));
        let skills = ui.paint(Style::Faint, &count(place.skills, "skill"));
        writeln!(ui.out(), "  {path}  {skills}")?;
    }
    let missing = absence.places.iter().filter(|place| !place.exists);
    let missing: Vec<String> = missing.map(|place| workspace.shown(&place.path)).collect();
    if !missing.is_empty() {
        let missing = wrap_indented(
            &ui.shown(&first_of(&missing, 8, "directories of other clients")),
            ui.width(),
            NOT_THERE.len(),
        );
        let missing = ui.paint(Style::Faint, &missing);
        writeln!(ui.out(), "{NOT_THERE}{missing}")?;
    }
    if absence.places.is_empty() {
        writeln!(ui.out(), "  nothing: discovery is off and no roots are configured")?;
    }
    Ok(())
}
