//! `rep publish --to well-known`: a directory with an index of skills and their archives, for any web server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use repertoire::change::{FileKind, MAX_FILE_BYTES, replace_file, target_of_temporary};
use repertoire::regular_file;
use repertoire_model::patch::FileData;
use repertoire_model::text::count;
use repertoire_model::{Digest, SkillName, SkillPath};
use repertoire_web::pack_files;
use serde_json::{Value, json};

use super::skill_copies::PublishedFiles;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;

/// The directory of the index.
const DIRECTORY: &str = ".well-known/agent-skills";

/// The name of the index.
const INDEX: &str = "index.json";

/// The endings of archives and of single files.
const ENDINGS: [&str; 2] = [".tar.gz", ".md"];

/// The schema by which clients recognize the version of the index.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The number of hexadecimal digits of a digest in the name of a file.
const DIGITS: usize = 32;

/// Writes `skills` to `site`, all or nothing for every reader at every moment.
///
/// The name of a file has the digest of its content, so that no file is ever replaced, and the index takes
/// its place last. The files that the index before named stay until the next publication, because its readers
/// may still fetch them. Older ones are removed, and files of a publication that was killed.
pub(super) fn write(ui: &mut Ui, site: &Path, skills: &[PublishedFiles<'_>]) -> Result<Exit, CliError> {
    let directory = site.join(DIRECTORY);
    fs::create_dir_all(&directory).map_err(|error| CliError::io("make", &directory, error))?;
    // Of two publications at once, one would remove the files of the other that no index names yet.
    let lock = File::open(&directory).ok();
    let _ = lock.as_ref().map(File::lock);
    let (mut entries, mut new_files) = (Vec::new(), Vec::new());
    let before = write_all(&directory, skills, &mut entries, &mut new_files).inspect_err(|_| {
        // They take room on a disk that may be full.
        new_files.iter().for_each(|path| drop(fs::remove_file(path)));
    })?;
    remove_old_files(&directory, &[urls(&entries), urls(&before)].concat());
    if ui.is_json() {
        let name =
            |entry: &Value| json!({"name": entry["name"], "url": entry["url"], "digest": entry["digest"]});
        let skills: Vec<Value> = entries.iter().map(name).collect();
        ui.write_json(&json!({"directory": site.display().to_string(), "skills": skills}))?;
    } else {
        let skills = count(entries.len(), "skill");
        ui.write_planned(None, &format!("wrote {skills} and the index to {}", site.display()))?;
    }
    Ok(Exit::Success)
}

/// Writes the files of `skills` to `directory` and then the index of `entries`, which it adds. Adds the paths
/// of the files that were not there before to `new_files`, and returns the entries of the index before.
fn write_all(
    directory: &Path,
    skills: &[PublishedFiles<'_>],
    entries: &mut Vec<Value>,
    new_files: &mut Vec<PathBuf>,
) -> Result<Vec<Value>, CliError> {
    for PublishedFiles { name, description, files, .. } in skills {
        let file =
            |(path, file): (&SkillPath, &FileData)| (path.to_string(), file.executable, file.bytes.clone());
        let files: Vec<(String, bool, Vec<u8>)> = files.iter().map(file).collect();
        // A single file needs no archive.
        let (kind, ending, bytes) = match files.as_slice() {
            [(_, _, bytes)] => ("skill-md", ENDINGS[1], bytes.clone()),
            files => {
                let packed = pack_files(files).map_err(|error| CliError::io("pack", directory, error))?;
                ("archive", ENDINGS[0], packed)
            }
        };
        let digest = Digest::of(&bytes);
        let url = format!("{name}-{}{ending}", &digest.to_hex()[..DIGITS]);
        new_files.extend(put(directory.join(&url), &bytes)?);
        entries.push(json!({
            "name": name,
            "type": kind,
            "description": description,
            "url": url,
            "digest": digest.to_string(),
        }));
    }
    let index = json!({"$schema": SCHEMA, "skills": entries});
    let mut text = serde_json::to_vec_pretty(&index)?;
    text.push(b'\n');
    let path = directory.join(INDEX);
    let before = regular_file::read(&path, MAX_FILE_BYTES).ok();
    put(path, &text)?;
    let before: Value = before.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    Ok(before["skills"].as_array().cloned().unwrap_or_default())
}

/// Makes the file at `path` hold `bytes`; returns the path if there was no such file before.
fn put(path: PathBuf, bytes: &[u8]) -> Result<Option<PathBuf>, CliError> {
    let before = regular_file::read(&path, MAX_FILE_BYTES).ok();
    if before.as_deref() != Some(bytes) {
        replace_file(&path, FileKind::User { before: before.as_deref() }, Some(bytes))?;
    }
    Ok(before.is_none().then_some(path))
}

/// Returns the addresses in `entries` of an index.
fn urls(entries: &[Value]) -> Vec<String> {
    entries.iter().filter_map(|entry| Some(entry["url"].as_str()?.to_owned())).collect()
}

/// Removes files that publications wrote in `directory`, except `kept`; what remains is left to the next one.
fn remove_old_files(directory: &Path, kept: &[String]) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if is_temporary(name) || (is_published(name) && !kept.iter().any(|kept| kept == name)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether a file called `name` was published: it has the name of a skill and a digest.
fn is_published(name: &str) -> bool {
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    stem.and_then(|stem| stem.rsplit_once('-')).is_some_and(|(skill, digest)| {
        digest.len() == DIGITS && digest.chars().all(is_digit) && SkillName::new(skill).is_some()
    })
}

/// Returns whether a file called `name` is one that [`replace_file`] began to write.
fn is_temporary(name: &str) -> bool {
    target_of_temporary(name).is_some_and(|file| file == INDEX || is_published(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_publications_are_taken_for_such() {
        let digest = &Digest::of(b"").to_hex()[..DIGITS];
        for (name, expect) in [
            (format!("pdf-{digest}.tar.gz"), true),
            (format!("pdf-forms-{digest}.md"), true),
            (format!("pdf-{digest}.zip"), false),
            (format!("-{digest}.md"), false),
            (format!("pdf-{}.md", digest.to_uppercase()), false),
            (format!("pdf-{}.md", &digest[1..]), false),
            ("pdf.tar.gz".to_owned(), false),
            ("index.json".to_owned(), false),
        ] {
            assert_eq!(is_published(&name), expect, "{name}");
            assert_eq!(is_temporary(&format!(".{name}.71.rep.tmp")), expect || name == INDEX, "{name}");
            assert!(!is_temporary(&name) && !is_temporary(&format!(".{name}.x y.rep.tmp")), "{name}");
        }
    }
}
