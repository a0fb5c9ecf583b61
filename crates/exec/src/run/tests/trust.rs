//! Tests of trust, approvals and limits.

use super::*;
use pollster::block_on;

/// An approver that always gives the same answer, and records the requests.
#[derive(Debug)]
struct FixedVerdict(ApprovalVerdict, Mutex<Vec<ApprovalRequest>>);

impl Approver for FixedVerdict {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
        self.1.lock().unwrap().push(request.clone());
        Box::pin(async { self.0 })
    }
}

fn asking(world: &World) -> ExecutorOptions {
    ExecutorOptions { trust: TrustLevels::new(Trust::Ask), ..world.options() }
}

fn approve(world: &World, session: &Session, name: &str, tools: &[&str]) {
    let registry = session.registry();
    let snapshot = block_on(registry.reload());
    let Lookup::Found(entry) = snapshot.find(name) else { panic!("{name}") };
    let bundle = pollster::block_on(registry.bundle(entry)).unwrap();
    let capabilities = repertoire_model::Capabilities::of(&pollster::block_on(registry.toolbox(entry)));
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    let approval = Approval::now(entry, &bundle, capabilities, tools);
    Approvals::new(world.state.path()).keep(approval).unwrap();
}

#[test]
fn nothing_runs_before_approval_and_any_change_ends_it() {
    let world = World::with_maths();
    let options = options!(SessionOptions::default(); render = Render::Text, running.approve_command = Some("rep approve".to_owned()));
    let session = world.session_of(asking(&world), options);
    load(&session, "maths");
    let add = || call(&session, "maths", "add", json!({"a": 1, "b": 2}));
    assert_eq!(
        add(),
        "Error: Skill `maths` may not run anything before a person approves it. Ask the user to run `rep approve maths`, or go \
         on without it."
    );
    assert_eq!(world.sink.events().last().unwrap().outcome, EventOutcome::Denied);
    approve(&world, &session, "maths", &[]);
    assert_eq!(add(), "3");
    world.write("maths/notes.md", "anything");
    assert!(add().starts_with("Error: Skill `maths` changed since a person approved it"));
    approve(&world, &session, "maths", &[]);
    assert_eq!(add(), "3");
    Approvals::new(world.state.path()).revoke(|approval| approval.name == "maths").unwrap();
    assert!(add().contains("before a person approves it"));
    fs::write(Approvals::new(world.state.path()).path(), "{").unwrap();
    assert!(add().contains("the file of approvals cannot be read"), "{}", add());
    assert_eq!(world.sandbox.jobs.lock().unwrap().len(), 2);
}

#[test]
fn loading_says_that_tools_wait_for_an_approval_and_how_to_give_it() {
    let world = World::with_maths();
    let load_with = |executor: ExecutorOptions| {
        let command = Some("rep approve".to_owned());
        let options =
            options!(SessionOptions::default(); render = Render::Text, running.approve_command = command);
        let session = world.session_of(executor, options);
        let text = load(&session, "maths");
        assert!(text.starts_with("Loaded skill 'maths' with 3 tools: add, fail, table\n\n"), "{text}");
        (text, session)
    };
    let note = |reason: &str| {
        format!(
            "\nNote: Its tools cannot be called before a person approves the skill{reason}: ask the user to run `rep approve maths`.\n"
        )
    };
    let (text, session) = load_with(asking(&world));
    assert!(text.contains(&note("")), "{text}");
    approve(&world, &session, "maths", &[]);
    assert!(!load_with(asking(&world)).0.contains("approves the skill"));
    world.write("maths/notes.md", "anything");
    let text = load_with(asking(&world)).0;
    assert!(text.contains(&note(", because it changed since the last approval")), "{text}");
    // A person who can be asked is asked at the first call.
    let approver: Arc<dyn Approver> = Arc::new(FixedVerdict(ApprovalVerdict::Once, Mutex::default()));
    let text = load_with(ExecutorOptions { approver: Some(approver), ..asking(&world) }).0;
    assert!(!text.contains("approves the skill"), "{text}");
    assert!(!load_with(world.options()).0.contains("approves the skill"), "the source is trusted");
}

#[test]
fn never_trusted_sources_have_no_tools() {
    let world = World::with_maths();
    let executor = ExecutorOptions {
        trust: TrustLevels::new(Trust::Trusted).with("test", Trust::Never),
        ..world.options()
    };
    let session = world.session_of(executor, options!(SessionOptions::default(); render = Render::Text));
    world.write("maths/scripts/a.sh", "echo no\n");
    let text = load(&session, "maths");
    let expect = "Loaded skill 'maths' with 3 tools: add, fail, table\n\n\
                  Note: Its tools cannot be called: skills of its source may not run anything.\n";
    assert!(text.starts_with(expect), "{text}");
    assert!(call(&session, "maths", "add", json!({})).contains("comes from a source"));
    let direct = block_on(session.call("add", &json!({}))).text().to_owned();
    assert!(direct.contains("Skill `maths` comes from a source"), "{direct}");
    assert!(
        run(&session, "maths", "scripts/a.sh", json!({}))
            .contains("comes from a source whose skills may not run anything")
    );
}

#[test]
fn a_tool_may_ask_before_every_call() {
    let world = World::new();
    world.skill("git");
    world.write(
        "git/schema.json",
        r#"[{"name": "push", "description": "P.", "ask": true, "command": ["echo", "pushed"]}]"#,
    );
    let text = options!(SessionOptions::default(); render = Render::Text);
    // Even if the source is trusted.
    let session = world.session_of(world.options(), text.clone());
    load(&session, "git");
    assert!(call(&session, "git", "push", json!({})).contains("needs the consent of a person"));
    approve(&world, &session, "git", &["push"]);
    assert_eq!(call(&session, "git", "push", json!({})), "pushed\n");
    approve(&world, &session, "git", &[]);
    assert!(call(&session, "git", "push", json!({})).contains("needs the consent of a person"));

    for (verdict, expect, asked) in [
        (ApprovalVerdict::Once, "pushed\n", 2),
        (ApprovalVerdict::Refused, "Error: The user did not want `push`", 2),
        (ApprovalVerdict::Always, "pushed\n", 1),
    ] {
        let says = Arc::new(FixedVerdict(verdict, Mutex::default()));
        let executor = ExecutorOptions { approver: Some(says.clone()), ..asking(&world) };
        let session = world.session_of(executor, text.clone());
        load(&session, "git");
        for _ in 0..2 {
            assert!(
                call(&session, "git", "push", json!({"to": "origin"})).starts_with(expect),
                "{verdict:?}"
            );
        }
        let requests = says.1.lock().unwrap();
        assert_eq!(requests.len(), asked, "{verdict:?}");
        assert_eq!(requests[0].call, Some(("push".to_owned(), "{\"to\":\"origin\"}".to_owned())));
    }
}

/// The approved files run, even if the skill's directory changes meanwhile.
#[test]
fn a_copy_is_read_only_complete_and_repaired() {
    let world = World::with_maths();
    let session = world.session();
    load(&session, "maths");
    let add = || call(&session, "maths", "add", json!({"a": 1, "b": 2}));
    assert!(add().contains("\n3\n"));
    let copies: Vec<_> =
        fs::read_dir(world.state.path().join("run")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(copies.len(), 1);
    let file = copies[0].join("tools.py");
    assert!(fs::metadata(&file).unwrap().permissions().readonly());
    let files: BTreeMap<_, _> =
        fs::read_dir(&copies[0]).unwrap().map(|entry| (entry.unwrap().file_name(), ())).collect();
    assert_eq!(files.len(), 3);
    // Another process finds a modified copy.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "def add(*, a, b): return 'tampered'\n").unwrap();
    let other = world.session();
    load(&other, "maths");
    assert!(call(&other, "maths", "add", json!({"a": 1, "b": 2})).contains("\n3\n"));
}

/// T13: the `allowed-tools` of a skill grant nothing.
#[test]
fn allowed_tools_grant_nothing() {
    let world = World::new();
    world.write(
        "greedy/SKILL.md",
        "---\nname: greedy\ndescription: Wants all. Use when greedy.\nallowed-tools: Bash(*) Write greedy(*)\n---\n# Greedy\n",
    );
    world.write("greedy/schema.json", r#"[{"name": "grab", "description": "G.", "command": ["echo", "x"]}]"#);
    let session = world.session_of(asking(&world), SessionOptions::default());
    let text = load(&session, "greedy");
    assert!(text.contains("allowed-tools=\"Bash(*) Write greedy(*)\""), "{text}");
    assert!(call(&session, "greedy", "grab", json!({})).contains("not_approved"));
    approve(&world, &session, "greedy", &[]);
    assert!(call(&session, "greedy", "grab", json!({})).contains("\nx\n"));
    let job = world.sandbox.jobs.lock().unwrap().pop().unwrap();
    assert_eq!((job.grants, job.environment.len()), (Default::default(), 2));
}

/// T13: loading a skill with more or less trust can only take tools away.
#[test]
fn loading_one_more_skill_never_widens_the_limit() {
    let world = World::with_maths();
    let less = tempfile::tempdir().unwrap();
    let skill = |directory: &std::path::Path, name: &str, allowed: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name}. Use when {name}.\nallowed-tools: {allowed}\n---\n# {name}\n"
        );
        fs::create_dir_all(directory.join(name)).unwrap();
        fs::write(directory.join(name).join("SKILL.md"), text).unwrap();
    };
    skill(world.skills.path(), "narrow", "table");
    skill(less.path(), "wide", "add ta* Bash");
    let options =
        ExecutorOptions { trust: TrustLevels::default().with("test", Trust::Trusted), ..world.options() };
    let provider = FsProvider::new(FsOptions::new("less", less.path()));
    let session = options!(SessionOptions::default(); running.tool_ceiling = ToolCeiling::Active);
    let registry = world.builder(options).provider(Arc::new(provider)).session_options(session);
    let session = block_on(block_on(registry.open()).unwrap().session()).unwrap();
    for name in ["maths", "narrow", "wide"] {
        load(&session, name);
    }
    assert_eq!(session.skill_tools().ceiling().unwrap().into_iter().collect::<Vec<_>>(), ["table"]);
    assert!(call(&session, "maths", "add", json!({"a": 1, "b": 2})).contains("limited to"));
    assert!(call(&session, "maths", "table", json!({})).contains("rows"));
}

/// T13: as a limit, only tools that every active skill names are left.
#[test]
fn active_skills_may_limit_what_is_called() {
    let world = World::with_maths();
    let with = |name: &str, allowed: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name}. Use when {name}.\nallowed-tools: {allowed}\n---\n# {name}\n"
        );
        world.write(&format!("{name}/SKILL.md"), &text);
    };
    with("narrow", "Read Bash(git:*) ta*");
    with("other", "Bash(git:*) table");
    let options = options!(SessionOptions::default(); running.tool_ceiling = ToolCeiling::Active, render = Render::Text);
    let session = world.session_of(world.options(), options);
    load(&session, "maths");
    assert_eq!(session.skill_tools().ceiling(), None);
    assert_eq!(call(&session, "maths", "add", json!({"a": 1, "b": 2})), "3");
    load(&session, "narrow");
    assert!(session.skill_tools().ceiling().unwrap().contains("Bash(git:*)"));
    assert!(
        call(&session, "maths", "add", json!({"a": 1, "b": 2}))
            .contains("is not one of the tools that an active skill is limited to")
    );
    assert!(call(&session, "maths", "table", json!({})).contains("rows"));
    load(&session, "other");
    assert_eq!(
        session.skill_tools().ceiling().unwrap().into_iter().collect::<Vec<_>>(),
        ["Bash(git:*)", "table"]
    );
    unload(&session, "narrow");
    unload(&session, "other");
    assert_eq!(call(&session, "maths", "add", json!({"a": 1, "b": 2})), "3");
}

#[test]
fn subagents_have_the_tools_of_inherited_skills() {
    let world = World::with_maths();
    let registry = block_on(world.builder(world.options()).inherit(Inherit::Active).open()).unwrap();
    let session = block_on(registry.session()).unwrap();
    load(&session, "maths");
    let child = block_on(session.subagent()).unwrap();
    block_on(child.reattach(10_000));
    assert!(call(&child, "maths", "add", json!({"a": 1, "b": 2})).contains("\n3\n"));
    unload(&child, "maths");
    assert!(call(&child, "maths", "add", json!({"a": 1, "b": 2})).contains("not_loaded"));
    assert!(call(&session, "maths", "add", json!({"a": 1, "b": 2})).contains("\n3\n"));
}

/// A skill of another source takes no tool away; one of the same source does, and that is reported.
#[test]
fn a_skill_of_another_source_takes_no_tool_away() {
    let world = World::with_maths();
    world.skill("add");
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("table")).unwrap();
    let text = "---\nname: table\ndescription: Lays tables. Use when a table is laid.\n---\n# Table\n";
    fs::write(other.path().join("table/SKILL.md"), text).unwrap();
    let provider = FsProvider::new(FsOptions::new("cloned", other.path()));
    let options =
        ExecutorOptions { trust: TrustLevels::default().with("test", Trust::Trusted), ..world.options() };
    let registry = block_on(world.builder(options).provider(Arc::new(provider)).open()).unwrap();
    let session = block_on(registry.session()).unwrap();
    load(&session, "table");
    let loaded = load(&session, "maths");
    assert!(loaded.contains("Its tool `add` is left out: a skill has that name."), "{loaded}");
    assert!(call(&session, "maths", "table", json!({})).contains("rows"));
}

/// Notes about tools also appear if the skill is loaded as a requirement of another.
#[test]
fn left_out_tools_of_a_required_skill_are_reported() {
    let world = World::with_maths();
    world.skill("add");
    let text = "---\nname: main\ndescription: Counts. Use when something is counted.\nrequires: [maths]\n---\n# Main\n";
    world.write("main/SKILL.md", text);
    let options =
        options!(SessionOptions::default(); loading.requires = repertoire::session::Requires::AutoLoad);
    let session = world.session_of(world.options(), options);
    let loaded = load(&session, "main");
    assert!(
        loaded.contains("Of skill `maths`: Its tool `add` is left out: a skill has that name."),
        "{loaded}"
    );
}

/// T5: the second of two tools with one name is called through the gateway, which is listed then.
#[test]
fn two_tools_of_one_name_can_both_be_called() {
    for exposure in [ToolExposure::Append, ToolExposure::Dynamic] {
        let world = World::with_maths();
        world.skill("other");
        world.write(
            "other/schema.json",
            r#"[{"name": "add", "description": "A.", "command": ["echo", "other"]}]"#,
        );
        let session = world.session_of(world.options(), options!(harness(); running.exposure = exposure));
        load(&session, "maths");
        let before = names(&session);
        assert!(!before.contains(&"call_skill_tool".to_owned()));
        let loaded = load(&session, "other");
        assert!(loaded.contains("this one is called with `call_skill_tool`"), "{loaded}");
        let after = names(&session);
        assert!(after.contains(&"call_skill_tool".to_owned()), "{after:?}");
        if exposure == ToolExposure::Append {
            assert_eq!(after[..before.len()], before);
        }
        assert_eq!(block_on(session.call("add", &json!({"a": 1, "b": 2}))).text(), "3");
        assert_eq!(call(&session, "other", "add", json!({})), "other\n");
    }
}

/// The host's timeout limits those of tools and scripts.
#[test]
fn nothing_runs_longer_than_the_host_allows() {
    let world = World::new();
    world.skill("jobs");
    world.write(
        "jobs/schema.json",
        r#"[{"name": "long", "description": "L.", "command": ["echo"], "timeout": 500}]"#,
    );
    world.write("jobs/scripts/x.sh", "echo x\n");
    let mut options = world.options();
    for (limit, expect) in [(600, [500, 60]), (5, [5, 5])] {
        options.limits.timeout = Duration::from_secs(limit);
        let session = world.session_of(options.clone(), SessionOptions::default());
        load(&session, "jobs");
        call(&session, "jobs", "long", json!({}));
        run(&session, "jobs", "scripts/x.sh", json!({}));
        let jobs: Vec<Job> = std::mem::take(&mut *world.sandbox.jobs.lock().unwrap());
        assert_eq!(jobs.iter().map(|job| job.limits.timeout.as_secs()).collect::<Vec<_>>(), expect);
    }
}

#[test]
fn h5_the_functions_of_a_tools_py_are_tools_once_the_skill_is_approved() {
    let world = World::new();
    world.skill("maths");
    let module = "import no_such_module\n\ndef add(a: int, b: int = 2) -> int:\n    \"\"\"Adds two numbers.\n\n    Args:\n        a: The first one.\n    \"\"\"\n    return a + b\n\ndef _hidden():\n    pass\n";
    world.write("maths/tools.py", module);
    let executor = Executor::new(world.sandbox.clone(), world.options());
    let PythonTools { schema, left_out } = executor.describe_python(module.as_bytes()).unwrap();
    assert_eq!(left_out, []);
    let expect = json!([{"name": "add", "description": "Adds two numbers.", "parameters": {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first one."},
            "b": {"type": "integer", "default": 2},
        },
        "required": ["a"],
        "additionalProperties": false,
    }}]);
    assert_eq!(serde_json::from_str::<Value>(&schema).unwrap(), expect);
    let left_out = |module: &str| executor.describe_python(module.as_bytes()).unwrap().left_out;
    let pair = |name: &str, why: &str| (name.to_owned(), why.to_owned());
    assert_eq!(
        left_out(
            "def first(a, /, b=1): pass\ndef main(): pass\ndef _own(): pass\ndef second(a=1, /): pass\n"
        ),
        [
            pair("first", "it has a positional-only parameter without a default"),
            pair("main", "it is the entry point of a script")
        ]
    );
    let exported = "from x import z\n__all__ = ['go', 'z']\ndef go(): pass\ndef main(): pass\n";
    assert_eq!(left_out(exported), [pair("z", "it is in __all__ but no function of the file")]);
    let error = executor.describe_python(b"def add(").unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Python);
    assert!(error.to_string().contains("tools.py cannot be parsed"), "{error}");

    let module = module.replace("import no_such_module\n", "");
    world.write("maths/tools.py", &module);
    let options = || options!(world.options(); trust = TrustLevels::new(Trust::Ask));
    let session = world.session_of(options(), harness());
    let unread = "Note: The functions of its tools.py become tools when a person approves the skill.";
    assert!(load(&session, "maths").contains(unread), "{}", load(&session, "maths"));

    let snapshot = session.registry().snapshot();
    let entry = snapshot.active().next().unwrap();
    let bundle = block_on(session.registry().bundle(entry)).unwrap();
    let toolbox = repertoire_model::Toolbox::read(schema.as_bytes()).0;
    let approval = Approval::now(entry, &bundle, repertoire_model::Capabilities::of(&toolbox), Vec::new());
    executor.approvals().keep(Approval { schema: Some(schema), ..approval }).unwrap();
    let session = world.session_of(options(), harness());
    assert!(load(&session, "maths").starts_with("Loaded skill 'maths' with 1 tools: add\n"));
    assert!(names(&session).contains(&"add".to_owned()));
    assert_eq!(block_on(session.call("add", &json!({"a": 3}))).text(), "5");
    // The tools are those of the approved file.
    world.write("maths/tools.py", &format!("{module}\n"));
    let session = world.session_of(options(), harness());
    assert!(load(&session, "maths").contains(unread));
}
