//! Tests of the provider of skills in a store, and of following its releases.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use pollster::block_on;
use repertoire_model::State;

use super::*;
use crate::Library;
use crate::event::MemorySink;
use crate::registry::{Registry, ReleaseFollower};
use crate::store::{Blob, Journal as _, MemoryStore, ReleaseChange, Releases as _, Versions as _};
use crate::testing;

fn release(store: &MemoryStore, files: &[(&str, &[u8])], name: &str) -> Digest {
    let digest = testing::put_files(store, files).unwrap();
    let change = ReleaseChange { name: name.to_owned(), digest: Some(digest) };
    store.release("stable", &[change], None, SystemTime::now()).unwrap();
    digest
}

fn skill_md(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name} things. Use when {name} is wanted.\n---\n{body}")
}

fn provider(store: &Arc<MemoryStore>) -> StoreProvider {
    StoreProvider::new(LazyStore::from(Arc::clone(store) as Arc<dyn Store>), "stable")
}

/// Returns a store that is away whenever the switch is on.
fn flaky(store: &Arc<MemoryStore>) -> (LazyStore, Arc<AtomicBool>) {
    let (store, is_away) = (Arc::clone(store), Arc::new(AtomicBool::new(false)));
    let switch = Arc::clone(&is_away);
    let lazy = LazyStore::uncached(move || {
        if switch.load(Ordering::SeqCst) {
            Err(Error::new(ErrorKind::Store).because("it is away"))
        } else {
            Ok(Arc::clone(&store) as Arc<dyn Store>)
        }
    });
    (lazy, is_away)
}

#[test]
fn the_provider_of_a_store_passes_the_conformance_suite() {
    let store = Arc::new(MemoryStore::new());
    testing::release_library(&*store, "stable").unwrap();
    block_on(testing::provider_suite(&provider(&store)));
}

#[test]
fn skills_that_did_not_change_are_shared_by_listings() {
    let store = Arc::new(MemoryStore::new());
    testing::release_library(&*store, "stable").unwrap();
    let provider = provider(&store);
    let before = block_on(provider.list(&Policy::default())).unwrap().skills;
    release(&store, &[("SKILL.md", skill_md("beta", "# Other\n").as_bytes())], "beta");
    let after = block_on(provider.list(&Policy::default())).unwrap().skills;
    let shared: Vec<bool> = before.iter().zip(&after).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
    assert_eq!(shared, [true, false, true]);
}

#[test]
fn a_damaged_skill_is_set_aside_alone() {
    let store = Arc::new(MemoryStore::new());
    let text = skill_md("alpha", "# Alpha\n");
    release(&store, &[("SKILL.md", text.as_bytes())], "alpha");
    release(&store, &[("SKILL.md", skill_md("beta", "# Beta\n").as_bytes())], "beta");
    let digest = Digest::of(text.as_bytes());
    store.put_blobs(&[Blob { digest, bytes: b"changed".to_vec() }]).unwrap();
    let registry = block_on(Registry::open(vec![Arc::new(provider(&store))], Policy::default())).unwrap();
    let snapshot = registry.snapshot();
    let states: Vec<State> = snapshot.entries().iter().map(|entry| entry.state).collect();
    assert_eq!(states, [State::Quarantined, State::Active]);
    let damaged = &snapshot.entries()[0];
    assert!(damaged.diagnostics().next().unwrap().message.contains("damaged"));
    assert!(block_on(registry.files(damaged)).is_err());
    // It is read again, not remembered.
    store.put_blobs(&[Blob { digest, bytes: text.into_bytes() }]).unwrap();
    assert_eq!(block_on(registry.reload()).active().count(), 2);
}

#[test]
fn another_name_than_that_of_the_document_is_reported() {
    let store = Arc::new(MemoryStore::new());
    release(&store, &[("SKILL.md", skill_md("alpha", "# Alpha\n").as_bytes())], "beta");
    let listing = block_on(provider(&store).list(&Policy::default())).unwrap();
    let document = &listing.skills[0].document;
    assert_eq!(document.name.as_str(), "alpha");
    assert_eq!(document.diagnostics[0].rule, RuleId::NameDirectory);
}

#[test]
fn skills_stay_while_the_store_is_away() {
    let store = Arc::new(MemoryStore::new());
    let text = skill_md("alpha", "# Alpha\n");
    let files: [(&str, &[u8]); 3] =
        [("SKILL.md", text.as_bytes()), ("references/read.md", b"one"), ("references/unread.md", b"two")];
    release(&store, &files, "alpha");
    let (lazy, is_away) = flaky(&store);
    let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(StoreProvider::new(lazy, "stable"))];
    let registry = block_on(Registry::open(providers, Policy::default())).unwrap();
    let entry = &registry.snapshot().entries()[0].clone();
    let read = |path: &str| {
        let path = SkillPath::new(path).unwrap();
        block_on(registry.read(entry, &path, LineRange::default())).map(|content| content.bytes)
    };
    assert_eq!(read("references/read.md").unwrap(), b"one");
    is_away.store(true, Ordering::SeqCst);
    let snapshot = block_on(registry.reload());
    assert_eq!((snapshot.active().count(), snapshot.problems().len()), (1, 1));
    assert_eq!(snapshot.unlisted_sources().count(), 0, "they were listed once");
    assert!(block_on(registry.get(entry)).unwrap().text.ends_with("# Alpha\n"));
    assert_eq!(read("references/read.md").unwrap(), b"one");
    assert_eq!(read("references/unread.md").unwrap_err().kind(), ErrorKind::Store);
    is_away.store(false, Ordering::SeqCst);
    assert_eq!(block_on(registry.reload()).problems(), []);
    assert_eq!(read("references/unread.md").unwrap(), b"two");
}

#[test]
fn releases_are_followed_also_after_the_store_was_away() {
    let store = Arc::new(MemoryStore::new());
    let (lazy, is_away) = flaky(&store);
    is_away.store(true, Ordering::SeqCst);
    let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(StoreProvider::new(lazy.clone(), "stable"))];
    let registry = block_on(Registry::open(providers, Policy::default())).unwrap();
    assert_eq!(registry.snapshot().problems().len(), 1);
    assert_eq!(registry.snapshot().unlisted_sources().collect::<Vec<_>>(), ["store:stable"]);
    let mut changes = registry.subscribe();
    let follower = ReleaseFollower::start(&registry, lazy);
    let mut wait_for = |skills: usize| {
        while registry.snapshot().active().count() != skills || !registry.snapshot().problems().is_empty() {
            block_on(changes.next());
        }
    };
    is_away.store(false, Ordering::SeqCst);
    wait_for(0);
    assert_eq!(registry.snapshot().unlisted_sources().count(), 0);
    release(&store, &[("SKILL.md", skill_md("alpha", "# Alpha\n").as_bytes())], "alpha");
    wait_for(1);
    is_away.store(true, Ordering::SeqCst);
    release(&store, &[("SKILL.md", skill_md("beta", "# Beta\n").as_bytes())], "beta");
    is_away.store(false, Ordering::SeqCst);
    wait_for(2);
    drop(follower);
}

#[test]
fn old_blobs_are_forgotten() {
    let mut cache = BlobCache::default();
    let part: Arc<[u8]> = vec![0; CACHED_BYTES / 4].into();
    let digests: Vec<Digest> = (0_u8..8).map(|number| Digest::of(&[number])).collect();
    for digest in &digests {
        cache.put(*digest, Arc::clone(&part));
        assert!(cache.get(&digests[0]).is_some(), "what is used stays");
    }
    let kept = digests.iter().filter(|digest| cache.get(digest).is_some()).count();
    assert!(kept <= 4, "{kept}");
}

#[test]
fn a_store_is_listed_again_only_after_a_release() {
    let store = Arc::new(MemoryStore::new());
    testing::release_library(&*store, "stable").unwrap();
    let registry = block_on(Registry::open(vec![Arc::new(provider(&store))], Policy::default())).unwrap();
    let (before, reloads) = (registry.snapshot(), registry.reloads());
    assert!(Arc::ptr_eq(&block_on(registry.newest()), &before));
    assert_eq!(registry.reloads(), reloads, "the number of the newest release tells");
    release(&store, &[("SKILL.md", skill_md("omega", "# Omega\n").as_bytes())], "omega");
    assert!(block_on(registry.newest()).named("omega").len() == 1);
    assert_eq!(registry.reloads(), reloads + 1);
}

#[test]
fn many_requests_after_a_release_share_few_reloads() {
    let store = Arc::new(MemoryStore::new());
    testing::release_library(&*store, "stable").unwrap();
    let registry = block_on(Registry::open(vec![Arc::new(provider(&store))], Policy::default())).unwrap();
    let before = registry.reloads();
    release(&store, &[("SKILL.md", skill_md("omega", "# Omega\n").as_bytes())], "omega");
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| assert_eq!(block_on(registry.newest()).named("omega").len(), 1));
        }
    });
    assert!(registry.reloads() - before <= 3, "{} reloads", registry.reloads() - before);
}

#[test]
fn the_usage_of_a_skill_in_two_channels_is_kept_apart() {
    let store = Arc::new(MemoryStore::new());
    let text = skill_md("deploy", "# Deploy\n");
    let digest = release(&store, &[("SKILL.md", text.as_bytes())], "deploy");
    let change = ReleaseChange { name: "deploy".to_owned(), digest: Some(digest) };
    store.release("next", &[change], None, SystemTime::now()).unwrap();
    let next = StoreProvider::new(LazyStore::from(Arc::clone(&store) as Arc<dyn Store>), "next");
    let sink = Arc::new(MemorySink::new());
    let library = Library::builder().provider(provider(&store)).provider(next).sink(sink.clone());
    let session = block_on(block_on(library.open()).unwrap().session()).unwrap();
    for (name, loads) in [("deploy", 2), ("store:next:deploy", 3)] {
        for _ in 0..loads {
            block_on(session.call("load_skill", &serde_json::json!({"name": name})));
        }
    }
    store.append(&sink.take()).unwrap();
    let usage = store.usage(None).unwrap();
    let found: Vec<(&str, Option<&str>, u64)> =
        usage.iter().map(|usage| (&*usage.skill, usage.identity.as_deref(), usage.calls)).collect();
    let expect = [("deploy", Some("store:stable:deploy"), 2), ("deploy", Some("store:next:deploy"), 3)];
    assert_eq!(found, expect);
}
