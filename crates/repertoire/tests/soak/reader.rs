//! A reader of the library: one session after the other, call after call.

use pollster::block_on;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use repertoire::model::Digest;
use repertoire::{Library, Lookup, Session};
use serde_json::json;

use super::history::{Histories, Seen};
use super::mark::{self, Found};
use super::random::Random;
use super::writer::{file_name, name};

/// The number of calls of one session.
const CALLS: usize = 300;
/// The longest pause between two calls, in milliseconds.
const PAUSE: usize = 12;
/// The most failures that are reported.
const MAX_TOLD: usize = 5;

/// The error for a name that the session's catalog does not have. If reloads take long it may be behind by
/// one of them, so the reader reloads the library and asks again.
const UNOFFERED: &str = "kind=\"unknown_skill\"";

/// The counts of answers.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) whole: usize,
    pub(crate) acknowledged: usize,
    pub(crate) nothing: usize,
    pub(crate) sessions: usize,
    failures: Vec<String>,
}

impl Tally {
    pub(crate) fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.whole += other.whole;
        self.acknowledged += other.acknowledged;
        self.nothing += other.nothing;
        self.sessions += other.sessions;
        self.failures.extend(other.failures);
    }

    /// Fails if an answer was wrong.
    pub(crate) fn is_sound(&self, seed: u64, histories: &Histories) {
        let told = self.failures.iter().take(MAX_TOLD).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.failures.is_empty(), "seed {seed}, {} skills:\n{told}", histories.skills.len());
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, acknowledged, nothing, sessions, .. } = self;
        write!(
            f,
            "{sessions} sessions, {whole} whole versions, {acknowledged} acknowledgements, {nothing} without a skill"
        )
    }
}

pub(crate) struct Reader {
    library: Library,
    session: Session,
    histories: Arc<Histories>,
    random: Random,
    /// The version of each skill that the session was given last.
    held: HashMap<usize, Seen>,
    calls: usize,
    pub(crate) tally: Tally,
}

impl Reader {
    pub(crate) fn new(library: &Library, histories: &Arc<Histories>, random: Random) -> Self {
        let session = block_on(library.session()).unwrap();
        let (histories, tally) = (Arc::clone(histories), Tally { sessions: 1, ..Tally::default() });
        Self { library: library.clone(), session, histories, random, held: HashMap::new(), calls: 0, tally }
    }

    /// Makes one call, and rests.
    pub(crate) fn call(&mut self) {
        self.calls += 1;
        if self.calls.is_multiple_of(CALLS) {
            self.session = block_on(self.library.session()).unwrap();
            self.held.clear();
            self.tally.sessions += 1;
        }
        let index = self.random.below(self.histories.skills.len());
        match self.random.below(100) {
            0..40 => self.load(index, true),
            40..65 => self.load(index, false),
            65..90 => self.read(index),
            90..94 => self.ask(index),
            94..97 => drop(block_on(self.session.delta())),
            _ => drop(block_on(self.session.call("list_skill_files", &json!({"skill": name(index)})))),
        }
        std::thread::sleep(Duration::from_millis(self.random.below(PAUSE) as u64));
    }

    /// Loads a skill: whole, or acknowledged as what the session was given last.
    fn load(&mut self, index: usize, force: bool) {
        let name = name(index);
        let since = self.histories.skills[index].now();
        let arguments = json!({"name": name, "force": force});
        let mut reply = block_on(self.session.call("load_skill", &arguments));
        if reply.text().contains(UNOFFERED) && !self.is_explained(index, since) {
            pollster::block_on(self.library.registry().newest());
            reply = block_on(self.session.call("load_skill", &arguments));
        }
        let seen = match mark::find(reply.text(), &name) {
            Found::Whole(version, line) => {
                let digest = Digest::of(format!("{line}\n").as_bytes());
                if reply.injections().iter().any(|injection| injection.digest != digest) {
                    return self.failed(index, since, &format!("the digest is not that of {line}"));
                }
                self.held.insert(index, Seen::Version(version));
                self.tally.whole += 1;
                Seen::Version(version)
            }
            Found::Torn => return self.failed(index, since, &format!("is torn: {}", reply.text())),
            Found::Nothing if reply.is_error() => {
                self.tally.nothing += 1;
                Seen::Nothing
            }
            Found::Nothing if reply.injections().iter().any(|given| given.digest == Digest::of(b"")) => {
                self.held.insert(index, Seen::Empty);
                self.tally.nothing += 1;
                Seen::Empty
            }
            Found::Nothing => match self.held.get(&index) {
                // A new, still empty file stays the last good version if the next one is broken.
                Some(Seen::Empty) if !force => {
                    self.tally.acknowledged += 1;
                    return;
                }
                Some(seen) if !force => {
                    self.tally.acknowledged += 1;
                    *seen
                }
                _ => return self.failed(index, since, &format!("was never given: {}", reply.text())),
            },
        };
        if !self.histories.skills[index].explains(since, seen, true) {
            self.failed(index, since, &format!("{seen:?} (force: {force}): {}", reply.text()));
        }
    }

    /// Returns `true` if the skill was absent or broken at some time since `since`.
    fn is_explained(&self, index: usize, since: usize) -> bool {
        self.histories.skills[index].explains(since, Seen::Nothing, true)
    }

    /// Reads the other file of a skill.
    fn read(&mut self, index: usize) {
        let (skills, files) = (&self.histories.skills[index], &self.histories.files[index]);
        let (skill_since, file_since) = (skills.now(), files.now());
        let arguments = json!({"skill": name(index), "path": "references/data.md"});
        let mut reply = block_on(self.session.call("read_skill_file", &arguments));
        if reply.text().contains(UNOFFERED) && !self.is_explained(index, skill_since) {
            pollster::block_on(self.library.registry().newest());
            reply = block_on(self.session.call("read_skill_file", &arguments));
        }
        let seen = match mark::find(reply.text(), &file_name(index)) {
            Found::Whole(version, _) => Seen::Version(version),
            Found::Nothing => Seen::Nothing,
            Found::Torn => {
                return self.failed(index, skill_since, &format!("file is torn: {}", reply.text()));
            }
        };
        let is_explained = files.explains(file_since, seen, false)
            || (seen == Seen::Nothing && skills.explains(skill_since, Seen::Nothing, false));
        match (is_explained, seen) {
            (true, Seen::Nothing | Seen::Empty) => self.tally.nothing += 1,
            (true, Seen::Version(_)) => self.tally.whole += 1,
            (false, _) => {
                let why = format!("file {seen:?}: {}\nwhere it was {}", reply.text(), files.told(file_since));
                self.failed(index, skill_since, &why);
            }
        }
    }

    /// Requests the newest snapshot, which must have everything that was written before.
    ///
    /// A new, still empty file is a skill with a derived description.
    fn ask(&mut self, index: usize) {
        let since = self.histories.skills[index].now();
        let newest = pollster::block_on(self.library.registry().newest());
        let seen = match newest.find(&name(index)) {
            Lookup::Found(entry) => {
                let described = entry.document.description.split("version ").nth(1);
                let version = described.and_then(|told| told.split('.').next()?.parse().ok());
                version.map_or(Seen::Empty, Seen::Version)
            }
            Lookup::Quarantined(_) | Lookup::Disabled(_) | Lookup::Unknown(_) => Seen::Nothing,
        };
        if !self.histories.skills[index].explains(since, seen, true) {
            self.failed(index, since, &format!("{seen:?} in the newest snapshot"));
        }
    }

    fn failed(&mut self, index: usize, since: usize, why: &str) {
        let past = self.histories.skills[index].told(since);
        self.tally.failures.push(format!("{} {why}\nwhere the skill was {past}", name(index)));
    }
}
