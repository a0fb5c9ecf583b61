//! `run_skill_script`: runs a script of a loaded skill.

use serde_json::{Value, json};

use super::arguments::{Arguments, Parameter};
use super::builtin::{Builtin, DefinitionContext};
use super::definition::{object, text};
use super::names::{PATH_ALIASES, SKILL_ALIASES};
use super::reply::CallResult;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::runner::ScriptCall;
use crate::session::Session;

const ARGS: Parameter<'static> = Parameter { name: "args", aliases: &["arguments"] };
const STDIN: Parameter<'static> = Parameter { name: "stdin", aliases: &["input"] };

pub(super) const TOOL: Builtin =
    Builtin { canonical: "run_skill_script", kind: EventKind::ScriptRun, define, call };

fn define(context: &DefinitionContext<'_>) -> (String, Value) {
    let names = &context.options.tools.arguments;
    let list = json!({"type": "array", "items": {"type": "string"}, "description": "Its arguments"});
    let properties = vec![
        (names.skill.as_str(), text("Skill name; the skill must be loaded")),
        (names.path.as_str(), text("Path within the skill, such as scripts/report.py")),
        (ARGS.name, list),
        (STDIN.name, text("What it reads from its standard input")),
    ];
    let description = "Run a script of a loaded skill in a sandbox and return what it prints.";
    (description.to_owned(), object(properties, &[&names.skill, &names.path]))
}

fn call<'a>(session: &'a Session, arguments: Arguments<'a>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let names = &session.options().tools.arguments;
        let skill = Parameter { name: &names.skill, aliases: SKILL_ALIASES };
        let path = Parameter { name: &names.path, aliases: PATH_ALIASES };
        arguments.only(&[skill, path, ARGS, STDIN])?;
        let call = ScriptCall {
            path: arguments.required_text(&path)?.to_owned(),
            args: arguments.texts(&ARGS)?,
            stdin: arguments.input(&STDIN)?.map(str::to_owned),
        };
        session.skill_tools().run_script(arguments.skill(&skill)?, call).await
    })
}
