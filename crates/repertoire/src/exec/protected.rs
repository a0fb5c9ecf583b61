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

/// Entries that are protected in a directory of git: what it runs, and what tells it what to run.
pub const PROTECTED_IN_GIT: &[&str] =
    &["hooks", "config", "config.worktree", "attributes", "commondir", "gitdir"];

/// Where these are in a directory of git, for submodules and further worktrees have directories within it.
const GIT_DIRECTORIES: &[&str] = &["modules", "worktrees"];

/// Returns whether `name` is an entry that is protected wherever it lies. Case does not count, for file systems that do not tell it apart.
pub(crate) fn is_protected_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PROTECTED.iter().any(|protected| protected.eq_ignore_ascii_case(name))
}

/// Returns whether the entry at `path`, relative to the directory that is granted, is protected or within what is.
pub(crate) fn is_protected(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.components().map(Component::as_os_str).collect();
    names.iter().enumerate().any(|(place, name)| {
        is_protected_name(name)
            || names[..place].iter().any(|name| is_git(name)) && is_protected_in_git(&names, place)
    })
}

fn is_git(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

/// Returns whether the entry at `place`, somewhere in a directory of git, is one that git obeys.
fn is_protected_in_git(names: &[&OsStr], place: usize) -> bool {
    let is_obeyed = names[place]
        .to_str()
        .is_some_and(|name| PROTECTED_IN_GIT.iter().any(|own| own.eq_ignore_ascii_case(name)));
    let parent = names[place - 1];
    let is_inner =
        names[..place].iter().any(|name| GIT_DIRECTORIES.iter().any(|own| OsStr::new(own) == *name));
    is_obeyed && (is_git(parent) || is_inner)
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
    }

    #[test]
    fn leaves_the_rest() {
        check("src/main.rs", false);
        check(".git/index", false);
        check(".git/objects/ab/cd", false);
        check(".git/refs/heads/config", false);
        check("hooks/pre-commit", false);
        check("config", false);
        check("agents.md.txt", false);
    }
}
