//! The clients that read skills from files: one table for discovery and for connecting and linking clients.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The directory of a project with skills for every client.
pub const CANONICAL: &str = ".agents/skills";

/// The same directory in a home.
const HOME: &str = "~/.agents/skills";

/// The directories that a client reads skills from.
///
/// A path of the user starts with `~`, the home; with `$CONFIG`, the directory of user configuration; or with
/// the name of one of [`CLIENT_HOMES`]. Signs may start with other names that only the caller can resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientDirectories {
    /// The name of the client on the command line.
    pub id: &'static str,
    /// The name of the client as written by its makers.
    pub title: &'static str,
    /// The directories of a project, its own first.
    pub project: &'static [&'static str],
    /// The directories of a user, its own first.
    pub user: &'static [&'static str],
    /// Directories and files of a user that show that the client is there.
    pub signs: &'static [&'static str],
}

/// A directory of a client that an environment variable moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientHome {
    /// The name at the start of a path in the table.
    pub name: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// The directory in the home of a user who does not set the variable.
    pub usual: &'static str,
}

/// The directories of clients that environment variables move.
pub const CLIENT_HOMES: &[ClientHome] = &[
    ClientHome { name: "$CLAUDE", variable: "CLAUDE_CONFIG_DIR", usual: ".claude" },
    ClientHome { name: "$CODEX", variable: "CODEX_HOME", usual: ".codex" },
    ClientHome { name: "$GROK", variable: "GROK_HOME", usual: ".grok" },
    ClientHome { name: "$KIMI", variable: "KIMI_CODE_HOME", usual: ".kimi-code" },
    ClientHome { name: "$AUTOHAND", variable: "AUTOHAND_HOME", usual: ".autohand" },
    ClientHome { name: "$HERMES", variable: "HERMES_HOME", usual: ".hermes" },
    ClientHome { name: "$VIBE", variable: "VIBE_HOME", usual: ".vibe" },
];

/// Every client that is known to read skills from files, and the clients that can be connected.
///
/// The first rows are clients that `rep connect` knows; the others, of which it knows some, are those of the
/// installer `skills` 1.7. Directories of a project that are not hidden stand in a table of their own.
#[rustfmt::skip]
pub const CLIENT_DIRECTORIES: &[ClientDirectories] = &[
    row("claude-code", "Claude Code", &[".claude/skills"], &["$CLAUDE/skills"], &["$CLAUDE", "$CLAUDE_FILE/.claude.json"]),
    row("claude-desktop", "Claude Desktop", &[], &[], &["$SUPPORT/Claude"]),
    row("cursor", "Cursor", &[".cursor/skills", CANONICAL, ".claude/skills", ".codex/skills"], &["~/.cursor/skills", HOME, "~/.claude/skills", "~/.codex/skills"], &["~/.cursor"]),
    row("codex", "Codex", &[CANONICAL, ".codex/skills"], &[HOME, "$CODEX/skills"], &["$CODEX"]),
    row("vscode", "VS Code", &[".github/skills", CANONICAL, ".claude/skills"], &["~/.copilot/skills", HOME, "~/.claude/skills"], &["$SUPPORT/Code/User"]),
    row("opencode", "opencode", &[".opencode/skills", CANONICAL, ".claude/skills"], &["$CONFIG/opencode/skills", HOME, "~/.claude/skills"], &["$CONFIG/opencode"]),
    row("goose", "Goose", &[".goose/skills", CANONICAL, ".claude/skills"], &["$CONFIG/goose/skills", HOME, "~/.claude/skills", "$CONFIG/agents/skills"], &["$CONFIG/goose", "$APPDATA/Block/goose"]),
    row("gemini", "Gemini CLI", &[".gemini/skills", CANONICAL], &["~/.gemini/skills", HOME], &["~/.gemini"]),
    row("zed", "Zed", &[CANONICAL], &[HOME], &["$CONFIG/zed", "$APPDATA/Zed"]),
    row("windsurf", "Windsurf", &[".windsurf/skills", CANONICAL], &["~/.codeium/windsurf/skills", HOME], &["~/.codeium/windsurf"]),
    row("copilot", "GitHub Copilot CLI", &[".github/skills", CANONICAL, ".claude/skills"], &["~/.copilot/skills", HOME], &["~/.copilot"]),
    row("kiro", "Kiro", &[".kiro/skills"], &["~/.kiro/skills"], &["~/.kiro"]),
    row("cline", "Cline", &[".cline/skills", CANONICAL], &["~/.cline/skills", HOME], &["~/.cline"]),
    row("antigravity", "Antigravity", &[CANONICAL], &["~/.gemini/antigravity/skills"], &["~/.gemini/config", "~/.gemini/antigravity"]),
    row("kilo", "Kilo Code", &[".kilo/skills", CANONICAL], &["~/.kilo/skills"], &["$CONFIG/kilo", "~/.kilo"]),
    row("pi", "pi", &[".pi/skills"], &["~/.pi/agent/skills"], &["~/.pi/agent"]),
    row("kimi", "Kimi Code", &[CANONICAL], &[HOME], &["$KIMI"]),
    row("grok", "Grok Build", &[".grok/skills"], &["$GROK/skills"], &["$GROK"]),
    // Those of the installer.
    row("aider-desk", "AiderDesk", &[".aider-desk/skills"], &["~/.aider-desk/skills"], &["~/.aider-desk"]),
    row("amp", "Amp", &[CANONICAL], &["$CONFIG/agents/skills"], &["$CONFIG/amp"]),
    row("antigravity-cli", "Antigravity CLI", &[CANONICAL], &["~/.gemini/antigravity-cli/skills"], &["~/.gemini/antigravity-cli"]),
    row("astrbot", "AstrBot", &[], &["~/.astrbot/data/skills"], &["~/.astrbot"]),
    row("autohand-code", "Autohand Code CLI", &[".autohand/skills"], &["$AUTOHAND/skills"], &["$AUTOHAND"]),
    row("augment", "Augment", &[".augment/skills"], &["~/.augment/skills"], &["~/.augment"]),
    row("bob", "IBM Bob", &[".bob/skills"], &["~/.bob/skills"], &["~/.bob"]),
    row("openclaw", "OpenClaw", &[], &["~/.openclaw/skills", "~/.clawdbot/skills", "~/.moltbot/skills"], &["~/.openclaw", "~/.clawdbot", "~/.moltbot"]),
    row("codearts-agent", "CodeArts Agent", &[".codeartsdoer/skills"], &["~/.codeartsdoer/skills"], &["~/.codeartsdoer"]),
    row("codebuddy", "CodeBuddy", &[".codebuddy/skills"], &["~/.codebuddy/skills"], &["~/.codebuddy"]),
    row("codemaker", "Codemaker", &[".codemaker/skills"], &["~/.codemaker/skills"], &["~/.codemaker"]),
    row("codestudio", "Code Studio", &[".codestudio/skills"], &["~/.codestudio/skills"], &["~/.codestudio"]),
    row("command-code", "Command Code", &[".commandcode/skills"], &["~/.commandcode/skills"], &["~/.commandcode"]),
    row("continue", "Continue", &[".continue/skills"], &["~/.continue/skills"], &["~/.continue"]),
    row("cortex", "Cortex Code", &[".cortex/skills"], &["~/.snowflake/cortex/skills"], &["~/.snowflake/cortex"]),
    row("crush", "Crush", &[".crush/skills"], &["$CONFIG/crush/skills"], &["$CONFIG/crush"]),
    row("deepagents", "Deep Agents", &[CANONICAL], &["~/.deepagents/agent/skills"], &["~/.deepagents"]),
    row("devin", "Devin for Terminal", &[".devin/skills"], &["$CONFIG/devin/skills"], &["$CONFIG/devin"]),
    row("dexto", "Dexto", &[CANONICAL], &[HOME], &["~/.dexto"]),
    row("droid", "Droid", &[".factory/skills", CANONICAL], &["~/.factory/skills"], &["~/.factory"]),
    row("firebender", "Firebender", &[CANONICAL], &["~/.firebender/skills"], &["~/.firebender"]),
    row("forgecode", "ForgeCode", &[".forge/skills"], &["~/.forge/skills"], &["~/.forge"]),
    row("fx", "fx", &[CANONICAL], &[HOME], &["~/.fx"]),
    row("hermes-agent", "Hermes Agent", &[".hermes/skills"], &["$HERMES/skills"], &["$HERMES"]),
    row("inference-sh", "inference.sh", &[".inferencesh/skills"], &["~/.inferencesh/skills"], &["~/.inferencesh"]),
    row("jazz", "Jazz", &[".jazz/skills"], &["~/.jazz/skills"], &["~/.jazz"]),
    row("junie", "Junie", &[".junie/skills"], &["~/.junie/skills"], &["~/.junie"]),
    row("iflow-cli", "iFlow CLI", &[".iflow/skills"], &["~/.iflow/skills"], &["~/.iflow"]),
    row("kimchi", "Kimchi", &[".kimchi/skills"], &["$CONFIG/kimchi/harness/skills"], &["$CONFIG/kimchi"]),
    row("kode", "Kode", &[".kode/skills"], &["~/.kode/skills"], &["~/.kode"]),
    row("lingma", "Lingma", &[".lingma/skills"], &["~/.lingma/skills"], &["~/.lingma"]),
    row("loaf", "Loaf", &[CANONICAL], &[HOME], &["~/.loaf"]),
    row("mcpjam", "MCPJam", &[".mcpjam/skills"], &["~/.mcpjam/skills"], &["~/.mcpjam"]),
    row("minimax-code", "MiniMax Code", &[".minimax/skills"], &["~/.minimax/skills"], &["~/.minimax"]),
    row("mistral-vibe", "Mistral Vibe", &[".vibe/skills"], &["$VIBE/skills"], &["$VIBE"]),
    row("moxby", "Moxby", &[".moxby/skills"], &["~/.moxby/skills"], &["~/.moxby"]),
    row("mux", "Mux", &[".mux/skills"], &["~/.mux/skills"], &["~/.mux"]),
    row("openhands", "OpenHands", &[".openhands/skills"], &["~/.openhands/skills"], &["~/.openhands"]),
    row("ona", "Ona", &[".ona/skills"], &["~/.ona/skills"], &["~/.ona"]),
    row("posit-assistant", "Posit Assistant", &[".posit/assistant/skills"], &["~/.posit/assistant/skills"], &["~/.posit/assistant", "~/.positai"]),
    row("qoder", "Qoder", &[".qoder/skills"], &["~/.qoder/skills"], &["~/.qoder"]),
    row("qoder-cn", "Qoder CN", &[".qoder/skills"], &["~/.qoder-cn/skills"], &["~/.qoder-cn"]),
    row("qwen-code", "Qwen Code", &[".qwen/skills"], &["~/.qwen/skills"], &["~/.qwen"]),
    row("replit", "Replit", &[CANONICAL], &["$CONFIG/agents/skills"], &[]),
    row("reasonix", "Reasonix", &[".reasonix/skills"], &["~/.reasonix/skills"], &["~/.reasonix"]),
    row("rovodev", "Rovo Dev", &[".rovodev/skills"], &["~/.rovodev/skills"], &["~/.rovodev"]),
    row("roo", "Roo Code", &[".roo/skills"], &["~/.roo/skills"], &["~/.roo"]),
    row("sarvam-code", "Sarvam Code", &[CANONICAL], &[HOME], &["~/.sarvam"]),
    row("tabnine-cli", "Tabnine CLI", &[".tabnine/agent/skills"], &["~/.tabnine/agent/skills"], &["~/.tabnine"]),
    row("terramind", "Terramind", &[".terramind/skills"], &["~/.terramind/skills"], &["~/.terramind"]),
    row("tinycloud", "Tinycloud", &[".tinycloud/skills"], &["~/.tinycloud/skills"], &["~/.tinycloud"]),
    row("trae", "Trae", &[".trae/skills"], &["~/.trae/skills"], &["~/.trae"]),
    row("trae-cn", "Trae CN", &[".trae/skills"], &["~/.trae-cn/skills"], &["~/.trae-cn"]),
    row("warp", "Warp", &[CANONICAL], &[HOME], &["~/.warp"]),
    row("zcode", "ZCode", &[".zcode/skills"], &["~/.zcode/skills"], &["~/.zcode"]),
    row("zencoder", "Zencoder", &[".zencoder/skills"], &["~/.zencoder/skills"], &["~/.zencoder"]),
    row("zenflow", "Zenflow", &[".zencoder/skills"], &["~/.zencoder/skills"], &["~/.zencoder"]),
    row("neovate", "Neovate", &[".neovate/skills"], &["~/.neovate/skills"], &["~/.neovate"]),
    row("pochi", "Pochi", &[".pochi/skills"], &["~/.pochi/skills"], &["~/.pochi"]),
    row("adal", "AdaL", &[".adal/skills"], &["~/.adal/skills"], &["~/.adal"]),
];

/// The directories of a project that are not hidden, with signs in the home of the client that reads each:
/// most projects use these names for something else, so they are read where the client is there.
pub(super) const VISIBLE_DIRECTORIES: &[(&str, &[&str])] =
    &[("skills", &[".openclaw", ".clawdbot", ".moltbot"]), ("data/skills", &[".astrbot"])];

/// The same of a client whose sign is that the project's `package.json` names it.
pub(super) const VISIBLE_OF_PACKAGE: (&str, &str) = ("agent/skills", "\"eve\"");

const fn row(
    id: &'static str,
    title: &'static str,
    project: &'static [&'static str],
    user: &'static [&'static str],
    signs: &'static [&'static str],
) -> ClientDirectories {
    ClientDirectories { id, title, project, user, signs }
}

impl ClientDirectories {
    /// Returns the row of the client `id`; one that reads no skills from files if there is no such client.
    pub fn of(id: &str) -> &'static Self {
        static NONE: ClientDirectories = row("", "", &[], &[], &[]);
        CLIENT_DIRECTORIES.iter().find(|client| client.id == id).unwrap_or(&NONE)
    }
}

/// The directories of a user that paths of the table start with.
#[derive(Debug, Clone, Copy)]
pub struct UserDirectories<'a> {
    /// The home.
    pub home: Option<&'a Path>,
    /// The directory of user configuration, if it is not `.config` in the home.
    pub config: Option<&'a Path>,
    /// The directories that environment variables name, by the name of the variable.
    pub client_homes: &'a BTreeMap<String, PathBuf>,
}

impl UserDirectories<'_> {
    /// Returns the path that `template` stands for; `None` where its start is not known.
    pub fn path(&self, template: &str) -> Option<PathBuf> {
        let (start, rest) = template.split_once('/').unwrap_or((template, ""));
        let in_home = |name: &str| self.home.map(|home| home.join(name));
        let directory = match start {
            "~" => self.home.map(Path::to_owned),
            "$CONFIG" => self.config.map(Path::to_owned).or_else(|| in_home(CONFIG)),
            _ => {
                let client = CLIENT_HOMES.iter().find(|client| client.name == start)?;
                self.client_homes.get(client.variable).cloned().or_else(|| in_home(client.usual))
            }
        }?;
        Some(if rest.is_empty() { directory } else { directory.join(rest) })
    }

    /// Returns the name of `template` in labels: relative to its default home, also if a variable moved it.
    pub(super) fn label(&self, template: &str) -> String {
        let (start, rest) = template.split_once('/').unwrap_or((template, ""));
        let client = CLIENT_HOMES.iter().find(|client| client.name == start);
        match client {
            _ if start == "~" => rest.to_owned(),
            _ if start == "$CONFIG" => format!("{CONFIG}/{rest}"),
            Some(client) if self.client_homes.contains_key(client.variable) => {
                format!("${}/{rest}", client.variable)
            }
            Some(client) => format!("{}/{rest}", client.usual),
            None => template.to_owned(),
        }
    }
}

/// The name that the directory for configuration has in labels, wherever it is.
const CONFIG: &str = ".config";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_paths_can_be_resolved() {
        let ids: BTreeSet<&str> = CLIENT_DIRECTORIES.iter().map(|client| client.id).collect();
        assert_eq!(ids.len(), CLIENT_DIRECTORIES.len());
        let client_homes = BTreeMap::from([("CODEX_HOME".to_owned(), PathBuf::from("/x"))]);
        let directories =
            UserDirectories { home: Some(Path::new("/h")), config: None, client_homes: &client_homes };
        for template in CLIENT_DIRECTORIES.iter().flat_map(|client| client.user) {
            let path = directories.path(template).expect(template);
            assert!(path.starts_with("/h") || path == Path::new("/x/skills"), "{template}");
        }
        for name in CLIENT_DIRECTORIES.iter().flat_map(|client| client.project) {
            assert!(name.starts_with('.'), "{name} is not hidden");
        }
        assert_eq!(directories.label("$CODEX/skills"), "$CODEX_HOME/skills");
        assert_eq!(directories.label("$CLAUDE/skills"), ".claude/skills");
        assert_eq!(directories.label("$CONFIG/goose/skills"), ".config/goose/skills");
    }
}
