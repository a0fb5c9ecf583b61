//! The clients, one row each.

use serde_json::{Value, json};

use super::row::{Client, Format};

/// The directory of a project or a home with skills for every client.
pub(crate) const CANONICAL: &str = ".agents/skills";

/// Starts a row: what most clients have in common.
const USUAL: Client = Client {
    id: "",
    aliases: &[],
    title: "",
    user: &[],
    windows: &[],
    project: &[],
    signs: &[],
    format: Format::Json,
    table: "mcpServers",
    stdio: |_, command, args| json!({ "command": command, "args": args }),
    http: None,
    is_desktop: false,
    project_skills: &[],
    user_skills: &[],
};

/// Every client that can be named.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        aliases: &["claude"],
        title: "Claude Code",
        user: &["$CLAUDE_FILE/.claude.json"],
        project: &[".mcp.json"],
        signs: &["$CLAUDE", "$CLAUDE_FILE/.claude.json"],
        http: Some(typed_http),
        project_skills: &[".claude/skills"],
        user_skills: &["$CLAUDE/skills"],
        ..USUAL
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        user: &["$SUPPORT/Claude/claude_desktop_config.json"],
        signs: &["$SUPPORT/Claude"],
        is_desktop: true,
        ..USUAL
    },
    Client {
        id: "cursor",
        title: "Cursor",
        user: &["~/.cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        signs: &["~/.cursor"],
        http: Some(|_, url| json!({ "url": url })),
        project_skills: &[".cursor/skills", CANONICAL, ".claude/skills", ".codex/skills"],
        user_skills: &["~/.cursor/skills", "~/.agents/skills", "~/.claude/skills", "~/.codex/skills"],
        ..USUAL
    },
    Client {
        id: "codex",
        title: "Codex",
        user: &["$CODEX/config.toml"],
        project: &[".codex/config.toml"],
        signs: &["$CODEX"],
        format: Format::Toml,
        table: "mcp_servers",
        http: Some(|_, url| json!({ "url": url })),
        project_skills: &[CANONICAL, ".codex/skills"],
        user_skills: &["~/.agents/skills", "$CODEX/skills"],
        ..USUAL
    },
    Client {
        id: "vscode",
        aliases: &["code", "vs-code"],
        title: "VS Code",
        user: &["$SUPPORT/Code/User/mcp.json"],
        project: &[".vscode/mcp.json"],
        signs: &["$SUPPORT/Code/User"],
        table: "servers",
        stdio: |_, command, args| json!({ "type": "stdio", "command": command, "args": args }),
        http: Some(typed_http),
        project_skills: &[".github/skills", CANONICAL, ".claude/skills"],
        user_skills: &["~/.copilot/skills", "~/.agents/skills", "~/.claude/skills"],
        ..USUAL
    },
    Client {
        id: "opencode",
        title: "opencode",
        user: &["$CONFIG/opencode/opencode.json", "$CONFIG/opencode/opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc"],
        signs: &["$CONFIG/opencode"],
        table: "mcp",
        stdio: local_command,
        http: Some(remote),
        project_skills: &[".opencode/skills", CANONICAL, ".claude/skills"],
        user_skills: &["$CONFIG/opencode/skills", "~/.agents/skills", "~/.claude/skills"],
        ..USUAL
    },
    Client {
        id: "goose",
        title: "Goose",
        user: &["$CONFIG/goose/config.yaml"],
        windows: &["$APPDATA/Block/goose/config/config.yaml"],
        signs: &["$CONFIG/goose", "$APPDATA/Block/goose"],
        format: Format::Yaml,
        table: "extensions",
        stdio: |name, command, args| {
            json!({
                "name": name, "type": "stdio", "cmd": command, "args": args, "enabled": true, "envs": {},
                "timeout": 300,
            })
        },
        http: Some(|name, url| {
            json!({
                "name": name, "type": "streamable_http", "uri": url, "enabled": true, "envs": {}, "headers": {},
                "timeout": 300,
            })
        }),
        project_skills: &[".goose/skills", CANONICAL, ".claude/skills"],
        user_skills: &[
            "$CONFIG/goose/skills",
            "~/.agents/skills",
            "~/.claude/skills",
            "$CONFIG/agents/skills",
        ],
        ..USUAL
    },
    Client {
        id: "gemini",
        aliases: &["gemini-cli"],
        title: "Gemini CLI",
        user: &["~/.gemini/settings.json"],
        project: &[".gemini/settings.json"],
        signs: &["~/.gemini"],
        http: Some(|_, url| json!({ "httpUrl": url })),
        project_skills: &[".gemini/skills", CANONICAL],
        user_skills: &["~/.gemini/skills", "~/.agents/skills"],
        ..USUAL
    },
    Client {
        id: "zed",
        title: "Zed",
        user: &["$CONFIG/zed/settings.json"],
        windows: &["$APPDATA/Zed/settings.json"],
        project: &[".zed/settings.json"],
        signs: &["$CONFIG/zed", "$APPDATA/Zed"],
        table: "context_servers",
        stdio: |_, command, args| json!({ "source": "custom", "command": command, "args": args, "env": {} }),
        http: Some(|_, url| json!({ "url": url })),
        project_skills: &[CANONICAL],
        user_skills: &["~/.agents/skills"],
        ..USUAL
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        user: &["~/.codeium/windsurf/mcp_config.json"],
        signs: &["~/.codeium/windsurf"],
        http: Some(server_url),
        project_skills: &[".windsurf/skills", CANONICAL],
        user_skills: &["~/.codeium/windsurf/skills", "~/.agents/skills"],
        ..USUAL
    },
    Client {
        id: "copilot",
        aliases: &["github-copilot", "copilot-cli"],
        title: "GitHub Copilot CLI",
        user: &["~/.copilot/mcp-config.json"],
        signs: &["~/.copilot"],
        stdio: |_, command, args| json!({ "type": "stdio", "command": command, "args": args, "tools": ["*"] }),
        http: Some(|_, url| json!({ "type": "http", "url": url, "tools": ["*"] })),
        project_skills: &[".github/skills", CANONICAL, ".claude/skills"],
        user_skills: &["~/.copilot/skills", "~/.agents/skills"],
        ..USUAL
    },
    Client {
        id: "kiro",
        aliases: &["kiro-cli"],
        title: "Kiro",
        user: &["~/.kiro/settings/mcp.json"],
        project: &[".kiro/settings/mcp.json"],
        signs: &["~/.kiro"],
        http: Some(|_, url| json!({ "url": url })),
        project_skills: &[".kiro/skills"],
        user_skills: &["~/.kiro/skills"],
        ..USUAL
    },
    Client {
        id: "cline",
        title: "Cline",
        user: &["~/.cline/data/settings/cline_mcp_settings.json"],
        signs: &["~/.cline"],
        stdio: |_, command, args| json!({ "command": command, "args": args, "disabled": false }),
        http: Some(|_, url| json!({ "type": "streamableHttp", "url": url, "disabled": false })),
        project_skills: &[".cline/skills", CANONICAL],
        user_skills: &["~/.cline/skills", "~/.agents/skills"],
        ..USUAL
    },
    Client {
        id: "antigravity",
        title: "Antigravity",
        user: &["~/.gemini/config/mcp_config.json"],
        signs: &["~/.gemini/config", "~/.gemini/antigravity"],
        http: Some(server_url),
        project_skills: &[CANONICAL],
        user_skills: &["~/.gemini/antigravity/skills"],
        ..USUAL
    },
    Client {
        id: "kilo",
        aliases: &["kilo-code"],
        title: "Kilo Code",
        user: &["$CONFIG/kilo/kilo.jsonc", "$CONFIG/kilo/kilo.json"],
        project: &[".kilo/kilo.jsonc", ".kilo/kilo.json", "kilo.jsonc", "kilo.json"],
        signs: &["$CONFIG/kilo", "~/.kilo"],
        table: "mcp",
        stdio: local_command,
        http: Some(remote),
        project_skills: &[".kilo/skills", CANONICAL],
        user_skills: &["~/.kilo/skills"],
        ..USUAL
    },
    Client {
        id: "pi",
        title: "pi",
        user: &["~/.pi/agent/mcp.json"],
        signs: &["~/.pi/agent"],
        project_skills: &[".pi/skills"],
        user_skills: &["~/.pi/agent/skills"],
        ..USUAL
    },
    Client {
        id: "kimi",
        aliases: &["kimi-code"],
        title: "Kimi Code",
        user: &["$KIMI/mcp.json"],
        project: &[".kimi-code/mcp.json"],
        signs: &["$KIMI"],
        stdio: |_, command, args| json!({ "transport": "stdio", "command": command, "args": args }),
        http: Some(|_, url| json!({ "transport": "http", "url": url })),
        project_skills: &[CANONICAL],
        user_skills: &["~/.agents/skills"],
        ..USUAL
    },
    Client {
        id: "grok",
        aliases: &["grok-build"],
        title: "Grok Build",
        user: &["$GROK/config.toml"],
        project: &[".grok/config.toml"],
        signs: &["$GROK"],
        format: Format::Toml,
        table: "mcp_servers",
        http: Some(|_, url| json!({ "url": url })),
        project_skills: &[".grok/skills"],
        user_skills: &["$GROK/skills"],
        ..USUAL
    },
];

fn typed_http(_: &str, url: &str) -> Value {
    json!({ "type": "http", "url": url })
}

fn server_url(_: &str, url: &str) -> Value {
    json!({ "serverUrl": url })
}

fn remote(_: &str, url: &str) -> Value {
    json!({ "type": "remote", "url": url, "enabled": true })
}

fn local_command(_: &str, command: &str, args: &[String]) -> Value {
    let words: Vec<&str> = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
    json!({ "type": "local", "command": words, "enabled": true })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use repertoire_exec::protect::names;

    use super::*;

    #[test]
    fn tools_cannot_write_client_configuration_of_a_project() {
        for client in CLIENTS {
            for path in client.project.iter().chain(client.project_skills) {
                assert!(names::is_protected(Path::new(path)), "{}: {path}", client.id);
            }
        }
    }
}
