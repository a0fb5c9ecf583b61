//! Tests of `rep proposal`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{ALPHA, Run, Sandbox, assert_run, http_request, skill};
use crate::test_history_command::undated;

const DIFF: &str = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-Do alpha.\n+Do alpha carefully.\n";

/// Runs `rep proposal new alpha` with the diff on standard input.
fn propose(sandbox: &Sandbox, diff: &str) -> Run {
    let arguments = ["proposal", "new", "alpha", "--why", "it is careless", "--evidence", "two failures"];
    sandbox.run_with_input(&arguments, diff)
}

fn replacing(old: &str, new: &str) -> String {
    format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-{old}\n+{new}\n")
}

fn state(sandbox: &Sandbox, id: u64) -> Value {
    sandbox.json(&["proposal", "show", &id.to_string(), "--json"])["state"].clone()
}

#[test]
fn y66_y67_a_proposal_is_listed_shown_and_written_as_markdown() {
    let sandbox = Sandbox::with_author();
    assert_run!(sandbox.run(&["proposal", "list"]), @r"
    exit 0
    --- stdout
    --- stderr
    no proposals wait for a decision
    ");
    assert_run!(propose(&sandbox, DIFF), @r"
    exit 0
    --- stdout
    proposal 1
    --- stderr
    hint: `rep proposal show 1` shows it, `rep proposal approve 1` applies it
    ");
    assert_run!(undated(sandbox.run(&["proposal", "list"])), @r"
    exit 0
    --- stdout
    ID  SKILL  KIND    STATE    AUTHOR    TIME                      JUSTIFICATION
     1  alpha  update  pending  user:ann  YYYY-MM-DDTHH:MM:SS.mmmZ  it is careless
    --- stderr
    ");
    assert_run!(undated(sandbox.run(&["proposal", "show", "1"])), @r"
    exit 0
    --- stdout
    proposal 1: update of alpha, pending
    by user:ann at YYYY-MM-DDTHH:MM:SS.mmmZ
    in .agents/skills/alpha

    why: it is careless
    evidence: two failures

    diff --git a/SKILL.md b/SKILL.md
    --- a/SKILL.md
    +++ b/SKILL.md
    @@ -4,4 +4,4 @@
     ---
     # Alpha

    -Do alpha.
    +Do alpha carefully.

    instructions: 27 tokens before, 29 after
    check: nothing to report
    --- stderr
    ");
    let listed = sandbox.json(&["proposal", "list", "--json"]);
    let proposal = listed["proposals"][0].as_object().unwrap();
    for key in ["id", "skill", "state", "author", "time", "base", "result"] {
        assert!(!proposal[key].is_null(), "{key}");
    }
    assert_eq!(
        (&proposal["id"], &proposal["skill"], &proposal["state"], &proposal["author"]),
        (&json!(1), &json!("alpha"), &json!("pending"), &json!("user:ann"))
    );
    let shown = sandbox.json(&["proposal", "show", "1", "--json"]);
    assert_eq!((&shown["changed_since"], &shown["check"]), (&json!(false), &json!([])));
    assert!(shown["tokens"]["after"].as_u64() > shown["tokens"]["before"].as_u64());
    let directory = sandbox.home().join(".local/state/repertoire/proposals");
    let files: Vec<_> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(files.len() == 1 && name.starts_with("alpha-20") && name.ends_with("Z.md"), "{files:?}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let sections: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(sections, ["## Diff", "## Check", "## Justification", "## Evidence"]);
    assert!(text.contains("+Do alpha carefully.") && text.contains("\n> it is careless\n"), "{text}");
    assert!(sandbox.read(ALPHA).contains("Do alpha.\n"), "a proposal changes nothing");
}

#[test]
fn a_diff_is_read_from_a_file() {
    let sandbox = Sandbox::with_author();
    sandbox.write("change.diff", DIFF);
    let proposal =
        sandbox.json(&["proposal", "new", "alpha", "--diff", "change.diff", "--why", "w", "--json"]);
    assert_eq!((&proposal["id"], &proposal["kind"]), (&json!(1), &json!("update")));
    let from_input = ["proposal", "new", "alpha", "--diff", "-", "--why", "w"];
    assert_eq!(sandbox.run_with_input(&from_input, &replacing("Do alpha.", "Do it.")).stdout, "proposal 2\n");
    let missing = sandbox.run(&["proposal", "new", "alpha", "--diff", "none.diff", "--why", "w"]);
    assert!(missing.code == 1 && missing.stderr.contains("none.diff"), "{}", missing.stderr);
}

#[test]
fn bad_changes_are_refused() {
    let sandbox = Sandbox::with_author();
    sandbox.write("../home/.config/repertoire/config.toml", "[proposals]\nlocked = [\"beta\"]\n");
    let refused = |diff: &str| {
        let run = propose(&sandbox, diff);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        run.stderr
    };
    let mut told = String::new();
    told += &refused("");
    told += &refused(&replacing("Do gamma.", "x"));
    told += &refused(&replacing("Do alpha.", "Do alpha."));
    told += &refused("--- /dev/null\n+++ b/../x.md\n@@ -0,0 +1 @@\n+x\n");
    told += &refused("--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+x\n");
    told += &refused("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -2 +2 @@\n-name: alpha\n+name: gamma\n");
    told += &sandbox.run_with_input(&["proposal", "new", "alpha", "--why", " "], DIFF).stderr;
    told += &sandbox.run_with_input(&["proposal", "new", "beta", "--why", "w"], DIFF).stderr;
    told += &sandbox.run_with_input(&["proposal", "new", "gamma", "--why", "w"], DIFF).stderr;
    assert_eq!(propose(&sandbox, DIFF).code, 0);
    told += &refused(DIFF);
    for words in ["Do it.", "Do that.", "Do more.", "Do less."] {
        assert_eq!(propose(&sandbox, &replacing("Do alpha.", words)).code, 0);
    }
    told += &refused(&replacing("Do alpha.", "Do nothing."));
    insta::assert_snapshot!(told, @r"
    error: the diff has no hunks; write it as `diff -u` does
    error: the diff does not match SKILL.md (error applying hunk #1); read the file again
    error: the diff changes nothing
    error: `b/../x.md` is not a file of a skill: the path leads upwards (`..`)
    error: .env is a hidden file, which no skill may bring along
    error: the result is called gamma; the name of a skill does not change
    error: a justification is missing: say why the change is needed
    error: the skill beta is locked; its owner changes it
    hint: `proposals.locked` of your user configuration names it
    error: there is no skill `gamma`
    hint: there are: alpha, beta
    hint: run `rep explain gamma` to see why it is missing
    error: the same change waits for review as proposal 1
    error: too many proposals for this skill wait for review
    hint: `rep proposal list --all` lists the proposals that wait for a decision
    ");
}

#[test]
fn proposals_that_are_turned_off_are_refused() {
    let sandbox = Sandbox::with_author();
    sandbox.write("../home/.config/repertoire/config.toml", "[proposals]\nmode = \"off\"\n");
    assert_run!(propose(&sandbox, DIFF), @r"
    exit 1
    --- stdout
    --- stderr
    error: proposals are turned off
    hint: `proposals.mode` of your user configuration turns them on
    ");
    let run = sandbox.run(&["call", "propose_skill", "{}"]);
    assert!(run.code == 1 && run.stdout.contains("There is no tool `propose_skill`"), "{}", run.transcript());
}

#[test]
fn a_new_skill_is_no_skill_until_it_is_approved() {
    let sandbox = Sandbox::with_author();
    sandbox.write("drafts/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    sandbox.write("drafts/gamma/scripts/go.sh", "echo\n");
    let run = sandbox.run(&[
        "proposal",
        "new",
        "gamma",
        "--new",
        "drafts/gamma",
        "--why",
        "there is no such skill",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(sandbox.json(&["list", "--json"])["skills"].as_array().unwrap().len(), 2);
    assert_run!(sandbox.run(&["proposal", "approve", "1", "--yes"]), @r"
    exit 0
    --- stdout
    gamma is at version 1 now, in .agents/skills/gamma
    --- stderr
    ");
    assert_eq!(sandbox.read(".agents/skills/gamma/SKILL.md"), skill("gamma", "# Gamma\n"));
    assert_eq!(sandbox.read(".agents/skills/gamma/scripts/go.sh"), "echo\n");
    let versions = sandbox.json(&["history", "gamma", "--json"]);
    assert_eq!(versions["versions"].as_array().unwrap().len(), 1);
    assert_eq!(versions["versions"][0]["origin"], "proposal");
    let again = sandbox.run(&["proposal", "new", "gamma", "--new", "drafts/gamma", "--why", "w"]);
    assert_run!(again, @r"
    exit 1
    --- stdout
    --- stderr
    error: there is a skill gamma; propose a change of it instead
    ");
    sandbox.write("drafts/delta/SKILL.md", "---\nname: delta\n");
    assert_run!(sandbox.run(&["proposal", "new", "delta", "--new", "drafts/delta", "--why", "w"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: the result is not a valid skill: the frontmatter is never closed
    ");
    assert_run!(sandbox.run(&["proposal", "new", "delta", "--new", "drafts", "--why", "w"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/drafts holds no skill
    ");
    assert_run!(sandbox.run(&["proposal", "new", "Bad Name", "--new", "drafts/delta", "--why", "w"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `Bad Name` is not a name of a skill
    ");
}

#[test]
fn approve_writes_the_files_and_records_a_version() {
    let sandbox = Sandbox::with_author();
    propose(&sandbox, DIFF);
    assert_run!(sandbox.run(&["proposal", "approve", "1"]), @r"
    exit 1
    --- stdout
    diff --git a/SKILL.md b/SKILL.md
    --- a/SKILL.md
    +++ b/SKILL.md
    @@ -4,4 +4,4 @@
     ---
     # Alpha

    -Do alpha.
    +Do alpha carefully.
    --- stderr
    error: nothing was approved: there is no terminal to ask on
    hint: a person has to run this command in a terminal
    ");
    assert!(sandbox.read(ALPHA).contains("Do alpha.\n"));
    assert_run!(sandbox.run(&["proposal", "approve", "1", "--yes"]), @r"
    exit 0
    --- stdout
    alpha is at version 2 now
    --- stderr
    ");
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo alpha carefully.\n"));
    let versions = sandbox.json(&["history", "alpha", "--json"]);
    assert_eq!(versions["versions"][0]["origin"], "proposal");
    assert_eq!(versions["versions"][0]["author"], "user:ann");
    assert_run!(sandbox.run(&["proposal", "approve", "1", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: proposal 1 is applied
    ");
    assert_run!(sandbox.run(&["proposal", "approve", "8", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no proposal 8
    hint: `rep proposal list --all` lists all of them
    ");
    assert_eq!(sandbox.json(&["proposal", "list", "--json"])["proposals"], json!([]));
    let all = sandbox.json(&["proposal", "list", "--all", "--json"]);
    assert_eq!(all["proposals"][0]["state"], "applied");
    assert_eq!(all["proposals"][0]["decision"]["reviewer"], "user:ann");
}

#[test]
fn of_several_approvals_at_once_one_wins() {
    let sandbox = Sandbox::with_author();
    propose(&sandbox, DIFF);
    let approve = || {
        let mut command = sandbox.command(&["proposal", "approve", "1", "--yes"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(|_| approve()).collect();
    let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    for output in outputs.iter().filter(|output| !output.status.success()) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("error: proposal 1 is applied"), "{stderr}");
    }
    assert_eq!(outputs.iter().filter(|output| output.status.success()).count(), 1);
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo alpha carefully.\n"));
    let versions = sandbox.json(&["history", "alpha", "--json"]);
    assert_eq!(versions["versions"].as_array().unwrap().len(), 2);
    assert_eq!(state(&sandbox, 1), "applied");
}

#[test]
fn an_approved_change_can_be_rolled_back() {
    let sandbox = Sandbox::with_author();
    propose(&sandbox, DIFF);
    assert_eq!(sandbox.run(&["proposal", "approve", "1", "--yes"]).code, 0);
    let run = sandbox.run(&["history", "alpha", "--restore", "1", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# Alpha\n\nDo alpha.\n"));
    assert_eq!(state(&sandbox, 1), "rolled_back");
}

#[test]
fn reject_keeps_the_reason_and_refuses_the_same_change() {
    let sandbox = Sandbox::with_author();
    propose(&sandbox, DIFF);
    assert_eq!(sandbox.run(&["proposal", "reject", "1"]).code, 2);
    assert_run!(sandbox.run(&["proposal", "reject", "1", "--why", " "]), @r"
    exit 2
    --- stdout
    --- stderr
    error: --why is empty: say why the proposal is rejected
    ");
    assert_run!(sandbox.run(&["proposal", "reject", "1", "--why", "too vague"]), @r"
    exit 0
    --- stdout
    proposal 1 is rejected
    --- stderr
    ");
    assert_eq!(sandbox.json(&["proposal", "show", "1", "--json"])["decision"]["reason"], "too vague");
    assert_run!(propose(&sandbox, DIFF), @r"
    exit 1
    --- stdout
    --- stderr
    error: the same change was rejected as proposal 1; propose another one
    ");
    assert_run!(sandbox.run(&["proposal", "approve", "1", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: proposal 1 is rejected
    ");
}

#[test]
fn a_stale_proposal_is_rebased_or_its_conflict_is_shown() {
    let sandbox = Sandbox::with_author();
    propose(&sandbox, DIFF);
    sandbox.write(ALPHA, skill("alpha", "# All of alpha\n\nDo alpha.\n"));
    assert_run!(sandbox.run(&["proposal", "approve", "1", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: alpha changed since the proposal was made, which is stale now
    hint: `rep proposal rebase ID` repeats the change on the skill as it is now
    ");
    assert_eq!(state(&sandbox, 1), "stale");
    assert_run!(sandbox.run(&["proposal", "rebase", "1"]), @r"
    exit 0
    --- stdout
    proposal 1 is replaced by proposal 2
    --- stderr
    ");
    assert_eq!((state(&sandbox, 1), state(&sandbox, 2)), (json!("superseded"), json!("pending")));
    sandbox.write(ALPHA, skill("alpha", "# All of alpha\n\nDo alpha quickly.\n"));
    assert_run!(sandbox.run(&["proposal", "rebase", "2"]), @r"
    exit 1
    --- stdout
    --- stderr
    conflict in SKILL.md
      ---
      name: alpha
      description: Does alpha things well. Use when alpha is asked for.
      ---
      # All of alpha
      
      <<<<<<< ours
      Do alpha quickly.
      ||||||| original
      Do alpha.
      =======
      Do alpha carefully.
      >>>>>>> theirs
    error: the skill and the proposal changed the same lines of SKILL.md
    hint: reject it, or propose the change anew
    ");
    assert_eq!(state(&sandbox, 2), "pending");
    sandbox.write(ALPHA, skill("alpha", "# All of alpha\n\nDo alpha.\n"));
    assert_eq!(sandbox.run(&["proposal", "approve", "2", "--yes"]).code, 0);
    assert_eq!(sandbox.read(ALPHA), skill("alpha", "# All of alpha\n\nDo alpha carefully.\n"));
}

#[test]
fn control_characters_of_a_proposal_are_escaped() {
    let sandbox = Sandbox::with_author();
    let diff = replacing("Do alpha.", "Do \u{1b}[31malpha.");
    let run = sandbox.run_with_input(&["proposal", "new", "alpha", "--why", "a\u{1b}[2Jb"], &diff);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for arguments in [&["proposal", "list"][..], &["proposal", "show", "1"]] {
        let run = sandbox.run(arguments);
        assert!(run.code == 0 && !run.stdout.contains('\u{1b}'), "{}", run.stdout);
    }
}

#[test]
fn y68_a_command_is_told_of_a_new_proposal() {
    let sandbox = Sandbox::with_author();
    sandbox.write(
        "../home/.config/repertoire/config.toml",
        "[proposals]\nnotify_command = [\"/bin/sh\", \"-c\", \"echo noise; exec /bin/cat > \\\"$0\\\"\", \"told.json\"]\n",
    );
    let run = propose(&sandbox, DIFF);
    assert_eq!((run.code, run.stdout.as_str()), (0, "proposal 1\n"), "{}", run.stderr);
    let told: Value = serde_json::from_str(&sandbox.read("told.json")).unwrap();
    assert_eq!(
        (&told["id"], &told["skill"], &told["state"]),
        (&json!(1), &json!("alpha"), &json!("pending"))
    );
    assert!(told["diff"].as_str().unwrap().contains("+Do alpha carefully."));
    // Agents' proposals, too.
    let arguments =
        json!({"skill_id": "alpha", "diff": replacing("Do alpha.", "Do it."), "justification": "w"});
    let run = sandbox.run(&["call", "propose_skill_update", &arguments.to_string()]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    let told: Value = serde_json::from_str(&sandbox.read("told.json")).unwrap();
    assert_eq!(told["id"], 2);
}

#[test]
fn y68_a_web_hook_gets_a_signed_proposal_and_is_tried_again() {
    let mut sandbox = Sandbox::with_author();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    sandbox.write(
        "../home/.config/repertoire/config.toml",
        format!("[proposals]\nnotify_url = \"http://{address}/hook\"\nnotify_secret_env = \"HOOK_SECRET\"\n"),
    );
    let unsigned = propose(&sandbox, &replacing("Do alpha.", "Do it."));
    assert_eq!(unsigned.code, 0, "{}", unsigned.stderr);
    assert!(unsigned.stderr.contains("HOOK_SECRET"), "{}", unsigned.stderr);
    sandbox.set("HOOK_SECRET", "Jefe");
    let server = std::thread::spawn(move || {
        let answers = ["HTTP/1.1 500 Internal Server Error", "HTTP/1.1 204 No Content"];
        answers.map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            let request = http_request(&mut stream);
            write!(stream, "{answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            request
        })
    });
    let run = propose(&sandbox, DIFF);
    assert_eq!((run.code, run.stderr.contains("not told")), (0, false), "{}", run.stderr);
    let [(_, first), (head, body)] = server.join().unwrap();
    assert_eq!(first, body);
    let proposal: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(proposal["id"], 2);
    let hashed = |byte: u8, message: &[u8]| {
        let mut block = [byte; 64].to_vec();
        b"Jefe".iter().zip(&mut block).for_each(|(key, padded)| *padded ^= key);
        block.extend_from_slice(message);
        repertoire_model::Digest::of(&block)
    };
    let signature = hashed(0x5c, hashed(0x36, &body).as_bytes()).to_hex();
    assert!(head.starts_with("post /hook "), "{head}");
    assert!(head.contains(&format!("x-repertoire-signature: sha256={signature}")), "{head}");
}

#[test]
fn show_tells_which_queries_find_another_skill_after_the_change() {
    let sandbox = Sandbox::with_author();
    let with_description = |name: &str, description: &str| {
        format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it.\n")
    };
    let (alpha, beta) =
        ("Fills in forms. Use when a form is to be filled.", "Deploys services to Kubernetes.");
    sandbox.write(ALPHA, with_description("alpha", alpha));
    sandbox.write(".agents/skills/beta/SKILL.md", with_description("beta", beta));
    let change = |new: &str| {
        let diff = format!(
            "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -3 +3 @@\n-description: {alpha}\n+description: {new}\n"
        );
        sandbox.write("change.diff", diff);
        let proposal =
            sandbox.json(&["proposal", "new", "alpha", "--diff", "change.diff", "--why", "w", "--json"]);
        proposal["id"].to_string()
    };
    let greedy = change(
        "Deploys services to Kubernetes clusters. Use when services are to be deployed to Kubernetes.",
    );
    let show = |id: &str| sandbox.json(&["proposal", "show", id, "--json"])["triggers"].clone();
    assert_eq!(show(&greedy), Value::Null, "there are no queries");
    let text = sandbox.run(&["proposal", "show", &greedy]).stdout;
    assert!(!text.contains("triggers:"), "{text}");

    let queries = json!([
        {"query": "services are to be deployed to kubernetes clusters", "should_trigger": true},
        {"query": "fill in this form", "should_trigger": false},
    ]);
    sandbox.write(".agents/skills/beta/eval_queries.json", queries.to_string());
    let effect = show(&greedy);
    assert_eq!((&effect["before"], &effect["after"]["right"]), (&json!({"right": 2, "of": 2}), &json!(1)));
    let changed = &effect["changed"][0];
    assert_eq!(
        (&changed["skill"], &changed["first"], &changed["worse"]),
        (&json!("beta"), &json!("alpha"), &json!(true))
    );
    assert_eq!((&changed["rank_before"], &changed["rank_after"]), (&json!(1), &json!(2)));
    let text = sandbox.run(&["proposal", "show", &greedy]).stdout;
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("triggers: ")).collect();
    assert_eq!(
        lines,
        [
            "triggers: 2 of 2 queries right before, 1 after",
            "triggers: worse: beta: \"services are to be deployed to kubernetes clusters\": rank 1 before, rank 2 after, alpha is first",
        ]
    );
    let harmless = change("Fills in forms of all kinds. Use when a form is to be filled.");
    let effect = show(&harmless);
    assert_eq!((&effect["before"], &effect["changed"]), (&effect["after"], &json!([])));
    sandbox.json(&["proposal", "reject", &harmless, "--why", "no", "--json"]);
    assert_eq!(show(&harmless), Value::Null, "it is decided");
}

#[test]
fn the_place_of_a_new_skill_is_shown() {
    let sandbox = Sandbox::with_author();
    sandbox.write("drafts/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    sandbox.write("library/delta/SKILL.md", skill("delta", "# Delta\n"));
    let propose = ["proposal", "new", "gamma", "--new", "drafts/gamma", "--why", "there is no such skill"];
    assert_eq!(sandbox.run(&[&["--root", "library"], &propose[..]].concat()).code, 0);
    let shown = sandbox.run(&["proposal", "show", "1"]).stdout;
    assert!(shown.contains("\nit will be written to library/gamma\n"), "{shown}");
    assert_run!(sandbox.run(&["--root", "library", "proposal", "approve", "1", "--yes"]), @r"
    exit 0
    --- stdout
    gamma is at version 1 now, in library/gamma
    --- stderr
    ");
    assert_eq!(sandbox.json(&["--root", "library", "list", "--json"])["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn a_new_skill_where_no_skills_are_read_from_has_a_warning() {
    let sandbox = Sandbox::with_author();
    sandbox.write("../home/.config/repertoire/config.toml", "[proposals]\ndirectory = \"elsewhere\"\n");
    sandbox.write("drafts/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    let propose = ["proposal", "new", "gamma", "--new", "drafts/gamma", "--why", "there is no such skill"];
    assert_eq!(sandbox.run(&propose).code, 0);
    let warning = "warning: skills are not read from [DIR]/project/elsewhere here; ";
    let shown = sandbox.run(&["proposal", "show", "1"]);
    assert!(shown.stderr.starts_with(warning), "{}", shown.stderr);
    let approved = sandbox.run(&["proposal", "approve", "1", "--yes"]);
    assert_eq!(approved.stdout, "gamma is at version 1 now, in elsewhere/gamma\n");
    assert!(approved.stderr.starts_with(warning), "{}", approved.stderr);
}

#[test]
fn proposals_of_other_libraries_are_counted_and_not_decided() {
    let sandbox = Sandbox::with_author();
    sandbox.write("../other/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nDo alpha.\n"));
    sandbox.write("drafts/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    sandbox.write("change.diff", DIFF);
    let there = ["--root", "../other/skills"];
    let update = ["proposal", "new", "alpha", "--diff", "change.diff", "--why", "w"];
    let create = ["proposal", "new", "gamma", "--new", "drafts/gamma", "--why", "w"];
    assert_eq!(sandbox.run(&[&there[..], &update].concat()).code, 0);
    assert_run!(sandbox.run(&[&there[..], &create].concat()), @r"
    exit 0
    --- stdout
    proposal 2
    --- stderr
    hint: `rep --root ../other/skills proposal show 2` shows it, `rep --root ../other/skills proposal approve 2` applies it
    ");
    assert_run!(sandbox.run(&["proposal", "list"]), @r"
    exit 0
    --- stdout
    --- stderr
    no proposals wait for a decision
    hint: 2 proposals about skills of other libraries: `rep proposal list --all`
    ");
    assert_eq!(propose(&sandbox, DIFF).code, 0);
    // The width of the column depends on the temporary directory.
    let all = sandbox.run(&["proposal", "list", "--all"]).stdout;
    let words: Vec<Vec<&str>> = all.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0][6..], ["DIRECTORY", "JUSTIFICATION"]);
    let directories: Vec<&str> = words[1..].iter().map(|row| row[6]).collect();
    let expected =
        ["[DIR]/project/.agents/skills/alpha", "[DIR]/other/skills/gamma", "[DIR]/other/skills/alpha"];
    assert_eq!(directories, expected);
    let listed = sandbox.json(&["proposal", "list", "--json"]);
    assert_eq!((listed["proposals"].as_array().unwrap().len(), &listed["elsewhere"]), (1, &json!(2)));
    assert!(sandbox.run(&["proposal", "show", "1"]).stdout.contains("\nin [DIR]/other/skills/alpha\n"));
    for command in [&["approve", "1", "--yes"][..], &["reject", "1", "--why", "w"], &["rebase", "1"]] {
        let run = sandbox.run(&[&["proposal"], command].concat());
        let expected = "error: proposal 1 is about [DIR]/other/skills/alpha, which is not in this library\n\
                        hint: run the command in the project of that skill, or with `--root [DIR]/other/skills`\n";
        assert_eq!((run.code, &*run.stderr), (1, expected));
    }
    assert_eq!(sandbox.run(&["proposal", "approve", "2", "--yes"]).code, 1);
    for id in ["1", "2"] {
        let run = sandbox.run(&[&there[..], &["proposal", "approve", id, "--yes"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    assert!(sandbox.read("../other/skills/alpha/SKILL.md").contains("Do alpha carefully."));
    assert_eq!(sandbox.read("../other/skills/gamma/SKILL.md"), skill("gamma", "# Gamma\n"));
    assert!(sandbox.read(ALPHA).contains("Do alpha.\n"));
    let create = ["proposal", "new", "delta", "--new", "drafts/delta", "--why", "w"];
    sandbox.write("drafts/delta/SKILL.md", skill("delta", "# Delta\n"));
    assert_eq!(sandbox.run(&[&there[..], &create].concat()).code, 0);
    std::fs::remove_dir_all(sandbox.project().join("../other")).unwrap();
    let run = sandbox.run(&["proposal", "approve", "4", "--yes"]);
    let hint = "hint: that library is gone; reject it with `rep proposal reject 4 --why TEXT`\n";
    assert!(run.code == 1 && run.stderr.ends_with(hint), "{}", run.stderr);
    let run = sandbox.run(&["proposal", "reject", "4", "--why", "the library is gone"]);
    assert_eq!((run.code, &*run.stdout), (0, "proposal 4 is rejected\n"), "{}", run.stderr);
}

#[test]
fn a_stale_proposal_has_a_hint_and_a_person_without_a_name_a_number() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(propose(&sandbox, DIFF).code, 0);
    let author = sandbox.json(&["proposal", "list", "--json"])["proposals"][0]["author"].clone();
    assert_eq!(author, format!("user:{}", rustix::process::getuid().as_raw()));
    sandbox.write(ALPHA, skill("alpha", "# Alpha\n\nDo alpha.\nNow.\n"));
    sandbox.run(&["proposal", "list"]);
    assert_run!(sandbox.run(&["proposal", "approve", "1", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: proposal 1 is stale
    hint: `rep proposal rebase 1` repeats the change on the skill as it is now
    ");
}
