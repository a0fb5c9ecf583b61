//! What no grant makes writable: files that configure or instruct agents, shells, editors and git, and our own.

use std::ffi::OsStr;
use std::path::{Component, Path};

/// Entries of these names are protected wherever they lie, with all that is in them.
pub const PROTECTED: &[&str] = &[
    // Agents: what configures them and what instructs them.
    ".agents",
    ".aider.conf.yml",
    ".amp",
    ".augment",
    ".claude",
    ".claude.json",
    ".clinerules",
    ".codex",
    ".continue",
    ".copilot",
    ".cursor",
    ".cursorignore",
    ".cursorrules",
    ".factory",
    ".gemini",
    ".goose",
    ".goosehints",
    ".junie",
    ".kilocode",
    ".kiro",
    ".mcp.json",
    ".openclaw",
    ".opencode",
    ".openhands",
    ".qwen",
    ".roo",
    ".roomodes",
    ".trae",
    ".windsurf",
    ".windsurfrules",
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "GEMINI.md",
    "MEMORY.md",
    "QWEN.md",
    "SOUL.md",
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
    // What hooks of git are told to run, and directories of them.
    ".githooks",
    ".husky",
    ".lefthook.yml",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    "lefthook.yml",
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

/// Entries that are protected in a directory of this name: what is read or run when somebody logs in, or by git and shells.
pub const PROTECTED_IN: &[(&str, &str)] = &[
    (".config", "autostart"),
    (".config", "environment.d"),
    (".config", "fish"),
    (".config", "git"),
    (".config", "nushell"),
    (".config", "repertoire"),
    (".config", "systemd"),
];

/// Entries that are protected in a directory of git: what it runs, and what tells it what to run.
pub const PROTECTED_IN_GIT: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "attributes",
    "commondir",
    "gitdir",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];

/// Where these are in a directory of git, for submodules and further worktrees have directories within it.
const GIT_DIRECTORIES: &[&str] = &["modules", "worktrees"];

/// Returns whether `name` is an entry that is protected wherever it lies. Case does not count, for file systems that do not tell it apart.
pub(crate) fn is_protected_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PROTECTED.iter().any(|protected| protected.eq_ignore_ascii_case(name))
}

/// Returns whether the entry at `path`, all of whose names count, is protected or within what is.
pub(crate) fn is_protected(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.components().map(Component::as_os_str).collect();
    names.iter().enumerate().any(|(place, name)| {
        is_protected_name(name)
            || place > 0 && is_protected_in(names[place - 1], name)
            || names[..place].iter().any(|name| is_git(name)) && is_protected_in_git(&names, place)
    })
}

fn is_named(name: &OsStr, own: &str) -> bool {
    name.to_str().is_some_and(|name| name.eq_ignore_ascii_case(own))
}

fn is_protected_in(parent: &OsStr, name: &OsStr) -> bool {
    PROTECTED_IN.iter().any(|(directory, entry)| is_named(parent, directory) && is_named(name, entry))
}

/// Returns whether this is the name of a directory of git.
pub(crate) fn is_git(name: &OsStr) -> bool {
    is_named(name, ".git")
}

/// Returns whether git obeys an entry of this name in one of its directories.
pub(crate) fn is_obeyed_by_git(name: &OsStr) -> bool {
    PROTECTED_IN_GIT.iter().any(|own| is_named(name, own))
}

/// Returns whether the entry at `place`, somewhere in a directory of git, is one that git obeys.
fn is_protected_in_git(names: &[&OsStr], place: usize) -> bool {
    let parent = names[place - 1];
    let is_inner =
        names[..place].iter().any(|name| GIT_DIRECTORIES.iter().any(|own| OsStr::new(own) == *name));
    // One of the settings is in a directory of its own.
    let is_attributes = is_named(names[place], "attributes") && is_named(parent, "info");
    (is_obeyed_by_git(names[place]) && (is_git(parent) || is_inner)) || is_attributes
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
    }

    #[test]
    fn leaves_the_rest() {
        check("src/main.rs", false);
        check(".git/index", false);
        check(".git/objects/ab/cd", false);
        check(".git/refs/heads/config", false);
        check("hooks/pre-commit", false);
        check("config", false);
        check(".config/other", false);
        check("info/attributes", false);
        check("agents.md.txt", false);
    }
}
