//! The record of an approval.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire_model::toolbox::PYTHON_FILE;
use repertoire_model::{Bundle, Capabilities, Digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use repertoire::registry::Entry;

/// The approval of a skill by a person: these files, with these capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
#[non_exhaustive]
pub struct Approval {
    /// The name of the skill.
    pub name: String,
    /// The directory of the skill. A skill of the same name in another directory needs its own approval.
    pub directory: String,
    /// The source of the skill.
    pub source: String,
    /// The digest of its bundle.
    pub digest: Digest,
    /// The capabilities that its tools declare.
    pub capabilities: Capabilities,
    /// The digests of its files, by path.
    pub files: BTreeMap<String, Digest>,
    /// The paths of its executable files.
    pub executables: BTreeSet<String>,
    /// The tools that ask before every call and were approved by name, sorted.
    pub tools: Vec<String>,
    /// The tools that were read from its `tools.py`, as the text of a `schema.json`, without one of its own.
    pub schema: Option<String>,
    /// The time of the approval, in seconds since 1970.
    pub seconds: u64,
}

/// The difference between an approved skill and the present one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Added capabilities.
    pub added: Vec<String>,
    /// Removed capabilities.
    pub removed: Vec<String>,
    /// Added files.
    pub new_files: Vec<String>,
    /// Files with another content.
    pub changed_files: Vec<String>,
    /// Removed files.
    pub gone_files: Vec<String>,
    /// Files whose executable bit changed, as `PATH: executable now` or `PATH: no longer executable`.
    pub changed_modes: Vec<String>,
}

impl Approval {
    /// Returns an approval of `entry` with the current time.
    pub fn now(entry: &Entry, bundle: &Bundle, capabilities: Capabilities, tools: Vec<String>) -> Self {
        let files = bundle.files().iter().map(|file| (file.path.to_string(), file.digest)).collect();
        let executable = bundle.files().iter().filter(|file| file.executable);
        Self {
            name: entry.name().to_string(),
            directory: entry.directory().to_owned(),
            source: entry.source.to_string(),
            digest: bundle.digest(),
            capabilities,
            files,
            executables: executable.map(|file| file.path.to_string()).collect(),
            tools,
            schema: None,
            seconds: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }

    /// Returns whether this is an approval of the skill `entry`, even if its files have changed since.
    pub fn is_of(&self, entry: &Entry) -> bool {
        self.name == entry.name().as_str() && self.directory == entry.directory()
    }

    /// Returns whether a skill with this digest and these capabilities is approved.
    pub fn holds(&self, digest: &Digest, capabilities: &Capabilities) -> bool {
        self.digest == *digest && self.capabilities == *capabilities
    }

    /// Returns the tools read from the `tools.py` with the digest `python`, if that is the approved one.
    pub fn schema_of(&self, python: &Digest) -> Option<&str> {
        self.schema.as_deref().filter(|_| self.files.get(PYTHON_FILE) == Some(python))
    }

    /// Returns the difference from this approval to `now`.
    pub fn difference(&self, now: &Self) -> Difference {
        let (added, removed) = now.capabilities.difference(&self.capabilities);
        let is_new = |path: &&String| !self.files.contains_key(*path);
        let is_changed =
            |path: &&String| self.files.get(*path).is_some_and(|digest| Some(digest) != now.files.get(*path));
        let mode = |path: &String| {
            let (is, was) = (now.executables.contains(path), self.executables.contains(path));
            let word = if is { "executable now" } else { "no longer executable" };
            (self.files.contains_key(path) && is != was).then(|| format!("{path}: {word}"))
        };
        Difference {
            changed_modes: now.files.keys().filter_map(mode).collect(),
            added,
            removed,
            new_files: now.files.keys().filter(is_new).cloned().collect(),
            changed_files: now.files.keys().filter(is_changed).cloned().collect(),
            gone_files: self.files.keys().filter(|path| !now.files.contains_key(*path)).cloned().collect(),
        }
    }

    /// Returns the approval as the JSON object that is stored.
    fn to_json(&self) -> Value {
        let files: Map<String, Value> =
            self.files.iter().map(|(path, digest)| (path.clone(), digest.to_string().into())).collect();
        json!({
            "name": self.name,
            "directory": self.directory,
            "source": self.source,
            "digest": self.digest.to_string(),
            "capabilities": self.capabilities.to_json(),
            "files": files,
            "executables": self.executables,
            "tools": self.tools,
            "schema": self.schema,
            "seconds": self.seconds,
        })
    }

    /// Parses a stored JSON object.
    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let file = |(path, digest): (&String, &Value)| Some((path.clone(), Digest::parse(digest.as_str()?)?));
        Some(Self {
            name: text("name")?,
            directory: text("directory")?,
            source: text("source")?,
            digest: Digest::parse(&text("digest")?)?,
            capabilities: Capabilities::from_json(value.get("capabilities")?)?,
            files: value.get("files")?.as_object()?.iter().map(file).collect::<Option<_>>()?,
            executables: words(value.get("executables")?)?.into_iter().collect(),
            tools: words(value.get("tools")?)?,
            schema: text("schema"),
            seconds: value.get("seconds")?.as_u64()?,
        })
    }
}

impl From<Approval> for Value {
    fn from(approval: Approval) -> Self {
        approval.to_json()
    }
}

impl TryFrom<Value> for Approval {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        Self::from_json(&value).ok_or("it contains an invalid approval")
    }
}

/// Returns the strings of a JSON array.
fn words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
}
