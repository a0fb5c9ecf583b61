//! The tools that each profile offers. The tools that a person asks for are among them under every profile.

use serde_json::{Value, json};

use crate::model_server::{Server, chat};
use crate::sandbox::{Run, Sandbox, skill};

const PROFILES: [&str; 7] = ["standard", "strict", "lenient", "harness", "bernstein", "yodoca", "helix"];
const SWITCHED_ON: &str = "[exec]\nenabled = true\n[proposals]\noffer = true\n[tools]\nunload = true\n";
const CRITIC: &str = "[agents.critic]\nreviews = true\n";
const LISTER: &str = "[agents.lister]\ntools.offer = [\"list_skills\"]\n";
const EVERYTHING: &str = "[agents.everything]\ntools.offer = \"all\"\n";

/// Returns a sandbox with a skill, a sandbox for commands that works everywhere, and the user's configuration
/// `text`.
fn configured(text: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/bin:/bin:/usr/local/bin");
    sandbox.set("REPERTOIRE_EXEC_SANDBOX", "none");
    sandbox.write(".agents/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nDo alpha.\n"));
    sandbox.write("../home/.config/repertoire/config.toml", text);
    sandbox
}

fn answers(run: &Run) -> Vec<Value> {
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(tools: &Value) -> Vec<String> {
    let names = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// Returns the tools that `rep session` offers.
fn in_session(sandbox: &Sandbox, profile: &str, flags: &[&str]) -> Vec<String> {
    let arguments = [&["session", "--profile", profile], flags].concat();
    names(&answers(&sandbox.run_with_input(&arguments, "{\"op\":\"tools\"}\n"))[0]["tools"])
}

/// Returns the tools that `rep serve --stdio` offers.
fn over_mcp(sandbox: &Sandbox, profile: &str, flags: &[&str]) -> Vec<String> {
    let about = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}});
    let arguments = [&["serve", "--stdio", "--profile", profile], flags].concat();
    let answers = answers(&sandbox.run_with_input(&arguments, &format!("{initialize}\n{list}\n")));
    let answer = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    names(&answer["result"]["tools"])
}

/// Fails unless `tools` has all of `expect`. With tools of skills in the list of tools, nothing else calls
/// them.
fn expect(tools: &[String], expect: &[&str], profile: &str) {
    let is_there = |tool: &&str| tools.iter().any(|name| name == tool);
    let is_needless = |tool: &&str| *tool == "call_skill_tool" && profile == "harness";
    let missing: Vec<&&str> = expect.iter().filter(|tool| !is_there(tool) && !is_needless(tool)).collect();
    assert!(missing.is_empty(), "{profile} lacks {missing:?} of {tools:?}");
}

const RUNNING: [&str; 2] = ["call_skill_tool", "run_skill_script"];
const ALL_ASKED_FOR: [&str; 6] = [
    "call_skill_tool",
    "run_skill_script",
    "propose_skill",
    "propose_skill_update",
    "review_skill_proposals",
    "unload_skill",
];

#[test]
fn a_profile_offers_what_a_person_switched_on() {
    let plain = configured(&[CRITIC, LISTER, EVERYTHING].concat());
    let switched_on = configured(&[SWITCHED_ON, CRITIC].concat());
    for profile in PROFILES {
        for tools in [in_session, over_mcp] {
            let without = tools(&plain, profile, &[]);
            assert!(!without.iter().any(|tool| RUNNING.contains(&&**tool)), "{profile}: {without:?}");
            expect(&tools(&plain, profile, &["--exec"]), &RUNNING, profile);
            expect(&tools(&plain, profile, &["--agent", "critic"]), &["review_skill_proposals"], profile);
            expect(&tools(&switched_on, profile, &["--agent", "critic"]), &ALL_ASKED_FOR, profile);
        }
        let call = ["--profile", profile, "call", "review_skill_proposals", "{\"action\":\"list\"}"];
        let run = plain.run(&[&call[..], &["--agent", "critic"]].concat());
        assert_eq!(run.code, 0, "{profile}: {} {}", run.stdout, run.stderr);
    }
}

#[test]
fn an_agents_own_tools_take_the_place_of_those_of_a_profile() {
    let sandbox = configured(&[LISTER, EVERYTHING].concat());
    for profile in PROFILES {
        let load = if profile == "yodoca" { "read_skill" } else { "load_skill" };
        let lister = in_session(&sandbox, profile, &["--agent", "lister"]);
        assert_eq!(lister, ["list_skills", load], "{profile}");
        let everything = in_session(&sandbox, profile, &["--agent", "everything"]);
        let read = if profile == "yodoca" { "read_skill_resource" } else { "read_skill_file" };
        expect(&everything, &["list_skills", "list_skill_files", read, "unload_skill"], profile);
    }
}

#[test]
fn rep_agent_offers_the_tools_that_run_something_under_every_profile() {
    let sandbox = configured("");
    for profile in ["standard", "bernstein", "yodoca", "helix"] {
        let server = Server::start(vec![chat("Done.", &[])]);
        let url = format!("{}/v1", server.url);
        let run = sandbox.run(&["agent", "--profile", profile, "--model", "m", "--base-url", &url, "Do it."]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let request: Value = serde_json::from_str(&server.received()[0].body).unwrap();
        let tools = request["tools"].as_array().unwrap().iter();
        let tools: Vec<String> =
            tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect();
        expect(&tools, &RUNNING, profile);
    }
}

#[test]
fn a_persons_own_list_of_tools_counts_and_the_conflict_is_said() {
    let offer = "tools.offer = [\"read_skill_file\"]\n";
    let sandbox = configured(&[offer, CRITIC].concat());
    for profile in ["standard", "helix"] {
        assert_eq!(in_session(&sandbox, profile, &[]), ["load_skill", "read_skill_file"]);
        for command in [&["session"][..], &["serve", "--stdio"]] {
            let run = sandbox.run_with_input(&[command, &["--profile", profile, "--exec"]].concat(), "");
            assert_eq!(run.code, 2, "{}", run.stderr);
            let message = "models can run nothing of skills: `tools.offer` has neither `call_skill_tool` nor `run_skill_script`";
            assert!(
                run.stderr.contains(message) && run.stderr.contains("leave out --exec"),
                "{}",
                run.stderr
            );
        }
        let reviewing = in_session(&sandbox, profile, &["--agent", "critic"]);
        assert_eq!(reviewing, ["load_skill", "read_skill_file", "review_skill_proposals"]);
    }
    let sandbox = configured(&[offer, "exec.enabled = true\n"].concat());
    let run = sandbox.run_with_input(&["session"], "{\"op\":\"tools\"}\n");
    assert_eq!(names(&answers(&run)[0]["tools"]), ["load_skill", "read_skill_file"]);
    assert!(run.stderr.contains("models can run nothing of skills"), "{}", run.stderr);
}
