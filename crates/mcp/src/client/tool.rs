//! A tool of an MCP server.

use std::time::Duration;

use repertoire::{BoxFuture, Tool, ToolCall, ToolReply};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ResourceContents};
use rmcp::service::Peer;
use rmcp::{RoleClient, model};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The longest that a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(600);

const MAX_DESCRIPTION_CHARACTERS: usize = 2_000;

const MAX_ANSWER_CHARACTERS: usize = 60_000;

/// A tool of an MCP server.
pub struct ServerTool {
    /// The name that models call it by.
    name: String,
    tool: model::Tool,
    peer: Peer<RoleClient>,
    runtime: Handle,
}

impl ServerTool {
    pub(super) fn new(name: String, tool: model::Tool, peer: Peer<RoleClient>, runtime: Handle) -> Self {
        Self { name, tool, peer, runtime }
    }
}

impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        let description = self.tool.description.as_deref().unwrap_or_default();
        description.chars().take(MAX_DESCRIPTION_CHARACTERS).collect()
    }

    fn input_schema(&self) -> Value {
        Value::Object((*self.tool.input_schema).clone())
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
        let mut request = CallToolRequestParams::new(self.tool.name.clone());
        request.arguments = Some(call.arguments.clone());
        let peer = self.peer.clone();
        // The host may have another executor than the connection.
        let task = self.runtime.spawn(async move { timeout(CALL_LIMIT, peer.call_tool(request)).await });
        Box::pin(async move {
            match task.await {
                Ok(Ok(Ok(result))) => reply(&result),
                Ok(Err(_)) => ToolReply::error(
                    "Error: the server of this tool gave no answer within 10 minutes".to_owned(),
                ),
                Ok(Ok(Err(error))) => ToolReply::error(format!("Error: {error}")),
                Err(_) => {
                    ToolReply::error("Error: the connection to the server of this tool was closed".to_owned())
                }
            }
        })
    }
}

/// Returns the answer in the words of the server; what is not text is named.
fn reply(result: &CallToolResult) -> ToolReply {
    let parts = result.content.iter().map(|content| match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            _ => "[binary content]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}]", link.uri),
        ContentBlock::Image(_) => "[image]".to_owned(),
        _ => "[content that is not text]".to_owned(),
    });
    let mut text = parts.collect::<Vec<_>>().join("\n");
    if text.is_empty()
        && let Some(structured) = &result.structured_content
    {
        text = structured.to_string();
    }
    let length = text.chars().count();
    if length > MAX_ANSWER_CHARACTERS {
        text = text.chars().take(MAX_ANSWER_CHARACTERS).collect();
        text.push_str(&format!("\n[cut: the answer has {length} characters]"));
    }
    if result.is_error == Some(true) { ToolReply::error(text) } else { ToolReply::text(text) }
}
