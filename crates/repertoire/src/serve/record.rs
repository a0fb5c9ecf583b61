//! Events of skills that reach clients in other ways than by calls of tools.

use std::time::Instant;

use repertoire_model::Digest;
use repertoire_model::text::shorten;
use repertoire_model::tokens::approximate;
use serde_json::Value;

use crate::event::{CallOrigin, Event, EventKind, Outcome};
use crate::registry::{Entry, Lookup, Snapshot};
use crate::session::Session;

/// The name of the file with the instructions of a skill.
const MANIFEST: &str = "SKILL.md";

/// Maximum characters that are recorded of a name that is not a skill.
pub const MAX_NAME_CHARS: usize = 100;

/// The word of events for a request that is refused because too many responses wait to be read.
pub const OVERLOADED: &str = "overloaded";

/// The word of events for a request about a skill that the sender may not see.
pub const OUT_OF_SCOPE: &str = "out_of_scope";

/// The word of events for a request about a skill that does not exist.
pub const UNKNOWN_SKILL: &str = "unknown_skill";

/// The event of a request for a skill or a file. Until more is known of it, there is no such skill.
pub struct RequestRecord<'a> {
    session: &'a Session,
    event: Event,
    started: Instant,
}

impl<'a> RequestRecord<'a> {
    /// Returns the event of a request of `method` in `session`.
    pub fn new(session: &'a Session, kind: EventKind, method: &str, origin: &CallOrigin) -> Self {
        let mut event = session.record().event(kind, method, origin);
        (event.outcome, event.error) = (Outcome::NotFound, Some(UNKNOWN_SKILL.to_owned()));
        Self { session, event, started: Instant::now() }
    }

    /// Changes fields that are specific to the request.
    pub fn set(&mut self, change: impl FnOnce(&mut Event)) {
        change(&mut self.event);
    }

    /// Notes the requested skill and file. Reading the `SKILL.md` of a skill is loading it.
    pub fn asked(&mut self, skill: &str, file: Option<&str>) {
        self.event.skill = Some(shorten(skill, MAX_NAME_CHARS));
        if self.event.kind == EventKind::FileRead && file == Some(MANIFEST) {
            self.event.kind = EventKind::SkillLoaded;
        } else {
            self.event.file = file.map(str::to_owned);
        }
    }

    /// Notes that the client does not get the skill `name`: it is missing, or outside the agent's scope.
    pub fn unseen(&mut self, snapshot: &Snapshot, name: &str) {
        if let Lookup::Found(entry) | Lookup::Quarantined(entry) = snapshot.find(name)
            && entry.name().as_str() == name
        {
            self.event.outcome = Outcome::Denied;
        }
    }

    /// Notes that the skill was found; there may be no such file.
    pub fn found(&mut self, entry: &Entry) {
        entry.describe(&mut self.event);
        self.event.error = Some("no_file".to_owned());
    }

    /// Notes that the request came to nothing.
    pub fn failed(&mut self, outcome: Outcome, error: &str) {
        (self.event.outcome, self.event.error) = (outcome, Some(error.to_owned()));
    }

    /// Notes that the client gets `bytes`; those of a text count as tokens.
    pub fn served(&mut self, digest: Option<Digest>, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        (self.event.outcome, self.event.error) = (Outcome::Ok, None);
        (self.event.bytes, self.event.tokens) = (bytes.len() as u64, approximate(text) as u64);
        self.event.digest = digest;
    }

    /// Notes that the client gets a list, which has no tokens of instructions or files.
    pub fn listed(&mut self, digest: Option<Digest>, list: &Value) {
        self.served(digest, &[]);
        self.event.bytes = list.to_string().len() as u64;
    }

    /// Notes that the client has the content already.
    pub fn acknowledged(&mut self, digest: Option<Digest>) {
        self.served(digest, &[]);
    }

    /// Hands the event to the sinks.
    pub fn emit(mut self) {
        self.event.duration = self.started.elapsed();
        self.session.library().emit(&self.event);
    }
}
