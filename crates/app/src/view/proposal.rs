//! Proposed changes of skills, and the decisions about them.

use repertoire::event::jsonl::rfc3339;
use repertoire::store::Proposal;
use repertoire_model::patch::SkillFiles;
use repertoire_model::tokens::approximate;
use schemars::JsonSchema;
use serde::Serialize;

use super::VersionView;

/// A proposal to change a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ProposalView {
    /// The number.
    pub id: u64,
    /// The name of the skill.
    pub skill: String,
    /// The directory of the skill, or the one that a new skill is written to.
    pub directory: Option<String>,
    /// The kind: `update` or `create`.
    pub kind: &'static str,
    /// The state: `pending`, `approved`, `applied`, `rejected`, `stale`, `superseded` or `rolled_back`.
    pub state: &'static str,
    /// The person or agent that proposes it.
    pub author: String,
    /// The time of the proposal, in RFC 3339.
    pub time: String,
    /// The digest of the files that it changes; `null` for a new skill.
    pub base: Option<String>,
    /// The digest of the files that it leads to.
    pub result: String,
    /// The reason for the change.
    pub justification: String,
    /// Errors, test failures or feedback that support it.
    pub evidence: Option<String>,
    /// The session it was proposed in.
    pub session: Option<String>,
    /// The number of the proposal that this one was rebased from.
    pub replaces: Option<u64>,
    /// The number of lines that it adds.
    pub added: usize,
    /// The number of lines that it removes.
    pub removed: usize,
    /// The last decision.
    pub decision: Option<DecisionView>,
    /// The version that an approval made; in the answer to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionView>,
}

impl ProposalView {
    /// Returns the view of `proposal`.
    pub fn new(proposal: &Proposal) -> Self {
        let content = &proposal.content;
        let lines = |sign: char, head: &str| {
            content.diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
        };
        Self {
            id: proposal.id,
            skill: content.name.clone(),
            directory: content.directory().map(|directory| directory.display().to_string()),
            kind: content.kind.as_str(),
            state: proposal.state.as_str(),
            author: content.author.clone(),
            time: rfc3339(content.time),
            base: content.base.map(|digest| digest.to_string()),
            result: content.result.to_string(),
            justification: content.justification.clone(),
            evidence: content.evidence.clone(),
            session: content.session.clone(),
            replaces: content.replaces,
            added: lines('+', "+++"),
            removed: lines('-', "---"),
            decision: proposal.decision.as_ref().map(|decision| DecisionView {
                reviewer: decision.reviewer.clone(),
                reason: decision.reason.clone(),
                time: rfc3339(decision.time),
            }),
            version: None,
        }
    }
}

/// A decision about a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct DecisionView {
    /// The person or agent that decided.
    pub reviewer: String,
    /// The reason.
    pub reason: Option<String>,
    /// The time of the decision, in RFC 3339.
    pub time: String,
}

/// A list of proposals, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProposalListView {
    /// The proposals.
    pub proposals: Vec<ProposalView>,
    /// The number of undecided proposals of other libraries, which are not listed; from the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<usize>,
    /// The number of proposals that fit the filters; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The cursor of the next part; absent for the last one, and from the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A proposal with its change and what it leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ProposalDetailView {
    /// The proposal as in lists.
    #[serde(flatten)]
    pub proposal: ProposalView,
    /// The change as a unified diff.
    pub diff: String,
    /// The findings of the rules before and after the change.
    pub check: Vec<CheckLineView>,
    /// The tokens of `SKILL.md` before and after the change; absent from notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenChangeView>,
    /// True if the skill changed since; absent from notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<bool>,
    /// The effect on trigger evals; absent from servers, and without such evals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triggers: Option<TriggerEffectView>,
}

impl ProposalDetailView {
    /// Returns the view of `proposal`, without what needs the skill.
    pub fn new(proposal: &Proposal) -> Self {
        Self {
            proposal: ProposalView::new(proposal),
            diff: proposal.content.diff.clone(),
            check: proposal.content.check.lines().map(CheckLineView::new).collect(),
            tokens: None,
            changed_since: None,
            triggers: None,
        }
    }
}

/// A finding of the rules before or after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct CheckLineView {
    /// The effect of the change: `new`, `gone` or `same`.
    pub change: &'static str,
    /// The finding.
    pub text: String,
}

impl CheckLineView {
    /// Returns the finding that `line` of a stored check tells.
    fn new(line: &str) -> Self {
        let marks = [("new: ", "new"), ("no longer: ", "gone")];
        let marked = marks.iter().find_map(|(mark, change)| Some((*change, line.strip_prefix(mark)?)));
        let (change, text) = marked.unwrap_or(("same", line));
        Self { change, text: text.to_owned() }
    }
}

/// The tokens of a text before and after a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct TokenChangeView {
    /// The tokens before the change; 0 for a new text.
    pub before: u64,
    /// The tokens after the change.
    pub after: u64,
}

impl TokenChangeView {
    /// Returns the tokens of the `SKILL.md` among the files of a skill.
    pub fn new(before: &SkillFiles, after: &SkillFiles) -> Self {
        Self { before: tokens(before), after: tokens(after) }
    }
}

/// Returns the tokens of the `SKILL.md` among `files`.
fn tokens(files: &SkillFiles) -> u64 {
    let manifest = files.iter().find(|(path, _)| path.as_str().eq_ignore_ascii_case("SKILL.md"));
    manifest.map_or(0, |(_, file)| approximate(&String::from_utf8_lossy(&file.bytes)) as u64)
}

/// The trigger evals of a library before and after a proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TriggerEffectView {
    /// The queries before the change.
    pub before: TriggerShareView,
    /// The queries after the change.
    pub after: TriggerShareView,
    /// The queries that rank in another way, the worse ones first.
    pub changed: Vec<ChangedQueryView>,
}

/// The share of queries that rank as they should.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TriggerShareView {
    /// The number of queries that rank as they should.
    pub right: usize,
    /// The number of queries.
    pub of: usize,
}

/// A query that ranks in another way after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedQueryView {
    /// The skill that the query is about.
    pub skill: String,
    /// The query.
    pub query: String,
    /// True if the query should find the skill.
    pub should_trigger: bool,
    /// True if the skill ranks worse than before.
    pub worse: bool,
    /// The rank of the skill before the change; `null` if it is not among the first 5.
    pub rank_before: Option<usize>,
    /// The rank of the skill after the change; `null` if it is not among the first 5.
    pub rank_after: Option<usize>,
    /// The skill that comes first after the change.
    pub first: Option<String>,
}
