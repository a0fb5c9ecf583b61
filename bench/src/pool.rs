//! The documents that are searched, and the queries they are searched for.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use repertoire_model::{Document, Policy, Source};
use serde::Deserialize;

/// A `SKILL.md`.
pub struct Skill {
    /// Its path below the directory that holds `skills/`.
    pub path: String,
    /// What it says of itself.
    pub document: Document,
    /// Its instructions.
    pub body: String,
}

/// What somebody looks for, and what they should find.
#[derive(Deserialize)]
pub struct Labelled {
    /// What they say.
    pub query: String,
    /// The paths of the skills that it is meant for.
    pub gold: Vec<String>,
}

/// Returns every file below `pool`, a directory that holds `skills/` or is it, sorted by path.
pub fn skills(pool: &Path) -> Result<Vec<Skill>> {
    let pool = fs::canonicalize(pool).with_context(|| format!("there is no {}", pool.display()))?;
    let (base, root) = match pool.join("skills") {
        below if below.is_dir() => (pool, below),
        _ => (pool.parent().map(Path::to_owned).unwrap_or_default(), pool),
    };
    let mut paths = Vec::new();
    walk(&root, &mut paths)?;
    ensure!(!paths.is_empty(), "no SKILL.md lies below {}", root.display());
    let mut skills: Vec<Skill> = paths.iter().map(|path| skill(&base, path)).collect::<Result<_>>()?;
    // As texts, for they are looked up as texts: paths compare by their parts.
    skills.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(skills)
}

fn walk(directory: &Path, paths: &mut Vec<std::path::PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let entry = entry?;
        let path = entry.path();
        let is_manifest = |name: &str| name.eq_ignore_ascii_case("skill.md");
        if entry.file_type()?.is_dir() {
            walk(&path, paths)?;
        } else if entry.file_name().to_str().is_some_and(is_manifest) {
            paths.push(path);
        }
    }
    Ok(())
}

fn skill(base: &Path, path: &Path) -> Result<Skill> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned)
    };
    let (directory, file) = (name(path.parent()), name(Some(path)).unwrap_or_default());
    let source = Source { bytes: &bytes, directory: directory.as_deref(), file_name: &file };
    let document = Document::parse(source, &Policy::default());
    let body = String::from_utf8_lossy(bytes.get(document.body.offset..).unwrap_or_default()).into_owned();
    let path = path.strip_prefix(base).unwrap_or(path).to_string_lossy().replace('\\', "/");
    Ok(Skill { path, document, body })
}

/// Returns the queries of `file`, one JSON object a line.
pub fn queries(file: &Path) -> Result<Vec<Labelled>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{} line {}", file.display(), number + 1))
    });
    parsed.collect()
}
