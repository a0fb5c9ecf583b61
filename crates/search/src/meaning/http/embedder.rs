//! The embedder that requests embeddings from a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use repertoire::{BoxFuture, Error, ErrorKind};
use repertoire_model::Digest;
use repertoire_model::text::start;

use super::cache::Cache;
use super::options::{HttpEmbedderOptions, HttpEmbedderOptionsError};
use super::wire::request_embeddings;
use crate::meaning::{Embedder, Vector};
use crate::skill_text::SkillText;

/// The most texts of one request.
const BATCH: usize = 64;
/// The most bytes of all texts of one request.
const BATCH_BYTES: usize = 256 * 1024;
/// The most bytes of a text: models read a few thousand tokens at most.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// The most bytes of the cache of skills.
const MAX_SKILL_BYTES: usize = 256 * 1024 * 1024;
/// The most bytes of the query cache. It is small: few queries recur, and each new one rewrites the file.
const MAX_QUERY_BYTES: usize = 2 * 1024 * 1024;

/// An [`Embedder`] that requests embeddings from a server with an OpenAI-compatible API.
///
/// After a failure it sends no requests for a while, so that searches do not wait for the server.
///
/// ```
/// use repertoire_search::http::{HttpEmbedder, HttpEmbedderOptions};
/// let options = HttpEmbedderOptions::new("http://localhost:11434/v1", "nomic-embed-text");
/// assert!(HttpEmbedder::new(options).is_ok());
/// ```
#[derive(Clone)]
pub struct HttpEmbedder {
    shared: Arc<EmbeddingClient>,
}

struct EmbeddingClient {
    options: HttpEmbedderOptions,
    state: Mutex<EmbedderState>,
}

struct EmbedderState {
    skills: Cache,
    queries: Cache,
    /// The time and message of the last failure.
    failed: Option<(Instant, String)>,
    /// `true` once a failure was reported to the host.
    is_reported: bool,
}

/// The kind of texts in a request; each has its own cache.
#[derive(Clone, Copy)]
enum TextKind {
    Skills,
    Query,
}

impl EmbedderState {
    fn cache(&mut self, kind: TextKind) -> &mut Cache {
        match kind {
            TextKind::Skills => &mut self.skills,
            TextKind::Query => &mut self.queries,
        }
    }

    /// Returns the number of dimensions of the cached vectors.
    fn dimensions(&self) -> Option<usize> {
        self.skills.dimensions().or(self.queries.dimensions())
    }
}

impl HttpEmbedder {
    /// Returns an embedder with these options. Fails if they are invalid; no request is sent yet.
    pub fn new(options: HttpEmbedderOptions) -> Result<Self, HttpEmbedderOptionsError> {
        if let Some(error) = options.error() {
            return Err(error);
        }
        let stamp = stamp(&options);
        let cache = |name: &str, limit| {
            let name = format!("{}.{name}.vectors", &stamp.to_hex()[..16]);
            let file = options.cache.as_ref().map(|directory| directory.join(name));
            Cache::new(file, stamp, limit)
        };
        let state = EmbedderState {
            skills: cache("skills", MAX_SKILL_BYTES),
            queries: cache("queries", MAX_QUERY_BYTES),
            failed: None,
            is_reported: false,
        };
        Ok(Self { shared: Arc::new(EmbeddingClient { options, state: Mutex::new(state) }) })
    }

    /// Returns the vectors of `texts`, in order. A thread that may block sends the requests.
    async fn embed(&self, texts: Vec<String>, kind: TextKind) -> Result<Vec<Option<Vector>>, Error> {
        let shared = Arc::clone(&self.shared);
        blocking::unblock(move || shared.embed(&texts, kind)).await
    }
}

impl EmbeddingClient {
    fn state(&self) -> MutexGuard<'_, EmbedderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Option<Vector>>, Error> {
        let mut known: HashMap<&str, Vector> = HashMap::new();
        let mut missing: Vec<&str> = Vec::new();
        {
            let mut state = self.state();
            for text in texts.iter().map(String::as_str).filter(|text| !text.is_empty()) {
                match state.cache(kind).get(text) {
                    Some(vector) => {
                        known.insert(text, vector);
                    }
                    None => missing.push(text),
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();
        let outcome: Result<(), Error> = batches(&missing).try_for_each(|batch| {
            for (text, vector) in batch.iter().zip(self.request_with_retries(batch)?) {
                if let Some(vector) = vector {
                    self.state().cache(kind).put(text, &vector);
                    known.insert(text, vector);
                }
            }
            Ok(())
        });
        // Vectors received before a failure are cached.
        self.state().cache(kind).save();
        outcome?;
        Ok(texts.iter().map(|text| known.get(text.as_str()).cloned()).collect())
    }

    fn request_with_retries(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        if let Some((since, message)) = &self.state().failed
            && since.elapsed() < self.options.rest
        {
            return Err(error(&self.options, message));
        }
        let mut wait = self.options.backoff;
        let mut retries = self.options.retries;
        let fault = loop {
            let fault = match request_embeddings(&self.options, texts) {
                Ok(vectors) => match self.check_dimensions(&vectors) {
                    Ok(()) => return Ok(vectors),
                    Err(message) => break message,
                },
                Err(fault) => fault,
            };
            let Some(retry_after) = fault.retry.filter(|_| retries > 0) else { break fault.message };
            retries -= 1;
            thread::sleep(retry_after.unwrap_or(wait));
            wait *= 2;
        };
        self.give_up(&fault);
        Err(error(&self.options, &fault))
    }

    /// Fails if `vectors` have other dimensions than the cached ones: they cannot be compared.
    fn check_dimensions(&self, vectors: &[Option<Vector>]) -> Result<(), String> {
        let mut state = self.state();
        let mut dimensions = vectors.iter().flatten().map(Vector::dimensions);
        let Some(first) = dimensions.next() else { return Ok(()) };
        if dimensions.any(|other| other != first) {
            return Err("the answer has embeddings of different dimensions".to_owned());
        }
        match state.dimensions() {
            Some(known) if known != first => {
                // The server has another model under the same name, so the cached vectors are useless.
                state.skills.clear();
                state.queries.clear();
                Err(format!("embeddings have {first} dimensions now, not {known}"))
            }
            _ => Ok(()),
        }
    }

    /// Suspends requests for a while, and reports the first failure to the host.
    fn give_up(&self, message: &str) {
        let mut state = self.state();
        state.failed = Some((Instant::now(), message.to_owned()));
        if !std::mem::replace(&mut state.is_reported, true)
            && let Some(notice) = &self.options.notice
        {
            notice(&error(&self.options, message).chain());
        }
    }
}

/// Splits `texts` into batches of one request each.
fn batches<'t, 's>(texts: &'t [&'s str]) -> impl Iterator<Item = &'t [&'s str]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut room = BATCH_BYTES;
        let fits = |text: &&&str| {
            let is_room = text.len() <= room;
            room = room.saturating_sub(text.len());
            is_room
        };
        let count = rest.iter().take(BATCH).take_while(fits).count().max(1);
        let (batch, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(batch)
    })
}

fn stamp(options: &HttpEmbedderOptions) -> Digest {
    Digest::of(format!("{}\0{}", options.url, options.model).as_bytes())
}

fn error(options: &HttpEmbedderOptions, message: &str) -> Error {
    Error::new(ErrorKind::Io)
        .about(format!("{}/embeddings", options.url.trim_end_matches('/')))
        .because(message.to_owned())
}

/// Returns the beginning of `text` that is sent.
fn bounded(text: &str) -> String {
    start(text, MAX_TEXT_BYTES).trim().to_owned()
}

/// Returns the text of a skill as it is sent.
fn text_of(skill: &SkillText<'_>) -> String {
    let keywords = skill.keywords.join(", ");
    bounded(&[skill.name, skill.description, &keywords, skill.body].join("\n"))
}

impl Embedder for HttpEmbedder {
    fn id(&self) -> String {
        format!("http-{}", stamp(&self.shared.options).to_hex())
    }

    fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Option<Vector>, Error>> {
        Box::pin(async move {
            let vectors = self.embed(vec![bounded(text)], TextKind::Query).await?;
            Ok(vectors.into_iter().next().flatten())
        })
    }

    fn skills<'a>(
        &'a self,
        skills: &'a [SkillText<'a>],
    ) -> BoxFuture<'a, Result<Vec<Option<Vector>>, Error>> {
        Box::pin(self.embed(skills.iter().map(text_of).collect(), TextKind::Skills))
    }
}
