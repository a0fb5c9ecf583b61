//! The records of installers about skills.

use repertoire_sources::origin::{Comparison, Origin};
use schemars::JsonSchema;
use serde::Serialize;

use crate::origin::{ComparedOrigin, MODE_CHANGED};

/// The record of an installer about a skill; what the record does not tell is `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct OriginView {
    /// The installer: `rep`, `skills`, `gh`, `apm`, `dotagents`, `openskills`, `clawhub` or `claude-plugin`.
    pub installer: &'static str,
    /// The file that holds the record.
    pub record: String,
    /// The source, such as `owner/repo`.
    pub source: Option<String>,
    /// The path in the source.
    pub path: Option<String>,
    /// The branch, tag or version that was asked for.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// The version.
    pub version: Option<String>,
    /// The time of the installation, as the installer wrote it.
    pub installed_at: Option<String>,
    /// The state of the skill since then: `unchanged`, `changed`, `unknown` or `missing`.
    pub state: &'static str,
    /// The files that differ, where the record has a hash of each.
    pub files: Vec<String>,
    /// The reason that the state is `unknown`, or that it is `changed` although no content differs.
    pub reason: Option<String>,
    /// The installer, the source and the state, for people.
    pub in_words: String,
}

impl OriginView {
    /// Returns the view of `compared`.
    pub fn new(compared: &ComparedOrigin) -> Self {
        let (files, reason) = match &compared.comparison {
            Comparison::Unchanged => (Vec::new(), None),
            Comparison::Changed { files } => (files.clone(), None),
            Comparison::ModeChanged => (Vec::new(), Some(MODE_CHANGED.to_owned())),
            Comparison::Unknown(reason) => (Vec::new(), Some(reason.clone())),
        };
        let state = compared.comparison.as_str();
        Self { state, files, reason, in_words: compared.in_words(), ..Self::missing(&compared.origin) }
    }

    /// Returns the view of the record of a skill that is missing.
    pub fn missing(origin: &Origin) -> Self {
        let source = origin.in_words().map(|source| format!(" from {source}")).unwrap_or_default();
        Self {
            installer: origin.installer.as_str(),
            record: origin.record.display().to_string(),
            source: origin.source.clone(),
            path: origin.path.clone(),
            reference: origin.reference.clone(),
            commit: origin.commit.clone(),
            version: origin.version.clone(),
            installed_at: origin.installed_at.clone(),
            state: "missing",
            files: Vec::new(),
            reason: None,
            in_words: format!("{}{source}, missing", origin.installer.command()),
        }
    }
}

/// A skill of which an installer keeps a record; it has the keys of the record, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedSkillView {
    /// The name of the skill.
    pub name: String,
    /// The directory of the skill; `null` if it is missing.
    pub directory: Option<String>,
    /// The record.
    #[serde(flatten)]
    pub origin: OriginView,
}

/// A record of an installer that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrokenRecordView {
    /// The file.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// The result of a comparison of skills with the records of their installers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OriginReportView {
    /// True if no skill is changed or missing, and every record can be read.
    pub ok: bool,
    /// The skills.
    pub skills: Vec<RecordedSkillView>,
    /// The records that cannot be read.
    pub faults: Vec<BrokenRecordView>,
}
