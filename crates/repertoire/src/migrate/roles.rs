//! Reads the roles of a directory.

use std::path::{Path, PathBuf};

use repertoire_model::yaml;
use serde_json::Value;

use crate::prompt::{MAX_TEMPLATE_BYTES, SYSTEM_PROMPT_FILE};
use crate::provider::fs::safe_dir::{EntryKind, FsFault, SafeDir};
use crate::{Error, ErrorKind};

/// The other name of a role's prompt.
const JINJA_PROMPT_FILE: &str = "prompt.jinja2";
/// The name of the template of a task.
const TASK_PROMPT_FILE: &str = "task_prompt.md";
/// The name of a role's configuration.
const CONFIG_FILE: &str = "config.yaml";
/// The manifest of an extension whose agent has the role.
const MANIFEST_FILE: &str = "manifest.yaml";
/// The most entries of a directory that are read.
const MAX_ENTRIES: usize = 10_000;

/// The files of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleFiles {
    /// The name of its directory.
    pub name: String,
    /// `system_prompt.md`, or else `prompt.jinja2`.
    pub system_prompt: String,
    /// `task_prompt.md`.
    pub task_prompt: Option<String>,
    /// `config.yaml`.
    pub config: Option<String>,
    /// The skills in `agent.uses_skills` of `manifest.yaml`.
    pub uses_skills: Vec<String>,
    /// The text in `agent.instructions` of `manifest.yaml`.
    pub instructions: Option<String>,
}

impl RoleFiles {
    /// Takes what an agent has from `manifest`, the text of a `manifest.yaml`.
    fn manifest(&mut self, manifest: &str) {
        let root = yaml::parse(manifest).ok().and_then(|parsed| parsed.root.map(|root| root.to_json()));
        let agent = root.as_ref().and_then(|root| root.get("agent"));
        let skills = agent.and_then(|agent| agent.get("uses_skills")).and_then(Value::as_array);
        let skills = skills.into_iter().flatten().filter_map(Value::as_str);
        self.uses_skills = skills.map(str::to_owned).collect();
        let text = agent.and_then(|agent| agent.get("instructions")).and_then(Value::as_str);
        self.instructions = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    }
}

/// The roles of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RolesFound {
    /// The roles, by name.
    pub roles: Vec<RoleFiles>,
    /// The files that could not be read, with the reasons.
    pub problems: Vec<(PathBuf, String)>,
}

/// Returns the roles of `directory`: its sub-directories with a `system_prompt.md` or a `prompt.jinja2`.
///
/// Links are not followed. One role that cannot be read is a problem and leaves the others alone.
pub fn read_roles(directory: &Path) -> Result<RolesFound, Error> {
    let failed = |fault: FsFault| {
        let kind = if let FsFault::Missing = fault { ErrorKind::FileNotFound } else { ErrorKind::Io };
        Error::new(kind).at(directory).because(fault.into_io())
    };
    let handle = SafeDir::open(directory).map_err(failed)?;
    let mut listing = handle.entries(MAX_ENTRIES).map_err(failed)?;
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    let mut found = RolesFound::default();
    for entry in &listing.entries {
        let path = directory.join(&entry.name);
        let outcome = match entry.kind {
            EntryKind::Directory if entry.decoded => read_role(&handle, &entry.name),
            EntryKind::Directory => Err((PathBuf::new(), "its name is not UTF-8".to_owned())),
            EntryKind::Link => Err((PathBuf::new(), "it is a symbolic link".to_owned())),
            EntryKind::File | EntryKind::Special => Ok(None),
        };
        match outcome {
            Ok(role) => found.roles.extend(role),
            Err((file, why)) => found.problems.push((path.join(file), why)),
        }
    }
    if listing.more {
        let why = format!("it has more than {MAX_ENTRIES} entries; the rest was not looked at");
        found.problems.push((directory.to_owned(), why));
    }
    Ok(found)
}

fn read_role(handle: &SafeDir, name: &str) -> Result<Option<RoleFiles>, (PathBuf, String)> {
    let home = handle.open_dir(name).map_err(|fault| (PathBuf::new(), fault.message()))?;
    let read = |file: &str| {
        let bytes = match home.read(file, MAX_TEMPLATE_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(FsFault::Missing) => return Ok(None),
            Err(fault) => return Err((PathBuf::from(file), fault.message())),
        };
        String::from_utf8(bytes).map(Some).map_err(|_| (PathBuf::from(file), "it is not UTF-8".to_owned()))
    };
    let Some(system_prompt) =
        read(SYSTEM_PROMPT_FILE)?.map_or_else(|| read(JINJA_PROMPT_FILE), |text| Ok(Some(text)))?
    else {
        return Ok(None);
    };
    let (task_prompt, config) = (read(TASK_PROMPT_FILE)?, read(CONFIG_FILE)?);
    let mut role =
        RoleFiles { name: name.to_owned(), system_prompt, task_prompt, config, ..RoleFiles::default() };
    role.manifest(&read(MANIFEST_FILE)?.unwrap_or_default());
    Ok(Some(role))
}
