//! Resolves the paths of the table on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use repertoire::config::FILE_NAME;
use repertoire::discovery::{CANONICAL, ClientDirectories, UserDirectories, repository_root};

use crate::client::Client;

/// The variable that names the user's directory of Claude Code.
const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// The surroundings of the program, as the caller found them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Environment {
    /// The working directory.
    pub working_directory: PathBuf,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory of user configuration.
    pub config: Option<PathBuf>,
    /// The directory of the user's records; without one they lie in the home directory.
    pub state: Option<PathBuf>,
    /// The directory of application data on Windows.
    pub app_data: Option<PathBuf>,
    /// The directories of clients that variables name, by the name of the variable.
    pub client_homes: BTreeMap<String, PathBuf>,
    /// The file of this program.
    pub executable: Option<PathBuf>,
    /// The directories that programs are looked for in.
    pub search_path: Vec<PathBuf>,
}

impl Environment {
    /// Returns surroundings with nothing but the working directory.
    pub fn new(working_directory: impl Into<PathBuf>) -> Self {
        let (home, config, state, app_data, executable) = (None, None, None, None, None);
        let (working_directory, client_homes) = (working_directory.into(), BTreeMap::new());
        let search_path = Vec::new();
        Self { working_directory, home, config, state, app_data, client_homes, executable, search_path }
    }
}

/// The owner of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The user's, for all projects.
    User,
    /// The project's, for all its users.
    Project,
}

impl Owner {
    /// Returns the user if `is_user` is `true`, and the project else.
    pub fn user_if(is_user: bool) -> Self {
        if is_user { Self::User } else { Self::Project }
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The system, which settles where programs keep their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    Unix,
    Mac,
    Windows,
}

/// The directories that paths of the table start with.
#[derive(Debug, Clone)]
pub struct Places {
    system: System,
    environment: Environment,
    project: PathBuf,
}

impl Places {
    /// Returns the places in these surroundings.
    pub fn new(environment: Environment) -> Self {
        let system = match () {
            () if cfg!(windows) => System::Windows,
            () if cfg!(target_os = "macos") => System::Mac,
            () => System::Unix,
        };
        let root = repository_root(&environment.working_directory, environment.home.as_deref());
        let project = root.unwrap_or_else(|| environment.working_directory.clone());
        Self { system, environment, project }
    }

    /// Returns the surroundings that the places were found in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the root of the project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the owner of the skills that commands change by default: the project in a repository, or in a
    /// directory other than home that has skills or a configuration of its own, and the user elsewhere.
    pub fn default_owner(&self) -> Owner {
        let here = &self.environment.working_directory;
        let home = self.environment.home.as_deref();
        let is_own = || [CANONICAL, FILE_NAME].iter().any(|name| here.join(name).symlink_metadata().is_ok());
        Owner::user_if(repository_root(here, home).is_none() && (home == Some(here) || !is_own()))
    }

    /// Returns the option of commands that chooses `owner`, with a blank before it; empty for the default.
    pub fn option(&self, owner: Owner) -> &'static str {
        match owner {
            _ if owner == self.default_owner() => "",
            Owner::User => " --user",
            Owner::Project => " --project",
        }
    }

    /// Returns the parent directory of the canonical place of `owner`.
    pub fn base(&self, owner: Owner) -> Option<PathBuf> {
        match owner {
            Owner::User => self.environment.home.clone(),
            Owner::Project => Some(self.project.clone()),
        }
    }

    /// Returns the configuration paths of `client` for `owner`, likeliest last; empty if there is not one.
    pub fn configuration(&self, client: &Client, owner: Owner) -> Vec<PathBuf> {
        let templates = match owner {
            Owner::User if self.system == System::Windows && !client.windows.is_empty() => client.windows,
            Owner::User => client.user,
            Owner::Project => client.project,
        };
        templates.iter().filter_map(|template| self.path(owner, template)).collect()
    }

    /// Returns the directories in which `client` reads skills of `owner`, its own first.
    pub fn skills(&self, client: &Client, owner: Owner) -> Vec<PathBuf> {
        self.directories(client.directories(), owner)
    }

    /// Returns the directories in which a client of the core's table reads skills of `owner`, its own first.
    pub fn directories(&self, client: &ClientDirectories, owner: Owner) -> Vec<PathBuf> {
        let templates = match owner {
            Owner::User => client.user,
            Owner::Project => client.project,
        };
        templates.iter().filter_map(|template| self.path(owner, template)).collect()
    }

    /// Returns `true` if a directory or a file shows that the user has `client`.
    pub fn is_there(&self, client: &Client) -> bool {
        self.has_sign_of(client.directories())
    }

    /// Returns `true` if a directory or a file shows that the user has this client of the core's table.
    pub fn has_sign_of(&self, client: &ClientDirectories) -> bool {
        let mut signs = client.signs.iter().filter_map(|sign| self.path(Owner::User, sign));
        signs.any(|sign| sign.is_dir() || sign.is_file())
    }

    /// Returns the path that `template` stands for: `~` is home, `$NAME` one of the directories above.
    pub fn path(&self, owner: Owner, template: &str) -> Option<PathBuf> {
        if owner == Owner::Project {
            return Some(self.project.join(template));
        }
        let (start, rest) = template.split_once('/').unwrap_or((template, ""));
        let Environment { home: at_home, config, app_data, client_homes, .. } = &self.environment;
        let home = |rest: &str| at_home.as_ref().map(|home| home.join(rest));
        let user = UserDirectories { home: at_home.as_deref(), config: config.as_deref(), client_homes };
        let directory = match start {
            "$APPDATA" => app_data.clone().or_else(|| home("AppData/Roaming")),
            "$SUPPORT" => match self.system {
                System::Unix => config.clone(),
                System::Mac => home("Library/Application Support"),
                System::Windows => app_data.clone().or_else(|| home("AppData/Roaming")),
            },
            // The file lies beside the directory, unless the directory was moved: then it lies in it.
            "$CLAUDE_FILE" => client_homes.get(CLAUDE_CONFIG_DIR).or(at_home.as_ref()).cloned(),
            start => user.path(start),
        };
        Some(if rest.is_empty() { directory? } else { directory?.join(rest) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::CLIENTS;

    fn places(system: System) -> Places {
        let environment = Environment {
            home: Some("/home/me".into()),
            config: Some("/home/me/.config".into()),
            app_data: (system == System::Windows).then(|| "/appdata".into()),
            ..Environment::new("/src/project")
        };
        Places { system, environment, project: "/src/project".into() }
    }

    fn shown(system: System, owner: Owner) -> String {
        let places = places(system);
        let line = |client: &Client| {
            let paths = places.configuration(client, owner);
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let paths = if paths.is_empty() { "none".to_owned() } else { paths.join(", ") };
            format!("{}: {paths}\n", client.id)
        };
        CLIENTS.iter().map(line).collect()
    }

    #[test]
    fn where_clients_keep_their_configuration() {
        insta::assert_snapshot!(shown(System::Unix, Owner::User), @r#"
        claude-code: /home/me/.claude.json
        claude-desktop: /home/me/.config/Claude/claude_desktop_config.json
        cursor: /home/me/.cursor/mcp.json
        codex: /home/me/.codex/config.toml
        vscode: /home/me/.config/Code/User/mcp.json
        opencode: /home/me/.config/opencode/opencode.json, /home/me/.config/opencode/opencode.jsonc
        goose: /home/me/.config/goose/config.yaml
        gemini: /home/me/.gemini/settings.json
        zed: /home/me/.config/zed/settings.json
        windsurf: /home/me/.codeium/windsurf/mcp_config.json
        copilot: /home/me/.copilot/mcp-config.json
        kiro: /home/me/.kiro/settings/mcp.json
        cline: /home/me/.cline/data/settings/cline_mcp_settings.json
        antigravity: /home/me/.gemini/config/mcp_config.json
        kilo: /home/me/.config/kilo/kilo.jsonc, /home/me/.config/kilo/kilo.json
        pi: /home/me/.pi/agent/mcp.json
        kimi: /home/me/.kimi-code/mcp.json
        grok: /home/me/.grok/config.toml
        qwen-code: /home/me/.qwen/settings.json
        crush: /home/me/.config/crush/crush.json
        continue: /home/me/.continue/mcpServers/mcp.json
        droid: /home/me/.factory/mcp.json
        amp: /home/me/.config/amp/settings.jsonc, /home/me/.config/amp/settings.json
        openclaw: /home/me/.openclaw/openclaw.json
        augment: /home/me/.augment/settings.json
        "#);
        insta::assert_snapshot!(shown(System::Mac, Owner::User), @r#"
        claude-code: /home/me/.claude.json
        claude-desktop: /home/me/Library/Application Support/Claude/claude_desktop_config.json
        cursor: /home/me/.cursor/mcp.json
        codex: /home/me/.codex/config.toml
        vscode: /home/me/Library/Application Support/Code/User/mcp.json
        opencode: /home/me/.config/opencode/opencode.json, /home/me/.config/opencode/opencode.jsonc
        goose: /home/me/.config/goose/config.yaml
        gemini: /home/me/.gemini/settings.json
        zed: /home/me/.config/zed/settings.json
        windsurf: /home/me/.codeium/windsurf/mcp_config.json
        copilot: /home/me/.copilot/mcp-config.json
        kiro: /home/me/.kiro/settings/mcp.json
        cline: /home/me/.cline/data/settings/cline_mcp_settings.json
        antigravity: /home/me/.gemini/config/mcp_config.json
        kilo: /home/me/.config/kilo/kilo.jsonc, /home/me/.config/kilo/kilo.json
        pi: /home/me/.pi/agent/mcp.json
        kimi: /home/me/.kimi-code/mcp.json
        grok: /home/me/.grok/config.toml
        qwen-code: /home/me/.qwen/settings.json
        crush: /home/me/.config/crush/crush.json
        continue: /home/me/.continue/mcpServers/mcp.json
        droid: /home/me/.factory/mcp.json
        amp: /home/me/.config/amp/settings.jsonc, /home/me/.config/amp/settings.json
        openclaw: /home/me/.openclaw/openclaw.json
        augment: /home/me/.augment/settings.json
        "#);
        insta::assert_snapshot!(shown(System::Windows, Owner::User), @r#"
        claude-code: /home/me/.claude.json
        claude-desktop: /appdata/Claude/claude_desktop_config.json
        cursor: /home/me/.cursor/mcp.json
        codex: /home/me/.codex/config.toml
        vscode: /appdata/Code/User/mcp.json
        opencode: /home/me/.config/opencode/opencode.json, /home/me/.config/opencode/opencode.jsonc
        goose: /appdata/Block/goose/config/config.yaml
        gemini: /home/me/.gemini/settings.json
        zed: /appdata/Zed/settings.json
        windsurf: /home/me/.codeium/windsurf/mcp_config.json
        copilot: /home/me/.copilot/mcp-config.json
        kiro: /home/me/.kiro/settings/mcp.json
        cline: /home/me/.cline/data/settings/cline_mcp_settings.json
        antigravity: /home/me/.gemini/config/mcp_config.json
        kilo: /home/me/.config/kilo/kilo.jsonc, /home/me/.config/kilo/kilo.json
        pi: /home/me/.pi/agent/mcp.json
        kimi: /home/me/.kimi-code/mcp.json
        grok: /home/me/.grok/config.toml
        qwen-code: /home/me/.qwen/settings.json
        crush: /home/me/.config/crush/crush.json
        continue: /home/me/.continue/mcpServers/mcp.json
        droid: /home/me/.factory/mcp.json
        amp: /home/me/.config/amp/settings.jsonc, /home/me/.config/amp/settings.json
        openclaw: /home/me/.openclaw/openclaw.json
        augment: /home/me/.augment/settings.json
        "#);
        insta::assert_snapshot!(shown(System::Unix, Owner::Project), @r#"
        claude-code: /src/project/.mcp.json
        claude-desktop: none
        cursor: /src/project/.cursor/mcp.json
        codex: /src/project/.codex/config.toml
        vscode: /src/project/.vscode/mcp.json
        opencode: /src/project/opencode.json, /src/project/opencode.jsonc
        goose: none
        gemini: /src/project/.gemini/settings.json
        zed: /src/project/.zed/settings.json
        windsurf: none
        copilot: none
        kiro: /src/project/.kiro/settings/mcp.json
        cline: none
        antigravity: none
        kilo: /src/project/.kilo/kilo.jsonc, /src/project/.kilo/kilo.json, /src/project/kilo.jsonc, /src/project/kilo.json
        pi: none
        kimi: /src/project/.kimi-code/mcp.json
        grok: /src/project/.grok/config.toml
        qwen-code: /src/project/.qwen/settings.json
        crush: /src/project/crush.json, /src/project/.crush.json
        continue: /src/project/.continue/mcpServers/mcp.json
        droid: /src/project/.factory/mcp.json
        amp: /src/project/.amp/settings.jsonc, /src/project/.amp/settings.json
        openclaw: none
        augment: none
        "#);
    }

    #[test]
    fn environment_variables_move_directories_of_clients() {
        let mut places = places(System::Unix);
        places.environment.client_homes.insert("CLAUDE_CONFIG_DIR".to_owned(), "/c".into());
        places.environment.client_homes.insert("CODEX_HOME".to_owned(), "/x".into());
        let path = |template| places.path(Owner::User, template).unwrap().display().to_string();
        assert_eq!(path("$CLAUDE_FILE/.claude.json"), "/c/.claude.json");
        assert_eq!(path("$CLAUDE/skills"), "/c/skills");
        assert_eq!(path("$CODEX/config.toml"), "/x/config.toml");
        assert_eq!(path("$GROK/config.toml"), "/home/me/.grok/config.toml");
    }
}
