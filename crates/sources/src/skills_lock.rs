//! `skills-lock.json`, version 1, of `npx skills`: kept in step where a project has one, and taken over.

use std::path::Path;

use repertoire_model::SkillName;
use repertoire_model::patch::SkillFiles;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::collation::collate;
use crate::lock::LockedSkill;
use crate::source::{Source, SourceText};

/// The name of the file in a project.
pub const SKILLS_LOCK_FILE: &str = "skills-lock.json";

/// The version that is understood.
const VERSION: u64 = 1;

/// The most skills of a file that are taken over.
const MAX_SKILLS: usize = 10_000;

/// A skill of a `skills-lock.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSkill {
    /// Its name.
    pub name: String,
    /// The source, as [`SourceText::parse`](crate::SourceText::parse) reads it, if it can be expressed so.
    pub source: Option<String>,
    /// The branch, tag or commit.
    pub reference: Option<String>,
    /// Its directory in the source.
    pub path: Option<String>,
    /// The hash of its files.
    pub hash: String,
}

/// Returns the skills that `text` lists, or the reason that it cannot be understood.
pub fn imported(text: &str) -> Result<Vec<ImportedSkill>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if document["version"].as_u64() != Some(VERSION) {
        return Err(format!("its version is not {VERSION}"));
    }
    let skills = document["skills"].as_object().ok_or("it has no skills")?;
    let word = |entry: &Value, key: &str| entry[key].as_str().map(str::to_owned);
    let skill = |(name, entry): (&String, &Value)| {
        let source = word(entry, "source").unwrap_or_default();
        let source = match entry["sourceType"].as_str() {
            Some("github") => Some(source),
            Some("local") if source.starts_with(['.', '/']) => Some(source),
            Some("local") => Some(format!("./{source}")),
            Some("git" | "gitlab") => word(entry, "sourceUrl"),
            Some("well-known") => word(entry, "sourceUrl"),
            _ => None,
        };
        let path = word(entry, "skillPath").and_then(|path| {
            let directory = path.strip_suffix("SKILL.md").unwrap_or(&path).trim_end_matches('/').to_owned();
            Some(directory).filter(|directory| !directory.is_empty())
        });
        ImportedSkill {
            name: name.clone(),
            source,
            reference: word(entry, "ref"),
            path,
            hash: word(entry, "computedHash").unwrap_or_default(),
        }
    };
    Ok(skills.iter().take(MAX_SKILLS).map(skill).collect())
}

/// Returns the `skills-lock.json` after skills were added, changed or removed; `None` if `text` is invalid.
pub(crate) fn updated(
    text: &str,
    changes: impl Iterator<Item = (SkillName, Option<(LockedSkill, SkillFiles)>)>,
) -> Option<String> {
    let mut document: Value = serde_json::from_str(text).ok()?;
    if document.get("version")?.as_u64() != Some(VERSION) {
        return None;
    }
    let skills = document.get_mut("skills")?.as_object_mut()?;
    for (name, change) in changes {
        let known = skills.remove(name.as_str());
        let entry = change.and_then(|(locked, files)| entry(&locked, &files, known.as_ref()));
        if let Some(entry) = entry {
            skills.insert(name.to_string(), entry);
        }
    }
    let mut sorted: Vec<(String, Value)> = std::mem::take(skills).into_iter().collect();
    sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    skills.extend(sorted);
    Some(format!("{}\n", serde_json::to_string_pretty(&document).ok()?))
}

/// Returns the entry of a skill; `None` for sources that this file cannot express.
fn entry(locked: &LockedSkill, files: &SkillFiles, known: Option<&Value>) -> Option<Value> {
    let hash = folder_hash(files);
    // It may say more than can be known here.
    if let Some(known) = known.filter(|known| known["computedHash"] == hash.as_str()) {
        return Some(known.clone());
    }
    let source = locked.source.as_str();
    let hosted = |host: &str| source.strip_prefix(&format!("https://{host}/"));
    let git = source.strip_prefix("git+").unwrap_or(source);
    let (name, url, kind) = if let Some(name) = hosted("github.com") {
        (name.trim_end_matches(".git"), None, "github")
    } else if let Some(name) = hosted("gitlab.com") {
        (name.trim_end_matches(".git"), Some(source), "gitlab")
    } else if source.starts_with('.') || source.starts_with('/') {
        (source, None, "local")
    } else if source != git || git.ends_with(".git") || git.contains('@') || git.starts_with("file://") {
        (git, Some(git), "git")
    } else if let Ok(Source::WellKnown(_)) =
        SourceText::parse(source, Path::new("/"), None).map(|it| it.source)
    {
        let host = source.split_once("://").map_or(source, |(_, rest)| rest);
        (host, Some(source), "well-known")
    } else {
        return None;
    };
    let mut entry = Map::new();
    entry.insert("source".to_owned(), json!(name));
    entry.extend(url.map(|url| ("sourceUrl".to_owned(), json!(url))));
    entry.extend(locked.reference.as_ref().map(|reference| ("ref".to_owned(), json!(reference))));
    entry.insert("sourceType".to_owned(), json!(kind));
    // Directories and indices are searched for the name.
    if !["well-known", "local"].contains(&kind) {
        let path =
            if locked.path == "." { "SKILL.md".to_owned() } else { format!("{}/SKILL.md", locked.path) };
        entry.insert("skillPath".to_owned(), json!(path));
    }
    entry.insert("computedHash".to_owned(), json!(hash));
    // Other fields that a newer version wrote stay.
    for (key, value) in known.and_then(Value::as_object).into_iter().flatten() {
        if !["sourceUrl", "ref", "wellKnownDigest"].contains(&key.as_str()) {
            entry.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    Some(Value::Object(entry))
}

/// Returns the hash of `npx skills` over the files of a skill.
pub fn folder_hash(files: &SkillFiles) -> String {
    let mut paths: Vec<_> = files.iter().collect();
    paths.sort_by(|a, b| collate(a.0.as_str(), b.0.as_str()));
    let mut hash = Sha256::new();
    for (path, file) in paths {
        hash.update(path.as_str());
        hash.update(&file.bytes);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use repertoire_model::SkillPath;
    use repertoire_model::patch::{FileData, bundle};

    use super::*;

    fn files(list: &[(&str, &str)]) -> SkillFiles {
        list.iter().map(|(path, text)| (SkillPath::new(path).unwrap(), FileData::new(*text))).collect()
    }

    #[test]
    fn other_entries_and_fields_stay() {
        let skill = files(&[("SKILL.md", "x")]);
        let locked = |name: &str, source: &str| LockedSkill {
            name: SkillName::new(name).unwrap(),
            source: source.to_owned(),
            reference: None,
            path: format!("skills/{name}"),
            resolved: None,
            digest: bundle(&skill).digest(),
            files: LockedSkill::digests(&skill),
        };
        let before = "{\n  \"version\": 1,\n  \"skills\": {\n    \"zeta\": {\n      \"source\": \"o/z\",\n      \"sourceType\": \"github\",\n      \"computedHash\": \"1\",\n      \"new\": true\n    },\n    \"old\": {}\n  }\n}\n";
        let name = |name: &str| SkillName::new(name).unwrap();
        let changes = vec![
            (name("pdf"), Some((locked("pdf", "https://github.com/owner/repo"), skill.clone()))),
            (name("zeta"), Some((locked("zeta", "https://github.com/o/z"), skill.clone()))),
            (name("old"), None),
        ];
        let after = updated(before, changes.into_iter()).unwrap();
        assert_eq!(
            after,
            r#"{
  "version": 1,
  "skills": {
    "pdf": {
      "source": "owner/repo",
      "sourceType": "github",
      "skillPath": "skills/pdf/SKILL.md",
      "computedHash": "39d26f221596a07add6e119c08eab4372a39032921e07e4a151a413ba8eadc0f"
    },
    "zeta": {
      "source": "o/z",
      "sourceType": "github",
      "skillPath": "skills/zeta/SKILL.md",
      "computedHash": "39d26f221596a07add6e119c08eab4372a39032921e07e4a151a413ba8eadc0f",
      "new": true
    }
  }
}
"#
        );
        let read = imported(&after).unwrap();
        assert_eq!(read[0].source.as_deref(), Some("owner/repo"));
        assert_eq!(read[0].path.as_deref(), Some("skills/pdf"));
        assert_eq!(updated("{\"version\": 2, \"skills\": {}}", std::iter::empty()), None);
        assert_eq!(updated("{", std::iter::empty()), None);
    }
}
