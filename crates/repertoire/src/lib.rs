//! A skills engine for AI agents.
//!
//! A *skill* is a directory with a `SKILL.md`: a name, a description, instructions for a model, and files
//! that belong to them (see <https://agentskills.io>). This crate finds skills, checks them, and gives them
//! to agents, as much as they need and when they need it:
//!
//! 1. **Catalog.** The names and descriptions of all skills, for the system prompt. Its bytes stay the same
//!    until the host refreshes it, so prompt caches keep working.
//! 2. **Instructions.** The model calls `load_skill` and gets the text of one `SKILL.md`. The session records
//!    what is in the context and does not repeat it.
//! 3. **Files.** The model reads references, scripts and assets of a skill one by one with `read_skill_file`.
//!
//! Nothing is executed by reading a skill.
//!
//! # Example
//!
//! ```
//! use repertoire::{Library, MemoryProvider, SkillDefinition};
//! use serde_json::json;
//!
//! # pollster::block_on(async {
//! let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n\nBe warm.\n");
//! let library = Library::builder()
//!     .directory("./skills")                                   // skills in a directory ...
//!     .provider(MemoryProvider::new("builtin", vec![skill]))   // ... and in code
//!     .open()
//!     .await?;
//!
//! let session = library.session().await?;
//! let system_prompt = session.catalog().text;                  // level 1
//! let tools = session.tools();                                 // names, descriptions, JSON Schemas
//! assert!(system_prompt.contains("greet"));
//! assert!(tools.iter().any(|tool| tool.name == "load_skill"));
//!
//! let reply = session.call("load_skill", &json!({"name": "greet"})).await;   // level 2
//! assert!(reply.text().contains("Be warm."));
//! # Ok::<(), repertoire::Error>(())
//! # })?;
//! # Ok::<(), repertoire::Error>(())
//! ```
//!
//! # Parts
//!
//! | type | purpose |
//! | --- | --- |
//! | [`Provider`] | lists skills and reads their files: [`FsProvider`], [`MemoryProvider`], [`StoreProvider`](provider::store::StoreProvider), or your own |
//! | [`Registry`] | merges providers by precedence under a [`Policy`] and publishes [`Snapshot`]s |
//! | [`Library`] | a registry with everything that sessions are given: options, agents, tools, event sinks, a searcher, a runner |
//! | [`Session`] | one conversation: its catalog, its tools, and what is in its context |
//! | [`Agent`] | a named view of the library: its scope, the skills bound to it, its prompt |
//! | [`Tool`] | a tool of the host, beside the built-in ones |
//! | [`EventSink`] | receives an event for every call |
//! | [`Searcher`] | finds the skills that a task needs; the crate `repertoire-search` has one |
//! | [`Reranker`] | puts the best results of a search into a better order |
//! | [`Runner`] | runs tools and scripts of skills; the crate `repertoire-exec` has one |
//!
//! All types are `Send + Sync`. Methods that read are `async` and need no particular runtime; a program
//! without one waits for them with [`pollster::block_on`](https://docs.rs/pollster).
//!
//! # Features
//!
//! - `fs` (default): skills in directories, discovery, watching. Without it the crate compiles for
//!   `wasm32-unknown-unknown`, with skills defined in code or from a provider of your own.
//! - `config`: loads `repertoire.toml`, for a library with the skills, policy, options and agents of `rep`.
//! - `http`: a client of HTTP servers, which is given the certificates to trust and the proxy.
//! - `otel`: sends a span for every call to an OpenTelemetry collector.
//! - `serve`: what servers share; it needs tokio.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

// The modules that tests of several crates share name this one.
#[cfg(test)]
extern crate self as repertoire;
#[cfg(test)]
#[path = "../tests/support/word_searcher.rs"]
mod word_searcher;

#[cfg(feature = "fs")]
pub mod discovery;
pub mod error;
mod clock;
mod future;
pub mod provider;
pub mod registry;
pub mod library;
#[cfg(feature = "config")]
pub mod config;
pub mod task;
pub mod session;
pub mod tool;
pub mod prompt;
#[cfg(feature = "fs")]
pub mod migrate;
pub mod certificates;
#[cfg(feature = "http")]
pub mod http;
pub mod event;
pub mod handler;
pub mod runner;
pub mod searcher;
pub mod store;
pub mod usage;
pub mod unused;
pub mod history;
pub mod proposal;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "fs")]
pub mod regular_file;
#[cfg(feature = "fs")]
pub mod change;
#[cfg(feature = "fs")]
pub mod record;
pub mod model;
pub mod testing;

pub use error::{Error, ErrorKind};
pub use event::{Event, EventKind, EventSink, JournalOptions, JournalSink, MemorySink, Outcome, Sinks};
pub use future::{BoxFuture, ResultFuture};
pub use handler::{HandlerError, SkillHandler};
pub use library::{Library, LibraryBuilder};
pub use prompt::{
    Agent, AgentPrompt, Bind, BindingOptions, Inherit, Jinja, Renderer, RoleBinding, RoleOptions, RoleOrigin,
    RolePrompt, RoleResolver,
};
#[cfg(feature = "fs")]
pub use provider::fs::{FsOptions, FsProvider};
pub use provider::memory::{MemoryProvider, SkillDefinition, define_skill};
pub use provider::{FileContent, FileListing, Listing, Locator, Provider, Skill};
#[cfg(feature = "fs")]
pub use registry::Watcher;
pub use registry::{
    Change, Entry, Lookup, PinnedEntry, Registry, RegistryOptions, ReloadMode, ReloadOptions, Snapshot,
    Subscription,
};
pub use repertoire_model::{
    Catalog, CatalogOptions, Diagnostic, LineRange, Policy, Profile, Severity, SkillName, SkillPath, State,
};
pub use runner::{Runner, Trust};
pub use searcher::{Reranker, SearchHit, SearchRequest, Searcher, SkillView, Visibility};
pub use session::{Reply, Session, SessionOptions, SessionRequest};
pub use task::{RankedSkill, Task, TaskRanking};
pub use tool::{Tool, ToolCall, ToolReply};
