//! The plugins of clients: enabled ones of Claude Code and Codex, and those in Cursor's directories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_dir;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::discovery::{Root, Tier, UserDirectories};
use crate::regular_file;

/// The largest of the clients' files that is read, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

const MAX_PLUGINS: usize = 1_000;

/// The directory of a plugin with its skills.
const SKILLS: &str = "skills";

/// The state of an installed plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PluginSwitch {
    On,
    Off,
}

/// Returns the roots of the plugins that Claude Code and Codex have installed and switched so, for the user
/// and in the project at `project`.
pub(super) fn installed(
    directories: &UserDirectories<'_>,
    project: &Path,
    switch: PluginSwitch,
) -> Vec<Root> {
    let mut roots = claude_code(directories, project, switch);
    roots.extend(codex(directories, switch));
    roots
}

/// Returns the roots of all plugins in Cursor's directories. Cursor keeps in a database which are enabled.
pub(super) fn cursor(directories: &UserDirectories<'_>) -> Vec<Root> {
    let Some(plugins) = directories.path("~/.cursor/plugins") else { return Vec::new() };
    let mut roots = Vec::new();
    for (name, path) in subdirectories(&plugins.join("local")) {
        roots.extend(root(&name, path));
    }
    for (_, marketplace) in subdirectories(&plugins.join("cache")) {
        for (name, plugin) in subdirectories(&marketplace) {
            // Revisions lie below the name; the newest is the last one that was written.
            let revisions = subdirectories(&plugin).into_iter().map(|(_, path)| path);
            let newest = revisions
                .filter(|path| path.join(SKILLS).is_dir())
                .max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok());
            roots.extend(root(&name, newest.unwrap_or(plugin)));
        }
    }
    roots
}

fn root(name: &str, plugin: PathBuf) -> Option<Root> {
    let path = plugin.join(SKILLS);
    path.is_dir().then(|| Root { label: format!("plugin:{name}"), path, tier: Tier::Plugin })
}

fn claude_code(directories: &UserDirectories<'_>, project: &Path, switch: PluginSwitch) -> Vec<Root> {
    let Some(home) = directories.path("$CLAUDE") else { return Vec::new() };
    let Some(installed) = json(&home.join("plugins/installed_plugins.json")) else { return Vec::new() };
    // Settings of the project win over those of the user, and its local ones over both.
    let mut enabled: BTreeMap<String, bool> = BTreeMap::new();
    let project_settings = project.join(".claude");
    for file in [
        home.join("settings.json"),
        project_settings.join("settings.json"),
        project_settings.join("settings.local.json"),
    ] {
        let settings = json(&file).unwrap_or_default();
        let plugins = settings.get("enabledPlugins").and_then(Value::as_object).into_iter().flatten();
        enabled.extend(plugins.filter_map(|(name, value)| Some((name.clone(), value.as_bool()?))));
    }
    let plugins = installed.get("plugins").and_then(Value::as_object).into_iter().flatten().take(MAX_PLUGINS);
    plugins
        .filter(|(name, _)| (enabled.get(*name) == Some(&true)) == (switch == PluginSwitch::On))
        .filter_map(|(name, entry)| root(name, install_path(entry, project)?))
        .collect()
}

/// Returns the directory of an installed plugin of Claude Code: the project's, or else the user's.
fn install_path(entry: &Value, project: &Path) -> Option<PathBuf> {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(PathBuf::from);
    // The first version of the file has one entry, the second a list.
    let entries: Vec<&Value> =
        entry.as_array().map_or_else(|| vec![entry], |entries| entries.iter().collect());
    let own = entries.iter().find(|entry| text(entry, "projectPath").as_deref() == Some(project));
    let of_user = || entries.iter().find(|entry| text(entry, "projectPath").is_none());
    text(own.or_else(of_user)?, "installPath").filter(|path| path.is_absolute())
}

fn codex(directories: &UserDirectories<'_>, switch: PluginSwitch) -> Vec<Root> {
    let Some(home) = directories.path("$CODEX") else { return Vec::new() };
    let cache = home.join("plugins/cache");
    let text = regular_file::read(&home.join("config.toml"), MAX_BYTES)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(config) = text.and_then(|text| toml::from_str::<toml::Table>(&text).ok()) else {
        return Vec::new();
    };
    let plugins =
        config.get("plugins").and_then(toml::Value::as_table).into_iter().flatten().take(MAX_PLUGINS);
    plugins
        .filter(|(_, entry)| {
            let is_on = entry.get("enabled").and_then(toml::Value::as_bool) == Some(true);
            is_on == (switch == PluginSwitch::On)
        })
        .filter_map(|(key, _)| {
            let (plugin, marketplace) = key.rsplit_once('@')?;
            let is_name =
                |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
            let versions =
                (is_name(plugin) && is_name(marketplace)).then(|| cache.join(marketplace).join(plugin))?;
            let versions = subdirectories(&versions).into_iter().map(|(_, path)| path);
            let newest = versions
                .filter(|path| path.join(SKILLS).is_dir())
                .max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok())?;
            root(key, newest)
        })
        .collect()
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&regular_file::read(path, MAX_BYTES).ok()?).ok()
}

/// Returns the entries of `directory` that are not hidden, by name.
fn subdirectories(directory: &Path) -> BTreeSet<(String, PathBuf)> {
    let entries = read_dir(directory).into_iter().flatten().flatten().take(MAX_PLUGINS);
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    named.filter(|(name, _)| !name.starts_with('.')).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(base: &Path, path: &str, text: &str) {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn enabled_plugins_of_claude_code_and_codex_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        let skill = |plugin: &str| write(base, &format!("{plugin}/skills/s/SKILL.md"), "# S\n");
        for plugin in [
            "h/.claude/a",
            "h/.claude/b",
            "h/.claude/c",
            "h/.claude/old",
            "h/.codex/plugins/cache/m/x/1",
            "h/.codex/plugins/cache/m/y/1",
        ] {
            skill(plugin);
        }
        let path = |name: &str| base.join("h/.claude").join(name).display().to_string();
        write(
            base,
            "h/.claude/plugins/installed_plugins.json",
            &serde_json::json!({"version": 2, "plugins": {
                "a@m": [{"scope": "project", "projectPath": "/elsewhere", "installPath": path("old")}, {"scope": "user", "installPath": path("a")}],
                "b@m": [{"scope": "user", "installPath": path("b")}],
                "c@m": {"installPath": path("c")},
                "d@m": [{"scope": "user", "installPath": "relative"}],
                "e@m": 5,
            }})
            .to_string(),
        );
        write(
            base,
            "h/.claude/settings.json",
            r#"{"enabledPlugins": {"a@m": true, "b@m": true, "d@m": true, "e@m": true}}"#,
        );
        write(base, "p/.claude/settings.json", r#"{"enabledPlugins": {"b@m": false, "c@m": true}}"#);
        write(
            base,
            "h/.codex/config.toml",
            "[plugins.\"x@m\"]\nenabled = true\n[plugins.\"y@m\"]\nenabled = false\n[plugins.\"../x@..\"]\nenabled = true\n",
        );
        let client_homes = BTreeMap::new();
        let home = base.join("h");
        let directories = UserDirectories { home: Some(&home), config: None, client_homes: &client_homes };
        let project = base.join("p");
        let enabled = || installed(&directories, &project, PluginSwitch::On);
        let labels = |roots: Vec<Root>| roots.into_iter().map(|root| root.label).collect::<Vec<_>>();
        assert_eq!(labels(enabled()), ["plugin:a@m", "plugin:c@m", "plugin:x@m"]);
        assert_eq!(enabled()[0].path, base.join("h/.claude/a/skills"));
        let disabled = installed(&directories, &project, PluginSwitch::Off);
        assert_eq!(labels(disabled), ["plugin:b@m", "plugin:y@m"]);
        skill("h/.cursor/plugins/local/mine");
        skill("h/.cursor/plugins/cache/cursor-public/other/abc");
        assert_eq!(labels(cursor(&directories)), ["plugin:mine", "plugin:other"]);
        write(base, "h/.claude/plugins/installed_plugins.json", "{");
        assert_eq!(labels(enabled()), ["plugin:x@m"]);
    }
}
