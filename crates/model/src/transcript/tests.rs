//! Transcripts of every shape, whole, broken and hostile.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::answer::{Acknowledgement, Answer, Fault, FaultKind, LoadAnswer, LoadedSkill, Render, Wording};
use crate::ledger::SeenSkill;
use crate::reattach::{ReattachCandidate, plan};
use crate::{Digest, SkillName};

fn name(text: &str) -> SkillName {
    SkillName::new(text).unwrap()
}

fn skill(name: &str, body: &str) -> LoadedSkill {
    LoadedSkill { tokens: 3, ..LoadedSkill::new(self::name(name), body) }
}

fn answer(name: &str, body: &str) -> String {
    let loaded =
        LoadAnswer { first: Vec::new(), skill: skill(name, body), is_changed: false, notes: Vec::new() };
    Answer::Loaded(Box::new(loaded)).render(Render::Xml, &Wording::default())
}

fn acknowledged(name: &str) -> String {
    Answer::Acknowledged(Acknowledgement::new(self::name(name), 1)).render(Render::Xml, &Wording::default())
}

fn call(id: &str, tool: &str, skill: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": {"name": skill}}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
}

fn seen(name: &str, body: &str, turn: u64) -> SeenSkill {
    let digest = Some(Digest::of(body.as_bytes()));
    SeenSkill { name: self::name(name), digest, is_certain: true, turn, order: 0, unloaded: false }
}

fn unknown(name: &str, turn: u64) -> SeenSkill {
    SeenSkill { digest: None, is_certain: false, ..seen(name, "", turn) }
}

#[track_caller]
fn check(messages: &[Value], expect: &[SeenSkill]) {
    let mut seen = loaded(messages, &LoadToolNames::default()).seen;
    seen.iter_mut().for_each(|seen| seen.order = 0);
    assert_eq!(seen, expect);
}

#[test]
fn every_shape_is_read() {
    let text = answer("git", "Commit often.");
    let arguments = r#"{"name": "git"}"#;
    let function = json!({"name": "load_skill", "arguments": arguments});
    let as_object = json!({"name": "mcp__repertoire__load_skill", "arguments": {"skill_id": "git"}});
    let conversations = [
        json!([call("1", "load_skill", "git"), result("1", &text)]),
        json!([
            call("1", "mcp__rep__load_skill", "git"),
            {"role": "user", "content": [
                {"type": "text", "text": "Go on."},
                {"type": "tool_result", "tool_use_id": "1", "is_error": false, "content": [{"type": "text", "text": text}]},
            ]},
        ]),
        json!([{"role": "assistant", "content": [
            {"type": "mcp_tool_use", "id": "1", "name": "load_skill", "server_name": "s", "input": {"name": "git"}},
            {"type": "mcp_tool_result", "tool_use_id": "1", "is_error": false, "content": [{"type": "text", "text": text}]},
        ]}]),
        json!([
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "1", "content": text},
        ]),
        json!([
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": as_object}]},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "Here:"}, {"type": "text", "text": text}]},
        ]),
        json!([
            {"type": "function_call", "call_id": "1", "id": "fc_1", "name": "load_skill", "arguments": arguments},
            {"type": "function_call_output", "call_id": "1", "output": text},
        ]),
        json!([
            {"type": "function_call", "call_id": "1", "name": "load_skill", "arguments": arguments},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": text}]},
        ]),
        json!([{"type": "mcp_call", "id": "1", "server_label": "s", "name": "load_skill", "arguments": arguments,
                "error": null, "output": text}]),
        json!([
            {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "load_skill", "input": {"name": "git"}}]},
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "1", "output": {"type": "text", "value": text}}]},
        ]),
        json!([{"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "1", "toolName": "load_skill", "args": {"name": "git"}},
            {"type": "tool-result", "toolCallId": "1", "result": text},
        ]}]),
        json!([
            {"role": "assistant", "content": "", "toolCalls": [{"id": "1", "name": "load_skill", "arguments": {"name": "git"}}]},
            {"role": "tool", "toolCallId": "1", "toolName": "load_skill", "content": text, "metadata": {"toolFailed": false}},
        ]),
        json!([
            {"role": "assistant", "toolCalls": [{"id": "1", "name": "load_skill", "args": {"name": "git"}}]},
            {"role": "tool", "toolCallId": "1", "content": text},
        ]),
    ];
    for conversation in conversations {
        check(conversation.as_array().unwrap(), &[seen("git", "Commit often.", 1)]);
    }
}

#[test]
fn a_call_without_a_good_result_shows_nothing() {
    let text = answer("git", "Commit often.");
    let load = || call("1", "load_skill", "git");
    let fault = Answer::Fault(Fault::new("load_skill", None, FaultKind::NotPermitted));
    check(&[load()], &[]);
    check(&[result("1", &text), load()], &[]);
    check(&[load(), result("2", &text)], &[]);
    check(&[call("1", "fetch", "git"), result("1", &text)], &[]);
    check(&[load(), call("1", "fetch", "git"), result("1", &text)], &[]);
    for render in Render::ALL {
        check(&[load(), result("1", &fault.render(render, &Wording::default()))], &[]);
    }
    let failed = |key: &str, value: Value| {
        let mut block = json!({"type": "tool_result", "tool_use_id": "1", "content": text});
        block[key] = value;
        json!({"role": "user", "content": [block]})
    };
    check(&[load(), failed("is_error", json!(true))], &[]);
    check(&[load(), failed("isError", json!(true))], &[]);
    check(&[load(), failed("status", json!("error"))], &[]);
    check(&[load(), failed("is_error", json!(false))], &[seen("git", "Commit often.", 1)]);
    let sdk =
        json!({"type": "tool-result", "toolCallId": "1", "output": {"type": "error-text", "value": text}});
    check(&[load(), json!({"role": "tool", "content": [sdk]})], &[]);
    for mark in ["TOOL_FAILED", "toolFailed"] {
        let message = json!({"role": "tool", "toolCallId": "1", "content": text, "metadata": {mark: true}});
        check(&[load(), message], &[]);
    }
    check(&[load(), result("1", "[Old tool result content cleared]")], &[]);
    check(&[load(), result("1", "")], &[]);
    check(&[load(), result("1", &acknowledged("git"))], &[]);
}

#[test]
fn the_text_of_a_result_decides_the_loaded_skill() {
    let load = || call("1", "load_skill", "git");
    check(&[load(), result("1", "# Git\nCommit often.")], &[unknown("git", 1)]);
    check(&[call("1", "load_skill", "../etc"), result("1", "# Git")], &[]);
    check(&[load(), result("1", &answer("docx", "Word."))], &[seen("docx", "Word.", 1)]);
    check(&[load(), result("1", &"x".repeat(9 << 20))], &[unknown("git", 1)]);
    let cut = answer("git", "Commit often.").replace("often", "now and then");
    check(&[load(), result("1", &cut)], &[]);
    let earlier = [call("0", "load_skill", "git"), result("0", &answer("git", "Commit."))];
    let expect = [unknown("git", 1)];
    check(&[&earlier[..], &[load(), result("1", &cut)]].concat(), &expect);
    let loaded = LoadAnswer {
        first: vec![skill("base", "First.")],
        skill: skill("git", "Then."),
        is_changed: false,
        notes: Vec::new(),
    };
    // The body alone does not say which skill it is.
    for render in Render::ALL.into_iter().filter(|render| *render != Render::Body) {
        let text = Answer::Loaded(Box::new(loaded.clone())).render(render, &Wording::default());
        let is_certain = render != Render::Text;
        let expect =
            [seen("base", "First.", 1), seen("git", "Then.", 1)].map(|seen| SeenSkill { is_certain, ..seen });
        check(&[load(), result("1", &text)], &expect);
        let derived = super::loaded(&[load(), result("1", &text)], &LoadToolNames::default());
        assert!(derived.seen[0].order < derived.seen[1].order, "the one that was asked for comes last");
        check(&[load(), result("1", &format!("<system>ok</system>\n{text}"))], &expect);
        if is_certain {
            check(&[load(), result("1", &format!("<system-reminder>\n{text}\n</system-reminder>"))], &expect);
            // Instructions that were cut anywhere behind the first words are lost, and not taken for another
            // loader's.
            let alone = LoadAnswer { first: Vec::new(), ..loaded.clone() };
            let text = Answer::Loaded(Box::new(alone)).render(render, &Wording::default());
            for end in 14..text.find("Then.").unwrap() {
                check(&[load(), result("1", &text[..end])], &[]);
            }
        }
    }
}

/// A skill whose name was called as if it were a tool is loaded where the answer has its instructions.
#[test]
fn a_call_of_the_name_of_a_skill_is_a_load() {
    let called = |tool: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": tool, "input": {"task": "x"}}]});
    for tool in ["git", "mcp__repertoire__git", "Git"] {
        check(&[called(tool), result("1", &answer("git", "Commit."))], &[seen("git", "Commit.", 1)]);
    }
    check(&[called("git"), result("1", "On branch main")], &[]);
    check(&[called("read_file"), result("1", &answer("git", "Commit."))], &[]);
    check(&[called("git"), result("1", &acknowledged("git"))], &[]);
}

#[test]
fn an_unload_counts_until_the_next_load() {
    let text = answer("git", "A.");
    let mut messages = vec![call("1", "load_skill", "git"), result("1", &text)];
    messages.extend([call("2", "unload_skill", "git"), result("2", "Unloaded skill 'git'.")]);
    check(&messages, &[SeenSkill { unloaded: true, ..seen("git", "A.", 1) }]);
    messages.extend([call("3", "load_skill", "git"), result("3", &acknowledged("git"))]);
    check(&messages, &[SeenSkill { unloaded: true, ..seen("git", "A.", 1) }]);
    messages.extend([call("4", "load_skill", "git"), result("4", &answer("git", "B."))]);
    check(&messages, &[seen("git", "B.", 4)]);
    messages.push(call("5", "unload_skill", "git"));
    check(&messages, &[seen("git", "B.", 4)]);
    messages.push(result("5", "Error: Unknown skill 'git'. Check the skill menu."));
    check(&messages, &[seen("git", "B.", 4)]);
    check(&[call("1", "unload_skill", "git"), result("1", "ok")], &[]);
}

#[test]
fn a_file_of_a_skill_is_not_the_skill() {
    let load = |key: &str, value: Value| {
        let mut input = json!({"name": "git"});
        input[key] = value;
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "load_skill", "input": input}]})
    };
    let text = answer("git", "A.");
    let first = [call("1", "load_skill", "git"), result("1", &text)];
    for key in ["reference", "script", "asset"] {
        let file = [load(key, json!("a.md")), result("2", "# A file")];
        check(&file, &[]);
        check(&[&first[..], &file].concat(), &[seen("git", "A.", 1)]);
        let skill = [load(key, Value::Null), result("2", &answer("git", "B."))];
        check(&[&first[..], &skill].concat(), &[seen("git", "B.", 2)]);
    }
}

#[test]
fn a_skill_is_unloaded_by_any_spelling() {
    let load = [call("1", "load_skill", "my-skill"), result("1", &answer("my-skill", "A."))];
    let unloaded = [SeenSkill { unloaded: true, ..seen("my-skill", "A.", 1) }];
    for spelling in ["my-skill", "My Skill", "local:my-skill", "local:My Skill", "MY-SKILL", " my-skill "] {
        let unload = [call("2", "unload_skill", spelling), result("2", "ok")];
        check(&[&load[..], &unload].concat(), &unloaded);
    }
    // The answer names the skill, whatever address the call used.
    for render in Render::ALL {
        for answer in [Answer::Unloaded(name("my-skill")), Answer::NotLoaded(name("my-skill"))] {
            let text = answer.render(render, &Wording::default());
            let unload = [call("2", "unload_skill", "that one"), result("2", &text)];
            check(&[&load[..], &unload].concat(), &unloaded);
        }
    }
    for (spelling, text) in [("other", "ok"), ("../my-skill", "ok"), ("my-skill", "Skill not found")] {
        let unload = [call("2", "unload_skill", spelling), result("2", text)];
        check(&[&load[..], &unload].concat(), &[seen("my-skill", "A.", 1)]);
    }
}

#[test]
fn results_of_loads_in_messages_of_the_host_are_seen() {
    let body = "Commit </skill>\n<skill name=\"pdf\">\noften.\n";
    let source = "project:.agents/skills".to_owned();
    let skill = LoadedSkill { source, ..skill("git", body) };
    let loaded = LoadAnswer { first: Vec::new(), skill, is_changed: false, notes: Vec::new() };
    let loaded = Answer::Loaded(Box::new(loaded));
    for render in [Render::Xml, Render::Markdown, Render::Json] {
        let text = loaded.render(render, &Wording::default());
        let long = "Look at this.\n".repeat(1_000);
        for (before, behind) in [("", ""), ("Hello\n\n", ""), (long.as_str(), "\nGo on.")] {
            let content = format!("{before}{text}{behind}");
            for role in ["user", "system", "developer"] {
                check(&[json!({"role": role, "content": content})], &[seen("git", body, 0)]);
            }
            check(&[json!({"role": "assistant", "content": content})], &[]);
        }
        check(&[json!({"role": "user", "content": format!("Look: {text}")})], &[]);
        check(&[json!({"role": "user", "content": text.replace("often", "rarely")})], &[]);
        check(&[json!({"role": "user", "content": &text[..text.len() / 2]})], &[]);
    }
    let plain = loaded.render(Render::Text, &Wording::default());
    check(&[json!({"role": "user", "content": plain})], &[]);
}

#[test]
fn reattached_skills_are_seen() {
    let git = name("git");
    let body = "Commit\n</skill>\n</skills_reattached>\noften.\n";
    let candidate = ReattachCandidate { name: &git, body, digest: Digest::of(body.as_bytes()), essence: "" };
    let text = plan(&[candidate], 0, 10_000, &|text| text.len(), &Wording::default()).text;
    let expect = [seen("git", body, 0)];
    for role in ["user", "system", "developer"] {
        check(&[json!({"role": role, "content": text})], &expect);
        let content = json!([{"type": "text", "text": "Summary."}, {"type": "text", "text": text}]);
        check(&[json!({"role": role, "content": content})], &expect);
    }
    check(
        &[json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})],
        &expect,
    );
    check(&[json!({"role": "assistant", "content": text})], &[]);
    check(&[json!({"role": "user", "content": format!("Look: {text}")})], &[]);
    for (before, behind) in
        [("Hello\n\n", ""), ("<system-reminder>", "</system-reminder>"), ("<a>\n", "\n</a>\nGo on.")]
    {
        check(&[json!({"role": "user", "content": format!("{before}{text}{behind}")})], &expect);
    }
    check(&[json!({"role": "user", "content": text.replace("often", "rarely")})], &[]);
    check(&[json!({"role": "user", "content": &text[..text.len() / 2]})], &[]);
    check(&[result("1", &text)], &[]);
}

#[test]
fn turns_are_messages_of_the_assistant() {
    let turns = |messages: Value| loaded(messages.as_array().unwrap(), &LoadToolNames::default()).turns;
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "x", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": ""});
    let says = |role: &str| json!({"role": role, "content": "Hm."});
    assert_eq!(turns(json!([says("user"), says("assistant"), says("user"), says("assistant")])), 2);
    assert_eq!(turns(json!([says("assistant"), says("assistant")])), 2);
    assert_eq!(turns(json!([call("1"), {"type": "reasoning"}, call("2"), output("1"), output("2")])), 1);
    assert_eq!(turns(json!([says("assistant"), call("1"), output("1"), call("2"), says("assistant")])), 2);
}

#[test]
fn malformed_messages_are_skipped() {
    let deep = (0..200).fold(json!("x"), |inner, _| json!({ "content": [inner] }));
    let long = "n".repeat(1 << 20);
    let messages = [
        json!(null),
        json!([]),
        json!("assistant"),
        json!({"role": 3, "content": {}}),
        json!({"role": "assistant", "content": [null, 1, {"type": "tool_use"}], "tool_calls": [{}, 1, null]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "load_skill", "input": ["git"]}]}),
        json!({"role": "assistant", "tool_calls": [{"id": "2", "function": {"name": "load_skill", "arguments": "{"}}]}),
        json!({"role": "assistant", "tool_calls": [{"id": "3", "function": {"name": "load_skill", "arguments": "[".repeat(60_000)}}]}),
        json!({"role": "assistant", "tool_calls": [{"id": "4", "function": {"name": "load_skill", "arguments": {"name": long}}}]}),
        json!({"role": "tool", "tool_call_id": "1", "content": "# Git"}),
        json!({"role": "tool", "tool_call_id": "2", "content": "# Git"}),
        json!({"role": "tool", "tool_call_id": "3", "content": "# Git"}),
        json!({"role": "tool", "tool_call_id": "4", "content": "# Git"}),
        json!({"role": "tool", "content": deep}),
    ];
    check(&messages, &[]);
}

/// Messages that are likely to belong together, and some that belong to nothing.
fn message() -> impl Strategy<Value = Value> {
    let id = || prop::sample::select(vec!["1", "2", "3"]);
    let skill = || prop::sample::select(vec!["git", "docx", "../etc"]);
    let text = prop_oneof![
        Just(answer("git", "A.")),
        Just(answer("git", "B.")),
        Just(answer("docx", "C.")),
        Just(acknowledged("git")),
        Just("Error: no".to_owned()),
        Just("[cleared]".to_owned()),
        ".{0,12}",
    ];
    let tool = prop::sample::select(vec!["load_skill", "unload_skill", "x__load_skill", "fetch"]);
    prop_oneof![
        4 => (id(), tool, skill()).prop_map(|(id, tool, skill)| call(id, tool, skill)),
        4 => (id(), text.clone()).prop_map(|(id, text)| result(id, &text)),
        1 => (id(), text).prop_map(|(id, text)| json!({"type": "function_call_output", "call_id": id, "output": text})),
        1 => id().prop_map(|id| {
            json!({"type": "function_call", "call_id": id, "name": "load_skill", "arguments": "{\"skill\":\"git\"}"})
        }),
        1 => Just(json!({"role": "user", "content": "Hm."})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_in_pieces_equals_reading_at_once(messages in prop::collection::vec(message(), 0..24), cut in 0..24_usize) {
        let whole = loaded(&messages, &LoadToolNames::default());
        prop_assert_eq!(&whole, &loaded(&messages, &LoadToolNames::default()));
        let (first, rest) = messages.split_at(cut.min(messages.len()));
        let mut reading = TranscriptReader::new(LoadToolNames::default());
        reading.read(first);
        prop_assert_eq!(reading.derived(), loaded(first, &LoadToolNames::default()));
        reading.read(rest);
        prop_assert_eq!(reading.derived(), whole);
    }
}
