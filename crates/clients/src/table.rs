//! The clients, one row each.

use serde_json::{Value, json};

use crate::client::TokenReference::{Header, Key, ListedHeader};
use crate::client::{Client, Format};
use crate::{hook, listing};

/// Starts a row: what most clients have in common.
const USUAL: Client = Client {
    id: "",
    aliases: &[],
    user: &[],
    windows: &[],
    project: &[],
    format: Format::Json,
    table: "mcpServers",
    stdio: |_, command, args| json!({ "command": command, "args": args }),
    http: None,
    token: None,
    is_desktop: false,
    listing: None,
    hooks: None,
};

/// Every client that can be named.
pub const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        aliases: &["claude"],
        user: &["$CLAUDE_FILE/.claude.json"],
        project: &[".mcp.json"],
        http: Some(typed_http),
        token: Some(Header("${", "}")),
        listing: Some(&listing::CLAUDE_CODE),
        hooks: Some(&hook::CLAUDE_CODE),
        ..USUAL
    },
    Client {
        id: "claude-desktop",
        user: &["$SUPPORT/Claude/claude_desktop_config.json"],
        is_desktop: true,
        ..USUAL
    },
    Client {
        id: "cursor",
        user: &["~/.cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        http: Some(|_, url| json!({ "url": url })),
        token: Some(Header("${env:", "}")),
        listing: Some(&listing::CURSOR),
        ..USUAL
    },
    Client {
        id: "codex",
        user: &["$CODEX/config.toml"],
        project: &[".codex/config.toml"],
        format: Format::Toml,
        table: "mcp_servers",
        http: Some(|_, url| json!({ "url": url })),
        token: Some(Key("bearer_token_env_var")),
        listing: Some(&listing::CODEX),
        hooks: Some(&hook::CODEX),
        ..USUAL
    },
    Client {
        id: "vscode",
        aliases: &["code", "vs-code", "visual-studio-code"],
        user: &["$SUPPORT/Code/User/mcp.json"],
        project: &[".vscode/mcp.json"],
        table: "servers",
        stdio: typed_stdio,
        http: Some(typed_http),
        token: Some(Header("${env:", "}")),
        ..USUAL
    },
    Client {
        id: "opencode",
        user: &["$CONFIG/opencode/opencode.json", "$CONFIG/opencode/opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc"],
        table: "mcp",
        stdio: local_command,
        http: Some(remote),
        token: Some(Header("{env:", "}")),
        listing: Some(&listing::OPENCODE),
        ..USUAL
    },
    Client {
        id: "goose",
        user: &["$CONFIG/goose/config.yaml"],
        windows: &["$APPDATA/Block/goose/config/config.yaml"],
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
        token: Some(ListedHeader("${", "}")),
        listing: Some(&listing::GOOSE),
        ..USUAL
    },
    Client {
        id: "gemini",
        aliases: &["gemini-cli"],
        user: &["~/.gemini/settings.json"],
        project: &[".gemini/settings.json"],
        http: Some(|_, url| json!({ "httpUrl": url })),
        token: Some(Header("${", "}")),
        listing: Some(&listing::GEMINI),
        hooks: Some(&hook::GEMINI),
        ..USUAL
    },
    Client {
        id: "zed",
        user: &["$CONFIG/zed/settings.json"],
        windows: &["$APPDATA/Zed/settings.json"],
        project: &[".zed/settings.json"],
        table: "context_servers",
        stdio: |_, command, args| json!({ "source": "custom", "command": command, "args": args, "env": {} }),
        http: Some(|_, url| json!({ "url": url })),
        ..USUAL
    },
    Client {
        id: "windsurf",
        user: &["~/.codeium/windsurf/mcp_config.json"],
        http: Some(server_url),
        token: Some(Header("${env:", "}")),
        ..USUAL
    },
    Client {
        id: "copilot",
        aliases: &["github-copilot", "copilot-cli"],
        user: &["~/.copilot/mcp-config.json"],
        stdio: |_, command, args| json!({ "type": "stdio", "command": command, "args": args, "tools": ["*"] }),
        http: Some(|_, url| json!({ "type": "http", "url": url, "tools": ["*"] })),
        listing: Some(&listing::COPILOT),
        hooks: Some(&hook::COPILOT),
        ..USUAL
    },
    Client {
        id: "kiro",
        aliases: &["kiro-cli"],
        user: &["~/.kiro/settings/mcp.json"],
        project: &[".kiro/settings/mcp.json"],
        http: Some(|_, url| json!({ "url": url })),
        token: Some(Header("${", "}")),
        ..USUAL
    },
    Client {
        id: "cline",
        user: &["~/.cline/data/settings/cline_mcp_settings.json"],
        stdio: |_, command, args| json!({ "command": command, "args": args, "disabled": false }),
        http: Some(|_, url| json!({ "type": "streamableHttp", "url": url, "disabled": false })),
        ..USUAL
    },
    Client {
        id: "antigravity",
        user: &["~/.gemini/config/mcp_config.json"],
        http: Some(server_url),
        ..USUAL
    },
    Client {
        id: "kilo",
        aliases: &["kilo-code"],
        user: &["$CONFIG/kilo/kilo.jsonc", "$CONFIG/kilo/kilo.json"],
        project: &[".kilo/kilo.jsonc", ".kilo/kilo.json", "kilo.jsonc", "kilo.json"],
        table: "mcp",
        stdio: local_command,
        http: Some(remote),
        token: Some(Header("{env:", "}")),
        ..USUAL
    },
    Client { id: "pi", user: &["~/.pi/agent/mcp.json"], ..USUAL },
    Client {
        id: "kimi",
        aliases: &["kimi-code"],
        user: &["$KIMI/mcp.json"],
        project: &[".kimi-code/mcp.json"],
        stdio: |_, command, args| json!({ "transport": "stdio", "command": command, "args": args }),
        http: Some(|_, url| json!({ "transport": "http", "url": url })),
        ..USUAL
    },
    Client {
        id: "grok",
        aliases: &["grok-build"],
        user: &["$GROK/config.toml"],
        project: &[".grok/config.toml"],
        format: Format::Toml,
        table: "mcp_servers",
        http: Some(|_, url| json!({ "url": url })),
        ..USUAL
    },
    Client {
        id: "qwen-code",
        aliases: &["qwen"],
        user: &["~/.qwen/settings.json"],
        project: &[".qwen/settings.json"],
        http: Some(|_, url| json!({ "httpUrl": url })),
        token: Some(Header("${", "}")),
        ..USUAL
    },
    Client {
        id: "crush",
        user: &["$CONFIG/crush/crush.json"],
        project: &["crush.json", ".crush.json"],
        table: "mcp",
        stdio: typed_stdio,
        http: Some(typed_http),
        token: Some(Header("$", "")),
        ..USUAL
    },
    Client {
        id: "continue",
        user: &["~/.continue/mcpServers/mcp.json"],
        project: &[".continue/mcpServers/mcp.json"],
        http: Some(typed_http),
        ..USUAL
    },
    Client {
        id: "droid",
        aliases: &["factory"],
        user: &["~/.factory/mcp.json"],
        project: &[".factory/mcp.json"],
        stdio: typed_stdio,
        http: Some(typed_http),
        ..USUAL
    },
    Client {
        id: "amp",
        user: &["$CONFIG/amp/settings.jsonc", "$CONFIG/amp/settings.json"],
        project: &[".amp/settings.jsonc", ".amp/settings.json"],
        table: "amp.mcpServers",
        http: Some(|_, url| json!({ "url": url })),
        ..USUAL
    },
    Client {
        id: "openclaw",
        user: &["~/.openclaw/openclaw.json"],
        table: "mcp/servers",
        http: Some(|_, url| json!({ "url": url, "transport": "streamable-http" })),
        token: Some(Header("${", "}")),
        ..USUAL
    },
    Client { id: "augment", aliases: &["auggie"], user: &["~/.augment/settings.json"], ..USUAL },
];

impl Client {
    /// Returns the client called `word`, by its name or one of the others.
    pub fn named(word: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == word || client.aliases.contains(&word))
    }

    /// Returns the client that introduces itself to servers as `name`, as in `Zed` or `codex-mcp-client`: its
    /// name on the command line or another, perhaps with a word that clients are known to add.
    pub fn introduced_as(name: &str) -> Option<&'static Self> {
        let name = name.to_lowercase().replace(' ', "-");
        let short = ADDED_WORDS.iter().find_map(|word| name.strip_suffix(word));
        Self::named(&name).or_else(|| Self::named(short?))
    }
}

/// The words that clients add to their names in introductions, longest first. Others are of other programs.
const ADDED_WORDS: [&str; 7] =
    ["-cli-mcp-client", "-mcp-client", "-client", "-vscode", "-desktop", "-insiders", "-cli"];

fn typed_stdio(_: &str, command: &str, args: &[String]) -> Value {
    json!({ "type": "stdio", "command": command, "args": args })
}

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
    use super::*;

    #[test]
    fn every_client_has_a_row_in_the_table_of_directories() {
        for client in CLIENTS {
            assert_eq!(client.directories().id, client.id);
        }
    }

    #[test]
    fn clients_are_known_by_the_names_that_they_introduce_themselves_with() {
        let id = |name: &str| Client::introduced_as(name).map(|client| client.id);
        for (name, expected) in [
            ("claude-code", "claude-code"),
            ("codex-mcp-client", "codex"),
            ("cursor-vscode", "cursor"),
            ("Visual Studio Code", "vscode"),
            ("gemini-cli-mcp-client", "gemini"),
            ("Zed", "zed"),
            ("windsurf-client", "windsurf"),
            ("qwen-cli-mcp-client", "qwen-code"),
        ] {
            assert_eq!(id(name), Some(expected), "{name}");
        }
        for name in ["claude-ai", "claude-code-router", "gemini-live-app"] {
            assert_eq!(id(name), None, "{name}");
        }
        assert_eq!(id("pizza"), None);
    }
}
