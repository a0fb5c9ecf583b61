//! `unload_skill`: records that a skill is no longer needed.

use repertoire_model::SkillName;
use repertoire_model::answer::{Answer, Render};
use serde_json::Value;

use super::arguments::{Arguments, Parameter};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::names::SKILL_ALIASES;
use super::reply::{CallResult, EventDetails, ToolReply};
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::session::Session;

pub(super) const TOOL: Builtin =
    Builtin { canonical: "unload_skill", kind: EventKind::SkillUnloaded, define, call };

fn define(context: &DefinitionContext<'_>) -> (String, Value) {
    let name = context.options.tools.arguments.name.as_str();
    let description =
        "Deactivate a loaded skill that is no longer needed. Its text may be dropped from the context later.";
    (description.to_owned(), object(vec![(name, text("Name of a loaded skill"))], &[name]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let parameter = Parameter { name: &session.options().tools.arguments.name, aliases: SKILL_ALIASES };
        arguments.only(&[parameter])?;
        let asked = arguments.skill(&parameter)?;
        // A skill that is in the context can be unloaded even if it is gone from the library.
        if let Some(name) = SkillName::new(asked).filter(|name| session.context().unload(name)) {
            let details = EventDetails { skill: Some(name.to_string()), ..EventDetails::default() };
            return Ok(ToolReply { answer: Answer::Unloaded(name), details });
        }
        let found = session.lookup().find(asked).await;
        // The harness guide has one sentence for all skills that are not loaded, known or not.
        let is_terse = session.options().render == Render::Text;
        if let Some(name) = SkillName::new(asked).filter(|_| is_terse && found.is_err()) {
            return Ok(Answer::NotLoaded(name).into());
        }
        let entry = found?;
        let name = entry.name().clone();
        let was_active = session.context().unload(&name)
            | session.skill_tools().withdraw(&session.lookup().address(&entry));
        let answer = if was_active { Answer::Unloaded(name) } else { Answer::NotLoaded(name) };
        Ok(ToolReply { answer, details: EventDetails::of(&entry) })
    })
}
