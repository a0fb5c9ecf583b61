//! Loading a skill: opens it, decides whether the model needs its instructions, and records what was given.

use repertoire_model::answer::{Acknowledgement, Answer, FaultKind, LoadAnswer, LoadedSkill, Render};
use repertoire_model::catalog::Tokenizer;
use repertoire_model::ledger::{LoadDecision, Presence};
use repertoire_model::tokens::approximate;
use repertoire_model::{Digest, Standing, outline};

use super::find::broken;
use super::open::Session;
use super::required::{self, RequiredSkill};
use crate::event::Via;
use crate::prompt::{hiding_note, instructions, skill_text};
use crate::provider::OpenedSkill;
use crate::registry::{self, Entry, PinnedEntry, Snapshot};
use crate::tool::EventDetails;

/// The result of loading a skill: the answer, and what its event records.
pub(crate) struct LoadResult {
    /// The instructions, or the acknowledgement that they are in the context.
    pub(crate) answer: Answer,
    /// The digest of the skill's instructions.
    pub(crate) digest: Digest,
    /// The tokens of its instructions, about.
    pub(crate) tokens: usize,
    /// The skills that it requires and that are in the answer, too.
    pub(crate) required: Vec<EventDetails>,
}

/// The loading of skills: opens them, and decides whether the model needs their instructions.
#[derive(Clone, Copy)]
pub(crate) struct SkillLoads<'a> {
    session: &'a Session,
}

impl Session {
    pub(crate) fn loads(&self) -> SkillLoads<'_> {
        SkillLoads { session: self }
    }
}

impl SkillLoads<'_> {
    /// Returns the skill's instructions, or the acknowledgement that they are in the context already.
    ///
    /// Everything that has to be awaited comes first; then the call is decided and recorded at once, so that
    /// a call that is dropped half-way has given nothing.
    pub(crate) async fn load(&self, entry: &PinnedEntry, force: bool) -> Result<LoadResult, FaultKind> {
        let is_accounted = self.session.context().is_accounted(entry);
        let opened = self.open_skill(entry).await?;
        let mut skill = LoadedSkill {
            address: self.session.lookup().address(entry),
            ..self.loaded_skill(entry, &opened)
        };
        // The rendering `text` shows none.
        if self.session.options().render != Render::Text {
            let files: Vec<_> = opened.files.files.iter().collect();
            skill.file_descriptions = self.session.registry().describe_files(entry, &files).await;
        }
        let (skill, toolbox, tool_notes) =
            self.session.skill_tools().with_tools(skill, entry, &opened.files.files).await;
        let requires =
            registry::required(&opened.skill.document.manifest, &self.session.registry().snapshot());
        let gathered = required::gather(self.session, entry, &requires).await;
        let (decision, given) = if is_accounted {
            self.record_load(&skill, &gathered.loaded, force)
        } else {
            self.note_given(entry, &skill, &gathered.loaded);
            // Two skills of one name cannot be distinguished in a context, so one that does not hold the name
            // is always given. Without tracking of the context, so is every skill.
            (
                LoadDecision::Give(Presence::Absent),
                vec![!self.session.context().keeps_account(); gathered.loaded.len()],
            )
        };
        let shared_notes = self.session.skill_tools().expose(skill.address.clone(), toolbox);
        let LoadDecision::Give(presence) = decision else {
            return Ok(self.acknowledge(entry, decision, skill, &requires).await);
        };
        let required = gathered.given(&given);
        let digest = skill.digest;
        let tokens = skill.tokens;
        let mut details = Vec::with_capacity(required.loaded.len());
        let mut notes: Vec<String> = self.origin(entry).into_iter().chain(required.notes).collect();
        let mut first = Vec::with_capacity(required.loaded.len());
        for RequiredSkill { skill, details: named, toolbox, notes: own } in required.loaded {
            let own =
                own.into_iter().chain(self.session.skill_tools().expose(skill.name.to_string(), toolbox));
            notes.extend(own.map(|note| format!("Of skill `{}`: {note}", skill.name)));
            details.push(EventDetails {
                digest: Some(skill.digest),
                tokens: skill.tokens,
                via: Some(Via::Required),
                bytes: skill.body.len(),
                ..named
            });
            first.push(skill);
        }
        notes.extend(tool_notes);
        notes.extend(shared_notes);
        let loaded = LoadAnswer { first, skill, is_changed: presence == Presence::Stale, notes };
        Ok(LoadResult { answer: Answer::Loaded(Box::new(loaded)), digest, tokens, required: details })
    }

    /// Records that `skill`, and `first` with it, is given untracked, so that no note about files offers it.
    fn note_given(&self, entry: &Entry, skill: &LoadedSkill, first: &[RequiredSkill]) {
        let mut state = self.session.state();
        if skill.address == entry.name().as_str() {
            state.offered_or_given.insert(entry.name().clone());
        }
        if !self.session.context().keeps_account() {
            state.offered_or_given.extend(first.iter().map(|required| required.skill.name.clone()));
        }
    }

    /// Returns the note about where the skill comes from: that it hides another, or its source if the
    /// rendering has no place for it.
    fn origin(&self, entry: &PinnedEntry) -> Option<String> {
        if let Some(note) = hiding_note(entry.snapshot(), entry, self.session.lookup().agents()) {
            return Some(note);
        }
        let is_named = self.session.options().render == Render::Text && has_several_sources(entry.snapshot());
        is_named.then(|| format!("This skill comes from `{}`.", entry.told_source()))
    }

    /// Returns the skill with its text and files.
    ///
    /// Fails if it is broken or gone in the meantime, has another name, or is kept for people by its author.
    pub(super) async fn open_skill(&self, entry: &Entry) -> Result<OpenedSkill, FaultKind> {
        let opened = self.session.registry().open_skill(entry).await;
        let opened = opened.map_err(|error| self.session.lookup().kind_of(&error, &entry.manifest_file))?;
        let document = &opened.skill.document;
        if document.standing != Standing::Sound {
            return Err(broken(document.diagnostics.iter()));
        }
        let is_for_people =
            document.manifest.disable_model_invocation && !self.session.lookup().is_invoked(entry.name());
        if document.name != *entry.name() || is_for_people {
            return Err(FaultKind::Gone);
        }
        Ok(opened)
    }

    /// Returns the part of the skill for models: its instructions, or the whole file with frontmatter.
    pub(super) fn instructions<'s>(&self, opened: &'s OpenedSkill) -> &'s str {
        instructions(opened, self.session.options().loading.include_frontmatter)
    }

    /// Returns the skill as it is given to a model, with an outline if it is large.
    pub(super) fn loaded_skill(&self, entry: &Entry, opened: &OpenedSkill) -> LoadedSkill {
        let price = |text: &str| self.price(text);
        let options = self.session.options();
        let skill = skill_text(
            entry,
            opened,
            self.session.registry().policy(),
            options.loading.include_frontmatter,
            &price,
        );
        let soft_limit = self.exceeded_limit(&skill.body, skill.tokens);
        let outline = match soft_limit {
            Some(_) => outline::outline(&opened.skill.text, opened.skill.document.body.offset, price),
            None => Vec::new(),
        };
        let location = options.loading.show_location.then(|| entry.directory().to_owned());
        LoadedSkill { outline, soft_limit, location, ..skill }
    }

    /// Decides how to answer a load of `skill`, opened just now, and records the given skills:
    /// it, and before it those of `first` that are not in the context. Returns the decision and which of
    /// `first` are given.
    fn record_load(
        &self,
        skill: &LoadedSkill,
        first: &[RequiredSkill],
        force: bool,
    ) -> (LoadDecision, Vec<bool>) {
        let reload = self.session.options().loading.reload;
        let mut state = self.session.state();
        state.ledger.advance();
        state.ledger.changed(&skill.name, &skill.digest);
        let decision = state.ledger.decide(&skill.name, &skill.digest, force, reload);
        let mut given = Vec::with_capacity(first.len());
        if let LoadDecision::Give(_) = decision {
            for RequiredSkill { skill: required, .. } in first {
                let decided = state.ledger.decide(&required.name, &required.digest, false, reload);
                let is_given = matches!(decided, LoadDecision::Give(_));
                if is_given {
                    state.ledger.loaded(&required.name, required.digest);
                }
                given.push(is_given);
            }
            state.ledger.loaded(&skill.name, skill.digest);
        } else {
            state.ledger.acknowledged(&skill.name);
        }
        (decision, given)
    }

    /// Returns the acknowledgement that the skill is in the context.
    async fn acknowledge(
        &self,
        entry: &PinnedEntry,
        decision: LoadDecision,
        skill: LoadedSkill,
        requires: &[String],
    ) -> LoadResult {
        let mut notes = required::missing(self.session, entry, requires);
        notes.extend(self.session.skill_tools().expose_loaded(entry).await);
        let (turn, is_bound) = match decision {
            LoadDecision::Acknowledge { turn, is_bound } => (turn, is_bound),
            _ => (0, false),
        };
        if is_bound {
            notes.extend(hiding_note(entry.snapshot(), entry, self.session.lookup().agents()));
        }
        let LoadedSkill { digest, source, version, available, .. } = skill;
        let answer = Answer::Acknowledged(Acknowledgement {
            source,
            is_bound,
            notes,
            version,
            available,
            ..Acknowledgement::new(entry.name().clone(), turn)
        });
        LoadResult { answer, digest, tokens: 0, required: Vec::new() }
    }

    /// Returns about how many tokens `text` has.
    pub(crate) fn price(&self, text: &str) -> usize {
        match self.session.options().catalog.tokenizer {
            Tokenizer::Chars4 => Tokenizer::Chars4.count(text),
            // An exact count takes longer than everything else in a call.
            _ => approximate(text),
        }
    }

    /// Returns the soft limit that `text`, of about `tokens` tokens, exceeds.
    pub(crate) fn exceeded_limit(&self, text: &str, tokens: usize) -> Option<usize> {
        let limit = self.session.options().loading.soft_limit;
        // Near the limit, about is not good enough; and it is further off where the text is not plain.
        let (low, high) = if text.is_ascii() {
            (limit / 3 * 2, limit.saturating_mul(3) / 2)
        } else {
            (limit / 6, usize::MAX)
        };
        let is_over = match tokens {
            _ if tokens > high => true,
            _ if tokens < low => false,
            _ => self.session.options().catalog.tokenizer.count_up_to(text, limit).is_none(),
        };
        is_over.then_some(limit)
    }
}

/// Returns `true` if the skills of `snapshot` come from more sources than one.
fn has_several_sources(snapshot: &Snapshot) -> bool {
    snapshot.entries().windows(2).any(|pair| pair[0].source != pair[1].source)
}
