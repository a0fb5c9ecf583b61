//! The capabilities that the tools of a skill request, for people and for comparison.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::declared::{DEFAULT_TIMEOUT_SECONDS, SkillTool, Toolbox};
use super::needs::{HostCommand, Needs};

/// Everything that the tools of a skill request.
///
/// ```
/// use repertoire_model::toolbox::{Capabilities, Toolbox};
/// let text = r#"[{"name": "fetch", "description": "Fetches.", "network": true}]"#;
/// let capabilities = Capabilities::of(&Toolbox::read(text.as_bytes()).0);
/// assert_eq!(capabilities.lines(), ["fetch: uses the network"]);
/// assert_eq!(Capabilities::from_json(&capabilities.to_json()), Some(capabilities));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    tools: BTreeMap<String, Capability>,
}

/// The needs of one tool, with its timeout and command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Capability {
    needs: Needs,
    timeout: u64,
    command: Option<Vec<String>>,
}

impl Capability {
    fn clauses(&self) -> Vec<String> {
        let mut clauses = Vec::new();
        if let Some(command) = &self.command {
            clauses.push(format!("runs the command `{}`", command.join(" ")));
        }
        if self.timeout != DEFAULT_TIMEOUT_SECONDS {
            clauses.push(format!("runs for up to {} seconds", self.timeout));
        }
        match self.needs.clauses() {
            none if none.is_empty() => {
                clauses.push("nothing beyond its own files and a scratch directory".to_owned());
            }
            needs => clauses.extend(needs),
        }
        clauses
    }

    fn to_json(&self) -> Value {
        let Self { needs, timeout, command } = self;
        json!({
            "network": needs.network,
            "directory": needs.directory,
            "write": needs.write,
            "repository": needs.repository.then_some("read"),
            "env": needs.env,
            "ask": needs.ask,
            "host": needs.host.map(HostCommand::as_str),
            "timeout": timeout,
            "command": command,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let switch = |key: &str| value.get(key)?.as_bool();
        let words = |key: &str| -> Option<Vec<String>> {
            value.get(key)?.as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        // Old approvals may say "write"; the tool is read without it now, so they do not hold any more.
        let repository = value.get("repository").is_some_and(Value::is_string);
        let host = match value.get("host") {
            None | Some(Value::Null) => None,
            Some(word) => Some(HostCommand::parse(word.as_str()?)?),
        };
        let needs = Needs {
            repository,
            host,
            network: switch("network")?,
            directory: switch("directory")?,
            write: words("write")?,
            env: words("env")?,
            ask: switch("ask")?,
        };
        let command = if value.get("command")?.is_null() { None } else { Some(words("command")?) };
        Some(Self { needs, timeout: value.get("timeout")?.as_u64()?, command })
    }
}

impl Capabilities {
    /// Returns the capabilities that the tools of `toolbox` request.
    pub fn of(toolbox: &Toolbox) -> Self {
        let capability = |tool: &SkillTool| Capability {
            needs: tool.needs.clone(),
            timeout: tool.timeout,
            command: tool.command.clone(),
        };
        Self { tools: toolbox.tools.iter().map(|tool| (tool.name.clone(), capability(tool))).collect() }
    }

    /// Returns the tools with the requests of each, by name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &Needs)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), &tool.needs))
    }

    /// Returns a line for everything that a tool will be able to do, sorted by tool.
    pub fn lines(&self) -> Vec<String> {
        let of = |(name, tool): (&String, &Capability)| -> Vec<String> {
            tool.clauses().into_iter().map(|clause| format!("{name}: {clause}")).collect()
        };
        self.tools.iter().flat_map(of).collect()
    }

    /// Returns the lines that are new since `earlier`, and the ones that are gone.
    pub fn difference(&self, earlier: &Self) -> (Vec<String>, Vec<String>) {
        let (now, before) = (self.lines(), earlier.lines());
        let added = now.iter().filter(|line| !before.contains(line)).cloned().collect();
        let removed = before.iter().filter(|line| !now.contains(line)).cloned().collect();
        (added, removed)
    }

    /// Returns the object that is kept of them.
    pub fn to_json(&self) -> Value {
        let tools = self.tools.iter().map(|(name, tool)| (name.clone(), tool.to_json()));
        Value::Object(tools.collect::<Map<_, _>>())
    }

    /// Returns the capabilities that [`Capabilities::to_json`] made `value` of.
    pub fn from_json(value: &Value) -> Option<Self> {
        let tool = |(name, tool): (&String, &Value)| Some((name.clone(), Capability::from_json(tool)?));
        Some(Self { tools: value.as_object()?.iter().map(tool).collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_added_and_removed_capabilities() {
        let of = |text: &str| Capabilities::of(&Toolbox::read(text.as_bytes()).0);
        let before = of(r#"[{"name": "a", "write": ["out"]}, {"name": "b"}]"#);
        let after = of(r#"[{"name": "a", "write": ["."], "network": true}]"#);
        let (added, removed) = after.difference(&before);
        assert_eq!(added, ["a: writes anywhere in the working directory", "a: uses the network"]);
        assert_eq!(
            removed,
            [
                "a: writes out in the working directory",
                "b: nothing beyond its own files and a scratch directory"
            ]
        );
        assert_eq!(after.difference(&after), (vec![], vec![]));
        let runs = of(r#"[{"name": "a", "command": ["jq", "."], "timeout": 5}]"#);
        let nothing = "a: nothing beyond its own files and a scratch directory";
        assert_eq!(runs.lines(), ["a: runs the command `jq .`", "a: runs for up to 5 seconds", nothing]);
        assert_eq!(Capabilities::from_json(&runs.to_json()), Some(runs));
    }
}
