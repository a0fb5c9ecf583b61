//! Finds the skills for a task, by words and by meaning.
//!
//! [`SkillSearch`] is the [`Searcher`](repertoire::Searcher) of a library. It keeps one index of the
//! library's skills, reads only the skills that changed, and stores the index between runs if the host gives
//! it a file. The ranking depends only on the skills and the query, not on the process or machine. There is
//! no query syntax, so every text is a valid query.
//!
//! ```
//! use repertoire::{Library, MemoryProvider, SearchRequest, SkillDefinition, Visibility};
//! use repertoire_search::SkillSearch;
//!
//! # pollster::block_on(async {
//! let skills = vec![
//!     SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\nFill every field.\n"),
//!     SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
//! ];
//! let library = Library::builder()
//!     .provider(MemoryProvider::new("builtin", skills))
//!     .searcher(SkillSearch::default())
//!     .open()
//!     .await?;
//! let snapshot = library.snapshot();
//! let hits = library.search(&snapshot, &SearchRequest::new("fill in this form", 5), Visibility::All).await;
//! assert_eq!(hits[0].entry.name().as_str(), "pdf-forms");
//! let session = library.session().await?;
//! let reply = session.call("search_skills", &serde_json::json!({"query": "fill in this form"})).await;
//! assert!(reply.text().contains("pdf-forms"));
//! # Ok::<(), repertoire::Error>(())
//! # })?;
//! # Ok::<(), repertoire::Error>(())
//! ```
//!
//! # Features
//!
//! - `embedded-model`: an embedding table of 7.5 MB, so that skills are found by meaning, offline. Without it
//!   they are found by words, and by the [`Embedder`] of the host.
//! - `http-embedder`: embeddings from a server, see [`http`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[path = "../../repertoire/tests/support/searcher_suite.rs"]
mod searcher_suite;
mod parallel;
mod skill_text;
mod words;
mod meaning;
mod index;
mod rank;
mod options;
mod reader;
mod snapshot_index;
mod skill_search;
pub mod evals;
pub mod confusable;
pub mod testing;

pub use index::{SearchIndex, SkillKey, SkillRecord, SkillSource, Slot, SlotSet, Weights};
#[cfg(feature = "http-embedder")]
pub use meaning::http;
pub use meaning::{EmbeddedModel, Embedder, EmbeddingTable, Vector, embedded_table};
pub use options::SearchOptions;
pub use rank::{Evidence, Query, RankedSlot};
pub use reader::keywords;
pub use skill_search::SkillSearch;
pub use skill_text::SkillText;
