//! The conformance suites: what every implementation of a trait must do.
//!
//! An implementation lays out [`library`] and hands its provider to [`provider_suite`], which panics at the
//! first departure. It is meant for tests, here and in other crates.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use repertoire_model::patch::FileData;
use repertoire_model::{Digest, LineRange, Policy, Profile, SkillPath, Standing};

use crate::provider::memory::SkillDefinition;
use crate::provider::{ListedSkill, Locator, Provider};
use crate::store::{ReleaseChange, Store, put_skill};
use crate::{Error, ErrorKind};

/// A skill that the suite expects a provider to hold.
#[derive(Debug, Clone, Copy)]
pub struct SuiteSkill {
    /// Its name, and that of its directory if it has one.
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
    /// Its instructions.
    pub body: &'static str,
    /// Its other files, hidden ones included.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// The skills that the suite expects, in order.
const LIBRARY: &[SuiteSkill] = &[
    SuiteSkill {
        name: "alpha",
        description: "Does the first thing. Use when the first thing is to be done.",
        body: "\n# Alpha\n\nSee references/guide.md.\n\n---\n\nThe end\n",
        files: &[
            (".env", b"TOKEN=secret\n"),
            (".private/note.md", b"secret\n"),
            ("assets/empty.txt", b""),
            ("assets/logo.bin", b"\x89PNG\x00\x01\xff\n\x00"),
            ("assets.txt", b"sorts before what is below assets/\n"),
            ("references/.hidden.md", b"secret\n"),
            ("references/deep/er/note.md", b"deep\n"),
            ("references/guide.md", b"one\ntwo\r\nthree"),
            ("scripts/run.sh", b"#!/bin/sh\ntrue\n"),
        ],
    },
    SuiteSkill {
        name: "beta",
        description: "Does the second thing. Use when the second thing is to be done.",
        body: "# Beta\n",
        files: &[],
    },
    SuiteSkill {
        name: "gamma",
        description: "Says \"quoted: things\" # and \\ more. Use when quotes are to be tried.",
        body: "# Gamma\r\n\r\nÜber alles: 技能.",
        files: &[("references/guide.md", b"another guide\n")],
    },
];

/// Returns the skills that a provider under test must hold, and no others.
pub fn library() -> &'static [SuiteSkill] {
    LIBRARY
}

impl SuiteSkill {
    /// Returns its `SKILL.md` as it stands on a disk.
    pub fn skill_md(&self) -> String {
        let description = self.description.replace('\\', "\\\\").replace('"', "\\\"");
        format!("---\nname: {}\ndescription: \"{description}\"\n---\n{}", self.name, self.body)
    }

    /// Returns it as a value.
    pub fn definition(&self) -> SkillDefinition {
        self.files.iter().fold(
            SkillDefinition::new(self.name, self.description, self.body),
            |definition, (path, bytes)| definition.with_resource(*path, *bytes),
        )
    }
}

/// Writes [`library`] below `root`, one directory for each skill.
pub fn write_library(root: &Path) -> std::io::Result<()> {
    for skill in library() {
        let directory = root.join(skill.name);
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join("SKILL.md"), skill.skill_md())?;
        for (path, bytes) in skill.files {
            let path = directory.join(path);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(path, bytes)?;
        }
    }
    Ok(())
}

/// Releases [`library`] in `channel` of `store`, without the hidden files, which are never published.
pub fn release_library(store: &dyn Store, channel: &str) -> Result<Option<u64>, Error> {
    let mut changes = Vec::new();
    for skill in library() {
        let text = skill.skill_md();
        let mut files = vec![("SKILL.md", text.as_bytes())];
        files.extend(skill.files.iter().filter(|(file, _)| !path(file).is_hidden()));
        changes.push(ReleaseChange { name: skill.name.to_owned(), digest: Some(put_files(store, &files)?) });
    }
    store.release(channel, &changes, None, SystemTime::UNIX_EPOCH)
}

/// Stores the files of a skill and returns the digest of their bundle.
pub fn put_files(store: &dyn Store, files: &[(&str, &[u8])]) -> Result<Digest, Error> {
    let file =
        |(file, bytes): &(&str, &[u8])| (path(file), FileData { executable: false, bytes: bytes.to_vec() });
    put_skill(store, &files.iter().map(file).collect())
}

/// Runs every check on a provider that holds [`library`].
pub async fn provider_suite(provider: &dyn Provider) {
    listing_is_sorted_and_stable(provider).await;
    unknown_locators_lead_nowhere(provider).await;
    skills_come_with_their_text(provider).await;
    files_are_sorted_and_without_hidden_ones(provider).await;
    files_are_read_byte_for_byte(provider).await;
    ranges_name_lines(provider).await;
    directories_and_missing_files_are_not_read(provider).await;
    bundles_name_the_bytes_that_are_read(provider).await;
}

/// Unwraps with a message, because these are tests although they do not look like it.
fn ok<T>(what: &str, outcome: Result<T, Error>) -> T {
    outcome.unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn path(text: &str) -> SkillPath {
    SkillPath::new(text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

async fn skills(provider: &dyn Provider) -> Vec<Arc<ListedSkill>> {
    ok("list", provider.list(&Policy::default()).await).skills
}

async fn locator(provider: &dyn Provider, name: &str) -> Locator {
    let listed = skills(provider).await;
    let skill = listed.iter().find(|skill| skill.document.name.as_str() == name);
    skill.unwrap_or_else(|| panic!("{name} is not listed")).locator.clone()
}

async fn listing_is_sorted_and_stable(provider: &dyn Provider) {
    let listing = ok("list", provider.list(&Policy::default()).await);
    let mut names: Vec<&str> = listing.skills.iter().map(|skill| skill.document.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.iter().eq(library().iter().map(|skill| &skill.name)), "{names:?}");
    assert!(listing.skills.is_sorted_by(|a, b| a.locator < b.locator), "sorted, no locator twice");
    assert!(listing.skills.iter().all(|skill| skill.document.standing == Standing::Sound));
    assert!(listing.skills.iter().all(|skill| skill.manifest_file == "SKILL.md"));
    assert_eq!(listing.problems, []);
    let strict = ok("list", provider.list(&Policy::of(Profile::Strict)).await);
    assert_eq!(strict.skills.len(), listing.skills.len());
    assert_eq!(ok("list again", provider.list(&Policy::default()).await), listing);
    for point in provider.watch_points().unwrap_or_default() {
        assert!(point.directory.is_absolute(), "{point:?}");
    }
    assert!(!provider.label().is_empty());
}

async fn unknown_locators_lead_nowhere(provider: &dyn Provider) {
    for text in ["", ".", "..", "/", "no-such-skill", "../alpha", "alpha/../beta", "/etc", "alpha/references"]
    {
        let locator = Locator::new(text);
        assert_eq!(ok(text, provider.get(&locator, &Policy::default()).await), None, "{text:?}");
        let kind = |error: Error| error.kind();
        let file = path("SKILL.md");
        let read = provider.read(&locator, &file, LineRange::default()).await;
        assert_eq!(read.map_err(kind), Err(ErrorKind::SkillNotFound), "{text:?}");
        assert_eq!(
            provider.files(&locator, &Policy::default()).await.map_err(kind),
            Err(ErrorKind::SkillNotFound),
            "{text:?}"
        );
        assert_eq!(provider.bundle(&locator).await.map_err(kind), Err(ErrorKind::SkillNotFound), "{text:?}");
    }
}

async fn skills_come_with_their_text(provider: &dyn Provider) {
    for expected in library() {
        let locator = locator(provider, expected.name).await;
        let Some(skill) = ok(expected.name, provider.get(&locator, &Policy::default()).await) else {
            panic!("{} is listed but not there", expected.name)
        };
        assert_eq!(&*skill.document.description, expected.description);
        assert_eq!(skill.body(), expected.body, "{}", expected.name);
        let content = provider.read(&locator, &path("SKILL.md"), LineRange::default()).await;
        assert_eq!(ok("read SKILL.md", content).bytes, skill.text.as_bytes());
        let listed = skills(provider).await.into_iter().find(|listed| listed.locator == locator);
        assert_eq!(listed.map(|listed| (*listed.document).clone()), Some(skill.document));
    }
}

async fn files_are_sorted_and_without_hidden_ones(provider: &dyn Provider) {
    for expected in library() {
        let listing =
            ok("files", provider.files(&locator(provider, expected.name).await, &Policy::default()).await);
        let mut paths: Vec<&str> = expected.files.iter().map(|(path, _)| *path).collect();
        paths.push("SKILL.md");
        paths.retain(|path| !path.split('/').any(|component| component.starts_with('.')));
        paths.sort_unstable();
        let listed: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(listed, paths);
        assert_eq!(listing.problems, []);
    }
}

async fn files_are_read_byte_for_byte(provider: &dyn Provider) {
    for expected in library() {
        let locator = locator(provider, expected.name).await;
        for (file, bytes) in expected.files.iter().filter(|(file, _)| !path(file).is_hidden()) {
            let content = ok(file, provider.read(&locator, &path(file), LineRange::default()).await);
            assert_eq!(content.bytes, *bytes, "{file}");
            assert_eq!(content.size, bytes.len() as u64, "{file}");
        }
    }
}

async fn ranges_name_lines(provider: &dyn Provider) {
    let locator = locator(provider, "alpha").await;
    let guide = path("references/guide.md");
    for (start, end, expected) in [
        (None, None, "one\ntwo\r\nthree"),
        (Some(2), None, "two\r\nthree"),
        (None, Some(2), "one\ntwo\r\n"),
        (Some(2), Some(2), "two\r\n"),
        (Some(3), Some(99), "three"),
        (Some(4), None, ""),
        (Some(3), Some(2), ""),
        (Some(0), Some(0), ""),
    ] {
        let content = ok("range", provider.read(&locator, &guide, LineRange::new(start, end)).await);
        assert_eq!(String::from_utf8_lossy(&content.bytes), expected, "{start:?}..={end:?}");
        assert_eq!((content.size, content.total_lines), (14, 3));
    }
    let empty = ok("empty", provider.read(&locator, &path("assets/empty.txt"), LineRange::default()).await);
    assert_eq!((empty.bytes.len(), empty.size, empty.lines, empty.total_lines), (0, 0, 0, 0));
}

async fn directories_and_missing_files_are_not_read(provider: &dyn Provider) {
    let locator = locator(provider, "alpha").await;
    for (file, kind) in [
        ("references", ErrorKind::IsDirectory),
        ("references/deep", ErrorKind::IsDirectory),
        ("references/missing.md", ErrorKind::FileNotFound),
        ("missing/guide.md", ErrorKind::FileNotFound),
        ("references/guide.md/below", ErrorKind::FileNotFound),
        ("%2e%2e/beta/SKILL.md", ErrorKind::FileNotFound),
        ("references/GUIDE.md", ErrorKind::FileNotFound),
        (".env", ErrorKind::Forbidden),
        (".private/note.md", ErrorKind::Forbidden),
        ("references/.hidden.md", ErrorKind::Forbidden),
        (".missing", ErrorKind::Forbidden),
    ] {
        match provider.read(&locator, &path(file), LineRange::default()).await {
            Ok(_) => panic!("{file} was read"),
            Err(error) => {
                assert_eq!(error.kind(), kind, "{file}");
                assert_eq!(error.subject(), Some(file));
            }
        }
    }
    // Paths that would leave the skill cannot even be constructed.
    for file in ["", ".", "..", "../beta/SKILL.md", "/etc/passwd", "a/../../b", "a\\..\\b", "a\0b", "a//b"] {
        assert!(SkillPath::new(file).is_err(), "{file:?}");
    }
}

async fn bundles_name_the_bytes_that_are_read(provider: &dyn Provider) {
    for expected in library() {
        let locator = locator(provider, expected.name).await;
        let bundle = ok("bundle", provider.bundle(&locator).await);
        let files = ok("files", provider.files(&locator, &Policy::default()).await).files;
        assert_eq!(bundle.files().len(), files.len());
        for (file, entry) in bundle.files().iter().zip(&files) {
            let content = ok("read", provider.read(&locator, &file.path, LineRange::default()).await);
            assert_eq!(file.digest, Digest::of(&content.bytes), "{}", file.path);
            assert_eq!((&file.path, Some(file.size)), (&entry.path, entry.size));
            assert_eq!(file.executable, entry.executable);
        }
        assert_eq!(ok("bundle again", provider.bundle(&locator).await).digest(), bundle.digest());
    }
}
