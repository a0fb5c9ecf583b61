//! Skills as prompts: what people invoke by name.

use repertoire::Entry;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

use super::cursor::{self, PAGE};
use crate::audience::Audience;

/// The argument that every prompt takes.
const ARGUMENTS: &str = "arguments";

/// What stands for the arguments in instructions that say where they belong.
const PLACEHOLDER: &str = "$ARGUMENTS";

/// Returns the prompts of the page that begins at `cursor`.
pub(crate) async fn list(audience: &Audience, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let after = cursor::parse(cursor)?;
    let snapshot = audience.shared.registry.touch().await;
    let mut rest =
        audience.invocable(&snapshot).filter(|entry| entry.name().as_str() > after.as_str()).peekable();
    let prompts: Vec<Prompt> = rest.by_ref().take(PAGE).map(prompt).collect();
    let next = rest.peek().and(prompts.last()).map(|last| cursor::after(&last.name));
    let mut result = ListPromptsResult::with_all_items(prompts);
    result.next_cursor = next;
    Ok(result)
}

fn prompt(entry: &Entry) -> Prompt {
    let argument =
        PromptArgument::new(ARGUMENTS).with_description("What to use the skill for").with_required(false);
    Prompt::new(entry.name().as_str(), Some(&*entry.document.description), Some(vec![argument]))
}

/// Returns the instructions of a skill as a message of the user.
pub(crate) async fn get(
    audience: &Audience,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let arguments = match request.arguments.as_ref().and_then(|arguments| arguments.get(ARGUMENTS)) {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err(ErrorData::invalid_params("`arguments` is a string", None)),
    };
    let _turn = audience.calls.acquire().await;
    let snapshot = audience.shared.registry.newest().await;
    let found = audience.invocable(&snapshot).find(|entry| entry.name().as_str() == request.name);
    let entry = found.ok_or_else(|| {
        let name = repertoire_model::text::shorten(&request.name, 100);
        ErrorData::invalid_params(format!("there is no prompt `{name}`; prompts/list has all of them"), None)
    })?;
    let instructions = instructions(audience, entry).await?;
    let text = match (arguments, instructions.contains(PLACEHOLDER)) {
        (_, true) => instructions.replace(PLACEHOLDER, arguments),
        ("", false) => instructions,
        (arguments, false) => format!("{}\n\nARGUMENTS: {arguments}\n", instructions.trim_end()),
    };
    let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    result.description = Some(entry.document.description.to_string());
    Ok(result)
}

/// Returns the instructions of the skill as `load_skill` gives them, or as they are where it is kept from models.
async fn instructions(audience: &Audience, entry: &Entry) -> Result<String, ErrorData> {
    if audience.options().tools.is_on() && entry.is_offered() {
        let load = audience.session.options().names.load.clone();
        let name = audience.session.options().arguments.name.clone();
        let reply = audience.session.call(&load, &json!({name: entry.name().as_str()})).await;
        if !reply.is_error() {
            return Ok(reply.text().to_owned());
        }
    }
    let skill = audience.shared.registry.get(entry).await;
    let skill = skill.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(skill.body().to_owned())
}
