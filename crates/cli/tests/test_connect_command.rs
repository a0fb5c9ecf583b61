//! Tests of `rep connect`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox, assert_run, skill};

/// Returns a sandbox in which `rep` is found.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let directory = Path::new(env!("CARGO_BIN_EXE_rep")).parent().unwrap();
    sandbox.set("PATH", directory.to_str().unwrap());
    sandbox
}

/// Returns every file below the home and the project, with its text.
fn files(sandbox: &Sandbox) -> String {
    fn walk(base: &Path, directory: &Path, found: &mut Vec<String>) {
        let mut entries: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(base, &path, found);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.push(format!("=== {}\n{text}", path.strip_prefix(base).unwrap().display()));
            }
        }
    }
    let mut found = Vec::new();
    for (name, base) in [("home", sandbox.home()), ("project", sandbox.project())] {
        let before = found.len();
        walk(&base, &base, &mut found);
        for file in &mut found[before..] {
            *file = file.replacen("=== ", &format!("=== {name}/"), 1);
        }
    }
    found.retain(|file| !file.contains("/.cache/") && !file.starts_with("=== home/.local/state/"));
    found.concat().replace(env!("CARGO_BIN_EXE_rep"), "[REP]")
}

const ALL: [&str; 25] = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "codex",
    "vscode",
    "opencode",
    "goose",
    "gemini",
    "zed",
    "windsurf",
    "copilot",
    "kiro",
    "cline",
    "antigravity",
    "kilo",
    "pi",
    "kimi",
    "grok",
    "qwen-code",
    "crush",
    "continue",
    "droid",
    "amp",
    "openclaw",
    "augment",
];

fn connect(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    sandbox.run(&[&["connect", "--yes"], arguments].concat())
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn every_client_gets_the_entry_that_it_reads() {
    let sandbox = sandbox();
    let run = connect(&sandbox, &ALL);
    assert_eq!(run.code, 0, "{}", run.stderr);
    insta::assert_snapshot!(files(&sandbox), @r#"
    === home/.augment/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.claude.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.cline/data/settings/cline_mcp_settings.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"],
          "disabled": false
        }
      }
    }
    === home/.codeium/windsurf/mcp_config.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.codex/config.toml
    [mcp_servers.repertoire]
    command = "rep"
    args = ["serve", "--stdio"]
    === home/.config/Claude/claude_desktop_config.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "[REP]",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.config/Code/User/mcp.json
    {
      "servers": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.config/amp/settings.json
    {
      "amp.mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.config/crush/crush.json
    {
      "mcp": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.config/goose/config.yaml
    extensions:
      repertoire:
        name: repertoire
        type: stdio
        cmd: rep
        args:
        - serve
        - --stdio
        enabled: true
        envs: {}
        timeout: 300
    === home/.config/kilo/kilo.json
    {
      "mcp": {
        "repertoire": {
          "type": "local",
          "command": ["rep", "serve", "--stdio"],
          "enabled": true
        }
      }
    }
    === home/.config/opencode/opencode.jsonc
    {
      "mcp": {
        "repertoire": {
          "type": "local",
          "command": ["rep", "serve", "--stdio"],
          "enabled": true
        }
      }
    }
    === home/.config/zed/settings.json
    {
      "context_servers": {
        "repertoire": {
          "source": "custom",
          "command": "rep",
          "args": ["serve", "--stdio"],
          "env": {}
        }
      }
    }
    === home/.continue/mcpServers/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.copilot/mcp-config.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"],
          "tools": ["*"]
        }
      }
    }
    === home/.cursor/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.factory/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.gemini/config/mcp_config.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.gemini/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.grok/config.toml
    [mcp_servers.repertoire]
    command = "rep"
    args = ["serve", "--stdio"]
    === home/.kimi-code/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "transport": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.kiro/settings/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.openclaw/openclaw.json
    {
      "mcp": {
        "servers": {
          "repertoire": {
            "command": "rep",
            "args": ["serve", "--stdio"]
          }
        }
      }
    }
    === home/.pi/agent/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === home/.qwen/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    "#);
    let again = connect(&sandbox, &ALL);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(again.stdout.matches("is already connected").count(), ALL.len(), "{}", again.stdout);
    let undone = sandbox.run(&["undo", "--yes"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert!(!files(&sandbox).contains("--stdio"), "{}", files(&sandbox));
}

#[test]
fn projects_have_files_of_their_own() {
    let sandbox = sandbox();
    let clients = [
        "claude-code",
        "cursor",
        "codex",
        "vscode",
        "opencode",
        "gemini",
        "zed",
        "kiro",
        "kilo",
        "kimi",
        "grok",
        "qwen-code",
        "crush",
        "continue",
        "droid",
        "amp",
    ];
    let run = sandbox.run_in(".", &[&["connect", "--yes", "--project"], &clients[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr.matches("Codex reads .codex/config.toml only in projects that you trust").count(),
        1,
        "{}",
        run.stderr
    );
    insta::assert_snapshot!(files(&sandbox), @r#"
    === project/.amp/settings.json
    {
      "amp.mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.codex/config.toml
    [mcp_servers.repertoire]
    command = "rep"
    args = ["serve", "--stdio"]
    === project/.continue/mcpServers/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.crush.json
    {
      "mcp": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.cursor/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.factory/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.gemini/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.grok/config.toml
    [mcp_servers.repertoire]
    command = "rep"
    args = ["serve", "--stdio"]
    === project/.kimi-code/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "transport": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.kiro/settings/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.qwen/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.vscode/mcp.json
    {
      "servers": {
        "repertoire": {
          "type": "stdio",
          "command": "rep",
          "args": ["serve", "--stdio"]
        }
      }
    }
    === project/.zed/settings.json
    {
      "context_servers": {
        "repertoire": {
          "source": "custom",
          "command": "rep",
          "args": ["serve", "--stdio"],
          "env": {}
        }
      }
    }
    === project/kilo.json
    {
      "mcp": {
        "repertoire": {
          "type": "local",
          "command": ["rep", "serve", "--stdio"],
          "enabled": true
        }
      }
    }
    === project/opencode.jsonc
    {
      "mcp": {
        "repertoire": {
          "type": "local",
          "command": ["rep", "serve", "--stdio"],
          "enabled": true
        }
      }
    }
    "#);
    assert_run!(connect(&sandbox, &["--project", "goose"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: Goose has no configuration of a project
    hint: register it for all projects of the user
    hint: these have one: claude-code, cursor, codex, vscode, opencode, gemini, zed, kiro, kilo, kimi, grok, qwen-code, crush, continue, droid, amp
    "#);
}

#[test]
fn missing_and_misspelt_arguments_are_errors() {
    let sandbox = sandbox();
    sandbox.write("own.toml", "[agents.reviewer]\n[agents.writer]\n");
    assert_run!(sandbox.run(&["connect", "--config", "own.toml", "--agent", "reviewr", "cursor"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there is no agent `reviewr`
    hint: did you mean `reviewer`?
    hint: there are: reviewer, writer
    "#);
    assert_eq!(files(&sandbox), "=== project/own.toml\n[agents.reviewer]\n[agents.writer]\n");
    let run = sandbox.run(&["connect", "--dry-run", "--http", "http://127.0.0.1:7437", "cursor"]);
    assert!(run.stdout.contains("\"http://127.0.0.1:7437/mcp\""), "{}", run.stdout);
    let run = sandbox.run(&["connect", "--dry-run", "--http", "http://127.0.0.1:7437/sse", "cursor"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("ends with /mcp"), "{}", run.stderr);
}

#[test]
fn the_token_of_a_server_is_a_reference_in_the_way_of_each_client() {
    let sandbox = sandbox();
    let server = ["--http", "https://skills.example.com", "--token-env", "TEAM_TOKEN"];
    let clients = [
        "claude-code",
        "cursor",
        "codex",
        "vscode",
        "opencode",
        "goose",
        "gemini",
        "windsurf",
        "kiro",
        "kilo",
    ];
    let shown = sandbox.run(&[&["connect", "--dry-run"], &server[..], &clients].concat());
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let lines = shown.stdout.lines().filter(|line| line.contains("TEAM_TOKEN")).map(str::trim);
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    "Authorization": "Bearer ${TEAM_TOKEN}"
    "Authorization": "Bearer ${env:TEAM_TOKEN}"
    bearer_token_env_var = "TEAM_TOKEN"
    "Authorization": "Bearer ${env:TEAM_TOKEN}"
    "Authorization": "Bearer {env:TEAM_TOKEN}"
    headers: {"Authorization":"Bearer ${TEAM_TOKEN}"}
    - TEAM_TOKEN
    "Authorization": "Bearer ${TEAM_TOKEN}"
    "Authorization": "Bearer ${env:TEAM_TOKEN}"
    "Authorization": "Bearer ${TEAM_TOKEN}"
    "Authorization": "Bearer {env:TEAM_TOKEN}"
    "#);
    // The reference is there once the entry is made, and when it is made again.
    for _ in 0..2 {
        assert_eq!(sandbox.run(&[&["connect", "--yes", "codex"], &server[..]].concat()).code, 0);
        let text = sandbox.read("../home/.codex/config.toml");
        assert_eq!(text.matches("bearer_token_env_var = \"TEAM_TOKEN\"").count(), 1, "{text}");
    }
    // What the user wrote stays, and a new variable takes the place of the old one.
    sandbox.write(
        "../home/.cursor/mcp.json",
        r#"{"mcpServers": {"repertoire": {"url": "https://skills.example.com/mcp", "headers": {"Authorization": "Bearer ${env:OLD}", "X-Team": "a"}}}}"#,
    );
    assert_eq!(sandbox.run(&[&["connect", "--yes", "cursor"], &server[..]].concat()).code, 0);
    let text = sandbox.read("../home/.cursor/mcp.json");
    assert!(
        text.contains("Bearer ${env:TEAM_TOKEN}") && text.contains("X-Team") && !text.contains("OLD"),
        "{text}"
    );
    assert_eq!(sandbox.run(&[&["connect", "--yes", "codex"], &server[..2]].concat()).code, 0);
    assert!(sandbox.read("../home/.codex/config.toml").contains("TEAM_TOKEN"));
    let run = sandbox.run(&[&["connect", "--yes", "cursor", "zed"], &server[..]].concat());
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("Zed reads no environment variable in the header of a server"),
        "{}",
        run.stderr
    );
    assert!(sandbox.read("../home/.cursor/mcp.json").contains("Bearer ${env:TEAM_TOKEN}"));
    let secret = sandbox.run(&["connect", "cursor", "--http", "https://x.example", "--token-env", "rep-123"]);
    assert!(secret.code == 2 && secret.stderr.contains("not the token"), "{}", secret.stderr);
}

#[test]
fn a_second_name_for_the_same_server_is_warned_of() {
    let sandbox = sandbox();
    assert_eq!(sandbox.run(&["connect", "--yes", "cursor"]).code, 0);
    let run = sandbox.run(&["connect", "--yes", "--name", "mine", "cursor"]);
    assert_eq!(run.code, 0);
    let warning = "Cursor has the server as `repertoire` already and will be offered every skill twice; \
                   `rep undo --list` has the number that takes it back";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
}

#[test]
fn the_options_of_the_server_are_passed_on() {
    let sandbox = sandbox();
    sandbox.write("own/x/SKILL.md", skill("x", "x\n"));
    sandbox.write("own.toml", "[agents.reviewer]\n");
    let arguments =
        ["--root", "own", "--config", "own.toml", "--profile", "strict", "--agent", "reviewer", "cursor"];
    assert_run!(sandbox.run(&[&["connect", "--dry-run"], &arguments[..]].concat()), @r#"
    exit 0
    --- stdout
    # Cursor: [DIR]/home/.cursor/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "command": "rep",
          "args": ["serve", "--stdio", "--root", "[DIR]/project/own", "--config", "[DIR]/project/own.toml", "--profile", "strict", "--agent", "reviewer"]
        }
      }
    }
    --- stderr
    "#);
    // Others share a project's file, so what lies in the project stays relative.
    assert_run!(sandbox.run_in("own", &["connect", "--dry-run", "--project", "--root", ".", "codex"]), @r#"
    exit 0
    --- stdout
    # Codex: [DIR]/project/.codex/config.toml
    [mcp_servers.repertoire]
    command = "rep"
    args = ["serve", "--stdio", "--root", "own"]
    --- stderr
    warning: Codex reads .codex/config.toml only in projects that you trust; start `codex` there once and say that you do
    "#);
    assert_run!(sandbox.run(&["connect", "--dry-run", "--name", "team", "--command", "/opt/rep", "goose"]), @r#"
    exit 0
    --- stdout
    # Goose: [DIR]/home/.config/goose/config.yaml
    extensions:
      team:
        name: team
        type: stdio
        cmd: /opt/rep
        args:
        - serve
        - --stdio
        enabled: true
        envs: {}
        timeout: 300
    --- stderr
    "#);
    assert_run!(sandbox.run(&["connect", "--dry-run", "--name", "a.b", "goose"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'a.b' for '--name <NAME>': a name is at most 64 letters, digits, - and _, the first a letter or digit

    For more information, try '--help'.
    "#);
}

#[test]
fn a_program_that_is_not_on_the_path_is_named_by_its_path() {
    let mut sandbox = Sandbox::new();
    let entry = |sandbox: &Sandbox| {
        let answer = sandbox.json(&["connect", "--dry-run", "--json", "cursor"]);
        answer["command"].as_str().unwrap().to_owned()
    };
    assert_eq!(entry(&sandbox), env!("CARGO_BIN_EXE_rep"));
    sandbox.write("other/rep", "another program");
    sandbox.set("PATH", sandbox.project().join("other").to_str().unwrap());
    assert_eq!(entry(&sandbox), env!("CARGO_BIN_EXE_rep"));
}

#[test]
fn connect_writes_nothing_without_consent() {
    let sandbox = sandbox();
    sandbox.write("../home/.cursor/mcp.json", "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n");
    let before = files(&sandbox);
    assert_run!(sandbox.run(&["connect", "cursor"]), @r#"
    exit 1
    --- stdout
    --- [DIR]/home/.cursor/mcp.json
    +++ [DIR]/home/.cursor/mcp.json
    @@ -1,6 +1,10 @@
     {
       // mine
       "mcpServers": {
    -    "a": {}
    +    "a": {},
    +    "repertoire": {
    +      "command": "rep",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
    --- stderr
    error: nothing was changed; 1 file would be changed
    hint: `--yes` does it without asking
    "#);
    assert_eq!(files(&sandbox), before);
    let run = sandbox.run(&["connect", "cursor", "--json"]);
    assert_eq!(run.code, 1);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["clients"][0]["state"], "planned");
    assert_eq!(files(&sandbox), before);
    assert_run!(connect(&sandbox, &["cursor"]), @r#"
    exit 0
    --- stdout
    --- [DIR]/home/.cursor/mcp.json
    +++ [DIR]/home/.cursor/mcp.json
    @@ -1,6 +1,10 @@
     {
       // mine
       "mcpServers": {
    -    "a": {}
    +    "a": {},
    +    "repertoire": {
    +      "command": "rep",
    +      "args": ["serve", "--stdio"]
    +    }
       }
     }
    connected Cursor ([DIR]/home/.cursor/mcp.json)
    --- stderr
    hint: restart the client to see the skills
    "#);
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert_eq!(files(&sandbox), before);
}

#[test]
fn foreign_and_broken_entries_are_left_alone() {
    let sandbox = sandbox();
    sandbox.write(
        "../home/.cursor/mcp.json",
        "{\"mcpServers\": {\"repertoire\": {\"command\": \"npx\", \"args\": [\"serve\"]}}}",
    );
    sandbox.write("../home/.codex/config.toml", "model = \"x\"\nbroken\n");
    sandbox.write("../home/.config/goose/config.yaml", "extensions: {a: {enabled: true}}\n");
    let before = files(&sandbox);
    // One that fails does not keep the others from it.
    let run = connect(&sandbox, &["cursor", "codex", "goose", "kiro"]);
    assert_run!(run, @r#"
    exit 1
    --- stdout
    --- /dev/null
    +++ [DIR]/home/.kiro/settings/mcp.json
    @@ -0,0 +1,8 @@
    +{
    +  "mcpServers": {
    +    "repertoire": {
    +      "command": "rep",
    +      "args": ["serve", "--stdio"]
    +    }
    +  }
    +}
    connected Kiro ([DIR]/home/.kiro/settings/mcp.json)
    --- stderr
    error: [DIR]/home/.cursor/mcp.json has a server `repertoire` that is not Repertoire's
    hint: register the server under another name
    error: [DIR]/home/.codex/config.toml is left alone, line 2: key with no value, expected `=`
    hint: repair it, or add by hand what a dry run of `rep connect codex` shows
    error: [DIR]/home/.config/goose/config.yaml is left alone, line 1: this is written in a way that is not edited for you
    hint: repair it, or add by hand what a dry run of `rep connect goose` shows
    hint: restart the client to see the skills
    "#);
    let after = files(&sandbox);
    assert!(after.contains(&before.replace("=== project", "")), "{after}");
    assert_eq!(sandbox.undo("rep connect cursor").code, 1);
    assert_eq!(connect(&sandbox, &["--name", "rep", "cursor"]).code, 0);
    let text = sandbox.read("../home/.cursor/mcp.json");
    assert_eq!(
        text,
        "{\"mcpServers\": {\n    \"repertoire\": {\"command\": \"npx\", \"args\": [\"serve\"]},\n    \"rep\": {\n      \"command\": \"rep\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }}"
    );
}

#[test]
fn all_means_those_that_are_there() {
    let sandbox = sandbox();
    assert_run!(connect(&sandbox, &["--all"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: none of the clients that are known was found
    hint: name one: claude-code, claude-desktop, cursor, codex, vscode, opencode, goose, gemini, zed, windsurf, copilot, kiro, cline, antigravity, kilo, pi, kimi, grok, qwen-code, crush, continue, droid, amp, openclaw, augment
    "#);
    sandbox.write("../home/.codex/x", "");
    sandbox.write("../home/.claude/x", "");
    let answer = sandbox.json(&["connect", "--all", "--dry-run", "--json"]);
    let clients = answer["clients"].as_array().unwrap();
    let ids: Vec<&str> = clients.iter().map(|client| client["client"].as_str().unwrap()).collect();
    assert_eq!(ids, ["claude-code", "codex"]);
    // Claude Code may have written nothing but its file.
    fs::remove_dir_all(sandbox.home().join(".claude")).unwrap();
    sandbox.write("../home/.claude.json", "{}");
    let answer = sandbox.json(&["connect", "--all", "--dry-run", "--json"]);
    assert_eq!(answer["clients"][0]["client"], "claude-code");
    assert!(sandbox.run(&["connect", "cursr"]).stderr.contains("a similar value exists: 'cursor'"));
}

#[test]
fn a_server_that_runs_already() {
    let sandbox = sandbox();
    let clients: Vec<&str> =
        ALL.into_iter().filter(|id| !matches!(*id, "claude-desktop" | "pi" | "augment")).collect();
    let http = ["--http", "http://127.0.0.1:7437/mcp"];
    let run = sandbox.run(&[&["connect", "--dry-run"], &http[..], &clients].concat());
    insta::assert_snapshot!(run.transcript(), @r#"
    exit 0
    --- stdout
    # Claude Code: [DIR]/home/.claude.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "http",
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Cursor: [DIR]/home/.cursor/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Codex: [DIR]/home/.codex/config.toml
    [mcp_servers.repertoire]
    url = "http://127.0.0.1:7437/mcp"
    # VS Code: [DIR]/home/.config/Code/User/mcp.json
    {
      "servers": {
        "repertoire": {
          "type": "http",
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # opencode: [DIR]/home/.config/opencode/opencode.jsonc
    {
      "mcp": {
        "repertoire": {
          "type": "remote",
          "url": "http://127.0.0.1:7437/mcp",
          "enabled": true
        }
      }
    }
    # Goose: [DIR]/home/.config/goose/config.yaml
    extensions:
      repertoire:
        name: repertoire
        type: streamable_http
        uri: http://127.0.0.1:7437/mcp
        enabled: true
        envs: {}
        headers: {}
        timeout: 300
    # Gemini CLI: [DIR]/home/.gemini/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "httpUrl": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Zed: [DIR]/home/.config/zed/settings.json
    {
      "context_servers": {
        "repertoire": {
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Windsurf: [DIR]/home/.codeium/windsurf/mcp_config.json
    {
      "mcpServers": {
        "repertoire": {
          "serverUrl": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # GitHub Copilot CLI: [DIR]/home/.copilot/mcp-config.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "http",
          "url": "http://127.0.0.1:7437/mcp",
          "tools": ["*"]
        }
      }
    }
    # Kiro: [DIR]/home/.kiro/settings/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Cline: [DIR]/home/.cline/data/settings/cline_mcp_settings.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "streamableHttp",
          "url": "http://127.0.0.1:7437/mcp",
          "disabled": false
        }
      }
    }
    # Antigravity: [DIR]/home/.gemini/config/mcp_config.json
    {
      "mcpServers": {
        "repertoire": {
          "serverUrl": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Kilo Code: [DIR]/home/.config/kilo/kilo.json
    {
      "mcp": {
        "repertoire": {
          "type": "remote",
          "url": "http://127.0.0.1:7437/mcp",
          "enabled": true
        }
      }
    }
    # Kimi Code: [DIR]/home/.kimi-code/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "transport": "http",
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Grok Build: [DIR]/home/.grok/config.toml
    [mcp_servers.repertoire]
    url = "http://127.0.0.1:7437/mcp"
    # Qwen Code: [DIR]/home/.qwen/settings.json
    {
      "mcpServers": {
        "repertoire": {
          "httpUrl": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Crush: [DIR]/home/.config/crush/crush.json
    {
      "mcp": {
        "repertoire": {
          "type": "http",
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Continue: [DIR]/home/.continue/mcpServers/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "http",
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Droid: [DIR]/home/.factory/mcp.json
    {
      "mcpServers": {
        "repertoire": {
          "type": "http",
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # Amp: [DIR]/home/.config/amp/settings.json
    {
      "amp.mcpServers": {
        "repertoire": {
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    # OpenClaw: [DIR]/home/.openclaw/openclaw.json
    {
      "mcp": {
        "servers": {
          "repertoire": {
            "url": "http://127.0.0.1:7437/mcp",
            "transport": "streamable-http"
          }
        }
      }
    }
    --- stderr
    "#);
    assert_run!(connect(&sandbox, &[&http[..], &["pi"]].concat()), @r#"
    exit 1
    --- stdout
    --- stderr
    error: HTTP is not supported for pi
    hint: without an address the client starts the server itself
    hint: HTTP is supported for: claude-code, cursor, codex, vscode, opencode, goose, gemini, zed, windsurf, copilot, kiro, cline, antigravity, kilo, kimi, grok, qwen-code, crush, continue, droid, amp, openclaw
    "#);
    // From one to the other: what one way needs and the other does not is gone.
    assert_eq!(connect(&sandbox, &["codex", "goose", "zed"]).code, 0);
    assert_eq!(connect(&sandbox, &[&http[..], &["codex", "goose", "zed"]].concat()).code, 0);
    insta::assert_snapshot!(files(&sandbox), @r#"
    === home/.codex/config.toml
    [mcp_servers.repertoire]
    url = "http://127.0.0.1:7437/mcp"
    === home/.config/goose/config.yaml
    extensions:
      repertoire:
        name: repertoire
        type: streamable_http
        enabled: true
        envs: {}
        timeout: 300
        uri: http://127.0.0.1:7437/mcp
        headers: {}
    === home/.config/zed/settings.json
    {
      "context_servers": {
        "repertoire": {
          "url": "http://127.0.0.1:7437/mcp"
        }
      }
    }
    "#);
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(!files(&sandbox).contains("7437"));
    // What answers elsewhere is not ours to tell, but for the record.
    let remote = ["--http", "https://example.com/mcp", "codex"];
    assert_eq!(connect(&sandbox, &remote).code, 0);
    let path = "../home/.codex/config.toml";
    sandbox.write(path, sandbox.read(path) + "model = \"x\"\n");
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(!files(&sandbox).contains("example.com"));
}

#[test]
fn an_entry_in_several_files_is_removed_from_all() {
    let sandbox = sandbox();
    let entry =
        "{\"mcp\": {\"repertoire\": {\"type\": \"local\", \"command\": [\"rep\", \"serve\"]}, \"a\": {}}}\n";
    for path in ["opencode/opencode.json", "opencode/opencode.jsonc", "kilo/kilo.json", "kilo/kilo.jsonc"] {
        sandbox.write(&format!("../home/.config/{path}"), entry);
    }
    for client in ["opencode", "opencode", "kilo", "kilo"] {
        assert_eq!(sandbox.undo(&format!("rep connect {client}")).code, 0);
    }
    assert!(!files(&sandbox).contains("serve"), "{}", files(&sandbox));
    assert_eq!(sandbox.undo("rep connect").code, 1, "nothing is left");
}

#[cfg(unix)]
#[test]
fn a_program_that_is_called_otherwise_is_known_again() {
    let sandbox = Sandbox::with_skills();
    let program = sandbox.home().join("skillsd");
    if fs::hard_link(env!("CARGO_BIN_EXE_rep"), &program).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_rep"), &program).unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.env_clear().env("HOME", sandbox.home()).current_dir(sandbox.project()).args(arguments);
        sandbox.finish(command)
    };
    assert_eq!(run(&["connect", "--yes", "claude-code"]).code, 0);
    assert!(sandbox.read("../home/.claude.json").contains("/skillsd\""));
    let doctor = run(&["doctor", "--verbose"]);
    assert!(doctor.stdout.contains("Claude Code is connected"), "{}", doctor.stdout);
    let link = run(&["link", "--yes", "claude-code"]);
    assert!(link.stderr.contains("is connected to the MCP server"), "{}", link.stderr);
    assert_eq!(run(&["undo", "--yes"]).code, 0);
    assert!(!sandbox.home().join(".claude.json").exists());
}

#[test]
fn keys_that_users_add_to_the_entry_stay() {
    let sandbox = sandbox();
    let entry = "{\"source\": \"custom\", \"command\": \"/old/rep\", \"args\": [\"serve\"], \"env\": {\"A\": \"1\"}, \"x\": 1}";
    sandbox.write(
        "../home/.config/zed/settings.json",
        format!("{{\"context_servers\": {{\"repertoire\": {entry}}}}}"),
    );
    assert_eq!(connect(&sandbox, &["zed"]).code, 0);
    let expect = entry.replace("/old/rep", "rep").replace("[\"serve\"]", "[\"serve\", \"--stdio\"]");
    let text = sandbox.read("../home/.config/zed/settings.json");
    assert_eq!(text, format!("{{\"context_servers\": {{\"repertoire\": {expect}}}}}"));
    assert!(connect(&sandbox, &["zed"]).stdout.contains("Zed is already connected"));
}

#[test]
fn a_client_that_reads_skills_by_itself_can_be_connected() {
    let sandbox = sandbox();
    sandbox.write(".claude/skills/alpha/SKILL.md", skill("alpha", "x\n"));
    let run = connect(&sandbox, &["claude-code"]);
    assert_eq!((run.code, run.stderr.contains("warning")), (0, false), "{}", run.stderr);
    let run = sandbox.run(&["doctor", "--verbose"]);
    assert!(run.stdout.contains("ok    client    Claude Code is connected"), "{}", run.stdout);
}

#[test]
fn without_a_client_the_clients_of_this_machine_are_shown() {
    let sandbox = sandbox();
    assert!(sandbox.run(&["connect"]).stdout.contains("no sign of a client"));
    sandbox.write(".agents/skills/alpha/SKILL.md", skill("alpha", "x\n"));
    sandbox.write("../home/.claude/x", "");
    sandbox.write("../home/.cursor/x", "");
    sandbox.write("../home/.config/goose/x", "");
    assert_eq!(connect(&sandbox, &["goose"]).code, 0);
    assert_run!(sandbox.run(&["connect"]), @r#"
    exit 0
    --- stdout
    Claude Code: 1 not at all; run `rep connect claude-code`
    Cursor: 1 from files
    Goose: 1 from files
    --- stderr
    "#);
    let answer = sandbox.json(&["connect", "--json"]);
    assert_eq!(answer["clients"][0]["skills"][0]["way"], "none");
    // Nothing is left to do then.
    assert_eq!(connect(&sandbox, &["--all"]).code, 0);
    assert!(!sandbox.run(&["connect"]).stdout.contains("rep connect"));
    assert!(!sandbox.run(&["doctor", "--verbose"]).stdout.contains("warn  client"));
    let run = sandbox.run(&["connect", "--yes"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn a_project_cannot_change_the_entry_of_a_client() {
    let sandbox = sandbox();
    sandbox.write("repertoire.toml", "roots = [\"own\"]\nprofile = \"strict\"\n");
    sandbox.write("own/rep", "#!/bin/sh\n");
    let answer = sandbox.json(&["connect", "--dry-run", "--json", "cursor"]);
    assert_eq!(
        answer["clients"][0]["entry"],
        serde_json::json!({"command": "rep", "args": ["serve", "--stdio"]})
    );
    // Not even a broken one matters.
    sandbox.write("repertoire.toml", "broken");
    assert_eq!(connect(&sandbox, &["cursor"]).code, 0);
}

#[cfg(unix)]
#[test]
fn links_are_written_through_where_they_may_be() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let sandbox = sandbox();
    sandbox.write("../home/dotfiles/mcp.json", "{}\n");
    let file = sandbox.home().join("dotfiles/mcp.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    symlink("../dotfiles/mcp.json", sandbox.home().join(".cursor/mcp.json")).unwrap();
    assert_eq!(connect(&sandbox, &["cursor"]).code, 0);
    assert!(sandbox.home().join(".cursor/mcp.json").is_symlink());
    assert!(sandbox.read("../home/dotfiles/mcp.json").contains("serve"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let left: Vec<_> = fs::read_dir(sandbox.home().join("dotfiles")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left");
    // A link that comes with a project may not lead out of it.
    sandbox.write("../home/secret.json", "{}\n");
    symlink("../home/secret.json", sandbox.project().join(".mcp.json")).unwrap();
    fs::create_dir_all(sandbox.project().join(".cursor")).unwrap();
    symlink("nowhere", sandbox.project().join(".cursor/mcp.json")).unwrap();
    assert_run!(connect(&sandbox, &["--project", "claude-code", "cursor"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/.mcp.json leads out of the project
    hint: it is left alone; replace the link by a file
    error: [DIR]/project/.cursor/mcp.json leads out of the project
    hint: it is left alone; replace the link by a file
    "#);
    assert_eq!(sandbox.read("../home/secret.json"), "{}\n");
    symlink("/nowhere/at/all", sandbox.home().join(".claude.json")).unwrap();
    assert_run!(connect(&sandbox, &["claude-code"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/home/.claude.json is a link that leads nowhere
      because: No such file or directory (os error 2)
    hint: make the file that it leads to, or remove the link
    "#);
}

#[cfg(unix)]
#[test]
fn a_file_that_two_clients_have_through_a_directory_is_written_once() {
    let sandbox = sandbox();
    let home = sandbox.home();
    fs::create_dir_all(home.join(".cursor")).unwrap();
    fs::create_dir_all(home.join(".pi")).unwrap();
    std::os::unix::fs::symlink("../.cursor", home.join(".pi/agent")).unwrap();
    let run = connect(&sandbox, &["cursor", "pi"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(sandbox.read("../home/.cursor/mcp.json").contains("serve"));
}

/// goose has an extension `skills` of its own, which replaces a server of that name.
#[test]
fn twenty_concurrent_runs_on_one_file_all_succeed() {
    let sandbox = sandbox();
    let runs: Vec<_> = (0..20)
        .map(|number| {
            let name = format!("server-{number}");
            let mut command = sandbox.command(&["connect", "cursor", "--name", &name, "--yes"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let written: Value = serde_json::from_str(&sandbox.read("../home/.cursor/mcp.json")).unwrap();
    assert_eq!(written["mcpServers"].as_object().unwrap().len(), 20);
}
