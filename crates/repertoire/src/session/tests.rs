//! Tests of sessions through the library.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use repertoire_model::answer::Render;
use repertoire_model::scope::{Pattern, Scope};
use serde_json::{Map, Value, json};

use super::*;
use crate::event::{MemorySink, Outcome};
use crate::provider::{BoxFuture, Mark, OpenedSkill};
use crate::tool::{Answered, Tool};
use crate::*;

/// A directory of skills, and a registry over it.
struct Library {
    directory: tempfile::TempDir,
    sink: Arc<MemorySink>,
}

impl Library {
    fn new(names: &[&str]) -> Self {
        let library = Self { directory: tempfile::tempdir().unwrap(), sink: Arc::new(MemorySink::new()) };
        for name in names {
            library.skill(name, "", &format!("# {name}\n\nDo {name}.\n"));
        }
        library
    }

    fn skill(&self, name: &str, fields: &str, body: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name} things. Use when {name} is asked for.\n{fields}---\n{body}"
        );
        self.write(&format!("{name}/SKILL.md"), &text);
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        // So old that the mark of the file can be relied on.
        let then = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }

    fn builder(&self) -> RegistryBuilder {
        let provider = FsProvider::new(FsOptions::new("test", self.directory.path()));
        Registry::builder().provider(Arc::new(provider)).sink(self.sink.clone())
    }

    fn session(&self) -> Session {
        self.builder().open_blocking().unwrap().session_blocking(None).unwrap()
    }

    fn session_with(&self, options: SessionOptions) -> Session {
        self.builder().session_options(options).open_blocking().unwrap().session_blocking(None).unwrap()
    }
}

fn load(session: &Session, name: &str) -> String {
    session.call_blocking("load_skill", &json!({"name": name})).text().to_owned()
}

fn is_body(text: &str) -> bool {
    text.starts_with("<skill name=")
}

#[test]
fn a_skill_is_given_once_and_again_when_it_changed() {
    let library = Library::new(&["alpha"]);
    let session = library.session();
    let first = load(&session, "alpha");
    assert!(is_body(&first) && first.contains("Do alpha."), "{first}");
    assert!(!first.contains("description:"), "the frontmatter is not given");
    let again = load(&session, "alpha");
    assert!(!is_body(&again) && !again.contains("Do alpha."), "{again}");
    library.skill("alpha", "", "# alpha\n\nDo beta!.\n");
    let changed = load(&session, "alpha");
    assert!(changed.contains("Do beta!.") && changed.contains("changed"), "{changed}");
    assert!(!is_body(&load(&session, "alpha")));
    let forced = session.call_blocking("load_skill", &json!({"name": "alpha", "force": true}));
    assert!(is_body(forced.text()));
}

#[test]
fn unloading_makes_the_next_load_give_the_body() {
    let library = Library::new(&["alpha"]);
    let session = library.session();
    assert!(session.call_blocking("unload_skill", &json!({"name": "alpha"})).text().contains("not"));
    load(&session, "alpha");
    assert_eq!(session.loaded().len(), 1);
    assert!(!session.call_blocking("unload_skill", &json!({"name": "alpha"})).is_error());
    assert_eq!(session.loaded().len(), 0);
    assert!(is_body(&load(&session, "alpha")));
}

#[test]
fn what_was_added_later_is_loadable_at_once_and_told_of_once() {
    let library = Library::new(&["alpha"]);
    let session = library.session();
    let (catalog, tools) = (session.catalog(), session.tools());
    library.skill("beta", "", "# Beta\n\nDo beta.\n");
    assert!(is_body(&load(&session, "beta")));
    assert_eq!((session.catalog(), session.tools()), (catalog.clone(), tools));
    let note = session.delta_blocking();
    assert!(note.text.contains("beta") && !note.text.contains("alpha"), "{}", note.text);
    assert_eq!(session.delta_blocking().text, "");
    fs::remove_dir_all(library.directory.path().join("alpha")).unwrap();
    let note = session.delta_blocking();
    assert!(note.text.contains("alpha"), "{}", note.text);
    assert_eq!(session.catalog(), catalog, "nothing but a refresh changes the catalog");
    let gone = session.call_blocking("load_skill", &json!({"name": "alpha"}));
    assert!(gone.is_error() && gone.text().contains("gone"), "{}", gone.text());
    let fresh = session.refresh_blocking();
    assert!(fresh.text.contains("beta") && !fresh.text.contains("alpha"), "{}", fresh.text);
}

#[test]
fn an_agent_cannot_tell_what_it_may_not_see_from_what_is_not_there() {
    let library = Library::new(&["alpha", "secret-plan"]);
    let agent = Agent {
        scope: Scope { deny: vec![Pattern::new("secret*").unwrap()], ..Scope::default() },
        ..Agent::new("clerk")
    };
    let registry = library.builder().agent(agent).open_blocking().unwrap();
    let session = registry.session_blocking(Some("clerk")).unwrap();
    assert!(!session.catalog().text.contains("secret"));
    assert!(!serde_json::to_string(&session.tools()[2].input_schema).unwrap().contains("secret"));
    for (tool, key) in [
        ("load_skill", "name"),
        ("unload_skill", "name"),
        ("read_skill_file", "skill"),
        ("list_skill_files", "skill"),
    ] {
        let ask = |name: &str| {
            let mut arguments = json!({key: name});
            if tool == "read_skill_file" {
                arguments["path"] = json!("SKILL.md");
            }
            session.call_blocking(tool, &arguments).text().replace(name, "X")
        };
        assert_eq!(ask("secret-plan"), ask("zecret-plan"), "{tool}");
    }
    assert!(!session.call_blocking("list_skills", &json!({})).text().contains("secret"));
    assert!(!session.call_blocking("secret-plan", &json!({})).text().contains("is a skill"));
    let outcomes: Vec<Outcome> = library.sink.events().iter().map(|event| event.outcome).collect();
    assert_eq!(outcomes[0], Outcome::Denied, "the journal knows better");
    assert_eq!(registry.session_blocking(Some("nobody")).err().unwrap().kind(), ErrorKind::AgentNotFound);
}

#[test]
fn every_call_is_one_event_whatever_it_came_to() {
    let library = Library::new(&["alpha"]);
    library.write("alpha/references/guide.md", "one\ntwo\n");
    let session = library.session();
    session.call_blocking("load_skill", &json!({"name": "alpha"}));
    session.call_blocking("load_skill", &json!({"name": "nope"}));
    session.call_blocking("load_skill", &json!({}));
    session.call_blocking("read_skill_file", &json!({"skill": "alpha", "path": "references/guide.md"}));
    session.call_blocking("read_skill_file", &json!({"skill": "alpha", "path": "../x"}));
    session.call_blocking("nope", &json!({}));
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
fn calls_at_the_same_time_get_along() {
    let library = Library::new(&["alpha", "beta"]);
    let session = library.session();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for name in ["alpha", "beta", "alpha"] {
                    let reply = session.call_blocking("load_skill", &json!({"name": name}));
                    assert!(!reply.is_error());
                }
            });
        }
    });
    assert_eq!(library.sink.events().len(), 24);
    assert_eq!(session.loaded().len(), 2);
}

#[test]
fn no_skills_no_catalog_no_tools() {
    let library = Library::new(&[]);
    let session = library.session();
    assert_eq!(&*session.catalog().text, "");
    assert!(session.tools().is_empty());
    assert!(session.call_blocking("load_skill", &json!({"name": "x"})).is_error());
}

#[test]
fn skills_that_require_others_say_so_or_bring_them() {
    let library = Library::new(&["base"]);
    library.skill("middle", "requires: [base]\n", "# Middle\n\nUse base.\n");
    library.skill("top", "requires: [middle, base, ghost]\n", "# Top\n\nUse all.\n");
    let session = library.session();
    let text = load(&session, "top");
    assert!(
        text.contains("This skill requires: middle, base. Load it first if you haven't already."),
        "{text}"
    );
    assert!(text.contains("`ghost`"), "{text}");
    load(&session, "base");
    let again = session.call_blocking("load_skill", &json!({"name": "middle"}));
    assert!(!again.text().contains("This skill requires"), "{}", again.text());

    let options = SessionOptions { requires: Requires::AutoLoad, ..SessionOptions::default() };
    let session = library.session_with(options.clone());
    let text = load(&session, "top");
    let place = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
    assert!(place("Do base.") < place("Use base.") && place("Use base.") < place("Use all."));
    assert_eq!(session.loaded().len(), 3);

    let session = library.session_with(SessionOptions { requires_max_tokens: 1, ..options });
    let text = load(&session, "top");
    assert!(text.contains("This skill requires: base, middle."), "{text}");
    assert_eq!(session.loaded().len(), 1);
}

#[test]
fn skills_that_require_each_other_are_told_of() {
    let library = Library::new(&[]);
    library.skill("a", "requires: [b]\n", "# A\n");
    library.skill("b", "requires: [a]\n", "# B\n");
    for requires in Requires::ALL {
        let session = library.session_with(SessionOptions { requires, ..SessionOptions::default() });
        let text = load(&session, "a");
        assert!(text.contains("Skills that require each other: a, b, a."), "{text}");
    }
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
    fn call<'a>(&'a self, _: &'a Session, _: &'a Map<String, Value>) -> BoxFuture<'a, Answered> {
        let answer = model::answer::Answer::Custom { text: "noon".to_owned(), is_error: false };
        Box::pin(async { answer.into() })
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
    fn call<'a>(&'a self, _: &'a Session, _: &'a Map<String, Value>) -> BoxFuture<'a, Answered> {
        Box::pin(async { model::answer::Answer::Custom { text: String::new(), is_error: true }.into() })
    }
}

#[test]
fn a_host_adds_tools_but_not_under_the_names_of_the_house() {
    let library = Library::new(&["alpha", "clock"]);
    let registry = library.builder().tool(Arc::new(Clock)).open_blocking().unwrap();
    let session = registry.session_blocking(None).unwrap();
    let names: Vec<String> = session.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(
        names,
        ["clock", "list_skill_files", "list_skills", "load_skill", "read_skill_file", "unload_skill"]
    );
    assert_eq!(session.call_blocking("clock", &json!({})).text(), "noon");
    assert!(!session.catalog().text.contains("<name>clock</name>"), "a skill named like a tool is set aside");
    for name in ["load_skill", "search_skills", "call_skill_tool"] {
        let refused = library.builder().tool(Arc::new(Named(name))).open_blocking();
        assert_eq!(refused.err().unwrap().kind(), ErrorKind::ReservedName, "{name}");
    }
    let twice = library.builder().tool(Arc::new(Clock)).tool(Arc::new(Clock)).open_blocking();
    assert_eq!(twice.err().unwrap().kind(), ErrorKind::ReservedName);
}

#[test]
fn a_skill_called_as_a_tool_is_answered_with_how_to_load_it() {
    let library = Library::new(&["alpha"]);
    let reply = library.session().call_blocking("alpha", &json!({"x": 1}));
    assert!(reply.is_error());
    assert!(reply.text().contains("load_skill") && reply.text().contains("alpha"), "{}", reply.text());
}

#[test]
fn schemas_name_the_skills_as_long_as_they_are_few() {
    let library = Library::new(&["alpha", "beta"]);
    let names = |options: SessionOptions| {
        let tools = library.session_with(options).tools();
        let load = tools.iter().find(|tool| tool.name == "load_skill").unwrap();
        load.input_schema["properties"]["name"]["enum"].clone()
    };
    assert_eq!(names(SessionOptions::default()), json!(["alpha", "beta"]));
    assert_eq!(names(SessionOptions { enum_limit: 1, ..SessionOptions::default() }), Value::Null);
}

#[test]
fn hostile_names_find_nothing_in_any_tool() {
    let library = Library::new(&["alpha"]);
    let session = library.session();
    let long = "x".repeat(10_000);
    for name in
        ["../alpha", "/etc/passwd", "alpha/../alpha", "a\0b", "", ".", "..", "%2e%2e", "\u{202e}ahpla", &long]
    {
        for (tool, key) in [
            ("load_skill", "name"),
            ("unload_skill", "name"),
            ("read_skill_file", "skill"),
            ("list_skill_files", "skill"),
        ] {
            let mut arguments = json!({key: name});
            if tool == "read_skill_file" {
                arguments["path"] = json!("SKILL.md");
            }
            let reply = session.call_blocking(tool, &arguments);
            assert!(reply.is_error(), "{tool} {name:?}");
            assert!(reply.text().len() < 1_000, "{tool} {name:?}: {}", reply.text());
        }
    }
}

#[test]
fn wrong_arguments_are_answers() {
    let library = Library::new(&["alpha"]);
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
        let reply = session.call_blocking("load_skill", &arguments);
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
        assert!(session.call_blocking("read_skill_file", &arguments).is_error(), "{arguments}");
    }
    assert!(!session.call_blocking("load_skill", &json!("{\"skill_name\": \"alpha\"}")).is_error());
}

#[test]
fn a_sub_agent_has_what_the_policy_leaves_it() {
    let library = Library::new(&["alpha", "beta", "gamma"]);
    let parent = |inherit| Agent {
        scope: Scope { deny: vec![Pattern::new("gamma").unwrap()], ..Scope::default() },
        inherit,
        ..Agent::new("parent")
    };
    let sees_gamma = |session: &Session| {
        let reply = session.call_blocking("load_skill", &json!({"name": "gamma", "force": true}));
        assert_eq!(session.catalog().text.contains("gamma"), !reply.is_error());
        !reply.is_error()
    };
    for inherit in Inherit::ALL {
        let builder = library.builder().agent(parent(inherit)).agent(Agent::new("child"));
        let registry = builder.open_blocking().unwrap();
        let session = registry.session_blocking(Some("parent")).unwrap();
        load(&session, "alpha");
        let child = session.subagent_blocking(Some("child")).unwrap();
        assert_eq!(sees_gamma(&child), inherit == Inherit::None);
        assert!(!child.loaded().iter().any(|name| name.as_str() == "alpha"), "it is not in its context yet");
        let back = child.reattach_blocking(10_000);
        assert_eq!(back.text.contains("Do alpha."), inherit == Inherit::Active);
        assert_eq!(is_body(&load(&child, "alpha")), inherit != Inherit::Active);
        // Whoever is started without a name is of the same kind, and limits are passed on.
        assert!(!sees_gamma(&session.subagent_blocking(None).unwrap()));
        let grandchild = child.subagent_blocking(None).unwrap().subagent_blocking(Some("child")).unwrap();
        assert_eq!(sees_gamma(&grandchild), inherit == Inherit::None);
    }
}

#[test]
fn compaction_and_what_comes_back() {
    let library = Library::new(&["alpha", "beta"]);
    let session = library.session();
    load(&session, "alpha");
    load(&session, "beta");
    library.skill("gamma", "", "# Gamma\n");
    session.compacted_blocking(&Kept::Skills(vec![SkillName::new("beta").unwrap()]));
    assert!(session.catalog().text.contains("gamma"), "the catalog follows at a compaction");
    assert_eq!(session.loaded(), [SkillName::new("beta").unwrap()]);
    assert!(!is_body(&load(&session, "beta")));
    let back = session.reattach_blocking(10_000);
    assert!(back.text.contains("Do alpha.") && !back.text.contains("Do beta."), "{}", back.text);
    assert!(!is_body(&load(&session, "alpha")));
    session.compacted_blocking(&Kept::Skills(Vec::new()));
    assert!(is_body(&load(&session, "alpha")));
}

#[test]
fn a_transcript_is_the_truth() {
    let library = Library::new(&["alpha"]);
    for render in Render::ALL {
        let session = library.session_with(SessionOptions { render, ..SessionOptions::default() });
        let text = load(&session, "alpha");
        let messages = |result: &str| {
            vec![
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "alpha"}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result}]}),
            ]
        };
        let replayed = library.session_with(SessionOptions { render, ..SessionOptions::default() });
        replayed.observe(&messages(&text));
        assert_eq!(replayed.loaded().len(), 1, "{render:?}");
        assert_ne!(load(&replayed, "alpha"), text, "{render:?}");
        replayed.observe(&[]);
        assert_eq!(load(&replayed, "alpha"), text, "{render:?}");
        let foreign = library.session();
        foreign.observe(&messages("instructions of another loader"));
        assert_eq!(foreign.loaded().len(), 1);
        assert!(is_body(&load(&foreign, "alpha")), "in doubt, the body");
    }
}

/// A provider that counts how often skills are opened, and says what is asked of it about changes.
struct Counting {
    inner: MemoryProvider,
    opened: AtomicUsize,
    changed: Arc<AtomicBool>,
}

impl Provider for Counting {
    fn label(&self) -> &str {
        self.inner.label()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        self.inner.list()
    }

    fn get<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        self.inner.get(locator)
    }

    fn open<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let changed = Arc::clone(&self.changed);
        Box::pin(async move {
            let opened = self.inner.open(locator).await?;
            let mark = Mark::new(move || !changed.load(Ordering::Relaxed));
            Ok(opened.map(|opened| OpenedSkill { mark: Some(mark), ..opened }))
        })
    }

    fn files<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<FileListing, Error>> {
        self.inner.files(locator)
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        self.inner.read(locator, path, lines)
    }
}

#[test]
fn an_acknowledgement_costs_a_look_and_a_doubt_costs_a_read() {
    let skill = SkillDefinition::new("alpha", "Does alpha. Use when alpha is asked for.", "# Alpha\n");
    let changed = Arc::new(AtomicBool::new(false));
    let inner = MemoryProvider::new("test", vec![skill]);
    let provider = Arc::new(Counting { inner, opened: AtomicUsize::new(0), changed: Arc::clone(&changed) });
    let session = Registry::builder()
        .provider(provider.clone())
        .open_blocking()
        .unwrap()
        .session_blocking(None)
        .unwrap();
    let opened = || provider.opened.load(Ordering::Relaxed);
    assert!(is_body(&load(&session, "alpha")));
    assert_eq!(opened(), 1);
    assert!(!is_body(&load(&session, "alpha")));
    assert_eq!(opened(), 1, "a look was enough");
    changed.store(true, Ordering::Relaxed);
    assert!(!is_body(&load(&session, "alpha")), "it was read again, and it is the same");
    assert_eq!(opened(), 2);
}

fn definition(name: &str, body: &str) -> SkillDefinition {
    SkillDefinition::new(name, format!("Does {name}. Use when {name} is asked for."), body)
}

#[test]
fn a_skill_that_does_not_hold_its_name_is_reached_by_its_source_and_told_apart() {
    let provider =
        |label: &str, body: &str| Arc::new(MemoryProvider::new(label, vec![definition("git", body)]));
    let no_first = Scope { deny: vec![Pattern::new("one:*").unwrap()], ..Scope::default() };
    let registry = Registry::builder()
        .provider(provider("one", "First.\n"))
        .provider(provider("two", "Second.\n"))
        .agent(Agent { scope: no_first, ..Agent::new("clerk") })
        .open_blocking()
        .unwrap();
    let session = registry.session_blocking(None).unwrap();
    assert!(load(&session, "git").contains("First."));
    let second = load(&session, "two:git");
    assert!(
        second.contains("<skill name=\"two:git\"")
            && second.contains("Second.")
            && !second.contains("changed")
    );
    assert!(is_body(&load(&session, "two:git")), "it is never taken for the other");
    assert!(!is_body(&load(&session, "git")));
    session.compacted_blocking(&Kept::Skills(Vec::new()));
    assert!(session.reattach_blocking(1_000).text.contains("First."));

    let clerk = registry.session_blocking(Some("clerk")).unwrap();
    assert!(clerk.catalog().text.contains("<name>git</name>"), "what it may not see shadows nothing");
    let text = load(&clerk, "git");
    assert!(text.contains("<skill name=\"git\"") && text.contains("Second."), "{text}");
    assert!(clerk.call_blocking("load_skill", &json!({"name": "one:git"})).is_error());
}

#[test]
fn what_became_of_a_skill_on_disk_is_noticed() {
    let library = Library::new(&["alpha", "beta", "gamma"]);
    let session = library.session();
    for name in ["alpha", "beta", "gamma"] {
        load(&session, name);
    }
    library.skill("alpha", "", "# alpha\n\nDo it otherwise.\n");
    library.write("beta/SKILL.md", "---\nname: beta\ndescription: [broken\nEVIL\n");
    library.write(
        "gamma/SKILL.md",
        "---\nname: delta\ndescription: Is called otherwise. Use when asked.\n---\nMoved.\n",
    );
    let note = session.delta_blocking().text;
    assert!(note.contains("alpha") && note.contains("delta"), "{note}");
    assert_eq!(session.delta_blocking().text, "");
    let presence = |name: &str| {
        session.skills().iter().find(|skill| skill.name.as_str() == name).unwrap().record.presence
    };
    assert_eq!(presence("alpha"), model::ledger::Presence::Stale);
    assert!(
        session.call_blocking("load_skill", &json!({"name": "gamma"})).is_error(),
        "it has another name now"
    );
    session.compacted_blocking(&Kept::Skills(Vec::new()));
    let back = session.reattach_blocking(10_000).text;
    assert!(
        back.contains("Do it otherwise.") && !back.contains("EVIL") && !back.contains("Moved."),
        "{back}"
    );
}

#[test]
fn notes_that_a_compaction_took_away_are_due_again() {
    let library = Library::new(&["alpha"]);
    let session =
        library.session_with(SessionOptions { refresh: Refresh::Session, ..SessionOptions::default() });
    library.skill("beta", "", "# Beta\n");
    assert!(session.delta_blocking().text.contains("beta"));
    session.compacted_blocking(&Kept::Skills(Vec::new()));
    assert!(!session.catalog().text.contains("beta"));
    assert!(session.delta_blocking().text.contains("beta"));
}

#[test]
fn a_host_without_a_cache_may_have_its_catalog_follow_at_once() {
    let library = Library::new(&["alpha"]);
    let session =
        library.session_with(SessionOptions { refresh: Refresh::Immediate, ..SessionOptions::default() });
    assert!(!session.catalog().text.contains("beta"));
    library.skill("beta", "", "# Beta\n");
    let schema = |session: &Session| {
        let tools = session.tools();
        tools.iter().find(|tool| tool.name == "load_skill").unwrap().input_schema.to_string()
    };
    assert!(schema(&session).contains("beta"));
    assert!(session.catalog().text.contains("beta"));
}

#[test]
fn names_of_tools_and_arguments_must_be_told_apart() {
    let check = |change: fn(&mut SessionOptions), clash: Option<&str>| {
        let mut options = SessionOptions::default();
        change(&mut options);
        assert_eq!(options.clash(), clash);
        let opened = Registry::builder().session_options(options).open_blocking();
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

/// A provider that never opens the skill `base`.
struct Stuck(MemoryProvider);

impl Provider for Stuck {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        self.0.list()
    }

    fn get<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        self.0.get(locator)
    }

    fn open<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        if locator.as_str() == "base" { Box::pin(std::future::pending()) } else { self.0.open(locator) }
    }

    fn files<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<FileListing, Error>> {
        self.0.files(locator)
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        self.0.read(locator, path, lines)
    }
}

#[test]
fn a_call_that_is_dropped_has_given_nothing() {
    let mut top = definition("top", "# Top\n");
    top.manifest.requires = vec!["base".to_owned()];
    let provider = Stuck(MemoryProvider::new("test", vec![top, definition("base", "# Base\n")]));
    let options = SessionOptions { requires: Requires::AutoLoad, ..SessionOptions::default() };
    let registry =
        Registry::builder().provider(Arc::new(provider)).session_options(options).open_blocking().unwrap();
    let session = registry.session_blocking(None).unwrap();
    let arguments = json!({"name": "top"});
    {
        let mut call = std::pin::pin!(session.call("load_skill", &arguments));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    assert!(session.loaded().is_empty());
}
