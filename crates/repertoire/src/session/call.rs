//! Calls: from a name and arguments to an answer, and one event for each.

use std::sync::Arc;

use repertoire_model::answer::{Answer, Fault, FaultKind, Injection, Render};
use serde_json::{Map, Value};

use super::open::Session;
use super::options::{Account, SkillAsTool};
use crate::clock::{self, Instant};
use crate::event::{CallOrigin, EventKind};
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

    /// Returns the metadata that a host may keep beside the message, if the text holds instructions.
    pub fn metadata(&self) -> Option<Value> {
        self.answer.metadata()
    }
}

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
            let mut event = self.record().event(kind, &called, origin);
            (event.time, event.duration) = (time, started.elapsed());
            self.record().answered(event, &reply, text.len());
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
                let name = self.options().tools.arguments.name.clone();
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
                let called = self.skill_tools().call(&skill, &tool, arguments).await;
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
            self.options().tools.names.configured(tool.canonical) == name || tool.canonical == name
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
                let is_loaded = self.options().tools.skill_as_tool == SkillAsTool::Load
                    && self.lookup().visible(&self.registry().snapshot(), name).is_some();
                is_loaded.then_some(CallTarget::Load(&LOAD_SKILL))
            }
        }
    }

    fn no_such_tool(&self, tool: &str) -> ToolReply {
        let snapshot = self.registry().snapshot();
        let (kind, skill) = match self.lookup().visible(&snapshot, tool) {
            Some(entry) => (FaultKind::SkillAsTool, Some(entry.name().to_string())),
            None => match self.skill_tools().refusal(tool) {
                Some((skill, why)) => (FaultKind::NotApproved { tool: quoted(tool), why }, skill),
                None => {
                    let tools = self.tools().iter().map(|tool| tool.name.clone()).collect();
                    (
                        FaultKind::UnknownTool { tools, near: self.lookup().nearest_skill(&snapshot, tool) },
                        None,
                    )
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
        let ArgumentNames { name, skill, .. } = &self.options().tools.arguments;
        let mut names = [name.as_str(), skill.as_str()].into_iter().chain(SKILL_ALIASES.iter().copied());
        let Some(asked) = names.find_map(|name| arguments.get(name)?.as_str()) else { return };
        let snapshot = self.registry().snapshot();
        let named = match self.lookup().visible(&snapshot, asked.trim()) {
            Some(entry) => EventDetails::of(entry),
            None => EventDetails { skill: Some(quoted(asked)), ..EventDetails::default() },
        };
        (details.skill, details.source, details.identity) = (named.skill, named.source, named.identity);
    }

    /// Returns `true` if the model sees the built-in tool `canonical`.
    pub(super) fn is_shown(&self, canonical: &str, catalog_is_cut: bool) -> bool {
        let is_needed = match canonical {
            // The answer of `load_skill` lists files, and `read_skill_file` those of a directory.
            "list_skill_files" => !self.is_on("read_skill_file"),
            "list_skills" | "search_skills" => catalog_is_cut,
            "unload_skill" => self.skill_tools().are_offered(),
            "propose_skill" | "propose_skill_update" => self.options().tools.propose_tools,
            _ => true,
        };
        self.is_on(canonical) && (is_needed || !self.options().tools.offered.are_by_need())
    }

    /// Returns `true` if the built-in tool `canonical` can be called.
    pub(super) fn is_on(&self, canonical: &str) -> bool {
        let options = self.options();
        if !options.tools.offered.includes(canonical) {
            return false;
        }
        match canonical {
            // If a toolbox can be opened, it can be closed, even without tracking of the context.
            "unload_skill" => {
                options.tools.unload_tool
                    || (options.loading.account == Account::None && self.skill_tools().are_offered())
            }
            "call_skill_tool" => self.skill_tools().are_offered(),
            "run_skill_script" => self.skill_tools().runner().is_some(),
            "search_skills" => self.library().searcher().is_some(),
            "propose_skill" | "propose_skill_update" => self.library().proposer().is_some(),
            "review_skill_proposals" => {
                self.library().proposer().is_some() && self.agent().is_some_and(|agent| agent.reviews)
            }
            _ => true,
        }
    }
}
