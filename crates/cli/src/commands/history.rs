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
use super::publish::published;
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::json;
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
    /// List the versions that `rep publish` put into this store: postgres://user@host/database or the path of a SQLite file
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &HistoryArgs) -> Result<Exit, CliError> {
    if let Some(location) = &args.store {
        let versions = context.store_at(Some(location))?.versions(&published(&args.name))?;
        if versions.is_empty() {
            return Err(CliError::no(format!("no skill `{}` was published to this store", args.name))
                .hint("run `rep channel show` to see the skills of a channel"));
        }
        return write(ui, &args.name, &versions);
    }
    let store = context.store()?;
    let library = recovered_library(ui, context, &*store)?;
    let entry = library.find_any(&args.name)?;
    if let Err(error) = record_current(&library, entry, &*store) {
        ui.warn(&format!("the skill as it is now is not recorded: {}", error.chain()))?;
    }
    write(ui, entry.name().as_str(), &store.versions(&identity(entry))?)
}

fn write(ui: &mut Ui, name: &str, versions: &[Version]) -> Result<Exit, CliError> {
    if ui.is_json() {
        let versions: Vec<Value> = versions.iter().map(json::version).collect();
        ui.write_json(&json!({"name": name, "versions": versions}))?;
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
