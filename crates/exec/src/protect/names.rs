//! Names that no grant makes writable: files that configure or instruct agents, shells, editors and git.

use std::ffi::OsStr;
use std::path::Path;

use crate::protect::file_name;

/// Files and directories of these names are protected everywhere, with their content.
pub const PROTECTED: &[&str] = &[
    // Settings and instructions of agents.
    ".adal",
    ".agent",
    ".agents",
    ".ai",
    ".aiassistant",
    ".aider-desk",
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".autohand",
    ".bob",
    ".bolt",
    ".claude",
    ".claude.json",
    ".cline",
    ".clinerules",
    ".codeartsdoer",
    ".codebuddy",
    ".codeium",
    ".codemaker",
    ".codestudio",
    ".codex",
    ".commandcode",
    ".continue",
    ".continuerc.json",
    ".continuerules",
    ".copilot",
    ".cortex",
    ".crush",
    ".crush.json",
    ".cursor",
    ".cursorignore",
    ".cursorrules",
    ".devin",
    ".factory",
    ".firebender",
    ".forge",
    ".gemini",
    ".goose",
    ".goosehints",
    ".goosehints.md",
    ".grok",
    ".hermes",
    ".iflow",
    ".inferencesh",
    ".jazz",
    ".jules",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kilocodemodes",
    ".kilocoderules",
    ".kimchi",
    ".kimi-code",
    ".kiro",
    ".kode",
    ".lingma",
    ".lovable",
    ".mcp.json",
    ".mcpjam",
    ".minimax",
    ".moxby",
    ".mux",
    ".neovate",
    ".ona",
    ".openclaw",
    ".opencode",
    ".openhands",
    ".pi",
    ".pochi",
    ".posit",
    ".qoder",
    ".qodo",
    ".qwen",
    ".reasonix",
    ".replit",
    ".roo",
    ".roomodes",
    ".rovodev",
    ".rules",
    ".sourcegraph",
    ".tabnine",
    ".terramind",
    ".tinycloud",
    ".trae",
    ".vibe",
    ".windsurf",
    ".windsurfrules",
    ".zcode",
    ".zencoder",
    "AGENT.md",
    "AGENTS.local.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "CRUSH.md",
    "GEMINI.local.md",
    "GEMINI.md",
    "MEMORY.md",
    "QWEN.md",
    "SOUL.md",
    "WARP.md",
    "crush.json",
    "firebender.json",
    "kilo.json",
    "kilo.jsonc",
    "opencode.json",
    "opencode.jsonc",
    "replit.md",
    // Skills, and settings of Repertoire.
    "SKILL.md",
    "repertoire.toml",
    ".repertoire",
    // Settings of editors and environments that run commands of a project.
    ".devcontainer",
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".emacs",
    ".emacs.d",
    ".envrc",
    ".exrc",
    ".fleet",
    ".idea",
    ".nvim.lua",
    ".nvimrc",
    ".vim",
    ".vimrc",
    ".vscode",
    ".zed",
    // Directories of git, Mercurial and Jujutsu, with settings and hooks. Git accepts `.git` in any case.
    ".git",
    ".hg",
    ".jj",
    // Git hooks, and settings of hook managers.
    ".githooks",
    ".husky",
    ".huskyrc",
    ".lintstagedrc",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    // Files that shells and tools read whenever they start.
    ".antigenrc",
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".curlrc",
    ".forward",
    ".gitconfig",
    ".gitmodules",
    ".gnupg",
    ".hgrc",
    ".inputrc",
    ".kshrc",
    ".lfsconfig",
    ".login",
    ".logout",
    ".netrc",
    ".npmrc",
    ".oh-my-zsh",
    ".p10k.zsh",
    ".pam_environment",
    ".procmailrc",
    ".profile",
    ".pypirc",
    ".rhosts",
    ".screenrc",
    ".shosts",
    ".ssh",
    ".tcshrc",
    ".tmux.conf",
    ".wgetrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zimrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zsh_plugins.txt",
    ".zshenv",
    ".zshrc",
    // Files that debuggers, interpreters and package managers run when they start in a directory.
    ".Renviron",
    ".Rprofile",
    ".bazelrc",
    ".gdbinit",
    ".ghci",
    ".irbrc",
    ".lldbinit",
    ".mise",
    ".mise.local.toml",
    ".mise.toml",
    ".pdbrc",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    ".pryrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    "mise.local.toml",
    "mise.toml",
];

/// Entries protected in a directory of this name: files read or run at login, or by git, shells and agents.
pub const PROTECTED_IN: &[(&str, &str)] = &[
    (".aws", "config"),
    (".aws", "credentials"),
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".config", "agents"),
    (".config", "amp"),
    (".config", "autostart"),
    (".config", "crush"),
    (".config", "direnv"),
    (".config", "emacs"),
    (".config", "environment.d"),
    (".config", "fish"),
    (".config", "git"),
    (".config", "goose"),
    (".config", "mise"),
    (".config", "nushell"),
    (".config", "nvim"),
    (".config", "opencode"),
    (".config", "repertoire"),
    (".config", "starship.toml"),
    (".config", "systemd"),
    (".config", "tmux"),
    (".config", "vim"),
    (".config", "zed"),
    (".docker", "cli-plugins"),
    (".docker", "config.json"),
    (".gradle", "init.d"),
    (".gradle", "init.gradle"),
    (".kube", "config"),
    (".local", "bin"),
    // Instructions for agents of GitHub.
    (".github", "agents"),
    (".github", "chatmodes"),
    (".github", "copilot-instructions.md"),
    (".github", "hooks"),
    (".github", "instructions"),
    (".github", "prompts"),
    (".github", "skills"),
    // Programs that `.yarnrc.yml` names, and that editors run.
    (".yarn", "plugins"),
    (".yarn", "releases"),
    (".yarn", "sdks"),
];

/// Settings of git hook managers, each with its possible extensions.
pub const PROTECTED_ENDINGS: &[(&str, &[&str])] = &[
    (".huskyrc", &["cjs", "js", "json", "mjs", "ts", "yaml", "yml"]),
    (".lefthook", &["json", "jsonc", "toml", "yaml", "yml"]),
    (".lefthook-local", &["json", "jsonc", "toml", "yaml", "yml"]),
    (".lintstagedrc", &["cjs", "cts", "js", "json", "mjs", "mts", "ts", "yaml", "yml"]),
    ("lefthook", &["json", "jsonc", "toml", "yaml", "yml"]),
    ("lefthook-local", &["json", "jsonc", "toml", "yaml", "yml"]),
    ("lint-staged.config", &["cjs", "cts", "js", "mjs", "mts", "ts"]),
];

/// Files that git reads in any directory, and that block it if they are pipes.
const READ_BY_GIT: &[&str] = &[".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];

/// Returns whether `name` is protected everywhere, ignoring case and ignorable characters like file systems.
fn is_protected_name(name: &OsStr) -> bool {
    let name = file_name::normalized(name.as_encoded_bytes());
    let has_ending = |(stem, endings): &(&str, &[&str])| {
        name.get(..stem.len()).is_some_and(|start| start.eq_ignore_ascii_case(stem))
            && name[stem.len()..]
                .strip_prefix('.')
                .is_some_and(|own| endings.iter().any(|ending| ending.eq_ignore_ascii_case(own)))
    };
    PROTECTED.iter().any(|protected| protected.eq_ignore_ascii_case(&name))
        || PROTECTED_ENDINGS.iter().any(has_ending)
}

/// Returns whether an entry `name` is protected in a directory with the name `parent`.
pub(crate) fn is_protected_in(parent: Option<&OsStr>, name: &OsStr) -> bool {
    is_protected_name(name)
        || parent.is_some_and(|parent| {
            PROTECTED_IN.iter().any(|(directory, entry)| is_named(parent, directory) && is_named(name, entry))
        })
}

/// Returns whether any component of `path` is a protected name.
pub fn is_protected(path: &Path) -> bool {
    let mut parent = None;
    path.components().any(|component| {
        let name = component.as_os_str();
        let above = parent.replace(name);
        is_protected_in(above, name)
    })
}

/// Returns whether git reads a file of this name in any directory.
pub(crate) fn is_read_by_git(name: &OsStr) -> bool {
    READ_BY_GIT.iter().any(|own| is_named(name, own))
}

pub(crate) fn is_git(name: &OsStr) -> bool {
    is_named(name, ".git")
}

pub(crate) fn is_named(name: &OsStr, own: &str) -> bool {
    file_name::normalized(name.as_encoded_bytes()).eq_ignore_ascii_case(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: bool) {
        assert_eq!(is_protected(Path::new(path)), expect, "{path}");
    }

    #[test]
    fn settings_and_instructions_are_protected() {
        check("AGENTS.md", true);
        check("src/deep/claude.MD", true);
        check(".claude/settings.json", true);
        check(".git/hooks/pre-commit", true);
        check(".git/config", true);
        check(".GIT/Hooks", true);
        check(".git/modules/sub/hooks", true);
        check(".git/modules/a/b/config", true);
        check("vendor/.git/config", true);
        check(".bashrc", true);
        check("skills/x/SKILL.md", true);
        check("/home/u/.claude", true);
        check("/home/u/.config/fish/config.fish", true);
        check(".git/info/attributes", true);
        check(".git/rebase-merge/git-rebase-todo", true);
        check(".husky/pre-commit", true);
        check(".git/index", true);
        check(".git/objects/ab/cd", true);
        check("vendor/.GIT", true);
        check("vendor/.g\u{200c}it/config", true);
        check("AGENT\u{17f}.md", true);
        check(".github/s\u{212a}ills/x", true);
        check("lefthoo\u{212a}.yml", true);
        check("lefthook-local.YAML", true);
        check(".lintstagedrc.mjs", true);
        check(".huskyrc", true);
        check(".github/copilot-instructions.md", true);
        check(".github/skills/x/run.sh", true);
        check(".cargo/config.toml", true);
        check("sub/.config/nvim/init.lua", true);
        check(".yarnrc.yml", true);
        check(".yarn/releases/yarn-4.5.0.cjs", true);
        check(".ai/rules.md", true);
        check(".aws/config", true);
        check("home/.local/bin/git", true);
        check(".rprofile", true);
        check(".lfsconfig", true);
    }

    #[test]
    fn other_names_are_not_protected() {
        check("src/main.rs", false);
        check(".gitignore", false);
        check("lefthook.go", false);
        check(".lintstagedrc.refused", false);
        check(".github/workflows/ci.yml", false);
        check("skills", false);
        check("hooks/pre-commit", false);
        check("config", false);
        check(".config/other", false);
        check(".cargo/registry", false);
        check(".yarn/cache/left-pad.zip", false);
        check("config.toml", false);
        check("Makefile", false);
        check("package.json", false);
        check("conftest.py", false);
        check("info/attributes", false);
        check("agents.md.txt", false);
    }
}
