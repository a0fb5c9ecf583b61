//! Scans that remember the one before.

use std::io::Read;
use std::time::{Duration, SystemTime};

use super::*;
use crate::provider::Changes;

struct Warm {
    root: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Warm {
    fn new(skills: &[&str]) -> Self {
        let warm = Self { root: tempfile::tempdir().unwrap(), cache: tempfile::tempdir().unwrap() };
        for skill in skills {
            write_skill(warm.root.path(), skill);
        }
        warm
    }

    fn provider(&self) -> FsProvider {
        let mut options = FsOptions::new("test", self.root.path());
        options.cache = Some(self.cache.path().to_owned());
        FsProvider::new(options)
    }

    /// Returns the one file of the cache; one that is being written is hidden.
    fn file(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.cache.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|extension| extension == "skills")).collect();
        assert!(files.len() <= 1, "{files:?}");
        files.pop()
    }
}

/// Waits until what was just written is old enough to be trusted. The change time of a file cannot be set back.
fn settle() {
    std::thread::sleep(Duration::from_millis(2_100));
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn fresh_files_are_not_trusted_and_old_ones_are() {
    use std::os::unix::fs::PermissionsExt;
    let warm = Warm::new(&["a", "b"]);
    write(warm.root.path().join("c/skill.md"), skill_md("c"));
    let cold = list(&warm.provider());
    assert_eq!(warm.file(), None);
    settle();
    assert_eq!(list(&warm.provider()), cold);
    let file = warm.file().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let written = fs::metadata(&file).unwrap().modified().unwrap();

    // Nothing changed: the same answer, and the file is left alone.
    let provider = warm.provider();
    assert_eq!(list(&provider), cold);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);

    // What the cache says is what is believed: proof that the file is not read.
    let resolved = warm.root.path().canonicalize().unwrap();
    let options = provider.options();
    let cache_file = cache::CacheFile::new(warm.cache.path(), cache::key(options, &resolved));
    let cache = cache_file.load().unwrap();
    let mut builder = cache::Builder::new(cache_file.key(), cache.root_entries().as_ref());
    for (path, remembered) in cache.all() {
        let mut document = remembered.document().unwrap();
        document.description = format!("remembered {path}").into();
        let facts = remembered.facts();
        builder.add(path, remembered.manifest_file(), remembered.stamp(), &facts, &document);
    }
    cache_file.save(&builder.finish()).unwrap();
    let descriptions = |listing: &Listing| -> Vec<String> {
        listing.skills.iter().map(|skill| skill.document.description.to_string()).collect()
    };
    // A process reads it once, so the provider that listed already is not told.
    assert_eq!(list(&provider), cold);
    let provider = warm.provider();
    let recalled = list(&provider);
    assert_eq!(descriptions(&recalled), ["remembered a", "remembered b", "remembered c"]);
    assert_eq!(recalled.skills[2].manifest_file, "skill.md");

    // A change of any kind is seen, even one that keeps size and modification time.
    let path = warm.root.path().join("a/SKILL.md");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, skill_md("a").replace("Does", "DOES")).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    // The exact spelling appears beside another.
    write(warm.root.path().join("c/SKILL.md"), skill_md("c"));
    let listing = list(&provider);
    assert_ne!(&*listing.skills[0].document.description, "remembered a");
    assert_eq!(&*listing.skills[1].document.description, "remembered b");
    assert_eq!(listing.skills[2].manifest_file, "SKILL.md");

    // A skill that went is forgotten.
    fs::remove_dir_all(warm.root.path().join("b")).unwrap();
    assert_eq!(locators(&list(&provider)), ["a", "c"]);

    // Another policy has a cache of its own.
    let mut options = provider.options().clone();
    options.policy = Policy::of(repertoire_model::Profile::Harness);
    let other = list(&FsProvider::new(options));
    assert!(descriptions(&other).iter().all(|description| !description.starts_with("remembered")));
}

#[test]
fn whatever_is_wrong_with_the_cache_it_is_ignored() {
    let warm = Warm::new(&["a"]);
    let cold = list(&warm.provider());
    settle();
    list(&warm.provider());
    let file = warm.file().unwrap();
    let bytes = bytes_of(&file);
    for position in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[position] ^= 0x10;
        fs::write(&file, &bytes).unwrap();
        assert_eq!(list(&warm.provider()), cold, "{position}");
    }
    assert_eq!(bytes_of(&file), bytes, "written anew");
    fs::remove_file(&file).unwrap();
    assert_eq!(list(&warm.provider()), cold);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let listing = list(&warm.provider());
    assert_eq!(listing.skills, cold.skills);
    assert_eq!(listing.problems[0].diagnostic.severity, repertoire_model::Severity::Info);
}

#[test]
fn a_cache_may_be_shared() {
    let names: Vec<String> = (0..40).map(|number| format!("skill-{number}")).collect();
    let warm = Warm::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let cold = list(&warm.provider());
    settle();
    let until = SystemTime::now() + Duration::from_millis(300);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (warm, cold) = (&warm, &cold);
            scope.spawn(move || {
                while SystemTime::now() < until {
                    let provider = warm.provider();
                    assert_eq!(&list(&provider), cold);
                    let counts = TokenCounts { body: Some(thread), entry: None };
                    provider.set_token_counts(&Locator::new("skill-1"), "test", counts);
                    block_on(provider.memo().unwrap().save());
                    if thread == 0
                        && let Some(file) = warm.file()
                    {
                        let _ = fs::remove_file(file);
                    }
                }
            });
        }
    });
    assert_eq!(list(&warm.provider()), cold);
    warm.file().unwrap();
}

#[test]
fn facts_are_kept_until_the_skill_changes() {
    let warm = Warm::new(&["a", "b"]);
    write(warm.root.path().join("a/references/x.md"), "x");
    settle();
    let (a, b) = (Locator::new("a"), Locator::new("b"));
    let provider = warm.provider();
    assert_eq!(provider.token_counts(&a, "o200k"), None);
    list(&provider);
    let counts = TokenCounts { body: Some(7), entry: Some(3) };
    provider.set_token_counts(&a, "o200k", counts);
    provider.set_token_counts(&Locator::new("unknown"), "o200k", counts);
    let digest = block_on(provider.digest(&a)).unwrap();
    assert_eq!(digest, block_on(provider.bundle(&a)).unwrap().digest());
    block_on(provider.save());

    let provider = warm.provider();
    list(&provider);
    assert_eq!(provider.token_counts(&a, "o200k"), Some(counts));
    assert_eq!(provider.token_counts(&a, "chars4"), None);
    assert_eq!(provider.token_counts(&b, "o200k"), None);
    assert_eq!(block_on(provider.digest(&a)).unwrap(), digest);

    // A change of any file changes the digest, however fresh it is.
    write(warm.root.path().join("a/references/x.md"), "y");
    let changed = block_on(provider.digest(&a)).unwrap();
    assert_ne!(changed, digest);
    assert_eq!(changed, block_on(provider.bundle(&a)).unwrap().digest());
    write(warm.root.path().join("a/references/x.md"), "x");
    assert_eq!(block_on(provider.digest(&a)).unwrap(), digest);

    write(warm.root.path().join("a/SKILL.md"), skill_md("a").replace("Does", "Did"));
    list(&provider);
    assert_eq!(provider.token_counts(&a, "o200k"), None);
}

impl Warm {
    fn names(&self) -> Vec<String> {
        locators(&list(&self.provider())).into_iter().map(str::to_owned).collect()
    }

    /// Returns the cache as the provider would load it.
    fn load(&self) -> (cache::CacheFile, Option<cache::Cache>) {
        let provider = self.provider();
        let resolved = self.root.path().canonicalize().unwrap();
        let file = cache::CacheFile::new(self.cache.path(), cache::key(provider.options(), &resolved));
        let cache = file.load();
        (file, cache)
    }
}

#[test]
fn a_root_that_did_not_change_is_not_listed_again() {
    let warm = Warm::new(&["a", "b", "c"]);
    std::os::unix::fs::symlink("b", warm.root.path().join("link")).unwrap();
    fs::create_dir(warm.root.path().join("empty")).unwrap();
    settle();
    let cold = list(&warm.provider());
    let (file, cache) = warm.load();
    let cache = cache.unwrap();
    let mut entries = cache.root_entries().unwrap();
    assert_eq!(entries.directories, ["a", "b", "c", "empty"]);
    assert_eq!(entries.links, ["link"]);
    assert_eq!(list(&warm.provider()), cold);

    // What the cache says is what is believed: proof that the directory is not listed.
    entries.directories.remove(2);
    let mut builder = cache::Builder::new(file.key(), Some(&entries));
    for (path, remembered) in cache.all().filter(|(path, _)| *path != "c") {
        builder.keep(path, &remembered, &remembered.facts());
    }
    file.save(&builder.finish()).unwrap();
    assert_eq!(warm.names(), ["a", "b", "link"]);

    // A skill in a directory that was none is seen although the root is as it was.
    write(warm.root.path().join("empty/SKILL.md"), skill_md("empty"));
    assert_eq!(warm.names(), ["a", "b", "empty", "link"]);

    // Whatever is added to the root shows at once, even if its modification time is set back.
    let before = fs::metadata(warm.root.path()).unwrap().modified().unwrap();
    write_skill(warm.root.path(), "d");
    fs::File::open(warm.root.path()).unwrap().set_modified(before).unwrap();
    assert_eq!(warm.names(), ["a", "b", "c", "d", "empty", "link"]);
    fs::rename(warm.root.path().join("a"), warm.root.path().join("z")).unwrap();
    assert_eq!(warm.names(), ["b", "c", "d", "empty", "link", "z"]);
    fs::remove_file(warm.root.path().join("link")).unwrap();
    assert_eq!(warm.names(), ["b", "c", "d", "empty", "z"]);
}

/// What was not listed is not remembered as listed: somebody else may have come unnoticed.
#[test]
fn a_root_whose_entries_were_told_by_name_is_listed_by_the_next_process() {
    let warm = Warm::new(&["a"]);
    let running = warm.provider();
    list(&running);
    write_skill(warm.root.path(), "b");
    write_skill(warm.root.path(), "untold");
    settle();
    let changes = Changes { entries: ["b".to_owned()].into(), ..Changes::default() };
    assert_eq!(locators(&block_on(running.relist(&changes)).unwrap()), ["a", "b"]);
    block_on(running.save());
    assert!(warm.file().is_some());
    assert_eq!(locators(&list(&warm.provider())), ["a", "b", "untold"]);
}

#[test]
fn a_root_that_just_changed_is_not_remembered() {
    let warm = Warm::new(&["a"]);
    settle();
    // The file is old enough to be remembered, the directory it was put beside is not.
    fs::create_dir(warm.root.path().join("b")).unwrap();
    assert_eq!(warm.names(), ["a"]);
    assert_eq!(warm.load().1.unwrap().root_entries(), None);
    // Within the same tick as what was listed, for all that the times can tell.
    write_skill(warm.root.path(), "c");
    assert_eq!(warm.names(), ["a", "c"]);
    settle();
    assert_eq!(warm.names(), ["a", "c"]);
    assert_eq!(warm.load().1.unwrap().root_entries().unwrap().directories, ["a", "b", "c"]);
}

#[test]
fn a_root_with_more_entries_than_the_limit_is_listed_again() {
    let warm = Warm::new(&["a", "b", "c"]);
    settle();
    assert_eq!(warm.names(), ["a", "b", "c"]);
    assert!(warm.load().1.unwrap().root_entries().is_some());
    let mut options = warm.provider().options().clone();
    options.limits.max_entries = 2;
    let listing = list(&FsProvider::new(options));
    assert_eq!(listing.skills.len(), 2);
    assert_eq!(listing.problems.len(), 1);
}
