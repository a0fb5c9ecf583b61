//! Derives the skills that a transcript holds from its messages alone.
//!
//! A host that resumes, forks, compacts or clears old results needs no bookkeeping for its skills: what the
//! model has before it is in the messages. A skill is seen where a call that loads it has a result that did
//! not fail and whose text holds the instructions, or where a host put them back after a compaction
//! ([`reattach`](crate::reattach)). A call of the skill's own name loads it too, if the result holds its
//! instructions as this library writes them. Five shapes are read, and may be mixed:
//!
//! | shape | call | result |
//! |---|---|---|
//! | Anthropic messages | `tool_use`, `mcp_tool_use` blocks | `tool_result`, `mcp_tool_result` blocks |
//! | OpenAI chat | `tool_calls` of an assistant message | messages of the role `tool` |
//! | OpenAI responses | `function_call`, `mcp_call` items | `function_call_output` items, `output` of `mcp_call` |
//! | Helix | `toolCalls` of an assistant message | messages of the role `tool` with a `toolCallId` |
//! | AI SDK messages | `tool-call` parts | `tool-result` parts |
//!
//! Whatever is malformed or unknown is skipped: a transcript is evidence, and evidence has no errors.
//!
//! ```
//! use repertoire_model::transcript::{self, LoadToolNames};
//! use serde_json::json;
//!
//! let messages = [
//!     json!({"role": "assistant", "tool_calls": [
//!         {"id": "1", "type": "function", "function": {"name": "load_skill", "arguments": "{\"name\": \"git\"}"}}
//!     ]}),
//!     json!({"role": "tool", "tool_call_id": "1", "content": "Commit often."}),
//! ];
//! let derived = transcript::loaded(&messages, &LoadToolNames::default());
//! assert_eq!(derived.seen[0].name.as_str(), "git");
//! assert_eq!(derived.seen[0].digest, None, "the text is not one of ours");
//! ```

mod tools;
mod shape;
mod foreign;
mod reading;

pub use reading::{TranscriptReader, TranscriptSkills, loaded};
pub use tools::LoadToolNames;

#[cfg(test)]
mod tests;
