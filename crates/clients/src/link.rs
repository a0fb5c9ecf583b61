//! Puts skills where clients look for them, by links or copies that are recorded.

mod symlink;
mod record;
mod copy;
mod receivers;
mod plan;
mod apply;
mod warnings;
mod undo;
mod added;
mod switched;

pub use added::{AddedLinks, LinkReceivers, forget_links, links_to};
pub use apply::{LinkKind, MadeLinks};
pub use copy::DirectoryReader;
pub use plan::{LinkPlan, LinkStep, Occupancy, plan};
pub use receivers::{ConnectedClients, SkippedClient, chosen};
pub use record::{RecordedLink, dangling};
pub use undo::{LinkRemoval, RemovalState, RemovedLink};
pub use warnings::{Warning, warnings};

pub(crate) use record::{forget_link, record_link, recorded};
pub(crate) use switched::{RestoredLink, links_to_skill, remove_links, restore_links};
pub(crate) use symlink::{make_link, remove_link};
