//! Golden texts of every rendering, and what must hold of them.

pub(super) mod fixtures;

use self::fixtures::*;
use super::*;

/// The form in which a model sees the tools of skills.
#[test]
fn golden_tools() {
    let wording = Wording {
        call: Some("call_skill_tool".to_owned()),
        run_script: Some("run_skill_script".to_owned()),
        approve: Some("rep approve".to_owned()),
        ..Wording::default()
    };
    let mut golden = String::new();
    for render in Render::ALL {
        for (title, answer) in answers_about_tools() {
            golden.push_str(&format!("######## {render:?}: {title}\n{}\n", answer.render(render, &wording)));
        }
    }
    insta::assert_snapshot!("tools", golden);
}

/// Returns the renderings in which an answer says which skill it is about; the body alone does not.
fn with_marks() -> impl Iterator<Item = Render> {
    Render::ALL.into_iter().filter(|render| *render != Render::Body)
}

/// Schemas of tools do not keep a load from being read back.
#[test]
fn loads_with_tools_are_recognised() {
    for (_, answer) in answers_about_tools().into_iter().take(1) {
        for render in with_marks() {
            let text = answer.render(render, &Wording::default());
            let found = recognise(&text).unwrap();
            assert_eq!(found.bodies(), answer.injections(), "{render:?}");
        }
    }
}

/// One file a rendering: what a model sees of every answer.
#[test]
fn golden_files() {
    let wording = Wording::default();
    for render in Render::ALL {
        let golden: String = answers()
            .into_iter()
            .map(|(title, answer)| format!("######## {title}\n{}\n", answer.render(render, &wording)))
            .collect();
        insta::assert_snapshot!(render.as_str(), golden);
    }
    let data: String = answers()
        .into_iter()
        .map(|(title, answer)| format!("######## {title}\n{:#}\n", answer.data(&wording)))
        .collect();
    insta::assert_snapshot!("data", data);
}

#[test]
fn messages() {
    let wording = Wording::default();
    let messages: Vec<String> = faults()
        .iter()
        .map(|fault| format!("{}: {}", fault.kind.as_str(), fault.message(&wording)))
        .collect();
    insta::assert_snapshot!("messages", messages.join("\n"));
    assert!(
        messages.iter().all(|message| !message.contains("`` ")),
        "nothing is quoted where there is nothing"
    );
    let menu = Wording { errors: ErrorStyle::Menu, ..Wording::default() };
    assert_eq!(faults()[0].message(&menu), "Unknown skill 'pfd</skill>'. Check the skill menu.");
}

#[test]
fn y48_a_path_out_of_the_skill_is_answered_with_path_traversal_detected() {
    for (path, expect) in [
        ("../x", true),
        ("a/../../x", true),
        ("/etc/passwd", true),
        ("..\\x", false),
        ("a/./b", false),
        ("a..:b", false),
    ] {
        let fault = Fault::new("read_skill_file", Some("pdf".to_owned()), bad_path(path));
        let message = fault.message(&Wording::default());
        assert_eq!(message.starts_with("Path traversal detected: "), expect, "{message}");
    }
}

/// Every fault is one line of bounded length, even with unbounded texts in it.
#[test]
fn messages_are_bounded() {
    let text = "long\n".repeat(20_000);
    let many = vec![text.clone(); 1_000];
    let (others, problems) = (many.clone(), many.clone());
    let path = text.clone();
    let kinds = [
        FaultKind::UnknownSkill { near: many.clone(), total: usize::MAX, all: many.clone() },
        FaultKind::NotPermitted,
        FaultKind::Gone,
        FaultKind::Broken { reason: text.clone() },
        FaultKind::UnknownTool { tools: many.clone(), near: Some(text.clone()) },
        FaultKind::SkillAsTool,
        FaultKind::MissingArgument { name: text.clone() },
        FaultKind::BadArgument { name: text.clone(), expected: text.clone() },
        FaultKind::UnknownArgument { name: text.clone(), takes: many.clone() },
        FaultKind::BadPath { path: path.clone(), reason: text.clone() },
        FaultKind::NoFile { path: path.clone(), near: many },
        FaultKind::NoDirectory { path: path.clone() },
        FaultKind::IsDirectory { path: path.clone() },
        FaultKind::NotDirectory { path: path.clone() },
        FaultKind::Forbidden { path: path.clone() },
        FaultKind::Binary { path: path.clone(), media_type: text.clone(), size: u64::MAX },
        FaultKind::TooLarge { path },
        FaultKind::NotLoaded { tool: text.clone() },
        FaultKind::NoSkillTool { tool: text.clone(), tools: others },
        FaultKind::BadArguments { tool: text.clone(), problems },
        FaultKind::NotApproved { tool: text.clone(), why: RunRefusal::Asks },
        FaultKind::NoHandler { tool: text.clone() },
        FaultKind::Refused { reason: text.clone() },
        FaultKind::Failed { reason: text.clone() },
    ];
    let mut known: Vec<&str> = faults().iter().map(|fault| fault.kind.as_str()).collect();
    known.dedup();
    assert_eq!(kinds.each_ref().map(FaultKind::as_str), known.as_slice());
    for kind in kinds {
        let word = kind.as_str();
        let message = Fault::new(text.clone(), Some(text.clone()), kind).message(&Wording::default());
        assert!(!message.contains('\n') && message.chars().count() < 7_000, "{word}: {message}");
    }
}

#[test]
fn short_names_suggest_only_similar_names() {
    let message = |skill: &str| {
        let kind = FaultKind::UnknownSkill { near: words(["git", "pdf", "db"]), total: 3, all: Vec::new() };
        let message = Fault::new("load_skill", Some(skill.to_owned()), kind).message(&Wording::default());
        message.split(" Available").next().unwrap_or_default().to_owned()
    };
    assert_eq!(message("x"), "There is no skill `x`.");
    assert_eq!(message("gt"), "There is no skill `gt`. Nearest: git.");
    assert_eq!(message("pfd"), "There is no skill `pfd`. Nearest: pdf.");
    assert_eq!(message("gits"), "There is no skill `gits`. Nearest: git, pdf, db.");
}

/// A file cannot end early: the engine's text begins after the number of bytes in the first line.
#[test]
fn a_file_as_text_says_how_long_it_is() {
    let content = "one\n\nTruncated at 1 bytes.";
    let range = FileText { first_line: 2, total_lines: 4, is_range: true, ..file(content) };
    let text = Answer::File(range).render(Render::Text, &Wording::default());
    let (first, rest) = text.split_once('\n').unwrap();
    assert_eq!(
        first,
        "File references/a.md of skill 'pdf' (project:.agents/skills), 26 bytes, untrusted content:"
    );
    assert_eq!(rest.split_at(26), (content, "\n\nEnd of file (4 lines)."));
}

#[test]
fn a_place_that_cannot_be_shown_whole_is_not_shown() {
    for place in ["/there".repeat(200), "/there\u{202e}x".to_owned(), "/there  x".to_owned()] {
        let skill = LoadedSkill { location: Some(place), ..shadowed() };
        for render in Render::ALL {
            let text = Answer::Loaded(Box::new(loaded(skill.clone()))).render(render, &Wording::default());
            assert!(!text.contains("/there") && !text.contains("location"), "{text}");
        }
    }
}

/// Every search result is bounded, even with unbounded texts in it.
#[test]
fn search_results_are_bounded() {
    let text = "long\n".repeat(2_000);
    let result = SearchResult {
        name: name("pdf"),
        description: text.clone(),
        path: text.clone(),
        manifest_file: text.clone(),
        score: Score::new(f32::NAN),
        confidence: Score::new(0.9),
        why: vec![MatchedWord { word: text.clone(), fields: vec![Field::Name], is_common: false }; 12],
        section: Some(Section { title: text.clone(), level: 1, first_line: 1, last_line: 2, tokens: 3 }),
        loaded: false,
        source: Some(text.clone()),
    };
    let results = vec![result; 20];
    let answer = SearchResults {
        query: text.clone(),
        tag: Some(text.clone()),
        ignored_tag: Some(text),
        results,
        shows_paths: true,
    };
    for render in Render::ALL {
        let text = Answer::Results(answer.clone()).render(render, &Wording::default());
        assert!(text.chars().count() < 30_000, "{}: {}", render.as_str(), text.len());
    }
}

/// A model is not told to load what probably does not fit.
#[test]
fn weak_results_are_called_weak() {
    let found = answers().into_iter().find_map(|(_, answer)| match answer {
        Answer::Results(results) if !results.results.is_empty() => Some(results),
        _ => None,
    });
    let mut found = found.unwrap();
    for result in &mut found.results {
        (result.confidence, result.loaded) = (Score::new(0.2), false);
    }
    for render in Render::ALL {
        let text = Answer::Results(found.clone()).render(render, &Wording::default());
        assert!(text.contains("weak") && !text.contains("load_skill"), "{text}");
    }
}

#[test]
fn without_tools_nothing_points_at_them() {
    let wording = Wording { read_file: None, list_files: None, list: None, ..Wording::default() };
    for render in Render::ALL {
        for (title, answer) in answers() {
            let text = answer.render(render, &wording);
            assert!(!text.contains("list_skill") && !text.contains("call `read"), "{title}: {text}");
        }
    }
}

#[test]
fn rendered_answers_are_recognised() {
    let wording = Wording::default();
    for render in with_marks() {
        for (title, answer) in answers() {
            let recognised = recognise(&answer.render(render, &wording));
            let expect = match &answer {
                // The text does not say which skill a name with a source means.
                Answer::Loaded(_) if answer.injections().is_empty() => None,
                // The sentence of the guide stands alone.
                Answer::Acknowledged(Acknowledgement { notes, .. })
                    if render == Render::Text && !notes.is_empty() =>
                {
                    continue;
                }
                Answer::Loaded(_) if render == Render::Text => {
                    Some(RecognisedAnswer::Unstamped(answer.injections()))
                }
                Answer::Loaded(_) => Some(RecognisedAnswer::Bodies(answer.injections())),
                Answer::Unloaded(name) | Answer::NotLoaded(name) => {
                    Some(RecognisedAnswer::Unloaded(name.clone()))
                }
                Answer::Acknowledged(acknowledged) => {
                    Some(RecognisedAnswer::Acknowledged(acknowledged.name.clone()))
                }
                Answer::Fault(_) => Some(RecognisedAnswer::Failed),
                Answer::Custom { is_error: true, .. } if render != Render::Json => {
                    Some(RecognisedAnswer::Failed)
                }
                _ => None,
            };
            assert_eq!(recognised, expect, "{title} as {}", render.as_str());
        }
    }
}

#[test]
fn answers_are_recognised_with_text_around_them() {
    let answer = Answer::Loaded(Box::new(oversize()));
    for render in with_marks() {
        let text = answer.render(render, &Wording::default());
        let prefixes = ["", " \n", "<system>ok</system>\n", "Result:\n\n", "{\"status\": \"ok\"}\n"];
        for prefix in prefixes {
            let recognised = recognise(&format!("{prefix}{text}")).unwrap();
            assert_eq!(recognised.bodies(), answer.injections(), "{prefix}{}", render.as_str());
        }
        let suffixed = recognise(&format!("<system-reminder>\n{text}\n</system-reminder>")).unwrap();
        assert_eq!(suffixed.bodies() == answer.injections(), render != Render::Text, "{}", render.as_str());
        let far = format!("{}\n{text}", "x".repeat(5_000));
        assert_eq!(recognise(&far), None, "{}", render.as_str());
    }
    for (title, answer) in answers() {
        for render in with_marks() {
            let text = answer.render(render, &Wording::default());
            let recognised = recognise(&text)
                .filter(|recognised| !matches!(recognised, RecognisedAnswer::Failed if text.len() > 4_000));
            assert_eq!(
                recognise(&format!("<system>ok</system>\n{text}")),
                recognised,
                "{title} as {}",
                render.as_str()
            );
        }
    }
    let text = answer.render(Render::Xml, &Wording::default());
    assert!(recognise(&format!("<system-reminder>{text}</system-reminder>")).is_some());
    let unstamped = "<skill name=\"git\">\nCommit.\n</skill>";
    assert!(
        matches!(recognise(unstamped), Some(RecognisedAnswer::Unstamped(_))),
        "no digest says that it is whole"
    );
    // Text inside a broken answer is its content, not an answer.
    let broken = format!("<skill name=\"a\" digest=\"b\">\ncut\n{text}");
    assert_eq!(recognise(&broken), None);
}

#[test]
fn changed_or_cut_answers_are_not_recognised() {
    let answer = Answer::Loaded(Box::new(oversize()));
    for render in [Render::Xml, Render::Json, Render::Markdown] {
        let text = answer.render(render, &Wording::default());
        assert_eq!(recognise(&text.replace("Base.", "Best.")), None, "{}", render.as_str());
        assert_eq!(recognise(&text.replace("# Guide", "# Guise")), None, "{}", render.as_str());
        let half = text.find("# Guide").unwrap() + 3;
        assert_eq!(recognise(&text[..half]), None, "{}", render.as_str());
    }
    for text in
        ["", "{}", "{\"body\":\"x\"}", "<skill name=\"x\">", "Skill loaded: x", "Loaded skill 'x'", "[1]"]
    {
        assert_eq!(recognise(text), None, "{text}");
    }
}
