//! Calls: from a name and arguments to an answer, and one event for each.

use std::sync::Arc;

use repertoire_model::answer::{Answer, Fault, FaultKind, Injection, Render};
use serde_json::{Map, Value};

use super::open::Session;
use super::options::SkillAsTool;
use crate::clock::{self, Instant};
use crate::event::{CallOrigin, Event, EventKind, Outcome};
use crate::registry::told_source;
use crate::tool::{
    ArgumentNames, BUILTINS, Builtin, CallFailure, CallResult, EventDetails, LOAD_SKILL, SKILL_ALIASES, Tool,
    ToolCall, ToolReply, object_of, quoted,
};

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    answer: Answer,
    text: String,
}

impl Reply {
    /// Returns the text to put before the model.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the call failed; the text says why.
    pub fn is_error(&self) -> bool {
        self.answer.is_error()
    }

    /// Returns the answer as a value.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Returns the skills whose whole instructions the text holds.
    pub fn injections(&self) -> Vec<Injection> {
        self.answer.injections()
    }

    /// Returns the metadata that a host may keep beside the message, if the text holds instructions of
    /// skills.
    pub fn metadata(&self) -> Option<Value> {
        self.answer.metadata()
    }
}

/// The tool that a call is for.
enum CallTarget<'a> {
    Builtin(&'static Builtin),
    Host(&'a dyn Tool),
    /// A tool of a loaded skill: what the skill is called by, and the tool.
    Skill(String, String),
    /// `load_skill`: the name of a skill was called as if it were a tool.
    Load(&'static Builtin),
}

impl Session {
    /// Answers a call of `tool` with `arguments`, an object or the text of one.
    ///
    /// It never fails: errors of the call are answers.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        self.call_from(&CallOrigin::default(), tool, arguments).await
    }

    /// Answers a call as [`Session::call`] does; events tell its `origin`.
    pub async fn call_from(&self, origin: &CallOrigin, tool: &str, arguments: &Value) -> Reply {
        let (time, started) = (clock::now(), Instant::now());
        self.registry().touch().await;
        let found = self.find_tool(tool);
        let kind = match &found {
            Some(CallTarget::Builtin(builtin) | CallTarget::Load(builtin)) => builtin.kind,
            Some(CallTarget::Skill(..)) => EventKind::SkillToolCalled,
            Some(CallTarget::Host(_)) | None => EventKind::ToolCalled,
        };
        let reply = self.answer(tool, found, arguments, origin).await;
        let text = reply.answer.render(self.options().render, &self.wording);
        if !self.library().resources().sinks.is_empty() {
            let called = origin.method.map_or_else(|| quoted(tool), str::to_owned);
            let mut event = self.event(kind, &called, origin);
            (event.time, event.duration) = (time, started.elapsed());
            self.record(event, &reply, text.len());
        }
        Reply { answer: reply.answer, text }
    }

    /// Returns the answer as structured data, independent of the format that the model reads.
    pub fn data(&self, reply: &Reply) -> Value {
        reply.answer.data(&self.wording)
    }

    /// Returns `answer` written in another way than the model reads it in.
    pub fn text_as(&self, answer: &Answer, render: Render) -> String {
        answer.render(render, &self.wording)
    }

    async fn answer(
        &self,
        tool: &str,
        found: Option<CallTarget<'_>>,
        arguments: &Value,
        origin: &CallOrigin,
    ) -> ToolReply {
        let Some(found) = found else {
            return self.no_such_tool(tool);
        };
        let arguments = match found {
            // Other arguments are made up: no schema says what they mean.
            CallTarget::Load(_) => {
                let name = self.options().arguments.name.clone();
                Some(Map::from_iter([(name, Value::from(tool))]))
            }
            _ => object_of(arguments),
        };
        let Some(arguments) = &arguments else { return self.bad_arguments(tool) };
        match found {
            CallTarget::Builtin(builtin) | CallTarget::Load(builtin) => {
                let mut reply = self.call_builtin(builtin, arguments, origin).await;
                let is_about_skill =
                    !matches!(builtin.kind, EventKind::SkillsListed | EventKind::SkillsSearched);
                if is_about_skill && reply.details.skill.is_none() {
                    self.note_named_skill(&mut reply.details, arguments);
                }
                reply
            }
            CallTarget::Host(tool) => {
                let session_id = origin.conversation.as_deref().unwrap_or(self.id());
                let (agent, registry) = (self.agent(), self.registry());
                tool.call(ToolCall { arguments, session_id, agent, registry }).await
            }
            CallTarget::Skill(skill, tool) => {
                let called = self.call_skill_tool(&skill, &tool, arguments).await;
                self.replied("call_skill_tool", called)
            }
        }
    }

    /// Answers a call of a built-in tool.
    ///
    /// A skill that is gone may only have moved since the last reload, so the library is reloaded once more.
    async fn call_builtin(
        &self,
        builtin: &Builtin,
        arguments: &Map<String, Value>,
        origin: &CallOrigin,
    ) -> ToolReply {
        let conversation = origin.conversation.as_deref().unwrap_or(self.id());
        let principal = origin.principal.as_deref();
        let before = self.registry().snapshot();
        let reply =
            self.replied(builtin.canonical, builtin.call(self, arguments, conversation, principal).await);
        if matches!(&reply.answer, Answer::Fault(Fault { kind: FaultKind::Gone, .. }))
            && !Arc::ptr_eq(&before, &self.registry().newest().await)
        {
            return self
                .replied(builtin.canonical, builtin.call(self, arguments, conversation, principal).await);
        }
        reply
    }

    /// Returns the reply of the built-in tool `tool`; a failure is an answer too.
    fn replied(&self, tool: &str, called: CallResult) -> ToolReply {
        let mut reply = called.unwrap_or_else(|CallFailure { kind, asked, details }| ToolReply {
            answer: self.fault(tool, asked.as_deref(), kind),
            details: *details,
        });
        if let (Answer::Fault(fault), Some(source)) = (&mut reply.answer, &reply.details.source) {
            fault.source = Some(told_source(source));
        }
        reply
    }

    /// Returns the tool called `name`: by the host's name for it, or the usual one.
    fn find_tool(&self, name: &str) -> Option<CallTarget<'_>> {
        let resources = self.library().resources();
        let mut builtins = BUILTINS.iter().filter(|tool| self.is_on(tool.canonical));
        let called = |tool: &&Builtin| {
            self.options().names.configured(tool.canonical) == name || tool.canonical == name
        };
        match builtins.find(called) {
            Some(tool) => Some(CallTarget::Builtin(tool)),
            None => {
                let host = resources.tools.iter().find(|tool| tool.name() == name);
                if let Some(tool) = host {
                    return Some(CallTarget::Host(tool.as_ref()));
                }
                if let Some(skill) = self.state().exposed.owner(name) {
                    return Some(CallTarget::Skill(skill, name.to_owned()));
                }
                let is_loaded = self.options().skill_as_tool == SkillAsTool::Load
                    && self.visible(&self.registry().snapshot(), name).is_some();
                is_loaded.then_some(CallTarget::Load(&LOAD_SKILL))
            }
        }
    }

    fn no_such_tool(&self, tool: &str) -> ToolReply {
        let snapshot = self.registry().snapshot();
        let (kind, skill) = match self.visible(&snapshot, tool) {
            Some(entry) => (FaultKind::SkillAsTool, Some(entry.name().to_string())),
            None => match self.refusal(tool) {
                Some((skill, why)) => (FaultKind::NotApproved { tool: quoted(tool), why }, skill),
                None => {
                    let tools = self.tools().iter().map(|tool| tool.name.clone()).collect();
                    (FaultKind::UnknownTool { tools, near: self.nearest_skill(&snapshot, tool) }, None)
                }
            },
        };
        let details = EventDetails { skill: skill.clone(), ..EventDetails::default() };
        ToolReply { answer: Answer::Fault(Fault::new(quoted(tool), skill, kind)), details }
    }

    fn bad_arguments(&self, tool: &str) -> ToolReply {
        let kind =
            FaultKind::BadArgument { name: "arguments".to_owned(), expected: "a JSON object".to_owned() };
        self.fault(tool, None, kind).into()
    }

    /// Notes the skill that `arguments` name, although something else is wrong with them.
    fn note_named_skill(&self, details: &mut EventDetails, arguments: &Map<String, Value>) {
        let ArgumentNames { name, skill, .. } = &self.options().arguments;
        let mut names = [name.as_str(), skill.as_str()].into_iter().chain(SKILL_ALIASES.iter().copied());
        let Some(asked) = names.find_map(|name| arguments.get(name)?.as_str()) else { return };
        let snapshot = self.registry().snapshot();
        let named = match self.visible(&snapshot, asked.trim()) {
            Some(entry) => EventDetails::of(entry),
            None => EventDetails { skill: Some(quoted(asked)), ..EventDetails::default() },
        };
        (details.skill, details.source, details.identity) = (named.skill, named.source, named.identity);
    }

    /// Records the events of a call whose answer has `bytes`: one for each skill or file that the answer holds.
    fn record(&self, event: Event, reply: &ToolReply, bytes: usize) {
        let more = &reply.details.more;
        let others: usize = more.iter().map(|part| part.bytes).sum();
        let parts = [(&reply.details, bytes.saturating_sub(others))].into_iter();
        let parts = parts.chain(more.iter().map(|part| (part, part.bytes)));
        for (part, (details, bytes)) in parts.enumerate() {
            let mut event = Event { bytes: bytes as u64, part, ..event.clone() };
            self.describe(&mut event, details, &reply.answer);
            self.library().emit(&event);
        }
    }

    /// Writes into `event` what the call came to.
    fn describe(&self, event: &mut Event, details: &EventDetails, answer: &Answer) {
        let EventDetails {
            skill,
            file,
            source,
            identity,
            digest,
            tokens,
            query,
            results,
            error,
            is_denied,
            skill_tool,
            sandbox,
            exit_code,
            via,
            bytes: _,
            more: _,
        } = details;
        event.skill.clone_from(skill);
        event.file.clone_from(file);
        event.source = source.as_deref().map(str::to_owned);
        event.identity.clone_from(identity);
        event.via = via.unwrap_or(event.via);
        event.digest = *digest;
        event.tokens = *tokens as u64;
        event.query.clone_from(query);
        event.results = *results;
        event.skill_tool.clone_from(skill_tool);
        (event.sandbox, event.exit_code) = (*sandbox, *exit_code);
        event.outcome = if *is_denied { Outcome::Denied } else { outcome(answer) };
        if let Answer::Fault(fault) = answer {
            event.error = Some(fault.kind.as_str().to_owned());
        } else {
            event.error = error.map(str::to_owned);
        }
        self.measure(event);
    }
}

fn outcome(answer: &Answer) -> Outcome {
    let Answer::Fault(fault) = answer else {
        return if answer.is_error() { Outcome::Error } else { Outcome::Ok };
    };
    match &fault.kind {
        FaultKind::UnknownSkill { .. }
        | FaultKind::Gone
        | FaultKind::UnknownTool { .. }
        | FaultKind::SkillAsTool
        | FaultKind::NoFile { .. }
        | FaultKind::NoDirectory { .. }
        | FaultKind::NotLoaded { .. }
        | FaultKind::NoSkillTool { .. } => Outcome::NotFound,
        FaultKind::NotPermitted | FaultKind::Forbidden { .. } | FaultKind::NotApproved { .. } => {
            Outcome::Denied
        }
        FaultKind::MissingArgument { .. }
        | FaultKind::BadArgument { .. }
        | FaultKind::UnknownArgument { .. }
        | FaultKind::BadArguments { .. }
        | FaultKind::BadPath { .. }
        | FaultKind::IsDirectory { .. }
        | FaultKind::NotDirectory { .. }
        | FaultKind::Binary { .. }
        | FaultKind::TooLarge { .. } => Outcome::Invalid,
        // Broken, failed, and any kind that is added.
        _ => Outcome::Error,
    }
}
