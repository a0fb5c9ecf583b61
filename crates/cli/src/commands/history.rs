//! `rep history`.

use std::path::Path;
use std::time::SystemTime;

use clap::Args;
use pollster::block_on;
use repertoire::event::jsonl::rfc3339;
use repertoire::history::{capture, record};
use repertoire::proposal::published_identity;
use repertoire::store::{Origin, Store, Version};
use repertoire::{Entry, Registry};
use repertoire_app::view::{VersionListView, VersionView};

use super::proposals::recovered_library;
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Column, Table, Ui};
use crate::wire::{Context, Library};

/// Lists the versions of a skill, the newest first
///
/// Sessions and servers record every change of a skill that they see, `rep call` what it loads, and `rep add`, `rep update` and `rep remove` what they change; this command records the skill as it is now. `rep diff` compares
/// two versions, and `rep rollback` restores one.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
    /// List the versions that `rep publish` put into this store: postgres://user@host/database or the path of a SQLite file
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &HistoryArgs) -> Result<Exit, CliError> {
    if let Some(location) = &args.store {
        let versions = context.store_at(Some(location))?.versions(&published_identity(&args.name))?;
        if versions.is_empty() {
            return Err(CliError::no(format!("no skill `{}` was published to this store", args.name))
                .hint("run `rep channel show` to see the skills of a channel"));
        }
        return write(ui, &args.name, &versions);
    }
    let store = context.store()?;
    let library = recovered_library(ui, context, &*store)?;
    let (name, skill) = match library.find_any(&args.name) {
        Ok(entry) => {
            if let Err(error) = record_current(&library.registry, entry, &*store) {
                ui.warn(&format!("the skill as it is now is not recorded: {}", error.chain()))?;
            }
            (entry.name().as_str(), entry.record_identity())
        }
        Err(error) => {
            let deleted = deleted_skill(&library, &*store, &args.name)?.ok_or(error)?;
            ui.warn(&format!("{} was deleted; `rep rollback {0} VERSION` restores it", args.name))?;
            (args.name.as_str(), deleted)
        }
    };
    write(ui, name, &store.versions(&skill)?)
}

fn write(ui: &mut Ui, name: &str, versions: &[Version]) -> Result<Exit, CliError> {
    if ui.is_json() {
        let versions = versions.iter().map(VersionView::new).collect();
        ui.write_json(&VersionListView { name: name.to_owned(), versions, server: None })?;
        return Ok(Exit::Success);
    }
    let column = |heading, align| Column { heading, align, style: None };
    let mut table = Table::new(vec![
        column("VERSION", Align::Right),
        column("TIME", Align::Left),
        column("ORIGIN", Align::Left),
        column("AUTHOR", Align::Left),
        column("DIGEST", Align::Elastic),
    ]);
    for version in versions {
        table.cell(version.number.to_string());
        table.cell(rfc3339(version.time));
        table.cell(version.origin.as_str());
        table.cell(version.author.as_deref().unwrap_or("-"));
        table.cell(version.digest.to_stamp());
    }
    table.write(ui)?;
    Ok(Exit::Success)
}

/// Returns the identity of the recorded skill `name`, which is its directory, if it lay in a directory that the library is read from.
pub(super) fn deleted_skill(
    library: &Library,
    store: &dyn Store,
    name: &str,
) -> Result<Option<String>, CliError> {
    let recorded = store.latest_digests()?;
    let is_called = |skill: &&String| Path::new(skill).file_name().is_some_and(|last| last == name);
    let mut roots = library.places.iter().filter_map(|place| place.root.path.canonicalize().ok());
    Ok(roots.find_map(|root| {
        let mut skills = recorded.iter().map(|(skill, _)| skill).filter(is_called);
        skills.find(|skill| Path::new(skill).starts_with(&root)).cloned()
    }))
}

/// Records a valid skill as it is now, if it changed since its newest version.
pub(super) fn record_current(
    registry: &Registry,
    entry: &Entry,
    store: &dyn Store,
) -> Result<(), repertoire::Error> {
    if entry.is_broken() {
        return Ok(());
    }
    let (files, _) = block_on(capture(registry, entry))?;
    let skill = entry.record_identity();
    record(store, (&skill, entry.name().as_str()), &files, Origin::Edit, None, SystemTime::now())?;
    Ok(())
}
