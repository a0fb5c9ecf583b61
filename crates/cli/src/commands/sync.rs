//! `rep sync`.

mod import;

use std::path::PathBuf;

use clap::Args;
use repertoire::change::{ChangeSteps, read_installed};
use repertoire_clients::link::LinkKind;
use repertoire_model::patch::{SkillFiles, bundle};
use repertoire_sources::{Change, ErrorKind, Installation, Lock, LockedSkill, SkillChange, locked_files};
use serde_json::{Value, json};

use crate::change_guard::{ChangeGuard, guarded};
use crate::error::CliError;
use crate::exit::Exit;
use crate::place_args::PlaceArgs;
use crate::ui::{Progress, Style, Ui, escape};
use crate::wire::{Workspace, shell_word};

/// Restores the skills that repertoire.lock lists, exactly as they were added
///
/// Skills that are missing are taken from the store of fetched skills, or else fetched at the recorded
/// version. Skills that were changed here are left alone, unless --force is given. With --frozen nothing is
/// written, and the exit code is 1 if something differs from the lock.
///
/// With --import, skills of .agents/skills that `npx skills` (skills-lock.json), apm, dotagents, `gh skill`,
/// openskills or clawhub recorded are entered in repertoire.lock, if they are here as they were installed.
/// Nothing is fetched. From then on `rep update` follows their sources.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// A file with the token for the server of an index
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Only check that everything is as the lock says
    #[arg(long, conflicts_with = "force")]
    frozen: bool,
    /// Restore skills that were changed, too; their edits are lost
    #[arg(long)]
    force: bool,
    /// Take over the skills that other installers recorded instead
    #[arg(long, conflicts_with_all = ["user", "project", "token_file", "frozen", "force"])]
    import: bool,
}

/// The relation of a skill here to the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drift {
    /// It is as the lock says.
    None,
    /// It is not here.
    Missing,
    /// Its files differ.
    Changed,
}

/// A skill of the lock.
struct SyncedSkill<'l> {
    locked: &'l LockedSkill,
    before: Option<SkillFiles>,
    drift: Drift,
    is_restored: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &SyncArgs) -> Result<Exit, CliError> {
    if args.import {
        return import::run(ui, workspace);
    }
    guarded(ui, |ui, guard| sync(ui, workspace, args, guard))
}

fn sync(ui: &mut Ui, workspace: &Workspace, args: &SyncArgs, guard: &ChangeGuard) -> Result<Exit, CliError> {
    let owner = args.place.owner(&workspace.env);
    let installation = workspace.installation(owner)?;
    let lock = Lock::read(&installation.lock)?;
    if lock.is_empty() && !installation.lock.is_file() {
        let shown = installation.lock.display();
        return Err(CliError::no(format!("there is no {shown}")).hint("run `rep add` to add skills"));
    }
    workspace.expect_one_server(lock.skills(), args.token_file.as_deref())?;
    let mut skills: Vec<SyncedSkill<'_>> =
        lock.skills().map(|locked| synced(&installation, locked)).collect::<Result<_, _>>()?;
    let is_wanted = |skill: &SyncedSkill<'_>| match skill.drift {
        Drift::None => false,
        Drift::Missing => !args.frozen,
        Drift::Changed => args.force,
    };
    let mut changes = Vec::new();
    for skill in skills.iter_mut().filter(|skill| is_wanted(skill)) {
        changes.push(restored(ui, workspace, args, &installation, skill)?);
        skill.is_restored = true;
    }
    if !args.frozen {
        guard.begin();
    }
    let writer_lock = (!args.frozen).then(|| workspace.begin(&installation)).transpose()?;
    let linked = lock.skills().map(|locked| {
        let change = changes.iter().find(|change| change.name == locked.name);
        (&locked.name, change.and_then(|change| change.after.as_ref()))
    });
    let kind = if args.frozen { LinkKind::Planned } else { LinkKind::Link };
    let new = workspace.added_links(owner, kind, linked, &[])?;
    let mut links: Vec<String> = new.links.into_iter().map(|link| link.path).collect();
    if let Some(writer_lock) = writer_lock {
        let change = Change { skills: changes, others: ChangeSteps { command: "rep sync", ..new.change } };
        ui.warn_all(workspace.apply(&writer_lock, &installation, &change)?.iter().chain(&new.notes))?;
    } else {
        for link in std::mem::take(&mut links) {
            ui.warn(&format!("the link {link} is missing, which a client needs; `rep sync` makes it"))?;
        }
    }
    report(ui, &skills, &links)?;
    let is_different = skills.iter().any(|skill| skill.drift != Drift::None && !skill.is_restored);
    Ok(if is_different || !new.notes.is_empty() { Exit::No } else { Exit::Success })
}

fn synced<'l>(installation: &Installation, locked: &'l LockedSkill) -> Result<SyncedSkill<'l>, CliError> {
    let before = read_installed(&installation.directory(&locked.name))?.map(|installed| installed.files);
    let drift = match &before {
        None => Drift::Missing,
        Some(files)
            if bundle(files).digest() == locked.digest && LockedSkill::digests(files) == locked.files =>
        {
            Drift::None
        }
        Some(_) => Drift::Changed,
    };
    Ok(SyncedSkill { locked, before, drift, is_restored: false })
}

/// Returns the change that restores `skill`.
fn restored(
    ui: &Ui,
    workspace: &Workspace,
    args: &SyncArgs,
    installation: &Installation,
    skill: &SyncedSkill<'_>,
) -> Result<SkillChange, CliError> {
    let locked = skill.locked;
    let options = workspace.fetch_options(ui.git_prompt(), args.token_file.as_deref())?;
    let _progress = Progress::start(&workspace.env, "fetching");
    let (store, home) = (workspace.content_store(), workspace.env.home());
    let advice = || {
        let places = workspace.env.places();
        let option = places.option(args.place.owner(&workspace.env));
        let (add, name, remove) = (add_command(locked, option), &locked.name, format!("rep remove{option}"));
        match skill.drift {
            // An edited skill is not replaced by `rep add`.
            Drift::Changed => format!(
                "nothing was changed; `{remove} --force {name}` and then `{add}` takes the newest one, and your edits are lost"
            ),
            _ => format!(
                "nothing was changed; `{add}` takes the newest one, `{remove} {name}` takes it out of the lock"
            ),
        }
    };
    let files = locked_files(locked, &installation.base, home.as_deref(), &store, &options);
    let files = files.map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::from(error).hint(advice()),
        _ => error.into(),
    })?;
    let files = files.ok_or_else(|| {
        CliError::no(format!("{} does not have `{}` as the lock says (any more)", locked.source, locked.name))
            .hint(advice())
    })?;
    Ok(SkillChange {
        name: locked.name.clone(),
        before: skill.before.clone(),
        after: Some(files),
        others: Vec::new(),
        locked_before: Some(locked.clone()),
        locked: Some(locked.clone()),
    })
}

/// Returns the command that adds the newest state of `locked`, with `option`.
fn add_command(locked: &LockedSkill, option: &str) -> String {
    let mut command = format!("rep add {} --skill {}", shell_word(&locked.source), locked.name);
    if let Some(reference) = &locked.reference {
        command += &format!(" --ref {}", shell_word(reference));
    }
    command + option
}

fn report(ui: &mut Ui, skills: &[SyncedSkill<'_>], links: &[String]) -> Result<(), CliError> {
    let state = |skill: &SyncedSkill<'_>| match (skill.drift, skill.is_restored) {
        (Drift::None, _) => "right",
        (_, true) => "restored",
        (Drift::Missing, false) => "missing",
        (Drift::Changed, false) => "changed",
    };
    if ui.is_json() {
        let skill = |skill: &SyncedSkill<'_>| -> Value {
            let digest = skill.locked.digest.to_string();
            json!({"name": skill.locked.name.as_str(), "state": state(skill), "digest": digest})
        };
        let skills: Vec<Value> = skills.iter().map(skill).collect();
        return Ok(ui.write_json(&json!({"skills": skills, "links": links}))?);
    }
    for skill in skills.iter().filter(|skill| skill.drift != Drift::None) {
        let style = if skill.is_restored { Style::Good } else { Style::Warning };
        ui.line(style, &format!("{} {}", state(skill), escape(skill.locked.name.as_str())))?;
    }
    if skills.iter().all(|skill| skill.drift == Drift::None) {
        writeln!(ui.out(), "everything is as the lock says")?;
    }
    if !links.is_empty() {
        writeln!(ui.out(), "linked for other clients: {}", escape(&links.join(", ")))?;
    }
    if skills.iter().any(|skill| skill.drift == Drift::Changed && !skill.is_restored) {
        ui.hint("edits stay; `rep sync --force` discards them")?;
    }
    Ok(())
}
