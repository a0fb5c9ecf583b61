//! Writes a `SKILL.md`.

use std::fmt::Write;

use repertoire_model::Manifest;
use repertoire_model::repair::quote;

/// Returns the `SKILL.md` with the frontmatter `manifest` and the instructions `body`.
///
/// Every text is a double-quoted scalar, so that it is never taken for a number, a comment or markup.
pub(super) fn skill_md(manifest: &Manifest, body: &str) -> String {
    let mut text = String::with_capacity(body.len() + 512);
    text.push_str("---\n");
    scalar(&mut text, "name", manifest.name.as_deref());
    scalar(&mut text, "description", manifest.description.as_deref());
    scalar(&mut text, "license", manifest.license.as_deref());
    scalar(&mut text, "compatibility", manifest.compatibility.as_deref());
    if !manifest.metadata.is_empty() {
        text.push_str("metadata:\n");
        for (key, value) in &manifest.metadata {
            text.push_str("  ");
            text.push_str(&quote(key));
            text.push_str(": ");
            text.push_str(&quote(value));
            text.push('\n');
        }
    }
    if !manifest.allowed_tools.is_empty() {
        scalar(&mut text, "allowed-tools", Some(&manifest.allowed_tools.join(" ")));
    }
    scalar(&mut text, "version", manifest.version.as_deref());
    scalar(&mut text, "author", manifest.author.as_deref());
    list(&mut text, "trigger_keywords", &manifest.trigger_keywords);
    list(&mut text, "references", &manifest.references);
    list(&mut text, "scripts", &manifest.scripts);
    list(&mut text, "assets", &manifest.assets);
    list(&mut text, "tags", &manifest.tags);
    list(&mut text, "requires", &manifest.requires);
    list(&mut text, "paths", &manifest.paths);
    if manifest.disable_model_invocation {
        text.push_str("disable-model-invocation: true\n");
    }
    if let Some(user_invocable) = manifest.user_invocable {
        let _ = writeln!(text, "user-invocable: {user_invocable}");
    }
    text.push_str("---\n");
    text.push_str(body);
    text
}

fn scalar(text: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        text.push_str(key);
        text.push_str(": ");
        text.push_str(&quote(value));
        text.push('\n');
    }
}

fn list(text: &mut String, key: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    text.push_str(key);
    text.push_str(":\n");
    for value in values {
        text.push_str("  - ");
        text.push_str(&quote(value));
        text.push('\n');
    }
}
