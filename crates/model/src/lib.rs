//! The data model of agent skills: names, paths, frontmatter, documents, bundles, diagnostics, validation,
//! resolution and the catalog.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no environment, no randomness, no
//! async. Nothing here fails because a skill is bad: bad skills come back as [`Diagnostic`]s.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod words;
mod options;
mod escape;
pub mod text;
pub mod lines;
pub mod checksum;
pub mod name;
pub mod path;
pub mod rule;
pub mod yaml;
pub mod frontmatter;
pub mod repair;
pub mod fix;
pub mod fields;
pub mod manifest;
pub mod document;
pub mod bundle;
pub mod file_description;
pub mod patch;
pub mod plugin;
pub mod toolbox;
pub mod diagnostic;
pub mod validate;
pub mod policy;
pub mod resolve;
pub mod scope;
pub mod file_glob;
pub mod loopback;
pub mod prompt;
pub mod tokens;
pub mod catalog;
pub mod answer;
pub mod outline;
pub mod essence;
pub mod ledger;
pub mod reattach;
pub mod transcript;
pub mod delta;
pub mod model_api;

pub use bundle::{Bundle, BundleFile, Digest, FileEntry, FileKind};
pub use catalog::{Catalog, CatalogEntry, CatalogError, CatalogOptions};
pub use checksum::checksum;
pub use diagnostic::{Diagnostic, Span};
pub use document::{Document, ManifestSource, Standing};
pub use lines::{Excerpt, LineRange};
pub use manifest::Manifest;
pub use name::SkillName;
pub use path::{PathFault, SkillPath};
pub use policy::{Policy, Profile};
pub use prompt::Fragment;
pub use resolve::State;
pub use rule::{RuleId, Severity};
pub use scope::{Pattern, Scope};
pub use toolbox::{Capabilities, SkillTool, Toolbox};
