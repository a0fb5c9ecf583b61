//! Shows the plan, asks, and gathers the skills.

use std::path::Path;

use repertoire::change::ChangeSteps;
use repertoire_app::workspace::ChangeSite;
use repertoire_clients::adopt::{AdoptPlan, GatheredSkill, original};
use repertoire_clients::paths;
use repertoire_model::text::count;
use serde::Serialize;
use serde_json::json;

use super::args::AdoptArgs;
use crate::change_guard::ChangeGuard;
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Workspace;

/// A skill in the report.
#[derive(Serialize)]
struct SkillJson {
    name: String,
    place: String,
    moved: Option<String>,
    links: Vec<String>,
    /// `planned` or `gathered`.
    state: &'static str,
}

/// Shows `plan`, and carries it out if that is wanted.
pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &AdoptArgs,
    base: &Path,
    plan: &AdoptPlan,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    for skill in &plan.skills {
        let target = paths::shown(base, &skill.target);
        if let Some(moved) = &skill.moved {
            ui.write_planned(
                Some(Style::Added),
                &format!("> {} is moved to {target}", paths::shown(base, moved)),
            )?;
        }
        for path in &skill.links {
            let to = skill.link_text(base, path);
            ui.write_planned(
                Some(Style::Added),
                &format!("+ {} -> {}", paths::shown(base, path), to.display()),
            )?;
        }
        for path in &skill.aside {
            let (path, kept) = (paths::shown(base, path), paths::shown(base, &original(base, path)));
            ui.write_planned(Some(Style::Removed), &format!("- {path} is kept as {kept}"))?;
        }
    }
    ui.flush()?;
    let consent = match plan.skills.len() {
        0 => Consent::Given,
        _ if args.dry_run => Consent::Refused,
        number => ui.consent(&format!("gather {}?", count(number, "skill")), args.yes)?,
    };
    let mut number = 0;
    if consent == Consent::Given && !plan.skills.is_empty() {
        guard.begin();
        let owner = args.place.owner(&workspace.env);
        let site = ChangeSite::of(&workspace.env, owner)?;
        let lock = site.begin()?;
        let steps = plan.steps(&workspace.env.places(), owner, base)?;
        let about = plan.skills.iter().map(|skill| skill.name.clone()).collect();
        let change = ChangeSteps { command: "rep adopt", about, steps, ..ChangeSteps::default() };
        ui.warn_all(&site.apply(&lock, &change)?)?;
        number = plan.skills.len();
    }
    report(ui, base, plan, number)?;
    if consent != Consent::Given && !args.dry_run {
        return Err(not_written(consent, format!("{} would be gathered", count(plan.skills.len(), "skill"))));
    }
    Ok(if plan.refused.is_empty() { Exit::Success } else { Exit::No })
}

fn report(ui: &mut Ui, base: &Path, plan: &AdoptPlan, gathered: usize) -> Result<(), CliError> {
    if ui.is_json() {
        let skill = |(index, skill): (usize, &GatheredSkill)| SkillJson {
            name: skill.name.clone(),
            place: paths::shown(base, &skill.target),
            moved: skill.moved.as_ref().map(|path| paths::shown(base, path)),
            links: skill.links.iter().map(|path| paths::shown(base, path)).collect(),
            state: if index < gathered { "gathered" } else { "planned" },
        };
        let refused = plan.refused.iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
        ui.write_json(&json!({
            "base": base.display().to_string(),
            "skills": plan.skills.iter().enumerate().map(skill).collect::<Vec<_>>(),
            "left_alone": refused.collect::<Vec<_>>(),
        }))?;
        return Ok(());
    }
    if gathered > 0 {
        ui.line(Style::Good, &format!("{} gathered", count(gathered, "skill")))?;
    } else if plan.skills.is_empty() && plan.refused.is_empty() {
        writeln!(ui.out(), "every skill is in one place already")?;
    }
    for (name, reason) in &plan.refused {
        ui.message(Style::Warning, "left alone:", &format!("{name}: {reason}"))?;
    }
    if plan.is_undecided {
        ui.hint(
            "`--from DIR` chooses the copy that counts, and `rep list --duplicates --diff` compares them",
        )?;
    }
    Ok(())
}
