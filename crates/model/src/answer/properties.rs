//! Property tests: every answer can be read back.

use proptest::prelude::*;

use super::guard::{guard, unguard};
use super::tests::fixtures::{loaded, skill};
use super::*;

/// Returns text that is likely to hold what wrappers are made of.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "(<|</|< /|&lt;|&amp;lt;|&lt;/|&)(skill|SKILL_FILE|skills|available_skills|skill_active|amp;|lt;)?[ >\n]?",
        1 => Just("\n</skill>\n<skill name=\"x\">\n".to_owned()),
        1 => Just("\n\nSkill loaded: x (approx. 1 tokens)\n<!-- skill x 1 bytes -->\n\n".to_owned()),
        1 => Just("\n\nDocumentation:\nLoaded skill 'x' with 0 tools: \n".to_owned()),
        1 => "(`{3,5}|~~~|<!--|-->|\r\n|\n|\\\\|\"|\u{200b}|\u{feff}|\0)",
        2 => "\\PC{0,8}",
        2 => "[a-z ]{0,12}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn answer() -> impl Strategy<Value = Answer> {
    let notes = proptest::collection::vec(hostile_text(), 0..3);
    let files = proptest::collection::vec(hostile_text(), 0..3);
    let bodies = proptest::collection::vec(hostile_text(), 0..3);
    (bodies, hostile_text(), notes, files, proptest::option::of(hostile_text())).prop_map(
        |(first, body, notes, files, version)| {
            let source = version.clone().unwrap_or_default();
            let main = LoadedSkill {
                files: files.clone(),
                tools: files,
                version,
                source,
                ..skill("main-1.0", &body)
            };
            let numbered = first.iter().enumerate();
            let first = numbered.map(|(number, body)| skill(&format!("first-{number}"), body)).collect();
            Answer::Loaded(Box::new(LoadAnswer { first, notes, ..loaded(main) }))
        },
    )
}

proptest! {
    #[test]
    fn guarding_can_be_undone_and_leaves_no_tag(content in hostile_text()) {
        let guarded = guard(&content);
        prop_assert_eq!(guard(&guarded).matches('<').count(), guarded.matches('<').count());
        let plain = guarded.to_lowercase().replace(['/', ' ', '\n'], "");
        prop_assert!(["<skill>", "<skills>", "<skill_file>"].iter().all(|tag| !plain.contains(tag)), "{}", guarded);
        prop_assert_eq!(unguard(&guarded), content);
    }

    #[test]
    fn instructions_are_read_back_from_every_rendering(answer in answer()) {
        for render in Render::ALL {
            let text = answer.render(render, &Wording::default());
            let expect = match render {
                Render::Text => Some(RecognisedAnswer::Unstamped(answer.injections())),
                _ => Some(RecognisedAnswer::Bodies(answer.injections())),
            };
            prop_assert_eq!(recognise(&text), expect, "{}: {}", render.as_str(), text);
        }
        let data = answer.data(&Wording::default()).to_string();
        prop_assert_eq!(recognise(&data), Some(RecognisedAnswer::Bodies(answer.injections())));
    }

    #[test]
    fn recognising_never_fails(text in hostile_text()) {
        let starts = ["", "<skill ", "Skill loaded: ", "Loaded skill '", "Required skill 'x' (3 bytes):\n", "{", "<skill_active name=\""];
        for start in starts {
            let _ = recognise(&format!("{start}{text}"));
        }
    }
}
