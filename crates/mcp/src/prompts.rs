//! Skills as prompts, which people invoke by name.

use repertoire::event::Via;
use repertoire::serve::{AgentView, Principal, RequestRecord};
use repertoire::{Entry, EventKind, Outcome, Reply, Session, SkillName};
use repertoire_model::Digest;
use repertoire_model::answer::guard::guard;
use repertoire_model::answer::{Answer, Render};
use rmcp::ErrorData;
use rmcp::model::{
    ConstString as _, GetPromptRequestMethod, GetPromptRequestParams, GetPromptResult, ListPromptsResult,
    Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

use super::cursor::{self, PAGE};

const GET: &str = GetPromptRequestMethod::VALUE;

/// The argument that every prompt takes.
const ARGUMENTS: &str = "arguments";

/// The placeholder for the arguments in instructions.
const PLACEHOLDER: &str = "$ARGUMENTS";

const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// Maximum bytes of a prompt: instructions may repeat the placeholder.
const MAX_PROMPT_BYTES: usize = 4 * 1024 * 1024;

/// Returns the prompts of the page that begins at `cursor`.
pub(crate) async fn list(view: &AgentView, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let after = cursor::parse(cursor)?;
    let snapshot = view.shared.registry.touch().await;
    let lookup = view.session.lookup();
    let listed = view.invocable(&snapshot).filter(|entry| lookup.is_listed(entry));
    let mut rest = listed.filter(|entry| entry.name().as_str() > after.as_str()).peekable();
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

/// The invocation of a skill by a person.
pub(crate) struct Invocation {
    pub(crate) entry: Entry,
    arguments: String,
}

pub(crate) async fn parse(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    request: &GetPromptRequestParams,
) -> Result<Invocation, ErrorData> {
    let mut record = RequestRecord::new(session, EventKind::SkillLoaded, GET, &principal.origin(Via::Prompt));
    record.asked(&request.name, None);
    let parsed = find(view, request, &mut record).await;
    // An invocation has its event when the skill is loaded.
    if parsed.is_err() {
        record.emit();
    }
    parsed
}

async fn find(
    view: &AgentView,
    request: &GetPromptRequestParams,
    record: &mut RequestRecord<'_>,
) -> Result<Invocation, ErrorData> {
    record.failed(Outcome::Invalid, "bad_argument");
    let arguments = match request.arguments.as_ref().and_then(|arguments| arguments.get(ARGUMENTS)) {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err(ErrorData::invalid_params("`arguments` is a string", None)),
    };
    if arguments.len() > MAX_ARGUMENT_BYTES {
        let reason = format!("`arguments` has more than {MAX_ARGUMENT_BYTES} bytes");
        return Err(ErrorData::invalid_params(reason, None));
    }
    let snapshot = view.shared.registry.newest().await;
    record.failed(Outcome::NotFound, "unknown_skill");
    record.unseen(&snapshot, &request.name);
    let found = view.invocable(&snapshot).find(|entry| entry.name().as_str() == request.name);
    let entry = found.ok_or_else(|| {
        let name = repertoire_model::text::shorten(&request.name, 100);
        ErrorData::invalid_params(format!("there is no prompt `{name}`; prompts/list has all of them"), None)
    })?;
    Ok(Invocation { entry: entry.clone(), arguments: arguments.to_owned() })
}

/// Returns the instructions of a skill as a user message.
///
/// The skill is loaded in `session`, so that its tools can be called there.
pub(crate) async fn get(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    Invocation { entry, arguments }: &Invocation,
    offers_tools: bool,
) -> Result<GetPromptResult, ErrorData> {
    let _permit = view.calls.acquire().await;
    // Escaped, so that they cannot close the surrounding markup.
    let arguments = guard(arguments);
    let text = instructions(view, session, principal, entry, &arguments, offers_tools).await?;
    let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    result.description = Some(entry.document.description.to_string());
    Ok(result)
}

/// Returns `instructions` with `arguments` inserted, and the text to add behind them if there is no place.
fn filled(instructions: &str, arguments: &str) -> Result<(String, String), ErrorData> {
    let places = instructions.matches(PLACEHOLDER).count();
    if places.saturating_mul(arguments.len()).saturating_add(instructions.len()) > MAX_PROMPT_BYTES {
        let reason = format!("with these arguments the prompt has more than {MAX_PROMPT_BYTES} bytes");
        return Err(ErrorData::invalid_params(reason, None));
    }
    let is_added = places == 0 && !arguments.is_empty();
    let added = if is_added { format!("\n\nARGUMENTS: {arguments}\n") } else { String::new() };
    Ok((instructions.replace(PLACEHOLDER, arguments), added))
}

/// Loads a skill as the model does.
async fn load(session: &Session, principal: &Principal, name: &SkillName) -> Reply {
    let mut origin = principal.origin(Via::Prompt);
    origin.method = Some(GET);
    let options = session.options();
    session
        .call_from(
            &origin,
            &options.tools.names.load,
            &json!({options.tools.arguments.name.as_str(): name.as_str()}),
        )
        .await
}

/// Returns a skill's instructions with `arguments`, as `load_skill` does, or the bare body if tools are off.
async fn instructions(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    entry: &Entry,
    arguments: &str,
    offers_tools: bool,
) -> Result<String, ErrorData> {
    if offers_tools {
        let mut answer = load(session, principal, entry.name()).await.answer().clone();
        if let Answer::Loaded(loaded) = &mut answer {
            // Inserted before the body gets its fence, which then fits the arguments too.
            let (body, added) = filled(&loaded.skill.body, arguments)?;
            if body != loaded.skill.body {
                loaded.skill.digest = Digest::of(body.as_bytes());
                loaded.skill.body = body;
            }
            // Prompts are Markdown even if tool results are JSON.
            return Ok(session.text_as(&answer, Render::Markdown) + &added);
        }
    }
    let mut record = RequestRecord::new(session, EventKind::SkillLoaded, GET, &principal.origin(Via::Prompt));
    record.found(entry);
    let skill = view.shared.registry.get(entry).await;
    match &skill {
        Ok(skill) => record.served(Some(Digest::of(skill.body().as_bytes())), skill.body().as_bytes()),
        Err(_) => record.failed(Outcome::Error, "failed"),
    }
    record.emit();
    let skill = skill.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let (body, added) = filled(skill.body(), arguments)?;
    Ok(body + &added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_arguments_replace_the_placeholder_or_stand_behind_the_instructions() {
        let check = |instructions: &str, arguments: &str, expect: (&str, &str)| {
            let (text, added) = filled(instructions, arguments).unwrap();
            assert_eq!((&*text, &*added), expect);
        };
        check("Do.\n", "", ("Do.\n", ""));
        check("Do.\n", "it", ("Do.\n", "\n\nARGUMENTS: it\n"));
        check("Do $ARGUMENTS, $ARGUMENTS.", "it", ("Do it, it.", ""));
        check("Do $ARGUMENTS.", "", ("Do .", ""));
    }

    #[test]
    fn a_prompt_that_becomes_too_long_is_refused() {
        let greedy = "$ARGUMENTS".repeat(1000);
        let error = filled(&greedy, &"x".repeat(MAX_ARGUMENT_BYTES)).unwrap_err();
        assert_eq!(error.code.0, -32602);
        assert!(filled(&greedy, "x").is_ok());
    }
}
