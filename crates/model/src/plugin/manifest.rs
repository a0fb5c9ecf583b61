//! `plugin.json`.

use serde_json::{Map, Value};

use super::finding::PluginFinding;
use crate::RuleId;

/// The identifier that a manifest of version 1.0.0 has under `$schema`.
pub const MANIFEST_SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// The most characters of a plugin's name.
const MAX_NAME: usize = 64;

/// The most characters of a value that a message shows.
const MAX_SHOWN: usize = 80;

/// The manifest of a plugin that is valid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginManifest {
    /// The name.
    pub name: String,
    /// The version.
    pub version: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The repository.
    pub repository: Option<String>,
    /// The licence.
    pub license: Option<String>,
}

/// Reads a manifest. Without one the plugin is rejected, for one of the findings.
pub fn read_manifest(bytes: &[u8]) -> (Option<PluginManifest>, Vec<PluginFinding>) {
    let mut reader = Reader { findings: Vec::new(), is_fatal: false };
    let manifest = match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => reader.manifest(&object),
        Ok(_) => reader.fatal("plugin.json is not a JSON object"),
        Err(error) => reader.fatal(format!("plugin.json is not JSON: {error}")),
    };
    (manifest.filter(|_| !reader.is_fatal), reader.findings)
}

/// Returns `true` if `name` is a name that a plugin may have.
pub fn is_plugin_name(name: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.len() <= MAX_NAME
        && bytes.first().is_some_and(is_end)
        && bytes.last().is_some_and(is_end)
        && bytes.iter().all(|byte| is_end(byte) || matches!(byte, b'-' | b'.'))
        && !name.contains("--")
        && !name.contains("..")
}

struct Reader {
    findings: Vec<PluginFinding>,
    is_fatal: bool,
}

impl Reader {
    fn fatal<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.is_fatal = true;
        self.findings.push(PluginFinding::new(RuleId::PluginInvalid, message));
        None
    }

    fn ignored(&mut self, message: String) {
        self.findings.push(PluginFinding::new(RuleId::PluginField, message));
    }

    fn manifest(&mut self, object: &Map<String, Value>) -> Option<PluginManifest> {
        match object.get("$schema") {
            Some(Value::String(schema)) if schema == MANIFEST_SCHEMA => {}
            Some(Value::String(schema)) => {
                let schema: String = schema.chars().take(MAX_SHOWN).collect();
                self.fatal::<()>(format!("`$schema` is `{schema}`, which is not a version that is known"));
            }
            _ => {
                self.fatal::<()>(format!("`$schema` is missing; for 1.0.0 it is `{MANIFEST_SCHEMA}`"));
            }
        }
        let name = match object.get("name") {
            Some(Value::String(name)) if is_plugin_name(name) => name.clone(),
            Some(Value::String(name)) => {
                let name: String = name.chars().take(MAX_SHOWN).collect();
                self.fatal(format!(
                    "`name` is `{name}`; it may have 1 to 64 lower-case letters, digits, single hyphens and single periods"
                ))?
            }
            _ => self.fatal("`name` is missing or not a string")?,
        };
        for (key, value) in object {
            self.field(key, value);
        }
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(PluginManifest {
            name,
            version: text("version"),
            description: text("description"),
            repository: text("repository"),
            license: text("license"),
        })
    }

    fn field(&mut self, key: &str, value: &Value) {
        match key {
            "$schema" | "name" => {}
            "version" | "description" | "homepage" | "repository" | "license" => {
                if !value.is_string() {
                    self.fatal::<()>(format!("`{key}` is not a string"));
                }
            }
            "keywords" => {
                let is_words = value.as_array().is_some_and(|words| words.iter().all(Value::is_string));
                if !is_words {
                    self.fatal::<()>("`keywords` is not a list of strings");
                }
            }
            "author" => self.author(value),
            "extensions" if !value.is_object() => {
                self.ignored("`extensions` is not an object and is ignored".to_owned());
            }
            "extensions" => {
                let spaces = value.as_object().into_iter().flatten();
                for (space, _) in spaces.filter(|(_, content)| !content.is_object()) {
                    self.fatal::<()>(format!("`extensions.{}` is not an object", shown(space)));
                }
            }
            other => self.ignored(format!("`{}` is not a field of a manifest and is ignored", shown(other))),
        }
    }

    fn author(&mut self, value: &Value) {
        let Some(author) = value.as_object() else {
            self.fatal::<()>("`author` is not an object");
            return;
        };
        for (key, value) in author {
            if !matches!(key.as_str(), "name" | "email" | "url") {
                self.fatal::<()>(format!("`author.{}` is not a field of an author", shown(key)));
            } else if !value.is_string() {
                self.fatal::<()>(format!("`author.{key}` is not a string"));
            }
        }
    }
}

fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Option<String>, Vec<RuleId>) {
        let (manifest, findings) = read_manifest(text.as_bytes());
        (manifest.map(|manifest| manifest.name), findings.iter().map(|found| found.rule).collect())
    }

    fn with(fields: &str) -> String {
        format!(r#"{{"$schema": "{MANIFEST_SCHEMA}", "name": "a.b-1"{fields}}}"#)
    }

    #[test]
    fn a_manifest_is_valid_or_rejected_and_unknown_fields_are_reported() {
        let name = || Some("a.b-1".to_owned());
        assert_eq!(check(&with("")), (name(), vec![]));
        assert_eq!(
            check(&with(r#", "version": "x", "keywords": ["k"], "author": {"name": "n"}"#)),
            (name(), vec![])
        );
        assert_eq!(
            check(&with(r#", "skills": "./x", "extensions": 5"#)),
            (name(), vec![RuleId::PluginField; 2])
        );
        for fatal in [
            r#", "version": 1"#,
            r#", "keywords": [1]"#,
            r#", "author": {"x": "y"}"#,
            r#", "author": "me""#,
            r#", "extensions": {"a": 1}"#,
        ] {
            assert_eq!(check(&with(fatal)), (None, vec![RuleId::PluginInvalid]), "{fatal}");
        }
        for broken in ["", "[]", "{", "{}", r#"{"name": "a"}"#, r#"{"$schema": "https://x", "name": "a"}"#] {
            assert_eq!(check(broken).0, None, "{broken}");
        }
    }

    #[test]
    fn names_of_plugins() {
        for name in ["my-plugin", "acme.tools", "lint3r", "a"] {
            assert!(is_plugin_name(name), "{name}");
        }
        for name in
            ["", "My-Plugin", "-start", "end.", "has--double", "too.many..dots", "a_b", &"x".repeat(65)]
        {
            assert!(!is_plugin_name(name), "{name}");
        }
    }
}
