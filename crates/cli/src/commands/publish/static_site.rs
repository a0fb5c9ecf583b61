//! A directory with an index of skills and their archives, for any web server.

use std::fs;
use std::path::Path;

use repertoire_model::Digest;
use repertoire_model::SkillPath;
use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_server::pack_files;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, count, escape};

/// The directory of the index.
const DIRECTORY: &str = ".well-known/agent-skills";

/// The schema by which clients recognize the version of the index.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// A skill to write.
pub(super) struct PublishedFiles<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) files: &'a SkillFiles,
}

/// Writes `skills` to `site`; the index comes last, so that it never names what is not there yet.
pub(super) fn write(ui: &mut Ui, site: &Path, skills: &[PublishedFiles<'_>]) -> Result<Exit, CliError> {
    let directory = site.join(DIRECTORY);
    let mut entries = Vec::new();
    for PublishedFiles { name, description, files } in skills {
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
        put(&directory.join(&url), &bytes)?;
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
    put(&directory.join("index.json"), &text)?;
    if ui.is_json() {
        let name =
            |entry: &Value| json!({"name": entry["name"], "url": entry["url"], "digest": entry["digest"]});
        let skills: Vec<Value> = entries.iter().map(name).collect();
        ui.write_json(&json!({"directory": site.display().to_string(), "skills": skills}))?;
    } else {
        let shown = site.display().to_string();
        writeln!(ui.out(), "wrote {} and their index to {}", count(entries.len(), "skill"), escape(&shown))?;
    }
    Ok(Exit::Success)
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    parent.and_then(|()| fs::write(path, bytes)).map_err(|error| CliError::io("write", path, error))
}
