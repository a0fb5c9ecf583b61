//! The record of one skill in a context.

use crate::{Digest, SkillName};

/// The presence of a skill's instructions in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// They never were, or they were unloaded and are gone.
    Absent,
    /// They are, and the same as on disk as far as is known.
    Active,
    /// They are, but the skill has changed since.
    Stale,
    /// They are, but the skill was unloaded, so the next compaction may drop them.
    Evictable,
    /// They were, and a compaction dropped them.
    Lost,
}

/// The record of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRecord {
    /// The presence of its instructions in the context.
    pub presence: Presence,
    /// The digest of those in the context; `None` where they were seen but could not be recognised.
    pub digest: Option<Digest>,
    /// The turn at which they were last given, as it is shown; 0 for those of the prompt.
    ///
    /// A host that advances the ledger counts its calls, a transcript counts the messages of the assistant.
    /// So turns are shown, and nothing is decided by comparing them.
    pub turn: u64,
    /// True if they are part of the prompt, which no compaction drops.
    pub is_bound: bool,
    /// True if `digest` is certainly that of a whole version of the instructions: this process gave them, or
    /// the transcript holds them stamped with it, or it is the one on disk. `false` if a host may have
    /// trimmed or cut the transcript.
    pub is_certain: bool,
}

/// A skill that a transcript shows to have been loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenSkill {
    /// The skill.
    pub name: SkillName,
    /// The digest of the instructions that the transcript holds; `None` where they could not be recognised.
    pub digest: Option<Digest>,
    /// True if `digest` was stamped, so that the instructions are certainly whole.
    pub is_certain: bool,
    /// The turn at which they stand.
    pub turn: u64,
    /// Its place among all that were seen: of two skills, the one that was used later, by a load or an
    /// acknowledged one, has the greater one.
    pub order: u64,
    /// True if the skill was unloaded later.
    pub unloaded: bool,
}
