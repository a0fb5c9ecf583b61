//! A simulated host with a real transcript, and a ledger that follows it.
//!
//! The host tracks which instructions each message holds, so that the ledger can be compared with the truth.

#![allow(clippy::unwrap_used, clippy::expect_used)] // Tests may.

use std::collections::BTreeMap;

use proptest::prelude::*;
use repertoire_model::answer::guard::guard;
use repertoire_model::answer::{
    Acknowledgement, Answer, Fault, FaultKind, LoadAnswer, LoadedSkill, RecognisedAnswer, Render, Wording,
    recognise,
};
use repertoire_model::essence::essence;
use repertoire_model::ledger::{Ledger, LoadDecision, Presence, Reload};
use repertoire_model::reattach::{Level, ReattachCandidate, plan};
use repertoire_model::transcript::{LoadToolNames, TranscriptSkills, loaded};
use repertoire_model::{Digest, SkillName};
use serde_json::{Value, json};

const SKILLS: [&str; 4] = ["git", "docx", "pdf", "release"];
const CLEARED: &str = "[Old tool result content cleared]";
const PLACEHOLDERS: [&str; 5] = [
    "[Tool result cleared to save context]",
    "<persisted-output>Output too large (56.2KB). Full output saved to: /tmp/x.txt</persisted-output>",
    "(output omitted)",
    "[truncated]",
    "Tool result was pruned.",
];
const PREFIXES: [&str; 3] = ["<system>ok</system>\n", "Result of load_skill:\n\n", "<tool_output>\n"];

/// Other ways to write the name of a skill.
const SPELLINGS: [fn(&str) -> String; 3] =
    [str::to_uppercase, |name| format!("local:{name}"), |name| format!(" {name} ")];

/// An event. Skills are indices into [`SKILLS`]; a set is a bit for each call.
#[derive(Debug, Clone)]
enum Event {
    Load {
        skill: usize,
        with: Option<usize>,
        force: bool,
    },
    FailToLoad(usize),
    /// A file of the skill is read by the tool that loads skills.
    LoadFile(usize),
    Unload(usize),
    /// It is unloaded under a name that is spelled otherwise.
    UnloadRespelled {
        skill: usize,
        spelling: usize,
    },
    /// A person unloads it, which no message shows.
    Dismiss(usize),
    Evict(usize),
    Edit {
        skill: usize,
        version: u8,
        is_told: bool,
    },
    Remove(usize),
    Compact {
        kept: u32,
        is_observed: bool,
    },
    Clear(u32),
    /// A host clears results in its own words.
    ForeignPlaceholder {
        cleared: u32,
        words: usize,
    },
    /// A host cuts results off behind some of their bytes.
    TruncateResult {
        cut: u32,
        kept: usize,
    },
    /// A host writes something before results.
    HostPrefix {
        written: u32,
        prefix: usize,
    },
    Observe,
    Reattach {
        budget: usize,
    },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let skill = || 0..SKILLS.len();
    let event = prop_oneof![
        6 => (skill(), prop::option::weighted(0.2, skill()), prop::bool::weighted(0.2))
            .prop_map(|(skill, with, force)| Event::Load { skill, with: with.filter(|with| *with != skill), force }),
        1 => skill().prop_map(Event::FailToLoad),
        2 => skill().prop_map(Event::Unload),
        1 => skill().prop_map(Event::LoadFile),
        1 => (skill(), 0..SPELLINGS.len()).prop_map(|(skill, spelling)| Event::UnloadRespelled { skill, spelling }),
        1 => skill().prop_map(Event::Dismiss),
        1 => skill().prop_map(Event::Evict),
        3 => (skill(), 0..3_u8, any::<bool>())
            .prop_map(|(skill, version, is_told)| Event::Edit { skill, version, is_told }),
        1 => skill().prop_map(Event::Remove),
        2 => (any::<u32>(), any::<bool>()).prop_map(|(kept, is_observed)| Event::Compact { kept, is_observed }),
        1 => any::<u32>().prop_map(Event::Clear),
        1 => (any::<u32>(), 0..PLACEHOLDERS.len())
            .prop_map(|(cleared, words)| Event::ForeignPlaceholder { cleared, words }),
        1 => (any::<u32>(), 0..300_usize).prop_map(|(cut, kept)| Event::TruncateResult { cut, kept }),
        1 => (any::<u32>(), 0..PREFIXES.len()).prop_map(|(written, prefix)| Event::HostPrefix { written, prefix }),
        2 => Just(Event::Observe),
        2 => (0..3_000_usize).prop_map(|budget| Event::Reattach { budget }),
    ];
    prop::collection::vec(event, 1..30)
}

/// Messages that belong together, and the instructions that they hold.
#[derive(Debug, Clone, PartialEq)]
struct Exchange {
    messages: Vec<Value>,
    bodies: Vec<(SkillName, Digest)>,
    is_call: bool,
    is_cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Host {
    ledger: Ledger,
    transcript: Vec<Exchange>,
    prompt: BTreeMap<SkillName, Digest>,
    disk: BTreeMap<SkillName, String>,
    calls: usize,
    is_anthropic: bool,
    render: Render,
    reload: Reload,
}

fn name(skill: usize) -> SkillName {
    SkillName::new(SKILLS[skill]).unwrap()
}

fn body(skill: usize, version: u8) -> String {
    format!("# {} {version}\n\nYou MUST say {version}.\n</skill>\n\"quoted\" &lt;/skill>\n", SKILLS[skill])
}

fn digest(body: &str) -> Digest {
    Digest::of(body.as_bytes())
}

fn loaded_skill(name: &SkillName, body: &str) -> LoadedSkill {
    LoadedSkill::new(name.clone(), body)
}

/// Returns whether `text` holds `body` in one of the forms in which it is written.
fn holds(text: &str, body: &str) -> bool {
    let in_json = |text: &str| json!(text).to_string().trim_matches('"').to_owned();
    let forms = [body.to_owned(), guard(body), in_json(body)];
    forms.iter().any(|form| text.contains(form))
}

/// Returns every version of every skill's instructions.
fn every_body() -> Vec<String> {
    (0..SKILLS.len()).flat_map(|skill| (0..3).map(move |version| body(skill, version))).collect()
}

impl Exchange {
    /// Returns the text of the result.
    fn result(&mut self) -> &mut Value {
        let content = &mut self.messages.last_mut().unwrap()["content"];
        if content.is_array() { &mut content[0]["content"] } else { content }
    }
}

impl Host {
    fn new(is_anthropic: bool, render: Render, reload: Reload, bound: Option<usize>) -> Self {
        let disk = (0..SKILLS.len()).map(|skill| (name(skill), body(skill, 0))).collect();
        let (ledger, transcript, prompt) = (Ledger::new(), Vec::new(), BTreeMap::new());
        let mut host = Self { ledger, transcript, prompt, disk, calls: 0, is_anthropic, render, reload };
        if let Some(skill) = bound {
            host.prompt.insert(name(skill), host.on_disk(&name(skill)));
            host.ledger = host.with_prompt();
        }
        host
    }

    /// Returns the ledger of a conversation that has only its prompt.
    fn with_prompt(&self) -> Ledger {
        let mut ledger = Ledger::new();
        for (name, digest) in &self.prompt {
            ledger.bound(name, *digest);
        }
        ledger
    }

    fn on_disk(&self, name: &SkillName) -> Digest {
        digest(&self.disk[name])
    }

    fn messages(&self) -> Vec<Value> {
        self.transcript.iter().flat_map(|exchange| exchange.messages.clone()).collect()
    }

    fn derived(&self) -> TranscriptSkills {
        loaded(&self.messages(), &LoadToolNames::default())
    }

    /// Returns the digest of the newest instructions of `name` in the context.
    fn newest(&self, name: &SkillName) -> Option<Digest> {
        let bodies = self.transcript.iter().rev().flat_map(|exchange| exchange.bodies.iter().rev());
        let in_transcript = bodies.filter(|(body, _)| body == name).map(|(_, digest)| *digest).next();
        in_transcript.or_else(|| self.prompt.get(name).copied())
    }

    fn exchange(&mut self, tool: &str, name: &SkillName, answer: &Answer) {
        self.exchange_with(tool, &json!({ "name": name.as_str() }), answer);
    }

    fn exchange_with(&mut self, tool: &str, input: &Value, answer: &Answer) {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let text = answer.render(self.render, &Wording::default());
        let messages = if self.is_anthropic {
            let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
            let result = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": answer.is_error()});
            vec![
                json!({"role": "assistant", "content": [call]}),
                json!({"role": "user", "content": [result]}),
            ]
        } else {
            let function = json!({"name": tool, "arguments": input.to_string()});
            let call = json!({"id": id, "type": "function", "function": function});
            let result = json!({"role": "tool", "tool_call_id": id, "content": text});
            vec![json!({"role": "assistant", "content": null, "tool_calls": [call]}), result]
        };
        let bodies = answer.injections().into_iter().map(|injection| (injection.name, injection.digest));
        self.transcript.push(Exchange { messages, bodies: bodies.collect(), is_call: true, is_cut: false });
    }

    fn load(&mut self, name: &SkillName, with: Option<&SkillName>, force: bool) {
        let decision = self.ledger.decide(name, &self.on_disk(name), force, self.reload);
        let answer = match decision {
            LoadDecision::Acknowledge { turn, .. } => {
                self.ledger.acknowledged(name);
                Answer::Acknowledged(Acknowledgement::new(name.clone(), turn))
            }
            LoadDecision::Give(_) => Answer::Loaded(Box::new(LoadAnswer {
                first: with.map(|with| loaded_skill(with, &self.disk[with])).into_iter().collect(),
                skill: loaded_skill(name, &self.disk[name]),
                is_changed: false,
                notes: Vec::new(),
            })),
        };
        self.exchange("load_skill", name, &answer);
        for injection in answer.injections() {
            self.ledger.loaded(&injection.name, injection.digest);
        }
    }

    fn clear(&mut self, words: &str, is_cleared: impl Fn(usize, &Exchange) -> bool) {
        for (index, exchange) in self.transcript.iter_mut().enumerate() {
            if exchange.is_call && is_cleared(index, exchange) {
                exchange.bodies.clear();
                exchange.is_cut = false;
                *exchange.result() = json!(words);
            }
        }
    }

    /// Cuts results off. Of the results that no longer hold all of an answer only the bodies count that are
    /// whole nevertheless.
    fn truncate(&mut self, cut: u32, kept: usize) {
        for (index, exchange) in self.transcript.iter_mut().enumerate() {
            if exchange.is_call && !exchange.is_cut && cut >> (index % 32) & 1 == 1 {
                let text = exchange.result().as_str().unwrap_or_default().to_owned();
                let short = text.get(..kept).unwrap_or(&text);
                if short.len() < text.len() {
                    *exchange.result() = json!(short);
                    exchange.is_cut = true;
                    let recognised = recognise(short);
                    let bodies = recognised.as_ref().map(RecognisedAnswer::bodies).unwrap_or_default();
                    exchange.bodies.retain(|(_, digest)| {
                        let written = |body: &String| self::digest(body) == *digest && holds(short, body);
                        every_body().iter().any(written) && bodies.iter().any(|body| body.digest == *digest)
                    });
                }
            }
        }
    }

    fn prefix(&mut self, written: u32, prefix: &str) {
        for (index, exchange) in self.transcript.iter_mut().enumerate() {
            if exchange.is_call && !exchange.is_cut && written >> (index % 32) & 1 == 1 {
                let text = exchange.result().as_str().unwrap_or_default().to_owned();
                if !PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
                    *exchange.result() = json!(format!("{prefix}{text}"));
                }
            }
        }
    }

    fn observe(&mut self) {
        let TranscriptSkills { seen, turns } = self.derived();
        let reversed: Vec<_> = seen.iter().rev().cloned().collect();
        let mut other = self.ledger.clone();
        other.observed(&reversed, turns);
        self.ledger.observed(&seen, turns);
        assert_eq!(self.ledger, other, "the order of what was seen does not matter");
    }

    /// Reports to the ledger which skills are left, as they are recorded.
    fn tell_kept(&mut self) {
        let is_kept = |name: &SkillName| {
            let derived = self.derived();
            let seen = derived.seen.iter().find(|seen| seen.name == *name);
            let record = self.ledger.record(name);
            seen.zip(record).is_some_and(|(seen, record)| {
                seen.digest == record.digest && (!seen.unloaded || record.presence == Presence::Evictable)
            })
        };
        let kept: Vec<SkillName> = (0..SKILLS.len()).map(name).filter(is_kept).collect();
        self.ledger.compacted(&kept);
    }

    fn reattach(&mut self, budget: usize) {
        let names: Vec<SkillName> =
            self.ledger.lost_by_recency().into_iter().map(|(name, _)| name.clone()).collect();
        let essences: Vec<String> = names.iter().map(|name| essence(&self.disk[name])).collect();
        let candidates: Vec<ReattachCandidate<'_>> = names
            .iter()
            .zip(&essences)
            .map(|(name, essence)| ReattachCandidate {
                name,
                body: &self.disk[name],
                digest: self.on_disk(name),
                essence,
            })
            .collect();
        let reattachment = plan(&candidates, 0, budget, &str::len, &Wording::default());
        assert!(reattachment.text.len() <= budget);
        let given: Vec<(SkillName, Digest)> = candidates
            .iter()
            .zip(&reattachment.pieces)
            .filter(|(_, piece)| piece.level == Level::Body)
            .map(|(candidate, _)| (candidate.name.clone(), candidate.digest))
            .collect();
        if !reattachment.text.is_empty() {
            let messages = vec![json!({"role": "user", "content": reattachment.text})];
            self.transcript.push(Exchange { messages, bodies: given.clone(), is_call: false, is_cut: false });
        }
        given.iter().for_each(|(name, digest)| self.ledger.reattached(name, *digest));
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Load { skill, with, force } => {
                self.ledger.advance();
                self.load(&name(skill), with.map(name).as_ref(), force);
            }
            Event::FailToLoad(skill) => {
                self.ledger.advance();
                let (tool, kind) = ("load_skill".to_owned(), FaultKind::Gone);
                let fault = Fault::new(tool, Some(SKILLS[skill].to_owned()), kind);
                self.exchange("load_skill", &name(skill), &Answer::Fault(fault));
            }
            Event::Unload(skill) => {
                self.ledger.advance();
                let answer =
                    if self.ledger.unloaded(&name(skill)) { Answer::Unloaded } else { Answer::NotLoaded };
                self.exchange("unload_skill", &name(skill), &answer(name(skill)));
            }
            Event::Dismiss(skill) => _ = self.ledger.unloaded(&name(skill)),
            Event::Evict(skill) => {
                let holds =
                    |exchange: &Exchange| exchange.bodies.iter().any(|(body, _)| *body == name(skill));
                let is_alone = |exchange: &Exchange| exchange.is_call && exchange.bodies.len() == 1;
                // A host removes the results it can find; a remaining piece of a result does not identify it.
                let is_found = !self.transcript.iter().any(|exchange| exchange.is_cut);
                if is_found && self.transcript.iter().filter(|exchange| holds(exchange)).all(is_alone) {
                    self.clear(CLEARED, |_, exchange| holds(exchange));
                    let was_there = self.ledger.unloaded(&name(skill));
                    self.ledger.evicted(&name(skill));
                    let mut lost = self.ledger.lost_by_recency().into_iter();
                    assert!(
                        !was_there || !lost.any(|(lost, _)| *lost == name(skill)),
                        "nobody wants it back"
                    );
                }
            }
            Event::Edit { skill, version, is_told } => {
                self.disk.insert(name(skill), body(skill, version));
                if is_told {
                    let on_disk = self.on_disk(&name(skill));
                    self.ledger.changed(&name(skill), &on_disk);
                }
            }
            Event::Remove(skill) => self.ledger.removed(&name(skill)),
            Event::Compact { kept, is_observed } => {
                // A host whose results were cut cannot name the rest.
                let is_observed = is_observed || self.transcript.iter().any(|exchange| exchange.is_cut);
                let mut index = 0;
                self.transcript.retain(|_| {
                    index += 1;
                    kept >> (index % 32) & 1 == 1
                });
                let summary = json!({"role": "user", "content": "Summary of the conversation so far."});
                let summary =
                    Exchange { messages: vec![summary], bodies: Vec::new(), is_call: false, is_cut: false };
                self.transcript.insert(0, summary);
                if is_observed { self.observe() } else { self.tell_kept() }
            }
            Event::Clear(cleared) => {
                self.clear(CLEARED, |index, _| cleared >> (index % 32) & 1 == 1);
                self.observe();
            }
            Event::ForeignPlaceholder { cleared, words } => {
                self.clear(PLACEHOLDERS[words], |index, _| cleared >> (index % 32) & 1 == 1);
                self.observe();
            }
            Event::TruncateResult { cut, kept } => {
                self.truncate(cut, kept);
                self.observe();
            }
            Event::HostPrefix { written, prefix } => self.prefix(written, PREFIXES[prefix]),
            Event::LoadFile(skill) => {
                self.ledger.advance();
                let file = Answer::Custom { text: "# A file\n\nOf a skill.\n".to_owned(), is_error: false };
                self.exchange_with("load_skill", &json!({"name": SKILLS[skill], "reference": "a.md"}), &file);
            }
            Event::UnloadRespelled { skill, spelling } => {
                self.ledger.advance();
                let answer =
                    if self.ledger.unloaded(&name(skill)) { Answer::Unloaded } else { Answer::NotLoaded };
                let input = json!({"name": SPELLINGS[spelling](SKILLS[skill])});
                self.exchange_with("unload_skill", &input, &answer(name(skill)));
            }
            Event::Observe => self.observe(),
            Event::Reattach { budget } => self.reattach(budget),
        }
    }

    /// Checks what must hold at any time.
    fn check(&self) {
        let results = self.transcript.iter().cloned().map(|mut exchange| exchange.result().to_string());
        let results: Vec<String> =
            results.map(|text| serde_json::from_str(&text).unwrap_or_default()).collect();
        let text = results.join("\n");
        let derived = self.derived();
        let mut anew = self.with_prompt();
        anew.observed(&derived.seen, derived.turns);
        for name in (0..SKILLS.len()).map(name) {
            let on_disk = self.on_disk(&name);
            for ledger in [&self.ledger, &anew] {
                if let LoadDecision::Acknowledge { turn, is_bound } =
                    ledger.decide(&name, &on_disk, false, Reload::Auto)
                {
                    assert_eq!(
                        self.newest(&name),
                        Some(on_disk),
                        "{name} is not what the model has before it"
                    );
                    let is_there = holds(&text, &self.disk[&name]);
                    assert!(
                        is_there || (is_bound && self.prompt.get(&name) == Some(&on_disk)),
                        "{name}: {text}"
                    );
                    assert!(!is_bound || turn == 0);
                    assert!(turn <= ledger.turn());
                }
                if let LoadDecision::Acknowledge { .. } =
                    ledger.decide(&name, &on_disk, false, Reload::ShortAck)
                {
                    let newest = self.newest(&name).expect("some version of it is there");
                    let body = every_body().into_iter().find(|body| digest(body) == newest).unwrap();
                    let is_there = holds(&text, &body) || self.prompt.get(&name) == Some(&newest);
                    assert!(is_there, "{name} is not there whole: {text}");
                }
                let forced = ledger.decide(&name, &on_disk, true, Reload::ShortAck);
                assert!(matches!(forced, LoadDecision::Give(_)));
            }
            // Records that survived everything claim no more than the messages alone show.
            if let Some(record) = self.ledger.record(&name).filter(|record| record.presence != Presence::Lost)
            {
                let shown = anew.record(&name).map(|shown| (shown.digest, shown.is_bound));
                assert_eq!(shown, Some((record.digest, record.is_bound)), "{name}");
            }
        }
        let inherited = self.ledger.inherited();
        let mut names: Vec<&SkillName> =
            inherited.lost_by_recency().into_iter().map(|(name, _)| name).collect();
        names.sort();
        assert!(self.ledger.active().eq(names), "a sub-agent inherits what is active");
    }
}

fn renders() -> impl Strategy<Value = Render> {
    // The body alone does not say which skill it is.
    let marked = |render: &Render| *render != Render::Body;
    prop::sample::select(Render::ALL.into_iter().filter(marked).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn acknowledged_skills_are_in_the_transcript(
        events in events(),
        is_anthropic in any::<bool>(),
        render in renders(),
        reload in prop::sample::select(vec![Reload::Auto, Reload::ShortAck]),
        bound in prop::option::weighted(0.3, 0..SKILLS.len()),
    ) {
        let mut host = Host::new(is_anthropic, render, reload, bound);
        let mut twin = host.clone();
        for event in &events {
            let before = host.messages();
            host.happen(event);
            host.check();
            let is_rewritten = matches!(
                event,
                Event::Compact { .. }
                    | Event::Clear(_)
                    | Event::Evict(_)
                    | Event::ForeignPlaceholder { .. }
                    | Event::TruncateResult { .. }
                    | Event::HostPrefix { .. }
            );
            if !is_rewritten {
                prop_assert!(host.messages().starts_with(&before), "a transcript only ever grows");
            }
        }
        for event in &events {
            twin.happen(event);
        }
        prop_assert_eq!(host, twin, "the same events lead to the same ledger");
    }

    #[test]
    fn an_observed_ledger_agrees_with_the_transcript(events in events(), is_anthropic in any::<bool>()) {
        let mut host = Host::new(is_anthropic, Render::Xml, Reload::Auto, None);
        for event in &events {
            host.happen(event);
        }
        host.observe();
        let derived = host.derived();
        for seen in &derived.seen {
            let record = host.ledger.record(&seen.name).unwrap();
            prop_assert_eq!((record.digest, record.turn), (seen.digest, seen.turn));
            prop_assert!(!matches!(record.presence, Presence::Lost | Presence::Absent));
            prop_assert!(!seen.unloaded || record.presence == Presence::Evictable);
        }
        let present = host.ledger.records().filter(|(_, record)| record.presence != Presence::Lost).count();
        prop_assert_eq!(present, derived.seen.len());
        let again = host.ledger.clone();
        host.observe();
        prop_assert_eq!(host.ledger, again, "observing twice changes nothing");
    }
}
