//! The truth about what is in a model's context.
//!
//! A transcript is append-only and cached, skills change, models unload and hosts compact. This state machine says for each
//! skill whether its instructions can be relied on to be before the model. When in doubt they are not: giving them twice
//! costs tokens, keeping them back costs the task.

use std::collections::BTreeMap;

use crate::{Digest, SkillName};

/// Whether a skill's instructions are in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// They never were.
    Absent,
    /// They are, as they are on disk as far as is known.
    Active,
    /// They are, but the skill has changed since.
    Stale,
    /// They are, but the skill was unloaded, so the next compaction may drop them.
    Evictable,
    /// They were, and a compaction dropped them.
    Lost,
}

/// What is known about one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whether its instructions are in the context.
    pub presence: Presence,
    /// The digest of those in the context; `None` where they were seen but could not be recognised.
    pub digest: Option<Digest>,
    /// The turn at which they were last given; 0 for those of the prompt.
    pub turn: u64,
    /// Whether they are part of the prompt, which no compaction drops.
    pub is_bound: bool,
}

/// A skill that a transcript shows to have been loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The skill.
    pub name: SkillName,
    /// The digest of the instructions that the transcript holds; `None` where they could not be recognised.
    pub digest: Option<Digest>,
    /// The turn at which they stand.
    pub turn: u64,
    /// Whether the skill was unloaded later.
    pub unloaded: bool,
}

/// What happens when an active skill is loaded again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Reload {
    /// It is acknowledged if its instructions are surely in the context and unchanged; the default.
    #[default]
    Auto,
    /// Its instructions are always given.
    AlwaysBody,
    /// It is acknowledged as long as some version of its instructions is in the context.
    ShortAck,
}

/// How `load_skill` is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The instructions are in the context since this turn.
    Acknowledge {
        /// The turn.
        turn: u64,
    },
    /// They are to be given, because the skill is in this state.
    Give(Presence),
}

/// What is known about the skills of one conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    skills: BTreeMap<SkillName, Record>,
    turn: u64,
}
