//! Loading and unloading skills.

use crate::session::LoadOptions;
use pollster::block_on;
use repertoire_model::Policy;
use repertoire_model::policy::Duplicates;

use super::*;

#[test]
fn a_skill_is_given_once_and_again_when_it_changed() {
    let library = SkillDirectory::new(&["alpha"]);
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
    let forced = block_on(session.call("load_skill", &json!({"name": "alpha", "force": true})));
    assert!(is_body(forced.text()));
}

#[test]
fn unloading_makes_the_next_load_give_the_body() {
    let library = SkillDirectory::new(&["alpha"]);
    let session = library.session();
    assert!(block_on(session.call("unload_skill", &json!({"name": "alpha"}))).text().contains("not"));
    load(&session, "alpha");
    assert_eq!(session.context().loaded().len(), 1);
    assert!(!block_on(session.call("unload_skill", &json!({"name": "alpha"}))).is_error());
    assert_eq!(session.context().loaded().len(), 0);
    assert!(is_body(&load(&session, "alpha")));
}

#[test]
fn calls_at_the_same_time_get_along() {
    let library = SkillDirectory::new(&["alpha", "beta"]);
    let session = library.session();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for name in ["alpha", "beta", "alpha"] {
                    let reply = block_on(session.call("load_skill", &json!({"name": name})));
                    assert!(!reply.is_error());
                }
            });
        }
    });
    assert_eq!(library.sink.events().len(), 24);
    assert_eq!(session.context().loaded().len(), 2);
}

#[test]
fn skills_that_require_others_say_so_or_bring_them() {
    let library = SkillDirectory::new(&["base"]);
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
    let again = block_on(session.call("load_skill", &json!({"name": "middle"})));
    assert!(!again.text().contains("This skill requires"), "{}", again.text());

    let options = SessionOptions {
        loading: LoadOptions { requires: Requires::AutoLoad, ..LoadOptions::default() },
        ..SessionOptions::default()
    };
    let session = library.session_with(options.clone());
    let text = load(&session, "top");
    let place = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
    assert!(place("Do base.") < place("Use base.") && place("Use base.") < place("Use all."));
    assert_eq!(session.context().loaded().len(), 3);

    let session = library.session_with(SessionOptions {
        loading: LoadOptions { requires_max_tokens: 1, ..options.loading },
        ..options
    });
    let text = load(&session, "top");
    assert!(text.contains("This skill requires: base, middle."), "{text}");
    assert_eq!(session.context().loaded().len(), 1);
}

#[test]
fn cycles_of_required_skills_are_reported() {
    let library = SkillDirectory::new(&[]);
    library.skill("a", "requires: [b]\n", "# A\n");
    library.skill("b", "requires: [a]\n", "# B\n");
    for requires in Requires::ALL {
        let session = library.session_with(SessionOptions {
            loading: LoadOptions { requires, ..LoadOptions::default() },
            ..SessionOptions::default()
        });
        let text = load(&session, "a");
        assert!(text.contains("Skills that require each other: a, b, a."), "{text}");
    }
}

fn definition(name: &str, body: &str) -> SkillDefinition {
    SkillDefinition::new(name, format!("Does {name}. Use when {name} is asked for."), body)
}

#[test]
fn a_shadowed_skill_is_loaded_by_its_qualified_name() {
    let provider =
        |label: &str, body: &str| Arc::new(MemoryProvider::new(label, vec![definition("git", body)]));
    let no_first = Scope { deny: vec![Pattern::new("one:*").unwrap()], ..Scope::default() };
    let opened = block_on(
        Library::builder()
            .provider(provider("one", "First.\n"))
            .provider(provider("two", "Second.\n"))
            .agent(Agent { scope: no_first, ..Agent::new("clerk") })
            .open(),
    )
    .unwrap();
    let session = block_on(opened.session()).unwrap();
    assert!(load(&session, "git").contains("First."));
    let second = load(&session, "two:git");
    assert!(
        second.contains("<skill name=\"two:git\"")
            && second.contains("Second.")
            && !second.contains("changed")
    );
    assert!(is_body(&load(&session, "two:git")), "it is never taken for the other");
    assert!(!is_body(&load(&session, "git")));
    block_on(session.compacted(&KeptContext::Skills(Vec::new())));
    assert!(block_on(session.reattach(1_000)).text.contains("First."));

    let clerk = block_on(opened.open_session(&SessionRequest::of("clerk"))).unwrap();
    assert!(clerk.catalog().text.contains("<name>git</name>"), "what it may not see shadows nothing");
    let text = load(&clerk, "git");
    assert!(text.contains("<skill name=\"git\"") && text.contains("Second."), "{text}");
    assert!(block_on(clerk.call("load_skill", &json!({"name": "one:git"}))).is_error());
}

/// Returns a library with the skill `git` of a project and of its user, who has another skill, too.
fn hiding(render: Render) -> Library {
    let provider = |label: &str, names: &[&str]| {
        let skills = names.iter().map(|name| definition(name, &format!("Of {label}.\n")));
        let skills = skills.map(|skill| skill.with_resource("references/a.md", "A.\n"));
        Arc::new(MemoryProvider::new(label, skills.collect()))
    };
    let deny = vec![Pattern::new("user:*:git").unwrap()];
    let builder = Library::builder()
        .provider(provider("project:.claude/skills", &["git"]))
        .provider(provider("user:.claude/skills", &["git", "own"]))
        .searcher(WordSearcher)
        .agent(Agent { scope: Scope { deny, ..Scope::default() }, ..Agent::new("clerk") })
        .session_options(SessionOptions { render, ..SessionOptions::default() });
    block_on(builder.open()).unwrap()
}

#[test]
fn every_answer_names_the_source_of_the_skill() {
    for render in Render::ALL {
        let session = block_on(hiding(render).session()).unwrap();
        for (name, source) in [
            ("git", "project:.claude/skills"),
            ("own", "user:.claude/skills"),
            ("user:.claude/skills:git", "user:.claude/skills"),
        ] {
            let loaded = block_on(session.call("load_skill", &json!({"name": name})));
            assert!(loaded.text().contains(source), "{}: {}", render.as_str(), loaded.text());
            assert_eq!(session.data(&loaded)["source"], source);
            let file = json!({"skill": name, "path": "references/a.md"});
            let file = block_on(session.call("read_skill_file", &file));
            assert!(file.text().contains(source), "{}: {}", render.as_str(), file.text());
            assert_eq!(session.data(&file)["source"], source);
            let missing = json!({"skill": name, "path": "references/b.md"});
            let missing = block_on(session.call("read_skill_file", &missing));
            assert_eq!(session.data(&missing)["source"], source);
            let misused = block_on(session.call("load_skill", &json!({"name": name, "x": 1})));
            assert_eq!(session.data(&misused)["source"], source);
        }
        let unknown = block_on(session.call("load_skill", &json!({"name": "gti"})));
        assert_eq!(session.data(&unknown)["source"], Value::Null);
        for (tool, arguments) in [
            ("list_skill_files", json!({"skill": "git"})),
            ("list_skills", json!({"query": "git"})),
            ("search_skills", json!({"query": "git"})),
        ] {
            let listed = block_on(session.call(tool, &arguments));
            let text = listed.text();
            assert_eq!(text.matches("project:.claude/skills").count(), 1, "{}: {text}", render.as_str());
        }
        let files = block_on(session.call("list_skill_files", &json!({"skill": "own"})));
        assert_eq!(files.text().matches("user:.claude/skills").count(), 1, "{}", files.text());
        let all = block_on(session.call("list_skills", &json!({})));
        assert_eq!(all.text().matches(":.claude/skills").count(), 2, "{}", all.text());
        let again = block_on(session.call("load_skill", &json!({"name": "git"})));
        assert_eq!(session.data(&again)["source"], "project:.claude/skills");
    }
    let one = SkillDirectory::new(&["alpha"]);
    let options = SessionOptions { render: Render::Text, ..SessionOptions::default() };
    let text = load(&one.session_with(options), "alpha");
    assert!(!text.contains("comes from"), "one source is what the guide knows: {text}");
}

#[test]
fn a_skill_that_hides_another_is_announced_when_it_is_loaded() {
    // Of `body`, the model sees nothing but the instructions.
    for render in Render::ALL.into_iter().filter(|render| *render != Render::Body) {
        let library = hiding(render);
        let session = block_on(library.session()).unwrap();
        let hides = "hides another of the same name, which is loaded as `user:.claude/skills:git`";
        assert!(load(&session, "git").contains(hides), "{}", render.as_str());
        assert!(!load(&session, "own").contains("hides"));
        assert!(!load(&session, "user:.claude/skills:git").contains("hides"));
        let clerk = block_on(library.open_session(&SessionRequest::of("clerk"))).unwrap();
        assert!(!load(&clerk, "git").contains("user:"), "it may not know of the other");
    }
}

/// Returns a library with the skill `git` of a project and of its user, under `policy`, with `agents`.
fn project_and_user(policy: Policy, agents: Vec<Agent>) -> Library {
    let provider = |label: &str| {
        Arc::new(MemoryProvider::new(label, vec![definition("git", &format!("Of {label}.\n"))]))
    };
    let builder = Library::builder()
        .provider(provider("project:.claude/skills"))
        .provider(provider("user:.claude/skills"))
        .policy(policy);
    block_on(agents.into_iter().fold(builder, LibraryBuilder::agent).open()).unwrap()
}

#[test]
fn a_project_cannot_replace_a_skill_of_the_user_without_notice() {
    let turned_off =
        "takes the place of `user:.claude/skills:git`, which the project's configuration turns off.";
    let disabling = |pattern: &str| {
        let mut policy = Policy::default();
        policy.disabled = vec![Pattern::new(pattern).unwrap()];
        policy
    };
    let mut policy = disabling("user:*:git");
    let of_user = project_and_user(policy.clone(), Vec::new());
    assert!(!load(&block_on(of_user.session()).unwrap(), "git").contains("takes the place"));
    assert!(of_user.snapshot().notices(|_| true).is_empty(), "the user disabled it");

    policy.disabled_by_project = policy.disabled.clone();
    let of_project = project_and_user(policy, Vec::new());
    let session = block_on(of_project.session()).unwrap();
    assert!(load(&session, "git").contains(turned_off), "{}", load(&session, "git"));
    let notice =
        "1 skill hides another of the same name: git (project:.claude/skills instead of user:.claude/skills)";
    assert_eq!(of_project.snapshot().notices(|_| true), [notice]);
    assert_eq!(session.lookup().notices(&of_project.snapshot()), [notice]);
    assert!(block_on(session.call("load_skill", &json!({"name": "user:.claude/skills:git"}))).is_error());

    let mut policy = disabling("project:*:git");
    policy.disabled_by_project = policy.disabled.clone();
    let own = project_and_user(policy, Vec::new());
    assert!(own.snapshot().notices(|_| true).is_empty(), "a project may disable what is its own");
}

#[test]
fn an_agent_of_a_project_is_told_of_the_skill_of_the_user_that_it_may_not_see() {
    let scope = Scope { deny: vec![Pattern::new("user:*:git").unwrap()], ..Scope::default() };
    let agent = |name: &str, is_of_project| Agent { scope: scope.clone(), is_of_project, ..Agent::new(name) };
    for duplicates in [Duplicates::FirstWins, Duplicates::LastWins] {
        let mut policy = Policy::default();
        policy.duplicates = duplicates;
        let library = project_and_user(policy, vec![agent("projects", true), agent("users", false)]);
        for (name, is_told) in [("projects", true), ("users", false)] {
            let session = block_on(library.open_session(&SessionRequest::of(name))).unwrap();
            let text = load(&session, "git");
            assert_eq!(text.contains("takes the place of `user:.claude/skills:git`"), is_told, "{text}");
            assert_eq!(session.lookup().notices(&library.snapshot()).len(), usize::from(is_told));
        }
    }
    let scope = Scope { deny: vec![Pattern::new("project:*:git").unwrap()], ..Scope::default() };
    let agent = Agent { scope, is_of_project: true, ..Agent::new("own") };
    let library = project_and_user(Policy::default(), vec![agent]);
    let session = block_on(library.open_session(&SessionRequest::of("own"))).unwrap();
    let text = load(&session, "git");
    assert!(!text.contains("takes the place"), "a project may leave out what is its own: {text}");
    assert!(session.lookup().notices(&library.snapshot()).is_empty());
}

#[test]
fn a_bound_skill_that_hides_another_is_announced_in_the_prompt() {
    let bound = Agent { uses_skills: vec!["git".to_owned()], ..Agent::new("bound") };
    let library = project_and_user(Policy::default(), vec![bound]);
    let session = block_on(library.open_session(&SessionRequest::of("bound"))).unwrap();
    let hides = "hides another of the same name, which is loaded as `user:.claude/skills:git`";
    let prompt = block_on(session.prompt()).unwrap();
    assert_eq!(prompt.matches(hides).count(), 1, "{prompt}");
    let again = load(&session, "git");
    assert!(again.contains("Already active") && again.contains(hides), "{again}");
    let resolver = RoleResolver::new(library.registry().clone(), Vec::new(), RoleOptions::default());
    let role = block_on(resolver.resolve("git")).unwrap().text;
    assert_eq!(role.matches(hides).count(), 1, "{role}");
}

#[test]
fn a_required_skill_that_hides_another_is_announced() {
    let library = SkillDirectory::new(&["git"]);
    library.skill("flow", "requires: [git]\n", "Flow.\n");
    let user = MemoryProvider::new("user:.claude/skills", vec![definition("git", "Of the user.\n")]);
    let options = SessionOptions {
        loading: LoadOptions { requires: Requires::AutoLoad, ..LoadOptions::default() },
        ..SessionOptions::default()
    };
    let opened =
        block_on(library.builder().provider(Arc::new(user)).session_options(options).open()).unwrap();
    let session = block_on(opened.session()).unwrap();
    let text = load(&session, "flow");
    assert!(text.contains("Of skill `git`: This skill comes from `test` and hides"), "{text}");
}

/// A provider that never opens the skill `base`, or never reads its files.
struct Stuck(MemoryProvider, StuckStep);

#[derive(Clone, Copy, PartialEq, Eq)]
enum StuckStep {
    Open,
    Read,
}

impl Provider for Stuck {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, Result<Listing, Error>> {
        self.0.list(policy)
    }

    fn get<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        self.0.get(locator, policy)
    }

    fn open<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        if self.1 == StuckStep::Open && locator.as_str() == "base" {
            Box::pin(std::future::pending())
        } else {
            self.0.open(locator, policy)
        }
    }

    fn files<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<FileListing, Error>> {
        self.0.files(locator, policy)
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        if self.1 == StuckStep::Read && locator.as_str() == "base" {
            return Box::pin(std::future::pending());
        }
        self.0.read(locator, path, lines)
    }
}

#[test]
fn a_call_that_is_dropped_has_given_nothing() {
    for step in [StuckStep::Open, StuckStep::Read] {
        let mut top = definition("top", "# Top\n");
        top.manifest.requires = vec!["base".to_owned()];
        let tools = r#"[{"name": "go", "description": "Goes."}]"#;
        let base = definition("base", "# Base\n").with_resource("schema.json", tools);
        let provider = Stuck(MemoryProvider::new("test", vec![top, base]), step);
        let options = SessionOptions {
            loading: LoadOptions { requires: Requires::AutoLoad, ..LoadOptions::default() },
            ..SessionOptions::default()
        };
        let go = |_: &serde_json::Map<String, Value>| Ok("done".to_owned());
        let builder = Library::builder().provider(Arc::new(provider)).session_options(options);
        let opened = block_on(builder.handler("base", "go", Arc::new(go)).open()).unwrap();
        let session = block_on(opened.session()).unwrap();
        let arguments = json!({"name": "top"});
        {
            let mut call = std::pin::pin!(session.call("load_skill", &arguments));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(call.as_mut().poll(&mut context).is_pending());
        }
        assert!(session.context().loaded().is_empty());
    }
}

#[test]
fn the_result_of_a_tool_names_the_source_of_its_skill() {
    let tools = r#"[{"name": "go", "description": "Goes."}]"#;
    let base = definition("base", "# Base\n").with_resource("schema.json", tools);
    let provider = MemoryProvider::new("project:.claude/skills", vec![base]);
    let go = |_: &serde_json::Map<String, Value>| Ok("done".to_owned());
    let builder = Library::builder().provider(Arc::new(provider)).handler("base", "go", Arc::new(go));
    let session = block_on(block_on(builder.open()).unwrap().session()).unwrap();
    load(&session, "base");
    let call =
        |tool: &str| block_on(session.call("call_skill_tool", &json!({"skill": "base", "tool": tool})));
    assert!(call("go").text().contains("source=\"project:.claude/skills\""), "{}", call("go").text());
    for tool in ["go", "come"] {
        assert_eq!(session.data(&call(tool))["source"], "project:.claude/skills");
    }
}
