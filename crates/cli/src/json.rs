//! The JSON shapes that several commands share; `docs/reference/json.md` documents all of them.

use repertoire::Entry;
use repertoire::event::jsonl::rfc3339;
use repertoire::provider::Problem;
use repertoire::store::{Proposal, Version};
use repertoire_model::Diagnostic;
use serde::Serialize;
use serde_json::{Value, json};

/// A finding, as `list` gives it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DiagnosticJson {
    rule: &'static str,
    severity: &'static str,
    message: String,
    path: String,
    line: Option<u32>,
}

impl DiagnosticJson {
    /// Returns a finding about the skill `entry`.
    pub(crate) fn of_skill(entry: &Entry, diagnostic: &Diagnostic) -> Self {
        Self::new(diagnostic, path_of(entry, diagnostic))
    }

    /// Returns a finding about a source.
    pub(crate) fn of_source(problem: &Problem) -> Self {
        Self::new(&problem.diagnostic, problem.path.clone())
    }

    /// Returns a finding about the file at `path`.
    pub(crate) fn new(diagnostic: &Diagnostic, path: String) -> Self {
        Self {
            rule: diagnostic.rule.as_str(),
            severity: diagnostic.severity.as_str(),
            message: diagnostic.message.clone(),
            path,
            line: diagnostic.line(),
        }
    }
}

/// Returns the path of the file of `entry` that `diagnostic` is about.
pub(crate) fn path_of(entry: &Entry, diagnostic: &Diagnostic) -> String {
    let file = diagnostic.file.as_deref().unwrap_or(&entry.manifest_file);
    format!("{}/{file}", entry.path.trim_end_matches('/'))
}

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
