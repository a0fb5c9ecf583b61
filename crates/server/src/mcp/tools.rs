//! The tools of a session as MCP has them.

use std::sync::Arc;

use repertoire::Session;
use repertoire::session::ToolExposure;
use repertoire::tool::Definition;
use repertoire_model::answer::{Answer, FaultKind, Render};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations,
};
use serde_json::{Map, Value};

use crate::audience::Audience;
use crate::options::ResultForm;

/// Keeps a tool from being hidden behind a search for tools.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// Returns the tools, sorted by name.
pub(crate) fn list(session: &Session) -> Vec<Tool> {
    let names = &session.options().names;
    // Without these two a model could not get at any skill, or not at one that the catalog had no room for.
    let always = [names.load.as_str(), names.search.as_str()];
    let tool = |definition: &Definition| tool(definition, &always, runs(session, &definition.name));
    session.tools().iter().map(tool).collect()
}

/// Returns whether a call of the tool `name` runs something of a skill.
pub(crate) fn runs(session: &Session, name: &str) -> bool {
    let names = &session.options().names;
    [names.call.as_str(), names.run_script.as_str()].contains(&name) || session.is_skill_tool(name)
}

fn tool(definition: &Definition, always: &[&str], runs: bool) -> Tool {
    let Definition { name, description, input_schema } = definition;
    let schema: JsonObject = match input_schema {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    let mut tool = Tool::new(name.clone(), description.clone(), Arc::new(schema));
    // All of them only read, but for what runs something of a skill.
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(!runs);
    annotations.open_world_hint = Some(runs);
    tool.annotations = Some(annotations);
    if always.contains(&name.as_str()) {
        tool.meta = Some(MetaObject(Map::from_iter([(ALWAYS_LOAD.to_owned(), Value::Bool(true))])));
    }
    tool
}

/// Returns whether the list of tools follows what is loaded.
pub(crate) fn may_change(session: &Session) -> bool {
    session.offers_skill_tools() && session.options().exposure != ToolExposure::Stable
}

/// Returns whether a call of the tool `name` may run something of a skill in some conversation: whatever everybody is offered says so,
/// and what else there may be comes with skills.
pub(crate) fn may_run(session: &Session, name: &str) -> bool {
    runs(session, name) || !session.tools().iter().any(|definition| definition.name == name)
}

/// Answers a call. What is wrong with it is told to the model, unless there is no such tool and there never will be.
pub(crate) async fn call(
    audience: &Audience,
    session: &Session,
    request: CallToolRequestParams,
) -> Result<CallToolResult, ErrorData> {
    let turns = if runs(session, &request.name) { &audience.runs } else { &audience.calls };
    let _turn = turns.acquire().await;
    let arguments = request.arguments.map_or(Value::Null, Value::Object);
    let reply = session.call(&request.name, &arguments).await;
    // Where tools come and go with skills, a name that is none now is the model's business, and the answer tells it what to do.
    if let Answer::Fault(fault) = reply.answer()
        && matches!(fault.kind, FaultKind::UnknownTool { .. } | FaultKind::SkillAsTool)
        && !session.offers_skill_tools()
    {
        // Models read the answers of tools; errors of the protocol are for programs and people.
        let message = session.text_as(&reply, Render::Text);
        let message = message.strip_prefix("Error: ").unwrap_or(&message).to_owned();
        return Err(ErrorData::invalid_params(message, None));
    }
    let content = vec![ContentBlock::text(reply.text())];
    let mut result =
        if reply.is_error() { CallToolResult::error(content) } else { CallToolResult::success(content) };
    if audience.options().result == ResultForm::Json {
        // The same object twice, as the protocol wants it.
        result.structured_content = serde_json::from_str(reply.text()).ok();
    } else if let Answer::Tool(ran) = reply.answer() {
        // The protocol has room for objects alone.
        result.structured_content = ran.structured.clone().filter(Value::is_object);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, ServerOptions};
    use repertoire::{Library, MemoryProvider, SkillDefinition};
    use serde_json::json;

    #[tokio::test]
    async fn nobody_who_reads_waits_for_what_runs() {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        let library = Library::builder().provider(provider).open_blocking().unwrap();
        let audience = Server::new(library, ServerOptions::default()).audience(None).await.unwrap();
        let names = audience.session.options().names.clone();
        for (name, expect) in [(&names.run_script, true), (&names.call, true), (&names.load, false)] {
            assert_eq!(runs(&audience.session, name), expect, "{name}");
            assert_eq!(may_run(&audience.session, name), expect, "{name}");
        }
        assert!(may_run(&audience.session, "other"), "it may come with a skill");
        let running = u32::try_from(audience.runs.available_permits()).unwrap();
        let _running = audience.runs.acquire_many(running).await.unwrap();
        let request = CallToolRequestParams::new("load_skill")
            .with_arguments(json!({"name": "greet"}).as_object().unwrap().clone());
        let result = call(&audience, &audience.session, request).await.unwrap();
        assert_ne!(result.is_error, Some(true));
    }
}
