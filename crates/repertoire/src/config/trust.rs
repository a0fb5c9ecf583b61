//! The trust in a configuration file. The user's is trusted; a project's comes with a clone and is bounded.

use std::fs::{canonicalize, symlink_metadata};
use std::path::{Component, Path, PathBuf};

use repertoire_model::{RuleId, Severity};

use crate::session::REQUIRED_TOKENS;

/// The hint about a key or value that a project's file may not set.
const HELP: &str = "put it in your user configuration instead";

/// The rules that detect hidden content; a project may make them stricter, never laxer.
const GUARDED_RULES: [RuleId; 5] = [
    RuleId::InvisibleCharacters,
    RuleId::ControlCharacters,
    RuleId::FileSymlink,
    RuleId::FileSpecial,
    RuleId::NameTool,
];

/// The prefixes of keys that only the user may set: the service that gets the conversations and the key of
/// the user, the record of events and proposals, the limits of agents, the names and descriptions of tools,
/// the access to the HTTP server and the people that sign in to it, and the execution of tools and scripts.
const USERS_TABLES: [&str; 11] = [
    "model.",
    "store.",
    "proposals.",
    "events.",
    "scope.",
    "tools.names.",
    "tools.args.",
    "tools.descriptions.",
    "http.",
    "oidc.",
    "exec.",
];

/// The ends of an agent's keys that only the user may set: its token, names and descriptions of its tools.
const USERS_AGENT_KEYS: [&str; 5] =
    [".token_file", ".reviews", ".tools.names", ".tools.args", ".tools.descriptions"];

/// The single keys that only the user may set: the acknowledgement of instructions that may be lost, the form
/// of answers, some of which have no wrapper around untrusted text, and the servers and the command that get
/// the texts of the user's skills and the user's key.
const USERS_KEYS: [&str; 8] = [
    "load.reload",
    "render.load",
    "mcp.result",
    "search.embeddings",
    "search.url",
    "search.model",
    "search.key_env",
    "search.rerank",
];

/// Returns `true` if only the user's configuration may have the key `name`.
pub(super) fn is_users_alone(name: &str) -> bool {
    let is_agents = name.starts_with("agents.") && USERS_AGENT_KEYS.iter().any(|key| name.ends_with(key));
    is_agents || USERS_KEYS.contains(&name) || USERS_TABLES.iter().any(|table| name.starts_with(table))
}

/// The trust in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTrust {
    /// Full trust: it is the user's, or was named by the user.
    Whole,
    /// Trust within this directory: it is the project's.
    Within(PathBuf),
}

/// An error and a hint.
pub(super) type Objection = (String, String);

impl FileTrust {
    /// Returns the objection to the key `name`, independent of its value.
    pub(super) fn objection_to_key(&self, name: &str) -> Option<Objection> {
        let Self::Within(_) = self else { return None };
        is_users_alone(name).then(|| (format!("a project's file may not have `{name}`"), HELP.to_owned()))
    }

    /// Returns the objection to the directory `path` as a value of the key `name`.
    pub fn objection_to_path(&self, name: &str, path: &Path) -> Option<Objection> {
        let Self::Within(boundary) = self else { return None };
        (!lies_within(path, boundary)).then(|| {
            (
                format!("`{name}` of a project's file may not lead out of {}", boundary.display()),
                format!("{HELP}, or name it on the command line"),
            )
        })
    }

    /// Returns the objection to a file as the value of the key `name`.
    pub(super) fn objection_to_file(&self, name: &str) -> Option<Objection> {
        let Self::Within(_) = self else { return None };
        Some((format!("`{name}` of a project's file may not be a file"), HELP.to_owned()))
    }

    /// Returns the objection to `number` as the value of the key `name`.
    pub(super) fn objection_to_number(&self, name: &str, number: usize) -> Option<Objection> {
        let Self::Within(_) = self else { return None };
        (name == "requires.max_tokens" && number > REQUIRED_TOKENS).then(|| {
            (format!("`{name}` of a project's file may be at most {REQUIRED_TOKENS}"), HELP.to_owned())
        })
    }

    pub(super) fn objection_to_severity(
        &self,
        rule: RuleId,
        severity: Option<Severity>,
    ) -> Option<Objection> {
        let Self::Within(_) = self else { return None };
        // Under some profile each of them is an error, so any other severity may be laxer.
        (GUARDED_RULES.contains(&rule) && severity != Some(Severity::Error)).then(|| {
            (
                format!("a project's file may not turn off or lower the rule `{rule}`"),
                format!("{HELP}; here it may only be \"error\""),
            )
        })
    }
}

/// Returns `true` if `path` lies in `boundary` with links resolved; missing components are taken as written.
fn lies_within(path: &Path, boundary: &Path) -> bool {
    let Ok(boundary) = canonicalize(boundary) else { return false };
    for existing in path.ancestors() {
        let Ok(resolved) = canonicalize(existing) else {
            // A link whose target does not exist today may lead anywhere tomorrow.
            if symlink_metadata(existing).is_ok_and(|metadata| metadata.is_symlink()) {
                return false;
            }
            continue;
        };
        let is_plain = |rest: &Path| rest.components().all(|part| matches!(part, Component::Normal(_)));
        return resolved.starts_with(&boundary) && path.strip_prefix(existing).is_ok_and(is_plain);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_may_not_weaken_a_session() {
        let project = FileTrust::Within(PathBuf::from("/project"));
        for (name, expect) in [
            ("events.journal", true),
            ("model.url", true),
            ("store.url", true),
            ("proposals.mode", true),
            ("scope.enforce", true),
            ("scope.deny_style", true),
            ("tools.names.load", true),
            ("tools.args.path", true),
            ("load.reload", true),
            ("render.load", true),
            ("mcp.result", true),
            ("search.embeddings", true),
            ("search.url", true),
            ("search.model", true),
            ("search.key_env", true),
            ("search.rerank", true),
            ("http.allow_origins", true),
            ("oidc.issuer", true),
            ("oidc.groups.all", true),
            ("agents.a.token_file", true),
            ("agents.a.tools.names", true),
            ("agents.a.tools.args", true),
            ("agents.a.tools.descriptions", true),
            ("agents.a.tools.offer", false),
            ("tools.descriptions.load", true),
            ("tools.offer", false),
            ("tools.hide_args", false),
            ("mcp.tools", false),
            ("tools.unload", false),
            ("load.location", false),
            ("catalog.format", false),
        ] {
            assert_eq!(project.objection_to_key(name).is_some(), expect, "{name}");
            assert_eq!(FileTrust::Whole.objection_to_key(name), None);
        }
        let name = "requires.max_tokens";
        assert_eq!(project.objection_to_number(name, REQUIRED_TOKENS), None);
        assert!(project.objection_to_number(name, REQUIRED_TOKENS + 1).is_some());
        assert_eq!(FileTrust::Whole.objection_to_number(name, REQUIRED_TOKENS + 1), None);
        assert_eq!(project.objection_to_number("catalog.budget_tokens", 1_000_000), None);
    }

    #[cfg(unix)]
    #[test]
    fn paths_within_a_boundary() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        std::fs::create_dir_all(project.join("in")).unwrap();
        for (link, target) in [("out", ".."), ("gone", "/nowhere/at/all"), ("inner", "in")] {
            std::os::unix::fs::symlink(target, project.join(link)).unwrap();
        }
        for (path, expect) in [
            ("in", true),
            (".", true),
            ("in/../in", true),
            ("inner/new", true),
            ("new/deep", true),
            ("..", false),
            ("../project2", false),
            ("new/../../x", false),
            ("out", false),
            ("out/x", false),
            ("gone", false),
            ("gone/x", false),
            ("/etc", false),
        ] {
            assert_eq!(lies_within(&project.join(path), &project), expect, "{path}");
        }
    }
}
