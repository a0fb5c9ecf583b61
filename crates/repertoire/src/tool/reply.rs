//! Replies of tools: an answer for the model, and details for the event of the call.

use std::sync::Arc;

use repertoire_model::Digest;
use repertoire_model::answer::{Answer, FaultKind};

use crate::event::Via;
use crate::registry::Entry;

/// The result of a tool: an answer for the model, and details for the event of the call.
///
/// ```
/// use repertoire::ToolReply;
/// assert!(!ToolReply::text("3").answer.is_error());
/// assert!(ToolReply::error("`a` is not a number").answer.is_error());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolReply {
    /// The answer for the model.
    pub answer: Answer,
    /// Details for the event of the call.
    pub details: EventDetails,
}

impl ToolReply {
    /// Returns a reply with this text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Answer::Custom { text: text.into(), is_error: false }.into()
    }

    /// Returns a reply that explains to the model why the call failed.
    pub fn error(text: impl Into<String>) -> Self {
        Answer::Custom { text: text.into(), is_error: true }.into()
    }
}

/// Details of a call that its event records beside the outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventDetails {
    /// The skill, as the model named it.
    pub skill: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The source of the skill.
    pub source: Option<Arc<str>>,
    /// The identity of the skill; see [`Entry::record_identity`].
    pub identity: Option<String>,
    /// The digest of the content given.
    pub digest: Option<Digest>,
    /// The tokens given, if they were counted.
    pub tokens: usize,
    /// The search query, shortened.
    pub query: Option<String>,
    /// The number of search results.
    pub results: Option<u64>,
    /// The tool of a skill that was called.
    pub skill_tool: Option<String>,
    /// The sandbox that a command ran in.
    pub sandbox: Option<&'static str>,
    /// The exit code of the command, if it exited by itself.
    pub exit_code: Option<i32>,
    /// The word for what went wrong, where the answer does not have one.
    pub error: Option<&'static str>,
    /// The skill exists but is outside the agent's scope.
    pub is_denied: bool,
    /// The way in which the skill came, if it is another than that of the call.
    pub via: Option<Via>,
    /// The bytes of this part of the answer, if it is in `more` of another.
    pub bytes: usize,
    /// The other skills or files that the answer holds, each with an event of its own.
    pub more: Vec<EventDetails>,
}

impl EventDetails {
    /// Returns the details of a call about `entry`.
    pub(crate) fn of(entry: &Entry) -> Self {
        let (skill, source) = (Some(entry.name().to_string()), Some(Arc::clone(&entry.source)));
        Self { skill, source, identity: Some(entry.record_identity()), ..Self::default() }
    }
}

/// The result of a call of a built-in tool, of which a failure becomes an answer too.
pub(crate) type CallResult = Result<ToolReply, CallFailure>;

/// The reason why a call failed, and details for its event.
pub(crate) struct CallFailure {
    pub(crate) kind: FaultKind,
    /// The skill, as the model named it, unless the arguments were wrong already.
    pub(crate) asked: Option<String>,
    pub(crate) details: Box<EventDetails>,
}

impl CallFailure {
    /// Returns the failure of a call for the skill that the model calls `asked`.
    pub(crate) fn of(asked: &str, kind: FaultKind, details: EventDetails) -> Self {
        Self { kind, asked: Some(asked.to_owned()), details: Box::new(details) }
    }
}

impl From<FaultKind> for CallFailure {
    fn from(kind: FaultKind) -> Self {
        Self { kind, asked: None, details: Box::default() }
    }
}

impl From<Answer> for ToolReply {
    fn from(answer: Answer) -> Self {
        Self { answer, details: EventDetails::default() }
    }
}
