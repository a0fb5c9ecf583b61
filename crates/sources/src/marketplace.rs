//! The marketplace of a repository, `.claude-plugin/marketplace.json`. The skills of plugins that lie in the repository are found like all
//! others; those of plugins that lie elsewhere have to be added from there.

use std::path::Path;

use repertoire::regular_file;
use serde_json::Value;

/// The path of the file in a repository.
pub(crate) const MARKETPLACE_FILE: &str = ".claude-plugin/marketplace.json";

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The most plugins that are named.
const MAX_PLUGINS: usize = 50;

/// Returns a note for each plugin of the marketplace in `root` that lies elsewhere.
pub(crate) fn plugins_elsewhere(root: &Path) -> Vec<String> {
    let Ok(bytes) = regular_file::read_no_follow(&root.join(MARKETPLACE_FILE), MAX_BYTES) else {
        return Vec::new();
    };
    let Ok(marketplace) = serde_json::from_slice::<Value>(&bytes) else {
        return vec![format!("{MARKETPLACE_FILE} is no JSON")];
    };
    let plugins = marketplace["plugins"].as_array().map(Vec::as_slice).unwrap_or_default();
    plugins.iter().filter_map(note).take(MAX_PLUGINS).collect()
}

fn note(plugin: &Value) -> Option<String> {
    let source = plugin["source"].as_object()?;
    let word = |key: &str| source.get(key).and_then(Value::as_str);
    let mut place = word("repo").or_else(|| word("url"))?.to_owned();
    if let Some(path) = word("path").filter(|_| word("repo").is_some()) {
        place += &format!("/{path}");
    }
    if let Some(reference) = word("sha").or_else(|| word("ref")) {
        place += &format!("#{reference}");
    }
    let name = plugin["name"].as_str().unwrap_or("without a name");
    Some(format!("the plugin {name} of the marketplace lies elsewhere; `rep add {place}` adds its skills"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_that_lie_elsewhere_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(MARKETPLACE_FILE);
        assert!(plugins_elsewhere(directory.path()).is_empty());
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        let plugins = r#"{"plugins": [{"name": "here", "source": "./plugins/here"},
            {"name": "a", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "b", "source": {"source": "url", "url": "https://git.example/r.git"}}]}"#;
        std::fs::write(&path, plugins).unwrap();
        let notes = plugins_elsewhere(directory.path());
        assert_eq!(notes.len(), 2);
        assert!(
            notes[0].contains("`rep add o/r#v1`") && notes[1].contains("`rep add https://git.example/r.git`")
        );
        std::fs::write(&path, "{").unwrap();
        assert_eq!(plugins_elsewhere(directory.path()).len(), 1);
    }
}
