//! The program at the other end of the pipe: lines to it, and requests that it answers.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_channel::{Sender, bounded};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use repertoire::event::jsonl;
use repertoire::provider::memory::{LoadError, Resource};
use repertoire::tool::Definition;
use repertoire::{
    BoxFuture, Change, Event, EventSink, HandlerError, SkillHandler, SkillName, Tool, ToolCall, ToolReply,
};
use repertoire_exec::approval::{ApprovalRequest, ApprovalVerdict, Approver};
use serde_json::{Map, Value, json};

use super::refusal::{Answer, ProtocolRefusal, Request, bad, fields, switch, text};

/// The program at the other end of the pipe.
pub(super) struct Host {
    output: Mutex<Box<dyn Write + Send>>,
    state: Mutex<HostState>,
}

#[derive(Default)]
struct HostState {
    /// The number of the last question.
    last: u64,
    /// The questions that the host has not answered yet.
    waiting: BTreeMap<u64, Sender<Request>>,
    wants_events: bool,
    wants_changes: bool,
    has_ended: bool,
}

impl HostState {
    /// Returns the number of a question whose answer `sender` takes, unless the host has ended.
    fn register(&mut self, sender: Sender<Request>) -> Option<u64> {
        self.last += 1;
        self.waiting.insert(self.last, sender);
        (!self.has_ended).then_some(self.last)
    }
}

impl Host {
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self { output: Mutex::new(Box::new(output)), state: Mutex::default() }
    }

    /// Writes `line`. A host that reads nothing more has ended.
    pub(super) fn write(&self, line: &Value) {
        self.write_text(line.to_string());
    }

    fn write_text(&self, mut line: String) {
        line.push('\n');
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
            self.end();
        }
    }

    /// Returns `true` if the host said that it ends, or reads nothing more.
    pub(super) fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Decides which notices the host gets; notices that `request` does not name stay as they are.
    pub(super) fn subscribe(&self, request: &Request) -> Answer {
        let (events, changes) = (switch(request, "events")?, switch(request, "changes")?);
        let mut state = self.state();
        state.wants_events = events.unwrap_or(state.wants_events);
        state.wants_changes = changes.unwrap_or(state.wants_changes);
        Ok(Map::new())
    }

    /// Tells the host of `change`, in the library of `profile`, if it wants that.
    pub(super) fn changed(&self, profile: Option<&str>, change: &Change) {
        if self.state().wants_changes {
            let names = |names: &[SkillName]| names.iter().map(SkillName::to_string).collect::<Vec<_>>();
            let (added, removed, snapshot) =
                (names(&change.added), names(&change.removed), change.after.number());
            let changed = change.changed.iter().map(|(name, aspects)| {
                let aspects: Vec<&str> = aspects.iter().map(|aspect| aspect.as_str()).collect();
                json!({"name": name.as_str(), "aspects": aspects})
            });
            let changed: Vec<Value> = changed.collect();
            self.write(&json!({"notice": "change", "profile": profile, "snapshot": snapshot, "added": added, "removed": removed, "changed": changed}));
        }
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the host for `operation` and returns its answer. A future that is dropped withdraws the request.
    async fn ask(self: &Arc<Self>, operation: &str, parameters: Value) -> Result<Request, HandlerError> {
        let gone = || HandlerError::new("HostGone", "the program that answers this has ended");
        let (sender, answer) = bounded(1);
        let number = self.state().register(sender).ok_or_else(gone)?;
        let _withdrawal = Withdrawal { host: Arc::clone(self), number };
        let mut line = fields(json!({"request": number, "op": operation}));
        line.append(&mut fields(parameters));
        self.write(&Value::Object(line));
        let answer = answer.recv().await.map_err(|_| gone())?;
        match answer.get("error") {
            None | Some(Value::Null) => Ok(answer),
            Some(error) => {
                let part = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
                let message = part("message").unwrap_or_else(|| error.to_string());
                Err(HandlerError::new(part("kind").unwrap_or_else(|| "Error".to_owned()), message))
            }
        }
    }

    /// Takes the answer to a request of the engine. One that was withdrawn needs no answer.
    pub(super) fn answered(&self, answer: Request) -> Result<(), ProtocolRefusal> {
        let number = answer.get("request").and_then(Value::as_u64);
        let number = number.ok_or_else(|| bad("`request` is the number of a request of the engine"))?;
        if let Some(sender) = self.state().waiting.remove(&number) {
            let _ = sender.try_send(answer);
        }
        Ok(())
    }

    /// Fails all requests that the host has not answered.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.waiting.clear();
    }
}

/// Withdraws a request when it is dropped, unless the host has answered.
struct Withdrawal {
    host: Arc<Host>,
    number: u64,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let is_waiting = self.host.state().waiting.remove(&self.number).is_some();
        if is_waiting {
            self.host.write(&json!({"notice": "withdrawn", "request": self.number}));
        }
    }
}

/// Tells the host of events, if it wants them.
impl EventSink for Host {
    fn record(&self, event: &Event) {
        let is_wanted = self.state().wants_events;
        if let Some(line) = is_wanted.then(|| jsonl::line(event)).and_then(Result::ok) {
            self.write_text(format!("{{\"notice\":\"event\",\"event\":{line}}}"));
        }
    }
}

/// Returns the text of an answer.
fn text_of(answer: &Request) -> Result<String, HandlerError> {
    let text = text(answer, "text").map_err(|refusal| HandlerError::new("BadAnswer", refusal.message))?;
    Ok(text.unwrap_or_default().to_owned())
}

/// A tool that the host runs.
pub(super) struct HostTool {
    pub(super) host: Arc<Host>,
    pub(super) definition: Definition,
}

impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn description(&self) -> String {
        self.definition.description.clone()
    }

    fn input_schema(&self) -> Value {
        self.definition.input_schema.clone()
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let agent = call.agent.map(|agent| agent.name.as_str());
            let parameters = json!({"tool": self.definition.name, "arguments": call.arguments, "session": call.session_id, "agent": agent});
            let answer = self.host.ask("call_tool", parameters).await;
            match answer.and_then(|answer| Ok((text_of(&answer)?, answer))) {
                Ok((text, answer)) if answer.get("is_error") == Some(&Value::Bool(true)) => {
                    ToolReply::error(text)
                }
                Ok((text, _)) => ToolReply::text(text),
                Err(error) => ToolReply::error(error.to_string()),
            }
        })
    }
}

/// A tool of a skill that the host runs.
pub(super) struct HostSkillTool {
    pub(super) host: Arc<Host>,
    pub(super) skill: String,
    pub(super) tool: String,
}

impl SkillHandler for HostSkillTool {
    fn call<'a>(&'a self, arguments: &'a Map<String, Value>) -> BoxFuture<'a, Result<String, HandlerError>> {
        Box::pin(async move {
            let parameters = json!({"skill": self.skill, "tool": self.tool, "arguments": arguments});
            text_of(&self.host.ask("call_skill_tool", parameters).await?)
        })
    }
}

/// Returns the file `path` of `skill`, which the host is asked for when it is first read.
pub(super) fn host_file(host: &Arc<Host>, skill: &str, path: &str) -> Resource {
    let (host, parameters) = (Arc::clone(host), json!({"skill": skill, "path": path}));
    Resource::lazy_async(move || {
        let (host, parameters) = (Arc::clone(&host), parameters.clone());
        async move {
            let answer = host.ask("read_file", parameters).await?;
            match text(&answer, "base64") {
                Ok(Some(bytes)) => decoded(bytes).map_err(LoadError::from),
                _ => Ok(text_of(&answer)?.into_bytes()),
            }
        }
    })
}

/// Returns the bytes that `text` holds in Base64.
pub(super) fn decoded(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("`base64` is not Base64: {error}"))
}

/// Has the host ask a person for approvals.
pub(super) struct HostApprover(pub(super) Arc<Host>);

impl fmt::Debug for HostApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostApprover")
    }
}

impl Approver for HostApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalVerdict> {
        Box::pin(async move {
            let ApprovalRequest { approval, difference, call, is_on_host, .. } = request;
            let changed = difference
                .as_ref()
                .map(|it| json!({"new": it.new_files, "changed": it.changed_files, "gone": it.gone_files}));
            let call = call.as_ref().map(|(tool, given)| json!({"tool": tool, "given": given}));
            let (source, directory) = (&approval.source, &approval.directory);
            let capabilities = approval.capabilities.lines();
            let question = json!({"skill": approval.name, "source": source, "directory": directory, "capabilities": capabilities, "changed_files": changed, "call": call, "on_host": is_on_host});
            match self
                .0
                .ask("approve", question)
                .await
                .as_ref()
                .ok()
                .and_then(|it| it.get("verdict")?.as_str())
            {
                Some("once") => ApprovalVerdict::Once,
                Some("always") => ApprovalVerdict::Always,
                Some("refused") => ApprovalVerdict::Refused,
                // An answer that cannot be understood permits nothing.
                _ => ApprovalVerdict::Unasked,
            }
        })
    }
}
