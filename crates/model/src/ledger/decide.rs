//! How a skill that is loaded again is answered.

use super::{Ledger, Presence};
use crate::{Digest, SkillName};

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

impl Ledger {
    /// Returns how a call that loads `name` is to be answered, where `on_disk` is the digest of its instructions now.
    ///
    /// Instructions that stand in the context in another version are given as [`Presence::Stale`], even if nobody said that the
    /// skill changed.
    pub fn decide(&self, name: &SkillName, on_disk: &Digest, force: bool, reload: Reload) -> Decision {
        let Some(record) = self.record(name) else { return Decision::Give(Presence::Absent) };
        let is_same = record.digest.as_ref() == Some(on_disk);
        let is_acknowledged = match reload {
            Reload::Auto => record.presence == Presence::Active && is_same,
            Reload::AlwaysBody => false,
            Reload::ShortAck => matches!(record.presence, Presence::Active | Presence::Stale),
        };
        if is_acknowledged && !force {
            return Decision::Acknowledge { turn: record.turn };
        }
        let stands = matches!(record.presence, Presence::Active | Presence::Evictable);
        let is_other = record.digest.is_some() && !is_same;
        Decision::Give(if stands && is_other { Presence::Stale } else { record.presence })
    }
}
