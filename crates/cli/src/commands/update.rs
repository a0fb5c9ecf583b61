//! `rep update`.

mod conflicts;
mod plan;
mod report;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use repertoire::change::ChangeSteps;
use repertoire::discovery::repository_root;
use repertoire::store::keep_skill;
use repertoire_app::install::{checks, named};
use repertoire_clients::Owner;
use repertoire_clients::link::{LinkKind, links_to};
use repertoire_sources::{Change, Lock, LockedSkill, SkillChange, Source, source_of};
use serde_json::{Value, json};

use crate::change_guard::{ChangeGuard, guarded};
use crate::complete::skill_names;
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::place_args::PlaceArgs;
use crate::ui::{Consent, Ui, escape};
use crate::wire::Workspace;
use conflicts::UnmergedPolicy;
use plan::{Rename, Step, StepKind};
use repertoire_model::text::count;

/// Brings added skills up to date, and keeps local edits
///
/// Shows what changed in the source, then merges it, file by file, with what was edited here since. Where
/// both changed the same lines, the skill stays as it is, and a copy with markers is written to
/// .repertoire/conflicts; --resolved puts the copy in place once it is edited.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// The skills; all by default
    #[arg(value_name = "NAME", required_if_eq("resolved", "true"), add = skill_names())]
    names: Vec<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// A file with the token for the server of an index
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Only show what would change; the exit code is 1 if something would. Skills that the source renamed or
    /// removed stay and do not count
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Put in place the copies whose conflicts are resolved
    #[arg(long, conflicts_with = "dry_run")]
    resolved: bool,
    /// With --resolved: also accept files of the copy that could not be merged, have no conflict markers and
    /// were not edited
    #[arg(long, requires = "resolved")]
    force: bool,
    /// Take over the new names of skills that their source renamed
    #[arg(long, conflicts_with = "resolved")]
    rename: bool,
    /// Update without asking
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &UpdateArgs) -> Result<Exit, CliError> {
    guarded(ui, |ui, guard| {
        if args.resolved {
            put_resolved_in_place(ui, workspace, args, guard)
        } else {
            update(ui, workspace, args, guard)
        }
    })
}

/// Asks about directories outside the repository that the lock of the project names: its author chose them.
fn ask_about_directories(ui: &mut Ui, workspace: &Workspace, args: &UpdateArgs) -> Result<(), CliError> {
    let owner = args.place.owner(&workspace.env);
    let (installation, home) = (workspace.installation(owner)?, workspace.env.home());
    let root = repository_root(&installation.base, home.as_deref());
    let Some(root) = root.filter(|_| owner == Owner::Project) else { return Ok(()) };
    let lock = Lock::read(&installation.lock)?;
    let outside: BTreeSet<String> = named(&lock, &args.names)?
        .into_iter()
        .filter_map(|locked| match source_of(locked, &installation.base, home.as_deref()) {
            Ok(Source::Directory(directory)) => directory.canonicalize().ok(),
            _ => None,
        })
        .filter(|directory| !directory.starts_with(&root))
        .map(|directory| directory.display().to_string())
        .collect();
    let Some(first) = outside.first() else { return Ok(()) };
    let more = outside.len() - 1;
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let question = format!("the lock of this project names {}{more}, outside it; search it?", escape(first));
    match ui.consent(&question, args.yes)? {
        Consent::Refused => Err(CliError::no("nothing was searched")),
        Consent::Given | Consent::Unasked => Ok(()),
    }
}

fn update(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &UpdateArgs,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    ask_about_directories(ui, workspace, args)?;
    let (installation, checks) = checks(
        workspace,
        ui.git_prompt(),
        &args.names,
        args.place.owner(&workspace.env),
        args.token_file.as_deref(),
    )?;
    let rename = if args.rename { Rename::Follow } else { Rename::Report };
    let mut steps = plan::steps(ui, workspace, args.token_file.as_deref(), &installation, checks, rename)?;
    for step in &steps {
        report::print(ui, step)?;
    }
    let ready = steps.iter().filter(|step| matches!(step.kind, StepKind::Ready { .. })).count();
    let is_new_conflict = |step: &&Step| matches!(step.kind, StepKind::Conflicts { is_open: false, .. });
    let conflicting = steps.iter().filter(is_new_conflict).count();
    let consent = match ready + conflicting {
        0 => Consent::Given,
        _ if args.dry_run => Consent::Refused,
        _ => ui.consent(&format!("update {}?", count(ready + conflicting, "skill")), args.yes)?,
    };
    let is_done = consent == Consent::Given && !args.dry_run;
    let (mut links, mut notes) = (Vec::new(), Vec::new());
    if is_done {
        guard.begin();
        let changes: Vec<SkillChange> = steps.iter_mut().flat_map(Step::take_changes).collect();
        let places = workspace.env.places();
        let old = steps.iter().filter(|step| step.new_name().is_some()).map(|step| &step.check.locked.name);
        let old = old.flat_map(|name| {
            links_to(&places, args.place.owner(&workspace.env), &installation.directory(name))
        });
        let old_links: Vec<PathBuf> = old.collect();
        let lock = workspace.begin(&installation)?;
        let linked = steps.iter().map(|step| {
            let name = step.new_name().unwrap_or(&step.check.locked.name);
            let change = changes.iter().find(|change| change.name == *name);
            (name, change.and_then(|change| change.after.as_ref()))
        });
        let new =
            workspace.added_links(args.place.owner(&workspace.env), LinkKind::Link, linked, &old_links)?;
        links = new.links.into_iter().map(|link| link.path).collect();
        notes = new.notes;
        let change = Change { skills: changes, others: ChangeSteps { command: "rep update", ..new.change } };
        ui.warn_all(workspace.apply(&lock, &installation, &change)?.iter().chain(&notes))?;
        for step in &steps {
            if let StepKind::Conflicts { newest, copy, conflicts, before, is_open: false } = &step.kind {
                // The lock names them once the conflict is resolved.
                keep_skill(&*workspace.content_store().get()?, &newest.skill.files)?;
                if !conflicts::write(&installation, &newest.locked, before, copy, conflicts)? {
                    let copy = conflicts::directory(&installation, &newest.locked.name);
                    ui.warn(&format!("{} was edited meanwhile, and stays as it is", copy.display()))?;
                }
            }
        }
    }
    if ui.is_json() {
        let skills: Vec<Value> = steps.iter().map(|step| report::described(step, is_done)).collect();
        ui.write_json(&json!({ "skills": skills }))?;
    } else {
        report::summary(ui, workspace, &installation, &steps, is_done)?;
        if !links.is_empty() {
            writeln!(ui.out(), "linked for other clients: {}", escape(&links.join(", ")))?;
        }
    }
    if !is_done && !args.dry_run {
        let what = format!("{} would be updated", count(ready + conflicting, "skill"));
        return Err(not_written(consent, what));
    }
    let is_failure = steps.iter().any(Step::is_failure) || !notes.is_empty();
    let is_outdated = args.dry_run && steps.iter().any(Step::is_outdated);
    Ok(if is_failure || is_outdated { Exit::No } else { Exit::Success })
}

/// Puts the copies in place in which the conflicts are resolved.
fn put_resolved_in_place(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &UpdateArgs,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let installation = workspace.installation(args.place.owner(&workspace.env))?;
    let lock = Lock::read(&installation.lock)?;
    let skills = named(&lock, &args.names)?;
    let unmerged = if args.force { UnmergedPolicy::Accept } else { UnmergedPolicy::Refuse };
    let resolved = |skill: &&LockedSkill| {
        conflicts::resolved(&installation, skill, &workspace.settings.policy, unmerged)
    };
    let changes: Vec<SkillChange> = skills.iter().map(resolved).collect::<Result<_, _>>()?;
    for change in &changes {
        report::print_change(ui, change)?;
    }
    let consent = ui.consent(&format!("put {} in place?", count(changes.len(), "skill")), args.yes)?;
    if consent != Consent::Given {
        return Err(not_written(consent, format!("{} would be put in place", count(changes.len(), "skill"))));
    }
    guard.begin();
    // The copies may have been edited while the question was asked.
    for (skill, shown) in skills.iter().zip(&changes) {
        if resolved(skill)?.after != shown.after {
            let copy = conflicts::directory(&installation, &shown.name);
            return Err(CliError::no(format!("{} was changed meanwhile", copy.display()))
                .hint("nothing was put in place; run it again"));
        }
    }
    let names: Vec<String> = changes.iter().map(|change| change.name.to_string()).collect();
    let others = ChangeSteps { command: "rep update", ..ChangeSteps::default() };
    let (change, lock) = (Change { skills: changes, others }, workspace.begin(&installation)?);
    ui.warn_all(&workspace.apply(&lock, &installation, &change)?)?;
    for change in &change.skills {
        if !conflicts::discard(&installation, &change.name, |files| Some(files) == change.after.as_ref())? {
            let copy = conflicts::directory(&installation, &change.name);
            let shown = copy.display();
            ui.warn(&format!("{shown} stays, because it was edited meanwhile or has other files too"))?;
        }
    }
    if ui.is_json() {
        let skills = names.iter().map(|name| json!({"name": name, "state": "updated"}));
        ui.write_json(&json!({"skills": skills.collect::<Vec<_>>()}))?;
    } else {
        writeln!(ui.out(), "updated {}", escape(&names.join(", ")))?;
    }
    Ok(Exit::Success)
}
