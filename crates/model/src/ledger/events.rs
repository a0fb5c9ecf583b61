//! What happens to a context. The table in the module's documentation shows all of it at once.

use std::collections::{BTreeMap, BTreeSet};

use super::state::Entry;
use super::{Ledger, Presence, Record, Seen};
use crate::{Digest, SkillName};

impl Ledger {
    /// Notes that the instructions of `name` were put into the context in the current turn.
    pub fn loaded(&mut self, name: &SkillName, digest: Digest) {
        let prompt = self.skills.get(name).and_then(|entry| entry.prompt);
        let record = Record {
            presence: Presence::Active,
            digest: Some(digest),
            turn: self.turn,
            is_bound: prompt.is_some(),
        };
        self.enter(name, record, prompt);
    }

    /// Notes that the instructions of `name` are part of the prompt, where no compaction reaches them.
    pub fn bound(&mut self, name: &SkillName, digest: Digest) {
        let record = Record { presence: Presence::Active, digest: Some(digest), turn: 0, is_bound: true };
        self.enter(name, record, Some(digest));
    }

    /// Notes that the model is done with `name`, and returns whether the skill was active.
    ///
    /// The instructions stay where they are until the next compaction.
    pub fn unloaded(&mut self, name: &SkillName) -> bool {
        match self.skills.get_mut(name) {
            Some(Entry { record, .. }) if record.is_active() => {
                record.presence = Presence::Evictable;
                true
            }
            _ => false,
        }
    }

    /// Notes that the host took the instructions of `name` out of the transcript because the skill was unloaded.
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
        let Some(Entry { record, .. }) = self.skills.get_mut(name) else { return };
        let Some(digest) = &record.digest else { return };
        match record.presence {
            Presence::Active if digest != on_disk => record.presence = Presence::Stale,
            Presence::Stale if digest == on_disk => record.presence = Presence::Active,
            _ => (),
        }
    }

    /// Notes that `name` is no longer on disk. What is in the context stays there, out of date.
    pub fn removed(&mut self, name: &SkillName) {
        if let Some(Entry { record, .. }) = self.skills.get_mut(name)
            && record.presence == Presence::Active
        {
            record.presence = Presence::Stale;
        }
    }

    /// Sets the ledger right by what a transcript shows: `seen` are all the skills in it, `turns` is how many turns it has.
    ///
    /// A host that also counts turns observes first and then [advances](Self::advance).
    pub fn observed(&mut self, seen: &[Seen], turns: u64) {
        if turns < self.turn {
            self.era += 1;
        }
        self.turn = turns;
        let mut newest: BTreeMap<&SkillName, &Seen> = BTreeMap::new();
        for seen in seen {
            let known = newest.entry(&seen.name).or_insert(seen);
            if known.turn <= seen.turn {
                *known = seen;
            }
        }
        self.drop_unless(|name| newest.contains_key(name));
        for seen in newest.into_values() {
            self.sighted(seen);
        }
    }

    /// Notes that the host compacted the transcript, and that it holds the newest instructions of those in `kept` still.
    ///
    /// A host that cannot tell says that nothing was kept, or derives what is left from the messages and
    /// [observes](Self::observed) it.
    pub fn compacted(&mut self, kept: &[SkillName]) {
        let kept: BTreeSet<&SkillName> = kept.iter().collect();
        self.drop_unless(|name| kept.contains(name));
    }

    fn enter(&mut self, name: &SkillName, record: Record, prompt: Option<Digest>) {
        let entry = Entry { record, prompt, era: self.era, is_dismissed: false };
        self.skills.insert(name.clone(), entry);
    }

    fn sighted(&mut self, seen: &Seen) {
        let known = self.skills.get(&seen.name);
        let prompt = known.and_then(|entry| entry.prompt);
        let same = known.map(|entry| &entry.record).filter(|record| record.digest == seen.digest);
        let presence = match same.map(|record| (record.presence, record.turn)) {
            _ if seen.unloaded => Presence::Evictable,
            Some((Presence::Stale, _)) => Presence::Stale,
            // These are the very instructions that were unloaded, unless they were given again since.
            Some((Presence::Evictable, turn)) if seen.turn <= turn => Presence::Evictable,
            _ => Presence::Active,
        };
        let record = Record { presence, digest: seen.digest, turn: seen.turn, is_bound: prompt.is_some() };
        self.enter(&seen.name, record, prompt);
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

impl Entry {
    /// Leaves what stands in the prompt, if anything does.
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
        record.turn = 0;
    }
}
