//! Reads the messages of a transcript one after the other.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::foreign::{is_error, may_be_instructions};
use super::shape::{TranscriptEvent, events};
use super::tools::{CallEffect, LoadToolNames};
use crate::answer::{Examination, Injection, RecognisedAnswer, examine, stamped_bodies};
use crate::ledger::SeenSkill;
use crate::reattach;
use crate::{Digest, SkillName};

/// The longest text that is searched for instructions, in bytes. The content of a longer one is unknown.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// The longest identifier of a call that is remembered, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// The skills that a transcript shows, and its number of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptSkills {
    /// The skills whose instructions it holds, sorted by name.
    pub seen: Vec<SeenSkill>,
    /// The number of turns: messages of the assistant.
    pub turns: u64,
}

/// Returns the skills that `messages` show.
pub fn loaded(messages: &[Value], tools: &LoadToolNames) -> TranscriptSkills {
    let mut reading = TranscriptReader::new(tools.clone());
    reading.read(messages);
    reading.derived()
}

/// A transcript that is being read, for hosts that do not want to begin anew with every message.
///
/// Reading it in pieces shows the same as reading it at once.
#[derive(Debug, Clone)]
pub struct TranscriptReader {
    tools: LoadToolNames,
    turns: u64,
    speaker: Speaker,
    /// Calls that have no result yet.
    calls: HashMap<String, Call>,
    seen: BTreeMap<SkillName, SeenSkill>,
    sightings: u64,
}

/// The last speaker. Items of one answer of the assistant are one turn together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Other,
    AssistantInMessage,
    AssistantInItem,
}

#[derive(Debug, Clone)]
struct Call {
    effect: CallEffect,
    /// The names that the skill may go by.
    names: Vec<SkillName>,
    turn: u64,
}

impl TranscriptReader {
    /// Returns the reading of an empty transcript whose tools go by these names.
    pub fn new(tools: LoadToolNames) -> Self {
        let (calls, seen) = (HashMap::new(), BTreeMap::new());
        Self { tools, turns: 0, speaker: Speaker::Other, calls, seen, sightings: 0 }
    }

    /// Reads the messages that follow those read so far.
    pub fn read(&mut self, messages: &[Value]) {
        for message in messages {
            events(message, &mut |event| self.note(event));
        }
    }

    /// Returns the skills found so far.
    pub fn derived(&self) -> TranscriptSkills {
        TranscriptSkills { seen: self.seen.values().cloned().collect(), turns: self.turns }
    }

    fn note(&mut self, event: TranscriptEvent<'_>) {
        match event {
            TranscriptEvent::Message if self.speaker == Speaker::AssistantInItem => (),
            TranscriptEvent::Message => {
                self.turns += 1;
                self.speaker = Speaker::AssistantInMessage;
            }
            TranscriptEvent::Item if self.speaker == Speaker::Other => {
                self.turns += 1;
                self.speaker = Speaker::AssistantInItem;
            }
            TranscriptEvent::Item => (),
            TranscriptEvent::Other => self.speaker = Speaker::Other,
            TranscriptEvent::Call { id, tool, arguments } => self.called(id, tool, arguments),
            TranscriptEvent::Result { id, failed, texts } => {
                if let Some(call) = self.calls.remove(id)
                    && !failed
                {
                    self.answered(call, &texts);
                }
            }
            TranscriptEvent::Text(text) => {
                if text.len() <= MAX_TEXT_BYTES {
                    for Injection { name, digest } in in_host_text(text) {
                        self.sight(name, Some(digest), Stamp::Stamped, self.turns);
                    }
                }
            }
        }
    }

    fn called(&mut self, id: &str, tool: &str, arguments: &Value) {
        // A call replaces an earlier one with its id, even of another tool: the next result is for it.
        self.calls.remove(id);
        if id.len() <= MAX_ID_BYTES
            && let Some(names) = self.tools.skill(tool, arguments)
        {
            let call = Call { effect: self.tools.effect(tool), names, turn: self.turns };
            self.calls.insert(id.to_owned(), call);
        }
    }

    fn answered(&mut self, call: Call, texts: &[&str]) {
        let examined = examined(texts);
        match (call.effect, examined) {
            (_, Examination::Whole(RecognisedAnswer::Failed)) => (),
            // Any tool may have the name of a skill; the answer tells a load from the work of a host's tool.
            (CallEffect::LoadByName, Examination::Whole(recognised))
                if !recognised.loads().any(|name| call.names.contains(name)) => {}
            (CallEffect::LoadByName, Examination::Foreign) => (),
            (CallEffect::Load | CallEffect::LoadByName, Examination::Whole(recognised)) => {
                if let RecognisedAnswer::Acknowledged(name) = &recognised
                    && let Some(sighting) = self.seen.get_mut(name)
                {
                    self.sightings += 1;
                    sighting.order = self.sightings;
                }
                let is_stamped = matches!(recognised, RecognisedAnswer::Bodies(_));
                let stamp = if is_stamped { Stamp::Stamped } else { Stamp::Missing };
                for Injection { name, digest } in recognised.bodies() {
                    self.sight(name.clone(), Some(*digest), stamp, call.turn);
                }
            }
            // Instructions that were cut are not there. An earlier version, if there is one, is not the last
            // that the model was given, so it is not certain.
            (CallEffect::Load | CallEffect::LoadByName, Examination::Broken) => {
                if let Some(sighting) = self.first_seen(&call.names) {
                    (sighting.digest, sighting.is_certain) = (None, false);
                }
            }
            (CallEffect::Load, Examination::Foreign) => {
                if let Some(name) = call.names.into_iter().next()
                    && may_be_instructions(texts)
                {
                    self.sight(name, None, Stamp::Missing, call.turn);
                }
            }
            (CallEffect::Unload, Examination::Whole(RecognisedAnswer::Unloaded(name))) => {
                self.unload(&[name])
            }
            (CallEffect::Unload, Examination::Foreign) if is_error(texts) => (),
            (CallEffect::Unload, _) => self.unload(&call.names),
        }
    }

    /// Notes that the first of `names` that was seen is unloaded.
    fn unload(&mut self, names: &[SkillName]) {
        if let Some(sighting) = self.first_seen(names) {
            sighting.unloaded = true;
        }
    }

    fn first_seen(&mut self, names: &[SkillName]) -> Option<&mut SeenSkill> {
        let name = names.iter().find(|name| self.seen.contains_key(*name))?;
        self.seen.get_mut(name)
    }

    fn sight(&mut self, name: SkillName, digest: Option<Digest>, stamp: Stamp, turn: u64) {
        self.sightings += 1;
        let (is_certain, order) = (stamp == Stamp::Stamped, self.sightings);
        let sighting = SeenSkill { name: name.clone(), digest, is_certain, turn, order, unloaded: false };
        self.seen.insert(name, sighting);
    }
}

/// The presence of a digest stamp on instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Stamped,
    Missing,
}

/// Returns the skills whose instructions stand whole in a message of the host or user: reattached or loaded.
fn in_host_text(text: &str) -> Vec<Injection> {
    if text.contains(&format!("<{}>", reattach::ELEMENT)) {
        return reattach::recognise(text);
    }
    stamped_bodies(text)
}

/// Examines a result that a host may have left whole, extended or split.
fn examined(texts: &[&str]) -> Examination {
    if texts.iter().map(|text| text.len()).sum::<usize>() > MAX_TEXT_BYTES {
        return Examination::Foreign;
    }
    let is_whole = |examined: &Examination| matches!(examined, Examination::Whole(_));
    let parts: Vec<Examination> = texts.iter().map(|text| examine(text)).collect();
    if let Some(whole) = parts.iter().find(|part| is_whole(part)) {
        return whole.clone();
    }
    let together = if texts.len() > 1 { examine(&texts.concat()) } else { Examination::Foreign };
    match together {
        Examination::Foreign if parts.contains(&Examination::Broken) => Examination::Broken,
        together => together,
    }
}
