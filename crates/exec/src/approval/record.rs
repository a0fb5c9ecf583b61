//! The record of an approval.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire_model::{Bundle, Capabilities, Digest};
use serde_json::{Map, Value, json};

use repertoire::registry::Entry;

/// The approval of a skill by a person: these files, with these capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The name of the skill.
    pub name: String,
    /// The directory it lies in; another skill of the same name is another skill.
    pub directory: String,
    /// The source it came from.
    pub source: String,
    /// The digest of its bundle.
    pub digest: Digest,
    /// The capabilities that its tools declare.
    pub capabilities: Capabilities,
    /// The digests of its files, by path.
    pub files: BTreeMap<String, Digest>,
    /// Those of its files that may be executed.
    pub executables: BTreeSet<String>,
    /// The tools that ask before every call and were approved by name, sorted.
    pub tools: Vec<String>,
    /// When, in seconds since 1970.
    pub seconds: u64,
}

/// The difference between an approved skill and the present one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// New capabilities.
    pub added: Vec<String>,
    /// Dropped capabilities.
    pub removed: Vec<String>,
    /// Files that are new.
    pub new_files: Vec<String>,
    /// Files that are others.
    pub changed_files: Vec<String>,
    /// Files that are gone.
    pub gone_files: Vec<String>,
    /// Files that may be executed now and could not be, or the other way round, with which of the two it is.
    pub changed_modes: Vec<String>,
}

impl Approval {
    /// Returns the approval of `entry` as it is now, with `bundle` and `capabilities`.
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
            seconds: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }

    /// Returns whether this is an approval of the skill `entry`, whatever its files are by now.
    pub fn is_of(&self, entry: &Entry) -> bool {
        self.name == entry.name().as_str() && self.directory == entry.directory()
    }

    /// Returns whether the skill is still what was approved.
    pub fn holds(&self, digest: &Digest, capabilities: &Capabilities) -> bool {
        self.digest == *digest && self.capabilities == *capabilities
    }

    /// Returns what makes `now` of this.
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

    /// Returns the object that is kept of it.
    pub(super) fn to_json(&self) -> Value {
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
            "seconds": self.seconds,
        })
    }

    /// Returns the approval that `value` is kept of.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
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
            seconds: value.get("seconds")?.as_u64()?,
        })
    }
}

/// Returns the texts of a list.
fn words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
}
