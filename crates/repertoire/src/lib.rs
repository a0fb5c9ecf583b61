//! The skills engine for AI agents.
//!
//! Point providers at skills, merge them in a registry, and give agents a small, byte-stable catalog.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod discovery;
pub mod error;
pub mod provider;
pub mod registry;
pub mod library;
pub mod search;
pub mod task;
pub mod session;
pub mod tool;
pub mod agent;
pub mod template;
pub mod binding;
pub mod role;
pub mod migrate;
pub mod tokens;
pub mod event;
pub mod exec;
pub mod approval;
pub mod run;
mod stored;
mod unblock;
#[doc(hidden)]
pub mod testing;

pub use agent::{Agent, Bind, Inherit};
pub use approval::{Approval, Approvals, Approver, Trust};
pub use binding::{AgentPrompt, BindingOptions};
pub use error::{Error, ErrorKind};
pub use event::{Event, EventKind, EventSink, JsonlOptions, JsonlSink, MemorySink, Outcome, Sinks};
pub use library::{Library, LibraryBuilder};
pub use provider::fs::{FsOptions, FsProvider};
pub use provider::memory::{MemoryProvider, SkillDefinition, define_skill};
pub use provider::{FileContent, FileListing, Listing, Locator, Provider, Skill};
pub use registry::{
    Change, Entry, Lookup, Registry, RegistryOptions, ReloadMode, ReloadOptions, Resources, Snapshot,
    Subscription, Watcher,
};
pub use repertoire_model as model;
pub use repertoire_model::{
    Catalog, CatalogOptions, Diagnostic, LineRange, Policy, Profile, Severity, SkillName, SkillPath, State,
};
pub use role::{RoleBinding, RoleOptions, RoleOrigin, RolePrompt, RoleResolver};
pub use run::{Executor, ExecutorOptions, HandlerError, SkillHandler};
pub use session::{Reply, Session, SessionOptions};
pub use task::{RankedSkill, Task, TaskRanking};
pub use template::{Jinja, Renderer};
pub use tool::Tool;

/// Keeps the example of the README true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Keeps the examples of the guide true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/embedding.md")]
struct Embedding;

/// Keeps the examples of the guide true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/hot-reload.md")]
struct HotReload;

/// Keeps the examples of the guide true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/tools-in-skills.md")]
struct ToolsInSkills;

/// Keeps the examples of the page true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/sandbox.md")]
struct Sandboxes;
