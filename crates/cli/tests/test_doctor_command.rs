//! Tests of `rep doctor`.

use serde_json::Value;

use crate::sandbox::{Sandbox, skill};

fn statuses(sandbox: &Sandbox, arguments: &[&str]) -> (i32, Vec<(String, String)>) {
    let run = sandbox.run(&[&["doctor", "--json"], arguments].concat());
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["ok"], run.code == 0);
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let checks = answer["checks"].as_array().unwrap();
    let bad = checks.iter().filter(|check| !matches!(check["status"].as_str(), Some("ok" | "info")));
    (run.code, bad.map(|check| (word(check, "status"), word(check, "message"))).collect())
}

#[test]
fn a_sound_set_up_is_all_right() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(statuses(&sandbox, &[]), (0, vec![]));
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(run.stdout.contains(".agents/skills: 2 skills"), "{}", run.stdout);
    assert!(run.stdout.contains("2 active, 0 shadowed, 0 quarantined"), "{}", run.stdout);
}

#[test]
fn doctor_reports_warnings() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    sandbox.write("repertoire.toml", "roots = [\"nowhere\"]\n");
    sandbox.set("REPERTOIRE_PROFIL", "strict");
    let (code, bad) = statuses(&sandbox, &[]);
    let messages: Vec<&str> = bad.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(code, 0);
    assert!(messages[0].contains("REPERTOIRE_PROFIL"), "{messages:?}");
    assert!(messages[1].contains("nowhere is not there"), "{messages:?}");
    assert!(messages[2].contains("broken is quarantined"), "{messages:?}");
    assert!(messages[3].contains("the name `alpha` is taken"), "{messages:?}");
    assert_eq!(messages.len(), 4, "{messages:?}");
}

#[test]
fn hints_of_doctor_have_the_options_of_the_command_line() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/broken/SKILL.md", "---\nname: broken\n");
    let run = sandbox.run(&["--root", "lib", "--profile", "lenient", "doctor", "--verbose"]);
    let hint = "run `rep --root lib --profile lenient check lib/broken`";
    assert!(run.stdout.contains(hint), "{}", run.stdout);
    let answer = sandbox.json(&["--root", "lib", "--profile", "lenient", "doctor", "--json"]);
    assert!(answer.to_string().contains(hint), "{answer}");
}

#[test]
fn doctor_reports_the_store_without_making_one() {
    let mut sandbox = Sandbox::with_skills();
    let told = |sandbox: &Sandbox| {
        let run = sandbox.run(&["doctor", "--verbose"]);
        let lines = run.stdout.lines().skip_while(|line| !line.contains(" store ")).take(2);
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let usual = "[DIR]/home/.local/state/repertoire/repertoire.db";
    assert_eq!(told(&sandbox)[0], format!("ok    store     {usual}, not created yet"));
    assert!(!sandbox.home().join(".local").try_exists().unwrap());
    sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    let line = &told(&sandbox)[0];
    assert!(
        line.starts_with(&format!("ok    store     {usual}, ")) && !line.ends_with("not created yet"),
        "{line}"
    );
    sandbox.set("XDG_STATE_HOME", sandbox.home().join("state").to_str().unwrap());
    assert_eq!(
        told(&sandbox)[0],
        "ok    store     [DIR]/home/state/repertoire/repertoire.db, not created yet"
    );
    sandbox.write(
        "own/repertoire.db",
        "this is not a database, and longer than its header would be\n".repeat(9),
    );
    sandbox.set("REPERTOIRE_STATE_DIR", "own");
    let lines = told(&sandbox);
    assert!(lines[0].starts_with("warn  store     "), "{lines:?}");
    assert!(lines[0].contains("[DIR]/project/own/repertoire.db"), "{lines:?}");
    assert!(lines[1].contains("set REPERTOIRE_STATE_DIR, or `store.url`"), "{lines:?}");
    sandbox.write("../home/.config/repertoire/config.toml", "store.url = \"elsewhere.db\"\n");
    assert_eq!(told(&sandbox)[0], "ok    store     [DIR]/project/elsewhere.db, not created yet");
}

#[test]
fn doctor_fails_on_errors() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(statuses(&sandbox, &["--root", "nowhere"]).0, 1);
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_eq!(statuses(&sandbox, &["--profile", "strict"]).0, 1);
    let strict = sandbox.run(&["--profile", "strict", "doctor", "--verbose"]).stdout;
    let library: Vec<&str> = strict.lines().filter(|line| line.contains(" library ")).collect();
    assert!(library.len() == 1 && library[0].starts_with("error library"), "{library:?}");
    sandbox.write("repertoire.toml", "x = 1\n");
    let (code, bad) = statuses(&sandbox, &[]);
    assert_eq!((code, bad.len()), (1, 1));
    assert!(bad[0].1.contains("unknown key `x`"), "{bad:?}");
}

#[test]
fn what_does_not_work_is_not_ok() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/gone/SKILL.md",
        "---\nname: gone\ndescription: Reads a file. Use when asked.\nreferences: [none.md]\n---\nx\n",
    );
    sandbox.write(
        "repertoire.toml",
        "[agents.a]\nprompt = \"none.md\"\n[agents.b]\nuses_skills = [\"alhpa\"]\n[agents.c]\n",
    );
    sandbox.write("../home/.config/repertoire/config.toml", "search.embeddings = \"http\"\nsearch.url = \"https://example.com\"\nsearch.model = \"m\"\nsearch.key_env = \"NO_SUCH_KEY\"\n");
    let (_, bad) = statuses(&sandbox, &[]);
    let told: Vec<&str> = bad.iter().map(|(_, message)| message.as_str()).collect();
    for part in ["gone has errors: ", "the agent `a`", "alhpa", "NO_SUCH_KEY"] {
        assert!(told.iter().any(|message| message.contains(part)), "{part} {told:?}");
    }
    let run = sandbox.run(&["doctor", "--verbose"]);
    let wrong = |line: &&str| {
        line.starts_with("ok") && (line.contains("does not work") || line.contains("not there"))
    };
    assert_eq!(run.stdout.lines().find(wrong), None);
}

#[test]
fn a_connection_that_does_not_work_is_a_warning() {
    let mut sandbox = Sandbox::with_skills();
    let client = |sandbox: &Sandbox| {
        let (_, bad) = statuses(sandbox, &[]);
        bad.into_iter().map(|(status, message)| format!("{status}: {message}")).collect::<Vec<_>>().join("\n")
    };
    let cursor = |sandbox: &Sandbox, entry: &str| {
        let text = format!("{{\"mcpServers\": {{\"repertoire\": {entry}}}}}");
        sandbox.write("../home/.cursor/mcp.json", text);
    };
    cursor(&sandbox, r#"{"command": "/nope/rep", "args": ["serve", "--stdio"]}"#);
    let file = "[DIR]/home/.cursor/mcp.json";
    let shown = |sandbox: &Sandbox| client(sandbox).replace(&*sandbox.home().to_string_lossy(), "[DIR]/home");
    assert_eq!(shown(&sandbox), format!("warn: Cursor starts /nope/rep, which is not there ({file})"));
    cursor(&sandbox, r#"{"command": "rep", "args": ["serve", "--stdio"]}"#);
    assert_eq!(shown(&sandbox), "");
    sandbox.set("PATH", "/nowhere");
    assert_eq!(shown(&sandbox), format!("warn: Cursor starts `rep`, which is not in PATH ({file})"));
    let own = env!("CARGO_BIN_EXE_rep");
    for root in [r#""--root", "/gone""#, r#""--root=/gone""#] {
        cursor(&sandbox, &format!(r#"{{"command": "{own}", "args": ["serve", "--stdio", {root}]}}"#));
        let expect = format!("warn: Cursor is offered the skills of /gone, which is not there ({file})");
        assert_eq!(shown(&sandbox), expect);
    }
    for config in [r#""--config", "/gone.toml""#, r#""--config=/gone.toml""#] {
        cursor(&sandbox, &format!(r#"{{"command": "{own}", "args": [{config}, "serve", "--stdio"]}}"#));
        let expect =
            format!("warn: Cursor starts with the configuration /gone.toml, which is not there ({file})");
        assert_eq!(shown(&sandbox), expect);
    }
    for (option, expect) in [
        (r#""--agent", "nobody""#, "starts for the agent `nobody`, which is not configured"),
        (r#""--agent=nobody""#, "starts for the agent `nobody`, which is not configured"),
        (r#""--profile", "stict""#, "starts with the profile `stict`, which does not exist"),
    ] {
        cursor(&sandbox, &format!(r#"{{"command": "{own}", "args": ["serve", "--stdio", {option}]}}"#));
        assert_eq!(shown(&sandbox), format!("warn: Cursor {expect} ({file})"));
    }
    // The agent is looked for in the configuration of the entry.
    sandbox.write("other.toml", "[agents.somebody]\n");
    let options = |agent| format!(r#""--config", "other.toml", "--agent", "{agent}""#);
    for (agent, is_known) in [("somebody", true), ("nobody", false)] {
        let options = options(agent);
        cursor(&sandbox, &format!(r#"{{"command": "{own}", "args": ["serve", "--stdio", {options}]}}"#));
        let told = shown(&sandbox);
        assert_eq!(!told.contains("is not configured"), is_known, "{told}");
    }
    // A project does not make `rep` look at files outside of it.
    let entry = format!(r#"{{"command": "{own}", "args": ["serve", "--stdio", "--root", "/gone"]}}"#);
    sandbox.write(".mcp.json", format!(r#"{{"mcpServers": {{"repertoire": {entry}}}}}"#));
    let expect = "info  client    Claude Code uses /gone, which is outside of the project and not looked at (.mcp.json)";
    let doctor = sandbox.run(&["doctor", "--verbose"]).stdout;
    assert!(doctor.lines().any(|line| line == expect), "{doctor}");
    cursor(&sandbox, &format!(r#"{{"command": "{own}", "args": ["serve", "--stdio"], "disabled": true}}"#));
    assert_eq!(shown(&sandbox), format!("warn: the entry of Cursor is switched off ({file})"));
    // goose has an extension `skills` of its own.
    std::fs::remove_file(sandbox.home().join(".cursor/mcp.json")).unwrap();
    let goose =
        format!("extensions:\n  skills:\n    type: stdio\n    cmd: {own}\n    args: [serve, --stdio]\n");
    sandbox.write("../home/.config/goose/config.yaml", goose);
    assert!(shown(&sandbox).starts_with("warn: goose replaces the entry `skills`"), "{}", shown(&sandbox));
}

#[test]
fn a_configuration_of_a_client_that_cannot_be_parsed_is_a_warning() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.cursor/mcp.json", "\n{bad json");
    let message = "the configuration of Cursor cannot be parsed: expected string for object property \
                   ([DIR]/home/.cursor/mcp.json, line 2)";
    assert_eq!(statuses(&sandbox, &[]), (0, vec![("warn".to_owned(), message.to_owned())]));
}

#[test]
fn a_configured_sandbox_that_does_not_work_here_is_an_error() {
    let sandbox = Sandbox::with_skills();
    let other = if cfg!(target_os = "macos") { "landlock" } else { "seatbelt" };
    let message = format!("`exec.sandbox = \"{other}\"` does not work here, so skills run nothing");
    for (enabled, code, status) in [(true, 1, "error"), (false, 0, "warn")] {
        let text = format!("exec.enabled = {enabled}\nexec.sandbox = \"{other}\"\n");
        sandbox.write("../home/.config/repertoire/config.toml", text);
        let (found, bad) = statuses(&sandbox, &[]);
        assert_eq!((found, bad), (code, vec![(status.to_owned(), message.clone())]));
    }
}

#[test]
fn the_keys_of_a_projects_profile_that_are_not_in_force_are_named() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "profile = \"bernstein\"\n");
    let warned = |sandbox: &Sandbox| -> Vec<String> {
        let bad = statuses(sandbox, &[]).1.into_iter();
        bad.map(|(_, message)| message).filter(|message| message.starts_with("harness")).collect()
    };
    assert_eq!(warned(&sandbox), [""; 0]);
    sandbox.write("repertoire.toml", "profile = \"harness\"\n");
    let message = "harness, chosen by the project, except for load.reload, mcp.result, render.load";
    assert_eq!(warned(&sandbox), [message]);
    sandbox.write("../home/.config/repertoire/config.toml", "profile = \"harness\"\n");
    assert_eq!(warned(&sandbox), [""; 0]);
}

#[test]
fn skills_over_the_soft_limit_are_a_warning() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/large/SKILL.md", skill("large", &"Many words here.\n".repeat(3_000)));
    let (code, bad) = statuses(&sandbox, &[]);
    let [(status, message)] = bad.as_slice() else { panic!("{bad:?}") };
    assert_eq!((code, status.as_str()), (0, "warn"));
    assert!(message.starts_with("large has too many instructions: the body has 1"), "{message}");
    let run = sandbox.run_with_input(&["session"], "");
    assert!(run.stderr.contains("1 skill has more instructions than the 8,000 tokens"), "{}", run.stderr);
}

#[test]
fn an_embedding_server_that_does_not_answer_is_a_warning() {
    let sandbox = Sandbox::with_skills();
    // Nothing listens on a port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "search.embeddings = \"http\"\nsearch.url = \"http://{address}\"\nsearch.model = \"m\"\nsearch.key_env = \"\"\n"
    );
    sandbox.write("../home/.config/repertoire/config.toml", text);
    let (code, bad) = statuses(&sandbox, &[]);
    let [(status, message)] = bad.as_slice() else { panic!("{bad:?}") };
    assert_eq!((code, status.as_str()), (0, "warn"));
    assert!(message.starts_with("skills are found by their words alone: "), "{message}");
}

#[test]
fn a_state_or_cache_directory_that_is_a_file_is_a_warning() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write("file", "");
    let file = sandbox.project().join("file").to_string_lossy().into_owned();
    sandbox.set("XDG_STATE_HOME", &file);
    sandbox.set("XDG_CACHE_HOME", &file);
    let run = sandbox.run(&["doctor", "--verbose"]);
    for topic in ["cache", "index", "store"] {
        let lines = run.stdout.lines().filter(|line| line.split_whitespace().nth(1) == Some(topic));
        let lines: Vec<&str> = lines.collect();
        assert!(matches!(lines[..], [line] if line.starts_with("warn")), "{topic} {}", run.stdout);
    }
}

#[test]
fn a_configured_root_that_is_a_file_is_an_error_everywhere() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("file", "");
    sandbox.write("repertoire.toml", "roots = [\"file\"]\n");
    for arguments in [&["list"][..], &["catalog"], &["show", "alpha"], &["session"], &["check"]] {
        let run = sandbox.run(arguments);
        assert_ne!(run.code, 0, "{arguments:?}");
        let text = [run.stdout, run.stderr].concat();
        assert!(text.contains("not a directory"), "{arguments:?} {text}");
    }
    let (code, bad) = statuses(&sandbox, &[]);
    let message = "file is not a directory that can be read (config:file)".to_owned();
    assert_eq!((code, bad), (1, vec![("error".to_owned(), message)]));
    assert_eq!(sandbox.run(&["--root", ".agents/skills", "list"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_a_link_is_named_without_a_line() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("other.toml", "discovery = true\n");
    std::os::unix::fs::symlink("other.toml", sandbox.project().join("repertoire.toml")).unwrap();
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(
        !run.stdout.contains("to see the line") && run.stdout.contains("repertoire.toml: "),
        "{}",
        run.stdout
    );
}

#[test]
fn errors_of_files_are_found_at_every_size() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/gone/SKILL.md",
        "---\nname: gone\ndescription: Reads a file. Use when asked.\nreferences: [none.md]\n---\nx\n",
    );
    let found = || sandbox.run(&["doctor", "--verbose"]).stdout.contains("run `rep check gone`");
    assert!(found());
    for number in 0..210 {
        let name = format!("s{number}");
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), skill(&name, "x\n"));
    }
    assert!(found());
}

#[test]
fn things_to_do_come_first_and_at_most_five_of_them() {
    let mut sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["doctor"]);
    assert!(run.stdout.starts_with("nothing to do, ") && run.stdout.lines().count() == 1, "{}", run.stdout);
    for name in ["one", "two"] {
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), "---\nname: x\n");
        sandbox.write(&format!("../home/.claude/skills/{name}/SKILL.md"), skill(name, "x\n"));
    }
    for name in ["alpha", "beta"] {
        sandbox.write(&format!("../home/.claude/skills/{name}/SKILL.md"), skill(name, "other\n"));
    }
    sandbox.write("repertoire.toml", "roots = [\"nowhere\"]\n");
    for name in ["REPERTOIRE_PROFIL", "REPERTOIRE_CONFI", "REPERTOIRE_OFF"] {
        sandbox.set(name, "x");
    }
    let run = sandbox.run(&["doctor"]);
    let (checks, rest) = run.stdout.trim_end().rsplit_once('\n').unwrap();
    assert!(
        rest.starts_with("1 more to do, ") && rest.ends_with(": `rep doctor --verbose` shows all"),
        "{rest}"
    );
    insta::assert_snapshot!(checks, @r"
    warn  variable  REPERTOIRE_CONFI is set but means nothing
                    did you mean REPERTOIRE_CONFIG?
    warn  variable  REPERTOIRE_OFF is set but means nothing
                    every variable is listed in https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/configuration.md
    warn  variable  REPERTOIRE_PROFIL is set but means nothing
                    did you mean REPERTOIRE_PROFILE?
    warn  place     nowhere is not there (config:nowhere)
                    correct it in the configuration, or make it
    warn  skill     2 skills are quarantined: one, two
                    run `rep check .agents/skills/one .agents/skills/two`
    ");
    let all = sandbox.run(&["doctor", "--verbose"]);
    assert!(all.stdout.contains("ok    library   4 active"), "{}", all.stdout);
}
