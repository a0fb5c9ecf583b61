//! The requests about one session; `docs/reference/session.md` documents them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use repertoire::session::{KeptContext, PinnedCatalog, SubagentOptions};
use repertoire::{Error, ErrorKind, Inherit, RoleOrigin, Session, Snapshot, Task};
use repertoire_app::view::DiagnosticView;
use repertoire_model::ledger::Presence;
use repertoire_model::model_api::{self, ApiFormat, ModelCall};
use repertoire_model::reattach::Level;
use repertoire_model::scope::{Pattern, Scope};
use repertoire_model::{Severity, SkillName, State, diagnostic};
use serde_json::{Map, Value, json};

use super::refusal::{
    Answer, ProtocolRefusal, Request, bad, fields, list, required, text, unknown_operation,
};
use crate::role::Role;
use crate::wire::Workspace;

/// The most skills, and the most problems of directories, that `diagnostics` lists.
const MAX_DIAGNOSTICS: usize = 200;

/// A session, and the role that it has.
pub(super) struct OpenSession {
    workspace: Arc<Workspace>,
    session: Session,
    role: Mutex<Option<TakenRole>>,
}

/// The role of a session, with its prompt.
#[derive(Clone)]
struct TakenRole {
    role: Role,
    origin: RoleOrigin,
    text: String,
    /// The number of the snapshot that the session's catalog was written from when the prompt was.
    snapshot: u64,
}

impl OpenSession {
    /// Returns the session of `workspace`, without a role.
    pub(super) fn new(workspace: Arc<Workspace>, session: Session) -> Self {
        Self { workspace, session, role: Mutex::default() }
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Gives the session `role`: its prompt is the role's, and the skills in that prompt are in the context.
    pub(super) async fn take(&self, role: Role) -> Result<(), Error> {
        let session = &self.session;
        let prompt = role.resolve(&self.workspace, session.registry(), session.options()).await?;
        session.record().prompt_shown(&prompt.bound);
        let (text, snapshot) = (prompt.text, session.catalog().snapshot);
        *self.role() = Some(TakenRole { role, origin: prompt.origin, text, snapshot });
        Ok(())
    }

    /// Returns the role of the session, if it has one, and the origin of its prompt.
    pub(super) fn taken(&self) -> Option<(Role, RoleOrigin)> {
        self.role().clone().map(|taken| (taken.role, taken.origin))
    }

    fn role(&self) -> MutexGuard<'_, Option<TakenRole>> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the prompt of the session, or of its role if it has one; the same until a refresh.
    async fn prompt(&self) -> Answer {
        let taken = self.role().clone();
        let Some(taken) = taken else {
            let prompt = self.session.prompt().await?;
            return Ok(fields(json!({"text": prompt})));
        };
        if taken.snapshot != self.session.catalog().snapshot {
            self.take(taken.role).await?;
        }
        let text = self.role().as_ref().map(|taken| taken.text.clone());
        Ok(fields(json!({"text": text})))
    }

    /// Answers a request about the session.
    pub(super) async fn answer(&self, operation: &str, request: &Request) -> Answer {
        let session = &self.session;
        match operation {
            "catalog" => {
                let catalog = catalog(session, request).await?;
                Ok(fields(json!({"text": &*catalog.text, "snapshot": catalog.snapshot})))
            }
            "tools" => tools(session, request),
            "call" => call(session, request).await,
            "handle" => handle(session, request).await,
            "handle_all" => handle_all(session, request).await,
            "observe" => {
                session.observe(list(request, "messages")?);
                Ok(loaded(session))
            }
            "compacted" => {
                session.compacted(&kept(list(request, "kept")?)?).await;
                Ok(loaded(session))
            }
            "evicted" => {
                if let Some(name) = SkillName::new(required(request, "name")?) {
                    session.context().evicted(&name);
                }
                Ok(loaded(session))
            }
            "reattach" => reattach(session, request).await,
            "delta" => {
                let note = session.delta().await;
                Ok(fields(json!({"text": note.text, "snapshot": note.snapshot})))
            }
            "refresh" => {
                let catalog = session.refresh().await;
                Ok(fields(json!({"text": &*catalog.text, "snapshot": catalog.snapshot})))
            }
            "diagnostics" => Ok(diagnostics(&self.workspace, &session.registry().snapshot())),
            "focus" => {
                let paths = list(request, "paths")?.iter().map(Value::as_str);
                let paths: Option<Vec<&str>> = paths.collect();
                let note = session.focus(&paths.ok_or_else(|| bad("`paths` is a list of paths"))?);
                Ok(fields(json!({"text": note.text, "snapshot": note.snapshot})))
            }
            "state" => Ok(state(session)),
            "task" => {
                session.working_on(text(request, "task")?.unwrap_or_default()).await;
                Ok(Map::new())
            }
            "prompt" => self.prompt().await,
            unknown => Err(unknown_operation(unknown)),
        }
    }

    /// Opens the session of a sub-agent of this one.
    pub(super) async fn subagent(&self, request: &Request) -> Result<Self, ProtocolRefusal> {
        let agent = text(request, "agent")?;
        let mut options = SubagentOptions::default();
        options.agent = agent.map(str::to_owned);
        options.inherit = inherit(request)?;
        options.scope = scope(request)?;
        let inherits = options.inherit.unwrap_or_else(|| self.session.inheritance()) != Inherit::None;
        if options.scope != Scope::default() && agent.is_none() && !inherits {
            return Err(bad(
                "`skills` only limits, and this sub-agent has no skills: give `agent`, or `inherit`",
            ));
        }
        let child = self.session.subagent_with(&options).await;
        let child = child.map_err(|error| not_started(&self.workspace, agent, error))?;
        Ok(Self::new(Arc::clone(&self.workspace), child))
    }
}

/// Returns the reason that the session of `agent` was not opened: a known agent may lack its prompt.
fn not_started(workspace: &Workspace, agent: Option<&str>, error: Error) -> ProtocolRefusal {
    match agent.map(|name| workspace.agent(name)) {
        Some(Err(unread)) if error.kind() == ErrorKind::AgentNotFound => unread.into(),
        _ => error.into(),
    }
}

/// Returns what a sub-agent is to inherit, if the request says so.
fn inherit(request: &Request) -> Result<Option<Inherit>, ProtocolRefusal> {
    let Some(word) = text(request, "inherit")? else { return Ok(None) };
    let words = || Inherit::ALL.map(Inherit::as_str).join(", ");
    Inherit::parse(word).map(Some).ok_or_else(|| bad(format!("`inherit` is one of: {}", words())))
}

/// Returns the skills that a request is limited to: the skills that one of its patterns matches, or all.
fn scope(request: &Request) -> Result<Scope, ProtocolRefusal> {
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

/// Returns the catalog: for the task that the request names, else for the one that there is.
async fn catalog(session: &Session, request: &Request) -> Result<PinnedCatalog, ProtocolRefusal> {
    let Some(text) = text(request, "task")? else { return Ok(session.catalog()) };
    let epoch = match request.get("epoch") {
        None | Some(Value::Null) => Some(0),
        Some(number) => number.as_u64(),
    };
    let epoch = epoch.ok_or_else(|| bad("`epoch` is a whole number"))?;
    let mut task = Task::new(text);
    task.epoch = epoch;
    Ok(session.catalog_for_task(&task).await)
}

/// Returns the tools in the `format` of an API, or as they are with schemas under `schema_key`.
fn tools(session: &Session, request: &Request) -> Answer {
    let tools = session.tools();
    if let Some(word) = text(request, "format")? {
        let words = || ApiFormat::ALL.map(ApiFormat::as_str).join(", ");
        let format = ApiFormat::parse(word).ok_or_else(|| bad(format!("`format` is one of: {}", words())))?;
        let tools =
            tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str(), &tool.input_schema));
        return Ok(fields(json!({"tools": model_api::tools(format, tools)})));
    }
    let key = text(request, "schema_key")?.unwrap_or("input_schema");
    let tool = |tool: &repertoire::tool::Definition| json!({"name": tool.name, "description": tool.description, key: tool.input_schema});
    Ok(fields(json!({"tools": tools.iter().map(tool).collect::<Vec<Value>>()})))
}

async fn call(session: &Session, request: &Request) -> Answer {
    let tool = required(request, "tool")?;
    let reply = session.call(tool, request.get("arguments").unwrap_or(&Value::Null)).await;
    let data = session.data(&reply);
    Ok(fields(json!({"is_error": reply.is_error(), "text": reply.text(), "data": data})))
}

/// Answers a call as a model made it, in the shape of its API.
async fn handle(session: &Session, request: &Request) -> Answer {
    let call = request.get("call").and_then(ModelCall::read);
    let call = call.ok_or_else(|| bad("`call` is a call of a tool, as an API of models writes it"))?;
    let reply = session.call(call.name, call.arguments).await;
    let result = call.result(reply.text(), reply.is_error());
    Ok(fields(json!({"result": result, "is_error": reply.is_error()})))
}

/// Answers all calls in an answer of a model at once.
async fn handle_all(session: &Session, request: &Request) -> Answer {
    let answer = request.get("response").unwrap_or(&Value::Null);
    let read = model_api::calls(answer);
    let (format, calls) =
        read.ok_or_else(|| bad("`response` is an answer of a model, as its API writes it"))?;
    let replies = calls.iter().map(async |call| {
        let reply = session.call(call.name, call.arguments).await;
        call.result(reply.text(), reply.is_error())
    });
    let results = join_all(replies).await;
    Ok(fields(json!({"messages": model_api::messages(format, results)})))
}

async fn reattach(session: &Session, request: &Request) -> Answer {
    let budget = match request.get("budget") {
        Some(Value::Number(number)) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        _ => None,
    };
    let budget = budget.ok_or_else(|| bad("`budget` is a whole number of tokens"))?;
    let put_back = session.reattach(budget).await;
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
