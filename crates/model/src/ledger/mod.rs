//! The ledger: records which skills are in a model's context.
//!
//! A transcript is append-only and cached, skills change, models unload and hosts compact. This state machine
//! records for each skill whether the model is certain to have its instructions. When in doubt it has not:
//! giving them twice costs tokens, withholding them costs the task.
//!
//! # Effects of events
//!
//! | event | Absent | Active | Stale | Evictable | Lost |
//! |---|---|---|---|---|---|
//! | [`loaded`](Ledger::loaded), [`reattached`](Ledger::reattached), [`bound`](Ledger::bound) | Active | Active | Active | Active | Active |
//! | [`unloaded`](Ledger::unloaded) | – | Evictable | Evictable | – | – |
//! | [`evicted`](Ledger::evicted) | – | Lost | Lost | Lost | – |
//! | [`changed`](Ledger::changed), another digest | – | Stale | – | – | – |
//! | [`changed`](Ledger::changed), the same digest | – | – | Active | – | – |
//! | [`removed`](Ledger::removed) | – | Stale | – | – | – |
//! | [`observed`](Ledger::observed), seen | Active | Active | Active¹ | Active² | Active |
//! | [`observed`](Ledger::observed), seen as unloaded | Evictable | Evictable | Evictable | Evictable | Evictable |
//! | [`observed`](Ledger::observed), not seen | – | Lost³ | Lost³ | Absent³ | – |
//! | [`compacted`](Ledger::compacted), kept | – | – | – | – | – |
//! | [`compacted`](Ledger::compacted), not kept | – | Lost³ | Lost³ | Absent³ | – |
//!
//! 1. It stays Stale if the digest is the one that is out of date.
//! 2. It stays Evictable if the same instructions were unloaded: a person may have done so, which no
//!    transcript shows. It becomes Active if a transcript showed them before and shows them later again.
//! 3. Bound instructions are in the prompt, and the prompt stays. If the instructions of the transcript were
//!    newer, those of the prompt are left: Active becomes Stale, Stale and Evictable stay. The same holds if
//!    any other version was given since, which may still be there though the newest is gone. Likewise
//!    `evicted` leaves bound instructions Evictable.
//!
//! ```
//! use repertoire_model::ledger::{Ledger, LoadDecision, Presence, Reload};
//! use repertoire_model::{Digest, SkillName};
//!
//! let (git, digest) = (SkillName::new("git").unwrap(), Digest::of(b"Commit often."));
//! let mut ledger = Ledger::new();
//! ledger.advance();
//! ledger.loaded(&git, digest);
//! assert_eq!(ledger.decide(&git, &digest, false, Reload::Auto), LoadDecision::Acknowledge { turn: 1, is_bound: false });
//! ledger.compacted(&[]);
//! assert_eq!(ledger.decide(&git, &digest, false, Reload::Auto), LoadDecision::Give(Presence::Lost));
//! ```

mod record;
mod decide;
mod state;
mod events;

pub use decide::{LoadDecision, Reload};
pub use record::{LedgerRecord, Presence, SeenSkill};
pub use state::Ledger;

#[cfg(test)]
mod tests;
