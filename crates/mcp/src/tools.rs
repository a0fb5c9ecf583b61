//! The tools of a session as MCP tools.

use std::sync::Arc;

use repertoire::event::Via;
use repertoire::serve::{AgentView, Principal};
use repertoire::session::ToolExposure;
use repertoire::tool::Definition;
use repertoire::{Runner, Session};
use repertoire_model::answer::{Answer, FaultKind, Render};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations,
};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::instructions::ClientCatalog;

/// The key that makes Claude Code load the tool at once instead of finding it by tool search.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// Returns the tools, sorted by name, for a client with this catalog.
pub(crate) fn list(session: &Session, catalog: &ClientCatalog) -> Vec<Tool> {
    let names = &session.options().tools.names;
    // Without these two, models could not reach any skill, or none that the catalog leaves out.
    let always = [names.load.as_str(), names.search.as_str()];
    // These write proposals, or decide about them.
    let writing = [names.propose.as_str(), names.propose_update.as_str(), names.review.as_str()];
    let tool = |definition: &Definition| {
        let mut tool = tool(definition, &always, &writing, runs(session, &definition.name));
        if definition.name == names.load && !catalog.described().is_empty() {
            tool.description = Some(format!("{}\n\n{}", definition.description, catalog.described()).into());
        }
        tool
    };
    session.tools_beside(catalog.is_cut).iter().map(tool).collect()
}

/// Returns whether the tool `name` runs code of a skill.
fn runs(session: &Session, name: &str) -> bool {
    let names = &session.options().tools.names;
    [names.call.as_str(), names.run_script.as_str()].contains(&name) || session.skill_tools().has(name)
}

fn tool(definition: &Definition, always: &[&str], writing: &[&str], runs: bool) -> Tool {
    let Definition { name, description, input_schema, .. } = definition;
    let schema: JsonObject = match published(input_schema) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let mut tool = Tool::new(name.clone(), description.clone(), Arc::new(schema));
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(!runs && !writing.contains(&name.as_str()));
    annotations.open_world_hint = Some(runs);
    tool.annotations = Some(annotations);
    if always.contains(&name.as_str()) {
        tool.meta = Some(MetaObject(Map::from_iter([(ALWAYS_LOAD.to_owned(), Value::Bool(true))])));
    }
    tool
}

/// Returns `schema` without `"additionalProperties": false`, which google-genai 3.3 takes for a schema and
/// fails on (googleapis/python-genai#2393). Calls with unknown arguments are refused all the same.
fn published(schema: &Value) -> Value {
    match schema {
        Value::Object(schema) => schema
            .iter()
            .filter(|(key, value)| *key != "additionalProperties" || !value.is_boolean())
            .map(|(key, value)| (key.clone(), published(value)))
            .collect(),
        Value::Array(schemas) => schemas.iter().map(published).collect(),
        other => other.clone(),
    }
}

/// Returns whether loading a skill changes the list of tools.
pub(crate) fn may_change(session: &Session) -> bool {
    session.skill_tools().are_offered() && session.options().running.exposure != ToolExposure::Stable
}

/// A token that is cancelled when the client of a request disconnects before it has the answer.
#[derive(Clone, Default)]
pub(crate) struct Disconnection(pub(crate) CancellationToken);

/// A place for a call. If the call is dropped, a tool that it runs is cancelled, and the place is free once
/// nothing is left of it.
struct CallPlace {
    permit: Option<OwnedSemaphorePermit>,
    runner: Option<Arc<dyn Runner>>,
}

impl CallPlace {
    async fn acquire(view: &AgentView, session: &Session, name: &str) -> Self {
        if runs(session, name) {
            let permit = Arc::clone(&view.runs).acquire_owned().await.ok();
            Self { permit, runner: view.shared.library.runner().cloned() }
        } else {
            Self { permit: Arc::clone(&view.calls).acquire_owned().await.ok(), runner: None }
        }
    }

    /// Frees the place after the call has ended by itself.
    fn free(mut self) {
        self.runner = None;
    }
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        if let (Some(runner), Some(permit)) = (self.runner.take(), self.permit.take())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                runner.settled().await;
                drop(permit);
            });
        }
    }
}

/// Answers a call. Failures are results for the model; only a tool that cannot exist is a protocol error.
pub(crate) async fn call(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    request: CallToolRequestParams,
    client: &Disconnection,
    form: Render,
) -> Result<CallToolResult, ErrorData> {
    let _run = match &principal.runs.0 {
        Some(limit) if runs(session, &request.name) => {
            Some(Arc::clone(limit).try_acquire_owned().map_err(|_| {
                ErrorData::internal_error("too many tools of this token run; retry when one has ended", None)
            })?)
        }
        _ => None,
    };
    let place = tokio::select! {
        biased;
        () = client.0.cancelled() => return Err(ErrorData::internal_error("the client has disconnected", None)),
        place = CallPlace::acquire(view, session, &request.name) => place,
    };
    let arguments = request.arguments.map_or(Value::Null, Value::Object);
    let reply = session.call_from(&principal.origin(Via::Call), &request.name, &arguments).await;
    place.free();
    // If skills bring tools, the tool may exist once its skill is loaded, and the answer says so to the
    // model. So does one that shows the call to make.
    if let Answer::Fault(fault) = reply.answer()
        && matches!(fault.kind, FaultKind::UnknownTool { near: None, .. })
        && !session.skill_tools().are_offered()
    {
        // Protocol errors are read by people and programs, not by models.
        let message = session.text_as(reply.answer(), Render::Text);
        let message = message.strip_prefix("Error: ").unwrap_or(&message).to_owned();
        return Err(ErrorData::invalid_params(message, None));
    }
    let content = vec![ContentBlock::text(reply.text())];
    let mut result =
        if reply.is_error() { CallToolResult::error(content) } else { CallToolResult::success(content) };
    if form == Render::Json {
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
    use crate::{McpOptions, Server};
    use repertoire::runner::{ScriptCall, SkillCaller, ToolRun};
    use repertoire::serve::{Notices, ServedLibrary};
    use repertoire::{BoxFuture, Library, MemoryProvider, SkillDefinition, Trust};
    use repertoire_model::SkillTool;
    use serde_json::json;
    use tokio::sync::Notify;

    /// A runner whose cancelled runs are over when `over` is notified. It never runs anything.
    #[derive(Debug, Clone, Default)]
    struct SlowRunner {
        over: Arc<Notify>,
    }

    impl Runner for SlowRunner {
        fn trust(&self, _: &str) -> Trust {
            Trust::Trusted
        }

        fn run_tool<'a>(
            &'a self,
            _: SkillCaller<'a>,
            _: &'a SkillTool,
            _: &'a Map<String, Value>,
        ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
            panic!("a run was started")
        }

        fn run_script<'a>(
            &'a self,
            _: SkillCaller<'a>,
            _: ScriptCall,
        ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
            panic!("a run was started")
        }

        fn end(&self) {}

        fn settled(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.over.notified())
        }
    }

    async fn view(runner: Option<SlowRunner>) -> Arc<AgentView> {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        let mut library = Library::builder().provider(provider);
        if let Some(runner) = runner {
            library = library.runner(runner);
        }
        let library = pollster::block_on(library.open()).unwrap();
        let served = ServedLibrary::new(library, Notices::default());
        Server::new(served, McpOptions::default()).view(None).await.unwrap()
    }

    #[tokio::test]
    async fn a_cancelled_run_counts_until_nothing_is_left_of_it() {
        let runner = SlowRunner::default();
        let view = view(Some(runner.clone())).await;
        let (script, free) =
            (view.session.options().tools.names.run_script.clone(), view.runs.available_permits());
        CallPlace::acquire(&view, &view.session, &script).await.free();
        assert_eq!(view.runs.available_permits(), free, "its call has ended");
        drop(CallPlace::acquire(&view, &view.session, &script).await);
        tokio::task::yield_now().await;
        assert_eq!(view.runs.available_permits(), free - 1);
        runner.over.notify_one();
        let all = u32::try_from(free).unwrap();
        assert!(view.runs.acquire_many(all).await.is_ok());
    }

    #[tokio::test]
    async fn no_run_is_started_for_a_client_that_has_disconnected() {
        let view = view(Some(SlowRunner::default())).await;
        let free = view.runs.available_permits();
        let client = Disconnection::default();
        client.0.cancel();
        let request = CallToolRequestParams::new(view.session.options().tools.names.run_script.clone())
            .with_arguments(json!({"skill": "greet", "script": "scripts/a.sh"}).as_object().unwrap().clone());
        let error = call(&view, &view.session, &Principal::default(), request, &client, Render::Markdown)
            .await
            .unwrap_err();
        assert_eq!(error.message, "the client has disconnected");
        assert_eq!(view.runs.available_permits(), free);
    }

    #[tokio::test]
    async fn load_skill_is_not_blocked_by_running_tools() {
        let view = view(None).await;
        let names = view.session.options().tools.names.clone();
        for (name, expect) in [(&names.run_script, true), (&names.call, true), (&names.load, false)] {
            assert_eq!(runs(&view.session, name), expect, "{name}");
        }
        let running = u32::try_from(view.runs.available_permits()).unwrap();
        let _running = view.runs.acquire_many(running).await.unwrap();
        let request = CallToolRequestParams::new("load_skill")
            .with_arguments(json!({"name": "greet"}).as_object().unwrap().clone());
        let result = call(
            &view,
            &view.session,
            &Principal::default(),
            request,
            &Disconnection::default(),
            Render::Markdown,
        )
        .await
        .unwrap();
        assert_ne!(result.is_error, Some(true));
    }
}
