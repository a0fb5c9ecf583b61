//! `rep publish`.

mod args;
mod directory;
mod repository;
mod server;
mod skill_copies;
mod well_known;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pollster::block_on;
use repertoire::history::{capture, record};
use repertoire::proposal::published_identity;
use repertoire::store::{Origin, ReleaseChange, put_skill_safely};
use repertoire::{Entry, Severity, State};
use repertoire_model::Digest;
use repertoire_model::patch::SkillFiles;

use crate::channel_changes::ChannelChanges;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Progress, Ui};
use crate::wire::{Library, Workspace, skill_directory};
use args::Destination;
pub(crate) use args::PublishArgs;
use skill_copies::PublishedFiles;

/// The most errors that are shown.
const MAX_ERRORS: usize = 20;

struct SkillToPublish {
    files: SkillFiles,
    digest: Digest,
    description: String,
    version: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &PublishArgs) -> Result<Exit, CliError> {
    let (destination, directories) = args.parsed(workspace.env.working_directory())?;
    let skills = read(workspace, &directories)?;
    let published: Vec<PublishedFiles<'_>> = skills
        .iter()
        .map(|(name, skill)| PublishedFiles {
            name,
            description: &skill.description,
            version: skill.version.as_deref(),
            files: &skill.files,
        })
        .collect();
    match destination {
        Destination::WellKnown(site) => well_known::write(ui, &site, &published),
        Destination::Directory(directory) => directory::write(ui, args, &directory, &published),
        Destination::Git(address) => repository::publish(ui, workspace, args, &address, &published),
        Destination::Server(address) => server::publish(ui, workspace, args, &address, &published),
        Destination::Store(address) => release(ui, workspace, args, address.as_deref(), &skills),
    }
}

/// Publishes `skills` to the store at `address`, or to that of the configuration.
fn release(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &PublishArgs,
    address: Option<&str>,
    skills: &BTreeMap<String, SkillToPublish>,
) -> Result<Exit, CliError> {
    let store = workspace.store_to(address)?;
    let channel = args.channel();
    let released: BTreeMap<String, Digest> =
        store.released(channel)?.into_iter().map(|skill| (skill.name, skill.digest)).collect();
    let mut removed: BTreeSet<&String> = args.remove.iter().collect();
    if let Some(name) = removed.iter().find(|name| !released.contains_key(**name)) {
        return Err(CliError::no(format!("there is no skill `{name}` in the channel {channel}")).hint(
            format!(
                "run `rep team channel show {}{}` to see the skills",
                channel,
                Workspace::store_option(address, &*store)
            ),
        ));
    }
    if let Some(name) = removed.iter().find(|name| skills.contains_key(**name)) {
        return Err(CliError::usage(format!("`{name}` is both to be published and to be removed")));
    }
    if args.prune {
        removed.extend(released.keys().filter(|name| !skills.contains_key(*name)));
    }
    let is_new = |(name, skill): &(&String, &SkillToPublish)| released.get(*name) != Some(&skill.digest);
    let mut changes: Vec<ReleaseChange> = skills
        .iter()
        .filter(is_new)
        .map(|(name, skill)| ReleaseChange { name: name.clone(), digest: Some(skill.digest) })
        .collect();
    changes.extend(removed.into_iter().map(|name| ReleaseChange { name: name.clone(), digest: None }));
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    let release = if args.dry_run || changes.is_empty() {
        None
    } else {
        let (author, time) = (workspace.person(), SystemTime::now());
        for change in changes.iter().filter(|change| change.digest.is_some()) {
            let Some(skill) = skills.get(&change.name) else { continue };
            let identity = published_identity(&change.name);
            let names = (identity.as_str(), change.name.as_str());
            record(&*store, names, &skill.files, Origin::Publish, Some(&author), time)?;
        }
        store.release(channel, &changes, Some(&author), time)?
    };
    if !args.dry_run {
        // Content that is damaged in the store is stored again.
        for skill in skills.values() {
            put_skill_safely(&*store, &skill.files)?;
        }
    }
    let outcome = ChannelChanges { channel, changes: &changes, before: &released, release };
    outcome.write(ui, &*store, args.dry_run)?;
    Ok(Exit::Success)
}

/// Reads and checks the skills of the directories, by name.
fn read(
    workspace: &Workspace,
    directories: &[PathBuf],
) -> Result<BTreeMap<String, SkillToPublish>, CliError> {
    let mut skills = BTreeMap::new();
    let mut faults = Vec::new();
    for given in directories {
        let library = open(workspace, given)?;
        let _progress = Progress::start(&workspace.env, "checking skills");
        let entries: Vec<&Entry> = library.snapshot.entries().iter().collect();
        for (entry, found) in entries.iter().zip(library.check(&entries)) {
            let errors = || found.iter().filter(|found| found.severity == Severity::Error);
            faults
                .extend(errors().map(|found| format!("{}: {} [{}]", entry.path, found.message, found.rule)));
            let is_taken = entry.state == State::Shadowed || skills.contains_key(entry.name().as_str());
            if is_taken {
                faults.push(format!("{}: another skill is called `{}`, too", entry.path, entry.name()));
            } else if entry.state == State::Quarantined && errors().next().is_none() {
                faults.push(format!("{}: the skill is quarantined", entry.path));
            }
            if faults.is_empty() {
                let (files, digest) = block_on(capture(&library.registry, entry))?;
                let description = entry.document.description.to_string();
                let version = entry.document.manifest.version.clone();
                let skill = SkillToPublish { files, digest, description, version };
                skills.insert(entry.name().to_string(), skill);
            }
        }
    }
    if faults.is_empty() {
        return Ok(skills);
    }
    let number = faults.len();
    let mut error = CliError::no("nothing was published, because of errors in the skills");
    for fault in faults.into_iter().take(MAX_ERRORS) {
        error = error.because(fault.to_string());
    }
    if number > MAX_ERRORS {
        error = error.because(format!("and {} more", number - MAX_ERRORS));
    }
    Err(error.hint("run `rep check` with the same directories to see the places"))
}

/// Reads the skills in the directory `given`.
fn open(workspace: &Workspace, given: &Path) -> Result<Library, CliError> {
    let shown = given.display();
    if !workspace.env.working_directory().join(given).is_dir() {
        return Err(CliError::usage(format!("there is no directory {shown}")));
    }
    let places = workspace.given_places("path", skill_directory(given));
    // Skills disabled here are not disabled for the readers of the published library.
    let mut policy = workspace.settings.policy.clone();
    policy.disabled.clear();
    policy.kit = None;
    let library = workspace.inspect_places(places, Vec::new(), policy);
    if let Some(problem) = library.problems.first() {
        return Err(CliError::no(format!("{}: {}", problem.path, problem.diagnostic.message)));
    }
    if library.snapshot.entries().is_empty() {
        return Err(CliError::no(format!("there is no skill at {shown}"))
            .hint("a skill is a directory with a SKILL.md"));
    }
    Ok(library)
}
