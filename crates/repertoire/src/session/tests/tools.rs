//! The tools and their calls.

use super::*;
use pollster::block_on;

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
    assert_eq!(
        names,
        [
            "clock",
            "list_skill_files",
            "list_skills",
            "load_skill",
            "read_skill_file",
            "search_skills",
            "unload_skill"
        ]
    );
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

#[test]
fn a_skill_called_as_a_tool_is_answered_with_how_to_load_it() {
    let library = SkillDirectory::new(&["alpha"]);
    let reply = block_on(library.session().call("alpha", &json!({"x": 1})));
    assert!(reply.is_error());
    assert!(reply.text().contains("load_skill") && reply.text().contains("alpha"), "{}", reply.text());
}

#[test]
fn schemas_name_the_skills_as_long_as_they_are_few() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let names = |options: SessionOptions| {
        let tools = library.session_with(options).tools();
        let load = tools.iter().find(|tool| tool.name == "load_skill").unwrap();
        load.input_schema["properties"]["name"]["enum"].clone()
    };
    assert_eq!(names(SessionOptions::default()), json!(["alpha", "beta"]));
    assert_eq!(names(SessionOptions { enum_limit: 1, ..SessionOptions::default() }), Value::Null);
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
        json!({"name": "alpha", "reference": "a", "script": "b"}),
        json!({"name": "alpha", "nonsense": 1}),
        json!([]),
        json!("not json"),
        json!(7),
    ] {
        let reply = block_on(session.call("load_skill", &arguments));
        assert!(reply.is_error(), "{arguments} {}", reply.text());
    }
    assert!(session.loaded().is_empty());
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
    check(|options| options.names.load = "read_skill".to_owned(), None);
    check(|options| options.names.load = "list_skills".to_owned(), Some("list_skills"));
    check(|options| options.names.list = options.names.load.clone(), Some("load_skill"));
    check(|options| options.arguments.name = "force".to_owned(), Some("force"));
    check(|options| options.arguments.skill = "path".to_owned(), Some("path"));
    check(|options| options.arguments.skill = "directory".to_owned(), Some("directory"));
    check(|options| options.arguments.skill = "name".to_owned(), None);
}
