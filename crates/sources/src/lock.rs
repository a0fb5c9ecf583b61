//! `repertoire.lock`: the added skills, each with its source, the exact version and the digests of its files.

use std::collections::BTreeMap;
use std::path::Path;

use repertoire::change::read_file;
use repertoire_model::patch::{SkillFiles, bundle};
use repertoire_model::{Digest, SkillName, SkillPath};
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Source};

/// The name of the file in a project.
pub const LOCK_FILE: &str = "repertoire.lock";

/// The version of the format.
const VERSION: u32 = 1;

/// The largest lock that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The first lines of the file.
const HEADER: &str =
    "# Written by `rep add`, `rep update` and `rep remove`. `rep sync` restores what it says.\n";

/// A skill that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedSkill {
    /// Its name, and the name of its directory.
    pub name: SkillName,
    /// The source, as [`Source::to_locked`](crate::Source::to_locked) writes it.
    pub source: String,
    /// The branch, tag, commit or version that was asked for.
    pub reference: Option<String>,
    /// Its directory in the source.
    pub path: String,
    /// The exact version: a commit, a digest or the version of a package. None for a directory.
    pub resolved: Option<String>,
    /// The digest of its files as they came from the source.
    pub digest: Digest,
    /// The digests of its files.
    pub files: BTreeMap<SkillPath, Digest>,
}

impl LockedSkill {
    /// Returns the digests of `files`.
    pub fn digests(files: &SkillFiles) -> BTreeMap<SkillPath, Digest> {
        bundle(files).files().iter().map(|file| (file.path.clone(), file.digest)).collect()
    }

    /// Returns `true` if the skill was added from `source`, a part of it included: its directory and its
    /// branch, tag, commit or version count where `source` names them. Paths in the lock are relative to
    /// `base`.
    pub fn is_from(&self, source: &Source, base: &Path) -> bool {
        if self.source != source.to_locked(base) {
            return false;
        }
        let is_below = |directory: &str| {
            let rest = self.path.strip_prefix(directory.trim_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_at =
            |version: &str| [&self.reference, &self.resolved].into_iter().flatten().any(|own| own == version);
        let Source::Git(git) = source else { return source.reference().is_none_or(is_at) };
        let is_in_tree = |tree: &str| {
            let splits = tree.match_indices('/').map(|(place, _)| (&tree[..place], &tree[place + 1..]));
            is_at(tree) || splits.into_iter().any(|(reference, path)| is_at(reference) && is_below(path))
        };
        git.reference.as_deref().is_none_or(is_at)
            && git.path.as_deref().is_none_or(is_below)
            && git.tree.as_deref().is_none_or(is_in_tree)
    }
}

/// The skills of a lock, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    skills: BTreeMap<SkillName, LockedSkill>,
}

#[derive(Serialize, Deserialize)]
struct LockToml {
    version: u32,
    #[serde(default, rename = "skill", skip_serializing_if = "Vec::is_empty")]
    skills: Vec<SkillToml>,
}

#[derive(Serialize, Deserialize)]
struct SkillToml {
    name: String,
    source: String,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<String>,
    digest: String,
    files: BTreeMap<String, String>,
}

impl Lock {
    /// Reads the lock at `path`; empty if there is not one.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let Some(bytes) = read_file(path, MAX_BYTES)? else { return Ok(Self::default()) };
        let text = String::from_utf8(bytes).map_err(|error| broken(path, error.to_string()))?;
        Self::parse(&text).map_err(|reason| broken(path, reason))
    }

    /// Returns the lock that `text` is, or the reason that it is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::checked(toml::from_str(text).map_err(|error| toml_fault(text, &error))?)
    }

    /// Returns the lock that `document`, a parsed file, is, or the reason that it is not one.
    pub(crate) fn from_document(document: &serde_json::Value) -> Result<Self, String> {
        Self::checked(LockToml::deserialize(document).map_err(|error| error.to_string())?)
    }

    fn checked(lock: LockToml) -> Result<Self, String> {
        if lock.version != VERSION {
            return Err(format!("version {} is not known", lock.version));
        }
        let mut skills = BTreeMap::new();
        for skill in lock.skills {
            let skill = skill.parsed()?;
            let name = skill.name.clone();
            if skills.insert(name.clone(), skill).is_some() {
                return Err(format!("`{name}` is there twice"));
            }
        }
        Ok(Self { skills })
    }

    /// Returns the lock as text: sorted, the same for the same skills.
    pub fn to_text(&self) -> Result<String, Error> {
        let skill = |skill: &LockedSkill| SkillToml {
            name: skill.name.to_string(),
            source: skill.source.clone(),
            reference: skill.reference.clone(),
            path: skill.path.clone(),
            resolved: skill.resolved.clone(),
            digest: skill.digest.to_string(),
            files: skill.files.iter().map(|(path, digest)| (path.to_string(), digest.to_string())).collect(),
        };
        let lock = LockToml { version: VERSION, skills: self.skills.values().map(skill).collect() };
        let text = toml::to_string(&lock)
            .map_err(|error| Error::new(ErrorKind::Lock, "the lock cannot be written").because(error))?;
        Ok(format!("{HEADER}{text}"))
    }

    /// Returns the skills, sorted by name.
    pub fn skills(&self) -> impl ExactSizeIterator<Item = &LockedSkill> {
        self.skills.values()
    }

    /// Returns the skill called `name`.
    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        SkillName::new(name).and_then(|name| self.skills.get(&name))
    }

    /// Adds `skill`, in place of another one of its name.
    pub fn insert(&mut self, skill: LockedSkill) {
        self.skills.insert(skill.name.clone(), skill);
    }

    /// Removes the skill called `name`.
    pub fn remove(&mut self, name: &SkillName) -> Option<LockedSkill> {
        self.skills.remove(name)
    }

    /// Returns `true` if there are no skills.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }
}

impl SkillToml {
    fn parsed(self) -> Result<LockedSkill, String> {
        let of = |what: &str| format!("`{}` has no valid {what}", self.name);
        let name = SkillName::new(&self.name)
            .filter(|name| name.as_str() == self.name && SkillPath::new(name.as_str()).is_ok())
            .ok_or_else(|| format!("`{}` is not a name of a skill", self.name))?;
        let digest = Digest::parse(&self.digest).ok_or_else(|| of("digest"))?;
        // They become arguments of git.
        let is_word = |text: &String| {
            !text.starts_with('-')
                && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        };
        if !self.resolved.iter().all(is_word) || !self.reference.iter().all(is_word) {
            return Err(of("reference"));
        }
        let file =
            |(path, digest): (&String, &String)| Some((SkillPath::new(path).ok()?, Digest::parse(digest)?));
        let files: Option<BTreeMap<SkillPath, Digest>> = self.files.iter().map(file).collect();
        Ok(LockedSkill {
            name,
            files: files.ok_or_else(|| of("digests of files"))?,
            digest,
            source: self.source,
            reference: self.reference,
            path: self.path,
            resolved: self.resolved,
        })
    }
}

/// Returns a fault of TOML in one line, with the line that it is in.
fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{}{}", line.unwrap_or_default(), error.message())
}

fn broken(path: &Path, reason: String) -> Error {
    Error::new(ErrorKind::Lock, format!("{} is not a lock", path.display()))
        .because(reason)
        .hint("restore it from your version control, or remove it and add the skills again")
}

#[cfg(test)]
mod tests {
    use repertoire_model::patch::FileData;

    use super::*;

    fn skill(name: &str) -> LockedSkill {
        let mut files = SkillFiles::new();
        files.insert(SkillPath::new("SKILL.md").unwrap(), FileData::new("x"));
        LockedSkill {
            name: SkillName::new(name).unwrap(),
            source: "https://github.com/owner/repo".to_owned(),
            reference: Some("main".to_owned()),
            path: format!("skills/{name}"),
            resolved: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            digest: bundle(&files).digest(),
            files: LockedSkill::digests(&files),
        }
    }

    #[test]
    fn a_lock_reads_back_and_is_sorted() {
        let mut lock = Lock::default();
        lock.insert(skill("pdf"));
        lock.insert(LockedSkill { reference: None, resolved: None, ..skill("csv") });
        let text = lock.to_text().unwrap();
        assert_eq!(
            text,
            "# Written by `rep add`, `rep update` and `rep remove`. `rep sync` restores what it says.\n\
             version = 1\n\n\
             [[skill]]\n\
             name = \"csv\"\n\
             source = \"https://github.com/owner/repo\"\n\
             path = \"skills/csv\"\n\
             digest = \"sha256:a1780b3bbde0fae27b9379ae92dbe187b022ff8df75fa5d3eccb4e86d0519fcb\"\n\n\
             [skill.files]\n\
             \"SKILL.md\" = \"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\"\n\n\
             [[skill]]\n\
             name = \"pdf\"\n\
             source = \"https://github.com/owner/repo\"\n\
             ref = \"main\"\n\
             path = \"skills/pdf\"\n\
             resolved = \"0123456789abcdef0123456789abcdef01234567\"\n\
             digest = \"sha256:a1780b3bbde0fae27b9379ae92dbe187b022ff8df75fa5d3eccb4e86d0519fcb\"\n\n\
             [skill.files]\n\
             \"SKILL.md\" = \"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\"\n"
        );
        assert_eq!(Lock::parse(&text).unwrap(), lock);
    }

    #[test]
    fn a_skill_is_from_the_parts_of_a_source_that_contain_it() {
        let pdf = skill("pdf");
        let is_from = |text: &str| {
            let parsed = crate::SourceText::parse(text, Path::new("/project"), None).unwrap();
            pdf.is_from(&parsed.source, Path::new("/project"))
        };
        let commit = pdf.resolved.clone().unwrap();
        for text in [
            "owner/repo",
            "owner/repo#main",
            &format!("owner/repo#{commit}"),
            "owner/repo/skills",
            "owner/repo/skills/pdf",
            "https://github.com/owner/repo/tree/main",
            "https://github.com/owner/repo/tree/main/skills/pdf",
        ] {
            assert!(is_from(text), "{text}");
        }
        for text in [
            "owner/other",
            "owner/repo#next",
            "owner/repo/skills/pd",
            "owner/repo/skills/csv",
            "https://github.com/owner/repo/tree/next",
            "https://github.com/owner/repo/tree/main/skills/csv",
        ] {
            assert!(!is_from(text), "{text}");
        }
    }

    #[test]
    fn a_lock_that_does_not_fit_is_refused() {
        let mut lock = Lock::default();
        lock.insert(skill("pdf"));
        let text = lock.to_text().unwrap();
        for (from, to, reason) in [
            ("version = 1", "version = 2", "version 2 is not known"),
            ("name = \"pdf\"", "name = \"../pdf\"", "`../pdf` is not a name of a skill"),
            ("digest = \"sha256", "digest = \"md5", "no valid digest"),
            ("\"SKILL.md\"", "\"../SKILL.md\"", "no valid digests of files"),
            ("[[skill]]", "<<<<<<< HEAD", "line 4: "),
        ] {
            let error = Lock::parse(&text.replace(from, to)).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let twice = format!("{text}\n{}", text.split_once("version = 1").unwrap().1);
        assert_eq!(Lock::parse(&twice).unwrap_err(), "`pdf` is there twice");
    }

    #[test]
    fn a_lock_file_is_read_or_refused_with_advice() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("repertoire.lock");
        assert!(Lock::read(&path).unwrap().is_empty(), "there is not one");
        let check = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let error = Lock::read(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Lock);
            assert!(error.to_string().ends_with("repertoire.lock is not a lock"), "{error}");
            assert!(error.hints()[0].contains("version control"));
        };
        check(b"\xff");
        check(b"");
        check(b"version = 1\n[[skill]]\nname = \"a\"\n");
    }

    #[test]
    fn words_that_git_would_take_for_options_are_refused() {
        let mut lock = Lock::default();
        lock.insert(skill("pdf"));
        let text = lock.to_text().unwrap();
        let commit = skill("pdf").resolved.unwrap();
        for (from, to) in [
            ("ref = \"main\"", "ref = \"--upload-pack=x\""),
            ("ref = \"main\"", "ref = \"a b\""),
            ("ref = \"main\"", "ref = \"a\\nb\""),
            (commit.as_str(), "--output=x"),
        ] {
            let error = Lock::parse(&text.replace(from, to)).unwrap_err();
            assert_eq!(error, "`pdf` has no valid reference", "{to}");
        }
    }

    #[test]
    fn skills_are_found_replaced_and_removed_by_name() {
        let mut lock = Lock::default();
        lock.insert(skill("pdf"));
        lock.insert(LockedSkill { path: "other".to_owned(), ..skill("pdf") });
        assert_eq!((lock.skills().len(), lock.get("pdf").unwrap().path.as_str()), (1, "other"));
        for name in ["csv", "", "../pdf"] {
            assert_eq!(lock.get(name), None, "{name}");
        }
        assert!(lock.remove(&SkillName::new("csv").unwrap()).is_none());
        assert!(lock.remove(&SkillName::new("pdf").unwrap()).is_some() && lock.is_empty());
        assert_eq!(Lock::parse(&lock.to_text().unwrap()).unwrap(), lock);
    }
}
