//! `rep publish --to well-known`: a directory with an index of skills and their archives, for any web server.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::regular_file;
use repertoire_model::patch::FileData;
use repertoire_model::{Digest, SkillName, SkillPath};
use repertoire_server::pack_files;
use serde_json::{Value, json};

use super::skill_copies::PublishedFiles;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, count, escape};

/// The directory of the index.
const DIRECTORY: &str = ".well-known/agent-skills";

/// The name of the index.
const INDEX: &str = "index.json";

/// The largest file of an earlier run that is looked at, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The schema by which clients recognize the version of the index.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// Writes `skills` to `site`. All files are written beside their places first, so that a full disk changes nothing. The index takes its
/// place last, so that it never names a file that is not there yet; then the files are removed that only the index before it named.
pub(super) fn write(ui: &mut Ui, site: &Path, skills: &[PublishedFiles<'_>]) -> Result<Exit, CliError> {
    let directory = site.join(DIRECTORY);
    let before = written_before(&directory.join(INDEX));
    let (mut entries, mut new_files) = (Vec::new(), Vec::new());
    for PublishedFiles { name, description, files, .. } in skills {
        let file =
            |(path, file): (&SkillPath, &FileData)| (path.to_string(), file.executable, file.bytes.clone());
        let files: Vec<(String, bool, Vec<u8>)> = files.iter().map(file).collect();
        // A single file needs no archive.
        let (kind, url, bytes) = match files.as_slice() {
            [(path, _, bytes)] => ("skill-md", format!("{name}/{path}"), bytes.clone()),
            files => {
                let packed = pack_files(files).map_err(|error| CliError::io("pack", site, error))?;
                ("archive", format!("{name}.tar.gz"), packed)
            }
        };
        new_files.extend(NewFile::write(directory.join(&url), &bytes)?);
        entries.push(json!({
            "name": name,
            "type": kind,
            "description": description,
            "url": url,
            "digest": Digest::of(&bytes).to_string(),
        }));
    }
    let index = json!({"$schema": SCHEMA, "skills": entries});
    let mut text = serde_json::to_vec_pretty(&index)?;
    text.push(b'\n');
    new_files.extend(NewFile::write(directory.join(INDEX), &text)?);
    new_files.into_iter().try_for_each(NewFile::put)?;
    let is_named = |url: &String| entries.iter().any(|entry| entry["url"].as_str() == Some(url));
    for (url, digest) in before.iter().filter(|(url, _)| !is_named(url)) {
        remove_written(&directory, url, digest)?;
    }
    if ui.is_json() {
        let name =
            |entry: &Value| json!({"name": entry["name"], "url": entry["url"], "digest": entry["digest"]});
        let skills: Vec<Value> = entries.iter().map(name).collect();
        ui.write_json(&json!({"directory": site.display().to_string(), "skills": skills}))?;
    } else {
        let shown = site.display().to_string();
        writeln!(ui.out(), "wrote {} and the index to {}", count(entries.len(), "skill"), escape(&shown))?;
    }
    Ok(Exit::Success)
}

/// Returns the addresses and digests of the files that the index at `path` names, as this command names them; none if there is no
/// such index.
fn written_before(path: &Path) -> Vec<(String, String)> {
    let index = regular_file::read_no_follow(path, MAX_BYTES).ok();
    let index: Value = index.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let skills = index["skills"].as_array().filter(|_| index["$schema"] == SCHEMA);
    let written = |entry: &Value| {
        let (name, url) = (entry["name"].as_str()?, entry["url"].as_str()?);
        let is_name = SkillName::new(name).is_some_and(|known| known.as_str() == name);
        let is_ours = url == format!("{name}.tar.gz") || url == format!("{name}/SKILL.md");
        (is_name && is_ours).then(|| Some((url.to_owned(), entry["digest"].as_str()?.to_owned())))?
    };
    skills.into_iter().flatten().filter_map(written).collect()
}

/// Removes the file `url` below `directory`, if it is as it was written.
fn remove_written(directory: &Path, url: &str, digest: &str) -> Result<(), CliError> {
    let path = directory.join(url);
    let parent = path.parent().filter(|parent| *parent != directory);
    let is_linked = parent.is_some_and(Path::is_symlink);
    let is_ours = |bytes: Vec<u8>| Digest::of(&bytes).to_string() == digest;
    if is_linked || !regular_file::read_no_follow(&path, MAX_BYTES).is_ok_and(is_ours) {
        return Ok(());
    }
    fs::remove_file(&path).map_err(|error| CliError::io("remove", &path, error))?;
    if let Some(parent) = parent {
        // Something else may be in it; then it stays.
        let _ = fs::remove_dir(parent);
    }
    Ok(())
}

/// A file that was written beside its place. It is removed when this value is dropped before it takes its place.
struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
}

impl NewFile {
    /// Writes `bytes` beside `path`; returns `None` if the file has them already.
    fn write(path: PathBuf, bytes: &[u8]) -> Result<Option<Self>, CliError> {
        if regular_file::read_no_follow(&path, MAX_BYTES).is_ok_and(|found| found == bytes) {
            return Ok(None);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let file = Self { path, temporary };
        let parent = file.path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = parent.and_then(|()| fs::write(&file.temporary, bytes));
        written.map_err(|error| CliError::io("write", &file.path, error))?;
        Ok(Some(file))
    }

    /// Moves the file to its place.
    fn put(self) -> Result<(), CliError> {
        fs::rename(&self.temporary, &self.path).map_err(|error| CliError::io("write", &self.path, error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It is gone once it has its place.
        let _ = fs::remove_file(&self.temporary);
    }
}
