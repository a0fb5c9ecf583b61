//! The marketplace of a repository, `.claude-plugin/marketplace.json`. The skills of plugins that lie in the
//! repository are found like all others; those of plugins that lie elsewhere have to be added from there.

use std::path::Path;

use repertoire::regular_file;
use serde_json::Value;

use crate::source::{Source, SourceText};

/// The path of the file in a repository.
pub(crate) const MARKETPLACE_FILE: &str = ".claude-plugin/marketplace.json";

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The most plugins that are named.
const MAX_PLUGINS: usize = 50;

/// A plugin of a marketplace that lies in another repository or in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginElsewhere {
    /// Its name, as the marketplace has it.
    pub name: String,
    /// Its repository or package, as a source of skills; none if it names none that skills can be added from.
    pub source: Option<String>,
}

/// Returns the plugins of the marketplace in `root` that lie elsewhere, or a note if it cannot be understood.
pub(crate) fn plugins_elsewhere(root: &Path) -> Result<Vec<PluginElsewhere>, String> {
    let Ok(bytes) = regular_file::read_no_follow(&root.join(MARKETPLACE_FILE), MAX_BYTES) else {
        return Ok(Vec::new());
    };
    let Ok(marketplace) = serde_json::from_slice::<Value>(&bytes) else {
        return Err(format!("{MARKETPLACE_FILE} is not JSON"));
    };
    let plugins = marketplace["plugins"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(plugins.iter().filter_map(plugin_elsewhere).take(MAX_PLUGINS).collect())
}

fn plugin_elsewhere(plugin: &Value) -> Option<PluginElsewhere> {
    let source = plugin["source"].as_object()?;
    let word = |key: &str| source.get(key).and_then(Value::as_str);
    let reference = word("sha").or_else(|| word("ref")).map(|name| format!("#{name}")).unwrap_or_default();
    let text = if let Some(repository) = word("repo") {
        let path = word("path").map(|path| format!("/{path}")).unwrap_or_default();
        format!("{repository}{path}{reference}")
    } else if let Some(url) = word("url") {
        let path = word("path").map(|path| format!("//{path}")).unwrap_or_default();
        format!("{url}{path}{reference}")
    } else {
        let registry = if word("source") == Some("pip") { "pypi" } else { "npm" };
        format!("{registry}:{}", word("package").unwrap_or_default())
    };
    let name = plugin["name"].as_str().unwrap_or("without a name").to_owned();
    // The address of a repository may look like that of a server with an index.
    let source = [text.clone(), format!("git+{text}")].into_iter().find(|text| is_elsewhere(text));
    Some(PluginElsewhere { name, source })
}

/// Returns `true` if `text` is the source of a repository or a package, and of none on this machine.
fn is_elsewhere(text: &str) -> bool {
    let parsed = SourceText::parse(text, Path::new("/"), None).map(|parsed| parsed.source);
    match parsed {
        Ok(Source::Git(git)) => !git.url.starts_with("file:"),
        Ok(Source::Npm(_) | Source::Pypi(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_that_lie_elsewhere_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(MARKETPLACE_FILE);
        assert_eq!(plugins_elsewhere(directory.path()), Ok(Vec::new()));
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        let plugins = r#"{"plugins": [{"name": "here", "source": "./plugins/here"},
            {"name": "a", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "b", "source": {"source": "url", "url": "https://git.example/r.git"}},
            {"name": "c", "source": {"source": "git-subdir", "url": "https://git.example/r", "path": "plugins/c"}},
            {"name": "d", "source": {"source": "url", "url": "--upload-pack=x"}},
            {"name": "e", "source": {"source": "url", "url": "/etc"}},
            {"name": "f", "source": {"source": "url", "url": "file:///etc"}},
            {"name": "g", "source": {"source": "npm", "package": "@o/x"}},
            {"name": "h", "source": {"source": "pip", "package": "x"}},
            {"name": "i", "source": {"source": "npm"}}]}"#;
        std::fs::write(&path, plugins).unwrap();
        let found = plugins_elsewhere(directory.path()).unwrap();
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.source.as_deref())).collect();
        let expect = [
            ("a", Some("o/r#v1")),
            ("b", Some("https://git.example/r.git")),
            ("c", Some("git+https://git.example/r//plugins/c")),
            ("d", None),
            ("e", None),
            ("f", None),
            ("g", Some("npm:@o/x")),
            ("h", Some("pypi:x")),
            ("i", None),
        ];
        assert_eq!(found, expect);
        std::fs::write(&path, "{").unwrap();
        assert!(plugins_elsewhere(directory.path()).is_err());
    }
}
