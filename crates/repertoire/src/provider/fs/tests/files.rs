//! Tests of listing and reading the files of a skill.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use repertoire_model::{Digest, FileKind};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::ErrorKind;

fn files(provider: &FsProvider, locator: &str) -> FileListing {
    list(provider);
    block_on(provider.files(&Locator::new(locator), &Policy::default())).unwrap()
}

fn read(provider: &FsProvider, locator: &str, path: &str) -> Result<Vec<u8>, ErrorKind> {
    let path = SkillPath::new(path).unwrap();
    let content = block_on(provider.read(&Locator::new(locator), &path, LineRange::default()));
    content.map(|content| content.bytes).map_err(|error| error.kind())
}

#[test]
fn files_have_kinds_sizes_and_modes() {
    let root = tempfile::tempdir().unwrap();
    let skill = root.path().join("a");
    write_skill(root.path(), "a");
    write(skill.join("scripts/run.sh"), "#!/bin/sh\n");
    write(skill.join("scripts.md"), "before what is below scripts/");
    fs::set_permissions(skill.join("scripts/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let listing = files(&provider(root.path()), "a");
    let listed: Vec<(&str, FileKind, bool)> =
        listing.files.iter().map(|file| (file.path.as_str(), file.kind, file.executable)).collect();
    assert_eq!(
        listed,
        [
            ("SKILL.md", FileKind::Manifest, false),
            ("scripts.md", FileKind::Other, false),
            ("scripts/run.sh", FileKind::Script, true),
        ]
    );
}

#[test]
fn left_out_files_are_reported() {
    let root = tempfile::tempdir().unwrap();
    let skill = root.path().join("a");
    write_skill(root.path(), "a");
    write(root.path().join("secret"), "secret");
    write(skill.join("Guide.md"), "");
    write(skill.join("guide.md"), "");
    write(skill.join("aux.md"), "");
    write(skill.join("back\\slash"), "");
    write(skill.join("dir:ectory/x"), "");
    symlink("../secret", skill.join("link")).unwrap();
    symlink(".", skill.join("loop")).unwrap();
    mknodat(CWD, skill.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let provider = provider(root.path());
    let listing = files(&provider, "a");
    let paths: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["Guide.md", "SKILL.md", "guide.md"]);
    let mut rules: Vec<(RuleId, &str)> =
        listing.problems.iter().map(|problem| (problem.rule, problem.file.as_deref().unwrap())).collect();
    rules.sort();
    assert_eq!(
        rules,
        [
            (RuleId::FileName, "aux.md"),
            (RuleId::FileName, "back\\slash"),
            (RuleId::FileName, "dir:ectory"),
            (RuleId::FileSymlink, "link"),
            (RuleId::FileSymlink, "loop"),
            (RuleId::FileSpecial, "pipe"),
        ]
    );
    assert_eq!(read(&provider, "a", "link"), Err(ErrorKind::Forbidden));
    assert_eq!(read(&provider, "a", "loop/SKILL.md"), Err(ErrorKind::Forbidden));
    assert_eq!(read(&provider, "a", "pipe"), Err(ErrorKind::Forbidden));
    assert_eq!(block_on(provider.bundle(&Locator::new("a"))).unwrap().files().len(), 3);
}

#[test]
fn bounds_hold_and_leave_no_digest_of_half_a_skill() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "many");
    for number in 0..30 {
        write(root.path().join(format!("many/{number:02}.md")), "");
    }
    write_skill(root.path(), "deep");
    write(root.path().join("deep/1/2/3/4.md"), "");
    write_skill(root.path(), "large");
    write(root.path().join("large/file"), vec![0; 2000]);
    write_skill(root.path(), "sum");
    for number in 0..4 {
        write(root.path().join(format!("sum/{number}")), vec![0; 900]);
    }
    let mut options = FsOptions::new("test", root.path());
    options.caps =
        FileCaps { manifest_bytes: 1000, file_bytes: 1000, bundle_bytes: 3000, files: 20, depth: 3 };
    let provider = FsProvider::new(options);
    let bundle = |name| block_on(provider.bundle(&Locator::new(name))).map_err(|error| error.kind());
    let many = files(&provider, "many");
    assert_eq!((many.files.len(), many.problems[0].rule), (20, RuleId::FileCount));
    assert_eq!(many, files(&provider, "many"));
    let deep = files(&provider, "deep");
    assert_eq!((deep.files.len(), deep.problems[0].rule), (1, RuleId::FileCount));
    assert_eq!(read(&provider, "large", "file"), Err(ErrorKind::TooLarge));
    for name in ["many", "deep", "large", "sum"] {
        assert_eq!(bundle(name), Err(ErrorKind::TooLarge), "{name}");
    }
}

#[test]
fn a_skill_that_went_away_is_not_found() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    let provider = provider(root.path());
    list(&provider);
    fs::remove_dir_all(root.path().join("a")).unwrap();
    assert_eq!(block_on(provider.get(&Locator::new("a"), &Policy::default())).unwrap(), None);
    assert_eq!(read(&provider, "a", "SKILL.md"), Err(ErrorKind::SkillNotFound));
    let files = block_on(provider.files(&Locator::new("a"), &Policy::default()));
    assert_eq!(files.unwrap_err().kind(), ErrorKind::SkillNotFound);
}

#[test]
fn skills_stay_known_while_the_root_is_broken() {
    let root = tempfile::tempdir().unwrap();
    let (skills, away) = (root.path().join("skills"), root.path().join("away"));
    write_skill(&skills, "a");
    let provider = provider(&skills);
    list(&provider);
    fs::rename(&skills, &away).unwrap();
    assert_eq!(list(&provider), Listing::default());
    assert_eq!(read(&provider, "a", "SKILL.md"), Err(ErrorKind::SkillNotFound));
    write(&skills, "");
    assert_eq!(rules(&list(&provider)), [RuleId::SourceBroken]);
    fs::remove_file(&skills).unwrap();
    fs::rename(&away, &skills).unwrap();
    assert_eq!(read(&provider, "a", "SKILL.md"), Ok(skill_md("a").into_bytes()));
}

#[test]
fn a_fault_of_the_system_is_not_taken_for_absence() {
    let root = tempfile::tempdir().unwrap();
    let provider = provider(&root.path().join("no\0path"));
    let error = block_on(provider.get(&Locator::new("a"), &Policy::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn locators_work_without_a_listing() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    assert_eq!(read(&provider(root.path()), "a", "SKILL.md"), Ok(skill_md("a").into_bytes()));
}

#[test]
fn a_skill_swapped_for_a_link_never_gives_other_bytes() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    write_skill(&skills, "a");
    write(skills.join("a/references/x.md"), "inside");
    write(root.path().join("out/SKILL.md"), "secret");
    write(root.path().join("out/references/x.md"), "secret");
    symlink("../out", skills.join(".link")).unwrap();
    symlink("../../out/references", skills.join(".references")).unwrap();
    let provider = provider(&skills);
    list(&provider);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [
                    ("a", ".real"),
                    (".link", "a"),
                    ("a", ".link"),
                    (".real", "a"),
                    ("a/references", "a/.kept"),
                    (".references", "a/references"),
                    ("a/references", ".references"),
                    ("a/.kept", "a/references"),
                ] {
                    fs::rename(skills.join(from), skills.join(to)).unwrap();
                }
            }
        });
        let a = Locator::new("a");
        let mut seen = 0;
        // On a busy machine the other thread may be paused while the link is in place.
        for attempt in 0..150_000 {
            if attempt >= 1_500 && seen > 0 {
                break;
            }
            if let Ok(bytes) = read(&provider, "a", "references/x.md") {
                assert_eq!(bytes, b"inside");
                seen += 1;
            }
            if let Ok(Some(skill)) = block_on(provider.get(&a, &Policy::default())) {
                assert!(!skill.text.contains("secret"));
            }
            if let Ok(bundle) = block_on(provider.bundle(&a)) {
                assert!(bundle.files().iter().all(|file| file.digest != Digest::of(b"secret")));
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(seen > 0);
    });
}
