//! `rep team channel`.

use std::collections::BTreeMap;
use std::time::SystemTime;

use clap::Subcommand;
use repertoire::store::{ReleaseChange, Store};
use repertoire_model::Digest;
use serde_json::{Value, json};

use crate::channel_changes::ChannelChanges;
use crate::error::CliError;
use crate::exit::Exit;
use crate::served::{STABLE, channel_name};
use crate::ui::{Align, Table, Ui};
use crate::wire::Workspace;

/// Shows, promotes and rolls back what is published in a store
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum ChannelAction {
    /// Lists the channels
    List,
    /// Lists the skills of a channel
    Show {
        /// The channel
        #[arg(default_value = STABLE, value_parser = channel_name)]
        channel: String,
    },
    /// Gives a channel the versions that another one has
    Promote {
        /// The skills
        #[arg(value_name = "NAME", required_unless_present = "all")]
        names: Vec<String>,
        /// All skills of the other channel; skills that it no longer has are removed
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// The channel that has the versions
        #[arg(long, value_name = "CHANNEL", default_value = "next", value_parser = channel_name)]
        from: String,
        /// The channel that gets them
        #[arg(long, value_name = "CHANNEL", default_value = STABLE, value_parser = channel_name)]
        to: String,
    },
    /// Undoes the newest release of a channel, or the last change of the named skills
    ///
    /// Skills get the versions that they had before; one that was added goes away, and one that was removed
    /// comes back. A second rollback undoes the first.
    Rollback {
        /// The skills; without any, all that the newest release changed
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// The channel
        #[arg(long, value_name = "CHANNEL", default_value = STABLE, value_parser = channel_name)]
        channel: String,
    },
}

pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    location: Option<&str>,
    action: &ChannelAction,
) -> Result<Exit, CliError> {
    let store = &*workspace.store_at(location)?;
    let option = Workspace::store_option(location, store);
    match action {
        ChannelAction::List => list(ui, store)?,
        ChannelAction::Show { channel } => {
            expect_channel(store, channel)?;
            show(ui, store, channel)?;
        }
        ChannelAction::Promote { names, all, from, to } => {
            expect_channel(store, from)?;
            let source = skills(store, from)?;
            // A skill removed from the channel is removed from the other, too; one that it never had stays.
            let change = |name: &String| match source.get(name) {
                Some(digest) => Ok(Some(*digest)),
                None if store.releases(from, name)?.is_empty() => Err(unknown(name, from, &option)),
                None => Ok(None),
            };
            let mut names = names.clone();
            if *all {
                names.extend(source.keys().cloned());
                for name in skills(store, to)?.into_keys().filter(|name| !source.contains_key(name)) {
                    if !store.releases(from, &name)?.is_empty() {
                        names.push(name);
                    }
                }
            }
            release(ui, workspace, store, to, &names.iter().collect::<Vec<_>>(), change)?;
        }
        ChannelAction::Rollback { names, channel } => {
            expect_channel(store, channel)?;
            let newest = if names.is_empty() { store.newest_names(channel)? } else { names.clone() };
            let change = |name: &String| match store.releases(channel, name)?.as_slice() {
                [] => Err(unknown(name, channel, &option)),
                [_, before, ..] => Ok(before.change.digest),
                [_] => Ok(None),
            };
            release(ui, workspace, store, channel, &newest.iter().collect::<Vec<_>>(), change)?;
        }
    }
    Ok(Exit::Success)
}

/// Returns an error if nothing was ever published to `channel`.
fn expect_channel(store: &dyn Store, channel: &str) -> Result<(), CliError> {
    if !store.newest_names(channel)?.is_empty() {
        return Ok(());
    }
    let error = CliError::no(format!("there is no channel {channel} in {}", store.location()));
    let channels = store.channels()?;
    Err(if channels.is_empty() {
        error.hint("nothing is published; `rep publish` does it")
    } else {
        error.hint(format!("there are: {}", channels.join(", ")))
    })
}

fn unknown(name: &str, channel: &str, option: &str) -> CliError {
    CliError::no(format!("there is no skill `{name}` in the channel {channel}"))
        .hint(format!("run `rep team channel show {channel}{option}` to see the skills"))
}

/// Returns the skills of `channel`, by name.
fn skills(store: &dyn Store, channel: &str) -> Result<BTreeMap<String, Digest>, CliError> {
    Ok(store.released(channel)?.into_iter().map(|skill| (skill.name, skill.digest)).collect())
}

/// Releases for each of `names` the version that `version` returns.
fn release(
    ui: &mut Ui,
    workspace: &Workspace,
    store: &dyn Store,
    channel: &str,
    names: &[&String],
    version: impl Fn(&String) -> Result<Option<Digest>, CliError>,
) -> Result<(), CliError> {
    let before = skills(store, channel)?;
    let mut changes = BTreeMap::new();
    for name in names {
        let digest = version(name)?;
        if before.get(*name) != digest.as_ref() {
            changes.insert((*name).clone(), digest);
        }
    }
    let changes: Vec<ReleaseChange> =
        changes.into_iter().map(|(name, digest)| ReleaseChange { name, digest }).collect();
    let release = if changes.is_empty() {
        None
    } else {
        store.release(channel, &changes, Some(&workspace.person()), SystemTime::now())?
    };
    ChannelChanges { channel, changes: &changes, before: &before, release }.write(ui, store, false)
}

fn list(ui: &mut Ui, store: &dyn Store) -> Result<(), CliError> {
    let mut rows = Vec::new();
    for channel in store.channels()? {
        let skills = store.released(&channel)?;
        let newest = skills.iter().map(|skill| skill.release).max();
        rows.push((channel, skills.len(), newest.unwrap_or_default()));
    }
    if ui.is_json() {
        let row = |(channel, skills, release): &(String, usize, u64)| json!({"name": channel, "skills": skills, "release": release});
        let channels: Vec<Value> = rows.iter().map(row).collect();
        return Ok(ui.write_json(&json!({"store": store.location(), "channels": channels}))?);
    }
    if rows.is_empty() {
        writeln!(ui.err(), "nothing is published")?;
        return Ok(());
    }
    let mut table = Table::new(vec![
        ("CHANNEL", Align::Left, None),
        ("SKILLS", Align::Right, None),
        ("RELEASE", Align::Right, None),
    ]);
    for (channel, skills, release) in rows {
        table.cell(channel);
        table.cell(skills.to_string());
        table.cell(release.to_string());
    }
    Ok(table.write(ui)?)
}

fn show(ui: &mut Ui, store: &dyn Store, channel: &str) -> Result<(), CliError> {
    let skills = store.released(channel)?;
    if ui.is_json() {
        let skill = |skill: &repertoire::store::ReleasedSkill| json!({"name": skill.name, "digest": skill.digest.to_string(), "release": skill.release});
        let skills: Vec<Value> = skills.iter().map(skill).collect();
        return Ok(ui.write_json(&json!({"store": store.location(), "channel": channel, "skills": skills}))?);
    }
    if skills.is_empty() {
        writeln!(ui.err(), "the channel {channel} has no skills")?;
        return Ok(());
    }
    let mut table = Table::new(vec![
        ("NAME", Align::Left, None),
        ("RELEASE", Align::Right, None),
        ("DIGEST", Align::Elastic, None),
    ]);
    for skill in &skills {
        table.cell(skill.name.as_str());
        table.cell(skill.release.to_string());
        table.cell(skill.digest.to_stamp());
    }
    Ok(table.write(ui)?)
}
