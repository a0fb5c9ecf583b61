//! Makes the links of a plan.

use std::fs;
use std::path::Path;

use repertoire::Registry;

use super::copy;
use super::plan::{LinkPlan, LinkStep, Occupancy};
use super::record::{Record, RecordedLink};
use super::symlink::{is_impossible, make_link};
use crate::{Error, paths};

/// What is made where a link is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// A link, or a copy where links cannot be made.
    Link,
    /// A copy.
    Copy,
}

/// The links and copies that were made.
#[derive(Debug, Default)]
pub struct MadeLinks {
    /// Those that were made, in the order of the plan.
    pub made: Vec<RecordedLink>,
    /// The error that ended it.
    pub failure: Option<Error>,
}

impl LinkPlan<'_> {
    /// Makes the links and copies whose places are free, and records them, and the clients of links that were made before.
    pub fn make(&mut self, registry: &Registry, kind: LinkKind, base: &Path) -> Result<MadeLinks, Error> {
        // Links that others made are not recorded.
        for step in self.steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Right)) {
            if let Some(made) = self.record.find(base, &step.path).cloned() {
                self.record.add(RecordedLink { clients: step.client_ids(), ..made });
            }
        }
        let free: Vec<&LinkStep<'_>> = self.steps.iter().filter(|step| step.is_free()).collect();
        let mut links = make_recorded(registry, kind, base, &mut self.record, &free)?;
        let saved = self.record.save(base);
        links.failure = links.failure.or(saved.err());
        Ok(links)
    }
}

/// Makes the links of `steps`. They are recorded first, so that neither a failure nor a crash leaves links that cannot be undone.
/// Returns those that were made, in this order, and the error that ended it.
pub(super) fn make_recorded(
    registry: &Registry,
    kind: LinkKind,
    base: &Path,
    record: &mut Record,
    steps: &[&LinkStep<'_>],
) -> Result<MadeLinks, Error> {
    let (mut made, mut failure) = (Vec::new(), None);
    if steps.is_empty() {
        return Ok(MadeLinks { made, failure });
    }
    for step in steps.iter().filter(|_| kind == LinkKind::Link) {
        record.add(recorded(base, step, Some(step.to.to_string_lossy().into_owned()), None));
    }
    record.save(base)?;
    for step in steps {
        if failure.is_none() {
            match make(registry, kind, base, step) {
                Ok(link) => {
                    record.add(link.clone());
                    made.push(link);
                    continue;
                }
                Err(error) => failure = Some(error),
            }
        }
        record.forget(base, &step.path);
    }
    record.save(base)?;
    Ok(MadeLinks { made, failure })
}

fn recorded(base: &Path, step: &LinkStep<'_>, to: Option<String>, digest: Option<String>) -> RecordedLink {
    RecordedLink { path: paths::shown(base, &step.path), to, digest, clients: step.client_ids() }
}

/// Makes the link of `step`, or a copy where that is wanted or no link can be made.
fn make(
    registry: &Registry,
    kind: LinkKind,
    base: &Path,
    step: &LinkStep<'_>,
) -> Result<RecordedLink, Error> {
    let path = &step.path;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io("make", parent, error))?;
    }
    let made = |to: Option<String>, digest: Option<String>| recorded(base, step, to, digest);
    if kind == LinkKind::Link {
        match make_link(&step.to, path) {
            Ok(()) => return Ok(made(Some(step.to.to_string_lossy().into_owned()), None)),
            Err(error) if is_impossible(&error) => {}
            Err(error) => return Err(Error::io("make", path, error)),
        }
    }
    Ok(made(None, Some(copy::copy(registry, step.entry, path)?)))
}
