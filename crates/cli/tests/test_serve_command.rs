//! `rep serve`, through the binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};

/// Returns the answers of `rep serve --stdio` to these messages, in the order of their ids.
fn answers(sandbox: &Sandbox, flags: &[&str], messages: &[Value]) -> Vec<Value> {
    let arguments: Vec<&str> = ["serve", "--stdio"].iter().chain(flags).copied().collect();
    let mut child = sandbox
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in messages {
        writeln!(input, "{message}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // Nothing but the protocol is on standard output.
    let mut answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    answers
}

fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_client_that_starts_the_server_itself() {
    let sandbox = Sandbox::with_skills();
    let load = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let messages = [initialize(), request(2, "tools/call", load), request(3, "skills/list", json!({}))];
    let answers = answers(&sandbox, &[], &messages);
    assert!(answers[0]["result"]["instructions"].as_str().unwrap().contains("`load_skill` lists the skills"));
    assert!(answers[1]["result"]["content"][0]["text"].as_str().unwrap().contains("Do alpha."));
    assert_eq!(answers[2]["result"]["skills"].as_array().unwrap().len(), 2);
    assert_eq!(answers.len(), 3);
}

#[test]
fn the_catalog_leaves_out_the_skills_that_a_client_reads_from_files() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".claude/skills/gamma/SKILL.md", skill("gamma", "Do gamma.\n"));
    let offered = |client: &str| {
        let about = json!({"name": client, "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
        let load = json!({"name": "load_skill", "arguments": {"name": "gamma"}});
        let messages = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
            request(2, "tools/list", json!({})),
            request(3, "prompts/list", json!({})),
            request(4, "tools/call", load),
        ];
        let answers = answers(&sandbox, &[], &messages);
        let loaded = answers[3]["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(loaded.contains("Do gamma."), "{loaded}");
        let instructions = answers[0]["result"]["instructions"].as_str().unwrap_or_default().to_owned();
        let tools = answers[1]["result"]["tools"].as_array().unwrap();
        let load = tools.iter().find(|tool| tool["name"] == "load_skill").unwrap();
        let catalog = instructions + load["description"].as_str().unwrap();
        let prompts = answers[2]["result"]["prompts"].as_array().unwrap();
        let prompts: Vec<String> = prompts.iter().map(|prompt| prompt["name"].to_string()).collect();
        let is_in = |name: &str| {
            let places = [&catalog, &load["inputSchema"].to_string(), &prompts.concat()];
            places.map(|place| place.contains(name))
        };
        ["alpha", "gamma"].map(is_in)
    };
    assert_eq!(offered("claude-code"), [[true; 3], [false; 3]]);
    // It reads `.agents/skills` alone.
    assert_eq!(offered("codex-mcp-client"), [[false; 3], [true; 3]]);
    // It reads both, and its model can load all of them by name.
    assert_eq!(offered("cursor-vscode"), [[false; 3]; 2]);
    assert_eq!(offered("unknown"), [[true; 3]; 2]);
}

#[test]
fn flags_and_keys_limit_the_offered_features_and_skills() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "mcp.sep2640 = false\n[agents.narrow]\nskills.allow = [\"beta\"]\n");
    let load = json!({"name": "load_skill", "arguments": {"name": "beta"}});
    let list = request(4, "tools/list", json!({}));
    let messages = [initialize(), request(2, "skills/list", json!({})), request(3, "tools/call", load), list];
    let found = answers(&sandbox, &["--agent", "narrow", "--render", "json"], &messages);
    let catalog = found[3]["result"]["tools"].to_string();
    assert!(catalog.contains("<name>beta</name>") && !catalog.contains("alpha"), "{catalog}");
    assert_eq!(found[1]["error"]["code"], -32601);
    assert_eq!(found[2]["result"]["structuredContent"]["name"], "beta");
    let found = answers(&sandbox, &["--no-tools"], &[initialize()]);
    assert_eq!(found[0]["result"]["capabilities"], json!({"prompts": {"listChanged": true}}));
}

/// Returns the names of the tools over MCP with `flags`, and the results of `calls`.
fn tools_and_results(sandbox: &Sandbox, flags: &[&str], calls: &[(&str, Value)]) -> (Vec<Value>, Vec<Value>) {
    let mut messages = vec![initialize(), request(2, "tools/list", json!({}))];
    for (id, (tool, arguments)) in (3..).zip(calls) {
        messages.push(request(id, "tools/call", json!({"name": tool, "arguments": arguments})));
    }
    let mut answers = answers(sandbox, flags, &messages);
    let results = answers.drain(2..).map(|mut answer| answer["result"].take()).collect();
    let tools = answers[1]["result"]["tools"].as_array().unwrap().iter();
    (tools.map(|tool| tool["name"].clone()).collect(), results)
}

#[test]
fn b18_b26_to_b33_role_packs_get_json_objects_over_mcp() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/alpha/references/guide.md", "one\n");
    let calls = [
        ("load_skill", json!({"name": "alpha"})),
        ("load_skill", json!({"name": "alpha", "reference": "guide.md"})),
        ("load_skill", json!({"name": "nope"})),
    ];
    let (tools, results) = tools_and_results(&sandbox, &["--profile", "bernstein"], &calls);
    assert_eq!(tools, ["load_skill"]);
    let found = &results[0]["structuredContent"];
    assert_eq!((&found["name"], &found["version"]), (&json!("alpha"), &json!("1.0.0")));
    assert!(found["body"].as_str().unwrap().contains("Do alpha."), "{found}");
    assert_eq!(found["available_references"], json!(["guide.md"]));
    assert_eq!(found["available_scripts"], json!(["run.sh"]));
    let found = &results[1]["structuredContent"];
    assert_eq!((&found["reference_content"], &found["body"]), (&json!("one\n"), &json!("")));
    assert_eq!(found["version"], "1.0.0");
    assert!(results[2]["structuredContent"]["error"].is_string(), "{}", results[2]);
    let flags = ["--profile", "bernstein", "--render", "markdown"];
    let (_, results) = tools_and_results(&sandbox, &flags, &calls[..1]);
    assert_eq!(results[0].get("structuredContent"), None, "an explicit form wins");
}

#[test]
fn h27_h28_h42_harnesses_get_sentences_and_can_unload_over_mcp() {
    let sandbox = Sandbox::with_skills();
    let alpha = json!({"name": "alpha"});
    let calls = [
        ("load_skill", alpha.clone()),
        ("load_skill", json!({"name": "nope"})),
        ("unload_skill", json!({"name": "beta"})),
    ];
    let (tools, results) = tools_and_results(&sandbox, &["--profile", "harness"], &calls);
    assert_eq!(tools, ["load_skill", "unload_skill"]);
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text(&results[0]).starts_with("Loaded skill 'alpha' with 0 tools: \n\n"), "{}", results[0]);
    assert_eq!(text(&results[1]), "Error: Unknown skill 'nope'. Check the skill menu.");
    assert_eq!(text(&results[2]), "Skill 'beta' is not loaded.");
}

#[test]
fn x49_helix_gets_xml_over_mcp() {
    let sandbox = Sandbox::with_skills();
    let calls = [("load_skill", json!({"name": "alpha"}))];
    let (tools, results) = tools_and_results(&sandbox, &["--profile", "helix"], &calls);
    assert_eq!(tools, ["load_skill", "read_skill_file"]);
    let text = results[0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("<skill name=\"alpha\""), "{text}");
}

#[test]
fn y41_y43_the_directory_is_the_id_and_skills_are_listed_by_a_query() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/foo/SKILL.md", skill("bar", "Do foo.\n"));
    let calls = [("read_skill", json!({"skill_id": "foo"})), ("list_skills", json!({"query": "foo"}))];
    let (_, results) = tools_and_results(&sandbox, &["--profile", "yodoca"], &calls);
    for (result, expect) in results.iter().zip(["Do foo.", "foo"]) {
        assert!(result["content"][0]["text"].as_str().unwrap().contains(expect), "{result}");
    }
    let listed = sandbox.json(&["--profile", "yodoca", "list", "--json"]);
    assert!(listed.to_string().contains("\"foo\""), "{listed}");
}

#[test]
fn unpublished_skills_are_reported_on_standard_error() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/sloppy/SKILL.md",
        skill("sloppy", "# Sloppy\n").replace("---\n# ", "metadata:\n  version: 1.0\n---\n# "),
    );
    let mut child = sandbox
        .command(&["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}\n{}", initialize(), request(2, "skills/list", json!({}))).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let start = "rep: `sloppy` is not on skills/list: ";
    assert!(
        told.starts_with(start) && told.ends_with(" [metadata-values]; tools still reach it\n"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn invalid_addresses_and_options_fail_at_once() {
    let sandbox = Sandbox::with_skills();
    let mut with_tools = Sandbox::new();
    with_tools.set("REPERTOIRE_EXEC_SANDBOX", "none");
    assert_run!(with_tools.run(&["serve", "--http", "127.0.0.1:0", "--exec"]), @r"
    exit 2
    --- stdout
    --- stderr
    warning: no sandbox: tools and scripts can do whatever you can
    error: tools of skills can run at 127.0.0.1:0, so it needs a token: any program of this machine could call them
    hint: give a token with REPERTOIRE_HTTP_TOKEN, or serve without tools that run
    ");
    assert_run!(sandbox.run(&["serve", "--http", "0", "--allow-write"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: skills can be changed at 127.0.0.1:0, so it needs a token: any program of this machine could change them
    hint: give a token with `rep team token create` or REPERTOIRE_HTTP_TOKEN; `rep dashboard` needs none
    ");
    assert_run!(sandbox.run(&["serve", "--http", "0.0.0.0:0"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: 0.0.0.0:0 is not a loopback address and needs a token
    hint: listen on 127.0.0.1, or give a token with `rep team token create` or REPERTOIRE_HTTP_TOKEN
    "#);
    assert_run!(sandbox.run(&["serve", "--http", "nowhere"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `nowhere` is not an address to listen on
    hint: write 127.0.0.1:7437, [::1]:7437, localhost:7437, or a port alone
    "#);
    assert_run!(sandbox.run(&["serve", "--stdio", "--agent", "nobody"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there is no agent `nobody`
    hint: no agents are configured; `[agents.nobody]` in repertoire.toml defines one
    "#);
    assert_run!(sandbox.run(&["serve", "--http", "0", "--token-file", "nope"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: cannot read the token in [DIR]/project/nope
      because: No such file or directory (os error 2)
    "#);
    sandbox.write("token", "short\n");
    assert_run!(sandbox.run(&["serve", "--http", "0", "--token-file", "token"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: invalid token in [DIR]/project/token
    hint: use 16 to 4096 letters, digits and - . _ ~ + / =
    "#);
    assert_run!(sandbox.run(&["serve", "--http", "0", "--allow-origin", "*"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `*` is neither an origin nor a host
    hint: write an origin as https://app.example.com, a host as example.com:8080
    "#);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let run = sandbox.run(&["serve", "--http", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(run.code, 3, "the command line is right");
    assert!(run.stderr.contains("hint: the port is in use"), "{}", run.stderr);
    let run = sandbox.run(&["serve", "--http", "192.0.2.1:1", "--token-file", "token"]);
    assert_eq!(run.code, 2, "the token comes first");
    assert_eq!(sandbox.run(&["serve"]).code, 2);
    assert_eq!(sandbox.run(&["serve", "--stdio", "--http"]).code, 2);
    assert_eq!(sandbox.run(&["serve", "--stdio", "--token-file", "token"]).code, 2);
}

#[test]
fn a_project_cannot_configure_access_to_the_server() {
    let sandbox = Sandbox::with_skills();
    for line in ["http.allow_origins = [\"http://evil.test\"]", "[agents.a]\ntoken_file = \"x\""] {
        sandbox.write("repertoire.toml", line);
        let run = sandbox.run(&["list"]);
        assert!(run.code == 2 && run.stderr.contains("a project's file may not have"), "{}", run.stderr);
    }
}

/// A running server.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// The output before it served.
    before: String,
    pub(crate) stderr: BufReader<ChildStderr>,
}

impl Serving {
    pub(crate) fn start(sandbox: &Sandbox, flags: &[&str]) -> Self {
        Self::start_at(sandbox, "0", flags)
    }

    pub(crate) fn start_at(sandbox: &Sandbox, address: &str, flags: &[&str]) -> Self {
        let arguments: Vec<&str> = ["serve", "--http", address].iter().chain(flags).copied().collect();
        let mut child =
            sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut line, mut before) = (String::new(), String::new());
        while !line.starts_with("rep: serving") {
            before.push_str(&line);
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{before}");
        }
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        Self { child, address: address.to_owned(), before, stderr }
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        ask(&self.address, &format!("GET {path}"), headers, "")
    }
}

/// Returns the whole answer of the server at `address` to a request, as in `GET /`, with more headers.
pub(crate) fn ask(address: &str, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns the `NAME=VALUE` of the cookie that an answer sets.
pub(crate) fn cookie(answer: &str) -> Option<&str> {
    answer.lines().find_map(|line| line.strip_prefix("set-cookie: "))?.split(';').next()
}

/// Returns the token that the forms of a page carry.
pub(crate) fn csrf(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes `path` a file that those may read whom `mode` lets.
fn readable_by(path: &std::path::Path, mode: u32) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    #[cfg(not(unix))]
    let _ = (path, mode);
}

#[test]
fn a_server_that_many_clients_reach() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("REPERTOIRE_HTTP_TOKEN", "everything-0123456789");
    sandbox.write("../home/secret", "narrow-0123456789abc\n");
    sandbox.write(
        "../home/.config/repertoire/config.toml",
        "[agents.narrow]\nskills.allow = [\"beta\"]\ntoken_file = \"../../secret\"\n",
    );
    let secret = sandbox.home().join("secret");
    readable_by(&secret, 0o644);
    let serving = Serving::start(&sandbox, &[]);
    let warning = "rep: others on this machine can read the token in ";
    assert_eq!(serving.before.contains(warning), cfg!(unix), "{}", serving.before);
    drop(serving);
    readable_by(&secret, 0o600);
    let serving = Serving::start(&sandbox, &[]);
    assert_eq!(serving.before, "");
    assert!(serving.get("/readyz", "").starts_with("HTTP/1.1 200"));
    let index = "/.well-known/agent-skills/index.json";
    assert!(serving.get(index, "").starts_with("HTTP/1.1 401"));
    let all = serving.get(index, "Authorization: Bearer everything-0123456789\r\n");
    assert!(all.contains("alpha") && all.contains("beta"), "{all}");
    let narrow = serving.get(index, "Authorization: Bearer narrow-0123456789abc\r\n");
    assert!(!narrow.contains("alpha") && narrow.contains("beta"), "{narrow}");
}

#[test]
fn people_write_with_a_token_of_a_file_or_of_the_store() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/secret", "everything-0123456789\n");
    readable_by(&sandbox.home().join("secret"), 0o600);
    let stored = |role: &str| {
        let token = sandbox.json(&["team", "token", "create", "--name", role, "--role", role, "--json"]);
        token["token"].as_str().unwrap().to_owned()
    };
    let check = |flags: &[&str], token: &str, expect: &str| {
        let serving = Serving::start(&sandbox, &[&["--allow-write"], flags].concat());
        assert!(serving.get("/api/v1/skills", "").starts_with("HTTP/1.1 401"));
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        let signed_in = ask(&serving.address, "POST /sign-in", form, &format!("token={token}"));
        let person = format!("Cookie: {}\r\n", cookie(&signed_in).expect("a cookie"));
        let (json, switch) = ("Content-Type: application/json\r\n", "POST /api/v1/skills/alpha/switch");
        let answer =
            |headers: &str| ask(&serving.address, switch, &format!("{json}{headers}"), "{\"on\": true}");
        assert!(answer("").starts_with("HTTP/1.1 401"));
        assert!(answer(&person).starts_with("HTTP/1.1 403"), "a cookie alone does not write");
        let page = serving.get("/skills", &person);
        let of_page = if expect == "200" { csrf(&page) } else { "" };
        let by_page = answer(&format!("{person}X-CSRF-Token: {of_page}\r\n"));
        assert!(by_page.starts_with(&format!("HTTP/1.1 {expect}")), "{by_page}");
        let by_program = answer(&format!("Authorization: Bearer {token}\r\n"));
        assert!(by_program.starts_with(&format!("HTTP/1.1 {expect}")), "{by_program}");
    };
    check(&["--token-file", "../home/secret"], "everything-0123456789", "200");
    check(&[], &stored("reviewer"), "200");
    check(&[], &stored("reader"), "403");
}

#[test]
fn the_metrics_are_where_the_guide_says() {
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/operating.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let path = guide.lines().find_map(|line| line.strip_prefix("$ curl http://127.0.0.1:7437")).unwrap();
    let sandbox = Sandbox::with_skills();
    let serving = Serving::start(&sandbox, &[]);
    let answer = serving.get(path, "");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\n# TYPE skill_load_total counter\n"),
        "{answer}"
    );
    for line in guide.lines().filter_map(|line| line.strip_prefix("| `skill_")) {
        let name = format!("skill_{}", line.split('`').next().unwrap());
        let is_optional = line.contains("; only where there is one");
        assert!(answer.contains(&format!("# TYPE {name} ")) || is_optional, "{name}");
    }
    assert!(!answer.contains("skill_load_total{"), "{answer}");
    for loads in 1..3 {
        sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
        let answer = serving.get(path, "");
        let line = answer.lines().find(|line| line.starts_with(r#"skill_load_total{name="alpha""#));
        assert!(line.is_some_and(|line| line.ends_with(&format!(" {loads}"))), "another process: {answer}");
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_is_terminated_ends_well() {
    let sandbox = Sandbox::with_skills();
    let mut serving = Serving::start(&sandbox, &[]);
    assert!(serving.get("/healthz", "").starts_with("HTTP/1.1 200"));
    let process = rustix::process::Pid::from_child(&serving.child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn h30_y52_the_tools_of_an_agent_are_configured() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.small]\ntools.offer = \"minimal\"\n");
    let user = "[agents.named]\ntools.offer = [\"read_skill_file\"]\ntools.names.load = \"activate_skill\"\ntools.args.name = \"skill_id\"\ntools.descriptions.load = \"Begin with this.\"\n";
    sandbox.write("../home/.config/repertoire/config.toml", user);
    let load = json!({"name": "activate_skill", "arguments": {"skill_id": "beta"}});
    let messages = [initialize(), request(2, "tools/list", json!({})), request(3, "tools/call", load)];
    let found = answers(&sandbox, &["--agent", "small"], &messages);
    let names = |found: &[Value]| -> Vec<String> {
        let tools = found[1]["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&found), ["load_skill"]);
    assert_eq!(found[2]["error"]["code"], -32602);
    let catalog = found[1]["result"]["tools"].to_string();
    assert!(catalog.contains("<name>beta</name>") && !catalog.contains("read_skill_file"), "{catalog}");
    let found = answers(&sandbox, &["--agent", "named"], &messages);
    assert_eq!(names(&found), ["activate_skill", "read_skill_file"]);
    let description = found[1]["result"]["tools"][0]["description"].as_str().unwrap();
    assert!(description.starts_with("Begin with this.\n\n"), "{description}");
    assert!(description.contains("`activate_skill`"), "{description}");
    assert!(found[2]["result"]["content"][0]["text"].as_str().unwrap().contains("Do beta."));
    assert!(
        found[0]["result"]["instructions"].as_str().unwrap().contains("`activate_skill` lists the skills")
    );
    let called = |arguments: &[&str]| sandbox.run(arguments).transcript();
    assert!(called(&["call", "list_skills", "--agent", "small"]).contains("There is no tool `list_skills`"));
    assert!(called(&["catalog", "--agent", "named"]).contains("activate_skill"));
    assert!(called(&["prompt", "--agent", "named"]).contains("activate_skill"));
}

#[test]
fn a_project_narrows_the_tools_and_does_not_name_them() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.config/repertoire/config.toml", "tools.offer = [\"list_skills\"]\n");
    sandbox.write("repertoire.toml", "tools.offer = \"all\"\n[agents.wide]\ntools.offer = \"all\"\n");
    for agent in [&[][..], &["--agent", "wide"]] {
        let called = sandbox.run(&[&["call", "read_skill_file"], agent].concat()).transcript();
        assert!(called.contains("Tools: list_skills, load_skill."), "{called}");
    }
    for line in ["tools.names.load = \"x\"", "tools.args.name = \"x\"", "tools.descriptions.load = \"x\""] {
        for table in ["", "[agents.a]\n"] {
            sandbox.write("repertoire.toml", format!("{table}{line}\n"));
            let called = sandbox.run(&["call", "list_skills"]).transcript();
            assert!(called.contains("a project's file may not have `"), "{called}");
        }
    }
    sandbox.write("repertoire.toml", "tools.offer = [\"load\"]\ntools.hide_args = [\"name\"]\n");
    let called = sandbox.run(&["call", "list_skills"]).transcript();
    assert!(
        called.contains("bad value for `tools.offer`") && called.contains("`tools.hide_args`"),
        "{called}"
    );
}
