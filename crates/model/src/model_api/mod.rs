//! The shapes in which the APIs of models take tools, make calls and take results.
//!
//! A host that speaks with such an API hands over what it has: a call or a whole answer of the model, as
//! decoded JSON. The shape says which API it is.
//!
//! ```
//! use repertoire_model::model_api::{ApiFormat, ModelCall, calls, messages};
//! use serde_json::json;
//!
//! let answer = json!({"role": "assistant", "content": [
//!     {"type": "tool_use", "id": "1", "name": "load_skill", "input": {"name": "git"}}
//! ]});
//! let (format, calls) = calls(&answer).unwrap();
//! assert_eq!((format, calls[0].name), (ApiFormat::Anthropic, "load_skill"));
//! let results = calls.iter().map(|call: &ModelCall| call.result("Commit often.", false)).collect();
//! assert_eq!(messages(format, results)[0]["content"][0]["tool_use_id"], "1");
//! ```

mod tools;
mod calls;

pub use calls::{ModelCall, calls, messages};
pub use tools::{ApiFormat, tools};

#[cfg(test)]
mod tests;
