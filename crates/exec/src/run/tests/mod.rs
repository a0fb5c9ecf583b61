//! Tests of tools and scripts of skills through sessions, without a sandbox; `crates/cli/tests/escape` tests
//! sandboxes.

/// Returns options with some fields set; the type cannot be written as a literal outside of its crate.
macro_rules! options {
    ($base:expr; $($($field:ident).+ = $value:expr),+ $(,)?) => {{
        let mut options = $base;
        $(options.$($field).+ = $value;)+
        options
    }};
}

mod ending;
#[cfg(unix)]
mod host;
mod trust;

use pollster::block_on;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use repertoire_model::answer::Render;
use serde_json::{Map, Value, json};

use repertoire::BoxFuture;
use repertoire::event::{EventKind, MemorySink, Outcome as EventOutcome};
use repertoire::session::{ToolCeiling, ToolExposure};
use repertoire::*;

use super::*;
use crate::approval::{Approval, ApprovalRequest, ApprovalVerdict, Approvals, Approver, TrustLevels};
use crate::sandbox::Sandbox;
use crate::{ExecError, ExecErrorKind, Job, Output, RunEnding, RunOutcome};

/// A sandbox that runs jobs unconfined, and records them.
#[derive(Debug, Default)]
struct Plain {
    jobs: Mutex<Vec<Job>>,
}

impl Sandbox for Plain {
    fn name(&self) -> &'static str {
        "none"
    }

    #[allow(clippy::disallowed_methods)] // Tests may start processes.
    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError> {
        self.jobs.lock().unwrap().push(job.clone());
        let scratch = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let mut command = Command::new(&job.command[0]);
        command
            .args(&job.command[1..])
            .current_dir(job.grants.directory.as_deref().unwrap_or(scratch.path()))
            .env_clear()
            .envs(job.environment.iter().map(|(name, value)| (name, value)))
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|_| ExecError::new(ExecErrorKind::CommandNotFound))?;
        let mut stdin = child.stdin.take().unwrap();
        let input = job.input.clone().unwrap_or_default();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = err.read_to_end(&mut bytes);
            bytes
        });
        let output = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = out.read_to_end(&mut bytes);
            bytes
        });
        let is_late = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if started.elapsed() > job.limits.timeout {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let _ = writer.join();
        let mut stdout = output.join().unwrap();
        let dropped = stdout.len().saturating_sub(job.limits.output) as u64;
        stdout.truncate(job.limits.output);
        Ok(RunOutcome {
            ending: is_late.map_or(RunEnding::TimedOut, RunEnding::Exited),
            stdout: Output { bytes: stdout, dropped },
            stderr: Output { bytes: reader.join().unwrap(), dropped: 0 },
            cleanup_problems: Vec::new(),
            refused: Vec::new(),
        })
    }
}

/// Directories of skills, state and work, and a sandbox.
struct World {
    skills: tempfile::TempDir,
    state: tempfile::TempDir,
    work: tempfile::TempDir,
    sandbox: Arc<Plain>,
    sink: Arc<MemorySink>,
}

const MATHS: &str = r#"[
  {"name": "add", "description": "Adds two numbers.", "parameters": {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": false}},
  {"name": "fail", "description": "Raises."},
  {"name": "table", "description": "Returns JSON.", "output": "json"},
  {"name": "orphan", "description": "Nothing runs it."}
]"#;

const PYTHON: &str = "print('loading')\n\ndef add(*, a, b):\n    print('noise')\n    return a + b\n\n\
    def fail():\n    raise ValueError('no such sheet')\n\n\
    async def table():\n    return {'rows': [1, 2]}\n";

impl World {
    fn new() -> Self {
        let directory = || tempfile::tempdir().unwrap();
        let (sandbox, sink) = (Arc::default(), Arc::new(MemorySink::new()));
        Self { skills: directory(), state: directory(), work: directory(), sandbox, sink }
    }

    fn with_maths() -> Self {
        let world = Self::new();
        world.skill("maths");
        world.write("maths/schema.json", MATHS);
        world.write("maths/tools.py", PYTHON);
        world
    }

    fn skill(&self, name: &str) {
        self.write(
            &format!("{name}/SKILL.md"),
            &format!(
                "---\nname: {name}\ndescription: Does {name}. Use when {name} is asked for.\n---\n# {name}\n"
            ),
        );
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.skills.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    fn script(&self, path: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(path, text);
        fs::set_permissions(self.skills.path().join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn options(&self) -> ExecutorOptions {
        ExecutorOptions {
            trust: TrustLevels::new(Trust::Trusted),
            directory: Some(self.work.path().to_owned()),
            variables: [("PATH", "/usr/bin:/bin"), ("LANG", "C"), ("TOKEN", "t"), ("SECRET", "s")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            ..ExecutorOptions::new(self.state.path())
        }
    }

    fn builder(&self, options: ExecutorOptions) -> LibraryBuilder {
        let provider = FsProvider::new(FsOptions::new("test", self.skills.path()));
        let executor = Executor::new(self.sandbox.clone(), options);
        Library::builder().provider(Arc::new(provider)).sink(self.sink.clone()).runner(executor)
    }

    fn session(&self) -> Session {
        self.session_of(self.options(), SessionOptions::default())
    }

    fn session_of(&self, executor: ExecutorOptions, options: SessionOptions) -> Session {
        let library = block_on(self.builder(executor).session_options(options).open()).unwrap();
        block_on(library.session()).unwrap()
    }
}

fn harness() -> SessionOptions {
    options!(SessionOptions::default(); render = Render::Text, running.exposure = ToolExposure::Dynamic)
}

fn load(session: &Session, name: &str) -> String {
    block_on(session.call("load_skill", &json!({"name": name}))).text().to_owned()
}

fn unload(session: &Session, name: &str) {
    block_on(session.call("unload_skill", &json!({"name": name})));
}

fn call(session: &Session, skill: &str, tool: &str, arguments: Value) -> String {
    let arguments = json!({"skill": skill, "tool": tool, "arguments": arguments});
    block_on(session.call("call_skill_tool", &arguments)).text().to_owned()
}

fn run(session: &Session, skill: &str, path: &str, more: Value) -> String {
    let mut arguments = json!({"skill": skill, "path": path});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    block_on(session.call("run_skill_script", &arguments)).text().to_owned()
}

fn names(session: &Session) -> Vec<String> {
    session.tools().iter().map(|tool| tool.name.clone()).collect()
}

/// T1, T2, T3 of the guide.
#[test]
fn loading_exposes_tools_and_unloading_withdraws_them() {
    let world = World::with_maths();
    let session = world.session_of(world.options(), harness());
    assert_eq!(
        block_on(session.call("add", &json!({"a": 1, "b": 2}))).text(),
        "Error: Tool 'add' not found. Is the skill loaded?"
    );
    assert!(!names(&session).contains(&"add".to_owned()));
    assert!(
        load(&session, "maths")
            .starts_with("Loaded skill 'maths' with 3 tools: add, fail, table\n\nDocumentation:\n")
    );
    assert!(names(&session).contains(&"add".to_owned()));
    assert_eq!(block_on(session.call("add", &json!({"a": 1, "b": 2}))).text(), "3");
    assert_eq!(call(&session, "maths", "add", json!({"a": 1, "b": 2})), "3");
    let failed = block_on(session.call("fail", &json!({})));
    assert_eq!((failed.text(), failed.is_error()), ("Error: ValueError: no such sheet", true));
    unload(&session, "maths");
    assert!(!names(&session).contains(&"add".to_owned()));
    for text in [
        block_on(session.call("add", &json!({"a": 1, "b": 2}))).text().to_owned(),
        call(&session, "maths", "add", json!({"a": 1, "b": 2})),
    ] {
        assert_eq!(text, "Error: Tool 'add' not found. Is the skill loaded?");
    }
    assert_eq!(call(&session, "x", "add", json!({})), "Error: Unknown skill 'x'. Check the skill menu.");
    load(&session, "maths");
    assert_eq!(call(&session, "maths", "add", json!({"a": 2, "b": 2})), "4");
}

/// T4.
#[test]
fn arguments_are_checked_against_the_schema_before_a_run() {
    let world = World::with_maths();
    let session = world.session();
    load(&session, "maths");
    let text = call(&session, "maths", "add", json!({"a": "1", "c": 3}));
    let expect = "<skill_error kind=\"bad_arguments\" source=\"test\">The arguments of `add` are not as its schema says: `b` is missing; \
                  `a` must be an integer; `c` is not a parameter (did you mean `a`?). Nothing was run.</skill_error>";
    assert_eq!(text, expect);
    assert!(world.sandbox.jobs.lock().unwrap().is_empty());
    assert!(call(&session, "maths", "gone", json!({})).contains("Its tools: add, fail, table."));
    assert!(call(&session, "maths", "orphan", json!({})).contains("has no tool `orphan`"));
    // Some models write the arguments as text.
    let arguments = json!({"skill": "maths", "tool": "add", "arguments": "{\"a\": 1, \"b\": 1}"});
    assert!(block_on(session.call("call_skill_tool", &arguments)).text().contains("\n2\n"));
}

/// T5: the skill that was loaded first gets the name; the other tool is called through its skill.
#[test]
fn of_two_tools_with_one_name_the_first_loaded_gets_it() {
    let world = World::new();
    for name in ["b", "a"] {
        world.skill(name);
        world.write(&format!("{name}/schema.json"), r#"[{"name": "who", "description": "Who."}]"#);
        world.script(&format!("{name}/tools/who"), &format!("#!/bin/sh\nprintf {name}\n"));
    }
    let session = world.session_of(world.options(), harness());
    load(&session, "b");
    load(&session, "a");
    assert_eq!(names(&session).iter().filter(|name| *name == "who").count(), 1);
    assert_eq!(block_on(session.call("who", &json!({}))).text(), "b");
    assert_eq!(call(&session, "a", "who", json!({})), "a");
    unload(&session, "b");
    assert_eq!(block_on(session.call("who", &json!({}))).text(), "a");
}

/// T6, T8, T10.
#[test]
fn invalid_tools_are_left_out() {
    let world = World::with_maths();
    world.skill("broken");
    world.write("broken/schema.json", "[{");
    world.skill("clash");
    let clash = r#"[{"name": "maths"}, {"name": "load_skill"}, {"name": "fine", "description": "F."}]"#;
    world.write("clash/schema.json", clash);
    for name in ["maths", "load_skill", "fine"] {
        world.script(&format!("clash/tools/{name}"), "#!/bin/sh\nprintf ok\n");
    }
    let session = world.session_of(world.options(), harness());
    assert!(load(&session, "broken").starts_with("Loaded skill 'broken' with 0 tools: \n\nDocumentation:\n"));
    assert!(load(&session, "clash").starts_with("Loaded skill 'clash' with 1 tools: fine\n"));
    assert_eq!(call(&session, "clash", "fine", json!({})), "ok");
    load(&session, "maths");
    assert_eq!(call(&session, "maths", "add", json!({"a": 1, "b": 2})), "3");
    let text = block_on(session.call("maths", &json!({}))).text().to_owned();
    assert_eq!(text, "Skill 'maths' is already loaded.");
}

/// T9.
#[test]
fn the_list_of_tools_is_stable_appended_to_or_sorted() {
    let world = World::with_maths();
    world.skill("zoo");
    world.write(
        "zoo/schema.json",
        r#"[{"name": "b_feed", "description": "B."}, {"name": "a_count", "description": "A."}]"#,
    );
    world.write("zoo/tools.py", "def b_feed(): pass\ndef a_count(): pass\n");
    let of = |exposure| {
        world.session_of(world.options(), options!(SessionOptions::default(); running.exposure = exposure))
    };

    let stable = of(ToolExposure::Stable);
    let before = stable.tools();
    assert!(
        names(&stable).contains(&"call_skill_tool".to_owned())
            && names(&stable).contains(&"run_skill_script".to_owned())
    );
    load(&stable, "zoo");
    assert_eq!(stable.tools(), before);
    unload(&stable, "zoo");
    assert_eq!(stable.tools(), before);

    let append = of(ToolExposure::Append);
    let before = names(&append);
    assert!(!before.contains(&"call_skill_tool".to_owned()));
    load(&append, "zoo");
    load(&append, "maths");
    let after = names(&append);
    assert_eq!(after[..before.len()], before);
    assert_eq!(after[before.len()..], ["a_count", "b_feed", "add", "fail", "table"]);
    unload(&append, "zoo");
    assert_eq!(names(&append), after, "what comes behind is not read anew");
    block_on(append.refresh());
    assert_eq!(names(&append)[before.len()..], ["add", "fail", "table"]);

    let dynamic = of(ToolExposure::Dynamic);
    let before = names(&dynamic);
    load(&dynamic, "zoo");
    let mut expect = before.clone();
    expect.extend(["a_count".to_owned(), "b_feed".to_owned()]);
    expect.sort();
    assert_eq!(names(&dynamic), expect);
    unload(&dynamic, "zoo");
    assert_eq!(names(&dynamic), before);
}

#[test]
fn descriptions_of_the_two_tools() {
    let world = World::with_maths();
    let session = world.session();
    let of = |name: &str| session.tools().iter().find(|tool| tool.name == name).cloned().unwrap();
    let (call, run) = (of("call_skill_tool"), of("run_skill_script"));
    assert_eq!(
        call.description,
        "Call a tool of a loaded skill. Loading a skill tells which tools it has and what they take."
    );
    assert_eq!(
        call.input_schema,
        json!({
            "type": "object",
            "properties": {
                "skill": {"type": "string", "description": "Skill name; the skill must be loaded"},
                "tool": {"type": "string", "description": "Tool of that skill"},
                "arguments": {"type": "object", "description": "Its arguments, as its schema says"},
            },
            "required": ["skill", "tool"],
            "additionalProperties": false,
        })
    );
    assert_eq!(run.description, "Run a script of a loaded skill in a sandbox and return what it prints.");
    assert_eq!(
        run.input_schema,
        json!({
            "type": "object",
            "properties": {
                "skill": {"type": "string", "description": "Skill name; the skill must be loaded"},
                "path": {"type": "string", "description": "Path within the skill, such as scripts/report.py"},
                "args": {"type": "array", "items": {"type": "string"}, "description": "Its arguments"},
                "stdin": {"type": "string", "description": "What it reads from its standard input"},
            },
            "required": ["skill", "path"],
            "additionalProperties": false,
        })
    );
}

/// An acknowledgement names the tools, for a model that has the instructions from elsewhere.
#[test]
fn an_acknowledgement_names_the_tools() {
    let world = World::with_maths();
    let session = world.session();
    load(&session, "maths");
    let again = load(&session, "maths");
    assert!(again.starts_with("<skill_active"), "{again}");
    assert!(again.contains(
        "Its tools are called with `call_skill_tool`: add, fail, table. What they take is in its schema.json."
    ));
    let harness = world.session_of(world.options(), harness());
    load(&harness, "maths");
    assert_eq!(load(&harness, "maths"), "Skill 'maths' is already loaded.");
}

#[test]
fn without_an_executor_there_are_no_skill_tools() {
    let world = World::with_maths();
    let provider = FsProvider::new(FsOptions::new("test", world.skills.path()));
    let library = block_on(Library::builder().provider(Arc::new(provider)).open()).unwrap();
    let session = block_on(library.session()).unwrap();
    let expect = ["load_skill", "read_skill_file"];
    assert_eq!(names(&session), expect);
    let text = load(&session, "maths");
    assert!(!text.contains("call_skill_tool") && !text.contains("skill_tools"), "{text}");
    assert!(
        text.contains("Its tools cannot be called. Running tools and scripts of skills is off."),
        "{text}"
    );
    let off = "`call_skill_tool` was not run. Running tools and scripts of skills is off.";
    assert!(call(&session, "maths", "add", json!({})).contains(off));
}

/// T11, and handlers of the host: they win over those of the skill, need no approval, and their failures are
/// contained.
#[test]
fn hosts_add_their_own_handlers() {
    let world = World::with_maths();
    let add = |arguments: &Map<String, Value>| -> Result<String, HandlerError> {
        Ok(format!("{} and {}", arguments["a"], arguments["b"]))
    };
    let fail =
        |_: &Map<String, Value>| -> Result<String, HandlerError> { Err(HandlerError::new("KeyError", "x")) };
    let panic = |_: &Map<String, Value>| -> Result<String, HandlerError> { panic!("boom") };
    let provider = || Arc::new(FsProvider::new(FsOptions::new("test", world.skills.path())));
    let builder = || Library::builder().provider(provider());
    let library = block_on(
        builder()
            .handler("maths", "add", Arc::new(add))
            .handler("maths", "fail", Arc::new(fail))
            .handler("maths", "orphan", Arc::new(panic))
            .session_options(harness())
            .open(),
    )
    .unwrap();
    let session = block_on(library.session()).unwrap();
    assert!(!names(&session).contains(&"run_skill_script".to_owned()));
    let text = load(&session, "maths");
    let expect = "Loaded skill 'maths' with 4 tools: add, fail, table, orphan\n\n\
                  Note: Of its tools, these cannot be called (table). Running tools and scripts of skills is off.";
    assert!(text.starts_with(expect), "{text}");
    assert!(block_on(session.call("table", &json!({}))).text().contains("was not run"));
    assert_eq!(block_on(session.call("add", &json!({"a": 1, "b": 2}))).text(), "1 and 2");
    assert_eq!(block_on(session.call("fail", &json!({}))).text(), "Error: KeyError: x");
    assert_eq!(block_on(session.call("orphan", &json!({}))).text(), "Error: Panic: boom");
    assert_eq!(block_on(session.call("add", &json!({"a": 1, "b": 2}))).text(), "1 and 2");
    for name in ["load_skill", "call_skill_tool", "run_skill_script"] {
        let error = block_on(builder().handler("maths", name, Arc::new(add)).open()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ReservedName, "{name}");
    }
    let twice = builder().handler("maths", "add", Arc::new(add)).handler("maths", "add", Arc::new(add));
    assert_eq!(block_on(twice.open()).err().unwrap().kind(), ErrorKind::ReservedName);
}

/// T12, except for the sandbox.
#[test]
fn a_tool_gets_the_grants_it_declares() {
    let world = World::new();
    world.skill("jobs");
    world.write(
        "jobs/schema.json",
        r#"[
          {"name": "plain", "description": "P.", "command": ["scripts/show.sh", "scripts/show.sh", "-x"]},
          {"name": "rich", "description": "R.", "command": ["sh", "-c", "cat; pwd; echo $TOKEN $SECRET"],
           "timeout": 5, "network": true, "write": ["out", "."], "env": ["TOKEN"]},
          {"name": "slow", "description": "S.", "command": ["sleep", "9"], "timeout": 1},
          {"name": "exits", "description": "E.", "command": ["sh", "-c", "echo half; echo why >&2; exit 3"]},
          {"name": "missing", "description": "M.", "command": ["no-such-program"]}
        ]"#,
    );
    world.script("jobs/scripts/show.sh", "#!/bin/sh\necho \"$@\"\n");
    let session =
        world.session_of(world.options(), options!(SessionOptions::default(); render = Render::Text));
    load(&session, "jobs");
    let plain = call(&session, "jobs", "plain", json!({}));
    let job = world.sandbox.jobs.lock().unwrap().pop().unwrap();
    assert!(
        plain.ends_with("/scripts/show.sh -x\n") && plain.starts_with(world.state.path().to_str().unwrap()),
        "{plain}"
    );
    assert_eq!((job.grants.network, job.grants.directory, job.grants.write.len()), (false, None, 0));
    assert_eq!(job.environment.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["PATH", "LANG"]);

    let rich = call(&session, "jobs", "rich", json!({"x": 1}));
    let job = world.sandbox.jobs.lock().unwrap().pop().unwrap();
    assert_eq!(rich, format!("{{\"x\":1}}\n{}\nt\n", world.work.path().display()));
    assert_eq!(job.limits.timeout, Duration::from_secs(5));
    assert!(job.grants.network);
    assert_eq!(job.grants.write, [world.work.path().to_owned(), world.work.path().join("out")]);

    assert_eq!(call(&session, "jobs", "slow", json!({})), "Error: timed out after 1 seconds");
    assert_eq!(
        call(&session, "jobs", "exits", json!({})),
        "Error: exit code 3\nwhy\nStandard output:\nhalf\n"
    );
    assert_eq!(
        call(&session, "jobs", "missing", json!({})),
        "Error: The call failed: `no-such-program` is not installed here."
    );
    let events = world.sink.events();
    let called: Vec<_> = events.iter().filter(|event| event.kind == EventKind::SkillToolCalled).collect();
    assert_eq!(called.len(), 5);
    assert_eq!((called[0].sandbox, called[0].exit_code), (Some("none"), Some(0)));
    assert_eq!((called[3].skill_tool.as_deref(), called[3].exit_code), (Some("exits"), Some(3)));
    assert_eq!(called[3].outcome, EventOutcome::Error);
}

#[test]
fn long_output_is_cut_and_says_so() {
    let world = World::new();
    world.skill("long");
    world.write(
        "long/schema.json",
        r#"[{"name": "yes", "description": "Y.", "command": ["head", "-c", "3000000", "/dev/zero"]}]"#,
    );
    let session = world.session();
    load(&session, "long");
    let text = call(&session, "long", "yes", json!({}));
    assert!(text.contains("The output was cut after 1048576 bytes; 1951424 more were dropped."));
}

#[test]
fn json_results_are_structured() {
    let world = World::with_maths();
    let session =
        world.session_of(world.options(), options!(SessionOptions::default(); render = Render::Json));
    load(&session, "maths");
    let data: Value = serde_json::from_str(&call(&session, "maths", "table", json!({}))).unwrap();
    assert_eq!((&data["structured"], &data["error"]), (&json!({"rows": [1, 2]}), &Value::Null));
}

#[test]
fn scripts_run_with_their_interpreter() {
    let world = World::new();
    world.skill("tools");
    world.write("tools/scripts/a.py", "import sys\nprint('py', sys.argv[1:], sys.stdin.read())\n");
    world.write("tools/scripts/b.sh", "echo sh \"$@\"\n");
    world.script("tools/scripts/c", "#!/bin/sh\necho itself\n");
    world.write("tools/scripts/d.txt", "no");
    world.write("tools/scripts/e.py", "# /// script\n# dependencies = []\n# ///\nprint('pep 723')\n");
    let session =
        world.session_of(world.options(), options!(SessionOptions::default(); render = Render::Text));
    let late = run(&session, "tools", "scripts/a.py", json!({}));
    assert_eq!(late, "Error: Tool 'scripts/a.py' not found. Is the skill loaded?");
    load(&session, "tools");
    assert_eq!(
        run(&session, "tools", "scripts/a.py", json!({"args": ["x", "y z"], "stdin": "in"})),
        "py ['x', 'y z'] in\n"
    );
    assert_eq!(run(&session, "tools", "./scripts/b.sh", json!({"args": ["x"]})), "sh x\n");
    assert_eq!(run(&session, "tools", "scripts/c", json!({})), "itself\n");
    assert_eq!(run(&session, "tools", "scripts/e.py", json!({})), "pep 723\n");
    assert!(
        run(&session, "tools", "scripts/d.txt", json!({}))
            .starts_with("Error: Nothing in skill `tools` says how to run")
    );
    assert!(
        run(&session, "tools", "../x.sh", json!({})).starts_with("Error: Path traversal detected: `../x.sh`")
    );
    assert!(run(&session, "tools", "scripts/gone.sh", json!({})).contains("has no file"));
    let events = world.sink.events();
    assert!(
        events
            .iter()
            .any(|event| event.kind == EventKind::ScriptRun && event.file.as_deref() == Some("scripts/c"))
    );
}
