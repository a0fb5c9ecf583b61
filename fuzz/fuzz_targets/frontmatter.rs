//! Feeds arbitrary bytes to the way from a `SKILL.md` to a document, and checks what holds of any document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use repertoire_model::document::frontmatter_json;
use repertoire_model::{Document, ManifestSource, Policy, Profile, SkillName, repair};

fuzz_target!(|bytes: &[u8]| {
    for profile in Profile::ALL {
        let source = ManifestSource { bytes, directory: Some("some-skill"), file_name: "SKILL.md" };
        let document = Document::parse(source, &Policy::of(profile));
        assert_eq!(SkillName::new(document.name.as_str()).as_ref(), Some(&document.name));
        assert!(document.body.offset + document.body.length <= bytes.len());
        for diagnostic in &document.diagnostics {
            if let Some(span) = diagnostic.span {
                let end = span.start as usize + span.length as usize;
                let text = std::str::from_utf8(bytes).expect("only text has places");
                assert!(text.get(span.start as usize..end).is_some(), "{diagnostic:?}");
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let before = frontmatter_json(text);
        if let Some(fixed) = repair::fix(text) {
            assert_eq!(frontmatter_json(&fixed), before, "a repair changes nothing that was understood");
            assert_eq!(repair::fix(&fixed), None, "a repair is done once");
        }
    }
});
