//! The requests and responses of a session over a pipe; `docs/reference/session.md` documents them.

use pollster::block_on;
use std::collections::BTreeMap;

use repertoire::session::{KeptContext, PinnedCatalog, SubagentOptions};
use repertoire::{Error, ErrorKind, Inherit, RoleOrigin, Session, Snapshot, Task};
use repertoire_app::view::DiagnosticView;
use repertoire_model::ledger::Presence;
use repertoire_model::reattach::Level;
use repertoire_model::scope::{Pattern, Scope};
use repertoire_model::text::nearest;
use repertoire_model::{Severity, SkillName, State, diagnostic};
use serde_json::{Map, Value, json};

use super::lines::MAX_LINE_BYTES;
use crate::role::Role;
use crate::wire::Workspace;

/// The names of all requests.
const OPERATIONS: &[&str] = &[
    "catalog",
    "tools",
    "call",
    "observe",
    "compacted",
    "evicted",
    "reattach",
    "delta",
    "diagnostics",
    "focus",
    "refresh",
    "state",
    "task",
    "prompt",
    "subagent",
];

/// The most sessions of sub-agents that one process holds.
const MAX_SUBAGENTS: usize = 256;

/// The most skills, and the most problems of directories, that `diagnostics` lists.
const MAX_DIAGNOSTICS: usize = 200;

/// The reason that a request was not answered.
struct ProtocolRefusal {
    kind: &'static str,
    message: String,
}

type Answer = Result<Map<String, Value>, ProtocolRefusal>;

/// A session, and those of the agents that it started.
pub(super) struct Conversation<'a> {
    workspace: &'a Workspace,
    main: Session,
    role: Option<TakenRole>,
    subagents: BTreeMap<String, Session>,
}

/// The role of a session, with its prompt.
struct TakenRole {
    role: Role,
    text: String,
    /// The number of the snapshot that the session's catalog was written from when the prompt was.
    snapshot: u64,
}

impl<'a> Conversation<'a> {
    /// Returns the conversation that `main` leads.
    pub(super) fn new(workspace: &'a Workspace, main: Session) -> Self {
        Self { workspace, main, role: None, subagents: BTreeMap::new() }
    }

    /// Gives the session `role`: its prompt is the role's, and the skills in that prompt are in the context.
    /// Returns the origin of the prompt.
    pub(super) fn take(&mut self, role: Role) -> Result<RoleOrigin, Error> {
        let session = &self.main;
        let prompt = pollster::block_on(role.resolve(self.workspace, session.registry(), session.options()))?;
        session.record().prompt_shown(&prompt.bound);
        let snapshot = session.catalog().snapshot;
        self.role = Some(TakenRole { role, text: prompt.text, snapshot });
        Ok(prompt.origin)
    }

    /// Returns the prompt of the session, or of its role if it has one; the same until a refresh.
    fn prompt(&mut self) -> Answer {
        let Some(taken) = &self.role else { return prompt(&self.main) };
        if taken.snapshot != self.main.catalog().snapshot {
            let role = taken.role.clone();
            self.take(role).map_err(failed)?;
        }
        let text = self.role.as_ref().map(|taken| taken.text.as_str());
        Ok(fields(json!({"text": text})))
    }

    /// Returns the library that all its sessions read.
    pub(super) fn library(&self) -> &repertoire::Library {
        self.main.library()
    }

    pub(super) fn answer(&mut self, line: &[u8]) -> Value {
        let request: Map<String, Value> = match serde_json::from_slice(line) {
            Ok(Value::Object(request)) => request,
            Ok(_) => return refused(None, malformed("a request is a JSON object")),
            Err(error) => return refused(None, malformed(format!("the line is not JSON: {error}"))),
        };
        let id = request.get("id").cloned();
        match self.dispatch(&request) {
            Ok(mut fields) => {
                let mut answer = Map::from_iter([("ok".to_owned(), Value::Bool(true))]);
                answer.extend(id.map(|id| ("id".to_owned(), id)));
                answer.append(&mut fields);
                Value::Object(answer)
            }
            Err(refusal) => refused(id, refusal),
        }
    }

    fn dispatch(&mut self, request: &Map<String, Value>) -> Answer {
        let operation = text(request, "op")?.ok_or_else(|| bad("`op` is missing"))?;
        if operation == "subagent" {
            return self.subagent(request);
        }
        let is_main = text(request, "session")?.is_none_or(|id| id == self.main.id());
        if operation == "prompt" && is_main {
            return self.prompt();
        }
        let session = self.session(request)?;
        match operation {
            "catalog" => {
                let catalog = catalog(session, request)?;
                Ok(fields(json!({"text": &*catalog.text, "snapshot": catalog.snapshot})))
            }
            "tools" => tools(session, request),
            "call" => call(session, request),
            "observe" => {
                session.observe(list(request, "messages")?);
                Ok(loaded(session))
            }
            "compacted" => {
                block_on(session.compacted(&kept(list(request, "kept")?)?));
                Ok(loaded(session))
            }
            "evicted" => {
                let name = text(request, "name")?.ok_or_else(|| bad("`name` is missing"))?;
                if let Some(name) = SkillName::new(name) {
                    session.context().evicted(&name);
                }
                Ok(loaded(session))
            }
            "reattach" => reattach(session, request),
            "delta" => {
                let note = block_on(session.delta());
                Ok(fields(json!({"text": note.text, "snapshot": note.snapshot})))
            }
            "refresh" => {
                let catalog = block_on(session.refresh());
                Ok(fields(json!({"text": &*catalog.text, "snapshot": catalog.snapshot})))
            }
            "diagnostics" => Ok(diagnostics(self.workspace, &session.registry().snapshot())),
            "focus" => {
                let paths = list(request, "paths")?.iter().map(Value::as_str);
                let paths: Option<Vec<&str>> = paths.collect();
                let note = session.focus(&paths.ok_or_else(|| bad("`paths` is a list of paths"))?);
                Ok(fields(json!({"text": note.text, "snapshot": note.snapshot})))
            }
            "state" => Ok(state(session)),
            "task" => {
                block_on(session.working_on(text(request, "task")?.unwrap_or_default()));
                Ok(Map::new())
            }
            "prompt" => prompt(session),
            unknown => Err(unknown_operation(unknown)),
        }
    }

    /// Returns the session that a request is about.
    fn session(&self, request: &Map<String, Value>) -> Result<&Session, ProtocolRefusal> {
        match text(request, "session")? {
            None => Ok(&self.main),
            Some(id) if id == self.main.id() => Ok(&self.main),
            Some(id) => self.subagents.get(id).ok_or_else(|| bad(format!("there is no session `{id}`"))),
        }
    }

    fn subagent(&mut self, request: &Map<String, Value>) -> Answer {
        if self.subagents.len() >= MAX_SUBAGENTS {
            return Err(bad(format!("there are {MAX_SUBAGENTS} sessions of sub-agents already")));
        }
        let parent = self.session(request)?;
        let agent = text(request, "agent")?;
        let mut options = SubagentOptions::default();
        options.agent = agent.map(str::to_owned);
        options.inherit = inherit(request)?;
        options.scope = scope(request)?;
        let inherits = options.inherit.unwrap_or_else(|| parent.inheritance()) != Inherit::None;
        if options.scope != Scope::default() && agent.is_none() && !inherits {
            return Err(bad(
                "`skills` only limits, and this sub-agent has no skills: give `agent`, or `inherit`",
            ));
        }
        let child =
            block_on(parent.subagent_with(&options)).map_err(|error| self.not_started(agent, error))?;
        let id = child.id().to_owned();
        self.subagents.insert(id.clone(), child);
        Ok(fields(json!({"session": id})))
    }

    /// Returns the reason that the session of `agent` was not opened: a known agent may lack its prompt.
    fn not_started(&self, agent: Option<&str>, error: Error) -> ProtocolRefusal {
        match agent.map(|name| self.workspace.agent(name)) {
            Some(Err(unread)) if error.kind() == ErrorKind::AgentNotFound => {
                let causes = unread.causes().iter().map(|cause| format!(": {cause}"));
                let hints = unread.hints().iter().map(|hint| format!("; {hint}"));
                let more: String = causes.chain(hints).collect();
                ProtocolRefusal { kind: "failed", message: format!("{}{more}", unread.message()) }
            }
            _ => failed(error),
        }
    }
}

/// Returns what a sub-agent is to inherit, if the request says so.
fn inherit(request: &Map<String, Value>) -> Result<Option<Inherit>, ProtocolRefusal> {
    let Some(word) = text(request, "inherit")? else { return Ok(None) };
    let words = || Inherit::ALL.map(Inherit::as_str).join(", ");
    Inherit::parse(word).map(Some).ok_or_else(|| bad(format!("`inherit` is one of: {}", words())))
}

/// Returns the skills that a request is limited to: the skills that one of its patterns matches, or all.
fn scope(request: &Map<String, Value>) -> Result<Scope, ProtocolRefusal> {
    if request.get("skills").is_none_or(Value::is_null) {
        return Ok(Scope::default());
    }
    let patterns = list(request, "skills")?.iter().map(|pattern| {
        let pattern = pattern.as_str().ok_or_else(|| bad("`skills` is a list of names"))?;
        let shown = repertoire_model::text::shorten(pattern, 80);
        Pattern::for_scope(pattern).map_err(|fault| bad(format!("`skills`: `{shown}`: {fault}")))
    });
    Ok(Scope { allow: Some(patterns.collect::<Result<_, _>>()?), ..Scope::default() })
}

/// Returns the answer to a line that is longer than any that is read.
pub(super) fn too_long() -> Value {
    refused(None, malformed(format!("the line is longer than {MAX_LINE_BYTES} bytes")))
}

/// Returns the catalog: for the task that the request names, else for the one that there is.
fn catalog(session: &Session, request: &Map<String, Value>) -> Result<PinnedCatalog, ProtocolRefusal> {
    let Some(text) = text(request, "task")? else { return Ok(session.catalog()) };
    let epoch = match request.get("epoch") {
        None | Some(Value::Null) => Some(0),
        Some(number) => number.as_u64(),
    };
    let epoch = epoch.ok_or_else(|| bad("`epoch` is a whole number"))?;
    let mut task = Task::new(text);
    task.epoch = epoch;
    Ok(block_on(session.catalog_for_task(&task)))
}

/// Returns the tools; `schema_key` names the key of their schemas, such as `parameters`.
fn tools(session: &Session, request: &Map<String, Value>) -> Answer {
    let key = text(request, "schema_key")?.unwrap_or("input_schema");
    let tool = |tool: &repertoire::tool::Definition| json!({"name": tool.name, "description": tool.description, key: tool.input_schema});
    Ok(fields(json!({"tools": session.tools().iter().map(tool).collect::<Vec<Value>>()})))
}

fn call(session: &Session, request: &Map<String, Value>) -> Answer {
    let tool = text(request, "tool")?.ok_or_else(|| bad("`tool` is missing"))?;
    let reply = block_on(session.call(tool, request.get("arguments").unwrap_or(&Value::Null)));
    let data = session.data(&reply);
    Ok(fields(json!({"is_error": reply.is_error(), "text": reply.text(), "data": data})))
}

fn reattach(session: &Session, request: &Map<String, Value>) -> Answer {
    let budget = match request.get("budget") {
        Some(Value::Number(number)) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        _ => None,
    };
    let budget = budget.ok_or_else(|| bad("`budget` is a whole number of tokens"))?;
    let put_back = block_on(session.reattach(budget));
    let piece = |piece: &repertoire_model::reattach::Piece| json!({"name": piece.name.as_str(), "level": piece.level.as_str(), "tokens": piece.tokens});
    let pieces: Vec<Value> = put_back.pieces.iter().map(piece).collect();
    let given = put_back.pieces.iter().filter(|piece| piece.level >= Level::Essence);
    let given: Vec<&str> = given.map(|piece| piece.name.as_str()).collect();
    let metadata = (!given.is_empty()).then(|| json!({"skillInjection": true, "skillIds": given}));
    let (text, tokens) = (put_back.text, put_back.tokens);
    Ok(fields(json!({"text": text, "tokens": tokens, "pieces": pieces, "metadata": metadata})))
}

/// Returns everything about the library that its user may want to know: notices, skills that are not offered
/// or have warnings, and problems of directories, a bounded number of them.
fn diagnostics(workspace: &Workspace, snapshot: &Snapshot) -> Map<String, Value> {
    let mut notices = workspace.disabled_by_project(snapshot);
    notices.extend(snapshot.notices(|_| true));
    let is_reported = |entry: &&repertoire::Entry| {
        entry.state != State::Active || diagnostic::worst(entry.diagnostics()) >= Some(Severity::Warning)
    };
    let skills = snapshot.entries().iter().filter(is_reported);
    let listed = skills.clone().take(MAX_DIAGNOSTICS).map(|entry| {
        let found: Vec<DiagnosticView> =
            entry.diagnostics().map(|found| DiagnosticView::of_skill(entry, found)).collect();
        json!({
            "name": entry.name().as_str(),
            "source": &*entry.source,
            "path": &*entry.path,
            "state": entry.state.as_str(),
            "diagnostics": found,
        })
    });
    let listed: Vec<Value> = listed.collect();
    let problems = snapshot.problems();
    let listed_problems: Vec<DiagnosticView> =
        problems.iter().take(MAX_DIAGNOSTICS).map(DiagnosticView::of_source).collect();
    let more = (skills.count() - listed.len()) + (problems.len() - listed_problems.len());
    fields(json!({
        "notices": notices,
        "skills": listed,
        "problems": listed_problems,
        "more": more,
        "snapshot": snapshot.number(),
    }))
}

fn state(session: &Session) -> Map<String, Value> {
    let word = |presence: Presence| match presence {
        Presence::Absent => "absent",
        Presence::Active => "active",
        Presence::Stale => "stale",
        Presence::Evictable => "evictable",
        Presence::Lost => "lost",
    };
    let skills: Vec<Value> = session
        .context()
        .skills()
        .iter()
        .map(|skill| {
            json!({
                "name": skill.name.as_str(),
                "state": word(skill.record.presence),
                "digest": skill.record.digest.map(|digest| digest.to_string()),
                "turn": skill.record.turn,
                "bound": skill.record.is_bound,
            })
        })
        .collect();
    let mut answer = loaded(session);
    answer.append(&mut fields(json!({
        "skills": skills,
        "session": session.id(),
        "agent": session.agent().map(|agent| agent.name.as_str()),
        "snapshot": session.catalog().snapshot,
    })));
    answer
}

fn prompt(session: &Session) -> Answer {
    let prompt = block_on(session.prompt()).map_err(failed)?;
    Ok(fields(json!({"text": prompt})))
}

fn loaded(session: &Session) -> Map<String, Value> {
    let names: Vec<String> = session.context().loaded().iter().map(ToString::to_string).collect();
    fields(json!({"loaded": names}))
}

/// Returns the context that a compaction left: the names of skills, or messages.
fn kept(items: &[Value]) -> Result<KeptContext, ProtocolRefusal> {
    if items.iter().all(Value::is_string) {
        // Texts that are not names of skills are ignored.
        let names = items.iter().filter_map(Value::as_str).filter_map(SkillName::new);
        return Ok(KeptContext::Skills(names.collect()));
    }
    if items.iter().all(Value::is_object) {
        return Ok(KeptContext::Messages(items.to_vec()));
    }
    Err(bad("`kept` is a list of skill names, or a list of messages"))
}

fn text<'r>(request: &'r Map<String, Value>, name: &str) -> Result<Option<&'r str>, ProtocolRefusal> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(format!("`{name}` is a string"))),
    }
}

fn list<'r>(request: &'r Map<String, Value>, name: &str) -> Result<&'r [Value], ProtocolRefusal> {
    match request.get(name) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(bad(format!("`{name}` is a list"))),
    }
}

fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn malformed(message: impl Into<String>) -> ProtocolRefusal {
    ProtocolRefusal { kind: "malformed", message: message.into() }
}

fn bad(message: impl Into<String>) -> ProtocolRefusal {
    ProtocolRefusal { kind: "bad_request", message: message.into() }
}

fn failed(error: Error) -> ProtocolRefusal {
    ProtocolRefusal { kind: "failed", message: error.chain() }
}

fn unknown_operation(operation: &str) -> ProtocolRefusal {
    let near = nearest(operation, OPERATIONS.iter().copied());
    let hint = near.map_or_else(
        || format!("there are: {}", OPERATIONS.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    let operation = repertoire_model::text::shorten(operation, 80);
    ProtocolRefusal {
        kind: "unknown_operation",
        message: format!("there is no operation `{operation}`; {hint}"),
    }
}

fn refused(id: Option<Value>, refusal: ProtocolRefusal) -> Value {
    let mut answer = Map::from_iter([("ok".to_owned(), Value::Bool(false))]);
    answer.extend(id.map(|id| ("id".to_owned(), id)));
    answer.insert("error".to_owned(), json!({"kind": refusal.kind, "message": refusal.message}));
    Value::Object(answer)
}
