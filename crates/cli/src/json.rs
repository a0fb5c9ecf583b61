//! The JSON shapes that several commands share; `docs/reference/json.md` documents all of them.

use repertoire::event::jsonl::rfc3339;
use repertoire::store::{Proposal, Version};
use serde_json::{Value, json};

/// Returns a proposal, as `proposals` lists it.
pub(crate) fn proposal(proposal: &Proposal) -> Value {
    let content = &proposal.content;
    let decision = proposal.decision.as_ref().map(|decision| {
        json!({"reviewer": decision.reviewer, "reason": decision.reason, "time": rfc3339(decision.time)})
    });
    json!({
        "id": proposal.id,
        "skill": content.name,
        "directory": content.directory().map(|directory| directory.display().to_string()),
        "kind": content.kind.as_str(),
        "state": proposal.state.as_str(),
        "author": content.author,
        "time": rfc3339(content.time),
        "base": content.base.map(|digest| digest.to_string()),
        "result": content.result.to_string(),
        "justification": content.justification,
        "evidence": content.evidence,
        "replaces": content.replaces,
        "decision": decision,
    })
}

/// Returns a proposal with its diff and the findings of the check.
pub(crate) fn proposal_with_diff(it: &Proposal) -> Value {
    let mut value = proposal(it);
    value["diff"] = it.content.diff.as_str().into();
    value["check"] = it.content.check.lines().collect::<Vec<_>>().into();
    value
}

/// Returns a version, as `history` lists it.
pub(crate) fn version(version: &Version) -> Value {
    json!({
        "id": version.number,
        "digest": version.digest.to_string(),
        "time": rfc3339(version.time),
        "origin": version.origin.as_str(),
        "author": version.author,
    })
}
