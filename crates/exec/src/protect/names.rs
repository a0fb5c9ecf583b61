//! Names that no grant makes writable: files that configure or instruct agents, shells, editors and git.

use std::ffi::OsStr;
use std::path::Path;

use crate::protect::file_name;

/// Entries of these names are protected wherever they lie, with all that is in them.
pub const PROTECTED: &[&str] = &[
    // Agents: what configures them and what instructs them.
    ".agents",
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".claude",
    ".claude.json",
    ".cline",
    ".clinerules",
    ".codex",
    ".continue",
    ".copilot",
    ".crush",
    ".crush.json",
    ".cursor",
    ".cursorignore",
    ".cursorrules",
    ".factory",
    ".gemini",
    ".goose",
    ".goosehints",
    ".grok",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kimi-code",
    ".kiro",
    ".mcp.json",
    ".openclaw",
    ".opencode",
    ".openhands",
    ".pi",
    ".qwen",
    ".roo",
    ".roomodes",
    ".rules",
    ".trae",
    ".windsurf",
    ".windsurfrules",
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "CRUSH.md",
    "GEMINI.md",
    "MEMORY.md",
    "QWEN.md",
    "SOUL.md",
    "WARP.md",
    "crush.json",
    "kilo.json",
    "kilo.jsonc",
    "opencode.json",
    "opencode.jsonc",
    // Skills, and what tells where they are.
    "SKILL.md",
    "repertoire.toml",
    ".repertoire",
    // Editors that run what a project says.
    ".devcontainer",
    ".envrc",
    ".fleet",
    ".idea",
    ".vscode",
    ".zed",
    // What git, Mercurial and Jujutsu keep of a checkout: settings, hooks, and what leads to them. Git takes `.git` in
    // any spelling.
    ".git",
    ".hg",
    ".jj",
    // What hooks of git are told to run, and directories of them.
    ".githooks",
    ".husky",
    ".huskyrc",
    ".lintstagedrc",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    // Shells and tools that read a file whenever they start.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".gitconfig",
    ".gitmodules",
    ".inputrc",
    ".kshrc",
    ".login",
    ".logout",
    ".netrc",
    ".npmrc",
    ".pam_environment",
    ".profile",
    ".pypirc",
    ".ssh",
    ".tcshrc",
    ".xprofile",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Entries that are protected in a directory of this name: what is read or run when somebody logs in, or by git, shells
/// and agents.
pub const PROTECTED_IN: &[(&str, &str)] = &[
    (".config", "autostart"),
    (".config", "environment.d"),
    (".config", "fish"),
    (".config", "git"),
    (".config", "nushell"),
    (".config", "repertoire"),
    (".config", "systemd"),
    // What agents of GitHub are told.
    (".github", "agents"),
    (".github", "chatmodes"),
    (".github", "copilot-instructions.md"),
    (".github", "hooks"),
    (".github", "instructions"),
    (".github", "prompts"),
    (".github", "skills"),
];

/// Configuration of git hook managers, in files with one of several endings.
pub const PROTECTED_ENDINGS: &[(&str, &[&str])] = &[
    (".huskyrc", &["cjs", "js", "json", "mjs", "ts", "yaml", "yml"]),
    (".lefthook", &["json", "jsonc", "toml", "yaml", "yml"]),
    (".lefthook-local", &["json", "jsonc", "toml", "yaml", "yml"]),
    (".lintstagedrc", &["cjs", "cts", "js", "json", "mjs", "mts", "ts", "yaml", "yml"]),
    ("lefthook", &["json", "jsonc", "toml", "yaml", "yml"]),
    ("lefthook-local", &["json", "jsonc", "toml", "yaml", "yml"]),
    ("lint-staged.config", &["cjs", "cts", "js", "mjs", "mts", "ts"]),
];

/// Files that git reads wherever they lie, and waits for where they are pipes.
const READ_BY_GIT: &[&str] = &[".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];

/// Returns whether `name` is an entry that is protected wherever it lies. Case does not count, nor letters that some file
/// systems do not look at.
fn is_protected_name(name: &OsStr) -> bool {
    let name = file_name::plain(name.as_encoded_bytes());
    let has_ending = |(stem, endings): &(&str, &[&str])| {
        name.get(..stem.len()).is_some_and(|start| start.eq_ignore_ascii_case(stem))
            && name[stem.len()..]
                .strip_prefix('.')
                .is_some_and(|own| endings.iter().any(|ending| ending.eq_ignore_ascii_case(own)))
    };
    PROTECTED.iter().any(|protected| protected.eq_ignore_ascii_case(&name))
        || PROTECTED_ENDINGS.iter().any(has_ending)
}

/// Returns whether an entry of this name is protected in a directory of that name.
pub(crate) fn is_protected_in(parent: Option<&OsStr>, name: &OsStr) -> bool {
    is_protected_name(name)
        || parent.is_some_and(|parent| {
            PROTECTED_IN.iter().any(|(directory, entry)| is_named(parent, directory) && is_named(name, entry))
        })
}

/// Returns whether the entry at `path`, all of whose names count, is protected or within what is.
pub fn is_protected(path: &Path) -> bool {
    let mut parent = None;
    path.components().any(|component| {
        let name = component.as_os_str();
        let above = parent.replace(name);
        is_protected_in(above, name)
    })
}

/// Returns whether git reads a file of this name, wherever it lies.
pub(crate) fn is_read_by_git(name: &OsStr) -> bool {
    READ_BY_GIT.iter().any(|own| is_named(name, own))
}

/// Returns whether this is the name of a git directory.
pub(crate) fn is_git(name: &OsStr) -> bool {
    is_named(name, ".git")
}

pub(crate) fn is_named(name: &OsStr, own: &str) -> bool {
    file_name::plain(name.as_encoded_bytes()).eq_ignore_ascii_case(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: bool) {
        assert_eq!(is_protected(Path::new(path)), expect, "{path}");
    }

    #[test]
    fn knows_what_configures_and_instructs() {
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
    }

    #[test]
    fn leaves_the_rest() {
        check("src/main.rs", false);
        check(".gitignore", false);
        check("lefthook.go", false);
        check(".lintstagedrc.refused", false);
        check(".github/workflows/ci.yml", false);
        check("skills", false);
        check("hooks/pre-commit", false);
        check("config", false);
        check(".config/other", false);
        check("info/attributes", false);
        check("agents.md.txt", false);
    }
}
