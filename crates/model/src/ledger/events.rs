//! Events that change a context. The table in the module's documentation shows all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::state::LedgerEntry;
use super::{Ledger, LedgerRecord, Presence, SeenSkill};
use crate::{Digest, SkillName};

impl Ledger {
    /// Notes that the instructions of `name` were put into the context in the current turn.
    pub fn loaded(&mut self, name: &SkillName, digest: Digest) {
        let sequence = self.next_sequence();
        self.given(name, digest, sequence);
    }

    /// Notes that the host put the instructions of `name` back after a compaction. That is not a use: the
    /// skill stays as recent as it was.
    pub fn reattached(&mut self, name: &SkillName, digest: Digest) {
        let known = self.skills.get(name).map(|entry| entry.sequence);
        let sequence = known.unwrap_or_else(|| self.next_sequence());
        self.given(name, digest, sequence);
    }

    /// Notes that the model asked for `name` and was told that its instructions are in the context.
    pub fn acknowledged(&mut self, name: &SkillName) {
        let sequence = self.next_sequence();
        let entry = self.skills.get_mut(name).filter(|entry| !entry.is_of_prompt);
        entry.into_iter().for_each(|entry| entry.sequence = sequence);
    }

    fn given(&mut self, name: &SkillName, digest: Digest, sequence: u64) {
        let known = self.skills.get(name);
        let prompt = known.and_then(|entry| entry.prompt);
        let has_other =
            prompt.is_some_and(|prompt| prompt != digest) || known.is_some_and(|entry| entry.has_other);
        let record = LedgerRecord {
            presence: Presence::Active,
            digest: Some(digest),
            turn: self.turn,
            is_bound: prompt.is_some(),
            is_certain: true,
        };
        self.skills
            .insert(name.clone(), LedgerEntry { has_other, sequence, ..LedgerEntry::new(record, prompt) });
    }

    /// Notes that the instructions of `name` are part of the prompt, where no compaction reaches them.
    pub fn bound(&mut self, name: &SkillName, digest: Digest) {
        let record = LedgerRecord {
            presence: Presence::Active,
            digest: Some(digest),
            turn: 0,
            is_bound: true,
            is_certain: true,
        };
        self.skills.insert(
            name.clone(),
            LedgerEntry { is_of_prompt: true, ..LedgerEntry::new(record, Some(digest)) },
        );
    }

    /// Notes that the model is done with `name`, and returns whether the skill was active.
    ///
    /// The instructions stay where they are until the next compaction.
    pub fn unloaded(&mut self, name: &SkillName) -> bool {
        match self.skills.get_mut(name) {
            Some(LedgerEntry { record, .. }) if record.is_active() => {
                record.presence = Presence::Evictable;
                true
            }
            _ => false,
        }
    }

    /// Notes that the host took the instructions of the unloaded skill `name` out of the transcript.
    pub fn evicted(&mut self, name: &SkillName) {
        let Some(entry) = self.skills.get_mut(name) else { return };
        if entry.record.presence == Presence::Lost {
            return;
        }
        if entry.prompt.is_some() {
            entry.record.presence = Presence::Evictable;
            entry.drop_from_transcript();
        } else {
            entry.record.presence = Presence::Lost;
            entry.is_dismissed = true;
        }
    }

    /// Notes that the instructions of `name` on disk are those of `on_disk` now.
    pub fn changed(&mut self, name: &SkillName, on_disk: &Digest) {
        let Some(LedgerEntry { record, .. }) = self.skills.get_mut(name) else { return };
        let Some(digest) = &record.digest else { return };
        // Nothing but the whole instructions has the digest of the whole instructions.
        record.is_certain |= digest == on_disk;
        match record.presence {
            Presence::Active if digest != on_disk => record.presence = Presence::Stale,
            Presence::Stale if digest == on_disk => record.presence = Presence::Active,
            _ => (),
        }
    }

    /// Notes that `name` is no longer on disk. The instructions in the context stay there, out of date.
    pub fn removed(&mut self, name: &SkillName) {
        if let Some(LedgerEntry { record, .. }) = self.skills.get_mut(name)
            && record.presence == Presence::Active
        {
            record.presence = Presence::Stale;
        }
    }

    /// Corrects the ledger by a transcript: `seen` are all the skills in it, `turns` is its number of turns.
    ///
    /// A host that also counts turns observes first and then [advances](Self::advance).
    ///
    /// From then on the skills that were seen are recent in the order in which the transcript shows them.
    pub fn observed(&mut self, seen: &[SeenSkill], turns: u64) {
        self.turn = turns;
        let mut newest: BTreeMap<&SkillName, &SeenSkill> = BTreeMap::new();
        for seen in seen {
            let known = newest.entry(&seen.name).or_insert(seen);
            if (known.turn, known.order) <= (seen.turn, seen.order) {
                *known = seen;
            }
        }
        self.drop_unless(|name| newest.contains_key(name));
        let mut newest: Vec<&SeenSkill> = newest.into_values().collect();
        newest.sort_by_key(|seen| (seen.order, seen.turn));
        let mut before = 0;
        for seen in newest {
            before = self.sighted(seen, before);
        }
    }

    /// Notes that the host compacted the transcript, which still holds the instructions of `kept`.
    ///
    /// A host that does not know passes an empty list, or derives the rest from the messages and
    /// [observes](Self::observed) it.
    pub fn compacted(&mut self, kept: &[SkillName]) {
        let kept: BTreeSet<&SkillName> = kept.iter().collect();
        // The prompt may still be followed by another version, though the newest is gone.
        let is_hidden = |entry: &LedgerEntry| entry.has_other && entry.record.presence == Presence::Active;
        let dropped = self.skills.iter_mut().filter(|(name, _)| !kept.contains(name)).map(|(_, entry)| entry);
        dropped.filter(|entry| is_hidden(entry)).for_each(|entry| entry.record.presence = Presence::Stale);
        self.drop_unless(|name| kept.contains(name));
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Notes one sighting and returns its number in the sequence, which is greater than `before`.
    ///
    /// A known skill keeps its number while it agrees with the transcript: observing again changes nothing.
    fn sighted(&mut self, seen: &SeenSkill, before: u64) -> u64 {
        let known = self.skills.get(&seen.name);
        let prompt = known.and_then(|entry| entry.prompt);
        let same = known.filter(|entry| entry.record.digest == seen.digest);
        let presence = match same.map(|entry| (entry.record.presence, entry.seen_turn)) {
            _ if seen.unloaded => Presence::Evictable,
            Some((Presence::Stale, _)) => Presence::Stale,
            // The instructions that were unloaded, unless the transcript had them earlier and has them again.
            Some((Presence::Evictable, seen_turn)) if seen_turn.is_none_or(|turn| seen.turn <= turn) => {
                Presence::Evictable
            }
            _ => Presence::Active,
        };
        let has_other =
            prompt.is_some() && (prompt != seen.digest || known.is_some_and(|entry| entry.has_other));
        let is_certain = seen.is_certain || same.is_some_and(|entry| entry.record.is_certain);
        let kept = same.filter(|entry| entry.record.presence != Presence::Lost && entry.sequence > before);
        let sequence = kept.map(|entry| entry.sequence);
        let sequence = sequence.unwrap_or_else(|| self.next_sequence());
        let record = LedgerRecord {
            presence,
            digest: seen.digest,
            turn: seen.turn,
            is_bound: prompt.is_some(),
            is_certain,
        };
        let entry = LedgerEntry {
            has_other,
            sequence,
            seen_turn: Some(seen.turn),
            ..LedgerEntry::new(record, prompt)
        };
        self.skills.insert(seen.name.clone(), entry);
        sequence
    }

    /// Takes from the transcript all skills that `is_kept` does not hold of.
    fn drop_unless(&mut self, is_kept: impl Fn(&SkillName) -> bool) {
        self.skills.retain(|name, entry| {
            if is_kept(name) {
                return true;
            }
            let is_wanted = entry.prompt.is_some() || entry.record.presence != Presence::Evictable;
            entry.drop_from_transcript();
            is_wanted
        });
    }
}

impl LedgerEntry {
    /// Leaves the instructions in the prompt, if there are any.
    fn drop_from_transcript(&mut self) {
        let record = &mut self.record;
        let Some(prompt) = self.prompt else {
            record.presence = Presence::Lost;
            return;
        };
        if record.presence == Presence::Active && record.digest != Some(prompt) {
            record.presence = Presence::Stale;
        }
        record.digest = Some(prompt);
        record.is_certain = true;
        record.turn = 0;
        (self.is_of_prompt, self.sequence, self.seen_turn) = (true, 0, None);
    }
}
