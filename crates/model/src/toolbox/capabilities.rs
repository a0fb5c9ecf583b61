//! What tools ask for, as a person reads it and as it is compared.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::declared::{DEFAULT_TIMEOUT_SECONDS, SkillTool, Toolbox};

/// What a tool asks for beyond its own files and a scratch directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Needs {
    /// Whether it talks to other machines.
    pub network: bool,
    /// Whether it reads the working directory.
    pub directory: bool,
    /// The paths in the working directory that it writes: `.` is all of it, `out/` a directory, and `out` whatever is there, or else a
    /// file.
    pub write: Vec<String>,
    /// What it does with the git repository that the working directory lies in.
    pub repository: Option<RepositoryUse>,
    /// The environment variables that it reads.
    pub env: Vec<String>,
    /// Whether a person is to be asked before every call, unless they approved this tool by name.
    pub ask: bool,
}

/// What a tool does with the git repository that the working directory lies in: the checkout from its top, and what git keeps of it, wherever that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepositoryUse {
    /// It reads it.
    Read,
    /// It writes it too, but for what git, shells and agents obey.
    Write,
}

impl RepositoryUse {
    /// Returns the word for it in `schema.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Returns what `word` means.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|own| own.as_str() == word)
    }
}

impl Needs {
    /// Returns what the tool will be able to do, a clause each.
    pub fn clauses(&self) -> Vec<String> {
        let mut clauses = Vec::new();
        if self.directory {
            clauses.push("reads the working directory".to_owned());
        }
        clauses.extend(self.write.iter().map(|path| match path.as_str() {
            "." => "writes anywhere in the working directory".to_owned(),
            path => format!("writes {path} in the working directory"),
        }));
        clauses.extend(self.repository.map(|how| match how {
            RepositoryUse::Read => "reads the git repository around the working directory".to_owned(),
            RepositoryUse::Write => {
                "reads and writes the git repository around the working directory".to_owned()
            }
        }));
        if self.network {
            clauses.push("uses the network".to_owned());
        }
        clauses.extend(self.env.iter().map(|name| format!("reads the environment variable {name}")));
        if self.ask {
            clauses.push("asks a person before every call".to_owned());
        }
        clauses
    }
}

/// Everything that the tools of a skill ask for.
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

/// What one tool asks for, and how it runs as far as its author says so.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Capability {
    needs: Needs,
    timeout: u64,
    command: Option<Vec<String>>,
}

impl Capability {
    /// Returns what the tool will be able to do, a clause each.
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
            "repository": needs.repository.map(RepositoryUse::as_str),
            "env": needs.env,
            "ask": needs.ask,
            "timeout": timeout,
            "command": command,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let switch = |key: &str| value.get(key)?.as_bool();
        let words = |key: &str| -> Option<Vec<String>> {
            value.get(key)?.as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        let repository = match value.get("repository") {
            None | Some(Value::Null) => None,
            Some(word) => Some(RepositoryUse::named(word.as_str()?)?),
        };
        let needs = Needs {
            repository,
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
    /// Returns what the tools of `toolbox` ask for.
    pub fn of(toolbox: &Toolbox) -> Self {
        let capability = |tool: &SkillTool| Capability {
            needs: tool.needs.clone(),
            timeout: tool.timeout,
            command: tool.command.clone(),
        };
        Self { tools: toolbox.tools.iter().map(|tool| (tool.name.clone(), capability(tool))).collect() }
    }

    /// Returns the tools with what each asks for, by name.
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

    /// Returns the lines that are new since `earlier`, and those that are gone.
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
    fn a_difference_tells_what_came_and_what_went() {
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
