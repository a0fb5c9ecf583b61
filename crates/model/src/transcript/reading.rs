//! Reading messages one after the other.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::foreign::may_be_instructions;
use super::shape::{Event, events};
use super::tools::{Deed, ToolNames};
use crate::answer::{Injection, Recognised, recognise};
use crate::ledger::Seen;
use crate::reattach;
use crate::{Digest, SkillName};

/// The longest text that is searched for instructions, in bytes. What a longer one holds is unknown.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// The longest identifier of a call that is remembered, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// What a transcript shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// The skills whose instructions it holds, sorted by name.
    pub seen: Vec<Seen>,
    /// How many turns it has: the messages of the assistant.
    pub turns: u64,
}

/// Returns what `messages` show.
pub fn loaded(messages: &[Value], tools: &ToolNames) -> Derived {
    let mut reading = Reading::new(tools.clone());
    reading.read(messages);
    reading.derived()
}

/// A transcript that is being read, for hosts that do not want to begin anew with every message.
///
/// Reading it in pieces shows the same as reading it at once.
#[derive(Debug, Clone)]
pub struct Reading {
    tools: ToolNames,
    turns: u64,
    speaker: Speaker,
    /// Calls that have no result yet.
    calls: HashMap<String, Call>,
    seen: BTreeMap<SkillName, Sighting>,
}

/// Who spoke last. Items of one answer of the assistant are one turn together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Other,
    AssistantInMessage,
    AssistantInItem,
}

#[derive(Debug, Clone)]
struct Call {
    deed: Deed,
    skill: Option<SkillName>,
    turn: u64,
}

#[derive(Debug, Clone)]
struct Sighting {
    digest: Option<Digest>,
    turn: u64,
    unloaded: bool,
}

impl Reading {
    /// Returns the reading of an empty transcript whose tools go by these names.
    pub fn new(tools: ToolNames) -> Self {
        let (calls, seen) = (HashMap::new(), BTreeMap::new());
        Self { tools, turns: 0, speaker: Speaker::Other, calls, seen }
    }

    /// Reads the messages that follow those read so far.
    pub fn read(&mut self, messages: &[Value]) {
        for message in messages {
            events(message, &mut |event| self.note(event));
        }
    }

    /// Returns what was read so far.
    pub fn derived(&self) -> Derived {
        let seen = self.seen.iter().map(|(name, sighting)| {
            let Sighting { digest, turn, unloaded } = *sighting;
            Seen { name: name.clone(), digest, turn, unloaded }
        });
        Derived { seen: seen.collect(), turns: self.turns }
    }

    fn note(&mut self, event: Event<'_>) {
        match event {
            Event::Message if self.speaker == Speaker::AssistantInItem => (),
            Event::Message => {
                self.turns += 1;
                self.speaker = Speaker::AssistantInMessage;
            }
            Event::Item if self.speaker == Speaker::Other => {
                self.turns += 1;
                self.speaker = Speaker::AssistantInItem;
            }
            Event::Item => (),
            Event::Other => self.speaker = Speaker::Other,
            Event::Call { id, tool, arguments } => self.called(id, tool, arguments),
            Event::Result { id, failed, texts } => {
                if let Some(call) = self.calls.remove(id)
                    && !failed
                {
                    self.answered(call, &texts);
                }
            }
            Event::Text(text) => {
                if text.len() <= MAX_TEXT_BYTES {
                    let injections = reattach::recognise(text);
                    self.put(injections, self.turns);
                }
            }
        }
    }

    fn called(&mut self, id: &str, tool: &str, arguments: &Value) {
        // A call takes the place of an earlier one with its identifier, whatever it calls: the next result is its own.
        self.calls.remove(id);
        if let Some(deed) = self.tools.deed(tool)
            && id.len() <= MAX_ID_BYTES
        {
            let call = Call { deed, skill: self.tools.skill(arguments), turn: self.turns };
            self.calls.insert(id.to_owned(), call);
        }
    }

    fn answered(&mut self, call: Call, texts: &[&str]) {
        match (call.deed, recognised(texts)) {
            (_, Some(Recognised::Failed)) => (),
            (Deed::Load, Some(Recognised::Acknowledged(_))) => (),
            (Deed::Load, Some(Recognised::Bodies(injections))) => self.put(injections, call.turn),
            (Deed::Load, None) => {
                if let Some(name) = call.skill
                    && may_be_instructions(texts)
                {
                    self.seen.insert(name, Sighting { digest: None, turn: call.turn, unloaded: false });
                }
            }
            (Deed::Unload, _) => {
                if let Some(sighting) = call.skill.and_then(|name| self.seen.get_mut(&name)) {
                    sighting.unloaded = true;
                }
            }
        }
    }

    fn put(&mut self, injections: Vec<Injection>, turn: u64) {
        for Injection { name, digest } in injections {
            self.seen.insert(name, Sighting { digest: Some(digest), turn, unloaded: false });
        }
    }
}

/// Returns what a result is, whether a host left it whole, added parts of its own or took it apart.
fn recognised(texts: &[&str]) -> Option<Recognised> {
    match texts {
        [] => None,
        _ if texts.iter().map(|text| text.len()).sum::<usize>() > MAX_TEXT_BYTES => None,
        [text] => recognise(text),
        _ => texts.iter().find_map(|text| recognise(text)).or_else(|| recognise(&texts.concat())),
    }
}
