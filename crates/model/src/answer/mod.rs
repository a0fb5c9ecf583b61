//! Answers of tools to a model: one typed value, and four renderings of it.
//!
//! The text of a skill's author is untrusted here: it stands in a wrapper that it cannot close, it is bounded
//! by a named constant or comes with its price in tokens, and nothing of it is cut without a note.

mod value;
mod loaded;
mod listing;
mod results;
mod tool_result;
mod fault;
mod wording;
mod message;
mod render;
mod recognise;

pub use crate::outline::Section;
pub use fault::{AvailableFiles, Fault, FaultKind, RunRefusal};
pub use listing::{FileList, ListedFile, SkillList, SkillListItem};
pub use listing::{FileText, Truncation};
pub use loaded::{Acknowledgement, BucketText, LoadAnswer, LoadedSkill, ToolSchema};
pub(crate) use recognise::{Examination, examine, stamped_bodies};
pub use recognise::{RecognisedAnswer, recognise};
pub use render::{Render, guard};
pub use results::Field;
pub use results::{MatchedWord, Score, SearchResult, SearchResults};
pub use tool_result::ToolResult;
pub use value::{Answer, Injection};
pub use wording::{ErrorStyle, Wording};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
