//! Decides whether a tool or script may run.

use std::collections::BTreeMap;

use repertoire::registry::Entry;
use repertoire::{Error, Trust};
use repertoire_model::answer::RunRefusal;
use repertoire_model::toolbox::PYTHON_FILE;
use repertoire_model::{Bundle, Capabilities, SkillTool};

use super::{Approval, ApprovalRequest, ApprovalVerdict, Approvals, Approver};

/// The rules that decide whether a skill may run a tool or script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApprovalRules<'a> {
    /// The trust in the skill's source.
    pub(crate) trust: Trust,
    pub(crate) approvals: &'a Approvals,
    /// The person to ask, if there is one.
    pub(crate) approver: Option<&'a dyn Approver>,
}

/// A request to run a tool or script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunRequest<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) bundle: &'a Bundle,
    pub(crate) capabilities: &'a Capabilities,
    /// The tool and its arguments; `None` for a script.
    pub(crate) tool: Option<(&'a SkillTool, &'a str)>,
}

impl ApprovalRules<'_> {
    /// Returns why `wanted` may not run, or `None` if it may.
    pub(crate) async fn objection(&self, wanted: &RunRequest<'_>) -> Result<Option<RunRefusal>, Error> {
        if self.trust == Trust::Never {
            return Ok(Some(RunRefusal::Source));
        }
        let known = self.approvals.find(wanted.entry)?;
        let digest = wanted.bundle.digest();
        let holding = known.as_ref().filter(|known| known.holds(&digest, wanted.capabilities));
        if holding.is_none() && self.trust == Trust::Ask {
            let verdict = self.ask(wanted, known.as_ref(), None).await?;
            let why = if known.is_some() { RunRefusal::Changed } else { RunRefusal::Unknown };
            if let Some(objection) = objection(verdict, why) {
                return Ok(Some(objection));
            }
        }
        let Some((tool, arguments)) =
            wanted.tool.filter(|(tool, _)| tool.needs.ask || tool.needs.host.is_some())
        else {
            return Ok(None);
        };
        let is_on_host = tool.needs.host.is_some();
        if !is_on_host && holding.is_some_and(|holding| holding.tools.contains(&tool.name)) {
            return Ok(None);
        }
        let verdict = self.ask(wanted, holding, Some((tool.name.clone(), arguments.to_owned()))).await?;
        Ok(objection(verdict, if is_on_host { RunRefusal::EachCall } else { RunRefusal::Asks }))
    }

    /// Asks the approver, and stores an approval that is to last.
    async fn ask(
        &self,
        wanted: &RunRequest<'_>,
        known: Option<&Approval>,
        call: Option<(String, String)>,
    ) -> Result<ApprovalVerdict, Error> {
        let Some(approver) = self.approver else { return Ok(ApprovalVerdict::Unasked) };
        let mut tools = known.map(|known| known.tools.clone()).unwrap_or_default();
        tools.retain(|name| wanted.capabilities.tools().any(|(tool, _)| tool == name));
        // Tools that were approved by name were approved for the old files.
        if known.is_some_and(|known| !known.holds(&wanted.bundle.digest(), wanted.capabilities)) {
            tools.clear();
        }
        tools.extend(call.iter().map(|(tool, _)| tool.clone()));
        tools.sort_unstable();
        tools.dedup();
        let mut approval = Approval::now(wanted.entry, wanted.bundle, wanted.capabilities.clone(), tools);
        let python = approval.files.get(PYTHON_FILE);
        approval.schema =
            known.zip(python).and_then(|(known, python)| known.schema_of(python)).map(str::to_owned);
        let difference = known.map(|known| known.difference(&approval));
        let is_on_host = call.is_some() && wanted.tool.is_some_and(|(tool, _)| tool.needs.host.is_some());
        let request = ApprovalRequest { approval, difference, call, is_on_host };
        let verdict = approver.ask(&request).await;
        if verdict == ApprovalVerdict::Always && !is_on_host {
            self.approvals.keep(request.approval)?;
        }
        Ok(verdict)
    }
}

fn objection(verdict: ApprovalVerdict, why: RunRefusal) -> Option<RunRefusal> {
    match verdict {
        ApprovalVerdict::Once | ApprovalVerdict::Always => None,
        ApprovalVerdict::Refused => Some(RunRefusal::Refused),
        ApprovalVerdict::Unasked => Some(why),
    }
}

/// The trust in each source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustLevels {
    sources: BTreeMap<String, Trust>,
    others: Trust,
}

impl TrustLevels {
    /// Returns levels with `others` for all sources.
    pub fn new(others: Trust) -> Self {
        Self { sources: BTreeMap::new(), others }
    }

    /// Returns these levels with `trust` for the source `label`.
    #[must_use]
    pub fn with(mut self, label: impl Into<String>, trust: Trust) -> Self {
        self.sources.insert(label.into(), trust);
        self
    }

    /// Returns the trust in the source `label`.
    pub fn of(&self, label: &str) -> Trust {
        self.sources.get(label).copied().unwrap_or(self.others)
    }
}
