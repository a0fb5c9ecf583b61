//! `rep history`.

use std::time::SystemTime;

use clap::Args;
use pollster::block_on;
use repertoire::Entry;
use repertoire::event::jsonl::rfc3339;
use repertoire::history::{capture, identity, record};
use repertoire::store::{Origin, Store, Version};
use serde_json::{Value, json};

use super::proposals::recovered_library;
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Column, Table, Ui};
use crate::wire::{Context, Library};

/// Lists the versions of a skill, the newest first
///
/// Sessions and servers record every change of a skill that they see; this command records the skill as it is now. `rep diff` compares
/// two versions, and `rep rollback` restores one.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &HistoryArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let library = recovered_library(ui, context, &*store)?;
    let entry = library.find_any(&args.name)?;
    if let Err(error) = record_current(&library, entry, &*store) {
        ui.warn(&format!("the skill as it is now is not recorded: {}", error.chain()))?;
    }
    let versions = store.versions(&identity(entry))?;
    if ui.is_json() {
        let versions: Vec<Value> = versions.iter().map(json).collect();
        ui.write_json(&json!({"name": entry.name().as_str(), "versions": versions}))?;
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
    for version in &versions {
        table.cell(version.number.to_string());
        table.cell(rfc3339(version.time));
        table.cell(version.origin.as_str());
        table.cell(version.author.as_deref().unwrap_or("-"));
        table.cell(version.digest.to_stamp());
    }
    table.write(ui)?;
    Ok(Exit::Success)
}

/// Records a valid skill as it is now, if it changed since its newest version.
pub(super) fn record_current(
    library: &Library,
    entry: &Entry,
    store: &dyn Store,
) -> Result<(), repertoire::Error> {
    if entry.state == repertoire::State::Quarantined {
        return Ok(());
    }
    let (files, _) = block_on(capture(&library.registry, entry))?;
    let skill = identity(entry);
    record(store, (&skill, entry.name().as_str()), &files, Origin::Edit, None, SystemTime::now())?;
    Ok(())
}

pub(super) fn json(version: &Version) -> Value {
    json!({
        "id": version.number,
        "digest": version.digest.to_string(),
        "time": rfc3339(version.time),
        "origin": version.origin.as_str(),
        "author": version.author,
    })
}
