//! Any number of sessions of one host, whose requests run at the same time.

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
use super::lines::{Line, Lines};
use super::open_session::OpenSession;
use super::refusal::{
    Answer, ProtocolRefusal, Request, answered, bad, fields, operation, parse, required, too_long,
};
use super::shared_library::Libraries;
use crate::error::CliError;

/// The most requests that run at the same time; others wait.
const MAX_WORKERS: usize = 256;

/// The most sessions that one process holds, with those of sub-agents.
const MAX_SESSIONS: usize = 4_096;

/// The sessions of a host, and its requests that are not answered yet.
struct Engine<'a> {
    host: Arc<Host>,
    libraries: Libraries<'a>,
    sessions: Mutex<BTreeMap<String, Arc<OpenSession>>>,
    /// The requests that can be cancelled, by id.
    in_flight: Mutex<BTreeMap<String, AbortHandle>>,
    /// The requests that wait for a worker or have one.
    pending: AtomicUsize,
}

/// A request for a worker.
struct Job {
    id: Value,
    request: Request,
    registration: AbortRegistration,
}

/// Answers the requests of a host until its input ends, or until it says so.
pub(super) fn run<R: BufRead>(
    host: Arc<Host>,
    libraries: Libraries<'_>,
    mut lines: Lines<R>,
) -> Result<(), CliError> {
    let engine = Engine {
        host,
        libraries,
        sessions: Mutex::default(),
        in_flight: Mutex::default(),
        pending: AtomicUsize::new(0),
    };
    let outcome = thread::scope(|scope| {
        let (jobs, queue) = unbounded();
        let outcome = engine.read(&mut lines, scope, &jobs, &queue);
        engine.end();
        outcome
    });
    engine.libraries.finish();
    outcome
}

impl<'a> Engine<'a> {
    /// Reads requests and hands them to workers; those that need none are answered at once.
    fn read<'scope, 'env, R: BufRead>(
        &'env self,
        lines: &mut Lines<R>,
        scope: &'scope Scope<'scope, 'env>,
        jobs: &Sender<Job>,
        queue: &Receiver<Job>,
    ) -> Result<(), CliError>
    where
        'a: 'env,
    {
        let mut workers = 0;
        loop {
            let request = match lines.next_line()? {
                Line::End => return Ok(()),
                Line::Text(line) if line.trim_ascii().is_empty() => continue,
                Line::Text(line) => parse(line),
                Line::TooLong => Err(too_long()),
            };
            let request = match request {
                Ok(request) => request,
                Err(refusal) => {
                    self.host.write(&answered(None, Err(refusal)));
                    continue;
                }
            };
            let id = request.get("id").cloned();
            let answer = match operation(&request) {
                Ok("end") => return Ok(()),
                Ok("answer") => match self.host.answered(request) {
                    Ok(()) => continue,
                    Err(refusal) => Err(refusal),
                },
                Ok("cancel") => self.cancel(&request),
                Ok("hello") => Err(bad("`hello` was said already")),
                Ok(_) => match self.submit(request, jobs) {
                    Ok(()) => {
                        // A request must not wait for one that waits for the host.
                        if self.pending.load(Ordering::Relaxed) > workers && workers < MAX_WORKERS {
                            let queue = queue.clone();
                            let worker = thread::Builder::new().name("request".to_owned());
                            let started = worker.spawn_scoped(scope, move || self.work(&queue));
                            workers += usize::from(started.is_ok());
                        }
                        continue;
                    }
                    Err(refusal) => Err(refusal),
                },
                Err(refusal) => Err(refusal),
            };
            self.host.write(&answered(id, answer));
        }
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
            let answer = match catch_unwind(AssertUnwindSafe(|| block_on(answering))) {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(refusal("cancelled", "the request was cancelled")),
                Err(_) => Err(refusal("failed", "an internal error; standard error says more")),
            };
            self.in_flight().remove(&id.to_string());
            self.host.write(&answered(Some(id), answer));
            self.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }

    async fn answer(&self, request: &Request) -> Answer {
        match operation(request)? {
            "open" => self.add(self.libraries.open(request).await?),
            "subagent" => self.add(self.session(request)?.subagent(request).await?),
            "close" => {
                let id = required(request, "session")?;
                let family = format!("{id}.");
                self.sessions().retain(|other, _| other != id && !other.starts_with(&family));
                Ok(Map::new())
            }
            "subscribe" => self.host.subscribe(request),
            operation => self.session(request)?.answer(operation, request).await,
        }
    }

    fn add(&self, session: OpenSession) -> Answer {
        let mut sessions = self.sessions();
        if sessions.len() >= MAX_SESSIONS {
            return Err(bad(format!("there are {MAX_SESSIONS} sessions already; `close` ends one")));
        }
        let id = session.session().id().to_owned();
        let snapshot = session.session().catalog().snapshot;
        sessions.insert(id.clone(), Arc::new(session));
        Ok(fields(json!({"session": id, "snapshot": snapshot})))
    }

    /// Returns the session that a request is about.
    fn session(&self, request: &Request) -> Result<Arc<OpenSession>, ProtocolRefusal> {
        let id = required(request, "session")?;
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

    /// Cancels everything that is not answered yet.
    fn end(&self) {
        for handle in self.in_flight().values() {
            handle.abort();
        }
        self.host.end();
        self.libraries.end();
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Arc<OpenSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_flight(&self) -> MutexGuard<'_, BTreeMap<String, AbortHandle>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(kind: &'static str, message: &str) -> ProtocolRefusal {
    ProtocolRefusal { kind, message: message.to_owned() }
}
