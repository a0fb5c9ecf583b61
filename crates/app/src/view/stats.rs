//! A report on the usage of skills.

use repertoire::event::jsonl::rfc3339;
use repertoire::usage::FileUsage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

use super::UsageView;

/// A report on the usage of skills, of whole days of UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StatsView {
    /// The begin of the time of the report, in RFC 3339; `null` for one before 1970.
    pub since: Option<String>,
    /// The number of sessions in which a skill of the library was used or asked for.
    pub sessions: u64,
    /// True if there were more events than are looked at, so that there may be more sessions.
    pub sessions_are_least: bool,
    /// The sums over all skills of the library.
    pub totals: UsageTotalsView,
    /// The concentration of loads on a few skills.
    pub concentration: ConcentrationView,
    /// The skills that were used or asked for, the most loaded first, and the others of the library.
    pub skills: Vec<UsedSkillView>,
    /// The time of the first call that was recorded, in RFC 3339; `null` if nothing was recorded.
    pub recording_began: Option<String>,
    /// The days without use after which a skill is called unused; may be a fraction.
    pub dead_after_days: Number,
    /// The skills that are in the catalog and were not used for so long.
    pub dead: Vec<UnusedSkillView>,
    /// The files that were read most.
    pub hot_files: Vec<ReadFileView>,
    /// The usage that clients recorded themselves; with `--from-clients`.
    pub clients: Vec<ClientRecordView>,
    /// The files below `references/` of loaded skills that were not read.
    pub unread_files: Vec<UnreadFileView>,
}

/// The sums of a report on usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsageTotalsView {
    /// The number of times that instructions were given.
    pub loads: u64,
    /// The number of times that files were given.
    pub reads: u64,
    /// The number of calls that failed.
    pub failures: u64,
    /// The tokens of instructions and files that were given.
    pub tokens: u64,
    /// The tokens of the entries in the catalogs of all sessions.
    pub catalog_tokens: u64,
    /// The number of agents that the host named.
    pub agents: usize,
}

/// The concentration of loads on a few skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConcentrationView {
    /// The share of all loads, in percent.
    pub percent: u64,
    /// The smallest number of skills with that share.
    pub core_skills: usize,
    /// The number of skills that were loaded.
    pub loaded_skills: usize,
}

/// A skill in a report on usage; it has the keys of its usage, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsedSkillView {
    /// The name.
    pub name: String,
    /// The source; `null` if only the name is known.
    pub source: Option<String>,
    /// The identity, by which skills of one name are told apart; `null` if only the name is known.
    pub identity: Option<String>,
    /// The relation to the library: `present`, `disabled`, `gone`, `elsewhere` or `unknown`.
    pub state: &'static str,
    /// The tokens of its entry in the catalogs of all sessions.
    pub catalog_tokens: u64,
    /// The usage.
    #[serde(flatten)]
    pub usage: UsageView,
    /// Its files that were read or asked for, the most read first.
    pub files: Vec<UsedFileView>,
}

/// The usage of a file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsedFileView {
    /// The path in the skill.
    pub path: String,
    /// The number of times that it was given.
    pub reads: u64,
    /// The number of calls about it that failed.
    pub failures: u64,
    /// The tokens that were given.
    pub tokens: u64,
    /// The number of agents that the host named.
    pub agents: usize,
    /// The time of its last use within the time of the report, in RFC 3339.
    pub last_use: Option<String>,
}

impl UsedFileView {
    /// Returns the view of `file`.
    pub fn new(file: &FileUsage) -> Self {
        Self {
            path: file.path.clone(),
            reads: file.reads,
            failures: file.failures,
            tokens: file.tokens,
            agents: file.agents,
            last_use: file.last_use.map(rfc3339),
        }
    }
}

/// A skill that costs tokens of catalogs and is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnusedSkillView {
    /// The name.
    pub name: String,
    /// The time of its last use, in RFC 3339; `null` if it was never used.
    pub last_use: Option<String>,
    /// The tokens of its entry in one catalog.
    pub catalog_tokens: u64,
    /// The path of its `SKILL.md`.
    pub path: Option<String>,
    /// The command that disables it.
    pub switch_off: String,
}

/// A file of a skill that is read often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadFileView {
    /// The skill.
    pub skill: String,
    /// The path in the skill.
    pub path: String,
    /// The number of times that it was given.
    pub reads: u64,
    /// The tokens that were given.
    pub tokens: u64,
}

/// A file of a loaded skill that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadFileView {
    /// The skill.
    pub skill: String,
    /// The path in the skill.
    pub path: String,
}

/// The usage that a client recorded itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientRecordView {
    /// The client: `Claude Code` or `Codex`.
    pub client: &'static str,
    /// The kind of the record: `counters` of all time, or `transcripts` since the begin of the report.
    pub record: &'static str,
    /// The skills.
    pub skills: Vec<ClientUseView>,
}

/// The use of a skill by a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientUseView {
    /// The name of the skill that is meant, or the name that the client used where that is not exactly one.
    pub name: String,
    /// The number of uses.
    pub uses: u64,
    /// The time of its last use, in RFC 3339.
    pub last_use: Option<String>,
}
