//! The ledger and its queries.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{LedgerRecord, Presence};
use crate::{Digest, SkillName};

/// The records of the skills of one conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    pub(super) skills: BTreeMap<SkillName, LedgerEntry>,
    pub(super) turn: u64,
    /// The last number of a [`LedgerEntry::sequence`].
    pub(super) sequence: u64,
}

/// A record, with the internal state of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LedgerEntry {
    pub(super) record: LedgerRecord,
    /// The digest of the instructions in the prompt, which remain when those of the transcript go.
    pub(super) prompt: Option<Digest>,
    /// True if the record is about the instructions in the prompt, and not about a copy in the transcript.
    pub(super) is_of_prompt: bool,
    /// True if a version other than that of the prompt was given, which may still be in the transcript.
    pub(super) has_other: bool,
    /// The order in which skills were last used: given or acknowledged; 0 for those of the prompt. Turns
    /// cannot serve: they are counted on two scales.
    pub(super) sequence: u64,
    /// The turn at which a transcript showed the instructions, if one did since they were given.
    pub(super) seen_turn: Option<u64>,
    /// True if the instructions were unloaded or evicted on purpose.
    pub(super) is_dismissed: bool,
}

impl LedgerEntry {
    /// Returns the entry of a copy in the transcript; `prompt` is the digest of instructions in the prompt.
    pub(super) fn new(record: LedgerRecord, prompt: Option<Digest>) -> Self {
        Self {
            record,
            prompt,
            is_of_prompt: false,
            has_other: false,
            sequence: 0,
            seen_turn: None,
            is_dismissed: false,
        }
    }
}

impl Ledger {
    /// Returns the ledger of a conversation that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the current turn; 0 before the first.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Begins the next turn and returns its number.
    pub fn advance(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// Returns the record of `name`; `None` if it is absent.
    pub fn record(&self, name: &SkillName) -> Option<&LedgerRecord> {
        self.skills.get(name).map(|entry| &entry.record)
    }

    /// Returns all that is known, sorted by name.
    pub fn records(&self) -> impl Iterator<Item = (&SkillName, &LedgerRecord)> {
        self.skills.iter().map(|(name, entry)| (name, &entry.record))
    }

    /// Returns the skills that the model works with, current or out of date, sorted by name.
    ///
    /// It includes skills that another loader loaded; [`is_sure`](Self::is_sure) tells them apart.
    pub fn active(&self) -> impl Iterator<Item = &SkillName> {
        self.records().filter(|(_, record)| record.is_active()).map(|(name, _)| name)
    }

    /// Returns `true` if the model certainly works with a whole version of the instructions of `name`.
    ///
    /// Some [active](Self::active) skills were only seen to be loaded, by a call whose result is not in our
    /// format or may have been cut. Code that builds on the instructions asks this.
    pub fn is_sure(&self, name: &SkillName) -> bool {
        let is_sure =
            |record: &LedgerRecord| record.is_active() && record.digest.is_some() && record.is_certain;
        self.record(name).is_some_and(is_sure)
    }

    /// Returns the skills that a compaction took from the model, the last used first.
    ///
    /// Skills that a host evicted are not among them.
    pub fn lost_by_recency(&self) -> Vec<(&SkillName, &LedgerRecord)> {
        let is_wanted = |entry: &LedgerEntry| entry.record.presence == Presence::Lost && !entry.is_dismissed;
        let mut lost: Vec<_> = self.skills.iter().filter(|(_, entry)| is_wanted(entry)).collect();
        lost.sort_by_key(|(_, entry)| Reverse(entry.sequence));
        lost.into_iter().map(|(name, entry)| (name, &entry.record)).collect()
    }

    /// Returns the ledger of a sub-agent that inherits the active skills, all lost: its context is empty.
    pub fn inherited(&self) -> Self {
        let is_active = |(_, entry): &(&SkillName, &LedgerEntry)| entry.record.is_active();
        let mut active: Vec<_> = self.skills.iter().filter(is_active).collect();
        // Skills of the parent's prompt count as used first; they are lost like the others and get numbers.
        active.sort_by_key(|(name, entry)| (entry.sequence, Reverse(*name)));
        let inherit = |((name, entry), sequence): ((&SkillName, &LedgerEntry), u64)| {
            let record = LedgerRecord { presence: Presence::Lost, is_bound: false, ..entry.record.clone() };
            (name.clone(), LedgerEntry { sequence, ..LedgerEntry::new(record, None) })
        };
        let sequence = active.len() as u64;
        Self { skills: active.into_iter().zip(1..).map(inherit).collect(), turn: 0, sequence }
    }
}

impl LedgerRecord {
    /// Returns `true` if the model works with the skill, even if it is out of date.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.presence, Presence::Active | Presence::Stale)
    }
}
