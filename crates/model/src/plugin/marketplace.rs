//! `marketplace.json`: a list of plugins, as Claude Code, Codex and `npx skills` read it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::finding::PluginFinding;
use super::mcp::is_inside;
use crate::RuleId;

const MAX_PLUGINS: usize = 10_000;

/// A list of plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marketplace {
    /// Its name.
    pub name: String,
    /// Its plugins.
    pub plugins: Vec<MarketplacePlugin>,
}

/// A plugin of a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarketplacePlugin {
    /// Its name.
    pub name: String,
    /// Its directory relative to the marketplace, where it lies in the same repository.
    pub directory: Option<String>,
}

/// Reads a marketplace; `None` if it is not one. Faulty plugins are left out, each for one of the findings.
pub fn read_marketplace(bytes: &[u8]) -> (Option<Marketplace>, Vec<PluginFinding>) {
    let finding = |message: String| PluginFinding::new(RuleId::MarketplaceInvalid, message);
    let document: Value = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => return (None, vec![finding(format!("the marketplace is not JSON: {error}"))]),
    };
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut findings = Vec::new();
    let name = text(&document, "name").unwrap_or_default();
    if !is_name(&name) {
        findings
            .push(finding("`name` is missing, or not of lower-case letters, digits and hyphens".to_owned()));
    }
    if document.get("owner").is_none_or(|owner| text(owner, "name").is_none_or(|name| name.is_empty())) {
        findings.push(finding("`owner.name` is missing".to_owned()));
    }
    let Some(entries) = document.get("plugins").and_then(Value::as_array) else {
        findings.push(finding("`plugins` is not a list".to_owned()));
        return (None, findings);
    };
    let (mut plugins, mut names) = (Vec::new(), BTreeSet::new());
    for (index, entry) in entries.iter().enumerate().take(MAX_PLUGINS) {
        let name = text(entry, "name").unwrap_or_default();
        if name.is_empty() {
            findings.push(finding(format!("plugin {} has no name", index + 1)));
            continue;
        }
        if !names.insert(name.clone()) {
            findings.push(finding(format!("the plugin `{name}` is listed twice")));
        }
        match source(entry.get("source")) {
            Ok(directory) => plugins.push(MarketplacePlugin { name, directory }),
            Err(reason) => {
                findings.push(finding(format!("the plugin `{name}` cannot be installed: {reason}")))
            }
        }
    }
    (Some(Marketplace { name, plugins }), findings)
}

/// Returns the directory of a source that is a path; `None` for one elsewhere.
fn source(source: Option<&Value>) -> Result<Option<String>, String> {
    let path = match source {
        None => return Err("`source` is missing".to_owned()),
        Some(Value::String(path)) => path.as_str(),
        Some(Value::Object(object)) => {
            let text = |key: &str| object.get(key).and_then(Value::as_str);
            let needed: &[&str] = match text("source") {
                Some("local") => match text("path") {
                    Some(path) => return source_path(path),
                    None => return Err("`source.path` is missing".to_owned()),
                },
                Some("github") => &["repo"],
                Some("url" | "git") => &["url"],
                Some("git-subdir") => &["url", "path"],
                Some("npm" | "pip") => &["package"],
                Some(other) => return Err(format!("`{other}` is not a kind of source")),
                None => return Err("`source.source` is missing".to_owned()),
            };
            return match needed.iter().find(|key| text(key).is_none_or(str::is_empty)) {
                Some(key) => Err(format!("`source.{key}` is missing")),
                None => Ok(None),
            };
        }
        Some(_) => return Err("`source` is neither a path nor an object".to_owned()),
    };
    source_path(path)
}

fn source_path(path: &str) -> Result<Option<String>, String> {
    if is_inside(path) || path == "." || path == "./" {
        Ok(Some(path.to_owned()))
    } else {
        Err("the path of its source does not start with `./`, or leads out of the marketplace".to_owned())
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(plugins: &str) -> (usize, usize) {
        let text = format!(r#"{{"name": "m", "owner": {{"name": "o"}}, "plugins": [{plugins}]}}"#);
        let (marketplace, findings) = read_marketplace(text.as_bytes());
        (marketplace.unwrap().plugins.len(), findings.len())
    }

    #[test]
    fn plugins_need_a_name_and_a_source_in_the_marketplace_or_elsewhere() {
        for valid in [
            r#"{"name": "a", "source": "./"}"#,
            r#"{"name": "a", "source": "./plugins/a"}"#,
            r#"{"name": "a", "source": {"source": "github", "repo": "o/r"}}"#,
            r#"{"name": "a", "source": {"source": "local", "path": "./a"}}"#,
        ] {
            assert_eq!(check(valid), (1, 0), "{valid}");
        }
        for invalid in [
            "5",
            r#"{"name": "a"}"#,
            r#"{"name": "a", "source": "../a"}"#,
            r#"{"name": "a", "source": "/a"}"#,
            r#"{"name": "a", "source": {"source": "github"}}"#,
            r#"{"name": "a", "source": {"source": "x"}}"#,
        ] {
            assert_eq!(check(invalid), (0, 1), "{invalid}");
        }
        assert_eq!(read_marketplace(b"{}").1.len(), 3);
        assert_eq!(read_marketplace(b"").1.len(), 1);
    }
}
