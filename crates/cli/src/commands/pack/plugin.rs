//! `rep pack plugin`.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::history::write_skill;
use repertoire_model::patch::SkillFiles;
use repertoire_model::plugin::{MANIFEST_FILE, MANIFEST_SCHEMA, SKILLS, is_plugin_name};
use repertoire_model::text::count;
use serde_json::{Map, Value, json};

use super::args::PluginPackArgs;
use super::files;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::Workspace;

/// The manifest that Claude Code reads.
const CLAUDE_MANIFEST: &str = ".claude-plugin/plugin.json";

pub(super) fn run(ui: &mut Ui, workspace: &Workspace, args: &PluginPackArgs) -> Result<Exit, CliError> {
    if !is_plugin_name(&args.name) {
        return Err(CliError::usage(format!("`{}` is not a name of a plugin", args.name))
            .hint("it may have 1 to 64 lower-case letters, digits, single hyphens and single periods"));
    }
    let library = files::library(workspace);
    let entries: Vec<&Entry> = if args.skill.is_empty() {
        library.snapshot.active().collect()
    } else {
        args.skill.iter().map(|name| library.find(name)).collect::<Result<_, CliError>>()?
    };
    if entries.is_empty() {
        return Err(CliError::no("there are no skills to pack").hint("`rep list` shows what is found"));
    }
    let packed: Result<Vec<(&str, SkillFiles)>, CliError> =
        entries.iter().map(|entry| Ok((entry.name().as_str(), files::files(&library, entry)?))).collect();
    let packed = packed?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let directory = workspace.env.working_directory().join(output);
    fs::create_dir_all(directory.parent().unwrap_or(&directory))
        .map_err(|error| CliError::io("make", &directory, error))?;
    fs::create_dir(&directory).map_err(|error| {
        CliError::io("make", &directory, error)
            .hint("a plugin is packed into a directory that is not there yet")
    })?;
    write(&directory, args, &packed)?;
    if ui.is_json() {
        let skills: Vec<&str> = packed.iter().map(|(name, _)| *name).collect();
        let files: usize = packed.iter().map(|(_, files)| files.len()).sum();
        return Ok(
            ui.answer(&json!({"path": directory.display().to_string(), "skills": skills, "files": files}))?
        );
    }
    let shown = workspace.shown(&directory.display().to_string());
    ui.line(Style::Good, &format!("packed {} into {shown}", count(packed.len(), "skill")))?;
    Ok(Exit::Success)
}

fn write(directory: &Path, args: &PluginPackArgs, packed: &[(&str, SkillFiles)]) -> Result<(), CliError> {
    for (name, files) in packed {
        write_skill(&directory.join(SKILLS).join(name), &SkillFiles::new(), files)?;
    }
    let mut manifest = Map::new();
    manifest.insert("name".to_owned(), Value::from(args.name.as_str()));
    manifest.extend(
        args.plugin_version.iter().map(|version| ("version".to_owned(), Value::from(version.as_str()))),
    );
    manifest
        .extend(args.description.iter().map(|text| ("description".to_owned(), Value::from(text.as_str()))));
    write_json(&directory.join(CLAUDE_MANIFEST), &Value::Object(manifest.clone()))?;
    let mut portable = Map::from_iter([("$schema".to_owned(), Value::from(MANIFEST_SCHEMA))]);
    portable.append(&mut manifest);
    write_json(&directory.join(MANIFEST_FILE), &Value::Object(portable))
}

/// Writes `document` to the file `path`, which is not there yet.
pub(super) fn write_json(path: &Path, document: &Value) -> Result<(), CliError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| CliError::io("make", parent, error))?;
    }
    let text = format!("{document:#}\n");
    fs::write(path, text).map_err(|error| CliError::io("write", path, error))
}
