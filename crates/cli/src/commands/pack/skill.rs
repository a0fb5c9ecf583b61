//! `rep pack skill`.

use std::io::{Cursor, ErrorKind, Write as _};
use std::path::PathBuf;

use repertoire::change::{FileKind, MAX_FILE_BYTES, replace_file};
use repertoire::{Entry, regular_file};
use repertoire_model::patch::SkillFiles;
use repertoire_model::text::count;
use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::args::SkillPackArgs;
use super::files::{self, refused};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::Workspace;

/// The fields of the frontmatter that claude.ai accepts.
const FIELDS: [&str; 6] = ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];

pub(super) fn run(ui: &mut Ui, workspace: &Workspace, args: &SkillPackArgs) -> Result<Exit, CliError> {
    let library = files::library(workspace);
    let entry = library.find(&args.name)?;
    let files = files::files(&library, entry)?;
    accepted(entry, &files)?;
    let name = entry.name().as_str();
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.skill")));
    let path = workspace.env.working_directory().join(path);
    let before = match regular_file::read(&path, MAX_FILE_BYTES) {
        Ok(_) if !args.force => {
            return Err(
                CliError::no(format!("{} is there already", path.display())).hint("`--force` replaces it")
            );
        }
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(CliError::io("read", &path, error)),
    };
    let bytes = archive(name, &files)
        .map_err(|error| CliError::failure(format!("the archive cannot be made: {error}")))?;
    replace_file(&path, FileKind::User { before: before.as_deref() }, Some(&bytes))?;
    if ui.is_json() {
        return Ok(
            ui.answer(&json!({"path": path.display().to_string(), "skills": [name], "files": files.len()}))?
        );
    }
    let shown = workspace.shown(&path.display().to_string());
    ui.line(Style::Good, &format!("packed {} into {shown}", count(files.len(), "file")))?;
    Ok(Exit::Success)
}

/// Returns an error if claude.ai would refuse the skill.
fn accepted(entry: &Entry, files: &SkillFiles) -> Result<(), CliError> {
    let description = &entry.document.description;
    if description.contains(['<', '>']) {
        return Err(refused(entry, "claude.ai allows no angle brackets in the description"));
    }
    let manifest = files.iter().find(|(path, _)| path.as_str() == "SKILL.md");
    let text =
        manifest.map(|(_, file)| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
    // Fields stand at the start of a line of the frontmatter.
    let lines = text.lines().skip(1).take_while(|line| line.trim_end() != "---");
    let keys = lines
        .filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()))
        .filter_map(|line| line.split_once(':'));
    for (key, _) in keys {
        if !FIELDS.contains(&key.trim_end()) {
            return Err(refused(
                entry,
                &format!("claude.ai does not know the field `{}`; `metadata` takes others", key.trim_end()),
            ));
        }
    }
    Ok(())
}

/// Returns the archive, the same for equal skills: a directory named as the skill, files in order, no times.
fn archive(name: &str, files: &SkillFiles) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, file) in files {
        let mode = if file.executable { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode);
        archive.start_file(format!("{name}/{path}"), options)?;
        archive.write_all(&file.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
