//! `rep remove`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use repertoire::Entry;
use repertoire::change::{ChangeSteps, read_installed};
use repertoire_clients::link::{LinkKind, links_to};
use repertoire_clients::{Owner, Places};
use repertoire_model::SkillName;
use repertoire_model::text::count;
use repertoire_sources::{Change, Installation, Lock, LockedSkill, SkillChange};
use serde_json::{Value, json};

use crate::change_guard::{ChangeGuard, guarded};
use crate::complete::skill_names;
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::place_args::PlaceArgs;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Workspace;

/// Removes skills that `rep add` added
///
/// The directory of the skill, the links of clients that lead to it and its entry in repertoire.lock go
/// together. A skill that was changed since it was added stays, unless --force is given.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The skills, or the sources whose skills are removed
    #[arg(value_name = "NAME|SOURCE", required = true, add = skill_names())]
    names: Vec<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Remove skills that were changed, too
    #[arg(long)]
    force: bool,
    /// Remove without asking
    #[arg(long, short)]
    yes: bool,
}

/// A skill to remove.
struct Removal {
    change: SkillChange,
    directory: PathBuf,
    links: Vec<PathBuf>,
    /// The reason that it would be a loss.
    loss: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &RemoveArgs) -> Result<Exit, CliError> {
    guarded(ui, |ui, guard| remove(ui, workspace, args, guard))
}

fn remove(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &RemoveArgs,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let installation = workspace.installation(args.place.owner(&workspace.env))?;
    let lock = Lock::read(&installation.lock)?;
    let mut names: BTreeSet<SkillName> = BTreeSet::new();
    for word in &args.names {
        names.extend(named(workspace, &installation, &lock, word, args)?);
    }
    let places = workspace.env.places();
    let removals: Vec<Removal> = names
        .iter()
        .filter_map(|name| lock.get(name.as_str()))
        .map(|locked| removal(&installation, &places, args.place.owner(&workspace.env), locked))
        .collect::<Result<_, _>>()?;
    let loss = removals.iter().find_map(|removal| Some((&removal.change.name, removal.loss.as_ref()?)));
    if let Some((name, loss)) = loss.filter(|_| !args.force) {
        return Err(CliError::no(format!("`{name}` {loss}"))
            .hint("nothing was removed; `--force` removes it all the same"));
    }
    for removal in &removals {
        for path in [&removal.directory].into_iter().chain(&removal.links) {
            let shown = workspace.shown(&path.display().to_string());
            ui.write_planned(Some(Style::Removed), &format!("- {shown}"))?;
        }
    }
    let consent = ui.consent(&format!("remove {}?", count(removals.len(), "skill")), args.yes)?;
    if consent != Consent::Given {
        return Err(not_written(consent, format!("{} would be removed", count(removals.len(), "skill"))));
    }
    guard.begin();
    let links: Vec<PathBuf> = removals.iter().flat_map(|removal| removal.links.clone()).collect();
    let removed: Vec<String> = removals.iter().map(|removal| removal.change.name.to_string()).collect();
    let skills = removals.into_iter().map(|removal| removal.change).collect();
    let lock = workspace.begin(&installation)?;
    let others = workspace
        .added_links(args.place.owner(&workspace.env), LinkKind::Link, std::iter::empty(), &links)?
        .change;
    let change = Change { skills, others: ChangeSteps { command: "rep remove", ..others } };
    ui.warn_all(&workspace.apply(&lock, &installation, &change)?)?;
    let (left, links): (Vec<PathBuf>, Vec<PathBuf>) = links.into_iter().partition(|link| link.is_symlink());
    for link in &left {
        ui.warn(&format!("the link {} could not be removed; remove it by hand", link.display()))?;
    }
    let exit = if left.is_empty() { Exit::Success } else { Exit::No };
    if ui.is_json() {
        let links: Vec<Value> = links.iter().map(|link| link.display().to_string().into()).collect();
        ui.write_json(&json!({"removed": removed, "links": links}))?;
        return Ok(exit);
    }
    ui.write_planned(Some(Style::Good), &format!("removed {}", removed.join(", ")))?;
    Ok(exit)
}

/// Returns the skills that `word` names: one, or all of a source.
fn named(
    workspace: &Workspace,
    installation: &Installation,
    lock: &Lock,
    word: &str,
    args: &RemoveArgs,
) -> Result<Vec<SkillName>, CliError> {
    if let Some(skill) = lock.get(word) {
        return Ok(vec![skill.name.clone()]);
    }
    if let Ok(parsed) = workspace.source(word, workspace.env.working_directory()) {
        let is_meant = |skill: &&LockedSkill| {
            skill.is_from(&parsed.source, &installation.base)
                && parsed.skill.as_ref().is_none_or(|name| skill.name.as_str() == name)
        };
        let found: Vec<SkillName> = lock.skills().filter(is_meant).map(|skill| skill.name.clone()).collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let owner = args.place.owner(&workspace.env);
    let other = Owner::user_if(owner == Owner::Project);
    let is_other = workspace
        .installation(other)
        .is_ok_and(|installation| Lock::read(&installation.lock).is_ok_and(|lock| lock.get(word).is_some()));
    let error = CliError::no(format!("no skill or source `{word}` was added"));
    if is_other {
        let option = workspace.env.places().option(other);
        return Err(
            error.hint(format!("it is one of the {}: run `rep remove{option} {word}`", other.as_str()))
        );
    }
    let library = workspace.inspect(workspace.settings.policy.clone());
    let is_meant = |entry: &&Entry| entry.name().as_str() == word || entry.qualified_name() == word;
    let found = library.snapshot.entries().iter().filter(is_meant);
    let found: Vec<String> = found.map(|entry| workspace.shown(entry.directory())).collect();
    Err(match found.is_empty() {
        true => {
            let unknown = library.find_any(word).err();
            let hints = unknown.iter().flat_map(CliError::hints).cloned();
            hints.fold(error, CliError::hint)
        }
        false => error.hint(format!(
            "`rep add` did not install it: delete {}, or use the program that installed it",
            found.join(" or ")
        )),
    })
}

fn removal(
    installation: &Installation,
    places: &Places,
    owner: Owner,
    locked: &LockedSkill,
) -> Result<Removal, CliError> {
    let directory = installation.directory(&locked.name);
    let installed = read_installed(&directory)?;
    let loss = installed.as_ref().and_then(|installed| {
        if LockedSkill::digests(&installed.files) != locked.files {
            return Some("was changed since it was added".to_owned());
        }
        let other = installed.others.first()?;
        if other.is_empty() {
            return Some("is not a directory any more".to_owned());
        }
        Some(format!("has other files, such as {other}, which would go with it"))
    });
    let (before, others) = installed.map(|installed| (installed.files, installed.others)).unzip();
    let change = SkillChange {
        name: locked.name.clone(),
        before,
        after: None,
        others: others.unwrap_or_default(),
        locked_before: Some(locked.clone()),
        locked: None,
    };
    let links = links_to(places, owner, &directory);
    Ok(Removal { change, directory, links, loss })
}
