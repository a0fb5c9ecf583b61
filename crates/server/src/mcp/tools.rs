//! The tools of a session as MCP tools.

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

use crate::agent_view::AgentView;
use crate::options::ResultForm;

/// The key that makes Claude Code load the tool at once instead of finding it by tool search.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// Returns the tools, sorted by name.
pub(crate) fn list(session: &Session) -> Vec<Tool> {
    let names = &session.options().names;
    // Without these two, models could not reach any skill, or none that the catalog leaves out.
    let always = [names.load.as_str(), names.search.as_str()];
    let tool = |definition: &Definition| tool(definition, &always, runs(session, &definition.name));
    session.tools().iter().map(tool).collect()
}

/// Returns whether the tool `name` runs code of a skill.
fn runs(session: &Session, name: &str) -> bool {
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
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(!runs);
    annotations.open_world_hint = Some(runs);
    tool.annotations = Some(annotations);
    if always.contains(&name.as_str()) {
        tool.meta = Some(MetaObject(Map::from_iter([(ALWAYS_LOAD.to_owned(), Value::Bool(true))])));
    }
    tool
}

/// Returns whether loading a skill changes the list of tools.
pub(crate) fn may_change(session: &Session) -> bool {
    session.offers_skill_tools() && session.options().exposure != ToolExposure::Stable
}

/// Answers a call. Failures are results for the model, except for a tool that cannot exist, which is a protocol error.
pub(crate) async fn call(
    view: &AgentView,
    session: &Session,
    request: CallToolRequestParams,
) -> Result<CallToolResult, ErrorData> {
    let limit = if runs(session, &request.name) { &view.runs } else { &view.calls };
    let _permit = limit.acquire().await;
    let arguments = request.arguments.map_or(Value::Null, Value::Object);
    let reply = session.call(&request.name, &arguments).await;
    // If skills bring tools, the tool may exist once its skill is loaded, and the answer says so to the model.
    if let Answer::Fault(fault) = reply.answer()
        && matches!(fault.kind, FaultKind::UnknownTool { .. } | FaultKind::SkillAsTool)
        && !session.offers_skill_tools()
    {
        // Protocol errors are read by people and programs, not by models.
        let message = session.text_as(&reply, Render::Text);
        let message = message.strip_prefix("Error: ").unwrap_or(&message).to_owned();
        return Err(ErrorData::invalid_params(message, None));
    }
    let content = vec![ContentBlock::text(reply.text())];
    let mut result =
        if reply.is_error() { CallToolResult::error(content) } else { CallToolResult::success(content) };
    if view.options().result == ResultForm::Json {
        // The protocol asks for the same object in both places.
        result.structured_content = serde_json::from_str(reply.text()).ok();
    } else if let Answer::Tool(answer) = reply.answer() {
        // The protocol allows only objects.
        result.structured_content = answer.structured.clone().filter(Value::is_object);
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
    async fn load_skill_is_not_blocked_by_running_tools() {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        let library = pollster::block_on(Library::builder().provider(provider).open()).unwrap();
        let view = Server::new(library, ServerOptions::default()).view(None).await.unwrap();
        let names = view.session.options().names.clone();
        for (name, expect) in [(&names.run_script, true), (&names.call, true), (&names.load, false)] {
            assert_eq!(runs(&view.session, name), expect, "{name}");
        }
        let running = u32::try_from(view.runs.available_permits()).unwrap();
        let _running = view.runs.acquire_many(running).await.unwrap();
        let request = CallToolRequestParams::new("load_skill")
            .with_arguments(json!({"name": "greet"}).as_object().unwrap().clone());
        let result = call(&view, &view.session, request).await.unwrap();
        assert_ne!(result.is_error, Some(true));
    }
}
