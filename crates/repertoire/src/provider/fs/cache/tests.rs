//! Tests of the cache's bytes.

use proptest::prelude::*;
use repertoire_model::document::Body;
use repertoire_model::validate::RULES;
use repertoire_model::{Diagnostic, Digest, Document, Manifest, RuleId, Severity, SkillName, Span, Standing};

use super::super::root_entries::{RootEntries, RootManifest};
use super::super::safe_dir::Stamp;
use super::codec::Writer;
use super::head::Head;
use super::*;

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any::<String>(), 0..3)
}

fn optional_text() -> impl Strategy<Value = Option<String>> {
    prop::option::of(any::<String>())
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let scalars = prop::collection::vec(optional_text(), 6);
    let lists = prop::collection::vec(texts(), 9);
    let metadata = prop::collection::vec((any::<String>(), any::<String>()), 0..3);
    (scalars, lists, metadata, any::<bool>(), any::<Option<bool>>()).prop_map(
        |(mut s, mut l, metadata, d, u)| {
            let (mut text, mut list) = (|| s.pop().unwrap(), || l.pop().unwrap());
            Manifest {
                name: text().map(Into::into),
                description: text().map(Into::into),
                license: text(),
                compatibility: text(),
                metadata,
                allowed_tools: list(),
                version: text(),
                author: text(),
                trigger_keywords: list(),
                references: list(),
                scripts: list(),
                assets: list(),
                tags: list(),
                requires: list(),
                paths: list(),
                disable_model_invocation: d,
                user_invocable: u,
                unknown: list(),
            }
        },
    )
}

fn diagnostic() -> impl Strategy<Value = Diagnostic> {
    let severity = prop::sample::select(vec![Severity::Info, Severity::Warning, Severity::Error]);
    let span = prop::option::of((any::<u32>(), any::<u32>(), any::<u32>()));
    (0..RULES.len(), severity, any::<String>(), optional_text(), optional_text(), span).prop_map(
        |(rule, severity, message, help, file, span)| Diagnostic {
            rule: RULES[rule].id,
            severity,
            message,
            help,
            file,
            span: span.map(|(start, length, line)| Span { start, length, line }),
        },
    )
}

fn document() -> impl Strategy<Value = Document> {
    let name = "[a-zA-Z0-9][a-zA-Z0-9_.-]{0,20}";
    let standing = prop::sample::select(vec![Standing::Sound, Standing::Quarantined, Standing::Abort]);
    let body = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>());
    let diagnostics = prop::collection::vec(diagnostic(), 0..3);
    (name, optional_text(), manifest(), standing, any::<bool>(), body, diagnostics).prop_map(
        |(
            name,
            description,
            mut manifest,
            standing,
            repaired,
            (offset, length, lines, checksum, head_checksum),
            diagnostics,
        )| {
            // Most often these are the same, and the same again they must come back.
            if repaired {
                manifest.name = Some(name.as_str().into());
            }
            let description =
                description.map(Into::into).or_else(|| manifest.description.clone()).unwrap_or_default();
            Document {
                name: SkillName::new(&name).unwrap(),
                description,
                manifest,
                standing,
                repaired,
                body: Body {
                    offset: offset as usize,
                    length: length as usize,
                    lines: lines as usize,
                    checksum,
                },
                head_checksum,
                diagnostics,
            }
        },
    )
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u64>(), any::<i64>(), any::<i64>(), any::<u64>(), any::<u64>(), any::<u32>()).prop_map(
        |(size, modified, changed, inode, device, mode)| Stamp {
            size,
            modified,
            changed,
            inode,
            device,
            mode,
        },
    )
}

/// Returns the cache that `bytes` are, if a file of them is one.
fn decode(bytes: Vec<u8>, key: &str) -> Option<Cache> {
    let head = Head::decode(*bytes.first_chunk()?, bytes.len() as u64)?;
    let start = usize::try_from(head.blocks_start()?).ok()?;
    let index = || bytes.get(Head::BYTES..start).map(<[u8]>::to_vec);
    Cache::assemble(&head, index, || bytes.get(start..).map(<[u8]>::to_vec), key)
}

fn root_entries() -> impl Strategy<Value = RootEntries<'static>> {
    let manifests = vec![RootManifest::None, RootManifest::Respelled, RootManifest::Exact];
    (stamp(), texts(), texts(), prop::sample::select(manifests), any::<u32>()).prop_map(
        |(stamp, directories, links, manifest, count)| RootEntries {
            stamp: Some(stamp),
            directories: directories.into_iter().map(Into::into).collect(),
            links: links.into_iter().map(Into::into).collect(),
            manifest,
            count: count as usize,
            ..RootEntries::default()
        },
    )
}

proptest! {
    #[test]
    fn caches_come_back_as_they_were(
        skills in prop::collection::btree_map(any::<String>(), (any::<String>(), stamp(), document()), 0..4),
        counts in prop::collection::vec((any::<String>(), any::<Option<u64>>(), any::<Option<u64>>()), 0..4),
        digests in any::<Option<([u8; 32], [u8; 32])>>(),
        key in any::<String>(),
        root in prop::option::of(root_entries()),
    ) {
        let mut facts = Facts::default();
        facts.bundle = digests.map(|(a, b)| Box::new((Digest::from_bytes(a), Digest::from_bytes(b))));
        for (name, body, entry) in &counts {
            facts.set_tokens(name, crate::provider::TokenCounts { body: *body, entry: *entry });
        }
        let mut builder = Builder::new(&key, root.as_ref());
        for (path, (manifest_file, stamp, document)) in &skills {
            builder.add(path, manifest_file, stamp, &facts, document);
        }
        let bytes = builder.finish();
        prop_assert!(decode(bytes.clone(), "another key entirely!").is_none());
        let cache = decode(bytes.clone(), &key).unwrap();
        prop_assert_eq!(cache.len(), skills.len());
        prop_assert_eq!(&cache.root_entries(), &root);
        let mut again = Builder::new(&key, cache.root_entries().as_ref());
        for (path, (manifest_file, stamp, document)) in &skills {
            let remembered = cache.find(path).unwrap();
            prop_assert_eq!(remembered.manifest_file(), manifest_file);
            prop_assert_eq!(remembered.stamp(), stamp);
            prop_assert_eq!(remembered.document(), Some(document.clone()));
            prop_assert_eq!(&remembered.facts(), &facts);
            again.keep(path, &remembered, &remembered.facts());
        }
        prop_assert_eq!(again.finish(), bytes);
        prop_assert!(cache.find("no such path, surely").is_none());
    }

    #[test]
    fn arbitrary_bytes_are_no_cache_and_no_document(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let rules: Vec<RuleId> = RULES.iter().map(|rule| rule.id).collect();
        let _ = document::decode(&bytes, &rules);
        let _ = Facts::decode(&bytes);
        prop_assert!(decode(bytes.clone(), "key").is_none());
        // The same behind a sound head, so that the checksum does not do all the work.
        let mut index = Writer::default();
        index.text("key");
        index.bytes.extend_from_slice(&bytes);
        let index = index.finish();
        let mut whole = Head::of(&index, &[]).encode();
        whole.extend_from_slice(&index);
        if let Some(cache) = decode(whole, "key") {
            for (_, remembered) in cache.all() {
                let _ = (remembered.document(), remembered.facts());
            }
        }
    }

    #[test]
    fn a_changed_document_decodes_to_something_or_nothing(document in document(), at in any::<usize>(), to in any::<u8>()) {
        let rules: Vec<RuleId> = RULES.iter().map(|rule| rule.id).collect();
        let mut bytes = document::encode(&document);
        let at = at % bytes.len();
        bytes[at] = to;
        let _ = document::decode(&bytes, &rules);
    }
}

#[test]
fn every_flipped_byte_is_seen() {
    let policy = repertoire_model::Policy::default();
    let document = Document::unreadable(Some("a"), RuleId::FileSymlink, "message", "help", &policy);
    let mut builder = Builder::new("key", None);
    builder.add("a", "SKILL.md", &Stamp::default(), &Facts::default(), &document);
    let bytes = builder.finish();
    assert_eq!(decode(bytes.clone(), "key").unwrap().find("a").unwrap().document(), Some(document));
    for position in 0..bytes.len() {
        for flip in [1, 0x80, 0xFF] {
            let mut bytes = bytes.clone();
            bytes[position] ^= flip;
            assert!(decode(bytes, "key").is_none(), "{position}");
        }
    }
    for length in 0..bytes.len() {
        assert!(decode(bytes[..length].to_vec(), "key").is_none());
    }
}

#[test]
fn old_caches_give_way_to_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..100 {
        let file = CacheFile::new(directory.path(), format!("key {number}"));
        file.save(&Builder::new(file.key(), None).finish()).unwrap();
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 64);
    let last = CacheFile::new(directory.path(), "key 99".to_owned());
    assert!(last.load().is_some());
}
