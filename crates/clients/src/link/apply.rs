//! The change that makes the links of a plan.

use std::borrow::Cow;
use std::path::Path;

use repertoire::change::{ChangeSteps, PathStep, SkillStep, can_link, read_installed};
use repertoire_model::patch::{SkillFiles, bundle};

use super::plan::{LinkPlan, LinkStep, LinkedSkill, Occupancy};
use super::record::RecordedLink;
use crate::{Error, paths};

/// The kind of what is made where a link is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// A link, or a copy where links cannot be made.
    Link,
    /// A copy.
    Copy,
    /// A link that is shown and not made, so that nothing is written to see if it can be made.
    Planned,
}

/// The links and copies to make.
#[derive(Debug, Default)]
pub struct NewLinks {
    /// The links that are made, in the order of the plan.
    pub links: Vec<RecordedLink>,
    /// Sentences about the links that are left alone.
    pub notes: Vec<String>,
    /// The change that makes and records them.
    pub change: ChangeSteps<'static>,
}

impl LinkPlan<'_> {
    /// Returns the change that makes the links and copies whose places are free, and records them, and the
    /// clients of links that were made before.
    pub fn new_links(&mut self, kind: LinkKind, base: &Path) -> Result<NewLinks, Error> {
        // Links that others made are not recorded.
        for step in self.steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Right)) {
            if let Some(made) = self.record.find(base, &step.path).cloned() {
                self.record.add(RecordedLink { clients: step.client_ids(), ..made });
            }
        }
        let mut new = NewLinks::default();
        for step in self.steps.iter().filter(|step| step.is_free()) {
            let link = new.add(kind, base, step)?;
            self.record.add(link.clone());
            new.links.push(link);
        }
        new.change.steps.extend(self.record.steps()?);
        Ok(new)
    }
}

impl NewLinks {
    /// Adds the link of `step`, or a copy where that is wanted or no link can be made.
    fn add(&mut self, kind: LinkKind, base: &Path, step: &LinkStep<'_>) -> Result<RecordedLink, Error> {
        let (path, clients) = (paths::shown(base, &step.path), step.client_ids());
        let is_link = match kind {
            LinkKind::Link => step.path.parent().is_none_or(can_link),
            LinkKind::Copy => false,
            LinkKind::Planned => true,
        };
        if is_link {
            self.change.steps.push(PathStep::make_link(&step.path, &step.to));
            let to = Some(step.to.to_string_lossy().into_owned());
            return Ok(RecordedLink { path, to, digest: None, clients });
        }
        let files = step.skill.files()?;
        let digest = Some(bundle(&files).digest().to_string());
        self.change.skills.push(SkillStep {
            directory: step.path.clone(),
            before: None,
            after: Some(Cow::Owned(files)),
            others: Cow::Borrowed(&[]),
        });
        Ok(RecordedLink { path, to: None, digest, clients })
    }
}

impl LinkedSkill<'_> {
    /// Returns its files.
    pub(super) fn files(&self) -> Result<SkillFiles, Error> {
        match self.files {
            Some(files) => Ok(files.clone()),
            None => Ok(read_installed(&self.directory)?.unwrap_or_default().files),
        }
    }
}
