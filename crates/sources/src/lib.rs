//! Sources of skills: the records of installers, fetching, locks and updates.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[path = "../../repertoire/tests/support/memory_store.rs"]
mod memory_store;
mod error;
pub mod origin;
mod source;
mod scratch;
mod tree;
mod marketplace;
mod git;
mod git_publication;
mod archive;
mod http;
mod well_known;
mod packages;
mod fetch;
mod fetch_options;
mod server_publication;
mod found;
mod collation;
mod lock;
mod skills_lock;
mod change;
mod renamed;
mod update;

pub use archive::unpack_skill;
pub use change::Installation;
pub use change::{Change, SkillChange, apply, begin, record_versions, recover};
pub use error::{Error, ErrorKind};
pub use fetch::{FetchedTree, fetch, newest_version};
pub use fetch_options::FetchOptions;
pub use found::{FoundSkill, find_skills, manifest_fault};
pub use git::{GitPrompt, changed_files};
pub use git_publication::{GitPublication, is_real_directory};
pub use lock::{LOCK_FILE, Lock, LockedSkill};
pub use marketplace::PluginElsewhere;
pub use server_publication::{VersionToSend, send_version};
pub use skills_lock::{ImportedSkill, SKILLS_LOCK_FILE, folder_hash, imported};
pub use source::{GitSource, Package, Source, SourceText};
pub use update::{
    ConflictContent, ConflictingFile, MergeOutcome, Newest, NewestSkill, UpdateCheck, allowed_tools,
    capabilities, check_updates, locked_files, merge_edits, source_of,
};
