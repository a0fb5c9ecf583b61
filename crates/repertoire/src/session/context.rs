//! Keeps a session in step with the host's transcript: observing, compaction, and putting skills back.

use std::sync::Arc;

use repertoire_model::catalog::Tokenizer;
use repertoire_model::reattach::{self, Level, ReattachCandidate, Reattachment};
use repertoire_model::transcript::{self, LoadToolNames};
use repertoire_model::{Digest, SkillName, essence};
use serde_json::Value;

use super::open::Session;
use super::options::Refresh;
use crate::event::{CallOrigin, EventKind, Via};
use crate::provider::OpenedSkill;
use crate::tool::SKILL_ALIASES;

/// The most skills that are considered for reattachment.
const MAX_REATTACHED: usize = 64;

/// The part of the transcript that a compaction left.
#[derive(Debug, Clone, PartialEq)]
pub enum KeptContext {
    /// The skills whose instructions are still there.
    Skills(Vec<SkillName>),
    /// The messages that are still there.
    Messages(Vec<Value>),
}

impl Session {
    /// Makes the session agree with the transcript: the loaded skills are taken from its messages.
    ///
    /// Messages may be Anthropic's or OpenAI's. Failed calls do not count, and instructions that were cut or
    /// cleared do not either. The same messages always give the same result.
    pub fn observe(&self, messages: &[Value]) {
        let options = self.options();
        let mut name_arguments = vec![options.tools.arguments.name.clone()];
        name_arguments.extend(SKILL_ALIASES.iter().map(|alias| (*alias).to_owned()));
        let usual = LoadToolNames::default();
        let names = LoadToolNames {
            load: [vec![options.tools.names.load.clone()], usual.load].concat(),
            unload: [vec![options.tools.names.unload.clone()], usual.unload].concat(),
            name_arguments,
            file_arguments: usual.file_arguments,
        };
        let derived = transcript::loaded(messages, &names);
        self.state().ledger.observed(&derived.seen, derived.turns);
    }

    /// Records that the transcript was compacted, and which part of it is left.
    ///
    /// By default the catalog follows the library now, because the prompt is rewritten anyway.
    pub async fn compacted(&self, kept: &KeptContext) {
        match kept {
            KeptContext::Skills(names) => self.state().ledger.compacted(names),
            KeptContext::Messages(messages) => self.observe(messages),
        }
        let newest = match self.options().refresh {
            Refresh::OnCompaction => Some(self.registry().newest().await),
            Refresh::Session | Refresh::Immediate => None,
        };
        self.context().look().await;
        let mut state = self.state();
        state.offered_or_given.clear();
        match newest {
            Some(newest) => state.pin(&newest),
            // The notes since the catalog was written are gone with the transcript, so they are due again.
            None => {
                state.announced = Arc::clone(&state.pinned);
                state.on_disk.values_mut().for_each(|(_, is_told)| *is_told = false);
            }
        }
    }

    /// Returns the text to put back after a compaction, the last used first, within `budget` tokens: whole
    /// instructions as long as they fit, then the lines of them that bind, then a pointer.
    ///
    /// The host appends the text; skills that it holds in full count as loaded from then on.
    pub async fn reattach(&self, budget: usize) -> Reattachment {
        let (lost, more): (Vec<SkillName>, usize) = {
            let state = self.state();
            let lost = state.ledger.lost_by_recency();
            let more = lost.len().saturating_sub(MAX_REATTACHED);
            (lost.into_iter().take(MAX_REATTACHED).map(|(name, _)| name.clone()).collect(), more)
        };
        let snapshot = self.registry().snapshot();
        let mut opened = Vec::with_capacity(lost.len());
        for name in lost {
            let Some(entry) = self.lookup().visible(&snapshot, name.as_str()) else { continue };
            // A skill that is gone or broken in the meantime has nothing to be put back.
            if let Ok(skill) = self.loads().open_skill(entry).await {
                opened.push((entry.clone(), skill));
            }
        }
        let essence = |skill: &OpenedSkill| essence::essence(self.loads().instructions(skill));
        let essences: Vec<String> = opened.iter().map(|(_, skill)| essence(skill)).collect();
        let candidates = opened.iter().zip(&essences).map(|((entry, skill), essence)| {
            let body = self.loads().instructions(skill);
            ReattachCandidate { name: entry.name(), body, digest: Digest::of(body.as_bytes()), essence }
        });
        let candidates: Vec<ReattachCandidate<'_>> = candidates.collect();
        let tokenizer: Tokenizer = self.options().catalog.tokenizer;
        let plan = reattach::plan(&candidates, more, budget, &|text| tokenizer.count(text), &self.wording);
        for piece in plan.pieces.iter().filter(|piece| piece.level >= Level::Essence) {
            let found = candidates.iter().zip(&opened).find(|(candidate, _)| *candidate.name == piece.name);
            let Some((candidate, (entry, _))) = found else { continue };
            let mut event = self.record().event(EventKind::SkillLoaded, "reattach", &CallOrigin::default());
            let text = if piece.level == Level::Body {
                self.state().ledger.reattached(candidate.name, candidate.digest);
                candidate.body
            } else {
                candidate.essence
            };
            entry.describe(&mut event);
            event.digest = Some(Digest::of(text.as_bytes()));
            (event.bytes, event.tokens) = (text.len() as u64, piece.tokens as u64);
            event.via = Via::Reattached;
            self.library().emit(&event);
        }
        plan
    }
}
