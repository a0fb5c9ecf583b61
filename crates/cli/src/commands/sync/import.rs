//! `rep sync --import`.

use repertoire::change::{ChangeSteps, read_installed};
use repertoire::regular_file;
use repertoire_clients::Owner;
use repertoire_model::SkillName;
use repertoire_model::patch::{SkillFiles, bundle};
use repertoire_model::text::count;
use repertoire_sources::origin::{Comparison, Installer};
use repertoire_sources::{
    Change, ImportedSkill, Installation, Lock, LockedSkill, SKILLS_LOCK_FILE, SkillChange, folder_hash,
    imported,
};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::{ComparedOrigin, Workspace, compared_origins, routes};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A skill of the other lock, and what becomes of it.
struct Entry {
    skill: ImportedSkill,
    state: &'static str,
    reason: Option<String>,
    change: Option<SkillChange>,
}

/// Enters the skills that other installers recorded in the lock.
pub(super) fn run(ui: &mut Ui, workspace: &Workspace) -> Result<Exit, CliError> {
    let installation = workspace.installation(Owner::Project)?;
    let lock = Lock::read(&installation.lock)?;
    let mut entries = Vec::new();
    for skill in of_npx_skills(&installation)? {
        entries.push(entry(workspace, &installation, &lock, skill, None)?);
    }
    for (skill, known) in of_others(ui, workspace, &installation)? {
        if !entries.iter().any(|entry| entry.skill.name == skill.name) {
            entries.push(entry(workspace, &installation, &lock, skill, Some(&known))?);
        }
    }
    if entries.is_empty() {
        return Err(CliError::no("no installer recorded a skill of this project")
            .hint("run `rep list --origin` to see what is recorded for the skills of other places"));
    }
    let changes: Vec<SkillChange> = entries.iter_mut().filter_map(|entry| entry.change.take()).collect();
    let number = changes.len();
    if number > 0 {
        let others = ChangeSteps { command: "rep sync --import", ..ChangeSteps::default() };
        let (change, lock) = (Change { skills: changes, others }, workspace.begin(&installation)?);
        ui.warn_all(&workspace.apply(&lock, &installation, &change)?)?;
    }
    if ui.is_json() {
        let skill = |entry: &Entry| {
            let ImportedSkill { name, source, .. } = &entry.skill;
            json!({"name": name, "state": entry.state, "source": source, "reason": entry.reason})
        };
        let skills: Vec<Value> = entries.iter().map(skill).collect();
        ui.write_json(&json!({ "skills": skills }))?;
    } else {
        for entry in entries.iter().filter(|entry| entry.reason.is_some()) {
            let reason = entry.reason.as_deref().unwrap_or_default();
            ui.message(Style::Warning, "left alone:", &format!("{}: {reason}", entry.skill.name))?;
        }
        ui.line(Style::Good, &format!("took over {}", count(number, "skill")))?;
    }
    let is_incomplete = entries.iter().any(|entry| entry.reason.is_some());
    Ok(if is_incomplete { Exit::No } else { Exit::Success })
}

/// Returns the skills of `skills-lock.json`; none if there is no such file.
fn of_npx_skills(installation: &Installation) -> Result<Vec<ImportedSkill>, CliError> {
    let path = installation.base.join(SKILLS_LOCK_FILE);
    let bytes = match regular_file::read(&path, MAX_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| CliError::io("read", &path, error))?,
    };
    imported(&String::from_utf8_lossy(&bytes)).map_err(|reason| {
        CliError::no(format!("{} is not understood", path.display())).because(reason.to_string())
    })
}

/// Returns the skills of the project that other installers recorded, each with its first record.
fn of_others(
    ui: &mut Ui,
    workspace: &Workspace,
    installation: &Installation,
) -> Result<Vec<(ImportedSkill, ComparedOrigin)>, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let origins = workspace.origins(&library);
    for (path, fault) in &origins.faults {
        ui.warn(&format!("{} is not understood: {fault}", path.display()))?;
    }
    let mut found = Vec::new();
    for entry in library.snapshot.entries() {
        let place = installation.directory(entry.name());
        if !routes(entry).contains(&place) {
            continue;
        }
        let is_other = |known: &ComparedOrigin| {
            !matches!(known.origin.installer, Installer::Skills | Installer::ClaudePlugin)
        };
        if let Some(known) = compared_origins(&origins, entry).into_iter().find(is_other) {
            let skill = ImportedSkill {
                name: entry.name().to_string(),
                source: known.origin.source.clone(),
                reference: known.origin.reference.clone(),
                path: known.origin.path.clone(),
                hash: String::new(),
            };
            found.push((skill, known));
        }
    }
    Ok(found)
}

/// Decides about a skill. `known` is its record, unless it is one of `npx skills`.
fn entry(
    workspace: &Workspace,
    installation: &Installation,
    lock: &Lock,
    skill: ImportedSkill,
    known: Option<&ComparedOrigin>,
) -> Result<Entry, CliError> {
    if lock.get(&skill.name).is_some() {
        return Ok(Entry { skill, state: "right", reason: None, change: None });
    }
    let left = |skill: ImportedSkill, state, reason: String| {
        Ok(Entry { skill, state, reason: Some(reason), change: None })
    };
    let name = SkillName::new(&skill.name).filter(|name| name.as_str() == skill.name);
    let Some(name) = name.filter(|name| repertoire_model::SkillPath::new(name.as_str()).is_ok()) else {
        return left(skill, "unknown", "it has no name that a directory can have".to_owned());
    };
    let source = skill.source.as_ref().and_then(|text| workspace.source(text, &installation.base).ok());
    let Some(source) = source.map(|parsed| parsed.source) else {
        return left(skill, "unknown", "its source cannot be fetched by rep".to_owned());
    };
    let source = source.to_locked(&installation.base);
    let Some(installed) = read_installed(&installation.directory(&name))? else {
        let reason = format!("it is not here; `rep add {source} --skill {name}` adds it");
        return left(skill, "missing", reason);
    };
    let is_same = match known.map(|known| &known.comparison) {
        None => folder_hash(&installed.files) == skill.hash,
        Some(Comparison::Unknown(reason)) => {
            return left(skill, "unknown", format!("nobody can tell if it was changed: {reason}"));
        }
        Some(comparison) => *comparison == Comparison::Unchanged,
    };
    if !is_same {
        let reason = "it was changed since it was installed, and what it was is not known".to_owned();
        return left(skill, "changed", reason);
    }
    let commit = known.and_then(|known| known.origin.commit.clone());
    let locked = LockedSkill { resolved: commit, ..locked(name, source, &skill, &installed.files) };
    let change = SkillChange {
        name: locked.name.clone(),
        before: Some(installed.files.clone()),
        after: Some(installed.files),
        others: Vec::new(),
        locked_before: None,
        locked: Some(locked),
    };
    Ok(Entry { skill, state: "imported", reason: None, change: Some(change) })
}

fn locked(name: SkillName, source: String, skill: &ImportedSkill, files: &SkillFiles) -> LockedSkill {
    LockedSkill {
        name,
        source,
        reference: skill.reference.clone(),
        path: skill.path.clone().unwrap_or_else(|| ".".to_owned()),
        // `npx skills` does not record the commit.
        resolved: None,
        digest: bundle(files).digest(),
        files: LockedSkill::digests(files),
    }
}
