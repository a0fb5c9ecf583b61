//! Answers the requests of a host: of a conversation one after the other, of a greeted host at the same time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use async_channel::{Receiver, Sender, unbounded};
use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use pollster::block_on;
use serde_json::{Map, Value, json};

use super::host::Host;
use super::libraries::{Libraries, SessionWish};
use super::lines::{Line, Lines};
use super::open_session::OpenSession;
use super::refusal::{
    Answer, Parsed, ProtocolRefusal, Request, answered, bad, fields, operation, parse, required, text,
    too_long,
};
use crate::error::CliError;

/// The most requests that run at the same time; others wait.
const MAX_WORKERS: usize = 256;

/// The most sessions of sub-agents in a conversation.
const MAX_SUBAGENTS: usize = 256;

/// The most sessions of a greeted host; sessions of sub-agents count.
const MAX_SESSIONS: usize = 4_096;

/// The sessions of a host, and its requests that are not answered yet.
pub(super) struct Engine<'a> {
    host: Arc<Host>,
    libraries: Libraries<'a>,
    /// The session that requests are about that name none, in a conversation.
    main: Option<Arc<OpenSession>>,
    sessions: Mutex<BTreeMap<String, Arc<OpenSession>>>,
    /// The requests that can be cancelled, by id.
    in_flight: Mutex<BTreeMap<String, AbortHandle>>,
    /// The number of requests that wait for a worker or have one.
    pending: AtomicUsize,
}

/// A request for a worker.
struct Job {
    id: Value,
    request: Request,
    registration: AbortRegistration,
}

impl<'a> Engine<'a> {
    /// Returns the engine of a conversation with the session `main`, or of a greeted host.
    pub(super) fn new(libraries: Libraries<'a>, main: Option<OpenSession>) -> Self {
        let (sessions, in_flight, pending) = Default::default();
        let (host, main) = (Arc::clone(&libraries.host), main.map(Arc::new));
        Self { host, libraries, main, sessions, in_flight, pending }
    }

    /// Answers the line `first`, and then every line of the host until its input ends, or until it says so.
    pub(super) fn run<R: BufRead>(&self, first: Option<Parsed>, mut lines: Lines<R>) -> Result<(), CliError> {
        let outcome = thread::scope(|scope| {
            let (jobs, queue) = unbounded();
            let outcome = self.read(first, &mut lines, scope, (&jobs, &queue));
            self.end();
            self.libraries.end();
            outcome
        });
        self.libraries.finish();
        outcome
    }

    /// Reads requests and hands them to workers; what needs no worker is answered at once.
    fn read<'scope, 'env, R: BufRead>(
        &'env self,
        mut first: Option<Parsed>,
        lines: &mut Lines<R>,
        scope: &'scope Scope<'scope, 'env>,
        (jobs, queue): (&Sender<Job>, &Receiver<Job>),
    ) -> Result<(), CliError> {
        let mut workers = 0;
        while !self.host.has_ended() {
            let (id, request) = match first.take() {
                Some(first) => first,
                None => match lines.next_line()? {
                    Line::End => break,
                    Line::Text(line) if line.trim_ascii().is_empty() => continue,
                    Line::Text(line) => parse(line),
                    Line::TooLong => too_long(),
                },
            };
            let answer = request.and_then(|request| match (operation(&request)?, &self.main) {
                (operation, Some(main)) => block_on(self.converse(operation, main, &request)).map(Some),
                ("end", None) => {
                    self.end();
                    Ok(None)
                }
                ("answer", None) => self.host.answered(request).map(|()| None),
                ("cancel", None) => self.cancel(&request).map(Some),
                ("hello", None) => Err(bad("`hello` was said already")),
                (_, None) => self.submit(request, jobs).map(|()| None),
            });
            match answer {
                Ok(None) => {}
                Ok(Some(answer)) => self.host.write(&answered(id, Ok(answer))),
                Err(refusal) => self.host.write(&answered(id, Err(refusal))),
            }
            // A request must not wait for one that waits for the host.
            if self.pending.load(Ordering::Relaxed) > workers && workers < MAX_WORKERS {
                let (queue, worker) = (queue.clone(), thread::Builder::new().name("request".to_owned()));
                workers += usize::from(worker.spawn_scoped(scope, move || self.work(&queue)).is_ok());
            }
        }
        Ok(())
    }

    /// Hands a request to the workers.
    fn submit(&self, request: Request, jobs: &Sender<Job>) -> Result<(), ProtocolRefusal> {
        let id = request.get("id").cloned().ok_or_else(|| bad("after `hello` every request has an `id`"))?;
        let (handle, registration) = AbortHandle::new_pair();
        match self.in_flight().entry(id.to_string()) {
            Entry::Occupied(_) => return Err(bad(format!("a request with the id {id} is not answered yet"))),
            Entry::Vacant(entry) => entry.insert(handle),
        };
        self.pending.fetch_add(1, Ordering::Relaxed);
        jobs.try_send(Job { id, request, registration }).map_err(|_| bad("the session has ended"))
    }

    /// Answers requests until there are no more.
    fn work(&self, queue: &Receiver<Job>) {
        while let Ok(Job { id, request, registration }) = queue.recv_blocking() {
            let answering = Abortable::new(self.answer(&request), registration);
            let refused = |kind, message: &str| Err(ProtocolRefusal { kind, message: message.to_owned() });
            let outcome = catch_unwind(AssertUnwindSafe(|| block_on(answering)));
            // A call that ends because the host is gone may end before it sees that it was cancelled.
            let handle = self.in_flight().remove(&id.to_string());
            let answer = match outcome {
                Ok(Ok(answer)) if !handle.is_some_and(|handle| handle.is_aborted()) => answer,
                Ok(_) => refused("cancelled", "the request was cancelled"),
                Err(_) => refused("failed", "an internal error; standard error says more"),
            };
            self.host.write(&answered(Some(id), answer));
            self.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Answers a request of a conversation.
    async fn converse(&self, operation: &str, main: &Arc<OpenSession>, request: &Request) -> Answer {
        if matches!(operation, "hello" | "open" | "close" | "cancel" | "subscribe" | "answer" | "end") {
            return Err(bad(format!("`{operation}` needs a process whose first line is `hello`")));
        }
        let session = match text(request, "session")?.filter(|id| *id != main.session().id()) {
            None => Arc::clone(main),
            Some(id) => self.session(id)?,
        };
        if operation != "subagent" {
            return session.answer(operation, request).await;
        }
        if self.sessions().len() >= MAX_SUBAGENTS {
            return Err(bad(format!("there are {MAX_SUBAGENTS} sessions of sub-agents already")));
        }
        Ok(self.added(session.subagent(request).await?))
    }

    /// Answers a request of a greeted host.
    async fn answer(&self, request: &Request) -> Answer {
        let operation = operation(request)?;
        if matches!(operation, "open" | "subagent") && self.sessions().len() >= MAX_SESSIONS {
            return Err(bad(format!("there are {MAX_SESSIONS} sessions already; `close` ends one")));
        }
        match operation {
            "open" => {
                let wish = SessionWish::read(request, self.libraries.args)?;
                Ok(self.added(self.libraries.open(&wish).await?))
            }
            "subscribe" => self.host.subscribe(request),
            "close" => {
                let id = required(request, "session")?;
                let family = format!("{id}.");
                self.sessions().retain(|other, _| other != id && !other.starts_with(&family));
                Ok(Map::new())
            }
            operation => {
                let session = self.session(required(request, "session")?)?;
                match operation {
                    "subagent" => Ok(self.added(session.subagent(request).await?)),
                    operation => session.answer(operation, request).await,
                }
            }
        }
    }

    fn added(&self, session: OpenSession) -> Map<String, Value> {
        let id = session.session().id().to_owned();
        self.sessions().insert(id.clone(), Arc::new(session));
        fields(json!({"session": id}))
    }

    fn session(&self, id: &str) -> Result<Arc<OpenSession>, ProtocolRefusal> {
        let session = self.sessions().get(id).cloned();
        session.ok_or_else(|| bad(format!("there is no session `{id}`")))
    }

    /// Cancels a request; it is answered with the error `cancelled`, unless its answer is on the way.
    fn cancel(&self, request: &Request) -> Answer {
        let id = request.get("request").ok_or_else(|| bad("`request` is the id of a request"))?;
        if let Some(handle) = self.in_flight().get(&id.to_string()) {
            handle.abort();
        }
        Ok(Map::new())
    }

    /// Cancels the requests that are not answered yet, and the questions to the host.
    fn end(&self) {
        self.in_flight().values().for_each(AbortHandle::abort);
        self.host.end();
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Arc<OpenSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_flight(&self) -> MutexGuard<'_, BTreeMap<String, AbortHandle>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
