//! `rep history`.

mod diff;
mod restore;

use clap::Args;
use repertoire::event::jsonl::rfc3339;
use repertoire::proposal::published_identity;
use repertoire::store::Version;
use repertoire_app::view::{VersionListView, VersionView};

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Table, Ui};
use crate::wire::Workspace;
use repertoire_app::review::{deleted_skill, record_current, recovered_library};

/// Lists the versions of a skill, compares them, and restores one
///
/// Sessions and servers record every change of a skill that they see, `rep call` what it loads, and
/// `rep add`, `rep update` and `rep remove` what they change; the list records the skill as it is now.
/// --restore replaces the files all at once, and the restored state is a new version. A skill that was
/// deleted comes back.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
    /// List the versions that `rep publish` put into this store: postgres://user@host/database or the path of
    /// a SQLite file
    #[arg(long, value_name = "URL", conflicts_with_all = ["diff", "restore"])]
    store: Option<String>,
    /// Show what changed between two versions; with one, from it to the files as they are now; without any,
    /// since the newest
    #[arg(long, value_name = "VERSION", num_args = 0..=2, conflicts_with = "restore")]
    diff: Option<Vec<u64>>,
    #[command(flatten)]
    restore: restore::RestoreArgs,
}

impl HistoryArgs {
    /// Returns `true` if the command changes files of the skill.
    pub(crate) fn restores(&self) -> bool {
        self.restore.version.is_some()
    }
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &HistoryArgs) -> Result<Exit, CliError> {
    if let Some(versions) = &args.diff {
        return diff::run(ui, workspace, &args.name, versions);
    }
    if let Some(number) = args.restore.version {
        return restore::run(ui, workspace, &args.name, number, &args.restore);
    }
    if let Some(location) = &args.store {
        let versions = workspace.store_at(Some(location))?.versions(&published_identity(&args.name))?;
        if versions.is_empty() {
            return Err(CliError::no(format!("no skill `{}` was published to this store", args.name))
                .hint("run `rep team channel show` to see the skills of a channel"));
        }
        return write(ui, &args.name, &versions);
    }
    let store = workspace.store()?;
    let library = recovered_library(workspace, &*store)?;
    let (name, skill) = match library.find_any(&args.name) {
        Ok(entry) => {
            if let Err(error) = record_current(&library.registry, entry, &*store) {
                ui.warn(&format!("the skill as it is now is not recorded: {}", error.chain()))?;
            }
            (entry.name().as_str(), entry.record_identity())
        }
        Err(error) => {
            let deleted = deleted_skill(&library, &*store, &args.name)?.ok_or(error)?;
            ui.warn(&format!("{} was deleted; `rep history {0} --restore VERSION` restores it", args.name))?;
            (args.name.as_str(), deleted)
        }
    };
    write(ui, name, &store.versions(&skill)?)
}

fn write(ui: &mut Ui, name: &str, versions: &[Version]) -> Result<Exit, CliError> {
    if ui.is_json() {
        let versions = versions.iter().map(VersionView::new).collect();
        return Ok(ui.answer(&VersionListView { name: name.to_owned(), versions, server: None })?);
    }
    let mut table = Table::new(vec![
        ("VERSION", Align::Right, None),
        ("TIME", Align::Left, None),
        ("ORIGIN", Align::Left, None),
        ("AUTHOR", Align::Left, None),
        ("DIGEST", Align::Elastic, None),
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
