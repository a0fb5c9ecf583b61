//! Decides how to answer a load of a skill that is already in the context.

use super::{Ledger, Presence};
use crate::{Digest, SkillName};

crate::words! {
    /// The policy for loads of a skill that is already active.
    #[derive(Default)]
    #[non_exhaustive]
    Reload {
        /// It is acknowledged if its instructions are surely in the context and unchanged; the default.
        #[default]
        Auto "auto",
        /// Its instructions are always given.
        AlwaysBody "always_body",
        /// It is acknowledged as long as some version of its instructions is surely in the context, whole.
        ShortAck "short_ack",
    }
}

/// The decision on an answer of `load_skill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadDecision {
    /// The instructions are in the context.
    Acknowledge {
        /// The turn since which they are.
        turn: u64,
        /// True for the instructions in the prompt, false for a copy in the transcript.
        is_bound: bool,
    },
    /// They are to be given, because the skill is in this state.
    Give(Presence),
}

impl Ledger {
    /// Returns the decision on a call that loads `name`, where `on_disk` is the digest of its instructions.
    ///
    /// Instructions that are in the context in another version are given as [`Presence::Stale`], even if no
    /// change was recorded. If it is not [certain](super::LedgerRecord::is_certain) that they are another
    /// version, and not the same one after a host trimmed it, they are given as [`Presence::Lost`].
    pub fn decide(&self, name: &SkillName, on_disk: &Digest, force: bool, reload: Reload) -> LoadDecision {
        let Some(entry) = self.skills.get(name) else { return LoadDecision::Give(Presence::Absent) };
        let record = &entry.record;
        let is_same = record.digest.as_ref() == Some(on_disk);
        let is_whole = is_same || (record.digest.is_some() && record.is_certain);
        let is_acknowledged = match reload {
            Reload::Auto => record.presence == Presence::Active && is_same,
            Reload::AlwaysBody => false,
            Reload::ShortAck => record.is_active() && is_whole,
        };
        if is_acknowledged && !force {
            return LoadDecision::Acknowledge { turn: record.turn, is_bound: entry.is_of_prompt };
        }
        let stands = record.is_active() || record.presence == Presence::Evictable;
        let is_other = record.digest.is_some() && !is_same;
        LoadDecision::Give(match record.presence {
            _ if stands && is_other && is_whole => Presence::Stale,
            _ if stands && is_other => Presence::Lost,
            presence => presence,
        })
    }
}
