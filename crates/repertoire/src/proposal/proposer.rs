//! Submits proposals within the rules.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use repertoire_model::SkillName;
use repertoire_model::name::{Grammar, grammar_faults};
use repertoire_model::patch::{self, SkillFiles};
use repertoire_model::scope::Pattern;
use repertoire_model::words;

use super::draft::{Draft, MAX_TEXT_BYTES, draft_skill, draft_update};
use super::refusal::ProposalRefusal;
use crate::Error;
use crate::history::capture;
use crate::registry::{Entry, Registry};
use crate::store::{
    LazyStore, MAX_PENDING, NewProposal, Proposal, ProposalKind, ProposalLimits, Store, Submission, Version,
    put_skill,
};

words! {
    /// The freedom that agents have to change skills.
    ProposalMode {
        /// A person decides about everything.
        Controlled "controlled",
        /// New skills of agents are approved at once; a person decides about changes.
        Free "free",
        /// Nothing can be proposed.
        Off "off",
    }
}

repertoire_model::options! {
    /// The rules for proposals.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ProposalRules {
        /// The freedom that agents have.
        pub mode: ProposalMode = ProposalMode::Controlled,
        /// The most pending proposals.
        pub limits: ProposalLimits = ProposalLimits { per_skill: 5, per_session: 10, total: MAX_PENDING },
        /// Skills that may not be changed.
        pub locked: Vec<Pattern>,
        /// Skills whose versions wait for a review, whoever publishes them. They count before `never_review`.
        pub always_review: Vec<Pattern>,
        /// Skills whose versions of authors are released without a review.
        pub never_review: Vec<Pattern>,
        /// The directory that new skills are written to.
        pub new_skills: Option<PathBuf>,
    }
}

/// The texts and the author of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProposalText {
    /// The reason for the change.
    pub justification: String,
    /// Errors, test failures or feedback that support it.
    pub evidence: Option<String>,
    /// The person or agent that proposes it: `user:NAME` or `agent:NAME`.
    pub author: String,
    /// The session it is proposed in.
    pub session: Option<String>,
    /// The current time.
    pub time: SystemTime,
    /// The proposal that it takes the place of.
    pub replaces: Option<u64>,
}

impl ProposalText {
    /// Returns the text of a proposal of `author`, without evidence and outside a session.
    pub fn new(author: impl Into<String>, justification: impl Into<String>, time: SystemTime) -> Self {
        Self {
            justification: justification.into(),
            evidence: None,
            author: author.into(),
            session: None,
            time,
            replaces: None,
        }
    }
}

/// Called with each new proposal, after it is stored.
type Listener = Box<dyn Fn(&Proposal) + Send + Sync>;

/// Called with each proposal that a session approves, and the version that it made.
type ApprovalListener = Box<dyn Fn(&dyn Store, &Proposal, &Version) + Send + Sync>;

/// Submits proposals to a store.
pub struct Proposer {
    store: LazyStore,
    rules: ProposalRules,
    listeners: Vec<Listener>,
    approval_listeners: Vec<ApprovalListener>,
}

impl Proposer {
    /// Returns a proposer that submits to `store`.
    pub fn new(store: LazyStore, rules: ProposalRules) -> Self {
        Self { store, rules, listeners: Vec::new(), approval_listeners: Vec::new() }
    }

    /// Adds a function that is called with each new proposal, on a thread that may block.
    #[must_use]
    pub fn on_submit(mut self, listener: impl Fn(&Proposal) + Send + Sync + 'static) -> Self {
        self.listeners.push(Box::new(listener));
        self
    }

    /// Adds a function that is called with each proposal whose files a session has written, on a thread that
    /// may block.
    #[must_use]
    pub fn on_approval(
        mut self,
        listener: impl Fn(&dyn Store, &Proposal, &Version) + Send + Sync + 'static,
    ) -> Self {
        self.approval_listeners.push(Box::new(listener));
        self
    }

    /// Returns the rules.
    pub fn rules(&self) -> &ProposalRules {
        &self.rules
    }

    /// Tells the listeners of a new proposal.
    pub fn submitted(&self, proposal: &Proposal) {
        self.listeners.iter().for_each(|listener| listener(proposal));
    }

    /// Tells the listeners of an approved proposal.
    pub fn approved(&self, store: &dyn Store, proposal: &Proposal, version: &Version) {
        self.approval_listeners.iter().for_each(|listener| listener(store, proposal, version));
    }

    /// Returns the store.
    pub fn store(&self) -> Result<Arc<dyn Store>, Error> {
        self.store.get()
    }

    /// Proposes the change `diff` of the skill `entry`.
    pub async fn propose_update(
        self: &Arc<Self>,
        registry: &Registry,
        entry: &Entry,
        diff: &str,
        text: ProposalText,
    ) -> Result<Proposal, ProposalRefusal> {
        let name = entry.name().clone();
        self.expect_open(&entry.source, &name)?;
        if entry.identity.is_none() {
            return Err(ProposalRefusal::NoFiles(name.to_string()));
        }
        let (files, _) = capture(registry, entry).await?;
        let draft = draft_update(&files, diff, &name, &entry.manifest_file, registry.policy())?;
        let skill = entry.record_identity();
        self.submit_on_thread(ProposalKind::Update, skill, name, draft, Some(files), text).await
    }

    /// Proposes a new skill.
    pub async fn propose_skill(
        self: &Arc<Self>,
        registry: &Registry,
        name: &SkillName,
        files: SkillFiles,
        text: ProposalText,
    ) -> Result<Proposal, ProposalRefusal> {
        if let Some(fault) = grammar_faults(name.as_str(), Grammar::AgentSkills).into_iter().next() {
            return Err(ProposalRefusal::NameGrammar(name.to_string(), fault));
        }
        self.expect_open("", name)?;
        let exists = registry.snapshot().entries().iter().any(|entry| entry.name() == name);
        if exists {
            return Err(ProposalRefusal::Exists(name.to_string()));
        }
        let draft = draft_skill(files, name, registry.policy())?;
        let skill = NewProposal::new_skill(self.rules.new_skills.as_deref(), name.as_str());
        self.submit_on_thread(ProposalKind::Create, skill, name.clone(), draft, None, text).await
    }

    fn expect_open(&self, source: &str, name: &SkillName) -> Result<(), ProposalRefusal> {
        if self.rules.mode == ProposalMode::Off {
            return Err(ProposalRefusal::Off);
        }
        if self.rules.locked.iter().any(|pattern| pattern.matches(source, name.as_str())) {
            return Err(ProposalRefusal::Locked(name.to_string()));
        }
        Ok(())
    }

    async fn submit_on_thread(
        self: &Arc<Self>,
        kind: ProposalKind,
        skill: String,
        name: SkillName,
        draft: Draft,
        base: Option<SkillFiles>,
        text: ProposalText,
    ) -> Result<Proposal, ProposalRefusal> {
        let proposer = Arc::clone(self);
        blocking::unblock(move || proposer.submit(kind, skill, &name, draft, base.as_ref(), text)).await
    }

    fn submit(
        &self,
        kind: ProposalKind,
        skill: String,
        name: &SkillName,
        draft: Draft,
        base: Option<&SkillFiles>,
        text: ProposalText,
    ) -> Result<Proposal, ProposalRefusal> {
        if text.justification.trim().is_empty() {
            return Err(ProposalRefusal::NoJustification);
        }
        for (what, text) in
            [("the justification", Some(&text.justification)), ("the evidence", text.evidence.as_ref())]
        {
            if text.is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
                return Err(ProposalRefusal::TooLarge { what, limit: MAX_TEXT_BYTES });
            }
        }
        let store = self.store.get()?;
        let new = NewProposal {
            kind,
            skill,
            name: name.to_string(),
            base: draft.base,
            result: patch::bundle(&draft.files).digest(),
            diff: draft.diff,
            justification: text.justification,
            evidence: text.evidence,
            check: draft.check,
            author: text.author,
            session: text.session,
            time: text.time,
            replaces: text.replaces,
        };
        // Nothing is stored of a proposal that is refused.
        if let Some(refusal) = store.refusal(&new, self.rules.limits)? {
            accepted(refusal)?;
        }
        // Both states are needed to rebase the proposal when the skill changes.
        if let Some(base) = base {
            put_skill(&*store, base)?;
        }
        put_skill(&*store, &draft.files)?;
        let id = accepted(store.submit(&new, self.rules.limits)?)?;
        let proposal = store.proposal(id)?.ok_or_else(|| Error::new(crate::ErrorKind::Store))?;
        self.submitted(&proposal);
        Ok(proposal)
    }
}

fn accepted(submission: Submission) -> Result<u64, ProposalRefusal> {
    match submission {
        Submission::Accepted(id) => Ok(id),
        Submission::Duplicate(id) => Err(ProposalRefusal::Duplicate(id)),
        Submission::Rejected(id) => Err(ProposalRefusal::Rejected(id)),
        Submission::TooManyForSkill => Err(ProposalRefusal::TooMany("for this skill wait for review")),
        Submission::TooManyForSession => Err(ProposalRefusal::TooMany("of this session")),
        Submission::TooMany => {
            Err(ProposalRefusal::TooMany("wait for review; a person has to decide about some of them first"))
        }
    }
}
