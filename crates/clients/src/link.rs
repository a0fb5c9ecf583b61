//! Puts skills where clients look for them, by links or copies that are recorded.

mod record;
mod receivers;
mod plan;
mod apply;
mod warnings;
mod undo;
mod added;
mod switched;

pub use added::{added_links, links_to};
pub use apply::{LinkKind, NewLinks};
pub use plan::{LinkPlan, LinkStep, LinkedSkill, Occupancy, plan};
pub use receivers::{ConnectedClients, SkippedClient, chosen};
pub use record::{RecordedLink, dangling};
pub use undo::{made, remove_made};
pub use warnings::{Warning, reading_twice, warnings};

pub(crate) use record::{LinkRecord, recorded};
pub(crate) use switched::{SwitchedLinks, links_to_skill, remove_links, restore_links};
