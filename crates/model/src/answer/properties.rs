//! What must hold of every answer: it can be read back, whatever its content.

use proptest::prelude::*;

use super::guard::tests::hostile_text;
use super::tests::{loaded, skill};
use super::*;

fn answer() -> impl Strategy<Value = Answer> {
    let notes = proptest::collection::vec(hostile_text(), 0..3);
    let files = proptest::collection::vec(hostile_text(), 0..3);
    let bodies = proptest::collection::vec(hostile_text(), 0..3);
    (bodies, hostile_text(), notes, files, proptest::option::of(hostile_text())).prop_map(
        |(first, body, notes, files, version)| {
            let main =
                LoadedSkill { files: files.clone(), tools: files, version, ..skill("main-1.0", &body) };
            let numbered = first.iter().enumerate();
            let first = numbered.map(|(number, body)| skill(&format!("first-{number}"), body)).collect();
            Answer::Loaded(Box::new(Loaded { first, notes, ..loaded(main) }))
        },
    )
}

proptest! {
    #[test]
    fn instructions_are_read_back_from_every_rendering(answer in answer()) {
        for render in Render::ALL {
            let text = answer.render(render, &Wording::default());
            let expect = Some(Recognised::Bodies(answer.injections()));
            prop_assert_eq!(recognise(&text), expect, "{}: {}", render.as_str(), text);
        }
        let data = answer.data(&Wording::default()).to_string();
        prop_assert_eq!(recognise(&data), Some(Recognised::Bodies(answer.injections())));
    }

    #[test]
    fn recognising_never_fails(text in hostile_text()) {
        let starts = ["", "<skill ", "Skill loaded: ", "Loaded skill '", "Required skill 'x' (3 bytes):\n", "{", "<skill_active name=\""];
        for start in starts {
            let _ = recognise(&format!("{start}{text}"));
        }
    }
}
