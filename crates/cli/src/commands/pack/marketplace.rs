//! `rep pack marketplace`.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::discovery::{Plugin, is_plugin, plugin};
use repertoire_model::text::count;
use serde_json::{Map, Value, json};

use super::args::MarketplacePackArgs;
use super::plugin::write_json;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::Workspace;

/// The file, relative to the directory of the marketplace.
const FILE: &str = ".claude-plugin/marketplace.json";

/// The most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

pub(super) fn run(ui: &mut Ui, workspace: &Workspace, args: &MarketplacePackArgs) -> Result<Exit, CliError> {
    let directory = workspace.env.working_directory().join(&args.directory);
    let directory = directory.canonicalize().map_err(|error| CliError::io("read", &directory, error))?;
    let path = directory.join(FILE);
    if !args.force && path.symlink_metadata().is_ok() {
        return Err(
            CliError::no(format!("{} is there already", path.display())).hint("`--force` replaces it")
        );
    }
    let mut plugins = Vec::new();
    for candidate in candidates(&directory) {
        let (read, problems) = plugin(&candidate, &workspace.settings.policy);
        match read {
            Some(read) => plugins.push(entry(&directory, &read)),
            None => {
                let reason = problems
                    .first()
                    .map_or("it has no valid plugin.json", |problem| &problem.diagnostic.message);
                return Err(CliError::no(format!("{} is not a plugin: {reason}", candidate.display()))
                    .hint(format!("`rep check {}` shows what is wrong", candidate.display())));
            }
        }
    }
    if plugins.is_empty() {
        return Err(CliError::no(format!("there is no plugin in {}", directory.display()))
            .hint("`rep pack plugin` makes one"));
    }
    let own = directory.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = args.name.clone().unwrap_or(own);
    let marketplace = json!({"name": name, "owner": {"name": args.owner}, "plugins": plugins});
    let text = marketplace.to_string();
    if let Some(finding) = repertoire_model::plugin::read_marketplace(text.as_bytes()).1.first() {
        return Err(CliError::usage(finding.message.clone()).hint("`--name` names the marketplace"));
    }
    write_json(&path, &marketplace)?;
    if ui.is_json() {
        return Ok(ui.answer(&json!({"path": path.display().to_string(), "plugins": plugins.len()}))?);
    }
    let shown = workspace.shown(&path.display().to_string());
    ui.line(Style::Good, &format!("listed {} in {shown}", count(plugins.len(), "plugin")))?;
    Ok(Exit::Success)
}

/// Returns the directories of plugins: `directory`, and those in it and in its `plugins`, sorted.
fn candidates(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for parent in [directory.to_owned(), directory.join("plugins")] {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten().take(MAX_ENTRIES);
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        paths.sort();
        found.extend(paths);
    }
    found.retain(|path| is_plugin(path));
    found
}

fn entry(directory: &Path, plugin: &Plugin) -> Value {
    let relative = plugin.directory.strip_prefix(directory).unwrap_or(Path::new(""));
    let relative = relative.to_string_lossy().replace('\\', "/");
    let mut entry = Map::new();
    entry.insert("name".to_owned(), Value::from(plugin.manifest.name.as_str()));
    entry.insert("source".to_owned(), Value::from(format!("./{relative}")));
    let texts = [("description", &plugin.manifest.description), ("version", &plugin.manifest.version)];
    for (key, text) in texts {
        entry.extend(text.iter().map(|text| (key.to_owned(), Value::from(text.as_str()))));
    }
    Value::Object(entry)
}
