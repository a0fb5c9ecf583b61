//! Tests of the provider of skills defined in code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pollster::block_on;
use proptest::prelude::*;
use repertoire_model::{Digest, Manifest, Policy};

use super::*;
use crate::ErrorKind;
use crate::provider::*;
use crate::testing;
use repertoire_model::RuleId;

fn greet() -> SkillDefinition {
    SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n")
}

#[test]
fn the_provider_suite_holds() {
    let skills = testing::library().iter().map(testing::SuiteSkill::definition).collect();
    block_on(testing::provider_suite(&MemoryProvider::new("builtin", skills)));
}

#[test]
fn sound_definitions_are_returned_as_they_are() {
    let skill = define_skill(greet().with_resource("references/a.md", "a")).unwrap();
    assert_eq!(skill.manifest.name.as_deref(), Some("greet"));
    assert_eq!(skill.resources.len(), 1);
}

#[test]
fn unsound_definitions_are_refused_with_every_reason() {
    let check = |skill: SkillDefinition, rules: &[RuleId]| {
        let error = define_skill(skill).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSkill);
        let found: Vec<RuleId> = error.diagnostics().iter().map(|diagnostic| diagnostic.rule).collect();
        assert_eq!(found, rules);
        assert!(error.to_string().contains(&error.diagnostics()[0].message));
    };
    check(SkillDefinition::new("", "", ""), &[RuleId::NameMissing, RuleId::DescriptionMissing]);
    for name in ["Greet", "a b", "-a", "a-", "a--b", "../a", "a\0", "ä", &"a".repeat(65)] {
        check(SkillDefinition::new(name, "Does it.", ""), &[RuleId::NameGrammar]);
    }
    check(SkillDefinition::new("a", "x".repeat(1025), ""), &[RuleId::DescriptionLong]);
    assert!(define_skill(SkillDefinition::new("a", "ü".repeat(1024), "b")).is_ok());
    check(greet().with_resource("../a", "a").with_resource(".env", "a"), &[RuleId::FileName; 2]);
    check(greet().with_resource("Skill.md", "a"), &[RuleId::FileCollision]);
    check(greet().with_resource("a.md", "a").with_resource("A.md", "a"), &[RuleId::FileCollision]);
}

#[test]
fn loaders_are_asked_when_needed_and_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let skill = greet()
        .with_resource(
            "references/sync.md",
            Resource::lazy(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(b"sync\n".to_vec())
            }),
        )
        .with_resource("references/async.md", Resource::lazy_async(|| async { Ok(b"async\n".to_vec()) }))
        .with_resource("references/broken.md", Resource::lazy(|| Err("no network".into())));
    let provider = MemoryProvider::new("builtin", vec![skill]);
    let locator = Locator::new("greet");
    block_on(async {
        provider.list(&Policy::default()).await.unwrap();
        provider.get(&locator, &Policy::default()).await.unwrap().unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        let read = |path| {
            let path = SkillPath::new(path).unwrap();
            let (provider, locator) = (&provider, &locator);
            async move { provider.read(locator, &path, LineRange::default()).await }
        };
        let sizes = |listing: FileListing| -> Vec<Option<u64>> {
            assert_eq!(listing.problems, []);
            listing.files[1..].iter().map(|file| file.size).collect()
        };
        let digest = provider.digest(&locator).await.unwrap();
        assert_eq!(sizes(provider.files(&locator, &Policy::default()).await.unwrap()), [None, None, None]);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        assert_eq!(read("references/sync.md").await.unwrap().bytes, b"sync\n");
        assert_eq!(read("references/sync.md").await.unwrap().bytes, b"sync\n");
        assert_eq!(read("references/async.md").await.unwrap().bytes, b"async\n");
        assert_eq!(read("references/broken.md").await.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(
            sizes(provider.files(&locator, &Policy::default()).await.unwrap()),
            [Some(6), None, Some(5)],
            "a file has a size once it was read, and a broken one is still listed"
        );
        assert_eq!(provider.digest(&locator).await.unwrap(), digest);
        assert_eq!(provider.bundle(&locator).await.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn versions_and_bundles_of_a_skill_have_its_lazy_files() {
    let lazy = || greet().with_resource("a.md", Resource::lazy(|| Ok(b"a".to_vec())));
    let provider = Arc::new(MemoryProvider::new("builtin", vec![lazy()]));
    block_on(async {
        let registry = crate::Registry::open(vec![provider], Policy::default()).await.unwrap();
        let snapshot = registry.snapshot();
        let entry = &snapshot.entries()[0];
        let (files, digest) = crate::history::capture(&registry, entry).await.unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(registry.bundle(entry).await.unwrap().digest(), digest);
        assert_ne!(registry.digest(entry).await.unwrap(), digest);
        assert!(registry.is_at(entry, &digest).await.unwrap());
        assert!(!registry.is_at(entry, &Digest::of(b"")).await.unwrap());
    });
}

#[test]
fn resources_with_impossible_paths_are_reported_and_never_read() {
    let skill = greet().with_resource("../../etc/passwd", "a").with_resource("SKILL.md", "b");
    let provider = MemoryProvider::new("builtin", vec![skill]);
    let listing = block_on(provider.files(&Locator::new("greet"), &Policy::default())).unwrap();
    assert_eq!(listing.files.len(), 1);
    assert_eq!(listing.problems.len(), 2);
}

#[test]
fn skills_that_share_a_name_are_both_listed() {
    let provider = MemoryProvider::new("builtin", vec![greet(), greet()]);
    let listing = block_on(provider.list(&Policy::default())).unwrap();
    assert_eq!(listing.skills.len(), 2);
    assert_ne!(listing.skills[0].locator, listing.skills[1].locator);
}

#[test]
fn locators_are_unique_for_equal_and_similar_names() {
    let named = |name: &str| SkillDefinition::new(name, "Does it.", "");
    let provider = MemoryProvider::new("builtin", vec![named("a"), named("a#2"), named("a"), named("a")]);
    let mut locators: Vec<Locator> = block_on(provider.list(&Policy::default()))
        .unwrap()
        .skills
        .into_iter()
        .map(|skill| skill.locator.clone())
        .collect();
    locators.dedup();
    assert_eq!(locators.len(), 4);
}

#[test]
fn characters_that_yaml_cannot_hold_are_read_back() {
    let description = "a\u{2028}b\u{2029}c\u{FEFF}d\u{FFFE}e\u{85}f\u{7f}g\u{E0041}h";
    let provider = MemoryProvider::new("builtin", vec![SkillDefinition::new("greet", description, "")]);
    let skill = block_on(provider.get(&Locator::new("greet"), &Policy::default())).unwrap().unwrap();
    assert_eq!(skill.document.manifest.description.as_deref(), Some(description));
    assert!(!skill.document.repaired);
}

/// Texts that a field can hold: YAML has no way to write some, and readers trim blanks at the ends.
const FIELD: &str = "[a-zA-Z0-9\"'#:\\\\{}\\[\\]&*!|>%@`,?~-]([ -~äß技能\u{1F600}]{0,20}[a-z\"':#])?";

proptest! {
    #[test]
    fn skill_definitions_round_trip(
        texts in prop::collection::vec(prop::option::of(FIELD), 5),
        lists in prop::collection::vec(prop::collection::vec(FIELD, 0..3), 6),
        metadata in prop::collection::btree_map("[a-z]{1,8}[0-9]", FIELD, 0..3),
        hidden in any::<bool>(),
        invocable in any::<Option<bool>>(),
        body in any::<String>(),
    ) {
        let (mut texts, mut lists) = (texts.into_iter(), lists.into_iter());
        let (mut text, mut list) = (|| texts.next().unwrap(), || lists.next().unwrap());
        let mut manifest = Manifest::default();
        manifest.name = Some("greet".into());
        manifest.description = Some(text().unwrap_or("Greets.".to_owned()).into());
        manifest.license = text();
        manifest.compatibility = text();
        manifest.version = text();
        manifest.author = text();
        manifest.metadata = metadata.into_iter().collect();
        manifest.allowed_tools = vec!["Read".to_owned(), "Bash(git add:*)".to_owned()];
        manifest.trigger_keywords = list();
        manifest.references = list();
        manifest.scripts = list();
        manifest.assets = list();
        manifest.tags = list();
        manifest.requires = list();
        manifest.disable_model_invocation = hidden;
        manifest.user_invocable = invocable;
        let skill = SkillDefinition { manifest: manifest.clone(), body: body.clone(), ..SkillDefinition::default() };
        let provider = MemoryProvider::new("builtin", vec![skill]);
        let skill = block_on(provider.get(&Locator::new("greet"), &Policy::default())).unwrap().unwrap();
        prop_assert_eq!(&skill.document.manifest, &manifest);
        prop_assert!(!skill.document.repaired);
        prop_assert_eq!(skill.body(), &body);
    }
}
