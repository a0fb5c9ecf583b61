//! Tests of the skills and problems found below a root.

use std::os::unix::fs::{PermissionsExt, symlink};

use repertoire_model::{Diagnostic, Standing};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

#[test]
fn a_missing_or_empty_root_is_empty() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(list(&provider(root.path())), Listing::default());
    let later = provider(&root.path().join("later"));
    assert_eq!(list(&later), Listing::default());
    write_skill(root.path(), "later/a");
    assert_eq!(locators(&list(&later)), ["a"]);
}

#[test]
fn a_root_that_is_a_file_is_a_problem() {
    let root = tempfile::tempdir().unwrap();
    write(root.path().join("file"), "");
    let listing = list(&provider(&root.path().join("file")));
    assert_eq!((listing.skills.len(), rules(&listing)), (0, vec![RuleId::SourceBroken]));
}

#[test]
fn skills_are_sorted_and_everything_else_is_passed_over() {
    let root = tempfile::tempdir().unwrap();
    for name in ["gamma", "alpha", "beta", ".git", ".hidden", "node_modules", "target"] {
        write_skill(root.path(), name);
    }
    write(root.path().join("README.md"), "");
    write(root.path().join("no-skill/README.md"), "");
    write_skill(root.path(), "category/below");
    write_skill(root.path(), "alpha/nested");
    let listing = list(&provider(root.path()));
    assert_eq!(locators(&listing), ["alpha", "beta", "category/below", "gamma"]);
    assert_eq!(listing.problems, []);
    let alpha = &listing.skills[0];
    assert_eq!(&*alpha.path, root.path().join("alpha").to_str().unwrap());
    let resolved = root.path().canonicalize().unwrap().join("alpha");
    assert_eq!(alpha.identity.as_deref(), resolved.to_str());
}

#[test]
fn deeper_levels_are_looked_at_on_demand() {
    let root = tempfile::tempdir().unwrap();
    for path in ["a", "a/nested", "b/c", "b/c/d", "b/e/f/g", "b/node_modules/h"] {
        write_skill(root.path(), path);
    }
    let scan = |max_depth, nested| {
        let mut options = FsOptions::new("test", root.path());
        options.limits.max_depth = max_depth;
        options.limits.nested = nested;
        list(&FsProvider::new(options))
            .skills
            .into_iter()
            .map(|s| s.locator.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(scan(0, false), ["a"]);
    assert_eq!(scan(1, false), ["a"]);
    assert_eq!(scan(2, false), ["a", "b/c"]);
    assert_eq!(scan(4, false), ["a", "b/c", "b/e/f/g"]);
    assert_eq!(scan(99, true), ["a", "a/nested", "b/c", "b/c/d", "b/e/f/g"]);
}

#[test]
fn a_root_with_a_skill_md_is_one_skill() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "alpha");
    write_skill(root.path(), "alpha/nested");
    let provider = provider(&root.path().join("alpha"));
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["."]);
    assert_eq!(listing.skills[0].document.name.as_str(), "alpha");
    let files = block_on(provider.files(&listing.skills[0].locator, &Policy::default())).unwrap();
    let paths: Vec<&str> = files.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["SKILL.md", "nested/SKILL.md"]);
    assert!(block_on(provider.get(&listing.skills[0].locator, &Policy::default())).unwrap().is_some());
}

#[test]
fn a_stray_skill_md_beside_skills_hides_none_of_them() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    for name in ["a", "b", "group/c", ".hidden"] {
        write_skill(&skills, name);
    }
    let provider = provider(&skills);
    let with = |text: &str| {
        write(skills.join("SKILL.md"), text);
        let listing = list(&provider);
        let locators: Vec<String> = locators(&listing).into_iter().map(str::to_owned).collect();
        (locators.join(" "), rules(&listing))
    };
    let (stray, none) = (vec![RuleId::FrontmatterMissing], Vec::new());
    assert_eq!(with("# My skills\n"), ("a b group/c".to_owned(), stray));
    let mut options = FsOptions::new("test", &skills);
    options.limits.nested = true;
    assert_eq!(locators(&list(&FsProvider::new(options))), ["a", "b", "group/c"]);
    // One that says what it is for is a skill like the others, unless the root is evidently its directory.
    assert_eq!(with(&skill_md("other")), (". a b group/c".to_owned(), none.clone()));
    assert_eq!(with(&skill_md("skills")), (".".to_owned(), none.clone()));
    for name in ["a", "b"] {
        fs::remove_dir_all(skills.join(name)).unwrap();
    }
    assert_eq!(with(&skill_md("other")), (".".to_owned(), none.clone()));
    assert_eq!(with("# My skills\n"), (". group/c".to_owned(), none));
}

#[test]
fn a_root_that_holds_other_skills_is_not_to_be_renamed_after_its_own_skill_md() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    write(skills.join("SKILL.md"), skill_md("other"));
    let provider = provider(&skills);
    let help = || {
        let listing = list(&provider);
        let skill = block_on(provider.get(&listing.skills[0].locator, &Policy::default())).unwrap().unwrap();
        let is_mismatch = |found: &&Diagnostic| found.rule == RuleId::NameDirectory;
        skill.document.diagnostics.iter().find(is_mismatch).unwrap().help.clone().unwrap()
    };
    write_skill(&skills, ".hidden");
    assert_eq!(help(), "rename the directory to `other`, or write: name: skills");
    write_skill(&skills, "a");
    assert_eq!(help(), "move SKILL.md into a directory `other`; its directory holds other skills");
}

#[test]
fn hidden_directories_are_searched_on_demand() {
    let root = tempfile::tempdir().unwrap();
    for path in [
        "skills/.curated/a",
        ".kiro/skills/b",
        "c",
        ".git/d",
        ".venv/e",
        "x/node_modules/f",
        ".rep-staging-1-0-c",
    ] {
        write_skill(root.path(), path);
    }
    assert_eq!(locators(&list(&provider(root.path()))), ["c"]);
    let mut options = FsOptions::new("test", root.path());
    options.limits.hidden = true;
    let hidden = FsProvider::new(options);
    assert_eq!(locators(&list(&hidden)), [".kiro/skills/b", "c", "skills/.curated/a"]);
    // They are not part of a root that is a skill.
    write(root.path().join("SKILL.md"), skill_md("root"));
    fs::remove_dir_all(root.path().join("c")).unwrap();
    assert_eq!(locators(&list(&hidden)), [".", ".kiro/skills/b"]);
}

#[test]
fn other_spellings_are_found_and_the_exact_one_preferred() {
    let root = tempfile::tempdir().unwrap();
    write(root.path().join("a/skill.md"), skill_md("a"));
    write(root.path().join("b/SKILL.MD"), skill_md("b"));
    write(root.path().join("c/Skill.md"), "wrong");
    write(root.path().join("c/SKILL.md"), skill_md("c"));
    write(root.path().join("d/skill.md/x"), "");
    let provider = provider(root.path());
    let listing = list(&provider);
    let spelled: Vec<(&str, &str)> =
        listing.skills.iter().map(|s| (s.locator.as_str(), &*s.manifest_file)).collect();
    assert_eq!(spelled, [("a", "skill.md"), ("b", "SKILL.MD"), ("c", "SKILL.md")]);
    let skill = block_on(provider.get(&Locator::new("a"), &Policy::default())).unwrap().unwrap();
    assert_eq!(skill.text, skill_md("a"));
    let files = block_on(provider.files(&Locator::new("a"), &Policy::default())).unwrap().files;
    assert_eq!(files[0].kind, repertoire_model::FileKind::Manifest);

    // In the root itself another spelling counts only where there is nothing else.
    let one = provider_of(&root.path().join("a"));
    assert_eq!(locators(&list(&one)), ["."]);
    write(root.path().join("Skill.md"), "stray");
    assert_eq!(list(&provider).skills.len(), 3);
}

fn provider_of(root: &Path) -> FsProvider {
    provider(root)
}

#[test]
fn one_broken_skill_does_not_break_the_others() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "good");
    write(root.path().join("huge/SKILL.md"), vec![b'x'; 1024 * 1024 + 1]);
    fs::create_dir_all(root.path().join("directory/SKILL.md")).unwrap();
    fs::create_dir(root.path().join("pipe")).unwrap();
    mknodat(CWD, root.path().join("pipe/SKILL.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let provider = provider(root.path());
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["directory", "good", "huge", "pipe"]);
    let of = |name: &str| {
        let skill = listing.skills.iter().find(|skill| skill.locator.as_str() == name).unwrap();
        (skill.document.standing, skill.document.diagnostics.first().map(|d| d.rule))
    };
    assert_eq!(of("directory"), (Standing::Quarantined, Some(RuleId::FileUnreadable)));
    assert_eq!(of("huge"), (Standing::Quarantined, Some(RuleId::FileTooLarge)));
    assert_eq!(of("pipe"), (Standing::Quarantined, Some(RuleId::FileUnreadable)));
    assert_eq!(of("good").0, Standing::Sound);
    let pipe = block_on(provider.get(&Locator::new("pipe"), &Policy::default())).unwrap().unwrap();
    assert_eq!((pipe.document.standing, pipe.text.as_str()), (Standing::Quarantined, ""));
}

#[test]
fn links_directly_below_the_root_are_resolved_once() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "skills/a");
    write_skill(root.path(), "elsewhere/b");
    write(root.path().join("elsewhere/b/references/x.md"), "x");
    let skills = root.path().join("skills");
    symlink("a", skills.join("again")).unwrap();
    symlink("../elsewhere/b", skills.join("b")).unwrap();
    symlink("loop", skills.join("loop")).unwrap();
    symlink("missing", skills.join("dangling")).unwrap();
    symlink("..", skills.join("up")).unwrap();
    symlink("a/SKILL.md", skills.join("file")).unwrap();
    let provider = provider(&skills);
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["a", "again", "b"]);
    assert_eq!(listing.skills[0].identity, listing.skills[1].identity);
    let resolved = root.path().canonicalize().unwrap().join("elsewhere/b");
    assert_eq!(listing.skills[2].identity.as_deref(), resolved.to_str());
    assert_eq!(rules(&listing), [RuleId::FileSymlink; 3]);
    let ends = ["dangling", "loop", "up"];
    assert!(listing.problems.iter().zip(ends).all(|(problem, end)| problem.path.ends_with(end)));
    let b = Locator::new("b");
    assert_eq!(block_on(provider.get(&b, &Policy::default())).unwrap().unwrap().text, skill_md("b"));
    assert_eq!(block_on(provider.files(&b, &Policy::default())).unwrap().files.len(), 2);

    // A link put in the place of a resolved directory is not followed.
    fs::rename(root.path().join("elsewhere/b"), root.path().join("elsewhere/c")).unwrap();
    symlink("c", root.path().join("elsewhere/b")).unwrap();
    assert_eq!(block_on(provider.get(&b, &Policy::default())).unwrap(), None);
}

#[test]
fn links_may_be_confined() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "skills/a");
    write_skill(root.path(), "other/b");
    write_skill(root.path(), "elsewhere/c");
    let skills = root.path().join("skills");
    symlink("a", skills.join("again")).unwrap();
    symlink("../other/b", skills.join("b")).unwrap();
    symlink("../elsewhere/c", skills.join("c")).unwrap();
    // The directories are compared without links: one that is named by a link is the one behind it.
    symlink("other", root.path().join("alias")).unwrap();
    let listing = |directories: &[&str]| {
        let directories = directories.iter().map(|directory| root.path().join(directory)).collect();
        list(&FsProvider::new(FsOptions {
            links: LinkScope::Within(directories),
            ..FsOptions::new("test", &skills)
        }))
    };
    for (directories, expect) in [
        (&[][..], &["a", "again"][..]),
        (&["alias", "missing"], &["a", "again", "b"]),
        (&["other", "elsewhere"], &["a", "again", "b", "c"]),
        // A directory whose name merely starts the same is another.
        (&["oth", "elsewhere/c/deeper"], &["a", "again"]),
    ] {
        let listing = listing(directories);
        assert_eq!(locators(&listing), expect);
        assert_eq!(rules(&listing), vec![RuleId::FileSymlink; 4 - expect.len()]);
    }
}

#[test]
fn a_skill_md_may_link_to_its_source_and_no_further() {
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    write_skill(&skills, "a");
    write(root.path().join("secret.md"), "secret");
    write(skills.join("b/docs/main.md"), skill_md("b"));
    symlink("docs/main.md", skills.join("b/SKILL.md")).unwrap();
    for (name, target) in [
        ("c", "../a/SKILL.md"),
        ("out", "../../secret.md"),
        ("absolute", "/etc/passwd"),
        ("nowhere", "missing"),
        ("self", "SKILL.md"),
        ("hidden", "../.env"),
    ] {
        fs::create_dir(skills.join(name)).unwrap();
        symlink(target, skills.join(name).join("SKILL.md")).unwrap();
    }
    write(skills.join(".env"), "TOKEN=secret");
    let provider = provider(&skills);
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["a", "absolute", "b", "c", "hidden", "nowhere", "out", "self"]);
    for skill in &listing.skills {
        let sound = ["a", "b", "c"].contains(&skill.locator.as_str());
        assert_eq!(skill.document.standing == Standing::Sound, sound, "{:?}", skill.locator);
        let got = block_on(provider.get(&skill.locator, &Policy::default())).unwrap().unwrap();
        assert_eq!(got.document, *skill.document);
        let read = block_on(provider.read(
            &skill.locator,
            &SkillPath::new("SKILL.md").unwrap(),
            LineRange::default(),
        ));
        if sound {
            assert_eq!(read.unwrap().bytes, got.text.as_bytes());
            let files = block_on(provider.files(&skill.locator, &Policy::default())).unwrap();
            assert!(files.files.iter().any(|file| file.path.as_str() == "SKILL.md"));
            assert_eq!(files.problems, []);
            assert!(block_on(provider.bundle(&skill.locator)).is_ok());
        } else {
            assert_eq!(skill.document.diagnostics[0].rule, RuleId::FileSymlink);
            assert_eq!(got.text, "");
            assert_eq!(read.unwrap_err().kind(), crate::ErrorKind::Forbidden);
        }
    }
}

#[test]
fn unreadable_skills_are_reported_and_others_listed() {
    let root = tempfile::tempdir().unwrap();
    for name in ["a", "closed", "unreadable"] {
        write_skill(root.path(), name);
    }
    if !permissions_bind(root.path()) {
        return;
    }
    let closed = root.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(root.path().join("unreadable/SKILL.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let listing = list(&provider(root.path()));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(locators(&listing), ["a", "unreadable"]);
    assert_eq!(listing.skills[1].document.diagnostics[0].rule, RuleId::FileUnreadable);
    assert_eq!(rules(&listing), [RuleId::FileUnreadable]);
}

#[test]
fn bounds_cut_off_the_same_directories_every_time() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..10_100 {
        fs::create_dir(root.path().join(format!("{number:05}"))).unwrap();
    }
    for name in ["00007", "09999", "10000", "10050"] {
        write_skill(root.path(), name);
    }
    let mut options = FsOptions::new("test", root.path());
    options.limits.max_directories = 10_000;
    let provider = FsProvider::new(options);
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["00007", "09999"]);
    assert_eq!(rules(&listing), [RuleId::SourceLimit]);
    assert_eq!(list(&provider), listing);

    let mut options = FsOptions::new("test", root.path());
    options.limits.max_entries = 50;
    let listing = list(&FsProvider::new(options));
    assert!(listing.skills.len() <= 4);
    assert_eq!(rules(&listing), [RuleId::SourceLimit]);
}

#[test]
fn names_that_are_not_unicode_are_reported() {
    use std::os::unix::ffi::OsStrExt;
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    if fs::create_dir(root.path().join(name)).is_ok() {
        write(root.path().join(name).join("SKILL.md"), skill_md("cafe"));
        let listing = list(&provider(root.path()));
        assert_eq!((locators(&listing), rules(&listing)), (vec!["a"], vec![RuleId::FileName]));
    }
}

#[test]
fn a_link_to_a_group_of_skills_is_followed_or_reported() {
    let root = tempfile::tempdir().unwrap();
    let (skills, elsewhere) = (root.path().join("skills"), root.path().join("elsewhere"));
    write_skill(&skills, "own");
    write_skill(&elsewhere, ".group/one");
    write_skill(&elsewhere, ".group/two");
    write_skill(&elsewhere, "deep/er/three");
    symlink("../elsewhere/.group", skills.join("team")).unwrap();
    symlink("../elsewhere/deep", skills.join("other")).unwrap();
    let provider = provider(&skills);
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["own", "team/one", "team/two"]);
    assert_eq!(rules(&listing), [RuleId::FileSymlink]);
    assert!(listing.problems[0].path.ends_with("skills/other"), "{:?}", listing.problems);
    let text = block_on(provider.get(&Locator::new("team/one"), &Policy::default())).unwrap().unwrap().text;
    assert_eq!(text, skill_md("one"));
    let points = provider.watch_points().unwrap();
    let group = elsewhere.canonicalize().unwrap().join(".group");
    assert!(points.iter().any(|point| point.directory == group), "{points:?}");
}

#[test]
fn links_in_groups_are_followed_as_those_directly_below_the_root() {
    let root = tempfile::tempdir().unwrap();
    let (skills, elsewhere) = (root.path().join("skills"), root.path().join("elsewhere"));
    write_skill(&skills, "group/own");
    write_skill(&elsewhere, "one");
    write_skill(&elsewhere, "team/two");
    fs::create_dir_all(elsewhere.join("docs")).unwrap();
    write(elsewhere.join("file"), "");
    for (link, target) in [
        ("one", "one"),
        ("team", "team"),
        ("docs", "docs"),
        ("file", "file"),
        (".hidden", "one"),
        ("missing", "missing"),
    ] {
        symlink(elsewhere.join(target), skills.join("group").join(link)).unwrap();
    }
    symlink("..", skills.join("group/up")).unwrap();
    let provider = provider(&skills);
    let listing = list(&provider);
    assert_eq!(locators(&listing), ["group/one", "group/own", "group/team/two"]);
    assert_eq!(rules(&listing), [RuleId::FileSymlink], "{:?}", listing.problems);
    assert!(listing.problems[0].path.ends_with("group/missing"), "{:?}", listing.problems);
    let two = Locator::new("group/team/two");
    assert_eq!(block_on(provider.get(&two, &Policy::default())).unwrap().unwrap().text, skill_md("two"));
    let confined = FsOptions { links: LinkScope::Within(Vec::new()), ..FsOptions::new("test", &skills) };
    let listing = list(&FsProvider::new(confined));
    assert_eq!(locators(&listing), ["group/own"]);
    assert!(rules(&listing).iter().all(|rule| *rule == RuleId::FileSymlink), "{:?}", listing.problems);
}

#[test]
fn skills_that_lie_too_deep_are_reported_once() {
    let root = tempfile::tempdir().unwrap();
    for path in ["a", "b/c/d", "b/c/e/f/g", "b/c/h/i", "deep/er/and/deeper", "node_modules/x/y/z"] {
        write_skill(root.path(), path);
    }
    fs::create_dir(root.path().join("deep/.git")).unwrap();
    let listing = list(&provider(root.path()));
    assert_eq!(locators(&listing), ["a", "b/c/d"]);
    assert_eq!(rules(&listing), [RuleId::SourceLimit, RuleId::SourceLimit], "{:?}", listing.problems);
    let (repository, too_deep) = (&listing.problems[0], &listing.problems[1]);
    assert!(repository.path.ends_with("/deep"), "{repository:?}");
    assert!(too_deep.path.ends_with("b/c/h/i"), "{too_deep:?}");
    assert!(too_deep.diagnostic.message.contains("deeper than 3 levels"), "{too_deep:?}");
}

#[test]
fn groups_behind_links_share_the_limit_of_directories() {
    let root = tempfile::tempdir().unwrap();
    let (skills, group) = (root.path().join("skills"), root.path().join("group"));
    for name in ["one", "two", "three"] {
        write_skill(&group, name);
    }
    write_skill(&skills, "own");
    symlink("../group", skills.join("a")).unwrap();
    symlink("../group", skills.join("b")).unwrap();
    symlink("..", skills.join("up")).unwrap();
    let mut options = FsOptions::new("test", &skills);
    options.limits.max_directories = 5;
    let listing = list(&FsProvider::new(options));
    assert_eq!(listing.skills.len(), 6, "{:?}", locators(&listing));
    assert!(rules(&listing).contains(&RuleId::SourceLimit), "{:?}", listing.problems);
    assert!(locators(&listing).iter().all(|locator| !locator.starts_with("up/")));
}

#[test]
fn a_root_with_a_misspelt_manifest_is_one_skill_whatever_lies_in_its_files() {
    let root = tempfile::tempdir().unwrap();
    write(root.path().join("skill.md"), skill_md("creator"));
    write(root.path().join("assets/template/SKILL.md"), skill_md("template"));
    assert_eq!(locators(&list(&provider(root.path()))), ["."]);
}

#[test]
fn a_file_that_was_meant_to_be_a_skill_md_is_reported() {
    let root = tempfile::tempdir().unwrap();
    write(root.path().join("a/SKILLS.md"), skill_md("a"));
    write(root.path().join("group/b/skill.txt"), skill_md("b"));
    write(root.path().join("c/README.md"), skill_md("c"));
    write(root.path().join("d/SKILL.md"), skill_md("d"));
    write(root.path().join("d/SKILLS.md"), "more");
    let listing = list(&provider(root.path()));
    assert_eq!(locators(&listing), ["d"]);
    assert_eq!(rules(&listing), [RuleId::ManifestCase, RuleId::ManifestCase]);
    assert!(listing.problems[0].diagnostic.message.contains("`SKILLS.md`"), "{:?}", listing.problems);
}
