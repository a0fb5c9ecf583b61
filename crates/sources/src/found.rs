//! The skills of a source, found by the same rules as those of a directory that is given to `rep --root`.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;

use pollster::block_on;
use rayon::prelude::*;
use repertoire::discovery::{CANONICAL, project_skill_directories};
use repertoire::history::{MAX_RECORDED_BYTES, capture};
use repertoire::provider::Provider;
use repertoire::provider::fs::limits::GIVEN_DEPTH;
use repertoire::provider::fs::{FsOptions, FsProvider, LinkScope};
use repertoire::provider::limits::{FILE_DEPTH, FILES};
use repertoire::{Entry, Registry};
use repertoire_model::patch::SkillFiles;
use repertoire_model::toolbox::Capabilities;
use repertoire_model::{
    Diagnostic, Digest, Document, FileKind, ManifestSource, Policy, RuleId, Severity, SkillName, SkillPath,
    Standing, patch,
};

use crate::fetch::FetchedTree;
use crate::source::Source;

/// The most directories of a source that are searched; a lock may name any directory of this machine as one.
const MAX_DIRECTORIES: usize = 20_000;

/// A skill of a source.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundSkill {
    /// Its name.
    pub name: SkillName,
    /// Its description.
    pub description: String,
    /// Its directory in the source; `.` is the source itself.
    pub path: String,
    /// The name of its `SKILL.md`, which some spell differently.
    pub manifest_file: String,
    /// Its files; empty if they could not be read.
    pub files: SkillFiles,
    /// The digest of its files.
    pub digest: Digest,
    /// Everything that the rules find.
    pub findings: Vec<Diagnostic>,
    /// The reason that it cannot be added.
    pub fault: Option<String>,
    /// The tools that it brings along, and what they may do.
    pub capabilities: Capabilities,
    /// The tools of the host that it asks for.
    pub allowed_tools: Vec<String>,
    /// The names of the skills that it requires.
    pub requires: Vec<String>,
}

impl FoundSkill {
    /// Returns the files that can be run: files below `scripts/`, and executable ones.
    pub fn scripts(&self) -> Vec<&SkillPath> {
        let is_script = |path: &SkillPath| FileKind::of(path, &self.manifest_file) == FileKind::Script;
        let scripts = self.files.iter().filter(|(path, file)| file.executable || is_script(path));
        scripts.map(|(path, _)| path).collect()
    }

    /// Returns the size of its files.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes.len() as u64).sum()
    }

    /// Returns the text of its `SKILL.md`.
    pub fn text(&self) -> String {
        let manifest = self.files.iter().find(|(path, _)| path.as_str() == self.manifest_file);
        manifest.map(|(_, file)| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default()
    }
}

/// Returns the skills of `tree`, sorted by name and path, as `policy` judges them.
pub fn find_skills(tree: &FetchedTree, policy: &Policy) -> Vec<FoundSkill> {
    // Disabling here does not make the source wrong, and its own names are the names of its skills.
    let mut policy = policy.clone();
    policy.disabled.clear();
    let roots = hidden_directories(&tree.root).into_iter().chain([tree.root.clone()]);
    let resolved = tree.root.canonicalize().unwrap_or_else(|_| tree.root.clone());
    let provider = |(number, root): (usize, PathBuf)| -> Arc<dyn Provider> {
        let mut options = FsOptions::new(format!("source:{number}"), root);
        options.limits.max_depth = GIVEN_DEPTH;
        options.limits.max_directories = MAX_DIRECTORIES;
        // A link out of the source would bring along files of this machine.
        options.links = LinkScope::Within(vec![resolved.clone()]);
        Arc::new(FsProvider::new(options))
    };
    let registry = block_on(Registry::open_for_inspection(roots.enumerate().map(provider).collect(), policy));
    let snapshot = registry.snapshot();
    // The provider reads on the thread that asks if it is one of rayon's, and on a third one else, which
    // costs more than the reading.
    let entries = snapshot.entries().par_iter();
    let mut found: Vec<FoundSkill> = entries.map(|entry| skill(tree, &resolved, &registry, entry)).collect();
    found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    if found.iter().any(|skill| is_offered(tree, skill)) {
        found.retain(|skill| is_offered(tree, skill));
    }
    // A copy of a skill, as repositories keep one for each client, is not a second skill.
    found.dedup_by(|later, first| {
        later.name == first.name && later.digest == first.digest && first.fault.is_none()
    });
    found
}

/// Returns `false` if the skill lies where packages do not offer skills, such as among its tests.
fn is_offered(tree: &FetchedTree, skill: &FoundSkill) -> bool {
    let parts: Vec<&str> = skill.path.split('/').collect();
    let Some(position) = parts.iter().position(|part| *part == "skills") else {
        return !matches!(tree.source, Source::Npm(_) | Source::Pypi(_));
    };
    let above = parts[..position].strip_suffix(&[".agents"]).unwrap_or(&parts[..position]);
    match tree.source {
        Source::Npm(_) => above.is_empty(),
        Source::Pypi(_) => above.strip_prefix(&["src"]).unwrap_or(above).len() <= 1,
        _ => true,
    }
}

/// Returns the hidden directories of skills in `root`, which a scan of it leaves out: those of clients, and
/// `.agents/skills` of the directories in it, where Python packages have theirs.
fn hidden_directories(root: &Path) -> Vec<PathBuf> {
    let mut children: Vec<PathBuf> =
        fs::read_dir(root).into_iter().flatten().flatten().map(|child| child.path()).collect();
    children.sort();
    let of_clients = project_skill_directories().into_iter().map(|name| root.join(name));
    let of_packages = children.iter().map(|child| child.join(CANONICAL));
    of_clients.chain(of_packages).filter(|path| path.is_dir()).collect()
}

fn skill(tree: &FetchedTree, resolved: &Path, registry: &Registry, entry: &Entry) -> FoundSkill {
    // It gets a directory of its name.
    let is_kept = |found: &Diagnostic| found.rule != RuleId::NameDirectory;
    let findings: Vec<Diagnostic> = block_on(registry.check(entry)).into_iter().filter(is_kept).collect();
    let captured = block_on(capture(registry, entry));
    // A required skill that the source does not have may be here.
    let is_error =
        |found: &&Diagnostic| found.severity == Severity::Error && found.rule != RuleId::RequiresUnknown;
    let errors = || findings.iter().filter(is_error);
    let fault = match &captured {
        Err(error) if error.kind() == repertoire::ErrorKind::TooLarge => Some(size_fault(registry, entry)),
        Err(error) => Some(without_root(tree, resolved, &error.chain())),
        Ok(_) => errors().map(|found| found.message.clone()).next(),
    };
    let fault = fault.or_else(|| {
        let is_broken = entry.document.standing != Standing::Sound;
        is_broken.then(|| "its SKILL.md is not that of a sound skill".to_owned())
    });
    let (files, digest) = captured.unwrap_or_else(|_| {
        let files = SkillFiles::new();
        let digest = patch::bundle(&files).digest();
        (files, digest)
    });
    let fault = fault.or_else(|| name_fault(entry.name()));
    FoundSkill {
        name: entry.name().clone(),
        description: entry.document.description.to_string(),
        path: path_in_source(tree, resolved, entry.directory()),
        manifest_file: entry.manifest_file.to_string(),
        files,
        digest,
        findings,
        fault,
        capabilities: Capabilities::of(&block_on(registry.toolbox(entry))),
        allowed_tools: entry.document.manifest.allowed_tools.clone(),
        requires: registry.snapshot().required_by(entry),
    }
}

/// Returns the limit that a skill exceeds which is too large.
fn size_fault(registry: &Registry, entry: &Entry) -> String {
    let files = block_on(registry.files(entry)).map_or(0, |listing| listing.files.len());
    if files >= FILES {
        return format!("it has more than {FILES} files");
    }
    let size = MAX_RECORDED_BYTES >> 20;
    format!("a skill has at most {FILES} files of {size} MiB together, and directories {FILE_DEPTH} deep")
}

/// Returns `message` with paths as they are in the source, and not in the directory that it was fetched to.
fn without_root(tree: &FetchedTree, resolved: &Path, message: &str) -> String {
    let without = |text: &str, root: &Path| text.replace(&format!("{}{MAIN_SEPARATOR}", root.display()), "");
    without(&without(message, resolved), &tree.root)
}

/// Returns the reason that `files` are not a sound skill called `name`.
pub fn manifest_fault(files: &SkillFiles, name: &SkillName, policy: &Policy) -> Option<String> {
    let manifest = files.iter().find(|(path, _)| path.as_str().eq_ignore_ascii_case("SKILL.md"));
    let Some((path, file)) = manifest else { return Some("it has no SKILL.md".to_owned()) };
    let source =
        ManifestSource { bytes: &file.bytes, directory: Some(name.as_str()), file_name: path.as_str() };
    let document = Document::parse(source, policy);
    if document.standing != Standing::Sound {
        let error = document.diagnostics.iter().find(|found| found.severity == Severity::Error);
        return Some(error.map_or_else(|| "it is broken".to_owned(), |found| found.message.clone()));
    }
    (document.name != *name).then(|| format!("it is called `{}`", document.name))
}

/// Returns the reason that a skill of this name has no directory that is safe everywhere.
fn name_fault(name: &SkillName) -> Option<String> {
    SkillPath::new(name.as_str())
        .err()
        .map(|_| "its name cannot be the name of a directory everywhere".to_owned())
}

fn path_in_source(tree: &FetchedTree, resolved: &Path, directory: &str) -> String {
    let below = Path::new(directory).strip_prefix(resolved).unwrap_or(Path::new(""));
    let below: Vec<String> =
        below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let parts: Vec<&str> =
        tree.below.iter().map(String::as_str).chain(below.iter().map(String::as_str)).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repertoire_model::patch::FileData;

    use super::*;
    use crate::git::tests::repository::skill;
    use crate::{FetchOptions, fetch};

    /// Returns the skills of a directory with `files`, each with its path and why it cannot be added.
    fn found(files: &[(&str, &str)]) -> Vec<(String, String, Option<String>)> {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let source = Source::Directory(directory.path().to_owned());
        let tree = fetch(&source, &FetchOptions::new(directory.path().join("scratch"))).unwrap();
        let skills = find_skills(&tree, &Policy::default());
        skills.into_iter().map(|skill| (skill.name.to_string(), skill.path, skill.fault)).collect()
    }

    #[test]
    fn skills_are_found_once_wherever_a_source_keeps_them() {
        let check = |files: &[(&str, &str)], expect: &[(&str, &str)]| {
            let found = found(files);
            let found: Vec<(&str, &str)> =
                found.iter().map(|(name, path, _)| (name.as_str(), path.as_str())).collect();
            assert_eq!(found, expect);
        };
        let (a, b) = (skill("a", "A.\n"), skill("b", "B.\n"));
        check(&[], &[]);
        check(&[("SKILL.md", &a)], &[("a", ".")]);
        check(&[("skills/b/SKILL.md", &b), ("x/a/SKILL.md", &a)], &[("a", "x/a"), ("b", "skills/b")]);
        check(&[(".claude/skills/a/SKILL.md", &a)], &[("a", ".claude/skills/a")]);
        // A copy for another client is the same skill.
        check(&[(".claude/skills/a/SKILL.md", &a), ("skills/a/SKILL.md", &a)], &[("a", ".claude/skills/a")]);
    }

    #[test]
    fn skills_that_cannot_be_added_have_the_reason() {
        let check = |text: &str, reason: Option<&str>| {
            let fault = found(&[("a/SKILL.md", text)]).remove(0).2;
            assert_eq!(fault.is_some(), reason.is_some(), "{fault:?}");
            assert!(fault.unwrap_or_default().contains(reason.unwrap_or_default()));
        };
        check(&skill("a", "A.\n"), None);
        check("---\nname: [\n", Some(""));
        check(&skill("con", "A.\n"), Some("cannot be the name of a directory everywhere"));
    }

    #[test]
    fn merged_files_have_to_be_a_sound_skill_of_the_same_name() {
        let check = |list: &[(&str, String)], expect: Option<&str>| {
            let files: SkillFiles = list
                .iter()
                .map(|(path, text)| (SkillPath::new(path).unwrap(), FileData::new(text.as_str())))
                .collect::<BTreeMap<_, _>>();
            let fault = manifest_fault(&files, &SkillName::new("a").unwrap(), &Policy::default());
            assert_eq!(fault.as_deref(), expect);
        };
        check(&[("SKILL.md", skill("a", "A.\n"))], None);
        check(&[("skill.md", skill("a", "A.\n"))], None);
        check(&[("README.md", skill("a", "A.\n"))], Some("it has no SKILL.md"));
        check(&[("SKILL.md", skill("b", "A.\n"))], Some("it is called `b`"));
    }
}
