//! The ledger: records which skills are in a model's context.
//!
//! A transcript is append-only and cached, skills change, models unload and hosts compact. This state machine says for each
//! skill whether its instructions can be relied on to be before the model. When in doubt they are not: giving them twice
//! costs tokens, keeping them back costs the task.
//!
//! # What each event does
//!
//! | event | Absent | Active | Stale | Evictable | Lost |
//! |---|---|---|---|---|---|
//! | [`loaded`](Ledger::loaded), [`bound`](Ledger::bound) | Active | Active | Active | Active | Active |
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
//! 2. It stays Evictable if the instructions are those that were unloaded: a person may have done so, which no transcript shows. It
//!    becomes Active if a transcript showed them before and shows them at a later turn now.
//! 3. What is bound is in the prompt, and the prompt stays. If the instructions of the transcript were newer, those of the prompt
//!    are what is left: Active becomes Stale, Stale and Evictable stay. So it does where any other version was given since, which
//!    may be there still though the newest is gone. In the same way `evicted` leaves what is bound Evictable.
//!
//! ```
//! use repertoire_model::ledger::{Decision, Ledger, Presence, Reload};
//! use repertoire_model::{Digest, SkillName};
//!
//! let (git, digest) = (SkillName::new("git").unwrap(), Digest::of(b"Commit often."));
//! let mut ledger = Ledger::new();
//! ledger.advance();
//! ledger.loaded(&git, digest);
//! assert_eq!(ledger.decide(&git, &digest, false, Reload::Auto), Decision::Acknowledge { turn: 1, is_bound: false });
//! ledger.compacted(&[]);
//! assert_eq!(ledger.decide(&git, &digest, false, Reload::Auto), Decision::Give(Presence::Lost));
//! ```

mod record;
mod decide;
mod state;
mod events;

pub use decide::{Decision, Reload};
pub use record::{Presence, Record, SeenSkill};
pub use state::Ledger;

#[cfg(test)]
mod tests;
