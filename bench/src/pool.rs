//! The documents that are searched, and the queries they are searched for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use repertoire_model::{Document, ManifestSource, Policy, SkillName};
use serde::Deserialize;

/// A `SKILL.md`.
#[derive(Clone)]
pub struct Skill {
    /// Its path below the directory that holds `skills/`.
    pub path: String,
    /// Its parsed `SKILL.md`.
    pub document: Document,
    /// Its instructions.
    pub body: String,
}

/// A query with the skills that it should find.
#[derive(Clone, Deserialize)]
pub struct Labelled {
    /// The query.
    pub query: String,
    /// The paths of the skills that it is meant for.
    pub gold: Vec<String>,
    /// The skills that it needs, each with others that do as well; empty if it needs those in `gold`.
    #[serde(default)]
    pub groups: Vec<Vec<String>>,
}

impl Labelled {
    /// Returns the owner of the skill it is meant for: the author, without the repository.
    pub fn owner(&self) -> &str {
        owner(self.author())
    }

    /// Returns whose skill it is meant for: the first directory below `skills/`.
    pub fn author(&self) -> &str {
        let first = self.gold.first().map(String::as_str).unwrap_or_default();
        first.split('/').nth(1).unwrap_or(first)
    }
}

/// Returns the skills `times` over, sorted by path, and the queries with each copy of a right skill as right.
///
/// Later copies have another name and path but the same texts, so there are no more different words.
pub fn repeated(
    mut skills: Vec<Skill>,
    mut queries: Vec<Labelled>,
    times: usize,
) -> (Vec<Skill>, Vec<Labelled>) {
    let originals = skills.len();
    for copy in 1..times {
        for place in 0..originals {
            let mut skill = skills[place].clone();
            // A word that is in no query.
            let name = format!("{}-zq{copy}", skill.document.name.as_str());
            skill.document.name = SkillName::new(&name).unwrap_or(skill.document.name);
            skill.path = copied(&skill.path, copy);
            skills.push(skill);
        }
    }
    skills.sort_by(|a, b| a.path.cmp(&b.path));
    for labelled in &mut queries {
        let gold = labelled.gold.clone();
        labelled.gold.extend((1..times).flat_map(|copy| gold.iter().map(move |path| copied(path, copy))));
    }
    (skills, queries)
}

/// Returns the authors with a skill in `pool`: the embedding table was trained on skills of the first pool.
pub fn authors(pool: &Path) -> Result<BTreeSet<String>> {
    let directory = pool.join("skills");
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let name =
        |entry: std::io::Result<fs::DirEntry>| Ok(owner(&entry?.file_name().to_string_lossy()).to_owned());
    entries.map(name).collect()
}

/// Returns the owner of the repository `name`, as in `owner__repository`.
fn owner(name: &str) -> &str {
    name.split("__").next().unwrap_or_default()
}

/// The number of queries for skills that do not exist.
#[derive(Debug, PartialEq, Eq)]
pub struct Unfindable {
    /// Those of which no skill is there.
    pub all: usize,
    /// Those of which some are there and some are not.
    pub some: usize,
}

/// Returns the number of `queries` for skills that are not among `skills`, which are sorted by path.
pub fn unfindable(skills: &[Skill], queries: &[Labelled]) -> Unfindable {
    let is_there =
        |path: &&String| skills.binary_search_by(|skill| skill.path.as_str().cmp(path.as_str())).is_ok();
    let mut unfindable = Unfindable { all: 0, some: 0 };
    for Labelled { gold, .. } in queries {
        match gold.iter().filter(is_there).count() {
            0 => unfindable.all += 1,
            there if there < gold.len() => unfindable.some += 1,
            _ => {}
        }
    }
    unfindable
}

fn copied(path: &str, copy: usize) -> String {
    format!("copy-{copy}/{path}")
}

/// Returns every file below `pools`, directories that hold `skills/` or are it, sorted by path.
pub fn skills(pools: &[impl AsRef<Path>]) -> Result<Vec<Skill>> {
    let mut all = Vec::new();
    for pool in pools {
        all.extend(skills_of(pool.as_ref())?);
    }
    // As texts, for they are looked up as texts: paths compare by their parts.
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|a, b| a.path == b.path);
    Ok(all)
}

/// Returns every file below `pool`, a directory that holds `skills/` or is it.
fn skills_of(pool: &Path) -> Result<Vec<Skill>> {
    let pool = fs::canonicalize(pool).with_context(|| format!("there is no {}", pool.display()))?;
    let (base, root) = match pool.join("skills") {
        below if below.is_dir() => (pool, below),
        _ => (pool.parent().map(Path::to_owned).unwrap_or_default(), pool),
    };
    let mut paths = Vec::new();
    walk(&root, &mut paths)?;
    ensure!(!paths.is_empty(), "no SKILL.md lies below {}", root.display());
    paths.iter().map(|path| skill(&base, path)).collect()
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

/// Returns the skill in the file at `path`, known by its path below `base`.
pub fn skill(base: &Path, path: &Path) -> Result<Skill> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned)
    };
    let (directory, file) = (name(path.parent()), name(Some(path)).unwrap_or_default());
    let source = ManifestSource { bytes: &bytes, directory: directory.as_deref(), file_name: &file };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(path: &str) -> Skill {
        let source =
            ManifestSource { bytes: b"---\nname: a\n---\nx", directory: Some("a"), file_name: "SKILL.md" };
        Skill {
            path: path.to_owned(),
            document: Document::parse(source, &Policy::default()),
            body: "x".to_owned(),
        }
    }

    #[test]
    fn unfindable_queries_are_counted() {
        let labelled = |gold: &[&str]| Labelled {
            query: "q".to_owned(),
            groups: Vec::new(),
            gold: gold.iter().map(|name| format!("skills/{name}/SKILL.md")).collect(),
        };
        let skills = [skill("skills/a/SKILL.md"), skill("skills/b/SKILL.md")];
        let queries = [&["a"][..], &["b", "c"], &["c"], &[]].map(labelled);
        assert_eq!(unfindable(&skills, &queries), Unfindable { all: 2, some: 1 });
    }

    #[test]
    fn copies_have_names_and_paths_of_their_own_and_are_as_right() {
        let labelled = Labelled {
            query: "q".to_owned(),
            groups: Vec::new(),
            gold: vec!["skills/o__r/a/SKILL.md".to_owned()],
        };
        assert_eq!(labelled.author(), "o__r");
        let (skills, queries) = repeated(vec![skill("skills/o__r/a/SKILL.md")], vec![labelled], 3);
        let shown: Vec<(&str, &str)> =
            skills.iter().map(|skill| (skill.path.as_str(), skill.document.name.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("copy-1/skills/o__r/a/SKILL.md", "a-zq1"),
                ("copy-2/skills/o__r/a/SKILL.md", "a-zq2"),
                ("skills/o__r/a/SKILL.md", "a"),
            ]
        );
        assert_eq!(queries[0].gold.len(), 3);
        assert!(queries[0].gold.iter().all(|gold| skills.iter().any(|skill| skill.path == *gold)));
        assert_eq!(queries[0].author(), "o__r");
    }
}
