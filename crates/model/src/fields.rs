//! The fields of frontmatter: those of the open standard, those beyond it, and those of clients.

/// Every field that is known.
pub const FIELDS: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "version",
    "author",
    "trigger_keywords",
    "references",
    "scripts",
    "assets",
    "tags",
    "requires",
    "paths",
    "disable-model-invocation",
    "user-invocable",
];

/// The fields of the open standard.
pub const STANDARD_FIELDS: &[&str] =
    &["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// The fields that are read from `metadata` too.
pub const METADATA_FIELDS: &[&str] = &["version", "author", "tags", "trigger_keywords", "requires"];

/// Fields that some clients read, beyond those of the open standard. They are kept and not reported.
pub const CLIENT_FIELDS: &[&str] = &[
    // Claude Code; some of them also Cursor, goose, Qwen Code and VS Code.
    "agent",
    "argument-hint",
    "arguments",
    "context",
    "disallowed-tools",
    "effort",
    "hooks",
    "model",
    "shell",
    "when_to_use",
    // Qwen Code.
    "priority",
    // OpenClaw.
    "command-arg-mode",
    "command-dispatch",
    "command-tool",
    "emoji",
    "homepage",
    // OpenHands.
    "triggers",
    // IronClaw.
    "activation",
    "credentials",
    // Hermes Agent.
    "required_environment_variables",
    // Cursor, as in its rules.
    "alwaysApply",
    "globs",
    // nanobot.
    "always",
    // VS Code and GitHub Copilot.
    "mcp-servers",
];

/// Misspellings of known fields, with the field that is meant.
pub(crate) const SYNONYMS: &[(&str, &str)] = &[
    ("trigger-keywords", "trigger_keywords"),
    ("tools", "allowed-tools"),
    ("argument_hint", "argument-hint"),
    ("when-to-use", "when_to_use"),
    ("allowedTools", "allowed-tools"),
    ("allowed_tools", "allowed-tools"),
    ("disable_model_invocation", "disable-model-invocation"),
    ("user_invocable", "user-invocable"),
    ("title", "name"),
    ("summary", "description"),
];

/// Returns whether the field `key`, in any of its spellings, says when a skill is needed.
pub(crate) fn is_hint(key: &str) -> bool {
    const HINTS: [&str; 5] = ["triggers", "trigger", "keywords", "when_to_use", "use_when"];
    HINTS.iter().any(|hint| {
        key.len() == hint.len()
            && key.bytes().zip(hint.bytes()).all(|(a, b)| a == b || (a == b'-' && b == b'_'))
    }) || key == "trigger-keywords"
}

/// Returns `true` if `key` is known, but neither a field of the open standard nor one of `own`.
pub(crate) fn is_extension(key: &str, own: &[String]) -> bool {
    let is_known = FIELDS.contains(&key) || CLIENT_FIELDS.contains(&key);
    is_known && !own.iter().any(|field| field == key) && !STANDARD_FIELDS.contains(&key)
}
