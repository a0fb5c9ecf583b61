//! `call_skill_tool`: calls a tool that a loaded skill brings along.

use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::names::SKILL_ALIASES;
use super::reply::CallResult;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::session::Session;

const TOOL_NAME: Parameter<'static> = Parameter { name: "tool", aliases: &["tool_name", "toolName"] };
const ARGUMENTS: Parameter<'static> =
    Parameter { name: "arguments", aliases: &["args", "parameters", "input"] };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "call_skill_tool", kind: EventKind::SkillToolCalled, define, call };

fn define(context: &DefinitionContext<'_>) -> (String, Value) {
    let skill = context.options.tools.arguments.skill.as_str();
    let arguments = json!({"type": "object", "description": "Its arguments, as its schema says"});
    let properties = vec![
        (skill, text("Skill name; the skill must be loaded")),
        (TOOL_NAME.name, text("Tool of that skill")),
        (ARGUMENTS.name, arguments),
    ];
    let description =
        "Call a tool of a loaded skill. Loading a skill tells which tools it has and what they take.";
    (description.to_owned(), object(properties, &[skill, TOOL_NAME.name]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let skill = Parameter { name: &session.options().tools.arguments.skill, aliases: SKILL_ALIASES };
        arguments.only(&[skill, TOOL_NAME, ARGUMENTS])?;
        let tool = arguments.required_text(&TOOL_NAME)?;
        session.skill_tools().call(arguments.skill(&skill)?, tool, &arguments.object(&ARGUMENTS)?).await
    })
}
