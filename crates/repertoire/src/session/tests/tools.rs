//! The tools and their calls.

use super::*;
use pollster::block_on;
use repertoire_model::answer::ErrorStyle;
use repertoire_model::catalog::{Format, Tokenizer};

use crate::proposal::{ProposalRules, Proposer};
use crate::session::{LoadOptions, RunningOptions, ToolOptions};
use crate::store::{LazyStore, MemoryStore, Store};
use crate::tool::{Definition, OfferedTools};

#[test]
fn every_call_is_one_event() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("alpha/references/guide.md", "one\ntwo\n");
    let session = library.session();
    block_on(session.call("load_skill", &json!({"name": "alpha"})));
    block_on(session.call("load_skill", &json!({"name": "nope"})));
    block_on(session.call("load_skill", &json!({})));
    block_on(session.call("read_skill_file", &json!({"skill": "alpha", "path": "references/guide.md"})));
    block_on(session.call("read_skill_file", &json!({"skill": "alpha", "path": "../x"})));
    block_on(session.call("nope", &json!({})));
    let events = library.sink.events();
    let seen: Vec<(&str, &str)> =
        events.iter().map(|event| (event.kind.as_str(), event.outcome.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("skill_loaded", "ok"),
            ("skill_loaded", "not_found"),
            ("skill_loaded", "invalid"),
            ("file_read", "ok"),
            ("file_read", "invalid"),
            ("tool_called", "not_found"),
        ]
    );
    assert_eq!(events[0].skill.as_deref(), Some("alpha"));
    assert_eq!(events[0].source.as_deref(), Some("test"));
    assert!(events[0].digest.is_some() && events[0].bytes > 0 && events[0].tokens > 0);
    assert_eq!(events[3].file.as_deref(), Some("references/guide.md"));
    assert!(events.iter().all(|event| event.session == session.id()));
}

/// Small models call the name of a skill as if it were a tool.
#[test]
fn a_call_of_the_name_of_a_skill_loads_it() {
    let library = SkillDirectory::new(&["alpha"]);
    library.skill("people", "disable-model-invocation: true\n", "# People\n");
    let session = library.session();
    let first = block_on(session.call("alpha", &json!({"task": "anything"})));
    assert!(!first.is_error() && is_body(first.text()), "{}", first.text());
    assert!(session.context().loaded().contains(&SkillName::new("alpha").unwrap()));
    let again = block_on(session.call("Alpha", &json!("no object")));
    assert!(!again.is_error() && !is_body(again.text()), "{}", again.text());
    let people = block_on(session.call("people", &json!({})));
    assert!(people.is_error() && people.text().contains("There is no tool `people`"), "{}", people.text());
    let events = library.sink.events();
    assert_eq!((events[0].kind.as_str(), events[0].outcome), ("skill_loaded", Outcome::Ok));
    assert_eq!((events[0].skill.as_deref(), events[0].tool.as_str()), (Some("alpha"), "alpha"));
    assert!(events[0].digest.is_some() && events[0].tokens > 0);
    assert_eq!(events[2].kind.as_str(), "tool_called");
}

#[test]
fn a_call_of_a_skill_outside_the_scope_is_one_of_an_unknown_tool() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let scope = Scope { deny: vec![Pattern::new("alpha").unwrap()], ..Scope::default() };
    let opened = block_on(library.builder().agent(Agent { scope, ..Agent::new("clerk") }).open()).unwrap();
    let session = block_on(opened.open_session(&SessionRequest::of("clerk"))).unwrap();
    let text = block_on(session.call("alpha", &json!({}))).text().to_owned();
    assert!(text.contains("There is no tool `alpha`") && !text.contains("call: "), "{text}");
}

#[test]
fn skill_as_tool_explain_answers_with_the_call_to_make() {
    let library = SkillDirectory::new(&["alpha"]);
    let mut options = SessionOptions {
        tools: ToolOptions { skill_as_tool: SkillAsTool::Explain, ..ToolOptions::default() },
        ..SessionOptions::default()
    };
    options.tools.names.load = "activate".to_owned();
    options.tools.arguments.name = "skill".to_owned();
    let session = library.session_with(options.clone());
    let reply = block_on(session.call("alpha", &json!({})));
    let call = r#"{"name": "activate", "arguments": {"skill": "alpha"}}"#;
    let expect =
        format!("There is no function alpha; it is the name of a skill. Answer now with this call: {call}");
    assert!(reply.is_error() && reply.text().contains(&expect), "{}", reply.text());
    assert!(session.context().loaded().is_empty());
    let event = library.sink.events().remove(0);
    assert_eq!((event.error.as_deref(), event.skill.as_deref()), (Some("skill_as_tool"), Some("alpha")));
    let options = SessionOptions { render: Render::Text, errors: ErrorStyle::Menu, ..options };
    let text = block_on(library.session_with(options).call("alpha", &json!({}))).text().to_owned();
    assert_eq!(text, "Error: Tool 'alpha' not found. Is the skill loaded?");
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_skill() {
    let library = SkillDirectory::new(&["git", "csv-report", "vp"]);
    let session = library.session();
    for (tool, skill) in
        [("git_commit", "git"), ("csv_reports", "csv-report"), ("make_csv_report", "csv-report")]
    {
        let text = block_on(session.call(tool, &json!({}))).text().to_owned();
        let call = format!(r#"{{"name": "load_skill", "arguments": {{"name": "{skill}"}}}}"#);
        let expect = format!("If you mean the skill {skill}, answer now with this call: {call}");
        assert!(text.contains(&expect), "{text}");
    }
    for tool in ["ls", "digital", "read_file"] {
        let text = block_on(session.call(tool, &json!({}))).text().to_owned();
        assert!(text.contains("load the skill first") && !text.contains("If you mean"), "{text}");
    }
}

#[test]
fn no_skills_no_catalog_no_tools() {
    let library = SkillDirectory::new(&[]);
    let session = library.session();
    assert_eq!(&*session.catalog().text, "");
    assert!(session.tools().is_empty());
    assert!(block_on(session.call("load_skill", &json!({"name": "x"}))).is_error());
}

struct Clock;

impl Tool for Clock {
    fn name(&self) -> &str {
        "clock"
    }
    fn description(&self) -> String {
        "Tells the time.".to_owned()
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn call<'a>(&'a self, _: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
        Box::pin(async { ToolReply::text("noon") })
    }
}

struct Named(&'static str);

impl Tool for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> String {
        String::new()
    }
    fn input_schema(&self) -> Value {
        Value::Null
    }
    fn call<'a>(&'a self, _: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
        Box::pin(async { ToolReply::error("") })
    }
}

#[test]
fn a_host_adds_tools_but_not_under_the_names_of_the_house() {
    let library = SkillDirectory::new(&["alpha", "clock"]);
    let opened = block_on(library.builder().tool(Clock).open()).unwrap();
    let session = block_on(opened.session()).unwrap();
    let names: Vec<String> = session.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["clock", "load_skill", "read_skill_file"]);
    assert_eq!(block_on(session.call("clock", &json!({}))).text(), "noon");
    assert!(!session.catalog().text.contains("<name>clock</name>"), "a skill named like a tool is set aside");
    for name in ["load_skill", "search_skills", "call_skill_tool"] {
        let refused = block_on(library.builder().tool(Named(name)).open());
        assert_eq!(refused.err().unwrap().kind(), ErrorKind::ReservedName, "{name}");
    }
    let twice = block_on(library.builder().tool(Clock).tool(Clock).open());
    assert_eq!(twice.err().unwrap().kind(), ErrorKind::ReservedName);
}

#[test]
fn without_a_searcher_nothing_names_the_tool_that_searches() {
    let skills: Vec<SkillDefinition> = (0..40)
        .map(|number| SkillDefinition::new(format!("skill-{number}"), "Does one thing of many.", "Do.\n"))
        .collect();
    let mut options = SessionOptions::default();
    options.catalog.budget_tokens = Some(100);
    let builder = Library::builder().provider(MemoryProvider::new("memory", skills)).session_options(options);
    let session = block_on(block_on(builder.open()).unwrap().session()).unwrap();
    assert!(session.tools().iter().all(|tool| tool.name != "search_skills"));
    let text = block_on(session.catalog_for_task(&Task::new("one thing"))).text;
    assert!(text.contains("list_skills") && !text.contains("search_skills"), "{text}");
    assert!(block_on(session.call("search_skills", &json!({"query": "one thing"}))).is_error());
    let listed = block_on(session.call("list_skills", &json!({"query": "one thing"})));
    assert!(!listed.is_error() && listed.text().contains("skill-7"), "{}", listed.text());
}

/// A model that makes a tag up finds skills nevertheless.
#[test]
fn search_skills_ignores_a_tag_that_no_skill_has() {
    let library = SkillDirectory::new(&["alpha"]);
    library.skill("beta", "metadata:\n  tags: office\n", "# Beta\n");
    let session = library.session();
    let text = |tag: &str| {
        block_on(session.call("search_skills", &json!({"query": "alpha", "tag": tag}))).text().to_owned()
    };
    let made_up = text("nope");
    assert!(made_up.contains("No skill has the tag `nope`, so it was ignored."), "{made_up}");
    assert!(made_up.contains("name=\"alpha\""), "{made_up}");
    assert!(text("office").contains("No skill with the tag `office` was found"), "{}", text("office"));
}

/// The enumeration has the names that the catalog for the task has.
#[test]
fn schemas_name_the_skills_of_the_catalog_for_the_task() {
    let skills = (0..40).map(|number| SkillDefinition::new(format!("skill-{number}"), "Does it.", "Do.\n"));
    let mut options = SessionOptions {
        tools: ToolOptions { enum_limit: 20, ..ToolOptions::default() },
        ..SessionOptions::default()
    };
    options.catalog.budget_tokens = Some(300);
    let provider = MemoryProvider::new("memory", skills.collect());
    let builder = Library::builder().provider(provider).searcher(WordSearcher).session_options(options);
    let session = block_on(block_on(builder.open()).unwrap().session()).unwrap();
    let listed = || {
        let tools = session.tools();
        let load = tools.iter().find(|tool| tool.name == "load_skill").unwrap();
        load.input_schema["properties"]["name"]["enum"].as_array().cloned()
    };
    assert_eq!(listed(), None, "every name is listed, and these are too many");
    let text = block_on(session.catalog_for_task(&Task::new("skill-7"))).text;
    let names = listed().unwrap();
    assert!(!names.is_empty() && names.contains(&json!("skill-7")), "{names:?}");
    for name in names {
        assert!(text.contains(name.as_str().unwrap()), "{name} in {text}");
    }
}

#[test]
fn schemas_name_the_skills_as_long_as_they_are_few() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let with_names = library.session().tools();
    let enumerations = with_names.iter().filter(|tool| tool.input_schema.to_string().contains("\"enum\""));
    assert_eq!(enumerations.map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["load_skill"]);
    let names = |options: SessionOptions| {
        let tools = library.session_with(options).tools();
        let load = tools.iter().find(|tool| tool.name == "load_skill").unwrap();
        load.input_schema["properties"]["name"]["enum"].clone()
    };
    assert_eq!(names(SessionOptions::default()), json!(["alpha", "beta"]));
    assert_eq!(
        names(SessionOptions {
            tools: ToolOptions { enum_limit: 1, ..ToolOptions::default() },
            ..SessionOptions::default()
        }),
        Value::Null
    );
}

#[test]
fn wrong_arguments_are_answers() {
    let library = SkillDirectory::new(&["alpha"]);
    let session = library.session();
    for arguments in [
        json!({}),
        json!({"name": 5}),
        json!({"name": null}),
        json!({"name": ["alpha"]}),
        json!({"name": "alpha", "force": "yes"}),
        json!({"name": "alpha", "reference": 3}),
        json!({"name": "alpha", "nonsense": 1}),
        json!([]),
        json!("not json"),
        json!(7),
    ] {
        let reply = block_on(session.call("load_skill", &arguments));
        assert!(reply.is_error(), "{arguments} {}", reply.text());
    }
    assert!(session.context().loaded().is_empty());
    for arguments in [
        json!({"skill": "alpha"}),
        json!({"skill": "alpha", "path": "SKILL.md", "start_line": 0}),
        json!({"skill": "alpha", "path": "SKILL.md", "start_line": -1}),
        json!({"skill": "alpha", "path": "SKILL.md", "start_line": 1.5}),
        json!({"skill": "alpha", "path": "SKILL.md", "start_line": "2"}),
        json!({"skill": "alpha", "path": "SKILL.md", "start_line": 3, "end_line": 2}),
    ] {
        assert!(block_on(session.call("read_skill_file", &arguments)).is_error(), "{arguments}");
    }
    assert!(!block_on(session.call("load_skill", &json!("{\"skill_name\": \"alpha\"}"))).is_error());
}

#[test]
fn names_of_tools_and_arguments_must_be_distinct() {
    let check = |change: fn(&mut SessionOptions), clash: Option<&str>| {
        let mut options = SessionOptions::default();
        change(&mut options);
        assert_eq!(options.clash(), clash);
        let opened = block_on(Library::builder().session_options(options).open());
        assert_eq!(opened.is_err(), clash.is_some());
    };
    check(|_| {}, None);
    check(|options| options.tools.names.load = "read_skill".to_owned(), None);
    check(|options| options.tools.names.load = "list_skills".to_owned(), Some("list_skills"));
    check(|options| options.tools.names.list = options.tools.names.load.clone(), Some("load_skill"));
    check(|options| options.tools.arguments.name = "force".to_owned(), Some("force"));
    check(|options| options.tools.arguments.skill = "path".to_owned(), Some("path"));
    check(|options| options.tools.arguments.skill = "directory".to_owned(), Some("directory"));
    check(|options| options.tools.arguments.skill = "name".to_owned(), None);
}

#[test]
fn b27_one_call_returns_a_reference_a_script_and_an_asset() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("alpha/references/a.md", "the reference\n");
    library.write("alpha/scripts/a.sh", "the script\n");
    library.write("alpha/assets/a.txt", "the asset\n");
    let session = library.session();
    let asked = json!({"name": "alpha", "reference": "a.md", "script": "scripts/a.sh", "asset": "a.txt"});
    let reply = block_on(session.call("load_skill", &asked));
    let data = session.data(&reply);
    assert_eq!(
        (&data["reference_content"], &data["script_content"], &data["asset_content"], &data["body"]),
        (&json!("the reference\n"), &json!("the script\n"), &json!("the asset\n"), &json!(""))
    );
    let places = ["the reference\n", "the script\n", "the asset\n"].map(|text| reply.text().find(text));
    assert!(places.is_sorted() && places[0].is_some(), "{}", reply.text());
    let reply =
        block_on(session.call("load_skill", &json!({"name": "alpha", "reference": "a.md", "script": "b"})));
    assert!(reply.is_error() && reply.text().contains("scripts/b"), "{}", reply.text());
}

#[test]
fn b34_events_tell_references_from_scripts_by_their_path() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("alpha/references/run", "x\n");
    library.write("alpha/scripts/run", "x\n");
    let session = library.session();
    for asked in [
        json!({"reference": "run"}),
        json!({"script": "./run"}),
        json!({"reference": "run", "script": "run"}),
    ] {
        let mut asked = asked;
        asked["name"] = "alpha".into();
        assert!(!block_on(session.call("load_skill", &asked)).is_error());
    }
    let files: Vec<Option<String>> = library.sink.events().iter().map(|event| event.file.clone()).collect();
    let expect = ["references/run", "scripts/run", "references/run", "scripts/run"];
    assert_eq!(files, expect.map(|file| Some(file.to_owned())));
}

#[test]
fn x28_licence_compatibility_and_allowed_tools_are_given_as_written_in_every_rendering() {
    let library = SkillDirectory::new(&[]);
    let compatibility = "Needs git. ".repeat(40);
    let fields = format!(
        "license: MIT or Apache-2.0\ncompatibility: {compatibility}\nallowed-tools: Read, Bash(git add:*)\n"
    );
    library.skill("alpha", &fields, "Do.\n");
    library.skill("beta", "allowed-tools: [Read, Write]\n", "Do.\n");
    library.skill("gamma", "license: \"MIT  or `own`\"\nallowed-tools: Read  Write\n", "Do.\n");
    // Of `body`, the model sees nothing but the instructions.
    for render in Render::ALL.into_iter().filter(|render| *render != Render::Body) {
        let session = library.session_with(SessionOptions { render, ..SessionOptions::default() });
        let reply = block_on(session.call("load_skill", &json!({"name": "alpha"})));
        for written in ["MIT or Apache-2.0", compatibility.trim(), "Read, Bash(git add:*)"] {
            assert!(reply.text().contains(written), "{render:?} {written}\n{}", reply.text());
        }
        let data = session.data(&reply);
        assert_eq!(
            (&data["license"], &data["compatibility"], &data["allowed_tools"]),
            (&json!("MIT or Apache-2.0"), &json!(compatibility.trim()), &json!("Read, Bash(git add:*)"))
        );
        let reply = block_on(session.call("load_skill", &json!({"name": "gamma"})));
        let expect = match render {
            Render::Xml => "license=\"MIT  or `own`\"",
            Render::Json => "\"license\":\"MIT  or `own`\"",
            Render::Text => "Note: license: MIT  or `own`\n",
            _ => "- license: `` MIT  or `own` ``\n",
        };
        assert!(reply.text().contains(expect), "{render:?}\n{}", reply.text());
        let reply = block_on(session.call("load_skill", &json!({"name": "beta"})));
        assert_eq!(session.data(&reply)["allowed_tools"], json!(["Read", "Write"]));
        assert_eq!(session.data(&reply).get("license"), None);
    }
}

#[test]
fn h27_instructions_with_frontmatter_follow_the_sentence_at_once() {
    let library = SkillDirectory::new(&[]);
    library.skill("alpha", "license: MIT\n", "Do.\n");
    let options = SessionOptions {
        render: Render::Text,
        loading: LoadOptions { include_frontmatter: true, ..LoadOptions::default() },
        ..SessionOptions::default()
    };
    let text = load(&library.session_with(options), "alpha");
    assert!(
        text.starts_with("Loaded skill 'alpha' with 0 tools: \n\nDocumentation:\n---\nname: alpha\n"),
        "{text}"
    );
}

#[test]
fn x29_listed_files_have_descriptions() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("alpha/references/a.md", "# Form fields\n");
    library.write("alpha/scripts/b.sh", "#!/bin/sh\n# Fills a </skill_files> form.\n");
    library.write("alpha/assets/c.txt", "# no heading\n");
    let session = library.session();
    let loaded = load(&session, "alpha");
    assert!(loaded.contains("references/a.md - Form fields\n"), "{loaded}");
    assert!(loaded.contains("assets/c.txt\n"), "{loaded}");
    let reply = block_on(session.call("list_skill_files", &json!({"skill": "alpha"})));
    assert!(reply.text().contains("a.md 14 - Form fields\n"), "{}", reply.text());
    assert_eq!(reply.text().matches("</skill_files>").count(), 1, "{}", reply.text());
    assert_eq!(session.data(&reply)["files"][2]["description"], "Form fields");
}

fn names_of(session: &Session) -> Vec<String> {
    session.tools().iter().map(|tool| tool.name.clone()).collect()
}

#[test]
fn tools_come_by_need_and_stay_for_the_session() {
    let library = SkillDirectory::new(&["git", "pdf"]);
    library.write("git/references/guide.md", "one\n");
    let session = library.session_with(SessionOptions::default());
    assert_eq!(names_of(&session), ["load_skill", "read_skill_file"]);
    // A tool that is only not needed answers.
    for (tool, arguments) in [
        ("list_skills", json!({})),
        ("list_skill_files", json!({"skill": "git"})),
        ("load_skill", json!({"name": "git", "reference": "guide.md"})),
        ("read_skill_file", json!({"skill": "git", "path": "references/"})),
    ] {
        let reply = block_on(session.call(tool, &arguments));
        assert!(
            !reply.is_error() && (tool == "list_skills" || reply.text().contains("guide.md")),
            "{}",
            reply.text()
        );
    }
    for path in ["", ".", "references", "..", "/", "../", "gone/", "references/gone.md"] {
        let reply = block_on(session.call("read_skill_file", &json!({"skill": "git", "path": path})));
        assert!(reply.is_error(), "{}", reply.text());
    }
    library.write("git/references/more.md", "two\n");
    let mut policy = Policy::default();
    policy.max_listed = 1;
    let opened = block_on(library.builder().policy(policy).open()).unwrap();
    let text = super::load(&block_on(opened.session()).unwrap(), "git");
    assert!(text.contains("(1 more: call read_skill_file with a directory, such as references/)"), "{text}");
    // The catalog is cut from the start, or has become too long.
    let mut options = SessionOptions::default();
    options.catalog.budget_tokens = Some(400);
    let session = library.session_with(options.clone());
    assert_eq!(names_of(&session), ["load_skill", "read_skill_file"]);
    let many: Vec<String> = (0..40).map(|number| format!("skill-{number}")).collect();
    for name in &many {
        library.write(
            &format!("{name}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: Does things.\n---\n# A\n"),
        );
    }
    let later = block_on(session.refresh());
    assert!(!later.text.contains("search_skills"), "{}", later.text);
    assert_eq!(names_of(&session), ["load_skill", "read_skill_file"]);
    let session = library.session_with(options);
    assert_eq!(names_of(&session), ["list_skills", "load_skill", "read_skill_file", "search_skills"]);
    assert!(session.catalog().text.contains("call `search_skills`"), "{}", session.catalog().text);
}

fn only(tools: &[&str]) -> OfferedTools {
    OfferedTools::Only(tools.iter().map(|tool| (*tool).to_owned()).collect())
}

#[test]
fn h30_the_minimal_surface_is_load_skill_with_a_name_and_a_file() {
    let names = ["docx", "git", "mail", "pdf", "search", "shell", "web", "xlsx"];
    let library = SkillDirectory::new(&names);
    library.write("git/references/guide.md", "one\n");
    let options = SessionOptions {
        tools: ToolOptions { offered: OfferedTools::Minimal, ..ToolOptions::default() },
        ..SessionOptions::default()
    };
    let session = library.session_with(options);
    let tools = session.tools();
    let [load] = &*tools else { panic!("{tools:?}") };
    assert_eq!(load.name, "load_skill");
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Skill name from the catalog"},
            "file": {
                "type": "string",
                "description": "Path of a file of the skill to return instead, such as references/guide.md",
            },
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    assert_eq!(load.input_schema, schema);
    let text = super::load(&session, "git");
    assert!(is_body(&text) && !text.contains("read_skill_file") && !text.contains("list_skill"), "{text}");
    assert!(text.contains(r#"Read a file with `load_skill` {"name":"git","file":"…"}."#), "{text}");
    let file = block_on(session.call("load_skill", &json!({"name": "git", "file": "references/guide.md"})));
    assert!(!file.is_error() && file.text().contains("one"), "{}", file.text());
    for tool in ["read_skill_file", "list_skills", "unload_skill"] {
        let reply = block_on(session.call(tool, &json!({"skill": "git", "path": "references/guide.md"})));
        assert!(reply.is_error() && reply.text().contains("no tool"), "{}", reply.text());
    }
    let tokens = |session: &Session| {
        let json = |tool: &Definition| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
                .to_string()
        };
        let counted =
            session.tools().iter().map(|tool| Tokenizer::O200kBase.count(&json(tool))).sum::<usize>();
        counted / 10 * 10
    };
    // These figures are in docs/guides/agents-and-roles.md.
    assert_eq!((tokens(&library.session()), tokens(&session)), (140, 70));
    // This one is in docs/guides/improving-skills.md.
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let proposer = Arc::new(Proposer::new(LazyStore::from(store), ProposalRules::default()));
    let mut options = SessionOptions::default();
    options.tools.propose_tools = true;
    let opened = block_on(library.builder().proposer(proposer).session_options(options).open()).unwrap();
    assert_eq!(tokens(&block_on(opened.session()).unwrap()) - 140, 190);
}

#[test]
fn x15_y33_an_agent_has_tools_of_its_own() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("alpha/references/guide.md", "one\n");
    let mut yodoca = Agent::new("yodoca");
    yodoca.tools.offered = only(&["list_skills", "read_skill_file"]);
    let entries = |words: &[(&str, &str)]| {
        words.iter().map(|(usual, own)| ((*usual).to_owned(), (*own).to_owned())).collect()
    };
    yodoca.tools.names = entries(&[("load_skill", "read_skill"), ("read_skill_file", "read_skill_resource")]);
    yodoca.tools.arguments = entries(&[("name", "skill_id"), ("skill", "skill_id")]);
    yodoca.tools.descriptions = entries(&[("load_skill", "Read a skill.")]);
    yodoca.tools.hidden_arguments =
        ["force", "reference", "script", "asset", "start_line", "end_line", "query"]
            .map(str::to_owned)
            .into();
    let mut helix = Agent::new("helix");
    helix.tools.offered = only(&["load_skill", "read_skill_file"]);
    let opened = block_on(library.builder().agent(yodoca).agent(helix).open()).unwrap();
    let session = |agent: &str| block_on(opened.open_session(&SessionRequest::of(agent))).unwrap();
    assert_eq!(names_of(&session("helix")), ["load_skill", "read_skill_file"]);
    let yodoca = session("yodoca");
    assert_eq!(names_of(&yodoca), ["list_skills", "read_skill", "read_skill_resource"]);
    let tools = yodoca.tools();
    let arguments = |index: usize| {
        let properties = tools[index].input_schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!((arguments(0), arguments(1)), (vec![], vec!["skill_id".to_owned()]));
    assert_eq!(arguments(2), ["skill_id", "path"]);
    assert_eq!(tools[1].description, "Read a skill.");
    assert!(yodoca.catalog().text.contains("{\"name\": \"read_skill\", "), "{}", yodoca.catalog().text);
    let text = block_on(yodoca.call("read_skill", &json!({"skill_id": "alpha"}))).text().to_owned();
    assert!(is_body(&text) && text.contains("`read_skill_resource` {\"skill_id\":\"alpha\""), "{text}");
    let file = json!({"skill_id": "alpha", "path": "references/guide.md", "end_line": 1});
    assert!(!block_on(yodoca.call("read_skill_resource", &file)).is_error());
    // No skill may have the name of a tool that only one agent has.
    library.skill("read_skill", "", "");
    let snapshot = block_on(opened.reload());
    assert!(snapshot.active().all(|skill| skill.name().as_str() != "read_skill"));
}

#[test]
fn an_agent_is_offered_no_tool_that_the_library_does_not_offer() {
    let library = SkillDirectory::new(&["alpha"]);
    let options = SessionOptions {
        tools: ToolOptions { offered: only(&["list_skills"]), ..ToolOptions::default() },
        ..SessionOptions::default()
    };
    let mut wide = Agent::new("wide");
    wide.tools.offered = only(&["list_skills", "read_skill_file"]);
    let mut narrow = Agent::new("narrow");
    narrow.inherit = Inherit::Catalog;
    narrow.tools.offered = OfferedTools::Minimal;
    let mut clash = Agent::new("clash");
    clash.tools.names.insert("load_skill".to_owned(), "list_skills".to_owned());
    let builder = || library.builder().session_options(options.clone());
    let opened = block_on(builder().agent(wide).agent(narrow).open()).unwrap();
    let session = block_on(opened.open_session(&SessionRequest::of("wide"))).unwrap();
    assert_eq!(names_of(&session), ["list_skills", "load_skill"]);
    let parent = block_on(opened.open_session(&SessionRequest::of("narrow"))).unwrap();
    let child = block_on(parent.subagent_with(&SubagentOptions::of("wide"))).unwrap();
    assert_eq!(
        (names_of(&parent), names_of(&child)),
        (vec!["load_skill".to_owned()], vec!["load_skill".to_owned()])
    );
    assert_eq!(block_on(builder().agent(clash).open()).err().unwrap().kind(), ErrorKind::ReservedName);
}

const FILL: &str = r#"[{"name": "fill", "description": "Fills.", "parameters": {"type": "object"}}, {"name": "merge", "description": "Merges."}]"#;

#[test]
fn h27_a_skill_whose_tools_do_not_run_says_so() {
    let library = SkillDirectory::new(&["pdf", "plain"]);
    library.write("pdf/schema.json", FILL);
    library.write("pdf/tools.py", "def fill():\n    pass\n\ndef merge():\n    pass\n");
    let off = "Running is off. Set `x = true`, or go on without it.";
    let mut options = SessionOptions {
        running: RunningOptions { running_off: Some(off.to_owned()), ..RunningOptions::default() },
        ..SessionOptions::default()
    };
    let session = library.session_with(options.clone());
    assert!(
        load(&session, "pdf").contains(&format!("Its tools cannot be called. {off}")),
        "{}",
        load(&session, "pdf")
    );
    assert!(!load(&session, "plain").contains("cannot be called"));
    library.skill("code", "", "");
    library.write("code/tools.py", "def go():\n    pass\n");
    let text = load(&library.session_with(options.clone()), "code");
    assert!(text.contains(&format!("The functions of its tools.py cannot be called. {off}")), "{text}");
    for (tool, arguments) in [
        ("fill", json!({})),
        ("call_skill_tool", json!({"skill": "pdf", "tool": "fill"})),
        ("run_skill_script", json!({"skill": "pdf", "path": "scripts/a.py"})),
    ] {
        let reply = block_on(session.call(tool, &arguments));
        assert!(reply.is_error() && reply.text().contains(off), "{}", reply.text());
    }
    assert!(block_on(session.call("other", &json!({}))).text().contains("There is no tool `other`"));
    options.render = Render::Text;
    let text = load(&library.session_with(options), "pdf");
    assert!(
        text.starts_with("Loaded skill 'pdf' with 2 tools: fill, merge\n\nNote: Its tools cannot"),
        "{text}"
    );
}

#[test]
fn h29_a_host_with_its_own_handlers_gets_the_schemas_of_loaded_skills() {
    let library = SkillDirectory::new(&["pdf"]);
    library.write("pdf/schema.json", FILL);
    let mut options = SessionOptions {
        running: RunningOptions { host_runs_tools: true, ..RunningOptions::default() },
        ..SessionOptions::default()
    };
    options.tools.offered = OfferedTools::Minimal;
    options.running.exposure = ToolExposure::Dynamic;
    options.catalog.format = Format::Menu;
    options.render = Render::Text;
    let session = library.session_with(options);
    assert_eq!(names_of(&session), ["load_skill"]);
    let text = load(&session, "pdf");
    assert!(text.starts_with("Loaded skill 'pdf' with 2 tools: fill, merge\n\nDocumentation:\n"), "{text}");
    let tools = session.tools();
    assert_eq!(names_of(&session), ["fill", "load_skill", "merge"]);
    let name = json!({"type": "string", "description": "Skill name from the menu"});
    assert_eq!(tools[1].input_schema["properties"]["name"], name);
    assert_eq!(
        (tools[0].description.as_str(), &tools[0].input_schema),
        ("Fills.", &json!({"type": "object"}))
    );
}

#[test]
fn h30_a_note_about_a_shared_name_of_tools_names_no_tool_that_is_not_offered() {
    let library = SkillDirectory::new(&["one", "two"]);
    library.write("one/schema.json", FILL);
    library.write("two/schema.json", FILL);
    for (offered, expect) in [
        (OfferedTools::All, "this one is called with `call_skill_tool`, "),
        (OfferedTools::Minimal, "this one cannot be called."),
    ] {
        let mut options = SessionOptions {
            running: RunningOptions { host_runs_tools: true, ..RunningOptions::default() },
            tools: ToolOptions { offered, ..ToolOptions::default() },
            ..SessionOptions::default()
        };
        options.running.exposure = ToolExposure::Dynamic;
        let session = library.session_with(options);
        load(&session, "one");
        let text = load(&session, "two");
        assert!(text.contains(&format!("Another loaded skill has a tool `fill` too; {expect}")), "{text}");
    }
}

#[test]
fn h28_unloading_a_skill_that_is_not_loaded() {
    let library = SkillDirectory::new(&["pdf"]);
    let session = library.session_with(SessionOptions { render: Render::Text, ..SessionOptions::default() });
    for name in ["pdf", "nope"] {
        let reply = block_on(session.call("unload_skill", &json!({"name": name})));
        assert_eq!(reply.text(), format!("Skill '{name}' is not loaded."));
    }
}

#[test]
fn the_rest_of_a_file_is_offered_by_a_tool_that_the_model_has() {
    let library = SkillDirectory::new(&["alpha"]);
    library.write("alpha/references/big.md", &"0123456789\n".repeat(5));
    let options = |offered| SessionOptions {
        tools: ToolOptions { read_bytes: 30, offered, ..ToolOptions::default() },
        ..SessionOptions::default()
    };
    let asked = json!({"name": "alpha", "reference": "big.md"});
    for (offered, expect) in [
        (OfferedTools::All, "To read on, call read_skill_file with start_line=3."),
        (OfferedTools::Minimal, "To read on, call load_skill with start_line=3."),
        (only(&[]), "The rest cannot be read with the tools that you have."),
    ] {
        let session = library.session_with(options(offered));
        let text = block_on(session.call("load_skill", &asked)).text().to_owned();
        assert!(text.contains(expect), "{text}");
    }
    let session = library.session_with(options(OfferedTools::Minimal));
    let unknown = block_on(session.call("load_skill", &json!({"name": "alpha", "limit": 3})));
    assert!(unknown.is_error() && !unknown.text().contains("force"), "{}", unknown.text());
    assert!(!unknown.text().contains("asset`"), "{}", unknown.text());
}
