//! The tool with which a model gives tasks to sub-agents.

use repertoire::Session;
use repertoire::tool::Definition;
use serde_json::json;

/// The name of the tool with which a model gives tasks to sub-agents.
pub const NAME: &str = "run_subagent";

/// The most agents that the definition names.
const MAX_AGENTS: usize = 32;

pub(crate) fn definition(session: &Session) -> Definition {
    let mut properties = json!({"task": {"type": "string", "description": "The whole task; the sub-agent knows nothing else."}});
    let names: Vec<&str> =
        session.library().agents().map(|agent| agent.name.as_str()).take(MAX_AGENTS).collect();
    if !names.is_empty() {
        properties["agent"] = json!({"type": "string", "enum": names, "description": "The agent to be."});
    }
    Definition::new(
        NAME,
        "Gives a task to a sub-agent and returns its result. Use it for a task whose details you do not need.",
        json!({"type": "object", "properties": properties, "required": ["task"], "additionalProperties": false}),
    )
}
