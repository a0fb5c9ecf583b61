//! `rep remove`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use repertoire::Entry;
use repertoire::change::{ChangeSteps, InstalledSkill, SkillStep, read_installed};
use repertoire::discovery::Tier;
use repertoire_app::origin::compared_origins;
use repertoire_clients::link::{LinkKind, links_to};
use repertoire_clients::{Owner, Places, paths};
use repertoire_model::SkillName;
use repertoire_model::text::count;
use repertoire_sources::{Change, Installation, Lock, LockedSkill, SkillChange};
use serde_json::{Value, json};

use crate::change_guard::{ChangeGuard, guarded};
use crate::complete::skill_names;
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::place_args::PlaceArgs;
use crate::ui::{Consent, Style, Ui, wrap_indented};
use crate::wire::{Library, Workspace, shell_word};

/// Removes skills
///
/// The directory of the skill, the links of clients that lead to it and its entry in repertoire.lock go
/// together. A skill that was changed since it was added stays, unless --force is given. Of a skill that
/// something else installed, the installer and the files are shown before you are asked. `rep undo` brings
/// everything back.
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

/// The most files of a skill that are shown.
const MAX_FILES_SHOWN: usize = 10;

/// A skill that `rep add` did not install.
struct ForeignSkill {
    name: SkillName,
    /// Its installers, in words.
    installers: String,
}

/// A skill to remove.
struct Removal {
    name: SkillName,
    directory: PathBuf,
    installed: Option<InstalledSkill>,
    /// Its entry in the lock; none of a skill that `rep add` did not install.
    locked: Option<LockedSkill>,
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
    let mut foreign: BTreeMap<PathBuf, ForeignSkill> = BTreeMap::new();
    for word in &args.names {
        names.extend(named(workspace, &installation, &lock, word, args, &mut foreign)?);
    }
    let places = workspace.env.places();
    let owner = args.place.owner(&workspace.env);
    let mut removals: Vec<Removal> = names
        .iter()
        .filter_map(|name| lock.get(name.as_str()))
        .map(|locked| {
            removal(&places, owner, (locked.name.clone(), installation.directory(&locked.name)), Some(locked))
        })
        .collect::<Result<_, _>>()?;
    for (directory, skill) in foreign {
        let removal = removal(&places, owner, (skill.name, directory), None)?;
        let files = removal.installed.iter().flat_map(|installed| installed.files.keys().map(AsRef::as_ref));
        let files: Vec<&str> = files.collect();
        let more = files.len().saturating_sub(MAX_FILES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = files[..files.len().min(MAX_FILES_SHOWN)].join(", ");
        ui.write_planned(None, &format!("{}: {}", removal.name, skill.installers))?;
        let files = wrap_indented(&format!("files: {shown}{more}"), ui.width(), "  ".len());
        files.lines().try_for_each(|line| ui.write_planned(None, &format!("  {line}")))?;
        removals.push(removal);
    }
    let loss = removals.iter().find_map(|removal| Some((&removal.name, removal.loss.as_ref()?)));
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
    let removed: Vec<String> = removals.iter().map(|removal| removal.name.to_string()).collect();
    let lock = workspace.begin(&installation)?;
    let others = workspace.added_links(owner, LinkKind::Link, std::iter::empty(), &links)?.change;
    let others = ChangeSteps { command: "rep remove", ..others };
    let mut change = Change { skills: Vec::new(), others };
    for Removal { name, directory, installed, locked, .. } in removals {
        let (before, others) = installed.map(|installed| (installed.files, installed.others)).unzip();
        let others = others.unwrap_or_default();
        if locked.is_some() {
            let locked_before = locked;
            let skill = SkillChange { name, before, after: None, others, locked_before, locked: None };
            change.skills.push(skill);
        } else {
            let before = before.map(Cow::Owned);
            change.others.about.push(name.to_string());
            change.others.skills.push(SkillStep { directory, before, after: None, others: others.into() });
        }
    }
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

/// Returns the added skills of `word`: one, or all of a source. Skills of other installers go to `foreign`.
fn named(
    workspace: &Workspace,
    installation: &Installation,
    lock: &Lock,
    word: &str,
    args: &RemoveArgs,
    foreign: &mut BTreeMap<PathBuf, ForeignSkill>,
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
    let found: Vec<&Entry> = library.snapshot.entries().iter().filter(is_meant).collect();
    let of = |owner: Owner| {
        let is_removable = |entry: &&&Entry| is_in_place(workspace, &library, owner, entry);
        found.iter().filter(is_removable).copied().collect::<Vec<&Entry>>()
    };
    let origins = workspace.origins(&library);
    let installers = |entry: &Entry| {
        let found = compared_origins(&origins, entry);
        let words: Vec<String> =
            found.iter().map(|origin| format!("installed with {}", origin.in_words())).collect();
        if words.is_empty() { "no installer recorded it".to_owned() } else { words.join("; ") }
    };
    match (of(owner).as_slice(), of(other).as_slice()) {
        ([entry], _) => {
            let (name, installers) = (entry.name().clone(), installers(entry));
            foreign.insert(PathBuf::from(entry.directory()), ForeignSkill { name, installers });
            return Ok(Vec::new());
        }
        ([], [_, ..]) => {
            let option = workspace.env.places().option(other);
            let hint = format!("it is one of the {}: run `rep remove{option} {word}`", other.as_str());
            return Err(error.hint(hint));
        }
        (several @ [_, _, ..], _) => {
            let error = CliError::no(format!("`{word}` is in several directories"));
            let option = workspace.env.places().option(owner);
            return Err(several.iter().fold(error, |error, entry| {
                let qualified = shell_word(&entry.qualified_name());
                error.hint(format!(
                    "`rep remove{option} {qualified}` removes {}",
                    workspace.shown(entry.directory())
                ))
            }));
        }
        _ => {}
    }
    let shown =
        found.iter().map(|entry| format!("{} ({})", workspace.shown(entry.directory()), installers(entry)));
    let found: Vec<String> = shown.collect();
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

/// Returns `true` if the skill of `entry` lies in a skill directory of `owner`, and not where a link leads.
fn is_in_place(workspace: &Workspace, library: &Library, owner: Owner, entry: &Entry) -> bool {
    let directory = Path::new(entry.directory());
    let Some(base) = workspace.env.places().base(owner).filter(|_| entry.identity.is_some()) else {
        return false;
    };
    let tier = if owner == Owner::Project { Tier::Project } else { Tier::User };
    let mut places = library.places.iter().filter(|place| place.root.tier == tier);
    let is_inside = owner == Owner::User || directory.starts_with(paths::resolved(&base));
    let is_below = |root: &Path| directory != root && directory.starts_with(root);
    // Skills below it would go with it.
    let mut others = library.snapshot.entries().iter().map(|other| Path::new(other.directory()));
    is_inside
        && !others.any(|other| other != directory && other.starts_with(directory))
        && places.any(|place| is_below(&paths::resolved(&place.root.path)))
}

fn removal(
    places: &Places,
    owner: Owner,
    (name, directory): (SkillName, PathBuf),
    locked: Option<&LockedSkill>,
) -> Result<Removal, CliError> {
    let installed = read_installed(&directory)?;
    let loss = installed.as_ref().and_then(|installed| {
        if locked.is_some_and(|locked| LockedSkill::digests(&installed.files) != locked.files) {
            return Some("was changed since it was added".to_owned());
        }
        let other = installed.others.first()?;
        if other.is_empty() {
            return Some("is not a directory any more".to_owned());
        }
        Some(format!("has other files, such as {other}, which would go with it"))
    });
    let links = links_to(places, owner, &directory);
    Ok(Removal { name, directory, installed, locked: locked.cloned(), links, loss })
}
